//! Declarations of host functions: what an expression and a kernel know of a function of the application.
//!
//! A [`HostDeclaration`] has an identity, a name and a [`HostSignature`]. The pointer that calls the function is apart
//! from it, in `broadloom_mem::HostFunction`, so that graphs and kernels hold no code; executors are given the functions
//! when a kernel is prepared. Two declarations are equal if they are of one registration.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use broadloom_math::DType;

use crate::error::{Error, ErrorKind};

/// The most operands of a host function.
pub const MAX_HOST_OPERANDS: usize = 3;

/// Why a function can't be declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A name that expressions could not spell.
    #[error("a host function's name is at most 255 ASCII letters, digits and `_`, no digit first: not `{0}`")]
    Name(String),
    /// No operands, or more than there can be.
    #[error("{name}: a host function takes 1 to {MAX_HOST_OPERANDS} operands, not {operands}")]
    Operands {
        /// The function.
        name: String,
        /// How many it was declared with.
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

/// The dtypes that a host function takes and gives, and the cost of an element.
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

    /// The cost of an element, in the unit of the cost model: the time of an addition in a vector loop.
    pub fn cost(&self) -> u32 {
        self.cost
    }
}

/// `float32, float32 -> bool`
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

/// A host function as expressions and kernels know it: its identity, its name and its signature.
#[derive(Clone)]
pub struct HostDeclaration(Arc<Inner>);

struct Inner {
    id: u64,
    name: Box<str>,
    signature: HostSignature,
}

impl HostDeclaration {
    /// Declares a function; its identity is that of no other declaration of this process.
    ///
    /// # Errors
    /// [`HostError::Name`] and [`HostError::Operands`].
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
        Ok(HostDeclaration(Arc::new(Inner { id: next_id(), name: name.into(), signature })))
    }

    /// The same function with another cost of an element. It is another declaration: no equal of the first.
    pub fn with_cost(&self, cost: u32) -> HostDeclaration {
        let signature = HostSignature { cost, ..self.0.signature };
        HostDeclaration(Arc::new(Inner { id: next_id(), name: self.0.name.clone(), signature }))
    }

    /// A number that no other declaration of this process has, had or will have.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The name that it was declared with.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it takes and gives.
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

/// `hypot(float32, float32 -> float32)`
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
