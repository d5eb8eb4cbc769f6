//! The loops and scans of a builder that have not ended, and the values of those that have.

use std::ops::Range;
use std::sync::Arc;

use broadloom::{Array, OpenLoop, OpenScan};

use crate::status::bl_status::BL_ARGUMENT;
use crate::status::{Answer, CallFailure};

/// A loop or scan that has not ended.
pub(crate) struct BuilderLoop {
    pub open: OpenStatement,
    /// The index of its first carried value. All values from there on belong to it.
    pub first: usize,
}

/// What has not ended.
#[derive(Clone)]
pub(crate) enum OpenStatement {
    Loop { open: Arc<OpenLoop<'static>>, condition: Option<Array<'static>> },
    Scan(Arc<OpenScan<'static>>),
}

impl OpenStatement {
    /// The error if this should have ended.
    fn not_ended(&self) -> CallFailure {
        CallFailure::new(
            BL_ARGUMENT,
            match self {
                OpenStatement::Loop { .. } => "a loop has not ended: bl_builder_loop_end",
                OpenStatement::Scan(_) => "a scan has not ended: bl_builder_scan_end",
            },
        )
    }
}

/// The loops and scans of a builder.
#[derive(Default)]
pub(crate) struct BuilderLoops {
    /// Those that have not ended, the outermost first.
    pub open: Vec<BuilderLoop>,
    /// The indices of values that belonged to outermost ones, in their order.
    ended: Vec<Range<usize>>,
}

impl BuilderLoops {
    /// Whether a value belongs to a loop or scan that has ended.
    pub(crate) fn have_ended(&self, index: usize) -> bool {
        let next = self.ended.partition_point(|range| range.end <= index);
        self.ended.get(next).is_some_and(|range| range.contains(&index))
    }

    /// Ends the innermost loop or scan, to which the values in `range` belong.
    pub(crate) fn end(&mut self, range: Range<usize>) {
        self.open.pop();
        while self.ended.pop_if(|inner| inner.start >= range.start).is_some() {}
        self.ended.push(range);
    }

    /// Checks that nothing is open.
    pub(crate) fn check_closed(&self) -> Answer<()> {
        self.open.last().map_or(Ok(()), |of| Err(of.open.not_ended()))
    }

    /// The loop that has begun last, its first value, and its condition; an error if a scan in it has not ended.
    pub(crate) fn innermost_loop(
        &mut self,
    ) -> Answer<(Arc<OpenLoop<'static>>, usize, &mut Option<Array<'static>>)> {
        let none = || CallFailure::new(BL_ARGUMENT, "no loop has begun: bl_builder_loop_begin");
        let innermost = self.open.last_mut().ok_or_else(none)?;
        match &mut innermost.open {
            OpenStatement::Loop { open, condition } => Ok((open.clone(), innermost.first, condition)),
            scan => Err(scan.not_ended()),
        }
    }

    /// The scan that has begun last, and its first value; an error if a loop in its step has not ended.
    pub(crate) fn innermost_scan(&self) -> Answer<(Arc<OpenScan<'static>>, usize)> {
        let none = || CallFailure::new(BL_ARGUMENT, "no scan has begun: bl_builder_scan_begin");
        let innermost = self.open.last().ok_or_else(none)?;
        match &innermost.open {
            OpenStatement::Scan(open) => Ok((open.clone(), innermost.first)),
            of_loop => Err(of_loop.not_ended()),
        }
    }
}
