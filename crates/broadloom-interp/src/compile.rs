//! Compiles a kernel to a [`Program`]: selects a precompiled loop for each step, allocates tiles for values, and orders the steps
//! of each loop level.
//!
//! A value that is the same for a whole row or block is computed once per row or block. A result that is stored to exactly one
//! output, and that no later step reads, is written directly to the output.

use broadloom_ir::kernel::{Code, Depth, Kernel, KernelLoop, ValueId};
use broadloom_ir::{Error, ErrorKind, Result, VectorWidth, verify};
use broadloom_mem::{Access, HostFunction};

use crate::looped::FirstSites;
use crate::loops::{OPERANDS, arch_of};
use crate::program::{Destination, Location, LoopLevel, LoopPart, LoopStep, Program, TileStep, Work};
use crate::scratch::TileAllocator;
use crate::select::{self, Selected};

impl Program {
    /// Compiles a kernel for inputs with these accesses. `functions` must contain the host functions that the kernel calls.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the kernel does not verify, or if there is not one access for each input.
    pub fn new(kernel: &Kernel, functions: &[HostFunction], access: &[Access]) -> Result<Program> {
        verify::kernel(kernel)?;
        if access.len() != kernel.inputs.len() {
            return Err(Error::new(ErrorKind::Internal, "not one access class per input"));
        }
        let depths = kernel.depths(|i| access[i] == Access::Splat);
        let selected = select::loops(kernel, functions, &depths)?;
        let lifetimes = Lifetimes::new(kernel, &selected);
        let scratch = TileAllocator::new(kernel);
        let levels = Default::default();
        KernelCompiler { kernel, functions, depths, lifetimes, scratch, levels, loops: Vec::new() }
            .build(access, selected)
    }

    /// Limits the vectors of the program's loops to this width. On x86-64 the narrowest loops are for AVX2, and conversions of
    /// float16 always use the CPU's widest vectors. The width does not change the bits of results.
    #[must_use]
    pub fn up_to(self, width: VectorWidth) -> Program {
        let narrowed = |part: LoopPart| LoopPart { program: part.program.up_to(width), ..part };
        let of_loop = |step: LoopStep| LoopStep {
            condition: narrowed(step.condition),
            body: narrowed(step.body),
            ..step
        };
        let loops = self.loops.into_iter().map(of_loop).collect();
        Program { width, arch: arch_of(width), loops, ..self }
    }
}

/// For each value, the index of the last instruction that reads it.
struct Lifetimes {
    /// For each value, the index of the last instruction that reads it, or `usize::MAX` if it is an output.
    last_use: Vec<usize>,
    /// For each value, the index of the last instruction that reads it; outputs don't count.
    last_read: Vec<usize>,
}

impl Lifetimes {
    fn new(kernel: &Kernel, selected: &[Option<Selected>]) -> Lifetimes {
        let mut last_read = vec![0; kernel.values()];
        for (i, selected) in selected.iter().enumerate() {
            let operands = selected.iter().flat_map(Selected::operands);
            operands.for_each(|(a, _)| last_read[a.index()] = i);
            if let Code::Loop(_) = kernel.body[i].code {
                kernel.args(&kernel.body[i]).iter().for_each(|a| last_read[a.index()] = i);
            }
        }
        let mut last_use = last_read.clone();
        kernel.outputs.iter().for_each(|output| last_use[output.value.index()] = usize::MAX);
        Lifetimes { last_use, last_read }
    }
}

struct KernelCompiler<'k> {
    kernel: &'k Kernel,
    functions: &'k [HostFunction],
    /// The loop level of each value.
    depths: Vec<Depth>,
    lifetimes: Lifetimes,
    scratch: TileAllocator<'k>,
    levels: [LoopLevel; 3],
    /// The loops so far, each with its level.
    loops: Vec<(LoopStep, Depth)>,
}

impl KernelCompiler<'_> {
    fn build(mut self, access: &[Access], selected: Vec<Option<Selected>>) -> Result<Program> {
        let kernel = self.kernel;
        let param_slots: Vec<usize> =
            (0..kernel.params.len()).map(|i| self.scratch.slot(kernel.param(i))).collect();
        let mut uniform_slots = Vec::new();
        for (i, &access) in access.iter().enumerate() {
            match access {
                Access::Splat => uniform_slots.push((i, self.scratch.slot(kernel.input(i)))),
                // The interpreter reads only contiguous rows; stepped inputs are packed into tiles before it runs.
                Access::Contiguous | Access::Reversed | Access::EverySecond => self.scratch.leave(i),
            }
        }
        let (mut fault_sites, mut gather_site) = (0, kernel.first_gather_site());
        for ((i, inst), selected) in kernel.body.iter().enumerate().zip(selected) {
            let checked = kernel.checks_division && inst.code.faults();
            let mut check = checked.then(|| (fault_sites, inst.code.operand(1).size()));
            fault_sites += usize::from(checked);
            if let Code::Gather { .. } = inst.code {
                check = Some((gather_site, 0));
                gather_site += 1;
            }
            if let Code::Loop(number) = inst.code {
                let of = &kernel.loops[number as usize];
                self.looped(i, of, FirstSites { division: fault_sites, gather: gather_site })?;
                fault_sites += if kernel.checks_division { of.body.divisions().len() } else { 0 };
                gather_site += of.body.gathers().len();
            } else if let Some(selected) = selected {
                self.step(i, selected, check);
            }
        }
        let mut copies = self.copies();
        let layout = self.scratch.layout();
        for (level, depth) in self.levels.iter_mut().zip([Depth::Call, Depth::Row, Depth::Element]) {
            level.steps.iter_mut().for_each(|step| layout.resolve_step(step, depth));
            level.fills.iter_mut().for_each(|fill| layout.resolve_fill(fill));
        }
        copies.iter_mut().for_each(|(_, location)| layout.resolve(location));
        let mut loops = Vec::with_capacity(self.loops.len());
        for (mut step, depth) in self.loops {
            layout.resolve_loop(&mut step, depth);
            loops.push(step.sized(layout.tile));
        }
        let area = loops.iter().map(LoopStep::bytes).max().unwrap_or(0);
        Ok(Program {
            width: VectorWidth::W512,
            arch: arch_of(VectorWidth::W512),
            inputs: kernel.inputs.iter().copied().zip(access.iter().map(|access| access.packed())).collect(),
            outputs: kernel.output_dtypes().collect(),
            levels: self.levels,
            param_slots: param_slots.into_iter().map(|slot| layout.slot(slot)).collect(),
            uniform_slots: uniform_slots.into_iter().map(|(i, slot)| (i, layout.slot(slot))).collect(),
            copies,
            stage: layout.stage,
            tile: layout.tile,
            bytes: layout.bytes + area,
            loops,
            area: layout.bytes,
            fault_sites: gather_site,
            tables: kernel.tables.clone(),
        })
    }

    /// Adds the step that runs a loop, which is instruction `i`, with its first fault sites.
    fn looped(&mut self, i: usize, of: &KernelLoop, first: FirstSites) -> Result<()> {
        let kernel = self.kernel;
        let id = kernel.value(i);
        let depth = self.depths[id.index()];
        let is_uniform = |arg: &ValueId| self.depths[arg.index()] != Depth::Element;
        let uniform: Vec<bool> = of.args.iter().map(is_uniform).collect();
        let args =
            of.args.iter().map(|&arg| (self.scratch.location(arg), kernel.dtype(arg).size())).collect();
        let mut results = vec![None; of.carried()];
        for (j, inst) in kernel.body.iter().enumerate().skip(i) {
            if let Code::Item { item, .. } = inst.code
                && inst.args[0] == id
            {
                let value = kernel.value(j);
                results[item as usize] = Some(match depth {
                    Depth::Element => self.scratch.tile(value),
                    Depth::Row | Depth::Call => self.scratch.slot(value),
                });
            }
        }
        // Operands are released after the results have their tiles, since results are written before all operands are read.
        for (j, arg) in of.args.iter().enumerate() {
            if self.lifetimes.last_use[arg.index()] == i && !of.args[..j].contains(arg) {
                self.scratch.release(*arg);
            }
        }
        let step = LoopStep::new(of, self.functions, kernel.checks_division, &uniform, args, results, first)?;
        self.scratch.reserve(step.bytes_of_element());
        let work = Work::While(self.loops.len());
        self.loops.push((step, depth));
        let args = [(Location::Uniform(0), 0); OPERANDS];
        // Its results go where the step of the loop has them.
        let out = Destination::Output(usize::MAX);
        self.levels[depth as usize].steps.push(TileStep {
            work,
            args,
            operands: 0,
            out,
            size: 0,
            check: None,
        });
        Ok(())
    }

    /// Adds the step that computes instruction `i`, with its [check](TileStep::check).
    fn step(&mut self, i: usize, selected: Selected, check: Option<(usize, usize)>) {
        let kernel = self.kernel;
        let id = kernel.value(i);
        let depth = self.depths[id.index()];
        let mut args = [(Location::Uniform(0), 0); OPERANDS];
        for (to, &(arg, as_element)) in args.iter_mut().zip(selected.operands()) {
            // At outer loop levels a step computes a single element, so it reads single elements.
            let as_element = as_element || depth != Depth::Element;
            *to = (self.operand(arg, as_element), kernel.dtype(arg).size());
        }
        let out = self.destination(i, id, depth);
        // Operands are released only after the tile of the result was allocated, because a loop must not write to a tile that it
        // reads.
        let operands = selected.operands();
        for (j, (arg, _)) in operands.iter().enumerate() {
            let is_first = !operands[..j].iter().any(|(other, _)| other == arg);
            if self.lifetimes.last_use[arg.index()] == i && is_first {
                self.scratch.release(*arg);
            }
        }
        let operands = operands.len();
        let step =
            TileStep { work: selected.work, args, operands, out, size: kernel.dtype(id).size(), check };
        self.levels[depth as usize].steps.push(step);
    }

    /// The destination of the result of instruction `i`: an output if the result is stored to that output only, no later step
    /// reads it, and it has an element per column; otherwise the working memory.
    fn destination(&mut self, i: usize, id: ValueId, depth: Depth) -> Destination {
        if depth != Depth::Element {
            return Destination::Scratch(self.scratch.slot(id));
        }
        let outputs = self.kernel.outputs.iter().enumerate();
        let mut written = outputs.filter(|(_, output)| output.value == id).map(|(j, _)| j);
        match (written.next(), written.next()) {
            (Some(output), None) if self.lifetimes.last_read[id.index()] <= i => Destination::Output(output),
            _ => Destination::Scratch(self.scratch.tile(id)),
        }
    }

    /// The location from which a loop reads a value. The location of a uniform value is a single element if `as_element` is set,
    /// otherwise a tile that is filled with the value.
    fn operand(&mut self, id: ValueId, as_element: bool) -> Location {
        if as_element {
            return self.scratch.location(id);
        }
        let (location, fill) = self.scratch.elements(id);
        self.levels[self.depths[id.index()] as usize].fills.extend(fill);
        location
    }

    /// The outputs that no step writes directly, each with the location of its value.
    fn copies(&mut self) -> Vec<(usize, Location)> {
        let steps = &self.levels[Depth::Element as usize].steps;
        let direct: Vec<Destination> = steps.iter().map(|step| step.out).collect();
        let copied = (0..self.kernel.outputs.len()).filter(|&j| !direct.contains(&Destination::Output(j)));
        copied.map(|j| (j, self.operand(self.kernel.outputs[j].value, false))).collect()
    }
}
