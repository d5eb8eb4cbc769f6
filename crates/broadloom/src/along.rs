//! The axis and the order of the steps of scans and of reductions by a function.

use broadloom_core::node::StepOrder;

/// The axis along which [`scan`](crate::scan()) runs, and the order of its steps.
///
/// ```
/// use broadloom::Along;
///
/// assert_eq!(Along::from(-1), Along::axis(-1));
/// assert_ne!(Along::axis(0).reverse(), Along::axis(0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Along {
    pub(crate) axis: isize,
    pub(crate) order: StepOrder,
    pub(crate) length: Option<usize>,
    pub(crate) is_unlimited: bool,
}

impl Along {
    /// Runs along this axis of the inputs; a negative number counts from the last one.
    pub fn axis(axis: isize) -> Along {
        Along { axis, ..Along::default() }
    }

    /// Runs from the last index to the first. Each output has the index of the elements that it was computed from.
    #[must_use]
    pub fn reverse(self) -> Along {
        Along { order: StepOrder::Backward, ..self }
    }

    /// Combines two elements, or results of steps, in each step, as [`reduce`](crate::reduce()) does: the states are the left ones,
    /// the elements the right ones. There are as many inputs as states, of the same dtypes, and no outputs; a number as a state takes
    /// the dtype of the input. Of this function and [`Along::reverse`], the one that is called last counts.
    #[must_use]
    pub fn in_pairs(self) -> Along {
        Along { order: StepOrder::Canonical, ..self }
    }

    /// Allows any number of states and outputs, for a derivative, which has others than the function that it is of.
    pub(crate) fn unlimited(self) -> Along {
        Along { is_unlimited: true, ..self }
    }

    /// The name of the function that runs along the axis, in errors.
    pub(crate) fn function(self) -> &'static str {
        self.order.function()
    }

    /// Sets the number of steps. It is required if there are no inputs, and must otherwise be their extent along the axis.
    #[must_use]
    pub fn length(self, length: usize) -> Along {
        Along { length: Some(length), ..self }
    }
}

impl From<isize> for Along {
    fn from(axis: isize) -> Along {
        Along::axis(axis)
    }
}
