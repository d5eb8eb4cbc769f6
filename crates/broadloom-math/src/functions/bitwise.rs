//! Bitwise and logical functions, of integers and of bool, and shifts.

use crate::dtype::{Elem, Int};
use crate::functions::function;
use crate::ops::{Binary, Cmp, Ops, Unary};

function! {
    /// x1 & x2
    BitwiseAnd
    /// x1 | x2
    BitwiseOr
    /// x1 ^ x2
    BitwiseXor
    /// Each bit of x inverted; not, for bool
    BitwiseInvert
    /// x1 · 2^x2 in the bits that the dtype has; 0 for a count outside the width
    BitwiseLeftShift
    /// ⌊x1 / 2^x2⌋; for a count outside the width 0, or −1 for a negative x1
    BitwiseRightShift
    /// Whether both operands are true
    LogicalAnd
    /// Whether at least one operand is true
    LogicalOr
    /// Whether exactly one operand is true
    LogicalXor
    /// Whether the operand is false
    LogicalNot
}

macro_rules! bitwise {
    ($($name:ident $primitive:ident $on_masks:ident $logical:ident;)*) => {$(
        impl<T: Int> Binary<T> for $name {
            type Out = T;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
                o.$primitive(x1, x2)
            }
        }
        impl Binary<bool> for $name {
            type Out = bool;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<bool>, x2: O::V<bool>) -> O::V<bool> {
                <$logical as Binary<bool>>::call(o, x1, x2)
            }
        }
        impl Binary<bool> for $logical {
            type Out = bool;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<bool>, x2: O::V<bool>) -> O::V<bool> {
                let x1 = o.truth::<bool>(x1);
                let x2 = o.truth::<bool>(x2);
                let both = o.$on_masks::<bool>(x1, x2);
                o.boolean::<bool>(both)
            }
        }
    )*};
}
bitwise! {
    BitwiseAnd and mask_and LogicalAnd;
    BitwiseOr or mask_or LogicalOr;
    BitwiseXor xor mask_xor LogicalXor;
}

impl<T: Int> Unary<T> for BitwiseInvert {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<T> {
        let ones = o.splat(T::MINUS_ONE);
        o.xor(x, ones)
    }
}

impl Unary<bool> for BitwiseInvert {
    type Out = bool;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<bool>) -> O::V<bool> {
        LogicalNot::call(o, x)
    }
}

impl Unary<bool> for LogicalNot {
    type Out = bool;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<bool>) -> O::V<bool> {
        let x = o.truth::<bool>(x);
        let not = o.mask_not::<bool>(x);
        o.boolean::<bool>(not)
    }
}

/// Whether a shift count is from 0 to width − 1.
#[inline(always)]
fn in_width<O: Ops, T: Int>(o: &mut O, count: O::V<T>) -> O::M<T> {
    // A count is in range if and only if no bit from log2(width) on is set.
    let high = o.splat(T::wrap(-(T::WIDTH as i128)));
    let high = o.and(count, high);
    let zero = o.splat(T::ZERO);
    o.cmp(Cmp::Eq, high, zero)
}

impl<T: Int> Binary<T> for BitwiseLeftShift {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        let shifted = o.shl(x1, x2);
        let ok = in_width::<O, T>(o, x2);
        let zero = o.splat(T::ZERO);
        o.select(ok, shifted, zero)
    }
}

impl<T: Int> Binary<T> for BitwiseRightShift {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        let shifted = o.shr(x1, x2);
        let ok = in_width::<O, T>(o, x2);
        let outside = if T::SIGNED { o.shr_const(x1, T::WIDTH - 1) } else { o.splat(T::ZERO) };
        o.select(ok, shifted, outside)
    }
}

/// Selects `a` where a bool value is true, and `b` elsewhere.
#[inline(always)]
pub(crate) fn choose<O: Ops, T: Elem>(o: &mut O, condition: O::V<bool>, a: O::V<T>, b: O::V<T>) -> O::V<T> {
    let m = o.truth::<T>(condition);
    o.select(m, a, b)
}
