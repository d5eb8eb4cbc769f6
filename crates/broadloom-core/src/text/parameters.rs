//! The functions that take more than operands: the conversion, the changes of shape, the reductions, and those that make
//! arrays of numbers, with their parameters in one table.
//!
//! The resolver, its messages, the lists of functions and the documentation are driven by the rows. Names and defaults are
//! those of the Array API standard, 2024.12.

/// The kind of a parameter's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// An array, which is given without a name.
    Operand,
    /// An integer.
    Integer,
    /// A list of integers.
    List,
    /// An integer or a list of integers: axes or extents.
    Integers,
    /// `true` or `false`.
    Bool,
    /// A dtype's name.
    DType,
    /// A number.
    Number,
    /// A number, `true` or `false`, possibly with a dtype, such as `float32(0.5)`.
    Element,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The parameter's name, which is written before `=`.
    pub name: &'static str,
    /// The kind of the parameter's argument.
    pub kind: ParameterKind,
    /// The default as it is written; `…` if it depends on the operand, and `None` if the argument is required.
    pub default: Option<&'static str>,
    /// Whether the argument may be given by position, without a name.
    pub is_positional: bool,
}

impl Parameter {
    const fn operand(name: &'static str) -> Parameter {
        Parameter { name, kind: ParameterKind::Operand, default: None, is_positional: true }
    }

    const fn required(name: &'static str, kind: ParameterKind) -> Parameter {
        Parameter { name, kind, default: None, is_positional: true }
    }

    const fn optional(name: &'static str, kind: ParameterKind, default: &'static str) -> Parameter {
        Parameter { name, kind, default: Some(default), is_positional: false }
    }

    /// This parameter, except that it may be given by position.
    const fn by_place(self) -> Parameter {
        Parameter { is_positional: true, ..self }
    }

    /// The parameter's form in messages and lists: `x`, `[axis, …]`, `keepdims=false`.
    pub fn shown(&self) -> String {
        match (self.default, self.kind, self.name) {
            (Some(default), ..) => format!("{}={default}", self.name),
            (None, ParameterKind::List, "axes") => "[axis, …]".to_owned(),
            (None, ParameterKind::List, _) => "[extent, …]".to_owned(),
            (None, ..) => self.name.to_owned(),
        }
    }
}

/// A function that changes a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewName {
    PermuteDims,
    BroadcastTo,
    Reshape,
    ExpandDims,
    Squeeze,
    Flip,
    IndexAxis,
}

/// A function whose elements are computed from their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeneratorName {
    Arange,
    Linspace,
    Eye,
    Full,
    Zeros,
    Ones,
    Indices,
}

/// The action of a function on its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Astype,
    View(ViewName),
    Reduction(ReductionName),
    Generator(GeneratorName),
}

/// A function that takes more than operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// The function's name.
    pub name: &'static str,
    /// The parameters: first the operands, then those that may be given by position.
    pub parameters: &'static [Parameter],
    /// The kinds of dtypes that the function takes, in words.
    pub takes: &'static str,
    /// The dtype of the result, in words.
    pub gives: &'static str,
    /// A description of the function in one line.
    pub doc: &'static str,
    pub(super) action: Action,
}

impl BuiltIn {
    /// The parameters as they are written in a call: `x, axis=…, keepdims=false`.
    pub fn signature(&self) -> String {
        let shown: Vec<String> = self.parameters.iter().map(Parameter::shown).collect();
        shown.join(", ")
    }

    /// Whether the function is a reduction or a cumulative function.
    pub fn is_reduction(&self) -> bool {
        matches!(self.action, Action::Reduction(_))
    }

    /// Whether the function generates an array from numbers, or from the indices of an operand.
    pub fn is_generator(&self) -> bool {
        matches!(self.action, Action::Generator(_))
    }

    pub(super) fn parameter(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.name == name)
    }
}

const X: Parameter = Parameter::operand("x");
const X1: Parameter = Parameter::operand("x1");
const X2: Parameter = Parameter::operand("x2");
/// The parameter for the axes to reduce, which are all axes by default.
const NAMED_AXES: Parameter = Parameter::optional("axis", ParameterKind::Integers, "…");
const AXES: Parameter = NAMED_AXES.by_place();
/// The parameter for a single axis. By default all elements are taken, or the array's only axis.
const AXIS: Parameter = Parameter::optional("axis", ParameterKind::Integer, "…").by_place();
const LAST_AXIS: Parameter = Parameter::optional("axis", ParameterKind::Integer, "-1").by_place();
const KEEPDIMS: Parameter = Parameter::optional("keepdims", ParameterKind::Bool, "false");
const DTYPE: Parameter = Parameter::optional("dtype", ParameterKind::DType, "…");
const CORRECTION: Parameter = Parameter::optional("correction", ParameterKind::Number, "0");
const ORD: Parameter = Parameter::optional("ord", ParameterKind::Number, "2");
const INITIAL: Parameter = Parameter::optional("include_initial", ParameterKind::Bool, "false");
const COUNT_DTYPE: Parameter = Parameter::optional("dtype", ParameterKind::DType, "int64");
const FLOAT_DTYPE: Parameter = Parameter::optional("dtype", ParameterKind::DType, "float64");
const START: Parameter = Parameter::required("start", ParameterKind::Number);
const STOP: Parameter = Parameter::required("stop", ParameterKind::Number);
const LATER_STOP: Parameter = Parameter::optional("stop", ParameterKind::Number, "…").by_place();
const STEP: Parameter = Parameter::optional("step", ParameterKind::Number, "1").by_place();
const NUM: Parameter = Parameter::required("num", ParameterKind::Integer);
const ENDPOINT: Parameter = Parameter::optional("endpoint", ParameterKind::Bool, "true");
const ROWS: Parameter = Parameter::required("n_rows", ParameterKind::Integer);
const COLS: Parameter = Parameter::optional("n_cols", ParameterKind::Integer, "…").by_place();
const DIAGONAL: Parameter = Parameter::optional("k", ParameterKind::Integer, "0");
const SHAPE: Parameter = Parameter::required("shape", ParameterKind::Integers);
const VALUE: Parameter = Parameter::required("fill_value", ParameterKind::Element);
const FIRST_AXIS: Parameter = Parameter::optional("axis", ParameterKind::Integer, "0").by_place();

/// The name of the conversion.
pub const ASTYPE: &str = "astype";

/// The name of the function of generated numbers in a range.
pub(super) const ARANGE: &str = "arange";

/// The name of the function of the indices along an axis.
pub(super) const INDICES: &str = "indices";

static CONVERSION: BuiltIn = BuiltIn {
    name: ASTYPE,
    parameters: &[X, Parameter::required("dtype", ParameterKind::DType)],
    takes: "bool, integer, float",
    gives: "dtype",
    doc: "x converted: a float to an integer by truncation, saturating, NaN to 0; integers wrap; anything but 0 is true.",
    action: Action::Astype,
};

macro_rules! views {
    ($($name:literal $view:ident ($($parameter:literal $kind:ident),*) $doc:literal;)*) => {
        /// The functions that change a shape.
        static VIEWS: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            parameters: &[X, $(Parameter::required($parameter, ParameterKind::$kind)),*],
            takes: "bool, integer, float",
            gives: "the same",
            doc: $doc,
            action: Action::View(ViewName::$view),
        }),*];
    };
}

views! {
    "permute_dims" PermuteDims ("axes" List) "x with its axes in another order: axis i of the result is axis axes[i] of x.";
    "broadcast_to" BroadcastTo ("shape" List) "x repeated along new leading axes and axes of extent 1.";
    "reshape" Reshape ("shape" List) "The same elements in row-major order; one extent may be -1.";
    "expand_dims" ExpandDims ("axis" Integer) "x with a new axis of extent 1.";
    "squeeze" Squeeze ("axis" Integer) "x without an axis of extent 1.";
    "flip" Flip ("axis" Integer) "x with the elements along an axis in reverse.";
    "index_axis" IndexAxis ("axis" Integer, "index" Integer) "The elements at one index of an axis, without the axis.";
}

macro_rules! reductions {
    ($($name:literal $variant:ident ($($parameter:ident),*) $takes:literal => $gives:literal $doc:literal;)*) => {
        /// A function that reduces or accumulates the elements along axes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ReductionName {
            $(
                #[doc = $doc]
                $variant,
            )*
        }

        impl ReductionName {
            /// All of these functions.
            pub const ALL: &[ReductionName] = &[$(ReductionName::$variant),*];

            /// The function's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(ReductionName::$variant => $name,)*
                }
            }
        }

        static REDUCTIONS: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            parameters: &[$($parameter),*],
            takes: $takes,
            gives: $gives,
            doc: $doc,
            action: Action::Reduction(ReductionName::$variant),
        }),*];
    };
}

reductions! {
    "sum" Sum (X, AXES, DTYPE, KEEPDIMS) "integer, float" => "int64, uint64, float"
        "The sum; of nothing 0. Integers are added as int64 or uint64, floats in their own dtype.";
    "prod" Prod (X, AXES, DTYPE, KEEPDIMS) "integer, float" => "int64, uint64, float"
        "The product; of nothing 1.";
    "max" Max (X, NAMED_AXES, KEEPDIMS) "integer, float" => "the same"
        "The maximum, NaN if an element is NaN; of nothing an error.";
    "min" Min (X, NAMED_AXES, KEEPDIMS) "integer, float" => "the same"
        "The minimum, NaN if an element is NaN; of nothing an error.";
    "mean" Mean (X, AXES, KEEPDIMS) "float" => "the same"
        "The sum, divided by the number of elements.";
    "var" Var (X, AXES, CORRECTION, KEEPDIMS) "float" => "the same"
        "The sum of the squared differences from the mean, divided by n - correction.";
    "std" Std (X, AXES, CORRECTION, KEEPDIMS) "float" => "the same"
        "The square root of the variance.";
    "any" Any (X, AXES, KEEPDIMS) "bool, integer, float" => "bool"
        "Whether any element is true or not 0; of nothing false.";
    "all" All (X, AXES, KEEPDIMS) "bool, integer, float" => "bool"
        "Whether all elements are true or not 0; of nothing true.";
    "argmax" ArgMax (X, AXES, KEEPDIMS) "integer, float" => "int64"
        "The index of the maximum: the first of equals, the first NaN before all numbers.";
    "argmin" ArgMin (X, AXES, KEEPDIMS) "integer, float" => "int64"
        "The index of the minimum: the first of equals, the first NaN before all numbers.";
    "count_nonzero" CountNonzero (X, AXES, KEEPDIMS) "bool, integer, float" => "int64"
        "How many elements are true or not 0.";
    "count" Count (X, AXES, COUNT_DTYPE) "bool, integer, float" => "dtype"
        "How many elements are reduced to one: the product of the extents.";
    "vecdot" VecDot (X1, X2, LAST_AXIS) "integer, float" => "the same"
        "The sum of the products along an axis; x1 and x2 broadcast.";
    "vector_norm" VectorNorm (X, NAMED_AXES, KEEPDIMS, ORD) "float" => "the same"
        "The norm: sum(abs(x) ** ord) ** (1 / ord); of inf and -inf the largest and the smallest abs(x), of 0 how many are not 0.";
    "cumulative_sum" CumulativeSum (X, AXIS, DTYPE, INITIAL) "integer, float" => "int64, uint64, float"
        "Each element added to those before it; after 0, if the initial element is included.";
    "cumulative_prod" CumulativeProd (X, AXIS, DTYPE, INITIAL) "integer, float" => "int64, uint64, float"
        "Each element multiplied by those before it; after 1, if the initial element is included.";
    "nansum" NanSum (X, AXES, DTYPE, KEEPDIMS) "integer, float" => "int64, uint64, float"
        "The sum of the elements that are not NaN.";
    "nanprod" NanProd (X, AXES, DTYPE, KEEPDIMS) "integer, float" => "int64, uint64, float"
        "The product of the elements that are not NaN.";
    "nanmean" NanMean (X, AXES, KEEPDIMS) "float" => "the same"
        "The mean of the elements that are not NaN; NaN if there are none.";
    "nanmin" NanMin (X, AXES, KEEPDIMS) "integer, float" => "the same"
        "The minimum of the elements that are not NaN; NaN if there are none.";
    "nanmax" NanMax (X, AXES, KEEPDIMS) "integer, float" => "the same"
        "The maximum of the elements that are not NaN; NaN if there are none.";
    "nanvar" NanVar (X, AXES, CORRECTION, KEEPDIMS) "float" => "the same"
        "The variance of the elements that are not NaN.";
    "nanstd" NanStd (X, AXES, CORRECTION, KEEPDIMS) "float" => "the same"
        "The square root of that variance.";
}

macro_rules! generators {
    ($($name:tt $variant:ident ($($parameter:ident),*) => $gives:literal $doc:literal;)*) => {
        static GENERATORS: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            parameters: &[$($parameter),*],
            takes: "",
            gives: $gives,
            doc: $doc,
            action: Action::Generator(GeneratorName::$variant),
        }),*];
    };
}

generators! {
    ARANGE Arange (START, LATER_STOP, STEP, DTYPE) => "int64, float64"
        "start, start + step, … up to and without stop; of one number, from 0 up to it. Element i is start + i * step.";
    "linspace" Linspace (START, STOP, NUM, ENDPOINT, FLOAT_DTYPE) => "float64"
        "num numbers, evenly spaced from start to stop, which is the last one if endpoint.";
    "eye" Eye (ROWS, COLS, DIAGONAL, FLOAT_DTYPE) => "float64"
        "A matrix with ones where the column is the row plus k, and zeros elsewhere.";
    "full" Full (SHAPE, VALUE, DTYPE) => "int64, float64, bool"
        "One value everywhere.";
    "zeros" Zeros (SHAPE, FLOAT_DTYPE) => "float64"
        "Zeros.";
    "ones" Ones (SHAPE, FLOAT_DTYPE) => "float64"
        "Ones.";
    INDICES Indices (X, FIRST_AXIS) => "int64"
        "The index of each element of x along an axis, in an array of its shape.";
}

/// The functions that take more than operands: the conversion, the changes of shape, the reductions, and those that make
/// arrays of numbers.
///
/// ```
/// use broadloom_core::text::built_ins;
///
/// let sum = built_ins().find(|function| function.name == "sum").map(|sum| sum.signature());
/// assert_eq!(sum.as_deref(), Some("x, axis=…, dtype=…, keepdims=false"));
/// ```
pub fn built_ins() -> impl Iterator<Item = &'static BuiltIn> {
    [&CONVERSION].into_iter().chain(VIEWS).chain(REDUCTIONS).chain(GENERATORS)
}
