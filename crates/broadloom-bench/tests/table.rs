//! Tests every row of the table of workloads at unusual sizes, with each executor and on two threads.

use std::collections::HashSet;
use std::time::Duration;

use broadloom::{DType, Executor};
use broadloom_bench::{Settings, Slice, WORKLOADS, Workload, run, sweep};

fn rows() -> impl Iterator<Item = (&'static Workload, DType)> {
    WORKLOADS.iter().flat_map(|w| w.dtypes.iter().map(move |&dtype| (w, dtype)))
}

#[test]
fn names_are_unique_and_none_is_missing() {
    let names: HashSet<&str> = WORKLOADS.iter().map(|w| w.name).collect();
    assert_eq!(names.len(), WORKLOADS.len());
    for name in "add triad ne_readme ne_cmp sincos poly10 sigmoid standardize outer iter10 pow i32_floordiv \
                 f16_axpy mixed"
        .split_whitespace()
    {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn every_executor_gives_what_the_loop_gives() {
    let executors = vec![Executor::Auto, Executor::Interp, Executor::Jit];
    for (workload, dtype) in rows() {
        for (n, threads) in [(1, 1), (2, 1), (7, 1), (100, 1), (1003, 1), (40_009, 2)] {
            let settings = Settings {
                threads,
                executors: executors.clone(),
                budget: Duration::ZERO,
                ..Settings::default()
            };
            let rows = run(workload, dtype, n, &settings).expect("agrees");
            assert_eq!(rows.len(), 3);
            for (row, asked) in rows.iter().zip(&executors) {
                assert_eq!((row.workload, row.dtype, row.n, row.asked), (workload.name, dtype, n, *asked));
                assert!(row.ns_per_elem > 0.0 && row.gb_s > 0.0 && row.copy_gb_s > 0.0, "{row:?}");
                assert!(*asked == Executor::Auto || row.executor == asked.name(), "{row:?}");
                assert!(row.elements > 0 && row.elements <= n + 2, "{row:?}");
            }
        }
    }
}

#[test]
fn the_loops_can_be_split_anywhere() {
    for (workload, dtype) in rows() {
        for n in [50, 3100] {
            let sweeping = |ranges: &[usize]| {
                let mut problem = workload.at(dtype, n).expect("one of its dtypes");
                let mut outputs = std::mem::take(&mut problem.outputs);
                let slices: Vec<Slice<'_>> = problem.inputs.iter().map(|(_, c)| c.slice()).collect();
                let size = problem.elements() / problem.units;
                let mut from = 0;
                for &to in ranges.iter().filter(|to| **to < problem.units).chain([&problem.units]) {
                    let mut out = Vec::new();
                    for (_, column) in &mut outputs {
                        let (_, rest) = column.slice_mut().split_at(from * size);
                        out.push(rest.split_at((to - from) * size).0);
                    }
                    (problem.sweep)(&slices, &mut out, from..to);
                    from = to;
                }
                outputs
            };
            let whole = sweeping(&[]);
            for (i, (_, column)) in sweeping(&[1, 2, 11, 49]).iter().enumerate() {
                assert_eq!(column.difference(&whole[i].1, 0), None, "{} {dtype} {n}", workload.name);
            }
        }
    }
}

#[test]
fn two_threads_sweep_what_one_does() {
    for (workload, dtype) in rows() {
        let sweeping = |threads| {
            let mut problem = workload.at(dtype, 70_001).expect("one of its dtypes");
            let mut outputs = std::mem::take(&mut problem.outputs);
            let slices: Vec<Slice<'_>> = problem.inputs.iter().map(|(_, c)| c.slice()).collect();
            let mut out: Vec<_> = outputs.iter_mut().map(|(_, c)| c.slice_mut()).collect();
            sweep(&*problem.sweep, problem.units, problem.elements(), &slices, &mut out, threads);
            drop(out);
            outputs
        };
        for ((_, one), (_, two)) in sweeping(1).iter().zip(sweeping(3)) {
            assert_eq!(one.difference(&two, 0), None, "{} {dtype}", workload.name);
        }
    }
}

#[test]
fn values_dont_repeat() {
    for (workload, dtype) in rows() {
        let problem = workload.at(dtype, 30_000).expect("one of its dtypes");
        for (i, (_, column)) in problem.inputs.iter().enumerate() {
            let text = |range: std::ops::Range<usize>| match column.slice() {
                Slice::Bool(x) => format!("{:?}", &x[range]),
                Slice::UInt8(x) => format!("{:?}", &x[range]),
                Slice::Int16(x) => format!("{:?}", &x[range]),
                Slice::Int32(x) => format!("{:?}", &x[range]),
                Slice::Float16(x) => format!("{:?}", &x[range]),
                Slice::Float32(x) => format!("{:?}", &x[range]),
                Slice::Float64(x) => format!("{:?}", &x[range]),
            };
            // Single values of narrow dtypes repeat, but no sequence of 40 elements occurs twice.
            let length = 40;
            let runs = column.len() / length;
            let all: HashSet<String> = (0..runs).map(|i| text(i * length..(i + 1) * length)).collect();
            assert_eq!(all.len(), runs, "{} {dtype}, input {i}", workload.name);
        }
    }
}
