//! Emits the loops of a kernel: the lanes of a block repeat a region until the condition holds in none of them.
//!
//! An iteration tests the condition and computes the next values of all lanes. Lanes in which the condition does not
//! hold keep their values, by a select, so that it is false for them in every further iteration. Tests of divisors,
//! slow paths and loops within the region count only the lanes in which it holds. So each element has the values, and
//! the effects, of a scalar loop. If the condition depends on uniform values only, all lanes end together, and none is
//! selected.
//!
//! An element that has met a position outside of a table performs no further iteration of a loop without a limit: what it would
//! compute follows from another element of the table, and may never end. The run returns an error in any case.
//!
//! If iterations are long, the condition is tested before the loop and at the end of each iteration instead. A branch, which is
//! repeated at most once, is skipped if the condition holds in no lane.
//!
//! ```text
//! before:  computes what no iteration changes, takes the iterations until the next pause
//! loop:    tests the condition, computes the next values; counts down, and pauses at 0 in out-of-line code
//! after:   returns the unused iterations, replaces the NaNs that are left
//! ```

use std::rc::Rc;

use broadloom_ir::kernel::Depth;
use broadloom_ir::tuning::loops::LONG_ITERATION;
use broadloom_ir::{DType, Result};
use broadloom_math::record::Var;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlagsData, StackSlot, Type, Value, types};
use smallvec::SmallVec;

use crate::body::{Code, Lockstep, Region};
use crate::emit::{Emitter, Sources};
use crate::pauses::{self, LoopShape};
use crate::scope::{Active, BodyScope};
use crate::value::{Lanes, integer};
use crate::vectors::element_flags;

/// The values that a loop carries, and the number of iterations of each element, if a value is computed from it after the loop.
#[derive(Clone)]
struct Carried {
    values: SmallVec<[Lanes; 4]>,
    counts: Option<Lanes>,
}

/// The arguments of a branch to the head of a loop: what the loop carries, and the mask of the lanes that go on, if the condition is
/// tested before the branch. A value whose lanes are equal is passed as one vector.
fn arguments(region: &Region, left: Value, carried: &Carried, mask: Option<Lanes>) -> Vec<BlockArg> {
    let mut arguments = vec![BlockArg::from(left)];
    let mut pass = |lanes: &Lanes, is_uniform: bool| {
        let count = if is_uniform { 1 } else { lanes.vectors().len() };
        arguments.extend(lanes.vectors()[..count].iter().map(|&x| BlockArg::from(x)));
    };
    for (i, lanes) in carried.values.iter().enumerate().filter(|(i, _)| !region.keeps(*i)) {
        pass(lanes, region.is_uniform(i));
    }
    carried.counts.iter().for_each(|counts| pass(counts, region.lockstep.is_some()));
    mask.iter().for_each(|mask| pass(mask, false));
    arguments
}

/// What a branch changes: the values that it does not keep, and the number of iterations.
fn changed<'c>(region: &Region, carried: &'c mut Carried) -> impl Iterator<Item = &'c mut Lanes> {
    let kept: SmallVec<[bool; 4]> = (0..carried.values.len()).map(|i| region.keeps(i)).collect();
    let values = carried.values.iter_mut().zip(kept).filter(|(_, is_kept)| !is_kept);
    values.map(|(lanes, _)| lanes).chain(&mut carried.counts)
}

fn first_vector(x: Lanes) -> Lanes {
    Lanes::new(x.width.into(), [x.vectors()[0]])
}

/// The value whose vectors are all the first one, for lanes that are equal.
fn repeated(x: Lanes) -> Lanes {
    Lanes::new(x.width.into(), std::iter::repeat_n(x.vectors()[0], x.vectors().len()))
}

/// The counter of a loop's iterations.
struct Counter {
    frame: StackSlot,
    /// The number of iterations until the first pause.
    first: Value,
}

impl Emitter<'_> {
    /// Emits a loop of the current body. Its carried values after the loop are kept for the items.
    pub(super) fn looped(&mut self, index: usize, sources: &Sources) -> Result<()> {
        let region = Rc::clone(&self.scope.body.loops()[index]);
        let mut inner = BodyScope::new(Rc::clone(&region.body));
        let mut initial: SmallVec<[Lanes; 4]> = SmallVec::new();
        for (i, &arg) in region.args.iter().enumerate() {
            let value = self.value(arg)?;
            inner.values[i] = Some(value);
            if i < region.carried.len() {
                initial.push(value);
            }
        }
        let (outer, outside) = (std::mem::replace(&mut self.scope, inner), self.active);
        self.depth += 1;
        let ended = self.region(&region, &initial, sources);
        self.depth -= 1;
        (self.scope, self.active) = (outer, outside);
        self.scope.ended[index] = ended?;
        Ok(())
    }

    fn region(
        &mut self,
        region: &Region,
        initial: &[Lanes],
        sources: &Sources,
    ) -> Result<SmallVec<[Lanes; 4]>> {
        self.nodes(&region.before, sources)?;
        if region.limit == Some(0) {
            return Ok(initial.into());
        }
        let v = &mut self.vectors;
        let types = region.carried.iter().map(|&dtype| v.layout.vector_of(dtype));
        let values: SmallVec<[Lanes; 4]> = initial
            .iter()
            .zip(types.collect::<SmallVec<[Type; 4]>>())
            .map(|(&x, ty)| v.cast_lanes(ty, x))
            .collect();
        let counts = region.count_lane().map(|lane| v.constant_lanes(integer(lane), 0));
        let initial = Carried { values, counts };
        if region.is_branch {
            return self.branch(region, initial, sources);
        }
        match &region.lockstep {
            Some(lockstep) => self.in_lockstep(region, lockstep, initial, sources),
            None if region.rest.len() >= LONG_ITERATION && region.has_condition_apart() => {
                self.tested_at_end(region, initial, sources)
            }
            None => self.by_lanes(region, initial, sources),
        }
    }

    /// Emits a loop whose lanes end in different iterations. Returns the carried values after it.
    fn by_lanes(
        &mut self,
        region: &Region,
        initial: Carried,
        sources: &Sources,
    ) -> Result<SmallVec<[Lanes; 4]>> {
        let counter = self.begin(region, sources);
        let (head, left, now, _) = self.enter(region, &initial, &counter, None);
        let outside = self.active;
        self.nodes(&region.condition, sources)?;
        let holds = self.holds(region, outside)?;
        self.active = Some(Active::new(holds));
        self.nodes(&region.rest, sources)?;
        let next = self.advanced(region, &now)?;
        let (left, holds) = self.count(region, &counter, left, holds, sources);
        self.repeat(region, head, left, &next, holds, None);
        self.leave(region, &counter, left, sources);
        self.tallied(region, next)
    }

    /// Emits a branch, whose iteration is skipped if the condition holds in no lane. Returns the carried values after it.
    fn branch(
        &mut self,
        region: &Region,
        initial: Carried,
        sources: &Sources,
    ) -> Result<SmallVec<[Lanes; 4]>> {
        let (outside, seen) = (self.active, self.nan_seen.take());
        self.nodes(&region.condition, sources)?;
        let holds = self.holds(region, outside)?;
        initial.values.iter().enumerate().for_each(|(i, &lanes)| self.scope.values[i] = Some(lanes));
        let v = &mut self.vectors;
        let any = v.any(holds);
        let (taken, join) = (v.builder.create_block(), v.builder.create_block());
        let mut ended = initial.clone();
        let mut skipped: SmallVec<[BlockArg; 8]> = SmallVec::new();
        for lanes in changed(region, &mut ended) {
            skipped.extend(lanes.vectors().iter().map(|&x| BlockArg::from(x)));
            let ty = v.type_of(lanes.vectors()[0]);
            let params = lanes.vectors().iter().map(|_| v.builder.append_block_param(join, ty));
            let params: SmallVec<[Value; 8]> = params.collect();
            *lanes = Lanes::new(lanes.width.into(), params);
        }
        // PERF: out of line, since `broadloom-wide` takes no other branch forward.
        v.builder.set_cold_block(taken);
        v.ins().brif(any, taken, &[], join, &skipped);

        v.builder.switch_to_block(taken);
        // What follows is not dominated by the block.
        let known = v.constants.known();
        self.active = Some(Active::new(holds));
        self.nodes(&region.rest, sources)?;
        let mut next = self.advanced(region, &initial)?;
        let next: SmallVec<[BlockArg; 8]> = changed(region, &mut next)
            .flat_map(|lanes| lanes.vectors().to_vec())
            .map(BlockArg::from)
            .collect();
        let v = &mut self.vectors;
        v.constants.restore(known);
        v.ins().jump(join, &next);

        v.builder.switch_to_block(join);
        (self.active, self.nan_seen) = (outside, seen);
        self.tallied(region, ended)
    }

    /// What a loop carries after an iteration in which it carried `now`.
    fn advanced(&mut self, region: &Region, now: &Carried) -> Result<Carried> {
        let mut next = now.clone();
        for (i, &dtype) in region.carried.iter().enumerate().filter(|(i, _)| !region.keeps(*i)) {
            let ty = self.vectors.layout.vector_of(dtype);
            next.values[i] = self.next(region, i, dtype, now.values[i])?;
            next.values[i] = self.vectors.cast_lanes(ty, next.values[i]);
        }
        if let (Some(counts), Some(active)) = (&mut next.counts, &mut self.active) {
            let v = &mut self.vectors;
            let width = counts.width.into();
            let mask = active.of_width(v, width);
            // A mask is −1 in the lanes that count on.
            let mask = v.cast_lanes(v.layout.integer_vector(width), mask);
            *counts = counts.zip(&mask, |x, m| v.ins().isub(x, m));
        }
        Ok(next)
    }

    /// Emits a loop of long iterations whose lanes end in different ones, with the condition tested before the loop and at the end
    /// of each iteration. So n iterations are computed where n are performed, and not one more for the last test; only where there
    /// are none, one is computed whose values no lane takes. The mask goes from the test to the iteration, which reads nothing else
    /// of the condition. Returns the carried values after the loop.
    fn tested_at_end(
        &mut self,
        region: &Region,
        initial: Carried,
        sources: &Sources,
    ) -> Result<SmallVec<[Lanes; 4]>> {
        let outside = self.active;
        self.nodes(&region.condition, sources)?;
        let holds = self.holds(region, outside)?;
        let counter = self.begin(region, sources);
        let (head, left, now, mask) = self.enter(region, &initial, &counter, Some(holds));
        let holds = mask.unwrap_or(holds);
        self.active = Some(Active::new(holds));
        self.nodes(&region.rest, sources)?;
        let next = self.advanced(region, &now)?;
        let (left, holds) = self.count(region, &counter, left, holds, sources);

        // Only lanes that have performed the iteration are tested again.
        self.active = Some(Active::new(holds));
        next.values.iter().enumerate().for_each(|(i, &lanes)| self.scope.values[i] = Some(lanes));
        self.nodes(&region.condition, sources)?;
        let holds = self.holds(region, self.active)?;
        self.repeat(region, head, left, &next, holds, Some(holds));
        self.active = outside;
        self.leave(region, &counter, left, sources);
        self.tallied(region, next)
    }

    /// Emits a loop whose lanes end in the same iteration, so that no lane has to keep its values while others go on. The
    /// condition is tested at the end of an iteration. The first test comes before the loop; if the condition does not hold,
    /// one iteration is computed in vain. Returns the carried values after the loop.
    fn in_lockstep(
        &mut self,
        region: &Region,
        lockstep: &Lockstep,
        initial: Carried,
        sources: &Sources,
    ) -> Result<SmallVec<[Lanes; 4]>> {
        let outside = self.active;
        self.nodes(&region.condition, sources)?;
        let holds = self.holds(region, outside)?;
        let counter = self.begin(region, sources);
        let (head, left, now, _) = self.enter(region, &initial, &counter, None);
        let mut begins = Active::new(holds);
        self.active = Some(begins);
        self.forget(&region.condition);
        self.nodes(&lockstep.shared, sources)?;
        self.nodes(&region.rest, sources)?;
        let mut next = now.clone();
        for (i, &dtype) in region.carried.iter().enumerate().filter(|(i, _)| !region.keeps(*i)) {
            let late = lockstep.late.iter().find(|late| late.item == i);
            let value = self.value(late.map_or(region.body.outputs()[1 + i], |late| late.next))?;
            let ty = self.vectors.layout.vector_of(dtype);
            next.values[i] = self.vectors.cast_lanes(ty, value);
            if region.is_uniform(i) {
                next.values[i] = repeated(next.values[i]);
            }
        }
        if let Some(counts) = &mut next.counts {
            let v = &mut self.vectors;
            let one = v.constant_lanes(integer(counts.width.into()), 1);
            *counts = counts.zip(&one, |x, one| v.ins().iadd(x, one));
        }
        self.active = outside;
        self.forget(&region.condition);
        next.values.iter().enumerate().for_each(|(i, &lanes)| self.scope.values[i] = Some(lanes));
        self.nodes(&region.condition, sources)?;
        let goes_on = self.value(region.body.outputs()[0])?;
        // The iteration that was computed in vain is the last one, whatever follows from it.
        let holds = begins.of(&mut self.vectors, goes_on);
        let holds = if outside.is_none() { first_vector(holds) } else { holds };
        let (left, holds) = self.count(region, &counter, left, holds, sources);
        self.repeat(region, head, left, &next, holds, None);
        self.leave(region, &counter, left, sources);
        for late in &lockstep.late {
            self.scope.values[late.next.index()] = Some(next.values[late.item]);
            self.nodes(&late.nodes, sources)?;
            next.values[late.item] = self.value(region.body.outputs()[1 + late.item])?;
        }
        let ended = self.tallied(region, next)?;
        // If the condition did not hold at first, nothing changes.
        let v = &mut self.vectors;
        let select = |((ended, initial), &dtype): ((Lanes, Lanes), &DType)| {
            let mask = begins.of_width(v, ended.width.into());
            match dtype {
                DType::Bool => v.bit_select(mask, ended, initial),
                _ => v.select(dtype, mask, ended, initial),
            }
        };
        Ok(ended.into_iter().zip(initial.values).zip(&region.carried).map(select).collect())
    }

    /// The lanes in which the condition holds, of those that perform the iteration of the loops around.
    fn holds(&mut self, region: &Region, outside: Option<Active>) -> Result<Lanes> {
        let holds = self.value(region.body.outputs()[0])?;
        let v = &mut self.vectors;
        let holds = outside.map_or(holds, |mut outside| outside.of(v, holds));
        let Some(strays) = self.strays.filter(|_| region.limit.is_none()) else { return Ok(holds) };
        let strays = v.ins().stack_addr(types::I64, strays, 0);
        let like = v.constant_lanes(types::I64, 0);
        let strays = v.load_from_frame(strays, 0, &like);
        let width = u32::from(holds.width);
        let ty = v.layout.integer_vector(width);
        let strays = v.resize_mask(strays, width);
        let (holds, strays) = (v.cast_lanes(ty, holds), v.cast_lanes(ty, strays));
        Ok(holds.zip(&strays, |x, y| v.ins().band_not(x, y)).with_width(width))
    }

    /// Begins a block in which no element has met a position outside of a table, unless all have at an outer level.
    pub(super) fn begin_strays(&mut self) -> Result<()> {
        let body = Rc::clone(&self.scope.body);
        let mut mask = self.vectors.constant_lanes(types::I64, 0);
        for &var in [Depth::Call, Depth::Row].iter().flat_map(|&level| body.at(level)) {
            if let (Code::CheckPosition(_), [outside, ..]) = (body.node(var).code, body.node(var).args) {
                let outside = self.value(outside)?;
                let v = &mut self.vectors;
                let outside = v.cast_lanes(v.layout.integer_vector(8), outside);
                mask = mask.zip(&outside, |x, y| v.ins().bor(x, y));
            }
        }
        let v = &mut self.vectors;
        let bytes = mask.vectors().iter().map(|&x| v.type_of(x).bytes()).sum();
        let slot = *self.strays.get_or_insert_with(|| v.frame(bytes));
        let frame = v.ins().stack_addr(types::I64, slot, 0);
        v.store_to_frame(frame, 0, &mask);
        Ok(())
    }

    /// Makes values be emitted again.
    fn forget(&mut self, vars: &[Var]) {
        vars.iter().for_each(|var| self.scope.values[var.index()] = None);
    }

    /// Begins the block of the iterations. Returns it with its parameters: the iterations until the next pause, what the loop
    /// carries, and the mask of the lanes that perform the iteration, if it is passed.
    fn enter(
        &mut self,
        region: &Region,
        initial: &Carried,
        counter: &Counter,
        mut mask: Option<Lanes>,
    ) -> (Block, Value, Carried, Option<Lanes>) {
        let v = &mut self.vectors;
        let head = v.builder.create_block();
        let left = v.builder.append_block_param(head, types::I64);
        let first = arguments(region, counter.first, initial, mask);
        let mut now = initial.clone();
        let own = now.values.iter_mut().enumerate().filter(|(i, _)| !region.keeps(*i));
        let own = own.map(|(i, lanes)| (lanes, region.is_uniform(i)));
        let counts = now.counts.iter_mut().map(|x| (x, region.lockstep.is_some()));
        for (lanes, is_uniform) in own.chain(counts).chain(mask.iter_mut().map(|mask| (mask, false))) {
            let ty = v.type_of(lanes.vectors()[0]);
            let params = lanes.vectors().iter().enumerate().map(|(j, _)| j == 0 || !is_uniform);
            let params: SmallVec<[Option<Value>; 8]> =
                params.map(|is_own| is_own.then(|| v.builder.append_block_param(head, ty))).collect();
            let params: SmallVec<[Value; 8]> =
                params.iter().filter_map(|&param| param.or(params[0])).collect();
            *lanes = Lanes::new(lanes.width.into(), params);
        }
        v.ins().jump(head, &first);
        v.builder.switch_to_block(head);
        for (i, &lanes) in now.values.iter().enumerate() {
            self.scope.values[i] = Some(lanes);
        }
        (head, left, now, mask)
    }

    /// Ends an iteration: branches back if any lane goes on, with its mask if that is known already.
    fn repeat(
        &mut self,
        region: &Region,
        head: Block,
        left: Value,
        next: &Carried,
        holds: Lanes,
        mask: Option<Lanes>,
    ) {
        let v = &mut self.vectors;
        let any = v.any(holds);
        let after = v.builder.create_block();
        v.ins().brif(any, head, &arguments(region, left, next, mask), after, &[]);
        v.builder.switch_to_block(after);
    }

    /// Returns the unused iterations after a loop.
    fn leave(&mut self, region: &Region, counter: &Counter, left: Value, sources: &Sources) {
        if !region.is_nested() {
            let v = &mut self.vectors;
            let frame = v.ins().stack_addr(types::I64, counter.frame, 0);
            let beyond = v.ins().load(types::I64, element_flags(), frame, pauses::BEYOND);
            let left = v.ins().iadd(left, beyond);
            v.ins().store(element_flags(), left, sources.context, pauses::LEFT);
        }
    }

    /// The carried values after a loop, with those for which it has only counted iterations.
    fn tallied(&mut self, region: &Region, carried: Carried) -> Result<SmallVec<[Lanes; 4]>> {
        let Carried { mut values, counts } = carried;
        for (i, step) in region.tallies.iter().enumerate() {
            if let (Some(step), Some(counts)) = (step, counts) {
                let step = self.value(*step)?;
                let v = &mut self.vectors;
                let ty = v.layout.vector_of(region.carried[i]);
                let counts = v.resize_integers(counts, ty.lane_type().bytes(), false);
                let (counts, step) = (v.cast_lanes(ty, counts), v.cast_lanes(ty, step));
                let sum = v.multiply(counts, step);
                values[i] = values[i].zip(&sum, |x, y| v.ins().iadd(x, y));
            }
        }
        Ok(values)
    }

    /// Emits values of the current body.
    fn nodes(&mut self, vars: &[Var], sources: &Sources) -> Result<()> {
        vars.iter().try_for_each(|&var| self.step(var, sources, None))
    }

    /// The next value of a carried one, whose value is `now`: unchanged in lanes that are done.
    fn next(&mut self, region: &Region, item: usize, dtype: DType, now: Lanes) -> Result<Lanes> {
        let width = u32::from(now.width);
        let value = self.value(region.body.outputs()[1 + item])?;
        let v = &mut self.vectors;
        let Some(active) = &mut self.active else { return Ok(value) };
        let mask = active.of_width(v, width);
        if let Some(step) = region.increment(item) {
            let ty = v.layout.integer_vector(width);
            let (mask, now) = (v.cast_lanes(ty, mask), v.cast_lanes(ty, now));
            let step = self.value(step)?;
            let v = &mut self.vectors;
            let step = v.cast_lanes(ty, step).zip(&mask, |x, m| v.ins().band(x, m));
            return Ok(now.zip(&step, |x, y| v.ins().iadd(x, y)));
        }
        Ok(match dtype {
            DType::Bool => v.bit_select(mask, value, now),
            _ => v.select(dtype, mask, value, now),
        })
    }

    /// Takes the iterations until the first pause of a loop that begins.
    fn begin(&mut self, region: &Region, sources: &Sources) -> Counter {
        let v = &mut self.vectors;
        // Loops of the same depth share a frame, since they do not run at once.
        let place = self.depth as usize - 1;
        if self.frames.len() <= place {
            self.frames.push(v.frame(pauses::FRAME));
        }
        let slot = self.frames[place];
        let frame = v.ins().stack_addr(types::I64, slot, 0);
        let flags = element_flags();
        let zero = v.ins().iconst(types::I64, 0);
        let own = region.limit.map(|limit| v.ins().iconst(types::I64, limit as i64));
        let (first, beyond) = if region.is_nested() {
            if self.depth == 1 {
                let may_begin = v.ins().load(types::I64, flags, sources.context, pauses::MAY_BEGIN);
                v.ins().store(flags, may_begin, sources.context, pauses::GOES_ON);
            }
            let most = own.unwrap_or_else(|| v.ins().load(types::I64, flags, sources.context, pauses::MOST));
            (most, zero)
        } else {
            let left = v.ins().load(types::I64, flags, sources.context, pauses::LEFT);
            match own.filter(|_| region.limit.is_some_and(|limit| limit < self.plan.pace)) {
                None => (left, zero),
                Some(own) => {
                    let is_less = v.ins().icmp(IntCC::UnsignedLessThan, left, own);
                    let first = v.ins().select(is_less, left, own);
                    (first, v.ins().isub(left, first))
                }
            }
        };
        for (value, at) in [(zero, pauses::DONE), (first, pauses::GIVEN), (beyond, pauses::BEYOND)] {
            v.ins().store(flags, value, frame, at);
        }
        Counter { frame: slot, first }
    }

    /// Ends an iteration: counts it, and pauses if it was the last one that was given out. Returns the number of
    /// the remaining ones, and the mask of the lanes that go on.
    fn count(
        &mut self,
        region: &Region,
        counter: &Counter,
        left: Value,
        holds: Lanes,
        sources: &Sources,
    ) -> (Value, Lanes) {
        let numbers = self.scope.values[..region.args.len()].last().copied().flatten();
        let shape = LoopShape {
            lanes: self.vectors.layout.lanes,
            mask: holds.width.into(),
            is_numbered: region.is_numbered,
            is_nested: region.is_nested(),
            is_limited: region.limit.is_some(),
        };
        let v = &mut self.vectors;
        let ty = v.layout.integer_vector(holds.width.into());
        let holds = v.cast_lanes(ty, holds);
        let left = v.ins().iadd_imm_s(left, -1);
        let zero = v.ins().iconst(types::I64, 0);
        let is_due = v.ins().icmp(IntCC::Equal, left, zero);
        let (cold, join) = (v.builder.create_block(), v.builder.create_block());
        v.builder.set_cold_block(cold);
        let now = v.builder.append_block_param(join, types::I64);
        let masks: SmallVec<[Value; 8]> =
            holds.vectors().iter().map(|_| v.builder.append_block_param(join, ty)).collect();
        let inline: SmallVec<[BlockArg; 8]> =
            [left].into_iter().chain(holds.vectors().iter().copied()).map(BlockArg::from).collect();
        v.ins().brif(is_due, cold, &[], join, &inline);

        v.builder.switch_to_block(cold);
        v.builder.seal_block(cold);
        let frame = v.ins().stack_addr(types::I64, counter.frame, 0);
        v.store_to_frame(frame, pauses::ACTIVE, &holds);
        if let (Some(numbers), true) = (numbers, region.is_numbered) {
            v.store_to_frame(frame, pauses::NUMBERS, &numbers);
        }
        let shape = v.ins().iconst(types::I64, shape.bits());
        let limit = v.ins().iconst(types::I64, region.limit.unwrap_or(u64::MAX) as i64);
        let helper = self.slow_paths.address(v, pauses::pause as *const () as usize);
        v.call_address(helper, &[sources.context, frame, shape, limit]);
        let flags = element_flags();
        let mut results = vec![BlockArg::from(v.ins().load(types::I64, flags, frame, pauses::NEXT))];
        let active = v.load_from_frame(frame, pauses::ACTIVE, &holds);
        results.extend(active.vectors().iter().copied().map(BlockArg::from));
        v.ins().jump(join, &results);

        v.builder.switch_to_block(join);
        v.builder.seal_block(join);
        let holds = Lanes::new(holds.width.into(), masks);
        if !region.is_nested() {
            return (now, holds);
        }
        // The loops within may have found that the run is to end.
        let lane = integer(holds.width.into());
        let goes_on = v.ins().load(lane, MemFlagsData::new().with_notrap(), sources.context, pauses::GOES_ON);
        let goes_on = v.splat_scalar(lane, goes_on);
        (now, holds.zip(&goes_on, |x, y| v.ins().band(x, y)))
    }
}
