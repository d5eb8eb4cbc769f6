//! The typed graph: a hash-consed DAG of nodes.
//!
//! In: inputs, constants, and ops on earlier nodes. Out: node ids, in an order where operands come first. Must
//! hold: a node is well typed from birth ([`Graph::apply`] runs promotion and broadcasting at once and inserts
//! the conversions), and no two nodes are equal.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use broadloom_ir::HostDeclaration;
use broadloom_math::DType;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::fold;
use crate::infer::{self, Operand, Promotion};
use crate::layout::{Layout, View};
use crate::op::{Law, Op};
use crate::scalar::{Literal, Scalar};
use crate::shape::Shape;
use crate::text::print;

/// A node of one [`Graph`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// The position in [`Graph::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// What an integer division by zero does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IntDivision {
    /// It gives 0.
    #[default]
    Zero,
    /// It fails the evaluation.
    Error,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// The caller's array number `slot`.
    Input {
        /// Which array.
        slot: u32,
        /// How its elements lie.
        layout: Layout,
    },
    /// A constant, 0-d.
    Const {
        /// The value.
        value: Scalar,
        /// The caller's literal number, whose value is given anew at each run; `None` for a fixed value.
        slot: Option<u32>,
    },
    /// A function of nodes that have the types it takes, their shapes broadcasting to the node's.
    Apply {
        /// The function.
        op: Op,
        /// Its operands.
        args: SmallVec<[NodeId; 3]>,
    },
    /// A function of the host program, of nodes that have the dtypes it takes, their shapes broadcasting to the node's.
    /// Nothing is known of it but that it gives the same for the same operands.
    Host {
        /// The function.
        function: HostDeclaration,
        /// Its operands.
        args: SmallVec<[NodeId; 3]>,
    },
    /// A conversion to the node's dtype.
    Cast {
        /// What is converted.
        arg: NodeId,
    },
    /// The same elements under another shape.
    View {
        /// Of which node.
        arg: NodeId,
        /// The change.
        view: View,
    },
}

/// A node with its types.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The dtype of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Shape,
    /// Whether its evaluation can fail for a zero divisor.
    pub faults: bool,
}

impl Node {
    /// The nodes that it depends on.
    pub fn args(&self) -> &[NodeId] {
        match &self.kind {
            NodeKind::Input { .. } | NodeKind::Const { .. } => &[],
            NodeKind::Apply { args, .. } | NodeKind::Host { args, .. } => args,
            NodeKind::Cast { arg } | NodeKind::View { arg, .. } => std::slice::from_ref(arg),
        }
    }
}

/// An operand: a node, or a literal that takes its dtype from the nodes.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// A node.
    Node(NodeId),
    /// A literal.
    Literal(Literal),
}

impl From<NodeId> for Arg {
    fn from(id: NodeId) -> Arg {
        Arg::Node(id)
    }
}

/// A typed, hash-consed DAG.
///
/// ```
/// use broadloom_core::graph::{Arg, Graph};
/// use broadloom_core::{DType, Layout, Literal, Op, Shape};
///
/// let mut graph = Graph::default();
/// let x = graph.input(0, DType::Float32, Layout::contiguous(Shape::new(&[3, 4])?))?;
/// let y = graph.apply(Op::Multiply, &[x.into(), Arg::Literal(Literal::Int(2))])?;
/// assert_eq!(graph.node(y).dtype, DType::Float32);
/// assert_eq!(graph.apply(Op::Multiply, &[x.into(), Arg::Literal(Literal::Int(2))])?, y);
/// # Ok::<(), broadloom_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    interned: HashTable<NodeId>,
    promotion: Promotion,
    int_division: IntDivision,
    depends_on_values: bool,
}

/// The most nodes a graph may have.
pub const MAX_NODES: usize = 1 << 28;

impl Graph {
    /// An empty graph with these rules.
    pub fn new(promotion: Promotion, int_division: IntDivision) -> Graph {
        Graph { promotion, int_division, ..Graph::default() }
    }

    /// An empty graph with the rules of this one, to rewrite this one into: it stands for as few values.
    pub(crate) fn successor(&self) -> Graph {
        Graph {
            promotion: self.promotion,
            int_division: self.int_division,
            depends_on_values: self.depends_on_values,
            ..Graph::default()
        }
    }

    /// How dtypes of different kinds meet.
    pub fn promotion(&self) -> Promotion {
        self.promotion
    }

    /// What an integer division by zero does.
    pub fn int_division(&self) -> IntDivision {
        self.int_division
    }

    /// Every node, operands first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node.
    ///
    /// # Panics
    /// If the id is another graph's and out of range here.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Every id, operands first.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Whether a constant with a slot was folded, so that the graph stands for this value only.
    pub fn depends_on_values(&self) -> bool {
        self.depends_on_values
    }

    /// The caller's array number `slot`.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for too many nodes.
    pub fn input(&mut self, slot: u32, dtype: DType, layout: Layout) -> Result<NodeId> {
        let shape = layout.shape.clone();
        self.intern(NodeKind::Input { slot, layout }, dtype, shape)
    }

    /// A constant; with a slot, one whose value is given anew at each run.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for too many nodes.
    pub fn constant(&mut self, value: Scalar, slot: Option<u32>) -> Result<NodeId> {
        self.intern(NodeKind::Const { value, slot }, value.dtype, Shape::scalar())
    }

    /// A function of operands, promoted and broadcast.
    ///
    /// # Errors
    /// As [`infer::apply`]; [`ErrorKind::Limit`] for too many nodes.
    pub fn apply(&mut self, op: Op, args: &[Arg]) -> Result<NodeId> {
        let operands = self.operands(args);
        let signature = infer::apply(op, &operands, self.promotion)?;
        drop(operands);
        let mut typed: SmallVec<[NodeId; 3]> = SmallVec::new();
        for (i, arg) in args.iter().enumerate() {
            let dtype = signature.operand(op, i);
            typed.push(match *arg {
                Arg::Node(id) => self.cast(id, dtype)?,
                Arg::Literal(literal) => self.constant(literal.to_dtype(dtype)?, None)?,
            });
        }
        if let Some(folded) = self.fold(op, signature.operand, &typed)? {
            return Ok(folded);
        }
        if op.has(Law::Commutative) {
            typed.sort_unstable();
        }
        self.intern(NodeKind::Apply { op, args: typed }, signature.result, signature.shape)
    }

    /// A host function of operands of exactly its dtypes, broadcast. It is not called here, whatever the operands are.
    ///
    /// # Errors
    /// As [`infer::call`]; [`ErrorKind::Limit`] for too many nodes.
    pub fn call(&mut self, function: &HostDeclaration, args: &[Arg]) -> Result<NodeId> {
        let (shape, _) = infer::call(function, &self.operands(args))?;
        let mut typed: SmallVec<[NodeId; 3]> = SmallVec::new();
        for (arg, &dtype) in args.iter().zip(function.signature().operands()) {
            typed.push(match *arg {
                Arg::Node(id) => id,
                Arg::Literal(literal) => self.constant(literal.to_dtype(dtype)?, None)?,
            });
        }
        let kind = NodeKind::Host { function: function.clone(), args: typed };
        self.intern(kind, function.signature().result(), shape)
    }

    /// What inference knows of operands.
    fn operands(&self, args: &[Arg]) -> SmallVec<[Operand<'_>; 3]> {
        args.iter()
            .map(|arg| match *arg {
                Arg::Node(id) => Operand::Array(self.node(id).dtype, &self.node(id).shape),
                Arg::Literal(literal) => Operand::Literal(literal),
            })
            .collect()
    }

    /// The constant that the op gives for constants; not for one whose evaluation may fail.
    fn fold(&mut self, op: Op, operand: DType, args: &[NodeId]) -> Result<Option<NodeId>> {
        if self.int_division == IntDivision::Error && op.faults(operand) {
            return Ok(None);
        }
        let mut values: SmallVec<[Scalar; 3]> = SmallVec::new();
        let mut from_slot = false;
        for &arg in args {
            match self.node(arg).kind {
                NodeKind::Const { value, slot } => {
                    from_slot |= slot.is_some();
                    values.push(value);
                }
                _ => return Ok(None),
            }
        }
        let Some(value) = fold::apply(op, &values) else { return Ok(None) };
        self.depends_on_values |= from_slot;
        self.constant(value, None).map(Some)
    }

    /// The node converted to a dtype; the node itself if it has it.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for too many nodes.
    pub fn cast(&mut self, arg: NodeId, dtype: DType) -> Result<NodeId> {
        let node = self.node(arg);
        if node.dtype == dtype {
            return Ok(arg);
        }
        if let NodeKind::Const { value, slot } = node.kind {
            self.depends_on_values |= slot.is_some();
            return self.constant(fold::cast(value, dtype), None);
        }
        let shape = node.shape.clone();
        self.intern(NodeKind::Cast { arg }, dtype, shape)
    }

    /// The same elements under another shape.
    ///
    /// # Errors
    /// As [`View::check`]; [`ErrorKind::Limit`] for too many nodes.
    pub fn view(&mut self, arg: NodeId, view: View) -> Result<NodeId> {
        let node = self.node(arg);
        view.check(&node.shape)?;
        let shape = view.shape(&node.shape);
        if shape == node.shape && matches!(view, View::BroadcastTo(_) | View::Reshape(_)) {
            return Ok(arg);
        }
        let dtype = node.dtype;
        if let NodeKind::Input { slot, layout } = &node.kind
            && let Some(layout) = layout.view(&view)
        {
            return self.intern(NodeKind::Input { slot: *slot, layout }, dtype, shape);
        }
        self.intern(NodeKind::View { arg, view }, dtype, shape)
    }

    fn intern(&mut self, kind: NodeKind, dtype: DType, shape: Shape) -> Result<NodeId> {
        let hash = FxBuildHasher.hash_one((&kind, dtype));
        let nodes = &self.nodes;
        let same = |&id: &NodeId| nodes[id.index()].kind == kind && nodes[id.index()].dtype == dtype;
        if let Some(&id) = self.interned.find(hash, same) {
            return Ok(id);
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(Error::new(ErrorKind::Limit, format!("more than {MAX_NODES} nodes in one graph")));
        }
        let own = match &kind {
            NodeKind::Apply { op, args } => {
                self.int_division == IntDivision::Error
                    && args.last().is_some_and(|&a| op.faults(self.node(a).dtype))
            }
            _ => false,
        };
        let node = Node { kind, dtype, shape, faults: own };
        let faults = own || node.args().iter().any(|&a| self.node(a).faults);
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { faults, ..node });
        let nodes = &self.nodes;
        self.interned.insert_unique(hash, id, |&id| {
            let node = &nodes[id.index()];
            FxBuildHasher.hash_one((&node.kind, node.dtype))
        });
        Ok(id)
    }
}

/// One line per node, in the [text language](crate::text): `n2: float32[3,4] = n0 * n1`.
///
/// An input is declared, with its slot and its layout in a comment; what is returned is not known here. Ops that no user
/// may name, which rewriting adds, are printed under their names too, and do not read back.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, node) in self.nodes.iter().enumerate() {
            write!(f, "n{i}: {}{}", node.dtype, node.shape)?;
            match &node.kind {
                NodeKind::Input { slot, layout } => {
                    write!(f, "  # input {slot}")?;
                    if !layout.is_contiguous() {
                        write!(f, " strides {:?} offset {}", &layout.strides[..], layout.offset)?;
                    }
                    writeln!(f)?;
                }
                NodeKind::Const { value, .. } => writeln!(f, " = {}", print::constant(*value))?,
                NodeKind::Apply { op, args } => {
                    let args: SmallVec<[String; 3]> = args.iter().map(|a| format!("{a:?}")).collect();
                    writeln!(f, " = {}", print::apply(*op, &args))?;
                }
                NodeKind::Host { function, args } => {
                    let args: Vec<String> = args.iter().map(|a| format!("{a:?}")).collect();
                    writeln!(f, " = {}({})", function.name(), args.join(", "))?;
                }
                NodeKind::Cast { arg } => writeln!(f, " = {}", print::cast(&format!("{arg:?}"), node.dtype))?,
                NodeKind::View { arg, view } => writeln!(f, " = {}", print::view(&format!("{arg:?}"), view))?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn constants_fold_by_the_same_meaning() -> Result<()> {
        let mut g = Graph::default();
        let (one, tenth) = (Literal::Float(1.0), Literal::Float(0.1));
        let q = g.apply(Op::FloorDivide, &[Arg::Literal(one), Arg::Literal(tenth)])?;
        assert_eq!(g.node(q).kind, NodeKind::Const { value: Scalar::of(10.0f64), slot: None });
        Ok(())
    }

    #[test]
    fn a_possible_fault_is_not_folded_away() -> Result<()> {
        let mut g = Graph::new(Promotion::Strict, IntDivision::Error);
        let q = g.apply(Op::FloorDivide, &[Arg::Literal(Literal::Int(1)), Arg::Literal(Literal::Int(0))])?;
        assert!(matches!(g.node(q).kind, NodeKind::Apply { .. }));
        assert!(g.node(q).faults);
        Ok(())
    }
}
