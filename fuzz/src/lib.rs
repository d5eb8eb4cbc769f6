//! What the fuzz targets share.
//!
//! In: a fuzzer's bytes. Out: cases, and models to hold the results against. Must hold: a model's arithmetic can't
//! overflow, whatever the numbers.

pub mod reach;
pub mod steps;
