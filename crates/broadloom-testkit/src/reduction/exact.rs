//! Sums of floats without rounding, as integers in units of 2^-1074, and the error of a computed sum relative to them.

use num_bigint::BigInt;

/// An exact sum of floats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum(BigInt);

/// A finite float as an integer in units of 2^-1074, of which every float of any dtype is a multiple.
fn units(x: f64) -> BigInt {
    assert!(x.is_finite(), "{x} has no exact sum with others");
    let (bits, fraction) = (x.to_bits(), x.to_bits() & ((1 << 52) - 1));
    let magnitude = match bits >> 52 & 0x7ff {
        0 => BigInt::from(fraction),
        exponent => BigInt::from(fraction | 1 << 52) << (exponent - 1),
    };
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

impl Sum {
    /// The sum of finite floats.
    ///
    /// ```
    /// use broadloom_testkit::reduction::exact::Sum;
    ///
    /// let least = f64::from_bits(1);
    /// let cancelling = Sum::of([1e300, 1.0, -1e300, least]);
    /// assert_eq!(cancelling, Sum::of([1.0, least]));
    /// assert_ne!(cancelling, Sum::of([1.0]));
    /// ```
    ///
    /// # Panics
    /// If an element is infinite or NaN.
    pub fn of(elements: impl IntoIterator<Item = f64>) -> Sum {
        // Sums few elements at a time, so that long integers are seldom added.
        Sum(elements.into_iter().map(units).sum())
    }

    /// |x − this| relative to |scale|, with the precision of float64. 0 if both are 0.
    fn distance(&self, x: f64, scale: &Sum) -> f64 {
        let error = units(x) - &self.0;
        let (error, scale) = (error.magnitude().clone(), scale.0.magnitude().clone());
        if error.bits() == 0 {
            return 0.0;
        }
        // The leading 64 bits, and the exponent that was removed.
        let leading = |x: &num_bigint::BigUint| {
            let shift = x.bits().saturating_sub(64);
            ((x >> shift).iter_u64_digits().next().unwrap_or(0) as f64, shift as i32)
        };
        let ((error, up), (scale, down)) = (leading(&error), leading(&scale));
        error / scale * 2f64.powi((up - down).clamp(-1000, 1000))
    }
}

/// The error of a computed sum of finite floats in units of u·Σ|x|, where u = 2^-24 for float32 and 2^-53 for float64.
///
/// ```
/// use broadloom_testkit::reduction::exact::error_of_sum;
///
/// assert_eq!(error_of_sum(&[1.0, 2f64.powi(-53)], 1.0, 53), 1.0 / (1.0 + 2f64.powi(-53)));
/// ```
pub fn error_of_sum(elements: &[f64], computed: f64, precision: i32) -> f64 {
    let exact = Sum::of(elements.iter().copied());
    let magnitudes = Sum::of(elements.iter().map(|x| x.abs()));
    exact.distance(computed, &magnitudes) * 2f64.powi(precision)
}

/// The bound on [`error_of_sum`] for the canonical sum of n elements: log2(n/16) + 5.
pub fn bound(n: usize) -> f64 {
    (n.max(1) as f64 / 16.0).log2() + 5.0
}
