//! Tests loop plans that keep the order of the dimensions. Their blocks have no outputs and are numbered in C
//! order; the body provides the outputs.

use std::ops::ControlFlow;

use broadloom_ir::loop_plan::{LoopMode, LoopPlan, LoopPlanError, OperandLayout};
use broadloom_mem::{AliasPolicy, Nest, NestError, Operands, Region, Scratch, View, bytes_of, bytes_of_mut};

use super::model::{Array, Rng, Style};

/// A plan that walks arrays in C order, or in C order by whole rows if `rows` is set. The first element of
/// each array has offset 0.
fn plan(arrays: &[Array], shape: &[usize], rows: bool) -> Result<LoopPlan, LoopPlanError> {
    let layouts = arrays.iter().map(|x| OperandLayout::in_memory(x.item, 0, &x.strides));
    match rows {
        true => LoopPlan::in_rows(shape, layouts, LoopPlan::MIN_ROW),
        false => LoopPlan::in_order(shape, layouts, LoopPlan::MIN_ROW),
    }
}

/// The bits of an element.
fn bits(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// An array's elements in C order.
fn in_c_order(array: &Array, shape: &[usize]) -> Vec<u64> {
    let memory = bytes_of(&array.words[..]);
    (0..shape.iter().product())
        .map(|mut number: usize| {
            let mut at = array.offset as isize;
            for (&extent, &stride) in shape.iter().zip(&array.strides).rev() {
                at += (number % extent) as isize * stride;
                number /= extent;
            }
            bits(&memory[at as usize..at as usize + array.item])
        })
        .collect()
}

#[test]
fn blocks_are_numbered_in_c_order() {
    let mut rng = Rng(11);
    let mut scratch = Scratch::new();
    let mut seen = [[0; 3]; 2];
    for case in 0..1500 {
        let rank = 1 + rng.below(4);
        let extents: &[usize] = match case % 4 {
            0 => &[1, 2, 3, 7],
            1 => &[2, 31, 33],
            2 => &[3, 40, 130],
            _ => &[2, 65, 275],
        };
        let mut shape: Vec<usize> = (0..rank).map(|_| rng.pick(extents)).collect();
        while shape.iter().product::<usize>() > 40_000 {
            shape.pop();
        }
        let arrays: Vec<Array> = (0..1 + rng.below(2))
            .map(|_| {
                let style = Style {
                    permute: rng.chance(50),
                    gaps: rng.chance(30),
                    reverse: rng.chance(30),
                    broadcast: rng.chance(30),
                };
                let item = rng.pick(&[1, 2, 4, 8]);
                Array::random(&mut rng, &shape, item, style)
            })
            .collect();
        let rows = rng.chance(50);
        let plan = plan(&arrays, &shape, rows).expect("layouts in memory");
        seen[usize::from(rows)][plan.mode() as usize] += 1;
        let expected: Vec<Vec<u64>> = arrays.iter().map(|x| in_c_order(x, &shape)).collect();
        let elements = expected[0].len();
        let mut operands = Operands::default();
        arrays.iter().for_each(|x| operands.read_from(bytes_of(&x.words[..]).into(), x.offset as isize));
        let mut nest = Nest::bind(&plan, &mut operands).expect("inside");
        let mut met = vec![0_u8; elements];
        let width = shape[rank.min(shape.len()) - 1];
        let done = nest.run(AliasPolicy::InPlace, &mut scratch, &mut |block| {
            // In flat mode, tiles may end anywhere in a row; if the plan keeps rows whole, they end between
            // rows.
            if rows && plan.mode() == LoopMode::Flat && width <= 1024 {
                assert!(block.cols().is_multiple_of(width) && block.first_of(0).is_multiple_of(width));
            }
            let (height, cols) = (block.rows(), block.cols());
            for row in 0..height {
                let first = block.first_of(row);
                met[first..first + cols].iter_mut().for_each(|met| *met += 1);
                for (i, expected) in expected.iter().enumerate() {
                    let item = arrays[i].item;
                    let bytes = block.inputs(row).bytes(i);
                    for col in 0..cols {
                        let at = if bytes.len() == item { 0 } else { col * item };
                        assert_eq!(bits(&bytes[at..at + item]), expected[first + col], "{shape:?}");
                    }
                }
            }
            // Some rows and columns of the block, with outputs in memory of the body's own.
            let (row, col) = (height / 2, cols / 3);
            let mut out = vec![0_u64; (height - row) * (cols - col)];
            let number = block.first_of(row) + col;
            let outputs = [(bytes_of_mut(&mut out), 8)].into_iter();
            block.with_outputs(row..height, col..cols, 0, outputs, |part| {
                assert_eq!((part.rows(), part.cols(), part.first_of(0)), (height - row, cols - col, number));
                for row in 0..part.rows() {
                    let (inputs, mut outputs) = part.row(row);
                    let (from, item) = (inputs.bytes(0), arrays[0].item);
                    for (col, to) in outputs.bytes(0).chunks_exact_mut(8).enumerate() {
                        let at = if from.len() == item { 0 } else { col * item };
                        to.copy_from_slice(&bits(&from[at..at + item]).to_le_bytes());
                    }
                }
            });
            for (i, copied) in out.iter().enumerate() {
                let (down, across) = (i / (cols - col), i % (cols - col));
                assert_eq!(*copied, expected[0][block.first_of(row + down) + col + across], "{shape:?}");
            }
            ControlFlow::Continue(())
        });
        assert!(done.is_continue() && met.iter().all(|&met| met == 1), "{shape:?}: each element once");
    }
    assert!(seen.iter().flatten().all(|&seen| seen > 50), "{seen:?}");
}

#[test]
fn what_is_outside_or_between_elements_is_refused() {
    let x: Vec<u32> = (0..24).collect();
    let plan = |strides: &[isize], extents: &[usize]| {
        let layouts = [OperandLayout::in_memory(4, 0, strides)].into_iter();
        LoopPlan::in_order(extents, layouts, LoopPlan::MIN_ROW).expect("a layout")
    };
    let row = plan(&[4], &[6]);
    let bind_all = |plan: &LoopPlan, inputs: &[(Region<'_>, isize)]| {
        let mut operands = Operands::default();
        inputs.iter().for_each(|&(region, from)| operands.read_from(region, from));
        Nest::bind(plan, &mut operands).map(drop)
    };
    let bind = |plan: &LoopPlan, region: Region<'_>, from: isize| bind_all(plan, &[(region, from)]);
    let whole = Region::from(bytes_of(&x[..]));
    for (from, fits) in [(0, true), (72, true), (76, false), (-4, false), (2, false), (isize::MAX - 8, false)]
    {
        let refused = Err(NestError::InputShape { input: 0 });
        assert_eq!(bind(&row, whole, from), if fits { Ok(()) } else { refused }, "{from}");
    }
    assert!(bind(&plan(&[-4], &[6]), whole, 16).is_err() && bind(&plan(&[-4], &[6]), whole, 20).is_ok());
    // A plan that reads every second element can be bound to memory with gaps at the other elements.
    let every_second = View::new(bytes_of(&x), 4, 0, &[12], &[8]).expect("inside");
    let gaps = Region::of_elements(&every_second);
    assert!(bind(&plan(&[8], &[6]), gaps, 16).is_ok());
    assert!(bind(&row, gaps, 0).is_err() && bind(&plan(&[8], &[6]), gaps, 4).is_err());
    assert!(bind_all(&row, &[]).is_err() && bind_all(&row, &[(whole, 0), (whole, 0)]).is_err());
}

#[test]
#[should_panic(expected = "memory for an output")]
fn an_output_that_is_too_small_is_refused() {
    let x = [0_u32; 8];
    let plan = plan_of_8();
    let mut operands = Operands::default();
    operands.read(bytes_of(&x).into());
    let mut nest = Nest::bind(&plan, &mut operands).expect("inside");
    let mut out = [0_u32; 7];
    let _ = nest.run(AliasPolicy::InPlace, &mut Scratch::new(), &mut |block| {
        let outputs = [(bytes_of_mut(&mut out), 4)].into_iter();
        block.with_outputs(0..1, 0..8, 0, outputs, |_| ());
        ControlFlow::Continue(())
    });
}

#[test]
#[should_panic(expected = "whole nodes")]
fn nodes_are_whole() {
    let x = [0_u32; 8];
    let plan = plan_of_8();
    let mut operands = Operands::default();
    operands.read(bytes_of(&x).into());
    let mut nest = Nest::bind(&plan, &mut operands).expect("inside");
    let _ = nest.run(AliasPolicy::InPlace, &mut Scratch::new(), &mut |block| {
        block.with_outputs(0..1, 0..8, 1, [].into_iter(), |_| ());
        ControlFlow::Continue(())
    });
}

fn plan_of_8() -> LoopPlan {
    let layouts = [OperandLayout::in_memory(4, 0, &[4])].into_iter();
    LoopPlan::in_order(&[8], layouts, LoopPlan::MIN_ROW).expect("a layout")
}
