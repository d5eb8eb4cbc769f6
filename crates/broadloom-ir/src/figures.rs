//! Formats numbers for people: grouped by thousands, with a unit, and with no more digits than are meaningful.
//!
//! All explanations format their numbers with these functions, so that a number looks the same wherever it is shown.

/// Formats a number of bytes, in powers of 1000: exact below 1000, otherwise with three digits.
///
/// ```
/// use broadloom_ir::figures::bytes;
///
/// assert_eq!([bytes(96), bytes(4_800), bytes(8_000_000)], ["96 B", "4.8 kB", "8 MB"]);
/// ```
pub fn bytes(n: u64) -> String {
    scaled(n as f64, 3, &["B", "kB", "MB", "GB", "TB", "PB", "EB"])
}

/// Formats a count: exact and grouped below a million, otherwise with three digits.
///
/// ```
/// use broadloom_ir::figures::count;
///
/// assert_eq!([count(7), count(20_000), count(1_500_000)], ["7", "20 000", "1.5 million"]);
/// ```
pub fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{} {:03}", n / 1_000, n % 1_000),
        _ => scaled(n as f64 / 1e6, 3, &["million", "billion", "trillion", "quadrillion", "quintillion"]),
    }
}

/// Formats a count with its noun, whose plural ends in `s`.
///
/// ```
/// use broadloom_ir::figures::counted;
///
/// assert_eq!([counted(1, "kernel"), counted(1_000, "element")], ["1 kernel", "1 000 elements"]);
/// ```
pub fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Formats an estimated time in nanoseconds, with two digits, since estimates are not even that exact.
///
/// ```
/// use broadloom_ir::figures::time;
///
/// assert_eq!([time(12.3), time(6_140.0), time(1.72e8)], ["12 ns", "6.1 µs", "170 ms"]);
/// ```
pub fn time(ns: f64) -> String {
    scaled(ns, 2, &["ns", "µs", "ms", "s"])
}

/// Formats the value in the first of `units` in which it is less than 1000. Each unit is a thousand times the unit
/// before it.
fn scaled(value: f64, digits: usize, units: &[&str]) -> String {
    let mut left = value;
    for (i, unit) in units.iter().enumerate() {
        let rounded = significant(left, digits);
        if rounded < 1e3 || i + 1 == units.len() {
            return format!("{rounded} {unit}");
        }
        left /= 1e3;
    }
    significant(left, digits).to_string()
}

/// Rounds a number to this many significant digits, and to at most two decimal places.
fn significant(value: f64, digits: usize) -> f64 {
    let (mut whole, mut left) = (0, value);
    while left >= 1.0 {
        (whole, left) = (whole + 1, left / 10.0);
    }
    let places = (digits as i32 - whole).min(2);
    // The scale is always an integer power of ten, so that 0.1 and 4.8 are printed without a rounding error.
    match places {
        0.. => (value * 10f64.powi(places)).round() / 10f64.powi(places),
        _ => (value / 10f64.powi(-places)).round() * 10f64.powi(-places),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_person_says_them() {
        for (n, said) in [
            (0, "0 B"),
            (1, "1 B"),
            (999, "999 B"),
            (1_000, "1 kB"),
            (1_536, "1.54 kB"),
            (99_960, "100 kB"),
            (123_456, "123 kB"),
            (999_499, "999 kB"),
            (999_500, "1 MB"),
            (3_145_728, "3.15 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(n), said, "{n}");
        }
        for (n, said) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1 000"),
            (12_345, "12 345"),
            (999_999, "999 999"),
            (1_000_000, "1 million"),
            (262_144_000, "262 million"),
            (u64::MAX, "18.4 quintillion"),
        ] {
            assert_eq!(count(n), said, "{n}");
        }
        for (ns, said) in [
            (0.0, "0 ns"),
            (0.25, "0.25 ns"),
            (1.0, "1 ns"),
            (1.26, "1.3 ns"),
            (86.4, "86 ns"),
            (994.0, "990 ns"),
            (996.0, "1 µs"),
            (1_720_000.0, "1.7 ms"),
            (123_456_789.0, "120 ms"),
            (7.2e12, "7200 s"),
        ] {
            assert_eq!(time(ns), said, "{ns}");
        }
        assert_eq!(
            [counted(0, "rule"), counted(1, "rule"), counted(2, "rule")],
            ["0 rules", "1 rule", "2 rules"]
        );
    }
}
