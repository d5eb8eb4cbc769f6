//! Machine code for CLIF functions on vectors of 256 and 512 bits, which Cranelift's own back end does not lower.
//!
//! There are three passes: instruction selection over virtual registers, register allocation, and encoding. The input
//! is an optimised function of the shape that the emitter in `broadloom-clif` writes: nested loops around long
//! straight-line bodies, with out-of-line code. Any other function is refused with a reason ([`Unsupported`]) and never
//! compiled wrongly. In builds with debug assertions a symbolic checker verifies every allocation.
#![forbid(unsafe_code)]

mod allocate;
mod allocated;
#[cfg(any(debug_assertions, test))]
mod check;
mod code;
mod encode;
mod encodings;
mod error;
mod inst;
mod intrinsic;
mod length;
mod select;
mod tail;
mod target;

pub use code::Code;
pub use error::Unsupported;
pub use intrinsic::Intrinsic;
pub use target::{Convention, Level};

/// Compiles an optimised CLIF function of the shape that `broadloom-clif` emits.
///
/// # Errors
/// [`Unsupported`] if the function contains something that this back end does not lower.
///
/// # Panics
/// With debug assertions, if the register allocator has produced wrong code.
pub fn compile(
    function: &cranelift_codegen::ir::Function,
    level: Level,
    convention: Convention,
) -> Result<Code, Unsupported> {
    let function = select::select(function, level)?;
    let allocated = allocate::allocate(&function, level, convention)?;
    #[cfg(debug_assertions)]
    if let Err(error) = check::check(&function, &allocated, level, convention) {
        panic!("internal error in register allocation: {error}");
    }
    encode::encode(&allocated, level, convention)
}
