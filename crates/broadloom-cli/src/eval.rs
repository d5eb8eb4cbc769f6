//! `broadloom eval`: evaluates an expression over files and writes the results.
//!
//! Names, types, shapes and output files are checked before any element is computed, so that a mistake on the command line is
//! reported at once.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use broadloom::text::{ParseOptions, Program};
use broadloom::{Error, ErrorKind};

use crate::args::{EvalArgs, FileOrNumber};
use crate::failure::{Failure, warn};
use crate::input::{InputFile, Order};
use crate::job::{Job, NumberInput};
use crate::output::Outputs;
use crate::request::requests;
use crate::run::Settings;
use crate::signals;
use crate::source::{STREAM, is_stream};
use crate::stdout::print;
use crate::target::Target;
use crate::text::Text;

/// Evaluates the expression of a command line. If that fails, reports the failure on standard error and returns the exit
/// status.
pub fn eval(args: &EvalArgs) -> Result<(), u8> {
    if let Some(time) = args.max_time {
        let refused =
            |error| Failure::Eval(Error::new(ErrorKind::Limit, format!("a thread for --max-time: {error}")));
        signals::limit(time).map_err(|error| refused(error).report(&Text::default()))?;
    }
    let text = read(args).map_err(|failure| failure.report(&Text::default()))?;
    run(args, &text).map_err(|failure| mistaken(failure, &text).report(&text))
}

/// Reads the expression from the argument, a file, or standard input.
fn read(args: &EvalArgs) -> Result<Text, Failure> {
    if let Some(path) = &args.file {
        return read_file(path);
    }
    let word = args.expression.as_deref().unwrap_or_default();
    let text = word.to_str().ok_or_else(|| Failure::Usage("the expression is not UTF-8".into()))?;
    match text.strip_prefix('@') {
        _ if text == STREAM => Err(to_read(text)),
        Some(path) => Err(to_read(path)),
        None => Ok(Text { name: "expression".into(), text: text.into() }),
    }
}

fn read_file(path: &Path) -> Result<Text, Failure> {
    let name = if is_stream(path) { "standard input".into() } else { path.display().to_string() };
    // One byte more than the parser accepts is read, so that the parser reports a text that is too long.
    let most = ParseOptions::default().max_bytes as u64 + 1;
    let mut bytes = Vec::new();
    let read = match is_stream(path) {
        true => io::stdin().lock().take(most).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.map_err(|error| Failure::file(Path::new(&name), error))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::file(Path::new(&name), "not UTF-8 text"))?;
    Ok(Text { name, text })
}

/// If the expression is the name of a file, replaces an error in it by advice to use `--file`.
fn mistaken(failure: Failure, text: &Text) -> Failure {
    let is_file = || text.text.len() < 4096 && Path::new(&text.text).is_file();
    if matches!(failure, Failure::Text(_)) && is_file() { to_read(&text.text) } else { failure }
}

fn to_read(path: &str) -> Failure {
    Failure::Usage(format!("to read the expression from a file, write `-f {path}`"))
}

fn run(args: &EvalArgs, text: &Text) -> Result<(), Failure> {
    let program = Program::parse(&text.text).map_err(Failure::Text)?;
    let requests = requests(args, &program)?;
    let (inputs, numbers) = open(args, &program)?;
    let job = Job::new(&program, inputs, &numbers, Settings::new(args), args.max_bytes.get())?;
    let mut outputs = Outputs::begin(&job, &requests, args.force)?;
    let order = if args.output.is_empty() { Order::C } else { job.order() };
    if args.explain {
        print(&job.explain(order)?)?;
    }
    if let Some(path) = &args.explain_html {
        let mut target = Target::create(path, args.force).map_err(|error| Failure::target(path, &error))?;
        if job.names().len() > 1 {
            let why = "the page shows one result, and there are several; write --explain for all";
            return Err(Failure::Usage(why.into()));
        }
        let page = job.explain_html(0, order, &text.text)?;
        target.write_all(page.as_bytes()).map_err(|error| Failure::file(path, error))?;
        outputs.add(target);
    }
    if requests.is_empty() {
        print(&format!("{}\n", job.texts()?))?;
    }
    outputs.write(&text.text)
}

/// Opens the files of the inputs that the program uses, and collects the inputs that are numbers. Warns of unused inputs.
fn open(args: &EvalArgs, program: &Program) -> Result<(Vec<InputFile>, Vec<NumberInput>), Failure> {
    let used: HashSet<&str> = program.inputs().map(|input| input.name()).collect();
    let bindings = args.bindings()?;
    let mut seen = HashSet::new();
    if let Some(twice) = bindings.iter().find(|binding| !seen.insert(&binding.name)) {
        return Err(Failure::Usage(format!("two files or numbers are given for `{}`", twice.name)));
    }
    let (mut inputs, mut numbers) = (Vec::new(), Vec::new());
    for binding in &bindings {
        let is_used = used.contains(&*binding.name);
        match &binding.to {
            FileOrNumber::File(path) => {
                inputs.extend(Some(InputFile::open(&binding.name, path)?).filter(|_| is_used))
            }
            FileOrNumber::Number(number) => {
                numbers.extend(Some((binding.name.clone(), *number)).filter(|_| is_used))
            }
        }
        if !is_used {
            warn(format_args!("the expression does not use `{}`", binding.name));
        }
    }
    Ok((inputs, numbers))
}
