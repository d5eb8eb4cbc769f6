//! Parses the command line of `broadloom-bench`.

use std::num::NonZeroUsize;

use broadloom::{DType, Executor, VectorWidth};
use broadloom_bench::{WORKLOADS, Workload};
use broadloom_core::text::nearest;
use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Time the workloads of a table against plain loops.
///
/// Each line contains a workload, a dtype and a size; the nanoseconds per element and the bytes of inputs and outputs
/// per second; the time relative to a plain Rust loop, and the bandwidth relative to a copy. The loop and the copy are
/// timed in alternation with the workload. Before that, the results are compared with those of the loop. Outputs are
/// reused.
#[derive(Debug, Parser)]
#[command(name = "broadloom-bench", version, max_term_width = 100)]
pub struct CommandLine {
    /// Print a JSON object for each measurement, one per line.
    #[arg(long)]
    pub json: bool,

    /// Only this workload; may be given several times.
    #[arg(short, long = "workload", value_name = "W", value_parser = workload)]
    pub workloads: Vec<&'static Workload>,

    /// Only this dtype, for workloads that support it; may be given several times.
    #[arg(long = "dtype", value_name = "D", value_parser = dtype)]
    pub dtypes: Vec<DType>,

    /// This many elements, such as 1000 or 1e5; may be given several times [default: 1e1 1e3 1e5 1e7 3e7].
    #[arg(short = 'n', long = "elements", value_name = "N", value_parser = elements)]
    pub sizes: Vec<usize>,

    /// The maximum number of threads, for expressions and for the loop.
    #[arg(long, value_name = "T", default_value = "1")]
    pub threads: NonZeroUsize,

    /// The executor. If several are given, each is measured and has its own line.
    #[arg(long = "executor", value_parser = executor(), value_delimiter = ',', default_value = "auto")]
    pub executors: Vec<Executor>,

    /// The maximum vector width. If several are given, each is measured and has its own line.
    #[arg(
        long = "vector-width",
        value_parser = vector_width(),
        value_delimiter = ',',
        default_value = "auto",
        value_name = "BITS"
    )]
    pub vector_widths: Vec<WidestVectors>,

    /// Build and evaluate the expression each time, instead of running a prepared kernel.
    #[arg(long)]
    pub lazy: bool,

    /// Measure as briefly as possible, for tests.
    #[arg(long, hide = true)]
    pub quick: bool,
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

fn executor() -> impl TypedValueParser<Value = Executor> {
    const ALL: [Executor; 3] = [Executor::Auto, Executor::Interp, Executor::Jit];
    PossibleValuesParser::new(ALL.map(Executor::name))
        .map(|name| ALL.into_iter().find(|executor| executor.name() == name).unwrap_or_default())
}

fn workload(name: &str) -> Result<&'static Workload, String> {
    broadloom_bench::workload(name).ok_or_else(|| {
        let names = || WORKLOADS.iter().map(|w| w.name);
        let like = nearest(name, names()).map(|name| format!("did you mean `{name}`? "));
        format!("{}there are {}", like.unwrap_or_default(), names().collect::<Vec<_>>().join(", "))
    })
}

fn dtype(name: &str) -> Result<DType, String> {
    DType::from_name(name).ok_or_else(|| {
        let names = DType::ALL.iter().map(|dtype| dtype.name());
        nearest(name, names).map_or("not a dtype".into(), |name| format!("did you mean `{name}`?"))
    })
}

/// The maximum number of elements of a workload; some workloads take 40 GB at this size.
const MOST_ELEMENTS: f64 = 1e9;

fn elements(word: &str) -> Result<usize, String> {
    let n: f64 = word.parse().map_err(|_| "not a number")?;
    if n.fract() != 0.0 || !(1.0..=MOST_ELEMENTS).contains(&n) {
        return Err(format!("not a whole number from 1 to {MOST_ELEMENTS:e}"));
    }
    Ok(n as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn numbers_of_elements() {
        for (word, n) in [("1", 1), ("1e5", 100_000), ("3E7", 30_000_000), ("1e9", 1_000_000_000)] {
            assert_eq!(elements(word), Ok(n), "{word}");
        }
        for word in ["", "0", "-1", "1.5", "1e-1", "1e10", "inf", "nan", "ten"] {
            assert!(elements(word).is_err(), "{word}");
        }
    }
}
