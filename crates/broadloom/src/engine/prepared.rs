//! A stage that is ready to be run, and who runs it.
//!
//! In: a stage of a plan; how its inputs turn out to be accessed. Out: a [`Runner`]. Must hold: who runs changes speed,
//! never bits; no lock is waited for that may never come free.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use broadloom_core::Result;
use broadloom_core::fuse::Stage;
use broadloom_interp::Program;
use broadloom_mem::{Access, FloatEnv, HostFunction, Pattern};
use smallvec::SmallVec;

use crate::engine::decide::{self, Choice, Estimate, Situation, Traffic, Why};
use crate::engine::jit::{Compiled, Width};
use crate::engine::options::{Executor, Options};
use crate::engine::trial::Trial;
use crate::engine::{Engine, KernelKey};

/// A stage with what has been prepared for it.
pub struct Prepared {
    pub stage: Stage,
    /// The host functions that its kernel calls.
    functions: SmallVec<[HostFunction; 1]>,
    /// Where the elements of every input follow each other (or one serves all) in the order of the index space: for
    /// each input its first byte, and whether it serves all.
    pub flat: Option<SmallVec<[(usize, bool); 8]>>,
    estimate: Estimate,
    /// Its kernel's vector instructions per element, roughly.
    cost: usize,
    /// What its operands move.
    pub traffic: Traffic,
    /// How many of its divisions are checked.
    pub sites: usize,
    /// Machine code of each [`Width`] is done before a second thread would help.
    short: [bool; 3],
    pub ready: Mutex<Ready>,
    /// How its operands are walked, where each is in a slice of its own.
    pub pattern: OnceLock<Option<Pattern>>,
    /// The machine code of a flat stage, once it is there, of each [`Width`] that was asked for.
    direct: [OnceLock<Compiled>; 3],
    /// A [`Verdict`] for each [`Width`] and [`crew`].
    verdicts: [[AtomicU8; 2]; 3],
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
pub struct Ready {
    /// For the access classes that were asked for last.
    access: SmallVec<[Access; 8]>,
    program: Option<Arc<Program>>,
    /// Of each [`Width`] that was asked for.
    code: [Code; 3],
    /// Nanoseconds that interpreting has cost, and how many of them more than machine code would have.
    spent: f64,
    regret: f64,
}

/// Machine code on vectors of one width, and how it did.
#[derive(Default)]
struct Code {
    compiled: Option<Compiled>,
    /// The compiler would not take the kernel: it is not asked again.
    refused: bool,
    /// For each [`crew`].
    trials: [Trial; 2],
}

impl Ready {
    /// Forgets what was prepared for other access classes; what running has cost stays.
    fn turn_to(&mut self, access: &[Access]) {
        if self.access[..] != *access {
            let Ready { spent, regret, .. } = *self;
            let code = self.code.each_ref().map(|code| Code { refused: code.refused, ..Code::default() });
            *self = Ready { access: access.into(), program: None, code, spent, regret };
        }
    }
}

/// Evaluations whose times can be compared: 1 for those on one thread, 0 for those on as many as there are.
fn crew(options: &Options) -> usize {
    usize::from(options.threads == Some(1))
}

/// Where what concerns machine code of the width that is asked for has its place.
#[inline]
fn place(options: &Options) -> usize {
    options.vector_width.width() as usize
}

/// What runs blocks.
pub enum Runner {
    Interp(Arc<Program>),
    Jit(Compiled),
}

impl Prepared {
    /// Prepares a stage, whose host functions are among these.
    pub fn new(stage: Stage, functions: &[HostFunction]) -> Prepared {
        let called = |f: &&HostFunction| stage.kernel.functions.contains(f.declaration());
        let functions = functions.iter().filter(called).cloned().collect();
        let flat = stage.inputs.iter().zip(&stage.kernel.inputs).map(|(input, dtype)| {
            let layout = &input.layout;
            let repeat = layout.shape.rank() > 0 && layout.strides.iter().all(|&s| s == 0);
            (repeat || layout.is_contiguous()).then_some((layout.offset as usize * dtype.size(), repeat))
        });
        let flat = flat.collect();
        let estimate = Estimate::of(&stage.kernel);
        let cost = stage.kernel.cost() as usize;
        let sites = if stage.kernel.checks_division { stage.kernel.fault_sites().count() } else { 0 };
        let short = [Width::W128, Width::W256, Width::W512]
            .map(|width| decide::is_short(&estimate, width, stage.shape.elements()));
        let traffic = Traffic::of(&stage);
        let (ready, pattern, direct, verdicts) = Default::default();
        Prepared {
            stage,
            functions,
            flat,
            estimate,
            cost,
            traffic,
            sites,
            short,
            ready,
            pattern,
            direct,
            verdicts,
        }
    }

    /// How the inputs are accessed where all operands are linear.
    pub fn flat_access(&self) -> Option<impl Iterator<Item = Access>> {
        let class = |&(_, repeat): &(usize, bool)| if repeat { Access::Splat } else { Access::Contiguous };
        self.flat.as_ref().map(|flat| flat.iter().map(class))
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
        self.choose(engine, options, self.kept(engine, options, access, ready).as_ref(), ready)
    }

    /// The machine code for these access classes, if it is kept anywhere.
    fn kept(&self, engine: &Engine, options: &Options, access: &[Access], ready: &Ready) -> Option<Compiled> {
        let own = &ready.code[place(options)].compiled;
        let own = own.as_ref().filter(|_| ready.access[..] == *access);
        own.cloned().or_else(|| engine.kernels.get(&self.key(options, access)))
    }

    /// The width of the vectors that machine code has or, before it is there, would have if the compiler can put the
    /// kernel on them; and why it is not what was asked for.
    pub fn vectors(&self, engine: &Engine, options: &Options, access: &[Access]) -> (Width, Option<String>) {
        let ready = self.ready.try_lock();
        let alone = Ready::default();
        match self.kept(engine, options, access, ready.as_deref().unwrap_or(&alone)) {
            Some(compiled) => (compiled.width(), compiled.narrowed().map(String::from)),
            None => options.vector_width.width().had(),
        }
    }

    fn key(&self, options: &Options, access: &[Access]) -> KernelKey {
        let width = options.vector_width.width();
        let stores = self.traffic.stores_of(width);
        KernelKey { kernel: self.stage.kernel.clone(), access: access.into(), width, stores }
    }

    /// Who would run the stage now, with its inputs accessed as they were last; as rows of elements if it never ran.
    pub fn executor(&self, engine: &Engine, options: &Options) -> Executor {
        let last = || self.ready.try_lock().map(|ready| ready.access.clone()).unwrap_or_default();
        let mut access = self.flat_access().map_or_else(last, Iterator::collect);
        if access.len() != self.stage.inputs.len() {
            access = SmallVec::from_elem(Access::Contiguous, self.stage.inputs.len());
        }
        match self.would_choose(engine, options, &access).jit {
            true => Executor::Jit,
            false => Executor::Interp,
        }
    }

    fn choose<'e>(
        &'e self,
        engine: &'e Engine,
        options: &Options,
        compiled: Option<&Compiled>,
        ready: &Ready,
    ) -> Choice<'e> {
        let elements = self.stage.shape.elements();
        let code = &ready.code[place(options)];
        // What the compiler could not put on wider vectors is known when it is there.
        let width = compiled.map_or(options.vector_width.width(), Compiled::width);
        let compiled = compiled.is_some();
        let choose = |no_compiler| {
            decide::executor(&Situation {
                estimate: self.estimate,
                width,
                elements,
                traffic: self.traffic,
                wanted: options.executor,
                compiled,
                no_compiler,
                cost: (self.cost, options.max_compiled_cost),
                regret: ready.regret,
                spent: ready.spent,
                trial: code.trials[crew(options)],
            })
        };
        // A compiler is started when it is needed: not to interpret.
        let refused = code.refused.then_some("the compiler refuses this kernel");
        match choose(engine.known_no_compiler().or(refused)) {
            choice if choice.jit && !compiled && engine.no_compiler().is_some() => {
                choose(engine.no_compiler())
            }
            choice => choice,
        }
    }

    /// The executor for these access classes, prepared.
    pub fn runner<'e>(
        &'e self,
        engine: &'e Engine,
        options: &Options,
        access: &[Access],
    ) -> Result<(Runner, Choice<'e>)> {
        // Held by another thread (or, in a forked child, by none): prepare for this run alone.
        let mut alone = Ready::default();
        let mut guard = self.ready.try_lock();
        let held = guard.is_ok();
        let ready = match &mut guard {
            Ok(ready) => &mut **ready,
            Err(_) => &mut alone,
        };
        ready.turn_to(access);
        let place = place(options);
        if ready.code[place].compiled.is_none() && options.executor != Executor::Interp {
            ready.code[place].compiled = engine.kernels.get(&self.key(options, access));
        }
        let choice = self.choose(engine, options, ready.code[place].compiled.as_ref(), ready);
        if held {
            self.note_verdict(options, &choice);
        }
        // Who does not know what was measured follows what it has come to.
        let follows = !held && options.executor == Executor::Auto && self.is(options, Verdict::Interp);
        if choice.jit && !follows {
            let code = &mut ready.code[place];
            if code.compiled.is_none() && !code.refused {
                code.compiled = engine.compile(self.key(options, access), &self.functions)?;
                code.refused = code.compiled.is_none();
            }
            if let Some(compiled) = &code.compiled {
                // Under the lock: a forked child must not wait for one that is being set.
                if held && self.flat_access().is_some_and(|flat| flat.eq(access.iter().copied())) {
                    let _ = self.direct[place].set(compiled.clone());
                }
                return Ok((Runner::Jit(compiled.clone()), choice));
            }
        }
        ready.spent += choice.cost;
        ready.regret += choice.regret;
        let program = match &ready.program {
            Some(program) => program.clone(),
            None => {
                let program = Arc::new(Program::new(&self.stage.kernel, &self.functions, access)?);
                ready.program = Some(program.clone());
                program
            }
        };
        Ok((Runner::Interp(program), choice))
    }

    /// Compiles the stage for linear inputs, if it has no others.
    pub fn compile(&self, engine: &Engine, options: &Options) -> Result<()> {
        let wanted = options.executor != Executor::Interp && self.cost <= options.max_compiled_cost;
        let (Some(access), true, Ok(mut ready)) = (self.flat_access(), wanted, self.ready.try_lock()) else {
            return Ok(());
        };
        let access: SmallVec<[Access; 8]> = access.collect();
        ready.turn_to(&access);
        let code = &mut ready.code[place(options)];
        if code.compiled.is_none() && !code.refused {
            let key = self.key(options, &access);
            code.compiled = match engine.kernels.get(&key) {
                Some(compiled) => Some(compiled),
                None => engine.compile(key, &self.functions)?,
            };
            code.refused = code.compiled.is_none();
        }
        Ok(())
    }

    fn note_verdict(&self, options: &Options, choice: &Choice<'_>) {
        if options.executor == Executor::Auto {
            let verdict = match choice.why {
                Why::Trying => Verdict::Trying,
                Why::Compiled | Why::Measured { .. } if choice.jit => Verdict::Jit,
                Why::Measured { .. } => Verdict::Interp,
                _ => Verdict::None,
            };
            self.verdicts[place(options)][crew(options)].store(verdict as u8, Ordering::Relaxed);
        }
    }

    fn is(&self, options: &Options, verdict: Verdict) -> bool {
        self.verdicts[place(options)][crew(options)].load(Ordering::Relaxed) == verdict as u8
    }

    /// When a run starts that may be a trial's.
    pub fn clock(&self, options: &Options) -> Option<Instant> {
        (options.executor == Executor::Auto && self.is(options, Verdict::Trying)).then(Instant::now)
    }

    /// Notes how long a run of a trial took.
    pub fn note(&self, options: &Options, jit: bool, since: Instant) {
        let time = since.elapsed();
        // Times are compared in floats.
        let _ieee = FloatEnv::ieee();
        if let Ok(mut ready) = self.ready.try_lock() {
            ready.code[place(options)].trials[crew(options)].note(jit, time);
        }
    }

    /// The machine code of a flat stage that is to run now, on this thread alone.
    #[inline]
    pub fn direct(&self, engine: &Engine, options: &Options) -> Option<&Compiled> {
        self.direct[place(options)].get().filter(|compiled| self.is_direct(engine, options, compiled))
    }

    #[inline]
    fn is_direct(&self, engine: &Engine, options: &Options, compiled: &Compiled) -> bool {
        let alone = self.short[place(options)] || options.threads == Some(1);
        let allowed = alone && self.cost <= options.max_compiled_cost;
        match options.executor {
            Executor::Interp => false,
            Executor::Jit => allowed,
            Executor::Auto if self.is(options, Verdict::Jit) => allowed,
            Executor::Auto if !self.is(options, Verdict::Trying) || !allowed => false,
            Executor::Auto => self.is_turn(engine, options, compiled),
        }
    }

    /// Whether it is machine code's turn in a trial.
    #[cold]
    fn is_turn(&self, engine: &Engine, options: &Options, compiled: &Compiled) -> bool {
        let _ieee = FloatEnv::ieee();
        self.ready.try_lock().is_ok_and(|ready| {
            let choice = self.choose(engine, options, Some(compiled), &ready);
            self.note_verdict(options, &choice);
            choice.jit
        })
    }
}
