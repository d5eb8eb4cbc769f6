//! Functions at the arguments that their methods find hardest.

mod float32_functions;
mod powers;
mod reciprocal;
