//! Divides the index space of a plan into blocks (rows, tiles or ranges of the linear index), and into units of work for threads.
//!
//! A unit has some thousand elements, so that threads get equal shares; a tile is small enough for its packed operands to stay in
//! a first-level cache. The sizes are constants in [`crate::tuning::tiles`], with the measurements that they come from.

use super::{LoopMode, LoopOperand, LoopPlan, Order, TILE};
use crate::tuning::tiles::{
    COLUMN_BYTES, COMBINED_BYTES, FAR, FAR_COLUMN_BYTES, FAR_TRANSPOSED_BYTES, FLAT_TILE, PACKED_BYTES,
    ROW_BYTES, TRANSPOSED_BYTES,
};

/// This number of elements, and every multiple of it, fills a whole number of cache lines for every element size.
const LINES: usize = 64;

impl LoopPlan {
    /// Chooses the mode, the size of tiles and the size of units, after the operands have been classified.
    pub(super) fn cut(&mut self, flat: bool) {
        if flat {
            self.mode = LoopMode::Flat;
            self.cut_flat();
        } else if self.operands.iter().any(is_packed) {
            self.mode = LoopMode::Tiled;
            let transposed = self.choose_rows();
            self.cut_tiles(transposed);
        } else {
            let cols = self.rows_and_cols().1;
            if cols < TILE {
                self.tile = (TILE / cols, cols);
            }
        }
        self.cut_units(LoopPlan::UNIT);
    }

    /// Divides the index space into units of about `about` elements. A unit has whole tiles, and whole rows unless a row is
    /// longer than two units.
    fn cut_units(&mut self, about: usize) {
        let ((rows, cols), (high, wide)) = (self.rows_and_cols(), self.tile);
        (self.unit, self.units) = match self.mode {
            LoopMode::Direct => {
                let has_rows = self.dims.len() > 1 && cols <= 2 * about;
                let unit = if has_rows { cols * (about / cols).max(1) } else { about };
                (unit, if self.elements <= unit { 1 } else { self.elements.div_ceil(unit) })
            }
            LoopMode::Flat => {
                let unit = wide * (about / wide).max(1);
                (unit, self.elements.div_ceil(unit))
            }
            LoopMode::Tiled => {
                let unit = wide * (about / (high * wide)).max(1);
                (unit, self.elements / (rows * cols) * rows.div_ceil(high) * cols.div_ceil(unit))
            }
        };
    }

    /// Returns the same plan with units of about this many elements, if its units are larger than that. A unit has at least one
    /// tile.
    #[must_use]
    pub fn in_units_of(&self, elements: usize) -> LoopPlan {
        let mut plan = self.clone();
        if elements < LoopPlan::UNIT && plan.elements > 0 {
            plan.cut_units(elements.max(1));
        }
        plan
    }

    fn cut_flat(&mut self) {
        // A tile holds as many whole inner dimensions as fit, so that an operand that repeats along the outer dimensions is
        // packed only once.
        let mut tile = 1;
        for extent in self.extents().rev() {
            if tile * extent > FLAT_TILE && tile > 1 {
                break;
            }
            tile *= extent;
        }
        // If a tile has room for several times these dimensions, the number is chosen so that the tile is a whole number of cache
        // lines.
        let most = (FLAT_TILE / tile).max(1);
        tile *= most - most % LINES.min(1 << most.ilog2());
        self.tile = (1, tile.min(self.elements));
    }

    /// Finds the first operand that is packed from memory and whose smallest stride is not in the last dimension, and makes the
    /// dimension of that stride the last but one. The copy of a tile is then a transposition, whose source and target are both
    /// traversed along their memory. Returns the element size of that operand in bytes.
    fn choose_rows(&mut self) -> Option<usize> {
        let rank = self.dims.len();
        // If the order is given, only the last dimension but one is a candidate.
        let first = if self.order != Order::Free { rank.saturating_sub(2) } else { 0 };
        let nearer = |(operand, strides): (&LoopOperand, &[isize])| {
            let (inner, outer) = strides.split_last()?;
            let steps = outer.iter().enumerate().skip(first).filter(|s| *s.1 != 0);
            let least = steps
                .min_by_key(|s| s.1.unsigned_abs())
                .filter(|s| s.1.unsigned_abs() < inner.unsigned_abs());
            least
                .filter(|_| is_packed(operand) && operand.generated.is_none())
                .map(|(d, _)| (d, operand.item()))
        };
        let (d, item) = self.operands.iter().zip(self.strides.chunks_exact(rank)).find_map(nearer)?;
        self.dims[d..rank - 1].rotate_left(1);
        for strides in self.strides.chunks_exact_mut(rank) {
            strides[d..rank - 1].rotate_left(1);
        }
        Some(item)
    }

    fn cut_tiles(&mut self, transposed: Option<usize>) {
        let (rows, cols) = self.rows_and_cols();
        let items = || self.operands.iter().filter(|operand| is_packed(operand)).map(LoopOperand::item);
        let (packed, widest) = (items().sum::<usize>(), items().max().unwrap_or(1));
        // On transposed sums of float32 and float64, tiles of 16 to 32 rows of 256 columns took the same time within 10 %.
        let (elements, high) = match transposed {
            Some(item) => {
                let is_far = self.elements.saturating_mul(item) >= FAR;
                let (tile, column) = match is_far {
                    true => (FAR_TRANSPOSED_BYTES, FAR_COLUMN_BYTES),
                    false => (TRANSPOSED_BYTES, COLUMN_BYTES),
                };
                let elements = match self.order {
                    Order::Free => (tile / item).min(2 * TILE),
                    Order::Given | Order::GivenRows => COMBINED_BYTES / item,
                };
                (elements, (column / item).min(64))
            }
            None => (ROW_BYTES / widest, 1),
        };
        let elements = elements.min(PACKED_BYTES / packed).max(TILE / 4);
        if self.order == Order::GivenRows {
            let most = if transposed.is_some() { high } else { rows };
            self.tile = (rows.min(most).min((elements / cols).max(1)), cols);
            return;
        }
        let high = rows.min(high);
        // The columns are divided into equal parts. If these are short, the tile has more rows, except in transposed copies,
        // where each row of the tile is in another page of the source.
        let pieces = cols.div_ceil(elements / high);
        let wide = cols.div_ceil(pieces).next_multiple_of(16).min(cols);
        let high = if transposed.is_some() { high } else { rows.min((elements / wide).max(high)) };
        self.tile = (high, wide);
    }

    /// The rows and columns of a tile. In flat mode it has one row. In direct mode a tile is only used to copy inputs that are
    /// also outputs.
    #[inline]
    pub fn tile(&self) -> (usize, usize) {
        self.tile
    }

    /// The number of independent units of work, each of some thousand elements. It depends on the layouts alone.
    #[inline]
    pub fn units(&self) -> usize {
        self.units
    }

    /// The size of a unit: a number of elements of the linear index in direct and flat mode, a number of columns in tiled mode.
    #[inline]
    pub fn unit(&self) -> usize {
        self.unit
    }

    /// The total number of elements in the units before number `unit`.
    #[inline]
    pub fn elements_before(&self, unit: usize) -> usize {
        if self.mode != LoopMode::Tiled {
            return self.elements.min(unit.saturating_mul(self.unit));
        }
        let ((rows, cols), high) = (self.rows_and_cols(), self.tile.0);
        let (across, down) = (cols.div_ceil(self.unit), rows.div_ceil(high));
        let (slab, in_slab) = (unit / (across * down), unit % (across * down));
        let (row, col) = (in_slab / across * high, in_slab % across * self.unit);
        slab * rows * cols + row * cols + high.min(rows - row) * col
    }
}

fn is_packed(operand: &LoopOperand) -> bool {
    operand.class.is_tiled()
}
