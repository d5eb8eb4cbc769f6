//! Explanations as pages of HTML and as pictures.
//!
//! [`page`] and [`picture`] show the [`Details`](broadloom::explain::Details) of an [`Explanation`](broadloom::Explanation), which
//! `broadloom` computes without knowing how they are shown. Both are well-formed XML without scripts and external resources, light or
//! dark according to the reader's system.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod layers;
mod page;
mod picture;

pub use page::page;
pub use picture::picture;
