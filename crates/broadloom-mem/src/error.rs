//! The reasons why operands can't be bound to a plan.

use broadloom_ir::loop_plan::LoopPlanError;

/// The reason why operands can't be bound to one nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NestError {
    /// The shape of an input differs from that of the index space, or its memory is too short or not aligned
    /// to its elements.
    #[error("the shape of input {input} is not that of the index space")]
    InputShape {
        /// The index of the input.
        input: usize,
    },
    /// The shape of an output differs from that of the index space, or its memory is too short or not aligned
    /// to its elements.
    #[error("the shape of output {output} is not that of the index space")]
    OutputShape {
        /// The index of the output.
        output: usize,
    },
    /// An input overlaps an output, but is not the same memory element for element. The caller has to copy the input first.
    #[error("input {input} overlaps output {output} other than element for element")]
    Overlap {
        /// The index of the input.
        input: usize,
        /// The index of the output.
        output: usize,
    },
    /// Two outputs overlap, or can't be shown not to overlap. If both indices are equal, elements of one output overlap each
    /// other.
    #[error("outputs {first} and {second} overlap")]
    OutputsOverlap {
        /// The lower of the two indices.
        first: usize,
        /// The higher of the two indices.
        second: usize,
    },
    /// The index space has more than `isize::MAX` elements.
    #[error("the index space has more elements than can be counted")]
    TooLarge,
}

impl NestError {
    /// Converts a loop plan's error, which numbers inputs and outputs together, to one that names an input or
    /// an output. The first `inputs` operands are inputs.
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
