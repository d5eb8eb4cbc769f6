//! The loops of a builder that have not ended, and the values of those that have.

use std::ops::Range;
use std::sync::Arc;

use broadloom::{Array, OpenLoop};

use crate::status::bl_status::BL_ARGUMENT;
use crate::status::{Answer, CallFailure};

/// A loop that has not ended.
pub(crate) struct BuilderLoop {
    pub open: Arc<OpenLoop<'static>>,
    /// The index of its first carried value. All values from there on belong to the loop.
    pub first: usize,
    pub condition: Option<Array<'static>>,
}

/// The loops of a builder.
#[derive(Default)]
pub(crate) struct BuilderLoops {
    /// Those that have not ended, the outermost first.
    pub open: Vec<BuilderLoop>,
    /// The indices of values that belonged to outermost loops, in their order.
    ended: Vec<Range<usize>>,
}

impl BuilderLoops {
    /// Whether a value belongs to a loop that has ended.
    pub(crate) fn have_ended(&self, index: usize) -> bool {
        let next = self.ended.partition_point(|range| range.end <= index);
        self.ended.get(next).is_some_and(|range| range.contains(&index))
    }

    /// Ends the innermost loop, to which the values in `range` belong.
    pub(crate) fn end(&mut self, range: Range<usize>) {
        self.open.pop();
        while self.ended.pop_if(|inner| inner.start >= range.start).is_some() {}
        self.ended.push(range);
    }

    /// Checks that no loop is open.
    pub(crate) fn check_closed(&self) -> Answer<()> {
        match self.open.is_empty() {
            true => Ok(()),
            false => Err(CallFailure::new(BL_ARGUMENT, "a loop has not ended: bl_builder_loop_end")),
        }
    }

    /// The loop that has begun last.
    pub(crate) fn innermost(&mut self) -> Answer<&mut BuilderLoop> {
        let none = || CallFailure::new(BL_ARGUMENT, "no loop has begun: bl_builder_loop_begin");
        self.open.last_mut().ok_or_else(none)
    }
}
