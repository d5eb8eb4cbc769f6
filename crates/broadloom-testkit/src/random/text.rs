//! A program as text that people can read, and read back.
//!
//! In: a [`Program`], or text. Out: the other. Must hold: what is printed reads back as the same program, bit for bit;
//! a type that is written on a line is the line's type.
//!
//! ```text
//! int_division error                       optional, as `promotion numpy` is
//! x: int32[2] = [1, -5]                    an array in memory, row by row
//! c: float32[] = 0.5                       a number that has met a dtype
//! y = floor_divide(x, 2)                   a function; numbers without a dtype are literals
//! z: float32[2] = astype(y, float32)       a type may be written, and is checked
//! w = slice(z, ::-1)                       a view
//! return w, y
//! ```
//!
//! Numbers are decimal, `true false nan -nan inf -inf`, or `0x` and the bits of the dtype.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use broadloom_core::graph::IntDivision;
use broadloom_core::{DType, Kind, Literal, Op, Promotion};
use winnow::ascii::{dec_int, dec_uint, space0};
use winnow::combinator::{alt, delimited, opt, preceded, repeat, separated};
use winnow::prelude::*;
use winnow::token::{one_of, take_while};

use super::program::{Arg, Program, PySlice, Step, Tensor, View};
use super::typing::{self, Type};
use crate::Value;

impl fmt::Display for PySlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |x: Option<isize>| x.map_or(String::new(), |x| x.to_string());
        write!(f, "{}:{}:{}", bound(self.start), bound(self.stop), self.step)
    }
}

/// The view's name and, each after a comma, its parameters.
fn view_parts(view: &View) -> (&'static str, Vec<String>) {
    fn all(x: &[impl ToString]) -> Vec<String> {
        x.iter().map(ToString::to_string).collect()
    }
    match view {
        View::Slice(ranges) => ("slice", all(ranges)),
        View::PermuteDims(axes) => ("permute_dims", all(axes)),
        View::BroadcastTo(shape) => ("broadcast_to", all(shape)),
        View::Reshape(shape) => ("reshape", all(shape)),
        View::ExpandDims(axis) => ("expand_dims", all(&[*axis])),
        View::Squeeze(axis) => ("squeeze", all(&[*axis])),
        View::Flip(axis) => ("flip", all(&[*axis])),
        View::IndexAxis(axis, index) => ("index_axis", all(&[*axis, *index])),
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, parameters) = view_parts(self);
        write!(f, "{name}({})", parameters.join(", "))
    }
}

/// An element, as it reads back.
pub(crate) fn element(dtype: DType, bits: u64) -> String {
    let value = Value::from_bits(dtype.name(), bits).expect("a dtype of the oracle");
    let nan = |quiet: u64, sign: u64| match bits {
        _ if bits == quiet => "nan".into(),
        _ if bits == quiet | sign => "-nan".into(),
        _ => format!("{bits:#x}"),
    };
    match value {
        Value::F16(x) if x.is_nan() => nan(0x7e00, 1 << 15),
        Value::F32(x) if x.is_nan() => nan(0x7fc0_0000, 1 << 31),
        Value::F64(x) if x.is_nan() => nan(0x7ff8 << 48, 1 << 63),
        Value::F16(x) => format!("{:?}", x.to_f32()),
        Value::F32(x) => format!("{x:?}"),
        Value::F64(x) => format!("{x:?}"),
        Value::Bool(x) => x.to_string(),
        _ if dtype.kind() == Kind::Signed => {
            let unused = 64 - 8 * dtype.size() as u32;
            ((bits << unused) as i64 >> unused).to_string()
        }
        _ => bits.to_string(),
    }
}

fn literal_text(literal: Literal) -> String {
    match literal {
        Literal::Float(x) => element(DType::Float64, x.to_bits()),
        other => other.to_string(),
    }
}

/// A dtype and a shape.
pub(crate) fn type_text(dtype: DType, shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("{dtype}[{}]", extents.join(","))
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Input(x) => {
                let elements: Vec<String> = x.bits.iter().map(|&bits| element(x.dtype, bits)).collect();
                write!(f, "[{}]", elements.join(", "))
            }
            Step::Constant(dtype, bits) => f.write_str(&element(*dtype, *bits)),
            Step::Apply(op, args) => {
                let arg = |arg: &Arg| match arg {
                    Arg::Step(i) => format!("s{i}"),
                    Arg::Literal(x) => literal_text(*x),
                };
                write!(f, "{op}({})", args.iter().map(arg).collect::<Vec<_>>().join(", "))
            }
            Step::Cast(arg, dtype) => write!(f, "astype(s{arg}, {dtype})"),
            Step::View(arg, view) => {
                let (name, parameters) = view_parts(view);
                write!(f, "{name}({})", [vec![format!("s{arg}")], parameters].concat().join(", "))
            }
        }
    }
}

/// One line per step, with its type, and one for the roots.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.promotion == Promotion::NumPy {
            writeln!(f, "promotion numpy")?;
        }
        if self.int_division == IntDivision::Error {
            writeln!(f, "int_division error")?;
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

/// Why text is no program, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// The line, from 1; the one after the last for what is missing.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ProgramError {}

/// Reads a program, as its `Display` writes it.
///
/// ```
/// use broadloom_testkit::random::{Program, Size, program};
///
/// let text = "x: int8[2] = [1, -2]\ny = add(x, 3)\nreturn y\n";
/// assert_eq!(text.parse::<Program>()?.run()?.values[1].bits, [4, 1]);
/// let other = program(7, Size::Small);
/// assert_eq!(other.to_string().parse::<Program>()?, other);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl FromStr for Program {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Program, ProgramError> {
        let (promotion, int_division) = (Promotion::Strict, IntDivision::Zero);
        let program = Program { steps: Vec::new(), roots: Vec::new(), promotion, int_division };
        let mut reader = Reader { program, types: Vec::new(), names: HashMap::new() };
        let mut last = 0;
        for (number, line) in text.lines().enumerate() {
            last = number + 1;
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                reader.line(line).map_err(|message| ProgramError { line: last, message })?;
            }
        }
        match reader.program.roots.is_empty() {
            true => Err(ProgramError { line: last + 1, message: "no line says what to return".into() }),
            false => Ok(reader.program),
        }
    }
}

/// What a program's lines mean so far.
struct Reader<'t> {
    program: Program,
    types: Vec<Type>,
    names: HashMap<&'t str, usize>,
}

impl<'t> Reader<'t> {
    fn line(&mut self, line: &'t str) -> Result<(), String> {
        if !self.program.roots.is_empty() {
            return Err("nothing can follow what is returned".into());
        }
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["promotion", mode] => {
                self.program.promotion = match mode {
                    "strict" => Promotion::Strict,
                    "numpy" => Promotion::NumPy,
                    _ => return Err(format!("`{mode}` is no promotion: strict or numpy")),
                };
                return Ok(());
            }
            ["int_division", what] => {
                self.program.int_division = match what {
                    "zero" => IntDivision::Zero,
                    "error" => IntDivision::Error,
                    _ => return Err(format!("`{what}` is no int_division: zero or error")),
                };
                return Ok(());
            }
            _ => {}
        }
        let (head, body) = match parsed(statement, line)? {
            Line::Return(names) => {
                self.program.roots = names.iter().map(|name| self.step(name)).collect::<Result<_, _>>()?;
                return Ok(());
            }
            Line::Step(head, body) => (head, body),
        };
        let step = self.body(&head, body)?;
        let t = typing::type_of(&step, &self.types, self.program.promotion)?;
        if let Some((dtype, shape)) = &head.typed
            && (*dtype, shape) != (t.dtype, &t.shape)
        {
            let (is, said) = (type_text(t.dtype, &t.shape), type_text(*dtype, shape));
            return Err(format!("{} is {is}, not {said}", head.name));
        }
        if self.names.insert(head.name, self.types.len()).is_some() {
            return Err(format!("{} has a value already", head.name));
        }
        self.program.steps.push(step);
        self.types.push(t);
        Ok(())
    }

    fn body(&self, head: &Head<'t>, body: Body<'t>) -> Result<Step, String> {
        let typed = || head.typed.clone().ok_or_else(|| format!("the type of {} is missing", head.name));
        match body {
            Body::Elements(words) => {
                let (dtype, shape) = typed()?;
                let bits = words.iter().map(|word| bits_of(word, dtype)).collect::<Result<Vec<_>, _>>()?;
                let n = typing::elements(&shape)?;
                if bits.len() != n {
                    return Err(format!("{} elements, not {n}", bits.len()));
                }
                Ok(Step::Input(Tensor { dtype, shape, bits }))
            }
            Body::Number(word) => Ok(Step::Constant(typed()?.0, bits_of(word, typed()?.0)?)),
            Body::Call(name, args) => self.call(name, &args),
        }
    }

    fn call(&self, name: &str, args: &[Word<'t>]) -> Result<Step, String> {
        if let Some(op) = Op::from_name(name).filter(|op| Op::public().any(|public| public == *op)) {
            return Ok(Step::Apply(op, args.iter().map(|arg| self.arg(arg)).collect::<Result<_, _>>()?));
        }
        let Some((Word::Name(of), rest)) = args.split_first() else {
            return Err(format!("{name} takes a name first"));
        };
        let of = self.step(of)?;
        let view = match (name, rest) {
            ("astype", [Word::Name(dtype)]) => {
                let dtype = DType::from_name(dtype).ok_or_else(|| format!("`{dtype}` is no dtype"))?;
                return Ok(Step::Cast(of, dtype));
            }
            ("slice", ranges) => View::Slice(ranges.iter().map(Word::range).collect::<Result<_, _>>()?),
            ("permute_dims", axes) => View::PermuteDims(integers(axes)?),
            ("broadcast_to", shape) => {
                let extent = |e: isize| usize::try_from(e).map_err(|_| format!("{e} is no extent"));
                View::BroadcastTo(integers(shape)?.into_iter().map(extent).collect::<Result<_, _>>()?)
            }
            ("reshape", shape) => View::Reshape(integers(shape)?),
            ("expand_dims", [axis]) => View::ExpandDims(axis.integer()?),
            ("squeeze", [axis]) => View::Squeeze(axis.integer()?),
            ("flip", [axis]) => View::Flip(axis.integer()?),
            ("index_axis", [axis, index]) => View::IndexAxis(axis.integer()?, index.integer()?),
            _ => return Err(format!("there is no {name} of so many parameters")),
        };
        Ok(Step::View(of, view))
    }

    fn arg(&self, word: &Word<'t>) -> Result<Arg, String> {
        match word {
            Word::Name(name) => self.step(name).map(Arg::Step),
            Word::Number(number) => literal(number).map(Arg::Literal),
            Word::Range(_) => Err("a range is no operand".into()),
        }
    }

    fn step(&self, name: &str) -> Result<usize, String> {
        self.names.get(name).copied().ok_or_else(|| format!("there is no {name} above"))
    }
}

/// The bits of an element as it is written.
fn bits_of(word: &str, dtype: DType) -> Result<u64, String> {
    let cannot = || format!("`{word}` is no {dtype}");
    if let Some(digits) = word.strip_prefix("0x") {
        let bits = u64::from_str_radix(digits, 16).map_err(|_| cannot())?;
        let width = if dtype == DType::Bool { 1 } else { 8 * dtype.size() };
        return if bits >> (width - 1) <= 1 { Ok(bits) } else { Err(cannot()) };
    }
    let sign = u64::from(word.starts_with('-'));
    let is_nan = matches!(word, "nan" | "-nan");
    match dtype {
        DType::Bool => word.parse::<bool>().map(u64::from).map_err(|_| cannot()),
        DType::Float16 if is_nan => Ok(0x7e00 | sign << 15),
        DType::Float32 if is_nan => Ok(0x7fc0_0000 | sign << 31),
        DType::Float64 if is_nan => Ok(0x7ff8 << 48 | sign << 63),
        DType::Float16 => float::<half::f16>(word).map(|x| x.to_bits().into()).ok_or_else(cannot),
        DType::Float32 => float::<f32>(word).map(|x| x.to_bits().into()).ok_or_else(cannot),
        DType::Float64 => float::<f64>(word).map(f64::to_bits).ok_or_else(cannot),
        _ => {
            let x = Literal::Int(word.parse::<i128>().map_err(|_| cannot())?);
            typing::literal(x, dtype).ok_or_else(cannot)
        }
    }
}

/// A float; what is finite as it is written stays so.
fn float<T: FromStr + Copy + Into<f64>>(word: &str) -> Option<T> {
    let x: T = word.parse().ok()?;
    (x.into().is_finite() || word.ends_with("inf")).then_some(x)
}

fn literal(word: &str) -> Result<Literal, String> {
    if let Ok(x) = word.parse::<bool>() {
        return Ok(Literal::Bool(x));
    }
    match word.parse::<i128>() {
        Ok(x) => Ok(Literal::Int(x)),
        Err(_) => Ok(Literal::Float(f64::from_bits(bits_of(word, DType::Float64)?))),
    }
}

fn integers(words: &[Word<'_>]) -> Result<Vec<isize>, String> {
    words.iter().map(Word::integer).collect()
}

/// A line, by its form alone.
enum Line<'t> {
    Step(Head<'t>, Body<'t>),
    Return(Vec<&'t str>),
}

/// What stands before the equals sign.
struct Head<'t> {
    name: &'t str,
    typed: Option<(DType, Vec<usize>)>,
}

/// What stands behind it.
enum Body<'t> {
    Elements(Vec<&'t str>),
    Number(&'t str),
    Call(&'t str, Vec<Word<'t>>),
}

/// An operand or a parameter.
enum Word<'t> {
    Name(&'t str),
    Number(&'t str),
    Range(PySlice),
}

impl Word<'_> {
    fn integer(&self) -> Result<isize, String> {
        match self {
            Word::Number(number) => number.parse().map_err(|_| format!("`{number}` is no integer")),
            _ => Err("an integer is missing".into()),
        }
    }

    fn range(&self) -> Result<PySlice, String> {
        match self {
            Word::Range(range) => Ok(*range),
            _ => Err("a range is written start:stop:step".into()),
        }
    }
}

/// The whole text by one parser.
fn parsed<'t, T>(mut parser: impl FnMut(&mut &'t str) -> ModalResult<T>, text: &'t str) -> Result<T, String> {
    let mut rest = text;
    match parser(&mut rest) {
        Ok(made) if rest.is_empty() => Ok(made),
        _ => Err(format!("this can't be read: {}", if rest.is_empty() { text } else { rest })),
    }
}

fn statement<'t>(input: &mut &'t str) -> ModalResult<Line<'t>> {
    alt((
        preceded("return ", separated(1.., name, comma)).map(Line::Return),
        (name, opt(preceded((":", space0), typed)), preceded((space0, "=", space0), body))
            .map(|(name, typed, body)| Line::Step(Head { name, typed }, body)),
    ))
    .parse_next(input)
}

fn typed(input: &mut &str) -> ModalResult<(DType, Vec<usize>)> {
    let extents = delimited(("[", space0), separated(0.., dec_uint::<_, usize, _>, comma), (space0, "]"));
    (name.verify_map(DType::from_name), extents).parse_next(input)
}

fn body<'t>(input: &mut &'t str) -> ModalResult<Body<'t>> {
    alt((
        delimited(("[", space0), separated(0.., number, comma), (space0, "]")).map(Body::Elements),
        (name, delimited(("(", space0), separated(1.., word, comma), (space0, ")")))
            .map(|(name, args)| Body::Call(name, args)),
        number.map(Body::Number),
    ))
    .parse_next(input)
}

fn word<'t>(input: &mut &'t str) -> ModalResult<Word<'t>> {
    alt((range.map(Word::Range), number.map(Word::Number), name.map(Word::Name))).parse_next(input)
}

fn range(input: &mut &str) -> ModalResult<PySlice> {
    let bound = |input: &mut &str| opt(dec_int::<_, isize, _>).parse_next(input);
    let step = opt(preceded(":", dec_int::<_, isize, _>)).map(|step| step.unwrap_or(1));
    (bound, ":", bound, step).map(|(start, _, stop, step)| PySlice { start, stop, step }).parse_next(input)
}

/// A number of any dtype, not looked at any further.
fn number<'t>(input: &mut &'t str) -> ModalResult<&'t str> {
    let digits = (opt("-"), one_of('0'..='9'), take_while(0.., ('0'..='9', 'a'..='f', 'A'..='F', 'x', '.')));
    let rest = repeat::<_, _, (), _, _>(0.., (one_of(['+', '-']), take_while(1.., '0'..='9'))).take();
    let name = (opt("-"), alt(("nan", "inf", "true", "false")), not_in_name);
    alt(((digits, rest).take(), name.take())).parse_next(input)
}

/// The end of a name.
fn not_in_name(input: &mut &str) -> ModalResult<()> {
    winnow::combinator::not(one_of(('a'..='z', 'A'..='Z', '0'..='9', '_'))).parse_next(input)
}

fn name<'t>(input: &mut &'t str) -> ModalResult<&'t str> {
    let first = one_of(('a'..='z', 'A'..='Z', '_'));
    (first, take_while(0.., ('a'..='z', 'A'..='Z', '0'..='9', '_'))).take().parse_next(input)
}

fn comma(input: &mut &str) -> ModalResult<()> {
    (space0, ",", space0).void().parse_next(input)
}
