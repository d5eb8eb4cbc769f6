//! One suite for every executor: a new one is held to all of it by implementing [`Executor`].
//!
//! In: an executor. Out: nothing, or a panic that names the op, the operands and both results. Must hold: results
//! are compared bit for bit (any NaN equals any NaN) with the scalar instance, which the oracle judges.

use std::ops::ControlFlow;

use broadloom_core::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_core::{DType, Op, Scalar, fold};
use broadloom_mem::{Access, AliasPolicy, Block, Nest, Scratch, View, ViewMut};

use crate::spicy;

/// A prepared kernel: a block, parameters and fault bytes in, the block's outputs written.
pub type Prepared = Box<dyn FnMut(&mut Block<'_>, &[u64], &mut [u8])>;

/// What the suite judges.
pub trait Executor {
    /// Prepares a kernel for inputs that are accessed in this way.
    fn prepare(&self, kernel: &Kernel, access: &[Access]) -> Prepared;
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

/// Runs a one-instruction kernel on columns of operands; the operands named in `splat` are one value for all.
fn run(executor: &dyn Executor, code: Code, columns: &[Vec<Scalar>], splat: &[bool]) -> Vec<Scalar> {
    let mut args = [ValueId(0); 3];
    (0..columns.len()).for_each(|i| args[i] = ValueId(i as u32));
    let kernel = Kernel {
        inputs: (0..columns.len()).map(|i| code.operand(i)).collect(),
        body: vec![Inst { code, args }],
        outputs: vec![ValueId(columns.len() as u32)],
        ..Kernel::default()
    };
    let n = columns[0].len();
    let out_dtype = code.result().expect("a valid code");
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
    let size = out_dtype.size();
    let mut out = vec![0u64; (n * size).div_ceil(8)];
    {
        let out_bytes = &mut broadloom_mem::bytes_of_mut(&mut out)[..n * size];
        let out = ViewMut::new(out_bytes, size, 0, &[n], &[size as isize]).expect("inside");
        let mut nest = Nest::new(&[n], &views, [out]).expect("a nest");
        let access: Vec<_> = (0..views.len()).map(|i| nest.access(i)).collect();
        let mut compiled = executor.prepare(&kernel, &access);
        let done = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
            compiled(block, &[], &mut []);
            ControlFlow::Continue(())
        });
        assert!(done.is_continue());
    }
    scalars(out_dtype, as_bytes(&out, n * size))
}

fn codes() -> impl Iterator<Item = Code> {
    let ops = Op::ALL.iter().flat_map(|&op| op.dtypes().iter().map(move |&d| Code::Apply(op, d)));
    let casts = DType::ALL.iter().flat_map(|&a| DType::ALL.iter().map(move |&b| Code::Cast(a, b)));
    ops.chain(casts)
}

fn expected(code: Code, args: &[Scalar]) -> Scalar {
    match code {
        Code::Apply(op, _) => fold::apply(op, args).expect("defined"),
        Code::Cast(_, to) => fold::cast(args[0], to),
    }
}

/// All pairs (a stride through the triples) of spicy values.
fn columns(code: Code) -> Vec<Vec<Scalar>> {
    let lists: Vec<Vec<Scalar>> = (0..code.operands()).map(|i| spicy::values(code.operand(i))).collect();
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

fn check(executor: &dyn Executor, code: Code, columns: &[Vec<Scalar>], splat: &[bool]) {
    let got = run(executor, code, columns, splat);
    for (i, &got) in got.iter().enumerate() {
        let at = |j: usize| if splat[j] { 0 } else { i };
        let args: Vec<Scalar> = columns.iter().enumerate().map(|(j, c)| c[at(j)]).collect();
        let want = expected(code, &args);
        assert!(got.same(want), "{code:?}{args:?} splat {splat:?}: got {got:?}, want {want:?}");
    }
}

/// Every op × dtype and every conversion, on all pairs of spicy values.
///
/// # Panics
/// Where a bit differs from the scalar instance.
pub fn every_code_gives_the_scalar_instances_bits(executor: &dyn Executor) {
    for code in codes() {
        let columns = columns(code);
        check(executor, code, &columns, &vec![false; columns.len()]);
    }
}

/// Operands that have one element for a whole row.
///
/// # Panics
/// Where a bit differs from the scalar instance.
pub fn operands_that_serve_a_whole_row(executor: &dyn Executor) {
    for code in codes().filter(|c| c.operands() > 1) {
        let whole = columns(code);
        for splat_at in 0..whole.len() {
            let mut splat = vec![false; whole.len()];
            splat[splat_at] = true;
            for start in [0, whole[0].len() / 3, whole[0].len() / 2] {
                let part: Vec<Vec<Scalar>> =
                    whole.iter().map(|c| c[start..].iter().take(37).copied().collect()).collect();
                check(executor, code, &part, &splat);
            }
        }
    }
}

/// Any byte but 0 is true, and is written as 1, whether it is computed with or only moved.
///
/// # Panics
/// Where another byte is written.
pub fn any_byte_but_0_is_true(executor: &dyn Executor) {
    let not = Inst { code: Code::Apply(Op::LogicalNot, DType::Bool), args: [ValueId(0); 3] };
    let kernel = Kernel {
        inputs: vec![DType::Bool],
        body: vec![not],
        outputs: vec![ValueId(0), ValueId(1)],
        ..Kernel::default()
    };
    let stored: Vec<u8> = (0..=255).collect();
    let (mut moved, mut inverted) = ([7u8; 256], [7u8; 256]);
    let outputs = [(&mut moved[..], 1), (&mut inverted[..], 1)];
    let mut nest = Nest::flat(256, [(&stored[..], 1, false)], outputs).expect("a nest");
    let mut compiled = executor.prepare(&kernel, &[nest.access(0)]);
    let done = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
        compiled(block, &[], &mut []);
        ControlFlow::Continue(())
    });
    assert!(done.is_continue());
    for (&byte, (&moved, &inverted)) in stored.iter().zip(moved.iter().zip(&inverted)) {
        assert_eq!((moved, inverted), (u8::from(byte != 0), u8::from(byte == 0)), "{byte}");
    }
}

/// Every length from 1 to 70.
///
/// # Panics
/// Where a bit differs from the scalar instance.
pub fn every_length_and_tail(executor: &dyn Executor) {
    let codes = [
        Code::Apply(Op::Add, DType::Float32),
        Code::Apply(Op::Remainder, DType::Float64),
        Code::Apply(Op::FloorDivide, DType::Int32),
        Code::Apply(Op::Less, DType::Float16),
        Code::Apply(Op::Exp, DType::Float32),
        Code::Apply(Op::Sin, DType::Float64),
        Code::Apply(Op::Tan, DType::Float16),
        Code::Apply(Op::Pow, DType::Float32),
        Code::Apply(Op::Pow, DType::Int16),
        Code::Apply(Op::Where, DType::UInt8),
        Code::Cast(DType::Int8, DType::Float64),
        Code::Cast(DType::Float64, DType::Bool),
    ];
    for code in codes {
        let whole = columns(code);
        for n in 1..=70 {
            let part: Vec<Vec<Scalar>> =
                whole.iter().map(|c| c[c.len() / 4..][..n.min(c.len() - c.len() / 4)].to_vec()).collect();
            check(executor, code, &part, &vec![false; whole.len()]);
        }
    }
}
