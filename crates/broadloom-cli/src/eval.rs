//! `broadloom eval`: evaluates an expression over files and writes the results.
//!
//! Names, types, shapes and output files are checked before any element is computed, so that a mistake in the request
//! is reported at once.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use broadloom::DType;
use broadloom::text::Expression;

use crate::args::EvalArgs;
use crate::chunk::Order;
use crate::failure::{Failure, warn};
use crate::input::{self, Input};
use crate::job::{Job, Values};
use crate::npy::NpyWriter;
use crate::plot::{self, Picture, PlotError};
use crate::progress::notice_interrupts;
use crate::run::Settings;
use crate::stdout::print;
use crate::target::Target;

/// Evaluates the expression of a command line.
pub fn eval(args: &EvalArgs) -> Result<(), Failure> {
    let expression = Expression::parse(&args.expression).map_err(Failure::Text)?;
    let inputs = open(args, &expression)?;
    let job = Job::new(expression, inputs, Settings::new(args), args.chunk_bytes.get())?;
    notice_interrupts();
    let output = args.output.as_deref().map(|path| Output::begin(&job, path, args.force)).transpose()?;
    let drawing = args.plot.as_deref().map(|path| Drawing::begin(&job, path, args.force)).transpose()?;
    let order = output.as_ref().map_or(Order::C, |output| output.order);
    if args.explain {
        print(&job.explain(order)?)?;
    }
    if let Some(path) = &args.explain_html {
        let page = job.explain_html(order, &args.expression)?;
        let mut target = Target::create(path, args.force).map_err(|error| Failure::target(path, &error))?;
        target.write_all(page.as_bytes()).map_err(|error| Failure::file(path, error))?;
        target.finish().map_err(|error| Failure::target(path, &error))?;
    }
    if output.is_none() && drawing.is_none() {
        return print(&format!("{}\n", job.text()?));
    }
    let written = output.map(|output| output.write(&job)).transpose()?;
    if let Some(drawing) = drawing {
        // Drawn from the written file, so that nothing is computed twice.
        drawing.draw(written.as_ref().unwrap_or(&job), &args.expression)?;
    }
    Ok(())
}

/// Opens the files of the inputs that the expression uses, and warns of the others.
fn open(args: &EvalArgs, expression: &Expression) -> Result<Vec<Input>, Failure> {
    let used: HashSet<&str> = expression.names().into_iter().collect();
    let mut seen = HashSet::new();
    if let Some(twice) = args.inputs.iter().find(|binding| !seen.insert(&binding.name)) {
        return Err(Failure::Usage(format!("two files are given for `{}`", twice.name)));
    }
    let written = [&args.output, &args.plot, &args.explain_html];
    let is_twice = |i: usize| written[i].is_some() && written[..i].contains(&written[i]);
    if is_twice(1) {
        return Err(Failure::Usage("the result and its picture can't be one file".into()));
    }
    if is_twice(2) {
        return Err(Failure::Usage("the explanation needs a file of its own".into()));
    }
    let mut inputs = Vec::new();
    for binding in &args.inputs {
        let input = Input::open(&binding.name, &binding.path)?;
        if used.contains(&*binding.name) {
            inputs.push(input);
        } else {
            warn(format_args!("the expression does not use `{}`", binding.name));
        }
    }
    Ok(inputs)
}

/// A result file that was created and not yet written.
struct Output<'p> {
    path: &'p Path,
    writer: NpyWriter,
    order: Order,
}

impl<'p> Output<'p> {
    fn begin(job: &Job, path: &'p Path, force: bool) -> Result<Output<'p>, Failure> {
        let order = job.order();
        let writer = NpyWriter::create(path, job.dtype, &job.shape, order == Order::Fortran, force)
            .map_err(|error| Failure::npy(path, &error))?;
        Ok(Output { path, writer, order })
    }

    /// Writes the file, and returns a job that reads it.
    fn write(mut self, job: &Job) -> Result<Job, Failure> {
        let mut values = job.values("writing", self.order, job.dtype)?;
        while let Some(bytes) = values.next()? {
            if cfg!(target_endian = "big") {
                input::swap(bytes, job.dtype.size());
            }
            self.writer.write(bytes).map_err(|error| Failure::npy(self.path, &error))?;
        }
        drop(values);
        self.writer.finish().map_err(|error| Failure::npy(self.path, &error))?;
        job.of_file(self.path)
    }
}

/// A picture file that was created and not yet drawn.
struct Drawing<'p> {
    path: &'p Path,
    target: Target,
}

impl<'p> Drawing<'p> {
    fn begin(job: &Job, path: &'p Path, force: bool) -> Result<Drawing<'p>, Failure> {
        // Errors of `plot::draw`, reported before the work instead of after it.
        let refused = match job.shape.len() {
            1 | 2 if !job.shape.contains(&0) => None,
            1 | 2 => Some(PlotError::Empty { shape: job.shape.clone() }),
            rank => Some(PlotError::Rank { rank }),
        };
        if let Some(error) = refused {
            return Err(Failure::plot(path, &error));
        }
        let target = Target::create(path, force).map_err(|error| Failure::target(path, &error))?;
        Ok(Drawing { path, target })
    }

    /// Draws the values of a job.
    fn draw(self, job: &Job, title: &str) -> Result<(), Failure> {
        let Drawing { path, mut target } = self;
        let values = RefCell::new(Stream::new(job.values("drawing", Order::C, DType::Float64)?));
        let picture =
            Picture { title, shape: &job.shape, values: &|_| values.borrow_mut().next().unwrap_or(f64::NAN) };
        // Into a draft first: an evaluation may fail midway, and an incomplete picture must not appear.
        let place = tempfile::tempdir().map_err(|error| Failure::file(path, error))?;
        let draft = place.path().join("draft.png");
        let drawn = plot::draw(&draft, true, &picture);
        if let Some(failure) = values.into_inner().failure {
            return Err(failure);
        }
        drawn.map_err(|error| Failure::plot(path, &error))?;
        let copied = std::fs::File::open(&draft).and_then(|mut file| io::copy(&mut file, &mut target));
        copied.map_err(|error| Failure::file(path, error))?;
        target.finish().map_err(|error| Failure::target(path, &error))
    }
}

/// The elements of a result one by one, in C order.
struct Stream<'j> {
    values: Values<'j>,
    chunk: Vec<f64>,
    at: usize,
    /// The error after which there are no more.
    failure: Option<Failure>,
}

impl<'j> Stream<'j> {
    fn new(values: Values<'j>) -> Stream<'j> {
        Stream { values, chunk: Vec::new(), at: 0, failure: None }
    }

    /// The next element; none after a failure.
    fn next(&mut self) -> Option<f64> {
        if self.at == self.chunk.len() && self.failure.is_none() {
            (self.at, self.chunk) = (0, Vec::new());
            match self.values.next() {
                Ok(bytes) => self.chunk = bytes.map(|bytes| floats(bytes)).unwrap_or_default(),
                Err(failure) => self.failure = Some(failure),
            }
        }
        let value = self.chunk.get(self.at).copied();
        self.at += value.is_some() as usize;
        value
    }
}

/// The float64 values that these bytes are in memory.
fn floats(bytes: &[u8]) -> Vec<f64> {
    let (whole, _) = bytes.as_chunks::<8>();
    whole.iter().map(|&bytes| f64::from_ne_bytes(bytes)).collect()
}
