//! Calls: a kernel bound to extents, run on plain pointers.
//!
//! Every operand is row-major and contiguous, with the shape that it was bound to, so that a run takes one pointer per
//! operand; running a small kernel allocates nothing.

use std::ffi::{c_char, c_void};
use std::ops::Range;

use broadloom::{Call, Control, DType, In, Out};
use smallvec::SmallVec;

use crate::argument::{BL_NUL_TERMINATED, Place, give, many, text};
use crate::kernel::{bl_control, bl_kernel, controlled, kernel};
use crate::memory::{self, Operand, are_apart, row_major};
use crate::status::bl_status::{self, BL_ARGUMENT, BL_ARITY, BL_MEMORY, BL_SHAPE};
use crate::status::{Answer, Failure, answer};
use crate::table::{Pin, Table};

/// A handle of a prepared call. 0 is no call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_call {
    /// Nothing to look into.
    pub id: u64,
}

/// An extent for a symbol.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_extent {
    /// The symbol's name, zero-terminated.
    pub symbol: *const c_char,
    /// The number that it stands for.
    pub extent: usize,
}

static CALLS: Table<Prepared> = Table::new(b'c');

struct Prepared {
    call: Call,
    inputs: Box<[Bound]>,
    outputs: Box<[Bound]>,
}

/// What an operand is bound to.
struct Bound {
    dtype: DType,
    /// Of an element, and of all.
    size: usize,
    bytes: usize,
    shape: Box<[usize]>,
    strides: Box<[isize]>,
}

impl Bound {
    fn new(dtype: DType, shape: &[usize]) -> Bound {
        let size = dtype.size();
        let bytes = shape.iter().product::<usize>() * size;
        Bound { dtype, size, bytes, shape: shape.into(), strides: row_major(shape)[..].into() }
    }

    /// The addresses, if a pointer may be to it.
    #[inline]
    fn addresses(&self, data: *const c_void, what: &str, i: usize) -> Answer<Range<usize>> {
        let start = data.addr();
        let end = start.wrapping_add(self.bytes);
        let may_be = !data.is_null() && start & (self.size - 1) == 0 && end >= start;
        if may_be || self.bytes == 0 { Ok(start..end) } else { Err(self.refuse(data, what, i)) }
    }

    #[cold]
    fn refuse(&self, data: *const c_void, what: &str, i: usize) -> Failure {
        match memory::check(data.cast(), self.size) {
            Err((status, why)) => Failure::new(status, format!("{what} {i} {why}")),
            Ok(()) => Failure::new(BL_MEMORY, format!("{what} {i} reaches further than memory does")),
        }
    }

    /// The operand at a pointer, or of these rows only.
    fn at(&self, data: *const c_void, rows: Option<&Range<usize>>, what: &str, i: usize) -> Answer<Operand> {
        let mut shape: SmallVec<[usize; 4]> = self.shape[..].into();
        if let (Some(rows), Some(first)) = (rows, shape.first_mut()) {
            *first = rows.len();
        }
        Operand::plain(data.cast_mut(), self.dtype, &shape, &self.strides, || format!("{what} {i}"))
    }
}

#[inline]
fn prepared(handle: bl_call) -> Answer<Pin<'static, Prepared>> {
    CALLS.pin(handle.id).map_err(|why| Failure::handle("call", why))
}

/// Binds a kernel's symbols to extents, all operands being row-major without gaps: what is left for a run is memory.
///
/// The call keeps the kernel alive.
///
/// # Safety
/// `extents` is null or valid for `count` reads, its symbols end with a zero; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_bind(
    handle: bl_kernel,
    extents: *const bl_extent,
    count: usize,
    out: *mut bl_call,
) -> bl_status {
    answer(|| {
        // SAFETY: the caller's promise.
        let (out, extents) = unsafe {
            (Place::new(out, "the place for the call")?, many(extents, count, "the pointer to the extents")?)
        };
        let mut given = Vec::with_capacity(extents.len());
        for extent in extents {
            // SAFETY: the caller's promise.
            let symbol = unsafe { text(extent.symbol, BL_NUL_TERMINATED, "the name of an extent") }?;
            given.push((symbol, extent.extent));
        }
        let kernel = kernel(handle)?;
        let call = kernel.bind(&given)?;
        let inputs = kernel
            .inputs()
            .iter()
            .zip(call.input_shapes())
            .map(|(port, shape)| Bound::new(port.dtype, shape));
        let inputs = inputs.collect();
        let outputs = kernel
            .outputs()
            .iter()
            .zip(call.output_shapes())
            .map(|(port, shape)| Bound::new(port.dtype, shape));
        let outputs = outputs.collect();
        let id =
            CALLS.insert(Prepared { call, inputs, outputs }).map_err(|why| Failure::handle("call", why))?;
        out.put(bl_call { id });
        Ok(())
    })
}

/// One reference more to a call.
#[unsafe(no_mangle)]
pub extern "C" fn bl_call_retain(handle: bl_call) -> bl_status {
    answer(|| CALLS.retain(handle.id).map_err(|why| Failure::handle("call", why)))
}

/// One reference less; with the last one the handle is no call's any more. Runs that are under way end as they would.
#[unsafe(no_mangle)]
pub extern "C" fn bl_call_release(handle: bl_call) -> bl_status {
    answer(|| CALLS.release(handle.id).map_err(|why| Failure::handle("call", why)))
}

/// Compiles now what the first runs would have to wait for.
#[unsafe(no_mangle)]
pub extern "C" fn bl_call_compile(handle: bl_call) -> bl_status {
    answer(|| Ok(prepared(handle)?.call.compile()?))
}

/// Gives the extents of an output, and its rank; BL_TOO_SMALL if `capacity` is less.
///
/// # Safety
/// `rank` is null or valid for a write; `extents` is null or valid for `capacity` writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_call_output_shape(
    handle: bl_call,
    index: usize,
    extents: *mut usize,
    capacity: usize,
    rank: *mut usize,
) -> bl_status {
    answer(|| {
        // SAFETY: the caller's promise.
        let rank = unsafe { Place::new(rank, "the place for the rank") }?;
        let prepared = prepared(handle)?;
        let Some(output) = prepared.outputs.get(index) else {
            let why = format!("there is no {index}: the kernel has {} outputs", prepared.outputs.len());
            return Err(Failure::new(BL_ARITY, why));
        };
        rank.put(output.shape.len());
        if capacity < output.shape.len() {
            let why = format!("{} extents don't fit into {capacity}", output.shape.len());
            return Err(Failure::new(bl_status::BL_TOO_SMALL, why));
        }
        for (i, &extent) in output.shape.iter().enumerate() {
            // SAFETY: the caller's promise, for less than `capacity`.
            unsafe { Place::new(extents.wrapping_add(i), "the place for the extents") }?.put(extent);
        }
        Ok(())
    })
}

/// An explanation as text: the graph and the plan.
pub const BL_EXPLAIN_PLAN: u32 = 0;
/// An explanation as text: the plan, and the code of each loop.
pub const BL_EXPLAIN_CODE: u32 = 1;
/// An explanation as an HTML page, with the code.
pub const BL_EXPLAIN_HTML: u32 = 2;

/// Gives how the call runs: a BL_EXPLAIN constant says as what. As of `bl_kernel_explain`, for the bound extents.
///
/// # Safety
/// `length` is null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_call_explain(
    handle: bl_call,
    form: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> bl_status {
    answer(|| {
        let prepared = prepared(handle)?;
        let text = match form {
            BL_EXPLAIN_PLAN | BL_EXPLAIN_CODE => {
                prepared.call.explanation(form == BL_EXPLAIN_CODE)?.to_string()
            }
            BL_EXPLAIN_HTML => prepared.call.explanation(true)?.to_html("broadloom"),
            _ => return Err(Failure::new(BL_ARGUMENT, format!("{form} is not the code of an explanation"))),
        };
        // SAFETY: the caller's promise.
        unsafe { give(&text, buffer, capacity, length) }
    })
}

/// The pointers of a run, as many as there are operands.
///
/// # Safety
/// Both are null or valid for so many reads.
#[inline]
unsafe fn pointers<'p>(
    prepared: &Prepared,
    (inputs, input_count): (*const *const c_void, usize),
    (outputs, output_count): (*const *mut c_void, usize),
) -> Answer<(&'p [*const c_void], &'p [*mut c_void])> {
    for (given, wanted, what) in
        [(input_count, prepared.inputs.len(), "inputs"), (output_count, prepared.outputs.len(), "outputs")]
    {
        if given != wanted {
            return Err(Failure::new(BL_ARITY, format!("{given} {what}, the kernel has {wanted}")));
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        let inputs = many(inputs, input_count, "the pointer to the inputs")?;
        Ok((inputs, many(outputs, output_count, "the pointer to the outputs")?))
    }
}

/// Runs a call: one pointer for each input and each output, in their order, to row-major memory of the bound shapes.
///
/// An output may be an input, or overlap it; no two outputs may overlap.
///
/// # Safety
/// `inputs` and `outputs` are null or valid for so many reads. Their memory is, until the call returns, initialised and
/// valid for reads, of an output also for writes; nothing else writes to it, nor reads what is an output's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_call_run(
    handle: bl_call,
    inputs: *const *const c_void,
    input_count: usize,
    outputs: *const *mut c_void,
    output_count: usize,
) -> bl_status {
    answer(|| {
        let prepared = prepared(handle)?;
        // SAFETY: the caller's promise.
        let (from, to) = unsafe { pointers(&prepared, (inputs, input_count), (outputs, output_count)) }?;
        let mut places: SmallVec<[Range<usize>; 4]> = SmallVec::new();
        let mut apart = true;
        for (i, (&data, bound)) in to.iter().zip(&prepared.outputs).enumerate() {
            let addresses = bound.addresses(data, "output", i)?;
            apart &= places.iter().all(|other| are_apart(other, &addresses));
            places.push(addresses);
        }
        let mut ins: SmallVec<[In<'_>; 8]> = SmallVec::new();
        for (i, (&data, bound)) in from.iter().zip(&prepared.inputs).enumerate() {
            let addresses = bound.addresses(data, "input", i)?;
            apart &= places.iter().all(|place| are_apart(place, &addresses));
            if !apart {
                break;
            }
            // SAFETY: the caller vouches for the memory, and no output reaches it.
            ins.push(In::bytes(bound.dtype, unsafe { memory::slice(data.cast(), bound.bytes) }));
        }
        if !apart {
            drop(ins);
            // SAFETY: the caller's promise.
            return unsafe { run_raw(&prepared, from, to, None, None) };
        }
        let outs = to.iter().zip(&prepared.outputs).map(|(&data, bound)| {
            // SAFETY: the caller vouches for the memory, and no other operand reaches it.
            Out::bytes(bound.dtype, unsafe { memory::slice_mut(data.cast(), bound.bytes) })
        });
        Ok(prepared.call.run(&ins, outs)?)
    })
}

/// Runs a call as [`bl_call_run`] does, watched.
///
/// # Safety
/// As of [`bl_call_run`]; `control` is null, or to as many bytes as its size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_call_run_with(
    handle: bl_call,
    inputs: *const *const c_void,
    input_count: usize,
    outputs: *const *mut c_void,
    output_count: usize,
    control: *const bl_control,
) -> bl_status {
    answer(|| {
        let prepared = prepared(handle)?;
        // SAFETY: the caller's promise.
        let (from, to) = unsafe { pointers(&prepared, (inputs, input_count), (outputs, output_count)) }?;
        // SAFETY: the caller's promise.
        unsafe { controlled(control, |control| run_raw(&prepared, from, to, None, control)) }
    })
}

/// Computes rows `begin` to `end` (without it) of the outputs, on the calling thread: for hosts that share the work among
/// threads of their own. Inputs are given whole, outputs as the memory of these rows alone.
///
/// BL_SHAPE for rows that are not there, outputs without a common first axis, and kernels with views in them.
///
/// # Safety
/// As of [`bl_call_run`]; but other threads may write to rows of inputs that are not among these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_call_run_range(
    handle: bl_call,
    begin: usize,
    end: usize,
    inputs: *const *const c_void,
    input_count: usize,
    outputs: *const *mut c_void,
    output_count: usize,
) -> bl_status {
    answer(|| {
        let prepared = prepared(handle)?;
        // SAFETY: the caller's promise.
        let (from, to) = unsafe { pointers(&prepared, (inputs, input_count), (outputs, output_count)) }?;
        if begin > end
            || prepared.outputs.iter().any(|output| output.shape.first().is_none_or(|&rows| end > rows))
        {
            return Err(Failure::new(BL_SHAPE, format!("there are no rows {begin} to {end}")));
        }
        // SAFETY: the caller's promise.
        unsafe { run_raw(&prepared, from, to, Some(begin..end), None) }
    })
}

/// Runs with every operand at its pointer, whatever overlaps.
///
/// # Safety
/// As of [`bl_call_run`], or [`bl_call_run_range`].
unsafe fn run_raw(
    prepared: &Prepared,
    from: &[*const c_void],
    to: &[*mut c_void],
    rows: Option<Range<usize>>,
    control: Option<&Control<'_>>,
) -> Answer<()> {
    let at = |i: usize, bound: &Bound, data: *const c_void| bound.at(data, None, "input", i);
    let inputs = from.iter().zip(&prepared.inputs).enumerate().map(|(i, (&data, bound))| at(i, bound, data));
    let inputs = inputs.collect::<Answer<SmallVec<[Operand; 4]>>>()?;
    let at = |i: usize, bound: &Bound, data: *const c_void| bound.at(data, rows.as_ref(), "output", i);
    let outputs = to.iter().zip(&prepared.outputs).enumerate().map(|(i, (&data, bound))| at(i, bound, data));
    let outputs = outputs.collect::<Answer<SmallVec<[Operand; 4]>>>()?;
    // SAFETY: the caller's promise, from here to the end of the run.
    let ins: SmallVec<[In<'_>; 8]> = inputs.iter().map(|input| unsafe { input.raw_input() }).collect();
    // SAFETY: as above.
    let outs = outputs.iter().map(|output| unsafe { output.raw_output() });
    let outs = outs.collect::<Answer<SmallVec<[Out<'_>; 4]>>>()?;
    let done = match (rows, control) {
        (Some(rows), _) => prepared.call.run_range(rows, &ins, outs),
        (None, None) => prepared.call.run(&ins, outs),
        (None, Some(control)) => prepared.call.run_with(&ins, outs, control),
    };
    done.map_err(Failure::from)
}
