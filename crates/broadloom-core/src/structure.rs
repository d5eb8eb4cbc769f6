//! The structure of expressions: everything that determines their graph except the values of literals.
//!
//! A [`Structure`] lists the nodes of expressions, operands first; each node of the application is listed once.
//! Expressions of equal structure have graphs that differ only in the values of literals, so the structure is the cache
//! key of a plan. Equality and hash cover ops, dtypes, layouts, views, host functions, which leaves share memory, and
//! the [classes](Scalar::class) of literals. A symbolic kernel is a structure with [dynamic](KeyLeaf::Dynamic) inputs,
//! whose layouts are filled in when it is bound.

use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use broadloom_ir::scalar::Class;
use broadloom_ir::{DType, Error, ErrorKind, Op, Result, Scalar};

use crate::Accuracy;
use crate::graph::{Graph, Leaf, Semantics};
use crate::layout::Layout;
use crate::node::{MAX_OPERANDS, NodeId, NodeKind};
use crate::shape::Shape;

/// A layout, which a structure borrows while it is looked up, and which a stored structure owns.
#[derive(Clone, Debug)]
pub enum KeyLayout<'s> {
    /// The borrowed layout of an array.
    Borrowed(&'s Layout),
    /// An owned copy.
    Owned(Box<Layout>),
}

impl Deref for KeyLayout<'_> {
    type Target = Layout;
    #[inline]
    fn deref(&self) -> &Layout {
        match self {
            KeyLayout::Borrowed(layout) => layout,
            KeyLayout::Owned(layout) => layout,
        }
    }
}

impl PartialEq for KeyLayout<'_> {
    // PERF: compared element by element, since a call of memcmp costs more than a few extents.
    #[inline]
    fn eq(&self, other: &KeyLayout<'_>) -> bool {
        self.offset == other.offset
            && self.shape.rank() == other.shape.rank()
            && self.shape.iter().zip(other.shape.iter()).all(|(a, b)| a == b)
            && self.strides.iter().zip(&other.strides).all(|(a, b)| a == b)
    }
}

impl Eq for KeyLayout<'_> {}

/// A leaf of a structure. Its slot is the number of an array of the application, or of a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyLeaf<'s> {
    /// An array in memory.
    Memory {
        /// The number of the array; equal slots share memory.
        slot: u32,
        /// The dtype of its elements.
        dtype: DType,
        /// The offset of each element in the array's memory.
        layout: KeyLayout<'s>,
    },
    /// An input of a symbolic kernel, whose extents and strides are given when it is bound.
    Dynamic {
        /// The number of the input.
        slot: u32,
        /// The dtype of its elements.
        dtype: DType,
    },
    /// Generated int64 numbers, starting at 0.
    Index {
        /// The number of elements.
        len: usize,
    },
    /// A 0-d literal. Rules depend on its class, and each evaluation provides its value.
    Literal {
        /// The number of the literal.
        slot: u32,
        /// The dtype of the literal.
        dtype: DType,
        /// The class of the value, which rules may use.
        class: Class,
        /// If an approximate function computed the literal from numbers before the expression was built, that function.
        rounded_by: Option<Op>,
    },
}

/// A node of a structure.
pub type Entry<'s> = NodeKind<NodeId, KeyLeaf<'s>>;

/// The nodes of expressions, operands first, and the roots among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure<'s> {
    /// The nodes, operands before their users.
    pub nodes: &'s [Entry<'s>],
    /// The roots, in the order of the results.
    pub roots: &'s [NodeId],
}

/// A structure that borrows nothing and can be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedStructure {
    nodes: Box<[Entry<'static>]>,
    roots: Box<[NodeId]>,
}

impl Hash for Structure<'_> {
    // PERF: hashes one word for each node, and one more for a layout; this is a tenth of a cached evaluation of a short
    // expression.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.nodes.len());
        for entry in self.nodes {
            let what = match entry {
                NodeKind::Leaf(leaf) => leaf.hash_layout(state),
                NodeKind::Apply { op, .. } => 4 << 8 | *op as u64,
                NodeKind::Host { function, .. } => 5 << 8 ^ function.id() << 16,
                NodeKind::Cast { to, .. } => 6 << 8 | *to as u64,
                NodeKind::View { view, .. } => {
                    view.hash(state);
                    7 << 8
                }
                NodeKind::DynamicView { view, .. } => {
                    view.hash(state);
                    13 << 8
                }
                NodeKind::Reduce { reduction, axes, keep_dims, .. } => {
                    state.write_u64(axes.mask());
                    8 << 8 | *reduction as u64 | u64::from(*keep_dims) << 16
                }
                NodeKind::Scan { scan, axis, initial, before, .. } => {
                    let level = before.as_ref().map_or(0, |before| {
                        state.write_usize(before.blocks);
                        1 + u64::from(before.level)
                    });
                    9 << 8 | *scan as u64 | u64::from(*initial) << 16 | u64::from(*axis) << 17 | level << 32
                }
                NodeKind::Count { axes, to, .. } => {
                    state.write_u64(axes.mask());
                    10 << 8 | *to as u64
                }
                NodeKind::Gather { .. } => 17 << 8,
                NodeKind::PadLike { padding, .. } => {
                    padding.hash(state);
                    20 << 8
                }
                NodeKind::Concat { args, axis } => {
                    args.iter().skip(MAX_OPERANDS).for_each(|arg| state.write_usize(arg.index()));
                    18 << 8 | u64::from(*axis)
                }
                NodeKind::Index { axis, .. } => 12 << 8 | u64::from(*axis),
                NodeKind::Words { to, len, .. } => {
                    state.write_usize(*len);
                    16 << 8 | *to as u64
                }
                NodeKind::Loop(of) => {
                    of.hash(state);
                    14 << 8
                }
                NodeKind::Routine(of) => {
                    of.hash(state);
                    19 << 8
                }
                NodeKind::Recurrence(of) => {
                    of.hash(state);
                    15 << 8
                }
            };
            let operand = |word: u64, i| match entry.operand(i) {
                Some(arg) => word.rotate_left(20) ^ arg.index() as u64,
                None => word,
            };
            state.write_u64((0..MAX_OPERANDS).fold(what, operand));
        }
        self.roots.iter().for_each(|root| root.hash(state));
    }
}

impl Hash for OwnedStructure {
    /// Equal to the hash of the borrowed structure.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.borrow().hash(state);
    }
}

impl OwnedStructure {
    /// Borrows the structure.
    pub fn borrow(&self) -> Structure<'_> {
        Structure { nodes: &self.nodes, roots: &self.roots }
    }
}

impl<'s> Structure<'s> {
    /// Copies the structure into one that borrows nothing.
    pub fn to_owned(self) -> OwnedStructure {
        let owned = |leaf: &KeyLeaf<'_>| match leaf {
            KeyLeaf::Memory { slot, dtype, layout } => {
                let layout = KeyLayout::Owned(Box::new((**layout).clone()));
                KeyLeaf::Memory { slot: *slot, dtype: *dtype, layout }
            }
            KeyLeaf::Dynamic { slot, dtype } => KeyLeaf::Dynamic { slot: *slot, dtype: *dtype },
            KeyLeaf::Index { len } => KeyLeaf::Index { len: *len },
            KeyLeaf::Literal { slot, dtype, class, rounded_by } => {
                KeyLeaf::Literal { slot: *slot, dtype: *dtype, class: *class, rounded_by: *rounded_by }
            }
        };
        let nodes = self.nodes.iter().map(|entry| {
            let entry: std::result::Result<_, Infallible> = over_leaf(entry, |leaf| Ok(owned(leaf)));
            entry.unwrap_or_else(|never| match never {})
        });
        OwnedStructure { nodes: nodes.collect(), roots: self.roots.into() }
    }

    /// The nodes, with the layouts of dynamic inputs filled in by slot.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] for an input without a layout.
    pub fn bind<'l>(self, layouts: &'l [Layout]) -> Result<Vec<Entry<'l>>>
    where
        's: 'l,
    {
        let bound = |leaf: &'s KeyLeaf<'s>| -> Result<KeyLeaf<'l>> {
            Ok(match leaf {
                KeyLeaf::Dynamic { slot, dtype } => {
                    let layout = layouts.get(*slot as usize).ok_or_else(|| dynamic(*slot))?;
                    KeyLeaf::Memory { slot: *slot, dtype: *dtype, layout: KeyLayout::Borrowed(layout) }
                }
                KeyLeaf::Memory { slot, dtype, layout } => {
                    KeyLeaf::Memory { slot: *slot, dtype: *dtype, layout: KeyLayout::Borrowed(layout) }
                }
                other => other.clone(),
            })
        };
        self.nodes.iter().map(|entry| over_leaf(entry, bound)).collect()
    }

    /// The maximum number of views and computing nodes on a path from a root to a leaf, and the maximum rank.
    pub fn depth_and_rank(self) -> (usize, usize) {
        let (mut depths, mut deepest, mut highest) = (Vec::<u32>::with_capacity(self.nodes.len()), 0, 0);
        for entry in self.nodes {
            let below = entry.operands().map(|arg| depths[arg.index()] + 1).max().unwrap_or(0);
            depths.push(below);
            deepest = deepest.max(below as usize);
            highest = highest.max(match entry {
                NodeKind::Leaf(KeyLeaf::Memory { layout, .. }) => layout.shape.rank(),
                NodeKind::Leaf(KeyLeaf::Index { .. }) => 1,
                NodeKind::View { view, .. } => view.rank(),
                NodeKind::DynamicView { view, .. } => view.rank(),
                _ => 0,
            });
        }
        (deepest, highest)
    }

    /// The graph and its roots. Inputs and literals keep their numbers. The nodes at the positions `derivatives`, in increasing
    /// order, are marked as those of derivatives.
    ///
    /// The nodes are typed, so that a node's type follows from those of its operands, and nothing is promoted or
    /// converted.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for a shape of too many elements, or too many nodes; [`ErrorKind::DType`] for a literal
    /// that is less accurate than requested; [`ErrorKind::Internal`] for a literal without a value, or an input without
    /// a layout.
    pub fn graph(
        self,
        literals: &[Scalar],
        semantics: Semantics,
        derivatives: &[NodeId],
    ) -> Result<(Graph, Vec<NodeId>)> {
        let mut graph = Graph::with_capacity(semantics, self.nodes.len());
        let mut ids: Vec<NodeId> = Vec::with_capacity(self.nodes.len());
        // Most inputs have the same layout as the input before.
        let mut last = None;
        let mut derivatives = derivatives.iter().peekable();
        for (i, entry) in self.nodes.iter().enumerate() {
            graph.add_derivative(derivatives.next_if(|id| id.index() == i).is_some());
            let kind = entry.try_map(
                |arg| Ok(ids[arg.index()]),
                |leaf| leaf.with_value(literals, semantics, &mut last),
                Clone::clone,
            )?;
            ids.push(graph.push(kind)?);
        }
        Ok((graph, self.roots.iter().map(|root| ids[root.index()]).collect()))
    }
}

/// Maps the leaf of a node; other nodes are copied.
fn over_leaf<'e, 'm, E>(
    entry: &'e Entry<'e>,
    leaf: impl FnOnce(&'e KeyLeaf<'e>) -> std::result::Result<KeyLeaf<'m>, E>,
) -> std::result::Result<Entry<'m>, E> {
    entry.try_map(|arg| Ok(*arg), leaf, Clone::clone)
}

impl KeyLeaf<'_> {
    /// Hashes the layout, and returns the rest of the leaf as one word.
    #[inline]
    fn hash_layout(&self, state: &mut impl Hasher) -> u64 {
        let word = |sort: u64, slot: u32, dtype: DType| sort << 8 | dtype as u64 | u64::from(slot) << 32;
        match self {
            KeyLeaf::Memory { slot, dtype, layout } => {
                let axes = layout.shape.iter().zip(&layout.strides);
                state.write_u64(axes.fold(layout.offset as u64, |word, (&extent, &stride)| {
                    word.rotate_left(13) ^ extent as u64 ^ (stride as u64).rotate_left(32)
                }));
                word(1, *slot, *dtype)
            }
            KeyLeaf::Dynamic { slot, dtype } => word(2, *slot, *dtype),
            KeyLeaf::Index { len } => {
                state.write_usize(*len);
                11 << 8
            }
            KeyLeaf::Literal { slot, dtype, class, rounded_by } => {
                let function = rounded_by.map_or(0, |op| 1 + op as u64);
                word(3, *slot, *dtype) | (*class as u64) << 16 | function << 20
            }
        }
    }

    /// The leaf of a graph for this leaf, with the value of a literal. `last` is the layout of the input before; an
    /// input with an equal layout shares it.
    fn with_value(
        &self,
        literals: &[Scalar],
        semantics: Semantics,
        last: &mut Option<Arc<Layout>>,
    ) -> Result<Leaf> {
        match self {
            KeyLeaf::Memory { slot, dtype, layout } => {
                let known = last.take().filter(|last| **last == **layout);
                let layout = known.unwrap_or_else(|| Arc::new((**layout).clone()));
                *last = Some(layout.clone());
                Ok(Leaf::Input { slot: *slot, dtype: *dtype, layout })
            }
            KeyLeaf::Dynamic { slot, .. } => Err(dynamic(*slot)),
            KeyLeaf::Index { len } => {
                Ok(Leaf::Index { layout: Arc::new(Layout::contiguous(Shape::new(&[*len])?)) })
            }
            KeyLeaf::Literal { rounded_by: Some(op), dtype, .. }
                if semantics.accuracy == Accuracy::Nearest =>
            {
                Err(rounded_before(*op, *dtype))
            }
            KeyLeaf::Literal { slot, .. } => {
                let missing = || Error::new(ErrorKind::Internal, format!("literal {slot} has no value"));
                let value = *literals.get(*slot as usize).ok_or_else(missing)?;
                Ok(Leaf::Const { value, slot: Some(*slot) })
            }
        }
    }
}

/// The error for a function whose operands are all numbers: it was computed when the expression was built, before the
/// requested accuracy was known.
fn rounded_before(op: Op, dtype: DType) -> Error {
    let why = format!(
        "{op} of numbers alone is computed as they are, not to the nearest {dtype}, as accuracy = nearest asks for"
    );
    Error::new(ErrorKind::DType, why).with_help("give the number a dtype first, such as astype(x, float32)")
}

fn dynamic(slot: u32) -> Error {
    Error::new(ErrorKind::Internal, format!("input {slot} has no layout"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indices::{DynamicView, Indices};
    use crate::layout::{Slice, View};
    use crate::node::{Args, LoopNode, Region};
    use crate::padding::Padding;
    use broadloom_ir::HostDeclaration;
    use smallvec::smallvec;

    fn args(of: &[usize]) -> Args<NodeId> {
        of.iter().map(|&i| NodeId::new(i)).collect()
    }

    fn memory(slot: u32, extents: &[usize]) -> Entry<'static> {
        let layout = Box::new(Layout::contiguous(Shape::new(extents).expect("small")));
        NodeKind::Leaf(KeyLeaf::Memory { slot, dtype: DType::Float32, layout: KeyLayout::Owned(layout) })
    }

    fn written(nodes: &[Entry<'_>], roots: &[NodeId]) -> String {
        Structure { nodes, roots }.to_string()
    }

    fn apply_in(op: Op) -> NodeKind<NodeId, u32> {
        NodeKind::Apply { op, accuracy: Accuracy::Fast, args: args(&[0]) }
    }

    /// Structures of which any two differ in at least one property.
    fn variants() -> Vec<Vec<Entry<'static>>> {
        let (x, y) = (memory(0, &[2, 3]), memory(1, &[2, 3]));
        let rounded = |class, rounded_by| {
            NodeKind::Leaf(KeyLeaf::Literal { slot: 0, dtype: DType::Float32, class, rounded_by })
        };
        let literal = |class| rounded(class, None);
        let f = |name| HostDeclaration::new(name, &[DType::Float32], DType::Float32, 1).expect("a name");
        let host =
            |function: &HostDeclaration, i| NodeKind::Host { function: function.clone(), args: args(&[i]) };
        let (g, h) = (f("f"), f("f"));
        let view = |view| NodeKind::View { arg: NodeId::new(0), view: Arc::new(view) };
        let shape = |extents: &[usize]| Shape::new(extents).expect("small");
        let apply = |op, of: &[usize]| NodeKind::Apply { op, accuracy: Accuracy::Fast, args: args(of) };
        let dynamic = |view| NodeKind::DynamicView { arg: NodeId::new(0), view: Arc::new(view) };
        let cut = |from: &[isize], has_rest| {
            let range = |&start| Indices::Range { start: Some(start), stop: None, step: 1 };
            dynamic(DynamicView::Index { indices: from.iter().map(range).collect(), has_rest })
        };
        let slice = |start| View::Slice(smallvec![Slice { start, step: 1, len: 1 }; 2]);
        let first = || [0].into_iter().collect();
        let arg = NodeId::new(0);
        let padded = |behind, step| {
            let padding = Arc::new(Padding { behind, start: Some(1), stop: None, step });
            NodeKind::PadLike { arg, like: arg, padding }
        };
        let looped = |limit, item, args: &[usize]| {
            let region = Region {
                params: vec![DType::Float32; args.len()],
                tables: Vec::new(),
                limit,
                is_numbered: false,
                nodes: vec![NodeKind::Leaf(0), apply_in(Op::IsFinite), apply_in(Op::Square)],
                condition: Some(NodeId::new(1)),
                next: vec![NodeId::new(2); args.len()],
                outputs: Vec::new(),
            };
            let args = args.iter().map(|&i| NodeId::new(i)).collect();
            NodeKind::Loop(Box::new(LoopNode { region: Arc::new(region), functions: Vec::new(), args, item }))
        };
        vec![
            vec![x.clone()],
            vec![memory(0, &[3, 2])],
            vec![memory(0, &[6])],
            vec![NodeKind::Leaf(KeyLeaf::Dynamic { slot: 0, dtype: DType::Float32 })],
            vec![NodeKind::Leaf(KeyLeaf::Dynamic { slot: 1, dtype: DType::Float32 })],
            vec![NodeKind::Leaf(KeyLeaf::Dynamic { slot: 0, dtype: DType::Float64 })],
            vec![NodeKind::Leaf(KeyLeaf::Index { len: 6 })],
            vec![NodeKind::Leaf(KeyLeaf::Index { len: 7 })],
            vec![literal(Class::One)],
            vec![literal(Class::Two)],
            vec![rounded(Class::Two, Some(Op::Acos))],
            vec![rounded(Class::Two, Some(Op::Exp2))],
            vec![x.clone(), apply(Op::Sqrt, &[0])],
            vec![x.clone(), apply(Op::Exp, &[0])],
            vec![x.clone(), apply(Op::Add, &[0, 0])],
            vec![x.clone(), y.clone(), apply(Op::Subtract, &[0, 1])],
            vec![x.clone(), y.clone(), apply(Op::Subtract, &[1, 0])],
            vec![x.clone(), NodeKind::Cast { arg: NodeId::new(0), to: DType::Float16 }],
            vec![x.clone(), NodeKind::Cast { arg: NodeId::new(0), to: DType::Float64 }],
            vec![x.clone(), view(View::Reshape(shape(&[6])))],
            vec![x.clone(), view(View::BroadcastTo(shape(&[6])))],
            vec![x.clone(), view(View::Permute(smallvec![1, 0]))],
            vec![x.clone(), view(View::Permute(smallvec![0, 1]))],
            vec![x.clone(), cut(&[0, 1], false)],
            vec![x.clone(), cut(&[1, 0], false)],
            vec![x.clone(), cut(&[0, 1], true)],
            vec![x.clone(), dynamic(DynamicView::NewAxis(0))],
            vec![x.clone(), dynamic(DynamicView::NewAxis(1))],
            vec![x.clone(), view(slice(0))],
            vec![x.clone(), view(slice(1))],
            vec![x.clone(), NodeKind::Count { arg, axes: first(), to: DType::Int64 }],
            vec![x.clone(), NodeKind::Index { arg, axis: 0 }],
            vec![x.clone(), NodeKind::Index { arg, axis: 1 }],
            vec![x.clone(), padded(1, 1)],
            vec![x.clone(), padded(1, 2)],
            vec![x.clone(), padded(0, 1)],
            vec![x.clone(), NodeKind::Words { key: arg, to: DType::UInt32, len: 6 }],
            vec![x.clone(), NodeKind::Words { key: arg, to: DType::UInt64, len: 6 }],
            vec![x.clone(), NodeKind::Words { key: arg, to: DType::UInt32, len: 7 }],
            vec![x.clone(), host(&g, 0)],
            vec![x.clone(), host(&f("other"), 0)],
            vec![x.clone(), looped(Some(9), 0, &[0])],
            vec![x.clone(), looped(Some(8), 0, &[0])],
            vec![x.clone(), y.clone(), looped(Some(9), 0, &[1])],
            vec![x.clone(), looped(Some(9), 0, &[0, 0])],
            vec![x.clone(), looped(Some(9), 1, &[0, 0])],
            vec![x.clone(), host(&g, 0), host(&g, 1)],
            vec![x, host(&g, 0), host(&h, 1)],
        ]
    }

    #[test]
    fn what_is_written_down_tells_structures_apart() {
        let of = |nodes: &Vec<Entry<'_>>| written(nodes, &[NodeId::new(nodes.len() - 1)]);
        let texts: Vec<String> = variants().iter().map(of).collect();
        for (i, one) in texts.iter().enumerate() {
            assert_eq!(texts.iter().position(|other| other == one), Some(i), "row {i}");
        }
        let x = [memory(0, &[2])];
        assert_ne!(written(&x, &[NodeId::new(0)]), written(&x, &[NodeId::new(0); 2]), "roots count");
    }

    #[test]
    fn what_is_written_down_holds_nothing_of_the_process() {
        let f = || HostDeclaration::new("f", &[DType::Float32], DType::Float32, 1).expect("a name");
        let nodes = || [memory(0, &[2]), NodeKind::Host { function: f(), args: args(&[0]) }];
        let (one, other) = (nodes(), nodes());
        assert_ne!(one[1], other[1], "two registrations");
        assert_eq!(written(&one, &[NodeId::new(1)]), written(&other, &[NodeId::new(1)]));
    }

    #[test]
    fn depth_and_rank_are_those_of_the_longest_way_and_the_largest_layout() {
        let apply = |of: &[usize]| NodeKind::Apply { op: Op::Add, accuracy: Accuracy::Fast, args: args(of) };
        let nodes = [memory(0, &[2, 3]), memory(1, &[3]), apply(&[0, 1]), apply(&[2, 1]), apply(&[0, 0])];
        let roots = [NodeId::new(4)];
        assert_eq!(Structure { nodes: &nodes, roots: &roots }.depth_and_rank(), (2, 2));
        assert_eq!(Structure { nodes: &nodes[..2], roots: &roots[..0] }.depth_and_rank(), (0, 2));
    }

    #[test]
    fn entries_are_small() {
        // The size matters, since a cached evaluation writes an entry for each node.
        assert!(size_of::<Entry<'_>>() <= 32, "{}", size_of::<Entry<'_>>());
    }
}
