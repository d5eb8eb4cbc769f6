//! Routines: functions of whole arrays that no loop over elements computes, such as sorts and reductions by label.
//!
//! A routine reads operands that are contiguous in memory, and writes results that are. Fusion therefore ends a kernel before it
//! and begins one after it, and the engine calls the library that has the algorithm. A routine with several results has one node
//! for each of them that is used.

use std::fmt;

use broadloom_ir::Reduction;

use crate::reductions::ReductionFunction;

/// A result of a routine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoutineNode<A> {
    /// The routine, with its options.
    pub routine: Routine,
    /// The operands.
    pub args: Vec<A>,
    /// The index of the result among those of the routine.
    pub item: u32,
}

/// A routine, with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Routine {
    /// The reduction of the rows of each label: the operands are the rows and, for each of them, a label, which is the number of a
    /// segment, or −1 for a row that belongs to none. A [mean](SegmentFunction::Mean) has two results, the sums and the numbers of
    /// rows; a [count](SegmentFunction::Count) has the labels as its only operand.
    Segments {
        /// The function of the rows of a segment.
        function: SegmentFunction,
        /// The number of segments.
        segments: usize,
        /// Whether the labels are positions of a scatter, of which −1 is out of range as well.
        at_positions: bool,
    },
    /// The elements along the last axis in order.
    Sort {
        /// Whether the order is descending.
        descending: bool,
    },
    /// The indices, int64, that put the elements along the last axis in order. Equal elements keep their order.
    ArgSort {
        /// Whether the order is descending.
        descending: bool,
    },
    /// The first elements along the last axis in order, and their indices, int64.
    TopK {
        /// The number of elements.
        k: usize,
        /// Whether the order is descending.
        largest: bool,
    },
    /// For each element of the second operand, the index, int64, before which it is inserted in the first one, of one axis, to keep
    /// its order.
    SearchSorted {
        /// Whether the index is the last such one, or else the first.
        right: bool,
    },
    /// The number, int64, of elements of the first operand between ascending edges, the second operand. A bin contains its left edge,
    /// and the last one also its right edge.
    Histogram,
    /// The positions, int64, of the first true elements of a mask, in row-major order, and then −1.
    NonZero {
        /// The number of positions.
        size: usize,
    },
    /// The first operand with other elements at positions in row-major order, the second operand: those of the third operand. The
    /// last of several elements at one position counts.
    Scatter,
}

/// The name, in texts, of the function that returns the indices of the first elements in order.
pub const TOPK_INDICES: &str = "topk_indices";

/// A function of the elements of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentFunction {
    /// The sum.
    Sum,
    /// The product.
    Prod,
    /// The maximum.
    Max,
    /// The minimum.
    Min,
    /// The sum and the number of elements, whose quotient is the mean.
    Mean,
    /// The number of elements.
    Count,
}

impl SegmentFunction {
    /// All functions.
    pub const ALL: [SegmentFunction; 6] = [
        SegmentFunction::Sum,
        SegmentFunction::Prod,
        SegmentFunction::Max,
        SegmentFunction::Min,
        SegmentFunction::Mean,
        SegmentFunction::Count,
    ];

    /// The name of the routine, in errors and in texts.
    pub const fn name(self) -> &'static str {
        match self {
            SegmentFunction::Sum => "segment_sum",
            SegmentFunction::Prod => "segment_prod",
            SegmentFunction::Max => "segment_max",
            SegmentFunction::Min => "segment_min",
            SegmentFunction::Mean => "segment_mean",
            SegmentFunction::Count => "segment_count",
        }
    }

    /// The name of the function of elements that go to positions, in texts.
    pub const fn name_at_positions(self) -> &'static str {
        match self {
            SegmentFunction::Sum => "scattered_sum",
            SegmentFunction::Prod => "scattered_prod",
            SegmentFunction::Max => "scattered_max",
            SegmentFunction::Min => "scattered_min",
            SegmentFunction::Mean => "scattered_mean",
            SegmentFunction::Count => "scattered_count",
        }
    }

    /// The function of the table of reductions that this one is, of the elements of a segment; `None` for a count.
    pub fn function(self) -> Option<ReductionFunction> {
        Some(match self {
            SegmentFunction::Sum => ReductionFunction::Sum,
            SegmentFunction::Prod => ReductionFunction::Prod,
            SegmentFunction::Max => ReductionFunction::Max,
            SegmentFunction::Min => ReductionFunction::Min,
            SegmentFunction::Mean => ReductionFunction::Mean,
            SegmentFunction::Count => return None,
        })
    }

    /// The reduction of the first operand; `None` for a count, which has only labels.
    pub fn reduction(self) -> Option<Reduction> {
        match self {
            SegmentFunction::Sum | SegmentFunction::Mean => Some(Reduction::Sum),
            SegmentFunction::Prod => Some(Reduction::Prod),
            SegmentFunction::Max => Some(Reduction::Max),
            SegmentFunction::Min => Some(Reduction::Min),
            SegmentFunction::Count => None,
        }
    }
}

impl Routine {
    /// The name of the routine, in errors and explanations.
    pub fn name(&self) -> &'static str {
        match self {
            Routine::Segments { at_positions: true, .. } | Routine::Scatter => "scatter",
            Routine::Segments { function, .. } => function.name(),
            Routine::Sort { .. } => "sort",
            Routine::ArgSort { .. } => "argsort",
            Routine::TopK { .. } => "topk",
            Routine::SearchSorted { .. } => "searchsorted",
            Routine::Histogram => "histogram",
            Routine::NonZero { .. } => "nonzero",
        }
    }

    /// Whether elements of the operands may make an evaluation fail.
    pub fn faults(&self) -> bool {
        match self {
            Routine::Segments { .. } | Routine::Histogram | Routine::Scatter => true,
            Routine::Sort { .. }
            | Routine::ArgSort { .. }
            | Routine::TopK { .. }
            | Routine::SearchSorted { .. }
            | Routine::NonZero { .. } => false,
        }
    }

    /// A result in the text language, given the names of the operands.
    pub fn written(&self, args: &[&str], item: u32) -> String {
        let all = args.join(", ");
        match self {
            Routine::Sort { descending: true } => format!("sort({all}, descending=true)"),
            Routine::ArgSort { descending: true } => format!("argsort({all}, descending=true)"),
            Routine::SearchSorted { right: true } => format!("searchsorted({all}, right=true)"),
            Routine::TopK { k, largest } => {
                let name = if item == 0 { self.name() } else { TOPK_INDICES };
                let order = if *largest { "" } else { ", largest=false" };
                format!("{name}({all}, {k}{order})")
            }
            Routine::NonZero { size } => format!("nonzero({all}, {size})"),
            Routine::Sort { .. }
            | Routine::ArgSort { .. }
            | Routine::SearchSorted { .. }
            | Routine::Histogram
            | Routine::Scatter => format!("{}({all})", self.name()),
            Routine::Segments { function, segments, at_positions } => {
                let (function, args) = match (function, item, args) {
                    (SegmentFunction::Mean, 0, args) => (SegmentFunction::Sum, args),
                    (SegmentFunction::Mean, _, [_, labels @ ..]) => (SegmentFunction::Count, labels),
                    _ => (*function, args),
                };
                let name = if *at_positions { function.name_at_positions() } else { function.name() };
                format!("{name}({}, {segments})", args.join(", "))
            }
        }
    }
}

/// How a scattered element is combined with the one at its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ScatterMode {
    /// It takes its place; of several elements, the last in row-major order.
    #[default]
    Set,
    /// The sum of the elements, in the canonical order, is added.
    Add,
    /// The product of the elements, in the canonical order, is multiplied.
    Multiply,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
}

impl ScatterMode {
    /// All modes.
    pub const ALL: [ScatterMode; 5] =
        [ScatterMode::Set, ScatterMode::Add, ScatterMode::Multiply, ScatterMode::Min, ScatterMode::Max];

    /// The name of the function of texts that has this mode.
    pub const fn function(self) -> &'static str {
        match self {
            ScatterMode::Set => "scatter",
            ScatterMode::Add => "scatter_add",
            ScatterMode::Multiply => "scatter_multiply",
            ScatterMode::Min => "scatter_min",
            ScatterMode::Max => "scatter_max",
        }
    }
}

impl fmt::Display for ScatterMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function())
    }
}
