//! The printed form of nodes, which handles and graphs share. The text language can parse it.

use std::fmt;
use std::sync::Arc;

use broadloom_ir::HostDeclaration;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::parameters::{ARANGE, CONCAT, ELEMENTS_AT, INDICES};
use super::print;
use crate::draws::Draw;
use crate::graph::{Graph, Leaf, Node};
use crate::layout::Layout;
use crate::node::{NodeId, NodeKind, RecurrenceNode, Region, StepOrder};
use crate::structure::{KeyLeaf, Structure};

/// Prints the computation of a node, given the names of its operands and of its host function. Returns `None` for a
/// leaf.
///
/// ```
/// use broadloom_core::node::NodeKind;
/// use broadloom_core::text::nodes::computation;
/// use broadloom_core::{DType, Graph, Layout, Op, Shape};
///
/// let mut graph = Graph::default();
/// let x = graph.input(0, DType::Float32, Layout::contiguous(Shape::new(&[4])?))?;
/// let y = graph.push(NodeKind::apply(Op::Add, [x, x]))?;
/// let printed = computation(&graph.node(y).kind, |_| "x", |function| function.name());
/// assert_eq!(printed.as_deref(), Some("x + x"));
/// # Ok::<(), broadloom_core::Error>(())
/// ```
pub fn computation<'n, A, L, F, S: AsRef<str>, T: AsRef<str>>(
    kind: &'n NodeKind<A, L, F>,
    operand: impl FnMut(&'n A) -> S,
    mut function: impl FnMut(&'n F) -> T,
) -> Option<String> {
    let operands: SmallVec<[S; 3]> = kind.operands().map(operand).collect();
    let first = operands.first().map_or("", AsRef::as_ref);
    Some(match kind {
        NodeKind::Leaf(_) => return None,
        NodeKind::Apply { op, accuracy, .. } => print::apply_at(*op, *accuracy, &operands).to_string(),
        NodeKind::Host { function: of, .. } => print::call(function(of).as_ref(), &operands).to_string(),
        NodeKind::Cast { to, .. } => print::cast(first, *to).to_string(),
        NodeKind::View { view, .. } => print::view(first, view).to_string(),
        NodeKind::DynamicView { view, .. } => print::dynamic_view(first, view).to_string(),
        NodeKind::Reduce { reduction, axes, keep_dims, .. } => {
            let keep_dims = if *keep_dims { ", keepdims=true" } else { "" };
            format!("{reduction}({first}, axis={axes}{keep_dims})")
        }
        NodeKind::Scan { scan, axis, initial, before, .. } => {
            let initial = if *initial { ", include_initial=true" } else { "" };
            let before = match (before, operands.get(1)) {
                (Some(before), Some(totals)) => {
                    let (blocks, length) = (before.blocks, 1u64 << before.level);
                    format!(", after {blocks} blocks of {length} with totals {}", totals.as_ref())
                }
                _ => String::new(),
            };
            format!("{scan}({first}, axis={axis}{initial}{before})")
        }
        NodeKind::Count { axes, to, .. } => format!("count({first}, axis={axes}, dtype={to})"),
        NodeKind::Gather { .. } => {
            let positions = operands.get(1).map_or("", AsRef::as_ref);
            format!("{ELEMENTS_AT}({first}, {positions})")
        }
        NodeKind::Concat { axis, .. } => {
            let operands: Vec<&str> = operands.iter().map(AsRef::as_ref).collect();
            format!("{CONCAT}({}, axis={axis})", operands.join(", "))
        }
        NodeKind::PadLike { padding, .. } => {
            print::padding(first, operands.get(1).map_or("", AsRef::as_ref), padding).to_string()
        }
        NodeKind::Index { axis, .. } => format!("{INDICES}({first}, axis={axis})"),
        NodeKind::Routine(of) => {
            let operands: SmallVec<[&str; 3]> = operands.iter().map(AsRef::as_ref).collect();
            of.routine.written(&operands, of.item)
        }
        NodeKind::Words { to, len, .. } => format!("{}({first}, [{len}], dtype={to})", Draw::Bits.name()),
        NodeKind::Loop(of) => {
            let functions: Vec<T> = of.functions.iter().map(function).collect();
            let functions: Vec<&str> = functions.iter().map(AsRef::as_ref).collect();
            let operands: Vec<&str> = operands.iter().map(AsRef::as_ref).collect();
            repeated(&of.region, &operands, &functions, "")
        }
        NodeKind::Recurrence(of) => {
            let functions: Vec<T> = of.functions.iter().map(function).collect();
            let functions: Vec<&str> = functions.iter().map(AsRef::as_ref).collect();
            let operands: Vec<&str> = operands.iter().map(AsRef::as_ref).collect();
            let outputs: Vec<Option<String>> =
                (0..of.step.outputs.len()).map(|i| Some(format!("y{i}"))).collect();
            stepped(of, &operands, &functions, &outputs, "")
        }
    })
}

/// Formats one line per node, in the [text language](crate::text): `n2: float32[3,4] = n0 * n1`. All values of a loop are bound
/// by the line of the first; those of the others are comments.
///
/// Inputs are declared, with their slot and layout in a comment. The text has no `return`, since a graph does not know
/// its roots. Ops that are not public, which rewriting adds, are printed by name as well; a text with them does not
/// parse.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loops = loops(self.nodes().iter().map(|node| &node.kind));
        for (id, node) in self.ids().zip(self.nodes()) {
            if let NodeKind::Loop(_) | NodeKind::Recurrence(_) = &node.kind {
                // The first value binds all of them.
                let Some(items) = loops.get(&id.index()) else {
                    writeln!(f, "# {id:?}: {}{}, bound above", node.dtype, node.shape)?;
                    continue;
                };
                let items = || items.iter().map(|item| item.map(NodeId::new));
                let named: Vec<Option<String>> = items().map(|id| id.map(|id| format!("{id:?}"))).collect();
                let types = items().flatten().map(|id| {
                    let Node { dtype, shape, .. } = self.node(id);
                    format!("{dtype}{shape}")
                });
                let types = types.collect::<Vec<String>>().join(", ");
                let (names, value) = match &node.kind {
                    NodeKind::Recurrence(of) => {
                        let args: Vec<String> = of.args.iter().map(|arg| format!("{arg:?}")).collect();
                        let args: Vec<&str> = args.iter().map(String::as_str).collect();
                        let functions: Vec<&str> = of.functions.iter().map(HostDeclaration::name).collect();
                        let value = stepped(of, &args, &functions, &named[of.states()..], "");
                        (step_names(of.states(), &named), Some(value))
                    }
                    kind => {
                        let value = computation(kind, |arg| format!("{arg:?}"), |function| function.name());
                        (tuple(named.into_iter()), value)
                    }
                };
                writeln!(f, "{names} = {}  # {types}", value.unwrap_or_default())?;
                continue;
            }
            write!(f, "{id:?}: {}{}", node.dtype, node.shape)?;
            match &node.kind {
                NodeKind::Leaf(Leaf::Input { slot, layout, .. }) => {
                    write!(f, "  # input {slot}")?;
                    if !layout.is_contiguous() {
                        write!(f, " strides {:?} offset {}", &layout.strides[..], layout.offset)?;
                    }
                }
                NodeKind::Leaf(Leaf::Index { layout }) => write!(f, "{}", numbers(layout))?,
                NodeKind::Leaf(Leaf::Const { value, .. }) => write!(f, " = {}", print::constant(*value))?,
                kind => {
                    let value = computation(kind, |arg| format!("{arg:?}"), |function| function.name());
                    value.iter().try_for_each(|value| write!(f, " = {value}"))?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// What the values of one loop or recurrence have in common.
type LoopIdentity<'n> = (*const Region, &'n [NodeId], Option<(u32, u8, StepOrder)>);

/// The positions of the values of each loop among nodes, in the order in which it carries them, by the position of the first.
fn loops<'n, L: 'n>(
    nodes: impl Iterator<Item = &'n NodeKind<NodeId, L>>,
) -> FxHashMap<usize, Vec<Option<usize>>> {
    let mut firsts: FxHashMap<LoopIdentity<'n>, usize> = FxHashMap::default();
    let mut found: FxHashMap<usize, Vec<Option<usize>>> = FxHashMap::default();
    for (i, node) in nodes.enumerate() {
        let (region, args, along, item) = match node {
            NodeKind::Loop(of) => (&of.region, &of.args, None, of.item),
            NodeKind::Recurrence(of) => (&of.step, &of.args, Some(of.along()), of.item),
            _ => continue,
        };
        let first = *firsts.entry((Arc::as_ptr(region), args, along)).or_insert(i);
        let values = region.carried() + region.outputs.len();
        let items = found.entry(first).or_insert_with(|| vec![None; values]);
        items[item as usize] = Some(i);
    }
    found
}

/// The names to which the values of a loop are bound; `None` for one that is not used.
pub fn tuple(names: impl Iterator<Item = Option<String>>) -> String {
    names.map(|name| name.unwrap_or_else(|| "_".into())).collect::<Vec<String>>().join(", ")
}

/// A loop that is printed, with the names of its values.
struct PrintedLoop<'r> {
    region: &'r Region,
    /// The name of each node, and its value; `None` for a leaf and for a value of a loop whose first value binds all.
    names: Vec<String>,
    values: Vec<Option<String>>,
    /// The values of the loops in the region.
    loops: FxHashMap<usize, Vec<Option<usize>>>,
}

/// The text of a loop, given the names of its operands and its host functions.
///
/// Names in it are `s`, `v` or `o` and a number, and end with `suffix` and, in a loop in it, the loop's depth. They must
/// not be names of operands.
pub fn repeated(region: &Region, operands: &[&str], functions: &[&str], suffix: &str) -> String {
    looped(region, operands, functions, suffix, 0)
}

/// The text of a loop in `depth` others.
///
/// Carried values are named by their numbers, captured ones as the operands. The values that the condition needs are
/// bound before it, and the next values at the end of the body.
fn looped(region: &Region, operands: &[&str], functions: &[&str], end: &str, depth: usize) -> String {
    let suffix = if depth > 0 { format!("_{depth}{end}") } else { end.to_owned() };
    let carried: Vec<String> = (0..region.carried()).map(|i| format!("s{i}{suffix}")).collect();
    let printed = PrintedLoop::new(region, &carried, operands, functions, end, depth);
    let states = carried.iter().zip(operands).map(|(name, initial)| format!("{name} = {initial}"));
    let states = states.collect::<Vec<String>>().join(", ");
    let condition = region.condition.map_or_else(String::new, |condition| {
        printed.bindings(&[condition]) + &printed.names[condition.index()]
    });
    let limit = region.limit.map_or(String::new(), |limit| format!(" limit {limit}"));
    let body = printed.body(&carried, &suffix, "");
    format!("while ({states}; {condition}){limit} {{ {body} }}")
}

/// The text of a recurrence, given the names of its operands and its host functions, and those to which its outputs are bound;
/// `None` for one that is not used. Other names in it are those of a [loop](repeated), or `e` and a number.
pub fn stepped<A, F>(
    of: &RecurrenceNode<A, F>,
    operands: &[&str],
    functions: &[&str],
    outputs: &[Option<String>],
    suffix: &str,
) -> String {
    let region = &*of.step;
    let states: Vec<String> = (0..region.carried()).map(|i| format!("s{i}{suffix}")).collect();
    let elements = (0..of.inputs).map(|i| format!("e{i}{suffix}"));
    let named: Vec<String> = states.iter().cloned().chain(elements).collect();
    let printed = PrintedLoop::new(region, &named, operands, functions, suffix, 0);
    let mut pairs = named.iter().zip(operands);
    let initial = pairs.by_ref().take(states.len()).map(|(name, initial)| format!("{name} = {initial}"));
    let initial = initial.collect::<Vec<String>>().join(", ");
    let inputs = pairs.map(|(name, input)| format!("{name} in {input}")).collect::<Vec<String>>().join(", ");
    let reverse = if of.order == StepOrder::Backward { ", reverse=true" } else { "" };
    let bound = region.outputs.iter().zip(outputs).filter_map(|(id, name)| {
        name.as_ref().map(|name| format!("{name} = {}; ", printed.names[id.index()]))
    });
    let body = printed.body(&states, suffix, &bound.collect::<String>());
    format!("{} ({initial}; {inputs}, axis={}{reverse}) {{ {body} }}", of.function(), of.axis)
}

/// The names to which the values of a recurrence are bound: of all states, and of the outputs that are used.
pub fn step_names(states: usize, names: &[Option<String>]) -> String {
    let (of_states, of_outputs) = names.split_at(states.min(names.len()));
    tuple(of_states.iter().cloned().chain(of_outputs.iter().flatten().cloned().map(Some)))
}

impl PrintedLoop<'_> {
    /// The values of a region's nodes. The first parameters have the names `named`, and the others are named as the operands.
    fn new<'r>(
        region: &'r Region,
        named: &[String],
        operands: &[&str],
        functions: &[&str],
        end: &str,
        depth: usize,
    ) -> PrintedLoop<'r> {
        let suffix = if depth > 0 { format!("_{depth}{end}") } else { end.to_owned() };
        let declared = region.functions();
        let called = |function: &HostDeclaration| {
            let place = declared.iter().position(|known| *known == function);
            place.and_then(|place| functions.get(place)).copied().unwrap_or_default()
        };
        let loops = loops(region.nodes.iter());
        let mut names: Vec<String> = Vec::with_capacity(region.nodes.len());
        let mut values: Vec<Option<String>> = Vec::with_capacity(region.nodes.len());
        for (i, node) in region.nodes.iter().enumerate() {
            let (name, value) = match node {
                NodeKind::Leaf(param) => {
                    let param = *param as usize;
                    let captured = || operands.get(param).copied().unwrap_or_default().to_owned();
                    (named.get(param).cloned().unwrap_or_else(captured), None)
                }
                NodeKind::Loop(of) => {
                    let value = loops.contains_key(&i).then(|| {
                        let args: Vec<&str> = of.args.iter().map(|arg| names[arg.index()].as_str()).collect();
                        let functions: Vec<&str> = of.region.functions().into_iter().map(called).collect();
                        looped(&of.region, &args, &functions, end, depth + 1)
                    });
                    (format!("v{i}{suffix}"), value)
                }
                _ => {
                    let value = computation(node, |arg| names[arg.index()].as_str(), &called);
                    (format!("v{i}{suffix}"), value)
                }
            };
            names.push(name);
            values.push(value);
        }
        PrintedLoop { region, names, values, loops }
    }

    /// The bindings of what the next values and the outputs need, then `outputs`, then the bindings of the next values.
    fn body(&self, carried: &[String], suffix: &str, outputs: &str) -> String {
        let PrintedLoop { region, names, .. } = self;
        let ends: Vec<NodeId> = region.next.iter().chain(&region.outputs).copied().collect();
        let mut body = self.bindings(&ends) + outputs;
        // The other carried value that a carried one becomes. It is bound before the next values.
        let former = |(i, next): (usize, &NodeId)| match region.nodes[next.index()] {
            NodeKind::Leaf(param) if (param as usize) < carried.len() => {
                Some((param as usize, param as usize == i))
            }
            _ => None,
        };
        for (i, next) in region.next.iter().enumerate() {
            if let Some((of, false)) = former((i, next)) {
                body += &format!("o{i}{suffix} = {}; ", carried[of]);
            }
        }
        let next = region.next.iter().enumerate().filter_map(|(i, next)| match former((i, next)) {
            Some((_, true)) => None,
            Some((_, false)) => Some(format!("{} = o{i}{suffix}", carried[i])),
            None => Some(format!("{} = {}", carried[i], names[next.index()])),
        });
        body += &next.collect::<Vec<String>>().join("; ");
        body
    }

    /// The bindings of everything that the roots need.
    fn bindings(&self, roots: &[NodeId]) -> String {
        let PrintedLoop { region, names, values, loops } = self;
        let mut is_needed = vec![false; region.nodes.len()];
        roots.iter().for_each(|root| is_needed[root.index()] = true);
        for (i, node) in region.nodes.iter().enumerate().rev() {
            // A loop is bound where its first value is.
            let is_bound = loops.get(&i).is_some_and(|items| items.iter().flatten().any(|&i| is_needed[i]));
            if is_needed[i] || is_bound {
                node.operands().for_each(|arg| is_needed[arg.index()] = true);
            }
        }
        let mut text = String::new();
        for (i, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let used = |i: usize| is_needed[i].then(|| names[i].clone());
            let name = match loops.get(&i) {
                Some(items) => {
                    let used: Vec<Option<String>> = items.iter().map(|item| item.and_then(used)).collect();
                    used.iter().any(Option::is_some).then(|| tuple(used.into_iter()))
                }
                None => used(i),
            };
            if let Some(name) = name {
                text += &format!("{name} = {value}; ");
            }
        }
        text
    }
}

/// The definition of generated numbers: a range if they are a range along a single axis; otherwise a declaration with
/// their layout in a comment, like that of an input.
fn numbers(layout: &Layout) -> String {
    let Layout { shape, strides, offset } = layout;
    match (&shape[..], &strides[..]) {
        (&[len], _) if layout.is_contiguous() && *offset == 0 => format!(" = {}", print::index(len)),
        (&[len], &[step]) if len > 1 && step != 0 => {
            format!(" = {}({offset}, {}, {step})", ARANGE, offset + step * len as isize)
        }
        _ => format!("  # generated, strides {:?} from {offset}", &strides[..]),
    }
}

/// Formats one line per node, like a graph, and one per host function. The text is the same in every process and on
/// every machine, and differs for structures of different meaning. Host functions are numbered, since two may have the
/// same name.
impl fmt::Display for Structure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers: FxHashMap<&HostDeclaration, usize> = FxHashMap::default();
        for (i, entry) in self.nodes.iter().enumerate() {
            write!(f, "{:?} = ", NodeId::new(i))?;
            if let NodeKind::Leaf(leaf) = entry {
                match leaf {
                    KeyLeaf::Memory { slot, dtype, layout } => {
                        let Layout { shape, strides, offset } = &**layout;
                        writeln!(f, "input {slot}: {dtype}{shape} strides {:?} offset {offset}", &strides[..])
                    }
                    KeyLeaf::Dynamic { slot, dtype } => writeln!(f, "dynamic input {slot}: {dtype}"),
                    KeyLeaf::Index { len } => writeln!(f, "{}", print::index(*len)),
                    KeyLeaf::Literal { slot, dtype, class, rounded_by: None } => {
                        writeln!(f, "literal {slot}: {dtype} {class:?}")
                    }
                    KeyLeaf::Literal { slot, dtype, class, rounded_by: Some(op) } => {
                        writeln!(f, "literal {slot}: {dtype} {class:?}, rounded by {op}")
                    }
                }?;
            }
            let number = |function| {
                let next = numbers.len();
                format!("host{}", numbers.entry(function).or_insert(next))
            };
            let value = computation(entry, |arg| format!("{arg:?}"), number);
            value.iter().try_for_each(|value| writeln!(f, "{value}"))?;
            if let NodeKind::Loop(of) = entry {
                writeln!(f, "  value {} of {:?}", of.item, of.args)?;
            }
            if let NodeKind::Recurrence(of) = entry {
                writeln!(f, "  value {} of {} inputs of {:?}", of.item, of.inputs, of.args)?;
            }
            if let NodeKind::Routine(of) = entry {
                writeln!(f, "  result {} of {}", of.item, of.routine.name())?;
            }
        }
        let mut functions: Vec<_> = numbers.into_iter().collect();
        functions.sort_unstable_by_key(|(_, number)| *number);
        functions.iter().try_for_each(|(function, number)| writeln!(f, "host{number} = {function}"))?;
        writeln!(f, "return {:?}", self.roots)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
