//! Points that are known to be hard.
//!
//! In: a function and a format. Out: a list. Must hold: a published case is one: a test finds the exact value within
//! 2^-40 of half an ulp from a tie, or from a number.

use std::sync::LazyLock;

use broadloom_core::DType;
use broadloom_testkit::reference::{Format, Function, near_multiples_of_half_pi};

use crate::format::{from_bits, step};

/// Inputs of float64 functions whose exact value is unusually near to a number or to the middle of two.
///
/// Sources: the tables of V. Lefèvre and J.-M. Muller (Worst Cases for Correct Rounding of the Elementary Functions
/// in Double Precision, 2003) for exp and log; the others from the lists of worst cases that the CORE-MATH
/// project keeps beside its binary64 functions.
#[rustfmt::skip]
const PUBLISHED: &[(Function, f64)] = &[
    (Function::Acos, 0.0009717008771394217),
    (Function::Acos, 0.08298723566019295),
    (Function::Acos, 0.038214879531014476),
    (Function::Acosh, 58801.466327066475),
    (Function::Acosh, 162.95719950977306),
    (Function::Acosh, 1.6210600367549),
    (Function::Asin, 0.47810755953933304),
    (Function::Asin, 0.00010763481001671434),
    (Function::Asin, 2.952153011168167e-07),
    (Function::Asin, 0.05755380074796938),
    (Function::Asinh, 2043.6400519132815),
    (Function::Asinh, 17808492.010525286),
    (Function::Asinh, 0.35203481330285225),
    (Function::Asinh, 0.8152894005616276),
    (Function::Atan, 0.2076186991593222),
    (Function::Atan, 0.7414903477293427),
    (Function::Atan, 0.021734483175341882),
    (Function::Cos, 1.788139343261721e-07),
    (Function::Cos, 3.5762786865234566e-07),
    (Function::Cos, 7.152557373047027e-07),
    (Function::Cos, 1.0728836059570827e-06),
    (Function::Cosh, 60.06174039698168),
    (Function::Cosh, 1.0636504029546148),
    (Function::Cosh, 23.26497462840841),
    (Function::Cosh, 0.5069751491863607),
    (Function::Exp, -1.4353822566968892e-08),
    (Function::Exp, 7.541752774995959e-10),
    (Function::Exp, 0.837522455340574),
    (Function::Exp, 0.5843461804918171),
    (Function::Exp, 2.2204460492503128e-16),
    (Function::Expm1, 0.11941886519949067),
    (Function::Expm1, -1.4051641985951574e-06),
    (Function::Expm1, -2.274846706538757e-13),
    (Function::Expm1, 14.197197171005648),
    (Function::Log, 1.7374296064433466e+204),
    (Function::Log, 1.143094918670973e-153),
    (Function::Log, 4.009793462309856e-116),
    (Function::Log, 1.669149330677605e-70),
    (Function::Log10, 1.8498633948695685e+245),
    (Function::Log10, 2.158702063918503e+245),
    (Function::Log10, 2.1203557077773448e+245),
    (Function::Log1p, -8.881784197001249e-16),
    (Function::Log1p, -3.5527136788004966e-15),
    (Function::Log1p, -1.4210854715201936e-14),
    (Function::Log2, 0.9877482849365062),
    (Function::Log2, 0.997115612807506),
    (Function::Log2, 0.9893283237647367),
    (Function::Sin, 5.319372648326541e+255),
    (Function::Sin, 1.788139343261814e-06),
    (Function::Sinh, 60.06174039698168),
    (Function::Sinh, 170.40063412375622),
    (Function::Sinh, 0.34514152056570635),
    (Function::Tan, 4.470348358154178e-07),
    (Function::Tan, 8.940696716307641e-07),
    (Function::Tanh, 0.2090839974007307),
    (Function::Tanh, 0.29014730604948313),
];

/// Pairs of this sort for pow, from CORE-MATH.
const PAIRS: &[[f64; 2]] = &[
    [0.9999999999999996, 0.49999999999999994],
    [0.9999999999999996, -0.49999999999999983],
    [0.9999999999999982, -0.24999999999999972],
    [0.9999999999999991, -0.24999999999999986],
];

static MULTIPLES: LazyLock<Vec<f64>> = LazyLock::new(near_multiples_of_half_pi);

/// Zeros, units, extremes, neighbours of powers of two, infinities and NaNs.
pub fn spicy(format: Format) -> &'static [f64] {
    static VALUES: LazyLock<[Vec<f64>; 3]> = LazyLock::new(|| {
        Format::ALL.map(|format| {
            let values = broadloom_testkit::spicy::values(format.dtype);
            values.into_iter().map(|value| from_bits(format, value.bits)).collect()
        })
    });
    &VALUES[match format.dtype {
        DType::Float16 => 0,
        DType::Float32 => 1,
        _ => 2,
    }]
}

/// The list for a function; nothing where all of a format is measured anyway.
pub fn list(function: Function, format: Format) -> Vec<[f64; 2]> {
    let spicy = spicy(format);
    if function.arity() == 2 {
        let mut pairs: Vec<[f64; 2]> =
            spicy.iter().flat_map(|&x| spicy.iter().map(move |&y| [x, y])).collect();
        if function == Function::Pow && format == Format::FLOAT64 {
            pairs.extend(PAIRS);
        }
        return pairs;
    }
    if format != Format::FLOAT64 {
        return Vec::new();
    }
    let published = PUBLISHED.iter().filter(|(of, _)| *of == function).map(|&(_, x)| x);
    let mut points: Vec<f64> = spicy.iter().copied().chain(published).collect();
    if matches!(function, Function::Cos | Function::Sin | Function::Tan) {
        let neighbours = |&x: &f64| (-2..=2).map(move |by| step(format, x, by));
        points.extend(MULTIPLES.iter().flat_map(neighbours));
    }
    points.into_iter().flat_map(|x| [[x, 0.0], [-x, 0.0]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom_testkit::reference::hardness;

    /// A typing error would make an ordinary point of a hard one.
    #[test]
    fn published_cases_are_hard() {
        for &(function, x) in PUBLISHED {
            let bits = hardness(function, Format::FLOAT64, x, 0.0);
            assert!(bits > 40.0, "{function:?}({x:e}): {bits}");
        }
        for &[x, y] in PAIRS {
            let bits = hardness(Function::Pow, Format::FLOAT64, x, y);
            assert!(bits > 40.0, "pow({x:e}, {y:e}): {bits}");
        }
    }

    /// Random angles come no nearer to a multiple of π/2 than some 2^-30.
    #[test]
    fn multiples_are_near() {
        let near = MULTIPLES.iter().filter(|x| x.sin().abs() < 1e-14 || x.cos().abs() < 1e-14).count();
        assert!(near * 3 > MULTIPLES.len(), "{near} of {}", MULTIPLES.len());
    }
}
