//! The loops of a reduction: which dimensions are kept and which are reduced, and in what pieces they are walked.
//!
//! Neighbouring dimensions of one kind are collapsed where all inputs step through them alike, so that most reductions have
//! one or two loops. The elements that are combined to one result are numbered in C order of the reduced axes, whatever
//! the order in memory; pieces are ranges of these numbers.

use std::ops::Range;

use broadloom_core::fuse::{Source, Stage};
use broadloom_ir::Axes;
use smallvec::SmallVec;

use crate::engine::cost;

/// Bytes of the elements that are computed before they are combined, of the widest output: they stay in a first-level cache.
const TILE_BYTES: usize = 16 << 10;
/// Results that are reduced together across rows of memory: of the bytes of as many neighbours in each row.
const ACROSS_BYTES: usize = 4096;
/// The same where elements are computed first.
const ACROSS_COMPUTED: usize = 64;
/// The least number of elements that are folded from memory at a time, and not copied first.
const LONG_RUN: usize = 64;
/// Elements of short rows that are folded from memory at a time.
const STRETCH: usize = 1 << 16;
/// Rows of a panel: an input that is contiguous along them is read by whole cache lines.
const PANEL: usize = 128;
/// Elements of a panel that are computed at a time: they stay in a second-level cache.
const PANEL_TILE: usize = 32 << 10;

/// A dimension: its extent, and the distance of neighbours for each input, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dim {
    pub extent: usize,
    pub strides: SmallVec<[isize; 4]>,
}

/// What is reduced at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The elements of one result follow each other: so many results, one after the other.
    Rows { results: usize },
    /// So many neighbouring results at once, which follow each other for each element.
    Across { width: usize },
    /// The elements of one result, of which those of so many rows are computed together: they follow each other in memory along
    /// the dimension before the last.
    Panel { rows: usize },
}

impl Form {
    /// The extents of results before and behind those of the reduced dimensions.
    pub fn around(self) -> (Option<usize>, Option<usize>) {
        match self {
            Form::Rows { results } => (Some(results), None),
            Form::Across { width } => (None, Some(width).filter(|width| *width > 1)),
            Form::Panel { .. } => (None, None),
        }
    }

    /// Whether tiles have elements before results.
    pub fn is_across(self) -> bool {
        matches!(self, Form::Across { .. })
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// The dimensions of the results, outermost first; at least one.
    pub kept: SmallVec<[Dim; 2]>,
    /// The dimensions that are reduced, outermost first; at least one.
    pub reduced: SmallVec<[Dim; 2]>,
    /// Where each input begins, in elements.
    pub offsets: SmallVec<[isize; 4]>,
    /// How many results there are.
    pub results: usize,
    /// How many elements are combined to one.
    pub count: usize,
    /// The elements that are computed at a time, about; and those of a panel.
    pub tile: usize,
    pub panel: usize,
    pub form: Form,
    /// Whether elements are folded where they are in memory: the kernel computes nothing, and they follow each other.
    pub direct: bool,
    /// Whether moreover all of them are neighbours, result after result.
    pub plain: bool,
}

impl Geometry {
    /// How a stage is walked, if it reduces.
    pub fn of(stage: &Stage) -> Option<Geometry> {
        stage.reduces().then(|| Geometry::new(stage, stage.axes))
    }

    /// The same over memory in which inputs begin elsewhere.
    pub fn beginning_at(&self, offsets: SmallVec<[isize; 4]>) -> Geometry {
        Geometry { offsets, ..self.clone() }
    }

    fn new(stage: &Stage, axes: Axes) -> Geometry {
        let rank = stage.shape.rank();
        let dim = |axis: usize| Dim {
            extent: stage.shape[axis],
            strides: stage.inputs.iter().map(|input| input.layout.strides[axis]).collect(),
        };
        let of = |reduced: bool| {
            collapsed((0..rank).filter(|&axis| axes.contains(axis) == reduced).map(dim), stage)
        };
        let (kept, reduced) = (of(false), of(true));
        let widest = stage.kernel.output_dtypes().map(|dtype| dtype.size()).max().unwrap_or(8);
        // Between two tiles a run can be cancelled.
        let pause = cost::pause(&stage.kernel);
        let elements = |dims: &[Dim]| dims.iter().map(|dim| dim.extent).product::<usize>();
        let mut geometry = Geometry {
            results: elements(&kept),
            count: elements(&reduced),
            kept,
            reduced,
            offsets: stage.inputs.iter().map(|input| input.layout.offset).collect(),
            tile: (TILE_BYTES / widest).min(pause),
            panel: PANEL_TILE.min(pause),
            form: Form::Rows { results: 1 },
            direct: false,
            plain: false,
        };
        if geometry.results > 0 && geometry.count > 0 {
            geometry.choose(stage, widest);
            let neighbours = |i| geometry.results == 1 || geometry.is_neighbouring(i);
            let alone = geometry.kept.len() == 1 && geometry.reduced.len() == 1;
            geometry.plain = geometry.direct
                && alone
                && !geometry.form.is_across()
                && (0..stage.inputs.len()).all(neighbours);
        }
        geometry
    }

    fn inner(&self) -> (&Dim, &Dim) {
        // There is one of each at least.
        (&self.kept[self.kept.len() - 1], &self.reduced[self.reduced.len() - 1])
    }

    fn choose(&mut self, stage: &Stage, widest: usize) {
        let (kept, reduced) = self.inner();
        let follow = |dim: &Dim| dim.strides.iter().filter(|stride| **stride == 1).count();
        let in_memory = stage.inputs.iter().all(|input| input.source != Source::Index);
        let loads_only = stage.kernel.body.is_empty() && stage.kernel.params.is_empty() && in_memory;
        let across = kept.extent > 1 && follow(kept) > follow(reduced);
        let of = if across { kept } else { reduced };
        // An input that steps otherwise is packed by the loops around the kernel.
        let in_place = loads_only && of.strides.iter().all(|stride| *stride == 1);
        let (extent, rank) = (kept.extent, self.reduced.len());
        if across {
            self.direct = in_place;
            let width = match (in_place, self.count < 128) {
                (true, false) => ACROSS_BYTES / widest,
                (true, true) => 4 * ACROSS_BYTES / widest,
                (false, false) => ACROSS_COMPUTED,
                (false, true) => (self.tile / self.count).max(ACROSS_COMPUTED),
            };
            let blocks = extent.div_ceil(width);
            let even = extent.div_ceil(blocks);
            let width = if blocks > 1 { even.next_multiple_of(16).min(extent) } else { extent };
            self.form = Form::Across { width };
        } else if rank > 1
            && follow(reduced) == 0
            && follow(&self.reduced[rank - 2]) > 0
            && self.count > self.tile
        {
            self.form = Form::Panel { rows: PANEL.min(self.reduced[rank - 2].extent) };
        } else {
            self.direct = in_place && (reduced.extent >= LONG_RUN || rank == 1);
            let at_a_time = if self.direct { STRETCH } else { self.tile };
            self.form = Form::Rows { results: (at_a_time / self.count).clamp(1, extent) };
        }
    }

    /// Whether results are reduced one by one, and what they are computed of follows each other, or is one element for all.
    pub fn has_long_runs(&self, stage: &Stage) -> bool {
        let inner = self.inner().1;
        self.form == Form::Rows { results: 1 }
            && !self.direct
            && inner.extent >= self.tile / 2
            && inner.strides.iter().all(|stride| matches!(stride, 0 | 1))
            && stage.inputs.iter().all(|input| input.source != Source::Index)
    }

    /// Whether the results of a piece are, one after the other, the combined rows of neighbouring memory.
    pub fn is_neighbouring(&self, input: usize) -> bool {
        let (kept, reduced) = self.inner();
        self.reduced.len() == 1
            && kept.strides[input] == reduced.extent as isize
            && reduced.strides[input] == 1
    }

    /// Results that are reduced at a time.
    pub fn step(&self) -> usize {
        match self.form {
            Form::Rows { results } => results,
            Form::Across { width } => width,
            Form::Panel { .. } => 1,
        }
    }

    /// How many pieces the results are cut into: ranges along the last kept dimension.
    pub fn pieces(&self) -> usize {
        let inner = self.inner().0.extent;
        self.results / inner.max(1) * inner.div_ceil(self.step())
    }

    /// The results of a piece, numbered in C order; and where each input begins for the first of them.
    pub fn piece(&self, piece: usize) -> (Range<usize>, SmallVec<[isize; 4]>) {
        let (inner, outer) = match self.kept.split_last() {
            Some((inner, outer)) => (inner, outer),
            None => return (0..0, self.offsets.clone()),
        };
        let across = inner.extent.div_ceil(self.step());
        let (row, block) = (piece / across, piece % across);
        let from = block * self.step();
        let to = inner.extent.min(from + self.step());
        let mut starts = self.offsets.clone();
        let mut rest = row;
        for dim in outer.iter().rev() {
            advance(&mut starts, dim, rest % dim.extent);
            rest /= dim.extent;
        }
        advance(&mut starts, inner, from);
        (row * inner.extent + from..row * inner.extent + to, starts)
    }

    /// Where each input begins for a result, numbered in C order.
    pub fn start_of(&self, result: usize) -> SmallVec<[isize; 4]> {
        let mut starts = self.offsets.clone();
        let mut rest = result;
        for dim in self.kept.iter().rev() {
            advance(&mut starts, dim, rest % dim.extent);
            rest /= dim.extent;
        }
        starts
    }

    /// The longest box of reduced indices that begins with element `from`, has at most `limit` elements and ends before
    /// element `to`: where it begins for inputs that begin at `starts`, its extents, and how many elements it has.
    pub fn run(&self, starts: &[isize], from: usize, to: usize, limit: usize) -> Run {
        let mut starts: SmallVec<[isize; 4]> = starts.into();
        let most = (to - from).min(limit.max(1));
        let mut run = Run { starts: SmallVec::new(), extents: SmallVec::new(), count: 1 };
        let (mut rest, mut grows) = (from, true);
        for dim in self.reduced.iter().rev() {
            let index = rest % dim.extent;
            rest /= dim.extent;
            advance(&mut starts, dim, index);
            if grows {
                let rows = (dim.extent - index).min(most / run.count);
                grows = rows == dim.extent;
                if rows > 1 || run.extents.is_empty() {
                    run.extents.insert(0, rows);
                    run.count *= rows;
                }
            }
        }
        run.starts = starts;
        run
    }

    /// The rows from `row` on, `rows` of them, of the two last dimensions, and in each the elements from `col` on, `cols` of them.
    pub fn panel(&self, starts: &[isize], row: usize, rows: usize, col: usize, cols: usize) -> Run {
        let (inner, outer) = match self.reduced.split_last() {
            Some((inner, outer)) => (inner, outer),
            None => return Run { starts: starts.into(), extents: SmallVec::new(), count: 0 },
        };
        let mut starts: SmallVec<[isize; 4]> = starts.into();
        let mut rest = row;
        for dim in outer.iter().rev() {
            advance(&mut starts, dim, rest % dim.extent);
            rest /= dim.extent;
        }
        advance(&mut starts, inner, col);
        Run { starts, extents: SmallVec::from_slice(&[rows, cols]), count: rows * cols }
    }

    /// Some elements of a run of one dimension.
    pub fn part(&self, run: &Run, from: usize, count: usize) -> Run {
        let mut starts = run.starts.clone();
        advance(&mut starts, self.inner().1, from);
        Run { starts, extents: SmallVec::from_slice(&[count]), count }
    }

    /// The extents of a run, outermost first, and the dimensions.
    pub fn extents_of<'g>(&'g self, run: &'g Run) -> impl Iterator<Item = (usize, &'g Dim)> + Clone {
        let first = self.reduced.len() - run.extents.len();
        run.extents.iter().copied().zip(&self.reduced[first..])
    }
}

/// Elements of a result that lie in a box of the reduced dimensions.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where each input begins.
    pub starts: SmallVec<[isize; 4]>,
    /// The extents of the last dimensions, outermost first.
    pub extents: SmallVec<[usize; 2]>,
    /// How many elements it has.
    pub count: usize,
}

/// Goes to an index of a dimension.
pub fn advance(starts: &mut [isize], dim: &Dim, index: usize) {
    for (start, stride) in starts.iter_mut().zip(&dim.strides) {
        *start += index as isize * stride;
    }
}

/// The dimensions without those of one index, neighbours joined wherever all inputs step from one row to the next as inside of one.
fn collapsed(dims: impl Iterator<Item = Dim>, stage: &Stage) -> SmallVec<[Dim; 2]> {
    let mut out: SmallVec<[Dim; 2]> = SmallVec::new();
    for dim in dims.filter(|dim| dim.extent != 1) {
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
        let strides = SmallVec::from_elem(0, stage.inputs.len());
        out.push(Dim { extent: 1, strides });
    }
    out
}
