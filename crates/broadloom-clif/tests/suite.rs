//! Runs machine code through the suite that all executors must pass.

use broadloom_clif::{Compiler, VectorWidth};
use broadloom_ir::{Kernel, Purpose};
use broadloom_mem::{Access, ExecutableKernel, HostFunction};
use broadloom_testkit::suite::{self, Subject};

fn compiler() -> Compiler {
    Compiler::host().expect("a supported host")
}

/// Machine code of each vector width that the target supports.
fn widths(compiler: &Compiler) -> impl Iterator<Item = Subject<'_>> {
    VectorWidth::of_target().map(move |width| Subject::new(compiler, width))
}

/// Machine code with non-temporal stores, of each vector width that has them.
fn streaming(compiler: &Compiler) -> impl Iterator<Item = Subject<'_>> {
    let wide = widths(compiler).filter(|subject| subject.width > VectorWidth::W128);
    wide.map(|subject| Subject { purpose: Purpose::Stream, ..subject })
}

#[test]
fn every_code_gives_the_scalar_instances_bits() {
    let compiler = compiler();
    widths(&compiler).chain(streaming(&compiler)).for_each(suite::every_code_gives_the_scalar_instances_bits);
}

#[test]
fn operands_that_serve_a_whole_row() {
    widths(&compiler()).for_each(suite::operands_that_serve_a_whole_row);
}

#[test]
fn quotients_next_to_integers() {
    widths(&compiler()).for_each(suite::quotients_next_to_integers);
}

#[test]
fn shifts_by_every_count() {
    widths(&compiler()).for_each(suite::shifts_by_every_count);
}

#[test]
fn conversions_next_to_the_middle() {
    widths(&compiler()).for_each(suite::conversions_next_to_the_middle);
}

#[test]
fn host_functions_of_every_dtype() {
    widths(&compiler()).for_each(suite::host_functions_of_every_dtype);
}

#[test]
fn host_functions_among_ops() {
    widths(&compiler()).for_each(suite::host_functions_among_ops);
}

#[test]
fn elements_of_tables() {
    let compiler = compiler();
    widths(&compiler).chain(streaming(&compiler)).for_each(suite::elements_of_tables);
}

#[test]
fn any_byte_but_0_is_true() {
    widths(&compiler()).for_each(suite::any_byte_but_0_is_true);
}

#[test]
fn pairs_of_instructions() {
    widths(&compiler()).for_each(suite::pairs_of_instructions);
}

/// Fewer slices than the kernel has operands, and slices that are too short, are refused before anything is written.
#[test]
fn slices_of_another_kernel() {
    use broadloom_ir::kernel::{Code, Inst, ValueId};
    use broadloom_ir::{DType, ErrorKind, Op};
    let add = Inst { code: Code::apply(Op::Add, DType::Float32), args: [ValueId(0), ValueId(1), ValueId(0)] };
    let kernel = Kernel {
        inputs: vec![DType::Float32; 2],
        body: vec![add],
        outputs: vec![ValueId(2).into(), ValueId(2).into()],
        ..Kernel::default()
    };
    let (x, mut y, mut z) = ([1u8; 256], [2u8; 256], [2u8; 256]);
    for (width, n) in VectorWidth::of_target().flat_map(|width| [(width, 3), (width, 64)]) {
        let compiled = compiler().compile(&kernel, &[], &[Access::Contiguous; 2], width).expect("compiles");
        let mut run = |inputs: &[&[u8]], outputs: usize, n: usize| {
            let written = [&mut y[..], &mut z[..]].into_iter().take(outputs);
            compiled.run_slices(n, inputs.iter().copied(), written, &[], &mut [])
        };
        for (inputs, outputs, n) in [(1, 2, n), (2, 1, n), (2, 2, 65)] {
            let refused = run(&[&x[..]; 2][..inputs], outputs, n).expect_err("another kernel's");
            assert_eq!(refused.kind(), ErrorKind::Internal);
        }
        run(&[&x[..], &x[..]], 2, n).expect("fits");
        assert!(y == z && y[..4 * n] != [2u8; 256][..4 * n] && y[4 * n..] == [2u8; 256][4 * n..]);
        (y, z) = ([2; 256], [2; 256]);
    }
}

#[test]
fn every_length_and_tail() {
    let compiler = compiler();
    widths(&compiler).chain(streaming(&compiler)).for_each(suite::every_length_and_tail);
}

/// The emitter relies on verification: it stores as many bytes as a value has, whatever the dtype of the output.
#[test]
fn a_kernel_that_does_not_verify_is_refused() {
    use broadloom_ir::kernel::{Code, Inst, ValueId};
    use broadloom_ir::{DType, ErrorKind};
    let cast = Inst { code: Code::Cast(DType::Float32, DType::Float32), args: [ValueId(0); 3] };
    let broken = Kernel {
        inputs: vec![DType::Float64],
        body: vec![cast],
        outputs: vec![ValueId(1).into()],
        ..Kernel::default()
    };
    let compiler = compiler();
    let refused =
        compiler.compile(&broken, &[], &[Access::Contiguous], VectorWidth::target()).expect_err("ill typed");
    assert_eq!(refused.kind(), ErrorKind::Internal);
    let good =
        Kernel { inputs: vec![DType::Float32], body: vec![cast], outputs: vec![ValueId(1).into()], ..broken };
    assert!(compiler.compile(&good, &[], &[], VectorWidth::target()).is_err(), "an access class is missing");
    assert!(compiler.compile(&good, &[], &[Access::Contiguous], VectorWidth::target()).is_ok());
}

/// If an output is also an input, each element is computed once: the blocks of a row don't overlap.
#[test]
fn an_output_that_is_an_input() {
    use broadloom_ir::kernel::{Code, Inst, ValueId};
    use broadloom_ir::{DType, Op};
    use broadloom_mem::{AliasPolicy, Nest, Scratch, View, ViewMut};
    use std::ops::ControlFlow;

    let doubled = Inst { code: Code::apply(Op::Add, DType::Int32), args: [ValueId(0); 3] };
    let kernel = Kernel {
        inputs: vec![DType::Int32],
        body: vec![doubled],
        outputs: vec![ValueId(1).into()],
        ..Kernel::default()
    };
    let compile = |width| compiler().compile(&kernel, &[], &[Access::Contiguous], width).expect("compiles");
    let compiled: Vec<_> = VectorWidth::of_target().map(compile).collect();
    for (n, compiled) in (1..=200).flat_map(|n| compiled.iter().map(move |compiled| (n, compiled))) {
        let mut x: Vec<i32> = (1..=n).collect();
        let base = x.as_mut_ptr().cast::<u8>();
        let shape = [x.len()];
        // SAFETY: the views are within `x`, which no other code uses while the nest lives.
        let (input, output) =
            unsafe { (View::from_raw(base, 4, &shape, &[4]), ViewMut::from_raw(base, 4, &shape, &[4])) };
        let mut nest =
            Nest::new(&shape, &[input.expect("a view")], [output.expect("a view")]).expect("the same");
        assert!(nest.is_aliased(0));
        let done = nest.run(AliasPolicy::InPlace, &mut Scratch::new(), &mut |block| {
            compiled.run_alone(block, &[], &mut []).expect("matches");
            ControlFlow::Continue(())
        });
        assert!(done.is_continue());
        assert!(x.iter().copied().eq((1..=n).map(|i| 2 * i)), "{n}, {compiled:?}: {x:?}");
    }
}

/// A host function may overwrite all caller-saved registers, including mask registers. The calling code must still mask
/// the last elements of a row correctly.
#[cfg(target_arch = "x86_64")]
#[test]
fn host_functions_that_write_mask_registers() {
    use broadloom_ir::DType;
    use broadloom_ir::kernel::ValueId;
    if VectorWidth::target() < VectorWidth::W512 {
        return;
    }
    let write = |x: u8| {
        // SAFETY: the target has these instructions, and the registers that they write are declared as outputs.
        unsafe {
            std::arch::asm!("kxnorq k1, k1, k1", "kmovq k7, k1", out("k1") _, out("k7") _);
        }
        x + 1
    };
    let function = HostFunction::new("writes_masks", write).expect("a name");
    let mut kernel =
        Kernel { inputs: vec![DType::UInt8], outputs: vec![ValueId(1).into()], ..Kernel::default() };
    let code = kernel.callee(function.declaration());
    kernel.body = vec![broadloom_ir::kernel::Inst { code, args: [ValueId(0); 3] }];
    let functions = [function];
    let compiled =
        compiler().compile(&kernel, &functions, &[Access::Contiguous], VectorWidth::W512).expect("compiles");
    assert_eq!(compiled.width(), VectorWidth::W512);
    for n in 1..130 {
        let (x, mut y) = ([3u8; 256], [7u8; 256]);
        compiled.run_slices(n, [&x[..]].into_iter(), [&mut y[..]].into_iter(), &[], &mut []).expect("fits");
        assert!(y[..n].iter().all(|&y| y == 4) && y[n..].iter().all(|&y| y == 7), "{n}: {y:?}");
    }
}
