//! Writes docs/conformance.md: what was tried for each sentence of the standard, and what came of it.
//!
//! The page states only what a run over the case files has found. `--check` fails if the page in the repository is
//! not the one that a run would write, so that it can't go out of date.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use broadloom::{Array, DType, Engine, Error, ErrorKind, Op};
use broadloom_testkit::cases::{self, Case, Source};
use broadloom_testkit::conformance::{Account, Place, account, batches};
use clap::Parser;

/// Tries every case of the standard's special cases in every place, and accounts for it.
#[derive(Parser)]
struct Args {
    /// The repository.
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))]
    repository: PathBuf,
    /// Write docs/conformance.md; without it, the page goes to standard output.
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// Fail if docs/conformance.md is not the page that would be written.
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let folder = args.repository.join("tests/cases/spec");
    let path = args.repository.join("docs/conformance.md");
    let batches = batches(&folder)?;
    let mut whole = Account::new();
    for place in Place::ALL {
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
    let page = page(&cases::read(&folder)?, &whole);
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

/// What the page says of a rule.
struct Line<'c> {
    case: &'c Case,
    cases: usize,
    dtypes: Vec<DType>,
}

fn page(files: &BTreeMap<String, Vec<Case>>, account: &Account) -> String {
    let mut sections = String::new();
    let mut totals: BTreeMap<Source, (usize, usize, u64)> = BTreeMap::new();
    for (function, cases) in files {
        let mut lines: BTreeMap<usize, Line<'_>> = BTreeMap::new();
        for case in cases {
            let new = || Line { case, cases: 0, dtypes: Vec::new() };
            let line = lines.entry(case.rule.line).or_insert_with(new);
            line.cases += 1;
            line.dtypes.extend(DType::from_name(&case.dtype).filter(|dtype| !line.dtypes.contains(dtype)));
        }
        // Writing to a String can't fail.
        let _ = write!(
            sections,
            "\n## {function}\n\n| source | if | then | dtypes | cases | compared |\n| --- | --- | --- | --- | ---: | ---: |\n"
        );
        for (number, line) in &mut lines {
            let rule = &line.case.rule;
            let compared = account.get(&(line.case.file.clone(), *number)).map_or(0, |tried| tried.compared);
            let total = totals.entry(rule.source).or_default();
            *total = (total.0 + 1, total.1 + line.cases, total.2 + compared);
            line.dtypes.sort_unstable();
            let _ = writeln!(
                sections,
                "| {} | {} | {} | {} | {} | {compared} |",
                rule.source.name(),
                cell(&rule.condition),
                cell(&rule.result),
                names(&line.dtypes),
                line.cases,
            );
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
    format!("{}{sections}", include_str!("page.md").replace("{summary}", &summary))
}

fn described(source: Source) -> &'static str {
    match source {
        Source::Standard => "`standard`: the Array API standard",
        Source::Onnx => "`onnx`: Div of SONNX",
        Source::Later => "`later`: a later edition of the standard",
        Source::Decided => "`decided`: what they leave open, ordinary values, exact cases",
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}

/// Dtypes, kinds of them by one word.
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
