//! Prints arrays: `Display` like NumPy's `str`, and `Debug` like NumPy's `repr`, which names the dtype unless the numbers imply
//! it.
//!
//! If an array has more than 1000 elements, at most three elements at either end of each axis are shown. Only these are
//! evaluated, also if the array is an expression: each corner is computed as a chunk. Source: NumPy 2.4's `arrayprint.py`,
//! default options.

use std::fmt;

use broadloom_core::layout::Slice;
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Scalar, Shape, View};
use broadloom_mem::FloatEnv;
use smallvec::{SmallVec, smallvec};

use crate::array::Array;
use crate::chunks::{Chunk, Chunks, Window};
use crate::number::{Column, alone};

/// Arrays of more than this many elements are summarised.
const THRESHOLD: usize = 1000;
/// The number of elements shown at either end of a summarised axis.
const EDGE: usize = 3;
/// The maximum number of characters in a line.
const LINE: usize = 75;

/// Formats the array like NumPy's `str`. Evaluates the elements that are shown.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from_shape_vec(&[2, 2], vec![1.0_f32, 2.5, -3.0, f32::NAN])?;
/// assert_eq!(x.to_string(), "[[ 1.   2.5]\n [-3.   nan]]");
/// assert_eq!(format!("{x:?}"), "array([[ 1. ,  2.5],\n       [-3. ,  nan]], dtype=float32)");
/// # Ok::<(), Error>(())
/// ```
impl fmt::Display for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match summary(self, &[], evaluated) {
            Ok(text) => f.write_str(&text),
            Err(e) => write!(f, "<{}{} not shown: {e}>", self.dtype(), self.all_dims()),
        }
    }
}

/// The text of [`Display`](fmt::Display) for an array over inputs ([`Array::input`]) that are too large to be read completely.
/// `evaluate` is called for each part of the array that is shown, and computes it as a chunk.
///
/// `evaluate` must return the values of the chunk's only result.
///
/// # Errors
/// The errors of [`Chunks::new`], except the one for the limit on memory, which does not apply here; and the errors of
/// `evaluate`.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::summary;
///
/// let x = Array::input("x", DType::Int32, &[1_000_000_000.into()])?;
/// let text = summary(&(&x / 2), &[&x], |chunk| {
///     let read = |part: &broadloom::InputPart| {
///         let rows = part.ranges[0].clone(); // three at either end
///         Array::arange(rows.start as i32, rows.end as i32, 1)
///     };
///     let parts = chunk.parts().iter().map(read).collect::<Result<Vec<_>>>()?;
///     chunk.results(&parts)?[0].eval()
/// })?;
/// assert_eq!(text, "[0.00000000e+00 5.00000000e-01 1.00000000e+00 ... 4.99999998e+08\n 4.99999999e+08 5.00000000e+08]");
/// # Ok::<(), Error>(())
/// ```
pub fn summary<'a>(
    array: &Array<'a>,
    inputs: &[&Array<'a>],
    evaluate: impl FnMut(&Chunk<'_, 'a>) -> Result<Array<'static>>,
) -> Result<String> {
    let shown = Shown::of(array, inputs, evaluate)?;
    // Elements are compared and converted to text, which requires the default floating-point environment.
    let _ieee = FloatEnv::ieee();
    Ok(match shown.bits.first() {
        Some(&bits) if array.rank() == 0 => alone(Scalar { dtype: array.dtype(), bits }),
        _ => shown.text("", " ", LINE),
    })
}

/// Evaluates a chunk of one result that needs no inputs.
fn evaluated(chunk: &Chunk<'_, '_>) -> Result<Array<'static>> {
    let results = chunk.results(&[])?;
    results.first().ok_or_else(|| Error::new(ErrorKind::Internal, "a chunk without a result"))?.eval()
}

/// Formats the array like NumPy's `repr`. Evaluates the elements that are shown.
impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ieee = FloatEnv::ieee();
        let prefix = "array(";
        let shown = match Shown::of(self, &[], evaluated) {
            Ok(shown) => shown,
            Err(e) => {
                return write!(
                    f,
                    "{prefix}<not shown: {e}>, shape={}, dtype={})",
                    self.all_dims(),
                    self.dtype()
                );
            }
        };
        let text = shown.text(prefix, ", ", LINE - 1);
        let mut extras = Vec::new();
        if self.is_empty() && self.shape() != [0] || shown.edge.is_some() {
            extras.push(format!("shape={}", tuple(self.shape())));
        }
        if self.is_empty() || !matches!(self.dtype(), DType::Bool | DType::Int64 | DType::Float64) {
            extras.push(format!("dtype={}", self.dtype()));
        }
        if extras.is_empty() {
            return write!(f, "{prefix}{text})");
        }
        let extras = extras.join(", ");
        // The first line begins with the prefix, and the following lines are indented by its width.
        let last = text.rsplit_once('\n').map_or(prefix.len() + text.len(), |(_, line)| line.len()) + 1;
        let gap =
            if last + extras.len() + 2 > LINE { format!("\n{:1$}", "", prefix.len()) } else { " ".into() };
        write!(f, "{prefix}{text},{gap}{extras})")
    }
}

/// Formats extents as a Python tuple.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The elements of an array that are shown.
struct Shown {
    dtype: DType,
    /// The extents of the array that consists of the shown elements.
    shape: SmallVec<[usize; 4]>,
    /// For each axis, whether its middle is left out.
    cut: SmallVec<[bool; 4]>,
    /// The number of elements at either end of an axis whose middle is left out; `None` if all elements are shown.
    edge: Option<usize>,
    bits: Vec<u64>,
}

impl Shown {
    fn of<'a>(
        array: &Array<'a>,
        inputs: &[&Array<'a>],
        mut evaluate: impl FnMut(&Chunk<'_, 'a>) -> Result<Array<'static>>,
    ) -> Result<Shown> {
        let dtype = array.dtype();
        let edge = (array.len() > THRESHOLD).then(|| edge(array.shape()));
        let cut: SmallVec<[bool; 4]> =
            array.shape().iter().map(|&extent| edge.is_some_and(|edge| extent > 2 * edge)).collect();
        let shape: SmallVec<[usize; 4]> = array
            .shape()
            .iter()
            .zip(&cut)
            .map(|(&extent, &cut)| if cut { 2 * edge.unwrap_or(EDGE) } else { extent })
            .collect();
        let mut bits = vec![0; shape.iter().product()];
        let whole = Layout::contiguous(Shape::new(&shape)?);
        let chunks = Chunks::whole(&[array], inputs)?;
        for (from, to) in corners(array.shape(), &cut, edge.unwrap_or(EDGE)) {
            let missing = || Error::new(ErrorKind::Internal, "a corner that is not shown");
            let target = whole.view(&View::Slice(to)).ok_or_else(missing)?;
            let corner = Window(from);
            chunks.for_each_exact(&corner, |chunk, window| {
                let of_corner = window.within(&corner).map(View::Slice);
                let target = of_corner.and_then(|slices| target.view(&slices)).ok_or_else(missing)?;
                let values = evaluate(chunk)?;
                put(&values, dtype, &target, &mut bits)
            })?;
        }
        Ok(Shown { dtype, shape, cut, edge, bits })
    }

    fn text(&self, prefix: &str, separator: &str, width: usize) -> String {
        if self.bits.is_empty() {
            return "[]".into();
        }
        let column = match self.dtype {
            // A column of bools is as wide as `False`, even if none is false.
            DType::Bool if !self.shape.is_empty() => Column::Width(5),
            dtype => Column::of(dtype, &self.bits),
        };
        let rows = NestedRows { shown: self, column, separator };
        let mut out = String::new();
        rows.write(&mut out, 0, 0, prefix.len() + 1, width);
        out
    }
}

/// Stores the bits of evaluated values into `bits`, at the offsets of the layout `target`. It is an error if the values do not
/// have the expected dtype and shape.
fn put(values: &Array<'_>, dtype: DType, target: &Layout, bits: &mut [u64]) -> Result<()> {
    let is_as_asked = values.is_evaluated() && values.dtype() == dtype && values.shape() == &target.shape[..];
    let Some(leaf) = values.in_memory().filter(|_| is_as_asked) else {
        let (of, is) = (&target.shape, values.dtype());
        let why = format!("summary: {dtype}{of} was to be evaluated, not {is}{}", values.0.shape);
        return Err(Error::new(ErrorKind::Shape, why));
    };
    // Evaluated values are in row-major order from their offset on.
    for (i, at) in offsets(target).enumerate() {
        let x = leaf.storage.scalar(leaf.layout.offset as usize + i);
        bits[at] = x.map_or(0, |x| x.bits);
    }
    Ok(())
}

/// The number of elements shown at either end of an axis: three as in NumPy, but fewer if there are so many axes that more than
/// 10,000 elements would be shown.
fn edge(shape: &[usize]) -> usize {
    let shown = |edge: usize| shape.iter().map(|&n| n.min(2 * edge) as f64).product::<f64>();
    (1..=EDGE).rev().find(|&edge| shown(edge) <= 10_000.0).unwrap_or(1)
}

/// The offsets of a layout's elements, in row-major order of their indices.
fn offsets(layout: &Layout) -> impl Iterator<Item = usize> {
    let mut index = vec![0usize; layout.shape.rank()];
    let mut at = layout.offset;
    (0..layout.shape.elements()).map(move |_| {
        let here = at as usize;
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            at += layout.strides[axis];
            if index[axis] < layout.shape[axis] {
                break;
            }
            at -= layout.strides[axis] * layout.shape[axis] as isize;
            index[axis] = 0;
        }
        here
    })
}

type Slices = SmallVec<[Slice; 4]>;

/// For each corner, the slices that select it from the array, and the slices that select it from the shown elements.
fn corners(shape: &[usize], cut: &[bool], edge: usize) -> Vec<(Slices, Slices)> {
    let slice = |start, len| Slice { start, step: 1, len };
    let mut corners = vec![(Slices::new(), Slices::new())];
    for (&extent, &cut) in shape.iter().zip(cut) {
        let ends: SmallVec<[(Slice, Slice); 2]> = match (cut, edge) {
            (false, _) => smallvec![(slice(0, extent), slice(0, extent))],
            // One slice with a step selects both ends, so that the number of corners does not grow with the number of axes.
            (true, 1) => {
                smallvec![(Slice { start: 0, step: extent as isize - 1, len: 2 }, slice(0, 2))]
            }
            (true, _) => {
                smallvec![(slice(0, edge), slice(0, edge)), (slice(extent - edge, edge), slice(edge, edge)),]
            }
        };
        corners = corners
            .iter()
            .flat_map(|corner| ends.iter().map(move |&end| (corner.clone(), end)))
            .map(|((mut from, mut to), end)| {
                from.push(end.0);
                to.push(end.1);
                (from, to)
            })
            .collect();
    }
    corners
}

/// Writes elements in nested brackets. The recursion is over the axes, of which there are at most 64.
struct NestedRows<'s> {
    shown: &'s Shown,
    column: Column,
    separator: &'s str,
}

impl NestedRows<'_> {
    /// Writes the part of the shown elements that begins at element `at`, along axis `axis` and the following ones.
    fn write(&self, out: &mut String, axis: usize, at: usize, indent: usize, width: usize) {
        let Some(&extent) = self.shown.shape.get(axis) else {
            let x = Scalar { dtype: self.shown.dtype, bits: self.shown.bits[at] };
            return out.push_str(&self.column.write(x));
        };
        let left_out = self.shown.cut[axis].then_some(extent / 2);
        let stride: usize = self.shown.shape[axis + 1..].iter().product();
        out.push('[');
        if axis + 1 == self.shown.shape.len() {
            self.line(out, at, extent, left_out, indent, width);
        } else {
            let gap = "\n".repeat(self.shown.shape.len() - axis - 1);
            let between = format!("{}{gap}{:indent$}", self.separator.trim_end(), "");
            for i in 0..extent {
                if i > 0 {
                    out.push_str(&between);
                }
                if left_out == Some(i) {
                    out.push_str("...");
                    out.push_str(&between);
                }
                self.write(out, axis + 1, at + i * stride, indent + 1, width - 1);
            }
        }
        out.push(']');
    }

    /// Writes the elements along the last axis, broken into lines.
    fn line(
        &self,
        out: &mut String,
        at: usize,
        extent: usize,
        left_out: Option<usize>,
        indent: usize,
        width: usize,
    ) {
        let width = width - self.separator.trim_end().len().max(1);
        let mut used = indent;
        let mut first = true;
        let mut word = |out: &mut String, text: &str| {
            if !first {
                out.push_str(self.separator);
                used += self.separator.len();
            }
            if !first && used > indent && used + text.len() > width {
                out.truncate(out.trim_end().len());
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                used = indent;
            }
            out.push_str(text);
            used += text.len();
            first = false;
        };
        for i in 0..extent {
            if left_out == Some(i) {
                word(out, "...");
            }
            let x = Scalar { dtype: self.shown.dtype, bits: self.shown.bits[at + i] };
            word(out, &self.column.write(x));
        }
    }
}
