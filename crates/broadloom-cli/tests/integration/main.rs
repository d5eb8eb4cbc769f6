//! Tests that run the command as a user would: results, files, messages, exit statuses and signals.

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
