//! Running one stage: bind memory, choose an executor, share the work.
//!
//! In: a prepared stage and the memory of its operands. Out: its outputs are written, or an error that names the op
//! whose divisor was zero. Must hold: each thread computes under the default floating-point environment and gets
//! its own back; the bits and the error are the same for any number of threads.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use broadloom_core::fuse::Stage;
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_interp::{Program, Stores, Tiles};
use broadloom_mem::{Access, AliasPolicy, Block, FloatEnv, Nest, Part, Scratch};
use smallvec::SmallVec;

use crate::engine::decide::{self, Choice, Estimate, Situation, Traffic, Why};
use crate::engine::jit::Compiled;
use crate::engine::options::{Executor, Options};
use crate::engine::trial::Trial;
use crate::engine::{Engine, KernelKey};

/// A stage with what has been prepared for it.
pub struct Prepared {
    pub stage: Stage,
    /// Where the elements of every input follow each other (or one serves all) in the order of the index space: for
    /// each input its first element, and whether it serves all.
    pub flat: Option<SmallVec<[(usize, bool); 8]>>,
    estimate: Estimate,
    /// Its kernel's vector instructions per element, roughly.
    cost: usize,
    /// What its operands move.
    pub traffic: Traffic,
    /// How many of its divisions are checked.
    sites: usize,
    /// Machine code is done before a second thread would help.
    short: bool,
    ready: Mutex<Ready>,
    /// The machine code of a flat stage, once it is there.
    direct: OnceLock<Compiled>,
    /// A [`Verdict`].
    verdict: AtomicU8,
}

/// What `Auto` has come to, read without a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Verdict {
    /// There is no code, or estimates decide.
    None = 0,
    /// Both executors are being tried: runs are timed.
    Trying = 1,
    /// Machine code, from now on.
    Jit = 2,
    /// The interpreter, from now on.
    Interp = 3,
}

#[derive(Default)]
struct Ready {
    /// For the access classes that were asked for last.
    access: SmallVec<[Access; 8]>,
    program: Option<Arc<Program>>,
    compiled: Option<Compiled>,
    /// The compiler would not take the kernel: it is not asked again.
    refused: bool,
    /// Nanoseconds that interpreting has cost, and how many of them more than machine code would have.
    spent: f64,
    regret: f64,
    trial: Option<Trial>,
}

/// What runs blocks.
enum Runner {
    Interp(Arc<Program>),
    Jit(Compiled),
}

impl Prepared {
    pub fn new(stage: Stage) -> Prepared {
        let flat = stage.inputs.iter().map(|input| {
            let layout = &input.layout;
            let repeat = layout.shape.rank() > 0 && layout.strides.iter().all(|&s| s == 0);
            (repeat || layout.is_contiguous()).then_some((layout.offset as usize, repeat))
        });
        let flat = flat.collect();
        let estimate = Estimate::of(&stage.kernel);
        let cost = stage.kernel.cost() as usize;
        let sites = if stage.kernel.checks_division { stage.kernel.fault_sites().count() } else { 0 };
        let short = decide::is_short(&estimate, stage.shape.elements());
        let traffic = Traffic::of(&stage);
        let (ready, direct, verdict) = Default::default();
        Prepared { stage, flat, estimate, cost, traffic, sites, short, ready, direct, verdict }
    }

    /// Who would run the stage, were it run now.
    pub fn would_choose<'e>(
        &'e self,
        engine: &'e Engine,
        options: &Options,
        access: &[Access],
    ) -> Choice<'e> {
        // Who asks why wants to know.
        let _ = engine.no_compiler();
        let ready = self.ready.try_lock();
        let alone = Ready::default();
        let ready = ready.as_deref().unwrap_or(&alone);
        let key = KernelKey { kernel: self.stage.kernel.clone(), access: access.into() };
        let compiled =
            ready.compiled.is_some() && ready.access[..] == *access || engine.kernels.get(&key).is_some();
        self.choose(engine, options, compiled, ready)
    }

    /// Who would run the stage now, with its inputs accessed as they were last; as rows of elements if it never ran.
    pub fn executor(&self, engine: &Engine, options: &Options) -> Executor {
        let last = self.ready.try_lock().map(|ready| ready.access.clone()).unwrap_or_default();
        let assumed = || SmallVec::from_elem(Access::Contiguous, self.stage.inputs.len());
        let access = if last.len() == self.stage.inputs.len() { last } else { assumed() };
        match self.would_choose(engine, options, &access).jit {
            true => Executor::Jit,
            false => Executor::Interp,
        }
    }

    fn choose<'e>(
        &'e self,
        engine: &'e Engine,
        options: &Options,
        compiled: bool,
        ready: &Ready,
    ) -> Choice<'e> {
        let elements = self.stage.shape.elements();
        let choose = |no_compiler| {
            decide::executor(&Situation {
                estimate: self.estimate,
                elements,
                traffic: self.traffic,
                wanted: options.executor,
                compiled,
                no_compiler,
                cost: (self.cost, options.max_compiled_cost),
                regret: ready.regret,
                spent: ready.spent,
                trial: ready.trial.unwrap_or_else(|| Trial::new(options.threads)),
            })
        };
        // A compiler is started when it is needed: not to interpret.
        let refused = ready.refused.then_some("the compiler refuses this kernel");
        match choose(engine.known_no_compiler().or(refused)) {
            choice if choice.jit && !compiled && engine.no_compiler().is_some() => {
                choose(engine.no_compiler())
            }
            choice => choice,
        }
    }

    /// The executor for these access classes, prepared.
    fn runner<'e>(
        &'e self,
        engine: &'e Engine,
        options: &Options,
        access: &[Access],
    ) -> Result<(Runner, Choice<'e>)> {
        let kernel = &self.stage.kernel;
        // Held by another thread (or, in a forked child, by none): prepare for this run alone.
        let mut alone = Ready::default();
        let mut guard = self.ready.try_lock();
        let ready = match &mut guard {
            Ok(ready) => &mut **ready,
            Err(_) => &mut alone,
        };
        if ready.access[..] != *access {
            let Ready { spent, regret, refused, .. } = *ready;
            *ready = Ready { access: access.into(), spent, regret, refused, ..Ready::default() };
        }
        if ready.compiled.is_none() && options.executor != Executor::Interp {
            let key = KernelKey { kernel: kernel.clone(), access: access.into() };
            ready.compiled = engine.kernels.get(&key);
        }
        let choice = self.choose(engine, options, ready.compiled.is_some(), ready);
        self.note_verdict(options, &choice);
        if choice.jit {
            if ready.compiled.is_none() && !ready.refused {
                ready.compiled = engine.compile(kernel, access)?;
                ready.refused = ready.compiled.is_none();
            }
            if let Some(compiled) = &ready.compiled {
                if self.flat.is_some() {
                    let _ = self.direct.set(compiled.clone());
                }
                return Ok((Runner::Jit(compiled.clone()), choice));
            }
        }
        ready.spent += choice.cost;
        ready.regret += choice.regret;
        let program = match &ready.program {
            Some(program) => program.clone(),
            None => {
                let program = Arc::new(Program::new(kernel, access)?);
                ready.program = Some(program.clone());
                program
            }
        };
        Ok((Runner::Interp(program), choice))
    }

    fn note_verdict(&self, options: &Options, choice: &Choice<'_>) {
        if options.executor == Executor::Auto {
            let verdict = match choice.why {
                Why::Trying => Verdict::Trying,
                Why::Compiled | Why::Measured { .. } if choice.jit => Verdict::Jit,
                Why::Measured { .. } => Verdict::Interp,
                _ => Verdict::None,
            };
            self.verdict.store(verdict as u8, Ordering::Relaxed);
        }
    }

    fn is(&self, verdict: Verdict) -> bool {
        self.verdict.load(Ordering::Relaxed) == verdict as u8
    }

    /// When a run starts that may be a trial's.
    pub fn clock(&self, options: &Options) -> Option<Instant> {
        (options.executor == Executor::Auto && self.is(Verdict::Trying)).then(Instant::now)
    }

    fn note(&self, options: &Options, jit: bool, since: Instant) {
        if let Ok(mut ready) = self.ready.try_lock() {
            ready.trial.get_or_insert_with(|| Trial::new(options.threads)).note(jit, options.threads, since);
        }
    }

    /// Runs a flat stage over slices by machine code; none where there is none, where the interpreter is to run, or
    /// where threads may share the work.
    ///
    /// PERF: the usual short call. Nothing is locked, planned or allocated once it is clear who runs.
    #[inline]
    pub fn run_slices<'d>(
        &self,
        engine: &Engine,
        options: &Options,
        inputs: impl ExactSizeIterator<Item = &'d [u8]>,
        outputs: impl ExactSizeIterator<Item = &'d mut [u8]>,
        params: &[u64],
    ) -> Option<Result<()>> {
        let compiled = self.direct.get()?;
        let alone = self.short || options.threads == Some(1);
        if !alone || options.executor == Executor::Interp || self.cost > options.max_compiled_cost {
            return None;
        }
        let _ieee = FloatEnv::ieee();
        let mut since = None;
        if options.executor == Executor::Auto && !self.is(Verdict::Jit) {
            if !self.is(Verdict::Trying) {
                return None;
            }
            since = self.clock(options);
            let ready = self.ready.try_lock().ok()?;
            let choice = self.choose(engine, options, true, &ready);
            self.note_verdict(options, &choice);
            if !choice.jit {
                return None;
            }
        }
        let elements = self.stage.shape.elements();
        let mut faults: SmallVec<[u8; 8]> = SmallVec::new();
        if self.sites > 0 {
            faults.resize(self.sites, 0);
        }
        let done = compiled.run_slices(elements, inputs, outputs, params, &mut faults);
        if let Some(since) = since {
            self.note(options, true, since);
        }
        if self.sites == 0 {
            return Some(done);
        }
        Some(done.and_then(|()| self.check(faults.iter().map(|&fault| fault != 0))))
    }

    /// Runs the stage over bound memory; `since` is when the run began, if that is asked for.
    pub fn run(
        &self,
        engine: &Engine,
        options: &Options,
        nest: &mut Nest<'_>,
        params: &[u64],
        since: Option<Instant>,
    ) -> Result<()> {
        // Choosing estimates in floats, and so does the compiler, whatever the host has set.
        let ieee = FloatEnv::ieee();
        let access: SmallVec<[Access; 8]> = (0..self.stage.inputs.len()).map(|i| nest.access(i)).collect();
        let (runner, Choice { why, time, .. }) = self.runner(engine, options, &access)?;
        let faults: SmallVec<[AtomicU8; 8]> = (0..self.sites).map(|_| AtomicU8::new(0)).collect();
        let stores = self.traffic.stores();
        let job = Job { runner: &runner, stores, params, faults: &faults, failure: OnceLock::new() };
        // Machine code reads before it writes, element by element; the interpreter's slices must not alias.
        let policy = match &runner {
            Runner::Jit(_) => AliasPolicy::InPlace,
            Runner::Interp(_) => AliasPolicy::Copy,
        };
        let threads = decide::threads(time, engine.threads(options, time));
        if threads <= 1 {
            nest.split(1, policy).for_each(|part| job.part(part));
        } else {
            // More parts than threads where the pool decides who runs; as many as allowed where the caller does.
            let parts = if options.threads.is_some() { threads } else { threads * 4 };
            let parts: Vec<Part<'_>> = nest.split(parts, policy).collect();
            // While it waits, this thread may run others' jobs: in the environment that they expect.
            drop(ieee);
            rayon::scope(|scope| {
                for part in parts {
                    scope.spawn(|_| {
                        let _ieee = FloatEnv::ieee();
                        job.part(part);
                    });
                }
            });
        }
        if let (Some(since), Why::Trying) = (since, why) {
            self.note(options, matches!(&runner, Runner::Jit(_)), since);
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
    /// Why a part was not run to its end, if one was not.
    failure: OnceLock<Error>,
}

thread_local! {
    /// Working memory, kept between runs: some hundred kilobytes at most.
    static WORKSPACE: RefCell<(Scratch, Tiles)> = RefCell::default();
}

impl Job<'_> {
    /// Runs a part, under the default floating-point environment.
    fn part(&self, part: Part<'_>) {
        let mut part = Some(part);
        // Not to be had while the thread ends, or while it is in use further up this thread.
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
                    let _ = self.failure.set(error);
                    ControlFlow::Break(())
                }
            }
        };
        let _ = part.run(scratch, &mut body);
        if let Some(refused) = scratch.take_refusal() {
            let _ = self.failure.set(Error::new(ErrorKind::Limit, refused.to_string()));
        }
        for (shared, own) in self.faults.iter().zip(&faults) {
            if *own != 0 {
                shared.store(1, Ordering::Relaxed);
            }
        }
    }
}
