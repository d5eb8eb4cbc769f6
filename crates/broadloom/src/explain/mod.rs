//! Explanations of evaluations: as text, and as a page with the graph drawn.

mod draw;
mod explanation;
mod html;
mod layers;
mod text;

pub use explanation::Explanation;
pub(crate) use explanation::{Run, Step};
