//! Handles the hashes of rows: prints them, compares them with a file, or writes them to it if all executors agree.

use std::io::Write;
use std::path::Path;

use crate::golden::{Golden, HashFormat, Hashes, RowHashes};

/// The action to take with the hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Print a line for each row.
    Print,
    /// Compare with the file.
    Check,
    /// Write the file.
    Write,
}

impl Task {
    /// The task selected by two flags; `check` takes precedence.
    pub fn of_flags(check: bool, write: bool) -> Task {
        match (check, write) {
            (true, _) => Task::Check,
            (false, true) => Task::Write,
            (false, false) => Task::Print,
        }
    }
}

/// Collects the rows.
pub struct Report<'f> {
    task: Task,
    file: &'f Path,
    golden: Golden,
    rows: usize,
    wrong: Vec<String>,
}

impl<'f> Report<'f> {
    /// A report without rows. If the task is a comparison, reads the file.
    pub fn new(task: Task, file: &'f Path, format: HashFormat) -> Result<Report<'f>, String> {
        let told = |error: String| format!("{}: {error}", file.display());
        let golden = match task {
            Task::Check => {
                let text = std::fs::read_to_string(file).map_err(|error| told(error.to_string()))?;
                Golden::parse(&text, format).map_err(told)?
            }
            Task::Print | Task::Write => Golden::new(format),
        };
        Ok(Report { task, file, golden, rows: 0, wrong: Vec::new() })
    }

    /// Adds a row.
    pub fn add(&mut self, outcome: &RowHashes, out: &mut impl Write) -> Result<(), String> {
        self.rows += 1;
        match self.task {
            Task::Check => self.wrong.extend(self.golden.differences(outcome)),
            Task::Write => self.wrong.extend(self.golden.add(outcome).err()),
            Task::Print => {
                let RowHashes { name, arguments, results } = outcome;
                self.wrong.extend((!outcome.is_agreed()).then(|| format!("{name}: executors differ")));
                let results: Vec<String> = results.iter().map(line).collect();
                writeln!(out, "{name}  of {arguments}  {}", results.join("  "))
                    .map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// For a comparison, reports the lines of the file that belong to none of these rows.
    pub fn add_missing(&mut self, names: &[&str]) {
        let missing = self.golden.names_without(names);
        if self.task == Task::Check {
            self.wrong.extend(missing.map(|name| format!("{name}: of the file, but not evaluated")));
        }
    }

    /// Fails if a row was wrong; otherwise writes the file if that is the task. `by` describes how rows were
    /// evaluated.
    pub fn finish(self, by: &str, out: &mut impl Write) -> Result<(), String> {
        if self.rows == 0 {
            return Err("no line of these names".into());
        }
        if !self.wrong.is_empty() {
            return Err(format!("{} differences\n{}", self.wrong.len(), self.wrong.join("\n")));
        }
        if self.task == Task::Write {
            std::fs::write(self.file, self.golden.text())
                .map_err(|error| format!("{}: {error}", self.file.display()))?;
        }
        if self.task != Task::Print {
            writeln!(out, "{} lines by {by}: equal", self.rows).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Formats a name and a hash for each way of evaluating.
fn line(hashes: &Hashes) -> String {
    hashes.iter().map(|(name, hash)| format!("{name} {hash}")).collect::<Vec<_>>().join("  ")
}
