//! From a kernel to steps over tiles.
//!
//! In: a kernel and the access class of each input. Out: a [`Program`]: for each instruction its loop, where its
//! operands are, and which tile takes its result. Must hold: a tile is written by one live value at a time; values
//! that are the same for all elements, or all of a row, are computed once for each.

use broadloom_core::kernel::{Definition, Depth, Inst, Kernel, ValueId};
use broadloom_core::{DType, Error, ErrorKind, Result, verify};
use broadloom_mem::Access;
use pulp::Arch;

use crate::loops::{TileLoop, tile_loop};

/// Where a value of a row of elements is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In an input's memory.
    Input(usize),
    /// In a tile of scratch memory.
    Tile(usize),
}

/// One instruction.
pub(crate) struct Step {
    pub run: TileLoop,
    pub args: [Place; 3],
    /// Bytes of an element of each operand.
    pub arg_sizes: [usize; 3],
    /// The tile that the result goes to.
    pub out: usize,
    pub depth: Depth,
    pub dtype: DType,
    /// The output that the result goes to directly, without a tile.
    pub direct: Option<usize>,
    /// The fault site, and bytes of an element of the divisor.
    pub check: Option<(usize, usize)>,
}

/// A kernel, ready to be interpreted.
pub struct Program {
    pub(crate) arch: Arch,
    pub(crate) inputs: Vec<(DType, Access)>,
    pub(crate) params: Vec<DType>,
    pub(crate) outputs: Vec<DType>,
    pub(crate) steps: Vec<Step>,
    /// Tiles of the parameters, then of the inputs that serve a whole row.
    pub(crate) param_tiles: Vec<usize>,
    pub(crate) splat_tiles: Vec<(usize, usize)>,
    /// What is copied to each output that no step writes directly.
    pub(crate) copies: Vec<(usize, Place)>,
    /// Bytes per element of each tile.
    pub(crate) tiles: Vec<usize>,
    pub(crate) fault_sites: usize,
}

impl Program {
    /// Prepares a kernel.
    ///
    /// # Errors
    /// [`broadloom_core::ErrorKind::Internal`]: the kernel does not verify.
    pub fn new(kernel: &Kernel, access: &[Access]) -> Result<Program> {
        verify::kernel(kernel)?;
        if access.len() != kernel.inputs.len() {
            return Err(Error::new(ErrorKind::Internal, "not one access class per input"));
        }
        Builder::new(kernel, access).build()
    }
}

struct Builder<'a> {
    kernel: &'a Kernel,
    access: &'a [Access],
    depths: Vec<Depth>,
    /// The last instruction that reads each value; outputs are read at the end.
    last_use: Vec<usize>,
    /// The last instruction that reads it, outputs apart.
    last_read: Vec<usize>,
    places: Vec<Option<Place>>,
    tiles: Vec<usize>,
    free: Vec<usize>,
}

impl<'a> Builder<'a> {
    fn new(kernel: &'a Kernel, access: &'a [Access]) -> Self {
        let mut last_use = vec![0; kernel.values()];
        for (i, inst) in kernel.body.iter().enumerate() {
            inst.args().iter().for_each(|a| last_use[a.index()] = i);
        }
        let last_read = last_use.clone();
        kernel.outputs.iter().for_each(|o| last_use[o.index()] = usize::MAX);
        Builder {
            kernel,
            access,
            depths: kernel.depths(|i| access[i] == Access::Splat),
            last_use,
            last_read,
            places: vec![None; kernel.values()],
            tiles: Vec::new(),
            free: Vec::new(),
        }
    }

    fn build(mut self) -> Result<Program> {
        let kernel = self.kernel;
        let param_tiles: Vec<usize> =
            (0..kernel.params.len()).map(|i| self.pinned(kernel.param(i), kernel.params[i])).collect();
        let mut splat_tiles = Vec::new();
        for (i, &dtype) in kernel.inputs.iter().enumerate() {
            if self.access[i] == Access::Splat {
                splat_tiles.push((i, self.pinned(kernel.input(i), dtype)));
            } else {
                self.places[i] = Some(Place::Input(i));
            }
        }
        let mut steps = Vec::with_capacity(kernel.body.len());
        let mut fault_sites = 0;
        for (i, inst) in kernel.body.iter().enumerate() {
            let checked = kernel.checks_division && inst.code.faults();
            let check = checked.then(|| (fault_sites, inst.code.operand(1).size()));
            fault_sites += usize::from(checked);
            steps.push(self.step(i, inst, check)?);
        }
        let direct: std::collections::HashSet<usize> = steps.iter().filter_map(|s: &Step| s.direct).collect();
        let copies = kernel
            .outputs
            .iter()
            .enumerate()
            .filter(|(j, _)| !direct.contains(j))
            .map(|(j, o)| (j, self.places[o.index()].unwrap_or(Place::Tile(0))))
            .collect();
        Ok(Program {
            arch: Arch::new(),
            inputs: kernel.inputs.iter().copied().zip(self.access.iter().copied()).collect(),
            params: kernel.params.clone(),
            outputs: kernel.output_dtypes().collect(),
            steps,
            param_tiles,
            splat_tiles,
            copies,
            tiles: self.tiles,
            fault_sites,
        })
    }

    fn step(&mut self, i: usize, inst: &Inst, check: Option<(usize, usize)>) -> Result<Step> {
        let kernel = self.kernel;
        let id = kernel.value(i);
        let dtype = kernel.dtype(id);
        let depth = self.depths[id.index()];
        let (mut args, mut arg_sizes) = ([Place::Tile(0); 3], [0; 3]);
        for (j, arg) in inst.args().iter().enumerate() {
            args[j] = self.places[arg.index()].unwrap_or(Place::Tile(0));
            arg_sizes[j] = inst.code.operand(j).size();
        }
        let mut written = kernel.outputs.iter().enumerate().filter(|(_, o)| **o == id).map(|(j, _)| j);
        // A result that only goes to one output, and is not the same for a whole row, needs no tile.
        let direct = written.next().filter(|_| {
            written.next().is_none() && depth == Depth::Element && self.last_read[id.index()] <= i
        });
        let out = match (direct, depth) {
            (Some(_), _) => usize::MAX,
            (None, Depth::Element) => self.take(dtype.size()),
            (None, _) => self.pinned(id, dtype),
        };
        self.places[id.index()] = Some(Place::Tile(out));
        // Operands are released after the result has its tile: a loop never writes what it reads.
        for (j, arg) in inst.args().iter().enumerate() {
            if self.last_use[arg.index()] == i && !inst.args()[..j].contains(arg) {
                self.release(*arg);
            }
        }
        Ok(Step { run: tile_loop(inst.code)?, args, arg_sizes, out, depth, dtype, direct, check })
    }

    /// A tile that is not given back.
    fn pinned(&mut self, id: ValueId, dtype: DType) -> usize {
        self.tiles.push(dtype.size());
        let tile = self.tiles.len() - 1;
        self.places[id.index()] = Some(Place::Tile(tile));
        tile
    }

    fn take(&mut self, size: usize) -> usize {
        if let Some(at) = self.free.iter().rposition(|&t| self.tiles[t] == size) {
            return self.free.swap_remove(at);
        }
        self.tiles.push(size);
        self.tiles.len() - 1
    }

    fn release(&mut self, id: ValueId) {
        let computed = matches!(self.kernel.definition(id), Definition::Inst(_));
        if let (true, Depth::Element, Some(Place::Tile(tile))) =
            (computed, self.depths[id.index()], self.places[id.index()])
        {
            self.free.push(tile);
        }
    }
}
