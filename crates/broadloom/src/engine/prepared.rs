//! A stage with what is kept for its runs: the plan of its loops, programs and machine code, and the states of the choice
//! between them.
//!
//! What the lock guards is what a run changes. What a short call asks for (machine code of a stage that stores, and the tags of
//! states) is read without it; it is written under the lock only, so that a forked child waits for nothing that may never
//! come free. A thread that finds the lock held prepares for its own run alone.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use broadloom_core::fuse::Stage;
use broadloom_core::{Layout, Result};
use broadloom_interp::Interpreter;
use broadloom_ir::loop_plan::{AccessClass, LoopOperand, LoopPlan, LoopPlanError};
use broadloom_ir::{Purpose, VectorWidth};
use broadloom_mem::{Access, FloatEnv, HostFunction, KernelExecutor, Stores};
use smallvec::SmallVec;

use crate::engine::choice::{self, Choice, Facts, Ledger, State, Why};
use crate::engine::cost::{self, Estimate, RunCost, Traffic};
use crate::engine::in_flight::Meanwhile;
use crate::engine::loops::Loops;
use crate::engine::options::Executor;
use crate::engine::runtime::{Accesses, Compilation, Executable, KernelKey, Request, ThreadMode};
use crate::engine::space::{Form, ShortReduction, Space};
use crate::engine::stored::stored;
use crate::engine::watch::{Watch, Work};

/// See the module's head.
pub struct PreparedStage {
    pub stage: Stage,
    /// The host functions that its kernel calls.
    pub functions: SmallVec<[HostFunction; 1]>,
    /// How its elements are walked, where inputs are in memory as their layouts say.
    pub loops: std::result::Result<Loops, LoopPlanError>,
    /// Whether it reduces long runs of contiguous elements.
    has_long_runs: bool,
    /// What it does, if that is to reduce a few elements that are neighbours, as they are.
    pub short_reductions: Option<SmallVec<[ShortReduction; 1]>>,
    estimate: Estimate,
    /// Its kernel's vector instructions per element, roughly.
    cost: usize,
    /// What its operands move.
    pub traffic: Traffic,
    /// How many elements a thread computes between two checks for cancellation.
    pub pause: usize,
    /// How many of its divisions are checked.
    pub sites: usize,
    /// Whether a host function that it calls can fail.
    pub can_fail: bool,
    /// Machine code is done before a second thread would help, by [`VectorWidth`].
    short: [bool; 3],
    kept: Mutex<Kept>,
    /// The machine code of a stage that stores, once it is there, by [`VectorWidth`].
    direct: [OnceLock<Executable>; 3],
    /// The [tags](State::tag) of the states, likewise.
    tags: ByRequest<AtomicU8>,
}

/// One for each [`VectorWidth`] and thread mode.
type ByRequest<T> = [[T; 2]; 3];

#[derive(Default)]
struct Kept {
    /// How the inputs were accessed last, which what follows is for.
    access: Accesses,
    /// By [`VectorWidth`], as the code.
    programs: [Option<Executable>; 3],
    code: [KeptCode; 3],
    states: ByRequest<State>,
    ledger: Ledger,
}

/// Machine code of one [`VectorWidth`].
#[derive(Default)]
struct KeptCode {
    compiled: Option<Executable>,
    /// The compiler would not take the kernel: it is not asked again.
    refused: bool,
}

impl Kept {
    /// Forgets what was prepared for other accesses; what running has cost stays.
    fn turn_to(&mut self, access: &[Access]) {
        if self.access[..] != *access {
            let code = self.code.each_ref().map(|code| KeptCode { compiled: None, refused: code.refused });
            *self = Kept { access: access.into(), code, ledger: self.ledger, ..Kept::default() };
        }
    }
}

impl PreparedStage {
    /// Prepares a stage, whose host functions are among these, and whose outputs are laid out so if it stores them.
    pub fn new(stage: Stage, functions: &[HostFunction], outputs: &[Layout]) -> PreparedStage {
        let called = |f: &&HostFunction| stage.kernel.functions.contains(f.declaration());
        let functions: SmallVec<[HostFunction; 1]> = functions.iter().filter(called).cloned().collect();
        let loops = Loops::new(&stage, outputs);
        let estimate = Estimate::of(&stage.kernel);
        let elements = stage.shape.elements();
        let space = loops.as_ref().ok().and_then(Loops::space);
        let mut traffic =
            stored(&stage, outputs).map_or_else(|_| Traffic::default(), |plan| Traffic::of(&plan));
        traffic.stays = space.is_some();
        PreparedStage {
            has_long_runs: space.is_some_and(Space::has_long_runs),
            short_reductions: space.and_then(|space| ShortReduction::all(&stage, space)),
            can_fail: functions.iter().any(HostFunction::can_fail),
            functions,
            estimate,
            cost: stage.kernel.cost() as usize,
            pause: cost::pause(&stage.kernel),
            traffic,
            sites: if stage.kernel.checks_division { stage.kernel.fault_sites().count() } else { 0 },
            short: VectorWidth::ALL.map(|width| cost::is_short(&estimate, width, elements)),
            kept: Mutex::default(),
            direct: Default::default(),
            tags: Default::default(),
            loops,
            stage,
        }
    }

    /// The space of a stage that reduces.
    pub fn space(&self) -> Option<&Space> {
        self.loops.as_ref().ok()?.space()
    }

    /// What becomes of each input; contiguous where layouts have no plan.
    pub fn classes(&self) -> impl Iterator<Item = AccessClass> {
        let planned = self.loops.as_ref().ok().and_then(Loops::plan).map_or(&[][..], LoopPlan::operands);
        let class = |input| planned.get(input).map_or(AccessClass::Contiguous, LoopOperand::class);
        (0..self.stage.inputs.len()).map(class)
    }

    /// Whether the stage stores, and its loops are one over memory as it is.
    fn is_linear(&self) -> bool {
        matches!(&self.loops, Ok(Loops::Store(plan)) if plan.is_linear())
    }

    /// How each input is accessed; a reduction combines what is in tiles.
    pub fn access(&self) -> Accesses {
        match self.space() {
            Some(_) => self.classes().map(AccessClass::access).collect(),
            None => self.classes().map(AccessClass::stepped_access).collect(),
        }
    }

    /// How inputs are accessed by loops of the stage; none where elements are combined as they are, and where machine code, which
    /// may combine elements before it writes them, is for another form.
    pub fn accesses_in(&self, loops: &Loops) -> Result<Option<Accesses>> {
        Ok(match loops {
            Loops::Store(plan) => Some(plan.stepped_accesses().collect()),
            Loops::Scan(scanned) => Some(scanned.plan.stepped_accesses().collect()),
            Loops::Reduce(space) => {
                let is_along = |space: &Space| space.form == Form::Along;
                let is_same = self.space().is_some_and(|own| is_along(own) == is_along(space));
                let is_computed = is_same && space.count > 0 && !space.takes_inputs();
                if is_computed { Some(space.whole()?.accesses().collect()) } else { None }
            }
        })
    }

    /// The choice for a run with inputs that are accessed so, were it made now.
    pub fn would_choose<'e>(&'e self, request: &Request<'e>, access: &[Access]) -> Choice<'e> {
        // Whoever asks why wants to know, though nothing may have been compiled yet.
        if request.options.executor != Executor::Interp {
            let _ = request.runtime.probe();
        }
        let kept = self.kept.try_lock();
        let alone = Kept::default();
        let kept = kept.as_deref().unwrap_or(&alone);
        let code = self.code(request, access, kept);
        self.choose(
            request,
            code.as_ref(),
            kept,
            kept.states[request.width as usize][request.threads as usize],
        )
    }

    /// The work of a run, and about the longest time that it takes.
    pub fn work(&self) -> Work {
        let elements = self.stage.shape.elements();
        Work { elements, time: cost::work(&self.stage.kernel, &self.estimate, elements, self.traffic) }
    }

    /// What a run on one thread is expected to take.
    pub fn cost_of_run(&self, request: &Request<'_>) -> RunCost {
        RunCost::of(&self.estimate, request.width, self.stage.shape.elements(), self.traffic)
    }

    /// The machine code for these accesses, if it is kept anywhere.
    fn code(&self, request: &Request<'_>, access: &[Access], kept: &Kept) -> Option<Executable> {
        let own = kept.code[request.width as usize].compiled.as_ref().filter(|_| kept.access[..] == *access);
        own.cloned().or_else(|| request.runtime.kernels.get(&self.key(request, access)))
    }

    /// The width of the vectors that machine code has or, before it is there, would have if the compiler can put the
    /// kernel on them; and why it is not what was asked for.
    pub fn vectors(&self, request: &Request<'_>, access: &[Access]) -> (VectorWidth, Option<String>) {
        let kept = self.kept.try_lock();
        let alone = Kept::default();
        let narrowed = request.runtime.narrowed(request.options);
        match self.code(request, access, kept.as_deref().unwrap_or(&alone)) {
            Some(code) => (code.width(), narrowed.or_else(|| code.narrowed().map(String::from))),
            None => (request.width, narrowed),
        }
    }

    fn key(&self, request: &Request<'_>, access: &[Access]) -> KernelKey {
        let (kernel, purpose) = (self.stage.kernel.clone(), self.purpose(request.width));
        KernelKey { kernel, access: access.into(), width: request.width, purpose }
    }

    /// What machine code on vectors of this width is for.
    pub fn purpose(&self, width: VectorWidth) -> Purpose {
        match self.traffic.stores_of(width) {
            _ if self.has_long_runs => Purpose::Reduce,
            Stores::Streaming => Purpose::Stream,
            Stores::Cached => Purpose::Store,
        }
    }

    /// The executor of a run with its inputs as they are, were it made now.
    pub fn executor(&self, request: &Request<'_>) -> Executor {
        match self.would_choose(request, &self.access()).jit {
            true => Executor::Jit,
            false => Executor::Interp,
        }
    }

    /// How wide the vectors of that run's machine code are; `None` where the interpreter runs it.
    pub fn vector_width(&self, request: &Request<'_>) -> Option<VectorWidth> {
        let access = self.access();
        self.would_choose(request, &access).jit.then(|| self.vectors(request, &access).0)
    }

    fn choose<'e>(
        &'e self,
        request: &Request<'e>,
        code: Option<&Executable>,
        kept: &Kept,
        state: State,
    ) -> Choice<'e> {
        let Request { runtime, options, .. } = *request;
        // What the compiler could not put on wider vectors is known when it is there.
        let width = code.map_or(request.width, |code| code.width());
        let cost = RunCost::of(&self.estimate, width, self.stage.shape.elements(), self.traffic);
        let facts = Facts { cost, ledger: kept.ledger, has_code: code.is_some() };
        let choose = |no_compiler: Option<&'e str>| {
            let limit = options.max_compiled_cost;
            let too_long = || (self.cost > limit).then_some(Why::TooLong { cost: self.cost, limit });
            choice::choose(
                options.executor,
                no_compiler.map(Why::NoCompiler).or_else(too_long),
                state,
                &facts,
            )
        };
        // A compiler is started when it is needed: not to interpret.
        let refused = kept.code[request.width as usize].refused.then_some("the compiler refuses this kernel");
        let choice = choose(runtime.known_no_compiler().or(refused));
        match choice.jit && code.is_none() && runtime.no_compiler().is_some() {
            true => choose(runtime.no_compiler()),
            false => choice,
        }
    }

    /// The executor of a run with inputs that are accessed so, prepared. Where another thread compiles the kernel, a run that
    /// may choose is interpreted meanwhile.
    pub fn runner<'e>(
        &'e self,
        request: &Request<'e>,
        access: &[Access],
        watch: Option<&Watch<'_>>,
    ) -> Result<(Executable, Choice<'e>)> {
        let (width, threads) = (request.width as usize, request.threads as usize);
        // Held by another thread (or, in a forked child, by none): what that has decided is in the tags.
        let mut alone = Kept::default();
        let mut guard = self.kept.try_lock();
        let held = guard.is_ok();
        let kept = guard.as_deref_mut().unwrap_or(&mut alone);
        kept.turn_to(access);
        if !held {
            kept.states[width][threads] = State::of_tag(self.tag(request));
        }
        if kept.code[width].compiled.is_none() && request.options.executor != Executor::Interp {
            kept.code[width].compiled = request.runtime.kernels.get(&self.key(request, access));
        }
        let code = kept.code[width].compiled.as_ref();
        let choice = self.choose(request, code, kept, kept.states[width][threads]);
        kept.states[width][threads] = choice.state;
        if held {
            self.tags[width][threads].store(choice.state.tag(), Ordering::Relaxed);
        }
        let meanwhile = match request.options.executor {
            Executor::Auto => Meanwhile::Leave,
            Executor::Interp | Executor::Jit => Meanwhile::Wait(watch),
        };
        if choice.jit && self.make_code(request, access, kept, meanwhile)? {
            let code = &kept.code[width].compiled;
            if let Some(compiled) = code {
                // Under the lock: a forked child must not wait for one that is being set.
                if held && matches!(self.loops, Ok(Loops::Store(_))) && self.access()[..] == *access {
                    let _ = self.direct[width].set(compiled.clone());
                }
                return Ok((compiled.clone(), choice));
            }
        }
        kept.ledger.add(&choice.cost);
        let program = match &kept.programs[width] {
            Some(program) => program.clone(),
            None => {
                let program = self.program(request.width, access)?;
                kept.programs[width] = Some(program.clone());
                program
            }
        };
        Ok((program, choice))
    }

    /// The interpreter's program for inputs that are accessed so.
    pub fn program(&self, width: VectorWidth, access: &[Access]) -> Result<Executable> {
        Interpreter.prepare(&self.stage.kernel, &self.functions, access, width, Purpose::Store)
    }

    /// Sees to it that there is machine code; false where the compiler refuses it, which it is asked for once, or another
    /// thread makes it and is not waited for.
    fn make_code(
        &self,
        request: &Request<'_>,
        access: &[Access],
        kept: &mut Kept,
        meanwhile: Meanwhile<'_>,
    ) -> Result<bool> {
        let code = &mut kept.code[request.width as usize];
        if code.compiled.is_none() && !code.refused {
            match request.runtime.compile(self.key(request, access), &self.functions, meanwhile)? {
                Compilation::Code(compiled) => code.compiled = Some(compiled),
                Compilation::Refused => code.refused = true,
                Compilation::Elsewhere => {}
            }
        }
        Ok(code.compiled.is_some())
    }

    /// Compiles the stage for linear inputs, if it has no others.
    pub fn compile(&self, request: &Request<'_>) -> Result<()> {
        let options = request.options;
        let wanted = options.executor != Executor::Interp && self.cost <= options.max_compiled_cost;
        if !self.is_linear() || !wanted {
            return Ok(());
        }
        // Where another thread has the lock, the engine keeps the code for it.
        let mut alone = Kept::default();
        let mut guard = self.kept.try_lock();
        let kept = guard.as_deref_mut().unwrap_or(&mut alone);
        let access = self.access();
        kept.turn_to(&access);
        self.make_code(request, &access, kept, Meanwhile::Wait(None)).map(drop)
    }

    #[inline]
    fn tag(&self, request: &Request<'_>) -> u8 {
        self.tags[request.width as usize][request.threads as usize].load(Ordering::Relaxed)
    }

    /// When a run starts that may be a trial's.
    #[inline]
    pub fn clock(&self, request: &Request<'_>) -> Option<Instant> {
        let is_trial = request.options.executor == Executor::Auto && self.tag(request) == State::TRIAL;
        is_trial.then(Instant::now)
    }

    /// Notes how long a run of a trial took.
    pub fn note(&self, request: &Request<'_>, jit: bool, time: Duration) {
        // Times are compared in floats.
        let _ieee = FloatEnv::ieee();
        if let Ok(mut kept) = self.kept.try_lock()
            && let State::Trial(trial) = &mut kept.states[request.width as usize][request.threads as usize]
        {
            trial.note(jit, time);
        }
    }

    /// The machine code of a stage that stores and is to run now, on this thread alone, with its inputs accessed as the plan of
    /// its loops says.
    #[inline]
    pub fn direct(&self, request: &Request<'_>) -> Option<&Executable> {
        let width = request.width as usize;
        let compiled = self.direct[width].get()?;
        let alone = self.short[width] || request.threads == ThreadMode::One;
        let allowed = alone && self.cost <= request.options.max_compiled_cost;
        let runs = allowed
            && match request.options.executor {
                Executor::Interp => false,
                Executor::Jit => true,
                Executor::Auto => match self.tag(request) {
                    State::COMPILED => true,
                    State::TRIAL => self.is_turn(request, compiled),
                    _ => false,
                },
            };
        runs.then_some(compiled)
    }

    /// Whether it is machine code's turn in a trial.
    #[cold]
    fn is_turn(&self, request: &Request<'_>, compiled: &Executable) -> bool {
        let (width, threads) = (request.width as usize, request.threads as usize);
        let _ieee = FloatEnv::ieee();
        self.kept.try_lock().is_ok_and(|mut kept| {
            let choice = self.choose(request, Some(compiled), &kept, kept.states[width][threads]);
            kept.states[width][threads] = choice.state;
            self.tags[width][threads].store(choice.state.tag(), Ordering::Relaxed);
            choice.jit
        })
    }
}
