//! Evaluates a program over input files, one chunk at a time.
//!
//! A [`Job`] is type-checked as a whole, with placeholders for the files. Its [`ComputedValues`] are computed in the order in which
//! the output file stores them. The library determines the parts of files that a chunk needs ([`Chunks`]), so that `--max-bytes`
//! bounds the memory for every expression, including views. Reductions of inputs that exceed the bound are computed first, by
//! passes over the files ([`Passes`]).

use std::fs::File;
use std::path::Path;

use broadloom::text::Program;
use broadloom::{
    Array, Chunk, Chunks, DType, Error, ErrorKind, Explanation, InputPart, Literal, Passes, summary,
};
use broadloom_mem::bytes_of;

use crate::advice::{self, Given};
use crate::failure::Failure;
use crate::input::{FilePart, InputFile, Order};
use crate::progress::Progress;
use crate::run::Settings;

/// A type-checked program over files.
#[derive(Debug)]
pub struct Job {
    inputs: Vec<InputFile>,
    /// The placeholder for each input file. The results refer to the placeholders.
    placeholders: Vec<Array<'static>>,
    results: Vec<Array<'static>>,
    /// The names of the results.
    names: Vec<String>,
    is_elementwise: bool,
    settings: Settings,
    max_bytes: usize,
}

/// The name and value of an input that is a number.
pub type NumberInput = (String, Literal);

/// The array for an input that is a number. It has the dtype that the program declares; without a declaration it is weakly typed.
fn constant(program: &Program, name: &str, number: Literal) -> Array<'static> {
    let declared = program.inputs().find(|input| input.name() == name).and_then(|input| input.dtype());
    let number = Array::scalar(number);
    declared.map_or(number.clone(), |dtype| number.astype(dtype))
}

/// The indices of results of the same shape, which are computed together.
pub type ResultGroup<'g> = &'g [usize];

impl Job {
    /// Type-checks a program over files and numbers. A chunk takes at most `max_bytes` of memory.
    pub fn new(
        program: &Program,
        inputs: Vec<InputFile>,
        numbers: &[NumberInput],
        settings: Settings,
        max_bytes: usize,
    ) -> Result<Job, Failure> {
        let described = |(name, number): &NumberInput| Given {
            name: name.clone(),
            described: format!("`{name}` is {number}"),
        };
        let given: Vec<Given> =
            inputs.iter().map(InputFile::given).chain(numbers.iter().map(described)).collect();
        if let Some(error) = advice::undeclared(program, &given) {
            return Err(Failure::Text(error));
        }
        let placeholders = inputs.iter().map(InputFile::placeholder).collect::<Result<Vec<_>, Failure>>()?;
        let names = inputs.iter().zip(&placeholders);
        let names = names.map(|(input, stored)| (&*input.name, input.of_stored(stored)));
        let constants = numbers.iter().map(|(name, number)| (&**name, constant(program, name, *number)));
        let names: Vec<_> = names.chain(constants).collect();
        let results = settings.build(program, &names).map_err(|failure| match failure {
            Failure::Text(error) => Failure::Text(advice::about(error, program, &given)),
            failure => failure,
        })?;
        let names = program.outputs().map(str::to_owned).collect();
        let is_elementwise = program.is_elementwise();
        Ok(Job { inputs, placeholders, results, names, is_elementwise, settings, max_bytes })
    }

    /// A job that copies the array of an open `.npy` file, with the settings of this job.
    pub fn of_file(&self, path: &Path, file: File) -> Result<Job, Failure> {
        let name = "result";
        let program = Program::parse(name).map_err(Failure::Text)?;
        // The limit is raised to at least 1 MiB, because copying the array may take more memory than computing it.
        let max_bytes = self.max_bytes.max(1 << 20);
        Job::new(&program, vec![InputFile::of_file(name, path, file)?], &[], self.settings.clone(), max_bytes)
    }

    /// The names of the results.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The dtype of a result.
    pub fn dtype(&self, result: usize) -> DType {
        self.results[result].dtype()
    }

    /// The extents of a result.
    pub fn shape(&self, result: usize) -> &[usize] {
        self.results[result].shape()
    }

    /// The order of the elements in output files: Fortran order if every input with more than one axis is in Fortran order, and C
    /// order if not.
    pub fn order(&self) -> Order {
        let mut orders = self.inputs.iter().filter_map(InputFile::order).peekable();
        if !self.is_elementwise {
            return Order::C;
        }
        let is_fortran = orders.peek().is_some() && orders.all(|order| order == Order::Fortran);
        if is_fortran { Order::Fortran } else { Order::C }
    }

    /// Explains how the results are evaluated in this order, one result at a time.
    pub fn explain(&self, order: Order) -> Result<String, Failure> {
        let mut text = String::new();
        for (result, name) in self.names.iter().enumerate() {
            if self.names.len() > 1 {
                text += &format!("{name}: ");
            }
            for (chunks, explanation) in self.explained(result, order, false)? {
                text += &format!("{chunks}\n{explanation}");
            }
        }
        Ok(text)
    }

    /// Explains how a result is evaluated, as an HTML page that contains the code of the kernels. If there are passes over the
    /// files, the page explains the first pass instead.
    pub fn explain_html(&self, result: usize, order: Order, title: &str) -> Result<String, Failure> {
        let mut explained = self.explained(result, order, true)?.into_iter();
        let (chunks, explanation) = explained.next().ok_or_else(|| internal("nothing is explained"))?;
        let title = format!("{title} → {}", chunks.trim_end_matches("; of the first:"));
        Ok(broadloom_html::page(&explanation, &title))
    }

    /// Explains the first pass over the files, if any, and the result. Each explanation consists of a sentence on the number of
    /// chunks and the explanation of the first chunk.
    fn explained(
        &self,
        result: usize,
        order: Order,
        code: bool,
    ) -> Result<Vec<(String, Explanation)>, Failure> {
        let mut explained = Vec::new();
        let mut passes = self.passes(&[result], order, None)?;
        let more = match passes.len() {
            0 | 1 => String::new(),
            2 => ", and another pass".to_owned(),
            n => format!(", and {} other passes", n - 1),
        };
        if let Some(chunk) = passes.next_chunk().map_err(Failure::Eval)? {
            let parts = self.parts(chunk.parts())?;
            let arrays = arrays(&parts)?;
            let results = chunk.results(&arrays).map_err(Failure::Eval)?;
            let inputs = chunk.parts().iter().map(|part| &*self.inputs[part.input].name);
            let explanation = self.settings.explain(&results.iter().collect::<Vec<_>>(), code)?;
            let words = format!("{}{more}; of the first:", chunk.describe());
            explained.push((words, explanation.with_inputs(inputs.zip(&arrays))));
        }
        let chunks = self.chunks(passes.planned())?;
        let extents: Vec<String> = self.shape(result).iter().map(usize::to_string).collect();
        let (dtype, shape, count) = (self.dtype(result), extents.join(","), chunks.len());
        let first = chunks.get(0).ok_or_else(|| internal("a result without chunks"))?;
        let first = first.map_err(Failure::Eval)?;
        let parts = self.parts(first.parts())?;
        let arrays = arrays(&parts)?;
        let results = first.results(&arrays).map_err(Failure::Eval)?;
        let array = results.first().ok_or_else(|| internal("a chunk without a result"))?;
        let elements = array.len();
        let words = match count {
            1 => format!("{dtype}[{shape}] in one chunk"),
            _ => format!("{dtype}[{shape}] in {count} chunks of {elements} elements or fewer; of the first:"),
        };
        let inputs = first.parts().iter().map(|part| &*self.inputs[part.input].name);
        explained.push((words, self.settings.explain(&[array], code)?.with_inputs(inputs.zip(&arrays))));
        Ok(explained)
    }

    /// Formats the results as text. If there are several, each follows its name.
    pub fn texts(&self) -> Result<String, Failure> {
        if self.names.len() == 1 {
            return self.text(0);
        }
        let named = |(result, name)| Ok(format!("{name} =\n{}", self.text(result)?));
        Ok(self.names.iter().enumerate().map(named).collect::<Result<Vec<_>, Failure>>()?.join("\n"))
    }

    /// Formats a result as text, or as a summary if it is large. Only the elements that are shown, and those that reductions need,
    /// are computed, unless an element that is not shown could make the evaluation fail.
    fn text(&self, result: usize) -> Result<String, Failure> {
        if self.settings.can_fail() {
            let mut values = self.values("computing", &[result], Order::C, None)?;
            while values.next()?.is_some() {}
        }
        let mut passes = self.planned(&[self.results[result].clone()])?;
        let mut progress = Progress::new("computing", passes.bytes() as u64);
        self.run(&mut passes, &mut progress)?;
        let computed = passes.results().map_err(Failure::Eval)?.first();
        let computed = computed.ok_or_else(|| internal("a result that was not computed"))?;
        let mut failure = None;
        let text = summary(computed, &self.stored(), |chunk| {
            let missing = || Error::new(ErrorKind::Internal, "a chunk without a result");
            match self.evaluate(chunk) {
                Ok(mut values) => values.pop().ok_or_else(missing),
                Err(error) => {
                    failure = Some(error);
                    Err(missing())
                }
            }
        });
        text.map_err(|error| failure.unwrap_or(Failure::Eval(error)))
    }

    /// Computes results and returns their elements in the given order, chunk by chunk. The elements are converted to `dtype` if it
    /// is given.
    ///
    /// # Errors
    /// A limit error if no chunk fits the memory limit. It is returned before any element is computed.
    pub fn values(
        &self,
        what: &'static str,
        group: ResultGroup<'_>,
        order: Order,
        dtype: Option<DType>,
    ) -> Result<ComputedValues<'_>, Failure> {
        let passes = self.passes(group, order, dtype)?;
        let results = if passes.is_empty() { Some(self.computed(&passes)?) } else { None };
        let bytes = |&result: &usize| {
            let elements = self.shape(result).iter().product::<usize>() as u64;
            elements * dtype.unwrap_or(self.dtype(result)).size() as u64
        };
        let progress = Progress::new(what, passes.bytes() as u64 + group.iter().map(bytes).sum::<u64>());
        Ok(ComputedValues { job: self, passes, results, at: 0, progress, done: 0 })
    }

    /// Plans the passes over the files that these results need. The results are transposed and converted to what the output files
    /// store.
    fn passes(
        &self,
        group: ResultGroup<'_>,
        order: Order,
        dtype: Option<DType>,
    ) -> Result<Passes<'static>, Failure> {
        let stored = |&result: &usize| {
            let array = &self.results[result];
            let array = array.astype(dtype.unwrap_or(array.dtype()));
            // A bool is stored as a byte, so bools are converted to uint8.
            let array = if array.dtype() == DType::Bool { array.astype(DType::UInt8) } else { array };
            if order == Order::Fortran { array.t() } else { array }
        };
        self.planned(&group.iter().map(stored).collect::<Vec<_>>())
    }

    /// Plans the passes over the files that these results need.
    fn planned(&self, results: &[Array<'static>]) -> Result<Passes<'static>, Failure> {
        let borrowed: Vec<&Array<'static>> = results.iter().collect();
        let passes = self.settings.passes(&borrowed, &self.stored(), self.max_bytes);
        passes.map_err(|error| self.limit(error, &borrowed))
    }

    /// Runs passes over the files, and returns the number of bytes they have read.
    fn run(&self, passes: &mut Passes<'static>, progress: &mut Progress) -> Result<u64, Failure> {
        let mut done = 0;
        progress.reached(done)?;
        while let Some(chunk) = passes.next_chunk().map_err(Failure::Eval)? {
            let parts = self.parts(chunk.parts())?;
            done += chunk.bytes() as u64;
            chunk.fold(&arrays(&parts)?).map_err(Failure::Eval)?;
            progress.reached(done)?;
        }
        Ok(done)
    }

    /// Divides results into chunks; their passes must have run. Also returns the chunks of values that no result uses, but that
    /// must be evaluated because they may fail.
    fn computed(&self, passes: &Passes<'static>) -> Result<Computed, Failure> {
        let results = passes.results().map_err(Failure::Eval)?;
        let borrowed: Vec<&Array<'static>> = results.iter().collect();
        let unread = passes.unread().map_err(|error| self.limit(error, &borrowed))?;
        Ok(Computed { chunks: self.chunks(results)?, unread })
    }

    fn chunks(&self, results: &[Array<'static>]) -> Result<Chunks<'static>, Failure> {
        let borrowed: Vec<&Array<'static>> = results.iter().collect();
        let chunks = self.settings.chunks(&borrowed, &self.stored(), self.max_bytes);
        chunks.map_err(|error| self.limit(error, &borrowed))
    }

    /// Converts an engine error to a failure. If the memory limit is too small for these results, the failure advises a value of
    /// `--max-bytes` that is sufficient.
    fn limit(&self, error: Error, results: &[&Array<'static>]) -> Failure {
        if !error.is_limit() {
            return Failure::Eval(error);
        }
        let help = match self.settings.least_bytes(results, &self.stored()) {
            Ok(least) => format!("--max-bytes {least} is enough"),
            Err(_) => "--max-bytes sets the limit".to_owned(),
        };
        Failure::Eval(Error::new(ErrorKind::Limit, error.message()).with_help(help))
    }

    /// The placeholder of each file.
    fn stored(&self) -> Vec<&Array<'static>> {
        self.placeholders.iter().collect()
    }

    /// Loads parts of the input files.
    fn parts(&self, parts: &[InputPart]) -> Result<Vec<FilePart>, Failure> {
        parts.iter().map(|part| self.inputs[part.input].part(&part.ranges)).collect()
    }

    /// Evaluates a chunk.
    fn evaluate(&self, chunk: &Chunk<'_, 'static>) -> Result<Vec<Array<'static>>, Failure> {
        let parts = self.parts(chunk.parts())?;
        let results = chunk.results(&arrays(&parts)?).map_err(Failure::Eval)?;
        self.settings.eval(&results.iter().collect::<Vec<_>>())
    }
}

fn arrays(parts: &[FilePart]) -> Result<Vec<Array<'_>>, Failure> {
    parts.iter().map(FilePart::array).collect()
}

fn internal(why: &str) -> Failure {
    Failure::Eval(Error::new(ErrorKind::Internal, why))
}

/// Results whose passes have run, divided into chunks.
struct Computed {
    chunks: Chunks<'static>,
    /// Chunks of values that no result uses. They are evaluated because an error in them fails the evaluation, and they come first
    /// so that this error is found before results are computed.
    unread: Vec<Chunks<'static>>,
}

/// Computes the elements of results, chunk by chunk.
pub struct ComputedValues<'j> {
    job: &'j Job,
    passes: Passes<'static>,
    /// The chunks of the results; `None` before the passes have run.
    results: Option<Computed>,
    /// The index of the next chunk.
    at: usize,
    progress: Progress,
    done: u64,
}

impl ComputedValues<'_> {
    /// Computes the next chunk, one array per result; `None` after the last chunk.
    pub fn next(&mut self) -> Result<Option<Vec<Array<'static>>>, Failure> {
        let job = self.job;
        let results = match &mut self.results {
            Some(results) => results,
            None => {
                self.done = job.run(&mut self.passes, &mut self.progress)?;
                self.results.insert(job.computed(&self.passes)?)
            }
        };
        for chunk in std::mem::take(&mut results.unread).iter().flat_map(Chunks::iter) {
            self.progress.reached(self.done)?;
            job.evaluate(&chunk.map_err(Failure::Eval)?)?;
        }
        self.progress.reached(self.done)?;
        let Some(chunk) = results.chunks.get(self.at) else { return Ok(None) };
        let values = job.evaluate(&chunk.map_err(Failure::Eval)?)?;
        self.at += 1;
        self.done += values.iter().map(|array| (array.len() * array.dtype().size()) as u64).sum::<u64>();
        Ok(Some(values))
    }
}

macro_rules! define_bytes {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {
        /// The bytes of an evaluated array, which must not be of dtype bool.
        pub fn bytes<'v>(array: &'v Array<'_>) -> Result<&'v [u8], Failure> {
            let bytes = match array.dtype() {
                $(DType::$variant => array.as_slice::<$rust>().map(bytes_of),)*
            };
            bytes.ok_or_else(|| internal("a chunk was not evaluated"))
        }
    };
}
broadloom_math::for_each_dtype!(define_bytes);
