//! Means, variances and norms of one list of floats, as their definitions read, in the accumulator's arithmetic.

use super::numbers::Float;
use super::tree::canonical;

/// The canonical sum; +0 of nothing.
pub fn sum<F: Float>(x: &[F]) -> F {
    canonical(x, &|a, b| a.add(*b)).unwrap_or(F::ZERO)
}

/// The sum divided by the number of elements.
pub fn mean<F: Float>(x: &[F]) -> F {
    sum(x).divide(F::count(x.len()))
}

/// The sum of the squared differences from the mean, divided by the number of elements less the correction; NaN where
/// that is not positive.
pub fn variance<F: Float>(x: &[F], correction: f64) -> F {
    let mean = mean(x);
    let square = |x: &F| {
        let difference = x.subtract(mean);
        difference.multiply(difference)
    };
    let squares: Vec<F> = x.iter().map(square).collect();
    let divisor = F::count(x.len()).subtract(F::nearest(correction));
    if divisor > F::ZERO { sum(&squares).divide(divisor) } else { F::nearest(f64::NAN) }
}

/// The elements that are no NaN.
pub fn numbers<F: Float>(x: &[F]) -> Vec<F> {
    x.iter().copied().filter(|x| !x.is_nan()).collect()
}

/// The norm of an order.
pub fn norm<F: Float>(x: &[F], ord: f64) -> F {
    let magnitudes: Vec<F> = x.iter().map(|x| x.magnitude()).collect();
    if ord == 1.0 {
        return sum(&magnitudes);
    }
    if ord == 0.0 {
        return sum(&x.iter().map(|&x| if x == F::ZERO { F::ZERO } else { F::ONE }).collect::<Vec<F>>());
    }
    if ord == 2.0 {
        return sum(&x.iter().map(|x| x.multiply(*x)).collect::<Vec<F>>()).square_root();
    }
    let powers: Vec<F> = magnitudes.iter().map(|x| x.power(F::nearest(ord))).collect();
    sum(&powers).power(F::nearest(1.0 / ord))
}
