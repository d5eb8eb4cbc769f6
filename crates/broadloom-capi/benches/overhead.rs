//! Compares the cost of a call through the C ABI with that of the same prepared call from Rust, for a kernel of one operation on
//! one element. The two are measured alternately, and the minimum of many rounds is reported.
//!
//! `cargo bench -p broadloom-capi --bench overhead`

use std::ffi::c_void;
use std::hint::black_box;
use std::time::Instant;

use broadloom::{Array, DType, Executor, Kernel, Options};
use broadloom_capi::*;

const ROUNDS: usize = 200;
const CALLS: u32 = 20_000;

/// The mean time of a call, in nanoseconds.
fn time(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..CALLS).for_each(|_| call());
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn ok(status: bl_status) {
    assert_eq!(status, bl_status::BL_OK);
}

fn main() -> Result<(), broadloom::Error> {
    let (x, mut y) = ([1.5_f32], [0.0_f32]);
    let options = Options { executor: Executor::Jit, ..Options::default() };
    let input = Array::input("x", DType::Float32, &["n".into()])?;
    let call = Kernel::new(&[&(&input * 2)], &[&input], &options)?.bind(&[("n", 1)])?;

    let (mut builder, mut kernel, mut handle) =
        (bl_builder { id: 0 }, bl_kernel { id: 0 }, bl_call { id: 0 });
    let [mut vx, mut two, mut twice] = [bl_value { id: 0 }; 3];
    let dims = [bl_dim { symbol: c"n".as_ptr(), extent: 0 }];
    let extents = [bl_extent { symbol: c"n".as_ptr(), extent: 1 }];
    // SAFETY: all pointers refer to locals, and all strings are NUL-terminated.
    unsafe {
        let mut c_options: bl_options = std::mem::zeroed();
        c_options.size = size_of::<bl_options>();
        ok(bl_options_init(&mut c_options));
        c_options.executor = BL_EXECUTOR_JIT;
        ok(bl_builder_new(&c_options, &mut builder));
        ok(bl_builder_input(builder, c"x".as_ptr(), BL_DTYPE_FLOAT32, dims.as_ptr(), 1, &mut vx));
        ok(bl_builder_int(builder, 2, &mut two));
        ok(bl_builder_apply(builder, c"multiply".as_ptr(), [vx, two].as_ptr(), 2, &mut twice));
        ok(bl_builder_output(builder, c"y".as_ptr(), twice));
        ok(bl_builder_compile(builder, &mut kernel));
        ok(bl_kernel_bind(kernel, extents.as_ptr(), 1, &mut handle));
    }
    // Calls through a function pointer, as C does, so that nothing is inlined.
    let run = black_box(bl_call_run as unsafe extern "C" fn(_, _, usize, _, usize) -> _);

    let (mut rust, mut c) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        rust = rust.min(time(|| call.run(&[(&x).into()], [(&mut y).into()]).expect("it runs")));
        let (from, to) = ([x.as_ptr().cast::<c_void>()], [y.as_mut_ptr().cast::<c_void>()]);
        // SAFETY: the operands are locals of one element, which is the size that the call is bound to.
        c = c.min(time(|| ok(unsafe { run(handle, from.as_ptr(), 1, to.as_ptr(), 1) })));
    }
    let mut flag = bl_flag { id: 0 };
    // SAFETY: the pointer refers to a local.
    ok(unsafe { bl_flag_new(&mut flag) });
    let lower = black_box(bl_flag_lower as extern "C" fn(_) -> _);
    let handle_only = (0..ROUNDS).map(|_| time(|| ok(lower(flag)))).fold(f64::INFINITY, f64::min);
    println!("a handle looked up and let go: {handle_only:.1} ns");
    println!(
        "prepared call of one element: {rust:.1} ns from Rust, {c:.1} ns through the C ABI: {:+.1} ns",
        c - rust
    );
    assert_eq!(black_box(y), [3.0]);
    Ok(())
}
