//! Plans loop nests: computes, from the extents and strides of a kernel's operands, the loops that visit every element once.
//!
//! A [`LoopPlan`] defines the order of the dimensions, which of them are collapsed into one loop, how the index space is divided
//! into tiles and units of work, and how each operand is accessed. It contains layouts but no memory: one plan is bound to
//! different memory on every run, and `explain` needs no memory at all. Whether operands overlap depends on memory, so it is
//! decided when the plan is bound.
//!
//! A plan is made in three steps: dimensions are dropped, ordered, flipped and collapsed (`normalise`), operands are classified
//! (`classify`), and the space is divided (`tiles`).
//!
//! All loops are parallel: no iteration depends on another. Reductions use a plan [in order](LoopPlan::in_order), which has no
//! outputs: each block is computed into a tile, and then reduced.

mod reach;
mod tiles;

use crate::tuning::tiles::{STEPPED_ROW, TILE};
use smallvec::SmallVec;

pub use reach::{injective, reach};

/// How an executor reads a row of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The elements of a row are contiguous in memory.
    Contiguous,
    /// A row has a single element, which is used for all columns.
    Splat,
    /// The elements of a row are contiguous in memory in reverse order: each is directly before the previous one.
    Reversed,
    /// Consecutive elements of a row are two elements apart in memory. The elements between them may be read as well, but no
    /// element before the first or after the last.
    EverySecond,
}

impl Access {
    /// The access for an executor that can't read stepped inputs: these are packed into a tile, whose rows are contiguous.
    #[inline]
    pub fn packed(self) -> Access {
        if self.is_stepped() { Access::Contiguous } else { self }
    }

    /// Whether the access is stepped: reversed, or every second element.
    #[inline]
    pub fn is_stepped(self) -> bool {
        matches!(self, Access::Reversed | Access::EverySecond)
    }

    /// The distance between consecutive elements of a row, counted in elements.
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

/// How a plan accesses an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessClass {
    /// The elements of a row are contiguous in memory, and are used in place.
    Contiguous,
    /// A row has a single element, which is used in place for all columns. Inputs only.
    Uniform,
    /// The elements are copied from or to a tile with contiguous rows, or generated into a tile.
    Packed,
    /// The elements have 4 or 8 bytes and are reversed or two elements apart ([`Access::Reversed`], [`Access::EverySecond`]). An
    /// executor that supports this access reads them in place; for other executors they are packed. Inputs only.
    Stepped(Access),
}

/// One loop of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopDim {
    /// The number of iterations; indices go from 0 to `extent − 1`.
    pub extent: usize,
}

/// How the index space is divided into the blocks that an executor computes one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopMode {
    /// A block is one or more rows; all operands are used in place.
    Direct,
    /// A block is a two-dimensional tile. Operands whose rows are not contiguous are packed. The exception is an operand with a
    /// constant step between elements, if the executor can read it in place.
    Tiled,
    /// A block is a range of the linear (row-major) index, which avoids loops over short rows. Operands that are not contiguous
    /// in the linear index are packed.
    Flat,
}

/// The layout of an operand: element size, offset and strides, in bytes.
///
/// The elements of a generated operand are not read from memory: their offsets define their values ([`Generated`]). Slicing,
/// reversing or transposing such an operand changes its layout, as for any operand.
#[derive(Clone, Copy, Debug)]
pub struct OperandLayout<'l> {
    /// The size of an element in bytes: 1, 2, 4 or 8.
    pub item: usize,
    /// The offset in bytes of the element whose indices are all 0, from the address that the plan is bound to.
    pub offset: isize,
    /// The distance in bytes between consecutive elements, for each dimension: any multiple of the item size, including 0 and
    /// negative numbers.
    pub strides: &'l [isize],
    /// How the elements follow from their offsets; `None` if they are in memory.
    pub generated: Option<Generated>,
}

impl<'l> OperandLayout<'l> {
    /// The layout of elements in memory.
    pub fn in_memory(item: usize, offset: isize, strides: &'l [isize]) -> OperandLayout<'l> {
        OperandLayout { item, offset, strides, generated: None }
    }

    /// The layout of generated elements of 8 bytes: the element at byte offset `8 · n` has the value `n`.
    pub fn generated(offset: isize, strides: &'l [isize]) -> OperandLayout<'l> {
        OperandLayout { item: 8, offset, strides, generated: Some(Generated::Numbers) }
    }

    /// The layout of words of a random stream: the element at byte offset `item · n` is element `n` of the stream.
    pub fn words(item: usize, offset: isize, strides: &'l [isize]) -> OperandLayout<'l> {
        OperandLayout { item, offset, strides, generated: Some(Generated::Words) }
    }
}

/// The elements of an operand that are computed from their offsets instead of being read from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generated {
    /// The int64 numbers from 0 on: the element at byte offset `8 · n` has the value `n`. They have no memory.
    Numbers,
    /// The words of the random stream of a key, which the operand's memory has instead of the elements: four uint32. The element at
    /// offset `4 · n` is word `n`, or that at offset `8 · n` words `2n` and `2n + 1`.
    Words,
}

impl Generated {
    /// The size in bytes of the memory that the elements depend on.
    pub fn memory(self) -> usize {
        match self {
            Generated::Numbers => 0,
            Generated::Words => 16,
        }
    }

    /// Whether there are elements of `item` bytes.
    fn has_elements_of(self, item: usize) -> bool {
        item == 8 || item == 4 && self == Generated::Words
    }
}

/// The reason why no plan can be made for the layouts of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoopPlanError {
    /// An operand does not have one stride per dimension.
    #[error("operand {operand} has not one stride per dimension")]
    Rank {
        /// The index of the operand.
        operand: usize,
    },
    /// A stride of an operand is not a multiple of its element size, or the element size is not 1, 2, 4 or 8 bytes.
    #[error("the elements of operand {operand} are not at multiples of their size")]
    Misaligned {
        /// The index of the operand.
        operand: usize,
    },
    /// The offsets of an operand's elements do not fit in `isize`.
    #[error("operand {operand} reaches further than can be addressed")]
    OutOfReach {
        /// The index of the operand.
        operand: usize,
    },
    /// Two indices of an output may lead to the same element.
    #[error("output {output} may have two indices for one element")]
    SelfOverlap {
        /// The index of the output.
        output: usize,
    },
    /// A generated operand is an output, or its elements have another size than those that are generated.
    #[error("operand {operand} can't be generated")]
    NotGenerated {
        /// The index of the operand.
        operand: usize,
    },
    /// The index space has more elements than `isize::MAX`.
    #[error("the index space has more elements than can be counted")]
    TooLarge,
}

/// A plan's description of one operand.
#[derive(Clone, Copy, Debug)]
pub struct LoopOperand {
    start: isize,
    reach: (isize, isize),
    item: u8,
    class: AccessClass,
    generated: Option<Generated>,
}

impl LoopOperand {
    /// The offset of the element that is visited first, in bytes from the address that the operand is bound to.
    #[inline]
    pub fn start(&self) -> isize {
        self.start
    }

    /// The range of offsets of all elements' bytes, from the address that the operand is bound to: the lowest offset, and the
    /// offset after the highest. They are equal if there are no elements.
    #[inline]
    pub fn reach(&self) -> (isize, isize) {
        self.reach
    }

    /// The size of an element in bytes.
    #[inline]
    pub fn item(&self) -> usize {
        self.item.into()
    }

    /// How the plan accesses the operand.
    #[inline]
    pub fn class(&self) -> AccessClass {
        self.class
    }

    /// Whether the operand's elements are generated from their offsets instead of being read from memory.
    #[inline]
    pub fn is_generated(&self) -> bool {
        self.generated.is_some()
    }

    /// How the operand's elements follow from their offsets; `None` if they are in memory.
    #[inline]
    pub fn generated(&self) -> Option<Generated> {
        self.generated
    }
}

/// The order of a plan's loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The order in which the first output (or, without outputs, the first input) is laid out in memory.
    Free,
    /// The order in which the dimensions were given.
    Given,
    /// The order in which the dimensions were given. The last dimension is not collapsed with another dimension and is not
    /// divided.
    GivenRows,
}

/// The loops over an index space, and the layout of each operand in them. One plan can be bound to different memory at each run.
///
/// # Invariants
/// - The product of the extents is [`elements`](LoopPlan::elements), and each index of the given space corresponds to one index
///   of the plan. An operand's element at an index is at `start + Σ index · stride`, within its `reach`, and at a multiple of its
///   element size from the bound address.
/// - No two indices of an output lead to the same element.
/// - The stride of a contiguous operand in the last dimension is its element size, unless there is only one column; in flat mode
///   it is contiguous in the linear index. A uniform operand is an input whose stride in the last dimension is 0. A stepped
///   operand is an input of a tiled plan whose stride in the last dimension is the [step](Access::step) of its access. A
///   generated operand is a packed input of 8 bytes per element, whatever its strides are.
/// - Units of work are disjoint and together contain all elements ([`elements_before`](LoopPlan::elements_before)).
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
    /// The loops, outermost first. There is at least one.
    dims: SmallVec<[LoopDim; 4]>,
    /// The strides in bytes, one per operand and dimension. During construction the dimensions are first those given to `new`;
    /// normalisation changes them.
    strides: SmallVec<[isize; 8]>,
    /// The operands: inputs, then outputs.
    operands: SmallVec<[LoopOperand; 4]>,
    inputs: usize,
    order: Order,
    elements: usize,
    /// The size of a unit of work: a number of elements in direct and flat mode; in tiled mode a number of columns, which is a
    /// multiple of a tile's.
    unit: usize,
    units: usize,
    tile: (usize, usize),
    mode: LoopMode,
}

impl LoopPlan {
    /// By default, dimensions are walked by the linear index (flat mode) if a row has fewer elements than this.
    pub const MIN_ROW: usize = 32;
    /// The default size of a unit of work in elements, which takes some microseconds for a short body.
    pub const UNIT: usize = 16 << 10;

    /// Plans the loops over `extents` for operands of this shape. The first `inputs` operands are inputs, and the others are
    /// outputs. If a row has fewer than `min_row` elements, the loops walk the linear index ([`LoopMode::Flat`]).
    ///
    /// # Errors
    /// A [`LoopPlanError`] if a layout is invalid or the index space is too large.
    #[inline]
    pub fn new<'l>(
        extents: &[usize],
        inputs: usize,
        layouts: impl IntoIterator<Item = OperandLayout<'l>>,
        min_row: usize,
    ) -> Result<LoopPlan, LoopPlanError> {
        LoopPlan::empty(inputs).with(extents, layouts, min_row)
    }

    /// Plans the loops over `extents` for inputs alone, in the given order of the dimensions, so that the linear index numbers
    /// the elements in C order. Reductions use such plans, since their order depends on the numbers of the elements.
    ///
    /// # Errors
    /// The errors of [`LoopPlan::new`].
    pub fn in_order<'l>(
        extents: &[usize],
        layouts: impl ExactSizeIterator<Item = OperandLayout<'l>>,
        min_row: usize,
    ) -> Result<LoopPlan, LoopPlanError> {
        let plan = LoopPlan { order: Order::Given, ..LoopPlan::empty(layouts.len()) };
        plan.with(extents, layouts, min_row)
    }

    /// Plans loops in the given order of the dimensions. A row of the plan is one row of the last given dimension, which is not
    /// collapsed with another dimension, and a tile consists of whole rows.
    ///
    /// # Errors
    /// The errors of [`LoopPlan::new`].
    pub fn in_rows<'l>(
        extents: &[usize],
        layouts: impl ExactSizeIterator<Item = OperandLayout<'l>>,
        min_row: usize,
    ) -> Result<LoopPlan, LoopPlanError> {
        let plan = LoopPlan { order: Order::GivenRows, ..LoopPlan::empty(layouts.len()) };
        plan.with(extents, layouts, min_row)
    }

    /// Completes an empty plan for operands with these layouts.
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

    /// Checks the layout of an operand, which has one stride per given dimension, and adds it.
    #[inline]
    fn push(&mut self, extents: &[usize], layout: OperandLayout<'_>) -> Result<(), LoopPlanError> {
        let OperandLayout { item, offset, strides, generated } = layout;
        let operand = self.operands.len();
        if strides.len() != extents.len() {
            return Err(LoopPlanError::Rank { operand });
        }
        // PERF: the element size is a power of two, so a mask tests divisibility; a division would take longer than the rest of
        // the function.
        let loose = |(&extent, &stride): (&usize, &isize)| extent > 1 && stride as usize & (item - 1) != 0;
        if !matches!(item, 1 | 2 | 4 | 8) || extents.iter().zip(strides).any(loose) {
            return Err(LoopPlanError::Misaligned { operand });
        }
        if generated.is_some_and(|of| {
            !of.has_elements_of(item) || operand >= self.inputs || offset as usize & (item - 1) != 0
        }) {
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
        self.operands.push(LoopOperand { start: offset, reach, item: item as u8, class, generated });
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
        // The limit also ensures that sums of indices do not overflow.
        self.elements = elements.filter(|&n| n <= isize::MAX as usize).ok_or(LoopPlanError::TooLarge)?;
        self.normalise(extents);
        let flat = self.dims.len() > 1 && self.rows_and_cols().1 < min_row;
        self.classify(flat);
        self.cut(flat);
        Ok(())
    }

    /// Drops dimensions of extent 1, and orders, flips and collapses the others.
    fn normalise(&mut self, extents: &[usize]) {
        let given = extents.len();
        if self.elements == 1 {
            self.dims.push(LoopDim { extent: 1 });
            // Although there is at most one element, an input whose strides are all 0 is classified as uniform, as it is for more
            // elements, so that the same compiled code can be used.
            let uniform = |s: &[isize]| !s.is_empty() && s.iter().all(|&s| s == 0);
            let stride = |(i, operand): (usize, &LoopOperand)| {
                if uniform(&self.strides[i * given..][..given]) { 0 } else { operand.item() as isize }
            };
            self.strides = self.operands.iter().enumerate().map(stride).collect();
            return;
        }
        // Loops follow the memory order of the first output or, if there is none, of the first input.
        let lead = if self.inputs < self.operands.len() { self.inputs } else { 0 };
        if let ([extent], true) =
            (extents, self.order != Order::Free || self.strides.get(lead).is_none_or(|&s| s >= 0))
        {
            // PERF: most short calls have one dimension, and the general case would take as long as the work itself.
            self.dims.push(LoopDim { extent: *extent });
            return;
        }
        // PERF: in most other short calls, all operands are linear in the given order.
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

    /// Sorts the dimensions by the strides of the operand `lead`, largest first, and flips those in which its stride is negative.
    /// If the order is given, dimensions are neither sorted nor flipped. Dimensions of extent 1 are dropped.
    fn order(&mut self, extents: &[usize], lead: usize) {
        let given = extents.len();
        let lead = self.strides.iter().skip(lead * given).take(given);
        let steps: SmallVec<[isize; 6]> =
            if self.order != Order::Free { SmallVec::new() } else { lead.copied().collect() };
        let steps = |d: usize| steps.get(d).copied().unwrap_or(0);
        let mut order: SmallVec<[usize; 6]> = (0..given).filter(|&d| extents[d] > 1).collect();
        // The sort is stable, so dimensions with equal strides (for example 0) stay in the given order.
        order.sort_by_key(|&d| std::cmp::Reverse(steps(d).unsigned_abs()));
        let mut strides = SmallVec::with_capacity(order.len() * self.operands.len());
        for (operand, given) in self.operands.iter_mut().zip(self.strides.chunks_exact(given)) {
            for &d in &order {
                let mut stride = given[d];
                if steps(d) < 0 {
                    // The new start is the offset of an element, so the product and the sum do not overflow.
                    operand.start += stride * (extents[d] - 1) as isize;
                    stride = -stride;
                }
                strides.push(stride);
            }
        }
        self.strides = strides;
        self.dims.extend(order.iter().map(|&d| LoopDim { extent: extents[d] }));
    }

    /// Collapses two adjacent dimensions into one if, for every operand, the stride of the outer dimension is equal to the stride
    /// of the inner dimension times its extent.
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

    /// Determines the access class of each operand. `flat` is whether the loops walk the linear index.
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
                _ if operand.generated.is_some() => AccessClass::Packed,
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

    /// The loops, outermost first. There is at least one.
    pub fn dims(&self) -> &[LoopDim] {
        &self.dims
    }

    /// The extents of the loops, outermost first. Their product is equal to the product of the given extents.
    #[inline]
    pub fn extents(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator {
        self.dims.iter().map(|dim| dim.extent)
    }

    /// The operands: inputs, then outputs.
    #[inline]
    pub fn operands(&self) -> &[LoopOperand] {
        &self.operands
    }

    /// The number of operands that are inputs.
    #[inline]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of elements in the index space, and in each output.
    #[inline]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// How the index space is divided into blocks.
    #[inline]
    pub fn mode(&self) -> LoopMode {
        self.mode
    }

    /// Whether the plan is a single loop over contiguous memory: one row in which every operand is used in place.
    #[inline]
    pub fn is_linear(&self) -> bool {
        self.mode == LoopMode::Direct && self.dims.len() == 1
    }

    /// The access of each input for an executor that can't read stepped inputs in place.
    pub fn accesses(&self) -> impl ExactSizeIterator<Item = Access> {
        self.operands[..self.inputs].iter().map(|operand| operand.class.access())
    }

    /// The access of each input for an executor that reads stepped inputs in place.
    pub fn stepped_accesses(&self) -> impl ExactSizeIterator<Item = Access> {
        self.operands[..self.inputs].iter().map(|operand| operand.class.stepped_access())
    }

    /// The number of bytes of an operand that a run moves from or to memory. An element that is used at several indices counts
    /// once; generated elements don't count.
    pub fn distinct_bytes(&self, operand: usize) -> usize {
        if self.operands[operand].generated.is_some() {
            return 0;
        }
        let moved = self.extents().zip(self.strides(operand)).filter(|(_, stride)| **stride != 0);
        let elements = moved.fold(self.elements.min(1), |n, (extent, _)| n.saturating_mul(extent));
        elements.saturating_mul(self.operands[operand].item())
    }

    /// The strides of an operand in bytes, one per loop.
    #[inline]
    pub fn strides(&self, operand: usize) -> &[isize] {
        let rank = self.dims.len();
        &self.strides[operand * rank..][..rank]
    }

    /// The stride of an operand in the last dimension, in bytes.
    #[inline]
    pub fn inner_stride(&self, operand: usize) -> isize {
        self.strides[(operand + 1) * self.dims.len() - 1]
    }

    /// The stride of an operand in the last dimension but one, in bytes; 0 if there is only one dimension.
    #[inline]
    pub fn row_stride(&self, operand: usize) -> isize {
        self.strides(operand).iter().nth_back(1).copied().unwrap_or(0)
    }

    /// The extents of the last two dimensions; with a single dimension there is 1 row.
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
    /// The access of an operand of this class for an executor that can't read stepped inputs in place.
    #[inline]
    pub fn access(self) -> Access {
        self.stepped_access().packed()
    }

    /// The access of an operand of this class for an executor that reads stepped inputs in place.
    #[inline]
    pub fn stepped_access(self) -> Access {
        match self {
            AccessClass::Uniform => Access::Splat,
            AccessClass::Contiguous | AccessClass::Packed => Access::Contiguous,
            AccessClass::Stepped(access) => access,
        }
    }

    /// Whether operands of this class are packed for an executor that can't read stepped inputs in place.
    #[inline]
    pub fn is_tiled(self) -> bool {
        matches!(self, AccessClass::Packed | AccessClass::Stepped(_))
    }
}

/// The distance in bytes between consecutive elements in the linear index: the size of an element if the operand is contiguous,
/// and 0 if it is a single element. `None` for other layouts.
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
