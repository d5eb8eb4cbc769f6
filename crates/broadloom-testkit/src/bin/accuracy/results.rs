//! Stores results in a file, with a row per function, dtype and part of the points, so that separate runs can update it.
//!
//! Every figure was measured. Rows are in a fixed order, so that a change gives a small diff.

use std::fs;
use std::path::Path;

use broadloom_testkit::reference::{FloatFormat, Function, Model};
use serde_json::{Value, json};

use crate::format::{decimal, hex};
use crate::leaders::Case;
use crate::measure::{FunctionRun, MeasuredRun, Tally};
use broadloom_core::Accuracy;

/// The part of the points at which the terms of logaddexp cancel.
pub const CANCELLING: &str = "cancelling";

/// The maximum error over the pairs of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KindRow {
    /// The kind's name.
    pub name: String,
    /// The number of pairs.
    pub points: u64,
    /// The maximum error in ulps.
    pub ulps: f64,
    /// The arguments with that error, as hexadecimal floats.
    pub at: Vec<String>,
}

/// The findings for one function and dtype.
#[derive(Clone, Debug, PartialEq)]
pub struct AccuracyRow {
    /// The function's name.
    pub function: String,
    /// The dtype's name.
    pub dtype: String,
    /// The part of the points: empty for all, or [`CANCELLING`].
    pub part: String,
    /// The measured points, described in words.
    pub coverage: String,
    /// The number of points.
    pub points: u64,
    /// The maximum error in ulps.
    pub ulps: f64,
    /// The arguments with that error, as hexadecimal floats.
    pub at: Vec<String>,
    /// The arguments with that error, in decimal.
    pub decimal: Vec<String>,
    /// The result for these arguments.
    pub got: String,
    /// The number of results that are not the nearest number.
    pub not_nearest: u64,
    /// The number of results of the wrong class, among NaN, infinite and finite.
    pub wrong: u64,
    /// The number of adjacent results in the wrong order; `None` if the function is not monotonic or the points are not ordered.
    pub breaks: Option<u64>,
    /// The number of cases with exact values.
    pub exact: u64,
    /// The number of exact cases that were missed.
    pub missed: u64,
    /// The executor that ran the function.
    pub executor: String,
    /// The variant of the function.
    pub accuracy: String,
    /// The findings by kind of pairs; empty if there are no kinds.
    pub kinds: Vec<KindRow>,
}

impl KindRow {
    fn new(run: &FunctionRun, name: &str, tally: &Tally) -> KindRow {
        let worst = tally.worst.unwrap_or(Case { at: [0.0; 2], got: 0.0, ulps: 0.0 });
        let at = worst.at[..run.function.arity()].iter().map(|&x| hex(x)).collect();
        KindRow { name: name.to_string(), points: tally.points, ulps: worst.ulps, at }
    }

    fn to_json(&self) -> Value {
        json!({ "name": self.name, "points": self.points, "ulps": self.ulps, "at": self.at })
    }

    fn from_json(value: &Value) -> Option<KindRow> {
        Some(KindRow {
            name: value.get("name")?.as_str()?.to_string(),
            points: value.get("points")?.as_u64()?,
            ulps: value.get("ulps")?.as_f64()?,
            at: texts(value.get("at")?)?,
        })
    }
}

/// Converts a JSON list of strings.
fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| Some(item.as_str()?.to_string())).collect()
}

impl AccuracyRow {
    /// The rows for an outcome: one, or two for logaddexp.
    pub fn of(run: &FunctionRun, outcome: &MeasuredRun) -> Vec<AccuracyRow> {
        let mut rows = vec![AccuracyRow::new(run, outcome, "", &outcome.main)];
        if run.function == Function::LogAddExp {
            rows.push(AccuracyRow::new(run, outcome, CANCELLING, &outcome.cancelling));
        }
        rows
    }

    fn new(run: &FunctionRun, outcome: &MeasuredRun, part: &str, tally: &Tally) -> AccuracyRow {
        let worst = tally.worst.unwrap_or(Case { at: [0.0; 2], got: 0.0, ulps: 0.0 });
        let arguments = &worst.at[..run.function.arity()];
        AccuracyRow {
            function: run.function.name().to_string(),
            dtype: run.format.dtype.to_string(),
            part: part.to_string(),
            coverage: run.points.coverage(),
            points: tally.points,
            ulps: worst.ulps,
            at: arguments.iter().map(|&x| hex(x)).collect(),
            decimal: arguments.iter().map(|&x| decimal(run.format, x)).collect(),
            got: hex(worst.got),
            not_nearest: tally.not_nearest,
            wrong: tally.wrong,
            breaks: run.function.model().order.map(|_| tally.breaks),
            exact: outcome.exact,
            missed: outcome.missed_count,
            executor: format!("{:?}", run.which).to_lowercase(),
            accuracy: run.accuracy.name().to_string(),
            kinds: outcome
                .kinds
                .iter()
                .filter(|_| part.is_empty())
                .map(|(name, tally)| KindRow::new(run, name, tally))
                .collect(),
        }
    }

    fn key(&self) -> (&str, &str, &str, &str) {
        (&self.dtype, &self.accuracy, &self.function, &self.part)
    }

    fn to_json(&self) -> Value {
        let mut value = json!({
            "function": self.function,
            "dtype": self.dtype,
            "part": self.part,
            "coverage": self.coverage,
            "points": self.points,
            "ulps": self.ulps,
            "at": self.at,
            "decimal": self.decimal,
            "got": self.got,
            "not_nearest": self.not_nearest,
            "wrong": self.wrong,
            "breaks": self.breaks,
            "exact": self.exact,
            "missed": self.missed,
            "executor": self.executor,
            "accuracy": self.accuracy,
        });
        if !self.kinds.is_empty() {
            value["kinds"] = self.kinds.iter().map(KindRow::to_json).collect();
        }
        value
    }

    fn from_json(value: &Value) -> Option<AccuracyRow> {
        let text = |name: &str| Some(value.get(name)?.as_str()?.to_string());
        let count = |name: &str| value.get(name)?.as_u64();
        let list = |name: &str| texts(value.get(name)?);
        Some(AccuracyRow {
            function: text("function")?,
            dtype: text("dtype")?,
            part: text("part")?,
            coverage: text("coverage")?,
            points: count("points")?,
            ulps: value.get("ulps")?.as_f64()?,
            at: list("at")?,
            decimal: list("decimal")?,
            got: text("got")?,
            not_nearest: count("not_nearest")?,
            wrong: count("wrong")?,
            breaks: count("breaks"),
            exact: count("exact")?,
            missed: count("missed")?,
            executor: text("executor")?,
            // Older rows have no variant, since there was only one.
            accuracy: text("accuracy").unwrap_or_else(|| Accuracy::Fast.name().to_string()),
            kinds: match value.get("kinds") {
                Some(kinds) => kinds.as_array()?.iter().map(KindRow::from_json).collect::<Option<_>>()?,
                None => Vec::new(),
            },
        })
    }

    /// Describes the guarantees that the row violates; empty if there are none.
    pub fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        let mut hold = |holds: bool, what: &str| {
            if !holds {
                broken.push(format!("{} of {}{}: {what}", self.function, self.dtype, self.of_part()));
            }
        };
        let limit = self.limit();
        hold(self.wrong == 0, &format!("{} results of the wrong kind", self.wrong));
        hold(self.missed == 0, &format!("{} of {} exact cases missed", self.missed, self.exact));
        hold(limit.is_none_or(|limit| self.ulps < limit), &format!("{} ulps", self.ulps));
        if self.must_be_nearest() {
            hold(self.not_nearest == 0, &format!("{} results are not the nearest", self.not_nearest));
        }
        if self.must_be_monotonic() {
            hold(self.breaks.unwrap_or(0) == 0, &format!("out of order {} times", self.breaks.unwrap_or(0)));
        }
        broken
    }

    /// A message if the error exceeds the maximum in the row of `stated` for the same function, dtype and
    /// part; `None` if it does not.
    pub fn exceeds(&self, stated: &[AccuracyRow]) -> Option<String> {
        let stated = stated.iter().find(|row| row.key() == self.key())?;
        let (ulps, most) = (self.ulps, stated.ulps);
        let told = || {
            let (function, dtype, part, at) =
                (&self.function, &self.dtype, self.of_part(), self.at.join(", "));
            format!("{function} of {dtype}{part}: {ulps} ulps at {at}, where {most} are stated")
        };
        // The two references may round an error differently in its sixteenth digit.
        (ulps > most + 1e-12).then(told)
    }

    fn of_part(&self) -> String {
        let part = if self.part.is_empty() { String::new() } else { format!(", {}", self.part) };
        if self.is_of_nearest() { format!("{part}, nearest") } else { part }
    }

    /// Whether the row is for the variant that returns the nearest number.
    pub fn is_of_nearest(&self) -> bool {
        self.accuracy == Accuracy::Nearest.name()
    }

    fn model(&self) -> Option<&'static Model> {
        Function::from_name(&self.function).map(Function::model)
    }

    fn is_of_two(&self) -> bool {
        self.model().is_some_and(|model| model.arity() == 2)
    }

    /// The bound on the error; `None` if the page states the error without guaranteeing a bound.
    pub fn limit(&self) -> Option<f64> {
        match (self.dtype.as_str(), self.part.as_str()) {
            ("float16", _) if self.is_of_two() => Some(0.51),
            ("float32", CANCELLING) => Some(2.0),
            ("float64", CANCELLING) => None,
            _ => Some(1.0),
        }
    }

    /// Whether each result must be the nearest number.
    pub fn must_be_nearest(&self) -> bool {
        self.is_of_nearest()
            || self.model().is_some_and(|model| model.is_nearest)
            || self.dtype == "float16" && !self.is_of_two()
    }

    /// Whether adjacent results must be in order.
    pub fn must_be_monotonic(&self) -> bool {
        self.dtype == "float16" && self.breaks.is_some()
            || self.dtype == "float32" && self.breaks.is_some() && self.is_of_nearest()
            || self.dtype == "float32" && self.model().is_some_and(|model| model.single_keeps_order)
    }
}

/// Parses the rows of a file.
pub fn parse(text: &str) -> Option<Vec<AccuracyRow>> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.as_array()?.iter().map(AccuracyRow::from_json).collect()
}

/// The text of a file, with one row per line.
pub fn print(rows: &[AccuracyRow]) -> String {
    let lines: Vec<String> = rows.iter().map(|row| row.to_json().to_string()).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// Reads the rows of a file; no rows if the file does not exist.
///
/// # Errors
/// If the file can't be read or parsed.
pub fn read(path: &Path) -> Result<Vec<AccuracyRow>, String> {
    match fs::read_to_string(path) {
        Ok(text) => parse(&text).ok_or_else(|| format!("{}: not results of this command", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Replaces rows by the measured ones with the same function, dtype, variant and part.
pub fn merge(mut rows: Vec<AccuracyRow>, measured: Vec<AccuracyRow>) -> Vec<AccuracyRow> {
    rows.retain(|old| measured.iter().all(|new| new.key() != old.key()));
    rows.extend(measured);
    let place = |row: &AccuracyRow| {
        let dtype = FloatFormat::ALL.iter().position(|format| format.dtype.to_string() == row.dtype);
        (dtype, row.accuracy.clone(), Function::from_name(&row.function), row.part.clone())
    };
    rows.sort_by_key(place);
    rows
}
