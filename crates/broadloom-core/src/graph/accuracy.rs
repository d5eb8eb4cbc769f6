//! The accuracy with which a graph's semantics require a function to be computed.

use broadloom_ir::op::Law;
use broadloom_ir::{Accuracy, DType, Op};

use super::{Graph, NodeId};
use crate::node::Args;

impl Graph {
    /// The least accuracy, `accuracy` or a better one, with which the op computes what the graph's semantics require; `None` if
    /// it has no such definition.
    pub(crate) fn as_accurate(&self, op: Op, accuracy: Accuracy, args: &Args<NodeId>) -> Option<Accuracy> {
        if self.semantics.accuracy == Accuracy::Fast {
            return Some(accuracy);
        }
        let last = self.node(*args.last()?);
        // Powers that are exact by definition are accepted, whether rewriting rules have replaced them or not.
        if op.is_nearest(last.dtype, last.constant().map(|value| value.class())) {
            return Some(accuracy);
        }
        (op.has(Law::Nearest) && last.dtype == DType::Float32).then_some(Accuracy::Nearest)
    }
}
