//! Times kernels without Python's overhead, for benchmarks that measure the overhead of a call from Python.

use std::time::Instant;

use broadloom::{In, Out};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::OrRaise;
use crate::kernel::Kernel;
use crate::memory::NumpyMemory;

/// Runs a kernel `runs` times with these outputs, without Python code in between, and returns the seconds taken.
#[pyfunction]
pub fn engine_seconds(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arrays: Vec<Bound<'_, PyUntypedArray>>,
    outputs: Vec<Bound<'_, PyUntypedArray>>,
    runs: usize,
) -> PyResult<f64> {
    let kernel = kernel.get().kernel();
    let read: Vec<NumpyMemory> = arrays.iter().map(NumpyMemory::shared).collect::<PyResult<_>>()?;
    let written: Vec<NumpyMemory> = outputs.iter().map(NumpyMemory::out).collect::<PyResult<_>>()?;
    // SAFETY: `arrays` keeps the arrays alive until the last run ends.
    let inputs: SmallVec<[In<'_>; 4]> =
        read.iter().map(|memory| unsafe { memory.input(memory.address()) }).collect();
    let call = kernel.bind_like(&inputs).or_raise()?;
    py.detach(|| {
        let begun = Instant::now();
        for _ in 0..runs {
            // SAFETY: `outputs` keeps the arrays alive until the last run ends, and each was checked to be writeable.
            let outputs = written.iter().map(|memory| unsafe { memory.output() });
            let outputs = outputs.collect::<PyResult<SmallVec<[Out<'_>; 2]>>>()?;
            call.run(&inputs, outputs).or_raise()?;
        }
        Ok(begun.elapsed().as_secs_f64())
    })
}
