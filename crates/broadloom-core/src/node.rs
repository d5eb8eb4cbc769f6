//! The nodes of expressions: one enum, generic over the references to operands and over leaves.
//!
//! A handle of the application, an entry of a cache key ([`structure`](crate::structure)) and a node of the
//! [`graph`](crate::graph) are the same [`NodeKind`] with different types of operands and leaves. Mapping operands and
//! leaves converts one into another, and a new kind of node is one more variant here. A node that computes is typed:
//! its operands have exactly the dtypes that it takes, and their shapes broadcast to its shape. The body of a loop is a
//! [`Region`], a list of nodes of its own. Each value that a loop carries is a node, so that every node has one value.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use broadloom_ir::{Accuracy, Axes, DType, HostDeclaration, Op, Reduction, Scan};

use crate::indices::DynamicView;
use crate::layout::View;
use crate::padding::Padding;
use crate::routine::RoutineNode;

/// The position of a node in a list in which operands come before their users: a [`Graph`](crate::Graph), or a
/// [`Structure`](crate::structure::Structure).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(NonZeroU32);

impl NodeId {
    /// The id of the node at a position. Lists have fewer than 2^32 nodes.
    #[inline]
    pub fn new(index: usize) -> NodeId {
        NodeId(NonZeroU32::MIN.saturating_add(index as u32))
    }

    /// The position of the node.
    #[inline]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.index())
    }
}

/// The maximum number of operands of a node.
pub const MAX_OPERANDS: usize = 3;

/// The operands of a function: one to three.
// Not a `SmallVec`, whose associated type would make the lifetime of a handle's operands invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Args<A>([Option<A>; MAX_OPERANDS]);

impl<A> Args<A> {
    /// The operands in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &A> + Clone {
        self.0.iter().flatten()
    }

    /// Maps each operand to another one; fails with the first error.
    #[inline]
    fn try_map<'n, B, E>(&'n self, mut to: impl FnMut(&'n A) -> Result<B, E>) -> Result<Args<B>, E> {
        let [first, second, third] = &self.0;
        // PERF: without an iterator, since this runs for each node of a cached evaluation.
        Ok(Args([
            first.as_ref().map(&mut to).transpose()?,
            second.as_ref().map(&mut to).transpose()?,
            third.as_ref().map(&mut to).transpose()?,
        ]))
    }

    /// The operand number `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&A> {
        self.0.get(i)?.as_ref()
    }

    /// The number of operands.
    #[inline]
    fn count(&self) -> usize {
        self.0.iter().map(|arg| usize::from(arg.is_some())).sum()
    }

    /// The last operand, which for every op has the dtype in which the op computes.
    pub fn last(&self) -> Option<&A> {
        self.iter().next_back()
    }
}

impl<A: Copy + Ord> Args<A> {
    /// Sorts the operands, as is allowed for a commutative function.
    pub fn sort(&mut self) {
        let count = self.count();
        self.0[..count].sort_unstable();
    }
}

/// Takes the first three operands.
impl<A> FromIterator<A> for Args<A> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = A>>(operands: I) -> Args<A> {
        let mut operands = operands.into_iter();
        let first = operands.next();
        let second = if first.is_some() { operands.next() } else { None };
        let third = if second.is_some() { operands.next() } else { None };
        Args([first, second, third])
    }
}

/// The operation of a node, with operands `A`, leaves `L` and host functions `F`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind<A, L, F = HostDeclaration> {
    /// A node without operands: an input, or a constant.
    Leaf(L),
    /// A function of nodes that have the dtypes it takes, and whose shapes broadcast to the node's shape.
    Apply {
        /// The function.
        op: Op,
        /// The accuracy of the function. Rewriting sets it from the graph's semantics; it is fast in all other nodes.
        accuracy: Accuracy,
        /// The operands of the function.
        args: Args<A>,
    },
    /// A host function of nodes that have the dtypes it takes, and whose shapes broadcast to the node's shape. Its only
    /// known property is that equal operands give equal results.
    Host {
        /// The function.
        function: F,
        /// The operands of the function.
        args: Args<A>,
    },
    /// A conversion to another dtype.
    Cast {
        /// The node to convert.
        arg: A,
        /// The dtype of the result.
        to: DType,
    },
    /// A view of the elements of a node.
    View {
        /// The node that is viewed.
        arg: A,
        /// The change of shape.
        view: Arc<View>,
    },
    /// A view that depends on extents. Once these are known, it becomes one or two views, so graphs have no such node.
    DynamicView {
        /// The node that is viewed.
        arg: A,
        /// The change of shape.
        view: Arc<DynamicView>,
    },
    /// Elements that are moved back to the indices of a range, among zeros, on an axis that is as long as that of another node.
    /// Once extents are known, it becomes views and joined nodes, so graphs have no such node.
    PadLike {
        /// The node whose elements are moved.
        arg: A,
        /// The node whose extent the axis gets.
        like: A,
        /// The range of the axis.
        padding: Arc<Padding>,
    },
    /// A reduction: the elements along axes are combined to one element.
    Reduce {
        /// The node whose elements are reduced. It has a dtype that the reduction takes.
        arg: A,
        /// The operation that combines the elements.
        reduction: Reduction,
        /// The axes that are reduced.
        axes: Axes,
        /// Whether reduced axes are kept with an extent of 1.
        keep_dims: bool,
    },
    /// A scan: along an axis, each element combined with all elements before it.
    Scan {
        /// The node whose elements are scanned. It has a dtype that the scan takes.
        arg: A,
        /// The operation that combines the elements.
        scan: Scan,
        /// The scanned axis.
        axis: u8,
        /// Whether the result begins with an additional element: the sum or product of no elements.
        initial: bool,
        /// If the elements continue a longer scan, the totals of the elements before them.
        before: Option<Before<A>>,
    },
    /// The number of elements along axes, for operands of symbolic extents. Graphs have a constant instead.
    Count {
        /// The node whose elements are counted.
        arg: A,
        /// The axes along which elements are counted.
        axes: Axes,
        /// The dtype of the result.
        to: DType,
    },
    /// A value that a loop carries, after the loop. The nodes of one loop have equal regions and operands, and are
    /// computed together.
    Loop(Box<LoopNode<A, F>>),
    /// A value of a recurrence: a state after the last step along an axis, or an output of all steps. The nodes of one
    /// recurrence have equal steps and operands, and are computed together.
    Recurrence(Box<RecurrenceNode<A, F>>),
    /// The elements of a node, the table, at the positions that are the elements of another one. A position outside of the table
    /// makes the evaluation fail. The result has the dtype of the table and the shape of the positions.
    Gather {
        /// The node whose elements are read.
        table: A,
        /// The position of each element of the result: an index, int64, into the elements of the table in row-major order.
        positions: A,
    },
    /// Nodes of one dtype that are joined along an axis. Their other extents are equal.
    Concat {
        /// The nodes in the order of their elements, at least one.
        args: Vec<A>,
        /// The axis along which extents are added.
        axis: u8,
    },
    /// The index of each element along an axis, as int64, for operands of symbolic extents. Graphs have generated
    /// numbers instead.
    Index {
        /// The node whose elements are indexed.
        arg: A,
        /// The axis of the indices.
        axis: u8,
    },
    /// The first words of the random stream of a key, which loops generate where they read them: element i is word i of the
    /// stream as uint32, or words 2i, the low half, and 2i + 1 as uint64.
    Words {
        /// The key: four uint32 along a single axis.
        key: A,
        /// The dtype of the elements, uint32 or uint64.
        to: DType,
        /// The number of elements.
        len: usize,
    },
    /// A result of a [routine](crate::routine), which is computed from whole arrays in memory. The nodes of one call have equal
    /// routines and operands, and are computed together.
    Routine(Box<RoutineNode<A>>),
}

/// A value that a loop carries, after the loop.
///
/// Each element repeats the region while its condition holds, as a scalar program would, and keeps its values once it
/// is done. The operands broadcast to the shape of the node, except tables, of which any element may be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoopNode<A, F> {
    /// The condition and the body.
    pub region: Arc<Region>,
    /// The host functions that the region calls.
    pub functions: Vec<F>,
    /// The operands: the initial state, the captured values and the tables, one for each parameter of the region.
    pub args: Vec<A>,
    /// The index of the value among the carried ones.
    pub item: u32,
}

impl<A, F> LoopNode<A, F> {
    /// The dtype of the value.
    pub fn dtype(&self) -> DType {
        self.region.params[self.item as usize]
    }
}

/// The order of the steps of a recurrence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StepOrder {
    /// From the first index to the last. A step has the states that the step before it has left.
    #[default]
    Forward,
    /// From the last index to the first.
    Backward,
    /// The [canonical order](broadloom_ir::canonical) of sums. Each step combines two elements, or results of such steps, to one:
    /// the left ones take the place of the states, the right ones that of the elements. The initial states are the result of no
    /// elements, and are combined with none.
    Canonical,
}

impl StepOrder {
    /// The name of the function whose steps have this order, in errors and in texts.
    pub fn function(self) -> &'static str {
        match self {
            StepOrder::Forward | StepOrder::Backward => SCAN,
            StepOrder::Canonical => REDUCE,
        }
    }
}

/// The name of recurrences whose states go from step to step, in errors and in texts.
const SCAN: &str = "scan";
/// The name of reductions by a function of the user.
const REDUCE: &str = "reduce";

/// A value of a recurrence, which runs along an axis.
///
/// At each index of the axis, in order, the step computes the next states and the outputs from the states and the elements
/// of the inputs at this index, element by element along the other axes. In the [canonical order](StepOrder::Canonical) it combines
/// two elements instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecurrenceNode<A, F> {
    /// The step, whose parameters are the states, the inputs, and the captured values and tables.
    pub step: Arc<Region>,
    /// The host functions that the step calls.
    pub functions: Vec<F>,
    /// The operands, one for each parameter of the step. The inputs broadcast to the index space, and the initial states and the
    /// captured values to its other axes. Any element of a table may be read.
    pub args: Vec<A>,
    /// The number of operands that are inputs, at least one. The extent of the axis is theirs, and they have the rank of the index
    /// space.
    pub inputs: u32,
    /// The axis of the index space.
    pub axis: u8,
    /// The order of the steps.
    pub order: StepOrder,
    /// The index of the value: of a state or, after these, of an output.
    pub item: u32,
}

impl<A, F> RecurrenceNode<A, F> {
    /// The number of states.
    pub fn states(&self) -> usize {
        self.step.carried()
    }

    /// The number of inputs, the axis, and the order of the steps: what distinguishes recurrences of one step over the same
    /// operands.
    pub fn along(&self) -> (u32, u8, StepOrder) {
        (self.inputs, self.axis, self.order)
    }

    /// The name of the function that the node is a value of, in errors and in texts.
    pub fn function(&self) -> &'static str {
        self.order.function()
    }

    /// The number of states and outputs.
    pub fn items(&self) -> usize {
        self.step.next.len() + self.step.outputs.len()
    }

    /// Whether the value is a state after the last step, which lacks the axis.
    pub fn is_state(&self) -> bool {
        (self.item as usize) < self.states()
    }

    /// The dtype of the value; `None` for a step that is ill-typed.
    pub fn dtype(&self) -> Option<DType> {
        match (self.item as usize).checked_sub(self.states()) {
            None => self.step.params.get(self.item as usize).copied(),
            Some(output) => {
                let id = self.step.outputs.get(output)?;
                self.step.dtypes().get(id.index()).copied().flatten()
            }
        }
    }

    /// Whether an operand has the axis: it is an input, or the numbers of the elements.
    pub fn has_axis(&self, operand: usize) -> bool {
        let inputs = self.states()..self.states() + self.inputs as usize;
        inputs.contains(&operand) || self.step.is_numbered && operand + 1 == self.args.len()
    }

    /// The inputs.
    pub fn inputs(&self) -> &[A] {
        let inputs = self.args.get(self.states()..).unwrap_or_default();
        &inputs[..inputs.len().min(self.inputs as usize)]
    }

    /// The operands that lack the axis: the initial states and the captured values, but not the tables.
    pub fn others(&self) -> impl Iterator<Item = &A> {
        let lacks_axis = |i: usize| !self.has_axis(i) && !self.step.is_table(i);
        self.args.iter().enumerate().filter(move |(i, _)| lacks_axis(*i)).map(|(_, arg)| arg)
    }
}

/// The condition and the body of a loop, or the step of a recurrence: typed nodes without shapes, which are computed for each
/// element.
///
/// The nodes of one loop in the region share its region. What recurses along loops visits it once for all of them, and takes
/// time linear in the size of the regions.
#[derive(Clone, Debug, Eq)]
pub struct Region {
    /// The dtypes of the parameters: the carried values, then the captured ones, which are the same in each iteration.
    pub params: Vec<DType>,
    /// The captured parameters that are tables, in ascending order: whole arrays, of which gathers read elements. Nothing else reads
    /// them.
    pub tables: Vec<u32>,
    /// The maximum number of iterations of an element, after which it is done; `None` if the evaluation gives a number,
    /// and reaching it is an error.
    pub limit: Option<u64>,
    /// Whether the last parameter is the number of the element, int64, by which an error names it: the loop, or one in
    /// its body, has no limit.
    pub is_numbered: bool,
    /// The nodes, operands first. A leaf is the parameter with this number.
    pub nodes: Vec<RegionNode>,
    /// Whether an element performs another iteration; `None` for the step of a recurrence.
    pub condition: Option<NodeId>,
    /// The next value of each carried one.
    pub next: Vec<NodeId>,
    /// The outputs of the step of a recurrence; none for a loop.
    pub outputs: Vec<NodeId>,
}

/// A node of a region.
pub type RegionNode = NodeKind<NodeId, u32>;

/// The elements that precede those of a scan, as blocks of 2^`level` elements.
///
/// A section of a scan has the bits of the whole scan if it begins at a block and the totals of all blocks before it
/// are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Before<A> {
    /// The total of each block along the scanned axis, beginning with the first block of the whole scan. The dtype and
    /// the other extents are those of the scan's operand.
    pub totals: A,
    /// log2 of the number of elements of a block.
    pub level: u8,
    /// The number of blocks before the operand's elements; `totals` may have more.
    pub blocks: usize,
}

impl<A, L, F> NodeKind<A, L, F> {
    /// A node that applies a function to operands.
    pub fn apply(op: Op, args: impl IntoIterator<Item = A>) -> NodeKind<A, L, F> {
        NodeKind::Apply { op, accuracy: Accuracy::Fast, args: args.into_iter().collect() }
    }

    /// The operands in order; none for a leaf.
    #[inline]
    pub fn operands(&self) -> impl DoubleEndedIterator<Item = &A> + Clone {
        let mut more: &[A] = &[];
        let operands = match self {
            NodeKind::Leaf(_) => [None; 3],
            NodeKind::Loop(of) => {
                more = &of.args;
                [None; 3]
            }
            NodeKind::Recurrence(of) => {
                more = &of.args;
                [None; 3]
            }
            NodeKind::Concat { args, .. } => {
                more = args;
                [None; 3]
            }
            NodeKind::Routine(of) => {
                more = &of.args;
                [None; 3]
            }
            NodeKind::Apply { args, .. } | NodeKind::Host { args, .. } => {
                args.0.each_ref().map(Option::as_ref)
            }
            NodeKind::Cast { arg, .. }
            | NodeKind::View { arg, .. }
            | NodeKind::DynamicView { arg, .. }
            | NodeKind::Reduce { arg, .. }
            | NodeKind::Count { arg, .. }
            | NodeKind::Index { arg, .. }
            | NodeKind::Words { key: arg, .. } => [Some(arg), None, None],
            NodeKind::Scan { arg, before, .. } => {
                [Some(arg), before.as_ref().map(|before| &before.totals), None]
            }
            NodeKind::Gather { table, positions } => [Some(table), Some(positions), None],
            NodeKind::PadLike { arg, like, .. } => [Some(arg), Some(like), None],
        };
        operands.into_iter().flatten().chain(more)
    }

    /// The number of operands.
    #[inline]
    pub fn arity(&self) -> usize {
        match self {
            NodeKind::Leaf(_) => 0,
            NodeKind::Apply { args, .. } | NodeKind::Host { args, .. } => args.count(),
            NodeKind::Cast { .. }
            | NodeKind::View { .. }
            | NodeKind::DynamicView { .. }
            | NodeKind::Reduce { .. }
            | NodeKind::Count { .. }
            | NodeKind::Index { .. }
            | NodeKind::Words { .. } => 1,
            NodeKind::Scan { before, .. } => 1 + usize::from(before.is_some()),
            NodeKind::Gather { .. } | NodeKind::PadLike { .. } => 2,
            NodeKind::Loop(of) => of.args.len(),
            NodeKind::Recurrence(of) => of.args.len(),
            NodeKind::Concat { args, .. } => args.len(),
            NodeKind::Routine(of) => of.args.len(),
        }
    }

    /// The operand number `i`.
    ///
    /// PERF: on the path of every cached evaluation, a loop over numbers is cheaper than [`NodeKind::operands`].
    #[inline]
    pub fn operand(&self, i: usize) -> Option<&A> {
        match self {
            NodeKind::Leaf(_) => None,
            NodeKind::Apply { args, .. } | NodeKind::Host { args, .. } => args.get(i),
            NodeKind::Cast { arg, .. }
            | NodeKind::View { arg, .. }
            | NodeKind::DynamicView { arg, .. }
            | NodeKind::Reduce { arg, .. }
            | NodeKind::Count { arg, .. }
            | NodeKind::Index { arg, .. }
            | NodeKind::Words { key: arg, .. } => (i == 0).then_some(arg),
            NodeKind::Scan { arg, before, .. } => match i {
                0 => Some(arg),
                1 => before.as_ref().map(|before| &before.totals),
                _ => None,
            },
            NodeKind::Gather { table: first, positions: second }
            | NodeKind::PadLike { arg: first, like: second, .. } => match i {
                0 => Some(first),
                1 => Some(second),
                _ => None,
            },
            NodeKind::Loop(of) => of.args.get(i),
            NodeKind::Recurrence(of) => of.args.get(i),
            NodeKind::Concat { args, .. } => args.get(i),
            NodeKind::Routine(of) => of.args.get(i),
        }
    }

    /// Converts the node into its operands, in order.
    pub fn into_operands(self) -> impl Iterator<Item = A> {
        let mut more = Vec::new();
        let operands = match self {
            NodeKind::Leaf(_) => [None, None, None],
            NodeKind::Loop(of) => {
                more = of.args;
                [None, None, None]
            }
            NodeKind::Recurrence(of) => {
                more = of.args;
                [None, None, None]
            }
            NodeKind::Concat { args, .. } => {
                more = args;
                [None, None, None]
            }
            NodeKind::Routine(of) => {
                more = of.args;
                [None, None, None]
            }
            NodeKind::Apply { args, .. } | NodeKind::Host { args, .. } => args.0,
            NodeKind::Cast { arg, .. }
            | NodeKind::View { arg, .. }
            | NodeKind::DynamicView { arg, .. }
            | NodeKind::Reduce { arg, .. }
            | NodeKind::Count { arg, .. }
            | NodeKind::Index { arg, .. }
            | NodeKind::Words { key: arg, .. } => [Some(arg), None, None],
            NodeKind::Scan { arg, before, .. } => [Some(arg), before.map(|before| before.totals), None],
            NodeKind::Gather { table, positions } => [Some(table), Some(positions), None],
            NodeKind::PadLike { arg, like, .. } => [Some(arg), Some(like), None],
        };
        operands.into_iter().flatten().chain(more)
    }

    /// Converts a node by mapping its operands, its leaf, and its host functions.
    ///
    /// # Errors
    /// The first error of `operand` or `leaf`.
    #[inline]
    pub fn try_map<'n, B, M, G, E>(
        &'n self,
        mut operand: impl FnMut(&'n A) -> Result<B, E>,
        leaf: impl FnOnce(&'n L) -> Result<M, E>,
        mut function: impl FnMut(&'n F) -> G,
    ) -> Result<NodeKind<B, M, G>, E> {
        Ok(match self {
            NodeKind::Leaf(of) => NodeKind::Leaf(leaf(of)?),
            NodeKind::Apply { op, accuracy, args } => {
                NodeKind::Apply { op: *op, accuracy: *accuracy, args: args.try_map(operand)? }
            }
            NodeKind::Host { function: of, args } => {
                NodeKind::Host { args: args.try_map(operand)?, function: function(of) }
            }
            NodeKind::Cast { arg, to } => NodeKind::Cast { arg: operand(arg)?, to: *to },
            NodeKind::View { arg, view } => NodeKind::View { arg: operand(arg)?, view: view.clone() },
            NodeKind::DynamicView { arg, view } => {
                NodeKind::DynamicView { arg: operand(arg)?, view: view.clone() }
            }
            NodeKind::Reduce { arg, reduction, axes, keep_dims } => NodeKind::Reduce {
                arg: operand(arg)?,
                reduction: *reduction,
                axes: *axes,
                keep_dims: *keep_dims,
            },
            NodeKind::Scan { arg, scan, axis, initial, before } => {
                let arg = operand(arg)?;
                let of = |Before { totals, level, blocks }: &'n Before<A>| {
                    Ok(Before { totals: operand(totals)?, level: *level, blocks: *blocks })
                };
                let before = before.as_ref().map(of).transpose()?;
                NodeKind::Scan { arg, scan: *scan, axis: *axis, initial: *initial, before }
            }
            NodeKind::Count { arg, axes, to } => NodeKind::Count { arg: operand(arg)?, axes: *axes, to: *to },
            NodeKind::Index { arg, axis } => NodeKind::Index { arg: operand(arg)?, axis: *axis },
            NodeKind::Gather { table, positions } => {
                NodeKind::Gather { table: operand(table)?, positions: operand(positions)? }
            }
            NodeKind::PadLike { arg, like, padding } => {
                NodeKind::PadLike { arg: operand(arg)?, like: operand(like)?, padding: padding.clone() }
            }
            NodeKind::Concat { args, axis } => {
                NodeKind::Concat { args: args.iter().map(operand).collect::<Result<_, E>>()?, axis: *axis }
            }
            NodeKind::Words { key, to, len } => NodeKind::Words { key: operand(key)?, to: *to, len: *len },
            NodeKind::Routine(of) => NodeKind::Routine(Box::new(RoutineNode {
                routine: of.routine,
                args: of.args.iter().map(operand).collect::<Result<_, E>>()?,
                item: of.item,
            })),
            NodeKind::Loop(of) => NodeKind::Loop(Box::new(LoopNode {
                region: of.region.clone(),
                functions: of.functions.iter().map(function).collect(),
                args: of.args.iter().map(operand).collect::<Result<_, E>>()?,
                item: of.item,
            })),
            NodeKind::Recurrence(of) => NodeKind::Recurrence(Box::new(RecurrenceNode {
                step: of.step.clone(),
                functions: of.functions.iter().map(function).collect(),
                args: of.args.iter().map(operand).collect::<Result<_, E>>()?,
                inputs: of.inputs,
                axis: of.axis,
                order: of.order,
                item: of.item,
            })),
        })
    }

    /// Whether each element is computed from the operands' elements at the same index, after broadcasting.
    pub fn is_element_wise(&self) -> bool {
        match self {
            NodeKind::Leaf(_) | NodeKind::Apply { .. } | NodeKind::Host { .. } | NodeKind::Cast { .. } => {
                true
            }
            NodeKind::Loop(of) => of.region.tables.is_empty(),
            _ => false,
        }
    }

    /// The operands that are read as tables: contiguous memory, of which any element may be read. A gather has one, a loop or a
    /// recurrence those that gathers in its region read, and all operands of a routine are.
    pub fn tables(&self) -> impl Iterator<Item = &A> + Clone {
        self.operands().enumerate().filter(|(i, _)| self.is_table(*i)).map(|(_, arg)| arg)
    }

    /// The operands that are read at the index of each element, after broadcasting and views: all but
    /// [tables](NodeKind::tables).
    pub fn aligned(&self) -> impl Iterator<Item = &A> + Clone {
        self.operands().enumerate().filter(|(i, _)| !self.is_table(*i)).map(|(_, arg)| arg)
    }

    /// Whether the operand number `i` is a [table](NodeKind::tables).
    pub fn is_table(&self, i: usize) -> bool {
        match self {
            NodeKind::Gather { .. } => i == 0,
            NodeKind::Routine(_) => true,
            NodeKind::Loop(of) => of.region.is_table(i),
            NodeKind::Recurrence(of) => of.step.is_table(i),
            _ => false,
        }
    }

    /// Whether the node computes elements. Leaves and views do not.
    pub fn is_computed(&self) -> bool {
        !matches!(self, NodeKind::Leaf(_) | NodeKind::View { .. } | NodeKind::DynamicView { .. })
    }
}

impl<A, L, F> NodeKind<A, L, F> {
    /// The operands, if the node applies the op `wanted`.
    pub fn args_of(&self, wanted: Op) -> Option<&Args<A>> {
        match self {
            NodeKind::Apply { op, args, .. } if *op == wanted => Some(args),
            _ => None,
        }
    }
}
