//! Evaluates in passes and chunks, as for results larger than memory.
//!
//! The memory limit is chosen so that each pass has a few chunks, whose extents are not powers of two. It is increased until
//! there are few enough chunks, since the partial results of many columns need memory as well.

use broadloom::{Array, Chunks, Dim, InputPart, Options, Passes, Range, Result};
use broadloom_testkit::elements;

use super::row::{HashedCase, HashedOperand};

/// The maximum number of chunks for a pass, and for the results.
const MOST: usize = 7;

/// Computes the results of a case in chunks, and returns them with the number of chunks. The operands either represent files that
/// are read in parts, or are arrays in memory that are sliced.
pub fn in_chunks(
    case: &HashedCase,
    operands: &[Array<'static>],
    from_files: bool,
    options: &Options,
) -> Result<(Vec<Array<'static>>, usize)> {
    let files: Vec<Array<'static>> = if from_files {
        let input = |(operand, array): (&HashedOperand, &Array<'static>)| {
            let dims: Vec<Dim> = array.shape().iter().map(|&extent| extent.into()).collect();
            Array::input(operand.name, array.dtype(), &dims)
        };
        case.operands.iter().zip(operands).map(input).collect::<Result<_>>()?
    } else {
        Vec::new()
    };
    let roots = case.results(if from_files { &files } else { operands })?;
    let mut results: Vec<Option<Array<'static>>> = vec![None; roots.len()];
    let mut parts = 0;
    for (number, root) in roots.iter().enumerate() {
        if results[number].is_some() {
            continue;
        }
        // Results of one shape are computed together.
        let group: Vec<usize> =
            (number..roots.len()).filter(|&other| roots[other].shape() == root.shape()).collect();
        let together: Vec<&Array<'static>> = group.iter().map(|&number| &roots[number]).collect();
        let bytes = |array: &Array<'_>| array.len() * array.dtype().size();
        // Operands that are read from files need memory for their parts; operands in memory need no more.
        let read = if from_files { operands } else { &[] };
        let total: usize = read.iter().chain(together.iter().copied()).map(bytes).sum();
        let (computed, count) = in_few(&together, &files, operands, total, options)?;
        parts += count;
        for (number, array) in group.into_iter().zip(computed) {
            results[number] = Some(array);
        }
    }
    Ok((results.into_iter().flatten().collect(), parts))
}

/// Computes results of the same shape in few chunks; `bytes` is their total size.
fn in_few(
    roots: &[&Array<'static>],
    files: &[Array<'static>],
    operands: &[Array<'static>],
    bytes: usize,
    options: &Options,
) -> Result<(Vec<Array<'static>>, usize)> {
    let mut limit = (bytes * 2 / 11) | 1;
    loop {
        let limited = Options { max_bytes: limit, ..options.clone() };
        match within(roots, files, operands, &limited) {
            Ok(Some(done)) => return Ok(done),
            Ok(None) => {}
            Err(error) if error.is_limit() && limit < usize::MAX / 2 => {}
            Err(error) => return Err(error),
        }
        limit = limit.saturating_add(limit / 2 + 2) | 1;
    }
}

/// Computes results in chunks that take at most the memory limit of the options, and returns them with the number of chunks.
/// `None` if there would be too many chunks.
fn within(
    roots: &[&Array<'static>],
    files: &[Array<'static>],
    operands: &[Array<'static>],
    options: &Options,
) -> Result<Option<(Vec<Array<'static>>, usize)>> {
    let read =
        |parts: &[InputPart]| parts.iter().map(|part| read(operands, part)).collect::<Result<Vec<_>>>();
    // The evaluation has no memory limit, since the size of a chunk is only an estimate.
    let unlimited = Options { max_bytes: usize::MAX, ..options.clone() };
    let inputs: Vec<&Array<'static>> = files.iter().collect();
    let mut passes = Passes::new(roots, &inputs, options)?;
    let most = passes.len() * MOST;
    let mut count = 0;
    while let Some(chunk) = passes.next_chunk()? {
        if count == most {
            return Ok(None);
        }
        let parts = read(chunk.parts())?;
        chunk.fold(&parts)?;
        count += 1;
    }
    let results: Vec<&Array<'static>> = passes.results()?.iter().collect();
    let chunks = Chunks::new(&results, &inputs, options)?;
    if chunks.len() > MOST {
        return Ok(None);
    }
    let mut bits = vec![Vec::new(); roots.len()];
    for chunk in chunks.iter() {
        let chunk = chunk?;
        let parts = read(chunk.parts())?;
        for (bits, result) in bits.iter_mut().zip(chunk.results(&parts)?) {
            bits.extend(elements::bits(&result.eval_with(&unlimited)?)?);
        }
    }
    let whole = roots.iter().zip(bits).map(|(root, bits)| elements::array(root.dtype(), root.shape(), &bits));
    Ok(Some((whole.collect(), count + chunks.len())))
}

/// Reads a part of an operand that represents a file.
fn read(operands: &[Array<'static>], part: &InputPart) -> Result<Array<'static>> {
    let ranges: Vec<Range> =
        part.ranges.iter().map(|range| (range.start as isize..range.end as isize).into()).collect();
    operands[part.input].slice(&ranges)?.eval()
}

#[cfg(test)]
mod tests {
    use broadloom::DType;

    use super::super::row::Contents;
    use super::*;

    #[test]
    fn there_are_several_chunks_but_not_many() {
        let texts = ["sum(x)", "sum(x * y + 1, axis=0)", "max(x, axis=-1)", "x - mean(x)", "var(x)"];
        for (text, shape) in texts.into_iter().flat_map(|text| [(text, [37, 275]), (text, [1, 1039])]) {
            let operands =
                ["x", "y"].map(|name| HashedOperand::new(name, DType::Float32, &shape, Contents::Moderate));
            let case = HashedCase { text: text.to_owned(), operands: operands.into() };
            // A reduction of columns may run in a single chunk: the partial results of all columns need more
            // than their share of the memory.
            let least = if text.ends_with("axis=0)") { 1 } else { 2 };
            for from_files in [true, false] {
                let done = in_chunks(&case, &case.arrays(), from_files, &Options::default());
                let (results, count) = done.expect("results");
                assert_eq!(results.len(), 1);
                let least = if from_files || text == "x - mean(x)" { least } else { 1 };
                assert!((least..=3 * MOST).contains(&count), "{case}, files {from_files}: {count}");
            }
        }
    }
}
