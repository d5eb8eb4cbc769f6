//! Plans of loop nests: from the extents and strides of a kernel's operands to the loops that visit every element once.
//!
//! A [`LoopPlan`] says which dimensions are walked in which order, which of them are one loop, how the index space is cut
//! into tiles and units of work, and how each operand is accessed. It knows layouts and no memory: the same plan is bound
//! to other memory on every run, and `explain` reads it without any. Whether operands overlap depends on memory
//! and is decided where the plan is bound.
//!
//! A plan is made in three steps: dimensions are dropped, ordered, flipped and collapsed (`normalise`), operands are
//! classified (`classify`), and the space is cut (`tiles`).
//!
//! All loops are parallel: each index has results of its own. The elements that are combined are those of a plan
//! [in order](LoopPlan::in_order), which has no outputs: what a block computes goes to a tile and is combined from there.

mod reach;
mod tiles;

use smallvec::SmallVec;

/// Elements of a tile: of a copy of an input that is an output as well, and of the others the measure.
const TILE: usize = 4096;

/// Bytes of the elements of a row that is read in steps, at least, if it is not the only one: those of the largest block of machine
/// code, which computes what is shorter by way of buffers.
const STEPPED_ROW: usize = 256;

pub use reach::{injective, reach};

/// How an executor reads an input, in every block that it is handed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A row's elements follow each other.
    Contiguous,
    /// A row has one element, which stands for all columns; another row may have another.
    Splat,
    /// Each element of a row lies before the one that it follows.
    Reversed,
    /// Each element of a row lies two elements behind the one that it follows. What is between them may be read with them, but
    /// for what is before a row's first element and behind its last.
    EverySecond,
}

impl Access {
    /// The access of an executor that reads no steps: it is given a tile.
    #[inline]
    pub fn packed(self) -> Access {
        if self.is_stepped() { Access::Contiguous } else { self }
    }

    /// Whether a row's elements are a step apart other than that to the next element in memory.
    #[inline]
    pub fn is_stepped(self) -> bool {
        matches!(self, Access::Reversed | Access::EverySecond)
    }

    /// From an element of a row to the next, in elements.
    #[inline]
    pub fn step(self) -> isize {
        match self {
            Access::Contiguous => 1,
            Access::Splat => 0,
            Access::Reversed => -1,
            Access::EverySecond => 2,
        }
    }
}

/// What becomes of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessClass {
    /// Used in place: the elements of a row follow each other.
    Contiguous,
    /// Used in place: one element for a whole row. Inputs only.
    Uniform,
    /// Copied to or from a tile, whose rows are contiguous, or generated in one.
    Packed,
    /// The elements of a row are a step apart, and of 4 or 8 bytes: used in place by an executor that reads them so
    /// ([`Access::Reversed`], [`Access::EverySecond`]), packed for any other. Inputs only.
    Stepped(Access),
}

/// A dimension that is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopDim {
    /// Its indices are 0 to this, exclusive.
    pub extent: usize,
}

/// How blocks are cut from the index space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopMode {
    /// All operands are used where they are, a row or many at a time.
    Direct,
    /// Two-dimensional tiles; operands with gaps in their rows are packed, unless the executor reads their steps.
    Tiled,
    /// Ranges of the linear index, because rows are short; operands that are not linear are packed.
    Flat,
}

/// How an operand lies in memory, in bytes.
///
/// A generated operand lies in none: it is an input of int64 whose element at byte `8 · n` is the number `n`, so that its
/// layout says what its values are. A slice, a reversal or a transpose of it is another layout, as of any operand.
#[derive(Clone, Copy, Debug)]
pub struct OperandLayout<'l> {
    /// Bytes of an element: 1, 2, 4 or 8.
    pub item: usize,
    /// Where the element with index 0 in every dimension is, from where the plan is bound to.
    pub offset: isize,
    /// The distance of neighbours in each dimension: any multiple of the item, 0 and negative ones included.
    pub strides: &'l [isize],
    /// Whether elements are generated from their place, and not read.
    pub is_generated: bool,
}

impl<'l> OperandLayout<'l> {
    /// Elements in memory.
    pub fn in_memory(item: usize, offset: isize, strides: &'l [isize]) -> OperandLayout<'l> {
        OperandLayout { item, offset, strides, is_generated: false }
    }

    /// Generated elements of 8 bytes: at byte `8 · n` the number `n`.
    pub fn generated(offset: isize, strides: &'l [isize]) -> OperandLayout<'l> {
        OperandLayout { item: 8, offset, strides, is_generated: true }
    }
}

/// Why layouts have no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoopPlanError {
    /// An operand has not one stride per dimension.
    #[error("operand {operand} has not one stride per dimension")]
    Rank {
        /// Its number.
        operand: usize,
    },
    /// An operand's elements are not at multiples of their size, or have none of the sizes that are known.
    #[error("the elements of operand {operand} are not at multiples of their size")]
    Misaligned {
        /// Its number.
        operand: usize,
    },
    /// An operand reaches further than can be addressed.
    #[error("operand {operand} reaches further than can be addressed")]
    OutOfReach {
        /// Its number.
        operand: usize,
    },
    /// An output may have two indices for one element.
    #[error("output {output} may have two indices for one element")]
    SelfOverlap {
        /// Its number among the outputs.
        output: usize,
    },
    /// A generated operand is an output, or has not 8 bytes per element.
    #[error("operand {operand} can't be generated")]
    NotGenerated {
        /// Its number.
        operand: usize,
    },
    /// The index space has more elements than `isize::MAX`.
    #[error("the index space has more elements than can be counted")]
    TooLarge,
}

/// An operand in a plan.
#[derive(Clone, Copy, Debug)]
pub struct LoopOperand {
    start: isize,
    reach: (isize, isize),
    item: u8,
    class: AccessClass,
    is_generated: bool,
}

impl LoopOperand {
    /// Where the first element of the walk is, in bytes from where the operand is bound to.
    #[inline]
    pub fn start(&self) -> isize {
        self.start
    }

    /// The first byte that is reached and the end, likewise; equal where there are no elements.
    #[inline]
    pub fn reach(&self) -> (isize, isize) {
        self.reach
    }

    /// Bytes of an element.
    #[inline]
    pub fn item(&self) -> usize {
        self.item.into()
    }

    /// What becomes of the operand.
    #[inline]
    pub fn class(&self) -> AccessClass {
        self.class
    }

    /// Whether its elements are generated from their place: it is bound to no memory.
    #[inline]
    pub fn is_generated(&self) -> bool {
        self.is_generated
    }
}

/// In which order dimensions are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// That of memory.
    Free,
    /// The given one.
    Given,
    /// The given one, and the last dimension is joined with no other, and not cut.
    GivenRows,
}

/// The loops over an index space with its operands; see the [module](self).
///
/// # Invariants
/// - The product of the extents is [`elements`](LoopPlan::elements), and each index of the space that was given is one
///   index of the plan: an operand's element there is at `start + Σ index · stride`, inside of its `reach`, a multiple of
///   its item from where it is bound to.
/// - No two indices of an output are one element.
/// - A contiguous operand has its item as the stride of the last dimension, or one column; in flat mode it is contiguous
///   in the linear index. A uniform one is an input with the stride 0 there. A stepped one is an input of a tiled plan with its
///   access's step there. A generated one is a packed input of 8 bytes per element, whatever its strides are.
/// - Units are disjoint and cover the space ([`elements_before`](LoopPlan::elements_before)).
///
/// ```
/// use broadloom_ir::loop_plan::{AccessClass, LoopMode, LoopPlan, OperandLayout};
///
/// // out[i, j] = a[i, j] + b[j], float32: rows of b repeat, so that the two dimensions stay two loops.
/// let layouts = [[400, 4], [0, 4], [400, 4]];
/// let operands = layouts.iter().map(|strides| OperandLayout::in_memory(4, 0, strides));
/// let plan = LoopPlan::new(&[50, 100], 2, operands, LoopPlan::MIN_ROW)?;
/// assert_eq!((plan.extents().collect::<Vec<_>>(), plan.mode()), (vec![50, 100], LoopMode::Direct));
/// assert!(plan.operands().iter().all(|operand| operand.class() == AccessClass::Contiguous));
/// # Ok::<(), broadloom_ir::loop_plan::LoopPlanError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LoopPlan {
    /// Outermost first; at least one.
    dims: SmallVec<[LoopDim; 4]>,
    /// A stride per operand and dimension; until the plan is normalised, per dimension given.
    strides: SmallVec<[isize; 8]>,
    /// Inputs, then outputs.
    operands: SmallVec<[LoopOperand; 4]>,
    inputs: usize,
    order: Order,
    elements: usize,
    /// Direct and flat: elements of a unit. Tiled: columns of a unit, whole tiles.
    unit: usize,
    units: usize,
    tile: (usize, usize),
    mode: LoopMode,
}

impl LoopPlan {
    /// Rows shorter than this are put together to longer ones, by default.
    pub const MIN_ROW: usize = 32;
    /// Elements of a unit of work by default, about: some microseconds for a short body.
    pub const UNIT: usize = 16 << 10;

    /// Plans the loops over `extents` for operands of that shape, `inputs` inputs and then the outputs; rows of fewer
    /// than `min_row` elements are put together.
    ///
    /// # Errors
    /// [`LoopPlanError`], for layouts that are none and for spaces that are too large.
    #[inline]
    pub fn new<'l>(
        extents: &[usize],
        inputs: usize,
        layouts: impl IntoIterator<Item = OperandLayout<'l>>,
        min_row: usize,
    ) -> Result<LoopPlan, LoopPlanError> {
        LoopPlan::empty(inputs).with(extents, layouts, min_row)
    }

    /// Plans the loops over `extents` for inputs alone, in the order of the dimensions: the linear index numbers the elements in C
    /// order. It is for elements that are combined, in an order that must be that of their numbers.
    ///
    /// # Errors
    /// As [`LoopPlan::new`].
    pub fn in_order<'l>(
        extents: &[usize],
        layouts: impl ExactSizeIterator<Item = OperandLayout<'l>>,
        min_row: usize,
    ) -> Result<LoopPlan, LoopPlanError> {
        let plan = LoopPlan { order: Order::Given, ..LoopPlan::empty(layouts.len()) };
        plan.with(extents, layouts, min_row)
    }

    /// The same, whose rows are those of the last dimension: it is joined with no other, and a tile has whole rows.
    ///
    /// # Errors
    /// As [`LoopPlan::new`].
    pub fn in_rows<'l>(
        extents: &[usize],
        layouts: impl ExactSizeIterator<Item = OperandLayout<'l>>,
        min_row: usize,
    ) -> Result<LoopPlan, LoopPlanError> {
        let plan = LoopPlan { order: Order::GivenRows, ..LoopPlan::empty(layouts.len()) };
        plan.with(extents, layouts, min_row)
    }

    /// The plan with these operands.
    #[inline]
    fn with<'l>(
        mut self,
        extents: &[usize],
        layouts: impl IntoIterator<Item = OperandLayout<'l>>,
        min_row: usize,
    ) -> Result<LoopPlan, LoopPlanError> {
        for layout in layouts {
            self.push(extents, layout)?;
        }
        self.finish(extents, min_row.max(1))?;
        Ok(self)
    }

    #[inline]
    fn empty(inputs: usize) -> LoopPlan {
        LoopPlan {
            dims: SmallVec::new(),
            strides: SmallVec::new(),
            operands: SmallVec::new(),
            inputs,
            order: Order::Free,
            elements: 0,
            unit: LoopPlan::UNIT,
            units: 0,
            tile: (1, TILE),
            mode: LoopMode::Direct,
        }
    }

    /// Adds an operand, with its strides as they are.
    #[inline]
    fn push(&mut self, extents: &[usize], layout: OperandLayout<'_>) -> Result<(), LoopPlanError> {
        let OperandLayout { item, offset, strides, is_generated } = layout;
        let operand = self.operands.len();
        if strides.len() != extents.len() {
            return Err(LoopPlanError::Rank { operand });
        }
        // PERF: the item is a power of two; a division takes longer than all of the rest.
        let loose = |(&extent, &stride): (&usize, &isize)| extent > 1 && stride as usize & (item - 1) != 0;
        if !matches!(item, 1 | 2 | 4 | 8) || extents.iter().zip(strides).any(loose) {
            return Err(LoopPlanError::Misaligned { operand });
        }
        if is_generated && (item != 8 || operand >= self.inputs || offset & 7 != 0) {
            return Err(LoopPlanError::NotGenerated { operand });
        }
        let reach = reach(extents, strides, item)
            .and_then(|(low, high)| Some((offset.checked_add(low)?, offset.checked_add(high)?)))
            .ok_or(LoopPlanError::OutOfReach { operand })?;
        if let Some(output) = operand.checked_sub(self.inputs)
            && !injective(extents, strides, item)
        {
            return Err(LoopPlanError::SelfOverlap { output });
        }
        let class = AccessClass::Contiguous;
        self.operands.push(LoopOperand { start: offset, reach, item: item as u8, class, is_generated });
        strides.iter().for_each(|&stride| self.strides.push(stride));
        Ok(())
    }

    fn finish(&mut self, extents: &[usize], min_row: usize) -> Result<(), LoopPlanError> {
        if extents.contains(&0) {
            self.dims.push(LoopDim { extent: 0 });
            self.strides.clear();
            self.strides.resize(self.operands.len(), 0);
            return Ok(());
        }
        let elements = extents.iter().try_fold(1usize, |n, &e| n.checked_mul(e));
        // So that sums of indices do not overflow either.
        self.elements = elements.filter(|&n| n <= isize::MAX as usize).ok_or(LoopPlanError::TooLarge)?;
        self.normalise(extents);
        let flat = self.dims.len() > 1 && self.rows_and_cols().1 < min_row;
        self.classify(flat);
        self.cut(flat);
        Ok(())
    }

    /// Drops, orders, flips and collapses dimensions.
    fn normalise(&mut self, extents: &[usize]) {
        let given = extents.len();
        if self.elements == 1 {
            self.dims.push(LoopDim { extent: 1 });
            // A scalar stays one at every length, so that a compiled body stays the right one.
            let uniform = |s: &[isize]| !s.is_empty() && s.iter().all(|&s| s == 0);
            let stride = |(i, operand): (usize, &LoopOperand)| {
                if uniform(&self.strides[i * given..][..given]) { 0 } else { operand.item() as isize }
            };
            self.strides = self.operands.iter().enumerate().map(stride).collect();
            return;
        }
        // The order of the first output's memory; where there is none, of the first input's.
        let lead = if self.inputs < self.operands.len() { self.inputs } else { 0 };
        if let ([extent], true) =
            (extents, self.order != Order::Free || self.strides.get(lead).is_none_or(|&s| s >= 0))
        {
            // PERF: the usual short call, for which the rest would take as long as its work.
            self.dims.push(LoopDim { extent: *extent });
            return;
        }
        // PERF: and the next usual one, where all operands are linear in the given order.
        let operands = || self.operands.iter().zip(self.strides.chunks_exact(given));
        let linear: SmallVec<[isize; 8]> = operands()
            .map_while(|(operand, strides)| linear_step(extents.iter().copied(), strides, operand.item()))
            .collect();
        if linear.len() == self.operands.len() && self.order != Order::GivenRows {
            self.dims.push(LoopDim { extent: self.elements });
            self.strides = linear;
            return;
        }
        self.order(extents, lead);
        self.collapse();
    }

    /// Orders the dimensions by the strides of the operand `lead`, the longest first, and flips those that it goes
    /// through backwards, unless they stay in order; dimensions of one index are dropped.
    fn order(&mut self, extents: &[usize], lead: usize) {
        let given = extents.len();
        let lead = self.strides.iter().skip(lead * given).take(given);
        let steps: SmallVec<[isize; 6]> =
            if self.order != Order::Free { SmallVec::new() } else { lead.copied().collect() };
        let steps = |d: usize| steps.get(d).copied().unwrap_or(0);
        let mut order: SmallVec<[usize; 6]> = (0..given).filter(|&d| extents[d] > 1).collect();
        // Stable: where an input's strides are 0, the given order stays.
        order.sort_by_key(|&d| std::cmp::Reverse(steps(d).unsigned_abs()));
        let mut strides = SmallVec::with_capacity(order.len() * self.operands.len());
        for (operand, given) in self.operands.iter_mut().zip(self.strides.chunks_exact(given)) {
            for &d in &order {
                let mut stride = given[d];
                if steps(d) < 0 {
                    // In reach, so that neither the product nor the sum overflows.
                    operand.start += stride * (extents[d] - 1) as isize;
                    stride = -stride;
                }
                strides.push(stride);
            }
        }
        self.strides = strides;
        self.dims.extend(order.iter().map(|&d| LoopDim { extent: extents[d] }));
    }

    /// Joins neighbours wherever all operands step from row to row as they do inside of one.
    fn collapse(&mut self) {
        let rank = self.dims.len();
        let mut last = 0;
        for d in 1..rank {
            let extent = self.dims[d].extent;
            let joins = |s: &[isize]| s[d].checked_mul(extent as isize) == Some(s[last]);
            let may_join = self.order != Order::GivenRows || d + 1 < rank;
            if may_join && self.strides.chunks_exact(rank).all(joins) {
                self.dims[last].extent *= extent;
            } else {
                last += 1;
                self.dims[last] = self.dims[d];
            }
            for strides in self.strides.chunks_exact_mut(rank) {
                strides[last] = strides[d];
            }
        }
        if last + 1 < rank {
            for operand in 0..self.operands.len() {
                self.strides.copy_within(operand * rank..operand * rank + last + 1, operand * (last + 1));
            }
            self.strides.truncate(self.operands.len() * (last + 1));
            self.dims.truncate(last + 1);
        }
    }

    /// Says what becomes of each operand; `flat` is whether rows are put together.
    fn classify(&mut self, flat: bool) {
        let rank = self.dims.len();
        let cols = self.dims[rank - 1].extent;
        let dims = &self.dims;
        for (i, (operand, strides)) in
            self.operands.iter_mut().zip(self.strides.chunks_exact(rank)).enumerate()
        {
            let step = match flat {
                true => linear_step(dims.iter().map(|dim| dim.extent), strides, operand.item()),
                false => Some(strides[rank - 1]),
            };
            operand.class = match step {
                _ if operand.is_generated => AccessClass::Packed,
                Some(0) if i < self.inputs => AccessClass::Uniform,
                Some(step) if step == operand.item() as isize || (cols == 1 && !flat) => {
                    AccessClass::Contiguous
                }
                Some(step) if i < self.inputs && !flat => {
                    let access = [Access::Reversed, Access::EverySecond]
                        .into_iter()
                        .find(|access| step == access.step() * operand.item() as isize);
                    let is_long = dims.len() == 1 || cols * operand.item() >= STEPPED_ROW;
                    match access.filter(|_| operand.item() >= 4 && is_long) {
                        Some(access) => AccessClass::Stepped(access),
                        None => AccessClass::Packed,
                    }
                }
                _ => AccessClass::Packed,
            };
        }
    }

    /// The dimensions that are walked, outermost first; at least one.
    pub fn dims(&self) -> &[LoopDim] {
        &self.dims
    }

    /// Their extents; the product is that of the extents given.
    #[inline]
    pub fn extents(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator {
        self.dims.iter().map(|dim| dim.extent)
    }

    /// The operands: inputs, then outputs.
    #[inline]
    pub fn operands(&self) -> &[LoopOperand] {
        &self.operands
    }

    /// How many operands are inputs.
    #[inline]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many elements the space has, and each output.
    #[inline]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// How blocks are cut.
    #[inline]
    pub fn mode(&self) -> LoopMode {
        self.mode
    }

    /// Whether all is one row, in which every operand is used in place: a single loop over memory as it is.
    #[inline]
    pub fn is_linear(&self) -> bool {
        self.mode == LoopMode::Direct && self.dims.len() == 1
    }

    /// How an executor that is given tiles reads each input.
    pub fn accesses(&self) -> impl ExactSizeIterator<Item = Access> {
        self.operands[..self.inputs].iter().map(|operand| operand.class.access())
    }

    /// How an executor reads each input that is given the steps of inputs where they are.
    pub fn stepped_accesses(&self) -> impl ExactSizeIterator<Item = Access> {
        self.operands[..self.inputs].iter().map(|operand| operand.class.stepped_access())
    }

    /// How many bytes of an operand are moved: an element that serves several indices counts once, and a generated one not
    /// at all.
    pub fn distinct_bytes(&self, operand: usize) -> usize {
        if self.operands[operand].is_generated {
            return 0;
        }
        let moved = self.extents().zip(self.strides(operand)).filter(|(_, stride)| **stride != 0);
        let elements = moved.fold(self.elements.min(1), |n, (extent, _)| n.saturating_mul(extent));
        elements.saturating_mul(self.operands[operand].item())
    }

    /// An operand's strides in bytes, one per dimension that is walked.
    #[inline]
    pub fn strides(&self, operand: usize) -> &[isize] {
        let rank = self.dims.len();
        &self.strides[operand * rank..][..rank]
    }

    /// An operand's stride in the last dimension.
    #[inline]
    pub fn inner_stride(&self, operand: usize) -> isize {
        self.strides[(operand + 1) * self.dims.len() - 1]
    }

    /// An operand's stride from row to row in the last two dimensions.
    #[inline]
    pub fn row_stride(&self, operand: usize) -> isize {
        self.strides(operand).iter().nth_back(1).copied().unwrap_or(0)
    }

    /// Extents of the last two dimensions.
    #[inline]
    pub fn rows_and_cols(&self) -> (usize, usize) {
        match self.dims[..] {
            [.., rows, cols] => (rows.extent, cols.extent),
            [cols] => (1, cols.extent),
            [] => (0, 0),
        }
    }
}

impl AccessClass {
    /// How an executor that is given tiles reads an operand of this class.
    #[inline]
    pub fn access(self) -> Access {
        self.stepped_access().packed()
    }

    /// How an executor reads it that is given steps where they are.
    #[inline]
    pub fn stepped_access(self) -> Access {
        match self {
            AccessClass::Uniform => Access::Splat,
            AccessClass::Contiguous | AccessClass::Packed => Access::Contiguous,
            AccessClass::Stepped(access) => access,
        }
    }

    /// Whether operands of this class are packed for an executor that reads no steps.
    #[inline]
    pub fn is_tiled(self) -> bool {
        matches!(self, AccessClass::Packed | AccessClass::Stepped(_))
    }
}

/// The distance of elements that follow each other in the linear index, where that is an element's size (0 for an operand
/// of a single element).
fn linear_step(
    extents: impl DoubleEndedIterator<Item = usize>,
    strides: &[isize],
    item: usize,
) -> Option<isize> {
    let (mut step, mut linear, mut zero) = (item as isize, true, true);
    for (extent, &stride) in extents.rev().zip(strides.iter().rev()) {
        linear &= stride == step || extent == 1;
        zero &= stride == 0 || extent == 1;
        step = step.wrapping_mul(extent as isize);
    }
    if linear { Some(item as isize) } else { zero.then_some(0) }
}

#[cfg(test)]
mod tests;
