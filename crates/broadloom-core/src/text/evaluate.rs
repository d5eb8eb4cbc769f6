//! Evaluates a module to the values that a [`Meaning`] constructs, such as arrays, graphs or test programs.
//!
//! One loop runs over the nodes, with an explicit stack for user-defined functions. The number of steps is limited to
//! [`ParseOptions::max_nodes`](super::ParseOptions::max_nodes), however often functions call each other.

use smallvec::SmallVec;

use super::Span;
use super::ast::{Ast, AstId, AstKind, AstNode, Carried, Item, LoopHead, LoopStatement, Statement, Type};
use super::built_in::{built_in, constant};
use super::call::Call;
use super::error::{TextError, limit};
use super::meaning::{LoopCall, LoopKind, LoopPart, Meaning, View};
use super::module::{Input, Module};
use super::number::brief;
use super::parameters::{TakeName, ViewName};
use super::slips;
use super::source::{Constant, Def, Function, Reference, Source};
use super::suggestions::nearest;
use crate::indices::Indices;
use crate::{ErrorKind, Literal, Op, Result};

/// Evaluates a module and returns the values of its outputs, in their order.
///
/// # Errors
/// The first error in the order of the text.
pub fn evaluate<M: Meaning>(
    module: &Module,
    meaning: &mut M,
) -> std::result::Result<Vec<M::Value>, TextError> {
    results(module, meaning).map_err(|error| error.in_text(module.ast().text()))
}

fn results<M: Meaning>(module: &Module, meaning: &mut M) -> std::result::Result<Vec<M::Value>, TextError> {
    let ast = module.ast();
    let mut machine =
        Machine { module, meaning, values: Vec::new(), slots: Vec::new(), frames: Vec::new(), steps: 0 };
    let mut outputs = Vec::new();
    for statement in ast.statements() {
        match statement {
            Statement::Setting { name, value } => {
                let set = machine.meaning.set(ast.at(name), ast.at(value));
                set.map_err(|error| TextError::of(&error, &(name.start..value.end)))?;
            }
            Statement::Input { name, ty, data } => {
                let input = Input { ast, name, ty: Some(ty) };
                let value = machine.meaning.input(&input, data.as_ref().map(|data| ast.data(data)));
                let about_the_array = |error| TextError { uses_names: true, ..TextError::of(&error, name) };
                machine.slots.push((value.map_err(about_the_array)?, true));
            }
            Statement::Binding { name, ty, value } => {
                let value = machine.body(value.ids())?;
                if let Some(ty) = ty {
                    machine.check(&value, name, ty)?;
                }
                machine.slots.push(value);
            }
            Statement::Loop(number) => machine.repeated(*number)?,
            Statement::Def { .. } => {}
            Statement::Output { value, .. } => outputs.push(machine.body(value.ids())?.0),
        }
    }
    Ok(outputs)
}

/// A call of a user-defined function, whose body is being evaluated.
struct Frame<'m> {
    source: &'m Source,
    def: &'m Def,
    next: u32,
    /// The index of the call's first argument in the stack of values.
    base: usize,
}

/// The operands of a node. Only host functions have more than three.
type Operands<V> = SmallVec<[V; 3]>;

/// A value, and whether it depends on a name.
type Held<V> = (V, bool);

/// An error in the body of a user-defined function.
struct InnerError {
    error: TextError,
    /// The name of the function.
    def: String,
    /// The text of the expression at fault.
    part: String,
}

struct Machine<'m, 'b, M: Meaning> {
    module: &'m Module,
    meaning: &'b mut M,
    /// The operands of incomplete nodes, as a stack; `None` for an argument that is syntax and has no value.
    values: Vec<Option<Held<M::Value>>>,
    /// The values of inputs and bindings, in their order.
    slots: Vec<Held<M::Value>>,
    frames: Vec<Frame<'m>>,
    steps: usize,
}

impl<'m, M: Meaning> Machine<'m, '_, M> {
    /// Evaluates an expression of the module's own text.
    fn body(&mut self, ids: impl Iterator<Item = AstId>) -> std::result::Result<Held<M::Value>, TextError> {
        self.values.clear();
        let source = &self.module.source;
        for id in ids {
            self.step(source, id)?;
            if self.frames.is_empty() {
                continue;
            }
            self.inlined().map_err(|inner| self.in_function(*inner, source, id))?;
        }
        self.values.pop().flatten().ok_or_else(internal)
    }

    /// Evaluates a loop, and adds the slots of its values.
    fn repeated(&mut self, number: u32) -> std::result::Result<(), TextError> {
        let ast = self.module.ast();
        let of = ast.loops().get(number as usize).ok_or_else(internal)?;
        let (mut state, mut uses_names) = (Vec::new(), false);
        for Carried { first, .. } in &of.carried {
            let (value, names) = self.body(first.ids())?;
            state.push(value);
            uses_names |= names;
        }
        let kind = match &of.head {
            LoopHead::While { limit, .. } => LoopKind::While(*limit),
            LoopHead::For { lower, upper, .. } => {
                let bounds = [self.body(lower.ids())?, self.body(upper.ids())?];
                uses_names |= bounds.iter().any(|bound| bound.1);
                LoopKind::For(bounds.map(|bound| bound.0))
            }
            LoopHead::Scan { inputs, along } => {
                let mut values = Vec::with_capacity(inputs.len());
                for Carried { first, .. } in inputs {
                    let (value, names) = self.body(first.ids())?;
                    values.push(value);
                    uses_names |= names;
                }
                LoopKind::Scan(values, *along)
            }
        };
        let call = LoopCall { names: of.carried.iter().map(|of| ast.at(&of.name)).collect(), kind, state };
        let mut failed: Option<TextError> = None;
        let Machine { module, meaning, slots, steps, .. } = self;
        let height = slots.len();
        let mut run = |meaning: &mut M, part: LoopPart, values: &[M::Value]| {
            let mut all = std::mem::take(slots);
            all.extend(values.iter().map(|value| (value.clone(), true)));
            let (values, frames) = (Vec::new(), Vec::new());
            let mut inner = Machine { module, meaning, values, slots: all, frames, steps: *steps };
            let done = inner.part(number, of, part);
            inner.slots.truncate(height);
            *slots = inner.slots;
            *steps = inner.steps;
            done.map_err(|error| {
                failed = Some(error);
                crate::Error::new(ErrorKind::Internal, "a loop in a text was evaluated after an error")
            })
        };
        let results = M::repeat(meaning, &call, &mut run);
        match (results, failed) {
            (_, Some(error)) => Err(error),
            (Err(error), None) => Err(TextError { uses_names, ..TextError::of(&error, &of.at) }),
            (Ok(results), None) => {
                self.slots.extend(results.into_iter().map(|value| (value, true)));
                Ok(())
            }
        }
    }

    /// Evaluates the condition or the body of a loop. The last slots are the values that it is given.
    fn part(
        &mut self,
        number: u32,
        of: &LoopStatement,
        part: LoopPart,
    ) -> std::result::Result<Vec<M::Value>, TextError> {
        let (statements, condition) = match (part, &of.head) {
            (LoopPart::Condition, LoopHead::While { bindings, condition, .. }) => (bindings, Some(condition)),
            _ => (&of.body, None),
        };
        for statement in statements {
            match statement {
                Statement::Binding { value, .. } => {
                    let value = self.body(value.ids())?;
                    self.slots.push(value);
                }
                Statement::Loop(number) => self.repeated(*number)?,
                _ => return Err(internal()),
            }
        }
        if let Some(condition) = condition {
            return Ok(vec![self.body(condition.ids())?.0]);
        }
        let next = self.module.source.next.get(number as usize).ok_or_else(internal)?;
        let value = |slot: &u32| self.slots.get(*slot as usize).map(|(value, _)| value.clone());
        next.iter().map(value).collect::<Option<_>>().ok_or_else(internal)
    }

    /// Evaluates the bodies of the functions that have been entered, to their ends. An error names the function and the
    /// expression at fault.
    fn inlined(&mut self) -> std::result::Result<(), Box<InnerError>> {
        while let Some(frame) = self.frames.last_mut() {
            let (source, end) = (frame.source, frame.def.body.nodes.end);
            if frame.next < end {
                let id = AstId(frame.next);
                let def = frame.def;
                frame.next += 1;
                self.step(source, id).map_err(|error| {
                    let def = brief(source.ast.at(&def.name)).into_owned();
                    Box::new(InnerError {
                        error,
                        def,
                        part: brief(source.ast.at(&source.ast[id].span)).into_owned(),
                    })
                })?;
                continue;
            }
            let base = frame.base;
            self.frames.pop();
            let result = self.values.pop().flatten();
            self.values.truncate(base);
            self.values.push(result);
        }
        Ok(())
    }

    /// The error for a failure within a function, reported at the call in the module's own text.
    fn in_function(&self, inner: InnerError, source: &Source, id: AstId) -> TextError {
        let InnerError { error, def, part } = inner;
        let span = match &source.ast[id].kind {
            AstKind::Call { name, .. } => name,
            _ => &source.ast[id].span,
        };
        if error.is_limit() {
            return TextError { span: span.clone(), ..error };
        }
        let part: Vec<&str> = part.split_whitespace().collect();
        let message = format!("in `{def}`, at `{}`: {}", part.join(" "), error.message);
        TextError { span: span.clone(), message, operands: Vec::new(), ..error }
    }

    /// Evaluates a node whose operands have been evaluated, or enters the function that it calls.
    fn step(&mut self, source: &'m Source, id: AstId) -> std::result::Result<(), TextError> {
        let ast = &source.ast;
        let node = &ast[id];
        self.steps += 1;
        if self.steps > self.module.max_nodes {
            let message = format!(
                "after inlining, user-defined functions have more than {} nodes",
                self.module.max_nodes
            );
            return Err(limit(&node.span, message));
        }
        let value = match (source.references[id.index()], &node.kind) {
            (Reference::Syntax, _) => None,
            (Reference::Parameter(number), _) => {
                let base = self.frames.last().map_or(0, |frame| frame.base);
                self.values.get(base + number as usize).cloned().flatten()
            }
            (Reference::Slot(slot), _) => Some(self.slots.get(slot as usize).cloned().ok_or_else(internal)?),
            (Reference::Free, _) => {
                let name = ast.at(&node.span);
                let given = self.meaning.free(name).map(|value| (value, true));
                let value = given.or_else(|| constant(name).map(|constant| self.constant(constant)));
                Some(value.ok_or_else(|| self.unknown_name(node, name))?)
            }
            (Reference::Constant(constant), _) => Some(self.constant(constant)),
            (Reference::Function(function), _) => return self.function(source, id, function),
            (Reference::Op(op), AstKind::Call { name, .. }) => Some(self.apply(ast, node, name, op)?),
            (_, AstKind::Operator { op, at }) => Some(self.apply(ast, node, at, *op)?),
            (Reference::Call(call), AstKind::Call { name, .. }) => {
                let call = source.calls.get(call as usize).ok_or_else(internal)?;
                Some(self.call(ast, node, name, call)?)
            }
            (_, AstKind::Index(items)) => {
                let inner = &ast[ast.args(node)[0]].span;
                let span = inner.end..node.span.end;
                Some(self.on_all(ast, node, &span, |meaning, args| index(meaning, args, ast.items(items)))?)
            }
            (_, AstKind::Bool(x)) => Some((self.meaning.literal(Literal::Bool(*x)), false)),
            (_, AstKind::Int(x)) => Some((self.meaning.literal(Literal::Int(*x)), false)),
            (_, AstKind::Float(x)) => Some((self.meaning.literal(Literal::Float(*x)), false)),
            (_, AstKind::Constant(x)) => Some((self.meaning.constant(*x), false)),
            _ => return Err(internal()),
        };
        self.values.push(value);
        Ok(())
    }

    /// The value of a constant: a literal without a dtype, which does not depend on names.
    fn constant(&mut self, constant: Constant) -> Held<M::Value> {
        (self.meaning.literal(Literal::Float(constant.value())), false)
    }

    /// Pops the operands of a node, and returns whether one of them depends on a name.
    fn operands(&mut self, count: usize) -> std::result::Result<(Operands<M::Value>, bool), TextError> {
        let first = self.values.len().checked_sub(count).ok_or_else(internal)?;
        let mut uses_names = false;
        let mut operands = Operands::new();
        for (value, names) in self.values.drain(first..).flatten() {
            uses_names |= names;
            operands.push(value);
        }
        Ok((operands, uses_names))
    }

    fn apply(
        &mut self,
        ast: &Ast,
        node: &AstNode,
        at: &Span,
        op: Op,
    ) -> std::result::Result<Held<M::Value>, TextError> {
        let args = ast.args(node);
        let (operands, uses_names) = self.operands(args.len())?;
        match self.meaning.apply(op, &operands) {
            Ok(value) => Ok((value, uses_names)),
            Err(error) => {
                let refused = self.refused(&error, ast, at, args, &operands, uses_names);
                let is_about_types = matches!(error.kind(), ErrorKind::DType | ErrorKind::Literal);
                let help = slips::operands(ast.at(at)).filter(|_| is_about_types);
                Err(help.map_or(refused.clone(), |help| refused.with_help(help)))
            }
        }
    }

    fn refused(
        &self,
        error: &crate::Error,
        ast: &Ast,
        at: &Span,
        args: &[AstId],
        operands: &[M::Value],
        uses_names: bool,
    ) -> TextError {
        let shown = args.iter().zip(operands);
        let operands = shown.map(|(arg, x)| (ast[*arg].span.clone(), self.meaning.show(x))).collect();
        TextError { operands, uses_names, ..TextError::of(error, at) }
    }

    /// Calls a function that takes more than operands.
    fn call(
        &mut self,
        ast: &Ast,
        node: &AstNode,
        at: &Span,
        call: &Call,
    ) -> std::result::Result<Held<M::Value>, TextError> {
        match call {
            Call::Astype(dtype) => self.on_one(ast, node, at, |meaning, x| meaning.cast(x, *dtype)),
            Call::View { name, list, axis, index } => {
                let list = ast.integers(list);
                let view = match name {
                    ViewName::PermuteDims => View::PermuteDims(list),
                    ViewName::BroadcastTo => View::BroadcastTo(list),
                    ViewName::Reshape => View::Reshape(list),
                    ViewName::ExpandDims => View::ExpandDims(*axis),
                    ViewName::Squeeze => View::Squeeze(*axis),
                    ViewName::Flip => View::Flip(*axis),
                    ViewName::IndexAxis => View::IndexAxis(*axis, *index),
                    ViewName::SlidingWindow => View::SlidingWindow(*index, *axis),
                };
                self.on_one(ast, node, at, |meaning, x| meaning.view(x, view))
            }
            Call::Take { name, axis } => {
                self.on_all(ast, node, at, |meaning, args| meaning.take(*name, args, *axis))
            }
            Call::Concat { axis } => self.on_all(ast, node, at, |meaning, args| meaning.concat(args, *axis)),
            Call::PadLike(padding) => {
                self.on_all(ast, node, at, |meaning, args| meaning.pad_like(args, *padding))
            }
            Call::Grad => self.on_all(ast, node, at, |meaning, args| meaning.grad(args)),
            Call::Routine(call) => self.on_all(ast, node, at, |meaning, args| meaning.routine(call, args)),
            Call::Reduction(call) => self.on_all(ast, node, at, |meaning, args| meaning.reduce(call, args)),
            Call::Generator(call) => self.on_all(ast, node, at, |meaning, args| meaning.generate(call, args)),
        }
    }

    /// Applies a function to all operands of a call, which are its first arguments.
    fn on_all(
        &mut self,
        ast: &Ast,
        node: &AstNode,
        at: &Span,
        apply: impl FnOnce(&mut M, &[M::Value]) -> Result<M::Value>,
    ) -> std::result::Result<Held<M::Value>, TextError> {
        let args = ast.args(node);
        let (operands, uses_names) = self.operands(args.len())?;
        match apply(self.meaning, &operands) {
            Ok(value) => Ok((value, uses_names)),
            Err(error) => Err(self.refused(&error, ast, at, args, &operands, uses_names)),
        }
    }

    /// Applies a function to the only operand of a call, which is its first argument.
    fn on_one(
        &mut self,
        ast: &Ast,
        node: &AstNode,
        at: &Span,
        apply: impl FnOnce(&mut M, &M::Value) -> Result<M::Value>,
    ) -> std::result::Result<Held<M::Value>, TextError> {
        self.on_all(ast, node, at, |meaning, args| match args {
            [x] => apply(meaning, x),
            _ => Err(crate::Error::new(ErrorKind::Internal, "the text was resolved wrongly")),
        })
    }

    fn function(
        &mut self,
        source: &'m Source,
        id: AstId,
        function: Function,
    ) -> std::result::Result<(), TextError> {
        let node = &source.ast[id];
        let args = source.ast.args(node);
        let (source, def) = match function {
            Function::Host { id, .. } => {
                let (operands, uses_names) = self.operands(args.len())?;
                let value = self.meaning.host(id, &operands).map_err(|error| {
                    let at = if let AstKind::Call { name, .. } = &node.kind { name } else { &node.span };
                    self.refused(&error, &source.ast, at, args, &operands, uses_names)
                })?;
                self.values.push(Some((value, uses_names)));
                return Ok(());
            }
            Function::Own(def) => (source, def),
            Function::Library { source, def } => (self.module.library.source(source), def),
        };
        let def = source.defs.get(def as usize).ok_or_else(internal)?;
        let base = self.values.len().checked_sub(args.len()).ok_or_else(internal)?;
        self.frames.push(Frame { source, def, next: def.body.nodes.start, base });
        Ok(())
    }

    fn check(
        &mut self,
        value: &Held<M::Value>,
        name: &Span,
        ty: &Type,
    ) -> std::result::Result<(), TextError> {
        let ast = self.module.ast();
        let declared = Input { ast, name, ty: Some(ty) };
        let checked = self.meaning.check(&value.0, &declared);
        checked.map_err(|error| TextError { uses_names: value.1, ..TextError::of(&error, &ty.span) })
    }

    fn unknown_name(&self, node: &AstNode, name: &str) -> TextError {
        let known = self.meaning.names();
        let inputs = self.module.inputs().filter(|input| input.dtype().is_some()).map(|input| input.name());
        let ast = self.module.ast();
        // A name is not bound within its own value.
        let bound = ast.statements().iter().flat_map(|statement| match statement {
            Statement::Binding { name, value, .. } if ast[value.root()].span.end <= node.span.start => {
                std::slice::from_ref(name)
            }
            Statement::Loop(number) if ast.loops()[*number as usize].end <= node.span.start => {
                ast.parameters(&ast.loops()[*number as usize].names)
            }
            _ => &[],
        });
        let around = ast.loops().iter().filter(|of| (of.at.start..of.end).contains(&node.span.start));
        let carried = around.flat_map(|of| of.carried.iter().map(|carried| &carried.name));
        let bound = bound.chain(carried).map(|name| ast.at(name));
        let mut seen = std::collections::HashSet::new();
        let all = known.into_iter().chain(inputs).chain(bound).take(1000);
        let candidates: Vec<&str> = all.filter(|name| seen.insert(*name)).collect();
        let help = if built_in(name).is_none() {
            nearest(name, candidates.iter().copied()).map(|other| format!("did you mean `{other}`?"))
        } else {
            Some(format!("`{name}` is a function: write its arguments after it, in parentheses"))
        };
        let help = slips::name(name).or(help).or_else(|| match &candidates[..] {
            [] => Some("no names are known".to_owned()),
            known if known.len() <= 8 => {
                let known: Vec<_> = known.iter().map(|name| brief(name)).collect();
                Some(format!("known are `{}`", known.join("`, `")))
            }
            _ => None,
        });
        TextError::new(ErrorKind::Name, &node.span, format!("`{}` is not known", brief(name))).with(help)
    }
}

/// Applies `x[item, …]` to the indexed value and the computed indices. As in NumPy, an integer beside a computed index is an index
/// of the same tuple.
fn index<M: Meaning>(meaning: &mut M, args: &[M::Value], items: &[Item]) -> Result<M::Value> {
    let Some((x, indices)) = args.split_first() else {
        return Err(crate::Error::new(ErrorKind::Internal, "the text was resolved wrongly"));
    };
    if indices.is_empty() {
        return meaning.view(x, View::Index(items));
    }
    let is_index = |item: &Item| matches!(item, Item::Computed | Item::Of(Indices::At(_)));
    let first = items.iter().position(is_index).unwrap_or(0);
    let end = items.iter().rposition(is_index).map_or(0, |last| last + 1);
    if !items[first..end].iter().all(is_index) {
        let why = "index: computed indices and integers of axes that are not next to each other";
        let advice = "index twice, or permute the axes first";
        return Err(crate::Error::new(ErrorKind::Shape, why).with_help(advice));
    }
    // Behind `...`, axes are counted from the end.
    let axis = match items[..first].contains(&Item::Rest) {
        true => -((indices.len() + items.len() - end) as isize),
        false => first as isize,
    };
    if items.len() == indices.len() {
        return meaning.take(TakeName::Take, args, axis);
    }
    let others: Vec<Item> = items
        .iter()
        .map(|item| if *item == Item::Computed { Item::Of(Indices::ALL) } else { *item })
        .collect();
    let mut taken: Operands<M::Value> = args.iter().cloned().collect();
    taken[0] = meaning.view(x, View::Index(&others))?;
    meaning.take(TakeName::Take, &taken, axis)
}

/// An internal error, for a state that the parser and the resolver rule out.
fn internal() -> TextError {
    TextError::new(ErrorKind::Internal, &(0..0), "the text was resolved wrongly")
}
