//! Sums, differences, products, and functions composed of them.

use crate::dtype::{Float, Num, f16};
use crate::functions::compare::magnitude;
use crate::functions::{HalfTernary, declare_half_path, function, narrow, through_float32, widen};
use crate::ops::{Binary, Cmp, Ops, Ternary, Unary};

function! {
    /// x1 + x2
    Add
    /// x1 − x2
    Subtract
    /// x1 · x2
    Multiply
    /// x1 · x2 + x3, rounded once
    Fma
    /// x · x
    Square
    /// 1 / x
    Reciprocal
    /// √x, correctly rounded
    Sqrt
    /// x
    Positive
}

impl<T: Num> Binary<T> for Add {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        o.add(x1, x2)
    }
}

impl<T: Num> Binary<T> for Subtract {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        o.sub(x1, x2)
    }
}

impl<T: Num> Binary<T> for Multiply {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        o.mul(x1, x2)
    }
}
through_float32!(binary Add Subtract Multiply);

impl<T: Float> Ternary<T> for Fma {
    type First = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>, x3: O::V<T>) -> O::V<T> {
        o.fma(x1, x2, x3)
    }
}

impl Ternary<f16> for Fma {
    type First = f16;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<f16>, x2: O::V<f16>, x3: O::V<f16>) -> O::V<f16> {
        let [x1, x2, x3] = [x1, x2, x3].map(|x| widen(o, x));
        let y = Fma::wide(o, x1, x2, x3);
        narrow(o, y)
    }
}
declare_half_path!(Short: Fma);

impl HalfTernary for Fma {
    /// The float32 sum rounded to odd. Rounding it to float16 gives the correctly rounded result; see `to_odd`.
    ///
    /// The product of two float16 is exact in float32: it has at most 22 bits and is a multiple of 2^-48. The rounding
    /// error of the sum is exact as well, since nothing overflows or underflows (D. Knuth, The Art of Computer
    /// Programming, volume 2, 4.2.2, theorem B).
    #[inline(always)]
    fn wide<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>, x3: O::V<f32>) -> O::V<f32> {
        let product = o.mul(x1, x2);
        let sum = o.add(product, x3);
        let (of_x3, zero, one) = (o.sub(sum, product), o.splat(0f32), o.splat(1u32));
        let of_product = o.sub(sum, of_x3);
        let (lost_x3, lost_product) = (o.sub(x3, of_x3), o.sub(product, of_product));
        let lost = o.add(lost_x3, lost_product);
        // If the sum is infinite or NaN, it is left unchanged: its rounding error is NaN, which compares
        // neither above nor below 0.
        let (above, below) = (o.cmp(Cmp::Gt, lost, zero), o.cmp(Cmp::Lt, lost, zero));
        let is_inexact = o.mask_or::<f32>(above, below);
        let is_inexact = o.mask_resize::<f32, u32>(is_inexact);
        // The exact sum lies between two adjacent floats: `sum` and, depending on whether the rounding error has the
        // sign of the sum, the next float of larger or smaller magnitude. Of the two, the one with odd bits is
        // selected.
        let (bits, lost) = (o.bits::<f32>(sum), o.bits::<f32>(lost));
        let signs = o.xor(bits, lost);
        let is_opposite = o.shr_const(signs, 31);
        let odd = o.sub(bits, is_opposite);
        let odd = o.or(odd, one);
        let odd = o.select(is_inexact, odd, bits);
        o.of_bits::<f32>(odd)
    }
}

impl<T: Num> Unary<T> for Square {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<T> {
        o.mul(x, x)
    }
}

impl<T: Float> Unary<T> for Reciprocal {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<T> {
        let one = o.splat(T::ONE);
        o.div(one, x)
    }
}

impl<T: Float> Unary<T> for Sqrt {
    type Out = T;
    /// The square root, with the canonical NaN in place of every other NaN. The replacement tests the bits of
    /// the root and takes no time compared with the root itself. In the executors' loops, LLVM would remove a
    /// selection by `isnan(√x)`, because it does not distinguish NaNs, but it keeps a selection by bits.
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<T> {
        let root = o.sqrt(x);
        let size = magnitude::<O, T>(o, root);
        let infinity = o.splat(T::INFINITY);
        let is_nan = o.cmp(Cmp::Gt, size, infinity);
        let is_nan = o.mask_resize::<T::Bits, T>(is_nan);
        let nan = o.splat(T::of_bits(T::NAN));
        o.select(is_nan, nan, root)
    }
}
through_float32!(unary Square Reciprocal Sqrt);
declare_half_path!(Own: Positive);

impl<T: crate::Elem> Unary<T> for Positive {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(_: &mut O, x: O::V<T>) -> O::V<T> {
        x
    }
}
