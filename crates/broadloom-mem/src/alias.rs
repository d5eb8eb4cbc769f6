//! What an executor is given of inputs that are also outputs.

/// How a walk presents two kinds of inputs to the body: those that are the same memory as an output, element
/// for element, and stepped ones (reversed, or every second element).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AliasPolicy {
    /// An input that is also an output is used in place. This is for machine code, which reads each element before it writes it;
    /// functions that return slices of such an input panic. Stepped inputs are packed into tiles.
    InPlace,
    /// Like [`InPlace`](AliasPolicy::InPlace), but stepped inputs are also used in place, unless they are an
    /// output too. This is for machine code that reads reversed elements or every second element
    /// ([`Access::Reversed`](broadloom_ir::loop_plan::Access)).
    Stepped,
    /// An input that is also an output is copied to a tile before the body is called for a block. This is for bodies in safe
    /// Rust. Stepped inputs are packed into tiles.
    Copy,
}

/// The number of rows of memory that each state takes for so many steps, if the executor has this policy.
pub fn rows_of_states(policy: AliasPolicy, steps: usize) -> usize {
    if policy == AliasPolicy::Copy { steps + 1 } else { 1 }
}
