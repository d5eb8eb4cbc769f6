//! Tests of the structure of expressions, over a table of cases, and of the graphs built from structures.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use broadloom_core::structure::OwnedStructure;
use broadloom_core::{DType, ErrorKind, Layout, Result, Scalar, Shape, verify};
use broadloom_mem::HostFunction;
use rustc_hash::FxBuildHasher;

use super::*;
use crate::array::Array;
use crate::range::Range;
use crate::{IntDivision, Options, Semantics};

fn limits() -> SizeLimits {
    Options::default().size_limits()
}

fn lower<'e, 'a>(roots: &[&'e Array<'a>]) -> Result<Lowered<'e, 'a>> {
    Lowered::new(roots, limits())
}

fn key(roots: &[&Array<'_>]) -> OwnedStructure {
    lower(roots).expect("small").expression().structure.to_owned()
}

fn floats(n: usize) -> Array<'static> {
    Array::from_vec(vec![0.5f32; n])
}

/// A call of one of two functions with the same name and dtypes.
fn call(which: usize, operands: [&Array<'static>; 2]) -> Array<'static> {
    static FUNCTIONS: OnceLock<[HostFunction; 2]> = OnceLock::new();
    let clamp = || HostFunction::new("clamp", |x: f32, y: f32| x.min(y)).expect("a name");
    let functions = FUNCTIONS.get_or_init(|| [clamp(), clamp()]);
    Array::call(&functions[which], operands).expect("two of float32")
}

/// A table of expressions, whose structures all differ. Each call makes new data for them.
fn rows() -> Vec<(&'static str, Array<'static>)> {
    let (x, y) = (floats(6), floats(6));
    let table = x.reshape(&[2, 3]).expect("6");
    let view = |r: Result<Array<'static>>| r.expect("fits");
    vec![
        ("data", x.clone()),
        ("other length", floats(5)),
        ("other dtype", Array::from_vec(vec![1i32; 6])),
        ("other shape", table.clone()),
        ("other strides", x.flip(0).expect("axis 0")),
        ("other offset", view(x.slice([Range::from(1..)]))),
        ("other length and offset", view(x.slice([Range::from(1..5)]))),
        ("one memory twice", &x + &x),
        ("two memories", &x + &y),
        ("one memory, two layouts", &x + view(x.flip(0))),
        ("other op", &x - &y),
        ("operands exchanged", &y - (&x + &y)),
        ("operands not exchanged", &x - (&x + &y)),
        ("a literal", &x + 3),
        ("a literal of another class", &x + 2),
        ("a literal of another dtype", x.astype(DType::Float64) + 3),
        ("one literal twice", (&x + 3) * 3),
        ("two literals", (&x + 3) * 5),
        ("a conversion", x.astype(DType::Float64)),
        ("another conversion", x.astype(DType::Float16)),
        ("a view of an expression", view((&x + &y).reshape(&[2, 3]))),
        ("another shape of it", view((&x + &y).reshape(&[3, 2]))),
        ("broadcast", view((&x + &y).broadcast_to(&[2, 6]))),
        ("sliced", view((&x + &y).slice([Range::from(..2)]))),
        ("sliced elsewhere", view((&x + &y).slice([Range::from(1..3)]))),
        ("turned", (&table + 3).t()),
        ("a choice", crate::functions::where_(x.less(&y), &x, &y)),
        ("a call", call(0, [&x, &y])),
        ("a call of another function of its name", call(1, [&x, &y])),
        ("a call, operands exchanged", call(0, [&y, &(&x + &y)])),
        ("a call, operands not exchanged", call(0, [&x, &(&x + &y)])),
        ("two calls", call(0, [&call(0, [&x, &y]), &y])),
        ("calls of two functions", call(1, [&call(0, [&x, &y]), &y])),
        ("a literal alone", Array::scalar(3)),
        ("zeros", view(Array::zeros(&[6], DType::Float32))),
        ("two conversions to one dtype", x.astype(DType::Float16).astype(DType::Float64)),
    ]
}

#[test]
fn equal_structures_are_those_of_equal_expressions() {
    let (first, second) = (rows(), rows());
    for (i, (what, a)) in first.iter().enumerate() {
        for (j, (other, b)) in second.iter().enumerate() {
            assert_eq!(key(&[a]) == key(&[b]), i == j, "{what} / {other}");
        }
    }
}

/// A borrowed key has the same hash as the equal owned key, and so finds it in a hash table.
#[test]
fn a_kept_structure_has_the_hash_of_the_borrowed_one() -> Result<()> {
    let mut hashes = Vec::new();
    for (what, x) in rows() {
        let roots = [&x];
        let lowered = lower(&roots)?;
        let structure = lowered.expression().structure;
        let hash = FxBuildHasher.hash_one(structure);
        assert_eq!(FxBuildHasher.hash_one(structure.to_owned()), hash, "{what}");
        assert_eq!(structure.to_owned().borrow(), structure, "{what}");
        hashes.push(hash);
    }
    let rows = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), rows, "different structures, different hashes");
    Ok(())
}

#[test]
fn values_of_literals_are_not_in_the_structure() -> Result<()> {
    let x = floats(3);
    let (a, b) = (&x * 3.5 + 7, &x * 4.5 + 9);
    assert_eq!(key(&[&a]), key(&[&b]));
    let scalars = |x: &Array<'_>| lower(&[x]).map(|lowered| lowered.literals().to_vec());
    assert_eq!(scalars(&a)?, [Scalar::of(3.5f32), Scalar::of(7f32)]);
    assert_eq!(scalars(&b)?, [Scalar::of(4.5f32), Scalar::of(9f32)]);
    // Literals of equal value but different dtypes have separate slots.
    let mixed = (Array::from_vec(vec![0i16]) + 3).astype(DType::Int32) + 3;
    assert_eq!(scalars(&mixed)?, [Scalar::of(3i16), Scalar::of(3i32)]);
    Ok(())
}

#[test]
fn roots_have_an_order_and_may_repeat() {
    let x = floats(3);
    let (a, b) = (&x + 3, &x * 3);
    let keys = [key(&[&a]), key(&[&a, &b]), key(&[&b, &a]), key(&[&a, &a]), key(&[&a, &(&x + 3)])];
    for (i, k) in keys.iter().enumerate() {
        assert_eq!(keys.iter().position(|other| other == k), Some(i));
    }
    let (graph, roots) =
        keys[3].borrow().graph(&[Scalar::of(3f32)], Semantics::default(), &[]).expect("a graph");
    assert_eq!((roots.len(), roots[0]), (2, roots[1]));
    assert_eq!(graph.nodes().len(), 3);
}

#[test]
fn memory_is_told_apart_by_more_than_its_address() -> Result<()> {
    let data = [1i32, 2, 3, 4];
    let none = Array::from_slice(&data[..0]);
    let whole = Array::from_slice(&data);
    let row = whole.slice([Range::from(1..2)])?;
    let sum = none.sign() + row * whole.reshape(&[4, 1])?;
    let roots = [&sum];
    let lowered = lower(&roots)?;
    let lengths: Vec<usize> = lowered.slots().iter().map(|data| data.storage.len()).collect();
    assert_eq!(lengths, [0, 4]);
    Ok(())
}

#[test]
fn more_nodes_than_are_searched_one_by_one() -> Result<()> {
    let data: Vec<Array<'static>> = (0..50).map(|i| Array::from_vec(vec![i; 2])).collect();
    let mut sum = data[0].clone();
    for x in &data {
        // Each of these nodes is used twice.
        let y = x + 100;
        sum += &y * (&y + x.to_vec::<i32>()?[0] + 1000);
    }
    let roots = [&sum];
    let lowered = lower(&roots)?;
    assert_eq!(lowered.slots().len(), 50);
    assert_eq!(lowered.literals().len(), 52);
    let expected: i32 = (0..50).map(|i| (i + 100) * (i + 100 + i + 1000)).sum();
    assert_eq!(sum.to_vec::<i32>()?, [expected; 2]);
    Ok(())
}

#[test]
fn the_graph_is_what_the_handle_says() -> Result<()> {
    for (what, x) in rows() {
        let roots = [&x];
        let lowered = lower(&roots)?;
        for int_division in [IntDivision::Zero, IntDivision::Error] {
            let (graph, roots) =
                lowered.expression().graph(Semantics { int_division, ..Semantics::default() })?;
            verify::graph(&graph)?;
            let root = graph.node(roots[0]);
            assert_eq!((root.dtype, &root.shape[..]), (x.dtype(), x.shape()), "{what}");
        }
    }
    Ok(())
}

#[test]
fn a_literal_without_a_value_is_an_error() -> Result<()> {
    for (what, x) in rows() {
        let roots = [&x];
        let lowered = lower(&roots)?;
        let without = Expression { literals: &[], ..lowered.expression() }.graph(Semantics::default());
        assert_eq!(without.is_err(), !lowered.literals().is_empty(), "{what}");
    }
    Ok(())
}

#[test]
fn the_host_functions_are_listed_once() -> Result<()> {
    let (x, y) = (floats(3), floats(3));
    let calls = call(1, [&call(0, [&x, &y]), &call(1, [&y, &call(0, [&y, &x])])]);
    let roots = [&calls];
    let ids: Vec<u64> = lower(&roots)?.expression().functions.iter().map(HostFunction::id).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    Ok(())
}

/// A template that is bound to the layouts of its inputs has the same structure as arrays with these layouts.
#[test]
fn a_bound_template_is_the_structure_over_arrays() -> Result<()> {
    let of = |x: &Array<'static>, y: &Array<'static>| (x * y + 3).maximum(x);
    let input = |name: &str| Array::input(name, DType::Float32, &["n".into(), "m".into()]);
    let (a, b) = (input("a")?, input("b")?);
    let template = Template::new(&[&of(&a, &b)], &[&a, &b], limits())?;
    assert!(template.is_elementwise() && template.is_free(0));
    let (x, y) = (floats(6).reshape(&[2, 3])?, floats(6).reshape(&[3, 2])?.t());
    let layouts =
        [Layout::contiguous(Shape::new(&[2, 3])?), y.in_memory().expect("in memory").layout.clone()];
    let nodes = template.bind(&layouts, limits())?;
    let root = of(&x, &y);
    let roots = [&root];
    let lowered = lower(&roots)?;
    let (bound, over_arrays) = (template.expression(&nodes), lowered.expression());
    assert_eq!(bound.structure, over_arrays.structure);
    assert_eq!(bound.literals, over_arrays.literals);
    let unbound = template.structure().graph(template.literals(), Semantics::default(), &[]);
    assert_eq!(unbound.map(drop).expect_err("no layouts").kind(), ErrorKind::Internal);
    assert_eq!(
        template.bind(&layouts[..1], limits()).map(drop).expect_err("one").kind(),
        ErrorKind::Internal
    );
    let flat = SizeLimits { rank: 1, ..limits() };
    assert_eq!(template.bind(&layouts, flat).map(drop).expect_err("rank 2").kind(), ErrorKind::Limit);
    Ok(())
}
