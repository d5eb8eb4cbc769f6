//! Random draws: the bits of the definition, on every executor, vector width and number of threads, and through every view.

use broadloom::prelude::*;
use broadloom::{Dim, Draw, DrawCall, ErrorKind, Executor, IntDivision, Kernel, Literal, Options, random};

use broadloom_testkit::oracle::philox::block;
use broadloom_testkit::{Runner, elements};

/// The words of a block of a key's stream. The first two words of a key are Philox's key, the others the upper ones of the counter.
fn philox(key: [u32; 4], number: u64) -> [u32; 4] {
    block([number as u32, (number >> 32) as u32, key[2], key[3]], [key[0], key[1]])
}

fn word(key: [u32; 4], i: usize) -> u32 {
    philox(key, i as u64 / 4)[i % 4]
}

/// The parameters of a draw, some of which differ from element to element.
fn parameters(draw: Draw, n: usize) -> Vec<Array<'static>> {
    let by_turns = |x: f64, y: f64| {
        Array::from_vec((0..n).map(|i| if i % 3 == 0 { x } else { y }).collect::<Vec<f64>>())
    };
    match draw {
        Draw::Integers => vec![Array::scalar(3), Array::scalar(97)],
        Draw::Beta => vec![Array::scalar(0.4), by_turns(2.5, 0.1)],
        Draw::Binomial => vec![Array::scalar(50), by_turns(0.02, 0.7)],
        Draw::Poisson => vec![by_turns(3.0, 33.3)],
        Draw::Bernoulli | Draw::Geometric => vec![by_turns(0.2, 0.9)],
        _ if draw.operands() == 1 => vec![by_turns(0.5, 4.0)],
        _ => Vec::new(),
    }
}

#[test]
fn every_draw_has_the_same_bits_on_every_executor_width_and_thread() -> Result<()> {
    let key = random::fold_in(&random::key(77), 5)?;
    for &draw in Draw::ALL {
        for &dtype in draw.gives().dtypes() {
            for n in [0, 1, 3, 1025, 20_011] {
                let call = DrawCall::new(draw, &[n], Some(dtype))?;
                let x = random::draw(&call, &key, &parameters(draw, n))?;
                assert_eq!((x.dtype(), x.shape()), (dtype, &[n][..]), "{draw}");
                let mut first: Option<Vec<u64>> = None;
                for runner in Runner::all().chain([Runner::AUTO]) {
                    for threads in [1, 3] {
                        let options = Options { threads: Some(threads), ..runner.options() };
                        let bits = elements::bits(&x.eval_with(&options)?)?;
                        assert_eq!(
                            first.get_or_insert_with(|| bits.clone()),
                            &bits,
                            "{draw} {dtype} {n} {runner:?}"
                        );
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn bits_and_children_are_blocks_of_the_key() -> Result<()> {
    let words = [3, 0x9000_0001, 0x8000_0007, 5];
    let key = Array::from_vec(words.to_vec());
    let n = 1003;
    let short: Vec<u32> = (0..n).map(|i| word(words, i)).collect();
    assert_eq!(random::bits(&key, &[n], DType::UInt32)?.to_vec::<u32>()?, short);
    let long = |i: usize| u64::from(word(words, 2 * i)) | u64::from(word(words, 2 * i + 1)) << 32;
    let wanted: Vec<u64> = (0..n).map(long).collect();
    assert_eq!(random::bits(&key, &[n], DType::UInt64)?.to_vec::<u64>()?, wanted);
    let children: Vec<u32> = (0..7).flat_map(|j| philox(words, (1 << 63) + j)).collect();
    assert_eq!(random::split(&key, 7)?.to_vec::<u32>()?, children);
    let folded: Vec<u32> = [0, 9, u64::from(u32::MAX)]
        .into_iter()
        .flat_map(|d| philox(words, (1 << 63) + (1 << 32) + d))
        .collect();
    assert_eq!(random::fold_in(&key, Array::from([0, 9, -1]))?.to_vec::<u32>()?, folded);
    // An array of keys draws what each key would.
    let keys = random::split(&key, 3)?;
    let of_all = random::normal(&keys, &[2, 5], DType::Float64)?;
    assert_eq!(of_all.shape(), [3, 2, 5]);
    for j in 0..3 {
        let one = random::normal(&keys.index_axis(0, j)?, &[2, 5], DType::Float64)?;
        assert_eq!(elements::bits(&of_all.index_axis(0, j)?.eval()?)?, elements::bits(&one.eval()?)?);
    }
    Ok(())
}

#[test]
fn views_see_the_numbers_of_the_whole() -> Result<()> {
    let x = random::gamma(&random::key(1), 1.5, &[30, 40, 7], DType::Float64)?;
    type View = fn(&Array<'static>) -> Result<Array<'static>>;
    let views: [View; 4] = [
        |x| x.slice((3..20, .., 2)),
        |x| x.permute_dims(&[2, 0, 1]),
        |x| x.flip(1),
        |x| x.reshape(&[-1, 8])?.slice((.., 1..)),
    ];
    // Words that are generated, and blocks that a rejection reads.
    let key = random::key(1);
    let words = random::bits(&key, &[30, 40, 7], DType::UInt32)?;
    let pairs = random::normal(&key, &[30, 40, 7], DType::Float64)?;
    for x in [x, words, pairs] {
        let stored = x.eval()?;
        for view in views {
            for runner in Runner::all() {
                let seen = view(&x)?.eval_with(&runner.options())?;
                assert_eq!(elements::bits(&seen)?, elements::bits(&view(&stored)?.eval()?)?, "{runner:?}");
            }
        }
        // Read by several stages, along rows and across them, and beside its own broadcast.
        let number = |x: &Array<'static>| x.astype(DType::Float64);
        let both = |x: &Array<'static>| -> Result<Array<'static>> {
            let x = number(x);
            Ok((&x - x.mean(-1)?.expand_dims(-1)?) * x.slice((0, .., ..))? + x.sum(0)?)
        };
        assert_eq!(elements::bits(&both(&x)?.eval()?)?, elements::bits(&both(&stored)?.eval()?)?);
        let steps = |x: &Array<'static>| number(x).cumulative_sum(Some(0), None, false);
        assert_eq!(elements::bits(&steps(&x)?.eval()?)?, elements::bits(&steps(&stored)?.eval()?)?);
    }
    Ok(())
}

/// A key need not be contiguous.
#[test]
fn keys_are_read_wherever_they_are() -> Result<()> {
    let words = [3, 0x9000_0001, 0x8000_0007, 5];
    let wanted: Vec<u32> = (0..9).map(|i| word(words, i)).collect();
    let table = Array::from_shape_vec(&[4, 2], words.iter().flat_map(|&w| [0, w]).collect::<Vec<u32>>())?;
    let key = table.index_axis(1, 1)?;
    assert_eq!(random::bits(&key, &[9], DType::UInt32)?.to_vec::<u32>()?, wanted);
    // Both dtypes of one key in one loop.
    let both = random::bits(&key, &[9], DType::UInt32)?.astype(DType::UInt64)
        + random::bits(&key, &[9], DType::UInt64)?;
    let long = |i: usize| u64::from(word(words, 2 * i)) | u64::from(word(words, 2 * i + 1)) << 32;
    let sums: Vec<u64> = (0..9).map(|i| u64::from(wanted[i]).wrapping_add(long(i))).collect();
    assert_eq!(both.to_vec::<u64>()?, sums);
    // The key of a kernel, and its text.
    let text = "key: uint32[4]\nbits(key, [9])";
    for executor in [Executor::Interp, Executor::Jit] {
        let kernel = Kernel::parse(text, &Options { executor, ..Options::default() })?;
        let mut out = [0_u32; 9];
        kernel.run(&[(&words).into()], [(&mut out).into()])?;
        assert_eq!(out[..], wanted[..]);
    }
    Ok(())
}

#[test]
fn a_kernel_takes_the_key_when_it_runs() -> Result<()> {
    let text =
        "key: uint32[4]; lam: float64[n]\nmean(poisson(fold_in(key, 3), 6, [1000]) / 1) + 0 * sum(lam)";
    for executor in [Executor::Interp, Executor::Jit] {
        let options = Options { executor, ..Options::default() };
        let kernel = Kernel::parse(text, &options)?;
        for seed in 0..3_u32 {
            let key = [seed, 0, 0, 0];
            let mut out = [0.0];
            kernel.run(&[(&key).into(), (&[1.0, 2.0]).into()], [(&mut out).into()])?;
            let child = random::fold_in(&random::key(seed.into()), 3)?;
            let drawn = random::poisson(&child, 6, &[1000], DType::Int64)?.astype(DType::Float64);
            assert_eq!(out[0], drawn.mean(())?.item::<f64>()?);
        }
    }
    Ok(())
}

#[test]
fn contraction_changes_no_draw() -> Result<()> {
    let contract = Options { contract: true, ..Options::default() };
    for &draw in Draw::ALL {
        let call = DrawCall::new(draw, &[3001], None)?;
        // What a user adds to a draw must not change it either.
        let x = random::draw(&call, &random::key(3), &parameters(draw, 3001))?;
        let sum = if x.dtype() == DType::Bool { x.clone() } else { &x + 1 };
        for x in [x, sum] {
            assert_eq!(elements::bits(&x.eval_with(&contract)?)?, elements::bits(&x.eval()?)?, "{draw}");
        }
    }
    Ok(())
}

#[test]
fn ranges_between_arrays_are_those_between_numbers() -> Result<()> {
    let key = random::key(9);
    let n = 5000;
    for (low, high, dtype) in [
        (0_i64, 1 << 40, DType::Int64),
        (-5, 5, DType::Int64),
        (i64::MIN, i64::MAX, DType::Int64),
        (0, 256, DType::UInt8),
        (-128, 128, DType::Int8),
        (3, 4, DType::UInt64),
    ] {
        let wanted = random::integers(&key, Array::scalar(low), Array::scalar(high), &[n], dtype)?;
        let [lows, highs] = [low, high].map(|x| Array::from_vec(vec![x; n]));
        let wanted = elements::bits(&wanted.eval()?)?;
        assert_eq!(elements::bits(&random::integers(&key, &lows, &highs, &[n], dtype)?.eval()?)?, wanted);
        assert_eq!(elements::bits(&random::integers(&key, &lows, high, &[n], dtype)?.eval()?)?, wanted);
    }
    // All integers of 64 bits, also where a division by zero is an error.
    let options = Options { int_division: IntDivision::Error, ..Options::default() };
    let whole = random::integers(&key, 0, Array::scalar(Literal::Int(1 << 64)), &[n], DType::UInt64)?;
    let words: Vec<u64> = whole.eval_with(&options)?.to_vec()?;
    assert!(words.iter().any(|x| *x > 1 << 63) && words.iter().any(|x| *x < 1 << 62));
    // Signed and unsigned bounds, and a range that is empty for some elements.
    let lows = Array::from([-3_i8, 4, 7]);
    let highs = Array::from([u64::MAX, 5, 7]);
    let drawn: Vec<u64> = random::integers(&key, &lows, &highs, &[3], DType::UInt64)?.to_vec()?;
    assert_eq!(drawn[1..], [4, 7]);
    Ok(())
}

#[test]
fn counts_saturate_and_invalid_parameters_are_marked() -> Result<()> {
    let key = random::key(4);
    let counts = |x: Result<Array<'static>>| x?.to_vec::<i8>();
    assert_eq!(counts(random::poisson(&key, 3000, &[3], DType::Int8))?, [127; 3]);
    assert_eq!(counts(random::poisson(&key, -0.5, &[3], DType::Int8))?, [-1; 3]);
    assert_eq!(counts(random::binomial(&key, f64::INFINITY, 0.5, &[2], DType::Int8))?, [-1; 2]);
    assert_eq!(counts(random::geometric(&key, 0, &[2], DType::Int8))?, [127; 2]);
    assert_eq!(counts(random::geometric(&key, f64::NAN, &[2], DType::Int8))?, [-1; 2]);
    // Small degrees of freedom give large values, few of which are beyond float64.
    let t = random::student_t(&key, 0.02, &[10_000], DType::Float64)?;
    let infinite = t.isinf().astype(DType::Int64).sum(())?.item::<i64>()?;
    assert!(infinite < 100, "{infinite}");
    Ok(())
}

#[test]
fn what_cannot_be_drawn_is_a_typed_error() {
    let key = random::key(1);
    let floats = Array::from([1.0, 2.0, 3.0, 4.0]);
    let f64s = DType::Float64;
    for (made, kind, words) in [
        (
            random::normal(&floats, &[2], f64s),
            ErrorKind::DType,
            "normal: the key is float64[4], not uint32[4]",
        ),
        (
            random::normal(&key, &[1 << 24, 1 << 24], f64s),
            ErrorKind::Limit,
            "normal: [16777216,16777216] has 2^48 elements or more",
        ),
        (random::normal(&key, &[2], DType::Float16), ErrorKind::DType, "normal: does not give float16"),
        (
            random::gamma(&key, &floats, &[3], f64s),
            ErrorKind::Shape,
            "gamma: a is float64[4], the draw is [3]",
        ),
        (
            random::integers(&key, 5, 5, &[3], DType::Int8),
            ErrorKind::Literal,
            "integers: no integer is between 5 and 5",
        ),
        (
            random::integers(&key, 0, 129, &[3], DType::Int8),
            ErrorKind::Literal,
            "integers: the bound 129 is beyond int8",
        ),
        (
            random::integers(&key, 0.5, 3, &[3], DType::Int8),
            ErrorKind::Literal,
            "integers: the bound 0.5 is not an integer",
        ),
        (
            random::integers(&key, &floats, 9, &[4], DType::Int64),
            ErrorKind::DType,
            "integers: low is float64[4], not integers",
        ),
        (
            Array::input("p", f64s, &[Dim::Rest]).and_then(|p| random::bernoulli(&key, p, &[3])),
            ErrorKind::Shape,
            "bernoulli: p is float64[...], the draw is [3]",
        ),
        (
            random::draw(
                &DrawCall {
                    dtype: DType::Bool,
                    ..DrawCall::new(Draw::Uniform, &[2], None).expect("a dtype")
                },
                &key,
                &[],
            ),
            ErrorKind::DType,
            "uniform: does not give bool",
        ),
        (random::fold_in(&key, 0.5), ErrorKind::DType, "fold_in: the number is float64, not an integer"),
    ] {
        let error = made.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(words), "{error}");
    }
}

/// The words of four elements have the shape of the key that they are made of, which is no reason to compute both in one loop.
#[test]
fn four_elements_of_a_computed_key_are_stored_and_reduced() -> Result<()> {
    let key = random::key(7);
    let x = random::normal(&key, &[4], DType::Float32)? + Array::from_vec(vec![1.0_f32; 4]);
    let [stored, sum] = &eval_many(&[&x, &x.sum(())?])?[..] else { panic!("two results") };
    assert_eq!(
        sum.item::<f32>()?,
        stored.to_vec::<f32>()?.chunks(2).map(|pair| pair[0] + pair[1]).sum::<f32>()
    );
    let bits = random::bits(&key, &[4], DType::UInt32)?.max(())?;
    assert_eq!(bits.item::<u32>()?, (0..4).map(|i| word([7, 0, 0, 0], i)).max().expect("four words"));
    Ok(())
}
