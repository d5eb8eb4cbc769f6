//! Rows of hashes for arrays of two to four axes, which are reduced along each axis and along several: rows,
//! columns, and middle axes.

use broadloom::DType;

use super::calls::{self, ReductionCall};
use super::row::{Contents, HashedCase, HashedOperand, ReductionRow};

/// The shapes of matrices with short and long rows and columns. Some are below and some above the extents at
/// which the engine changes its method.
const MATRICES: &[&[usize]] = &[
    &[1, 257],
    &[257, 1],
    &[16, 16],
    &[33, 1040],
    &[1040, 33],
    &[500, 3],
    &[300, 15],
    &[7, 300],
    &[100, 100],
    &[17, 4097],
];
/// The range of these shapes that other dtypes than [`LARGE_DTYPES`] use.
const FEW: std::ops::Range<usize> = 2..6;
/// Arrays with more than two axes.
const CUBES: &[&[usize]] = &[&[5, 47, 65], &[3, 5, 7, 33], &[2, 130, 17]];
/// Arrays without elements.
const EMPTY: &[&[usize]] = &[&[0, 3], &[3, 0], &[0, 0]];

/// The functions, dtypes and extents of large arrays.
const LARGE_FUNCTIONS: &[&str] =
    &["sum", "max", "argmax", "any", "mean", "var", "nanmean", "cumulative_sum", "vecdot"];
const LARGE_DTYPES: &[DType] = &[DType::Int16, DType::Float32, DType::Float64];
const LARGE: &[&[usize]] = &[&[1031, 511], &[3, 100_003], &[100_003, 3], &[20_011, 16], &[31, 33, 517]];

/// The rows of every function, for each dtype that it supports.
pub fn rows() -> Vec<ReductionRow> {
    let mut rows = Vec::new();
    for call in calls::all() {
        for &dtype in DType::ALL {
            let contents = Contents::of(dtype, call.moderate());
            let matrices = if LARGE_DTYPES.contains(&dtype) { MATRICES } else { &MATRICES[FEW] };
            for (axes, name) in [(&[0][..], "columns"), (&[-1], "rows"), (&[0, 1], "both axes")] {
                rows.extend(row(&format!("{name} of matrices"), &call, dtype, matrices, &[axes], &contents));
            }
            let (one, several): (Vec<_>, Vec<_>) = axes_of(4).into_iter().partition(|axes| axes.len() == 1);
            rows.extend(row("one of several axes", &call, dtype, CUBES, &borrowed(&one), &contents[..1]));
            rows.extend(row("several axes", &call, dtype, CUBES, &borrowed(&several), &contents[..1]));
        }
        let empty = |&dtype| row("", &call, dtype, EMPTY, &[&[0], &[1], &[0, 1]], &[call.moderate()]);
        let cases: Vec<HashedCase> = DType::ALL.iter().filter_map(empty).flat_map(|row| row.cases).collect();
        let text = call.text("x", None).unwrap_or_default();
        rows.extend(
            (!cases.is_empty()).then(|| ReductionRow { name: format!("no elements: {text}"), cases }),
        );
    }
    for call in calls::named(LARGE_FUNCTIONS) {
        for &dtype in LARGE_DTYPES {
            for &shape in LARGE {
                for axes in axes_of(shape.len()) {
                    let what = format!("axes {axes:?} of {shape:?}").replace(", ", ",");
                    rows.extend(row(&what, &call, dtype, &[shape], &[&axes], &[call.moderate()]));
                }
            }
        }
    }
    rows
}

/// Every non-empty set of the axes of an array of this rank.
fn axes_of(rank: usize) -> Vec<Vec<isize>> {
    let set = |set: usize| (0..rank).filter(|axis| set >> axis & 1 == 1).map(|axis| axis as isize).collect();
    (1..1 << rank).map(set).collect()
}

fn borrowed(axes: &[Vec<isize>]) -> Vec<&[isize]> {
    axes.iter().map(|axes| &axes[..]).collect()
}

/// A row for one function call on arrays of these extents, along each set of axes that the function accepts.
fn row(
    what: &str,
    call: &ReductionCall,
    dtype: DType,
    shapes: &[&[usize]],
    axes: &[&[isize]],
    contents: &[Contents],
) -> Option<ReductionRow> {
    let mut cases = Vec::new();
    for &shape in shapes {
        let rank = shape.len() as isize;
        for axes in axes.iter().filter(|axes| axes.iter().all(|&axis| axis < rank)) {
            // The axis of `vecdot` must be negative.
            let negative: Vec<isize> =
                axes.iter().map(|&axis| if axis < 0 { axis } else { axis - rank }).collect();
            let Some(text) = call.text("x", Some(&negative)) else { continue };
            for &contents in contents {
                let operands = ["x", "y"].map(|name| HashedOperand::new(name, dtype, shape, contents)).into();
                let case = HashedCase { text: text.clone(), operands };
                if case.is_typed() && (!shape.contains(&0) || case.has_results()) {
                    cases.push(case);
                }
            }
        }
    }
    let text = call.text("x", None).unwrap_or_default();
    (!cases.is_empty()).then(|| ReductionRow { name: format!("{what}: {text} {dtype}"), cases })
}
