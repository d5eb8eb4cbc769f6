//! Workloads of transcendental functions. Their plain loops call the standard library, so results may differ by some ulp.

use smallvec::smallvec;

use crate::column::{between, first, part};
use crate::float::Float;
use crate::loops::{map1, map2};
use crate::problem::{Expressions, Problem};

/// The exponent of `gamma`.
const GAMMA: f64 = 2.2;
/// The constants of `gelu` (Hendrycks and Gimpel, 2016): √(2/π), and the coefficient of the cube.
const GELU: [f64; 2] = [0.797_884_560_802_865_4, 0.044_715];

pub(super) fn sincos<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].sin().pow(2) + x[1].cos().pow(2)];
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| {
            let (s, c) = (a.sin(), b.cos());
            s * s + c * c
        })
    })
    .reads::<T>(&[n], between(-100.0, 100.0))
    .reads::<T>(&[n], between(-100.0, 100.0))
    .writes::<T>()
    .within(8)
}

pub(super) fn sigmoid<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![1 / (1 + (-&x[0]).exp())];
    let one = T::nearest(1.0);
    Problem::new(&[n], roots, move |x, out, at| {
        map1(part::<T>(&x[0], &at), first(out), move |a| one / (one + (-a).exp()))
    })
    .reads::<T>(&[n], between(-10.0, 10.0))
    .writes::<T>()
    .within(8)
}

pub(super) fn pow<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].pow(&x[1])];
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| a.powf(b))
    })
    .reads::<T>(&[n], between(0.1, 10.0))
    .reads::<T>(&[n], between(-10.0, 10.0))
    .writes::<T>()
    .within(4)
}

pub(super) fn gamma(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].pow(GAMMA)];
    Problem::new(&[n], roots, |x, out, at| {
        map1(part::<f32>(&x[0], &at), first(out), move |a| a.powf(GAMMA as f32))
    })
    .reads::<f32>(&[n], between(0.0, 1.0))
    .writes::<f32>()
    .within(2)
}

pub(super) fn softplus<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].exp().log1p()];
    Problem::new(&[n], roots, move |x, out, at| {
        map1(part::<T>(&x[0], &at), first(out), move |a| a.exp().ln_1p())
    })
    .reads::<T>(&[n], between(-10.0, 10.0))
    .writes::<T>()
    .within(8)
}

pub(super) fn gelu<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| {
        let cube = x[0].square() * &x[0];
        smallvec![0.5 * &x[0] * (1 + (GELU[0] * (&x[0] + GELU[1] * cube)).tanh())]
    };
    let [half, one] = [0.5, 1.0].map(T::nearest);
    let [scale, cubic] = GELU.map(T::nearest);
    Problem::new(&[n], roots, move |x, out, at| {
        map1(part::<T>(&x[0], &at), first(out), move |a| {
            half * a * (one + (scale * (a + cubic * (a * a * a))).tanh())
        })
    })
    // The inputs are at least −1. For smaller values, adding 1 to the tanh cancels, which amplifies an error in the
    // tanh's last bit.
    .reads::<T>(&[n], between(-1.0, 3.0))
    .writes::<T>()
    .within(16)
}

pub(super) fn logaddexp<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].logaddexp(&x[1])];
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| {
            let (more, less) = if a > b { (a, b) } else { (b, a) };
            more + (less - more).exp().ln_1p()
        })
    })
    // The inputs are positive, so that the terms of the plain formula don't cancel.
    .reads::<T>(&[n], between(0.0, 10.0))
    .reads::<T>(&[n], between(0.0, 10.0))
    .writes::<T>()
    .within(8)
}
