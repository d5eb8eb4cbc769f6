//! Plots of arrays as PNG pictures: a line chart for one axis, a heat map for two.
//!
//! Every non-empty array of one or two axes can be drawn, whatever NaNs, infinities or extreme values it holds. Each
//! element is requested once, in C order, and the size of the picture is bounded regardless of the size of the array.
//! No font or other file of the machine is used.

mod heat;
mod image;
mod line;
mod sheet;
#[cfg(test)]
mod tests;
mod ticks;

pub use image::PlotError;

/// A picture to draw.
pub struct Picture<'a> {
    /// The line above the picture.
    pub title: &'a str,
    /// The extents of the array.
    pub shape: &'a [usize],
    /// The element at an index.
    pub values: &'a dyn Fn(&[usize]) -> f64,
}

/// Draws a picture: the bytes of a PNG file.
///
/// One axis gives a line chart of the elements over their index; for a long array it shows the minimum and maximum of each column
/// of pixels. Two axes give a heat map with row 0 at the top, square elements (unless one side would be too thin to see) and a
/// colour bar; for a large array it shows the means of blocks. NaNs are gaps or grey; infinities are gaps in a chart, and have
/// the colours of the ends of the scale in a map.
///
/// # Errors
///
/// [`PlotError::Rank`] or [`PlotError::Empty`] if there is nothing to draw, else the error of the drawing library.
pub fn draw(picture: &Picture<'_>) -> Result<Vec<u8>, PlotError> {
    check(picture.shape)?;
    let image = match *picture.shape {
        [rows, columns] => heat::draw(picture.title, [rows, columns], &|i, j| (picture.values)(&[i, j]))?,
        _ => line::draw(picture.title, picture.shape[0], &|i| (picture.values)(&[i]))?,
    };
    image.png()
}

/// Checks that an array of this shape can be drawn.
///
/// # Errors
///
/// [`PlotError::Rank`] or [`PlotError::Empty`].
pub fn check(shape: &[usize]) -> Result<(), PlotError> {
    match shape.len() {
        1 | 2 if !shape.contains(&0) => Ok(()),
        1 | 2 => Err(PlotError::Empty { shape: shape.to_vec() }),
        rank => Err(PlotError::Rank { rank }),
    }
}
