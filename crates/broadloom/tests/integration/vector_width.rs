//! The vector width of machine code: each width has its own code, with the same bits, and is reported.

use broadloom::prelude::*;
use broadloom::{Engine, Executor, Kernel, Limits, Options, VectorWidth};
use broadloom_mem::Caches;

fn jit(vector_width: impl Into<Option<VectorWidth>>) -> Options {
    let vector_width = vector_width.into();
    Options { executor: Executor::Jit, vector_width, threads: Some(1), ..Options::default() }
}

/// Code of one width is not run if another width is requested, and is still cached when its width is requested
/// again.
#[test]
fn each_width_has_code_of_its_own() -> Result<()> {
    if !cfg!(feature = "jit") {
        return Ok(());
    }
    let engine = Engine::new(Limits::default());
    let x: Vec<f32> = (0..1003).map(|i| i as f32 / 8.0).collect();
    let want: Vec<f32> = x.iter().map(|x| x * x + 0.5).collect();
    let array = Array::from_vec(x);
    let widths: Vec<VectorWidth> = VectorWidth::of_target().collect();
    for round in 0..2 {
        for (i, &width) in widths.iter().enumerate() {
            for _ in 0..3 {
                let sums =
                    Evaluation::with(&jit(width)).engine(&engine).eval_many(&[&(&array * &array + 0.5)])?;
                assert_eq!(sums[0].to_vec::<f32>()?, want, "{width:?}");
            }
            let kept = if round == 0 { i + 1 } else { widths.len() };
            assert_eq!(engine.compiled_kernels(), kept, "{width:?}");
        }
        // If no width is requested, the maximum is used.
        Evaluation::with(&jit(None)).engine(&engine).eval(&(&array * &array + 0.5))?;
        assert_eq!(engine.compiled_kernels(), widths.len());
    }
    Ok(())
}

/// Calls that pass slices directly to machine code, at each width in turn.
#[test]
fn kernels_of_each_width() -> Result<()> {
    let x = Array::input("x", DType::Int32, &["n".into()])?;
    let root = &x * 3 + 1;
    let kernels: Vec<Kernel> = VectorWidth::of_target()
        .map(|width| Kernel::new(&[&root], &[&x], &jit(width)))
        .collect::<Result<_>>()?;
    for n in (1..200).chain([1000, 4099]) {
        let data: Vec<i32> = (0..n).map(|i| i * 7 - 100).collect();
        let want: Vec<i32> = data.iter().map(|x| x * 3 + 1).collect();
        for kernel in kernels.iter().chain(&kernels) {
            let mut out = vec![0; data.len()];
            kernel.run(&[(&data).into()], [(&mut out).into()])?;
            assert_eq!(out, want, "{n}");
        }
    }
    Ok(())
}

/// The text, the page and the picture contain the width of the code. If it is not the requested width, the text and
/// the page contain the reason.
#[test]
fn explanations_tell_the_width() -> Result<()> {
    if !cfg!(feature = "jit") {
        return Ok(());
    }
    let x = Array::from_vec(vec![1.0_f64; 100]);
    for asked in [None].into_iter().chain(VectorWidth::ALL.map(Some)) {
        let told = (&x * &x).explanation(&jit(asked), true)?;
        let (text, page) = (told.to_string(), broadloom_html::page(&told, "squares"));
        let line = text.lines().find(|line| line.starts_with("kernel 0 has vectors of ")).expect("a line");
        let (bits, why) = line["kernel 0 has vectors of ".len()..].split_once(" bits").expect("bits");
        let asked_bits = asked.unwrap_or(VectorWidth::target()).bits();
        match why.strip_prefix(", no wider: ") {
            None => assert_eq!((bits.parse(), why), (Ok(asked_bits), "")),
            Some(why) => {
                assert!(bits.parse::<u32>().expect("a number") < asked_bits && !why.is_empty(), "{line}");
                assert!(page.contains(why), "{why}");
            }
        }
        assert!(text.contains(&format!("elements, vectors of {bits} bits")), "{text}");
        assert!(page.contains(&format!("It has vectors of {bits} bits")), "{page}");
        assert!(broadloom_html::picture(&told).contains(&format!("jit ({bits} bits)")));
    }
    let interpreted = Options { executor: Executor::Interp, ..jit(None) };
    assert!(!(&x * &x).explanation(&interpreted, false)?.to_string().contains("vectors of"));
    Ok(())
}

/// Wide vectors are supported only on x86-64. On other targets, vectors have 128 bits, and an explanation states
/// that wider vectors are not available.
#[cfg(not(target_arch = "x86_64"))]
#[test]
fn no_wide_vectors() -> Result<()> {
    assert_eq!(VectorWidth::of_target().collect::<Vec<_>>(), [VectorWidth::W128]);
    if !cfg!(all(feature = "jit", target_arch = "aarch64")) {
        return Ok(());
    }
    let x = Array::from_vec(vec![1.5_f32; 100]);
    for asked in [VectorWidth::W256, VectorWidth::W512] {
        let root = &x * &x;
        assert_eq!(root.eval_with(&jit(asked))?.to_vec::<f32>()?, [2.25; 100]);
        let told = root.explanation(&jit(asked), true)?.to_string();
        assert!(
            told.contains("has vectors of 128 bits, no wider: this CPU has vectors of 128 bits"),
            "{told}"
        );
    }
    Ok(())
}

/// Results larger than the caches, which begin at any offset within a cache line, are correct.
#[test]
fn stores_past_the_caches() -> Result<()> {
    // With larger caches the test would take too long. It then only tests offsets, without non-temporal stores.
    let cache = Caches::of_target().last.min(64 << 20);
    let n = cache / 4 + (1 << 20) + 77;
    let x: Vec<f32> = (0..n).map(|i| (i % 4099) as f32).collect();
    let array = Array::from_slice(&x);
    let root = &array * 3 + 1;
    for width in VectorWidth::of_target() {
        for (threads, offset) in [(Some(1), 0), (Some(2), 5)] {
            let mut out = vec![-1.0_f32; n + 32];
            let options = Options { threads, ..jit(width) };
            Evaluation::with(&options).eval_into(&root, &mut out[offset..offset + n])?;
            let wrong = x.iter().zip(&out[offset..]).position(|(x, y)| x * 3.0 + 1.0 != *y);
            assert_eq!(wrong, None, "{width:?}, {threads:?}");
            assert!(out[..offset].iter().chain(&out[offset + n..]).all(|&y| y == -1.0));
        }
        let told = root.explanation(&jit(width), false)?.to_string();
        let streams =
            cfg!(feature = "jit") && width != VectorWidth::W128 && cache == Caches::of_target().last;
        assert!(!streams || told.contains("kernel 0 uses non-temporal stores"), "{told}");
    }
    Ok(())
}

/// Results larger than the caches whose rows begin at any offset within a cache line, with a broadcast row and
/// column, are correct on both executors.
#[test]
fn rows_past_the_caches() -> Result<()> {
    const COLS: usize = 999;
    let rows = (Caches::of_target().last.min(64 << 20) / 4 + (1 << 20)) / COLS;
    let x: Vec<f32> = (0..rows * COLS).map(|i| (i % 4099) as f32).collect();
    let row: Vec<f32> = (0..COLS).map(|i| i as f32).collect();
    let column: Vec<f32> = (0..rows).map(|i| (i % 7) as f32).collect();
    let array = Array::from_slice(&x).reshape(&[rows as isize, COLS as isize])?;
    let root = &array + Array::from_slice(&row) * Array::from_slice(&column).reshape(&[rows as isize, 1])?;
    let runs = VectorWidth::of_target().map(jit);
    for options in runs.chain([Options { executor: Executor::Interp, ..jit(None) }]) {
        for (threads, offset) in [(Some(1), 3), (Some(2), 0)] {
            let mut out = vec![-1.0_f32; rows * COLS + 32];
            let options = Options { threads, ..options.clone() };
            Evaluation::with(&options).eval_into(&root, &mut out[offset..offset + rows * COLS])?;
            let expected = |i: usize| x[i] + row[i % COLS] * column[i / COLS];
            let wrong = (0..rows * COLS).find(|&i| out[offset + i] != expected(i));
            assert_eq!(wrong, None, "{options:?}");
            assert!(out[..offset].iter().chain(&out[offset + rows * COLS..]).all(|&y| y == -1.0));
        }
    }
    Ok(())
}
