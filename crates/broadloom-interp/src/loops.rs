//! Tile loops: a precompiled loop for each function and dtype, compiled for each level of CPU features.
//!
//! A loop reads tiles as bytes and writes a tile. All code from the loop down to the primitives is inlined into one function,
//! which is compiled for the CPU features. If a function in it is not inlined, the loop becomes 50 times slower, without any
//! other symptom; only the interpreter's rows of the benchmarks `figures` and `functions` would show it. A lane that needs the
//! slow path of its function is flagged, and then computed again with [`Scalar`]. A loop replaces every NaN that it computes by
//! the canonical NaN, which takes two instructions; cheap functions have a second loop without these instructions, for results
//! whose NaN bits are never read.

use std::marker::PhantomData;

use broadloom_ir::kernel::Code;
use broadloom_ir::op::{self, Row, Visitor};
use broadloom_ir::{DType, Error, ErrorKind, Op, Result, VectorWidth};
use broadloom_math::functions::{Add, Multiply, Square, Subtract};
use broadloom_math::{Binary, CastTo, Elem, Lanes, Ops, Scalar, Ternary, Unary};
use broadloom_mem::{typed, typed_mut};
use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

/// The maximum number of elements in a tile. Programs with many tiles use smaller ones.
pub const TILE: usize = 1024;
/// The maximum number of operands of a loop.
pub const OPERANDS: usize = 4;

/// A loop over tiles. Its arguments are the CPU features to use, the operands (of which it reads as many as the function has),
/// and the result. If it is compiled for a uniform operand, it reads only the first element of that operand.
pub type TileLoop = fn(Arch, &[&[u8]; OPERANDS], &mut [u8]);

/// Whether the bits of a NaN that a loop computes may be read afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NanBits {
    /// The bits may be read, so the loop has to make NaN canonical.
    Read,
    /// The bits are never read.
    Unread,
}

/// The loop of an instruction that is compiled from the generic definition of its function.
///
/// # Errors
/// [`ErrorKind::Internal`] if the op does not take the dtype, or the instruction calls a host function.
pub fn defined_loop(code: Code, nan: NanBits) -> Result<TileLoop> {
    if nan == NanBits::Unread
        && let Some(short) = short_loop(code)
    {
        return Ok(short);
    }
    match code {
        Code::Apply { op, accuracy, dtype } => op::dispatch(op, accuracy, dtype, Pick).ok_or_else(|| {
            let name = op.name_at(accuracy);
            Error::new(ErrorKind::Internal, format!("{name} does not take {dtype}"))
        }),
        Code::Cast(from, to) => Ok(op::dispatch_cast(from, to, Pick)),
        Code::Host(_) => Err(Error::new(ErrorKind::Internal, "a host function has no loop")),
        Code::Loop(_) | Code::Item { .. } | Code::Gather { .. } => {
            Err(Error::new(ErrorKind::Internal, "a loop of the kernel or a gather has no tile loop"))
        }
    }
}

/// The loop of a function that takes little more than one instruction, without the two instructions that make
/// NaN canonical.
fn short_loop(code: Code) -> Option<TileLoop> {
    macro_rules! short {
        ($t:ty, $op:expr) => {
            match $op {
                Op::Add => tile2::<Two<Add>, PerLane, PerLane, $t, $t>,
                Op::Subtract => tile2::<Two<Subtract>, PerLane, PerLane, $t, $t>,
                Op::Multiply => tile2::<Two<Multiply>, PerLane, PerLane, $t, $t>,
                Op::Square => tile1::<One<Function<Square>, $t>, $t>,
                _ => return None,
            }
        };
    }
    Some(match code {
        Code::Apply { op, dtype: DType::Float32, .. } => short!(f32, op),
        Code::Apply { op, dtype: DType::Float64, .. } => short!(f64, op),
        Code::Cast(DType::Float32, DType::Float64) => tile1::<One<Conversion, f64>, f32>,
        Code::Cast(DType::Float64, DType::Float32) => tile1::<One<Conversion, f32>, f64>,
        _ => return None,
    })
}

/// The CPU features for loops on vectors of at most this width. On x86-64, AVX2 is used for all widths below 512 bits, if the CPU
/// has it.
pub(crate) fn arch_of(width: VectorWidth) -> Arch {
    #[cfg(target_arch = "x86_64")]
    if width < VectorWidth::W512
        && let Some(avx2) = pulp::x86::V3::try_new()
    {
        return Arch::V3(avx2);
    }
    // On other architectures there is only one level of CPU features.
    let _ = width;
    Arch::new()
}

/// The number of float32 lanes in the vectors that the interpreter's loops use on this machine, if vectors of at most this width
/// are requested. On x86-64 there are no loops for vectors narrower than those of AVX2. The result is 1 if vectors have no fused
/// multiply-add.
pub fn lanes(width: VectorWidth) -> usize {
    struct Width;
    impl WithSimd for Width {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES
        }
    }
    arch_of(width).dispatch(Width)
}

/// Whether any of the elements, of `size` bytes each, is zero; this is the check for division by zero.
pub(crate) fn any_zero(elements: &[u8], size: usize) -> bool {
    elements.chunks_exact(size).any(|x| x.iter().all(|&b| b == 0))
}

/// The bytes of a tile as elements. This can't fail, because tiles are allocated for the dtypes of their values.
pub(crate) fn elements<T: Elem>(tile: &[u8]) -> &[T::Store] {
    typed::<T>(tile).expect("a tile of this dtype")
}

pub(crate) fn elements_mut<T: Elem>(tile: &mut [u8]) -> &mut [T::Store] {
    typed_mut::<T>(tile).expect("a tile of this dtype")
}

struct Pick;

impl Visitor for Pick {
    type Out = TileLoop;

    fn unary<F: Unary<T> + Row, T: Elem>(self) -> TileLoop {
        tile1::<Closed<One<Function<F>, F::Out>, OfOp<F>>, T>
    }

    fn binary<F: Binary<T> + Row, T: Elem>(self) -> TileLoop {
        tile2::<Closed<Two<F>, OfOp<F>>, PerLane, PerLane, T, T>
    }

    fn ternary<F: Ternary<T, First = T> + Row, T: Elem>(self) -> TileLoop {
        tile3::<Closed<Three<F>, OfOp<F>>, PerLane, PerLane, PerLane, T, T>
    }

    fn choice<F: Ternary<T, First = bool> + Row, T: Elem>(self) -> TileLoop {
        tile3::<Closed<Three<F>, OfOp<F>>, PerLane, PerLane, PerLane, bool, T>
    }

    fn cast<T: CastTo<U>, U: Elem>(self) -> TileLoop {
        tile1::<Closed<One<Conversion, U>, OfCast<T, U>>, T>
    }
}

/// A property of functions at the type level: whether the definition leaves the bits of a computed NaN unspecified.
pub(crate) trait Nan {
    /// Whether the bits of a computed NaN are unspecified ([`Code::leaves_nan_open`]), so that a loop has to replace it.
    const IS_OPEN: bool;
}

/// The property of a function that can compute a NaN of unspecified bits, which the loop replaces by the canonical NaN.
pub(crate) struct Open;
/// The property of a function whose NaN bits the definition specifies, or whose NaN bits are never read, so that the loop need
/// not replace a NaN.
pub(crate) struct Unread;
/// The property of function `F` according to the op table.
pub(crate) struct OfOp<F>(PhantomData<F>);
/// The property of the conversion from `T` to `U`.
pub(crate) struct OfCast<T, U>(PhantomData<(T, U)>);

impl Nan for Open {
    const IS_OPEN: bool = true;
}

impl Nan for Unread {
    const IS_OPEN: bool = false;
}

impl<F: Row> Nan for OfOp<F> {
    const IS_OPEN: bool = F::OP.leaves_nan_open();
}

impl<T: Elem, U: Elem> Nan for OfCast<T, U> {
    const IS_OPEN: bool = T::DTYPE.is_float() && U::DTYPE.is_float() && T::DTYPE as u8 != U::DTYPE as u8;
}

/// Replaces a NaN by the canonical NaN if its bits are unspecified according to the property `N`; other elements are unchanged.
#[inline(always)]
pub(crate) fn closed<N: Nan, T: Elem>(x: T) -> T {
    if N::IS_OPEN { x.canonical() } else { x }
}

/// A function or conversion of one operand.
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

/// A loop body: what a loop computes from one element of each operand.
pub(crate) trait LoopBody<Args> {
    type Out: Elem;
    /// Computes one lane of a vectorised loop.
    fn lane(lanes: &mut Lanes, args: Args) -> Self::Out;
    /// Computes one element, by the slow path if necessary.
    fn slow(args: Args) -> Self::Out;
}

/// The loop body `F`, followed by replacing a NaN of unspecified bits by the canonical NaN.
pub(crate) struct Closed<F, N>(PhantomData<(F, N)>);

impl<F: LoopBody<A>, N: Nan, A> LoopBody<A> for Closed<F, N> {
    type Out = F::Out;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, args: A) -> F::Out {
        closed::<N, _>(F::lane(lanes, args))
    }
    #[inline(always)]
    fn slow(args: A) -> F::Out {
        closed::<N, _>(F::slow(args))
    }
}

/// The loop body of a function or conversion of one operand.
pub(crate) struct One<F, U>(PhantomData<(F, U)>);

impl<F: Map<T, U>, T: Elem, U: Elem> LoopBody<T> for One<F, U> {
    type Out = U;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, x: T) -> U {
        F::call(lanes, x)
    }
    #[inline(always)]
    fn slow(x: T) -> U {
        F::call(&mut Scalar, x)
    }
}

/// The loop body of a function of two operands.
pub(crate) struct Two<F>(PhantomData<F>);

impl<F: Binary<T>, T: Elem> LoopBody<(T, T)> for Two<F> {
    type Out = F::Out;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (x, y): (T, T)) -> F::Out {
        F::call(lanes, x, y)
    }
    #[inline(always)]
    fn slow((x, y): (T, T)) -> F::Out {
        F::call(&mut Scalar, x, y)
    }
}

/// The function `F` with its two operands swapped.
pub(crate) struct Swapped<F>(PhantomData<F>);

impl<F: Binary<T>, T: Elem> Binary<T> for Swapped<F> {
    type Out = F::Out;

    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<F::Out> {
        F::call(o, x2, x1)
    }
}

/// The loop body of a function of three operands.
struct Three<F>(PhantomData<F>);

impl<F: Ternary<T>, T: Elem> LoopBody<(F::First, T, T)> for Three<F> {
    type Out = T;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (x, y, z): (F::First, T, T)) -> T {
        F::call(lanes, x, y, z)
    }
    #[inline(always)]
    fn slow((x, y, z): (F::First, T, T)) -> T {
        F::call(&mut Scalar, x, y, z)
    }
}

/// The way in which a loop reads an operand.
pub(crate) trait Read {
    type Source<'a, T: Elem>: ElementSource<T>;
    fn read<T: Elem>(operand: &[u8]) -> Self::Source<'_, T>;
}

/// Each lane reads its own element of a tile.
pub(crate) struct PerLane;
/// All lanes read the same element.
pub(crate) struct Uniform;

impl Read for PerLane {
    type Source<'a, T: Elem> = &'a [T::Store];

    #[inline(always)]
    fn read<T: Elem>(operand: &[u8]) -> &[T::Store] {
        elements::<T>(operand)
    }
}

impl Read for Uniform {
    type Source<'a, T: Elem> = Register<T>;

    #[inline(always)]
    fn read<T: Elem>(operand: &[u8]) -> Register<T> {
        Register(T::load(elements::<T>(operand)[0]))
    }
}

/// A uniform operand, loaded into a register before the loop.
#[derive(Clone, Copy)]
pub(crate) struct Register<T>(T);

/// The operands of a loop body. A loop reads one element of each operand by its index.
pub(crate) trait ElementSource<Args>: Copy {
    /// Limits the source to its first `n` elements, so that indices below `n` are not checked in the loop.
    fn first(self, n: usize) -> Self;
    fn at(self, i: usize) -> Args;
}

impl<T: Elem> ElementSource<T> for &[T::Store] {
    #[inline(always)]
    fn first(self, n: usize) -> Self {
        &self[..n]
    }
    #[inline(always)]
    fn at(self, i: usize) -> T {
        T::load(self[i])
    }
}

impl<T: Elem> ElementSource<T> for Register<T> {
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
        impl<$($source: ElementSource<$args>, $args),*> ElementSource<($($args,)*)> for ($($source,)*) {
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

/// The loop that computes a tile by the fast path, compiled for each level of CPU features. It returns whether a lane was
/// flagged.
///
/// It is a type and not a closure, because a closure is called through a shim, from which large functions are not inlined into
/// the dispatched function; they would then be compiled without its CPU features.
struct Fast<'a, F: LoopBody<A>, S, A>(S, &'a mut [<F::Out as Elem>::Store], PhantomData<A>);

impl<F: LoopBody<A>, S: ElementSource<A>, A> NullaryFnOnce for Fast<'_, F, S, A> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let mut lanes = Lanes::default();
        let (n, out) = (self.1.len(), self.1);
        let sources = self.0.first(n);
        // PERF: all indices are below the common `n`, so no bounds are checked. With an iterator over `out`, the bounds checks of
        // the operands would remain, and the compiler would add a scalar loop for up to a vector of elements.
        #[allow(clippy::needless_range_loop)]
        for i in 0..n {
            out[i] = F::lane(&mut lanes, sources.at(i)).store();
        }
        lanes.flagged != 0
    }
}

/// The loop that finds which lanes [`Fast`] flagged, by computing the tile again.
struct Flags<'a, F, S, A>(S, &'a mut [u8], PhantomData<(F, A)>);

impl<F: LoopBody<A>, S: ElementSource<A>, A> NullaryFnOnce for Flags<'_, F, S, A> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (n, flags) = (self.1.len(), self.1);
        let sources = self.0.first(n);
        #[allow(clippy::needless_range_loop)]
        for i in 0..n {
            let mut lanes = Lanes::default();
            F::lane(&mut lanes, sources.at(i));
            flags[i] = (lanes.flagged != 0) as u8;
        }
    }
}

/// The loop that computes flagged lanes by the slow path.
struct SlowLanes<'a, F: LoopBody<A>, S, A>(S, &'a [u8], &'a mut [<F::Out as Elem>::Store], PhantomData<A>);

impl<F: LoopBody<A>, S: ElementSource<A>, A> NullaryFnOnce for SlowLanes<'_, F, S, A> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (i, (out, flag)) in self.2.iter_mut().zip(self.1).enumerate() {
            if *flag != 0 {
                *out = F::slow(self.0.at(i)).store();
            }
        }
    }
}

/// The loop for machines whose vectors have no fused multiply-add. It computes one element at a time.
struct EachLane<'a, F: LoopBody<A>, S, A>(S, &'a mut [<F::Out as Elem>::Store], PhantomData<A>);

impl<F: LoopBody<A>, S: ElementSource<A>, A> EachLane<'_, F, S, A> {
    fn call(self) {
        let (n, out) = (self.1.len(), self.1);
        let sources = self.0.first(n);
        #[allow(clippy::needless_range_loop)]
        for i in 0..n {
            out[i] = F::slow(sources.at(i)).store();
        }
    }
}

/// The CPU features for which slow paths are compiled: those of AVX2, even if wider vectors are used. A slow path computes one
/// element at a time, so both levels of CPU features use the same instance.
fn slow_path_arch(arch: Arch) -> Arch {
    #[cfg(target_arch = "x86_64")]
    if let Arch::V4(avx512) = arch {
        return Arch::V3(*avx512);
    }
    arch
}

/// Computes elements by the fast path, and returns whether any of them needs the slow path.
#[inline(always)]
pub(crate) fn flags<F: LoopBody<A>, A>(
    arch: Arch,
    sources: impl ElementSource<A>,
    out: &mut [<F::Out as Elem>::Store],
) -> bool {
    arch.dispatch(Fast::<F, _, A>(sources, out, PhantomData))
}

/// Computes a tile of at most [`TILE`] elements: all of them by the fast path, and then the flagged elements by the slow path.
#[inline(always)]
pub(crate) fn run<F: LoopBody<A>, A>(
    arch: Arch,
    sources: impl ElementSource<A>,
    out: &mut [<F::Out as Elem>::Store],
) {
    debug_assert!(out.len() <= TILE, "a tile of {} elements", out.len());
    if matches!(arch, Arch::Scalar) {
        return EachLane::<F, _, A>(sources, out, PhantomData).call();
    }
    if flags::<F, A>(arch, sources, &mut *out) {
        let mut flags = [0; TILE];
        let flags = &mut flags[..out.len()];
        arch.dispatch(Flags::<F, _, A>(sources, &mut *flags, PhantomData));
        slow_path_arch(arch).dispatch(SlowLanes::<F, _, A>(sources, flags, out, PhantomData));
    }
}

/// The loop of a function of one operand.
pub(crate) fn tile1<F: LoopBody<T>, T: Elem>(arch: Arch, args: &[&[u8]; OPERANDS], out: &mut [u8]) {
    run::<F, T>(arch, elements::<T>(args[0]), elements_mut::<F::Out>(out));
}

/// The loop of a function of two operands, which are read as `A` and `B` specify.
pub(crate) fn tile2<F: LoopBody<(T, U)>, A: Read, B: Read, T: Elem, U: Elem>(
    arch: Arch,
    args: &[&[u8]; OPERANDS],
    out: &mut [u8],
) {
    let sources = (A::read::<T>(args[0]), B::read::<U>(args[1]));
    run::<F, (T, U)>(arch, sources, elements_mut::<F::Out>(out));
}

/// The loop of a function of three operands, of which the last two have the same type. They are read as `A`, `B` and `C` specify.
pub(crate) fn tile3<F: LoopBody<(T, U, U)>, A: Read, B: Read, C: Read, T: Elem, U: Elem>(
    arch: Arch,
    args: &[&[u8]; OPERANDS],
    out: &mut [u8],
) {
    let sources = (A::read::<T>(args[0]), B::read::<U>(args[1]), C::read::<U>(args[2]));
    run::<F, (T, U, U)>(arch, sources, elements_mut::<F::Out>(out));
}

/// The loop of a function of four operands of the same type, which are read as `A` to `D` specify.
pub(crate) fn tile4<F: LoopBody<(T, T, T, T)>, A: Read, B: Read, C: Read, D: Read, T: Elem>(
    arch: Arch,
    args: &[&[u8]; OPERANDS],
    out: &mut [u8],
) {
    let sources =
        (A::read::<T>(args[0]), B::read::<T>(args[1]), C::read::<T>(args[2]), D::read::<T>(args[3]));
    run::<F, (T, T, T, T)>(arch, sources, elements_mut::<F::Out>(out));
}
