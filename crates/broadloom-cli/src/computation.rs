//! What a command line computes: one result, or several at once.

use std::fs::File;
use std::path::Path;

use broadloom::text::{Expression, Program};

use crate::advice::{self, Given};
use crate::chunk::Order;
use crate::failure::Failure;
use crate::input::Input;
use crate::job::Job;
use crate::run::Settings;
use crate::several::{ResultType, Several};

/// A well-typed program over files.
pub enum Computation {
    One(Job, ResultType),
    Several(Several),
}

impl Computation {
    /// Types a program.
    pub fn new(
        program: Program,
        inputs: Vec<Input>,
        settings: Settings,
        chunk_bytes: usize,
    ) -> Result<Computation, Failure> {
        let given: Vec<Given> = inputs.iter().map(Input::given).collect();
        if let Some(error) = advice::undeclared(&program, &given) {
            return Err(Failure::Text(error));
        }
        let about = |failure, program: &Program| match failure {
            Failure::Text(error) => Failure::Text(advice::about(error, program, &given)),
            failure => failure,
        };
        if program.outputs().len() != 1 {
            let several = Several::new(program.clone(), inputs, settings, chunk_bytes);
            return several.map(Computation::Several).map_err(|failure| about(failure, &program));
        }
        let expression = Expression::parse(program.text()).map_err(Failure::Text)?;
        let job = Job::new(expression, inputs, settings, chunk_bytes).map_err(|f| about(f, &program))?;
        let name = program.outputs().next().unwrap_or_default().to_owned();
        let result = ResultType { name, dtype: job.dtype, shape: job.shape.clone() };
        Ok(Computation::One(job, result))
    }

    /// The results in their order.
    pub fn results(&self) -> &[ResultType] {
        match self {
            Computation::One(_, result) => std::slice::from_ref(result),
            Computation::Several(several) => &several.results,
        }
    }

    /// The order of a result's elements that is the fastest one to compute.
    pub fn order(&self) -> Order {
        match self {
            Computation::One(job, _) => job.order(),
            Computation::Several(_) => Order::C,
        }
    }

    /// Computes results, each in its order, and gives the bytes of each chunk to `take`, by the place in `wanted`. The
    /// bytes are those of memory.
    pub fn each(
        &self,
        wanted: &[(usize, Order)],
        take: &mut dyn FnMut(usize, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Computation::Several(several) => {
                several.each(&wanted.iter().map(|(at, _)| *at).collect::<Vec<_>>(), take)
            }
            Computation::One(job, result) => {
                for (i, (_, order)) in wanted.iter().enumerate() {
                    let mut values = job.values("writing", *order, result.dtype)?;
                    while let Some(bytes) = values.next()? {
                        take(i, bytes)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// The results as text; summaries of large ones.
    pub fn text(&self) -> Result<String, Failure> {
        match self {
            Computation::One(job, _) => job.text(),
            Computation::Several(several) => several.text(),
        }
    }

    /// How the results would be evaluated.
    pub fn explain(&self, order: Order) -> Result<String, Failure> {
        match self {
            Computation::One(job, _) => job.explain(order),
            Computation::Several(several) => several.explain(),
        }
    }

    /// The same as a page of HTML, with the code of the kernels.
    pub fn explain_html(&self, order: Order, title: &str) -> Result<String, Failure> {
        match self {
            Computation::One(job, _) => job.explain_html(order, title),
            Computation::Several(_) => {
                Err(Failure::Usage("--explain-html shows one result; write --explain for several".into()))
            }
        }
    }

    /// A computation that gives what is in a file, with the settings of this one.
    pub fn of_file(&self, path: &Path, file: File) -> Result<Job, Failure> {
        let input = Input::of_file("result", path, file)?;
        let expression = Expression::parse("result").map_err(Failure::Text)?;
        let (settings, chunk_bytes) = match self {
            Computation::One(job, _) => (job.settings(), job.chunk_bytes()),
            Computation::Several(several) => (several.settings(), several.chunk_bytes()),
        };
        Job::new(expression, vec![input], settings.clone(), chunk_bytes)
    }
}
