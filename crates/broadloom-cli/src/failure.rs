//! Errors of the command: the report and the exit status of each.
//!
//! The exit status is 2 if the command line or the expression is wrong whatever the files contain, 1 if the evaluation failed
//! with these files or on this machine, 128 plus the signal's number after a signal, and 124 if `--max-time` is exceeded.
//! Colours are used only on a terminal, and not if `NO_COLOR` is set. Names and texts that come from users are escaped if a
//! terminal would interpret them.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use ariadne::{Color, Config, IndexType, Label, Report, ReportKind, Source};
use broadloom::ErrorKind;
use broadloom::text::TextError;
use broadloom_core::infer::BY_NUMPY;
use broadloom_core::{printable, printable_lines};

use crate::excerpt::Excerpt;
use crate::npy::NpyError;
use crate::npz::NpzError;
use crate::signals;
use crate::target::TargetError;
use crate::text::{Text, shown};

/// The reason why the command failed.
#[derive(Debug)]
pub enum Failure {
    /// An invalid command line.
    Usage(String),
    /// An error in the expression, with its position.
    Text(TextError),
    /// Work on a file failed: the file's path, and the error.
    File(PathBuf, String),
    /// A failed evaluation.
    Eval(broadloom::Error),
    /// A failed write to standard output.
    Stdout(io::Error),
    /// The reader of standard output closed it, which is not reported as an error.
    Closed,
    /// The process received SIGINT, SIGTERM or SIGHUP, or exceeded its time limit.
    Interrupted,
}

impl Failure {
    /// A failure about a file.
    pub fn file(path: &Path, error: impl Display) -> Failure {
        Failure::File(path.into(), error.to_string())
    }

    /// A failure about an output file.
    pub fn target(path: &Path, error: &TargetError) -> Failure {
        match error {
            // The messages of these errors contain the path already, so it is not added.
            TargetError::Exists(_) => {
                Failure::file(path, "the file exists already; write --force to replace it")
            }
            TargetError::NotAFile(_) => Failure::file(path, "not a regular file"),
            TargetError::Interrupted => Failure::Interrupted,
            TargetError::Io(error) => Failure::file(path, error),
        }
    }

    /// A failure about a `.npy` file.
    pub fn npy(path: &Path, error: &NpyError) -> Failure {
        match error {
            NpyError::Target(error) => Failure::target(path, error),
            error => Failure::file(path, error),
        }
    }

    /// A failure about a `.npz` archive.
    pub fn npz(path: &Path, error: &NpzError) -> Failure {
        Failure::file(path, error)
    }

    /// The failure for an error while writing to standard output.
    pub fn stdout(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe { Failure::Closed } else { Failure::Stdout(error) }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Text(error) if is_about_the_files(error) => 1,
            Failure::Text(_) => 2,
            Failure::File(..) | Failure::Eval(_) | Failure::Stdout(_) => 1,
            Failure::Closed => 0,
            Failure::Interrupted => signals::status().unwrap_or(130),
        }
    }

    /// Reports the failure on standard error, with an excerpt of the expression, and returns the exit status.
    pub fn report(&self, text: &Text) -> u8 {
        // After a signal, another failure may only be a consequence, such as a pipe whose writer was interrupted too. The signal
        // is reported instead.
        if signals::interrupted() && !matches!(self, Failure::Interrupted) {
            return Failure::Interrupted.report(text);
        }
        let mut words = Vec::new();
        let colored = is_colored();
        // Writing to memory can't fail.
        let _ = match self {
            Failure::Text(error) => caret(error, text, colored, &mut words),
            Failure::Usage(message) => plain(message, colored, &mut words),
            Failure::File(path, message) => {
                plain(format_args!("{}: {message}", shown(path)), colored, &mut words)
            }
            Failure::Eval(error) if error.is_zero_division() => {
                let option = "--int-div-zero zero gives 0 instead";
                plain(format_args!("{}; {option}", error.message()), colored, &mut words)
            }
            Failure::Eval(error) => plain(in_command(&error.to_string()), colored, &mut words),
            Failure::Stdout(error) => plain(format_args!("standard output: {error}"), colored, &mut words),
            Failure::Closed => Ok(()),
            Failure::Interrupted => {
                signals::announce();
                Ok(())
            }
        };
        // If standard error is closed, nothing can be reported.
        let _ = io::stderr().write_all(&words);
        self.status()
    }
}

/// The message, in which the promotion option is named as on the command line.
fn in_command(message: &str) -> String {
    message.replace(BY_NUMPY, "promote as NumPy does (--promotion numpy)")
}

/// Writes a message without a prefix to standard error.
pub fn complain(words: impl Display) {
    // If standard error is closed, nothing can be reported.
    let _ = write!(io::stderr(), "{}", printable_lines(&words.to_string()));
}

/// Prints a warning on standard error.
pub fn warn(message: impl Display) {
    let word = if is_colored() { "\x1b[33mwarning:\x1b[0m" } else { "warning:" };
    // If standard error is closed, the warning is lost.
    let _ = writeln!(io::stderr(), "{word} {}", printable_lines(&message.to_string()));
}

/// Whether the error could be avoided with other files: a type error whose operands come from files.
fn is_about_the_files(error: &TextError) -> bool {
    error.uses_names && matches!(error.kind, ErrorKind::DType | ErrorKind::Shape | ErrorKind::Literal)
}

fn is_colored() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn plain(message: impl Display, colored: bool, out: &mut impl Write) -> io::Result<()> {
    let word = if colored { "\x1b[31merror:\x1b[0m" } else { "error:" };
    writeln!(out, "{word} {}", printable_lines(&message.to_string()))
}

/// Writes an excerpt of the expression with a mark at the error.
fn caret(error: &TextError, text: &Text, colored: bool, out: &mut impl Write) -> io::Result<()> {
    plain(&error.message, colored, out)?;
    let operands: Vec<Range<u32>> = error.operands.iter().map(|(span, _)| span.clone()).collect();
    let excerpt = Excerpt::of(&text.text, &error.span, &operands);
    let source = &*printable(&text.name);
    let place = |span: &Range<u32>| (source, excerpt.place(span));
    let label =
        |span: &Range<u32>, words: &str, color| Label::new(place(span)).with_message(words).with_color(color);
    let marked = place(&error.span);
    let column = column(&excerpt.text[..marked.1.start]);
    let mut report = Report::build(ReportKind::Error, marked)
        .with_config(Config::new().with_color(colored).with_index_type(IndexType::Byte))
        .with_label(label(&error.span, "here", Color::Red));
    for (span, what) in error.operands.iter().filter(|(span, _)| excerpt.shows(span)) {
        report.add_label(label(span, what, Color::Blue));
    }
    if let Some(help) = &error.help {
        report.set_help(in_command(help));
    }
    let mut drawn = Vec::new();
    report.finish().write((source, Source::from(&excerpt.text)), &mut drawn)?;
    // The first line is dropped: it contains `Error:` without a message, and `plain` has already printed the error.
    let body = drawn.iter().position(|&byte| byte == b'\n').map_or(&[][..], |end| &drawn[end + 1..]);
    // ariadne counts the columns of a truncated line from the start of the excerpt; the column in the whole line is printed
    // instead.
    let (line, whole) = error.position(&text.text);
    let in_part = format!("[ {source}:{line}:{column} ]");
    let body = String::from_utf8_lossy(body).replacen(&in_part, &format!("[ {source}:{line}:{whole} ]"), 1);
    out.write_all(body.as_bytes())
}

/// The column of the character that follows the text `before`, counted from 1.
fn column(before: &str) -> usize {
    before.rsplit('\n').next().unwrap_or_default().chars().count() + 1
}
