//! Fuzzes programs of arbitrary steps, built with the array functions.
//!
//! No step may panic. A step must be accepted exactly if the testkit's model, which follows the standards, accepts it, and must
//! have the same type. A program that is accepted must evaluate to the reference's bits, with both executors and as a kernel,
//! with and without rewrite rules.

#![no_main]

use arbitrary::{Result, Unstructured};
use broadloom_fuzz::steps::{Build, step};
use broadloom_testkit::differential::{ALONE, difference};
use libfuzzer_sys::fuzz_target;

/// The maximum number of steps of a program.
const STEPS: usize = 10;

/// The maximum number of elements of a step that is evaluated. It is small because inputs are tried by the thousand, and the
/// target `views` tests shapes.
const ELEMENTS: usize = 80;

fuzz_target!(|data: &[u8]| {
    // Input that ends too early is ignored.
    let _ = run(&mut Unstructured::new(data));
});

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let mut build = Build::new(u)?;
    // Compiling takes longer than everything else, so half of the programs are only type-checked.
    let way = u.choose_index(2 * ALONE.len())?;
    while !u.is_empty() && build.types.len() < STEPS {
        let Ok(step) = step(u, &build.types) else { break };
        build.push(step);
    }
    let Build { mut program, types, .. } = build;
    if way >= ALONE.len() || types.is_empty() || types.iter().any(|t| t.elements() > ELEMENTS) {
        return Ok(());
    }
    // Unused values become outputs.
    let is_used = |i: &usize| program.steps.iter().any(|step| step.args().contains(i));
    program.roots = (0..types.len()).filter(|i| !is_used(i)).collect();
    if let Some(difference) = difference(&program, &ALONE[way..=way]) {
        panic!("{difference}\n{program}");
    }
    Ok(())
}
