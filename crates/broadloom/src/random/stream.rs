//! The words of a key's stream, as expressions.

use broadloom_core::{DType, Error, ErrorKind, Op, Result, Scalar};
use broadloom_math::Elem;
use smallvec::smallvec;

use crate::array::Array;
use crate::expr;
use crate::operand::IntoArray;

/// The number of elements from which on attempts of two elements would read one block: attempt t of element i reads i + 2⁴⁸·t.
pub(super) const MAX_ELEMENTS: u64 = 1 << 48;

/// The block from which on the children of keys are read.
pub(super) const CHILDREN: u64 = 1 << 63;

/// The blocks of a key, or of an array of keys, with the number of each element of a draw.
pub(super) struct Stream<'a> {
    /// The two words of the key, with axes of extent 1 for those of the draw.
    key: Array<'a>,
    /// The upper two words of the counter, with the same axes.
    upper: Array<'a>,
    /// The key as it was given, if it is a single one.
    single: Option<Array<'a>>,
    /// The number of each element in C order, uint64.
    pub(super) number: Array<'a>,
    /// The extents of the draw, after those of the keys.
    pub(super) shape: Vec<usize>,
}

impl<'a> Stream<'a> {
    /// The stream of a key for a draw of this shape.
    ///
    /// Errors: a key that is no array of uint32 with four words along the last axis; too many axes or elements.
    pub(super) fn new(name: &str, key: &Array<'a>, shape: &[usize]) -> Result<Stream<'a>> {
        let dims = key.all_dims();
        if key.dtype() != DType::UInt32 || key.dims().is_some() || key.shape().last() != Some(&4) {
            let why = format!("{name}: the key is {}{dims}, not uint32[4]", key.dtype());
            let help =
                "make it with `key(seed)`; an array of keys has the four words of each along its last axis";
            return Err(Error::new(ErrorKind::DType, why).with_help(help));
        }
        let elements = shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
        let elements = elements.filter(|&n| (n as u64) < MAX_ELEMENTS).ok_or_else(|| {
            let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
            let why = format!("{name}: [{}] has 2^48 elements or more", extents.join(","));
            Error::new(ErrorKind::Limit, why)
        })?;
        let keys = &key.shape()[..key.rank() - 1];
        let axes: Vec<isize> = keys.iter().map(|&n| n as isize).chain(shape.iter().map(|_| 1)).collect();
        let pair = |at: isize| -> Result<Array<'a>> {
            let [low, high] = [at, at + 1].map(|word| key.index_axis(-1, word));
            let [low, high] = [low?, high?].map(|word| word.astype(DType::UInt64));
            (low + high * (1_u64 << 32)).reshape(&axes)
        };
        let extents: Vec<isize> = shape.iter().map(|&n| n as isize).collect();
        let number = expr::numbers(elements)?.reshape(&extents)?.astype(DType::UInt64);
        let single = keys.is_empty().then(|| key.clone());
        let shape = [keys, shape].concat();
        Ok(Stream { key: pair(0)?, upper: pair(2)?, single, number, shape })
    }

    /// Words 0 and 1 of these blocks, word 0 in the low half.
    pub(super) fn low(&self, block: &Array<'a>) -> Result<Array<'a>> {
        self.half(Op::PhiloxLow, block)
    }

    /// Words 2 and 3 of these blocks, word 2 in the low half.
    pub(super) fn high(&self, block: &Array<'a>) -> Result<Array<'a>> {
        self.half(Op::PhiloxHigh, block)
    }

    fn half(&self, op: Op, block: &Array<'a>) -> Result<Array<'a>> {
        let operands = [&self.key, &self.upper, block].map(IntoArray::into_operand);
        expr::apply(op, operands.into_iter().collect())
    }

    /// The 64 bits of each element, as uint64: words 2i and 2i + 1.
    pub(super) fn bits64(&self) -> Result<Array<'a>> {
        if let Some(words) = self.generated(DType::UInt64) {
            return words;
        }
        let block = self.number.bitwise_right_shift(1);
        let is_low = self.number.bitwise_and(1).equal(0);
        choose(&is_low, self.low(&block)?, self.high(&block)?)
    }

    /// The 32 bits of each element, as uint32: word i.
    pub(super) fn bits32(&self) -> Result<Array<'a>> {
        if let Some(words) = self.generated(DType::UInt32) {
            return words;
        }
        self.words(&self.number.bitwise_right_shift(2), &self.number)
    }

    /// The elements as generated words, each block of which is computed once; `None` for an array of keys, of which each element
    /// computes its own block.
    fn generated(&self, dtype: DType) -> Option<Result<Array<'a>>> {
        let key = self.single.as_ref()?;
        let extents: Vec<isize> = self.shape.iter().map(|&n| n as isize).collect();
        let words = expr::words(key, dtype, self.shape.iter().product());
        Some(words.and_then(|words| words.reshape(&extents)))
    }

    /// Words of blocks, as uint32. The lower two bits of `word` select one of the four.
    pub(super) fn words(&self, block: &Array<'a>, word: &Array<'a>) -> Result<Array<'a>> {
        let half = choose(&word.bitwise_and(2).equal(0), self.low(block)?, self.high(block)?)?;
        let upper = half.bitwise_right_shift(32);
        Ok(choose(&word.bitwise_and(1).equal(0), half, upper)?.astype(DType::UInt32))
    }

    /// The block of each element's attempt number `t`, a 0-d or element-wise uint64.
    pub(super) fn attempt(&self, t: &Array<'a>) -> Array<'a> {
        &self.number + t * MAX_ELEMENTS
    }

    /// A parameter of a distribution, converted to a dtype, for each element.
    ///
    /// Errors: a shape that does not broadcast to that of the draw.
    pub(super) fn parameter(&self, name: &str, what: &str, x: &Array<'a>, dtype: DType) -> Result<Array<'a>> {
        let is_open = x.dims().is_some();
        if is_open || x.rank() > 0 && x.broadcast_to(&self.shape).is_err() {
            let extents: Vec<String> = self.shape.iter().map(usize::to_string).collect();
            let why = format!(
                "{name}: {what} is {}{}, the draw is [{}]",
                x.dtype(),
                x.all_dims(),
                extents.join(",")
            );
            return Err(Error::new(ErrorKind::Shape, why));
        }
        Ok(x.astype(dtype))
    }

    /// An array broadcast to the shape of the draw, which an expression of 0-d arrays may lack.
    pub(super) fn filled(&self, x: Array<'a>) -> Result<Array<'a>> {
        if x.shape() == self.shape { Ok(x) } else { x.broadcast_to(&self.shape) }
    }
}

/// `x` where the condition holds, else `y`.
pub(super) fn choose<'a>(
    condition: &Array<'a>,
    x: impl IntoArray<'a>,
    y: impl IntoArray<'a>,
) -> Result<Array<'a>> {
    expr::apply(Op::Where, smallvec![condition.into_operand(), x.into_operand(), y.into_operand()])
}

/// A 0-d array of float64.
pub(super) fn float<'a>(x: f64) -> Array<'a> {
    expr::constant(Scalar::of(x))
}

/// A 0-d array of an unsigned integer.
pub(super) fn word<'a>(x: impl Elem) -> Array<'a> {
    expr::constant(Scalar::of(x))
}
