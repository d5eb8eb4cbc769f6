//! Machine code for CLIF functions on vectors of 256 and 512 bits, which Cranelift's own back end doesn't lower.
//!
//! In: an optimised CLIF function of the shapes that the emitter makes (loops in loops around long straight bodies, cold
//! blocks beside them), a [`Level`] and a [`Convention`]. Out: [`Code`], position-independent, its constants behind it. Must hold: what it
//! can't lower is refused with the reason ([`Unsupported`]), never wrong.
#![forbid(unsafe_code)]

mod allocate;
mod code;
mod encode;
mod forms;
mod intrinsic;
mod machine;
mod select;
mod target;

pub use target::Convention;

pub use intrinsic::Intrinsic;

/// What instructions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// AVX2, FMA and F16C: vectors of up to 256 bits.
    Avx2,
    /// AVX-512 F, BW, DQ and VL besides: vectors of up to 512 bits, masks in registers of their own.
    Avx512,
}

/// Why a function is not compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the back end for wide vectors doesn't know {}", self.0)
    }
}

impl std::error::Error for Unsupported {}

/// Machine code: at any address that is a multiple of 64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The code, and behind it the constants that it reads.
    pub bytes: Vec<u8>,
    /// How many of the bytes are code.
    pub code_bytes: usize,
    /// Bytes of stack that a call takes, but for saved registers.
    pub frame: u32,
}

/// Compiles a function of the emitter's shape, after the optimiser.
///
/// # Errors
/// [`Unsupported`]: it has something that is not known here.
pub fn compile(
    function: &cranelift_codegen::ir::Function,
    level: Level,
    convention: Convention,
) -> Result<Code, Unsupported> {
    let line = select::line(function, level)?;
    let placed = allocate::place(&line, level, convention)?;
    encode::write(&placed, level, convention)
}

impl Code {
    /// The code as text: a line for each instruction, after its offset.
    pub fn assembly(&self) -> String {
        use iced_x86::Formatter;
        let mut decoder =
            iced_x86::Decoder::new(64, &self.bytes[..self.code_bytes], iced_x86::DecoderOptions::NONE);
        let mut formatter = iced_x86::IntelFormatter::new();
        let options = formatter.options_mut();
        options.set_rip_relative_addresses(true);
        options.set_space_after_operand_separator(true);
        options.set_branch_leading_zeros(false);
        let (mut text, mut line) = (String::new(), String::new());
        for instruction in &mut decoder {
            line.clear();
            formatter.format(&instruction, &mut line);
            text.push_str(&format!("{:6x}:  {line}\n", instruction.ip()));
        }
        text
    }
}
