//! Expressions narrowed to windows of their results.
//!
//! [`Nodes`] lists the nodes of expressions, each once. [`Nodes::windows`] goes from the results to the leaves and determines
//! which elements of each node are needed; [`Nodes::build`] goes from the leaves to the results and builds expressions that have
//! only these elements. Slices disappear, because a leaf is already narrowed to the elements that are read. A window without
//! elements needs no operands, so a reduction whose result is sliced to nothing is not computed.

use broadloom_core::graph::IntDivision;
use broadloom_core::layout::Slice;
use broadloom_core::{Error, ErrorKind, Layout, Result, View};
use broadloom_ir::Axes;
use broadloom_mem::Buffer;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::recurrence;
use super::reshape::{Reshaped, reshaped};
use super::scan;
use super::window::{Window, WindowList, indices, merged, span};
use crate::array::{Array, Data, Kind, Leaf};
use crate::expr;
use crate::generated;
use crate::storage::Storage;

/// The nodes of expressions, operands first, each once.
pub(super) struct Nodes<'a> {
    list: Vec<Array<'a>>,
    operands: Vec<SmallVec<[u32; 3]>>,
    /// For each node, how many times an evaluation may store it in a temporary.
    stored: Vec<u8>,
    roots: Vec<u32>,
}

/// For each node, the windows of it that are needed to compute windows of the results.
pub(super) struct Windows {
    of: Vec<WindowList>,
    /// The number of elements that are not needed, and are in a window only because the window of a reshape begins or ends inside
    /// a row of its operand.
    pub excess: usize,
}

impl Windows {
    /// The nonempty windows of a node.
    pub(crate) fn filled(&self, node: usize) -> impl Iterator<Item = &Window> {
        self.of[node].iter().filter(|window| !window.is_empty())
    }
}

impl<'a> Nodes<'a> {
    /// Lists the nodes of the expressions with these roots, whose extents are known.
    pub(crate) fn of(roots: &[&Array<'a>]) -> Result<Nodes<'a>> {
        let mut nodes =
            Nodes { list: Vec::new(), operands: Vec::new(), stored: Vec::new(), roots: Vec::new() };
        let mut known: FxHashMap<*const (), u32> = FxHashMap::default();
        let address = |array: &Array<'a>| std::sync::Arc::as_ptr(&array.0).cast::<()>();
        for root in roots {
            root.has_known_extents("chunks")?;
            let mut pending = vec![(*root, false)];
            while let Some((array, operands_done)) = pending.pop() {
                if known.contains_key(&address(array)) {
                    continue;
                }
                let operands = array.0.kind.operands();
                if !operands_done && array.0.kind.arity() > 0 {
                    pending.push((array, true));
                    pending.extend(operands.rev().map(|operand| (operand, false)));
                    continue;
                }
                let operands: SmallVec<[u32; 3]> =
                    operands.filter_map(|x| known.get(&address(x)).copied()).collect();
                known.insert(address(array), nodes.list.len() as u32);
                nodes.push(array, operands);
            }
            nodes.roots.extend(known.get(&address(root)));
        }
        Ok(nodes)
    }

    fn push(&mut self, array: &Array<'a>, operands: SmallVec<[u32; 3]>) {
        for (i, &operand) in operands.iter().enumerate() {
            let below = &self.list[operand as usize];
            let is_table = array.0.kind.is_table(i);
            let (is_computed, is_view) = (is_stored(below), matches!(array.0.kind, Kind::View { .. }));
            // An operand of a view or a broadcast may be computed into a temporary, and a reshape may copy it to another one.
            let is_joined = matches!(below.0.kind, Kind::Concat { .. });
            let is_read_whole = is_view || is_table || is_joined || combines(below);
            let before = is_computed && (is_read_whole || below.0.shape != array.0.shape);
            let copied = matches!(&array.0.kind, Kind::View { view, .. } if view.merges_axes(&below.0.shape));
            if below.rank() > 0 {
                let stored = &mut self.stored[operand as usize];
                *stored = (*stored).max(u8::from(before) + u8::from(copied));
            }
        }
        self.list.push(array.clone());
        self.operands.push(operands);
        self.stored.push(0);
    }

    /// The roots, in the caller's order.
    pub(crate) fn results(&self) -> impl Iterator<Item = &Array<'a>> {
        self.roots.iter().map(|&root| &self.list[root as usize])
    }

    /// The nodes with their indices, operands first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &Array<'a>)> {
        self.list.iter().enumerate()
    }

    /// The operands of a node, with their indices in the list of nodes.
    pub(crate) fn operands(&self, node: usize) -> impl Iterator<Item = (usize, &Array<'a>)> {
        self.operands[node].iter().map(|&operand| (operand as usize, &self.list[operand as usize]))
    }

    /// Determines the windows of all nodes that are needed for these windows of the roots, one for each root. Windows of inputs
    /// have step 1 along every axis, so that an application reads ranges.
    pub(crate) fn windows(&self, wanted: &[Window]) -> Result<Windows> {
        let mut of: Vec<WindowList> = vec![WindowList::new(); self.list.len()];
        let mut excess = 0usize;
        for (&root, window) in self.roots.iter().zip(wanted) {
            of[root as usize].push(window.clone());
        }
        for node in (0..self.list.len()).rev() {
            let array = &self.list[node];
            let mut windows = std::mem::take(&mut of[node]);
            if let Kind::Leaf(Leaf::Input(_)) = &array.0.kind {
                windows.iter_mut().for_each(|window| *window = window.without_steps());
            }
            let filled = windows.iter_mut().filter(|window| !window.is_empty());
            match &array.0.kind {
                // Each element of a scan needs all previous ones.
                Kind::Scan { axis, before: None, .. } => {
                    let axis = usize::from(*axis);
                    filled.for_each(|window| window.take_whole(axis, array.shape()[axis]));
                }
                Kind::Scan { axis, initial, before: Some(before), .. } => {
                    filled.for_each(|window| scan::widen(window, (*axis).into(), *initial, before.level));
                }
                Kind::Recurrence(of) if !of.is_state() => {
                    let axis = usize::from(of.axis);
                    let extent = array.shape()[axis];
                    match recurrence::blocks(array) {
                        Some(blocks) => {
                            filled.for_each(|window| recurrence::widen(window, of, extent, blocks));
                        }
                        None => filled.for_each(|window| window.take_whole(axis, extent)),
                    }
                }
                // A routine computes all of its elements.
                Kind::Routine(_) => filled.for_each(|window| *window = Window::whole(array.shape())),
                _ => {}
            }
            let windows = merged(windows);
            for window in windows.iter().filter(|window| !window.is_empty()) {
                for (i, (operand, below)) in self.operands(node).enumerate() {
                    let needed = operand_window(array, (i, below), window)?;
                    if let Kind::View { view, .. } = &array.0.kind
                        && matches!(**view, View::Reshape(_))
                    {
                        excess += needed.elements().saturating_sub(window.elements());
                    }
                    if !of[operand].contains(&needed) {
                        of[operand].push(needed);
                    }
                }
            }
            of[node] = windows;
        }
        Ok(Windows { of, excess })
    }

    /// The approximate number of bytes of the parts of inputs and the temporaries when these windows are evaluated.
    pub(crate) fn bytes(&self, windows: &Windows) -> usize {
        let mut bytes = 0usize;
        let mut computed = 0;
        for (node, array) in self.iter() {
            let is_input = matches!(&array.0.kind, Kind::Leaf(Leaf::Input(_)));
            computed += usize::from(array.0.kind.is_computed());
            let times = usize::from(is_input) + usize::from(self.stored[node]);
            if times > 0 {
                bytes = bytes.saturating_add(times.saturating_mul(size_of_windows(array, &windows.of[node])));
            }
        }
        // A loop of too many instructions is split, and values that are used in both parts are stored in temporaries.
        bytes.saturating_add(
            (computed / NODES_PER_LOOP).saturating_mul(self.sizes(windows).max().unwrap_or(0)),
        )
    }

    /// The number of bytes of these windows of the results.
    pub(crate) fn result_bytes(&self, windows: &Windows) -> usize {
        // Outputs of a recurrence from the beginning of a block on are stored, and those that are wanted are copied.
        let is_copied = |result: &Array<'a>| recurrence::blocks(result).is_some();
        let times = self.results().map(|result| 1 + usize::from(is_copied(result)));
        let sizes = self.sizes(windows).zip(times).map(|(size, times)| size.saturating_mul(times));
        sizes.fold(0, usize::saturating_add)
    }

    /// For each root, the bytes of its windows.
    fn sizes(&self, windows: &Windows) -> impl Iterator<Item = usize> {
        let size = |&root: &u32| size_of_windows(&self.list[root as usize], &windows.of[root as usize]);
        self.roots.iter().map(size)
    }

    /// The view, reduction, scan or routine that needs the most bytes of its operand, with this operand and the number of bytes.
    pub(crate) fn largest_need(&self, windows: &Windows) -> Option<(String, &Array<'a>, usize)> {
        let needs = self.iter().filter_map(|(node, array)| {
            let named = match &array.0.kind {
                Kind::View { view, .. } => view.to_string(),
                Kind::Reduce { reduction, axes, .. } => format!("{reduction} along {axes}"),
                Kind::Scan { scan, axis, .. } => format!("{scan} along axis {axis}"),
                Kind::Recurrence(of) => format!("{} along axis {}", of.function(), of.axis),
                Kind::Routine(of) => of.routine.name().to_owned(),
                _ => return None,
            };
            // Of a recurrence, the first input that is no state.
            let first = if let Kind::Recurrence(of) = &array.0.kind { of.states() } else { 0 };
            let (_, below) = self.operands(node).nth(first)?;
            let needed = windows.filled(node).map(|window| operand_window(array, (first, below), window));
            let needed: WindowList = needed.collect::<Result<_>>().ok()?;
            Some((node, named, below, size_of_windows(below, &needed)))
        });
        // If a reduction and a scan below it need equally many bytes, the scan is reported, since the reduction could be divided.
        let is_scan = |array: &Array<'_>| matches!(array.0.kind, Kind::Scan { .. } | Kind::Recurrence(_));
        needs
            .max_by_key(|(node, _, _, bytes)| (*bytes, is_scan(self.get(*node))))
            .map(|(_, named, of, bytes)| (named, of, bytes))
    }

    /// Whether any node is a reduction, a scan or a result of a routine.
    pub(crate) fn combine(&self) -> bool {
        self.list.iter().any(combines)
    }

    /// The number of elements that a reduction, a scan or a recurrence combines.
    pub(crate) fn combined(&self, node: usize) -> usize {
        let array = self.get(node);
        match &array.0.kind {
            Kind::Recurrence(of) => recurrence::elements(of, array.len()),
            _ => self.operands(node).map(|(_, operand)| operand.len()).sum(),
        }
    }

    /// The number of these elements that these windows of the node need. An element that several windows need is counted once for
    /// each of them.
    pub(crate) fn reduced(&self, windows: &Windows, node: usize) -> usize {
        if let Kind::Recurrence(of) = &self.get(node).0.kind {
            let needed = windows.filled(node).map(|window| recurrence::elements(of, window.elements()));
            return needed.fold(0, usize::saturating_add);
        }
        if let Kind::Routine(_) = &self.get(node).0.kind {
            // Each window needs all operands.
            return windows.filled(node).count().saturating_mul(self.combined(node));
        }
        let needed = self.operands(node).take(1).flat_map(|(_, below)| {
            let needed = |window: &Window| operand_window(&self.list[node], (0, below), window);
            windows.filled(node).filter_map(move |window| needed(window).ok())
        });
        needed.fold(0, |sum, window| sum.saturating_add(window.elements()))
    }

    /// The approximate cost to read parts of inputs, in bytes. Each contiguous piece costs a page (4096 bytes) in addition to its
    /// size.
    pub(crate) fn reading(&self, windows: &Windows) -> f64 {
        const PIECE: f64 = 4096.0;
        let inputs = self.iter().filter(|(_, array)| matches!(array.leaf(), Some(Leaf::Input(_))));
        let parts =
            inputs.flat_map(|(node, array)| windows.of[node].iter().map(move |window| (array, window)));
        parts
            .map(|(array, window)| {
                let bytes = window.elements() as f64 * array.dtype().size() as f64;
                bytes + PIECE * window.pieces(array.shape()) as f64
            })
            .sum()
    }

    /// The nodes that these nodes depend on, including themselves.
    pub(crate) fn below(&self, nodes: &[usize]) -> Vec<bool> {
        let mut found = vec![false; self.list.len()];
        nodes.iter().for_each(|&node| found[node] = true);
        for node in (0..self.list.len()).rev() {
            if found[node] {
                self.operands(node).for_each(|(operand, _)| found[operand] = true);
            }
        }
        found
    }

    /// The node with this index.
    pub(crate) fn get(&self, node: usize) -> &Array<'a> {
        &self.list[node]
    }

    /// Replaces the leaf `stand_in` by an array in memory wherever it occurs.
    pub(crate) fn put(&mut self, stand_in: &Array<'a>, array: &Array<'a>) {
        let is_it = |node: &&mut Array<'a>| std::sync::Arc::ptr_eq(&node.0, &stand_in.0);
        self.list.iter_mut().filter(is_it).for_each(|node| *node = array.clone());
    }

    /// The roots, with some nodes replaced by other arrays.
    pub(crate) fn replaced(&self, by: &[(Array<'a>, Array<'a>)]) -> Result<Vec<Array<'a>>> {
        let mut made: Vec<Array<'a>> = Vec::with_capacity(self.list.len());
        for (node, array) in self.iter() {
            if let Some((_, other)) = by.iter().find(|(of, _)| std::sync::Arc::ptr_eq(&of.0, &array.0)) {
                made.push(other.clone());
                continue;
            }
            let mut operands = self.operands(node);
            let is_same = self
                .operands(node)
                .all(|(operand, below)| std::sync::Arc::ptr_eq(&made[operand].0, &below.0));
            if is_same {
                made.push(array.clone());
                continue;
            }
            let kind: Kind<'a> = array.0.kind.try_map(
                |_| operands.next().map(|(operand, _)| made[operand].clone()).ok_or_else(missing),
                |_| Err(missing()),
                Clone::clone,
            )?;
            made.push(Array::of(kind, array.dtype(), array.0.shape.clone()));
        }
        Ok(self.roots.iter().map(|&root| made[root as usize].clone()).collect())
    }

    /// The nodes that may fail, and are read only in part: by a slice, or by a node without elements. Divisions by zero fail as the
    /// option says; a label, a position or a number of iterations always may.
    pub(crate) fn partly_read(&self, int_division: IntDivision) -> Vec<&Array<'a>> {
        let checks_divisors = int_division == IntDivision::Error;
        let mut faults = vec![false; self.list.len()];
        let mut found = vec![false; self.list.len()];
        for (node, array) in self.iter() {
            faults[node] = match &array.0.kind {
                Kind::Apply { op, args, .. } => {
                    checks_divisors && args.last().is_some_and(|divisor| op.faults(divisor.dtype()))
                }
                Kind::Loop(of) => {
                    let region = &of.region;
                    region.is_numbered || !region.tables.is_empty() || checks_divisors && region.divides()
                }
                Kind::Recurrence(of) => {
                    let step = &of.step;
                    step.is_numbered || !step.tables.is_empty() || checks_divisors && step.divides()
                }
                Kind::Gather { .. } => true,
                Kind::Routine(of) => of.routine.faults(),
                _ => false,
            };
            let is_slice =
                matches!(&array.0.kind, Kind::View { view, .. } if matches!(**view, View::Slice(_)));
            for (operand, below) in self.operands(node) {
                faults[node] |= faults[operand];
                let loses_elements = is_slice || array.is_empty() && !below.is_empty();
                found[operand] |= faults[operand] && loses_elements;
            }
        }
        self.iter().filter(|(node, _)| found[*node]).map(|(_, array)| array).collect()
    }

    /// Builds the expressions of the requested windows, one for each root. `leaf` returns the array for a window of a leaf.
    pub(crate) fn build<'p>(
        &self,
        windows: &Windows,
        wanted: &[Window],
        mut leaf: impl FnMut(usize, &Window) -> Result<Array<'p>>,
    ) -> Result<Vec<Array<'p>>>
    where
        'a: 'p,
    {
        let mut built: Vec<SmallVec<[Array<'p>; 1]>> = Vec::with_capacity(self.list.len());
        for (node, array) in self.iter() {
            let mut made = SmallVec::new();
            for window in &windows.of[node] {
                made.push(match &array.0.kind {
                    _ if window.is_empty() => without_elements(array, window)?,
                    Kind::Leaf(_) => leaf(node, window)?,
                    Kind::View { view, .. } => {
                        let (operand, below) = self.operands(node).next().ok_or_else(missing)?;
                        let needed = operand_window(array, (0, below), window)?;
                        narrowed_view(view, below, window, &pick(windows, &built, operand, &needed)?)?
                    }
                    kind => {
                        let mut operands = self.operands(node).enumerate();
                        let mut kind: Kind<'p> = kind.try_map(
                            |_| {
                                let (i, (operand, below)) = operands.next().ok_or_else(missing)?;
                                let needed = operand_window(array, (i, below), window)?;
                                match states_before(array, (i, below), window) {
                                    Some(states) => part_of(&states, &needed),
                                    None => pick(windows, &built, operand, &needed),
                                }
                            },
                            |_| Err(missing()),
                            Clone::clone,
                        )?;
                        if let Kind::Scan { axis, initial, before, .. } = &mut kind {
                            scan::begin(window, usize::from(*axis), initial, before);
                        }
                        match kind {
                            // The words take no memory, so those of a window are a view of all.
                            Kind::Words { .. } => {
                                let all = Array::of(kind, array.dtype(), array.0.shape.clone());
                                expr::view(&all, View::Slice(window.0.clone()))?
                            }
                            kind => Array::of(kind, array.dtype(), window.shape()?),
                        }
                    }
                });
            }
            built.push(made);
        }
        let roots = self.roots.iter().zip(wanted);
        roots.map(|(&root, window)| pick(windows, &built, root as usize, window)).collect()
    }

    /// The array for a window of a leaf that is an array in memory, generated numbers, or a scalar.
    pub(crate) fn leaf<'p>(&self, node: usize, window: &Window) -> Result<Array<'p>>
    where
        'a: 'p,
    {
        let array = &self.list[node];
        match array.leaf() {
            Some(Leaf::Data(_)) if *window == Window::whole(array.shape()) => Ok(array.clone()),
            Some(Leaf::Data(data)) => part_of(data, window),
            Some(Leaf::Index(_)) => {
                window.0.first().map_or_else(|| Err(missing()), |slice| generated::of_slice(*slice))
            }
            Some(
                Leaf::Number(_)
                | Leaf::Const(_)
                | Leaf::Rounded(..)
                | Leaf::Rule(..)
                | Leaf::RecordedRule(..),
            ) => Ok(array.clone()),
            Some(Leaf::Input(_) | Leaf::Carried) | None => Err(missing()),
        }
    }
}

/// An empty array of a node's dtype, for a window without elements.
fn without_elements<'p>(array: &Array<'_>, window: &Window) -> Result<Array<'p>> {
    let dtype = array.dtype();
    let memory = Buffer::zeroed(0).map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))?;
    Ok(Array::data(Storage::from_buffer(dtype, memory), Layout::contiguous(window.shape()?)))
}

/// Whether the node is a reduction, a scan or a result of a routine, which are always stored in memory of their own.
fn combines(array: &Array<'_>) -> bool {
    matches!(array.0.kind, Kind::Reduce { .. } | Kind::Scan { .. } | Kind::Recurrence(_) | Kind::Routine(_))
}

/// Whether a node's elements may be stored: they are computed, and not generated where they are read.
fn is_stored(array: &Array<'_>) -> bool {
    array.0.kind.is_computed() && !matches!(array.0.kind, Kind::Words { .. })
}

/// A loop of fewer instructions than this is not split.
const NODES_PER_LOOP: usize = 1024;

fn missing() -> Error {
    Error::new(ErrorKind::Internal, "a node of a chunk has no operand")
}

fn size_of_windows(array: &Array<'_>, windows: &[Window]) -> usize {
    let elements = windows.iter().fold(0usize, |sum, window| sum.saturating_add(window.elements()));
    elements.saturating_mul(array.dtype().size())
}

/// The window of operand `i` that a nonempty window of a node needs.
fn operand_window(array: &Array<'_>, (i, operand): (usize, &Array<'_>), window: &Window) -> Result<Window> {
    let view = match &array.0.kind {
        Kind::View { view, .. } => view,
        Kind::Reduce { axes, keep_dims, .. } => {
            return Ok(unreduced(operand.shape(), window, *axes, *keep_dims));
        }
        Kind::Scan { axis, initial, before: Some(before), .. } => {
            return Ok(scan::operand(window, (*axis).into(), *initial, before.level, i));
        }
        Kind::Scan { axis, .. } => {
            let axis = usize::from(*axis);
            let mut needed = window.clone();
            needed.take_whole(axis, operand.shape()[axis]);
            return Ok(needed);
        }
        // Any element of a table may be read, and routines read all of their operands so.
        kind if kind.is_table(i) => return Ok(Window::whole(operand.shape())),
        Kind::Recurrence(of) => return Ok(stepped(of, array.shape(), (i, operand), window)),
        Kind::Concat { args, axis } => {
            return Ok(joined(args, i, usize::from(*axis), window));
        }
        // Any word depends on the whole key.
        Kind::Words { .. } => return Ok(Window::whole(operand.shape())),
        _ => return Ok(unbroadcast(operand.shape(), array.shape(), window)),
    };
    Ok(match &**view {
        View::BroadcastTo(_) => unbroadcast(operand.shape(), array.shape(), window),
        View::Permute(axes) => {
            let mut needed = window.clone();
            for (&axis, &slice) in axes.iter().zip(&window.0) {
                needed.0[axis as usize] = slice;
            }
            needed
        }
        View::Slice(slices) => {
            Window(slices.iter().zip(&window.0).map(|(&taken, &wanted)| of_slice(taken, wanted).0).collect())
        }
        View::Windows { axis, .. } => {
            let mut needed = window.clone();
            let within = needed.0.pop().ok_or_else(missing)?;
            let of_axis = &mut needed.0[usize::from(*axis)];
            *of_axis = indices(of_axis.start + within.start, 1, span(*of_axis) + span(within) - 1);
            needed
        }
        View::Reshape(shape) => reshaped(operand.shape(), shape, window)?.operand,
    })
}

/// The states before a window of a recurrence's output, if operand `i` is a state and those before each block are known.
fn states_before<'a>(
    array: &Array<'a>,
    (i, operand): (usize, &Array<'a>),
    window: &Window,
) -> Option<Data<'a>> {
    let (Kind::Recurrence(of), Some(blocks)) = (&array.0.kind, recurrence::blocks(array)) else {
        return None;
    };
    let first = operand.in_memory().filter(|_| i < of.states())?;
    // Once the states are computed, they take the place of what the node was planned with.
    let blocks = first.blocks.unwrap_or(blocks);
    let block = recurrence::first_block(window, of, array.shape()[usize::from(of.axis)], blocks);
    Some(recurrence::states_before(block, first, blocks))
}

/// The window of operand `i` that a window of a recurrence's value needs. Of an operand that has the axis, an output needs the
/// elements at the indices of its window, and a state all elements.
fn stepped(
    of: &recurrence::RecurrenceValue<'_>,
    value: &[usize],
    (i, operand): (usize, &Array<'_>),
    window: &Window,
) -> Window {
    let axis = usize::from(of.axis);
    let (mut shape, mut needed) = (value.to_vec(), window.clone());
    if !of.has_axis(i) {
        if !of.is_state() {
            shape.remove(axis);
            needed.0.remove(axis);
        }
        return unbroadcast(operand.shape(), &shape, &needed);
    }
    if of.is_state() {
        let steps = recurrence::steps(of);
        shape.insert(axis, steps);
        needed.0.insert(axis, indices(0, 1, steps));
    }
    unbroadcast(operand.shape(), &shape, &needed)
}

/// The window of operand `i` of joined ones that a window of the whole needs: its part of the indices along the axis.
fn joined(args: &[Array<'_>], i: usize, axis: usize, window: &Window) -> Window {
    let before: usize = args[..i].iter().map(|arg| arg.shape()[axis]).sum();
    let end = before + args[i].shape()[axis];
    let slice = window.0[axis];
    // The indices increase, since windows have positive steps.
    let step = slice.step.unsigned_abs().max(1);
    let count = |until: usize| until.saturating_sub(slice.start).div_ceil(step).min(slice.len);
    let (first, last) = (count(before), count(end));
    let mut needed = window.clone();
    let start = (slice.start + first * step).saturating_sub(before);
    needed.0[axis] = indices(if first < last { start } else { 0 }, step, last - first);
    needed
}

/// The window of a reduction's operand that a window of the reduction needs: all indices of the reduced axes.
fn unreduced(operand: &[usize], window: &Window, axes: Axes, keep_dims: bool) -> Window {
    let mut left = window.0.iter().copied();
    let of_axis = |(axis, &extent): (usize, &usize)| {
        let reduced = axes.contains(axis);
        let kept = if reduced && !keep_dims { None } else { left.next() };
        kept.filter(|_| !reduced).unwrap_or(indices(0, 1, extent))
    };
    Window(operand.iter().enumerate().map(of_axis).collect())
}

/// The window of an operand that a window of its broadcast to `shape` needs: the last axes of the window, with only index 0 along
/// each repeated axis.
fn unbroadcast(operand: &[usize], shape: &[usize], window: &Window) -> Window {
    let new = window.0.len() - operand.len();
    let axes = operand.iter().zip(&shape[new..]).zip(&window.0[new..]);
    let is_repeated = |from: usize, to: usize| from == 1 && to != 1;
    Window(
        axes.map(|((&from, &to), &slice)| if is_repeated(from, to) { indices(0, 1, 1) } else { slice })
            .collect(),
    )
}

/// Returns, for one axis, the indices of an operand that a window of its slice needs, and the slice that selects the window from
/// these indices.
fn of_slice(taken: Slice, wanted: Slice) -> (Slice, Slice) {
    let first = taken.start as isize + wanted.start as isize * taken.step;
    let step = taken.step * wanted.step;
    let last = first + (wanted.len as isize - 1) * step;
    let has = indices(first.min(last) as usize, step.unsigned_abs(), wanted.len);
    let is_reversed = step < 0 && wanted.len > 1;
    let kept = if is_reversed {
        Slice { start: wanted.len - 1, step: -1, len: wanted.len }
    } else {
        indices(0, 1, wanted.len)
    };
    (has, kept)
}

/// Builds a nonempty window of a view by applying views to the part of the operand that the window needs.
fn narrowed_view<'p>(
    view: &View,
    operand: &Array<'_>,
    window: &Window,
    needed: &Array<'p>,
) -> Result<Array<'p>> {
    match view {
        View::BroadcastTo(_) => expr::view(needed, View::BroadcastTo(window.shape()?)),
        View::Permute(axes) => expr::view(needed, View::Permute(axes.clone())),
        View::Slice(slices) => {
            let kept = slices.iter().zip(&window.0).map(|(&taken, &wanted)| of_slice(taken, wanted).1);
            expr::view(needed, View::Slice(kept.collect()))
        }
        View::Windows { axis, rank, .. } => {
            let within = window.0.last().copied().ok_or_else(missing)?;
            let of_runs = View::Windows { axis: *axis, length: span(within), rank: *rank };
            let windows = expr::view(needed, of_runs)?;
            let kept = |(i, slice): (usize, &Slice)| match i == usize::from(*axis) || i + 1 == window.0.len()
            {
                true => indices(0, slice.step.unsigned_abs(), slice.len),
                false => indices(0, 1, slice.len),
            };
            expr::view(&windows, View::Slice(window.0.iter().enumerate().map(kept).collect()))
        }
        View::Reshape(shape) => {
            let Reshaped { views, .. } = reshaped(operand.shape(), shape, window)?;
            views.into_iter().try_fold(needed.clone(), |array, view| expr::view(&array, view))
        }
    }
}

/// Selects a window of a node from the windows that were built for it.
fn pick<'p>(
    windows: &Windows,
    built: &[SmallVec<[Array<'p>; 1]>],
    node: usize,
    wanted: &Window,
) -> Result<Array<'p>> {
    for (window, array) in windows.of[node].iter().zip(&built[node]) {
        if window == wanted {
            return Ok(array.clone());
        }
        if let Some(slices) = wanted.within(window) {
            return expr::view(array, View::Slice(slices));
        }
    }
    Err(missing())
}

/// A window of an array in memory. If the memory is borrowed, the window's storage begins at its first element and ends at its
/// last, so that windows of equal shape at different positions have equal layouts and share a plan.
fn part_of<'a>(data: &Data<'a>, window: &Window) -> Result<Array<'a>> {
    let mut layout = data.layout.view(&View::Slice(window.0.clone())).ok_or_else(missing)?;
    if let Some((low, high)) = layout.reach()
        && let Some(storage) = data.storage.part(low as usize, (high - low) as usize + 1)
    {
        layout.offset -= low;
        return Ok(Array::data(storage, layout));
    }
    Ok(Array::data(data.storage.clone(), layout))
}
