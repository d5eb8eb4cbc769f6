//! The table of random draws, with one row per distribution. The text language, C, Python and the documentation take names,
//! parameters and dtypes from the rows of [`for_each_draw!`](crate::for_each_draw).
//!
//! A draw is an expression of element-wise functions over the blocks of Philox4x32-10, so executors know no draws. Element i is a
//! function of the key and of i alone. The map from bits to a distribution is part of a row's meaning, and is never changed.

use std::fmt;

use smallvec::SmallVec;

use crate::parameter::{Parameter, ParameterKind};
use crate::{DType, Error, ErrorKind, Result};

/// Calls `$callback!` with one row per draw: `(Variant, name, [parameter, …], gives, "doc")`.
///
/// - parameters: the names of the arrays or numbers, beside the key, on which the distribution depends; they broadcast to the shape
/// - gives: a variant of [`DrawnDTypes`](crate::draws::DrawnDTypes)
///
/// In the documentation, w is a word of 32 bits, b has the bits of the dtype (32, or 64 for float64), n is their number, s is the
/// top bit of b and r has the others, p = (r + ½)/2ⁿ, which is at most ½, and u = (b + ½)/2ⁿ, where r and b are rounded to the
/// dtype, and then the sums.
#[macro_export]
macro_rules! for_each_draw {
    ($callback:ident) => {
        $callback! {
            (Bits, bits, [], Words, "Random bits.")
            (Uniform, uniform, [], Floats,
                "Uniform in [0, 1): the upper 24 bits of w · 2⁻²⁴, or 53 of 64 · 2⁻⁵³; for float16 11 · 2⁻¹¹.")
            (UniformOpen, uniform_open, [], Floats,
                "Uniform in (0, 1): the upper 23 bits of w, and ½, · 2⁻²³, or 52 of 64 · 2⁻⁵²; for float16 10 · 2⁻¹⁰.")
            (Integers, integers, [low, high], Integers,
                "Uniform integers from low up to, but not including, high, without bias (Lemire, 2019); low, where no integer is between them.")
            (Bernoulli, bernoulli, [p], Bool, "True with probability p: w · 2⁻³² < p.")
            (Normal, normal, [], Reals, "The standard normal distribution: ndtri(p) if s, else -ndtri(p).")
            (Exponential, exponential, [], Reals, "The exponential distribution of mean 1: 0 - log(u).")
            (Laplace, laplace, [], Reals, "The Laplace distribution of scale 1: log(2p) if s, else 0 - log(2p).")
            (Logistic, logistic, [], Reals, "The logistic distribution of scale 1: log(p) - log1p(-p) if s, else its negative.")
            (Gumbel, gumbel, [], Reals, "The Gumbel distribution: -log(E), with E = -log(p) if s, else -log1p(-p).")
            (Cauchy, cauchy, [], Reals, "The Cauchy distribution: -1/tan(πp) if s, else 1/tan(πp).")
            (LogNormal, lognormal, [sigma], Reals, "exp(sigma · x), x of the standard normal distribution.")
            (Gamma, gamma, [a], Reals, "The gamma distribution of shape a and scale 1 (Marsaglia and Tsang, 2000).")
            (Beta, beta, [a, b], Reals, "The beta distribution: x/(x + y), x and y of gamma distributions of shapes a and b.")
            (ChiSquare, chisquare, [df], Reals, "The χ² distribution of df degrees of freedom: 2x, x of a gamma distribution of shape df/2.")
            (StudentT, student_t, [df], Reals,
                "Student's t distribution of df degrees of freedom: a normal variate times sqrt(df/2 / x), x of a gamma distribution of shape df/2.")
            (Poisson, poisson, [lam], Integers,
                "The Poisson distribution of mean lam: by inversion below 10, else PTRS (Hörmann, 1993); -1 for no valid mean.")
            (Binomial, binomial, [n, p], Integers,
                "Successes among n trials of probability p: by inversion where n · min(p, 1 - p) < 10, else BTRS (Hörmann, 1993); -1 for no valid n or p.")
            (Geometric, geometric, [p], Integers,
                "The number of the first successful trial of probability p: 1 + floor(log(u) / log1p(-p)), u of 64 bits; -1 for no valid p.")
        }
    };
}

/// The dtypes of a draw's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnDTypes {
    /// uint32, by default, or uint64.
    Words,
    /// float64, by default, float32 or float16.
    Floats,
    /// float64, by default, or float32.
    Reals,
    /// Integers, by default int64.
    Integers,
    /// bool.
    Bool,
}

impl DrawnDTypes {
    /// The dtypes, the default one first.
    pub const fn dtypes(self) -> &'static [DType] {
        use DType::*;
        match self {
            DrawnDTypes::Words => &[UInt32, UInt64],
            DrawnDTypes::Floats => &[Float64, Float32, Float16],
            DrawnDTypes::Reals => &[Float64, Float32],
            DrawnDTypes::Integers => &[Int64, Int32, Int16, Int8, UInt64, UInt32, UInt16, UInt8],
            DrawnDTypes::Bool => &[Bool],
        }
    }

    /// The dtypes, in words.
    pub const fn words(self) -> &'static str {
        match self {
            DrawnDTypes::Words => "uint32, uint64",
            DrawnDTypes::Floats => "float",
            DrawnDTypes::Reals => "float32, float64",
            DrawnDTypes::Integers => "integer",
            DrawnDTypes::Bool => "bool",
        }
    }
}

/// The key of a draw: four words of uint32 along the last axis.
pub(crate) const KEY: Parameter = Parameter::operand("key");
/// The extents of a draw.
const SHAPE: Parameter = Parameter::required("shape", ParameterKind::Integers);

macro_rules! dtype {
    (Words) => {
        Parameter::optional("dtype", ParameterKind::DType, "uint32")
    };
    (Integers) => {
        Parameter::optional("dtype", ParameterKind::DType, "int64")
    };
    ($of_floats:ident) => {
        Parameter::optional("dtype", ParameterKind::DType, "float64")
    };
}

macro_rules! parameters {
    ([$($operand:ident),*] Bool) => { const { &[KEY, $(Parameter::operand(stringify!($operand)),)* SHAPE] } };
    ([$($operand:ident),*] $gives:ident) => {
        const { &[KEY, $(Parameter::operand(stringify!($operand)),)* SHAPE, dtype!($gives)] }
    };
}

macro_rules! define_draws {
    ($(($draw:ident, $name:ident, $operands:tt, $gives:ident, $doc:literal))*) => {
        /// A distribution from which elements are drawn.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Draw {
            $(#[doc = $doc] $draw,)*
        }

        impl Draw {
            /// All draws, in the order of the table.
            pub const ALL: &'static [Draw] = &[$(Draw::$draw),*];

            /// The name of the draw.
            pub const fn name(self) -> &'static str {
                match self { $(Draw::$draw => stringify!($name),)* }
            }

            /// The parameters: the key, the arrays on which the distribution depends, the shape, and the dtype.
            pub const fn parameters(self) -> &'static [Parameter] {
                match self { $(Draw::$draw => parameters!($operands $gives),)* }
            }

            /// The dtypes of the elements.
            pub const fn gives(self) -> DrawnDTypes {
                match self { $(Draw::$draw => DrawnDTypes::$gives,)* }
            }

            /// A one-line description, with the map from bits.
            pub const fn doc(self) -> &'static str {
                match self { $(Draw::$draw => $doc,)* }
            }
        }
    };
}
for_each_draw!(define_draws);

impl Draw {
    /// The draw with this name.
    pub fn from_name(name: &str) -> Option<Draw> {
        Draw::ALL.iter().copied().find(|draw| draw.name() == name)
    }

    /// The number of arrays, beside the key, on which the distribution depends.
    pub fn operands(self) -> usize {
        self.parameters().iter().filter(|parameter| parameter.kind == ParameterKind::Operand).count() - 1
    }
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A draw with its shape and dtype, without its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawCall {
    /// The distribution.
    pub draw: Draw,
    /// The extents for each key.
    pub shape: SmallVec<[usize; 4]>,
    /// The dtype of the elements.
    pub dtype: DType,
}

impl DrawCall {
    /// Describes a draw; without a dtype, of the distribution's default dtype.
    ///
    /// # Errors
    /// [`ErrorKind::DType`] for a dtype that the distribution does not have.
    pub fn new(draw: Draw, shape: &[usize], dtype: Option<DType>) -> Result<DrawCall> {
        let dtypes = draw.gives().dtypes();
        let dtype = dtype.unwrap_or(dtypes[0]);
        if !dtypes.contains(&dtype) {
            let why = format!("{draw}: does not give {dtype}");
            return Err(
                Error::new(ErrorKind::DType, why).with_help(format!("it gives {}", draw.gives().words()))
            );
        }
        Ok(DrawCall { draw, shape: SmallVec::from_slice(shape), dtype })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_the_first_dtype_is_the_default() {
        for &draw in Draw::ALL {
            assert_eq!(Draw::from_name(draw.name()), Some(draw));
            let shown = draw.parameters().iter().find(|parameter| parameter.name == "dtype");
            let default = draw.gives().dtypes()[0];
            assert!(shown.is_none_or(|dtype| dtype.default == Some(default.name())), "{draw}");
            assert_eq!(DrawCall::new(draw, &[2], None).map(|call| call.dtype), Ok(default));
        }
        let refused = DrawCall::new(Draw::Normal, &[2], Some(DType::Float16)).unwrap_err();
        assert_eq!((refused.kind(), refused.message()), (ErrorKind::DType, "normal: does not give float16"));
    }
}
