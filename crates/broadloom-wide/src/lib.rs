//! Machine code for CLIF functions on vectors of 256 and 512 bits, which Cranelift's own back end doesn't lower.
//!
//! In: an optimised CLIF function of the shapes that the emitter makes (loops in loops around long straight bodies, cold
//! blocks beside them) and a [`Target`]. Out: [`Code`], position-independent, its constants behind it. Must hold: what it
//! can't lower is refused with the reason ([`Unsupported`]), never wrong.
#![forbid(unsafe_code)]

mod intrinsic;

pub use intrinsic::Intrinsic;

/// What instructions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// AVX2, FMA and F16C: vectors of up to 256 bits.
    Avx2,
    /// AVX-512 F, BW, DQ and VL besides: vectors of up to 512 bits, masks in registers of their own.
    Avx512,
}
