//! The tile loops: one precompiled loop per function and dtype, for each CPU feature level.
//!
//! In: tiles as bytes. Out: a tile as bytes. Must hold: everything from the loop to the primitives is inlined into
//! the one function that is compiled for the features (a missed inline costs 50×, silently: the interpreter's rows
//! of the benchmark `figures` show it). A lane that needs the long way round is noted, and the tile done again by [`Scalar`].

use broadloom_core::kernel::Code;
use broadloom_core::op::{self, Visitor};
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_math::{Binary, CastTo, Elem, Lanes, Ops, Scalar, Ternary, Unary};
use broadloom_mem::{typed, typed_mut};
use pulp::Arch;

/// A loop over tiles, by arity: operands, then the result.
#[derive(Clone, Copy)]
pub enum TileLoop {
    /// One operand.
    Unary(fn(Arch, &[u8], &mut [u8])),
    /// Two operands.
    Binary(fn(Arch, &[u8], &[u8], &mut [u8])),
    /// Three operands.
    Ternary(TernaryLoop),
}

/// A loop over three tiles into a fourth.
type TernaryLoop = fn(Arch, &[u8], &[u8], &[u8], &mut [u8]);

/// The loop of an instruction.
///
/// # Errors
/// [`ErrorKind::Internal`]: the op does not take the dtype, which a verified kernel rules out.
pub fn tile_loop(code: Code) -> Result<TileLoop> {
    match code {
        Code::Apply(op, dtype) => op::dispatch(op, dtype, Pick)
            .ok_or_else(|| Error::new(ErrorKind::Internal, format!("{op} does not take {dtype}"))),
        Code::Cast(from, to) => Ok(op::dispatch_cast(from, to, Pick)),
    }
}

/// Whether any element of `size` bytes is zero, for the integer division option.
pub fn any_zero(elements: &[u8], size: usize) -> bool {
    elements.chunks_exact(size).any(|x| x.iter().all(|&b| b == 0))
}

/// A tile as elements; tiles are made for the dtypes of their values, so that this can't fail.
fn elements<T: Elem>(tile: &[u8]) -> &[T::Store] {
    typed::<T>(tile).expect("a tile of this dtype")
}

fn elements_mut<T: Elem>(tile: &mut [u8]) -> &mut [T::Store] {
    typed_mut::<T>(tile).expect("a tile of this dtype")
}

struct Pick;

impl Visitor for Pick {
    type Out = TileLoop;

    fn unary<F: Unary<T>, T: Elem>(self) -> TileLoop {
        TileLoop::Unary(tile1::<Function<F>, T, F::Out>)
    }

    fn binary<F: Binary<T>, T: Elem>(self) -> TileLoop {
        TileLoop::Binary(tile2::<F, T>)
    }

    fn ternary<F: Ternary<T, First = T>, T: Elem>(self) -> TileLoop {
        TileLoop::Ternary(tile3::<F, T>)
    }

    fn choice<F: Ternary<T, First = bool>, T: Elem>(self) -> TileLoop {
        TileLoop::Ternary(tile3::<F, T>)
    }

    fn cast<T: CastTo<U>, U: Elem>(self) -> TileLoop {
        TileLoop::Unary(tile1::<Conversion, T, U>)
    }
}

/// What is mapped over one operand: a function or a conversion.
trait Map<T: Elem, U: Elem> {
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<U>;
}

struct Function<F>(std::marker::PhantomData<F>);

impl<F: Unary<T>, T: Elem> Map<T, F::Out> for Function<F> {
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<F::Out> {
        F::call(o, x)
    }
}

struct Conversion;

impl<T: CastTo<U>, U: Elem> Map<T, U> for Conversion {
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<U> {
        T::cast(o, x)
    }
}

fn tile1<F: Map<T, U>, T: Elem, U: Elem>(arch: Arch, a: &[u8], out: &mut [u8]) {
    let (a, out) = (elements::<T>(a), elements_mut::<U>(out));
    let flagged = arch.dispatch(
        #[inline(always)]
        || {
            let mut lanes = Lanes::default();
            for (out, &x) in out.iter_mut().zip(a) {
                *out = F::call(&mut lanes, T::load(x)).store();
            }
            lanes.flagged
        },
    );
    if flagged != 0 {
        for (out, &x) in out.iter_mut().zip(a) {
            *out = F::call(&mut Scalar, T::load(x)).store();
        }
    }
}

fn tile2<F: Binary<T>, T: Elem>(arch: Arch, a: &[u8], b: &[u8], out: &mut [u8]) {
    let (a, b, out) = (elements::<T>(a), elements::<T>(b), elements_mut::<F::Out>(out));
    let flagged = arch.dispatch(
        #[inline(always)]
        || {
            let mut lanes = Lanes::default();
            for ((out, &x), &y) in out.iter_mut().zip(a).zip(b) {
                *out = F::call(&mut lanes, T::load(x), T::load(y)).store();
            }
            lanes.flagged
        },
    );
    if flagged != 0 {
        for ((out, &x), &y) in out.iter_mut().zip(a).zip(b) {
            *out = F::call(&mut Scalar, T::load(x), T::load(y)).store();
        }
    }
}

fn tile3<F: Ternary<T>, T: Elem>(arch: Arch, a: &[u8], b: &[u8], c: &[u8], out: &mut [u8]) {
    let (a, b, c) = (elements::<F::First>(a), elements::<T>(b), elements::<T>(c));
    let out = elements_mut::<T>(out);
    let flagged = arch.dispatch(
        #[inline(always)]
        || {
            let mut lanes = Lanes::default();
            for (((out, &x), &y), &z) in out.iter_mut().zip(a).zip(b).zip(c) {
                *out = F::call(&mut lanes, F::First::load(x), T::load(y), T::load(z)).store();
            }
            lanes.flagged
        },
    );
    if flagged != 0 {
        for (((out, &x), &y), &z) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out = F::call(&mut Scalar, F::First::load(x), T::load(y), T::load(z)).store();
        }
    }
}
