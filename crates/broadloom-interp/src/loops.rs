//! The tile loops: one precompiled loop per function and dtype, for each CPU feature level.
//!
//! In: tiles as bytes. Out: a tile as bytes. Must hold: everything from the loop to the primitives is inlined into
//! the one function that is compiled for the features (a missed inline costs 50×, silently: the interpreter's rows
//! of the benchmarks `figures` and `functions` show it).
//! A lane that needs the long way round is noted, and done again by [`Scalar`].

use std::marker::PhantomData;

use broadloom_core::kernel::Code;
use broadloom_core::op::{self, Visitor};
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_math::{Binary, CastTo, Elem, Lanes, Ops, Scalar, Ternary, Unary};
use broadloom_mem::{typed, typed_mut};
use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

use crate::run::TILE;

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

/// How many float32 lanes the vectors of this host's loops have; 1 where there are none with fused multiply-add.
pub fn lanes() -> usize {
    struct Width;
    impl WithSimd for Width {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES
        }
    }
    Arch::new().dispatch(Width)
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

struct Function<F>(PhantomData<F>);

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

/// A function and the tiles of its operands.
trait Operands {
    /// One element of each.
    type Args: Copy;
    type Out: Elem;
    fn args(&self) -> impl Iterator<Item = Self::Args>;
    /// The function, in a vectorised loop.
    fn lane(lanes: &mut Lanes, args: Self::Args) -> Self::Out;
    /// The function, by the long way round where that is needed.
    fn long(args: Self::Args) -> Self::Out;
}

struct One<'a, F, T: Elem, U>(&'a [T::Store], PhantomData<(F, U)>);

impl<F: Map<T, U>, T: Elem, U: Elem> Operands for One<'_, F, T, U> {
    type Args = T;
    type Out = U;

    #[inline(always)]
    fn args(&self) -> impl Iterator<Item = T> {
        self.0.iter().map(|&x| T::load(x))
    }
    #[inline(always)]
    fn lane(lanes: &mut Lanes, x: T) -> U {
        F::call(lanes, x)
    }
    #[inline(always)]
    fn long(x: T) -> U {
        F::call(&mut Scalar, x)
    }
}

struct Two<'a, F, T: Elem>(&'a [T::Store], &'a [T::Store], PhantomData<F>);

impl<F: Binary<T>, T: Elem> Operands for Two<'_, F, T> {
    type Args = (T, T);
    type Out = F::Out;

    #[inline(always)]
    fn args(&self) -> impl Iterator<Item = (T, T)> {
        self.0.iter().zip(self.1).map(|(&x, &y)| (T::load(x), T::load(y)))
    }
    #[inline(always)]
    fn lane(lanes: &mut Lanes, (x, y): (T, T)) -> F::Out {
        F::call(lanes, x, y)
    }
    #[inline(always)]
    fn long((x, y): (T, T)) -> F::Out {
        F::call(&mut Scalar, x, y)
    }
}

struct Three<'a, F, C: Elem, T: Elem>(&'a [C::Store], &'a [T::Store], &'a [T::Store], PhantomData<F>);

impl<F: Ternary<T>, T: Elem> Operands for Three<'_, F, F::First, T> {
    type Args = (F::First, T, T);
    type Out = T;

    #[inline(always)]
    fn args(&self) -> impl Iterator<Item = (F::First, T, T)> {
        let rest = self.1.iter().zip(self.2);
        self.0.iter().zip(rest).map(|(&x, (&y, &z))| (F::First::load(x), T::load(y), T::load(z)))
    }
    #[inline(always)]
    fn lane(lanes: &mut Lanes, (x, y, z): (F::First, T, T)) -> T {
        F::call(lanes, x, y, z)
    }
    #[inline(always)]
    fn long((x, y, z): (F::First, T, T)) -> T {
        F::call(&mut Scalar, x, y, z)
    }
}

/// The loop of a tile, for whichever features it is compiled; it gives whether a lane was flagged.
///
/// A type of its own and not a closure: a closure is called through a shim that large functions are not inlined out
/// of, and outside of the dispatched function they are compiled without its features.
struct Fast<'a, P: Operands>(&'a P, &'a mut [<P::Out as Elem>::Store]);

impl<P: Operands> NullaryFnOnce for Fast<'_, P> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let mut lanes = Lanes::default();
        for (out, args) in self.1.iter_mut().zip(self.0.args()) {
            *out = P::lane(&mut lanes, args).store();
        }
        lanes.flagged != 0
    }
}

/// Finds the flagged lanes, and takes the long way round for them.
struct Mended<'a, P: Operands>(&'a P, &'a mut [<P::Out as Elem>::Store]);

impl<P: Operands> NullaryFnOnce for Mended<'_, P> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut flags = [0u8; TILE];
        for (flag, args) in flags.iter_mut().zip(self.0.args()) {
            let mut lanes = Lanes::default();
            P::lane(&mut lanes, args);
            *flag = (lanes.flagged != 0) as u8;
        }
        for ((out, args), &flag) in self.1.iter_mut().zip(self.0.args()).zip(&flags) {
            if flag != 0 {
                *out = P::long(args).store();
            }
        }
    }
}

/// Computes a tile of at most [`TILE`] elements.
fn run<P: Operands>(arch: Arch, operands: &P, out: &mut [<P::Out as Elem>::Store]) {
    debug_assert!(out.len() <= TILE, "a tile of {} elements", out.len());
    if arch.dispatch(Fast(operands, &mut *out)) {
        arch.dispatch(Mended(operands, out));
    }
}

fn tile1<F: Map<T, U>, T: Elem, U: Elem>(arch: Arch, a: &[u8], out: &mut [u8]) {
    run(arch, &One::<F, T, U>(elements::<T>(a), PhantomData), elements_mut::<U>(out));
}

fn tile2<F: Binary<T>, T: Elem>(arch: Arch, a: &[u8], b: &[u8], out: &mut [u8]) {
    let operands = Two::<F, T>(elements::<T>(a), elements::<T>(b), PhantomData);
    run(arch, &operands, elements_mut::<F::Out>(out));
}

fn tile3<F: Ternary<T>, T: Elem>(arch: Arch, a: &[u8], b: &[u8], c: &[u8], out: &mut [u8]) {
    let (a, b, c) = (elements::<F::First>(a), elements::<T>(b), elements::<T>(c));
    run(arch, &Three::<F, F::First, T>(a, b, c, PhantomData), elements_mut::<T>(out));
}
