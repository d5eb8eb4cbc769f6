//! Arrow's C data and C stream interfaces: exports arrays to other libraries and imports arrays from them, as PyCapsules.
//!
//! This module implements only what the interfaces prescribe: the structs, their release callbacks, and the validation of
//! imported structs. The meaning of an array, including its nulls, is handled in `python/broadloom/_arrow_interface.py`.

pub mod abi;
pub mod lend;
pub mod take;
