//! Times the table of workloads with the benchmark library `criterion`.
//!
//! `cargo bench -p broadloom-bench --bench workloads` measures every workload and dtype at 1e3 and 1e5
//! elements, as a prepared kernel under each executor and as a plain loop. Words after `--` select workloads,
//! such as `triad/float32`. The command `broadloom-bench` times the same kernels and loops alternately,
//! together with a copy of memory.

use std::hint::black_box;
use std::time::Duration;

use broadloom::{DType, Executor, In, Kernel, Options};
use broadloom_bench::{SliceMut, WORKLOADS, Workload, sweep};
use criterion::{BenchmarkId, Criterion, Throughput};

fn one(c: &mut Criterion, workload: &Workload, dtype: DType, n: usize) {
    let mut problem = workload.at(dtype, n).expect("one of its dtypes");
    let mut outputs = std::mem::take(&mut problem.outputs);
    let dtypes: Vec<DType> = outputs.iter().map(|(dtype, _)| *dtype).collect();
    let mut out: Vec<SliceMut<'_>> = outputs.iter_mut().map(|(_, column)| column.slice_mut()).collect();
    let arrays = problem.arrays().expect("they fit");
    let roots = (problem.roots)(&arrays);
    let slices: Vec<_> = problem.inputs.iter().map(|(_, column)| column.slice()).collect();
    let inputs: Vec<In<'_>> = slices.iter().map(|slice| slice.input()).collect();

    let mut group = c.benchmark_group(format!("{}/{dtype}", workload.name));
    group.throughput(Throughput::Elements(problem.elements() as u64));
    group.bench_function(BenchmarkId::new("loop", n), |bench| {
        bench.iter(|| {
            sweep(&*problem.sweep, problem.units, problem.elements(), black_box(&slices), &mut out, 1);
        })
    });
    for executor in [Executor::Interp, Executor::Jit] {
        let options = Options { executor, threads: Some(1), ..Options::default() };
        let (roots, arrays): (Vec<_>, Vec<_>) = (roots.iter().collect(), arrays.iter().collect());
        let kernel = Kernel::new(&roots, &arrays, &options).expect("a kernel");
        group.bench_function(BenchmarkId::new(executor.name(), n), |bench| {
            bench.iter(|| {
                let outputs = out.iter_mut().zip(&dtypes).map(|(out, dtype)| out.output(*dtype));
                kernel.run(black_box(&inputs), outputs).expect("runs")
            })
        });
    }
}

fn main() {
    let mut c = Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .sample_size(15)
        .without_plots()
        .configure_from_args();
    for workload in WORKLOADS {
        for &dtype in workload.dtypes {
            for n in [1_000, 100_000] {
                one(&mut c, workload, dtype, n);
            }
        }
    }
    c.final_summary();
}
