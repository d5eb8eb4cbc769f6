//! A guard that sets the thread's floating-point control register to the IEEE default.
//!
//! Whatever the application has set (flush-to-zero, a rounding mode, unmasked exceptions), computations round to nearest even,
//! underflow gradually and raise no trap while the guard lives. When it drops, the register is restored, including status flags.

use std::marker::PhantomData;

/// A guard for computing code: while it lives, the thread's floating-point environment is the IEEE default.
///
/// Guards nest and must be dropped in the reverse order of their creation, as scopes do. On targets other than x86-64 and aarch64
/// the guard does nothing.
///
/// ```
/// use broadloom_mem::FloatEnv;
///
/// let _ieee = FloatEnv::ieee();
/// // … compute: nothing is flushed to zero, whatever the caller had set …
/// ```
#[derive(Debug)]
#[must_use = "the environment is restored when the guard is dropped"]
pub struct FloatEnv {
    saved: Control,
    /// Makes the guard not `Send`, because the register belongs to a thread.
    _thread: PhantomData<*const ()>,
}

impl FloatEnv {
    /// Saves the control register and sets the IEEE default, which costs a few nanoseconds at most.
    #[inline]
    pub fn ieee() -> FloatEnv {
        let saved = read();
        if saved & CONTROL != IEEE {
            write(IEEE);
        }
        FloatEnv { saved, _thread: PhantomData }
    }
}

impl Drop for FloatEnv {
    #[inline]
    fn drop(&mut self) {
        // PERF: a write drains the pipeline; a read does not.
        if read() != self.saved {
            write(self.saved);
        }
    }
}

#[cfg(target_arch = "x86_64")]
use x86_64::{CONTROL, Control, IEEE, read, write};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;

    pub(super) type Control = u32;
    /// The IEEE default: all exceptions masked, round to nearest even, FTZ and DAZ off, no flag raised.
    pub(super) const IEEE: u32 = 0x1f80;
    /// The control bits: all bits except the status flags (bits 0 to 5).
    pub(super) const CONTROL: u32 = !0x3f;

    #[inline]
    pub(super) fn read() -> u32 {
        let mut mxcsr = 0u32;
        // SAFETY: stores 4 bytes to a local of that size; every x86-64 has SSE.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags)) }
        mxcsr
    }

    #[inline]
    pub(super) fn write(mxcsr: u32) {
        // SAFETY: loads 4 bytes from a local of that size. The value is the IEEE default, which Rust code assumes, or the thread's
        // previous one, so no reserved bit is set, and code runs under a non-default setting only if it did before.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags)) }
    }
}

#[cfg(target_arch = "aarch64")]
use aarch64::{CONTROL, Control, IEEE, read, write};

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::arch::asm;

    pub(super) type Control = u64;
    /// The IEEE default: no trap enabled, round to nearest even, no flush to zero, no default NaN.
    pub(super) const IEEE: u64 = 0;
    /// The control bits: all bits, since the status flags are in another register.
    pub(super) const CONTROL: u64 = !0;

    #[inline]
    pub(super) fn read() -> u64 {
        let fpcr: u64;
        // SAFETY: FPCR is readable at every exception level; nothing else changes.
        unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nostack, preserves_flags)) }
        fpcr
    }

    #[inline]
    pub(super) fn write(fpcr: u64) {
        // SAFETY: FPCR is writable at every exception level. The value is the IEEE default, which Rust code assumes, or the
        // thread's previous one.
        unsafe { asm!("msr fpcr, {}", in(reg) fpcr, options(nostack, preserves_flags)) }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use other::{CONTROL, Control, IEEE, read, write};

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other {
    pub(super) type Control = u8;
    pub(super) const IEEE: u8 = 0;
    pub(super) const CONTROL: u8 = 0;

    pub(super) fn read() -> u8 {
        0
    }

    pub(super) fn write(_: u8) {}
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use std::hint::black_box;

    use super::*;

    /// A floating-point environment that changes results: FTZ, DAZ, round down, exceptions masked, the
    /// inexact flag raised.
    #[cfg(target_arch = "x86_64")]
    const HOSTILE: Control = 0x8040 | 0x2000 | 0x1f80 | 0x20;
    /// A floating-point environment that changes results: FZ, round down, default NaN.
    #[cfg(target_arch = "aarch64")]
    const HOSTILE: Control = 1 << 24 | 0b10 << 22 | 1 << 25;

    /// Half the smallest normal number, computed at run time: 0 if subnormals are flushed.
    #[inline(never)]
    fn subnormal() -> f64 {
        black_box(f64::MIN_POSITIVE) * black_box(0.5)
    }

    #[test]
    fn flush_to_zero_is_suspended_and_restored() {
        let before = read();
        write(HOSTILE);
        let flushed = subnormal();
        let callers = read();
        let (inside, nested) = {
            let _outer = FloatEnv::ieee();
            let inside = (read() & CONTROL, subnormal());
            let _inner = FloatEnv::ieee();
            (inside, subnormal())
        };
        let after = read();
        write(before);
        assert_eq!(flushed, 0.0, "the test's own setting works");
        assert_eq!(inside, (IEEE, f64::MIN_POSITIVE / 2.0));
        assert_eq!(nested, f64::MIN_POSITIVE / 2.0);
        assert_eq!(after, callers);
    }

    #[test]
    fn restored_on_unwind() {
        let before = read();
        write(HOSTILE);
        let callers = read();
        let caught = std::panic::catch_unwind(|| {
            let _ieee = FloatEnv::ieee();
            std::panic::resume_unwind(Box::new(()));
        });
        let after = read();
        write(before);
        assert!(caught.is_err());
        assert_eq!(after, callers);
    }

    /// On aarch64 the status flags are in a register of their own, which is not written here.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn status_flags_are_the_callers() {
        let before = read();
        write(IEEE);
        {
            let _ieee = FloatEnv::ieee();
            black_box(black_box(1.0) / black_box(3.0));
            assert_ne!(read(), IEEE, "inexact was raised");
        }
        let after = read();
        write(before);
        assert_eq!(after, IEEE);
    }
}
