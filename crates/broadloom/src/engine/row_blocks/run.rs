//! A run of stages, block by block.
//!
//! Executors are chosen once, for all blocks. Then threads take blocks, each of which one thread runs through all stages; its
//! temporaries are the thread's, and of what is kept for later it has the block's rows. What was met in a stage's divisions
//! is looked at in the stages' order, as if they had run one after the other.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use broadloom_core::fuse::{InputView, Target};
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape};
use broadloom_mem::{Buffer, FloatEnv, Nest, Region, View, ViewMut};
use smallvec::SmallVec;
use std::sync::Arc;

use super::{Accesses, Block, Member, Origin, Part, Place, RowBlocks};
use crate::engine::choice::State;
use crate::engine::memory::{self, Memory, RootMemory, Written};
use crate::engine::outcome::Outcome;
use crate::engine::plan_run::{PlanRun, param};
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::Executable;
use crate::engine::workers;

/// What a block writes.
enum Held<'m> {
    /// A thread's own memory, of the rows of the largest block.
    Own(Buffer),
    /// The block's rows of a contiguous array.
    Rows(&'m mut [u8]),
    /// The block's rows of any other.
    View(ViewMut<'m>),
}

/// What a block writes of arrays that are kept, with the numbers of the places, until a thread takes it.
type Share<'m> = Mutex<SmallVec<[(usize, Held<'m>); 2]>>;
/// What runs members whose inputs are accessed otherwise than was chosen for.
type Others = Vec<(usize, Accesses, Executable)>;

/// What was chosen for a member, and what its parts leave behind.
struct Chosen<'r> {
    /// What runs its kernel, for inputs that are accessed so; none where elements are folded from memory.
    runner: Option<(Executable, Accesses)>,
    params: SmallVec<[u64; 8]>,
    outcome: Outcome<'r>,
    /// Nanoseconds that all blocks took, if the run is a trial's.
    took: Option<AtomicU64>,
}

/// See the module's head.
struct BlockRun<'r> {
    run: &'r PlanRun<'r>,
    stages: &'r [PreparedStage],
    blocks: &'r RowBlocks,
    temps: &'r [Option<Buffer>],
    chosen: Vec<Chosen<'r>>,
    /// Cancelling, progress and failures of all members.
    outcome: Outcome<'r>,
}

impl RowBlocks {
    /// Whether no root's memory overlaps what members read.
    pub fn is_apart(&self, run: &PlanRun<'_>, memory: &Memory<'_>) -> bool {
        // No output overlaps a slice.
        let read = || run.slots.iter().filter(|slot| slot.as_slice().is_none()).map(Region::addresses);
        memory.roots.iter().all(|root| match root {
            RootMemory::New(_) | RootMemory::Bytes(_) => true,
            RootMemory::Given(view) => {
                let written = view.addresses();
                read().all(|read| read.end <= written.start || written.end <= read.start)
            }
        })
    }

    /// Runs the members; they are among these stages of the plan.
    pub fn run(&self, run: &PlanRun<'_>, stages: &[PreparedStage], memory: &mut Memory<'_>) -> Result<()> {
        // Estimates and sums are computed in floats, whatever the application has set.
        let _ieee = FloatEnv::ieee();
        let mut written = Written::new();
        for &(place, bytes) in &self.places {
            if let Place::Whole(Target::Temp(temp)) = place {
                written.push((temp, memory::buffer(run.pool, bytes * self.cut.count())?));
            }
        }
        let Memory { roots, temps } = memory;
        let done = self.shares(roots, &mut written).and_then(|shares| {
            let (mut chosen, mut time) = (Vec::with_capacity(self.members.len()), 0.0);
            for member in &self.members {
                let (of_member, estimate) = self.choose(run, &stages[member.stage], member)?;
                chosen.push(of_member);
                time += estimate;
            }
            let outcome = Outcome::new(0, false, run.watch);
            let threads = workers::threads(run.request.options, time);
            BlockRun { run, stages, blocks: self, temps, chosen, outcome }.share(threads, &shares)
        });
        memory.put_written(written);
        done
    }

    /// The executor of a member, prepared; and the nanoseconds that it is expected to take on one thread.
    fn choose<'r>(
        &self,
        run: &'r PlanRun<'_>,
        prepared: &PreparedStage,
        member: &Member,
    ) -> Result<(Chosen<'r>, f64)> {
        let part = &member.parts[0];
        let access = match &part.space {
            Some(space) => prepared.accesses_in(space)?,
            None => Some(part.access.clone()),
        };
        let mut time = prepared.cost_of_run(&run.request).compiled;
        let mut took = None;
        let runner = match access {
            None => None,
            Some(access) => {
                let (runner, choice) = prepared.runner(&run.request, &access, run.watch)?;
                time = choice.time();
                took = matches!(choice.state, State::Trial(_)).then(AtomicU64::default);
                Some((runner, access))
            }
        };
        let params = prepared.stage.params.iter().map(|p| param(*p, run.literals)).collect();
        let outcome = Outcome::new(prepared.sites, false, run.watch).uncounted();
        Ok((Chosen { runner, params, outcome, took }, time))
    }

    /// The rows that each block writes.
    fn shares<'m>(
        &self,
        roots: &'m mut [RootMemory<'_>],
        written: &'m mut Written,
    ) -> Result<Vec<Share<'m>>> {
        let mut shares: Vec<Share<'m>> = Vec::new();
        shares.resize_with(self.cut.blocks(), Share::default);
        let place = |target: Target| self.places.iter().position(|(place, _)| *place == Place::Whole(target));
        for (i, root) in roots.iter_mut().enumerate() {
            let Some(place) = place(Target::Root(i as u32)) else { continue };
            match root {
                RootMemory::New(buffer) => self.share_bytes(place, bytes_of(buffer)?, &mut shares),
                RootMemory::Bytes(bytes) => self.share_bytes(place, bytes, &mut shares),
                RootMemory::Given(view) => self.share_view(place, view.reborrow(), &mut shares),
            }
        }
        for (temp, buffer) in written.iter_mut() {
            if let Some(place) = place(Target::Temp(*temp)) {
                self.share_bytes(place, bytes_of(buffer)?, &mut shares);
            }
        }
        Ok(shares)
    }

    fn share_bytes<'m>(&self, place: usize, mut bytes: &'m mut [u8], shares: &mut [Share<'m>]) {
        for (number, share) in shares.iter_mut().enumerate() {
            let rows = self.cut.block(number).rows;
            let (own, others) = bytes.split_at_mut((rows * self.places[place].1).min(bytes.len()));
            bytes = others;
            share.get_mut().unwrap_or_else(PoisonError::into_inner).push((place, Held::Rows(own)));
        }
    }

    fn share_view<'m>(&self, place: usize, view: ViewMut<'m>, shares: &mut [Share<'m>]) {
        let mut parts = vec![view];
        for (axis, _) in self.cut.extents.iter().enumerate() {
            let rows = if axis + 1 == self.cut.extents.len() { self.cut.rows } else { 1 };
            let mut smaller = Vec::with_capacity(shares.len());
            for mut part in parts {
                while part.shape()[axis] > rows {
                    let (first, others) = part.split_at(axis, rows);
                    smaller.push(first);
                    part = others;
                }
                smaller.push(part);
            }
            parts = smaller;
        }
        for (share, part) in shares.iter_mut().zip(parts) {
            share.get_mut().unwrap_or_else(PoisonError::into_inner).push((place, Held::View(part)));
        }
    }
}

fn bytes_of(buffer: &mut Buffer) -> Result<&mut [u8]> {
    buffer.as_bytes_mut().ok_or_else(|| Error::new(ErrorKind::Internal, "a result's buffer is not writable"))
}

impl BlockRun<'_> {
    /// Runs all blocks, on this thread and others.
    fn share(&self, threads: usize, shares: &[Share<'_>]) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.outcome.share(threads, &|| {
            let mut held: Vec<Option<Held<'_>>> = Vec::new();
            let mut others = Others::new();
            while !self.outcome.has_stopped()
                && let number = next.fetch_add(1, Ordering::Relaxed)
                && let Some(share) = shares.get(number)
            {
                if held.is_empty() {
                    match self.own() {
                        Ok(own) => held = own,
                        Err(error) => self.outcome.fail(error),
                    }
                }
                for (place, rows) in
                    std::mem::take(&mut *share.lock().unwrap_or_else(PoisonError::into_inner))
                {
                    if let Some(held) = held.get_mut(place) {
                        *held = Some(rows);
                    }
                }
                let block = self.blocks.cut.block(number);
                for member in 0..self.blocks.members.len() {
                    if self.outcome.has_stopped() {
                        break;
                    }
                    self.member(member, &block, &mut held, &mut others);
                }
            }
            let own = held.into_iter().filter_map(|held| match held {
                Some(Held::Own(buffer)) => Some(buffer),
                _ => None,
            });
            own.for_each(|buffer| self.run.pool.give(buffer));
        })?;
        for (member, chosen) in self.blocks.members.iter().zip(&self.chosen) {
            let prepared = &self.stages[member.stage];
            if let (Some(took), Some((runner, _))) = (&chosen.took, &chosen.runner) {
                let took = Duration::from_nanos(took.load(Ordering::Relaxed));
                prepared.note_time(&self.run.request, runner.plan().is_some(), took);
            }
            prepared.check(chosen.outcome.faults())?;
        }
        Ok(())
    }

    /// A thread's own memory, in the order of the places.
    fn own<'m>(&self) -> Result<Vec<Option<Held<'m>>>> {
        let rows = self.blocks.cut.rows;
        let own = |&(place, bytes): &(Place, usize)| match place {
            Place::Block => Ok(Some(Held::Own(memory::buffer(self.run.pool, bytes * rows)?))),
            Place::Whole(_) => Ok(None),
        };
        self.blocks.places.iter().map(own).collect()
    }

    /// Runs a member over a block, unless the run was cancelled.
    fn member(&self, number: usize, block: &Block, held: &mut [Option<Held<'_>>], others: &mut Others) {
        let (member, chosen) = (&self.blocks.members[number], &self.chosen[number]);
        let part = &member.parts[usize::from(block.rows != self.blocks.cut.rows)];
        let since = chosen.took.is_some().then(Instant::now);
        let elements = part.stage.shape.elements();
        self.outcome.part(elements, || {
            let mut outputs: SmallVec<[Held<'_>; 2]> =
                member.outputs.iter().filter_map(|&place| held[place].take()).collect();
            let of_part = OfPart { all: self, number, member, part, chosen, block };
            let done = match part.stage.stores() {
                true => of_part.store(held, &mut outputs, others),
                false => of_part.combine(held, &mut outputs, others),
            };
            for (&place, output) in member.outputs.iter().zip(outputs) {
                held[place] = Some(output);
            }
            done
        });
        if let (Some(since), Some(took)) = (since, &chosen.took) {
            took.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }
}

/// A member over a block.
struct OfPart<'p> {
    all: &'p BlockRun<'p>,
    number: usize,
    member: &'p Member,
    part: &'p Part,
    chosen: &'p Chosen<'p>,
    block: &'p Block,
}

impl OfPart<'_> {
    fn prepared(&self) -> &PreparedStage {
        &self.all.stages[self.member.stage]
    }

    /// The memory of the inputs.
    fn regions<'h>(&'h self, held: &'h [Option<Held<'_>>]) -> SmallVec<[Region<'h>; 8]> {
        let region = |origin: &Origin| match *origin {
            Origin::Rows(source) => self.all.run.region(source, self.all.temps),
            Origin::Place(place) => match &held[place] {
                Some(Held::Own(buffer)) => buffer.as_bytes().into(),
                Some(Held::Rows(bytes)) => (&**bytes).into(),
                // What is read is no root.
                Some(Held::View(_)) | None => [][..].into(),
            },
        };
        self.member.inputs.iter().map(region).collect()
    }

    /// Where each input begins, in elements: what members wrote begins with the block.
    fn offsets(&self) -> SmallVec<[isize; 4]> {
        let inputs = self.part.stage.inputs.iter().zip(&self.member.inputs);
        let offset = |(input, origin): (&InputView, &Origin)| match origin {
            Origin::Place(_) => input.layout.offset,
            Origin::Rows(_) => {
                let steps = self.block.start.iter().zip(&input.layout.strides);
                input.layout.offset + steps.map(|(&index, stride)| index as isize * stride).sum::<isize>()
            }
        };
        inputs.map(offset).collect()
    }

    fn views<'v>(&self, regions: &[Region<'v>]) -> Result<SmallVec<[View<'v>; 8]>> {
        let stage = &self.part.stage;
        let mut views = SmallVec::new();
        let inputs = stage.inputs.iter().zip(&stage.kernel.inputs).zip(regions);
        for (((input, &dtype), region), offset) in inputs.zip(self.offsets()) {
            let layout = Arc::new(Layout { offset, ..(*input.layout).clone() });
            views.push(memory::read(*region, dtype, &InputView { source: input.source, layout })?);
        }
        Ok(views)
    }

    /// The bytes and the dtype of each output.
    fn sizes(&self) -> impl Iterator<Item = (usize, DType)> {
        let dtypes = self.part.stage.kernel.result_dtypes();
        let bytes = |&place: &usize| self.all.blocks.places[place].1 * self.block.rows;
        self.member.outputs.iter().map(bytes).zip(dtypes)
    }

    /// Stores what the kernel computes.
    fn store(&self, held: &[Option<Held<'_>>], outputs: &mut [Held<'_>], others: &mut Others) -> Result<()> {
        let shape = &self.part.stage.shape;
        let regions = self.regions(held);
        let views = self.views(&regions)?;
        let mut to: SmallVec<[ViewMut<'_>; 4]> = SmallVec::new();
        for (output, (bytes, dtype)) in outputs.iter_mut().zip(self.sizes()) {
            to.push(match output {
                Held::View(view) => view.reborrow(),
                other => memory::contiguous_view(other.bytes(bytes)?, dtype, shape)?,
            });
        }
        let nest = Nest::new(shape, &views, to);
        self.run(&mut nest.map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))?, others)
    }

    /// Runs the kernel over bound memory.
    fn run(&self, nest: &mut Nest<'_>, others: &mut Others) -> Result<()> {
        let (prepared, Chosen { params, outcome, .. }) = (self.prepared(), self.chosen);
        let access: Accesses = nest.stepped_accesses().collect();
        let runner = match &self.chosen.runner {
            Some((runner, of)) if *of == access => runner,
            _ => {
                let is_it =
                    |(number, of, _): &(usize, Accesses, Executable)| *number == self.number && *of == access;
                let at = match others.iter().position(is_it) {
                    Some(at) => at,
                    None => {
                        let program = prepared.program(self.all.run.request.width, &access)?;
                        others.push((self.number, access, program));
                        others.len() - 1
                    }
                };
                &others[at].2
            }
        };
        prepared.run_part(nest, &**runner, params, outcome)
    }

    /// Combines what the kernel computes: into slices, which are copied to an output that is none.
    fn combine(
        &self,
        held: &[Option<Held<'_>>],
        outputs: &mut [Held<'_>],
        others: &mut Others,
    ) -> Result<()> {
        let pool = self.all.run.pool;
        let regions = self.regions(held);
        let mut aside: SmallVec<[Option<Buffer>; 2]> = SmallVec::new();
        for (output, (bytes, _)) in outputs.iter().zip(self.sizes()) {
            let is_view = matches!(output, Held::View(_));
            aside.push(if is_view { Some(memory::buffer(pool, bytes)?) } else { None });
        }
        let mut slices: SmallVec<[&mut [u8]; 2]> = SmallVec::new();
        for ((output, aside), (bytes, _)) in outputs.iter_mut().zip(&mut aside).zip(self.sizes()) {
            slices.push(match aside {
                Some(buffer) => bytes_of(buffer)?,
                None => output.bytes(bytes)?,
            });
        }
        match &self.part.space {
            Some(space) => self.prepared().reduce_part(
                &space.beginning_at(self.offsets()),
                self.chosen.runner.as_ref().map(|(runner, access)| (runner, &access[..])),
                &regions,
                &mut slices,
                &self.chosen.params,
                &self.chosen.outcome,
            )?,
            None => {
                let views = self.views(&regions)?;
                let out = slices.first_mut().map_or(&mut [][..], |out| &mut **out);
                let outcome = &self.chosen.outcome;
                PreparedStage::scan_part(&self.part.stage, &views, out, outcome, |nest| {
                    self.run(nest, others)
                })?;
            }
        }
        drop(slices);
        for ((output, aside), (_, dtype)) in outputs.iter_mut().zip(aside).zip(self.sizes()) {
            if let (Held::View(view), Some(buffer)) = (output, aside) {
                let layout = Layout::contiguous(Shape::new(view.shape())?);
                memory::copy(memory::view(buffer.as_bytes().into(), dtype, &layout)?, view.reborrow(), None)?;
                pool.give(buffer);
            }
        }
        Ok(())
    }
}

impl Held<'_> {
    /// The first bytes of what is no view.
    fn bytes(&mut self, count: usize) -> Result<&mut [u8]> {
        let missing = || Error::new(ErrorKind::Internal, "a block's memory is too small");
        let bytes = match self {
            Held::Own(buffer) => bytes_of(buffer)?,
            Held::Rows(bytes) => &mut **bytes,
            Held::View(_) => &mut [],
        };
        bytes.get_mut(..count).ok_or_else(missing)
    }
}
