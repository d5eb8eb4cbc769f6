//! Draws line charts: values over their index.
//!
//! If there are more values than pixel columns, each column shows its minimum and maximum.

use std::ops::Range;

use plotters::style::RGBColor;

use super::image::{Image, NonFinite, PlotError};
use super::sheet::{Anchor, CAPTION, FAINT, GRID, INK, LABEL, NOTE, Sheet, TITLE, fitted, width};
use super::ticks::{self, Tick, fraction};

const BLUE: RGBColor = RGBColor(38, 102, 166);
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 560.0;
/// The number of columns for which a minimum and maximum are drawn: about two for each pixel of the picture's
/// width, since everything is drawn at twice the size.
const COLUMNS: usize = 1800;

/// The points of the line as pairs of an index and a value; `None` is a gap.
type Points = Vec<Option<(f64, f64)>>;

/// Draws a line chart of `n` values; `n` is at least 1.
pub(super) fn draw(title: &str, n: usize, value: &dyn Fn(usize) -> f64) -> Result<Image, PlotError> {
    let mut non_finite = NonFinite::default();
    let points = points(n, &mut |i| {
        let value = value(i);
        non_finite.count(value);
        value
    });
    let range = range(points.iter().flatten().map(|point| point.1));

    let mut notes = non_finite.notes("not drawn", "not drawn");
    if n > COLUMNS {
        notes.push(format!("drawn by the minimum and maximum of up to {} values each", n.div_ceil(COLUMNS)));
    }
    let top = if notes.is_empty() { 52.0 } else { 68.0 };
    let (bottom, right) = (HEIGHT - 58.0, WIDTH - 28.0);
    let values = range.as_ref().map_or(Vec::new(), |range| ticks::of_values(range.start, range.end, 9));
    let mut labels: f64 = 0.0;
    for tick in &values {
        labels = labels.max(width(&tick.label, LABEL)?);
    }
    let left = 48.0 + labels;
    // Leaves a margin between the line and the frame.
    let (first, last) = (left + 10.0, right - 10.0);
    let x_of =
        |x: f64| if n == 1 { (first + last) / 2.0 } else { first + (last - first) * x / (n - 1) as f64 };

    let mut sheet = Sheet::new(WIDTH, HEIGHT);
    let middle = (left + right) / 2.0;
    let available = 2.0 * (WIDTH - middle) - 40.0;
    sheet.text(&fitted(title, TITLE, available)?, (middle, 26.0), TITLE, INK, Anchor::Center)?;
    sheet.text(&fitted(&notes.join(", "), NOTE, available)?, (middle, 50.0), NOTE, FAINT, Anchor::Center)?;
    sheet.text("index", (middle, HEIGHT - 18.0), CAPTION, INK, Anchor::Center)?;
    sheet.text("value", (18.0, (top + bottom) / 2.0), CAPTION, INK, Anchor::Upwards)?;

    let available = (last - first) / (width(&(n - 1).to_string(), LABEL)? + 30.0);
    for index in ticks::of_indices(n, (available as usize).min(12)) {
        let x = x_of(index as f64);
        sheet.fill((x - 0.5, top), (x + 0.5, bottom), GRID);
        sheet.fill((x - 0.5, bottom), (x + 0.5, bottom + 6.0), INK);
        sheet.text(&index.to_string(), (x, bottom + 17.0), LABEL, INK, Anchor::Center)?;
    }
    for Tick { at, label } in &values {
        let y = bottom - (bottom - top) * at;
        sheet.fill((left, y - 0.5), (right, y + 0.5), GRID);
        sheet.fill((left - 6.0, y - 0.5), (left, y + 0.5), INK);
        sheet.text(label, (left - 10.0, y), LABEL, INK, Anchor::Right)?;
    }
    match &range {
        None => {
            let place = (middle, (top + bottom) / 2.0);
            sheet.text("no finite values", place, CAPTION, FAINT, Anchor::Center)?;
        }
        Some(range) => {
            let y_of = |y| bottom - (bottom - top) * fraction(y, range.start, range.end);
            let paths: Vec<Vec<(f64, f64)>> = (points.split(Option::is_none))
                .filter(|run| !run.is_empty())
                .map(|run| run.iter().flatten().map(|&(x, y)| (x_of(x), y_of(y))).collect())
                .collect();
            sheet.strokes(&paths, 1.6, BLUE);
            // Isolated values are drawn as dots. If there are few values, all are drawn as dots.
            let few = n <= 60;
            let is_dot = |path: &&Vec<(f64, f64)>| few || (path.len() == 1 && n <= COLUMNS);
            let dots = paths.iter().filter(is_dot).flatten().map(|&point| vec![point]);
            sheet.strokes(&dots.collect::<Vec<_>>(), if few { 6.0 } else { 3.0 }, BLUE);
        }
    }
    sheet.frame((left, top), (right, bottom));
    Ok(sheet.finish())
}

/// Converts values to points. If there are many values, they are divided into equally wide columns, and each column has four
/// points: its first, minimum, maximum and last finite value.
fn points(n: usize, value: &mut dyn FnMut(usize) -> f64) -> Points {
    if n <= COLUMNS {
        let finite = (0..n).map(|i| (i as f64, value(i)));
        return finite.map(|point| point.1.is_finite().then_some(point)).collect();
    }
    let mut points = Points::new();
    for column in 0..COLUMNS {
        let start = |column: usize| (column as u128 * n as u128 / COLUMNS as u128) as usize;
        let (from, to) = (start(column), start(column + 1));
        let mut seen: Option<[f64; 4]> = None;
        for value in (from..to).map(&mut *value).filter(|value| value.is_finite()) {
            let [first, low, high, _] = seen.unwrap_or([value; 4]);
            seen = Some([first, low.min(value), high.max(value), value]);
        }
        let middle = (from as f64 + (to - 1) as f64) / 2.0;
        match seen {
            None => points.push(None),
            Some(values) => points.extend(values.map(|value| Some((middle, value)))),
        }
    }
    points
}

/// The range of the vertical axis, slightly larger than the range of the values; `None` if no value is finite.
fn range(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    let (low, high) = values.map(|v| (v, v)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let margin = match low < high {
        true => high * 0.04 - low * 0.04,
        false if low == 0.0 => 1.0,
        false => low.abs() * 0.1,
    };
    // The margin of a subnormal range could round to zero.
    let margin = margin.max(f64::from_bits(4));
    Some((low - margin).max(f64::MIN)..(high + margin).min(f64::MAX))
}
