//! Contraction: which product of a sum is rounded together with it. The rows are texts over numbers for which the last bit
//! of the result shows which products were fused. The expected values follow from exact arithmetic.

use broadloom::prelude::*;
use broadloom::text::Program;
use broadloom::{Chunks, Evaluation, In, InputPart, Kernel, Options, Out, Passes, explain_many};
use broadloom_core::rewrite::Rules;
use broadloom_testkit::Runner;

/// The square of `A` is between the float32 `SQUARE` and the next float32, exactly halfway. It exceeds `SQUARE` by `LOST`.
const A: f32 = 1.0 + 1.0 / 4096.0;
const SQUARE: f32 = 1.0 + 1.0 / 2048.0;
const LOST: f32 = 1.0 / 16_777_216.0;

/// The inputs of each row. All elements of `a` and `b` are `A`, all elements of `r` are `SQUARE`, and all elements of `two`
/// are 2. `a` and `b` are different arrays.
const DECLARED: &str = "a: float32[3]; b: float32[3]; r: float32[3]; two: float32[3]\n";

fn inputs() -> [(&'static str, Array<'static>); 4] {
    let of = |x: f32| Array::from_vec(vec![x; 3]);
    [("a", of(A)), ("b", of(A)), ("r", of(SQUARE)), ("two", of(2.0))]
}

/// Texts, each with the values of its outputs under contraction.
const ROWS: &[(&str, &[f32])] = &[
    // Products on either side of a sum or a difference, and negated products.
    ("a * b - r", &[LOST]),
    ("r - a * b", &[-LOST]),
    ("a * b + -r", &[LOST]),
    ("-r + a * b", &[LOST]),
    ("-(a * b) + r", &[-LOST]),
    ("r + -(a * b)", &[-LOST]),
    ("-(a * b) - -r", &[-LOST]),
    ("-r - -(a * b)", &[LOST]),
    ("-a * b + r", &[-LOST]),
    // If both operands are products, the left one is fused and the right one is rounded.
    ("a * b - b * a", &[LOST]),
    ("a * b + -(b * a)", &[LOST]),
    ("-(b * a) + a * b", &[-LOST]),
    ("a * a - a ** 2", &[LOST]),
    ("a * b - a * b", &[LOST]),
    // Both orders of operands in one evaluation, and shared products.
    (
        "p = a * b; q = -(b * a); return s = p + q, t = q + p, u = p + q, p, q",
        &[LOST, -LOST, LOST, SQUARE, -SQUARE],
    ),
    ("p = a * b; return s = p - r, t = r - p, p, u = p + 1 - (p + 1)", &[LOST, -LOST, SQUARE, 0.0]),
    // Squares are products, and powers with the literal exponent 2 are squares.
    ("square(a) - r", &[LOST]),
    ("a ** 2 - r", &[LOST]),
    ("a ** 2.0 - r", &[LOST]),
    ("r - pow(a, 2)", &[-LOST]),
    ("pow(a, two) - r", &[0.0]),
    ("a ** float32(2) - r", &[LOST]),
    // Nested sums: a product next to a sum, and a product inside one.
    ("a * b - r + a * b - r", &[2.0 * LOST]),
    ("(a * b - r) * 1 + (a * b - r) * 1", &[2.0 * LOST]),
    // A product is not fused through a conversion, view, function or reduction between it and the sum, unless this changes
    // nothing.
    ("astype(astype(a * b, float64) - r, float32)", &[0.0]),
    ("astype(a * b, float32) - r", &[LOST]),
    ("(a * b)[::-1] - r", &[0.0]),
    ("(a * b)[:] - r", &[LOST]),
    ("reshape(a * b, [3, 1]) - reshape(r, [3, 1])", &[0.0]),
    ("reshape(a * b, [3]) - r", &[LOST]),
    ("positive(a * b) - r", &[0.0]),
    ("abs(a * b) - r", &[0.0]),
    ("where(a > 0, a * b, r) - r", &[0.0]),
    ("broadcast_to(sum((a * b)[:1]), [3]) - r", &[0.0]),
    ("broadcast_to(max(a * b), [3]) - r", &[0.0]),
    ("broadcast_to(sum(a * b - r), [3])", &[3.0 * LOST]),
    ("cumulative_sum((a * b)[:1]) - r", &[0.0]),
    ("broadcast_to(var(a * b), [3])", &[0.0]),
    // Products of literals are folded first, and are then not products.
    ("a * b - 1.00048828125", &[LOST]),
    ("r - 1.000244140625 * a", &[-LOST]),
    ("-r + 1.000244140625 * 1.000244140625", &[0.0]),
    // `fma` is always fused, whether products are contracted or not.
    ("fma(a, b, -r)", &[LOST]),
    ("fma(a, b, -(a * b))", &[LOST]),
];

fn texts() -> impl Iterator<Item = (String, &'static str, &'static [f32])> {
    ROWS.iter().map(|&(row, want)| (format!("{DECLARED}{row}"), row, want))
}

fn firsts(arrays: &[Array<'_>]) -> Vec<f32> {
    arrays.iter().map(|x| x.to_vec::<f32>().expect("float32")[0]).collect()
}

#[test]
fn the_rule_says_which_product_is_fused() {
    for (text, row, want) in texts() {
        let names = inputs();
        let built = Program::parse(&text).and_then(|program| {
            program.build(&names).map(|out| out.into_iter().map(|(_, x)| x).collect::<Vec<_>>())
        });
        let built = built.unwrap_or_else(|e| panic!("{row}: {e:?}"));
        let together: Vec<&Array<'_>> = built.iter().collect();
        for runner in Runner::all().chain([Runner::AUTO]) {
            for rules in [Rules::On, Rules::Off] {
                let options = Options { contract: true, rules, ..runner.options() };
                let got =
                    Evaluation::with(&options).eval_many(&together).unwrap_or_else(|e| panic!("{row}: {e}"));
                assert_eq!(firsts(&got), want, "{row} by {runner:?}, rules {rules:?}");
                let alone = together.iter().map(|x| x.eval_with(&options)).collect::<Result<Vec<_>>>();
                assert_eq!(firsts(&alone.expect("evaluates")), want, "{row} alone by {runner:?}");
            }
        }
    }
}

#[test]
fn nothing_is_fused_by_default() {
    for (text, row, _) in texts().filter(|(_, row, _)| !row.contains("fma") && !row.contains(" p,")) {
        let names = inputs();
        let program = Program::parse(&text).unwrap_or_else(|e| panic!("{row}: {e:?}"));
        let built = program.build(&names).unwrap_or_else(|e| panic!("{row}: {e:?}"));
        for (_, x) in built {
            let got = x.eval().and_then(|x| x.to_vec::<f32>()).expect("float32")[0];
            assert_eq!(got, 0.0, "{row}");
        }
    }
}

/// A kernel of the same text. Its id differs from the id of a kernel without contraction.
#[test]
fn kernels_contract() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let text = "a: float32[n]; r: float32[n]; a * a - r";
    let plain = Kernel::parse(text, &Options::default())?;
    for runner in Runner::all() {
        let kernel = Kernel::parse(text, &Options { contract: true, ..runner.options() })?;
        assert_ne!(kernel.id(), plain.id());
        for n in [1, 7, 100] {
            let (a, r, mut out) = (vec![A; n], vec![SQUARE; n], vec![7f32; n]);
            let given = [In::from(&a[..]), In::from(&r[..])];
            kernel.run(&given, [Out::from(&mut out[..])])?;
            assert_eq!(out, vec![LOST; n], "{runner:?}");
            plain.run(&given, [Out::from(&mut out[..])])?;
            assert_eq!(out, vec![0.0; n], "{runner:?}");
        }
    }
    Ok(())
}

/// In a chunk of one row, views of rows change nothing and are removed. Contraction is nevertheless the same as for the
/// whole result.
#[test]
fn chunks_contract_what_the_whole_does() -> Result<()> {
    let of = |x: f32, shape: &[usize]| Array::from_shape_vec(shape, vec![x; shape.iter().product()]);
    let (row, a, r) = (of(A, &[1, 3])?, of(A, &[4, 3])?, of(SQUARE, &[4, 3])?);
    let options = Options { contract: true, ..Options::default() };
    let rows = [
        ((&row * &row).broadcast_to(&[4, 3])? - &r, 0.0),
        ((&a * &a).slice((.., ..))? - &r, LOST),
        ((&a * &a).flip(0)? - &r, 0.0),
        (-(&a * &a).slice((.., ..))?.flip(0)? + &r, 0.0),
        ((&a * &a - &r).flip(0)?, LOST),
        ((&a * &a).reshape(&[12])?.reshape(&[4, 3])? - &r, 0.0),
        ((&a * &a).max(1)?.reshape(&[4, 1])? - &r, 0.0),
        ((&a * &a).flip(0)?.slice((..2, ..))? - r.slice((..2, ..))?, 0.0),
    ];
    for (i, (x, want)) in rows.iter().enumerate() {
        let whole = x.eval_with(&options)?.to_vec::<f32>()?;
        assert_eq!(whole, vec![*want; x.len()], "row {i}");
        for max_bytes in [48, 96, 200, 10_000] {
            let Ok(chunks) = Chunks::new(&[x], &[], &Options { max_bytes, ..options.clone() }) else {
                continue;
            };
            for chunk in chunks.iter() {
                let part = chunk?.results(&[])?.swap_remove(0);
                let got = part.eval_with(&options)?.to_vec::<f32>()?;
                assert_eq!(got, vec![*want; part.len()], "row {i} in chunks of {max_bytes} bytes");
            }
        }
    }
    Ok(())
}

/// Products in reductions that passes compute are fused as in an evaluation at once.
#[test]
fn passes_contract_what_the_whole_does() -> Result<()> {
    let file = vec![A; 1000];
    let x = Array::input("x", DType::Float32, &[1000.into()])?;
    let square = &x * &x;
    let result = (&square - SQUARE) + square.max(())?;
    let options = Options { max_bytes: 1000, contract: true, ..Options::default() };
    let mut passes = Passes::new(&[&result], &[&x], &options)?;
    let read = |part: &InputPart| Array::from_slice(&file[part.ranges[0].clone()]);
    let mut count = 0;
    while let Some(chunk) = passes.next_chunk()? {
        let parts: Vec<_> = chunk.parts().iter().map(read).collect();
        chunk.fold(&parts)?;
        count += 1;
    }
    assert!(count > 1);
    let result = &passes.results()?[0];
    for chunk in Chunks::new(&[result], &[&x], &options)?.iter() {
        let chunk = chunk?;
        let parts: Vec<_> = chunk.parts().iter().map(read).collect();
        let got = chunk.results(&parts)?[0].eval_with(&options)?.to_vec::<f32>()?;
        assert!(got.iter().all(|&x| x == LOST + SQUARE), "{got:?}");
    }
    Ok(())
}

/// `linspace` and `arange` return the same numbers with and without contraction, although they compute `start + i·step`.
#[test]
fn generated_numbers_are_the_same() -> Result<()> {
    let options = Options { contract: true, ..Options::default() };
    for x in [Array::linspace(0.1_f32, 0.7, 1000)?, Array::arange(0.1_f32, 90.0, 0.1)?] {
        assert_eq!(x.eval_with(&options)?.to_vec::<f32>()?, x.eval()?.to_vec::<f32>()?);
    }
    for x in [Array::linspace(0.1_f64, 0.7, 1000)?, Array::arange(0.1_f64, 90.0, 0.1)?] {
        assert_eq!(x.eval_with(&options)?.to_vec::<f64>()?, x.eval()?.to_vec::<f64>()?);
    }
    Ok(())
}

#[test]
fn the_explanation_names_the_rule() -> Result<()> {
    let [a, b, c] = [A, A, SQUARE].map(|x| Array::from_vec(vec![x; 3]));
    let p = || &a * &b;
    for (x, rule) in [
        (p() + &c, "a * b + c -> fma(a, b, c)"),
        (&c + p(), "c + a * b -> fma(a, b, c)"),
        (p() - &c, "a * b - c -> fma(a, b, -c)"),
        (&c - p(), "c - a * b -> fma(-a, b, c)"),
        (-p() + &c, "-(a * b) + c -> fma(-a, b, c)"),
        (&c + -p(), "c + -(a * b) -> fma(-a, b, c)"),
        (-p() - &c, "-(a * b) - c -> fma(-a, b, -c)"),
        (&c - -p(), "c - -(a * b) -> fma(a, b, c)"),
    ] {
        let text = |contract| {
            let options = Options { contract, ..Options::default() };
            explain_many(&[&x], &options, false).map(|explanation| explanation.to_string())
        };
        let (with, without) = (text(true)?, text(false)?);
        assert!(with.contains(&format!("contract: {rule}")), "{with}");
        assert!(!without.contains("contract:"), "{without}");
    }
    Ok(())
}

/// A plan cached with contraction is not used without it, and vice versa.
#[test]
fn plans_are_kept_for_each_meaning() -> Result<()> {
    let [a, r] = [A, SQUARE].map(|x| Array::from_vec(vec![x; 3]));
    for _ in 0..3 {
        for (contract, want) in [(true, LOST), (false, 0.0)] {
            let options = Options { contract, ..Options::default() };
            assert_eq!((&a * &a - &r).eval_with(&options)?.to_vec::<f32>()?, [want; 3]);
        }
    }
    Ok(())
}
