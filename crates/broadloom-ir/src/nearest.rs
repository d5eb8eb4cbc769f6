//! The ops that compute correctly rounded float32 results (`nearest_sin` and so on), and the approximate ops that each can
//! replace.

use broadloom_math::DType;

use crate::op::{Arity, Op};
use crate::scalar::Class;

macro_rules! nearest {
    ($($op:ident $nearest:ident;)*) => {
        impl Op {
            /// The op that computes the correctly rounded float32 result of this op. `None` if this op is exact itself, or if
            /// there is no such op.
            pub const fn nearest(self) -> Option<Op> {
                match self {
                    $(Op::$op => Some(Op::$nearest),)*
                    _ => None,
                }
            }
        }
    };
}

nearest! {
    Acos NearestAcos;
    Acosh NearestAcosh;
    Asin NearestAsin;
    Asinh NearestAsinh;
    Atan NearestAtan;
    Atanh NearestAtanh;
    Cbrt NearestCbrt;
    Cos NearestCos;
    Cosh NearestCosh;
    Erf NearestErf;
    Erfc NearestErfc;
    Exp NearestExp;
    Exp2 NearestExp2;
    ExpM1 NearestExpM1;
    Hypot NearestHypot;
    Log NearestLog;
    Log1p NearestLog1p;
    Log2 NearestLog2;
    Log10 NearestLog10;
    Sin NearestSin;
    Sinh NearestSinh;
    Tan NearestTan;
    Tanh NearestTanh;
}

impl Op {
    /// Whether results for operands of `dtype` are always correctly rounded. `last` is the class of the last operand's value, if
    /// that operand is a constant.
    ///
    /// Float16 results are computed in float64 and rounded once. This is known to be correct rounding for ops of one argument and
    /// hypot, but not for atan2, logaddexp and pow. A power with the exponent 0, 1, 2 or −1 is 1, x, x·x or 1/x by definition.
    pub fn is_nearest(self, dtype: DType, last: Option<Class>) -> bool {
        let of_half = || matches!(self.arity(), Arity::Unary) || self == Op::Hypot;
        let is_exact_power = || match last {
            Some(Class::Zero | Class::NegativeZero | Class::One | Class::MinusOne | Class::Two) => true,
            Some(Class::ShortReciprocal | Class::Other) | None => false,
        };
        !self.is_approximate()
            || !dtype.is_float()
            || dtype == DType::Float16 && of_half()
            || self == Op::Pow && is_exact_power()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Law;

    /// Every approximate op has a correctly rounded counterpart, except the ops of two arguments for which correct rounding is
    /// not proven.
    #[test]
    fn each_approximate_function_has_a_nearest_one() {
        for &op in Op::ALL {
            let unproven = [Op::Atan2, Op::LogAddExp, Op::Pow].contains(&op);
            assert_eq!(op.nearest().is_some(), op.is_approximate() && !unproven, "{op}");
            let Some(nearest) = op.nearest() else { continue };
            assert_eq!(nearest.name(), format!("nearest_{op}"));
            assert!(nearest.has(Law::Internal) && !nearest.is_approximate(), "{nearest}");
            assert_eq!((nearest.dtypes(), nearest.arity()), (&[DType::Float32][..], op.arity()), "{nearest}");
            assert_eq!(nearest.has(Law::Commutative), op.has(Law::Commutative), "{nearest}");
        }
    }

    #[test]
    fn what_is_nearest_depends_on_the_dtype() {
        for (op, dtype, nearest) in [
            (Op::Sin, DType::Float16, true),
            (Op::Sin, DType::Float32, false),
            (Op::Sin, DType::Float64, false),
            (Op::Hypot, DType::Float16, true),
            (Op::Atan2, DType::Float16, false),
            (Op::Pow, DType::Int32, true),
            (Op::Pow, DType::Float64, false),
            (Op::Sqrt, DType::Float64, true),
            (Op::NearestSin, DType::Float32, true),
        ] {
            assert_eq!(op.is_nearest(dtype, None), nearest, "{op} {dtype}");
            assert_eq!(op.is_nearest(dtype, Some(Class::Two)), nearest || op == Op::Pow, "{op} {dtype}");
        }
    }
}
