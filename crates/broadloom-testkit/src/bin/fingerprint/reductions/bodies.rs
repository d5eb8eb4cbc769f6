//! Rows of hashes for element-wise expressions that are fused into the loop of a reduction, on operands of
//! every layout.
//!
//! The order of a sum depends on the view's indices and not on the memory, whatever is fused into it. Each
//! row is therefore also evaluated on contiguous copies of its operands.

use broadloom::DType;

use super::calls::{self, ReductionCall};
use super::row::{Contents, HashedCase, HashedLayout, HashedOperand, ReductionRow};

/// Named pairs of layouts, for `x` and `y`.
const LAYOUTS: &[(&str, [HashedLayout; 2])] = &[
    ("contiguous", [HashedLayout::Contiguous; 2]),
    ("second", [HashedLayout::Second, HashedLayout::Contiguous]),
    ("reversed", [HashedLayout::Reversed, HashedLayout::Second]),
    ("backwards", [HashedLayout::Backwards, HashedLayout::Transposed]),
    ("transposed", [HashedLayout::Transposed, HashedLayout::Transposed]),
    ("window", [HashedLayout::Window, HashedLayout::Contiguous]),
    ("one-row", [HashedLayout::OneRow, HashedLayout::Contiguous]),
    ("one-column", [HashedLayout::Contiguous, HashedLayout::OneColumn]),
    ("broadcast", [HashedLayout::OneColumn, HashedLayout::OneRow]),
];

/// The bodies, with the dtypes that they are used for.
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

/// The functions. The first ones get a row for each layout.
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

/// The extents: the first is used for all rows, the others for the first function only.
const SHAPES: &[&[usize]] = &[&[37, 275], &[1039]];
const LARGE: &[&[usize]] = &[&[257, 1031]];

/// The rows of hashes. The first functions have one row for each layout; the others have one with contiguous
/// operands and one with all layouts of views.
pub fn rows() -> Vec<ReductionRow> {
    let mut rows = Vec::new();
    let pairs =
        |layouts: &[(&str, [HashedLayout; 2])]| layouts.iter().map(|(_, pair)| *pair).collect::<Vec<_>>();
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

/// A row for a call on a body over operands of these layouts, if the function supports the body's dtype.
fn row(
    call: &ReductionCall,
    body: &str,
    dtype: DType,
    name: &str,
    layouts: &[[HashedLayout; 2]],
    shapes: &[&[usize]],
) -> Option<ReductionRow> {
    // A NaN element determines the whole sum, so special values are used for float32 only.
    let special = (dtype == DType::Float32).then_some(Contents::Special);
    let contents: Vec<Contents> = [call.moderate()].into_iter().chain(special).collect();
    let mut cases = Vec::new();
    for (&shape, layouts) in shapes.iter().flat_map(|shape| layouts.iter().map(move |pair| (shape, pair))) {
        // `None` reduces all axes, and so also the only axis of a one-dimensional array.
        let all: [Option<&[isize]>; 3] = [None, Some(&[-2]), Some(&[-1])];
        let axes = if shape.len() == 1 { &all[..1] } else { &all };
        for text in axes.iter().filter_map(|axes| call.text(body, *axes)) {
            let of = |&contents: &Contents| {
                let operand =
                    |name, layout| HashedOperand::new(name, dtype, shape, contents).laid_out(layout);
                let operands = vec![operand("x", layouts[0]), operand("y", layouts[1])];
                HashedCase { text: text.clone(), operands }
            };
            cases.extend(contents.iter().map(of).filter(HashedCase::is_typed));
        }
    }
    let text = call.text(body, None)?;
    (!cases.is_empty()).then(|| ReductionRow { name: format!("bodies: {text} {dtype} {name}"), cases })
}
