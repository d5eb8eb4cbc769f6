//! The command line, parsed into [`Cli`].
//!
//! The names of inputs and results are checked here to be valid names of the text language, so that an input to which no
//! expression could refer is reported early.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use broadloom::{Accuracy, Executor, IntDivision, Literal, Promotion, VectorWidth};
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::failure::Failure;

/// Array expressions over .npy files, each in one fused pass.
#[derive(Debug, Parser)]
#[command(name = "broadloom", version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Completions(CompletionsArgs),
    Eval(EvalArgs),
    Ops(OpsArgs),
}

/// Evaluate an expression, or a program of several results, over files of arrays.
///
/// Results go to files (--output), pictures (--plot), or else as text to standard output. Files are mapped, and
/// evaluated in chunks: they may be larger than memory.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The expression, such as '(a - b) / (a + b)' or 's = a + b; where(s > 0, s, 0)'; left out with --file.
    ///
    /// Python's operators, the functions that `broadloom ops` lists, astype(x, float32), numbers, true, false, nan,
    /// inf, pi and e; bindings, and functions: 'def half(x) = x / 2'. The last statement is the result, or 'return'
    /// names several.
    #[arg(allow_hyphen_values = true, required_unless_present = "file")]
    pub expression: Option<OsString>,

    /// The file for a name of the expression: .npy, .npz[:MEMBER], .csv[:COLUMN], or - for standard input.
    #[arg(value_name = "NAME=FILE|NUMBER", value_parser = OsStringValueParser::new().try_map(NamedInput::parse))]
    pub inputs: Vec<NamedInput>,

    /// Read the expression from this file, or from standard input if it is -.
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Write a result to this file: .npy, .npz, .csv, or - for standard output. With several results, NAME selects one.
    #[arg(short, long, value_name = "[NAME=]FILE", value_parser = OsStringValueParser::new().map(Destination::parse))]
    pub output: Vec<Destination>,

    /// Draw a result of one or two axes into this PNG file.
    #[arg(long, value_name = "[NAME=]FILE", value_parser = OsStringValueParser::new().map(Destination::parse))]
    pub plot: Vec<Destination>,

    /// Replace files that exist.
    #[arg(long)]
    pub force: bool,

    /// Print how the expression is evaluated.
    #[arg(long)]
    pub explain: bool,

    /// Write how the expression is evaluated, with the graph drawn and the code of its kernels, as a page of HTML.
    #[arg(long, value_name = "FILE")]
    pub explain_html: Option<PathBuf>,

    /// The executor; the result does not depend on it.
    #[arg(long, value_enum, default_value_t)]
    pub executor: ExecutorArg,

    /// The maximum vector width, if the target has it; the result does not depend on it.
    #[arg(long, value_parser = vector_width(), default_value = "auto", value_name = "BITS")]
    pub vector_width: WidestVectors,

    /// The maximum number of threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,

    /// The promotion of dtypes of different kinds: an error, or NumPy 2's rules.
    #[arg(long, value_enum, default_value_t)]
    pub promotion: PromotionArg,

    /// The result of an integer division by zero.
    #[arg(long, value_enum, default_value_t)]
    pub int_div_zero: IntDivZeroArg,

    /// The accuracy of float32 functions such as exp.
    #[arg(long, value_enum, default_value_t)]
    pub accuracy: AccuracyArg,

    /// Round the sum of products once, instead of rounding each product as well.
    #[arg(long)]
    pub contract: bool,

    /// The maximum memory of a chunk of the evaluation, such as 150M or 2G: parts of inputs, temporaries, results.
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size, alias = "chunk-bytes")]
    pub max_bytes: NonZeroUsize,

    /// The maximum number of seconds, such as 10 or 0.5, after which the command exits with status 124 [default: no limit].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub max_time: Option<Duration>,
}

impl EvalArgs {
    /// The files and numbers given for the inputs.
    pub fn bindings(&self) -> Result<Vec<NamedInput>, Failure> {
        let mut bindings = Vec::new();
        // With --file, the first argument is an input and not the expression.
        if let (Some(word), true) = (&self.expression, self.file.is_some()) {
            bindings.push(NamedInput::parse(word.clone()).map_err(|message| {
                Failure::Usage(format!(
                    "the expression comes from --file, so that `{}` is an input: {message}",
                    word.display()
                ))
            })?);
        }
        bindings.extend(self.inputs.iter().cloned());
        Ok(bindings)
    }
}

fn seconds(word: &str) -> Result<Duration, String> {
    let seconds: f64 = word.parse().map_err(|_| "not a number of seconds")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn threads(word: &str) -> Result<NonZeroUsize, String> {
    let number: usize = word.parse().map_err(|_| "not a number of threads")?;
    NonZeroUsize::new(number)
        .ok_or_else(|| "there is at least one thread: leave --threads out, or write 1".into())
}

/// Print the completions of the command line for a shell.
///
/// For bash, for example: broadloom completions bash > ~/.local/share/bash-completion/completions/broadloom
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// List the functions that expressions can call.
#[derive(Debug, Args)]
pub struct OpsArgs {
    /// Print the list as a page of Markdown.
    #[arg(long)]
    pub markdown: bool,
}

/// Parses a number of bytes. The suffixes K, M, G and T are powers of 1024.
fn size(word: &str) -> Result<NonZeroUsize, String> {
    let letters = ["K", "M", "G", "T"].into_iter().zip((10..).step_by(10));
    let (digits, shift) = letters
        .filter_map(|(letter, shift)| Some((word.strip_suffix(letter)?, shift)))
        .next()
        .unwrap_or((word, 0));
    let count: usize = digits.parse().map_err(|_| "write a number of bytes, such as 150M or 2G")?;
    let bytes = count.checked_mul(1 << shift).filter(|&bytes| bytes <= isize::MAX as usize);
    NonZeroUsize::new(bytes.ok_or("more bytes than can be addressed")?)
        .ok_or_else(|| "0 bytes hold nothing".into())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExecutorArg {
    /// The executor with the lowest estimated time.
    #[default]
    Auto,
    /// Precompiled loops.
    Interp,
    /// Machine code compiled for the expression.
    Jit,
}

impl From<ExecutorArg> for Executor {
    fn from(arg: ExecutorArg) -> Executor {
        match arg {
            ExecutorArg::Auto => Executor::Auto,
            ExecutorArg::Interp => Executor::Interp,
            ExecutorArg::Jit => Executor::Jit,
        }
    }
}

/// The maximum vector width; `None` for `auto`. Written as an alias, because clap treats a field of type `Option` as an
/// optional argument.
pub type WidestVectors = Option<VectorWidth>;

fn vector_width() -> impl TypedValueParser<Value = WidestVectors> {
    let auto = PossibleValue::new("auto").help("As wide as the target's vectors");
    let widths = VectorWidth::ALL.map(|width| PossibleValue::new(width.name()));
    PossibleValuesParser::new([auto].into_iter().chain(widths))
        .map(|name| VectorWidth::ALL.into_iter().find(|width| width.name() == name))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PromotionArg {
    /// The Array API standard's rules: different kinds are an error.
    #[default]
    Strict,
    /// NumPy 2's rules.
    Numpy,
}

impl From<PromotionArg> for Promotion {
    fn from(arg: PromotionArg) -> Promotion {
        match arg {
            PromotionArg::Strict => Promotion::Strict,
            PromotionArg::Numpy => Promotion::NumPy,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IntDivZeroArg {
    /// The result is zero.
    #[default]
    Zero,
    /// The evaluation fails.
    Error,
}

impl From<IntDivZeroArg> for IntDivision {
    fn from(arg: IntDivZeroArg) -> IntDivision {
        match arg {
            IntDivZeroArg::Zero => IntDivision::Zero,
            IntDivZeroArg::Error => IntDivision::Error,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AccuracyArg {
    /// A value within a fraction of an ulp of the exact result.
    #[default]
    Fast,
    /// The value nearest to the exact result.
    Nearest,
}

impl From<AccuracyArg> for Accuracy {
    fn from(arg: AccuracyArg) -> Accuracy {
        match arg {
            AccuracyArg::Fast => Accuracy::Fast,
            AccuracyArg::Nearest => Accuracy::Nearest,
        }
    }
}

/// An input's name with its file or number.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedInput {
    pub name: String,
    pub to: FileOrNumber,
}

/// The file or number of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum FileOrNumber {
    /// The array in a file.
    File(PathBuf),
    /// A weakly typed number, which takes the dtype of the arrays it is combined with.
    Number(Literal),
}

impl FileOrNumber {
    /// The path, if this is a file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            FileOrNumber::File(path) => Some(path),
            FileOrNumber::Number(_) => None,
        }
    }

    /// Parses a number, or else a path. A file whose name is a number must be given with its folder, as `./3`.
    fn parse(word: OsString) -> FileOrNumber {
        let number = match word.to_str().unwrap_or_default() {
            "true" => Some(Literal::Bool(true)),
            "false" => Some(Literal::Bool(false)),
            // `inf` and `nan`, which Rust would parse as numbers, may also be names of files.
            text if !text.contains(|c: char| c.is_ascii_digit()) => None,
            text => text.parse().map(Literal::Int).or_else(|_| text.parse().map(Literal::Float)).ok(),
        };
        number.map_or_else(|| FileOrNumber::File(word.into()), FileOrNumber::Number)
    }
}

impl NamedInput {
    pub fn parse(word: OsString) -> Result<NamedInput, String> {
        let (name, path) = match split(&word) {
            Some((name, path)) => (name, path.ok_or("the path is not UTF-8")?),
            None => return Err(advice(&word)),
        };
        if !is_name(&name) {
            return Err(format!("`{name}` is not a name that an expression can have"));
        }
        if path.is_empty() {
            return Err(format!("no file is given for `{name}`"));
        }
        Ok(NamedInput { name, to: FileOrNumber::parse(path) })
    }
}

/// Advice for an argument that does not name an input.
fn advice(word: &OsStr) -> String {
    let stem = Path::new(word).file_stem().and_then(OsStr::to_str).filter(|stem| is_name(stem));
    match stem {
        Some(stem) => format!("write NAME=FILE, such as `{stem}={}`", word.display()),
        None => "write NAME=FILE".into(),
    }
}

/// The file for a result, and the name of the result if the argument contains one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub name: Option<String>,
    pub path: PathBuf,
}

impl Destination {
    fn parse(word: OsString) -> Destination {
        match split(&word) {
            Some((name, Some(path))) if is_name(&name) => Destination { name: Some(name), path: path.into() },
            _ => Destination { name: None, path: word.into() },
        }
    }
}

/// Splits the argument at the first `=`.
fn split(word: &OsStr) -> Option<(String, Option<OsString>)> {
    let bytes = word.as_encoded_bytes();
    let at = bytes.iter().position(|&byte| byte == b'=')?;
    Some((String::from_utf8_lossy(&bytes[..at]).into_owned(), tail(word, at + 1)))
}

/// Whether the text consists of exactly one name.
fn is_name(text: &str) -> bool {
    broadloom::text::is_name(text)
}

/// The argument without its first `from` bytes, which must be ASCII.
#[cfg(unix)]
fn tail(word: &OsStr, from: usize) -> Option<OsString> {
    use std::os::unix::ffi::OsStrExt;
    word.as_bytes().get(from..).map(|bytes| OsStr::from_bytes(bytes).to_owned())
}

/// The argument without its first `from` bytes, which must be ASCII.
#[cfg(not(unix))]
fn tail(word: &OsStr, from: usize) -> Option<OsString> {
    word.to_str()?.get(from..).map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn bindings() {
        let parse = |word: &str| NamedInput::parse(word.into()).map(|b| (b.name, b.to));
        let file = |path: &str| FileOrNumber::File(path.into());
        assert_eq!(parse("a=b=c.npy"), Ok(("a".into(), file("b=c.npy"))));
        assert_eq!(parse("_x1=/d/x.npy"), Ok(("_x1".into(), file("/d/x.npy"))));
        for (word, to) in [
            ("a=3", FileOrNumber::Number(Literal::Int(3))),
            ("a=-0.5", FileOrNumber::Number(Literal::Float(-0.5))),
            ("a=1e3", FileOrNumber::Number(Literal::Float(1000.0))),
            ("a=true", FileOrNumber::Number(Literal::Bool(true))),
            ("a=./3", file("./3")),
            ("a=3.npy", file("3.npy")),
            ("a=inf", file("inf")),
            ("a=-", file("-")),
        ] {
            assert_eq!(parse(word), Ok(("a".into(), to)), "{word}");
        }
        for word in [
            "a", "=f", "a=", "1a=f", "a b=f", " a=f", "(a)=f", "-a=f", "inf=f", "true=f", "and=f", "int8=f",
            "é=f",
        ] {
            assert!(parse(word).is_err(), "{word}");
        }
    }

    #[test]
    fn destinations() {
        let parse = |word: &str| {
            let Destination { name, path } = Destination::parse(word.into());
            (name, path.display().to_string())
        };
        let named = |name: &str, path: &str| (Some(name.to_owned()), path.to_owned());
        assert_eq!(parse("sum=b=c.npy"), named("sum", "b=c.npy"));
        assert_eq!(parse("sum=-"), named("sum", "-"));
        for path in ["a.npy", "./a=b.npy", "=a", "1=a", "inf=a", "-"] {
            assert_eq!(parse(path), (None, path.to_owned()));
        }
    }

    #[test]
    fn sizes() {
        for (word, bytes) in
            [("1", 1), ("150M", 150 << 20), ("2G", 2 << 30), ("64K", 64 << 10), ("1T", 1 << 40)]
        {
            assert_eq!(size(word).map(NonZeroUsize::get), Ok(bytes), "{word}");
        }
        for word in
            ["", "0", "0M", "M", "-1", "1.5G", "1 M", "1MM", "1g", "99999999999G", "18446744073709551616"]
        {
            assert!(size(word).is_err(), "{word}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn paths_need_not_be_text() {
        use std::os::unix::ffi::OsStrExt;
        let binding = NamedInput::parse(OsStr::from_bytes(b"a=\xff.npy").to_owned());
        assert_eq!(
            binding.map(|b| b.to),
            Ok(FileOrNumber::File(PathBuf::from(OsStr::from_bytes(b"\xff.npy"))))
        );
    }
}
