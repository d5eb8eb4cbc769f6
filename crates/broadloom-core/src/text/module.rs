//! Programs whose names are resolved, and the functions that a host adds.
//!
//! In: text. Out: a [`Module`] or a [`Library`]. Must hold: a module keeps the functions that it was parsed with; nothing
//! refers to what was added later, so that no definition is circular.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::ast::{Ast, AstId, Extent, Kind, Statement, Type};
use super::error::{TextError, syntax};
use super::lex::is_name;
use super::number::brief;
use super::parse::parse_any;
use super::resolve::{Function, Source, built_in, resolve};
use super::{ParseOptions, Span};
use crate::{DType, Dim, ErrorKind};

/// Functions for the texts of a host: composites that are parsed once, and functions of its own.
///
/// Cloning is cheap. A module keeps what it was parsed with.
///
/// ```
/// use broadloom_core::text::{Library, Module, ParseOptions};
///
/// let options = ParseOptions::default();
/// let mut library = Library::default();
/// library.define("def half(x) = x / 2; def quarter(x) = half(half(x))", &options)?;
/// assert!(Module::parse("quarter(y)", &library, &options).is_ok());
/// # Ok::<(), broadloom_core::text::TextError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Library(Arc<Shelf>);

#[derive(Clone, Debug, Default)]
struct Shelf {
    sources: Vec<Arc<Source>>,
    names: BTreeMap<Box<str>, Function>,
}

impl Library {
    /// Adds the composites of a text that has nothing but `def` statements; they may use what the library has already.
    ///
    /// # Errors
    /// If the text is no such text, or a name has a meaning already; the library is then as it was.
    pub fn define(&mut self, text: &str, options: &ParseOptions) -> Result<(), TextError> {
        let ast = parse_any(text, options)?;
        let is_def = |s: &Statement| matches!(s, Statement::Def { .. });
        if let Some(other) = ast.statements().iter().find(|s| !is_def(s)) {
            let message = "a library has nothing but `def name(parameter, …) = expression`";
            return Err(syntax(&place(other), message, None));
        }
        let source = resolve(ast, self)?.0;
        let shelf = Arc::make_mut(&mut self.0);
        for (def, number) in source.defs.iter().zip(0..) {
            let function = Function::Library { source: shelf.sources.len() as u32, def: number };
            shelf.names.insert(source.ast.at(&def.name).into(), function);
        }
        shelf.sources.push(Arc::new(source));
        Ok(())
    }

    /// Adds a function of the host under a number of its own: a [`Meaning`](super::Meaning) is asked for its value.
    ///
    /// # Errors
    /// [`ErrorKind::Name`] if the name can't be a function's, or has a meaning already.
    pub fn declare(&mut self, name: &str, id: u32, arity: u32) -> crate::Result<()> {
        let refuse = |why: &str| {
            Err(crate::Error::new(ErrorKind::Name, format!("the host function `{}`: {why}", brief(name))))
        };
        if !is_name(name) {
            return refuse("not a name that a text can have");
        }
        if self.has(name) {
            return refuse("the name has a meaning already");
        }
        Arc::make_mut(&mut self.0).names.insert(name.into(), Function::Host { id, arity });
        Ok(())
    }

    /// The names of the functions, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names.keys().map(|name| &**name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.names.contains_key(name) || built_in(name).is_some()
    }

    pub(super) fn function(&self, name: &str) -> Option<Function> {
        self.0.names.get(name).copied()
    }

    pub(super) fn source(&self, number: u32) -> &Source {
        &self.0.sources[number as usize]
    }
}

/// Where a statement begins.
fn place(statement: &Statement) -> Span {
    match statement {
        Statement::Setting { name, .. }
        | Statement::Input { name, .. }
        | Statement::Binding { name, .. }
        | Statement::Def { name, .. }
        | Statement::Output { name: Some(name), .. } => name.clone(),
        Statement::Output { name: None, .. } => 0..0,
    }
}

/// An input that a program declares, or a name that it uses without declaring it.
#[derive(Clone, Copy, Debug)]
pub struct Input<'m> {
    pub(super) ast: &'m Ast,
    pub(super) name: &'m Span,
    pub(super) ty: Option<&'m Type>,
}

/// One result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name: the one written before it, that of the binding, or `result` if there is one result only.
    pub name: String,
    pub(super) statement: u32,
}

impl<'m> Input<'m> {
    /// Its name.
    pub fn name(&self) -> &'m str {
        self.ast.at(self.name)
    }

    /// Where its name stands: in the declaration, or where it is used first.
    pub fn span(&self) -> Span {
        self.name.clone()
    }

    /// Its type as it is written, if it is declared.
    pub fn type_text(&self) -> Option<&'m str> {
        self.ty.map(|ty| self.ast.at(&ty.span))
    }

    /// Its dtype, if it is declared.
    pub fn dtype(&self) -> Option<DType> {
        self.ty.map(|ty| ty.dtype)
    }

    /// Its extents, if it is declared.
    pub fn dims(&self) -> Option<Vec<Dim>> {
        let extents = self.ast.extents(self.ty?).iter();
        Some(
            extents
                .map(|extent| match extent {
                    Extent::Fixed(n) => Dim::Fixed(*n),
                    Extent::Symbol(name) => Dim::from(self.ast.at(name)),
                    Extent::Rest => Dim::Rest,
                })
                .collect(),
        )
    }
}

/// A program whose names are resolved.
#[derive(Clone, Debug)]
pub struct Module {
    pub(super) source: Source,
    pub(super) library: Library,
    pub(super) max_nodes: usize,
    /// The first use of each name that is not declared.
    free: Vec<AstId>,
    outputs: Vec<Output>,
}

impl Module {
    /// Parses a program and resolves its names.
    ///
    /// # Errors
    /// If the text is no program, exceeds a limit, or a name or call in it can't be meant.
    ///
    /// ```
    /// use broadloom_core::text::{Library, Module, ParseOptions};
    ///
    /// let text = "x: float32[n]\ny = x * 2\nreturn y, total = y + 1";
    /// let module = Module::parse(text, &Library::default(), &ParseOptions::default())?;
    /// assert!(module.inputs().map(|input| input.name()).eq(["x"]));
    /// assert!(module.outputs().iter().map(|output| &*output.name).eq(["y", "total"]));
    /// # Ok::<(), broadloom_core::text::TextError>(())
    /// ```
    pub fn parse(text: &str, library: &Library, options: &ParseOptions) -> Result<Module, TextError> {
        let ast = super::parse(text, options)?;
        let (source, free) = resolve(ast, library)?;
        let outputs = outputs(&source.ast)?;
        Ok(Module { source, library: library.clone(), max_nodes: options.max_nodes, free, outputs })
    }

    /// The syntax.
    pub fn ast(&self) -> &Ast {
        &self.source.ast
    }

    /// The inputs: those that are declared in their order, then the names that are only used.
    pub fn inputs(&self) -> impl Iterator<Item = Input<'_>> {
        let ast = &self.source.ast;
        let declared = ast.statements().iter().filter_map(move |statement| match statement {
            Statement::Input { name, ty, .. } => Some(Input { ast, name, ty: Some(ty) }),
            _ => None,
        });
        declared.chain(self.free.iter().map(move |id| Input { ast, name: &ast[*id].span, ty: None }))
    }

    /// Where the expression of a result stands; the whole text if there are not so many.
    pub fn result_span(&self, number: usize) -> Span {
        let statement =
            self.outputs.get(number).and_then(|o| self.ast().statements().get(o.statement as usize));
        match statement {
            Some(Statement::Output { value, .. }) => self.ast()[value.root()].span.clone(),
            _ => 0..self.ast().text().len() as u32,
        }
    }

    /// Whether any part of the inputs gives the same part of the results: no view is taken, and no type is written that
    /// the part could miss.
    pub fn is_elementwise(&self) -> bool {
        let types = self.ast().statements().iter().any(|statement| {
            matches!(statement, Statement::Input { .. } | Statement::Binding { ty: Some(_), .. })
        });
        !types && !self.source.has_views() && !self.library.0.sources.iter().any(|source| source.has_views())
    }

    /// The results in their order.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }
}

/// The results and their names.
fn outputs(ast: &Ast) -> Result<Vec<Output>, TextError> {
    let count = ast.statements().iter().filter(|s| matches!(s, Statement::Output { .. })).count();
    let mut outputs: Vec<Output> = Vec::new();
    let mut written: HashMap<&str, bool> = HashMap::new();
    for (number, statement) in ast.statements().iter().enumerate() {
        let Statement::Output { name, value } = statement else { continue };
        let root = &ast[value.root()];
        let (at, is_plain) = match (name, &root.kind) {
            (Some(name), _) => (name, false),
            (None, Kind::Name) => (&root.span, true),
            _ if count == 1 => {
                outputs.push(Output { name: "result".into(), statement: number as u32 });
                continue;
            }
            _ => {
                let message = format!("result {} has no name", outputs.len() + 1);
                return Err(syntax(&root.span, message, Some("write `name = …`".into())));
            }
        };
        let text = ast.at(at);
        if let Some(was_plain) = written.insert(text, is_plain)
            && !(was_plain && is_plain)
        {
            let message = format!("two results have the name `{}`", brief(text));
            return Err(TextError::new(ErrorKind::Name, at, message));
        }
        outputs.push(Output { name: text.into(), statement: number as u32 });
    }
    Ok(outputs)
}
