//! Every function of integers, at the limits of every integer dtype and for shift counts out of range. All
//! executors and constant folding return the oracle's results, and no signal is raised, with either option for
//! division by zero.

use broadloom::prelude::*;
use broadloom::{ErrorKind, IntDivision, Op, Options};
use broadloom_testkit::Runner;
use broadloom_testkit::Value;
use broadloom_testkit::elements;
use broadloom_testkit::one_of;
use broadloom_testkit::oracle::{self, ModelSignature};

/// The minimum and maximum, values next to zero, and shift counts near the width, as bits.
fn edge_values(dtype: DType) -> Vec<u64> {
    let width = 8 * dtype.size() as u64;
    let mask = u64::MAX >> (64 - width);
    let (min, max) = (mask ^ (mask >> 1), mask >> 1);
    let mut bits = vec![0, 1, 2, mask, mask - 1, min, min + 1, max, max - 1];
    bits.extend([width - 1, width, width + 1, 31, 32, 63, 64, 65, 127]);
    bits.extend([width - 1, width, width + 1].map(|count| count.wrapping_neg() & mask));
    bits.sort_unstable();
    bits.dedup();
    bits
}

/// Rows of operands: all combinations of two operands, each with a few values of the third operand if there is
/// one.
fn rows(dtype: DType, operands: usize) -> Vec<Vec<u64>> {
    let all = edge_values(dtype);
    let few = [all[0], all[all.len() / 2], all[all.len() - 1]];
    let mut rows: Vec<Vec<u64>> = all.iter().map(|&x| vec![x]).collect();
    for operand in 1..operands {
        let next = if operand == 2 { &few[..] } else { &all[..] };
        rows = rows
            .iter()
            .flat_map(|row| next.iter().map(|&x| [&row[..], &[x]].concat()).collect::<Vec<_>>())
            .collect();
    }
    rows
}

/// Every op of the oracle that takes integers, with every integer dtype.
fn cases() -> Vec<(Op, DType)> {
    // `where` only moves integers, and is left out.
    let all = Op::ALL.iter().filter(|op| **op != Op::Where && ModelSignature::of(op.name()).is_some());
    let of = |&op: &Op| op.dtypes().iter().filter(|dtype| dtype.is_integer()).map(move |&dtype| (op, dtype));
    all.flat_map(of).collect()
}

fn right(op: Op, dtype: DType, row: &[u64]) -> Value {
    let values: Vec<Value> =
        row.iter().map(|&x| Value::from_bits(dtype.name(), x).expect("an integer")).collect();
    oracle::apply(op.name(), &values).unwrap_or_else(|| panic!("{op} of {dtype}"))
}

/// The bits of the result; `None` if a zero divisor is an error.
fn evaluated(x: Result<Array<'_>>, options: &Options, name: &str) -> Option<Vec<u64>> {
    match x.and_then(|x| x.eval_with(options)) {
        Ok(x) => Some(elements::bits(&x).expect("evaluated")),
        Err(e) if e.kind() == ErrorKind::ZeroDivision => None,
        Err(e) => panic!("{name}: {e}"),
    }
}

#[test]
fn no_operand_of_an_integer_function_raises_a_signal() {
    let cases = cases();
    assert!(cases.len() > 200, "{} cases", cases.len());
    for (op, dtype) in cases {
        let rows = rows(dtype, op.operands());
        let want: Vec<u64> = rows.iter().map(|row| right(op, dtype, row).bits()).collect();
        let column = |i: usize| rows.iter().map(|row| row[i]).collect::<Vec<_>>();
        let arrays: Vec<_> =
            (0..op.operands()).map(|i| elements::array(dtype, &[rows.len()], &column(i))).collect();
        let divides = op.faults(dtype);
        for runner in Runner::all() {
            for int_division in [IntDivision::Zero, IntDivision::Error] {
                let options = Options { int_division, threads: Some(1), ..runner.options() };
                let name = format!("{op} of {dtype}, {runner:?}, {int_division:?}");
                let x = Array::apply(op, &arrays);
                let result = x.as_ref().map_or(dtype, |x| x.dtype());
                let may_fail = divides && int_division == IntDivision::Error;
                match evaluated(x, &options, &name) {
                    Some(got) if !may_fail => {
                        assert_eq!(elements::difference(result, &got, &want), None, "{name}");
                    }
                    got => assert!(may_fail && got.is_none(), "{name}"),
                }
                // Each row alone, as constants, which are folded if the op can't fail.
                for (row, want) in rows.iter().zip(&want).step_by(one_of(40)) {
                    let constants: Vec<_> = row
                        .iter()
                        .map(|&x| Array::scalar(elements::literal(dtype, x)).astype(dtype))
                        .collect();
                    let name = format!("{name}, {row:x?}");
                    let fails = may_fail && row[1] == 0;
                    match evaluated(Array::apply(op, &constants), &options, &name) {
                        Some(got) if !fails => {
                            assert_eq!(elements::difference(result, &got, &[*want]), None, "{name}");
                        }
                        got => assert!(fails && got.is_none(), "{name}"),
                    }
                }
            }
        }
    }
}

/// The second operand is a literal, for which code may be specialised.
#[test]
fn nor_does_a_literal() {
    for (op, dtype) in cases().into_iter().filter(|(op, _)| op.operands() == 2) {
        let column = edge_values(dtype);
        let x = elements::array(dtype, &[column.len()], &column);
        for &y in column.iter().step_by(one_of(2)) {
            let want: Vec<u64> = column.iter().map(|&x| right(op, dtype, &[x, y]).bits()).collect();
            for runner in Runner::all() {
                let options = Options { threads: Some(1), ..runner.options() };
                let name = format!("{op} of {dtype} by {y:#x}, {runner:?}");
                let quotient = Array::apply(op, &[x.clone(), Array::scalar(elements::literal(dtype, y))]);
                let result = quotient.as_ref().map_or(dtype, |x| x.dtype());
                let got = evaluated(quotient, &options, &name).expect("zero divisors are no error");
                assert_eq!(elements::difference(result, &got, &want), None, "{name}");
            }
        }
    }
}
