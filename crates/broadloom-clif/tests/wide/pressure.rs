//! More values than registers: hundreds of vectors, masks, constants or pointers that are live at once must survive spilling.

use broadloom_wide::{Convention, Level};

use crate::machine::{levels, taken};
use crate::program::{Code, Lane, RowProgram};
use crate::rows::{Field, Wall, agree, run};
use crate::text::Shape;

/// The shapes in which a program with these lanes is compiled: each level, both calling conventions, and blocks of one
/// and two vectors.
pub fn shapes(widest: Lane) -> impl Iterator<Item = Shape> {
    levels().into_iter().flat_map(move |level| {
        let bytes = if level == Level::Avx512 { 64 } else { 32 };
        [(Convention::SystemV, 1), (Convention::Windows, 1), (Convention::SystemV, 2)]
            .map(|(convention, vectors)| Shape {
                convention,
                vectors,
                ..Shape::new(level, bytes / widest.bytes())
            })
            .into_iter()
            // In functions of the emitter, a block has at most as many lanes as a vector has bytes.
            .filter(move |shape| shape.block() <= bytes)
    })
}

/// The names of two instructions for a lane type: addition and multiplication for floats, addition and subtraction for
/// integers.
fn arithmetic(lane: Lane) -> (&'static str, &'static str) {
    if lane.is_float() { ("fadd", "fmul") } else { ("iadd", "isub") }
}

/// A constant that is different for each number.
fn constant(lane: Lane, number: usize) -> u64 {
    match lane {
        Lane::F32 => (1.0 + number as f32 / 64.0).to_bits().into(),
        Lane::F64 => (1.0 + number as f64 / 64.0).to_bits(),
        _ => (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) & lane.all_ones(),
    }
}

/// A program that computes `count` values first and then uses them from the last to the first, so that all are live at
/// once.
fn many_values(lane: Lane, count: usize) -> RowProgram {
    let mut program = RowProgram::default();
    let (x, y) = (program.input(lane), program.input(lane));
    let (add, times) = arithmetic(lane);
    let mut values = vec![x];
    for i in 0..count {
        let operand = if i % 3 == 0 { y } else { values[i / 2] };
        let c = program.push(lane, Code::Constant(constant(lane, i)));
        let product = program.like(x, Code::Binary(times, operand, c));
        values.push(program.like(x, Code::Binary(add, product, values[i])));
    }
    let mut sum = y;
    for &value in values.iter().rev() {
        sum = program.like(x, Code::Binary(times, sum, value));
        sum = program.like(x, Code::Binary(add, value, sum));
    }
    program.outputs = vec![sum, values[count / 2]];
    program
}

#[test]
fn hundreds_of_vectors() {
    for lane in [Lane::F32, Lane::F64, Lane::I8, Lane::I16, Lane::I32, Lane::I64] {
        for count in [20, 40, 300] {
            let program = many_values(lane, count);
            shapes(lane).for_each(|shape| drop(taken(agree(&program, shape), shape.level)));
        }
    }
}

/// Fused multiply-adds whose three operands are spilled or still needed afterwards, in every combination.
#[test]
fn multiply_adds_of_spilled_values() {
    for lane in [Lane::F32, Lane::F64] {
        let mut program = RowProgram::default();
        let x = program.input(lane);
        let values: Vec<usize> = (0..60)
            .map(|i| {
                let c = program.push(lane, Code::Constant(constant(lane, i)));
                program.like(x, Code::Binary("fmul", x, c))
            })
            .collect();
        let negative: Vec<usize> =
            (0..20).map(|i| program.like(x, Code::Unary("fneg", values[3 * i]))).collect();
        let mut sum = x;
        for i in 0..240 {
            let of = |k: usize| values[(i * k + k) % 60];
            let (a, b, c) = match i % 6 {
                0 => (of(7), of(11), sum),
                1 => (sum, of(13), of(17)),
                2 => (of(19), sum, of(23)),
                3 => (negative[i % 20], of(7), sum),
                4 => (sum, sum, of(29)),
                _ => (of(7), negative[(i + 3) % 20], of(31)),
            };
            let scaled = program.like(x, Code::Fma(a, b, c));
            let limit = program.push(lane, Code::Constant(constant(lane, 100)));
            sum = program.like(x, Code::Binary("fdiv", scaled, limit));
        }
        program.outputs = vec![sum];
        shapes(lane).for_each(|shape| drop(taken(agree(&program, shape), shape.level)));
    }
}

/// A program that computes `count` masks first and then selects by them from the last to the first.
fn many_masks(lane: Lane, count: usize) -> RowProgram {
    let mut program = RowProgram::default();
    let (x, y) = (program.input(lane), program.input(lane));
    let (add, times) = arithmetic(lane);
    let conditions: &[&'static str] = match lane.is_float() {
        true => &crate::program::FLOAT_CONDITIONS,
        false => &crate::program::INTEGER_CONDITIONS,
    };
    let masks: Vec<usize> = (0..count)
        .map(|i| {
            let c = program.push(lane, Code::Constant(constant(lane, i)));
            let left = program.like(x, Code::Binary(times, y, c));
            program.compare(conditions[i % conditions.len()], left, x)
        })
        .collect();
    let (mut value, mut truth) = (y, masks[0]);
    for (i, &mask) in masks.iter().enumerate().rev() {
        let c = program.push(lane, Code::Constant(constant(lane, i + 3)));
        let other = program.like(x, Code::Binary(add, value, c));
        value = program.like(x, Code::Select(mask, other, value));
        let negated = program.like(mask, Code::Unary("bnot", mask));
        truth = match i % 5 {
            0 => program.like(mask, Code::Binary("bxor", truth, mask)),
            1 => program.like(mask, Code::Binary("bor", truth, mask)),
            2 => program.like(mask, Code::Binary("band", negated, truth)),
            3 => program.like(mask, Code::Binary("bor", negated, truth)),
            _ => program.like(mask, Code::Select(masks[i / 2], truth, negated)),
        };
    }
    program.outputs = vec![value, truth];
    program
}

#[test]
fn more_masks_than_mask_registers() {
    for lane in [Lane::F32, Lane::F64, Lane::I8, Lane::I16, Lane::I32, Lane::I64] {
        for count in [5, 6, 7, 9, 130] {
            let program = many_masks(lane, count);
            shapes(lane).for_each(|shape| drop(taken(agree(&program, shape), shape.level)));
        }
    }
}

/// More constants than registers, each of which is needed twice in every block, and instructions whose operands are all
/// constants.
#[test]
fn more_constants_than_registers() {
    for lane in [Lane::F32, Lane::F64, Lane::I16, Lane::I32, Lane::I64] {
        let mut program = RowProgram::default();
        let x = program.input(lane);
        let (add, times) = arithmetic(lane);
        let constants: Vec<usize> =
            (0..90).map(|i| program.push(lane, Code::Constant(constant(lane, i)))).collect();
        let mut sum = x;
        for round in 0..2 {
            for (i, &c) in constants.iter().enumerate() {
                sum = match (i + round) % 3 {
                    0 => program.like(x, Code::Binary(times, sum, c)),
                    1 => program.like(x, Code::Binary(add, c, sum)),
                    // The constant is the first operand of a subtraction, whose operands can't be exchanged.
                    _ if !lane.is_float() => program.like(x, Code::Binary("isub", c, sum)),
                    _ => program.like(x, Code::Binary("fsub", c, sum)),
                };
            }
        }
        let both = program.like(x, Code::Binary(times, constants[3], constants[4]));
        program.outputs = vec![sum, both, constants[7]];
        shapes(lane).for_each(|shape| drop(taken(agree(&program, shape), shape.level)));
    }
}

/// More pointers to operands than there are registers.
#[test]
fn twenty_inputs_and_ten_outputs() {
    for lane in [Lane::F32, Lane::F64, Lane::I8, Lane::I64] {
        let mut program = RowProgram::default();
        let (add, _) = arithmetic(lane);
        let inputs: Vec<usize> = (0..20).map(|_| program.input(lane)).collect();
        for i in 0..10 {
            let sum = program.like(inputs[i], Code::Binary(add, inputs[i], inputs[19 - i]));
            let output = program.like(sum, Code::Binary(add, sum, inputs[(7 * i + 3) % 20]));
            program.outputs.push(output);
        }
        for shape in shapes(lane) {
            let Some(machine) = taken(agree(&program, shape), shape.level) else { continue };
            for wall in [Wall::Behind, Wall::Before] {
                let columns = 3 * shape.block() + 1;
                run(&machine, &program, shape, Field { rows: 3, columns, wall, in_place: false, seed: 5 });
            }
        }
    }
}

/// Values with several lane widths at once, such as masks, bytes and doubles for the same elements.
#[test]
fn lanes_of_all_widths() {
    let mut program = RowProgram::default();
    let (a, b) = (program.input(Lane::F64), program.input(Lane::F32));
    let (c, d) = (program.input(Lane::I8), program.input(Lane::I16));
    use broadloom_wide::Intrinsic::{Demote, Promote, ResizeMask, SignExtend, Truncate, ZeroExtend};
    let wide = program.push(Lane::F64, Code::Convert(Promote, b));
    let sum = program.like(a, Code::Binary("fadd", a, wide));
    let less = program.compare("lt", sum, a);
    let m32 = program.push(Lane::I32, Code::Convert(ResizeMask, less));
    let m8 = program.push(Lane::I8, Code::Convert(ResizeMask, less));
    let narrow = program.push(Lane::F32, Code::Convert(Demote, sum));
    let chosen = program.like(b, Code::Select(m32, narrow, b));
    let long = program.push(Lane::I64, Code::Convert(SignExtend, c));
    let unsigned = program.push(Lane::I64, Code::Convert(ZeroExtend, d));
    let both = program.like(long, Code::Binary("iadd", long, unsigned));
    let low = program.push(Lane::I8, Code::Convert(Truncate, both));
    let byte = program.like(c, Code::Select(m8, low, c));
    program.outputs = vec![sum, chosen, both, byte];
    for shape in shapes(Lane::F64).filter(|shape| shape.level == Level::Avx512) {
        drop(taken(agree(&program, shape), shape.level));
    }
}
