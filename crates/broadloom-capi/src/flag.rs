//! Flags, by which one thread cancels another's run.
//!
//! A run keeps the flag that it polls alive, even if the flag is released meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::argument::OutPtr;
use crate::status::bl_status;
use crate::status::{Answer, Failure, answer};
use crate::table::{Refused, Table};

/// A handle of a flag. 0 is no flag.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_flag {
    /// Opaque.
    pub id: u64,
}

pub(crate) static FLAGS: Table<AtomicBool> = Table::new(b'f');

fn refused(why: Refused) -> Failure {
    Failure::handle("flag", why)
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
