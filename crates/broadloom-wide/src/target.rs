//! The target of code: the instruction set level, and the calling convention with the registers that the platforms' ABI
//! documents assign to it.

/// The vector instruction set that is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// AVX2, FMA and F16C: vectors of up to 256 bits.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, in addition to the above: vectors of up to 512 bits, and mask registers.
    Avx512,
}

/// The calling convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Convention {
    /// System V AMD64: Linux, macOS and other Unix systems.
    SystemV,
    /// Windows x64.
    Windows,
}

impl Convention {
    /// The numbers of the general registers that hold the first arguments of a call.
    pub(crate) fn arguments(self) -> &'static [u8] {
        match self {
            // rdi, rsi, rdx, rcx, r8, r9
            Convention::SystemV => &[7, 6, 2, 1, 8, 9],
            // rcx, rdx, r8, r9
            Convention::Windows => &[1, 2, 8, 9],
        }
    }

    /// The callee-saved general registers as a bit set, without `rsp` and `rbp`.
    pub(crate) fn saved(self) -> u32 {
        let both = 1 << 3 | 0xf << 12;
        match self {
            Convention::SystemV => both,
            Convention::Windows => both | 1 << 6 | 1 << 7,
        }
    }

    /// The vector registers whose low 128 bits are callee-saved, as a bit set.
    pub(crate) fn saved_vectors(self) -> u32 {
        match self {
            Convention::SystemV => 0,
            Convention::Windows => 0x3ff << 6,
        }
    }

    /// The numbers of the general registers in allocation order: caller-saved ones first, since they need no push and
    /// pop.
    pub(crate) fn general_order(self) -> Vec<u8> {
        let usable = (1..16u8).filter(|r| ![4, 5].contains(r));
        let (saved, scratch): (Vec<u8>, Vec<u8>) = usable.partition(|r| self.saved() >> r & 1 == 1);
        scratch.into_iter().chain(saved).collect()
    }

    /// The shadow space in bytes that a caller leaves for the function it calls.
    pub(crate) fn shadow(self) -> u32 {
        match self {
            Convention::SystemV => 0,
            Convention::Windows => 32,
        }
    }
}
