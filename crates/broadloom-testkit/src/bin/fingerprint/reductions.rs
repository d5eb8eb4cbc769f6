//! Hashes reductions and scans for many lengths, axes, layouts and bodies, in every way of evaluating that must give the same
//! bits.
//!
//! Each row is evaluated by every executor on one thread and on several, on contiguous copies of its operands, and in chunks. A
//! redesign of the engine may divide reductions differently, but must reproduce the file of hashes. Different lengths, axes and
//! layouts are handled by different parts of the engine; `fingerprint functions` covers only three of these parts.

use std::io::Write;
use std::path::PathBuf;

use broadloom::{Array, Options};
use broadloom_core::graph::Semantics;
use broadloom_testkit::elements;

use crate::evaluate::{Executors, attempt, hash_of, hash_of_attempt, hashes, in_parallel};
use crate::golden::{HashFormat, Hashes, RowHashes};
use crate::hash::Hash;
use crate::report::{Report, Task};

mod axes;
mod bodies;
mod calls;
mod chunked;
mod lengths;
mod pipelines;
mod row;

use row::{HashedCase, HashedLayout, ReductionRow};

/// The task of the command and its options.
#[derive(clap::Args)]
pub struct ReductionsCommand {
    /// Only rows whose names contain one of these texts: `"sum(x)"`, `float16`.
    names: Vec<String>,
    /// Compare with the file of hashes; name each row and way of evaluating that differs.
    #[arg(long)]
    check: bool,
    /// Write the file of hashes, if all executors, numbers of threads, layouts and chunks agree.
    #[arg(long, conflicts_with_all = ["check", "thin", "names"])]
    write: bool,
    /// Evaluate about one in this many rows, chosen by their names.
    #[arg(long, default_value_t = 1)]
    thin: u64,
    /// Print a line for each case of a row, to find the case whose bits differ in another build.
    #[arg(long, conflicts_with_all = ["check", "write"])]
    cases: bool,
    /// The number of rows that are evaluated at once; by default one per core.
    #[arg(long)]
    threads: Option<usize>,
    /// The file of hashes.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reductions.txt"), hide_default_value = true)]
    file: PathBuf,
}

/// The format of the file of hashes.
const FORMAT: HashFormat = HashFormat {
    header: "\
# Hashes of reductions and scans: name, operands, results.
# Written by `fingerprint reductions --write`, compared by `fingerprint reductions --check`; docs/reliability.md describes them.
",
    results: &[""],
};

/// The numbers of threads with which each row is evaluated.
const THREADS: [usize; 2] = [1, 4];

/// All rows.
fn rows() -> Vec<ReductionRow> {
    [lengths::rows(), axes::rows(), bodies::rows(), pipelines::rows()].into_iter().flatten().collect()
}

/// Evaluates rows, and prints, writes or compares their hashes.
pub fn hash_all(command: &ReductionsCommand, out: &mut impl Write) -> std::result::Result<(), String> {
    let mut report = Report::new(Task::of_flags(command.check, command.write), &command.file, FORMAT)?;
    let rows = rows();
    report.add_missing(&rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>());
    let is_asked_for = |row: &ReductionRow| {
        command.names.is_empty() || command.names.iter().any(|name| row.name.contains(name))
    };
    let is_of_thin = |row: &ReductionRow| {
        let mut hash = Hash::new();
        hash.text(&row.name);
        hash.bits().is_multiple_of(command.thin.max(1))
    };
    let mut chosen: Vec<ReductionRow> =
        rows.into_iter().filter(|row| is_asked_for(row) && is_of_thin(row)).collect();
    if command.cases {
        chosen = chosen.into_iter().flat_map(ReductionRow::into_cases).collect();
    }
    let ways = Ways::of_target();
    for outcome in in_parallel(&chosen, command.threads, |row| ways.outcome(row)) {
        report.add(&outcome, out)?;
    }
    let names = ways.direct.names().collect::<Vec<_>>().join(", ");
    report.finish(&format!("{names}, over copies and in chunks"), out)
}

/// The ways of evaluating a row.
struct Ways {
    /// Every executor, on each number of threads.
    direct: Executors,
    /// Every executor on one thread, for contiguous copies of the operands.
    copies: Executors,
    /// The names and options of two evaluations in chunks: one whose operands are read from files, and one
    /// whose operands are in memory.
    chunks: [(String, Options); 2],
}

impl Ways {
    fn of_target() -> Ways {
        let direct = Executors::on_threads(&THREADS);
        let named = |(name, options): (&str, &Options)| (name.to_owned(), options.clone());
        let first = direct.iter().next().map(named).expect("the interpreter");
        let last = direct.iter().next_back().map(named).expect("an executor");
        Ways { copies: Executors::of_target(), chunks: [first, last], direct }
    }

    /// Evaluates the cases of a row, and hashes the results.
    fn outcome(&self, row: &ReductionRow) -> RowHashes {
        let mut arguments = Hash::new();
        let mut results: Hashes = Vec::new();
        for case in &row.cases {
            let operands = case.arrays();
            arguments.word(hash_of(&operands).bits());
            let hashes = self.hashes(row, case, &operands);
            let (by, want) = &hashes[0];
            for (other, got) in hashes.iter().filter(|(_, got)| got != want) {
                eprintln!("{}: {other} gives {got}, {by} {want}, of {case}", row.name);
            }
            if results.is_empty() {
                results = hashes.iter().map(|(name, _)| (name.clone(), Hash::new())).collect();
            }
            // All cases of a row are evaluated in the same ways, in the same order.
            results.iter_mut().zip(&hashes).for_each(|((_, total), (_, hash))| total.word(hash.bits()));
        }
        RowHashes { name: row.name.clone(), arguments, results: vec![results] }
    }

    /// The hash of a case for each way of evaluating.
    fn hashes(&self, row: &ReductionRow, case: &HashedCase, operands: &[Array<'static>]) -> Hashes {
        let label = &row.name;
        let over = |arrays: &[Array<'static>], executors: &Executors, of: &str| -> Hashes {
            let roots = case.results(arrays).unwrap_or_else(|error| panic!("{case}: {error}"));
            let hashes = hashes(&roots.iter().collect::<Vec<_>>(), Semantics::default(), executors, label);
            executors.names().map(|name| format!("{name}{of}")).zip(hashes).collect()
        };
        let mut all = over(operands, &self.direct, "");
        let mut all_operands = row.cases.iter().flat_map(|case| &case.operands);
        if all_operands.any(|operand| operand.layout != HashedLayout::Contiguous) {
            let copies: Vec<_> = operands.iter().map(copy).collect();
            all.extend(over(&copies, &self.copies, " over contiguous copies"));
        }
        for ((name, options), from_files) in self.chunks.iter().zip([true, false]) {
            let of = if from_files { "files" } else { "memory" };
            let name = format!("{name} in chunks of {of}");
            let done = attempt(|| {
                chunked::in_chunks(case, operands, from_files, options).map(|(results, _)| results)
            });
            let hash = hash_of_attempt(&done, label, &name);
            all.push((name, hash));
        }
        all
    }
}

/// A contiguous copy of the elements.
fn copy(array: &Array<'static>) -> Array<'static> {
    elements::array(array.dtype(), array.shape(), &elements::bits(array).expect("an operand"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_of_their_own_and_every_function_has_some() {
        let rows = rows();
        let names: std::collections::HashSet<&str> = rows.iter().map(|row| &*row.name).collect();
        assert_eq!(names.len(), rows.len());
        for function in calls::all() {
            let text = function.text("x", None).expect("a call of all axes");
            let count = names.iter().filter(|name| name.contains(&text)).count();
            assert!(count >= 10, "{text}: {count} rows");
        }
    }

    #[test]
    fn every_way_of_evaluating_gives_a_hash() {
        let rows = rows();
        let row = rows.iter().find(|row| row.name == "bodies: sum(x * y + 1) float32 transposed");
        let outcome = Ways::of_target().outcome(row.expect("a row of every layout"));
        assert!(outcome.is_agreed());
        let names: Vec<&str> = outcome.results[0].iter().map(|(name, _)| &**name).collect();
        for name in [
            "interp",
            "jit128",
            "jit128 on 4 threads",
            "jit128 over contiguous copies",
            "interp in chunks of files",
        ] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
    }
}
