//! The back end for wide vectors, held to what CLIF and the calling conventions say.
//!
//! In: functions of the emitter's shape, written as text. Out: tests. Must hold: compiled by `broadloom_wide`, put into
//! memory and run, they give what plain loops give, leave alone what the convention protects, and touch no byte beside
//! the arrays.
#![cfg(all(target_arch = "x86_64", unix))]

mod carried;
mod cold;
mod kernels;
mod lanes;
mod loops;
mod machine;
mod pressure;
mod program;
mod random;
mod refused;
mod rows;
mod text;
