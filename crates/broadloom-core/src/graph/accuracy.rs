//! Which op computes what an op means under the accuracy that is asked for.

use broadloom_ir::scalar::Class;
use broadloom_ir::{DType, Op};

use super::{Accuracy, Graph, NodeId};
use crate::node::Args;

impl Graph {
    /// The op that computes what this one means, as accurately as the graph's semantics ask; `None` where there is none.
    pub(crate) fn as_accurate(&self, op: Op, args: &Args<NodeId>) -> Option<Op> {
        if self.semantics.accuracy == Accuracy::Fast {
            return Some(op);
        }
        let dtype = self.node(*args.last()?).dtype;
        if op.is_nearest(dtype) || self.is_exact_power(op, args) {
            return Some(op);
        }
        op.nearest().filter(|_| dtype == DType::Float32)
    }

    /// Whether it is a power with an exponent for which that is x, x·x, 1/x or 1, each rounded once, by definition. It says
    /// so of the same powers whether rewriting has rules for them or not.
    fn is_exact_power(&self, op: Op, args: &Args<NodeId>) -> bool {
        let exponent = args.last().and_then(|&exponent| self.node(exponent).constant());
        op == Op::Pow
            && exponent.is_some_and(|exponent| match exponent.class() {
                Class::Zero | Class::NegativeZero | Class::One | Class::MinusOne | Class::Two => true,
                Class::Other => false,
            })
    }
}
