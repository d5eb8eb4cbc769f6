//! Expressions that are too deep, too wide or too large. They work, or are a typed error. No stack overflows, no
//! work grows exponentially, and no signal is raised.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use broadloom::prelude::*;
use broadloom::{ErrorKind, Executor, IntDivision, Kernel, Op, Options};
use broadloom_testkit::Runner;
use broadloom_testkit::elements;
use broadloom_testkit::one_of;

const EXECUTORS: [Executor; 3] = [Executor::Interp, Executor::Jit, Executor::Auto];

fn options(executor: Executor) -> Options {
    Options { executor, threads: Some(1), ..Options::default() }
}

/// Runs a closure on a stack that recursion over the nodes would overflow, and fails after two minutes. With
/// exponential growth, the closure would run for years.
fn on_a_small_stack(f: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
        f();
        let _ = done.send(());
    });
    let thread = thread.expect("spawns");
    match finished.recv_timeout(Duration::from_secs(120)) {
        Err(RecvTimeoutError::Timeout) => panic!("it is not done after two minutes"),
        // A panic drops the sender; `join` then returns the panic.
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

#[test]
fn a_million_nodes_in_a_row() {
    let nodes = 1_000_000 / one_of(10) as i64;
    for executor in EXECUTORS {
        on_a_small_stack(move || {
            let mut x = Array::from_vec(vec![1i64, -5, 7]);
            for _ in 0..nodes / 2 {
                x = x * 3 + 1;
            }
            let mut want = [1i64, -5, 7];
            for _ in 0..nodes / 2 {
                want = want.map(|x| x.wrapping_mul(3).wrapping_add(1));
            }
            let got = x.eval_with(&options(executor)).and_then(|x| x.to_vec::<i64>());
            assert_eq!(got.as_deref(), Ok(&want[..]), "{executor:?}");
        });
    }
}

/// Every node is used twice, by nodes that are used twice.
#[test]
fn a_lattice_of_shared_nodes() {
    for executor in EXECUTORS {
        on_a_small_stack(move || {
            let (mut x, mut y) = (Array::from_vec(vec![1u32; 9]), Array::from_vec(vec![2u32; 9]));
            let (mut a, mut b) = (1u32, 2u32);
            for _ in 0..20_000 {
                (x, y) = (&x + &y, &x ^ &y);
                (a, b) = (a.wrapping_add(b), a ^ b);
            }
            let got = eval_both(&x, &y, executor);
            assert_eq!(got, (vec![a; 9], vec![b; 9]), "{executor:?}");
        });
    }
}

fn eval_both(x: &Array<'_>, y: &Array<'_>, executor: Executor) -> (Vec<u32>, Vec<u32>) {
    let results = broadloom::Evaluation::with(&options(executor)).eval_many(&[x, y]).expect("evaluates");
    let values = |i: usize| results[i].to_vec::<u32>().expect("uint32");
    (values(0), values(1))
}

#[test]
fn a_deep_chain_of_views() {
    for executor in EXECUTORS {
        on_a_small_stack(move || {
            // Views of an array in memory, and views of a lazy node.
            for of in [Array::from_vec(vec![1i32, 2, 3]), Array::from_vec(vec![0i32, 1, 2]) + 1] {
                let mut x = of;
                for _ in 0..33_333 {
                    x = x.flip(0).and_then(|x| x.expand_dims(0)).and_then(|x| x.squeeze(0)).expect("fits");
                }
                let got = x.eval_with(&options(executor)).and_then(|x| x.to_vec::<i32>());
                assert_eq!(got.as_deref(), Ok(&[3, 2, 1][..]), "{executor:?}");
            }
        });
    }
}

/// No strides can express these reshapes, so each operand is stored in row-major order first.
#[test]
fn a_thousand_reshapes_of_transposes() {
    for executor in EXECUTORS {
        on_a_small_stack(move || {
            let mut x = Array::from_shape_vec(&[3, 4], (0..12i16).collect()).expect("12") + 0;
            let mut want: Vec<i16> = (0..12).collect();
            for _ in 0..1000 {
                x = x.t().reshape(&[3, 4]).expect("12 elements") + 1;
                want = (0..12).map(|i| want[(i % 3) * 4 + i / 3] + 1).collect();
            }
            let got = x.eval_with(&options(executor)).and_then(|x| x.to_vec::<i16>());
            assert_eq!(got.as_deref(), Ok(&want[..]), "{executor:?}");
        });
    }
}

/// Forty levels of sums, with 2^40 paths through views that all differ.
#[test]
fn sums_of_neighbours_forty_times() {
    for executor in EXECUTORS {
        on_a_small_stack(move || {
            let mut x = Array::from_vec((0..100u64).map(|i| i * i).collect());
            let mut want: Vec<u64> = (0..100u64).map(|i| i * i).collect();
            for _ in 0..40 {
                x = x.slice(1..).expect("an axis") + x.slice(..-1).expect("an axis");
                want = want.windows(2).map(|w| w[1] + w[0]).collect();
            }
            let got = x.eval_with(&options(executor)).and_then(|x| x.to_vec::<u64>());
            assert_eq!(got.as_deref(), Ok(&want[..]), "{executor:?}");
        });
    }
}

#[test]
fn sums_with_the_transpose_twenty_times() {
    const N: usize = 9;
    for executor in EXECUTORS {
        on_a_small_stack(move || {
            let data: Vec<i64> = (0..81).map(|i| i * 37 % 101).collect();
            let mut x = Array::from_shape_vec(&[N, N], data.clone()).expect("81");
            let mut want = data;
            for level in 0..20 {
                x = &x + &x.t() * level;
                want = (0..N * N)
                    .map(|i| want[i].wrapping_add(want[i % N * N + i / N].wrapping_mul(level)))
                    .collect();
            }
            let got = x.eval_with(&options(executor)).and_then(|x| x.to_vec::<i64>());
            assert_eq!(got.as_deref(), Ok(&want[..]), "{executor:?}");
        });
    }
}

#[test]
fn rank_64_and_no_more() {
    let mut x = Array::from_vec(vec![1.0f32, 2.0]);
    for _ in 0..63 {
        x = (x + 1).expand_dims(0).expect("rank below 64");
    }
    for executor in EXECUTORS {
        let got = x.eval_with(&options(executor)).and_then(|x| x.to_vec::<f32>());
        assert_eq!(got.as_deref(), Ok(&[64.0, 65.0][..]));
    }
    assert_eq!(x.expand_dims(0).map(|_| ()).map_err(|e| e.kind()), Err(ErrorKind::Limit));
}

#[test]
fn more_elements_than_memory_can_address() {
    let limit = |x: Result<Array<'_>>| match x {
        Ok(x) => panic!("no error, but {}{:?}", x.dtype(), x.shape()),
        Err(e) => assert_eq!(e.kind(), ErrorKind::Limit, "{e}"),
    };
    let bytes = |shape: &[usize]| Array::zeros(shape, DType::UInt8);
    limit(bytes(&[usize::MAX, 2]));
    limit(bytes(&[1 << 32, 1 << 32]));
    limit(bytes(&[0, usize::MAX, usize::MAX]));
    let one = Array::from_vec(vec![1u8]);
    let (row, column) = (one.broadcast_to(&[1, 1 << 40]), one.broadcast_to(&[1 << 40, 1]));
    let (row, column) = (row.expect("repeats"), column.expect("repeats"));
    limit(row.try_add(&column));
    limit(one.broadcast_to(&[1 << 40, 1 << 40]));
    limit(Array::arange(0, i64::MAX, 1));
    limit(Array::linspace(0.0, 1.0, usize::MAX));
    limit(Array::from_fn(&[1 << 50, 1 << 9], |_| 0u8));
    // The array is within the address space, but exceeds the memory of the machine.
    limit(
        (row.reshape(&[1 << 20, 1 << 20]).expect("2^40 elements") + 1)
            .astype(DType::Float64)
            .broadcast_to(&[1 << 16, 1 << 20, 1 << 20])
            .and_then(|x| x.eval()),
    );
    limit(bytes(&[1 << 59]).and_then(|x| x.eval()));
    // A part of the array can still be evaluated.
    let part = (row + 1).slice((.., 7..10)).and_then(|x| x.to_vec::<u8>());
    assert_eq!(part.as_deref(), Ok(&[2, 2, 2][..]));
}

#[test]
fn a_limit_of_bytes() {
    let x = Array::from_vec(vec![1.0f64; 1000]);
    for executor in EXECUTORS {
        let within = |max_bytes: usize| Options { max_bytes, ..options(executor) };
        assert!((&x + 1).eval_with(&within(8000)).is_ok());
        let error = (&x + 1).eval_with(&within(7999)).map(|_| ()).expect_err("a byte too many");
        let said = "the evaluation takes 8000 bytes, the limit is 7999; the option max_bytes sets the limit";
        assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::Limit, said));
        // Temporaries count towards the limit.
        let turned =
            (x.reshape(&[10, 100]).expect("1000 elements") + 1).t().reshape(&[1000]).expect("1000 elements");
        let both = turned.eval_with(&within(8000)).map(|_| ()).map_err(|e| e.kind());
        assert_eq!(both, Err(ErrorKind::Limit), "{executor:?}");
        assert!(turned.eval_with(&within(16_000)).is_ok());
    }
}

/// Tries every function that evaluates, plans or explains. All must return the same error, or none.
fn refused(x: &Array<'static>, input: &Array<'static>, options: &Options) -> Option<String> {
    let mut out = vec![0f32; x.len()];
    let mut given = Array::zeros(x.shape(), DType::Float32).and_then(|x| x.eval()).expect("small");
    let ways = [
        x.eval_with(options).map(drop),
        broadloom::Evaluation::with(options).eval_many(&[x, x]).map(drop),
        Evaluation::with(options).eval_into(x, &mut out),
        Evaluation::with(options).eval_into_array(x, &mut given),
        Kernel::new(&[x], &[input], options).map(drop),
        x.explain_with(options, false).map(drop),
    ];
    let said = ways.map(|way| way.err().map(|e| (e.kind(), e.to_string())));
    assert!(said.iter().all(|one| *one == said[0]), "{said:?}");
    let (kind, words) = said.into_iter().next().flatten()?;
    assert_eq!(kind, ErrorKind::Limit, "{words}");
    Some(words)
}

#[test]
fn a_limit_of_nodes() {
    let x = Array::from_vec(vec![1.0f32; 3]);
    // An array, two numbers and two operations are five nodes. A shared operation counts once.
    let one = (&x + 3) * 5;
    let shared = &one - &one;
    for (y, nodes) in [(&one, 5), (&shared, 6)] {
        for executor in EXECUTORS {
            let within = |max_nodes: usize| Options { max_nodes, ..options(executor) };
            assert_eq!(refused(y, &x, &within(nodes)), None);
            let said = format!(
                "the expression has more nodes than the limit of {}; the option max_nodes sets the limit",
                nodes - 1
            );
            assert_eq!(refused(y, &x, &within(nodes - 1)), Some(said));
        }
    }
    // The nodes of all roots count together.
    let both = |max_nodes: usize| {
        let options = Options { max_nodes, ..Options::default() };
        broadloom::Evaluation::with(&options).eval_many(&[&one, &(&x - 7)]).map(drop).map_err(|e| e.kind())
    };
    assert_eq!((both(7), both(6)), (Ok(()), Err(ErrorKind::Limit)));
    // A limit larger than the maximum size of a graph is allowed.
    let all = Options { max_nodes: usize::MAX, max_depth: usize::MAX, ..Options::default() };
    assert_eq!(refused(&shared, &x, &all), None);
}

#[test]
fn a_limit_of_depth() {
    let x = Array::from_vec(vec![1.0f32; 3]);
    let chain = |n: usize| (0..n).fold(x.clone(), |y, _| y + 3);
    // The depth is that of the longest path, on which conversions and views count. There is also a shorter path.
    let viewed = chain(7).flip(0).expect("an axis").astype(DType::Float64).astype(DType::Float32) * chain(2);
    // An expression of many nodes that is not deep.
    let wide = (0..4).fold((0..16).map(|i| &x * (i as f32 + 3.5)).collect::<Vec<_>>(), |row, _| {
        row.chunks(2).map(|pair| &pair[0] + &pair[1]).collect()
    });
    for (y, depth) in [(&chain(9), 9), (&viewed, 11), (&wide[0], 5)] {
        let within = |max_depth: usize| Options { max_depth, ..Options::default() };
        assert_eq!(refused(y, &x, &within(depth)), None, "{depth}");
        let said = format!(
            "the expression has a depth of {depth}, the limit is {}; the option max_depth sets the limit",
            depth - 1
        );
        assert_eq!(refused(y, &x, &within(depth - 1)), Some(said));
    }
    // An expression that was planned under one limit is rejected under a lower limit.
    let y = chain(5);
    assert!(y.eval().is_ok());
    assert!(y.eval_with(&Options { max_depth: 4, ..Options::default() }).is_err());
    on_a_small_stack(move || {
        let deep = (0..300_000).fold(y, |y, _| y + 3);
        let limited = Options { max_depth: 300_000, ..Options::default() };
        let said = deep.eval_with(&limited).map(drop).expect_err("5 more").to_string();
        assert!(said.contains("a depth of 300005, the limit is 300000"), "{said}");
    });
}

#[test]
fn a_limit_of_rank() {
    let x = Array::from_vec(vec![1.0f32; 6]);
    let cube = (&x + 3).reshape(&[1, 2, 3]).expect("6");
    // The rank of an input, of an intermediate view, and of the result.
    let input = Array::from_shape_vec(&[1, 2, 3], vec![1.0f32; 6]).expect("6");
    let rows = [(&input + 3, input), ((&cube * 3).reshape(&[6]).expect("6"), x.clone()), (cube, x)];
    for (y, input) in &rows {
        let within = |max_rank: usize| Options { max_rank, ..Options::default() };
        assert_eq!(refused(y, input, &within(3)), None);
        let said = "the expression has a rank of 3, the limit is 2; the option max_rank sets the limit";
        assert_eq!(refused(y, input, &within(2)).as_deref(), Some(said));
    }
}

/// Exceeding this limit is not an error: a longer body runs on the interpreter, and `explain` states the reason.
#[test]
fn a_limit_of_compiled_instructions() {
    let x = Array::from_vec(vec![0.5f64; 40]);
    let y = (0..12).fold(x.clone(), |y, _| y * 3 + &x);
    let engine = broadloom::Engine::new(broadloom::Limits::default());
    let runs = |max_compiled_cost: usize, executor: Executor| {
        let options = Options { max_compiled_cost, ..options(executor) };
        let bits = Evaluation::with(&options)
            .engine(&engine)
            .eval_many(&[&y])
            .and_then(|y| elements::bits(&y[0]))
            .expect("runs");
        (bits, y.explain_with(&options, false).expect("explains"), engine.compiled_kernels())
    };
    let (want, _, none) = runs(0, Executor::Interp);
    assert_eq!(none, 0);
    let (got, why, compiled) = runs(24, Executor::Jit);
    assert_eq!((got == want, compiled), (true, 0));
    let said =
        "its some 25 vector instructions are more than are compiled (24, the option max_compiled_cost)";
    assert!(!cfg!(feature = "jit") || why.contains(&format!("runs on the interpreter: {said}")), "{why}");
    let (got, why, compiled) = runs(25, Executor::Jit);
    assert_eq!((got == want, compiled), (true, usize::from(cfg!(feature = "jit"))));
    assert!(!cfg!(feature = "jit") || why.contains("runs on the jit: as asked"), "{why}");
    // The limit also applies to code that the engine has already compiled.
    let jit = options(Executor::Jit);
    y.eval_with(&jit).expect("runs");
    let explained = |max_compiled_cost: usize| {
        let auto = Options { max_compiled_cost, ..options(Executor::Auto) };
        y.explain_with(&auto, false).expect("explains")
    };
    let (free, limited) = (explained(25), explained(24));
    assert!(!cfg!(feature = "jit") || free.contains("runs on the jit: "), "{free}");
    assert!(!cfg!(feature = "jit") || limited.contains(said), "{limited}");
}

/// The tables in docs/reliability.md state the default limits.
#[test]
fn the_documented_defaults() {
    let text = include_str!("../../../../docs/reliability.md");
    let power = |n: usize| {
        let is_power = n.is_power_of_two() && n >= 1 << 16;
        if is_power { format!("2^{}", n.ilog2()) } else { n.to_string() }
    };
    let broadloom::Limits { plans, plan_words, kernels, code_bytes, pool_bytes } = Default::default();
    let Options {
        max_bytes,
        max_time,
        max_nodes,
        max_depth,
        max_rank,
        max_compiled_cost,
        max_iterations,
        ..
    } = Options::default();
    let parse = broadloom::text::ParseOptions::default();
    assert_eq!((max_bytes, max_time), (isize::MAX as usize, None));
    let mut rows: Vec<(&str, String)> = vec![("max_bytes", "isize::MAX".into()), ("max_time", "none".into())];
    rows.extend(
        [
            ("max_nodes", max_nodes),
            ("max_depth", max_depth),
            ("max_rank", max_rank),
            ("max_compiled_cost", max_compiled_cost),
            ("max_iterations", max_iterations as usize),
            ("plans", plans),
            ("plan_words", plan_words),
            ("kernels", kernels),
            ("code_bytes", code_bytes),
            ("pool_bytes", pool_bytes),
            ("max_bytes", parse.max_bytes),
            ("max_nodes", parse.max_nodes),
            ("max_depth", parse.max_depth),
        ]
        .map(|(name, default)| (name, power(default))),
    );
    let (_, text) = text.split_once("\n## Limits\n").expect("the section");
    let written: Vec<Vec<&str>> =
        text.lines().filter(|line| line.starts_with("| `")).map(|line| line.split(" | ").collect()).collect();
    let written: Vec<(&str, String)> =
        written.iter().map(|cells| (cells[0].trim_matches(['|', ' ', '`']), cells[1].to_string())).collect();
    assert_eq!(written, rows);
}

const DIVISIONS: [Op; 3] = [Op::FloorDivide, Op::Remainder, Op::TruncDivide];

/// The value of an integer's bits.
fn value(dtype: DType, bits: u64) -> i128 {
    let width = 8 * dtype.size();
    let is_negative = dtype.kind() == broadloom::Kind::Signed && bits >> (width - 1) == 1;
    i128::from(bits) - if is_negative { 1 << width } else { 0 }
}

/// The result according to the definition of the op, as a mathematical integer.
fn divided(op: Op, x: i128, y: i128) -> i128 {
    let truncated = if y == 0 { 0 } else { x / y };
    let floor = if y != 0 && x % y != 0 && (x < 0) != (y < 0) { truncated - 1 } else { truncated };
    match op {
        Op::FloorDivide => floor,
        Op::Remainder if y == 0 => 0,
        Op::Remainder => x - y * floor,
        _ => truncated,
    }
}

#[test]
fn integer_division_by_zero_and_by_minus_one() {
    for &dtype in DType::ALL.iter().filter(|d| d.is_integer()) {
        let mask = u64::MAX >> (64 - 8 * dtype.size());
        let (min, max) = (mask ^ (mask >> 1), mask >> 1);
        let values = [0, 1, 2, 3, 7, mask, mask - 1, min, max, min + 1, max - 1];
        // All pairs, repeated so that a zero occurs in every lane.
        let pairs: Vec<(u64, u64)> = (0..3 * 121).map(|i| (values[i % 11], values[i / 11 % 11])).collect();
        let (xs, ys): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
        let (x, y) =
            (elements::array(dtype, &[pairs.len()], &xs), elements::array(dtype, &[pairs.len()], &ys));
        for op in DIVISIONS {
            let quotient = |x: u64, y: u64| divided(op, value(dtype, x), value(dtype, y)) as u64 & mask;
            let want: Vec<u64> = pairs.iter().map(|&(x, y)| quotient(x, y)).collect();
            for runner in Runner::all().chain([Runner::AUTO]) {
                let options = || Options { threads: Some(1), ..runner.options() };
                let check = |x: &Array<'static>, y: &Array<'static>, want: &[u64], how: &str| {
                    let got = Array::apply(op, &[x.clone(), y.clone()]).and_then(|q| q.eval_with(&options()));
                    let got =
                        got.and_then(|q| elements::bits(&q)).unwrap_or_else(|e| panic!("{op} {dtype}: {e}"));
                    let difference = elements::difference(dtype, &got, want);
                    assert_eq!(difference, None, "{op} {dtype} {how} {runner:?}");
                };
                check(&x, &y, &want, "arrays");
                for &divisor in &values {
                    let want: Vec<u64> = xs.iter().map(|&x| quotient(x, divisor)).collect();
                    check(&x, &Array::scalar(elements::literal(dtype, divisor)), &want, "by a literal");
                    check(&x, &elements::array(dtype, &[], &[divisor]), &want, "by one element");
                }
            }
        }
    }
}

#[test]
fn integer_division_by_zero_as_an_error() {
    for &dtype in DType::ALL.iter().filter(|d| d.is_integer()) {
        let mask = u64::MAX >> (64 - 8 * dtype.size());
        let min = mask ^ (mask >> 1);
        for op in DIVISIONS {
            for runner in Runner::all().chain([Runner::AUTO]) {
                let options =
                    Options { threads: Some(1), int_division: IntDivision::Error, ..runner.options() };
                let divide = |n: usize, zero_at: Option<usize>| {
                    let mut divisors = vec![mask; n];
                    zero_at.into_iter().for_each(|at| divisors[at] = 0);
                    let (x, y) = (
                        elements::array(dtype, &[n], &vec![min; n]),
                        elements::array(dtype, &[n], &divisors),
                    );
                    let quotient = Array::apply(op, &[x, y]).expect("integers");
                    quotient.eval_with(&options).map(|_| ()).map_err(|e| (e.kind(), e.message().to_owned()))
                };
                let failed = Err((ErrorKind::ZeroDivision, format!("{op}: integer division by zero")));
                // Dividing the minimum by −1 is not an error, and the padding of a vector causes none.
                for n in [0, 1, 5, 16, 37, 70, 131] {
                    assert_eq!(divide(n, None), Ok(()), "{op} {dtype} {n} {runner:?}");
                }
                for (n, at) in
                    [(1, 0), (5, 4), (16, 0), (37, 36), (37, 17), (70, 69), (131, 128), (1000, 999)]
                {
                    assert_eq!(divide(n, Some(at)), failed, "{op} {dtype} {at} of {n} {runner:?}");
                }
            }
        }
    }
}
