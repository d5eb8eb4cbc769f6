//! Predicates on float64 arguments, shared by both references and the special cases, so that all of them treat signed zeros and
//! odd exponents in the same way.

/// The second argument of atan2. If both arguments are zero, it becomes ±1, which gives the same angle.
pub(super) fn abscissa(y: f64, x: f64) -> f64 {
    if x == 0.0 && y == 0.0 { x.signum() } else { x }
}

/// Whether a number is an odd integer.
pub(super) fn is_odd(y: f64) -> bool {
    y.abs() < 9_007_199_254_740_992.0 && y.fract() == 0.0 && y as i64 & 1 == 1
}
