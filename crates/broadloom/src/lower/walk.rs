//! Walks the handles of expressions, operands first, and lists their nodes as entries of a structure.

use std::sync::Arc;

use broadloom_core::graph::{MAX_NODES, WHILE};
use broadloom_core::node::{NodeId, NodeKind};
use broadloom_core::scalar::Class;
use broadloom_core::structure::{Entry, KeyLayout, KeyLeaf, Structure};
use broadloom_core::symbol::Meeting;
use broadloom_core::{DType, Dim, Dims, Error, ErrorKind, HostDeclaration, Op, Result, Scalar};
use broadloom_ir::Axes;
use broadloom_mem::{HostFunction, Region};
use smallvec::SmallVec;

use crate::array::{Array, Data, Kind, Leaf};
use crate::lower::declared::{Declared, Place};
use crate::lower::expression::{Expression, SizeLimits};
use crate::lower::memo::Memo;

/// The lowered expressions of arrays: a structure, with the memory, literals and functions that it refers to.
pub(crate) struct Lowered<'e, 'a> {
    nodes: SmallVec<[Entry<'e>; 16]>,
    roots: SmallVec<[NodeId; 16]>,
    slots: SmallVec<[&'e Data<'a>; 8]>,
    literals: SmallVec<[Scalar; 8]>,
    functions: SmallVec<[HostFunction; 1]>,
    derivatives: Vec<NodeId>,
}

impl<'e, 'a> Lowered<'e, 'a> {
    /// Lowers the expressions of the roots.
    ///
    /// Errors: more nodes, a greater depth or a higher rank than the limits allow; a root that is a literal whose default dtype
    /// can't represent its value; an input of kernels, which has no values.
    pub(crate) fn new(roots: &[&'e Array<'a>], limits: SizeLimits) -> Result<Lowered<'e, 'a>> {
        let mut walker = Walker::new(None);
        walker.walk(roots, limits)?;
        Ok(Lowered {
            nodes: walker.nodes,
            roots: walker.done,
            slots: walker.leaves.slots,
            literals: walker.leaves.literals,
            functions: walker.functions.list,
            derivatives: walker.derivatives,
        })
    }

    /// The expression, as the input of planning.
    pub(crate) fn expression(&self) -> Expression<'_> {
        let structure = Structure { nodes: &self.nodes, roots: &self.roots };
        let Lowered { literals, functions, derivatives, .. } = self;
        Expression { structure, literals, functions, derivatives }
    }

    /// The memory of each input slot. Only the storage is used, since the structure contains the layouts.
    pub(crate) fn slots(&self) -> &[&'e Data<'a>] {
        &self.slots
    }

    /// The memory of each input slot, as regions.
    pub(crate) fn regions(&self) -> impl Iterator<Item = Region<'_>> {
        self.slots.iter().map(|data| data.storage.region())
    }

    /// The value of each literal slot.
    pub(crate) fn literals(&self) -> &[Scalar] {
        &self.literals
    }
}

/// The state of a walk over expressions, operands first.
pub(super) struct Walker<'e, 'a> {
    pub nodes: SmallVec<[Entry<'e>; 16]>,
    pub leaves: Leaves<'e, 'a>,
    pub functions: Functions,
    /// The pairs of extents that functions of a kernel broadcast although they may differ at run time, with the functions' names.
    pub meetings: Vec<(Box<str>, Meeting)>,
    /// The nodes that differentiation has made, in increasing order. Only explanations use them, so they are no part of the
    /// structure, and an expression without derivatives takes no memory for them.
    pub derivatives: Vec<NodeId>,
    /// Whether there may be integer divisions.
    divides: bool,
    /// The number of nodes in the bodies of loops.
    in_regions: usize,
    /// The ids of nodes with several references, by address.
    ids: Memo<usize, NodeId>,
    /// The stack of nodes to be visited, each with whether its operands have been visited.
    pending: SmallVec<[(&'e Array<'a>, bool); 16]>,
    /// A stack of the nodes whose user has not been listed yet; at the end it contains the roots.
    pub done: SmallVec<[NodeId; 16]>,
}

impl<'e, 'a> Walker<'e, 'a> {
    /// A walker before its first node. `declared` contains the inputs of a kernel, if the expressions are those of a kernel.
    pub(crate) fn new(declared: Option<Declared<'e, 'a>>) -> Walker<'e, 'a> {
        Walker {
            nodes: SmallVec::new(),
            leaves: Leaves::new(declared),
            functions: Functions { list: SmallVec::new(), known: Memo::new() },
            meetings: Vec::new(),
            derivatives: Vec::new(),
            divides: false,
            in_regions: 0,
            ids: Memo::new(),
            pending: SmallVec::new(),
            done: SmallVec::new(),
        }
    }

    /// Walks the expressions of the roots.
    pub(crate) fn walk(&mut self, roots: &[&'e Array<'a>], limits: SizeLimits) -> Result<()> {
        let max_nodes = limits.nodes.min(MAX_NODES);
        for root in roots {
            self.root(root, roots.len() > 1, max_nodes)?;
        }
        if !self.divides {
            self.leaves_reciprocals_aside();
        }
        limits.check_depth_and_rank(Structure { nodes: &self.nodes, roots: &self.done })
    }

    /// Merges the classes of literals that differ only in the length of their reciprocals, which matters only to integer
    /// divisions. Called if the expressions contain no integer division, so that expressions with such literals share a plan and
    /// its code.
    fn leaves_reciprocals_aside(&mut self) {
        for entry in &mut self.nodes {
            if let NodeKind::Leaf(KeyLeaf::Literal { class: class @ Class::ShortReciprocal, .. }) = entry {
                *class = Class::Other;
            }
        }
    }

    fn root(&mut self, root: &'e Array<'a>, of_several: bool, max_nodes: usize) -> Result<()> {
        self.pending.push((root, false));
        while let Some((array, operands_done)) = self.pending.pop() {
            // A node with a single reference is reached only once, unless it is given as a root twice.
            let shared = Arc::strong_count(&array.0) > 1 || of_several && self.pending.is_empty();
            let address = Arc::as_ptr(&array.0) as usize;
            if !operands_done {
                if shared && let Some(id) = self.ids.get(&address) {
                    self.done.push(id);
                    continue;
                }
                if !matches!(array.0.kind, NodeKind::Leaf(_)) {
                    self.pending.push((array, true));
                    let operands = (0..array.0.kind.arity()).rev().filter_map(|i| array.0.kind.operand(i));
                    operands.for_each(|arg| self.pending.push((arg, false)));
                    continue;
                }
            }
            let entry = self.entry(array)?;
            let region = match &entry {
                NodeKind::Loop(of) => Some(&of.region),
                NodeKind::Recurrence(of) => Some(&of.step),
                _ => None,
            };
            if let Some(region) = region {
                self.in_regions = self.in_regions.saturating_add(region.size());
            }
            if self.nodes.len().saturating_add(self.in_regions) >= max_nodes {
                let why = format!("the expression has more nodes than the limit of {max_nodes}");
                return Err(
                    Error::new(ErrorKind::Limit, why).with_help("the option max_nodes sets the limit")
                );
            }
            let id = NodeId::new(self.nodes.len());
            self.nodes.push(entry);
            if array.0.marks.is_derivative {
                self.derivatives.push(id);
            }
            if shared {
                self.ids.insert(address, id);
            }
            self.done.push(id);
        }
        Ok(())
    }

    /// The entry of a node. Its operands are the last nodes of the stack `done`, and are removed from it.
    fn entry(&mut self, array: &'e Array<'a>) -> Result<Entry<'e>> {
        let kind = &array.0.kind;
        match kind {
            NodeKind::Apply { op, .. } => self.divides |= op.faults(DType::Int64),
            NodeKind::Loop(of) => self.divides |= of.region.divides(),
            NodeKind::Recurrence(of) => self.divides |= of.step.divides(),
            _ => {}
        }
        if self.leaves.declared.is_some() {
            self.collect_meetings(kind);
        }
        let first = self.done.len() - kind.arity();
        let mut at = first;
        let entry = kind.try_map(
            |_| {
                at += 1;
                Ok(self.done[at - 1])
            },
            |leaf| self.leaves.leaf(array, leaf),
            |function| self.functions.declare(function),
        )?;
        self.done.truncate(first);
        Ok(entry)
    }
}

impl<'a> Walker<'_, 'a> {
    /// Adds the pairs of extents that a function broadcasts before it is known whether they are equal.
    fn collect_meetings(&mut self, kind: &Kind<'a>) {
        let function = match kind {
            NodeKind::Apply { op, .. } => op.name(),
            NodeKind::Host { function, .. } => function.name(),
            NodeKind::Loop(_) => WHILE,
            NodeKind::Recurrence(of) => of.function(),
            _ => return,
        };
        if kind.operands().all(|operand| operand.dims().is_none()) {
            return;
        }
        let mut lists: SmallVec<[SmallVec<[Dims; 3]>; 2]> = SmallVec::new();
        match kind {
            NodeKind::Recurrence(of) => {
                let inputs: SmallVec<[Dims; 3]> = of.inputs().iter().map(Array::all_dims).collect();
                let axes: Axes = [usize::from(of.axis)].into_iter().collect();
                let without = |dims: &Dims| {
                    let left: SmallVec<[Dim; 4]> = axes.reduced(dims, false, Dim::Fixed(1)).collect();
                    Dims::new(&left).ok()
                };
                let others = inputs.iter().filter_map(without).chain(of.others().map(Array::all_dims));
                lists.push(others.collect());
                lists.push(inputs);
            }
            _ => lists.push(kind.aligned().map(Array::all_dims).collect()),
        }
        let meetings = &mut self.meetings;
        for dims in &lists {
            // The result is ignored, since broadcasting the same dims succeeded when the node was made.
            let _ = Dims::broadcast(&dims.iter().collect::<SmallVec<[&Dims; 3]>>(), &mut |meeting| {
                if !meetings.iter().any(|(name, known)| **name == *function && *known == meeting) {
                    meetings.push((function.into(), meeting));
                }
            });
        }
    }
}

/// The host functions found so far.
pub(super) struct Functions {
    pub list: SmallVec<[HostFunction; 1]>,
    known: Memo<u64, ()>,
}

impl Functions {
    fn declare(&mut self, function: &HostFunction) -> HostDeclaration {
        if self.known.get(&function.id()).is_none() {
            self.known.insert(function.id(), ());
            self.list.push(function.clone());
        }
        function.declaration().clone()
    }
}

/// The leaves found so far, with their slot numbers.
pub(super) struct Leaves<'e, 'a> {
    slots: SmallVec<[&'e Data<'a>; 8]>,
    pub literals: SmallVec<[Scalar; 8]>,
    slot_of: Memo<Place, u32>,
    literal_of: Memo<Scalar, u32>,
    /// The inputs of a kernel, if the expressions are those of a kernel. The slot numbers are then the positions of these inputs.
    pub declared: Option<Declared<'e, 'a>>,
}

impl<'e, 'a> Leaves<'e, 'a> {
    fn new(declared: Option<Declared<'e, 'a>>) -> Leaves<'e, 'a> {
        Leaves {
            slots: SmallVec::new(),
            literals: SmallVec::new(),
            slot_of: Memo::new(),
            literal_of: Memo::new(),
            declared,
        }
    }

    fn leaf(&mut self, array: &'e Array<'a>, leaf: &'e Leaf<'a>) -> Result<KeyLeaf<'e>> {
        match (leaf, &mut self.declared) {
            (Leaf::Data(data), None) => Ok(self.memory(data)),
            (Leaf::Data(data), Some(declared)) => declared.memory(data),
            (Leaf::Input(name), Some(declared)) => declared.input(array, name),
            (Leaf::Input(name), None) => {
                let (dtype, dims) = (array.dtype(), array.all_dims());
                let why = format!("`{name}` ({dtype}{dims}) is an input of kernels: it has no values");
                Err(Error::new(ErrorKind::Memory, why).with_help("build a Kernel, and run it on values"))
            }
            (Leaf::Carried, _) => {
                let why = "while_loop: a carried value is used outside of the loop";
                Err(Error::new(ErrorKind::Memory, why).with_help("use what the loop returns"))
            }
            (Leaf::Index(len), _) => Ok(KeyLeaf::Index { len: *len }),
            (Leaf::Const(value), _) => Ok(self.literal(*value, None)),
            (Leaf::Rounded(value, op), _) => Ok(self.literal(*value, Some(*op))),
            (Leaf::Rule(..) | Leaf::RecordedRule(..), _) => {
                Ok(self.literal(Scalar { dtype: array.dtype(), bits: 0 }, None))
            }
            (Leaf::Number(x), _) => Ok(self.literal(x.scalar()?, x.rounded_by())),
        }
    }

    fn memory(&mut self, data: &'e Data<'a>) -> KeyLeaf<'e> {
        let place = Place::of(data);
        let slot = self.slot_of.get(&place).unwrap_or_else(|| {
            let slot = self.slots.len() as u32;
            self.slot_of.insert(place, slot);
            self.slots.push(data);
            slot
        });
        KeyLeaf::Memory { slot, dtype: place.dtype, layout: KeyLayout::Borrowed(&data.layout) }
    }

    fn literal(&mut self, value: Scalar, rounded_by: Option<Op>) -> KeyLeaf<'e> {
        let slot = self.literal_of.get(&value).unwrap_or_else(|| {
            let slot = self.literals.len() as u32;
            self.literal_of.insert(value, slot);
            self.literals.push(value);
            slot
        });
        KeyLeaf::Literal { slot, dtype: value.dtype, class: value.class(), rounded_by }
    }
}
