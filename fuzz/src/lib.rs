//! Shared code of the fuzz targets: cases made from bytes, and models to compare results with.
//!
//! The arithmetic of a model can't overflow, whatever the numbers.

pub mod reach;
pub mod steps;
