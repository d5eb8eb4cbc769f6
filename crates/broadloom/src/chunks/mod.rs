//! Evaluation in chunks, for operands and results that are larger than memory.
//!
//! A chunk is a part of the results; [`Chunks`] finds how large one may be and which part of each input it is made of,
//! through views, and a [`Chunk`] gives the expressions of that part, to be evaluated as any others. They have the same
//! structure for each whole chunk, so that one plan serves all of them, unless chunks begin and end within the rows of a
//! reshape; machine code is the same even then.

mod contracted;
mod cuts;
mod narrow;
mod pass;
mod passes;
mod plan;
mod reshape;
mod window;

#[cfg(test)]
mod tests;

use std::ops::Range;

use broadloom_core::graph::IntDivision;
use broadloom_core::{Error, ErrorKind, Result};

use crate::array::{Array, Kind, Leaf};
use crate::engine::Options;
use cuts::Cuts;
use narrow::{Nodes, Windows};
pub use passes::{PassChunk, Passes};
pub(crate) use window::Window;

/// Results that are computed chunk by chunk, in row-major order, so that what is in memory at a time is bounded.
///
/// What is larger than memory is an [`Array::input`], which stands for it by name; arrays in memory are used as they are. Each
/// [`Chunk`] says which [parts](Chunk::parts) of the inputs it is made of, and from these gives the
/// [results](Chunk::results), which are lazy. Views are no obstacle: a slice needs some rows more, a reversal rows from the
/// other end, a permutation columns instead of rows. A chunk needs all elements that its reductions combine, and all before
/// its elements along the axis of a scan; reductions of more than fits memory are computed by [`Passes`] beforehand, scans of more
/// are refused.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{Chunks, Options};
///
/// // What a file holds, and how much of it is read at a time.
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
    /// The number of the input that a node is.
    input_of: Vec<Option<usize>>,
    cuts: Cuts,
    /// The leading axes that all results have.
    common: usize,
    options: Options,
}

impl<'a> Chunks<'a> {
    /// The chunks of results over inputs, of which each takes at most [`Options::max_bytes`] for parts of inputs, results and
    /// temporaries together, as far as that can be told beforehand.
    ///
    /// The results have leading axes in common, along which they are cut, all at the same indices: along the first of
    /// them where a row fits, else along a later one, index by index along those before. Results of one shape can be
    /// cut along any axis.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] where the smallest chunk takes more than the limit; [`ErrorKind::Memory`] for an [`Array::input`]
    /// that is not among the inputs, and for an input that is none; [`ErrorKind::Name`] for two of one name;
    /// [`ErrorKind::Shape`] for dynamic dimensions.
    pub fn new(results: &[&Array<'a>], inputs: &[&Array<'a>], options: &Options) -> Result<Chunks<'a>> {
        Chunks::within(results, inputs, options, false)
    }

    /// [`Chunks::new`], of results that may rest on passes.
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

    /// Makes the largest chunks that take at most so many bytes, or the smallest that there are; whether they do.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for more elements than memory can address.
    fn fit(&mut self, max_bytes: usize) -> Result<bool> {
        let shape = self.cuts.shape().to_vec();
        let cuts = Cuts::largest(&shape, |cuts| -> Result<bool> {
            // Windows differ at the ends, and where those from both ends meet.
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

    /// One chunk of everything.
    ///
    /// # Errors
    /// As [`Chunks::new`], except that there is no limit.
    pub(crate) fn whole(results: &[&Array<'a>], inputs: &[&Array<'a>]) -> Result<Chunks<'a>> {
        let nodes = Nodes::of(results)?;
        let input_of = numbered(&nodes, inputs)?;
        let common = common_axes(results);
        let shape = results.first().map_or(&[][..], |first| &first.shape()[..common]);
        let inputs = inputs.iter().copied().cloned().collect();
        Ok(Chunks { nodes, inputs, input_of, cuts: Cuts::none(shape), common, options: Options::default() })
    }

    /// Goes through chunks that together have the elements of a window of the only result, each with its window, and each
    /// made of no element that it does not need. They are single elements at the smallest, and not more than some
    /// hundred: of a window that would become more some other elements are computed too.
    ///
    /// # Errors
    /// The first that `each` gives.
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

    /// The number of chunks, of which there is at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a chunk")]
    pub fn len(&self) -> usize {
        self.cuts.count()
    }

    /// A chunk, in row-major order of the results; none from [`Chunks::len`] on.
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

    /// The chunks, in row-major order of the results; errors are those of [`Chunks::get`].
    pub fn iter(&self) -> impl Iterator<Item = Result<Chunk<'_, 'a>>> {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    /// Under [`IntDivision::Error`](crate::IntDivision::Error), chunks of expressions that may divide by zero in elements
    /// that no result reads: a divisor of zero there fails an evaluation too, and chunks of the results would not meet it.
    /// They are to be evaluated for their errors alone, before the first chunk. None under the other rule.
    ///
    /// # Errors
    /// As [`Chunks::new`].
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
        if self.options.int_division == IntDivision::Zero {
            return Ok(Vec::new());
        }
        let inputs: Vec<&Array<'a>> = self.inputs.iter().collect();
        let nodes = self.nodes.partly_read();
        nodes.into_iter().map(|node| Chunks::new(&[node], &inputs, &self.options)).collect()
    }

    /// The windows of the results that have these indices of the common axes.
    fn wanted(&self, ranges: &[Range<usize>]) -> Vec<Window> {
        let window = |result: &Array<'a>| {
            let rest = result.shape()[self.common..].iter().map(|&extent| 0..extent);
            Window::of_ranges(ranges.iter().cloned().chain(rest))
        };
        self.nodes.results().map(window).collect()
    }

    /// That not even the smallest chunk, the first, is within the limit, and which view, reduction or scan is at fault.
    fn too_large(&self, rests_on_passes: bool) -> Error {
        let windows = match self.nodes.windows(&self.wanted(&self.cuts.get(0))) {
            Ok(windows) => windows,
            Err(error) => return error,
        };
        let bytes = self.nodes.bytes(&windows).saturating_add(self.nodes.result_bytes(&windows));
        let limit = self.options.max_bytes;
        let why = match rests_on_passes {
            // Under a larger limit there may be other passes, and with them smaller chunks.
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

/// A part of an input, as a [`Chunk`] needs it: its elements are given to [`Chunk::results`] as an array of this shape.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputPart {
    /// Which input.
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

    /// The indices of the results along the leading axes that they have in common; their other axes are whole.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The parts of inputs that the chunk is made of; parts of one input that lie apart are several, and an input that is
    /// not read has none.
    pub fn parts(&self) -> &[InputPart] {
        &self.parts
    }

    /// The results' elements of this chunk, made of an array for each of the [parts](Chunk::parts), in their order. They are
    /// lazy: to be evaluated, or computed into memory, as any array.
    ///
    /// # Errors
    /// [`ErrorKind::DType`] and [`ErrorKind::Shape`] for an array that is not as its part, [`ErrorKind::Arity`] for another
    /// number of arrays than of parts.
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
            // Nodes and their windows are met in the order in which their parts were listed.
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

/// For each node the number of the input that it is.
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

/// How many leading axes of the same extents all results have.
fn common_axes(results: &[&Array<'_>]) -> usize {
    let Some((first, rest)) = results.split_first() else { return 0 };
    let with =
        |other: &&Array<'_>| first.shape().iter().zip(other.shape()).take_while(|(a, b)| a == b).count();
    rest.iter().map(with).min().unwrap_or(first.rank())
}
