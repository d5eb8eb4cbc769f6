//! The ops and dtypes whose results are correctly rounded even with [`Accuracy::Fast`](crate::Accuracy::Fast), so that they need
//! no separate, correctly rounded definition.

use broadloom_math::DType;

use crate::op::{Arity, Op};
use crate::scalar::Class;

impl Op {
    /// Whether results for operands of `dtype` are correctly rounded also with [`Accuracy::Fast`](crate::Accuracy::Fast). `last` is
    /// the class of the last operand's value, if that operand is a constant.
    ///
    /// Float16 results are computed in float64 and rounded once. This is known to be correct rounding for ops of one argument and
    /// hypot, but not for atan2, logaddexp and pow. A power with the exponent 0, 1, 2 or −1 is by definition 1, x, x·x or 1/x,
    /// which are correctly rounded.
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
    use crate::Accuracy;
    use crate::op::Law;

    /// Only approximate ops have a separate, correctly rounded definition, and only for float32.
    #[test]
    fn a_second_definition_is_one_of_float32() {
        for &op in Op::ALL {
            assert!(op.is_approximate() || !op.has(Law::Nearest), "{op}");
            for &dtype in DType::ALL {
                let wanted = (op.has(Law::Nearest) && dtype == DType::Float32).then_some(dtype);
                assert_eq!(op.result_at(Accuracy::Nearest, dtype), wanted, "{op} {dtype}");
            }
            assert_eq!(op.name_at(Accuracy::Fast), op.name());
            assert_eq!(op.name_at(Accuracy::Nearest), format!("nearest_{op}"));
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
        ] {
            assert_eq!(op.is_nearest(dtype, None), nearest, "{op} {dtype}");
            assert_eq!(op.is_nearest(dtype, Some(Class::Two)), nearest || op == Op::Pow, "{op} {dtype}");
        }
    }
}
