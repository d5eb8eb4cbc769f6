//! Groups the roots and cut nodes of a graph into loops, in execution order, as drafts.
//!
//! Roots of one shape share a loop, and so do reductions of one shape along the same axes that do not depend on each
//! other, and the values of a recurrence. A draft reads only what drafts of lower levels write; the level of a node is the maximum
//! number of cut nodes on a path from it to a leaf.

use broadloom_ir::kernel::Sink;
use broadloom_ir::{Axes, HostDeclaration};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::fuse::body::{self, Member, Straight};
use crate::fuse::decision::Cuts;
use crate::fuse::draft::{Draft, DraftTarget, OutputPart};
use crate::fuse::plan::{Beginning, Index};
use crate::fuse::routines;
use crate::fuse::shared::are_last;
use crate::graph::{Graph, NodeId, NodeKind};
use crate::node::{Before, RecurrenceNode, Region, StepOrder};
use crate::routine::Routine;
use crate::shape::Shape;

/// A loop and the values that it computes, before its body is built.
struct Group {
    /// The sort key. Drafts of roots run last; others are ordered by level, then by their first node.
    order: (bool, u32, usize),
    shape: Shape,
    members: Vec<Member>,
    axes: Axes,
    beginning: Beginning,
    /// The totals of the blocks before the elements of a scan.
    totals: Option<NodeId>,
    /// Whether the members are the values of a recurrence.
    steps: bool,
    /// Whether the members are results of a routine.
    is_routine: bool,
    /// The part of a node that the only member is.
    part: Option<OutputPart>,
}

impl Group {
    /// A group that stores or reduces its members.
    fn new(order: (bool, u32, usize), shape: Shape, members: Vec<Member>, axes: Axes) -> Group {
        let beginning = Beginning::First;
        Group {
            order,
            shape,
            members,
            axes,
            beginning,
            totals: None,
            steps: false,
            is_routine: false,
            part: None,
        }
    }
}

/// Builds a draft for each group of cut nodes that a root needs, then one for the roots of each shape. The loops of the reductions
/// `joined` also store roots, unless these depend on them.
pub fn drafts(graph: &Graph, roots: &[NodeId], cuts: &Cuts, joined: &FxHashSet<NodeId>) -> Vec<Draft> {
    let mut uses = Uses::of(graph, roots);
    uses.reach_states(graph);
    let mut recurrences: FxHashMap<RecurrenceKey<'_>, usize> = FxHashMap::default();
    let mut routines: FxHashMap<(&Routine, &[NodeId]), usize> = FxHashMap::default();
    let mut groups: Vec<Group> = Vec::new();
    let mut with_roots: Vec<(u32, Axes, Shape)> = Vec::new();
    for (i, &root) in roots.iter().enumerate() {
        if !uses.is_written_directly(graph, root) {
            let target = DraftTarget::Root(i as u32);
            let member = Member { node: root, target, sink: Sink::Store, own: false };
            add(&mut groups, (true, 0, i), graph.node(root).shape.clone(), member, Axes::NONE);
        }
    }
    let mut levels: Vec<u32> = Vec::with_capacity(graph.nodes().len());
    for id in graph.ids() {
        let node = graph.node(id);
        let below = node.kind.operands().map(|arg| levels[arg.index()]).max().unwrap_or(0);
        let is_cut = cuts.contains(&id);
        levels.push(below + u32::from(is_cut));
        if !is_cut || !uses.reached[id.index()] || uses.is_part(id) {
            continue;
        }
        let root = roots.iter().position(|&root| root == id).filter(|_| uses.is_written_directly(graph, id));
        let target = root.map_or(DraftTarget::Node(id), |i| DraftTarget::Root(i as u32));
        let order = (false, levels[id.index()], id.index());
        match &node.kind {
            NodeKind::Reduce { arg, reduction, axes, .. } => {
                let member = Member { node: *arg, target, sink: Sink::Reduce(*reduction), own: false };
                add(&mut groups, order, graph.node(*arg).shape.clone(), member, *axes);
                if joined.contains(&id) {
                    with_roots.push((order.1, *axes, graph.node(*arg).shape.clone()));
                }
            }
            NodeKind::Scan { arg, scan, axis, initial, before } => {
                let member = Member { node: *arg, target, sink: Sink::Scan(*scan), own: false };
                let (shape, axes) =
                    (graph.node(*arg).shape.clone(), [usize::from(*axis)].into_iter().collect());
                let before = before.filter(|before| before.blocks > 0);
                let beginning = match before {
                    Some(Before { blocks, level, .. }) => Beginning::After { blocks, level },
                    None if *initial => Beginning::Initial,
                    None => Beginning::First,
                };
                let totals = before.map(|before| before.totals);
                groups.push(Group { beginning, totals, ..Group::new(order, shape, vec![member], axes) });
            }
            NodeKind::Recurrence(of) => {
                let member = Member { node: id, target, sink: Sink::Store, own: true };
                let next = groups.len();
                let group = *recurrences.entry(key(of)).or_insert(next);
                if group < next {
                    groups[group].members.push(member);
                    continue;
                }
                // The operands were broadcast when the node was added.
                let shape = graph.recurrence(of).map_or_else(|_| node.shape.clone(), |shapes| shapes.space.0);
                let axes = [usize::from(of.axis)].into_iter().collect();
                groups.push(Group { steps: true, ..Group::new(order, shape, vec![member], axes) });
            }
            NodeKind::Routine(of) => {
                let member = Member { node: id, target, sink: Sink::Store, own: true };
                let next = groups.len();
                let group = *routines.entry((&of.routine, &of.args)).or_insert(next);
                if group < next {
                    groups[group].members.push(member);
                    continue;
                }
                let shape = of.args.first().map_or(&node.shape, |&arg| &graph.node(arg).shape).clone();
                let group = Group::new(order, shape, vec![member], Axes::NONE);
                groups.push(Group { is_routine: true, ..group });
            }
            NodeKind::Concat { .. } => {
                for (part, at) in parts(graph, &uses, id) {
                    let order = at_once(graph, &levels, part).unwrap_or(order);
                    let members = vec![Member { node: part, target, sink: Sink::Store, own: false }];
                    let part = (OutputPart { at, whole: node.shape.clone() }, graph.node(part).shape.clone());
                    groups
                        .push(Group { part: Some(part.0), ..Group::new(order, part.1, members, Axes::NONE) });
                }
            }
            _ => {
                let members = vec![Member { node: id, target, sink: Sink::Store, own: true }];
                groups.push(Group::new(order, node.shape.clone(), members, Axes::NONE));
            }
        }
    }
    join_roots(&levels, &with_roots, &mut groups);
    store_and_reduce(graph, cuts, &levels, &mut groups);
    postpone(graph, cuts, &mut groups);
    groups.sort_by_key(|group| group.order);
    let mut straight = Straight::of(graph);
    let build = |Group { shape, mut members, axes, beginning, totals, steps, is_routine, part, .. }| {
        members.sort_by_key(|member| item(graph, member.node));
        if is_routine {
            return routines::draft(graph, shape, &members, cuts);
        }
        let build = if steps { body::step::step } else { body::build };
        let mut draft = Draft { axes, beginning, part, ..build(graph, shape, &members, cuts, &mut straight) };
        draft.inputs.extend(totals.map(|totals| body::whole(graph, totals, cuts)));
        draft
    };
    groups.into_iter().map(build).collect()
}

/// The place of a part among the loops if a recurrence stores it: it is copied at once, so that it need not be kept until the other
/// parts exist.
fn at_once(graph: &Graph, levels: &[u32], part: NodeId) -> Option<(bool, u32, usize)> {
    let is_stored = matches!(graph.node(part).kind, NodeKind::Recurrence(_));
    is_stored.then(|| (false, levels[part.index()] + 1, part.index()))
}

/// The nodes that a node is joined from, each with the index of its first element. A node that is only a part of this one, and is
/// joined itself, is replaced by its parts.
fn parts(graph: &Graph, uses: &Uses, id: NodeId) -> Vec<(NodeId, Index)> {
    let origin: Index = smallvec![0; graph.node(id).shape.rank()];
    let (mut found, mut pending) = (Vec::new(), vec![(id, origin)]);
    while let Some((id, mut at)) = pending.pop() {
        let NodeKind::Concat { args, axis } = &graph.node(id).kind else { continue };
        for &arg in args {
            let next = at[usize::from(*axis)] + graph.node(arg).shape[usize::from(*axis)];
            match uses.is_part(arg) {
                true => pending.push((arg, at.clone())),
                false => found.push((arg, at.clone())),
            }
            at[usize::from(*axis)] = next;
        }
    }
    found
}

/// The step, the operands, the axis and the order of a recurrence, which identify it.
type RecurrenceKey<'g> = (&'g Region, &'g [NodeId], u8, StepOrder);

fn key(of: &RecurrenceNode<NodeId, HostDeclaration>) -> RecurrenceKey<'_> {
    (&of.step, &of.args, of.axis, of.order)
}

/// The index of a value of a recurrence, or of a result of a routine; 0 for other nodes.
fn item(graph: &Graph, id: NodeId) -> u32 {
    match &graph.node(id).kind {
        NodeKind::Recurrence(of) => of.item,
        NodeKind::Routine(of) => of.item,
        _ => 0,
    }
}

/// Merges the loops of reductions at these levels, along these axes of this shape, with that of the roots of the shape, which then
/// runs in the reductions' place.
fn join_roots(levels: &[u32], with_roots: &[(u32, Axes, Shape)], groups: &mut Vec<Group>) {
    for (level, axes, shape) in with_roots {
        let is_before = |member: &Member| levels[member.node.index()] < *level;
        let stores = |group: &Group| {
            let is_own = group.order.0 && group.axes == Axes::NONE && group.shape == *shape;
            is_own && group.members.iter().all(is_before)
        };
        let reduces = |group: &Group| {
            let is_own = (group.order.0, group.order.1, group.axes) == (false, *level, *axes);
            is_own && group.shape == *shape && group.members.iter().all(is_reduced)
        };
        let places = (groups.iter().position(stores), groups.iter().position(reduces));
        if let (Some(roots), Some(reductions)) = places {
            let reductions = groups.remove(reductions);
            // Roots come first, so that none has moved.
            groups[roots].members.extend(reductions.members);
            (groups[roots].order, groups[roots].axes) = (reductions.order, *axes);
        }
    }
}

fn is_reduced(member: &Member) -> bool {
    matches!(member.sink, Sink::Reduce(_))
}

/// If a loop reduces a stored node, or values computed from it, along the last axes, merges it into the loop that
/// stores the node, so that elements are reduced as soon as they are computed. Other reductions of the level of that loop join it, as
/// they join each other.
fn store_and_reduce(graph: &Graph, cuts: &Cuts, levels: &[u32], groups: &mut Vec<Group>) {
    let stored = groups.iter().enumerate().filter_map(|(i, group)| match group.members[..] {
        [Member { node, own: true, .. }] if !group.steps && !group.is_routine => Some((node, i)),
        _ => None,
    });
    let stored: FxHashMap<NodeId, usize> = stored.collect();
    let mut joined: Vec<usize> = Vec::new();
    for i in 0..groups.len() {
        let place = last_read(graph, cuts, levels, &groups[i]).and_then(|node| stored.get(&node));
        if let Some(&place) = place
            && groups[place].shape == groups[i].shape
            && groups[place].axes == Axes::NONE
        {
            let members = std::mem::take(&mut groups[i].members);
            groups[place].members.extend(members);
            groups[place].axes = groups[i].axes;
            joined.push(place);
        }
    }
    for place in joined {
        let of = |group: &Group| (group.order.0, group.order.1, group.axes);
        for i in 0..groups.len() {
            let joins =
                i != place && of(&groups[i]) == of(&groups[place]) && groups[i].shape == groups[place].shape;
            if joins && groups[i].members.iter().all(is_reduced) {
                let members = std::mem::take(&mut groups[i].members);
                groups[place].members.extend(members);
            }
        }
    }
    groups.retain(|group| !group.members.is_empty());
}

/// The maximum number of nodes that [`last_read`] visits; larger bodies are not merged.
const MOST_NODES: usize = 256;

/// Of the cut nodes that a group reads, returns the one with the highest level. The result is `None` unless the group
/// reduces along its last axes, reads the node at its own indices only, and reads no other node of that level.
fn last_read(graph: &Graph, cuts: &Cuts, levels: &[u32], group: &Group) -> Option<NodeId> {
    let rank = group.shape.rank();
    let reduces = group.members.iter().all(is_reduced);
    if !reduces || !are_last(group.axes, rank) {
        return None;
    }
    // For each cut node that is read, whether it is read at its own indices only.
    let mut read: FxHashMap<NodeId, bool> = FxHashMap::default();
    let mut seen: FxHashSet<(NodeId, bool)> = FxHashSet::default();
    let mut pending: Vec<(NodeId, bool)> = group.members.iter().map(|member| (member.node, true)).collect();
    while let Some((id, is_straight)) = pending.pop() {
        if !seen.insert((id, is_straight)) {
            continue;
        }
        if seen.len() > MOST_NODES {
            return None;
        }
        let node = graph.node(id);
        if cuts.contains(&id) {
            *read.entry(id).or_insert(true) &= is_straight;
            continue;
        }
        // Random words are made of a key as a whole, even if there are four of them.
        let is_view = matches!(node.kind, NodeKind::View { .. } | NodeKind::Words { .. });
        pending.extend(node.kind.tables().map(|&table| (table, false)));
        let below = node.kind.aligned().map(|&arg| {
            let same = graph.node(arg).shape == node.shape;
            (arg, is_straight && same && !is_view)
        });
        pending.extend(below);
    }
    let (&last, &is_straight) = read.iter().max_by_key(|(id, _)| (levels[id.index()], id.index()))?;
    let level = levels[last.index()];
    let others = read.keys().filter(|id| levels[id.index()] == level).count();
    (is_straight && others == 1).then_some(last)
}

/// Adds a value to the loop that it can share, or to a new one: roots share a loop with roots, reductions with
/// reductions along the same axes.
fn add(groups: &mut Vec<Group>, order: (bool, u32, usize), shape: Shape, member: Member, axes: Axes) {
    let shares = |other: &Member| match (other.sink, member.sink) {
        (Sink::Store, Sink::Store) => order.0,
        (Sink::Reduce(_), Sink::Reduce(_)) => true,
        _ => false,
    };
    let shared = groups.iter_mut().find(|group| {
        (group.order.0, group.order.1) == (order.0, order.1)
            && group.shape == shape
            && group.axes == axes
            && group.members.first().is_some_and(shares)
    });
    match shared {
        Some(group) => group.members.push(member),
        None => {
            groups.push(Group::new(order, shape, vec![member], axes));
        }
    }
}

/// Runs each recurrence right before the first loop that reads its values, so that these are kept no longer than necessary. One that
/// only roots read stays where it is.
fn postpone(graph: &Graph, cuts: &Cuts, groups: &mut [Group]) {
    if groups.iter().all(|group| !group.steps) {
        return;
    }
    // For each node, the lowest level of a loop that reads it; for each value of a recurrence, the number of its group.
    let mut read_at = vec![u32::MAX; graph.nodes().len()];
    let mut group_of: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut read = |id: NodeId, level: u32| read_at[id.index()] = read_at[id.index()].min(level);
    for (i, group) in groups.iter().enumerate() {
        let level = if group.order.0 { u32::MAX } else { group.order.1 };
        for Member { node, own, .. } in &group.members {
            match (group.steps, own) {
                (true, _) => drop(group_of.insert(*node, i)),
                (false, true) => graph.node(*node).kind.operands().for_each(|arg| read(*arg, level)),
                (false, false) => read(*node, level),
            }
        }
        group.totals.iter().for_each(|totals| read(*totals, level));
    }
    let mut latest = vec![u32::MAX; groups.len()];
    for id in graph.ids().rev() {
        let level = match group_of.get(&id) {
            Some(&group) => {
                let order = &mut groups[group].order;
                latest[group] = latest[group].min(read_at[id.index()]);
                if latest[group] < u32::MAX {
                    order.1 = latest[group] - 1;
                }
                order.1
            }
            // The loop that computes the node reads its operands.
            None if cuts.contains(&id) => continue,
            None => read_at[id.index()],
        };
        let operands = graph.node(id).kind.operands();
        operands.for_each(|arg| read_at[arg.index()] = read_at[arg.index()].min(level));
    }
}

/// The uses of each node, indexed by its id.
struct Uses {
    /// Whether a root needs the node.
    reached: Vec<bool>,
    /// The number of operands and roots that refer to the node.
    count: Vec<u32>,
    /// The joined nodes whose only reader is another joined node.
    parts: FxHashSet<NodeId>,
}

impl Uses {
    fn of(graph: &Graph, roots: &[NodeId]) -> Uses {
        let nodes = graph.nodes().len();
        let mut uses =
            Uses { reached: vec![false; nodes], count: vec![0; nodes], parts: FxHashSet::default() };
        for root in roots {
            uses.reached[root.index()] = true;
            uses.count[root.index()] += 1;
        }
        for id in graph.ids().rev() {
            if uses.reached[id.index()] {
                for arg in graph.node(id).kind.operands() {
                    uses.reached[arg.index()] = true;
                    uses.count[arg.index()] += 1;
                }
            }
        }
        for id in graph.ids().filter(|id| uses.reached[id.index()]) {
            if let NodeKind::Concat { args, .. } = &graph.node(id).kind {
                let is_joined = |arg: &NodeId| matches!(graph.node(*arg).kind, NodeKind::Concat { .. });
                let parts = args.iter().filter(|arg| is_joined(arg) && uses.count[arg.index()] == 1);
                let parts: SmallVec<[NodeId; 4]> = parts.copied().collect();
                uses.parts.extend(parts);
            }
        }
        uses
    }

    /// Marks the states of recurrences of which a value is needed: all of them are computed.
    fn reach_states(&mut self, graph: &Graph) {
        let recurrences = || {
            graph.ids().filter_map(|id| match &graph.node(id).kind {
                NodeKind::Recurrence(of) => Some((id, of)),
                _ => None,
            })
        };
        let needed: FxHashSet<RecurrenceKey<'_>> =
            recurrences().filter(|(id, _)| self.reached[id.index()]).map(|(_, of)| key(of)).collect();
        for (id, of) in recurrences() {
            self.reached[id.index()] |= of.is_state() && needed.contains(&key(of));
        }
    }

    /// Whether a root is a reduction, a scan or a result of a routine that has no other use: its stage then writes the result
    /// directly.
    fn is_written_directly(&self, graph: &Graph, root: NodeId) -> bool {
        let kind = &graph.node(root).kind;
        matches!(
            kind,
            NodeKind::Reduce { .. }
                | NodeKind::Scan { .. }
                | NodeKind::Recurrence(_)
                | NodeKind::Routine(_)
                | NodeKind::Concat { .. }
        ) && self.count[root.index()] == 1
    }

    /// Whether a node is joined from parts that are written where they go in another such node, its only reader.
    fn is_part(&self, id: NodeId) -> bool {
        self.parts.contains(&id)
    }
}
