//! Tests the back end for wide vectors against the specifications of CLIF and of the calling conventions.
//!
//! Functions with the same loops as the emitter's are written as text, compiled by `broadloom_wide` and run. They must
//! compute the same results as plain loops, preserve callee-saved registers, and access no byte outside of the arrays.
//! The back end's own checker verifies each register allocation.
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
