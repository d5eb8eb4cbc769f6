//! Running one stage: bind memory, choose an executor, share the work.
//!
//! In: a prepared stage and the memory of its operands. Out: its outputs are written, or an error that names the op
//! whose divisor was zero. Must hold: each thread computes under the default floating-point environment and gets
//! its own back; the bits and the error are the same for any number of threads.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use broadloom_core::fuse::Stage;
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_interp::{Program, Stores, Tiles};
use broadloom_mem::{Access, AliasPolicy, Block, FloatEnv, Nest, Part, Scratch};
use smallvec::SmallVec;

use crate::engine::decide::{self, Choice, Estimate, Situation, Traffic};
use crate::engine::jit::Compiled;
use crate::engine::options::Options;
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
    ready: Mutex<Ready>,
}

#[derive(Default)]
struct Ready {
    /// For the access classes that were asked for last.
    access: SmallVec<[Access; 8]>,
    program: Option<Arc<Program>>,
    compiled: Option<Compiled>,
    /// The compiler would not take the kernel: it is not asked again.
    refused: bool,
    regret: f64,
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
        Prepared { stage, flat, estimate, cost, ready: Mutex::default() }
    }

    /// Who would run the stage, were it run now.
    pub fn would_choose<'e>(
        &'e self,
        engine: &'e Engine,
        options: &Options,
        access: &[Access],
    ) -> Choice<'e> {
        let ready = self.ready.try_lock();
        let alone = Ready::default();
        let ready = ready.as_deref().unwrap_or(&alone);
        let key = KernelKey { kernel: self.stage.kernel.clone(), access: access.into() };
        let compiled =
            ready.compiled.is_some() && ready.access[..] == *access || engine.kernels.get(&key).is_some();
        self.choose(engine, options, access, compiled, ready)
    }

    fn choose<'e>(
        &'e self,
        engine: &'e Engine,
        options: &Options,
        access: &[Access],
        compiled: bool,
        ready: &Ready,
    ) -> Choice<'e> {
        // Interpreting needs no compiler: a process that never compiles does not start one.
        let wanted = options.executor;
        let no_compiler = match wanted {
            crate::Executor::Interp => None,
            _ => engine.no_compiler().or(ready.refused.then_some("the compiler refuses this kernel")),
        };
        decide::executor(&Situation {
            estimate: self.estimate,
            elements: self.stage.shape.elements(),
            traffic: self.traffic(access),
            wanted,
            compiled,
            no_compiler,
            cost: (self.cost, options.max_compiled_cost),
            regret: ready.regret,
        })
    }

    /// The executor for these access classes, prepared; and the estimated time.
    fn runner(&self, engine: &Engine, options: &Options, access: &[Access]) -> Result<(Runner, f64)> {
        let kernel = &self.stage.kernel;
        // Held by another thread (or, in a forked child, by none): prepare for this run alone.
        let mut alone = Ready::default();
        let mut guard = self.ready.try_lock();
        let ready = match &mut guard {
            Ok(ready) => &mut **ready,
            Err(_) => &mut alone,
        };
        if ready.access[..] != *access {
            let (regret, refused) = (ready.regret, ready.refused);
            *ready = Ready { access: access.into(), regret, refused, ..Ready::default() };
        }
        if ready.compiled.is_none() && options.executor != crate::Executor::Interp {
            let key = KernelKey { kernel: kernel.clone(), access: access.into() };
            ready.compiled = engine.kernels.get(&key);
        }
        let choice = self.choose(engine, options, access, ready.compiled.is_some(), ready);
        if choice.jit {
            if ready.compiled.is_none() && !ready.refused {
                ready.compiled = engine.compile(kernel, access)?;
                ready.refused = ready.compiled.is_none();
            }
            if let Some(compiled) = &ready.compiled {
                return Ok((Runner::Jit(compiled.clone()), choice.time));
            }
        }
        ready.regret += choice.regret;
        let program = match &ready.program {
            Some(program) => program.clone(),
            None => {
                let program = Arc::new(Program::new(kernel, access)?);
                ready.program = Some(program.clone());
                program
            }
        };
        Ok((Runner::Interp(program), choice.time))
    }

    /// The bytes of the stage's operands, given how the inputs are accessed.
    pub fn traffic(&self, access: &[Access]) -> Traffic {
        let (kernel, elements) = (&self.stage.kernel, self.stage.shape.elements());
        let read = kernel.inputs.iter().zip(access).filter(|(_, a)| **a == Access::Contiguous);
        let read: usize = read.map(|(d, _)| d.size()).sum();
        let written: usize = kernel.output_dtypes().map(|d| d.size()).sum();
        Traffic { read: read.saturating_mul(elements), written: written.saturating_mul(elements) }
    }

    /// Runs the stage over bound memory.
    pub fn run(&self, engine: &Engine, options: &Options, nest: &mut Nest<'_>, params: &[u64]) -> Result<()> {
        // Choosing estimates in floats, and so does the compiler, whatever the host has set.
        let ieee = FloatEnv::ieee();
        let access: SmallVec<[Access; 8]> = (0..self.stage.inputs.len()).map(|i| nest.access(i)).collect();
        let (runner, time) = self.runner(engine, options, &access)?;
        let sites =
            if self.stage.kernel.checks_division { self.stage.kernel.fault_sites().count() } else { 0 };
        let faults: SmallVec<[AtomicU8; 8]> = (0..sites).map(|_| AtomicU8::new(0)).collect();
        let job = Job {
            runner: &runner,
            stores: self.traffic(&access).stores(),
            params,
            faults: &faults,
            failure: OnceLock::new(),
        };
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
        match job.failure.into_inner() {
            Some(error) => Err(error),
            None => self.check(&faults),
        }
    }

    /// The first fault site that was met, whoever met it.
    fn check(&self, faults: &[AtomicU8]) -> Result<()> {
        let met = self.stage.kernel.fault_sites().zip(faults).find(|(_, f)| f.load(Ordering::Relaxed) != 0);
        match met {
            Some(((_, op), _)) => {
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
