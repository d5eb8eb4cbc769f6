//! Evaluates texts of a million characters that are designed to be expensive. Each must have a value, or be rejected
//! with the message in the table of `broadloom_bench::hostile`, on a stack that recursion over a text would overflow.

use broadloom::text::{Library, ParseOptions, Program};
use broadloom::{Array, ErrorKind, with_promotion};
use broadloom_bench::hostile::{ExpectedAnswer, texts};
use broadloom_testkit::one_of;

#[test]
fn each_is_answered() {
    let work = || {
        for hostile in texts().into_iter().step_by(one_of(3)) {
            let (x, i) = (Array::from_vec(vec![1.5_f32, 2.0]), Array::from_vec(vec![1_i32, 2]));
            let told = Program::parse(&hostile.text).and_then(|program| {
                let unknown = program.inputs().filter(|input| input.dtype().is_none());
                let bound: Vec<(&str, Array<'_>)> = unknown
                    .map(|input| (input.name(), if input.name() == "i" { i.clone() } else { x.clone() }))
                    .collect();
                program.build(&bound).map(|results| results.len())
            });
            match (hostile.answer, told) {
                (ExpectedAnswer::Value, Ok(results)) => assert!(results > 0, "{}", hostile.name),
                (ExpectedAnswer::Refused(words), Err(error)) => {
                    assert!(error.message.starts_with(words), "{}: {}", hostile.name, &error.message);
                    assert!(error.message.len() < 400, "{}", hostile.name);
                    assert!(error.help.is_none_or(|help| help.len() < 400), "{}", hostile.name);
                    let at = error.span.start as usize..error.span.end as usize;
                    assert!(hostile.text.get(at).is_some(), "{}", hostile.name);
                }
                (_, told) => panic!("{}: {told:?}", hostile.name),
            }
        }
    };
    let small = std::thread::Builder::new().stack_size(256 << 10);
    small.spawn(work).expect("a thread").join().expect("no overflow");
}

#[test]
fn libraries_that_double_end_as_early() {
    let options = ParseOptions::default();
    let mut library = Library::new(&[], "def f0(x) = x * 2").expect("a library");
    for i in 0..64 {
        library.define(&format!("def f{}(x) = f{i}(f{i}(x))", i + 1)).expect("a library");
    }
    let build = |text: &str| {
        let program = Program::parse_with(text, &library, &options).expect("a program");
        with_promotion(broadloom::Promotion::Strict, || {
            program.build(&[("x", Array::scalar(1.0))]).map(|r| r.len())
        })
    };
    assert_eq!(build("f10(x)"), Ok(1));
    let error = build("f64(x)").expect_err("2^64 nodes");
    assert_eq!((error.kind, error.span), (ErrorKind::Limit, 0..3));
    assert!(error.message.contains("after inlining, user-defined functions"), "{}", error.message);
}
