//! Evaluation in chunks, for operands and results that are larger than memory.
//!
//! A chunk is a part of the results. [`Chunks`] determines its maximum size, and traces through views which part of each input
//! the chunk needs. A [`Chunk`] provides expressions for its part of the results, which are evaluated like any others. These
//! expressions have the same structure in all chunks of full size, and so share one plan. Only chunks that begin or end within a
//! row of a reshape have plans of their own; even these share the machine code.

mod contracted;
mod cuts;
mod narrow;
mod pass;
mod passes;
mod plan;
mod recurrence;
mod reshape;
mod scan;
mod window;

#[cfg(test)]
mod tests;

use std::ops::Range;

use broadloom_core::{Error, ErrorKind, Result};

use crate::array::{Array, Kind, Leaf};
use crate::engine::Options;
use cuts::Cuts;
use narrow::{Nodes, Windows};
pub use passes::{PassChunk, Passes};
pub(crate) use window::Window;

/// Results that are computed chunk by chunk, in row-major order, so that the memory in use is bounded.
///
/// Data larger than memory is an [`Array::input`], identified by name; arrays in memory are used as they are. Each [`Chunk`]
/// lists the [parts](Chunk::parts) of the inputs that it needs, and builds its [results](Chunk::results) from them as lazy
/// arrays. Views are supported: a slice needs some more rows, a reversal rows from the opposite end, a permutation columns
/// instead of rows. A chunk needs all elements of its reductions, and along the axis of a scan all elements before its own.
/// Reductions and scans of data that exceeds memory are computed beforehand by [`Passes`].
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{Chunks, Options};
///
/// // The contents of a file, which is read in parts.
/// let file: Vec<f64> = (0..1000).map(|i| f64::from(i * i)).collect();
/// let x = Array::input("x", DType::Float64, &[1000.into()])?;
/// let steps = x.slice(1..)? - x.slice(..-1)?;
///
/// let options = Options { max_bytes: 2000, ..Options::default() };
/// let chunks = Chunks::new(&[&steps], &[&x], &options)?;
/// let mut written = Vec::new();
/// for chunk in chunks.iter() {
///     let chunk = chunk?;
///     let mut parts = Vec::new();
///     for part in chunk.parts() {
///         let rows = part.ranges[0].clone(); // of input 0, the only one
///         parts.push(Array::from_slice(&file[rows])); // an application would read them
///     }
///     written.extend(chunk.results(&parts)?[0].to_vec::<f64>()?);
/// }
/// assert_eq!(chunks.len(), 9);
/// assert_eq!(written, (0..999).map(|i| f64::from(2 * i + 1)).collect::<Vec<_>>());
/// # Ok::<(), Error>(())
/// ```
pub struct Chunks<'a> {
    nodes: Nodes<'a>,
    inputs: Vec<Array<'a>>,
    /// For each node that is an input, the index of this input.
    input_of: Vec<Option<usize>>,
    cuts: Cuts,
    /// The number of leading axes that all results have in common.
    common: usize,
    options: Options,
}

impl<'a> Chunks<'a> {
    /// Divides results into chunks. The parts of inputs, results and temporaries of a chunk take at most [`Options::max_bytes`]
    /// together, as far as their sizes can be estimated beforehand.
    ///
    /// The division is along one of the leading axes that the results have in common, at the same indices for all results: along
    /// the first axis if one index of it fits, else along a later one, with a single index along each axis before it. Results of
    /// equal shape can be divided along any axis.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the smallest chunk exceeds the limit; [`ErrorKind::Memory`] for an [`Array::input`] that is not
    /// among the inputs, and for an array among the inputs that is not an [`Array::input`]; [`ErrorKind::Name`] for two inputs of
    /// one name; [`ErrorKind::Shape`] for dynamic dimensions.
    pub fn new(results: &[&Array<'a>], inputs: &[&Array<'a>], options: &Options) -> Result<Chunks<'a>> {
        Chunks::within(results, inputs, options, false)
    }

    /// Implements [`Chunks::new`], and also accepts results that depend on passes.
    fn within(
        results: &[&Array<'a>],
        inputs: &[&Array<'a>],
        options: &Options,
        rests_on_passes: bool,
    ) -> Result<Chunks<'a>> {
        let contracted = if options.contract { contracted::contracted(results)? } else { Vec::new() };
        let contracted: Vec<&Array<'a>> = contracted.iter().collect();
        let mut chunks = Chunks::whole(if options.contract { &contracted } else { results }, inputs)?;
        chunks.options = options.clone();
        match chunks.fit(options.max_bytes)? {
            true => Ok(chunks),
            false => Err(chunks.too_large(rests_on_passes)),
        }
    }

    /// Chooses the largest chunks that take at most `max_bytes`, or the smallest possible chunks if none fit. Returns whether the
    /// chosen chunks fit.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for more elements than memory can address.
    fn fit(&mut self, max_bytes: usize) -> Result<bool> {
        let shape = self.cuts.shape().to_vec();
        let cuts = Cuts::largest(&shape, |cuts| -> Result<bool> {
            // An input's window can have another size in the middle than at the ends: in the middle, the window of a reversal
            // meets the window of the reversal's other operand.
            let last = cuts.count() - 1;
            for i in [0, last / 2, last] {
                let windows = self.nodes.windows(&self.wanted(&cuts.get(i)))?;
                let bytes = self.nodes.bytes(&windows).saturating_add(self.nodes.result_bytes(&windows));
                if bytes > max_bytes {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        let fits = cuts.is_some();
        self.cuts = cuts.unwrap_or_else(|| Cuts::smallest(&shape));
        Ok(fits)
    }

    /// Makes a single chunk of all elements.
    ///
    /// # Errors
    /// The errors of [`Chunks::new`], except those of the limit.
    pub(crate) fn whole(results: &[&Array<'a>], inputs: &[&Array<'a>]) -> Result<Chunks<'a>> {
        let nodes = Nodes::of(results)?;
        let input_of = numbered(&nodes, inputs)?;
        let common = common_axes(results);
        let shape = results.first().map_or(&[][..], |first| &first.shape()[..common]);
        let inputs = inputs.iter().copied().cloned().collect();
        Ok(Chunks { nodes, inputs, input_of, cuts: Cuts::none(shape), common, options: Options::default() })
    }

    /// Calls `each` for chunks that together contain the elements of a window of the only result, and passes each chunk's own
    /// window. A chunk that would compute elements that it does not need is split, down to single elements. After about a
    /// thousand chunks none is split any more, and some elements may be computed needlessly.
    ///
    /// # Errors
    /// The first error that `each` returns.
    pub(crate) fn for_each_exact(
        &self,
        window: &Window,
        mut each: impl FnMut(&Chunk<'_, 'a>, &Window) -> Result<()>,
    ) -> Result<()> {
        const MAX_CHUNKS: usize = 1 << 10;
        let (mut done, mut waiting) = (0, vec![window.clone()]);
        while let Some(window) = waiting.pop() {
            let chunk = Chunk::of(self, window.ranges(), vec![window.clone()])?;
            let splits = if chunk.windows.excess > 0 { window.indices_of_first_axis() } else { Vec::new() };
            if splits.is_empty() || done + waiting.len() + splits.len() > MAX_CHUNKS {
                each(&chunk, &window)?;
                done += 1;
            } else {
                waiting.extend(splits);
            }
        }
        Ok(())
    }

    /// The number of chunks, which is at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a chunk")]
    pub fn len(&self) -> usize {
        self.cuts.count()
    }

    /// Chunk `i`, in row-major order of the results; `None` if `i` is [`Chunks::len`] or more.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for more elements than memory can address.
    pub fn get(&self, i: usize) -> Option<Result<Chunk<'_, 'a>>> {
        (i < self.len()).then(|| {
            let ranges = self.cuts.get(i);
            let wanted = self.wanted(&ranges);
            Chunk::of(self, ranges, wanted)
        })
    }

    /// The chunks, in row-major order of the results. The errors are those of [`Chunks::get`].
    pub fn iter(&self) -> impl Iterator<Item = Result<Chunk<'_, 'a>>> {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    /// Chunks of the expressions that may fail in elements that no result reads: an index or a label may be out of range, a loop may
    /// reach the maximum number of iterations and, under [`IntDivision::Error`](crate::IntDivision::Error), a divisor may be zero. That
    /// is an error when the complete results are evaluated, but chunks of the results do not compute the element. An application
    /// therefore evaluates the returned chunks before the first chunk of the results, only for their errors.
    ///
    /// # Errors
    /// The errors of [`Chunks::new`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Chunks, IntDivision, Options};
    ///
    /// let x = Array::from_vec(vec![0_i32, 1, 2, 3]);
    /// let rest = Array::scalar(6).try_floor_divide(&x)?.slice(1..)?;
    /// let options = Options { int_division: IntDivision::Error, ..Options::default() };
    /// let chunks = Chunks::new(&[&rest], &[], &options)?;
    /// let unread = &chunks.unread()?[0];
    /// for chunk in unread.iter() {
    ///     let quotients = chunk?.results(&[])?;
    ///     assert!(quotients[0].eval_with(&options).unwrap_err().is_zero_division());
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unread(&self) -> Result<Vec<Chunks<'a>>> {
        let inputs: Vec<&Array<'a>> = self.inputs.iter().collect();
        let nodes = self.nodes.partly_read(self.options.int_division);
        nodes.into_iter().map(|node| Chunks::new(&[node], &inputs, &self.options)).collect()
    }

    /// For each result, the window that has these indices along the common axes.
    fn wanted(&self, ranges: &[Range<usize>]) -> Vec<Window> {
        let window = |result: &Array<'a>| {
            let rest = result.shape()[self.common..].iter().map(|&extent| 0..extent);
            Window::of_ranges(ranges.iter().cloned().chain(rest))
        };
        self.nodes.results().map(window).collect()
    }

    /// The error if even the first of the smallest chunks exceeds the limit. It names the view, reduction or scan that needs the
    /// most bytes.
    fn too_large(&self, rests_on_passes: bool) -> Error {
        let windows = match self.nodes.windows(&self.wanted(&self.cuts.get(0))) {
            Ok(windows) => windows,
            Err(error) => return error,
        };
        let bytes = self.nodes.bytes(&windows).saturating_add(self.nodes.result_bytes(&windows));
        let limit = self.options.max_bytes;
        let why = match rests_on_passes {
            // A larger limit may lead to other passes, with smaller chunks, so the size of this chunk is not reported.
            true => format!("the limit of {limit} bytes of memory is too small"),
            false => format!("the smallest chunk takes {bytes} bytes of memory, the limit is {limit}"),
        };
        let need = self.nodes.largest_need(&windows).map_or(String::new(), |(node, of, bytes)| {
            format!("; {node} needs {bytes} bytes of {}{}", of.dtype(), of.0.shape)
        });
        Error::new(ErrorKind::Limit, why + &need).with_help("the option max_bytes sets the limit")
    }
}

impl std::fmt::Debug for Chunks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunks").field("len", &self.len()).field("first", &self.cuts.get(0)).finish()
    }
}

/// A part of an input that a [`Chunk`] needs. Its elements are passed to [`Chunk::results`] as an array of the same shape.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputPart {
    /// The index of the input.
    pub input: usize,
    /// The indices along each axis of the input.
    pub ranges: Vec<Range<usize>>,
}

/// A part of the results of [`Chunks`].
pub struct Chunk<'c, 'a> {
    chunks: &'c Chunks<'a>,
    ranges: Vec<Range<usize>>,
    wanted: Vec<Window>,
    windows: Windows,
    parts: Vec<InputPart>,
}

impl<'c, 'a> Chunk<'c, 'a> {
    fn of(chunks: &'c Chunks<'a>, ranges: Vec<Range<usize>>, wanted: Vec<Window>) -> Result<Chunk<'c, 'a>> {
        let windows = chunks.nodes.windows(&wanted)?;
        let mut parts = Vec::new();
        for (node, input) in chunks.input_of.iter().enumerate() {
            let Some(input) = *input else { continue };
            let windows = windows.filled(node);
            parts.extend(windows.map(|window| InputPart { input, ranges: window.ranges() }));
        }
        Ok(Chunk { chunks, ranges, wanted, windows, parts })
    }

    /// The ranges of indices of the results along their common leading axes; the other axes are complete.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The parts of inputs from which the chunk is computed. An input that is not read has no parts; any other input may have
    /// several.
    pub fn parts(&self) -> &[InputPart] {
        &self.parts
    }

    /// Builds the results' elements in this chunk, as lazy arrays. `parts` contains one array for each of the
    /// [parts](Chunk::parts), in the same order.
    ///
    /// # Errors
    /// [`ErrorKind::DType`] and [`ErrorKind::Shape`] for an array that does not match its part; [`ErrorKind::Arity`] if the
    /// number of arrays is not the number of parts.
    pub fn results<'p>(&self, parts: &[Array<'p>]) -> Result<Vec<Array<'p>>>
    where
        'a: 'p,
    {
        if parts.len() != self.parts.len() {
            let (given, needed) = (parts.len(), self.parts.len());
            return Err(Error::new(ErrorKind::Arity, format!("chunk: {given} parts of {needed}")));
        }
        let mut next = self.parts.iter().zip(parts);
        let chunks = self.chunks;
        chunks.nodes.build(&self.windows, &self.wanted, |node, window| {
            let Some(input) = chunks.input_of[node] else { return chunks.nodes.leaf(node, window) };
            // Nodes and their windows are visited in the order in which their parts were listed.
            let internal = || Error::new(ErrorKind::Internal, "a part of an input is missing");
            let (part, array) = next.next().ok_or_else(internal)?;
            let declared = &chunks.inputs[input];
            let shape = window.shape()?;
            let kind = match () {
                () if array.dtype() != declared.dtype() => ErrorKind::DType,
                () if array.0.dims.is_some() || array.shape() != &shape[..] => ErrorKind::Shape,
                () => return Ok(array.clone()),
            };
            let (dtype, given) = (declared.dtype(), array.all_dims());
            let why = format!(
                "chunk: part {:?} of input {input} is {dtype}{shape}, not {}{given}",
                part.ranges,
                array.dtype()
            );
            Err(Error::new(kind, why))
        })
    }
}

impl std::fmt::Debug for Chunk<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunk").field("ranges", &self.ranges).field("parts", &self.parts).finish()
    }
}

/// For each node that is an input, the index of this input.
fn numbered(nodes: &Nodes<'_>, inputs: &[&Array<'_>]) -> Result<Vec<Option<usize>>> {
    let mut names = std::collections::HashMap::new();
    for (i, input) in inputs.iter().enumerate() {
        let Some(Leaf::Input(name)) = input.leaf() else {
            let why = format!(
                "chunks: input {i} is no Array::input; arrays in memory are used without being listed"
            );
            return Err(Error::new(ErrorKind::Memory, why));
        };
        if names.insert(&**name, i).is_some() {
            return Err(Error::new(ErrorKind::Name, format!("chunks: two inputs have the name `{name}`")));
        }
    }
    let number = |(_, array): (usize, &Array<'_>)| {
        let Kind::Leaf(Leaf::Input(name)) = &array.0.kind else { return Ok(None) };
        let found = names
            .get(&**name)
            .filter(|&&i| inputs[i].dtype() == array.dtype() && inputs[i].all_dims() == array.all_dims());
        let unknown = || {
            let why = format!(
                "`{name}` ({}{}) is an input of kernels: it has no values",
                array.dtype(),
                array.0.shape
            );
            Error::new(ErrorKind::Memory, why)
                .with_help("list it among the inputs of chunks, or build a Kernel and run it on values")
        };
        found.copied().map(Some).ok_or_else(unknown)
    };
    nodes.iter().map(number).collect()
}

/// The number of leading axes along which all results have equal extents.
fn common_axes(results: &[&Array<'_>]) -> usize {
    let Some((first, rest)) = results.split_first() else { return 0 };
    let with =
        |other: &&Array<'_>| first.shape().iter().zip(other.shape()).take_while(|(a, b)| a == b).count();
    rest.iter().map(with).min().unwrap_or(first.rank())
}
