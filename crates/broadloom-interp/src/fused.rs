//! Loops for more than one instruction, or with operands that are the same for all elements.
//!
//! In: an instruction, or one and the only one that reads it; which operands are one element for all. Out: a loop and
//! the order in which it takes the operands, where there is one that saves a pass over tiles. Must hold: the same
//! bits, so each function rounds as it does alone; only cheap functions of floats have such loops, since in others the
//! pass is not what takes the time; those of float16 are in [`halves`].

use std::marker::PhantomData;

use broadloom_ir::{DType, Op};
use broadloom_math::functions::{
    Add, Divide, Equal, Greater, GreaterEqual, Less, LessEqual, Maximum, Minimum, Multiply, NotEqual,
    Subtract, Where,
};
use broadloom_math::{Binary, Elem, Lanes, Scalar, Ternary};

use crate::halves;
use crate::loops::{Body, Each, OPERANDS, Same, TileLoop, Two, tile2, tile3, tile4};

/// A loop, and which operand it takes where.
#[derive(Clone, Copy)]
pub struct Ordered {
    pub run: TileLoop,
    pub order: [u8; OPERANDS],
}

impl Ordered {
    fn new(run: TileLoop, order: [u8; OPERANDS]) -> Option<Ordered> {
        Some(Ordered { run, order })
    }
}

/// Calls `$then!` with the Rust type of a dtype that has such loops, or gives `None`.
macro_rules! by_float {
    ($dtype:expr, $then:ident $args:tt) => {
        match $dtype {
            DType::Float32 => $then!($args f32),
            DType::Float64 => $then!($args f64),
            _ => None,
        }
    };
}

/// The comparison that holds of b and a where `op` does of a and b, NaN or not; other ops as they are.
fn mirrored(op: Op) -> Op {
    match op {
        Op::Less => Op::Greater,
        Op::LessEqual => Op::GreaterEqual,
        Op::Greater => Op::Less,
        Op::GreaterEqual => Op::LessEqual,
        op => op,
    }
}

/// The loop of a function of two operands of which one is the same for all elements.
pub fn with_same(op: Op, dtype: DType, same: [bool; 2]) -> Option<Ordered> {
    let second = [0, 1, 2, 3];
    let (op, order) = match same {
        [false, true] => (op, second),
        [true, false] => (mirrored(op), [1, 0, 2, 3]),
        _ => return None,
    };
    if dtype == DType::Float16 {
        return Ordered::new(halves::with_same(op, order == second)?, order);
    }
    macro_rules! pick {
        (() $t:ty) => {
            Ordered::new(
                match op {
                    Op::Add => tile2::<Two<Add>, Each, Same, $t, $t>,
                    Op::Multiply => tile2::<Two<Multiply>, Each, Same, $t, $t>,
                    Op::Subtract if order == second => tile2::<Two<Subtract>, Each, Same, $t, $t>,
                    Op::Subtract => tile2::<Two<Swapped<Subtract>>, Each, Same, $t, $t>,
                    Op::Divide if order == second => tile2::<Two<Divide>, Each, Same, $t, $t>,
                    Op::Divide => tile2::<Two<Swapped<Divide>>, Each, Same, $t, $t>,
                    Op::Maximum => tile2::<Two<Maximum>, Each, Same, $t, $t>,
                    Op::Minimum => tile2::<Two<Minimum>, Each, Same, $t, $t>,
                    Op::Equal => tile2::<Two<Equal>, Each, Same, $t, $t>,
                    Op::NotEqual => tile2::<Two<NotEqual>, Each, Same, $t, $t>,
                    Op::Less => tile2::<Two<Less>, Each, Same, $t, $t>,
                    Op::LessEqual => tile2::<Two<LessEqual>, Each, Same, $t, $t>,
                    Op::Greater => tile2::<Two<Greater>, Each, Same, $t, $t>,
                    Op::GreaterEqual => tile2::<Two<GreaterEqual>, Each, Same, $t, $t>,
                    _ => return None,
                },
                order,
            )
        };
    }
    by_float!(dtype, pick())
}

/// The loop of `outer(inner(a, b), c)`, or of `outer(c, inner(a, b))` where `inner` is the `side`-th operand; `same` is
/// of a, b and c.
pub fn pair(outer: Op, inner: Op, side: usize, dtype: DType, same: [bool; 3]) -> Option<Ordered> {
    let (mut outer, mut side) = (outer, side);
    if side == 1 {
        (outer, side) = match outer {
            Op::Subtract | Op::Divide => (outer, 1),
            _ => (mirrored(outer), 0),
        };
    }
    let [a, b, c] = same;
    let (b_same, order) = match (a, b, inner) {
        (false, b, _) => (b, [0, 1, 2, 3]),
        (true, false, Op::Add | Op::Multiply) => (true, [1, 0, 2, 3]),
        _ => return None,
    };
    if dtype == DType::Float16 {
        return Ordered::new(halves::pair(outer, inner, side, [b_same, c])?, order);
    }
    macro_rules! pick {
        (() $t:ty) => {{
            macro_rules! row {
                ($body:ty) => {
                    match (b_same, c) {
                        (false, false) => tile3::<$body, Each, Each, Each, $t, $t>,
                        (false, true) => tile3::<$body, Each, Each, Same, $t, $t>,
                        (true, false) => tile3::<$body, Each, Same, Each, $t, $t>,
                        (true, true) => tile3::<$body, Each, Same, Same, $t, $t>,
                    }
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
                    (Op::Less, Op::Multiply, 0) => row!(Composed<Less, Multiply>),
                    (Op::Greater, Op::Multiply, 0) => row!(Composed<Greater, Multiply>),
                    _ => return None,
                },
                order,
            )
        }};
    }
    by_float!(dtype, pick())
}

/// The loop of `where(compare(a, b), x, y)`; `same` is of a and b, x and y are tiles.
pub fn choice(compare: Op, dtype: DType, same: [bool; 2]) -> Option<Ordered> {
    let (compare, b_same, order) = match same {
        [false, b_same] => (compare, b_same, [0, 1, 2, 3]),
        [true, false] => (mirrored(compare), true, [1, 0, 2, 3]),
        _ => return None,
    };
    macro_rules! pick {
        (() $t:ty) => {{
            macro_rules! row {
                ($compare:ty) => {
                    match b_same {
                        false => tile4::<Chosen<$compare>, Each, Each, Each, Each, $t>,
                        true => tile4::<Chosen<$compare>, Each, Same, Each, Each, $t>,
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

/// A function with its operands the other way round.
pub(crate) struct Swapped<F>(PhantomData<F>);

impl<F: Binary<T>, T: Elem> Binary<T> for Swapped<F> {
    type Out = F::Out;

    #[inline(always)]
    fn call<O: broadloom_math::Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<F::Out> {
        F::call(o, x2, x1)
    }
}

/// `outer(inner(a, b), c)`, rounded twice.
struct Composed<Outer, Inner>(PhantomData<(Outer, Inner)>);

impl<Outer: Binary<T>, Inner: Binary<T, Out = T>, T: Elem> Body<(T, T, T)> for Composed<Outer, Inner> {
    type Out = Outer::Out;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (a, b, c): (T, T, T)) -> Outer::Out {
        let inner = Inner::call(lanes, a, b);
        Outer::call(lanes, inner, c)
    }
    #[inline(always)]
    fn long((a, b, c): (T, T, T)) -> Outer::Out {
        let inner = Inner::call(&mut Scalar, a, b);
        Outer::call(&mut Scalar, inner, c)
    }
}

/// `where(compare(a, b), x, y)`.
struct Chosen<Compare>(PhantomData<Compare>);

impl<Compare: Binary<T, Out = bool>, T: Elem> Body<(T, T, T, T)> for Chosen<Compare>
where
    Where: Ternary<T, First = bool>,
{
    type Out = T;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (a, b, x, y): (T, T, T, T)) -> T {
        let truth = Compare::call(lanes, a, b);
        Where::call(lanes, truth, x, y)
    }
    #[inline(always)]
    fn long((a, b, x, y): (T, T, T, T)) -> T {
        let truth = Compare::call(&mut Scalar, a, b);
        Where::call(&mut Scalar, truth, x, y)
    }
}
