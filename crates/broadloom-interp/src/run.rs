//! Running a program on a block.
//!
//! In: a block of a nest, parameters, a byte per fault site. Out: the block's outputs are written, and the bytes of
//! sites that met a zero divisor set. Must hold: nothing is allocated once the working memory is there.

use broadloom_ir::kernel::Depth;
use broadloom_ir::{DType, Error, ErrorKind, Result};
use broadloom_math::Elem;
use broadloom_mem::{Access, Block, Buffer, Inputs, Outputs, Stores, Stream, typed, typed_mut};
use pulp::Arch;

use crate::loops::{OPERANDS, any_zero};
use crate::program::{Fill, Level, Place, Program, Step, Target, Work};

/// The most elements of a tile; programs of many tiles have shorter ones.
pub const TILE: usize = 1024;
/// Elements of a tile where outputs are streamed: 512 and 1024 took up to a third longer at 1e7 float64, on a host with
/// 48 KiB of L1.
const STREAMED: usize = 256;
/// How far ahead inputs are asked for then, in elements: 256 to 1024 were equally good.
const AHEAD: usize = 512;

/// Working memory, kept from run to run.
#[derive(Debug, Default)]
pub struct Tiles(Option<Buffer>);

impl Tiles {
    /// The memory, of at least so many bytes.
    fn fit(&mut self, bytes: usize) -> Result<&mut [u8]> {
        if self.0.as_ref().is_none_or(|memory| memory.len() < bytes) {
            // Released first: the old tiles are of no use.
            self.0 = None;
            let refused = |e: broadloom_mem::AllocError| Error::new(ErrorKind::Limit, e.to_string());
            self.0 = Some(Buffer::for_overwrite(bytes).map_err(refused)?);
        }
        self.0
            .as_mut()
            .and_then(Buffer::as_bytes_mut)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "working memory that can't be written"))
    }
}

/// What one call of [`Program::run_with`] works with.
struct Run<'p> {
    program: &'p Program,
    faults: &'p mut [u8],
    memory: &'p mut [u8],
}

impl Program {
    /// Computes a block, and writes its outputs as usual; see [`Program::run_with`].
    ///
    /// # Errors
    /// As [`Program::run_with`].
    pub fn run(
        &self,
        block: &mut Block<'_>,
        params: &[u64],
        faults: &mut [u8],
        tiles: &mut Tiles,
    ) -> Result<()> {
        self.run_with(Stores::Cached, block, params, faults, tiles)
    }

    /// Computes a block.
    ///
    /// `faults` has a byte per fault site of the kernel, in order; a site that meets a zero divisor sets its byte.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`]: the block is not of the types and access classes that the program was made for, or
    /// there are too few parameters or fault bytes. [`ErrorKind::Limit`]: memory is refused.
    pub fn run_with(
        &self,
        stores: Stores,
        block: &mut Block<'_>,
        params: &[u64],
        faults: &mut [u8],
        tiles: &mut Tiles,
    ) -> Result<()> {
        let matches = block
            .matches(self.inputs.iter().map(|&(d, a)| (d.size(), a)), self.outputs.iter().map(|d| d.size()));
        if !matches || params.len() < self.params.len() || faults.len() < self.fault_sites {
            return Err(Error::new(ErrorKind::Internal, "a program was given operands of another kernel"));
        }
        let memory = tiles.fit(self.bytes)?;
        for (&slot, bits) in self.param_slots.iter().zip(params) {
            memory[slot..slot + 8].copy_from_slice(&bits.to_le_bytes());
        }
        let mut run = Run { program: self, faults, memory };
        let streamed = match stores {
            Stores::Streaming => run.streamed(block),
            Stores::Cached => false,
        };
        if !streamed {
            run.block(block);
        }
        Ok(())
    }
}

/// Where outputs of a row go.
enum Sink<'o, 's, 'b> {
    /// There is none: what is computed stays in working memory.
    Nowhere,
    Rows(Outputs<'o>),
    /// Past the caches: the writer and the row.
    Stream(&'o Stream<'s, 'b>, usize),
}

impl Run<'_> {
    fn block(&mut self, block: &mut Block<'_>) {
        let cols = block.cols();
        self.uniform(Depth::Call, cols);
        for row in 0..block.rows() {
            let (inputs, outputs) = block.row(row);
            self.row(inputs, &mut Sink::Rows(outputs), cols);
        }
    }

    /// Computes a block and writes it past the caches; false, and nothing is done, if it is not one to do so with.
    fn streamed(&mut self, block: &mut Block<'_>) -> bool {
        let (rows, cols) = (block.rows(), block.cols());
        let done = block.stream(|stream| {
            self.uniform(Depth::Call, cols);
            for row in 0..rows {
                self.row(stream.inputs(row), &mut Sink::Stream(stream, row), cols);
            }
        });
        done.is_some()
    }

    /// Computes what is the same for all elements of a row or block of `cols` columns, and fills tiles with it.
    fn uniform(&mut self, depth: Depth, cols: usize) {
        let Level { steps, fills } = &self.program.levels[depth as usize];
        let nowhere = Span { inputs: None, start: 0, n: 1 };
        for step in steps {
            self.step(step, nowhere, &mut Sink::Nowhere);
        }
        fills.iter().for_each(|fill| fill.run(self.memory, cols.min(self.program.tile)));
    }

    fn row(&mut self, inputs: Inputs<'_>, sink: &mut Sink<'_, '_, '_>, cols: usize) {
        for &(input, slot) in &self.program.splat_slots {
            let element = inputs.bytes(input);
            self.memory[slot..slot + element.len()].copy_from_slice(element);
        }
        self.uniform(Depth::Row, cols);
        let mut start = 0;
        while start < cols {
            let mut n = self.program.tile.min(cols - start);
            if let Sink::Stream(stream, row) = *sink {
                n = n.min(if start == 0 { self.to_line(stream, row) } else { STREAMED });
                self.fetch(stream, inputs, start + AHEAD, n);
            }
            let span = Span { inputs: Some(inputs), start, n };
            for step in &self.program.levels[Depth::Element as usize].steps {
                self.step(step, span, sink);
            }
            for &(output, place) in &self.program.copies {
                let dtype = self.program.outputs[output];
                let from = span.operand((place, dtype.size()), self.memory, &[], self.memory.len());
                match sink {
                    Sink::Rows(outputs) => copy(from, span.output(outputs, output, dtype.size()), dtype),
                    Sink::Stream(stream, row) if dtype == DType::Bool => {
                        let mut truths = [0u8; STREAMED];
                        copy(from, &mut truths[..n], dtype);
                        stream.copy(output, *row, start, &truths[..n]);
                    }
                    Sink::Stream(stream, row) => stream.copy(output, *row, start * dtype.size(), from),
                    Sink::Nowhere => {}
                }
            }
            start += n;
        }
    }

    /// Elements up to where a line begins in the first output; those of a tile where one does.
    fn to_line(&self, stream: &Stream<'_, '_>, row: usize) -> usize {
        let Some(size) = self.program.outputs.first().map(|d| d.size()) else { return STREAMED };
        match stream.to_line(0, row) / size {
            0 => STREAMED,
            n => n.min(STREAMED),
        }
    }

    /// Asks for `n` elements of the inputs, as many as there are.
    fn fetch(&self, stream: &Stream<'_, '_>, inputs: Inputs<'_>, start: usize, n: usize) {
        let inputs_read = self.program.inputs.iter().enumerate().filter(|(_, i)| i.1 == Access::Contiguous);
        for (input, (dtype, _)) in inputs_read {
            let row = inputs.bytes(input);
            let end = row.len().min((start + n) * dtype.size());
            stream.fetch(&row[end.min(start * dtype.size())..end]);
        }
    }

    #[inline(always)]
    fn step(&mut self, step: &Step, span: Span<'_>, sink: &mut Sink<'_, '_, '_>) {
        let arch = self.program.arch;
        let bytes = span.n * step.size;
        let to = match (step.out, &*sink) {
            (Target::Scratch(to), _) => to,
            (Target::Output(_), Sink::Stream(..)) => self.program.stage,
            (Target::Output(_), _) => self.memory.len(),
        };
        let direct = to == self.memory.len();
        let (before, rest) = self.memory.split_at_mut(to);
        let (tile, after) = rest.split_at_mut(if direct { 0 } else { bytes });
        let skipped = to + tile.len();
        let mut args: [&[u8]; OPERANDS] = [&[]; OPERANDS];
        for (arg, &operand) in args.iter_mut().zip(&step.args[..step.operands]) {
            *arg = span.operand(operand, before, after, skipped);
        }
        if let Some((site, size)) = step.check
            && any_zero(args[1], size)
        {
            self.faults[site] = 1;
        }
        match (step.out, sink) {
            (Target::Output(output), Sink::Rows(outputs)) => {
                step.run(arch, &args, span.output(outputs, output, step.size));
            }
            (Target::Output(output), Sink::Stream(stream, row)) => {
                step.run(arch, &args, tile);
                stream.copy(output, *row, span.start * step.size, tile);
            }
            _ => step.run(arch, &args, tile),
        }
    }
}

impl Step {
    #[inline(always)]
    fn run(&self, arch: Arch, args: &[&[u8]; OPERANDS], out: &mut [u8]) {
        match &self.work {
            Work::Loop(run) => run(arch, args, out),
            Work::Host(function) => function.call(&args[..self.operands], out),
        }
    }
}

/// Some elements of a row; where there are no inputs, the one element that stands for all.
#[derive(Clone, Copy)]
struct Span<'r> {
    inputs: Option<Inputs<'r>>,
    start: usize,
    n: usize,
}

impl<'r> Span<'r> {
    /// An operand's bytes, of working memory up to some byte and again from `skipped` on.
    #[inline(always)]
    fn operand<'t>(
        &self,
        (place, size): (Place, usize),
        before: &'t [u8],
        after: &'t [u8],
        skipped: usize,
    ) -> &'t [u8]
    where
        'r: 't,
    {
        let (at, bytes) = match place {
            Place::Tile(at) => (at, self.n * size),
            Place::Same(at) => (at, size),
            // Only values computed for each tile are read from an input's memory.
            Place::Input(input) => {
                let row = self.inputs.map_or(&[][..], |inputs| inputs.bytes(input));
                return &row[self.start * size..(self.start + self.n) * size];
            }
        };
        match at.checked_sub(skipped) {
            Some(at) => &after[at..at + bytes],
            None => &before[at..at + bytes],
        }
    }

    #[inline]
    fn output<'o>(&self, outputs: &'o mut Outputs<'_>, output: usize, size: usize) -> &'o mut [u8] {
        &mut outputs.bytes(output)[self.start * size..(self.start + self.n) * size]
    }
}

impl Fill {
    /// Fills a tile's first `n` elements with one.
    fn run(&self, memory: &mut [u8], n: usize) {
        match self.size {
            1 => self.typed::<u8>(memory, n),
            2 => self.typed::<u16>(memory, n),
            4 => self.typed::<u32>(memory, n),
            _ => self.typed::<u64>(memory, n),
        }
    }

    fn typed<T: Elem<Store = T>>(&self, memory: &mut [u8], n: usize) {
        let element = typed::<T>(&memory[self.from..self.from + self.size]).and_then(|x| x.first().copied());
        let tile = typed_mut::<T>(&mut memory[self.to..self.to + n * self.size]);
        if let (Some(element), Some(tile)) = (element, tile) {
            tile.fill(element);
        }
    }
}

/// A value that is written as it is; a bool that was loaded is 0 or 1 once written.
fn copy(from: &[u8], to: &mut [u8], dtype: DType) {
    to.copy_from_slice(from);
    if dtype == DType::Bool {
        to.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
}
