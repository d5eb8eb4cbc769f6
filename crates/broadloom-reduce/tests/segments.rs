//! Compares reductions by label bit for bit with the recursive definition of the canonical order, applied to the elements of each
//! label in turn.

use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom_ir::{DType, Reduction};
use broadloom_math::{Elem, f16};
use broadloom_mem::{bytes_of, bytes_of_mut};
use broadloom_reduce::{
    LabelledRows, Labels, SegmentError, count_in_bins, count_segments, reduce_segments, segment_words,
};
use broadloom_sort::{Alone, Stopped, Workers};

/// Threads of std.
struct StdThreads(usize);

impl Workers for StdThreads {
    fn threads(&self) -> usize {
        self.0
    }

    fn share(&self, threads: usize, work: &(dyn Fn() + Sync)) -> Result<(), Stopped> {
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        Ok(())
    }

    fn go_on(&self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// The definition: the elements of each of 16 lanes in adjacent pairs, level by level, then the lanes.
fn canonical<T: Copy>(elements: &[T], op: &impl Fn(T, T) -> T) -> Option<T> {
    let lane = |lane: usize| pairwise(elements.iter().skip(lane).step_by(16).copied().collect(), op);
    pairwise((0..16).filter_map(lane).collect(), op)
}

fn pairwise<T: Copy>(mut elements: Vec<T>, op: &impl Fn(T, T) -> T) -> Option<T> {
    while elements.len() > 1 {
        elements = elements.chunks(2).map(|pair| pair[1..].iter().fold(pair[0], |a, b| op(a, *b))).collect();
    }
    elements.first().copied()
}

/// Pseudorandom numbers, the same in each run.
struct Pseudorandom(u64);

impl Pseudorandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ self.0 >> 29) >> 8
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }
}

/// The ways in which labels are ordered: at random, in runs of up to some length, or sorted.
#[derive(Clone, Copy, Debug)]
enum LabelOrder {
    Random,
    Runs(usize),
    Sorted,
}

fn labels(n: usize, segments: usize, order: LabelOrder) -> Vec<i64> {
    let mut numbers = Pseudorandom(n as u64 ^ segments as u64);
    // One segment in eight has no elements, and −1 occurs.
    let mut label = || match numbers.below(segments + 1) as i64 {
        label if label % 8 == 5 => -1,
        label => label.min(segments as i64 - 1),
    };
    let mut labels: Vec<i64> = (0..n).map(|_| label()).collect();
    match order {
        LabelOrder::Random => (),
        LabelOrder::Sorted => labels.sort_unstable(),
        LabelOrder::Runs(longest) => {
            let mut numbers = Pseudorandom(7);
            let mut at = 0;
            while at < n {
                let end = n.min(at + 1 + numbers.below(longest));
                let label = labels[at];
                labels[at..end].fill(label);
                at = end;
            }
        }
    }
    labels
}

/// Sizes for each way of reducing: streams of several blocks, sizes about those of blocks, many segments in buckets, and a
/// segment with nearly all elements.
const CASES: [(usize, usize, LabelOrder); 15] = [
    (0, 3, LabelOrder::Random),
    (1, 1, LabelOrder::Random),
    (31, 1, LabelOrder::Random),
    (33, 1, LabelOrder::Random),
    (5_000, 3, LabelOrder::Random),
    (700_000, 10, LabelOrder::Random),
    (700_000, 10, LabelOrder::Runs(1000)),
    (700_000, 7, LabelOrder::Sorted),
    (600_000, 1000, LabelOrder::Random),
    (600_000, 1000, LabelOrder::Sorted),
    (600_000, 50_000, LabelOrder::Random),
    (600_000, 50_000, LabelOrder::Sorted),
    (600_000, 200_000, LabelOrder::Random),
    (600_000, 30_000, LabelOrder::Runs(70)),
    (900_000, 3_000, LabelOrder::Runs(200_000)),
];

fn check<T: Elem<Store = T>>(
    reduction: Reduction,
    nothing: T,
    sample: impl Fn(&mut Pseudorandom) -> T,
    op: impl Fn(T, T) -> T,
) {
    for (n, segments, order) in CASES {
        let labels = labels(n, segments, order);
        let mut numbers = Pseudorandom(n as u64 + 1);
        let elements: Vec<T> = (0..n).map(|_| sample(&mut numbers)).collect();
        let mut of: Vec<Vec<T>> = vec![Vec::new(); segments];
        for (&label, &x) in labels.iter().zip(&elements) {
            if let Some(of) = usize::try_from(label).ok().and_then(|label| of.get_mut(label)) {
                of.push(x);
            }
        }
        let result = |x: T| x.canonical().to_bits64();
        let expected: Vec<u64> = of.iter().map(|of| result(canonical(of, &op).unwrap_or(nothing))).collect();
        for threads in [1, 2, 5] {
            let as_labels = Labels::new(DType::Int64, bytes_of(&labels), segments).unwrap();
            let mut out = vec![T::default(); segments];
            let (from, to) = (bytes_of(&elements), bytes_of_mut(&mut out));
            // Memory of the caller, with any contents, or other memory.
            let words = segment_words(reduction, T::DTYPE, n, 1, segments);
            let mut memory = vec![u64::MAX; if threads == 2 { words } else { words / 2 }];
            let workers = StdThreads(threads);
            let done = reduce_segments(
                reduction,
                LabelledRows { dtype: T::DTYPE, elements: from, width: 1 },
                &as_labels,
                to,
                &mut memory,
                &workers,
            );
            assert!(done.is_ok(), "{done:?}");
            let got: Vec<u64> = out.iter().map(|x| x.to_bits64()).collect();
            let wrong = got.iter().zip(&expected).position(|(got, expected)| got != expected);
            assert_eq!(wrong, None, "{reduction} {} {n} {segments} {order:?} {threads}", T::DTYPE);
        }
    }
}

/// Values of many magnitudes, with zeros of either sign.
fn float(numbers: &mut Pseudorandom) -> f64 {
    match numbers.below(50) {
        0 => -0.0,
        1 => 0.0,
        _ => (numbers.below(2_000_001) as f64 - 1e6) * 10_f64.powi(numbers.below(12) as i32 - 6),
    }
}

#[test]
fn sums_of_floats() {
    check(Reduction::Sum, 0.0, float, |a: f64, b| a + b);
    check(Reduction::Sum, 0.0, |numbers| float(numbers) as f32, |a: f32, b| a + b);
}

#[test]
fn products_of_floats() {
    check(Reduction::Prod, 1.0, |numbers| 0.5 + numbers.below(1000) as f64 / 999.0, |a: f64, b| a * b);
    check(Reduction::Prod, 1.0, |numbers| 0.5 + numbers.below(1000) as f32 / 999.0, |a: f32, b| a * b);
}

#[test]
fn sums_and_products_of_integers() {
    check(Reduction::Sum, 0, |numbers| (numbers.next() << 8) as i64, i64::wrapping_add);
    check(Reduction::Prod, 1, |numbers| numbers.next() | 1, u64::wrapping_mul);
}

#[test]
fn extremes() {
    let some =
        |numbers: &mut Pseudorandom| if numbers.below(100_000) == 0 { f64::NAN } else { float(numbers) };
    let key = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
    // The larger in the total order of numbers, where NaN is the greatest for a maximum.
    let max =
        |a: f64, b: f64| if a.is_nan() || key(a).total_cmp(&key(b)).is_ge() && !b.is_nan() { a } else { b };
    let min = |a: f64, b: f64| -max(-a, -b);
    check(Reduction::Max, f64::NEG_INFINITY, some, max);
    check(Reduction::Min, f64::INFINITY, some, min);
    check(Reduction::Max, i8::MIN, |numbers| numbers.next() as i8, i8::max);
    check(Reduction::Min, u16::MAX, |numbers| numbers.next() as u16, u16::min);
    let half = |numbers: &mut Pseudorandom| f16::from_f32(float(numbers) as f32);
    let of = |x: f16| f64::from(x.to_f32());
    check(Reduction::Max, f16::NEG_INFINITY, half, |a, b| {
        if max(of(a), of(b)).to_bits() == of(a).to_bits() { a } else { b }
    });
}

/// A NaN in one segment stays there, and has the bits of a computed NaN.
#[test]
fn nans() {
    let nan = f64::from_bits(0xfff8_0000_0000_1234);
    for segments in [3, 3000] {
        let (elements, labels) = ([1.0, nan, 2.0, f64::INFINITY, f64::NEG_INFINITY], [0_i8, 1, 0, 2, 2]);
        let labels = Labels::new(DType::Int8, bytes_of(&labels), segments).unwrap();
        let mut out = vec![9.0_f64; segments];
        let (from, to) = (bytes_of(&elements), bytes_of_mut(&mut out));
        reduce_segments(
            Reduction::Sum,
            LabelledRows { dtype: DType::Float64, elements: from, width: 1 },
            &labels,
            to,
            &mut [],
            &Alone,
        )
        .unwrap();
        let bits: Vec<u64> = out.iter().take(3).map(|x| x.to_bits()).collect();
        let canonical = 0x7ff8_0000_0000_0000;
        assert_eq!(bits, [3_f64.to_bits(), canonical, canonical]);
    }
}

/// Rows of several elements: each column is a reduction of its own.
#[test]
fn columns() {
    let (n, width) = (3_000, 3);
    for (segments, order) in [
        (1, LabelOrder::Random),
        (40, LabelOrder::Random),
        (40, LabelOrder::Sorted),
        (5_000, LabelOrder::Runs(90)),
    ] {
        let labels = labels(n, segments, order);
        let mut numbers = Pseudorandom(5);
        let elements: Vec<f32> = (0..n * width).map(|_| float(&mut numbers) as f32).collect();
        let of = |segment: usize, column: usize| {
            let rows = (0..n).filter(|&row| labels[row] == segment as i64);
            let column: Vec<f32> = rows.map(|row| elements[row * width + column]).collect();
            canonical(&column, &|a, b| a + b).unwrap_or(0.0).to_bits()
        };
        let expected: Vec<u32> = (0..segments * width).map(|at| of(at / width, at % width)).collect();
        for threads in [1, 3] {
            let as_labels = Labels::new(DType::Int64, bytes_of(&labels), segments).unwrap();
            let mut out = vec![9.0_f32; segments * width];
            let (from, to) = (bytes_of(&elements), bytes_of_mut(&mut out));
            reduce_segments(
                Reduction::Sum,
                LabelledRows { dtype: DType::Float32, elements: from, width },
                &as_labels,
                to,
                &mut [],
                &StdThreads(threads),
            )
            .unwrap();
            assert!(out.iter().map(|x| x.to_bits()).eq(expected.iter().copied()), "{segments} {threads}");
        }
    }
}

/// Labels of every dtype; the error names the first label that is out of range.
#[test]
fn labels_out_of_range() {
    fn first<T: Elem>(labels: &[T], segments: usize) -> Option<usize> {
        let as_labels = Labels::new(T::DTYPE, bytes_of(labels), segments).unwrap();
        let mut counts = vec![0; segments];
        match count_segments(&as_labels, &mut counts, &StdThreads(3)) {
            Ok(()) => None,
            Err(SegmentError::Label(index)) => Some(index),
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(first(&[0_i8, -1, 3, -2, 4], 4), Some(3));
    assert_eq!(first(&[0_u8, 255, 3], 256), None);
    assert_eq!(first(&[0_u8, 255, 3], 255), Some(1));
    assert_eq!(first(&[i16::MIN], 4), Some(0));
    assert_eq!(first(&[0_u16, u16::MAX], 4), Some(1));
    assert_eq!(first(&[0_i32, 4], 4), Some(1));
    assert_eq!(first(&[0_u32, u32::MAX], 4), Some(1));
    assert_eq!(first(&[-1_i64, i64::MIN], 4), Some(1));
    assert_eq!(first(&[1_i64 << 32], 4), Some(0));
    assert_eq!(first(&[3_u64, u64::MAX], 4), Some(1));
    assert_eq!(first(&[-1_i64, -1], 0), None);
    assert_eq!(first(&[-1_i64, 0], 0), Some(1));
    let mut many = vec![0_i32; 2_000_000];
    (many[1_999_999], many[1_234_567]) = (9, -7);
    assert_eq!(first(&many, 9), Some(1_234_567));
    assert!(Labels::new(DType::Float32, &[], 1).is_err());
    assert!(Labels::new(DType::Int8, &[], u32::MAX as usize).is_err());
    // The same in reductions, in each way of reducing.
    for (n, segments) in [(100_000, 10), (100_000, 50_000)] {
        let mut labels = vec![0_i64; n];
        labels[77_777] = segments as i64;
        let as_labels = Labels::new(DType::Int64, bytes_of(&labels), segments).unwrap();
        for width in [1, 2] {
            let (elements, mut out) = (vec![1.0_f64; n * width], vec![0.0_f64; segments * width]);
            let (from, to) = (bytes_of(&elements), bytes_of_mut(&mut out));
            let done = reduce_segments(
                Reduction::Sum,
                LabelledRows { dtype: DType::Float64, elements: from, width },
                &as_labels,
                to,
                &mut [],
                &Alone,
            );
            assert!(matches!(done, Err(SegmentError::Label(77_777))), "{done:?}");
        }
    }
}

/// Workers that stop after some questions.
struct Patient(AtomicUsize);

impl Workers for Patient {
    fn threads(&self) -> usize {
        1
    }

    fn share(&self, _: usize, work: &(dyn Fn() + Sync)) -> Result<(), Stopped> {
        work();
        Ok(())
    }

    fn go_on(&self) -> Result<(), Stopped> {
        match self.0.fetch_sub(1, Ordering::Relaxed) {
            0 | usize::MAX => Err(Stopped::ByWorkers),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_reduction_is_stopped_between_parts() {
    let n = 2_000_000;
    for (segments, order) in
        [(10, LabelOrder::Random), (30_000, LabelOrder::Random), (1200, LabelOrder::Sorted)]
    {
        let (labels, elements) = (labels(n, segments, order), vec![1.0_f32; n]);
        let as_labels = Labels::new(DType::Int64, bytes_of(&labels), segments).unwrap();
        let mut out = vec![0.0_f32; segments];
        for patience in 0..8 {
            let (workers, to) = (Patient(AtomicUsize::new(patience)), bytes_of_mut(&mut out));
            let from = bytes_of(&elements);
            let done = reduce_segments(
                Reduction::Sum,
                LabelledRows { dtype: DType::Float32, elements: from, width: 1 },
                &as_labels,
                to,
                &mut [],
                &workers,
            );
            assert!(matches!(done, Err(SegmentError::Stopped(Stopped::ByWorkers))), "{segments} {patience}");
        }
    }
}

#[test]
fn elements_are_counted_in_bins() {
    fn check<T: Elem<Store = T> + PartialOrd>(elements: &[T], edges: &[T]) {
        let bins = edges.len() - 1;
        let is_in = |x: T, bin: usize| {
            x >= edges[bin] && (x < edges[bin + 1] || bin + 1 == bins && x == edges[bin + 1])
        };
        let count = |bin| elements.iter().filter(|&&x| is_in(x, bin)).count() as i64;
        let expected: Vec<i64> = (0..bins).map(count).collect();
        for threads in [1, 3] {
            let mut out = vec![7; bins];
            count_in_bins(T::DTYPE, bytes_of(elements), bytes_of(edges), &mut out, &StdThreads(threads))
                .unwrap();
            assert_eq!(out, expected, "{edges:?}");
        }
    }
    let mut numbers = Pseudorandom(3);
    let mut floats: Vec<f32> = (0..30_000).map(|_| numbers.below(1 << 20) as f32 / 1e6 - 0.02).collect();
    let even: Vec<f32> = (0..=100).map(|i| i as f32 / 100.0).collect();
    floats.extend(&even);
    floats.extend(even.iter().map(|x| x.next_down()));
    floats.extend([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0]);
    check(&floats, &even);
    // Steps of 2^-10 are exact, and each multiple of them is an edge.
    let exact: Vec<f32> = (0..=2000).map(|i| i as f32 / 1024.0).collect();
    check(&exact, &exact[..1025]);
    // Positions of edges are up to a bin off, or just right but for one edge.
    let squares: Vec<f32> = (0..=100).map(|i| (i * i) as f32 / 10_000.0).collect();
    check(&floats, &squares);
    for off in [1e-5, 1e-4, 2e-4] {
        let nearly: Vec<f32> =
            even.iter().enumerate().map(|(i, x)| if i == 37 { x + off } else { *x }).collect();
        check(&floats, &nearly);
    }
    check(&floats, &[0.1, 0.1, 0.15, 0.9, 0.9]);
    check(&floats, &[0.5, 0.5]);
    check(&floats, &[f32::NEG_INFINITY, 0.0, f32::INFINITY]);
    check(&floats, &[0.5]);
    let doubles: Vec<f64> = floats.iter().map(|&x| f64::from(x)).collect();
    check(&doubles, &[-f64::MAX, 0.25, f64::MAX]);
    let wide: Vec<i64> = (0..1000).map(|i| i64::MIN / 2 + i).chain([i64::MAX, i64::MIN]).collect();
    check(&wide, &[i64::MIN / 2, i64::MIN / 2 + 500, i64::MIN / 2 + 501, i64::MAX]);
    check(&[0, 1 << 63, u64::MAX, u64::MAX - 1], &[1 << 63, u64::MAX - 1, u64::MAX]);
}
