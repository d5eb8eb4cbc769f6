//! The loops with which a function's speed is compared. They call the function of the standard library or of another library.
//!
//! A macro defines each loop at the function's declaration, so that the compiler can inline the body as in any program. Only the
//! loop as a whole is called through a function pointer.

/// A loop over two columns of arguments, which writes the results. Functions of one argument read the first column only.
type ColumnLoop<T> = fn(&[T], &[T], &mut [T]);

/// Typical arguments, and the loops.
#[derive(Clone, Copy)]
pub struct Speed {
    /// The formula of the loop, as text.
    pub formula: &'static str,
    /// The interval of each argument.
    pub intervals: [(f64, f64); 2],
    /// The loop of float32.
    pub single: ColumnLoop<f32>,
    /// The loop of float64.
    pub double: ColumnLoop<f64>,
}

/// Defines the loops that compute a formula of arguments, which are drawn from the given intervals. There is
/// either one formula for both float32 and float64, or one for each of them, with a text that describes both.
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
