//! The description of a machine instruction: the encoder's code (`iced_x86::Code`) for each vector length, and the
//! operands that the instruction accepts.

use iced_x86::Code;

use crate::length::VectorLength;

/// The encoder's codes of an instruction, with the VEX (or legacy) prefix and with EVEX. Each array has one
/// entry for each [`VectorLength`], which is `INVALID` where no such code exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Codes {
    vex: [Code; 3],
    evex: [Code; 3],
}

impl Codes {
    const NONE: [Code; 3] = [Code::INVALID; 3];

    /// The codes of an instruction that has one code for every vector length.
    pub(super) const fn single(code: Code) -> Codes {
        Codes { vex: [code; 3], evex: Codes::NONE }
    }

    /// The codes of an instruction that has one code for every vector length and needs AVX-512.
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

/// An argument of [`Encoding::narrow_source`] and [`Encoding::narrow_result`] which specifies that the
/// operand has 128 bits, whatever the vector length of the operation.
pub(super) const TO_128: u8 = 9;

/// A machine instruction at all its vector lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    codes: Codes,
    /// The size in bytes of the scalar that an embedded broadcast reads from memory, or 0 if the instruction has none.
    pub(crate) broadcast: u8,
    /// The position of the source that may be a memory operand.
    pub(crate) memory: Option<u8>,
    /// Whether the first two sources may be exchanged.
    pub(crate) commutes: bool,
    /// log2(vector length of the operation / vector length of the operand), for the result and for the last source.
    result: u8,
    source: u8,
    /// The sizes in bytes of the operands that are general registers: the size of the first operand, and the
    /// size of all others.
    general: [u8; 2],
    /// The size of the immediate in bytes.
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

    /// An instruction without a foldable source. (Stores and `lea` have a memory operand by their nature.)
    pub(super) const fn plain(codes: Codes) -> Encoding {
        Encoding::new(codes, None)
    }

    /// An instruction with one source, which may be a memory operand.
    pub(super) const fn unary(codes: Codes) -> Encoding {
        Encoding::new(codes, Some(0))
    }

    /// An instruction with two sources, of which the second may be a memory operand.
    pub(super) const fn binary(codes: Codes) -> Encoding {
        Encoding::new(codes, Some(1))
    }

    /// An instruction with three sources, of which the third may be a memory operand.
    pub(super) const fn ternary(codes: Codes) -> Encoding {
        Encoding::new(codes, Some(2))
    }

    /// A fused multiply-add `a·b + c`, which overwrites one of its three sources.
    pub(super) const fn fma(codes: Codes) -> Encoding {
        Encoding { is_fma: true, ..Encoding::ternary(codes) }
    }

    pub(super) const fn broadcast(self, bytes: u8) -> Encoding {
        Encoding { broadcast: bytes, ..self }
    }

    pub(super) const fn commutes(self) -> Encoding {
        Encoding { commutes: true, ..self }
    }

    /// Makes the result 2^`log2` times narrower than the operation, but at least 128 bits.
    pub(super) const fn narrow_result(self, log2: u8) -> Encoding {
        Encoding { result: log2, ..self }
    }

    /// Makes the last source 2^`log2` times narrower than the operation, but at least 128 bits.
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

    /// The size in bytes of a general register, given its position among the operands.
    pub(crate) fn general_bytes(self, position: usize) -> u8 {
        self.general[usize::from(position > 0)]
    }

    /// The encoder's code at a vector length: with AVX-512 the EVEX code if it exists, otherwise the VEX or legacy
    /// code.
    pub(crate) fn code(self, length: VectorLength, avx512: bool) -> Option<Code> {
        let evex = self.codes.evex[length as usize];
        let code = if avx512 && evex != Code::INVALID { evex } else { self.codes.vex[length as usize] };
        (code != Code::INVALID).then_some(code)
    }

    /// Whether the instruction has one code for every vector length.
    #[cfg(test)]
    pub(super) fn is_single(self) -> bool {
        self.codes.vex[2] != Code::INVALID
            || self.codes.evex[0] == self.codes.evex[2] && self.codes.evex[0] != Code::INVALID
    }
}
