//! The parameters of functions that take more than operands.
//!
//! The table of [reductions](crate::reductions) and the other functions of the [text language](crate::text) declare
//! their parameters with these types; names and defaults are those of the Array API standard, 2024.12.

/// The kind of argument that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// An array, which is always passed by position.
    Operand,
    /// Arrays, one or more, which are all arguments that are passed by position.
    Operands,
    /// An integer.
    Integer,
    /// A list of integers.
    List,
    /// An integer or a list of integers, as for axes or extents.
    Integers,
    /// `true` or `false`.
    Bool,
    /// The name of a dtype.
    DType,
    /// A number.
    Number,
    /// A number or a bool, optionally with a dtype such as `float32(0.5)`.
    Element,
}

impl ParameterKind {
    /// The name of the kind, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            ParameterKind::Operand => "operand",
            ParameterKind::Operands => "operands",
            ParameterKind::Integer => "integer",
            ParameterKind::List => "list",
            ParameterKind::Integers => "integers",
            ParameterKind::Bool => "bool",
            ParameterKind::DType => "dtype",
            ParameterKind::Number => "number",
            ParameterKind::Element => "element",
        }
    }
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name of the parameter, as written before `=`.
    pub name: &'static str,
    /// The kind of the parameter's argument.
    pub kind: ParameterKind,
    /// The default as text, or `…` if it depends on the operand; `None` if the argument is required.
    pub default: Option<&'static str>,
    /// Whether the argument may be given by position, without its name.
    pub is_positional: bool,
}

/// The operand of a function of one operand.
pub(crate) const X: Parameter = Parameter::operand("x");
/// The first of two operands.
pub(crate) const X1: Parameter = Parameter::operand("x1");
/// The second of two operands.
pub(crate) const X2: Parameter = Parameter::operand("x2");
/// The dtype of the result; by default it depends on the operand.
pub(crate) const DTYPE: Parameter = Parameter::optional("dtype", ParameterKind::DType, "…");

impl Parameter {
    pub(crate) const fn operand(name: &'static str) -> Parameter {
        Parameter { name, kind: ParameterKind::Operand, default: None, is_positional: true }
    }

    pub(crate) const fn operands(name: &'static str) -> Parameter {
        Parameter { name, kind: ParameterKind::Operands, default: None, is_positional: true }
    }

    /// Whether the argument is an array, or several.
    pub fn is_operand(&self) -> bool {
        matches!(self.kind, ParameterKind::Operand | ParameterKind::Operands)
    }

    pub(crate) const fn required(name: &'static str, kind: ParameterKind) -> Parameter {
        Parameter { name, kind, default: None, is_positional: true }
    }

    pub(crate) const fn optional(
        name: &'static str,
        kind: ParameterKind,
        default: &'static str,
    ) -> Parameter {
        Parameter { name, kind, default: Some(default), is_positional: false }
    }

    /// Makes the parameter positional.
    pub(crate) const fn by_place(self) -> Parameter {
        Parameter { is_positional: true, ..self }
    }

    /// The parameter as shown in messages and lists: `x`, `[axis, …]`, `keepdims=false`.
    pub fn shown(&self) -> String {
        match (self.default, self.kind, self.name) {
            (Some(default), ..) => format!("{}={default}", self.name),
            (None, ParameterKind::Operands, name) => format!("{name}, …"),
            (None, ParameterKind::List, "axes") => "[axis, …]".to_owned(),
            (None, ParameterKind::List, _) => "[extent, …]".to_owned(),
            (None, ..) => self.name.to_owned(),
        }
    }
}
