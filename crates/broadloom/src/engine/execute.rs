//! Running one stage: bind memory, choose an executor, share the work among threads.
//!
//! There is one way, [`PreparedStage::run`], whose first arm is the short call: machine code of a linear stage, which takes no
//! lock, no nest and no memory. Each thread computes under the default floating-point environment and gets its own back; the
//! bits, and the error that names the op whose divisor was zero, are the same for any number of threads.

use std::any::Any;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_interp::Tiles;
use broadloom_mem::{Access, AliasPolicy, Block, FloatEnv, Nest, Part, Scratch, SharedParts, Stores};
use smallvec::SmallVec;

use crate::engine::choice::State;
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
            _ if self.stage.shape.elements() == 0 => Ok(()),
            Some(compiled) if watch.is_none() => self.run_direct(compiled, request, inputs, outputs, params),
            _ => {
                let since = self.clock(request);
                let memory = |e: &dyn std::error::Error| Error::new(ErrorKind::Memory, e.to_string());
                let loops = self.loops.as_ref().map_err(|e| memory(e))?;
                // PERF: a nest that is moved costs as much as a short call's work.
                match &mut Nest::bind(loops, inputs, outputs) {
                    Ok(nest) => self.run_nest(request, nest, params, since, watch),
                    Err(e) => Err(memory(e)),
                }
            }
        }
    }

    /// Runs a linear stage over slices by its machine code.
    #[inline]
    fn run_direct<'m>(
        &self,
        compiled: &Compiled,
        request: &Request<'_>,
        inputs: impl ExactSizeIterator<Item = &'m [u8]>,
        outputs: impl ExactSizeIterator<Item = &'m mut [u8]>,
        params: &[u64],
    ) -> Result<()> {
        let since = self.clock(request);
        let _ieee = FloatEnv::ieee();
        let starts = self.linear.as_deref().unwrap_or(&[]);
        let inputs = inputs.zip(starts).map(|(bytes, first)| bytes.get(*first..).unwrap_or(&[]));
        let elements = self.stage.shape.elements();
        let mut faults: SmallVec<[u8; 8]> = SmallVec::new();
        if self.sites > 0 {
            faults.resize(self.sites, 0);
        }
        let done = compiled.run_slices(elements, inputs, outputs, params, &mut faults);
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
        let access: SmallVec<[Access; 8]> = nest.accesses().collect();
        let (runner, choice) = self.runner(request, &access, watch)?;
        let faults: SmallVec<[AtomicU8; 8]> = (0..self.sites).map(|_| AtomicU8::new(0)).collect();
        let job = Job::new(&runner, self.traffic.stores(), params, &faults, watch);
        // Machine code reads before it writes, element by element; the interpreter's slices must not alias.
        let (policy, time) = match &runner {
            Runner::Jit(_) => (AliasPolicy::InPlace, choice.cost.compiled),
            Runner::Interp(_) => (AliasPolicy::Copy, choice.cost.interpreted),
        };
        let threads = workers::threads(request.options, time);
        // More parts than threads, since some threads come late or are slower.
        let parts = if threads > 1 { threads * 4 } else { 1 };
        let chunks = watch.map_or(1, |_| Watch::chunks(self.stage.shape.elements(), time));
        let parts = nest.split(parts.max(chunks), policy).shared();
        if threads > 1 {
            workers::share(threads, &|| job.work_beside_others(&parts))?;
        } else {
            job.work(&parts);
        }
        if let Some(panic) = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(panic);
        }
        if let (Some(since), State::Trial(_)) = (since, choice.state) {
            self.note(request, matches!(&runner, Runner::Jit(_)), since);
        }
        match job.failure.into_inner() {
            Some(error) => Err(error),
            None => self.check(faults.iter().map(|fault| fault.load(Ordering::Relaxed) != 0)),
        }
    }

    /// The first fault site that was met, whoever met it.
    fn check(&self, faults: impl Iterator<Item = bool>) -> Result<()> {
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
    runner: &'j Runner,
    /// How the interpreter writes outputs.
    stores: Stores,
    params: &'j [u64],
    faults: &'j [AtomicU8],
    /// No further part is begun: one was not run to its end.
    stopped: AtomicBool,
    /// Why not.
    failure: OnceLock<Error>,
    /// The first panic of several threads', of the caller's function that is told of the progress.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    watch: Option<&'j Watch<'j>>,
}

thread_local! {
    /// Working memory, kept between runs: some hundred kilobytes at most.
    static WORKSPACE: RefCell<(Scratch, Tiles)> = RefCell::default();
}

impl<'j> Job<'j> {
    fn new(
        runner: &'j Runner,
        stores: Stores,
        params: &'j [u64],
        faults: &'j [AtomicU8],
        watch: Option<&'j Watch<'j>>,
    ) -> Job<'j> {
        let (stopped, failure, panic) = (AtomicBool::new(false), OnceLock::new(), Mutex::new(None));
        Job { runner, stores, params, faults, stopped, failure, panic, watch }
    }

    /// Runs parts as long as there are some, under the default floating-point environment.
    fn work(&self, parts: &SharedParts<'_>) {
        while !self.stopped.load(Ordering::Relaxed)
            && let Some(part) = parts.take()
        {
            self.part(part);
        }
    }

    /// Runs parts on one of several threads. A panic is kept for the caller's, and ends the work of all.
    fn work_beside_others(&self, parts: &SharedParts<'_>) {
        let _ieee = FloatEnv::ieee();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.work(parts))) {
            self.stopped.store(true, Ordering::Relaxed);
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
    }

    fn fail(&self, error: Error) {
        let _ = self.failure.set(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Runs a part, under the default floating-point environment.
    fn part(&self, part: Part<'_>) {
        if let Some(watch) = self.watch
            && let Err(cancelled) = watch.check()
        {
            return self.fail(cancelled);
        }
        let elements = part.elements();
        let mut part = Some(part);
        // Not available while the thread ends, or while it is in use further up this thread.
        let _ = WORKSPACE.try_with(|workspace| {
            if let Ok(mut workspace) = workspace.try_borrow_mut()
                && let Some(part) = part.take()
            {
                let (scratch, tiles) = &mut *workspace;
                self.blocks(part, scratch, tiles);
            }
        });
        if let Some(part) = part {
            self.blocks(part, &mut Scratch::new(), &mut Tiles::default());
        }
        // Not after another thread's panic, which the application is to hear of once.
        if let Some(watch) = self.watch
            && !self.stopped.load(Ordering::Relaxed)
        {
            watch.done(elements);
        }
    }

    fn blocks(&self, part: Part<'_>, scratch: &mut Scratch, tiles: &mut Tiles) {
        let mut faults: SmallVec<[u8; 8]> = SmallVec::from_elem(0, self.faults.len());
        let mut body = |block: &mut Block<'_>| {
            let done = match self.runner {
                Runner::Interp(program) => {
                    program.run_with(self.stores, block, self.params, &mut faults, tiles)
                }
                Runner::Jit(compiled) => compiled.run(block, self.params, &mut faults),
            };
            match done {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    self.fail(error);
                    ControlFlow::Break(())
                }
            }
        };
        let _ = part.run(scratch, &mut body);
        if let Some(refused) = scratch.take_refusal() {
            self.fail(Error::new(ErrorKind::Limit, refused.to_string()));
        }
        for (shared, own) in self.faults.iter().zip(&faults) {
            if *own != 0 {
                shared.store(1, Ordering::Relaxed);
            }
        }
    }
}
