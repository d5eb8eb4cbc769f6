//! Tests rows that are longer than tiles, with every alignment and each way of writing outputs.

use std::ops::ControlFlow;

use broadloom_interp::{Program, TILE, lanes};
use broadloom_ir::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_ir::{DType, Op, VectorWidth};
use broadloom_mem::{
    AliasPolicy, Block, ExecutableKernel, KernelRun, Nest, Scratch, Stores, View, ViewMut, WorkingMemory,
    bytes_of, bytes_of_mut,
};

/// A kernel with the outputs a·b + s, a·b + s > a, b and s: the first two are computed, the others are copied.
fn kernel() -> Kernel {
    let inst =
        |op, a, b| Inst { code: Code::apply(op, DType::Float32), args: [ValueId(a), ValueId(b), ValueId(0)] };
    Kernel {
        inputs: vec![DType::Float32; 3],
        params: vec![],
        body: vec![inst(Op::Multiply, 0, 1), inst(Op::Add, 3, 2), inst(Op::Greater, 4, 0)],
        outputs: [4, 5, 1, 2].map(|value| ValueId(value).into()).to_vec(),
        ..Kernel::default()
    }
}

fn numbers(n: usize, seed: u32) -> Vec<f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2654435761).wrapping_add(seed) >> 8) as f32 / 1e6 - 8.0).collect()
}

/// The memory of an output: the elements, where they start, and guard bytes around them.
struct Out {
    words: Vec<u64>,
    offset: usize,
    item: usize,
}

impl Out {
    fn new(n: usize, offset: usize, item: usize) -> Out {
        Out { words: vec![0x5555_5555_5555_5555; (offset + n) * item / 8 + 32], offset: offset * item, item }
    }

    fn view(&mut self, shape: &[usize; 2]) -> ViewMut<'_> {
        let strides = [(shape[1] * self.item) as isize, self.item as isize];
        ViewMut::new(bytes_of_mut(&mut self.words), self.item, self.offset, shape, &strides).expect("inside")
    }

    fn bytes(&self, n: usize) -> &[u8] {
        let all = bytes_of(&self.words[..]);
        let (end, rest) = (self.offset + n * self.item, |b: &u8| *b == 0x55);
        assert!(all[..self.offset].iter().all(rest) && all[end..].iter().all(rest), "bytes around an output");
        &all[self.offset..end]
    }
}

/// Computes a block of a kernel without parameters.
fn run(program: &Program, stores: Stores, block: &mut Block<'_>, memory: &mut WorkingMemory) {
    let mut run = KernelRun { params: &[], tables: &[], faults: &mut [], stores, memory, loops: None };
    program.run(block, &mut run).expect("matches");
}

#[test]
fn every_output_of_rows_of_any_length_anywhere() {
    let (kernel, mut memory, mut scratch) = (kernel(), WorkingMemory::default(), Scratch::new());
    let mut programs: Vec<(Vec<broadloom_mem::Access>, Program)> = Vec::new();
    for (rows, cols) in [1, 15, 32, 100, 255, 256, 257, 300, TILE - 1, TILE, TILE + 1, 3 * TILE + 5]
        .into_iter()
        .flat_map(|cols| [(1, cols), (3, cols)])
    {
        let n = rows * cols;
        let (a, b, s) = (numbers(n + 16, 1), numbers(n + 16, 2), numbers(rows, 3));
        let expected: Vec<f32> = (0..n).map(|i| a[i + 3] * b[i + 1] + s[i / cols]).collect();
        for offset in [0, 1, 2, 5, 8, 13, 16, 31] {
            for stores in [Stores::Cached, Stores::Streaming] {
                let mut outs = [4, 1, 4, 4].map(|item| Out::new(n, offset, item));
                {
                    let view = |x, offset, strides| {
                        View::new(bytes_of(x), 4, offset, &[rows, cols], strides).expect("inside")
                    };
                    let row = [4 * cols as isize, 4];
                    let inputs = [view(&a[..], 12, &row), view(&b[..], 4, &row), view(&s[..], 0, &[4, 0])];
                    let views = outs.iter_mut().map(|out| out.view(&[rows, cols]));
                    let mut nest = Nest::new(&[rows, cols], &inputs, views).expect("a nest");
                    let access: Vec<_> = nest.accesses().collect();
                    let at = programs.iter().position(|p| p.0 == access).unwrap_or_else(|| {
                        let program = Program::new(&kernel, &[], &access).expect("a valid kernel");
                        programs.push((access, program));
                        programs.len() - 1
                    });
                    let done = nest.run(AliasPolicy::Copy, &mut scratch, &mut |block| {
                        run(&programs[at].1, stores, block, &mut memory);
                        ControlFlow::Continue(())
                    });
                    assert!(done.is_continue());
                }
                let want: [Vec<u8>; 4] = [
                    bytes_of(&expected[..]).to_vec(),
                    (0..n).map(|i| u8::from(expected[i] > a[i + 3])).collect(),
                    bytes_of(&b[1..n + 1]).to_vec(),
                    (0..n).flat_map(|i| s[i / cols].to_le_bytes()).collect(),
                ];
                for (j, (out, want)) in outs.iter().zip(&want).enumerate() {
                    assert!(
                        out.bytes(n) == want,
                        "output {j} of {rows} × {cols} at {offset}, {stores:?}: not what was computed"
                    );
                }
            }
        }
    }
}

/// An output that is also an input is written by regular stores, since its cache lines were just read.
#[test]
fn outputs_in_place_are_not_streamed_and_right() {
    let inst =
        |op, a, b| Inst { code: Code::apply(op, DType::Float32), args: [ValueId(a), ValueId(b), ValueId(0)] };
    let kernel = Kernel {
        inputs: vec![DType::Float32; 2],
        body: vec![inst(Op::Subtract, 0, 1), inst(Op::Multiply, 2, 0)],
        outputs: vec![ValueId(3).into()],
        ..Kernel::default()
    };
    let n = 5000;
    let (mut x, b) = (numbers(n, 1), numbers(n, 2));
    let expected: Vec<f32> = x.iter().zip(&b).map(|(x, b)| (x - b) * x).collect();
    let ptr = x.as_mut_ptr().cast::<u8>();
    // SAFETY: both views are of `x`, which is not used otherwise while they live.
    let (input, output) =
        unsafe { (View::from_raw(ptr, 4, &[n], &[4]), ViewMut::from_raw(ptr, 4, &[n], &[4])) };
    let (input, output) = (input.expect("valid"), output.expect("valid"));
    let b_view = View::new(bytes_of(&b[..]), 4, 0, &[n], &[4]).expect("inside");
    let mut nest = Nest::new(&[n], &[input, b_view], [output]).expect("the same elements");
    let access: Vec<_> = nest.accesses().collect();
    let program = Program::new(&kernel, &[], &access).expect("a valid kernel");
    let mut memory = WorkingMemory::default();
    let done = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
        assert!(!block.is_apart(0));
        run(&program, Stores::Streaming, block, &mut memory);
        ControlFlow::Continue(())
    });
    assert!(done.is_continue());
    assert_eq!(x, expected);
}

#[test]
fn loops_are_no_wider_than_asked_for() {
    let widths = VectorWidth::ALL.map(lanes);
    assert!(widths.is_sorted() && widths[VectorWidth::W256 as usize] <= 8, "{widths:?}");
    assert_eq!(widths[VectorWidth::W512 as usize] == 16, VectorWidth::target() == VectorWidth::W512);
}
