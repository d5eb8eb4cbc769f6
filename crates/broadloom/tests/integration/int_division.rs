//! The option `IntDivision::Error`: which evaluations fail, which is the same on every executor.

use broadloom::prelude::*;
use broadloom::{ErrorKind, IntDivision, Options, fori_loop, scan};
use broadloom_testkit::Runner;

fn ints<'a>(values: &[i32]) -> Array<'a> {
    Array::from_vec(values.to_vec())
}

fn slice<'a>(x: &Array<'a>, from: isize, to: isize) -> Array<'a> {
    x.slice([Range::from(from..to)]).expect("inside")
}

/// An expression, and the op that its error names; `None` if it does not fail.
type Refused = (&'static str, fn() -> Array<'static>, Option<&'static str>);

const ROWS: &[Refused] = &[
    ("no zero", || ints(&[7, 8]).floor_divide(ints(&[2, 3])), None),
    ("a zero", || ints(&[7, 8]).floor_divide(ints(&[2, 0])), Some("floor_divide")),
    (
        "a zero that where does not select",
        || where_(ints(&[0, 1]).equal(1), ints(&[7, 8]).remainder(ints(&[0, 3])), 5),
        Some("remainder"),
    ),
    (
        "a zero that a slice leaves out",
        || slice(&ints(&[7, 8, 9]).trunc_divide(ints(&[0, 1, 2])), 1, 3),
        Some("trunc_divide"),
    ),
    (
        "a zero in an element that meets an empty array",
        || ints(&[1]).floor_divide(ints(&[0])) + ints(&[]),
        Some("floor_divide"),
    ),
    (
        "a zero that is broadcast to nothing",
        || ints(&[1]).floor_divide(ints(&[0])).broadcast_to(&[0]).expect("fits"),
        Some("floor_divide"),
    ),
    ("a node without elements", || ints(&[]).floor_divide(ints(&[0])), None),
    (
        "a product with zero does not hide it",
        || ints(&[7, 8]).floor_divide(ints(&[2, 0])).multiply(0),
        Some("floor_divide"),
    ),
    (
        "the first of two in evaluation order",
        || ints(&[1]).remainder(ints(&[0])) + ints(&[1]).floor_divide(ints(&[0])),
        Some("remainder"),
    ),
    ("a literal divisor", || ints(&[1, 2]).remainder(0), Some("remainder")),
    ("literals only", || Array::scalar(1).floor_divide(0), Some("floor_divide")),
    (
        "a zero in what a loop captures, and multiplies by zero",
        || {
            let captured = ints(&[7, 8]).floor_divide(ints(&[2, 0]));
            let [x] =
                fori_loop(0, 2, |_, [x]| [x + (x * &captured).multiply(0)], [ints(&[1, 2])]).expect("a loop");
            x
        },
        Some("floor_divide"),
    ),
    (
        "a zero in what a scan captures, and multiplies by zero",
        || {
            let captured = ints(&[7, 8]).remainder(ints(&[2, 0]));
            let rows = ints(&[1, 2, 3, 4]).reshape(&[2, 2]).expect("four");
            let step = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
                ([s + x + (s * &captured).multiply(0)], [])
            };
            let ([last], []) = scan(step, [Array::scalar(0)], [rows], 0).expect("a scan");
            last
        },
        Some("remainder"),
    ),
    ("floats divide by zero", || ints(&[1]).astype(DType::Float32).floor_divide(0), None),
];

#[test]
fn zero_divisors_fail_where_they_should() {
    for (name, build, fails) in ROWS {
        for runner in Runner::all().chain([Runner::AUTO]) {
            let options = Options { int_division: IntDivision::Error, ..runner.options() };
            match (build().eval_with(&options), fails) {
                (Ok(_), None) => {}
                (Err(e), Some(op)) => {
                    assert_eq!(e.kind(), ErrorKind::ZeroDivision, "{name}: {e}");
                    assert!(e.message().starts_with(op), "{name}: {e}");
                }
                (got, _) => panic!("{name} under {runner:?}: {:?}", got.map(|x| x.to_string())),
            }
            assert!(build().eval().is_ok(), "{name}: the default gives 0");
        }
    }
}
