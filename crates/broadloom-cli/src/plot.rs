//! Plots of arrays as PNG pictures: a line chart for one axis, a heat map for two.
//!
//! Every non-empty array of one or two axes can be drawn, including arrays with NaNs, infinities and very large or small values.
//! Each element is requested once, in C order, and the size of the picture is bounded for arrays of any size. No fonts or other
//! files of the machine are used.

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
    /// A function that returns the element at an index.
    pub values: &'a dyn Fn(&[usize]) -> f64,
}

/// Draws a picture, and returns the bytes of a PNG file.
///
/// An array of one axis becomes a line chart of the elements over their index. If the array is long, each column of pixels shows
/// a minimum and maximum. An array of two axes becomes a heat map with row 0 at the top and a colour bar. The elements of the map
/// are square unless one side of the map would be too thin to see. If the array is large, each pixel shows the mean of a block.
/// In a line chart, NaNs and infinities are gaps. In a heat map, NaNs are grey and infinities have the colours at the ends of the
/// scale.
///
/// # Errors
///
/// [`PlotError::Rank`] or [`PlotError::Empty`] if the array can't be drawn, or the error of the drawing library.
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
