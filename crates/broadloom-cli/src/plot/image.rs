//! PNG encoding, errors of drawing, and counts of the elements that can't be drawn because they are not
//! finite.

/// The reason why an array can't be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The number of the array's axes is not one or two.
    #[error(
        "cannot draw an array of {rank} {}: one axis gives a line chart and two give a heat map",
        if *.rank == 1 { "axis" } else { "axes" }
    )]
    Rank {
        /// The number of the array's axes.
        rank: usize,
    },
    /// The array has no elements.
    #[error("cannot draw an array of shape {shape:?}: it has no elements")]
    Empty {
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// The drawing library failed.
    #[error("drawing failed: {0}")]
    Drawing(String),
}

/// The pixels of a picture.
pub(super) struct Image {
    pub(super) width: usize,
    pub(super) height: usize,
    /// RGB bytes, row by row.
    pub(super) rgb: Vec<u8>,
}

impl Image {
    /// Encodes the picture as a PNG file.
    pub(super) fn png(&self) -> Result<Vec<u8>, PlotError> {
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

/// The numbers of NaNs and infinities, which are shown below the title.
#[derive(Default)]
pub(super) struct NonFinite {
    nan: u64,
    infinite: u64,
}

impl NonFinite {
    pub(super) fn count(&mut self, value: f64) {
        self.nan += value.is_nan() as u64;
        self.infinite += value.is_infinite() as u64;
    }

    /// Notes for the kinds that occur, such as `3 NaN (grey)`.
    pub(super) fn notes(&self, nan: &str, infinite: &str) -> Vec<String> {
        let rows = [(self.nan, "NaN", nan), (self.infinite, "infinite", infinite)];
        rows.iter().filter(|row| row.0 > 0).map(|(n, what, how)| format!("{n} {what} ({how})")).collect()
    }
}
