//! Converts between float16 and float32 with the CPU's vector instructions.
//!
//! The instructions round to nearest even and give the same bits as `broadloom_math`'s conversions, except that the bits of NaNs
//! may differ. On x86-64 this holds in every floating-point environment: the rounding mode is part of the instruction,
//! flush-to-zero does not apply to it, and float32 values that denormals-are-zero would treat as 0 are rounded to 0 in float16
//! anyway. On aarch64 the instructions obey the control register, as all arithmetic does there, and are run under the IEEE
//! default ([`crate::FloatEnv`]).

use broadloom_math::{CastTo, Elem, Scalar, f16};

/// The number of elements that a call of [`Convert::widen`] or [`Convert::narrow`] converts.
pub const HALVES: usize = 16;

/// The float16 conversions of one instruction set. A value of a type that implements this trait proves that
/// the CPU supports the instructions: only [`with_conversions`] makes one, after checking, and passes it to
/// code that is compiled for them.
pub trait Convert: Copy {
    /// Converts each element to float32, which is exact.
    fn widen(self, x: &[f16; HALVES]) -> [f32; HALVES];
    /// Rounds each element to float16.
    fn narrow(self, x: [f32; HALVES]) -> [f16; HALVES];
}

/// A loop that converts elements from or to float16. It is compiled once for each instruction set, so every function that it
/// calls must be inlined into it.
pub trait WithConversions {
    /// Runs the loop.
    fn call<C: Convert>(self, convert: C);
}

/// Whether this target has instructions that convert several elements at once. Without them, the functions of this module convert
/// one element at a time, which is slow.
#[inline]
pub fn converts_halves() -> bool {
    level() != Level::One
}

/// Runs a loop with the fastest conversions that this CPU supports.
#[inline]
pub fn with_conversions(work: impl WithConversions) {
    run(level(), work);
}

/// Converts each element to float32, which is exact.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn widen_halves(from: &[f16], to: &mut [f32]) {
    assert_eq!(from.len(), to.len(), "elements to widen");
    run(level(), Widen(from, to));
}

/// Rounds each element to float16.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn narrow_halves(from: &[f32], to: &mut [f16]) {
    assert_eq!(from.len(), to.len(), "elements to narrow");
    run(level(), Narrow(from, to));
}

/// The instruction set that a loop uses to convert elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// No vector instructions: `broadloom_math`'s scalar conversion is called for one element at a time.
    One,
    /// NEON, four elements at a time.
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Four,
    /// F16C, eight elements at a time.
    #[cfg(target_arch = "x86_64")]
    Eight,
    /// AVX-512, sixteen elements at a time.
    #[cfg(target_arch = "x86_64")]
    Sixteen,
}

/// Defines a function that tells whether the CPU has all features of an instruction-set level. The list has
/// more features than the conversions need, since the whole loops around them are compiled with these
/// features.
#[cfg(target_arch = "x86_64")]
macro_rules! all_features {
    ($all:ident: $($feature:tt)*) => {
        fn $all() -> bool {
            $(is_x86_feature_detected!($feature))&&*
        }
    };
}
#[cfg(target_arch = "x86_64")]
all_features!(has_eight: "avx2" "fma" "f16c");
#[cfg(target_arch = "x86_64")]
all_features!(has_sixteen: "avx2" "fma" "avx512f" "avx512bw" "avx512dq" "avx512vl");

/// The level with the widest vectors that this CPU supports. The standard library caches the detection.
#[inline]
fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        if has_sixteen() {
            return Level::Sixteen;
        }
        if has_eight() {
            return Level::Eight;
        }
    }
    NARROWEST
}

/// The level that every CPU of this architecture supports.
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
const NARROWEST: Level = Level::Four;
#[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
const NARROWEST: Level = Level::One;

/// Runs a loop at a level that the target supports.
#[inline]
fn run(level: Level, work: impl WithConversions) {
    match level {
        Level::One => work.call(Alone),
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        Level::Four => work.call(aarch64::Four),
        // SAFETY: this level exists only if `has_eight` holds, which checks the same features.
        #[cfg(target_arch = "x86_64")]
        Level::Eight => unsafe { x86_64::eight(work) },
        // SAFETY: this level exists only if `has_sixteen` holds, which checks the same features.
        #[cfg(target_arch = "x86_64")]
        Level::Sixteen => unsafe { x86_64::sixteen(work) },
    }
}

/// Converts one element by `broadloom_math`'s scalar conversion.
fn one<T: CastTo<U>, U: Elem>(x: T) -> U {
    T::cast(&mut Scalar, x)
}

#[derive(Clone, Copy)]
struct Alone;

impl Convert for Alone {
    fn widen(self, x: &[f16; HALVES]) -> [f32; HALVES] {
        x.map(one)
    }
    fn narrow(self, x: [f32; HALVES]) -> [f16; HALVES] {
        x.map(one)
    }
}

struct Widen<'a>(&'a [f16], &'a mut [f32]);

impl WithConversions for Widen<'_> {
    #[inline(always)]
    fn call<C: Convert>(self, convert: C) {
        let (from, from_rest) = self.0.as_chunks::<HALVES>();
        let (to, to_rest) = self.1.as_chunks_mut::<HALVES>();
        for (from, to) in from.iter().zip(to) {
            *to = convert.widen(from);
        }
        if !from_rest.is_empty() {
            let mut rest = [f16::ZERO; HALVES];
            rest[..from_rest.len()].copy_from_slice(from_rest);
            to_rest.copy_from_slice(&convert.widen(&rest)[..to_rest.len()]);
        }
    }
}

struct Narrow<'a>(&'a [f32], &'a mut [f16]);

impl WithConversions for Narrow<'_> {
    #[inline(always)]
    fn call<C: Convert>(self, convert: C) {
        let (from, from_rest) = self.0.as_chunks::<HALVES>();
        let (to, to_rest) = self.1.as_chunks_mut::<HALVES>();
        for (from, to) in from.iter().zip(to) {
            *to = convert.narrow(*from);
        }
        if !from_rest.is_empty() {
            let mut rest = [0.0; HALVES];
            rest[..from_rest.len()].copy_from_slice(from_rest);
            to_rest.copy_from_slice(&convert.narrow(rest)[..to_rest.len()]);
        }
    }
}

/// The conversions for aarch64, by instructions that every aarch64 CPU has, with or without float16 arithmetic.
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod aarch64 {
    use std::arch::aarch64::{float32x4_t, uint16x8_t};
    use std::arch::asm;
    use std::mem::transmute;

    use broadloom_math::f16;

    use super::{Convert, HALVES};

    #[derive(Clone, Copy)]
    pub(super) struct Four;

    /// Widens eight float16 to two vectors of float32: the lower four and the upper four elements.
    #[inline(always)]
    fn widen(x: uint16x8_t) -> [float32x4_t; 2] {
        let (low, high);
        // SAFETY: the instructions read and write only these registers; every aarch64 has them.
        unsafe {
            asm!(
                "fcvtl {low:v}.4s, {x:v}.4h",
                "fcvtl2 {high:v}.4s, {x:v}.8h",
                x = in(vreg) x,
                low = out(vreg) low,
                high = lateout(vreg) high,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        [low, high]
    }

    /// Narrows two vectors of float32 to eight float16. The first vector becomes the lower four elements.
    #[inline(always)]
    fn narrow([low, high]: [float32x4_t; 2]) -> uint16x8_t {
        let x;
        // SAFETY: the instructions read and write only these registers; every aarch64 has them.
        unsafe {
            asm!(
                "fcvtn {x:v}.4h, {low:v}.4s",
                "fcvtn2 {x:v}.8h, {high:v}.4s",
                low = in(vreg) low,
                high = in(vreg) high,
                x = out(vreg) x,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        x
    }

    impl Convert for Four {
        #[inline(always)]
        fn widen(self, x: &[f16; HALVES]) -> [f32; HALVES] {
            // SAFETY: in each `transmute` the array and the vectors have the same size, 32 bytes as float16 and 64 bytes as
            // float32, and any bits are valid in each of them.
            unsafe {
                let [low, high] = transmute::<[f16; HALVES], [uint16x8_t; 2]>(*x);
                transmute::<[[float32x4_t; 2]; 2], [f32; HALVES]>([widen(low), widen(high)])
            }
        }
        #[inline(always)]
        fn narrow(self, x: [f32; HALVES]) -> [f16; HALVES] {
            // SAFETY: in each `transmute` both types have the same size, 64 bytes as float32 and 32 bytes as float16; any bits
            // are valid in each of them.
            unsafe {
                let [low, high] = transmute::<[f32; HALVES], [[float32x4_t; 2]; 2]>(x);
                transmute::<[uint16x8_t; 2], [f16; HALVES]>([narrow(low), narrow(high)])
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m128i, __m256, __m256i, __m512, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtph_ps, _mm256_cvtps_ph,
        _mm512_cvtph_ps, _mm512_cvtps_ph,
    };
    use std::mem::transmute;

    use broadloom_math::f16;

    use super::{Convert, HALVES, WithConversions};

    /// A proof that the code runs on a CPU with F16C, because only [`eight`] creates such a value.
    #[derive(Clone, Copy)]
    pub(super) struct Eight(());
    /// A proof that the code runs on a CPU with AVX-512F, because only [`sixteen`] creates such a value.
    #[derive(Clone, Copy)]
    pub(super) struct Sixteen(());

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn eight(work: impl WithConversions) {
        work.call(Eight(()));
    }

    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn sixteen(work: impl WithConversions) {
        work.call(Sixteen(()));
    }

    impl Convert for Eight {
        #[inline(always)]
        fn widen(self, x: &[f16; HALVES]) -> [f32; HALVES] {
            // SAFETY: `self` proves that the CPU has F16C. In each `transmute` both types have the same size, 32 bytes as
            // float16 and 64 bytes as float32, and any bits are valid in each of them.
            unsafe {
                let [low, high] = transmute::<[f16; HALVES], [__m128i; 2]>(*x);
                transmute::<[__m256; 2], [f32; HALVES]>([_mm256_cvtph_ps(low), _mm256_cvtph_ps(high)])
            }
        }
        #[inline(always)]
        fn narrow(self, x: [f32; HALVES]) -> [f16; HALVES] {
            // SAFETY: `self` proves that the CPU has F16C. In each `transmute` both types have the same size, 64 bytes as
            // float32 and 32 bytes as float16, and any bits are valid in each of them.
            unsafe {
                let [low, high] = transmute::<[f32; HALVES], [__m256; 2]>(x);
                let low = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(low);
                let high = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(high);
                transmute::<[__m128i; 2], [f16; HALVES]>([low, high])
            }
        }
    }

    impl Convert for Sixteen {
        #[inline(always)]
        fn widen(self, x: &[f16; HALVES]) -> [f32; HALVES] {
            // SAFETY: `self` proves that the CPU has AVX-512F. In each `transmute` both types have the same size, 32 bytes as
            // float16 and 64 bytes as float32, and any bits are valid in each of them.
            unsafe {
                let x = transmute::<[f16; HALVES], __m256i>(*x);
                transmute::<__m512, [f32; HALVES]>(_mm512_cvtph_ps(x))
            }
        }
        #[inline(always)]
        fn narrow(self, x: [f32; HALVES]) -> [f16; HALVES] {
            // SAFETY: `self` proves that the CPU has AVX-512F. In each `transmute` both types have the same size, 64 bytes as
            // float32 and 32 bytes as float16, and any bits are valid in each of them.
            unsafe {
                let x = transmute::<[f32; HALVES], __m512>(x);
                transmute::<__m256i, [f16; HALVES]>(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widen_by(level: Level, from: &[f16], to: &mut [f32]) {
        run(level, Widen(from, to));
    }

    fn narrow_by(level: Level, from: &[f32], to: &mut [f16]) {
        run(level, Narrow(from, to));
    }

    /// The vector levels that this target supports.
    fn levels() -> Vec<Level> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(has_eight().then_some(Level::Eight));
            levels.extend(has_sixteen().then_some(Level::Sixteen));
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        levels.push(Level::Four);
        levels
    }

    /// Panics unless each level narrows these elements to the same results as `broadloom_math`'s scalar conversion.
    fn narrows(from: &[f32]) {
        if levels().is_empty() {
            return;
        }
        let (mut want, mut got) = (vec![f16::ZERO; from.len()], vec![f16::ZERO; from.len()]);
        narrow_by(Level::One, from, &mut want);
        for level in levels() {
            narrow_by(level, from, &mut got);
            for i in 0..from.len() {
                let same = got[i].to_bits() == want[i].to_bits() || got[i].is_nan() && want[i].is_nan();
                assert!(same, "{level:?}: {:#x} becomes {:?}, not {:?}", from[i].to_bits(), got[i], want[i]);
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
        // Every float16, the midpoint between it and the next one, and the float32 values adjacent to both.
        for half in (0..0x7c01u16).step_by(64) {
            let from: Vec<f32> = (half..(half + 64).min(0x7c01))
                .flat_map(|half| {
                    let bits: f32 = one(f16::from_bits(half));
                    let next: f32 = one(f16::from_bits(half + 1));
                    // The largest float16 has no successor; 65536, which would be the next number, takes its
                    // place.
                    let next = if next.is_finite() { next } else { 65536.0 };
                    [bits, (bits + next) / 2.0]
                })
                .flat_map(|x| [x.to_bits().wrapping_sub(1), x.to_bits(), x.to_bits() + 1])
                .flat_map(|bits| [bits, bits | 1 << 31])
                .map(f32::from_bits)
                .collect();
            narrows(&from);
        }
        // Bit patterns spread over all of float32. They are multiples of an odd constant, so no two of them
        // are equal modulo 2^32.
        let from: Vec<f32> = (0..1 << 20).map(|i: u32| f32::from_bits(i.wrapping_mul(0x9e37_79b1))).collect();
        narrows(&from);
    }

    /// Tests one in 257 of the possible upper 16 bits of a float32, each with all values of the lower 16 bits. If
    /// `BROADLOOM_ALL_HALVES` is set, it tests every float32, which takes about forty seconds.
    #[test]
    fn every_float32_is_narrowed_as_it_is_defined() {
        let step = if std::env::var_os("BROADLOOM_ALL_HALVES").is_some() { 1 } else { 257 };
        for high in (0..=u16::MAX).step_by(step) {
            let from: Vec<f32> =
                (0..=u16::MAX).map(|low| f32::from_bits(u32::from(high) << 16 | u32::from(low))).collect();
            narrows(&from);
        }
    }

    #[test]
    fn every_length_is_converted_and_nothing_else() {
        let halves: Vec<f16> = (0..80).map(|i| f16::from_f32(i as f32 / 8.0 - 3.0)).collect();
        let wide: Vec<f32> = halves.iter().map(|x| x.to_f32()).collect();
        for level in levels().into_iter().chain([Level::One]) {
            for (start, n) in (0..3).flat_map(|start| (0..70).map(move |n| (start, n))) {
                let (mut to, mut back) = ([7.0f32; 80], [f16::ONE; 80]);
                let range = start..start + n;
                widen_by(level, &halves[range.clone()], &mut to[range.clone()]);
                narrow_by(level, &wide[range.clone()], &mut back[range.clone()]);
                for i in 0..80 {
                    let inside = range.contains(&i);
                    assert_eq!(to[i], if inside { wide[i] } else { 7.0 }, "{level:?} {range:?} {i}");
                    assert_eq!(back[i], if inside { halves[i] } else { f16::ONE }, "{level:?} {range:?} {i}");
                }
            }
        }
    }
}
