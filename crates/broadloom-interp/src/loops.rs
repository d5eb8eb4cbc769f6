//! The tile loops: one precompiled loop per function and dtype, for each CPU feature level.
//!
//! In: tiles as bytes. Out: a tile as bytes. Must hold: everything from the loop to the primitives is inlined into
//! the one function that is compiled for the features (a missed inline costs 50×, silently: the interpreter's rows
//! of the benchmarks `figures` and `functions` show it).
//! A lane that needs the long way round is noted, and done again by [`Scalar`].

use std::marker::PhantomData;

use broadloom_ir::kernel::Code;
use broadloom_ir::op::{self, Visitor};
use broadloom_ir::{Error, ErrorKind, Result};
use broadloom_math::{Binary, CastTo, Elem, Lanes, Ops, Scalar, Ternary, Unary};
use broadloom_mem::{typed, typed_mut};
use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

use crate::halves;
use crate::run::TILE;

/// The most operands of a loop.
pub const OPERANDS: usize = 4;

/// A loop over tiles: operands, as many as it has, then the result. An operand that is the same for all elements is
/// one element where the loop was made for that.
pub type TileLoop = fn(Arch, &[&[u8]; OPERANDS], &mut [u8]);

/// The loop of an instruction, all operands of which are tiles.
///
/// # Errors
/// [`ErrorKind::Internal`]: the op does not take the dtype, which a verified kernel rules out.
pub fn tile_loop(code: Code) -> Result<TileLoop> {
    match halves::tile_loop(code) {
        Some(converting) => Ok(converting),
        None => defined_loop(code),
    }
}

/// The loop over the function's definition.
pub(crate) fn defined_loop(code: Code) -> Result<TileLoop> {
    match code {
        Code::Apply(op, dtype) => op::dispatch(op, dtype, Pick)
            .ok_or_else(|| Error::new(ErrorKind::Internal, format!("{op} does not take {dtype}"))),
        Code::Cast(from, to) => Ok(op::dispatch_cast(from, to, Pick)),
        Code::Host(_) => Err(Error::new(ErrorKind::Internal, "a host function has no loop")),
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
pub(crate) fn elements<T: Elem>(tile: &[u8]) -> &[T::Store] {
    typed::<T>(tile).expect("a tile of this dtype")
}

pub(crate) fn elements_mut<T: Elem>(tile: &mut [u8]) -> &mut [T::Store] {
    typed_mut::<T>(tile).expect("a tile of this dtype")
}

struct Pick;

impl Visitor for Pick {
    type Out = TileLoop;

    fn unary<F: Unary<T>, T: Elem>(self) -> TileLoop {
        tile1::<Function<F>, T, F::Out>
    }

    fn binary<F: Binary<T>, T: Elem>(self) -> TileLoop {
        tile2::<Two<F>, Each, Each, T, T>
    }

    fn ternary<F: Ternary<T, First = T>, T: Elem>(self) -> TileLoop {
        tile3::<Three<F>, Each, Each, Each, T, T>
    }

    fn choice<F: Ternary<T, First = bool>, T: Elem>(self) -> TileLoop {
        tile3::<Three<F>, Each, Each, Each, bool, T>
    }

    fn cast<T: CastTo<U>, U: Elem>(self) -> TileLoop {
        tile1::<Conversion, T, U>
    }
}

/// What is mapped over one operand: a function or a conversion.
pub(crate) trait Map<T: Elem, U: Elem> {
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<U>;
}

pub(crate) struct Function<F>(PhantomData<F>);

impl<F: Unary<T>, T: Elem> Map<T, F::Out> for Function<F> {
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<F::Out> {
        F::call(o, x)
    }
}

pub(crate) struct Conversion;

impl<T: CastTo<U>, U: Elem> Map<T, U> for Conversion {
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<U> {
        T::cast(o, x)
    }
}

/// What a loop computes from one element of each operand.
pub(crate) trait Body<Args> {
    type Out: Elem;
    /// In a vectorised loop.
    fn lane(lanes: &mut Lanes, args: Args) -> Self::Out;
    /// By the long way round where that is needed.
    fn long(args: Args) -> Self::Out;
}

/// A function of one operand.
pub(crate) struct One<F, U>(PhantomData<(F, U)>);

impl<F: Map<T, U>, T: Elem, U: Elem> Body<T> for One<F, U> {
    type Out = U;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, x: T) -> U {
        F::call(lanes, x)
    }
    #[inline(always)]
    fn long(x: T) -> U {
        F::call(&mut Scalar, x)
    }
}

/// A function of two operands.
pub(crate) struct Two<F>(PhantomData<F>);

impl<F: Binary<T>, T: Elem> Body<(T, T)> for Two<F> {
    type Out = F::Out;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (x, y): (T, T)) -> F::Out {
        F::call(lanes, x, y)
    }
    #[inline(always)]
    fn long((x, y): (T, T)) -> F::Out {
        F::call(&mut Scalar, x, y)
    }
}

/// A function of three operands.
struct Three<F>(PhantomData<F>);

impl<F: Ternary<T>, T: Elem> Body<(F::First, T, T)> for Three<F> {
    type Out = T;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (x, y, z): (F::First, T, T)) -> T {
        F::call(lanes, x, y, z)
    }
    #[inline(always)]
    fn long((x, y, z): (F::First, T, T)) -> T {
        F::call(&mut Scalar, x, y, z)
    }
}

/// How a loop reads an operand.
pub(crate) trait Read {
    type Source<'a, T: Elem>: Source<T>;
    fn read<T: Elem>(operand: &[u8]) -> Self::Source<'_, T>;
}

/// The elements of a tile.
pub(crate) struct Each;
/// One element, the same in all lanes.
pub(crate) struct Same;

impl Read for Each {
    type Source<'a, T: Elem> = &'a [T::Store];

    #[inline(always)]
    fn read<T: Elem>(operand: &[u8]) -> &[T::Store] {
        elements::<T>(operand)
    }
}

impl Read for Same {
    type Source<'a, T: Elem> = Uniform<T>;

    #[inline(always)]
    fn read<T: Elem>(operand: &[u8]) -> Uniform<T> {
        Uniform(T::load(elements::<T>(operand)[0]))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Uniform<T>(pub T);

/// Elements by index.
pub(crate) trait Source<Args>: Copy {
    /// The first `n` of them: within a loop of as many no index is checked.
    fn first(self, n: usize) -> Self;
    fn at(self, i: usize) -> Args;
}

impl<T: Elem> Source<T> for &[T::Store] {
    #[inline(always)]
    fn first(self, n: usize) -> Self {
        &self[..n]
    }
    #[inline(always)]
    fn at(self, i: usize) -> T {
        T::load(self[i])
    }
}

impl<T: Elem> Source<T> for Uniform<T> {
    #[inline(always)]
    fn first(self, _: usize) -> Self {
        self
    }
    #[inline(always)]
    fn at(self, _: usize) -> T {
        self.0
    }
}

macro_rules! sources_of_several {
    ($(($($source:ident $args:ident $i:tt),*))*) => {$(
        impl<$($source: Source<$args>, $args),*> Source<($($args,)*)> for ($($source,)*) {
            #[inline(always)]
            fn first(self, n: usize) -> Self {
                ($(self.$i.first(n),)*)
            }
            #[inline(always)]
            fn at(self, i: usize) -> ($($args,)*) {
                ($(self.$i.at(i),)*)
            }
        }
    )*};
}
sources_of_several! {
    (A X 0, B Y 1)
    (A X 0, B Y 1, C Z 2)
    (A X 0, B Y 1, C Z 2, D W 3)
}

/// The loop of a tile, for whichever features it is compiled; it gives whether a lane was flagged.
///
/// A type of its own and not a closure: a closure is called through a shim that large functions are not inlined out
/// of, and outside of the dispatched function they are compiled without its features.
struct Fast<'a, F: Body<A>, S, A>(S, &'a mut [<F::Out as Elem>::Store], PhantomData<A>);

impl<F: Body<A>, S: Source<A>, A> NullaryFnOnce for Fast<'_, F, S, A> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let mut lanes = Lanes::default();
        let (n, out) = (self.1.len(), self.1);
        let sources = self.0.first(n);
        // PERF: by index, all of them below one `n`; with an iterator over `out` the checks of the others stay, and
        // with them up to a vector's worth of elements that are computed one by one.
        #[allow(clippy::needless_range_loop)]
        for i in 0..n {
            out[i] = F::lane(&mut lanes, sources.at(i)).store();
        }
        lanes.flagged != 0
    }
}

/// Finds the flagged lanes, and takes the long way round for them.
struct Mended<'a, F: Body<A>, S, A>(S, &'a mut [<F::Out as Elem>::Store], PhantomData<A>);

impl<F: Body<A>, S: Source<A>, A> NullaryFnOnce for Mended<'_, F, S, A> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut flags = [0u8; TILE];
        let n = self.1.len();
        let flags = &mut flags[..n];
        let sources = self.0.first(n);
        #[allow(clippy::needless_range_loop)]
        for i in 0..n {
            let mut lanes = Lanes::default();
            F::lane(&mut lanes, sources.at(i));
            flags[i] = (lanes.flagged != 0) as u8;
        }
        for (i, (out, flag)) in self.1.iter_mut().zip(flags).enumerate() {
            if *flag != 0 {
                *out = F::long(sources.at(i)).store();
            }
        }
    }
}

/// Computes elements, and gives whether one of them needs the long way round, which it has not taken.
#[inline(always)]
pub(crate) fn flags<F: Body<A>, A>(
    arch: Arch,
    sources: impl Source<A>,
    out: &mut [<F::Out as Elem>::Store],
) -> bool {
    arch.dispatch(Fast::<F, _, A>(sources, out, PhantomData))
}

/// Computes a tile of at most [`TILE`] elements.
#[inline(always)]
pub(crate) fn run<F: Body<A>, A>(arch: Arch, sources: impl Source<A>, out: &mut [<F::Out as Elem>::Store]) {
    debug_assert!(out.len() <= TILE, "a tile of {} elements", out.len());
    if flags::<F, A>(arch, sources, &mut *out) {
        arch.dispatch(Mended::<F, _, A>(sources, out, PhantomData));
    }
}

pub(crate) fn tile1<F: Map<T, U>, T: Elem, U: Elem>(arch: Arch, args: &[&[u8]; OPERANDS], out: &mut [u8]) {
    run::<One<F, U>, T>(arch, elements::<T>(args[0]), elements_mut::<U>(out));
}

pub(crate) fn tile2<F: Body<(T, U)>, A: Read, B: Read, T: Elem, U: Elem>(
    arch: Arch,
    args: &[&[u8]; OPERANDS],
    out: &mut [u8],
) {
    let sources = (A::read::<T>(args[0]), B::read::<U>(args[1]));
    run::<F, (T, U)>(arch, sources, elements_mut::<F::Out>(out));
}

/// The last two operands are of one type.
pub(crate) fn tile3<F: Body<(T, U, U)>, A: Read, B: Read, C: Read, T: Elem, U: Elem>(
    arch: Arch,
    args: &[&[u8]; OPERANDS],
    out: &mut [u8],
) {
    let sources = (A::read::<T>(args[0]), B::read::<U>(args[1]), C::read::<U>(args[2]));
    run::<F, (T, U, U)>(arch, sources, elements_mut::<F::Out>(out));
}

/// All of one type.
pub(crate) fn tile4<F: Body<(T, T, T, T)>, A: Read, B: Read, C: Read, D: Read, T: Elem>(
    arch: Arch,
    args: &[&[u8]; OPERANDS],
    out: &mut [u8],
) {
    let sources =
        (A::read::<T>(args[0]), B::read::<T>(args[1]), C::read::<T>(args[2]), D::read::<T>(args[3]));
    run::<F, (T, T, T, T)>(arch, sources, elements_mut::<F::Out>(out));
}
