//! Workloads of quotients and products of integers.

use broadloom::DType;
use smallvec::smallvec;

use crate::column::{Cell, first, part};
use crate::loops::{divided, map2, map3, vectorized};
use crate::problem::{Expressions, Problem};

/// Maps random bits to any integer.
pub(super) fn integers(bits: u64) -> i32 {
    (bits >> 32) as i32
}

/// Maps random bits to an integer other than 0.
pub(super) fn divisors(bits: u64) -> i32 {
    match integers(bits) {
        0 => 1,
        x => x,
    }
}

pub(super) fn i32_floordiv(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].floor_divide(&x[1]), x[0].remainder(&x[1])];
    Problem::new(&[n], roots, |x, out, at| {
        let [quotients, rests] = out else { unreachable!("two results") };
        let (a, b) = (part::<i32>(&x[0], &at), part::<i32>(&x[1], &at));
        let each = i32::of_mut(quotients).iter_mut().zip(i32::of_mut(rests)).zip(a.iter().zip(b));
        vectorized(
            #[inline(always)]
            || each.for_each(|((q, r), (&a, &b))| (*q, *r) = divided(a, b)),
        );
    })
    .reads(&[n], integers)
    .reads(&[n], divisors)
    .writes::<i32>()
    .writes::<i32>()
}

pub(super) fn i32_divmod_sum(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].floor_divide(&x[1]) + x[0].remainder(&x[1])];
    Problem::new(&[n], roots, |x, out, at| {
        map2(part::<i32>(&x[0], &at), part::<i32>(&x[1], &at), first(out), move |a, b| {
            let (q, r) = divided(a, b);
            q.wrapping_add(r)
        })
    })
    .reads(&[n], integers)
    .reads(&[n], divisors)
    .writes::<i32>()
}

pub(super) fn u8_blend(n: usize) -> Problem {
    let roots: Expressions = |x| {
        let [a, b, w] = [0, 1, 2].map(|i| x[i].astype(DType::UInt16));
        smallvec![((a * &w + b * (255 - &w)).floor_divide(255)).astype(DType::UInt8)]
    };
    let any = |bits: u64| (bits >> 56) as u8;
    Problem::new(&[n], roots, |x, out, at| {
        let (a, b, w) = (part::<u8>(&x[0], &at), part::<u8>(&x[1], &at), part::<u8>(&x[2], &at));
        map3(a, b, w, first(out), move |a, b, w| {
            let [a, b, w] = [a, b, w].map(u16::from);
            // The dividend is at most 255 · 255, which is below 2^16.
            ((a * w + b * (255 - w)) / 255) as u8
        })
    })
    .reads::<u8>(&[n], any)
    .reads::<u8>(&[n], any)
    .reads::<u8>(&[n], any)
    .writes::<u8>()
}
