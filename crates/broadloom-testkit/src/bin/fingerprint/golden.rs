//! The file of hashes that every target is held to.
//!
//! A line has a name, the hash of the arguments, and those of the results over the head of the arguments and over all of
//! them. What executors and widths there are is no part of it: all of them have these bits.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::evaluate::Executors;
use crate::hash::Hash;

/// What the file begins with.
const HEADER: &str = "\
# Hashes of results over fixed arguments: name, arguments, results over the first of them, results over all.
# Written by `fingerprint functions --write`, compared by `fingerprint functions --check`; docs/reliability.md describes them.
";

/// The hashes of a row, one for each executor.
pub struct Outcome {
    /// The row's name.
    pub name: String,
    /// The hash of the arguments.
    pub arguments: Hash,
    /// Those of the results over the head of the arguments.
    pub head: Vec<Hash>,
    /// Those over all arguments; empty where that was not asked for.
    pub whole: Vec<Hash>,
}

/// A line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    arguments: Hash,
    head: Hash,
    whole: Hash,
}

/// The file's lines by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Golden(BTreeMap<String, Line>);

impl Golden {
    /// What a file's text says.
    pub fn parse(text: &str) -> Result<Golden, String> {
        let mut lines = BTreeMap::new();
        for (number, text) in text.lines().enumerate().filter(|(_, text)| !text.starts_with('#')) {
            let wrong = || format!("line {}: not a name and three hashes: {text}", number + 1);
            let mut parts = text.rsplitn(4, ' ');
            let mut hash = || parts.next().and_then(Hash::from_text).ok_or_else(wrong);
            let (whole, head, arguments) = (hash()?, hash()?, hash()?);
            let name = parts.next().ok_or_else(wrong)?.to_owned();
            lines.insert(name, Line { arguments, head, whole });
        }
        Ok(Golden(lines))
    }

    /// Adds a result that all executors agree on, over all arguments.
    pub fn add(&mut self, outcome: &Outcome) -> Result<(), String> {
        let agreed = |hashes: &[Hash]| {
            let first = hashes.first().copied().filter(|first| hashes.iter().all(|hash| hash == first));
            first.ok_or_else(|| {
                format!("{}: executors differ, or not all arguments were evaluated", outcome.name)
            })
        };
        let line = Line {
            arguments: outcome.arguments,
            head: agreed(&outcome.head)?,
            whole: agreed(&outcome.whole)?,
        };
        self.0.insert(outcome.name.clone(), line);
        Ok(())
    }

    /// Each executor's difference from the file, in words.
    pub fn differences(&self, outcome: &Outcome, executors: &Executors) -> Vec<String> {
        let name = &outcome.name;
        let Some(line) = self.0.get(name) else { return vec![format!("{name}: not in the file")] };
        if line.arguments != outcome.arguments {
            let (want, got) = (line.arguments, outcome.arguments);
            return vec![format!("{name}: other arguments than the file's: {got}, not {want}")];
        }
        let mut all = Vec::new();
        for (part, want, hashes) in
            [("the head", line.head, &outcome.head), ("all arguments", line.whole, &outcome.whole)]
        {
            let wrong = executors.names().zip(hashes).filter(|(_, got)| **got != want);
            all.extend(wrong.map(|(by, got)| format!("{name}: {by} over {part}: {got}, not {want}")));
        }
        all
    }

    /// The names of lines that are none of these.
    pub fn names_without<'g>(&'g self, names: &'g [String]) -> impl Iterator<Item = &'g str> {
        self.0.keys().filter(|name| !names.contains(name)).map(String::as_str)
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = HEADER.to_owned();
        for (name, Line { arguments, head, whole }) in &self.0 {
            writeln!(text, "{name} {arguments} {head} {whole}").expect("a string takes it");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> Hash {
        let mut hash = Hash::new();
        hash.word(number);
        hash
    }

    fn outcome(results: [u64; 2]) -> Outcome {
        let executors = Executors::of_target().count();
        let [head, whole] = results.map(|number| vec![hash(number); executors]);
        Outcome { name: "sin float32 nearest".to_owned(), arguments: hash(1), head, whole }
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut golden = Golden::default();
        golden.add(&outcome([2, 3])).expect("equal hashes");
        assert_eq!(Golden::parse(&golden.text()).expect("a file"), golden);
        assert!(Golden::parse("sin float32 12 34").is_err());
    }

    #[test]
    fn a_difference_names_the_function_the_dtype_and_the_executor() {
        let mut golden = Golden::default();
        golden.add(&outcome([2, 3])).expect("equal hashes");
        let executors = Executors::of_target();
        assert_eq!(golden.differences(&outcome([2, 3]), &executors), Vec::<String>::new());
        let mut wrong = outcome([2, 3]);
        let last = executors.count() - 1;
        wrong.whole[last] = hash(4);
        let name = executors.names().last().expect("an executor");
        let told = format!("sin float32 nearest: {name} over all arguments: {}, not {}", hash(4), hash(3));
        assert_eq!(golden.differences(&wrong, &executors), [told]);
        assert!(golden.add(&wrong).is_err(), "no line for results that differ");
        let others = Outcome { arguments: hash(5), ..outcome([2, 3]) };
        assert!(golden.differences(&others, &executors)[0].contains("other arguments"));
        let new = Outcome { name: "sin float64".to_owned(), ..outcome([2, 3]) };
        assert_eq!(golden.differences(&new, &executors), ["sin float64: not in the file"]);
        assert_eq!(golden.names_without(&[new.name]).collect::<Vec<_>>(), ["sin float32 nearest"]);
    }
}
