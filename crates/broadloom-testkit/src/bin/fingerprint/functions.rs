//! Hashes every function of every dtype, every conversion and every reduction, over fixed arguments.
//!
//! Each has its own line, so that a new op adds a line. Threads share the rows of one set of arguments. Each evaluation runs on
//! one thread, since the number of threads is not tested here.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use broadloom::{Accuracy, Array, DType, Draw, Op, text};
use broadloom_core::graph::Semantics;
use broadloom_testkit::reduction::{Function, Reduction};

use crate::arguments::Arguments;
use crate::evaluate::{Executors, hashes, in_parallel};
use crate::golden::{HashFormat, RowHashes};
use crate::gradients::GRADIENTS;
use crate::report::{Report, Task};

/// The task of the command and its options.
#[derive(clap::Args)]
pub struct FunctionsCommand {
    /// Only lines of these names, or of this function: `exp`, `"exp float32"`.
    names: Vec<String>,
    /// Compare with the file of hashes; name each function, dtype, executor and width that differs.
    #[arg(long)]
    check: bool,
    /// Write the file of hashes, if all executors agree.
    #[arg(long, conflicts_with_all = ["check", "thin", "names"])]
    write: bool,
    /// Evaluate only the head of the arguments, a sixteenth of them.
    #[arg(long)]
    thin: bool,
    /// The number of functions that are evaluated at once; by default one per core.
    #[arg(long)]
    threads: Option<usize>,
    /// The file of hashes.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/hashes.txt"), hide_default_value = true)]
    file: PathBuf,
}

/// The format of the file of hashes.
const FORMAT: HashFormat = HashFormat {
    header: "\
# Hashes of results over fixed arguments: name, arguments, results over the first of them, results over all.
# Written by `fingerprint functions --write`, compared by `fingerprint functions --check`; docs/reliability.md describes them.
",
    results: &[" over the head", " over all arguments"],
};

type BuildHashed = Box<dyn Fn(&[Array<'static>]) -> broadloom::Result<Vec<Array<'static>>> + Send + Sync>;

/// The expressions that are evaluated under one name.
struct NamedExpressions {
    name: String,
    semantics: Semantics,
    build: BuildHashed,
}

impl NamedExpressions {
    fn new(
        name: String,
        build: impl Fn(&[Array<'static>]) -> broadloom::Result<Vec<Array<'static>>> + Send + Sync + 'static,
    ) -> NamedExpressions {
        NamedExpressions { name, semantics: Semantics::default(), build: Box::new(build) }
    }

    /// Changes the options, and adds a name for them.
    fn with(self, name: &str, semantics: Semantics) -> NamedExpressions {
        NamedExpressions { name: format!("{} {name}", self.name), semantics, ..self }
    }

    fn is_asked_for(&self, names: &[String]) -> bool {
        let is = |name: &String| self.name == *name || self.name.split(' ').next() == Some(name);
        names.is_empty() || names.iter().any(is)
    }
}

/// Rows that use the same arguments.
struct SharedArguments {
    arguments: Box<dyn Fn() -> Arguments>,
    rows: Vec<NamedExpressions>,
}

/// Evaluates all rows, and prints, writes or compares their hashes.
pub fn hash_all(command: &FunctionsCommand, out: &mut impl Write) -> Result<(), String> {
    let executors = Executors::of_target();
    let mut report = Report::new(Task::of_flags(command.check, command.write), &command.file, FORMAT)?;
    let mut names = Vec::new();
    for SharedArguments { arguments, mut rows } in groups() {
        rows.retain(|row| row.is_asked_for(&command.names));
        if rows.is_empty() {
            continue;
        }
        for outcome in evaluate(&arguments(), &rows, command, &executors) {
            report.add(&outcome, out)?;
            names.push(outcome.name);
        }
    }
    if command.names.is_empty() {
        report.add_missing(&names.iter().map(String::as_str).collect::<Vec<_>>());
    }
    report.finish(&executors.names().collect::<Vec<_>>().join(", "), out)
}

/// Evaluates rows, and returns the outcomes in order.
fn evaluate(
    arguments: &Arguments,
    rows: &[NamedExpressions],
    command: &FunctionsCommand,
    executors: &Executors,
) -> Vec<RowHashes> {
    in_parallel(rows, command.threads, |row| {
        let hashes = |arguments: &[Array<'static>]| {
            let roots = (row.build)(arguments).unwrap_or_else(|e| panic!("{}: {e}", row.name));
            let hashes = hashes(&roots.iter().collect::<Vec<_>>(), row.semantics, executors, &row.name);
            executors.names().map(str::to_owned).zip(hashes).collect()
        };
        RowHashes {
            name: row.name.clone(),
            arguments: arguments.hash,
            results: vec![
                hashes(&arguments.head),
                if command.thin { Vec::new() } else { hashes(&arguments.whole) },
            ],
        }
    })
}

/// All rows, grouped by their arguments.
fn groups() -> Vec<SharedArguments> {
    let mut by_operands: BTreeMap<Vec<DType>, Vec<NamedExpressions>> = BTreeMap::new();
    let mut ops: Vec<Op> = Op::public().collect();
    ops.sort_by_key(|op| op.name());
    for op in ops {
        for &dtype in DType::ALL.iter().filter(|&&dtype| op.result(dtype).is_some()) {
            let mut operands = vec![dtype; op.operands()];
            if op == Op::Where {
                operands[0] = DType::Bool;
            }
            by_operands.entry(operands).or_default().extend(rows_of_op(op, dtype));
        }
    }
    for &from in DType::ALL {
        let rows = by_operands.entry(vec![from]).or_default();
        rows.extend(DType::ALL.iter().map(|&to| {
            NamedExpressions::new(format!("astype {from} {to}"), move |x| Ok(vec![x[0].astype(to)]))
        }));
        if from.is_float() {
            let sum = NamedExpressions::new(format!("x*y+z {from}"), |x| Ok(vec![&x[0] * &x[1] + &x[2]]));
            let contracted = sum.with("contract", Semantics { contract: true, ..Semantics::default() });
            by_operands.entry(vec![from; 3]).or_default().push(contracted);
        }
    }
    let mut all: Vec<SharedArguments> = by_operands
        .into_iter()
        .map(|(dtypes, rows)| SharedArguments {
            arguments: Box::new(move || Arguments::of_function(&dtypes)),
            rows,
        })
        .collect();
    for &dtype in DType::ALL {
        let rows = reductions(dtype).collect();
        all.push(SharedArguments { arguments: Box::new(move || Arguments::of_reductions(dtype)), rows });
    }
    all.push(SharedArguments {
        arguments: Box::new(Arguments::none),
        rows: generated().chain(loops()).collect(),
    });
    all
}

/// The function with its default accuracy and, if it has such a definition, with the accuracy `nearest`.
fn rows_of_op(op: Op, dtype: DType) -> impl Iterator<Item = NamedExpressions> {
    let row = move || NamedExpressions::new(format!("{op} {dtype}"), move |x| Ok(vec![Array::apply(op, x)?]));
    let has_nearest = op.result_at(Accuracy::Nearest, dtype).is_some();
    let nearest = Semantics { accuracy: Accuracy::Nearest, ..Semantics::default() };
    std::iter::once(row()).chain(has_nearest.then(|| row().with("nearest", nearest)))
}

/// The reductions and scans of a dtype: of moderate numbers along all axes, columns and rows, and of arbitrary bits along short
/// rows and columns.
fn reductions(dtype: DType) -> impl Iterator<Item = NamedExpressions> {
    let calls = |reduction: Reduction| {
        let along = |axes: Option<isize>, x| {
            Reduction { axes: axes.map(|axis| vec![axis]), ..reduction.clone() }.text(x)
        };
        [("a", None), ("a", Some(0)), ("a", Some(1)), ("b", None), ("b", Some(0)), ("b", Some(1))]
            .into_iter()
            .chain([("c", Some(0)), ("c", Some(1))])
            .map(|(x, axis)| along(axis, x))
            .collect::<Vec<_>>()
    };
    let named = |name: &str, x: &str, axis: isize| match name {
        "vecdot" => format!("vecdot({x}, flip({x}, axis=0), axis={axis})"),
        _ => format!("{name}({x}, axis={axis})"),
    };
    let mut rows: Vec<(String, Vec<String>)> = Function::ALL
        .iter()
        .map(|&function| (function.name().to_owned(), calls(Reduction::all(function))))
        .collect();
    for ord in [1.0, 3.0, f64::INFINITY] {
        let norm = Reduction { ord, ..Reduction::all(Function::VectorNorm) };
        rows.push((format!("vector_norm-{ord}"), calls(norm)));
    }
    for name in ["vecdot", "cumulative_sum", "cumulative_prod"] {
        let call = |x| [0, 1].map(|axis| named(name, x, axis));
        rows.push((name.to_owned(), ["a", "b", "c"].into_iter().flat_map(call).collect()));
    }
    rows.into_iter().filter(move |(_, texts)| is_of(&texts[0], dtype)).map(move |(name, texts)| {
        NamedExpressions::new(format!("{name} {dtype}"), move |x| {
            let arrays = [("a", x[0].clone()), ("b", x[1].clone()), ("c", x[2].clone())];
            texts.iter().map(|text| Ok(text::expression(text, &arrays)?)).collect()
        })
    })
}

/// Whether a text is well-typed for arrays of a dtype.
fn is_of(text: &str, dtype: DType) -> bool {
    let array = || Array::zeros(&[2, 2], dtype).expect("four elements");
    text::expression(text, &[("a", array()), ("b", array()), ("c", array())]).is_ok()
}

/// Rows of loops, recurrences and gradients over generated arrays.
fn loops() -> impl Iterator<Item = NamedExpressions> {
    let programs = [
        (
            "while float32",
            "x = linspace(-2, 0.5, 301, dtype=float32)
             y = reshape(linspace(-1.25, 1.25, 257, dtype=float32), [257, 1])
             a, b, n = while (a = 0.0, b = 0.0, n = 0; a * a + b * b < 4) limit 60 {
                 t = a * a - b * b + x; b = 2 * a * b + y; a = t; n = n + 1
             }
             return a, b, n",
        ),
        (
            "while float64",
            "x = linspace(0.001, 1000, 65537)
             r, n = while (r = 1.0, n = 0; abs(r * r - x) > x * 1e-15) limit 40 { r = (r + x / r) / 2; n = n + 1 }
             return r, n",
        ),
        (
            "for int64",
            "k = arange(20011) % 37
             f, m = for (f = 1, m = -1; i in 0..k) { f = f * (2 * i + 3); m = maximum(m, f % 1009) }
             return f, m",
        ),
        (
            "scan float64",
            "x = sin(linspace(0, 500, 70001))
             last, mean, above = scan (m = 0.5; v in x, axis=0) { m = m + (v - m) * 0.03125; mean = m; above = v > m }
             return last, mean, above",
        ),
        (
            "scan float32",
            "x = reshape(sin(linspace(0, 500, 70000, dtype=float32)), [250, 280])
             last, before, y = scan (p = 0.0, q = 1.0; v in x, axis=0, reverse=true) { t = v - 0.5 * p; q = p; p = t; y = t + q }
             return last, before, y",
        ),
        (
            "reduce float64",
            "x = sin(linspace(0, 500, 70001))
             line = reduce (a = 0.0; v in x, axis=0) { a = a * 0.75 - v }
             largest, at = reduce (m = -inf, i = -1; v in x, j in arange(70001), axis=0) {
                 is_left = m > v; m = where(is_left, m, v); i = where(is_left, i, j)
             }
             return line, largest, at",
        ),
    ];
    programs.into_iter().chain(GRADIENTS).map(|(name, text)| {
        NamedExpressions::new(name.to_owned(), move |_| {
            let program = text::Program::parse(text)?;
            Ok(program.build(&[])?.into_iter().map(|(_, array)| array).collect())
        })
    })
}

/// Rows of generated arrays, whose elements are computed from their index.
fn generated() -> impl Iterator<Item = NamedExpressions> {
    let texts = [
        ("linspace float16", "linspace(-1.5, 3, 1048583, dtype=float16)"),
        ("linspace float32", "linspace(-1.5, 3, 1048583, dtype=float32)"),
        ("linspace float64", "linspace(-1.5, 3, 1048583, dtype=float64)"),
        ("arange int64", "arange(-7, 3145742, 3)"),
        ("arange float32", "arange(-0.5, 104857.8, 0.1, dtype=float32)"),
        ("arange float64", "arange(-0.5, 104857.8, 0.1)"),
    ];
    texts
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into_iter()
        .chain(draws())
        .map(|(name, text)| NamedExpressions::new(name, move |_| Ok(vec![text::expression(&text, &[])?])))
}

/// A text for each draw and each of its dtypes.
fn draws() -> impl Iterator<Item = (String, String)> {
    Draw::ALL.iter().flat_map(|&draw| {
        let parameters = match draw {
            Draw::Integers => "3, 103, ",
            Draw::Bernoulli | Draw::Geometric => "0.3, ",
            Draw::Beta => "0.7, 2.5, ",
            Draw::Binomial => "100, where(indices(zeros(30011)) % 2 == 0, 0.05, 0.6), ",
            Draw::Poisson => "where(indices(zeros(30011)) % 2 == 0, 4, 40.5), ",
            _ if draw.operands() == 1 => "2.5, ",
            _ => "",
        };
        draw.gives().dtypes().iter().map(move |dtype| {
            let option = if *dtype == DType::Bool { String::new() } else { format!(", dtype={dtype}") };
            (format!("{draw} {dtype}"), format!("{draw}(key(20111115), {parameters}[30011]{option})"))
        })
    })
}
