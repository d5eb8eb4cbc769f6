//! Rows of lengths around multiples of a block, at many addresses, with regular and with non-temporal stores: each
//! element is computed once, also if the output is an input, and nothing around the rows is written.

use std::ops::ControlFlow;

use broadloom_clif::{Compiled, Compiler, VectorWidth};
use broadloom_ir::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_ir::{DType, Op, Purpose};
use broadloom_mem::{AliasPolicy, ExecutableKernel, Nest, Scratch, View, ViewMut};

/// The value of bytes around the rows, which no run may change.
const GUARD: u8 = 0xa5;
const LINE: usize = 64;

/// Two kernels: a + b, which is cheap enough that rows are computed in two pieces, and a longer kernel, which applies
/// `x = x·b + a` eight times.
fn kernels(dtype: DType) -> [Kernel; 2] {
    let inst = |op, args: [u32; 3]| Inst { code: Code::apply(op, dtype), args: args.map(ValueId) };
    let mut body = Vec::new();
    for i in 0..8 {
        body.push(inst(Op::Multiply, [1 + 2 * i, 1, 0]));
        body.push(inst(Op::Add, [2 + 2 * i, 0, 0]));
    }
    let of = |body: Vec<Inst>| Kernel {
        inputs: vec![dtype; 2],
        outputs: vec![ValueId(1 + body.len() as u32).into()],
        body,
        ..Kernel::default()
    };
    [of(vec![inst(Op::Add, [0, 1, 0])]), of(body)]
}

/// The result of a kernel for two elements, with wrapping arithmetic. Its low bytes are the result for a narrower
/// dtype.
fn expected(which: usize, a: u64, b: u64) -> u64 {
    match which {
        0 => a.wrapping_add(b),
        _ => (0..8).fold(b, |x, _| x.wrapping_mul(b).wrapping_add(a)),
    }
}

struct RowCase {
    rows: usize,
    cols: usize,
    size: usize,
    /// The number of bytes from the start of a cache line to the first row; `pitch` is the number from row to row.
    before: usize,
    pitch: usize,
    is_shared: bool,
}

fn run(compiled: &Compiled, which: usize, case: &RowCase) {
    let &RowCase { rows, cols, size, before, pitch, is_shared } = case;
    let element = |i: usize, seed: u64| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed) >> 7;
    let bytes = |count: usize, seed: u64| -> Vec<u8> {
        (0..count).flat_map(|i| element(i, seed).to_le_bytes()[..size].to_vec()).collect()
    };
    let (a, b) = (bytes(rows * cols, 1), bytes(cols, 2));
    let len = before + (rows - 1) * pitch + cols * size;
    let mut memory = vec![GUARD; len + 3 * LINE];
    let start = memory.as_mut_ptr().align_offset(LINE) + before;
    if is_shared {
        for row in 0..rows {
            let from = &a[row * cols * size..][..cols * size];
            memory[start + row * pitch..][..from.len()].copy_from_slice(from);
        }
    }
    let (shape, strides) = ([rows, cols], [pitch as isize, size as isize]);
    let first = memory.as_mut_ptr().wrapping_add(start);
    // SAFETY: the rows are in `memory`, which is accessed only through these views while the nest lives.
    let (shared, out) = unsafe {
        (View::from_raw(first, size, &shape, &strides), ViewMut::from_raw(first, size, &shape, &strides))
    };
    let own = View::new(&a, size, 0, &shape, &[(cols * size) as isize, size as isize]);
    let left = if is_shared { shared } else { own }.expect("inside");
    let right = View::new(&b, size, 0, &shape, &[0, size as isize]).expect("inside");
    let mut nest = Nest::new(&shape, &[left, right], [out.expect("inside")]).expect("a nest");
    let flow = nest.run(AliasPolicy::InPlace, &mut Scratch::new(), &mut |block| {
        compiled.run_alone(block, &[], &mut []).expect("the kernel's block");
        ControlFlow::Continue(())
    });
    assert_eq!(flow, ControlFlow::Continue(()));
    let mut wanted = vec![GUARD; memory.len()];
    for (i, place) in (0..rows * cols).map(|i| (i, start + i / cols * pitch + i % cols * size)) {
        let element = expected(which, element(i, 1), element(i % cols, 2));
        wanted[place..place + size].copy_from_slice(&element.to_le_bytes()[..size]);
    }
    let wrong = memory.iter().zip(&wanted).position(|(got, wanted)| got != wanted);
    assert_eq!(
        wrong, None,
        "{compiled:?} {which}: {rows} rows of {cols}, {size} bytes each, {before} behind a line, {pitch} from row to row, in place: {is_shared}"
    );
}

#[test]
fn every_length_and_place() {
    let compiler = Compiler::host().expect("a supported target");
    let access = [broadloom_mem::Access::Contiguous; 2];
    for width in VectorWidth::of_target() {
        for dtype in [DType::UInt8, DType::UInt16, DType::Int32, DType::Int64] {
            for (which, kernel) in kernels(dtype).iter().enumerate() {
                for purpose in [Purpose::Store, Purpose::Stream] {
                    let compiled =
                        compiler.compile_for(purpose, kernel, &[], &access, width).expect("compiles");
                    let (size, lanes) = (dtype.size(), compiled.lanes());
                    let around = [1, 2, 4, 8].map(|blocks| blocks * lanes);
                    let lengths =
                        around.iter().flat_map(|&n| [n - 1, n, n + 1]).chain([33, 8 * lanes + 37, 1000]);
                    for cols in lengths.filter(|&cols| cols > 0) {
                        let side_by_side = cols * size;
                        let on_lines = side_by_side.next_multiple_of(LINE);
                        for (before, pitch) in [0, 1, 7, 8, 15]
                            .map(|elements| (elements * size % LINE, side_by_side))
                            .into_iter()
                            .chain([
                                (0, on_lines),
                                (0, on_lines + LINE),
                                (3 * size, on_lines),
                                (size, side_by_side + size),
                            ])
                        {
                            for (rows, is_shared) in [(1, false), (2, true), (19, false)] {
                                run(
                                    &compiled,
                                    which,
                                    &RowCase { rows, cols, size, before, pitch, is_shared },
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
