//! The index space of a kernel with its operands, and its division among threads.
//!
//! In: extents, views to read and to write. Out: parts that can run at the same time, block by block.
//! Must hold: two parts that exist at once have no unit of work in common, so that no two write to one
//! element, and none writes what another reads.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};

use crate::block::{Access, Block};
use crate::plan::{Class, Mode, NestError, Plan};
use crate::scratch::Scratch;
use crate::view::{View, ViewMut};
use crate::walk;

/// What to do about inputs that are, element for element, an output as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AliasPolicy {
    /// Hand them in where they are: for machine code, which reads each element before it writes it. Safe
    /// accessors panic for such an input.
    InPlace,
    /// Hand in a copy of each block, made before the body sees it: for safe bodies.
    Copy,
}

/// The walk of an index space with all its operands, planned: blocks of rows that lie one after the other in
/// memory, whatever the views' strides, so that a body needs loops for contiguous rows and single elements
/// only.
///
/// ```
/// use std::ops::ControlFlow;
/// use broadloom_mem::{AliasPolicy, Nest, Scratch, View, ViewMut, bytes_of};
///
/// // out[i, j] = a[j, i] + b[j]
/// let (a, b, mut out) = ([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [10.0f32, 20.0], [0.0f32; 6]);
/// let a = View::new(bytes_of(&a), 4, 0, &[3, 2], &[4, 12])?;
/// let b = View::new(bytes_of(&b), 4, 0, &[3, 2], &[0, 4])?;
/// let to = ViewMut::new(broadloom_mem::bytes_of_mut(&mut out), 4, 0, &[3, 2], &[8, 4])?;
/// let mut nest = Nest::new(&[3, 2], &[a, b], [to])?;
/// let _ = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
///     for row in 0..block.rows() {
///         let (inputs, mut outputs) = block.row(row);
///         let (a, b) = (inputs.get::<f32>(0), inputs.get::<f32>(1));
///         for (col, out) in outputs.get::<f32>(0).iter_mut().enumerate() {
///             *out = a.get(col) + b.get(col);
///         }
///     }
///     ControlFlow::Continue(())
/// });
/// assert_eq!(out, [11.0, 24.0, 12.0, 25.0, 13.0, 26.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Nest<'a> {
    pub(crate) plan: Plan,
    pub(crate) memory: PhantomData<(&'a [u8], &'a mut [u8])>,
}

// SAFETY: the pointers in the plan are those of views, which are `Send`.
unsafe impl Send for Nest<'_> {}
// SAFETY: through `&Nest` no memory is touched but by a `Part`, and the parts of a nest own disjoint
// elements.
unsafe impl Sync for Nest<'_> {}

impl<'a> Nest<'a> {
    /// Rows shorter than this are put together to longer ones, by [`Nest::new`].
    pub const MIN_ROW: usize = 32;

    /// Plans the walk over `extents`, which must be the shape of every view (a view's stride is 0 where it is
    /// broadcast).
    ///
    /// # Errors
    /// Where shapes differ, two outputs overlap, or an input overlaps an output without being the same
    /// element for element.
    #[inline]
    pub fn new(
        extents: &[usize],
        inputs: &[View<'a>],
        outputs: impl IntoIterator<Item = ViewMut<'a>>,
    ) -> Result<Nest<'a>, NestError> {
        Nest::with_min_row(extents, inputs, outputs, Nest::MIN_ROW)
    }

    /// [`Nest::new`] for bodies with another cost per row: rows shorter than `min_row` are put together.
    ///
    /// # Errors
    /// As [`Nest::new`].
    #[inline]
    pub fn with_min_row(
        extents: &[usize],
        inputs: &[View<'a>],
        outputs: impl IntoIterator<Item = ViewMut<'a>>,
        min_row: usize,
    ) -> Result<Nest<'a>, NestError> {
        // PERF: written where it is returned; a plan that is moved costs as much as the rest of a short call.
        let mut nest = Ok(Nest { plan: Plan::empty(), memory: PhantomData });
        if let Ok(Nest { plan, .. }) = &mut nest {
            let mut error = None;
            for (input, view) in inputs.iter().enumerate() {
                if !plan.push(&view.layout, extents) {
                    error = error.or(Some(NestError::InputShape { input }));
                }
            }
            let mut output = 0;
            // A `for` would move each view once more.
            outputs.into_iter().for_each(|view| {
                if !plan.push(&view.layout, extents) {
                    error = error.or(Some(NestError::OutputShape { output }));
                }
                output += 1;
            });
            let error = error.or_else(|| plan.finish(extents, inputs.len(), min_row).err());
            if let Some(error) = error {
                nest = Err(error);
            }
        }
        nest
    }

    /// The elements of the index space.
    pub fn elements(&self) -> usize {
        self.plan.elements
    }

    /// Independent units of work, some thousand elements each; the same for the same operands' layout,
    /// always.
    pub fn units(&self) -> usize {
        self.plan.units
    }

    /// How an input is handed in, in every block.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn access(&self, input: usize) -> Access {
        self.plan.ops[..self.plan.inputs][input].access()
    }

    /// Whether an input is, element for element, an output as well.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn is_aliased(&self, input: usize) -> bool {
        self.plan.ops[..self.plan.inputs][input].aliased
    }

    /// How blocks are cut.
    pub fn mode(&self) -> Mode {
        self.plan.mode
    }

    /// The extents that are walked: dropped, ordered, joined. Their product is that of the extents given.
    pub fn dims(&self) -> &[usize] {
        &self.plan.dims
    }

    /// How many operands are copied to or from tiles.
    pub fn packed(&self) -> usize {
        self.plan.ops.iter().filter(|op| op.class == Class::Pack).count()
    }

    /// Divides the work into at most `max_parts` parts of about the same size; none if there are no elements.
    pub fn split(&mut self, max_parts: usize, policy: AliasPolicy) -> Parts<'_> {
        let units = self.plan.units;
        let parts = max_parts.max(1).min(units);
        let (share, more) = if parts > 1 { (units / parts, units % parts) } else { (units, 0) };
        Parts { plan: Shared(&self.plan), policy, parts, share, more, next: 0 }
    }

    /// Runs all of the work here: [`Nest::split`] into one part, and [`Part::run`].
    pub fn run(&mut self, policy: AliasPolicy, scratch: &mut Scratch, body: Body<'_>) -> ControlFlow<()> {
        self.split(1, policy).try_for_each(|part| part.run(scratch, body))
    }
}

impl fmt::Debug for Nest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nest").field(&self.plan).finish()
    }
}

/// What is called for each block; it breaks to stop the walk.
pub type Body<'f> = &'f mut dyn FnMut(&mut Block<'_>) -> ControlFlow<()>;

/// A plan that parts on several threads read.
#[derive(Clone, Copy, Debug)]
struct Shared<'n>(&'n Plan);

// SAFETY: see `Nest`: what is reached through the plan is memory that may be used from any thread, and a part
// reaches its own elements only.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}

/// The parts of a nest: an iterator, to be collected or handed out one by one.
#[derive(Debug)]
pub struct Parts<'n> {
    plan: Shared<'n>,
    policy: AliasPolicy,
    /// Parts left.
    parts: usize,
    /// Units of each, and how many of them get one more.
    share: usize,
    more: usize,
    /// The first unit that no part has.
    next: usize,
}

impl<'n> Iterator for Parts<'n> {
    type Item = Part<'n>;

    #[inline]
    fn next(&mut self) -> Option<Part<'n>> {
        self.parts = self.parts.checked_sub(1)?;
        let start = self.next;
        // From where the last part ended: parts do not overlap.
        self.next += self.share + usize::from(self.more > 0);
        self.more = self.more.saturating_sub(1);
        Some(Part { plan: self.plan, policy: self.policy, units: start..self.next })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.parts, Some(self.parts))
    }
}

impl ExactSizeIterator for Parts<'_> {}

/// Some units of a nest's work, which only this part can run, once, on any thread.
#[derive(Debug)]
pub struct Part<'n> {
    plan: Shared<'n>,
    policy: AliasPolicy,
    units: Range<usize>,
}

impl Part<'_> {
    /// The elements of this part.
    pub fn elements(&self) -> usize {
        self.plan.0.elements_before(self.units.end) - self.plan.0.elements_before(self.units.start)
    }

    /// Calls `body` for each block, until it breaks; in one dimension without packing there is one block.
    ///
    /// The outputs of the block that breaks are still written to memory; those after it keep what they held. Where
    /// memory for tiles is refused it breaks before the first block, and [`Scratch::take_refusal`] says so.
    pub fn run(self, scratch: &mut Scratch, body: Body<'_>) -> ControlFlow<()> {
        // SAFETY: the views that the plan was made of are borrowed for longer than `self`; the units are no
        // other part's (`Parts`, which borrows the nest exclusively), and this one is used up.
        unsafe { walk::run(self.plan.0, self.units, self.policy, scratch, body) }
    }
}
