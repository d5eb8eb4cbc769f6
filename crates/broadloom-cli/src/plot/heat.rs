//! Draws heat maps: one rectangle per element, and a colour bar.
//!
//! If there are more rows or columns than pixels, each pixel shows the mean of a block of elements, NaNs excluded.

use plotters::style::RGBColor;

use super::image::{Image, NonFinite, PlotError};
use super::sheet::{Anchor, CAPTION, FAINT, INK, LABEL, NOTE, Sheet, TITLE, fitted, width};
use super::ticks::{self, Tick, fraction};

const GREY: RGBColor = RGBColor(196, 196, 196);
/// The maximum of a map's longer side in pixels, if elements are larger than a pixel.
const LONG: usize = 680;
/// The maximum of a map's longer side in pixels, if elements are not larger than a pixel.
const LONGEST: usize = 1000;
/// The minimum of a map's shorter side in pixels. Elements are not square if a side is extended to this size.
const SHORTEST: usize = 24;
/// The maximum side of a square element, in pixels.
const LARGEST: usize = 72;
/// The minimum height of the colour bar, in pixels.
const BAR: f64 = 120.0;

/// Draws a heat map of a non-empty table.
pub(super) fn draw(
    title: &str,
    [rows, columns]: [usize; 2],
    value: &dyn Fn(usize, usize) -> f64,
) -> Result<Image, PlotError> {
    let mut non_finite = NonFinite::default();
    let (map_width, map_height) = (side(columns, rows), side(rows, columns));
    let (across, down) = (columns.min(map_width), rows.min(map_height));
    let means = means([rows, columns], [down, across], &mut |i, j| {
        let value = value(i, j);
        non_finite.count(value);
        value
    });
    let finite = means.iter().copied().filter(|mean| mean.is_finite()).map(|mean| (mean, mean));
    let range = finite.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));

    let is_grey = means.iter().any(|mean| mean.is_nan());
    let mut notes = non_finite.notes(if is_grey { "grey" } else { "left out" }, "at the ends of the scale");
    if (across, down) != (columns, rows) {
        let (high, wide) = (rows.div_ceil(down), columns.div_ceil(across));
        notes.push(format!("drawn by the means of blocks of up to {high} × {wide}"));
    }
    let scale = scale(range, map_height.max(BAR as usize) / 45);
    let layout = PictureLayout::new(rows, [map_height, map_width], !notes.is_empty(), is_grey, &scale)?;

    let mut sheet = Sheet::new(layout.sheet.0, layout.sheet.1);
    let middle = layout.sheet.0 / 2.0;
    let available = layout.sheet.0 - 32.0;
    sheet.text(&fitted(title, TITLE, available)?, (middle, 26.0), TITLE, INK, Anchor::Center)?;
    sheet.text(&fitted(&notes.join(", "), NOTE, available)?, (middle, 50.0), NOTE, FAINT, Anchor::Center)?;
    layout.draw_elements(&mut sheet, &means, [down, across], range);
    layout.draw_axes(&mut sheet, [rows, columns])?;
    draw_scale(&mut sheet, layout.bar, layout.bar_height, range, &scale, is_grey)?;
    Ok(sheet.finish())
}

/// The positions and sizes of the picture's components, in pixels.
struct PictureLayout {
    /// The size of the picture.
    sheet: (f64, f64),
    /// The top left corner of the map.
    map: (f64, f64),
    /// The size of the map.
    size: (f64, f64),
    /// The width of the labels beside the rows.
    row_labels: f64,
    /// The top left corner of the colour bar.
    bar: (f64, f64),
    bar_height: f64,
}

impl PictureLayout {
    fn new(
        rows: usize,
        [map_height, map_width]: [usize; 2],
        has_notes: bool,
        is_grey: bool,
        scale: &[Tick],
    ) -> Result<PictureLayout, PlotError> {
        let mut scale_labels = width("NaN", LABEL)?;
        for tick in scale {
            scale_labels = scale_labels.max(width(&tick.label, LABEL)?);
        }
        let row_labels = width(&(rows - 1).to_string(), LABEL)?;
        let (map_width, map_height) = (map_width as f64, map_height as f64);
        let top = if has_notes { 68.0 } else { 52.0 };
        let left = 50.0 + row_labels;
        let bar_offset = map_width + 28.0;
        let content = left + bar_offset + 20.0 + 12.0 + scale_labels + 20.0;
        let sheet_width = content.max(460.0);
        let left = left + (sheet_width - content) / 2.0;
        let bar_height = map_height.max(BAR);
        let map_top = top + (bar_height - map_height) / 2.0;
        let sheet_height =
            (map_top + map_height + 58.0).max(top + bar_height + if is_grey { 44.0 } else { 20.0 });
        let (left, map_top) = (left.round(), map_top.round());
        Ok(PictureLayout {
            sheet: (sheet_width, sheet_height),
            map: (left, map_top),
            size: (map_width, map_height),
            row_labels,
            bar: ((left + bar_offset).round(), top),
            bar_height,
        })
    }

    /// Draws a rectangle for each element or block, and a frame around them.
    fn draw_elements(
        &self,
        sheet: &mut Sheet,
        means: &[f64],
        [down, across]: [usize; 2],
        range: Option<(f64, f64)>,
    ) {
        let ((left, top), (width, height)) = (self.map, self.size);
        let edge =
            |i: usize, of: usize, from: f64, length: f64| from + (length * i as f64 / of as f64).round();
        for (at, &mean) in means.iter().enumerate() {
            let (i, j) = (at / across, at % across);
            let from = (edge(j, across, left, width), edge(i, down, top, height));
            let to = (edge(j + 1, across, left, width), edge(i + 1, down, top, height));
            sheet.fill(from, to, color(mean, range));
        }
        sheet.frame((left, top), (left + width, top + height));
    }

    /// Draws the ticks and labels of both axes.
    fn draw_axes(&self, sheet: &mut Sheet, [rows, columns]: [usize; 2]) -> Result<(), PlotError> {
        let ((left, top), (map_width, map_height)) = (self.map, self.size);
        let bottom = top + map_height;
        let center = |i: usize, n: usize| (i as f64 + 0.5) / n as f64;
        let most = map_width / (width(&(columns - 1).to_string(), LABEL)? + 22.0);
        for j in ticks::of_indices(columns, (most as usize).min(12)) {
            let x = left + map_width * center(j, columns);
            sheet.fill((x - 0.5, bottom + 1.0), (x + 0.5, bottom + 6.0), INK);
            sheet.text(&j.to_string(), (x, bottom + 17.0), LABEL, INK, Anchor::Center)?;
        }
        for i in ticks::of_indices(rows, ((map_height / 30.0) as usize).min(12)) {
            let y = top + map_height * center(i, rows);
            sheet.fill((left - 6.0, y - 0.5), (left - 1.0, y + 0.5), INK);
            sheet.text(&i.to_string(), (left - 10.0, y), LABEL, INK, Anchor::Right)?;
        }
        let below = (left + map_width / 2.0, bottom + 39.0);
        sheet.text("axis 1", below, CAPTION, INK, Anchor::Center)?;
        let beside = (left - 30.0 - self.row_labels, top + map_height / 2.0);
        sheet.text("axis 0", beside, CAPTION, INK, Anchor::Upwards)
    }
}

/// Draws the colour bar with its top left corner at `(x, top)`.
fn draw_scale(
    sheet: &mut Sheet,
    (x, top): (f64, f64),
    height: f64,
    range: Option<(f64, f64)>,
    scale: &[Tick],
    is_grey: bool,
) -> Result<(), PlotError> {
    let (end, bottom) = (x + 20.0, (top + height).round());
    if range.is_some() {
        let steps = (2.0 * height) as usize;
        for i in 0..steps {
            let y = |i: usize| bottom - height * i as f64 / steps as f64;
            let color = shade((i as f64 + 0.5) / steps as f64);
            sheet.fill((x, y(i + 1).max(top)), (end, y(i)), color);
        }
        sheet.frame((x, top), (end, bottom));
    }
    for Tick { at, label } in scale {
        let y = bottom - height * at;
        sheet.fill((end + 1.0, y - 0.5), (end + 6.0, y + 0.5), INK);
        sheet.text(label, (end + 10.0, y), LABEL, INK, Anchor::Left)?;
    }
    if is_grey {
        let (from, to) = ((x, bottom + 14.0), (end, bottom + 30.0));
        sheet.fill(from, to, GREY);
        sheet.frame(from, to);
        sheet.text("NaN", (end + 10.0, bottom + 22.0), LABEL, INK, Anchor::Left)?;
    }
    Ok(())
}

/// The size in pixels of a map along an axis of `n` elements, if the other axis has `other` elements.
fn side(n: usize, other: usize) -> usize {
    let longest = n.max(other);
    let pixels = match longest <= LONGEST {
        true => n * (LONG / longest).clamp(1, LARGEST),
        false => n.div_ceil(longest.div_ceil(LONGEST)),
    };
    pixels.max(SHORTEST)
}

/// The means of `down × across` blocks of nearly equal size, in row-major order. NaNs are excluded; the mean of a block that
/// contains only NaNs is NaN.
fn means(
    [rows, columns]: [usize; 2],
    [down, across]: [usize; 2],
    value: &mut dyn FnMut(usize, usize) -> f64,
) -> Vec<f64> {
    let mut blocks = vec![(0.0f64, 0u64); down * across];
    let block = |i: usize, n: usize, of: usize| (i as u128 * of as u128 / n as u128) as usize;
    for i in 0..rows {
        let row = block(i, rows, down) * across;
        for j in 0..columns {
            let value = value(i, j);
            if !value.is_nan() {
                let (mean, count) = &mut blocks[row + block(j, columns, across)];
                *count += 1;
                *mean += match value.is_finite() && mean.is_finite() {
                    // Computes a running mean, because the sum of all values could overflow.
                    true => value / *count as f64 - *mean / *count as f64,
                    false => value,
                };
            }
        }
    }
    blocks.into_iter().map(|(mean, count)| if count == 0 { f64::NAN } else { mean }).collect()
}

/// The ticks of the colour bar.
fn scale(range: Option<(f64, f64)>, most: usize) -> Vec<Tick> {
    match range {
        None => Vec::new(),
        Some((low, high)) if low == high => vec![Tick { at: 0.5, label: ticks::exact(low) }],
        Some((low, high)) => ticks::of_values(low, high, most.clamp(3, 11)),
    }
}

/// The colour of a value. NaN is grey, and infinities have the colours at the ends of the scale.
fn color(value: f64, range: Option<(f64, f64)>) -> RGBColor {
    match range {
        _ if value.is_nan() => GREY,
        Some((low, high)) if low == high && value == low => shade(0.5),
        Some((low, high)) if value.is_finite() => shade(fraction(value, low, high)),
        _ => shade(if value > 0.0 { 1.0 } else { 0.0 }),
    }
}

fn shade(t: f64) -> RGBColor {
    let colorous::Color { r, g, b } = colorous::VIRIDIS.eval_continuous(t.clamp(0.0, 1.0));
    RGBColor(r, g, b)
}
