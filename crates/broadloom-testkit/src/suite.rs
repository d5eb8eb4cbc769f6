//! The test suite for executors. A new executor has to pass all of it as a [`Subject`].
//!
//! Results are compared bit for bit with those of the scalar instance, which is tested against the oracle. A NaN whose bits an
//! instruction leaves unspecified is made canonical before it is stored, as in every kernel produced by rewriting. A difference
//! causes a panic that states the op, the operands and both results.

mod gathers;
mod host;
mod integers;

use std::ops::ControlFlow;
use std::sync::Arc;

use broadloom_core::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_core::{DType, Op, Scalar, fold};
use broadloom_ir::{Purpose, VectorWidth};
use broadloom_mem::{
    Access, AliasPolicy, Block, ExecutableKernel, HostFunction, KernelExecutor, KernelRun, Nest, Scratch,
    Stores, View, ViewMut, WorkingMemory,
};

use crate::{edge_cases, one_of};

pub use gathers::elements_of_tables;
pub use host::{host_functions_among_ops, host_functions_of_every_dtype};
pub use integers::{conversions_next_to_the_middle, quotients_next_to_integers, shifts_by_every_count};

/// The subject of the suite: an executor, the vector width and the purpose for which it prepares kernels.
#[derive(Clone, Copy)]
pub struct Subject<'e> {
    /// The executor. It must accept every kernel of the suite.
    pub executor: &'e dyn KernelExecutor,
    /// The vector width. Machine code must use vectors of this width.
    pub width: VectorWidth,
    /// The purpose. For [`Purpose::Stream`], kernels also run with non-temporal stores.
    pub purpose: Purpose,
}

impl<'e> Subject<'e> {
    /// An executor at a vector width, with ordinary stores.
    pub fn new(executor: &'e dyn KernelExecutor, width: VectorWidth) -> Subject<'e> {
        Subject { executor, width, purpose: Purpose::Store }
    }

    /// Prepares a kernel with these accesses of its inputs. `functions` contains its host functions.
    fn prepare(&self, kernel: &Kernel, functions: &[HostFunction], access: &[Access]) -> Prepared {
        let prepared = self.executor.prepare(kernel, functions, access, self.width, self.purpose);
        let kernel_code = prepared.expect("an executor that takes the kernel");
        assert_eq!((kernel_code.width(), kernel_code.narrowed()), (self.width, None), "{kernel}");
        let stores = match self.purpose {
            Purpose::Stream => Stores::Streaming,
            Purpose::Store | Purpose::Reduce | Purpose::Step { .. } => Stores::Cached,
        };
        Prepared { kernel: kernel_code, stores, memory: WorkingMemory::default() }
    }
}

/// A prepared kernel, with memory for its runs.
struct Prepared {
    kernel: Arc<dyn ExecutableKernel>,
    stores: Stores,
    memory: WorkingMemory,
}

impl Prepared {
    /// Runs the kernel on a block.
    fn run(&mut self, block: &mut Block<'_>) {
        let Prepared { kernel, stores, memory } = self;
        let (params, tables, stores) = (&[], &[], *stores);
        let mut run = KernelRun { params, tables, faults: &mut [], stores, memory, loops: None };
        kernel.run(block, &mut run).expect("a block of the kernel");
    }
}

fn bytes(values: &[Scalar]) -> Vec<u8> {
    values.iter().flat_map(|s| s.bits.to_le_bytes()[..s.dtype.size()].to_vec()).collect()
}

fn scalars(dtype: DType, bytes: &[u8]) -> Vec<Scalar> {
    let size = dtype.size();
    let word = |chunk: &[u8]| {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(chunk);
        u64::from_le_bytes(bits)
    };
    bytes.chunks(size).map(|chunk| Scalar { dtype, bits: word(chunk) }).collect()
}

/// A buffer aligned for any dtype.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut bits = [0; 8];
        bits[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_le_bytes(bits);
    }
    words
}

fn as_bytes(words: &[u64], len: usize) -> &[u8] {
    &broadloom_mem::bytes_of(words)[..len]
}

/// Runs a kernel of one instruction on columns of operands. If the bits of its NaN results are unspecified,
/// `canonical_nan` follows. Operands marked in `splat` are uniform.
fn run(subject: Subject<'_>, code: Code, columns: &[Vec<Scalar>], splat: &[bool]) -> Vec<Scalar> {
    let mut args = [ValueId(0); 3];
    (0..columns.len()).for_each(|i| args[i] = ValueId(i as u32));
    let mut kernel = Kernel {
        inputs: (0..columns.len()).map(|i| code.operand(i)).collect(),
        body: vec![Inst { code, args }],
        ..Kernel::default()
    };
    let result = closed(&mut kernel, ValueId(columns.len() as u32));
    kernel.outputs.push(result.into());
    run_kernel(subject, &kernel, &[], columns, splat).swap_remove(0)
}

/// Appends `canonical_nan` to a kernel if the bits of a NaN in its last value are unspecified, and returns the value to be
/// stored.
fn closed(kernel: &mut Kernel, last: ValueId) -> ValueId {
    let code = kernel.body[kernel.body.len() - 1].code;
    if !code.leaves_nan_open() {
        return last;
    }
    let canonical = Code::apply(Op::CanonicalNan, kernel.dtype(last));
    kernel.body.push(Inst { code: canonical, args: [last, ValueId(0), ValueId(0)] });
    ValueId(last.0 + 1)
}

/// Runs a kernel on columns of its inputs, of which those marked in `splat` are uniform. Returns a column per output.
fn run_kernel(
    subject: Subject<'_>,
    kernel: &Kernel,
    functions: &[HostFunction],
    columns: &[Vec<Scalar>],
    splat: &[bool],
) -> Vec<Vec<Scalar>> {
    let n = columns[0].len();
    let stored: Vec<(Vec<u64>, usize)> =
        columns.iter().map(|c| bytes(c)).map(|b| (aligned(&b), b.len())).collect();
    let views: Vec<View<'_>> = stored
        .iter()
        .zip(columns)
        .zip(splat)
        .map(|(((words, len), column), &splat)| {
            let size = column[0].dtype.size();
            let stride = if splat { 0 } else { size as isize };
            View::new(as_bytes(words, *len), size, 0, &[n], &[stride]).expect("inside")
        })
        .collect();
    let dtypes: Vec<DType> = kernel.output_dtypes().collect();
    let mut outs: Vec<Vec<u64>> = dtypes.iter().map(|d| vec![0u64; (n * d.size()).div_ceil(8)]).collect();
    {
        let out_views = outs.iter_mut().zip(&dtypes).map(|(out, dtype)| {
            let size = dtype.size();
            let out_bytes = &mut broadloom_mem::bytes_of_mut(out)[..n * size];
            ViewMut::new(out_bytes, size, 0, &[n], &[size as isize]).expect("inside")
        });
        let mut nest = Nest::new(&[n], &views, out_views).expect("a nest");
        let access: Vec<_> = nest.accesses().collect();
        let mut compiled = subject.prepare(kernel, functions, &access);
        let done = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
            compiled.run(block);
            ControlFlow::Continue(())
        });
        assert!(done.is_continue());
    }
    outs.iter().zip(&dtypes).map(|(out, &dtype)| scalars(dtype, as_bytes(out, n * dtype.size()))).collect()
}

fn expected(code: Code, args: &[Scalar]) -> Scalar {
    match code {
        Code::Apply { op, accuracy, .. } => fold::apply_at(op, accuracy, args).expect("defined"),
        Code::Cast(_, to) => fold::cast(args[0], to),
        Code::Host(_) | Code::Loop(_) | Code::Item { .. } | Code::Gather { .. } => {
            panic!("{code:?} has no scalar instance")
        }
    }
}

/// All pairs of edge-case values; for three operands, an evenly spaced subset of the triples.
fn columns(code: Code) -> Vec<Vec<Scalar>> {
    let lists: Vec<Vec<Scalar>> = (0..code.operands()).map(|i| edge_cases::values(code.operand(i))).collect();
    let total: usize = lists.iter().map(Vec::len).product();
    let step = (total / 12_000).max(1) | 1;
    let mut columns = vec![Vec::new(); lists.len()];
    for mut at in (0..total).step_by(step) {
        for (column, list) in columns.iter_mut().zip(&lists) {
            column.push(list[at % list.len()]);
            at /= list.len();
        }
    }
    columns
}

fn check(subject: Subject<'_>, code: Code, columns: &[Vec<Scalar>], splat: &[bool]) {
    let got = run(subject, code, columns, splat);
    for (i, &got) in got.iter().enumerate() {
        let at = |j: usize| if splat[j] { 0 } else { i };
        let args: Vec<Scalar> = columns.iter().enumerate().map(|(j, c)| c[at(j)]).collect();
        let want = expected(code, &args);
        let bits = [got, want].map(|x| x.bits);
        assert!(got == want, "{code:?}{args:?} splat {splat:?}: got {got:?}, want {want:?}, {bits:#x?}");
    }
}

/// Tests every op for each dtype, and every conversion, on all pairs of edge-case values.
///
/// # Panics
/// If a bit differs from the scalar instance.
pub fn every_code_gives_the_scalar_instances_bits(subject: Subject<'_>) {
    for code in Code::all() {
        let columns = columns(code);
        check(subject, code, &columns, &vec![false; columns.len()]);
    }
}

/// Tests uniform operands, each of which has a single element that is used for a whole row.
///
/// # Panics
/// If a bit differs from the scalar instance.
pub fn operands_that_serve_a_whole_row(subject: Subject<'_>) {
    for code in Code::all().filter(|c| c.operands() > 1) {
        let whole = columns(code);
        for splat_at in 0..whole.len() {
            let mut splat = vec![false; whole.len()];
            splat[splat_at] = true;
            for start in [0, whole[0].len() / 3, whole[0].len() / 2] {
                let part: Vec<Vec<Scalar>> =
                    whole.iter().map(|c| c[start..].iter().take(37).copied().collect()).collect();
                check(subject, code, &part, &splat);
            }
        }
    }
}

/// Tests pairs of instructions: the second uses the value of the first as its left operand, its right operand or both, and the
/// first value may be an output too.
///
/// Executors may compute both in one machine instruction, but each must round as it does alone.
///
/// # Panics
/// If a bit differs from the scalar instance.
pub fn pairs_of_instructions(subject: Subject<'_>) {
    let inner = [Op::Add, Op::Subtract, Op::Multiply, Op::Divide, Op::Square];
    let compare = [Op::Equal, Op::NotEqual, Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual];
    let outer = [Op::Add, Op::Subtract, Op::Multiply, Op::Divide, Op::Maximum, Op::Square];
    for dtype in [DType::Float16, DType::Float32, DType::Float64, DType::Int32] {
        let takes = |op: &&Op| op.result(dtype).is_some();
        for &first in inner.iter().filter(takes) {
            for &second in outer.iter().chain(&compare).filter(takes) {
                let kinds = [[3, 2], [2, 3], [3, 3], [3, 1]];
                for args in kinds.into_iter().skip(second as usize % one_of(4)).step_by(one_of(4)) {
                    pair(subject, dtype, first, (second, &args));
                }
            }
        }
        for first in compare {
            pair(subject, dtype, first, (Op::Where, &[4, 2, 3]));
        }
        for first in [Op::Negative, Op::Multiply].into_iter().filter(|_| dtype.is_float()) {
            for args in [[4, 2, 3], [2, 4, 3], [2, 3, 4], [4, 4, 1], [1, 4, 4]] {
                pair(subject, dtype, first, (Op::Fma, &args));
            }
        }
    }
}

/// Tests a pair of instructions. `args` contains the numbers of the operands of `second`. The numbers refer first to three
/// inputs (four if `first` has three operands), then to the value of `first`, which is applied to the first inputs.
fn pair(subject: Subject<'_>, dtype: DType, first: Op, (second, args): (Op, &[u32])) {
    let inputs = if args.len() == 3 { 4 } else { 3 };
    let args = &args[..second.operands()];
    let values = edge_cases::values(dtype);
    // The strides are prime, so that each value is combined with many others.
    let columns: Vec<Vec<Scalar>> = [1, 7, 11, 29][..inputs]
        .iter()
        .map(|step| (0..210).map(|i| values[(i * step + step) % values.len()]).collect())
        .collect();
    for (outputs, splats) in [(1, 1 << inputs), (2, 1)] {
        let kernel = kernel_of_pair(dtype, inputs, first, (second, args), outputs == 2);
        for splat in 0..splats {
            let splat: Vec<bool> = (0..inputs).map(|i| splat >> i & 1 == 1).collect();
            let got = run_kernel(subject, &kernel, &[], &columns, &splat);
            for i in 0..columns[0].len() {
                let mut at: Vec<Scalar> =
                    columns.iter().zip(&splat).map(|(c, &splat)| c[if splat { 0 } else { i }]).collect();
                at.push(fold::apply(first, &at[..first.operands()]).expect("defined"));
                let operands: Vec<Scalar> = args.iter().map(|&a| at[a as usize]).collect();
                let want = [fold::apply(second, &operands).expect("defined"), at[inputs]];
                for (got, want) in got.iter().zip(want) {
                    let (got, bits) = (got[i], [got[i], want].map(|x| x.bits));
                    assert!(got == want, "{kernel}{at:?} splat {splat:?}: {got:?}, not {want:?}, {bits:#x?}");
                }
            }
        }
    }
}

/// A kernel that computes `second` from the inputs and from the value of `first`. That value is numbered after the inputs. If it
/// is an output too, `second` reads it after `canonical_nan`, as it is stored.
fn kernel_of_pair(
    dtype: DType,
    inputs: usize,
    first: Op,
    (second, args): (Op, &[u32]),
    both: bool,
) -> Kernel {
    let inst = |op, args: &[u32]| {
        let args = std::array::from_fn(|i| ValueId(args.get(i).copied().unwrap_or(0)));
        Inst { code: Code::apply(op, dtype), args }
    };
    let mut kernel = Kernel {
        inputs: vec![dtype; inputs],
        body: vec![inst(first, &[0, 1][..first.operands()])],
        ..Kernel::default()
    };
    let inner = ValueId(inputs as u32);
    let read = if both { closed(&mut kernel, inner) } else { inner };
    let args: Vec<u32> = args.iter().map(|&a| if a == inner.0 { read.0 } else { a }).collect();
    kernel.body.push(inst(second, &args));
    let last = ValueId((kernel.values() - 1) as u32);
    let outer = closed(&mut kernel, last);
    kernel.outputs = if both { vec![outer.into(), read.into()] } else { vec![outer.into()] };
    kernel
}

/// Tests that every nonzero byte of an operand is read as true and written as 1, even if the operand is only copied.
///
/// # Panics
/// If another byte is written.
pub fn any_byte_but_0_is_true(subject: Subject<'_>) {
    let not = Inst { code: Code::apply(Op::LogicalNot, DType::Bool), args: [ValueId(0); 3] };
    let kernel = Kernel {
        inputs: vec![DType::Bool],
        body: vec![not],
        outputs: vec![ValueId(0).into(), ValueId(1).into()],
        ..Kernel::default()
    };
    let stored: Vec<u8> = (0..=255).collect();
    let (mut moved, mut inverted) = ([7u8; 256], [7u8; 256]);
    let input = View::new(&stored, 1, 0, &[256], &[1]).expect("inside");
    let outputs = [&mut moved[..], &mut inverted[..]]
        .map(|bytes| ViewMut::new(bytes, 1, 0, &[256], &[1]).expect("inside"));
    let mut nest = Nest::new(&[256], &[input], outputs).expect("a nest");
    let mut compiled = subject.prepare(&kernel, &[], &nest.accesses().collect::<Vec<_>>());
    let done = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
        compiled.run(block);
        ControlFlow::Continue(())
    });
    assert!(done.is_continue());
    for (&byte, (&moved, &inverted)) in stored.iter().zip(moved.iter().zip(&inverted)) {
        assert_eq!((moved, inverted), (u8::from(byte != 0), u8::from(byte == 0)), "{byte}");
    }
}

/// Tests every length from 1 to 70, and some longer ones.
///
/// # Panics
/// If a bit differs from the scalar instance.
pub fn every_length_and_tail(subject: Subject<'_>) {
    let codes = [
        Code::apply(Op::Add, DType::Float32),
        Code::apply(Op::Remainder, DType::Float64),
        Code::apply(Op::FloorDivide, DType::Int32),
        Code::apply(Op::Less, DType::Float16),
        Code::apply(Op::Exp, DType::Float32),
        Code::apply(Op::Sin, DType::Float32),
        Code::apply(Op::Cos, DType::Float32),
        Code::apply(Op::Sin, DType::Float64),
        Code::apply(Op::Tan, DType::Float16),
        Code::apply(Op::Pow, DType::Float32),
        Code::apply(Op::Pow, DType::Int16),
        Code::apply(Op::Where, DType::UInt8),
        Code::Cast(DType::Int8, DType::Float64),
        Code::Cast(DType::Float64, DType::Bool),
    ];
    for code in codes {
        let whole = columns(code);
        // The lengths include 128, which is two blocks of 64 lanes, and greater lengths.
        for n in (1..=70).chain([100, 127, 128, 129, 135, 191, 192, 193, 200]) {
            let part: Vec<Vec<Scalar>> =
                whole.iter().map(|c| c[c.len() / 4..][..n.min(c.len() - c.len() / 4)].to_vec()).collect();
            check(subject, code, &part, &vec![false; whole.len()]);
        }
    }
}
