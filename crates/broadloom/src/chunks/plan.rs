//! Chooses the reductions, scans and routines that need separate passes before the results that use them.
//!
//! Results are computed directly in chunks if each chunk fits memory, no reduction's elements are computed for several chunks,
//! and inputs are read in long pieces. If one of these conditions is not met, some reduction or scan is an obstacle, and a pass
//! computes it. If the obstacle depends on another obstacle, a pass computes that one first. After its pass, a reduction is an
//! array in memory; a scan whose totals are computed, or a recurrence whose states are, needs only the elements of a chunk.

use broadloom_core::routine::RoutineNode;
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape, View};
use broadloom_mem::Buffer;

use super::Chunks;
use super::narrow::Nodes;
use super::pass::Pass;
use super::recurrence;
use super::window::Window;
use crate::array::{Array, Kind};
use crate::expr;
use crate::storage::Storage;

/// Results that are computed together.
pub(super) type PassGroup<'a> = Vec<Array<'a>>;

/// Plans, in order, the passes that groups of results need before they can be computed in chunks of at most `max_bytes`. In the
/// groups, stand-in arrays replace the reductions that the passes compute.
pub(super) fn passes<'a>(
    groups: &mut [PassGroup<'a>],
    inputs: &[&Array<'a>],
    max_bytes: usize,
) -> Result<Vec<Pass<'a>>> {
    let mut passes: Vec<Pass<'a>> = Vec::new();
    let mut held = 0usize;
    for group in 0..groups.len() {
        while let Some((nodes, pass)) = next(&groups[group], inputs, max_bytes.saturating_sub(held))? {
            let by: Vec<(Array<'a>, Array<'a>)> =
                { nodes.iter().cloned() }.zip(pass.replacements(&nodes)).collect();
            let mut replaced =
                Nodes::of(&groups.iter().flatten().collect::<Vec<_>>())?.replaced(&by)?.into_iter();
            for group in &mut *groups {
                *group = replaced.by_ref().take(group.len()).collect();
            }
            held = pass.held().fold(held, usize::saturating_add);
            passes.push(pass);
        }
    }
    Ok(passes)
}

/// The next pass that the results need, with the reductions or the scan that it computes; `None` if they need none.
fn next<'a>(
    results: &[Array<'a>],
    inputs: &[&Array<'a>],
    limit: usize,
) -> Result<Option<(Vec<Array<'a>>, Pass<'a>)>> {
    let mut chunks = Chunks::whole(&results.iter().collect::<Vec<_>>(), inputs)?;
    if !chunks.nodes.iter().any(|(node, _)| combines(&chunks.nodes, node)) {
        return Ok(None);
    }
    let fits = chunks.fit(limit)?;
    let count = chunks.cuts.count();
    if fits && count == 1 {
        return Ok(None);
    }
    let windows = chunks.nodes.windows(&chunks.wanted(&chunks.cuts.get(count / 2)))?;
    let obstacles = obstacles(&chunks.nodes, &windows, count, fits, limit);
    for &node in &obstacles {
        if let Some(found) = resolve(&chunks.nodes, node, inputs, limit)? {
            return Ok(Some(found));
        }
    }
    if !obstacles.is_empty() {
        return Ok(None);
    }
    // Reading parts of rows may cost much more than reading complete rows.
    let whole: Vec<Window> = results.iter().map(|result| Window::whole(result.shape())).collect();
    let at_once = chunks.nodes.reading(&chunks.nodes.windows(&whole)?);
    let reading = count as f64 * chunks.nodes.reading(&windows);
    if !fits || reading <= 2.0 * at_once {
        return Ok(None);
    }
    let last = chunks.nodes.iter().map(|(node, _)| node).rev().find(|&node| combines(&chunks.nodes, node));
    let pass = last.map_or(Ok(None), |node| resolve(&chunks.nodes, node, inputs, limit))?;
    Ok(pass.filter(|(_, pass)| pass.reading < reading / 2.0))
}

/// The reductions and scans that have to be computed before the results are divided into `count` chunks, one of which has these
/// windows. Their elements would be computed for several chunks, or they make the chunk too large. The best candidate comes
/// first.
fn obstacles(
    nodes: &Nodes<'_>,
    windows: &super::Windows,
    count: usize,
    fits: bool,
    limit: usize,
) -> Vec<usize> {
    let combined = || nodes.iter().map(|(node, _)| node).filter(|&node| combines(nodes, node)).rev();
    let elements = |node: usize| nodes.combined(node);
    let is_repeated = |&node: &usize| {
        let needed = nodes.reduced(windows, node) as f64 * count as f64;
        count > 1 && needed > 2.0 * elements(node) as f64
    };
    let mut found: Vec<usize> = combined().filter(is_repeated).collect();
    if !fits {
        let bytes =
            |&node: &usize| nodes.reduced(windows, node).saturating_mul(nodes.get(node).dtype().size());
        found.extend(combined().filter(|node| bytes(node) > limit / 16));
        found.extend(combined().filter(|node| elements(*node) > 0).max_by_key(bytes));
    }
    found
}

/// Finds the pass that computes a scan, or a reduction together with similar reductions. If the node depends on another one that
/// must be computed first, finds the pass for that node.
fn resolve<'a>(
    nodes: &Nodes<'a>,
    mut node: usize,
    inputs: &[&Array<'a>],
    limit: usize,
) -> Result<Option<(Vec<Array<'a>>, Pass<'a>)>> {
    // The first pass found that is possible, but reads inputs in short pieces or computes the elements of a scan repeatedly.
    let mut slow = None;
    loop {
        let mut inner = None;
        let others = alike(nodes, node);
        let single = (others.len() > 1 && !is_scan(nodes.get(node))).then(|| vec![node]);
        for together in std::iter::once(others).chain(single) {
            let arrays: Vec<&Array<'a>> = together.iter().map(|&node| nodes.get(node)).collect();
            let found = match &arrays[0].0.kind {
                Kind::Scan { .. } => Pass::of_scan(arrays[0], inputs, limit, &stand_in)?,
                Kind::Recurrence(_) => Pass::of_recurrence(&arrays, inputs, limit, &stand_in)?,
                Kind::Routine(_) => Pass::of_routine(&arrays, inputs, limit, &stand_in)?,
                _ => Pass::new(&arrays, inputs, limit, &stand_in)?,
            };
            let Some((pass, fits)) = found else { return Ok(slow) };
            let of = &pass.operands.nodes;
            let (i, j) = (pass.kept.count() / 2, pass.reduced.count() / 2);
            let windows = of.windows(&pass.wanted(i, j))?;
            let obstacle = obstacles(of, &windows, pass.chunks(), fits, limit).first().copied();
            let is_computable = fits && obstacle.is_none();
            // Once a pass has computed the reductions on which this pass depends, this pass may have a better division.
            let first = || of.iter().map(|(node, _)| node).find(|&node| combines(of, node));
            let below = if is_computable { first() } else { obstacle };
            inner = below.map(|node| of.get(node).clone());
            let is_repeated = fits && obstacle.is_some_and(|below| is_scan(of.get(below)));
            if is_computable || is_repeated {
                let is_quick = is_computable && pass.reads_in_order()?;
                let found = (arrays.into_iter().cloned().collect(), pass);
                if is_quick {
                    return Ok(Some(found));
                }
                slow.get_or_insert(found);
                break;
            }
        }
        let Some(below) = inner else { return Ok(slow) };
        let found = nodes.iter().find(|(_, array)| std::sync::Arc::ptr_eq(&array.0, &below.0));
        match found {
            Some((below, _)) => node = below,
            None => return Ok(slow),
        }
    }
}

/// The node, and if it is a reduction, also the others that the same pass can compute: reductions with the same shape and axes
/// that are not operands of the node, directly or indirectly, and have no reduction or scan below them. For a value of a
/// recurrence, all values of the recurrence, and for a result of a routine all of its results.
fn alike(nodes: &Nodes<'_>, node: usize) -> Vec<usize> {
    if let Kind::Recurrence(of) = &nodes.get(node).0.kind {
        let is_alike = |array: &Array<'_>| match &array.0.kind {
            Kind::Recurrence(other) => recurrence::is_same(of, other),
            _ => false,
        };
        return nodes.iter().filter(|(_, array)| is_alike(array)).map(|(other, _)| other).collect();
    }
    if let Kind::Routine(of) = &nodes.get(node).0.kind {
        let is_alike = |array: &Array<'_>| match &array.0.kind {
            Kind::Routine(other) => is_same_call(of, other),
            _ => false,
        };
        return nodes.iter().filter(|(_, array)| is_alike(array)).map(|(other, _)| other).collect();
    }
    let of = |node: usize| match &nodes.get(node).0.kind {
        Kind::Reduce { arg, axes, .. } => Some((&arg.0.shape, *axes)),
        _ => None,
    };
    let below = nodes.below(&[node]);
    let is_alike = |&other: &usize| {
        let inner = || nodes.below(&[other]).into_iter().enumerate().filter(|(_, is_below)| *is_below);
        let is_simple = || inner().all(|(below, _)| below == other || !combines(nodes, below));
        other == node || of(node).is_some() && of(other) == of(node) && !below[other] && is_simple()
    };
    nodes.iter().map(|(other, _)| other).filter(|&other| combines(nodes, other)).filter(is_alike).collect()
}

/// Whether two results are those of one call of a routine.
fn is_same_call(of: &RoutineNode<Array<'_>>, other: &RoutineNode<Array<'_>>) -> bool {
    let are_same = |(x, y): (&Array<'_>, &Array<'_>)| x.is_same(y);
    of.routine == other.routine
        && of.args.len() == other.args.len()
        && of.args.iter().zip(&other.args).all(are_same)
}

/// Whether the node is a reduction of several elements, a result of a routine, a scan whose totals are not known, or a recurrence
/// whose states are not known. A reduction along no axes is an element-wise operation, and needs no pass.
fn combines(nodes: &Nodes<'_>, node: usize) -> bool {
    let array = nodes.get(node);
    match &array.0.kind {
        Kind::Reduce { arg, axes, .. } => !arg.is_empty() && !axes.is_empty(),
        Kind::Scan { arg, .. } => !arg.is_empty() && is_scan(array),
        Kind::Recurrence(_) => nodes.combined(node) > 0 && is_scan(array),
        Kind::Routine(_) => nodes.combined(node) > 0,
        _ => false,
    }
}

/// Whether the node is a scan whose totals are not known, or a recurrence whose states are not known.
fn is_scan(array: &Array<'_>) -> bool {
    match &array.0.kind {
        Kind::Scan { before, .. } => before.is_none(),
        Kind::Recurrence(_) => recurrence::blocks(array).is_none(),
        _ => false,
    }
}

/// An array of this shape that broadcasts a single element, and so takes the memory of one element.
fn stand_in<'a>(dtype: DType, shape: Shape) -> Result<Array<'a>> {
    let element = Buffer::zeroed(dtype.size()).map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))?;
    let array = Array::data(Storage::from_buffer(dtype, element), Layout::contiguous(Shape::scalar()));
    expr::view(&array, View::BroadcastTo(shape))
}
