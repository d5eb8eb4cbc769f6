//! A few kernels over inputs and outputs of all layouts, every short length and some unusual shapes. The results are
//! compared with a model that indexes element by element in plain Rust.

use broadloom::prelude::*;
use broadloom::{Evaluation, Options};
use broadloom_testkit::Runner;
use broadloom_testkit::elements;
use broadloom_testkit::one_of;

/// The layout of an operand in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    Contiguous,
    /// Every second element along the last axis and every third along the others, beginning with the second element.
    Strided,
    /// Reversed along every axis.
    Reversed,
    /// Backwards along the last axis.
    Mirrored,
    /// Axes in reverse order.
    Transposed,
    /// Axes rotated by one position.
    Rotated,
    /// One row, which is broadcast to all rows.
    Row,
    /// One element per row, which is broadcast along the row.
    Column,
    /// One element, which is broadcast to the whole shape.
    Scalar,
}
use Lie::*;

const INPUTS: [Lie; 9] = [Contiguous, Strided, Reversed, Mirrored, Transposed, Rotated, Row, Column, Scalar];
/// The layouts that have a separate element for every index.
const OUTPUTS: [Lie; 6] = [Contiguous, Strided, Reversed, Mirrored, Transposed, Rotated];

/// The indices of an array of a shape, in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &extent in shape {
        all = all.iter().flat_map(|index| (0..extent).map(move |i| [&index[..], &[i]].concat())).collect();
    }
    all
}

/// The position of an index in row-major memory of a shape.
fn position(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |at, (extent, i)| at * extent + i)
}

fn step(axis: usize, rank: usize) -> usize {
    if axis + 1 == rank { 2 } else { 3 }
}

impl Lie {
    /// The shape of the memory that stores an array of this shape in this layout.
    fn memory(self, shape: &[usize]) -> Vec<usize> {
        let (rank, mut memory) = (shape.len(), shape.to_vec());
        match self {
            Contiguous | Reversed | Mirrored => {}
            Strided => memory.iter_mut().enumerate().for_each(|(axis, e)| *e = *e * step(axis, rank) + 1),
            Transposed => memory.reverse(),
            Rotated => memory.rotate_left(rank.min(1)),
            Row => drop(memory.drain(..rank.saturating_sub(1))),
            Column => memory.last_mut().into_iter().for_each(|e| *e = 1),
            Scalar => memory.clear(),
        }
        memory
    }

    /// The index in memory of an element of the array.
    fn index(self, shape: &[usize], index: &[usize]) -> Vec<usize> {
        let (rank, mut index) = (shape.len(), index.to_vec());
        match self {
            Contiguous => {}
            Strided => index.iter_mut().enumerate().for_each(|(axis, i)| *i = *i * step(axis, rank) + 1),
            Reversed => index.iter_mut().zip(shape).for_each(|(i, e)| *i = e - 1 - *i),
            Mirrored => index.last_mut().into_iter().zip(shape.last()).for_each(|(i, e)| *i = e - 1 - *i),
            Transposed => index.reverse(),
            Rotated => index.rotate_left(rank.min(1)),
            Row => drop(index.drain(..rank.saturating_sub(1))),
            Column => index.last_mut().into_iter().for_each(|i| *i = 0),
            Scalar => index.clear(),
        }
        index
    }

    /// Makes an array of this shape, in this layout, from the memory.
    fn view(self, memory: &Array<'static>, shape: &[usize]) -> Result<Array<'static>> {
        let rank = shape.len();
        let backwards = Range::new(None, None, -1);
        match self {
            Contiguous => Ok(memory.clone()),
            Strided => {
                let every = |axis| Range::from(1..).step(step(axis, rank) as isize);
                memory.slice((0..rank).map(every).collect::<Vec<_>>())
            }
            Reversed => memory.slice(vec![backwards; rank]),
            Mirrored if rank > 0 => memory.flip(-1),
            Mirrored => Ok(memory.clone()),
            Transposed => Ok(memory.t()),
            Rotated => {
                let axes: Vec<isize> =
                    (0..rank).map(|axis| ((axis + rank.max(1) - 1) % rank) as isize).collect();
                memory.permute_dims(&axes)
            }
            Row | Column | Scalar => memory.broadcast_to(shape),
        }
    }
}

/// A kernel, and a model that computes its outputs for single elements.
struct SinglesKernel {
    name: &'static str,
    inputs: &'static [DType],
    outputs: &'static [DType],
    build: fn(&[Array<'static>]) -> Vec<Array<'static>>,
    model: fn(&[u64]) -> Vec<u64>,
}

fn f32s(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

const KERNELS: [SinglesKernel; 5] = [
    SinglesKernel {
        name: "a + b",
        inputs: &[DType::Float32, DType::Float32],
        outputs: &[DType::Float32],
        build: |x| vec![&x[0] + &x[1]],
        model: |x| vec![(f32s(x[0]) + f32s(x[1])).to_bits().into()],
    },
    SinglesKernel {
        name: "a*b + c of int16, uint8, int32",
        inputs: &[DType::Int16, DType::UInt8, DType::Int32],
        outputs: &[DType::Int32],
        build: |x| vec![&x[0] * &x[1] + &x[2]],
        model: |x| {
            vec![u64::from(
                i32::from((x[0] as i16).wrapping_mul(x[1] as i16)).wrapping_add(x[2] as i32) as u32
            )]
        },
    },
    SinglesKernel {
        name: "a*b + c of float32, float64, float16",
        inputs: &[DType::Float32, DType::Float64, DType::Float16],
        outputs: &[DType::Float64],
        build: |x| vec![&x[0] * &x[1] + &x[2]],
        model: |x| {
            let (a, b, c) =
                (f64::from(f32s(x[0])), f64::from_bits(x[1]), f64::from(f16::from_bits(x[2] as u16)));
            vec![(a * b + c).to_bits()]
        },
    },
    SinglesKernel {
        name: "a - b and a < b",
        inputs: &[DType::Float64, DType::Float64],
        outputs: &[DType::Float64, DType::Bool],
        build: |x| vec![&x[0] - &x[1], x[0].less(&x[1])],
        model: |x| {
            let (a, b) = (f64::from_bits(x[0]), f64::from_bits(x[1]));
            vec![(a - b).to_bits(), u64::from(a < b)]
        },
    },
    SinglesKernel {
        name: "where(c, a, b)",
        inputs: &[DType::Bool, DType::UInt16, DType::UInt16],
        outputs: &[DType::UInt16],
        build: |x| vec![where_(&x[0], &x[1], &x[2])],
        model: |x| vec![if x[0] == 1 { x[1] } else { x[2] }],
    },
];

/// Distinct elements, small enough for every dtype.
fn elements(dtype: DType, n: usize, salt: usize) -> Vec<u64> {
    let small = |i: usize| ((i * 7 + salt * 31 + 3) % 251) as i64 - 100;
    (0..n)
        .map(|i| match dtype {
            DType::Bool => (small(i) % 2 == 0).into(),
            DType::UInt8 => small(i) as u8 as u64,
            DType::Int16 | DType::UInt16 => small(i) as u16 as u64,
            DType::Int32 => small(i) as u32 as u64,
            DType::Float16 => f16::from_f32(small(i) as f32 / 8.0).to_bits().into(),
            DType::Float32 => (small(i) as f32 / 8.0).to_bits().into(),
            DType::Float64 => (small(i) as f64 / 8.0).to_bits(),
            other => panic!("no kernel has {other}"),
        })
        .collect()
}

/// An operand, and its elements in row-major order.
fn operand(lie: Lie, dtype: DType, shape: &[usize], salt: usize) -> (Array<'static>, Vec<u64>) {
    let memory_shape = lie.memory(shape);
    let memory = elements(dtype, memory_shape.iter().product(), salt);
    let x = lie.view(&elements::array(dtype, &memory_shape, &memory), shape).expect("a view");
    assert_eq!(x.shape(), shape, "{lie:?}");
    let element = |index: Vec<usize>| memory[position(&memory_shape, &lie.index(shape, &index))];
    (x, indices(shape).into_iter().map(element).collect())
}

/// The shapes: 0-d, every short length, extents of 0 and 1, small inner and outer axes, and several axes.
fn shapes() -> Vec<Vec<usize>> {
    let lists: [&[usize]; 13] = [
        &[],
        &[7, 3],
        &[3, 7],
        &[100, 3],
        &[33, 65],
        &[2, 3, 4, 5],
        &[5, 1, 4],
        &[1, 1],
        &[1, 40],
        &[40, 1],
        &[0, 3],
        &[3, 0],
        &[2, 0, 4],
    ];
    (0..=40).map(|n| vec![n]).chain(lists.iter().map(|s| s.to_vec())).collect()
}

fn options(runner: Runner) -> Options {
    Options { threads: Some(1), ..runner.options() }
}

/// The expected elements of each output of a kernel.
fn modelled(kernel: &SinglesKernel, operands: &[(Array<'static>, Vec<u64>)]) -> Vec<Vec<u64>> {
    let n = operands[0].1.len();
    let mut want = vec![Vec::with_capacity(n); kernel.outputs.len()];
    for i in 0..n {
        let args: Vec<u64> = operands.iter().map(|(_, elements)| elements[i]).collect();
        want.iter_mut().zip((kernel.model)(&args)).for_each(|(column, x)| column.push(x));
    }
    want
}

/// Layouts for `n` operands: all pairs for the first two, with each layout in turn for the third.
fn combinations(n: usize) -> Vec<Vec<Lie>> {
    let pairs = INPUTS
        .iter()
        .enumerate()
        .flat_map(|(i, &a)| INPUTS.iter().enumerate().map(move |(j, &b)| (i + j, a, b)));
    pairs.map(|(k, a, b)| [a, b, INPUTS[k % INPUTS.len()]][..n].to_vec()).collect()
}

#[test]
fn every_layout_of_inputs() {
    for (i, kernel) in KERNELS.iter().enumerate() {
        for shape in shapes().into_iter().skip(i % one_of(2)).step_by(one_of(2)) {
            for lies in combinations(kernel.inputs.len()) {
                let operands: Vec<_> = kernel
                    .inputs
                    .iter()
                    .zip(&lies)
                    .enumerate()
                    .map(|(salt, (&dtype, &lie))| operand(lie, dtype, &shape, salt))
                    .collect();
                let arrays: Vec<_> = operands.iter().map(|(x, _)| x.clone()).collect();
                let roots = (kernel.build)(&arrays);
                let want = modelled(kernel, &operands);
                // The results are kept, so that no executor gets memory in which another one has left the right
                // values.
                let mut kept = Vec::new();
                for runner in Runner::all() {
                    let results =
                        Evaluation::with(&options(runner)).eval_many(&roots.iter().collect::<Vec<_>>());
                    let results = results.unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
                    for ((result, want), &dtype) in results.iter().zip(&want).zip(kernel.outputs) {
                        assert_eq!((result.dtype(), result.shape()), (dtype, &shape[..]));
                        let got = elements::bits(result).expect("evaluated");
                        let difference = elements::difference(dtype, &got, want);
                        assert_eq!(difference, None, "{} {shape:?} {lies:?} {runner:?}", kernel.name);
                    }
                    kept.push(results);
                }
            }
        }
    }
}

#[test]
fn every_layout_of_outputs() {
    for (i, kernel) in KERNELS.iter().filter(|kernel| kernel.outputs.len() == 1).enumerate() {
        for shape in shapes().into_iter().skip(i % one_of(2)).step_by(one_of(2)) {
            for (i, out_lie) in OUTPUTS.into_iter().enumerate() {
                for in_lie in INPUTS {
                    let lies = [in_lie, OUTPUTS[(i + 1) % OUTPUTS.len()], Contiguous];
                    let dtypes = kernel.inputs.iter().zip(lies).enumerate();
                    let operands: Vec<_> =
                        dtypes.map(|(salt, (&dtype, lie))| operand(lie, dtype, &shape, salt)).collect();
                    let arrays: Vec<_> = operands.iter().map(|(x, _)| x.clone()).collect();
                    let root = (kernel.build)(&arrays).remove(0);
                    for runner in Runner::all() {
                        let (mut out, _) = operand(out_lie, kernel.outputs[0], &shape, 9);
                        let strides = out.strides().map(<[isize]>::to_vec);
                        Evaluation::with(&options(runner))
                            .eval_into_array(&root, &mut out)
                            .expect("evaluates");
                        let name = format!("{} {shape:?} {lies:?} into {out_lie:?} {runner:?}", kernel.name);
                        assert_eq!(
                            out.strides().map(<[isize]>::to_vec),
                            strides,
                            "{name}: it was not written in place"
                        );
                        let got = elements::bits(&out).expect("evaluated");
                        let difference =
                            elements::difference(kernel.outputs[0], &got, &modelled(kernel, &operands)[0]);
                        assert_eq!(difference, None, "{name}");
                    }
                }
            }
        }
    }
}

/// An expression reads memory that it overwrites: the same elements, the elements at the next index, and the elements
/// in reverse order.
#[test]
fn into_an_array_that_is_read() {
    type View = (&'static str, fn(&Array<'static>) -> Result<Array<'static>>, fn(usize, usize) -> usize);
    const VIEWS: [View; 4] = [
        ("the first", |x| x.slice(..-1), |i, _| i),
        ("the last", |x| x.slice(1..), |i, _| i + 1),
        ("the first, reversed", |x| x.slice(..-1)?.flip(0), |i, n| n - 1 - i),
        ("one for all", |x| x.slice(..1)?.broadcast_to(&[x.len() - 1]), |_, _| 0),
    ];
    for n in (1..=40).chain([1000]) {
        for (what, out, out_position) in &VIEWS[..3] {
            for (other, read, read_position) in VIEWS {
                for runner in Runner::all() {
                    let memory = elements(DType::Int32, n + 1, 1);
                    let x = elements::array(DType::Int32, &[n + 1], &memory);
                    let mut out = out(&x).expect("a view");
                    let root = &out * 3 + read(&x).expect("a view");
                    let want = |i: usize| {
                        let [a, b] = [out_position(i, n), read_position(i, n)].map(|at| memory[at] as u32);
                        u64::from(a.wrapping_mul(3).wrapping_add(b))
                    };
                    let want: Vec<u64> = (0..n).map(want).collect();
                    Evaluation::with(&options(runner)).eval_into_array(&root, &mut out).expect("evaluates");
                    let name = format!("{n}: {what} from {other}, {runner:?}");
                    assert_eq!(elements::bits(&out).expect("evaluated"), want, "{name}");
                    assert_eq!(
                        elements::bits(&x).expect("evaluated"),
                        memory,
                        "{name}: another handle changed"
                    );
                }
            }
        }
    }
}
