//! The table of workloads.
//!
//! A [`Workload`] makes a [`Problem`] for each of its dtypes and any size. Inputs are the same in every run and do not
//! repeat within an array.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use broadloom::prelude::*;
use half::slice::HalfFloatSliceExt;
use smallvec::smallvec;

use crate::column::{Cell, Slice, SliceMut, part};
use crate::layouts;
use crate::loops::{divided, iterated, map1, map2, map3, rows, vectorized};
use crate::problem::{Problem, Roots};

/// Something to compute.
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What it computes.
    pub formula: &'static str,
    /// The dtypes that it can be made for.
    pub dtypes: &'static [DType],
    pub(crate) make: fn(DType, usize) -> Problem,
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workload({})", self.name)
    }
}

impl Workload {
    /// The workload for a dtype, with results of about `n` elements; `None` for another dtype than its own.
    pub fn at(&self, dtype: DType, n: usize) -> Option<Problem> {
        self.dtypes.contains(&dtype).then(|| (self.make)(dtype, n.max(1)))
    }
}

/// The workload of this name.
pub fn workload(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}

const FLOATS: &[DType] = &[DType::Float32, DType::Float64];

/// Rows of the table: name, formula, dtypes, and for each dtype the type that its maker is generic over, if it is.
macro_rules! workloads {
    ($($name:ident $formula:literal, $dtypes:expr, $($dtype:ident $($t:ty)?),*;)*) => {
        /// Every workload.
        pub const WORKLOADS: &[Workload] = &[$(Workload {
            name: stringify!($name),
            formula: $formula,
            dtypes: $dtypes,
            make: |dtype, n| match dtype {
                $(DType::$dtype => $name$(::<$t>)?(n),)*
                other => unreachable!("{other} is not among the dtypes"),
            },
        }),*];
    };
}

workloads! {
    copy "a", FLOATS, Float32 f32, Float64 f64;
    add "a + b", FLOATS, Float32 f32, Float64 f64;
    triad "a*b + c", FLOATS, Float32 f32, Float64 f64;
    ne_readme "2*a + 3*b", FLOATS, Float32 f32, Float64 f64;
    ne_cmp "a*b - 4.1*a > 2.5*b", FLOATS, Float32 f32, Float64 f64;
    sincos "sin(a)**2 + cos(b)**2", FLOATS, Float32 f32, Float64 f64;
    poly10 "a polynomial of degree 10, by Horner's rule", FLOATS, Float32 f32, Float64 f64;
    sigmoid "1/(1 + exp(-a))", FLOATS, Float32 f32, Float64 f64;
    standardize "(x - mean[None,:])/std[None,:], rows of 1000", FLOATS, Float32 f32, Float64 f64;
    outer "col[:,None]*row[None,:] + mat, rows of 1000", FLOATS, Float32 f32, Float64 f64;
    iter10 "z = z*z + c ten times", FLOATS, Float32 f32, Float64 f64;
    pow "a**b", FLOATS, Float32 f32, Float64 f64;
    i32_floordiv "a//b and a%b, two results", &[DType::Int32], Int32;
    i32_divmod_sum "a//b + a%b", &[DType::Int32], Int32;
    f16_axpy "1.7*x + y", &[DType::Float16, DType::Float32], Float16 f16, Float32 f32;
    mixed "where(m != 0, i*x, x): uint8 m, int16 i, float32 x", &[DType::Float32], Float32;
    short_rows "a + row, rows of 3", FLOATS, Float32 f32, Float64 f64;
    short_columns "a + col[:,None], 3 rows", FLOATS, Float32 f32, Float64 f64;
    transposed "a + b.T, square", FLOATS, Float32 f32, Float64 f64;
    reversed "a[::-1] + b", FLOATS, Float32 f32, Float64 f64;
    every_second "a[::2] + b[::2]", FLOATS, Float32 f32, Float64 f64;
}

/// Elements of a row of the workloads that have long rows.
const ROW: usize = 1000;
/// The coefficients of the polynomial, of the highest power first.
const COEFFICIENTS: [f64; 11] = [0.3, -1.2, 0.7, 2.1, -0.4, 1.9, -2.3, 0.8, 1.1, -0.6, 0.25];
/// The factor of `f16_axpy`.
const FACTOR: f64 = 1.7;

/// A floating-point type that the plain loops compute in.
pub trait Float:
    Cell
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The nearest number.
    fn nearest(x: f64) -> Self;
    /// Of the standard library.
    fn exp(self) -> Self;
    /// Of the standard library.
    fn sin(self) -> Self;
    /// Of the standard library.
    fn cos(self) -> Self;
    /// Of the standard library.
    fn powf(self, y: Self) -> Self;
}

macro_rules! float {
    ($($t:ident)*) => {$(
        impl Float for $t {
            #[inline(always)]
            fn nearest(x: f64) -> $t { x as $t }
            #[inline(always)]
            fn exp(self) -> $t { $t::exp(self) }
            #[inline(always)]
            fn sin(self) -> $t { $t::sin(self) }
            #[inline(always)]
            fn cos(self) -> $t { $t::cos(self) }
            #[inline(always)]
            fn powf(self, y: $t) -> $t { $t::powf(self, y) }
        }
    )*};
}
float!(f32 f64);

/// A rule for numbers from `lo` to `hi`, from the upper bits of random ones.
fn between<T: Cell>(lo: f64, hi: f64) -> impl FnMut(u64) -> T {
    move |bits| T::of_f64(lo + (hi - lo) * ((bits >> 11) as f64 / (1u64 << 53) as f64))
}

/// The first result's memory.
fn first<'s, T: Cell>(out: &'s mut [SliceMut<'_>]) -> &'s mut [T] {
    T::of_mut(&mut out[0])
}

/// All of an input.
fn whole<'a, T: Cell>(slice: &Slice<'a>) -> &'a [T] {
    T::of(slice)
}

/// Expressions over arrays.
type Expressions = for<'a> fn(&[Array<'a>]) -> Roots<'a>;

fn copy<T: Float>(n: usize) -> Problem {
    Problem::new(
        &[n],
        |x| smallvec![x[0].clone()],
        |x, out, at| {
            first::<T>(out).copy_from_slice(part(&x[0], &at));
        },
    )
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

fn add<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![&x[0] + &x[1]];
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| a + b)
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

fn triad<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![&x[0] * &x[1] + &x[2]];
    Problem::new(&[n], roots, move |x, out, at| {
        map3(
            part::<T>(&x[0], &at),
            part::<T>(&x[1], &at),
            part::<T>(&x[2], &at),
            first(out),
            move |a, b, c| a * b + c,
        )
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

fn ne_readme<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![2 * &x[0] + 3 * &x[1]];
    let [two, three] = [2.0, 3.0].map(T::nearest);
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| two * a + three * b)
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

fn ne_cmp<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![(&x[0] * &x[1] - 4.1 * &x[0]).greater(2.5 * &x[1])];
    let [p, q] = [4.1, 2.5].map(T::nearest);
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first::<u8>(out), move |a, b| {
            (a * b - p * a > q * b).into()
        })
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes_bools()
}

fn sincos<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].sin().pow(2) + x[1].cos().pow(2)];
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| {
            let (s, c) = (a.sin(), b.cos());
            s * s + c * c
        })
    })
    .reads::<T>(&[n], between(-100.0, 100.0))
    .reads::<T>(&[n], between(-100.0, 100.0))
    .writes::<T>()
    .within(8)
}

fn poly10<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| {
        let [c10, c9, rest @ ..] = &COEFFICIENTS;
        smallvec![rest.iter().fold(*c10 * &x[0] + *c9, |sum, c| sum * &x[0] + *c)]
    };
    let coefficients = COEFFICIENTS.map(T::nearest);
    Problem::new(&[n], roots, move |x, out, at| {
        map1(part::<T>(&x[0], &at), first(out), move |a| {
            let mut sum = coefficients[0];
            for c in &coefficients[1..] {
                sum = sum * a + *c;
            }
            sum
        })
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

fn sigmoid<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![1 / (1 + (-&x[0]).exp())];
    let one = T::nearest(1.0);
    Problem::new(&[n], roots, move |x, out, at| {
        map1(part::<T>(&x[0], &at), first(out), move |a| one / (one + (-a).exp()))
    })
    .reads::<T>(&[n], between(-10.0, 10.0))
    .writes::<T>()
    .within(8)
}

/// How many rows of [`ROW`] elements there are in `n`, or one of `n`.
fn of_rows(n: usize) -> [usize; 2] {
    [(n / ROW).max(1), n.min(ROW)]
}

/// The rows' elements.
fn rows_at(at: &std::ops::Range<usize>, columns: usize) -> std::ops::Range<usize> {
    at.start * columns..at.end * columns
}

fn standardize<T: Float>(n: usize) -> Problem {
    let shape @ [count, columns] = of_rows(n);
    let roots: Expressions = |x| smallvec![(&x[0] - &x[1]) / &x[2]];
    Problem::new(&shape, roots, move |x, out, at| {
        let a = part::<T>(&x[0], &rows_at(&at, columns));
        rows(a, whole::<T>(&x[1]), whole::<T>(&x[2]), &[], first(out), |a, mean, std, _| (a - mean) / std)
    })
    .in_units(count)
    .reads::<T>(&shape, between(-1.0, 1.0))
    .reads::<T>(&[columns], between(-0.1, 0.1))
    .reads::<T>(&[columns], between(0.5, 2.0))
    .writes::<T>()
}

fn outer<T: Float>(n: usize) -> Problem {
    let shape @ [count, columns] = of_rows(n);
    let roots: Expressions = |x| smallvec![&x[0] * &x[1] + &x[2]];
    Problem::new(&shape, roots, move |x, out, at| {
        let (column, row) = (part::<T>(&x[0], &at), whole::<T>(&x[1]));
        let mat = part::<T>(&x[2], &rows_at(&at, columns));
        rows(mat, row, row, column, first(out), |mat, row, _, col| col * row + mat)
    })
    .in_units(count)
    .reads::<T>(&[count, 1], between(-1.0, 1.0))
    .reads::<T>(&[columns], between(-1.0, 1.0))
    .reads::<T>(&shape, between(-1.0, 1.0))
    .writes::<T>()
}

fn iter10<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![(0..10).fold(x[0].clone(), |z, _| &z * &z + &x[1])];
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| iterated(a, b))
    })
    .reads::<T>(&[n], between(-0.5, 0.5))
    .reads::<T>(&[n], between(-0.5, 0.5))
    .writes::<T>()
}

fn pow<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].pow(&x[1])];
    Problem::new(&[n], roots, move |x, out, at| {
        map2(part::<T>(&x[0], &at), part::<T>(&x[1], &at), first(out), move |a, b| a.powf(b))
    })
    .reads::<T>(&[n], between(0.1, 10.0))
    .reads::<T>(&[n], between(-10.0, 10.0))
    .writes::<T>()
    .within(4)
}

/// Any integer.
fn integers(bits: u64) -> i32 {
    (bits >> 32) as i32
}

/// Any integer but 0.
fn divisors(bits: u64) -> i32 {
    match integers(bits) {
        0 => 1,
        x => x,
    }
}

fn i32_floordiv(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].floor_divide(&x[1]), x[0].remainder(&x[1])];
    Problem::new(&[n], roots, |x, out, at| {
        let [quotients, rests] = out else { unreachable!("two results") };
        let (a, b) = (part::<i32>(&x[0], &at), part::<i32>(&x[1], &at));
        let each = i32::of_mut(quotients).iter_mut().zip(i32::of_mut(rests)).zip(a.iter().zip(b));
        vectorized(
            #[inline(always)]
            || each.for_each(|((q, r), (&a, &b))| (*q, *r) = divided(a, b)),
        );
    })
    .reads(&[n], integers)
    .reads(&[n], divisors)
    .writes::<i32>()
    .writes::<i32>()
}

fn i32_divmod_sum(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].floor_divide(&x[1]) + x[0].remainder(&x[1])];
    Problem::new(&[n], roots, |x, out, at| {
        map2(part::<i32>(&x[0], &at), part::<i32>(&x[1], &at), first(out), move |a, b| {
            let (q, r) = divided(a, b);
            q.wrapping_add(r)
        })
    })
    .reads(&[n], integers)
    .reads(&[n], divisors)
    .writes::<i32>()
}

/// A type whose axpy is timed.
trait Axpy: Cell {
    /// out = [`FACTOR`]·x + y, rounded after each operation.
    fn axpy(x: &[Self], y: &[Self], out: &mut [Self]);
}

impl Axpy for f32 {
    fn axpy(x: &[f32], y: &[f32], out: &mut [f32]) {
        let factor = FACTOR as f32;
        map2(x, y, out, move |x, y| factor * x + y);
    }
}

impl Axpy for f16 {
    /// Block by block through float32, as the conversions of slices are what the crate `half` has vector code for.
    fn axpy(x: &[f16], y: &[f16], out: &mut [f16]) {
        const BLOCK: usize = 256;
        let factor = f16::from_f64(FACTOR).to_f32();
        let (mut a, mut b, mut product) = ([0f32; BLOCK], [0f32; BLOCK], [f16::ZERO; BLOCK]);
        for ((x, y), out) in x.chunks(BLOCK).zip(y.chunks(BLOCK)).zip(out.chunks_mut(BLOCK)) {
            let n = x.len();
            let (a, b, product) = (&mut a[..n], &mut b[..n], &mut product[..n]);
            x.convert_to_f32_slice(a);
            a.iter_mut().for_each(|a| *a *= factor);
            product.convert_from_f32_slice(a);
            product.convert_to_f32_slice(a);
            y.convert_to_f32_slice(b);
            a.iter_mut().zip(&*b).for_each(|(a, b)| *a += b);
            out.convert_from_f32_slice(a);
        }
    }
}

fn f16_axpy<T: Axpy>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![FACTOR * &x[0] + &x[1]];
    Problem::new(&[n], roots, |x, out, at| {
        T::axpy(part(&x[0], &at), part(&x[1], &at), first(out));
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

fn mixed(n: usize) -> Problem {
    let roots: Expressions = |x| {
        let product = with_promotion(Promotion::NumPy, || &x[0] * &x[1]);
        smallvec![where_(x[2].not_equal(0), product, &x[1])]
    };
    Problem::new(&[n], roots, |x, out, at| {
        let (i, f, m) = (part::<i16>(&x[0], &at), part::<f32>(&x[1], &at), part::<u8>(&x[2], &at));
        map3(i, f, m, first(out), move |i, f, m| if m != 0 { f32::from(i) * f } else { f })
    })
    .reads::<i16>(&[n], |bits| (bits >> 48) as i16)
    .reads::<f32>(&[n], between(-1.0, 1.0))
    .reads::<u8>(&[n], |bits| (bits >> 63) as u8)
    .writes::<f32>()
}

fn short_rows<T: Float>(n: usize) -> Problem {
    let shape @ [count, columns] = [n.div_ceil(3), 3];
    Problem::new(
        &shape,
        |x| smallvec![&x[0] + &x[1]],
        move |x, out, at| {
            let row = whole::<T>(&x[1]);
            let a = part::<T>(&x[0], &rows_at(&at, columns));
            layouts::short_rows(a, &[row[0], row[1], row[2]], first(out));
        },
    )
    .in_units(count)
    .reads::<T>(&shape, between(-1.0, 1.0))
    .reads::<T>(&[columns], between(-1.0, 1.0))
    .writes::<T>()
}

fn short_columns<T: Float>(n: usize) -> Problem {
    let shape @ [rows, columns] = [3, n.div_ceil(3)];
    Problem::new(
        &shape,
        |x| smallvec![&x[0] + &x[1]],
        move |x, out, at| {
            layouts::short_columns(whole::<T>(&x[0]), whole::<T>(&x[1]), columns, first(out), at);
        },
    )
    .reads::<T>(&shape, between(-1.0, 1.0))
    .reads::<T>(&[rows, 1], between(-1.0, 1.0))
    .writes::<T>()
}

fn transposed<T: Float + layouts::Turn>(n: usize) -> Problem {
    let side = n.isqrt();
    let shape = [side, side];
    Problem::new(
        &shape,
        |x| smallvec![&x[0] + x[1].t()],
        move |x, out, at| {
            layouts::transposed(whole::<T>(&x[0]), whole::<T>(&x[1]), side, first(out), at);
        },
    )
    .in_units(side)
    .reads::<T>(&shape, between(-1.0, 1.0))
    .reads::<T>(&shape, between(-1.0, 1.0))
    .writes::<T>()
}

fn reversed<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].flip(0).expect("it has an axis") + &x[1]];
    Problem::new(&[n], roots, move |x, out, at| {
        let a = part::<T>(&x[0], &(n - at.end..n - at.start));
        layouts::reversed(a, part(&x[1], &at), first(out));
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

fn every_second<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| {
        let half = [Range::new(None, None, 2)];
        let [a, b] = [0, 1].map(|i| x[i].slice(half).expect("it has an axis"));
        smallvec![a + b]
    };
    Problem::new(&[n], roots, |x, out, at| {
        let at = 2 * at.start..2 * at.end;
        layouts::every_second(part::<T>(&x[0], &at), part(&x[1], &at), first(out));
    })
    .reads_some::<T>(&[2 * n], 2, between(-1.0, 1.0))
    .reads_some::<T>(&[2 * n], 2, between(-1.0, 1.0))
    .writes::<T>()
}
