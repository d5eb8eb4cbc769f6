//! Runs one stage: binds memory, chooses an executor, and shares the work among threads.
//!
//! [`PreparedStage::run`] has two fast paths: a reduction of a few elements in memory, and machine code on this thread, which for
//! a linear stage needs no lock, no nest and no allocation. Every other run is a [`StageRun`]: its executor is chosen once, and runs loops
//! over memory on one or more threads. A step of several stages begins a `StageRun` for each of them, and runs it on the rows of
//! each block. Each thread computes under the default floating-point environment and restores its own afterwards. The bits, and
//! the error that names the op whose divisor was zero, are the same for any number of threads.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::kernel::Fault;
use broadloom_ir::loop_plan::LoopPlan;
use broadloom_ir::tuning::reductions::TILE_BYTES;
use broadloom_mem::{
    Access, AllocError, Block, Buffer, ExecutableKernel, FloatEnv, KernelRun, Nest, Operands, Part, Scratch,
    SharedParts, Stores, WorkingMemory, has_failed,
};
use smallvec::SmallVec;

use crate::engine::choice::State;
use crate::engine::loops::Loops;
use crate::engine::options::Options;
use crate::engine::outcome::{Outcome, failing};
use crate::engine::plan_run::Arguments;
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::{Accesses, Executable, Request};
use crate::engine::space::ShortReduction;
use crate::engine::watch::Watch;
use crate::engine::workers;

/// The error for memory that does not match its plan.
pub(super) fn memory(e: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Memory, e.to_string())
}

impl PreparedStage {
    /// Runs the stage on operands that have the stage's layouts.
    ///
    /// PERF: most short calls take this path. It plans nothing, allocates nothing for up to six operands, and takes no lock if a
    /// linear stage runs as machine code.
    #[inline]
    pub(crate) fn run(
        &self,
        request: &Request<'_>,
        operands: &mut Operands<'_>,
        arguments: Arguments<'_>,
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        if watch.is_none() && !operands.may_overlap() {
            if let (Some(short), true) = (&self.short_reductions, operands.are_apart()) {
                return ShortReduction::run(short, operands);
            }
            match (self.direct(request), &self.loops) {
                (Some(code), Ok(Loops::Store(plan))) if plan.is_linear() && operands.are_apart() => {
                    return self.run_direct(request, arguments, &mut WorkingMemory::default(), |run| {
                        operands.with_all(plan, |block| code.run(block, run)).map_err(|e| memory(&e))?
                    });
                }
                (Some(code), Ok(Loops::Store(plan))) => {
                    // PERF: the nest is bound in place, since moving it would take as long as a short call's work.
                    return match &mut Nest::bind(plan, operands) {
                        Ok(nest) => self.walk_direct(request, nest, &**code, arguments),
                        Err(e) => Err(memory(e)),
                    };
                }
                (Some(code), Ok(Loops::Reduce(space))) if operands.are_apart() => {
                    return with_workspace(|Workspace { memory, tiles, .. }| {
                        self.run_direct(request, arguments, memory, |run| {
                            self.reduce_directly(&**code, space, operands, tiles, run)
                        })
                    });
                }
                _ => {}
            }
        }
        self.run_chosen(request, operands, arguments, watch)
    }

    /// Runs the stage's machine code over a nest, on this thread.
    fn walk_direct(
        &self,
        request: &Request<'_>,
        nest: &mut Nest<'_>,
        code: &dyn ExecutableKernel,
        arguments: Arguments<'_>,
    ) -> Result<()> {
        with_workspace(|Workspace { scratch, memory, .. }| {
            self.run_direct(request, arguments, memory, |run| {
                let parts = nest.split(1, code.policy());
                { parts }.try_for_each(|part| run_blocks(part, code, self.can_fail, scratch, run))
            })
        })
    }

    /// Calls `code`, which runs the stage's machine code, in the default floating-point environment. Then records the time of a
    /// trial, and checks for divisions by zero.
    #[inline]
    fn run_direct(
        &self,
        request: &Request<'_>,
        Arguments { params, tables }: Arguments<'_>,
        memory: &mut WorkingMemory,
        code: impl FnOnce(&mut KernelRun<'_>) -> Result<()>,
    ) -> Result<()> {
        let since = self.clock(request);
        let _ieee = FloatEnv::ieee();
        let mut faults: SmallVec<[u8; 8]> = SmallVec::new();
        if self.sites > 0 {
            faults.resize(self.sites, 0);
        }
        // Kernels with loops are not run directly.
        let (faults_of, stores) = (&mut faults[..], Stores::Cached);
        let mut run = KernelRun { params, tables, faults: faults_of, stores, memory, loops: None };
        let run = || code(&mut run);
        let done = if self.can_fail { failing(run) } else { run() };
        if let Some(since) = since {
            self.note(request, true, since.elapsed());
        }
        if self.sites == 0 {
            return done;
        }
        done.and_then(|()| self.check(faults.iter().map(|&fault| fault != 0)))
    }

    /// Runs the stage by the executor that is chosen now, on as many threads as are worth their cost.
    fn run_chosen(
        &self,
        request: &Request<'_>,
        operands: &mut Operands<'_>,
        arguments: Arguments<'_>,
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        // The choice and the compiler compute with floats, which requires the default environment.
        let _ieee = FloatEnv::ieee();
        let loops = self.loops.as_ref().map_err(|e| memory(e))?;
        if loops.is_done() {
            return Ok(());
        }
        let access = match loops {
            // An input that is also an output is accessed in the same way as that output.
            Loops::Store(plan) if operands.may_overlap() => {
                let nest = Nest::bind(plan, operands).map_err(|e| memory(&e))?;
                Some(nest.stepped_accesses().collect())
            }
            _ => self.accesses_in(loops)?,
        };
        let outcome = Outcome::new(self.sites, self.can_fail, watch);
        let run = self.begin(request, access, arguments, outcome)?;
        let threads = match loops {
            Loops::Store(_) => workers::threads_of_loop(request.options, run.time as u64, self.traffic),
            Loops::Reduce(_) | Loops::Scan(_) | Loops::Steps(_) | Loops::Routine => {
                workers::threads(request.options, run.time)
            }
        };
        run.run(loops, operands, threads)?;
        run.end()
    }

    /// Begins a run, and chooses its executor by how the inputs are accessed. If `access` is `None`, no executor is chosen, as for
    /// a reduction that reads memory in place.
    pub(crate) fn begin<'r>(
        &'r self,
        request: &Request<'r>,
        access: Option<Accesses>,
        arguments: Arguments<'r>,
        outcome: Outcome<'r>,
    ) -> Result<StageRun<'r>> {
        let (mut chosen, mut took) = (None, None);
        let mut time = self.cost_of_run(request).compiled;
        if let Some(access) = access {
            let (kernel, choice) = self.runner(request, &access, outcome.watch())?;
            time = choice.time();
            let is_timed = matches!(choice.state, State::Trial(_)) || !choice.jit && self.has_loops();
            took = is_timed.then(AtomicU64::default);
            chosen = Some((kernel, access));
        }
        time += self.loops.as_ref().map_or(0.0, Loops::time_to_combine);
        let others = Mutex::default();
        Ok(StageRun { prepared: self, request: *request, arguments, chosen, others, outcome, time, took })
    }

    /// Returns an error if there was a fault: a gather from outside of a table, or else the first division by zero in the kernel's
    /// order. A division may fail because of the element that such a gather has taken instead.
    pub(super) fn check(&self, faults: impl Iterator<Item = bool>) -> Result<()> {
        let met =
            faults.zip(self.stage.kernel.fault_sites()).filter(|(met, _)| *met).map(|(_, (_, fault))| fault);
        match met.min_by_key(|fault| !matches!(fault, Fault::Index)) {
            Some(Fault::Index) => Err(unnamed()),
            Some(Fault::Division(op)) => {
                Err(Error::new(ErrorKind::ZeroDivision, format!("{op}: integer division by zero"))
                    .with_help("the option int_division = Zero gives 0 instead"))
            }
            None => Ok(()),
        }
    }
}

/// The error for an index out of range that can't be named.
pub(super) fn unnamed() -> Error {
    out_of_range("take: an index is out of range".to_owned())
}

/// The error for an index out of range. The advice names the function that has modes, since other functions take elements too,
/// which a kernel does not tell apart.
pub(super) fn out_of_range(why: String) -> Error {
    Error::new(ErrorKind::Index, why)
        .with_help("take with mode=\"clip\" takes the nearest element, with mode=\"wrap\" it counts on from the other end")
}

/// A run of a stage by an executor that was chosen once, over all of its elements or over the rows of one block after another.
pub(crate) struct StageRun<'r> {
    pub prepared: &'r PreparedStage,
    request: Request<'r>,
    pub arguments: Arguments<'r>,
    /// The prepared kernel and its accesses; `None` if no executor was chosen.
    chosen: Option<(Executable, Accesses)>,
    /// Interpreter programs for other accesses of inputs, prepared when they are needed. Machine code is not compiled for other
    /// accesses.
    others: Mutex<Vec<(Executable, Accesses)>>,
    pub outcome: Outcome<'r>,
    /// The estimated nanoseconds of the whole stage on one thread.
    pub time: f64,
    /// The measured nanoseconds of the loops over the elements, if the run belongs to a trial, or is that of a kernel with
    /// loops on the interpreter.
    took: Option<AtomicU64>,
}

impl StageRun<'_> {
    /// Runs loops of the stage over memory, on some threads.
    pub(crate) fn run(&self, loops: &Loops, operands: &mut Operands<'_>, threads: usize) -> Result<()> {
        self.timed(|| match loops {
            Loops::Store(plan) => self.store(plan, operands, threads),
            Loops::Reduce(space) => self.reduce(space, operands, threads),
            Loops::Scan(scan) => self.scan(scan, operands, threads),
            Loops::Steps(steps) => self.steps(steps, operands, threads),
            // A run of a plan calls the routine instead.
            Loops::Routine => Err(Error::new(ErrorKind::Internal, "a routine has no loops")),
        })
    }

    /// Adds the time that the loops of `run` take to that of the run, if it is measured.
    pub(crate) fn timed<T>(&self, run: impl FnOnce() -> T) -> T {
        let since = self.took.as_ref().map(|took| (took, Instant::now()));
        let done = run();
        if let Some((took, since)) = since {
            took.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        done
    }

    /// The options of the run.
    pub(crate) fn options(&self) -> &Options {
        self.request.options
    }

    /// Ends the run: records its time if it belongs to a trial, and checks for loops that did not end and for divisions by zero.
    ///
    /// Errors: an element that has not ended a loop; a division by zero, if the options make it an error.
    pub(crate) fn end(&self) -> Result<()> {
        if let (Some(took), Some((kernel, _))) = (&self.took, &self.chosen) {
            let took = Duration::from_nanos(took.load(Ordering::Relaxed));
            let jit = kernel.plan().is_some();
            self.prepared.note(&self.request, jit, took);
            if !jit && self.prepared.has_loops() {
                self.prepared.learn(&self.request, took);
            }
        }
        // An element that does not end hides divisions by zero after it.
        self.outcome.loops(self.request.options, &|| Ok(())).check()?;
        self.prepared.check(self.outcome.faults())
    }

    /// The kernel prepared for these accesses of inputs.
    pub(crate) fn kernel(&self, access: &[Access]) -> Result<Executable> {
        if let Some((kernel, _)) = self.chosen.as_ref().filter(|(_, of)| **of == *access) {
            return Ok(kernel.clone());
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((program, _)) = others.iter().find(|(_, of)| **of == *access) {
            return Ok(program.clone());
        }
        let program = self.prepared.program(self.request.width, access)?;
        others.push((program.clone(), access.into()));
        Ok(program)
    }

    /// Runs the kernel over the loops and stores its outputs.
    pub(super) fn store(&self, plan: &LoopPlan, operands: &mut Operands<'_>, threads: usize) -> Result<()> {
        let mut nest = Nest::bind(plan, operands).map_err(|e| memory(&e))?;
        let access: Accesses = nest.stepped_accesses().collect();
        let kernel = self.kernel(&access)?;
        // There are more parts than threads, because some threads start late or are slower.
        let parts = if threads > 1 { threads * 4 } else { 1 };
        let pause = self.prepared.pause;
        let chunks = match self.outcome.is_watched() && plan.elements() > pause {
            // Watched runs have units small enough to be cancelled in time.
            true => {
                nest.cut_finer(pause);
                plan.elements().div_ceil(pause)
            }
            false => 1,
        };
        let parts = nest.split(parts.max(chunks), kernel.policy()).shared();
        self.outcome.share(threads, &|| self.work(&*kernel, &parts))
    }

    /// Runs the remaining parts one after another, under the default floating-point environment.
    fn work(&self, kernel: &dyn ExecutableKernel, parts: &SharedParts<'_>) {
        let StageRun { prepared, arguments: Arguments { params, tables }, outcome, .. } = self;
        while !outcome.has_stopped()
            && let Some(part) = parts.take()
        {
            outcome.part(part.elements(), || {
                with_workspace(|Workspace { scratch, memory, .. }| {
                    let mut faults: SmallVec<[u8; 8]> = SmallVec::from_elem(0, outcome.sites());
                    let stores = prepared.traffic.stores();
                    let go_on = || outcome.go_on_looping();
                    let loops = Some(&outcome.loops(self.request.options, &go_on));
                    let mut run = KernelRun { params, tables, faults: &mut faults, stores, memory, loops };
                    let done = run_blocks(part, kernel, prepared.can_fail, scratch, &mut run);
                    outcome.note_faults(&faults);
                    done
                })
            });
        }
    }
}

/// Runs a kernel over the blocks of a part; `can_fail` is whether one of its host functions can fail.
fn run_blocks(
    part: Part<'_>,
    kernel: &dyn ExecutableKernel,
    can_fail: bool,
    scratch: &mut Scratch,
    run: &mut KernelRun<'_>,
) -> Result<()> {
    walk(part, can_fail, scratch, |block| kernel.run(block, run))
}

/// Visits the blocks of a part until one fails.
pub(super) fn walk(
    part: Part<'_>,
    can_fail: bool,
    scratch: &mut Scratch,
    mut each: impl FnMut(&mut Block<'_>) -> Result<()>,
) -> Result<()> {
    let mut failure = None;
    let mut body = |block: &mut Block<'_>| match each(block) {
        Ok(()) if can_fail && has_failed() => ControlFlow::Break(()),
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failure = Some(error);
            ControlFlow::Break(())
        }
    };
    let _ = part.run(scratch, &mut body);
    if let Some(refused) = scratch.take_refusal() {
        failure = Some(Error::new(ErrorKind::Limit, refused.to_string()));
    }
    failure.map_or(Ok(()), Err)
}

/// The tiles of a thread, one for each output that is reduced.
pub(super) type Tiles = SmallVec<[Buffer; 2]>;

/// Makes a tile for each of these dtypes, with room for this many elements. Tiles that are large enough are kept.
pub(super) fn make_tiles(
    tiles: &mut Tiles,
    dtypes: impl ExactSizeIterator<Item = DType>,
    count: usize,
) -> Result<()> {
    tiles.resize_with(tiles.len().max(dtypes.len()), || Buffer::from_vec::<u8>(Vec::new()));
    for (tile, dtype) in tiles.iter_mut().zip(dtypes) {
        if tile.len() < count * dtype.size() {
            let bytes = (count * dtype.size()).max(TILE_BYTES);
            let refused = |e: AllocError| Error::new(ErrorKind::Limit, e.to_string());
            *tile = Buffer::for_overwrite(bytes).map_err(refused)?;
        }
    }
    Ok(())
}

/// A thread's working memory, kept between runs. It takes at most some hundred kilobytes.
#[derive(Default)]
pub(super) struct Workspace {
    pub scratch: Scratch,
    pub memory: WorkingMemory,
    pub tiles: Tiles,
}

thread_local! {
    static WORKSPACE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

/// Calls `work` with this thread's working memory, or with new memory if a caller up the stack is using it or the thread is
/// ending.
///
/// PERF: the memory is boxed, since moving it would take as long as a short call's work.
pub(super) fn with_workspace<R>(work: impl FnOnce(&mut Workspace) -> R) -> R {
    let mut workspace = WORKSPACE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let done = work(&mut workspace);
    let _ = WORKSPACE.try_with(|kept| kept.set(Some(workspace)));
    done
}
