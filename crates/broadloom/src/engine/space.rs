//! The index space of a reduction: the dimensions of the results (*kept*) and those that are reduced, the order in which they are
//! visited, and the units that threads share.
//!
//! The elements of one result are numbered in C order of the reduced axes, whatever their order in memory. A unit is a range of
//! results with all of their elements, or a range of element numbers of some results. It is visited as boxes (rectangular ranges
//! of indices), each by a loop plan in order: linear indices in the loops are consecutive for consecutive elements of the unit.

use broadloom_ir::tuning::reductions::{ACROSS_BYTES, ACROSS_COMPUTED, PART, SHORT, TILE_BYTES};
use std::ops::Range;

use broadloom_core::fuse::Stage;
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Reduction;
use broadloom_ir::kernel::KernelOutput;
use broadloom_ir::loop_plan::{
    Access, AccessClass, Generated, LoopMode, LoopOperand, LoopPlan, LoopPlanError, OperandLayout,
};
use broadloom_mem::{FloatEnv, Operands, RowOperand};
use smallvec::SmallVec;

use crate::engine::cost;

/// A dimension: its extent, and its stride in each input, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dim {
    extent: usize,
    strides: SmallVec<[isize; 4]>,
}

type Dims = SmallVec<[Dim; 4]>;

/// The order in which a reduction visits its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The elements of each result are consecutive.
    Along,
    /// For `width` adjacent results, the elements with the same number are consecutive.
    Across { width: usize },
}

impl Form {
    /// The number of results that are reduced together.
    pub(crate) fn width(self) -> usize {
        match self {
            Form::Along => 1,
            Form::Across { width } => width,
        }
    }
}

/// The part of a reduction that one thread does at a time: all elements of some results, or some elements of at most
/// [`width`](Form::width) adjacent results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The numbers of the results, in C order.
    pub results: Range<usize>,
    pub numbers: Range<usize>,
}

/// A box of a unit: a rectangular range of its indices.
pub(crate) struct Cells {
    /// The offset of the box's first element in each input, in elements.
    starts: SmallVec<[isize; 4]>,
    /// The extents of the box in the last visited dimensions, outermost first. In the dimensions before these, its extent is 1.
    pub extents: SmallVec<[usize; 6]>,
    /// The linear index of the box's first element, counted from element 0 of the unit's first result.
    pub first: usize,
}

/// The index space of a stage that reduces.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    /// The dimensions of the results, outermost first; at least one.
    kept: Dims,
    /// The dimensions that are reduced, outermost first; at least one.
    reduced: Dims,
    /// The offset of the first element in each input, in elements.
    offsets: SmallVec<[isize; 4]>,
    /// For each input, the size of an element in bytes, and how elements are generated that are not read from memory.
    inputs: SmallVec<[(usize, Option<Generated>); 4]>,
    /// The number of results.
    pub results: usize,
    /// The number of elements that are reduced to one result.
    pub count: usize,
    /// The approximate number of elements in a tile, which are computed before they are reduced.
    pub tile: usize,
    pub form: Form,
    /// The loops of a complete unit: over all results for [`Form::Along`], and over [`width`](Form::width) results for
    /// [`Form::Across`].
    whole: std::result::Result<LoopPlan, LoopPlanError>,
    /// Whether the kernel only loads its inputs.
    pub is_bare: bool,
}

impl Space {
    /// The space in another form: `width` results are reduced together, or one result at a time if `width` is 1.
    pub(crate) fn in_blocks_of(&self, width: usize) -> Space {
        let mut space = self.clone();
        space.form = if width == 1 { Form::Along } else { Form::Across { width } };
        space.whole = space.plan(&space.extents());
        space
    }

    /// The index space of a stage that reduces.
    pub(crate) fn new(stage: &Stage) -> Space {
        let axes = stage.axes;
        let dim = |axis: usize| Dim {
            extent: stage.shape[axis],
            strides: stage.inputs.iter().map(|input| input.layout.strides[axis]).collect(),
        };
        // If an output is stored, the elements are visited in the order in which they are stored.
        let stores = stage.reductions().any(|reduction| reduction.is_none());
        let is_free_of = |(reduction, dtype): (Option<Reduction>, DType)| {
            reduction.is_some_and(|reduction| reduction.is_free(dtype))
        };
        let is_free = stage.reductions().zip(stage.kernel.output_dtypes()).all(is_free_of);
        let of = |reduced: bool| {
            let dims = (0..stage.shape.rank()).filter(|&axis| axes.contains(axis) == reduced).map(dim);
            let mut dims: Dims = dims.filter(|dim| dim.extent != 1).collect();
            if reduced && is_free {
                // The order does not affect the bits, so the elements are visited in the order of the first input's memory.
                dims.sort_by_key(|dim| {
                    std::cmp::Reverse(dim.strides.first().map_or(0, |s| s.unsigned_abs()))
                });
            }
            collapsed(dims, stage.inputs.len())
        };
        let (kept, reduced) = (of(false), of(true));
        let widest = stage.kernel.output_dtypes().map(|dtype| dtype.size()).max().unwrap_or(8);
        let elements = |dims: &[Dim]| dims.iter().map(|dim| dim.extent).product::<usize>();
        let in_memory = stage.inputs.iter().all(|input| input.source.generated().is_none());
        let inputs = stage.inputs.iter().zip(&stage.kernel.inputs);
        let mut space = Space {
            results: elements(&kept),
            count: elements(&reduced),
            kept,
            reduced,
            offsets: stage.inputs.iter().map(|input| input.layout.offset).collect(),
            inputs: inputs.map(|(i, dtype)| (dtype.size(), i.source.generated())).collect(),
            // Cancellation is checked between two tiles, so tiles must not be too large.
            tile: (TILE_BYTES / widest).min(cost::pause(&stage.kernel)),
            form: Form::Along,
            whole: Err(LoopPlanError::TooLarge),
            is_bare: stage.kernel.body.is_empty() && stage.kernel.params.is_empty() && in_memory && !stores,
        };
        if space.results > 0 && space.count > 0 {
            space.form = if stores { Form::Along } else { space.form_of(widest) };
            space.whole = space.plan(&space.extents());
        }
        space
    }

    fn inner(&self) -> (&Dim, &Dim) {
        // There is at least one kept and one reduced dimension.
        (&self.kept[self.kept.len() - 1], &self.reduced[self.reduced.len() - 1])
    }

    fn form_of(&self, widest: usize) -> Form {
        let (kept, reduced) = self.inner();
        // Rows lie along the dimension for which fewer inputs have to be packed; of two such, along that for which more inputs are
        // contiguous. An input with one value for a row has to be neither.
        let packed = |dim: &Dim| dim.strides.iter().filter(|stride| !(0..=1).contains(*stride)).count();
        let follow = |dim: &Dim| dim.strides.iter().filter(|stride| **stride == 1).count();
        let order = |dim: &Dim| (packed(dim), std::cmp::Reverse(follow(dim)));
        if kept.extent == 1 || order(reduced) <= order(kept) {
            return Form::Along;
        }
        let in_place = self.is_bare && kept.strides.iter().all(|stride| *stride == 1);
        let width = match (in_place, self.count < 128) {
            (true, false) => ACROSS_BYTES / widest,
            (true, true) => 4 * ACROSS_BYTES / widest,
            (false, false) => ACROSS_COMPUTED,
            (false, true) => (self.tile / self.count).max(ACROSS_COMPUTED),
        };
        let blocks = kept.extent.div_ceil(width);
        let even = kept.extent.div_ceil(blocks);
        Form::Across {
            width: if blocks > 1 { even.next_multiple_of(16).min(kept.extent) } else { kept.extent },
        }
    }

    /// The dimensions that a unit visits, outermost first: for [`Form::Along`] the kept dimensions and then the reduced ones, for
    /// [`Form::Across`] the reduced dimensions and then the last kept one.
    fn walked(&self) -> SmallVec<[&Dim; 6]> {
        let (outer, inner) = match self.form {
            Form::Along => (&self.kept[..], &[][..]),
            Form::Across { .. } => (&[][..], &self.kept[self.kept.len() - 1..]),
        };
        outer.iter().chain(&self.reduced).chain(inner).collect()
    }

    /// The extents of a complete unit in the visited dimensions.
    fn extents(&self) -> SmallVec<[usize; 6]> {
        let mut extents: SmallVec<[usize; 6]> = self.walked().iter().map(|dim| dim.extent).collect();
        if let (Form::Across { width }, Some(last)) = (self.form, extents.last_mut()) {
            *last = width;
        }
        extents
    }

    /// The loops over a box with these extents in the last visited dimensions. Offsets are relative to the box's first element.
    pub(crate) fn plan(&self, extents: &[usize]) -> std::result::Result<LoopPlan, LoopPlanError> {
        let walked = self.walked();
        let walked = &walked[walked.len() - extents.len()..];
        let in_bytes = |(i, &(item, _)): (usize, &(usize, Option<Generated>))| {
            walked.iter().map(|dim| dim.strides[i] * item as isize).collect::<SmallVec<[isize; 6]>>()
        };
        let strides: SmallVec<[_; 4]> = self.inputs.iter().enumerate().map(in_bytes).collect();
        let layouts = self.inputs.iter().zip(&strides).map(|(&(item, generated), strides)| OperandLayout {
            item,
            offset: 0,
            strides,
            generated,
        });
        let plan = LoopPlan::in_order(extents, layouts.clone(), LoopPlan::MIN_ROW)?;
        // For `Across`, each row of a block must contain an element of each result that is reduced together.
        match (self.form, plan.mode()) {
            (Form::Across { .. }, LoopMode::Tiled) => LoopPlan::in_rows(extents, layouts, LoopPlan::MIN_ROW),
            _ => Ok(plan),
        }
    }

    /// The loops of a complete unit: over all results for [`Form::Along`], and over [`width`](Form::width) results for
    /// [`Form::Across`].
    pub(crate) fn whole(&self) -> Result<&LoopPlan> {
        self.whole.as_ref().map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))
    }

    /// The loops over a box that is a complete unit; `None` for other boxes.
    pub(crate) fn whole_of(&self, cells: &Cells) -> Option<&LoopPlan> {
        self.whole.as_ref().ok().filter(|_| cells.extents == self.extents())
    }

    /// The offset of a box in each input, in bytes.
    pub(crate) fn starts_of(&self, cells: &Cells) -> impl Iterator<Item = isize> {
        cells.starts.iter().zip(&self.inputs).map(|(&start, &(item, _))| start * item as isize)
    }

    /// Whether the kernel only loads its inputs, so that elements are reduced where they are: in memory, or in the tiles that
    /// they are packed into.
    pub(crate) fn takes_inputs(&self) -> bool {
        let is_each = |plan: &LoopPlan| plan.accesses().all(|access| access != Access::Splat);
        self.is_bare && self.whole.as_ref().is_ok_and(is_each)
    }

    /// The range of an input's elements that are reduced, if they are contiguous in the order of the results and of each result's
    /// elements.
    pub(crate) fn neighbours(&self, input: usize) -> Option<Range<usize>> {
        let plan = self.whole.as_ref().ok().filter(|plan| plan.is_linear() && self.form == Form::Along)?;
        let start = usize::try_from(self.offsets[input]).ok()?;
        (plan.operands()[input].class() == AccessClass::Contiguous)
            .then(|| start..start + self.results * self.count)
    }

    /// Whether only a few elements are reduced, which are read from memory and not computed.
    fn is_short(&self) -> bool {
        self.is_bare && (1..=SHORT).contains(&(self.results * self.count))
    }

    /// Whether only a few elements are computed and reduced, of inputs that are contiguous in the order of the results and of each
    /// result's elements, or have the same value for all of them.
    pub(crate) fn is_short_row(&self) -> bool {
        let is_row = |plan: &LoopPlan| {
            let in_row = |operand: &LoopOperand| {
                matches!(operand.class(), AccessClass::Contiguous | AccessClass::Uniform)
                    && !operand.is_generated()
            };
            plan.is_linear() && plan.operands().iter().all(in_row)
        };
        (1..=SHORT).contains(&(self.results * self.count))
            && self.form == Form::Along
            && !self.is_bare
            && self.whole.as_ref().is_ok_and(is_row)
    }

    /// The layout of each input of a space that [is a short row](Space::is_short_row).
    pub(crate) fn rows_of_inputs(&self) -> Result<SmallVec<[RowOperand; 4]>> {
        let inputs = self.whole()?.operands().iter().zip(self.offsets.iter().zip(&self.inputs));
        let layout =
            |(operand, (offset, (item, _))): (&LoopOperand, (&isize, &(usize, Option<Generated>)))| {
                let start = usize::try_from(operand.start() + offset * *item as isize);
                let outside = |_| Error::new(ErrorKind::Internal, "an input begins before its memory");
                Ok(RowOperand { item: *item, start: start.map_err(outside)?, class: operand.class() })
            };
        inputs.map(layout).collect()
    }

    /// Whether the elements of each result are in long contiguous ranges, which machine code may reduce before it writes them.
    pub(crate) fn has_long_runs(&self) -> bool {
        let follows = |plan: &LoopPlan| !plan.operands().iter().any(|operand| operand.class().is_tiled());
        let longest = |plan: &LoopPlan| plan.rows_and_cols().1.min(self.count) >= self.tile / 2;
        self.form == Form::Along
            && !self.is_bare
            && self
                .whole
                .as_ref()
                .is_ok_and(|plan| plan.mode() == LoopMode::Direct && follows(plan) && longest(plan))
    }

    /// The number of pieces of the results. A piece is at most [`width`](Form::width) adjacent results along the last kept
    /// dimension.
    pub(crate) fn pieces(&self) -> usize {
        let inner = self.inner().0.extent;
        self.results / inner.max(1) * inner.div_ceil(self.form.width())
    }

    /// The results of a piece.
    pub(crate) fn piece(&self, piece: usize) -> Range<usize> {
        let (inner, width) = (self.inner().0.extent, self.form.width());
        let across = inner.div_ceil(width);
        let (row, block) = (piece / across, piece % across);
        row * inner + block * width..row * inner + inner.min((block + 1) * width)
    }

    /// Whether to divide the elements of each result into ranges for this many parts, since there are fewer pieces than parts. If
    /// not, each part computes complete results.
    pub(crate) fn has_ranges(&self, parts: usize) -> bool {
        self.pieces() < parts && self.count >= 2 * PART
    }

    /// The units of a range of pieces: a single unit for [`Form::Along`], and a unit for each piece for [`Form::Across`].
    pub(crate) fn units(&self, pieces: Range<usize>) -> impl Iterator<Item = Unit> {
        let numbers = 0..self.count;
        let (units, of) = match self.form {
            Form::Along if pieces.is_empty() => (0..0, None),
            Form::Along => (0..1, Some(pieces)),
            Form::Across { .. } => (pieces, None),
        };
        units.map(move |piece| Unit {
            results: of.clone().unwrap_or_else(|| self.piece(piece)),
            numbers: numbers.clone(),
        })
    }

    /// The boxes of a unit, in the order of their elements.
    pub(crate) fn boxes(&self, unit: &Unit) -> impl Iterator<Item = Cells> {
        let (mut starts, width) = (self.offsets.clone(), unit.results.len());
        let (mut at, end, inner) = match self.form {
            Form::Along => {
                let of = |result: usize, number: usize| result * self.count + number;
                (of(unit.results.start, unit.numbers.start), of(unit.results.end - 1, unit.numbers.end), None)
            }
            Form::Across { .. } => {
                self.go_to(&mut starts, self.kept.iter(), unit.results.start);
                (unit.numbers.start, unit.numbers.end, Some(width))
            }
        };
        let before = if inner.is_none() { unit.results.start * self.count } else { 0 };
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let mut cells = Cells {
                starts: starts.clone(),
                extents: SmallVec::new(),
                first: (at - before) * inner.unwrap_or(1),
            };
            let walked = self.walked();
            let dims = &walked[..walked.len() - usize::from(inner.is_some())];
            self.go_to(&mut cells.starts, dims.iter().copied(), at);
            let (mut rest, mut count) = (at, 1);
            for dim in dims.iter().rev() {
                let index = rest % dim.extent;
                rest /= dim.extent;
                let rows = (dim.extent - index).min((end - at) / count);
                if rows == 0 {
                    break;
                }
                cells.extents.insert(0, rows);
                count *= rows;
                if rows < dim.extent {
                    break;
                }
            }
            cells.extents.extend(inner);
            at += count;
            Some(cells)
        })
    }

    /// Advances the offsets in all inputs to an index of these dimensions, given by its number in C order.
    fn go_to<'d>(
        &self,
        starts: &mut [isize],
        dims: impl DoubleEndedIterator<Item = &'d Dim>,
        mut number: usize,
    ) {
        for dim in dims.rev() {
            let index = (number % dim.extent) as isize;
            number /= dim.extent;
            starts.iter_mut().zip(&dim.strides).for_each(|(start, stride)| *start += index * stride);
        }
    }
}

/// A reduction of a few contiguous elements, read in place.
pub(crate) struct ShortReduction {
    reduction: Reduction,
    dtype: DType,
    /// The number of elements of each result.
    count: usize,
    input: usize,
    /// The range of all elements in the input's memory.
    bytes: Range<usize>,
}

impl ShortReduction {
    /// The short reductions of a stage, one for each output, if all of its outputs are short reductions.
    pub(crate) fn all(stage: &Stage, space: &Space) -> Option<SmallVec<[ShortReduction; 1]>> {
        let of = |(output, reduction): (&KernelOutput, Option<Reduction>)| {
            let (reduction, input) = (reduction?, output.value.index());
            let (dtype, range) = (*stage.kernel.inputs.get(input)?, space.neighbours(input)?);
            let bytes = range.start * dtype.size()..range.end * dtype.size();
            Some(ShortReduction { reduction, dtype, count: space.count, input, bytes })
        };
        let all = stage.kernel.outputs.iter().zip(stage.reductions()).map(of);
        if space.is_short() { all.collect() } else { None }
    }

    /// Runs the short reductions of a stage.
    ///
    /// PERF: most short calls of reductions take this path, without tiles or threads.
    #[inline]
    pub(crate) fn run(all: &[ShortReduction], operands: &mut Operands<'_>) -> Result<()> {
        let _ieee = FloatEnv::ieee();
        for (output, short) in all.iter().enumerate() {
            let outside = || Error::new(ErrorKind::Internal, "a reduction reads outside of its input");
            let (input, out) = operands.pair(short.input, output).ok_or_else(outside)?;
            let elements = input.elements(short.bytes.clone()).ok_or_else(outside)?;
            broadloom_reduce::reduce_each(short.reduction, short.dtype, short.count, elements, out)?;
        }
        Ok(())
    }
}

/// Merges adjacent dimensions if in every input the outer stride is equal to the inner stride times the inner extent. Returns at
/// least one dimension.
fn collapsed(dims: Dims, inputs: usize) -> Dims {
    let mut out = Dims::new();
    for dim in dims {
        match out.last_mut() {
            Some(last)
                if last
                    .strides
                    .iter()
                    .zip(&dim.strides)
                    .all(|(outer, inner)| inner.checked_mul(dim.extent as isize) == Some(*outer)) =>
            {
                last.extent *= dim.extent;
                last.strides = dim.strides;
            }
            _ => out.push(dim),
        }
    }
    if out.is_empty() {
        out.push(Dim { extent: 1, strides: SmallVec::from_elem(0, inputs) });
    }
    out
}

#[cfg(test)]
mod tests {
    use broadloom_core::fuse;
    use broadloom_core::node::NodeKind;
    use broadloom_core::{Graph, Layout, Op, Shape, View};

    use super::*;

    /// A column that is broadcast does not have the rows of the other operand packed.
    #[test]
    fn the_form_follows_the_rows_in_memory() -> Result<()> {
        let form = |axis: usize, is_transposed: bool| -> Result<Form> {
            let mut g = Graph::default();
            let mut operand = |slot: u32, extents: &[usize]| -> Result<_> {
                let x = g.input(slot, DType::Float32, Layout::contiguous(Shape::new(extents)?))?;
                if is_transposed { g.view(x, View::Permute([1, 0].into_iter().collect())) } else { Ok(x) }
            };
            let extents = if is_transposed { [[32, 1000], [1, 1000]] } else { [[1000, 32], [1000, 1]] };
            let (x, column) = (operand(0, &extents[0])?, operand(1, &extents[1])?);
            let arg = g.push(NodeKind::apply(Op::Multiply, [x, column]))?;
            let axes = [axis].into_iter().collect();
            let root = g.push(NodeKind::Reduce { arg, reduction: Reduction::Sum, axes, keep_dims: false })?;
            let plan = fuse::run(&g, &[root])?;
            Ok(Space::new(&plan.stages[0]).form)
        };
        assert_eq!(form(0, false)?, Form::Across { width: 32 });
        assert_eq!(form(1, false)?, Form::Along);
        assert_eq!(form(0, true)?, Form::Along);
        assert!(matches!(form(1, true)?, Form::Across { .. }));
        Ok(())
    }
}
