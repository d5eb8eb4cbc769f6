//! Permutations and choices, which sort or search random words. The values of choices are computed.

use broadloom_core::{DType, Error, ErrorKind, Result};

use crate::array::Array;
use crate::evaluation::Evaluation;
use crate::expr;
use crate::random;
use crate::random::stream::{choose, float};

/// The numbers from 0 to `n` − 1 in a random order, int64: the [`argsort`](Array::argsort) of `n` random words of 64 bits. An array
/// of keys has a permutation for each of them.
///
/// # Errors
/// [`ErrorKind::DType`] for an array that is no key.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::random;
///
/// let order = random::permutation(&random::key(1), 5)?;
/// assert_eq!(order.sort(0, false)?.to_vec::<i64>()?, [0, 1, 2, 3, 4]);
/// # Ok::<(), Error>(())
/// ```
pub fn permutation<'a>(key: &Array<'a>, n: usize) -> Result<Array<'a>> {
    random::bits(key, &[n], DType::UInt64)?.argsort(-1, false)
}

/// The elements of an array in a random order along an axis: rows stay together. The order is that of [`permutation`].
///
/// # Errors
/// [`ErrorKind::Shape`] for an axis that does not exist, and the errors of [`permutation`].
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::random;
///
/// let (key, x) = (random::key(1), Array::from([[1, 2], [3, 4], [5, 6]]));
/// let shuffled = random::shuffle(&key, &x, 0)?;
/// assert_eq!(shuffled.to_vec::<i32>()?, x.take(&random::permutation(&key, 3)?, 0)?.to_vec::<i32>()?);
/// # Ok::<(), Error>(())
/// ```
pub fn shuffle<'a>(key: &Array<'a>, x: &Array<'a>, axis: isize) -> Result<Array<'a>> {
    let x = expr::typed(x)?;
    x.has_known_extents("shuffle")?;
    let axis = x.axis("shuffle", axis)?;
    x.take(&permutation(key, x.shape()[axis])?, axis as isize)
}

/// Indices below `n` that are chosen at random, int64, with or without replacement, each as probable as the others or by weights.
/// The elements of an array are `x.take(&indices, axis)`. Computes the values.
///
/// `weights` are `n` numbers that are not negative, in any unit; they are converted to float64. `docs/random.md` has the map from bits
/// to choices.
///
/// # Errors
/// [`ErrorKind::DType`] for an array that is no key; [`ErrorKind::Shape`] for weights of another shape, and if there are fewer
/// indices, or positive weights, than are to be chosen; [`ErrorKind::Literal`] for a weight that is negative or NaN, and for weights
/// whose sum is 0 or infinite; the errors of [`Evaluation::eval`].
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::random;
///
/// let weights = Array::from([0.0, 2.0, 0.0, 1.0]);
/// let chosen = random::choice(&random::key(3), 4, &[100], true, Some(&weights))?.to_vec::<i64>()?;
/// assert!(chosen.iter().all(|i| [1, 3].contains(i)));
/// # Ok::<(), Error>(())
/// ```
pub fn choice(
    key: &Array<'_>,
    n: usize,
    shape: &[usize],
    replace: bool,
    weights: Option<&Array<'_>>,
) -> Result<Array<'static>> {
    Evaluation::default().choice(key, n, shape, replace, weights)
}

impl Evaluation<'_> {
    /// [`random::choice`](choice) in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`random::choice`](choice).
    pub fn choice(
        &self,
        key: &Array<'_>,
        n: usize,
        shape: &[usize],
        replace: bool,
        weights: Option<&Array<'_>>,
    ) -> Result<Array<'static>> {
        let count = shape.iter().fold(1_usize, |count, &extent| count.saturating_mul(extent));
        let weights = weights.map(|weights| Weights::of(self, weights, n)).transpose()?;
        let most = weights.as_ref().map_or(n, |weights| weights.positive);
        if count > 0 && (if replace { n == 0 } else { count > most }) {
            let what = if weights.is_some() { "positive weights" } else { "elements" };
            let why = format!("choice: {count} of {most} {what}{}", if replace { "" } else { ", each once" });
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let run = self.run(n.saturating_add(count), n);
        match (replace, weights) {
            (true, _) if count == 0 => {
                run.part(|part| part.eval(&random::bits(key, shape, DType::UInt64)?.astype(DType::Int64)))
            }
            (true, None) => {
                run.part(|part| part.eval(&random::integers(key, 0_i64, n as i64, shape, DType::Int64)?))
            }
            (true, Some(weights)) => {
                let sums = Array::from_vec(weights.sums);
                let at = random::uniform(key, shape, DType::Float64)? * sums.index_axis(0, -1)?;
                let places = sums.searchsorted(&at, true)?;
                run.part(|part| part.eval(&places.try_minimum(weights.last)?))
            }
            (false, weights) => {
                let order = match &weights {
                    None => random::bits(key, &[n], DType::UInt64)?,
                    Some(Weights { values, .. }) => {
                        let time = random::exponential(key, &[n], DType::Float64)? / values;
                        choose(&values.greater(0.0), time, float(f64::NAN))?
                    }
                };
                let first = run.part(|part| part.eval(&order.topk(count, -1, false)?.1))?;
                let keys = &key.shape()[..key.rank() - 1];
                let extents: Vec<isize> = keys.iter().chain(shape).map(|&extent| extent as isize).collect();
                first.reshape(&extents)
            }
        }
    }
}

/// The weights of a choice.
struct Weights {
    /// The weights as float64, times the power of two for which the greatest is from 1 to 2. So their quotients and products do
    /// not lose digits, whatever their unit is.
    values: Array<'static>,
    /// The sum of the weights up to each one. They never decrease, which sums in the canonical order might.
    sums: Vec<f64>,
    /// The number of weights that are not 0.
    positive: usize,
    /// The index of the last of them.
    last: i64,
}

impl Weights {
    fn of(evaluation: &Evaluation<'_>, weights: &Array<'_>, n: usize) -> Result<Weights> {
        weights.has_known_extents("choice")?;
        if weights.shape() != [n] {
            let why = format!("choice: the weights are {}, expected [{n}]", weights.all_dims());
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let mut numbers = evaluation.eval(&weights.astype(DType::Float64))?.to_vec::<f64>()?;
        if let Some(index) = numbers.iter().position(|weight| weight.is_nan() || *weight < 0.0) {
            let why = format!("choice: weight {index} is {}", numbers[index]);
            return Err(Error::new(ErrorKind::Literal, why).with_help("weights are numbers from 0 on"));
        }
        let positive = numbers.iter().filter(|&&weight| weight > 0.0).count();
        let last = numbers.iter().rposition(|&weight| weight > 0.0).unwrap_or(0) as i64;
        let sum: f64 = numbers.iter().sum();
        if n > 0 && !(sum > 0.0 && sum < f64::INFINITY) {
            return Err(Error::new(ErrorKind::Literal, format!("choice: the sum of the weights is {sum}")));
        }
        in_unit(&mut numbers);
        let mut sum = 0.0;
        let add = |weight: &f64| {
            sum += weight;
            sum
        };
        let sums = numbers.iter().map(add).collect();
        Ok(Weights { values: Array::from_vec(numbers), sums, positive, last })
    }
}

/// Multiplies weights by the power of two for which the greatest is from 1 to 2. A positive one stays positive.
fn in_unit(weights: &mut [f64]) {
    const STEP: f64 = (1_u64 << 52) as f64;
    let mut scale = |factor: f64| {
        let scaled =
            |weight: f64| if weight > 0.0 { (weight * factor).max(f64::from_bits(1)) } else { weight };
        weights.iter_mut().for_each(|weight| *weight = scaled(*weight));
        weights.iter().copied().fold(0.0, f64::max)
    };
    let mut greatest = scale(1.0);
    while greatest > 0.0 && greatest < 1.0 / STEP {
        greatest = scale(STEP);
    }
    if greatest > 0.0 && greatest < f64::INFINITY {
        // The greatest is a normal number now, whose exponent is in these bits.
        let exponent = (greatest.to_bits() >> 52) as i32 - 1023;
        scale(2f64.powi(-exponent));
    }
}
