//! Binding a loop plan to memory: pointers, bounds, alignment, and who shares elements with whom.
//!
//! The plan says where each operand's elements are relative to its memory; the binder shows that they are inside of it.
//! Slices of a run never overlap, which is what `&mut` says; views may, so that each input is compared with each output:
//! it is apart from it, or the same element for element, or the walk is refused. Generated inputs have no memory, and so
//! nothing in common with an output.

use broadloom_ir::loop_plan::{LoopPlan, LoopPlanError, OperandLayout};
use smallvec::SmallVec;

use crate::operand::BoundOperand;
use crate::overlap::{Place, disjoint};
use crate::region::Region;
use crate::view::{Layout, View, ViewMut};

/// Why operands can't be walked together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NestError {
    /// An input's shape is not the extents, or its memory is too short or not aligned to its elements.
    #[error("the shape of input {input} is not that of the index space")]
    InputShape {
        /// Its number.
        input: usize,
    },
    /// An output's shape is not the extents, or its memory is too short or not aligned to its elements.
    #[error("the shape of output {output} is not that of the index space")]
    OutputShape {
        /// Its number.
        output: usize,
    },
    /// An input shares memory with an output, other than element for element: read from a copy instead.
    #[error("input {input} overlaps output {output} other than element for element")]
    Overlap {
        /// The input's number.
        input: usize,
        /// The output's number.
        output: usize,
    },
    /// Two outputs share memory, or are not known not to.
    #[error("outputs {first} and {second} overlap")]
    OutputsOverlap {
        /// The lower number.
        first: usize,
        /// The higher one.
        second: usize,
    },
    /// The index space has more elements than `isize::MAX`.
    #[error("the index space has more elements than can be counted")]
    TooLarge,
}

impl NestError {
    /// The error for layouts without a plan, `inputs` of which are inputs.
    fn of(error: LoopPlanError, inputs: usize) -> NestError {
        match error {
            LoopPlanError::TooLarge => NestError::TooLarge,
            LoopPlanError::SelfOverlap { output } => {
                NestError::OutputsOverlap { first: output, second: output }
            }
            LoopPlanError::Rank { operand }
            | LoopPlanError::Misaligned { operand }
            | LoopPlanError::NotGenerated { operand }
            | LoopPlanError::OutOfReach { operand } => NestError::of_operand(operand, inputs),
        }
    }

    fn of_operand(operand: usize, inputs: usize) -> NestError {
        match operand.checked_sub(inputs) {
            None => NestError::InputShape { input: operand },
            Some(output) => NestError::OutputShape { output },
        }
    }
}

/// The bound operands of a nest: inputs, then outputs.
pub(crate) type Bound = SmallVec<[BoundOperand; 4]>;

/// The operands of a plan over slices: what its offsets are relative to is where a slice begins. The slice of a generated
/// input is empty, and its offset is from address 0.
#[inline]
pub(crate) fn slices<'a>(
    plan: &LoopPlan,
    inputs: impl Iterator<Item = &'a [u8]>,
    outputs: impl Iterator<Item = &'a mut [u8]>,
) -> Result<Bound, NestError> {
    let inputs = inputs.map(|slice| (slice.as_ptr(), slice.len()));
    memory(plan, inputs, outputs.map(|slice| (slice.as_mut_ptr(), slice.len())))
}

/// The operands of a plan over memory, each of which begins somewhere and has so many bytes.
#[inline]
pub(crate) fn memory(
    plan: &LoopPlan,
    mut inputs: impl Iterator<Item = (*const u8, usize)>,
    mut outputs: impl Iterator<Item = (*mut u8, usize)>,
) -> Result<Bound, NestError> {
    let mut bound = Bound::new();
    for (i, planned) in plan.operands().iter().enumerate() {
        let memory = match i < plan.inputs() {
            true => inputs.next().map(|(start, len)| (start.cast_mut(), len)),
            false => outputs.next(),
        };
        let (low, high) = planned.reach();
        let operand = memory.and_then(|(start, len)| {
            if planned.is_generated() {
                let first = std::ptr::null_mut::<u8>().wrapping_offset(planned.start());
                return (len == 0).then(|| BoundOperand::new(first, planned));
            }
            let ptr = start.wrapping_offset(planned.start());
            // From here all elements are inside and aligned: the plan's reach is that of all of them, and they are
            // multiples of an element apart. Of nothing, the first element may be anywhere.
            let fits = low >= 0 && high as usize <= len && ptr.addr() & (planned.item() - 1) == 0;
            (fits || low == high).then(|| BoundOperand::new(ptr, planned))
        });
        bound.push(operand.ok_or(NestError::of_operand(i, plan.inputs()))?);
    }
    if inputs.next().is_some() {
        return Err(NestError::InputShape { input: plan.inputs() });
    }
    match outputs.next() {
        Some(_) => Err(NestError::OutputShape { output: plan.operands().len() - plan.inputs() }),
        None => Ok(bound),
    }
}

/// The operands of a plan of inputs alone. Each is a region and an offset in bytes into it; for a generated input the offset is eight times
/// the number that it begins with.
pub(crate) fn regions<'a>(
    plan: &LoopPlan,
    mut inputs: impl Iterator<Item = (Region<'a>, isize)>,
) -> Result<Bound, NestError> {
    let mut bound = Bound::new();
    for (input, planned) in plan.operands().iter().enumerate() {
        let wrong = NestError::InputShape { input };
        let (region, from) = inputs.next().ok_or(wrong)?;
        let Some(start) = planned.start().checked_add(from) else { return Err(wrong) };
        if planned.is_generated() {
            bound.push(BoundOperand::new(std::ptr::null_mut::<u8>().wrapping_offset(start), planned));
            continue;
        }
        let (memory, len) = region.start_and_len();
        let (low, high) = planned.reach();
        let ptr = memory.cast_mut().wrapping_offset(start);
        let fits = low.checked_add(from).is_some_and(|low| low >= 0)
            && high.checked_add(from).is_some_and(|high| high as usize <= len)
            && ptr.addr() & (planned.item() - 1) == 0;
        if !fits && low != high {
            return Err(wrong);
        }
        if region.has_gaps() {
            let extents: SmallVec<[usize; 6]> = plan.extents().collect();
            let at = usize::try_from(start).map_err(|_| wrong)?;
            region.view(planned.item(), at, &extents, plan.strides(input)).map_err(|_| wrong)?;
        }
        bound.push(BoundOperand::new(ptr, planned));
    }
    let is_all = plan.operands().len() == plan.inputs() && inputs.next().is_none();
    if is_all { Ok(bound) } else { Err(NestError::InputShape { input: plan.inputs() }) }
}

/// A plan of views, whose memory is known to hold what they reach.
#[inline]
pub(crate) fn views<'a>(
    extents: &[usize],
    inputs: &[View<'a>],
    outputs: impl IntoIterator<Item = ViewMut<'a>>,
) -> Result<(LoopPlan, Bound), NestError> {
    let mut given = Given { extents, operands: SmallVec::new(), strides: SmallVec::new(), error: None };
    for (input, view) in inputs.iter().enumerate() {
        given.push(&view.layout, NestError::InputShape { input });
    }
    let mut output = 0;
    // PERF: a `for` would move each view once more.
    outputs.into_iter().for_each(|view| {
        given.push(&view.layout, NestError::OutputShape { output });
        output += 1;
    });
    if let Some(error) = given.error {
        return Err(error);
    }
    let layouts = given.operands.iter().enumerate().map(|(i, view)| OperandLayout {
        item: view.item,
        offset: 0,
        strides: given.strides(i),
        is_generated: view.is_generated,
    });
    let plan = LoopPlan::new(extents, inputs.len(), layouts, LoopPlan::MIN_ROW)
        .map_err(|error| NestError::of(error, inputs.len()))?;
    let mut bound = Bound::new();
    for (planned, view) in plan.operands().iter().zip(&given.operands) {
        bound.push(BoundOperand::new(view.ptr.wrapping_offset(planned.start()), planned));
    }
    if plan.elements() > 0 {
        given.find_aliases(&mut bound, inputs.len())?;
    }
    Ok((plan, bound))
}

/// A view, but for shape and strides.
struct GivenOperand {
    /// The element with index 0.
    ptr: *mut u8,
    item: usize,
    /// The addresses that are reached.
    reach: (usize, usize),
    is_generated: bool,
}

/// Views as they were given, for a space of these extents.
struct Given<'e> {
    extents: &'e [usize],
    operands: SmallVec<[GivenOperand; 4]>,
    /// A stride per operand and dimension.
    strides: SmallVec<[isize; 8]>,
    error: Option<NestError>,
}

impl Given<'_> {
    #[inline]
    fn push(&mut self, layout: &Layout, otherwise: NestError) {
        if !layout.has_shape(self.extents) {
            self.error = self.error.or(Some(otherwise));
        }
        let Layout { ptr, item, reach, is_generated, .. } = *layout;
        self.operands.push(GivenOperand { ptr, item, reach, is_generated });
        layout.strides.iter().for_each(|&stride| self.strides.push(stride));
    }

    fn strides(&self, operand: usize) -> &[isize] {
        let rank = self.extents.len();
        &self.strides[operand * rank..][..rank]
    }

    fn place(&self, operand: usize) -> Place<'_> {
        let GivenOperand { ptr, item, .. } = self.operands[operand];
        Place { address: ptr.addr(), item, shape: self.extents, strides: self.strides(operand) }
    }

    /// Whether the addresses between which two operands lie overlap.
    fn is_near(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.operands[a].reach, self.operands[b].reach);
        a.0 < b.1 && b.0 < a.1
    }

    /// Marks inputs that are outputs, and refuses every other overlap with an output.
    fn find_aliases(&self, bound: &mut Bound, inputs: usize) -> Result<(), NestError> {
        for b in inputs..bound.len() {
            let second = b - inputs;
            if let Some(a) =
                (inputs..b).find(|&a| self.is_near(a, b) && !disjoint(self.place(a), self.place(b)))
            {
                return Err(NestError::OutputsOverlap { first: a - inputs, second });
            }
            for input in (0..inputs).filter(|&input| self.is_near(input, b)) {
                let (read, written) = (self.place(input), self.place(b));
                if read.same(written) {
                    bound[input].alias();
                } else if !disjoint(read, written) {
                    return Err(NestError::Overlap { input, output: second });
                }
            }
        }
        // Where an output is an input, blocks do not overlap, and what is left of each row goes through buffers, slowly.
        if bound[..inputs].iter().any(|input| input.aliased) {
            bound[..inputs].iter_mut().for_each(BoundOperand::read_no_steps);
        }
        Ok(())
    }
}
