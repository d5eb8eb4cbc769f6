//! A host function that unwinds ends the process, as its registration says, whatever thread called it and however it unwinds.
//!
//! The test runs itself again as child processes, each of which registers such a function and evaluates it.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions are registered by pointer")]

use std::ffi::c_void;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use broadloom::prelude::*;
use broadloom::{Executor, HostFunction, Options};

/// Tells a child from the parent: which function, and who calls it.
const CHILD: &str = "BROADLOOM_TEST_UNWINDING";
/// What a child says when the process goes on.
const SURVIVED: &str = "the process went on";
/// The message of a function before it unwinds.
const UNWINDS: &str = "here the function unwinds";

fn unwind() -> f32 {
    println!("{UNWINDS}");
    panic!("a host function's own panic")
}

/// As a C++ function that throws: of an ABI that lets it unwind.
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
            // SAFETY: the two pointers differ in whether the function may unwind, which registration leaves open.
            unsafe {
                let pointer = std::mem::transmute::<
                    unsafe extern "C-unwind" fn(f32) -> f32,
                    unsafe extern "C" fn(f32) -> f32,
                >(throws);
                HostFunction::scalar::<fn(f32) -> f32>("f", pointer)
            }
        }
        _ => {
            // SAFETY: as above; it reads and writes nothing.
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

/// Nothing, unless the test above has started it.
#[test]
fn the_child() {
    let Ok(which) = std::env::var(CHILD) else { return };
    let (form, executor) = which.split_once(' ').expect("two words");
    let executor = if executor == "jit" { Executor::Jit } else { Executor::Interp };
    let x = Array::from_vec(vec![1.0_f32; 100]);
    let y = Array::call(&function(form), [&x + 1]).expect("types");
    // Nothing up the stack may catch it.
    let options = Options { executor, threads: Some(1), ..Options::default() };
    let outcome =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| y.eval_with(&options).map(|_| ())));
    println!("{SURVIVED}: {}", outcome.is_ok());
}
