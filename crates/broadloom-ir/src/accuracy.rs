//! The accuracy with which an approximate function is applied.
//!
//! The accuracy is a field of nodes and instructions that apply an [`Op`](crate::Op), and not a part of the op: users,
//! inference and the text language name ops only, and the accuracy is read only by code that dispatches, records, folds
//! or prints an application. A struct of an op and an accuracy was considered, but all patterns that match an op, of
//! which there are many, would have to unwrap it.

/// The accuracy of float32 functions whose results are approximated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Accuracy {
    /// Results are within a fraction of an ulp of the exact result, and are computed with as many lanes as possible.
    #[default]
    Fast,
    /// The float32 nearest to the exact result.
    Nearest,
}

impl Accuracy {
    /// Both accuracies.
    pub const ALL: [Accuracy; 2] = [Accuracy::Fast, Accuracy::Nearest];

    /// The name of the accuracy as the value of an option.
    pub const fn name(self) -> &'static str {
        match self {
            Accuracy::Fast => "fast",
            Accuracy::Nearest => "nearest",
        }
    }
}
