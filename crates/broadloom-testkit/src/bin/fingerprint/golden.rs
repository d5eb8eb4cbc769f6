//! Files of hashes that every target must reproduce.
//!
//! A line has a name, the hash of the arguments, and one hash of the results, or one for each part of the arguments. Lines don't
//! depend on the executors and vector widths of the target, since all of them must give the same bits.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

use crate::hash::Hash;

/// The header of a file, and the format of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashFormat {
    /// The comments at the top of the file.
    pub header: &'static str,
    /// For each hash in a row, the part of the arguments that was evaluated, as text that follows an
    /// executor's name in messages, such as ` over the head`.
    pub results: &'static [&'static str],
}

/// The name of each way of evaluating, with a hash.
pub type Hashes = Vec<(String, Hash)>;

/// The hashes of a row.
pub struct RowHashes {
    /// The row's name.
    pub name: String,
    /// The hash of the arguments.
    pub arguments: Hash,
    /// For each part of the arguments, the hashes of the results; empty if the part was not requested.
    pub results: Vec<Hashes>,
}

impl RowHashes {
    /// Whether all ways of evaluating give the same bits.
    pub fn is_agreed(&self) -> bool {
        self.results.iter().all(|hashes| hashes.iter().all(|(_, hash)| *hash == hashes[0].1))
    }
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HashLine {
    arguments: Hash,
    results: Vec<Hash>,
}

/// The lines of a file by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Golden {
    format: HashFormat,
    lines: BTreeMap<String, HashLine>,
}

impl Golden {
    /// A file without lines.
    pub fn new(format: HashFormat) -> Golden {
        Golden { format, lines: BTreeMap::new() }
    }

    /// Parses the text of a file.
    pub fn parse(text: &str, format: HashFormat) -> Result<Golden, String> {
        let mut golden = Golden::new(format);
        let hashes = format.results.len() + 1;
        for (number, text) in text.lines().enumerate().filter(|(_, text)| !text.starts_with('#')) {
            let wrong = || format!("line {}: not a name and {hashes} hashes: {text}", number + 1);
            let mut parts = text.rsplitn(hashes + 1, ' ');
            let mut hash = || parts.next().and_then(Hash::from_text).ok_or_else(wrong);
            let mut results: Vec<Hash> = format.results.iter().map(|_| hash()).collect::<Result<_, _>>()?;
            results.reverse();
            let arguments = hash()?;
            let name = parts.next().ok_or_else(wrong)?.to_owned();
            golden.lines.insert(name, HashLine { arguments, results });
        }
        Ok(golden)
    }

    /// Adds an outcome. All ways of evaluating must agree, and all parts of the arguments must have been evaluated.
    pub fn add(&mut self, outcome: &RowHashes) -> Result<(), String> {
        let first = |hashes: &Hashes| hashes.first().map(|(_, hash)| *hash);
        let results: Option<Vec<Hash>> = outcome.results.iter().map(first).collect();
        let results = results.filter(|_| outcome.is_agreed()).ok_or_else(|| {
            format!("{}: executors differ, or not all arguments were evaluated", outcome.name)
        })?;
        let line = HashLine { arguments: outcome.arguments, results };
        match self.lines.insert(outcome.name.clone(), line) {
            None => Ok(()),
            Some(_) => Err(format!("{}: two rows have this name", outcome.name)),
        }
    }

    /// Describes how each executor differs from the file, in a single message if all executors agree with each other.
    pub fn differences(&self, outcome: &RowHashes) -> Vec<String> {
        let name = &outcome.name;
        let Some(line) = self.lines.get(name) else { return vec![format!("{name}: not in the file")] };
        if line.arguments != outcome.arguments {
            let (want, got) = (line.arguments, outcome.arguments);
            return vec![format!("{name}: other arguments than the file's: {got}, not {want}")];
        }
        let mut all = Vec::new();
        for ((over, want), hashes) in self.format.results.iter().zip(&line.results).zip(&outcome.results) {
            if let [(_, got), _, ..] = &hashes[..]
                && got != want
                && hashes.iter().all(|(_, other)| other == got)
            {
                all.push(format!("{name}: every executor{over}: {got}, not {want}"));
                continue;
            }
            let wrong = hashes.iter().filter(|(_, got)| got != want);
            all.extend(wrong.map(|(by, got)| format!("{name}: {by}{over}: {got}, not {want}")));
        }
        all
    }

    /// The names of lines that are not in this list.
    pub fn names_without(&self, names: &[&str]) -> impl Iterator<Item = &str> {
        let known: HashSet<&str> = names.iter().copied().collect();
        self.lines.keys().map(String::as_str).filter(move |name| !known.contains(name))
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = self.format.header.to_owned();
        for (name, HashLine { arguments, results }) in &self.lines {
            write!(text, "{name} {arguments}").expect("a string takes it");
            results.iter().for_each(|hash| write!(text, " {hash}").expect("a string takes it"));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: HashFormat = HashFormat { header: "# Hashes.\n", results: &[" over the head", ""] };

    fn hash(number: u64) -> Hash {
        let mut hash = Hash::new();
        hash.word(number);
        hash
    }

    fn outcome(results: [u64; 2]) -> RowHashes {
        let by = ["interp", "jit128", "jit128 on 4 threads"];
        let hashes = |number| by.iter().map(|&by| (by.to_owned(), hash(number))).collect();
        RowHashes {
            name: "sin float32 nearest".to_owned(),
            arguments: hash(1),
            results: results.map(hashes).into(),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut golden = Golden::new(FORMAT);
        golden.add(&outcome([2, 3])).expect("equal hashes");
        assert_eq!(Golden::parse(&golden.text(), FORMAT).expect("a file"), golden);
        assert!(Golden::parse("sin float32 12 34", FORMAT).is_err());
    }

    #[test]
    fn a_difference_names_the_row_and_how_it_was_evaluated() {
        let mut golden = Golden::new(FORMAT);
        golden.add(&outcome([2, 3])).expect("equal hashes");
        assert_eq!(golden.differences(&outcome([2, 3])), Vec::<String>::new());
        let mut wrong = outcome([2, 3]);
        wrong.results[0][1].1 = hash(4);
        wrong.results[1][2].1 = hash(5);
        let told = [
            format!("sin float32 nearest: jit128 over the head: {}, not {}", hash(4), hash(2)),
            format!("sin float32 nearest: jit128 on 4 threads: {}, not {}", hash(5), hash(3)),
        ];
        assert_eq!(golden.differences(&wrong), told);
        let changed =
            format!("sin float32 nearest: every executor over the head: {}, not {}", hash(6), hash(2));
        assert_eq!(golden.differences(&outcome([6, 3])), [changed]);
        assert!(golden.add(&wrong).is_err(), "no line for results that differ");
        let thin =
            RowHashes { results: vec![outcome([2, 3]).results.remove(0), Vec::new()], ..outcome([2, 3]) };
        assert_eq!(golden.differences(&thin), Vec::<String>::new());
        assert!(golden.add(&thin).is_err(), "no line for a part of the results");
        let others = RowHashes { arguments: hash(5), ..outcome([2, 3]) };
        assert!(golden.differences(&others)[0].contains("other arguments"));
        let new = RowHashes { name: "sin float64".to_owned(), ..outcome([2, 3]) };
        assert_eq!(golden.differences(&new), ["sin float64: not in the file"]);
        assert_eq!(golden.names_without(&[&new.name]).collect::<Vec<_>>(), ["sin float32 nearest"]);
    }
}
