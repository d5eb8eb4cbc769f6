//! Flags, by which one thread cancels another's run.
//!
//! A run keeps the flag that it polls alive, even if the flag is released meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::argument::Place;
use crate::status::bl_status;
use crate::status::{Answer, Failure, answer};
use crate::table::{Refused, Table};

/// A handle of a flag. 0 is no flag.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_flag {
    /// Nothing to look into.
    pub id: u64,
}

pub(crate) static FLAGS: Table<AtomicBool> = Table::new(b'f');

fn refused(why: Refused) -> Failure {
    Failure::handle("flag", why)
}

/// Makes a flag that is down.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_flag_new(out: *mut bl_flag) -> bl_status {
    answer(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { Place::new(out, "the place for the flag") }?;
        out.put(bl_flag { id: FLAGS.insert(AtomicBool::new(false)).map_err(refused)? });
        Ok(())
    })
}

fn set(handle: bl_flag, up: bool) -> Answer<()> {
    FLAGS.pin(handle.id).map_err(refused)?.store(up, Ordering::Relaxed);
    Ok(())
}

/// Raises a flag: runs that look at it end with BL_CANCELLED, each after the chunks that it has begun.
#[unsafe(no_mangle)]
pub extern "C" fn bl_flag_raise(handle: bl_flag) -> bl_status {
    answer(|| set(handle, true))
}

/// Lowers a flag, for other runs.
#[unsafe(no_mangle)]
pub extern "C" fn bl_flag_lower(handle: bl_flag) -> bl_status {
    answer(|| set(handle, false))
}

/// Gives a flag up.
#[unsafe(no_mangle)]
pub extern "C" fn bl_flag_release(handle: bl_flag) -> bl_status {
    answer(|| FLAGS.release(handle.id).map_err(refused))
}
