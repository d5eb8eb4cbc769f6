//! Reductions and scans of data larger than memory. They are computed before the results that use them.

use std::collections::VecDeque;
use std::ops::Range;

use broadloom_core::{Error, ErrorKind, Layout, Result};
use broadloom_mem::Buffer;

use super::contracted::contracted;
use super::narrow::Nodes;
use super::pass::{Pass, Purpose};
use super::plan::{self, PassGroup};
use super::recurrence;
use super::{Chunk, Chunks, InputPart, Window};
use crate::array::{Array, Data, StateBlocks};
use crate::engine::{Control, Engine, Folding, Options, ScanBlocks};
use crate::evaluation::Evaluation;
use crate::expr;
use crate::storage::Storage;

/// Passes over inputs larger than memory. They compute reductions and scans chunk by chunk, with the same bits as an evaluation
/// in memory.
///
/// [`Chunks`] need all elements of a reduction in one chunk. A pass computes a reduction beforehand if its elements exceed
/// [`Options::max_bytes`], or if chunks of the results would compute it repeatedly or read inputs in short pieces. A sum takes
/// one pass, a variance two. Independent reductions of the same shape and axes share a pass. Afterwards the results are computed
/// in [`Chunks`], with the reductions as arrays in memory.
///
/// A scan along an axis that exceeds the limit has a pass that stores the totals of blocks of 2^k elements, in at most a third of
/// the limit. A chunk of the results then needs only its own elements and those before them in its first block. Inputs are read
/// twice. So are those of a [recurrence](crate::scan()), whose states before blocks of steps take at most a quarter of the limit.
///
/// Inputs are read in the order of their memory, row by row, where possible: for sums of a matrix's rows, of its columns and of
/// all its elements. Partial results count as memory: somewhat more than 16 elements for each result and each doubling of the
/// number of elements.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{Chunks, Options, Passes};
///
/// // The contents of a file, which is read in parts.
/// let file: Vec<f64> = (0..1000).map(|i| f64::from(i).sqrt()).collect();
/// let read = |part: &broadloom::InputPart| Array::from_slice(&file[part.ranges[0].clone()]);
/// let x = Array::input("x", DType::Float64, &[1000.into()])?;
/// let centred = &x - x.mean(())?;
///
/// let options = Options { max_bytes: 2000, ..Options::default() };
/// let mut passes = Passes::new(&[&centred], &[&x], &options)?;
/// while let Some(chunk) = passes.next_chunk()? {
///     let parts: Vec<_> = chunk.parts().iter().map(read).collect();
///     chunk.fold(&parts)?;
/// }
/// let centred = &passes.results()?[0];
/// let mut written = Vec::new();
/// for chunk in Chunks::new(&[centred], &[&x], &options)?.iter() {
///     let chunk = chunk?;
///     let parts: Vec<_> = chunk.parts().iter().map(read).collect();
///     written.extend(chunk.results(&parts)?[0].to_vec::<f64>()?);
/// }
/// let in_memory = Array::from_slice(&file);
/// assert_eq!(written, (&in_memory - in_memory.mean(())?).to_vec::<f64>()?);
/// # Ok::<(), Error>(())
/// ```
pub struct Passes<'a> {
    inputs: Vec<Array<'a>>,
    options: Options,
    /// The results as the first group, then expressions that are evaluated only for their errors.
    groups: Vec<PassGroup<'a>>,
    /// The remaining passes, beginning with the one in progress.
    passes: VecDeque<Pass<'a>>,
    running: Running,
    bytes: usize,
}

/// The progress of a pass.
struct Running {
    /// The index of the next box of the results, and the index of the next box of the reduced axes.
    kept: usize,
    reduced: usize,
    folding: Folding,
    /// For each stand-in, the memory of what replaces it, and the number of bytes of complete results: for the states of a
    /// recurrence, of those in the boxes before this one.
    results: Vec<(Buffer, usize)>,
}

impl Running {
    fn new() -> Running {
        Running { kept: 0, reduced: 0, folding: Folding::new(), results: Vec::new() }
    }

    /// Advances to the next chunk. Returns whether the finished chunk was the last one of its box of the results.
    fn advance(&mut self, pass: &Pass<'_>) -> bool {
        self.reduced += 1;
        let is_last = self.reduced == pass.reduced.count();
        if is_last {
            (self.kept, self.reduced) = (self.kept + 1, 0);
        }
        is_last
    }
}

impl<'a> Passes<'a> {
    /// Plans the passes that are needed before [`Chunks::new`] divides the results. Results without reductions and scans need
    /// none.
    ///
    /// # Errors
    /// The errors of [`Chunks::new`]. For results with reductions or scans, an error may concern the expressions that are
    /// computed after the passes.
    pub fn new(results: &[&Array<'a>], inputs: &[&Array<'a>], options: &Options) -> Result<Passes<'a>> {
        let of_results = match options.contract {
            true => contracted(results)?,
            false => results.iter().copied().cloned().collect(),
        };
        let results = &of_results.iter().collect::<Vec<_>>()[..];
        let mut groups: Vec<PassGroup<'a>> = vec![of_results.clone()];
        let nodes = Nodes::of(results)?;
        groups.extend(nodes.partly_read(options.int_division).into_iter().map(|node| vec![node.clone()]));
        let passes: VecDeque<_> = plan::passes(&mut groups, inputs, options.max_bytes)?.into();
        let elements = |pass: &Pass<'_>| pass.operands.nodes.results().next().map_or(0, Array::len);
        let inputs = inputs.iter().copied().cloned().collect();
        let mut all =
            Passes { inputs, options: options.clone(), groups, passes, running: Running::new(), bytes: 0 };
        all.bytes = all.passes.iter().map(|pass| pass.bytes(elements(pass))).fold(0, usize::saturating_add);
        if Nodes::of(results)?.combine() {
            all.fit()?;
        }
        Ok(all)
    }

    /// The smallest [`Options::max_bytes`], to within 1 %, with which the results can be computed in passes and chunks. An
    /// application can suggest this limit if [`Passes::new`] fails with [`ErrorKind::Limit`]. The search plans for many limits,
    /// which takes a while for expressions of many nodes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Options, Passes};
    ///
    /// let x = Array::input("x", DType::Float64, &[1_000_000.into()])?;
    /// let sum = x.sum(())?;
    /// let least = Passes::least_bytes(&[&sum], &[&x], &Options::default())?;
    /// assert_eq!(least, 16);
    /// let options = Options { max_bytes: least - 1, ..Options::default() };
    /// assert!(Passes::new(&[&sum], &[&x], &options).is_err_and(|error| error.is_limit()));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those errors of [`Passes::new`] that do not depend on the limit.
    pub fn least_bytes(results: &[&Array<'a>], inputs: &[&Array<'a>], options: &Options) -> Result<usize> {
        let fits = |max_bytes: usize| {
            let options = Options { max_bytes, ..options.clone() };
            match Passes::new(results, inputs, &options).and_then(|passes| passes.fit()) {
                Err(error) if error.is_limit() && max_bytes < usize::MAX => Ok(false),
                fit => fit.map(|()| true),
            }
        };
        let (mut bad, mut good) = (0, 1);
        while !fits(good)? {
            (bad, good) = (good, good.saturating_mul(2));
        }
        while good - bad > 1 + good / 128 {
            let middle = bad.midpoint(good);
            if fits(middle)? { good = middle } else { bad = middle }
        }
        Ok(good)
    }

    /// Checks that the expressions computed after the passes can be divided into chunks.
    fn fit(&self) -> Result<()> {
        self.groups.iter().try_for_each(|group| self.chunks(group).map(drop))
    }

    /// The number of remaining passes.
    pub fn len(&self) -> usize {
        self.passes.len()
    }

    /// Whether no pass remains, so that the results can be computed.
    pub fn is_empty(&self) -> bool {
        self.passes.is_empty()
    }

    /// The number of bytes that all elements of the passes would take if they were stored: the sum of [`PassChunk::bytes`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next chunk, to be [folded](PassChunk::fold). The same chunk is returned until it is folded. `None` after the last
    /// chunk.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if memory cannot be allocated.
    pub fn next_chunk(&mut self) -> Result<Option<PassChunk<'_, 'a>>> {
        if self.passes.front().is_some_and(|pass| self.running.kept == pass.kept.count()) {
            self.finish()?;
        }
        let Some(pass) = self.passes.front() else { return Ok(None) };
        if self.running.results.is_empty() {
            let buffer = |bytes: usize| {
                let buffer = Buffer::zeroed(bytes);
                buffer.map(|buffer| (buffer, 0)).map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))
            };
            self.running.results = pass.held().map(buffer).collect::<Result<_>>()?;
        }
        let window = pass.window(self.running.kept, self.running.reduced);
        let wanted = pass.wanted(self.running.kept, self.running.reduced);
        let (elements, ranges) = (window.elements(), window.ranges());
        let chunk = Chunk::of(&pass.operands, ranges, wanted)?;
        Ok(Some(PassChunk { pass, chunk, elements, running: &mut self.running, options: &self.options }))
    }

    /// Ends a pass: replaces its stand-ins with the computed values.
    fn finish(&mut self) -> Result<()> {
        let running = std::mem::replace(&mut self.running, Running::new());
        let Some(done) = self.passes.pop_front() else { return Ok(()) };
        let mut by = Vec::new();
        for (stand_in, (buffer, _)) in done.stand_ins.into_iter().zip(running.results) {
            let storage = Storage::from_buffer(stand_in.dtype(), buffer);
            let layout = Layout::contiguous(stand_in.0.shape.clone());
            let blocks = stand_in.in_memory().and_then(|data| data.blocks);
            let blocks = blocks.map(|blocks| StateBlocks { distance: stand_in.len(), ..blocks });
            let array = Array::of_data(Data { storage, layout, blocks });
            self.passes.iter_mut().for_each(|pass| pass.operands.nodes.put(&stand_in, &array));
            by.push((stand_in, array));
        }
        for group in &mut self.groups {
            *group = Nodes::of(&group.iter().collect::<Vec<_>>())?.replaced(&by)?;
        }
        Ok(())
    }

    /// The results, in which arrays in memory replace the reductions that passes have computed.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if passes remain.
    pub fn results(&self) -> Result<&[Array<'a>]> {
        match (&self.passes.is_empty(), self.groups.first()) {
            (true, Some(results)) => Ok(results),
            _ => {
                let why = format!("passes: {} of them are to be run before there are results", self.len());
                Err(Error::new(ErrorKind::Memory, why).with_help("fold every chunk that next_chunk gives"))
            }
        }
    }

    /// The results, for explanations. Until a pass has run, arrays of arbitrary values replace the values that it computes.
    pub fn planned(&self) -> &[Array<'a>] {
        self.groups.first().map_or(&[], |group| group)
    }

    /// The chunks of [`Chunks::unread`] for the results. They include elements that only the passes' reductions would read.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if passes remain; and the errors of [`Chunks::new`].
    pub fn unread(&self) -> Result<Vec<Chunks<'a>>> {
        self.results()?;
        let unread =
            self.groups.iter().skip(1).filter(|group| group.iter().any(|node| node.in_memory().is_none()));
        unread.map(|group| self.chunks(group)).collect()
    }

    fn chunks(&self, of: &[Array<'a>]) -> Result<Chunks<'a>> {
        let inputs: Vec<&Array<'a>> = self.inputs.iter().collect();
        Chunks::within(&of.iter().collect::<Vec<_>>(), &inputs, &self.options, true)
    }
}

impl std::fmt::Debug for Passes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.passes.iter().map(Pass::to_string)).finish()
    }
}

/// Formats the reductions, the scan or the recurrence of a pass, and its number of chunks: `sum, max along (0,) of float64[1000,3]
/// in 4 chunks`.
impl std::fmt::Display for Pass<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.purpose {
            Purpose::Reductions(reductions) => {
                for (i, reduction) in reductions.iter().enumerate() {
                    write!(f, "{}{reduction}", if i > 0 { ", " } else { "" })?;
                }
            }
            Purpose::Totals { scan, level } => write!(f, "{scan} of blocks of {}", 1u64 << level)?,
            Purpose::States { block: Some(block), .. } => write!(f, "scan of blocks of {block}")?,
            Purpose::States { block: None, .. } => f.write_str("scan")?,
            Purpose::Routine { routine, .. } => return write!(f, "{} in 1 chunk", routine.name()),
        }
        write!(f, " along {} of ", self.axes)?;
        if let Some(operand) = self.operands.nodes.results().next() {
            write!(f, "{}{}", operand.dtype(), operand.0.shape)?;
        }
        write!(f, " in {} chunks", self.chunks())
    }
}

/// The position of a chunk's totals in the memory of all totals of a scan. A *run* contains the elements along the scanned axis
/// at one index of the axes before it.
struct PlaceOfTotals {
    axis: usize,
    /// The size in bytes of a row of totals (the elements at one index of the axes up to the scanned one), and of the part of a
    /// row that belongs to the chunk.
    row: usize,
    of_chunk: usize,
    /// The number of blocks in a run for which a total is stored.
    blocks: usize,
    /// The index of the chunk's first run, the index of its first block, and the offset in bytes of the chunk's part in a row.
    run: usize,
    block: usize,
    byte: usize,
}

impl PlaceOfTotals {
    fn new(pass: &Pass<'_>, window: &Window, level: u8) -> PlaceOfTotals {
        let axis = pass.axes.iter().next().unwrap_or(0);
        let (shape, item) = match pass.stand_ins.first() {
            Some(totals) => (totals.shape(), totals.dtype().size()),
            None => (&[][..], 0),
        };
        // A chunk contains complete adjacent runs, or adjacent columns of one run.
        let first = |axes: Range<usize>| axes.fold(0, |at, axis| at * shape[axis] + window.0[axis].start);
        let columns = axis + 1..shape.len();
        PlaceOfTotals {
            axis,
            row: shape[columns.clone()].iter().product::<usize>() * item,
            of_chunk: window.0[columns.clone()].iter().map(|slice| slice.len).product::<usize>() * item,
            blocks: shape[axis],
            run: first(0..axis),
            block: window.0[axis].start >> level,
            byte: first(columns) * item,
        }
    }

    /// The range of bytes for the total of a block, given the indices of the run and the block within the chunk. `None` for the
    /// last block of the axis, because no element needs its total.
    fn of(&self, run: usize, block: usize) -> Option<Range<usize>> {
        let block = self.block + block;
        let start = ((self.run + run) * self.blocks + block) * self.row + self.byte;
        (block < self.blocks).then_some(start..start + self.of_chunk)
    }
}

/// A chunk of the elements that a pass reduces or scans.
pub struct PassChunk<'p, 'a> {
    pass: &'p Pass<'a>,
    chunk: Chunk<'p, 'a>,
    elements: usize,
    running: &'p mut Running,
    options: &'p Options,
}

impl<'p, 'a> PassChunk<'p, 'a> {
    /// The parts of inputs from which the chunk is computed; see [`Chunk::parts`].
    pub fn parts(&self) -> &[InputPart] {
        self.chunk.parts()
    }

    /// The number of bytes that the chunk's elements would take if they were stored; see [`Passes::bytes`].
    pub fn bytes(&self) -> usize {
        self.pass.bytes(self.elements)
    }

    /// A description of the pass.
    pub fn describe(&self) -> String {
        self.pass.to_string()
    }

    /// The reductions of this chunk's elements alone, the elements to be scanned, the states after this chunk if it is the first, or the
    /// results of a routine, as lazy arrays. They are computed from `parts`, which contains one array for each of the [parts](PassChunk::parts).
    ///
    /// # Errors
    /// The errors of [`Chunk::results`].
    pub fn results<'q>(&self, parts: &[Array<'q>]) -> Result<Vec<Array<'q>>>
    where
        'a: 'q,
    {
        let operands = self.chunk.results(parts)?;
        match &self.pass.purpose {
            Purpose::Reductions(reductions) => {
                let reductions = operands.iter().zip(reductions);
                reductions
                    .map(|(operand, &reduction)| expr::reduce(reduction, operand, self.pass.axes, false))
                    .collect()
            }
            Purpose::Totals { .. } => Ok(operands),
            Purpose::Routine { routine, items } => {
                let results = expr::routine(*routine, &operands)?;
                Ok(items.iter().filter_map(|&item| results.get(item as usize).cloned()).collect())
            }
            Purpose::States { .. } => Ok(match operands.split_first() {
                Some((output, initial)) => recurrence::states_after(output, initial),
                None => Vec::new(),
            }),
        }
    }

    /// Adds the elements of this chunk to the partial reductions of the previous chunks, computes the totals of this chunk's blocks
    /// for a scan, or the states after this chunk for a recurrence. `parts` contains one array for each of the
    /// [parts](PassChunk::parts), in the same order.
    ///
    /// # Errors
    /// The errors of [`Chunk::results`] and [`Array::eval_with`]. After an error, [`Passes::next_chunk`] returns this chunk
    /// again.
    pub fn fold<'q>(self, parts: &[Array<'q>]) -> Result<()>
    where
        'a: 'q,
    {
        self.fold_watched(parts, &Control::default())
    }

    /// [`PassChunk::fold`] with a [`Control`], through which the call can be cancelled and reports its progress.
    ///
    /// # Errors
    /// The errors of [`PassChunk::fold`]; [`ErrorKind::Cancelled`] once the control's flag is set.
    pub fn fold_watched<'q>(self, parts: &[Array<'q>], control: &Control<'_>) -> Result<()>
    where
        'a: 'q,
    {
        // The size of the chunk was chosen so that it respects the limit, which is therefore not checked again.
        let options = Options { max_bytes: usize::MAX, ..self.options.clone() };
        if let Purpose::States { .. } = self.pass.purpose {
            return self.run_steps(parts, &options, control);
        }
        let reductions = self.results(parts)?;
        let PassChunk { pass, running, elements, .. } = self;
        if let Purpose::Routine { .. } = pass.purpose {
            let results: Vec<&Array<'_>> = reductions.iter().collect();
            let results = Evaluation::with(&options).control(control).eval_many(&results)?;
            write_parts(running.results.iter_mut().map(|(buffer, done)| (buffer, *done)), &results)?;
            running.advance(pass);
            return Ok(());
        }
        if let Purpose::Totals { scan, level } = pass.purpose {
            let internal = || Error::new(ErrorKind::Internal, "a scan without memory for totals");
            let place = PlaceOfTotals::new(pass, &pass.window(running.kept, running.reduced), level);
            let elements = reductions.first().ok_or_else(internal)?;
            let (buffer, _) = running.results.first_mut().ok_or_else(internal)?;
            let totals = buffer.as_bytes_mut().ok_or_else(internal)?;
            let blocks = ScanBlocks { scan, axis: place.axis, level };
            Engine::global().block_totals(
                elements,
                blocks,
                &options,
                Some(control),
                |run, block, total| {
                    if let Some(of_block) = place.of(run, block).and_then(|range| totals.get_mut(range)) {
                        of_block.copy_from_slice(total);
                    }
                },
            )?;
            running.advance(pass);
            return Ok(());
        }
        let roots: Vec<&Array<'_>> = reductions.iter().collect();
        let results: usize = pass.kept.get(running.kept).iter().map(ExactSizeIterator::len).product();
        let count = (elements / results.max(1)) as u64;
        Engine::global().fold(&roots, count, &mut running.folding, &options, Some(control))?;
        if !running.advance(pass) {
            return Ok(());
        }
        for (reduction, (buffer, done)) in running.results.iter_mut().enumerate() {
            let dtype = pass.stand_ins[reduction].dtype();
            let end = *done + results * dtype.size();
            let out = buffer.as_bytes_mut().and_then(|bytes| bytes.get_mut(*done..end));
            let out = out.ok_or_else(|| Error::new(ErrorKind::Internal, "more results than there are"))?;
            running.folding.finish(reduction, dtype, out);
            *done = end;
        }
        running.folding = Folding::new();
        Ok(())
    }

    /// Runs the steps of this chunk from the states after the previous one, which the memory of the last states contains.
    fn run_steps<'q>(self, parts: &[Array<'q>], options: &Options, control: &Control<'_>) -> Result<()>
    where
        'a: 'q,
    {
        let internal = || Error::new(ErrorKind::Internal, "a recurrence without memory for states");
        let operands = self.chunk.results(parts)?;
        let PassChunk { pass, running, .. } = self;
        let (output, initial) = operands.split_first().ok_or_else(internal)?;
        let block = running.reduced;
        let (last, before) = running.results.split_at_mut(initial.len());
        // A box of the results is contiguous in the memory of all states.
        let place = |state: &Array<'_>, done: usize| done..done + state.len() * state.dtype().size();
        if block == 0 {
            let initial: Vec<&Array<'_>> = initial.iter().collect();
            let states = Evaluation::with(options).control(control).eval_many(&initial)?;
            write_parts(last.iter_mut().map(|(buffer, done)| (buffer, *done)), &states)?;
        }
        for (i, (buffer, done)) in before.iter_mut().enumerate() {
            let row = pass.stand_ins[i].len() * pass.stand_ins[i].dtype().size();
            let (states, place) = (last[i].0.as_bytes(), place(&initial[i], *done));
            let to = block * row + place.start..block * row + place.end;
            let to = buffer.as_bytes_mut().and_then(|bytes| bytes.get_mut(to)).ok_or_else(internal)?;
            to.copy_from_slice(states.get(place).ok_or_else(internal)?);
        }
        let after = {
            let states = last.iter().zip(initial).map(|((buffer, done), state)| {
                let bytes = buffer.as_bytes().get(place(state, *done)).ok_or_else(internal)?;
                Array::from_bytes(state.dtype(), state.shape(), bytes)
            });
            let after = recurrence::states_after(output, &states.collect::<Result<Vec<_>>>()?);
            Evaluation::with(options).control(control).eval_many(&after.iter().collect::<Vec<_>>())?
        };
        write_parts(last.iter_mut().map(|(buffer, done)| (buffer, *done)), &after)?;
        let sizes: Vec<usize> = initial.iter().map(|state| place(state, 0).len()).collect();
        if running.advance(pass) {
            for (i, (_, done)) in running.results.iter_mut().enumerate() {
                *done += sizes[i % sizes.len()];
            }
        }
        Ok(())
    }
}

/// Writes states, or results of a routine, to their places in memory: bytes from an offset on.
fn write_parts<'m>(
    places: impl Iterator<Item = (&'m mut Buffer, usize)>,
    states: &[Array<'static>],
) -> Result<()> {
    let internal = || Error::new(ErrorKind::Internal, "a state without a place");
    for ((buffer, from), state) in places.zip(states) {
        let bytes = state.as_bytes().ok_or_else(internal)?;
        let to = buffer.as_bytes_mut().and_then(|all| all.get_mut(from..from + bytes.len()));
        to.ok_or_else(internal)?.copy_from_slice(bytes);
    }
    Ok(())
}

impl std::fmt::Debug for PassChunk<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PassChunk").field("of", &self.describe()).field("parts", &self.parts()).finish()
    }
}
