//! The regions of a body: the loops that each element of a block repeats while its condition holds.
//!
//! A region has a body of its own, whose inputs are the carried and the captured values. Its values are computed in
//! three parts: those that no iteration changes, before the loop; and in each iteration those that the condition is
//! computed from, then all others. In a branch, which is repeated at most once, all others are computed in the iteration, so that
//! they are not computed if the condition holds nowhere.

use std::fmt::Write;
use std::rc::Rc;

use broadloom_ir::kernel::{Depth, KernelLoop, ValueId};
use broadloom_ir::{DType, Result};
use broadloom_math::record::{Primitive, Var};
use broadloom_mem::Access;

use crate::body::{Body, Code, FaultSites, Late, Lockstep, NONE, Region, undefined};

impl Region {
    /// Whether the body contains loops that have iterations.
    pub fn is_nested(&self) -> bool {
        self.body.has_iterations()
    }

    /// Whether no iteration changes a carried value, or only the number of iterations is needed for it.
    pub fn keeps(&self, item: usize) -> bool {
        self.body.outputs()[1 + item] == Var(item as u32)
    }

    /// Whether the lanes of a carried value are known to be equal.
    pub fn is_uniform(&self, item: usize) -> bool {
        self.lockstep.as_ref().is_some_and(|lockstep| lockstep.uniform[item])
    }

    /// The value that each iteration adds to a carried integer, if no iteration changes that value.
    pub fn increment(&self, item: usize) -> Option<Var> {
        let node = self.body.node(self.body.outputs()[1 + item]);
        if node.code != Code::Primitive(Primitive::Add) || !node.dtype.is_integer() {
            return None;
        }
        let own = Var(item as u32);
        let other = match node.args {
            [x, y, ..] if x == own => y,
            [x, y, ..] if y == own => x,
            _ => return None,
        };
        (!self.varies[other.index()]).then_some(other)
    }

    /// Whether an iteration reads no value from which the condition is computed, other than those that it carries, and contains no
    /// loop.
    pub fn has_condition_apart(&self) -> bool {
        let reads = |var: Var| {
            let node = self.body.node(var);
            self.body.operands_of(node.code, node.args()).any(|arg| self.condition.contains(&arg))
        };
        let outputs = &self.body.outputs()[1..];
        !self.is_nested()
            && !self.rest.iter().any(|&var| reads(var))
            && !outputs.iter().any(|output| self.condition.contains(output))
    }

    /// The size in bytes of the lanes that count the iterations of each element, if its carried integers need them.
    pub fn count_lane(&self) -> Option<u32> {
        let wide = |(item, dtype): (usize, &DType)| self.tallies[item].is_some() && dtype.size() == 8;
        let overflows = self.limit.is_none_or(|limit| limit > u32::MAX.into());
        let is_wide = overflows && self.carried.iter().enumerate().any(wide);
        let condition = self.body.node(self.body.outputs()[0]).lane;
        let lane = if condition == 8 || is_wide { 8 } else { 4 };
        self.tallies.iter().any(Option::is_some).then_some(lane)
    }

    /// The lines of the listing of the loop.
    pub(super) fn listing(&self, var: Var) -> String {
        let mut text = format!("  {var:?}: loop");
        for (i, arg) in self.args.iter().enumerate() {
            let _ = write!(text, "{}{arg:?}", if i == 0 { " " } else { ", " });
        }
        let limit = self.limit.map_or(String::new(), |limit| format!(" limit {limit}"));
        let _ = writeln!(text, "{limit} {{");
        for line in self.body.to_string().lines() {
            let _ = writeln!(text, "    {line}");
        }
        text + "  }\n"
    }
}

impl Body {
    /// The loops of the body.
    pub fn loops(&self) -> &[Rc<Region>] {
        &self.loops
    }

    /// Whether any loop, or a loop within one, has no limit.
    pub fn has_endless_loops(&self) -> bool {
        self.loops.iter().any(|inner| inner.limit.is_none() || inner.body.has_endless_loops())
    }

    /// Adds a loop, whose operands are among `values`, with its first fault sites.
    pub(super) fn looped(
        &mut self,
        of: &KernelLoop,
        values: &[Var],
        sites: FaultSites,
        id: ValueId,
    ) -> Result<Var> {
        let KernelLoop { body: kernel, limit, is_numbered, args, tables } = of;
        let count = of.carried();
        let mut operands = Vec::with_capacity(args.len());
        for (arg, &dtype) in args.iter().zip(&kernel.inputs) {
            let value = *values.get(arg.index()).filter(|var| **var != NONE).ok_or_else(undefined)?;
            operands.push(self.in_memory(dtype, value));
        }
        let uniform = |(i, &arg): (usize, &Var)| i >= count && self.node(arg).level != Depth::Element;
        let access: Vec<Access> = operands
            .iter()
            .enumerate()
            .map(|arg| if uniform(arg) { Access::Splat } else { Access::Contiguous })
            .collect();

        // The inputs of the body are its first values.
        let tallies: Vec<Option<Var>> =
            (0..count).map(|item| of.tally(item).map(|step| Var(step.index() as u32))).collect();
        let (tested, needed) = (of.needed(0..1), of.needed(0..1 + count));
        let tables = tables.iter().map(|&table| self.tables.get(table as usize).copied());
        let tables = tables.collect::<Option<_>>().ok_or_else(undefined)?;
        let mut body = Body::empty(kernel, self.width, tables);
        let inner = body.values(kernel, &access, sites, |id| needed[id.index()])?;
        for (i, output) in kernel.outputs.iter().enumerate() {
            let value = *inner.get(output.value.index()).ok_or_else(undefined)?;
            // The condition keeps the lane width of the comparison that it results from.
            let value = match i.checked_sub(1) {
                None => value,
                Some(item) if tallies[item].is_some() => Var(item as u32),
                Some(_) => body.in_memory(kernel.dtype(output.value), value),
            };
            body.outputs.push(value);
        }
        body.mark_live();

        let in_condition = body.in_condition(&tested);
        let varies = body.varies(count);
        let is_branch = *limit == Some(1) && !body.has_iterations() && body.is_straight(&in_condition);
        let [before, condition, mut rest] = body.in_parts(&varies, &in_condition, is_branch);
        let effects = body.effects.iter().any(|(_, id)| tested[id.index()]);
        let lockstep = if limit.is_some() && body.loops.is_empty() && !effects && !is_branch {
            body.lockstep(&access, operands[..count].iter().map(|&arg| self.node(arg).level), &condition)
        } else {
            None
        };
        let late = lockstep.iter().flat_map(|lockstep| &lockstep.late);
        for var in late.flat_map(|late| &late.nodes) {
            rest.retain(|other| other != var);
        }
        let region = Region {
            body: Rc::new(body),
            args: operands,
            carried: kernel.inputs[..count].to_vec(),
            limit: *limit,
            is_branch,
            is_numbered: *is_numbered,
            tallies,
            lockstep,
            varies,
            before,
            condition,
            rest,
        };
        self.loops.push(Rc::new(region));
        let code = Code::Loop(self.loops.len() - 1);
        let first = self.nodes.len();
        let var = self.append(code, DType::Bool, [NONE; 4], 0, Depth::Element);
        self.note_effects(first, id);
        Ok(var)
    }

    /// Whether the body contains loops that have iterations.
    fn has_iterations(&self) -> bool {
        self.loops.iter().any(|inner| inner.limit != Some(0))
    }

    /// Whether the code of an iteration, apart from its condition, has no branches of its own: `broadloom-wide` takes no others in
    /// out-of-line code.
    fn is_straight(&self, in_condition: &[bool]) -> bool {
        let branches = |code| {
            let has_own = matches!(
                code,
                Code::Host(_) | Code::CheckDivisor(_) | Code::CheckPosition(_) | Code::Loop(_)
            );
            has_own || matches!(code, Code::Primitive(Primitive::SlowPath(_)))
        };
        let nodes = self.nodes.iter().zip(in_condition);
        !{ nodes }.any(|(node, in_condition)| node.live && !in_condition && branches(node.code))
    }

    /// The live values of the body of a loop, in the order in which they are computed: before it, for its condition, and after that.
    fn in_parts(&self, varies: &[bool], in_condition: &[bool], is_branch: bool) -> [Vec<Var>; 3] {
        let mut parts = [const { Vec::new() }; 3];
        for var in (0..self.nodes.len() as u32).map(Var) {
            let node = self.node(var);
            if !node.live || matches!(node.code, Code::Input(_)) {
                continue;
            }
            let [before, condition, rest] = &mut parts;
            match (varies[var.index()], in_condition[var.index()]) {
                (false, false) if is_branch => rest.push(var),
                (false, _) => before.push(var),
                (true, true) => condition.push(var),
                (true, false) => rest.push(var),
            }
        }
        parts
    }

    /// Records which of the values from index `first` on have effects; they belong to the value `id` of the kernel.
    pub(super) fn note_effects(&mut self, first: usize, id: ValueId) {
        for (i, node) in self.nodes.iter().enumerate().skip(first) {
            if matches!(node.code, Code::CheckDivisor(_) | Code::CheckPosition(_) | Code::Loop(_)) {
                self.effects.push((Var(i as u32), id));
            }
        }
    }

    /// For each value of the body, whether the condition is computed from it. `tested` is the same for the values of the kernel.
    fn in_condition(&self, tested: &[bool]) -> Vec<bool> {
        let mut found = vec![false; self.nodes.len()];
        if let Some(condition) = self.outputs.first() {
            found[condition.index()] = true;
        }
        for (var, _) in self.effects.iter().filter(|(_, id)| tested[id.index()]) {
            found[var.index()] = true;
        }
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if found[i] {
                self.operands_of(node.code, node.args()).for_each(|arg| found[arg.index()] = true);
            }
        }
        found
    }

    /// Tells whether the condition, which is computed from the values `condition`, is the same in all lanes. `levels` are
    /// those of the initial values.
    fn lockstep(
        &self,
        access: &[Access],
        levels: impl Iterator<Item = Depth>,
        condition: &[Var],
    ) -> Option<Lockstep> {
        let mut uniform: Vec<bool> = levels.map(|level| level != Depth::Element).collect();
        let lanes = loop {
            let mut lanes: Vec<bool> = Vec::with_capacity(self.nodes.len());
            for node in &self.nodes {
                lanes.push(match node.code {
                    Code::Input(i) => uniform.get(i).copied().unwrap_or(access[i] == Access::Splat),
                    Code::Host(_) | Code::Loop(_) | Code::Item(_) => false,
                    _ => node.args().iter().all(|arg| lanes[arg.index()]),
                });
            }
            let next: Vec<bool> =
                uniform.iter().zip(&self.outputs[1..]).map(|(&is, next)| is && lanes[next.index()]).collect();
            if next == uniform {
                break lanes;
            }
            uniform = next;
        };
        if !lanes[self.outputs[0].index()] {
            return None;
        }
        let mut needed = vec![false; self.nodes.len()];
        self.outputs[1..].iter().for_each(|output| needed[output.index()] = true);
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if needed[i] || matches!(node.code, Code::CheckDivisor(_) | Code::CheckPosition(_)) {
                node.args().iter().for_each(|arg| needed[arg.index()] = true);
            }
        }
        let shared = condition.iter().copied().filter(|var| needed[var.index()]).collect();
        let late = (0..self.outputs.len() - 1).filter_map(|item| self.late(item, condition)).collect();
        Some(Lockstep { uniform, shared, late })
    }

    /// Tells how the NaNs of a carried value are replaced after the loop, if nothing else reads the value that is replaced.
    fn late(&self, item: usize, condition: &[Var]) -> Option<Late> {
        let output = self.outputs[1 + item];
        let next = self.carried(Var(item as u32), output)?;
        let reads = |var: Var| {
            let operands = self.nodes.iter().filter(|node| node.live).flat_map(|node| node.args());
            operands.chain(&self.outputs).filter(|arg| **arg == var).count()
        };
        let is_nan = self.node(output).args[0];
        let is_own = |var: Var| reads(var) == 1 && !condition.contains(&var);
        // What is in the condition is emitted again for the next iteration.
        (is_own(output) && !condition.contains(&is_nan)).then(|| Late {
            item,
            next,
            nodes: [is_nan].into_iter().filter(|&var| is_own(var)).chain([output]).collect(),
        })
    }

    /// For each value, whether it may change from one iteration to the next. The first `carried` inputs do, and what has
    /// an effect is computed in each iteration.
    fn varies(&self, carried: usize) -> Vec<bool> {
        let mut varies: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            varies.push(match node.code {
                Code::Input(i) => i < carried,
                Code::CheckDivisor(_)
                | Code::CheckPosition(_)
                | Code::Host(_)
                | Code::Loop(_)
                | Code::Item(_) => true,
                _ => node.args().iter().any(|arg| varies[arg.index()]),
            });
        }
        varies
    }

    /// The values that a node reads, with those of a loop.
    fn operands_of<'b>(&'b self, code: Code, args: &'b [Var]) -> impl Iterator<Item = Var> + 'b {
        let of_loop = match code {
            Code::Loop(number) => &self.loops[number].args[..],
            _ => &[],
        };
        args.iter().chain(of_loop).copied()
    }
}
