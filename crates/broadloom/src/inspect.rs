//! The typed graph behind arrays, for tools that work on expressions.
//!
//! A [`TypedGraph`] is the expression as the first stage of an evaluation sees it: before rewriting, with explicit conversions
//! and broadcasts.

use broadloom_core::graph::{Graph, Leaf, NodeId, NodeKind};
use broadloom_core::rewrite::{self, Rules};
use broadloom_core::{Layout, Result, fuse};
use broadloom_mem::{Access, FloatEnv};

use crate::array::Array;
use crate::engine::{self, Options};
use crate::lower::Lowered;

/// The typed graph of arrays.
#[derive(Debug)]
pub struct TypedGraph<'a> {
    /// The nodes, operands first.
    pub graph: Graph,
    /// The node of each array, in the order in which the arrays were given.
    pub roots: Vec<NodeId>,
    /// The array in memory behind each input node, in the order of the nodes.
    pub inputs: Vec<(NodeId, Array<'a>)>,
}

impl TypedGraph<'_> {
    /// The CLIF of the graph's kernels for x86-64 with AVX and FMA, with every operand contiguous or uniform along a row. The
    /// text is the same on every machine; [`Array::explain_with`] shows the code for the machine at hand.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if this build has no compiler for x86-64.
    pub fn clif(&self) -> Result<String> {
        let _ieee = FloatEnv::ieee();
        let (graph, roots) = rewrite::run(&self.graph, &self.roots, Rules::On)?;
        let mut out = String::new();
        for stage in fuse::run(&graph, &roots)?.stages {
            let access: Vec<Access> = stage.inputs.iter().map(|input| access(&input.layout)).collect();
            out += &engine::clif(&stage.kernel, &access)?;
        }
        Ok(out)
    }
}

fn access(layout: &Layout) -> Access {
    let inner = layout.shape.iter().zip(&layout.strides).rfind(|(extent, _)| **extent > 1);
    if inner.is_none_or(|(_, stride)| *stride == 0) { Access::Splat } else { Access::Contiguous }
}

/// The typed graph of arrays, before rewriting. Functions whose operands are all constants are folded.
///
/// # Errors
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) for an expression beyond the options' limits.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{Options, typed_graph};
///
/// let x = Array::from_vec(vec![1_i8, 2]);
/// let typed = typed_graph(&[&(&x + 1).astype(DType::Float32)], &Options::default())?;
/// assert_eq!(
///     typed.graph.to_string(),
///     "n0: int8[2]  # input 0\nn1: int8[] = int8(1)\nn2: int8[2] = n0 + n1\nn3: float32[2] = astype(n2, float32)\n"
/// );
/// # Ok::<(), Error>(())
/// ```
pub fn typed_graph<'a>(arrays: &[&Array<'a>], options: &Options) -> Result<TypedGraph<'a>> {
    // Building the graph folds constants, in the default floating-point environment.
    let _ieee = FloatEnv::ieee();
    let lowered = Lowered::new(arrays, options.size_limits())?;
    let (graph, roots) = lowered.expression().graph(options.semantics())?;
    let mut inputs = Vec::new();
    for id in graph.ids() {
        if let NodeKind::Leaf(Leaf::Input { slot, layout, .. }) = &graph.node(id).kind {
            inputs
                .push((id, Array::data(lowered.slots()[*slot as usize].storage.clone(), (**layout).clone())));
        }
    }
    Ok(TypedGraph { graph, roots, inputs })
}
