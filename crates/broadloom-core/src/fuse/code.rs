//! Maps a node to the instruction that computes it. No other module maps kinds of nodes to the kernel IR.

use std::sync::Arc;

use broadloom_ir::{DType, HostDeclaration};
use rustc_hash::FxHashMap;

use crate::kernel::{Callee, Code, Inst, Kernel, KernelLoop, ValueId};
use crate::node::{NodeId, NodeKind, Region};

/// The code that computes a node's elements from those of its operands, whose dtypes `dtype` gives; `None` for a leaf or a view,
/// for which nothing is computed, and for a value of a loop, which [`looped`] computes. `place` returns the index of a host function
/// in the kernel.
pub fn of<L>(
    kind: &NodeKind<NodeId, L>,
    dtype: impl Fn(NodeId) -> DType,
    place: impl FnOnce(&HostDeclaration) -> u32,
) -> Option<Code> {
    match kind {
        NodeKind::Leaf(_) | NodeKind::View { .. } | NodeKind::DynamicView { .. } | NodeKind::Loop(_) => None,
        // These nodes are stages of their own; a kernel computes only their operands, or the step of a recurrence.
        NodeKind::Reduce { .. }
        | NodeKind::Scan { .. }
        | NodeKind::Count { .. }
        | NodeKind::Recurrence(_)
        | NodeKind::Concat { .. }
        | NodeKind::PadLike { .. }
        | NodeKind::Index { .. }
        | NodeKind::Routine(_)
        | NodeKind::Words { .. } => None,
        // The table has no number yet.
        NodeKind::Gather { table, .. } => Some(Code::Gather { table: 0, dtype: dtype(*table) }),
        NodeKind::Apply { op, accuracy, args } => {
            Some(Code::Apply { op: *op, accuracy: *accuracy, dtype: dtype(*args.last()?) })
        }
        NodeKind::Host { function, .. } => {
            Some(Code::Host(Callee { function: place(function), signature: function.signature() }))
        }
        NodeKind::Cast { arg, to } => Some(Code::Cast(dtype(*arg), *to)),
    }
}

/// The loop of a region, over operands and tables that are not known yet.
pub fn looped(region: &Region) -> KernelLoop {
    let (inputs, tables) = split(region);
    let mut body = Kernel { inputs, tables, ..Kernel::default() };
    let dtypes = region.dtypes();
    let mut values: Vec<ValueId> = Vec::with_capacity(region.nodes.len());
    // The first item of each loop in the region.
    let mut items: FxHashMap<(&Arc<Region>, &[NodeId]), ValueId> = FxHashMap::default();
    for node in &region.nodes {
        match node {
            NodeKind::Leaf(param) => {
                // That of a table is not read.
                let before = region.tables.partition_point(|table| table < param);
                values.push(body.input(*param as usize - before));
                continue;
            }
            NodeKind::Loop(of) => {
                let first = *items.entry((&of.region, &of.args)).or_insert_with(|| {
                    let args = node.aligned().map(|arg| values[arg.index()]).collect();
                    let tables = node.tables().filter_map(|&arg| region.table_of(arg));
                    let tables = tables.map(|table| table as u32).collect();
                    push_loop(&mut body, KernelLoop { args, tables, ..looped(&of.region) })
                });
                values.push(ValueId(first.0 + of.item));
                continue;
            }
            _ => {}
        }
        // A verified region has a dtype for each node, and no nodes that are stages.
        let dtype = |id: NodeId| dtypes[id.index()].unwrap_or(DType::Bool);
        let Some(mut code) = of(node, dtype, |function| body.place(function)) else { continue };
        if let (Code::Gather { table, .. }, NodeKind::Gather { table: of, .. }) = (&mut code, node) {
            *table = region.table_of(*of).unwrap_or(0) as u32;
        }
        let mut args = [ValueId(0); 3];
        for (to, arg) in args.iter_mut().zip(node.aligned()) {
            *to = values[arg.index()];
        }
        values.push(ValueId(body.values() as u32));
        body.body.push(Inst { code, args });
    }
    body.outputs = region.roots().map(|id| values[id.index()].into()).collect();
    let (limit, is_numbered) = (region.limit, region.is_numbered);
    KernelLoop { body, limit, is_numbered, args: Vec::new(), tables: Vec::new() }
}

/// The dtypes of the parameters that are elements, and of those that are tables.
fn split(region: &Region) -> (Vec<DType>, Vec<DType>) {
    let (tables, inputs): (Vec<_>, Vec<_>) =
        region.params.iter().enumerate().partition(|(param, _)| region.is_table(*param));
    let dtypes = |of: Vec<(usize, &DType)>| of.into_iter().map(|(_, dtype)| *dtype).collect();
    (dtypes(inputs), dtypes(tables))
}

/// Adds a loop to a kernel, and an item for each value that it carries. Returns the first item, which the others follow.
fn push_loop(kernel: &mut Kernel, of: KernelLoop) -> ValueId {
    let (value, number) = (ValueId(kernel.values() as u32), kernel.loops.len() as u32);
    let dtypes: Vec<_> = of.body.inputs[..of.carried()].to_vec();
    for function in &of.body.functions {
        kernel.place(function);
    }
    kernel.loops.push(of);
    kernel.body.push(Inst { code: Code::Loop(number), args: [ValueId(0); 3] });
    for (item, dtype) in dtypes.into_iter().enumerate() {
        let code = Code::Item { item: item as u32, dtype };
        kernel.body.push(Inst { code, args: [value, ValueId(0), ValueId(0)] });
    }
    ValueId(value.0 + 1)
}
