//! Chooses the op that computes another op with the requested accuracy.

use broadloom_ir::{DType, Op};

use super::{Accuracy, Graph, NodeId};
use crate::node::Args;

impl Graph {
    /// The op that computes the result of `op` as accurately as the graph's semantics require; `None` if there is no such op.
    pub(crate) fn as_accurate(&self, op: Op, args: &Args<NodeId>) -> Option<Op> {
        if self.semantics.accuracy == Accuracy::Fast {
            return Some(op);
        }
        let last = self.node(*args.last()?);
        // A power that is exact by definition is accurate enough, whether rewriting has a rule for it or not.
        if op.is_nearest(last.dtype, last.constant().map(|value| value.class())) {
            return Some(op);
        }
        op.nearest().filter(|_| last.dtype == DType::Float32)
    }
}
