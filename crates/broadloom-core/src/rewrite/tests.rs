//! Every rule fires, and no tempting rule that is wrong does.

use super::*;
use crate::graph::IntDivision;
use crate::infer::Promotion;
use crate::layout::Layout;
use crate::shape::Shape;
use DType::{Bool, Float32, Int32};

type Build = fn(&mut Graph, NodeId, NodeId) -> Result<NodeId>;

fn lit(x: impl Into<Literal>) -> Arg {
    Arg::Literal(x.into())
}

fn check(name: &str, dtype: DType, before: Build, after: Build) {
    let mut g = Graph::default();
    let layout = Layout::contiguous(Shape::new(&[4]).unwrap());
    let x = g.input(0, dtype, layout.clone()).unwrap();
    let y = g.input(1, dtype, layout).unwrap();
    let before = before(&mut g, x, y).unwrap();
    let after = after(&mut g, x, y).unwrap();
    let (out, roots) = run(&g, &[before, after], Rules::On).unwrap();
    assert_eq!(roots[0], roots[1], "{name} on {dtype}:\n{out}");
}

/// One line per rule: it fires.
#[test]
fn every_rule_fires() {
    let rows: &[(&str, DType, Build, Build)] = &[
        ("positive(x) -> x", Float32, |g, x, _| g.apply(Op::Positive, &[x.into()]), |_, x, _| Ok(x)),
        ("negative(negative(x)) -> x", Float32, |g, x, _| twice(g, Op::Negative, x), |_, x, _| Ok(x)),
        (
            "bitwise_invert(bitwise_invert(x)) -> x",
            Int32,
            |g, x, _| twice(g, Op::BitwiseInvert, x),
            |_, x, _| Ok(x),
        ),
        ("logical_not(logical_not(x)) -> x", Bool, |g, x, _| twice(g, Op::LogicalNot, x), |_, x, _| Ok(x)),
        (
            "logical_not(x == y) -> x != y",
            Float32,
            |g, x, y| not(g, Op::Equal, x, y),
            |g, x, y| two(g, Op::NotEqual, x, y),
        ),
        (
            "logical_not(x != y) -> x == y",
            Float32,
            |g, x, y| not(g, Op::NotEqual, x, y),
            |g, x, y| two(g, Op::Equal, x, y),
        ),
        ("abs(abs(x)) -> abs(x)", Float32, |g, x, _| twice(g, Op::Abs, x), |g, x, _| one(g, Op::Abs, x)),
        (
            "abs(negative(x)) -> abs(x)",
            Int32,
            |g, x, _| {
                let n = one(g, Op::Negative, x)?;
                one(g, Op::Abs, n)
            },
            |g, x, _| one(g, Op::Abs, x),
        ),
        ("round to integral(integer) -> it", Int32, |g, x, _| one(g, Op::Floor, x), |_, x, _| Ok(x)),
        (
            "round to integral(integral) -> it",
            Float32,
            |g, x, _| {
                let n = one(g, Op::Ceil, x)?;
                one(g, Op::Floor, n)
            },
            |g, x, _| one(g, Op::Ceil, x),
        ),
        ("x * 1 -> x", Float32, |g, x, _| g.apply(Op::Multiply, &[lit(1), x.into()]), |_, x, _| Ok(x)),
        (
            "x * -1 -> negative(x)",
            Float32,
            |g, x, _| g.apply(Op::Multiply, &[x.into(), lit(-1)]),
            |g, x, _| one(g, Op::Negative, x),
        ),
        (
            "integer x * 0 -> 0",
            Int32,
            |g, x, _| g.apply(Op::Multiply, &[x.into(), lit(0)]),
            |g, _, _| zeros(g),
        ),
        ("x / 1 -> x", Float32, |g, x, _| g.apply(Op::Divide, &[x.into(), lit(1)]), |_, x, _| Ok(x)),
        (
            "x / 2 -> x * 0.5",
            Float32,
            |g, x, _| g.apply(Op::Divide, &[x.into(), lit(2)]),
            |g, x, _| g.apply(Op::Multiply, &[x.into(), lit(0.5)]),
        ),
        (
            "1 / x -> reciprocal(x)",
            Float32,
            |g, x, _| g.apply(Op::Divide, &[lit(1), x.into()]),
            |g, x, _| one(g, Op::Reciprocal, x),
        ),
        ("float x + -0 -> x", Float32, |g, x, _| g.apply(Op::Add, &[x.into(), lit(-0.0)]), |_, x, _| Ok(x)),
        (
            "float x - +0 -> x",
            Float32,
            |g, x, _| g.apply(Op::Subtract, &[x.into(), lit(0.0)]),
            |_, x, _| Ok(x),
        ),
        (
            "x + negative(y) -> x - y",
            Float32,
            |g, x, y| {
                let n = one(g, Op::Negative, y)?;
                two(g, Op::Add, x, n)
            },
            |g, x, y| two(g, Op::Subtract, x, y),
        ),
        (
            "x - negative(y) -> x + y",
            Int32,
            |g, x, y| {
                let n = one(g, Op::Negative, y)?;
                two(g, Op::Subtract, x, n)
            },
            |g, x, y| two(g, Op::Add, x, y),
        ),
        ("integer x + 0 -> x", Int32, |g, x, _| g.apply(Op::Add, &[x.into(), lit(0)]), |_, x, _| Ok(x)),
        ("integer x - 0 -> x", Int32, |g, x, _| g.apply(Op::Subtract, &[x.into(), lit(0)]), |_, x, _| Ok(x)),
        ("integer x - x -> 0", Int32, |g, x, _| two(g, Op::Subtract, x, x), |g, _, _| zeros(g)),
        ("x ^ x -> 0", Int32, |g, x, _| two(g, Op::BitwiseXor, x, x), |g, _, _| zeros(g)),
        ("x & x -> x", Int32, |g, x, _| two(g, Op::BitwiseAnd, x, x), |_, x, _| Ok(x)),
        ("x | x -> x", Int32, |g, x, _| two(g, Op::BitwiseOr, x, x), |_, x, _| Ok(x)),
        ("logical_and(x, x) -> x", Bool, |g, x, _| two(g, Op::LogicalAnd, x, x), |_, x, _| Ok(x)),
        ("logical_or(x, x) -> x", Bool, |g, x, _| two(g, Op::LogicalOr, x, x), |_, x, _| Ok(x)),
        ("maximum(x, x) -> x", Float32, |g, x, _| two(g, Op::Maximum, x, x), |_, x, _| Ok(x)),
        ("minimum(x, x) -> x", Float32, |g, x, _| two(g, Op::Minimum, x, x), |_, x, _| Ok(x)),
        ("x | 0 -> x", Int32, |g, x, _| g.apply(Op::BitwiseOr, &[x.into(), lit(0)]), |_, x, _| Ok(x)),
        ("x ^ 0 -> x", Int32, |g, x, _| g.apply(Op::BitwiseXor, &[x.into(), lit(0)]), |_, x, _| Ok(x)),
        (
            "integer x & -1 -> x",
            Int32,
            |g, x, _| g.apply(Op::BitwiseAnd, &[x.into(), lit(-1)]),
            |_, x, _| Ok(x),
        ),
        ("x & 0 -> 0", Int32, |g, x, _| g.apply(Op::BitwiseAnd, &[x.into(), lit(0)]), |g, _, _| zeros(g)),
        ("x << 0 -> x", Int32, |g, x, _| g.apply(Op::BitwiseLeftShift, &[x.into(), lit(0)]), |_, x, _| Ok(x)),
        (
            "x >> 0 -> x",
            Int32,
            |g, x, _| g.apply(Op::BitwiseRightShift, &[x.into(), lit(0)]),
            |_, x, _| Ok(x),
        ),
        (
            "where(true, x, y) -> x",
            Float32,
            |g, x, y| g.apply(Op::Where, &[lit(true), x.into(), y.into()]),
            |_, x, _| Ok(x),
        ),
        (
            "where(false, x, y) -> y",
            Float32,
            |g, x, y| g.apply(Op::Where, &[lit(false), x.into(), y.into()]),
            |_, _, y| Ok(y),
        ),
        (
            "where(c, x, x) -> x",
            Float32,
            |g, x, y| {
                let c = two(g, Op::Less, x, y)?;
                g.apply(Op::Where, &[c.into(), x.into(), x.into()])
            },
            |_, x, _| Ok(x),
        ),
        (
            "where(logical_not(c), x, y) -> where(c, y, x)",
            Float32,
            |g, x, y| {
                let c = two(g, Op::Less, x, y)?;
                let n = one(g, Op::LogicalNot, c)?;
                g.apply(Op::Where, &[n.into(), x.into(), y.into()])
            },
            |g, x, y| {
                let c = two(g, Op::Less, x, y)?;
                g.apply(Op::Where, &[c.into(), y.into(), x.into()])
            },
        ),
        (
            "astype(astype(x, wider), back) -> x",
            Float32,
            |g, x, _| {
                let w = g.cast(x, DType::Float64)?;
                g.cast(w, Float32)
            },
            |_, x, _| Ok(x),
        ),
    ];
    for (name, dtype, before, after) in rows {
        check(name, *dtype, *before, *after);
    }
    let tested: Vec<&str> = rows.iter().map(|r| r.0).collect();
    let untested: Vec<&str> = RULES.iter().map(|r| r.name).filter(|n| !tested.contains(n)).collect();
    assert!(untested.is_empty(), "rules without a line here: {untested:?}");
}

fn one(g: &mut Graph, op: Op, x: NodeId) -> Result<NodeId> {
    g.apply(op, &[x.into()])
}
fn two(g: &mut Graph, op: Op, x: NodeId, y: NodeId) -> Result<NodeId> {
    g.apply(op, &[x.into(), y.into()])
}
fn twice(g: &mut Graph, op: Op, x: NodeId) -> Result<NodeId> {
    let inner = one(g, op, x)?;
    one(g, op, inner)
}
fn not(g: &mut Graph, op: Op, x: NodeId, y: NodeId) -> Result<NodeId> {
    let inner = two(g, op, x, y)?;
    one(g, Op::LogicalNot, inner)
}
fn zeros(g: &mut Graph) -> Result<NodeId> {
    let zero = g.constant(crate::Scalar::of(0i32), None)?;
    g.view(zero, View::BroadcastTo(Shape::new(&[4])?))
}

/// What would be tempting and is wrong for floats stays.
#[test]
fn inexact_temptations_are_resisted() {
    let rows: &[Build] = &[
        |g, x, _| g.apply(Op::Multiply, &[x.into(), lit(0)]),
        |g, x, _| g.apply(Op::Add, &[x.into(), lit(0.0)]),
        |g, x, _| g.apply(Op::Subtract, &[x.into(), lit(-0.0)]),
        |g, x, _| two(g, Op::Subtract, x, x),
        |g, x, _| two(g, Op::Divide, x, x),
        |g, x, _| g.apply(Op::Divide, &[x.into(), lit(3)]),
        |g, x, y| not(g, Op::Less, x, y),
        |g, x, _| two(g, Op::Equal, x, x),
    ];
    for (i, build) in rows.iter().enumerate() {
        let mut g = Graph::default();
        let layout = Layout::contiguous(Shape::new(&[4]).unwrap());
        let x = g.input(0, Float32, layout.clone()).unwrap();
        let y = g.input(1, Float32, layout).unwrap();
        let root = build(&mut g, x, y).unwrap();
        let (on, _) = run(&g, &[root], Rules::On).unwrap();
        let (off, _) = run(&g, &[root], Rules::Off).unwrap();
        assert_eq!(on.to_string(), off.to_string(), "row {i}");
    }
}

#[test]
fn a_node_that_may_fail_is_kept() {
    let mut g = Graph::new(Promotion::Strict, IntDivision::Error);
    let layout = Layout::contiguous(Shape::new(&[4]).unwrap());
    let x = g.input(0, Int32, layout).unwrap();
    let q = two(&mut g, Op::FloorDivide, x, x).unwrap();
    let dropped = g.apply(Op::Multiply, &[q.into(), lit(0)]).unwrap();
    let (out, _) = run(&g, &[dropped], Rules::On).unwrap();
    assert!(out.to_string().contains("floor_divide"), "{out}");
}

#[test]
fn arithmetic_is_canonical_where_a_nan_sign_is_read_through_moves() {
    let mut g = Graph::default();
    let layout = Layout::contiguous(Shape::new(&[4]).unwrap());
    let x = g.input(0, Float32, layout.clone()).unwrap();
    let y = g.input(1, Float32, layout).unwrap();
    let sum = two(&mut g, Op::Add, x, y).unwrap();
    let c = two(&mut g, Op::Less, x, y).unwrap();
    let chosen = g.apply(Op::Where, &[c.into(), sum.into(), y.into()]).unwrap();
    let minus = one(&mut g, Op::Negative, chosen).unwrap();
    let bit = one(&mut g, Op::SignBit, minus).unwrap();
    for rules in [Rules::On, Rules::Off] {
        let (out, _) = run(&g, &[bit], rules).unwrap();
        assert_eq!(out.to_string().matches("canonical_nan").count(), 1, "{out}");
    }
    let (out, _) = run(&g, &[minus], Rules::On).unwrap();
    assert!(!out.to_string().contains("canonical_nan"), "{out}");
}
