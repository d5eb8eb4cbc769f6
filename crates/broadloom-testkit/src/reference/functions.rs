//! A declaration for each function that is not computed exactly, and for the square root.
//!
//! A row contains everything that tests, the accuracy command and the benchmarks need to know about a function: its special
//! cases, its two references, its monotonicity and symmetry, its difficult arguments, and the loop that its speed is compared
//! with. All of them iterate over [`Function::ALL`], so a new function only needs a row. The rows are written from the
//! specifications of the functions, not from the crates under test.

use std::cmp::Ordering;

use super::declaration::{Edition, Special};
use super::precise::Evaluation;
use super::speed::{Speed, speed};
use super::wide::WideFloat;
use super::{arguments, elementary, precise, quantile, quantile_estimate};
use Special::{Exactly, Infinite, Nan};

/// The relation between f(−x) and f(x).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// No relation.
    None,
    /// f(−x) = f(x)
    Even,
    /// f(−x) = −f(x)
    Odd,
}

/// The quick reference of a function.
#[derive(Clone, Copy)]
pub(super) enum Quick {
    /// A function of one number.
    One(fn(WideFloat) -> WideFloat),
    /// A function of a float64 angle.
    Angle(fn(f64) -> WideFloat),
    /// A function of two float64 arguments, which also returns the number of bits that cancelled in the last sum.
    Two(fn(f64, f64) -> (WideFloat, i32)),
}

/// The value at an argument, if that is special. Arguments are not NaN.
type Specials = fn(f64, f64) -> Option<Special>;

/// A float64 function in two independent libraries.
#[derive(Clone, Copy)]
pub enum Libraries {
    /// A function of one argument.
    One([fn(f64) -> f64; 2]),
    /// A function of two arguments. A NaN from the second library alone means that the first one's value must not be trusted.
    Two([fn(f64, f64) -> f64; 2]),
}

/// The declared properties of a function.
pub struct Model {
    /// The public name.
    pub name: &'static str,
    /// The edition of the standard that the function comes from.
    pub edition: Edition,
    /// Whether the function also accepts integers, for which it is exact.
    pub takes_integers: bool,
    /// Whether every result is the exact value rounded to nearest.
    pub is_nearest: bool,
    /// Whether the function increases (or, for `Less`, decreases) over its whole domain.
    pub order: Option<Ordering>,
    /// Whether the float32 results must increase or decrease in the same way.
    pub single_keeps_order: bool,
    /// The symmetry.
    pub symmetry: Symmetry,
    /// The value at arguments for which it is NaN, infinite, or known without arithmetic. Arguments at which the value is a zero,
    /// with its sign, are always included.
    pub(super) special: Specials,
    pub(super) quick: Quick,
    pub(super) precise: fn(&mut Evaluation<'_>) -> precise::Big,
    /// The intervals of typical arguments, from which many test arguments are drawn.
    pub intervals: &'static [(f64, f64)],
    /// The minimum and maximum exponent of arguments. For exponents outside of the range, results don't vary.
    pub exponents: (i32, i32),
    /// Arguments at which the behaviour of this function changes.
    pub edges: &'static [f64],
    /// float64 arguments at which the exact value is unusually close to a float or to the midpoint of two floats.
    pub hard: &'static [f64],
    /// Arguments at which the exact value is a float, which the function must return.
    pub exact: &'static [(f64, f64)],
    /// Two independent float64 libraries that contain the function.
    pub libraries: Option<Libraries>,
    /// The loop with which the function's speed is compared.
    pub speed: Option<Speed>,
}

impl Model {
    const fn new(name: &'static str, special: Specials, quick: Quick, precise: Precise) -> Model {
        Model {
            name,
            edition: Edition::Standard,
            takes_integers: false,
            is_nearest: false,
            order: None,
            single_keeps_order: false,
            symmetry: Symmetry::None,
            special,
            quick,
            precise,
            intervals: &[(0.0, 4.0), (0.0, 1e6)],
            exponents: (-1022, 1023),
            edges: &[],
            hard: &[],
            exact: &[],
            libraries: None,
            speed: None,
        }
    }

    const fn one(
        name: &'static str,
        special: Specials,
        quick: fn(WideFloat) -> WideFloat,
        precise: Precise,
    ) -> Model {
        Model::new(name, special, Quick::One(quick), precise)
    }

    const fn angle(
        name: &'static str,
        special: Specials,
        quick: fn(f64) -> WideFloat,
        precise: Precise,
    ) -> Model {
        let model = Model::new(name, special, Quick::Angle(quick), precise);
        let intervals = &[(-0.8, 0.8), (-3.2, 3.2), (-100.0, 100.0), (-1e6, 1e6)];
        Model { intervals, exponents: (-40, 1023), ..model }
    }

    const fn two(
        name: &'static str,
        special: Specials,
        quick: fn(f64, f64) -> (WideFloat, i32),
        precise: Precise,
    ) -> Model {
        Model::new(name, special, Quick::Two(quick), precise)
    }

    /// Whether the argument is an angle, which may be large.
    pub const fn is_of_angles(&self) -> bool {
        matches!(self.quick, Quick::Angle(_))
    }

    /// The number of arguments.
    pub const fn arity(&self) -> usize {
        match self.quick {
            Quick::Two(_) => 2,
            Quick::One(_) | Quick::Angle(_) => 1,
        }
    }
}

type Precise = fn(&mut Evaluation<'_>) -> precise::Big;

const GROWS: Option<Ordering> = Some(Ordering::Greater);
const FALLS: Option<Ordering> = Some(Ordering::Less);
const INFINITY: f64 = f64::INFINITY;

macro_rules! functions {
    ($($name:ident $model:expr;)*) => {
        /// A function that is not computed exactly, or the square root.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each is the function of that name")]
        pub enum Function {
            $($name,)*
        }

        impl Function {
            /// All functions, by name.
            pub const ALL: [Function; [$(stringify!($name)),*].len()] = [$(Function::$name),*];
        }

        static MODELS: [Model; Function::ALL.len()] = [$($model),*];
    };
}

functions! {
    Acos Model {
        order: FALLS,
        intervals: &[(-1.0, 1.0), (0.4, 0.6), (0.95, 1.0)],
        exponents: (-60, -1),
        hard: &[0.0009717008771394217, 0.08298723566019295, 0.038214879531014476],
        exact: &[(1.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_acos, f64::acos])),
        speed: speed!([x: -1.0, 1.0] x.acos()),
        ..Model::one(
            "acos",
            |x, _| beyond_one(x).or(at(x, 1.0, 0.0)),
            elementary::acos,
            |e| e.value(|c, x, k| c.acos(x, k)),
        )
    };
    Acosh Model {
        order: GROWS,
        intervals: &[(1.0, 2.0), (1.0, 1.1), (1.0, 100.0)],
        exponents: (0, 1023),
        hard: &[58801.466327066475, 162.95719950977306, 1.6210600367549],
        exact: &[(1.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_acosh, f64::acosh])),
        speed: speed!([x: 1.0, 10.0] x.acosh()),
        ..Model::one(
            "acosh",
            |x, _| (x < 1.0).then_some(Nan).or(infinite(x)).or(at(x, 1.0, 0.0)),
            elementary::acosh,
            |e| e.value(|c, x, k| c.acosh(x, k)),
        )
    };
    Asin Model {
        order: GROWS,
        symmetry: Symmetry::Odd,
        intervals: &[(-1.0, 1.0), (0.4, 0.6), (0.95, 1.0)],
        exponents: (-60, -1),
        hard: &[0.47810755953933304, 0.00010763481001671434, 2.952153011168167e-07, 0.05755380074796938],
        exact: &[(0.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_asin, f64::asin])),
        speed: speed!([x: -1.0, 1.0] x.asin()),
        ..Model::one(
            "asin",
            |x, _| beyond_one(x).or(zero(x)),
            elementary::asin,
            |e| e.value(|c, x, k| c.asin(x, k)),
        )
    };
    Asinh Model {
        order: GROWS,
        symmetry: Symmetry::Odd,
        intervals: &[(-2.0, 2.0), (-0.1, 0.1), (-1e3, 1e3)],
        exponents: (-60, 1023),
        hard: &[2043.6400519132815, 17808492.010525286, 0.35203481330285225, 0.8152894005616276],
        exact: &[(0.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_asinh, f64::asinh])),
        speed: speed!([x: -10.0, 10.0] x.asinh()),
        ..Model::one(
            "asinh",
            |x, _| infinite(x).or(zero(x)),
            elementary::asinh,
            |e| e.value(|c, x, k| c.asinh(x, k)),
        )
    };
    Atan Model {
        order: GROWS,
        single_keeps_order: true,
        symmetry: Symmetry::Odd,
        intervals: &[(-1.5, 1.5), (-0.2, 0.2), (-20.0, 20.0)],
        exponents: (-60, 60),
        hard: &[0.2076186991593222, 0.7414903477293427, 0.021734483175341882],
        exact: &[(0.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_atan, f64::atan])),
        speed: speed!([x: -10.0, 10.0] x.atan()),
        ..Model::one("atan", |x, _| zero(x), elementary::atan, |e| e.value(|c, x, k| c.atan(x, k)))
    };
    Atan2 Model {
        libraries: Some(Libraries::Two([pxfm::f_atan2, f64::atan2])),
        speed: speed!([x: -10.0, 10.0; y: -10.0, 10.0] x.atan2(y)),
        ..Model::two("atan2", special_atan2, |y, x| (elementary::angle(y, x), 0), |e| e.atan2())
    };
    Atanh Model {
        order: GROWS,
        symmetry: Symmetry::Odd,
        intervals: &[(-1.0, 1.0), (-0.2, 0.2), (0.99, 1.0)],
        exponents: (-60, -1),
        exact: &[(0.0, 0.0), (1.0, INFINITY), (-1.0, -INFINITY)],
        libraries: Some(Libraries::One([pxfm::f_atanh, f64::atanh])),
        speed: speed!([x: -1.0, 1.0] x.atanh()),
        ..Model::one(
            "atanh",
            |x, _| beyond_one(x).or((x.abs() == 1.0).then_some(Infinite(x < 0.0))).or(zero(x)),
            elementary::atanh,
            |e| e.value(|c, x, k| c.atanh(x, k)),
        )
    };
    Cbrt Model {
        edition: Edition::None,
        order: GROWS,
        single_keeps_order: true,
        symmetry: Symmetry::Odd,
        intervals: &[(0.5, 4.0), (-8.0, 8.0), (-1e3, 1e3)],
        libraries: Some(Libraries::One([pxfm::f_cbrt, f64::cbrt])),
        speed: speed!([x: -100.0, 100.0] x.cbrt()),
        ..Model::one(
            "cbrt",
            |x, _| infinite(x).or(zero(x)),
            elementary::cbrt,
            |e| e.value(|c, x, _| c.cbrt(x)),
        )
    };
    Cos Model {
        symmetry: Symmetry::Even,
        hard: &[1.788139343261721e-07, 3.5762786865234566e-07, 7.152557373047027e-07, 1.0728836059570827e-06],
        exact: &[(0.0, 1.0)],
        libraries: Some(Libraries::One([pxfm::f_cos, f64::cos])),
        speed: speed!([x: -100.0, 100.0] x.cos()),
        ..Model::angle(
            "cos",
            |x, _| x.is_infinite().then_some(Nan).or(at(x, 0.0, 1.0)),
            elementary::cos,
            |e| e.value(|c, x, k| c.cos(x, k)),
        )
    };
    Cosh Model {
        symmetry: Symmetry::Even,
        intervals: &[(-1.0, 1.0), (-3.0, 3.0), (-711.0, 711.0)],
        exponents: (-60, 9),
        hard: &[60.06174039698168, 1.0636504029546148, 23.26497462840841, 0.5069751491863607],
        exact: &[(0.0, 1.0)],
        libraries: Some(Libraries::One([pxfm::f_cosh, f64::cosh])),
        speed: speed!([x: -5.0, 5.0] x.cosh()),
        ..Model::one(
            "cosh",
            |x, _| x.is_infinite().then_some(Infinite(false)).or(at(x, 0.0, 1.0)),
            elementary::cosh,
            |e| e.saturating([precise::huge, precise::huge], |c, x, k| c.cosh(x, k)),
        )
    };
    Erf Model {
        edition: Edition::None,
        order: GROWS,
        symmetry: Symmetry::Odd,
        intervals: &[(-1.0, 1.0), (-2.0, 2.0), (-6.0, 6.0)],
        exponents: (-60, 3),
        edges: &[1.0, 2.0, 3.919205904006958, 5.863584748755168],
        exact: &[(0.0, 0.0), (INFINITY, 1.0), (-INFINITY, -1.0)],
        libraries: Some(Libraries::One([pxfm::f_erf, libm::erf])),
        speed: speed!([x: -3.0, 3.0] "libm::erf(x)", libm::erff(x), libm::erf(x)),
        ..Model::one(
            "erf",
            |x, _| x.is_infinite().then_some(Exactly(x.signum())).or(zero(x)),
            elementary::erf,
            |e| e.erf(),
        )
    };
    Erfc Model {
        edition: Edition::None,
        order: FALLS,
        intervals: &[(-1.0, 1.0), (-6.0, 6.0), (0.0, 10.2), (0.0, 27.3)],
        exponents: (-60, 4),
        edges: &[
            0.5, 1.0, 4.0, 5.863584748755168, 9.194549560546875, 10.054203033447266, 26.5432584306323,
            27.226017111108366,
        ],
        exact: &[(0.0, 1.0), (INFINITY, 0.0), (-INFINITY, 2.0)],
        libraries: Some(Libraries::One([pxfm::f_erfc, libm::erfc])),
        speed: speed!([x: -3.0, 10.0] "libm::erfc(x)", libm::erfcf(x), libm::erfc(x)),
        ..Model::one("erfc", special_erfc, elementary::erfc, |e| e.erfc())
    };
    ErfInv Model {
        edition: Edition::None,
        order: GROWS,
        symmetry: Symmetry::Odd,
        intervals: &[(-1.0, 1.0), (-0.5, 0.5), (0.9, 1.0)],
        exponents: (-60, -1),
        edges: &[0.5, 0.96875, 0.9990234375, 1.0],
        exact: &[(0.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_erfinv, quantile_estimate::erfinv_by_libm])),
        speed: speed!([x: -1.0, 1.0] "pxfm::f_erfinv(x)", pxfm::f_erfinvf(x), pxfm::f_erfinv(x)),
        ..Model::one(
            "erfinv",
            |x, _| beyond_one(x).or((x.abs() == 1.0).then_some(Infinite(x < 0.0))).or(zero(x)),
            quantile::erfinv,
            |e| e.erfinv(),
        )
    };
    Exp Model {
        order: GROWS,
        single_keeps_order: true,
        intervals: &[(-1.0, 1.0), (-40.0, 40.0), (-746.0, 710.0)],
        exponents: (-60, 9),
        hard: &[
            -1.4353822566968892e-08,
            7.541752774995959e-10,
            0.837522455340574,
            0.5843461804918171,
            2.2204460492503128e-16,
        ],
        exact: &[(0.0, 1.0)],
        libraries: Some(Libraries::One([pxfm::f_exp, f64::exp])),
        speed: speed!([x: -10.0, 10.0] x.exp()),
        ..Model::one(
            "exp",
            |x, _| at(x, -INFINITY, 0.0).or(infinite(x)).or(at(x, 0.0, 1.0)),
            elementary::exp,
            |e| e.saturating([precise::tiny, precise::huge], |c, x, k| c.exp(x, k)),
        )
    };
    Exp2 Model {
        edition: Edition::None,
        order: GROWS,
        single_keeps_order: true,
        intervals: &[(-1.0, 1.0), (-40.0, 40.0), (-1076.0, 1025.0)],
        exponents: (-60, 10),
        edges: &[
            1024.0, 1022.0, 1074.0, 1075.0, 128.0, 126.0, 149.0, 150.0, 16.0, 14.0, 24.0, 25.0, 10.5, 100.5,
            1000.5,
        ],
        libraries: Some(Libraries::One([pxfm::f_exp2, f64::exp2])),
        speed: speed!([x: -10.0, 10.0] x.exp2()),
        ..Model::one(
            "exp2",
            |x, _| at(x, -INFINITY, 0.0).or(infinite(x)).or(at(x, 0.0, 1.0)),
            elementary::exp2,
            |e| e.exp2(),
        )
    };
    Expm1 Model {
        order: GROWS,
        intervals: &[(-1.0, 1.0), (-0.2, 0.2), (-40.0, 710.0)],
        exponents: (-60, 9),
        hard: &[0.11941886519949067, -1.4051641985951574e-06, -2.274846706538757e-13, 14.197197171005648],
        exact: &[(0.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_expm1, f64::exp_m1])),
        speed: speed!([x: -2.0, 2.0] x.exp_m1()),
        ..Model::one(
            "expm1",
            |x, _| at(x, -INFINITY, -1.0).or(infinite(x)).or(zero(x)),
            elementary::expm1,
            |e| e.saturating([precise::minus_one, precise::huge], |c, x, k| c.exp_m1(x, k)),
        )
    };
    Hypot Model {
        edition: Edition::Later,
        libraries: Some(Libraries::Two([pxfm::f_hypot, f64::hypot])),
        speed: speed!([x: -10.0, 10.0; y: -10.0, 10.0] x.hypot(y)),
        ..Model::two("hypot", special_hypot, |x, y| (elementary::hypot(x.into(), y.into()), 0), |e| e.hypot())
    };
    Log Model {
        order: GROWS,
        single_keeps_order: true,
        intervals: &[(0.5, 2.0), (0.9, 1.1), (0.99, 1.01), (0.0, 100.0)],
        hard: &[
            1.7374296064433466e+204,
            1.143094918670973e-153,
            4.009793462309856e-116,
            1.669149330677605e-70,
        ],
        exact: &[(1.0, 0.0), (0.0, -INFINITY)],
        libraries: Some(Libraries::One([pxfm::f_log, f64::ln])),
        speed: speed!([x: 0.01, 100.0] x.ln()),
        ..Model::one("log", |x, _| special_log(x), elementary::log, |e| e.value(|c, x, k| c.ln(x, k)))
    };
    Log1p Model {
        order: GROWS,
        intervals: &[(-1.0, 1.0), (-0.2, 0.2), (-0.01, 0.01), (0.0, 100.0)],
        exponents: (-60, 1023),
        hard: &[-8.881784197001249e-16, -3.5527136788004966e-15, -1.4210854715201936e-14],
        exact: &[(0.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_log1p, f64::ln_1p])),
        speed: speed!([x: -0.5, 2.0] x.ln_1p()),
        ..Model::one("log1p", |x, _| {
            let below = (x < -1.0).then_some(Nan).or((x == -1.0).then_some(Infinite(true)));
            below.or(infinite(x)).or(zero(x))
        }, elementary::log1p, |e| e.value(|c, x, k| c.ln_1p(x, k)))
    };
    Log2 Model {
        order: GROWS,
        intervals: &[(0.5, 2.0), (0.9, 1.1), (0.99, 1.01), (0.0, 100.0)],
        hard: &[0.9877482849365062, 0.997115612807506, 0.9893283237647367],
        libraries: Some(Libraries::One([pxfm::f_log2, f64::log2])),
        speed: speed!([x: 0.01, 100.0] x.log2()),
        ..Model::one("log2", |x, _| special_log(x), elementary::log2, |e| e.value(|c, x, k| c.log2(x, k)))
    };
    Log10 Model {
        order: GROWS,
        intervals: &[(0.5, 2.0), (0.9, 1.1), (0.99, 1.01), (0.0, 100.0)],
        hard: &[1.8498633948695685e+245, 2.158702063918503e+245, 2.1203557077773448e+245],
        libraries: Some(Libraries::One([pxfm::f_log10, f64::log10])),
        speed: speed!([x: 0.01, 100.0] x.log10()),
        ..Model::one("log10", |x, _| special_log(x), elementary::log10, |e| e.value(|c, x, k| c.log10(x, k)))
    };
    LogAddExp Model {
        libraries: Some(Libraries::Two([
            |x, y| sum_of_exponentials(x, y, pxfm::f_exp, pxfm::f_log1p).0,
            |x, y| {
                // The sum is 13 bits more accurate than the filter requires. It is used if at most two of its
                // bits cancelled, which cost four of the 13.
                let (value, log1p) = sum_of_exponentials(x, y, f64::exp, f64::ln_1p);
                if value.abs() >= log1p / 4.0 { value } else { f64::NAN }
            },
        ])),
        speed: speed!([x: -10.0, 10.0; y: -10.0, 10.0]
            "m + (-(x - y).abs()).exp().ln_1p(), m = x.max(y)",
            x.max(y) + (-(x - y).abs()).exp().ln_1p(),
            x.max(y) + (-(x - y).abs()).exp().ln_1p()),
        ..Model::two(
            "logaddexp",
            special_logaddexp,
            |x, y| elementary::logaddexp(x.into(), y.into()),
            |e| e.logaddexp(),
        )
    };
    Ndtri Model {
        edition: Edition::None,
        order: GROWS,
        intervals: &[(0.0, 1.0), (0.4, 0.6), (0.0, 0.03), (0.97, 1.0)],
        exponents: (-1022, -1),
        edges: &[0.015625, 0.03125, 0.25, 0.5, 0.75, 0.984375, 1.0],
        exact: &[(0.5, 0.0)],
        libraries: Some(Libraries::One([quantile_estimate::ndtri_by_pxfm, quantile_estimate::ndtri_by_libm])),
        speed: speed!([x: 0.0, 1.0] "-SQRT_2 * pxfm::f_erfcinv(2 * x)",
            -std::f32::consts::SQRT_2 * pxfm::f_erfcinvf(2.0 * x),
            -std::f64::consts::SQRT_2 * pxfm::f_erfcinv(2.0 * x)),
        ..Model::one("ndtri", |p, _| special_ndtri(p), quantile::ndtri, |e| e.ndtri())
    };
    Pow Model {
        takes_integers: true,
        libraries: Some(Libraries::Two([pxfm::f_pow, f64::powf])),
        speed: speed!([x: 0.1, 10.0; y: -10.0, 10.0] x.powf(y)),
        ..Model::two("pow", special_pow, |x, y| (elementary::signed_pow(x, y), 0), |e| e.pow(elementary::log))
    };
    Sin Model {
        symmetry: Symmetry::Odd,
        hard: &[5.319372648326541e+255, 1.788139343261814e-06],
        exact: &[(0.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_sin, f64::sin])),
        speed: speed!([x: -100.0, 100.0] x.sin()),
        ..Model::angle(
            "sin",
            |x, _| x.is_infinite().then_some(Nan).or(zero(x)),
            elementary::sin,
            |e| e.value(|c, x, k| c.sin(x, k)),
        )
    };
    Sinh Model {
        order: GROWS,
        single_keeps_order: true,
        symmetry: Symmetry::Odd,
        intervals: &[(-1.0, 1.0), (-3.0, 3.0), (-711.0, 711.0)],
        exponents: (-60, 9),
        hard: &[60.06174039698168, 170.40063412375622, 0.34514152056570635],
        exact: &[(0.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_sinh, f64::sinh])),
        speed: speed!([x: -5.0, 5.0] x.sinh()),
        ..Model::one(
            "sinh",
            |x, _| infinite(x).or(zero(x)),
            elementary::sinh,
            |e| e.saturating([precise::minus_huge, precise::huge], |c, x, k| c.sinh(x, k)),
        )
    };
    Sqrt Model {
        is_nearest: true,
        order: GROWS,
        single_keeps_order: true,
        libraries: Some(Libraries::One([elementary::sqrt_again, f64::sqrt])),
        ..Model::one(
            "sqrt",
            |x, _| (x < 0.0).then_some(Nan).or(infinite(x)).or(zero(x)),
            WideFloat::sqrt,
            |e| e.value(|c, x, _| c.sqrt(x)),
        )
    };
    Tan Model {
        symmetry: Symmetry::Odd,
        hard: &[4.470348358154178e-07, 8.940696716307641e-07],
        exact: &[(0.0, 0.0)],
        libraries: Some(Libraries::One([pxfm::f_tan, f64::tan])),
        speed: speed!([x: -100.0, 100.0] x.tan()),
        ..Model::angle(
            "tan",
            |x, _| x.is_infinite().then_some(Nan).or(zero(x)),
            elementary::tan,
            |e| e.value(|c, x, k| c.tan(x, k)),
        )
    };
    Tanh Model {
        order: GROWS,
        single_keeps_order: true,
        symmetry: Symmetry::Odd,
        intervals: &[(-1.0, 1.0), (-0.2, 0.2), (-22.0, 22.0)],
        exponents: (-60, 5),
        hard: &[0.2090839974007307, 0.29014730604948313],
        exact: &[(0.0, 0.0), (INFINITY, 1.0), (-INFINITY, -1.0)],
        libraries: Some(Libraries::One([pxfm::f_tanh, f64::tanh])),
        speed: speed!([x: -5.0, 5.0] x.tanh()),
        ..Model::one(
            "tanh",
            |x, _| x.is_infinite().then_some(Exactly(x.signum())).or(zero(x)),
            elementary::tanh,
            |e| e.saturating([precise::minus_one, precise::one], |c, x, k| c.tanh(x, k)),
        )
    };
}

impl Function {
    /// The declared properties.
    pub fn model(self) -> &'static Model {
        &MODELS[self as usize]
    }

    /// The public name.
    pub fn name(self) -> &'static str {
        self.model().name
    }

    /// The function with this name.
    pub fn from_name(name: &str) -> Option<Function> {
        Function::ALL.into_iter().find(|f| f.name() == name)
    }

    /// The number of arguments.
    pub fn arity(self) -> usize {
        self.model().arity()
    }

    /// The value at arguments for which it is NaN, infinite, or known without arithmetic. Arguments at which the value is a zero,
    /// with its sign, are always included.
    pub fn special(self, x: f64, y: f64) -> Option<Special> {
        if self.arity() == 1 && x.is_nan() { Some(Nan) } else { (self.model().special)(x, y) }
    }

    /// Whether the function has no value at arguments below 0.
    pub fn is_of_positive_numbers(self) -> bool {
        self.arity() == 1 && self.special(-0.5, 0.0) == Some(Nan)
    }
}

/// The value at one argument; a zero matches zeros of both signs.
fn at(x: f64, argument: f64, value: f64) -> Option<Special> {
    (x == argument).then_some(Exactly(value))
}

/// A zero is mapped to itself.
fn zero(x: f64) -> Option<Special> {
    at(x, 0.0, x)
}

/// An infinity is mapped to itself.
fn infinite(x: f64) -> Option<Special> {
    x.is_infinite().then_some(Infinite(x < 0.0))
}

fn beyond_one(x: f64) -> Option<Special> {
    (x.abs() > 1.0).then_some(Nan)
}

fn special_erfc(x: f64, _: f64) -> Option<Special> {
    at(x, INFINITY, 0.0).or(at(x, -INFINITY, 2.0)).or(at(x, 0.0, 1.0))
}

fn special_log(x: f64) -> Option<Special> {
    match x {
        _ if x < 0.0 => Some(Nan),
        _ if x == 0.0 => Some(Infinite(true)),
        _ => infinite(x).or(at(x, 1.0, 0.0)),
    }
}

fn special_ndtri(p: f64) -> Option<Special> {
    match p {
        0.0 => Some(Infinite(true)),
        0.5 => Some(Exactly(0.0)),
        1.0 => Some(Infinite(false)),
        _ => (!(0.0..=1.0).contains(&p)).then_some(Nan),
    }
}

/// The polar angle of the point (x, y). The signs of zeros select the side of the axis.
fn special_atan2(y: f64, x: f64) -> Option<Special> {
    match () {
        () if x.is_nan() || y.is_nan() => Some(Nan),
        () if y == 0.0 && x.is_sign_positive() => Some(Exactly(y)),
        () if y.is_finite() && x == INFINITY => Some(Exactly(0_f64.copysign(y))),
        () => None,
    }
}

/// The special cases come from C's Annex F, since the first editions of the standard lack hypot.
fn special_hypot(x: f64, y: f64) -> Option<Special> {
    match () {
        () if x.is_infinite() || y.is_infinite() => Some(Infinite(false)),
        () if x.is_nan() || y.is_nan() => Some(Nan),
        () if x == 0.0 && y == 0.0 => Some(Exactly(0.0)),
        () => None,
    }
}

fn special_logaddexp(x: f64, y: f64) -> Option<Special> {
    match (x, y) {
        _ if x.is_nan() || y.is_nan() => Some(Nan),
        (INFINITY, _) | (_, INFINITY) => Some(Infinite(false)),
        (f64::NEG_INFINITY, f64::NEG_INFINITY) => Some(Infinite(true)),
        // The result is ln(e^other), which is `other`. For `other` = −0 it is ln 1 = +0, which the addition of +0 returns.
        (f64::NEG_INFINITY, other) | (other, f64::NEG_INFINITY) => Some(Exactly(other + 0.0)),
        _ => None,
    }
}

/// m + log1p(e^(k − m)) for the larger operand m and the smaller one k, and the log1p term.
fn sum_of_exponentials(x: f64, y: f64, exp: fn(f64) -> f64, log1p: fn(f64) -> f64) -> (f64, f64) {
    // If one operand is NaN, it is kept; `f64::max` would drop it.
    let (m, k) = if x >= y { (x, y) } else { (y, x) };
    let l = log1p(exp(k - m));
    (m + l, l)
}

fn special_pow(x: f64, y: f64) -> Option<Special> {
    if y == 0.0 || x == 1.0 {
        return Some(Exactly(1.0));
    }
    if x.is_nan() || y.is_nan() {
        return Some(Nan);
    }
    if y.is_infinite() && x.abs() == 1.0 {
        return Some(Exactly(1.0));
    }
    let grows = if y.is_infinite() {
        (x.abs() > 1.0) == (y > 0.0)
    } else if x == 0.0 || x.is_infinite() {
        x.is_infinite() == (y > 0.0)
    } else if x < 0.0 && y.fract() != 0.0 {
        return Some(Nan);
    } else {
        return None;
    };
    let negative = x.is_sign_negative() && arguments::is_odd(y);
    Some(if grows { Infinite(negative) } else { Exactly(if negative { -0.0 } else { 0.0 }) })
}
