//! The precise reference for the values of functions: it computes them at any precision by `dashu-float`, whose results are
//! correctly rounded (interval arithmetic in Ziv's loop). It decides the cases that the quick reference can't.
//!
//! Results outside of the library's range (extremely large or small results, and results for infinite arguments) are replaced
//! by values that every format rounds in the same way.

use std::cell::RefCell;

use dashu_float::round::mode::HalfEven;
use dashu_float::{ConstCache, Context, FBig, FpResult, Repr};

use super::wide::{Fixed, WideFloat};
use super::{arguments, quantile_estimate};

/// For arguments beyond this, erfc rounds to zero in every format.
pub(super) const ERFC_SATURATED: f64 = 40.0;

/// A number of arbitrary precision.
pub(super) type Big = FBig<HalfEven, 2>;

thread_local! {
    static CACHE: RefCell<ConstCache> = const { RefCell::new(ConstCache::new()) };
}

/// 2^`exponent`.
pub(super) fn power_of_two(exponent: isize) -> Big {
    Big::ONE << exponent
}

/// The value of a float64. An infinity becomes ±2^10000. A function that has a finite limit at infinity is so close to it there
/// that every format rounds it to the limit.
pub(super) fn big(x: f64) -> Big {
    match Big::try_from(x) {
        Ok(value) if x.is_finite() => value,
        _ if x > 0.0 => power_of_two(10_000),
        _ => -power_of_two(10_000),
    }
}

/// The nearest number with 126 bits.
pub(super) fn to_wide(x: &Big) -> WideFloat {
    let rounded = x.clone().with_precision(126).value();
    let (significand, exponent) = rounded.into_repr().into_parts();
    let (_, magnitude) = significand.into_parts();
    let magnitude = u128::try_from(magnitude).expect("126 bits");
    WideFloat::new(*x < Big::ZERO, magnitude, exponent as i32)
}

fn value(result: FpResult<Big>) -> Big {
    result.expect("a finite value").value()
}

/// Whether e^|x| is out of the range of every format, and so is its inverse.
fn saturates(x: &Big) -> bool {
    *x > power_of_two(14) || *x < -power_of_two(14)
}

pub(super) fn one() -> Big {
    Big::ONE
}

pub(super) fn minus_one() -> Big {
    -Big::ONE
}

pub(super) fn minus_huge() -> Big {
    -huge()
}

pub(super) fn huge() -> Big {
    power_of_two(1 << 20)
}

pub(super) fn tiny() -> Big {
    power_of_two(-(1 << 20))
}

/// Evaluates a function at (`x`, `y`) to `bits` bits. Unary functions ignore `y`.
pub(super) fn at(x: f64, y: f64, bits: usize, function: fn(&mut Evaluation<'_>) -> Big) -> Big {
    CACHE.with_borrow_mut(|cache| function(&mut Evaluation { x, y, bits, cache }))
}

/// The evaluation of a function at one point.
pub(super) struct Evaluation<'c> {
    x: f64,
    y: f64,
    bits: usize,
    cache: &'c mut ConstCache,
}

/// A function of `dashu-float`.
type PreciseFunction = fn(&Context<HalfEven>, &Repr<2>, Option<&mut ConstCache>) -> FpResult<Big>;

const LN: PreciseFunction = |context, x, cache| context.ln(x, cache);

impl Evaluation<'_> {
    /// The library's function of the first argument.
    pub fn value(&mut self, function: PreciseFunction) -> Big {
        self.of(&big(self.x), function)
    }

    /// The library's function of the first argument. If e^|x| is out of the range of every format, it is
    /// replaced by `below` for a negative argument and by `above` for a positive one.
    pub fn saturating(&mut self, [below, above]: [fn() -> Big; 2], function: PreciseFunction) -> Big {
        match () {
            () if !saturates(&big(self.x)) => self.value(function),
            () if self.x < 0.0 => below(),
            () => above(),
        }
    }

    /// 2^x, which is exact for an integer x.
    pub fn exp2(&mut self) -> Big {
        if saturates(&big(self.x)) {
            return if self.x < 0.0 { tiny() } else { huge() };
        }
        // Rounding is exact, and so is the remainder.
        let whole = self.x.round();
        let context = Context::<HalfEven>::new(self.bits + 20);
        let ln2 = value(context.ln(big(2.0).repr(), Some(self.cache)));
        let rest = value(context.mul(big(self.x - whole).repr(), ln2.repr()));
        self.of(&rest, |c, x, k| c.exp(x, k)) << whole as isize
    }

    /// erf(x) to `bits` bits, by (2/√π)·e^(−x²)·Σ 2^k·x^(2k+1)/(1·3·…·(2k+1)), whose terms have the same sign.
    fn erf_of(&mut self, x: &Big, bits: usize) -> Big {
        let context = Context::<HalfEven>::new(bits);
        let x = x.clone().with_precision(bits).value();
        let square = value(context.mul(x.repr(), x.repr()));
        let end = power_of_two(-(bits as isize));
        let (mut term, mut sum, mut k) = (Big::ONE.with_precision(bits).value(), Big::ZERO, 0_u32);
        while term > &sum * &end {
            sum = value(context.add(sum.repr(), term.repr()));
            k += 1;
            let next = value(context.mul(term.repr(), square.repr())) << 1;
            term = value(context.div(next.repr(), Big::from(2 * k + 1).repr()));
        }
        let power = value(context.exp((-square).repr(), Some(self.cache)));
        let scaled = value(context.mul(sum.repr(), power.repr()));
        let scaled = value(context.mul(scaled.repr(), two_over_root_pi(bits).repr()));
        value(context.mul(scaled.repr(), x.repr()))
    }

    /// erf(x) to `more` additional bits.
    fn erf_to(&mut self, more: usize) -> Big {
        self.erf_of(&big(self.x), self.bits + more + 40)
    }

    /// erfinv(1 − b) for 0 < b ≤ 1, by Halley's iteration for erf(z) = 1 − b. If z is large, the difference of the two sides
    /// needs as many additional bits as erf(z) has leading ones.
    fn erfinv_of(&mut self, a: &Big, b: &Big) -> Big {
        let (near, tail) = (to_wide(a), to_wide(b));
        let start = quantile_estimate::estimate(near, tail);
        let lost = (start * start * 1.45) as usize + 10;
        // A small z needs no additional bits, since the difference is relative to a.
        let bits = self.bits + lost + 60;
        let context = Context::<HalfEven>::new(bits);
        let mut z = big(start).with_precision(bits).value();
        loop {
            let erf = self.erf_of(&z, bits);
            let difference = value(context.sub(erf.repr(), a.repr()));
            let square = value(context.mul(z.repr(), z.repr()));
            let power = value(context.exp((-square).repr(), Some(self.cache)));
            let slope = value(context.mul(two_over_root_pi(bits).repr(), power.repr()));
            let u = value(context.div(difference.repr(), slope.repr()));
            let product = value(context.mul(z.repr(), u.repr()));
            let divisor = value(context.add(Big::ONE.repr(), product.repr()));
            let step = value(context.div(u.repr(), divisor.repr()));
            let end = &z * power_of_two(-(self.bits as isize) / 3 - 10);
            z = value(context.sub(z.repr(), step.repr()));
            if step < end && step > -end {
                return z.with_precision(self.bits).value();
            }
        }
    }

    /// erfinv(x) for 0 < |x| < 1.
    pub fn erfinv(&mut self) -> Big {
        let a = big(self.x.abs()).with_precision(0).value();
        let b = Big::ONE.with_precision(0).value() - &a;
        let z = self.erfinv_of(&a, &b);
        if self.x < 0.0 { -z } else { z }
    }

    /// The quantile of the standard normal distribution for a probability 0 < x < 1 other than 1/2.
    pub fn ndtri(&mut self) -> Big {
        let one = Big::ONE.with_precision(0).value();
        let p = big(self.x).with_precision(0).value();
        let b = (if self.x < 0.5 { p } else { &one - p }) << 1;
        let a = one - &b;
        let context = Context::<HalfEven>::new(self.bits + 20);
        self.bits += 20;
        let z = self.erfinv_of(&a, &b);
        self.bits -= 20;
        let root = value(context.sqrt((Big::ONE << 1).repr()));
        let y = value(context.mul(z.repr(), root.repr())).with_precision(self.bits).value();
        if self.x < 0.5 { -y } else { y }
    }

    /// erf(x). For |x| ≥ 40 it is ±1, to which every format rounds the exact value.
    pub fn erf(&mut self) -> Big {
        let magnitude = self.x.abs();
        let erf = if magnitude < 40.0 { self.erf_to(0) } else { Big::ONE };
        let erf = erf.with_precision(self.bits).value();
        if magnitude >= 40.0 && self.x < 0.0 { -erf } else { erf }
    }

    /// 1 − erf(x). erf(x) is computed with as many additional bits as cancel in the difference.
    pub fn erfc(&mut self) -> Big {
        if self.x > ERFC_SATURATED {
            return tiny();
        }
        if self.x < -ERFC_SATURATED {
            return Big::ONE << 1;
        }
        let lost = if self.x > 0.0 { (self.x * self.x * 1.45) as usize + 10 } else { 0 };
        let context = Context::<HalfEven>::new(self.bits + lost + 40);
        let erf = self.erf_to(lost);
        value(context.sub(Big::ONE.repr(), erf.repr())).with_precision(self.bits).value()
    }

    fn of(&mut self, x: &Big, function: PreciseFunction) -> Big {
        value(function(&Context::new(self.bits), x.repr(), Some(self.cache)))
    }

    /// The polar angle of a point. It is an odd function of the first argument, even for zeros of either sign.
    pub fn atan2(&mut self) -> Big {
        let context = Context::<HalfEven>::new(self.bits);
        let (y, x) = (big(self.x.abs()), big(arguments::abscissa(self.x, self.y)));
        let angle = value(context.atan2(y.repr(), x.repr(), Some(self.cache)));
        if self.x.is_sign_negative() { -angle } else { angle }
    }

    pub fn hypot(&mut self) -> Big {
        value(Context::<HalfEven>::new(self.bits).hypot(big(self.x).repr(), big(self.y).repr()))
    }

    /// x^y for nonzero x; y must be an integer if x is negative. `log` estimates which results are extremely large or small;
    /// these are replaced.
    pub fn pow(&mut self, log: fn(WideFloat) -> WideFloat) -> Big {
        let (x, y) = (self.x, self.y);
        let negative = x < 0.0 && arguments::is_odd(y);
        let size = WideFloat::from_f64(y) * log(WideFloat::from_f64(x.abs()));
        let magnitude = if size.exponent() >= 14 {
            if size.is_negative() { tiny() } else { huge() }
        } else {
            let context = Context::<HalfEven>::new(self.bits);
            value(context.powf(big(x.abs()).repr(), big(y).repr(), Some(self.cache)))
        };
        if negative { -magnitude } else { magnitude }
    }

    /// ln(e^x + e^y). Fewer than 256 bits cancel in the last sum for float64 arguments.
    pub fn logaddexp(&mut self) -> Big {
        let (x, y) = (self.x, self.y);
        let context = Context::<HalfEven>::new(self.bits + 256);
        let (greater, less) = if x < y { (big(y), big(x)) } else { (big(x), big(y)) };
        let difference = value(context.sub(less.repr(), greater.repr()));
        let rest = if saturates(&difference) {
            tiny()
        } else {
            let power = value(context.exp(difference.repr(), Some(self.cache)));
            value(context.ln_1p(power.repr(), Some(self.cache)))
        };
        value(context.add(greater.repr(), rest.repr())).with_precision(self.bits).value()
    }
}

/// 2/√π.
fn two_over_root_pi(bits: usize) -> Big {
    let context = Context::<HalfEven>::new(bits + 20);
    let half_pi = value(context.asin(Big::ONE.repr(), None));
    let root = value(context.sqrt((half_pi << 1).repr()));
    value(context.div((Big::ONE << 1).repr(), root.repr())).with_precision(bits).value()
}

/// The constants of [`super::elementary`].
pub(super) struct Constants {
    pub ln2: WideFloat,
    /// The first 107 bits of ln 2; `ln2_low` contains the rest.
    pub ln2_high: WideFloat,
    pub ln2_low: WideFloat,
    pub ln10: WideFloat,
    pub half_pi: WideFloat,
    pub two_over_root_pi: WideFloat,
    /// e^(−k²/9), for k from 1.
    pub gauss: [WideFloat; 28],
    /// e^(j/32), for j from 0.
    pub exp: [WideFloat; 23],
    /// ln(j/64), for j from 48.
    pub log: [WideFloat; 49],
    /// atan(j/32), for j from 0.
    pub atan: [WideFloat; 33],
    /// The sine and the cosine of j/32, for j from 0.
    pub sin_cos: [(Fixed, Fixed); 27],
    /// The fraction bits of 2/π.
    pub two_over_pi: [u64; 22],
}

impl Constants {
    pub fn new() -> Constants {
        // The constants have a cache of their own: the thread's cache is in use if `pow` is the first
        // function to need them.
        let mut cache = ConstCache::new();
        let mut at = |x: f64, bits: usize, function: PreciseFunction| {
            Evaluation { x, y: 0.0, bits, cache: &mut cache }.value(function)
        };
        let ln2 = at(2.0, 200, LN);
        let high = ln2.clone().with_precision(107).value();
        let pi = at(-1.0, 1600, |c, x, k| c.acos(x, k));
        let bits = (Big::from(2) / pi) << (64 * 22);
        let bytes = bits.to_int().value().into_parts().1.to_be_bytes();
        let mut two_over_pi = [0; 22];
        for (word, bytes) in two_over_pi.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_be_bytes(bytes.try_into().expect("eight"));
        }
        let mut one = |x: f64, function: PreciseFunction| to_wide(&at(x, 200, function));
        Constants {
            ln2: to_wide(&ln2),
            ln2_high: to_wide(&high),
            ln2_low: to_wide(&(ln2 - high)),
            ln10: one(10.0, LN),
            half_pi: one(1.0, |c, x, k| c.asin(x, k)),
            two_over_root_pi: to_wide(&two_over_root_pi(200)),
            gauss: std::array::from_fn(|k| {
                let square = Big::from((k as u32 + 1).pow(2)).with_precision(220).value();
                let exponent = -square / Big::from(9_u32);
                to_wide(&value(Context::new(200).exp(exponent.repr(), None)))
            }),
            exp: std::array::from_fn(|j| one(j as f64 / 32.0, |c, x, k| c.exp(x, k))),
            log: std::array::from_fn(
                |j| if j == 16 { WideFloat::ZERO } else { one((j + 48) as f64 / 64.0, LN) },
            ),
            atan: std::array::from_fn(|j| {
                if j == 0 { WideFloat::ZERO } else { one(j as f64 / 32.0, |c, x, k| c.atan(x, k)) }
            }),
            sin_cos: std::array::from_fn(|j| {
                let x = j as f64 / 32.0;
                let sin = if j == 0 { WideFloat::ZERO } else { one(x, |c, x, k| c.sin(x, k)) };
                (sin.to_fixed(), one(x, |c, x, k| c.cos(x, k)).to_fixed())
            }),
            two_over_pi,
        }
    }

    /// 320 bits of 2/π, starting with the bit of weight 2^-`first`.
    pub fn two_over_pi_window(&self, first: u32) -> [u64; 5] {
        let (word, shift) = ((first as usize - 1) / 64, (first - 1) % 64);
        let words = &self.two_over_pi[word..word + 6];
        std::array::from_fn(|i| {
            if shift == 0 { words[i] } else { words[i] << shift | words[i + 1] >> (64 - shift) }
        })
    }
}
