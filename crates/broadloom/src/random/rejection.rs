//! The distributions that take an element's bits again until they fit: attempt t of element i reads block i + 2⁴⁸·t.

use broadloom_core::{DType, Error, ErrorKind, Kind, Literal, Result, Scalar};

use super::maps::{Tail, open_of_64_bits};
use super::stream::{MAX_ELEMENTS, Stream, choose, float, word};
use crate::array::{Array, Leaf};
use crate::cond::try_cond;
use crate::expr;
use crate::weak::Number;
use crate::while_loop::try_while_loop;

/// The number of attempts. The last one is not used for rejection: its block has the uniform number of shapes below 1.
const ATTEMPTS: u64 = 1 << 15;

/// Repeats `attempt` for each element with the next block until it is accepted. An attempt returns whether it is rejected, and a
/// value of the dtype of `unused`, the value before the first attempt.
fn repeated<'a>(
    stream: &Stream<'a>,
    unused: Array<'a>,
    attempt: &dyn Fn(&Array<'a>) -> Result<[Array<'a>; 2]>,
) -> Result<Array<'a>> {
    let condition = |state: &[Array<'a>]| Ok(state[0].clone());
    let body = |state: &[Array<'a>]| {
        let [rejected, value] = attempt(&state[1])?;
        Ok(vec![rejected, &state[1] + MAX_ELEMENTS, value])
    };
    let state = [expr::constant(Scalar::of(true)), stream.attempt(&word(0_u64)), unused];
    Ok(try_while_loop(&condition, &body, &state, Some(ATTEMPTS - 1))?.swap_remove(2))
}

/// Uniform integers from `low` up to, but not including, `high`, of a dtype of integers.
///
/// D. Lemire, "Fast random integer generation in an interval", 2019: the upper half of the product of n random bits and the
/// number of integers, unless the lower half is among the first 2ⁿ mod the number.
pub(super) fn integers<'a>(
    stream: &Stream<'a>,
    low: &Array<'a>,
    high: &Array<'a>,
    dtype: DType,
) -> Result<Array<'a>> {
    let (low, count) = match (low.number(), high.number()) {
        (Some(low), Some(high)) => counted(low, high, dtype)?,
        _ => {
            let [low, high] = [("low", low), ("high", high)].map(|(what, x)| bound(stream, what, x));
            let (low, high) = (low?, high?);
            let is_short = low.dtype().size() <= 4 && high.dtype() == low.dtype();
            let count = high.astype(DType::UInt64) - low.astype(DType::UInt64);
            // An empty range becomes one of a single integer.
            let words = choose(&is_less(&low, &high)?, count, word(1_u64))?;
            (low, Count { of_32_bits: is_short, words })
        }
    };
    let offset = match count.of_32_bits {
        true => offset_32(stream, &count.words)?,
        false => {
            // The number of bits depends on the count, so that a draw of one count has the same bits whatever the dtype is.
            let is_short = count.words.try_subtract(1)?.less(1_u64 << 32);
            let of_short = choose(&is_short, &count.words, word(1_u64))?;
            let [short, long] = [offset_32(stream, &of_short)?, offset_64(stream, &count.words)?];
            choose(&is_short, short, long)?
        }
    };
    Ok((low.astype(DType::UInt64) + offset).astype(dtype))
}

/// A bound of integers in its own dtype; a number becomes int64, or uint64 if that is too narrow.
///
/// Errors: a bound that is no integer, or whose shape does not broadcast to that of the draw.
fn bound<'a>(stream: &Stream<'a>, what: &str, x: &Array<'a>) -> Result<Array<'a>> {
    let x = match x.number() {
        Some(number) => {
            let literal = number.literal();
            let fits = literal.to_dtype(DType::Int64).or_else(|_| literal.to_dtype(DType::UInt64));
            match (literal, fits) {
                (Literal::Int(_), Ok(value)) => expr::constant(value),
                _ => {
                    let why = format!("integers: the bound {literal} is not an integer of 64 bits");
                    return Err(Error::new(ErrorKind::Literal, why));
                }
            }
        }
        None if x.dtype().is_integer() => x.clone(),
        None => {
            let why = format!("integers: {what} is {}{}, not integers", x.dtype(), x.all_dims());
            return Err(Error::new(ErrorKind::DType, why));
        }
    };
    stream.parameter("integers", what, &x, x.dtype())
}

/// Whether an integer is less than another, which may have the other signedness.
fn is_less<'a>(x: &Array<'a>, y: &Array<'a>) -> Result<Array<'a>> {
    let [x_is_negative, y_is_negative] = [x, y].map(|x| match x.dtype().kind() {
        Kind::Signed => x.less(0),
        _ => expr::constant(Scalar::of(false)),
    });
    // Of two integers of one sign, the order is that of their bits.
    let by_bits = x.astype(DType::UInt64).less(y.astype(DType::UInt64));
    choose(&x_is_negative.not_equal(&y_is_negative), x_is_negative, by_bits)
}

/// The number of integers of a range, where 0 stands for 2⁶⁴.
struct Count<'a> {
    /// Whether the number is known to be at most 2³².
    of_32_bits: bool,
    words: Array<'a>,
}

/// The lower bound and the count of a range between numbers.
///
/// Errors: an empty range, and one that the dtype does not contain.
fn counted<'a>(low: Number, high: Number, dtype: DType) -> Result<(Array<'a>, Count<'a>)> {
    let integer = |x: Number| match x.literal() {
        Literal::Int(x) => Ok(x),
        other => {
            Err(Error::new(ErrorKind::Literal, format!("integers: the bound {other} is not an integer")))
        }
    };
    let (low, high) = (integer(low)?, integer(high)?);
    if low >= high {
        return Err(Error::new(
            ErrorKind::Literal,
            format!("integers: no integer is between {low} and {high}"),
        ));
    }
    for (bound, last) in [(low, low), (high, high - 1)] {
        Literal::Int(last).to_dtype(dtype).map_err(|_| {
            let why = format!("integers: the bound {bound} is beyond {dtype}");
            Error::new(ErrorKind::Literal, why)
        })?;
    }
    let count = high - low;
    let words = word(count as u64);
    Ok((expr::constant(Literal::Int(low).to_dtype(dtype)?), Count { of_32_bits: count <= 1 << 32, words }))
}

/// A uniform number below a count of at most 2³², from word 0 of the blocks.
fn offset_32<'a>(stream: &Stream<'a>, count: &Array<'a>) -> Result<Array<'a>> {
    const LOW: u64 = u32::MAX as u64;
    let biased = word(1_u64 << 32).try_subtract(count)?.try_remainder(count)?;
    let attempt = |block: &Array<'a>| {
        let product = stream.low(block)?.bitwise_and(LOW) * count;
        Ok([product.bitwise_and(LOW).less(&biased), product])
    };
    Ok(repeated(stream, word(0_u64), &attempt)?.bitwise_right_shift(32))
}

/// A uniform number below a count, where 0 stands for 2⁶⁴, from words 0 and 1 of the blocks.
fn offset_64<'a>(stream: &Stream<'a>, count: &Array<'a>) -> Result<Array<'a>> {
    let is_full = count.equal(0);
    let biased = word(0_u64).try_subtract(count)?.try_remainder(choose(&is_full, word(1_u64), count)?)?;
    let attempt = |block: &Array<'a>| {
        let bits = stream.low(block)?;
        let upper = choose(&is_full, &bits, upper_product(&bits, count))?;
        Ok([(&bits * count).less(&biased), upper])
    };
    repeated(stream, word(0_u64), &attempt)
}

/// The upper 64 bits of the product of two uint64, from the four products of their halves.
fn upper_product<'a>(x: &Array<'a>, y: &Array<'a>) -> Array<'a> {
    const LOW: u64 = u32::MAX as u64;
    let [x, y] = [x, y].map(|x| [x.bitwise_and(LOW), x.bitwise_right_shift(32)]);
    let middle = &x[1] * &y[0] + (&x[0] * &y[0]).bitwise_right_shift(32);
    let carried = middle.bitwise_and(LOW) + &x[0] * &y[1];
    &x[1] * &y[1] + middle.bitwise_right_shift(32) + carried.bitwise_right_shift(32)
}

/// A variate of the gamma distribution of scale 1, or its logarithm, float64. It is NaN for a negative shape or NaN.
///
/// G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", 2000: d·v with v = (1 + c·x)³ and a normal variate
/// x, accepted if v > 0 and log(u) < x²/2 + d − d·v + d·log(v). A shape a below 1 is drawn as a + 1, and multiplied by a uniform
/// number to the power 1/a.
pub(super) fn gamma<'a>(stream: &Stream<'a>, a: &Array<'a>, of_logarithm: bool) -> Result<Array<'a>> {
    // The rejection is of a valid shape. Other shapes are dealt with at the end.
    let is_valid = a.greater_equal(0.0).logical_and(a.less(f64::INFINITY));
    let valid = choose(&is_valid, a, float(1.0))?;
    let is_small = valid.less(1.0);
    let d = choose(&is_small, &valid + 1.0, &valid)? - 1.0 / 3.0;
    let c = (&d * 9.0).sqrt().reciprocal();
    let attempt = |block: &Array<'a>| {
        let x = Tail::of_64_bits(&stream.low(block)?).normal()?;
        let u = open_of_64_bits(&stream.high(block)?);
        let root = product(&c, &x)? + 1.0;
        let v = product(&root.square(), &root)?;
        let square = product(&x.square(), &float(0.5))?;
        let most = square + &d - product(&d, &v)? + product(&d, &v.log())?;
        // The logarithm of a negative v is NaN, and the comparison false.
        Ok([u.log().less(most).logical_not(), v])
    };
    let v = repeated(stream, float(0.0), &attempt)?;
    let last = stream.attempt(&word(ATTEMPTS - 1));
    let u = open_of_64_bits(&stream.low(&last)?);
    let variate = if of_logarithm {
        let boost = choose(&is_small, u.log() / &valid, float(0.0))?;
        (&d * &v).log() + boost
    } else {
        let boost = choose(&is_small, u.pow(valid.reciprocal()), float(1.0))?;
        product(&product(&d, &v)?, &boost)?
    };
    let other = choose(&a.equal(f64::INFINITY), float(f64::INFINITY), float(f64::NAN))?;
    choose(&is_valid, variate, other)
}

/// A variate of the Poisson distribution, float64: −1 where the mean is negative or NaN.
pub(super) fn poisson<'a>(stream: &Stream<'a>, mean: &Array<'a>) -> Result<Array<'a>> {
    let is_valid = mean.greater_equal(0.0);
    let is_small = mean.less(10.0);
    let small = || {
        let p = choose(&is_small.logical_and(&is_valid), mean, float(0.0))?;
        let next = |k: &Array<'a>, term: &Array<'a>| Ok(term * &p / k);
        inversion(stream, &(-&p).exp(), &next).map(|k| vec![k])
    };
    let large = || {
        let is_large = is_small.logical_not().logical_and(mean.less(f64::INFINITY));
        ptrs(stream, &choose(&is_large, mean, float(10.0))?).map(|k| vec![k])
    };
    let k = either(&is_small, mean, 10.0, &small, &large)?;
    let k = choose(&mean.equal(f64::INFINITY), mean, k)?;
    choose(&is_valid, k, float(-1.0))
}

/// The branch that is taken, if `mean` is a number, which decides it; else both, each for the elements that take it.
fn either<'a>(
    is_small: &Array<'a>,
    mean: &Array<'a>,
    bound: f64,
    small: &dyn Fn() -> Result<Vec<Array<'a>>>,
    large: &dyn Fn() -> Result<Vec<Array<'a>>>,
) -> Result<Array<'a>> {
    let mut values = match mean.leaf() {
        Some(Leaf::Const(x)) if f64::from_bits(x.bits) < bound => small()?,
        Some(Leaf::Const(_)) => large()?,
        _ => try_cond(is_small, small, large)?,
    };
    values.pop().ok_or_else(lost)
}

/// The number of terms after which an inversion ends. The means are below 10, and the sum of so many terms is 1.
const MAX_TERMS: u64 = 200;

/// The smallest k for which the sum of the first k + 1 probabilities is at least a uniform number. `first` is the probability of 0, and
/// `next` returns that of k from k and the one before.
fn inversion<'a>(
    stream: &Stream<'a>,
    first: &Array<'a>,
    next: &dyn Fn(&Array<'a>, &Array<'a>) -> Result<Array<'a>>,
) -> Result<Array<'a>> {
    let u = open_of_64_bits(&stream.low(&stream.number)?);
    // The rounded sum of all probabilities may stay below the number: it also ends where a term changes it no more.
    let condition =
        |state: &[Array<'a>]| Ok(state[2].less(&u).logical_and((&state[2] + &state[1]).not_equal(&state[2])));
    let body = |state: &[Array<'a>]| {
        let k = &state[0] + 1.0;
        let term = expr::uncontracted(&next(&k, &state[1])?)?;
        let sum = &state[2] + &term;
        Ok(vec![k, term, sum])
    };
    let state = [float(0.0), first.clone(), first.clone()];
    Ok(try_while_loop(&condition, &body, &state, Some(MAX_TERMS))?.swap_remove(0))
}

/// A variate of the Poisson distribution of a mean of at least 10, float64.
///
/// W. Hörmann, "The transformed rejection method for generating Poisson random variables", 1993: PTRS.
fn ptrs<'a>(stream: &Stream<'a>, mean: &Array<'a>) -> Result<Array<'a>> {
    let b = product(&mean.sqrt(), &float(2.53))? + 0.931;
    let a = product(&b, &float(0.02483))? - 0.059;
    let inverse_alpha = float(1.1328) / (&b - 3.4) + 1.1239;
    let v_r = 0.9277 - float(3.6224) / (&b - 2.0);
    let log_mean = mean.log();
    let attempt = |block: &Array<'a>| {
        let Hat { k, us, v } = Hat::new(stream, block, &a, &b, &(mean + 0.43))?;
        let bound = product(&k, &log_mean)? - mean - log_factorial(&k)?;
        let height = (&v * &inverse_alpha / (&a / us.square() + &b)).log();
        let is_inside = us.greater_equal(0.07).logical_and(v.less_equal(&v_r));
        let is_below = k.greater_equal(0.0).logical_and(height.less_equal(bound));
        Ok([is_inside.logical_or(is_below).logical_not(), k])
    };
    repeated(stream, float(0.0), &attempt)
}

/// An attempt of a transformed rejection: an integer under a hat, and what decides whether it is accepted.
struct Hat<'a> {
    k: Array<'a>,
    us: Array<'a>,
    v: Array<'a>,
}

impl<'a> Hat<'a> {
    fn new(
        stream: &Stream<'a>,
        block: &Array<'a>,
        a: &Array<'a>,
        b: &Array<'a>,
        center: &Array<'a>,
    ) -> Result<Hat<'a>> {
        let u = open_of_64_bits(&stream.low(block)?) - 0.5;
        let v = open_of_64_bits(&stream.high(block)?);
        let us = 0.5 - u.abs();
        let slope = a * 2.0 / &us + b;
        let k = (product(&slope, &u)? + center).floor();
        Ok(Hat { k, us, v })
    }
}

/// A variate of the binomial distribution, float64: −1 where the number of trials or the probability is invalid.
pub(super) fn binomial<'a>(stream: &Stream<'a>, n: &Array<'a>, p: &Array<'a>) -> Result<Array<'a>> {
    let is_count = n.greater_equal(0.0).logical_and(n.less(f64::INFINITY));
    let is_valid = is_count.logical_and(p.greater_equal(0.0)).logical_and(p.less_equal(1.0));
    // The less likely of both outcomes is counted.
    let is_swapped = p.greater(0.5);
    let q = choose(&is_valid, choose(&is_swapped, 1.0 - p, p)?, float(0.0))?;
    let n_valid = choose(&is_valid, n, float(0.0))?;
    let mean = product(&n_valid, &q)?;
    let is_small = mean.less(10.0);
    let small = || {
        let n = choose(&is_small, &n_valid, float(0.0))?;
        let odds = &q / (1.0 - &q);
        let next = |k: &Array<'a>, term: &Array<'a>| Ok(term * (&n - k + 1.0) / k * &odds);
        inversion(stream, &product(&n, &(-&q).log1p())?.exp(), &next).map(|k| vec![k])
    };
    let large = || {
        let [n, q] = [(&n_valid, 100.0), (&q, 0.5)].map(|(x, other)| choose(&is_small, float(other), x));
        btrs(stream, &n?, &q?).map(|k| vec![k])
    };
    let k = either(&is_small, &mean, 10.0, &small, &large)?.minimum(&n_valid);
    let k = choose(&is_swapped, &n_valid - &k, &k)?;
    choose(&is_valid, k, float(-1.0))
}

/// A variate of the binomial distribution where n·p is at least 10 and p at most ½, float64.
///
/// W. Hörmann, "The generation of binomial random variates", 1993: BTRS.
fn btrs<'a>(stream: &Stream<'a>, n: &Array<'a>, p: &Array<'a>) -> Result<Array<'a>> {
    let mean = product(n, p)?;
    let deviation = product(&mean, &(1.0 - p))?.sqrt();
    let b = product(&deviation, &float(2.53))? + 1.15;
    let a = product(&b, &float(0.0248))? + product(p, &float(0.01))? - 0.0873;
    let v_r = 0.92 - float(4.2) / &b;
    let alpha = product(&(float(5.1) / &b + 2.83), &deviation)?;
    let log_odds = (p / (1.0 - p)).log();
    let mode = product(&(n + 1.0), p)?.floor();
    let most = log_factorial(&mode)? + log_factorial(&(n - &mode))?;
    let attempt = |block: &Array<'a>| {
        let Hat { k, us, v } = Hat::new(stream, block, &a, &b, &(&mean + 0.5))?;
        let is_possible = k.greater_equal(0.0).logical_and(k.less_equal(n));
        let bound =
            &most - log_factorial(&k)? - log_factorial(&(n - &k))? + product(&(&k - &mode), &log_odds)?;
        let height = (&v * &alpha / (&a / us.square() + &b)).log();
        let is_inside = us.greater_equal(0.07).logical_and(v.less_equal(&v_r));
        let is_accepted = is_possible.logical_and(is_inside.logical_or(height.less_equal(bound)));
        Ok([is_accepted.logical_not(), k])
    };
    repeated(stream, float(0.0), &attempt)
}

/// log(k!) for k ≥ 0, with an absolute error of some 10⁻¹² for small k: Stirling's series of (k + 8)!, less the logarithm of the
/// factors that are too many.
fn log_factorial<'a>(k: &Array<'a>) -> Result<Array<'a>> {
    let mut factors = k + 1.0;
    for i in 2..=8 {
        factors *= k + f64::from(i);
    }
    let x = k + 9.0;
    let square = x.square().reciprocal();
    let mut series = float(-1.0 / 1680.0);
    for coefficient in [1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0] {
        series = product(&series, &square)? + coefficient;
    }
    let half_log_two_pi = 0.5 * (2.0 * std::f64::consts::PI).ln();
    Ok(product(&(&x - 0.5), &x.log())? - &x + half_log_two_pi + series / &x - factors.log())
}

/// A product that stays one if products that are added are contracted, so that the option changes no draw.
fn product<'a>(x: &Array<'a>, y: &Array<'a>) -> Result<Array<'a>> {
    expr::uncontracted(&(x * y))
}

fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a draw that has lost a value")
}
