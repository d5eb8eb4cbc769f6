//! The functions of the language that take more than operands: the conversion, the changes of shape, those that take elements
//! at computed indices, those that generate arrays, and the [reductions](crate::reductions), which have a table of their own.
//!
//! The resolver, its messages, the lists of functions and the documentation are generated from the rows.

use crate::draws::{Draw, KEY};
use crate::parameter::{DTYPE, Parameter, ParameterKind, X};
use crate::reductions::ReductionFunction;

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
    Grad,
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
            | Action::Grad
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

static GRADIENT: BuiltIn = BuiltIn {
    name: "grad",
    parameters: &[Parameter::operand("y"), X],
    takes: "float",
    gives: "the same",
    doc: "The derivative of y, which has no axes, with respect to each element of x, a name from which y was computed.",
    action: Action::Grad,
};

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
/// gradient, the reductions, and those that generate arrays, among them the random draws.
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
        .chain([&JOIN, &GRADIENT])
        .chain(&REDUCTIONS)
        .chain(GENERATORS)
        .chain(&DRAWS)
}
