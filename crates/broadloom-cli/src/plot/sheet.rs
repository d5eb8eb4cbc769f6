//! A white canvas for text, rectangles and lines, in units of pixels of the finished picture.
//!
//! The font is compiled into the binary, so that pictures don't depend on the machine. Everything is drawn at twice the size and
//! averaged at the end, because plotters only positions glyphs and edges at whole pixels.

use std::sync::OnceLock;

use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::image::{Image, PlotError};

/// The scale at which everything is drawn.
const SCALE: usize = 2;

pub(super) const INK: RGBColor = RGBColor(38, 38, 38);
pub(super) const FAINT: RGBColor = RGBColor(110, 110, 110);
pub(super) const GRID: RGBColor = RGBColor(226, 226, 226);

pub(super) const TITLE: f64 = 19.0;
pub(super) const CAPTION: f64 = 15.0;
pub(super) const LABEL: f64 = 14.0;
pub(super) const NOTE: f64 = 12.5;

/// The point of a text that is placed at the given position.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Left,
    Center,
    Right,
    /// The centre of a text that is rotated to read upwards.
    Upwards,
}

/// Registers the font on first use, and returns its name.
fn font() -> Result<&'static str, PlotError> {
    const NAME: &str = "DejaVu Sans";
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered =
        REGISTERED.get_or_init(|| register_font(NAME, FontStyle::Normal, dejavu::sans::regular()).is_ok());
    if *registered { Ok(NAME) } else { Err(PlotError::Drawing("the built-in font is not readable".into())) }
}

/// The width of a text, in pixels.
pub(super) fn width(text: &str, size: f64) -> Result<f64, PlotError> {
    let font = FontDesc::new(FontFamily::Name(font()?), size * SCALE as f64, FontStyle::Normal);
    let (width, _) = font.box_size(text).map_err(failed)?;
    Ok(width as f64 / SCALE as f64)
}

/// Removes control characters from a text, and truncates it with an ellipsis to the width `available`.
pub(super) fn fitted(text: &str, size: f64, available: f64) -> Result<String, PlotError> {
    const LONGEST: usize = 1000;
    let letters: Vec<char> =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    let whole: String = letters.iter().collect();
    if letters.len() < LONGEST && width(&whole, size)? <= available {
        return Ok(whole);
    }
    let shortened = |n: usize| letters[..n].iter().chain(&['…']).collect::<String>();
    let (mut fits, mut exceeds) = (0, letters.len() + 1);
    while fits + 1 < exceeds {
        let middle = (fits + exceeds) / 2;
        match width(&shortened(middle), size)? <= available {
            true => fits = middle,
            false => exceeds = middle,
        }
    }
    Ok(shortened(fits))
}

fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError::Drawing(error.to_string())
}

/// A canvas.
pub(super) struct Sheet {
    width: usize,
    height: usize,
    /// RGB bytes, row by row, at `SCALE` times the final size.
    rgb: Vec<u8>,
}

impl Sheet {
    pub(super) fn new(width: f64, height: f64) -> Sheet {
        let (width, height) = (width.ceil() as usize, height.ceil() as usize);
        Sheet { width, height, rgb: vec![255; 3 * width * height * SCALE * SCALE] }
    }

    fn size(&self) -> (usize, usize) {
        (self.width * SCALE, self.height * SCALE)
    }

    fn backend(&mut self) -> BitMapBackend<'_> {
        let (width, height) = self.size();
        BitMapBackend::with_buffer(&mut self.rgb, (width as u32, height as u32))
    }

    /// Draws one line of text, vertically centred at `y`.
    pub(super) fn text(
        &mut self,
        text: &str,
        (x, y): (f64, f64),
        size: f64,
        color: RGBColor,
        anchor: Anchor,
    ) -> Result<(), PlotError> {
        let (horizontal, turn) = match anchor {
            Anchor::Left => (HPos::Left, FontTransform::None),
            Anchor::Center => (HPos::Center, FontTransform::None),
            Anchor::Right => (HPos::Right, FontTransform::None),
            Anchor::Upwards => (HPos::Center, FontTransform::Rotate270),
        };
        let style = TextStyle::from((font()?, size * SCALE as f64))
            .transform(turn)
            .color(&color)
            .pos(Pos::new(horizontal, VPos::Center));
        // plotters centres the line box, within which capitals and digits are slightly above the middle.
        let lower = 0.07 * size;
        let place = if matches!(anchor, Anchor::Upwards) { (x + lower, y) } else { (x, y + lower) };
        self.backend().draw_text(text, &style, pixel(place)).map_err(failed)
    }

    /// Fills the rectangle between two corners, the first inclusive and the second exclusive.
    pub(super) fn fill(&mut self, from: (f64, f64), to: (f64, f64), color: RGBColor) {
        let (width, height) = self.size();
        let ((x0, y0), (x1, y1)) = (pixel(from), pixel(to));
        let inside = |at: i32, end: usize| (at.max(0) as usize).min(end);
        let (left, right) = (inside(x0, width), inside(x1, width).max(inside(x0, width)));
        for y in inside(y0, height)..inside(y1, height) {
            for pixel in self.rgb[3 * (y * width + left)..3 * (y * width + right)].chunks_exact_mut(3) {
                pixel.copy_from_slice(&[color.0, color.1, color.2]);
            }
        }
    }

    /// Draws a frame of one pixel's width around the rectangle between two corners.
    pub(super) fn frame(&mut self, (x0, y0): (f64, f64), (x1, y1): (f64, f64)) {
        self.fill((x0 - 1.0, y0 - 1.0), (x1 + 1.0, y0), INK);
        self.fill((x0 - 1.0, y1), (x1 + 1.0, y1 + 1.0), INK);
        self.fill((x0 - 1.0, y0), (x0, y1), INK);
        self.fill((x1, y0), (x1 + 1.0, y1), INK);
    }

    /// Draws antialiased lines through the points of each path, with round ends. A path of one point is a dot.
    ///
    /// plotters can't antialias lines wider than a pixel, so the coverage of each pixel is computed here.
    pub(super) fn strokes(&mut self, paths: &[Vec<(f64, f64)>], thickness: f64, color: RGBColor) {
        let (width, height) = self.size();
        let radius = thickness * SCALE as f64 / 2.0;
        let mut cover = vec![0u8; width * height];
        for path in paths {
            let ends = path.iter().zip(path.iter().skip(1).chain(path.last()));
            for (a, b) in ends.take((path.len() - 1).max(1)) {
                let [a, b] = [a, b].map(|p| (p.0 * SCALE as f64, p.1 * SCALE as f64));
                let rows = range(a.1, b.1, radius, height);
                let columns = range(a.0, b.0, radius, width);
                for y in rows {
                    for x in columns.clone() {
                        let distance = distance((x as f64 + 0.5, y as f64 + 0.5), a, b);
                        let share = (radius + 0.5 - distance).clamp(0.0, 1.0);
                        let place = &mut cover[y * width + x];
                        *place = (*place).max((share * 255.0) as u8);
                    }
                }
            }
        }
        let color = [color.0, color.1, color.2];
        for (pixel, &cover) in self.rgb.chunks_exact_mut(3).zip(&cover).filter(|(_, cover)| **cover > 0) {
            for (channel, ink) in pixel.iter_mut().zip(color) {
                let mixed = *channel as u32 * (255 - cover as u32) + ink as u32 * cover as u32;
                *channel = (mixed / 255) as u8;
            }
        }
    }

    /// Averages the pixels to the final size.
    pub(super) fn finish(self) -> Image {
        let mut rgb = Vec::with_capacity(3 * self.width * self.height);
        let mut sums = vec![0u16; 3 * self.width];
        for rows in self.rgb.chunks_exact(3 * self.width * SCALE * SCALE) {
            sums.fill(0);
            for row in rows.chunks_exact(3 * self.width * SCALE) {
                for (sum, pixels) in sums.chunks_exact_mut(3).zip(row.chunks_exact(3 * SCALE)) {
                    for pixel in pixels.chunks_exact(3) {
                        for channel in 0..3 {
                            sum[channel] += u16::from(pixel[channel]);
                        }
                    }
                }
            }
            rgb.extend(sums.iter().map(|sum| (sum / (SCALE * SCALE) as u16) as u8));
        }
        Image { width: self.width, height: self.height, rgb }
    }
}

fn pixel((x, y): (f64, f64)) -> (i32, i32) {
    ((x * SCALE as f64).round() as i32, (y * SCALE as f64).round() as i32)
}

/// The range of pixels between two coordinates, extended by `radius` and one pixel at each end.
fn range(a: f64, b: f64, radius: f64, end: usize) -> std::ops::Range<usize> {
    let (low, high) = (a.min(b) - radius - 1.0, a.max(b) + radius + 1.0);
    low.max(0.0) as usize..(high.max(0.0).ceil() as usize).min(end)
}

/// The distance of the point `p` from the segment from `a` to `b`.
fn distance(p: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 { ((p.0 - a.0) * dx + (p.1 - a.1) * dy) / length } else { 0.0 };
    let t = along.clamp(0.0, 1.0);
    (p.0 - a.0 - t * dx).hypot(p.1 - a.1 - t * dy)
}
