//! `broadloom._core`, the extension module of the Python package. It adapts the engine to Python and computes nothing.
//!
//! Python's classes and functions are in `python/broadloom`, built on `Handle` (an expression), `Kernel`, and `Dispatch` (the
//! fast path from a call with NumPy arrays to a kernel). All access to NumPy's memory is in `memory`, and `run` releases and
//! takes the GIL.

mod arrow;
mod bound_call;
mod buffer;
mod dispatch;
mod dtype;
mod entry;
mod error;
mod generator;
mod gradients;
mod handle;
mod joining;
mod kernel;
mod loops;
mod measure;
mod memory;
mod number;
mod numexpr;
mod operations;
mod options;
mod origin;
mod random;
mod routines;
mod run;
mod segments;
mod selections;
mod table;
mod tables;
mod take;
mod trace;

use pyo3::prelude::*;

/// The extension module. The module does not declare that it can run without the GIL: on a busy machine, the main thread of CPython
/// 3.13.5t sometimes did not notice a signal while another thread evaluated, for a cause that was not found. Tables are behind
/// locks, and handles are immutable. The fields of a NumPy array are read without a lock, as NumPy's own functions read them.
#[pymodule(gil_used = true)]
mod _core {
    use pyo3::prelude::*;

    /// Loads NumPy's C interface, which the crate `numpy` would otherwise load at its first use. Loading runs Python code of
    /// NumPy's, and the crate panics if the handler of a signal raises an exception in it.
    #[pymodule_init]
    fn load_numpy(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // The crate panics if NumPy is missing. This raises ImportError.
        module.py().import("numpy")?;
        numpy::npyffi::is_numpy_2(module.py());
        Ok(())
    }

    #[pymodule_export]
    use super::arrow::lend::{arrow_array, arrow_schema, arrow_stream};
    #[pymodule_export]
    use super::arrow::take::{ArrowStream, arrow_chunk, arrow_field};
    #[pymodule_export]
    use super::buffer::Buffered;
    #[pymodule_export]
    use super::dispatch::Dispatch;
    #[pymodule_export]
    use super::entry::Entry;
    #[pymodule_export]
    use super::gradients::{
        checkpointed, custom_rule, differentiated, grad, jacobian, jvp, settled, stop_gradient, variable,
        vjp, vmap,
    };
    #[pymodule_export]
    use super::handle::Handle;
    #[pymodule_export]
    use super::joining::{concat, pad, roll, sliding_window};
    #[pymodule_export]
    use super::kernel::Kernel;
    #[pymodule_export]
    use super::loops::{cond, fori_loop, reduce, scan, while_loop};
    #[pymodule_export]
    use super::measure::engine_seconds;
    #[pymodule_export]
    use super::numexpr::{Plan, evaluate, numexpr_threads, re_evaluate, validate};
    #[pymodule_export]
    use super::operations::{apply, by_numpy, evaluate_many, input_names, promoted, result_type};
    #[pymodule_export]
    use super::options::{
        Context, default_threads, engine_info, set_context_variable, set_promotion, set_semantics,
    };
    #[pymodule_export]
    use super::random::{draw, random_choice, random_fold_in, random_key, random_permutation, random_split};
    #[pymodule_export]
    use super::routines::{
        argsort, compress_sized, histogram, isin, median, nonzero_sized, quantile, scatter, searchsorted,
        segment_count, segments, sort, topk, unique_sized,
    };
    #[pymodule_export]
    use super::segments::bincount;
    #[pymodule_export]
    use super::selections::{compress, nonzero, unique_all, unique_counts};
    #[pymodule_export]
    use super::tables::{draws, functions, reductions};
    #[pymodule_export]
    use super::take::{gather, take, take_along_axis};
    #[pymodule_export]
    use super::trace::{abandon_trace, begin_trace, capture, end_trace};
}
