//! The hash of results.
//!
//! It depends only on the words that are added and their order, so that it is the same on every target and with every version of
//! the standard library. It detects accidental changes, not attacks.

use std::fmt;

/// The hash of the words so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(u64);

impl Hash {
    /// The hash of nothing.
    pub fn new() -> Hash {
        Hash(0x243f_6a88_85a3_08d3)
    }

    /// Adds a word by the finalizer of SplitMix64. Since this is a bijection of the word, a change of a single word always
    /// changes the hash.
    pub fn word(&mut self, word: u64) {
        let mut z = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = z ^ (z >> 31);
    }

    /// Adds the number of words, and then the words.
    pub fn words(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        self.word(words.len() as u64);
        words.for_each(|word| self.word(word));
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) {
        self.words(text.bytes().map(u64::from));
    }

    /// Parses the text form of a hash.
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
