//! Gathers: elements of tables of every dtype and size, at positions inside and outside.

use std::ops::ControlFlow;

use broadloom_core::DType;
use broadloom_core::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_mem::{AliasPolicy, KernelRun, Nest, Scratch, Table, View, ViewMut, bytes_of};

use super::{Subject, aligned, as_bytes};

/// The positions of a run: some of them outside of a table of `elements` elements if `elements` is odd.
fn positions(n: usize, elements: usize, splat: bool) -> Vec<i64> {
    let outside = [-1, elements as i64, i64::MAX, i64::MIN, elements as i64 + (1 << 32)];
    let position = |i: usize| match i {
        _ if elements == 0 => i as i64 - 1,
        // The last positions, which are in the incomplete vector of a row.
        _ if elements % 2 == 1 && (i + 1 == n || i % 19 == 7) => outside[i % outside.len()],
        i => (i * 7919 % elements) as i64,
    };
    if splat { vec![position(n / 2); n] } else { (0..n).map(position).collect() }
}

/// Elements of tables have the bits that the tables have there, and a position outside sets the fault byte.
pub fn elements_of_tables(subject: Subject<'_>) {
    for &dtype in DType::ALL {
        for elements in [0, 1, 2, 5, 64, 1000, 1001] {
            for n in [1, 2, 3, 7, 16, 31, 33, 64, 100, 257] {
                [false, true].into_iter().for_each(|splat| gathered(subject, dtype, elements, n, splat));
            }
        }
    }
}

fn gathered(subject: Subject<'_>, dtype: DType, elements: usize, n: usize, splat: bool) {
    let item = dtype.size();
    let byte = |i: usize| match dtype {
        DType::Bool => u8::from(i.is_multiple_of(3)),
        _ => (i * 37 + i / 256 * 11) as u8,
    };
    let table: Vec<u8> = (0..elements * item).map(byte).collect();
    let words = aligned(&table);
    let tables = [Table::new(as_bytes(&words, table.len()), item).expect("aligned elements")];
    let positions = positions(n, elements, splat);
    let is_inside = |&position: &i64| (0..elements as i64).contains(&position);

    // The position that is read is the sum of an input and 0, so that it is computed.
    let zero = Inst {
        code: Code::apply(broadloom_core::Op::Add, DType::Int64),
        args: [ValueId(0), ValueId(1), ValueId(0)],
    };
    let gather = Inst { code: Code::Gather { table: 0, dtype }, args: [ValueId(2), ValueId(0), ValueId(0)] };
    let kernel = Kernel {
        inputs: vec![DType::Int64, DType::Int64],
        tables: vec![dtype],
        body: vec![zero, gather],
        outputs: vec![ValueId(3).into()],
        ..Kernel::default()
    };
    let zeros = [0i64];
    let mut out = vec![0u64; (n * item).div_ceil(8)];
    let mut faults = [0u8];
    {
        let strides = [if splat { 0 } else { 8 }];
        let read = View::new(bytes_of(&positions), 8, 0, &[n], &strides).expect("inside");
        let zeros = View::new(bytes_of(&zeros), 8, 0, &[n], &[0]).expect("inside");
        let out = &mut broadloom_mem::bytes_of_mut(&mut out)[..n * item];
        let written = ViewMut::new(out, item, 0, &[n], &[item as isize]).expect("inside");
        let mut nest = Nest::new(&[n], &[read, zeros], [written]).expect("a nest");
        let access: Vec<_> = nest.accesses().collect();
        let mut prepared = subject.prepare(&kernel, &[], &access);
        let done = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
            let (stores, memory) = (prepared.stores, &mut prepared.memory);
            let mut run =
                KernelRun { params: &[], tables: &tables, faults: &mut faults, stores, memory, loops: None };
            prepared.kernel.run(block, &mut run).expect("a block of the kernel");
            ControlFlow::Continue(())
        });
        assert!(done.is_continue());
    }
    let what = format!("{dtype}, {elements} elements, {n} positions, splat {splat}, {kernel}");
    assert_eq!(faults[0] != 0, !positions.iter().all(is_inside), "{what}");
    let out = as_bytes(&out, n * item);
    for (i, position) in positions.iter().enumerate().filter(|(_, position)| is_inside(position)) {
        let from = *position as usize * item;
        assert_eq!(out[i * item..][..item], table[from..][..item], "element {i} of {what}");
    }
}
