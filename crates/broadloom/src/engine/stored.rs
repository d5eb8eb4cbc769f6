//! Plans the loops that store the elements of a stage.

use broadloom_core::fuse::Stage;
use broadloom_core::{DType, Layout};
use broadloom_ir::loop_plan::{LoopPlan, LoopPlanError, OperandLayout};
use smallvec::SmallVec;

/// The dtype, the offset and the strides of an operand in bytes.
type InBytes = (DType, isize, SmallVec<[isize; 6]>);

/// Plans the loops that store the elements of a stage. The inputs, in memory or generated, have the stage's layouts; `outputs`
/// contains the layouts of the outputs.
pub(crate) fn stored(stage: &Stage, outputs: &[Layout]) -> std::result::Result<LoopPlan, LoopPlanError> {
    let operands = in_bytes(stage, outputs)?;
    LoopPlan::new(&stage.shape, stage.kernel.inputs.len(), layouts(stage, &operands), LoopPlan::MIN_ROW)
}

/// Plans loops that compute the elements of a stage in C order and store none.
pub(crate) fn in_order(stage: &Stage) -> std::result::Result<LoopPlan, LoopPlanError> {
    let operands = in_bytes(stage, &[])?;
    LoopPlan::in_order(&stage.shape, layouts(stage, &operands), LoopPlan::MIN_ROW)
}

fn in_bytes(stage: &Stage, outputs: &[Layout]) -> std::result::Result<SmallVec<[InBytes; 8]>, LoopPlanError> {
    let mut operands = SmallVec::new();
    let inputs = stage.inputs.iter().map(|input| &*input.layout).zip(stage.kernel.inputs.iter().copied());
    let outputs = outputs.iter().zip(stage.kernel.output_dtypes());
    for (operand, (layout, dtype)) in inputs.chain(outputs).enumerate() {
        let bytes = |n: isize| n.checked_mul(dtype.size() as isize);
        let strides = layout.strides.iter().map(|&stride| bytes(stride)).collect::<Option<_>>();
        let in_bytes = bytes(layout.offset).zip(strides);
        let (offset, strides) = in_bytes.ok_or(LoopPlanError::OutOfReach { operand })?;
        operands.push((dtype, offset, strides));
    }
    Ok(operands)
}

fn layouts<'l>(
    stage: &'l Stage,
    operands: &'l [InBytes],
) -> impl ExactSizeIterator<Item = OperandLayout<'l>> {
    operands.iter().enumerate().map(move |(operand, (dtype, offset, strides))| OperandLayout {
        item: dtype.size(),
        offset: *offset,
        strides,
        generated: stage.inputs.get(operand).and_then(|input| input.source.generated()),
    })
}

/// A contiguous layout of the stage's shape for each of its outputs.
pub(crate) fn contiguous(stage: &Stage) -> SmallVec<[Layout; 2]> {
    stage.outputs.iter().map(|_| Layout::contiguous(stage.shape.clone())).collect()
}
