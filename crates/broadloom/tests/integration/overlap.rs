//! Outputs that partially overlap inputs, in every way. The result must be the same as without overlap.
//!
//! Safe code can't cause such an overlap (`eval_into_array` allocates new memory for an array that has other
//! handles; see the last test), but C and raw views can. The executors are therefore called here in the way of the
//! engine: through a nest if one can be made, and with separate memory for the output if not.
#![allow(unsafe_code, reason = "views that overlap are made from raw pointers")]

use std::collections::HashMap;
use std::ops::ControlFlow;

use broadloom::Op;
use broadloom::prelude::*;
use broadloom_core::Kernel;
use broadloom_core::kernel::{Code, Inst, ValueId};
use broadloom_interp::Program;
use broadloom_mem::{Access, AliasPolicy, Block, ExecutableKernel, Nest, NestError, Scratch, View, ViewMut};
use broadloom_testkit::Runner;
use broadloom_testkit::elements;
use broadloom_testkit::one_of;

/// The position of an operand in memory that several operands share, in bytes.
#[derive(Clone, Debug)]
struct SharedOperand {
    dtype: DType,
    offset: isize,
    strides: Vec<isize>,
}

impl SharedOperand {
    fn new(dtype: DType, offset: isize, strides: &[isize]) -> SharedOperand {
        let size = dtype.size() as isize;
        SharedOperand { dtype, offset: offset * size, strides: strides.iter().map(|s| s * size).collect() }
    }

    /// The first byte of the operand and the end of its last byte, relative to its offset.
    fn reach(&self, shape: &[usize]) -> (isize, isize) {
        let spans = self.strides.iter().zip(shape).map(|(s, &n)| s * (n as isize - 1));
        spans.fold((0, self.dtype.size() as isize), |(low, high), s| (low + s.min(0), high + s.max(0)))
    }

    fn at(&self, index: &[usize]) -> usize {
        let steps: isize = self.strides.iter().zip(index).map(|(s, &i)| s * i as isize).sum();
        (self.offset + steps) as usize
    }
}

fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..shape.iter().product::<usize>()).map(move |mut linear| {
        let mut index = vec![0; shape.len()];
        for (i, &extent) in index.iter_mut().zip(shape).rev() {
            (linear, *i) = (linear / extent, linear % extent);
        }
        index
    })
}

/// A kernel for `out = (a - b) * a` in uint32. If `a` has another width, it is converted first.
fn kernel(a: DType) -> Kernel {
    let binary =
        |op, x, y| Inst { code: Code::apply(op, DType::UInt32), args: [ValueId(x), ValueId(y), ValueId(0)] };
    let cast = Inst { code: Code::Cast(a, DType::UInt32), args: [ValueId(0); 3] };
    let body = match a {
        DType::UInt32 => vec![binary(Op::Subtract, 0, 1), binary(Op::Multiply, 2, 0)],
        _ => vec![cast, binary(Op::Subtract, 2, 1), binary(Op::Multiply, 3, 2)],
    };
    let outputs = vec![ValueId(1 + body.len() as u32).into()];
    Kernel { inputs: vec![a, DType::UInt32], body, outputs, ..Kernel::default() }
}

fn modelled(a: u64, b: u64) -> u32 {
    let (a, b) = (a as u32, b as u32);
    a.wrapping_sub(b).wrapping_mul(a)
}

type OverlapRun = Box<dyn FnMut(&mut Block<'_>)>;

/// A function that prepares a kernel for an executor. The policy beside it is the one that the engine uses for this
/// executor.
type Prepare = fn(&Kernel, &[Access]) -> OverlapRun;

fn interpreted(kernel: &Kernel, access: &[Access]) -> OverlapRun {
    let program = Program::new(kernel, &[], access).expect("a valid kernel");
    Box::new(move |block| program.run_alone(block, &[], &mut []).expect("matches"))
}

#[cfg(feature = "jit")]
fn compiled<const BITS: u32>(kernel: &Kernel, access: &[Access]) -> OverlapRun {
    use broadloom_clif::{Compiler, VectorWidth};
    let width = VectorWidth::ALL.into_iter().find(|width| width.bits() == BITS).expect("a width");
    let compiler = Compiler::host().expect("a supported target");
    let compiled = compiler.compile(kernel, &[], access, width).expect("compiles");
    Box::new(move |block| compiled.run_alone(block, &[], &mut []).expect("matches"))
}

const EXECUTORS: &[(&str, AliasPolicy, Prepare)] = &[
    ("interp", AliasPolicy::Copy, interpreted),
    #[cfg(feature = "jit")]
    ("jit 128", AliasPolicy::InPlace, compiled::<128>),
    #[cfg(feature = "jit")]
    ("jit 256", AliasPolicy::InPlace, compiled::<256>),
    #[cfg(feature = "jit")]
    ("jit 256 with steps", AliasPolicy::Stepped, compiled::<256>),
    #[cfg(feature = "jit")]
    ("jit 512", AliasPolicy::InPlace, compiled::<512>),
    #[cfg(feature = "jit")]
    ("jit 512 with steps", AliasPolicy::Stepped, compiled::<512>),
    #[cfg(feature = "jit")]
    ("jit 512 from copies", AliasPolicy::Copy, compiled::<512>),
];

/// Prepared kernels and scratch memory, and the numbers of cases that ran in place, ran without overlap, and were
/// rejected by the nest.
#[derive(Default)]
struct Bench {
    prepared: HashMap<(usize, DType, Vec<Access>), OverlapRun>,
    scratch: Scratch,
    in_place: usize,
    apart: usize,
    refused: usize,
}

impl Bench {
    /// Runs a case on every executor. The offsets of the operands are shifted so that all operands are within the
    /// memory.
    fn check(&mut self, shape: &[usize], out: &SharedOperand, a: &SharedOperand, b: &SharedOperand) {
        let operands = [out, a, b];
        let low = operands.iter().map(|p| p.offset + p.reach(shape).0).min().unwrap_or(0);
        let high = operands.iter().map(|p| p.offset + p.reach(shape).1).max().unwrap_or(0);
        let shift = (8 - low).unsigned_abs().next_multiple_of(8) as isize;
        let [out, a, b] = operands.map(|p| SharedOperand { offset: p.offset + shift, ..p.clone() });
        let words: Vec<u64> = (0..(high + shift) as u64 / 8 + 2)
            .map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
            .collect();
        let before = broadloom_mem::bytes_of(&words);
        let read = |p: &SharedOperand, index: &[usize]| {
            let mut bits = [0; 8];
            bits[..p.dtype.size()].copy_from_slice(&before[p.at(index)..][..p.dtype.size()]);
            u64::from_le_bytes(bits)
        };
        let mut want = before.to_vec();
        for index in indices(shape) {
            let x = modelled(read(&a, &index), read(&b, &index));
            want[out.at(&index)..][..4].copy_from_slice(&x.to_le_bytes());
        }
        for (executor, &(name, policy, prepare)) in EXECUTORS.iter().enumerate() {
            #[cfg(feature = "jit")]
            if policy == AliasPolicy::Stepped
                && broadloom_clif::VectorWidth::target() == broadloom_clif::VectorWidth::W128
            {
                // This executor would read steps from packed tiles.
                continue;
            }
            for parts in [1, 3] {
                let mut memory = words.clone();
                let base = memory.as_mut_ptr().cast::<u8>();
                let raw = |p: &SharedOperand| base.wrapping_offset(p.offset);
                // SAFETY: every operand is within `memory`, which is accessed only through the operands while the
                // nest lives.
                let (inputs, output) = unsafe {
                    let view = |p: &SharedOperand| View::from_raw(raw(p), p.dtype.size(), shape, &p.strides);
                    ([&a, &b].map(view), ViewMut::from_raw(raw(&out), 4, shape, &out.strides))
                };
                let inputs = inputs.map(|view| view.expect("aligned"));
                let nest = Nest::new(shape, &inputs, [output.expect("one element per index")]);
                let mut nest = match nest {
                    Ok(nest) => nest,
                    // In this case, the engine computes into other memory and copies the result.
                    Err(NestError::Overlap { .. }) => {
                        self.refused += 1;
                        continue;
                    }
                    Err(e) => panic!("{e}: {shape:?} {out:?} {a:?} {b:?}"),
                };
                let aliased = nest.is_aliased(0) || nest.is_aliased(1);
                *(if aliased { &mut self.in_place } else { &mut self.apart }) += 1;
                let access: Vec<_> = match policy {
                    AliasPolicy::Stepped => nest.stepped_accesses().collect(),
                    AliasPolicy::InPlace | AliasPolicy::Copy => nest.accesses().collect(),
                };
                let key = (executor, a.dtype, access);
                let run = match self.prepared.get_mut(&key) {
                    Some(run) => run,
                    None => {
                        let run = prepare(&kernel(a.dtype), &key.2);
                        self.prepared.entry(key).or_insert(run)
                    }
                };
                for part in nest.split(parts, policy).collect::<Vec<_>>().into_iter().rev() {
                    let done = part.run(&mut self.scratch, &mut |block| {
                        run(block);
                        ControlFlow::Continue(())
                    });
                    assert!(done.is_continue());
                }
                drop(nest);
                let got = broadloom_mem::bytes_of(&memory);
                assert!(
                    got[..want.len()] == want[..],
                    "{name}, {parts} parts, {shape:?}: {out:?} from {a:?}, {b:?}"
                );
            }
        }
    }

    /// Checks that many cases were run in each of the three ways.
    fn report(&self) {
        let Bench { in_place, apart, refused, .. } = self;
        assert!(*in_place > 50 && *apart > 50 && *refused > 50, "{in_place} {apart} {refused}");
    }
}

/// One axis. Short rows are tested with every distance and pair of strides, longer rows with those near the sizes of
/// blocks, tiles and units of work.
#[test]
fn along_one_axis() {
    let mut bench = Bench::default();
    for n in (1..=9).chain([16, 17, 33, 260, 4100, 20_000]) {
        let far = n as isize;
        let mut distances: Vec<isize> = match n {
            ..=9 => (-2 * far..=2 * far).collect(),
            _ => [0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 256, 4096, far - 1, far, 2 * far]
                .into_iter()
                .flat_map(|d| [d, -d])
                .collect(),
        };
        distances.sort_unstable();
        distances.dedup();
        for &distance in distances.iter().skip(n % one_of(6)).step_by(one_of(6)) {
            for out_stride in [1, 2, -1] {
                for a_stride in [1, 2, -1, 0] {
                    let out = SharedOperand::new(DType::UInt32, 0, &[out_stride]);
                    let a = SharedOperand::new(DType::UInt32, distance, &[a_stride]);
                    // The other input is the output itself, the same elements as the first input, or elements far
                    // away.
                    let away = SharedOperand::new(DType::UInt32, 8 * far + 8, &[1]);
                    bench.check(&[n], &out, &a, &out);
                    if n <= 33 || distance % 2 == 0 {
                        bench.check(&[n], &out, &a, &a);
                        bench.check(&[n], &out, &out, &a);
                        bench.check(&[n], &out, &a, &away);
                    }
                }
            }
        }
    }
    bench.report();
}

/// Elements of other widths that share the same bytes.
#[test]
fn of_other_widths() {
    let mut bench = Bench::default();
    for n in [1usize, 3, 8, 17, 40, 5000] {
        for dtype in [DType::UInt8, DType::UInt16, DType::UInt64] {
            let far = (n * 8 / dtype.size()) as isize;
            for distance in
                [0, 1, 2, 3, 4, 8, far / 2, far - 1, far, far + 1].into_iter().flat_map(|d| [d, -d])
            {
                for stride in [1, 2, -1, 0] {
                    let out = SharedOperand::new(DType::UInt32, 0, &[1]);
                    let a = SharedOperand::new(dtype, distance, &[stride]);
                    bench.check(&[n], &out, &a, &out);
                    bench.check(&[n], &out, &a, &SharedOperand::new(DType::UInt32, 8 * far + 8, &[1]));
                }
            }
        }
    }
    bench.report();
}

/// Two axes: row by row, with gaps, transposed, reversed; with extents that span several tiles.
#[test]
fn along_two_axes() {
    let mut bench = Bench::default();
    for [rows, cols] in [[2usize, 3], [5, 7], [7, 7], [40, 33], [64, 64], [300, 3], [3, 300], [70, 300]] {
        let (r, c) = (rows as isize, cols as isize);
        let wide = r.max(c) + 1;
        // Pairs of strides, with the index of the first element, which is not 0 for negative strides.
        let lies = [
            ([c, 1], 0),
            ([wide, 1], 0),
            ([1, r], 0),
            ([1, wide], 0),
            ([2 * c, 2], 0),
            ([-c, -1], r * c - 1),
            ([c, -1], c - 1),
            ([0, 1], 0),
            ([1, 0], 0),
        ];
        for (out_strides, out_first) in lies.into_iter().filter(|(strides, _)| !strides.contains(&0)) {
            let out = SharedOperand::new(DType::UInt32, out_first, &out_strides);
            for (i, (strides, first)) in lies.into_iter().enumerate() {
                let distances = [0, 1, -1, c, -c, c - 1, r, wide, r * c, -r * c, 2 * wide * wide];
                // In quick tests, different distances are skipped for each input.
                let skipped = (i + out_first.unsigned_abs()) % one_of(6);
                for distance in distances.into_iter().skip(skipped).step_by(one_of(6)) {
                    let a = SharedOperand::new(DType::UInt32, first + distance, &strides);
                    bench.check(&[rows, cols], &out, &a, &out);
                    bench.check(&[rows, cols], &out, &a, &a);
                }
            }
        }
    }
    bench.report();
}

/// Two outputs in the same memory: an error if they overlap, allowed if they don't. A single output that overlaps
/// itself is not a valid view.
#[test]
fn outputs_that_overlap() {
    let (mut refused, mut taken) = (0, 0);
    for n in 1..=12usize {
        for distance in -3 * n as isize..=3 * n as isize {
            for (first, second) in [(1, 1), (2, 2), (1, 2), (-1, 1), (2, -2), (3, 2)] {
                let places = [
                    SharedOperand::new(DType::UInt32, 40, &[first]),
                    SharedOperand::new(DType::UInt32, 40 + distance, &[second]),
                ];
                let mut memory = vec![0u32; 120];
                let base = memory.as_mut_ptr().cast::<u8>();
                // SAFETY: both operands are within `memory`, and no nest is run.
                let views = places.each_ref().map(|p| unsafe {
                    ViewMut::from_raw(base.wrapping_offset(p.offset), 4, &[n], &p.strides)
                        .expect("one element each")
                });
                let bytes = |p: &SharedOperand| indices(&[n]).map(|i| p.at(&i)).collect::<Vec<_>>();
                let meet = bytes(&places[0]).iter().any(|at| bytes(&places[1]).contains(at));
                match Nest::new(&[n], &[], views) {
                    Ok(_) if meet => panic!("{n} {distance} {first} {second}: they meet"),
                    Ok(_) => taken += 1,
                    Err(e) => {
                        assert_eq!(e, NestError::OutputsOverlap { first: 0, second: 1 });
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} {taken}");
    let mut memory = [0u32; 64];
    let base = memory.as_mut_ptr().cast::<u8>();
    for (shape, strides) in [([4, 4], [4, 4]), ([4, 4], [0, 4]), ([4, 4], [12, 4]), ([2, 4], [-4, 4])] {
        // SAFETY: 4 + 3·(12 + 4) bytes on either side of the middle are within `memory`, and nothing is written.
        let view = unsafe { ViewMut::from_raw(base.wrapping_add(128), 4, &shape, &strides) };
        assert!(view.is_err(), "{shape:?} {strides:?} maps two indices to one element");
    }
}

/// In safe code: whatever parts of its output's memory an expression reads, every other handle keeps its values.
#[test]
fn into_an_array_that_is_read() {
    type Part = fn(&Array<'static>) -> Result<Array<'static>>;
    const PARTS: [(&str, Part); 5] = [
        ("the first", |x| x.slice((..-1, ..-1))),
        ("the last", |x| x.slice((1.., 1..))),
        ("the first, turned", |x| Ok(x.slice((..-1, ..-1))?.t())),
        ("the last, backwards", |x| x.slice((1.., 1..))?.flip(1)),
        ("a row for all", |x| {
            let n = x.shape()[0] - 1;
            x.slice((1..2, 1..))?.broadcast_to(&[n, n])
        }),
    ];
    for n in [3usize, 40, 130, 400] {
        let data: Vec<u64> = (0..n * n).map(|i| (i as u64).wrapping_mul(0x9e37_79b9) >> 7 & 0xffff).collect();
        for (to, part_of) in &PARTS[..4] {
            for (from, read) in PARTS {
                for runner in Runner::all() {
                    let name = format!("{n}: {to} from {from}, {runner:?}");
                    let x = elements::array(DType::Int64, &[n, n], &data);
                    let mut out = part_of(&x).expect("a part");
                    let root = &out * 3 - read(&x).expect("a part");
                    let [was, read] =
                        [&out, &read(&x).expect("a part")].map(|x| elements::bits(x).expect("data"));
                    let options = runner.options();
                    Evaluation::with(&options).eval_into_array(&root, &mut out).expect("evaluates");
                    let want: Vec<u64> =
                        was.iter().zip(&read).map(|(w, r)| w.wrapping_mul(3).wrapping_sub(*r)).collect();
                    assert!(elements::bits(&out).as_ref() == Ok(&want), "{name}");
                    assert!(elements::bits(&x).as_ref() == Ok(&data), "{name}: another handle changed");
                    assert!(
                        root.eval().and_then(|z| elements::bits(&z)) == Ok(want),
                        "{name}: the expression changed"
                    );
                }
            }
        }
    }
}
