//! Compares the maxima stated in `docs/generated/accuracy.md` with pairs of known errors and with a random sample.

use broadloom_testkit::reference::{FloatFormat, Function, Judgement, judge_precisely};
use indicatif::ProgressBar;

use broadloom_core::Accuracy;

use crate::executor::{self, Executor, Which};
use crate::format::hex;
use crate::measure::FunctionRun;
use crate::points::Points;
use crate::results::{AccuracyRow, CANCELLING};

const PAGE: &str = include_str!("../../../../../docs/generated/accuracy.md");

/// The maximum error stated in a row of the page.
fn stated(section: &str, name: &str) -> f64 {
    let (_, rest) = PAGE.split_once(&format!("\n## {section}\n")).expect("a section");
    let rows = rest.split("\n## ").next().expect("its text").lines();
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let mut maxima = cells.filter(|cells| cells.get(1) == Some(&name)).map(|cells| cells[3].parse());
    maxima.next().expect("a row").expect("a number")
}

fn error(function: Function, format: FloatFormat, at: [f64; 2]) -> f64 {
    let mut executor =
        Executor::new(Which::Interpreter, Accuracy::Fast, function, format.dtype).expect("prepared");
    let mut results = Vec::new();
    executor.run(&at.map(|x| vec![x]), &mut results);
    match judge_precisely(function, format, at[0], at[1], results[0]) {
        Judgement::Off { ulps, .. } => ulps,
        Judgement::Wrong => f64::INFINITY,
    }
}

/// Pairs to which random bits don't come close; their errors exceed those found by a random sample.
#[test]
fn known_pairs_are_within_the_stated_maxima() {
    let single = |bits: [u32; 2]| bits.map(|bits| f64::from(f32::from_bits(bits)));
    let cases = [
        (Function::Atan2, [0x0001_d865, 0x0003_d9d6], ["0x1.d865p-133", "0x1.ecebp-132"], 0.7907),
        (Function::LogAddExp, [0xbf9b_1936, 0xbe3d_0aca], ["-0x1.36326cp+0", "-0x1.7a1594p-3"], 0.7130),
        (Function::Hypot, [0x0050_2d1a, 0x805b_727f], ["0x1.40b468p-127", "-0x1.6dc9fcp-127"], 0.7632),
    ];
    for (function, bits, shown, least) in cases {
        let at = single(bits);
        assert_eq!(at.map(hex), shown);
        let ulps = error(function, FloatFormat::FLOAT32, at);
        assert!(ulps > least, "{function:?}({shown:?}): {ulps}");
        let stated = stated("float32", function.name());
        assert!(ulps <= stated, "{function:?}({shown:?}) is {ulps} ulps off, and {stated} are stated");
    }
}

/// Pairs whose error once exceeded an ulp. Next to overflow, pow multiplies the logarithm's error by about a
/// thousand; in logaddexp, terms that partly cancel multiply an error several times.
#[test]
fn pairs_that_had_more_than_an_ulp_have_less() {
    let cases = [
        (Function::Pow, [0x3ff6_8973_cf1f_d6e3, 0x40a0_2fe9_fad4_d41b]),
        (Function::LogAddExp, [0xc085_ff16_08a9_e8b5, 0x8078_bed6_4e48_ea2e]),
        (Function::LogAddExp, [0xbff3_885a_5281_e12a, 0xbfd4_0def_6652_54db]),
    ];
    for (function, bits) in cases {
        let ulps = error(function, FloatFormat::FLOAT64, bits.map(f64::from_bits));
        assert!(ulps < 0.99, "{function:?}({bits:x?}): {ulps}");
    }
}

/// Pairs of all kinds, drawn with another seed than for the page.
#[test]
fn a_sample_is_within_the_stated_maxima() {
    let functions = Function::ALL.into_iter().filter(|function| function.arity() == 2);
    for function in functions {
        for (format, accuracy) in FloatFormat::ALL.into_iter().flat_map(|f| Accuracy::ALL.map(|a| (f, a))) {
            if executor::code(function, accuracy, format.dtype).is_none() {
                continue;
            }
            let points = Points::new(function, format, 10_000, 1, 7);
            let points = if format == FloatFormat::FLOAT16 {
                Points::new(function, format, 1, 200_000, 7)
            } else {
                points
            };
            let run = FunctionRun { function, format, points, which: Which::Interpreter, accuracy };
            let outcome = run.measure(&ProgressBar::hidden()).expect("measured");
            for row in AccuracyRow::of(&run, &outcome) {
                let section = match accuracy {
                    Accuracy::Fast => row.dtype.clone(),
                    Accuracy::Nearest => format!("{} with `accuracy = nearest`", row.dtype),
                };
                let name = if row.part == CANCELLING { "logaddexp, cancelling" } else { function.name() };
                let most = stated(&section, name);
                assert!(
                    row.ulps <= most,
                    "{name} of {section}: {} ulps at {:?}, and {most} are stated",
                    row.ulps,
                    row.at
                );
                assert_eq!(row.broken(), Vec::<String>::new());
            }
        }
    }
}
