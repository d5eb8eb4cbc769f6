//! Bodies with several cold blocks that contain calls: values that are live across a call are unchanged after it,
//! whether the cold block was entered or not. The helper overwrites every caller-saved register.

use crate::machine::taken;
use crate::pressure::shapes;
use crate::program::{Code, Lane, RowProgram};
use crate::rows::agree;

/// A program with `rares` cold blocks, and with `live` values that are computed before these and needed after them.
fn program(lane: Lane, live: usize, rares: usize) -> RowProgram {
    let mut program = RowProgram::default();
    let (x, y) = (program.input(lane), program.input(lane));
    let add = if lane.is_float() { "fadd" } else { "iadd" };
    let less = if lane.is_float() { "lt" } else { "slt" };
    let constant = |i: usize| match lane {
        Lane::F32 => u64::from((i as f32 / 4.0 - 6.0).to_bits()),
        Lane::F64 => (i as f64 / 4.0 - 6.0).to_bits(),
        other => (37 * i) as u64 & other.all_ones(),
    };
    let mut values = vec![y];
    let mut masks = Vec::new();
    for i in 0..live {
        let c = program.push(lane, Code::Constant(constant(i)));
        values.push(program.like(x, Code::Binary(add, values[i], c)));
        if i % 4 == 0 {
            masks.push(program.compare(less, values[i], x));
        }
    }
    let (mut value, mut fast) = (x, y);
    for i in 0..rares {
        let limit = program.push(lane, Code::Constant(constant(50 + 3 * i)));
        // The cold block is entered for nearly every element, or only rarely.
        let flags = program.compare(if i % 3 == 2 { "ne" } else { "eq" }, value, limit);
        let (of, otherwise) = match i % 4 {
            0 => (x, fast),
            1 => (value, value),
            2 => (values[i % values.len()], x),
            _ => (fast, values[(2 * i) % values.len()]),
        };
        let result = program.like(x, Code::Rare(flags, of, otherwise));
        fast = value;
        value = program.like(x, Code::Binary(add, result, values[(5 * i) % values.len()]));
    }
    for (i, &mask) in masks.iter().enumerate().rev() {
        value = program.like(x, Code::Select(mask, value, values[i]));
    }
    for &v in values.iter().rev() {
        value = program.like(x, Code::Binary(add, value, v));
    }
    program.outputs = vec![value, fast];
    program
}

#[test]
fn live_values_survive_a_cold_call() {
    for lane in [Lane::F32, Lane::F64, Lane::I32, Lane::I64] {
        for (live, rares) in [(0, 1), (1, 2), (6, 3), (24, 3), (33, 5), (120, 6)] {
            let program = program(lane, live, rares);
            for shape in shapes(lane) {
                drop(taken(agree(&program, shape), shape.level));
            }
        }
    }
}

/// Masks that are needed again, a cold block with the same value for its argument and its other lanes, and one whose
/// result is unused.
#[test]
fn inline_and_cold_code_share_values() {
    for lane in [Lane::F32, Lane::I64] {
        let mut program = RowProgram::default();
        let (x, y) = (program.input(lane), program.input(lane));
        let m = program.compare("eq", x, y);
        let first = program.like(x, Code::Rare(m, x, y));
        let second = program.like(x, Code::Rare(m, y, y));
        let third = program.like(x, Code::Rare(m, first, first));
        program.like(x, Code::Rare(m, third, x));
        let chosen = program.like(x, Code::Select(m, second, first));
        program.outputs = vec![third, chosen, m, y];
        for shape in shapes(lane) {
            drop(taken(agree(&program, shape), shape.level));
        }
    }
}
