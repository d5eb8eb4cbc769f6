//! Evaluates the results of a program chunk by chunk, and compares them with the reference.
//!
//! Chunks are small, so that views are narrowed at every kind of place: at the ends, where windows meet, inside of rows.

use broadloom::{Array, Chunks, ErrorKind, Executor, Options, Result};

use crate::elements;
use crate::random::{Outcome, Program};

/// About how many chunks a result becomes.
const CHUNKS: usize = 4;

/// What is wrong with the results of a program, computed in chunks.
pub(super) fn compare(
    program: &Program,
    outcome: &Outcome,
    roots: &[&Array<'static>],
) -> std::result::Result<(), String> {
    let mut met = false;
    for (&number, &root) in program.roots.iter().zip(roots) {
        let want = &outcome.values[number];
        match in_chunks(program, root) {
            Ok(got) if outcome.faults.is_empty() => {
                if let Some(difference) = elements::difference(want.dtype, &got, &want.bits) {
                    return Err(format!("s{number}: {difference}"));
                }
            }
            Ok(_) => {}
            Err(e) => {
                let named = e.message().split(':').next().unwrap_or_default();
                if e.kind() != ErrorKind::ZeroDivision || !outcome.faults.contains(named) {
                    return Err(format!("s{number}: {e}, though {:?}", outcome.faults));
                }
                met = true;
            }
        }
    }
    // A division by zero belongs to one of the results.
    if met == outcome.faults.is_empty() {
        return Err(format!("no error, though {:?}", outcome.faults));
    }
    Ok(())
}

/// The bits of a result.
fn in_chunks(program: &Program, root: &Array<'static>) -> Result<Vec<u64>> {
    let options = Options { executor: Executor::Interp, threads: Some(1), ..Options::default() };
    let mut options = options.with_semantics(program.semantics);
    options.max_bytes = (root.len() * 2 * root.dtype().size() / CHUNKS).max(16);
    let (chunks, unread) = loop {
        // An element may be made of many, and so may one that nothing reads.
        let made = Chunks::new(&[root], &[], &options).and_then(|chunks| Ok((chunks.unread()?, chunks)));
        match made {
            Err(e) if e.is_limit() => options.max_bytes *= 2,
            made => {
                let (unread, chunks) = made?;
                break (chunks, unread);
            }
        }
    };
    // What a chunk takes is an estimate.
    options.max_bytes = usize::MAX;
    let mut bits = Vec::new();
    for chunk in unread.iter().flat_map(Chunks::iter) {
        chunk?.results(&[])?.iter().try_for_each(|x| x.eval_with(&options).map(drop))?;
    }
    for chunk in chunks.iter() {
        for result in chunk?.results(&[])? {
            bits.extend(elements::bits(&result.eval_with(&options)?)?);
        }
    }
    Ok(bits)
}
