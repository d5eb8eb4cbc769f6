//! The accuracy with which an approximate function is applied.
//!
//! It is a field of an application, in nodes of expressions and in the kernel IR, and no part of [`Op`](crate::Op): users,
//! inference and the text language name ops, and only code that dispatches, records, folds or prints an application reads the
//! accuracy. A struct of an op and an accuracy was considered; every pattern on an op, of which there are many more, would go
//! through it.

/// The accuracy of float32 functions whose results are approximated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Accuracy {
    /// Results within a fraction of an ulp, computed with as many lanes as possible.
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
