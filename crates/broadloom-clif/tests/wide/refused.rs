//! Functions that the back end refuses: functions that are not kernels, and types that do not fit into registers. If it
//! compiles a function, the results must be right.

use broadloom_wide::{Convention, Level, compile};

use crate::machine::{CompiledFunction, levels, parse};
use crate::program::{Code, Lane, RowProgram};
use crate::rows::agree;
use crate::text::{self, Shape};

/// Vectors that are longer than registers, or shorter than the shortest load.
#[test]
fn types_of_another_size() {
    let mut program = RowProgram::default();
    let x = program.input(Lane::I32);
    program.outputs = vec![program.like(x, Code::Binary("iadd", x, x))];
    for (level, lanes) in [(Level::Avx512, 32), (Level::Avx2, 16), (Level::Avx2, 32)] {
        let text = text::function(&program, Shape::new(level, lanes));
        assert!(compile(&parse(&text), level, Convention::SystemV).is_err(), "{lanes} lanes of 32 bits");
    }
    let mut program = RowProgram::default();
    let x = program.input(Lane::I8);
    program.outputs = vec![program.like(x, Code::Binary("iadd", x, x))];
    // The block has more elements than a mask register has bits.
    let text = text::function(&program, Shape { vectors: 2, ..Shape::new(Level::Avx512, 64) });
    assert!(compile(&parse(&text), Level::Avx512, Convention::SystemV).is_err(), "128 lanes");
    for level in levels() {
        // Vectors of two bytes: the function is refused, or it computes the right results and accesses only two bytes.
        drop(agree(&program, Shape::new(level, 2)));
        drop(agree(&program, Shape { vectors: 3, ..Shape::new(level, 2) }));
    }
}

/// Masks with fewer lanes than a mask register has bits: the bits above the lanes must be ignored.
#[test]
fn masks_of_few_lanes() {
    for (lane, lanes) in [(Lane::F64, 4), (Lane::I64, 2), (Lane::I32, 4), (Lane::F64, 2), (Lane::I16, 8)] {
        let mut program = RowProgram::default();
        let (x, y) = (program.input(lane), program.input(lane));
        let less = program.compare(if lane.is_float() { "lt" } else { "slt" }, x, y);
        let not = program.like(less, Code::Unary("bnot", less));
        let none = program.like(less, Code::Binary("band", less, not));
        let all = program.like(less, Code::Binary("bor", less, not));
        let neither = program.like(less, Code::Unary("bnot", all));
        // A cold block for each mask, which must be entered only for lanes of the vector.
        let mut value = x;
        for m in [not, none, all, neither] {
            value = program.like(x, Code::Rare(m, value, y));
        }
        program.outputs = vec![value, not, neither];
        for level in levels() {
            drop(agree(&program, Shape::new(level, lanes)));
        }
    }
}

#[test]
fn functions_that_are_no_kernels() {
    let functions = [
        // A branch whose two targets both contain code.
        "function u0:0(i64, i64, i64, i64, i64, i64) system_v {
block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64):
    v6 = icmp slt v3, v4
    brif v6, block1, block2
block1:
    store notrap v3, v0
    jump block3
block2:
    store notrap v4, v0
    jump block3
block3:
    return
}",
        // A scalar division, which the back end does not support.
        "function u0:0(i64, i64, i64, i64, i64, i64) system_v {
block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64):
    v6 = udiv v3, v4
    store notrap v6, v0
    return
}",
        // A call of a function that is not an intrinsic.
        "function u0:0(i64, i64, i64, i64, i64, i64) system_v {
    sig0 = (i64) -> i64 system_v
    fn0 = u0:7 sig0
block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64):
    v6 = call fn0(v3)
    store notrap v6, v0
    return
}",
    ];
    for text in functions {
        for level in [Level::Avx512, Level::Avx2] {
            let refused = compile(&parse(text), level, Convention::SystemV).expect_err(text);
            assert!(!refused.0.is_empty());
        }
    }
}

/// Compiling the same function twice gives the same code, which does not depend on its address.
#[test]
fn code_is_the_same_each_time() {
    let mut program = RowProgram::default();
    let x = program.input(Lane::F32);
    let c = program.push(Lane::F32, Code::Constant(0x3fc0_0000));
    program.outputs = vec![program.like(x, Code::Fma(x, c, x))];
    for level in levels() {
        let lanes = if level == Level::Avx512 { 16 } else { 8 };
        let shape = Shape::new(level, lanes);
        let function = parse(&text::function(&program, shape));
        let once = compile(&function, level, Convention::SystemV).expect("compiles");
        let again = compile(&function, level, Convention::SystemV).expect("compiles");
        assert_eq!(once, again);
        let (first, second) = (CompiledFunction::of(&program, shape), CompiledFunction::of(&program, shape));
        let assembly =
            |machine: Result<CompiledFunction, _>| machine.map(|m: CompiledFunction| m.assembly.clone());
        assert_eq!(assembly(first).expect("compiles"), assembly(second).expect("compiles"));
    }
}
