//! Binds the arguments of calls to parameters, for functions that take more than operands.
//!
//! Positional arguments come first, in the order of the parameters. Each parameter is given at most once, as a literal
//! of its kind. An error is reported at the argument, or at its name.

use std::ops::Range;

use smallvec::SmallVec;

use super::Span;
use super::ast::{Ast, AstId, AstKind, AstNode};
use super::call::{Call, Element, GeneratorCall, RoutineCall};
use super::error::TextError;
use super::number::brief;
use super::parameters::{Action, BuiltIn, GeneratorName, RoutineName, TakeName, ViewName};
use super::slips;
use super::suggestions::nearest;
use crate::padding::Padding;
use crate::parameter::{Parameter, ParameterKind};
use crate::reductions::{ReductionCall, ReductionFunction};
use crate::{DType, ErrorKind, Literal, Op};

/// The arguments of a call. Each has its name, if one is written, and the index of its parameter, if the function has
/// such a parameter.
pub(super) fn arguments<'a>(
    ast: &'a Ast,
    node: &'a AstNode,
    function: &'static BuiltIn,
) -> impl Iterator<Item = (AstId, Option<&'a Span>, Option<usize>)> {
    let places = function.parameters.iter().take_while(|parameter| parameter.is_positional).count();
    let all = function.parameters.iter().position(|parameter| parameter.kind == ParameterKind::Operands);
    ast.arguments(node).enumerate().map(move |(number, (keyword, id))| match keyword {
        Some(name) => (id, keyword, function.parameter(ast.at(name))),
        None => (id, None, all.or((number < places).then_some(number))),
    })
}

/// Binds the arguments of a call of a built-in function, and checks them.
pub(super) fn bind(
    ast: &Ast,
    node: &AstNode,
    name: &Span,
    function: &'static BuiltIn,
) -> Result<Call, TextError> {
    let values = SmallVec::from_elem(None, function.parameters.len());
    let mut bound = Bound { ast, node, name, function, values };
    let mut named: Option<&Span> = None;
    for (id, keyword, parameter) in arguments(ast, node, function) {
        if let (None, Some(before)) = (keyword, named) {
            return Err(bound.after_keyword(id, before));
        }
        match (keyword, parameter) {
            (None, None) => return Err(bound.surplus(id)),
            (Some(keyword), None) => return Err(bound.unknown_keyword(keyword)),
            (_, Some(number)) => bound.set(number, id, keyword)?,
        }
        named = keyword.or(named);
    }
    bound.has_required()?;
    bound.call()
}

/// The arguments of a call, bound to parameters.
struct Bound<'a> {
    ast: &'a Ast,
    node: &'a AstNode,
    /// The span of the function's name.
    name: &'a Span,
    function: &'static BuiltIn,
    /// The argument of each parameter; `None` if it is not given.
    values: SmallVec<[Option<AstId>; 5]>,
}

impl Bound<'_> {
    fn set(&mut self, number: usize, id: AstId, keyword: Option<&Span>) -> Result<(), TextError> {
        let parameter = &self.function.parameters[number];
        if let Some(keyword) = keyword {
            let (of, name) = (self.function.name, parameter.name);
            if parameter.is_operand() {
                let message = format!("`{name}` of `{of}` is given by its place, without a name");
                return Err(error(keyword, message).with_help(format!("write `{of}({})`", self.value(id))));
            }
            if self.values[number].is_some() {
                let help = match parameter.kind {
                    ParameterKind::Integers => "several axes are given as one list: `axis=(0, 1)`",
                    _ => "leave one of them out",
                };
                return Err(error(keyword, format!("`{name}` of `{of}` is given twice")).with_help(help));
            }
        }
        self.values[number] = Some(id);
        Ok(())
    }

    fn has_required(&self) -> Result<(), TextError> {
        let is_missing = |(parameter, value): &(&Parameter, &Option<AstId>)| {
            parameter.default.is_none() && value.is_none()
        };
        let Some((missing, _)) = self.function.parameters.iter().zip(&self.values).find(is_missing) else {
            return Ok(());
        };
        let given = self.ast.args(self.node).len();
        let (of, words) = (self.function.name, self.function.signature());
        let message = match self.most() {
            Some(most) if !self.has_keywords() => counted(of, &words, most, "", given),
            _ => format!("`{of}({words})` is not given `{}`", missing.name),
        };
        let help = slips::arity(of, given).map(str::to_owned);
        Err(error(self.name, message).with(help))
    }

    /// The maximum number of arguments of the function, if all of them are required.
    fn most(&self) -> Option<usize> {
        let parameters = self.function.parameters;
        parameters.iter().all(|parameter| parameter.default.is_none()).then_some(parameters.len())
    }

    fn has_keywords(&self) -> bool {
        self.ast.arguments(self.node).any(|(keyword, _)| keyword.is_some())
    }

    /// The call, whose arguments must be literals of the kinds of their parameters.
    fn call(&self) -> Result<Call, TextError> {
        match self.function.action {
            Action::Astype => {
                self.dtype("dtype")?.map(Call::Astype).ok_or_else(|| error(self.name, "no dtype is given"))
            }
            Action::View(name) => self.view(name),
            Action::Take(name) => {
                let default = if name == TakeName::TakeAlongAxis { -1 } else { 0 };
                Ok(Call::Take { name, axis: self.integer("axis")?.unwrap_or(default) })
            }
            Action::Concat => Ok(Call::Concat { axis: self.integer("axis")?.unwrap_or_default() }),
            Action::PadLike => self.padding(),
            Action::Grad => self.gradient(),
            Action::Routine(name) => {
                let flag = match name {
                    RoutineName::TopK | RoutineName::TopKIndices => "largest",
                    RoutineName::SearchSorted => "right",
                    _ => "descending",
                };
                Ok(Call::Routine(RoutineCall {
                    name,
                    axis: self.integer("axis")?.unwrap_or(-1),
                    count: self.integer("k")?.or(self.integer("size")?).unwrap_or_default(),
                    flag: self.flag(flag)?.unwrap_or(flag == "largest"),
                }))
            }
            Action::Reduction(function) => self.reduction(function).map(Call::Reduction),
            Action::Generator(name) => self.generator(name).map(Call::Generator),
        }
    }

    /// A gradient, whose second operand is a name: another expression would be no part of the first operand.
    fn gradient(&self) -> Result<Call, TextError> {
        match self.values.get(1).copied().flatten() {
            Some(id) if !matches!(self.ast[id].kind, AstKind::Name) => {
                let message =
                    format!("`{}` is the derivative for a name, not for an expression", self.function.name);
                Err(error(&self.ast[id].span, message)
                    .with_help("bind the expression to a name, and use that in y"))
            }
            _ => Ok(Call::Grad),
        }
    }

    /// A padding, whose axis is counted from the last one.
    fn padding(&self) -> Result<Call, TextError> {
        let axis = self.integer("axis")?.unwrap_or(-1);
        let Some(behind) = axis.checked_neg().and_then(|axis| u8::try_from(axis - 1).ok()) else {
            let message = format!("`axis` of `{}` must be negative", self.function.name);
            let at = self.given("axis").map_or(self.name, |(_, id)| &self.ast[id].span);
            return Err(error(at, message).with_help("axes are counted from the last one, -1"));
        };
        let (start, stop, step) = (self.integer("start")?, self.integer("stop")?, self.integer("step")?);
        Ok(Call::PadLike(Padding { behind, start, stop, step: step.unwrap_or(1) }))
    }

    fn view(&self, name: ViewName) -> Result<Call, TextError> {
        let mut list = 0..0;
        for parameter in ["axes", "shape"] {
            if let Some((parameter, id)) = self.given(parameter) {
                list = self.list(parameter, id)?;
            }
        }
        let axis = self.integer("axis")?.unwrap_or_default();
        let index = self.integer("index")?.or(self.integer("length")?).unwrap_or_default();
        Ok(Call::View { name, list, axis, index })
    }

    fn reduction(&self, function: ReductionFunction) -> Result<ReductionCall, TextError> {
        let mut call = ReductionCall::new(function);
        call.axis = self.integers("axis")?.or(call.axis);
        call.keepdims = self.flag("keepdims")?.unwrap_or(call.keepdims);
        call.include_initial = self.flag("include_initial")?.unwrap_or(call.include_initial);
        call.dtype = self.dtype("dtype")?.or(call.dtype);
        call.correction = self.number("correction")?.map_or(call.correction, float);
        call.ord = self.number("ord")?.map_or(call.ord, float);
        Ok(call)
    }

    fn generator(&self, name: GeneratorName) -> Result<GeneratorCall, TextError> {
        let dtype = self.dtype("dtype")?;
        let float = dtype.unwrap_or(DType::Float64);
        let start = self.number("start")?.unwrap_or(Literal::Int(0));
        let stop = self.number("stop")?;
        let shape = self.integers("shape")?.unwrap_or_default();
        let full = |value| GeneratorCall::Full {
            shape: shape.clone(),
            value: Element::Literal(Literal::Int(value)),
            dtype: Some(float),
        };
        Ok(match name {
            GeneratorName::Arange => {
                // A single number is the end of the range.
                let (start, stop) = stop.map_or((Literal::Int(0), start), |stop| (start, stop));
                let step = self.number("step")?.unwrap_or(Literal::Int(1));
                GeneratorCall::Arange { start, stop, step, dtype }
            }
            GeneratorName::Linspace => GeneratorCall::Linspace {
                start,
                stop: stop.unwrap_or(start),
                num: self.integer("num")?.unwrap_or_default(),
                endpoint: self.flag("endpoint")?.unwrap_or(true),
                dtype: float,
            },
            GeneratorName::Eye => {
                let rows = self.integer("n_rows")?.unwrap_or_default();
                let cols = self.integer("n_cols")?.unwrap_or(rows);
                GeneratorCall::Eye { rows, cols, k: self.integer("k")?.unwrap_or_default(), dtype: float }
            }
            GeneratorName::Full => GeneratorCall::Full { value: self.element("fill_value")?, shape, dtype },
            GeneratorName::Zeros => full(0),
            GeneratorName::Ones => full(1),
            GeneratorName::Indices => {
                GeneratorCall::Indices { axis: self.integer("axis")?.unwrap_or_default() }
            }
            GeneratorName::Key => {
                GeneratorCall::Key { seed: self.number("seed")?.unwrap_or(Literal::Int(0)) }
            }
            GeneratorName::Split => GeneratorCall::Split { n: self.integer("n")?.unwrap_or(2) },
            GeneratorName::FoldIn => GeneratorCall::FoldIn,
            GeneratorName::Draw(draw) => {
                GeneratorCall::Draw { draw, shape, dtype: dtype.unwrap_or(draw.gives().dtypes()[0]) }
            }
        })
    }

    /// The parameter with this name and its argument, if it is given.
    fn given(&self, name: &str) -> Option<(&'static Parameter, AstId)> {
        let number = self.function.parameter(name)?;
        Some((&self.function.parameters[number], self.values[number]?))
    }

    fn list(&self, parameter: &Parameter, id: AstId) -> Result<Range<u32>, TextError> {
        match &self.ast[id].kind {
            AstKind::List(list) => Ok(list.clone()),
            _ => Err(self.wrong(parameter, id)),
        }
    }

    fn one_integer(&self, parameter: &Parameter, id: AstId) -> Result<isize, TextError> {
        match &self.ast[id].kind {
            AstKind::Int(x) => isize::try_from(*x).map_err(|_| self.wrong(parameter, id)),
            _ => Err(self.wrong(parameter, id)),
        }
    }

    fn integer(&self, name: &str) -> Result<Option<isize>, TextError> {
        let Some((parameter, id)) = self.given(name) else { return Ok(None) };
        self.one_integer(parameter, id).map(Some)
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, TextError> {
        let Some((parameter, id)) = self.given(name) else { return Ok(None) };
        match &self.ast[id].kind {
            AstKind::Bool(x) => Ok(Some(*x)),
            _ => Err(self.wrong(parameter, id)),
        }
    }

    /// The argument of a parameter that takes an integer, or a list of integers if its kind allows that.
    fn integers(&self, name: &str) -> Result<Option<SmallVec<[isize; 4]>>, TextError> {
        let Some((parameter, id)) = self.given(name) else { return Ok(None) };
        Ok(Some(match (&self.ast[id].kind, parameter.kind) {
            (AstKind::List(list), ParameterKind::Integers) => SmallVec::from_slice(self.ast.integers(list)),
            _ => SmallVec::from_slice(&[self.one_integer(parameter, id)?]),
        }))
    }

    fn number(&self, name: &str) -> Result<Option<Literal>, TextError> {
        let Some((parameter, id)) = self.given(name) else { return Ok(None) };
        match &self.ast[id].kind {
            AstKind::Int(x) => Ok(Some(Literal::Int(*x))),
            AstKind::Float(x) => Ok(Some(Literal::Float(*x))),
            _ => Err(self.wrong(parameter, id)),
        }
    }

    /// The argument of a parameter that takes a number or a bool, with or without a dtype.
    fn element(&self, name: &str) -> Result<Element, TextError> {
        let Some((parameter, id)) = self.given(name) else { return Ok(Element::Literal(Literal::Int(0))) };
        match &self.ast[id].kind {
            AstKind::Int(x) => Ok(Element::Literal(Literal::Int(*x))),
            AstKind::Float(x) => Ok(Element::Literal(Literal::Float(*x))),
            AstKind::Bool(x) => Ok(Element::Literal(Literal::Bool(*x))),
            AstKind::Constant(x) => Ok(Element::Scalar(*x)),
            _ => Err(self.wrong(parameter, id)),
        }
    }

    fn dtype(&self, name: &str) -> Result<Option<DType>, TextError> {
        let Some((parameter, id)) = self.given(name) else { return Ok(None) };
        match &self.ast[id].kind {
            AstKind::DType(dtype) => Ok(Some(*dtype)),
            _ => Err(self.wrong(parameter, id)),
        }
    }

    /// The error for an argument that is not of the kind of its parameter.
    fn wrong(&self, parameter: &Parameter, id: AstId) -> TextError {
        let node = &self.ast[id];
        let (name, of) = (parameter.name, self.function.name);
        let text = self.ast.at(&node.span);
        if matches!(node.kind, AstKind::Name) && slips::is_none(text) && parameter.default.is_some() {
            let is_axes = parameter.kind == ParameterKind::Integers;
            let then = if is_axes { ": then all axes are reduced" } else { "" };
            let message = format!("`{name}` of `{of}` can't be `{text}`");
            return error(&node.span, message).with_help(format!("leave `{name}` out{then}"));
        }
        let wanted = match parameter.kind {
            ParameterKind::DType => return self.not_a_dtype(node),
            ParameterKind::Integer | ParameterKind::Operand | ParameterKind::Operands => "an integer",
            ParameterKind::List => "a list of integers, such as `[2, 3]`",
            ParameterKind::Integers => "an integer, or several such as `(0, 1)`",
            ParameterKind::Bool => "`true` or `false`",
            ParameterKind::Number => "a number",
            ParameterKind::Element => "a number, `true` or `false`",
        };
        let by_place = self.ast.arguments(self.node).any(|(keyword, arg)| arg == id && keyword.is_none());
        let help = match (parameter.kind, &node.kind) {
            (_, AstKind::Operator { op: Op::Equal, .. }) if self.compared(text).is_some() => {
                self.compared(text)
            }
            (ParameterKind::Bool, AstKind::Int(x @ (0 | 1))) => Some(format!("write `{name}={}`", *x == 1)),
            (ParameterKind::List, AstKind::Int(_)) => Some(format!("write `[{}]`", self.value(id))),
            (ParameterKind::Integer, AstKind::List(_)) if self.function.is_reduction() => {
                Some(format!("`{of}` takes one axis"))
            }
            (_, AstKind::Name) if slips::name(text).is_some() => slips::name(text),
            _ if self.function.is_generator() => Some(slips::generated(of).to_owned()),
            (ParameterKind::Integers, _) if by_place => slips::second(of, &self.operand(), &self.value(id)),
            (ParameterKind::Integer | ParameterKind::Integers, _) => {
                Some("axes are numbered in the text, from 0 on, or from -1 backwards".to_owned())
            }
            _ => None,
        };
        error(&node.span, format!("`{name}` of `{of}` must be {wanted}")).with(help)
    }

    fn not_a_dtype(&self, node: &AstNode) -> TextError {
        let all = DType::ALL.iter().map(|dtype| dtype.name());
        let (message, help) = match &node.kind {
            AstKind::Name => {
                let name = self.ast.at(&node.span);
                let near = || nearest(name, all.clone()).map(|other| format!("did you mean `{other}`?"));
                let help = slips::dtype(name).or_else(near);
                (format!("`{}` is not a dtype", brief(name)), help)
            }
            _ => (format!("`dtype` of `{}` must be the name of a dtype", self.function.name), None),
        };
        let help = help.unwrap_or_else(|| format!("dtypes are {}", all.collect::<Vec<_>>().join(", ")));
        TextError::new(ErrorKind::Name, &node.span, message).with_help(help)
    }

    fn unknown_keyword(&self, keyword: &Span) -> TextError {
        let (of, text) = (self.function.name, self.ast.at(keyword));
        let optional = |parameter: &&Parameter| !parameter.is_operand();
        let names: Vec<&str> =
            self.function.parameters.iter().filter(optional).map(|parameter| parameter.name).collect();
        let known = || format!("known are `{}`", names.join("`, `"));
        let near = || nearest(text, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        let help = slips::keyword(of, text, &names).or_else(near).unwrap_or_else(known);
        error(keyword, format!("`{of}` has no argument `{}`", brief(text))).with_help(help)
    }

    /// The error for a positional argument after the last positional parameter.
    fn surplus(&self, id: AstId) -> TextError {
        let (of, parameters) = (self.function.name, self.function.parameters);
        let given = self.ast.arguments(self.node).filter(|(keyword, _)| keyword.is_none()).count();
        let places = parameters.iter().filter(|parameter| parameter.is_positional).count();
        let words = self.function.signature();
        let which = if self.most().is_some() { "" } else { " without a name" };
        let message = counted(of, &words, places, which, given);
        let node = &self.ast[id];
        let named = |kind: ParameterKind| {
            let parameter = parameters.iter().find(|parameter| parameter.kind == kind);
            let parameter = parameter.filter(|parameter| !parameter.is_positional)?;
            Some(format!("write `{}={}`", parameter.name, self.value(id)))
        };
        let help = match &node.kind {
            AstKind::Operator { op: Op::Equal, .. } => self.compared(self.ast.at(&node.span)),
            AstKind::Bool(_) => named(ParameterKind::Bool),
            AstKind::DType(_) => named(ParameterKind::DType),
            AstKind::List(_) => named(ParameterKind::Integers),
            AstKind::Int(_) => slips::named(of, &self.operand(), &self.value(id)),
            _ => slips::second(of, &self.operand(), &self.value(id)),
        };
        let help = help.or_else(|| slips::arity(of, given).map(str::to_owned));
        error(self.name, message).with(help)
    }

    /// Advice to write `axis=0` if the text is `axis == 0` and the function has a parameter of this name.
    fn compared(&self, text: &str) -> Option<String> {
        let (name, value) = text.split_once("==")?;
        self.function.parameter(name.trim())?;
        Some(format!("write `{}={}`", name.trim(), brief(value.trim())))
    }

    fn after_keyword(&self, id: AstId, keyword: &Span) -> TextError {
        let of = self.function.name;
        let named = brief(self.ast.at(keyword));
        let message = format!("an argument of `{of}` without a name follows `{named}=`");
        error(&self.ast[id].span, message).with_help("arguments without a name come first")
    }

    /// The text of an argument, truncated for a message.
    fn value(&self, id: AstId) -> String {
        let words: Vec<&str> = self.ast.at(&self.ast[id].span).split_whitespace().take(20).collect();
        brief(&words.join(" ")).into_owned()
    }

    /// The text of the first operand, truncated for a message.
    fn operand(&self) -> String {
        self.values.first().copied().flatten().map_or_else(|| "x".to_owned(), |id| self.value(id))
    }
}

fn float(x: Literal) -> f64 {
    match x {
        Literal::Int(x) => x as f64,
        Literal::Float(x) => x,
        Literal::Bool(x) => f64::from(u8::from(x)),
    }
}

/// The message for a call with a wrong number of arguments.
pub(super) fn counted(of: &str, words: &str, takes: usize, which: &str, given: usize) -> String {
    let plural = if takes == 1 { "" } else { "s" };
    format!("`{of}({words})` takes {takes} argument{plural}{which}, but is given {given}")
}

fn error(span: &Span, message: impl Into<String>) -> TextError {
    TextError::new(ErrorKind::Arity, span, message)
}
