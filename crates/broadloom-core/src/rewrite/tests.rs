//! Tests that every rule fires, and that tempting but wrong rewrites do not take place.

use super::*;
use crate::graph::inferred::Arg;
use crate::graph::{IntDivision, Semantics};
use crate::layout::Layout;
use crate::shape::Shape;
use crate::{Scalar, fold};
use DType::{Bool, Float32, Int32};
use broadloom_math::Elem;

type Build = fn(&mut Graph, NodeId, NodeId) -> Result<NodeId>;

fn lit(x: impl Into<Literal>) -> Arg {
    Arg::Literal(x.into())
}

fn first_operand(graph: &Graph, id: NodeId) -> NodeId {
    *graph.node(id).kind.operands().next().expect("a function")
}

fn check(name: &str, dtype: DType, before: Build, after: Build) {
    let mut g = Graph::default();
    let layout = Layout::contiguous(Shape::new(&[4]).unwrap());
    let x = g.input(0, dtype, layout.clone()).unwrap();
    let y = g.input(1, dtype, layout).unwrap();
    let before = before(&mut g, x, y).unwrap();
    let after = after(&mut g, x, y).unwrap();
    // For floats, the test compares `isfinite` of the results, which does not read the bits of a NaN: otherwise a
    // computed NaN would be made canonical on one side only.
    let unread = |g: &mut Graph, x| if g.node(x).dtype.is_float() { one(g, Op::IsFinite, x) } else { Ok(x) };
    let both = [before, after].map(|x| unread(&mut g, x).unwrap());
    let (out, roots, firings) = explain(&g, &both, Rules::On).unwrap();
    assert_eq!(roots[0], roots[1], "{name} on {dtype}:\n{out}");
    let fired: Vec<&str> = firings.iter().filter(|f| f.at == before).map(|f| f.rule).collect();
    assert!(fired.contains(&name), "{name} on {dtype}: {fired:?}");
}

/// Each rule fires for the expression in its row.
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
        ("x ** 0 -> 1", Int32, |g, x, _| g.apply(Op::Pow, &[x.into(), lit(0)]), |g, _, _| of_all(g, 1i32)),
        ("x ** 0 -> 1", Float32, |g, x, _| g.apply(Op::Pow, &[x.into(), lit(0)]), |g, _, _| of_all(g, 1f32)),
        (
            "x ** 0 -> 1",
            Float32,
            |g, x, _| g.apply(Op::Pow, &[x.into(), lit(-0.0)]),
            |g, _, _| of_all(g, 1f32),
        ),
        ("x ** 1 -> x", Int32, |g, x, _| g.apply(Op::Pow, &[x.into(), lit(1)]), |_, x, _| Ok(x)),
        ("x ** 1 -> x", Float32, |g, x, _| g.apply(Op::Pow, &[x.into(), lit(1)]), |_, x, _| Ok(x)),
        (
            "x ** 2 -> square(x)",
            Int32,
            |g, x, _| g.apply(Op::Pow, &[x.into(), lit(2)]),
            |g, x, _| one(g, Op::Square, x),
        ),
        (
            "x ** 2 -> square(x)",
            Float32,
            |g, x, _| g.apply(Op::Pow, &[x.into(), lit(2.0)]),
            |g, x, _| one(g, Op::Square, x),
        ),
        (
            "float x ** -1 -> reciprocal(x)",
            Float32,
            |g, x, _| g.apply(Op::Pow, &[x.into(), lit(-1)]),
            |g, x, _| one(g, Op::Reciprocal, x),
        ),
        (
            "even(negative(x)) -> even(x)",
            Float32,
            |g, x, _| {
                let n = one(g, Op::Negative, x)?;
                one(g, Op::Cos, n)
            },
            |g, x, _| one(g, Op::Cos, x),
        ),
        (
            "even(abs(x)) -> even(x)",
            Float32,
            |g, x, _| {
                let n = one(g, Op::Abs, x)?;
                one(g, Op::Cosh, n)
            },
            |g, x, _| one(g, Op::Cosh, x),
        ),
        (
            "even(abs(x)) -> even(x)",
            Int32,
            |g, x, _| {
                let n = one(g, Op::Abs, x)?;
                g.apply(Op::Pow, &[n.into(), lit(2)])
            },
            |g, x, _| one(g, Op::Square, x),
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

/// Folding by the graph itself is reported like a rule; if rules are off, nothing else is reported.
#[test]
fn what_is_no_rule_is_told_too() {
    let mut g = Graph::default();
    let x = g.input(0, Float32, Layout::contiguous(Shape::new(&[4]).unwrap())).unwrap();
    let minus = two(&mut g, Op::Subtract, x, x).unwrap();
    let sign = one(&mut g, Op::SignBit, minus).unwrap();
    let same = one(&mut g, Op::Positive, x).unwrap();
    let (out, roots, firings) = explain(&g, &[sign, same], Rules::Off).unwrap();
    assert_eq!(firings.len(), 1, "{firings:?}");
    assert_eq!((firings[0].rule, firings[0].at), (CANONICAL, minus));
    assert!(out.node(roots[0]).kind.operands().eq([&firings[0].gives]));
    assert!(explain(&g, &[x], Rules::On).unwrap().2.is_empty());
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
fn there_and_back(g: &mut Graph, x: NodeId, through: DType) -> Result<NodeId> {
    let (dtype, there) = (g.node(x).dtype, g.cast(x, through)?);
    g.cast(there, dtype)
}
fn zeros(g: &mut Graph) -> Result<NodeId> {
    of_all(g, 0i32)
}
fn of_all<T: Elem>(g: &mut Graph, x: T) -> Result<NodeId> {
    let value = g.constant(Scalar::of(x), None)?;
    g.view(value, View::BroadcastTo(Shape::new(&[4])?))
}

/// Tempting but wrong rewrites do not take place.
#[test]
fn inexact_temptations_are_resisted() {
    let rows: &[(DType, Build)] = &[
        (Float32, |g, x, _| g.apply(Op::Multiply, &[x.into(), lit(0)])),
        (Float32, |g, x, _| g.apply(Op::Add, &[x.into(), lit(0.0)])),
        (Float32, |g, x, _| g.apply(Op::Subtract, &[x.into(), lit(-0.0)])),
        (Float32, |g, x, _| two(g, Op::Subtract, x, x)),
        (Float32, |g, x, _| two(g, Op::Divide, x, x)),
        (Float32, |g, x, _| g.apply(Op::Divide, &[x.into(), lit(3)])),
        (Float32, |g, x, y| not(g, Op::Less, x, y)),
        (Float32, |g, x, _| two(g, Op::Equal, x, x)),
        // The square root of −0 is −0, but its power of 0.5 is 0; the square root of −infinity is NaN, but its power of
        // 0.5 is infinity.
        (Float32, |g, x, _| g.apply(Op::Pow, &[x.into(), lit(0.5)])),
        // x·x·x would round twice.
        (Float32, |g, x, _| g.apply(Op::Pow, &[x.into(), lit(3)])),
        (Float32, |g, x, _| g.apply(Op::Pow, &[x.into(), lit(-2)])),
        (Float32, |g, x, _| {
            let e = one(g, Op::Exp, x)?;
            one(g, Op::Log, e)
        }),
        // The function is odd.
        (Float32, |g, x, _| {
            let n = one(g, Op::Abs, x)?;
            one(g, Op::Sin, n)
        }),
        // x ** -1 of integers is 0 except for x = 1 and x = −1; 255 is the largest exponent of uint8.
        (Int32, |g, x, _| g.apply(Op::Pow, &[x.into(), lit(-1)])),
        (DType::UInt8, |g, x, _| g.apply(Op::Pow, &[x.into(), lit(255)])),
        // Sums and products are rounded in the order in which they are written.
        (Float32, |g, x, y| {
            let sum = two(g, Op::Add, x, y)?;
            two(g, Op::Add, sum, x)
        }),
        (Float32, |g, x, y| {
            let product = two(g, Op::Multiply, x, y)?;
            two(g, Op::Multiply, product, x)
        }),
        // Negating an unsigned x wraps.
        (DType::UInt8, |g, x, _| {
            let n = one(g, Op::Negative, x)?;
            one(g, Op::Abs, n)
        }),
        // These conversions to another dtype and back lose values.
        (Int32, |g, x, _| there_and_back(g, x, Float32)),
        (Int32, |g, x, _| there_and_back(g, x, DType::UInt32)),
        (Int32, |g, x, _| there_and_back(g, x, Bool)),
        (DType::UInt32, |g, x, _| there_and_back(g, x, Int32)),
        (DType::Int64, |g, x, _| there_and_back(g, x, DType::Float64)),
        (DType::Int16, |g, x, _| there_and_back(g, x, DType::Float16)),
        (Float32, |g, x, _| there_and_back(g, x, DType::Float16)),
        (Float32, |g, x, _| there_and_back(g, x, DType::Int64)),
    ];
    for (i, (dtype, build)) in rows.iter().enumerate() {
        let mut g = Graph::default();
        let layout = Layout::contiguous(Shape::new(&[4]).unwrap());
        let x = g.input(0, *dtype, layout.clone()).unwrap();
        let y = g.input(1, *dtype, layout).unwrap();
        let root = build(&mut g, x, y).unwrap();
        let (on, root_on) = run(&g, &[root], Rules::On).unwrap();
        let (off, root_off) = run(&g, &[root], Rules::Off).unwrap();
        // Roots are compared as well, since a rule may replace a node by an existing one.
        assert_eq!((on.to_string(), root_on), (off.to_string(), root_off), "row {i}");
    }
}

/// A value that depends on the counter `i`: evenly spread bits, or bits close to 0, 1 and the ends of the range.
fn some(dtype: DType, i: u64) -> Scalar {
    let mut bits = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^= bits >> 31;
    let width = 8 * dtype.size() as u32;
    let near = match i % 8 {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << (width - 1),
        // Ordinary magnitudes, with exponents close to 0.
        3..6 => match dtype {
            DType::Float16 => 0x3800 + bits % 0x1800,
            Float32 => 0x3d00_0000 + bits % 0x0800_0000,
            _ => 0x3fa0_0000_0000_0000 + bits % 0x0100_0000_0000_0000,
        },
        _ => bits,
    };
    let bits = if i % 8 < 3 { near.wrapping_add(bits % 9).wrapping_sub(4) } else { near };
    Scalar { dtype, bits: bits & (u64::MAX >> (64 - width)) }
}

/// Compares both sides of the rules on powers and even functions, for every float16 and many other numbers.
#[test]
fn powers_and_even_functions_are_what_their_rules_say() {
    let same = |what: &str, x: Scalar, a: Option<Scalar>, b: Option<Scalar>| {
        let (a, b) = (a.expect("an accepted dtype"), b.expect("an accepted dtype"));
        assert_eq!(a, b, "{what} of {x:?}");
    };
    for &dtype in Op::Pow.dtypes() {
        let n = if dtype.size() <= 2 { 1 << (8 * dtype.size()) } else { 50_000 };
        for i in 0..n {
            let x = if dtype.size() <= 2 { Scalar { dtype, bits: i } } else { some(dtype, i) };
            let power = |y: Literal| fold::apply(Op::Pow, &[x, y.to_dtype(dtype).expect("fits")]);
            same("power of 0", x, power(Literal::Int(0)), Literal::Int(1).to_dtype(dtype).ok());
            // A computed NaN is canonical, so its bits may differ from those of x.
            let computed = if x.is_nan() { fold::apply(Op::CanonicalNan, &[x]) } else { Some(x) };
            same("power of 1", x, power(Literal::Int(1)), computed);
            same("power of 2", x, power(Literal::Int(2)), fold::apply(Op::Square, &[x]));
            if dtype.is_float() {
                same("power of -0", x, power(Literal::Float(-0.0)), Literal::Int(1).to_dtype(dtype).ok());
                same("power of -1", x, power(Literal::Int(-1)), fold::apply(Op::Reciprocal, &[x]));
            }
            for &even in EVEN.iter().filter(|even| even.dtypes().contains(&dtype)) {
                for sign in [Op::Negative, Op::Abs] {
                    let other = fold::apply(sign, &[x]).expect("takes every number");
                    same(even.name(), x, fold::apply(even, &[other]), fold::apply(even, &[x]));
                }
            }
        }
    }
}

#[test]
fn a_node_that_may_fail_is_kept() {
    let mut g = Graph::new(Semantics { int_division: IntDivision::Error, ..Semantics::default() });
    let layout = Layout::contiguous(Shape::new(&[4]).unwrap());
    let x = g.input(0, Int32, layout).unwrap();
    let q = two(&mut g, Op::FloorDivide, x, x).unwrap();
    let condition = g.cast(q, Bool).unwrap();
    for dropped in [
        g.apply(Op::Multiply, &[q.into(), lit(0)]),
        g.apply(Op::Pow, &[q.into(), lit(0)]),
        g.apply(Op::BitwiseAnd, &[q.into(), lit(0)]),
        two(&mut g, Op::Subtract, q, q),
        two(&mut g, Op::BitwiseXor, q, q),
        g.apply(Op::Where, &[condition.into(), x.into(), x.into()]),
        g.apply(Op::Where, &[lit(true), x.into(), q.into()]),
        g.apply(Op::Where, &[lit(false), q.into(), x.into()]),
    ] {
        let (out, roots) = run(&g, &[dropped.unwrap()], Rules::On).unwrap();
        // The node is in the graph with and without the rule; the test is whether the root still needs it.
        assert!(out.node(roots[0]).faults, "{out}");
    }
}

/// The number of nodes of a graph that make a NaN canonical.
fn canonical_nans(graph: &Graph) -> usize {
    graph.nodes().iter().filter(|node| node.kind.args_of(Op::CanonicalNan).is_some()).count()
}

/// A NaN's bits are read by a store, by functions of the sign bit and by a host function, also through operations that
/// move them.
#[test]
fn arithmetic_is_canonical_at_its_origin_where_its_nan_is_read_through_moves() -> Result<()> {
    let f = crate::HostDeclaration::new("f", &[Float32], DType::UInt32, 1).expect("a name");
    let mut g = Graph::default();
    let layout = Layout::contiguous(Shape::new(&[4])?);
    let x = g.input(0, Float32, layout.clone())?;
    let y = g.input(1, Float32, layout)?;
    let sum = two(&mut g, Op::Add, x, y)?;
    let c = two(&mut g, Op::Less, x, y)?;
    let chosen = g.apply(Op::Where, &[c.into(), sum.into(), y.into()])?;
    let turned = g.view(chosen, View::Reshape(Shape::new(&[2, 2])?))?;
    let minus = one(&mut g, Op::Negative, turned)?;
    let size = one(&mut g, Op::Abs, turned)?;
    let signed = g.apply(Op::CopySign, &[turned.into(), lit(-1.0)])?;
    let readers = [
        (sum, "a store"),
        (chosen, "a store, by where"),
        (turned, "a store, through a view"),
        (minus, "a store, by negative"),
        (size, "a store, by abs"),
        (signed, "a store, by copysign"),
        (one(&mut g, Op::SignBit, minus)?, "signbit"),
        (two(&mut g, Op::CopySign, y, sum)?, "copysign"),
        (g.call(&f, &[size.into()])?, "a host function"),
    ];
    for (reader, what) in readers {
        for rules in [Rules::On, Rules::Off] {
            let (out, _) = run(&g, &[reader], rules)?;
            assert_eq!(canonical_nans(&out), 1, "{what}: {out}");
            let at_origin = out
                .nodes()
                .iter()
                .filter_map(|node| node.kind.args_of(Op::CanonicalNan))
                .all(|args| args.iter().all(|&a| out.node(a).kind.args_of(Op::Add).is_some()));
            assert!(at_origin, "{what}: {out}");
        }
    }
    // These readers only test for NaN, or store a number that can't be the NaN.
    for unread in [one(&mut g, Op::IsFinite, minus)?, c, two(&mut g, Op::Less, sum, y)?, g.cast(sum, Int32)?]
    {
        let (out, _) = run(&g, &[unread], Rules::On)?;
        assert_eq!(canonical_nans(&out), 0, "{out}");
    }
    Ok(())
}

/// A NaN that is loaded and only moved keeps its bits; a NaN that a function selects by its bits is canonical already.
#[test]
fn moves_and_canonical_functions_are_left_as_they_are() -> Result<()> {
    let rows: &[Build] = &[
        |_, x, _| Ok(x),
        |g, x, _| one(g, Op::Abs, x),
        |g, x, _| one(g, Op::Negative, x),
        |g, x, y| two(g, Op::CopySign, x, y),
        |g, x, y| {
            let c = two(g, Op::Less, x, y)?;
            g.apply(Op::Where, &[c.into(), x.into(), y.into()])
        },
        |g, x, y| two(g, Op::Maximum, x, y),
        |g, x, y| two(g, Op::NextAfter, x, y),
        |g, x, y| g.apply(Op::Clip, &[x.into(), y.into(), lit(1)]),
        |g, x, _| one(g, Op::Sign, x),
        |g, x, _| {
            let n = g.cast(x, Int32)?;
            g.cast(n, Float32)
        },
        |g, x, _| g.apply(Op::Pow, &[x.into(), lit(0)]),
    ];
    for (i, build) in rows.iter().enumerate() {
        let mut g = Graph::default();
        let layout = Layout::contiguous(Shape::new(&[4])?);
        let x = g.input(0, Float32, layout.clone())?;
        let y = g.input(1, Float32, layout)?;
        let root = build(&mut g, x, y)?;
        let (out, _) = run(&g, &[root], Rules::On)?;
        assert_eq!(canonical_nans(&out), 0, "row {i}: {out}");
    }
    Ok(())
}

/// A rule may replace a computation by its operand; a NaN of the result is canonical nevertheless.
#[test]
fn what_replaces_arithmetic_is_canonical_where_its_nan_is_read() {
    let rows: &[Build] = &[
        |g, x, _| g.apply(Op::Pow, &[x.into(), lit(1)]),
        |g, x, _| g.apply(Op::Pow, &[x.into(), lit(2)]),
        |g, x, _| g.apply(Op::Pow, &[x.into(), lit(-1)]),
        |g, x, _| g.apply(Op::Multiply, &[x.into(), lit(1)]),
        |g, x, _| g.apply(Op::Multiply, &[x.into(), lit(-1)]),
        |g, x, _| two(g, Op::Maximum, x, x),
        |g, x, _| {
            let wide = g.cast(x, DType::Float64)?;
            g.cast(wide, Float32)
        },
        |g, x, _| {
            let n = one(g, Op::Negative, x)?;
            one(g, Op::Cos, n)
        },
    ];
    for (i, build) in rows.iter().enumerate() {
        let mut g = Graph::default();
        let layout = Layout::contiguous(Shape::new(&[4]).unwrap());
        let x = g.input(0, Float32, layout.clone()).unwrap();
        let y = g.input(1, Float32, layout).unwrap();
        let computed = build(&mut g, x, y).unwrap();
        let minus = one(&mut g, Op::Negative, computed).unwrap();
        for reader in [Ok(computed), one(&mut g, Op::SignBit, minus), two(&mut g, Op::CopySign, y, minus)] {
            let (out, _) = run(&g, &[reader.clone().unwrap()], Rules::On).unwrap();
            assert_eq!(canonical_nans(&out), 1, "row {i}: {out}");
            // If rules are off, `maximum` itself returns the canonical NaN.
            let (out, _) = run(&g, &[reader.unwrap()], Rules::Off).unwrap();
            let canonical = out.nodes().iter().any(|node| match &node.kind {
                NodeKind::Apply { op, .. } => op.has(crate::op::Law::Canonical),
                _ => false,
            });
            assert!(canonical, "row {i}: {out}");
        }
        // If the bits are not read, x itself remains.
        let unread = one(&mut g, Op::IsFinite, computed).unwrap();
        let (out, _) = run(&g, &[unread], Rules::On).unwrap();
        assert_eq!(canonical_nans(&out), 0, "row {i}: {out}");
    }
}

/// The bits that a host function reads are determined by the expression, whether rules apply or not: elements of memory
/// keep their bits, also through views and functions that move them, and a computed NaN is always the canonical one.
#[test]
fn host_functions_see_one_nan_of_what_is_computed() -> Result<()> {
    let f = crate::HostDeclaration::new("f", &[DType::Float32], DType::UInt32, 1).expect("a name");
    let operand = |rules: Rules, build: fn(&mut Graph, NodeId) -> Result<NodeId>| -> Result<NodeKind> {
        let mut g = Graph::default();
        let x = g.input(0, Float32, Layout::contiguous(Shape::new(&[4, 3])?))?;
        let built = build(&mut g, x)?;
        let call = g.call(&f, &[built.into()])?;
        let (out, roots) = run(&g, &[call], rules)?;
        crate::verify::graph(&out)?;
        let mut read = first_operand(&out, roots[0]);
        while let NodeKind::View { arg, .. } = out.node(read).kind {
            read = arg;
        }
        Ok(out.node(read).kind.clone())
    };
    let canonical = |kind: &NodeKind| matches!(kind, NodeKind::Apply { op: Op::CanonicalNan, .. });
    for rules in [Rules::On, Rules::Off] {
        for computed in [
            |g: &mut Graph, x| g.apply(Op::Add, &[Arg::Node(x), Arg::Node(x)]),
            // A rule simplifies the product to the input.
            |g: &mut Graph, x| g.apply(Op::Multiply, &[Arg::Node(x), lit(1)]),
            |g: &mut Graph, x| {
                let sum = g.apply(Op::Add, &[Arg::Node(x), Arg::Node(x)])?;
                g.view(sum, View::Reshape(Shape::new(&[12])?))
            },
        ] {
            let kind = operand(rules, computed)?;
            assert!(canonical(&kind), "{kind:?}");
        }
        for in_memory in [
            |_: &mut Graph, x| Ok(x),
            |g: &mut Graph, x| one(g, Op::Abs, x),
            |g: &mut Graph, x| {
                let turned = g.view(x, View::Permute([1, 0].into_iter().collect()))?;
                g.view(turned, View::Reshape(Shape::new(&[12])?))
            },
            |g: &mut Graph, _| g.constant(Scalar::of(f32::NAN), None),
        ] {
            let kind = operand(rules, in_memory)?;
            assert!(!canonical(&kind), "{kind:?}");
        }
    }
    Ok(())
}

/// The result of a host function may be any NaN, and its bits are not read.
#[test]
fn the_bits_of_a_host_functions_nan_are_not_read() -> Result<()> {
    let f = crate::HostDeclaration::new("f", &[DType::Float32], DType::Float32, 1).expect("a name");
    let mut g = Graph::default();
    let x = g.input(0, Float32, Layout::contiguous(Shape::new(&[4])?))?;
    let call = g.call(&f, &[x.into()])?;
    let sign = one(&mut g, Op::SignBit, call)?;
    let (out, roots) = run(&g, &[sign, call], Rules::On)?;
    let read = out.node(first_operand(&out, roots[0]));
    assert!(matches!(read.kind, NodeKind::Apply { op: Op::CanonicalNan, .. }), "{out}");
    Ok(())
}
