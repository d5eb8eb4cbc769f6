//! A row of the file of hashes: texts and their operands, which are created for each evaluation of the row.
//!
//! An operand is a view of memory that it owns. Its elements depend only on its name, dtype, contents and layout, so that a new
//! row does not change the others.

use broadloom::text::Program;
use broadloom::{Array, DType, Kind, Range, Result};
use broadloom_testkit::elements;
use broadloom_testkit::random::Rng;

use crate::arguments::{any, fraction, mask, moderate_product, moderate_sum};

/// The evaluations that are hashed under one name.
pub struct ReductionRow {
    /// The name, which describes what the cases have in common.
    pub name: String,
    /// The evaluations, in order.
    pub cases: Vec<HashedCase>,
}

impl ReductionRow {
    /// Converts the row to one row per case.
    pub fn into_cases(self) -> impl Iterator<Item = ReductionRow> {
        self.cases
            .into_iter()
            .map(move |case| ReductionRow { name: format!("{} | {case}", self.name), cases: vec![case] })
    }
}

/// A text and its operands.
pub struct HashedCase {
    /// An expression, or a program with several results.
    pub text: String,
    /// The operands.
    pub operands: Vec<HashedOperand>,
}

impl HashedCase {
    /// Builds the results on arrays that replace the operands.
    pub fn results(&self, arrays: &[Array<'static>]) -> Result<Vec<Array<'static>>> {
        let program = Program::parse(&self.text)?;
        let named = self.operands.iter().zip(arrays).map(|(operand, array)| (operand.name, array.clone()));
        let used: Vec<_> = named.filter(|(name, _)| program.inputs().any(|i| i.name() == *name)).collect();
        Ok(program.build(&used)?.into_iter().map(|(_, result)| result).collect())
    }

    /// Creates the arrays of the operands.
    pub fn arrays(&self) -> Vec<Array<'static>> {
        self.operands.iter().map(HashedOperand::array).collect()
    }

    /// Whether the text is well-typed for operands of these dtypes and ranks.
    pub fn is_typed(&self) -> bool {
        let small = |operand: &HashedOperand| Array::zeros(&vec![2; operand.shape.len()], operand.dtype);
        let arrays: Result<Vec<_>> = self.operands.iter().map(small).collect();
        arrays.and_then(|arrays| self.results(&arrays)).is_ok()
    }

    /// Whether the text is well-typed for operands of these extents.
    pub fn has_results(&self) -> bool {
        self.results(&self.arrays()).is_ok()
    }
}

impl std::fmt::Display for HashedCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)?;
        for HashedOperand { name, dtype, shape, contents, layout } in &self.operands {
            write!(f, "; {name}: {dtype}{shape:?} {contents:?} {layout:?}")?;
        }
        Ok(())
    }
}

/// An array with given contents and layout.
#[derive(Clone, Debug)]
pub struct HashedOperand {
    /// The operand's name in the text.
    pub name: &'static str,
    /// Its dtype.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<usize>,
    /// The kind of its elements.
    pub contents: Contents,
    /// The operand's layout in memory.
    pub layout: HashedLayout,
}

/// The contents of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Numbers whose sum is in range of the dtype for a million of them.
    Moderate,
    /// Numbers whose product is in range of the dtype for a million of them.
    Product,
    /// Floats: moderate numbers with many zeros of either sign, and some infinities and NaNs of any sign and payload. A row of
    /// hundreds of elements has some of them, and most short rows have none. Integers: arbitrary bits.
    Special,
    /// Zeros, mostly negative, and about one NaN of any sign and payload in thousands.
    Zeros,
}

impl Contents {
    /// The kinds of contents that are tested for a dtype: `moderate`, [`Contents::Special`] and, for floats,
    /// [`Contents::Zeros`].
    pub fn of(dtype: DType, moderate: Contents) -> Vec<Contents> {
        match dtype.kind() {
            Kind::Float => vec![moderate, Contents::Special, Contents::Zeros],
            _ => vec![moderate, Contents::Special],
        }
    }

    fn draw(self, rng: &mut Rng, dtype: DType) -> u64 {
        let is_float = dtype.kind() == Kind::Float;
        match self {
            Contents::Moderate => moderate_sum(rng, dtype),
            Contents::Product => moderate_product(rng, dtype),
            Contents::Special | Contents::Zeros if !is_float => any(rng, dtype),
            Contents::Special => match rng.below(512) {
                0 => nan(rng, dtype),
                1 | 2 => infinity(dtype) | sign(rng.next(), dtype),
                3..64 => sign(rng.next(), dtype),
                _ => moderate_sum(rng, dtype),
            },
            Contents::Zeros => match rng.below(4096) {
                0 => nan(rng, dtype),
                1..256 => 0,
                _ => sign(u64::MAX, dtype),
            },
        }
    }
}

fn infinity(dtype: DType) -> u64 {
    (mask(dtype) >> 1) & !((1 << fraction(dtype)) - 1)
}

/// The sign bit of a float dtype if the highest bit of `word` is set, else 0.
fn sign(word: u64, dtype: DType) -> u64 {
    word >> 63 << (8 * dtype.size() - 1)
}

/// A NaN of any sign and payload, quiet or signalling.
fn nan(rng: &mut Rng, dtype: DType) -> u64 {
    let payload = rng.next() & ((1 << fraction(dtype)) - 1);
    infinity(dtype) | payload.max(1) | sign(rng.next(), dtype)
}

/// The layout of an operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashedLayout {
    /// Contiguous in row-major order.
    Contiguous,
    /// Every second element along the last axis.
    Second,
    /// Reversed along the last axis.
    Reversed,
    /// Reversed along each axis.
    Backwards,
    /// Axes in reverse order.
    Transposed,
    /// Each row is part of a longer row.
    Window,
    /// A single row, broadcast to all rows.
    OneRow,
    /// One element per row, or one for all if there is a single row, broadcast along the row.
    OneColumn,
}

impl HashedLayout {
    /// The extents of the memory for a view of these extents.
    fn extents(self, shape: &[usize]) -> Vec<usize> {
        let mut extents = shape.to_vec();
        let last = extents.len() - 1;
        match self {
            HashedLayout::Contiguous | HashedLayout::Reversed | HashedLayout::Backwards => {}
            HashedLayout::Second => extents[last] *= 2,
            HashedLayout::Transposed => extents.reverse(),
            HashedLayout::Window => extents[last] += 5,
            HashedLayout::OneRow => extents[0] = 1,
            HashedLayout::OneColumn => extents[last] = 1,
        }
        extents
    }

    /// The view of the memory.
    fn view(self, of: &Array<'static>, shape: &[usize]) -> Result<Array<'static>> {
        let along_last = |range: Range| {
            let whole = Range::from(..);
            let ranges: Vec<Range> = (1..shape.len()).map(|_| whole).chain([range]).collect();
            of.slice(&ranges)
        };
        match self {
            HashedLayout::Contiguous => Ok(of.clone()),
            HashedLayout::Second => along_last(Range::from(..).step(2)),
            HashedLayout::Reversed => of.flip(-1),
            HashedLayout::Backwards => {
                (0..shape.len()).try_fold(of.clone(), |view, axis| view.flip(axis as isize))
            }
            HashedLayout::Transposed => of.permute_dims(&(0..shape.len() as isize).rev().collect::<Vec<_>>()),
            HashedLayout::Window => along_last(Range::new(Some(3), Some(-2), 1)),
            HashedLayout::OneRow | HashedLayout::OneColumn => of.broadcast_to(shape),
        }
    }
}

impl HashedOperand {
    /// A contiguous operand.
    pub fn new(name: &'static str, dtype: DType, shape: &[usize], contents: Contents) -> HashedOperand {
        HashedOperand { name, dtype, shape: shape.to_vec(), contents, layout: HashedLayout::Contiguous }
    }

    /// The operand with another layout.
    pub fn laid_out(self, layout: HashedLayout) -> HashedOperand {
        HashedOperand { layout, ..self }
    }

    /// Creates the array, as a view of its own memory.
    fn array(&self) -> Array<'static> {
        let extents = self.layout.extents(&self.shape);
        let seed = self.name.bytes().fold(self.dtype as u64, |seed, byte| seed << 8 | u64::from(byte));
        let mut rng = Rng::new(0x6a09_e667_f3bc_c908 ^ seed ^ (self.contents as u64) << 32);
        let bits: Vec<u64> =
            (0..extents.iter().product()).map(|_| self.contents.draw(&mut rng, self.dtype)).collect();
        let memory = elements::array(self.dtype, &extents, &bits);
        self.layout.view(&memory, &self.shape).expect("a view of these extents")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_has_the_shape_and_the_strides_that_it_says() {
        let strides = |layout, shape: &[usize]| {
            let operand = HashedOperand::new("x", DType::Float32, shape, Contents::Moderate).laid_out(layout);
            let array = operand.array();
            assert_eq!(array.shape(), shape);
            array.strides().expect("memory").to_vec()
        };
        for (layout, want) in [
            (HashedLayout::Contiguous, [5, 1]),
            (HashedLayout::Second, [10, 2]),
            (HashedLayout::Reversed, [5, -1]),
            (HashedLayout::Backwards, [-5, -1]),
            (HashedLayout::Transposed, [1, 3]),
            (HashedLayout::Window, [10, 1]),
            (HashedLayout::OneRow, [0, 1]),
            (HashedLayout::OneColumn, [1, 0]),
        ] {
            assert_eq!(strides(layout, &[3, 5]), want, "{layout:?}");
        }
        assert_eq!(strides(HashedLayout::OneColumn, &[5]), [0]);
    }

    #[test]
    fn special_contents_have_nans_of_both_signs_and_many_payloads_beside_numbers() {
        for dtype in [DType::Float16, DType::Float32, DType::Float64] {
            let operand = HashedOperand::new("x", dtype, &[10_000], Contents::Special);
            let bits = elements::bits(&operand.array()).expect("elements");
            let mut nans: Vec<u64> =
                bits.iter().copied().filter(|bits| bits & mask(dtype) >> 1 > infinity(dtype)).collect();
            nans.sort_unstable();
            nans.dedup();
            assert!((10..40).contains(&nans.len()), "{dtype}: {} NaNs", nans.len());
            assert!(nans.iter().any(|&nan| sign(!0, dtype) & nan == 0), "{dtype}: a positive one");
            assert!(nans.iter().any(|&nan| sign(!0, dtype) & nan != 0), "{dtype}: a negative one");
            for one in [0, sign(!0, dtype), infinity(dtype), infinity(dtype) | sign(!0, dtype)] {
                assert!(bits.contains(&one), "{dtype}: {one:#x}");
            }
        }
    }
}
