//! Why operands can't be bound to a plan.

use broadloom_ir::loop_plan::LoopPlanError;

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
