//! Builds graphs from operands that are not typed yet, for tests: they are promoted, converted and broadcast like
//! handles.

use broadloom_ir::{Accuracy, DType, HostDeclaration, Literal, Op, Result};
use smallvec::SmallVec;

use super::{Graph, NodeId, NodeKind};
use crate::infer::{self, Operand, Promotion};
use crate::node::Args;

/// An operand: a node, or a literal, whose dtype follows from the nodes.
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
    /// Adds a function of operands, which are promoted by the Array API standard's rules and broadcast.
    ///
    /// # Errors
    /// The errors of [`infer::apply`]; [`ErrorKind::Limit`] for too many nodes.
    pub fn apply(&mut self, op: Op, args: &[Arg]) -> Result<NodeId> {
        let signature = infer::apply(op, &self.operands(args), Promotion::Strict)?;
        let args = self.typed(args, |i| signature.operand(op, i))?;
        self.insert(NodeKind::Apply { op, accuracy: Accuracy::Fast, args }, signature.result, signature.shape)
    }

    /// Adds a call of a host function. The operands must have exactly its dtypes, and are broadcast. The function is
    /// not called here, even if all operands are constants.
    ///
    /// # Errors
    /// The errors of [`infer::call`]; [`ErrorKind::Limit`] for too many nodes.
    pub fn call(&mut self, function: &HostDeclaration, args: &[Arg]) -> Result<NodeId> {
        let (shape, _) = infer::call(function, &self.operands(args))?;
        let signature = function.signature();
        let args = self.typed(args, |i| signature.operands()[i])?;
        self.insert(NodeKind::Host { function: function.clone(), args }, signature.result(), shape)
    }

    /// The operands in the form that inference takes.
    fn operands(&self, args: &[Arg]) -> SmallVec<[Operand<'_>; 3]> {
        args.iter()
            .map(|arg| match *arg {
                Arg::Node(id) => self.operand(id),
                Arg::Literal(literal) => Operand::Literal(literal),
            })
            .collect()
    }

    /// Adds the operands, converted to the given dtypes.
    fn typed(&mut self, args: &[Arg], dtype: impl Fn(usize) -> DType) -> Result<Args<NodeId>> {
        let typed = args.iter().enumerate().map(|(i, arg)| match *arg {
            Arg::Node(id) => self.cast(id, dtype(i)),
            Arg::Literal(literal) => self.constant(literal.to_dtype(dtype(i))?, None),
        });
        typed.collect()
    }
}
