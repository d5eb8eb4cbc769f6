//! Means, variances and norms of a list of floats by their definitions, in the accumulator's arithmetic.

use broadloom_core::DType;

use super::numbers::FloatAccumulator;
use super::tree::canonical;

/// The canonical sum; +0 without elements.
pub fn sum<F: FloatAccumulator>(x: &[F]) -> F {
    canonical(x, &|a, b| a.add(*b)).unwrap_or(F::ZERO)
}

/// The sum divided by the number of elements.
pub fn mean<F: FloatAccumulator>(x: &[F]) -> F {
    sum(x).divide(F::count(x.len()))
}

/// The sum of squared differences from the mean, divided by the number of elements less the correction; NaN if that is not
/// positive.
pub fn variance<F: FloatAccumulator>(x: &[F], correction: f64) -> F {
    let mean = mean(x);
    let squares: Vec<F> = x.iter().map(|x| squared(x.subtract(mean))).collect();
    sum(&squares).divide(divisor(x.len(), correction))
}

fn squared<F: FloatAccumulator>(x: F) -> F {
    x.multiply(x)
}

/// The divisor: the number of elements less the correction, computed in float64 and rounded. NaN if it is not
/// positive.
fn divisor<F: FloatAccumulator>(n: usize, correction: f64) -> F {
    let left = n as f64 - correction;
    F::nearest(if left > 0.0 { left } else { f64::NAN })
}

/// The mean without NaNs, which count as +0 in the sum.
pub fn mean_of_numbers<F: FloatAccumulator>(x: &[F]) -> F {
    let numbers: Vec<F> = x.iter().map(|&x| if x.is_nan() { F::ZERO } else { x }).collect();
    sum(&numbers).divide(F::count(count_of_numbers(x)))
}

/// The variance without NaNs, which count as +0 in the sum of squares.
pub fn variance_of_numbers<F: FloatAccumulator>(x: &[F], correction: f64) -> F {
    let mean = mean_of_numbers(x);
    let square = |x: &F| if x.is_nan() { F::ZERO } else { squared(x.subtract(mean)) };
    let squares: Vec<F> = x.iter().map(square).collect();
    sum(&squares).divide(divisor(count_of_numbers(x), correction))
}

fn count_of_numbers<F: FloatAccumulator>(x: &[F]) -> usize {
    x.iter().filter(|x| !x.is_nan()).count()
}

/// The square root of the sum of squares. If that sum is infinite, or so small that squares may have lost digits, elements are
/// scaled by a power of two first, and the root is scaled back.
fn euclidean<F: FloatAccumulator>(x: &[F], of_float16: bool) -> F {
    let sum_of_squares = |x: &[F]| sum(&x.iter().map(|&x| squared(x)).collect::<Vec<F>>());
    let (down, up, least) = if F::DTYPE == DType::Float32 { (-70, 90, -60) } else { (-600, 600, -900) };
    let plain = sum_of_squares(x);
    let scale = match plain.exact() {
        _ if of_float16 => return plain.square_root(),
        sum if sum == f64::INFINITY => down,
        sum if sum < 2f64.powi(least) => up,
        _ => return plain.square_root(),
    };
    let power = |exponent: i32| F::nearest(2f64.powi(exponent));
    let scaled: Vec<F> = x.iter().map(|x| x.multiply(power(scale))).collect();
    sum_of_squares(&scaled).square_root().multiply(power(-scale))
}

/// The vector norm of an order.
pub fn norm<F: FloatAccumulator>(x: &[F], ord: f64, of_float16: bool) -> F {
    let magnitudes: Vec<F> = x.iter().map(|x| x.magnitude()).collect();
    if ord == 1.0 {
        return sum(&magnitudes);
    }
    if ord == 0.0 {
        return sum(&x.iter().map(|&x| if x == F::ZERO { F::ZERO } else { F::ONE }).collect::<Vec<F>>());
    }
    if ord == 2.0 {
        return euclidean(x, of_float16);
    }
    let powers: Vec<F> = magnitudes.iter().map(|x| x.power(F::nearest(ord))).collect();
    sum(&powers).power(F::nearest(1.0 / ord))
}
