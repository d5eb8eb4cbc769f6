//! What the names of a text stand for.
//!
//! In: an [`Ast`], and the functions of a [`Library`]. Out: what each name and each call refers to. Must hold: a name
//! refers to what stands before it, so that no definition is circular; each function has as many arguments as it takes,
//! and dtypes and lists stand only where a function takes them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::LazyLock;

use super::Span;
use super::ast::{Ast, AstId, Body, Kind, Statement};
use super::error::TextError;
use super::module::Library;
use super::nearest::nearest;
use super::number::brief;
use crate::op::Arity;
use crate::{DType, ErrorKind, Op};

/// The name of the conversion, which is not in the op table because a dtype is among its arguments.
pub const ASTYPE: &str = "astype";

/// The functions that change a shape, with the words for their arguments.
const VIEWS: [(&str, ViewName, &str); 7] = [
    ("permute_dims", ViewName::PermuteDims, "x, [axis, …]"),
    ("broadcast_to", ViewName::BroadcastTo, "x, [extent, …]"),
    ("reshape", ViewName::Reshape, "x, [extent, …]"),
    ("expand_dims", ViewName::ExpandDims, "x, axis"),
    ("squeeze", ViewName::Squeeze, "x, axis"),
    ("flip", ViewName::Flip, "x, axis"),
    ("index_axis", ViewName::IndexAxis, "x, axis, index"),
];

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

impl ViewName {
    /// Whether the second argument is a list; otherwise the arguments after the first are integers.
    fn takes_list(self) -> bool {
        matches!(self, ViewName::PermuteDims | ViewName::BroadcastTo | ViewName::Reshape)
    }
}

/// The arguments of an op, as its documentation names them.
pub fn signature(op: Op) -> &'static str {
    match op.arity() {
        Arity::Unary => "x",
        Arity::Binary => "x1, x2",
        Arity::Ternary => "x, lo, hi",
        Arity::Choice => "condition, x2, x3",
    }
}

/// What a node refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A literal, or an operator: the node says it all.
    Itself,
    /// An argument that its function reads as it is written; it has no value.
    Written,
    /// A parameter of the composite.
    Parameter(u32),
    /// An input or a binding, in their order.
    Slot(u32),
    /// A name that nothing in the text declares.
    Free,
    Op(Op),
    Astype,
    View(ViewName),
    Function(Function),
}

/// A function that a text or the host defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// A composite of the same text.
    Own(u32),
    /// A composite of a text of the library.
    Library { source: u32, def: u32 },
    /// A function of the host.
    Host { id: u32, arity: u32 },
}

#[derive(Clone, Debug)]
pub(super) struct Def {
    pub(super) name: Span,
    pub(super) parameters: Range<u32>,
    pub(super) body: Body,
}

/// A text with what its nodes refer to.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) ast: Ast,
    pub(super) references: Vec<Reference>,
    pub(super) defs: Vec<Def>,
}

/// A function of the language.
pub(super) fn built_in(name: &str) -> Option<Reference> {
    static TABLE: LazyLock<HashMap<&str, Reference>> = LazyLock::new(|| {
        let views = VIEWS.iter().map(|(name, view, _)| (*name, Reference::View(*view)));
        let ops = Op::public().map(|op| (op.name(), Reference::Op(op)));
        ops.chain(views).chain([(ASTYPE, Reference::Astype)]).collect()
    });
    TABLE.get(name).copied()
}

/// The names of the functions of the language.
pub(super) fn built_in_names() -> impl Iterator<Item = &'static str> {
    Op::public().map(Op::name).chain([ASTYPE]).chain(VIEWS.iter().map(|(name, ..)| *name))
}

impl Source {
    /// Whether some function changes a shape.
    pub(super) fn has_views(&self) -> bool {
        self.references.iter().any(|reference| matches!(reference, Reference::View(_)))
            || self.ast.nodes().iter().any(|node| matches!(node.kind, Kind::Index(_)))
    }
}

/// The text with what its nodes refer to, and the first uses of names that it does not declare.
pub(super) fn resolve(ast: Ast, library: &Library) -> Result<(Source, Vec<AstId>), TextError> {
    let mut resolver = Resolver {
        ast: &ast,
        library,
        references: vec![Reference::Itself; ast.nodes().len()],
        slots: HashMap::new(),
        defs: Vec::new(),
        def_of: HashMap::new(),
        free: HashMap::new(),
        order: Vec::new(),
    };
    for statement in ast.statements() {
        match statement {
            Statement::Setting { .. } => {}
            Statement::Input { name, .. } => resolver.slot(name)?,
            Statement::Binding { name, value, .. } => {
                resolver.body(value, None)?;
                resolver.slot(name)?;
            }
            Statement::Def { name, parameters, body } => {
                let def = Def { name: name.clone(), parameters: parameters.clone(), body: body.clone() };
                resolver.def(def)?;
            }
            Statement::Output { value, .. } => resolver.body(value, None)?,
        }
    }
    let Resolver { references, defs, order, .. } = resolver;
    Ok((Source { ast, references, defs }, order))
}

struct Resolver<'t> {
    ast: &'t Ast,
    library: &'t Library,
    references: Vec<Reference>,
    slots: HashMap<&'t str, u32>,
    defs: Vec<Def>,
    def_of: HashMap<&'t str, u32>,
    free: HashMap<&'t str, AstId>,
    order: Vec<AstId>,
}

impl<'t> Resolver<'t> {
    /// Gives a name a value.
    fn slot(&mut self, name: &Span) -> Result<(), TextError> {
        let text = self.ast.at(name);
        if let Some(earlier) = self.free.get(text) {
            let message = format!("`{}` is used before it has a value", brief(text));
            return Err(TextError::new(ErrorKind::Name, &self.ast[*earlier].span, message));
        }
        let number = self.slots.len() as u32;
        match self.slots.insert(text, number) {
            None => Ok(()),
            Some(_) => {
                let message = format!("`{}` has a value already", brief(text));
                Err(TextError::new(ErrorKind::Name, name, message).with_help("give it another name"))
            }
        }
    }

    fn def(&mut self, def: Def) -> Result<(), TextError> {
        let Def { name, parameters, body } = &def;
        let text = self.ast.at(name);
        if self.library.has(text) || self.def_of.contains_key(text) {
            let message = format!("there is a function `{}` already", brief(text));
            return Err(TextError::new(ErrorKind::Name, name, message).with_help("give it another name"));
        }
        let mut known = HashMap::new();
        for (number, parameter) in self.ast.parameters(parameters).iter().enumerate() {
            let text = self.ast.at(parameter);
            if known.insert(text, number as u32).is_some() {
                let message = format!("there are two parameters `{}`", brief(text));
                return Err(TextError::new(ErrorKind::Name, parameter, message));
            }
        }
        self.body(body, Some((name, &known)))?;
        // Only now: a composite that used itself would never end.
        self.def_of.insert(text, self.defs.len() as u32);
        self.defs.push(def);
        Ok(())
    }

    /// Resolves an expression; of a composite, with its name and parameters.
    fn body(&mut self, body: &Body, of: Option<(&Span, &HashMap<&str, u32>)>) -> Result<(), TextError> {
        for id in body.ids() {
            self.mark_written(id);
        }
        for id in body.ids() {
            let node = &self.ast[id];
            let is_written = self.references[id.index()] == Reference::Written;
            let reference = match &node.kind {
                _ if is_written => continue,
                Kind::DType(dtype) => {
                    let message =
                        format!("`{dtype}` is a dtype, which only the second argument of `{ASTYPE}` can be");
                    let help = format!("to convert, write `{ASTYPE}(x, {dtype})`");
                    return Err(TextError::new(ErrorKind::Arity, &node.span, message).with_help(help));
                }
                Kind::List(_) => {
                    let message = "a list, which only the second argument of `reshape`, `broadcast_to` or \
                                   `permute_dims` can be";
                    return Err(TextError::new(ErrorKind::Arity, &node.span, message));
                }
                Kind::Name => self.name(id, of)?,
                Kind::Call { name } => self.call(id, name, of.map(|(name, _)| name))?,
                _ => continue,
            };
            self.references[id.index()] = reference;
        }
        Ok(())
    }

    /// Marks the arguments that a call reads as they are written.
    fn mark_written(&mut self, id: AstId) {
        let node = &self.ast[id];
        let Kind::Call { name } = &node.kind else { return };
        let written = match built_in(self.ast.at(name)) {
            Some(Reference::Astype | Reference::View(_)) => self.ast.args(node).get(1..),
            _ => None,
        };
        for arg in written.unwrap_or_default() {
            if self.ast.args(&self.ast[*arg]).is_empty() {
                self.references[arg.index()] = Reference::Written;
            }
        }
    }

    fn name(&mut self, id: AstId, of: Option<(&Span, &HashMap<&str, u32>)>) -> Result<Reference, TextError> {
        let span = &self.ast[id].span;
        let text = self.ast.at(span);
        if let Some((def, parameters)) = of {
            if let Some(number) = parameters.get(text) {
                return Ok(Reference::Parameter(*number));
            }
            let message = format!("`{}` is not a parameter of `{}`", brief(text), brief(self.ast.at(def)));
            let help =
                nearest(text, parameters.keys().copied()).map(|near| format!("did you mean `{near}`?"));
            let help = help.unwrap_or_else(|| "a composite sees nothing but its parameters".into());
            return Err(TextError::new(ErrorKind::Name, span, message).with_help(help));
        }
        Ok(match self.slots.get(text) {
            Some(slot) => Reference::Slot(*slot),
            None => {
                if let Entry::Vacant(entry) = self.free.entry(text) {
                    entry.insert(id);
                    self.order.push(id);
                }
                Reference::Free
            }
        })
    }

    fn call(&self, id: AstId, name: &Span, def: Option<&Span>) -> Result<Reference, TextError> {
        let text = self.ast.at(name);
        let args = self.ast.args(&self.ast[id]);
        let own = self.def_of.get(text).map(|number| Reference::Function(Function::Own(*number)));
        let library = || self.library.function(text).map(Reference::Function);
        let Some(reference) = own.or_else(library).or_else(|| built_in(text)) else {
            return Err(self.unknown_function(text, name, def));
        };
        let (words, takes) = match reference {
            Reference::Op(op) => (signature(op).to_owned(), op.operands()),
            Reference::Astype => ("x, dtype".to_owned(), 2),
            Reference::View(view) => {
                let words =
                    VIEWS.iter().find(|(_, other, _)| *other == view).map_or("x", |(.., words)| *words);
                (words.to_owned(), if view == ViewName::IndexAxis { 3 } else { 2 })
            }
            Reference::Function(function) => self.parameters(function),
            _ => (String::new(), args.len()),
        };
        if args.len() != takes {
            let plural = if takes == 1 { "" } else { "s" };
            let (text, given) = (brief(text), args.len());
            let message = format!("`{text}({words})` takes {takes} argument{plural}, but is given {given}");
            return Err(TextError::new(ErrorKind::Arity, name, message));
        }
        self.check_written(reference, args, text)?;
        Ok(reference)
    }

    /// The words for a function's parameters, and how many there are.
    fn parameters(&self, function: Function) -> (String, usize) {
        let (ast, range) = match function {
            Function::Own(number) => (self.ast, &self.defs[number as usize].parameters),
            Function::Host { arity, .. } => {
                let words: Vec<String> = (1..=arity.min(8)).map(|i| format!("x{i}")).collect();
                return (words.join(", "), arity as usize);
            }
            Function::Library { source, def } => {
                let source = self.library.source(source);
                (&source.ast, &source.defs[def as usize].parameters)
            }
        };
        let words: Vec<&str> = ast.parameters(range).iter().take(8).map(|name| ast.at(name)).collect();
        (brief(&words.join(", ")).into_owned(), range.len())
    }

    /// The arguments that are read as they are written are what the function reads.
    fn check_written(&self, reference: Reference, args: &[AstId], name: &str) -> Result<(), TextError> {
        for arg in args.iter().skip(1) {
            let node = &self.ast[*arg];
            let wanted = match (reference, &node.kind) {
                (Reference::Astype, Kind::DType(_)) => continue,
                (Reference::Astype, _) => return Err(self.not_a_dtype(*arg)),
                (Reference::View(view), Kind::List(_)) if view.takes_list() => continue,
                (Reference::View(view), _) if view.takes_list() => "a list of integers, such as `[2, 3]`",
                (Reference::View(_), Kind::Int(x)) if isize::try_from(*x).is_ok() => continue,
                (Reference::View(_), _) => "an integer",
                _ => continue,
            };
            let message = format!("this argument of `{name}` must be {wanted}");
            return Err(TextError::new(ErrorKind::Arity, &node.span, message));
        }
        Ok(())
    }

    fn not_a_dtype(&self, id: AstId) -> TextError {
        let node = &self.ast[id];
        let all = DType::ALL.iter().map(|dtype| dtype.name());
        let (message, help) = match &node.kind {
            Kind::Name => {
                let name = self.ast.at(&node.span);
                let help = nearest(name, all.clone()).map(|other| format!("did you mean `{other}`?"));
                (format!("`{}` is not a dtype", brief(name)), help)
            }
            _ => (format!("the second argument of `{ASTYPE}` must be a dtype"), None),
        };
        let help = help.unwrap_or_else(|| format!("dtypes are {}", all.collect::<Vec<_>>().join(", ")));
        TextError::new(ErrorKind::Name, &node.span, message).with_help(help)
    }

    fn unknown_function(&self, text: &str, name: &Span, def: Option<&Span>) -> TextError {
        let help = if self.slots.contains_key(text) || self.free.contains_key(text) {
            Some(format!("`{}` is an array; to multiply, write `*`", brief(text)))
        } else if def.is_some_and(|def| self.ast.at(def) == text) {
            Some("a composite can't use itself".into())
        } else {
            // Own functions in their order, then the library's, then the language's.
            let own = self.defs.iter().map(|def| self.ast.at(&def.name));
            similar_function(text, own.chain(self.library.names()))
        };
        let message = format!("there is no function `{}`", brief(text));
        TextError::new(ErrorKind::Name, name, message).with(help)
    }
}

/// A function that is spelt alike, or else the only one that begins so.
fn similar_function<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> Option<String> {
    let near = nearest(name, others.chain(built_in_names().map(|name| -> &'a str { name }))).or_else(|| {
        let mut begin = built_in_names().filter(|function| name.len() >= 3 && function.starts_with(name));
        begin.next().filter(|_| begin.next().is_none()).map(str::to_owned)
    });
    near.map(|near| format!("did you mean `{near}`?"))
}
