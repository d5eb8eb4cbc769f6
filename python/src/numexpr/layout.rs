//! The layout of results: the shape that operands broadcast to, and the order of axes in memory, chosen as NumPy does.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use smallvec::SmallVec;

use crate::memory::{Axes, NumpyMemory};

/// The memory order of a result, as in NumPy's `order` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultOrder {
    C,
    F,
    A,
    K,
}

impl ResultOrder {
    /// Parses the `order` argument; 'K' if it is absent.
    pub fn of(given: Option<&Bound<'_, PyAny>>) -> PyResult<ResultOrder> {
        let Some(given) = given else { return Ok(ResultOrder::K) };
        let letter = given.cast::<PyString>().map_or(Ok(None), |text| text.to_str().map(Some))?;
        match letter {
            Some("K" | "k") => Ok(ResultOrder::K),
            Some("C" | "c") => Ok(ResultOrder::C),
            Some("F" | "f") => Ok(ResultOrder::F),
            Some("A" | "a") => Ok(ResultOrder::A),
            None => Err(PyTypeError::new_err(format!("order must be str, not {}", given.get_type().name()?))),
            Some(_) => Err(PyValueError::new_err(format!(
                "order must be one of 'C', 'F', 'A', or 'K' (got {})",
                given.repr()?
            ))),
        }
    }
}

/// Raises ValueError, with NumPy's message, if arrays of these layouts don't broadcast.
pub fn check_broadcast<'m>(layouts: impl Iterator<Item = &'m NumpyMemory> + Clone) -> PyResult<()> {
    let mut shape: Axes<usize> = Axes::new();
    let mut fits = true;
    for memory in layouts.clone() {
        while shape.len() < memory.shape.len() {
            shape.insert(0, 1);
        }
        for (extent, &of) in shape.iter_mut().rev().zip(memory.shape.iter().rev()) {
            if *extent == 1 {
                *extent = of;
            }
            fits &= of == 1 || of == *extent;
        }
    }
    if fits {
        return Ok(());
    }
    let shown = layouts.map(|memory| {
        let extents: Vec<String> = memory.shape.iter().map(usize::to_string).collect();
        format!("({}{})", extents.join(","), if extents.len() == 1 { "," } else { "" })
    });
    let shown = shown.collect::<Vec<_>>().join(" ");
    Err(PyValueError::new_err(format!("operands could not be broadcast together with shapes {shown}")))
}

/// The axes of a result with this rank, from outermost to innermost in memory; `None` for row-major order.
pub fn axes<'m>(
    layouts: impl Iterator<Item = &'m NumpyMemory> + Clone,
    rank: usize,
    order: ResultOrder,
) -> Option<Axes<usize>> {
    let is_plain = || layouts.clone().all(|memory| memory.is_row_major);
    if rank < 2 || order == ResultOrder::C || (order != ResultOrder::F && is_plain()) {
        return None;
    }
    let reversed = || (0..rank).rev().collect();
    match order {
        ResultOrder::C => None,
        ResultOrder::F => Some(reversed()),
        ResultOrder::A => layouts.clone().all(is_column_major).then(reversed),
        ResultOrder::K => {
            let axes = by_strides(&layouts.collect::<SmallVec<[&NumpyMemory; 4]>>(), rank);
            (!axes.is_sorted()).then_some(axes)
        }
    }
}

/// Whether elements are contiguous with the first axis innermost.
fn is_column_major(memory: &NumpyMemory) -> bool {
    let mut step = 1isize;
    memory.shape.contains(&0)
        || memory.shape.iter().zip(&memory.strides).all(|(&extent, &stride)| {
            let fits = extent == 1 || stride == step;
            step *= extent as isize;
            fits
        })
}

/// Sorts the axes by decreasing strides. Like NumPy's iterator for `order='K'`, this is an insertion sort that moves an axis
/// inwards only if the strides of at least one operand require it and no operand's strides forbid it.
fn by_strides(memories: &[&NumpyMemory], rank: usize) -> Axes<usize> {
    let stride = |memory: &NumpyMemory, axis: usize| {
        let missing = rank - memory.shape.len();
        if axis < missing { 0 } else { memory.strides[axis - missing].unsigned_abs() }
    };
    // Innermost axis first; reversed at the end.
    let mut sorted: Axes<usize> = (0..rank).rev().collect();
    for from in 1..rank {
        let axis = sorted[from];
        let mut to = from;
        for at in (0..from).rev() {
            let mut moves = None;
            for memory in memories {
                let (outer, inner) = (stride(memory, axis), stride(memory, sorted[at]));
                if outer != 0 && inner != 0 {
                    moves = Some(inner > outer && moves != Some(false));
                }
            }
            match moves {
                Some(true) => to = at,
                Some(false) => break,
                None => {}
            }
        }
        sorted[to..=from].rotate_right(1);
    }
    sorted.reverse();
    sorted
}
