//! The decisions of fusion, with their reasons.
//!
//! A [`Decision`] is a line in the explanation of a [`crate::fuse::Plan`]. It is formatted only when it is shown, so
//! that logging it costs an evaluation nothing.

use std::collections::HashSet;
use std::fmt;

use crate::graph::{Graph, NodeId};
use crate::layout::View;
use crate::shape::Shape;
use broadloom_ir::figures::{count, counted};
use broadloom_math::DType;

/// The nodes that are cut off, and so materialised.
pub(crate) type Cuts = HashSet<NodeId, rustc_hash::FxBuildHasher>;

/// A decision about a node, or about a whole body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The node; `None` for a decision about a body.
    pub node: Option<(NodeId, DType)>,
    /// The shape of the node, or of the body's loops.
    pub shape: Shape,
    /// The decision and its reason.
    pub why: Why,
}

/// A decision and its reason. Costs are in vector instructions over all elements, as the model of fusion counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Materialised: no strides express a view of the node.
    NoStrides {
        /// The view that can't be expressed.
        view: View,
    },
    /// Materialised: a larger loop would compute the node too often.
    Repeated {
        /// The node whose loop reads this one.
        reader: NodeId,
        /// The number of elements of that loop.
        elements: usize,
        /// The cost of recomputing the value at each use.
        recompute: u64,
        /// The cost of a separate kernel and a temporary.
        store: u64,
    },
    /// The node is fused into a larger loop because a temporary would cost more.
    Recomputed {
        /// The node whose loop reads this one.
        reader: NodeId,
        /// The number of elements of that loop.
        elements: usize,
        /// The cost of recomputing the value at each use.
        recompute: u64,
        /// The cost of a separate kernel and a temporary.
        store: u64,
    },
    /// The node is fused into a larger loop, where it is computed once per row.
    Hoisted {
        /// The node whose loop reads this one.
        reader: NodeId,
    },
    /// Materialised: a larger loop would compute the node once per row, one element at a time.
    Alone {
        /// The node whose loop reads this one.
        reader: NodeId,
        /// The cost of computing the value for each row.
        recompute: u64,
        /// The cost of a separate kernel and a temporary.
        store: u64,
    },
    /// Materialised: the node is a reduction or a scan.
    Combined,
    /// Materialised: a routine computes the node.
    Routine,
    /// Materialised: several loops, one of which is that of a reduction, would compute the node.
    Shared {
        /// The number of loops that read the node.
        loops: usize,
        /// The cost of recomputing the value at each use.
        recompute: u64,
        /// The cost of a separate kernel and a temporary.
        store: u64,
    },
    /// The node is fused into several loops, each of which computes it, because a temporary would cost more.
    Again {
        /// The number of loops that compute the node.
        loops: usize,
        /// The cost of recomputing the value at each use.
        recompute: u64,
        /// The cost of a separate kernel and a temporary.
        store: u64,
    },
    /// Materialised: the node may divide by zero in elements that are not read.
    Faults,
    /// Materialised: the node would be computed for several chains of views, which are too many or cost more than a temporary.
    ManyChains {
        /// The number of chains.
        chains: usize,
    },
    /// Materialised: the node is read through a long chain of views.
    LongChain,
    /// The body is too long, and is cut where the fewest values are live.
    Split {
        /// The number of instructions of the body.
        instructions: usize,
        /// The number of kernels into which it is cut.
        kernels: usize,
    },
}

impl Decision {
    /// Makes a decision about a node.
    pub(crate) fn of_node(graph: &Graph, id: NodeId, why: Why) -> Decision {
        let node = graph.node(id);
        Decision { node: Some((id, node.dtype)), shape: node.shape.clone(), why }
    }
}

impl Decision {
    /// The decision with its nodes renamed.
    #[must_use]
    pub fn renamed(&self, name: impl Fn(NodeId) -> NodeId) -> Decision {
        let mut renamed = self.clone();
        if let Some((node, _)) = &mut renamed.node {
            *node = name(*node);
        }
        match &mut renamed.why {
            Why::Repeated { reader, .. }
            | Why::Recomputed { reader, .. }
            | Why::Hoisted { reader }
            | Why::Alone { reader, .. } => *reader = name(*reader),
            _ => {}
        }
        renamed
    }
}

impl Why {
    /// Whether the node gets a separate kernel.
    pub fn materialises(&self) -> bool {
        !matches!(self, Why::Recomputed { .. } | Why::Again { .. } | Why::Hoisted { .. } | Why::Split { .. })
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { node, shape, why } = self;
        if let Some((id, dtype)) = node {
            let what = if why.materialises() { "materialised" } else { "fused" };
            write!(f, "{id:?} ({dtype}{shape}) is {what}: ")?;
        }
        match why {
            Why::NoStrides { view } => write!(f, "no strides express its {view}"),
            Why::Repeated { reader, elements, .. } => write!(
                f,
                "computing it for each of {} of {reader:?} would cost more than a temporary of {}",
                elements_of(*elements),
                elements_of(shape.elements())
            ),
            Why::Recomputed { reader, elements, recompute, store } => write!(
                f,
                "computing it again for each of {} of {reader:?} costs {}, less than the {} that a temporary has to save",
                elements_of(*elements),
                instructions(*recompute),
                count(2 * store)
            ),
            Why::Hoisted { reader } => {
                write!(f, "it is one value for a whole row of {reader:?}, computed once per row")
            }
            Why::Alone { reader, .. } => write!(
                f,
                "computing it for each row of {reader:?}, one element at a time, would cost more than a temporary of {}",
                elements_of(shape.elements())
            ),
            Why::Combined => {
                f.write_str("it combines elements, and what reads it is computed in a later kernel")
            }
            Why::Routine => f.write_str("a routine computes it from arrays in memory, between two kernels"),
            Why::Shared { loops, .. } => write!(
                f,
                "{loops} kernels read it, and computing it in each would cost more than a temporary of {}",
                elements_of(shape.elements())
            ),
            Why::Again { loops, recompute, store } => write!(
                f,
                "computing it in each of {loops} kernels costs {} more, less than the {} that a temporary has to save",
                instructions(*recompute),
                count(2 * store)
            ),
            Why::Faults => f.write_str("it may divide by zero in elements that are not read"),
            Why::ManyChains { chains } => write!(
                f,
                "it is read through {chains} chains of views, and computing it for each would cost more than a temporary of {}",
                elements_of(shape.elements())
            ),
            Why::LongChain => f.write_str("it is read through a long chain of views"),
            Why::Split { instructions, kernels } => write!(
                f,
                "a body of {} over {shape} is cut into {}, of which each can be compiled",
                counted(*instructions as u64, "instruction"),
                counted(*kernels as u64, "kernel")
            ),
        }
    }
}

fn elements_of(n: usize) -> String {
    counted(n as u64, "element")
}

fn instructions(cost: u64) -> String {
    format!("about {} on vectors", counted(cost, "instruction"))
}

/// The log of decisions, which may discard them.
#[derive(Default)]
pub(crate) struct Log(Option<Vec<Decision>>);

impl Log {
    /// A log that records decisions, or one that discards them.
    pub fn new(keep: bool) -> Log {
        Log(keep.then(Vec::new))
    }

    /// Notes a decision, if decisions are recorded.
    pub fn note(&mut self, decision: impl FnOnce() -> Decision) {
        if let Some(kept) = &mut self.0 {
            kept.push(decision());
        }
    }

    /// Whether decisions are recorded.
    pub fn keeps(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the recorded decisions.
    pub fn take(self) -> Vec<Decision> {
        self.0.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Result;
    use crate::fuse;
    use crate::fuse::cost::{MAX_BODY, MAX_COST};
    use crate::graph::NodeKind;
    use crate::kernel::Code;
    use crate::layout::{Layout, View};
    use crate::op::Op;

    /// Two plans, with and without decisions, of a loop over `rows` rows in which an operand of one row would be
    /// recomputed for each row.
    fn of_row(rows: usize) -> Result<(fuse::Plan, fuse::Plan)> {
        let mut g = Graph::default();
        let x = g.input(0, DType::Float32, Layout::contiguous(Shape::new(&[rows, 100])?))?;
        let row = g.input(1, DType::Float32, Layout::contiguous(Shape::new(&[100])?))?;
        let exp = g.apply(Op::Exp, &[row.into()])?;
        let root = g.apply(Op::Add, &[x.into(), exp.into()])?;
        Ok((fuse::explain(&g, &[root])?, fuse::run(&g, &[root])?))
    }

    #[test]
    fn a_decision_has_the_costs_that_decided() -> Result<()> {
        for (rows, materialised) in [(2, false), (2000, true)] {
            let (plan, quiet) = of_row(rows)?;
            let [Decision { why, .. }] = &plan.decisions[..] else { panic!("{plan}") };
            let (recompute, store) = match *why {
                Why::Repeated { recompute, store, .. } | Why::Recomputed { recompute, store, .. } => {
                    (recompute, store)
                }
                ref other => panic!("{other:?}"),
            };
            // The cost of exp per element follows from its recording; a temporary costs 20 000 for its kernel, and 8
            // per element.
            let exp = u64::from(Code::apply(Op::Exp, DType::Float32).cost());
            assert_eq!((recompute, store), (exp * 100 * (rows as u64 - 1), 20_000 + 8 * 100));
            assert_eq!(
                (why.materialises(), plan.stages.len()),
                (materialised, 1 + usize::from(materialised))
            );
            assert!(quiet.decisions.is_empty() && quiet.computes.is_empty(), "kept without being asked for");
        }
        Ok(())
    }

    /// What one value serves for a row is stored if the rows are many, and short for what it costs; a change of its shape is read from
    /// the same memory.
    #[test]
    fn what_short_rows_would_compute_alone_is_stored() -> Result<()> {
        let plan_of = |op: Op, rows: usize, length: usize, axes: &[usize]| -> Result<fuse::Plan> {
            let mut g = Graph::default();
            let x = g.input(0, DType::Float32, Layout::contiguous(Shape::new(&[rows, length])?))?;
            let column = g.input(1, DType::Float32, Layout::contiguous(Shape::new(&[rows])?))?;
            let computed = g.apply(op, &[column.into()])?;
            let computed = g.view(computed, View::Reshape(Shape::new(&[rows, 1])?))?;
            let product = g.apply(Op::Multiply, &[x.into(), computed.into()])?;
            // A cheap function of the stored value is not stored as well.
            let is_zero = g.apply(Op::Negative, &[computed.into()])?;
            let sum = g.apply(Op::Add, &[product.into(), is_zero.into()])?;
            let root = match axes {
                [] => sum,
                _ => g.push(NodeKind::Reduce {
                    arg: sum,
                    reduction: broadloom_ir::Reduction::Sum,
                    axes: axes.iter().copied().collect(),
                    keep_dims: false,
                })?,
            };
            fuse::explain(&g, &[root])
        };
        for axes in [&[][..], &[0], &[1], &[0, 1]] {
            let plan = plan_of(Op::Exp, 100_000, 8, axes)?;
            assert_eq!(plan.stages.len(), 2, "{axes:?}: {plan}");
            assert_eq!(plan.stages[0].shape, Shape::new(&[100_000])?, "{plan}");
            assert!(plan.decisions.iter().any(|d| matches!(d.why, Why::Alone { .. })), "{plan}");
            // Long rows, few rows and cheap functions.
            for (op, rows, length) in [(Op::Exp, 1000, 800), (Op::Exp, 100, 8), (Op::Abs, 100_000, 8)] {
                let plan = plan_of(op, rows, length, axes)?;
                assert_eq!(plan.stages.len(), 1, "{op} {rows} {length} {axes:?}: {plan}");
            }
        }
        Ok(())
    }

    /// A body is cut at the maximum number of instructions, or earlier if they are expensive, so that every kernel is
    /// within the limit for compilation.
    #[test]
    fn a_body_is_cut_where_it_is_too_long_or_too_dear() -> Result<()> {
        // A pow of float32 takes some tens of vector instructions.
        let most = MAX_BODY / 2;
        let bodies =
            [(Op::Multiply, MAX_BODY, 1..=1), (Op::Multiply, MAX_BODY + 1, 2..=2), (Op::Pow, most, 2..=8)];
        for (op, length, stages) in bodies {
            let mut g = Graph::default();
            let x = g.input(0, DType::Float32, Layout::contiguous(Shape::new(&[8])?))?;
            let mut y = x;
            for _ in 0..length {
                y = g.apply(op, &[y.into(), x.into()])?;
            }
            let plan = fuse::run(&g, &[y])?;
            assert!(stages.contains(&plan.stages.len()), "{}", plan.stages.len());
            assert!(plan.stages.iter().all(|stage| stage.kernel.cost() <= MAX_COST as u64));
        }
        Ok(())
    }

    /// Each instruction of each stage is attributed to its node, even if a body is cut.
    #[test]
    fn every_instruction_has_its_node() -> Result<()> {
        let mut g = Graph::default();
        let x = g.input(0, DType::Float32, Layout::contiguous(Shape::new(&[8])?))?;
        let mut y = x;
        for _ in 0..MAX_BODY {
            y = g.apply(Op::Multiply, &[y.into(), x.into()])?;
            y = g.apply(Op::Sqrt, &[y.into()])?;
        }
        let plan = fuse::explain(&g, &[y])?;
        assert!(plan.stages.len() > 1);
        assert!(matches!(plan.decisions[..], [Decision { node: None, why: Why::Split { .. }, .. }]));
        assert_eq!(plan.stages.len(), plan.computes.len());
        for (stage, nodes) in plan.stages.iter().zip(&plan.computes) {
            assert_eq!(stage.kernel.body.len(), nodes.len());
        }
        let nodes: Vec<NodeId> = plan.computes.concat();
        assert!(nodes.is_sorted_by(|a, b| a < b), "each once, operands first");
        assert_eq!(nodes.len(), g.nodes().len() - 1);
        Ok(())
    }
}
