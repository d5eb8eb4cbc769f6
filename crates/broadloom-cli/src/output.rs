//! The files that results are written to.
//!
//! A result goes chunk by chunk to each `.npy` file that is asked for. Archives and tables are made from such a file when
//! all results are there, and so are pictures, so that nothing is computed twice. All files come to their places at the
//! end, together.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Stdout, Write};
use std::path::Path;

use broadloom::DType;

use crate::chunk::Order;
use crate::computation::Computation;
use crate::failure::Failure;
use crate::format::Format;
use crate::input;
use crate::job::{Job, Values};
use crate::npy::{self, NpyError, NpyWriter};
use crate::npz;
use crate::plot::{self, Picture};
use crate::request::{Form, Request};
use crate::several::ResultType;
use crate::table::{self, Column};
use crate::target::{Target, finish_all};

/// Where the bytes of a `.npy` file go.
enum Store {
    Target(Target),
    /// A file without a name, from which others are made.
    Scratch(BufWriter<File>),
    Stream(Stdout),
}

impl Write for Store {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Store::Target(target) => target.write(bytes),
            Store::Scratch(file) => file.write(bytes),
            Store::Stream(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Store::Target(target) => target.flush(),
            Store::Scratch(file) => file.flush(),
            Store::Stream(stdout) => stdout.flush(),
        }
    }
}

/// A result that is being written.
struct Sink {
    result: usize,
    writer: NpyWriter<Store>,
}

/// A file that is made of results once they are computed.
struct Derived {
    request: Request,
    target: Target,
}

/// The files of a command line: created, and not yet written.
pub struct Outputs<'c> {
    computation: &'c Computation,
    sinks: Vec<Sink>,
    derived: Vec<Derived>,
    /// The order of each result's elements in its files.
    orders: Vec<Order>,
    /// Files that are complete.
    ready: Vec<Target>,
    force: bool,
}

impl<'c> Outputs<'c> {
    /// Checks that the results can be written as they are asked for, and creates the files.
    pub fn begin(
        computation: &'c Computation,
        requests: &[Request],
        force: bool,
    ) -> Result<Outputs<'c>, Failure> {
        let orders = orders(computation, requests);
        let mut outputs =
            Outputs { computation, sinks: Vec::new(), derived: Vec::new(), orders, ready: Vec::new(), force };
        for request in requests {
            outputs.request(request)?;
        }
        // What is made of a result needs it in a file; the picture of the only one is drawn while that is computed.
        let is_drawn = |derived: &Derived| {
            derived.request.form == Form::Picture && matches!(computation, Computation::One(..))
        };
        let mut needed = Vec::new();
        for derived in outputs.derived.iter().filter(|derived| !is_drawn(derived)) {
            needed.extend(derived.request.results.iter().map(|&result| (result, derived.target.directory())));
        }
        for (result, directory) in needed {
            let is_there =
                |sink: &Sink| sink.result == result && !matches!(sink.writer.to(), Store::Stream(_));
            if !outputs.sinks.iter().any(is_there) {
                let file = tempfile::tempfile_in(&directory);
                let file = file.map_err(|error| Failure::file(&directory, error))?;
                let scratch = Store::Scratch(BufWriter::with_capacity(64 << 10, file));
                outputs.sink(result, scratch, &directory)?;
            }
        }
        Ok(outputs)
    }

    /// Creates the file of a request.
    fn request(&mut self, request: &Request) -> Result<(), Failure> {
        let path = &*request.path;
        let results = self.computation.results();
        let create = || Target::create(path, self.force).map_err(|error| Failure::target(path, &error));
        match request.form {
            Form::Stream => {
                return request.results.iter().try_for_each(|&result| {
                    self.sink(result, Store::Stream(io::stdout()), Path::new("standard output"))
                });
            }
            Form::File(Format::Npy) => {
                return request.results.iter().try_for_each(|&result| {
                    let target = Store::Target(
                        Target::create(path, self.force).map_err(|error| Failure::target(path, &error))?,
                    );
                    self.sink(result, target, path)
                });
            }
            Form::File(Format::Csv) => {
                let shapes: Vec<&[usize]> = request.results.iter().map(|&at| &*results[at].shape).collect();
                table::check(&shapes).map_err(|error| Failure::file(path, error))?;
            }
            Form::File(Format::Npz) => {}
            Form::Picture => {
                let shape = request.results.first().map_or(&[][..], |&at| &results[at].shape);
                plot::check(shape).map_err(|error| Failure::file(path, error))?;
            }
        }
        let target = create()?;
        self.derived.push(Derived { request: request.clone(), target });
        Ok(())
    }

    fn sink(&mut self, result: usize, store: Store, path: &Path) -> Result<(), Failure> {
        let ResultType { dtype, shape, .. } = &self.computation.results()[result];
        let fortran = self.orders[result] == Order::Fortran;
        let writer = NpyWriter::new(store, *dtype, shape, fortran);
        self.sinks.push(Sink { result, writer: writer.map_err(|error| written(path, error))? });
        Ok(())
    }

    /// A file of one's own, which comes to its place with the others.
    pub fn add(&mut self, target: Target) {
        self.ready.push(target);
    }

    /// Computes the results, and writes all files; pictures have this title.
    pub fn write(mut self, title: &str) -> Result<(), Failure> {
        self.compute()?;
        let stored = self.stored()?;
        for Derived { request, mut target } in std::mem::take(&mut self.derived) {
            let path = &*request.path;
            let failed = |error: &dyn std::fmt::Display| Failure::file(path, error);
            match request.form {
                Form::File(Format::Npz) => {
                    let mut members = Vec::new();
                    for &at in &request.results {
                        members.push((self.computation.results()[at].name.clone(), open(&stored, at, path)?));
                    }
                    npz::write(&mut target, &mut members).map_err(|error| failed(&error))?;
                }
                Form::File(Format::Csv) => {
                    let columns = request.results.iter().map(|&at| self.column(&stored, at, path));
                    let columns = columns.collect::<Result<Vec<_>, Failure>>()?;
                    table::write(&mut target, columns).map_err(|error| failed(&error))?;
                }
                _ => {
                    let at = request.results.first().copied().unwrap_or_default();
                    let picture = self.picture(&stored, at, path, title)?;
                    target.write_all(&picture).map_err(|error| failed(&error))?;
                }
            }
            self.ready.push(target);
        }
        finish_all(self.ready).map_err(|(path, error)| Failure::target(&path, &error))
    }

    /// Computes what has a sink.
    fn compute(&mut self) -> Result<(), Failure> {
        let mut wanted: Vec<(usize, Order)> = Vec::new();
        for sink in &self.sinks {
            if !wanted.iter().any(|(result, _)| *result == sink.result) {
                wanted.push((sink.result, self.orders[sink.result]));
            }
        }
        let (sinks, results) = (RefCell::new(&mut self.sinks), self.computation.results());
        self.computation.each(&wanted, &mut |i, bytes| {
            let result = wanted[i].0;
            let swapped = cfg!(target_endian = "big").then(|| {
                let mut bytes = bytes.to_vec();
                input::swap(&mut bytes, results[result].dtype.size());
                bytes
            });
            let bytes = swapped.as_deref().unwrap_or(bytes);
            for sink in sinks.borrow_mut().iter_mut().filter(|sink| sink.result == result) {
                let outcome = sink.writer.write(bytes);
                outcome.map_err(|error| written(sink.writer.to().path(), error))?;
            }
            Ok(())
        })
    }

    /// The files of the results that are written, for reading.
    fn stored(&mut self) -> Result<Vec<(usize, File)>, Failure> {
        let mut stored = Vec::new();
        for Sink { result, writer } in std::mem::take(&mut self.sinks) {
            let path = writer.to().path().to_owned();
            let failed = |error| written(&path, error);
            match writer.finish().map_err(failed)? {
                Store::Target(mut target) => {
                    stored.push((result, target.reader().map_err(|error| failed(error.into()))?));
                    self.ready.push(target);
                }
                Store::Scratch(file) => {
                    let file = file.into_inner().map_err(|error| failed(error.into_error().into()))?;
                    stored.push((result, file));
                }
                Store::Stream(_) => {}
            }
        }
        Ok(stored)
    }

    fn column(&self, stored: &[(usize, File)], at: usize, path: &Path) -> Result<Column, Failure> {
        let mut file = open(stored, at, path)?;
        let header = npy::read_header(&mut file).map_err(|error| Failure::npy(path, &error))?;
        Ok(Column { name: self.computation.results()[at].name.clone(), file, header })
    }

    /// Draws a result: from its file, or as it is computed.
    fn picture(
        &self,
        stored: &[(usize, File)],
        at: usize,
        path: &Path,
        title: &str,
    ) -> Result<Vec<u8>, Failure> {
        match self.computation {
            Computation::One(job, _) if !stored.iter().any(|(result, _)| *result == at) => {
                draw(job, path, title)
            }
            computation => {
                let title = match computation {
                    Computation::One(..) => title,
                    Computation::Several(several) => &several.results[at].name,
                };
                draw(&computation.of_file(path, open(stored, at, path)?)?, path, title)
            }
        }
    }
}

impl Store {
    /// What messages call it.
    fn path(&self) -> &Path {
        match self {
            Store::Target(target) => target.path(),
            Store::Scratch(_) => Path::new("a temporary file"),
            Store::Stream(_) => Path::new("standard output"),
        }
    }
}

/// The order of each result's elements: a table is read in C order.
fn orders(computation: &Computation, requests: &[Request]) -> Vec<Order> {
    let is_table =
        |at: usize| requests.iter().any(|r| r.form == Form::File(Format::Csv) && r.results.contains(&at));
    let fastest = computation.order();
    (0..computation.results().len()).map(|at| if is_table(at) { Order::C } else { fastest }).collect()
}

/// The error of a write.
fn written(path: &Path, error: NpyError) -> Failure {
    match error {
        NpyError::Io(error) if path == Path::new("standard output") => Failure::stdout(error),
        error => Failure::npy(path, &error),
    }
}

/// The file of a result.
fn open(stored: &[(usize, File)], at: usize, path: &Path) -> Result<File, Failure> {
    let found = stored.iter().find(|(result, _)| *result == at);
    let missing = || Failure::file(path, "the result was not written");
    found.ok_or_else(missing)?.1.try_clone().map_err(|error| Failure::file(path, error))
}

/// Draws the values of a job.
fn draw(job: &Job, path: &Path, title: &str) -> Result<Vec<u8>, Failure> {
    let values = RefCell::new(Stream::new(job.values("drawing", Order::C, DType::Float64)?));
    let picture =
        Picture { title, shape: &job.shape, values: &|_| values.borrow_mut().next().unwrap_or(f64::NAN) };
    let drawn = plot::draw(&picture);
    // An evaluation may fail midway, and an incomplete picture must not appear.
    if let Some(failure) = values.into_inner().failure {
        return Err(failure);
    }
    drawn.map_err(|error| Failure::file(path, error))
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
