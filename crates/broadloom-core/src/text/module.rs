//! Programs with resolved names.
//!
//! A module keeps the library with which it was parsed, and a name can't refer to a later definition, so that no
//! definition is circular.

use std::collections::HashMap;

use super::ast::{Ast, AstId, AstKind, Extent, LoopHead, LoopStatement, Statement, Type};
use super::built_in::constant;
use super::error::{TextError, syntax};
use super::library::Library;
use super::number::brief;
use super::parse::parse_any;
use super::resolve::resolve;
use super::source::Source;
use super::{ParseOptions, Span};
use crate::{DType, Dim, ErrorKind};

impl Library {
    /// Adds the functions of a text that consists of `def` statements. They can call the functions that are already in
    /// the library.
    ///
    /// # Errors
    /// If the text has other statements, or a name is in use already; the library is then unchanged.
    pub fn define(&mut self, text: &str, options: &ParseOptions) -> Result<(), TextError> {
        self.add_defs(text, options).map_err(|error| error.in_text(text))
    }

    fn add_defs(&mut self, text: &str, options: &ParseOptions) -> Result<(), TextError> {
        let ast = parse_any(text, options)?;
        let is_def = |s: &Statement| matches!(s, Statement::Def { .. });
        if let Some(other) = ast.statements().iter().find(|s| !is_def(s)) {
            let message = "a library has nothing but `def name(parameter, …) = expression`";
            return Err(syntax(&ast.place(other), message, None));
        }
        let source = resolve(ast, self)?.0;
        self.add(source);
        Ok(())
    }
}

/// An input that a program declares, or a name that it uses without declaring it.
#[derive(Clone, Copy, Debug)]
pub struct Input<'m> {
    pub(super) ast: &'m Ast,
    pub(super) name: &'m Span,
    pub(super) ty: Option<&'m Type>,
}

/// A result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The name of the result: the name written before it, the name of the binding, or `result` if it is the only
    /// result.
    pub name: String,
    pub(super) statement: u32,
}

impl<'m> Input<'m> {
    /// The name of the input.
    pub fn name(&self) -> &'m str {
        self.ast.at(self.name)
    }

    /// The span of the name, in the declaration or at its first use.
    pub fn span(&self) -> Span {
        self.name.clone()
    }

    /// The type as written, if the input is declared.
    pub fn type_text(&self) -> Option<&'m str> {
        self.ty.map(|ty| self.ast.at(&ty.span))
    }

    /// The default value of a name that the program does not declare and that is a constant of the language, such as
    /// `pi`.
    pub fn constant(&self) -> Option<f64> {
        if self.ty.is_some() {
            return None;
        }
        constant(self.name()).map(|constant| constant.value())
    }

    /// The declared dtype, if the input is declared.
    pub fn dtype(&self) -> Option<DType> {
        self.ty.map(|ty| ty.dtype)
    }

    /// The declared extents, if the input is declared.
    pub fn dims(&self) -> Option<Vec<Dim>> {
        let extents = self.ast.extents(self.ty?).iter();
        Some(
            extents
                .map(|extent| match extent {
                    Extent::Fixed(n) => Dim::Fixed(*n),
                    Extent::Symbol(name) => Dim::from(self.ast.at(name)),
                    Extent::Derived(dim) => dim.clone(),
                    Extent::Rest => Dim::Rest,
                })
                .collect(),
        )
    }
}

/// A program with resolved names.
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
    /// If the text is not a program or exceeds a limit, or a name or call in it can't be resolved.
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
        let (source, free) = resolve(ast, library).map_err(|error| error.in_text(text))?;
        let outputs = outputs(&source.ast).map_err(|error| error.in_text(text))?;
        Ok(Module { source, library: library.clone(), max_nodes: options.max_nodes, free, outputs })
    }

    /// The syntax tree.
    pub fn ast(&self) -> &Ast {
        &self.source.ast
    }

    /// The inputs: first the declared inputs in their order, then the names that are used without a declaration.
    pub fn inputs(&self) -> impl Iterator<Item = Input<'_>> {
        let ast = &self.source.ast;
        let declared = ast.statements().iter().filter_map(move |statement| match statement {
            Statement::Input { name, ty, .. } => Some(Input { ast, name, ty: Some(ty) }),
            _ => None,
        });
        declared.chain(self.free.iter().map(move |id| Input { ast, name: &ast[*id].span, ty: None }))
    }

    /// The span of a result's expression; the whole text if there is no result of this number.
    pub fn result_span(&self, number: usize) -> Span {
        let statement =
            self.outputs.get(number).and_then(|o| self.ast().statements().get(o.statement as usize));
        match statement {
            Some(Statement::Output { value, .. }) => self.ast()[value.root()].span.clone(),
            _ => 0..self.ast().text().len() as u32,
        }
    }

    /// Whether each element of the results depends only on the elements of the inputs at the same index, so that the
    /// program can be evaluated on sections of the inputs. It then has no views, no reductions, and no declared types,
    /// whose extents a section would not have.
    pub fn is_elementwise(&self) -> bool {
        let types = self.ast().statements().iter().any(|statement| {
            matches!(statement, Statement::Input { .. } | Statement::Binding { ty: Some(_), .. })
        });
        // An error that names an element of a loop needs the number of the element among all elements.
        let is_unlimited = |of: &LoopStatement| matches!(of.head, LoopHead::While { limit: None, .. });
        let is_scan = |of: &LoopStatement| matches!(of.head, LoopHead::Scan { .. });
        let is_limited = !self.ast().loops().iter().any(|of| is_unlimited(of) || is_scan(of));
        is_limited && !types && !self.source.moves_elements() && !self.library.moves_elements()
    }

    /// Whether the program, or a function of its library, contains a derivative.
    pub fn differentiates(&self) -> bool {
        self.source.differentiates() || self.library.differentiates()
    }

    /// The results, in their order.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }
}

/// Collects the results and their names.
fn outputs(ast: &Ast) -> Result<Vec<Output>, TextError> {
    let count = ast.statements().iter().filter(|s| matches!(s, Statement::Output { .. })).count();
    let mut outputs: Vec<Output> = Vec::new();
    let mut written: HashMap<&str, bool> = HashMap::new();
    for (number, statement) in ast.statements().iter().enumerate() {
        let Statement::Output { name, value } = statement else { continue };
        let root = &ast[value.root()];
        let (at, is_plain) = match (name, &root.kind) {
            (Some(name), _) => (name, false),
            (None, AstKind::Name) => (&root.span, true),
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
