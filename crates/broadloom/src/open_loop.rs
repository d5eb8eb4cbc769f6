//! Loops that are built one operation after the other, by callers without closures.

use std::sync::Arc;

use broadloom_core::graph::WHILE;
use broadloom_core::{Result, infer};
use smallvec::SmallVec;

use crate::array::Array;
use crate::expr;
use crate::stamp::Stamp;
use crate::while_loop::{LoopBuilder, carried_value, check_number, placeholder};

/// A [loop](crate::while_loop()) of which the condition and the body are being built.
///
/// The condition and the next state are computed from [`carried`](OpenLoop::carried) and from any other arrays.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::OpenLoop;
///
/// let open = OpenLoop::begin(&[Array::from_vec(vec![1_i64, 1000])])?;
/// let x = open.carried()[0].clone();
/// let (small, doubled) = open.build(|| (x.less(100), x * 2));
/// assert_eq!(open.end(&small, &[doubled], None)?[0].to_vec::<i64>()?, [128, 1000]);
/// # Ok::<(), Error>(())
/// ```
pub struct OpenLoop<'a> {
    carried: Vec<Array<'a>>,
    initial: Vec<Array<'a>>,
    stamp: Stamp,
}

impl<'a> OpenLoop<'a> {
    /// Begins a loop with this state. A number in it has its default dtype.
    ///
    /// # Errors
    /// Those of [`while_loop`](crate::while_loop()) for a state.
    pub fn begin(state: &[Array<'a>]) -> Result<OpenLoop<'a>> {
        let initial = state.iter().map(expr::typed).collect::<Result<Vec<_>>>()?;
        check_number(WHILE, initial.len())?;
        let carried = {
            let known: SmallVec<[infer::Operand<'_>; 3]> = initial.iter().map(Array::known).collect();
            let (shape, dims) = infer::broadcast(WHILE, &known)?;
            let dims = dims.map(Arc::new);
            initial.iter().map(|x| placeholder(x.dtype(), &shape, dims.as_ref())).collect()
        };
        Ok(OpenLoop { carried, initial, stamp: Stamp::of_a_loop() })
    }

    /// The carried values at the beginning of an iteration. They have no values outside of the loop.
    pub fn carried(&self) -> &[Array<'a>] {
        &self.carried
    }

    /// Calls a function. What it makes is computed in the loop if it depends on a carried value or can fail.
    pub fn build<R>(&self, make: impl FnOnce() -> R) -> R {
        self.stamp.put_on(make)
    }

    /// Ends the loop: `next` is the next state while `condition` holds, and an element ends after `limit` iterations. Returns the
    /// last state.
    ///
    /// # Errors
    /// Those of [`while_loop`](crate::while_loop()).
    pub fn end(
        &self,
        condition: &Array<'a>,
        next: &[Array<'a>],
        limit: Option<u64>,
    ) -> Result<Vec<Array<'a>>> {
        let condition = |_: &[Array<'a>]| Ok(condition.clone());
        let body = |_: &[Array<'a>]| Ok(next.to_vec());
        let (condition, body, name, made) = (&condition, &body, &carried_value, Some(self.stamp));
        let of = LoopBuilder { function: WHILE, hidden: 0, condition, body, name, limit, made };
        of.close(&self.carried, self.initial.clone())
    }
}
