//! Random numbers as expressions: the same element from the same key everywhere, without memory and without state.
//!
//! A key is an array of four uint32 words, made by [`key`]. Element i of a draw is a function of the key and of i in C order, so
//! slices, chunks and threads see the numbers of the whole, and a draw takes no memory until it is evaluated. Two draws of one key
//! have the same bits: [`split`] makes independent keys. An array of keys draws for each of them.
//!
//! The bits are those of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): the first two words of
//! the key are Philox's key, the others the upper two words of its counter, whose lower two words number blocks. Element i of
//! 32 bits is word i mod 4 of block ⌊i/4⌋; one of 64 bits has words 2i, the low half, and 2i + 1. [`broadloom_core::draws`] has
//! the map from bits to each distribution.
//!
//! ```
//! use broadloom::prelude::*;
//! use broadloom::random;
//!
//! let key = random::key(20111115);
//! assert_eq!(random::bits(&key, &[10_000], DType::UInt32)?.to_vec::<u32>()?[9_999], 1955073260);
//!
//! // π by counting points in a quarter of a circle: a single loop, which stores no point.
//! let keys = random::split(&key, 2)?;
//! let [x, y] = [0, 1].map(|i| random::uniform(&keys.index_axis(0, i)?, &[100_000], DType::Float64));
//! let inside = (x?.square() + y?.square()).less(1).astype(DType::Float64);
//! let pi = 4.0 * inside.mean(())?;
//! assert!((pi.item::<f64>()? - std::f64::consts::PI).abs() < 0.01);
//! # Ok::<(), Error>(())
//! ```

mod choices;
mod maps;
mod rejection;
mod stream;

pub use choices::{choice, permutation, shuffle};

use broadloom_core::draws::{Draw, DrawCall};
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::figures::counted;

use crate::array::Array;
use crate::expr;
use crate::operand::IntoArray;
use crate::operators::located;
use stream::{CHILDREN, Stream, choose, float, word};

/// The key of a seed: its low and its high word, and two zeros.
///
/// ```
/// use broadloom::random;
///
/// assert_eq!(random::key(7 + (1 << 32)).to_vec::<u32>()?, [7, 1, 0, 0]);
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn key<'a>(seed: u64) -> Array<'a> {
    // An expression without memory, so that a kernel may contain it.
    let words = || -> Result<Array<'a>> {
        let number = expr::numbers(4)?;
        let high = choose(&number.equal(1), word((seed >> 32) as u32), word(0_u32))?;
        choose(&number.equal(0), word(seed as u32), high)
    };
    located(words())
}

/// Makes `n` independent keys, along a new axis before that of the words. Key j is the same however many are made.
///
/// # Errors
/// [`ErrorKind::DType`] for an array that is no key, [`ErrorKind::Limit`] for 2³² keys or more.
///
/// ```
/// use broadloom::random;
///
/// let key = random::key(1);
/// let (two, three) = (random::split(&key, 2)?, random::split(&key, 3)?);
/// assert_eq!(two.to_vec::<u32>()?, three.slice(..2)?.to_vec::<u32>()?);
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn split<'a>(key: &Array<'a>, n: usize) -> Result<Array<'a>> {
    const NAME: &str = "split";
    if n as u64 >> 32 != 0 {
        return Err(Error::new(ErrorKind::Limit, format!("{NAME}: {n} keys are more than 2^32 - 1")));
    }
    let stream = Stream::new(NAME, key, &[n, 4])?;
    stream.words(&(stream.number.bitwise_right_shift(2) + CHILDREN), &stream.number)
}

/// Makes a key from a key and numbers: one key for each number, with its words along a new last axis. The numbers are taken modulo
/// 2³².
///
/// # Errors
/// [`ErrorKind::DType`] for an array that is no key, and for numbers that are not integers.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::random;
///
/// let step = random::fold_in(&random::key(1), Array::from([3_u32, 4]))?;
/// assert_eq!(step.shape(), [2, 4]);
/// # Ok::<(), Error>(())
/// ```
pub fn fold_in<'a>(key: &Array<'a>, number: impl IntoArray<'a>) -> Result<Array<'a>> {
    const NAME: &str = "fold_in";
    let number = expr::typed(&number.into_array())?;
    if !number.dtype().is_integer() {
        let why = format!("{NAME}: the number is {}, not an integer", number.dtype());
        return Err(Error::new(ErrorKind::DType, why));
    }
    number.has_known_extents(NAME)?;
    let shape = [number.shape(), &[4]].concat();
    let stream = Stream::new(NAME, key, &shape)?;
    let number = number.astype(DType::UInt32).astype(DType::UInt64).expand_dims(-1)?;
    stream.words(&(number + (CHILDREN + (1 << 32))), &stream.number)
}

/// Draws elements of a distribution, for callers that know it only at run time. `parameters` are the arrays on which it depends, in
/// the order of [`Draw::parameters`]. The result has the axes of `key` without the last, and then those of the shape.
///
/// # Errors
/// [`ErrorKind::Arity`] for a wrong number of parameters; [`ErrorKind::DType`] for an array that is no key, bounds that are no
/// integers, and a dtype that the distribution does not have; [`ErrorKind::Shape`] for parameters that do not broadcast to the shape,
/// or whose extents are open; [`ErrorKind::Literal`] for an empty range of integers between numbers, and for bounds beyond the dtype;
/// [`ErrorKind::Limit`] for 2⁴⁸ elements or more.
pub fn draw<'a>(call: &DrawCall, key: &Array<'a>, parameters: &[Array<'a>]) -> Result<Array<'a>> {
    // The fields of a call may have been set one by one.
    let call = &DrawCall::new(call.draw, &call.shape, Some(call.dtype))?;
    let DrawCall { draw, dtype, .. } = *call;
    let name = draw.name();
    if parameters.len() != draw.operands() {
        let (takes, given) = (counted(draw.operands() as u64, "parameter"), parameters.len());
        return Err(Error::new(ErrorKind::Arity, format!("{name} takes {takes}, not {given}")));
    }
    let stream = Stream::new(name, key, &call.shape)?;
    let parameter = |at: usize| {
        // The parameters follow the key.
        let what = draw.parameters()[at + 1].name;
        stream.parameter(name, what, &parameters[at], DType::Float64)
    };
    let drawn = match draw {
        Draw::Bits if dtype == DType::UInt64 => stream.bits64()?,
        Draw::Bits => stream.bits32()?,
        Draw::Uniform | Draw::UniformOpen => maps::uniform(&stream, dtype, draw == Draw::UniformOpen)?,
        Draw::Integers => rejection::integers(&stream, &parameters[0], &parameters[1], dtype)?,
        Draw::Bernoulli => (stream.bits32()?.astype(DType::Float64) * 0.5_f64.powi(32)).less(parameter(0)?),
        Draw::LogNormal => {
            let sigma = parameter(0)?.astype(dtype);
            (sigma * maps::mapped(Draw::Normal, &stream, dtype)?).exp()
        }
        Draw::Gamma => rejection::gamma(&stream, &parameter(0)?, false)?,
        Draw::Beta => {
            // The logarithms of both variates are far apart, or near each other, where the variates underflow.
            let logarithm = |at: usize| -> Result<Array<'a>> {
                rejection::gamma(
                    &Stream::new(name, &part(key, at as u64)?, &call.shape)?,
                    &parameter(at)?,
                    true,
                )
            };
            ((logarithm(1)? - logarithm(0)?).exp() + 1.0).reciprocal()
        }
        Draw::ChiSquare => rejection::gamma(&stream, &(parameter(0)? * 0.5), false)? * 2.0,
        Draw::StudentT => {
            let normal = Stream::new(name, &part(key, 0)?, &call.shape)?;
            let normal = maps::mapped(Draw::Normal, &normal, DType::Float64)?;
            let half = parameter(0)? * 0.5;
            // By logarithms, since the variate underflows where the result may be finite.
            let gamma = rejection::gamma(&Stream::new(name, &part(key, 1)?, &call.shape)?, &half, true)?;
            let scale = ((half.log() - gamma) * 0.5).exp();
            normal * choose(&half.equal(f64::INFINITY), float(1.0), scale)?
        }
        Draw::Poisson => rejection::poisson(&stream, &parameter(0)?)?,
        Draw::Binomial => rejection::binomial(&stream, &parameter(0)?.floor(), &parameter(1)?)?,
        Draw::Geometric => maps::geometric(&stream, &parameter(0)?)?,
        _ => maps::mapped(draw, &stream, dtype)?,
    };
    stream.filled(expr::uncontracted(&drawn.astype(dtype))?)
}

/// The key of one of the variates that a draw combines. Its block is beyond those of [`split`] and [`fold_in`].
fn part<'a>(key: &Array<'a>, number: u64) -> Result<Array<'a>> {
    let stream = Stream::new("part", key, &[4])?;
    stream.words(&word(CHILDREN + (1 << 33) + number), &stream.number)
}

/// Generates a function from a row of the table of draws.
macro_rules! function {
    ($draw:ident $name:ident [$($parameter:ident),*] Bool $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// The errors of [`draw`].
        pub fn $name<'a>(key: &Array<'a>, $($parameter: impl IntoArray<'a>,)* shape: &[usize]) -> Result<Array<'a>> {
            draw(&DrawCall::new(Draw::$draw, shape, None)?, key, &[$($parameter.into_array()),*])
        }
    };
    ($draw:ident $name:ident [$($parameter:ident),*] $gives:ident $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// The errors of [`draw`], and [`ErrorKind::DType`] for a dtype that the distribution does not have.
        pub fn $name<'a>(
            key: &Array<'a>,
            $($parameter: impl IntoArray<'a>,)*
            shape: &[usize],
            dtype: DType,
        ) -> Result<Array<'a>> {
            draw(&DrawCall::new(Draw::$draw, shape, Some(dtype))?, key, &[$($parameter.into_array()),*])
        }
    };
}

macro_rules! functions {
    ($(($draw:ident, $name:ident, $parameters:tt, $gives:ident, $doc:literal))*) => {
        $(function!($draw $name $parameters $gives $doc);)*
    };
}
broadloom_core::for_each_draw!(functions);
