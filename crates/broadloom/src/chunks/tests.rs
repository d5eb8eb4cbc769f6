//! Tests of private properties: the structure of chunks, and the size of their operands.

use broadloom_core::structure::OwnedStructure;
use broadloom_core::{DType, Result};

use super::*;
use crate::lower::Lowered;

fn structure(results: &[Array<'_>]) -> Result<OwnedStructure> {
    let roots: Vec<&Array<'_>> = results.iter().collect();
    Ok(Lowered::new(&roots, Options::default().size_limits())?.expression().structure.to_owned())
}

fn limited(max_bytes: usize) -> Options {
    Options { max_bytes, ..Options::default() }
}

/// Most chunks have the same structure as the previous chunk, and so share its plan. The last chunk may be shorter, and
/// is not compared.
#[test]
fn whole_chunks_have_one_structure() -> Result<()> {
    let x = Array::input("x", DType::Float32, &[10_000.into(), 6.into()])?;
    let memory: Vec<f32> = (0..60_000).map(|i| i as f32).collect();
    let y = Array::from_shape_slice(&[10_000, 6], &memory)?;
    for array in [&x, &y] {
        let steps = array.slice(1..)? - array.slice(..-1)?;
        let backwards = array.exp().flip(0)? * array.slice((.., ..1))?;
        let rows = array.reshape(&[-1, 3])? + 1;
        for result in [steps, backwards, rows.t(), rows] {
            let inputs: &[&Array<'_>] = if array.in_memory().is_some() { &[] } else { &[&x] };
            let chunks = Chunks::new(&[&result], inputs, &limited(24_000))?;
            assert!(chunks.len() > 8, "{}", chunks.len());
            let mut structures = Vec::new();
            for chunk in chunks.iter() {
                let chunk = chunk?;
                let part = |part: &InputPart| {
                    let shape: Vec<usize> = part.ranges.iter().map(Range::len).collect();
                    Array::from_shape_vec(&shape, vec![0.5f32; shape.iter().product()])
                };
                let parts = chunk.parts().iter().map(part).collect::<Result<Vec<_>>>()?;
                structures.push(structure(&chunk.results(&parts)?)?);
            }
            let whole = &structures[..structures.len() - 1];
            let changes = whole.windows(2).filter(|pair| pair[0] != pair[1]).count();
            // The structure changes where the window of a reversal meets the window of the reversal's other operand,
            // and at the ends of a transpose's rows.
            assert!(changes * 4 <= whole.len(), "{changes} of {}", whole.len());
        }
    }
    Ok(())
}

/// A chunk reads only the rows that it needs.
#[test]
fn parts_are_what_is_needed() -> Result<()> {
    let x = Array::input("x", DType::Float64, &[1000.into(), 8.into()])?;
    let parts = |result: &Array<'_>, i: usize| -> Result<Vec<Vec<Range<usize>>>> {
        let chunks = Chunks::new(&[result], &[&x], &limited(10_000))?;
        let chunk = chunks.get(i).expect("several chunks")?;
        Ok(chunk.parts().iter().map(|part| part.ranges.clone()).collect())
    };
    let steps = x.slice(1..)? - x.slice(..-1)?;
    let rows = Chunks::new(&[&steps], &[&x], &limited(10_000))?.get(1).expect("several")?.ranges()[0].clone();
    assert_eq!(parts(&steps, 1)?, [[rows.start..rows.end + 1, 0..8]]);
    let flipped = parts(&(&x + x.flip(0)?), 0)?;
    let n = flipped[0][0].len();
    assert_eq!(flipped, [[0..n, 0..8], [1000 - n..1000, 0..8]]);
    // A row of the transpose exceeds the limit.
    let column = parts(&x.t(), 3)?;
    assert!(column[0][0].len() < 1000 && column[0][1].len() == 1, "{column:?}");
    assert_eq!(parts(&x.broadcast_to(&[50, 1000, 8])?, 0)?[0][1], 0..8);
    Ok(())
}
