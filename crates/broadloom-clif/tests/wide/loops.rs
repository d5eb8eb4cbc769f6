//! Loops over rows with gaps, outputs that are inputs, and large frames: every row is computed, and nothing else is written.

use broadloom_wide::{Convention, Level};

use crate::machine::{CompiledFunction, levels, taken};
use crate::pressure::shapes;
use crate::program::{Code, Lane, RowProgram};
use crate::rows::{Field, Wall, run};
use crate::text::Shape;

/// A program with the outputs 2x + y and its complement, for integers of a width.
fn sums(lane: Lane) -> RowProgram {
    let mut program = RowProgram::default();
    let (x, y) = (program.input(lane), program.input(lane));
    let double = program.like(x, Code::Binary("iadd", x, x));
    let sum = program.like(x, Code::Binary("iadd", double, y));
    let other = program.like(x, Code::Unary("bnot", sum));
    program.outputs = vec![sum, other];
    program
}

const INTEGERS: [Lane; 4] = [Lane::I8, Lane::I16, Lane::I32, Lane::I64];

#[test]
fn every_length_up_to_three_blocks_and_one() {
    for lane in INTEGERS {
        let program = sums(lane);
        for shape in shapes(lane) {
            let Some(machine) = taken(CompiledFunction::of(&program, shape), shape.level) else { continue };
            let least = if shape.level == Level::Avx512 { 1 } else { shape.block() };
            for columns in least..=3 * shape.block() + 1 {
                for wall in [Wall::Behind, Wall::Before] {
                    run(&machine, &program, shape, Field { wall, ..Field::row(columns) });
                }
            }
        }
    }
}

#[test]
fn rows_with_gaps_between_them() {
    for lane in INTEGERS {
        let program = sums(lane);
        for shape in shapes(lane) {
            let Some(machine) = taken(CompiledFunction::of(&program, shape), shape.level) else { continue };
            let block = shape.block();
            let short = if shape.level == Level::Avx512 { 1 } else { block };
            for (rows, columns) in
                [(2, short), (5, block), (4, block + 1), (3, 2 * block), (7, 3 * block - 1)]
            {
                run(&machine, &program, shape, Field { rows, ..Field::row(columns) });
            }
        }
    }
}

/// If an output is also an input, each element is computed once by code with masked stores. At 256 bits blocks overlap,
/// so it is not tested.
#[test]
fn an_output_that_is_an_input() {
    for lane in INTEGERS {
        let program = sums(lane);
        for shape in shapes(lane).filter(|shape| shape.level == Level::Avx512) {
            let Some(machine) = taken(CompiledFunction::of(&program, shape), shape.level) else { continue };
            for columns in 1..=2 * shape.block() + 3 {
                run(&machine, &program, shape, Field { in_place: true, rows: 2, ..Field::row(columns) });
            }
        }
    }
}

/// Blocks of several vectors of less than 128 bits: a store writes only the lanes that a vector has.
#[test]
fn short_vectors() {
    for (lane, lanes) in [(Lane::I8, 8), (Lane::I8, 4), (Lane::I16, 4), (Lane::I8, 16), (Lane::I32, 4)] {
        let program = sums(lane);
        for vectors in [1, 2, 4] {
            for level in levels() {
                let shape = Shape { vectors, ..Shape::new(level, lanes) };
                let Ok(machine) = CompiledFunction::of(&program, shape) else { continue };
                let least = if level == Level::Avx512 { 1 } else { shape.block() };
                for columns in least..=3 * shape.block() + 1 {
                    run(&machine, &program, shape, Field { rows: 2, ..Field::row(columns) });
                }
            }
        }
    }
}

/// Stack frames of several pages: each page is accessed before the next, so that the stack's guard page is never
/// skipped.
#[test]
fn frames_above_a_page() {
    let program = sums(Lane::I32);
    for bytes in [4096, 5000, 20_000, 65_536, 1 << 20] {
        for level in levels() {
            for convention in [Convention::SystemV, Convention::Windows] {
                let lanes = if level == Level::Avx512 { 16 } else { 8 };
                let shape = Shape { convention, idle_slot: bytes, ..Shape::new(level, lanes) };
                let columns = 3 * shape.block() + 1;
                let running = || {
                    let Some(machine) = taken(CompiledFunction::of(&program, shape), shape.level) else {
                        return;
                    };
                    assert!(machine.frame as usize >= bytes, "{} of {bytes} bytes", machine.frame);
                    run(&machine, &program, shape, Field::row(columns));
                };
                // A new thread, whose stack has not been accessed yet.
                let thread = std::thread::Builder::new().stack_size(4 << 20);
                std::thread::scope(|scope| {
                    thread.spawn_scoped(scope, running).expect("a thread").join().expect("runs");
                });
            }
        }
    }
}
