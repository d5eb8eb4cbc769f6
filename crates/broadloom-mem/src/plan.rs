//! The plan of a walk: which dimensions, in which order, cut into what.
//!
//! In: extents, input and output layouts of that shape. Out: the fewest dimensions that say the same, a mode,
//! a class per operand, and the size of tiles and units of work.
//! Must hold: planned operands reach exactly the elements of their views, index for index up to a common
//! reordering; outputs share no byte with each other, nor with an input unless element for element.

use smallvec::SmallVec;

use crate::block::Access;
use crate::overlap::{Dims, Place, disjoint};
use crate::view::Layout;

/// Elements of a unit of work, about: some microseconds for a short body.
const UNIT: usize = 16 << 10;
/// Rows up to this length are not cut in direct mode.
const LONG_ROW: usize = 32 << 10;
/// Elements of a tile: of a copy of an input that is an output as well, and of the others the measure.
const TILE: usize = 4096;
/// Bytes of a packed operand in a tile whose rows are as long as can be. Measured on sums of every second element, of
/// reversed ones and of every third, float32 and float64: 4 to 8 KiB, so that the tile and what it meets stay in a
/// first-level cache of 48 KiB, are up to 1.3 × faster than 16 to 32 KiB; 2 KiB is slower again.
const ROW_BYTES: usize = 8 << 10;
/// Bytes of an operand in a tile for transposed copies, and of all packed operands together.
const TRANSPOSED_BYTES: usize = 32 << 10;
const PACKED_BYTES: usize = 128 << 10;
/// Bytes that such a tile has of a column that is contiguous in memory: two cache lines, as they are
/// prefetched.
const COLUMN_BYTES: usize = 128;
/// Elements of a tile in flat mode, at most (if one row has not more).
const FLAT_TILE: usize = 1024;

/// Why operands can't be walked together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NestError {
    /// An input's shape is not the extents.
    #[error("the shape of input {input} is not that of the index space")]
    InputShape {
        /// Its number.
        input: usize,
    },
    /// An output's shape is not the extents.
    #[error("the shape of output {output} is not that of the index space")]
    OutputShape {
        /// Its number.
        output: usize,
    },
    /// An input shares memory with an output, other than element for element: read from a copy instead.
    #[error("input {input} overlaps output {output} other than element for element")]
    Overlap {
        /// The input's number.
        input: usize,
        /// The output's number.
        output: usize,
    },
    /// Two outputs share memory, or are not known not to.
    #[error("outputs {first} and {second} overlap")]
    OutputsOverlap {
        /// The lower number.
        first: usize,
        /// The higher one.
        second: usize,
    },
    /// The index space has more elements than `isize::MAX`.
    #[error("the index space has more elements than can be counted")]
    TooLarge,
}

/// How blocks are cut from the index space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All operands are used where they are, a row or many at a time.
    Direct,
    /// Two-dimensional tiles; operands with gaps in their rows are packed.
    Tiled,
    /// Ranges of the linear index, because rows are short; operands that are not linear are packed.
    Flat,
}

/// What becomes of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Used in place: rows without gaps.
    Row,
    /// Used in place: one element per row. Inputs that alias nothing only.
    Splat,
    /// Copied to or from a tile.
    Pack,
}

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) ptr: *mut u8,
    item: u8,
    pub(crate) class: Class,
    /// An input that has exactly the elements of an output.
    pub(crate) aliased: bool,
    /// Addresses of the first byte reached and of the end.
    reach: (usize, usize),
}

impl Op {
    /// An operand of a plan that is made.
    #[inline]
    pub(crate) fn bound(ptr: *mut u8, item: u8, class: Class, reach: (usize, usize)) -> Op {
        Op { ptr, item, class, aliased: false, reach }
    }

    /// Addresses of the first byte reached and of the end.
    pub(crate) fn reach(&self) -> (usize, usize) {
        self.reach
    }

    /// Bytes of an element.
    #[inline]
    pub(crate) fn item(&self) -> usize {
        self.item.into()
    }

    /// How an executor reads the operand.
    #[inline]
    pub(crate) fn access(&self) -> Access {
        match self.class {
            Class::Splat => Access::Splat,
            Class::Row | Class::Pack => Access::Contiguous,
        }
    }

    fn near(&self, other: &Op) -> bool {
        self.reach.0 < other.reach.1 && other.reach.0 < self.reach.1
    }

    fn place<'v>(&self, shape: &'v [usize], strides: &'v [isize]) -> Place<'v> {
        Place { address: self.ptr.addr(), item: self.item(), shape, strides }
    }
}

/// See the module's head. It is small because it is moved.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Extents, outermost first; at least one.
    pub(crate) dims: SmallVec<[usize; 4]>,
    /// Inputs, then outputs.
    pub(crate) ops: SmallVec<[Op; 4]>,
    /// A stride per operand and dimension; until the plan is finished, per dimension given.
    strides: SmallVec<[isize; 8]>,
    pub(crate) inputs: usize,
    pub(crate) elements: usize,
    /// Direct and flat: elements of a unit. Tiled: columns of a unit, whole tiles.
    pub(crate) unit: usize,
    pub(crate) units: usize,
    /// Rows and columns of a tile; in flat mode elements, in one row; in direct mode, where inputs are
    /// copied.
    pub(crate) tile: (usize, usize),
    pub(crate) mode: Mode,
}

/// A plan but for its operands.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    dims: SmallVec<[usize; 4]>,
    strides: SmallVec<[isize; 8]>,
    pub(crate) inputs: usize,
    elements: usize,
    unit: usize,
    units: usize,
    tile: (usize, usize),
    mode: Mode,
}

impl Plan {
    /// The plan of a walk without elements.
    #[inline]
    pub(crate) fn empty() -> Plan {
        Plan {
            dims: SmallVec::new(),
            ops: SmallVec::new(),
            strides: SmallVec::new(),
            inputs: 0,
            elements: 0,
            unit: UNIT,
            units: 0,
            tile: (1, TILE),
            mode: Mode::Direct,
        }
    }

    /// A plan that was made before, over other operands.
    #[inline]
    pub(crate) fn of(frame: Frame, ops: SmallVec<[Op; 4]>) -> Plan {
        let Frame { dims, strides, inputs, elements, unit, units, tile, mode } = frame;
        Plan { dims, ops, strides, inputs, elements, unit, units, tile, mode }
    }

    /// All but the operands.
    pub(crate) fn frame(&self) -> Frame {
        let Plan { inputs, elements, unit, units, tile, mode, .. } = *self;
        let (dims, strides) = (self.dims.clone(), self.strides.clone());
        Frame { dims, strides, inputs, elements, unit, units, tile, mode }
    }

    /// Adds an operand, with its strides as they are; gives whether its shape is that of the extents.
    #[inline]
    pub(crate) fn push(&mut self, layout: &Layout, extents: &[usize]) -> bool {
        self.ops.push(Op {
            ptr: layout.ptr,
            item: layout.item as u8,
            class: Class::Row,
            aliased: false,
            reach: layout.reach,
        });
        layout.strides.iter().for_each(|&stride| self.strides.push(stride));
        layout.has_shape(extents)
    }

    /// Plans the walk, once `inputs` inputs and all outputs were added; rows of fewer than `min_row` elements
    /// are put together.
    pub(crate) fn finish(
        &mut self,
        extents: &[usize],
        inputs: usize,
        min_row: usize,
    ) -> Result<(), NestError> {
        self.inputs = inputs;
        if extents.contains(&0) {
            self.dims.push(0);
            self.strides.clear();
            self.strides.resize(self.ops.len(), 0);
            return Ok(());
        }
        let elements = extents.iter().try_fold(1usize, |n, &e| n.checked_mul(e));
        // So that sums of indices do not overflow either.
        self.elements = elements.filter(|&n| n <= isize::MAX as usize).ok_or(NestError::TooLarge)?;
        self.find_aliases(extents)?;
        self.normalise(extents);
        self.choose(min_row.max(1));
        Ok(())
    }

    fn find_aliases(&mut self, extents: &[usize]) -> Result<(), NestError> {
        let rank = extents.len();
        let of = |op: usize| &self.strides[op * rank..][..rank];
        let (inputs, outputs) = self.ops.split_at_mut(self.inputs);
        for (second, b) in outputs.iter().enumerate() {
            let at_b = b.place(extents, of(inputs.len() + second));
            for (first, a) in outputs[..second].iter().enumerate() {
                if a.near(b) && !disjoint(a.place(extents, of(inputs.len() + first)), at_b) {
                    return Err(NestError::OutputsOverlap { first, second });
                }
            }
            for (input, a) in inputs.iter_mut().enumerate() {
                if !a.near(b) {
                    continue;
                }
                let at_a = a.place(extents, of(input));
                if at_a.same(at_b) {
                    a.aliased = true;
                } else if !disjoint(at_a, at_b) {
                    return Err(NestError::Overlap { input, output: second });
                }
            }
        }
        Ok(())
    }

    /// An operand's strides.
    #[inline]
    pub(crate) fn strides(&self, op: usize) -> &[isize] {
        let rank = self.dims.len();
        &self.strides[op * rank..][..rank]
    }

    /// An operand's stride in the last dimension.
    #[inline]
    pub(crate) fn inner(&self, op: usize) -> isize {
        self.strides[(op + 1) * self.dims.len() - 1]
    }

    /// An operand's stride from row to row in two dimensions.
    #[inline]
    pub(crate) fn row_stride(&self, op: usize) -> isize {
        self.strides(op).iter().nth_back(1).copied().unwrap_or(0)
    }

    /// Extents of the last two dimensions.
    pub(crate) fn rows_and_cols(&self) -> (usize, usize) {
        match self.dims[..] {
            [.., rows, cols] => (rows, cols),
            [cols] => (1, cols),
            [] => (0, 0),
        }
    }

    /// Drops, orders, flips and collapses dimensions.
    fn normalise(&mut self, extents: &[usize]) {
        let given = extents.len();
        if self.elements == 1 {
            self.dims.push(1);
            // A scalar stays one at every length, so that a compiled body stays the right one.
            let splat = |s: &[isize]| !s.is_empty() && s.iter().all(|&s| s == 0);
            let ops = self.ops.iter().enumerate();
            self.strides = ops
                .map(
                    |(i, op)| if splat(&self.strides[i * given..][..given]) { 0 } else { op.item() as isize },
                )
                .collect();
            return;
        }
        // The order of the first output's memory; where there is none, of the first input's.
        let lead = if self.inputs < self.ops.len() { self.inputs } else { 0 };
        if let ([extent], true) = (extents, self.strides.get(lead).is_none_or(|&s| s >= 0)) {
            // PERF: the usual short call, for which the rest would take as long as its work.
            self.dims.push(*extent);
            return;
        }
        // PERF: and the next usual one, where all operands are linear in the given order.
        let ops = || self.ops.iter().zip(self.strides.chunks_exact(given));
        let linear: SmallVec<[isize; 8]> =
            ops().map_while(|(op, s)| linear_step(extents, s, op.item())).collect();
        if linear.len() == self.ops.len() {
            self.dims.push(self.elements);
            self.strides = linear;
            return;
        }
        let steps: Dims<isize> = self.strides.iter().skip(lead * given).take(given).copied().collect();
        let steps = |d: usize| steps.get(d).copied().unwrap_or(0);
        let mut order: Dims<usize> = (0..given).filter(|&d| extents[d] > 1).collect();
        // Stable: where an input's strides are 0, the given order stays.
        order.sort_by_key(|&d| std::cmp::Reverse(steps(d).unsigned_abs()));
        let mut strides = SmallVec::with_capacity(order.len() * self.ops.len());
        for (op, given) in self.ops.iter_mut().zip(self.strides.chunks_exact(given)) {
            for &d in &order {
                let mut stride = given[d];
                if steps(d) < 0 {
                    op.ptr = op.ptr.wrapping_offset(stride * (extents[d] - 1) as isize);
                    stride = -stride;
                }
                strides.push(stride);
            }
        }
        self.strides = strides;
        self.dims.extend(order.iter().map(|&d| extents[d]));
        self.collapse();
    }

    /// Joins neighbours wherever all operands step from row to row as they do inside of one.
    fn collapse(&mut self) {
        let rank = self.dims.len();
        let mut last = 0;
        for d in 1..rank {
            let extent = self.dims[d];
            let joins = |s: &[isize]| s[d].checked_mul(extent as isize) == Some(s[last]);
            if self.strides.chunks_exact(rank).all(joins) {
                self.dims[last] *= extent;
            } else {
                last += 1;
                self.dims[last] = extent;
            }
            for strides in self.strides.chunks_exact_mut(rank) {
                strides[last] = strides[d];
            }
        }
        if last + 1 < rank {
            for op in 0..self.ops.len() {
                self.strides.copy_within(op * rank..op * rank + last + 1, op * (last + 1));
            }
            self.strides.truncate(self.ops.len() * (last + 1));
            self.dims.truncate(last + 1);
        }
    }

    /// Chooses mode, classes, tile and unit.
    fn choose(&mut self, min_row: usize) {
        let rank = self.dims.len();
        let cols = self.dims[rank - 1];
        let flat = rank > 1 && cols < min_row;
        let mut packs = false;
        for (i, (op, strides)) in self.ops.iter_mut().zip(self.strides.chunks_exact(rank)).enumerate() {
            let may_splat = i < self.inputs && !op.aliased;
            op.class = if flat {
                match linear_step(&self.dims, strides, op.item()) {
                    Some(0) if may_splat => Class::Splat,
                    Some(0) | None => Class::Pack,
                    Some(_) => Class::Row,
                }
            } else {
                match strides[rank - 1] {
                    0 if may_splat => Class::Splat,
                    s if s == op.item() as isize || cols == 1 => Class::Row,
                    _ => Class::Pack,
                }
            };
            packs |= op.class == Class::Pack;
        }
        if flat {
            self.mode = Mode::Flat;
            self.cut_flat();
        } else if packs {
            self.mode = Mode::Tiled;
            let transposed = self.choose_rows();
            self.cut_tiles(transposed);
        } else {
            self.cut_rows();
        }
    }

    fn cut_rows(&mut self) {
        let cols = self.dims[self.dims.len() - 1];
        if self.dims.len() > 1 && cols <= LONG_ROW {
            self.unit = cols * (UNIT / cols).max(1);
        }
        self.units = if self.elements <= self.unit { 1 } else { self.elements.div_ceil(self.unit) };
        if cols < TILE && self.ops.iter().any(|op| op.aliased) {
            self.tile = (TILE / cols, cols);
        }
    }

    fn cut_flat(&mut self) {
        // Whole repetitions of as many dimensions as fit: operands that repeat are then packed once.
        let mut tile = 1;
        for &extent in self.dims.iter().rev() {
            if tile * extent > FLAT_TILE && tile > 1 {
                break;
            }
            tile *= extent;
        }
        tile *= (FLAT_TILE / tile).max(1);
        self.tile = (1, tile.min(self.elements));
        self.unit = tile * (UNIT / tile).max(1);
        self.units = self.elements.div_ceil(self.unit);
    }

    /// Makes the second last dimension the one along which the first packed operand that has
    /// such a dimension steps least: both sides of a transposed copy then move along their memory. Gives that
    /// operand's item size.
    fn choose_rows(&mut self) -> Option<usize> {
        let rank = self.dims.len();
        let nearer = |(op, strides): (&Op, &[isize])| {
            let (inner, outer) = strides.split_last()?;
            let steps = outer.iter().enumerate().filter(|s| *s.1 != 0);
            let least = steps
                .min_by_key(|s| s.1.unsigned_abs())
                .filter(|s| s.1.unsigned_abs() < inner.unsigned_abs());
            least.filter(|_| op.class == Class::Pack).map(|(d, _)| (d, op.item()))
        };
        let (d, item) = self.ops.iter().zip(self.strides.chunks_exact(rank)).find_map(nearer)?;
        self.dims[d..rank - 1].rotate_left(1);
        for strides in self.strides.chunks_exact_mut(rank) {
            strides[d..rank - 1].rotate_left(1);
        }
        Some(item)
    }

    fn cut_tiles(&mut self, transposed: Option<usize>) {
        let (rows, cols) = self.rows_and_cols();
        let items = || self.ops.iter().filter(|op| op.class == Class::Pack).map(Op::item);
        let (packed, widest) = (items().sum::<usize>(), items().max().unwrap_or(1));
        // Measured on transposed sums of float32 and float64: 16 to 32 rows of 256 columns, within 10 % of
        // each other.
        let (elements, high) = match transposed {
            Some(item) => ((TRANSPOSED_BYTES / item).min(2 * TILE), (COLUMN_BYTES / item).min(64)),
            None => (ROW_BYTES / widest, 1),
        };
        let elements = elements.min(PACKED_BYTES / packed).max(TILE / 4);
        let high = rows.min(high);
        // Columns in equal pieces. Short ones get more rows, but not where each row is in another page.
        let pieces = cols.div_ceil(elements / high);
        let wide = cols.div_ceil(pieces).next_multiple_of(16).min(cols);
        let high = if transposed.is_some() { high } else { rows.min((elements / wide).max(high)) };
        self.tile = (high, wide);
        self.unit = wide * (UNIT / (high * wide)).max(1);
        self.units = self.elements / (rows * cols) * rows.div_ceil(high) * cols.div_ceil(self.unit);
    }

    /// The elements of the units before `unit`.
    pub(crate) fn elements_before(&self, unit: usize) -> usize {
        if self.mode != Mode::Tiled {
            return self.elements.min(unit.saturating_mul(self.unit));
        }
        let ((rows, cols), high) = (self.rows_and_cols(), self.tile.0);
        let (across, down) = (cols.div_ceil(self.unit), rows.div_ceil(high));
        let (slab, in_slab) = (unit / (across * down), unit % (across * down));
        let (row, col) = (in_slab / across * high, in_slab % across * self.unit);
        slab * rows * cols + row * cols + high.min(rows - row) * col
    }
}

/// The distance of elements that follow each other in the linear index, where that is an element's size (0
/// for an operand of a single element).
fn linear_step(dims: &[usize], strides: &[isize], item: usize) -> Option<isize> {
    let (mut step, mut linear, mut zero) = (item as isize, true, true);
    for (&extent, &stride) in dims.iter().zip(strides).rev() {
        linear &= stride == step || extent == 1;
        zero &= stride == 0 || extent == 1;
        step = step.wrapping_mul(extent as isize);
    }
    if linear { Some(item as isize) } else { zero.then_some(0) }
}
