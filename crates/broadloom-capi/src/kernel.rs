//! Kernels: parsed from text, queried, and run on memory with shapes and strides.
//!
//! All operands are checked before the first store, as `broadloom::Kernel` guarantees. A kernel that is released while
//! it runs stays alive until the run ends.

use std::ffi::{c_char, c_void};
use std::sync::atomic::AtomicBool;

use broadloom::{Control, Dim, In, Kernel, Out, Port, Progress};
use smallvec::SmallVec;

use crate::argument::{Place, Versioned, fill, give, many, text, versioned};
use crate::code::{bl_dtype, bl_options, code};
use crate::flag::{FLAGS, bl_flag};
use crate::memory::{Operand, bl_view};
use crate::status::bl_status::{self, BL_ARGUMENT, BL_ARITY, BL_DTYPE, BL_SHAPE};
use crate::status::{Answer, Failure, answer};
use crate::table::{Pin, Table};

/// A handle of a kernel. 0 is no kernel.
///
/// A kernel may be used by any number of threads at once. It is there until it was released as often as it was made and
/// retained.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_kernel {
    /// Nothing to look into.
    pub id: u64,
}

pub(crate) static KERNELS: Table<Kernel> = Table::new(b'k');

pub(crate) fn insert(kernel: Kernel) -> Answer<bl_kernel> {
    let id = KERNELS.insert(kernel).map_err(|why| Failure::handle("kernel", why))?;
    Ok(bl_kernel { id })
}

#[inline]
pub(crate) fn kernel(handle: bl_kernel) -> Answer<Pin<'static, Kernel>> {
    KERNELS.pin(handle.id).map_err(|why| Failure::handle("kernel", why))
}

/// Compiles a program in the text language (docs/language.md), with options or null for the usual ones.
///
/// `length` is the text's in bytes, or BL_NUL_TERMINATED. Where the text is wrong, `bl_last_error_span` says where.
///
/// # Safety
/// `program` is null or valid for reads of the text; `options` is null or to as many bytes as its size says; `out` is
/// null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_parse(
    program: *const c_char,
    length: usize,
    options: *const bl_options,
    out: *mut bl_kernel,
) -> bl_status {
    answer(|| {
        // SAFETY: the caller's promise.
        let (out, program, options) = unsafe {
            let out = Place::new(out, "the place for the kernel")?;
            (out, text(program, length, "the program")?, crate::code::options(options)?)
        };
        out.put(insert(Kernel::parse(program, &options)?)?);
        Ok(())
    })
}

/// One reference more to a kernel.
#[unsafe(no_mangle)]
pub extern "C" fn bl_kernel_retain(handle: bl_kernel) -> bl_status {
    answer(|| KERNELS.retain(handle.id).map_err(|why| Failure::handle("kernel", why)))
}

/// One reference less; with the last one the handle is no kernel's any more. Runs that are under way end as they would.
#[unsafe(no_mangle)]
pub extern "C" fn bl_kernel_release(handle: bl_kernel) -> bl_status {
    answer(|| KERNELS.release(handle.id).map_err(|why| Failure::handle("kernel", why)))
}

/// The kernel's identity: 32 bytes, the same for the same program and options on every host.
///
/// # Safety
/// `out` is null or valid for a write of 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_kernel_id(handle: bl_kernel, out: *mut u8) -> bl_status {
    answer(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { Place::new(out.cast::<[u8; 32]>(), "the place for the identity") }?;
        out.put(*kernel(handle)?.id().as_bytes());
        Ok(())
    })
}

/// What a kernel's operands are: the number of inputs and of outputs.
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
        // SAFETY: the caller's promise.
        let (inputs, outputs) = unsafe {
            (
                Place::new(inputs, "the place for the inputs")?,
                Place::new(outputs, "the place for the outputs")?,
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
/// An extent that a run decides, the same wherever its symbol stands.
pub const BL_DIM_SYMBOL: u32 = 1;
/// Any number of leading axes.
pub const BL_DIM_REST: u32 = 2;

/// What there is to say of an operand; its size must be set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_operand {
    /// sizeof(bl_operand)
    pub size: usize,
    /// The number of its dims, "..." being one.
    pub rank: usize,
    /// The length of its name in bytes, without a zero.
    pub name_length: usize,
    /// A BL_DTYPE constant.
    pub dtype: bl_dtype,
    /// 1 if "..." is its first dim, else 0.
    pub has_rest: u32,
}

// SAFETY: `repr(C)`, its size first, and nothing but integers.
unsafe impl Versioned for bl_operand {
    const FIRST: usize = size_of::<bl_operand>();

    fn unsaid() -> bl_operand {
        bl_operand { size: size_of::<bl_operand>(), rank: 0, name_length: 0, dtype: 0, has_rest: 0 }
    }
}

/// An input or an output of a kernel.
fn port(kernel: &Kernel, side: u32, index: usize) -> Answer<&Port> {
    let (ports, what) = match side {
        BL_INPUT => (kernel.inputs(), "inputs"),
        BL_OUTPUT => (kernel.outputs(), "outputs"),
        _ => return Err(Failure::new(BL_ARGUMENT, format!("{side} is neither BL_INPUT nor BL_OUTPUT"))),
    };
    let beyond =
        || Failure::new(BL_ARITY, format!("there is no {index}: the kernel has {} {what}", ports.len()));
    ports.get(index).ok_or_else(beyond)
}

/// Says what an operand is: BL_INPUT or BL_OUTPUT, and which of them.
///
/// # Safety
/// `out` is null, or to as many bytes as its size says.
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
            ..bl_operand::unsaid()
        };
        // SAFETY: the caller's promise.
        unsafe { fill(out, operand, "the place for the operand") }
    })
}

/// Gives the name of an operand, with a zero after it, and its length without.
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
        // SAFETY: the caller's promise.
        unsafe { give(&port(&kernel, side, index)?.name, buffer, capacity, length) }
    })
}

/// Gives a dim of an operand: its kind, its extent (0 if that is open), and as text: a number, a symbol or "...".
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
        // SAFETY: the caller's promise.
        let (to_kind, to_extent) = unsafe {
            (Place::new(kind, "the place for the kind")?, Place::new(extent, "the place for the extent")?)
        };
        let kernel = kernel(handle)?;
        let dims = &port(&kernel, side, index)?.dims;
        let beyond = || Failure::new(BL_SHAPE, format!("there is no axis {axis} in {dims}"));
        let dim = dims.get(axis).ok_or_else(beyond)?;
        let (kind, extent) = match dim {
            Dim::Fixed(extent) => (BL_DIM_FIXED, *extent),
            Dim::Symbol(_) => (BL_DIM_SYMBOL, 0),
            Dim::Rest => (BL_DIM_REST, 0),
        };
        to_kind.put(kind);
        to_extent.put(extent);
        // SAFETY: the caller's promise.
        unsafe { give(&dim.to_string(), buffer, capacity, length) }
    })
}

/// Gives the plan of the kernel as text, with a zero after it, and the text's length; extents that are open are taken as
/// 1000. The text is for people: its form may change in any version, and its length from one call to the next.
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
        // SAFETY: the caller's promise.
        unsafe { give(&text, buffer, capacity, length) }
    })
}

/// A function that is told how far a run is: in elements of all of its loops, from whichever thread computed them, and
/// from several at once. It must return: neither by `longjmp`, nor by an exception.
pub type bl_progress = Option<unsafe extern "C" fn(context: *mut c_void, done: u64, total: u64)>;

/// How a run is watched and stopped; set its size, and to zero what is not used.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_control {
    /// sizeof(bl_control)
    pub size: usize,
    /// Looked at before each chunk of the work; 0 for none.
    pub cancel: bl_flag,
    /// Called after each chunk; null for none.
    pub progress: bl_progress,
    /// Handed to `progress`.
    pub context: *mut c_void,
}

// SAFETY: `repr(C)`, its size first; the caller vouches for the function, and zeros are none.
unsafe impl Versioned for bl_control {
    const FIRST: usize = size_of::<bl_control>();

    fn unsaid() -> bl_control {
        let cancel = bl_flag { id: 0 };
        bl_control { size: size_of::<bl_control>(), cancel, progress: None, context: std::ptr::null_mut() }
    }
}

/// A caller's function with its context.
struct Listener {
    function: unsafe extern "C" fn(*mut c_void, u64, u64),
    context: *mut c_void,
}

// SAFETY: the caller was told that the function is called from several threads at once, and gave the context for that.
unsafe impl Sync for Listener {}

impl Listener {
    fn tell(&self, progress: Progress) {
        // SAFETY: the caller gave the function for this, and its context.
        unsafe { (self.function)(self.context, progress.done as u64, progress.total as u64) }
    }
}

/// Does work under a control, or under none if the pointer is null.
///
/// # Safety
/// The pointer is null, or to as many bytes as its size says; the function may be called with the context, from any
/// thread, until the work ends.
pub(crate) unsafe fn controlled<T>(
    control: *const bl_control,
    work: impl FnOnce(Option<&Control<'_>>) -> Answer<T>,
) -> Answer<T> {
    if control.is_null() {
        return work(None);
    }
    // SAFETY: the caller's promise.
    let given = unsafe { versioned(control, "the pointer to the control") }?;
    let flag: Option<Pin<'_, AtomicBool>> = match given.cancel.id {
        0 => None,
        id => Some(FLAGS.pin(id).map_err(|why| Failure::handle("flag", why))?),
    };
    let listener = given.progress.map(|function| Listener { function, context: given.context });
    let tell = listener.as_ref().map(|listener| move |progress| listener.tell(progress));
    let progress = tell.as_ref().map(|tell| tell as &(dyn Fn(Progress) + Sync));
    work(Some(&Control { cancel: flag.as_deref(), progress }))
}

/// Runs a kernel on memory with shapes: one view for each input and each output, in their order.
///
/// Symbols take their extents from the inputs. An output has the shape that follows; its memory may be that of inputs:
/// the same elements, or others, and then results are computed aside. No two outputs may overlap. `control` may be null.
///
/// # Safety
/// `inputs` and `outputs` are null or valid for so many reads, and so are their shapes and strides. What a view reaches is
/// in one allocation and, until the call returns, initialised and valid for reads, of an output also for writes; nothing
/// else writes to it, nor reads what is an output's. `control` is null, or to as many bytes as its size says.
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
        // SAFETY: the caller's promise.
        let (inputs, outputs) =
            unsafe { (operands(inputs, input_count, "input")?, operands(outputs, output_count, "output")?) };
        // SAFETY: the caller's promise; binding reads no memory.
        let raw: SmallVec<[In<'_>; 8]> = inputs.iter().map(|input| unsafe { input.raw_input() }).collect();
        let call = kernel.bind_like(&raw)?;
        if outputs.len() != kernel.outputs().len() {
            let why = format!("{} outputs, the kernel has {}", outputs.len(), kernel.outputs().len());
            return Err(Failure::new(BL_ARITY, why));
        }
        for (i, ((given, shape), port)) in
            outputs.iter().zip(call.output_shapes()).zip(kernel.outputs()).enumerate()
        {
            if given.dtype != port.dtype {
                let why =
                    format!("output {i} (`{}`) is {}, but the view {}", port.name, port.dtype, given.dtype);
                return Err(Failure::new(BL_DTYPE, why));
            }
            if given.shape[..] != *shape {
                let why = format!(
                    "output {i} (`{}`) is of the shape {shape:?}, but the view of {:?}",
                    port.name, given.shape
                );
                return Err(Failure::new(BL_SHAPE, why));
            }
        }
        // SAFETY: the caller's promise, from here to the end of the run.
        let ins: SmallVec<[In<'_>; 8]> =
            inputs.iter().map(|input| unsafe { input.input(&outputs) }).collect();
        let mut outs: SmallVec<[Out<'_>; 4]> = SmallVec::new();
        for at in 0..outputs.len() {
            // SAFETY: as above.
            outs.push(unsafe { Operand::output(&outputs, at, &inputs) }?);
        }
        let work = |control: Option<&Control<'_>>| {
            let done = match control {
                None => call.run(&ins, outs),
                Some(control) => call.run_with(&ins, outs, control),
            };
            done.map_err(Failure::from)
        };
        // SAFETY: the caller's promise.
        unsafe { controlled(control, work) }
    })
}

/// The operands that views describe.
///
/// # Safety
/// As of [`bl_kernel_run`].
unsafe fn operands(views: *const bl_view, count: usize, what: &str) -> Answer<SmallVec<[Operand; 4]>> {
    // SAFETY: the caller's promise.
    let views = unsafe { many(views, count, "the pointer to the views") }?;
    let mut operands = SmallVec::new();
    for (i, view) in views.iter().enumerate() {
        // SAFETY: the caller's promise.
        operands.push(unsafe { Operand::new(view, || format!("{what} {i}")) }?);
    }
    Ok(operands)
}
