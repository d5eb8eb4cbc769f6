//! Running one stage: bind memory, choose an executor, share the work.
//!
//! In: a prepared stage and the memory of its operands. Out: its outputs are written, or an error that names the op
//! whose divisor was zero. Must hold: each thread computes under the default floating-point environment and gets
//! its own back; the bits and the error are the same for any number of threads.

use std::cell::RefCell;
use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_interp::Tiles;
use broadloom_mem::{
    Access, AliasPolicy, Block, FloatEnv, Nest, NestError, Part, Pattern, Scratch, Stores, View, ViewMut,
};
use smallvec::SmallVec;

use crate::engine::Engine;
use crate::engine::decide::{self, Choice, Why};
use crate::engine::jit::Compiled;
use crate::engine::memory::{contiguous_view, view};
use crate::engine::options::Options;
use crate::engine::prepared::{Prepared, Runner};
use crate::engine::watch::Watch;

impl Prepared {
    /// Runs the stage over slices: for each input the memory that its layout is over, for each output its elements.
    ///
    /// PERF: the usual short call. Nothing is planned once it was run (nor allocated, with up to four operands), and
    /// nothing is locked where it is clear that machine code runs a flat stage.
    #[inline]
    pub fn run_over(
        &self,
        engine: &Engine,
        options: &Options,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
        params: &[u64],
    ) -> Result<()> {
        if self.stage.shape.elements() == 0 {
            return Ok(());
        }
        if let Some(compiled) = self.direct(engine, options) {
            let slices = outputs.iter_mut().map(|bytes| &mut **bytes);
            return self.run_direct(compiled, options, inputs.iter().copied(), slices, params);
        }
        let since = self.clock(options);
        let slices = outputs.iter_mut().map(|bytes| &mut **bytes);
        let nest = match self.pattern.get() {
            Some(Some(pattern)) => pattern.bind(inputs.iter().copied(), slices),
            _ => self.nest(inputs, slices),
        };
        // PERF: a nest that is moved costs as much as a short call's work.
        match nest {
            Ok(mut nest) => self.run(engine, options, &mut nest, params, since, None),
            Err(e) => Err(Error::new(ErrorKind::Memory, e.to_string())),
        }
    }

    /// The nest over slices; its pattern is kept.
    #[cold]
    fn nest<'d>(
        &self,
        inputs: &[&'d [u8]],
        outputs: impl Iterator<Item = &'d mut [u8]>,
    ) -> std::result::Result<Nest<'d>, NestError> {
        let stage = &self.stage;
        let mut views: SmallVec<[View<'_>; 8]> = SmallVec::new();
        let mut places: SmallVec<[Range<*const u8>; 8]> = SmallVec::new();
        for (input, ((bytes, given), &dtype)) in
            inputs.iter().zip(&stage.inputs).zip(&stage.kernel.inputs).enumerate()
        {
            let bound =
                view((*bytes).into(), dtype, &given.layout).map_err(|_| NestError::InputShape { input })?;
            views.push(bound);
            places.push(bytes.as_ptr_range());
        }
        let mut written: SmallVec<[ViewMut<'_>; 4]> = SmallVec::new();
        for (output, (bytes, dtype)) in outputs.zip(stage.kernel.output_dtypes()).enumerate() {
            places.push(bytes.as_ptr_range());
            let bound = contiguous_view(bytes, dtype, &stage.shape);
            written.push(bound.map_err(|_| NestError::OutputShape { output })?);
        }
        let nest = Nest::new(&stage.shape, &views, written)?;
        // Under the lock: a forked child must not wait for one that is being set.
        if let Ok(_held) = self.ready.try_lock() {
            let _ = self.pattern.set(Pattern::of(&nest, places));
        }
        Ok(nest)
    }

    /// Runs a flat stage over slices by its machine code, [`Prepared::direct`].
    #[inline]
    pub fn run_direct<'d>(
        &self,
        compiled: &Compiled,
        options: &Options,
        inputs: impl ExactSizeIterator<Item = &'d [u8]>,
        outputs: impl ExactSizeIterator<Item = &'d mut [u8]>,
        params: &[u64],
    ) -> Result<()> {
        let since = self.clock(options);
        let _ieee = FloatEnv::ieee();
        let places = self.flat.as_deref().unwrap_or(&[]);
        let inputs = inputs.zip(places).map(|(bytes, (first, _))| bytes.get(*first..).unwrap_or(&[]));
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
            return done;
        }
        done.and_then(|()| self.check(faults.iter().map(|&fault| fault != 0)))
    }

    /// Runs the stage over bound memory; `since` is when the run began, if that is asked for.
    pub fn run(
        &self,
        engine: &Engine,
        options: &Options,
        nest: &mut Nest<'_>,
        params: &[u64],
        since: Option<Instant>,
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        // Choosing estimates in floats, and so does the compiler, whatever the host has set.
        let ieee = FloatEnv::ieee();
        let access: SmallVec<[Access; 8]> = (0..self.stage.inputs.len()).map(|i| nest.access(i)).collect();
        let (runner, Choice { why, time, .. }) = self.runner(engine, options, &access)?;
        let faults: SmallVec<[AtomicU8; 8]> = (0..self.sites).map(|_| AtomicU8::new(0)).collect();
        let stores = self.traffic.stores();
        let job = Job { runner: &runner, stores, params, faults: &faults, failure: OnceLock::new(), watch };
        // Machine code reads before it writes, element by element; the interpreter's slices must not alias.
        let policy = match &runner {
            Runner::Jit(_) => AliasPolicy::InPlace,
            Runner::Interp(_) => AliasPolicy::Copy,
        };
        let threads = decide::threads(time, engine.threads(options, time));
        let chunks = watch.map_or(1, |_| self.stage.shape.elements().div_ceil(Watch::CHUNK));
        if threads <= 1 {
            nest.split(chunks, policy).for_each(|part| job.part(part));
        } else {
            // More parts than threads where the pool decides who runs; as many as allowed where the caller does.
            let parts = if options.threads.is_some() { threads } else { threads * 4 };
            let parts: Vec<Part<'_>> = nest.split(parts.max(chunks), policy).collect();
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
    watch: Option<&'j Watch<'j>>,
}

thread_local! {
    /// Working memory, kept between runs: some hundred kilobytes at most.
    static WORKSPACE: RefCell<(Scratch, Tiles)> = RefCell::default();
}

impl Job<'_> {
    /// Runs a part, under the default floating-point environment.
    fn part(&self, part: Part<'_>) {
        if let Some(watch) = self.watch
            && let Err(cancelled) = watch.check()
        {
            let _ = self.failure.set(cancelled);
            return;
        }
        let elements = part.elements();
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
        if let Some(watch) = self.watch {
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
