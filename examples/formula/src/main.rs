//! `formula data.csv 'price * quantity' --as total -o out.csv`
//!
//! Adds a column to a CSV file. If the formula is wrong, the program prints a caret below the error and exits with status
//! 2. If an option is wrong, it exits with status 2, and if a file is wrong, with status 1. In these cases no output is
//! written.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use ariadne::{Config, IndexType, Label, Report, ReportKind, Source};
use broadloom_formula::{Formula, FormulaError, Mistake, Table};
use clap::Parser;

/// Appends a column that a formula computes to a table. Empty cells lead to empty cells.
#[derive(Parser)]
struct Args {
    /// A CSV file with a header.
    table: PathBuf,
    /// Operators, functions and literals of broadloom's text language, over the columns' names.
    formula: String,
    /// The name of the new column.
    #[arg(long = "as", value_name = "NAME", default_value = "result")]
    title: String,
    /// The output file; standard output by default.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(RunError::Formula(FormulaError::Text(error))) => {
            // If standard error is closed, nothing can be reported.
            let _ = caret(&error, &args.formula, io::stderr());
            ExitCode::from(2)
        }
        Err(RunError::Formula(FormulaError::Run(error))) => fail(error),
        Err(RunError::File(error)) => fail(error),
        Err(RunError::Request(error)) => {
            fail(error);
            ExitCode::from(2)
        }
    }
}

enum RunError {
    Formula(FormulaError),
    File(String),
    /// An option that is invalid for this file.
    Request(String),
}

fn fail(error: impl std::fmt::Display) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {error}");
    ExitCode::FAILURE
}

fn run(args: &Args) -> Result<(), RunError> {
    let of = |path: &PathBuf, e: &dyn std::fmt::Display| RunError::File(format!("{}: {e}", path.display()));
    let file = File::open(&args.table).map_err(|e| of(&args.table, &e))?;
    let table = Table::read(BufReader::new(file)).map_err(|e| of(&args.table, &e))?;
    // The title is checked before the work, because writing the table would reject a wrong title afterwards.
    table.check_title(&args.title).map_err(|e| RunError::Request(format!("{e}: --as NAME")))?;
    let formula = Formula::new(&args.formula, &table).map_err(RunError::Formula)?;
    let added = formula.run(&table).map_err(RunError::Formula)?;
    let mut out = Vec::new();
    table.write_with(&args.title, &added, &mut out).map_err(|e| of(&args.table, &e))?;
    match &args.output {
        Some(path) => std::fs::write(path, out).map_err(|e| of(path, &e)),
        None => io::stdout().write_all(&out).map_err(|e| RunError::File(format!("standard output: {e}"))),
    }
}

/// Writes the error with a caret below its position.
fn caret(error: &Mistake, formula: &str, to: impl Write) -> io::Result<()> {
    let config = Config::default().with_index_type(IndexType::Byte).with_color(io::stderr().is_terminal());
    let span = ("formula", error.span.clone());
    let mut report =
        Report::build(ReportKind::Error, span.clone()).with_config(config).with_message(&error.message);
    report = report.with_label(Label::new(span).with_message("here"));
    for (at, what) in &error.operands {
        report = report.with_label(Label::new(("formula", at.clone())).with_message(what));
    }
    if let Some(help) = &error.help {
        report = report.with_help(help);
    }
    report.finish().write(("formula", Source::from(formula)), to)
}
