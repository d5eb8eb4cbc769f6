//! Declarations of host functions: the facts about a function of the application that expressions and kernels contain.
//!
//! A [`HostDeclaration`] has an identity, a name and a [`HostSignature`]. The function pointer is kept in
//! `broadloom_mem::HostFunction` instead, so that graphs and kernels contain no code; executors are given the functions
//! when a kernel is prepared. Two declarations are equal if they come from the same registration.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use broadloom_math::DType;

use crate::error::{Error, ErrorKind};

/// The maximum number of operands of a host function.
pub const MAX_HOST_OPERANDS: usize = 3;

/// The reason why a function can't be declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The name is not an identifier of the text language.
    #[error("a host function's name is at most 255 ASCII letters, digits and `_`, no digit first: not `{0}`")]
    Name(String),
    /// The function has no operands, or more than [`MAX_HOST_OPERANDS`].
    #[error("{name}: a host function takes 1 to {MAX_HOST_OPERANDS} operands, not {operands}")]
    Operands {
        /// The function's name.
        name: String,
        /// The number of operands in the declaration.
        operands: usize,
    },
}

impl From<HostError> for Error {
    fn from(e: HostError) -> Error {
        let kind = match e {
            HostError::Operands { .. } => ErrorKind::Arity,
            HostError::Name(_) => ErrorKind::Name,
        };
        Error::new(kind, e.to_string())
    }
}

/// The operand and result dtypes of a host function, and its cost per element.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostSignature {
    operands: [DType; MAX_HOST_OPERANDS],
    count: u8,
    result: DType,
    cost: u32,
}

impl HostSignature {
    /// The dtypes of the operands: between one and [`MAX_HOST_OPERANDS`].
    pub fn operands(&self) -> &[DType] {
        &self.operands[..usize::from(self.count)]
    }

    /// The dtype of the result.
    pub fn result(&self) -> DType {
        self.result
    }

    /// The cost per element. The unit of the cost model is the time per element of an addition in a vector loop.
    pub fn cost(&self) -> u32 {
        self.cost
    }
}

/// Prints a signature, for example `float32, float32 -> bool`.
impl fmt::Display for HostSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operands: Vec<&str> = self.operands().iter().map(|d| d.name()).collect();
        write!(f, "{} -> {}", operands.join(", "), self.result)
    }
}

impl fmt::Debug for HostSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The declaration of a host function in expressions and kernels: identity, name and signature.
#[derive(Clone)]
pub struct HostDeclaration(Arc<HostDefinition>);

struct HostDefinition {
    id: u64,
    name: Box<str>,
    signature: HostSignature,
}

impl HostDeclaration {
    /// Declares a function. Its identity differs from the identities of all other declarations of the process.
    ///
    /// # Errors
    /// [`HostError::Name`] for a name that is not an identifier, [`HostError::Operands`] for a wrong number of operands.
    ///
    /// ```
    /// use broadloom_ir::{DType, HostDeclaration};
    ///
    /// let f = HostDeclaration::new("f", &[DType::Float32, DType::Int8], DType::Bool, 20)?;
    /// assert_eq!(f.to_string(), "f(float32, int8 -> bool)");
    /// assert_eq!((f.signature().cost(), f.with_cost(3).signature().cost()), (20, 3));
    /// # Ok::<(), broadloom_ir::HostError>(())
    /// ```
    pub fn new(
        name: &str,
        operands: &[DType],
        result: DType,
        cost: u32,
    ) -> Result<HostDeclaration, HostError> {
        let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !word || name.len() > 255 || name.bytes().next().is_none_or(|b| b.is_ascii_digit()) {
            return Err(HostError::Name(name.chars().take(40).collect()));
        }
        let count = operands.len();
        if count == 0 || count > MAX_HOST_OPERANDS {
            return Err(HostError::Operands { name: name.to_owned(), operands: count });
        }
        let mut all = [DType::Bool; MAX_HOST_OPERANDS];
        all[..count].copy_from_slice(operands);
        let signature = HostSignature { operands: all, count: count as u8, result, cost };
        Ok(HostDeclaration(Arc::new(HostDefinition { id: next_id(), name: name.into(), signature })))
    }

    /// Returns a new declaration of the function with another cost per element. It is not equal to this declaration.
    pub fn with_cost(&self, cost: u32) -> HostDeclaration {
        let signature = HostSignature { cost, ..self.0.signature };
        HostDeclaration(Arc::new(HostDefinition { id: next_id(), name: self.0.name.clone(), signature }))
    }

    /// The identity: a number that is unique among all declarations of this process.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The function's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The dtypes of the operands and the result, and the cost.
    pub fn signature(&self) -> HostSignature {
        self.0.signature
    }
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl PartialEq for HostDeclaration {
    fn eq(&self, other: &HostDeclaration) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for HostDeclaration {}

impl Hash for HostDeclaration {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

/// Prints a declaration, for example `hypot(float32, float32 -> float32)`.
impl fmt::Display for HostDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.0.name, self.0.signature)
    }
}

impl fmt::Debug for HostDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
