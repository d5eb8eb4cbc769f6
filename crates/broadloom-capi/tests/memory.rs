//! Tests runs on memory that C programs may pass: outputs that overlap inputs, gaps between elements, no elements, and bools
//! other than 0 and 1. The results must be equal to those computed on separate copies.

use std::ffi::{CStr, c_void};
use std::ptr::null;

use broadloom_capi::bl_status::*;
use broadloom_capi::*;

/// A kernel with inputs x and y of one dtype and shape [n], and one output per function, applied to x and y.
fn kernel(dtype: bl_dtype, functions: &[&CStr]) -> bl_kernel {
    let (mut builder, mut kernel) = (bl_builder { id: 0 }, bl_kernel { id: 0 });
    let [mut x, mut y, mut out] = [bl_value { id: 0 }; 3];
    let dims = [bl_dim { symbol: c"n".as_ptr(), extent: 0 }];
    let names = [c"a", c"b"];
    // SAFETY: all pointers refer to locals, and all strings are C string literals.
    unsafe {
        assert_eq!(bl_builder_new(null(), &mut builder), BL_OK);
        assert_eq!(bl_builder_input(builder, c"x".as_ptr(), dtype, dims.as_ptr(), 1, &mut x), BL_OK);
        assert_eq!(bl_builder_input(builder, c"y".as_ptr(), dtype, dims.as_ptr(), 1, &mut y), BL_OK);
        for (function, name) in functions.iter().zip(names) {
            assert_eq!(bl_builder_apply(builder, function.as_ptr(), [x, y].as_ptr(), 2, &mut out), BL_OK);
            assert_eq!(bl_builder_output(builder, name.as_ptr(), out), BL_OK);
        }
        assert_eq!(bl_builder_compile(builder, &mut kernel), BL_OK);
    }
    assert_eq!(bl_builder_release(builder), BL_OK);
    kernel
}

/// A view of this shape whose index 0 is element `first` of `memory`.
fn view<T>(
    memory: *mut T,
    first: usize,
    shape: &[usize; 1],
    strides: &[isize; 1],
    dtype: bl_dtype,
) -> bl_view {
    let data = memory.wrapping_add(first).cast();
    bl_view { data, shape: shape.as_ptr(), strides: strides.as_ptr(), rank: 1, dtype }
}

fn run(kernel: bl_kernel, inputs: &[bl_view], outputs: &[bl_view]) -> bl_status {
    // SAFETY: every caller passes views of live locals, within their lengths.
    unsafe { bl_kernel_run(kernel, inputs.as_ptr(), inputs.len(), outputs.as_ptr(), outputs.len(), null()) }
}

/// Tries every position of two inputs and an output in one buffer, forwards and backwards, with and without gaps.
#[test]
fn an_output_may_lie_anywhere() {
    let kernel = kernel(BL_DTYPE_INT32, &[c"subtract"]);
    const N: usize = 5;
    let shape = [N];
    let mut done = 0;
    let layouts: Vec<(usize, [isize; 1])> = [0, 1, 3, 10]
        .into_iter()
        .flat_map(|first| [(first, [1]), (first + N - 1, [-1]), (first, [2]), (first + 2 * (N - 1), [-2])])
        .collect();
    let index =
        |(first, [stride]): (usize, [isize; 1]), i: usize| first.strict_add_signed(i as isize * stride);
    for &x in &layouts {
        for &y in layouts.iter().step_by(3) {
            for &out in &layouts {
                let mut memory: Vec<i32> = (0..20).map(|i| 1 << i).collect();
                let mut want = memory.clone();
                for i in 0..N {
                    want[index(out, i)] = memory[index(x, i)] - memory[index(y, i)];
                }
                let at = memory.as_mut_ptr();
                let inputs = [
                    view(at, x.0, &shape, &x.1, BL_DTYPE_INT32),
                    view(at, y.0, &shape, &y.1, BL_DTYPE_INT32),
                ];
                match run(kernel, &inputs, &[view(at, out.0, &shape, &out.1, BL_DTYPE_INT32)]) {
                    BL_OK => assert_eq!(memory, want, "{x:?} {y:?} {out:?}"),
                    BL_MEMORY => {
                        assert_eq!(memory, (0..20).map(|i| 1 << i).collect::<Vec<i32>>(), "untouched")
                    }
                    other => panic!("{other:?} for {x:?} {y:?} {out:?}"),
                }
                done += 1;
            }
        }
    }
    assert_eq!(done, 16 * 6 * 16);
    assert_eq!(bl_kernel_release(kernel), BL_OK);
}

#[test]
fn a_call_runs_in_place_and_over_its_inputs() {
    let kernel = kernel(BL_DTYPE_INT32, &[c"add", c"subtract"]);
    let extents = [bl_extent { symbol: c"n".as_ptr(), extent: 4 }];
    let mut call = bl_call { id: 0 };
    // SAFETY: the pointers refer to locals.
    assert_eq!(unsafe { bl_kernel_bind(kernel, extents.as_ptr(), 1, &mut call) }, BL_OK);
    let run = |memory: &mut [i32; 8], [x, y, a, b]: [usize; 4]| {
        let at = memory.as_mut_ptr();
        let inputs = [x, y].map(|i| at.wrapping_add(i).cast_const().cast::<c_void>());
        let outputs = [a, b].map(|i| at.wrapping_add(i).cast::<c_void>());
        // SAFETY: each pointer refers to four elements of `memory`.
        unsafe { bl_call_run(call, inputs.as_ptr(), 2, outputs.as_ptr(), 2) }
    };
    let fresh = [10, 20, 30, 40, 1, 2, 3, 4];
    let mut memory = fresh;
    assert_eq!(run(&mut memory, [0, 4, 0, 4]), BL_OK);
    assert_eq!(memory, [11, 22, 33, 44, 9, 18, 27, 36], "each over one input");
    memory = fresh;
    assert_eq!(run(&mut memory, [0, 4, 4, 0]), BL_OK);
    assert_eq!(memory, [9, 18, 27, 36, 11, 22, 33, 44], "each over the other");
    memory = fresh;
    assert_eq!((run(&mut memory, [0, 0, 4, 2]), memory), (BL_MEMORY, fresh), "outputs over each other");
    assert_eq!(bl_call_release(call), BL_OK);
    assert_eq!(bl_kernel_release(kernel), BL_OK);
}

#[test]
fn threads_share_rows_in_place() {
    let kernel = kernel(BL_DTYPE_INT32, &[c"add"]);
    let extents = [bl_extent { symbol: c"n".as_ptr(), extent: 1000 }];
    let mut call = bl_call { id: 0 };
    // SAFETY: the pointers refer to locals.
    assert_eq!(unsafe { bl_kernel_bind(kernel, extents.as_ptr(), 1, &mut call) }, BL_OK);
    let mut memory: Vec<i32> = (0..1000).collect();
    let at = memory.as_mut_ptr() as usize;
    std::thread::scope(|scope| {
        for begin in (0..1000).step_by(250) {
            scope.spawn(move || {
                let inputs = [at as *const c_void; 2];
                let outputs = [(at as *mut i32).wrapping_add(begin).cast::<c_void>()];
                // SAFETY: each thread writes its own rows, and reads the same rows of the inputs.
                let status = unsafe {
                    bl_call_run_range(call, begin, begin + 250, inputs.as_ptr(), 2, outputs.as_ptr(), 1)
                };
                assert_eq!(status, BL_OK);
            });
        }
    });
    assert!(memory.iter().enumerate().all(|(i, &x)| x == 2 * i as i32));
    assert_eq!(bl_call_release(call), BL_OK);
    assert_eq!(bl_kernel_release(kernel), BL_OK);
}

#[test]
fn bools_are_bytes_of_which_any_but_zero_is_true() {
    let kernel = kernel(BL_DTYPE_BOOL, &[c"logical_and", c"logical_xor"]);
    let (mut x, mut y, mut a, mut b) = ([0_u8, 2, 255, 1], [1_u8, 128, 0, 1], [9_u8; 4], [9_u8; 4]);
    let (shape, strides) = ([4], [1]);
    let of = |memory: &mut [u8; 4]| view(memory.as_mut_ptr(), 0, &shape, &strides, BL_DTYPE_BOOL);
    assert_eq!(run(kernel, &[of(&mut x), of(&mut y)], &[of(&mut a), of(&mut b)]), BL_OK);
    assert_eq!((a, b), ([0, 1, 0, 1], [1, 0, 1, 0]));
    assert_eq!(bl_kernel_release(kernel), BL_OK);
}

#[test]
fn nothing_needs_no_memory() {
    let kernel = kernel(BL_DTYPE_FLOAT64, &[c"multiply"]);
    let (shape, strides) = ([0], [1]);
    let none = view(std::ptr::null_mut::<f64>(), 0, &shape, &strides, BL_DTYPE_FLOAT64);
    assert_eq!(run(kernel, &[none; 2], &[none]), BL_OK);
    assert_eq!(bl_kernel_release(kernel), BL_OK);
}

#[test]
fn explanations_fit_or_say_how_long_they_are() {
    let kernel = kernel(BL_DTYPE_FLOAT64, &[c"multiply"]);
    let mut length = 0;
    // SAFETY: the first call passes no buffer, and the second one of the requested size.
    unsafe {
        assert_eq!(bl_kernel_explain(kernel, std::ptr::null_mut(), 0, &mut length), BL_TOO_SMALL);
        let mut buffer = vec![0_u8; length + 100];
        assert_eq!(bl_kernel_explain(kernel, buffer.as_mut_ptr().cast(), buffer.len(), &mut length), BL_OK);
        let text = CStr::from_bytes_until_nul(&buffer).expect("a zero").to_str().expect("UTF-8");
        assert!(text.len() == length && text.contains("multiply"), "{text}");
    }
    assert_eq!(bl_kernel_release(kernel), BL_OK);
}

#[test]
fn ten_thousand_kernels_are_alive_at_once() {
    let count = if cfg!(miri) { 10 } else { 10_000 };
    let kernels: Vec<bl_kernel> = (0..count).map(|_| kernel(BL_DTYPE_INT8, &[c"add"])).collect();
    let (shape, strides) = ([2], [1]);
    for &kernel in kernels.iter().step_by(count / 10) {
        let mut x = [1_i8, 2];
        let of = view(x.as_mut_ptr(), 0, &shape, &strides, BL_DTYPE_INT8);
        assert_eq!(run(kernel, &[of, of], &[of]), BL_OK);
        assert_eq!(x, [2, 4]);
    }
    assert!(kernels.iter().all(|&kernel| bl_kernel_release(kernel) == BL_OK));
    assert!(kernels.iter().all(|&kernel| bl_kernel_release(kernel) == BL_HANDLE));
}

/// Slices and scans of symbols: the extents are derived, and one kernel is used for all extents.
#[test]
fn views_of_symbols_have_derived_extents() {
    let (mut builder, mut kernel) = (bl_builder { id: 0 }, bl_kernel { id: 0 });
    let [mut x, mut after, mut before, mut step, mut sums, mut turned] = [bl_value { id: 0 }; 6];
    let dims = [bl_dim { symbol: c"n".as_ptr(), extent: 0 }];
    let range = |start, stop| [bl_range { start, stop, step: 1 }];
    // SAFETY: all pointers are to locals, and all texts are C string literals.
    unsafe {
        assert_eq!(bl_builder_new(null(), &mut builder), BL_OK);
        assert_eq!(bl_builder_input(builder, c"x".as_ptr(), BL_DTYPE_INT64, dims.as_ptr(), 1, &mut x), BL_OK);
        assert_eq!(bl_builder_slice(builder, x, range(1, BL_OPEN).as_ptr(), 1, &mut after), BL_OK);
        assert_eq!(bl_builder_slice(builder, x, range(BL_OPEN, -1).as_ptr(), 1, &mut before), BL_OK);
        let operands = [after, before];
        assert_eq!(bl_builder_apply(builder, c"subtract".as_ptr(), operands.as_ptr(), 2, &mut step), BL_OK);
        assert_eq!(bl_builder_scan(builder, BL_SCAN_SUM, x, 0, 1, &mut sums), BL_OK);
        assert_eq!(bl_builder_flip(builder, x, 0, &mut turned), BL_OK);
        for (name, value) in [(c"step", step), (c"sums", sums), (c"turned", turned)] {
            assert_eq!(bl_builder_output(builder, name.as_ptr(), value), BL_OK);
        }
        assert_eq!(bl_builder_compile(builder, &mut kernel), BL_OK);
        assert_eq!(bl_builder_release(builder), BL_OK);
        for (output, kind, text) in
            [(0, BL_DIM_DERIVED, c"n - 1"), (1, BL_DIM_DERIVED, c"n + 1"), (2, BL_DIM_SYMBOL, c"n")]
        {
            let (mut found, mut extent, mut length, mut buffer) = (9, 9, 0, [0; 16]);
            let to = buffer.as_mut_ptr();
            let status = bl_kernel_operand_dim(
                kernel,
                BL_OUTPUT,
                output,
                0,
                &mut found,
                &mut extent,
                to,
                16,
                &mut length,
            );
            assert_eq!((status, found, extent, length), (BL_OK, kind, 0, text.count_bytes()));
            assert_eq!(CStr::from_ptr(to), text);
        }
    }
    for n in [0, 1, 2, 17] {
        let mut x: Vec<i64> = (0..n as i64).map(|i| i * i).collect();
        let (mut step, mut sums, mut turned) = (vec![9; n.max(1) - 1], vec![9; n + 1], vec![9; n]);
        let of = |memory: &mut Vec<i64>| (memory.as_mut_ptr(), [memory.len()]);
        let memories = [of(&mut x), of(&mut step), of(&mut sums), of(&mut turned)];
        let views = memories.each_ref().map(|(to, shape)| view(*to, 0, shape, &[1], BL_DTYPE_INT64));
        assert_eq!(run(kernel, &views[..1], &views[1..]), BL_OK);
        assert!(step.iter().enumerate().all(|(i, x)| *x == 2 * i as i64 + 1), "{step:?}");
        let sum = |i: usize| x[..i].iter().sum::<i64>();
        assert!(sums.iter().enumerate().all(|(i, x)| *x == sum(i)), "{sums:?}");
        assert!(turned.iter().rev().eq(&x), "{turned:?}");
    }
    assert_eq!(bl_kernel_release(kernel), BL_OK);
}
