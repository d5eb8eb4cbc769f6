//! Compares the oracle, the references and the random programs with independent results: hardware, case files, and each other.

mod exact_agrees_with_hardware;
#[cfg(feature = "programs")]
mod fuzz;
mod oracle_accepts;
mod oracle_agrees_with_cases;
mod program_text;
mod random_programs;
mod reductions_agree_with_cases;
mod scalar_agrees_with_oracle;
