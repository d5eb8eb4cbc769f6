//! How lists of functions describe an op, in words. All of them come from the op table and from type inference.

use crate::op::{Arity, Law};
use crate::{DType, Kind, Op, for_each_op};

/// The operands of an op, as its documentation names them.
pub fn signature(op: Op) -> &'static str {
    match op.arity() {
        Arity::Unary => "x",
        Arity::Binary => "x1, x2",
        Arity::Ternary if op == Op::Clip => "x, lo, hi",
        Arity::Ternary if matches!(op, Op::PhiloxHigh | Op::PhiloxLow) => "key, upper, block",
        Arity::Ternary => "x1, x2, x3",
        Arity::Choice => "condition, x2, x3",
    }
}

/// The kinds of dtypes that an op accepts.
pub fn takes(op: Op) -> String {
    let mut dtypes = op.dtypes().to_vec();
    if op.has(Law::Divides) {
        dtypes.extend(DType::ALL.iter().filter(|dtype| dtype.is_integer()));
    }
    if dtypes == [DType::UInt64] {
        return DType::UInt64.name().to_owned();
    }
    // Any other op that accepts one dtype of a kind accepts all of them.
    let has = |kind: Kind| dtypes.iter().any(|dtype| dtype.kind() == kind);
    let names = [(Kind::Bool, "bool"), (Kind::Signed, "integer"), (Kind::Float, "float")];
    names.iter().filter(|(kind, _)| has(*kind)).map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

/// The dtype of an op's result.
pub fn gives(op: Op) -> &'static str {
    let is_bool = |dtype: &DType| *dtype != DType::Bool && op.result(*dtype) == Some(DType::Bool);
    match op {
        _ if op.dtypes().iter().any(is_bool) => "bool",
        _ if op.has(Law::Divides) => "float",
        _ if op.has(Law::Approximate) => "the same ≈",
        _ => "the same",
    }
}

macro_rules! define_words {
    ($(($op:ident, $name:literal, $arity:ident, $class:ident, [$($law:ident),*], $doc:literal))*) => {
        /// The class of dtypes that an op takes, by its name in the op table.
        pub const fn class(op: Op) -> &'static str {
            match op { $(Op::$op => stringify!($class),)* }
        }

        /// The laws of an op, by their names in the op table.
        pub const fn laws(op: Op) -> &'static [&'static str] {
            match op { $(Op::$op => &[$(stringify!($law)),*],)* }
        }
    };
}
for_each_op!(define_words);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_taken_whole_or_not_at_all() {
        for op in Op::public().filter(|&op| class(op) != "word") {
            for kind in [Kind::Bool, Kind::Signed, Kind::Unsigned, Kind::Float] {
                let mut of_kind = DType::ALL.iter().filter(|dtype| dtype.kind() == kind);
                let taken = of_kind.clone().filter(|dtype| op.dtypes().contains(dtype)).count();
                assert!(taken == 0 || of_kind.all(|dtype| op.dtypes().contains(dtype)), "{op}");
            }
            let takes = |kind| op.dtypes().iter().any(|dtype: &DType| dtype.kind() == kind);
            assert_eq!(takes(Kind::Signed), takes(Kind::Unsigned), "{op}");
        }
    }
}
