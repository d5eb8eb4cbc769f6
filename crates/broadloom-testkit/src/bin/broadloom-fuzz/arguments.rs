//! Parses the command line of `broadloom-fuzz`.

use std::path::PathBuf;
use std::time::Duration;

use broadloom::VectorWidth;
use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Evaluate random programs with every executor, and compare the results bit for bit.
///
/// Each program runs in the interpreter and in compiled code, with rewrite rules and without, and as a kernel. Large
/// programs run on one thread and on several. The expected result comes from a reference in exact arithmetic. A program
/// whose results differ is shrunk and printed in the form that --program reads.
#[derive(Debug, Parser)]
#[command(name = "broadloom-fuzz", version, max_term_width = 100)]
pub struct FuzzArguments {
    /// The first seed; each seed gives one program, the same on every machine.
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..1 << 63))]
    pub seed: u64,

    /// Stop after this many seconds [default: 60, if the number of programs is not given].
    #[arg(long, value_name = "T", value_parser = seconds)]
    pub seconds: Option<Duration>,

    /// Stop after this many programs.
    #[arg(long, value_name = "N")]
    pub programs: Option<u64>,

    /// Try programs with loops, scans and reductions by functions, whose elements the reference computes one by one.
    #[arg(long, conflicts_with = "program")]
    pub loops: bool,

    /// Try programs that join arrays with parts of themselves and with each other, and use windows of them.
    #[arg(long, conflicts_with_all = ["program", "loops"])]
    pub joins: bool,

    /// Try programs that draw random numbers from keys, and use them.
    #[arg(long, conflicts_with_all = ["program", "loops", "joins"])]
    pub draws: bool,

    /// Differentiate programs in both modes, and compare the derivatives with dual numbers of 80 digits. The bits of some are
    /// compared as those of other programs.
    #[arg(long, conflicts_with_all = ["program", "loops", "joins", "draws"])]
    pub gradients: bool,

    /// Try programs with takes, sorts, searches, reductions by label and scatters, some of which have indices out of range.
    #[arg(long, conflicts_with_all = ["program", "loops", "joins", "draws", "gradients"])]
    pub routines: bool,

    /// Check the program in this file, with its values and with other ones, instead of random programs.
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,

    /// The maximum vector width; each width of the target up to it is compared [default: the widest].
    #[arg(long, value_parser = vector_width(), value_name = "BITS")]
    pub vector_width: Option<VectorWidth>,

    /// Write a program whose results differ to this file, not to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
}

fn seconds(word: &str) -> Result<Duration, String> {
    let seconds: f64 = word.parse().map_err(|_| "not a number of seconds")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn vector_width() -> impl TypedValueParser<Value = VectorWidth> {
    PossibleValuesParser::new(VectorWidth::ALL.map(VectorWidth::name)).try_map(|name| {
        let width = VectorWidth::ALL.into_iter().find(|width| width.name() == name);
        width.ok_or("not a width of vectors")
    })
}
