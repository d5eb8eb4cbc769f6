//! The expressions of a symbolic kernel: one structure for every layout of its inputs.
//!
//! A [`Template`] keeps no array alive. Slot `i` of its structure is input `i`, whose layout is dynamic if the expressions use the
//! input as a whole; binding fills in the layouts, and its result depends only on the template and these layouts.

use broadloom_core::node::NodeKind;
use broadloom_core::shape::MAX_RANK;
use broadloom_core::structure::{Entry, KeyLeaf, OwnedStructure, Structure};
use broadloom_core::{Error, ErrorKind, Layout, Result, Scalar};
use broadloom_mem::HostFunction;

use crate::array::Array;
use crate::lower::declared::Declared;
use crate::lower::expression::{Expression, SizeLimits, exceeds};
use crate::lower::walk::Walker;

/// The expressions of a kernel.
pub(crate) struct Template {
    structure: OwnedStructure,
    literals: Box<[Scalar]>,
    functions: Box<[HostFunction]>,
    /// For each input, whether it may have any layout, because the structure has no view of it.
    free: Box<[bool]>,
    is_elementwise: bool,
}

impl Template {
    /// Makes the template of the roots' expressions.
    ///
    /// Errors: those of [`Lowered::new`](super::Lowered::new); `Memory` for an array that is not among the inputs, or an input that
    /// is given twice, or is neither a placeholder nor evaluated; `Name` for two inputs of one name.
    pub(crate) fn new(roots: &[&Array<'_>], inputs: &[&Array<'_>], limits: SizeLimits) -> Result<Template> {
        let mut walker = Walker::new(Some(Declared::new(inputs)?));
        walker.walk(roots, limits)?;
        let undeclared = || Error::new(ErrorKind::Internal, "a walk that lost its inputs");
        let free = walker.leaves.declared.ok_or_else(undeclared)?.free;
        // A part of the results would have other indices, so an expression with indices is not element-wise.
        let is_index = |entry: &Entry<'_>| matches!(entry, NodeKind::Leaf(KeyLeaf::Index { .. }));
        let is_elementwise = walker.nodes.iter().all(|entry| entry.is_element_wise() && !is_index(entry));
        Ok(Template {
            structure: Structure { nodes: &walker.nodes, roots: &walker.done }.to_owned(),
            literals: walker.leaves.literals[..].into(),
            functions: walker.functions.list[..].into(),
            is_elementwise: is_elementwise && free.iter().all(|free| *free),
            free: free.into(),
        })
    }

    /// The nodes of the expressions over inputs with these layouts, for [`Template::expression`]. The layouts of inputs that are
    /// not [`Template::is_free`] are ignored.
    ///
    /// Errors: a rank above the limit.
    pub(crate) fn bind<'l>(&'l self, layouts: &'l [Layout], limits: SizeLimits) -> Result<Vec<Entry<'l>>> {
        let structure = self.structure.borrow();
        for entry in structure.nodes {
            if let NodeKind::Leaf(KeyLeaf::Dynamic { slot, .. }) = entry
                && let Some(layout) = layouts.get(*slot as usize)
            {
                exceeds("rank", layout.shape.rank(), limits.rank.min(MAX_RANK), "max_rank")?;
            }
        }
        structure.bind(layouts)
    }

    /// The input of planning, from the nodes that [`Template::bind`] returns.
    pub(crate) fn expression<'x>(&'x self, nodes: &'x [Entry<'x>]) -> Expression<'x> {
        let structure = Structure { nodes, roots: self.structure.borrow().roots };
        Expression { structure, literals: &self.literals, functions: &self.functions }
    }

    /// The structure, in which layouts of inputs are empty.
    pub(crate) fn structure(&self) -> Structure<'_> {
        self.structure.borrow()
    }

    pub(crate) fn literals(&self) -> &[Scalar] {
        &self.literals
    }

    /// Whether an input may have any layout.
    pub(crate) fn is_free(&self, input: usize) -> bool {
        self.free[input]
    }

    /// Whether element `i` of a result depends only on the elements `i` of the inputs, because there are no views.
    pub(crate) fn is_elementwise(&self) -> bool {
        self.is_elementwise
    }
}
