//! The bits of NaNs. A computed NaN has the bits of the positive quiet NaN without payload, and a NaN that is only moved
//! keeps its bits, in every executor, at every vector width, in every layout and at every position of an array.

use broadloom::prelude::*;
use broadloom::text;
use broadloom::{Evaluation, Op, Options, Result};
use broadloom_core::rewrite::Rules;
use broadloom_core::{Scalar, fold};
use broadloom_testkit::{Runner, elements, one_of};

const FLOATS: [DType; 3] = [DType::Float16, DType::Float32, DType::Float64];

/// The bits of the sign, of the canonical NaN, and of infinity.
fn format(dtype: DType) -> (u64, u64, u64) {
    match dtype {
        DType::Float16 => (0x8000, 0x7e00, 0x7c00),
        DType::Float32 => (1 << 31, 0x7fc0_0000, 0x7f80_0000),
        _ => (1 << 63, 0x7ff8_0000_0000_0000, 0x7ff0_0000_0000_0000),
    }
}

/// NaNs of both signs, quiet and signalling, with payload and without; infinities, zeros and ordinary numbers.
fn operands(dtype: DType) -> Vec<u64> {
    let (sign, nan, infinity) = format(dtype);
    let number = |x: f64| broadloom::Literal::Float(x).to_dtype(dtype).expect("a number").bits;
    let all =
        [nan, nan | 5, infinity | 1, infinity | 0x155, infinity, 0, number(0.5), number(1.0), number(2.0)];
    all.into_iter().flat_map(|x| [x, x | sign]).collect()
}

/// Columns of operands. With one or two columns, the rows contain every combination of operands; with three, a part of the
/// combinations.
fn columns(dtype: DType, count: usize) -> Vec<Vec<u64>> {
    let values = operands(dtype);
    let n = if count == 1 { 4 * values.len() + 3 } else { values.len().pow(2) + 5 };
    let step = [1, values.len(), 7];
    (0..count).map(|j| (0..n).map(|i| values[i / step[j] % values.len()]).collect()).collect()
}

/// The layout of an operand in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    Contiguous,
    EverySecond,
    Backwards,
}

fn array(dtype: DType, bits: &[u64], lie: Lie) -> Result<Array<'static>> {
    let n = bits.len();
    Ok(match lie {
        Lie::Contiguous => elements::array(dtype, &[n], bits),
        Lie::EverySecond => {
            let spread: Vec<u64> = bits.iter().flat_map(|&x| [x, 0]).collect();
            elements::array(dtype, &[2 * n], &spread).slice(Range::from(..).step(2))?
        }
        Lie::Backwards => {
            let back: Vec<u64> = bits.iter().rev().copied().collect();
            elements::array(dtype, &[n], &back).flip(0)?
        }
    })
}

/// An operation that only moves bits: its name, the expression of two arrays, and a function that computes the bits of a
/// result's element from the bits of the two operands' elements and the sign bit.
type Move =
    (&'static str, fn(&Array<'static>, &Array<'static>) -> Result<Array<'static>>, fn(u64, u64, u64) -> u64);

const MOVES: [Move; 6] = [
    ("positive", |x, _| Ok(x.positive()), |x, _, _| x),
    ("negative", |x, _| Ok(-x), |x, _, sign| x ^ sign),
    ("abs", |x, _| Ok(x.abs()), |x, _, sign| x & !sign),
    ("copysign(x, -1)", |x, _| Ok(x.copysign(-1.0)), |x, _, sign| x | sign),
    ("copysign(other, x)", |x, other| Ok(other.copysign(x)), |x, other, sign| other & !sign | x & sign),
    (
        "flip, where, flip",
        |x, other| {
            let n = x.shape()[0];
            let turned = where_(Array::full(&[n], true)?, x.flip(0)?, other.flip(0)?);
            turned.flip(0)
        },
        |x, _, _| x,
    ),
];

/// Every function of floats with a float result, and every conversion between floats: alone, and followed by moves.
#[test]
fn functions_give_the_scalar_definitions_nan_and_moves_keep_it() -> Result<()> {
    let mut checked = 0;
    for dtype in FLOATS {
        let ops = Op::public().filter(|op| op.result(dtype) == Some(dtype) && *op != Op::Where);
        for (i, op) in ops.enumerate() {
            let bits = columns(dtype, op.operands());
            let scalar = |bits| Scalar { dtype, bits };
            let want: Vec<u64> = (0..bits[0].len())
                .map(|i| bits.iter().map(|column| scalar(column[i])).collect::<Vec<_>>())
                .map(|args| fold::apply(op, &args).expect("takes floats").bits)
                .collect();
            let lies = [Lie::Contiguous, Lie::EverySecond, Lie::Backwards];
            for lie in lies.into_iter().skip(i % one_of(3)).step_by(one_of(3)) {
                let operands: Vec<_> =
                    bits.iter().map(|column| array(dtype, column, lie)).collect::<Result<_>>()?;
                let result = Array::apply(op, &operands)?;
                checked += stored_and_moved(&format!("{op} of {dtype}, {lie:?}"), &result, &want, lie)?;
            }
        }
        for to in FLOATS {
            let bits = columns(dtype, 1).remove(0);
            let want: Vec<u64> =
                bits.iter().map(|&bits| fold::cast(Scalar { dtype, bits }, to).bits).collect();
            for lie in [Lie::Contiguous, Lie::EverySecond] {
                let result = array(dtype, &bits, lie)?.astype(to);
                checked += stored_and_moved(&format!("{dtype} to {to}, {lie:?}"), &result, &want, lie)?;
            }
        }
    }
    let runners = Runner::all().count();
    assert!(checked > 250_000 / one_of(3) * runners, "{checked} elements by {runners}");
    Ok(())
}

/// Checks the bits of a result on each executor and width. If the operands are not contiguous, also checks operations that
/// move the result, in the same evaluation.
fn stored_and_moved(what: &str, result: &Array<'static>, want: &[u64], lie: Lie) -> Result<usize> {
    let (dtype, mut checked) = (result.dtype(), 0);
    let (sign, _, infinity) = format(dtype);
    // NaNs, and numbers of both signs.
    let other: Vec<u64> =
        (0..want.len() as u64).map(|i| ((infinity + 3) >> (i % 3)) | (sign * (i % 2))).collect();
    let beside = elements::array(dtype, &[want.len()], &other);
    let mut roots = vec![("stored", result.clone(), want.to_vec())];
    if lie != Lie::Contiguous {
        for (name, apply, bits) in MOVES {
            let moved = want.iter().zip(&other).map(|(&x, &other)| bits(x, other, sign)).collect();
            roots.push((name, apply(result, &beside)?, moved));
        }
    }
    let all: Vec<&Array<'static>> = roots.iter().map(|(_, root, _)| root).collect();
    for runner in Runner::all() {
        for (got, (name, _, want)) in Evaluation::with(&runner.options()).eval_many(&all)?.iter().zip(&roots)
        {
            let got = elements::bits(got)?;
            assert_eq!(elements::difference(dtype, &got, want), None, "{what}, {name}, {runner:?}");
            checked += got.len();
        }
    }
    Ok(checked)
}

/// A user saw three output files of one expression differ. The last length is long enough for the engine to change the
/// executor between evaluations.
#[test]
fn acosh_below_one_is_one_pattern() -> Result<()> {
    for dtype in FLOATS {
        let (_, nan, _) = format(dtype);
        for n in [1, 7, 1000, 100_003] {
            let x = Array::linspace(-1.0, 0.999, n)?.astype(dtype);
            for runner in Runner::all().chain([Runner::AUTO]) {
                for _ in 0..if runner == Runner::AUTO { 12 } else { 1 } {
                    let got = elements::bits(&x.acosh().eval_with(&runner.options())?)?;
                    let at = got.iter().position(|&bits| bits != nan);
                    assert_eq!(at, None, "{dtype}, {n} elements, {runner:?}: {:#x}", got[at.unwrap_or(0)]);
                }
            }
        }
    }
    Ok(())
}

/// NaN bits of expressions that rules simplify, that are computed twice or materialised, or that only move elements.
#[test]
fn rules_temporaries_and_shared_values_change_no_bit_of_a_nan() -> Result<()> {
    // Each text, and whether its result keeps the bits of a NaN in x.
    let rows = [
        ("x * 1", false),
        ("x / 1", false),
        ("x - 0.0", false),
        ("x + (-0.0)", false),
        ("x ** 1", false),
        ("x * (-1) * (-1)", false),
        ("maximum(x, x)", false),
        ("minimum(x, x)", false),
        ("floor(trunc(x))", false),
        ("astype(astype(x, float64), float32)", false),
        ("where(x < 0, x * 1, x + 0)", false),
        // The operand of the outer reshape is materialised, because no strides can express the reshape.
        ("reshape(permute_dims(reshape(x + 1, [4, 3]), [1, 0]), [12])", false),
        ("reshape(permute_dims(reshape(x, [4, 3]), [1, 0]), [12])", true),
        ("-(-x)", true),
        ("+x", true),
        ("abs(x)", true),
        ("copysign(x, 1)", true),
        ("where(isnan(x), x, x + 1)", true),
        ("where(isnan(x), flip(flip(x, 0), 0), -x)", true),
        ("astype(x, float32)", true),
    ];
    let bits: Vec<u64> = [5, 1, 0x40_0000, 0x12_3456].iter().map(|payload| 0x7f80_0000 | payload).collect();
    let bits: Vec<u64> = (0..12).map(|i| if i < 10 { bits[i % 4] } else { 0x3f00_0000 }).collect();
    let x = elements::array(DType::Float32, &[12], &bits);
    for (source, keeps) in rows {
        let y = text::expression(source, &[("x", x.clone())])?;
        for runner in Runner::all() {
            for rules in [Rules::On, Rules::Off] {
                let options = Options { rules, ..runner.options() };
                let mut got = elements::bits(&y.eval_with(&options)?)?;
                let nans = got.extract_if(.., |bits| *bits & 0x7fff_ffff > 0x7f80_0000).collect::<Vec<_>>();
                let mut want = if keeps { bits[..10].to_vec() } else { vec![0x7fc0_0000; 10] };
                let mut sorted = nans.clone();
                want.sort_unstable();
                sorted.sort_unstable();
                assert_eq!(sorted, want, "{source}, {runner:?}, {rules:?}: {nans:x?}");
            }
        }
    }
    Ok(())
}
