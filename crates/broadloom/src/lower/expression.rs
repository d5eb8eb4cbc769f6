//! The input of planning: a [`Structure`] with the literals and host functions to which its slot numbers refer. Also the limits
//! on the size of an expression.

use broadloom_core::graph::{Graph, Semantics};
use broadloom_core::node::NodeId;
use broadloom_core::shape::MAX_RANK;
use broadloom_core::structure::Structure;
use broadloom_core::{Error, ErrorKind, Result, Scalar};
use broadloom_mem::HostFunction;

/// The limits on the size of an expression.
#[derive(Clone, Copy)]
pub(crate) struct SizeLimits {
    pub nodes: usize,
    pub depth: usize,
    pub rank: usize,
}

impl SizeLimits {
    pub(crate) fn check_depth_and_rank(self, structure: Structure<'_>) -> Result<()> {
        // The depth is at most the number of nodes, and the rank at most `MAX_RANK`. They are measured only if a limit is lower
        // than that.
        if structure.nodes.len() > self.depth || self.rank < MAX_RANK {
            let (depth, rank) = structure.depth_and_rank();
            exceeds("depth", depth, self.depth, "max_depth")?;
            exceeds("rank", rank, self.rank, "max_rank")?;
        }
        Ok(())
    }
}

pub(super) fn exceeds(what: &str, value: usize, limit: usize, option: &str) -> Result<()> {
    if value <= limit {
        return Ok(());
    }
    let why = format!("the expression has a {what} of {value}, the limit is {limit}");
    Err(Error::new(ErrorKind::Limit, why).with_help(format!("the option {option} sets the limit")))
}

/// The input of planning: a [`Structure`], with the literals and host functions to which its slot numbers refer.
#[derive(Clone, Copy)]
pub(crate) struct Expression<'x> {
    pub structure: Structure<'x>,
    /// The value of each literal slot.
    pub literals: &'x [Scalar],
    /// The host functions that the expression calls.
    pub functions: &'x [HostFunction],
    /// The nodes of the structure that differentiation has made, in increasing order.
    pub derivatives: &'x [NodeId],
}

impl Expression<'_> {
    /// The graph, with slots of inputs and literals numbered as in the structure; and the graph's roots.
    ///
    /// Errors: those of [`Structure::graph`].
    pub(crate) fn graph(self, semantics: Semantics) -> Result<(Graph, Vec<NodeId>)> {
        self.structure.graph(self.literals, semantics, self.derivatives)
    }
}
