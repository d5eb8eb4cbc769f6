//! Writes results to files.
//!
//! A result is written chunk by chunk to each of its `.npy` files. Archives, tables and pictures are made from such a file after
//! all results are computed, so that no result is computed twice. At the end, all files are moved to their paths together.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Stdout, Write};
use std::path::Path;

use broadloom::{Array, DType};

use crate::failure::Failure;
use crate::format::Format;
use crate::input::{self, Order};
use crate::job::{self, ComputedValues, Job};
use crate::npy::{self, NpyError, NpyWriter};
use crate::npz;
use crate::plot::{self, Picture};
use crate::request::{Request, ResultFormat};
use crate::scratch::TemporaryFile;
use crate::table::{self, ResultColumn};
use crate::target::{Target, finish_all};

/// Where the bytes of a `.npy` file are written.
enum Store {
    Target(Target),
    /// An unnamed temporary file, from which other files are made.
    Scratch(BufWriter<TemporaryFile>),
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

/// A result, and the files to which it is being written.
struct ResultSink {
    result: usize,
    writer: NpyWriter<Store>,
}

/// A file that is made from the stored results at the end.
struct Derived {
    request: Request,
    target: Target,
}

/// The output files of a command line. They have been created, but not yet written.
pub struct Outputs<'c> {
    job: &'c Job,
    sinks: Vec<ResultSink>,
    derived: Vec<Derived>,
    /// The axis order of each result in its files.
    orders: Vec<Order>,
    /// Files that are completely written, but are not at their paths yet.
    ready: Vec<Target>,
    force: bool,
}

impl<'c> Outputs<'c> {
    /// Checks that the results can be written as requested, and creates the files.
    pub fn begin(job: &'c Job, requests: &[Request], force: bool) -> Result<Outputs<'c>, Failure> {
        let orders = orders(job, requests);
        let mut outputs =
            Outputs { job, sinks: Vec::new(), derived: Vec::new(), orders, ready: Vec::new(), force };
        let (streams, files): (Vec<_>, Vec<_>) =
            requests.iter().partition(|r| r.form == ResultFormat::Stream);
        for request in files {
            outputs.request(request)?;
        }
        // An archive or a table is made from stored results, so each of its results needs a file. A picture whose result is not
        // stored is drawn while the result is computed.
        let mut needed = Vec::new();
        for derived in outputs.derived.iter().filter(|derived| derived.request.form != ResultFormat::Picture)
        {
            let (directory, path) = (derived.target.directory(), derived.request.path.clone());
            let results = derived.request.results.iter();
            needed.extend(results.map(|&result| (result, directory.clone(), path.clone())));
        }
        for (result, directory, path) in needed {
            if !outputs.sinks.iter().any(|sink| sink.result == result) {
                let file = TemporaryFile::create_in(&directory);
                let file = file.map_err(|error| Failure::file(&path, error))?;
                let scratch = Store::Scratch(BufWriter::with_capacity(64 << 10, file));
                outputs.sink(result, scratch, &directory)?;
            }
        }
        // Bytes on standard output can't be taken back, so this output is set up last, after everything that can be rejected.
        for &result in streams.iter().flat_map(|request| &request.results) {
            outputs.sink(result, Store::Stream(io::stdout()), Path::new("standard output"))?;
        }
        Ok(outputs)
    }

    /// Sets up the output of a request.
    fn request(&mut self, request: &Request) -> Result<(), Failure> {
        let path = &*request.path;
        let (job, force) = (self.job, self.force);
        let create = || Target::create(path, force).map_err(|error| Failure::target(path, &error));
        match request.form {
            ResultFormat::File(Format::Npy) => {
                for &result in &request.results {
                    let target = Store::Target(create()?);
                    self.sink(result, target, path)?;
                }
                return Ok(());
            }
            ResultFormat::File(Format::Csv) => {
                let shapes: Vec<&[usize]> = request.results.iter().map(|&at| job.shape(at)).collect();
                table::check(&shapes).map_err(|error| Failure::file(path, error))?;
            }
            ResultFormat::File(Format::Npz) | ResultFormat::Stream => {}
            ResultFormat::Picture => {
                let shape = request.results.first().map_or(&[][..], |&at| job.shape(at));
                plot::check(shape).map_err(|error| Failure::file(path, error))?;
            }
        }
        let target = create()?;
        self.derived.push(Derived { request: request.clone(), target });
        Ok(())
    }

    fn sink(&mut self, result: usize, store: Store, path: &Path) -> Result<(), Failure> {
        let fortran = self.orders[result] == Order::Fortran;
        let writer = NpyWriter::new(store, self.job.dtype(result), self.job.shape(result), fortran);
        self.sinks.push(ResultSink { result, writer: writer.map_err(|error| written(path, error))? });
        Ok(())
    }

    /// Adds a complete file, to be moved to its path together with the others.
    pub fn add(&mut self, target: Target) {
        self.ready.push(target);
    }

    /// Computes the results and writes all files. `title` is the title of pictures.
    pub fn write(mut self, title: &str) -> Result<(), Failure> {
        self.compute()?;
        let stored = self.stored()?;
        for Derived { request, mut target } in std::mem::take(&mut self.derived) {
            let path = &*request.path;
            let failed = |error: &dyn std::fmt::Display| Failure::file(path, error);
            match request.form {
                ResultFormat::File(Format::Npz) => {
                    let mut members = Vec::new();
                    for &at in &request.results {
                        members.push((self.job.names()[at].clone(), open(&stored, at, path)?));
                    }
                    npz::write(&mut target, &mut members).map_err(|error| failed(&error))?;
                }
                ResultFormat::File(Format::Csv) => {
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

    /// Computes all results that have a sink. Results of the same shape and order are computed together.
    fn compute(&mut self) -> Result<(), Failure> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for ResultSink { result, .. } in &self.sinks {
            let is_alike = |other: usize| {
                self.job.shape(other) == self.job.shape(*result) && self.orders[other] == self.orders[*result]
            };
            match groups.iter_mut().find(|group| is_alike(group[0])) {
                Some(group) if group.contains(result) => {}
                Some(group) => group.push(*result),
                None => groups.push(vec![*result]),
            }
        }
        for group in groups {
            let mut values = self.job.values("writing", &group, self.orders[group[0]], None)?;
            while let Some(arrays) = values.next()? {
                for (&result, array) in group.iter().zip(&arrays) {
                    self.take(result, array)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a chunk of a result to all files of the result.
    fn take(&mut self, result: usize, array: &Array<'_>) -> Result<(), Failure> {
        let bytes = job::bytes(array)?;
        let swapped = cfg!(target_endian = "big").then(|| {
            let mut bytes = bytes.to_vec();
            input::swap(&mut bytes, array.dtype().size());
            bytes
        });
        let bytes = swapped.as_deref().unwrap_or(bytes);
        let mut closed = None;
        for (at, sink) in self.sinks.iter_mut().enumerate().filter(|(_, sink)| sink.result == result) {
            let outcome = sink.writer.write(bytes);
            match outcome.map_err(|error| written(sink.writer.to().path(), error)) {
                Err(Failure::Closed) => closed = Some(at),
                outcome => outcome?,
            }
        }
        if let Some(closed) = closed {
            self.sinks.remove(closed);
            // If the reader of standard output has closed it, the work ends, unless there are other outputs.
            if self.sinks.is_empty() && self.derived.is_empty() && self.ready.is_empty() {
                return Err(Failure::Closed);
            }
        }
        Ok(())
    }

    /// Finishes the files of the results. Returns those from which other files are made, opened for reading.
    fn stored(&mut self) -> Result<Vec<(usize, File)>, Failure> {
        let mut stored = Vec::new();
        for ResultSink { result, writer } in std::mem::take(&mut self.sinks) {
            let path = writer.to().path().to_owned();
            let failed = |error| written(&path, error);
            match writer.finish().map_err(failed)? {
                Store::Target(mut target) => {
                    stored.push((result, target.reader().map_err(|error| failed(error.into()))?));
                    self.ready.push(target);
                }
                Store::Scratch(file) => {
                    let file = file.into_inner().map_err(|error| failed(error.into_error().into()))?;
                    stored.push((result, file.into_file()));
                }
                Store::Stream(_) => {}
            }
        }
        Ok(stored)
    }

    fn column(&self, stored: &[(usize, File)], at: usize, path: &Path) -> Result<ResultColumn, Failure> {
        let mut file = open(stored, at, path)?;
        let header = npy::read_header(&mut file).map_err(|error| Failure::npy(path, &error))?;
        Ok(ResultColumn { name: self.job.names()[at].clone(), file, header })
    }

    /// Draws a result, from its file if it is stored, or while it is computed.
    fn picture(
        &self,
        stored: &[(usize, File)],
        at: usize,
        path: &Path,
        title: &str,
    ) -> Result<Vec<u8>, Failure> {
        let title = if self.job.names().len() > 1 { &self.job.names()[at] } else { title };
        if !stored.iter().any(|(result, _)| *result == at) {
            return draw(self.job, at, path, title);
        }
        draw(&self.job.of_file(path, open(stored, at, path)?)?, 0, path, title)
    }
}

impl Store {
    /// The path that messages about the file contain.
    fn path(&self) -> &Path {
        match self {
            Store::Target(target) => target.path(),
            Store::Scratch(_) => Path::new("a temporary file"),
            Store::Stream(_) => Path::new("standard output"),
        }
    }
}

/// The axis order of each result. A result that goes into a table is stored in C order.
fn orders(job: &Job, requests: &[Request]) -> Vec<Order> {
    let is_table = |at: usize| {
        requests.iter().any(|r| r.form == ResultFormat::File(Format::Csv) && r.results.contains(&at))
    };
    let fastest = job.order();
    (0..job.names().len()).map(|at| if is_table(at) { Order::C } else { fastest }).collect()
}

/// The failure for an error while writing.
fn written(path: &Path, error: NpyError) -> Failure {
    match error {
        NpyError::Io(error) if path == Path::new("standard output") => Failure::stdout(error),
        error => Failure::npy(path, &error),
    }
}

/// Opens the stored file of a result.
fn open(stored: &[(usize, File)], at: usize, path: &Path) -> Result<File, Failure> {
    let found = stored.iter().find(|(result, _)| *result == at);
    let missing = || Failure::file(path, "the result was not written");
    found.ok_or_else(missing)?.1.try_clone().map_err(|error| Failure::file(path, error))
}

/// Computes a result and draws it.
fn draw(job: &Job, result: usize, path: &Path, title: &str) -> Result<Vec<u8>, Failure> {
    let values = job.values("drawing", &[result], Order::C, Some(DType::Float64))?;
    let values = RefCell::new(ElementStream::new(values));
    let shape = job.shape(result);
    let picture = Picture { title, shape, values: &|_| values.borrow_mut().next().unwrap_or(f64::NAN) };
    let drawn = plot::draw(&picture);
    // If the evaluation failed midway, the picture is incomplete and is not written.
    if let Some(failure) = values.into_inner().failure {
        return Err(failure);
    }
    drawn.map_err(|error| Failure::file(path, error))
}

/// The elements of a result in C order, as float64, computed on demand.
struct ElementStream<'j> {
    values: ComputedValues<'j>,
    chunk: Option<Array<'static>>,
    at: usize,
    /// The error with which the evaluation ended.
    failure: Option<Failure>,
}

impl<'j> ElementStream<'j> {
    fn new(values: ComputedValues<'j>) -> ElementStream<'j> {
        ElementStream { values, chunk: None, at: 0, failure: None }
    }

    /// The next element; `None` after an error.
    fn next(&mut self) -> Option<f64> {
        let chunk = |chunk: &Option<Array<'static>>, at: usize| {
            chunk.as_ref().and_then(Array::as_slice::<f64>).and_then(|chunk| chunk.get(at)).copied()
        };
        let mut value = chunk(&self.chunk, self.at);
        if value.is_none() && self.failure.is_none() {
            // The previous chunk is freed before the next one is computed.
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
