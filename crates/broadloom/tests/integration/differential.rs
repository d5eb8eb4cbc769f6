//! Evaluates random programs in every way and compares the results bit for bit with the test kit's reference
//! interpreter. `BROADLOOM_SEEDS=100000` runs this many programs, `BROADLOOM_SEEDS=42..43` runs the programs with
//! these seeds.

use std::ops::Range;

use broadloom_testkit::differential::Search;
use broadloom_testkit::random::{self, Size};

/// The number of seeds if `BROADLOOM_SEEDS` is not set. `broadloom-fuzz` runs more of the same programs.
const DEFAULT_SEEDS: u64 = 500;

/// The seeds to run, or the first of them, reduced by the factor `share`.
fn seeds(share: u64) -> Range<u64> {
    let number = |text: &str| text.trim().parse::<u64>().expect("BROADLOOM_SEEDS is N or A..B");
    let asked = std::env::var("BROADLOOM_SEEDS");
    let seeds = match asked.as_deref().map(|asked| asked.split_once("..").ok_or(asked)) {
        Ok(Ok((from, to))) => number(from)..number(to),
        Ok(Err(to)) => 0..number(to),
        Err(_) => 0..DEFAULT_SEEDS,
    };
    seeds.start..seeds.start + (seeds.end - seeds.start).div_ceil(share)
}

fn check_all(seeds: Range<u64>, size: Size) {
    let found = Search::new(seeds).of(&|seed| random::program(seed, size)).run();
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

/// The programs are longer than the maximum size of a kernel, so bodies are split.
#[test]
fn long_random_programs_give_the_references_bits() {
    check_all(seeds(100), Size::Long);
}

/// The reference runs each element of a loop alone.
#[test]
fn random_programs_with_loops_give_the_references_bits() {
    let found = Search::new(seeds(1)).of(&random::program_with_loops).run();
    assert!(found.is_ok(), "{}", found.expect_err("a finding"));
}

#[test]
fn random_programs_that_join_arrays_give_the_references_bits() {
    let found = Search::new(seeds(1)).of(&random::program_with_joins).run();
    assert!(found.is_ok(), "{}", found.expect_err("a finding"));
}

#[test]
fn random_programs_that_draw_give_the_references_bits() {
    let found = Search::new(seeds(2)).of(&random::program_with_draws).run();
    assert!(found.is_ok(), "{}", found.expect_err("a finding"));
}

/// Derivatives in both modes against dual numbers of 80 digits, and some of them in bits.
#[test]
fn random_programs_have_the_derivatives_of_dual_numbers() {
    let check = broadloom_testkit::gradients::difference_of_all;
    let programs = broadloom_testkit::gradients::program_with_gradients;
    let found = Search::new(seeds(5)).of(&programs).by(&check).run();
    assert!(found.is_ok(), "{}", found.expect_err("a finding"));
}

#[test]
fn random_programs_with_routines_give_the_references_bits() {
    let found = Search::new(seeds(1)).of(&random::program_with_routines).run();
    assert!(found.is_ok(), "{}", found.expect_err("a finding"));
}

/// Checks that the compiler works. If it did not, these tests would compare the interpreter with itself.
#[cfg(feature = "jit")]
#[test]
fn the_jit_compiles() {
    use broadloom::{Array, Evaluation, Executor, Options};
    #[cfg(target_arch = "x86_64")]
    let is_host = is_x86_feature_detected!("avx") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let is_host = cfg!(target_arch = "aarch64");
    let engine = broadloom::Engine::new(broadloom::Limits::default());
    let options = Options { executor: Executor::Jit, ..Options::default() };
    let x = Array::from_vec(vec![1.0f32, 2.0]);
    Evaluation::with(&options).engine(&engine).eval_many(&[&(x + 1)]).expect("evaluates");
    assert_eq!(engine.compiled_kernels(), usize::from(is_host));
}
