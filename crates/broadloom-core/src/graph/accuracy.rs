//! The accuracy with which a graph's semantics require a function to be computed.

use broadloom_ir::op::Law;
use broadloom_ir::{Accuracy, DType, Op};

use super::{Graph, NodeId};
use crate::node::Args;

impl Graph {
    /// The lowest accuracy, `accuracy` or a higher one, at which the op satisfies the graph's semantics; `None` if the
    /// op has no definition of such an accuracy.
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
