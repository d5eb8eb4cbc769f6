//! Reductions and scans of the elements along axes.
//!
//! Elements are numbered in C order of the reduced axes. Sums and products are computed in an order that depends only on the
//! number of elements (the [canonical order](crate::canonical)), so their bits do not depend on the executor, the layout or the
//! number of threads. Executors implement only the reductions and scans listed here; means and norms are expressed by these and
//! ordinary functions.

use std::fmt;

use broadloom_math::DType;

use crate::fold;
use crate::op::Op;
use crate::scalar::Scalar;

/// A reduction of elements to one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reduction {
    /// The sum, computed in the [canonical order](crate::canonical).
    Sum,
    /// The product, computed in the [canonical order](crate::canonical).
    Prod,
    /// The maximum, as defined by the function `maximum`: NaN propagates, and −0 is less than +0.
    Max,
    /// The minimum, as defined by the function `minimum`: NaN propagates, and −0 is less than +0.
    Min,
    /// Whether any element is true.
    Any,
    /// Whether all elements are true.
    All,
    /// The index of the first maximum, as int64. A NaN counts as the maximum, and −0 equals +0.
    ArgMax,
    /// The index of the first minimum, as int64. A NaN counts as the minimum, and −0 equals +0.
    ArgMin,
}

impl Reduction {
    /// All reductions.
    pub const ALL: [Reduction; 8] = [
        Reduction::Sum,
        Reduction::Prod,
        Reduction::Max,
        Reduction::Min,
        Reduction::Any,
        Reduction::All,
        Reduction::ArgMax,
        Reduction::ArgMin,
    ];

    /// The name in the text language.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Prod => "prod",
            Reduction::Max => "max",
            Reduction::Min => "min",
            Reduction::Any => "any",
            Reduction::All => "all",
            Reduction::ArgMax => "argmax",
            Reduction::ArgMin => "argmin",
        }
    }

    /// The binary op with which the reduction merges elements; `None` for argmax and argmin, which also need indices.
    pub fn op(self) -> Option<Op> {
        Some(match self {
            Reduction::Sum => Op::Add,
            Reduction::Prod => Op::Multiply,
            Reduction::Max => Op::Maximum,
            Reduction::Min => Op::Minimum,
            Reduction::Any => Op::LogicalOr,
            Reduction::All => Op::LogicalAnd,
            Reduction::ArgMax | Reduction::ArgMin => return None,
        })
    }

    /// Whether elements of this dtype can be reduced without a conversion. Sums and products take only the dtypes in which they
    /// are computed; elements of other dtypes are converted first.
    pub fn takes(self, dtype: DType) -> bool {
        match self {
            Reduction::Sum | Reduction::Prod => is_accumulator(dtype),
            Reduction::Max | Reduction::Min | Reduction::ArgMax | Reduction::ArgMin => dtype != DType::Bool,
            Reduction::Any | Reduction::All => dtype == DType::Bool,
        }
    }

    /// The dtype of the result for elements of this dtype.
    pub fn result(self, dtype: DType) -> DType {
        match self {
            Reduction::ArgMax | Reduction::ArgMin => DType::Int64,
            _ => dtype,
        }
    }

    /// Whether reducing elements of this dtype gives the same bits in any order.
    pub fn is_free(self, dtype: DType) -> bool {
        match self {
            Reduction::Sum | Reduction::Prod => !dtype.is_float(),
            Reduction::Max | Reduction::Min | Reduction::Any | Reduction::All => true,
            Reduction::ArgMax | Reduction::ArgMin => false,
        }
    }

    /// The result of reducing no elements: +0 for a sum, 1 for a product, false for `any`, true for `all`; `None` for a minimum
    /// or maximum, since there is none.
    pub fn of_nothing(self, dtype: DType) -> Option<Scalar> {
        match self {
            Reduction::Sum => Some(fold::cast(Scalar::of(0_u8), dtype)),
            Reduction::Prod => Some(fold::cast(Scalar::of(1_u8), dtype)),
            Reduction::Max | Reduction::Min | Reduction::ArgMax | Reduction::ArgMin => None,
            Reduction::Any => Some(Scalar::of(false)),
            Reduction::All => Some(Scalar::of(true)),
        }
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A scan: each element is replaced by the accumulation of itself and all previous elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scan {
    /// The cumulative sum: each result is the sum of the elements so far.
    Sum,
    /// The cumulative product: each result is the product of the elements so far.
    Prod,
}

impl Scan {
    /// The name in the text language.
    pub fn name(self) -> &'static str {
        match self {
            Scan::Sum => "cumulative_sum",
            Scan::Prod => "cumulative_prod",
        }
    }

    /// Whether elements of this dtype can be scanned without a conversion; elements of other dtypes are converted first.
    pub fn takes(self, dtype: DType) -> bool {
        is_accumulator(dtype)
    }

    /// The accumulated value before the first element: +0 for a sum, 1 for a product.
    pub fn initial(self, dtype: DType) -> Scalar {
        let initial = match self {
            Scan::Sum => 0_u8,
            Scan::Prod => 1,
        };
        fold::cast(Scalar::of(initial), dtype)
    }
}

impl fmt::Display for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether this is a dtype in which sums and products are computed.
fn is_accumulator(dtype: DType) -> bool {
    matches!(dtype, DType::Float32 | DType::Float64 | DType::Int64 | DType::UInt64)
}

/// A set of axes, each of which is less than 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Axes(u64);

impl Axes {
    /// The empty set.
    pub const NONE: Axes = Axes(0);

    /// All axes of an array of this rank, which is 64 at most.
    pub fn all(rank: usize) -> Axes {
        Axes(if rank >= 64 { u64::MAX } else { (1 << rank) - 1 })
    }

    /// The set as a bit mask, in which axis 0 is the lowest bit.
    pub fn mask(self) -> u64 {
        self.0
    }

    /// Whether the set contains the axis.
    pub fn contains(self, axis: usize) -> bool {
        axis < 64 && self.0 >> axis & 1 == 1
    }

    /// The axes in ascending order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = usize> + Clone {
        (0..64).filter(move |&axis| self.contains(axis))
    }

    /// The number of axes.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all axes of the set are axes of an array of this rank.
    pub fn fit(self, rank: usize) -> bool {
        self.0 & !Axes::all(rank).0 == 0
    }

    /// The extents of the result of a reduction along the axes of the set. The extents of these axes are removed or, if
    /// `keep_dims` is set, replaced by `one`.
    pub fn reduced<T: Clone>(self, extents: &[T], keep_dims: bool, one: T) -> impl Iterator<Item = T> {
        extents.iter().enumerate().filter_map(move |(axis, extent)| match (self.contains(axis), keep_dims) {
            (false, _) => Some(extent.clone()),
            (true, true) => Some(one.clone()),
            (true, false) => None,
        })
    }

    /// The number of elements that are reduced to one result.
    pub fn count(self, extents: &[usize]) -> usize {
        extents
            .iter()
            .enumerate()
            .filter(|(axis, _)| self.contains(*axis))
            .map(|(_, extent)| extent)
            .product()
    }
}

/// Collects axes into a set. Axes from 64 on are ignored.
impl FromIterator<usize> for Axes {
    fn from_iter<I: IntoIterator<Item = usize>>(axes: I) -> Axes {
        Axes(axes.into_iter().filter(|&axis| axis < 64).fold(0, |mask, axis| mask | 1 << axis))
    }
}

/// Prints the axes as a tuple of the text language: `(0, 2)`, `(1,)`, `()`.
impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.iter().map(|axis| axis.to_string()).collect();
        let comma = if axes.len() == 1 { "," } else { "" };
        write!(f, "({}{comma})", axes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_a_set() {
        let axes: Axes = [2, 0, 2, 70].into_iter().collect();
        assert_eq!((axes.iter().collect::<Vec<_>>(), axes.len(), axes.mask()), (vec![0, 2], 2, 5));
        assert!(axes.fit(3) && !axes.fit(2) && Axes::all(64).fit(64) && !Axes::NONE.contains(64));
        assert_eq!(axes.reduced(&[4, 5, 6], false, 1).collect::<Vec<_>>(), [5]);
        assert_eq!(axes.reduced(&[4, 5, 6], true, 1).collect::<Vec<_>>(), [1, 5, 1]);
        assert_eq!((axes.count(&[4, 5, 6]), Axes::NONE.count(&[4, 5])), (24, 1));
        let texts = [Axes::NONE, Axes::all(1), axes].map(|axes| axes.to_string());
        assert_eq!(texts, ["()", "(0,)", "(0, 2)"]);
    }

    #[test]
    fn nothing_has_a_sum_and_no_maximum() {
        assert_eq!(Reduction::Sum.of_nothing(DType::Float32), Some(Scalar::of(0.0_f32)));
        assert_eq!(Reduction::Prod.of_nothing(DType::Int64), Some(Scalar::of(1_i64)));
        assert_eq!(Reduction::All.of_nothing(DType::Bool), Some(Scalar::of(true)));
        assert_eq!(Reduction::Max.of_nothing(DType::Float64), None);
    }
}
