//! Fuzzes chains of views of one array, and views of memory, with arbitrary parameters.
//!
//! Nothing may panic or overflow. A view of an array must be accepted exactly if the testkit's model accepts it, and must have
//! the same elements. A view of memory may be accepted only if all its elements lie within the memory and are aligned and, if it
//! is mutable, do not overlap.

#![no_main]

use std::collections::HashSet;

use arbitrary::{Result, Unstructured};
use broadloom::{Executor, Op, Options};
use broadloom_fuzz::reach::Reach;
use broadloom_fuzz::steps::{Build, input, view};
use broadloom_mem::{View, ViewError, ViewMut};
use broadloom_testkit::elements;
use broadloom_testkit::random::{Arg, Step};
use libfuzzer_sys::fuzz_target;

/// The maximum number of views in a chain.
const CHAIN: usize = 24;

/// The maximum number of elements that are evaluated, or compared one by one.
const ELEMENTS: usize = 1000;

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    // Input that ends too early is ignored.
    let _ = if matches!(u.arbitrary(), Ok(true)) { memory(&mut u) } else { chain(&mut u) };
});

fn chain(u: &mut Unstructured<'_>) -> Result<()> {
    let mut build = Build::new(u)?;
    build.push(input(u, 64)?);
    // Half of the chains begin with a function, so that the views are not views of memory.
    if u.arbitrary()? {
        build.push(Step::Apply(Op::Positive, vec![Arg::Step(0)]));
    }
    while !u.is_empty() && build.types.len() < CHAIN {
        let Ok(step) = view(u, &build.types) else { break };
        build.push(step);
    }
    let Build { program, types, arrays } = build;
    let last = types.len() - 1;
    if types.iter().all(|t| t.elements() <= ELEMENTS) {
        let want = &program.run().expect("it types").values[last];
        let options = Options { executor: Executor::Interp, threads: Some(1), ..Options::default() };
        let got = arrays[last].eval_with(&options).expect("it has memory for it");
        assert_eq!(got.shape(), want.shape);
        let got = elements::bits(&got).expect("it is evaluated");
        assert_eq!(elements::difference(want.dtype, &got, &want.bits), None, "{program}");
    }
    Ok(())
}

/// Any number; small numbers, numbers near the minimum or maximum, and powers of two are more likely.
fn number(u: &mut Unstructured<'_>) -> Result<isize> {
    Ok(match u.arbitrary::<u8>()? {
        small @ 0..=199 => small as isize / 4 - 24,
        200..=205 => isize::MAX - u.int_in_range(0..=16)?,
        206..=210 => isize::MIN + u.int_in_range(0..=16)?,
        211..=230 => 1 << u.int_in_range(0..=62)?,
        _ => u.arbitrary()?,
    })
}

fn memory(u: &mut Unstructured<'_>) -> Result<()> {
    let mut words: Vec<u64> = (0..32).map(|i| i * 0x0807_0605_0403_0201).collect();
    let len = u.int_in_range(0..=256)?;
    let item = if u.ratio(1, 32)? { u.arbitrary()? } else { *u.choose(&[1, 2, 4, 8])? };
    let offset = if u.ratio(1, 16)? { u.arbitrary()? } else { u.int_in_range(0..=264)? };
    let rank = if u.ratio(1, 32)? { 65 } else { u.int_in_range(0..=5)? };
    let shape = (0..rank).map(|_| number(u).map(|n| n.unsigned_abs())).collect::<Result<Vec<_>>>()?;
    let mut strides = shape.iter().map(|_| number(u)).collect::<Result<Vec<_>>>()?;
    if u.ratio(1, 2)? {
        strides.iter_mut().for_each(|stride| *stride = stride.wrapping_mul(item as isize));
    }
    let bytes = &mut broadloom_mem::bytes_of_mut(&mut words)[..len];
    let reach = Reach::of(item, offset, &shape, &strides);
    let address = bytes.as_ptr().addr();
    let what = format!("{len} bytes, {item} each, from {offset}: {shape:?} by {strides:?}");
    match View::new(bytes, item, offset, &shape, &strides) {
        Ok(view) => {
            assert_eq!((view.item(), view.shape(), view.strides()), (item, &shape[..], &strides[..]));
            assert!(matches!(item, 1 | 2 | 4 | 8) && reach.is_inside(len), "{what}");
            for (index, at) in reach.elements(&shape, &strides) {
                assert!((address + at).is_multiple_of(item), "{what}");
                if item == 1 {
                    assert_eq!(view.get::<u8>(&index), Some(bytes[at]), "{what}");
                } else if item == 8 {
                    let word = bytes[at..at + 8].try_into().map(u64::from_ne_bytes);
                    assert_eq!(view.get::<u64>(&index), word.ok(), "{what}");
                }
            }
        }
        Err(ViewError::OutOfBounds) => {
            // An extent or offset larger than any pointer distance is rejected, even if its stride is 0.
            let is_huge = shape.iter().any(|&n| n > isize::MAX as usize) || offset > isize::MAX as usize;
            assert!(!reach.is_inside(len) || is_huge, "{what}");
        }
        Err(ViewError::Misaligned { .. }) => {
            let loose = |x: isize| x.rem_euclid(item as isize) != 0;
            let mut steps = shape.iter().zip(&strides).filter(|(n, _)| **n > 1);
            assert!(!shape.contains(&0), "{what}");
            assert!(
                loose(offset as isize) || loose(address as isize) || steps.any(|(_, s)| loose(*s)),
                "{what}"
            );
        }
        Err(error) => assert_eq!(error, ViewError::Item { item }, "{what}"),
    }
    let readable = View::new(bytes, item, offset, &shape, &strides).err();
    match ViewMut::new(bytes, item, offset, &shape, &strides) {
        Ok(_) => {
            assert_eq!(readable, None, "{what}");
            let mut seen = HashSet::new();
            for (_, at) in reach.elements(&shape, &strides) {
                assert!((at..at + item).all(|byte| seen.insert(byte)), "{what}");
            }
        }
        Err(ViewError::SelfOverlap) => assert_eq!(readable, None, "{what}"),
        Err(error) => assert_eq!(readable, Some(error), "{what}"),
    }
    Ok(())
}
