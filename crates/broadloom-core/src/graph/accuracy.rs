//! The op that computes a function with the requested accuracy.

use broadloom_ir::{DType, Op};

use super::{Accuracy, Graph, NodeId};
use crate::node::Args;

impl Graph {
    /// The op that computes the function `op` as accurately as the graph's semantics require; `None` if there is none.
    pub(crate) fn as_accurate(&self, op: Op, args: &Args<NodeId>) -> Option<Op> {
        if self.semantics.accuracy == Accuracy::Fast {
            return Some(op);
        }
        let last = self.node(*args.last()?);
        // Powers that are exact by definition are accepted, whether rewriting rules have replaced them or not.
        if op.is_nearest(last.dtype, last.constant().map(|value| value.class())) {
            return Some(op);
        }
        op.nearest().filter(|_| last.dtype == DType::Float32)
    }
}
