//! The tile loops: one precompiled loop per function and dtype, for each CPU feature level.
//!
//! In: tiles as bytes. Out: a tile as bytes. Must hold: everything from the loop to the primitives is inlined into
//! the one function that is compiled for the features (a missed inline costs 50×, silently: the interpreter's rows
//! of the benchmark `figures` show it). A lane that needs the long way round is noted, and the tile done again by [`Scalar`].

use std::marker::PhantomData;

use broadloom_core::kernel::Code;
use broadloom_core::op::{self, Visitor};
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_math::{Binary, CastTo, Elem, Lanes, Ops, Scalar, Ternary, Unary};
use broadloom_mem::{typed, typed_mut};
use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

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

/// The loop of one tile, for whichever features it is compiled: it says whether a lane was flagged. With `LONG`, the
/// long way round is taken at once, lane by lane.
///
/// A type of its own and not a closure: a closure is called through a shim that large functions are not inlined out
/// of, and outside of the dispatched function they are compiled without its features.
struct Tile<F, const LONG: bool, In, Out> {
    function: PhantomData<F>,
    operands: In,
    out: Out,
}

impl<F, const LONG: bool, In, Out> Tile<F, LONG, In, Out> {
    fn new(operands: In, out: Out) -> Self {
        Tile { function: PhantomData, operands, out }
    }
}

/// One operand and the types of it and of the result.
struct One<'a, T: Elem, U: Elem>(&'a [T::Store], PhantomData<U>);

impl<F: Map<T, U>, const LONG: bool, T: Elem, U: Elem> NullaryFnOnce
    for Tile<F, LONG, One<'_, T, U>, &mut [U::Store]>
{
    type Output = u32;

    #[inline(always)]
    fn call(self) -> u32 {
        let mut lanes = Lanes::default();
        for (out, &x) in self.out.iter_mut().zip(self.operands.0) {
            let x = T::load(x);
            *out = if LONG { F::call(&mut Scalar, x) } else { F::call(&mut lanes, x) }.store();
        }
        lanes.flagged
    }
}

fn tile1<F: Map<T, U>, T: Elem, U: Elem>(arch: Arch, a: &[u8], out: &mut [u8]) {
    let (a, out) = (elements::<T>(a), elements_mut::<U>(out));
    let operands = || One::<T, U>(a, PhantomData);
    if arch.dispatch(Tile::<F, false, _, _>::new(operands(), &mut *out)) != 0 {
        arch.dispatch(Tile::<F, true, _, _>::new(operands(), out));
    }
}

/// Two operands of one type.
struct Two<'a, T: Elem>(&'a [T::Store], &'a [T::Store]);

impl<F: Binary<T>, const LONG: bool, T: Elem> NullaryFnOnce
    for Tile<F, LONG, Two<'_, T>, &mut [<F::Out as Elem>::Store]>
{
    type Output = u32;

    #[inline(always)]
    fn call(self) -> u32 {
        let mut lanes = Lanes::default();
        for ((out, &x), &y) in self.out.iter_mut().zip(self.operands.0).zip(self.operands.1) {
            let (x, y) = (T::load(x), T::load(y));
            *out = if LONG { F::call(&mut Scalar, x, y) } else { F::call(&mut lanes, x, y) }.store();
        }
        lanes.flagged
    }
}

fn tile2<F: Binary<T>, T: Elem>(arch: Arch, a: &[u8], b: &[u8], out: &mut [u8]) {
    let (a, b, out) = (elements::<T>(a), elements::<T>(b), elements_mut::<F::Out>(out));
    if arch.dispatch(Tile::<F, false, _, _>::new(Two::<T>(a, b), &mut *out)) != 0 {
        arch.dispatch(Tile::<F, true, _, _>::new(Two::<T>(a, b), out));
    }
}

/// Three operands, the last two of one type.
struct Three<'a, C: Elem, T: Elem>(&'a [C::Store], &'a [T::Store], &'a [T::Store]);

impl<F: Ternary<T>, const LONG: bool, T: Elem> NullaryFnOnce
    for Tile<F, LONG, Three<'_, F::First, T>, &mut [T::Store]>
{
    type Output = u32;

    #[inline(always)]
    fn call(self) -> u32 {
        let mut lanes = Lanes::default();
        let Three(a, b, c) = self.operands;
        for (((out, &x), &y), &z) in self.out.iter_mut().zip(a).zip(b).zip(c) {
            let (x, y, z) = (F::First::load(x), T::load(y), T::load(z));
            *out = if LONG { F::call(&mut Scalar, x, y, z) } else { F::call(&mut lanes, x, y, z) }.store();
        }
        lanes.flagged
    }
}

fn tile3<F: Ternary<T>, T: Elem>(arch: Arch, a: &[u8], b: &[u8], c: &[u8], out: &mut [u8]) {
    let (a, b, c) = (elements::<F::First>(a), elements::<T>(b), elements::<T>(c));
    let out = elements_mut::<T>(out);
    let operands = || Three::<F::First, T>(a, b, c);
    if arch.dispatch(Tile::<F, false, _, _>::new(operands(), &mut *out)) != 0 {
        arch.dispatch(Tile::<F, true, _, _>::new(operands(), out));
    }
}
