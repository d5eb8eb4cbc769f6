//! Random recurrences whose inputs are read in parts, in passes and chunks of random sizes: they have the bits of the test kit's
//! reference. `differential` evaluates the same programs in all other ways.

use broadloom::prelude::*;
use broadloom::text::Printed;
use broadloom::{Chunks, Executor, Passes};
use broadloom_testkit::random::{self, Rng, Step};
use broadloom_testkit::{differential, elements};

use crate::passes::read;

/// The bits of results of one shape, whose inputs are read in parts, in passes and chunks of at most `max_bytes`; and whether a
/// pass has cut a scan along its axis. A limit that is too small is doubled.
fn in_chunks(
    roots: &[&Array<'static>],
    inputs: &[Array<'static>],
    values: &[Array<'static>],
    options: &Options,
) -> Result<(Vec<Vec<u64>>, bool)> {
    let unlimited = Options { max_bytes: usize::MAX, ..options.clone() };
    let placeholders: Vec<&Array<'static>> = inputs.iter().collect();
    let mut options = options.clone();
    let mut passes = loop {
        match Passes::new(roots, &placeholders, &options) {
            Err(error) if error.is_limit() => options.max_bytes *= 2,
            passes => break passes?,
        }
    };
    let mut cuts = 0;
    while let Some(chunk) = passes.next_chunk()? {
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&values[part.input], part)).collect();
        cuts += usize::from(chunk.describe().starts_with("scan "));
        chunk.fold(&parts)?;
    }
    let results: Vec<&Array<'static>> = passes.results()?.iter().collect();
    let chunks = loop {
        match Chunks::new(&results, &placeholders, &options) {
            Err(error) if error.is_limit() => options.max_bytes *= 2,
            chunks => break chunks?,
        }
    };
    let mut bits = vec![Vec::new(); roots.len()];
    for chunk in chunks.iter() {
        let chunk = chunk?;
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&values[part.input], part)).collect();
        for (bits, result) in bits.iter_mut().zip(chunk.results(&parts)?) {
            bits.extend(elements::bits(&result.eval_with(&unlimited)?)?);
        }
    }
    Ok((bits, cuts > 1))
}

/// The steps of a program that are the values of one recurrence, for each of them, with the number of its states.
fn recurrences(program: &random::Program) -> Vec<(Vec<usize>, usize)> {
    let mut found: Vec<(Vec<usize>, usize)> = Vec::new();
    for (number, step) in program.steps.iter().enumerate() {
        match step {
            Step::Recurrence(of, 0) => found.push((vec![number], of.state.len())),
            Step::Recurrence(..) => found.iter_mut().last().expect("its first value").0.push(number),
            _ => {}
        }
    }
    found
}

#[test]
fn random_scans_in_chunks_agree_with_scalar_programs() -> Result<()> {
    let mut rng = Rng::new(0xc477);
    let (mut tried, mut cut) = (0, 0);
    for seed in 0.. {
        if tried >= 200 {
            break;
        }
        let program = random::program_with_loops(seed);
        let outcome = program.run().expect("a well-typed program");
        if !outcome.faults.is_empty() {
            continue;
        }
        let given: Vec<usize> =
            (0..program.steps.len()).filter(|&i| matches!(program.steps[i], Step::Input(_))).collect();
        let mut inputs = Vec::new();
        let mut values = Vec::new();
        for &number in &given {
            let x = &outcome.values[number];
            let dims: Vec<_> = x.shape.iter().map(|&extent| extent.into()).collect();
            inputs.push(Array::input(&format!("x{number}"), x.dtype, &dims)?);
            values.push(elements::array(x.dtype, &x.shape, &x.bits));
        }
        let input = |number: usize| given.iter().position(|&of| of == number).map(|i| inputs[i].clone());
        let built = differential::arrays_over(&program, input)?;
        for (all, states) in recurrences(&program) {
            tried += 1;
            // The last states together, all outputs together, and one value alone.
            let (last, outputs) = all.split_at(states);
            let alone = [*rng.pick(&all).expect("values")];
            for group in [last, outputs, &alone] {
                if group.is_empty() {
                    continue;
                }
                let roots: Vec<&Array<'_>> = group.iter().map(|&i| &built[i]).collect();
                let bytes: usize = roots.iter().map(|x| x.len() * x.dtype().size()).sum();
                let executor = *rng.pick(&[Executor::Interp, Executor::Jit]).expect("executors");
                let max_bytes = 8 + rng.below(2 * bytes + 8);
                let options =
                    Options { executor, max_bytes, threads: Some(1 + rng.below(2)), ..Options::default() }
                        .with_semantics(program.semantics);
                let (got, is_cut) = in_chunks(&roots, &inputs, &values, &options)?;
                cut += usize::from(is_cut);
                for (&value, got) in group.iter().zip(&got) {
                    let wanted = &outcome.values[value];
                    let found = elements::difference(wanted.dtype, got, &wanted.bits);
                    assert!(
                        found.is_none(),
                        "seed {seed}, s{value} in {max_bytes} bytes: {found:?}\n{}",
                        Printed::new(&[("x", &built[value])])?
                    );
                }
            }
        }
    }
    assert!(cut > 50, "{cut}");
    Ok(())
}
