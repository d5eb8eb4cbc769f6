//! The expressions of a symbolic kernel: one structure for every layout of its inputs.
//!
//! A [`Template`] keeps no array alive. Slot `i` of its structure is input `i`. The layout of the slot is dynamic if the
//! expressions use the input only as a whole. Binding fills in the dynamic layouts, and its result depends only on the template
//! and the layouts of the inputs.

use broadloom_core::binding::Binding;
use broadloom_core::node::{NodeId, NodeKind};
use broadloom_core::shape::MAX_RANK;
use broadloom_core::structure::{Entry, KeyLeaf, OwnedStructure, Structure};
use broadloom_core::symbol::Meeting;
use broadloom_core::{Dim, Dims, Error, ErrorKind, Layout, Result, Scalar, Shape, Symbol};
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
    /// The nodes that differentiation has made, in increasing order.
    derivatives: Box<[NodeId]>,
    /// For each input, whether its layout is free, that is, whether the expressions use the input without views of its memory.
    free: Box<[bool]>,
    /// The extents to be compared once they are known, with the names of the functions that broadcast them.
    meetings: Box<[(Box<str>, Meeting)]>,
    is_elementwise: bool,
}

impl Template {
    /// Lowers the expressions of the roots over these inputs.
    ///
    /// Errors: those of [`Lowered::new`](super::Lowered::new); `Memory` for an array that is not among the inputs, for an input
    /// that is given twice, and for an input that is neither an [`Array::input`] nor evaluated; `Name` for two inputs of one
    /// name, and for a named input that is not among the inputs.
    pub(crate) fn new(roots: &[&Array<'_>], inputs: &[&Array<'_>], limits: SizeLimits) -> Result<Template> {
        let mut walker = Walker::new(Some(Declared::new(inputs)?));
        walker.walk(roots, limits)?;
        let undeclared = || Error::new(ErrorKind::Internal, "a walk that lost its inputs");
        let free = walker.leaves.declared.ok_or_else(undeclared)?.free;
        // Generated numbers are excluded: they depend on the index of an element, which changes if a loop is divided. Words of a
        // stream are not element-wise.
        let is_index = |entry: &Entry<'_>| matches!(entry, NodeKind::Leaf(KeyLeaf::Index { .. }));
        let is_elementwise = walker.nodes.iter().all(|entry| entry.is_element_wise() && !is_index(entry));
        Ok(Template {
            structure: Structure { nodes: &walker.nodes, roots: &walker.done }.to_owned(),
            literals: walker.leaves.literals[..].into(),
            functions: walker.functions.list[..].into(),
            derivatives: walker.derivatives.into(),
            // If the expressions compare extents once these are known, loops can't be divided: the extents of a part may be equal
            // although the complete extents are not.
            is_elementwise: is_elementwise && walker.meetings.is_empty() && free.iter().all(|free| *free),
            free: free.into(),
            meetings: walker.meetings.into(),
        })
    }

    /// The nodes of the structure with these layouts of the inputs, to be passed to [`Template::expression`]. The layouts of
    /// inputs that are not [`Template::is_free`] are ignored.
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

    /// Compares the extents that functions broadcast, for inputs of these dims and shapes.
    ///
    /// Errors: `Shape` if two extents differ that have to be equal; the error names the function, the axis and both extents.
    pub(crate) fn check_meetings<'d>(
        &self,
        inputs: impl Iterator<Item = (&'d Dims, &'d Shape)>,
    ) -> Result<()> {
        if self.meetings.is_empty() {
            return Ok(());
        }
        let mut binding = Binding::default();
        inputs.into_iter().try_for_each(|(dims, shape)| binding.meet(dims, shape))?;
        self.meetings.iter().try_for_each(|(function, meeting)| binding.check(function, meeting))
    }

    /// Assumes extents for symbols such that the expressions can broadcast them: the given extent for each symbol, or the extent
    /// that follows from the extent of another symbol.
    pub(crate) fn assumed<'s>(&'s self, symbols: impl Iterator<Item = &'s Symbol>, extent: usize) -> Binding {
        let sides = self.meetings.iter().flat_map(|(_, meeting)| [&meeting.left, &meeting.right]);
        // The symbols of slices come first: the extent of a slice may be bounded, and whatever is broadcast with the slice must
        // have the same extent.
        let sliced = sides.filter(|dim| matches!(dim, Dim::Derived(_))).filter_map(Dim::symbol);
        let follow = |binding: &mut Binding| while self.meetings.iter().any(|(_, m)| binding.follow(m)) {};
        let mut binding = Binding::default();
        follow(&mut binding);
        for symbol in sliced.chain(symbols) {
            // A symbol that has an extent already keeps it.
            let _ = binding.set(symbol, extent);
            follow(&mut binding);
        }
        binding
    }

    /// The input of planning for the nodes of [`Template::bind`].
    pub(crate) fn expression<'x>(&'x self, nodes: &'x [Entry<'x>]) -> Expression<'x> {
        let structure = Structure { nodes, roots: self.structure.borrow().roots };
        let Template { literals, functions, derivatives, .. } = self;
        Expression { structure, literals, functions, derivatives }
    }

    /// The structure, whose dynamic inputs have no layouts.
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

    /// Whether element `i` of a result depends only on elements `i` of the inputs, so that loops can be divided: there are no
    /// views, reductions, scans or generated numbers.
    pub(crate) fn is_elementwise(&self) -> bool {
        self.is_elementwise
    }
}
