//! Tests broadcasting against the rule and the index formula of the Array API standard, implemented here: all pairs of
//! small shapes, random pairs up to rank 8, three operands, extents of zero, the axis in an error message, and the
//! maximum rank.

use broadloom::prelude::*;
use broadloom::{Engine, ErrorKind, Limits, Options, functions};
use broadloom_testkit::Runner;
use broadloom_testkit::random::Rng;

/// Returns the shape to which shapes broadcast. If they don't, returns the last axis along which two extents don't
/// match, counted from the end as -1, -2, ….
fn broadcast(shapes: &[&[usize]]) -> std::result::Result<Vec<usize>, isize> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut out = vec![1; rank];
    for axis in (0..rank).rev() {
        for shape in shapes {
            let Some(at) = (axis + shape.len()).checked_sub(rank) else { continue };
            match (out[axis], shape[at]) {
                (_, 1) => {}
                (1, extent) => out[axis] = extent,
                (one, other) if one == other => {}
                _ => return Err(axis as isize - rank as isize),
            }
        }
    }
    Ok(out)
}

/// The position in row-major memory of the element at an index of the result.
fn place(shape: &[usize], index: &[usize]) -> usize {
    let missing = index.len() - shape.len();
    shape.iter().zip(&index[missing..]).fold(0, |at, (&n, &i)| at * n + if n == 1 { 0 } else { i })
}

/// The indices of an array of a shape, in row-major order.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..shape.iter().product::<usize>()).map(move |mut at| {
        let mut index = vec![0; shape.len()];
        for (i, &n) in index.iter_mut().zip(shape).rev() {
            (*i, at) = (at % n, at / n);
        }
        index
    })
}

/// All shapes of a rank whose extents are 0 to 3.
fn shapes(rank: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..4usize.pow(rank as u32)).map(move |mut at| {
        let mut extent = || {
            let extent = at % 4;
            at /= 4;
            extent
        };
        (0..rank).map(|_| extent()).collect()
    })
}

/// An array whose elements are successive numbers in row-major order, beginning with `from`.
fn counted(shape: &[usize], from: i32) -> Array<'static> {
    let n = shape.iter().product::<usize>() as i32;
    Array::from_shape_vec(shape, (from..from + n).collect()).expect("as many")
}

/// A lazy array with the same values as `x`.
fn lazy(x: &Array<'static>) -> Array<'static> {
    x ^ 0x5555 ^ 0x5555
}

fn written(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", extents.join(","))
}

/// The extent of a shape along an axis counted from the end.
fn extent(shape: &[usize], axis: isize) -> usize {
    shape[(shape.len() as isize + axis) as usize]
}

struct Pairs {
    engine: Engine,
    /// The number of pairs that broadcast, and of pairs that don't.
    seen: [usize; 2],
}

impl Pairs {
    fn new() -> Pairs {
        Pairs { engine: Engine::new(Limits::default()), seen: [0; 2] }
    }

    fn evaluate(&self, x: &Array<'static>, runner: Runner) -> Vec<i32> {
        let options = Options { threads: Some(1), ..runner.options() };
        let result = Evaluation::with(&options)
            .engine(&self.engine)
            .eval_many(&[x])
            .and_then(|all| all[0].to_vec::<i32>());
        result.unwrap_or_else(|e| panic!("{}: {e}", written(x.shape())))
    }

    /// Checks a subtraction, whose result shows which operand is on which side.
    fn check(&mut self, a: &[usize], b: &[usize]) {
        let (x, y) = (counted(a, 100_000), counted(b, 0));
        let sum = x.try_subtract(&y);
        let place_of = format!("{} with {}", written(a), written(b));
        match broadcast(&[a, b]) {
            Ok(shape) => {
                self.seen[0] += 1;
                let sum = sum.unwrap_or_else(|e| panic!("{place_of}: {e}"));
                assert_eq!(sum.shape(), shape, "{place_of}");
                let at = |i: &[usize]| 100_000 + place(a, i) as i32 - place(b, i) as i32;
                let want: Vec<i32> = indices(&shape).map(|i| at(&i)).collect();
                let later = lazy(&x).subtract(lazy(&y));
                for runner in Runner::all() {
                    assert_eq!(self.evaluate(&sum, runner), want, "{place_of}, {runner:?}");
                    assert_eq!(self.evaluate(&later, runner), want, "{place_of}, lazily, {runner:?}");
                }
            }
            Err(axis) => {
                self.seen[1] += 1;
                let (m, n) = (extent(a, axis), extent(b, axis));
                let words = format!(
                    "subtract: cannot broadcast int32{} with int32{} (axis {axis}: {m} and {n})",
                    written(a),
                    written(b)
                );
                let error = sum.err().unwrap_or_else(|| panic!("{place_of}: no error"));
                assert_eq!((error.kind(), error.to_string()), (ErrorKind::Shape, words));
            }
        }
    }
}

#[test]
fn all_pairs_of_shapes_up_to_rank_three() {
    let all: Vec<Vec<usize>> = (0..=3).flat_map(shapes).collect();
    assert_eq!(all.len(), 85);
    let mut pairs = Pairs::new();
    for a in &all {
        all.iter().for_each(|b| pairs.check(a, b));
    }
    assert_eq!(pairs.seen.iter().sum::<usize>(), 85 * 85);
    assert!(pairs.seen.iter().all(|&n| n > 1500), "{:?}", pairs.seen);
}

/// A random shape of a rank, and another one that broadcasts with it or, if `fits` is false, mismatches along one axis.
fn random_pair(rng: &mut Rng, rank: usize, fits: bool) -> [Vec<usize>; 2] {
    let common: Vec<usize> = (0..rank).map(|_| [0, 1, 1, 2, 2, 2, 3, 3, 3][rng.below(9)]).collect();
    let mut cut = |least: usize| {
        let from = if least < rank { rng.below(rank - least + 1) } else { 0 };
        common[from..].iter().map(|&n| if rng.chance(1, 3) { 1 } else { n }).collect::<Vec<_>>()
    };
    let (mut a, mut b) = (cut(0), cut(0));
    if rng.chance(1, 2) {
        a = common.clone();
    }
    if rng.chance(1, 2) {
        std::mem::swap(&mut a, &mut b);
    }
    let shared = a.len().min(b.len());
    if !fits && shared > 0 {
        let from_end = 1 + rng.below(shared);
        let (i, j) = (a.len() - from_end, b.len() - from_end);
        (a[i], b[j]) = [(2, 3), (3, 2), (0, 2), (2, 0), (3, 0)][rng.below(5)];
    }
    [a, b]
}

#[test]
fn random_pairs_of_shapes_up_to_rank_eight() {
    let mut pairs = Pairs::new();
    for seed in 0..1500 {
        let mut rng = Rng::new(seed);
        let [a, b] = random_pair(&mut rng, seed as usize % 9, seed % 4 != 3);
        pairs.check(&a, &b);
    }
    assert!(pairs.seen.iter().all(|&n| n > 200), "{:?}", pairs.seen);
}

/// Three operands, where two may broadcast with each other but not with the third.
#[test]
fn random_triples_of_shapes() {
    let (mut fitted, mut failed) = (0, 0);
    let pairs = Pairs::new();
    for seed in 0..600 {
        let mut rng = Rng::new(1_000_000 + seed);
        let [a, b] = random_pair(&mut rng, seed as usize % 6, seed % 8 != 7);
        let [c, _] = if rng.chance(2, 3) {
            [random_pair(&mut rng, 1, true)[0].clone(), a.clone()]
        } else {
            [a.clone(), b.clone()]
        };
        let odd = (counted(&a, 0) & 1).equal(1);
        let (x, y) = (counted(&b, 10_000), counted(&c, 20_000));
        let place_of = format!("{} {} {}", written(&a), written(&b), written(&c));
        match (broadcast(&[&a, &b, &c]), functions::try_where(&odd, &x, &y)) {
            (Ok(shape), Ok(chosen)) => {
                assert_eq!(chosen.shape(), shape, "{place_of}");
                let want: Vec<i32> = indices(&shape)
                    .map(|i| match place(&a, &i) % 2 {
                        1 => 10_000 + place(&b, &i) as i32,
                        _ => 20_000 + place(&c, &i) as i32,
                    })
                    .collect();
                for runner in Runner::all() {
                    assert_eq!(pairs.evaluate(&chosen, runner), want, "{place_of}, {runner:?}");
                }
                fitted += 1;
            }
            (Err(_), Err(e)) => {
                assert_eq!(e.kind(), ErrorKind::Shape, "{e}");
                let words = e.to_string();
                assert!(words.starts_with("where: cannot broadcast "), "{place_of}: {words}");
                for (dtype, shape) in [("bool", &a), ("int32", &b), ("int32", &c)] {
                    assert!(words.contains(&format!("{dtype}{}", written(shape))), "{place_of}: {words}");
                }
                failed += 1;
            }
            (want, got) => panic!("{place_of}: {:?}, not {want:?}", got.map(|x| x.shape().to_vec())),
        }
    }
    assert!(fitted > 200 && failed > 80, "{fitted} {failed}");
}

/// Broadcasts to a given shape, which the operand must not extend.
#[test]
fn all_pairs_of_shapes_in_broadcast_to() {
    let all: Vec<Vec<usize>> = (0..=3).flat_map(shapes).collect();
    let pairs = Pairs::new();
    for a in &all {
        let x = counted(a, 0);
        for to in &all {
            let fits = broadcast(&[a, to]).as_ref() == Ok(to);
            match x.broadcast_to(to) {
                Ok(wide) if fits => {
                    let want: Vec<i32> = indices(to).map(|i| place(a, &i) as i32).collect();
                    assert_eq!((wide.shape(), wide.to_vec::<i32>()), (&to[..], Ok(want.clone())));
                    assert_eq!(pairs.evaluate(&(wide ^ 0), Runner::JIT), want);
                }
                Err(e) if !fits => {
                    let words = format!("broadcast_to: {} does not broadcast to {}", written(a), written(to));
                    assert_eq!((e.kind(), e.to_string()), (ErrorKind::Shape, words));
                }
                other => panic!("{a:?} to {to:?}: {:?}", other.map(|x| x.shape().to_vec())),
            }
        }
    }
}

/// The message names the function, and the dtypes that the user passed, before promotion.
#[test]
fn messages_name_the_function_and_what_it_was_given() {
    let of = |dtype, shape: &[usize]| Array::zeros(shape, dtype).expect("small");
    let (small, wide) = (of(DType::Int8, &[2, 3]), of(DType::UInt16, &[4, 1, 2]));
    let words = |x: Result<Array<'_>>| x.map(|_| ()).unwrap_err().to_string();
    for (got, want) in [
        (
            words(small.try_add(&wide)),
            "add: cannot broadcast int8[2,3] with uint16[4,1,2] (axis -1: 3 and 2)",
        ),
        (
            words(wide.try_pow(&small)),
            "pow: cannot broadcast uint16[4,1,2] with int8[2,3] (axis -1: 2 and 3)",
        ),
        (
            words(of(DType::Bool, &[0]).try_logical_or(of(DType::Bool, &[2]))),
            "logical_or: cannot broadcast bool[0] with bool[2] (axis -1: 0 and 2)",
        ),
        (
            words(of(DType::Float16, &[2, 1]).try_hypot(of(DType::Float64, &[3, 5]))),
            "hypot: cannot broadcast float16[2,1] with float64[3,5] (axis -2: 2 and 3)",
        ),
    ] {
        assert_eq!(got, want);
    }
}

#[test]
fn rank_64_and_no_more() {
    let rank = |rank: usize| vec![1; rank];
    let mut wide = rank(64);
    (wide[0], wide[31], wide[63]) = (2, 3, 2);
    let x = counted(&wide, 0);
    let other = counted(&[2], 100);
    let pairs = Pairs::new();
    for runner in Runner::all() {
        let want: Vec<i32> = (0..12).map(|i| i - 100 - i % 2).collect();
        assert_eq!(pairs.evaluate(&(&x - &other), runner), want);
    }
    assert_eq!(other.broadcast_to(&wide).expect("rank 64").shape(), wide);
    let mut signed: Vec<isize> = vec![1; 63];
    signed.push(-1);
    assert_eq!(x.reshape(&signed).expect("rank 64").rank(), 64);
    signed.push(1);
    for (name, result) in [
        ("zeros", Array::zeros(&rank(65), DType::Int8)),
        ("from_shape_vec", Array::from_shape_vec(&rank(65), vec![0i32])),
        ("reshape", x.reshape(&signed)),
        ("expand_dims", x.expand_dims(0)),
        ("broadcast_to", other.broadcast_to(&rank(65))),
        ("from_fn", Array::from_fn(&rank(65), |_| 0i32)),
        ("full", Array::full(&rank(65), 0i32)),
    ] {
        let error = result.err().unwrap_or_else(|| panic!("{name}: no error for rank 65"));
        assert_eq!(error.kind(), ErrorKind::Limit, "{name}: {error}");
        assert!(error.to_string().contains("64"), "{name}: {error}");
    }
}
