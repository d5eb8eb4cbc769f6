//! Tests that random programs are well-typed and reproducible, and that they cover all functions, dtypes and kinds of steps.
//! Also tests that the reference returns results that were computed by hand, and that the shrinker finds the smallest
//! failing program.

use std::collections::BTreeSet;

use broadloom_core::Accuracy;
use broadloom_core::graph::{IntDivision, Semantics};
use broadloom_core::{DType, Literal, Op, Promotion};
use broadloom_testkit::random::{
    Arg, Program, PySlice, Rng, Size, Step, Tensor, Type, View, program, shrink, type_of,
};
use broadloom_testkit::reduction::{Function, Reduction};

/// Integer division by zero is an error.
const STRICT: Semantics =
    Semantics { int_division: IntDivision::Error, accuracy: Accuracy::Fast, contract: false };

fn run(steps: Vec<Step>) -> Result<Vec<Tensor>, String> {
    let roots = vec![steps.len() - 1];
    let program = Program { steps, roots, promotion: Promotion::Strict, semantics: Semantics::default() };
    program.run().map(|outcome| outcome.values)
}

fn input(dtype: DType, shape: &[usize], bits: &[u64]) -> Step {
    Step::Input(Tensor { dtype, shape: shape.to_vec(), bits: bits.to_vec() })
}

/// 0, 1, 2, … in uint8.
fn counted(shape: &[usize]) -> Step {
    let n = shape.iter().product::<usize>() as u64;
    input(DType::UInt8, shape, &(0..n).collect::<Vec<_>>())
}

#[test]
fn the_generator_has_the_published_outputs() {
    let mut rng = Rng::new(1234567);
    let outputs: Vec<u64> = (0..5).map(|_| rng.next()).collect();
    let published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ];
    assert_eq!(outputs, published);
}

#[test]
fn every_program_types_and_is_the_same_each_time() {
    for seed in 0..2000 {
        let p = program(seed, Size::Small);
        assert_eq!(p, program(seed, Size::Small), "seed {seed}");
        let outcome = p.run().unwrap_or_else(|e| panic!("seed {seed}: {e}\n{p}"));
        assert_eq!(outcome.values.len(), p.steps.len());
    }
    for seed in 0..3 {
        let p = program(seed, Size::Large);
        let outcome = p.run().unwrap_or_else(|e| panic!("seed {seed}: {e}\n{p}"));
        assert!(outcome.values.iter().any(|x| x.bits.len() > 39_000));
    }
}

#[test]
fn everything_is_reached() {
    let mut reached: BTreeSet<String> = BTreeSet::new();
    for seed in 0..14000 {
        let p = program(seed, Size::Small);
        let Ok(outcome) = p.run() else { panic!("seed {seed}: {p}") };
        let values = &outcome.values;
        let mut uses = vec![0; p.steps.len()];
        for (i, step) in p.steps.iter().enumerate() {
            step.args().into_iter().for_each(|arg| uses[arg] += 1);
            reached.insert(format!("rank {}", values[i].shape.len()));
            for &extent in &values[i].shape {
                reached.insert(format!("extent {extent}"));
            }
            match step {
                Step::Apply(op, args) => {
                    let dtype = |arg: &Arg| match arg {
                        Arg::Step(i) => values[*i].dtype.name(),
                        Arg::Literal(Literal::Bool(_)) => "a bool literal",
                        Arg::Literal(Literal::Int(_)) => "an integer literal",
                        Arg::Literal(Literal::Float(_)) => "a float literal",
                    };
                    let skip = usize::from(*op == Op::Where);
                    for arg in &args[skip..] {
                        reached.insert(format!("{op} of {}", dtype(arg)));
                        if op.dtypes().iter().all(|d| d.is_float()) && *op != Op::Divide {
                            reached.insert(format!("{} where a float is taken", dtype(arg)));
                        }
                    }
                    if let Arg::Literal(_) = args[0] {
                        reached.insert(format!("{op} of a literal first"));
                    }
                }
                Step::Cast(arg, to) => {
                    reached.insert(format!("{} to {to}", values[*arg].dtype));
                }
                Step::View(_, view) => {
                    // A slice is printed as in Python: `x[1:, ::-1]`.
                    let written = view.to_string();
                    let name = written.split_once('(').map_or("slice", |(name, _)| name);
                    reached.insert(name.to_owned());
                }
                Step::Reduce(arg, reduction) => {
                    let (name, x) = (reduction.function.name(), &values[*arg]);
                    reached.insert(format!("{name} of {}", x.dtype));
                    let axes =
                        reduction.axes.as_ref().map_or("all".to_owned(), |axes| axes.len().to_string());
                    reached.insert(format!("{name} along {axes}, {}", reduction.keepdims));
                    reached.insert(format!("ord {}", reduction.ord));
                    let length = match x.bits.len().checked_div(values[i].bits.len()) {
                        Some(length) => {
                            length.min(1024).checked_ilog2().map_or("no".to_owned(), |l| format!("2^{l}"))
                        }
                        None => "unknown many".to_owned(),
                    };
                    reached.insert(format!("{name} of {length} elements"));
                }
                Step::Scan(arg, scan) => {
                    let initial = if scan.include_initial { " after the initial one" } else { "" };
                    reached.insert(format!("{} of {}{initial}", scan.name(), values[*arg].dtype));
                }
                Step::VecDot(x, y, _) => {
                    reached.insert(format!("vecdot of {}", values[i].dtype));
                    reached.insert(format!("vecdot of itself: {}", x == y));
                }
                Step::While(..)
                | Step::Recurrence(..)
                | Step::Concat(..)
                | Step::Draw(..)
                | Step::Take(..)
                | Step::WholeArray(..) => {
                    panic!("programs with loops, joins, draws and routines are generated separately")
                }
                Step::Constant(dtype, _) => {
                    reached.insert(format!("constant {dtype}"));
                }
                Step::Input(x) => {
                    reached.insert(format!("input {}", x.dtype));
                }
            }
        }
        reached.insert(format!("{} uses", uses.into_iter().max().unwrap_or(0)));
        let shapes: BTreeSet<&[usize]> = p.roots.iter().map(|&root| &values[root].shape[..]).collect();
        reached.insert(format!("{} roots of {} shapes", p.roots.len(), shapes.len()));
        if p.semantics.int_division == IntDivision::Error {
            let fails = !outcome.faults.is_empty();
            reached.insert(format!("zero divisors: {}", if fails { "some" } else { "none" }));
        }
        if p.promotion == Promotion::NumPy {
            reached.insert("promotes as NumPy does".to_owned());
        }
    }
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for op in Op::public() {
        for &dtype in op.dtypes() {
            wanted.insert(format!("{op} of {dtype}"));
        }
        if op.operands() > 1 {
            wanted.insert(format!("{op} of a literal first"));
        }
    }
    for &dtype in DType::ALL {
        wanted.extend([format!("input {dtype}"), format!("constant {dtype}")]);
        if dtype.is_integer() {
            wanted.extend([format!("divide of {dtype}"), format!("{dtype} where a float is taken")]);
        }
        wanted.extend(DType::ALL.iter().map(|to| format!("{dtype} to {to}")));
    }
    wanted.extend((0..=4).map(|rank| format!("rank {rank}")));
    wanted.extend((0..=40).chain(63..=67).chain([257]).map(|extent| format!("extent {extent}")));
    let views =
        ["slice", "permute_dims", "broadcast_to", "reshape", "expand_dims", "squeeze", "flip", "index_axis"];
    wanted.extend(views.map(str::to_owned));
    wanted.extend((2..=4).map(|uses| format!("{uses} uses")));
    for function in Function::ALL {
        let name = function.name();
        // The number of elements is a constant, so the graph contains no operation for it.
        if *function == Function::Count {
            continue;
        }
        let is_of_floats = name.starts_with("nan");
        let takes = |dtype: &&DType| {
            (dtype.is_float() || !is_of_floats)
                && Reduction::all(*function).type_of(**dtype, &[2], Promotion::Strict).is_ok()
        };
        wanted.extend(DType::ALL.iter().filter(takes).map(|dtype| format!("{name} of {dtype}")));
        wanted.extend(["all", "1"].map(|axes| format!("{name} along {axes}, false")));
    }
    for name in ["sum", "prod", "max", "mean"] {
        wanted.extend((0..=10).map(|power| format!("{name} of 2^{power} elements")));
        wanted.extend([format!("{name} of no elements"), format!("{name} along 2, true")]);
    }
    wanted.remove("max of no elements");
    for dtype in DType::ALL.iter().filter(|dtype| dtype.is_numeric()) {
        let names = ["cumulative_sum", "cumulative_prod", "vecdot"];
        wanted.extend(names.map(|name| format!("{name} of {dtype}")));
        wanted.insert(format!("cumulative_sum of {dtype} after the initial one"));
    }
    wanted.extend(["vecdot of itself: true", "vecdot of itself: false"].map(str::to_owned));
    wanted.extend([2.0, 1.0, 0.0, 3.0, f64::INFINITY, f64::NEG_INFINITY].map(|ord| format!("ord {ord}")));
    let others =
        ["1 roots of 1 shapes", "2 roots of 1 shapes", "2 roots of 2 shapes", "promotes as NumPy does"];
    wanted.extend(others.map(str::to_owned));
    wanted.extend(["zero divisors: some", "zero divisors: none"].map(str::to_owned));
    let missing: Vec<&String> = wanted.difference(&reached).collect();
    assert!(missing.is_empty(), "not reached: {missing:?}");
}

#[test]
fn views_take_the_elements_that_numpy_takes() {
    let slice = |start: Option<isize>, stop: Option<isize>, step: isize| PySlice { start, stop, step };
    // Taken from numpy.arange(12).reshape(3, 4).
    let rows: [(View, &[usize], &[u64]); 13] = [
        (View::Slice(vec![slice(Some(1), None, 1)]), &[2, 4], &[4, 5, 6, 7, 8, 9, 10, 11]),
        (View::Slice(vec![slice(None, None, -2), slice(Some(-1), Some(-3), -1)]), &[2, 2], &[11, 10, 3, 2]),
        (View::Slice(vec![slice(Some(-9), Some(99), 2), slice(None, Some(-3), 1)]), &[2, 1], &[0, 8]),
        (View::Slice(vec![slice(Some(2), Some(1), 1)]), &[0, 4], &[]),
        (View::PermuteDims(vec![1, -2]), &[4, 3], &[0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]),
        (View::Reshape(vec![2, -1]), &[2, 6], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (View::ExpandDims(-1), &[3, 4, 1], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (View::Flip(-1), &[3, 4], &[3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8]),
        (View::IndexAxis(1, -1), &[3], &[3, 7, 11]),
        (View::IndexAxis(0, 1), &[4], &[4, 5, 6, 7]),
        (
            View::BroadcastTo(vec![2, 3, 4]),
            &[2, 3, 4],
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        ),
        (View::Slice(vec![]), &[3, 4], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (View::Slice(vec![slice(Some(0), None, -1), slice(Some(5), None, -3)]), &[1, 2], &[3, 0]),
    ];
    for (view, shape, bits) in rows {
        let values = run(vec![counted(&[3, 4]), Step::View(0, view.clone())]).expect("fits");
        assert_eq!((&values[1].shape[..], &values[1].bits[..]), (shape, bits), "{view}");
    }
    for view in [
        View::Slice(vec![slice(None, None, 0)]),
        View::Slice(vec![slice(None, None, 1); 3]),
        View::PermuteDims(vec![0, 0]),
        View::Reshape(vec![5, -1]),
        View::Reshape(vec![-1, -1]),
        View::Squeeze(0),
        View::BroadcastTo(vec![4]),
        View::IndexAxis(0, 3),
        View::Flip(2),
    ] {
        assert!(run(vec![counted(&[3, 4]), Step::View(0, view.clone())]).is_err(), "{view}");
    }
}

/// Regression: the elements of a slice were counted one by one, and products of extents overflowed.
#[test]
fn views_of_any_extents_have_types() {
    let slice = |start, stop, step| View::Slice(vec![PySlice { start, stop, step }]);
    const MOST: usize = isize::MAX as usize / 8;
    type Row<'a> = (&'a [usize], View, Option<&'a [usize]>);
    let rows: [Row<'_>; 9] = [
        (&[MOST], slice(None, None, 1), Some(&[MOST])),
        (&[MOST], slice(None, None, isize::MAX), Some(&[1])),
        (&[MOST], slice(Some(isize::MIN), Some(isize::MAX), isize::MIN), Some(&[0])),
        (&[MOST], slice(Some(isize::MAX), Some(isize::MIN), -2), Some(&[MOST.div_ceil(2)])),
        (&[], View::BroadcastTo(vec![MOST + 1]), None),
        (&[0], View::BroadcastTo(vec![1 << 40, 1 << 40, 0]), None),
        (&[0], View::Reshape(vec![0, 1 << 40, 1 << 40]), None),
        (&[0], View::Reshape(vec![-1, MOST as isize]), Some(&[0, MOST])),
        (&[1; 64], View::ExpandDims(0), None),
    ];
    for (shape, view, want) in rows {
        let of = Type { dtype: DType::Int8, shape: shape.to_vec() };
        let got = type_of(&Step::View(0, view.clone()), &[of], Promotion::Strict).ok();
        assert_eq!(got.map(|t| t.shape), want.map(<[usize]>::to_vec), "{view} of {shape:?}");
    }
}

#[test]
fn a_computed_nan_is_positive_and_a_loaded_one_keeps_its_sign_through_moves() {
    let minus_nan = 0xffc0_0001;
    let x = || input(DType::Float32, &[2], &[minus_nan, 0x3f80_0000]);
    let sign_of = |mut steps: Vec<Step>| {
        let last = Arg::Step(steps.len() - 1);
        steps.push(Step::Apply(Op::SignBit, vec![last]));
        run(steps).expect("types").pop().map(|x| x.bits[0])
    };
    let one = |op: Op| Step::Apply(op, vec![Arg::Step(0)]);
    assert_eq!(sign_of(vec![x()]), Some(1));
    assert_eq!(sign_of(vec![x(), one(Op::Positive)]), Some(1));
    assert_eq!(sign_of(vec![x(), one(Op::Negative)]), Some(0));
    assert_eq!(sign_of(vec![x(), Step::View(0, View::Flip(0)), Step::View(1, View::Flip(0))]), Some(1));
    assert_eq!(sign_of(vec![x(), one(Op::Square)]), Some(0));
    assert_eq!(sign_of(vec![x(), one(Op::Floor)]), Some(0));
    assert_eq!(sign_of(vec![x(), Step::Cast(0, DType::Float64)]), Some(0));
    assert_eq!(sign_of(vec![x(), Step::Cast(0, DType::Float32)]), Some(1));
}

#[test]
fn zero_divisors_are_those_of_every_step_that_a_root_is_computed_from() {
    let divide = |x: Step, divisors: &[u64], view: Option<View>| {
        let mut steps = vec![x, input(DType::Int8, &[2], divisors)];
        steps.push(Step::Apply(Op::FloorDivide, vec![Arg::Step(0), Arg::Step(1)]));
        steps.extend(view.map(|view| Step::View(2, view)));
        let roots = vec![steps.len() - 1];
        let p = Program { steps, roots, promotion: Promotion::Strict, semantics: STRICT };
        !p.run().expect("types").faults.is_empty()
    };
    let x = || input(DType::Int8, &[2], &[1, 2]);
    let (first, none) =
        (View::IndexAxis(0, 0), View::Slice(vec![PySlice { start: Some(9), stop: None, step: 1 }]));
    assert!(!divide(x(), &[1, 2], None));
    assert!(divide(x(), &[1, 0], None));
    assert!(divide(x(), &[1, 0], Some(first)));
    assert!(divide(x(), &[1, 0], Some(none)));
    assert!(!divide(input(DType::Int8, &[0, 2], &[]), &[0, 0], None));
    let unused = Program {
        steps: vec![
            x(),
            input(DType::Int8, &[1], &[0]),
            Step::Apply(Op::Remainder, vec![Arg::Step(0), Arg::Step(1)]),
        ],
        roots: vec![0],
        promotion: Promotion::Strict,
        semantics: STRICT,
    };
    assert!(unused.run().expect("types").faults.is_empty());
}

#[test]
fn types_meet_as_the_standard_and_numpy_say() {
    let dtype = |a: DType, b: DType, promotion: Promotion| {
        let steps = vec![
            input(a, &[], &[0]),
            input(b, &[], &[0]),
            Step::Apply(Op::Minimum, vec![Arg::Step(0), Arg::Step(1)]),
            Step::Apply(Op::Maximum, vec![Arg::Step(0), Arg::Step(1)]),
        ];
        let p = Program { steps, roots: vec![3], promotion, semantics: Semantics::default() };
        p.run().ok().map(|outcome| outcome.values[3].dtype)
    };
    use DType::*;
    for (a, b, strict, numpy) in [
        (Int8, Int16, Some(Int16), Some(Int16)),
        (Int8, UInt8, Some(Int16), Some(Int16)),
        (Int64, UInt32, Some(Int64), Some(Int64)),
        (UInt64, Int8, None, Some(Float64)),
        (Float16, Float64, Some(Float64), Some(Float64)),
        (Int8, Float16, None, Some(Float16)),
        (UInt16, Float16, None, Some(Float32)),
        (Int32, Float32, None, Some(Float64)),
        (Bool, Float16, None, Some(Float16)),
    ] {
        assert_eq!(dtype(a, b, Promotion::Strict), strict, "{a} {b}");
        assert_eq!(dtype(b, a, Promotion::NumPy), numpy, "{a} {b}");
    }
}

#[test]
fn the_shrinker_leaves_what_makes_a_program_fail() {
    // Here a program "fails" if a root is a float16 square with an infinite element.
    let fails = |p: &Program| {
        let Ok(outcome) = p.run() else { return false };
        p.roots.iter().any(|&root| {
            let x = &outcome.values[root];
            matches!(p.steps[root], Step::Apply(Op::Square, _))
                && x.dtype == DType::Float16
                && x.bits.contains(&0x7c00)
        })
    };
    let found: Vec<Program> = (0..).map(|seed| program(seed, Size::Small)).filter(fails).take(5).collect();
    for p in found {
        let small = shrink(&p, fails);
        let elements: usize =
            small.steps.iter().map(|s| if let Step::Input(x) = s { x.bits.len() } else { 0 }).sum();
        assert_eq!((small.steps.len(), elements, small.roots.len()), (2, 1, 1), "{p}\nbecame\n{small}");
    }
}
