//! The memory that an evaluation writes: roots, given or new, and temporaries.
//!
//! A temporary exists from the stage that writes it to the last that reads it. On an error the buffers of roots and of
//! finished temporaries go back to the pool.

use std::ops::ControlFlow;

use broadloom_core::fuse::{InputView, Source, Stage, Target};
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape};
use broadloom_mem::{AliasPolicy, Block, Buffer, Nest, Operand, Pool, Region, Scratch, View, ViewMut};
use smallvec::SmallVec;

use crate::engine::watch::Watch;

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
    pub roots: SmallVec<[RootMemory<'d>; 2]>,
    pub temps: Vec<Option<Buffer>>,
}

/// A root's memory.
pub(super) enum RootMemory<'d> {
    New(Buffer),
    Bytes(&'d mut [u8]),
    Given(Box<ViewMut<'d>>),
}

/// Temporaries that a stage writes, out of the way of those that it reads.
pub(super) type Written = SmallVec<[(u32, Buffer); 2]>;

/// A buffer of the pool's.
pub(super) fn buffer(pool: &Pool, bytes: usize) -> Result<Buffer> {
    pool.take(bytes).map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))
}

impl<'d> Memory<'d> {
    pub fn new(
        pool: &Pool,
        roots: &[(DType, Shape)],
        temps: usize,
        destinations: SmallVec<[Destination<'d>; 2]>,
    ) -> Result<Memory<'d>> {
        let mut memory = Memory { roots: SmallVec::new(), temps: Vec::new() };
        memory.temps.resize_with(temps, || None);
        for ((dtype, shape), destination) in roots.iter().zip(destinations) {
            memory.roots.push(match destination {
                Destination::New => RootMemory::New(buffer(pool, dtype.size() * shape.elements())?),
                Destination::Bytes(bytes) => RootMemory::Bytes(bytes),
                Destination::Given(view) => RootMemory::Given(view),
            });
        }
        Ok(memory)
    }

    /// Makes the temporaries that a stage writes.
    pub fn take_written(&self, pool: &Pool, stage: &Stage) -> Result<Written> {
        let mut written = Written::new();
        for (target, dtype) in stage.outputs.iter().zip(stage.kernel.result_dtypes()) {
            if let Target::Temp(t) = target {
                written.push((*t, buffer(pool, dtype.size() * stage.output_shape().elements())?));
            }
        }
        Ok(written)
    }

    pub fn put_written(&mut self, written: Written) {
        for (t, buffer) in written {
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
        let buffers = self.roots.into_iter().map(|root| match root {
            RootMemory::New(buffer) => Some(buffer),
            RootMemory::Bytes(_) | RootMemory::Given(_) => None,
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

/// A stage's outputs in their order, as `of_root` and `of_temp` make them of what they are in.
fn in_order<'m, 'd, T, E>(
    roots: &'m mut [RootMemory<'d>],
    stage: &Stage,
    written: &'m mut Written,
    of_root: impl Fn(&'m mut RootMemory<'d>, DType) -> std::result::Result<T, E>,
    of_temp: impl Fn(&'m mut Buffer, DType) -> std::result::Result<T, E>,
) -> std::result::Result<SmallVec<[T; 4]>, E> {
    let place = |target: Target| {
        let mut outputs = stage.outputs.iter().zip(stage.kernel.result_dtypes()).enumerate();
        outputs.find(|(_, (t, _))| **t == target).map(|(at, (_, dtype))| (at, dtype))
    };
    let mut found: SmallVec<[(usize, T); 4]> = SmallVec::new();
    for (i, root) in roots.iter_mut().enumerate() {
        if let Some((at, dtype)) = place(Target::Root(i as u32)) {
            found.push((at, of_root(root, dtype)?));
        }
    }
    for (t, buffer) in written.iter_mut() {
        if let Some((at, dtype)) = place(Target::Temp(*t)) {
            found.push((at, of_temp(buffer, dtype)?));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    Ok(found.into_iter().map(|(_, output)| output).collect())
}

/// The memory of a stage's outputs, in their order, if each is a slice.
pub(super) fn slices<'m>(
    roots: &'m mut [RootMemory<'_>],
    stage: &Stage,
    written: &'m mut Written,
) -> Option<SmallVec<[&'m mut [u8]; 4]>> {
    let of_root = |root: &'m mut RootMemory<'_>, _| match root {
        RootMemory::New(buffer) => buffer.as_bytes_mut().ok_or(()),
        RootMemory::Bytes(bytes) => Ok(&mut **bytes),
        RootMemory::Given(_) => Err(()),
    };
    in_order(roots, stage, written, of_root, |buffer, _| buffer.as_bytes_mut().ok_or(())).ok()
}

/// Views of a stage's outputs, in their order.
pub(super) fn outputs<'m>(
    roots: &'m mut [RootMemory<'_>],
    stage: &Stage,
    written: &'m mut Written,
) -> Result<SmallVec<[ViewMut<'m>; 4]>> {
    let shape = stage.output_shape();
    // Reduced axes may stay in a result, with an extent of 1; a stage does not write them.
    let is_reduced = |axis| stage.reduces() && stage.axes.contains(axis);
    let of_root = |root: &'m mut RootMemory<'_>, dtype| match root {
        RootMemory::New(buffer) => contiguous_mut(buffer, dtype, &shape),
        RootMemory::Bytes(bytes) => contiguous_view(bytes, dtype, &shape),
        RootMemory::Given(view) => {
            let view = view.reborrow();
            Ok(if view.shape().len() > shape.rank() { view.without_axes(is_reduced) } else { view })
        }
    };
    in_order(roots, stage, written, of_root, |buffer, dtype| contiguous_mut(buffer, dtype, &shape))
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

/// What a stage reads over its whole index space: in this memory, or in none where it is generated.
pub(super) fn read<'v>(region: Region<'v>, dtype: DType, input: &InputView) -> Result<View<'v>> {
    let InputView { source, layout } = input;
    if *source != Source::Index {
        return view(region, dtype, layout);
    }
    View::generated(layout.offset, &layout.shape, &layout.strides)
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
    contiguous_view(buffer.as_bytes_mut().ok_or_else(internal)?, dtype, shape)
}

/// Elements that are copied between two looks whether the run was cancelled.
const COPIED: usize = 1 << 20;

/// Copies elements, of one shape.
///
/// Errors: also that the run was cancelled.
pub(crate) fn copy(from: View<'_>, to: ViewMut<'_>, watch: Option<&Watch<'_>>) -> Result<()> {
    let shape: SmallVec<[usize; 6]> = from.shape().into();
    let item = from.item();
    let mut nest =
        Nest::new(&shape, &[from], [to]).map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))?;
    let mut scratch = Scratch::new();
    let mut body = |block: &mut Block<'_>| {
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
    };
    let parts = watch.map_or(1, |_| nest.plan().elements().div_ceil(COPIED));
    for part in nest.split(parts, AliasPolicy::Copy) {
        watch.map_or(Ok(()), Watch::check)?;
        if part.run(&mut scratch, &mut body).is_break() {
            break;
        }
    }
    match scratch.take_refusal() {
        Some(refused) => Err(Error::new(ErrorKind::Limit, refused.to_string())),
        None => Ok(()),
    }
}
