//! Explanations as pages of HTML and as pictures.
//!
//! [`page`] and [`picture`] show the [`Details`](broadloom::explain::Details) of an [`Explanation`](broadloom::Explanation);
//! `broadloom` computes the explanation without knowing how it is shown. Pages and pictures are well-formed XML without scripts and
//! external resources, light or dark according to the reader's system.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod layers;
mod page;
mod picture;

pub use page::page;
pub use picture::picture;
