//! Measures a workload: one [`Measurement`] per executor and vector width.
//!
//! Every result is compared with the plain loop's before it is timed.

use std::cell::RefCell;
use std::fmt;
use std::hint::black_box;
use std::time::Duration;

use broadloom::{Array, DType, Evaluation, Executor, In, Kernel, Options, VectorWidth, typed_graph};
use broadloom_core::graph::NodeKind;
use broadloom_core::kernel::Code;
use broadloom_core::op::Law;

use crate::clock::{self, Contender};
use crate::column::{NumberColumn, Placed, Slice, SliceMut};
use crate::problem::{Problem, sweep};
use crate::workload::Workload;

/// The maximum number of bytes that the comparison copy reads. Together with the bytes that the copy writes, this exceeds every
/// known last-level cache; the largest has 260 MiB.
const MOST_COPIED: usize = 256 << 20;

/// The number of untimed runs under [`Executor::Auto`], which tries each executor a few times if their estimates are close.
const RUNS_TO_DECIDE: usize = 10;

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The maximum number of threads, for expressions and for the plain loop.
    pub threads: usize,
    /// The executors to be measured, each in its own row.
    pub executors: Vec<Executor>,
    /// The maximum vector widths to be measured, each in its own row for each executor.
    pub vector_widths: Vec<Option<VectorWidth>>,
    /// Whether to build the expression for each evaluation, instead of running a prepared kernel.
    pub lazy: bool,
    /// The approximate time spent on a row.
    pub budget: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        let budget = Duration::from_millis(400);
        let (executors, vector_widths) = (vec![Executor::Auto], vec![None]);
        Settings { threads: 1, executors, vector_widths, lazy: false, budget }
    }
}

/// A measurement. Times are medians of one run, in which all contenders alternate.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The workload's name.
    pub workload: &'static str,
    /// The dtype of the workload.
    pub dtype: DType,
    /// The requested number of elements. If the shape has several axes, the actual number may differ slightly.
    pub n: usize,
    /// The number of elements in each result.
    pub elements: usize,
    /// The maximum number of threads.
    pub threads: usize,
    /// The requested executor.
    pub asked: Executor,
    /// The maximum vector width of machine code; `None` for the interpreter.
    pub vector_width: Option<VectorWidth>,
    /// The chosen executor, or several if an evaluation has loops with different executors.
    pub executor: String,
    /// The time per element of a result, in nanoseconds. If there are several results, this is the time for all of them, divided
    /// by the number of elements of one result.
    pub ns_per_elem: f64,
    /// The bandwidth in GB/s, with each input and output counted once.
    pub gb_s: f64,
    /// The time as a multiple of the plain loop's time.
    pub loop_ratio: f64,
    /// The bandwidth as a multiple of the bandwidth of a copy (`memcpy`) that reads and writes the same number of bytes in
    /// total.
    pub copy_ratio: f64,
    /// The plain loop's time per element, in nanoseconds.
    pub loop_ns_per_elem: f64,
    /// The bandwidth of the copy in GB/s, where both reads and writes are counted.
    pub copy_gb_s: f64,
    /// The number of operations per element, in which a function counts as its cost in the op table.
    pub ops_per_elem: f64,
    /// Whether some operations are functions, whose numbers of operations are estimates.
    pub estimated: bool,
    /// The number of bytes per element, with each input and output counted once.
    pub bytes_per_elem: f64,
}

/// The reason why a measurement failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum BenchError {
    /// The workload does not support this dtype.
    DType {
        /// The workload's name.
        workload: &'static str,
        /// The dtype that was requested.
        dtype: DType,
    },
    /// The evaluation failed.
    Eval(broadloom::Error),
    /// The results differ from the plain loop's.
    Difference(String),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::DType { workload, dtype } => write!(f, "the workload {workload} has no {dtype}"),
            BenchError::Eval(error) => error.fmt(f),
            BenchError::Difference(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<broadloom::Error> for BenchError {
    fn from(error: broadloom::Error) -> BenchError {
        BenchError::Eval(error)
    }
}

/// Measures a workload at a size. Returns a row for each executor and vector width in the settings.
///
/// # Errors
/// If the workload does not support the dtype, an evaluation fails, or a result differs from the plain loop's.
pub fn run(
    workload: &Workload,
    dtype: DType,
    n: usize,
    settings: &Settings,
) -> Result<Vec<Measurement>, BenchError> {
    let mut problem = workload.at(dtype, n).ok_or(BenchError::DType { workload: workload.name, dtype })?;
    // The outputs are moved out of the problem, so that they can be written while the problem is borrowed.
    let mut outputs = std::mem::take(&mut problem.outputs);
    let dtypes: Vec<DType> = outputs.iter().map(|(dtype, _)| *dtype).collect();
    let arrays = problem.arrays()?;
    let roots = (problem.roots)(&arrays);
    let (ops, estimated) = operations(&roots)?;
    let kernels = kernels(&roots, &arrays, settings)?;
    let slices: Vec<_> = problem.inputs.iter().map(|(_, column)| column.slice()).collect();
    let inputs: Vec<In<'_>> = slices.iter().map(|slice| slice.input()).collect();
    let measured =
        SizedWorkload { workload, dtype, n, problem: &problem, arrays: &arrays, inputs: &inputs, dtypes };
    measured.compare(&kernels, &slices, &mut outputs, settings.threads)?;

    let copied = (problem.traffic / 2).clamp(1, MOST_COPIED);
    let times = measured.time(&kernels, &slices, &mut outputs, copied, settings);
    let [ours @ .., plain, copying] = &times[..] else { return Ok(Vec::new()) };
    let elements = problem.elements();
    let per = |x: f64| x / elements as f64;
    let copy_gb_s = 2.0 * copied as f64 / copying;
    let rows = ours.iter().zip(&kernels).map(|(time, (kernel, options))| {
        let gb_s = problem.traffic as f64 / time;
        Measurement {
            workload: workload.name,
            dtype,
            n,
            elements,
            threads: settings.threads,
            asked: options.executor,
            vector_width: options.vector_width,
            executor: chosen(kernel),
            ns_per_elem: per(*time),
            gb_s,
            loop_ratio: time / plain,
            copy_ratio: gb_s / copy_gb_s,
            loop_ns_per_elem: per(*plain),
            copy_gb_s,
            ops_per_elem: per(ops),
            estimated,
            bytes_per_elem: per(problem.traffic as f64),
        }
    });
    Ok(rows.collect())
}

/// Builds a kernel for each executor and vector width in the settings.
fn kernels(
    roots: &[Array<'_>],
    arrays: &[Array<'_>],
    settings: &Settings,
) -> Result<Vec<(Kernel, Options)>, BenchError> {
    let mut kernels = Vec::new();
    for &executor in &settings.executors {
        for &vector_width in &settings.vector_widths {
            let threads = Some(settings.threads);
            let options = Options { executor, vector_width, threads, ..Options::default() };
            let (roots, inputs): (Vec<_>, Vec<_>) = (roots.iter().collect(), arrays.iter().collect());
            kernels.push((Kernel::new(&roots, &inputs, &options)?, options));
        }
    }
    Ok(kernels)
}

/// A workload at a size, with its inputs and the dtypes of its results.
struct SizedWorkload<'m, 'a> {
    workload: &'m Workload,
    dtype: DType,
    n: usize,
    problem: &'m Problem,
    arrays: &'m [Array<'a>],
    inputs: &'m [In<'a>],
    dtypes: Vec<DType>,
}

impl SizedWorkload<'_, '_> {
    /// Compares the results of each kernel with the plain loop's.
    fn compare(
        &self,
        kernels: &[(Kernel, Options)],
        slices: &[Slice<'_>],
        outputs: &mut [(DType, NumberColumn)],
        threads: usize,
    ) -> Result<(), BenchError> {
        self.problem.loop_over(slices, &mut writable(outputs), threads);
        let expected: Vec<NumberColumn> = outputs.iter_mut().map(|(_, column)| column.take()).collect();
        for (kernel, options) in kernels {
            let runs = if options.executor == Executor::Auto { RUNS_TO_DECIDE } else { 1 };
            for _ in 0..runs {
                let mut out = writable(outputs);
                let out = out.iter_mut().zip(&self.dtypes).map(|(out, dtype)| out.output(*dtype));
                kernel.run(self.inputs, out)?;
            }
            for (i, ((_, column), expected)) in outputs.iter_mut().zip(&expected).enumerate() {
                if let Some(at) = column.take().difference(expected, self.problem.ulps) {
                    let (name, dtype, n, executor) =
                        (self.workload.name, self.dtype, self.n, options.executor.name());
                    return Err(BenchError::Difference(format!(
                        "{name} ({dtype}, {n}): element {at} of result {i} is not the plain loop's with {executor}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The median time of each kernel, of the plain loop, and of a copy of `copied` bytes, in nanoseconds.
    fn time(
        &self,
        kernels: &[(Kernel, Options)],
        slices: &[Slice<'_>],
        outputs: &mut [(DType, NumberColumn)],
        copied: usize,
        settings: &Settings,
    ) -> Vec<f64> {
        let SizedWorkload { problem, arrays, inputs, dtypes, .. } = self;
        let (elements, threads) = (problem.elements(), settings.threads);
        let (source, mut target) = (source(copied), Placed::<u8>::new(copied, 1));
        let out = &RefCell::new(writable(outputs));
        let mut contenders: Vec<Contender<'_>> = Vec::new();
        for (kernel, options) in kernels {
            contenders.push(if settings.lazy {
                Box::new(move |calls| {
                    let mut out = out.borrow_mut();
                    for _ in 0..calls {
                        let done = lazily(problem, black_box(arrays), &mut out, dtypes, options);
                        assert!(done.is_ok(), "it worked before: {done:?}");
                    }
                })
            } else {
                Box::new(move |calls| {
                    let mut out = out.borrow_mut();
                    for _ in 0..calls {
                        let outputs = out.iter_mut().zip(dtypes).map(|(out, dtype)| out.output(*dtype));
                        let done = kernel.run(black_box(inputs), outputs);
                        assert!(done.is_ok(), "it worked before: {done:?}");
                    }
                })
            });
        }
        contenders.push(Box::new(|calls| {
            let mut out = out.borrow_mut();
            for _ in 0..calls {
                sweep(&*problem.sweep, problem.units, elements, black_box(slices), &mut out, threads);
            }
        }));
        contenders.push(Box::new(|calls| {
            for _ in 0..calls {
                copy(black_box(source.get()), black_box(target.get_mut()), threads);
            }
        }));
        clock::in_turns(&mut contenders, settings.budget)
    }
}

fn writable(outputs: &mut [(DType, NumberColumn)]) -> Vec<SliceMut<'_>> {
    outputs.iter_mut().map(|(_, column)| column.slice_mut()).collect()
}

/// Builds and evaluates the expressions. A single result is written to existing memory, unless it is bool, whose elements have
/// no slice type. Bools and several results are written to new arrays.
fn lazily(
    problem: &Problem,
    arrays: &[Array<'_>],
    out: &mut [SliceMut<'_>],
    dtypes: &[DType],
    options: &Options,
) -> broadloom::Result<()> {
    let roots = (problem.roots)(arrays);
    match (out, &roots[..]) {
        ([out], [root]) if dtypes != [DType::Bool] => out.evaluate(root, options),
        (_, [root]) => root.eval_with(options).map(drop),
        (_, roots) => Evaluation::with(options).eval_many(&roots.iter().collect::<Vec<_>>()).map(drop),
    }
}

/// The executors that run the loops of a kernel, without duplicates.
fn chosen(kernel: &Kernel) -> String {
    let mut names: Vec<&str> = kernel.executors().into_iter().map(Executor::name).collect();
    names.dedup();
    names.join("+")
}

/// The total number of operations on all elements, and whether some operations are functions; see [`Measurement::ops_per_elem`].
fn operations(roots: &[Array<'_>]) -> Result<(f64, bool), BenchError> {
    let typed = typed_graph(&roots.iter().collect::<Vec<_>>(), &Options::default())?;
    let (mut sum, mut estimated) = (0.0, false);
    for id in typed.graph.ids() {
        let node = typed.graph.node(id);
        if let NodeKind::Apply { op, accuracy, args } = &node.kind {
            let dtype = args.last().map_or(node.dtype, |&arg| typed.graph.node(arg).dtype);
            sum += f64::from(Code::Apply { op: *op, accuracy: *accuracy, dtype }.cost())
                * node.shape.elements() as f64;
            estimated |= op.has(Law::Approximate);
        }
    }
    Ok((sum, estimated))
}

/// The memory from which the copy reads.
fn source(len: usize) -> Placed<u8> {
    let mut bytes = Placed::new(len, 0);
    for (i, byte) in bytes.get_mut().iter_mut().enumerate() {
        *byte = i as u8;
    }
    bytes
}

/// Copies memory on at most `threads` threads.
fn copy(from: &[u8], to: &mut [u8], threads: usize) {
    if threads <= 1 {
        return to.copy_from_slice(from);
    }
    let share = from.len().div_ceil(threads).max(1 << 16);
    rayon::scope(|scope| {
        for (from, to) in from.chunks(share).zip(to.chunks_mut(share)) {
            scope.spawn(move |_| to.copy_from_slice(from));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    /// A problem whose loop computes element 5 as 1 too large.
    fn wrong(_: DType, n: usize) -> Problem {
        Problem::new(
            &[n],
            |x| smallvec![&x[0] + 1],
            |x, out, at| {
                let SliceMut::Int32(out) = &mut out[0] else { unreachable!() };
                for (out, (i, x)) in
                    out.iter_mut().zip(crate::column::part::<i32>(&x[0], &at).iter().enumerate())
                {
                    *out = x + 1 + i32::from(at.start + i == 5);
                }
            },
        )
        .reads(&[n], |bits| (bits >> 40) as i32)
        .writes::<i32>()
    }

    #[test]
    fn nothing_is_timed_that_is_not_the_loops_result() {
        let workload = Workload { name: "wrong", formula: "", dtypes: &[DType::Int32], make: wrong };
        let settings = Settings { budget: Duration::ZERO, ..Settings::default() };
        assert_eq!(run(&workload, DType::Int32, 5, &settings).map(|rows| rows.len()).ok(), Some(1));
        let error = run(&workload, DType::Int32, 9, &settings).expect_err("a difference");
        let told = "wrong (int32, 9): element 5 of result 0 is not the plain loop's with auto";
        assert_eq!(error.to_string(), told);
        let error = run(&workload, DType::Int8, 9, &settings).expect_err("no such dtype");
        assert_eq!(error.to_string(), "the workload wrong has no int8");
    }
}
