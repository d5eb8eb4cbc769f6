//! The back end for wide vectors, held to the documents of CLIF and of the calling conventions.
//!
//! Functions of the emitter's shape are written as text, compiled by `broadloom_wide` and run. They must compute what plain loops
//! compute, preserve callee-saved registers, and touch no byte outside of the arrays. The back end's own checker verifies
//! each register allocation.
#![cfg(all(target_arch = "x86_64", unix))]

mod carried;
mod cold;
mod divisors;
mod interleave;
mod kernels;
mod lanes;
mod loops;
mod machine;
mod pressure;
mod program;
mod random;
mod refused;
mod rows;
mod steps;
mod text;
