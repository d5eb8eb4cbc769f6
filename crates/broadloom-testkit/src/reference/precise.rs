//! The functions at any precision, by `dashu-float`, whose results are correctly rounded (interval arithmetic under
//! Ziv's loop): the reference that has the last word.
//!
//! In: a function and float64 arguments at which it has a finite value other than 0. Out: the value to a number of
//! bits. Must hold: what the library can't take (results of astronomic size, infinite arguments) is replaced by
//! what no format can tell from it.

use std::cell::RefCell;

use dashu_float::round::mode::HalfEven;
use dashu_float::{ConstCache, Context, FBig, FpResult};

use super::Function;
use super::wide::{Fixed, Wide};

/// An arbitrarily precise number.
pub(super) type Big = FBig<HalfEven, 2>;

thread_local! {
    static CACHE: RefCell<ConstCache> = const { RefCell::new(ConstCache::new()) };
}

/// 2^`exponent`.
pub(super) fn power_of_two(exponent: isize) -> Big {
    Big::ONE << exponent
}

/// A float64's value; ±2^10000 for an infinity, where functions that have a finite limit have reached it.
pub(super) fn big(x: f64) -> Big {
    match Big::try_from(x) {
        Ok(value) if x.is_finite() => value,
        _ if x > 0.0 => power_of_two(10_000),
        _ => -power_of_two(10_000),
    }
}

/// The nearest number of 126 bits.
pub(super) fn to_wide(x: &Big) -> Wide {
    let rounded = x.clone().with_precision(126).value();
    let (significand, exponent) = rounded.into_repr().into_parts();
    let (_, magnitude) = significand.into_parts();
    let magnitude = u128::try_from(magnitude).expect("126 bits");
    Wide::new(*x < Big::ZERO, magnitude, exponent as i32)
}

fn value(result: FpResult<Big>) -> Big {
    result.expect("a finite value").value()
}

/// Whether e^|x| is beyond all formats, its inverse below.
fn saturates(x: &Big) -> bool {
    *x > power_of_two(14) || *x < -power_of_two(14)
}

fn huge() -> Big {
    power_of_two(1 << 20)
}

fn tiny() -> Big {
    power_of_two(-(1 << 20))
}

/// The function at (`x`, `y`) to `bits` bits; unary functions don't read `y`.
pub(super) fn at(function: Function, x: f64, y: f64, bits: usize) -> Big {
    CACHE.with_borrow_mut(|cache| evaluate(function, x, y, bits, cache))
}

fn evaluate(function: Function, x: f64, y: f64, bits: usize, cache: &mut ConstCache) -> Big {
    let context = Context::<HalfEven>::new(bits);
    let (a, b) = (big(x), big(y));
    let (repr, negative) = (a.repr(), x < 0.0);
    let cache = Some(cache);
    match function {
        Function::Exp | Function::Cosh | Function::Sinh | Function::Expm1 if saturates(&a) => {
            match function {
                Function::Exp if negative => tiny(),
                Function::Expm1 if negative => -Big::ONE,
                Function::Sinh if negative => -huge(),
                _ => huge(),
            }
        }
        Function::Tanh if saturates(&a) => {
            if negative {
                -Big::ONE
            } else {
                Big::ONE
            }
        }
        Function::Acos => value(context.acos(repr, cache)),
        Function::Acosh => value(context.acosh(repr, cache)),
        Function::Asin => value(context.asin(repr, cache)),
        Function::Asinh => value(context.asinh(repr, cache)),
        Function::Atan => value(context.atan(repr, cache)),
        Function::Atanh => value(context.atanh(repr, cache)),
        Function::Cos => value(context.cos(repr, cache)),
        Function::Cosh => value(context.cosh(repr, cache)),
        Function::Exp => value(context.exp(repr, cache)),
        Function::Expm1 => value(context.exp_m1(repr, cache)),
        Function::Log => value(context.ln(repr, cache)),
        Function::Log1p => value(context.ln_1p(repr, cache)),
        Function::Log10 => value(context.log10(repr, cache)),
        Function::Log2 => value(context.log2(repr, cache)),
        Function::Sin => value(context.sin(repr, cache)),
        Function::Sinh => value(context.sinh(repr, cache)),
        Function::Sqrt => value(context.sqrt(repr)),
        Function::Tan => value(context.tan(repr, cache)),
        Function::Tanh => value(context.tanh(repr, cache)),
        Function::Atan2 => {
            // It is odd in the first argument, whose zero has a sign.
            let angle = value(context.atan2(big(x.abs()).repr(), big(super::abscissa(x, y)).repr(), cache));
            if x.is_sign_negative() { -angle } else { angle }
        }
        Function::Hypot => value(context.hypot(repr, b.repr())),
        Function::Pow => pow(x, y, bits, cache),
        Function::LogAddExp => logaddexp(x, y, bits, cache),
    }
}

/// x^y for x other than 0, and an integer y if x is negative.
fn pow(x: f64, y: f64, bits: usize, cache: Option<&mut ConstCache>) -> Big {
    let negative = x < 0.0 && super::is_odd(y);
    let size = Wide::from_f64(y) * super::elementary::log(Wide::from_f64(x.abs()));
    let magnitude = if size.exponent() >= 14 {
        if size.is_negative() { tiny() } else { huge() }
    } else {
        value(Context::<HalfEven>::new(bits).powf(big(x.abs()).repr(), big(y).repr(), cache))
    };
    if negative { -magnitude } else { magnitude }
}

/// ln(e^x + e^y). Fewer than 256 bits cancel in the last sum, for float64 arguments.
fn logaddexp(x: f64, y: f64, bits: usize, mut cache: Option<&mut ConstCache>) -> Big {
    let context = Context::<HalfEven>::new(bits + 256);
    let (greater, less) = if x < y { (big(y), big(x)) } else { (big(x), big(y)) };
    let difference = value(context.sub(less.repr(), greater.repr()));
    let rest = if saturates(&difference) {
        tiny()
    } else {
        let power = value(context.exp(difference.repr(), cache.as_deref_mut()));
        value(context.ln_1p(power.repr(), cache))
    };
    value(context.add(greater.repr(), rest.repr())).with_precision(bits).value()
}

/// What [`super::elementary`] is built on.
pub(super) struct Constants {
    pub ln2: Wide,
    /// The first 107 bits of ln 2, and the rest.
    pub ln2_high: Wide,
    pub ln2_low: Wide,
    pub ln10: Wide,
    pub half_pi: Wide,
    /// e^(j/32).
    pub exp: [Wide; 23],
    /// ln(j/64), from j = 48.
    pub log: [Wide; 49],
    /// atan(j/32).
    pub atan: [Wide; 33],
    /// The sine and the cosine of j/32.
    pub sin_cos: [(Fixed, Fixed); 27],
    /// The bits of 2/π after the point.
    pub two_over_pi: [u64; 22],
}

impl Constants {
    pub fn new() -> Constants {
        let two = |function, x: f64| at(function, x, 0.0, 200);
        let one = |function, x| to_wide(&two(function, x));
        let ln2 = two(Function::Log, 2.0);
        let high = ln2.clone().with_precision(107).value();
        let pi = at(Function::Acos, -1.0, 0.0, 1600);
        let bits = (Big::from(2) / pi) << (64 * 22);
        let bytes = bits.to_int().value().into_parts().1.to_be_bytes();
        let mut two_over_pi = [0; 22];
        for (word, bytes) in two_over_pi.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_be_bytes(bytes.try_into().expect("eight"));
        }
        let fixed = |function, x: f64| {
            if x == 0.0 && function == Function::Sin { Wide::ZERO } else { one(function, x) }.to_fixed()
        };
        Constants {
            ln2: to_wide(&ln2),
            ln2_high: to_wide(&high),
            ln2_low: to_wide(&(ln2 - high)),
            ln10: one(Function::Log, 10.0),
            half_pi: one(Function::Asin, 1.0),
            exp: std::array::from_fn(|j| one(Function::Exp, j as f64 / 32.0)),
            log: std::array::from_fn(|j| {
                if j == 16 { Wide::ZERO } else { one(Function::Log, (j + 48) as f64 / 64.0) }
            }),
            atan: std::array::from_fn(
                |j| if j == 0 { Wide::ZERO } else { one(Function::Atan, j as f64 / 32.0) },
            ),
            sin_cos: std::array::from_fn(|j| {
                (fixed(Function::Sin, j as f64 / 32.0), fixed(Function::Cos, j as f64 / 32.0))
            }),
            two_over_pi,
        }
    }

    /// 320 bits of 2/π, from the one that weighs 2^-`first`.
    pub fn two_over_pi_window(&self, first: u32) -> [u64; 5] {
        let (word, shift) = ((first as usize - 1) / 64, (first - 1) % 64);
        let words = &self.two_over_pi[word..word + 6];
        std::array::from_fn(|i| {
            if shift == 0 { words[i] } else { words[i] << shift | words[i + 1] >> (64 - shift) }
        })
    }
}
