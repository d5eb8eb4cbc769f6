//! Host functions: the application's own functions, called from the loops of every executor.
//!
//! A host function is called, with the context that it was created with, through an entry function of this library that does not
//! unwind. The context is destroyed once, when no handle, builder, library, kernel or cache uses the function any more.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, OnceLock};

use broadloom::{DType, Engine, HostFunction};

use crate::argument::{BL_NUL_TERMINATED, OutPtr, Versioned, many, text, versioned};
use crate::code::{bl_dtype, dtype};
use crate::status::bl_status::{self, BL_NULL};
use crate::status::{Answer, CallFailure, answer};
use crate::table::{ObjectTable, Pin, Refused};

/// A handle of a host function. 0 is no function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_host {
    /// Opaque.
    pub id: u64,
}

/// A function of the application over contiguous elements: it reads `elements` elements of each of the `inputs` and writes
/// `elements` elements to `output`, with the dtypes that it was created with. Bools are bytes of 0 or 1; in a result, any byte
/// but 0 is true.
///
/// It is called from the threads that compute, several at a time, for one or more elements, in any order, and for some elements
/// more than once, so its results must depend only on the elements that it reads. It may call functions of this library. It
/// must return normally: an exception ends the process, and a `longjmp` is undefined behaviour. It must leave the
/// floating-point environment as it finds it (rounding to nearest, no exception trapped).
///
/// It returns 0 for success and any other number for a failure. After a failure it need not have written anything, and the run
/// ends with BL_HOST and a message that contains the number.
pub type bl_host_tile = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        elements: usize,
        inputs: *const *const c_void,
        output: *mut c_void,
    ) -> i32,
>;

/// The destructor of a context. It is called once, from any thread, when nothing uses the host function any more. It must
/// return normally.
pub type bl_destructor = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// The description of a host function. Set `size`, and set unused fields to zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_host_function {
    /// sizeof(bl_host_function)
    pub size: usize,
    /// Its name in texts and explanations: at most 255 ASCII letters, digits and `_`, no digit first; zero-terminated.
    pub name: *const c_char,
    /// A BL_DTYPE constant for each operand.
    pub operands: *const bl_dtype,
    /// The number of operands: 1 to 3.
    pub operand_count: usize,
    /// The dtype of its result: a BL_DTYPE constant.
    pub result: bl_dtype,
    /// The approximate time per element in units of 0.04 ns: 1 for an addition, about 140 for a power. 0 selects the default,
    /// which is 128. The cost decides how many threads share the work, and whether an operand of a broadcast is computed once
    /// and kept; it does not change results.
    pub cost: u32,
    /// The function.
    pub function: bl_host_tile,
    /// Passed to `function` and `destructor`.
    pub context: *mut c_void,
    /// Called with the context when nothing uses the function any more; null for no destructor.
    pub destructor: bl_destructor,
}

// SAFETY: the struct is `repr(C)` and begins with `size: usize`. Its other fields are integers, pointers, and optional
// function pointers, which C declares as nullable pointers to functions of those types; zero is a value of each.
unsafe impl Versioned for bl_host_function {
    const MIN_SIZE: usize = size_of::<bl_host_function>();

    fn defaults() -> bl_host_function {
        bl_host_function {
            size: size_of::<bl_host_function>(),
            name: std::ptr::null(),
            operands: std::ptr::null(),
            operand_count: 0,
            result: 0,
            cost: 0,
            function: None,
            context: std::ptr::null_mut(),
            destructor: None,
        }
    }
}

/// The type of the application's function as it is called here: a function that may unwind, inside an entry that may not.
type Unwinding = unsafe extern "C-unwind" fn(*mut c_void, usize, *const *const c_void, *mut c_void) -> i32;

/// An application's function with its context.
struct HostOwner {
    function: Unwinding,
    context: *mut c_void,
    /// The context's destructor. `bl_host_new` sets it only once the host function has been created: if that fails, the
    /// application keeps the context, and it is not destroyed here.
    destructor: OnceLock<unsafe extern "C-unwind" fn(*mut c_void)>,
}

// SAFETY: the context is passed only to the application's functions, which `bl_host_new` documents as called from any thread,
// several at a time.
unsafe impl Send for HostOwner {}
// SAFETY: shared access only passes the context to the application's functions, as for `Send`.
unsafe impl Sync for HostOwner {}

impl Drop for HostOwner {
    fn drop(&mut self) {
        /// A function of the C ABI, so that a panic or exception in the destructor ends the process.
        extern "C" fn destroy(destructor: unsafe extern "C-unwind" fn(*mut c_void), context: *mut c_void) {
            // SAFETY: `bl_host_new` documents that the destructor is called once with the context, from any thread, when nothing
            // uses the function any more. The last owner is being dropped.
            unsafe { destructor(context) }
        }
        if let Some(destructor) = self.destructor.get() {
            destroy(*destructor, self.context);
        }
    }
}

/// The entry through which every application's function is called; the context is a pointer to an `Arc<HostOwner>`.
///
/// # Safety
/// The requirements of [`HostFallibleTile`](broadloom::HostFallibleTile) for the dtypes that the function was created with.
unsafe extern "C" fn enter(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) -> i32 {
    // SAFETY: `bl_host_new` registers this entry together with an `Arc<HostOwner>`, which lives as long as the function does.
    let owner = unsafe { &*context.cast::<Arc<HostOwner>>() };
    // SAFETY: by the safety section, the operands have the declared dtypes; `bl_host_new` requires that the function may be
    // called with such operands and its context.
    unsafe { (owner.function)(owner.context, elements, inputs.cast(), output.cast()) }
}

static HOSTS: ObjectTable<HostFunction> = ObjectTable::new(b'h');

fn refused(why: Refused) -> CallFailure {
    CallFailure::handle("host function", why)
}

/// The host function of a handle.
pub(crate) fn function(handle: bl_host) -> Answer<Pin<'static, HostFunction>> {
    HOSTS.pin(handle.id).map_err(refused)
}

/// Creates a host function with one reference. Two host functions are different functions even if their names are equal, and
/// are compiled separately, so create a function once and keep the handle.
///
/// The context is destroyed when the function has no reference and nothing uses it: builders, libraries and kernels
/// keep the functions that they were given, and so do caches until `bl_clear_caches`. If the creation fails,
/// the context is not destroyed.
///
/// # Safety
/// `description` is null, or points to as many bytes as its `size` states; its name is null or ends with a zero, and its
/// operands are null or valid for `operand_count` reads. The function and the destructor may be called as their types specify,
/// until the destructor is called. `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_host_new(description: *const bl_host_function, out: *mut bl_host) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as `out` is;
        // `versioned` has the same requirements on the description as the safety section.
        let (out, given) = unsafe {
            let out = OutPtr::new(out, "the pointer to the host function")?;
            (out, versioned(description, "the pointer to the description")?)
        };
        // SAFETY: `text` and `many` accept null and have the same requirements on other pointers as the safety section has on
        // the fields.
        let (name, operands) = unsafe {
            let name = text(given.name, BL_NUL_TERMINATED, "the name of the host function")?;
            (name, many(given.operands, given.operand_count, "the pointer to the operands")?)
        };
        let operands = operands.iter().map(|&code| dtype(code)).collect::<Answer<Vec<DType>>>()?;
        let result = dtype(given.result)?;
        let Some(function) = given.function else {
            return Err(CallFailure::new(BL_NULL, "the pointer to the function is null"));
        };
        // SAFETY: the two types differ only in whether the function may unwind, which only its caller has to consider.
        let function = unsafe {
            std::mem::transmute::<
                unsafe extern "C" fn(*mut c_void, usize, *const *const c_void, *mut c_void) -> i32,
                Unwinding,
            >(function)
        };
        let owner = Arc::new(HostOwner { function, context: given.context, destructor: OnceLock::new() });
        // SAFETY: `enter` passes the operands to the application's function. `HostFunction::fallible_tile` has the same
        // requirements on that function as the safety section.
        let host = unsafe { HostFunction::fallible_tile(name, &operands, result, enter, owner.clone()) };
        let mut host = host.map_err(broadloom::Error::from)?;
        if given.cost != 0 {
            host = host.with_cost(given.cost);
        }
        let id = HOSTS.insert(host).map_err(refused)?;
        if let Some(destructor) = given.destructor {
            // SAFETY: the two types differ only in whether the function may unwind, which only its caller has to consider.
            let destructor = unsafe {
                std::mem::transmute::<
                    unsafe extern "C" fn(*mut c_void),
                    unsafe extern "C-unwind" fn(*mut c_void),
                >(destructor)
            };
            // The owner was created above, so the destructor was not set before.
            let _ = owner.destructor.set(destructor);
        }
        out.put(bl_host { id });
        Ok(())
    })
}

/// Adds a reference to a host function.
#[unsafe(no_mangle)]
pub extern "C" fn bl_host_retain(handle: bl_host) -> bl_status {
    answer(|| HOSTS.retain(handle.id).map_err(refused))
}

/// Removes a reference; after the last one the handle is invalid. Objects that use the function keep it alive.
#[unsafe(no_mangle)]
pub extern "C" fn bl_host_release(handle: bl_host) -> bl_status {
    answer(|| HOSTS.release(handle.id).map_err(refused))
}

/// Forgets all plans and machine code that no kernel or call holds, and frees pooled memory. Host functions that nothing else
/// uses are destroyed, so call it before the code of such functions is unloaded.
#[unsafe(no_mangle)]
pub extern "C" fn bl_clear_caches() -> bl_status {
    answer(|| {
        Engine::global().clear();
        Ok(())
    })
}
