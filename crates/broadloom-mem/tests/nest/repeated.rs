//! Tests kernels over short rows, with an input that is the same in each row. Several rows are processed as one
//! block. The number of elements takes every value around the size of a tile, and the output every alignment.

use std::ops::ControlFlow;

use broadloom_ir::loop_plan::LoopMode;
use broadloom_mem::{AliasPolicy, Nest, Scratch, View, ViewMut, bytes_of};

use crate::model::{raw_input, raw_output};

const LINE: usize = 64;
/// The words around the output, which no run may change.
const GUARD: u32 = 0xdead_beef;

#[repr(align(64))]
#[derive(Clone, Copy)]
struct RepeatedLine(#[expect(dead_code, reason = "read as words")] [u32; LINE / 4]);

/// A case with rows of `cols` elements. The output is computed from the first input and from a row that is
/// the same for all rows, with elements of `item` bytes. The first input is the output's own memory if
/// `is_shared`.
struct RepeatedRow {
    rows: usize,
    cols: usize,
    item: usize,
    /// The number of words between the beginning of a cache line and the output.
    before: usize,
    is_shared: bool,
    parts: usize,
}

/// Runs a case; returns the tile, and rows and columns of the blocks.
fn run(case: &RepeatedRow, scratch: &mut Scratch) -> (usize, Vec<(usize, usize)>) {
    let &RepeatedRow { rows, cols, item, before, is_shared, parts } = case;
    let elements = rows * cols;
    let mut memory = vec![RepeatedLine([GUARD; 16]); (elements + before) / 16 + 2];
    let words = memory.as_mut_ptr().cast::<u32>();
    let read: Vec<u32> = (0..elements as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let row: Vec<u64> = (0..cols as u64).map(|i| 3 * i + 1).collect();
    // SAFETY: `before + elements` words are fewer than the lines have. They are written only through `words`
    // until they are compared, and views borrow nothing else.
    let (first, out) = unsafe {
        let start = words.add(before);
        if is_shared {
            start.copy_from_nonoverlapping(read.as_ptr(), elements);
        }
        let strides = [4 * cols as isize, 4];
        let first = match is_shared {
            true => View::from_raw(start.cast(), 4, &[rows, cols], &strides),
            false => View::new(bytes_of(&read), 4, 0, &[rows, cols], &strides),
        };
        let out = ViewMut::from_raw(start.cast(), 4, &[rows, cols], &strides);
        (first.expect("a view"), out.expect("a view"))
    };
    // An element of this input consists of the low `item` bytes of a word.
    let repeated = View::new(bytes_of(&row), item, 0, &[rows, cols], &[0, 8]).expect("inside");
    let one = View::new(bytes_of(&[5_u32]), 4, 0, &[rows, cols], &[0, 0]).expect("inside");
    let mut nest = Nest::new(&[rows, cols], &[first, repeated, one], [out]).expect("a nest");
    assert_eq!(nest.plan().mode(), LoopMode::Flat);
    let tile = nest.plan().tile().1;
    let accesses: Vec<_> = nest.accesses().collect();
    let mut blocks = Vec::new();
    for part in nest.split(parts, AliasPolicy::InPlace) {
        let flow = part.run(scratch, &mut |block| {
            let raw = block.raw();
            blocks.push((raw.rows, raw.cols));
            let begins = |row: usize| {
                raw.operands[raw.inputs]
                    .ptr
                    .wrapping_offset(row as isize * raw.operands[raw.inputs].row_stride)
            };
            let is_tile = raw.rows > 1;
            assert!(!is_tile || (0..raw.rows).all(|row| begins(row).addr().is_multiple_of(LINE)));
            assert_eq!(raw.any_alias, is_shared);
            for (row, col) in (0..raw.rows).flat_map(|row| (0..raw.cols).map(move |col| (row, col))) {
                let of = |i: usize, item| raw_input(raw, accesses[i], item, i, row, col) as u32;
                let sum = of(0, 4).wrapping_add(of(1, item).wrapping_mul(of(2, 4)));
                raw_output(raw, 4, 0, row, col, sum.into());
            }
            ControlFlow::Continue(())
        });
        assert_eq!(flow, ControlFlow::Continue(()));
    }
    // SAFETY: these are the lines of `memory`, which nothing else uses any more.
    let got = unsafe { std::slice::from_raw_parts(words, memory.len() * 16) };
    for (i, &word) in got.iter().enumerate() {
        let want = match i.checked_sub(before).filter(|&i| i < elements) {
            Some(i) => read[i].wrapping_add((3 * (i % cols) as u32 + 1).wrapping_mul(5)),
            None => GUARD,
        };
        assert_eq!(word, want, "word {i} of {rows} rows of {cols}, {item} bytes, {before} words on");
    }
    (tile, blocks)
}

#[test]
fn one_block_for_all_rows() {
    let mut scratch = Scratch::new();
    for cols in [2, 3, 5, 7, 16, 30, 31] {
        let case =
            |rows, item, before, is_shared, parts| RepeatedRow { rows, cols, item, before, is_shared, parts };
        let (tile, _) = run(&case(5000, 4, 0, false, 1), &mut scratch);
        assert!(tile.is_multiple_of(cols) && tile <= 1024, "{cols}: {tile}");
        let around = [tile - cols, tile, tile + cols, tile + LINE - cols, tile + LINE, tile + LINE + cols];
        let lengths = around.into_iter().chain([2 * tile + LINE, 3 * tile + 5 * cols]).map(|n| n / cols);
        for (rows, before) in lengths.flat_map(|rows| [0, 1, 4, 7, 15].map(|before| (rows, before))) {
            for (item, is_shared) in [(4, false), (1, false), (8, true)] {
                let (tile, blocks) = run(&case(rows, item, before, is_shared, 1), &mut scratch);
                let head = (16 - before) % 16;
                if rows * cols >= tile + LINE {
                    let rest = rows * cols - head;
                    let wanted = [(1, head), (rest / tile, tile), (1, rest % tile)];
                    let wanted: Vec<_> = wanted.into_iter().filter(|block| block.1 > 0).collect();
                    assert_eq!(blocks, wanted, "{rows} rows of {cols}, {before} words on");
                }
            }
        }
        // Large cases have several units, which are divided among the parts.
        for (before, parts) in [(0, 2), (3, 3), (15, 5)] {
            let (_, blocks) = run(&case(90_000 / cols, 4, before, parts == 3, parts), &mut scratch);
            assert!(blocks.len() <= 3 * parts, "{blocks:?}");
        }
    }
}
