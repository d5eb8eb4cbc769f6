//! Plans the loops that store the elements of a stage.

use broadloom_core::fuse::Stage;
use broadloom_core::{DType, Layout};
use broadloom_ir::loop_plan::{LoopPlan, LoopPlanError, OperandLayout};
use smallvec::SmallVec;

/// Plans the loops that store the elements of a stage. The inputs, in memory or generated, have the stage's layouts; `outputs`
/// contains the layouts of the outputs.
pub(crate) fn stored(stage: &Stage, outputs: &[Layout]) -> std::result::Result<LoopPlan, LoopPlanError> {
    type InBytes = (DType, isize, SmallVec<[isize; 6]>);
    let mut operands: SmallVec<[InBytes; 8]> = SmallVec::new();
    let inputs = stage.inputs.iter().map(|input| &*input.layout).zip(stage.kernel.inputs.iter().copied());
    let outputs = outputs.iter().zip(stage.kernel.output_dtypes());
    for (operand, (layout, dtype)) in inputs.chain(outputs).enumerate() {
        let bytes = |n: isize| n.checked_mul(dtype.size() as isize);
        let strides = layout.strides.iter().map(|&stride| bytes(stride)).collect::<Option<_>>();
        let in_bytes = bytes(layout.offset).zip(strides);
        let (offset, strides) = in_bytes.ok_or(LoopPlanError::OutOfReach { operand })?;
        operands.push((dtype, offset, strides));
    }
    let layouts = operands.iter().enumerate().map(|(operand, (dtype, offset, strides))| OperandLayout {
        item: dtype.size(),
        offset: *offset,
        strides,
        generated: stage.inputs.get(operand).and_then(|input| input.source.generated()),
    });
    LoopPlan::new(&stage.shape, stage.kernel.inputs.len(), layouts, LoopPlan::MIN_ROW)
}

/// A contiguous layout of the stage's shape for each of its outputs.
pub(crate) fn contiguous(stage: &Stage) -> SmallVec<[Layout; 2]> {
    stage.outputs.iter().map(|_| Layout::contiguous(stage.shape.clone())).collect()
}
