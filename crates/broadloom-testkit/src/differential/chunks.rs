//! Evaluates the results of a program in passes and chunks, as the `broadloom` command does, and compares them with the
//! reference.
//!
//! Chunks are small, so that views are narrowed at all kinds of positions: at the ends, at the boundaries between windows, and
//! within rows. Every program is evaluated twice: with inputs that represent files, which are read in parts, and with inputs in
//! memory, which are sliced.

use broadloom::{Array, Chunks, Executor, InputPart, Options, Passes, Result};

use super::arrays::arrays_over;
use super::faults::kind_of_fault;
use crate::elements;
use crate::random::{Outcome, Program, Step};
use crate::tensor::Tensor;

/// The approximate number of chunks for a result.
const CHUNKS: usize = 4;

/// Evaluates a program in chunks, and returns a difference from the reference if there is one.
pub(super) fn compare(
    program: &Program,
    outcome: &Outcome,
    in_memory: &[&Array<'static>],
) -> std::result::Result<(), String> {
    let files = Files::of(program)?;
    let arrays = arrays_over(program, |number| files.input(number)).map_err(|e| e.to_string())?;
    let over_files: Vec<&Array<'static>> = program.roots.iter().map(|&root| &arrays[root]).collect();
    let none = Files { numbers: Vec::new(), tensors: Vec::new(), inputs: Vec::new() };
    compare_over(program, outcome, in_memory, &none).map_err(|e| format!("over memory: {e}"))?;
    compare_over(program, outcome, &over_files, &files).map_err(|e| format!("over files: {e}"))
}

/// The inputs of a program, which represent files.
struct Files<'p> {
    /// The number of the step for each file.
    numbers: Vec<usize>,
    tensors: Vec<&'p Tensor>,
    /// The symbolic input for each file.
    inputs: Vec<Array<'static>>,
}

impl<'p> Files<'p> {
    fn of(program: &'p Program) -> std::result::Result<Files<'p>, String> {
        let mut files = Files { numbers: Vec::new(), tensors: Vec::new(), inputs: Vec::new() };
        for (number, step) in program.steps.iter().enumerate() {
            let Step::Input(tensor) = step else { continue };
            let dims: Vec<_> = tensor.shape.iter().map(|&extent| extent.into()).collect();
            let input = Array::input(&format!("s{number}"), tensor.dtype, &dims);
            files.numbers.push(number);
            files.tensors.push(tensor);
            files.inputs.push(input.map_err(|e| e.to_string())?);
        }
        Ok(files)
    }

    /// The symbolic input for a step.
    fn input(&self, number: usize) -> Option<Array<'static>> {
        let at = self.numbers.iter().position(|&other| other == number)?;
        Some(self.inputs[at].clone())
    }

    fn read(&self, parts: &[InputPart]) -> Vec<Array<'static>> {
        parts.iter().map(|part| read(self.tensors[part.input], part)).collect()
    }
}

/// Copies a part of a tensor, element by element.
fn read(tensor: &Tensor, part: &InputPart) -> Array<'static> {
    let mut at = vec![0];
    for (&extent, range) in tensor.shape.iter().zip(&part.ranges) {
        at = at.iter().flat_map(|&at| range.clone().map(move |i| at * extent + i)).collect();
    }
    let bits: Vec<u64> = at.iter().map(|&at| tensor.bits[at]).collect();
    let shape: Vec<usize> = part.ranges.iter().map(ExactSizeIterator::len).collect();
    elements::array(tensor.dtype, &shape, &bits)
}

fn compare_over(
    program: &Program,
    outcome: &Outcome,
    roots: &[&Array<'static>],
    files: &Files<'_>,
) -> std::result::Result<(), String> {
    let mut met = false;
    for group in groups(roots) {
        let numbers: Vec<usize> = group.iter().map(|&at| program.roots[at]).collect();
        let results: Vec<&Array<'static>> = group.iter().map(|&at| roots[at]).collect();
        match in_chunks(program, &results, files) {
            Ok(_) if !outcome.faults.is_empty() => {}
            Ok(all) => {
                for (&number, got) in numbers.iter().zip(&all) {
                    let want = &outcome.values[number];
                    if let Some(difference) = elements::difference(want.dtype, got, &want.bits) {
                        return Err(format!("s{number}: {difference}"));
                    }
                }
            }
            Err(e) => {
                let named = e.message().split(':').next().unwrap_or_default();
                if e.kind() != kind_of_fault(named) || !outcome.faults.contains(named) {
                    return Err(format!("{numbers:?}: {e}, though {:?}", outcome.faults));
                }
                met = true;
            }
        }
    }
    // If any result contains a division by zero, the evaluation must have failed.
    if met == outcome.faults.is_empty() {
        return Err(format!("no error, though {:?}", outcome.faults));
    }
    Ok(())
}

/// Groups the indices of results by shape; results of the same shape are computed together.
fn groups(roots: &[&Array<'static>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, root) in roots.iter().enumerate() {
        match groups.iter_mut().find(|group| roots[group[0]].shape() == root.shape()) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

/// The bits of each result, computed in chunks.
fn in_chunks(program: &Program, roots: &[&Array<'static>], files: &Files<'_>) -> Result<Vec<Vec<u64>>> {
    let options = Options { executor: Executor::Interp, threads: Some(1), ..Options::default() };
    let mut options = options.with_semantics(program.semantics);
    let inputs: Vec<&Array<'static>> = files.inputs.iter().collect();
    let bytes: usize = roots.iter().map(|root| root.len() * root.dtype().size()).sum();
    options.max_bytes = (2 * bytes / CHUNKS).max(16);
    loop {
        // If the memory limit is exceeded, it is increased: an element may depend on many others.
        match within(roots, &inputs, files, &options) {
            Err(e) if e.is_limit() => options.max_bytes *= 4,
            done => return done,
        }
    }
}

/// The bits of each result, computed in chunks that take at most the memory limit of the options.
fn within(
    roots: &[&Array<'static>],
    inputs: &[&Array<'static>],
    files: &Files<'_>,
    options: &Options,
) -> Result<Vec<Vec<u64>>> {
    // The evaluation has no memory limit, since the size of a chunk is only an estimate.
    let unlimited = Options { max_bytes: usize::MAX, ..options.clone() };
    let mut passes = Passes::new(roots, inputs, options)?;
    while let Some(chunk) = passes.next_chunk()? {
        let parts = files.read(chunk.parts());
        chunk.fold(&parts)?;
    }
    let unread = passes.unread()?;
    let results: Vec<&Array<'static>> = passes.results()?.iter().collect();
    let chunks = Chunks::new(&results, inputs, options)?;
    for chunk in unread.iter().flat_map(Chunks::iter) {
        let chunk = chunk?;
        let parts = files.read(chunk.parts());
        chunk.results(&parts)?.iter().try_for_each(|x| x.eval_with(&unlimited).map(drop))?;
    }
    let mut bits = vec![Vec::new(); roots.len()];
    for chunk in chunks.iter() {
        let chunk = chunk?;
        let parts = files.read(chunk.parts());
        for (bits, result) in bits.iter_mut().zip(chunk.results(&parts)?) {
            bits.extend(elements::bits(&result.eval_with(&unlimited)?)?);
        }
    }
    Ok(bits)
}
