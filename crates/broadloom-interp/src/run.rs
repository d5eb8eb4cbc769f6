//! Runs a program on a block: row by row, and in each row tile by tile.
//!
//! Once the working memory exists, a run allocates nothing. If a checked division has a zero divisor, the fault byte of the
//! division is set, and the run continues.

use std::marker::PhantomData;

use broadloom_ir::kernel::Depth;
use broadloom_ir::{DType, Error, ErrorKind, Result, VectorWidth};
use broadloom_math::Elem;
use broadloom_mem::{
    Access, AliasPolicy, Block, ExecutableKernel, Inputs, KernelRun, LoopRun, Outputs, Stores, Stream, Table,
    typed, typed_mut,
};
use pulp::Arch;

use crate::looped::{LoopArgs, Strays, Surroundings, absent};
use crate::loops::{OPERANDS, any_zero};
use crate::program::{Destination, Fill, Location, LoopLevel, LoopStep, Program, TileStep, Work};

/// The maximum number of elements of a tile if outputs are written by non-temporal stores. Tiles of 512 and 1024 elements took up
/// to a third longer at 1e7 float64, on a processor with 48 KiB of L1.
const STREAMED: usize = 256;
/// The size of a cache line in bytes.
const LINE: usize = 64;
/// The prefetch distance for inputs, in elements, if outputs are written by non-temporal stores. 256 to 1024 were equally good.
const AHEAD: usize = 512;

/// The state of a program's run on a block.
struct BlockRun<'p> {
    program: &'p Program,
    tables: &'p [Table<'p>],
    faults: &'p mut [u8],
    memory: &'p mut [u8],
    /// The properties of the run that the program's loops need.
    loops: Option<&'p LoopRun<'p>>,
    /// Why a loop has ended before it was done.
    stopped: Option<Error>,
    /// The elements of the tile that have met a position outside of a table, and whether those of the whole block, or of the row,
    /// have.
    strays: Strays,
    block_strays: bool,
    row_strays: bool,
}

impl ExecutableKernel for Program {
    fn run(&self, block: &mut Block<'_>, run: &mut KernelRun<'_>) -> Result<()> {
        let KernelRun { params, tables, faults, stores, memory, loops } = run;
        let matches = block.level() == 0
            && block.matches(
                self.inputs.iter().map(|&(d, a)| (d.size(), a)),
                self.outputs.iter().map(|d| d.size()),
            );
        let has_tables = tables.iter().map(Table::item).eq(self.tables.iter().map(|dtype| dtype.size()));
        if !matches || !has_tables || params.len() < self.param_slots.len() || faults.len() < self.fault_sites
        {
            return Err(Error::new(ErrorKind::Internal, "the operands do not match the program"));
        }
        let memory = memory.fit(self.bytes)?;
        for (&slot, bits) in self.param_slots.iter().zip(*params) {
            memory[slot..slot + 8].copy_from_slice(&bits.to_le_bytes());
        }
        let mut run = BlockRun::new(self, tables, faults, memory, *loops);
        let streamed = match stores {
            Stores::Streaming => run.streamed(block),
            Stores::Cached => false,
        };
        if !streamed {
            run.block(block);
        }
        run.stopped.map_or(Ok(()), Err)
    }

    /// The interpreter accesses inputs and outputs as slices, which must not alias, so an input that is also an output is copied.
    fn policy(&self) -> AliasPolicy {
        AliasPolicy::Copy
    }

    fn width(&self) -> VectorWidth {
        self.width
    }
}

impl Program {
    /// Computes `n` elements of a program without parameters from tiles, one for each input, to tiles, one for each output.
    /// `memory` has the program's [`bytes`](Program::bytes).
    ///
    /// # Errors
    /// The errors of [`LoopRun::go_on`].
    pub(crate) fn run_tiles(
        &self,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
        n: usize,
        memory: &mut [u8],
        with: Surroundings<'_>,
    ) -> Result<()> {
        let Surroundings { run, tables, faults, strays } = with;
        let mut run = BlockRun::new(self, tables, faults, memory, Some(run));
        run.uniform(Depth::Call, n);
        run.row(inputs, &mut RowTarget::Tiles(outputs, strays), n);
        run.stopped.map_or(Ok(()), Err)
    }
}

/// The inputs of a row.
trait RowInputs<'r>: Copy {
    /// The elements of an input, a single one if it is uniform.
    fn bytes(&self, input: usize) -> &'r [u8];
}

impl<'r> RowInputs<'r> for Inputs<'r> {
    #[inline(always)]
    fn bytes(&self, input: usize) -> &'r [u8] {
        Inputs::bytes(self, input)
    }
}

impl<'r> RowInputs<'r> for &'r [&'r [u8]] {
    #[inline(always)]
    fn bytes(&self, input: usize) -> &'r [u8] {
        self[input]
    }
}

/// The memory to which the results of a row are written.
enum RowTarget<'o, 's, 'b> {
    /// Results are written to working memory only.
    Scratch,
    /// Results of outputs are written to their memory by regular stores.
    Rows(Outputs<'o>),
    /// Results of outputs are written to their memory by non-temporal stores, through this writer, to the row
    /// with this index.
    Stream(&'o Stream<'s, 'b>, usize),
    /// Results of outputs are written to these tiles, and the elements of the row that have strayed are added to these.
    Tiles(&'o mut [&'s mut [u8]], &'o mut Strays),
}

impl<'p> BlockRun<'p> {
    fn new(
        program: &'p Program,
        tables: &'p [Table<'p>],
        faults: &'p mut [u8],
        memory: &'p mut [u8],
        loops: Option<&'p LoopRun<'p>>,
    ) -> BlockRun<'p> {
        let (stopped, strays) = (None, Strays::default());
        BlockRun {
            program,
            tables,
            faults,
            memory,
            loops,
            stopped,
            strays,
            block_strays: false,
            row_strays: false,
        }
    }

    fn block(&mut self, block: &mut Block<'_>) {
        let cols = block.cols();
        self.uniform(Depth::Call, cols);
        for row in 0..block.rows() {
            let (inputs, outputs) = block.row(row);
            self.row(inputs, &mut RowTarget::Rows(outputs), cols);
        }
    }

    /// Computes a block with non-temporal stores. Returns false, without having done anything, if the block does not allow them.
    fn streamed(&mut self, block: &mut Block<'_>) -> bool {
        let (rows, cols) = (block.rows(), block.cols());
        let done = block.stream(|stream| {
            self.uniform(Depth::Call, cols);
            for row in 0..rows {
                self.row(stream.inputs(row), &mut RowTarget::Stream(stream, row), cols);
            }
        });
        done.is_some()
    }

    /// Computes the values of the outer loop level `depth`, which are the same for the whole block or for a whole row. Then fills
    /// tiles with them. The row or block has `cols` columns.
    fn uniform(&mut self, depth: Depth, cols: usize) {
        let LoopLevel { steps, fills } = &self.program.levels[depth as usize];
        let element = ColumnRange { inputs: None::<Inputs<'_>>, start: 0, n: 1 };
        self.strays = Strays::all(1, self.row_strays);
        for step in steps {
            self.step(step, element, &mut RowTarget::Scratch);
        }
        self.row_strays = !self.strays.is_empty();
        self.block_strays |= self.row_strays && depth == Depth::Call;
        fills.iter().for_each(|fill| fill.run(self.memory, cols.min(self.program.tile)));
    }

    fn row<'r>(&mut self, inputs: impl RowInputs<'r>, sink: &mut RowTarget<'_, '_, '_>, cols: usize) {
        for &(input, slot) in &self.program.uniform_slots {
            let element = inputs.bytes(input);
            self.memory[slot..slot + element.len()].copy_from_slice(element);
        }
        self.row_strays = self.block_strays;
        self.uniform(Depth::Row, cols);
        let mut start = 0;
        while start < cols && self.stopped.is_none() {
            let mut n = self.program.tile.min(cols - start);
            if let RowTarget::Stream(stream, row) = *sink {
                n = n.min(if start == 0 { self.first(stream, row) } else { STREAMED });
                self.fetch(stream, inputs, start + AHEAD, n);
            }
            let columns = ColumnRange { inputs: Some(inputs), start, n };
            if self.row_strays || !self.strays.is_empty() {
                self.strays = Strays::all(n, self.row_strays);
            }
            for step in &self.program.levels[Depth::Element as usize].steps {
                self.step(step, columns, sink);
            }
            for &(output, location) in &self.program.copies {
                let dtype = self.program.outputs[output];
                let from = columns.operand((location, dtype.size()), self.memory, &[], self.memory.len());
                match sink {
                    RowTarget::Rows(outputs) => {
                        copy(from, columns.output(outputs, output, dtype.size()), dtype)
                    }
                    RowTarget::Stream(stream, row) if dtype == DType::Bool => {
                        let mut bools = [0u8; STREAMED];
                        copy(from, &mut bools[..n], dtype);
                        stream.copy(output, *row, start, &bools[..n]);
                    }
                    RowTarget::Stream(stream, row) => stream.copy(output, *row, start * dtype.size(), from),
                    RowTarget::Tiles(tiles, _) => {
                        copy(from, columns.part(tiles[output], dtype.size()), dtype);
                    }
                    RowTarget::Scratch => {}
                }
            }
            if let (RowTarget::Tiles(_, strays), false) = (&mut *sink, self.strays.is_empty()) {
                strays.add(cols, self.strays.iter().map(|element| start + element));
            }
            start += n;
        }
    }

    /// The number of elements in the first tile of a row. It is chosen so that all later tiles begin at a cache line of the first
    /// output.
    fn first(&self, stream: &Stream<'_, '_>, row: usize) -> usize {
        let Some(size) = self.program.outputs.first().map(|d| d.size()) else { return STREAMED };
        match stream.to_line(0, row) {
            0 => STREAMED,
            before => (STREAMED * size - LINE + before) / size,
        }
    }

    /// Prefetches up to `n` elements of each input, beginning at column `start` of the row.
    fn fetch<'r>(&self, stream: &Stream<'_, '_>, inputs: impl RowInputs<'r>, start: usize, n: usize) {
        let inputs_read = self.program.inputs.iter().enumerate().filter(|(_, i)| i.1 == Access::Contiguous);
        for (input, (dtype, _)) in inputs_read {
            let row = inputs.bytes(input);
            let end = row.len().min((start + n) * dtype.size());
            stream.fetch(&row[end.min(start * dtype.size())..end]);
        }
    }

    #[inline(always)]
    fn step<'r, I: RowInputs<'r>>(
        &mut self,
        step: &TileStep,
        columns: ColumnRange<I>,
        sink: &mut RowTarget<'_, '_, '_>,
    ) {
        if let Work::While(number) = step.work {
            return self.looped(number, columns);
        }
        let arch = self.program.arch;
        let bytes = columns.n * step.size;
        let to = match (step.out, &*sink) {
            (Destination::Scratch(to), _) => to,
            (Destination::Output(_), RowTarget::Stream(..)) => self.program.stage,
            (Destination::Output(_), _) => self.memory.len(),
        };
        let direct = to == self.memory.len();
        let (before, rest) = self.memory.split_at_mut(to);
        let (tile, after) = rest.split_at_mut(if direct { 0 } else { bytes });
        let skipped = to + tile.len();
        let mut args: [&[u8]; OPERANDS] = [&[]; OPERANDS];
        for (arg, &operand) in args.iter_mut().zip(&step.args[..step.operands]) {
            *arg = columns.operand(operand, before, after, skipped);
        }
        let mut fails = match (step.check, &step.work) {
            (Some((_, size)), Work::Loop(_)) => any_zero(args[1], size),
            _ => false,
        };
        let mut run = |out: &mut [u8]| match step.work {
            Work::Gather(number) => {
                fails = !gathered(&self.tables[number], args[0], out, self.program.tables[number])
            }
            _ => step.run(arch, &args, out),
        };
        match (step.out, sink) {
            (Destination::Output(output), RowTarget::Rows(outputs)) => {
                run(columns.output(outputs, output, step.size));
            }
            (Destination::Output(output), RowTarget::Tiles(tiles, _)) => {
                run(columns.part(tiles[output], step.size));
            }
            (Destination::Output(output), RowTarget::Stream(stream, row)) => {
                run(tile);
                stream.copy(output, *row, columns.start * step.size, tile);
            }
            _ => run(tile),
        }
        if let (Some((site, _)), true) = (step.check, fails) {
            self.faults[site] = 1;
            if let Work::Gather(number) = step.work {
                self.note_strays(number, step.args[0], columns);
            }
        }
    }

    /// Adds the elements whose positions, which a step has read, are outside of a table.
    #[cold]
    fn note_strays<'r, I: RowInputs<'r>>(
        &mut self,
        table: usize,
        positions: (Location, usize),
        columns: ColumnRange<I>,
    ) {
        let positions = columns.operand(positions, self.memory, &[], usize::MAX);
        let count = self.tables[table].elements() as u64;
        let outside = typed::<u64>(positions).unwrap_or(&[]).iter().enumerate().filter(|(_, p)| **p >= count);
        self.strays.add(columns.n, outside.map(|(element, _)| element));
    }

    /// Runs a loop of the kernel in these columns, unless one has stopped the run.
    #[cold]
    fn looped<'r, I: RowInputs<'r>>(&mut self, number: usize, columns: ColumnRange<I>) {
        if self.stopped.is_some() {
            return;
        }
        let Some(run) = self.loops else {
            self.stopped = Some(absent());
            return;
        };
        let step = &self.program.loops[number];
        let (front, area) = self.memory.split_at_mut(self.program.area);
        let operands = LoopOperands { step, columns, row: PhantomData };
        let with = Surroundings { run, tables: self.tables, faults: self.faults, strays: &mut self.strays };
        self.stopped = step.run(columns.n, front, area, &operands, with).err();
    }
}

/// The operands of a loop in a range of columns.
struct LoopOperands<'s, 'r, I> {
    step: &'s LoopStep,
    columns: ColumnRange<I>,
    row: PhantomData<&'r [u8]>,
}

impl<'r, I: RowInputs<'r>> LoopArgs for LoopOperands<'_, 'r, I> {
    fn elements<'t>(&'t self, operand: usize, front: &'t [u8]) -> &'t [u8] {
        self.columns.operand(self.step.args[operand], front, &[], usize::MAX)
    }
}

impl TileStep {
    #[inline(always)]
    fn run(&self, arch: Arch, args: &[&[u8]; OPERANDS], out: &mut [u8]) {
        match &self.work {
            Work::Loop(run) => run(arch, args, out),
            Work::Host(function) => function.call(&args[..self.operands], out),
            // Loops have their own operands, and gathers a table; they do not come here.
            Work::While(_) | Work::Gather(_) => {}
        }
    }
}

/// A range of `n` columns of a row, beginning at column `start`. At outer loop levels, which read no inputs, it is a single
/// element.
#[derive(Clone, Copy)]
struct ColumnRange<I> {
    inputs: Option<I>,
    start: usize,
    n: usize,
}

impl<I> ColumnRange<I> {
    /// The bytes of an operand in these columns. The working memory is passed in two parts, `before` and `after`, without the
    /// result's tile between them; `after` begins at the byte offset `skipped`.
    #[inline(always)]
    fn operand<'r, 't>(
        &self,
        (location, size): (Location, usize),
        before: &'t [u8],
        after: &'t [u8],
        skipped: usize,
    ) -> &'t [u8]
    where
        'r: 't,
        I: RowInputs<'r>,
    {
        let (at, bytes) = match location {
            Location::Tile(at) => (at, self.n * size),
            Location::Uniform(at) => (at, size),
            // A step at an outer loop level reads slots of the working memory, never inputs.
            Location::Input(input) => {
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
        self.part(outputs.bytes(output), size)
    }

    /// The bytes of these columns in a row of elements of `size` bytes.
    #[inline]
    fn part<'o>(&self, row: &'o mut [u8], size: usize) -> &'o mut [u8] {
        &mut row[self.start * size..(self.start + self.n) * size]
    }
}

impl Fill {
    /// Fills the first `n` elements of a tile with one value.
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

/// Copies the elements at these positions of a table, and returns whether all positions are inside. The element at a position that
/// is not is the first one, as in machine code, or 0 if there is none. Bools are normalised to 0 or 1.
fn gathered(table: &Table<'_>, positions: &[u8], out: &mut [u8], dtype: DType) -> bool {
    match table.item() {
        1 => {
            gathered_as::<u8>(
                table,
                positions,
                out,
                |x| if dtype == DType::Bool { u8::from(x != 0) } else { x },
            )
        }
        2 => gathered_as::<u16>(table, positions, out, |x| x),
        4 => gathered_as::<u32>(table, positions, out, |x| x),
        _ => gathered_as::<u64>(table, positions, out, |x| x),
    }
}

fn gathered_as<T: Elem<Store = T> + Default>(
    table: &Table<'_>,
    positions: &[u8],
    out: &mut [u8],
    map: impl Fn(T) -> T,
) -> bool {
    let (Some(table), Some(positions), Some(out)) =
        (typed::<T>(table.bytes()), typed::<u64>(positions), typed_mut::<T>(out))
    else {
        return false;
    };
    let mut are_inside = true;
    for (out, &position) in out.iter_mut().zip(positions) {
        // A negative position is a large one.
        let element = usize::try_from(position).ok().and_then(|position| table.get(position));
        are_inside &= element.is_some();
        *out = element.or(table.first()).map_or_else(T::default, |&element| map(element));
    }
    are_inside
}

/// Copies the elements of a value to an output. Bools are normalised to 0 or 1, since an input may contain any byte.
fn copy(from: &[u8], to: &mut [u8], dtype: DType) {
    to.copy_from_slice(from);
    if dtype == DType::Bool {
        to.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
}
