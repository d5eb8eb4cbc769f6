//! Real numbers to 80 digits, or none: the quotient by zero, the logarithm of a negative number and the like are undefined.
//!
//! There are no infinities and no signed zeros, so that an identity between real functions holds up to rounding wherever both of
//! its sides are defined. Bools are the numbers 0 and 1.

use std::cell::RefCell;
use std::cmp::Ordering;

use broadloom_core::Op;
use dashu_float::round::mode::HalfEven;
use dashu_float::{ConstCache, Context, FBig, FpResult, Repr};

type Big = FBig<HalfEven, 2>;

/// The precision in bits: 80 digits.
const BITS: usize = 266;

/// Exponentials and powers are defined if the logarithm of the result is smaller than this.
const LARGEST_LOGARITHM: f64 = 4000.0;

thread_local! {
    static CACHE: RefCell<ConstCache> = const { RefCell::new(ConstCache::new()) };
}

/// A real number, or none.
#[derive(Clone, Debug)]
pub struct Real(Option<Big>);

/// A function of `dashu-float`.
type Elementary = fn(&Context<HalfEven>, &Repr<2>, Option<&mut ConstCache>) -> FpResult<Big>;

fn context() -> Context<HalfEven> {
    Context::new(BITS)
}

fn value(result: FpResult<Big>) -> Big {
    result.expect("a finite value").value()
}

impl Real {
    /// What has no value.
    pub const UNDEFINED: Real = Real(None);

    /// The value of a float64; infinities and NaN are undefined.
    pub fn of(x: f64) -> Real {
        Real(Big::try_from(x).ok().filter(|_| x.is_finite()))
    }

    fn of_bool(x: bool) -> Real {
        Real::of(f64::from(u8::from(x)))
    }

    /// Whether the number has a value.
    pub fn is_defined(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the number is 0.
    pub fn is_zero(&self) -> bool {
        self.0.as_ref().is_some_and(|x| *x == Big::ZERO)
    }

    /// The nearest float64; NaN if the number is undefined.
    pub fn to_f64(&self) -> f64 {
        self.0.as_ref().map_or(f64::NAN, |x| x.to_f64().value())
    }

    /// The order of two numbers that are both defined.
    pub fn compare(&self, other: &Real) -> Option<Ordering> {
        self.0.as_ref()?.partial_cmp(other.0.as_ref()?)
    }

    fn map(&self, f: impl FnOnce(&Big) -> Option<Big>) -> Real {
        Real(self.0.as_ref().and_then(f))
    }

    fn with(&self, other: &Real, f: impl FnOnce(&Big, &Big) -> Option<Big>) -> Real {
        Real(self.0.as_ref().zip(other.0.as_ref()).and_then(|(x, y)| f(x, y)))
    }

    fn test(&self, other: &Real, is: impl Fn(Ordering) -> bool) -> Real {
        self.compare(other).map_or(Real::UNDEFINED, |order| Real::of_bool(is(order)))
    }

    pub fn plus(&self, other: &Real) -> Real {
        self.with(other, |x, y| Some(value(context().add(x.repr(), y.repr()))))
    }

    pub fn minus(&self, other: &Real) -> Real {
        self.with(other, |x, y| Some(value(context().sub(x.repr(), y.repr()))))
    }

    pub fn times(&self, other: &Real) -> Real {
        self.with(other, |x, y| Some(value(context().mul(x.repr(), y.repr()))))
    }

    pub fn over(&self, other: &Real) -> Real {
        let divide = |x: &Big, y: &Big| value(context().div(x.repr(), y.repr()));
        self.with(other, |x, y| (*y != Big::ZERO).then(|| divide(x, y)))
    }

    pub fn negated(&self) -> Real {
        self.map(|x| Some(-x.clone()))
    }

    /// −1, 0 or 1.
    pub fn sign(&self) -> Real {
        self.compare(&Real::of(0.0)).map_or(Real::UNDEFINED, |order| Real::of(f64::from(order as i8)))
    }

    pub fn size(&self) -> Real {
        self.map(|x| Some(if *x < Big::ZERO { -x.clone() } else { x.clone() }))
    }

    pub fn exp(&self) -> Real {
        self.limited(|c, x, k| c.exp(x, k))
    }

    pub fn ln(&self) -> Real {
        if self.is_above(0.0) { self.elementary(|c, x, k| c.ln(x, k)) } else { Real::UNDEFINED }
    }

    pub fn sqrt(&self) -> Real {
        self.map(|x| (*x >= Big::ZERO).then(|| value(context().sqrt(x.repr()))))
    }

    pub fn sin(&self) -> Real {
        self.elementary(|c, x, k| c.sin(x, k))
    }

    pub fn cos(&self) -> Real {
        self.elementary(|c, x, k| c.cos(x, k))
    }

    pub fn floor(&self) -> Real {
        self.map(|x| Some(x.floor()))
    }

    /// The number π.
    pub fn pi() -> Real {
        Real::of(1.0).elementary(|c, x, k| c.asin(x, k)).times(&Real::of(2.0))
    }

    /// x to the power y: for a positive x, for x = 0 if y ≥ 0, and for a negative x if y is an integer.
    pub fn pow(&self, y: &Real) -> Real {
        let (Some(base), Some(power)) = (&self.0, &y.0) else { return Real::UNDEFINED };
        if *power == Big::ZERO {
            return Real::of(1.0);
        }
        if *base == Big::ZERO {
            return if *power > Big::ZERO { Real::of(0.0) } else { Real::UNDEFINED };
        }
        let size = y.times(&self.size().ln()).exp();
        match base.partial_cmp(&Big::ZERO) {
            Some(Ordering::Greater) => size,
            _ if power.floor() != *power => Real::UNDEFINED,
            _ if (power.clone() >> 1).floor() != power.clone() >> 1 => size.negated(),
            _ => size,
        }
    }

    /// (2/√π) Σ (−1)^k x^(2k+1) / (k! (2k+1)), with additional bits for what cancels.
    pub fn erf(&self) -> Real {
        if !self.size().is_below(16.0) {
            return Real::UNDEFINED;
        }
        let at = self.to_f64();
        let wide = Context::<HalfEven>::new(BITS + 40 + (at * at * 2.9) as usize);
        self.map(|x| {
            if *x == Big::ZERO {
                return Some(Big::ZERO);
            }
            let square = value(wide.mul(x.repr(), x.repr()));
            let (mut term, mut sum, mut k) = (x.clone(), x.clone(), 1_u32);
            let end = Big::ONE >> (BITS as isize + 20);
            loop {
                let next = value(wide.mul(term.repr(), square.repr()));
                term = -value(wide.div(next.repr(), Big::from(k).repr()));
                let part = value(wide.div(term.repr(), Big::from(2 * k + 1).repr()));
                sum = value(wide.add(sum.repr(), part.repr()));
                k += 1;
                if part < end && part > -end.clone() && f64::from(k) > at * at {
                    break;
                }
            }
            Some(sum)
        })
        .times(&Real::of(2.0).over(&Real::pi().sqrt()))
    }

    fn elementary(&self, function: Elementary) -> Real {
        let of = |x: &Big| CACHE.with_borrow_mut(|cache| value(function(&context(), x.repr(), Some(cache))));
        self.map(|x| Some(of(x)))
    }

    /// A function that grows like an exponential.
    fn limited(&self, function: Elementary) -> Real {
        if self.size().is_below(LARGEST_LOGARITHM) { self.elementary(function) } else { Real::UNDEFINED }
    }

    /// A function of numbers in an interval without its ends.
    fn between(&self, low: f64, high: f64, function: Elementary) -> Real {
        if self.is_above(low) && self.is_below(high) { self.elementary(function) } else { Real::UNDEFINED }
    }

    fn is_above(&self, bound: f64) -> bool {
        self.compare(&Real::of(bound)) == Some(Ordering::Greater)
    }

    fn is_below(&self, bound: f64) -> bool {
        self.compare(&Real::of(bound)) == Some(Ordering::Less)
    }

    fn larger(&self, other: &Real) -> Real {
        self.compare(other)
            .map_or(Real::UNDEFINED, |o| if o == Ordering::Less { other } else { self }.clone())
    }

    fn smaller(&self, other: &Real) -> Real {
        self.compare(other)
            .map_or(Real::UNDEFINED, |o| if o == Ordering::Greater { other } else { self }.clone())
    }

    /// The nearest integer, of two the even one.
    fn rounded(&self) -> Real {
        let (low, half) = (self.floor(), Real::of(0.5));
        let next = low.plus(&Real::of(1.0));
        let is_odd = |x: &Real| !x.times(&half).minus(&x.times(&half).floor()).is_zero();
        match self.minus(&low).compare(&half) {
            Some(Ordering::Less) => low,
            Some(Ordering::Greater) => next,
            Some(Ordering::Equal) => {
                if is_odd(&low) {
                    next
                } else {
                    low
                }
            }
            None => Real::UNDEFINED,
        }
    }

    /// The angle of the point (`x`, self).
    fn angle(&self, x: &Real) -> Real {
        if self.is_zero() && x.is_zero() {
            return Real::of(0.0);
        }
        let of = |y: &Big, x: &Big| {
            CACHE.with_borrow_mut(|cache| value(context().atan2(y.repr(), x.repr(), Some(cache))))
        };
        self.with(x, |y, x| Some(of(y, x)))
    }
}

/// Applies a function to numbers.
///
/// # Errors
/// A function of other operands than real numbers and bools.
pub fn apply(op: Op, args: &[&Real]) -> Result<Real, String> {
    let (x, y) = (args[0], args.get(1).copied().unwrap_or(args[0]));
    let one = Real::of(1.0);
    Ok(match op {
        Op::Positive | Op::CanonicalNan => x.clone(),
        Op::Negative => x.negated(),
        Op::Abs => x.size(),
        Op::Sign => x.sign(),
        Op::Add => x.plus(y),
        Op::Subtract => x.minus(y),
        Op::Multiply => x.times(y),
        Op::Divide => x.over(y),
        Op::Fma => x.times(y).plus(args[2]),
        Op::Square => x.times(x),
        Op::Reciprocal => one.over(x),
        Op::Sqrt => x.sqrt(),
        Op::Cbrt => {
            let root = x.size().map(|x| Some(value(context().cbrt(x.repr()))));
            root.times(&x.sign())
        }
        Op::Hypot => x.times(x).plus(&y.times(y)).sqrt(),
        Op::Exp => x.exp(),
        Op::Exp2 => x.times(&Real::of(2.0).ln()).exp(),
        Op::ExpM1 => x.limited(|c, x, k| c.exp_m1(x, k)),
        Op::Log => x.ln(),
        Op::Log1p => x.plus(&one).ln(),
        Op::Log2 => x.ln().over(&Real::of(2.0).ln()),
        Op::Log10 => x.ln().over(&Real::of(10.0).ln()),
        Op::LogAddExp => {
            let (high, low) = (x.larger(y), x.smaller(y));
            high.plus(&low.minus(&high).exp().plus(&one).ln())
        }
        Op::Pow => x.pow(y),
        Op::Sin => x.sin(),
        Op::Cos => x.cos(),
        Op::Tan => x.sin().over(&x.cos()),
        Op::Asin => x.between(-1.0, 1.0, |c, x, k| c.asin(x, k)),
        Op::Acos => x.between(-1.0, 1.0, |c, x, k| c.acos(x, k)),
        Op::Atan => x.elementary(|c, x, k| c.atan(x, k)),
        Op::Atan2 => x.angle(y),
        Op::Sinh => x.limited(|c, x, k| c.sinh(x, k)),
        Op::Cosh => x.limited(|c, x, k| c.cosh(x, k)),
        Op::Tanh => x.limited(|c, x, k| c.tanh(x, k)),
        Op::Asinh => x.elementary(|c, x, k| c.asinh(x, k)),
        Op::Acosh => x.between(1.0, f64::MAX, |c, x, k| c.acosh(x, k)),
        Op::Atanh => x.between(-1.0, 1.0, |c, x, k| c.atanh(x, k)),
        Op::Erf => x.erf(),
        Op::Maximum => x.larger(y),
        Op::Minimum => x.smaller(y),
        Op::Clip => x.larger(y).smaller(args[2]),
        Op::CopySign => {
            // A zero counts as positive.
            let is_negative = y.is_below(0.0);
            y.with(&x.size(), |_, size| Some(if is_negative { -size.clone() } else { size.clone() }))
        }
        Op::Floor => x.floor(),
        Op::Ceil => x.negated().floor().negated(),
        Op::Trunc => x.size().floor().times(&x.sign()),
        Op::Round => x.rounded(),
        Op::FloorDivide => x.over(y).floor(),
        Op::Remainder => x.minus(&x.over(y).floor().times(y)),
        Op::Equal => x.test(y, Ordering::is_eq),
        Op::NotEqual => x.test(y, Ordering::is_ne),
        Op::Less => x.test(y, Ordering::is_lt),
        Op::LessEqual => x.test(y, Ordering::is_le),
        Op::Greater => x.test(y, Ordering::is_gt),
        Op::GreaterEqual => x.test(y, Ordering::is_ge),
        Op::IsNan | Op::IsInf => x.map(|_| Some(Big::ZERO)),
        Op::IsFinite => x.map(|_| Some(Big::ONE)),
        Op::LogicalNot => x.test(&Real::of(0.0), Ordering::is_eq),
        Op::LogicalAnd if x.is_zero() || y.is_zero() => Real::of(0.0),
        Op::LogicalAnd => x.times(y),
        Op::LogicalOr if x.is_above(0.0) || y.is_above(0.0) => one,
        Op::LogicalOr => x.plus(y),
        Op::Where if !x.is_defined() => Real::UNDEFINED,
        Op::Where => if x.is_zero() { args[2] } else { y }.clone(),
        _ => return Err(format!("{op} of real numbers")),
    })
}
