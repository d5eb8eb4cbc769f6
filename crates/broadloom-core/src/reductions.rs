//! The table of reductions and scans, with one row per function. Everything that lists them is generated from the rows of
//! [`for_each_reduction!`](crate::for_each_reduction): names and parameters in the text language, the methods of arrays,
//! Python's functions, and the documentation.
//!
//! The op table is in `broadloom-ir`, since executors implement every op. Of the functions in this table, executors implement
//! only the nodes [`Reduction`] and [`Scan`]; the other functions are expressions of such nodes, so the table is in this crate.

use std::fmt;

use broadloom_ir::{Reduction, Scan};
use smallvec::SmallVec;

use crate::parameter::{DTYPE, Parameter, ParameterKind, X, X1, X2};
use crate::{DType, Kind, Literal};

/// Calls `$callback!` with one row per function:
/// `(Variant, name, (PARAMETER, …), takes, gives, identity, order, [computation], "doc")`.
///
/// - takes and gives: variants of [`TakenDTypes`](crate::reductions::TakenDTypes) and [`GivenDType`](crate::reductions::GivenDType)
/// - identity: the result for no elements, with the default parameters; for a scan its initial element; `none` if that is an error
/// - order: a variant of [`ElementOrder`](crate::reductions::ElementOrder)
/// - computation: `[reduction Variant]` or `[scan Variant]` for a node of that kind, `[count]`, or the equivalent expression of
///   other functions, in which `x` has one axis
///
/// The C ABI numbers the reductions that take several axes and `keepdims` in the order of their rows, so the row of a new such
/// reduction must come after their rows.
#[macro_export]
macro_rules! for_each_reduction {
    ($callback:ident) => {
        $callback! {
            (Sum, sum, (X, AXES, DTYPE, KEEPDIMS), Numeric, Accumulated, 0, FreeOfIntegers, [reduction Sum],
                "The sum. Integers are added as int64 or uint64, and wrap; floats in their own dtype.")
            (Prod, prod, (X, AXES, DTYPE, KEEPDIMS), Numeric, Accumulated, 1, FreeOfIntegers, [reduction Prod],
                "The product, with the dtypes of the sum.")
            (Max, max, (X, NAMED_AXES, KEEPDIMS), Numeric, Same, none, Free, [reduction Max],
                "The maximum, NaN if an element is NaN; −0 is less than +0.")
            (Min, min, (X, NAMED_AXES, KEEPDIMS), Numeric, Same, none, Free, [reduction Min],
                "The minimum, NaN if an element is NaN; −0 is less than +0.")
            (Any, any, (X, AXES, KEEPDIMS), Any, Bool, false, Free, [reduction Any],
                "Whether any element is true or not 0.")
            (All, all, (X, AXES, KEEPDIMS), Any, Bool, true, Free, [reduction All],
                "Whether all elements are true or not 0.")
            (Mean, mean, (X, AXES, KEEPDIMS), Floating, Same, nan, Fixed, ["sum(x) / count(x)"],
                "The sum, divided by the number of elements.")
            (Var, var, (X, AXES, CORRECTION, KEEPDIMS), Floating, Same, nan, Fixed,
                ["sum(square(x - mean(x))) / where(count(x) > correction, count(x) - correction, nan)"],
                "The sum of the squared differences from the mean, divided by n - correction.")
            (Std, std, (X, AXES, CORRECTION, KEEPDIMS), Floating, Same, nan, Fixed, ["sqrt(var(x))"],
                "The square root of the variance.")
            (ArgMax, argmax, (X, AXES, KEEPDIMS), Numeric, Int64, none, Fixed, [reduction ArgMax],
                "The index of the maximum: the first of equals, the first NaN before all numbers.")
            (ArgMin, argmin, (X, AXES, KEEPDIMS), Numeric, Int64, none, Fixed, [reduction ArgMin],
                "The index of the minimum: the first of equals, the first NaN before all numbers.")
            (CountNonzero, count_nonzero, (X, AXES, KEEPDIMS), Any, Int64, 0, Free, ["sum(astype(astype(x, bool), int64))"],
                "How many elements are true or not 0; NaNs are counted.")
            (VectorNorm, vector_norm, (X, NAMED_AXES, KEEPDIMS, ORD), Floating, Same, 0, Fixed,
                ["sum(abs(x) ** ord) ** (1 / ord)"],
                "The norm. ord=inf and ord=-inf give the largest and the smallest abs(x), ord=0 how many are not 0.")
            (NanSum, nansum, (X, AXES, DTYPE, KEEPDIMS), Numeric, Accumulated, 0, FreeOfIntegers, ["sum(where(isnan(x), 0, x))"],
                "The sum of the elements that are not NaN.")
            (NanProd, nanprod, (X, AXES, DTYPE, KEEPDIMS), Numeric, Accumulated, 1, FreeOfIntegers, ["prod(where(isnan(x), 1, x))"],
                "The product of the elements that are not NaN.")
            (NanMax, nanmax, (X, AXES, KEEPDIMS), Numeric, Same, none, Free,
                ["where(all(isnan(x)), nan, max(where(isnan(x), -inf, x)))"],
                "The maximum of the elements that are not NaN; NaN if there are none.")
            (NanMin, nanmin, (X, AXES, KEEPDIMS), Numeric, Same, none, Free,
                ["where(all(isnan(x)), nan, min(where(isnan(x), inf, x)))"],
                "The minimum of the elements that are not NaN; NaN if there are none.")
            (NanMean, nanmean, (X, AXES, KEEPDIMS), Floating, Same, nan, Fixed, ["nansum(x) / count_nonzero(~isnan(x))"],
                "The mean of the elements that are not NaN; NaN if there are none.")
            (NanVar, nanvar, (X, AXES, CORRECTION, KEEPDIMS), Floating, Same, nan, Fixed,
                ["n = count_nonzero(~isnan(x)); sum(where(isnan(x), 0, square(x - nanmean(x)))) / where(n > correction, n - correction, nan)"],
                "The variance of the elements that are not NaN.")
            (NanStd, nanstd, (X, AXES, CORRECTION, KEEPDIMS), Floating, Same, nan, Fixed, ["sqrt(nanvar(x))"],
                "The standard deviation of the elements that are not NaN.")
            (Count, count, (X, AXES, COUNT_DTYPE), Any, Chosen, 0, Free, [count],
                "How many elements are reduced to one: the product of the extents.")
            (VecDot, vecdot, (X1, X2, LAST_AXIS), Numeric, Same, 0, FreeOfIntegers, ["sum(x1 * x2)"],
                "The sum of the products along an axis; x1 and x2 broadcast.")
            (CumulativeSum, cumulative_sum, (X, AXIS, DTYPE, INITIAL), Numeric, Accumulated, 0, Fixed, [scan Sum],
                "Each element added to those before it; after 0, if the initial element is included.")
            (CumulativeProd, cumulative_prod, (X, AXIS, DTYPE, INITIAL), Numeric, Accumulated, 1, Fixed, [scan Prod],
                "Each element multiplied by those before it; after 1, if the initial element is included.")
        }
    };
}

/// The axes to reduce; all axes by default.
const NAMED_AXES: Parameter = Parameter::optional("axis", ParameterKind::Integers, "…");
const AXES: Parameter = NAMED_AXES.by_place();
/// A single axis. By default the operand must have one axis only.
const AXIS: Parameter = Parameter::optional("axis", ParameterKind::Integer, "…").by_place();
const LAST_AXIS: Parameter = Parameter::optional("axis", ParameterKind::Integer, "-1").by_place();
const KEEPDIMS: Parameter = Parameter::optional("keepdims", ParameterKind::Bool, "false");
const CORRECTION: Parameter = Parameter::optional("correction", ParameterKind::Number, "0");
const ORD: Parameter = Parameter::optional("ord", ParameterKind::Number, "2");
const INITIAL: Parameter = Parameter::optional("include_initial", ParameterKind::Bool, "false");
const COUNT_DTYPE: Parameter = Parameter::optional("dtype", ParameterKind::DType, "int64");

/// The dtypes that a function takes, without conversions by a promotion rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenDTypes {
    /// All dtypes.
    Any,
    /// Integers and floats.
    Numeric,
    /// Floats.
    Floating,
}

impl TakenDTypes {
    /// Whether a dtype is among them.
    pub fn contains(self, dtype: DType) -> bool {
        match self {
            TakenDTypes::Any => true,
            TakenDTypes::Numeric => dtype != DType::Bool,
            TakenDTypes::Floating => dtype.is_float(),
        }
    }

    /// The kinds of these dtypes, in words.
    pub const fn words(self) -> &'static str {
        match self {
            TakenDTypes::Any => "bool, integer, float",
            TakenDTypes::Numeric => "integer, float",
            TakenDTypes::Floating => "float",
        }
    }
}

/// How the dtype of the result follows from that of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenDType {
    /// The dtype of the elements.
    Same,
    /// The dtype of the elements for floats, int64 or uint64 for integers; or the parameter `dtype`.
    Accumulated,
    /// bool.
    Bool,
    /// int64.
    Int64,
    /// The parameter `dtype`.
    Chosen,
}

impl GivenDType {
    /// The dtype of the result for elements of this dtype; `None` if the parameter `dtype` determines it.
    pub fn of(self, dtype: DType) -> Option<DType> {
        Some(match (self, dtype.kind()) {
            (GivenDType::Accumulated, Kind::Signed) | (GivenDType::Int64, _) => DType::Int64,
            (GivenDType::Accumulated, Kind::Unsigned) => DType::UInt64,
            (GivenDType::Same | GivenDType::Accumulated, _) => dtype,
            (GivenDType::Bool, _) => DType::Bool,
            (GivenDType::Chosen, _) => return None,
        })
    }

    /// The dtype of the result, in words.
    pub const fn words(self) -> &'static str {
        match self {
            GivenDType::Same => "the same",
            GivenDType::Accumulated => "int64, uint64, float",
            GivenDType::Bool => "bool",
            GivenDType::Int64 => "int64",
            GivenDType::Chosen => "dtype",
        }
    }
}

/// Whether the bits of a result depend on the order in which elements are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementOrder {
    /// They are the same in any order.
    Free,
    /// They are the same in any order of integers, but not of floats.
    FreeOfIntegers,
    /// They depend on the order.
    Fixed,
}

impl ElementOrder {
    /// Whether elements of this dtype may be taken in any order.
    pub fn is_free(self, dtype: DType) -> bool {
        match self {
            ElementOrder::Free => true,
            ElementOrder::FreeOfIntegers => !dtype.is_float(),
            ElementOrder::Fixed => false,
        }
    }

    /// An English phrase for the order in which elements are combined.
    pub const fn words(self) -> &'static str {
        match self {
            ElementOrder::Free => "any",
            ElementOrder::FreeOfIntegers => "any of integers",
            ElementOrder::Fixed => "fixed",
        }
    }
}

/// How a function is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computation {
    /// By a node that reduces.
    Reduction(Reduction),
    /// By a node that scans.
    Scan(Scan),
    /// From the extents, without reading an element.
    Count,
    /// As an expression of other functions in the text language, in which `x` has one axis.
    Composed(&'static str),
}

macro_rules! identity {
    (none) => {
        None
    };
    (nan) => {
        Some(Literal::Float(f64::NAN))
    };
    (false) => {
        Some(Literal::Bool(false))
    };
    (true) => {
        Some(Literal::Bool(true))
    };
    ($number:literal) => {
        Some(Literal::Int($number))
    };
}

macro_rules! computation {
    (reduction $node:ident) => {
        Computation::Reduction(Reduction::$node)
    };
    (scan $node:ident) => {
        Computation::Scan(Scan::$node)
    };
    (count) => {
        Computation::Count
    };
    ($text:literal) => {
        Computation::Composed($text)
    };
}

macro_rules! define_reductions {
    ($((
        $function:ident, $name:ident, ($($parameter:ident),*), $takes:ident, $gives:ident, $identity:tt, $order:ident,
        [$($computation:tt)*], $doc:literal
    ))*) => {
        /// A function that reduces or scans the elements along axes, named as in the Python Array API standard, or in NumPy if
        /// that lacks it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ReductionFunction {
            $(#[doc = $doc] $function,)*
        }

        impl ReductionFunction {
            /// All of these functions, in the order of the table.
            pub const ALL: &'static [ReductionFunction] = &[$(ReductionFunction::$function),*];

            /// The name of the function.
            pub const fn name(self) -> &'static str {
                match self { $(ReductionFunction::$function => stringify!($name),)* }
            }

            /// The parameters: the operands first, then the other positional ones, then those given by name only.
            pub const fn parameters(self) -> &'static [Parameter] {
                match self { $(ReductionFunction::$function => &[$($parameter),*],)* }
            }

            /// The dtypes that the function takes.
            pub const fn takes(self) -> TakenDTypes {
                match self { $(ReductionFunction::$function => TakenDTypes::$takes,)* }
            }

            /// The dtype of the result.
            pub const fn gives(self) -> GivenDType {
                match self { $(ReductionFunction::$function => GivenDType::$gives,)* }
            }

            /// The result for no elements, with the default parameters, or the initial element of a scan; `None` if that is an error.
            pub const fn identity(self) -> Option<Literal> {
                match self { $(ReductionFunction::$function => identity!($identity),)* }
            }

            /// Whether the bits of the result depend on the order of the elements, with the default parameters.
            pub const fn order(self) -> ElementOrder {
                match self { $(ReductionFunction::$function => ElementOrder::$order,)* }
            }

            /// How the function is computed.
            pub const fn computation(self) -> Computation {
                match self { $(ReductionFunction::$function => computation!($($computation)*),)* }
            }

            /// A one-line description.
            pub const fn doc(self) -> &'static str {
                match self { $(ReductionFunction::$function => $doc,)* }
            }
        }
    };
}
for_each_reduction!(define_reductions);

impl ReductionFunction {
    /// The function with this name.
    pub fn from_name(name: &str) -> Option<ReductionFunction> {
        ReductionFunction::ALL.iter().copied().find(|function| function.name() == name)
    }

    /// Whether the function has a parameter with this name.
    pub fn has(self, parameter: &str) -> bool {
        self.parameters().iter().any(|has| has.name == parameter)
    }

    /// The number of operands.
    pub fn operands(self) -> usize {
        self.parameters().iter().filter(|parameter| parameter.kind == ParameterKind::Operand).count()
    }

    /// The expression that is equivalent to the function; `None` if the function is computed by a node.
    pub fn composition(self) -> Option<&'static str> {
        match self.computation() {
            Computation::Composed(text) => Some(text),
            Computation::Reduction(_) | Computation::Scan(_) | Computation::Count => None,
        }
    }

    /// Whether the function is a scan: its result has one element for each prefix of the elements.
    pub fn is_scan(self) -> bool {
        matches!(self.computation(), Computation::Scan(_))
    }
}

impl fmt::Display for ReductionFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A function of the table with its arguments, except the operands. Axes are unchecked. Parameters that the function does not
/// have are set to their defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct ReductionCall {
    /// The function.
    pub function: ReductionFunction,
    /// The axes; `None` for all of them. A function of a single axis has at most one.
    pub axis: Option<SmallVec<[isize; 4]>>,
    /// Whether reduced axes are kept with an extent of 1.
    pub keepdims: bool,
    /// The dtype of the accumulator and of the result; `None` to derive it from the operand's.
    pub dtype: Option<DType>,
    /// The correction of a variance, which is subtracted from the number of elements.
    pub correction: f64,
    /// The order of a norm.
    pub ord: f64,
    /// Whether a cumulative sum or product begins with an additional element, the sum or product of no elements.
    pub include_initial: bool,
}

impl ReductionCall {
    /// A call of the function with all parameters at their defaults.
    pub fn new(function: ReductionFunction) -> ReductionCall {
        let last = || SmallVec::from_slice(&[-1]);
        ReductionCall {
            function,
            axis: (function == ReductionFunction::VecDot).then(last),
            keepdims: false,
            dtype: (function == ReductionFunction::Count).then_some(DType::Int64),
            correction: 0.0,
            ord: 2.0,
            include_initial: false,
        }
    }

    /// The argument of the function's parameter that takes a number: the correction of a variance, the order of a norm.
    pub fn number_mut(&mut self) -> Option<&mut f64> {
        match self.function {
            function if function.has(CORRECTION.name) => Some(&mut self.correction),
            function if function.has(ORD.name) => Some(&mut self.ord),
            _ => None,
        }
    }
}
