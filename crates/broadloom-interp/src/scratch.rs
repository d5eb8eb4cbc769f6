//! The working memory of a program, which consists of tiles and of slots for single elements. Tiles and slots are allocated while
//! the program is compiled.
//!
//! A tile holds one live value at a time and is reused for values of the same element size. Until all tiles and slots are known,
//! they are identified by numbers, since the length of a tile depends on the number of tiles; [`ScratchLayout`] then turns the
//! numbers into byte offsets.

use broadloom_ir::kernel::{Definition, Depth, Kernel, ValueId};
use broadloom_ir::tuning::tiles::{SHORTEST, WORKING_SET};
use broadloom_mem::ALIGN;

use crate::loops::TILE;
use crate::program::{Destination, Fill, Location, LoopStep, TileStep};

/// The size of a slot in bytes.
const SLOT: usize = 8;
/// The number of bytes between two tiles: five cache lines. Tiles that a loop reads and writes should not begin at the same
/// offset in a page, because stores to one would delay loads from the other.
const STAGGER: usize = 5 * ALIGN;

/// The allocator of locations for a kernel's values, which keeps track of free tiles.
pub(crate) struct TileAllocator<'k> {
    kernel: &'k Kernel,
    locations: Vec<Option<Location>>,
    /// For each uniform value, the number of the tile that is filled with it, if any.
    filled: Vec<Option<usize>>,
    /// For each tile, the size in bytes of its elements.
    tiles: Vec<usize>,
    slots: usize,
    free: Vec<usize>,
    /// The bytes per element that a loop of the kernel takes beside the tiles.
    beside: usize,
}

impl<'k> TileAllocator<'k> {
    pub(crate) fn new(kernel: &'k Kernel) -> TileAllocator<'k> {
        TileAllocator {
            kernel,
            locations: vec![None; kernel.values()],
            filled: vec![None; kernel.values()],
            tiles: Vec::new(),
            slots: 0,
            free: Vec::new(),
            beside: 0,
        }
    }

    /// Makes tiles small enough that this many bytes per element beside them stay in the cache as well.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.beside = self.beside.max(bytes);
    }

    /// Records that an input is read in place.
    pub(crate) fn leave(&mut self, input: usize) {
        self.locations[input] = Some(Location::Input(input));
    }

    /// Allocates a slot for a uniform value, and returns its number.
    pub(crate) fn slot(&mut self, id: ValueId) -> usize {
        self.slots += 1;
        self.locations[id.index()] = Some(Location::Uniform(self.slots - 1));
        self.slots - 1
    }

    /// Allocates a tile for a value with an element per column, and returns its number.
    pub(crate) fn tile(&mut self, id: ValueId) -> usize {
        let size = self.kernel.dtype(id).size();
        let tile = match self.free.iter().rposition(|&t| self.tiles[t] == size) {
            Some(at) => self.free.swap_remove(at),
            None => self.add_tile(size),
        };
        self.locations[id.index()] = Some(Location::Tile(tile));
        tile
    }

    fn add_tile(&mut self, size: usize) -> usize {
        self.tiles.push(size);
        self.tiles.len() - 1
    }

    /// Frees the tile of an instruction's result, if it has one.
    pub(crate) fn release(&mut self, id: ValueId) {
        if let (Definition::Inst(_), Some(Location::Tile(tile))) =
            (self.kernel.definition(id), self.locations[id.index()])
        {
            self.free.push(tile);
        }
    }

    /// The location of a value.
    pub(crate) fn location(&self, id: ValueId) -> Location {
        self.locations[id.index()].unwrap_or(Location::Uniform(0))
    }

    /// The location of a value in a tile, as one element per column. For a uniform value, the first call
    /// allocates a tile and also returns the fill that writes the value to the tile. This tile is never freed, because it is used
    /// for all tiles of the row.
    pub(crate) fn elements(&mut self, id: ValueId) -> (Location, Option<Fill>) {
        let Location::Uniform(slot) = self.location(id) else { return (self.location(id), None) };
        if let Some(tile) = self.filled[id.index()] {
            return (Location::Tile(tile), None);
        }
        let size = self.kernel.dtype(id).size();
        let tile = self.add_tile(size);
        self.filled[id.index()] = Some(tile);
        (Location::Tile(tile), Some(Fill { from: slot, to: tile, size }))
    }

    /// Assigns byte offsets to all tiles and slots. No others may be allocated afterwards.
    pub(crate) fn layout(&self) -> ScratchLayout {
        let rows = self.kernel.inputs.iter().copied().chain(self.kernel.output_dtypes());
        let tiles: usize = rows.map(|dtype| dtype.size()).chain(self.tiles.iter().copied()).sum();
        let tile = tile_length(tiles + self.beside);
        let mut end = (self.slots * SLOT).next_multiple_of(ALIGN);
        let mut place = |&size: &usize| {
            let start = end;
            end += (tile * size).next_multiple_of(ALIGN) + STAGGER;
            start
        };
        let tiles = self.tiles.iter().map(&mut place).collect();
        let stage = place(&SLOT);
        ScratchLayout { tiles, stage, tile, bytes: end }
    }
}

/// The number of elements of a tile. `bytes` is the total size of one element of each tile, input and output.
fn tile_length(bytes: usize) -> usize {
    (WORKING_SET / bytes.max(1)).clamp(SHORTEST, TILE) / ALIGN * ALIGN
}

/// The byte offsets of slots and tiles in the working memory.
pub(crate) struct ScratchLayout {
    tiles: Vec<usize>,
    /// The byte offset of the tile into which results are computed before a non-temporal store.
    pub(crate) stage: usize,
    /// The number of elements of a tile.
    pub(crate) tile: usize,
    /// The size of the working memory in bytes.
    pub(crate) bytes: usize,
}

impl ScratchLayout {
    pub(crate) fn slot(&self, slot: usize) -> usize {
        slot * SLOT
    }

    /// Replaces the number of a tile or slot in a location by its byte offset.
    pub(crate) fn resolve(&self, location: &mut Location) {
        match location {
            Location::Input(_) => {}
            Location::Tile(tile) => *tile = self.tiles[*tile],
            Location::Uniform(slot) => *slot = self.slot(*slot),
        }
    }

    /// Replaces the numbers of tiles and slots in a loop of the level `depth` by byte offsets.
    pub(crate) fn resolve_loop(&self, step: &mut LoopStep, depth: Depth) {
        step.args.iter_mut().for_each(|(location, _)| self.resolve(location));
        for to in step.results.iter_mut().flatten() {
            *to = if depth == Depth::Element { self.tiles[*to] } else { self.slot(*to) };
        }
    }

    /// Replaces the numbers of tiles and slots in a step of the loop level `depth` by byte offsets.
    pub(crate) fn resolve_step(&self, step: &mut TileStep, depth: Depth) {
        step.args[..step.operands].iter_mut().for_each(|(location, _)| self.resolve(location));
        if let Destination::Scratch(to) = &mut step.out {
            *to = if depth == Depth::Element { self.tiles[*to] } else { self.slot(*to) };
        }
    }

    /// Replaces the numbers of the slot and the tile in a fill by byte offsets.
    pub(crate) fn resolve_fill(&self, fill: &mut Fill) {
        (fill.from, fill.to) = (self.slot(fill.from), self.tiles[fill.to]);
    }
}
