//! An expression over input files, evaluated one chunk at a time.
//!
//! A [`Job`] is typed as a whole; its [`Values`] come in the order of the output file. Memory is bounded by the chunk
//! and by the operands that are not cut along the result's slowest axis. Only expressions with views or declared types
//! are evaluated in one piece.

use broadloom::text::Expression;
use broadloom::{Array, DType, Error, ErrorKind, Explanation};
use broadloom_mem::Buffer;

use crate::chunk::{self, Chunks, Order};
use crate::failure::Failure;
use crate::input::{Input, Part};
use crate::progress::Progress;
use crate::run::Settings;

/// A well-typed expression over files.
#[derive(Debug)]
pub struct Job {
    expression: Expression,
    inputs: Vec<Input>,
    settings: Settings,
    /// The type of the result.
    pub dtype: DType,
    /// The extents of the result.
    pub shape: Vec<usize>,
    chunk_bytes: usize,
}

impl Job {
    /// Types the expression. The largest operand, or the result, takes `chunk_bytes` of memory at a time.
    pub fn new(
        expression: Expression,
        inputs: Vec<Input>,
        settings: Settings,
        chunk_bytes: usize,
    ) -> Result<Job, Failure> {
        let placeholders = inputs.iter().map(|input| Ok((&*input.name, input.placeholder()?)));
        let whole = settings.build(&expression, &placeholders.collect::<Result<Vec<_>, Failure>>()?)?;
        let (dtype, shape) = (whole.dtype(), whole.shape().to_vec());
        Ok(Job { expression, inputs, settings, dtype, shape, chunk_bytes })
    }

    /// The settings that it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The size of a chunk that it was made with.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// The order of the output file: Fortran order if every input with more than one axis has it, else C order.
    pub fn order(&self) -> Order {
        let mut orders = self.inputs.iter().filter_map(Input::order).peekable();
        if !self.expression.is_elementwise() {
            return Order::C;
        }
        let is_fortran = orders.peek().is_some() && orders.all(|order| order == Order::Fortran);
        if is_fortran { Order::Fortran } else { Order::C }
    }

    /// How the result would be evaluated in this order.
    pub fn explain(&self, order: Order) -> Result<String, Failure> {
        let explained = self.of_first_chunk(order, false)?;
        Ok(explained.map_or(String::new(), |(chunks, explanation)| format!("{chunks}\n{explanation}")))
    }

    /// The same as a page of HTML, with the code of the kernels.
    pub fn explain_html(&self, order: Order, title: &str) -> Result<String, Failure> {
        let explained = self.of_first_chunk(order, true)?;
        let page = |(chunks, explanation): (String, Explanation)| {
            explanation.to_html(&format!("{title} → {}", chunks.trim_end_matches("; of the first:")))
        };
        Ok(explained.map_or(String::new(), page))
    }

    /// A sentence on how many chunks the result has, and the explanation of the first.
    fn of_first_chunk(&self, order: Order, code: bool) -> Result<Option<(String, Explanation)>, Failure> {
        let mut chunks = self.chunks(order, self.dtype);
        let count = chunks.total();
        let Some(block) = chunks.next() else { return Ok(None) };
        let extents: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let (dtype, shape, elements) = (self.dtype, extents.join(","), chunk::elements(&block));
        let words = match count {
            1 => format!("{dtype}[{shape}] in one chunk"),
            _ => format!("{dtype}[{shape}] in {count} chunks of {elements} elements or fewer; of the first:"),
        };
        let parts = self.parts(&block, order)?;
        Ok(Some((words, self.settings.explain(&self.array(&parts)?, code)?)))
    }

    /// The result as text; a summary if it is large.
    pub fn text(&self) -> Result<String, Failure> {
        let whole: Vec<_> = self.shape.iter().map(|&extent| 0..extent).collect();
        if self.chunks(Order::C, self.dtype).total() == 1 {
            let parts = self.parts(&whole, Order::C)?;
            return Ok(self.settings.eval(&self.array(&parts)?)?.to_string());
        }
        if self.settings.can_fail() {
            let mut values = self.values("computing", Order::C, self.dtype)?;
            while values.next()?.is_some() {}
        }
        let parts = self.parts(&whole, Order::C)?;
        Ok(self.array(&parts)?.to_string())
    }

    /// The result's elements in this order, converted to a dtype, a chunk at a time.
    pub fn values(&self, what: &'static str, order: Order, dtype: DType) -> Result<Values<'_>, Failure> {
        let total = self.shape.iter().product::<usize>();
        let most = self.most(dtype).min(total);
        let buffer = Buffer::for_overwrite(most * dtype.size())
            .map_err(|error| Failure::Eval(Error::new(ErrorKind::Limit, error.to_string())))?;
        let progress = Progress::new(what, total as u64 * dtype.size() as u64);
        Ok(Values { job: self, order, dtype, chunks: self.chunks(order, dtype), buffer, progress, done: 0 })
    }

    fn chunks(&self, order: Order, dtype: DType) -> Chunks {
        Chunks::new(&order.slowest_first(&self.shape), self.most(dtype))
    }

    /// How many elements a chunk may have.
    fn most(&self, dtype: DType) -> usize {
        // A chunk of the result does not correspond to a chunk of each input.
        if !self.expression.is_elementwise() {
            return usize::MAX;
        }
        let sizes = self.inputs.iter().map(|input| input.dtype().size()).chain([dtype.size()]);
        (self.chunk_bytes / sizes.max().unwrap_or(1)).max(1)
    }

    fn parts(&self, block: &[std::ops::Range<usize>], order: Order) -> Result<Vec<Part>, Failure> {
        let is_whole = !self.expression.is_elementwise();
        self.inputs
            .iter()
            .map(|input| if is_whole { input.whole() } else { input.part(block, order) })
            .collect()
    }

    /// The expression over parts of the inputs.
    fn array<'p>(&self, parts: &'p [Part]) -> Result<Array<'p>, Failure> {
        let names = self.inputs.iter().zip(parts).map(|(input, part)| Ok((&*input.name, part.array()?)));
        self.settings.build(&self.expression, &names.collect::<Result<Vec<_>, Failure>>()?)
    }
}

/// The elements of a result, chunk by chunk.
pub struct Values<'j> {
    job: &'j Job,
    order: Order,
    dtype: DType,
    chunks: Chunks,
    /// Memory for one chunk.
    buffer: Buffer,
    progress: Progress,
    done: u64,
}

impl Values<'_> {
    /// Computes the next chunk; none at the end.
    pub fn next(&mut self) -> Result<Option<&mut [u8]>, Failure> {
        self.progress.reached(self.done)?;
        let Some(block) = self.chunks.next() else { return Ok(None) };
        let parts = self.job.parts(&block, self.order)?;
        let array = self.job.array(&parts)?.astype(self.dtype);
        self.job.settings.eval_into(&array, &mut self.buffer)?;
        let bytes = chunk::elements(&block) * self.dtype.size();
        self.done += bytes as u64;
        let whole = self.buffer.as_bytes_mut().and_then(|all| all.get_mut(..bytes));
        Ok(Some(whole.unwrap_or_default()))
    }
}
