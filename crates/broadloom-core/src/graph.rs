//! The typed graph: a hash-consed DAG of nodes.
//!
//! Every node is well typed when it is added, and no two nodes are equal. [`Graph::push`] requires operands of the
//! dtypes that the node takes, so that its type follows and nothing is promoted. [`Graph::insert`] adds a node with
//! given types, which is how rewriting rebuilds a graph. Inference takes place earlier, when handles are made.

use std::hash::BuildHasher;
use std::sync::Arc;

use broadloom_ir::op::Law;
use broadloom_ir::{Accuracy, Axes, DType, Error, ErrorKind, HostDeclaration, Op, Result, Scalar, fold};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::infer::{self, Operand, RecurrenceShapes, RoutineResult};
use crate::layout::{Layout, View};
use crate::node::{self, Args, RecurrenceNode};
use crate::padding::PaddingStep;
use crate::routine::RoutineNode;
use crate::shape::Shape;

pub use crate::node::NodeId;

/// The result of an integer division by zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IntDivision {
    /// The result is 0.
    #[default]
    Zero,
    /// The evaluation fails.
    Error,
}

/// The options that are part of an evaluation's meaning. No other option changes a bit of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Semantics {
    /// The result of an integer division by zero.
    pub int_division: IntDivision,
    /// The accuracy of float32 functions that are approximated.
    pub accuracy: Accuracy,
    /// Whether a product that is added is rounded only once, together with the sum.
    pub contract: bool,
}

/// A node without operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// An array of the caller, identified by a slot number.
    Input {
        /// The slot of the array.
        slot: u32,
        /// The dtype of its elements.
        dtype: DType,
        /// The offset of each element in the array's memory.
        layout: Arc<Layout>,
    },
    /// Generated int64 numbers, which take no memory: the element at offset `n` of the layout is the number `n`.
    Index {
        /// The layout whose offsets are the elements. A view of the numbers changes it, as it changes the layout of
        /// memory.
        layout: Arc<Layout>,
    },
    /// A 0-d constant.
    Const {
        /// The value.
        value: Scalar,
        /// The number of the literal, if the caller provides its value at each run; `None` for a fixed value.
        slot: Option<u32>,
    },
}

impl Leaf {
    /// The layout of the elements, in memory or as numbers; `None` for a constant.
    pub fn layout(&self) -> Option<&Layout> {
        match self {
            Leaf::Input { layout, .. } | Leaf::Index { layout } => Some(layout),
            Leaf::Const { .. } => None,
        }
    }

    /// The leaf that is a view of this one; `None` where strides can't express it.
    fn view(&self, view: &View) -> Option<Leaf> {
        let layout = Arc::new(self.layout()?.view(view)?);
        match *self {
            Leaf::Input { slot, dtype, .. } => Some(Leaf::Input { slot, dtype, layout }),
            Leaf::Index { .. } => Some(Leaf::Index { layout }),
            Leaf::Const { .. } => None,
        }
    }
}

/// The operation of a node of a graph.
pub type NodeKind = node::NodeKind<NodeId, Leaf>;

/// A node with its dtype and shape.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operation.
    pub kind: NodeKind,
    /// The dtype of its elements.
    pub dtype: DType,
    /// The node's shape.
    pub shape: Shape,
    /// Whether evaluating the node itself may fail because of a division by zero, of a loop that does not end, of a position
    /// outside of a table, or of a label that is out of range.
    pub faults: bool,
    /// Whether only derivatives need the node. Explanations show it; it changes nothing else.
    pub is_derivative: bool,
}

impl Node {
    /// The value of a constant; `None` for other nodes.
    pub fn constant(&self) -> Option<Scalar> {
        match self.kind {
            NodeKind::Leaf(Leaf::Const { value, .. }) => Some(value),
            _ => None,
        }
    }
}

/// A typed, hash-consed DAG.
///
/// ```
/// use broadloom_core::node::NodeKind;
/// use broadloom_core::{DType, Graph, Layout, Op, Scalar, Shape};
///
/// let mut graph = Graph::default();
/// let x = graph.input(0, DType::Float32, Layout::contiguous(Shape::new(&[3, 4])?))?;
/// let two = graph.constant(Scalar::of(2.0_f32), None)?;
/// let y = graph.push(NodeKind::apply(Op::Multiply, [x, two]))?;
/// assert_eq!(graph.node(y).dtype, DType::Float32);
/// assert_eq!(graph.push(NodeKind::apply(Op::Multiply, [two, x]))?, y);
/// # Ok::<(), broadloom_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Nodes with their hashes, so that growing and searching the table does not access the nodes.
    interned: HashTable<(u64, NodeId)>,
    semantics: Semantics,
    depends_on_values: bool,
    /// Whether nodes that are added now are those of a derivative.
    adds_derivative: bool,
}

/// The name of loops, in errors and in texts.
pub const WHILE: &str = "while_loop";

/// The maximum number of nodes of a graph.
pub const MAX_NODES: usize = 1 << 28;

impl Graph {
    /// An empty graph with these semantics.
    pub fn new(semantics: Semantics) -> Graph {
        Graph { semantics, ..Graph::default() }
    }

    /// An empty graph with these semantics, with capacity for this many nodes.
    pub(crate) fn with_capacity(semantics: Semantics, nodes: usize) -> Graph {
        let (nodes, interned) = (Vec::with_capacity(nodes), HashTable::with_capacity(nodes));
        Graph { nodes, interned, ..Graph::new(semantics) }
    }

    /// An empty graph into which this one is rewritten. Rewriting contracts the products, so contraction is off in the
    /// new graph; the other semantics, and whether the graph depends on the values of constants, are copied.
    pub(crate) fn successor(&self) -> Graph {
        let semantics = Semantics { contract: false, ..self.semantics };
        let depends_on_values = self.depends_on_values;
        Graph { depends_on_values, ..Graph::with_capacity(semantics, self.nodes.len()) }
    }

    /// The options that are part of the meaning of the graph's nodes.
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// All nodes, operands before their users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node with this id.
    ///
    /// # Panics
    /// If the id belongs to another graph and is out of range in this one.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// All ids, operands before their users.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::new)
    }

    /// Records that a graph which has become part of this one depends on the values of constants.
    pub(crate) fn depend_on_values_of(&mut self, part: &Graph) {
        self.depends_on_values |= part.depends_on_values;
    }

    /// Whether a constant with a slot was folded, so that the graph is valid only for that value.
    pub fn depends_on_values(&self) -> bool {
        self.depends_on_values
    }

    /// Declares whether the nodes that are added from now on are those of a derivative; returns what was declared before. A node
    /// that is added both ways is not marked, since the function itself needs it.
    pub(crate) fn add_derivative(&mut self, is_derivative: bool) -> bool {
        std::mem::replace(&mut self.adds_derivative, is_derivative)
    }

    /// Adds the caller's array number `slot`.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for too many nodes.
    pub fn input(&mut self, slot: u32, dtype: DType, layout: Layout) -> Result<NodeId> {
        self.push(NodeKind::Leaf(Leaf::Input { slot, dtype, layout: Arc::new(layout) }))
    }

    /// Adds the int64 numbers from 0 to `len`, exclusive.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for too many nodes or elements.
    pub fn index(&mut self, len: usize) -> Result<NodeId> {
        let layout = Layout::contiguous(Shape::new(&[len])?);
        self.push(NodeKind::Leaf(Leaf::Index { layout: Arc::new(layout) }))
    }

    /// Adds a constant. With a slot, its value is given at each run.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for too many nodes.
    pub fn constant(&mut self, value: Scalar, slot: Option<u32>) -> Result<NodeId> {
        self.push(NodeKind::Leaf(Leaf::Const { value, slot }))
    }

    fn operand(&self, id: NodeId) -> Operand<'_> {
        Operand::Array(self.node(id).dtype, &self.node(id).shape)
    }

    /// Converts a node to a dtype; returns the node itself if it has that dtype.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for too many nodes.
    pub fn cast(&mut self, arg: NodeId, to: DType) -> Result<NodeId> {
        self.push(NodeKind::Cast { arg, to })
    }

    /// Adds a view of a node's elements.
    ///
    /// # Errors
    /// The errors of [`View::check`]; [`ErrorKind::Limit`] for too many nodes.
    pub fn view(&mut self, arg: NodeId, view: View) -> Result<NodeId> {
        self.push(NodeKind::View { arg, view: Arc::new(view) })
    }

    /// Adds a node whose operands have the dtypes that it takes; its own dtype and shape follow from theirs.
    ///
    /// # Errors
    /// The errors of [`View::check`]; [`ErrorKind::Limit`] for too many nodes or elements; [`ErrorKind::Internal`] for
    /// an op that does not take these operands.
    pub fn push(&mut self, kind: NodeKind) -> Result<NodeId> {
        let (dtype, shape) = match &kind {
            NodeKind::Leaf(Leaf::Input { dtype, layout, .. }) => (*dtype, layout.shape.clone()),
            NodeKind::Leaf(Leaf::Index { layout }) => (DType::Int64, layout.shape.clone()),
            NodeKind::Leaf(Leaf::Const { value, .. }) => (value.dtype, Shape::scalar()),
            NodeKind::Apply { op, accuracy, args } => {
                let result = args.last().and_then(|&arg| op.result_at(*accuracy, self.node(arg).dtype));
                let wrong =
                    || Error::new(ErrorKind::Internal, format!("{op} of operands that it does not take"));
                (result.ok_or_else(wrong)?, self.broadcast(op.name(), args.iter())?)
            }
            NodeKind::Host { function, args } => {
                (function.signature().result(), self.broadcast(function.name(), args.iter())?)
            }
            NodeKind::Loop(of) => (of.dtype(), self.broadcast(WHILE, kind.aligned())?),
            NodeKind::Recurrence(of) => {
                let RecurrenceShapes { space, others } = self.recurrence(of)?;
                let wrong = || Error::new(ErrorKind::Internal, "a step that is ill-typed");
                (of.dtype().ok_or_else(wrong)?, if of.is_state() { others.0 } else { space.0 })
            }
            NodeKind::Cast { arg, to } => (*to, self.node(*arg).shape.clone()),
            NodeKind::View { arg, view } => {
                let Node { dtype, shape, .. } = self.node(*arg);
                view.check(shape)?;
                (*dtype, view.shape(shape))
            }
            NodeKind::DynamicView { arg, view } => {
                let views = view.resolve(view.name(), &self.node(*arg).shape)?;
                return views.into_iter().try_fold(*arg, |arg, view| self.view(arg, view));
            }
            NodeKind::PadLike { arg, like, padding } => {
                let steps = padding.steps(&self.node(*arg).shape, &self.node(*like).shape)?;
                return steps.into_iter().try_fold(*arg, |arg, step| self.pad(arg, step));
            }
            NodeKind::Reduce { arg, reduction, axes, keep_dims } => {
                let (shape, _) = infer::reduce(*reduction, &self.operand(*arg), *axes, *keep_dims)?;
                (reduction.result(self.node(*arg).dtype), shape)
            }
            NodeKind::Scan { arg, scan, axis, initial, before } => {
                let axis = usize::from(*axis);
                let (shape, _) = infer::scan(*scan, &self.operand(*arg), axis, *initial)?;
                if let Some(before) = before {
                    infer::before(&self.operand(*arg), axis, &self.operand(before.totals), before.blocks)?;
                }
                (self.node(*arg).dtype, shape)
            }
            NodeKind::Count { to, .. } => (*to, Shape::scalar()),
            NodeKind::Index { arg, axis } => {
                infer::index(&self.operand(*arg), (*axis).into())?;
                (DType::Int64, self.node(*arg).shape.clone())
            }
            NodeKind::Gather { table, positions } => {
                (self.node(*table).dtype, self.node(*positions).shape.clone())
            }
            NodeKind::Words { to, len, .. } => (*to, Shape::new(&[*len])?),
            NodeKind::Concat { args, axis } => {
                let operands: Vec<Operand<'_>> = args.iter().map(|&arg| self.operand(arg)).collect();
                infer::concat("concat", &operands, (*axis).into())?
            }
            NodeKind::Routine(of) => {
                let (dtype, shape, _) = self.routine(of)?;
                (dtype, shape)
            }
        };
        self.insert(kind, dtype, shape)
    }

    /// Follows one of the steps that move elements back to the indices of a range.
    fn pad(&mut self, arg: NodeId, step: PaddingStep) -> Result<NodeId> {
        let (axis, before, after) = match step {
            PaddingStep::View(view) => return self.view(arg, view),
            PaddingStep::Zeros { axis, before, after } => (axis, before, after),
        };
        let dtype = self.node(arg).dtype;
        let zero = self.constant(Scalar { dtype, bits: 0 }, None)?;
        let mut zeros =
            |shape: Option<Shape>| shape.map(|shape| self.view(zero, View::BroadcastTo(shape))).transpose();
        let parts = [zeros(before)?, Some(arg), zeros(after)?];
        let args = parts.into_iter().flatten().collect();
        self.push(NodeKind::Concat { args, axis: axis as u8 })
    }

    /// The dtype and the shape of a routine's result.
    ///
    /// # Errors
    /// The errors of [`infer::routine`]; [`ErrorKind::Internal`] for a result that the routine does not have.
    pub(crate) fn routine(&self, of: &RoutineNode<NodeId>) -> Result<RoutineResult> {
        let operands: SmallVec<[Operand<'_>; 3]> = of.args.iter().map(|&arg| self.operand(arg)).collect();
        let missing =
            || Error::new(ErrorKind::Internal, format!("{} has no result {}", of.routine.name(), of.item));
        infer::routine(&of.routine, &operands)?.into_iter().nth(of.item as usize).ok_or_else(missing)
    }

    /// The shapes of a recurrence.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for operands that do not broadcast.
    pub(crate) fn recurrence(
        &self,
        of: &RecurrenceNode<NodeId, HostDeclaration>,
    ) -> Result<RecurrenceShapes> {
        let inputs: Vec<Operand<'_>> = of.inputs().iter().map(|&arg| self.operand(arg)).collect();
        let others: Vec<Operand<'_>> = of.others().map(|&arg| self.operand(arg)).collect();
        infer::recurrence(of.function(), &inputs, &others, of.axis.into())
    }

    fn broadcast<'a>(&self, name: &str, args: impl Iterator<Item = &'a NodeId> + Clone) -> Result<Shape> {
        let mut shapes = args.clone().map(|&arg| &self.node(arg).shape);
        // PERF: in the common case all operands have one shape.
        if let Some(first) = shapes.next()
            && shapes.all(|shape| shape == first)
        {
            return Ok(first.clone());
        }
        let operands: SmallVec<[Operand<'_>; 3]> = args.map(|&arg| self.operand(arg)).collect();
        infer::broadcast(name, &operands).map(|(shape, _)| shape)
    }

    /// Adds a node with given types, or returns what it folds to. The types are not inferred; the
    /// [verifier](crate::verify) checks them in debug builds. In a graph whose products are to be contracted, functions
    /// are not changed, since contraction depends on how they were written: no function is folded, and the operands of
    /// sums keep their order.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for too many nodes.
    pub fn insert(&mut self, mut kind: NodeKind, dtype: DType, shape: Shape) -> Result<NodeId> {
        match &mut kind {
            NodeKind::Apply { op, args, .. } if self.semantics.contract => {
                // The order of the operands of a sum affects contraction; the order of factors does not.
                if op.has(Law::Commutative) && *op != Op::Add {
                    args.sort();
                }
            }
            NodeKind::Apply { op, accuracy, args } => {
                if let Some(value) = self.fold(*op, *accuracy, args) {
                    return self.constant(value, None);
                }
                if op.has(Law::Commutative) {
                    args.sort();
                }
            }
            NodeKind::Cast { arg, to } => {
                let node = self.node(*arg);
                if node.dtype == *to {
                    return Ok(*arg);
                }
                if let NodeKind::Leaf(Leaf::Const { value, slot }) = node.kind {
                    self.depends_on_values |= slot.is_some();
                    return self.constant(fold::cast(value, *to), None);
                }
            }
            NodeKind::View { arg, view } => {
                let node = self.node(*arg);
                if shape == node.shape && matches!(**view, View::BroadcastTo(_) | View::Reshape(_)) {
                    return Ok(*arg);
                }
                if let NodeKind::Leaf(leaf) = &node.kind
                    && let Some(leaf) = leaf.view(view)
                {
                    kind = NodeKind::Leaf(leaf);
                }
            }
            NodeKind::Index { axis, .. } => {
                let along = |d: usize| isize::from(d == usize::from(*axis));
                let strides = (0..shape.rank()).map(along).collect();
                kind = NodeKind::Leaf(Leaf::Index {
                    layout: Arc::new(Layout { shape: shape.clone(), strides, offset: 0 }),
                });
            }
            // `push` resolves dynamic views and paddings before it calls this function.
            NodeKind::DynamicView { .. } | NodeKind::PadLike { .. } => {}
            NodeKind::Count { arg, axes, to } => {
                let count = Scalar::of(axes.count(&self.node(*arg).shape) as u64);
                return self.constant(fold::cast(count, *to), None);
            }
            // A reduction along no axes is its operand. A reduction of floats is kept, since it makes a NaN canonical.
            NodeKind::Reduce { arg, axes: Axes::NONE, reduction, .. }
                if !dtype.is_float() && reduction.op().is_some() =>
            {
                return Ok(*arg);
            }
            NodeKind::Concat { args, axis } => {
                // Nothing is left of operands without elements, except for what may fail.
                let axis = usize::from(*axis);
                args.retain(|arg| {
                    shape[axis] == 0 || self.node(*arg).shape[axis] > 0 || self.node(*arg).faults
                });
                if let [arg] = args[..]
                    && self.node(arg).shape == shape
                {
                    return Ok(arg);
                }
            }
            NodeKind::Leaf(_)
            | NodeKind::Host { .. }
            | NodeKind::Reduce { .. }
            | NodeKind::Scan { .. }
            | NodeKind::Gather { .. }
            | NodeKind::Words { .. }
            | NodeKind::Routine(_)
            | NodeKind::Loop(_) => {}
            NodeKind::Recurrence(of) => self.add_states(of)?,
        }
        self.intern(kind, dtype, shape)
    }

    /// Adds all states of a recurrence, which are computed whether they are used or not. An output is the first value that
    /// a graph may have of a recurrence, so that this adds the states before it.
    fn add_states(&mut self, of: &RecurrenceNode<NodeId, HostDeclaration>) -> Result<()> {
        let shape = self.recurrence(of)?.others.0;
        for item in 0..of.states() as u32 {
            let state = RecurrenceNode { item, ..of.clone() };
            let dtype = of.step.params[item as usize];
            self.intern(NodeKind::Recurrence(Box::new(state)), dtype, shape.clone())?;
        }
        Ok(())
    }

    /// The value of an op whose operands are constants; `None` if its evaluation may fail, or if the op has no
    /// definition as accurate as the semantics require.
    fn fold(&mut self, op: Op, accuracy: Accuracy, args: &Args<NodeId>) -> Option<Scalar> {
        if self.faults(op, args) {
            return None;
        }
        let accuracy = self.as_accurate(op, accuracy, args)?;
        let mut values: SmallVec<[Scalar; 3]> = SmallVec::new();
        let mut from_slot = false;
        for &arg in args.iter() {
            let NodeKind::Leaf(Leaf::Const { value, slot }) = self.node(arg).kind else { return None };
            from_slot |= slot.is_some();
            values.push(value);
        }
        let value = fold::apply_at(op, accuracy, &values)?;
        self.depends_on_values |= from_slot;
        Some(value)
    }

    /// Whether the op itself may fail because of a division by zero.
    fn faults(&self, op: Op, args: &Args<NodeId>) -> bool {
        self.semantics.int_division == IntDivision::Error
            && args.last().is_some_and(|&arg| op.faults(self.node(arg).dtype))
    }

    fn intern(&mut self, kind: NodeKind, dtype: DType, shape: Shape) -> Result<NodeId> {
        let hash = FxBuildHasher.hash_one(&kind);
        let nodes = &self.nodes;
        let known = self.interned.find(hash, |(other, id)| *other == hash && nodes[id.index()].kind == kind);
        if let Some(&(_, id)) = known {
            self.nodes[id.index()].is_derivative &= self.adds_derivative;
            return Ok(id);
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(Error::new(ErrorKind::Limit, format!("more than {MAX_NODES} nodes in one graph")));
        }
        let own = match &kind {
            NodeKind::Apply { op, args, .. } => self.faults(*op, args),
            // Without a limit, an element that does not end is an error.
            NodeKind::Loop(of) => {
                let is_checked = self.semantics.int_division == IntDivision::Error;
                let may_be_outside = !of.region.tables.is_empty();
                of.region.is_numbered || may_be_outside || is_checked && of.region.divides()
            }
            NodeKind::Recurrence(of) => {
                let is_checked = self.semantics.int_division == IntDivision::Error;
                let may_be_outside = !of.step.tables.is_empty();
                of.step.is_numbered || may_be_outside || is_checked && of.step.divides()
            }
            NodeKind::Gather { .. } => true,
            NodeKind::Routine(of) => of.routine.faults(),
            _ => false,
        };
        let faults = own || kind.operands().any(|&arg| self.node(arg).faults);
        let id = NodeId::new(self.nodes.len());
        self.nodes.push(Node { kind, dtype, shape, faults, is_derivative: self.adds_derivative });
        self.interned.insert_unique(hash, (hash, id), |(hash, _)| *hash);
        Ok(id)
    }
}

mod accuracy;
#[cfg(test)]
pub(crate) mod inferred;

#[cfg(test)]
mod tests {
    use super::inferred::Arg;
    use super::*;
    use crate::layout::Slice;
    use crate::{HostDeclaration, Literal};
    use smallvec::smallvec;

    #[test]
    fn equal_nodes_are_one_and_commutative_operands_have_an_order() -> Result<()> {
        let mut g = Graph::default();
        let layout = Layout::contiguous(Shape::new(&[4])?);
        let x = g.input(0, DType::Int32, layout.clone())?;
        let y = g.input(1, DType::Int32, layout)?;
        assert_eq!(g.apply(Op::Add, &[x.into(), y.into()])?, g.apply(Op::Add, &[y.into(), x.into()])?);
        assert_ne!(
            g.apply(Op::Subtract, &[x.into(), y.into()])?,
            g.apply(Op::Subtract, &[y.into(), x.into()])?
        );
        assert_eq!(g.cast(x, DType::Float32)?, g.cast(x, DType::Float32)?);
        assert_ne!(g.cast(x, DType::Float32)?, g.cast(x, DType::Float64)?);
        Ok(())
    }

    #[test]
    fn promotion_inserts_conversions() -> Result<()> {
        let mut g = Graph::default();
        let layout = Layout::contiguous(Shape::new(&[4])?);
        let x = g.input(0, DType::Int8, layout.clone())?;
        let y = g.input(1, DType::UInt8, layout)?;
        let sum = g.apply(Op::Add, &[x.into(), y.into()])?;
        assert_eq!(g.node(sum).dtype, DType::Int16);
        assert!(g.to_string().contains("astype(n0, int16)"), "{g}");
        let quotient = g.apply(Op::Divide, &[x.into(), Arg::Literal(Literal::Int(2))])?;
        assert_eq!(g.node(quotient).dtype, DType::Float64);
        Ok(())
    }

    #[test]
    fn calls_are_one_node_per_function_and_operands_and_are_never_folded() -> Result<()> {
        let sub = || HostDeclaration::new("sub", &[DType::Float32; 2], DType::Float32, 1).expect("a name");
        let (f, other) = (sub(), sub());
        let mut g = Graph::default();
        let x = g.input(0, DType::Float32, Layout::contiguous(Shape::new(&[4])?))?;
        let one = Arg::Literal(Literal::Int(1));
        let call = g.call(&f, &[x.into(), one])?;
        assert_eq!(g.call(&f.clone(), &[x.into(), one])?, call);
        assert_ne!(g.call(&f, &[one, x.into()])?, call, "operands have an order");
        assert_ne!(g.call(&other, &[x.into(), one])?, call, "the name is not the function");
        assert!(g.to_string().contains("float32[4] = sub(n0, n1)"), "{g}");
        let constant = g.call(&f, &[one, one])?;
        assert!(matches!(g.node(constant).kind, NodeKind::Host { .. }));
        Ok(())
    }

    /// A view of generated numbers that strides can express is again a leaf. The indices of an array of known extents
    /// are also a leaf.
    #[test]
    fn generated_numbers_are_leaves_through_views() -> Result<()> {
        let mut g = Graph::default();
        let numbers = g.index(12)?;
        let table = g.view(numbers, View::Reshape(Shape::new(&[3, 4])?))?;
        let turned = g.view(table, View::Permute(smallvec![1, 0]))?;
        let from = |start, step, len| Slice { start, step, len };
        let part = g.view(turned, View::Slice(smallvec![from(3, -1, 2), from(1, 1, 2)]))?;
        let layout = g.node(part).kind.clone();
        let strides = SmallVec::from_slice(&[-1, 4]);
        let wanted = Layout { shape: Shape::new(&[2, 2])?, strides, offset: 7 };
        assert_eq!(layout, NodeKind::Leaf(Leaf::Index { layout: Arc::new(wanted) }));
        let row = g.view(part, View::Reshape(Shape::new(&[4])?))?;
        assert!(matches!(g.node(row).kind, NodeKind::View { .. }), "{g}");
        assert_eq!(g.index(12)?, numbers);

        let x = g.input(0, DType::Int8, Layout::contiguous(Shape::new(&[3, 4])?))?;
        let columns = g.push(NodeKind::Index { arg: x, axis: 1 })?;
        let four = g.index(4)?;
        assert_eq!(g.view(four, View::BroadcastTo(Shape::new(&[3, 4])?))?, columns);
        assert!(g.push(NodeKind::Index { arg: x, axis: 2 }).is_err());
        let steps = g.view(numbers, View::Slice(smallvec![from(10, -3, 4)]))?;
        for (node, text) in [
            (numbers, "int64[12] = arange(12)\n"),
            (steps, "int64[4] = arange(10, -2, -3)\n"),
            (part, "int64[2,2]  # generated, strides [-1, 4] from 7\n"),
        ] {
            assert!(g.to_string().contains(&format!("{node:?}: {text}")), "{g}");
        }
        crate::verify::graph(&g)
    }

    #[test]
    fn constants_fold_by_the_same_meaning() -> Result<()> {
        let mut g = Graph::default();
        let (one, tenth) = (Literal::Float(1.0), Literal::Float(0.1));
        let q = g.apply(Op::FloorDivide, &[Arg::Literal(one), Arg::Literal(tenth)])?;
        let ten = Leaf::Const { value: Scalar::of(10.0f64), slot: None };
        assert_eq!(g.node(q).kind, NodeKind::Leaf(ten));
        Ok(())
    }

    #[test]
    fn a_possible_fault_is_not_folded_away() -> Result<()> {
        let mut g = Graph::new(Semantics { int_division: IntDivision::Error, ..Semantics::default() });
        let q = g.apply(Op::FloorDivide, &[Arg::Literal(Literal::Int(1)), Arg::Literal(Literal::Int(0))])?;
        assert!(matches!(g.node(q).kind, NodeKind::Apply { .. }));
        assert!(g.node(q).faults);
        Ok(())
    }
}
