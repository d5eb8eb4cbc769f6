//! Random programs through every way of evaluating them, against the reference interpreter of the testkit, bit for
//! bit. `BROADLOOM_SEEDS=100000` runs that many, `BROADLOOM_SEEDS=42..43` these.

mod bits;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use bits::Typed;
use broadloom::{
    Array, ErrorKind, Executor, In, Kernel, Options, Out, Range, Result, eval_many_with, with_promotion,
};
use broadloom_core::rewrite::Rules;
use broadloom_testkit::random::{self, Arg, Outcome, Program, Size, Step, View, shrink};

/// One way of evaluating: rules, executor, the most threads.
type Way = (Rules, Executor, Option<usize>);

const SMALL: [Way; 5] = [
    (Rules::Off, Executor::Interp, Some(1)),
    (Rules::On, Executor::Interp, Some(1)),
    (Rules::Off, Executor::Jit, Some(1)),
    (Rules::On, Executor::Jit, Some(1)),
    (Rules::On, Executor::Auto, None),
];

const LARGE: [Way; 8] = [
    (Rules::Off, Executor::Interp, Some(2)),
    (Rules::On, Executor::Interp, Some(1)),
    (Rules::On, Executor::Interp, Some(2)),
    (Rules::Off, Executor::Jit, Some(2)),
    (Rules::On, Executor::Jit, Some(1)),
    (Rules::On, Executor::Jit, Some(2)),
    (Rules::On, Executor::Jit, None),
    (Rules::On, Executor::Auto, None),
];

/// The arrays that a program's steps stand for.
fn arrays(program: &Program) -> Result<Vec<Array<'static>>> {
    let mut arrays: Vec<Array<'static>> = Vec::new();
    for step in &program.steps {
        let array = match step {
            Step::Input(x) => bits::array(x.dtype, &x.shape, &x.bits),
            Step::Constant(dtype, bits) => Array::scalar(bits::literal(*dtype, *bits)).astype(*dtype),
            Step::Cast(arg, dtype) => arrays[*arg].astype(*dtype),
            Step::View(arg, view) => self::view(&arrays[*arg], view)?,
            Step::Apply(op, args) => {
                let operands: Vec<Array<'static>> = args
                    .iter()
                    .map(|arg| match arg {
                        Arg::Step(i) => arrays[*i].clone(),
                        Arg::Literal(x) => Array::scalar(*x),
                    })
                    .collect();
                Array::apply(*op, &operands)?
            }
        };
        arrays.push(array);
    }
    Ok(arrays)
}

fn view(x: &Array<'static>, view: &View) -> Result<Array<'static>> {
    match view {
        View::Slice(ranges) => {
            let ranges: Vec<Range> = ranges.iter().map(|r| Range::new(r.start, r.stop, r.step)).collect();
            x.slice(&ranges)
        }
        View::PermuteDims(axes) => x.permute_dims(axes),
        View::BroadcastTo(shape) => x.broadcast_to(shape),
        View::Reshape(shape) => x.reshape(shape),
        View::ExpandDims(axis) => x.expand_dims(*axis),
        View::Squeeze(axis) => x.squeeze(*axis),
        View::Flip(axis) => x.flip(*axis),
        View::IndexAxis(axis, index) => x.index_axis(*axis, *index),
    }
}

/// Evaluates a program in every way; what is wrong, if anything is.
fn check(program: &Program, ways: &[Way]) -> std::result::Result<(), String> {
    let outcome = program.run().map_err(|e| format!("the reference: {e}"))?;
    let arrays =
        with_promotion(program.promotion, || arrays(program)).map_err(|e| format!("building: {e}"))?;
    for (i, (array, want)) in arrays.iter().zip(&outcome.values).enumerate() {
        if (array.dtype(), array.shape()) != (want.dtype, &want.shape[..]) {
            return Err(format!("s{i} is {}{:?}", array.dtype(), array.shape()));
        }
    }
    let roots: Vec<&Array<'static>> = program.roots.iter().map(|&root| &arrays[root]).collect();
    let mut failures: Vec<String> = Vec::new();
    // Kept, so that no way is given memory in which another has left the right values.
    let mut kept = Vec::new();
    for &(rules, executor, threads) in ways {
        let int_division = program.int_division;
        let options = Options { executor, threads, int_division, rules, ..Options::default() };
        let way = format!("rules {rules:?}, {executor:?}, threads {threads:?}");
        match eval_many_with(&roots, &options) {
            Ok(results) => {
                if !outcome.faults.is_empty() {
                    return Err(format!("{way}: no error, though {:?}", outcome.faults));
                }
                compare(program, &outcome, &results).map_err(|e| format!("{way}: {e}"))?;
                kept.push(results);
                failures.push(String::new());
            }
            Err(e) => {
                let named = e.message().split(':').next().unwrap_or_default();
                if e.kind() != ErrorKind::ZeroDivision || !outcome.faults.contains(named) {
                    return Err(format!("{way}: {e}, though {:?}", outcome.faults));
                }
                failures.push(e.to_string());
            }
        }
    }
    if let Some(other) = failures.iter().find(|f| **f != failures[0]) {
        return Err(format!("one way gives {:?}, another {other:?}", failures[0]));
    }
    if failures[0].is_empty() {
        for executor in [Executor::Interp, Executor::Jit] {
            as_kernel(program, &outcome, executor).map_err(|e| format!("as a {executor:?} kernel: {e}"))?;
        }
    }
    Ok(())
}

/// Compiles the program over zeros and runs it on its own arrays.
fn as_kernel(program: &Program, outcome: &Outcome, executor: Executor) -> std::result::Result<(), String> {
    let mut zeroed = program.clone();
    let (mut inputs, mut numbers) = (Vec::new(), Vec::new());
    for (number, step) in zeroed.steps.iter_mut().enumerate() {
        if let Step::Input(x) = step {
            inputs.push(Typed::of(x.dtype, &x.bits));
            numbers.push(number);
            x.bits.fill(0);
        }
    }
    let mut outputs: Vec<Typed> = program
        .roots
        .iter()
        .map(|&root| Typed::of(outcome.values[root].dtype, &vec![1; outcome.values[root].bits.len()]))
        .collect();
    let targets: Option<Vec<Out<'_>>> = outputs.iter_mut().map(Typed::output).collect();
    // Bools have no slice to go to.
    let Some(targets) = targets else { return Ok(()) };
    let arrays = with_promotion(program.promotion, || arrays(&zeroed)).map_err(|e| e.to_string())?;
    let roots: Vec<&Array<'static>> = program.roots.iter().map(|&root| &arrays[root]).collect();
    let declared: Vec<&Array<'static>> = numbers.iter().map(|&number| &arrays[number]).collect();
    let options = Options { executor, int_division: program.int_division, ..Options::default() };
    let kernel = Kernel::new(&roots, &declared, &options).map_err(|e| e.to_string())?;
    let given: Vec<In<'_>> = inputs.iter().map(Typed::input).collect();
    kernel.run(&given, targets).map_err(|e| e.to_string())?;
    for (&root, output) in program.roots.iter().zip(&outputs) {
        let want = &outcome.values[root];
        if let Some(difference) = bits::difference(want.dtype, &output.bits(), &want.bits) {
            return Err(format!("s{root}: {difference}"));
        }
    }
    Ok(())
}

fn compare(
    program: &Program,
    outcome: &Outcome,
    results: &[Array<'static>],
) -> std::result::Result<(), String> {
    for (&root, result) in program.roots.iter().zip(results) {
        let want = &outcome.values[root];
        if (result.dtype(), result.shape()) != (want.dtype, &want.shape[..]) {
            return Err(format!("s{root} became {}{:?}", result.dtype(), result.shape()));
        }
        let got = bits::bits(result).map_err(|e| format!("s{root}: {e}"))?;
        if let Some(difference) = bits::difference(want.dtype, &got, &want.bits) {
            return Err(format!("s{root}: {difference}"));
        }
    }
    Ok(())
}

/// [`check`], a panic being an error too.
fn failure(program: &Program, ways: &[Way]) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| check(program, ways))) {
        Ok(done) => done.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            Some(format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")))
        }
    }
}

/// How many seeds are run unless told: some ten seconds.
const DEFAULT_SEEDS: u64 = 12_000;

/// The seeds to run.
fn seeds(default: u64) -> std::ops::Range<u64> {
    let Ok(asked) = std::env::var("BROADLOOM_SEEDS") else { return 0..default };
    let number = |text: &str| text.trim().parse::<u64>().expect("BROADLOOM_SEEDS is N or A..B");
    match asked.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => 0..number(&asked),
    }
}

/// Checks the programs of seeds on all processors; panics with the first that fails, made small.
fn check_all(seeds: std::ops::Range<u64>, size: Size, failure: impl Fn(&Program) -> Option<String> + Sync) {
    let next = AtomicU64::new(seeds.start);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let found = std::thread::scope(|scope| {
        let worker = || loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return None;
            }
            let program = random::program(seed, size);
            // The second time plans are there, made for other values.
            for program in [random::with_other_values(&program, seed), program] {
                if let Some(error) = failure(&program) {
                    next.store(seeds.end, Ordering::Relaxed);
                    return Some((seed, program, error));
                }
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().filter_map(|w| w.join().expect("failures are caught")).min_by_key(|f| f.0)
    });
    let Some((seed, program, error)) = found else { return };
    std::panic::set_hook(Box::new(|_| {}));
    let small = shrink(&program, |p| failure(p).is_some());
    let error_of_small = failure(&small).unwrap_or_default();
    let _ = std::panic::take_hook();
    panic!("seed {seed}: {error}\nmade small: {error_of_small}\n{small}");
}

#[test]
fn random_programs_give_the_references_bits() {
    check_all(seeds(DEFAULT_SEEDS), Size::Small, |program| failure(program, &SMALL));
}

#[test]
fn large_random_programs_give_the_references_bits_on_any_number_of_threads() {
    // More threads than the machine may have processors.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
    let seeds = seeds(DEFAULT_SEEDS);
    let some = seeds.start..seeds.start + (seeds.end - seeds.start).div_ceil(100);
    check_all(some, Size::Large, |program| pool.install(|| failure(program, &LARGE)));
}

/// More than one kernel takes: bodies are cut.
#[test]
fn long_random_programs_give_the_references_bits() {
    let seeds = seeds(DEFAULT_SEEDS);
    let some = seeds.start..seeds.start + (seeds.end - seeds.start).div_ceil(2000);
    check_all(some, Size::Long, |program| failure(program, &SMALL));
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
            wrong.extend(failure(&program, &SMALL).map(|error| format!("{name}: {error}\n{program}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
