//! Host functions: functions of the application, called from the loops of every executor.
//!
//! Each function (a Rust closure, or a pointer with declared dtypes) has an *entry*: a C function of type [`HostTile`] that
//! calls it for contiguous elements and out of which nothing unwinds. Safe code calls the entry for slices
//! ([`HostFunction::call`]), machine code calls it directly ([`HostFunction::entry`]). An entry takes and returns bools as
//! bytes of 0 or 1.

mod closure;
mod failure;
mod pointer;
mod tile;

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use broadloom_ir::{HostDeclaration, HostError, HostSignature, MAX_HOST_OPERANDS};
use broadloom_math::DType;

use closure::Named;
pub use closure::{HostClosure, HostResult, HostTileClosure, HostTileResult};
pub use failure::{HostStatus, catch_failure, has_failed};
pub use pointer::HostPointer;
pub use tile::{HostFallibleTile, HostTile};

/// The number of elements per call if the bytes of bool operands have to be converted to 0 and 1 first.
const CHUNK: usize = 256;

/// An elementwise function of the application, for use in expressions.
///
/// This is a handle that is cheap to clone. Two handles are equal if and only if they come from the same registration, so
/// register a function once and keep the handle. Values that the function owns are dropped with the last handle, and a cache of
/// plans or compiled kernels may hold a handle for a while.
///
/// A function is called for every element, from any thread and in any order, for some elements more than once, and not at all if
/// no result is needed. So its result must depend on its arguments alone. If it does not, results are unspecified values of their
/// dtype, but memory stays safe. If the function panics or anything else unwinds out of it, the process ends.
///
/// A function can fail: a closure by returning a `Result`, a pointer by returning a status ([`HostFunction::fallible_tile`]).
/// The first failure ends the evaluation with an error of kind [`Host`](broadloom_ir::ErrorKind::Host) that names the function
/// and has the function's own error as its source. If the function fails for several elements, any of these failures may be the
/// one that is reported. Functions are called only with elements of their operands, so every failure is caused by one of these.
#[derive(Clone)]
pub struct HostFunction(Arc<HandleInner>);

struct HandleInner {
    declaration: HostDeclaration,
    entry: HostTile,
    can_fail: bool,
    /// The context that is passed to the entry. It lives as long as the function.
    owner: Arc<dyn Any + Send + Sync>,
}

/// The C function by which executors call a host function, and whether the host function can fail.
struct HostEntry {
    tile: HostTile,
    can_fail: bool,
}

impl HostFunction {
    /// The cost of a function for which [`HostFunction::with_cost`] declares none: about 4 ns per element.
    pub const DEFAULT_COST: u32 = 128;

    /// Registers a Rust closure over elements, such as `|x: f32, y: f32| x.min(y)`.
    ///
    /// Operands and result are elements of any dtype: `bool`, `i8` … `u64`, [`f16`](broadloom_math::f16), `f32` and `f64`;
    /// there are 1 to [`MAX_HOST_OPERANDS`] operands, whose types the closure must write out. A closure that can fail returns a
    /// `Result` of an element, whose error is a [`std::error::Error`] or a string.
    ///
    /// # Errors
    /// [`HostError::Name`] for a name that is not an identifier.
    ///
    /// ```
    /// use broadloom_mem::HostFunction;
    ///
    /// let collatz = HostFunction::new("collatz", |n: u64| if n % 2 == 0 { n / 2 } else { 3 * n + 1 })?;
    /// assert_eq!(collatz.to_string(), "collatz(uint64 -> uint64)");
    ///
    /// let root = HostFunction::new("root", |x: f64| if x < 0.0 { Err("it is negative") } else { Ok(x.sqrt()) })?;
    /// assert!(root.can_fail());
    /// # Ok::<(), broadloom_mem::HostError>(())
    /// ```
    pub fn new<Args: 'static, F: HostClosure<Args>>(
        name: &str,
        function: F,
    ) -> Result<HostFunction, HostError> {
        let entry = HostEntry { tile: closure::entry::<F, Args>, can_fail: F::CAN_FAIL };
        HostFunction::named(name, F::OPERANDS, F::RESULT, entry, function)
    }

    /// Registers a Rust closure over tiles, such as `|x: &[f32], out: &mut [f32]| out.copy_from_slice(x)`. Use it for a function
    /// that is cheaper for many elements at once, or that checks them together.
    ///
    /// Operands and result are slices of integers or floats of any width, with the same number of elements, at least 1; there are
    /// 1 to [`MAX_HOST_OPERANDS`] operands. The initial contents of the result are unspecified. The closure may return a
    /// `Result<(), E>`, as closures over elements do.
    ///
    /// # Errors
    /// [`HostError::Name`] for a name that is not an identifier.
    ///
    /// ```
    /// use broadloom_mem::HostFunction;
    ///
    /// let gamma: Vec<f32> = (0..256).map(|i| (i as f32 / 255.0).powf(2.2)).collect();
    /// let look_up = HostFunction::over_tiles("look_up", move |keys: &[u8], out: &mut [f32]| {
    ///     out.iter_mut().zip(keys).for_each(|(out, key)| *out = gamma[usize::from(*key)]);
    /// })?;
    /// assert_eq!(look_up.to_string(), "look_up(uint8 -> float32)");
    /// # Ok::<(), broadloom_mem::HostError>(())
    /// ```
    pub fn over_tiles<Args: 'static, F: HostTileClosure<Args>>(
        name: &str,
        function: F,
    ) -> Result<HostFunction, HostError> {
        let entry = HostEntry { tile: closure::tile_entry::<F, Args>, can_fail: F::CAN_FAIL };
        HostFunction::named(name, F::OPERANDS, F::RESULT, entry, function)
    }

    /// Registers a pointer to a function over elements. The type parameter is its signature, written as a Rust function type:
    /// `scalar::<fn(f64, f64) -> bool>`.
    ///
    /// The pointer has the same signature in C's calling convention, except that a bool is `u8`: a result of 0 is false, any
    /// other result true. A float16 is [`f16`](broadloom_math::f16), which is `uint16_t` in C.
    ///
    /// # Errors
    /// [`HostError::Name`] for a name that is not an identifier.
    ///
    /// # Safety
    /// The pointer must point to a function with this signature, in C's calling convention, which
    /// - may be called on any thread, on several at once, for as long as the process runs;
    /// - may be called with any arguments of these types;
    /// - leaves the floating-point environment as it is at the call (the IEEE default), since it is not restored afterwards;
    /// - returns normally. If an exception or a panic unwinds out of it, the process ends; a `longjmp` is undefined behaviour.
    ///
    /// ```
    /// use broadloom_mem::HostFunction;
    ///
    /// unsafe extern "C" {
    ///     safe fn cbrt(x: f64) -> f64;
    /// }
    /// // SAFETY: the C library's cbrt has this signature, returns, and changes nothing but errno, which is thread-local.
    /// let cube_root = unsafe { HostFunction::scalar::<fn(f64) -> f64>("cbrt", cbrt)? };
    /// assert_eq!(cube_root.to_string(), "cbrt(float64 -> float64)");
    /// # Ok::<(), broadloom_mem::HostError>(())
    /// ```
    pub unsafe fn scalar<S: HostPointer>(name: &str, pointer: S::Pointer) -> Result<HostFunction, HostError> {
        // SAFETY: `closure` has the same requirements on the pointer as this function.
        HostFunction::new(name, unsafe { S::closure(pointer) })
    }

    /// Registers a pointer to a function over tiles, with the dtypes of its operands and of its result.
    ///
    /// The function receives a pointer to the context, which is dropped with the last handle. Each call is for one or more
    /// elements. The bytes of bool operands are 0 or 1; in a bool result the byte 0 is false and any other byte true.
    ///
    /// # Errors
    /// [`HostError::Name`] for a name that is not an identifier, and [`HostError::Operands`] for a wrong number of operands.
    ///
    /// # Safety
    /// The conditions of [`HostFunction::scalar`] must hold for as long as the context lives; and the function
    /// - reads only the operands' elements, of the declared dtypes, and the context, and writes to neither; it may write to
    ///   parts of the context whose types allow it, such as atomics;
    /// - writes all elements of the result, and nothing beyond;
    /// - keeps none of the pointers.
    ///
    /// ```
    /// use broadloom_mem::HostFunction;
    /// use broadloom_math::DType;
    /// use std::ffi::c_void;
    ///
    /// unsafe extern "C" fn look_up(n: usize, inputs: *const *const u8, out: *mut u8, table: *const c_void) {
    ///     // SAFETY: it is registered with one operand of uint8, a result of float32, and a context of 256 floats.
    ///     let (keys, table) = unsafe {
    ///         (std::slice::from_raw_parts(*inputs, n), &*table.cast::<[f32; 256]>())
    ///     };
    ///     for (i, key) in keys.iter().enumerate() {
    ///         // SAFETY: n elements of the result.
    ///         unsafe { out.cast::<f32>().add(i).write(table[usize::from(*key)]) };
    ///     }
    /// }
    /// let table = [0.5_f32; 256];
    /// // SAFETY: `look_up` reads only the n keys and the table, and writes only the n elements of the result.
    /// let gamma = unsafe { HostFunction::tile("gamma", &[DType::UInt8], DType::Float32, look_up, table)? };
    /// assert_eq!(gamma.with_cost(10).signature().cost(), 10);
    /// # Ok::<(), broadloom_mem::HostError>(())
    /// ```
    pub unsafe fn tile<C: Send + Sync + 'static>(
        name: &str,
        operands: &[DType],
        result: DType,
        function: HostTile,
        context: C,
    ) -> Result<HostFunction, HostError> {
        let tile = pointer::Tile::new(function, result, context);
        let entry = HostEntry { tile: pointer::entry::<C>, can_fail: false };
        HostFunction::with(name, operands, result, entry, Arc::new(tile))
    }

    /// Registers a pointer to a function over tiles that can fail. It is like the function of a [`HostFunction::tile`], but
    /// returns 0 for success or another status for a failure. The status becomes a [`HostStatus`], the source of the evaluation's
    /// error.
    ///
    /// # Errors
    /// [`HostError::Name`] for a name that is not an identifier, and [`HostError::Operands`] for a wrong number of operands.
    ///
    /// # Safety
    /// The contract of [`HostFunction::tile`], except that a function that fails need not write the result.
    pub unsafe fn fallible_tile<C: Send + Sync + 'static>(
        name: &str,
        operands: &[DType],
        result: DType,
        function: HostFallibleTile,
        context: C,
    ) -> Result<HostFunction, HostError> {
        let function = pointer::FallibleTile::new(function, result, context);
        let entry = HostEntry { tile: pointer::fallible_entry::<C>, can_fail: true };
        HostFunction::named(name, operands, result, entry, function)
    }

    /// Registers the same function again with another cost per element, counted in vector instructions: an addition costs 1,
    /// which is about 0.04 ns, and a power about 140.
    ///
    /// The cost decides how many threads share the work, and whether an operand of a broadcast is computed once and kept; it never
    /// changes the bits of a result. The new handle is not equal to this one.
    pub fn with_cost(self, cost: u32) -> HostFunction {
        let HandleInner { declaration, entry, can_fail, owner } = &*self.0;
        HostFunction(Arc::new(HandleInner {
            declaration: declaration.with_cost(cost),
            entry: *entry,
            can_fail: *can_fail,
            owner: owner.clone(),
        }))
    }

    /// Makes a host function whose entry takes a pointer to a [`Named`] as its context.
    fn named<F: Send + Sync + 'static>(
        name: &str,
        operands: &[DType],
        result: DType,
        entry: HostEntry,
        function: F,
    ) -> Result<HostFunction, HostError> {
        HostFunction::with(name, operands, result, entry, Arc::new(Named { name: name.into(), function }))
    }

    /// Makes a host function whose entry takes a pointer to the value in `owner` as its context.
    fn with(
        name: &str,
        operands: &[DType],
        result: DType,
        entry: HostEntry,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<HostFunction, HostError> {
        let declaration = HostDeclaration::new(name, operands, result, HostFunction::DEFAULT_COST)?;
        let HostEntry { tile, can_fail } = entry;
        Ok(HostFunction(Arc::new(HandleInner { declaration, entry: tile, can_fail, owner })))
    }

    /// Whether the function can fail. If it can, it must be called (by [`HostFunction::call`] or by machine code) within a
    /// [`catch_failure`]; otherwise a failure is lost.
    pub fn can_fail(&self) -> bool {
        self.0.can_fail
    }

    /// The declaration of the function: its identity, name and signature, which expressions and kernels contain.
    pub fn declaration(&self) -> &HostDeclaration {
        &self.0.declaration
    }

    /// The identity of the registration: a number that no other registration in this process ever has.
    pub fn id(&self) -> u64 {
        self.0.declaration.id()
    }

    /// The name of the function.
    pub fn name(&self) -> &str {
        self.0.declaration.name()
    }

    /// The dtypes of the operands and the result, and the cost.
    pub fn signature(&self) -> HostSignature {
        self.0.declaration.signature()
    }

    /// Calls the function over contiguous elements. If it fails, the output's elements are unspecified from that point on.
    ///
    /// # Panics
    /// If the number of operands is wrong, if an operand and the output have different numbers of elements, or if one is not
    /// aligned for its dtype. A panic of the function itself ends the process.
    #[inline]
    pub fn call(&self, inputs: &[&[u8]], output: &mut [u8]) {
        let signature = self.signature();
        let elements = output.len() / signature.result().size();
        let fits = |bytes: *const u8, len: usize, dtype: DType| {
            len == elements * dtype.size() && (len == 0 || (bytes as usize).is_multiple_of(dtype.size()))
        };
        assert!(
            inputs.len() == signature.operands().len()
                && inputs.iter().zip(signature.operands()).all(|(x, &d)| fits(x.as_ptr(), x.len(), d))
                && fits(output.as_ptr(), output.len(), signature.result()),
            "{self} is called with other operands"
        );
        let odd = |(bytes, dtype): (&&[u8], &DType)| *dtype == DType::Bool && bytes.iter().any(|b| *b > 1);
        if inputs.iter().zip(signature.operands()).any(odd) {
            return self.call_with_bools(inputs, output);
        }
        let mut pointers = [std::ptr::null(); MAX_HOST_OPERANDS];
        for (pointer, bytes) in pointers.iter_mut().zip(inputs) {
            *pointer = bytes.as_ptr();
        }
        if elements > 0 {
            // SAFETY: the entry takes operands of these dtypes; each has `elements` elements and is aligned, and bools are 0 or 1
            // (checked above); the output is borrowed exclusively; the context is the function's own.
            unsafe { (self.0.entry)(elements, pointers.as_ptr(), output.as_mut_ptr(), self.context()) };
        }
    }

    /// Calls the function after converting its bool operands, in which every byte but 0 means true, to bytes of 0 and 1.
    #[cold]
    fn call_with_bools(&self, inputs: &[&[u8]], output: &mut [u8]) {
        let signature = self.signature();
        let mut bools = [[0u8; CHUNK]; MAX_HOST_OPERANDS];
        for (part, out) in output.chunks_mut(CHUNK * signature.result().size()).enumerate() {
            let (start, n) = (part * CHUNK, out.len() / signature.result().size());
            let mut chunk: [&[u8]; MAX_HOST_OPERANDS] = [&[]; MAX_HOST_OPERANDS];
            let operands = inputs.iter().zip(signature.operands()).zip(&mut bools);
            for (place, ((bytes, dtype), bools)) in chunk.iter_mut().zip(operands) {
                let bytes = &bytes[start * dtype.size()..(start + n) * dtype.size()];
                *place = bytes;
                if *dtype == DType::Bool {
                    bools.iter_mut().zip(bytes).for_each(|(flag, byte)| *flag = u8::from(*byte != 0));
                    *place = &bools[..n];
                }
            }
            self.call(&chunk[..inputs.len()], out);
        }
    }

    /// The entry for machine code, to be called with [`HostFunction::context`].
    ///
    /// The caller must keep the contract of [`HostTile`] for the dtypes of the [`HostFunction::signature`], pass bools as 0 or
    /// 1, and keep a handle until the call has returned. The entry returns bools as 0 or 1, and does not unwind.
    pub fn entry(&self) -> HostTile {
        self.0.entry
    }

    /// The context to pass to the entry.
    pub fn context(&self) -> *const c_void {
        Arc::as_ptr(&self.0.owner).cast()
    }
}

// A function is only called by shared reference, from any number of threads, and a panic in it ends the process: no unwinding can
// leave its state inconsistent.
impl UnwindSafe for HostFunction {}
impl RefUnwindSafe for HostFunction {}

impl PartialEq for HostFunction {
    fn eq(&self, other: &HostFunction) -> bool {
        self.0.declaration == other.0.declaration
    }
}

impl Eq for HostFunction {}

impl Hash for HostFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.declaration.hash(state);
    }
}

/// Prints the function as in `hypot(float32, float32 -> float32)`.
impl fmt::Display for HostFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.declaration, f)
    }
}

impl fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
