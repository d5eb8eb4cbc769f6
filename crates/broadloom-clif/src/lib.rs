//! Runs a kernel as machine code, through Cranelift.
//!
//! A [`Compiler`] turns a kernel and the access class of each input into a [`Compiled`] kernel, an
//! [`ExecutableKernel`](broadloom_mem::ExecutableKernel) that computes blocks of a loop nest. `body` represents the kernel as SSA
//! over primitives, `legalise` replaces primitives that a target has no instructions for, and `lower` selects the instructions
//! for each primitive, which `arithmetic`, `convert` and `shift` build with `vectors`; `emit` adds the loops, with accesses to
//! `memory`, calls of `host` functions, `slow_path`s and the `pauses` of loops that each element repeats. `wide` passes CLIF on
//! wide vectors to its back end, `compile` links machine code, `code` owns it, `run` and `stream` run it through `call`; `symbols`
//! and `gdb` announce it to profilers and debuggers. Code is called only with the operands that it was compiled for, and no type
//! of Cranelift is in a public signature.
#![deny(clippy::undocumented_unsafe_blocks)]

mod arithmetic;
mod body;
mod call;
mod code;
mod compile;
mod constants;
mod convert;
mod emit;
#[cfg(all(test, feature = "capstone"))]
mod encodings;
#[cfg(test)]
mod evaluate;
#[cfg(feature = "gdb")]
mod gdb;
mod host;
mod interleave;
mod intrinsic;
mod leaf;
mod legalise;
mod lower;
mod memory;
#[cfg(all(unix, target_arch = "x86_64"))]
mod pages;
mod partial;
mod pauses;
#[cfg(test)]
mod repertoire;
mod run;
mod scope;
mod shift;
mod slow_path;
mod stream;
mod symbols;
mod value;
mod vectors;
mod wide;

pub use broadloom_ir::VectorWidth;
pub use code::Compiled;
pub use compile::{Compiler, clif};
