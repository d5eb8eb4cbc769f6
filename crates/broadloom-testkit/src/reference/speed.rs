//! The loop that a function's speed is compared with: over the standard library's, or another library's, function.
//!
//! A macro makes the loops at the function's declaration, so that the compiler sees the body, as in
//! any program; only the loop as a whole is behind a pointer.

/// A loop: two columns of arguments, of which functions of one read the first, and the results.
type Loop<T> = fn(&[T], &[T], &mut [T]);

/// Ordinary arguments and the loops.
#[derive(Clone, Copy)]
pub struct Speed {
    /// The loop's formula, as it is written.
    pub formula: &'static str,
    /// The interval of each argument.
    pub intervals: [(f64, f64); 2],
    /// The loop of float32.
    pub single: Loop<f32>,
    /// The loop of float64.
    pub double: Loop<f64>,
}

/// Arguments and their intervals, and the formula: one for both types, or one each and how the two are called.
macro_rules! speed {
    ([$x:ident: $lo:expr, $hi:expr] $formula:expr) => {
        speed!([$x: $lo, $hi; _y: 0.0, 1.0] $formula)
    };
    ([$x:ident: $lo:expr, $hi:expr] $name:literal, $single:expr, $double:expr) => {
        speed!([$x: $lo, $hi; _y: 0.0, 1.0] $name, $single, $double)
    };
    ([$x:ident: $xlo:expr, $xhi:expr; $y:ident: $ylo:expr, $yhi:expr] $formula:expr) => {
        speed!([$x: $xlo, $xhi; $y: $ylo, $yhi] stringify!($formula), $formula, $formula)
    };
    ([$x:ident: $xlo:expr, $xhi:expr; $y:ident: $ylo:expr, $yhi:expr] $name:expr, $single:expr, $double:expr) => {
        Some(Speed {
            formula: $name,
            intervals: [($xlo, $xhi), ($ylo, $yhi)],
            single: |a, b, out| {
                for ((out, &$x), &$y) in out.iter_mut().zip(a).zip(b) {
                    *out = $single;
                }
            },
            double: |a, b, out| {
                for ((out, &$x), &$y) in out.iter_mut().zip(a).zip(b) {
                    *out = $double;
                }
            },
        })
    };
}
pub(super) use speed;
