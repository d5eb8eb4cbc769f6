//! Element-wise expressions that are computed in the loop of a reduction, over operands of every layout.
//!
//! A sum's numbering follows the view and not the memory, whatever is fused before it; so each row is also evaluated over
//! contiguous copies of its operands.

use broadloom::DType;

use super::calls::{self, Call};
use super::row::{Case, Contents, Layout, Operand, Row};

/// A pair of operands: a name and the layouts of `x` and `y`.
const LAYOUTS: &[(&str, [Layout; 2])] = &[
    ("contiguous", [Layout::Contiguous; 2]),
    ("second", [Layout::Second, Layout::Contiguous]),
    ("reversed", [Layout::Reversed, Layout::Second]),
    ("backwards", [Layout::Backwards, Layout::Transposed]),
    ("transposed", [Layout::Transposed, Layout::Transposed]),
    ("window", [Layout::Window, Layout::Contiguous]),
    ("one-row", [Layout::OneRow, Layout::Contiguous]),
    ("one-column", [Layout::Contiguous, Layout::OneColumn]),
    ("broadcast", [Layout::OneColumn, Layout::OneRow]),
];

/// The bodies of each dtype that has them.
const BODIES: &[(&str, &[DType])] = &[
    ("x", ALL),
    ("x * y + 1", NUMBERS),
    ("exp(x)", FLOATS),
    ("astype(x < y, int32)", NUMBERS),
    ("x < y", NUMBERS),
    ("where(x < y, x, -y)", FLOATS),
    ("astype(x, float64)", &[DType::Int8, DType::UInt64, DType::Float16, DType::Float32]),
    ("astype(x, float32)", &[DType::Bool, DType::Int16, DType::Float64]),
    ("astype(x, int16)", &[DType::Bool, DType::Int32, DType::UInt8]),
    ("flip(x * y, axis=-1)", NUMBERS),
    ("x - max(y, axis=-1, keepdims=true)", NUMBERS),
];
const ALL: &[DType] =
    &[DType::Bool, DType::UInt8, DType::Int32, DType::Float16, DType::Float32, DType::Float64];
const NUMBERS: &[DType] = &[DType::UInt8, DType::Int32, DType::Float16, DType::Float32, DType::Float64];
const FLOATS: &[DType] = &[DType::Float16, DType::Float32, DType::Float64];

/// The functions, of which the first ones have a row for each layout.
const FUNCTIONS: &[&str] = &[
    "sum",
    "max",
    "cumulative_sum",
    "argmin",
    "any",
    "mean",
    "prod",
    "min",
    "all",
    "argmax",
    "count_nonzero",
    "var",
    "nansum",
    "nanmax",
    "nanvar",
    "vector_norm",
    "vecdot",
    "logsumexp",
    "cumulative_prod",
];
const FIRST: usize = 1;

/// The extents of all rows, and of those of the first function beyond.
const SHAPES: &[&[usize]] = &[&[37, 275], &[1039]];
const LARGE: &[&[usize]] = &[&[257, 1031]];

/// A row for each layout of the first functions; for the others one of contiguous operands, and one of all views.
pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let pairs = |layouts: &[(&str, [Layout; 2])]| layouts.iter().map(|(_, pair)| *pair).collect::<Vec<_>>();
    for (number, call) in calls::named(FUNCTIONS).iter().enumerate() {
        for (body, dtypes) in BODIES {
            for &dtype in *dtypes {
                let one = |shapes: &'static [&[usize]], what: &'static str| {
                    LAYOUTS.iter().filter_map(move |(name, layouts)| {
                        row(call, body, dtype, &format!("{what}{name}"), &[*layouts], shapes)
                    })
                };
                if number < FIRST {
                    rows.extend(one(SHAPES, ""));
                } else {
                    rows.extend(one(SHAPES, "").take(1));
                    rows.extend(row(call, body, dtype, "views", &pairs(&LAYOUTS[1..]), SHAPES));
                }
                if number == 0 && dtype.size() == 4 {
                    rows.extend(one(LARGE, "large "));
                }
            }
        }
    }
    rows
}

/// A call of a body over operands of some layouts, if it takes the body's dtype.
fn row(
    call: &Call,
    body: &str,
    dtype: DType,
    name: &str,
    layouts: &[[Layout; 2]],
    shapes: &[&[usize]],
) -> Option<Row> {
    // Where a NaN is among the elements of a sum, nothing else of it is seen.
    let special = (dtype == DType::Float32).then_some(Contents::Special);
    let contents: Vec<Contents> = [call.moderate()].into_iter().chain(special).collect();
    let mut cases = Vec::new();
    for (&shape, layouts) in shapes.iter().flat_map(|shape| layouts.iter().map(move |pair| (shape, pair))) {
        // `None` also means the only axis.
        let all: [Option<&[isize]>; 3] = [None, Some(&[-2]), Some(&[-1])];
        let axes = if shape.len() == 1 { &all[..1] } else { &all };
        for text in axes.iter().filter_map(|axes| call.text(body, *axes)) {
            let of = |&contents: &Contents| {
                let operand = |name, layout| Operand::new(name, dtype, shape, contents).laid_out(layout);
                let operands = vec![operand("x", layouts[0]), operand("y", layouts[1])];
                Case { text: text.clone(), operands }
            };
            cases.extend(contents.iter().map(of).filter(Case::is_typed));
        }
    }
    let text = call.text(body, None)?;
    (!cases.is_empty()).then(|| Row { name: format!("bodies: {text} {dtype} {name}"), cases })
}
