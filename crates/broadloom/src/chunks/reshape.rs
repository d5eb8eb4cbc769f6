//! Windows of reshapes.
//!
//! The elements of a window of a reshape are in a range of the flat (row-major) order. Extended to complete rows of the operand,
//! this range is a window of the operand, and views select the requested window from it.

use std::ops::Range;

use broadloom_core::layout::Slice;
use broadloom_core::{Result, Shape, View};
use smallvec::SmallVec;

use super::window::{Window, indices, span};

/// A window of a reshape, expressed as a window of its operand and views of this window.
pub(super) struct Reshaped {
    /// The required window of the operand.
    pub operand: Window,
    /// The views to be applied to the operand's window, in order.
    pub views: SmallVec<[View; 4]>,
}

/// Expresses a nonempty window of the reshape from shape `old` to shape `new` by its operand.
pub(super) fn reshaped(old: &[usize], new: &[usize], window: &Window) -> Result<Reshaped> {
    let mut operand = SmallVec::new();
    // For each group of axes: the number of elements in the operand's window, and the slice that selects the requested elements
    // from the window in flat order.
    let (mut flat, mut wanted) = (SmallVec::<[usize; 4]>::new(), SmallVec::<[Slice; 4]>::new());
    let (mut rows, mut of_rows) = (SmallVec::<[usize; 4]>::new(), SmallVec::<[Slice; 4]>::new());
    for (olds, news) in groups(old, new) {
        let cover = Cover::of(&new[news.clone()], &window.0[news]);
        let (start, len) = unravel(&old[olds], cover.start, cover.len, &mut operand);
        flat.push(len);
        wanted.push(indices(cover.start - start, 1, cover.len));
        rows.extend(cover.rows);
        of_rows.extend(cover.of_rows);
    }
    let mut views = SmallVec::new();
    // If the operand's window contains no other elements than the requested ones, a single reshape suffices, which merges no
    // more axes than the original reshape.
    if flat.iter().zip(&wanted).any(|(&len, wanted)| wanted.len != len) {
        views.push(View::Reshape(Shape::new(&flat)?));
        views.push(View::Slice(wanted));
    }
    views.push(View::Reshape(Shape::new(&rows)?));
    views.push(View::Slice(of_rows));
    Ok(Reshaped { operand: Window(operand), views })
}

/// Divides the axes of two nonempty shapes into the smallest groups of adjacent axes that have equally many elements in both.
fn groups(old: &[usize], new: &[usize]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut groups = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let (from_i, from_j) = (i, j);
        let (mut olds, mut news) = (1, 1);
        if let Some(extent) = old.get(i) {
            olds = *extent;
            i += 1;
        }
        if let Some(extent) = new.get(j) {
            news = *extent;
            j += 1;
        }
        while olds != news {
            // The remaining axes of both shapes have equally many elements, so the group is extended in the shape that has fewer
            // so far.
            if olds < news {
                olds *= old[i];
                i += 1;
            } else {
                news *= new[j];
                j += 1;
            }
        }
        groups.push((from_i..i, from_j..j));
    }
    groups
}

/// The range of the flat order that contains a window: complete rows of the first axis along which the window has more than one
/// index.
struct Cover {
    start: usize,
    len: usize,
    /// The extents of the range along the window's axes.
    rows: SmallVec<[usize; 4]>,
    /// The slices that select the window from the range.
    of_rows: SmallVec<[Slice; 4]>,
}

impl Cover {
    fn of(extents: &[usize], window: &[Slice]) -> Cover {
        let first = window.iter().position(|slice| slice.len > 1).unwrap_or(window.len());
        let mut cover = Cover { start: 0, len: 1, rows: SmallVec::new(), of_rows: SmallVec::new() };
        for (axis, (&extent, &slice)) in extents.iter().zip(window).enumerate() {
            let (start, rows, of_rows) = match axis.cmp(&first) {
                std::cmp::Ordering::Less => (slice.start, 1, indices(0, 1, 1)),
                std::cmp::Ordering::Equal => {
                    (slice.start, span(slice), indices(0, slice.step.unsigned_abs(), slice.len))
                }
                std::cmp::Ordering::Greater => (0, extent, slice),
            };
            cover.start = cover.start * extent + start;
            cover.len *= rows;
            cover.rows.push(rows);
            cover.of_rows.push(of_rows);
        }
        cover
    }
}

/// Appends to `window` the smallest window that contains `len` elements from `start` on and whose own elements are consecutive.
/// Returns the flat index of this window's first element, and its number of elements.
fn unravel(extents: &[usize], start: usize, len: usize, window: &mut SmallVec<[Slice; 4]>) -> (usize, usize) {
    let mut inner: usize = extents.iter().product();
    let (mut low, mut high) = (start, start + len - 1);
    let (mut begin, mut elements, mut is_cut) = (0, 1, false);
    for &extent in extents {
        inner /= extent;
        let slice = match is_cut {
            true => indices(0, 1, extent),
            false => indices(low / inner, 1, high / inner - low / inner + 1),
        };
        (low, high) = (low % inner, high % inner);
        is_cut |= slice.len > 1;
        begin = begin * extent + slice.start;
        elements *= slice.len;
        window.push(slice);
    }
    (begin, elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom_core::Layout;

    /// The positions of a layout's elements, in row-major order.
    fn each(layout: &Layout) -> Vec<isize> {
        let mut at = vec![layout.offset];
        for (&extent, &stride) in layout.shape.iter().zip(&layout.strides) {
            at = at.iter().flat_map(|at| (0..extent as isize).map(move |i| at + i * stride)).collect();
        }
        at
    }

    fn windows(shape: &[usize]) -> Vec<Window> {
        let mut all = vec![Window(SmallVec::new())];
        for &extent in shape {
            let slices: Vec<Slice> = (0..extent)
                .flat_map(|start| (1..=2).flat_map(move |step| (1..=3).map(move |len| (start, step, len))))
                .filter(|(start, step, len)| start + (len - 1) * step < extent)
                .map(|(start, step, len)| indices(start, step, len))
                .collect();
            let longer = all.iter().flat_map(|window| {
                slices.iter().map(|&slice| {
                    let mut window = window.clone();
                    window.0.push(slice);
                    window
                })
            });
            all = longer.collect();
        }
        all
    }

    /// Tests every small window of reshapes that split axes, merge axes, do both, or have axes of extent 1.
    #[test]
    fn a_window_of_a_reshape_is_that_of_the_whole() -> Result<()> {
        for (old, new) in [
            (&[12][..], &[3, 4][..]),
            (&[3, 4], &[12]),
            (&[4, 3], &[2, 6]),
            (&[2, 6], &[4, 3]),
            (&[2, 3, 2], &[3, 4]),
            (&[1, 6, 1], &[2, 1, 3]),
            (&[6], &[1, 6, 1]),
            (&[2, 3], &[2, 3]),
            (&[], &[1, 1]),
            (&[1], &[]),
        ] {
            let memory = Layout::contiguous(Shape::new(old)?);
            let whole = memory.view(&View::Reshape(Shape::new(new)?)).expect("it is contiguous");
            for window in windows(new) {
                let made = reshaped(old, new, &window)?;
                let wanted = whole.view(&View::Slice(window.0.clone())).expect("a slice");
                // The operand's window is copied, so that its elements are contiguous.
                let operand = memory.view(&View::Slice(made.operand.0.clone())).expect("a slice");
                let copied = each(&operand);
                let mut layout = Layout::contiguous(operand.shape.clone());
                for view in &made.views {
                    view.check(&layout.shape)?;
                    layout = layout.view(view).expect("it is contiguous");
                }
                let got: Vec<isize> = each(&layout).iter().map(|&at| copied[at as usize]).collect();
                assert_eq!(got, each(&wanted), "{old:?} to {new:?}: {window:?}");
                assert_eq!(layout.shape, wanted.shape);
            }
        }
        Ok(())
    }
}
