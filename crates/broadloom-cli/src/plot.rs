//! Plots of arrays as PNG files: a line chart for one axis, a heat map for two.
//!
//! Every non-empty array of one or two axes can be drawn, whatever NaNs, infinities or extreme values it holds. Each
//! element is requested once, in C order, and the size of the picture is bounded regardless of the size of the array.
//! No font or other file of the machine is used.

use std::io::Write;
use std::path::Path;

use crate::target::{Target, TargetError};

mod heat;
mod line;
mod sheet;
#[cfg(test)]
mod tests;
mod ticks;

/// What to draw.
pub struct Picture<'a> {
    /// The line above the picture.
    pub title: &'a str,
    /// The extents of the array.
    pub shape: &'a [usize],
    /// The element at an index.
    pub values: &'a dyn Fn(&[usize]) -> f64,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The array has neither one axis nor two.
    #[error(
        "cannot draw an array of {rank} {}: one axis gives a line chart and two give a heat map",
        if *.rank == 1 { "axis" } else { "axes" }
    )]
    Rank {
        /// How many axes it has.
        rank: usize,
    },
    /// The array has no elements.
    #[error("cannot draw an array of shape {shape:?}: it has no elements")]
    Empty {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A drawing library failed.
    #[error("drawing failed: {0}")]
    Drawing(String),
    /// The file could not be put in its place.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// Draws a picture into a PNG file. A file that exists is replaced only with `force`.
///
/// One axis gives a line chart of the elements over their index; a long one is drawn by the extremes of each column
/// of pixels. Two axes give a heat map with row 0 at the top, square elements (unless one side would be too thin to
/// see) and a colour bar; a large one is drawn by the means of blocks. NaNs are gaps or grey; infinities are gaps in a
/// chart, and have the colours of the ends of the scale in a map.
///
/// # Errors
///
/// [`PlotError::Rank`] or [`PlotError::Empty`] if there is nothing to draw, else what failed.
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

/// Pixels of a picture.
struct Image {
    width: usize,
    height: usize,
    /// Rows of red, green and blue.
    rgb: Vec<u8>,
}

impl Image {
    fn png(&self) -> Result<Vec<u8>, PlotError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.rgb)?;
        writer.finish()?;
        Ok(bytes)
    }
}

impl From<png::EncodingError> for PlotError {
    fn from(error: png::EncodingError) -> PlotError {
        PlotError::Drawing(error.to_string())
    }
}

/// How many elements are not finite, for the line below the title.
#[derive(Default)]
struct Odd {
    nan: u64,
    infinite: u64,
}

impl Odd {
    fn count(&mut self, value: f64) {
        self.nan += value.is_nan() as u64;
        self.infinite += value.is_infinite() as u64;
    }

    /// Such as `3 NaN (grey)`, for each kind that there is.
    fn notes(&self, nan: &str, infinite: &str) -> Vec<String> {
        let rows = [(self.nan, "NaN", nan), (self.infinite, "infinite", infinite)];
        rows.iter().filter(|row| row.0 > 0).map(|(n, what, how)| format!("{n} {what} ({how})")).collect()
    }
}
