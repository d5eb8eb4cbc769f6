//! Workloads of sums, products, comparisons and selections of elements.

use broadloom::prelude::*;
use half::slice::HalfFloatSliceExt;
use smallvec::smallvec;

use crate::column::{Cell, between, first, part};
use crate::float::Float;
use crate::loops::{iterated, map1, map2, map3};
use crate::problem::{Expressions, Problem};

/// The coefficients of the polynomial, highest power first.
const COEFFICIENTS: [f64; 11] = [0.3, -1.2, 0.7, 2.1, -0.4, 1.9, -2.3, 0.8, 1.1, -0.6, 0.25];
/// The factor of `f16_axpy`.
const FACTOR: f64 = 1.7;

pub(super) fn copy<T: Float>(n: usize) -> Problem {
    Problem::new(
        &[n],
        |x| smallvec![x[0].clone()],
        |x, out, at| {
            first::<T>(out).copy_from_slice(part(&x[0], &at));
        },
    )
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn add<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![&x[0] + &x[1]];
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| a + b)
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn triad<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![&x[0] * &x[1] + &x[2]];
    Problem::new(&[n], roots, move |x, out, at| {
        map3(
            part::<T>(&x[0], &at),
            part::<T>(&x[1], &at),
            part::<T>(&x[2], &at),
            first(out),
            move |a, b, c| a * b + c,
        )
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn ne_readme<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![2 * &x[0] + 3 * &x[1]];
    let [two, three] = [2.0, 3.0].map(T::nearest);
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| two * a + three * b)
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn ne_cmp<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![(&x[0] * &x[1] - 4.1 * &x[0]).greater(2.5 * &x[1])];
    let [p, q] = [4.1, 2.5].map(T::nearest);
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first::<u8>(out), move |a, b| {
            (a * b - p * a > q * b).into()
        })
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes_bools()
}

pub(super) fn poly10<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| {
        let [c10, c9, rest @ ..] = &COEFFICIENTS;
        smallvec![rest.iter().fold(*c10 * &x[0] + *c9, |sum, c| sum * &x[0] + *c)]
    };
    let coefficients = COEFFICIENTS.map(T::nearest);
    Problem::new(&[n], roots, move |x, out, at| {
        map1(part::<T>(&x[0], &at), first(out), move |a| {
            let mut sum = coefficients[0];
            for c in &coefficients[1..] {
                sum = sum * a + *c;
            }
            sum
        })
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn iter10<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![(0..10).fold(x[0].clone(), |z, _| &z * &z + &x[1])];
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| iterated(a, b))
    })
    .reads::<T>(&[n], between(-0.5, 0.5))
    .reads::<T>(&[n], between(-0.5, 0.5))
    .writes::<T>()
}

pub(super) fn masked_update<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![where_(&x[2], &x[0] + 0.1 * &x[1], &x[0])];
    let rate = T::nearest(0.1);
    Problem::new(&[n], roots, move |x, out, at| {
        let (a, b, m) = (part::<T>(&x[0], &at), part::<T>(&x[1], &at), part::<bool>(&x[2], &at));
        map3(a, b, m, first(out), move |a, b, m| if m { a + rate * b } else { a })
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<bool>(&[n], |bits| bits >> 63 == 1)
    .writes::<T>()
}

pub(super) fn mixed(n: usize) -> Problem {
    let roots: Expressions = |x| {
        let product = with_promotion(Promotion::NumPy, || &x[0] * &x[1]);
        smallvec![where_(x[2].not_equal(0), product, &x[1])]
    };
    Problem::new(&[n], roots, |x, out, at| {
        let (i, f, m) = (part::<i16>(&x[0], &at), part::<f32>(&x[1], &at), part::<u8>(&x[2], &at));
        map3(i, f, m, first(out), move |i, f, m| if m != 0 { f32::from(i) * f } else { f })
    })
    .reads::<i16>(&[n], |bits| (bits >> 48) as i16)
    .reads::<f32>(&[n], between(-1.0, 1.0))
    .reads::<u8>(&[n], |bits| (bits >> 63) as u8)
    .writes::<f32>()
}

/// An element type for which axpy is timed.
pub(super) trait Axpy: Cell {
    /// Computes out = [`FACTOR`]·x + y, rounded after each operation.
    fn axpy(x: &[Self], y: &[Self], out: &mut [Self]);
}

impl Axpy for f32 {
    fn axpy(x: &[f32], y: &[f32], out: &mut [f32]) {
        let factor = FACTOR as f32;
        map2(x, y, out, move |x, y| factor * x + y);
    }
}

impl Axpy for f16 {
    /// Converts slices to float32 and back, block by block, because the crate `half` vectorises only
    /// conversions of slices.
    fn axpy(x: &[f16], y: &[f16], out: &mut [f16]) {
        const BLOCK: usize = 256;
        let factor = f16::from_f64(FACTOR).to_f32();
        let (mut a, mut b, mut product) = ([0f32; BLOCK], [0f32; BLOCK], [f16::ZERO; BLOCK]);
        for ((x, y), out) in x.chunks(BLOCK).zip(y.chunks(BLOCK)).zip(out.chunks_mut(BLOCK)) {
            let n = x.len();
            let (a, b, product) = (&mut a[..n], &mut b[..n], &mut product[..n]);
            x.convert_to_f32_slice(a);
            a.iter_mut().for_each(|a| *a *= factor);
            product.convert_from_f32_slice(a);
            product.convert_to_f32_slice(a);
            y.convert_to_f32_slice(b);
            a.iter_mut().zip(&*b).for_each(|(a, b)| *a += b);
            out.convert_from_f32_slice(a);
        }
    }
}

pub(super) fn f16_axpy<T: Axpy>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![FACTOR * &x[0] + &x[1]];
    Problem::new(&[n], roots, |x, out, at| {
        T::axpy(part(&x[0], &at), part(&x[1], &at), first(out));
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}
