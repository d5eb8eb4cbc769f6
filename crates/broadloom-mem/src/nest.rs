//! The index space of a kernel with its operands, and its division among threads.
//!
//! A [`Nest`] is a [`LoopPlan`] bound to memory. Its parts may run concurrently: parts that exist at the same time have
//! different units of work. Each element is therefore written by at most one part, and no part reads an element that another
//! part writes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom_ir::loop_plan::{Access, LoopPlan};

use crate::alias::AliasPolicy;
use crate::bind::{self, Bound};
use crate::error::NestError;
use crate::operand::BoundOperand;
use crate::operands::Operands;
use crate::scratch::Scratch;
use crate::view::{View, ViewMut};
use crate::walk::{self, BlockFn};

/// A loop plan bound to memory. It passes blocks to a body whose rows are contiguous or a single repeated element, whatever the
/// operands' strides, so that the body needs loops for these two cases only.
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
    plan: Cow<'a, LoopPlan>,
    operands: Bound,
    memory: PhantomData<(&'a [u8], &'a mut [u8])>,
}

// SAFETY: each operand is a borrow of a `[u8]` for `'a` (`memory`), shared for an input and exclusive for an output, which is
// `Send`; or a region, which any thread may read; or generated, without memory. All other fields are `Send`.
unsafe impl Send for Nest<'_> {}
// SAFETY: through a `&Nest` only the plan and properties of operands can be read. Memory is reached through `Nest::split`, which
// borrows the nest exclusively.
unsafe impl Sync for Nest<'_> {}

impl<'a> Nest<'a> {
    /// Makes a loop plan over `extents` and binds it to views, each of which must have this shape (with a stride of 0 along
    /// broadcast dimensions).
    ///
    /// # Errors
    /// If a view has another shape, two outputs overlap, or an input overlaps an output without being the same memory element for
    /// element.
    #[inline]
    pub fn new(
        extents: &[usize],
        inputs: &[View<'a>],
        outputs: impl IntoIterator<Item = ViewMut<'a>>,
    ) -> Result<Nest<'a>, NestError> {
        let (plan, operands) = bind::views(extents, inputs, outputs)?;
        Ok(Nest { plan: Cow::Owned(plan), operands, memory: PhantomData })
    }

    /// Binds an existing plan to the memory of operands. The offset of an operand in the plan is relative to the start of its
    /// memory; the memory of a generated input is empty.
    ///
    /// ```
    /// use broadloom_ir::loop_plan::{LoopPlan, OperandLayout};
    /// use broadloom_mem::{Nest, Operands, bytes_of, bytes_of_mut};
    ///
    /// // Every second element of the input, from the second on.
    /// let (read, written) = (&[8], &[4]);
    /// let layouts = [
    ///     OperandLayout::in_memory(4, 4, read),
    ///     OperandLayout::in_memory(4, 0, written),
    /// ];
    /// let plan = LoopPlan::new(&[2], 1, layouts, LoopPlan::MIN_ROW)?;
    /// let a = [1.0_f32, 2.0, 3.0, 4.0];
    /// for (elements, fits) in [(&a[..], true), (&a[1..], false)] {
    ///     let mut out = [0.0_f32; 2];
    ///     let mut operands = Operands::default();
    ///     operands.read(bytes_of(elements).into());
    ///     operands.write(bytes_of_mut(&mut out).into());
    ///     assert_eq!(Nest::bind(&plan, &mut operands).is_ok(), fits);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NestError::InputShape`] or [`NestError::OutputShape`] if there are too few or too many operands, or the memory of an
    /// operand is too short, has a gap where an element should be, is not aligned, or is not empty although the input is
    /// generated; [`NestError::OutputsOverlap`] if two outputs overlap; [`NestError::Overlap`] if an input overlaps an output
    /// without being the same memory element for element.
    #[inline]
    pub fn bind(plan: &'a LoopPlan, operands: &'a mut Operands<'_>) -> Result<Nest<'a>, NestError> {
        // The result borrows `operands` for `'a`, and so their memory.
        let operands = bind::operands(plan, operands)?;
        Ok(Nest { plan: Cow::Borrowed(plan), operands, memory: PhantomData })
    }

    /// The loop plan.
    pub fn plan(&self) -> &LoopPlan {
        &self.plan
    }

    /// The access of each input in the blocks of a walk under any policy but [`AliasPolicy::Stepped`].
    pub fn accesses(&self) -> impl ExactSizeIterator<Item = Access> {
        self.operands[..self.plan.inputs()].iter().map(|operand| operand.access(false))
    }

    /// The access of each input in the blocks of a walk under [`AliasPolicy::Stepped`].
    pub fn stepped_accesses(&self) -> impl ExactSizeIterator<Item = Access> {
        self.operands[..self.plan.inputs()].iter().map(|operand| operand.access(true))
    }

    /// Whether an input is the same memory as an output, element for element.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn is_aliased(&self, input: usize) -> bool {
        self.operands[..self.plan.inputs()][input].aliased
    }

    /// Makes units of work smaller, about this many elements each, so that running one takes no longer than the caller can wait.
    /// Units that are smaller already are left as they are.
    pub fn cut_finer(&mut self, elements: usize) {
        if elements < LoopPlan::UNIT {
            self.plan = Cow::Owned(self.plan.in_units_of(elements));
        }
    }

    /// Divides the work into at most `max_parts` parts of about the same size. There are no parts if there are no elements.
    pub fn split(&mut self, max_parts: usize, policy: AliasPolicy) -> Parts<'_> {
        let plan: &LoopPlan = &self.plan;
        let shared = Shared { plan, operands: &self.operands };
        let units = plan.units();
        let parts = max_parts.max(1).min(units);
        let (share, more) = if parts > 1 { (units / parts, units % parts) } else { (units, 0) };
        Parts { shared, policy, parts, share, more, next: 0 }
    }

    /// Runs all of the work on this thread.
    pub fn run(&mut self, policy: AliasPolicy, scratch: &mut Scratch, body: BlockFn<'_>) -> ControlFlow<()> {
        self.split(1, policy).try_for_each(|part| part.run(scratch, body))
    }
}

impl fmt::Debug for Nest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nest").field("plan", &self.plan).field("operands", &self.operands).finish()
    }
}

/// A bound plan that the parts of a nest read on several threads.
#[derive(Clone, Copy)]
struct Shared<'n> {
    plan: &'n LoopPlan,
    operands: &'n [BoundOperand],
}

// SAFETY: the pointers belong to the operands of a nest, which is `Send`. Several threads may hold copies at once: memory is
// reached through them by `Part::run` only, and no other part has the same units, or the elements that it writes.
unsafe impl Send for Shared<'_> {}
// SAFETY: as for `Send`: it is `Copy`, so a reference permits nothing that a copy does not.
unsafe impl Sync for Shared<'_> {}

/// An iterator over the parts of a nest. The parts can be collected, taken one by one, or [shared](Parts::shared) by threads.
pub struct Parts<'n> {
    shared: Shared<'n>,
    policy: AliasPolicy,
    /// The number of remaining parts.
    parts: usize,
    /// The number of units in each part, except that the next `more` parts get one unit more.
    share: usize,
    more: usize,
    /// The first unit that belongs to no part yet.
    next: usize,
}

impl<'n> Iterator for Parts<'n> {
    type Item = Part<'n>;

    #[inline]
    fn next(&mut self) -> Option<Part<'n>> {
        self.parts = self.parts.checked_sub(1)?;
        let start = self.next;
        // A part begins where the previous one ended, so parts do not overlap.
        self.next += self.share + usize::from(self.more > 0);
        self.more = self.more.saturating_sub(1);
        Some(Part { shared: self.shared, policy: self.policy, units: start..self.next })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.parts, Some(self.parts))
    }
}

impl ExactSizeIterator for Parts<'_> {}

impl<'n> Parts<'n> {
    /// Shares the remaining parts, so that any number of threads can take them.
    pub fn shared(self) -> SharedParts<'n> {
        let [taken, first, last] = [0; 3].map(AtomicUsize::new);
        SharedParts { parts: self, owner: thread_mark(), taken, first, last }
    }
}

/// The parts of a nest, which several threads take one by one. The thread that shares the parts takes them from the front and
/// other threads from the back, so that in repeated runs each thread finds in its caches what it computed before.
pub struct SharedParts<'n> {
    parts: Parts<'n>,
    /// The mark ([`thread_mark`]) of the thread that shares the parts.
    owner: usize,
    /// The number of parts that have been taken. `first` counts the parts taken by the owner, `last` those taken by other
    /// threads.
    taken: AtomicUsize,
    first: AtomicUsize,
    last: AtomicUsize,
}

/// A number that identifies the calling thread among all living threads: the address of a thread-local variable.
fn thread_mark() -> usize {
    thread_local! {
        static MARK: u8 = const { 0 };
    }
    MARK.with(|mark| &raw const *mark as usize)
}

impl<'n> SharedParts<'n> {
    /// Takes the next part; `None` if all are taken.
    pub fn take(&self) -> Option<Part<'n>> {
        let Parts { shared, policy, parts, share, more, next } = self.parts;
        let take = |taken: usize| (taken < parts).then_some(taken + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        // `taken` is increased before `first` or `last` and never exceeds `parts`, so `first + last <= parts`, and no index is
        // taken from both ends.
        let i = match thread_mark() == self.owner {
            true => self.first.fetch_add(1, Ordering::Relaxed),
            false => parts - 1 - self.last.fetch_add(1, Ordering::Relaxed),
        };
        // Part `i` begins after the units of the first `i` parts. Each index is taken once, so parts do not
        // overlap.
        let start = |i: usize| next + i * share + i.min(more);
        Some(Part { shared, policy, units: start(i)..start(i + 1) })
    }
}

/// A part of a nest's work: a range of its units. A part can be run once, on any thread, and no other part has these units.
pub struct Part<'n> {
    shared: Shared<'n>,
    policy: AliasPolicy,
    units: Range<usize>,
}

impl Part<'_> {
    /// The number of elements of this part.
    pub fn elements(&self) -> usize {
        let plan = self.shared.plan;
        plan.elements_before(self.units.end) - plan.elements_before(self.units.start)
    }

    /// Calls `body` for each block until it returns `Break`. A one-dimensional plan without packed operands has a single block.
    ///
    /// The outputs of the block for which it returns `Break` are still written to memory; later blocks are not computed. If
    /// memory for tiles can't be allocated, `run` returns `Break` before the first block, and [`Scratch::take_refusal`] returns
    /// the error.
    pub fn run(self, scratch: &mut Scratch, body: BlockFn<'_>) -> ControlFlow<()> {
        let Shared { plan, operands } = self.shared;
        // SAFETY: the operands are borrowed for longer than `self`, which borrows the nest. No other part has these units:
        // `Parts`, for which the nest is borrowed exclusively, yields each unit once, itself or through the `SharedParts` that it
        // was converted to, and this part is consumed.
        unsafe { walk::run(plan, operands, self.units, self.policy, scratch, body) }
    }
}
