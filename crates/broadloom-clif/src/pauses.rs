//! The pauses of compiled loops: the function that code calls after many iterations, and the state that it shares with
//! the code.
//!
//! The code counts the iterations that are left until the next pause. A pause ends loops at their limit, looks whether
//! the run is to go on, and gives out the next iterations. So the loop itself needs one counter, whatever ends it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;

use broadloom_ir::{Error, Result};
use broadloom_mem::LoopRun;

/// The state of a call of code with loops. The code reads and writes the first fields, at the offsets below.
#[repr(C)]
pub(crate) struct LoopContext<'r> {
    /// The number of iterations until the next pause, at least 1; for loops that contain no other ones.
    left: u64,
    /// All ones; 0 if the loops that contain others are to end.
    goes_on: u64,
    /// The value of `goes_on` when an outermost loop begins: 0 after a failure.
    may_begin: u64,
    /// The number of times that a loop without a limit may test its condition.
    most: u64,
    /// The number of iterations that are given out at a pause.
    pace: u64,
    run: &'r LoopRun<'r>,
    outcome: PauseOutcome,
}

enum PauseOutcome {
    Fine,
    Failed(Error),
    Panicked(Box<dyn Any + Send>),
}

/// The offsets of fields of [`LoopContext`].
pub(crate) const LEFT: i32 = std::mem::offset_of!(LoopContext<'static>, left) as i32;
pub(crate) const GOES_ON: i32 = std::mem::offset_of!(LoopContext<'static>, goes_on) as i32;
pub(crate) const MAY_BEGIN: i32 = std::mem::offset_of!(LoopContext<'static>, may_begin) as i32;
pub(crate) const MOST: i32 = std::mem::offset_of!(LoopContext<'static>, most) as i32;

impl<'r> LoopContext<'r> {
    /// The state for code that pauses after `pace` iterations.
    pub fn new(run: &'r LoopRun<'r>, pace: u64) -> LoopContext<'r> {
        let most = run.max_iterations.saturating_add(1);
        // The code relies on it that a loop without a limit may use up what is left.
        let pace = pace.min(most).max(1);
        LoopContext {
            left: pace,
            goes_on: u64::MAX,
            may_begin: u64::MAX,
            most,
            pace,
            run,
            outcome: PauseOutcome::Fine,
        }
    }

    /// Ends the call. Resumes a panic of the run's function.
    ///
    /// # Errors
    /// The errors of [`LoopRun::go_on`].
    pub fn finish(self) -> Result<()> {
        match self.outcome {
            PauseOutcome::Fine => Ok(()),
            PauseOutcome::Failed(error) => Err(error),
            PauseOutcome::Panicked(panic) => resume_unwind(panic),
        }
    }

    /// Ends all loops, now and from now on.
    fn stop(&mut self, outcome: PauseOutcome) {
        self.outcome = outcome;
        (self.goes_on, self.may_begin, self.pace) = (0, 0, 1);
    }

    fn look(&mut self) {
        if !matches!(self.outcome, PauseOutcome::Fine) {
            return;
        }
        match catch_unwind(AssertUnwindSafe(|| (self.run.go_on)())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.stop(PauseOutcome::Failed(error)),
            Err(panic) => self.stop(PauseOutcome::Panicked(panic)),
        }
    }
}

/// The stack frame of a compiled loop, which it shares with [`pause`].
#[repr(C)]
pub(crate) struct LoopFrame {
    /// The number of iterations before those that were given out last, and the number of these.
    done: u64,
    given: u64,
    /// The iterations until the next pause of the call that were not given out, since the loop ends before.
    beyond: u64,
    /// The number of iterations that the code may perform next.
    next: u64,
    /// The mask of the active elements, whose lanes are as wide as those of the condition.
    active: [u8; MASK],
    /// The number of each element, if the loop's elements have numbers.
    numbers: [i64; LANES],
}

/// The maximum number of elements of a block, and of bytes of a mask of them.
pub(crate) const LANES: usize = 64;
const MASK: usize = 8 * LANES;

/// The offsets of fields of [`LoopFrame`], and its size.
pub(crate) const DONE: i32 = std::mem::offset_of!(LoopFrame, done) as i32;
pub(crate) const GIVEN: i32 = std::mem::offset_of!(LoopFrame, given) as i32;
pub(crate) const BEYOND: i32 = std::mem::offset_of!(LoopFrame, beyond) as i32;
pub(crate) const NEXT: i32 = std::mem::offset_of!(LoopFrame, next) as i32;
pub(crate) const ACTIVE: i32 = std::mem::offset_of!(LoopFrame, active) as i32;
pub(crate) const NUMBERS: i32 = std::mem::offset_of!(LoopFrame, numbers) as i32;
pub(crate) const FRAME: u32 = size_of::<LoopFrame>() as u32;

/// The properties of a loop that [`pause`] needs.
#[derive(Clone, Copy)]
pub(crate) struct LoopShape {
    /// The number of elements of a block, and the size in bytes of a lane of the mask.
    pub lanes: u32,
    pub mask: u32,
    /// Whether the loop's elements have numbers.
    pub is_numbered: bool,
    /// Whether the loop contains others: then these look whether the run goes on.
    pub is_nested: bool,
    /// Whether the loop has a limit of its own.
    pub is_limited: bool,
}

impl LoopShape {
    pub fn bits(self) -> i64 {
        let LoopShape { lanes, mask, is_numbered, is_nested, is_limited } = self;
        i64::from(lanes)
            | i64::from(mask) << 16
            | i64::from(is_numbered) << 24
            | i64::from(is_nested) << 25
            | i64::from(is_limited) << 26
    }

    fn of_bits(bits: u64) -> LoopShape {
        LoopShape {
            lanes: (bits & 0xffff) as u32,
            mask: (bits >> 16 & 0xff) as u32,
            is_numbered: bits >> 24 & 1 != 0,
            is_nested: bits >> 25 & 1 != 0,
            is_limited: bits >> 26 & 1 != 0,
        }
    }
}

/// Called by compiled loops when the iterations that were given out are used up. Clears the mask of the active elements
/// if the loop ends here.
///
/// # Safety
/// `context` is the state of the running call, and `frame` the frame of one of its loops, whose mask (and numbers, if
/// its elements have any) were stored; no one else uses either during the call. `shape` has the bits of the loop's
/// [`LoopShape`], with at most [`LANES`] lanes of at most 8 bytes.
pub(crate) unsafe extern "C" fn pause(
    context: *mut LoopContext<'_>,
    frame: *mut LoopFrame,
    shape: u64,
    limit: u64,
) {
    // SAFETY: both are valid and used by this call alone, by the function's contract.
    let (context, frame) = unsafe { (&mut *context, &mut *frame) };
    context.pause(frame, LoopShape::of_bits(shape), limit);
}

impl LoopContext<'_> {
    fn pause(&mut self, frame: &mut LoopFrame, shape: LoopShape, limit: u64) {
        let limit = if shape.is_limited { limit } else { self.most };
        frame.done = frame.done.saturating_add(frame.given);
        if !shape.is_nested && frame.beyond == 0 {
            self.look();
            frame.beyond = self.pace;
        }
        let numbers = &frame.numbers[..if shape.is_numbered { shape.lanes as usize } else { 0 }];
        let mask = shape.mask as usize;
        let is_active = |lane: usize| frame.active[lane * mask] != 0;
        if !shape.is_limited && frame.done >= limit {
            let first =
                numbers.iter().enumerate().filter(|(lane, _)| is_active(*lane)).map(|(_, &n)| n).min();
            if let Some(first) = first {
                self.run.endless.fetch_min(first as u64, Ordering::Relaxed);
            }
        }
        let endless = self.run.endless.load(Ordering::Relaxed);
        let mut ends = frame.done >= limit || self.goes_on == 0;
        if endless != u64::MAX {
            // The next loops look sooner. Elements from one on that has not ended are not needed for the error that the
            // run returns.
            self.pace = 1;
            if numbers.iter().min().is_some_and(|&first| first as u64 >= endless) {
                self.goes_on = 0;
                ends = true;
            }
        }
        if ends {
            frame.active.fill(0);
            (frame.given, frame.next) = (0, 0);
            return;
        }
        let rest = limit - frame.done;
        let given = if shape.is_nested { rest } else { rest.min(frame.beyond) };
        frame.beyond = frame.beyond.saturating_sub(given);
        (frame.given, frame.next) = (given, given);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::AtomicU64;

    use broadloom_ir::ErrorKind;

    use super::*;

    const SHAPE: LoopShape =
        LoopShape { lanes: 4, mask: 4, is_numbered: true, is_nested: false, is_limited: true };

    /// The frame of a loop of four elements, all of which are active, that was given these iterations.
    fn frame(given: u64, beyond: u64) -> LoopFrame {
        let mut frame = LoopFrame { done: 0, given, beyond, next: 0, active: [0; MASK], numbers: [0; LANES] };
        frame.active[..16].fill(0xff);
        frame.numbers[..4].copy_from_slice(&[70, 71, 72, 73]);
        frame
    }

    fn is_active(frame: &LoopFrame) -> bool {
        frame.active[0] != 0
    }

    #[test]
    fn iterations_are_given_out_until_the_limit() {
        let (looks, endless) = (Cell::new(0), AtomicU64::new(u64::MAX));
        let go_on = || {
            looks.set(looks.get() + 1);
            Ok(())
        };
        let run = LoopRun { max_iterations: 1000, go_on: &go_on, endless: &endless };
        let mut context = LoopContext::new(&run, 10);
        let mut frame = frame(context.left, 0);
        for (next, beyond, looked) in [(10, 0, 1), (5, 5, 2)] {
            context.pause(&mut frame, SHAPE, 25);
            assert!(is_active(&frame));
            assert_eq!((frame.next, frame.given, frame.beyond, looks.get()), (next, next, beyond, looked));
        }
        context.pause(&mut frame, SHAPE, 25);
        assert!(!is_active(&frame));
        // The rest is left for the next loop, so that the run is not looked at again.
        assert_eq!((frame.next, frame.beyond, looks.get()), (0, 5, 2));
        assert!(context.finish().is_ok());
        assert_eq!(endless.into_inner(), u64::MAX);
    }

    /// The condition of an element that performs the maximum number of iterations is tested once more.
    #[test]
    fn the_first_active_element_that_does_not_end_is_named() {
        let endless = AtomicU64::new(u64::MAX);
        let run = LoopRun { max_iterations: 7, go_on: &|| Ok(()), endless: &endless };
        let mut context = LoopContext::new(&run, 100);
        assert_eq!(context.left, 8);
        let mut first = frame(8, 0);
        first.active[..4].fill(0);
        let shape = LoopShape { is_limited: false, ..SHAPE };
        context.pause(&mut first, shape, 0);
        assert!(!is_active(&first));
        assert_eq!(endless.load(Ordering::Relaxed), 71);
        // Elements after it are not needed, earlier ones are.
        let mut later = frame(1, 0);
        context.pause(&mut later, shape, 0);
        assert!(is_active(&later));
        later.numbers[..4].copy_from_slice(&[71, 72, 73, 74]);
        context.pause(&mut later, shape, 0);
        assert!(!is_active(&later));
        assert_eq!(context.goes_on, 0);
    }

    #[test]
    fn a_failure_ends_all_loops() {
        let endless = AtomicU64::new(u64::MAX);
        let go_on = || Err(Error::new(ErrorKind::Cancelled, "enough"));
        let run = LoopRun { max_iterations: 1000, go_on: &go_on, endless: &endless };
        let mut context = LoopContext::new(&run, 10);
        let mut loops = frame(10, 0);
        context.pause(&mut loops, SHAPE, 1 << 40);
        assert!(!is_active(&loops));
        assert_eq!((context.goes_on, context.may_begin, loops.beyond), (0, 0, 1));
        let mut outer = frame(10, 0);
        context.pause(&mut outer, LoopShape { is_nested: true, ..SHAPE }, 1 << 40);
        assert!(!is_active(&outer));
        assert_eq!(context.finish().expect_err("fails").kind(), ErrorKind::Cancelled);
    }

    /// A panic does not unwind through compiled code.
    #[test]
    fn a_panic_is_resumed_after_the_call() {
        let endless = AtomicU64::new(u64::MAX);
        let go_on = || std::panic::resume_unwind(Box::new("stop"));
        let run = LoopRun { max_iterations: 1000, go_on: &go_on, endless: &endless };
        let mut context = LoopContext::new(&run, 10);
        context.pause(&mut frame(10, 0), SHAPE, 20);
        let panic = catch_unwind(AssertUnwindSafe(|| context.finish())).expect_err("panics");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"stop"));
    }

    #[test]
    fn a_shape_is_the_same_after_a_call() {
        for i in 0..8 {
            let shape = LoopShape {
                lanes: 64,
                mask: 8,
                is_numbered: i & 1 != 0,
                is_nested: i & 2 != 0,
                is_limited: i & 4 != 0,
            };
            assert_eq!(LoopShape::of_bits(shape.bits() as u64).bits(), shape.bits());
            assert_eq!(LoopShape::of_bits(shape.bits() as u64).is_nested, shape.is_nested);
        }
    }
}
