//! The destinations of results given on a command line, checked against each other and against the program.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use broadloom::text::Program;
use broadloom_core::text::nearest;

use crate::args::{Destination, EvalArgs};
use crate::failure::Failure;
use crate::format::Format;
use crate::identity::{FileId, FileIdentity};
use crate::source::is_stream;
use crate::stdout;
use crate::text::shown;

/// A file, or standard output, and the results that are written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The indices of the results.
    pub results: Vec<usize>,
    pub path: PathBuf,
    pub form: ResultFormat,
}

/// The format in which results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    File(Format),
    /// A `.npy` file on standard output.
    Stream,
    Picture,
}

/// Checks the destinations on a command line and returns them as requests.
pub fn requests(args: &EvalArgs, program: &Program) -> Result<Vec<Request>, Failure> {
    let mut requests = Vec::new();
    for destination in &args.output {
        let form = match is_stream(&destination.path) {
            true => ResultFormat::Stream,
            false => ResultFormat::File(Format::of(&destination.path).map_err(Failure::Usage)?),
        };
        let takes_all = matches!(form, ResultFormat::File(Format::Npz | Format::Csv));
        let results = results(destination, program, takes_all)?;
        requests.push(Request { results, path: destination.path.clone(), form });
    }
    for destination in &args.plot {
        if is_stream(&destination.path) {
            return Err(Failure::Usage("a picture is drawn into a file, not to standard output".into()));
        }
        let results = results(destination, program, false)?;
        requests.push(Request { results, path: destination.path.clone(), form: ResultFormat::Picture });
    }
    check_streams(args, &requests)?;
    check_paths(args, &requests)?;
    Ok(requests)
}

/// The indices of the results that go to a destination.
fn results(destination: &Destination, program: &Program, takes_all: bool) -> Result<Vec<usize>, Failure> {
    let names: Vec<&str> = program.outputs().collect();
    let listed = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match &destination.name {
        Some(name) => match names.iter().position(|other| other == name) {
            Some(at) => Ok(vec![at]),
            None => {
                let near =
                    nearest(name, names.iter().copied()).map(|near| format!("did you mean `{near}`? "));
                let is = if names.len() == 1 { "the result is" } else { "the results are" };
                let near = near.unwrap_or_default();
                Err(Failure::Usage(format!("there is no result `{name}`; {near}{is} {}", listed())))
            }
        },
        None if names.len() == 1 || takes_all => Ok((0..names.len()).collect()),
        None => {
            let path = shown(&destination.path);
            Err(Failure::Usage(format!(
                "`{path}` takes one result, and there are {}: write NAME=FILE for each of {}, or one .npz file for all",
                names.len(),
                listed()
            )))
        }
    }
}

/// Checks that no file is written twice, however its path is spelled, and that standard output is not redirected to an output
/// file.
fn check_paths(args: &EvalArgs, requests: &[Request]) -> Result<(), Failure> {
    // A path that can't be resolved, such as one in a missing directory, is rejected when the file is created.
    let placed = |path: &PathBuf| (path.clone(), FileIdentity::of(path).ok());
    let is_one = |(path, place): &(PathBuf, Option<FileIdentity>),
                  (other, its): &(PathBuf, Option<FileIdentity>)| {
        path == other || place.as_ref().zip(its.as_ref()).is_some_and(|(place, other)| place.is(other))
    };
    let files: Vec<&Request> =
        requests.iter().filter(|request| request.form != ResultFormat::Stream).collect();
    let mut places: Vec<(PathBuf, Option<FileIdentity>)> = Vec::new();
    for request in &files {
        let place = placed(&request.path);
        if let Some(at) = places.iter().position(|other| is_one(&place, other)) {
            return Err(Failure::Usage(cannot_be_one(request, files[at])));
        }
        places.push(place);
    }
    if let Some(path) = &args.explain_html {
        let place = placed(path);
        if places.iter().any(|other| is_one(&place, other)) {
            return Err(Failure::Usage("the explanation needs a file of its own".into()));
        }
        places.push(place);
    }
    let prints = requests.is_empty() || args.explain || files.len() < requests.len();
    match FileId::of_stdout().filter(|_| prints) {
        Some(stdout) => check_stdout(args, &stdout, &places),
        None => Ok(()),
    }
}

/// The error if two results, or a result and a picture, have the same file as their destination.
fn cannot_be_one(request: &Request, other: &Request) -> String {
    let (path, first) = (shown(&request.path), shown(&other.path));
    let message = match (request.form, other.form) {
        (ResultFormat::Picture, ResultFormat::File(_)) => {
            "the result and its picture can't be one file".to_owned()
        }
        (_, ResultFormat::File(Format::Npz)) => {
            format!("two results can't be one file; `-o {first}` alone takes all of them")
        }
        _ => "two results can't be one file".to_owned(),
    };
    if path == first { message } else { format!("{message}: `{first}` and `{path}` are the same") }
}

/// Checks that standard output is not redirected to a file that the command reads or replaces.
fn check_stdout(
    args: &EvalArgs,
    stdout: &FileId,
    places: &[(PathBuf, Option<FileIdentity>)],
) -> Result<(), Failure> {
    let is_it = |place: &Option<FileIdentity>| place.as_ref().is_some_and(|place| place.is_file(stdout));
    if let Some((path, _)) = places.iter().find(|(_, place)| is_it(place)) {
        let why = format!("standard output goes to `{}`, which another output replaces", shown(path));
        return Err(Failure::Usage(why));
    }
    let bindings = args.bindings()?;
    for path in bindings.iter().filter_map(|binding| binding.to.file()).filter(|path| !is_stream(path)) {
        let (path, _) = Format::split_part(path);
        if FileId::of_path(&path).is_ok_and(|file| file == *stdout) {
            let why = format!("standard output goes to `{}`, which is an input", shown(&path));
            return Err(Failure::Usage(why));
        }
    }
    Ok(())
}

/// Checks that standard input and standard output are each used at most once, and that no binary data goes to a terminal.
fn check_streams(args: &EvalArgs, requests: &[Request]) -> Result<(), Failure> {
    let refuse = |message: &str| Err(Failure::Usage(message.into()));
    let written = requests.iter().filter(|request| request.form == ResultFormat::Stream).count();
    if written > 1 {
        return refuse("only one result goes to standard output");
    }
    if written == 1 || args.explain || requests.is_empty() {
        stdout::check()?;
    }
    if written == 1 && args.explain {
        return refuse(
            "--explain prints to standard output, where the result goes; write --explain-html FILE",
        );
    }
    if written == 1 && io::stdout().is_terminal() {
        return refuse(
            "the result is binary, and standard output is a terminal: write it to a file or a pipe, or leave out \
             `-o -` to print it",
        );
    }
    let read = args
        .bindings()?
        .iter()
        .filter_map(|binding| binding.to.file())
        .filter(|path| is_stream(path))
        .count();
    let text = args.file.as_deref().is_some_and(is_stream);
    if read + usize::from(text) > 1 {
        return refuse("only one thing is read from standard input");
    }
    Ok(())
}
