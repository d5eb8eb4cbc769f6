//! Compares reductions and scans bit for bit with their definition, written as operations on lists.

use broadloom_ir::{DType, Reduction, Scan};
use broadloom_math::functions::{Maximum, Minimum};
use broadloom_math::{Binary, Elem, Scalar, f16};
use broadloom_mem::{Caches, bytes_of, bytes_of_mut};
use broadloom_reduce::{LANES, Partial, ScanState, reduce_each, reduce_rows};

/// A linear congruential generator, the same in each run.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 ^ self.0 >> 29
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n
    }
}

/// A type with elements to reduce.
trait Sample: Elem<Store: Elem<Store = <Self as Elem>::Store>> {
    fn sample(numbers: &mut Lcg) -> Self::Store;
    fn op(reduction: Reduction, a: Self::Store, b: Self::Store) -> Self::Store;
    fn bits(x: Self::Store) -> u64 {
        Self::load(x).to_bits64()
    }
}

macro_rules! sample_numbers {
    ($($t:ty: $numbers:ident $sample:expr, $plus:expr, $times:expr;)*) => {$(
        impl Sample for $t {
            fn sample($numbers: &mut Lcg) -> $t {
                $sample
            }
            fn op(reduction: Reduction, a: $t, b: $t) -> $t {
                match reduction {
                    Reduction::Sum => $plus(a, b),
                    Reduction::Prod => $times(a, b),
                    Reduction::Max => Maximum::call(&mut Scalar, a, b),
                    Reduction::Min => Minimum::call(&mut Scalar, a, b),
                    _ => panic!("not of two numbers"),
                }
            }
        }
    )*};
}

/// Numbers of many magnitudes, with an occasional zero of either sign.
fn real(numbers: &mut Lcg) -> f64 {
    let (sign, exponent) = (numbers.below(2) as f64 * 2.0 - 1.0, numbers.below(21) as i32 - 10);
    match numbers.below(40) {
        0 => sign * 0.0,
        _ => sign * (1.0 + numbers.below(1 << 30) as f64 / (1 << 30) as f64) * 2.0_f64.powi(exponent),
    }
}

sample_numbers! {
    f32: n real(n) as f32, |a, b| a + b, |a, b| a * b;
    f64: n real(n), |a, b| a + b, |a, b| a * b;
    f16: n f16::from_f64(real(n)), |a: f16, b| a + b, |a: f16, b| a * b;
    i8: n n.next() as i8, i8::wrapping_add, i8::wrapping_mul;
    i16: n n.next() as i16, i16::wrapping_add, i16::wrapping_mul;
    i32: n n.next() as i32, i32::wrapping_add, i32::wrapping_mul;
    i64: n n.next() as i64 | 1, i64::wrapping_add, i64::wrapping_mul;
    u8: n n.next() as u8, u8::wrapping_add, u8::wrapping_mul;
    u16: n n.next() as u16, u16::wrapping_add, u16::wrapping_mul;
    u32: n n.next() as u32, u32::wrapping_add, u32::wrapping_mul;
    u64: n n.next() | 1, u64::wrapping_add, u64::wrapping_mul;
}

impl Sample for bool {
    /// Mostly false or mostly true, including bytes other than 0 and 1.
    fn sample(numbers: &mut Lcg) -> u8 {
        let rare = numbers.below(50) == 0;
        if (numbers.0 >> 40 & 1 == 0) ^ rare { numbers.next() as u8 | 4 } else { 0 }
    }
    fn op(reduction: Reduction, a: u8, b: u8) -> u8 {
        let (a, b) = (a != 0, b != 0);
        match reduction {
            Reduction::Any => (a || b) as u8,
            Reduction::All => (a && b) as u8,
            _ => panic!("of numbers"),
        }
    }
}

/// Reduces adjacent pairs, level by level; a last element without a partner is carried up.
fn pairwise<S: Copy>(mut list: Vec<S>, op: impl Fn(S, S) -> S) -> S {
    while list.len() > 1 {
        list = list.chunks(2).map(|pair| if let [a, b] = *pair { op(a, b) } else { pair[0] }).collect();
    }
    list[0]
}

/// Reduces elements by the definition: each lane in adjacent pairs, then the lanes in the same way.
fn reduced<T: Sample>(reduction: Reduction, list: &[T::Store]) -> u64 {
    let op = |a, b| T::op(reduction, a, b);
    let lane = |lane| pairwise(list.iter().skip(lane).step_by(LANES).copied().collect(), op);
    let result = pairwise((0..LANES.min(list.len())).map(lane).collect(), op);
    T::load(result).canonical().to_bits64()
}

/// Reduces elements `[n][width]` by the definition, separately for each of the `width` outputs.
fn columns<T: Sample>(reduction: Reduction, width: usize, list: &[T::Store]) -> Vec<u64> {
    let column = |j| list.iter().skip(j).step_by(width).copied().collect::<Vec<_>>();
    (0..width).map(|j| reduced::<T>(reduction, &column(j))).collect()
}

fn bits<T: Sample>(list: &[T::Store]) -> Vec<u64> {
    list.iter().map(|x| T::bits(*x)).collect()
}

/// Calls `$check::<type>(reduction, …)` for every supported combination.
macro_rules! for_everything {
    ($check:ident $(, $arg:expr)*) => {{
        // Reductions that apply a binary operation repeatedly.
        for reduction in Reduction::ALL.into_iter().filter(|reduction| reduction.op().is_some()) {
            for_everything!(@ reduction $check ($($arg),*) bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64);
        }
    }};
    (@ $reduction:ident $check:ident $args:tt $($t:ty)*) => {
        $(if $reduction.takes(<$t>::DTYPE) { for_everything!(@@ $reduction $check $t, $args) })*
    };
    (@@ $reduction:ident $check:ident $t:ty, ($($arg:expr),*)) => { $check::<$t>($reduction $(, $arg)*) };
}

/// Pushes rows in ranges that are divided at random, and finishes.
fn run_in_pieces<T: Sample>(
    reduction: Reduction,
    width: usize,
    list: &[T::Store],
    numbers: &mut Lcg,
) -> Vec<u64> {
    let n = list.len() / width;
    let most = [1, 3, 17, 40, 200, 5000][numbers.below(6)];
    let new = |at: usize| Partial::new(reduction, T::DTYPE, width, at as u64).expect("a partial");
    let mut partials = vec![new(0)];
    let mut at = 0;
    while at < n {
        if numbers.below(3) == 0 {
            partials.push(new(at));
        }
        let taken = (1 + numbers.below(most)).min(n - at);
        let bytes = bytes_of(&list[at * width..][..taken * width]);
        let partial = partials.last_mut().expect("one");
        if numbers.below(2) == 0 {
            partial.push(bytes);
        } else {
            let row = bytes.len() / taken;
            partial.push_rows(taken, |i| &bytes[i * row..][..row]);
        }
        at += taken;
    }
    // The order in which adjacent partial results are merged is random.
    while partials.len() > 1 {
        let i = numbers.below(partials.len() - 1);
        let later = partials.remove(i + 1);
        partials[i].append(later).expect("the run that follows");
    }
    assert_eq!(partials[0].len(), n as u64);
    let mut out = vec![T::Store::default(); width];
    partials[0].finish(bytes_of_mut(&mut out));
    bits::<T>(&out)
}

fn check_lengths<T: Sample>(reduction: Reduction, lengths: &[usize]) {
    let numbers = &mut Lcg(lengths.len() as u64 + T::DTYPE as u64);
    for &n in lengths {
        let list: Vec<T::Store> = (0..n).map(|_| T::sample(numbers)).collect();
        let expected = vec![reduced::<T>(reduction, &list)];
        let what = || format!("{reduction} of {n} {}", T::DTYPE);
        let mut partial = Partial::new(reduction, T::DTYPE, 1, 0).expect("a partial");
        partial.push(bytes_of(&list));
        let mut out = [T::Store::default()];
        partial.finish(bytes_of_mut(&mut out));
        assert_eq!(bits::<T>(&out), expected, "{}", what());
        assert_eq!(run_in_pieces::<T>(reduction, 1, &list, numbers), expected, "{} in pieces", what());
        let mut out = [T::Store::default()];
        let bytes = bytes_of(&list);
        reduce_each(reduction, T::DTYPE, n, bytes, bytes_of_mut(&mut out)).expect("it is taken");
        assert_eq!(bits::<T>(&out), expected, "{} at once", what());
    }
}

/// If a cache is larger than 128 MiB, this test does not use streams; they have a test of their own.
#[test]
fn sums_of_what_is_larger_than_the_caches_are_those_of_its_pieces() {
    let bytes = Caches::of_target().last.min(128 << 20);
    fn check<T: Sample>(bytes: usize) {
        let mut numbers = Lcg(7);
        let list: Vec<T::Store> =
            (0..bytes / size_of::<T>() + (3 << 17) + 77).map(|_| T::sample(&mut numbers)).collect();
        // One range begins with the first element, the other inside of a large subtree of the canonical order.
        for start in [0, 1 << 14] {
            let mut whole = Partial::new(Reduction::Sum, T::DTYPE, 1, start).unwrap();
            whole.push(bytes_of(&list));
            let mut pieces = Partial::new(Reduction::Sum, T::DTYPE, 1, start).unwrap();
            list.chunks(1 << 16).for_each(|piece| pieces.push(bytes_of(piece)));
            let [mut of_whole, mut of_pieces] = [[list[0]], [list[1]]];
            whole.finish(bytes_of_mut(&mut of_whole));
            pieces.finish(bytes_of_mut(&mut of_pieces));
            assert_eq!(bits::<T>(&of_whole), bits::<T>(&of_pieces), "{} from {start}", T::DTYPE);
        }
    }
    check::<f32>(bytes);
    check::<f64>(bytes);
}

#[test]
fn any_number_of_elements_in_any_pieces() {
    let lengths: Vec<usize> = (1..700).collect();
    for_everything!(check_lengths, &lengths);
}

#[test]
fn many_elements() {
    for_everything!(check_lengths, &[4095, 4096, 65537]);
}

fn check_widths<T: Sample>(reduction: Reduction, cases: usize) {
    let numbers = &mut Lcg(77 + T::DTYPE as u64);
    for _ in 0..cases {
        let width = 1 + numbers.below(70);
        let most = [4, 20, 150, 1200][numbers.below(4)];
        let n = 1 + numbers.below(most);
        let list: Vec<T::Store> = (0..n * width).map(|_| T::sample(numbers)).collect();
        let expected = columns::<T>(reduction, width, &list);
        let what = format!("{reduction} of {} [{n}][{width}]", T::DTYPE);
        assert_eq!(run_in_pieces::<T>(reduction, width, &list, numbers), expected, "{what} in pieces");
        let mut out = vec![T::Store::default(); width];
        let row = |i: usize| bytes_of(&list[i * width..][..width]);
        reduce_rows(reduction, T::DTYPE, n, width, row, bytes_of_mut(&mut out)).expect("it is taken");
        assert_eq!(bits::<T>(&out), expected, "{what} at once");
        // Reduces the elements again as separate rows.
        let expected: Vec<u64> = list.chunks(width).map(|row| reduced::<T>(reduction, row)).collect();
        let mut out = vec![T::Store::default(); n];
        let bytes = bytes_of(&list);
        reduce_each(reduction, T::DTYPE, width, bytes, bytes_of_mut(&mut out)).expect("it is taken");
        assert_eq!(bits::<T>(&out), expected, "{what} each row");
    }
}

#[test]
fn any_width() {
    for_everything!(check_widths, 60);
}

#[test]
fn the_published_sum() {
    let mut s = 0x243F_6A88_85A3_08D3_u64;
    let list: Vec<f64> = (0..1_000_000)
        .map(|_| {
            s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((s >> 11) as f64 - 2.0_f64.powi(52)) / 2.0_f64.powi(52)
        })
        .collect();
    assert_eq!(reduced::<f64>(Reduction::Sum, &list), 0x4061_8f71_f637_9380);
    let mut sum = Partial::new(Reduction::Sum, DType::Float64, 1, 0).expect("a partial");
    sum.push(bytes_of(&list));
    let mut out = [0.0_f64];
    sum.finish(bytes_of_mut(&mut out));
    assert_eq!(out[0].to_bits(), 0x4061_8f71_f637_9380);
}

#[test]
fn nothing_and_zeros() {
    let of = |reduction, list: &[f32]| {
        let (mut partial, mut out) =
            (Partial::new(reduction, DType::Float32, 1, 0).expect("a partial"), [7.0_f32]);
        partial.push(bytes_of(list));
        partial.finish(bytes_of_mut(&mut out));
        out[0].to_bits()
    };
    assert_eq!(of(Reduction::Sum, &[]), 0.0_f32.to_bits());
    assert_eq!(of(Reduction::Prod, &[]), 1.0_f32.to_bits());
    assert_eq!(of(Reduction::Sum, &[-0.0; 3]), (-0.0_f32).to_bits());
    let nan = f32::from_bits(0xffc1_2345);
    for reduction in [Reduction::Sum, Reduction::Prod, Reduction::Max, Reduction::Min] {
        assert_eq!(of(reduction, &[1.0, nan, 2.0]), 0x7fc0_0000, "{reduction}");
    }
    assert_eq!(of(Reduction::Sum, &[f32::INFINITY, f32::NEG_INFINITY]), 0x7fc0_0000);
    for n in [2, 100, 5000] {
        let mut zeros = vec![-0.0_f32; n];
        assert_eq!((of(Reduction::Max, &zeros), of(Reduction::Min, &zeros)), (0x8000_0000, 0x8000_0000));
        zeros[n / 2] = 0.0;
        assert_eq!((of(Reduction::Max, &zeros), of(Reduction::Min, &zeros)), (0, 0x8000_0000));
        zeros[n - 1] = nan;
        assert_eq!((of(Reduction::Max, &zeros), of(Reduction::Min, &zeros)), (0x7fc0_0000, 0x7fc0_0000));
    }
}

/// Tests minimum and maximum of ranges of pages with one special element, at each position.
fn check_special<T: Sample>(n: usize, common: T::Store, special: T::Store) {
    let of = |list: &[T::Store]| {
        [Reduction::Max, Reduction::Min].map(|reduction| {
            let mut partial = Partial::new(reduction, T::DTYPE, 1, 0).expect("a partial");
            partial.push(bytes_of(list));
            let mut out = [T::Store::default()];
            partial.finish(bytes_of_mut(&mut out));
            T::bits(out[0])
        })
    };
    let mut list: Vec<T::Store> = vec![common; n];
    let op = |reduction| T::load(T::op(reduction, common, special)).canonical().to_bits64();
    let expected = [Reduction::Max, Reduction::Min].map(op);
    for at in 0..n {
        let before = std::mem::replace(&mut list[at], special);
        assert_eq!(of(&list), expected, "{:#x} at {at} of {n} {}", T::bits(special), T::DTYPE);
        list[at] = before;
    }
}

#[test]
fn one_element_of_many_is_seen() {
    let infinite = f64::INFINITY;
    let cases =
        [(1.0, f64::NAN), (-0.0, 0.0), (0.0, -0.0), (1.0, infinite), (-infinite, infinite), (1.0, 2.0)];
    for (common, special) in cases {
        for n in [513, 1024 + 130] {
            check_special::<f16>(n, f16::from_f64(common), f16::from_f64(special));
            check_special::<f32>(n, common as f32, special as f32);
            check_special::<f64>(n, common, special);
        }
    }
}

/// Any byte but 0 is true, at each position.
#[test]
fn one_byte_of_many_is_seen() {
    let of = |reduction, list: &[u8]| {
        let (mut partial, mut out) = (Partial::new(reduction, DType::Bool, 1, 0).expect("a partial"), [7]);
        partial.push(list);
        partial.finish(&mut out);
        out[0]
    };
    for n in [513, 1024 + 130] {
        let mut truths: Vec<u8> = (0..n).map(|i| 1 << (i % 8)).collect();
        let mut zeros = vec![0; n];
        assert_eq!((of(Reduction::All, &truths), of(Reduction::Any, &zeros)), (1, 0), "{n}");
        for at in 0..n {
            let truth = std::mem::replace(&mut truths[at], 0);
            zeros[at] = truth;
            assert_eq!((of(Reduction::All, &truths), of(Reduction::Any, &zeros)), (0, 1), "{at} of {n}");
            (truths[at], zeros[at]) = (truth, 0);
        }
    }
}

#[test]
fn what_does_not_follow_is_refused() {
    let new = |dtype, width, start| Partial::new(Reduction::Sum, dtype, width, start).expect("a partial");
    let refused = |later| new(DType::Float32, 2, 5).append(later).is_err();
    assert!(refused(new(DType::Float64, 2, 5)) && refused(new(DType::Float32, 3, 5)));
    assert!(refused(new(DType::Float32, 2, 4)) && !refused(new(DType::Float32, 2, 5)));
    assert!(Partial::new(Reduction::Sum, DType::Int8, 1, 0).is_err());
    assert!(Partial::new(Reduction::Any, DType::Float32, 1, 0).is_err());
    assert!(Partial::new(Reduction::Max, DType::Bool, 1, 0).is_err());
    assert!(Partial::new(Reduction::Sum, DType::Float32, usize::MAX / 4, 0).is_err());
}

#[test]
fn what_is_before_a_run_counts_as_absent() {
    let numbers = &mut Lcg(5);
    for _ in 0..300 {
        let (start, n) = (numbers.below(700), 1 + numbers.below(400));
        let list: Vec<f64> = (0..n).map(|_| f64::sample(numbers)).collect();
        let mut partial = Partial::new(Reduction::Sum, DType::Float64, 1, start as u64).expect("a partial");
        partial.push(bytes_of(&list));
        let mut out = [0.0_f64];
        partial.finish(bytes_of_mut(&mut out));
        let padded: Vec<f64> = std::iter::repeat_n(-0.0, start).chain(list).collect();
        assert_eq!(out[0].to_bits(), reduced::<f64>(Reduction::Sum, &padded), "{n} from {start}");
    }
}

/// Computes a scan by its definition: merges the totals of the blocks whose sizes are the binary digits of i, and then
/// element i.
fn scanned<T: Sample>(scan: Scan, list: &[T::Store]) -> Vec<u64> {
    let reduction = if scan == Scan::Sum { Reduction::Sum } else { Reduction::Prod };
    let op = |a, b| T::op(reduction, a, b);
    let element = |i: usize| {
        let (mut at, mut result) = (0, None);
        for size in (0..usize::BITS).rev().map(|digit| 1_usize << digit).filter(|size| i & size != 0) {
            let total = pairwise(list[at..at + size].to_vec(), op);
            (at, result) = (at + size, Some(result.map_or(total, |so_far| op(so_far, total))));
        }
        T::load(result.map_or(list[i], |so_far| op(so_far, list[i]))).canonical().to_bits64()
    };
    (0..list.len()).map(element).collect()
}

fn check_scan<T: Sample>(scan: Scan) {
    let numbers = &mut Lcg(9 + T::DTYPE as u64);
    for case in 0..60 {
        let width = if case % 2 == 0 { 1 } else { 1 + numbers.below(40) };
        let most = [5, 40, 300, 1500][numbers.below(4)];
        let n = numbers.below(most);
        let list: Vec<T::Store> = (0..n * width).map(|_| T::sample(numbers)).collect();
        let mut expected = vec![0; n * width];
        for j in 0..width {
            let column: Vec<T::Store> = list.iter().skip(j).step_by(width).copied().collect();
            for (i, bits) in scanned::<T>(scan, &column).into_iter().enumerate() {
                expected[i * width + j] = bits;
            }
        }
        let mut out = list.clone();
        let mut state = ScanState::new(scan, T::DTYPE, width).expect("a scan");
        let (mut at, pieces) = (0, [1, 7, 90, 2000][numbers.below(4)]);
        while at < n {
            let to = (at + 1 + numbers.below(pieces)).min(n);
            let range = at * width..to * width;
            if numbers.below(2) == 0 {
                state.push_in_place(bytes_of_mut(&mut out[range]));
            } else {
                state.push(bytes_of(&list[range.clone()]), bytes_of_mut(&mut out[range]));
            }
            at = to;
        }
        assert_eq!(bits::<T>(&out), expected, "{scan} of {} [{n}][{width}]", T::DTYPE);

        // Begins a scan at every block, given the total of the blocks before it.
        let level = numbers.below(9);
        let block = width << level;
        for blocks in 0..=n >> level {
            let mut rest = list[blocks * block..].to_vec();
            let mut part = ScanState::new(scan, T::DTYPE, width).expect("a scan");
            list.chunks_exact(block).take(blocks).for_each(|before| {
                let mut of_block = ScanState::new(scan, T::DTYPE, width).expect("a scan");
                of_block.push_in_place(bytes_of_mut(&mut before.to_vec()));
                part.push_total(level as u8, of_block.total().expect("a block"));
            });
            part.push_in_place(bytes_of_mut(&mut rest));
            let what = format!("{scan} of {} [{n}][{width}] after {blocks} of 2^{level}", T::DTYPE);
            assert_eq!(bits::<T>(&rest), expected[blocks * block..], "{what}");
        }
    }
}

/// Runs of every length that ends within a block, after it, and at it, each scanned from its first element.
fn check_runs<T: Sample>(scan: Scan) {
    let numbers = &mut Lcg(90 + T::DTYPE as u64);
    let mut state = ScanState::new(scan, T::DTYPE, 1).expect("a scan");
    for n in (1..=40).chain([63, 100, 255, 256, 257, 300, 511, 512, 1000, 1111]) {
        let list: Vec<T::Store> = (0..5 * n).map(|_| T::sample(numbers)).collect();
        let expected: Vec<u64> = list.chunks_exact(n).flat_map(|run| scanned::<T>(scan, run)).collect();
        let mut out = list;
        state.scan_each(n, bytes_of_mut(&mut out));
        assert_eq!(bits::<T>(&out), expected, "{scan} of 5 runs of {n} {}", T::DTYPE);
    }
}

#[test]
fn scans() {
    for scan in [Scan::Sum, Scan::Prod] {
        check_scan::<f32>(scan);
        check_scan::<f64>(scan);
        check_scan::<i64>(scan);
        check_scan::<u64>(scan);
        check_runs::<f32>(scan);
        check_runs::<f64>(scan);
        check_runs::<i64>(scan);
    }
}
