//! Flags, with which one thread cancels the run of another.
//!
//! A run keeps the flag that it polls alive, even if the flag is released in the meantime.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::argument::OutPtr;
use crate::status::bl_status;
use crate::status::{Answer, CallFailure, answer};
use crate::table::{ObjectTable, Refused};

/// A handle of a flag. 0 is no flag.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_flag {
    /// Opaque.
    pub id: u64,
}

pub(crate) static FLAGS: ObjectTable<AtomicBool> = ObjectTable::new(b'f');

fn refused(why: Refused) -> CallFailure {
    CallFailure::handle("flag", why)
}

/// Creates a flag that is not raised.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_flag_new(out: *mut bl_flag) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as `out` is.
        let out = unsafe { OutPtr::new(out, "the pointer to the flag") }?;
        out.put(bl_flag { id: FLAGS.insert(AtomicBool::new(false)).map_err(refused)? });
        Ok(())
    })
}

fn set(handle: bl_flag, up: bool) -> Answer<()> {
    FLAGS.pin(handle.id).map_err(refused)?.store(up, Ordering::Relaxed);
    Ok(())
}

/// Raises a flag: runs that poll it end with BL_CANCELLED, after the chunks that they have begun.
#[unsafe(no_mangle)]
pub extern "C" fn bl_flag_raise(handle: bl_flag) -> bl_status {
    answer(|| set(handle, true))
}

/// Lowers a flag, so that it can be used for other runs.
#[unsafe(no_mangle)]
pub extern "C" fn bl_flag_lower(handle: bl_flag) -> bl_status {
    answer(|| set(handle, false))
}

/// Releases a flag. Runs that poll it keep it until they end.
#[unsafe(no_mangle)]
pub extern "C" fn bl_flag_release(handle: bl_flag) -> bl_status {
    answer(|| FLAGS.release(handle.id).map_err(refused))
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::time::Duration;

    use super::*;
    use crate::argument::BL_NUL_TERMINATED;
    use crate::call::{bl_call, bl_call_release, bl_call_run, bl_call_run_with, bl_kernel_bind};
    use crate::code::{BL_DTYPE_FLOAT64, bl_options};
    use crate::kernel::{bl_control, bl_kernel, bl_kernel_parse, bl_kernel_release, bl_kernel_run};
    use crate::memory::bl_view;
    use crate::status::bl_status::{BL_CANCELLED, BL_OK, BL_TIME_LIMIT};

    /// A kernel that would take hours to run, even on five elements.
    fn endless(options: &bl_options) -> bl_kernel {
        let text = c"a: float64[5]; return s = sum(broadcast_to(a, [1000000000000, 5]))";
        let mut kernel = bl_kernel { id: 0 };
        // SAFETY: the text is NUL-terminated, the options state their own size, and `kernel` is a local.
        let parsed = unsafe { bl_kernel_parse(text.as_ptr(), BL_NUL_TERMINATED, options, &mut kernel) };
        assert_eq!(parsed, BL_OK);
        kernel
    }

    /// Runs a kernel with `bl_kernel_run`, and with `bl_call_run_with` after binding it.
    fn runs(kernel: bl_kernel, control: &bl_control) -> [bl_status; 2] {
        let (mut a, mut sum, shape) = ([1.0_f64; 5], 0.0_f64, 5_usize);
        let (from, to) = (a.as_mut_ptr().cast::<c_void>(), (&raw mut sum).cast::<c_void>());
        let view = |data, shape, rank| bl_view {
            data,
            shape,
            strides: std::ptr::null(),
            rank,
            dtype: BL_DTYPE_FLOAT64,
        };
        let (input, output) = (view(from, &shape, 1), view(to, std::ptr::null(), 0));
        let mut call = bl_call { id: 0 };
        // SAFETY: the views and pointers refer to five doubles and one double, which live until the calls return.
        unsafe {
            assert_eq!(bl_kernel_bind(kernel, std::ptr::null(), 0, &mut call), BL_OK);
            let inputs = [from.cast_const()];
            let run = bl_kernel_run(kernel, &input, 1, &output, 1, control);
            let called = bl_call_run_with(call, inputs.as_ptr(), 1, &to, 1, control);
            assert_eq!(bl_call_release(call), BL_OK);
            [run, called]
        }
    }

    #[test]
    fn a_raised_flag_ends_a_reduction_that_has_begun() {
        let kernel = endless(&<bl_options as crate::argument::Versioned>::defaults());
        let mut flag = bl_flag { id: 0 };
        // SAFETY: the pointer refers to a local.
        assert_eq!(unsafe { bl_flag_new(&mut flag) }, BL_OK);
        let control = bl_control { cancel: flag, ..<bl_control as crate::argument::Versioned>::defaults() };
        let raise = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            bl_flag_raise(flag)
        });
        assert_eq!(runs(kernel, &control), [BL_CANCELLED; 2]);
        assert_eq!(raise.join().expect("no panic"), BL_OK);
        assert_eq!((bl_flag_release(flag), bl_kernel_release(kernel)), (BL_OK, BL_OK));
    }

    #[test]
    fn a_time_limit_ends_a_reduction_that_has_begun() {
        let defaults = <bl_options as crate::argument::Versioned>::defaults();
        let kernel = endless(&bl_options { max_time: 0.06, ..defaults });
        let control = <bl_control as crate::argument::Versioned>::defaults();
        assert_eq!(runs(kernel, &control), [BL_TIME_LIMIT; 2]);
        // The time limit also applies to a run without a control.
        let (a, mut sum, mut call) = ([1.0_f64; 5], 0.0_f64, bl_call { id: 0 });
        let (inputs, output) = ([a.as_ptr().cast::<c_void>()], (&raw mut sum).cast::<c_void>());
        // SAFETY: the pointers refer to five doubles and one double, which live until the call returns.
        let run = unsafe {
            assert_eq!(bl_kernel_bind(kernel, std::ptr::null(), 0, &mut call), BL_OK);
            bl_call_run(call, inputs.as_ptr(), 1, &output, 1)
        };
        assert_eq!(run, BL_TIME_LIMIT);
        assert_eq!((bl_call_release(call), bl_kernel_release(kernel)), (BL_OK, BL_OK));
    }
}
