//! The binary operation of each reduction, for each dtype. Operands are of type [`Elem::Store`], the type of
//! elements in memory, so a bool is a byte.

use broadloom_math::functions::{Maximum, Minimum};
use broadloom_math::{Binary, Elem, Num, Scalar, f16};
use pulp::Simd;

/// A binary operation with which reductions and scans merge elements. For the minimum and maximum of floats
/// it has a fast path, whose result may be wrong for NaNs and for zeros of different signs; the fast path
/// also returns flags, which are set if the result may be wrong.
pub(crate) trait Combine<T: Elem>: Copy + 'static {
    /// The identity: merging it with an element, as the left or as the right operand, leaves that element unchanged.
    fn identity() -> T::Store;
    /// Applies the operation to two elements.
    fn pair(a: T::Store, b: T::Store) -> T::Store;
    /// A flag, which differs from its default if the result of the fast path may be wrong.
    type Flag: Copy + Default + PartialEq;
    /// Merges two flags: the result is set if any of them is set.
    fn or(a: Self::Flag, b: Self::Flag) -> Self::Flag;
    /// Applies the operation by the fast path. The result is right if no element is NaN ([`Combine::unordered`] detects a NaN)
    /// and at most one of them is a zero. If the second element is NaN, or the elements are equal, the fast path returns the
    /// second element.
    #[inline(always)]
    fn quick(a: T::Store, b: T::Store) -> T::Store {
        Self::pair(a, b)
    }
    /// The flag of an element: set if it is NaN.
    #[inline(always)]
    fn unordered(_: T::Store) -> Self::Flag {
        Self::Flag::default()
    }
    /// The flag of a result of the fast path: set if it may be a zero of the wrong sign.
    #[inline(always)]
    fn ambiguous(_: T::Store) -> Self::Flag {
        Self::Flag::default()
    }
    /// Reduces `eights`, which has eight lines of `N` elements per entry, and `line` to one line by the fast path, and writes it to
    /// `line`. Any lane of the line may receive any element. Returns whether the result may be wrong.
    #[inline(always)]
    fn quick_lines<S: Simd, const N: usize>(
        _: S,
        line: &mut [T::Store; N],
        eights: &[[[T::Store; N]; EIGHT]],
    ) -> bool {
        first_lane::<Self, T, N>(line, eights)
    }
    /// Converts a reduced element to the result that is stored: NaN becomes the canonical NaN.
    #[inline(always)]
    fn result(x: T::Store) -> T::Store {
        T::load(x).canonical().store()
    }
}

/// The number of lines of elements that are reduced in registers at a time.
pub(crate) const EIGHT: usize = 8;

/// Reduces all lines of `eights` and the first element of `line` to that element.
///
/// PERF: this is the form of a loop that LLVM vectorizes for every integer: several vectors of results, merged at the end. A loop
/// over the lanes of a line stays scalar.
#[inline(always)]
fn first_lane<F: Combine<T>, T: Elem, const N: usize>(
    line: &mut [T::Store; N],
    eights: &[[[T::Store; N]; EIGHT]],
) -> bool {
    line[0] = eights.as_flattened().as_flattened().iter().fold(line[0], |a, x| F::pair(a, *x));
    false
}

/// The operation of sums. Its identity is −0, because adding +0 to −0 would give +0.
#[derive(Clone, Copy)]
pub(crate) struct Sum;
/// The operation of products.
#[derive(Clone, Copy)]
pub(crate) struct Prod;
/// The operation of maxima.
#[derive(Clone, Copy)]
pub(crate) struct Max;
/// The operation of minima.
#[derive(Clone, Copy)]
pub(crate) struct Min;
/// The operation of `any`: the result is true if an operand is true.
#[derive(Clone, Copy)]
pub(crate) struct Any;
/// The operation of `all`: the result is true if both operands are true.
#[derive(Clone, Copy)]
pub(crate) struct All;

/// A type in which sums and products are computed.
pub(crate) trait Accumulator: Num + Elem<Store = Self> {
    /// The identity of sums: −0 for floats, 0 for integers.
    const NOTHING: Self;
}

impl Accumulator for f32 {
    const NOTHING: f32 = -0.0;
}

impl Accumulator for f64 {
    const NOTHING: f64 = -0.0;
}

impl Accumulator for i64 {
    const NOTHING: i64 = 0;
}

impl Accumulator for u64 {
    const NOTHING: u64 = 0;
}

impl<T: Accumulator> Combine<T> for Sum {
    type Flag = ();

    #[inline(always)]
    fn or(_: (), _: ()) {}
    #[inline(always)]
    fn identity() -> T {
        T::NOTHING
    }
    #[inline(always)]
    fn pair(a: T, b: T) -> T {
        a.plus(b)
    }
}

impl<T: Accumulator> Combine<T> for Prod {
    type Flag = ();

    #[inline(always)]
    fn or(_: (), _: ()) {}
    #[inline(always)]
    fn identity() -> T {
        T::ONE
    }
    #[inline(always)]
    fn pair(a: T, b: T) -> T {
        a.times(b)
    }
}

/// A type with a minimum and a maximum.
pub(crate) trait Bounded: Elem<Store = Self> {
    /// The identity of maxima: a value that is not greater than any element but NaN.
    const LOWEST: Self;
    /// The identity of minima: a value that is not less than any element but NaN.
    const HIGHEST: Self;
    /// The type of [`Combine::Flag`].
    type Flag: Copy + Default + PartialEq;
    /// Merges two flags, for [`Combine::or`].
    fn or(a: Self::Flag, b: Self::Flag) -> Self::Flag;
    /// The function `maximum`.
    fn maximum(self, other: Self) -> Self;
    /// The function `minimum`.
    fn minimum(self, other: Self) -> Self;
    /// This element if it is greater than `other`, otherwise `other`.
    #[inline(always)]
    fn if_greater(self, other: Self) -> Self {
        self.maximum(other)
    }
    /// This element if it is less than `other`, otherwise `other`.
    #[inline(always)]
    fn if_less(self, other: Self) -> Self {
        self.minimum(other)
    }
    /// Reduces elements to their maximum (if `MAXIMUM`) or minimum, as [`Combine::quick_lines`] does. Returns whether an element may
    /// be NaN, for which the result may be wrong. Zeros of either sign are treated as equal.
    #[inline(always)]
    fn extreme_lines<F: Combine<Self>, S: Simd, const N: usize, const MAXIMUM: bool>(
        _: S,
        line: &mut [Self; N],
        eights: &[[[Self; N]; EIGHT]],
    ) -> bool {
        first_lane::<F, Self, N>(line, eights)
    }
    /// A flag that is set if this element is NaN.
    #[inline(always)]
    fn unordered(self) -> Self::Flag {
        Self::Flag::default()
    }
    /// A flag that is set if this element is the zero of the given sign.
    #[inline(always)]
    fn is_zero(self, _negative: bool) -> Self::Flag {
        Self::Flag::default()
    }
}

macro_rules! bounded_integers {
    ($($t:ident)*) => {$(
        impl Bounded for $t {
            const LOWEST: $t = $t::MIN;
            const HIGHEST: $t = $t::MAX;
            type Flag = ();
            #[inline(always)]
            fn or(_: (), _: ()) {}
            #[inline(always)]
            fn maximum(self, other: $t) -> $t {
                self.max(other)
            }
            #[inline(always)]
            fn minimum(self, other: $t) -> $t {
                self.min(other)
            }
        }
    )*};
}
bounded_integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! bounded_floats {
    ($($t:ident $bits:ident $split:ident $split_mut:ident $splat:ident $add:ident $max:ident $min:ident;)*) => {$(
        impl Bounded for $t {
            const LOWEST: $t = $t::NEG_INFINITY;
            const HIGHEST: $t = $t::INFINITY;
            // A flag is as wide as an element, so that a vector of flags matches a vector of elements.
            type Flag = $bits;
            #[inline(always)]
            fn or(a: $bits, b: $bits) -> $bits {
                a | b
            }
            #[inline(always)]
            fn maximum(self, other: $t) -> $t {
                Maximum::call(&mut Scalar, self, other)
            }
            #[inline(always)]
            fn minimum(self, other: $t) -> $t {
                Minimum::call(&mut Scalar, self, other)
            }
            #[inline(always)]
            fn if_greater(self, other: $t) -> $t {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn if_less(self, other: $t) -> $t {
                if self < other { self } else { other }
            }
            // A NaN is found by adding all elements: if one of them is NaN, the sum is NaN. An addition for each element is
            // cheaper than a comparison, which would compete with the comparisons of the minimum or maximum. The sum is also NaN
            // if there are infinities of both signs, which only costs a second pass.
            #[inline(always)]
            fn extreme_lines<F: Combine<$t>, S: Simd, const N: usize, const MAXIMUM: bool>(
                simd: S,
                line: &mut [$t; N],
                eights: &[[[$t; N]; EIGHT]],
            ) -> bool {
                let vectors = S::$split(eights.as_flattened().as_flattened()).0;
                let mut sums = [0.0; N];
                let (extremes, sums_of) = (S::$split_mut(line).0, S::$split_mut(&mut sums).0);
                // All lanes of the line are reduced to one vector, since the order of elements does not matter.
                let (mut extreme, mut sum) = (extremes[0], simd.$splat(0.0));
                for vectors in vectors.as_chunks::<EIGHT>().0 {
                    let (mut x, mut s) = (*vectors, *vectors);
                    for step in [1, 2, 4] {
                        for i in (0..EIGHT).step_by(2 * step) {
                            s[i] = simd.$add(s[i], s[i + step]);
                            x[i] = match MAXIMUM {
                                true => simd.$max(x[i], x[i + step]),
                                false => simd.$min(x[i], x[i + step]),
                            };
                        }
                    }
                    sum = simd.$add(sum, s[0]);
                    extreme = match MAXIMUM {
                        true => simd.$max(x[0], extreme),
                        false => simd.$min(x[0], extreme),
                    };
                }
                (extremes[0], sums_of[0]) = (extreme, sum);
                sums.iter().fold(0, |any, sum| any | sum.unordered()) != 0
            }
            #[inline(always)]
            fn unordered(self) -> $bits {
                self.is_nan() as $bits
            }
            #[inline(always)]
            fn is_zero(self, negative: bool) -> $bits {
                let zero: $t = if negative { -0.0 } else { 0.0 };
                (self.to_bits() == zero.to_bits()) as $bits
            }
        }
    )*};
}
bounded_floats! {
    f32 u32 as_simd_f32s as_mut_simd_f32s splat_f32s add_f32s max_f32s min_f32s;
    f64 u64 as_simd_f64s as_mut_simd_f64s splat_f64s add_f64s max_f64s min_f64s;
}

/// Converts a float16 to an integer key. Keys are ordered like the numbers. A NaN becomes `nan`; [`half_of_key`] converts back.
#[inline(always)]
fn half_key(x: f16, nan: i16) -> i16 {
    let bits = x.to_bits() as i16;
    if bits & 0x7fff > 0x7c00 { nan } else { bits ^ ((bits >> 15) & 0x7fff) }
}

#[inline(always)]
fn half_of_key(key: i16) -> f16 {
    f16::from_bits((key ^ ((key >> 15) & 0x7fff)) as u16)
}

impl Bounded for f16 {
    const LOWEST: f16 = f16::NEG_INFINITY;
    const HIGHEST: f16 = f16::INFINITY;
    type Flag = ();
    #[inline(always)]
    fn or(_: (), _: ()) {}
    #[inline(always)]
    fn maximum(self, other: f16) -> f16 {
        half_of_key(half_key(self, i16::MAX).max(half_key(other, i16::MAX)))
    }
    #[inline(always)]
    fn minimum(self, other: f16) -> f16 {
        half_of_key(half_key(self, i16::MIN).min(half_key(other, i16::MIN)))
    }
    #[inline(always)]
    fn extreme_lines<F: Combine<f16>, S: Simd, const N: usize, const MAXIMUM: bool>(
        _: S,
        line: &mut [f16; N],
        eights: &[[[f16; N]; EIGHT]],
    ) -> bool {
        let nan = if MAXIMUM { i16::MAX } else { i16::MIN };
        let extreme = |a: i16, x: &f16| match MAXIMUM {
            true => a.max(half_key(*x, nan)),
            false => a.min(half_key(*x, nan)),
        };
        let key = eights.as_flattened().as_flattened().iter().fold(half_key(line[0], nan), extreme);
        line[0] = half_of_key(key);
        false
    }
}

macro_rules! extreme {
    ($name:ident $identity:ident $pair:ident $quick:ident $maximum:literal) => {
        impl<T: Bounded> Combine<T> for $name {
            type Flag = T::Flag;

            #[inline(always)]
            fn identity() -> T {
                T::$identity
            }
            #[inline(always)]
            fn pair(a: T, b: T) -> T {
                a.$pair(b)
            }
            #[inline(always)]
            fn or(a: T::Flag, b: T::Flag) -> T::Flag {
                T::or(a, b)
            }
            #[inline(always)]
            fn quick(a: T, b: T) -> T {
                a.$quick(b)
            }
            #[inline(always)]
            fn unordered(x: T) -> T::Flag {
                x.unordered()
            }
            #[inline(always)]
            fn ambiguous(x: T) -> T::Flag {
                x.is_zero($maximum)
            }
            #[inline(always)]
            fn quick_lines<S: Simd, const N: usize>(
                simd: S,
                line: &mut [T; N],
                eights: &[[[T; N]; EIGHT]],
            ) -> bool {
                let may_be_nan = T::extreme_lines::<$name, S, N, $maximum>(simd, line, eights);
                let wrong_zero = |any, x: &T| T::or(any, x.is_zero($maximum));
                may_be_nan | (line.iter().fold(T::Flag::default(), wrong_zero) != T::Flag::default())
            }
        }
    };
}
// A maximum of zeros is +0 unless all of them are −0, so if the fast path returns −0, a +0 may have been lost. For a minimum the
// signs are exchanged.
extreme!(Max LOWEST maximum if_greater true);
extreme!(Min HIGHEST minimum if_less false);

impl Combine<bool> for Any {
    type Flag = ();

    #[inline(always)]
    fn or(_: (), _: ()) {}
    #[inline(always)]
    fn identity() -> u8 {
        0
    }
    #[inline(always)]
    fn pair(a: u8, b: u8) -> u8 {
        a | b
    }
    #[inline(always)]
    fn result(x: u8) -> u8 {
        (x != 0) as u8
    }
}

impl Combine<bool> for All {
    type Flag = ();

    #[inline(always)]
    fn or(_: (), _: ()) {}
    #[inline(always)]
    fn identity() -> u8 {
        1
    }
    #[inline(always)]
    fn pair(a: u8, b: u8) -> u8 {
        ((a != 0) & (b != 0)) as u8
    }
    #[inline(always)]
    fn quick_lines<S: Simd, const N: usize>(_: S, line: &mut [u8; N], eights: &[[[u8; N]; EIGHT]]) -> bool {
        let elements = eights.as_flattened().as_flattened();
        line[0] = elements.iter().fold((line[0] != 0) as u8, |a, x| a & (*x != 0) as u8);
        false
    }
}
