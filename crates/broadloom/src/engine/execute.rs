//! Running one stage: bind memory, choose an executor, share the work among threads.
//!
//! There is one way over operands that are apart, [`PreparedStage::run`]. Reductions and scans branch off first. Machine code of a linear
//! stage then runs without a lock, a nest or an allocation; other stages bind a nest. Each thread computes under the default
//! floating-point environment and gets its own back; the bits, and the error that names the op whose divisor was zero, are the same for
//! any number of threads.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Instant;

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::{
    Access, Block, ExecutableKernel, FloatEnv, KernelRun, Nest, Operands, Part, Scratch, SharedParts, Stores,
    WorkingMemory, has_failed,
};
use smallvec::SmallVec;

use crate::engine::choice::State;
use crate::engine::outcome::{Outcome, failing};
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::Request;
use crate::engine::space::ShortReduction;
use crate::engine::watch::Watch;
use crate::engine::workers;

impl PreparedStage {
    /// Runs the stage over memory of its layouts.
    ///
    /// PERF: the usual short call. Nothing is planned, nor allocated with up to six operands, and nothing is locked where
    /// it is clear that machine code runs a linear stage.
    #[inline]
    pub fn run(
        &self,
        request: &Request<'_>,
        operands: &mut Operands<'_>,
        params: &[u64],
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        if !self.stores {
            if let (Some(short), None) = (&self.short_reductions, watch) {
                return ShortReduction::run(short, operands);
            }
            let (inputs, mut outputs) = operands.parts();
            return self.combine(request, &inputs, &mut outputs, params, watch);
        }
        if self.stage.shape.elements() == 0 {
            return Ok(());
        }
        let memory = |e: &dyn std::error::Error| Error::new(ErrorKind::Memory, e.to_string());
        let loops = self.loops.as_ref().map_err(|e| memory(e))?;
        let direct = self.direct(request).filter(|_| watch.is_none());
        if let (Some(code), true) = (direct, loops.is_linear()) {
            return self.run_direct(request, params, &mut WorkingMemory::default(), |run| {
                operands.with_all(loops, |block| code.run(block, run)).map_err(|e| memory(&e))?
            });
        }
        let since = self.clock(request);
        // PERF: a nest that is moved costs as much as a short call's work.
        match (&mut Nest::bind_operands(loops, operands), direct) {
            (Ok(nest), Some(code)) => self.walk_direct(request, nest, &**code, params),
            (Ok(nest), None) => self.run_nest(request, nest, params, since, watch),
            (Err(e), _) => Err(memory(e)),
        }
    }

    /// Runs the stage by its machine code over bound memory, on this thread.
    fn walk_direct(
        &self,
        request: &Request<'_>,
        nest: &mut Nest<'_>,
        code: &dyn ExecutableKernel,
        params: &[u64],
    ) -> Result<()> {
        with_workspace(|scratch, memory| {
            self.run_direct(request, params, memory, |run| {
                let mut failure = None;
                let mut body = |block: &mut Block<'_>| match code.run(block, run) {
                    Ok(()) if self.can_fail && has_failed() => ControlFlow::Break(()),
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failure = Some(error);
                        ControlFlow::Break(())
                    }
                };
                let _ = nest.run(code.policy(), scratch, &mut body);
                let refused = scratch.take_refusal().map(|r| Error::new(ErrorKind::Limit, r.to_string()));
                failure.or(refused).map_or(Ok(()), Err)
            })
        })
    }

    /// Runs machine code of the stage, as `code` calls it.
    #[inline]
    fn run_direct(
        &self,
        request: &Request<'_>,
        params: &[u64],
        memory: &mut WorkingMemory,
        code: impl FnOnce(&mut KernelRun<'_>) -> Result<()>,
    ) -> Result<()> {
        let since = self.clock(request);
        let _ieee = FloatEnv::ieee();
        let mut faults: SmallVec<[u8; 8]> = SmallVec::new();
        if self.sites > 0 {
            faults.resize(self.sites, 0);
        }
        let mut run = KernelRun { params, faults: &mut faults, stores: Stores::Cached, memory };
        let run = || code(&mut run);
        let done = if self.can_fail { failing(run) } else { run() };
        if let Some(since) = since {
            self.note(request, true, since);
        }
        if self.sites == 0 {
            return done;
        }
        done.and_then(|()| self.check(faults.iter().map(|&fault| fault != 0)))
    }

    /// Runs the stage over bound memory; `since` is when the run began, if that is asked for.
    pub fn run_nest(
        &self,
        request: &Request<'_>,
        nest: &mut Nest<'_>,
        params: &[u64],
        since: Option<Instant>,
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        // Choosing estimates in floats, and so does the compiler, whatever the application has set.
        let _ieee = FloatEnv::ieee();
        let access: SmallVec<[Access; 8]> = nest.stepped_accesses().collect();
        let (kernel, choice) = self.runner(request, &access, watch)?;
        let outcome = Outcome::new(self.sites, self.can_fail, watch);
        let job = Job {
            kernel: &*kernel,
            stores: self.traffic.stores(),
            params,
            outcome: &outcome,
            can_fail: self.can_fail,
        };
        let time = choice.time();
        let threads = workers::threads(request.options, time);
        // More parts than threads, since some threads come late or are slower.
        let parts = if threads > 1 { threads * 4 } else { 1 };
        let chunks = self.chunks(nest, watch.is_some());
        let parts = nest.split(parts.max(chunks), kernel.policy()).shared();
        outcome.share(threads, &|| job.work(&parts))?;
        if let (Some(since), State::Trial(_)) = (since, choice.state) {
            self.note(request, kernel.plan().is_some(), since);
        }
        self.check(outcome.faults())
    }

    /// How many parts a run that is watched has at least, of which each ends soon.
    fn chunks(&self, nest: &mut Nest<'_>, is_watched: bool) -> usize {
        let elements = nest.plan().elements();
        if !is_watched || elements <= self.pause {
            return 1;
        }
        nest.cut_finer(self.pause);
        elements.div_ceil(self.pause)
    }

    /// Runs a part of the stage over bound memory, here and now, by what was chosen for the whole.
    pub(super) fn run_part(
        &self,
        nest: &mut Nest<'_>,
        kernel: &dyn ExecutableKernel,
        params: &[u64],
        outcome: &Outcome<'_>,
    ) -> Result<()> {
        let job = Job { kernel, stores: self.traffic.stores(), params, outcome, can_fail: self.can_fail };
        let chunks = self.chunks(nest, outcome.is_watched());
        let mut parts = nest.split(chunks, kernel.policy());
        parts.try_for_each(|part| {
            outcome.go_on()?;
            with_workspace(|scratch, memory| job.blocks(part, scratch, memory))
        })
    }

    /// The first fault site that was met, whoever met it.
    pub(super) fn check(&self, faults: impl Iterator<Item = bool>) -> Result<()> {
        let met = faults.zip(self.stage.kernel.fault_sites()).find(|(met, _)| *met);
        match met {
            Some((_, (_, op))) => {
                Err(Error::new(ErrorKind::ZeroDivision, format!("{op}: integer division by zero"))
                    .with_help("the option int_division = Zero gives 0 instead"))
            }
            None => Ok(()),
        }
    }
}

/// What the parts of one run share.
struct Job<'j> {
    kernel: &'j dyn ExecutableKernel,
    /// How the interpreter writes outputs.
    stores: Stores,
    params: &'j [u64],
    outcome: &'j Outcome<'j>,
    /// Whether a host function may fail.
    can_fail: bool,
}

thread_local! {
    /// Working memory, kept between runs: some hundred kilobytes at most.
    static WORKSPACE: Cell<Option<Box<(Scratch, WorkingMemory)>>> = const { Cell::new(None) };
}

/// Lends this thread's working memory; new memory where that is in use further up this thread, or the thread ends.
///
/// PERF: it is in a box, since to move it out and back takes as long as a short call's work.
pub(super) fn with_workspace<R>(work: impl FnOnce(&mut Scratch, &mut WorkingMemory) -> R) -> R {
    let mut workspace = WORKSPACE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let (scratch, memory) = &mut *workspace;
    let done = work(scratch, memory);
    let _ = WORKSPACE.try_with(|kept| kept.set(Some(workspace)));
    done
}

impl Job<'_> {
    /// Runs parts as long as there are some, under the default floating-point environment.
    fn work(&self, parts: &SharedParts<'_>) {
        while !self.outcome.has_stopped()
            && let Some(part) = parts.take()
        {
            self.outcome.part(part.elements(), || {
                with_workspace(|scratch, memory| self.blocks(part, scratch, memory))
            });
        }
    }

    fn blocks(&self, part: Part<'_>, scratch: &mut Scratch, memory: &mut WorkingMemory) -> Result<()> {
        let mut faults: SmallVec<[u8; 8]> = SmallVec::from_elem(0, self.outcome.sites());
        let mut failure = None;
        let mut run = KernelRun { params: self.params, faults: &mut faults, stores: self.stores, memory };
        let mut body = |block: &mut Block<'_>| {
            let done = self.kernel.run(block, &mut run);
            match done {
                Ok(()) if self.can_fail && has_failed() => ControlFlow::Break(()),
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let _ = part.run(scratch, &mut body);
        self.outcome.note_faults(&faults);
        if let Some(refused) = scratch.take_refusal() {
            failure = Some(Error::new(ErrorKind::Limit, refused.to_string()));
        }
        failure.map_or(Ok(()), Err)
    }
}
