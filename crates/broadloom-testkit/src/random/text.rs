//! Prints programs as readable text, and parses them.
//!
//! A printed program parses to an equal one, bit for bit. A type annotation on a line must match the line's type. The grammar is
//! the library's text language, including settings, extended by the values of inputs; each function call becomes a step.
//!
//! ```text
//! int_division error                       optional, as are `promotion numpy`, `accuracy nearest`, `contract on`
//! x: int32[2] = [1, -5]                    an array in memory, row by row
//! c = float32(0.5)                         a number with a dtype
//! y = x // 2                               a function; numbers without a dtype are literals
//! z: float32[2] = astype(y, float32)       a type is optional, and is checked
//! return z[::-1], y
//! ```

use std::fmt;
use std::str::FromStr;

use broadloom_core::Accuracy;
use broadloom_core::draws::DrawCall;
use broadloom_core::graph::{IntDivision, Semantics};
use broadloom_core::indices::Indices;
use broadloom_core::reductions::ReductionCall;
use broadloom_core::text::{
    self, GeneratorCall, Input, Item, Library, Meaning, Module, ParseOptions, RoutineCall, RoutineName,
    TakeName, TextError, print,
};
use broadloom_core::{DType, Dim, Error, ErrorKind, Literal, Op, Promotion, Scalar};

use super::draws;
use super::program::{Arg, Program, PySlice, RandomRecurrence, Step, TakeKind, View, WholeArrayCall};
use super::typing::{self, Type};
use crate::reduction::{Cumulative, Function, Reduction, VecDot};
use crate::tensor::Tensor;

impl fmt::Display for PySlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PySlice { start, stop, step } = *self;
        Indices::Range { start, stop, step }.fmt(f)
    }
}

/// The text of a view of the named operand.
fn view_text(of: &str, view: &View) -> String {
    fn all(x: &[impl ToString]) -> String {
        x.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
    match view {
        View::Slice(ranges) if ranges.is_empty() => format!("{of}[...]"),
        View::Slice(ranges) => format!("{of}[{}]", all(ranges)),
        View::PermuteDims(axes) => format!("permute_dims({of}, [{}])", all(axes)),
        View::BroadcastTo(shape) => format!("broadcast_to({of}, [{}])", all(shape)),
        View::Reshape(shape) => format!("reshape({of}, [{}])", all(shape)),
        View::ExpandDims(axis) => format!("expand_dims({of}, {axis})"),
        View::Squeeze(axis) => format!("squeeze({of}, {axis})"),
        View::Flip(axis) => format!("flip({of}, {axis})"),
        View::IndexAxis(axis, index) => format!("index_axis({of}, {axis}, {index})"),
        View::SlidingWindow(length, axis) => format!("sliding_window({of}, {length}, {axis})"),
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&view_text("x", self))
    }
}

/// The text of an element, which parses to the same bits.
pub(crate) fn element(dtype: DType, bits: u64) -> String {
    print::element(Scalar { dtype, bits }).to_string()
}

/// The text of a dtype and a shape.
pub(crate) fn type_text(dtype: DType, shape: &[usize]) -> String {
    print::ty(dtype, shape).to_string()
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Input(x) => {
                let elements: Vec<String> = x.bits.iter().map(|&bits| element(x.dtype, bits)).collect();
                write!(f, "[{}]", elements.join(", "))
            }
            Step::Constant(dtype, bits) => print::constant(Scalar { dtype: *dtype, bits: *bits }).fmt(f),
            Step::Apply(op, args) => {
                let arg = |arg: &Arg| match arg {
                    Arg::Step(i) => format!("s{i}"),
                    Arg::Literal(x) => print::operand(*x).to_string(),
                };
                print::apply(*op, &args.iter().map(arg).collect::<Vec<_>>()).fmt(f)
            }
            Step::Cast(arg, dtype) => print::cast(&format!("s{arg}"), *dtype).fmt(f),
            Step::View(arg, view) => f.write_str(&view_text(&format!("s{arg}"), view)),
            Step::Concat(args, axis) => {
                let args: Vec<String> = args.iter().map(|arg| format!("s{arg}")).collect();
                write!(f, "concat({}, axis={axis})", args.join(", "))
            }
            Step::Take(TakeKind::Take, x, indices, 0) => write!(f, "s{x}[s{indices}]"),
            Step::Take(kind, x, indices, axis) => write!(f, "{}(s{x}, s{indices}, axis={axis})", kind.name()),
            Step::WholeArray(call, args) => {
                let args: Vec<String> = args.iter().map(|arg| format!("s{arg}")).collect();
                f.write_str(&call.text(&args))
            }
            Step::Draw(call, args) => f.write_str(&draws::text(call, args)),
            Step::Reduce(arg, reduction) => f.write_str(&reduction.text(&format!("s{arg}"))),
            Step::Scan(arg, scan) => f.write_str(&scan.text(&format!("s{arg}"))),
            Step::VecDot(x, y, dot) => f.write_str(&dot.text(&format!("s{x}"), &format!("s{y}"))),
            // Within the body, numbers are its own.
            Step::While(of, item) => {
                let listed = |of: &[usize]| of.iter().map(|i| format!("s{i}")).collect::<Vec<_>>().join(", ");
                write!(f, "while ({}; {}; s{})", listed(&of.state), listed(&of.captured), of.condition)?;
                of.limit.iter().try_for_each(|limit| write!(f, " limit {limit}"))?;
                let first = of.state.len() + of.captured.len();
                let body = of.body.iter().enumerate().map(|(i, step)| format!("s{} = {step}; ", first + i));
                write!(f, " {{ {}next {} }} value {item}", body.collect::<String>(), listed(&of.next))
            }
            Step::Recurrence(of, item) => {
                let listed = |of: &[usize]| of.iter().map(|i| format!("s{i}")).collect::<Vec<_>>().join(", ");
                let [state, inputs, captured] = [&of.state, &of.inputs, &of.captured].map(|of| listed(of));
                let RandomRecurrence { axis, order, next, outputs, .. } = &**of;
                write!(f, "scan ({state}; {inputs}; {captured}) axis {axis} {order:?}")?;
                let first = of.state.len() + of.inputs.len() + of.captured.len();
                let body = of.body.iter().enumerate().map(|(i, step)| format!("s{} = {step}; ", first + i));
                let body = body.collect::<String>();
                write!(f, " {{ {body}next {}; outputs {} }} value {item}", listed(next), listed(outputs))
            }
        }
    }
}

/// One line per step with its type, and one for the roots.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.promotion == Promotion::NumPy {
            writeln!(f, "promotion numpy")?;
        }
        let Semantics { int_division, accuracy, contract } = self.semantics;
        if int_division == IntDivision::Error {
            writeln!(f, "int_division error")?;
        }
        if accuracy == Accuracy::Nearest {
            writeln!(f, "accuracy nearest")?;
        }
        if contract {
            writeln!(f, "contract on")?;
        }
        let types = typing::types(self);
        for (i, step) in self.steps.iter().enumerate() {
            match types.get(i) {
                Some(t) => writeln!(f, "s{i}: {} = {step}", type_text(t.dtype, &t.shape))?,
                None => writeln!(f, "s{i} = {step}")?,
            }
        }
        let roots: Vec<String> = self.roots.iter().map(|i| format!("s{i}")).collect();
        writeln!(f, "return {}", roots.join(", "))
    }
}

/// The reason why a text is not a program, and the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// The line number, from 1.
    pub line: usize,
    /// The message.
    pub message: String,
}

impl ProgramError {
    fn new(text: &str, error: &TextError) -> ProgramError {
        let help = error.help.as_ref().map_or(String::new(), |help| format!("; {help}"));
        ProgramError { line: error.position(text).0, message: format!("{}{help}", error.message) }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ProgramError {}

/// The limits for a program's text. They are higher than the defaults, since the values of inputs take much space.
fn limits() -> ParseOptions {
    ParseOptions { max_bytes: 1 << 28, max_nodes: 1 << 22, data: true, ..ParseOptions::default() }
}

/// Parses a program as written by its `Display`, or by hand.
///
/// ```
/// use broadloom_testkit::random::{Program, Size, program};
///
/// let text = "x: int8[2] = [1, -2]\ny = x + 3\nreturn y\n";
/// assert_eq!(text.parse::<Program>()?.run()?.values[1].bits, [4, 1]);
/// let other = program(7, Size::Small);
/// assert_eq!(other.to_string().parse::<Program>()?, other);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl FromStr for Program {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Program, ProgramError> {
        let (promotion, semantics) = (Promotion::Strict, Semantics::default());
        let program = Program { steps: Vec::new(), roots: Vec::new(), promotion, semantics };
        let mut steps = Steps { program, types: Vec::new() };
        let module = Module::parse(text, &Library::default(), &limits());
        let module = module.map_err(|error| ProgramError::new(text, &error))?;
        let values = text::evaluate(&module, &mut steps).map_err(|error| ProgramError::new(text, &error))?;
        for (number, value) in values.into_iter().enumerate() {
            match value {
                Arg::Step(step) => steps.program.roots.push(step),
                Arg::Literal(x) => {
                    let message = format!("what is returned is the literal {x}, which has no dtype");
                    let error = TextError::new(ErrorKind::Literal, &module.result_span(number), message);
                    return Err(ProgramError::new(text, &error));
                }
            }
        }
        Ok(steps.program)
    }
}

/// The steps parsed so far.
struct Steps {
    program: Program,
    types: Vec<Type>,
}

fn error<T>(kind: ErrorKind, why: impl Into<String>) -> broadloom_core::Result<T> {
    Err(Error::new(kind, why))
}

impl Steps {
    fn push(&mut self, step: Step) -> broadloom_core::Result<Arg> {
        let t = typing::type_of(&step, &self.types, self.program.promotion)
            .or_else(|why| error(ErrorKind::DType, why))?;
        self.types.push(t);
        self.program.steps.push(step);
        Ok(Arg::Step(self.types.len() - 1))
    }

    /// Adds steps for the items in an index bracket: first a view with all slices, and then one step per single index.
    fn index(&mut self, of: usize, items: &[Item]) -> broadloom_core::Result<Arg> {
        let rank = self.types[of].shape.len();
        let given = items.iter().filter(|item| **item != Item::Rest).count();
        let Some(missing) = rank.checked_sub(given) else {
            return error(ErrorKind::Shape, format!("{given} indices of an array that has rank {rank}"));
        };
        let whole = PySlice { start: None, stop: None, step: 1 };
        let (mut ranges, mut single) = (Vec::new(), Vec::new());
        for (number, item) in items.iter().enumerate() {
            match *item {
                // An ellipsis at the end adds no ranges.
                Item::Rest if number + 1 == items.len() => {}
                Item::Rest => ranges.extend(std::iter::repeat_n(whole, missing)),
                Item::Of(Indices::Range { start, stop, step }) => ranges.push(PySlice { start, stop, step }),
                Item::Of(Indices::At(index)) => {
                    single.push((ranges.len() as isize, index));
                    ranges.push(whole);
                }
                Item::Computed => return error(ErrorKind::Internal, "a view with computed indices"),
            }
        }
        let mut made = Arg::Step(of);
        if single.len() < ranges.len() || single.is_empty() {
            made = self.push(Step::View(of, View::Slice(ranges)))?;
        }
        for (axis, index) in single.into_iter().rev() {
            let Arg::Step(of) = made else { break };
            made = self.push(Step::View(of, View::IndexAxis(axis, index)))?;
        }
        Ok(made)
    }
}

/// How a function takes elements.
fn kind_of(name: TakeName) -> broadloom_core::Result<TakeKind> {
    match name {
        TakeName::Take => Ok(TakeKind::Take),
        TakeName::TakeAlongAxis => Ok(TakeKind::AlongAxis),
        TakeName::ElementsAt => error(ErrorKind::Name, "elements_at: the reference does not know it"),
    }
}

/// The number of the step that an operand refers to; an error for a literal.
fn step(x: &Arg, what: &str) -> broadloom_core::Result<usize> {
    match x {
        Arg::Step(step) => Ok(*step),
        Arg::Literal(x) => {
            error(ErrorKind::Literal, format!("{what} of the literal {x}, which has no dtype"))
        }
    }
}

impl Meaning for Steps {
    type Value = Arg;

    fn literal(&mut self, x: Literal) -> Arg {
        Arg::Literal(x)
    }

    fn constant(&mut self, x: Scalar) -> Arg {
        self.types.push(Type { dtype: x.dtype, shape: Vec::new() });
        self.program.steps.push(Step::Constant(x.dtype, x.bits));
        Arg::Step(self.types.len() - 1)
    }

    fn apply(&mut self, op: Op, args: &[Arg]) -> broadloom_core::Result<Arg> {
        self.push(Step::Apply(op, args.to_vec()))
    }

    fn cast(&mut self, x: &Arg, dtype: DType) -> broadloom_core::Result<Arg> {
        let of = step(x, "a conversion")?;
        self.push(Step::Cast(of, dtype))
    }

    fn view(&mut self, x: &Arg, view: text::View<'_>) -> broadloom_core::Result<Arg> {
        let of = step(x, "a view")?;
        let view = match view {
            text::View::Index(items) => return self.index(of, items),
            text::View::PermuteDims(axes) => View::PermuteDims(axes.to_vec()),
            text::View::BroadcastTo(shape) => {
                let extents = shape.iter().map(|&extent| usize::try_from(extent)).collect::<Result<_, _>>();
                View::BroadcastTo(extents.or_else(|_| error(ErrorKind::Shape, "an extent is negative"))?)
            }
            text::View::Reshape(shape) => View::Reshape(shape.to_vec()),
            text::View::ExpandDims(axis) => View::ExpandDims(axis),
            text::View::Squeeze(axis) => View::Squeeze(axis),
            text::View::Flip(axis) => View::Flip(axis),
            text::View::IndexAxis(axis, index) => View::IndexAxis(axis, index),
            text::View::SlidingWindow(length, axis) => {
                let length = usize::try_from(length);
                View::SlidingWindow(
                    length.or_else(|_| error(ErrorKind::Shape, "a length is negative"))?,
                    axis,
                )
            }
        };
        self.push(Step::View(of, view))
    }

    fn concat(&mut self, args: &[Arg], axis: isize) -> broadloom_core::Result<Arg> {
        let of =
            args.iter().map(|arg| step(arg, "concat")).collect::<broadloom_core::Result<Vec<usize>>>()?;
        self.push(Step::Concat(of, axis))
    }

    fn take(&mut self, name: TakeName, args: &[Arg], axis: isize) -> broadloom_core::Result<Arg> {
        let (kind, [x, indices]) = (kind_of(name)?, args) else {
            return error(ErrorKind::Arity, format!("a take of {} operands", args.len()));
        };
        let (x, indices) = (step(x, kind.name())?, step(indices, kind.name())?);
        self.push(Step::Take(kind, x, indices, axis))
    }

    fn routine(&mut self, call: &RoutineCall, args: &[Arg]) -> broadloom_core::Result<Arg> {
        let of =
            args.iter().map(|arg| step(arg, "a routine")).collect::<broadloom_core::Result<Vec<usize>>>()?;
        let &RoutineCall { name, axis, count, flag } = call;
        let count = usize::try_from(count).or_else(|_| error(ErrorKind::Shape, "an extent is negative"));
        let call = match name {
            RoutineName::Sort => WholeArrayCall::Sort { axis, descending: flag },
            RoutineName::ArgSort => WholeArrayCall::ArgSort { axis, descending: flag },
            RoutineName::SearchSorted => WholeArrayCall::SearchSorted { right: flag },
            RoutineName::TopK | RoutineName::TopKIndices => {
                let is_indices = name == RoutineName::TopKIndices;
                WholeArrayCall::TopK { k: count?, axis, largest: flag, is_indices }
            }
            RoutineName::Segments(function) => WholeArrayCall::Segments { function, segments: count? },
            RoutineName::Scatter(mode) => WholeArrayCall::Scatter(mode),
            RoutineName::Scattered(_) | RoutineName::Histogram | RoutineName::NonZero => {
                return error(ErrorKind::Name, format!("{name:?}: the reference does not know it"));
            }
        };
        self.push(Step::WholeArray(call, of))
    }

    fn reduce(&mut self, call: &ReductionCall, args: &[Arg]) -> broadloom_core::Result<Arg> {
        let name = call.function.name();
        let of = args.iter().map(|arg| step(arg, name)).collect::<broadloom_core::Result<Vec<usize>>>()?;
        let axis = call.axis.as_ref().and_then(|axes| axes.first().copied());
        let axes = call.axis.as_ref().map(|axes| axes.to_vec());
        let &ReductionCall { keepdims, dtype, correction, ord, include_initial, .. } = call;
        let step = match (&of[..], Function::from_name(name)) {
            (&[x, y], _) => Step::VecDot(x, y, VecDot { axis: axis.unwrap_or(-1) }),
            (&[x], Some(function)) => {
                // A dtype equal to the default is left out.
                let dtype = dtype.filter(|&dtype| function != Function::Count || dtype != DType::Int64);
                Step::Reduce(x, Reduction { function, axes, keepdims, dtype, correction, ord })
            }
            (&[x], None) => {
                let is_product = name == "cumulative_prod";
                Step::Scan(x, Cumulative { is_product, axis, dtype, include_initial })
            }
            _ => return error(ErrorKind::Arity, format!("{name} of {} operands", of.len())),
        };
        self.push(step)
    }

    fn generate(&mut self, call: &GeneratorCall, args: &[Arg]) -> broadloom_core::Result<Arg> {
        if let GeneratorCall::Draw { draw, shape, dtype } = call {
            let extents: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
            let Some(shape) = extents else { return error(ErrorKind::Shape, "an extent is negative") };
            let call = DrawCall::new(*draw, &shape, Some(*dtype))?;
            return self.push(Step::Draw(Box::new(call), args.to_vec()));
        }
        error(ErrorKind::Name, "the arrays of a program of the test kit have their values in the text")
    }

    fn host(&mut self, _id: u32, _args: &[Arg]) -> broadloom_core::Result<Arg> {
        error(ErrorKind::Internal, "a program has no host functions")
    }

    fn input(&mut self, input: &Input<'_>, data: Option<&[u64]>) -> broadloom_core::Result<Arg> {
        let (Some(bits), Some(dtype)) = (data, input.dtype()) else {
            return error(ErrorKind::Name, format!("the input `{}` has no values", input.name()));
        };
        let fixed = |dim: &Dim| if let Dim::Fixed(n) = dim { *n } else { 0 };
        let shape = input.dims().iter().flatten().map(fixed).collect();
        self.push(Step::Input(Tensor { dtype, shape, bits: bits.to_vec() }))
    }

    fn free(&mut self, _name: &str) -> Option<Arg> {
        None
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }

    fn check(&mut self, value: &Arg, declared: &Input<'_>) -> broadloom_core::Result<()> {
        let of = step(value, "the type")?;
        let Type { dtype, shape } = &self.types[of];
        let extents: Vec<Dim> = shape.iter().map(|&extent| Dim::Fixed(extent)).collect();
        if declared.dtype() == Some(*dtype) && declared.dims() == Some(extents) {
            return Ok(());
        }
        let (name, said) = (declared.name(), declared.type_text().unwrap_or_default());
        error(ErrorKind::DType, format!("{name} is {}, not {said}", type_text(*dtype, shape)))
    }

    fn set(&mut self, name: &str, value: &str) -> broadloom_core::Result<()> {
        let semantics = &mut self.program.semantics;
        match (name, value) {
            ("promotion", "strict") => self.program.promotion = Promotion::Strict,
            ("promotion", "numpy") => self.program.promotion = Promotion::NumPy,
            ("promotion", _) => {
                return error(ErrorKind::Name, format!("`{value}` is no promotion: strict or numpy"));
            }
            ("int_division", "zero") => semantics.int_division = IntDivision::Zero,
            ("int_division", "error") => semantics.int_division = IntDivision::Error,
            ("int_division", _) => {
                return error(ErrorKind::Name, format!("`{value}` is no int_division: zero or error"));
            }
            ("accuracy", "fast") => semantics.accuracy = Accuracy::Fast,
            ("accuracy", "nearest") => semantics.accuracy = Accuracy::Nearest,
            ("accuracy", _) => {
                return error(ErrorKind::Name, format!("`{value}` is no accuracy: fast or nearest"));
            }
            ("contract", "off") => semantics.contract = false,
            ("contract", "on") => semantics.contract = true,
            ("contract", _) => {
                return error(ErrorKind::Name, format!("`{value}` is no value of contract: on or off"));
            }
            _ => {
                let all = "promotion, int_division, accuracy, contract";
                return error(ErrorKind::Name, format!("there is no setting `{name}`: {all}"));
            }
        }
        Ok(())
    }

    fn show(&self, x: &Arg) -> String {
        match x {
            Arg::Step(step) => self.types.get(*step).map_or(String::new(), |t| type_text(t.dtype, &t.shape)),
            Arg::Literal(x) => x.to_string(),
        }
    }
}
