//! What code is made for.
//!
//! In: nothing. Out: the registers of the calling conventions. Must hold: as the platforms' documents say.

/// How functions are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Convention {
    /// System V AMD64: Linux, macOS and the like.
    SystemV,
    /// Windows x64.
    Windows,
}

impl Convention {
    /// The registers of the first arguments.
    pub fn arguments(self) -> &'static [u8] {
        match self {
            // rdi, rsi, rdx, rcx, r8, r9
            Convention::SystemV => &[7, 6, 2, 1, 8, 9],
            // rcx, rdx, r8, r9
            Convention::Windows => &[1, 2, 8, 9],
        }
    }

    /// General registers that a function gives back as it found them, but for the stack's own two.
    pub fn saved(self) -> u32 {
        let both = 1 << 3 | 0xf << 12;
        match self {
            Convention::SystemV => both,
            Convention::Windows => both | 1 << 6 | 1 << 7,
        }
    }

    /// Vector registers whose low 128 bits a function gives back as it found them.
    pub fn saved_vectors(self) -> u32 {
        match self {
            Convention::SystemV => 0,
            Convention::Windows => 0x3ff << 6,
        }
    }

    /// General registers to choose from: those that need no saving first.
    pub fn general_order(self) -> Vec<u8> {
        let usable = (1..16u8).filter(|r| ![4, 5].contains(r));
        let (saved, own): (Vec<u8>, Vec<u8>) = usable.partition(|r| self.saved() >> r & 1 == 1);
        own.into_iter().chain(saved).collect()
    }

    /// Bytes that a caller leaves free for the function that it calls.
    pub fn shadow(self) -> u32 {
        match self {
            Convention::SystemV => 0,
            Convention::Windows => 32,
        }
    }
}
