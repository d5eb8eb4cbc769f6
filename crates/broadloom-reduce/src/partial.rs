//! Partial results: reductions in progress, for any reduction and dtype.

use broadloom_ir::{DType, Error, ErrorKind, Reduction, Result};
use broadloom_math::f16;

use crate::LANES;
use crate::combine::{All, Any, Max, Min, Prod, Sum};
use crate::free::Free;
use crate::index::Index;
use crate::method::Method;
use crate::state::State;
use crate::tree::Tree;

/// The method that computes a reduction of elements of a dtype.
///
/// # Errors
/// [`ErrorKind::Internal`] if the reduction does not take the dtype.
pub(crate) fn method(reduction: Reduction, dtype: DType) -> Result<&'static dyn Method> {
    /// Selects the method for `dtype`, which must not be bool. In the method's expression, `$t` is the Rust type of the dtype.
    macro_rules! of_numbers {
        ($t:ident => $method:expr) => {
            of_numbers!($t => $method; Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32,
                UInt64 u64, Float16 f16, Float32 f32, Float64 f64)
        };
        ($t:ident => $method:expr; $($variant:ident $type:ty),*) => {
            match dtype {
                $(DType::$variant => {
                    type $t = $type;
                    &$method as &'static dyn Method
                })*
                DType::Bool => return Err(refused(reduction, dtype)),
            }
        };
    }
    Ok(match (reduction, dtype) {
        (Reduction::Sum, DType::Float32) => &Tree::<Sum, f32>::NEW,
        (Reduction::Sum, DType::Float64) => &Tree::<Sum, f64>::NEW,
        (Reduction::Prod, DType::Float32) => &Tree::<Prod, f32>::NEW,
        (Reduction::Prod, DType::Float64) => &Tree::<Prod, f64>::NEW,
        // Integer sums and products wrap and have the same bits for signed and unsigned dtypes, so both use one method.
        (Reduction::Sum, DType::Int64 | DType::UInt64) => &Free::<Sum, u64>::NEW,
        (Reduction::Prod, DType::Int64 | DType::UInt64) => &Free::<Prod, u64>::NEW,
        (Reduction::Max, _) => of_numbers!(T => Free::<Max, T>::NEW),
        (Reduction::Min, _) => of_numbers!(T => Free::<Min, T>::NEW),
        (Reduction::ArgMax, _) => of_numbers!(T => Index::<T, true>::NEW),
        (Reduction::ArgMin, _) => of_numbers!(T => Index::<T, false>::NEW),
        (Reduction::Any, DType::Bool) => &Free::<Any, bool>::NEW,
        (Reduction::All, DType::Bool) => &Free::<All, bool>::NEW,
        _ => return Err(refused(reduction, dtype)),
    })
}

/// The error for a dtype that a reduction does not take.
pub(crate) fn refused(reduction: Reduction, dtype: DType) -> Error {
    Error::new(ErrorKind::Internal, format!("{reduction} does not take {dtype}"))
}

/// Writes the result of reducing no elements for each output. Returns false if there is no such result, as for a minimum.
pub(crate) fn nothing(reduction: Reduction, dtype: DType, out: &mut [u8]) -> bool {
    let Some(nothing) = reduction.of_nothing(dtype) else { return false };
    let bits = nothing.bits.to_le_bytes();
    for out in out.chunks_exact_mut(dtype.size()) {
        out.copy_from_slice(&bits[..dtype.size()]);
    }
    true
}

/// The result so far of reducing a range of elements, for one or more adjacent outputs.
///
/// A range may begin at any element. The merged result has the same bits however the elements are divided into consecutive
/// ranges. A partial result of n rows of 16 elements takes memory for about 16 · log2(n) elements of each output.
///
/// Elements are passed as bytes in native order, aligned for their dtype. As a bool, every byte but 0 is true.
pub struct Partial {
    reduction: Reduction,
    dtype: DType,
    method: &'static dyn Method,
    state: State,
}

impl Partial {
    /// Creates an empty partial result for `width` adjacent outputs. The first element that is pushed has the number `start`.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the reduction does not [take](Reduction::takes) the dtype; [`ErrorKind::Limit`] if the outputs do
    /// not fit in memory.
    pub fn new(reduction: Reduction, dtype: DType, width: usize, start: u64) -> Result<Partial> {
        let method = method(reduction, dtype)?;
        Ok(Partial { reduction, dtype, method, state: method.state(width, start)? })
    }

    /// Empties the partial result, for a range that begins with element number `start`. Its memory is kept.
    pub fn reset(&mut self, start: u64) {
        self.state.reset(start);
    }

    /// Adds the next elements. They are `[n][width]` in C order: `n` elements of each output.
    ///
    /// # Panics
    /// If the bytes are not aligned for the dtype, or are not whole rows of `width` elements.
    pub fn push(&mut self, elements: &[u8]) {
        let row = self.state.width * self.dtype.size();
        assert!(
            elements.is_empty() || row != 0 && elements.len().is_multiple_of(row),
            "whole rows of elements"
        );
        if !elements.is_empty() {
            self.method.push(&mut self.state, elements);
        }
    }

    /// Adds the next `n` elements of each output, from rows that need not be contiguous. `row(i)` returns element `i` of each of
    /// the `width` outputs.
    ///
    /// # Panics
    /// If the bytes of a row are not aligned for the dtype, or are not `width` elements.
    pub fn push_rows<'r>(&mut self, n: usize, row: impl Fn(usize) -> &'r [u8]) {
        self.method.push_rows(&mut self.state, n, &row);
    }

    /// Adds the next elements of a single output as [nodes](broadloom_ir::canonical): each row of 16 elements in `rows` is the
    /// result of reducing 2^`level` consecutive rows lane by lane.
    ///
    /// # Panics
    /// If there are several outputs; if the bytes are not aligned for the dtype or are not whole rows; or if the next element is
    /// not the first of an aligned group of 2^`level` rows.
    pub fn push_nodes(&mut self, level: u8, rows: &[u8]) {
        let row = LANES * self.dtype.size();
        assert!(self.state.width == 1 && rows.len().is_multiple_of(row), "whole rows of one output");
        assert!(self.state.next.is_multiple_of((LANES as u64) << level), "an aligned subtree");
        if !rows.is_empty() {
            self.method.push_nodes(&mut self.state, level, rows);
        }
    }

    /// Merges the partial result of the range that follows this one.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if `later` has another reduction, dtype or width, or does not begin where this range ends.
    pub fn append(&mut self, mut later: Partial) -> Result<()> {
        self.append_from(&mut later)
    }

    /// Merges the partial result `later`, of the range that follows this one. The contents of `later` are
    /// unspecified afterwards; it can be used again after a [reset](Partial::reset).
    ///
    /// # Errors
    /// The errors of [`Partial::append`].
    pub fn append_from(&mut self, later: &mut Partial) -> Result<()> {
        let alike = |p: &Partial| (p.reduction, p.dtype, p.state.width);
        if alike(self) != alike(later) || self.state.next != later.state.start {
            let message = format!("a partial {later:?} does not follow a partial {self:?}");
            return Err(Error::new(ErrorKind::Internal, message));
        }
        if self.is_empty() {
            std::mem::swap(&mut self.state, &mut later.state);
        } else if !later.is_empty() {
            self.method.append(&mut self.state, &later.state);
        }
        Ok(())
    }

    /// Writes the result of each output, in the reduction's [result dtype](Reduction::result), and resets the partial result to
    /// begin with element 0.
    ///
    /// If the range does not begin with element 0, the elements before it are treated as absent. The result of no elements is
    /// [`Reduction::of_nothing`]. A minimum or maximum of no elements does not exist, and callers reject it; this function then
    /// writes the highest or the lowest value of the dtype.
    ///
    /// # Panics
    /// If the bytes are not aligned for the results' dtype, or are not `width` results.
    pub fn finish(&mut self, out: &mut [u8]) {
        let size = self.reduction.result(self.dtype).size();
        assert_eq!(out.len(), self.state.width * size, "the bytes of a result of each output");
        if out.is_empty() {
            return self.reset(0);
        }
        if !self.is_empty() || !nothing(self.reduction, self.dtype, out) {
            self.method.finish(&mut self.state, out);
        }
        self.reset(0);
    }

    /// The number of elements of each output that have been pushed.
    pub fn len(&self) -> u64 {
        self.state.next - self.state.start
    }

    /// Whether no element has been pushed.
    pub fn is_empty(&self) -> bool {
        self.state.next == self.state.start
    }
}

impl std::fmt::Debug for Partial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let State { width, start, next, .. } = self.state;
        write!(f, "{} of {} [{start}..{next}][{width}]", self.reduction, self.dtype)
    }
}
