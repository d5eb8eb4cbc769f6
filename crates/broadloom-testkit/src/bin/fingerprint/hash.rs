//! The hash of results.
//!
//! It depends on nothing but the words it is given, in their order, so that it is the same on every target and for
//! every version of the standard library. It detects accidents, not attacks.

use std::fmt;

/// The hash of the words so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(u64);

impl Hash {
    /// The hash of nothing.
    pub fn new() -> Hash {
        Hash(0x243f_6a88_85a3_08d3)
    }

    /// Adds a word, by the finalizer of SplitMix64: a bijection of the word, so that one changed word is always seen.
    pub fn word(&mut self, word: u64) {
        let mut z = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = z ^ (z >> 31);
    }

    /// Adds words, and before them how many there are.
    pub fn words(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        self.word(words.len() as u64);
        words.for_each(|word| self.word(word));
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) {
        self.words(text.bytes().map(u64::from));
    }

    /// The hash that prints so.
    pub fn from_text(text: &str) -> Option<Hash> {
        Some(Hash(u64::from_str_radix(text, 16).ok().filter(|_| text.len() == 16)?))
    }

    /// The hash as a number.
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
