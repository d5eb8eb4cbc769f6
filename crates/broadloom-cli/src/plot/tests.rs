//! Tests that ticks are at round numbers, that a pixel represents many elements correctly, and that unusual
//! arrays can be drawn.

use std::cell::Cell;

use super::image::Image;
use super::ticks::{Tick, exact, fraction, of_indices, of_values};
use super::*;

fn labels(low: f64, high: f64, most: usize) -> Vec<String> {
    let ticks = of_values(low, high, most);
    assert!((2..=most).contains(&ticks.len()), "{low:e} {high:e} {ticks:?}");
    assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.at)), "{low:e} {high:e} {ticks:?}");
    assert!(ticks.windows(2).all(|pair| pair[0].at < pair[1].at), "{low:e} {high:e} {ticks:?}");
    ticks.into_iter().map(|tick| tick.label).collect()
}

#[test]
fn marks_of_values() {
    let rows: &[(f64, f64, usize, &str)] = &[
        (0.0, 1.0, 6, "0.0 0.2 0.4 0.6 0.8 1.0"),
        (-0.9, 0.9, 5, "−0.5 0.0 0.5"),
        (0.0, 15.0, 4, "0 5 10 15"),
        (-3.0, 250_000.0, 4, "0 100000 200000"),
        (0.0, 3e6, 4, "0 1e6 2e6 3e6"),
        (0.0, 3e6, 7, "0.0 0.5e6 1.0e6 1.5e6 2.0e6 2.5e6 3.0e6"),
        (-2e-9, 1e-9, 4, "−2e−9 −1e−9 0 1e−9"),
        (1e-5, 3e-5, 3, "0.00001 0.00002 0.00003"),
        (1000.0, 1000.002, 3, "1000.000 1000.001 1000.002"),
        (1e9, 1e9 + 2.0, 3, "1.000000000e9 1.000000001e9 1.000000002e9"),
        (f64::MIN, f64::MAX, 5, "−1e308 0 1e308"),
        (1.0, 1.0 + f64::EPSILON, 5, "1 1.0000000000000002"),
        (0.0, 5e-324, 5, "0 5e−324"),
    ];
    for (low, high, most, expected) in rows {
        assert_eq!(labels(*low, *high, *most).join(" "), *expected, "{low:e} {high:e}");
    }
    // For every range, the label of a tick is exactly the tick's value.
    for i in 0..4000u64 {
        let random = |i: u64| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ i << 57);
        let (a, b) = (random(i), random(i + 77_777));
        let (low, high) = (a.min(b), a.max(b));
        if low < high && low.is_finite() && high.is_finite() {
            labels(low, high, 6);
            for Tick { at, label } in of_values(low, high, 6) {
                let value: f64 = label.replace('−', "-").parse().expect("a number");
                assert_eq!(fraction(value, low, high), at, "{low:e} {high:e} {label}");
            }
        }
    }
}

#[test]
fn marks_of_indices() {
    assert_eq!(of_indices(1, 5), [0]);
    assert_eq!(of_indices(4, 5), [0, 1, 2, 3]);
    assert_eq!(of_indices(6, 5), [0, 2, 4]);
    assert_eq!(of_indices(100, 5), [0, 20, 40, 60, 80]);
    assert_eq!(of_indices(10, 0), [0]);
    assert!(of_indices(usize::MAX, 5).len() <= 5);
}

#[test]
fn single_values() {
    let rows = [(0.1, "0.1"), (-3.0, "−3"), (1e300, "1e300"), (-2.5e-7, "−2.5e−7"), (123456.0, "123456")];
    for (value, text) in rows {
        assert_eq!(exact(value), text);
    }
}

fn pixel(image: &Image, x: usize, y: usize) -> [u8; 3] {
    let at = 3 * (y * image.width + x);
    [image.rgb[at], image.rgb[at + 1], image.rgb[at + 2]]
}

/// The number of pixels of this colour.
fn count(image: &Image, color: [u8; 3]) -> usize {
    image.rgb.chunks_exact(3).filter(|pixel| *pixel == color).count()
}

const PURPLE: [u8; 3] = [68, 1, 84];
const YELLOW: [u8; 3] = [253, 231, 37];
const MIDDLE: [u8; 3] = [32, 144, 140];
const GREY: [u8; 3] = [196; 3];

#[test]
fn a_map_has_its_elements_in_place() -> Result<(), PlotError> {
    let table = [[0.0, 1.0, f64::NAN], [f64::INFINITY, f64::NEG_INFINITY, 0.5]];
    let image = heat::draw("", [2, 3], &|i, j| table[i][j])?;
    // The picture contains six squares of 72 pixels. Their position is found from the first pair of adjacent
    // pixels that differ in colour.
    let corner = (0..image.height)
        .flat_map(|y| (0..image.width - 1).map(move |x| (x, y)))
        .find(|&(x, y)| pixel(&image, x, y) == PURPLE && pixel(&image, x + 1, y) == YELLOW)
        .expect("the first row");
    let at = |i: usize, j: usize| pixel(&image, corner.0 - 71 + 72 * j + 36, corner.1 + 72 * i + 36);
    assert_eq!([at(0, 0), at(0, 1), at(0, 2)], [PURPLE, YELLOW, GREY]);
    assert_eq!([at(1, 0), at(1, 1)], [YELLOW, PURPLE]);
    assert_eq!(at(1, 2), MIDDLE);
    Ok(())
}

#[test]
fn a_large_map_shows_means() -> Result<(), PlotError> {
    // In one half of the table, each block of 2 × 2 elements contains 0, 4 and two NaNs; in the other half,
    // only NaNs.
    let value = |i: usize, j: usize| match (i % 2, j % 2) {
        _ if i < 1000 => f64::NAN,
        (0, 0) => 0.0,
        (1, 1) => 4.0,
        _ => f64::NAN,
    };
    let image = heat::draw("", [2000, 2000], &value)?;
    assert!(count(&image, GREY) >= 500_000);
    // The mean of each block without NaNs is 2, so this half of the map is constant, in the middle colour of
    // the scale.
    assert!(count(&image, MIDDLE) >= 500_000);
    Ok(())
}

#[test]
fn a_long_line_shows_extremes() -> Result<(), PlotError> {
    // A single spike among a million values is visible, whether it points upwards or downwards.
    for spike in [9.0, -9.0] {
        let flat = line::draw("", 1_000_000, &|i| (i % 2) as f64)?;
        let image = line::draw("", 1_000_000, &|i| if i == 654_321 { spike } else { (i % 2) as f64 })?;
        let blue = |image: &Image, rows: std::ops::Range<usize>| {
            let rows = rows.flat_map(|y| (0..image.width).map(move |x| (x, y)));
            rows.filter(|&(x, y)| matches!(pixel(image, x, y), [r, _, b] if b > r.saturating_add(40))).count()
        };
        let middle = image.height / 2 - 20..image.height / 2 + 20;
        assert!(blue(&flat, middle.clone()) > 10_000);
        assert!((20..1000).contains(&blue(&image, middle)), "{spike}");
    }
    Ok(())
}

/// The edge-case values in the arrays that are drawn.
const ODD: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    1.0 + f64::EPSILON,
];

#[test]
fn every_odd_array_has_a_picture() -> Result<(), PlotError> {
    for (i, a) in ODD.into_iter().enumerate() {
        for (j, &b) in ODD[i..].iter().enumerate() {
            let n = [1, 2, 5, 2000][(i + j) % 4];
            let value = |i: usize| if i.is_multiple_of(3) { a } else { b };
            for image in [line::draw("x", n, &value)?, heat::draw("x", [2, n], &|i, j| value(i + j))?] {
                assert_eq!(image.rgb.len(), 3 * image.width * image.height);
                assert!(image.width <= 1400 && image.height <= 1200, "{a:e} {b:e} {n}");
            }
        }
    }
    Ok(())
}

#[test]
fn each_element_is_asked_for_once_in_order() -> Result<(), PlotError> {
    for shape in [&[1][..], &[1799], &[12_345], &[1, 1], &[3, 4], &[1, 5000], &[1234, 7], &[1500, 1100]] {
        let next = Cell::new(0);
        let values = |index: &[usize]| {
            let place = index.iter().zip(shape).fold(0, |place, (i, n)| place * n + i);
            assert_eq!(next.replace(place + 1), place);
            place as f64
        };
        let bytes = draw(&Picture { title: "x", shape, values: &values })?;
        assert_eq!(next.get(), shape.iter().product::<usize>());
        let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
        assert!(reader.info().width >= 460 && reader.info().height >= 100);
    }
    Ok(())
}

#[test]
fn titles() -> Result<(), PlotError> {
    let image = |title: &str| line::draw(title, 3, &|i| i as f64);
    let dark =
        |image: &Image| image.rgb[..3 * image.width * 45].iter().filter(|&&channel| channel < 128).count();
    // The font is found, and the title is drawn.
    assert_eq!(dark(&image("")?), 0);
    assert!(dark(&image("sqrt(x)")?) > 300);
    // A title that is too long is truncated with an ellipsis, and does not reach the borders.
    let long = image(&"where(x > 0, x, -x) + ".repeat(1000))?;
    let border = |x: usize| (0..45).any(|y| pixel(&long, x, y) != [255; 3]);
    assert!(dark(&long) > 3000 && !(0..10).any(border) && !(990..1000).any(border));
    image("a\nb\t\u{0}\u{1f600}")?;
    Ok(())
}

#[test]
fn errors() {
    let rows: [(&[usize], &str); 4] = [
        (&[], "cannot draw an array of 0 axes: one axis gives a line chart and two give a heat map"),
        (&[2, 3, 4], "cannot draw an array of 3 axes: one axis gives a line chart and two give a heat map"),
        (&[0], "cannot draw an array of shape [0]: it has no elements"),
        (&[3, 0], "cannot draw an array of shape [3, 0]: it has no elements"),
    ];
    let picture = |shape| draw(&Picture { title: "x", shape, values: &|_| 1.0 });
    for (shape, message) in rows {
        assert_eq!(picture(shape).expect_err("no picture").to_string(), message);
    }
    assert!(picture(&[3]).is_ok());
}
