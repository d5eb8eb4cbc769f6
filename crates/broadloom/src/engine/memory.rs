//! The memory that an evaluation writes: roots, given or new, and temporaries.
//!
//! In: a recipe, where its roots go, and a stage at a time. Out: views of what the stage writes. Must hold: a
//! temporary exists from the stage that writes it to the last that reads it; on an error the buffers
//! of roots and of finished temporaries go back to the pool.

use std::ops::ControlFlow;

use broadloom_core::fuse::{Stage, Target};
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape};
use broadloom_mem::{AliasPolicy, Buffer, Nest, Operand, Pool, Region, Scratch, View, ViewMut};
use smallvec::SmallVec;

use crate::engine::{Engine, Recipe};

/// Where a root's values go.
pub(crate) enum Destination<'d> {
    /// To a new contiguous buffer.
    New,
    /// To this memory, in row-major order.
    Bytes(&'d mut [u8]),
    /// To this memory, of the root's shape and dtype.
    Given(Box<ViewMut<'d>>),
}

/// The memory of an evaluation's roots and temporaries.
pub(super) struct Memory<'d> {
    pub roots: SmallVec<[Root<'d>; 2]>,
    pub temps: Vec<Option<Buffer>>,
}

/// A root's memory.
pub(super) struct Root<'d> {
    dtype: DType,
    shape: Shape,
    place: Place<'d>,
}

enum Place<'d> {
    New(Buffer),
    Given(ViewMut<'d>),
}

/// Temporaries that a stage writes, out of the way of those that it reads.
pub(super) type Written = SmallVec<[(u32, DType, Buffer); 2]>;

impl<'d> Memory<'d> {
    pub fn new(
        engine: &Engine,
        recipe: &Recipe,
        destinations: SmallVec<[Destination<'d>; 2]>,
    ) -> Result<Memory<'d>> {
        let mut roots = SmallVec::new();
        for ((dtype, shape), destination) in recipe.roots.iter().zip(destinations) {
            let place = match destination {
                Destination::New => Place::New(engine.buffer(dtype.size() * shape.elements())?),
                Destination::Bytes(bytes) => Place::Given(contiguous_view(bytes, *dtype, shape)?),
                Destination::Given(view) => Place::Given(*view),
            };
            roots.push(Root { dtype: *dtype, shape: shape.clone(), place });
        }
        Ok(Memory { roots, temps: recipe.temps.iter().map(|_| None).collect() })
    }

    /// Makes the temporaries that a stage writes.
    pub fn take_written(&self, engine: &Engine, stage: &Stage) -> Result<Written> {
        let mut written = Written::new();
        for (target, dtype) in stage.outputs.iter().zip(stage.kernel.output_dtypes()) {
            if let Target::Temp(t) = target {
                written.push((*t, dtype, engine.buffer(dtype.size() * stage.shape.elements())?));
            }
        }
        Ok(written)
    }

    pub fn put_written(&mut self, written: Written) {
        for (t, _, buffer) in written {
            self.temps[t as usize] = Some(buffer);
        }
    }

    /// Gives temporaries back that no later stage reads.
    pub fn release(&mut self, pool: &Pool, last_read: &[usize], stage: usize) {
        for (temp, &last) in self.temps.iter_mut().zip(last_read) {
            if last == stage
                && let Some(buffer) = temp.take()
            {
                pool.give(buffer);
            }
        }
    }

    /// The new buffers of the roots; on an error they go back to the pool.
    pub fn finish(self, pool: &Pool, done: Result<()>) -> Result<SmallVec<[Option<Buffer>; 2]>> {
        self.temps.into_iter().flatten().for_each(|b| pool.give(b));
        let buffers = self.roots.into_iter().map(|root| match root.place {
            Place::New(buffer) => Some(buffer),
            Place::Given(_) => None,
        });
        match done {
            Ok(()) => Ok(buffers.collect()),
            Err(e) => {
                buffers.flatten().for_each(|b| pool.give(b));
                Err(e)
            }
        }
    }
}

/// The memory of a stage's outputs, in their order.
pub(super) fn outputs<'m>(
    roots: &'m mut SmallVec<[Root<'_>; 2]>,
    stage: &Stage,
    written: &'m mut Written,
) -> Result<SmallVec<[ViewMut<'m>; 4]>> {
    let place = |target: Target| stage.outputs.iter().position(|t| *t == target);
    let mut found: SmallVec<[(usize, ViewMut<'m>); 4]> = SmallVec::new();
    for (i, root) in roots.iter_mut().enumerate() {
        if let Some(at) = place(Target::Root(i as u32)) {
            let view = match &mut root.place {
                Place::Given(view) => view.reborrow(),
                Place::New(buffer) => contiguous_mut(buffer, root.dtype, &root.shape)?,
            };
            found.push((at, view));
        }
    }
    for (t, dtype, buffer) in written.iter_mut() {
        if let Some(at) = place(Target::Temp(*t)) {
            found.push((at, contiguous_mut(buffer, *dtype, &stage.shape)?));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    Ok(found.into_iter().map(|(_, view)| view).collect())
}

/// A layout's offset and strides in bytes.
fn in_bytes(layout: &Layout, dtype: DType) -> Result<(usize, SmallVec<[isize; 6]>)> {
    let size = dtype.size();
    let strides = layout.strides.iter().map(|s| s.checked_mul(size as isize)).collect::<Option<_>>();
    let offset = usize::try_from(layout.offset).ok().and_then(|offset| offset.checked_mul(size));
    offset
        .zip(strides)
        .ok_or_else(|| Error::new(ErrorKind::Memory, "the layout reaches outside of its memory"))
}

/// A layout over memory.
pub(crate) fn view<'v>(region: Region<'v>, dtype: DType, layout: &Layout) -> Result<View<'v>> {
    let (offset, strides) = in_bytes(layout, dtype)?;
    region
        .view(dtype.size(), offset, &layout.shape, &strides)
        .map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))
}

/// A layout over memory that is written.
pub(crate) fn view_mut<'v>(bytes: &'v mut [u8], dtype: DType, layout: &Layout) -> Result<ViewMut<'v>> {
    let (offset, strides) = in_bytes(layout, dtype)?;
    ViewMut::new(bytes, dtype.size(), offset, &layout.shape, &strides)
        .map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))
}

/// All of some memory, in row-major order.
pub(crate) fn contiguous_view<'v>(bytes: &'v mut [u8], dtype: DType, shape: &Shape) -> Result<ViewMut<'v>> {
    view_mut(bytes, dtype, &Layout::contiguous(shape.clone()))
}

pub(super) fn contiguous_mut<'v>(buffer: &'v mut Buffer, dtype: DType, shape: &Shape) -> Result<ViewMut<'v>> {
    let internal = || Error::new(ErrorKind::Internal, "a result's buffer is not writable");
    let bytes = buffer.as_bytes_mut().ok_or_else(internal)?;
    contiguous_view(bytes, dtype, shape)
}

/// Copies elements, of one shape.
pub(crate) fn copy(from: View<'_>, to: ViewMut<'_>) -> Result<()> {
    let shape: SmallVec<[usize; 6]> = from.shape().into();
    let item = from.item();
    let mut nest =
        Nest::new(&shape, &[from], [to]).map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))?;
    let mut scratch = Scratch::new();
    let _ = nest.run(AliasPolicy::Copy, &mut scratch, &mut |block| {
        for row in 0..block.rows() {
            let (inputs, mut outputs) = block.row(row);
            macro_rules! copy_row {
                ($t:ty) => {{
                    let out = outputs.get::<$t>(0);
                    match inputs.get::<$t>(0) {
                        Operand::Slice(row) => out.copy_from_slice(row),
                        Operand::Splat(x) => out.fill(x),
                    }
                }};
            }
            match item {
                1 => copy_row!(u8),
                2 => copy_row!(u16),
                4 => copy_row!(u32),
                _ => copy_row!(u64),
            }
        }
        ControlFlow::Continue(())
    });
    match scratch.take_refusal() {
        Some(refused) => Err(Error::new(ErrorKind::Limit, refused.to_string())),
        None => Ok(()),
    }
}
