//! Words of random streams in every layout, mode and size of tiles, compared with blocks that are computed one at a time.

use std::ops::ControlFlow;

use broadloom_ir::loop_plan::{LoopPlan, LoopPlanError, OperandLayout};
use broadloom_mem::{
    AliasPolicy, Nest, NestError, Operands, Region, RegionMut, Scratch, ViewMut, bytes_of, bytes_of_mut,
};

use crate::model::{Array, PLAIN, Rng, Style, indices};

const KEY: [u32; 4] = [0x9000_0001, 7, 0xFFFF_FFFE, 3];

/// Philox4x32-10 of a block, from the paper's definition.
fn philox(key: [u32; 4], block: u64) -> [u32; 4] {
    let mut words = [block as u32, (block >> 32) as u32, key[2], key[3]];
    for round in 0..10_u32 {
        let keys = [(key[0], 0x9E37_79B9_u32), (key[1], 0xBB67_AE85)]
            .map(|(word, step)| word.wrapping_add(step.wrapping_mul(round)));
        let products = [(words[0], 0xD251_1F53_u64), (words[2], 0xCD9E_8D57)]
            .map(|(word, factor)| u64::from(word) * factor);
        let [high, low] = [32, 0].map(|shift| products.map(|product| (product >> shift) as u32));
        words = [high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]];
    }
    words
}

/// The element of `item` bytes at a byte of the stream.
fn element(at: usize, item: usize) -> u64 {
    let word = |at: usize| u64::from(philox(KEY, at as u64 / 16)[at % 16 / 4]);
    if item == 4 { word(at) } else { word(at) | word(at + 4) << 32 }
}

#[test]
fn words_are_those_of_their_blocks_in_every_layout() {
    let mut rng = Rng(35);
    let mut scratch = Scratch::new();
    let shapes: [&[usize]; 14] = [
        &[],
        &[0],
        &[1],
        &[7],
        &[5003],
        &[3, 5],
        &[200, 5],
        &[5, 200],
        &[40, 70],
        &[2, 3, 700],
        &[30, 4, 3],
        &[3, 40, 17],
        &[2, 3, 4, 5, 6],
        &[90, 2, 33],
    ];
    for _ in 0..12 {
        for shape in shapes {
            let item = rng.pick(&[4, 8]);
            let style = Style {
                permute: rng.chance(40),
                gaps: rng.chance(40),
                reverse: rng.chance(40),
                broadcast: rng.chance(30),
            };
            // No two indices of an output have one element.
            let apart = Style { broadcast: false, ..style };
            let array = Array::random(&mut rng, shape, item, style);
            // Also where the numbers of blocks have more than 32 bits, and where they come to have them.
            let far = rng.pick(&[0, 1 << 40, (64 << 30) - 64]) + item * rng.below(5);
            let offset = (far + array.offset) as isize;
            let style = if rng.chance(60) { PLAIN } else { apart };
            let mut out = Array::random(&mut rng, shape, item, style);
            let layouts = [OperandLayout::words(item, offset, &array.strides), out.layout()];
            let plan = LoopPlan::new(shape, 1, layouts, rng.pick(&[1, 32, 300])).expect("layouts");
            let mut operands = Operands::default();
            operands.read(bytes_of(&KEY).into());
            operands.write(bytes_of_mut(&mut out.words).into());
            let mut nest = Nest::bind(&plan, &mut operands).expect("a key and an output");
            let flow = nest.run(AliasPolicy::Copy, &mut scratch, &mut |block| {
                for row in 0..block.rows() {
                    let (inputs, mut outputs) = block.row(row);
                    outputs.bytes(0).copy_from_slice(inputs.bytes(0));
                }
                ControlFlow::Continue(())
            });
            assert_eq!(flow, ControlFlow::Continue(()));
            drop(nest);
            drop(operands);
            for index in indices(shape) {
                let wanted = element(far + array.at(&index), item);
                assert_eq!(out.get(&index), wanted, "{shape:?} {:?} {item} {index:?}", array.strides);
            }
        }
    }
}

#[test]
fn a_key_has_four_words_that_no_output_overlaps() {
    let of = |item, offset| LoopPlan::new(&[4], 1, [OperandLayout::words(item, offset, &[item as isize])], 1);
    assert!(of(4, 4).is_ok() && of(8, 8).is_ok());
    let refused = Some(LoopPlanError::NotGenerated { operand: 0 });
    assert_eq!([of(2, 0).err(), of(8, 4).err(), of(4, 2).err()], [refused; 3]);

    let layouts = [OperandLayout::words(4, 0, &[4]), OperandLayout::in_memory(4, 0, &[4])];
    let plan = LoopPlan::new(&[4], 1, layouts, 1).expect("layouts");
    let mut words = [0_u32; 12];
    let start = words.as_mut_ptr().cast::<u8>();
    for (key, len, out, wanted) in [
        (0, 4, 4, Ok(())),
        (8, 4, 4, Ok(())),
        (0, 5, 6, Ok(())),
        (0, 3, 4, Err(NestError::InputShape { input: 0 })),
        (0, 4, 3, Err(NestError::Overlap { input: 0, output: 0 })),
        (7, 4, 4, Err(NestError::Overlap { input: 0, output: 0 })),
        (4, 4, 4, Err(NestError::Overlap { input: 0, output: 0 })),
    ] {
        // SAFETY: the bytes are those of `words`, which nothing reads or writes here.
        let mut view = unsafe { ViewMut::from_raw(start.add(4 * out), 4, &[4], &[4]) }.expect("a row");
        let mut operands = Operands::default();
        // SAFETY: as above.
        operands.read(unsafe { Region::from_raw(start.add(4 * key), 4 * len) });
        operands.write(RegionMut::of_elements(&mut view));
        assert_eq!(Nest::bind(&plan, &mut operands).map(drop), wanted, "{key} {len} {out}");
    }
}
