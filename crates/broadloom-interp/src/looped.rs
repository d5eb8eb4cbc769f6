//! The loops of a kernel: each element of a tile repeats the body while its condition holds.
//!
//! The states of the elements that are not done are packed at the beginning of the loop's working memory, with the captured
//! values and the index of each element in the tile. The condition is evaluated for all of them; those for which it is false are
//! written to the results and removed; the body is evaluated for the others. Each element thus performs exactly the iterations
//! of a scalar program: nothing is computed for an element that is done, so no division or call of a host function has to be
//! masked.

use std::sync::atomic::Ordering;

use broadloom_ir::kernel::{Kernel, KernelLoop, PartOfBody};
use broadloom_ir::tuning::loops::PAUSE;
use broadloom_ir::{Error, ErrorKind, Result};
use broadloom_mem::{ALIGN, Access, HostFunction, LoopRun, Table, has_failed, typed, typed_mut};
use smallvec::SmallVec;

use crate::program::{CapturedUse, Location, LoopPart, LoopStep, Program};

impl LoopPart {
    fn new(
        of: &KernelLoop,
        outputs: std::ops::Range<usize>,
        with: &PartContext<'_>,
    ) -> Result<(LoopPart, Kernel)> {
        let PartOfBody { mut kernel, divisions, gathers } = of.part(outputs);
        kernel.checks_division = with.checks_division;
        let program = Program::new(&kernel, with.functions, &with.access)?;
        let divisions = if with.checks_division { divisions } else { Vec::new() };
        let divisions = divisions.into_iter().map(|number| with.first.division + number);
        let gathers = gathers.into_iter().map(|number| with.first.gather + number);
        Ok((LoopPart { program, sites: divisions.chain(gathers).collect() }, kernel))
    }
}

/// The properties that the condition and the body of a loop share.
struct PartContext<'s> {
    functions: &'s [HostFunction],
    access: Vec<Access>,
    checks_division: bool,
    first: FirstSites,
}

/// The numbers of a loop's first fault sites among those of the program that contains it.
#[derive(Clone, Copy)]
pub(crate) struct FirstSites {
    pub division: usize,
    pub gather: usize,
}

/// The operands of a loop.
pub(crate) trait LoopArgs {
    /// The elements of an operand, which are in the working memory `front` or in the inputs; a single one if it is uniform.
    fn elements<'t>(&'t self, operand: usize, front: &'t [u8]) -> &'t [u8];
}

/// The properties of a run that the loops of a program use.
pub(crate) struct Surroundings<'r> {
    pub run: &'r LoopRun<'r>,
    /// The tables of the program.
    pub tables: &'r [Table<'r>],
    /// A byte for each fault site of the program.
    pub faults: &'r mut [u8],
    /// The elements that have met a position outside of a table.
    pub strays: &'r mut Strays,
}

/// The elements of a tile that have met a position outside of a table. They perform no further iteration of a loop without a limit:
/// what they would compute follows from another element of the table, and may never end. The run returns an error in any case.
#[derive(Default)]
pub(crate) struct Strays {
    /// A byte for each element of the tile, 1 for a stray; empty if there are none.
    of_element: Vec<u8>,
}

impl Strays {
    /// All of `n` elements, or none.
    pub(crate) fn all(n: usize, are_strays: bool) -> Strays {
        Strays { of_element: if are_strays { vec![1; n] } else { Vec::new() } }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of_element.is_empty()
    }

    /// Adds those of these elements of a tile of `n`.
    pub(crate) fn add(&mut self, n: usize, elements: impl Iterator<Item = usize>) {
        for element in elements {
            if self.is_empty() {
                self.of_element.resize(n, 0);
            }
            if let Some(stray) = self.of_element.get_mut(element) {
                *stray = 1;
            }
        }
    }

    /// Their indices in the tile.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.of_element.iter().enumerate().filter(|(_, stray)| **stray != 0).map(|(element, _)| element)
    }

    fn contains(&self, element: usize) -> bool {
        self.of_element.get(element).is_some_and(|&stray| stray != 0)
    }
}

impl LoopStep {
    /// Compiles a loop. `uniform` tells which of its operands are the same for the whole tile; the results have the numbers of
    /// tiles or slots.
    pub(crate) fn new(
        of: &KernelLoop,
        functions: &[HostFunction],
        checks_division: bool,
        uniform: &[bool],
        args: Vec<(Location, usize)>,
        results: Vec<Option<usize>>,
        first: FirstSites,
    ) -> Result<LoopStep> {
        let carried = of.carried();
        let class = |i: usize| if i >= carried && uniform[i] { Access::Splat } else { Access::Contiguous };
        let access = (0..uniform.len()).map(class).collect();
        let shared = PartContext { functions, access, checks_division, first };
        let (condition, tested) = LoopPart::new(of, 0..1, &shared)?;
        let (body, computed) = LoopPart::new(of, 1..1 + carried, &shared)?;
        let reads = |kernel: &Kernel, input: usize| {
            let is_it = |value: &broadloom_ir::kernel::ValueId| value.index() == input;
            kernel.body.iter().any(|inst| kernel.args(inst).iter().any(is_it))
                || kernel.outputs.iter().any(|output| is_it(&output.value))
        };
        let captured = |i: usize| match reads(&tested, i) || reads(&computed, i) {
            false => CapturedUse::Unread,
            true if uniform[i] => CapturedUse::Uniform,
            true => CapturedUse::Packed,
        };
        Ok(LoopStep {
            limit: of.limit,
            is_numbered: of.is_numbered,
            condition,
            body,
            captured: (carried..uniform.len()).map(captured).collect(),
            calls: !of.body.functions.is_empty(),
            tables: of.tables.clone(),
            cost: of.body.cost().saturating_add(of.body.inputs.len() as u64),
            tile: 0,
            args,
            results,
        })
    }

    /// The step for tiles of at most this many elements.
    pub(crate) fn sized(self, tile: usize) -> LoopStep {
        LoopStep { tile, ..self }
    }

    fn carried(&self) -> usize {
        self.results.len()
    }

    /// The sizes in bytes of the elements of the carried values.
    fn states(&self) -> impl Iterator<Item = usize> {
        self.args[..self.carried()].iter().map(|(_, size)| *size)
    }

    /// The sizes in bytes of the elements of captured values that are kept in the loop's working memory, with their uses.
    fn kept(&self) -> impl Iterator<Item = (usize, CapturedUse)> {
        let sizes = self.args[self.carried()..].iter().map(|(_, size)| *size);
        sizes.zip(self.captured.iter().copied())
    }

    /// The number of bytes per element that the loop keeps in its working memory.
    pub(crate) fn bytes_of_element(&self) -> usize {
        let packed = self.kept().filter(|(_, captured)| *captured == CapturedUse::Packed);
        2 * self.states().sum::<usize>() + packed.map(|(size, _)| size).sum::<usize>() + INDEX + 1
    }

    /// The number of bytes of the loop's working memory.
    pub(crate) fn bytes(&self) -> usize {
        let states: usize = self.states().map(|size| self.array(size)).sum();
        let kept: usize = self.kept().map(|(size, _)| self.array(size)).sum();
        let programs = [&self.condition, &self.body].map(|part| &part.program);
        let faults: usize = programs.iter().map(|program| program.fault_sites.next_multiple_of(ALIGN)).sum();
        let inner = programs.iter().map(|program| program.bytes).max().unwrap_or(0);
        2 * states + kept + self.array(1) + self.array(INDEX) + faults + inner.next_multiple_of(ALIGN)
    }

    /// The number of bytes of an array with an element of `size` bytes for each element of a tile.
    fn array(&self, size: usize) -> usize {
        (self.tile * size).next_multiple_of(ALIGN)
    }

    /// Runs the loop for the `n` elements of a tile. `operands` are in `front` or in the inputs, and the results are in `front`;
    /// `area` is the loop's working memory.
    pub(crate) fn run(
        &self,
        n: usize,
        front: &mut [u8],
        area: &mut [u8],
        operands: &impl LoopArgs,
        with: Surroundings<'_>,
    ) -> Result<()> {
        let Surroundings { run, tables, faults, strays } = with;
        let missing = || Error::new(ErrorKind::Internal, "a loop over tables that the run lacks");
        let own = self.tables.iter().map(|&table| tables.get(table as usize).copied().ok_or_else(missing));
        let tables: SmallVec<[Table<'_>; 2]> = own.collect::<Result<_>>()?;
        let numbers = |front: &[u8], element: usize| {
            self.number(operands.elements(self.args.len() - 1, front), element)
        };
        if self.is_numbered && (0..n).all(|i| run.endless.load(Ordering::Relaxed) < numbers(front, i)) {
            // Elements after one that does not end are not needed for the error that the run returns.
            return Ok(());
        }
        let mut state = LoopState::new(self, n, area);
        for (i, to) in state.now.iter_mut().enumerate() {
            broadcast(operands.elements(i, front), to, n * self.args[i].1);
        }
        for (i, to) in state.captured.iter_mut().enumerate() {
            if self.captured[i] != CapturedUse::Unread {
                let from = operands.elements(self.carried() + i, front);
                to[..from.len()].copy_from_slice(from);
            }
        }
        let (mut iterations, mut work) = (0, 0u64);
        let mut done = Ok(());
        loop {
            if self.limit == Some(iterations) {
                state.finish(self, front);
                break;
            }
            state.test(run, &tables)?;
            state.note_strays(n, strays);
            if self.limit.is_none() {
                state.stop(strays);
            }
            state.end(self, front);
            if state.active == 0 || self.calls && has_failed() {
                break;
            }
            if self.limit.is_none() && iterations >= run.max_iterations {
                let ended = typed::<u32>(state.index).unwrap_or(&[])[..state.active].iter();
                let first = ended.map(|&element| numbers(front, element as usize)).min();
                run.endless.fetch_min(first.unwrap_or(0), Ordering::Relaxed);
                state.finish(self, front);
                break;
            }
            state.compute(run, &tables)?;
            state.note_strays(n, strays);
            iterations += 1;
            if self.calls && has_failed() {
                break;
            }
            work = work.saturating_add((state.active as u64 + OVERHEAD).saturating_mul(self.cost));
            if work >= PAUSE || self.calls {
                work = 0;
                if let Err(stopped) = (run.go_on)() {
                    done = Err(stopped);
                    break;
                }
            }
        }
        state.faults(faults);
        done
    }

    /// The number of an element.
    fn number(&self, numbers: &[u8], element: usize) -> u64 {
        let numbers = typed::<i64>(numbers).unwrap_or(&[]);
        // A single number is that of all elements.
        let number = numbers.get(element).or_else(|| numbers.first());
        number.map_or(0, |&number| number as u64)
    }
}

/// The size in bytes of the index of an element in its tile.
const INDEX: usize = size_of::<u32>();
/// The time to begin an iteration, in elements.
const OVERHEAD: u64 = 64;

/// The working memory of a loop while it runs.
struct LoopState<'a> {
    step: &'a LoopStep,
    /// The number of elements that are not done. They are the first ones of each array.
    active: usize,
    /// The carried values, and memory for the next ones.
    now: SmallVec<[&'a mut [u8]; 4]>,
    next: SmallVec<[&'a mut [u8]; 4]>,
    captured: SmallVec<[&'a mut [u8]; 8]>,
    /// Whether the condition holds, for each element.
    holds: &'a mut [u8],
    /// The index of each element in the tile.
    index: &'a mut [u8],
    /// A byte for each fault site of the condition, and of the body.
    tested: &'a mut [u8],
    computed: &'a mut [u8],
    /// Those of the elements that are not done that have strayed in the condition or the body.
    strays: Strays,
    memory: &'a mut [u8],
}

impl<'a> LoopState<'a> {
    fn new(step: &'a LoopStep, n: usize, mut area: &'a mut [u8]) -> LoopState<'a> {
        let mut take = |bytes: usize| {
            let (taken, rest) = std::mem::take(&mut area).split_at_mut(bytes);
            area = rest;
            taken
        };
        let now = step.states().map(|size| take(step.array(size))).collect();
        let next = step.states().map(|size| take(step.array(size))).collect();
        let captured = step.kept().map(|(size, _)| take(step.array(size))).collect();
        let (holds, index) = (take(step.array(1)), take(step.array(INDEX)));
        let [tested, computed] = [&step.condition, &step.body].map(|part| {
            let sites = part.program.fault_sites;
            let faults = &mut take(sites.next_multiple_of(ALIGN))[..sites];
            faults.fill(0);
            faults
        });
        let strays = Strays::default();
        for (number, to) in typed_mut::<u32>(index).unwrap_or(&mut []).iter_mut().enumerate() {
            *to = number as u32;
        }
        LoopState {
            step,
            active: n,
            now,
            next,
            captured,
            holds,
            index,
            tested,
            computed,
            strays,
            memory: area,
        }
    }

    /// Evaluates the condition.
    fn test(&mut self, run: &LoopRun<'_>, tables: &[Table<'_>]) -> Result<()> {
        let inputs = self.step.inputs(&self.now, &self.captured, self.active);
        let holds = &mut [&mut self.holds[..self.active]];
        let program = &self.step.condition.program;
        let with = Surroundings { run, tables, faults: self.tested, strays: &mut self.strays };
        program.run_tiles(&inputs, holds, self.active, self.memory, with)
    }

    /// Evaluates the body.
    fn compute(&mut self, run: &LoopRun<'_>, tables: &[Table<'_>]) -> Result<()> {
        let LoopState { step, active, now, next, captured, computed, strays, memory, .. } = self;
        let inputs = step.inputs(now, captured, *active);
        let outputs = next.iter_mut().zip(step.states()).map(|(to, size)| &mut to[..*active * size]);
        let mut outputs: SmallVec<[&mut [u8]; 4]> = outputs.collect();
        let with = Surroundings { run, tables, faults: computed, strays };
        step.body.program.run_tiles(&inputs, &mut outputs, *active, memory, with)?;
        drop((inputs, outputs));
        std::mem::swap(now, next);
        Ok(())
    }

    /// Adds the elements that have strayed to those of the loop's `n` elements.
    fn note_strays(&mut self, n: usize, strays: &mut Strays) {
        if !self.strays.is_empty() {
            let index = typed::<u32>(self.index).unwrap_or(&[]);
            strays.add(n, self.strays.iter().filter_map(|at| index.get(at)).map(|&element| element as usize));
            self.strays = Strays::default();
        }
    }

    /// Makes the condition fail for strays.
    fn stop(&mut self, strays: &Strays) {
        if !strays.is_empty() {
            let index = typed::<u32>(self.index).unwrap_or(&[]);
            for (holds, &element) in self.holds[..self.active].iter_mut().zip(index) {
                if strays.contains(element as usize) {
                    *holds = 0;
                }
            }
        }
    }

    /// Writes the states of the elements whose condition does not hold to the results, and packs those of the others.
    fn end(&mut self, step: &LoopStep, front: &mut [u8]) {
        let active = self.active;
        let holds = &mut self.holds[..active];
        let kept = holds.iter().filter(|holds| **holds != 0).count();
        if kept == active {
            return;
        }
        let index = typed_mut::<u32>(self.index).unwrap_or(&mut []);
        for ((state, size), result) in self.now.iter_mut().zip(step.states()).zip(&step.results) {
            if let Some(to) = *result {
                let ended = holds.iter().zip(&*index).zip(state.chunks_exact(size));
                for ((_, &element), value) in ended.filter(|((holds, _), _)| **holds == 0) {
                    let at = to + element as usize * size;
                    front[at..at + size].copy_from_slice(value);
                }
            }
            pack(state, size, holds);
        }
        for (values, (size, captured)) in self.captured.iter_mut().zip(step.kept()) {
            if captured == CapturedUse::Packed {
                pack(values, size, holds);
            }
        }
        packed(index, holds);
        self.active = kept;
    }

    /// Writes the states of all elements that are not done to the results.
    fn finish(&mut self, step: &LoopStep, front: &mut [u8]) {
        self.holds[..self.active].fill(0);
        self.end(step, front);
    }

    /// Records the divisions by zero and the positions outside of tables.
    fn faults(&self, faults: &mut [u8]) {
        for (met, part) in [(&self.tested, &self.step.condition), (&self.computed, &self.step.body)] {
            for (met, &site) in met.iter().zip(&part.sites) {
                faults[site] |= met;
            }
        }
    }
}

impl LoopStep {
    /// The inputs of the condition and the body, for the first `active` elements.
    fn inputs<'s>(
        &self,
        now: &'s [&mut [u8]],
        captured: &'s [&mut [u8]],
        active: usize,
    ) -> SmallVec<[&'s [u8]; 12]> {
        let states = now.iter().zip(self.states()).map(|(state, size)| &state[..active * size]);
        let captured = captured.iter().zip(self.kept()).map(|(values, (size, captured))| match captured {
            CapturedUse::Unread => &values[..0],
            CapturedUse::Uniform => &values[..size],
            CapturedUse::Packed => &values[..active * size],
        });
        states.chain(captured).collect()
    }
}

/// Copies elements to the first `bytes` bytes, or repeats a single one there.
fn broadcast(from: &[u8], to: &mut [u8], bytes: usize) {
    match from.len() == bytes {
        true => to[..bytes].copy_from_slice(from),
        false => to[..bytes].chunks_exact_mut(from.len()).for_each(|to| to.copy_from_slice(from)),
    }
}

/// Moves the elements for which `holds` is not 0 to the beginning.
fn pack(values: &mut [u8], size: usize, holds: &[u8]) {
    match size {
        1 => packed(values, holds),
        2 => packed(typed_mut::<u16>(values).unwrap_or(&mut []), holds),
        4 => packed(typed_mut::<u32>(values).unwrap_or(&mut []), holds),
        _ => packed(typed_mut::<u64>(values).unwrap_or(&mut []), holds),
    }
}

fn packed<T: Copy>(values: &mut [T], holds: &[u8]) {
    let mut kept = 0;
    for (from, &holds) in holds.iter().enumerate() {
        values[kept] = values[from];
        kept += usize::from(holds != 0);
    }
}

/// The error for a program with loops whose run has no [`LoopRun`].
pub(crate) fn absent() -> Error {
    Error::new(ErrorKind::Internal, "a kernel with loops, run without what they need")
}
