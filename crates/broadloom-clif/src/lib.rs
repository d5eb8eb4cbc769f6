//! Runs a kernel as machine code, through Cranelift.
//!
//! In: a kernel and how its inputs are accessed ([`Compiler::compile`]). Out: a [`Compiled`] kernel that computes
//! blocks of a nest ([`Compiled::run`]). `width` says how wide vectors are, `value` and `shape` hold lanes in them, `ops`
//! is the CLIF instance of the primitives (with `convert` and `shift`), `intrinsic` calls what CLIF lacks, `constants` and
//! `memory` are what they say, `emit` puts loops around the body, `rare` and `host` call functions, `optimise` is for wide
//! vectors, which `wide` gives to their back end; `compile` owns code, `symbols` and `gdb` name it for others, `run`, `slices`
//! and `stream` call it. Must hold: code is called only with what it was compiled for; no type of Cranelift is in a public
//! signature.
#![deny(clippy::undocumented_unsafe_blocks)]

mod arithmetic;
mod body;
mod call;
mod code;
mod compile;
mod constants;
mod convert;
mod emit;
#[cfg(test)]
mod encodings;
#[cfg(test)]
mod evaluate;
#[cfg(feature = "gdb")]
mod gdb;
mod host;
mod intrinsic;
mod legalise;
mod lower;
mod memory;
#[cfg(test)]
mod repertoire;
mod run;
mod shift;
mod slices;
mod slow_path;
mod stream;
mod symbols;
mod value;
mod vectors;
mod wide;
mod width;

pub use code::Compiled;
pub use compile::{Compiler, Listing, clif};
pub use emit::lanes;
pub use width::Width;
