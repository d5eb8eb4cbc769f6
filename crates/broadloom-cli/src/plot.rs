//! Plots of arrays as PNG files: a line chart for one axis, a heat map for two.
//!
//! Every non-empty array of one or two axes can be drawn, whatever NaNs, infinities or extreme values it holds. Each
//! element is requested once, in C order, and the size of the picture is bounded regardless of the size of the array.
//! No font or other file of the machine is used.

use std::io::Write;
use std::path::Path;

use crate::target::{Target, TargetError};

mod heat;
mod image;
mod line;
mod sheet;
#[cfg(test)]
mod tests;
mod ticks;

pub use image::PlotError;

/// What to draw.
pub struct Picture<'a> {
    /// The line above the picture.
    pub title: &'a str,
    /// The extents of the array.
    pub shape: &'a [usize],
    /// The element at an index.
    pub values: &'a dyn Fn(&[usize]) -> f64,
}

/// Draws a picture into a PNG file. A file that exists is replaced only with `force`.
///
/// One axis gives a line chart of the elements over their index; a long one is drawn by the minimum and maximum of
/// each column of pixels. Two axes give a heat map with row 0 at the top, square elements (unless one side would be too thin to
/// see) and a colour bar; a large one is drawn by the means of blocks. NaNs are gaps or grey; infinities are gaps in a
/// chart, and have the colours of the ends of the scale in a map.
///
/// # Errors
///
/// [`PlotError::Rank`] or [`PlotError::Empty`] if there is nothing to draw, else the error of the drawing library or of the file.
pub fn draw(path: &Path, force: bool, picture: &Picture<'_>) -> Result<(), PlotError> {
    let rank = picture.shape.len();
    if !matches!(rank, 1 | 2) {
        return Err(PlotError::Rank { rank });
    }
    if picture.shape.contains(&0) {
        return Err(PlotError::Empty { shape: picture.shape.to_vec() });
    }
    let mut target = Target::create(path, force)?;
    let image = match *picture.shape {
        [rows, columns] => heat::draw(picture.title, [rows, columns], &|i, j| (picture.values)(&[i, j]))?,
        _ => line::draw(picture.title, picture.shape[0], &|i| (picture.values)(&[i]))?,
    };
    target.write_all(&image.png()?).map_err(TargetError::Io)?;
    Ok(target.finish()?)
}
