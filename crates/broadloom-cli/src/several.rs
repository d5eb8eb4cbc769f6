//! A program of several results, computed together: what they have in common is computed once.
//!
//! Results of one shape, without views and declared types, are computed chunk by chunk, and other programs in one piece:
//! their inputs and results then fit in memory.

use broadloom::text::Program;
use broadloom::{Array, DType, Error, ErrorKind};
use broadloom_math::Elem;
use broadloom_mem::bytes_of;

use crate::chunk::{Chunks, Order};
use crate::failure::Failure;
use crate::input::{Input, Part};
use crate::progress::Progress;
use crate::run::Settings;

/// Results that have no more elements are computed together before they are printed; of others a summary is printed,
/// for which little is computed.
const PRINTED_WHOLE: usize = 1000;

/// The name, type and shape of a result.
#[derive(Clone, Debug)]
pub struct ResultType {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<usize>,
}

impl ResultType {
    /// Those of an array.
    pub fn of(name: &str, array: &Array<'_>) -> ResultType {
        ResultType { name: name.into(), dtype: array.dtype(), shape: array.shape().to_vec() }
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// A well-typed program over files.
#[derive(Debug)]
pub struct Several {
    program: Program,
    inputs: Vec<Input>,
    settings: Settings,
    /// The results in their order.
    pub results: Vec<ResultType>,
    chunk_bytes: usize,
}

impl Several {
    /// Types the program. The largest operand, or result, takes `chunk_bytes` of memory at a time where chunks are
    /// possible.
    pub fn new(
        program: Program,
        inputs: Vec<Input>,
        settings: Settings,
        chunk_bytes: usize,
    ) -> Result<Several, Failure> {
        let placeholders = inputs.iter().map(|input| Ok((&*input.name, input.placeholder()?)));
        let whole = settings.build_all(&program, &placeholders.collect::<Result<Vec<_>, Failure>>()?)?;
        let typed = program.outputs().zip(&whole);
        let results = typed.map(|(name, array)| ResultType::of(name, array)).collect();
        Ok(Several { program, inputs, settings, results, chunk_bytes })
    }

    /// Computes these results in C order, and gives the bytes of each chunk of each to `take`, by its place in `wanted`.
    pub fn each(
        &self,
        wanted: &[usize],
        take: &mut dyn FnMut(usize, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let size = |&at: &usize| self.results[at].elements() * self.results[at].dtype.size();
        let total: usize = wanted.iter().map(size).sum();
        let mut progress = Progress::new("writing", total as u64);
        let mut done = 0;
        for block in self.blocks(wanted) {
            progress.reached(done)?;
            let parts = self.parts(block.as_deref())?;
            let all = self.arrays(&parts)?;
            // A bool is the byte that it converts to.
            let chosen: Vec<Array<'_>> = wanted.iter().map(|&at| plain(&all[at])).collect();
            let chosen: Vec<&Array<'_>> = chosen.iter().collect();
            for (i, array) in self.settings.eval_many(&chosen)?.iter().enumerate() {
                done += (array.len() * array.dtype().size()) as u64;
                let misfit = || Error::new(ErrorKind::Internal, "a result is not in memory");
                take(i, bytes(array).ok_or_else(|| Failure::Eval(misfit()))?)?;
            }
        }
        progress.reached(done)
    }

    /// The results as text, each after its name; summaries of large ones.
    pub fn text(&self) -> Result<String, Failure> {
        let parts = self.parts(None)?;
        let arrays = self.arrays(&parts)?;
        let are_small = self.results.iter().all(|result| result.elements() <= PRINTED_WHOLE);
        let arrays = match are_small || self.settings.can_fail() {
            true => self.settings.eval_many(&arrays.iter().collect::<Vec<_>>())?,
            false => arrays,
        };
        let lines =
            self.results.iter().zip(&arrays).map(|(result, array)| format!("{} =\n{array}", result.name));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// How each result would be evaluated by itself.
    pub fn explain(&self) -> Result<String, Failure> {
        let parts = self.parts(None)?;
        let arrays = self.arrays(&parts)?;
        let mut text = String::new();
        for (result, array) in self.results.iter().zip(&arrays) {
            let explained = self.settings.explain(array, false)?;
            text += &format!("{} by itself\n{explained}", result.name);
        }
        Ok(text)
    }

    /// The blocks that the results are computed in; one without ranges is everything.
    fn blocks(&self, wanted: &[usize]) -> Box<dyn Iterator<Item = Option<crate::chunk::Block>>> {
        let shapes = || wanted.iter().map(|&at| &self.results[at].shape);
        let first = shapes().next().cloned().unwrap_or_default();
        if !self.program.is_elementwise() || shapes().any(|shape| *shape != first) {
            return Box::new(std::iter::once(None));
        }
        let sizes = self.inputs.iter().map(|input| input.dtype().size());
        let sizes = sizes.chain(wanted.iter().map(|&at| self.results[at].dtype.size()));
        let most = (self.chunk_bytes / sizes.max().unwrap_or(1)).max(1);
        Box::new(Chunks::new(&first, most).map(Some))
    }

    fn parts(&self, block: Option<&[std::ops::Range<usize>]>) -> Result<Vec<Part>, Failure> {
        let part = |input: &Input| match block {
            Some(block) => input.part(block, Order::C),
            None => input.whole(),
        };
        self.inputs.iter().map(part).collect()
    }

    /// The results over parts of the inputs.
    fn arrays<'p>(&self, parts: &'p [Part]) -> Result<Vec<Array<'p>>, Failure> {
        let names = self.inputs.iter().zip(parts).map(|(input, part)| Ok((&*input.name, part.array()?)));
        self.settings.build_all(&self.program, &names.collect::<Result<Vec<_>, Failure>>()?)
    }

    /// The settings that it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The size of a chunk that it was made with.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }
}

/// The array; of bools, the bytes that they convert to.
fn plain<'a>(array: &Array<'a>) -> Array<'a> {
    if array.dtype() == DType::Bool { array.astype(DType::UInt8) } else { array.clone() }
}

macro_rules! define_bytes {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {
        /// The elements in memory; bools as bytes.
        fn bytes<'a>(array: &'a Array<'static>) -> Option<&'a [u8]> {
            fn of<'e, T: broadloom::Element + Elem>(array: &'e Array<'static>) -> Option<&'e [u8]> {
                array.as_slice::<T>().map(bytes_of)
            }
            match array.dtype() {
                $(DType::$variant => of::<$rust>(array),)*
            }
        }
    };
}
broadloom_math::for_each_dtype!(define_bytes);
