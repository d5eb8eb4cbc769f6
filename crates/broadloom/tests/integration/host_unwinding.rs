//! If a host function unwinds, the process ends, as documented at registration, whatever thread called the function and
//! however it unwinds.
//!
//! The test runs itself again as child processes, each of which registers such a function and evaluates it.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions are registered by pointer")]

use std::ffi::c_void;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use broadloom::prelude::*;
use broadloom::{Executor, HostFunction, Options};

/// The environment variable that makes a process a child. It specifies the form of the function, and the executor that calls
/// it.
const CHILD: &str = "BROADLOOM_TEST_UNWINDING";
/// Printed by a child if the process continues.
const SURVIVED: &str = "the process went on";
/// Printed by a host function before it unwinds.
const UNWINDS: &str = "here the function unwinds";

fn unwind() -> f32 {
    println!("{UNWINDS}");
    panic!("a host function's own panic")
}

/// Unwinds like a C++ function that throws. Its ABI allows it to unwind.
unsafe extern "C-unwind" fn throws(_: f32) -> f32 {
    unwind()
}

unsafe extern "C-unwind" fn tile_throws(_: usize, _: *const *const u8, _: *mut u8, _: *const c_void) {
    unwind();
}

fn function(form: &str) -> HostFunction {
    let made = match form {
        "closure" => HostFunction::new("f", |x: f32| if x > 0.0 { unwind() } else { x }),
        "scalar" => {
            // SAFETY: the two pointer types differ only in whether the function may unwind, and registration accepts both
            // kinds.
            unsafe {
                let pointer = std::mem::transmute::<
                    unsafe extern "C-unwind" fn(f32) -> f32,
                    unsafe extern "C" fn(f32) -> f32,
                >(throws);
                HostFunction::scalar::<fn(f32) -> f32>("f", pointer)
            }
        }
        _ => {
            // SAFETY: as for the scalar function. The function reads and writes no memory.
            unsafe {
                let pointer = std::mem::transmute::<
                    unsafe extern "C-unwind" fn(usize, *const *const u8, *mut u8, *const c_void),
                    unsafe extern "C" fn(usize, *const *const u8, *mut u8, *const c_void),
                >(tile_throws);
                HostFunction::tile("f", &[DType::Float32], DType::Float32, pointer, ())
            }
        }
    };
    made.expect("a name")
}

#[test]
fn an_unwinding_function_ends_the_process() {
    for form in ["closure", "scalar", "tile"] {
        for executor in ["jit", "interp"] {
            let child = Command::new(std::env::current_exe().expect("the test's own file"))
                .args(["--exact", "host_unwinding::the_child", "--nocapture", "--test-threads=1"])
                .env(CHILD, format!("{form} {executor}"))
                .output()
                .expect("the test runs again");
            let said = String::from_utf8_lossy(&child.stdout);
            let complaint = String::from_utf8_lossy(&child.stderr);
            let everything = format!("{form} {executor}: {}\n{said}\n{complaint}", child.status);
            assert!(said.contains(UNWINDS) && !said.contains(SURVIVED), "{everything}");
            assert_eq!(child.status.signal(), Some(libc::SIGABRT), "{everything}");
        }
    }
}

/// Does nothing, unless the test above has started this process.
#[test]
fn the_child() {
    let Ok(which) = std::env::var(CHILD) else { return };
    let (form, executor) = which.split_once(' ').expect("two words");
    let executor = if executor == "jit" { Executor::Jit } else { Executor::Interp };
    let x = Array::from_vec(vec![1.0_f32; 100]);
    let y = Array::call(&function(form), [&x + 1]).expect("types");
    // `catch_unwind` must not catch the panic of the function.
    let options = Options { executor, threads: Some(1), ..Options::default() };
    let outcome =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| y.eval_with(&options).map(|_| ())));
    println!("{SURVIVED}: {}", outcome.is_ok());
}
