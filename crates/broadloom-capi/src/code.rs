//! The numeric codes of dtypes and of option values, and the options struct that contains them.
//!
//! A code never changes its meaning. The codes of dtypes are those of the dtype table; a test checks this.

use std::ffi::{CStr, c_char};

use std::mem::offset_of;
use std::time::Duration;

use broadloom::{Accuracy, DType, Executor, IntDivision, Options, Promotion, VectorWidth};

use crate::argument::{Versioned, fill, versioned};
use crate::status::bl_status::{self, BL_ARGUMENT, BL_DTYPE};
use crate::status::{Answer, CallFailure, answer};

/// The dtype of an operand's elements: one of the BL_DTYPE constants.
pub type bl_dtype = u32;
/// One byte, 0 or 1; in an input every byte but 0 is true.
pub const BL_DTYPE_BOOL: u32 = 0;
/// `int8_t`
pub const BL_DTYPE_INT8: u32 = 1;
/// `int16_t`
pub const BL_DTYPE_INT16: u32 = 2;
/// `int32_t`
pub const BL_DTYPE_INT32: u32 = 3;
/// `int64_t`
pub const BL_DTYPE_INT64: u32 = 4;
/// `uint8_t`
pub const BL_DTYPE_UINT8: u32 = 5;
/// `uint16_t`
pub const BL_DTYPE_UINT16: u32 = 6;
/// `uint32_t`
pub const BL_DTYPE_UINT32: u32 = 7;
/// `uint64_t`
pub const BL_DTYPE_UINT64: u32 = 8;
/// The 16-bit format of IEEE 754, two bytes each.
pub const BL_DTYPE_FLOAT16: u32 = 9;
/// `float`
pub const BL_DTYPE_FLOAT32: u32 = 10;
/// `double`
pub const BL_DTYPE_FLOAT64: u32 = 11;

/// The dtype with a code; an error for an unknown code.
#[inline]
pub(crate) fn dtype(code: bl_dtype) -> Answer<DType> {
    let known = DType::ALL.get(code as usize).copied();
    known.ok_or_else(|| CallFailure::new(BL_DTYPE, format!("{code} is not the code of a dtype")))
}

/// The code of a dtype.
pub(crate) fn code(dtype: DType) -> bl_dtype {
    dtype as bl_dtype
}

/// The size of an element in bytes; 0 for an unknown code.
#[unsafe(no_mangle)]
pub extern "C" fn bl_dtype_size(dtype_code: bl_dtype) -> usize {
    dtype(dtype_code).map_or(0, DType::size)
}

macro_rules! names {
    ($(($dtype:ident, $rust:ty, $name:literal))*) => {
        const NAMES: &[&CStr] = &[$(match CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name with a zero in it"),
        }),*];
    };
}
broadloom_math::for_each_dtype!(names);

/// The name of a dtype, such as "float32", in static memory; null for an unknown code.
#[unsafe(no_mangle)]
pub extern "C" fn bl_dtype_name(dtype_code: bl_dtype) -> *const c_char {
    NAMES.get(dtype_code as usize).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// The executor with the lowest estimated time.
pub const BL_EXECUTOR_AUTO: u32 = 0;
/// Precompiled loops over tiles.
pub const BL_EXECUTOR_INTERP: u32 = 1;
/// Machine code, where the target is supported and the system allows executable memory.
pub const BL_EXECUTOR_JIT: u32 = 2;
/// Vectors of machine code are as wide as the target's.
pub const BL_VECTOR_WIDTH_AUTO: u32 = 0;
/// Vectors of machine code have at most 128 bits.
pub const BL_VECTOR_WIDTH_128: u32 = 128;
/// Vectors of machine code have at most 256 bits, if the target has vectors that wide.
pub const BL_VECTOR_WIDTH_256: u32 = 256;
/// Vectors of machine code have at most 512 bits, if the target has vectors that wide.
pub const BL_VECTOR_WIDTH_512: u32 = 512;
/// Dtypes promote as in the Python Array API standard: different kinds are an error.
pub const BL_PROMOTION_STRICT: u32 = 0;
/// Dtypes promote as in NumPy 2.
pub const BL_PROMOTION_NUMPY: u32 = 1;
/// Integer division by zero results in 0.
pub const BL_INT_DIVISION_ZERO: u32 = 0;
/// Integer division by zero ends the run with BL_ZERO_DIVISION.
pub const BL_INT_DIVISION_ERROR: u32 = 1;
/// Functions of float32 return a value within a fraction of an ulp of the exact one.
pub const BL_ACCURACY_FAST: u32 = 0;
/// Functions of float32 return the float32 that is nearest to the exact value.
pub const BL_ACCURACY_NEAREST: u32 = 1;

/// The options with which a kernel is built and run; fill it with `bl_options_init` first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_options {
    /// sizeof(bl_options)
    pub size: usize,
    /// A BL_EXECUTOR constant. The results have the same bits with every executor.
    pub executor: u32,
    /// A BL_PROMOTION constant.
    pub promotion: u32,
    /// A BL_INT_DIVISION constant.
    pub int_division: u32,
    /// A BL_VECTOR_WIDTH constant. The results have the same bits with every width.
    pub vector_width: u32,
    /// The maximum number of threads of a run, or 0 for one thread per processor.
    pub threads: usize,
    /// The maximum size of results and temporaries in bytes.
    pub max_bytes: usize,
    /// The maximum number of nodes in an expression.
    pub max_nodes: usize,
    /// The maximum number of operations on a path from an output to an input.
    pub max_depth: usize,
    /// The maximum rank of an operand.
    pub max_rank: usize,
    /// The maximum cost of a kernel that is compiled, in vector instructions per element; 0 compiles nothing.
    pub max_compiled_cost: usize,
    /// A BL_ACCURACY constant.
    pub accuracy: u32,
    /// 1 if a product that is added is rounded together with the sum, once; 0 if it is rounded separately.
    pub contract: u32,
    /// The maximum time of a run in seconds, after which the run returns BL_TIME_LIMIT; 0 for no limit.
    pub max_time: f64,
}

// SAFETY: the struct is `repr(C)`, begins with `size: usize`, and all of its fields are integers and a double, for which every
// bit pattern is valid.
unsafe impl Versioned for bl_options {
    const MIN_SIZE: usize = offset_of!(bl_options, accuracy);

    fn defaults() -> bl_options {
        let options = Options::default();
        bl_options {
            size: size_of::<bl_options>(),
            executor: BL_EXECUTOR_AUTO,
            promotion: BL_PROMOTION_STRICT,
            int_division: BL_INT_DIVISION_ZERO,
            vector_width: BL_VECTOR_WIDTH_AUTO,
            threads: 0,
            max_bytes: options.max_bytes,
            max_nodes: options.max_nodes,
            max_depth: options.max_depth,
            max_rank: options.max_rank,
            max_compiled_cost: options.max_compiled_cost,
            accuracy: BL_ACCURACY_FAST,
            contract: 0,
            max_time: 0.0,
        }
    }
}

/// Fills options with the defaults; their `size` must be set.
///
/// # Safety
/// The pointer is null, or points to as many bytes as the struct's `size` states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_options_init(options: *mut bl_options) -> bl_status {
    // SAFETY: `fill` has the same requirements on the pointer as this function.
    answer(|| unsafe { fill(options, bl_options::defaults(), "the pointer to the options") })
}

/// Reads the options at a pointer; a null pointer selects the defaults.
///
/// # Safety
/// The pointer must be null, or valid for reads of the number of bytes that the struct's `size` states.
pub(crate) unsafe fn options(pointer: *const bl_options) -> Answer<Options> {
    if pointer.is_null() {
        return Ok(Options::default());
    }
    // SAFETY: the pointer is not null, and `versioned` has the same requirements on it as the safety section.
    let given = unsafe { versioned(pointer, "the pointer to the options") }?;
    let unknown = |what: &str, code: u32| {
        Err(CallFailure::new(BL_ARGUMENT, format!("{code} is not the code of {what}")))
    };
    let executor = match given.executor {
        BL_EXECUTOR_AUTO => Executor::Auto,
        BL_EXECUTOR_INTERP => Executor::Interp,
        BL_EXECUTOR_JIT => Executor::Jit,
        other => return unknown("an executor", other),
    };
    let promotion = match given.promotion {
        BL_PROMOTION_STRICT => Promotion::Strict,
        BL_PROMOTION_NUMPY => Promotion::NumPy,
        other => return unknown("a promotion mode", other),
    };
    let int_division = match given.int_division {
        BL_INT_DIVISION_ZERO => IntDivision::Zero,
        BL_INT_DIVISION_ERROR => IntDivision::Error,
        other => return unknown("an integer division mode", other),
    };
    let accuracy = match given.accuracy {
        BL_ACCURACY_FAST => Accuracy::Fast,
        BL_ACCURACY_NEAREST => Accuracy::Nearest,
        other => return unknown("an accuracy", other),
    };
    let contract = match given.contract {
        flag @ (0 | 1) => flag == 1,
        other => return unknown("contraction, which is 0 or 1", other),
    };
    let vector_width = match given.vector_width {
        BL_VECTOR_WIDTH_AUTO => None,
        bits => match VectorWidth::from_bits(bits) {
            None => return unknown("a vector width", bits),
            width => width,
        },
    };
    let max_time = match Duration::try_from_secs_f64(given.max_time) {
        Ok(time) => Some(time).filter(|_| given.max_time != 0.0),
        Err(_) => {
            let why = format!("{} seconds are no time limit", given.max_time);
            return Err(CallFailure::new(BL_ARGUMENT, why));
        }
    };
    Ok(Options {
        executor,
        vector_width,
        promotion,
        int_division,
        accuracy,
        contract,
        threads: (given.threads != 0).then_some(given.threads),
        max_bytes: given.max_bytes,
        max_time,
        max_nodes: given.max_nodes,
        max_depth: given.max_depth,
        max_rank: given.max_rank,
        max_compiled_cost: given.max_compiled_cost,
        ..Options::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An application compiled with the version of the struct that ended with `max_compiled_cost`.
    #[test]
    fn options_without_the_later_fields_are_the_defaults_of_these() {
        let mut given = bl_options { accuracy: 7, contract: 7, ..bl_options::defaults() };
        given.size = offset_of!(bl_options, accuracy);
        // SAFETY: the pointer refers to a `bl_options`, which is larger than the stated size.
        let status = unsafe { bl_options_init(&mut given) };
        assert_eq!((status, given.accuracy, given.contract), (bl_status::BL_OK, 7, 7), "not written");
        // SAFETY: the pointer refers to a `bl_options`, which is larger than the stated size.
        let read = unsafe { options(&given) }.ok();
        assert_eq!(read, Some(Options::default()));
        given.size -= 8;
        // SAFETY: the pointer refers to a `bl_options`, which is larger than the stated size.
        assert!(unsafe { options(&given) }.is_err(), "no version was that short");
    }

    #[test]
    fn a_time_limit_in_seconds() {
        let read = |max_time| {
            let given = bl_options { max_time, ..bl_options::defaults() };
            // SAFETY: the pointer refers to a `bl_options` that states its own size.
            unsafe { options(&given) }.ok().map(|read| read.max_time)
        };
        assert_eq!(read(0.0), Some(None));
        assert_eq!(read(1.5), Some(Some(Duration::from_millis(1500))));
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        // An application compiled with the version of the struct that ended with `contract`.
        let mut given = bl_options { max_time: -1.0, ..bl_options::defaults() };
        given.size = offset_of!(bl_options, max_time);
        // SAFETY: the pointer refers to a `bl_options`, which is larger than the stated size.
        assert_eq!(unsafe { options(&given) }.ok(), Some(Options::default()));
    }

    #[test]
    fn codes_of_the_meaning() {
        let read = |accuracy, contract| {
            let given = bl_options { accuracy, contract, ..bl_options::defaults() };
            // SAFETY: the pointer refers to a `bl_options` that states its own size.
            unsafe { options(&given) }.ok().map(|read| (read.accuracy, read.contract))
        };
        assert_eq!(read(BL_ACCURACY_FAST, 0), Some((Accuracy::Fast, false)));
        assert_eq!(read(BL_ACCURACY_NEAREST, 1), Some((Accuracy::Nearest, true)));
        assert_eq!((read(2, 0), read(0, 2)), (None, None));
    }

    #[test]
    fn codes_are_the_dtypes() {
        let codes = [
            ("bool", BL_DTYPE_BOOL),
            ("int8", BL_DTYPE_INT8),
            ("int16", BL_DTYPE_INT16),
            ("int32", BL_DTYPE_INT32),
            ("int64", BL_DTYPE_INT64),
            ("uint8", BL_DTYPE_UINT8),
            ("uint16", BL_DTYPE_UINT16),
            ("uint32", BL_DTYPE_UINT32),
            ("uint64", BL_DTYPE_UINT64),
            ("float16", BL_DTYPE_FLOAT16),
            ("float32", BL_DTYPE_FLOAT32),
            ("float64", BL_DTYPE_FLOAT64),
        ];
        assert_eq!(codes.len(), DType::ALL.len());
        for (name, number) in codes {
            let known = dtype(number).expect("a dtype");
            assert_eq!((known.name(), code(known), bl_dtype_size(number)), (name, number, known.size()));
            // SAFETY: `bl_dtype_name` returns an element of `NAMES`, a zero-terminated string in static memory.
            assert_eq!(unsafe { CStr::from_ptr(bl_dtype_name(number)) }.to_str(), Ok(name));
        }
        assert!(dtype(12).is_err() && bl_dtype_size(12) == 0 && bl_dtype_name(u32::MAX).is_null());
    }
}
