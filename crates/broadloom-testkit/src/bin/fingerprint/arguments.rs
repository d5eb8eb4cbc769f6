//! Fixed arguments for functions and reductions, with the same bits on every target.
//!
//! Edge-case values, or all values of a small domain, are followed by pseudo-random numbers. The list is then permuted by a
//! constant stride, so that its head has the same composition as the whole.

use broadloom::{Array, DType};
use broadloom_core::Kind;
use broadloom_testkit::random::Rng;
use broadloom_testkit::{edge_cases, elements};
use half::f16;

use crate::hash::Hash;

/// The number of elements in each operand. It is a prime above 2^20, so that a constant stride visits every element and no block
/// size divides it.
pub const WHOLE: usize = (1 << 20) + 7;

/// The number of elements in the head.
pub const HEAD: usize = (1 << 16) + 7;

/// The number of rows of arrays that are reduced, and of their heads. Rows have 1031 elements.
const ROWS: [usize; 2] = [1021, 61];

/// The number of rows of arrays with short rows, and of their heads. Rows have 16 elements.
const SHORT_ROWS: [usize; 2] = [65_791, 4_099];

/// The maximum number of combinations of edge-case values. If there are more, an evenly spaced subset is used.
const MOST_CROSSED: usize = 1 << 18;

/// The operands as a whole, and their heads.
pub struct Arguments {
    /// The operands.
    pub whole: Vec<Array<'static>>,
    /// The head of each operand.
    pub head: Vec<Array<'static>>,
    /// The hash of all bits. It shows whether arguments differ, or only results.
    pub hash: Hash,
}

impl Arguments {
    /// Makes operands from columns. A column has a dtype, the extents of the whole operand and of its head (a
    /// part with a smaller first extent), and the bits of the elements.
    fn of(columns: impl IntoIterator<Item = (DType, [Vec<usize>; 2], Vec<u64>)>) -> Arguments {
        let mut arguments = Arguments { whole: Vec::new(), head: Vec::new(), hash: Hash::new() };
        for (dtype, [whole, head], bits) in columns {
            arguments.hash.words(bits.iter().copied());
            arguments.head.push(elements::array(dtype, &head, &bits[..head.iter().product()]));
            arguments.whole.push(elements::array(dtype, &whole, &bits));
        }
        arguments
    }

    /// An empty list of operands.
    pub fn none() -> Arguments {
        Arguments::of([])
    }

    /// The operands of an element-wise function.
    pub fn of_function(dtypes: &[DType]) -> Arguments {
        let columns = dtypes.iter().zip(listed(dtypes));
        Arguments::of(columns.map(|(&dtype, list)| (dtype, [vec![WHOLE], vec![HEAD]], list)))
    }

    /// The operands of reductions: numbers with a moderate sum, numbers with a moderate product, and short rows of arbitrary
    /// bits.
    pub fn of_reductions(dtype: DType) -> Arguments {
        let extents = |rows: [usize; 2], columns: usize| rows.map(|rows| vec![rows, columns]);
        let mut rng = Rng::new(0x3c6e_f372_fe94_f82b ^ dtype as u64);
        let mut fill = |extents: [Vec<usize>; 2], draw: fn(&mut Rng, DType) -> u64| {
            let bits = (0..extents[0].iter().product()).map(|_| draw(&mut rng, dtype)).collect();
            (dtype, extents, bits)
        };
        Arguments::of([
            fill(extents(ROWS, 1031), moderate_sum),
            fill(extents(ROWS, 1031), moderate_product),
            fill(extents(SHORT_ROWS, 16), any),
        ])
    }
}

/// The elements of the operands, permuted by the stride: all combinations of edge-case values (of all bit patterns, for small
/// domains), followed by random values.
fn listed(dtypes: &[DType]) -> Vec<Vec<u64>> {
    let bytes: usize = dtypes.iter().map(|dtype| dtype.size()).sum();
    let lists: Vec<Vec<u64>> = dtypes
        .iter()
        .map(|&dtype| match dtype {
            DType::Bool => vec![0, 1],
            _ if bytes <= 2 => (0..1 << (8 * dtype.size())).collect(),
            _ => edge_cases::values(dtype).into_iter().map(|value| value.bits).collect(),
        })
        .collect();
    let total: usize = lists.iter().map(Vec::len).product();
    let step = total.div_ceil(MOST_CROSSED) | 1;
    let mut columns = vec![Vec::with_capacity(WHOLE); lists.len()];
    for mut at in (0..total).step_by(step) {
        for (column, list) in columns.iter_mut().zip(&lists) {
            column.push(list[at % list.len()]);
            at /= list.len();
        }
    }
    let mut rng = Rng::new(0xb5_297a_4d3f_84d5);
    while columns[0].len() < WHOLE {
        let mut before = None;
        for (column, &dtype) in columns.iter_mut().zip(dtypes) {
            let bits = match before {
                // The element of the preceding operand, or one at most two ulp away from it.
                Some((same, bits)) if same == dtype && rng.chance(1, 8) => {
                    let near: u64 = bits;
                    near.wrapping_add(rng.below(5) as u64).wrapping_sub(2) & mask(dtype)
                }
                _ => any(&mut rng, dtype),
            };
            column.push(bits);
            before = Some((dtype, bits));
        }
    }
    // The stride is the golden section of the number of elements.
    let place = |i: usize| i * 648_061 % WHOLE;
    columns.iter().map(|column| (0..WHOLE).map(|i| column[place(i)]).collect()).collect()
}

/// A mask of the bits that an element of a dtype uses.
pub fn mask(dtype: DType) -> u64 {
    match dtype {
        DType::Bool => 1,
        _ => u64::MAX >> (64 - 8 * dtype.size()),
    }
}

/// The number of fraction bits of a float dtype.
pub fn fraction(dtype: DType) -> u32 {
    match dtype {
        DType::Float16 => 10,
        DType::Float32 => 23,
        _ => 52,
    }
}

/// A random element. For a float: arbitrary bits, a moderate number, one with few significant bits, or one near 1. For an
/// integer: arbitrary bits, or a number of any magnitude.
pub fn any(rng: &mut Rng, dtype: DType) -> u64 {
    let class = rng.below(4);
    match (dtype.kind(), class) {
        (Kind::Bool, _) | (_, 0) => rng.next() >> 32 & mask(dtype) | rng.next() << 32 & mask(dtype),
        (Kind::Float, 1) => scaled(rng, dtype, 12, 24),
        (Kind::Float, 2) => few_bits(rng, dtype),
        (Kind::Float, _) => near_one(rng, dtype, 1),
        (Kind::Signed | Kind::Unsigned, _) => {
            let size = (rng.next() & mask(dtype)) >> rng.below(8 * dtype.size());
            if rng.chance(1, 3) { size.wrapping_neg() & mask(dtype) } else { size }
        }
    }
}

/// A random element, so small that the sum of a million of them is in range of the dtype, or nearly so.
pub fn moderate_sum(rng: &mut Rng, dtype: DType) -> u64 {
    match dtype.kind() {
        Kind::Float => scaled(rng, dtype, 12, 14),
        // Few zeros, so that `all` of a short row is not always false.
        Kind::Bool => u64::from(rng.chance(31, 32)),
        Kind::Signed => (rng.below(61) as u64).wrapping_sub(30) & mask(dtype),
        Kind::Unsigned => rng.below(61) as u64,
    }
}

/// A random element for products of a million elements, which must be in range of the dtype: a float near 1,
/// or an odd integer.
pub fn moderate_product(rng: &mut Rng, dtype: DType) -> u64 {
    match dtype.kind() {
        Kind::Float => near_one(rng, dtype, 8),
        Kind::Bool => u64::from(rng.chance(1, 256)),
        Kind::Signed | Kind::Unsigned => rng.next() & mask(dtype) | 1,
    }
}

/// A float of either sign. Its exponent is one of the `exponents` integers from −`least` on.
fn scaled(rng: &mut Rng, dtype: DType, least: u64, exponents: usize) -> u64 {
    let (width, fraction) = (8 * dtype.size() as u32, fraction(dtype));
    let bias = (1u64 << (width - fraction - 2)) - 1;
    let exponent = bias - least + rng.below(exponents) as u64;
    let bits = rng.next();
    (bits >> 63) << (width - 1) | exponent << fraction | bits & ((1 << fraction) - 1)
}

/// A float of either sign with at most eleven significant bits, the last of which is 2^−6 or larger, so that every float dtype
/// can represent it.
fn few_bits(rng: &mut Rng, dtype: DType) -> u64 {
    let value = (rng.below(4096) as f64 - 2048.0) / (1u64 << rng.below(7)) as f64;
    match dtype {
        DType::Float16 => f16::from_f64(value).to_bits().into(),
        DType::Float32 => (value as f32).to_bits().into(),
        _ => value.to_bits(),
    }
}

/// A positive float whose distance from 1 is below 2^−`shift`; the logarithm of the distance is uniformly distributed.
fn near_one(rng: &mut Rng, dtype: DType, shift: u32) -> u64 {
    let (width, fraction) = (8 * dtype.size() as u32, fraction(dtype));
    let one = ((1u64 << (width - fraction - 2)) - 1) << fraction;
    let shift = shift.min(fraction - 1);
    let distance = (rng.next() & ((1 << (fraction - shift)) - 1)) >> rng.below((fraction - shift) as usize);
    if rng.chance(1, 2) { one + distance } else { one - distance }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_domains_are_whole() {
        for dtypes in [&[DType::UInt8, DType::UInt8][..], &[DType::Float16], &[DType::Int16], &[DType::Int8]]
        {
            let columns = listed(dtypes);
            let bits: u32 = dtypes.iter().map(|dtype| 8 * dtype.size() as u32).sum();
            let mut seen = vec![false; 1 << bits];
            for i in 0..WHOLE {
                let pattern = columns.iter().fold(0, |pattern, column| pattern << 8 | column[i] as usize);
                seen[pattern] = true;
            }
            assert!(seen.iter().all(|&seen| seen), "{dtypes:?}");
        }
    }

    #[test]
    fn edge_cases_are_among_the_arguments_and_spread_over_the_list() {
        for dtypes in [&[DType::Float64][..], &[DType::Float32; 2], &[DType::Int64; 2]] {
            let columns = listed(dtypes);
            let edges: Vec<u64> = edge_cases::values(dtypes[0]).iter().map(|value| value.bits).collect();
            let crossed = edges.len().pow(dtypes.len() as u32);
            for &edge in &edges {
                assert!(columns.iter().all(|column| column.contains(&edge)), "{dtypes:?} {edge:#x}");
            }
            let is_edge = |i: usize| columns.iter().all(|column| edges.contains(&column[i]));
            let expected = crossed * HEAD / WHOLE;
            let in_head = (0..HEAD).filter(|&i| is_edge(i)).count();
            assert!(in_head >= expected, "{dtypes:?}: {in_head} of {expected}");
        }
    }

    #[test]
    fn products_and_sums_of_a_million_are_finite() {
        for dtype in [DType::Float32, DType::Float64] {
            let arguments = Arguments::of_reductions(dtype);
            let product = arguments.whole[1].prod(()).expect("a product").astype(DType::Float64);
            let sum = arguments.whole[0].sum(()).expect("a sum").astype(DType::Float64);
            for value in [product, sum].map(|x| x.to_vec::<f64>().expect("a number")[0].abs()) {
                assert!(value > 1e-30 && value < 1e30, "{dtype}: {value}");
            }
        }
    }
}
