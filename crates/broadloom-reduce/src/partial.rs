//! A reduction in progress, for any dtype.

use broadloom_ir::{DType, Error, ErrorKind, Reduction, Result};
use broadloom_math::f16;

use crate::LANES;
use crate::combine::{All, Any, Max, Min, Prod, Sum};
use crate::free::Free;
use crate::index::Index;
use crate::method::Method;
use crate::state::State;
use crate::tree::Tree;

/// The method of a reduction for a dtype.
///
/// # Errors [`ErrorKind::Internal`] if the reduction does not take the dtype.
pub(crate) fn method(reduction: Reduction, dtype: DType) -> Result<&'static dyn Method> {
    /// The method for a dtype other than bool.
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
        // Integer sums wrap, signed or not, so one method serves both.
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

fn refused(reduction: Reduction, dtype: DType) -> Error {
    Error::new(ErrorKind::Internal, format!("{reduction} does not take {dtype}"))
}

/// Writes the result of a reduction of no elements. Returns false if there is no such result.
pub(crate) fn nothing(reduction: Reduction, dtype: DType, out: &mut [u8]) -> bool {
    let Some(nothing) = reduction.of_nothing(dtype) else { return false };
    let bits = nothing.bits.to_le_bytes();
    for out in out.chunks_exact_mut(dtype.size()) {
        out.copy_from_slice(&bits[..dtype.size()]);
    }
    true
}

/// The reduction of a range of elements so far, for some adjacent outputs.
///
/// A range may begin at any element. Consecutive ranges, however they are divided, are merged to the same bits. A partial result
/// takes memory for 16 elements of each output, times the logarithm of the number of rows of 16 elements.
///
/// Elements are bytes in native order, aligned for their dtype; for bool any byte but 0 is true.
pub struct Partial {
    reduction: Reduction,
    dtype: DType,
    method: &'static dyn Method,
    state: State,
}

impl Partial {
    /// An empty partial result of `width` adjacent outputs; the first element pushed is number `start`.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the reduction does not [take](Reduction::takes) the dtype; [`ErrorKind::Limit`] if the outputs do
    /// not fit in memory.
    pub fn new(reduction: Reduction, dtype: DType, width: usize, start: u64) -> Result<Partial> {
        let method = method(reduction, dtype)?;
        Ok(Partial { reduction, dtype, method, state: method.state(width, start)? })
    }

    /// Empties the partial result for another range, and keeps its memory.
    pub fn reset(&mut self, start: u64) {
        self.state.reset(start);
    }

    /// Adds the next elements: `[n][width]` in C order.
    ///
    /// # Panics
    /// If the bytes are not aligned for the dtype, or not whole rows of `width` elements.
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

    /// Adds the next `n` elements of each output, from rows that need not be contiguous: `row(i)` has `width` elements.
    ///
    /// # Panics
    /// If the bytes of a row are not aligned for the dtype or not `width` elements.
    pub fn push_rows<'r>(&mut self, n: usize, row: impl Fn(usize) -> &'r [u8]) {
        self.method.push_rows(&mut self.state, n, &row);
    }

    /// Adds the next elements of one output as nodes: each row of 16 elements in `rows` is the reduction of 2^`level` consecutive
    /// rows.
    ///
    /// # Panics
    /// If there are several outputs, if the bytes are not aligned for the dtype or not whole rows, or if the next element is not
    /// the first of an aligned group of 2^`level` rows.
    pub fn push_nodes(&mut self, level: u8, rows: &[u8]) {
        let row = LANES * self.dtype.size();
        assert!(self.state.width == 1 && rows.len().is_multiple_of(row), "whole rows of one output");
        assert!(self.state.next.is_multiple_of((LANES as u64) << level), "an aligned subtree");
        if !rows.is_empty() {
            self.method.push_nodes(&mut self.state, level, rows);
        }
    }

    /// Merges the partial result of the next range.
    ///
    /// # Errors [`ErrorKind::Internal`] if it has another reduction, dtype or width, or does not begin where this range ends.
    pub fn append(&mut self, mut later: Partial) -> Result<()> {
        self.append_from(&mut later)
    }

    /// Merges the partial result of the next range, which is then [reset](Partial::reset) so that it can be used again.
    ///
    /// # Errors The errors of [`Partial::append`].
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

    /// Writes the result of each output, of the reduction's [result dtype](Reduction::result), and begins again with element 0.
    ///
    /// Elements before the first of the range count as absent. The result for no elements is [`Reduction::of_nothing`]; callers
    /// refuse the minimum and maximum of no elements, for which this writes the highest and the lowest value.
    ///
    /// # Panics
    /// If the bytes are not aligned for the results' dtype or not `width` results.
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
