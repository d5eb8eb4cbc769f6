//! Running a program on a block.
//!
//! In: a block of a nest, parameters, a byte per fault site. Out: the block's outputs are written, and the bytes of
//! sites that met a zero divisor set. Must hold: nothing is allocated once the scratch tiles are there.

use broadloom_core::kernel::Depth;
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_math::Elem;
use broadloom_mem::{Block, Inputs, Operand, Outputs, bytes_of, bytes_of_mut};

use crate::loops::{TileLoop, any_zero};
use crate::program::{Place, Program, Step};

/// Elements per tile: 128 to 512 were equally fast where it was measured.
pub const TILE: usize = 256;

/// Tiles, kept from run to run.
#[derive(Debug, Default)]
pub struct Tiles(Vec<Box<[u64]>>);

impl Tiles {
    /// Makes room for a program's tiles.
    fn fit(&mut self, sizes: &[usize]) {
        for (i, size) in sizes.iter().enumerate() {
            let words = TILE * size / 8;
            match self.0.get_mut(i) {
                Some(tile) if tile.len() >= words => {}
                Some(tile) => *tile = vec![0; words].into(),
                None => self.0.push(vec![0; words].into()),
            }
        }
    }
}

impl Program {
    /// Computes a block.
    ///
    /// `faults` has a byte per fault site of the kernel, in order; a site that meets a zero divisor sets its byte.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`]: the block is not of the types and access classes that the program was made for, or
    /// there are too few parameters or fault bytes.
    pub fn run(
        &self,
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
        tiles.fit(&self.tiles);
        let cols = block.cols();
        let filled = cols.min(TILE);
        for (i, &tile) in self.param_tiles.iter().enumerate() {
            fill(&mut tiles.0[tile], params[i], self.params[i].size(), filled);
        }
        for step in self.steps.iter().filter(|s| s.depth == Depth::Call) {
            uniform(self, step, &mut tiles.0, faults, filled);
        }
        for row in 0..block.rows() {
            let (inputs, mut outputs) = block.row(row);
            self.row(inputs, &mut outputs, cols, faults, &mut tiles.0);
        }
        Ok(())
    }

    fn row(
        &self,
        inputs: Inputs<'_>,
        outputs: &mut Outputs<'_>,
        cols: usize,
        faults: &mut [u8],
        tiles: &mut [Box<[u64]>],
    ) {
        let filled = cols.min(TILE);
        for &(input, tile) in &self.splat_tiles {
            let size = self.inputs[input].0.size();
            fill(&mut tiles[tile], splat_bits(inputs, input, size), size, filled);
        }
        for step in self.steps.iter().filter(|s| s.depth == Depth::Row) {
            uniform(self, step, tiles, faults, filled);
        }
        let mut start = 0;
        while start < cols {
            let n = TILE.min(cols - start);
            let at = Span { inputs, program: self, start, n };
            for step in self.steps.iter().filter(|s| s.depth == Depth::Element) {
                at.step(step, outputs, tiles, faults);
            }
            for &(output, place) in &self.copies {
                let size = self.outputs[output].size();
                copy(
                    at.operand(place, tiles, size),
                    output_bytes(outputs, output, size, start, n),
                    self.outputs[output],
                );
            }
            start += n;
        }
    }
}

/// Some elements of a row.
#[derive(Clone, Copy)]
struct Span<'r> {
    inputs: Inputs<'r>,
    program: &'r Program,
    start: usize,
    n: usize,
}

impl<'r> Span<'r> {
    /// An operand's bytes, `size` per element.
    fn operand<'t>(&self, place: Place, tiles: &'t [Box<[u64]>], size: usize) -> &'t [u8]
    where
        'r: 't,
    {
        match place {
            Place::Tile(tile) => &bytes_of(&tiles[tile])[..self.n * size],
            Place::Input(input) => {
                let row = input_bytes(self.inputs, input, size);
                &row[self.start * size..(self.start + self.n) * size]
            }
        }
    }

    fn step(&self, step: &Step, outputs: &mut Outputs<'_>, tiles: &mut [Box<[u64]>], faults: &mut [u8]) {
        let size = step.dtype.size();
        match step.direct {
            Some(output) => {
                let out = output_bytes(outputs, output, size, self.start, self.n);
                self.compute(step, tiles, out, faults);
            }
            None => {
                let mut tile = std::mem::take(&mut tiles[step.out]);
                self.compute(step, tiles, &mut bytes_of_mut(&mut tile)[..self.n * size], faults);
                tiles[step.out] = tile;
            }
        }
    }

    fn compute(&self, step: &Step, tiles: &[Box<[u64]>], out: &mut [u8], faults: &mut [u8]) {
        let arg = |i: usize| self.operand(step.args[i], tiles, step.arg_sizes[i]);
        if let Some((site, size)) = step.check
            && any_zero(arg(1), size)
        {
            faults[site] = 1;
        }
        let arch = self.program.arch;
        match step.run {
            TileLoop::Unary(f) => f(arch, arg(0), out),
            TileLoop::Binary(f) => f(arch, arg(0), arg(1), out),
            TileLoop::Ternary(f) => f(arch, arg(0), arg(1), arg(2), out),
        }
    }
}

/// Computes what is the same for a whole row or block: for one element, which then fills the tile.
fn uniform(program: &Program, step: &Step, tiles: &mut [Box<[u64]>], faults: &mut [u8], filled: usize) {
    let mut tile = std::mem::take(&mut tiles[step.out]);
    let size = step.dtype.size();
    {
        let arg = |i: usize| -> &[u8] {
            match step.args[i] {
                Place::Tile(t) => &bytes_of(&tiles[t])[..step.arg_sizes[i]],
                // Only values computed for each tile are read from an input's memory.
                Place::Input(_) => &[],
            }
        };
        if let Some((site, size)) = step.check
            && any_zero(arg(1), size)
        {
            faults[site] = 1;
        }
        let out = &mut bytes_of_mut(&mut tile)[..size];
        match step.run {
            TileLoop::Unary(f) => f(program.arch, arg(0), out),
            TileLoop::Binary(f) => f(program.arch, arg(0), arg(1), out),
            TileLoop::Ternary(f) => f(program.arch, arg(0), arg(1), arg(2), out),
        }
    }
    let bytes = bytes_of_mut(&mut tile);
    for at in 1..filled {
        bytes.copy_within(..size, at * size);
    }
    tiles[step.out] = tile;
}

/// Fills a tile with one element.
fn fill(tile: &mut [u64], bits: u64, size: usize, filled: usize) {
    let element = bits.to_le_bytes();
    for out in bytes_of_mut(tile)[..filled * size].chunks_exact_mut(size) {
        out.copy_from_slice(&element[..size]);
    }
}

/// Calls `$f` with the unsigned integer type of so many bytes.
macro_rules! by_size {
    ($size:expr, $t:ident => $body:expr) => {
        match $size {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            _ => {
                type $t = u64;
                $body
            }
        }
    };
}

fn input_bytes(inputs: Inputs<'_>, input: usize, size: usize) -> &[u8] {
    by_size!(size, T => match inputs.get::<T>(input) {
        Operand::Slice(row) => bytes_of(row),
        // The block has the access classes that the program was made for.
        Operand::Splat(_) => &[],
    })
}

fn splat_bits(inputs: Inputs<'_>, input: usize, size: usize) -> u64 {
    by_size!(size, T => inputs.get::<T>(input).get(0).to_bits64())
}

fn output_bytes<'o>(
    outputs: &'o mut Outputs<'_>,
    output: usize,
    size: usize,
    start: usize,
    n: usize,
) -> &'o mut [u8] {
    let row = by_size!(size, T => bytes_of_mut(outputs.get::<T>(output)));
    &mut row[start * size..(start + n) * size]
}

/// A value that is written as it is; a bool that was loaded is 0 or 1 once written.
fn copy(from: &[u8], to: &mut [u8], dtype: DType) {
    to.copy_from_slice(from);
    if dtype == DType::Bool {
        to.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
}
