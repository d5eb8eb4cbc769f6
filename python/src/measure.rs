//! The engine's own time, for benchmarks: what a call from Python is compared with.

use std::time::Instant;

use broadloom::{Array, In, Out};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::OrRaise;
use crate::kernel::Kernel;
use crate::memory::NumpyMemory;

/// The seconds that so many runs of a kernel take, each into new results, with nothing of Python between them.
#[pyfunction]
pub fn engine_seconds(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arrays: Vec<Bound<'_, PyUntypedArray>>,
    runs: usize,
) -> PyResult<f64> {
    let kernel = kernel.get().kernel();
    let memory = arrays.iter().map(|array| NumpyMemory::of(array).map_err(|why| why.exception(array)));
    let memory: SmallVec<[NumpyMemory; 4]> = memory.collect::<PyResult<_>>()?;
    // SAFETY: `arrays` keeps them alive until the last run is over.
    let inputs: SmallVec<[In<'_>; 4]> = memory.iter().map(|memory| unsafe { memory.input() }).collect();
    let call = kernel.bind_like(&inputs).or_raise()?;
    let run = || {
        let results = call.output_shapes().zip(kernel.outputs());
        let mut results: SmallVec<[Array<'static>; 2]> =
            results.map(|(shape, port)| Array::for_overwrite(shape, port.dtype)).collect::<Result<_, _>>()?;
        let outputs = results.iter_mut().filter_map(|result| {
            let dtype = result.dtype();
            result.as_bytes_mut().map(|bytes| Out::bytes(dtype, bytes))
        });
        call.run(&inputs, outputs)
    };
    py.detach(|| {
        let begun = Instant::now();
        (0..runs).try_for_each(|_| run())?;
        Ok(begun.elapsed().as_secs_f64())
    })
    .or_raise()
}
