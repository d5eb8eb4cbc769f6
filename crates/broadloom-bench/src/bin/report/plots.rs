//! Draws the two plots of `docs/generated/performance.md` as SVG.
//!
//! Both axes are logarithmic. Labels are moved apart so that none overlap.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use broadloom::{DType, Executor};
use broadloom_bench::Measurement;
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::measured::AllMeasured;

type Paper<'p> = DrawingArea<SVGBackend<'p>, Shift>;
type PlotResult = Result<(), Box<dyn Error>>;

const SIZE: (u32, u32) = (960, 640);
/// The margins around the plot in pixels: left, right, top, bottom.
const MARGINS: (i32, i32, i32, i32) = (70, 110, 150, 58);

const INK: RGBColor = RGBColor(38, 38, 38);
const GRID: RGBColor = RGBColor(226, 226, 226);
const BLUE: RGBColor = RGBColor(38, 102, 166);
const ORANGE: RGBColor = RGBColor(214, 110, 30);
const GREY: RGBColor = RGBColor(140, 140, 140);

/// A plot with logarithmic axes.
struct Sheet<'p> {
    paper: Paper<'p>,
    x: Range<f64>,
    y: Range<f64>,
}

/// The style of a line.
#[derive(Clone, Copy)]
enum Stroke {
    Solid,
    Dashed,
    Dotted,
}

/// The shape of the mark at a data point.
#[derive(Clone, Copy)]
enum Mark {
    Disc,
    Square,
    Cross,
}

impl<'p> Sheet<'p> {
    fn new(
        path: &'p Path,
        x: Range<f64>,
        y: Range<f64>,
        title: &str,
        axes: [&str; 2],
    ) -> Result<Sheet<'p>, Box<dyn Error>> {
        let paper = SVGBackend::new(path, SIZE).into_drawing_area();
        paper.fill(&WHITE)?;
        let sheet = Sheet { paper, x, y };
        let ((left, top), (right, bottom)) = sheet.corners();
        for (at, label, strong) in ticks(&sheet.x) {
            let x = sheet.place((at, sheet.y.start)).0;
            sheet.path(&[(x, top), (x, bottom)], if strong { GRID } else { RGBColor(243, 243, 243) }, 1)?;
            if strong {
                sheet.text(&label, (x, bottom + 16), 14, INK, HPos::Center)?;
            }
        }
        for (at, label, strong) in ticks(&sheet.y) {
            let y = sheet.place((sheet.x.start, at)).1;
            sheet.path(&[(left, y), (right, y)], if strong { GRID } else { RGBColor(243, 243, 243) }, 1)?;
            if strong {
                sheet.text(&label, (left - 8, y), 14, INK, HPos::Right)?;
            }
        }
        sheet.path(&[(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], INK, 1)?;
        sheet.text(title, (left, 22), 18, INK, HPos::Left)?;
        sheet.text(axes[0], ((left + right) / 2, bottom + 42), 15, INK, HPos::Center)?;
        sheet.upwards(axes[1], (20, (top + bottom) / 2), 15, HPos::Center)?;
        Ok(sheet)
    }

    /// The corners of the plot, in pixels.
    fn corners(&self) -> ((i32, i32), (i32, i32)) {
        let (left, right, top, bottom) = MARGINS;
        ((left, top), (SIZE.0 as i32 - right, SIZE.1 as i32 - bottom))
    }

    /// Converts a data point to pixels.
    fn place(&self, (x, y): (f64, f64)) -> (i32, i32) {
        let ((left, top), (right, bottom)) = self.corners();
        let share = |at: f64, range: &Range<f64>| (at / range.start).ln() / (range.end / range.start).ln();
        let across = |share: f64, from: i32, to: i32| from + (f64::from(to - from) * share).round() as i32;
        (across(share(x, &self.x), left, right), across(share(y, &self.y), bottom, top))
    }

    fn path(&self, points: &[(i32, i32)], color: RGBColor, width: u32) -> PlotResult {
        Ok(self.paper.draw(&PathElement::new(points.to_vec(), color.stroke_width(width)))?)
    }

    fn text(&self, text: &str, at: (i32, i32), size: i32, color: RGBColor, anchor: HPos) -> PlotResult {
        let style = TextStyle::from(("sans-serif", size).into_font())
            .color(&color)
            .pos(Pos::new(anchor, VPos::Center));
        Ok(self.paper.draw(&Text::new(text.to_owned(), at, style))?)
    }

    fn upwards(&self, text: &str, at: (i32, i32), size: i32, anchor: HPos) -> PlotResult {
        let font = ("sans-serif", size).into_font().transform(FontTransform::Rotate270);
        let style = TextStyle::from(font).color(&INK).pos(Pos::new(anchor, VPos::Center));
        Ok(self.paper.draw(&Text::new(text.to_owned(), at, style))?)
    }

    /// Draws a line through points given in pixels.
    fn stroke(&self, points: Vec<(i32, i32)>, stroke: Stroke, color: RGBColor) -> PlotResult {
        let style = color.stroke_width(2);
        let (dash, gap) = match stroke {
            Stroke::Solid => return self.path(&points, color, 2),
            Stroke::Dashed => (9, 5),
            Stroke::Dotted => (2, 4),
        };
        Ok(self.paper.draw(&DashedPathElement::new(points, dash, gap, style))?)
    }

    fn mark(&self, at: (i32, i32), mark: Mark, color: RGBColor) -> PlotResult {
        match mark {
            Mark::Disc => self.paper.draw(&Circle::new(at, 5, color.filled()))?,
            Mark::Square => self
                .paper
                .draw(&Rectangle::new([(at.0 - 5, at.1 - 5), (at.0 + 5, at.1 + 5)], color.filled()))?,
            Mark::Cross => self.paper.draw(&Cross::new(at, 5, color.stroke_width(2)))?,
        }
        Ok(())
    }
}

/// The ticks of an axis: powers of ten, which have labels, and their multiples by 2 to 9, which have none.
fn ticks(range: &Range<f64>) -> Vec<(f64, String, bool)> {
    let exponents = range.start.log10().floor() as i32..=range.end.log10().ceil() as i32;
    let all = exponents.flat_map(|e| (1..10).map(move |m| (f64::from(m) * 10f64.powi(e), e, m)));
    let inside = all.filter(|(at, ..)| (range.start * 0.999..=range.end * 1.001).contains(at));
    inside
        .map(|(at, e, m)| (at, if e.abs() <= 4 { format!("{at}") } else { format!("1e{e}") }, m == 1))
        .collect()
}

/// Draws the roofline plot: operations per nanosecond over arithmetic intensity, for float32 at the largest size.
pub fn roofline(path: &Path, measured: &AllMeasured) -> PlotResult {
    let n = measured.largest();
    let counts = |row: &&Measurement| {
        row.dtype == DType::Float32 && row.n == n && row.asked != Executor::Auto && row.ops_per_elem > 0.0
    };
    let rows: Vec<&Measurement> = measured.rows.iter().filter(counts).collect();
    let copy = rows.iter().map(|row| row.copy_gb_s).fold(0.0, f64::max);
    let peak = measured.peaks.iter().map(|(_, peak)| *peak).fold(0.0, f64::max);
    let intensity = |row: &Measurement| row.ops_per_elem / row.bytes_per_elem;
    let low = rows
        .iter()
        .map(|row| row.ops_per_elem / row.ns_per_elem.max(row.loop_ns_per_elem))
        .fold(peak, f64::min);
    let title = format!(
        "Roofline: float32, {:e} elements, one thread; the slope is a copy's {copy:.1} GB/s",
        n as f64
    );
    let axes = ["operations for a byte of inputs and outputs", "operations in a ns"];
    let most = rows.iter().map(|row| intensity(row)).fold(1.0, f64::max);
    let high = rows.iter().map(|row| row.ops_per_elem / row.ns_per_elem).fold(peak, f64::max);
    let sheet = Sheet::new(path, 0.05..most * 1.5, low / 2.0..high * 1.5, &title, axes)?;

    for (bits, peak) in &measured.peaks {
        let (from, to) = (sheet.place((peak / copy, *peak)), sheet.place((sheet.x.end, *peak)));
        sheet.stroke(vec![from, to], Stroke::Solid, INK)?;
        sheet.text(&format!("{bits} bits: {peak:.0}"), (to.0 + 8, to.1), 14, INK, HPos::Left)?;
    }
    let foot = sheet.x.start.max(sheet.y.start / copy);
    let slope = vec![sheet.place((foot, foot * copy)), sheet.place((peak / copy, peak))];
    sheet.stroke(slope, Stroke::Solid, INK)?;
    let top = sheet.corners().0.1;
    // The names are drawn above the plot. Each is as close to its points as the preceding name allows.
    let mut names: Vec<(i32, i32, &str, bool)> = Vec::new();
    for row in &rows {
        let x = intensity(row);
        let top = sheet.place((x, row.ops_per_elem / row.ns_per_elem)).1;
        match names.iter_mut().find(|(_, _, name, _)| *name == row.workload) {
            Some(known) => known.1 = known.1.min(top),
            None => names.push((sheet.place((x, 1.0)).0, top, row.workload, row.estimated)),
        }
    }
    names.sort_unstable();
    let mut places: Vec<i32> = names.iter().map(|(x, ..)| *x).collect();
    spread(&mut places, 16, sheet.corners().0.0 + 8..sheet.corners().1.0 - 8);
    for ((x, y, name, estimated), place) in names.iter().zip(&places) {
        sheet.path(&[(*x, y - 7), (*x, top + 14), (*place, top - 3)], GREY, 1)?;
        let name = format!("{name}{}", if *estimated { " ≈" } else { "" });
        sheet.upwards(&name, (*place, top - 7), 13, HPos::Left)?;
    }
    for row in &rows {
        let at = |ns: f64| sheet.place((intensity(row), row.ops_per_elem / ns));
        if row.asked == Executor::Interp {
            sheet.mark(at(row.loop_ns_per_elem), Mark::Cross, GREY)?;
            sheet.mark(at(row.ns_per_elem), Mark::Square, ORANGE)?;
        } else {
            sheet.mark(at(row.ns_per_elem), Mark::Disc, BLUE)?;
        }
    }
    let (right, bottom) = sheet.corners().1;
    for (i, (name, mark, color)) in [
        ("compiled code", Mark::Disc, BLUE),
        ("interpreter", Mark::Square, ORANGE),
        ("plain loop (AVX2)", Mark::Cross, GREY),
    ]
    .into_iter()
    .enumerate()
    {
        let y = bottom - 62 + 22 * i as i32;
        sheet.mark((right - 158, y), mark, color)?;
        sheet.text(name, (right - 142, y), 14, INK, HPos::Left)?;
    }
    Ok(sheet.paper.present()?)
}

/// Moves positions, given in ascending order, so that each is at least `apart` from the previous one, and all are
/// within `range`.
fn spread(places: &mut [i32], apart: i32, range: Range<i32>) {
    let mut least = range.start;
    for place in places.iter_mut() {
        *place = (*place).max(least);
        least = *place + apart;
    }
    let mut most = range.end;
    for place in places.iter_mut().rev() {
        *place = (*place).min(most);
        most = *place - apart;
    }
}

/// Draws the time of a call over the number of elements.
pub fn latency(path: &Path, measured: &AllMeasured) -> PlotResult {
    let all = || measured.calls.iter().flat_map(|(_, _, rows)| rows);
    let ours = |row: &Measurement| row.ns_per_elem * row.elements as f64;
    let plain = |row: &Measurement| row.loop_ns_per_elem * row.elements as f64;
    let largest = all().map(|row| row.n).max().unwrap_or(10) as f64;
    let least = all().map(|row| plain(row).min(ours(row))).fold(1e9, f64::min);
    let most = all().map(|row| plain(row).max(ours(row))).fold(1.0, f64::max);
    let axes = ["elements", "ns for a call"];
    let title = "Time of a call: float32, one thread, warm";
    let sheet = Sheet::new(path, 1.0..largest, least / 2.0..most * 2.0, title, axes)?;
    let mut legend = Vec::new();
    for (i, (name, lazy, rows)) in measured.calls.iter().enumerate() {
        let color = if i / 2 == 0 { BLUE } else { ORANGE };
        let line = |of: &dyn Fn(&Measurement) -> f64| -> Vec<(i32, i32)> {
            rows.iter().map(|row| sheet.place((row.n as f64, of(row)))).collect()
        };
        if *lazy {
            sheet.stroke(line(&ours), Stroke::Dashed, color)?;
            legend.push((format!("{name}, through Array, built each time"), Stroke::Dashed, color));
        } else {
            sheet.stroke(line(&plain), Stroke::Dotted, color)?;
            sheet.stroke(line(&ours), Stroke::Solid, color)?;
            legend.push((format!("{name}, plain loop (AVX2)"), Stroke::Dotted, color));
            legend.push((format!("{name}, prepared kernel"), Stroke::Solid, color));
        }
    }
    let (left, top) = sheet.corners().0;
    for (i, (name, stroke, color)) in legend.into_iter().enumerate() {
        let y = top - 104 + 17 * i as i32;
        sheet.stroke(vec![(left, y), (left + 48, y)], stroke, color)?;
        sheet.text(&name, (left + 60, y), 14, INK, HPos::Left)?;
    }
    Ok(sheet.paper.present()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spread_inside_the_range() {
        let mut places = [10, 10, 12, 90, 99];
        spread(&mut places, 10, 0..100);
        assert_eq!(places, [10, 20, 30, 90, 100]);
        let mut crowded = [95, 95, 95];
        spread(&mut crowded, 10, 0..100);
        assert_eq!(crowded, [80, 90, 100]);
    }
}
