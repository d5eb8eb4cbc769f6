//! Regions of loops and recurrences: what they contain, their check, and their form as graphs, in which they are rewritten.
//!
//! A region's graph has 0-d nodes; its inputs are the region's parameters, and its roots are those of the region.
//! Captured values that are constants become constants of the graph, so that rules see them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use broadloom_ir::kernel::MAX_NESTING;
use broadloom_ir::{DType, Error, ErrorKind, HostDeclaration, Result};
use rustc_hash::FxHashSet;

use crate::graph::{Graph, Leaf, Semantics};
use crate::layout::Layout;
use crate::node::{NodeId, NodeKind, Region};
use crate::op::Arity;
use crate::shape::Shape;

/// The maximum number of values that a loop carries. Each of them is a node with all operands of the loop, so the time to build a
/// loop is quadratic in their number.
pub const MAX_CARRIED: usize = 64;

impl PartialEq for Region {
    fn eq(&self, other: &Region) -> bool {
        let Region { params, tables, limit, is_numbered, nodes, condition, next, outputs } = self;
        if (params, tables) != (&other.params, &other.tables)
            || (limit, is_numbered) != (&other.limit, &other.is_numbered)
            || (condition, next, outputs) != (&other.condition, &other.next, &other.outputs)
            || nodes.len() != other.nodes.len()
        {
            return false;
        }
        // The regions of the last loop that was compared.
        let mut equal: Option<(&Arc<Region>, &Arc<Region>)> = None;
        for (a, b) in nodes.iter().zip(&other.nodes) {
            let (NodeKind::Loop(a), NodeKind::Loop(b)) = (a, b) else {
                if a == b {
                    continue;
                }
                return false;
            };
            let is_known = equal.is_some_and(|(x, y)| Arc::ptr_eq(x, &a.region) && Arc::ptr_eq(y, &b.region));
            if (a.item, &a.functions, &a.args) != (b.item, &b.functions, &b.args)
                || !is_known && a.region != b.region
            {
                return false;
            }
            equal = Some((&a.region, &b.region));
        }
        true
    }
}

impl Hash for Region {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Region { params, tables, limit, is_numbered, nodes, condition, next, outputs } = self;
        (params, tables, limit, is_numbered, condition, next, outputs, nodes.len()).hash(state);
        for node in nodes {
            match node {
                // Regions that differ only in the nodes of a loop in them are rare.
                NodeKind::Loop(of) => (of.item, &of.args, &of.region.params, of.region.limit).hash(state),
                node => node.hash(state),
            }
        }
    }
}

impl Region {
    /// For each node, whether it is one of the nodes `ends`, or one of them depends on it.
    pub(crate) fn needed(&self, ends: &[NodeId]) -> Vec<bool> {
        let mut is_needed = vec![false; self.nodes.len()];
        ends.iter().for_each(|end| is_needed[end.index()] = true);
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if is_needed[i] {
                node.operands().for_each(|arg| is_needed[arg.index()] = true);
            }
        }
        is_needed
    }

    /// The number of carried values.
    pub fn carried(&self) -> usize {
        self.next.len()
    }

    /// Whether a parameter is a table.
    pub fn is_table(&self, param: usize) -> bool {
        self.tables.binary_search(&(param as u32)).is_ok()
    }

    /// The number of a table among those of the region, by the node that is its parameter; `None` for any other node.
    pub fn table_of(&self, node: NodeId) -> Option<usize> {
        match self.nodes.get(node.index())? {
            NodeKind::Leaf(param) => self.tables.binary_search(param).ok(),
            _ => None,
        }
    }

    /// The nodes whose values leave the region: the condition, if there is one, the next values, and the outputs.
    pub fn roots(&self) -> impl Iterator<Item = NodeId> {
        self.condition.iter().chain(&self.next).chain(&self.outputs).copied()
    }

    /// The dtype of each node; `None` for one that is ill-typed.
    pub fn dtypes(&self) -> Vec<Option<DType>> {
        let mut dtypes: Vec<Option<DType>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |id: &NodeId| dtypes.get(id.index()).copied().flatten();
            dtypes.push(match node {
                NodeKind::Leaf(param) => self.params.get(*param as usize).copied(),
                NodeKind::Apply { op, accuracy, args } => {
                    args.last().and_then(of).and_then(|dtype| op.result_at(*accuracy, dtype))
                }
                NodeKind::Host { function, .. } => Some(function.signature().result()),
                NodeKind::Cast { to, .. } => Some(*to),
                NodeKind::Gather { table, .. } => of(table),
                NodeKind::Loop(inner) => inner.region.params.get(inner.item as usize).copied(),
                NodeKind::View { .. }
                | NodeKind::DynamicView { .. }
                | NodeKind::PadLike { .. }
                | NodeKind::Reduce { .. }
                | NodeKind::Scan { .. }
                | NodeKind::Count { .. }
                | NodeKind::Recurrence(_)
                | NodeKind::Index { .. }
                | NodeKind::Concat { .. }
                | NodeKind::Routine(_)
                | NodeKind::Words { .. } => None,
            });
        }
        dtypes
    }

    /// The regions of the loops in this one, each once.
    pub fn regions(&self) -> impl Iterator<Item = &Arc<Region>> {
        let mut known = FxHashSet::default();
        self.nodes.iter().filter_map(move |node| match node {
            NodeKind::Loop(of) => known.insert(Arc::as_ptr(&of.region)).then_some(&of.region),
            _ => None,
        })
    }

    /// The host functions that the region calls, including the loops in it, each once, in the order of their first call.
    pub fn functions(&self) -> Vec<&HostDeclaration> {
        let mut known = FxHashSet::default();
        let called = self.nodes.iter().flat_map(|node| match node {
            NodeKind::Host { function, .. } => vec![function],
            NodeKind::Loop(of) if known.insert(Arc::as_ptr(&of.region)) => of.region.functions(),
            _ => Vec::new(),
        });
        let mut found: Vec<&HostDeclaration> = Vec::new();
        for function in called {
            if !found.contains(&function) {
                found.push(function);
            }
        }
        found
    }

    /// The number of nodes, including those of the loops in it.
    pub fn size(&self) -> usize {
        self.regions().fold(self.nodes.len(), |size, region| size.saturating_add(region.size()))
    }

    /// The number of loops that contain each other, including this one.
    pub fn depth(&self) -> usize {
        1 + self.regions().map(|region| region.depth()).max().unwrap_or(0)
    }

    /// Whether the region may divide integers by zero.
    pub fn divides(&self) -> bool {
        let dtypes = self.dtypes();
        let divides = |node: &NodeKind<NodeId, u32>| match node {
            NodeKind::Apply { op, args, .. } => {
                let divisor = args.last().and_then(|arg| dtypes[arg.index()]);
                divisor.is_some_and(|dtype| op.faults(dtype))
            }
            _ => false,
        };
        self.nodes.iter().any(divides) || self.regions().any(|region| region.divides())
    }
}

/// Checks that a region is well-typed.
///
/// # Errors
/// The first property that does not hold.
pub fn check(region: &Region) -> std::result::Result<(), String> {
    let dtypes = region.dtypes();
    let expect = |holds: bool, otherwise: &str| if holds { Ok(()) } else { Err(otherwise.to_owned()) };
    check_tables(region)?;
    for (i, node) in region.nodes.iter().enumerate() {
        expect(node.operands().all(|arg| arg.index() < i), "an operand in a loop is not an earlier node")?;
        let of = |arg: &NodeId| dtypes[arg.index()];
        expect(dtypes[i].is_some(), "a node in a loop has no dtype")?;
        let operands = node.operands().map(of);
        match node {
            NodeKind::Apply { op, args, .. } => {
                let operand = args.last().and_then(of);
                let is_choice = op.arity() == Arity::Choice;
                let wanted = |i: usize| if is_choice && i == 0 { Some(DType::Bool) } else { operand };
                let wanted = (0..op.operands()).map(wanted);
                expect(operands.eq(wanted), "operands of different dtypes in a loop")?;
            }
            NodeKind::Host { function, .. } => {
                let signature = function.signature();
                let wanted = signature.operands().iter().copied().map(Some);
                expect(operands.eq(wanted), "operands of other dtypes in a loop")?;
            }
            NodeKind::Gather { positions, .. } => {
                expect(
                    of(positions) == Some(DType::Int64),
                    "positions of another dtype than int64 in a loop",
                )?;
            }
            NodeKind::Loop(inner) => {
                let wanted = inner.region.params.iter().copied().map(Some);
                expect(operands.eq(wanted), "operands of other dtypes in a loop")?;
                expect(
                    (inner.item as usize) < inner.region.carried(),
                    "a value that the loop does not carry",
                )?;
                expect(
                    region.is_numbered || !inner.region.is_numbered,
                    "elements of a loop have no numbers",
                )?;
            }
            _ => {}
        }
    }
    region.regions().try_for_each(|inner| check(inner))?;
    let of = |id: &NodeId| dtypes.get(id.index()).copied().flatten();
    if let Some(condition) = &region.condition {
        expect(of(condition) == Some(DType::Bool), "the condition of a loop is no bool")?;
        expect(region.outputs.is_empty(), "a loop with outputs")?;
    }
    expect(region.outputs.iter().all(|output| of(output).is_some()), "an output without a dtype")?;
    let carried = region.params.iter().take(region.carried()).copied().map(Some);
    expect(region.next.iter().map(of).eq(carried), "a carried value changes its dtype")?;
    let is_limited = region.limit.is_some() || region.condition.is_none();
    expect(is_limited || region.is_numbered, "elements of a loop have no numbers")?;
    let has_numbers = region.params.len() > region.carried() && region.params.last() == Some(&DType::Int64);
    expect(!region.is_numbered || has_numbers, "numbers of elements of another dtype")
}

/// Checks that tables are captured parameters, and that gathers read tables and nothing else does.
fn check_tables(region: &Region) -> std::result::Result<(), String> {
    let Region { params, tables, is_numbered, .. } = region;
    let captured = region.carried() as u32..params.len().saturating_sub(usize::from(*is_numbered)) as u32;
    let has_places = tables.is_sorted_by(|a, b| a < b) && tables.iter().all(|table| captured.contains(table));
    let is_table = |arg: &NodeId| region.table_of(*arg).is_some();
    let are_read =
        |node: &NodeKind<NodeId, u32>| node.tables().all(is_table) && !node.aligned().any(is_table);
    let leave = region.roots().any(|root| is_table(&root));
    match has_places && !leave && region.nodes.iter().all(are_read) {
        true => Ok(()),
        false => Err("a table in a loop that is none, or is read as one element".to_owned()),
    }
}

/// Checks the number of loops that contain each other; `function` names the outermost one in errors.
///
/// # Errors
/// [`ErrorKind::Limit`] if there are too many.
pub fn check_depth(function: &str, region: &Region) -> Result<()> {
    match region.depth() {
        ..=MAX_NESTING => Ok(()),
        depth => {
            let why = format!("{function}: {depth} loops contain each other, the limit is {MAX_NESTING}");
            Err(Error::new(ErrorKind::Limit, why))
        }
    }
}

/// The graph of a region. `constant` gives the constant of a captured value, by the number of its parameter, if it is one.
///
/// # Errors
/// [`ErrorKind::Limit`] for too many nodes.
pub fn graph(
    region: &Region,
    semantics: Semantics,
    constant: impl Fn(usize) -> Option<Leaf>,
) -> Result<(Graph, Vec<NodeId>)> {
    let mut graph = Graph::new(semantics);
    let mut ids: Vec<NodeId> = Vec::with_capacity(region.nodes.len());
    for node in &region.nodes {
        let kind = node.try_map(
            |arg| Ok::<_, Error>(ids[arg.index()]),
            |&param| {
                let dtype = region.params[param as usize];
                let is_element = param as usize >= region.carried() && !region.is_table(param as usize);
                let constant = constant(param as usize).filter(|_| is_element);
                Ok(constant.unwrap_or_else(|| {
                    let layout = Layout::contiguous(Shape::scalar()).into();
                    Leaf::Input { slot: param, dtype, layout }
                }))
            },
            Clone::clone,
        );
        ids.push(graph.push(kind?)?);
    }
    let roots = region.roots().map(|root| ids[root.index()]).collect();
    Ok((graph, roots))
}

/// A captured value of a region that is made of a graph.
#[derive(Clone, Debug, PartialEq)]
pub enum CapturedValue {
    /// The value with this parameter of the former region.
    Param(u32),
    /// A constant.
    Constant(Leaf),
}

/// The region of a graph that [`graph`] has made of a region and that was rewritten; and its captured values. Of the former
/// ones it keeps those that are read and those for which `keeps` is true, by the number of the parameter.
///
/// # Errors
/// [`ErrorKind::Internal`] for a graph that is not of this kind.
pub fn of_graph(
    former: &Region,
    graph: &Graph,
    roots: &[NodeId],
    keeps: impl Fn(usize) -> bool,
) -> Result<(Region, Vec<CapturedValue>)> {
    let wrong = || Error::new(ErrorKind::Internal, "a graph that is no region");
    let mut is_needed = vec![false; graph.nodes().len()];
    roots.iter().for_each(|root| is_needed[root.index()] = true);
    for id in graph.ids().rev() {
        if is_needed[id.index()] {
            graph.node(id).kind.operands().for_each(|arg| is_needed[arg.index()] = true);
        }
    }
    let carried = former.carried();
    let number = former.params.len().checked_sub(1).filter(|_| former.is_numbered);
    let mut is_read: Vec<bool> = (0..former.params.len()).map(&keeps).collect();
    let mut constants: Vec<&Leaf> = Vec::new();
    for id in graph.ids().filter(|id| is_needed[id.index()]) {
        match &graph.node(id).kind {
            NodeKind::Leaf(Leaf::Input { slot, .. }) => is_read[*slot as usize] = true,
            NodeKind::Leaf(leaf @ Leaf::Const { .. }) => constants.push(leaf),
            _ => {}
        }
    }
    let mut captured: Vec<CapturedValue> = (carried..former.params.len())
        .filter(|&param| is_read[param] && Some(param) != number)
        .map(|param| CapturedValue::Param(param as u32))
        .collect();
    captured.extend(constants.iter().map(|&leaf| CapturedValue::Constant(leaf.clone())));
    captured.extend(number.map(|param| CapturedValue::Param(param as u32)));
    let place =
        |of: &CapturedValue| captured.iter().position(|known| known == of).map(|i| (carried + i) as u32);
    let mut new: Vec<NodeId> = vec![NodeId::new(0); graph.nodes().len()];
    let mut nodes = Vec::new();
    for id in graph.ids().filter(|id| is_needed[id.index()]) {
        let node = graph.node(id).kind.try_map(
            |arg| Ok(new[arg.index()]),
            |leaf| match leaf {
                Leaf::Input { slot, .. } if (*slot as usize) < carried => Ok(*slot),
                Leaf::Input { slot, .. } => place(&CapturedValue::Param(*slot)).ok_or_else(wrong),
                Leaf::Const { .. } => place(&CapturedValue::Constant(leaf.clone())).ok_or_else(wrong),
                Leaf::Index { .. } => Err(wrong()),
            },
            Clone::clone,
        );
        new[id.index()] = NodeId::new(nodes.len());
        nodes.push(node?);
    }
    let dtype = |of: &CapturedValue| match of {
        CapturedValue::Param(param) => Some(former.params[*param as usize]),
        CapturedValue::Constant(Leaf::Const { value, .. }) => Some(value.dtype),
        CapturedValue::Constant(_) => None,
    };
    let params = former.params[..carried].iter().copied().map(Some).chain(captured.iter().map(dtype));
    let is_table = |of: &CapturedValue| match of {
        CapturedValue::Param(param) => former.is_table(*param as usize),
        CapturedValue::Constant(_) => false,
    };
    let tables =
        captured.iter().enumerate().filter(|(_, of)| is_table(of)).map(|(i, _)| (carried + i) as u32);
    let mut roots = roots.iter().map(|root| new[root.index()]);
    let region = Region {
        tables: tables.collect(),
        params: params.collect::<Option<_>>().ok_or_else(wrong)?,
        limit: former.limit,
        is_numbered: former.is_numbered,
        nodes,
        condition: former.condition.map(|_| roots.next().ok_or_else(wrong)).transpose()?,
        next: roots.by_ref().take(carried).collect(),
        outputs: roots.collect(),
    };
    Ok((region, captured))
}
