//! A prepared stage: a stage with its loop plan, its interpreter programs and machine code, and the states of the executor
//! choice.
//!
//! A mutex guards everything that runs modify. A short call reads the machine code and the tags of the states without the mutex;
//! they are written only by a thread that holds the mutex, so that a forked child never waits for a write that another thread
//! began. If the mutex is held, a thread builds an interpreter program of its own instead of waiting.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use broadloom_core::fuse::Stage;
use broadloom_core::{Layout, Result};
use broadloom_interp::Interpreter;
use broadloom_ir::loop_plan::{AccessClass, Generated, LoopOperand, LoopPlan, LoopPlanError};
use broadloom_ir::{Purpose, VectorWidth};
use broadloom_mem::{Access, FloatEnv, HostFunction, KernelExecutor, Stores};
use smallvec::SmallVec;

use crate::engine::choice::{self, Choice, Facts, Ledger, State, Why};
use crate::engine::cost::{self, Estimate, RunCost, Size, Traffic};
use crate::engine::in_flight::Meanwhile;
use crate::engine::loops::Loops;
use crate::engine::options::Executor;
use crate::engine::routine::RoutineCall;
use crate::engine::runtime::{Accesses, Compilation, Executable, KernelKey, Request};
use crate::engine::space::{Form, ShortReduction, Space};
use crate::engine::stored::stored;
use crate::engine::watch::{Watch, Work};
use crate::engine::workers;

/// A stage with everything that is kept between its runs.
pub(crate) struct PreparedStage {
    pub stage: Stage,
    /// The host functions that the kernel calls.
    pub functions: SmallVec<[HostFunction; 1]>,
    /// The loops over the stage's elements, for inputs with the stage's layouts.
    pub loops: std::result::Result<Loops, LoopPlanError>,
    /// Whether the stage reduces long contiguous ranges of elements.
    has_long_runs: bool,
    /// The reductions of the stage, if each reduces a few contiguous elements of an input.
    pub short_reductions: Option<SmallVec<[ShortReduction; 1]>>,
    estimate: Estimate,
    /// The approximate number of the kernel's vector instructions per element.
    cost: usize,
    /// The memory traffic of the stage's operands.
    pub traffic: Traffic,
    /// The number of elements that a thread computes between two checks for cancellation.
    pub pause: usize,
    /// The number of the kernel's fault sites.
    pub sites: usize,
    /// Whether a host function that the kernel calls can fail.
    pub can_fail: bool,
    /// The estimated nanoseconds of machine code on one thread, by [`VectorWidth`]. They are integers, since they are compared in
    /// the application's floating-point environment.
    fused: [u64; 3],
    kept: Mutex<Kept>,
    /// Whether short calls run machine code on this thread: whether the stage stores its elements, or reduces a few, without loops
    /// of elements, whose time is not known beforehand.
    is_direct: bool,
    /// The machine code of such a stage, by [`VectorWidth`], which short calls read without the mutex.
    direct: [OnceLock<Executable>; 3],
    /// The [tags](State::tag) of the states, by vector width and thread mode.
    tags: ByRequest<AtomicU8>,
}

/// A value for each [`VectorWidth`] and thread mode.
type ByRequest<T> = [[T; 2]; 3];

#[derive(Default)]
struct Kept {
    /// The accesses of the inputs in the last run, for which the programs and code below are prepared.
    access: Accesses,
    /// The interpreter's programs, by [`VectorWidth`].
    programs: [Option<Executable>; 3],
    code: [KeptCode; 3],
    states: ByRequest<State>,
    ledger: Ledger,
}

/// Machine code of one [`VectorWidth`].
#[derive(Default)]
struct KeptCode {
    compiled: Option<Executable>,
    /// Whether the compiler has refused the kernel; compilation is then not tried again.
    refused: bool,
}

impl Kept {
    /// Switches to these accesses: drops the programs, code and states for the previous ones. The costs of previous runs and the
    /// compiler's refusals are kept.
    fn turn_to(&mut self, access: &[Access]) {
        if self.access[..] != *access {
            let code = self.code.each_ref().map(|code| KeptCode { compiled: None, refused: code.refused });
            *self = Kept { access: access.into(), code, ledger: self.ledger, ..Kept::default() };
        }
    }
}

impl PreparedStage {
    /// Prepares a stage. Its host functions are among `functions`, and the outputs that it stores have the layouts `outputs`.
    pub(crate) fn new(stage: Stage, functions: &[HostFunction], outputs: &[Layout]) -> PreparedStage {
        let called = |f: &&HostFunction| stage.kernel.functions.contains(f.declaration());
        let functions: SmallVec<[HostFunction; 1]> = functions.iter().filter(called).cloned().collect();
        let loops = Loops::new(&stage, outputs);
        let generated = stage.inputs.iter().zip(&stage.kernel.inputs);
        let words = generated.filter(|(input, _)| input.source.generated() == Some(Generated::Words));
        let words = words.map(|(_, dtype)| dtype.size() / size_of::<u32>()).sum();
        let estimate = Estimate::of(&stage.kernel, words);
        let elements = stage.shape.elements();
        let space = loops.as_ref().ok().and_then(Loops::space);
        let mut traffic = match stage.routine {
            Some(_) => Traffic::default(),
            None => stored(&stage, outputs).map_or_else(|_| Traffic::default(), |plan| Traffic::of(&plan)),
        };
        traffic.stays = space.is_some() || stage.recurrence.is_some();
        PreparedStage {
            has_long_runs: space.is_some_and(Space::has_long_runs),
            short_reductions: space.and_then(|space| ShortReduction::all(&stage, space)),
            can_fail: functions.iter().any(HostFunction::can_fail),
            functions,
            estimate,
            cost: stage.kernel.length() as usize,
            pause: cost::pause(&stage.kernel),
            traffic,
            sites: stage.kernel.fault_sites().count(),
            fused: VectorWidth::ALL.map(|width| cost::fused(&estimate, width, elements)),
            kept: Mutex::default(),
            is_direct: stage.kernel.loops.is_empty()
                && match &loops {
                    Ok(Loops::Store(_)) => true,
                    Ok(Loops::Reduce(space)) => {
                        space.is_short_row() && stage.reductions().all(|reduction| reduction.is_some())
                    }
                    _ => false,
                },
            direct: Default::default(),
            tags: Default::default(),
            loops,
            stage,
        }
    }

    /// The call of a routine, if the stage is one.
    pub(crate) fn routine(&self) -> Option<RoutineCall<'_>> {
        RoutineCall::of(&self.stage)
    }

    /// The index space of a stage that reduces.
    pub(crate) fn space(&self) -> Option<&Space> {
        self.loops.as_ref().ok()?.space()
    }

    /// The access class of each input: contiguous for all inputs if there is no loop plan for the layouts.
    pub(crate) fn classes(&self) -> impl Iterator<Item = AccessClass> {
        let planned = self.loops.as_ref().ok().and_then(Loops::plan).map_or(&[][..], LoopPlan::operands);
        let class = |input| planned.get(input).map_or(AccessClass::Contiguous, LoopOperand::class);
        (0..self.stage.kernel.inputs.len()).map(class)
    }

    /// Whether the stage stores its elements in a single loop over memory.
    fn is_linear(&self) -> bool {
        matches!(&self.loops, Ok(Loops::Store(plan)) if plan.is_linear())
    }

    /// Whether the kernel has loops, so that the time of a run depends on the values.
    pub(crate) fn has_loops(&self) -> bool {
        !self.stage.kernel.loops.is_empty()
    }

    /// The reason why the kernel is interpreted on every target, if it is.
    fn never_compiled(&self) -> Option<&'static str> {
        if self.stage.routine.is_some() {
            return Some("a routine of the library computes it");
        }
        self.stage.kernel.never_compiled()
    }

    /// The access of each input. A reduction packs reversed rows and every second element into tiles; other stages may read them
    /// in place.
    pub(crate) fn access(&self) -> Accesses {
        if let Ok(Loops::Steps(steps)) = &self.loops {
            return steps.access();
        }
        match self.space() {
            Some(_) => self.classes().map(AccessClass::access).collect(),
            None => self.classes().map(AccessClass::stepped_access).collect(),
        }
    }

    /// The accesses of the inputs when the stage runs the given loops. `None` in two cases, in which machine code is not used: the
    /// elements are reduced directly from memory, or the loops reduce in another [`Form`] than the one that the stage's machine
    /// code was compiled for.
    pub(crate) fn accesses_in(&self, loops: &Loops) -> Result<Option<Accesses>> {
        Ok(match loops {
            Loops::Store(plan) => Some(plan.stepped_accesses().collect()),
            Loops::Scan(scanned) => Some(scanned.plan.stepped_accesses().collect()),
            Loops::Steps(steps) => Some(steps.access()),
            Loops::Routine => None,
            Loops::Reduce(space) => {
                let is_along = |space: &Space| space.form == Form::Along;
                let is_same = self.space().is_some_and(|own| is_along(own) == is_along(space));
                let is_computed = is_same && space.count > 0 && !space.takes_inputs();
                if is_computed { Some(space.whole()?.accesses().collect()) } else { None }
            }
        })
    }

    /// The executor choice that a run with these accesses of inputs would make now.
    pub(crate) fn would_choose<'e>(&'e self, request: &Request<'e>, access: &[Access]) -> Choice<'e> {
        // Probes the compiler, since an explanation may come before the first compilation.
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

    /// The number of elements of a run, with a high estimate of its time.
    pub(crate) fn work(&self) -> Work {
        if let Some(call) = self.routine() {
            return call.work();
        }
        let elements = self.stage.shape.elements();
        Work { elements, time: cost::work(&self.stage.kernel, &self.estimate, self.size(), self.traffic) }
    }

    /// The number of elements and of rows.
    fn size(&self) -> Size {
        let rows = match &self.loops {
            Ok(Loops::Steps(steps)) => steps.rows(),
            _ => 0,
        };
        Size { elements: self.stage.shape.elements(), rows }
    }

    /// The estimated cost of a run on one thread.
    pub(crate) fn cost_of_run(&self, request: &Request<'_>) -> RunCost {
        RunCost::of(&self.estimate, request.width, self.size(), self.traffic)
    }

    /// The machine code for these accesses, if the stage or the engine's cache has it.
    fn code(&self, request: &Request<'_>, access: &[Access], kept: &Kept) -> Option<Executable> {
        let own = kept.code[request.width as usize].compiled.as_ref().filter(|_| kept.access[..] == *access);
        own.cloned().or_else(|| request.runtime.kernels.get(&self.key(request, access)))
    }

    /// The vector width of the machine code, and the reason if it is not the requested one. Before the code exists, the compiler
    /// is assumed to support the width.
    pub(crate) fn vectors(&self, request: &Request<'_>, access: &[Access]) -> (VectorWidth, Option<String>) {
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

    /// The purpose of machine code on vectors of this width.
    pub(crate) fn purpose(&self, width: VectorWidth) -> Purpose {
        match self.traffic.stores_of(width) {
            _ if self.has_long_runs => Purpose::Reduce,
            _ if self.states_in_registers() > 0 => Purpose::Step { states: self.states_in_registers() },
            Stores::Streaming => Purpose::Stream,
            Stores::Cached => Purpose::Store,
        }
    }

    /// The number of states of a recurrence over a single column, which machine code keeps in registers; 0 for other stages.
    fn states_in_registers(&self) -> u32 {
        match &self.loops {
            Ok(Loops::Steps(steps)) if steps.may_keep_states => steps.states as u32,
            _ => 0,
        }
    }

    /// The executor that a run with the stage's own layouts would use now.
    pub(crate) fn executor(&self, request: &Request<'_>) -> Executor {
        match self.would_choose(request, &self.access()).jit {
            true => Executor::Jit,
            false => Executor::Interp,
        }
    }

    /// The vector width of the machine code that a run with the stage's own layouts would use now; `None` for the interpreter.
    pub(crate) fn vector_width(&self, request: &Request<'_>) -> Option<VectorWidth> {
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
        // Whether the compiler could use the requested width is known only once code exists.
        let width = code.map_or(request.width, |code| code.width());
        let cost = RunCost::of(&self.estimate, width, self.size(), self.traffic);
        let facts = Facts { cost, ledger: kept.ledger, has_code: code.is_some() };
        let choose = |no_compiler: Option<&'e str>| {
            let limit = options.max_compiled_cost;
            let never = self.never_compiled().map(Why::Never);
            let obstacle = match never.or(no_compiler.map(Why::NoCompiler)) {
                None if self.cost > limit => Some(Why::TooLong { cost: self.cost, limit }),
                obstacle => obstacle,
            };
            choice::choose(options.executor, obstacle, state, &facts)
        };
        // The compiler is created only if the choice is machine code that does not exist yet.
        let refused = kept.code[request.width as usize].refused.then_some("the compiler refuses this kernel");
        let choice = choose(runtime.known_no_compiler().or(refused));
        match choice.jit && code.is_none() && runtime.no_compiler().is_some() {
            true => choose(runtime.no_compiler()),
            false => choice,
        }
    }

    /// Chooses the executor of a run with these accesses of inputs, and returns its prepared kernel. Under [`Executor::Auto`],
    /// the run is interpreted while another thread compiles the kernel.
    pub(crate) fn runner<'e>(
        &'e self,
        request: &Request<'e>,
        access: &[Access],
        watch: Option<&Watch<'_>>,
    ) -> Result<(Executable, Choice<'e>)> {
        let (width, threads) = (request.width as usize, request.threads as usize);
        // If another thread holds the mutex (in a forked child, a thread of the parent held it), the state is read from its tag.
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
                // The cell is set while the mutex is held, since a forked child would wait forever for a cell that another thread
                // was setting.
                if held && self.is_direct && self.access()[..] == *access {
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

    /// The interpreter's program for these accesses of inputs.
    pub(crate) fn program(&self, width: VectorWidth, access: &[Access]) -> Result<Executable> {
        Interpreter.prepare(&self.stage.kernel, &self.functions, access, width, Purpose::Store)
    }

    /// Compiles the kernel unless its code exists. Returns false if the compiler refuses the kernel, which is remembered, or if
    /// another thread is compiling it and the run does not wait.
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

    /// Compiles the stage if it is a single loop over memory, unless the options exclude machine code.
    pub(crate) fn compile(&self, request: &Request<'_>) -> Result<()> {
        let options = request.options;
        let wanted = options.executor != Executor::Interp && self.cost <= options.max_compiled_cost;
        if !self.is_linear() || self.never_compiled().is_some() || !wanted {
            return Ok(());
        }
        // If another thread holds the mutex, only the engine's cache keeps the code.
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

    /// The current time, if the run that begins may belong to a trial, so that its time has to be measured.
    #[inline]
    pub(crate) fn clock(&self, request: &Request<'_>) -> Option<Instant> {
        let is_trial = request.options.executor == Executor::Auto && self.tag(request) == State::TRIAL;
        is_trial.then(Instant::now)
    }

    /// Records the time of a run, if it belongs to a trial.
    pub(crate) fn note(&self, request: &Request<'_>, jit: bool, time: Duration) {
        // Times are compared as floats, which requires the default environment.
        let _ieee = FloatEnv::ieee();
        if let Ok(mut kept) = self.kept.try_lock()
            && let State::Trial(trial) = &mut kept.states[request.width as usize][request.threads as usize]
        {
            trial.note(jit, time);
        }
    }

    /// Records the time of a run on the interpreter, for a kernel whose loops may have repeated more often than estimated.
    pub(crate) fn learn(&self, request: &Request<'_>, time: Duration) {
        let _ieee = FloatEnv::ieee();
        let cost = self.cost_of_run(request);
        if let Ok(mut kept) = self.kept.try_lock() {
            kept.ledger.learn(&cost, time.as_nanos() as f64);
        }
    }

    /// The machine code for the accesses of the stage's loops, if the next run uses it on this thread alone.
    #[inline]
    pub(crate) fn direct(&self, request: &Request<'_>) -> Option<&Executable> {
        let width = request.width as usize;
        let compiled = self.direct[width].get()?;
        let runs = workers::threads_of_loop(request.options, self.fused[width], self.traffic) == 1
            && self.cost <= request.options.max_compiled_cost
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

    /// Whether the next run of a trial uses machine code.
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
