//! float16 ↔ float32 by the host's own conversions, where it has them for vectors.
//!
//! In: elements of one type. Out: as many of the other, rounded to nearest even; the bits of `broadloom_math`'s conversions,
//! any NaN being as good as any other. Must hold: the same in every floating-point environment; the rounding is part of the
//! instructions, they know no flush-to-zero, and what denormals-are-zero would flush is 0 as a float16.

use broadloom_math::{CastTo, Elem, Scalar, f16};

/// Whether this host converts several at once. The functions of this module work without it, one by one and slowly.
#[inline]
pub fn converts_halves() -> bool {
    level() != Level::One
}

/// Widens each element.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn widen_halves(from: &[f16], to: &mut [f32]) {
    widen_by(level(), from, to);
}

/// Rounds each element to float16.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn narrow_halves(from: &[f32], to: &mut [f16]) {
    narrow_by(level(), from, to);
}

/// Rounds each element to the nearest float32 that is a float16.
#[inline]
pub fn round_to_half(x: &mut [f32]) {
    round_by(level(), x);
}

/// What converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Integer arithmetic, an element at a time.
    One,
    /// Eight elements: F16C.
    #[cfg(target_arch = "x86_64")]
    Eight,
    /// Sixteen elements: AVX-512F.
    #[cfg(target_arch = "x86_64")]
    Sixteen,
}

/// The widest level of this host; the standard library remembers what it found.
#[inline]
fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return Level::Sixteen;
        }
        if is_x86_feature_detected!("f16c") && is_x86_feature_detected!("avx") {
            return Level::Eight;
        }
    }
    Level::One
}

#[inline]
fn widen_by(level: Level, from: &[f16], to: &mut [f32]) {
    assert_eq!(from.len(), to.len(), "elements to widen");
    match level {
        Level::One => from.iter().zip(to).for_each(|(x, y)| *y = one(*x)),
        // SAFETY: `level` found the feature.
        #[cfg(target_arch = "x86_64")]
        Level::Eight => unsafe { x86_64::widen_8(from, to) },
        // SAFETY: the same.
        #[cfg(target_arch = "x86_64")]
        Level::Sixteen => unsafe { x86_64::widen_16(from, to) },
    }
}

#[inline]
fn narrow_by(level: Level, from: &[f32], to: &mut [f16]) {
    assert_eq!(from.len(), to.len(), "elements to narrow");
    match level {
        Level::One => from.iter().zip(to).for_each(|(x, y)| *y = one(*x)),
        // SAFETY: `level` found the feature.
        #[cfg(target_arch = "x86_64")]
        Level::Eight => unsafe { x86_64::narrow_8(from, to) },
        // SAFETY: the same.
        #[cfg(target_arch = "x86_64")]
        Level::Sixteen => unsafe { x86_64::narrow_16(from, to) },
    }
}

#[inline]
fn round_by(level: Level, x: &mut [f32]) {
    match level {
        Level::One => x.iter_mut().for_each(|x| {
            let half: f16 = one(*x);
            *x = one(half);
        }),
        // SAFETY: `level` found the feature.
        #[cfg(target_arch = "x86_64")]
        Level::Eight => unsafe { x86_64::round_8(x) },
        // SAFETY: the same.
        #[cfg(target_arch = "x86_64")]
        Level::Sixteen => unsafe { x86_64::round_16(x) },
    }
}

/// A conversion of one element by the definition of all conversions.
fn one<T: CastTo<U>, U: Elem>(x: T) -> U {
    T::cast(&mut Scalar, x)
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps,
        _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_storeu_ps, _mm256_storeu_si256,
        _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_loadu_ps, _mm512_storeu_ps,
    };

    use broadloom_math::f16;

    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;

    /// The three functions for so many lanes, from the loads, stores and conversions of the vectors. What is left at the
    /// end goes through an array of a vector's length.
    macro_rules! conversions {
        (
            $features:literal $lanes:literal $widen:ident $narrow:ident $round:ident
            ($load_half:ident $store_half:ident $load:ident $store:ident $to_single:ident $to_half:ident)
        ) => {
            #[target_feature(enable = $features)]
            pub(super) fn $widen(from: &[f16], to: &mut [f32]) {
                #[target_feature(enable = $features)]
                fn vector(from: &[f16; $lanes], to: &mut [f32; $lanes]) {
                    // SAFETY: a vector is read from an array of its size and one is written to such an array; neither
                    // needs to be aligned. A float16 is its 16 bits.
                    unsafe { $store(to.as_mut_ptr(), $to_single($load_half(from.as_ptr().cast()))) }
                }
                let (from, from_rest) = from.as_chunks::<$lanes>();
                let (to, to_rest) = to.as_chunks_mut::<$lanes>();
                from.iter().zip(to).for_each(|(from, to)| vector(from, to));
                if !from_rest.is_empty() {
                    let (mut rest, mut wide) = ([f16::ZERO; $lanes], [0.0; $lanes]);
                    rest[..from_rest.len()].copy_from_slice(from_rest);
                    vector(&rest, &mut wide);
                    to_rest.copy_from_slice(&wide[..to_rest.len()]);
                }
            }

            #[target_feature(enable = $features)]
            pub(super) fn $narrow(from: &[f32], to: &mut [f16]) {
                #[target_feature(enable = $features)]
                fn vector(from: &[f32; $lanes], to: &mut [f16; $lanes]) {
                    // SAFETY: as above.
                    unsafe { $store_half(to.as_mut_ptr().cast(), $to_half::<NEAREST>($load(from.as_ptr()))) }
                }
                let (from, from_rest) = from.as_chunks::<$lanes>();
                let (to, to_rest) = to.as_chunks_mut::<$lanes>();
                from.iter().zip(to).for_each(|(from, to)| vector(from, to));
                if !from_rest.is_empty() {
                    let (mut rest, mut half) = ([0.0; $lanes], [f16::ZERO; $lanes]);
                    rest[..from_rest.len()].copy_from_slice(from_rest);
                    vector(&rest, &mut half);
                    to_rest.copy_from_slice(&half[..to_rest.len()]);
                }
            }

            #[target_feature(enable = $features)]
            pub(super) fn $round(x: &mut [f32]) {
                #[target_feature(enable = $features)]
                fn vector(x: &mut [f32; $lanes]) {
                    // SAFETY: as above.
                    unsafe { $store(x.as_mut_ptr(), $to_single($to_half::<NEAREST>($load(x.as_ptr())))) }
                }
                let (vectors, rest) = x.as_chunks_mut::<$lanes>();
                vectors.iter_mut().for_each(|x| vector(x));
                if !rest.is_empty() {
                    let mut all = [0.0; $lanes];
                    all[..rest.len()].copy_from_slice(rest);
                    vector(&mut all);
                    rest.copy_from_slice(&all[..rest.len()]);
                }
            }
        };
    }
    conversions! {
        "avx,f16c" 8 widen_8 narrow_8 round_8
        (_mm_loadu_si128 _mm_storeu_si128 _mm256_loadu_ps _mm256_storeu_ps _mm256_cvtph_ps _mm256_cvtps_ph)
    }
    conversions! {
        "avx512f" 16 widen_16 narrow_16 round_16
        (_mm256_loadu_si256 _mm256_storeu_si256 _mm512_loadu_ps _mm512_storeu_ps _mm512_cvtph_ps _mm512_cvtps_ph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels that this host has beside the definition.
    fn levels() -> Vec<Level> {
        #[cfg(target_arch = "x86_64")]
        {
            let mut levels = Vec::new();
            if is_x86_feature_detected!("f16c") && is_x86_feature_detected!("avx") {
                levels.push(Level::Eight);
            }
            if is_x86_feature_detected!("avx512f") {
                levels.push(Level::Sixteen);
            }
            levels
        }
        #[cfg(not(target_arch = "x86_64"))]
        Vec::new()
    }

    /// Panics unless each level narrows and rounds these as the definition does.
    fn narrows(from: &[f32]) {
        let (mut want, mut got) = (vec![f16::ZERO; from.len()], vec![f16::ZERO; from.len()]);
        let mut wide = vec![0.0; from.len()];
        narrow_by(Level::One, from, &mut want);
        widen_by(Level::One, &want, &mut wide);
        for level in levels() {
            narrow_by(level, from, &mut got);
            let mut rounded = from.to_vec();
            round_by(level, &mut rounded);
            for i in 0..from.len() {
                let same = got[i].to_bits() == want[i].to_bits() || got[i].is_nan() && want[i].is_nan();
                assert!(same, "{level:?}: {:#x} becomes {:?}, not {:?}", from[i].to_bits(), got[i], want[i]);
                let same = rounded[i].to_bits() == wide[i].to_bits() || rounded[i].is_nan() && wide[i].is_nan();
                assert!(same, "{level:?}: {:#x} rounds to {:?}, not {:?}", from[i].to_bits(), rounded[i], wide[i]);
            }
        }
    }

    #[test]
    fn every_float16_is_widened_as_it_is_defined() {
        let from: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let (mut want, mut got) = (vec![0.0; from.len()], vec![0.0; from.len()]);
        widen_by(Level::One, &from, &mut want);
        for level in levels() {
            widen_by(level, &from, &mut got);
            for i in 0..from.len() {
                let same = got[i].to_bits() == want[i].to_bits() || got[i].is_nan() && want[i].is_nan();
                assert!(same, "{level:?}: {i:#x} becomes {:?}, not {:?}", got[i], want[i]);
            }
        }
    }

    #[test]
    fn float32_is_narrowed_as_it_is_defined() {
        // Every float16, the middle between it and the next, and the neighbours of both.
        for half in (0..0x7c01u16).step_by(64) {
            let from: Vec<f32> = (half..(half + 64).min(0x7c01))
                .flat_map(|half| {
                    let bits: f32 = one(f16::from_bits(half));
                    let next: f32 = one(f16::from_bits(half + 1));
                    // Past the greatest number: where the next would be.
                    let next = if next.is_finite() { next } else { 65536.0 };
                    [bits, (bits + next) / 2.0]
                })
                .flat_map(|x| [x.to_bits().wrapping_sub(1), x.to_bits(), x.to_bits() + 1])
                .flat_map(|bits| [bits, bits | 1 << 31])
                .map(f32::from_bits)
                .collect();
            narrows(&from);
        }
        // Bits all over: an odd stride visits each residue.
        let from: Vec<f32> = (0..1 << 20).map(|i: u32| f32::from_bits(i.wrapping_mul(0x9e37_79b1))).collect();
        narrows(&from);
    }

    /// A few minutes optimised; the test above visits what the rounding depends on.
    #[test]
    #[ignore = "all 2^32 float32"]
    fn every_float32_is_narrowed_as_it_is_defined() {
        for high in 0..=u16::MAX {
            let from: Vec<f32> =
                (0..=u16::MAX).map(|low| f32::from_bits(u32::from(high) << 16 | u32::from(low))).collect();
            narrows(&from);
        }
    }

    #[test]
    fn every_length_is_converted_and_nothing_else() {
        let halves: Vec<f16> = (0..80).map(|i| f16::from_f32(i as f32 / 8.0 - 3.0)).collect();
        let wide: Vec<f32> = halves.iter().map(|x| x.to_f32()).collect();
        let off: Vec<f32> = wide.iter().map(|x| x + 1e-5).collect();
        for level in levels().into_iter().chain([Level::One]) {
            for (start, n) in (0..3).flat_map(|start| (0..70).map(move |n| (start, n))) {
                let (mut to, mut back) = ([7.0f32; 80], [f16::ONE; 80]);
                let mut rounded: [f32; 80] = off[..80].try_into().expect("80");
                let range = start..start + n;
                widen_by(level, &halves[range.clone()], &mut to[range.clone()]);
                narrow_by(level, &wide[range.clone()], &mut back[range.clone()]);
                round_by(level, &mut rounded[range.clone()]);
                for i in 0..80 {
                    let inside = range.contains(&i);
                    assert_eq!(to[i], if inside { wide[i] } else { 7.0 }, "{level:?} {range:?} {i}");
                    assert_eq!(back[i], if inside { halves[i] } else { f16::ONE }, "{level:?} {range:?} {i}");
                    let want = if inside { f16::from_f32(off[i]).to_f32() } else { off[i] };
                    assert_eq!(rounded[i], want, "{level:?} {range:?} {i}");
                }
            }
        }
    }
}
