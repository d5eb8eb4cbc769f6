//! Shared code of the fuzz targets: builds cases from bytes, and models that results are compared with.
//!
//! The arithmetic of a model can't overflow for any input.

pub mod reach;
pub mod steps;
