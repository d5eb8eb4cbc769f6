//! Arrow's C data and C stream interfaces, both ways: arrays are shared with other libraries, and taken from them, as PyCapsules.
//!
//! These modules contain only what the interfaces fix: the structs, who releases them and when, and what of a struct can be
//! checked. What an array means, its nulls included, is in `python/broadloom/_arrow_interface.py`.

pub mod abi;
pub mod lend;
pub mod take;
