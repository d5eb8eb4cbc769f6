//! Random programs through every way of evaluating them, against the reference interpreter of the testkit, bit for
//! bit. `BROADLOOM_SEEDS=100000` runs that many, `BROADLOOM_SEEDS=42..43` these.

use std::ops::Range;

use broadloom::{Array, Executor, Options};
use broadloom_testkit::differential::{ALONE, Search, difference};
use broadloom_testkit::random::{self, Arg, Program, Size, Step};

/// How many seeds are run unless told: some ten seconds.
const DEFAULT_SEEDS: u64 = 12_000;

/// The seeds to run, or one of some of them.
fn seeds(one_of: u64) -> Range<u64> {
    let number = |text: &str| text.trim().parse::<u64>().expect("BROADLOOM_SEEDS is N or A..B");
    let asked = std::env::var("BROADLOOM_SEEDS");
    let seeds = match asked.as_deref().map(|asked| asked.split_once("..").ok_or(asked)) {
        Ok(Ok((from, to))) => number(from)..number(to),
        Ok(Err(to)) => 0..number(to),
        Err(_) => 0..DEFAULT_SEEDS,
    };
    seeds.start..seeds.start + (seeds.end - seeds.start).div_ceil(one_of)
}

fn check_all(seeds: Range<u64>, size: Size) {
    let found = Search::new(seeds).of(&|seed| (random::program(seed, size), size)).run();
    assert!(found.is_ok(), "{}", found.expect_err("a finding"));
}

#[test]
fn random_programs_give_the_references_bits() {
    check_all(seeds(1), Size::Small);
}

#[test]
fn large_random_programs_give_the_references_bits_on_any_number_of_threads() {
    check_all(seeds(100), Size::Large);
}

/// More than one kernel takes: bodies are cut.
#[test]
fn long_random_programs_give_the_references_bits() {
    check_all(seeds(2000), Size::Long);
}

/// Or else all of this would compare the interpreter with itself.
#[cfg(feature = "jit")]
#[test]
fn the_jit_compiles() {
    #[cfg(target_arch = "x86_64")]
    let is_host = is_x86_feature_detected!("avx") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let is_host = cfg!(target_arch = "aarch64");
    let engine = broadloom::Engine::new(broadloom::Limits::default());
    let options = Options { executor: Executor::Jit, ..Options::default() };
    let x = Array::from_vec(vec![1.0f32, 2.0]);
    engine.eval_many(&[&(x + 1)], &options).expect("evaluates");
    assert_eq!(engine.compiled_kernels(), usize::from(is_host));
}

/// Programs that were wrong once, or that the random ones are unlikely to meet, with the reason.
#[test]
fn known_programs() {
    use broadloom::{DType::*, IntDivision, Op, Promotion};
    let constant = |dtype, bits| Step::Constant(dtype, bits);
    let apply = |op: Op, args: &[usize]| Step::Apply(op, args.iter().map(|&i| Arg::Step(i)).collect());
    let input = |dtype, shape: &[usize], bits: &[u64]| {
        Step::Input(random::Tensor { dtype, shape: shape.to_vec(), bits: bits.to_vec() })
    };
    let literal = |x: i32| Arg::Literal(x.into());
    let fails = || {
        let [x, y] = [[5, 6], [1, 0]].map(|bits| input(Int32, &[2], &bits));
        vec![x, y, apply(Op::FloorDivide, &[0, 1])]
    };
    let with = |mut steps: Vec<Step>, more: Vec<Step>| {
        steps.extend(more);
        steps
    };
    let rows: Vec<(&str, Vec<Step>)> = vec![
        (
            "a plan with folded constants was kept and used for other constants",
            vec![constant(Float32, 0x4040_0000), apply(Op::Square, &[0])],
        ),
        ("the same with another constant", vec![constant(Float32, 0x40a0_0000), apply(Op::Square, &[0])]),
        (
            "a NaN computed from constants is the positive one where its sign is read",
            vec![constant(Float32, 0x7f80_0000), apply(Op::Subtract, &[0, 0]), apply(Op::SignBit, &[1])],
        ),
        (
            "a NaN computed from a negative one",
            vec![constant(Float64, 0xfff8 << 48), apply(Op::Square, &[0]), apply(Op::SignBit, &[1])],
        ),
        (
            "a conversion computes its NaN",
            vec![constant(Float32, 0xffc0_0000), Step::Cast(0, Float64), apply(Op::SignBit, &[1])],
        ),
        (
            "a conversion computes its NaN, of an array too",
            vec![input(Float32, &[2], &[0xffc0_0000; 2]), Step::Cast(0, Float64), apply(Op::SignBit, &[1])],
        ),
        (
            "a conversion computes its NaN, to float16 and back",
            vec![
                input(Float16, &[2], &[0xfe00; 2]),
                Step::Cast(0, Float64),
                Step::Cast(1, Float16),
                apply(Op::SignBit, &[2]),
            ],
        ),
        ("a constant NaN is loaded", vec![constant(Float32, 0xffc0_0000), apply(Op::SignBit, &[0])]),
        ("a constant NaN is loaded", vec![constant(Float16, 0xfe00), apply(Op::SignBit, &[0])]),
        (
            "an unsigned −x is its own absolute value",
            vec![input(UInt32, &[1], &[5]), apply(Op::Negative, &[0]), apply(Op::Abs, &[1])],
        ),
        (
            "1 and 2^24 and 1 are added in this order, in which both ones are lost",
            vec![
                input(Float32, &[2], &[0x3f80_0000; 2]),
                input(Float32, &[2], &[0x4b80_0000; 2]),
                apply(Op::Add, &[0, 1]),
                apply(Op::Add, &[2, 0]),
            ],
        ),
        (
            "2^100 and 2^-100 and 2^100 are multiplied in this order, in which nothing overflows",
            vec![
                input(Float32, &[2], &[0x7180_0000; 2]),
                input(Float32, &[2], &[0x0d80_0000; 2]),
                apply(Op::Multiply, &[0, 1]),
                apply(Op::Multiply, &[2, 0]),
            ],
        ),
        (
            "0 times what fails",
            with(fails(), vec![Step::Apply(Op::Multiply, vec![Arg::Step(2), literal(0)])]),
        ),
        (
            "0 and what fails",
            with(fails(), vec![Step::Apply(Op::BitwiseAnd, vec![literal(0), Arg::Step(2)])]),
        ),
        ("what fails minus itself", with(fails(), vec![apply(Op::Subtract, &[2, 2])])),
        ("what fails, exclusive or itself", with(fails(), vec![apply(Op::BitwiseXor, &[2, 2])])),
        (
            "a condition that fails and decides nothing",
            with(fails(), vec![Step::Cast(2, Bool), apply(Op::Where, &[3, 0, 0])]),
        ),
        (
            "what fails and is not chosen",
            with(
                fails(),
                vec![Step::Apply(Op::Where, vec![Arg::Literal(true.into()), Arg::Step(0), Arg::Step(2)])],
            ),
        ),
        (
            "what fails and is not chosen either",
            with(
                fails(),
                vec![Step::Apply(Op::Where, vec![Arg::Literal(false.into()), Arg::Step(2), Arg::Step(0)])],
            ),
        ),
    ];
    let mut wrong = Vec::new();
    for (name, steps) in rows {
        for int_division in [IntDivision::Zero, IntDivision::Error] {
            let (steps, roots) = (steps.clone(), vec![steps.len() - 1]);
            let program = Program { steps, roots, promotion: Promotion::Strict, int_division };
            wrong.extend(difference(&program, ALONE).map(|error| format!("{name}: {error}\n{program}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
