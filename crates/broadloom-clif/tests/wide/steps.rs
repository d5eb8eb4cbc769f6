//! Inputs that are reversed or every second element in memory and are read in place: rows of every length are compared
//! with loops over elements. The arrays are next to inaccessible pages, so that reading a byte outside of them ends the
//! process.

use std::collections::HashMap;
use std::ops::ControlFlow;

use broadloom_clif::{Compiled, Compiler, VectorWidth};
use broadloom_ir::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_ir::{DType, ErrorKind, Op, Purpose};
use broadloom_mem::{Access, ExecutableKernel, Nest, Scratch, View, ViewMut};

use crate::rows::{Dice, Guarded, Wall};

/// The dtypes of a, b, the difference `a - b`, and the outputs. The difference is computed in the widest dtype; each
/// output contains its low bits.
type WidthCase = (DType, DType, DType, &'static [DType]);

const CASES: [WidthCase; 4] = [
    (DType::Int32, DType::Int32, DType::Int32, &[DType::Int32]),
    (DType::Int64, DType::Int64, DType::Int64, &[DType::Int64]),
    (DType::Int32, DType::Int64, DType::Int64, &[DType::Int64, DType::Int32]),
    (DType::UInt32, DType::UInt8, DType::UInt32, &[DType::UInt8, DType::UInt32]),
];

fn kernel((a, b, work, outputs): WidthCase) -> Kernel {
    let (mut body, mut next) = (Vec::new(), 1);
    let mut push = |code, x: u32, y: u32| {
        body.push(Inst { code, args: [ValueId(x), ValueId(y), ValueId(0)] });
        next += 1;
        next
    };
    let x = if a == work { 0 } else { push(Code::Cast(a, work), 0, 0) };
    let y = if b == work { 1 } else { push(Code::Cast(b, work), 1, 0) };
    let difference = push(Code::apply(Op::Subtract, work), x, y);
    let results = outputs.iter().map(|&to| match to == work {
        true => ValueId(difference),
        false => ValueId(push(Code::Cast(work, to), difference, 0)),
    });
    let outputs = results.map(Into::into).collect();
    Kernel { inputs: vec![a, b], body, outputs, ..Kernel::default() }
}

/// An operand whose rows have gaps of some elements between them in memory.
struct GappedRows {
    dtype: DType,
    memory: Guarded,
    step: isize,
    shape: Vec<usize>,
    /// The number of elements from row to row.
    pitch: usize,
}

impl GappedRows {
    fn new(dtype: DType, step: isize, shape: &[usize], wall: Wall, dice: &mut Dice) -> GappedRows {
        let (rows, cols) = (shape.iter().rev().nth(1).copied().unwrap_or(1), shape[shape.len() - 1]);
        let span = (cols - 1) * step.unsigned_abs() + 1;
        let pitch = span + 5;
        let mut memory = Guarded::new(((rows - 1) * pitch + span) * dtype.size(), wall);
        memory.bytes_mut().iter_mut().for_each(|byte| *byte = dice.next() as u8);
        GappedRows { dtype, memory, step, shape: shape.to_vec(), pitch }
    }

    /// The offset of an element in bytes.
    fn at(&self, row: usize, col: usize) -> usize {
        let cols = self.shape[self.shape.len() - 1];
        let col = if self.step < 0 { cols - 1 - col } else { col * self.step as usize };
        (row * self.pitch + col) * self.dtype.size()
    }

    /// The element, sign-extended if its dtype is signed.
    fn get(&self, row: usize, col: usize) -> i64 {
        let size = self.dtype.size();
        let from = &self.memory.bytes()[self.at(row, col)..][..size];
        let is_negative = matches!(self.dtype, DType::Int32 | DType::Int64) && from[size - 1] >= 0x80;
        let mut bits = [if is_negative { 0xff } else { 0 }; 8];
        bits[..size].copy_from_slice(from);
        i64::from_le_bytes(bits)
    }

    fn strides(&self) -> Vec<isize> {
        let size = self.dtype.size() as isize;
        let strides = [self.pitch as isize * size, self.step * size];
        strides[2 - self.shape.len()..].to_vec()
    }

    fn start(&mut self) -> *mut u8 {
        let at = self.at(0, 0);
        self.memory.as_mut_ptr().wrapping_add(at)
    }

    /// # Safety
    /// While the view is used, the memory is accessed only through it, or through the view of an output with the
    /// same elements.
    unsafe fn view(&mut self) -> View<'static> {
        let (start, strides) = (self.start(), self.strides());
        // SAFETY: the rows are in the memory, and aliasing is excluded by this function's contract.
        unsafe { View::from_raw(start, self.dtype.size(), &self.shape, &strides) }.expect("aligned")
    }

    /// # Safety
    /// As [`GappedRows::view`].
    unsafe fn view_mut(&mut self) -> ViewMut<'static> {
        let (start, strides) = (self.start(), self.strides());
        // SAFETY: as in `view`.
        unsafe { ViewMut::from_raw(start, self.dtype.size(), &self.shape, &strides) }.expect("aligned")
    }
}

/// The compiled code for each case, access classes and width.
struct Codes {
    compiler: Compiler,
    purpose: Purpose,
    known: HashMap<(usize, Vec<Access>, VectorWidth), Compiled>,
}

impl Codes {
    fn new(purpose: Purpose) -> Codes {
        let compiler = Compiler::host().expect("a supported host");
        Codes { compiler, purpose, known: HashMap::new() }
    }

    fn get(&mut self, case: usize, access: Vec<Access>, width: VectorWidth) -> &Compiled {
        let Codes { compiler, purpose, known } = self;
        known.entry((case, access.clone(), width)).or_insert_with(|| {
            let kernel = kernel(CASES[case]);
            let compiled = compiler.compile_for(*purpose, &kernel, &[], &access, width).expect("compiles");
            assert_eq!((compiled.width(), compiled.narrowed()), (width, None));
            assert_eq!(compiled.reads_steps(), access.iter().any(|access| access.is_stepped()));
            compiled
        })
    }

    /// Runs a case on rows of this shape; `in_place` is whether the second input is the last output.
    fn check(
        &mut self,
        case: usize,
        width: VectorWidth,
        steps: [isize; 2],
        shape: &[usize],
        wall: Wall,
        in_place: bool,
    ) {
        let (a, b, _, to) = CASES[case];
        let mut dice = Dice(shape.iter().sum::<usize>() as u64);
        let mut x = GappedRows::new(a, steps[0], shape, wall, &mut dice);
        let mut y = GappedRows::new(b, steps[1], shape, wall, &mut dice);
        let mut outputs: Vec<GappedRows> =
            to.iter().map(|&to| GappedRows::new(to, 1, shape, wall, &mut dice)).collect();
        let (rows, cols) = (shape.iter().rev().nth(1).copied().unwrap_or(1), shape[shape.len() - 1]);
        let indices = || (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        let expected: Vec<i64> =
            indices().map(|(row, col)| x.get(row, col).wrapping_sub(y.get(row, col))).collect();
        let before: Vec<Vec<u8>> =
            outputs.iter().chain([&y]).map(|rows| rows.memory.bytes().to_vec()).collect();
        // SAFETY: the operands live longer than the nest, and are accessed only through the nest while it lives.
        let (inputs, views) = unsafe {
            let last = outputs.len() - 1;
            let views: Vec<ViewMut<'_>> = (outputs.iter_mut().enumerate())
                .map(|(i, out)| if in_place && i == last { y.view_mut() } else { out.view_mut() })
                .collect();
            ([x.view(), y.view()], views)
        };
        let mut nest = Nest::new(shape, &inputs, views).expect("apart, or the same");
        let compiled = self.get(case, nest.stepped_accesses().collect(), width);
        let policy = compiled.policy();
        let done = nest.run(policy, &mut Scratch::new(), &mut |block| {
            compiled.run_alone(block, &[], &mut []).expect("matches");
            ControlFlow::Continue(())
        });
        assert!(done.is_continue());
        drop(nest);
        let of = format!("{case} {width} {steps:?} {shape:?} {wall:?} {in_place}");
        let last = outputs.len() - 1;
        for i in 0..outputs.len() {
            let (out, before) = match in_place && i == last {
                true => (&y, &before[last + 1]),
                false => (&outputs[i], &before[i]),
            };
            let mut want = before.clone();
            for ((row, col), value) in indices().zip(&expected) {
                let size = out.dtype.size();
                want[out.at(row, col)..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
            assert!(out.memory.bytes() == want, "output {i} of {of}");
        }
    }
}

/// The vector widths for which code can read stepped inputs.
fn widths() -> impl Iterator<Item = VectorWidth> {
    VectorWidth::of_target().filter(|&width| width > VectorWidth::W128)
}

/// Every length up to several of the largest blocks. A read after the last element or before the first would end the
/// process.
#[test]
fn every_length() {
    for purpose in [Purpose::Store, Purpose::Stream] {
        let mut codes = Codes::new(purpose);
        for (width, case) in widths().flat_map(|width| (0..CASES.len()).map(move |case| (width, case))) {
            for steps in [[-1, 1], [2, 1], [2, -1], [-1, 2], [2, 2], [1, -1]] {
                // Rows of few blocks are never written by non-temporal stores.
                let short = if purpose == Purpose::Store { 1..140 } else { 0..0 };
                let lengths = short.chain([255, 256, 257, 258, 300, 511, 513, 700, 1000]);
                for (n, wall) in lengths.flat_map(|n| [(n, Wall::Behind), (n, Wall::Before)]) {
                    codes.check(case, width, steps, &[n], wall, false);
                }
            }
        }
    }
}

/// Rows with gaps, of every length from 32 to 99. The last row ends, or the first row begins, at an inaccessible page.
#[test]
fn rows_of_steps() {
    let mut codes = Codes::new(Purpose::Store);
    for (width, case) in widths().flat_map(|width| (0..CASES.len()).map(move |case| (width, case))) {
        for steps in [[-1, 1], [2, 1], [2, -1], [2, 2]] {
            for (n, wall) in (32..100).flat_map(|n| [(n, Wall::Behind), (n, Wall::Before)]) {
                codes.check(case, width, steps, &[3, n], wall, false);
            }
        }
    }
}

/// A stepped input together with an input that is also the output: each element is computed once.
#[test]
fn beside_an_output_that_is_an_input() {
    let mut codes = Codes::new(Purpose::Store);
    for (width, case) in widths().flat_map(|width| [(width, 0), (width, 1)]) {
        for (n, step) in (1..200).flat_map(|n| [(n, -1), (n, 2)]) {
            codes.check(case, width, [step, 1], &[n], Wall::Behind, true);
        }
    }
}

/// Stepped inputs are refused for elements that can't be permuted, are not read in place by code on vectors of 128
/// bits, and can't be passed as slices.
#[test]
fn what_is_not_read_in_steps() {
    let compiler = Compiler::host().expect("a supported host");
    let bytes = kernel((DType::UInt8, DType::UInt8, DType::UInt8, &[DType::UInt8]));
    let refused =
        compiler.compile(&bytes, &[], &[Access::Reversed, Access::Contiguous], VectorWidth::target());
    assert_eq!(refused.expect_err("bytes").kind(), ErrorKind::Internal);
    let words = kernel(CASES[0]);
    let access = [Access::EverySecond, Access::Contiguous];
    for width in VectorWidth::of_target() {
        let compiled = compiler.compile(&words, &[], &access, width).expect("compiles");
        assert_eq!(compiled.reads_steps(), width > VectorWidth::W128);
        if compiled.reads_steps() {
            let (x, mut y) = ([1u8; 4096], [2u8; 256]);
            let refused =
                compiled.run_slices(64, [&x[..], &x[..]].into_iter(), [&mut y[..]].into_iter(), &[], &mut []);
            assert_eq!(refused.expect_err("slices").kind(), ErrorKind::Internal);
            assert_eq!(y, [2; 256]);
        }
    }
}
