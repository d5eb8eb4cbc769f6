//! Rows of hashes for reductions along one axis, whose length is 16·2^k, or 1 or 15 elements more or less.
//!
//! At each of these lengths the tree of a sum gets a new level, and lengths next to them end within a row of
//! lanes.

use broadloom::DType;

use super::calls::{self, ReductionCall};
use super::row::{Contents, HashedCase, HashedOperand, ReductionRow};

/// The dtypes of arrays of medium length.
const MIDDLE: &[DType] =
    &[DType::Bool, DType::Int8, DType::Int32, DType::UInt64, DType::Float16, DType::Float32, DType::Float64];
/// The functions and dtypes of the longest arrays.
const LONG: &[(&str, &[DType])] = &[
    ("sum", &[DType::Int8, DType::Float16, DType::Float32, DType::Float64]),
    ("prod", &[DType::Float32]),
    ("max", &[DType::UInt8, DType::Float32]),
    ("argmin", &[DType::Float64]),
    ("any", &[DType::Bool]),
    ("count_nonzero", &[DType::Int16]),
    ("var", &[DType::Float64]),
    ("nansum", &[DType::Float32]),
    ("vecdot", &[DType::Float32]),
    ("logsumexp", &[DType::Float64]),
    ("cumulative_sum", &[DType::Float64]),
    ("cumulative_prod", &[DType::Float32]),
];

/// 16·2^k and the lengths around it.
fn around(k: u32) -> impl Iterator<Item = usize> {
    let middle = 16usize << k;
    [middle - 15, middle - 1, middle, middle + 1, middle + 15].into_iter()
}

/// All functions and dtypes for short arrays, and fewer for longer ones.
pub fn rows() -> Vec<ReductionRow> {
    let mut rows = Vec::new();
    for call in calls::all() {
        for &dtype in DType::ALL {
            for powers in [0..4, 4..8] {
                rows.extend(row(&call, dtype, powers, &Contents::of(dtype, call.moderate())));
            }
            if MIDDLE.contains(&dtype) {
                let moderate = call.moderate();
                rows.extend([8..10, 10..12].into_iter().filter_map(|k| row(&call, dtype, k, &[moderate])));
                rows.extend(row(&call, dtype, 8..9, &[Contents::Special, Contents::Zeros]));
            }
        }
    }
    for (function, dtypes) in LONG {
        for call in calls::named(&[function]) {
            for &dtype in *dtypes {
                let moderate = [call.moderate()];
                rows.extend((12..17).filter_map(|k| row(&call, dtype, k..k + 1, &moderate)));
            }
        }
    }
    rows.extend([DType::Int32, DType::Float32, DType::Float64].map(generated));
    rows
}

/// A row for a call on arrays of all lengths around some powers of two, if it supports the dtype.
fn row(
    call: &ReductionCall,
    dtype: DType,
    powers: std::ops::Range<u32>,
    contents: &[Contents],
) -> Option<ReductionRow> {
    let text = call.text("x", None)?;
    let case = |length: usize, contents: Contents| HashedCase {
        text: text.clone(),
        operands: ["x", "y"].map(|name| HashedOperand::new(name, dtype, &[length], contents)).into(),
    };
    if !case(2, contents[0]).is_typed() {
        return None;
    }
    let what =
        contents.iter().map(|contents| format!("{contents:?}").to_lowercase()).collect::<Vec<_>>().join("+");
    let [first, last] = [powers.start, powers.end - 1].map(|k| 16u64 << k);
    let lengths = if first == last { first.to_string() } else { format!("{first} to {last}") };
    let cases = powers.flat_map(around).flat_map(|length| contents.iter().map(move |&c| (length, c)));
    let cases = cases.map(|(length, contents)| case(length, contents)).collect();
    Some(ReductionRow { name: format!("lengths around {lengths}: {text} {dtype} {what}"), cases })
}

/// Reductions of generated arrays, whose elements are computed inside the reduction.
fn generated(dtype: DType) -> ReductionRow {
    let functions = ["sum", "max", "argmin", "var", "cumulative_sum"];
    let texts =
        |length: usize| functions.map(|name| format!("{name}(x + arange(0, {length}, dtype={dtype}))"));
    let lengths = [1, 15, 16, 1039, 4111, 65_551];
    let case = |(length, text)| HashedCase {
        text,
        operands: vec![HashedOperand::new("x", dtype, &[length], Contents::Moderate)],
    };
    let all = lengths.into_iter().flat_map(|length| texts(length).map(|text| (length, text)));
    let name = format!("lengths to 65551: generated numbers {dtype}");
    ReductionRow { name, cases: all.map(case).filter(HashedCase::has_results).collect() }
}
