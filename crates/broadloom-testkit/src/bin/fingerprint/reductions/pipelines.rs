//! Rows of hashes for programs of several reductions along one axis that read each other's results. Their
//! stages run in row blocks, or one after the other.
//!
//! Some extents make a row, or the whole array, larger than 512 KiB, and others make it smaller: larger rows
//! don't stay in cache.

use broadloom::DType;

use super::row::{Contents, HashedCase, HashedLayout, HashedOperand, ReductionRow};

/// Programs, in which `AXIS` is replaced by the axis.
const PROGRAMS: &[(&str, &str)] = &[
    ("softmax", "e = exp(x - max(x, axis=AXIS, keepdims=true)); e / sum(e, axis=AXIS, keepdims=true)"),
    (
        "log-softmax",
        "c = x - max(x, axis=AXIS, keepdims=true); c - log(sum(exp(c), axis=AXIS, keepdims=true))",
    ),
    (
        "layer norm",
        "c = x - mean(x, axis=AXIS, keepdims=true); c / sqrt(mean(c * c, axis=AXIS, keepdims=true) + 0.001) * y + 1",
    ),
    ("z-score", "(x - mean(x, axis=AXIS, keepdims=true)) / std(x, axis=AXIS, keepdims=true, correction=1)"),
    ("normalised", "x / vector_norm(x, axis=AXIS, keepdims=true)"),
    ("scaled scan", "cumulative_sum(x / max(abs(x), axis=AXIS, keepdims=true), axis=AXIS)"),
    (
        "several results",
        "m = mean(x, axis=AXIS); d = x - mean(x, axis=AXIS, keepdims=true); \
         return m = m, v = var(x, axis=AXIS), s = sum(where(d > 0, d, y), axis=AXIS), at = argmax(d, axis=AXIS), d = d",
    ),
    (
        "chain",
        "a = sum(x * y, axis=AXIS, keepdims=true); b = max(x - a, axis=AXIS, keepdims=true); \
         return r = min(x * b + a, axis=AXIS), p = prod(x - b > 0, axis=AXIS, dtype=int64)",
    ),
    ("total then rows", "sum((x - mean(x)) / std(x), axis=AXIS)"),
];

/// Extents, and whether every layout is tested.
const SHAPES: &[(&[usize], bool)] = &[
    (&[37, 129], true),
    (&[64, 1023], true),
    (&[517, 515], true),
    (&[3, 65_521], false),
    (&[3, 131_101], false),
    (&[65_521, 5], false),
    (&[7, 33, 257], true),
    (&[1, 16_411], false),
];

/// Every program along both axes for float32 and float64, and some for float16.
pub fn rows() -> Vec<ReductionRow> {
    let mut rows = Vec::new();
    for (name, program) in PROGRAMS {
        for dtype in [DType::Float32, DType::Float64, DType::Float16] {
            for &(shape, is_laid_out) in SHAPES {
                let layouts = [
                    ("contiguous", [HashedLayout::Contiguous; 2]),
                    ("transposed", [HashedLayout::Transposed, HashedLayout::OneRow]),
                    ("strided", [HashedLayout::Second, HashedLayout::Reversed]),
                ];
                let is_small = shape.iter().product::<usize>() < 100_000;
                let count = if is_laid_out && is_small { 3 } else { 1 };
                for (layout, layouts) in &layouts[..count] {
                    for axis in [0, -1] {
                        let row_name = format!("pipelines: {name} along {axis} {dtype}{shape:?} {layout}");
                        if is_small || dtype != DType::Float16 {
                            rows.push(row(
                                row_name.replace(", ", ","),
                                program,
                                axis,
                                dtype,
                                shape,
                                *layouts,
                            ));
                        }
                    }
                }
            }
        }
    }
    rows
}

/// A row for a program along an axis, on moderate numbers and, if the array is small, on NaNs, infinities and zeros.
fn row(
    name: String,
    program: &str,
    axis: isize,
    dtype: DType,
    shape: &[usize],
    layouts: [HashedLayout; 2],
) -> ReductionRow {
    let text = program.replace("AXIS", &axis.to_string());
    let contents: &[Contents] = match shape.iter().product::<usize>() {
        0..100_000 => &[Contents::Moderate, Contents::Special],
        _ => &[Contents::Moderate],
    };
    let case = |&contents: &Contents| {
        let operand = |name, layout| HashedOperand::new(name, dtype, shape, contents).laid_out(layout);
        HashedCase { text: text.clone(), operands: vec![operand("x", layouts[0]), operand("y", layouts[1])] }
    };
    let cases: Vec<HashedCase> = contents.iter().map(case).collect();
    assert!(cases[0].is_typed(), "{text}");
    ReductionRow { name, cases }
}
