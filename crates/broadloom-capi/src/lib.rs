//! The C ABI of broadloom: kernels are built from text or by a builder, and run on the application's memory.
//!
//! Handles, pointers and sizes from callers are not trusted. No panic crosses the boundary; pointers are checked for null and
//! alignment before they are dereferenced, and handles are checked to be alive. Conditions that can't be checked are stated in a
//! function's safety section, which binds C callers too.
//!
//! `include/broadloom.h` is generated from this crate, `docs/c-abi.md` is its guide, and `examples/c` has programs.
//!
//! # Rules for all functions
//!
//! - A function that can fail returns a [`bl_status`]. Unless it returns `BL_OK`, it writes nothing to the caller's memory. The
//!   only exception is a run: after an error during a run, the contents of its outputs are unspecified.
//! - Every function may be called from any thread at any time. A handle that is released while another thread uses it stays
//!   valid for that use. The application decides which thread releases it.
//! - Handles are checked: a released handle, a handle of another kind and an arbitrary number result in `BL_HANDLE`, and never
//!   refer to another object.
//! - Structs that begin with `size` may get more fields in later versions: the application sets `size` to the `sizeof` that it
//!   was compiled with.
#![allow(non_camel_case_types)]

mod argument;
mod builder;
mod call;
mod code;
mod flag;
mod gradients;
mod host;
mod joins;
mod kernel;
mod library;
mod loops;
mod memory;
mod open_loops;
mod random;
mod reductions;
mod routines;
mod scans;
mod status;
mod table;
mod takes;
mod version;
mod views;

pub use argument::BL_NUL_TERMINATED;
pub use builder::*;
pub use call::*;
pub use code::*;
pub use flag::*;
pub use gradients::*;
pub use host::*;
pub use joins::*;
pub use kernel::*;
pub use library::*;
pub use loops::*;
pub use memory::bl_view;
pub use random::*;
pub use reductions::*;
pub use routines::*;
pub use scans::*;
pub use status::*;
pub use takes::*;
pub use version::*;
pub use views::*;
