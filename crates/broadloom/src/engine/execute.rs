//! Running one stage: bind memory, choose an executor, share the work among threads.
//!
//! There is one way, [`PreparedStage::run`], whose first arm is the short call: machine code of a linear stage, which takes no
//! lock, no nest and no memory; that of any other stage takes a nest, where one thread is enough. Each thread computes under the
//! default floating-point environment and gets its own back; the bits, and the error that names the op whose divisor was zero, are
//! the same for any number of threads.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Instant;

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_interp::Tiles;
use broadloom_mem::{
    Access, AliasPolicy, Apart, Block, FloatEnv, Nest, Part, Region, Scratch, SharedParts, Stores, has_failed,
};
use smallvec::SmallVec;

use crate::engine::choice::State;
use crate::engine::outcome::{Outcome, failing};
use crate::engine::prepared::{PreparedStage, Runner};
use crate::engine::runtime::Request;
use crate::engine::watch::Watch;
use crate::engine::workers;
use crate::jit::Compiled;

impl PreparedStage {
    /// Runs the stage over slices: for each input the memory that its layout is over, for each output its elements.
    ///
    /// PERF: the usual short call. Nothing is planned, nor allocated with up to four operands, and nothing is locked where
    /// it is clear that machine code runs a linear stage.
    #[inline]
    pub fn run<'m>(
        &self,
        request: &Request<'_>,
        inputs: impl ExactSizeIterator<Item = &'m [u8]>,
        outputs: impl ExactSizeIterator<Item = &'m mut [u8]>,
        params: &[u64],
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        match self.direct(request) {
            _ if !self.stores => {
                if watch.is_none() && self.is_short_reduction() {
                    return self.reduce_neighbours(inputs, outputs);
                }
                let inputs: SmallVec<[Region<'_>; 8]> = inputs.map(Region::from).collect();
                let mut outputs: SmallVec<[&mut [u8]; 4]> = outputs.collect();
                self.combine(request, &inputs, &mut outputs, params, watch)
            }
            _ if self.stage.shape.elements() == 0 => Ok(()),
            Some(compiled) if watch.is_none() && self.linear.is_some() => {
                let inputs =
                    inputs.zip(self.starts()).map(|(bytes, first)| bytes.get(*first..).unwrap_or(&[]));
                self.run_direct(request, |elements, faults| {
                    compiled.run_slices(elements, inputs, outputs, params, faults)
                })
            }
            direct => {
                let since = self.clock(request);
                let memory = |e: &dyn std::error::Error| Error::new(ErrorKind::Memory, e.to_string());
                let loops = self.loops.as_ref().map_err(|e| memory(e))?;
                // PERF: a nest that is moved costs as much as a short call's work.
                match (&mut Nest::bind(loops, inputs, outputs), direct.filter(|_| watch.is_none())) {
                    (Ok(nest), Some(compiled)) => self.walk_direct(request, nest, compiled, params),
                    (Ok(nest), None) => self.run_nest(request, nest, params, since, watch),
                    (Err(e), _) => Err(memory(e)),
                }
            }
        }
    }

    /// [`PreparedStage::run`] of a stage that stores, over memory that no types show to be apart.
    pub fn run_apart(&self, request: &Request<'_>, operands: &mut Apart<'_>, params: &[u64]) -> Result<()> {
        if self.stage.shape.elements() == 0 {
            return Ok(());
        }
        let direct = self.direct(request);
        if let (Some(compiled), true) = (direct, self.linear.is_some()) {
            operands.skip(self.starts());
            return self.run_direct(request, |elements, faults| {
                compiled.run_apart(elements, operands, params, faults)
            });
        }
        let since = self.clock(request);
        let memory = |e: &dyn std::error::Error| Error::new(ErrorKind::Memory, e.to_string());
        let loops = self.loops.as_ref().map_err(|e| memory(e))?;
        match (&mut Nest::bind_apart(loops, operands), direct) {
            (Ok(nest), Some(compiled)) => self.walk_direct(request, nest, compiled, params),
            (Ok(nest), None) => self.run_nest(request, nest, params, since, None),
            (Err(e), _) => Err(memory(e)),
        }
    }

    /// Where the elements of each input begin in its memory, of a linear stage.
    #[inline]
    fn starts(&self) -> &[usize] {
        self.linear.as_deref().unwrap_or(&[])
    }

    /// Runs the stage by its machine code over bound memory, on this thread.
    fn walk_direct(
        &self,
        request: &Request<'_>,
        nest: &mut Nest<'_>,
        compiled: &Compiled,
        params: &[u64],
    ) -> Result<()> {
        self.run_direct(request, |_, faults| {
            with_workspace(|scratch, _| {
                let mut failure = None;
                let mut body = |block: &mut Block<'_>| match compiled.run(block, params, faults) {
                    Ok(()) if self.can_fail && has_failed() => ControlFlow::Break(()),
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failure = Some(error);
                        ControlFlow::Break(())
                    }
                };
                let _ = nest.run(policy_of(compiled), scratch, &mut body);
                let refused = scratch.take_refusal().map(|r| Error::new(ErrorKind::Limit, r.to_string()));
                failure.or(refused).map_or(Ok(()), Err)
            })
        })
    }

    /// Runs machine code of the stage, which is given the number of elements and the bytes for faults.
    #[inline]
    fn run_direct(
        &self,
        request: &Request<'_>,
        code: impl FnOnce(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let since = self.clock(request);
        let _ieee = FloatEnv::ieee();
        let mut faults: SmallVec<[u8; 8]> = SmallVec::new();
        if self.sites > 0 {
            faults.resize(self.sites, 0);
        }
        let run = || code(self.stage.shape.elements(), &mut faults);
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
        let (runner, choice) = self.runner(request, &access, watch)?;
        let outcome = Outcome::new(self.sites, self.can_fail, watch);
        let job = Job {
            runner: &runner,
            stores: self.traffic.stores(),
            params,
            outcome: &outcome,
            can_fail: self.can_fail,
        };
        let (policy, time) = (alias_policy(&runner), choice.time());
        let threads = workers::threads(request.options, time);
        // More parts than threads, since some threads come late or are slower.
        let parts = if threads > 1 { threads * 4 } else { 1 };
        let chunks = self.chunks(nest, watch.is_some());
        let parts = nest.split(parts.max(chunks), policy).shared();
        outcome.share(threads, &|| job.work(&parts))?;
        if let (Some(since), State::Trial(_)) = (since, choice.state) {
            self.note(request, matches!(&runner, Runner::Jit(_)), since);
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
        runner: &Runner,
        params: &[u64],
        outcome: &Outcome<'_>,
    ) -> Result<()> {
        let job = Job { runner, stores: self.traffic.stores(), params, outcome, can_fail: self.can_fail };
        let chunks = self.chunks(nest, outcome.is_watched());
        let mut parts = nest.split(chunks, alias_policy(runner));
        parts.try_for_each(|part| {
            outcome.go_on()?;
            with_workspace(|scratch, tiles| job.blocks(part, scratch, tiles))
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

/// The interpreter's slices must not alias.
fn alias_policy(runner: &Runner) -> AliasPolicy {
    match runner {
        Runner::Jit(compiled) => policy_of(compiled),
        Runner::Interp(_) => AliasPolicy::Copy,
    }
}

/// Machine code reads before it writes, element by element, and may read steps.
fn policy_of(compiled: &Compiled) -> AliasPolicy {
    if compiled.reads_steps() { AliasPolicy::Stepped } else { AliasPolicy::InPlace }
}

/// What the parts of one run share.
struct Job<'j> {
    runner: &'j Runner,
    /// How the interpreter writes outputs.
    stores: Stores,
    params: &'j [u64],
    outcome: &'j Outcome<'j>,
    /// Whether a host function may fail.
    can_fail: bool,
}

thread_local! {
    /// Working memory, kept between runs: some hundred kilobytes at most.
    static WORKSPACE: Cell<Option<Box<(Scratch, Tiles)>>> = const { Cell::new(None) };
}

/// Lends this thread's working memory; new memory where that is in use further up this thread, or the thread ends.
///
/// PERF: it is in a box, since to move it out and back takes as long as a short call's work.
pub(super) fn with_workspace<R>(work: impl FnOnce(&mut Scratch, &mut Tiles) -> R) -> R {
    let mut workspace = WORKSPACE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let (scratch, tiles) = &mut *workspace;
    let done = work(scratch, tiles);
    let _ = WORKSPACE.try_with(|kept| kept.set(Some(workspace)));
    done
}

impl Job<'_> {
    /// Runs parts as long as there are some, under the default floating-point environment.
    fn work(&self, parts: &SharedParts<'_>) {
        while !self.outcome.has_stopped()
            && let Some(part) = parts.take()
        {
            self.outcome
                .part(part.elements(), || with_workspace(|scratch, tiles| self.blocks(part, scratch, tiles)));
        }
    }

    fn blocks(&self, part: Part<'_>, scratch: &mut Scratch, tiles: &mut Tiles) -> Result<()> {
        let mut faults: SmallVec<[u8; 8]> = SmallVec::from_elem(0, self.outcome.sites());
        let mut failure = None;
        let mut body = |block: &mut Block<'_>| {
            let done = self.runner.run(self.stores, block, self.params, &mut faults, tiles);
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
