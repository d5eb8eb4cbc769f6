//! The run of a function that computes the values of its operands, since the extents of its results depend on them. It keeps the
//! options of its evaluation: the limits of memory and time, the threads, and the wish to stop.

use std::time::Instant;

use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape};
use broadloom_mem::FloatEnv;
use broadloom_sort::Workers;

use crate::array::Array;
use crate::engine::{self, Ended, Options, Watch, Work};
use crate::evaluation::Evaluation;

/// The number of bytes of the values of an array.
pub(crate) fn bytes(array: &Array<'_>) -> usize {
    array.len().saturating_mul(array.dtype().size())
}

/// The bytes of values that [`ValueRun::values`] returned.
pub(crate) fn borrowed<'b>(values: &'b Array<'_>) -> &'b [u8] {
    values.borrowed_bytes().unwrap_or_default()
}

/// The bytes of memory that [`ValueRun::memory`] returned.
pub(crate) fn written<'w>(memory: &'w mut Array<'static>) -> &'w mut [u8] {
    memory.as_bytes_mut().unwrap_or_default()
}

/// The approximate time per element and comparison of a sort, in nanoseconds.
const COMPARISON: f64 = 1.0;

impl Evaluation<'_> {
    /// The run of a sort of `count` elements in rows of `row`. Its time begins now.
    pub(crate) fn run(&self, count: usize, row: usize) -> ValueRun<'_> {
        ValueRun::begin(self, count, COMPARISON * count as f64 * (2.0 + row as f64).log2())
    }
}

/// A run of such a function.
pub(crate) struct ValueRun<'r> {
    evaluation: &'r Evaluation<'r>,
    /// The options of the evaluation.
    options: Options,
    began: Instant,
    count: usize,
    /// The estimated time without that of the operands, in nanoseconds.
    time: f64,
}

impl<'r> ValueRun<'r> {
    /// A run over `count` elements that takes about as long as `time` says, in nanoseconds. Its time limit begins now.
    pub(crate) fn begin(evaluation: &'r Evaluation<'r>, count: usize, time: f64) -> ValueRun<'r> {
        let options = evaluation.prepared(|_, options, _| options.clone());
        ValueRun { evaluation, options, began: Instant::now(), count, time }
    }

    /// The number of threads that share the work, as many as is worth their cost.
    pub(crate) fn threads(&self) -> usize {
        engine::workers::threads(&self.options, self.time)
    }

    /// Fails if the values of operands that are not in memory, and this many bytes beside them, exceed the option `max_bytes`.
    pub(crate) fn check_bytes(&self, operands: &[&Array<'_>], beside: usize) -> Result<()> {
        let computed = operands.iter().filter(|operand| operand.borrowed_bytes().is_none());
        let bytes = computed.fold(beside, |sum, operand| sum.saturating_add(bytes(operand)));
        let limit = self.options.max_bytes;
        if bytes <= limit {
            return Ok(());
        }
        let why = format!("the evaluation takes {bytes} bytes, the limit is {limit}");
        Err(Error::new(ErrorKind::Limit, why).with_help("the option max_bytes sets the limit"))
    }

    /// Memory from the engine's pool, contiguous in row-major order. Its contents are unspecified.
    pub(crate) fn memory(&self, dtype: DType, shape: &[usize]) -> Result<Array<'static>> {
        let shape = Shape::new(shape)?;
        let storage = self.evaluation.prepared(|engine, _, _| engine.buffer(dtype, shape.elements()))?;
        Ok(Array::data(storage, Layout::contiguous(shape)))
    }

    /// The values of an array, contiguous in row-major order: the array itself if it has them, or else values that are computed
    /// in the time of the run.
    pub(crate) fn values<'v>(&self, array: &Array<'v>) -> Result<Array<'v>> {
        if array.borrowed_bytes().is_some() {
            return Ok(array.clone());
        }
        let mut values = self.memory(array.dtype(), array.shape())?;
        self.part(|evaluation| evaluation.eval_into_bytes(array, written(&mut values)))?;
        Ok(values)
    }

    /// Evaluates a part of the run in what is left of its time.
    pub(crate) fn part<R>(&self, evaluate: impl FnOnce(&Evaluation<'_>) -> R) -> R {
        let options = self.remaining();
        evaluate(&self.evaluation.with_options(&options))
    }

    /// The options, with what is left of the time.
    fn remaining(&self) -> Options {
        let left = self.options.max_time.map(|limit| limit.saturating_sub(self.began.elapsed()));
        Options { max_time: left, ..self.options.clone() }
    }

    /// Runs `work` with the threads of the evaluation.
    pub(crate) fn with_workers<R, E: Into<Ended>>(
        &self,
        work: impl FnOnce(&dyn Workers) -> std::result::Result<R, E>,
    ) -> Result<R> {
        let _ieee = FloatEnv::ieee();
        let options = self.remaining();
        self.evaluation.prepared(|_, _, control| {
            let watch = Watch::begin(control, &options)?;
            let watch = Watch::over(watch, Work { elements: self.count, time: self.time })?;
            engine::lend(self.threads(), self.count, watch.as_ref(), work)
        })
    }
}
