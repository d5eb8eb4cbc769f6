//! Binds a loop plan to memory: pointers, bounds, alignment, and aliasing of inputs and outputs.
//!
//! The plan contains the offsets of each operand relative to the start of its memory; binding checks that every element is
//! inside the memory. Unless operands are known not to overlap, each input is compared with each output. Binding fails if they
//! overlap, except if they are the same memory element for element. Generated numbers have no memory and overlap nothing; words of
//! a random stream have that of their key, which no output may overlap.

use broadloom_ir::loop_plan::{Generated, LoopPlan, OperandLayout};
use smallvec::SmallVec;

use crate::error::NestError;
use crate::operand::BoundOperand;
use crate::operands::Operands;
use crate::overlap::{PerDim, Place, disjoint};
use crate::region::{Memory, Region, RegionMut};
use crate::view::{Layout, View, ViewMut};

/// The bound operands of a nest: inputs, then outputs.
pub(crate) type Bound = SmallVec<[BoundOperand; 4]>;

/// Binds all operands of a plan to their memory.
#[inline]
pub(crate) fn operands(plan: &LoopPlan, operands: &Operands<'_>) -> Result<Bound, NestError> {
    let mut bound = Bound::new();
    let (inputs, outputs) = operands.memory();
    let wrong = |operand: usize| NestError::of_operand(operand, plan.inputs());
    for i in 0..plan.operands().len() {
        let memory = if i < plan.inputs() { inputs.get(i) } else { outputs.get(i - plan.inputs()) };
        bound.push(memory.and_then(|memory| bind(plan, i, memory)).ok_or(wrong(i))?);
    }
    if inputs.len() > plan.inputs() {
        return Err(NestError::InputShape { input: plan.inputs() });
    }
    if inputs.len() + outputs.len() > bound.len() {
        return Err(wrong(bound.len()));
    }
    if operands.may_overlap() && plan.elements() > 0 {
        find_aliases(plan, &mut bound)?;
    }
    Ok(bound)
}

/// Binds one operand of a plan to its memory. Returns `None` if one of its elements is outside the memory, is in a gap of the
/// memory, or is not aligned.
#[inline]
fn bind(plan: &LoopPlan, operand: usize, memory: &Memory<'_>) -> Option<BoundOperand> {
    let (planned, from) = (&plan.operands()[operand], memory.from);
    let start = planned.start().checked_add(from)?;
    if let Some(generated) = planned.generated() {
        let first = std::ptr::null_mut::<u8>().wrapping_offset(start);
        let fits = match generated {
            Generated::Numbers => memory.len == 0,
            // The four words of a key are at the start of the memory, without gaps between them.
            Generated::Words => memory.len >= generated.memory() && memory.elements.is_none(),
        };
        return fits.then(|| BoundOperand::new(first, planned).with_key(memory.start));
    }
    let ptr = memory.start.wrapping_offset(start);
    let (low, high) = planned.reach();
    // It is enough to check the range of bytes and the alignment of one element: the range covers all elements, and the distances
    // between elements are multiples of the element size. An operand without elements has an empty range and needs no check.
    let fits = low.checked_add(from).is_some_and(|low| low >= 0)
        && high.checked_add(from).is_some_and(|high| high as usize <= memory.len)
        && ptr.addr() & (planned.item() - 1) == 0;
    if !fits && low != high {
        return None;
    }
    if let Some(elements) = memory.elements {
        let extents: PerDim<usize> = plan.extents().collect();
        let place = Place {
            address: ptr.addr(),
            item: planned.item(),
            shape: &extents,
            strides: plan.strides(operand),
        };
        if !elements.contain(place) {
            return None;
        }
    }
    Some(BoundOperand::new(ptr, planned))
}

/// Marks each input that is the same memory as an output, element for element. Returns an error if an output overlaps an input
/// in any other way, or overlaps another output.
#[cold]
fn find_aliases(plan: &LoopPlan, bound: &mut Bound) -> Result<(), NestError> {
    let (inputs, extents) = (plan.inputs(), plan.extents().collect::<PerDim<usize>>());
    let place = |operand: usize, bound: &Bound| {
        let (address, item) = (bound[operand].ptr.addr(), bound[operand].item());
        Place { address, item, shape: &extents, strides: plan.strides(operand) }
    };
    // The addresses of the memory that an operand reads or writes: of its elements, or of the key that they are generated from.
    let reach = |operand: usize, bound: &Bound| {
        let planned = &plan.operands()[operand];
        if let Some(generated) = planned.generated() {
            let key = bound[operand].key.addr() as isize;
            return (key, key + generated.memory() as isize);
        }
        let zero = bound[operand].ptr.addr() as isize - planned.start();
        (zero + planned.reach().0, zero + planned.reach().1)
    };
    // Whether the address ranges of two operands overlap.
    let near = |a: usize, b: usize, bound: &Bound| {
        let (a, b) = (reach(a, bound), reach(b, bound));
        a.0 < b.1 && b.0 < a.1
    };
    for b in inputs..bound.len() {
        let second = b - inputs;
        let meets = |&a: &usize| near(a, b, bound) && !disjoint(place(a, bound), place(b, bound));
        if let Some(a) = (inputs..b).find(meets) {
            return Err(NestError::OutputsOverlap { first: a - inputs, second });
        }
        for input in 0..inputs {
            if !near(input, b, bound) {
                continue;
            }
            match bound[input].generated() {
                Some(Generated::Words) => return Err(NestError::Overlap { input, output: second }),
                Some(Generated::Numbers) => continue,
                None => {}
            }
            let (read, written) = (place(input, bound), place(b, bound));
            if read.same(written) {
                bound[input].alias();
            } else if !disjoint(read, written) {
                return Err(NestError::Overlap { input, output: second });
            }
        }
    }
    // Machine code usually ends a row with a vector that overlaps the previous one, and so computes some
    // elements twice. If an input is also an output, the previous vector has already overwritten these
    // elements, so the code copies the end of each row through buffers instead. Buffers are slow for stepped
    // inputs (reversed, or every second element), so these inputs are packed into tiles here.
    if bound[..inputs].iter().any(|input| input.aliased) {
        bound[..inputs].iter_mut().for_each(BoundOperand::read_no_steps);
    }
    Ok(())
}

/// Makes a loop plan for views and binds it to their memory. The bounds of each view were checked when it was
/// made.
pub(crate) fn views<'a>(
    extents: &[usize],
    inputs: &[View<'a>],
    outputs: impl IntoIterator<Item = ViewMut<'a>>,
) -> Result<(LoopPlan, Bound), NestError> {
    let outputs: SmallVec<[ViewMut<'a>; 2]> = outputs.into_iter().collect();
    let layouts = inputs.iter().map(|view| &view.layout).chain(outputs.iter().map(|view| &view.layout));
    let mut planned: SmallVec<[OperandLayout<'_>; 6]> = SmallVec::new();
    for (operand, layout) in layouts.enumerate() {
        if !layout.has_shape(extents) {
            return Err(NestError::of_operand(operand, inputs.len()));
        }
        let Layout { ptr, item, reach, is_generated, .. } = *layout;
        // The lowest address of the view's elements, or 0 if it has no elements or no memory.
        let low = if is_generated || reach.0 == reach.1 { 0 } else { reach.0 };
        let offset =
            if reach.0 == reach.1 && !is_generated { 0 } else { ptr.addr().wrapping_sub(low) as isize };
        let generated = is_generated.then_some(Generated::Numbers);
        planned.push(OperandLayout { item, offset, strides: &layout.strides, generated });
    }
    let plan = LoopPlan::new(extents, inputs.len(), planned, LoopPlan::MIN_ROW)
        .map_err(|error| NestError::of(error, inputs.len()))?;
    let mut all = Operands::default();
    inputs.iter().for_each(|view| all.read(Region::reached(view)));
    outputs.iter().for_each(|view| all.write(RegionMut::reached(view)));
    let bound = operands(&plan, &all)?;
    Ok((plan, bound))
}
