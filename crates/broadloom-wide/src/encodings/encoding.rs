//! One machine instruction: its codes for each vector length, and what its operands may be.

use iced_x86::Code;

use crate::length::VectorLength;

/// The codes of an instruction, indexed by [`VectorLength`]; `INVALID` where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Codes {
    vex: [Code; 3],
    evex: [Code; 3],
}

impl Codes {
    const NONE: [Code; 3] = [Code::INVALID; 3];

    /// One code whatever the length.
    pub(super) const fn single(code: Code) -> Codes {
        Codes { vex: [code; 3], evex: Codes::NONE }
    }

    /// One code whatever the length, of AVX-512.
    pub(super) const fn single_avx512(code: Code) -> Codes {
        Codes { vex: Codes::NONE, evex: [code; 3] }
    }

    pub(super) const fn vex(x: Code, y: Code) -> Codes {
        Codes { vex: [x, y, Code::INVALID], evex: Codes::NONE }
    }

    pub(super) const fn evex(x: Code, y: Code, z: Code) -> Codes {
        Codes { vex: Codes::NONE, evex: [x, y, z] }
    }

    pub(super) const fn with_evex(self, x: Code, y: Code, z: Code) -> Codes {
        Codes { evex: [x, y, z], ..self }
    }
}

/// For [`Encoding::narrow_source`] and [`Encoding::narrow_result`]: 128 bits at every length of the operation.
pub(super) const TO_128: u8 = 9;

/// A machine instruction at all its vector lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    codes: Codes,
    /// Bytes of the scalar that an embedded broadcast reads from memory, or 0.
    pub(crate) broadcast: u8,
    /// The source that may be a memory operand.
    pub(crate) memory: Option<u8>,
    /// Whether the first two sources may be exchanged.
    pub(crate) commutes: bool,
    /// log2(operation width / result width), and the same of the last source.
    result: u8,
    source: u8,
    /// Bytes of general registers: the first operand's, the others'.
    general: [u8; 2],
    /// Bytes of an immediate.
    pub(crate) immediate: u8,
    pub(super) is_fma: bool,
}

impl Encoding {
    const fn new(codes: Codes, memory: Option<u8>) -> Encoding {
        Encoding {
            codes,
            broadcast: 0,
            memory,
            commutes: false,
            result: 0,
            source: 0,
            general: [8; 2],
            immediate: 1,
            is_fma: false,
        }
    }

    /// No source may be a memory operand, unless it is one by its nature (a store, `lea`).
    pub(super) const fn plain(codes: Codes) -> Encoding {
        Encoding::new(codes, None)
    }

    /// One source, which may be memory.
    pub(super) const fn unary(codes: Codes) -> Encoding {
        Encoding::new(codes, Some(0))
    }

    /// Two sources, of which the second may be memory.
    pub(super) const fn binary(codes: Codes) -> Encoding {
        Encoding::new(codes, Some(1))
    }

    /// Three sources, of which the third may be memory.
    pub(super) const fn ternary(codes: Codes) -> Encoding {
        Encoding::new(codes, Some(2))
    }

    /// `a·b + c`, which overwrites one of the three.
    pub(super) const fn fma(codes: Codes) -> Encoding {
        Encoding { is_fma: true, ..Encoding::ternary(codes) }
    }

    pub(super) const fn broadcast(self, bytes: u8) -> Encoding {
        Encoding { broadcast: bytes, ..self }
    }

    pub(super) const fn commutes(self) -> Encoding {
        Encoding { commutes: true, ..self }
    }

    /// The result is that many times half as wide as the operation, but 128 bits at least.
    pub(super) const fn narrow_result(self, log2: u8) -> Encoding {
        Encoding { result: log2, ..self }
    }

    /// The last source is that many times half as wide as the operation, but 128 bits at least.
    pub(super) const fn narrow_source(self, log2: u8) -> Encoding {
        Encoding { source: log2, ..self }
    }

    pub(super) const fn general(self, first: u8, others: u8) -> Encoding {
        Encoding { general: [first, others], ..self }
    }

    pub(super) const fn immediate(self, bytes: u8) -> Encoding {
        Encoding { immediate: bytes, ..self }
    }

    /// The length of a vector operand, given its position and whether it is the last operand.
    pub(crate) fn operand_length(self, length: VectorLength, position: usize, is_last: bool) -> VectorLength {
        let log2 = match (position, is_last) {
            (0, _) => self.result,
            (_, true) => self.source,
            _ => 0,
        };
        match (length, log2) {
            (length, 0) => length,
            (VectorLength::L512, 1) => VectorLength::L256,
            _ => VectorLength::L128,
        }
    }

    /// Bytes of a general register, given its position among the operands.
    pub(crate) fn general_bytes(self, position: usize) -> u8 {
        self.general[usize::from(position > 0)]
    }

    /// The code at a length: the EVEX one where AVX-512 is available and there is one, else the VEX or legacy one.
    pub(crate) fn code(self, length: VectorLength, avx512: bool) -> Option<Code> {
        let evex = self.codes.evex[length as usize];
        let code = if avx512 && evex != Code::INVALID { evex } else { self.codes.vex[length as usize] };
        (code != Code::INVALID).then_some(code)
    }

    /// Whether one code serves every length.
    #[cfg(test)]
    pub(super) fn is_single(self) -> bool {
        self.codes.vex[2] != Code::INVALID
            || self.codes.evex[0] == self.codes.evex[2] && self.codes.evex[0] != Code::INVALID
    }
}
