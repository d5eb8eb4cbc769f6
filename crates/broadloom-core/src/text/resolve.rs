//! Resolves names and calls to the objects that they refer to.
//!
//! A name can refer only to what precedes it, so that no definition is circular. The resolver checks that each call has
//! as many arguments as its function takes, and that dtypes and lists occur only where a function takes them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::Span;
use super::ast::{Ast, AstId, AstKind, AstNode, Body, Carried, LoopHead, Statement};
use super::bind::{arguments, bind, counted};
use super::built_in::{Named, built_in, built_in_names, constant};
use super::call::Call;
use super::error::TextError;
use super::library::Library;
use super::number::brief;
use super::parameters::ASTYPE;
use super::slips;
use super::source::{Def, Function, Reference, Source};
use super::suggestions::nearest;
use crate::ErrorKind;
use crate::listing::signature;

/// Resolves a text. Also returns the first use of each name that the text does not declare.
pub(super) fn resolve(ast: Ast, library: &Library) -> Result<(Source, Vec<AstId>), TextError> {
    let mut resolver = Resolver {
        ast: &ast,
        library,
        references: vec![Reference::Itself; ast.nodes().len()],
        calls: Vec::new(),
        slots: HashMap::new(),
        height: 0,
        next: vec![Vec::new(); ast.loops().len()],
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
            Statement::Loop(number) => resolver.repeated(*number, None)?,
            Statement::Def { name, parameters, body } => {
                let def = Def { name: name.clone(), parameters: parameters.clone(), body: body.clone() };
                resolver.def(def)?;
            }
            Statement::Output { value, .. } => resolver.body(value, None)?,
        }
    }
    let Resolver { references, calls, defs, order, next, .. } = resolver;
    Ok((Source { ast, references, calls, defs, next }, order))
}

struct Resolver<'t> {
    ast: &'t Ast,
    library: &'t Library,
    references: Vec<Reference>,
    calls: Vec<Call>,
    slots: HashMap<&'t str, u32>,
    /// The number of slots that are in use.
    height: u32,
    /// For each loop, the slots of the next values.
    next: Vec<Vec<u32>>,
    defs: Vec<Def>,
    def_of: HashMap<&'t str, u32>,
    free: HashMap<&'t str, AstId>,
    order: Vec<AstId>,
}

/// The names in a loop.
struct Scope<'t> {
    /// The carried values.
    carried: HashSet<&'t str>,
    /// The names that are bound in the loop, each with the slot that it had before.
    bound: Vec<(&'t str, Option<u32>)>,
}

impl<'t> Resolver<'t> {
    /// Declares the name of an input or a binding.
    fn slot(&mut self, name: &'t Span) -> Result<(), TextError> {
        self.unused(name)?;
        let text = self.ast.at(name);
        match self.slots.insert(text, self.height) {
            None => {
                self.height += 1;
                Ok(())
            }
            Some(_) => Err(self.bound_before(name, "give it another name")),
        }
    }

    fn bound_before(&self, name: &Span, help: &str) -> TextError {
        let message = format!("`{}` has a value already", brief(self.ast.at(name)));
        TextError::new(ErrorKind::Name, name, message).with_help(help)
    }

    /// Refuses to bind a name that an earlier expression has used without a declaration.
    fn unused(&self, name: &Span) -> Result<(), TextError> {
        let text = self.ast.at(name);
        if let Some(earlier) = self.free.get(text) {
            let message = format!("`{}` is used before it has a value", brief(text));
            let error = TextError::new(ErrorKind::Name, &self.ast[*earlier].span, message);
            return Err(error.with_help("a name is bound once: give the new value another name"));
        }
        Ok(())
    }

    /// Binds a name in a loop, until [`Resolver::leave`].
    fn shadow(&mut self, name: &'t Span, scope: &mut Scope<'t>) {
        let text = self.ast.at(name);
        scope.bound.push((text, self.slots.insert(text, self.height)));
        self.height += 1;
    }

    /// Ends the bindings in a loop except the first `except` ones, with which `height` slots are in use.
    fn leave(&mut self, scope: &mut Scope<'t>, except: usize, height: u32) {
        self.height = height;
        for (name, former) in scope.bound.drain(except..).rev() {
            match former {
                Some(slot) => self.slots.insert(name, slot),
                None => self.slots.remove(name),
            };
        }
    }

    /// Binds a name of a statement. In a loop, the name of a carried value may be bound again.
    fn bind(&mut self, name: &'t Span, scope: Option<&mut Scope<'t>>) -> Result<(), TextError> {
        let text = self.ast.at(name);
        let Some(scope) = scope else { return self.slot(name) };
        if !scope.carried.contains(text) {
            self.unused(name)?;
            if self.slots.contains_key(text) {
                return Err(self.bound_before(name, "in a loop only carried values change"));
            }
        }
        self.shadow(name, scope);
        Ok(())
    }

    /// Resolves a loop, and binds the names of its values. `outer` is the scope of the loop that contains it.
    ///
    /// It recurses along nested loops, whose number the parser limits.
    fn repeated(&mut self, number: u32, mut outer: Option<&mut Scope<'t>>) -> Result<(), TextError> {
        let ast: &'t Ast = self.ast;
        let of = &ast.loops()[number as usize];
        for Carried { first, .. } in &of.carried {
            self.body(first, None)?;
        }
        if let LoopHead::For { lower, upper, .. } = &of.head {
            self.body(lower, None)?;
            self.body(upper, None)?;
        }
        if let LoopHead::Scan { inputs, .. } = &of.head {
            for Carried { first, .. } in inputs {
                self.body(first, None)?;
            }
        }
        let mut scope = Scope { carried: HashSet::new(), bound: Vec::new() };
        let outside = self.height;
        if let LoopHead::For { name, .. } = &of.head {
            self.shadow(name, &mut scope);
        }
        for Carried { name, .. } in &of.carried {
            if !scope.carried.insert(ast.at(name)) {
                let message = format!("there are two carried values `{}`", brief(ast.at(name)));
                return Err(TextError::new(ErrorKind::Name, name, message));
            }
            self.shadow(name, &mut scope);
        }
        if let LoopHead::For { name, .. } = &of.head
            && scope.carried.contains(ast.at(name))
        {
            let message = format!("the integer and a carried value are both named `{}`", brief(ast.at(name)));
            return Err(TextError::new(ErrorKind::Name, name, message));
        }
        if let LoopHead::Scan { inputs, .. } = &of.head {
            let mut elements = HashSet::new();
            for Carried { name, .. } in inputs {
                if scope.carried.contains(ast.at(name)) || !elements.insert(ast.at(name)) {
                    let message = format!("two states or elements are named `{}`", brief(ast.at(name)));
                    return Err(TextError::new(ErrorKind::Name, name, message));
                }
                self.shadow(name, &mut scope);
            }
        }
        let (carried, inside) = (scope.bound.len(), self.height);
        if let LoopHead::While { bindings, condition, .. } = &of.head {
            self.bindings(bindings, &mut scope)?;
            self.body(condition, None)?;
            self.leave(&mut scope, carried, inside);
        }
        self.bindings(&of.body, &mut scope)?;
        let next = of.carried.iter().filter_map(|of| self.slots.get(ast.at(&of.name)).copied());
        let mut next: Vec<u32> = next.collect();
        // The names of a scan after those of its states are its outputs.
        for name in &ast.parameters(&of.names)[of.carried.len()..] {
            let text = ast.at(name);
            let is_bound = scope.bound[carried..].iter().any(|(bound, _)| *bound == text);
            match self.slots.get(text).filter(|_| is_bound) {
                Some(slot) => next.push(*slot),
                None => {
                    let message = format!("the body of the scan does not bind its output `{}`", brief(text));
                    let help = "an output has the name of a binding in the body";
                    return Err(TextError::new(ErrorKind::Name, name, message).with_help(help));
                }
            }
        }
        self.next[number as usize] = next;
        self.leave(&mut scope, 0, outside);
        for name in ast.parameters(&of.names) {
            match ast.at(name) {
                "_" => self.height += 1,
                _ => self.bind(name, outer.as_deref_mut())?,
            }
        }
        Ok(())
    }

    /// Resolves the bindings in a loop.
    fn bindings(&mut self, statements: &'t [Statement], scope: &mut Scope<'t>) -> Result<(), TextError> {
        for statement in statements {
            match statement {
                Statement::Binding { name, value, .. } => {
                    self.body(value, None)?;
                    self.bind(name, Some(scope))?;
                }
                Statement::Loop(number) => self.repeated(*number, Some(scope))?,
                // The parser admits nothing else in a loop.
                _ => {}
            }
        }
        Ok(())
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
        // The function is declared after its body is resolved, so that it can't call itself.
        self.def_of.insert(text, self.defs.len() as u32);
        self.defs.push(def);
        Ok(())
    }

    /// Resolves an expression. If it is the body of a function, `of` contains the function's name and its parameters.
    fn body(&mut self, body: &Body, of: Option<(&Span, &HashMap<&str, u32>)>) -> Result<(), TextError> {
        for id in body.ids() {
            self.mark_syntax(id);
        }
        for id in body.ids() {
            let node = &self.ast[id];
            let is_syntax = self.references[id.index()] == Reference::Syntax;
            let reference = match &node.kind {
                _ if is_syntax => continue,
                AstKind::DType(dtype) => {
                    let message = format!("`{dtype}` is a dtype, which only `{ASTYPE}` and `dtype=` take");
                    let help = format!("to convert, write `{ASTYPE}(x, {dtype})`");
                    return Err(TextError::new(ErrorKind::Arity, &node.span, message).with_help(help));
                }
                AstKind::List(_) => {
                    let message = "a list, which only axes and shapes can be";
                    let error = TextError::new(ErrorKind::Arity, &node.span, message);
                    return Err(error
                        .with_help("write one as in `reshape(x, [2, 3])`, or give its values as an input"));
                }
                AstKind::Name => self.name(id, of)?,
                AstKind::Call { name, .. } => self.call(id, name, of.map(|(name, _)| name))?,
                _ => continue,
            };
            self.references[id.index()] = reference;
        }
        Ok(())
    }

    /// Marks the arguments of a call that its function takes as syntax.
    fn mark_syntax(&mut self, id: AstId) {
        let node = &self.ast[id];
        let AstKind::Call { name, .. } = &node.kind else { return };
        let Some(Named::BuiltIn(function)) = built_in(self.ast.at(name)) else { return };
        for (arg, _, parameter) in arguments(self.ast, node, function) {
            let is_operand = parameter.is_some_and(|number| function.parameters[number].is_operand());
            if !is_operand && self.ast.args(&self.ast[arg]).is_empty() {
                self.references[arg.index()] = Reference::Syntax;
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
            if let Some(constant) = constant(text) {
                return Ok(Reference::Constant(constant));
            }
            let message = format!("`{}` is not a parameter of `{}`", brief(text), brief(self.ast.at(def)));
            let help =
                nearest(text, parameters.keys().copied()).map(|near| format!("did you mean `{near}`?"));
            let help = help.unwrap_or_else(|| "a user-defined function can use only its parameters".into());
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

    fn call(&mut self, id: AstId, name: &Span, def: Option<&Span>) -> Result<Reference, TextError> {
        let text = self.ast.at(name);
        let node = &self.ast[id];
        let args = self.ast.args(node);
        let own = self.def_of.get(text).map(|number| Function::Own(*number));
        let (reference, (words, takes)) = match own.or_else(|| self.library.function(text)) {
            Some(function) => (Reference::Function(function), self.parameters(function)),
            None => match built_in(text) {
                None => return Err(self.unknown_function(text, name, def, args.len())),
                Some(Named::Op(op)) => (Reference::Op(op), (signature(op).to_owned(), op.operands())),
                Some(Named::BuiltIn(function)) => {
                    self.calls.push(bind(self.ast, node, name, function)?);
                    return Ok(Reference::Call(self.calls.len() as u32 - 1));
                }
            },
        };
        self.has_no_keywords(node, text, &words)?;
        if args.len() != takes {
            let is_ours = !matches!(reference, Reference::Function(_));
            let message = counted(&brief(text), &words, takes, "", args.len());
            let help = slips::arity(text, args.len()).filter(|_| is_ours).map(str::to_owned);
            return Err(TextError::new(ErrorKind::Arity, name, message).with(help));
        }
        Ok(reference)
    }

    /// Refuses named arguments of a function that takes its arguments in order.
    fn has_no_keywords(&self, node: &AstNode, of: &str, words: &str) -> Result<(), TextError> {
        let Some(keyword) = self.ast.arguments(node).find_map(|(keyword, _)| keyword) else { return Ok(()) };
        let name = brief(self.ast.at(keyword));
        let message = format!("`{}({words})` takes its arguments in order, without `{name}=`", brief(of));
        let help = slips::keyword(of, &name, &[]).unwrap_or_else(|| "to compare, write `==`".to_owned());
        Err(TextError::new(ErrorKind::Arity, keyword, message).with_help(help))
    }

    /// The names of a function's parameters as text, and their number.
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

    fn unknown_function(&self, text: &str, name: &Span, def: Option<&Span>, arguments: usize) -> TextError {
        let help = if self.slots.contains_key(text) || self.free.contains_key(text) {
            Some(format!("`{}` is an array; to multiply, write `*`", brief(text)))
        } else if def.is_some_and(|def| self.ast.at(def) == text) {
            Some("a function can't call itself".into())
        } else {
            // The candidates are the functions of the text in their order, then those of the library, then the built-in
            // functions.
            let own = self.defs.iter().map(|def| self.ast.at(&def.name));
            let similar = || similar_function(text, own.chain(self.library.names()));
            slips::function(text, arguments).or_else(similar)
        };
        let message = format!("there is no function `{}`", brief(text));
        TextError::new(ErrorKind::Name, name, message).with(help)
    }
}

/// The function with the most similar name or, if none is similar, the only one whose name begins with `name`.
fn similar_function<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> Option<String> {
    let near = nearest(name, others.chain(built_in_names().map(|name| -> &'a str { name }))).or_else(|| {
        let mut begin = built_in_names().filter(|function| name.len() >= 3 && function.starts_with(name));
        begin.next().filter(|_| begin.next().is_none()).map(str::to_owned)
    });
    near.map(|near| format!("did you mean `{near}`?"))
}
