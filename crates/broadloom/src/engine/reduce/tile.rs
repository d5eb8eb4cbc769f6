//! The tile that a stage's kernel computes elements into before they are combined.
//!
//! The loops around the kernel are planned for each tile: they pack what does not follow each other in memory, and read the
//! rest in place.

use std::ops::ControlFlow;

use broadloom_core::fuse::Source;
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_interp::Program;
use broadloom_mem::{
    Access, AliasPolicy, AllocError, Block, Buffer, Nest, Stores, View, ViewMut, has_failed,
};
use smallvec::SmallVec;
use std::sync::Arc;

use super::Fold;
use super::geometry::{Form, Run};
use crate::engine::execute::with_workspace;
use crate::engine::prepared::Runner;

type Accesses = SmallVec<[Access; 8]>;

/// The tiles of one thread, and what runs kernels into them.
pub struct Tiles<'f> {
    fold: &'f Fold<'f>,
    /// One for each output.
    buffers: SmallVec<[Buffer; 2]>,
    /// What interprets tiles whose inputs are accessed otherwise than in the first.
    others: Vec<(Accesses, Runner)>,
    /// The accesses of the tile that the run's executor was chosen for.
    first: Option<Accesses>,
    /// The divisions by zero that were met.
    pub faults: SmallVec<[u8; 8]>,
}

impl<'f> Fold<'f> {
    /// How inputs are accessed in the first tile.
    pub fn first_access(&self) -> Result<Accesses> {
        let mut tiles = Tiles::new(self);
        let (run, form) = self.first_tile();
        tiles.bind(&run, form, |nest| Ok(nest.accesses().collect()))
    }

    fn first_tile(&self) -> (Run, Form) {
        let geometry = self.geometry;
        let (range, starts) = geometry.piece(0);
        let (form, limit) = match geometry.form {
            Form::Rows { results: 2.. } => (Form::Rows { results: range.len() }, geometry.count),
            _ => (Form::Across { width: range.len() }, (geometry.tile / range.len().max(1)).max(1)),
        };
        (geometry.run(&starts, 0, geometry.count, limit), form)
    }
}

impl<'f> Tiles<'f> {
    pub fn new<'a: 'f>(fold: &'f Fold<'a>) -> Tiles<'f> {
        let faults = SmallVec::from_elem(0, fold.outcome.sites());
        Tiles { fold, buffers: SmallVec::new(), others: Vec::new(), first: None, faults }
    }

    /// The first elements of each output's tile.
    pub fn elements(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        self.buffers
            .iter()
            .zip(&self.fold.dtypes)
            .map(move |(buffer, dtype)| &buffer.as_bytes()[..count * dtype.size()])
    }

    /// Computes the elements of a run, of these results: element by element, each for all results, or result by result.
    pub fn compute(&mut self, run: &Run, form: Form) -> Result<()> {
        let mut faults = std::mem::take(&mut self.faults);
        let done = self.bind_and_run(run, form, &mut faults);
        self.faults = faults;
        done
    }

    fn bind_and_run(&mut self, run: &Run, form: Form, faults: &mut [u8]) -> Result<()> {
        let fold = self.fold;
        let first = match self.first.take() {
            Some(first) => first,
            None => fold.first_access()?,
        };
        let mut others = std::mem::take(&mut self.others);
        let done = self.bind(run, form, |nest| {
            let access: Accesses = nest.accesses().collect();
            let runner = match fold.runner.filter(|_| access == first) {
                Some(runner) => runner,
                None => other(fold, &mut others, access)?,
            };
            execute(fold, nest, runner, faults)
        });
        (self.first, self.others) = (Some(first), others);
        done
    }

    /// Plans the loops over a tile, and binds them to memory.
    fn bind<R>(&mut self, run: &Run, form: Form, then: impl FnOnce(&mut Nest<'_>) -> Result<R>) -> Result<R> {
        let geometry = self.fold.geometry;
        let kept = geometry.kept.last().map(|dim| &dim.strides);
        let (front, back) = match form {
            Form::Rows { results } => (Some(results), None),
            Form::Across { width } => (None, Some(width).filter(|width| *width > 1)),
        };
        let inner = || geometry.extents_of(run);
        let extents: SmallVec<[usize; 4]> =
            front.into_iter().chain(inner().map(|(extent, _)| extent)).chain(back).collect();
        let memory = |e: &dyn std::error::Error| Error::new(ErrorKind::Memory, e.to_string());
        let kernel = &self.fold.prepared.stage.kernel;
        let mut inputs: SmallVec<[View<'_>; 4]> = SmallVec::new();
        for (i, (region, dtype)) in self.fold.inputs.iter().zip(&kernel.inputs).enumerate() {
            let of_kept = kept.map_or(0, |strides| strides[i]);
            let mut strides: SmallVec<[isize; 4]> = (front.map(|_| of_kept).into_iter())
                .chain(inner().map(|(_, dim)| dim.strides[i]))
                .chain(back.map(|_| of_kept))
                .collect();
            let view = match self.fold.prepared.stage.inputs[i].source {
                Source::Index => View::generated(run.starts[i], &extents, &strides),
                _ => {
                    strides.iter_mut().for_each(|stride| *stride *= dtype.size() as isize);
                    region.view(dtype.size(), run.starts[i] as usize * dtype.size(), &extents, &strides)
                }
            };
            inputs.push(view.map_err(|e| memory(&e))?);
        }
        let count: usize = extents.iter().product();
        self.make_buffers(count)?;
        let mut outputs: SmallVec<[ViewMut<'_>; 2]> = SmallVec::new();
        for (buffer, dtype) in self.buffers.iter_mut().zip(&self.fold.dtypes) {
            let mut step = dtype.size() as isize;
            let mut strides: SmallVec<[isize; 4]> = SmallVec::new();
            for &extent in extents.iter().rev() {
                strides.push(step);
                step *= extent as isize;
            }
            strides.reverse();
            let bytes = buffer.as_bytes_mut().unwrap_or(&mut []);
            let view = ViewMut::new(bytes, dtype.size(), 0, &extents, &strides);
            outputs.push(view.map_err(|e| memory(&e))?);
        }
        let mut nest = Nest::new(&extents, &inputs, outputs).map_err(|e| memory(&e))?;
        then(&mut nest)
    }

    /// Makes tiles for so many elements.
    fn make_buffers(&mut self, count: usize) -> Result<()> {
        let dtypes = &self.fold.dtypes;
        let fits =
            self.buffers.iter().zip(dtypes).all(|(buffer, dtype)| buffer.len() >= count * dtype.size());
        if self.buffers.is_empty() || !fits {
            let count = count.max(self.fold.geometry.tile);
            let buffer = |dtype: &DType| {
                let refused = |e: AllocError| Error::new(ErrorKind::Limit, e.to_string());
                Buffer::for_overwrite(count * dtype.size()).map_err(refused)
            };
            self.buffers = dtypes.iter().map(buffer).collect::<Result<_>>()?;
        }
        Ok(())
    }
}

/// What runs a tile whose inputs are accessed otherwise than in the first: the interpreter, for which nothing is compiled.
fn other<'o>(
    fold: &Fold<'_>,
    others: &'o mut Vec<(Accesses, Runner)>,
    access: Accesses,
) -> Result<&'o Runner> {
    let known = others.iter().position(|(of, _)| *of == access);
    let place = match known {
        Some(place) => place,
        None => {
            let prepared = fold.prepared;
            let program = Program::new(&prepared.stage.kernel, &prepared.functions, &access)?;
            others.push((access, Runner::Interp(Arc::new(program))));
            others.len() - 1
        }
    };
    Ok(&others[place].1)
}

/// Runs the kernel over a tile.
fn execute(fold: &Fold<'_>, nest: &mut Nest<'_>, runner: &Runner, faults: &mut [u8]) -> Result<()> {
    with_workspace(|scratch, tiles| {
        let mut failure = None;
        let can_fail = fold.prepared.can_fail;
        let mut body =
            |block: &mut Block<'_>| match runner.run(Stores::Cached, block, fold.params, faults, tiles) {
                Ok(()) if can_fail && has_failed() => ControlFlow::Break(()),
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            };
        let _ = nest.run(AliasPolicy::Copy, scratch, &mut body);
        if let Some(refused) = scratch.take_refusal() {
            failure = Some(Error::new(ErrorKind::Limit, refused.to_string()));
        }
        failure.map_or(Ok(()), Err)
    })
}
