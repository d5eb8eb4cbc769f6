//! The reasons why operands can't be bound to a plan.

use broadloom_ir::loop_plan::LoopPlanError;

/// The reason why operands can't be bound to one nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NestError {
    /// An input's shape differs from the extents, or its memory is too short or not aligned to its elements.
    #[error("the shape of input {input} is not that of the index space")]
    InputShape {
        /// The input's number.
        input: usize,
    },
    /// An output's shape differs from the extents, or its memory is too short or not aligned to its elements.
    #[error("the shape of output {output} is not that of the index space")]
    OutputShape {
        /// The output's number.
        output: usize,
    },
    /// An input overlaps an output without being the same element for element. The caller has to copy it first.
    #[error("input {input} overlaps output {output} other than element for element")]
    Overlap {
        /// The input's number.
        input: usize,
        /// The output's number.
        output: usize,
    },
    /// Two outputs overlap, or are not known not to overlap.
    #[error("outputs {first} and {second} overlap")]
    OutputsOverlap {
        /// The lower number.
        first: usize,
        /// The higher number.
        second: usize,
    },
    /// The index space has more than `isize::MAX` elements.
    #[error("the index space has more elements than can be counted")]
    TooLarge,
}

impl NestError {
    /// Converts the error of a plan whose first `inputs` operands are inputs.
    pub(crate) fn of(error: LoopPlanError, inputs: usize) -> NestError {
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

    pub(crate) fn of_operand(operand: usize, inputs: usize) -> NestError {
        match operand.checked_sub(inputs) {
            None => NestError::InputShape { input: operand },
            Some(output) => NestError::OutputShape { output },
        }
    }
}
