//! The command, run as a user runs it: results, files, messages, statuses and signals.

mod data;
mod docs;
mod eval;
mod failures;
mod files;
mod large;
mod outputs;
mod random_programs;
mod signals;
mod slips;
mod support;
