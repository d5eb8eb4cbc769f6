//! Calls: a kernel bound to extents, which runs on plain pointers.
//!
//! Every operand is contiguous in row-major order and has the shape that it was bound to, so a run takes one pointer per operand.
//! Running a small kernel allocates nothing.

use std::ffi::{c_char, c_void};
use std::ops::Range;

use broadloom::{Call, Control, DType, In, Out};
use smallvec::SmallVec;

use crate::argument::{BL_NUL_TERMINATED, OutPtr, give, many, text};
use crate::kernel::{bl_control, bl_kernel, controlled, kernel};
use crate::memory::{self, MemoryOperand, are_apart, row_major};
use crate::status::bl_status::{self, BL_ARGUMENT, BL_ARITY, BL_MEMORY, BL_SHAPE};
use crate::status::{Answer, CallFailure, answer};
use crate::table::{ObjectTable, Pin};

/// A handle of a prepared call. 0 is no call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_call {
    /// Opaque.
    pub id: u64,
}

/// An extent for a symbol.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_extent {
    /// The symbol's name, zero-terminated.
    pub symbol: *const c_char,
    /// The extent of the symbol.
    pub extent: usize,
}

static CALLS: ObjectTable<PreparedCall> = ObjectTable::new(b'c');

struct PreparedCall {
    call: Call,
    inputs: Box<[BoundOperand]>,
    outputs: Box<[BoundOperand]>,
}

/// The shape and dtype that an operand is bound to.
struct BoundOperand {
    dtype: DType,
    /// The size of an element, in bytes.
    size: usize,
    /// The size of all elements, in bytes.
    bytes: usize,
    shape: Box<[usize]>,
    strides: Box<[isize]>,
}

impl BoundOperand {
    fn new(dtype: DType, shape: &[usize]) -> BoundOperand {
        let size = dtype.size();
        let bytes = shape.iter().product::<usize>() * size;
        BoundOperand { dtype, size, bytes, shape: shape.into(), strides: row_major(shape)[..].into() }
    }

    /// The address range of the operand at a pointer; an error if the pointer is null, misaligned, or so high that the range
    /// overflows.
    #[inline]
    fn addresses(&self, data: *const c_void, what: &str, i: usize) -> Answer<Range<usize>> {
        let start = data.addr();
        let end = start.wrapping_add(self.bytes);
        let may_be = !data.is_null() && start & (self.size - 1) == 0 && end >= start;
        if may_be || self.bytes == 0 { Ok(start..end) } else { Err(self.refuse(data, what, i)) }
    }

    #[cold]
    fn refuse(&self, data: *const c_void, what: &str, i: usize) -> CallFailure {
        match memory::check_elements(data.cast(), self.size) {
            Err((status, why)) => CallFailure::new(status, format!("{what} {i} {why}")),
            Ok(()) => CallFailure::new(BL_MEMORY, format!("{what} {i} extends beyond the address space")),
        }
    }

    /// The operand at a pointer, or only the given rows of it.
    fn at(
        &self,
        data: *const c_void,
        rows: Option<&Range<usize>>,
        what: &str,
        i: usize,
    ) -> Answer<MemoryOperand> {
        let mut shape: SmallVec<[usize; 4]> = self.shape[..].into();
        if let (Some(rows), Some(first)) = (rows, shape.first_mut()) {
            *first = rows.len();
        }
        MemoryOperand::plain(data.cast_mut(), self.dtype, &shape, &self.strides, || format!("{what} {i}"))
    }
}

#[inline]
fn prepared(handle: bl_call) -> Answer<Pin<'static, PreparedCall>> {
    CALLS.pin(handle.id).map_err(|why| CallFailure::handle("call", why))
}

/// Binds a kernel's symbols to extents, for contiguous row-major operands; a run then takes pointers only.
///
/// The call keeps the kernel alive.
///
/// # Safety
/// `extents` is null or valid for `count` reads, and its symbols are null or zero-terminated; `out` is null or valid for a
/// write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_bind(
    handle: bl_kernel,
    extents: *const bl_extent,
    count: usize,
    out: *mut bl_call,
) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` and `many` accept null and have the same requirements on any other pointer as the safety
        // section has on `out` and `extents`.
        let (out, extents) = unsafe {
            (
                OutPtr::new(out, "the pointer to the call")?,
                many(extents, count, "the pointer to the extents")?,
            )
        };
        let mut given = Vec::with_capacity(extents.len());
        for extent in extents {
            // SAFETY: the safety section requires that symbols are null or zero-terminated, and `text` accepts null.
            let symbol = unsafe { text(extent.symbol, BL_NUL_TERMINATED, "the name of an extent") }?;
            given.push((symbol, extent.extent));
        }
        let kernel = kernel(handle)?;
        let call = kernel.bind(&given)?;
        let inputs = kernel
            .inputs()
            .iter()
            .zip(call.input_shapes())
            .map(|(port, shape)| BoundOperand::new(port.dtype, shape));
        let inputs = inputs.collect();
        let outputs = kernel
            .outputs()
            .iter()
            .zip(call.output_shapes())
            .map(|(port, shape)| BoundOperand::new(port.dtype, shape));
        let outputs = outputs.collect();
        let id = CALLS
            .insert(PreparedCall { call, inputs, outputs })
            .map_err(|why| CallFailure::handle("call", why))?;
        out.put(bl_call { id });
        Ok(())
    })
}

/// Adds a reference to a call.
#[unsafe(no_mangle)]
pub extern "C" fn bl_call_retain(handle: bl_call) -> bl_status {
    answer(|| CALLS.retain(handle.id).map_err(|why| CallFailure::handle("call", why)))
}

/// Removes a reference; after the last one the handle is invalid. Runs in progress are unaffected.
#[unsafe(no_mangle)]
pub extern "C" fn bl_call_release(handle: bl_call) -> bl_status {
    answer(|| CALLS.release(handle.id).map_err(|why| CallFailure::handle("call", why)))
}

/// Compiles ahead of time the code that the first runs would otherwise wait for.
#[unsafe(no_mangle)]
pub extern "C" fn bl_call_compile(handle: bl_call) -> bl_status {
    answer(|| Ok(prepared(handle)?.call.compile()?))
}

/// Stores the extents of an output and its rank. Returns BL_TOO_SMALL if `capacity` is less than the rank.
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
        // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as `rank` is.
        let rank = unsafe { OutPtr::new(rank, "the pointer to the rank") }?;
        let prepared = prepared(handle)?;
        let Some(output) = prepared.outputs.get(index) else {
            let why =
                format!("index {index} is out of range: the kernel has {} outputs", prepared.outputs.len());
            return Err(CallFailure::new(BL_ARITY, why));
        };
        rank.put(output.shape.len());
        if capacity < output.shape.len() {
            let why = format!("{} extents exceed the capacity of {capacity}", output.shape.len());
            return Err(CallFailure::new(bl_status::BL_TOO_SMALL, why));
        }
        for (i, &extent) in output.shape.iter().enumerate() {
            // SAFETY: `i` is below the rank, which is at most `capacity`. The safety section requires that this number of extents
            // is writeable unless the pointer is null, which `OutPtr::new` rejects at the first extent.
            unsafe { OutPtr::new(extents.wrapping_add(i), "the pointer to the extents") }?.put(extent);
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

/// Explains how the call runs with its bound extents, in the form of a BL_EXPLAIN constant, as `bl_kernel_explain` does for a
/// kernel.
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
            BL_EXPLAIN_HTML => broadloom_html::page(&prepared.call.explanation(true)?, "broadloom"),
            _ => {
                return Err(CallFailure::new(
                    BL_ARGUMENT,
                    format!("{form} is not the code of an explanation"),
                ));
            }
        };
        // SAFETY: `give` has the same requirements on `length` and `buffer` as this function.
        unsafe { give(&text, buffer, capacity, length) }
    })
}

/// The caller's arrays of pointers; an error unless they have one pointer per operand.
///
/// # Safety
/// Each pointer must be null or valid for as many reads as its count states for `'p`, and nothing may write
/// to the arrays during `'p`.
#[inline]
unsafe fn pointers<'p>(
    prepared: &PreparedCall,
    (inputs, input_count): (*const *const c_void, usize),
    (outputs, output_count): (*const *mut c_void, usize),
) -> Answer<(&'p [*const c_void], &'p [*mut c_void])> {
    for (given, wanted, what) in
        [(input_count, prepared.inputs.len(), "inputs"), (output_count, prepared.outputs.len(), "outputs")]
    {
        if given != wanted {
            return Err(CallFailure::new(BL_ARITY, format!("{given} {what}, the kernel has {wanted}")));
        }
    }
    // SAFETY: `many` accepts null and has the same requirements on any other pointer as this function.
    unsafe {
        let inputs = many(inputs, input_count, "the pointer to the inputs")?;
        Ok((inputs, many(outputs, output_count, "the pointer to the outputs")?))
    }
}

/// Runs a call. Each input and each output is passed as one pointer, in their order, to row-major memory of the bound shape.
///
/// An output may be an input, or overlap it; no two outputs may overlap.
///
/// # Safety
/// `inputs` is null or valid for `input_count` reads, and `outputs` for `output_count` reads. Until the call returns, the
/// memory of every operand is in one allocation, initialised and valid for reads, and nothing but this run writes to it. The
/// memory of an output is also valid for writes, and nothing but this run reads it.
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
        // SAFETY: `pointers` requires that `inputs` and `outputs` are null or can be read, and so does the safety section.
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
            // SAFETY: `addresses` checked the pointer. The safety section requires that `bytes` bytes are readable and that only
            // the run writes to them; no output of the run overlaps them.
            ins.push(In::bytes(bound.dtype, unsafe { memory::slice(data.cast(), bound.bytes) }));
        }
        if !apart {
            drop(ins);
            // SAFETY: `ins` has been dropped, so no slice of an operand exists any more. `run_raw` has the same requirements as
            // the safety section.
            return unsafe { run_raw(&prepared, from, to, None, None) };
        }
        let outs = to.iter().zip(&prepared.outputs).map(|(&data, bound)| {
            // SAFETY: `addresses` checked the pointer. The safety section requires that `bytes` bytes are readable and writeable,
            // and used by the run only; `apart` ensures that no other operand of the run overlaps them.
            Out::bytes(bound.dtype, unsafe { memory::slice_mut(data.cast(), bound.bytes) })
        });
        Ok(prepared.call.run(&ins, outs)?)
    })
}

/// Runs a call as [`bl_call_run`] does, with progress and cancellation.
///
/// # Safety
/// The requirements of [`bl_call_run`]; also, `control` is null, or points to as many bytes as its `size` states.
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
        // SAFETY: `pointers` requires that `inputs` and `outputs` are null or can be read, and so does the safety section.
        let (from, to) = unsafe { pointers(&prepared, (inputs, input_count), (outputs, output_count)) }?;
        // SAFETY: the safety section has the requirements of `run_raw` on the operands, and those of `controlled` on `control`.
        unsafe { controlled(control, |control| run_raw(&prepared, from, to, None, control)) }
    })
}

/// Computes rows `begin` to `end` (exclusive) of the outputs on the calling thread, for applications that divide the work among
/// threads of their own. The pointer of an input is to its whole memory, the pointer of an output to the memory of these rows
/// only.
///
/// Returns BL_SHAPE if the rows are out of range, if the outputs have no common first axis, or if the kernel contains views or
/// reductions.
///
/// # Safety
/// The requirements of [`bl_call_run`], except that other threads may write to the rows of inputs outside of this range.
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
        // SAFETY: `pointers` requires that `inputs` and `outputs` are null or can be read, and so does the safety section.
        let (from, to) = unsafe { pointers(&prepared, (inputs, input_count), (outputs, output_count)) }?;
        if begin > end
            || prepared.outputs.iter().any(|output| output.shape.first().is_none_or(|&rows| end > rows))
        {
            return Err(CallFailure::new(BL_SHAPE, format!("rows {begin} to {end} are out of range")));
        }
        // SAFETY: `begin..end` lies within the bound extents. `run_raw` has the same requirements on the inputs, and on these
        // rows of the outputs, as the safety section.
        unsafe { run_raw(&prepared, from, to, Some(begin..end), None) }
    })
}

/// Runs with every operand passed as a raw pointer, so that inputs and outputs may overlap.
///
/// # Safety
/// The requirements of [`bl_call_run`], or those of [`bl_call_run_range`] if there is a range.
unsafe fn run_raw(
    prepared: &PreparedCall,
    from: &[*const c_void],
    to: &[*mut c_void],
    rows: Option<Range<usize>>,
    control: Option<&Control<'_>>,
) -> Answer<()> {
    let at = |i: usize, bound: &BoundOperand, data: *const c_void| bound.at(data, None, "input", i);
    let inputs = from.iter().zip(&prepared.inputs).enumerate().map(|(i, (&data, bound))| at(i, bound, data));
    let inputs = inputs.collect::<Answer<SmallVec<[MemoryOperand; 4]>>>()?;
    let at = |i: usize, bound: &BoundOperand, data: *const c_void| bound.at(data, rows.as_ref(), "output", i);
    let outputs = to.iter().zip(&prepared.outputs).enumerate().map(|(i, (&data, bound))| at(i, bound, data));
    let outputs = outputs.collect::<Answer<SmallVec<[MemoryOperand; 4]>>>()?;
    // SAFETY: each input has the size that the call is bound to, and the safety section holds for these bytes until the run ends.
    let ins: SmallVec<[In<'_>; 8]> = inputs.iter().map(|input| unsafe { input.raw_input() }).collect();
    // SAFETY: each output has the size of its rows, and the safety section holds for these bytes until the run ends.
    let outs = outputs.iter().map(|output| unsafe { output.raw_output() });
    let outs = outs.collect::<Answer<SmallVec<[Out<'_>; 4]>>>()?;
    let done = match (rows, control) {
        (Some(rows), _) => prepared.call.run_range(rows, &ins, outs),
        (None, None) => prepared.call.run(&ins, outs),
        (None, Some(control)) => prepared.call.run_with(&ins, outs, control),
    };
    done.map_err(CallFailure::from)
}
