//! What the order of elements is, written without keys, and rows that are hard to sort.

use std::cmp::Ordering;

use broadloom_math::{Elem, Real, f16};
use broadloom_sort::{Direction, Stopped, Workers};

/// An element whose order is written out.
pub trait Spec: Elem {
    /// The order of sorts.
    fn compare(self, other: Self) -> Ordering;
    /// Whether the element is a NaN.
    fn is_nan(self) -> bool;
    /// `<`, where NaNs are after everything else.
    fn is_less(self, other: Self) -> bool;
    /// Bits of elements at the edges of the dtype.
    fn edges() -> Vec<u64>;
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Spec for $t {
            fn compare(self, other: $t) -> Ordering {
                self.cmp(&other)
            }
            fn is_nan(self) -> bool {
                false
            }
            fn is_less(self, other: $t) -> bool {
                self < other
            }
            fn edges() -> Vec<u64> {
                let middle = 1_u64 << (8 * size_of::<$t>() - 1);
                vec![0, 1, 2, u64::MAX - 1, u64::MAX, middle - 1, middle, middle + 1]
            }
        }
    )*};
}
integers!(bool i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($t:ident $fraction:literal;)*) => {$(
        impl Spec for $t {
            fn compare(self, other: $t) -> Ordering {
                match (Spec::is_nan(self), Spec::is_nan(other)) {
                    (true, true) => self.to_bits().cmp(&other.to_bits()),
                    (true, false) => Ordering::Greater,
                    (false, true) => Ordering::Less,
                    _ if self < other => Ordering::Less,
                    _ if self > other => Ordering::Greater,
                    // Of numbers, only −0 and +0 are equal and have different bits.
                    _ => other.is_sign_negative().cmp(&self.is_sign_negative()),
                }
            }
            fn is_nan(self) -> bool {
                self != self
            }
            fn is_less(self, other: $t) -> bool {
                self < other || (!Spec::is_nan(self) && Spec::is_nan(other))
            }
            fn edges() -> Vec<u64> {
                let infinity = <$t as Real>::INFINITY as u64;
                let quiet = 1_u64 << ($fraction - 1);
                let normal = 1_u64 << $fraction;
                let magnitudes = [
                    0, 1, 2, normal - 1, normal, infinity / 2, infinity - 1, infinity, infinity + 1,
                    infinity + quiet - 1, infinity + quiet, infinity + quiet + 1, infinity + normal - 1,
                ];
                let sign = 1_u64 << (8 * size_of::<$t>() - 1);
                magnitudes.iter().flat_map(|&bits| [bits, bits | sign]).collect()
            }
        }
    )*};
}
floats! {
    f16 10;
    f32 23;
    f64 52;
}

/// A generator of pseudorandom numbers.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let high = self.0 >> 32;
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        high << 32 | self.0 >> 32
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 16) as usize % n
    }
}

/// The names of the patterns of rows.
pub const PATTERNS: &[&str] =
    &["bits", "edges", "few", "equal", "sorted", "reversed", "pipe", "saw", "cluster", "nested", "two"];

/// A row of this pattern.
pub fn row<T: Spec>(pattern: &str, len: usize, numbers: &mut Numbers) -> Vec<T::Store> {
    let any = |numbers: &mut Numbers| T::from_bits64(numbers.bits());
    let edges = T::edges();
    let mut values: Vec<T> = match pattern {
        "edges" => (0..len).map(|_| T::from_bits64(edges[numbers.below(edges.len())])).collect(),
        "few" => {
            let few: Vec<T> = (0..5).map(|_| any(numbers)).collect();
            (0..len).map(|_| few[numbers.below(few.len())]).collect()
        }
        "equal" => vec![any(numbers); len],
        "saw" => (0..len).map(|i| T::from_bits64((i % 17) as u64 * 3)).collect(),
        // Most keys differ in low bits alone, and some are far away.
        "cluster" => {
            let base = numbers.bits();
            (0..len)
                .map(|_| match numbers.below(50) {
                    0 => any(numbers),
                    _ => T::from_bits64(base ^ numbers.below(1 << 12) as u64),
                })
                .collect()
        }
        // Each third of the keys is far denser than the two before.
        "nested" => (0..len)
            .map(|_| {
                let mut width = 64;
                while width > 3 && numbers.below(9) > 0 {
                    width -= 10;
                }
                T::from_bits64(numbers.bits() & ((1_u128 << width.max(2)) - 1) as u64)
            })
            .collect(),
        "two" => {
            let common = any(numbers);
            (0..len).map(|i| if i % 2 == 0 { common } else { any(numbers) }).collect()
        }
        _ => (0..len).map(|_| any(numbers)).collect(),
    };
    match pattern {
        "sorted" => values.sort_by(|&a, &b| a.compare(b)),
        "reversed" => values.sort_by(|&a, &b| b.compare(a)),
        "pipe" => {
            let (up, down) = values.split_at_mut(len / 2);
            up.sort_by(|&a, &b| a.compare(b));
            down.sort_by(|&a, &b| b.compare(a));
        }
        _ => {}
    }
    values.into_iter().map(T::store).collect()
}

/// The order of two elements in memory, in a direction.
pub fn compare<T: Spec>(direction: Direction, a: T::Store, b: T::Store) -> Ordering {
    let order = T::load(a).compare(T::load(b));
    if direction == Direction::Descending { order.reverse() } else { order }
}

/// The indices of a row by a stable sort.
pub fn reference<T: Spec>(row: &[T::Store], direction: Direction) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..row.len()).collect();
    indices.sort_by(|&a, &b| compare::<T>(direction, row[a], row[b]));
    indices
}

/// The bits of elements in memory, which can be compared for equality.
pub fn bits<T: Spec>(row: &[T::Store]) -> Vec<u64> {
    row.iter().map(|&element| T::load(element).to_bits64()).collect()
}

/// Threads that are started for each part of the work.
pub struct Threads(pub usize);

impl Workers for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn share(&self, threads: usize, work: &(dyn Fn() + Sync)) -> Result<(), Stopped> {
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
        Ok(())
    }

    fn go_on(&self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Calls a function for each dtype.
#[macro_export]
macro_rules! each_dtype {
    ($function:ident, $(($variant:ident, $t:ty, $name:literal))*) => {
        $($function::<$t>($name);)*
    };
}
