//! `broadloom eval`: evaluates an expression over files and writes the results.
//!
//! Names, types, shapes and output files are checked before any element is computed, so that a mistake in the request
//! is reported at once.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use broadloom::text::Expression;
use broadloom::{Array, DType};

use crate::args::EvalArgs;
use crate::failure::{Failure, warn};
use crate::input::{self, Input, Order};
use crate::job::{self, Job, Values};
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
    let job = Job::new(&expression, inputs, Settings::new(args), args.max_bytes.get())?;
    notice_interrupts();
    let output = args.output.as_deref().map(|path| Output::begin(&job, path, args.force)).transpose()?;
    let drawing = args.plot.as_deref().map(|path| Drawing::begin(&job, path, args.force)).transpose()?;
    let order = output.as_ref().map_or(Order::C, |output| output.order);
    if args.explain {
        print(&job.explain(0, order)?)?;
    }
    if let Some(path) = &args.explain_html {
        let page = job.explain_html(0, order, &args.expression)?;
        let mut target = Target::create(path, args.force).map_err(|error| Failure::target(path, &error))?;
        target.write_all(page.as_bytes()).map_err(|error| Failure::file(path, error))?;
        target.finish().map_err(|error| Failure::target(path, &error))?;
    }
    if output.is_none() && drawing.is_none() {
        return print(&format!("{}\n", job.text(0)?));
    }
    let written = output.map(Output::write).transpose()?;
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
struct Output<'p, 'j> {
    path: &'p Path,
    writer: NpyWriter,
    order: Order,
    values: Values<'j>,
    job: &'j Job,
}

impl<'p, 'j> Output<'p, 'j> {
    fn begin(job: &'j Job, path: &'p Path, force: bool) -> Result<Output<'p, 'j>, Failure> {
        let order = job.order();
        // Chunks beyond the limit are an error before there is a file.
        let values = job.values("writing", &[0], order, None)?;
        let writer = NpyWriter::create(path, job.dtype(0), job.shape(0), order == Order::Fortran, force)
            .map_err(|error| Failure::npy(path, &error))?;
        Ok(Output { path, writer, order, values, job })
    }

    /// Writes the file, and returns a job that reads it.
    fn write(self) -> Result<Job, Failure> {
        let Output { path, mut writer, mut values, job, .. } = self;
        while let Some(results) = values.next()? {
            for result in &results {
                let bytes = job::bytes(result)?;
                let written = if cfg!(target_endian = "big") {
                    let mut swapped = bytes.to_vec();
                    input::swap(&mut swapped, result.dtype().size());
                    writer.write(&swapped)
                } else {
                    writer.write(bytes)
                };
                written.map_err(|error| Failure::npy(path, &error))?;
            }
        }
        drop(values);
        writer.finish().map_err(|error| Failure::npy(path, &error))?;
        job.of_file(path)
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
        let refused = match job.shape(0) {
            shape @ ([_] | [_, _]) if !shape.contains(&0) => None,
            shape @ ([_] | [_, _]) => Some(PlotError::Empty { shape: shape.to_vec() }),
            shape => Some(PlotError::Rank { rank: shape.len() }),
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
        let values = job.values("drawing", &[0], Order::C, Some(DType::Float64))?;
        let values = RefCell::new(Stream::new(values));
        let picture = Picture {
            title,
            shape: job.shape(0),
            values: &|_| values.borrow_mut().next().unwrap_or(f64::NAN),
        };
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

/// The elements of a result one by one, in C order, as float64.
struct Stream<'j> {
    values: Values<'j>,
    chunk: Option<Array<'static>>,
    at: usize,
    /// The error after which there are no more.
    failure: Option<Failure>,
}

impl<'j> Stream<'j> {
    fn new(values: Values<'j>) -> Stream<'j> {
        Stream { values, chunk: None, at: 0, failure: None }
    }

    /// The next element; none after a failure.
    fn next(&mut self) -> Option<f64> {
        let chunk = |chunk: &Option<Array<'static>>, at: usize| {
            chunk.as_ref().and_then(Array::as_slice::<f64>).and_then(|chunk| chunk.get(at)).copied()
        };
        let mut value = chunk(&self.chunk, self.at);
        if value.is_none() && self.failure.is_none() {
            // The last one is freed first.
            (self.at, self.chunk) = (0, None);
            match self.values.next() {
                Ok(results) => self.chunk = results.and_then(|mut results| results.pop()),
                Err(failure) => self.failure = Some(failure),
            }
            value = chunk(&self.chunk, 0);
        }
        self.at += value.is_some() as usize;
        value
    }
}
