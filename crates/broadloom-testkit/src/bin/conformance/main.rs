//! Writes docs/generated/conformance.md: for each rule of the standard, its cases and the number of comparisons made for them.
//!
//! The page only states results of a run over the case files. `--check` fails if the page in the repository differs from the one
//! that a run would write, so that it can't become outdated.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use broadloom::{Array, DType, Engine, Error, ErrorKind, Op};
use broadloom_testkit::cases::{self, Rule, RuleSource, arrays};
use broadloom_testkit::conformance::{self, Account, OperandPlace, account, batches};
use clap::Parser;

/// Tests every case of the standard's special cases in every place, and counts the comparisons for each rule.
#[derive(Parser)]
struct ConformanceArguments {
    /// The repository.
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))]
    repository: PathBuf,
    /// Write docs/generated/conformance.md; without it, the page goes to standard output.
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// Fail if docs/generated/conformance.md differs from the page that would be written.
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match run(&ConformanceArguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &ConformanceArguments) -> Result<(), String> {
    let folder = args.repository.join("tests/cases/spec");
    let path = args.repository.join("docs/generated/conformance.md");
    let batches = batches(&folder)?;
    let reductions = arrays::read(&args.repository.join("tests/cases/reductions"))?;
    let mut whole = Account::new();
    let mut rows = RuleRows::new();
    for case in cases::read(&folder)?.into_values().flatten() {
        let dtype = DType::from_name(&case.dtype).ok_or_else(|| format!("{} is no dtype", case.dtype))?;
        rows.entry(false).or_default().push((case.file, case.rule, dtype));
    }
    for case in reductions.values().flatten() {
        rows.entry(true).or_default().push((case.file.clone(), case.rule.clone(), case.dtype));
    }
    whole.extend(conformance::arrays::account(&reductions));
    for place in OperandPlace::ALL {
        for (rule, tried) in account(&batches, place, &apply) {
            let entry = whole.entry(rule).or_default();
            entry.compared += tried.compared;
            entry.wrong.extend(tried.wrong);
        }
    }
    if Engine::global().compiled_kernels() == 0 {
        return Err(
            "nothing was compiled on this target: the account would be the interpreter's alone".into()
        );
    }
    let wrong: Vec<&String> = whole.values().flat_map(|tried| &tried.wrong).collect();
    if !wrong.is_empty() {
        let shown: Vec<&str> = wrong.iter().take(20).map(|why| why.as_str()).collect();
        return Err(format!("{} comparisons are wrong:\n{}", wrong.len(), shown.join("\n")));
    }
    let page = page(&rows, &whole);
    if args.check {
        return match std::fs::read_to_string(&path) {
            Ok(there) if there == page => Ok(()),
            Ok(_) => Err(format!("{} is out of date: write it anew with --write", path.display())),
            Err(error) => Err(format!("{}: {error}", path.display())),
        };
    }
    if args.write {
        return std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()));
    }
    print!("{page}");
    Ok(())
}

fn apply(name: &str, args: &[Array<'static>]) -> broadloom::Result<Array<'static>> {
    let missing = || Error::new(ErrorKind::Internal, format!("there is no function {name}"));
    Array::apply(Op::from_name(name).ok_or_else(missing)?, args)
}

/// For functions and for reductions, the file, the rule and the dtype of each row, file by file.
type RuleRows = BTreeMap<bool, Vec<(String, Arc<Rule>, DType)>>;

/// The entry for a rule on the page.
struct RulePart<'c> {
    rule: &'c Rule,
    cases: usize,
    dtypes: Vec<DType>,
}

fn page(rows: &RuleRows, account: &Account) -> String {
    let mut sections = [String::new(), String::new()];
    let mut totals: BTreeMap<RuleSource, (usize, usize, u64)> = BTreeMap::new();
    for (of_reductions, rows) in rows {
        let mut files: BTreeMap<&str, BTreeMap<usize, RulePart<'_>>> = BTreeMap::new();
        for (file, rule, dtype) in rows {
            let new = || RulePart { rule, cases: 0, dtypes: Vec::new() };
            let line = files.entry(file).or_default().entry(rule.line).or_insert_with(new);
            line.cases += 1;
            if !line.dtypes.contains(dtype) {
                line.dtypes.push(*dtype);
            }
        }
        let section = &mut sections[usize::from(*of_reductions)];
        for (file, mut lines) in files {
            // Writing to a String can't fail.
            let _ = write!(
                section,
                "\n## {}\n\n| source | if | then | dtypes | cases | compared |\n| --- | --- | --- | --- | ---: | ---: |\n",
                file.trim_end_matches(".txt")
            );
            for (number, line) in &mut lines {
                let compared = account.get(&(file.to_owned(), *number)).map_or(0, |tried| tried.compared);
                let total = totals.entry(line.rule.source).or_default();
                *total = (total.0 + 1, total.1 + line.cases, total.2 + compared);
                line.dtypes.sort_unstable();
                let _ = writeln!(
                    section,
                    "| {} | {} | {} | {} | {} | {compared} |",
                    line.rule.source.name(),
                    cell(&line.rule.condition),
                    cell(&line.rule.result),
                    names(&line.dtypes),
                    line.cases,
                );
            }
        }
    }
    let mut summary =
        "| source | sentences | cases | comparisons | wrong |\n| --- | ---: | ---: | ---: | ---: |"
            .to_owned();
    let mut whole = (0, 0, 0);
    for (source, (rules, cases, compared)) in &totals {
        let _ = write!(summary, "\n| {} | {rules} | {cases} | {compared} | 0 |", described(*source));
        whole = (whole.0 + rules, whole.1 + cases, whole.2 + compared);
    }
    let _ = write!(summary, "\n| **all** | **{}** | **{}** | **{}** | **0** |", whole.0, whole.1, whole.2);
    let [functions, reductions] = sections;
    let head = include_str!("page.md").replace("{summary}", &summary);
    format!("{head}{functions}\n{}{reductions}", include_str!("reductions.md"))
}

fn described(source: RuleSource) -> &'static str {
    match source {
        RuleSource::Standard => "`standard`: the Array API standard",
        RuleSource::Onnx => "`onnx`: Div of SONNX",
        RuleSource::Later => "`later`: a later edition of the standard",
        RuleSource::Decided => "`decided`: what they leave open, ordinary values, exact cases",
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}

/// The names of dtypes, with whole kinds abbreviated to one word.
fn names(dtypes: &[DType]) -> String {
    let (mut out, mut rest) = (Vec::new(), dtypes.to_vec());
    for (name, is_integer) in [("integers", true), ("floats", false)] {
        let is_of = |dtype: &DType| if is_integer { dtype.is_integer() } else { dtype.is_float() };
        if DType::ALL.iter().filter(|dtype| is_of(dtype)).all(|dtype| rest.contains(dtype)) {
            rest.retain(|dtype| !is_of(dtype));
            out.push(name.to_owned());
        }
    }
    out.extend(rest.iter().map(|dtype| dtype.name().to_owned()));
    out.join(", ")
}
