//! Graphs of operands that are not typed yet, for tests: promoted, converted and broadcast as handles are.

use broadloom_ir::{DType, HostDeclaration, Literal, Op, Result};
use smallvec::SmallVec;

use super::{Graph, NodeId, NodeKind};
use crate::infer::{self, Operand, Promotion};
use crate::node::Args;

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

impl Graph {
    /// A function of operands, promoted as the Array API standard says, and broadcast.
    ///
    /// # Errors
    /// The errors of [`infer::apply`]; [`ErrorKind::Limit`] for too many nodes.
    pub fn apply(&mut self, op: Op, args: &[Arg]) -> Result<NodeId> {
        let signature = infer::apply(op, &self.operands(args), Promotion::Strict)?;
        let args = self.typed(args, |i| signature.operand(op, i))?;
        self.insert(NodeKind::Apply { op, args }, signature.result, signature.shape)
    }

    /// A host function of operands of exactly its dtypes, broadcast. It is not called here, whatever the operands are.
    ///
    /// # Errors
    /// The errors of [`infer::call`]; [`ErrorKind::Limit`] for too many nodes.
    pub fn call(&mut self, function: &HostDeclaration, args: &[Arg]) -> Result<NodeId> {
        let (shape, _) = infer::call(function, &self.operands(args))?;
        let signature = function.signature();
        let args = self.typed(args, |i| signature.operands()[i])?;
        self.insert(NodeKind::Host { function: function.clone(), args }, signature.result(), shape)
    }

    /// The operands as inference sees them.
    fn operands(&self, args: &[Arg]) -> SmallVec<[Operand<'_>; 3]> {
        args.iter()
            .map(|arg| match *arg {
                Arg::Node(id) => self.operand(id),
                Arg::Literal(literal) => Operand::Literal(literal),
            })
            .collect()
    }

    /// The operands with the dtypes that they are converted to.
    fn typed(&mut self, args: &[Arg], dtype: impl Fn(usize) -> DType) -> Result<Args<NodeId>> {
        let typed = args.iter().enumerate().map(|(i, arg)| match *arg {
            Arg::Node(id) => self.cast(id, dtype(i)),
            Arg::Literal(literal) => self.constant(literal.to_dtype(dtype(i))?, None),
        });
        typed.collect()
    }
}
