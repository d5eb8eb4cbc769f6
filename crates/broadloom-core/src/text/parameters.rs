//! The functions of the language that take more than operands: the conversion, the changes of shape, those that take elements
//! at computed indices, those that generate arrays, and the [reductions](crate::reductions), which have a table of their own.
//!
//! The resolver, its messages, the lists of functions and the documentation are generated from the rows.

use crate::draws::{Draw, KEY};
use crate::padding::PAD_LIKE;
use crate::parameter::{DTYPE, Parameter, ParameterKind, X};
use crate::reductions::ReductionFunction;
use crate::routine::{ScatterMode, SegmentFunction, TOPK_INDICES};

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
    SlidingWindow,
}

/// A function that takes elements at computed indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeName {
    /// `take`: the axes of the indices take the place of the axis.
    Take,
    /// `take_along_axis`: each position on the other axes has its own indices.
    TakeAlongAxis,
    /// `elements_at`: the indices are positions in row-major order, which are not counted from the end.
    ElementsAt,
}

/// A function of whole arrays, which a [routine](crate::routine) computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineName {
    /// The elements along an axis in order.
    Sort,
    /// The indices that put the elements along an axis in order.
    ArgSort,
    /// The index of each element among sorted ones.
    SearchSorted,
    /// The first elements along an axis in order.
    TopK,
    /// The indices of the first elements along an axis in order.
    TopKIndices,
    /// A function of the elements of each label.
    Segments(SegmentFunction),
    /// A function of the elements at each position.
    Scattered(SegmentFunction),
    /// The number of elements between edges.
    Histogram,
    /// The positions of the true elements of a mask.
    NonZero,
    /// Elements that are put at positions.
    Scatter(ScatterMode),
}

/// A function that generates elements from their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeneratorName {
    Arange,
    Linspace,
    Eye,
    Full,
    Zeros,
    Ones,
    Indices,
    Key,
    Split,
    FoldIn,
    Draw(Draw),
}

/// The operation of a built-in function, which determines how its arguments are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Astype,
    View(ViewName),
    Take(TakeName),
    Concat,
    PadLike,
    Grad,
    Routine(RoutineName),
    Reduction(ReductionFunction),
    Generator(GeneratorName),
}

/// A function that takes more than operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// The name of the function.
    pub name: &'static str,
    /// The parameters: the operands first, then the other positional ones, then those given by name only.
    pub parameters: &'static [Parameter],
    /// The kinds of dtypes that the function takes, in words.
    pub takes: &'static str,
    /// The dtype of the result, in words.
    pub gives: &'static str,
    /// A one-line description.
    pub doc: &'static str,
    pub(super) action: Action,
}

impl BuiltIn {
    /// The parameters as written in a call: `x, axis=…, keepdims=false`.
    pub fn signature(&self) -> String {
        let shown: Vec<String> = self.parameters.iter().map(Parameter::shown).collect();
        shown.join(", ")
    }

    /// The function of the table of reductions, if it is one.
    pub fn reduction(&self) -> Option<ReductionFunction> {
        match self.action {
            Action::Reduction(function) => Some(function),
            Action::Astype
            | Action::View(_)
            | Action::Take(_)
            | Action::Concat
            | Action::PadLike
            | Action::Grad
            | Action::Routine(_)
            | Action::Generator(_) => None,
        }
    }

    /// Whether the function is a reduction or a scan.
    pub fn is_reduction(&self) -> bool {
        self.reduction().is_some()
    }

    /// Whether the function generates an array, either without an operand or from the indices of an operand's elements.
    pub fn is_generator(&self) -> bool {
        matches!(self.action, Action::Generator(_))
    }

    /// Whether the function takes elements at computed indices.
    pub fn is_take(&self) -> bool {
        matches!(self.action, Action::Take(_))
    }

    /// Whether a routine computes the function.
    pub fn is_routine(&self) -> bool {
        matches!(self.action, Action::Routine(_))
    }

    /// Whether the function is a derivative.
    pub fn is_derivative(&self) -> bool {
        matches!(self.action, Action::Grad)
    }

    /// Whether the function makes keys of random numbers, or draws from one.
    pub fn is_random(&self) -> bool {
        use GeneratorName::{Draw, FoldIn, Key, Split};
        matches!(self.action, Action::Generator(Key | Split | FoldIn | Draw(_)))
    }

    pub(super) fn parameter(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.name == name)
    }
}

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
const SEED: Parameter = Parameter::required("seed", ParameterKind::Number);
const NUMBER: Parameter = Parameter::operand("number");
const COUNT: Parameter = Parameter::optional("n", ParameterKind::Integer, "2").by_place();
const AT: Parameter = Parameter::operand("indices");
const LAST_AXIS: Parameter = Parameter::optional("axis", ParameterKind::Integer, "-1").by_place();
const FIRST_AXIS_BY_NAME: Parameter = Parameter::optional("axis", ParameterKind::Integer, "0");
const FIRST_AXIS: Parameter = Parameter::optional("axis", ParameterKind::Integer, "0").by_place();

const DESCENDING: Parameter = Parameter::optional("descending", ParameterKind::Bool, "false");
const RIGHT: Parameter = Parameter::optional("right", ParameterKind::Bool, "false");
const LARGEST: Parameter = Parameter::optional("largest", ParameterKind::Bool, "true");
const SORTED: Parameter = Parameter::operand("sorted");
const QUERIES: Parameter = Parameter::operand("queries");
const LABELS: Parameter = Parameter::operand("labels");
const VALUES: Parameter = Parameter::operand("values");
const POSITIONS: Parameter = Parameter::operand("positions");
const EDGES: Parameter = Parameter::operand("edges");
const MASK: Parameter = Parameter::operand("mask");
const K: Parameter = Parameter::required("k", ParameterKind::Integer);
const SIZE: Parameter = Parameter::required("size", ParameterKind::Integer);

/// The name of the conversion function.
pub const ASTYPE: &str = "astype";

/// The name of the function that generates the numbers of a range.
pub(super) const ARANGE: &str = "arange";

/// The name of the function that takes elements at positions.
pub(super) const ELEMENTS_AT: &str = "elements_at";

/// The name of the function that joins arrays.
pub(super) const CONCAT: &str = "concat";

/// The name of the function that returns the indices along an axis.
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
    "sliding_window" SlidingWindow ("length" Integer, "axis" Integer) "All runs of adjacent elements of an axis, along a new last axis.";
    "index_axis" IndexAxis ("axis" Integer, "index" Integer) "The elements at one index of an axis, without the axis.";
}

/// The functions that take elements at computed indices.
static TAKES: [BuiltIn; 3] = [
    BuiltIn {
        name: "take",
        parameters: &[X, AT, FIRST_AXIS],
        takes: "bool, integer, float",
        gives: "the same",
        doc: "The elements of x at indices of an axis, whose place the axes of the indices take.",
        action: Action::Take(TakeName::Take),
    },
    BuiltIn {
        name: "take_along_axis",
        parameters: &[X, AT, LAST_AXIS],
        takes: "bool, integer, float",
        gives: "the same",
        doc: "The elements of x at indices along an axis. The other axes of x and of the indices broadcast.",
        action: Action::Take(TakeName::TakeAlongAxis),
    },
    BuiltIn {
        name: ELEMENTS_AT,
        parameters: &[X, Parameter::operand("positions")],
        takes: "bool, integer, float",
        gives: "the same",
        doc: "The elements of x at positions, int64, in row-major order. A negative position is out of range.",
        action: Action::Take(TakeName::ElementsAt),
    },
];

static JOIN: BuiltIn = BuiltIn {
    name: CONCAT,
    parameters: &[Parameter::operands("x"), FIRST_AXIS_BY_NAME],
    takes: "bool, integer, float",
    gives: "the same",
    doc: "The operands in their common dtype, joined along an axis. Their other extents are equal.",
    action: Action::Concat,
};

static PADDING: BuiltIn = BuiltIn {
    name: PAD_LIKE,
    parameters: &[
        X,
        Parameter::operand("like"),
        Parameter::optional("axis", ParameterKind::Integer, "-1"),
        Parameter::optional("start", ParameterKind::Integer, "…"),
        Parameter::optional("stop", ParameterKind::Integer, "…"),
        Parameter::optional("step", ParameterKind::Integer, "1"),
    ],
    takes: "bool, integer, float",
    gives: "the same",
    doc: "x moved to the indices start:stop:step of an axis, counted from the last, that is as long as that of like; zeros elsewhere.",
    action: Action::PadLike,
};

static GRADIENT: BuiltIn = BuiltIn {
    name: "grad",
    parameters: &[Parameter::operand("y"), X],
    takes: "float",
    gives: "the same",
    doc: "The derivative of y, which has no axes, with respect to each element of x, a name from which y was computed.",
    action: Action::Grad,
};

macro_rules! routines {
    ($($name:tt $action:expr, ($($parameter:ident),*) $takes:literal => $gives:literal $doc:literal;)*) => {
        /// The functions that routines compute.
        static ROUTINES: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            parameters: &[$($parameter),*],
            takes: $takes,
            gives: $gives,
            doc: $doc,
            action: Action::Routine($action),
        }),*];
    };
}

routines! {
    "sort" RoutineName::Sort, (X, LAST_AXIS, DESCENDING) "bool, integer, float" => "the same"
        "The elements of x along an axis in order: -0 before 0, and NaN last.";
    "argsort" RoutineName::ArgSort, (X, LAST_AXIS, DESCENDING) "bool, integer, float" => "int64"
        "The indices that put the elements of x along an axis in order. Equal elements keep their order.";
    "searchsorted" RoutineName::SearchSorted, (SORTED, QUERIES, RIGHT) "bool, integer, float" => "int64"
        "For each query, the index in sorted elements of one axis before which it keeps their order: the first, or the last if right.";
    "topk" RoutineName::TopK, (X, K, LAST_AXIS, LARGEST) "bool, integer, float" => "the same"
        "The k greatest elements of x along an axis in descending order, or the k least in ascending order.";
    TOPK_INDICES RoutineName::TopKIndices, (X, K, LAST_AXIS, LARGEST) "bool, integer, float" => "int64"
        "The indices of topk. Of equal elements, the one with the lower index is first.";
    "segment_sum" RoutineName::Segments(SegmentFunction::Sum), (X, LABELS, K) "integer, float" => "int64, uint64, float"
        "The sum of the rows of x with each label from 0 to k - 1, in the order of sum. The label -1 omits its row.";
    "segment_prod" RoutineName::Segments(SegmentFunction::Prod), (X, LABELS, K) "integer, float" => "int64, uint64, float"
        "The product of the rows of x with each label.";
    "segment_max" RoutineName::Segments(SegmentFunction::Max), (X, LABELS, K) "integer, float" => "the same"
        "The maximum of the rows of x with each label; of none, the lowest value of the dtype.";
    "segment_min" RoutineName::Segments(SegmentFunction::Min), (X, LABELS, K) "integer, float" => "the same"
        "The minimum of the rows of x with each label; of none, the highest value of the dtype.";
    "segment_mean" RoutineName::Segments(SegmentFunction::Mean), (X, LABELS, K) "float" => "the same"
        "The mean of the rows of x with each label; of none, NaN.";
    "segment_count" RoutineName::Segments(SegmentFunction::Count), (LABELS, K) "integer" => "int64"
        "The number of occurrences of each label from 0 to k - 1.";
    "histogram" RoutineName::Histogram, (X, EDGES) "integer, float" => "int64"
        "The number of elements of x between ascending edges. A bin contains its left edge, the last one also its right edge.";
    "nonzero" RoutineName::NonZero, (MASK, SIZE) "bool" => "int64"
        "The positions in row-major order of the first true elements of a mask, then -1.";
    "scatter" RoutineName::Scatter(ScatterMode::Set), (X, POSITIONS, VALUES) "bool, integer, float" => "the same"
        "x with values at positions, int64, in row-major order; of several values at one position, the last.";
    "scatter_add" RoutineName::Scatter(ScatterMode::Add), (X, POSITIONS, VALUES) "integer, float" => "the same"
        "x with the sum of the values at each position added, in the order of sum.";
    "scatter_multiply" RoutineName::Scatter(ScatterMode::Multiply), (X, POSITIONS, VALUES) "integer, float" => "the same"
        "x multiplied by the product of the values at each position.";
    "scatter_min" RoutineName::Scatter(ScatterMode::Min), (X, POSITIONS, VALUES) "integer, float" => "the same"
        "The minimum of x and of the values at each position.";
    "scatter_max" RoutineName::Scatter(ScatterMode::Max), (X, POSITIONS, VALUES) "integer, float" => "the same"
        "The maximum of x and of the values at each position.";
    "scattered_sum" RoutineName::Scattered(SegmentFunction::Sum), (VALUES, POSITIONS, SIZE) "integer, float" => "the same"
        "The sum of the values at each position below size. The dtype is one in which sums are computed.";
    "scattered_prod" RoutineName::Scattered(SegmentFunction::Prod), (VALUES, POSITIONS, SIZE) "integer, float" => "the same"
        "The product of the values at each position below size.";
    "scattered_max" RoutineName::Scattered(SegmentFunction::Max), (VALUES, POSITIONS, SIZE) "integer, float" => "the same"
        "The maximum of the values at each position below size.";
    "scattered_min" RoutineName::Scattered(SegmentFunction::Min), (VALUES, POSITIONS, SIZE) "integer, float" => "the same"
        "The minimum of the values at each position below size.";
    "scattered_count" RoutineName::Scattered(SegmentFunction::Count), (POSITIONS, SIZE) "integer" => "int64"
        "The number of occurrences of each position below size.";
}

/// A function of the table of reductions, as the language has it.
const fn reduction(function: ReductionFunction) -> BuiltIn {
    BuiltIn {
        name: function.name(),
        parameters: function.parameters(),
        takes: function.takes().words(),
        gives: function.gives().words(),
        doc: function.doc(),
        action: Action::Reduction(function),
    }
}

/// Makes the rows of a table the functions of a list.
macro_rules! rows {
    ($list:ident: $function:ident of $table:ident) => {
        static $list: [BuiltIn; $table::ALL.len()] = {
            let mut rows = [$function($table::ALL[0]); $table::ALL.len()];
            let mut at = 1;
            while at < rows.len() {
                rows[at] = $function($table::ALL[at]);
                at += 1;
            }
            rows
        };
    };
}
rows!(REDUCTIONS: reduction of ReductionFunction);

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
    "key" Key (SEED) => "uint32"
        "The key of a seed below 2⁶⁴: its low word, its high word, and two zeros.";
    "split" Split (KEY, COUNT) => "uint32"
        "n independent keys, along a new axis before that of the words.";
    "fold_in" FoldIn (KEY, NUMBER) => "uint32"
        "A key for each number modulo 2³², with its words along a new last axis.";
}

/// A draw of the table of draws, as the language has it.
const fn draw(draw: Draw) -> BuiltIn {
    BuiltIn {
        name: draw.name(),
        parameters: draw.parameters(),
        takes: "",
        gives: draw.gives().words(),
        doc: draw.doc(),
        action: Action::Generator(GeneratorName::Draw(draw)),
    }
}

rows!(DRAWS: draw of Draw);

/// All functions that take more than operands: the conversion, the changes of shape, those that take elements, the one that joins arrays, the
/// gradient, those that routines compute, the reductions, and those that generate arrays, among them the random draws.
///
/// ```
/// use broadloom_core::text::built_ins;
///
/// let sum = built_ins().find(|function| function.name == "sum").map(|sum| sum.signature());
/// assert_eq!(sum.as_deref(), Some("x, axis=…, dtype=…, keepdims=false"));
/// ```
pub fn built_ins() -> impl Iterator<Item = &'static BuiltIn> {
    [&CONVERSION]
        .into_iter()
        .chain(VIEWS)
        .chain(&TAKES)
        .chain([&JOIN, &PADDING, &GRADIENT])
        .chain(ROUTINES)
        .chain(&REDUCTIONS)
        .chain(GENERATORS)
        .chain(&DRAWS)
}
