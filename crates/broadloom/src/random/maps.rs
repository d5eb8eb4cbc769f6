//! The distributions whose elements are functions of their bits alone.

use broadloom_core::draws::Draw;
use broadloom_core::{DType, Result};

use super::stream::{Stream, choose, float};
use crate::array::Array;

/// Uniform numbers: the upper bits as an integer, with half of a step added if 0 is to be left out.
pub(super) fn uniform<'a>(stream: &Stream<'a>, dtype: DType, is_open: bool) -> Result<Array<'a>> {
    // An integer of the dtype's precision converts exactly, as the sum with ½ does if the integer has a bit less.
    let (bits, width, precision, signed) = match dtype {
        DType::Float64 => (stream.bits64()?, 64, 53, DType::Int64),
        DType::Float32 => (stream.bits32()?, 32, 24, DType::Int32),
        _ => (stream.bits32()?, 32, 11, DType::Int32),
    };
    let kept = precision - i32::from(is_open);
    // Signed integers convert in fewer instructions, and the top bit is zero.
    let number = bits.bitwise_right_shift(width - kept).astype(signed).astype(dtype);
    let number = if is_open { number + 0.5 } else { number };
    Ok(number * 0.5_f64.powi(kept))
}

/// The bits of an element as a number below ½ and a sign.
pub(super) struct Tail<'a> {
    /// Whether the top bit is set.
    pub(super) is_negative: Array<'a>,
    /// (r + ½)/2ⁿ, with r of the n − 1 other bits.
    pub(super) p: Array<'a>,
}

impl<'a> Tail<'a> {
    pub(super) fn new(stream: &Stream<'a>, dtype: DType) -> Result<Tail<'a>> {
        match dtype {
            DType::Float64 => Ok(Tail::of_64_bits(&stream.bits64()?)),
            _ => {
                let bits = stream.bits32()?.astype(DType::Int32);
                let rest = bits.bitwise_and(i32::MAX).astype(DType::Float32);
                Ok(Tail { is_negative: bits.less(0), p: (rest + 0.5) * 0.5_f64.powi(32) })
            }
        }
    }

    /// The same of 64 bits.
    pub(super) fn of_64_bits(bits: &Array<'a>) -> Tail<'a> {
        let bits = bits.astype(DType::Int64);
        let rest = bits.bitwise_and(i64::MAX).astype(DType::Float64);
        Tail { is_negative: bits.less(0), p: (rest + 0.5) * 0.5_f64.powi(64) }
    }

    /// The quantile of p of a symmetric distribution where the element is negative, otherwise that of 1 − p.
    fn symmetric(&self, quantile: &Array<'a>) -> Result<Array<'a>> {
        choose(&self.is_negative, quantile, -quantile)
    }

    /// A variate of the standard normal distribution.
    pub(super) fn normal(&self) -> Result<Array<'a>> {
        self.symmetric(&self.p.ndtri())
    }
}

/// (b + ½)/2ⁿ for each element.
pub(super) fn open<'a>(stream: &Stream<'a>, dtype: DType) -> Result<Array<'a>> {
    match dtype {
        DType::Float64 => Ok(open_of_64_bits(&stream.bits64()?)),
        _ => Ok((stream.bits32()?.astype(DType::Float32) + 0.5) * 0.5_f64.powi(32)),
    }
}

/// (b + ½)/2⁶⁴.
pub(super) fn open_of_64_bits<'a>(bits: &Array<'a>) -> Array<'a> {
    (bits.astype(DType::Float64) + 0.5) * 0.5_f64.powi(64)
}

/// The distributions that are a function of one element's bits, without parameters.
pub(super) fn mapped<'a>(draw: Draw, stream: &Stream<'a>, dtype: DType) -> Result<Array<'a>> {
    if draw == Draw::Exponential {
        // The difference, since the negative of log(1) would be −0.
        return Ok(0.0 - open(stream, dtype)?.log());
    }
    let tail = Tail::new(stream, dtype)?;
    let p = &tail.p;
    Ok(match draw {
        Draw::Laplace => {
            let log = (p * 2.0).log();
            // The difference, as for the exponential distribution.
            choose(&tail.is_negative, &log, 0.0 - &log)?
        }
        Draw::Logistic => tail.symmetric(&(p.log() - (-p).log1p()))?,
        Draw::Gumbel => {
            let exponential = choose(&tail.is_negative, -p.log(), -(-p).log1p())?;
            -exponential.log()
        }
        Draw::Cauchy => tail.symmetric(&-(p * std::f64::consts::PI).tan().reciprocal())?,
        _ => tail.normal()?,
    })
}

/// The number of the first successful trial, float64: −1 where the probability is invalid.
pub(super) fn geometric<'a>(stream: &Stream<'a>, p: &Array<'a>) -> Result<Array<'a>> {
    let trials = (open(stream, DType::Float64)?.log() / (-p).log1p()).floor() + 1.0;
    let is_valid = p.greater_equal(0.0).logical_and(p.less_equal(1.0));
    choose(&is_valid, trials, float(-1.0))
}
