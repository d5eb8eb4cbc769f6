//! Computes each part of joined nodes where it goes.
//!
//! `f(concat(a, b), c)` is rewritten as `concat(f(a, c[..n]), f(b, c[n..]))`, so that the loop of each part reads the parts where
//! they are, and `concat(a, b)` is never stored. Slices of padded and of shifted arrays become slices of their parts in the same
//! way: the interior of a stencil is a loop over the array itself.
//!
//! A node is taken apart only if all of its readers are, up to the roots. What a reduction reads, for one, is stored as a whole. Nodes
//! that may fail stay whole, since an error names the place of an element in its loop; so do calls of host functions.

use smallvec::SmallVec;

use crate::error::Result;
use crate::graph::{Graph, NodeId, NodeKind};
use crate::layout::{Slice, View};
use crate::shape::Shape;

/// The maximum number of cells of a node.
const MOST_CELLS: usize = 32;

/// The maximum number of nodes that are made for cells.
const MOST_NODES: usize = 1 << 12;

/// Where the cells along each axis begin, ending with the extent of the axis.
type Bounds = SmallVec<[SmallVec<[usize; 4]>; 4]>;

/// A node as cells of a grid.
#[derive(Clone)]
struct Grid {
    bounds: Bounds,
    /// The cells in row-major order.
    cells: Vec<NodeId>,
}

/// A node of the new graph.
#[derive(Clone)]
enum Made {
    Whole(NodeId),
    Apart(Grid),
}

/// Takes joined nodes apart, and everything that is computed from them. A graph without such nodes is returned as it is.
pub(super) fn take_apart(graph: Graph, roots: Vec<NodeId>) -> Result<(Graph, Vec<NodeId>)> {
    if !graph.nodes().iter().any(|node| matches!(node.kind, NodeKind::Concat { .. })) {
        return Ok((graph, roots));
    }
    let may_be_apart = may_be_apart(&graph, &roots);
    let mut splitter = Splitter { old: &graph, new: graph.successor(), made: Vec::new(), left: MOST_NODES };
    for id in graph.ids() {
        splitter.new.add_derivative(graph.node(id).is_derivative);
        let made = match may_be_apart[id.index()] {
            true => splitter.apart(id)?,
            false => None,
        };
        let made =
            made.map_or_else(|| splitter.whole_of(id).map(Made::Whole), |grid| Ok(Made::Apart(grid)))?;
        splitter.made.push(made);
    }
    let roots = roots.iter().map(|root| splitter.whole(*root)).collect::<Result<_>>()?;
    Ok((splitter.new, roots))
}

/// For each node, whether it can be computed cell by cell, and all of its readers are.
fn may_be_apart(graph: &Graph, roots: &[NodeId]) -> Vec<bool> {
    let mut is_read_whole = vec![false; graph.nodes().len()];
    let mut is_used = vec![false; graph.nodes().len()];
    roots.iter().for_each(|root| is_used[root.index()] = true);
    let mut may = vec![false; graph.nodes().len()];
    for id in graph.ids().rev() {
        let node = graph.node(id);
        let is_possible = match &node.kind {
            NodeKind::Apply { .. } | NodeKind::Cast { .. } | NodeKind::Concat { .. } => !node.faults,
            NodeKind::View { arg, view } => {
                let is_possible = match &**view {
                    View::Reshape(shape) => ones(graph, *arg, shape).is_some(),
                    View::Windows { .. } => false,
                    View::BroadcastTo(_) | View::Permute(_) | View::Slice(_) => true,
                };
                is_possible && !node.faults
            }
            _ => false,
        };
        may[id.index()] = is_possible && is_used[id.index()] && !is_read_whole[id.index()];
        for arg in node.kind.operands() {
            is_used[arg.index()] |= is_used[id.index()];
            is_read_whole[arg.index()] |= is_used[id.index()] && !may[id.index()];
        }
    }
    may
}

/// For each axis of `to`, the axis of the node that it is, if a reshape to `to` only adds and removes axes of extent 1; `None` for
/// an axis that is added. The whole is `None` for any other reshape.
fn ones(graph: &Graph, id: NodeId, to: &Shape) -> Option<SmallVec<[Option<usize>; 4]>> {
    let from = &graph.node(id).shape;
    let mut left = from.iter().enumerate().filter(|(_, extent)| **extent != 1);
    let mut axes = SmallVec::new();
    for &extent in to.iter() {
        axes.push(match extent {
            1 => None,
            _ => Some(left.next().filter(|(_, of)| **of == extent)?.0),
        });
    }
    left.next().is_none().then_some(axes)
}

struct Splitter<'g> {
    old: &'g Graph,
    new: Graph,
    /// What has become of each node of the old graph.
    made: Vec<Made>,
    /// The number of nodes that may still be made for cells.
    left: usize,
}

impl Splitter<'_> {
    /// The node of the new graph that a node has become; its cells are joined.
    fn whole(&mut self, id: NodeId) -> Result<NodeId> {
        let grid = match &self.made[id.index()] {
            Made::Whole(whole) => return Ok(*whole),
            Made::Apart(grid) => grid.clone(),
        };
        // Its reader, which is being made, may be another one's.
        let is_of_reader = self.new.add_derivative(self.old.node(id).is_derivative);
        let mut cells = grid.cells;
        for (axis, bounds) in grid.bounds.iter().enumerate().rev() {
            let count = bounds.len() - 1;
            if count < 2 {
                continue;
            }
            let rows =
                cells.chunks(count).map(|args| NodeKind::Concat { args: args.to_vec(), axis: axis as u8 });
            let rows: Vec<NodeKind> = rows.collect();
            cells = rows.into_iter().map(|row| self.new.push(row)).collect::<Result<_>>()?;
        }
        self.new.add_derivative(is_of_reader);
        let whole = cells[0];
        self.made[id.index()] = Made::Whole(whole);
        Ok(whole)
    }

    /// Rebuilds a node over whole operands.
    fn whole_of(&mut self, id: NodeId) -> Result<NodeId> {
        let node = self.old.node(id);
        let operands: Vec<NodeId> =
            node.kind.operands().map(|arg| self.whole(*arg)).collect::<Result<_>>()?;
        let mut operands = operands.into_iter();
        let kind = node.kind.try_map(
            |&arg| crate::error::Result::Ok(operands.next().unwrap_or(arg)),
            |leaf| Ok(leaf.clone()),
            Clone::clone,
        )?;
        self.new.insert(kind, node.dtype, node.shape.clone())
    }

    /// The cells of a node; `None` if no operand has several, or they would be too many.
    fn apart(&mut self, id: NodeId) -> Result<Option<Grid>> {
        let node = self.old.node(id);
        let is_apart = |arg: &NodeId| matches!(self.made[arg.index()], Made::Apart(_));
        match &node.kind {
            NodeKind::Concat { args, axis } => self.joined(args, usize::from(*axis), &node.shape),
            kind if !kind.operands().any(is_apart) => Ok(None),
            NodeKind::View { arg, view } => self.viewed(id, *arg, view),
            kind => self.applied(id, kind),
        }
    }

    /// The bounds of a node that is read with these extents, the last ones of its reader. Axes that it lacks or repeats have no
    /// bounds of their own.
    fn bounds(&self, id: NodeId, shape: &Shape) -> Bounds {
        let of = &self.old.node(id).shape;
        let new = shape.rank() - of.rank();
        let own = |axis: usize| match &self.made[id.index()] {
            Made::Apart(grid) if axis >= new && of[axis - new] == shape[axis] => {
                grid.bounds[axis - new].clone()
            }
            _ => SmallVec::from_slice(&[0, shape[axis]]),
        };
        (0..shape.rank()).map(own).collect()
    }

    /// Whether cells with these bounds may be made, each of `nodes` nodes. Counts them if so.
    fn may_make(&mut self, bounds: &Bounds, nodes: usize) -> bool {
        let cells = bounds.iter().map(|bounds| bounds.len() - 1).fold(1usize, usize::saturating_mul);
        let needed = cells.saturating_mul(nodes);
        let may = cells <= MOST_CELLS && needed <= self.left;
        self.left -= if may { needed } else { 0 };
        may
    }

    /// The elements of a node in a cell of a reader with this shape.
    fn cell(&mut self, id: NodeId, shape: &Shape, cell: &[(usize, usize)]) -> Result<NodeId> {
        let of = &self.old.node(id).shape;
        if of.rank() == 0 {
            return self.whole(id);
        }
        let new = shape.rank() - of.rank();
        let own: SmallVec<[(usize, usize); 4]> = (0..of.rank())
            .map(|axis| if of[axis] == shape[axis + new] { cell[axis + new] } else { (0, of[axis]) })
            .collect();
        let (node, starts) = match &self.made[id.index()] {
            Made::Whole(whole) => (*whole, SmallVec::from_elem(0, own.len())),
            Made::Apart(grid) => grid.at(&own),
        };
        let shape = self.new.node(node).shape.clone();
        let slices: SmallVec<[Slice; 4]> = own
            .iter()
            .zip::<SmallVec<[usize; 4]>>(starts)
            .map(|(&(from, to), start)| Slice { start: from - start, step: 1, len: to - from })
            .collect();
        let is_whole = slices.iter().zip(shape.iter()).all(|(slice, extent)| slice.len == *extent);
        if is_whole { Ok(node) } else { self.new.view(node, View::Slice(slices)) }
    }

    fn joined(&mut self, args: &[NodeId], axis: usize, shape: &Shape) -> Result<Option<Grid>> {
        let mut bounds: Bounds = shape.iter().map(|&extent| SmallVec::from_slice(&[0, extent])).collect();
        let mut along: SmallVec<[usize; 4]> = SmallVec::from_slice(&[0]);
        for &arg in args {
            let of_arg = self.bounds(arg, &self.old.node(arg).shape);
            let before = along[along.len() - 1];
            along.extend(of_arg[axis][1..].iter().map(|bound| before + bound));
            let others = bounds.iter_mut().zip(&of_arg).enumerate().filter(|(other, _)| *other != axis);
            others.for_each(|(_, (bounds, more))| merge(bounds, more));
        }
        bounds[axis] = along;
        if !self.may_make(&bounds, 2) {
            return Ok(None);
        }
        let mut starts = SmallVec::<[usize; 4]>::from_slice(&[0]);
        for arg in args {
            starts.push(starts[starts.len() - 1] + self.old.node(*arg).shape[axis]);
        }
        let mut cells = Vec::new();
        for mut cell in all(&bounds) {
            // The operand whose elements the cell has: the last one that begins at or before it, but for those without elements.
            let of = starts[1..].partition_point(|&end| end <= cell[axis].0).min(args.len() - 1);
            cell[axis] = (cell[axis].0 - starts[of], cell[axis].1 - starts[of]);
            let shape = self.old.node(args[of]).shape.clone();
            cells.push(self.cell(args[of], &shape, &cell)?);
        }
        Ok(Some(Grid { bounds, cells }))
    }

    fn applied(&mut self, id: NodeId, kind: &NodeKind) -> Result<Option<Grid>> {
        let node = self.old.node(id);
        let mut bounds: Bounds =
            node.shape.iter().map(|&extent| SmallVec::from_slice(&[0, extent])).collect();
        for &arg in kind.operands() {
            let of_arg = self.bounds(arg, &node.shape);
            bounds.iter_mut().zip(&of_arg).for_each(|(bounds, more)| merge(bounds, more));
        }
        if !self.may_make(&bounds, 1 + kind.arity()) {
            return Ok(None);
        }
        let mut cells = Vec::new();
        for cell in all(&bounds) {
            let operands: Vec<NodeId> =
                kind.operands().map(|&arg| self.cell(arg, &node.shape, &cell)).collect::<Result<_>>()?;
            let mut operands = operands.into_iter();
            let kind = kind.try_map(
                |&arg| crate::error::Result::Ok(operands.next().unwrap_or(arg)),
                |leaf| Ok(leaf.clone()),
                Clone::clone,
            )?;
            cells.push(self.new.insert(kind, node.dtype, extents(&cell)?)?);
        }
        Ok(Some(Grid { bounds, cells }))
    }

    fn viewed(&mut self, id: NodeId, arg: NodeId, view: &View) -> Result<Option<Grid>> {
        let shape = self.old.node(id).shape.clone();
        let of = self.old.node(arg).shape.clone();
        let own = self.bounds(arg, &of);
        if shape.elements() == 0 || of.elements() == 0 {
            return Ok(None);
        }
        // For each axis of the view, the axis of the operand that it is.
        let axes: SmallVec<[Option<usize>; 4]> = match view {
            View::BroadcastTo(_) => {
                let new = shape.rank() - of.rank();
                let axis = |axis: usize| axis.checked_sub(new).filter(|own| of[*own] == shape[axis]);
                (0..shape.rank()).map(axis).collect()
            }
            View::Permute(axes) => axes.iter().map(|&axis| Some(axis.into())).collect(),
            View::Slice(_) => (0..shape.rank()).map(Some).collect(),
            View::Reshape(_) => match ones(self.old, arg, &shape) {
                Some(axes) => axes,
                None => return Ok(None),
            },
            View::Windows { .. } => return Ok(None),
        };
        let slice = |axis: usize| match view {
            View::Slice(slices) => slices[axis],
            _ => Slice { start: 0, step: 1, len: of[axis] },
        };
        let bounds: Bounds = axes
            .iter()
            .zip(shape.iter())
            .map(|(axis, &extent)| match axis {
                Some(axis) => sliced(&own[*axis], slice(*axis)),
                None => SmallVec::from_slice(&[0, extent]),
            })
            .collect();
        if !self.may_make(&bounds, 2) {
            return Ok(None);
        }
        let mut cells = Vec::new();
        for cell in all(&bounds) {
            // The indices of the operand that the cell needs, and the view of them.
            let mut needed: SmallVec<[(usize, usize); 4]> = of.iter().map(|&extent| (0, extent)).collect();
            let mut kept: SmallVec<[Slice; 4]> =
                of.iter().map(|&len| Slice { start: 0, step: 1, len }).collect();
            for (axis, &(from, to)) in axes.iter().zip(&cell) {
                let Some(axis) = *axis else { continue };
                let Slice { start, step, .. } = slice(axis);
                let first = (start as isize + from as isize * step) as usize;
                let last = (start as isize + (to as isize - 1) * step) as usize;
                needed[axis] = (first.min(last), first.max(last) + 1);
                let start = first - first.min(last);
                kept[axis] = Slice { start, step: if to - from > 1 { step } else { 1 }, len: to - from };
            }
            let part = self.cell(arg, &of, &needed)?;
            let to = extents(&cell)?;
            let view = match view {
                View::BroadcastTo(_) => View::BroadcastTo(to),
                View::Permute(axes) => View::Permute(axes.clone()),
                View::Slice(_) => View::Slice(kept),
                View::Reshape(_) | View::Windows { .. } => View::Reshape(to),
            };
            let changes = match &view {
                View::Slice(kept) => {
                    kept.iter().zip(&needed).any(|(kept, (from, to))| kept.step != 1 || kept.len != to - from)
                }
                _ => true,
            };
            cells.push(if changes { self.new.view(part, view)? } else { part });
        }
        Ok(Some(Grid { bounds, cells }))
    }
}

impl Grid {
    /// The cell that contains these indices along each axis, and the index of its first element.
    fn at(&self, own: &[(usize, usize)]) -> (NodeId, SmallVec<[usize; 4]>) {
        let (mut number, mut starts) = (0, SmallVec::new());
        for (bounds, &(from, _)) in self.bounds.iter().zip(own) {
            let cell = bounds[1..].partition_point(|&end| end <= from).min(bounds.len() - 2);
            number = number * (bounds.len() - 1) + cell;
            starts.push(bounds[cell]);
        }
        (self.cells[number], starts)
    }
}

/// Adds bounds to others of the same axis.
fn merge(bounds: &mut SmallVec<[usize; 4]>, more: &[usize]) {
    bounds.extend_from_slice(more);
    bounds.sort_unstable();
    bounds.dedup();
    if bounds.len() < 2 {
        // An axis without elements.
        bounds.push(bounds[0]);
    }
}

/// The bounds of a slice, from those of its axis.
fn sliced(bounds: &[usize], slice: Slice) -> SmallVec<[usize; 4]> {
    let mut found: SmallVec<[usize; 4]> = SmallVec::from_slice(&[0, slice.len]);
    let step = slice.step.unsigned_abs().max(1);
    let ascends = slice.step >= 0 || slice.len < 2;
    for &bound in bounds {
        // The number of indices of the slice that come before the bound, in the slice's own order.
        let before = match ascends {
            true => bound.saturating_sub(slice.start).div_ceil(step),
            false if bound > slice.start => 0,
            false => (slice.start - bound) / step + 1,
        };
        found.push(before.min(slice.len));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// All cells of these bounds in row-major order: the first and the last index, exclusive, along each axis.
fn all(bounds: &Bounds) -> Vec<SmallVec<[(usize, usize); 4]>> {
    let mut cells = vec![SmallVec::new()];
    for bounds in bounds {
        let along = |cell: SmallVec<[(usize, usize); 4]>| {
            let next = |pair: &[usize]| {
                let mut cell = cell.clone();
                cell.push((pair[0], pair[1]));
                cell
            };
            bounds.windows(2).map(next).collect::<Vec<_>>()
        };
        cells = cells.into_iter().flat_map(along).collect();
    }
    cells
}

fn extents(cell: &[(usize, usize)]) -> Result<Shape> {
    let extents: SmallVec<[usize; 4]> = cell.iter().map(|(from, to)| to - from).collect();
    Shape::new(&extents)
}
