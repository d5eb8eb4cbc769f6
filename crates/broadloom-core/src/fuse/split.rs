//! Adds a draft to the plan, and cuts a body that is too long where the fewest values are live.
//!
//! A kernel has at most [`MAX_BODY`](crate::fuse::MAX_BODY) instructions, and fewer if they are expensive, so that it
//! is compiled by default. Values that cross a cut are kept in temporaries of the loop's shape, which the earlier stage
//! writes and the later stage reads.

use std::sync::Arc;

use broadloom_ir::Axes;
use broadloom_ir::kernel::{KernelOutput, Sink};

use crate::fuse::cost::{self, MAX_COST};
use crate::fuse::decision::{Decision, Log, Why};
use crate::fuse::draft::{Draft, DraftTarget, Origin};
use crate::fuse::plan::{Beginning, InputView, Plan, Source, Stage, Target};
use crate::graph::NodeId;
use crate::kernel::{Code, Definition, Inst, Kernel, KernelLoop, ValueId};
use crate::layout::Layout;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The cut nodes that are already in the plan, each with the number of its temporary.
pub type Placed = FxHashMap<NodeId, u32>;

/// Adds the draft's stages to the plan.
pub fn push(plan: &mut Plan, placed: &mut Placed, draft: Draft, log: &mut Log) {
    let combined: Vec<NodeId> = if log.keeps() { draft.combined().collect() } else { Vec::new() };
    let view = |(leaf, layout)| {
        let source = match leaf {
            Origin::Slot(s) => Source::Slot(s),
            Origin::Index => Source::Index,
            Origin::SlotWords(s, _) => Source::SlotWords(s),
            // Cut nodes are added in the order of their ids, so the temporary exists before a kernel reads it.
            Origin::Node(id) => Source::Temp(placed[&id]),
            Origin::NodeWords(id, _) => Source::TempWords(placed[&id]),
        };
        InputView { source, layout }
    };
    let results = draft.results();
    let inputs = draft.inputs.into_iter().map(view).collect();
    let tables = draft.tables.into_iter().map(view).collect();
    let outputs: Vec<Target> = draft
        .outputs
        .iter()
        .zip(results)
        .map(|(target, result)| match target {
            DraftTarget::Root(i) => Target::Root(*i),
            // Another part of it is written already.
            DraftTarget::Node(id) if placed.contains_key(id) => Target::Temp(placed[id]),
            DraftTarget::Node(id) => {
                let temp = plan.temps.len() as u32;
                plan.temps.push(result);
                placed.insert(*id, temp);
                Target::Temp(temp)
            }
        })
        .collect();
    let Draft { kernel, shape, params, axes, beginning, recurrence, routine, .. } = draft;
    let kernel = Arc::new(kernel);
    let part_at = draft.part.map(|part| part.at);
    let mut whole = Stage {
        kernel,
        shape,
        inputs,
        tables,
        params,
        outputs,
        axes,
        beginning,
        recurrence,
        part_at,
        routine,
    };
    // A step is never cut, since its states are carried from its end to its beginning.
    if whole.recurrence.is_some()
        || whole.kernel.body.iter().map(|inst| cost::of_inst(&whole.kernel, inst.code)).sum::<usize>()
            <= MAX_COST
    {
        plan.stages.push(whole);
        if log.keeps() {
            plan.computes.push([draft.nodes, combined].concat());
        }
        return;
    }
    let last = (!whole.stores() || whole.part_at.is_some()).then(|| stored(plan, &mut whole));
    cut(plan, &whole, &draft.nodes, log);
    if let Some(last) = last {
        plan.stages.push(last);
        if log.keeps() {
            plan.computes.push(combined);
        }
    }
}

/// Changes a stage so that it stores its outputs in temporaries of their own that it reduces or scans, or stores as a part of
/// something, and returns a second stage, which does this with the temporaries.
fn stored(plan: &mut Plan, whole: &mut Stage) -> Stage {
    let (mut kernel, mut outputs, mut temps) = (Kernel::default(), Vec::new(), Vec::new());
    let dtypes: Vec<_> = whole.kernel.output_dtypes().collect();
    let of_stored = Arc::make_mut(&mut whole.kernel).outputs.iter_mut().zip(dtypes);
    for ((output, dtype), target) in of_stored.zip(&mut whole.outputs) {
        if output.sink == Sink::Store && whole.part_at.is_none() {
            continue;
        }
        let temp = plan.temps.len() as u32;
        plan.temps.push((dtype, whole.shape.clone()));
        kernel.inputs.push(dtype);
        let sink = std::mem::replace(&mut output.sink, Sink::Store);
        kernel.outputs.push(KernelOutput { value: ValueId(temps.len() as u32), sink });
        outputs.push(std::mem::replace(target, Target::Temp(temp)));
        temps.push(temp);
    }
    let totals = whole.inputs.split_off(whole.kernel.inputs.len());
    let layout = Arc::new(Layout::contiguous(whole.shape.clone()));
    let read = |&temp: &u32| InputView { source: Source::Temp(temp), layout: layout.clone() };
    Stage {
        kernel: Arc::new(kernel),
        shape: whole.shape.clone(),
        inputs: temps.iter().map(read).chain(totals).collect(),
        tables: Vec::new(),
        params: Vec::new(),
        outputs,
        axes: std::mem::take(&mut whole.axes),
        beginning: std::mem::take(&mut whole.beginning),
        recurrence: None,
        part_at: whole.part_at.take(),
        routine: None,
    }
}

/// Cuts a long body into several stages.
fn cut(plan: &mut Plan, whole: &Stage, nodes: &[NodeId], log: &mut Log) {
    let kernel = &*whole.kernel;
    let ends = pieces(kernel);
    log.note(|| Decision {
        node: None,
        shape: whole.shape.clone(),
        why: Why::Split { instructions: kernel.body.len(), kernels: ends.len() },
    });
    let piece_of = |inst: usize| ends.partition_point(|&end| end <= inst);
    // The temporaries of values that a stage other than the computing one needs.
    let mut temps: FxHashMap<ValueId, u32> = FxHashMap::default();
    for (i, inst) in kernel.body.iter().enumerate() {
        for &arg in kernel.args(inst) {
            if let Definition::Inst(from) = kernel.definition(arg)
                && piece_of(from) != piece_of(i)
            {
                temps.entry(arg).or_insert_with(|| {
                    plan.temps.push((kernel.dtype(arg), whole.shape.clone()));
                    plan.temps.len() as u32 - 1
                });
            }
        }
    }
    // The stage that writes an output: the stage that computes its value, or the last stage for an input or parameter.
    let home = |v: ValueId| match kernel.definition(v) {
        Definition::Inst(i) => piece_of(i),
        _ => ends.len() - 1,
    };
    let contiguous = Arc::new(Layout::contiguous(whole.shape.clone()));
    let mut start = 0;
    for (number, &end) in ends.iter().enumerate() {
        let piece = Piece {
            whole,
            contiguous: &contiguous,
            temps: &temps,
            stage: Piece::empty(whole),
            places: FxHashMap::default(),
        };
        let mut writes: Vec<(ValueId, Target)> = Vec::new();
        for i in start..end {
            if let Some(&t) = temps.get(&kernel.value(i)) {
                writes.push((kernel.value(i), Target::Temp(t)));
            }
        }
        for (output, &target) in kernel.outputs.iter().zip(&whole.outputs) {
            if home(output.value) == number {
                writes.push((output.value, target));
            }
        }
        plan.stages.push(piece.build(start..end, &writes));
        if log.keeps() {
            plan.computes.push(nodes[start..end].to_vec());
        }
        start = end;
    }
}

/// The end of each section of a long body. The cost of a section is between half of the maximum and the maximum; within
/// these bounds, it ends where the fewest values are live.
fn pieces(kernel: &Kernel) -> Vec<usize> {
    let n = kernel.body.len();
    let mut last_use: Vec<usize> = (0..n).collect();
    for (i, inst) in kernel.body.iter().enumerate() {
        for &arg in kernel.args(inst) {
            if let Definition::Inst(from) = kernel.definition(arg) {
                last_use[from] = i;
            }
        }
    }
    // live[i]: the number of values computed before i and used at i or later.
    let mut change = vec![0isize; n + 2];
    for (i, &last) in last_use.iter().enumerate() {
        change[i + 1] += 1;
        change[last + 1] -= 1;
    }
    let mut live = vec![0isize; n + 1];
    for i in 1..=n {
        live[i] = live[i - 1] + change[i];
    }
    // The total cost of the instructions before each one.
    let mut before = vec![0; n + 1];
    for (i, inst) in kernel.body.iter().enumerate() {
        before[i + 1] = before[i] + cost::of_inst(kernel, inst.code);
    }
    let mut ends = Vec::new();
    let mut start = 0;
    while before[n] - before[start] > MAX_COST {
        let within = |most: usize| before.partition_point(|&cost| cost <= before[start] + most) - 1;
        let last = within(MAX_COST).max(start + 1);
        let first = within(MAX_COST / 2).clamp(start + 1, last);
        // The values of a loop are not separated from it.
        let is_apart = |&i: &usize| i == n || !matches!(kernel.body[i].code, Code::Item { .. });
        let best = (first..=last).rev().filter(is_apart).min_by_key(|&i| live[i]);
        let found = best.or_else(|| (start + 1..first).rev().find(is_apart));
        start = found.or_else(|| (last + 1..=n).find(is_apart)).unwrap_or(n);
        ends.push(start);
    }
    if ends.last() != Some(&n) {
        ends.push(n);
    }
    ends
}

struct Piece<'a> {
    whole: &'a Stage,
    /// The layout of all temporaries.
    contiguous: &'a Arc<Layout>,
    temps: &'a FxHashMap<ValueId, u32>,
    stage: Stage,
    /// For each value of the long kernel, its place in the new one.
    places: FxHashMap<ValueId, Place>,
}

#[derive(Clone, Copy)]
enum Place {
    Input(u32),
    Param(u32),
    Inst(u32),
}

impl Piece<'_> {
    fn empty(whole: &Stage) -> Stage {
        Stage {
            kernel: Arc::new(Kernel::default()),
            shape: whole.shape.clone(),
            inputs: Vec::new(),
            tables: Vec::new(),
            params: Vec::new(),
            outputs: Vec::new(),
            axes: Axes::NONE,
            beginning: Beginning::First,
            recurrence: None,
            part_at: None,
            routine: None,
        }
    }

    fn build(mut self, range: std::ops::Range<usize>, writes: &[(ValueId, Target)]) -> Stage {
        let old = &*self.whole.kernel;
        let mut kernel = Kernel { checks_division: false, ..Kernel::default() };
        let mut args: Vec<SmallVec<[Place; 3]>> = Vec::with_capacity(range.len());
        for i in range.clone() {
            let inst = &old.body[i];
            args.push(old.args(inst).iter().map(|&arg| self.place(arg, &mut kernel)).collect());
            self.places.insert(old.value(i), Place::Inst((i - range.start) as u32));
        }
        let outputs: Vec<Place> = writes.iter().map(|&(v, _)| self.place(v, &mut kernel)).collect();
        let (inputs, params) = (kernel.inputs.len() as u32, kernel.params.len() as u32);
        let value = |place: Place| {
            ValueId(match place {
                Place::Input(i) => i,
                Place::Param(i) => inputs + i,
                Place::Inst(i) => inputs + params + i,
            })
        };
        for (i, places) in range.zip(&args) {
            let mut places = places.iter().map(|&place| value(place));
            let code = match old.body[i].code {
                Code::Host(callee) => kernel.callee(&old.functions[callee.function as usize]),
                Code::Loop(number) => {
                    let of = &old.loops[number as usize];
                    for function in &of.body.functions {
                        kernel.callee(function);
                    }
                    let tables = of.tables.iter().map(|&table| self.table(table, &mut kernel)).collect();
                    let args = places.by_ref().collect();
                    kernel.loops.push(KernelLoop { args, tables, ..of.clone() });
                    Code::Loop(kernel.loops.len() as u32 - 1)
                }
                Code::Gather { table, dtype } => {
                    Code::Gather { table: self.table(table, &mut kernel), dtype }
                }
                code => code,
            };
            let mut args = [ValueId(0); 3];
            args.iter_mut().zip(places).for_each(|(to, from)| *to = from);
            kernel.body.push(Inst { code, args });
        }
        kernel.outputs = outputs.into_iter().map(|place| value(place).into()).collect();
        kernel.checks_division = old.checks_division && !kernel.divisions().is_empty();
        self.stage.kernel = Arc::new(kernel);
        self.stage.outputs = writes.iter().map(|w| w.1).collect();
        self.stage
    }

    /// Adds a table of the whole kernel to the new one, and returns its number there.
    fn table(&mut self, table: u32, kernel: &mut Kernel) -> u32 {
        self.stage.tables.push(self.whole.tables[table as usize].clone());
        kernel.table(self.whole.kernel.tables[table as usize])
    }

    /// Returns the place of a value in the new kernel: an instruction of this kernel, or an input or parameter, which
    /// is added if it is new.
    fn place(&mut self, v: ValueId, kernel: &mut Kernel) -> Place {
        if let Some(&place) = self.places.get(&v) {
            return place;
        }
        let whole = self.whole;
        let place = match whole.kernel.definition(v) {
            Definition::Param(i) => {
                self.stage.params.push(whole.params[i]);
                kernel.params.push(whole.kernel.params[i]);
                kernel.short_reciprocals.push(whole.kernel.has_short_reciprocal(i));
                Place::Param(kernel.params.len() as u32 - 1)
            }
            definition => {
                let view = match definition {
                    Definition::Input(i) => whole.inputs[i].clone(),
                    _ => InputView { source: Source::Temp(self.temps[&v]), layout: self.contiguous.clone() },
                };
                self.stage.inputs.push(view);
                kernel.inputs.push(whole.kernel.dtype(v));
                Place::Input(kernel.inputs.len() as u32 - 1)
            }
        };
        self.places.insert(v, place);
        place
    }
}
