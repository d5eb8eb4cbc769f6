//! Prints expressions as programs.
//!
//! Building the text with the same inputs gives an expression with the same nodes, and the same expression is always printed as
//! the same text. The traversal uses an explicit stack, since an expression may be of any depth.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};
use std::sync::Arc;

use broadloom_core::node::StepOrder;
use broadloom_core::text::nodes::{computation, repeated, step_names, stepped, tuple};
use broadloom_core::text::{is_name, print as words};
use broadloom_core::{DType, Dims, Error, ErrorKind, Result, Scalar};
use broadloom_mem::FloatEnv;
use broadloom_mem::HostFunction;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::array::{Array, Kind, Leaf};
use crate::recorder::inner_operands;
use crate::text::Library;

/// Prints a program, with types written out, whose results are these arrays under these names.
///
/// An [`Array::input`] is declared under its own name. An array in memory becomes an input too, named `in0`, `in1`, … in the
/// order in which the arrays are found; [`Printed`] contains these arrays. A value that is used several times is bound once.
///
/// # Errors
/// [`ErrorKind::Name`] for a name that is not valid in a text or is given twice, for two different inputs or host functions with
/// the same name, and for a host function with the name of a function of the language.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::text;
///
/// let x = Array::from_vec(vec![1.0_f32, 2.0]);
/// let y = &x * 2 + 0.5;
/// assert_eq!(
///     text::print(&[("y", &y)])?,
///     "in0: float32[2]\nt0: float32[2] = in0 * float32(2.0)\ny: float32[2] = t0 + float32(0.5)\nreturn y\n"
/// );
/// # Ok::<(), Error>(())
/// ```
pub fn print(outputs: &[(&str, &Array<'_>)]) -> Result<String> {
    Printed::new(outputs).map(|printed| printed.text)
}

/// A printed program, with the arrays of its inputs.
#[derive(Clone)]
pub struct Printed<'a> {
    /// The program.
    pub text: String,
    /// The inputs in their order, to be given to [`Program::build`](super::Program::build).
    pub inputs: Vec<(String, Array<'a>)>,
}

impl<'a> Printed<'a> {
    /// Prints like [`print()`], and also returns the arrays of the inputs.
    ///
    /// # Errors
    /// The errors of [`print()`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::text::{Printed, Program};
    ///
    /// let x = Array::from_vec(vec![1_i32, 2, 3]).slice(&[Range::new(None, None, -1)])?;
    /// let printed = Printed::new(&[("y", &(&x + &x))])?;
    /// let program = Program::parse(&printed.text)?;
    /// let inputs: Vec<_> = printed.inputs.iter().map(|(name, x)| (&**name, x.clone())).collect();
    /// assert_eq!(program.build(&inputs)?[0].1.to_vec::<i32>()?, [6, 4, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(outputs: &[(&str, &Array<'a>)]) -> Result<Printed<'a>> {
        // Numbers are printed and read back in the default floating-point environment.
        let _ieee = FloatEnv::ieee();
        let refuse = |name: &str, why: &str| {
            Err(Error::new(ErrorKind::Name, format!("print: the name {name:?} {why}")))
        };
        let mut results: HashSet<&str> = HashSet::new();
        if let Some((name, _)) = outputs.iter().find(|(name, _)| !results.insert(name)) {
            return refuse(name, "is there twice");
        }
        let mut nodes = Nodes::default();
        for (_, root) in outputs {
            nodes.walk(root);
        }
        let mut types: HashMap<&str, (DType, Dims)> = HashMap::new();
        let mut functions: HashMap<&str, u64> = HashMap::new();
        let mut library = Library::default();
        for array in &nodes.order {
            let called = match &array.0.kind {
                Kind::Host { function, .. } => std::slice::from_ref(function),
                Kind::Loop(of) => &of.functions[..],
                Kind::Recurrence(of) => &of.functions[..],
                Kind::Leaf(Leaf::Carried) => {
                    return Err(Error::new(
                        ErrorKind::Name,
                        "print: a carried value is used outside of its loop",
                    ));
                }
                _ => &[],
            };
            for function in called {
                match functions.insert(function.name(), function.id()) {
                    None => library.register(function)?,
                    Some(id) if id != function.id() => {
                        return refuse(function.name(), "is that of two host functions");
                    }
                    Some(_) => {}
                }
            }
            let Some(Leaf::Input(name)) = array.leaf() else { continue };
            let ty = (array.dtype(), array.all_dims());
            for dim in ty.1.iter() {
                if let Some(symbol) = dim.symbol()
                    && !is_name(symbol.name())
                {
                    return refuse(symbol.name(), "is not one that a text can have");
                }
            }
            if types.insert(name, ty.clone()).is_some_and(|earlier| earlier != ty) {
                return refuse(name, "is that of two inputs");
            }
        }
        if let Some(name) = results.iter().chain(types.keys()).find(|name| !is_name(name)) {
            return refuse(name, "is not one that a text can have");
        }
        let taken = results.iter().chain(types.keys()).map(|name| (*name).to_owned()).collect();
        // A result that has the name of an input can be named only in `return`, not bound to the name.
        let wanted: Vec<(&str, &Array<'a>)> =
            outputs.iter().copied().filter(|(name, _)| !types.contains_key(name)).collect();
        let mut printer = Printer {
            taken,
            declared: HashSet::new(),
            inputs: Vec::new(),
            temporaries: 0,
            head: String::new(),
            body: String::new(),
        };
        let names = printer.lines(&nodes, &wanted);
        let Printer { inputs, head, mut body, .. } = printer;
        body.push_str("return ");
        for (i, (name, root)) in outputs.iter().enumerate() {
            let written = &names[nodes.ids[&address(root)]];
            // Writing to a String can't fail.
            let _ = match written == name {
                true => write!(body, "{}{name}", if i == 0 { "" } else { ", " }),
                false => write!(body, "{}{name} = {written}", if i == 0 { "" } else { ", " }),
            };
        }
        body.push('\n');
        Ok(Printed { text: head + &body, inputs })
    }
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn address(array: &Array<'_>) -> usize {
    Arc::as_ptr(&array.0) as usize
}

/// Every node once, operands first, with the number of its uses.
#[derive(Default)]
struct Nodes<'e, 'a> {
    order: Vec<&'e Array<'a>>,
    ids: FxHashMap<usize, usize>,
    uses: Vec<u32>,
}

impl<'e, 'a> Nodes<'e, 'a> {
    fn walk(&mut self, root: &'e Array<'a>) {
        let mut pending = vec![(root, false)];
        while let Some((array, operands_done)) = pending.pop() {
            if let Some(&id) = self.ids.get(&address(array)) {
                self.uses[id] += 1;
                continue;
            }
            if !operands_done {
                pending.push((array, true));
                let operands: SmallVec<[&'e Array<'a>; 3]> = inner_operands(array).collect();
                pending.extend(operands.into_iter().rev().map(|arg| (arg, false)));
                continue;
            }
            self.ids.insert(address(array), self.order.len());
            self.order.push(array);
            self.uses.push(1);
        }
    }
}

/// What the values of one loop or recurrence have in common.
type LoopIdentity = (usize, Vec<usize>, Option<(u32, u8, StepOrder)>);

impl Nodes<'_, '_> {
    /// The positions of the values of each loop, in the order in which it carries them, by the position of the first.
    fn loops(&self) -> FxHashMap<usize, Vec<Option<usize>>> {
        let mut firsts: FxHashMap<LoopIdentity, usize> = FxHashMap::default();
        let mut found: FxHashMap<usize, Vec<Option<usize>>> = FxHashMap::default();
        for (id, array) in self.order.iter().enumerate() {
            let (region, args, along, item) = match &array.0.kind {
                Kind::Loop(of) => (&of.region, &of.args, None, of.item),
                Kind::Recurrence(of) => (&of.step, &of.args, Some(of.along()), of.item),
                _ => continue,
            };
            let key = (Arc::as_ptr(region) as usize, args.iter().map(address).collect(), along);
            let first = *firsts.entry(key).or_insert(id);
            let values = region.carried() + region.outputs.len();
            let items = found.entry(first).or_insert_with(|| vec![None; values]);
            items[item as usize] = Some(id);
        }
        found
    }
}

/// The names of host functions.
fn names_of(functions: &[HostFunction]) -> Vec<&str> {
    functions.iter().map(HostFunction::name).collect()
}

struct Printer<'a> {
    taken: HashSet<String>,
    /// The names of the inputs ([`Array::input`]) that are already declared in the text.
    declared: HashSet<String>,
    inputs: Vec<(String, Array<'a>)>,
    temporaries: usize,
    head: String,
    body: String,
}

impl<'a> Printer<'a> {
    /// Writes a line for each node that needs one. Returns, for each node, the text that refers to it.
    fn lines(&mut self, nodes: &Nodes<'_, 'a>, outputs: &[(&str, &Array<'a>)]) -> Vec<String> {
        let mut wanted: FxHashMap<usize, &str> = FxHashMap::default();
        for (name, root) in outputs {
            wanted.entry(address(root)).or_insert(name);
        }
        let mut names: Vec<String> = Vec::with_capacity(nodes.order.len());
        let loops = nodes.loops();
        // The names of the values of loops that are bound with the first of them.
        let mut bound: FxHashMap<usize, String> = FxHashMap::default();
        for (id, array) in nodes.order.iter().enumerate() {
            if let Some(items) = loops.get(&id) {
                for &item in items.iter().flatten() {
                    bound.insert(item, self.given(&wanted, nodes.order[item]));
                }
                let named: Vec<Option<String>> =
                    items.iter().map(|item| item.and_then(|item| bound.get(&item).cloned())).collect();
                let targets = match &array.0.kind {
                    Kind::Recurrence(of) => step_names(of.states(), &named),
                    _ => tuple(named.iter().cloned()),
                };
                let args: Vec<&str> =
                    inner_operands(array).map(|arg| names[nodes.ids[&address(arg)]].as_str()).collect();
                let value = self.repeated(array, &args, &named);
                let _ = writeln!(self.body, "{targets} = {value}");
            }
            if let Some(name) = bound.remove(&id) {
                names.push(name);
                continue;
            }
            let name = |arg: &Array<'a>| names[nodes.ids[&address(arg)]].as_str();
            let value = match array.leaf() {
                Some(Leaf::Data(_)) => {
                    let name = self.fresh("in", self.inputs.len());
                    let _ = writeln!(self.head, "{name}: {}", words::ty(array.dtype(), array.shape()));
                    self.inputs.push((name.clone(), (*array).clone()));
                    names.push(name);
                    continue;
                }
                Some(Leaf::Input(name)) => {
                    if self.declared.insert(name.to_string()) {
                        let _ = writeln!(self.head, "{name}: {}{}", array.dtype(), array.all_dims());
                    }
                    names.push(name.to_string());
                    continue;
                }
                // A number occurs only as a root. One that has no dtype of its own is written without a dtype.
                Some(Leaf::Number(x)) => {
                    let typed = x.scalar().ok().filter(|_| x.dtype() != x.literal().default_dtype());
                    names.push(typed.map_or_else(
                        || words::literal(x.literal()).to_string(),
                        |value| words::constant(value).to_string(),
                    ));
                    continue;
                }
                Some(Leaf::Const(x) | Leaf::Rounded(x, _)) if nodes.uses[id] == 1 => {
                    names.push(words::constant(*x).to_string());
                    continue;
                }
                Some(Leaf::Const(x) | Leaf::Rounded(x, _)) => words::constant(*x).to_string(),
                Some(Leaf::Rule(..) | Leaf::RecordedRule(..)) => {
                    words::constant(Scalar { dtype: array.dtype(), bits: 0 }).to_string()
                }
                Some(Leaf::Index(len)) => words::index(*len).to_string(),
                // Printing refuses carried values.
                Some(Leaf::Carried) => String::new(),
                None => computation(&array.0.kind, name, |function| function.name()).unwrap_or_default(),
            };
            let name = self.given(&wanted, array);
            let _ = writeln!(self.body, "{name}: {}{} = {value}", array.dtype(), array.all_dims());
            names.push(name);
        }
        names
    }

    /// The name that is wanted for a value, or a new one.
    fn given(&mut self, wanted: &FxHashMap<usize, &str>, array: &Array<'a>) -> String {
        match wanted.get(&address(array)) {
            Some(name) => (*name).to_owned(),
            None => {
                self.temporaries += 1;
                self.fresh("t", self.temporaries - 1)
            }
        }
    }

    /// The text of a loop over operands of these names, with other names in it than those that are taken.
    fn repeated(&self, array: &Array<'a>, args: &[&str], named: &[Option<String>]) -> String {
        let begins = |name: &str| {
            name.starts_with(['s', 'v', 'o', 'e']) && name[1..].starts_with(|c: char| c.is_ascii_digit())
        };
        let underscores = |name: &str| name.len() - name.trim_end_matches('_').len();
        let taken = self.taken.iter().filter(|name| begins(name)).map(|name| underscores(name) + 1);
        let suffix = "_".repeat(taken.max().unwrap_or(0));
        match &array.0.kind {
            Kind::Loop(of) => repeated(&of.region, args, &names_of(&of.functions), &suffix),
            Kind::Recurrence(of) => {
                stepped(of, args, &names_of(&of.functions), &named[of.states()..], &suffix)
            }
            _ => String::new(),
        }
    }

    /// Returns an unused name: the stem and the number, with as many underscores appended as necessary.
    fn fresh(&mut self, stem: &str, number: usize) -> String {
        let mut name = format!("{stem}{number}");
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}
