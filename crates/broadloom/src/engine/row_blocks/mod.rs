//! Runs stages block by block of their rows.
//!
//! A softmax is a maximum, exponentials, a sum and a quotient of each row. The stages of such an expression share their outer
//! axes, and each row depends only on the same row of the other stages. All stages therefore run for one block of rows before the
//! first stage runs for the next block. Operands and temporaries stay in cache meanwhile, so that memory is read and written
//! once. Each stage runs as it would by itself, only over fewer rows: an element is computed from the same elements in the same
//! order, and so has the same bits.
//!
//! A gradient of a loss is a sum over all rows, which reads what other stages computed of each row. Such a stage, a total, reduces the
//! elements of block after block. Each thread takes some consecutive blocks, and its [partial results](Folding) are merged with those
//! of the others in the order of the blocks.

mod group;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::fuse::{Plan, Source, Stage, Target};
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_ir::figures;
use broadloom_ir::loop_plan::LoopPlanError;
use broadloom_mem::{Buffer, FloatEnv, Operands, Region, RegionMut};
use smallvec::SmallVec;

use crate::engine::blocks::{Block, Cut};
use crate::engine::execute::{StageRun, memory};
use crate::engine::loops::Loops;
use crate::engine::memory::{self, Temporaries, Written};
use crate::engine::outcome::Outcome;
use crate::engine::plan_run::{Arguments, Params, PlanRun, Tables, region, tables};
use crate::engine::prepared::PreparedStage;
use crate::engine::reduce::{Blocks, Continued, Folding, Reductions, reductions_of, width_of_blocks};
use crate::engine::stored::contiguous;
use crate::engine::workers;

pub(crate) use group::Apart;
use group::Group;

/// A step of a plan.
pub(crate) enum Step {
    /// A stage that runs over all of its elements.
    Stage(usize),
    /// Several stages that run block by block.
    Blocks(Box<RowBlocks>),
}

impl Step {
    /// The stages of the step, in run order.
    pub(crate) fn stages(&self) -> impl Iterator<Item = usize> {
        let (stage, members) = match self {
            Step::Stage(stage) => (Some(*stage), &[][..]),
            Step::Blocks(blocks) => (None, &blocks.members[..]),
        };
        stage.into_iter().chain(members.iter().map(|member| member.stage))
    }

    /// The stages that run block by block, if the step has several.
    pub(crate) fn blocks(&self) -> Option<&RowBlocks> {
        match self {
            Step::Stage(_) => None,
            Step::Blocks(blocks) => Some(blocks),
        }
    }
}

/// Stages that run block by block, and their division into blocks.
pub(crate) struct RowBlocks {
    /// The stages in run order.
    pub members: Vec<Member>,
    pub cut: Cut,
    /// The arrays that members write, each with the size in bytes of its rows (a row is one index of the shared axes).
    places: Vec<(Place, usize)>,
}

impl fmt::Display for RowBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages: Vec<String> = self.members.iter().map(|member| member.stage.to_string()).collect();
        let temporaries = self.places.iter().filter(|(place, _)| *place == Place::Block).count();
        let (rows, count) = (self.cut.rows, self.cut.count());
        write!(
            f,
            "kernels {} run row block by row block, {} of {} at a time: {temporaries} {} in cache",
            stages.join(", "),
            figures::count(rows as u64),
            figures::counted(count as u64, "row"),
            if temporaries == 1 { "temporary stays" } else { "temporaries stay" },
        )?;
        let totals = self.members.iter().filter(|member| member.of_row.is_some());
        let totals: Vec<String> = totals.map(|member| member.stage.to_string()).collect();
        match &totals[..] {
            [] => Ok(()),
            [one] => write!(f, "; kernel {one} combines all rows, block after block"),
            _ => write!(f, "; kernels {} combine all rows, block after block", totals.join(", ")),
        }
    }
}

/// The memory that a member writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A temporary that only members read, which has the size of a block.
    Block,
    /// The rows of a root, or of a temporary that a later step reads.
    Whole(Target),
}

fn no_space() -> Error {
    Error::new(ErrorKind::Internal, "a total has no memory")
}

/// A stage of [`RowBlocks`].
pub(crate) struct Member {
    /// The stage's index in the plan.
    pub stage: usize,
    /// The stage over the rows of a whole block, and over the rows of the last block, which may be fewer.
    parts: [Part; 2],
    inputs: SmallVec<[Origin; 4]>,
    /// For each output, the index of its array in `RowBlocks::places`; empty for a total.
    outputs: SmallVec<[usize; 2]>,
    /// For a total, the number of elements of a row that are reduced to each result.
    of_row: Option<usize>,
}

/// The partial results of a total.
struct Folded {
    so_far: Folding,
    /// Those of later elements, by the number of the first one, each with the number of elements.
    waiting: BTreeMap<u64, (u64, Vec<Blocks>)>,
}

impl Folded {
    fn new() -> Folded {
        Folded { so_far: Folding::new(), waiting: BTreeMap::new() }
    }

    /// Adds the partial results of elements.
    fn add(&mut self, numbers: Range<usize>, partials: Vec<Blocks>) -> Result<()> {
        self.waiting.insert(numbers.start as u64, (numbers.len() as u64, partials));
        while let Some((count, partials)) = self.waiting.remove(&self.so_far.count()) {
            self.so_far.append(count, partials)?;
        }
        Ok(())
    }
}

/// The source of a member's input.
#[derive(Clone, Copy)]
enum Origin {
    /// Memory with all rows, or generated elements.
    Rows(Source),
    /// The current block's rows of an array that another member wrote, by its index in `RowBlocks::places`.
    Place(usize),
}

/// A stage restricted to the rows of a block, with the layouts of the first block.
struct Part {
    elements: usize,
    loops: std::result::Result<Loops, LoopPlanError>,
}

impl RowBlocks {
    /// Groups the first `count` stages of a plan into steps. If a stage reduces elements, and it and a stage that reads its
    /// results do not run block by block, also returns the reason.
    pub(crate) fn steps(
        plan: &Plan,
        count: usize,
        can_fail: impl Fn(&Stage) -> bool,
    ) -> Result<(Vec<Step>, Option<Apart>)> {
        let mut left: Vec<usize> = (0..count).collect();
        let mut steps = Vec::with_capacity(left.len());
        let mut apart = None;
        loop {
            match group::find(plan, &left, &can_fail) {
                Ok(group) => {
                    steps.extend(group.before.iter().copied().map(Step::Stage));
                    steps.push(Step::Blocks(Box::new(RowBlocks::of(plan, &group)?)));
                    left = group.after;
                }
                Err(why) => {
                    apart = apart.or(why);
                    steps.extend(left.into_iter().map(Step::Stage));
                    return Ok((steps, apart));
                }
            }
        }
    }

    fn of(plan: &Plan, group: &Group) -> Result<RowBlocks> {
        let rows = group.cut.count();
        let mut places: Vec<(Place, usize)> = Vec::new();
        let mut place_of = std::collections::HashMap::new();
        let mut members = Vec::with_capacity(group.members.len());
        for &number in &group.members {
            let stage = &plan.stages[number];
            let origin = |source: Source| match source {
                Source::Temp(t) => {
                    place_of.get(&Target::Temp(t)).copied().map_or(Origin::Rows(source), Origin::Place)
                }
                Source::Slot(_) | Source::Index | Source::SlotWords(_) | Source::TempWords(_) => {
                    Origin::Rows(source)
                }
            };
            let inputs = stage.inputs.iter().map(|input| origin(input.source)).collect();
            let is_total = group.totals.contains(&number);
            let mut outputs = SmallVec::new();
            for (&target, (dtype, shape)) in stage.outputs.iter().zip(stage.results()).filter(|_| !is_total) {
                let place = match group.blocks.contains(&target) {
                    true => Place::Block,
                    false => Place::Whole(target),
                };
                outputs.push(places.len());
                place_of.insert(target, places.len());
                places.push((place, shape.elements() / rows * dtype.size()));
            }
            let part = |rows: usize| Part::of(stage, &group.cut, rows);
            let mut parts = [part(group.cut.rows)?, part(group.cut.rows_of_last())?];
            let mut of_row = None;
            if is_total {
                let results = stage.results().map(|(_, shape)| shape.elements()).max().unwrap_or(1);
                of_row = Some(stage.shape.elements() / rows / results);
                let width = parts[0].loops()?.space().map_or(1, |space| width_of_blocks(stage, space));
                for part in &mut parts {
                    let space = part.loops()?.space().map(|space| space.in_blocks_of(width));
                    part.loops = Ok(Loops::Reduce(space.ok_or_else(no_space)?));
                }
            }
            members.push(Member { stage: number, parts, inputs, outputs, of_row });
        }
        Ok(RowBlocks { members, cut: group.cut.clone(), places })
    }

    /// Whether a temporary that the member writes exists only within a block.
    pub(crate) fn stays(&self, member: &Member) -> bool {
        member.outputs.iter().any(|&place| self.places[place].0 == Place::Block)
    }
}

impl Part {
    fn of(stage: &Stage, cut: &Cut, rows: usize) -> Result<Part> {
        let part = cut.part(stage, rows)?;
        Ok(Part { elements: part.shape.elements(), loops: Loops::new(&part, &contiguous(&part)) })
    }

    fn loops(&self) -> Result<&Loops> {
        self.loops.as_ref().map_err(|e| memory(e))
    }
}

/// The memory that one block writes: parts of arrays of all rows, each with the array's index in `RowBlocks::places`. The thread
/// that runs the block takes it.
type Share<'m> = Mutex<SmallVec<[(usize, RegionMut<'m>); 2]>>;

/// The memory of arrays that are written as a whole.
type Whole<'m> = Vec<(Target, RegionMut<'m>)>;

/// A run of the members, block by block.
struct BlockRun<'r> {
    blocks: &'r RowBlocks,
    run: &'r PlanRun<'r>,
    members: Vec<StageRun<'r>>,
    /// For each member, the memory of the inputs that no member writes.
    inputs: Vec<SmallVec<[Region<'r>; 4]>>,
    /// For each member, its reductions and their partial results, if it is a total.
    folded: Vec<(Reductions, Mutex<Folded>)>,
    /// Cancellation, progress and failures, for all members together.
    outcome: Outcome<'r>,
}

/// A thread's memory for each of `RowBlocks::places`: a buffer of its own with space for the largest block, or the current
/// block's rows of an array of all rows.
struct Places<'m, 'c> {
    own: Vec<Option<Buffer>>,
    rows: Vec<Option<RegionMut<'m>>>,
    /// For each member, its reduction of the thread's blocks so far, if it is a total that has begun.
    totals: Vec<Option<Continued<'c>>>,
}

impl RowBlocks {
    /// Runs the members, which are among `stages` of the plan. Executors are chosen once, for all blocks. Then threads take
    /// blocks one by one, and run all stages of a block before they take the next. Divisions by zero are reported in the order of
    /// the stages, as if they had run one after another.
    pub(crate) fn run(
        &self,
        run: &PlanRun<'_>,
        stages: &[PreparedStage],
        operands: &mut Operands<'_>,
        temps: &mut Temporaries<'_>,
    ) -> Result<()> {
        // Estimates and sums are computed here, which requires the default floating-point environment.
        let _ieee = FloatEnv::ieee();
        let mut written = Written::new();
        for &(place, bytes) in &self.places {
            if let Place::Whole(Target::Temp(temp)) = place {
                written.push((temp, memory::buffer(run.pool, bytes * self.cut.count())?));
            }
        }
        for member in self.totals() {
            let stage = &stages[self.members[member].stage].stage;
            for (target, (dtype, shape)) in stage.outputs.iter().zip(stage.results()) {
                if let Target::Temp(temp) = target {
                    written.push((*temp, memory::buffer(run.pool, shape.elements() * dtype.size())?));
                }
            }
        }
        let params: Vec<Params> =
            self.members.iter().map(|member| run.params(&stages[member.stage].stage)).collect();
        let (slots, roots) = operands.parts();
        let read = self.members.iter().map(|member| tables(&stages[member.stage].stage, slots, temps));
        let read: Vec<Tables<'_>> = read.collect::<Result<_>>()?;
        let mut inputs = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let given = |origin: &Origin| match *origin {
                Origin::Rows(source) => region(source, slots, temps),
                Origin::Place(_) => [][..].into(),
            };
            inputs.push(member.inputs.iter().map(given).collect());
        }
        let (shares, mut results) = self.shares(roots, &mut written)?;
        let (mut members, mut time) = (Vec::with_capacity(self.members.len()), 0.0);
        for ((member, params), tables) in self.members.iter().zip(&params).zip(&read) {
            let prepared = &stages[member.stage];
            let access = prepared.accesses_in(member.parts[0].loops()?)?;
            let outcome = Outcome::new(prepared.sites, false, run.watch).uncounted();
            members.push(prepared.begin(&run.request, access, Arguments { params, tables }, outcome)?);
            time += members.last().map_or(0.0, |member| member.time);
        }
        let outcome = Outcome::new(0, false, run.watch);
        let threads = workers::threads(run.request.options, time);
        let reductions = self.members.iter().map(|member| reductions_of(&stages[member.stage].stage));
        let folded = reductions.map(|of| (of, Mutex::new(Folded::new()))).collect();
        let all = BlockRun { blocks: self, run, members, inputs, folded, outcome };
        all.share(threads, &shares)?;
        all.members.iter().try_for_each(StageRun::end)?;
        all.finish(&mut results)?;
        drop((all, shares, results));
        drop(read);
        temps.keep(&mut written);
        Ok(())
    }

    /// The members that are totals, by their indices.
    fn totals(&self) -> impl Iterator<Item = usize> {
        (0..self.members.len()).filter(|&number| self.members[number].of_row.is_some())
    }

    /// Divides the memory of arrays of all rows into the rows that each block writes. The memory of other arrays, such as the results of
    /// totals, is returned as it is.
    fn shares<'m>(
        &self,
        roots: impl Iterator<Item = RegionMut<'m>>,
        made: &'m mut Written,
    ) -> Result<(Vec<Share<'m>>, Whole<'m>)> {
        let (mut shares, mut others): (Vec<Share<'m>>, Whole<'m>) = (Vec::new(), Vec::new());
        shares.resize_with(self.cut.blocks(), Share::default);
        let roots = roots.enumerate().map(|(i, root)| (Target::Root(i as u32), Ok(root)));
        let temps = made.iter_mut().map(|(temp, buffer)| (Target::Temp(*temp), memory::written(buffer)));
        for (target, memory) in roots.chain(temps) {
            let mut left = memory?;
            let place = self.places.iter().position(|(place, _)| *place == Place::Whole(target));
            let Some(place) = place else {
                others.push((target, left));
                continue;
            };
            for (number, share) in shares.iter_mut().enumerate() {
                let (rows, rest) = left.split_at(self.cut.block(number).rows * self.places[place].1);
                left = rest;
                share.get_mut().unwrap_or_else(PoisonError::into_inner).push((place, rows));
            }
        }
        Ok((shares, others))
    }
}

impl BlockRun<'_> {
    /// Runs all blocks, on this thread and on others.
    fn share(&self, threads: usize, shares: &[Share<'_>]) -> Result<()> {
        let next = AtomicUsize::new(0);
        // A thread takes blocks one by one, or consecutive ones, of which it makes one partial result.
        let at_once =
            if self.blocks.totals().next().is_none() { 1 } else { shares.len().div_ceil(4 * threads) };
        self.outcome.share(threads, &|| {
            let mut places = None;
            while !self.outcome.has_stopped()
                && let first = next.fetch_add(at_once, Ordering::Relaxed)
                && first < shares.len()
            {
                if places.is_none() {
                    match Places::new(self) {
                        Ok(made) => places = Some(made),
                        Err(error) => self.outcome.fail(error),
                    }
                }
                let Some(places) = &mut places else { break };
                for (number, share) in shares.iter().enumerate().skip(first).take(at_once) {
                    self.block(number, share, places);
                }
                if !self.outcome.has_stopped()
                    && let Err(error) = self.add_totals(places)
                {
                    self.outcome.fail(error);
                }
            }
            let own = places.map_or_else(Vec::new, |places| places.own);
            own.into_iter().flatten().for_each(|buffer| self.run.pool.give(buffer));
        })
    }

    /// Runs all members over the rows of a block.
    fn block<'m, 'c>(&'c self, number: usize, share: &Share<'m>, places: &mut Places<'m, 'c>) {
        let share = std::mem::take(&mut *share.lock().unwrap_or_else(PoisonError::into_inner));
        share.into_iter().for_each(|(place, rows)| places.rows[place] = Some(rows));
        let block = self.blocks.cut.block(number);
        for member in 0..self.members.len() {
            if self.outcome.has_stopped() {
                return;
            }
            let part = self.part(member, &block);
            self.outcome.part(part.elements, || self.member(member, (number, &block), places));
        }
    }

    /// Adds the partial results of consecutive blocks to those of all threads.
    fn add_totals(&self, places: &mut Places<'_, '_>) -> Result<()> {
        for (continued, (reductions, folded)) in places.totals.iter_mut().zip(&self.folded) {
            if let Some(continued) = continued.take() {
                let (numbers, partials) = continued.finish(reductions)?;
                folded.lock().unwrap_or_else(PoisonError::into_inner).add(numbers, partials)?;
            }
        }
        Ok(())
    }

    fn part(&self, member: usize, block: &Block) -> &Part {
        &self.blocks.members[member].parts[usize::from(block.rows != self.blocks.cut.rows)]
    }

    /// Writes the results of the totals.
    fn finish(&self, results: &mut [(Target, RegionMut<'_>)]) -> Result<()> {
        for member in self.blocks.totals() {
            let mut folded = self.folded[member].1.lock().unwrap_or_else(PoisonError::into_inner);
            let stage = &self.members[member].prepared.stage;
            for (reduction, (target, (dtype, _))) in stage.outputs.iter().zip(stage.results()).enumerate() {
                let memory = results.iter_mut().find(|(of, _)| of == target);
                let mut operands = Operands::default();
                operands.write(memory.ok_or_else(no_space)?.1.reborrow());
                let (_, mut outputs) = operands.slices().ok_or_else(no_space)?;
                outputs.iter_mut().for_each(|out| folded.so_far.finish(reduction, dtype, out));
            }
        }
        Ok(())
    }

    /// Runs a member over the rows of a block, which has this number.
    fn member<'c>(
        &'c self,
        number: usize,
        (at, block): (usize, &Block),
        places: &mut Places<'_, 'c>,
    ) -> Result<()> {
        let (member, stage_run) = (&self.blocks.members[number], &self.members[number]);
        let loops = self.part(number, block).loops()?;
        if loops.is_done() {
            return Ok(());
        }
        let mut buffers: SmallVec<[Option<Buffer>; 2]> =
            member.outputs.iter().map(|&place| places.own[place].take()).collect();
        let mut rows: SmallVec<[Option<RegionMut<'_>>; 2]> =
            member.outputs.iter().map(|&place| places.rows[place].take()).collect();
        let mut continued = places.totals[number].take();
        if let (Some(of_row), None, Some(space)) = (member.of_row, &continued, loops.space()) {
            let (count, first) = (self.blocks.cut.count(), self.blocks.cut.rows_before(at));
            let (stage, reductions) = (&stage_run.prepared.stage, &self.folded[number].0);
            continued = Some(Continued::new(stage, space, reductions, count * of_row, first * of_row));
        }
        let done = (|| {
            let mut operands = Operands::default();
            let stage = &stage_run.prepared.stage;
            let inputs = stage.inputs.iter().zip(&stage.kernel.inputs).zip(&self.inputs[number]);
            for (((input, dtype), given), origin) in inputs.zip(&member.inputs) {
                match *origin {
                    Origin::Place(place) => operands.read(places.read(place)),
                    Origin::Rows(_) => operands.read_from(*given, block.offset(input, *dtype)),
                }
            }
            for ((buffer, rows), &place) in buffers.iter_mut().zip(&mut rows).zip(&member.outputs) {
                operands.write(match (buffer, rows) {
                    (Some(buffer), _) => {
                        memory::written(buffer)?.split_at(self.blocks.places[place].1 * block.rows).0
                    }
                    (None, Some(rows)) => rows.reborrow(),
                    (None, None) => {
                        return Err(Error::new(ErrorKind::Internal, "a block's memory is missing"));
                    }
                });
            }
            let Some(continued) = &mut continued else { return stage_run.run(loops, &mut operands, 1) };
            stage_run.fold_part(loops, &mut operands, continued)
        })();
        for ((&place, buffer), rows) in member.outputs.iter().zip(buffers).zip(rows) {
            (places.own[place], places.rows[place]) = (buffer, rows);
        }
        places.totals[number] = continued;
        done
    }
}

impl Places<'_, '_> {
    /// Allocates the thread's own buffers.
    fn new(all: &BlockRun<'_>) -> Result<Self> {
        let rows = all.blocks.cut.rows;
        let own = |&(place, bytes): &(Place, usize)| match place {
            Place::Block => memory::buffer(all.run.pool, bytes * rows).map(Some),
            Place::Whole(_) => Ok(None),
        };
        let own: Vec<Option<Buffer>> = all.blocks.places.iter().map(own).collect::<Result<_>>()?;
        let totals = all.members.iter().map(|_| None).collect();
        Ok(Places { rows: own.iter().map(|_| None).collect(), own, totals })
    }

    /// The current block's rows of an array, which a member has written.
    fn read(&self, place: usize) -> Region<'_> {
        match (&self.own[place], &self.rows[place]) {
            (Some(buffer), _) => buffer.as_bytes().into(),
            (None, Some(rows)) => rows.as_region(),
            (None, None) => [][..].into(),
        }
    }
}
