//! The temporaries of a run: the memory between its stages. A temporary exists from the step that writes it to the last step that
//! reads it.

use broadloom_core::fuse::{Stage, Target};
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape};
use broadloom_mem::{Buffer, Pool, Region, RegionMut, ViewMut};
use smallvec::SmallVec;

/// The temporaries of a run. Their buffers return to the pool when they are released, or when the run ends with an error.
pub(super) struct Temporaries<'p> {
    pool: &'p Pool,
    buffers: Vec<Option<Buffer>>,
}

/// The temporaries that a step writes, kept apart from the temporaries that it reads.
pub(super) type Written = SmallVec<[(u32, Buffer); 2]>;

/// A buffer from the pool.
pub(super) fn buffer(pool: &Pool, bytes: usize) -> Result<Buffer> {
    pool.take(bytes).map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))
}

/// A buffer's memory for writing.
pub(super) fn written(buffer: &mut Buffer) -> Result<RegionMut<'_>> {
    let internal = || Error::new(ErrorKind::Internal, "a result's buffer is not writable");
    buffer.as_bytes_mut().map(RegionMut::from).ok_or_else(internal)
}

impl<'p> Temporaries<'p> {
    /// Slots for `count` temporaries, none of which is written yet.
    pub(crate) fn new(pool: &'p Pool, count: usize) -> Temporaries<'p> {
        Temporaries { pool, buffers: std::iter::repeat_with(|| None).take(count).collect() }
    }

    /// The memory of a temporary for reading; empty if it has not been written.
    pub(crate) fn region(&self, temp: u32) -> Region<'_> {
        let buffer = self.buffers.get(temp as usize).and_then(Option::as_ref);
        buffer.map_or(&[][..], Buffer::as_bytes).into()
    }

    /// Buffers for the temporaries that a stage writes, which have the dtypes and shapes `temps`. One of which another stage has
    /// written a part is taken out.
    pub(crate) fn make(&mut self, stage: &Stage, temps: &[(DType, Shape)]) -> Result<Written> {
        let mut written = Written::new();
        for target in &stage.outputs {
            if let Target::Temp(t) = target {
                let (dtype, shape) = &temps[*t as usize];
                let made = match self.buffers[*t as usize].take() {
                    Some(made) => made,
                    None => buffer(self.pool, dtype.size() * shape.elements())?,
                };
                written.push((*t, made));
            }
        }
        Ok(written)
    }

    /// Keeps the temporaries that a step has written.
    pub(crate) fn keep(&mut self, written: &mut Written) {
        for (t, buffer) in written.drain(..) {
            self.buffers[t as usize] = Some(buffer);
        }
    }

    /// Releases the temporaries that no later step reads.
    pub(crate) fn release(&mut self, last_read: &[usize], step: usize) {
        for (temp, _) in self.buffers.iter_mut().zip(last_read).filter(|(_, last)| **last == step) {
            temp.take().into_iter().for_each(|buffer| self.pool.give(buffer));
        }
    }
}

impl Drop for Temporaries<'_> {
    fn drop(&mut self) {
        self.buffers.drain(..).flatten().for_each(|buffer| self.pool.give(buffer));
    }
}

/// The memory of a view, and the layout of the view in this memory: `None` if the view is contiguous in row-major order.
pub(crate) fn output<'v>(view: &'v mut ViewMut<'_>) -> Result<(RegionMut<'v>, Option<Layout>)> {
    let layout = match view.is_row_major() {
        true => None,
        false => {
            let (shape, item) = (Shape::new(view.shape())?, view.item());
            let strides = view.strides().iter().map(|&stride| stride / item as isize).collect();
            Some(Layout { shape, strides, offset: (view.offset() / item) as isize })
        }
    };
    Ok((RegionMut::of_elements(view), layout))
}

/// A writable view of memory with a layout.
pub(crate) fn view_mut<'v>(bytes: &'v mut [u8], dtype: DType, layout: &Layout) -> Result<ViewMut<'v>> {
    let size = dtype.size();
    let strides: Option<SmallVec<[isize; 6]>> =
        layout.strides.iter().map(|stride| stride.checked_mul(size as isize)).collect();
    let offset = usize::try_from(layout.offset).ok().and_then(|offset| offset.checked_mul(size));
    let (offset, strides) = offset
        .zip(strides)
        .ok_or_else(|| Error::new(ErrorKind::Memory, "the layout reaches outside of its memory"))?;
    ViewMut::new(bytes, size, offset, &layout.shape, &strides)
        .map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))
}
