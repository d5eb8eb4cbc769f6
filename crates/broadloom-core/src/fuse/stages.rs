//! Which values share a loop: from roots and cut nodes to drafts, in run order.
//!
//! Roots of one shape share one, and so do reductions of one shape along the same axes that do not depend on each other.
//! A draft reads only what drafts of lower levels write, where the level of a node counts the cut nodes that it depends
//! on.

use smallvec::smallvec;

use crate::fuse::body::{self, Member, Straight};
use crate::fuse::decision::Cuts;
use crate::fuse::draft::{Draft, Output};
use crate::fuse::plan::Action;
use crate::graph::{Graph, NodeId, NodeKind};
use crate::shape::Shape;

/// A draft before its body is built.
struct Group {
    /// The drafts of roots run last; else the level, and the first node.
    order: (bool, u32, usize),
    shape: Shape,
    members: Vec<Member>,
    action: Action,
}

/// One draft per cut node that is needed but for those that share one, then one per shape of roots.
pub fn drafts(graph: &Graph, roots: &[NodeId], cuts: &Cuts) -> Vec<Draft> {
    let uses = Uses::of(graph, roots);
    let mut groups: Vec<Group> = Vec::new();
    for (i, &root) in roots.iter().enumerate() {
        if !uses.is_written_directly(graph, root) {
            let output = Output::Root(i as u32);
            let member = Member { node: root, output, own: false };
            add(&mut groups, (true, 0, i), graph.node(root).shape.clone(), member, Action::Store);
        }
    }
    let mut levels: Vec<u32> = Vec::with_capacity(graph.nodes().len());
    for id in graph.ids() {
        let node = graph.node(id);
        let below = node.kind.operands().map(|arg| levels[arg.index()]).max().unwrap_or(0);
        let is_cut = cuts.contains(&id);
        levels.push(below + u32::from(is_cut));
        if !is_cut || !uses.reached[id.index()] {
            continue;
        }
        let root = roots.iter().position(|&root| root == id).filter(|_| uses.is_written_directly(graph, id));
        let output = root.map_or(Output::Node(id), |i| Output::Root(i as u32));
        let order = (false, levels[id.index()], id.index());
        match &node.kind {
            NodeKind::Reduce { arg, reduction, axes, .. } => {
                let member = Member { node: *arg, output, own: false };
                let action = Action::Reduce { axes: *axes, reductions: smallvec![*reduction] };
                add(&mut groups, order, graph.node(*arg).shape.clone(), member, action);
            }
            NodeKind::Scan { arg, scan, axis, initial } => {
                let member = Member { node: *arg, output, own: false };
                let action = Action::Scan { scan: *scan, axis: (*axis).into(), initial: *initial };
                let shape = graph.node(*arg).shape.clone();
                groups.push(Group { order, shape, members: vec![member], action });
            }
            _ => {
                let members = vec![Member { node: id, output, own: true }];
                groups.push(Group { order, shape: node.shape.clone(), members, action: Action::Store });
            }
        }
    }
    groups.sort_by_key(|group| group.order);
    let mut straight = Straight::of(graph);
    let build =
        |group: Group| body::build(graph, group.shape, &group.members, group.action, cuts, &mut straight);
    groups.into_iter().map(build).collect()
}

/// Adds a value to the loop that it shares with others, or to a new one.
fn add(groups: &mut Vec<Group>, order: (bool, u32, usize), shape: Shape, member: Member, action: Action) {
    let shared = groups.iter_mut().find(|group| {
        group.shape == shape
            && (group.order.0, group.order.1) == (order.0, order.1)
            && match (&group.action, &action) {
                (Action::Store, Action::Store) => order.0,
                (Action::Reduce { axes, .. }, Action::Reduce { axes: others, .. }) => axes == others,
                _ => false,
            }
    });
    match shared {
        Some(group) => {
            group.members.push(member);
            if let (Action::Reduce { reductions, .. }, Action::Reduce { reductions: more, .. }) =
                (&mut group.action, action)
            {
                reductions.extend(more);
            }
        }
        None => groups.push(Group { order, shape, members: vec![member], action }),
    }
}

/// Who reads each node.
struct Uses {
    /// Whether a root needs it.
    reached: Vec<bool>,
    /// How many operands and roots it is.
    count: Vec<u32>,
}

impl Uses {
    fn of(graph: &Graph, roots: &[NodeId]) -> Uses {
        let nodes = graph.nodes().len();
        let mut uses = Uses { reached: vec![false; nodes], count: vec![0; nodes] };
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
        uses
    }

    /// Whether a root is a reduction or scan that nothing else needs: its stage writes it where it goes.
    fn is_written_directly(&self, graph: &Graph, root: NodeId) -> bool {
        matches!(graph.node(root).kind, NodeKind::Reduce { .. } | NodeKind::Scan { .. })
            && self.count[root.index()] == 1
    }
}
