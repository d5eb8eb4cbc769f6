//! Computes ticks at round numbers.
//!
//! A label is exactly the value of its tick. There are at most as many ticks as requested. If the range contains no round
//! number, the ticks are the two ends of the range.

/// A tick on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// The position of the tick on the axis: 0 at the low end, 1 at the high end.
    pub(super) at: f64,
    pub(super) label: String,
}

/// The relative position of a value in a range: 0 at `low`, 1 at `high`.
pub(super) fn fraction(value: f64, low: f64, high: f64) -> f64 {
    if (high - low).is_finite() {
        return (value - low) / (high - low);
    }
    (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
}

/// Chooses at most `most` ticks in the range from `low` to `high`. Both are finite, `low < high`, and `most` is at least 2.
pub(super) fn of_values(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let ends = || vec![Tick { at: 0.0, label: exact(low) }, Tick { at: 1.0, label: exact(high) }];
    let rough = high / most as f64 - low / most as f64;
    let least = rough.log10().floor();
    if !least.is_finite() {
        return ends();
    }
    // Tries multiples of 1, 2 and 5 times a power of ten, and uses the smallest step that gives few enough ticks.
    for (factor, power) in (least as i32..).flat_map(|power| [(1, power), (2, power), (5, power)]).take(9) {
        let step = decimal(factor, power);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        if step < f64::MIN_POSITIVE || first.abs().max(last.abs()) > 1e12 {
            return ends();
        }
        // The quotients are rounded, so each tick's own value is tested for being in the range.
        let multiples: Vec<i64> = (first as i64..=last as i64)
            .map(|n| n * factor)
            .filter(|&n| (low..=high).contains(&decimal(n, power)))
            .collect();
        if multiples.len() <= most {
            let ticks = multiples.iter().zip(labels(&multiples, power));
            return ticks
                .map(|(&n, label)| Tick { at: fraction(decimal(n, power), low, high), label })
                .collect();
        }
    }
    ends()
}

/// The shortest decimal text of a value.
pub(super) fn exact(value: f64) -> String {
    let (plain, scientific) = (value.to_string(), format!("{value:e}"));
    if plain.len() <= scientific.len().max(8) { plain } else { scientific }.replace('-', "−")
}

/// The number `n * 10^power`, correctly rounded.
fn decimal(n: i64, power: i32) -> f64 {
    format!("{n}e{power}").parse().unwrap_or(f64::NAN)
}

/// The numbers `n * 10^power` as text, all in the same notation.
fn labels(multiples: &[i64], power: i32) -> Vec<String> {
    let largest = multiples.iter().map(|n| n.unsigned_abs()).max().unwrap_or(0);
    // The decimal exponent of the largest number, that is, of its first digit.
    let exponent = power + largest.max(1).ilog10() as i32;
    let plain = exponent < 6 && power > -7;
    let (exponent, power) = if plain { (0, power) } else { (exponent, power - exponent) };
    (multiples.iter())
        .map(|&n| {
            let sign = if n < 0 { "−" } else { "" };
            let mut digits = n.unsigned_abs().to_string();
            if power >= 0 {
                digits.push_str(&"0".repeat(if n == 0 { 0 } else { power as usize }));
            } else {
                let places = -power as usize;
                digits = format!("{digits:0>width$}", width = places + 1);
                digits.insert(digits.len() - places, '.');
            }
            match plain || n == 0 {
                true => format!("{sign}{digits}"),
                false => format!("{sign}{digits}e{exponent}").replace('-', "−"),
            }
        })
        .collect()
}

/// At most about `most` of the indices below `n`, in equal steps from 0.
pub(super) fn of_indices(n: usize, most: usize) -> Vec<usize> {
    let steps = (0..19).flat_map(|power| [1, 2, 5].map(|factor| factor * 10usize.pow(power)));
    let step = steps.into_iter().find(|step| (n - 1) / step < most.max(1)).unwrap_or(n);
    (0..n).step_by(step).collect()
}
