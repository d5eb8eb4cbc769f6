//! On an operating system that refuses executable memory, every evaluation is right and runs on the interpreter, and
//! `explain` states the reason.
//!
//! The test runs itself again as a child process, which asks the kernel to refuse executable memory permanently.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the kernel is asked by system calls")]

use std::process::Command;

use broadloom::prelude::*;
use broadloom::{Engine, Executor, Kernel, Options};

/// The environment variable that makes a process the child.
const CHILD: &str = "BROADLOOM_TEST_WITHOUT_EXECUTABLE_MEMORY";
/// Printed by the child if all checks succeed.
const DONE: &str = "everything was right without executable memory";

/// Asks the kernel to let no memory of this process become executable: with `PR_SET_MDWE`, which exists since Linux 6.3, or
/// else with a filter of system calls.
fn refuse_executable_memory() -> &'static str {
    const PR_SET_MDWE: libc::c_int = 65;
    const PR_MDWE_REFUSE_EXEC_GAIN: libc::c_ulong = 1;
    // SAFETY: the call takes only numbers.
    if unsafe { libc::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) } == 0 {
        return "PR_SET_MDWE";
    }
    // The filter fails calls of mmap and mprotect whose third argument contains PROT_EXEC, on this thread and on threads that
    // it starts.
    let load = |offset: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let jump = |test: u32, k: u32, yes: u8, no: u8| statement(libc::BPF_JMP | test | libc::BPF_K, yes, no, k);
    let give = |k: u32| statement(libc::BPF_RET | libc::BPF_K, 0, 0, k);
    // In `struct seccomp_data`, the call's arguments begin at byte 16 and have 8 bytes each; the call's number is at byte 0.
    let third_argument = 16 + 2 * 8 + if cfg!(target_endian = "big") { 4 } else { 0 };
    let mut program = [
        load(0),
        jump(libc::BPF_JEQ, libc::SYS_mprotect as u32, 1, 0),
        jump(libc::BPF_JEQ, libc::SYS_mmap as u32, 0, 2),
        load(third_argument),
        jump(libc::BPF_JSET, libc::PROT_EXEC as u32, 1, 0),
        give(libc::SECCOMP_RET_ALLOW),
        give(libc::SECCOMP_RET_ERRNO | libc::EACCES as u32),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the first call takes only numbers. The second call reads a program of `len` statements that lives until the
    // call returns.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter, 0, 0) == 0
    };
    assert!(done, "neither way of refusing is available: {}", std::io::Error::last_os_error());
    "a filter of system calls"
}

fn statement(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Returns whether a page can be mapped as writable and then be made executable, and whether a page can be mapped as both at
/// once.
fn executable_memory() -> (bool, bool) {
    const PAGE: usize = 1 << 16;
    let map = |protection: libc::c_int| {
        // SAFETY: the call maps new memory at an address that the kernel chooses.
        unsafe {
            libc::mmap(std::ptr::null_mut(), PAGE, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        }
    };
    let writable = libc::PROT_READ | libc::PROT_WRITE;
    let page = map(writable);
    assert_ne!(page, libc::MAP_FAILED, "no memory at all");
    // SAFETY: the calls change and then unmap the page that was mapped above, to which nothing else refers.
    let gained = unsafe {
        let gained = libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC) == 0;
        libc::munmap(page, PAGE);
        gained
    };
    let both = map(writable | libc::PROT_EXEC);
    if both != libc::MAP_FAILED {
        // SAFETY: the call unmaps the page that was mapped above, to which nothing else refers.
        unsafe { libc::munmap(both, PAGE) };
    }
    (gained, both != libc::MAP_FAILED)
}

#[test]
fn evaluations_are_right_without_executable_memory() {
    let binary = std::env::current_exe().expect("the test's own file");
    let child = Command::new(binary)
        .args(["--exact", "no_executable_memory::the_child", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .expect("the test runs again");
    let said = String::from_utf8_lossy(&child.stdout);
    let complaint = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains(DONE), "{}\n{said}\n{complaint}", child.status);
}

/// Does nothing, unless the test above has started this process.
#[test]
fn the_child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let how = refuse_executable_memory();
    assert_eq!(executable_memory(), (false, false), "{how} refuses nothing");
    // `explained` runs before the first compilation is attempted, and again afterwards.
    let why = Engine::global().no_compiler().unwrap_or_default();
    assert!(!cfg!(feature = "jit") || why.contains("executable memory is not available"), "{why}");
    explained();
    small_and_large();
    a_kernel();
    explained();
    assert_eq!(Engine::global().compiled_kernels(), 0);
    println!("{DONE} ({how})");
}

fn small_and_large() {
    for n in [0, 1, 37, 400_000] {
        let data: Vec<f32> = (0..n).map(|i| i as f32 / 16.0 - 700.0).collect();
        let want: Vec<f32> = data.iter().map(|x| (x * x + 1.0).sqrt() / 3.0).collect();
        let x = Array::from_slice(&data);
        let y = (&x * &x + 1).sqrt() / 3;
        for executor in [Executor::Jit, Executor::Auto, Executor::Interp] {
            for threads in [Some(1), None] {
                let options = Options { executor, threads, ..Options::default() };
                // The first evaluation plans the expression; the second one uses the cached plan.
                for time in 1..=2 {
                    let got = y.eval_with(&options).and_then(|y| y.to_vec::<f32>());
                    assert_eq!(got.as_ref(), Ok(&want), "{n} {executor:?} {threads:?}, time {time}");
                }
            }
        }
    }
}

fn a_kernel() {
    let x = Array::from_vec(vec![0i64; 3]);
    let options = Options { executor: Executor::Jit, ..Options::default() };
    let kernel = Kernel::new(&[&(&x * 3 - 1)], &[&x], &options).expect("an expression");
    assert_eq!(kernel.executors(), [Executor::Interp]);
    let mut out = [0i64; 3];
    kernel.run(&[(&[1i64, 2, 3]).into()], [(&mut out).into()]).expect("runs");
    assert_eq!(out, [2, 5, 8]);
}

fn explained() {
    let x = Array::from_vec(vec![1.0f64; 1000]);
    for executor in [Executor::Jit, Executor::Auto] {
        let options = Options { executor, ..Options::default() };
        for code in [false, true] {
            let text = (x.sqrt() + 2).explain_with(&options, code).expect("explains");
            assert!(text.contains("runs on the interpreter"), "{text}");
            if cfg!(feature = "jit") {
                assert!(text.contains("executable memory is not available"), "{text}");
                assert_eq!(
                    text.contains("has no machine code: executable memory is not available"),
                    code,
                    "{text}"
                );
            }
        }
    }
}
