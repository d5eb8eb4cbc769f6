//! Fused loops: loops for two instructions at a time, and loops that keep a uniform operand in a register.
//!
//! Each of these loops saves a pass over a tile, which costs more than the arithmetic of a cheap function. In a fused loop each
//! function rounds its result, as in a loop of its own, so the bits are the same. Only cheap functions of floats have such loops,
//! since for other functions the pass is a small part of the time; the loops over float16 are in [`halves`]. An integer division
//! by a uniform divisor becomes a multiplication by its reciprocal, which is computed before the loop.

use std::marker::PhantomData;

use broadloom_ir::{DType, Op};
use broadloom_math::functions::{
    Add, Divide, Equal, FloorDivide, Fma, Greater, GreaterEqual, Less, LessEqual, Maximum, Minimum, Multiply,
    NotEqual, Remainder, Subtract, TruncDivide, Where,
};
use broadloom_math::{Binary, Elem, Float, Lanes, Ops, Scalar, Ternary, UniformDivisor};

use crate::halves;
use crate::loops::{
    Closed, LoopBody, NanBits, OPERANDS, Open, PerLane, Swapped, TileLoop, Two, Uniform, tile2, tile3, tile4,
};

/// A loop, and the order in which it takes its operands: operand `i` of the loop is operand number `order[i]` of the
/// instructions.
#[derive(Clone, Copy)]
pub(crate) struct Ordered {
    pub(crate) run: TileLoop,
    pub(crate) order: [u8; OPERANDS],
}

impl Ordered {
    fn new(run: TileLoop, order: [u8; OPERANDS]) -> Option<Ordered> {
        Some(Ordered { run, order })
    }
}

/// Calls `$then!` with the Rust type of a dtype that has fused loops. For other dtypes the result is `None`.
macro_rules! by_float {
    ($dtype:expr, $then:ident $args:tt) => {
        match $dtype {
            DType::Float32 => $then!($args f32),
            DType::Float64 => $then!($args f64),
            _ => None,
        }
    };
}

/// The comparison whose result for (b, a) is equal to the result of `op` for (a, b), also if an operand is NaN. An op that is not
/// a comparison is returned unchanged.
fn mirrored(op: Op) -> Op {
    match op {
        Op::Less => Op::Greater,
        Op::LessEqual => Op::GreaterEqual,
        Op::Greater => Op::Less,
        Op::GreaterEqual => Op::LessEqual,
        op => op,
    }
}

/// The loop of a body with three operands, of which the second and the third may each be uniform. If the bits of NaN results are
/// read, the loop makes them canonical.
macro_rules! loop_of_three {
    ($body:ty, $t:ty, $b_uniform:expr, $c_uniform:expr) => {
        match ($b_uniform, $c_uniform) {
            (false, false) => tile3::<$body, PerLane, PerLane, PerLane, $t, $t>,
            (false, true) => tile3::<$body, PerLane, PerLane, Uniform, $t, $t>,
            (true, false) => tile3::<$body, PerLane, Uniform, PerLane, $t, $t>,
            (true, true) => tile3::<$body, PerLane, Uniform, Uniform, $t, $t>,
        }
    };
    ($body:ty, $t:ty, $b_uniform:expr, $c_uniform:expr, $nan:expr) => {
        match $nan {
            NanBits::Read => loop_of_three!(Closed<$body, Open>, $t, $b_uniform, $c_uniform),
            NanBits::Unread => loop_of_three!($body, $t, $b_uniform, $c_uniform),
        }
    };
}

/// The loop of a function of two operands, exactly one of which is uniform; `None` if there is no such loop.
pub(crate) fn with_uniform(op: Op, dtype: DType, uniform: [bool; 2], nan: NanBits) -> Option<Ordered> {
    let second = [0, 1, 2, 3];
    let (op, order) = match uniform {
        [false, true] => (op, second),
        [true, false] => (mirrored(op), [1, 0, 2, 3]),
        _ => return None,
    };
    if dtype == DType::Float16 {
        return Ordered::new(halves::with_uniform(op, order == second, nan)?, order);
    }
    if let (Some(run), true) = (by_uniform(op, dtype), order == second) {
        return Ordered::new(run, order);
    }
    macro_rules! pick {
        (() $t:ty) => {{
            macro_rules! row {
                ($body:ty) => {
                    match nan {
                        NanBits::Read => tile2::<Closed<$body, Open>, PerLane, Uniform, $t, $t>,
                        NanBits::Unread => tile2::<$body, PerLane, Uniform, $t, $t>,
                    }
                };
            }
            Ordered::new(
                match op {
                    Op::Add => row!(Two<Add>),
                    Op::Multiply => row!(Two<Multiply>),
                    Op::Subtract if order == second => row!(Two<Subtract>),
                    Op::Subtract => row!(Two<Swapped<Subtract>>),
                    Op::Divide if order == second => row!(Two<Divide>),
                    Op::Divide => row!(Two<Swapped<Divide>>),
                    Op::Maximum => tile2::<Two<Maximum>, PerLane, Uniform, $t, $t>,
                    Op::Minimum => tile2::<Two<Minimum>, PerLane, Uniform, $t, $t>,
                    Op::Equal => tile2::<Two<Equal>, PerLane, Uniform, $t, $t>,
                    Op::NotEqual => tile2::<Two<NotEqual>, PerLane, Uniform, $t, $t>,
                    Op::Less => tile2::<Two<Less>, PerLane, Uniform, $t, $t>,
                    Op::LessEqual => tile2::<Two<LessEqual>, PerLane, Uniform, $t, $t>,
                    Op::Greater => tile2::<Two<Greater>, PerLane, Uniform, $t, $t>,
                    Op::GreaterEqual => tile2::<Two<GreaterEqual>, PerLane, Uniform, $t, $t>,
                    _ => return None,
                },
                order,
            )
        }};
    }
    by_float!(dtype, pick())
}

/// The loop of an integer division or remainder by a uniform divisor. The compiler moves the computation of the divisor's
/// reciprocal out of the loop.
fn by_uniform(op: Op, dtype: DType) -> Option<TileLoop> {
    macro_rules! by_int {
        ($($dtype:ident $t:ty),*) => {
            match (op, dtype) {
                $((Op::FloorDivide, DType::$dtype) => tile2::<ByUniform<FloorDivide>, PerLane, Uniform, $t, $t>,
                (Op::TruncDivide, DType::$dtype) => tile2::<ByUniform<TruncDivide>, PerLane, Uniform, $t, $t>,
                (Op::Remainder, DType::$dtype) => tile2::<ByUniform<Remainder>, PerLane, Uniform, $t, $t>,)*
                _ => return None,
            }
        };
    }
    Some(by_int!(Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64))
}

/// The loop of `outer(inner(a, b), c)` if `inner` is the first operand of `outer` (`side` is 0), or of `outer(c, inner(a, b))` if
/// it is the second (`side` is 1). `uniform` specifies which of a, b and c are uniform.
pub(crate) fn pair(
    outer: Op,
    inner: Op,
    side: usize,
    dtype: DType,
    uniform: [bool; 3],
    nan: NanBits,
) -> Option<Ordered> {
    let (mut outer, mut side) = (outer, side);
    if side == 1 {
        (outer, side) = match outer {
            Op::Subtract | Op::Divide => (outer, 1),
            _ => (mirrored(outer), 0),
        };
    }
    let [a, b, c] = uniform;
    let (b_uniform, order) = match (a, b, inner) {
        (false, b, _) => (b, [0, 1, 2, 3]),
        (true, false, Op::Add | Op::Multiply) => (true, [1, 0, 2, 3]),
        _ => return None,
    };
    if dtype == DType::Float16 {
        return Ordered::new(halves::pair(outer, inner, side, [b_uniform, c], nan)?, order);
    }
    macro_rules! pick {
        (() $t:ty) => {{
            macro_rules! bits {
                ($body:ty) => {
                    loop_of_three!($body, $t, b_uniform, c)
                };
            }
            macro_rules! row {
                ($body:ty) => {
                    loop_of_three!($body, $t, b_uniform, c, nan)
                };
            }
            Ordered::new(
                match (outer, inner, side) {
                    (Op::Add, Op::Multiply, 0) => row!(Composed<Add, Multiply>),
                    (Op::Subtract, Op::Multiply, 0) => row!(Composed<Subtract, Multiply>),
                    (Op::Subtract, Op::Multiply, 1) => row!(Composed<Swapped<Subtract>, Multiply>),
                    (Op::Multiply, Op::Add, 0) => row!(Composed<Multiply, Add>),
                    (Op::Multiply, Op::Subtract, 0) => row!(Composed<Multiply, Subtract>),
                    (Op::Divide, Op::Add, 1) => row!(Composed<Swapped<Divide>, Add>),
                    (Op::Divide, Op::Subtract, 0) => row!(Composed<Divide, Subtract>),
                    (Op::Less, Op::Multiply, 0) => bits!(Composed<Less, Multiply>),
                    (Op::Greater, Op::Multiply, 0) => bits!(Composed<Greater, Multiply>),
                    _ => return None,
                },
                order,
            )
        }};
    }
    by_float!(dtype, pick())
}

/// The loop of `fma(a, b, c)`, possibly with the product (if `product`) or c (if `addend`) negated.
pub(crate) fn fused_sum(
    dtype: DType,
    uniform: [bool; 3],
    [product, addend]: [bool; 2],
    nan: NanBits,
) -> Option<Ordered> {
    let [a, b, c] = uniform;
    let (b_uniform, order) = match (a, b) {
        (false, b) => (b, [0, 1, 2, 3]),
        (true, false) => (true, [1, 0, 2, 3]),
        (true, true) => return None,
    };
    macro_rules! pick {
        (() $t:ty) => {{
            macro_rules! row {
                ($body:ty) => {
                    loop_of_three!($body, $t, b_uniform, c, nan)
                };
            }
            Ordered::new(
                match (product, addend) {
                    (false, false) => row!(FusedSum<false, false>),
                    (false, true) => row!(FusedSum<false, true>),
                    (true, false) => row!(FusedSum<true, false>),
                    (true, true) => return None,
                },
                order,
            )
        }};
    }
    by_float!(dtype, pick())
}

/// The loop of `where(compare(a, b), x, y)`. `uniform` specifies which of a and b are uniform; x and y are tiles.
pub(crate) fn choice(compare: Op, dtype: DType, uniform: [bool; 2]) -> Option<Ordered> {
    let (compare, b_uniform, order) = match uniform {
        [false, b_uniform] => (compare, b_uniform, [0, 1, 2, 3]),
        [true, false] => (mirrored(compare), true, [1, 0, 2, 3]),
        _ => return None,
    };
    macro_rules! pick {
        (() $t:ty) => {{
            macro_rules! row {
                ($compare:ty) => {
                    match b_uniform {
                        false => tile4::<Chosen<$compare>, PerLane, PerLane, PerLane, PerLane, $t>,
                        true => tile4::<Chosen<$compare>, PerLane, Uniform, PerLane, PerLane, $t>,
                    }
                };
            }
            Ordered::new(
                match compare {
                    Op::Equal => row!(Equal),
                    Op::NotEqual => row!(NotEqual),
                    Op::Less => row!(Less),
                    Op::LessEqual => row!(LessEqual),
                    Op::Greater => row!(Greater),
                    Op::GreaterEqual => row!(GreaterEqual),
                    _ => return None,
                },
                order,
            )
        }};
    }
    by_float!(dtype, pick())
}

/// The loop body of an integer division or remainder by a uniform divisor.
struct ByUniform<F>(PhantomData<F>);

impl<F: Binary<T>, T: Elem> LoopBody<(T, T)> for ByUniform<F> {
    type Out = F::Out;

    #[inline(always)]
    fn lane(_: &mut Lanes, (x, y): (T, T)) -> F::Out {
        F::call(&mut UniformDivisor, x, y)
    }
    #[inline(always)]
    fn slow((x, y): (T, T)) -> F::Out {
        F::call(&mut Scalar, x, y)
    }
}

/// The loop body of `outer(inner(a, b), c)`, which rounds twice.
struct Composed<Outer, Inner>(PhantomData<(Outer, Inner)>);

impl<Outer: Binary<T>, Inner: Binary<T, Out = T>, T: Elem> LoopBody<(T, T, T)> for Composed<Outer, Inner> {
    type Out = Outer::Out;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (a, b, c): (T, T, T)) -> Outer::Out {
        let inner = Inner::call(lanes, a, b);
        Outer::call(lanes, inner, c)
    }
    #[inline(always)]
    fn slow((a, b, c): (T, T, T)) -> Outer::Out {
        let inner = Inner::call(&mut Scalar, a, b);
        Outer::call(&mut Scalar, inner, c)
    }
}

/// The loop body of `fma(a, b, c)`, in which the product is negated if `PRODUCT`, and c if `ADDEND`.
struct FusedSum<const PRODUCT: bool, const ADDEND: bool>;

impl<const PRODUCT: bool, const ADDEND: bool> FusedSum<PRODUCT, ADDEND> {
    #[inline(always)]
    fn call<O: Ops, T: Float>(o: &mut O, a: O::V<T>, b: O::V<T>, c: O::V<T>) -> O::V<T> {
        let a = if PRODUCT { o.neg(a) } else { a };
        let c = if ADDEND { o.neg(c) } else { c };
        Fma::call(o, a, b, c)
    }
}

impl<const PRODUCT: bool, const ADDEND: bool, T: Float> LoopBody<(T, T, T)> for FusedSum<PRODUCT, ADDEND> {
    type Out = T;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (a, b, c): (T, T, T)) -> T {
        Self::call::<_, T>(lanes, a, b, c)
    }
    #[inline(always)]
    fn slow((a, b, c): (T, T, T)) -> T {
        Self::call::<_, T>(&mut Scalar, a, b, c)
    }
}

/// The loop body of `where(compare(a, b), x, y)`.
struct Chosen<Compare>(PhantomData<Compare>);

impl<Compare: Binary<T, Out = bool>, T: Elem> LoopBody<(T, T, T, T)> for Chosen<Compare>
where
    Where: Ternary<T, First = bool>,
{
    type Out = T;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (a, b, x, y): (T, T, T, T)) -> T {
        let condition = Compare::call(lanes, a, b);
        Where::call(lanes, condition, x, y)
    }
    #[inline(always)]
    fn slow((a, b, x, y): (T, T, T, T)) -> T {
        let condition = Compare::call(&mut Scalar, a, b);
        Where::call(&mut Scalar, condition, x, y)
    }
}
