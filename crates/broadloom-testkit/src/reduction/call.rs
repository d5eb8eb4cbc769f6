//! The call of a reduction with its arguments, as plain data.

use broadloom_core::DType;
use broadloom_core::reductions::ReductionFunction;

/// Declares the reductions of one array: variant, name, and the parameters besides axes and `keepdims`.
macro_rules! reductions {
    ($($variant:ident $name:literal $doc:literal;)*) => {
        /// A function that reduces the elements along some axes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Function {
            $(#[doc = $doc] $variant,)*
        }

        impl Function {
            /// All functions.
            pub const ALL: &[Function] = &[$(Function::$variant),*];

            /// The name in the standard, or NumPy's if the standard lacks the function.
            pub fn name(self) -> &'static str {
                match self { $(Function::$variant => $name,)* }
            }
        }
    };
}

reductions! {
    Sum "sum" "The canonical sum.";
    Prod "prod" "The canonical product.";
    Max "max" "The maximum.";
    Min "min" "The minimum.";
    Mean "mean" "The sum divided by the number of elements.";
    Var "var" "The sum of the squared differences from the mean, divided by their number less a correction.";
    Std "std" "The square root of the variance.";
    Any "any" "Whether an element is not zero.";
    All "all" "Whether no element is zero.";
    ArgMax "argmax" "The index of the first of the maxima.";
    ArgMin "argmin" "The index of the first of the minima.";
    CountNonzero "count_nonzero" "The number of elements that are not zero.";
    VectorNorm "vector_norm" "The norm of an order.";
    Count "count" "The number of elements.";
    NanSum "nansum" "The sum, NaN taken for zero.";
    NanProd "nanprod" "The product, NaN taken for one.";
    NanMean "nanmean" "The mean of what is not NaN.";
    NanMin "nanmin" "The minimum of what is not NaN.";
    NanMax "nanmax" "The maximum of what is not NaN.";
    NanVar "nanvar" "The variance of what is not NaN.";
    NanStd "nanstd" "The standard deviation of what is not NaN.";
}

impl Function {
    /// The function with this name.
    pub fn from_name(name: &str) -> Option<Function> {
        Function::ALL.iter().copied().find(|function| function.name() == name)
    }

    /// Whether the library's function has a parameter with this name.
    fn has(self, parameter: &str) -> bool {
        ReductionFunction::from_name(self.name()).is_some_and(|function| function.has(parameter))
    }

    /// Whether the function has a parameter for the dtype of its result.
    pub fn takes_dtype(self) -> bool {
        self.has("dtype")
    }

    /// Whether the function has a parameter for the correction of the divisor.
    pub fn takes_correction(self) -> bool {
        self.has("correction")
    }

    /// Whether it searches along one axis or all axes, but not along several.
    pub fn is_search(self) -> bool {
        matches!(self, Function::ArgMax | Function::ArgMin)
    }
}

/// A reduction and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// The function.
    pub function: Function,
    /// The axes, where negative ones count from the last; all axes by default.
    pub axes: Option<Vec<isize>>,
    /// Whether reduced axes are kept with extent 1.
    pub keepdims: bool,
    /// For sums and products, the dtype to which elements are converted before they are reduced; for a count,
    /// the dtype of the result.
    pub dtype: Option<DType>,
    /// The number subtracted from the number of elements in the divisor of variances and standard deviations.
    pub correction: f64,
    /// The order of a norm.
    pub ord: f64,
}

impl Reduction {
    /// A reduction along all axes, with the standard's defaults.
    pub fn all(function: Function) -> Reduction {
        Reduction { function, axes: None, keepdims: false, dtype: None, correction: 0.0, ord: 2.0 }
    }

    /// A reduction along these axes, with the standard's defaults.
    pub fn along(function: Function, axes: &[isize]) -> Reduction {
        Reduction { axes: Some(axes.to_vec()), ..Reduction::all(function) }
    }
}

/// A cumulative sum or product and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cumulative {
    /// Whether elements are multiplied instead of added.
    pub is_product: bool,
    /// The axis, counted from the last if negative. It may be omitted if there is only one.
    pub axis: Option<isize>,
    /// The dtype that elements are converted to first.
    pub dtype: Option<DType>,
    /// Whether the result begins with the identity element.
    pub include_initial: bool,
}

impl Cumulative {
    /// The standard's name.
    pub fn name(&self) -> &'static str {
        if self.is_product { "cumulative_prod" } else { "cumulative_sum" }
    }
}

/// The dot products along one axis of both operands. The axis is counted from the last one, and the other
/// axes are broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VecDot {
    /// The axis, negative.
    pub axis: isize,
}
