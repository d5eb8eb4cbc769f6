//! `broadloom eval`: from the command line to files, pictures and text.
//!
//! In: [`EvalArgs`]. Out: what they ask for. Must hold: names, types, shapes and targets are checked before any
//! element is computed; memory is bounded by the chunk and the operands that are not cut, whatever the result's size.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use broadloom::text::Expression;
use broadloom::{Array, DType};
use broadloom_mem::Buffer;

use crate::args::EvalArgs;
use crate::chunk::{self, Block, Chunks, Order};
use crate::failure::{Failure, warn};
use crate::input::{self, Input};
use crate::npy::NpyWriter;
use crate::plot::{self, Picture, PlotError};
use crate::progress::{Progress, notice_interrupts};
use crate::run::Settings;
use crate::target::Target;

/// Evaluates the expression of a command line.
pub fn eval(args: &EvalArgs) -> Result<(), Failure> {
    let expression = Expression::parse(&args.expression).map_err(Failure::Text)?;
    let inputs = open(args, &expression)?;
    let job = Job::new(expression, inputs, args)?;
    let output = args.output.as_deref().map(|path| job.begin_output(path, args)).transpose()?;
    let picture = args.plot.as_deref().map(|path| job.begin_picture(path, args)).transpose()?;
    notice_interrupts();
    if args.explain {
        job.explain()?;
    }
    let is_quiet = output.is_some() || picture.is_some();
    let written = match (output, &args.output) {
        (Some((writer, order)), Some(path)) => {
            job.write(writer, order, path)?;
            // What was computed is drawn, not computed again.
            Some(Job {
                expression: Expression::parse("result").map_err(Failure::Text)?,
                inputs: vec![Input::open("result", path)?],
                ..job.clone_settings()
            })
        }
        _ => None,
    };
    if let (Some(target), Some(path)) = (picture, &args.plot) {
        written.as_ref().unwrap_or(&job).draw(&args.expression, target, path)?;
    }
    if is_quiet { Ok(()) } else { job.print() }
}

/// Opens the files of the inputs that are used; of those that are not, says so.
fn open(args: &EvalArgs, expression: &Expression) -> Result<Vec<Input>, Failure> {
    let used: HashSet<&str> = expression.names().into_iter().collect();
    let mut seen = HashSet::new();
    if let Some(twice) = args.inputs.iter().find(|binding| !seen.insert(&binding.name)) {
        return Err(Failure::Usage(format!("two files are given for `{}`", twice.name)));
    }
    if args.output.is_some() && args.output == args.plot {
        return Err(Failure::Usage("the result and its picture can't be one file".into()));
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

/// An expression over files, typed as a whole.
struct Job {
    expression: Expression,
    inputs: Vec<Input>,
    settings: Settings,
    dtype: DType,
    shape: Vec<usize>,
    chunk_bytes: usize,
}

impl Job {
    fn new(expression: Expression, inputs: Vec<Input>, args: &EvalArgs) -> Result<Job, Failure> {
        let settings = Settings::new(args);
        let stand_ins = inputs.iter().map(|input| Ok((&*input.name, input.stand_in()?)));
        let whole = settings.build(&expression, &stand_ins.collect::<Result<Vec<_>, _>>()?)?;
        let (dtype, shape) = (whole.dtype(), whole.shape().to_vec());
        drop(whole);
        Ok(Job { expression, inputs, settings, dtype, shape, chunk_bytes: args.chunk_bytes.get() })
    }

    /// Another job with the result's type and the same settings, without an expression.
    fn clone_settings(&self) -> Job {
        todo!()
    }
}
