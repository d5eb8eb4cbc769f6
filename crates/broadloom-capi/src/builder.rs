//! Builders, which construct a kernel by one call per operation.
//!
//! A value can only be used with the builder that it comes from, and a failed call leaves its builder unchanged.

use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use broadloom::{Array, Dim, Kernel, Literal, Op, Options, Promotion, with_promotion};

use crate::argument::{BL_NUL_TERMINATED, OutPtr, many, text};
use crate::code::{bl_dtype, bl_options, dtype};
use crate::host::bl_host;
use crate::kernel::bl_kernel;
use crate::open_loops::{BuilderLoops, OpenStatement};
use crate::status::bl_status::{self, BL_ARGUMENT, BL_ARITY, BL_HANDLE, BL_LIMIT, BL_NAME};
use crate::status::{Answer, CallFailure, answer};
use crate::table::{ObjectTable, Pin};

/// A handle of a builder. 0 is no builder.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_builder {
    /// Opaque.
    pub id: u64,
}

/// A value of one builder: an input, a literal, or the result of an operation. It lives as long as its builder.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_value {
    /// Opaque.
    pub id: u64,
}

/// An extent: a number, or a symbol for an extent that is bound at run time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_dim {
    /// Null if the extent is a number. Otherwise a name, or "..." for any number of leading axes, zero-terminated.
    pub symbol: *const c_char,
    /// The number, if `symbol` is null.
    pub extent: usize,
}

static BUILDERS: ObjectTable<Builder> = ObjectTable::new(b'b');

/// The upper half of the ids of a builder's values. It is unique to each builder, so that values of another builder are rejected.
static MARKS: AtomicU32 = AtomicU32::new(1);

pub(crate) struct Builder {
    mark: u32,
    pub options: Options,
    parts: Mutex<BuilderParts>,
}

#[derive(Default)]
pub(crate) struct BuilderParts {
    pub values: Vec<Array<'static>>,
    pub loops: BuilderLoops,
    /// The indices of the values that are inputs, in the order of the inputs.
    inputs: Vec<usize>,
    outputs: Vec<(String, usize)>,
}

impl BuilderParts {
    /// Builds an array by a promotion rule, as a part of the loop or scan that has begun last, if one has.
    pub(crate) fn build<R>(&mut self, rule: Promotion, make: impl FnOnce(&mut BuilderParts) -> R) -> R {
        let innermost = self.loops.open.last().map(|of| of.open.clone());
        let build = || with_promotion(rule, || make(self));
        match innermost {
            Some(OpenStatement::Loop { open, .. }) => open.build(build),
            Some(OpenStatement::Scan(open)) => open.build(build),
            None => build(),
        }
    }
}

pub(crate) fn builder(handle: bl_builder) -> Answer<Pin<'static, Builder>> {
    BUILDERS.pin(handle.id).map_err(|why| CallFailure::handle("builder", why))
}

impl Builder {
    pub(crate) fn parts(&self) -> MutexGuard<'_, BuilderParts> {
        // A panic leaves the vectors valid: at worst a value was added whose handle was not returned.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the index of a value; an error if the value belongs to another builder, or to a loop or scan that has ended.
    fn find(&self, parts: &BuilderParts, value: bl_value) -> Answer<usize> {
        let index = value.id as u32 as usize;
        let is_ours = value.id >> 32 == u64::from(self.mark) && index < parts.values.len();
        let foreign = || CallFailure::new(BL_HANDLE, "the value belongs to another builder");
        let index = is_ours.then_some(index).ok_or_else(foreign)?;
        if parts.loops.have_ended(index) && !parts.inputs.contains(&index) {
            return Err(CallFailure::new(
                BL_ARGUMENT,
                "the value belongs to a loop or a scan that has ended",
            ));
        }
        Ok(index)
    }

    /// Finds the array of a value, with the errors of [`Builder::find`].
    pub(crate) fn value<'p>(&self, parts: &'p BuilderParts, value: bl_value) -> Answer<&'p Array<'static>> {
        Ok(&parts.values[self.find(parts, value)?])
    }

    /// Finds the arrays of values, with the errors of [`Builder::find`].
    pub(crate) fn arrays(&self, parts: &BuilderParts, values: &[bl_value]) -> Answer<Vec<Array<'static>>> {
        values.iter().map(|value| self.value(parts, *value).cloned()).collect()
    }

    /// Checks that there is room for `count` more values. This comes before anything is changed, so that an error about a full
    /// builder leaves the builder unchanged.
    pub(crate) fn check_room(&self, parts: &BuilderParts, count: usize) -> Answer<()> {
        let limit = self.options.max_nodes.min(u32::MAX as usize);
        match count <= limit.saturating_sub(parts.values.len()) {
            true => Ok(()),
            false => Err(CallFailure::new(BL_LIMIT, format!("more than {limit} values: see max_nodes"))),
        }
    }

    /// Adds a value, for which there is room, and returns its handle.
    pub(crate) fn push(&self, parts: &mut BuilderParts, value: Array<'static>) -> bl_value {
        let id = u64::from(self.mark) << 32 | parts.values.len() as u64;
        parts.values.push(value);
        bl_value { id }
    }
}

/// Converts the extents of a C array.
///
/// # Safety
/// The requirements of [`many`]. Symbols must be null or NUL-terminated. The extents and symbols must not change during the call.
unsafe fn dims(pointer: *const bl_dim, rank: usize) -> Answer<Vec<Dim>> {
    // SAFETY: `many` has the same requirements on `rank` extents as the safety section.
    let given = unsafe { many(pointer, rank, "the pointer to the extents") }?;
    let one = |dim: &bl_dim| match dim.symbol.is_null() {
        true => Ok(Dim::Fixed(dim.extent)),
        // SAFETY: the safety section requires symbols to be NUL-terminated.
        false => Ok(Dim::from(unsafe { text(dim.symbol, BL_NUL_TERMINATED, "the name of an extent") }?)),
    };
    given.iter().map(one).collect()
}

/// Makes an empty builder, for kernels with these options (null for the defaults).
///
/// # Safety
/// `options` is null, or points to as many bytes as its `size` states; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_new(options: *const bl_options, out: *mut bl_builder) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as `out` is;
        // `code::options` accepts null and has the same requirements on any other pointer as the safety section.
        let (out, options) =
            unsafe { (OutPtr::new(out, "the pointer to the builder")?, crate::code::options(options)?) };
        let mark = MARKS.fetch_add(1, Ordering::Relaxed);
        let id = BUILDERS.insert(Builder { mark, options, parts: Mutex::default() });
        out.put(bl_builder { id: id.map_err(|why| CallFailure::handle("builder", why))? });
        Ok(())
    })
}

/// Releases a builder and its values. Kernels that it built are unaffected.
#[unsafe(no_mangle)]
pub extern "C" fn bl_builder_release(handle: bl_builder) -> bl_status {
    answer(|| BUILDERS.release(handle.id).map_err(|why| CallFailure::handle("builder", why)))
}

/// Adds a value, which `make` computes, to a builder.
///
/// # Safety
/// `out` must be null or valid for a write.
pub(crate) unsafe fn add(
    handle: bl_builder,
    out: *mut bl_value,
    make: impl FnOnce(&Builder, &mut BuilderParts) -> Answer<Array<'static>>,
) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as `out` is.
        let out = unsafe { OutPtr::new(out, "the pointer to the value") }?;
        let builder = builder(handle)?;
        let mut parts = builder.parts();
        builder.check_room(&parts, 1)?;
        let value = parts.build(builder.options.promotion, |parts| make(&builder, parts))?;
        out.put(builder.push(&mut parts, value));
        Ok(())
    })
}

/// Adds arrays, and writes their handles.
///
/// # Safety
/// `out` is valid for as many writes as there are arrays.
pub(crate) unsafe fn add_all(
    builder: &Builder,
    parts: &mut BuilderParts,
    arrays: impl ExactSizeIterator<Item = Array<'static>>,
    out: *mut bl_value,
) -> Answer<()> {
    builder.check_room(parts, arrays.len())?;
    for (i, array) in arrays.enumerate() {
        // SAFETY: the safety section requires that each array's handle can be written.
        unsafe { out.add(i).write(builder.push(parts, array)) };
    }
    Ok(())
}

/// Adds an input: an array of this dtype with `rank` extents, or a scalar parameter if `rank` is 0. A kernel's inputs are in
/// the order of these calls.
///
/// # Safety
/// `name` is null or ends with a zero; `extents` is null or valid for `rank` reads, and each of their symbols is null or ends
/// with a zero; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_input(
    handle: bl_builder,
    name: *const c_char,
    dtype_code: bl_dtype,
    extents: *const bl_dim,
    rank: usize,
    out: *mut bl_value,
) -> bl_status {
    let make = |_: &Builder, parts: &mut BuilderParts| {
        // SAFETY: `text` accepts null and requires that any other `name` is zero-terminated, and so does the safety section.
        let name = unsafe { text(name, BL_NUL_TERMINATED, "the name of the input") }?;
        // SAFETY: `dims` has the same requirements on `rank` extents and their symbols as the safety section.
        let input = Array::input(name, dtype(dtype_code)?, &unsafe { dims(extents, rank) }?)?;
        parts.inputs.push(parts.values.len());
        Ok(input)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds a literal, whose dtype is inferred from the other operands.
///
/// # Safety
/// `out` is null or valid for a write.
unsafe fn literal(handle: bl_builder, literal: Literal, out: *mut bl_value) -> bl_status {
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, |_, _| Ok(Array::scalar(literal))) }
}

/// Adds a bool literal: 0 is false.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_bool(handle: bl_builder, value: i32, out: *mut bl_value) -> bl_status {
    // SAFETY: `literal` has the same requirements on `out` as this function.
    unsafe { literal(handle, Literal::Bool(value != 0), out) }
}

/// Adds an integer literal, which takes its dtype from the other operands.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_int(handle: bl_builder, value: i64, out: *mut bl_value) -> bl_status {
    // SAFETY: `literal` has the same requirements on `out` as this function.
    unsafe { literal(handle, Literal::Int(value.into()), out) }
}

/// Adds an integer literal beyond the range of `bl_builder_int`.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_uint(handle: bl_builder, value: u64, out: *mut bl_value) -> bl_status {
    // SAFETY: `literal` has the same requirements on `out` as this function.
    unsafe { literal(handle, Literal::Int(value.into()), out) }
}

/// Adds a float literal, which takes its dtype from the other operands.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_float(handle: bl_builder, value: f64, out: *mut bl_value) -> bl_status {
    // SAFETY: `literal` has the same requirements on `out` as this function.
    unsafe { literal(handle, Literal::Float(value), out) }
}

/// Adds the result of a function, such as "add" or "where", applied to these values; docs/generated/ops.md lists the functions.
///
/// # Safety
/// `function` is null or ends with a zero; `values` is null or valid for `count` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_apply(
    handle: bl_builder,
    function: *const c_char,
    values: *const bl_value,
    count: usize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        // SAFETY: `text` and `many` accept null; the safety section requires that any other `function` is zero-terminated, and
        // that `count` values can be read.
        let (name, values) = unsafe {
            let name = text(function, BL_NUL_TERMINATED, "the name of the function")?;
            (name, many(values, count, "the pointer to the values")?)
        };
        let Some(op) = Op::from_name(name) else {
            return Err(CallFailure::new(BL_NAME, format!("there is no function `{name}`")));
        };
        if count != op.operands() {
            let why = format!("{name} takes {} values, but got {count}", op.operands());
            return Err(CallFailure::new(BL_ARITY, why));
        }
        let operands = builder.arrays(parts, values)?;
        Ok(Array::apply(op, &operands)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the result of a host function applied to these values. They must have exactly the dtypes of the host function's
/// operands; literals are converted to these dtypes.
///
/// # Safety
/// `values` is null or valid for `count` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_call(
    handle: bl_builder,
    function: bl_host,
    values: *const bl_value,
    count: usize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        // SAFETY: `many` accepts null; the safety section requires that the values at any other pointer are readable.
        let values = unsafe { many(values, count, "the pointer to the values") }?;
        let operands = builder.arrays(parts, values)?;
        Ok(Array::call(&*crate::host::function(function)?, operands)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds a value converted to another dtype.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_cast(
    handle: bl_builder,
    value: bl_value,
    dtype_code: bl_dtype,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let dtype = dtype(dtype_code)?;
        Ok(builder.value(parts, value)?.astype(dtype))
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Makes a value an output; a kernel's outputs are in the order of these calls.
///
/// # Safety
/// `name` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_output(
    handle: bl_builder,
    name: *const c_char,
    value: bl_value,
) -> bl_status {
    answer(|| {
        // SAFETY: `text` accepts null and requires that any other `name` is zero-terminated, and so does the safety section.
        let name = unsafe { text(name, BL_NUL_TERMINATED, "the name of the output") }?;
        let builder = builder(handle)?;
        let mut parts = builder.parts();
        parts.loops.check_closed()?;
        let index = builder.find(&parts, value)?;
        parts.outputs.push((name.to_owned(), index));
        Ok(())
    })
}

/// Builds a kernel with one reference; the builder can still be used.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_compile(handle: bl_builder, out: *mut bl_kernel) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as `out` is.
        let out = unsafe { OutPtr::new(out, "the pointer to the kernel") }?;
        let builder = builder(handle)?;
        let parts = builder.parts();
        parts.loops.check_closed()?;
        if parts.outputs.is_empty() {
            return Err(CallFailure::new(BL_ARGUMENT, "the builder has no output"));
        }
        let outputs: Vec<(&str, &Array<'_>)> =
            parts.outputs.iter().map(|(name, index)| (&**name, &parts.values[*index])).collect();
        let inputs: Vec<&Array<'_>> = parts.inputs.iter().map(|index| &parts.values[*index]).collect();
        let kernel =
            with_promotion(builder.options.promotion, || Kernel::named(&outputs, &inputs, &builder.options))?;
        out.put(crate::kernel::insert(kernel)?);
        Ok(())
    })
}
