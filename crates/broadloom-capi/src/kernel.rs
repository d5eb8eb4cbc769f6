//! Kernels: parsed from text, queried, and run on memory with shapes and strides.
//!
//! All operands are checked before the first store, as `broadloom::Kernel` guarantees. A kernel that is released during a run
//! stays alive until the run ends.

use std::ffi::{c_char, c_void};
use std::sync::atomic::AtomicBool;

use broadloom::{Control, Dim, In, Kernel, Out, Port, Progress};
use smallvec::SmallVec;

use crate::argument::{OutPtr, Versioned, fill, give, many, text, versioned};
use crate::code::{bl_dtype, bl_options, code};
use crate::flag::{FLAGS, bl_flag};
use crate::library::bl_library;
use crate::memory::{MemoryOperand, bl_view};
use crate::status::bl_status::{self, BL_ARGUMENT, BL_ARITY, BL_DTYPE, BL_SHAPE};
use crate::status::{Answer, CallFailure, answer};
use crate::table::{ObjectTable, Pin};

/// A handle of a kernel. 0 is no kernel.
///
/// A kernel may be used by any number of threads at once. It lives until it is released as often as it was created and
/// retained.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_kernel {
    /// Opaque.
    pub id: u64,
}

pub(crate) static KERNELS: ObjectTable<Kernel> = ObjectTable::new(b'k');

pub(crate) fn insert(kernel: Kernel) -> Answer<bl_kernel> {
    let id = KERNELS.insert(kernel).map_err(|why| CallFailure::handle("kernel", why))?;
    Ok(bl_kernel { id })
}

#[inline]
pub(crate) fn kernel(handle: bl_kernel) -> Answer<Pin<'static, Kernel>> {
    KERNELS.pin(handle.id).map_err(|why| CallFailure::handle("kernel", why))
}

/// Compiles a program in the text language (docs/language.md), with options or null for the defaults.
///
/// `length` is the length of the text in bytes, or BL_NUL_TERMINATED. If the text is wrong, `bl_last_error_span` returns the
/// place of the error.
///
/// # Safety
/// `program` is null or valid for reads of the text; `options` is null, or points to as many bytes as its `size` states;
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_parse(
    program: *const c_char,
    length: usize,
    options: *const bl_options,
    out: *mut bl_kernel,
) -> bl_status {
    // SAFETY: the two functions have the same safety section.
    unsafe { bl_kernel_parse_with(program, length, bl_library { id: 0 }, options, out) }
}

/// Compiles a program as `bl_kernel_parse` does. The program may use the functions of a library; an id of 0 is no library.
///
/// # Safety
/// The requirements of [`bl_kernel_parse`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_parse_with(
    program: *const c_char,
    length: usize,
    library: bl_library,
    options: *const bl_options,
    out: *mut bl_kernel,
) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new`, `text` and `code::options` accept null and have the same requirements on any other pointer as
        // the safety section has on `out`, `program` and `options`.
        let (out, program, options) = unsafe {
            let out = OutPtr::new(out, "the pointer to the kernel")?;
            (out, text(program, length, "the program")?, crate::code::options(options)?)
        };
        out.put(insert(Kernel::parse_with(program, &crate::library::library(library)?, &options)?)?);
        Ok(())
    })
}

/// Adds a reference to a kernel.
#[unsafe(no_mangle)]
pub extern "C" fn bl_kernel_retain(handle: bl_kernel) -> bl_status {
    answer(|| KERNELS.retain(handle.id).map_err(|why| CallFailure::handle("kernel", why)))
}

/// Removes a reference; after the last one the handle is invalid. Runs in progress are unaffected.
#[unsafe(no_mangle)]
pub extern "C" fn bl_kernel_release(handle: bl_kernel) -> bl_status {
    answer(|| KERNELS.release(handle.id).map_err(|why| CallFailure::handle("kernel", why)))
}

/// The kernel's identity: 32 bytes, the same for the same program and options on every machine.
///
/// # Safety
/// `out` is null or valid for a write of 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_id(handle: bl_kernel, out: *mut u8) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` accepts null and requires any other pointer to be valid for a write of 32 bytes, as `out` is.
        let out = unsafe { OutPtr::new(out.cast::<[u8; 32]>(), "the pointer to the identity") }?;
        out.put(*kernel(handle)?.id().as_bytes());
        Ok(())
    })
}

/// Stores the number of inputs and of outputs.
///
/// # Safety
/// `inputs` and `outputs` are null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_arity(
    handle: bl_kernel,
    inputs: *mut usize,
    outputs: *mut usize,
) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as both are.
        let (inputs, outputs) = unsafe {
            (
                OutPtr::new(inputs, "the pointer to the inputs")?,
                OutPtr::new(outputs, "the pointer to the outputs")?,
            )
        };
        let kernel = kernel(handle)?;
        inputs.put(kernel.inputs().len());
        outputs.put(kernel.outputs().len());
        Ok(())
    })
}

/// An operand that is read.
pub const BL_INPUT: u32 = 0;
/// An operand that is written.
pub const BL_OUTPUT: u32 = 1;

/// An extent that is a number.
pub const BL_DIM_FIXED: u32 = 0;
/// An extent bound at run time, the same wherever its symbol occurs.
pub const BL_DIM_SYMBOL: u32 = 1;
/// Any number of leading axes.
pub const BL_DIM_REST: u32 = 2;
/// An extent that is computed from a symbol, such as "n - 1" for a slice.
pub const BL_DIM_DERIVED: u32 = 3;

/// The description of an operand; its `size` must be set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_operand {
    /// sizeof(bl_operand)
    pub size: usize,
    /// The number of the operand's dims, where "..." counts as one.
    pub rank: usize,
    /// The length of the operand's name in bytes, without the terminating zero.
    pub name_length: usize,
    /// A BL_DTYPE constant.
    pub dtype: bl_dtype,
    /// 1 if the operand's first dim is "...", else 0.
    pub has_rest: u32,
}

// SAFETY: the struct is `repr(C)`, begins with `size: usize`, and all of its fields are integers, for which every bit
// pattern is valid.
unsafe impl Versioned for bl_operand {
    const MIN_SIZE: usize = size_of::<bl_operand>();

    fn defaults() -> bl_operand {
        bl_operand { size: size_of::<bl_operand>(), rank: 0, name_length: 0, dtype: 0, has_rest: 0 }
    }
}

/// The declaration of an input or output of a kernel.
fn port(kernel: &Kernel, side: u32, index: usize) -> Answer<&Port> {
    let (ports, what) = match side {
        BL_INPUT => (kernel.inputs(), "inputs"),
        BL_OUTPUT => (kernel.outputs(), "outputs"),
        _ => return Err(CallFailure::new(BL_ARGUMENT, format!("{side} is neither BL_INPUT nor BL_OUTPUT"))),
    };
    let beyond = || {
        CallFailure::new(
            BL_ARITY,
            format!("index {index} is out of range: the kernel has {} {what}", ports.len()),
        )
    };
    ports.get(index).ok_or_else(beyond)
}

/// Describes an operand, selected by BL_INPUT or BL_OUTPUT and an index.
///
/// # Safety
/// `out` is null, or points to as many bytes as its `size` states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_operand(
    handle: bl_kernel,
    side: u32,
    index: usize,
    out: *mut bl_operand,
) -> bl_status {
    answer(|| {
        let kernel = kernel(handle)?;
        let port = port(&kernel, side, index)?;
        let operand = bl_operand {
            rank: port.dims.len(),
            name_length: port.name.len(),
            dtype: code(port.dtype),
            has_rest: u32::from(port.dims.has_rest()),
            ..bl_operand::defaults()
        };
        // SAFETY: `fill` has the same requirements on `out` as this function.
        unsafe { fill(out, operand, "the pointer to the operand") }
    })
}

/// Copies the name of an operand, zero-terminated, and stores its length without the zero.
///
/// # Safety
/// `length` is null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_operand_name(
    handle: bl_kernel,
    side: u32,
    index: usize,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> bl_status {
    answer(|| {
        let kernel = kernel(handle)?;
        // SAFETY: `give` has the same requirements on `length` and `buffer` as this function.
        unsafe { give(&port(&kernel, side, index)?.name, buffer, capacity, length) }
    })
}

/// Stores a dim of an operand: its kind, its extent (0 if it is dynamic), and its text, such as "3", "n" or "...".
///
/// # Safety
/// `kind`, `extent` and `length` are null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn bl_kernel_operand_dim(
    handle: bl_kernel,
    side: u32,
    index: usize,
    axis: usize,
    kind: *mut u32,
    extent: *mut usize,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as both are.
        let (to_kind, to_extent) = unsafe {
            (OutPtr::new(kind, "the pointer to the kind")?, OutPtr::new(extent, "the pointer to the extent")?)
        };
        let kernel = kernel(handle)?;
        let dims = &port(&kernel, side, index)?.dims;
        let beyond = || CallFailure::new(BL_SHAPE, format!("there is no axis {axis} in {dims}"));
        let dim = dims.get(axis).ok_or_else(beyond)?;
        let (kind, extent) = match dim {
            Dim::Fixed(extent) => (BL_DIM_FIXED, *extent),
            Dim::Symbol(_) => (BL_DIM_SYMBOL, 0),
            Dim::Rest => (BL_DIM_REST, 0),
            Dim::Derived(_) => (BL_DIM_DERIVED, 0),
        };
        to_kind.put(kind);
        to_extent.put(extent);
        // SAFETY: `give` has the same requirements on `length` and `buffer` as this function.
        unsafe { give(&dim.to_string(), buffer, capacity, length) }
    })
}

/// Copies the kernel's execution plan as text, zero-terminated, and stores its length. The plan is for extents of 1000 in
/// dynamic dimensions. The text is meant for people: its form may change in any version, and its length may change from one
/// call to the next.
///
/// # Safety
/// `length` is null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_explain(
    handle: bl_kernel,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> bl_status {
    answer(|| {
        let text = kernel(handle)?.explain()?;
        // SAFETY: `give` has the same requirements on `length` and `buffer` as this function.
        unsafe { give(&text, buffer, capacity, length) }
    })
}

/// A function that is called with the progress of a run, counted in elements of all of its loops. It is called from the
/// threads that compute, several at a time. It must return normally, and neither call `longjmp` nor throw an exception.
pub type bl_progress = Option<unsafe extern "C" fn(context: *mut c_void, done: u64, total: u64)>;

/// A control with which a run is monitored and cancelled. Set `size`, and set unused fields to zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_control {
    /// sizeof(bl_control)
    pub size: usize,
    /// The flag that cancels the run, polled before each chunk of the work; 0 for none.
    pub cancel: bl_flag,
    /// Called after each chunk of the work; null for none.
    pub progress: bl_progress,
    /// Passed to `progress`.
    pub context: *mut c_void,
}

// SAFETY: the struct is `repr(C)` and begins with `size: usize`. Its other fields are an integer, a pointer, and an optional
// function pointer, which C declares as a nullable pointer to a function of that type; zero is a value of each.
unsafe impl Versioned for bl_control {
    const MIN_SIZE: usize = size_of::<bl_control>();

    fn defaults() -> bl_control {
        let cancel = bl_flag { id: 0 };
        bl_control { size: size_of::<bl_control>(), cancel, progress: None, context: std::ptr::null_mut() }
    }
}

/// A progress callback with its context.
struct Listener {
    function: unsafe extern "C" fn(*mut c_void, u64, u64),
    context: *mut c_void,
}

// SAFETY: `bl_progress` is documented as called with the context from several threads at a time; the context is never
// dereferenced here.
unsafe impl Sync for Listener {}

impl Listener {
    fn tell(&self, progress: Progress) {
        // SAFETY: a `Listener` exists only within `controlled`, whose safety section requires that the callback may be called
        // with the context until the work ends.
        unsafe { (self.function)(self.context, progress.done as u64, progress.total as u64) }
    }
}

/// Runs `work` with the progress callback and flag of a control; without them if the pointer is null.
///
/// # Safety
/// The pointer must be null, or valid for reads of the number of bytes that the struct's `size` states. The callback may be
/// called with the context, from any thread, until the work ends.
pub(crate) unsafe fn controlled<T>(
    control: *const bl_control,
    work: impl FnOnce(Option<&Control<'_>>) -> Answer<T>,
) -> Answer<T> {
    if control.is_null() {
        return work(None);
    }
    // SAFETY: the pointer is not null, and `versioned` has the same requirements on it as the safety section.
    let given = unsafe { versioned(control, "the pointer to the control") }?;
    let flag: Option<Pin<'_, AtomicBool>> = match given.cancel.id {
        0 => None,
        id => Some(FLAGS.pin(id).map_err(|why| CallFailure::handle("flag", why))?),
    };
    let listener = given.progress.map(|function| Listener { function, context: given.context });
    let tell = listener.as_ref().map(|listener| move |progress| listener.tell(progress));
    let progress = tell.as_ref().map(|tell| tell as &(dyn Fn(Progress) + Sync));
    work(Some(&Control { cancel: flag.as_deref(), progress, ..Control::default() }))
}

/// Runs a kernel on the memory that views describe: one view for each input and each output, in their order.
///
/// Symbols take their extents from the inputs, and an output must have the resulting shape. An output may be the same memory as
/// an input, element for element. If it overlaps inputs in another way, results are computed in temporary memory first. No two
/// outputs may overlap. `control` may be null.
///
/// # Safety
/// `inputs` is null or valid for `input_count` reads, and `outputs` for `output_count` reads. Each view's shape and strides
/// are null or valid for as many reads as its rank. Until the call returns, the elements of every view are in one allocation,
/// initialised and valid for reads, and nothing but this run writes to them. The elements of an output are also valid for
/// writes, and nothing but this run reads them. `control` is null, or points to as many bytes as its `size` states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_run(
    handle: bl_kernel,
    inputs: *const bl_view,
    input_count: usize,
    outputs: *const bl_view,
    output_count: usize,
    control: *const bl_control,
) -> bl_status {
    answer(|| {
        let kernel = kernel(handle)?;
        // SAFETY: `operands` has the same requirements on the views as this function.
        let (inputs, outputs) =
            unsafe { (operands(inputs, input_count, "input")?, operands(outputs, output_count, "output")?) };
        // SAFETY: these inputs are used for binding only, which reads shapes and no elements. The safety section requires that
        // the elements are readable until the call returns.
        let raw: SmallVec<[In<'_>; 8]> = inputs.iter().map(|input| unsafe { input.raw_input() }).collect();
        let call = kernel.bind_like(&raw)?;
        if outputs.len() != kernel.outputs().len() {
            let why = format!("{} outputs, the kernel has {}", outputs.len(), kernel.outputs().len());
            return Err(CallFailure::new(BL_ARITY, why));
        }
        for (i, ((given, shape), port)) in
            outputs.iter().zip(call.output_shapes()).zip(kernel.outputs()).enumerate()
        {
            if given.dtype != port.dtype {
                let why = format!(
                    "output {i} (`{}`) has dtype {}, but its view has {}",
                    port.name, port.dtype, given.dtype
                );
                return Err(CallFailure::new(BL_DTYPE, why));
            }
            if given.shape[..] != *shape {
                let why = format!(
                    "output {i} (`{}`) has shape {shape:?}, but its view has {:?}",
                    port.name, given.shape
                );
                return Err(CallFailure::new(BL_SHAPE, why));
            }
        }
        // SAFETY: `MemoryOperand::input` has the same requirements on the views' elements as the safety section, which holds
        // until the call returns; `ins` is dropped before.
        let ins: SmallVec<[In<'_>; 8]> =
            inputs.iter().map(|input| unsafe { input.input(&outputs) }).collect();
        let mut outs: SmallVec<[Out<'_>; 4]> = SmallVec::new();
        for at in 0..outputs.len() {
            // SAFETY: `MemoryOperand::output` has the same requirements on the outputs' elements as the safety section, which
            // holds until the call returns; `outs` is dropped before.
            outs.push(unsafe { MemoryOperand::output(&outputs, at, &inputs) }?);
        }
        let work = |control: Option<&Control<'_>>| {
            let done = match control {
                None => call.run(&ins, outs),
                Some(control) => call.run_with(&ins, outs, control),
            };
            done.map_err(CallFailure::from)
        };
        // SAFETY: `controlled` has the same requirements on `control` as the safety section; `bl_progress` documents how its
        // callback is called.
        unsafe { controlled(control, work) }
    })
}

/// The operands described by the caller's views.
///
/// # Safety
/// The requirements of [`bl_kernel_run`].
unsafe fn operands(views: *const bl_view, count: usize, what: &str) -> Answer<SmallVec<[MemoryOperand; 4]>> {
    // SAFETY: `many` accepts null; for any other pointer `bl_kernel_run` requires that `count` views are readable.
    let views = unsafe { many(views, count, "the pointer to the views") }?;
    let mut operands = SmallVec::new();
    for (i, view) in views.iter().enumerate() {
        // SAFETY: `MemoryOperand::new` has the same requirements on shapes and strides as `bl_kernel_run`.
        operands.push(unsafe { MemoryOperand::new(view, || format!("{what} {i}")) }?);
    }
    Ok(operands)
}
