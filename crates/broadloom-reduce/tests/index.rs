//! Compares the index of the first minimum or maximum with a plain loop over the elements.

use broadloom_ir::{DType, Reduction};
use broadloom_math::{Elem, f16};
use broadloom_mem::{bytes_of, bytes_of_mut};
use broadloom_reduce::{Partial, reduce_each, reduce_rows};

/// A linear congruential generator.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// Draws elements that are often equal to each other: small numbers of the dtype; for floats also zeros of
/// either sign and, rarely, NaN or else infinities of either sign.
trait Sample: Elem<Store = Self> + PartialOrd {
    fn sample(numbers: &mut Lcg, nan: bool) -> Self;
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Sample for $t {
            fn sample(numbers: &mut Lcg, _: bool) -> $t {
                (numbers.below(90) as i64 - 40).max($t::MIN as i64) as $t
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($t:ident $of:expr;)*) => {$(
        impl Sample for $t {
            fn sample(numbers: &mut Lcg, nan: bool) -> $t {
                match numbers.below(400) {
                    0 if nan => $of(f64::NAN),
                    0 => $of(f64::INFINITY),
                    399 => $of(f64::NEG_INFINITY),
                    1..60 => $of(-0.0),
                    60..120 => $of(0.0),
                    n => $of(n as f64 % 7.0 - 6.0),
                }
            }
        }
    )*};
}
floats! {
    f16 f16::from_f64;
    f32 |x| x as f32;
    f64 |x| x;
}

/// The index by definition: that of the first NaN or, without a NaN, of the first minimum or maximum.
fn index_of<T: PartialOrd + Copy>(maximum: bool, list: impl Iterator<Item = T>) -> i64 {
    let mut best: Option<(usize, T)> = None;
    for (i, x) in list.enumerate() {
        let is_nan = x.partial_cmp(&x).is_none();
        let is_better = best.is_none_or(|(_, y)| {
            let exceeds = if maximum { x > y } else { x < y };
            y.partial_cmp(&y).is_some() && (is_nan || exceeds)
        });
        if is_better {
            best = Some((i, x));
        }
    }
    best.map_or(-1, |(i, _)| i as i64)
}

fn check<T: Sample>(reduction: Reduction, numbers: &mut Lcg) {
    let (dtype, maximum) = (T::DTYPE, reduction == Reduction::ArgMax);
    for width in [1, 1, 1, 2, 7, 40] {
        for n in [1, 2, 16, 33, 1000, 5000].map(|n| 1 + numbers.below(n)) {
            let nan = numbers.below(2) == 0;
            let list: Vec<T> = (0..n * width).map(|_| T::sample(numbers, nan)).collect();
            let column = |j: usize| list.iter().skip(j).step_by(width).copied();
            let wanted: Vec<i64> = (0..width).map(|j| index_of(maximum, column(j))).collect();
            let about = format!("{reduction} of {dtype} [{n}][{width}]");
            let mut got = vec![-1_i64; width];

            // Reduces the elements in ranges of random lengths.
            let new = |at: usize| Partial::new(reduction, dtype, width, at as u64).expect("a partial");
            let (mut whole, mut at) = (new(0), 0);
            while at < n {
                let taken = (1 + numbers.below(1500)).min(n - at);
                let mut later = new(at);
                let row = |i: usize| bytes_of(&list[(at + i) * width..][..width]);
                match numbers.below(2) {
                    0 => later.push(bytes_of(&list[at * width..][..taken * width])),
                    _ => later.push_rows(taken, row),
                }
                whole.append(later).expect("that follows");
                at += taken;
            }
            whole.finish(bytes_of_mut(&mut got));
            assert_eq!(got, wanted, "{about} in runs");

            got.fill(-1);
            let row = |i: usize| bytes_of(&list[i * width..][..width]);
            reduce_rows(reduction, dtype, n, width, row, bytes_of_mut(&mut got)).expect("rows");
            assert_eq!(got, wanted, "{about}, row by row");

            let columns: Vec<T> = (0..width).flat_map(column).collect();
            got.fill(-1);
            reduce_each(reduction, dtype, n, bytes_of(&columns), bytes_of_mut(&mut got)).expect("columns");
            assert_eq!(got, wanted, "{about}, one after the other");
        }
    }
}

#[test]
fn the_first_extreme_however_elements_come() {
    let mut numbers = Lcg(7);
    for reduction in [Reduction::ArgMax, Reduction::ArgMin] {
        macro_rules! each {
            ($($t:ident)*) => { $(check::<$t>(reduction, &mut numbers);)* };
        }
        each!(i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64);
    }
    assert!(Partial::new(Reduction::ArgMax, DType::Bool, 1, 0).is_err());
}
