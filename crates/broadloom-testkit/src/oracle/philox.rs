//! Philox4x32-10 by its definition in the paper, word by word.

/// The words of a block in pairs, the low word of a pair first. `upper` has the third and the fourth word of the counter.
pub(super) fn words(key: i128, upper: i128, number: i128) -> [u64; 2] {
    let pair = |x: i128| [x as u32, (x >> 32) as u32];
    let ([k0, k1], [c0, c1], [c2, c3]) = (pair(key), pair(number), pair(upper));
    let words = block([c0, c1, c2, c3], [k0, k1]).map(u64::from);
    [words[0] | words[1] << 32, words[2] | words[3] << 32]
}

/// The block of a counter and a key.
pub fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let mut state = counter;
    for round in 0..10_u32 {
        let k0 = key[0].wrapping_add(round.wrapping_mul(0x9E37_79B9));
        let k1 = key[1].wrapping_add(round.wrapping_mul(0xBB67_AE85));
        let p0 = u64::from(state[0]) * 0xD251_1F53;
        let p1 = u64::from(state[2]) * 0xCD9E_8D57;
        state = [(p1 >> 32) as u32 ^ state[1] ^ k0, p1 as u32, (p0 >> 32) as u32 ^ state[3] ^ k1, p0 as u32];
    }
    state
}

#[cfg(test)]
mod tests {
    /// The vectors of Random123's `kat_vectors` for philox4x32 with ten rounds.
    #[test]
    fn blocks_are_those_of_random123() {
        let digits = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        for (counter, key, expected) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (digits, [0xa409_3822, 0x299f_31d0], [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]),
        ] {
            assert_eq!(super::block(counter, key), expected);
        }
    }
}
