//! The random stream: the counter-based generator Philox4x32-10.
//!
//! J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A block of four
//! 32-bit words is a function of a key and of the block's number, so that an element needs no state.

use crate::functions::function;
use crate::ops::{Ops, Ternary};

function! {
    /// Words 2 and 3 of block x3 of the stream with key x1 and upper counter x2
    PhiloxHigh
    /// Words 0 and 1 of block x3 of the stream with key x1 and upper counter x2
    PhiloxLow
}

/// The number of rounds.
const ROUNDS: usize = 10;

/// The multipliers of the first and third word.
const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];

/// What each round adds to the words of the key: the golden ratio and √3 − 1, scaled to 32 bits.
const KEY_STEPS: [u64; 2] = [0x9E37_79B9, 0xBB67_AE85];

const LOW_HALF: u64 = 0xFFFF_FFFF;

/// The four words of a block, whose upper halves may contain anything.
///
/// Words are computed in lanes of 64 bits, since the product of two words has 64. Only products need an upper half of zeros. Masking
/// an operand of a product costs no instruction on x86-64, which multiplies the low halves of lanes.
#[inline(always)]
fn block<O: Ops>(o: &mut O, key: O::V<u64>, upper: O::V<u64>, block: O::V<u64>) -> [O::V<u64>; 4] {
    let mut key = [key, o.shr_const::<u64>(key, 32)];
    let mut words = [block, o.shr_const::<u64>(block, 32), upper, o.shr_const::<u64>(upper, 32)];
    for round in 0..ROUNDS {
        if round > 0 {
            for (word, step) in key.iter_mut().zip(KEY_STEPS) {
                let step = o.splat(step);
                *word = o.add(*word, step);
            }
        }
        let products = [(words[0], MULTIPLIERS[0]), (words[2], MULTIPLIERS[1])].map(|(word, multiplier)| {
            let (word, multiplier) = (low_half(o, word), o.splat(multiplier));
            o.mul(word, multiplier)
        });
        // The key is combined with the words that are there before this round's products are.
        let [first, third] = [(words[1], key[0]), (words[3], key[1])].map(|(word, key)| o.xor(word, key));
        let [high0, high1] = products.map(|product| o.shr_const::<u64>(product, 32));
        words = [o.xor(high1, first), products[1], o.xor(high0, third), products[0]];
    }
    words
}

macro_rules! halves {
    ($($name:ident $even:literal $odd:literal;)*) => {$(
        impl Ternary<u64> for $name {
            type First = u64;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, key: O::V<u64>, upper: O::V<u64>, number: O::V<u64>) -> O::V<u64> {
                let words = block(o, key, upper, number);
                let even = low_half(o, words[$even]);
                let odd = o.shl_const::<u64>(words[$odd], 32);
                o.or(even, odd)
            }
        }
    )*};
}
halves! {
    PhiloxLow 0 1;
    PhiloxHigh 2 3;
}

/// The low half of each lane.
#[inline(always)]
fn low_half<O: Ops>(o: &mut O, x: O::V<u64>) -> O::V<u64> {
    let mask = o.splat(LOW_HALF);
    o.and(x, mask)
}
