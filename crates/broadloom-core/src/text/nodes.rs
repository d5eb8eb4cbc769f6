//! The printed form of nodes, which handles and graphs share. The text language can parse it.

use std::fmt;

use broadloom_ir::HostDeclaration;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::parameters::{ARANGE, INDICES};
use super::print;
use crate::graph::{Graph, Leaf};
use crate::layout::Layout;
use crate::node::{NodeId, NodeKind};
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
    function: impl FnOnce(&'n F) -> T,
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
        NodeKind::Index { axis, .. } => format!("{INDICES}({first}, axis={axis})"),
    })
}

/// Formats one line per node, in the [text language](crate::text): `n2: float32[3,4] = n0 * n1`.
///
/// Inputs are declared, with their slot and layout in a comment. The text has no `return`, since a graph does not know
/// its roots. Ops that are not public, which rewriting adds, are printed by name as well; a text with them does not
/// parse.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, node) in self.ids().zip(self.nodes()) {
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
            let next = numbers.len();
            let number = |function| format!("host{}", numbers.entry(function).or_insert(next));
            let value = computation(entry, |arg| format!("{arg:?}"), number);
            value.iter().try_for_each(|value| writeln!(f, "{value}"))?;
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
