//! A workload at one size: its memory, its expressions, and the equivalent plain loop.
//!
//! The plain loop computes any range of units, so that several threads can share the work.

use std::ops::Range;

use broadloom::{Array, DType, Result};
use smallvec::SmallVec;

use crate::column::{Cell, NumberColumn, Placed, Slice, SliceMut};

/// The results of a workload's expressions.
pub type Roots<'a> = SmallVec<[Array<'a>; 2]>;

/// A function that builds a workload's expressions over its inputs.
pub type Expressions = for<'a> fn(&[Array<'a>]) -> Roots<'a>;

/// A plain loop. Its arguments are the whole inputs, the parts of the outputs for a range of units, and
/// this range.
pub type Sweep = dyn Fn(&[Slice<'_>], &mut [SliceMut<'_>], Range<usize>) + Send + Sync;

/// The minimum number of elements per thread. A loop over fewer than twice as many elements runs on one
/// thread.
const LEAST_SHARE: usize = 1 << 14;

/// A workload at one size.
pub struct Problem {
    /// The shape of the results.
    pub shape: Vec<usize>,
    /// The shape and the elements of each input.
    pub inputs: Vec<(Vec<usize>, NumberColumn)>,
    /// The dtype and the elements of each output; bools are stored as bytes.
    pub outputs: Vec<(DType, NumberColumn)>,
    /// The expressions.
    pub roots: for<'a> fn(&[Array<'a>]) -> Roots<'a>,
    /// The plain loop.
    pub sweep: Box<Sweep>,
    /// The number of equally large units into which the loop can be divided.
    pub units: usize,
    /// The number of bytes accessed if every used element of an input is read once, and every element of
    /// an output is written once.
    pub traffic: usize,
    /// The maximum allowed difference between the results and the loop's, in ulp; 0 if the arithmetic is
    /// the same.
    pub ulps: u64,
}

impl Problem {
    /// A problem without operands, in which each element is a unit.
    pub fn new(
        shape: &[usize],
        roots: for<'a> fn(&[Array<'a>]) -> Roots<'a>,
        sweep: impl Fn(&[Slice<'_>], &mut [SliceMut<'_>], Range<usize>) + Send + Sync + 'static,
    ) -> Problem {
        Problem {
            shape: shape.into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            roots,
            sweep: Box::new(sweep),
            units: shape.iter().product(),
            traffic: 0,
            ulps: 0,
        }
    }

    /// Adds an input. `rule` maps random bits to an element.
    pub fn reads<T: Cell>(self, shape: &[usize], rule: impl FnMut(u64) -> T) -> Problem {
        self.reads_some::<T>(shape, 1, rule)
    }

    /// Adds an input of which only every `of`-th element is used.
    pub fn reads_some<T: Cell>(
        mut self,
        shape: &[usize],
        of: usize,
        mut rule: impl FnMut(u64) -> T,
    ) -> Problem {
        let elements = shape.iter().product();
        let place = self.inputs.len() + self.outputs.len();
        let mut cells = Placed::new(elements, place);
        // Knuth's linear congruential generator, whose upper bits don't repeat within 2^64 numbers.
        let mut state = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for cell in cells.get_mut() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *cell = rule(state);
        }
        self.traffic += elements / of * size_of::<T>();
        self.inputs.push((shape.into(), T::column(cells)));
        self
    }

    /// Adds an output.
    pub fn writes<T: Cell>(self) -> Problem {
        self.writes_as::<T>(T::DTYPE)
    }

    /// Adds an output of bools.
    pub fn writes_bools(self) -> Problem {
        self.writes_as::<u8>(DType::Bool)
    }

    fn writes_as<T: Cell>(mut self, dtype: DType) -> Problem {
        let place = self.inputs.len() + self.outputs.len();
        let cells = Placed::<T>::new(self.elements(), place);
        self.traffic += self.elements() * size_of::<T>();
        self.outputs.push((dtype, T::column(cells)));
        self
    }

    /// Allows results to differ from the loop's by this many ulp.
    pub fn within(self, ulps: u64) -> Problem {
        Problem { ulps, ..self }
    }

    /// Divides the problem into this many units of equal size.
    pub fn in_units(self, units: usize) -> Problem {
        Problem { units, ..self }
    }

    /// The number of elements in a result.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The inputs as arrays that borrow their memory.
    ///
    /// # Errors
    /// If an input's shape does not match its number of elements.
    pub fn arrays(&self) -> Result<Vec<Array<'_>>> {
        self.inputs.iter().map(|(shape, column)| column.slice().array(shape)).collect()
    }

    /// Runs the plain loop of this problem on at most `threads` threads, fewer if a thread would get too
    /// few elements.
    pub fn loop_over(&self, x: &[Slice<'_>], outputs: &mut [SliceMut<'_>], threads: usize) {
        sweep(&*self.sweep, self.units, self.elements(), x, outputs, threads);
    }
}

/// Runs a plain loop on at most `threads` threads, fewer if a thread would get too few elements.
pub fn sweep(
    sweep: &Sweep,
    units: usize,
    elements: usize,
    x: &[Slice<'_>],
    outputs: &mut [SliceMut<'_>],
    threads: usize,
) {
    let threads = threads.min(elements / LEAST_SHARE).min(units);
    if threads <= 1 {
        return sweep(x, outputs, 0..units);
    }
    rayon::scope(|scope| {
        let mut rest: Vec<SliceMut<'_>> = outputs.iter_mut().map(SliceMut::reborrow).collect();
        let mut from = 0;
        for i in 1..=threads {
            let range = from..units * i / threads;
            from = range.end;
            let size = range.len() * (elements / units);
            let (mut mine, others): (Vec<_>, Vec<_>) = rest.into_iter().map(|o| o.split_at(size)).unzip();
            rest = others;
            scope.spawn(move |_| sweep(x, &mut mine, range));
        }
    });
}
