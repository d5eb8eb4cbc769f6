//! Explanations of evaluations, as data and as text. The crate `broadloom-html` makes pages and pictures of them.

mod details;
mod explanation;
mod text;

pub use details::{
    Details, ExplainedInput, ExplainedKernel, ExplainedNode, ExplainedOutput, ExplainedRun, NodeRole,
};
pub use explanation::Explanation;
pub(crate) use explanation::{Run, Step};
