//! Tests functions at the arguments that are hardest for their methods.

mod float32_functions;
mod powers;
mod reciprocal;
