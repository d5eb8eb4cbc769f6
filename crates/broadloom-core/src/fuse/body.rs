//! Builds the body of one kernel: starts at the nodes that the kernel writes, and follows operands down to inputs,
//! constants and cut nodes.
//!
//! Views on the way are collected in a chain, which is applied to the layout of each leaf, so that a body contains no
//! views. A node that is reached through different chains is computed once for each. The traversal has an explicit
//! stack, since a body may be as deep as the graph.

use std::sync::Arc;

use broadloom_ir::kernel::{KernelOutput, Sink};
use broadloom_ir::{Axes, HostDeclaration};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::fuse::chain::{ChainId, Chains, STRAIGHT};
use crate::fuse::code;
use crate::fuse::decision::Cuts;
use crate::fuse::draft::{Draft, DraftTarget, Origin};
use crate::fuse::plan::{Beginning, ParamSource};
use crate::graph::{Graph, IntDivision, Leaf, NodeId, NodeKind};
use crate::kernel::{Code, Inst, Kernel, KernelLoop, ValueId};
use crate::layout::{Layout, View};
use crate::node::Region;
use crate::shape::Shape;

pub mod step;

/// A value's definition while inputs, parameters and instructions are still numbered separately.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Early {
    Input(u32),
    Param(u32),
    Inst(u32),
}

/// The values of nodes that are reached without views. The bodies of a graph are built one after the other and share
/// this list.
///
/// PERF: most nodes are reached without views, and a list takes a fraction of a hash table's time and memory.
pub struct Straight {
    /// For each node, the number of the last body that computed a value of it, and that value.
    values: Vec<(u32, Early)>,
    body: u32,
}

impl Straight {
    /// A list for all bodies of a graph, without values so far. Body numbers fit a `u32`, since there are fewer bodies than nodes.
    pub fn of(graph: &Graph) -> Straight {
        Straight { values: vec![(0, Early::Inst(0)); graph.nodes().len()], body: 0 }
    }
}

/// The values of the current body that are computed so far, by node and chain of views.
struct Done<'s> {
    straight: &'s mut Straight,
    others: FxHashMap<(NodeId, ChainId), Early>,
}

impl<'s> Done<'s> {
    /// An empty memo for the next body.
    fn new(straight: &'s mut Straight) -> Done<'s> {
        straight.body += 1;
        Done { straight, others: FxHashMap::default() }
    }

    fn get(&self, id: NodeId, chain: ChainId) -> Option<Early> {
        if chain != STRAIGHT {
            return self.others.get(&(id, chain)).copied();
        }
        let (body, early) = self.straight.values[id.index()];
        (body == self.straight.body).then_some(early)
    }

    fn insert(&mut self, id: NodeId, chain: ChainId, early: Early) {
        if chain == STRAIGHT {
            self.straight.values[id.index()] = (self.straight.body, early);
        } else {
            self.others.insert((id, chain), early);
        }
    }
}

/// The region of a loop, its operands, and the numbers of its tables.
type EarlyLoop = (Arc<Region>, Vec<Early>, Vec<u32>);

struct Builder<'a> {
    graph: &'a Graph,
    cuts: &'a Cuts,
    shape: Shape,
    chains: Chains,
    done: Done<'a>,
    inputs: Vec<(Origin, Arc<Layout>)>,
    input_of: FxHashMap<(Origin, Arc<Layout>), u32>,
    tables: Vec<(Origin, Arc<Layout>)>,
    params: Vec<ParamSource>,
    callees: FxHashMap<HostDeclaration, u32>,
    kernel: Kernel,
    early: Vec<[Early; 3]>,
    /// The operands of each loop.
    loop_args: Vec<Vec<Early>>,
    /// The instruction of each loop.
    loops: FxHashMap<EarlyLoop, u32>,
    /// The graph node of each instruction.
    nodes: Vec<NodeId>,
}

/// A value that a body computes as an output.
#[derive(Clone, Copy)]
pub struct Member {
    /// The node that is computed.
    pub node: NodeId,
    /// The destination of the value or, if it is reduced or scanned, of the result.
    pub target: DraftTarget,
    /// Whether the kernel stores, reduces or scans the elements.
    pub sink: Sink,
    /// Whether the node is cut off and this is the kernel that computes it; all other kernels read it from memory.
    pub own: bool,
}

/// Builds the body that computes the given members, whose common shape is `shape`.
pub fn build(graph: &Graph, shape: Shape, members: &[Member], cuts: &Cuts, straight: &mut Straight) -> Draft {
    let mut builder = Builder::new(graph, shape, cuts, straight);
    let mut outputs = Vec::new();
    for member in members {
        outputs.push(builder.compute(member.node, STRAIGHT, member.own));
    }
    builder.finish(outputs, members)
}

/// The memory that contains all elements of a node that is an input or cut off, and their layout.
pub fn whole(graph: &Graph, id: NodeId, cuts: &Cuts) -> (Origin, Arc<Layout>) {
    let node = graph.node(id);
    match &node.kind {
        NodeKind::Leaf(Leaf::Input { slot, layout, .. }) if !cuts.contains(&id) => {
            (Origin::Slot(*slot), layout.clone())
        }
        _ => (Origin::Node(id), Arc::new(Layout::contiguous(node.shape.clone()))),
    }
}

impl<'a> Builder<'a> {
    fn new(graph: &'a Graph, shape: Shape, cuts: &'a Cuts, straight: &'a mut Straight) -> Builder<'a> {
        Builder {
            graph,
            cuts,
            shape,
            chains: Chains::default(),
            done: Done::new(straight),
            inputs: Vec::new(),
            input_of: FxHashMap::default(),
            tables: Vec::new(),
            params: Vec::new(),
            callees: FxHashMap::default(),
            kernel: Kernel::default(),
            early: Vec::new(),
            loop_args: Vec::new(),
            loops: FxHashMap::default(),
            nodes: Vec::new(),
        }
    }

    /// Adds an input with the dtype of a node.
    fn input(&mut self, of: NodeId, origin: Origin, layout: Layout) -> Early {
        let number = self.inputs.len() as u32;
        self.inputs.push((origin, Arc::new(layout)));
        self.kernel.inputs.push(self.graph.node(of).dtype);
        Early::Input(number)
    }

    /// The number of the table with the elements of a node, which are in memory.
    fn table(&mut self, of: NodeId) -> u32 {
        let memory = whole(self.graph, of, self.cuts);
        match self.tables.iter().position(|known| *known == memory) {
            Some(known) => known as u32,
            None => {
                self.tables.push(memory);
                self.kernel.table(self.graph.node(of).dtype)
            }
        }
    }

    /// Emits a node that is read through a chain of views with the shape of the loop, and everything that it is computed
    /// from.
    fn compute(&mut self, root: NodeId, chain: ChainId, own: bool) -> Early {
        let mut stack = vec![(root, chain, false)];
        while let Some((id, chain, ready)) = stack.pop() {
            if self.done.get(id, chain).is_some() {
                continue;
            }
            if self.cuts.contains(&id) && !(own && id == root && chain == STRAIGHT) {
                let layout = Layout::contiguous(self.graph.node(id).shape.clone());
                self.leaf(id, chain, Origin::Node(id), &Arc::new(layout));
            } else if ready {
                self.emit(id, chain);
            } else {
                self.open(id, chain, &mut stack);
            }
        }
        self.value(root, chain)
    }

    /// The value of a node that has been computed already. Operands are computed before their readers.
    fn value(&self, id: NodeId, chain: ChainId) -> Early {
        self.done.get(id, chain).expect("operands come first")
    }

    /// Handles a node at its first visit: a leaf is emitted at once, another node after its operands.
    fn open(&mut self, id: NodeId, chain: ChainId, stack: &mut Vec<(NodeId, ChainId, bool)>) {
        let node = self.graph.node(id);
        match &node.kind {
            NodeKind::Leaf(Leaf::Input { slot, layout, .. }) => {
                self.leaf(id, chain, Origin::Slot(*slot), layout);
            }
            NodeKind::Leaf(Leaf::Index { layout }) => self.leaf(id, chain, Origin::Index, layout),
            NodeKind::Words { key, .. } => {
                let origin = match whole(self.graph, *key, self.cuts).0 {
                    Origin::Slot(slot) => Origin::SlotWords(slot, node.dtype),
                    _ => Origin::NodeWords(*key, node.dtype),
                };
                self.leaf(id, chain, origin, &Arc::new(Layout::contiguous(node.shape.clone())));
            }
            NodeKind::Leaf(Leaf::Const { value, slot }) => {
                let source = slot.map_or(ParamSource::Fixed(*value), ParamSource::Slot);
                let param = self.params.len() as u32;
                // Each constant has one parameter, whichever views it is read through.
                let known = self.done.get(id, STRAIGHT);
                let early = known.unwrap_or_else(|| {
                    self.params.push(source);
                    self.kernel.params.push(value.dtype);
                    self.kernel.short_reciprocals.push(value.has_short_reciprocal());
                    Early::Param(param)
                });
                self.done.insert(id, STRAIGHT, early);
                self.done.insert(id, chain, early);
            }
            _ => {
                stack.push((id, chain, true));
                for (arg, chain) in self.operands(id, chain).into_iter().rev() {
                    stack.push((arg, chain, false));
                }
            }
        }
    }

    /// The operands of a node, each with the chain of views that it is read through.
    fn operands(&mut self, id: NodeId, chain: ChainId) -> SmallVec<[(NodeId, ChainId); 3]> {
        let graph = self.graph;
        let node = graph.node(id);
        if let NodeKind::View { arg, view } = &node.kind {
            return smallvec![(*arg, self.extend(*arg, (**view).clone(), chain))];
        }
        node.kind
            .aligned()
            .map(|&arg| {
                let shape = &graph.node(arg).shape;
                let same = *shape == node.shape;
                (
                    arg,
                    if same { chain } else { self.extend(arg, View::BroadcastTo(node.shape.clone()), chain) },
                )
            })
            .collect()
    }

    /// The chain of an operand that is read through `view`. A 0-d operand always has the empty chain, since no view
    /// changes its element.
    fn extend(&mut self, arg: NodeId, view: View, chain: ChainId) -> ChainId {
        if self.graph.node(arg).shape.rank() > 0 {
            return self.chains.push(view, chain);
        }
        if self.shape.rank() == 0 {
            STRAIGHT
        } else {
            self.chains.push(View::BroadcastTo(self.shape.clone()), STRAIGHT)
        }
    }

    fn leaf(&mut self, id: NodeId, chain: ChainId, origin: Origin, layout: &Arc<Layout>) {
        let layout = match chain {
            STRAIGHT => layout.clone(),
            // Not reached: `cut::find` has cut every node for whose leaves strides can't express the views.
            _ => {
                let seen = self.chains.apply((**layout).clone(), chain);
                Arc::new(seen.expect("views were checked to be expressible"))
            }
        };
        let next = self.inputs.len() as u32;
        let number = *self.input_of.entry((origin, layout.clone())).or_insert(next);
        if number == next {
            self.inputs.push((origin, layout));
            self.kernel.inputs.push(self.graph.node(id).dtype);
        }
        self.done.insert(id, chain, Early::Input(number));
    }

    /// Emits a node whose operands have been emitted.
    fn emit(&mut self, id: NodeId, chain: ChainId) {
        let operands = self.operands(id, chain);
        let graph = self.graph;
        let node = graph.node(id);
        if let NodeKind::Loop(of) = &node.kind {
            let args = operands.iter().map(|&(arg, chain)| self.value(arg, chain)).collect();
            let tables = node.kind.tables().map(|&table| self.table(table)).collect();
            let inst = self.looped(id, &of.region, args, tables);
            self.done.insert(id, chain, Early::Inst(inst + 1 + of.item));
            return;
        }
        let first = self.value(operands[0].0, operands[0].1);
        let dtype = |id: NodeId| graph.node(id).dtype;
        let Some(mut code) = code::of(&node.kind, dtype, |function| self.place(function)) else {
            self.done.insert(id, chain, first);
            return;
        };
        if let (Code::Gather { table, .. }, Some(&of)) = (&mut code, node.kind.tables().next()) {
            *table = self.table(of);
        }
        let mut args = [first; 3];
        for (slot, &(arg, chain)) in args.iter_mut().zip(&operands) {
            *slot = self.value(arg, chain);
        }
        let value = self.push(id, code, args);
        self.done.insert(id, chain, value);
    }

    /// Adds an instruction, which belongs to the node `id` of the graph, and returns its value.
    fn push(&mut self, id: NodeId, code: Code, args: [Early; 3]) -> Early {
        let value = Early::Inst(self.kernel.body.len() as u32);
        self.kernel.body.push(Inst { code, args: [ValueId(0); 3] });
        self.early.push(args);
        self.nodes.push(id);
        value
    }

    /// The instruction of a loop over these operands and tables, which is emitted with all of its items if it is new. They follow
    /// it, in the order of the values that it carries.
    fn looped(&mut self, id: NodeId, region: &Arc<Region>, args: Vec<Early>, tables: Vec<u32>) -> u32 {
        let first = self.kernel.body.len() as u32;
        let inst = *self.loops.entry((region.clone(), args.clone(), tables.clone())).or_insert(first);
        if inst < first {
            return inst;
        }
        let of = KernelLoop { tables, ..code::looped(region) };
        for function in &of.body.functions {
            self.place(function);
        }
        let items = region.params[..region.carried()].iter().enumerate();
        let items = items.map(|(item, &dtype)| Code::Item { item: item as u32, dtype });
        for code in [Code::Loop(self.kernel.loops.len() as u32)].into_iter().chain(items) {
            self.push(id, code, [Early::Inst(first); 3]);
        }
        self.kernel.loops.push(of);
        self.loop_args.push(args);
        first
    }

    /// The index of a host function in the kernel. A function that the kernel does not have yet is added to it.
    fn place(&mut self, function: &HostDeclaration) -> u32 {
        let next = self.kernel.functions.len() as u32;
        let place = *self.callees.entry(function.clone()).or_insert(next);
        if place == next {
            self.kernel.functions.push(function.clone());
        }
        place
    }

    /// Gives values their final numbers: first inputs, then parameters, then instructions.
    fn finish(mut self, outputs: Vec<Early>, members: &[Member]) -> Draft {
        let (inputs, params) = (self.kernel.inputs.len() as u32, self.kernel.params.len() as u32);
        let value = |early: Early| {
            ValueId(match early {
                Early::Input(i) => i,
                Early::Param(i) => inputs + i,
                Early::Inst(i) => inputs + params + i,
            })
        };
        for (inst, early) in self.kernel.body.iter_mut().zip(&self.early) {
            let operands = inst.code.operands();
            for (arg, early) in inst.args.iter_mut().zip(early).take(operands) {
                *arg = value(*early);
            }
        }
        for (of, args) in self.kernel.loops.iter_mut().zip(&self.loop_args) {
            of.args = args.iter().copied().map(value).collect();
        }
        let sinks = members.iter().map(|member| member.sink);
        let outputs = outputs.into_iter().map(value).zip(sinks);
        self.kernel.outputs = outputs.map(|(value, sink)| KernelOutput { value, sink }).collect();
        self.kernel.checks_division = self.graph.semantics().int_division == IntDivision::Error
            && self.shape.elements() > 0
            && !self.kernel.divisions().is_empty();
        Draft {
            kernel: self.kernel,
            shape: self.shape,
            inputs: self.inputs,
            tables: self.tables,
            params: self.params,
            outputs: members.iter().map(|member| member.target).collect(),
            axes: Axes::NONE,
            beginning: Beginning::First,
            recurrence: None,
            part: None,
            routine: None,
            nodes: self.nodes,
        }
    }
}
