//! Expressions over a batch: the same expression for each index of a further axis, as one expression.
//!
//! Each node that depends on a batched array is built again with the batch as its first axis; nodes that do not are shared by all
//! indices.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use broadloom_core::layout::Slice;
use broadloom_core::node::{LoopNode, NodeId, NodeKind, RecurrenceNode, Region};
use broadloom_core::routine::{Routine, RoutineNode};
use broadloom_core::{DType, Dims, Error, ErrorKind, Op, Result, Scalar, Shape, View};
use broadloom_ir::Axes;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::custom::{results, whole_results};
use super::dependents::{LoopKey, address, is_stopped, loop_key};
use super::linear::{apply, refused, select, sum, zero};
use super::loops::HandleLoop;
use super::regions::{HandleRecurrence, stopped, with_rule};
use super::{loops, recurrences};
use crate::array::{Array, CustomDerivative, CustomRule, Kind};
use crate::expr;
use crate::scan::item;
use crate::while_loop::{items, placeholder};

/// Outputs in which arrays are replaced by batches of them, along a first axis with this extent. An output that does not depend on
/// them is returned as it is, and is not batched.
pub(super) fn batched<'a>(
    outputs: &[Array<'a>],
    replaced: &[(Array<'a>, Array<'a>)],
    extent: usize,
) -> Result<Vec<(Array<'a>, bool)>> {
    let mut batch =
        Batch { extent, made: FxHashMap::default(), loops: FxHashMap::default(), visited: Vec::new() };
    for (x, by) in replaced {
        batch.visit(x.clone(), Some(by.clone()));
    }
    let mut pending: Vec<(Array<'a>, bool)> = outputs.iter().rev().map(|x| (x.clone(), false)).collect();
    while let Some((array, operands_done)) = pending.pop() {
        if batch.made.contains_key(&address(&array)) {
            continue;
        }
        // Numbers and indices of elements depend on extents alone.
        if array.0.kind.arity() == 0 || matches!(array.0.kind, Kind::Count { .. } | Kind::Index { .. }) {
            batch.visit(array, None);
        } else if operands_done {
            let made = array.0.marks.put_on(|| batch.node(&array))?;
            batch.visit(array, made);
        } else {
            let operands = all_operands(&array);
            pending.push((array, true));
            pending.extend(operands.into_iter().rev().map(|x| (x, false)));
        }
    }
    Ok(outputs.iter().map(|y| batch.of(y).map_or_else(|| (y.clone(), false), |y| (y, true))).collect())
}

/// The state of a walk over an expression.
struct Batch<'a> {
    extent: usize,
    /// For each node, the batch of it; `None` if it does not depend on what is replaced.
    made: FxHashMap<*const (), Option<Array<'a>>>,
    loops: FxHashMap<LoopKey, Vec<Array<'a>>>,
    /// The nodes that were visited, which must live as long as their addresses are keys.
    visited: Vec<Array<'a>>,
}

impl<'a> Batch<'a> {
    fn visit(&mut self, array: Array<'a>, made: Option<Array<'a>>) {
        self.made.insert(address(&array), made);
        self.visited.push(array);
    }

    /// The batch of an array that was visited.
    fn of(&self, array: &Array<'a>) -> Option<Array<'a>> {
        self.made.get(&address(array)).cloned().flatten()
    }

    /// The batch of an array with axes of extent 1 behind the batch, up to this rank of its elements; or the array itself.
    fn aligned(&self, array: &Array<'a>, rank: usize) -> Result<Array<'a>> {
        match self.of(array) {
            Some(batch) => (array.rank()..rank).try_fold(batch, |batch, _| batch.expand_dims(1)),
            None => Ok(array.clone()),
        }
    }

    /// The batch of an array, with the extent of the batch.
    fn whole(&self, array: &Array<'a>) -> Result<Array<'a>> {
        match self.of(array) {
            Some(batch) => Ok(batch),
            None => expr::view(array, View::BroadcastTo(self.shape(array.shape())?)),
        }
    }

    fn shape(&self, of: &[usize]) -> Result<Shape> {
        let extents: SmallVec<[usize; 4]> = [self.extent].iter().chain(of).copied().collect();
        Shape::new(&extents)
    }

    /// The batch of a node whose operands were visited.
    fn node(&mut self, node: &Array<'a>) -> Result<Option<Array<'a>>> {
        if all_operands(node).iter().all(|x| self.of(x).is_none()) {
            return Ok(None);
        }
        if let Some((rule, item)) = node.custom_rule() {
            return self.of_loop(node, item as u32, |batch| batch.with_rule(rule)).map(Some);
        }
        let rank = node.rank();
        let behind = |axes: Axes| -> Axes { axes.iter().map(|axis| axis + 1).collect() };
        let made = match &node.0.kind {
            Kind::Apply { op, args, .. } => {
                let args = args.iter().map(|x| self.aligned(x, rank)).collect::<Result<Vec<_>>>()?;
                apply(*op, &args.iter().collect::<Vec<_>>())?
            }
            Kind::Host { function, args } => {
                let args = args.iter().map(|x| self.aligned(x, rank)).collect::<Result<Vec<_>>>()?;
                expr::call(function, args.into_iter().map(Into::into).collect())?
            }
            Kind::Cast { arg, .. } if is_stopped(node) => stopped(&self.whole(arg)?),
            Kind::Cast { arg, to } => expr::cast(self.whole(arg)?, *to),
            Kind::View { arg, view } => {
                let is_repeated = matches!(**view, View::BroadcastTo(_));
                let arg = if is_repeated { self.aligned(arg, rank)? } else { self.whole(arg)? };
                expr::view(&arg, self.view(view)?)?
            }
            Kind::DynamicView { arg, view } => {
                expr::dynamic_view(&self.whole(arg)?, view.name(), (**view).clone())?
            }
            Kind::Reduce { arg, reduction, axes, keep_dims } => {
                expr::reduce(*reduction, &self.whole(arg)?, behind(*axes), *keep_dims)?
            }
            Kind::Scan { arg, scan, axis, initial, .. } => {
                expr::scan(*scan, &self.whole(arg)?, usize::from(*axis) + 1, *initial)?
            }
            Kind::Concat { args, axis } => {
                let args = args.iter().map(|x| self.whole(x)).collect::<Result<Vec<_>>>()?;
                expr::concat("vmap", &args, usize::from(*axis) + 1)?
            }
            Kind::PadLike { arg, like, padding } => {
                expr::pad_like(&self.whole(arg)?, &self.whole(like)?, **padding)?
            }
            Kind::Gather { table, positions } => self.taken(table, positions)?,
            Kind::Routine(of) => self.called(of)?,
            Kind::Loop(of) => self.iterated(node, of)?,
            Kind::Recurrence(of) => self.recurred(node, of)?,
            Kind::Words { .. } => {
                return Err(refused("vmap", "the key of random numbers is part of the batch")
                    .with_help("draw the numbers before, for a batch of the required shape"));
            }
            Kind::Leaf(_) | Kind::Count { .. } | Kind::Index { .. } => return Ok(None),
        };
        Ok(Some(made))
    }

    /// A value of a loop.
    fn iterated(&mut self, node: &Array<'a>, of: &HandleLoop<'a>) -> Result<Array<'a>> {
        let rank = node.rank();
        let arg = |(i, x): (usize, &Array<'a>)| match of.region.is_table(i) {
            true => Ok(self.of(x).unwrap_or_else(|| x.clone())),
            false => self.aligned(x, rank),
        };
        let args = of.args.iter().enumerate().map(arg).collect::<Result<Vec<_>>>()?;
        let tables = self.tables(&of.region, &of.args)?;
        let build = |batch: &Batch<'a>| match tables.is_empty() {
            true => items(&of.region, &of.functions, &args),
            false => {
                let of = LoopNode { args, ..of.clone() };
                loops::with_takes(&of, &|table, at| batch.taken_of(&tables, table, at, rank))
            }
        };
        self.of_loop(node, of.item, build)
    }

    /// A value of a recurrence.
    fn recurred(&mut self, node: &Array<'a>, of: &HandleRecurrence<'a>) -> Result<Array<'a>> {
        let others = of.inputs().first().map_or(0, |input| input.rank() - 1);
        let arg = |(i, x): (usize, &Array<'a>)| match (of.has_axis(i), self.of(x)) {
            (_, batch) if of.step.is_table(i) => Ok(batch.unwrap_or_else(|| x.clone())),
            (true, None) if x.rank() > 0 => x.expand_dims(0),
            (true, _) => self.aligned(x, others + 1),
            (false, _) => self.aligned(x, others),
        };
        let args = of.args.iter().enumerate().map(arg).collect::<Result<Vec<_>>>()?;
        let tables = self.tables(&of.step, &of.args)?;
        let build = |batch: &Batch<'a>| {
            let of = RecurrenceNode { args, axis: of.axis + 1, ..of.clone() };
            match tables.is_empty() {
                true => (0..of.items()).map(|i| item(&of, i)).collect(),
                false => {
                    let take = |table: &Array<'a>, at: &Array<'a>| batch.taken_of(&tables, table, at, others);
                    recurrences::with_takes(&of, &take)
                }
            }
        };
        self.of_loop(node, of.item, build)
    }

    fn of_loop(
        &mut self,
        node: &Array<'a>,
        item: u32,
        build: impl FnOnce(&Batch<'a>) -> Result<Vec<Array<'a>>>,
    ) -> Result<Array<'a>> {
        let lost = || Error::new(ErrorKind::Internal, "a value of a batched loop");
        let key = loop_key(node).ok_or_else(lost)?;
        if !self.loops.contains_key(&key) {
            let built = build(self)?;
            self.loops.insert(key.clone(), built);
        }
        self.loops.get(&key).and_then(|items| items.get(item as usize)).cloned().ok_or_else(lost)
    }

    /// The outputs of a function with a rule. An output that is the same for all indices may have tangents that are not.
    fn with_rule(&self, rule: &CustomRule<Array<'a>>) -> Result<Vec<Array<'a>>> {
        let given = |list: &[Array<'a>]| -> Vec<Array<'a>> {
            list.iter().map(|x| self.of(x).unwrap_or_else(|| x.clone())).collect()
        };
        let are_batched = rule.args.iter().map(|x| self.of(x).is_some()).collect();
        let outputs = rule.outputs.iter().map(|y| self.whole(y)).collect::<Result<_>>()?;
        let derivative = Arc::new(batched_rule(rule, are_batched, self.extent));
        let (args, captured) = (given(&rule.args), given(&rule.captured));
        with_rule(Arc::new(CustomRule { args, outputs, captured, derivative }))
    }

    /// A result of a routine. Sorts run along the last axis, so that the batch adds rows. The batch of what is reduced by the same labels
    /// becomes the last axis.
    fn called(&self, of: &RoutineNode<Array<'a>>) -> Result<Array<'a>> {
        let lost = || Error::new(ErrorKind::Internal, "a result of a batched routine");
        let call = |args: &[Array<'a>], item: u32| {
            expr::routine(of.routine, args)?.into_iter().nth(item as usize).ok_or_else(lost)
        };
        match (of.routine, &of.args[..]) {
            (Routine::Sort { .. } | Routine::ArgSort { .. } | Routine::TopK { .. }, [x]) => {
                call(&[self.whole(x)?], of.item)
            }
            (Routine::SearchSorted { .. }, [sorted, queries]) if self.of(sorted).is_none() => {
                call(&[sorted.clone(), self.whole(queries)?], of.item)
            }
            (Routine::Segments { function, segments, at_positions }, [rows, labels])
                if self.of(labels).is_some() =>
            {
                rows.has_known_extents("vmap")?;
                let rows = self.whole(rows)?;
                let joined = [&[self.extent * rows.shape()[1]], &rows.shape()[2..]].concat();
                let rows = expr::view(&rows, View::Reshape(Shape::new(&joined)?))?;
                // A label of −1 stands for no segment, and others that are out of range remain so.
                let is_none = !at_positions && labels.dtype().kind() == broadloom_core::Kind::Signed;
                let integer = |x: i64| expr::constant(Scalar::of(x));
                let labels = expr::cast(self.whole(labels)?, DType::Int64);
                let is_none = apply(
                    Op::LogicalAnd,
                    &[&apply(Op::Equal, &[&labels, &integer(-1)])?, &expr::constant(Scalar::of(is_none))],
                )?;
                let outside = select(&is_none, &integer(-1), &integer(i64::MIN))?;
                let labels = self.numbered(&labels, segments, &outside, 1)?.reshape(&[-1])?;
                let all = Routine::Segments { function, segments: self.extent * segments, at_positions };
                let result = expr::routine(all, &[rows, labels])?.into_iter().nth(of.item as usize);
                let result = result.ok_or_else(lost)?;
                let split = [&[self.extent, segments], &result.shape()[1..]].concat();
                expr::view(&result, View::Reshape(Shape::new(&split)?))
            }
            (Routine::Segments { .. }, [rows, labels]) => {
                let result = call(&[moved(&self.whole(rows)?, 0, -1)?, labels.clone()], of.item)?;
                // The numbers of rows are the same for the whole batch.
                if of.item > 0 {
                    return expr::view(&result, View::BroadcastTo(self.shape(result.shape())?));
                }
                moved(&result, -1, 0)
            }
            (Routine::Scatter, [x, positions, values]) => {
                let positions = self.positions(x, positions)?;
                call(&[self.whole(x)?, positions, self.whole(values)?], of.item)
            }
            (routine, _) => Err(refused("vmap", format!("{} cannot be called for a batch", routine.name()))),
        }
    }

    /// A view of each index of the batch.
    fn view(&self, view: &View) -> Result<View> {
        Ok(match view {
            View::BroadcastTo(shape) => View::BroadcastTo(self.shape(shape)?),
            View::Reshape(shape) => View::Reshape(self.shape(shape)?),
            View::Permute(axes) => {
                View::Permute([0].into_iter().chain(axes.iter().map(|axis| axis + 1)).collect())
            }
            View::Slice(slices) => {
                let all = Slice { start: 0, step: 1, len: self.extent };
                View::Slice([all].into_iter().chain(slices.iter().copied()).collect())
            }
            View::Windows { axis, length, rank } => {
                View::Windows { axis: axis + 1, length: *length, rank: rank + 1 }
            }
        })
    }

    /// Elements at positions, in the table of each index.
    fn taken(&self, table: &Array<'a>, positions: &Array<'a>) -> Result<Array<'a>> {
        let Some(tables) = self.of(table) else {
            return expr::gather(table, &self.whole(positions)?);
        };
        expr::gather(&tables, &self.positions(table, positions)?)
    }

    /// The tables of a region that are part of the batch, and the number of elements of each index's. `args` are the operands of the
    /// loop before.
    fn tables(&self, region: &Region, args: &[Array<'a>]) -> Result<Vec<(Array<'a>, usize)>> {
        let mut tables = Vec::new();
        for table in region.tables.iter().map(|&table| &args[table as usize]) {
            if let Some(batch) = self.of(table) {
                table.has_known_extents("vmap")?;
                tables.push((batch, table.len()));
            }
        }
        let is_nested = |node: &NodeKind<NodeId, u32>| matches!(node, NodeKind::Loop(inner) if !inner.region.tables.is_empty());
        if !tables.is_empty() && region.nodes.iter().any(is_nested) {
            let why = "an array of which a loop within a loop takes elements is part of the batch";
            return Err(refused("vmap", why).with_help("call the function for each index of the batch"));
        }
        Ok(tables)
    }

    /// Elements of a table in a step or an iteration, for an index of the batch that has `after` axes behind it.
    fn taken_of(
        &self,
        tables: &[(Array<'a>, usize)],
        table: &Array<'a>,
        positions: &Array<'a>,
        after: usize,
    ) -> Result<Array<'a>> {
        match tables.iter().find(|(batch, _)| batch.is_same(table)) {
            Some((_, len)) => {
                let outside = expr::constant(Scalar::of(-1_i64));
                expr::gather(table, &self.numbered(positions, *len, &outside, after)?)
            }
            None => expr::gather(table, positions),
        }
    }

    /// Positions in the tables of all indices, one after another, for positions in the table of each index.
    fn positions(&self, table: &Array<'a>, positions: &Array<'a>) -> Result<Array<'a>> {
        table.has_known_extents("vmap")?;
        let positions = self.whole(positions)?;
        let outside = expr::constant(Scalar::of(-1_i64));
        self.numbered(&positions, table.len(), &outside, positions.rank() - 1)
    }

    /// Positions below `len`, to which this number is added once for each index of the batch before. A position that is out of range
    /// must not reach the elements of another index; `outside` takes its place. The axis of the batch has `after` axes behind it.
    fn numbered(
        &self,
        positions: &Array<'a>,
        len: usize,
        outside: &Array<'a>,
        after: usize,
    ) -> Result<Array<'a>> {
        let len = expr::constant(Scalar::of(len as i64));
        let extents: SmallVec<[usize; 4]> =
            [self.extent].into_iter().chain(std::iter::repeat_n(1, after)).collect();
        let number = expr::view(&expr::numbers(self.extent)?, View::Reshape(Shape::new(&extents)?))?;
        let zero = expr::constant(Scalar::of(0_i64));
        let is_inside = apply(
            Op::LogicalAnd,
            &[&apply(Op::GreaterEqual, &[positions, &zero])?, &apply(Op::Less, &[positions, &len])?],
        )?;
        let moved = apply(Op::Add, &[positions, &apply(Op::Multiply, &[&number, &len])?])?;
        Ok(expr::cast(select(&is_inside, &moved, outside)?, DType::Int64))
    }
}

/// The operands of a node and, for an output of a function with a rule, all outputs and what the derivative depends on.
fn all_operands<'a>(node: &Array<'a>) -> Vec<Array<'a>> {
    let of_rule = node.custom_rule().map(|(rule, _)| {
        let [args, outputs, captured] = [&rule.args, &rule.outputs, &rule.captured];
        args.iter().chain(outputs).chain(captured).cloned()
    });
    node.0.kind.operands().cloned().chain(of_rule.into_iter().flatten()).collect()
}

/// A dtype with a shape and, if extents are open, dims.
type ArrayType = (DType, Shape, Option<Arc<Dims>>);

/// The rule of a function over a batch: the rule of the function, whose result is computed for each index. The arguments that are
/// the same for all indices have one tangent, and an adjoint that is the sum of those of all indices.
fn batched_rule(rule: &CustomRule<Array<'_>>, are_batched: Vec<bool>, extent: usize) -> CustomDerivative {
    let CustomDerivative { function, is_reverse, .. } = *rule.derivative;
    let derivative = rule.derivative.clone();
    // The functions of a rule have arrays without a lifetime, so that the closure keeps none of the call's.
    let type_of = |x: &Array<'_>| (x.dtype(), x.0.shape.clone(), x.0.dims.clone());
    let [of_args, of_outputs] =
        [&rule.args, &rule.outputs].map(|list| list.iter().map(type_of).collect::<Vec<_>>());
    let of_batch = move |primals: &[Array<'static>], vectors: &[Array<'static>]| {
        let mut replaced = Vec::new();
        let mut of_index =
            |given: &[Array<'static>], types: &[ArrayType], batched: &dyn Fn(usize) -> bool| {
                let one = |(i, (whole, (dtype, shape, dims))): (usize, (&Array<'static>, &ArrayType))| {
                    if !batched(i) {
                        return whole.clone();
                    }
                    let one = placeholder(*dtype, shape, dims.as_ref());
                    replaced.push((one.clone(), whole.clone()));
                    one
                };
                given.iter().zip(types).enumerate().map(one).collect::<Vec<_>>()
            };
        let is_batched = |i: usize| are_batched[i];
        let primals = of_index(primals, &of_args, &is_batched);
        let vectors = match is_reverse {
            true => of_index(vectors, &of_outputs, &|_| true),
            false => of_index(vectors, &of_args, &is_batched),
        };
        let wanted = if is_reverse { &of_args } else { &of_outputs };
        let wanted: Vec<Array<'static>> =
            wanted.iter().map(|(dtype, shape, dims)| placeholder(*dtype, shape, dims.as_ref())).collect();
        let made = whole_results(&derivative, &results(&derivative, &primals, &vectors, &wanted)?, &wanted)?;
        let made = batched(&made, &replaced, extent)?.into_iter().enumerate();
        let result = |(i, (v, has_batch)): (usize, (Array<'static>, bool))| {
            let v = if has_batch { v } else { stacked(&v, extent)? };
            match is_reverse && !are_batched[i] {
                true if v.dtype().is_float() => sum(&v, [0].into_iter().collect(), false),
                true => Ok(zero(v.dtype())),
                false => Ok(v),
            }
        };
        made.map(result).collect()
    };
    CustomDerivative { function, is_reverse, rule: AssertUnwindSafe(Box::new(of_batch)) }
}

/// An array for each index of a first axis of this extent.
pub(super) fn stacked<'a>(x: &Array<'a>, extent: usize) -> Result<Array<'a>> {
    let extents: SmallVec<[usize; 4]> = [extent].iter().chain(x.shape()).copied().collect();
    expr::view(x, View::BroadcastTo(Shape::new(&extents)?))
}

/// The array with an axis moved to another place.
pub(super) fn moved<'a>(x: &Array<'a>, from: isize, to: isize) -> Result<Array<'a>> {
    let rank = x.rank() as isize;
    let mut order: SmallVec<[isize; 6]> = (0..rank).collect();
    let axis = order.remove(from.rem_euclid(rank) as usize);
    order.insert(to.rem_euclid(rank) as usize, axis);
    x.permute_dims(&order)
}
