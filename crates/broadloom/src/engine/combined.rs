//! Runs a stage that reduces along an axis by a function of the user, in the [canonical order](broadloom_ir::canonical).
//!
//! The kernel combines two elements to one. A row has 16 consecutive elements along the axis, for each column of a unit. The rows of a
//! tile are copied so that each level of the tree is one call over contiguous elements: row i of 2^k comes to the
//! bit reversal of i, so that the left operands of a level are the first half of the rows and the right ones the second half, and
//! the results have this order again. The results of tiles, called nodes, are combined as carries propagate in a binary counter,
//! by whichever thread computes them; a unit may be divided along the axis where its nodes are whole subtrees.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::canonical::LANES;
use broadloom_ir::loop_plan::AccessClass;
use broadloom_mem::{
    Access, AllocError, Block, Buffer, Operands, Region, RegionMut, RowOperand, Scratch, Slab, WorkingMemory,
};
use smallvec::SmallVec;

use crate::engine::execute::{StageRun, Tiles, Workspace, make_tiles, memory, with_workspace};
use crate::engine::recurrence::{PairDivision, Recurrence, Unit};
use crate::engine::reduce::overlaps;
use crate::engine::unit_run::{UnitRun, copy};

/// One buffer for each array that is reduced.
type ArrayBuffers = SmallVec<[Buffer; 2]>;

/// The result of combining 2^level rows.
struct TreeNode {
    level: u32,
    /// The number of elements of a row: 16, or fewer in the last row, which has level 0.
    lanes: usize,
    values: ArrayBuffers,
}

/// A run of a reduction.
type CombinedRun<'s> = UnitRun<'s, PairDivision>;

/// The parts of a unit, which threads take one by one.
struct CombinedUnit<'m> {
    unit: Unit,
    done: Mutex<Done<'m>>,
}

/// What is done of a unit.
struct Done<'m> {
    /// The nodes of each part, once it is done.
    nodes: Vec<Option<Vec<TreeNode>>>,
    /// Where the results go.
    results: SmallVec<[Slab<'m>; 2]>,
}

impl StageRun<'_> {
    /// Combines all elements along the axis. Each output is written completely.
    pub(super) fn combine(&self, of: &Recurrence, operands: &mut Operands<'_>, threads: usize) -> Result<()> {
        let kernel = self.kernel(&of.access())?;
        let division = of.divide_pairs(threads);
        let (inputs, outputs) = operands.slices().ok_or_else(overlaps)?;
        let mut extents: SmallVec<[usize; 6]> = of.extents.clone();
        extents.remove(of.axis);
        let before = usize::from(of.across.start > of.axis);
        let across = of.across.start - before..of.across.end - before;
        let slabs = { outputs }.into_iter().zip(&of.outputs).map(|(out, dtype)| {
            Slab::divide(out, dtype.size(), &extents, None, across.clone(), division.width)
        });
        let mut slabs: Vec<_> = slabs.collect();
        let parts = of.steps.div_ceil(division.part).max(1);
        // There may be many millions of units, so that each is made when a thread takes it.
        let shares = of.units(division.width).flat_map(|unit| {
            let results = slabs.iter_mut().filter_map(Iterator::next).collect();
            let done = Mutex::new(Done { nodes: (0..parts).map(|_| None).collect(), results });
            let share = Arc::new(CombinedUnit { unit, done });
            (0..parts).map(move |part| (share.clone(), part))
        });
        let shares = Mutex::new(shares);
        let next = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
        let combined = UnitRun { run: self, of, division: &division, kernel, inputs: &inputs };
        let outcome = &self.outcome;
        outcome.share(threads.min(of.count_units(division.width).saturating_mul(parts)), &|| {
            while !outcome.has_stopped()
                && let Some((share, part)) = next()
            {
                outcome.part(0, || combined.part(&share, part));
            }
        })
    }
}

impl CombinedRun<'_> {
    /// Combines the elements of a part. The last part of a unit to be done also combines the parts.
    fn part(&self, share: &CombinedUnit<'_>, part: usize) -> Result<()> {
        let UnitRun { run, of, division, .. } = *self;
        let mut faults: SmallVec<[u8; 8]> = SmallVec::from_elem(0, run.outcome.sites());
        let done = with_workspace(|Workspace { scratch, memory, tiles }| {
            let cols = share.unit.columns.len();
            let row = LANES * cols;
            let dtypes = of.outputs.iter().chain(&of.outputs).copied();
            let captured = of.captured().map(|input| self.dtype(input));
            let dtypes: SmallVec<[DType; 6]> = dtypes.chain(captured).collect();
            make_tiles(tiles, dtypes.iter().copied(), division.rows * row)?;
            let mut work = Combining { all: self, cols, tiles, scratch, memory, faults: &mut faults };
            work.capture(&share.unit)?;
            let from = part * division.part;
            let numbers = from..of.steps.min(from.saturating_add(division.part));
            let nodes = work.nodes(&share.unit, numbers)?;
            run.outcome.note_faults(work.faults);
            let mut done = share.done.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = done.nodes.get_mut(part) {
                *place = Some(nodes);
            }
            // Those of the parts that are combined now.
            work.faults.iter_mut().zip(run.outcome.faults()).for_each(|(own, met)| *own |= u8::from(met));
            if self.has_ended(work.faults) || done.nodes.iter().any(Option::is_none) {
                return Ok(());
            }
            let mut all = Vec::new();
            for node in done.nodes.iter_mut().filter_map(Option::take).flatten() {
                work.push(&mut all, node)?;
            }
            work.finish(&share.unit, all, &mut done.results)
        });
        run.outcome.note_faults(&faults);
        done
    }
}

/// A thread's work on a unit.
struct Combining<'w, 's> {
    all: &'w CombinedRun<'s>,
    cols: usize,
    /// Two tiles for each array, and one for each captured value.
    tiles: &'w mut Tiles,
    scratch: &'w mut Scratch,
    memory: &'w mut WorkingMemory,
    faults: &'w mut [u8],
}

impl Combining<'_, '_> {
    /// Combines the elements with these numbers to nodes, whose levels become lower.
    fn nodes(&mut self, unit: &Unit, numbers: Range<usize>) -> Result<Vec<TreeNode>> {
        let (outcome, high) = (&self.all.run.outcome, self.all.division.rows);
        let mut nodes = Vec::new();
        for from in numbers.clone().step_by(high * LANES) {
            let count = (numbers.end - from).min(high * LANES);
            let whole = count / LANES;
            // Whole rows form subtrees of 2^k rows, the largest first, each of which begins at a multiple of its size.
            let mut subtrees: SmallVec<[Range<usize>; 8]> = SmallVec::new();
            let mut at = 0;
            while at < whole {
                let end = at + (1 << (whole - at).ilog2());
                subtrees.push(at..end);
                at = end;
            }
            let mut places: Vec<usize> = Vec::with_capacity(whole + 1);
            for rows in &subtrees {
                let bits = rows.len().ilog2();
                let reversed = (0..rows.len())
                    .map(|i| if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) });
                places.extend(reversed.map(|i| rows.start + i));
            }
            places.push(whole);
            self.copy(unit, from, count, &places)?;
            for rows in subtrees {
                let node = self.subtree(rows)?;
                self.push(&mut nodes, node)?;
            }
            if !count.is_multiple_of(LANES) {
                let values = self.taken(0, whole * LANES, count % LANES)?;
                self.push(&mut nodes, TreeNode { level: 0, lanes: count % LANES, values })?;
            }
            outcome.count(count * self.cols);
            outcome.go_on()?;
            if self.all.has_ended(self.faults) {
                break;
            }
        }
        Ok(nodes)
    }

    /// Copies elements to the first tiles of the arrays. Row i goes to the place of this number.
    fn copy(&mut self, unit: &Unit, from: usize, count: usize, places: &[usize]) -> Result<()> {
        let (of, cols) = (self.all.of, self.cols);
        let elements = of.states..2 * of.states;
        let plan = of.plan(elements.clone(), count, cols).map_err(|e| memory(&e))?;
        let row = LANES * cols;
        let tiles = &mut *self.tiles;
        self.all.walk(&plan, (unit, elements, from), self.scratch, |block| {
            for i in 0..block.rows() {
                for (array, (tile, dtype)) in tiles.iter_mut().zip(&of.outputs).enumerate() {
                    let (item, bytes) = (dtype.size(), block.inputs(i).bytes(array));
                    let tile = tile.as_bytes_mut().unwrap_or_default();
                    let (mut at, end) = (block.first_of(i), block.first_of(i) + block.cols());
                    let mut read = 0;
                    while at < end {
                        let n = (row - at % row).min(end - at);
                        let to = (places[at / row] * row + at % row) * item;
                        let to = &mut tile[to..to + n * item];
                        copy(to, &bytes[if bytes.len() == item { 0 } else { read * item }..], *dtype);
                        (at, read) = (at + n, read + n);
                    }
                }
            }
            Ok(())
        })
    }

    /// Combines 2^k rows of the first tiles, which lie in the order of their reversed bits.
    fn subtree(&mut self, rows: Range<usize>) -> Result<TreeNode> {
        let (row, level) = (LANES * self.cols, rows.len().ilog2());
        let mut tile = 0;
        for half in (0..level).rev().map(|k| row << k) {
            self.level(tile, rows.start * row, half)?;
            tile = 1 - tile;
        }
        let values = self.taken(tile, rows.start * LANES, LANES)?;
        Ok(TreeNode { level, lanes: LANES, values })
    }

    /// Combines the elements from `start` on, `half` of them with as many that follow, to elements of the other tiles, at the same
    /// place.
    fn level(&mut self, tile: usize, start: usize, half: usize) -> Result<()> {
        let states = self.all.of.states;
        let (first, rest) = self.tiles.split_at_mut(states);
        let (second, captured) = rest.split_at_mut(states);
        let (from, to) = if tile == 0 { (first, second) } else { (second, first) };
        let items: SmallVec<[usize; 4]> = self.all.of.outputs.iter().map(|dtype| dtype.size()).collect();
        let operand = |i: usize, at: usize| &from[i].as_bytes()[at * items[i]..(at + half) * items[i]];
        let left = (0..states).map(|i| operand(i, start));
        let right = (0..states).map(|i| operand(i, start + half));
        let out = to.iter_mut().zip(&items).map(|(tile, item)| {
            tile.as_bytes_mut()
                .and_then(|tile| tile.get_mut(start * item..(start + half) * item))
                .unwrap_or_default()
        });
        self.all.pair(half, left, right, captured, out, self.memory, self.faults)
    }

    /// Adds the node of the rows after those of `nodes`, and combines nodes of equal levels.
    fn push(&mut self, nodes: &mut Vec<TreeNode>, mut node: TreeNode) -> Result<()> {
        while let Some(last) = nodes.pop_if(|last| node.lanes == LANES && last.level == node.level) {
            let level = node.level + 1;
            node = TreeNode { level, ..self.merged(&last, &node)? };
        }
        nodes.push(node);
        Ok(())
    }

    /// The node of two adjacent ones, the second of which may have fewer lanes.
    fn merged(&mut self, left: &TreeNode, right: &TreeNode) -> Result<TreeNode> {
        let count = right.lanes * self.cols;
        let mut values = self.room(left.lanes)?;
        let items = self.all.of.outputs.iter().map(|dtype| dtype.size());
        for ((to, from), item) in values.iter_mut().zip(&left.values).zip(items.clone()) {
            // Lanes that the second node does not have are those of the first.
            let rest = count * item..left.lanes * self.cols * item;
            if let Some(to) = to.as_bytes_mut() {
                to[rest.clone()].copy_from_slice(&from.as_bytes()[rest]);
            }
        }
        let captured = &self.tiles[2 * self.all.of.states..];
        let first = left.values.iter().zip(items.clone()).map(|(of, item)| &of.as_bytes()[..count * item]);
        let second = right.values.iter().zip(items.clone()).map(|(of, item)| &of.as_bytes()[..count * item]);
        let out = values.iter_mut().zip(items).map(|(of, item)| {
            of.as_bytes_mut().and_then(|of| of.get_mut(..count * item)).unwrap_or_default()
        });
        self.all.pair(count, first, second, captured, out, self.memory, self.faults)?;
        Ok(TreeNode { level: left.level, lanes: left.lanes, values })
    }

    /// Combines all nodes, then the lanes of the last one, and writes the results. Without nodes these are the initial states.
    fn finish(&mut self, unit: &Unit, mut nodes: Vec<TreeNode>, results: &mut [Slab<'_>]) -> Result<()> {
        let (of, cols) = (self.all.of, self.cols);
        while nodes.len() > 1
            && let (Some(right), Some(left)) = (nodes.pop(), nodes.pop())
        {
            nodes.push(self.merged(&left, &right)?);
        }
        match nodes.pop() {
            None => self.all.copy_across((unit, 0..of.states), cols, self.tiles, self.scratch)?,
            Some(TreeNode { mut lanes, values, .. }) => {
                self.each(
                    |item, first, _, from| {
                        let bytes = lanes * cols * item;
                        first[..bytes].copy_from_slice(&from[..bytes]);
                    },
                    &values,
                );
                while lanes > 1 {
                    let pairs = lanes / 2;
                    // The left lanes, the right ones, and one that may remain.
                    let left = (0..pairs).map(|i| 2 * i);
                    let order = left.clone().chain(left.map(|i| i + 1)).chain(2 * pairs..lanes);
                    let order: SmallVec<[usize; LANES]> = order.collect();
                    self.each(
                        |item, first, second, _| {
                            let lane = cols * item;
                            for (to, &from) in second.chunks_exact_mut(lane).zip(&order) {
                                to.copy_from_slice(&first[from * lane..(from + 1) * lane]);
                            }
                            let rest = 2 * pairs * lane..lanes * lane;
                            first[pairs * lane..][..rest.len()].copy_from_slice(&second[rest]);
                        },
                        &values,
                    );
                    self.level(1, 0, pairs * cols)?;
                    lanes = lanes.div_ceil(2);
                }
            }
        }
        for (slab, tile) in results.iter_mut().zip(self.tiles.iter()) {
            slab.write(0..1, tile.as_bytes(), cols);
        }
        Ok(())
    }

    /// Calls `body` for each array with the size of its elements, its two tiles, and its elements among `values`.
    fn each(&mut self, body: impl Fn(usize, &mut [u8], &mut [u8], &[u8]), values: &ArrayBuffers) {
        let states = self.all.of.states;
        let (first, rest) = self.tiles.split_at_mut(states);
        let tiles = first.iter_mut().zip(rest).zip(values).zip(&self.all.of.outputs);
        for (((first, second), values), dtype) in tiles {
            if let (Some(first), Some(second)) = (first.as_bytes_mut(), second.as_bytes_mut()) {
                body(dtype.size(), first, second, values.as_bytes());
            }
        }
    }

    /// Copies lanes of tiles, from a lane on, to memory of their own; `tile` is 0 for the first tiles, and 1 for the second.
    fn taken(&self, tile: usize, from: usize, lanes: usize) -> Result<ArrayBuffers> {
        let (of, cols) = (self.all.of, self.cols);
        let mut values = self.room(lanes)?;
        let tiles = self.tiles[tile * of.states..].iter().zip(&of.outputs);
        for (to, (tile, dtype)) in values.iter_mut().zip(tiles) {
            let lane = cols * dtype.size();
            if let Some(to) = to.as_bytes_mut() {
                to.copy_from_slice(&tile.as_bytes()[from * lane..(from + lanes) * lane]);
            }
        }
        Ok(values)
    }

    /// Memory for some lanes of each array.
    fn room(&self, lanes: usize) -> Result<ArrayBuffers> {
        let refused = |e: AllocError| Error::new(ErrorKind::Limit, e.to_string());
        let bytes = self.all.of.outputs.iter().map(|dtype| lanes * self.cols * dtype.size());
        bytes.map(|bytes| Buffer::for_overwrite(bytes).map_err(refused)).collect()
    }

    /// Copies the captured values of a unit to their tiles: one value if it is that of all columns, else as many copies of the
    /// columns as fit.
    fn capture(&mut self, unit: &Unit) -> Result<()> {
        let (of, cols) = (self.all.of, self.cols);
        let captured = of.captured();
        if captured.is_empty() {
            return Ok(());
        }
        let tiles = &mut self.tiles[2 * of.states..];
        self.all.copy_across((unit, captured.clone()), cols, tiles, self.scratch)?;
        for (tile, input) in self.tiles[2 * of.states..].iter_mut().zip(captured) {
            let row = cols * of.item(input);
            if of.captured_access(input) == Access::Contiguous
                && let Some((first, rest)) =
                    tile.as_bytes_mut().and_then(|tile| tile.split_at_mut_checked(row))
            {
                rest.chunks_exact_mut(row).for_each(|copy| copy.copy_from_slice(first));
            }
        }
        Ok(())
    }
}

impl CombinedRun<'_> {
    /// Calls the kernel for `count` elements of each array.
    #[expect(clippy::too_many_arguments, reason = "operands of one call")]
    fn pair<'t>(
        &self,
        count: usize,
        left: impl Iterator<Item = &'t [u8]>,
        right: impl Iterator<Item = &'t [u8]>,
        captured: &[Buffer],
        out: impl Iterator<Item = &'t mut [u8]>,
        working: &mut WorkingMemory,
        faults: &mut [u8],
    ) -> Result<()> {
        let of = self.of;
        let mut operands = Operands::default();
        let mut layouts: SmallVec<[RowOperand; 6]> = SmallVec::new();
        left.chain(right).for_each(|bytes| operands.read(Region::from(bytes)));
        layouts
            .extend(of.outputs.iter().chain(&of.outputs).map(|dtype| RowOperand::contiguous(dtype.size())));
        for (input, tile) in of.captured().zip(captured) {
            let is_uniform = of.captured_access(input) == Access::Splat;
            let (item, class) =
                (of.item(input), if is_uniform { AccessClass::Uniform } else { AccessClass::Contiguous });
            operands.read(Region::from(&tile.as_bytes()[..if is_uniform { item } else { count * item }]));
            layouts.push(RowOperand { item, start: 0, class });
        }
        out.for_each(|bytes| operands.write(RegionMut::from(bytes)));
        layouts.extend(of.outputs.iter().map(|dtype| RowOperand::contiguous(dtype.size())));
        self.call(faults, working, |kernel, run| {
            let block = |block: &mut Block<'_>| kernel.run(block, run);
            operands.with_row(count, 0, layouts.into_iter(), block).map_err(|e| memory(&e))?
        })
    }
}
