//! Scans that are built one operation after the other, by callers without closures.

use broadloom_core::Result;

use crate::along::Along;
use crate::array::Array;
use crate::expr;
use crate::scan::{Begun, ScanSpace, check_next, state_name};
use crate::stamp::Stamp;
use crate::while_loop::placeholder;

/// A [scan](crate::scan()) of which the step is being built.
///
/// The next states and the outputs are computed from [`states`](OpenScan::states), [`elements`](OpenScan::elements) and any other
/// arrays.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::OpenScan;
///
/// let x = Array::from_vec(vec![1.0_f64, 2.0, 4.0]);
/// let open = OpenScan::begin(&[Array::scalar(0.0)], &[x], 0)?;
/// let sum = open.build(|| &open.states()[0] + &open.elements()[0]);
/// let (last, sums) = open.end(&[sum.clone()], &[sum])?;
/// assert_eq!((last[0].item::<f64>()?, sums[0].to_vec::<f64>()?), (7.0, vec![1.0, 3.0, 7.0]));
/// # Ok::<(), Error>(())
/// ```
pub struct OpenScan<'a> {
    space: ScanSpace<'a>,
    begun: Begun<'a>,
    /// The number of inputs; there are elements of one more if there is only a length.
    inputs: usize,
}

impl<'a> OpenScan<'a> {
    /// Begins a scan with this state. A number in it has its default dtype.
    ///
    /// # Errors
    /// Those of [`scan`](crate::scan()) for states and inputs.
    pub fn begin(state: &[Array<'a>], inputs: &[Array<'a>], along: impl Into<Along>) -> Result<OpenScan<'a>> {
        let initial = state.iter().map(expr::typed).collect::<Result<Vec<_>>>()?;
        let space = ScanSpace::of(&initial, inputs, along.into())?;
        let placed = |x: &Array<'a>| placeholder(x.dtype(), &space.shape, space.dims.as_ref());
        let states = initial.iter().map(placed).collect();
        let begun = Begun { initial, states, elements: space.elements(), stamp: Stamp::of_a_loop() };
        Ok(OpenScan { space, begun, inputs: inputs.len() })
    }

    /// The states before a step. They have no values outside of the scan.
    pub fn states(&self) -> &[Array<'a>] {
        &self.begun.states
    }

    /// The elements of the inputs at the index of a step.
    pub fn elements(&self) -> &[Array<'a>] {
        &self.begun.elements[..self.inputs]
    }

    /// Calls a function. What it makes is computed in the step if it depends on a state or an element, or can fail.
    pub fn build<R>(&self, make: impl FnOnce() -> R) -> R {
        self.begun.stamp.put_on(make)
    }

    /// Ends the scan with the states after a step and its outputs. Returns the last states and all outputs.
    ///
    /// # Errors
    /// Those of [`scan`](crate::scan()).
    pub fn end(&self, next: &[Array<'a>], outputs: &[Array<'a>]) -> Result<(Vec<Array<'a>>, Vec<Array<'a>>)> {
        check_next(self.space.function(), next.len(), self.begun.states.len())?;
        self.space.clone().close(&state_name, self.begun.clone(), (next.to_vec(), outputs.to_vec()))
    }
}
