//! Searches for the pairs in `near_one.txt`.
//!
//! Within a window of consecutive a, b = ln(1 − e^a) is almost linear. The arguments whose b is closest to a float64 therefore
//! follow from the slope modulo 1 by Euclid's algorithm, which takes some microseconds for a window of 2^20 numbers. This command
//! regenerates the list in five minutes on one core:
//!
//! `BROADLOOM_WINDOWS=16000000 BROADLOOM_BLESS=1 cargo test -p broadloom-testkit --lib near_one`

use crate::reference::elementary;
use crate::reference::wide::WideFloat;
use crate::rng::Rng;

/// The binary exponents of b. Pairs with a subnormal a, which occur for the last exponent, are left out.
pub const BINADES: std::ops::RangeInclusive<i32> = -1..=9;

/// Two arguments of logaddexp, `a` above `b`, whose exponentials sum to nearly 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The larger argument.
    pub a: f64,
    /// The smaller argument, the float64 closest to ln(1 − e^a).
    pub b: f64,
    /// The distance of `b` from ln(1 − e^a). The sum of the exponentials differs from 1 by about e^b times this.
    pub distance: f64,
}

/// The `keep` closest pairs from random windows with 2^`binade` ≤ |b| < 2^(`binade` + 1), closest first, and the number of
/// arguments a in these windows.
pub fn search(binade: i32, windows: usize, keep: usize, seed: u64) -> (Vec<Pair>, u64) {
    let mut rng = Rng::new(seed ^ (binade as u64) << 32);
    let (mut found, mut searched) = (Vec::<Pair>::new(), 0);
    let mut limit = f64::INFINITY;
    for _ in 0..windows {
        let fraction = (rng.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let b = (1.0 + fraction) * 2_f64.powi(binade);
        let Some(window) = Window::around(b, binade) else { continue };
        searched += 2 * window.reach as u64 + 1;
        window.visit(limit, |pair| found.push(pair));
        if found.len() > 4 * keep {
            limit = nearest(&mut found, keep);
        }
    }
    nearest(&mut found, keep);
    (found, searched)
}

/// Keeps the closest pairs, and returns the distance of the last one.
fn nearest(pairs: &mut Vec<Pair>, keep: usize) -> f64 {
    pairs.sort_by(|x, y| x.distance.total_cmp(&y.distance));
    pairs.dedup_by_key(|pair| pair.a);
    pairs.truncate(keep);
    pairs.last().map_or(f64::INFINITY, |pair| pair.distance)
}

/// A window of consecutive numbers u = −a with the same exponent, for which the values |b| = −ln(1 − e^−u) have the same exponent
/// too.
struct Window {
    /// The middle of the window.
    u: f64,
    /// The number of arguments on either side of the middle.
    reach: i64,
    /// The exponent of an ulp of b.
    ulp: i32,
    /// The terms of |b|, in ulps, as a function of the distance j from the middle: `start` is the constant and `slope` the
    /// negated linear coefficient, both modulo 1 in units of 2^−128; `square` is the quadratic coefficient.
    start: u128,
    slope: u128,
    square: f64,
}

/// |b|, the magnitude of ln(1 − e^−u).
fn other(u: f64) -> WideFloat {
    elementary::log(-elementary::expm1(-WideFloat::from_f64(u))).abs()
}

/// The magnitude modulo 1, in units of 2^−128.
fn fraction(x: WideFloat) -> u128 {
    let (_, significand, exponent) = x.parts(126);
    match exponent + 128 {
        up @ 0..128 => significand << up,
        down @ -127..0 => significand >> -down,
        _ => 0,
    }
}

impl Window {
    /// The window around the u for a value of |b|. `None` if it would cross the end of a binade.
    fn around(b: f64, binade: i32) -> Option<Window> {
        let u = -(-(-b).exp()).ln_1p();
        // Limits the quadratic term, about 2^(−54 − binade)·j², to the distance of the closest pair expected in a window.
        let reach = 1_i64 << (18 + binade.max(0) / 3);
        let ulp = binade - 52;
        let ends = [-reach, reach].map(|by| u.to_bits().saturating_add_signed(by));
        let is_within = |bits: u64| {
            let b = other(f64::from_bits(bits)).to_f64();
            bits >> 52 == u.to_bits() >> 52 && (b.to_bits() >> 52) as i32 - 1023 == binade
        };
        if !(f64::MIN_POSITIVE..=std::f64::consts::LN_2).contains(&u) || !ends.into_iter().all(is_within) {
            return None;
        }
        // |b|' = −1/(e^u − 1), |b|'' = e^u/(e^u − 1)².
        let step = (u.to_bits() >> 52) as i32 - 1075;
        let slope = WideFloat::ONE / elementary::expm1(u.into());
        let in_ulps = slope.scale(step - ulp).to_f64();
        Some(Window {
            u,
            reach,
            ulp,
            start: fraction(other(u).scale(-ulp)),
            slope: fraction(slope.scale(step - ulp)),
            square: 0.5 * u.exp() * in_ulps * in_ulps * 2_f64.powi(ulp),
        })
    }

    /// Visits all pairs of the window that are closer than `limit`, and some others.
    fn visit(&self, limit: f64, mut visit: impl FnMut(Pair)) {
        const BITS: u32 = 63;
        const MASK: u64 = (1 << BITS) - 1;
        let high = |x: u128| (x >> (128 - BITS)) as u64;
        let tolerance = (1 << BITS) / self.reach as u64;
        let mut j = -self.reach;
        loop {
            // b = start − slope·j modulo 1; finds the next j for which b is within the tolerance.
            let at = high(self.start.wrapping_sub(self.slope.wrapping_mul(j as i128 as u128)));
            let (low, top) = (0_u64.wrapping_sub(tolerance + at) & MASK, tolerance.wrapping_sub(at) & MASK);
            let more =
                if low > top { Some(0) } else { first(high(self.slope.wrapping_neg()), 1 << BITS, low, top) };
            let Some(more) = more.and_then(|more| i64::try_from(more).ok()) else { return };
            j = j.saturating_add(more);
            if j > self.reach {
                return;
            }
            let linear = self.start.wrapping_sub(self.slope.wrapping_mul(j as i128 as u128)) as i128;
            let left = linear as f64 / 2_f64.powi(128) + self.square * (j * j) as f64;
            if left.abs() * 2_f64.powi(self.ulp) < limit {
                visit(self.pair(j));
            }
            j += 1;
        }
    }

    /// The pair for the j-th u from the middle, with the float64 closest to its b.
    fn pair(&self, j: i64) -> Pair {
        let u = f64::from_bits(self.u.to_bits().wrapping_add_signed(j));
        let exact = other(u);
        let below = exact.to_f64();
        let distance = |b: f64| (exact - b.into()).abs().to_f64();
        let b = if distance(below) < distance(below.next_up()) { below } else { below.next_up() };
        Pair { a: -u, b: -b, distance: distance(b) }
    }
}

/// The smallest x with `low` ≤ `step` · x mod `modulus` ≤ `high`, if there is one, for 0 < `low` and `step` < `modulus` ≤ 2^63.
fn first(step: u64, modulus: u64, low: u64, high: u64) -> Option<u64> {
    if low == 0 {
        return Some(0);
    }
    if step == 0 {
        return None;
    }
    let x = low.div_ceil(step);
    if u128::from(x) * u128::from(step) <= u128::from(high) {
        return Some(x);
    }
    // No multiple of the step lies between the bounds, so reducing both bounds modulo the step keeps their distance. Each level
    // of the recursion is a step of Euclid's algorithm.
    let around = |x: u64| (step - x % step) % step;
    let y = first(modulus % step, step, around(high), around(low))?;
    let least = u128::from(low) + u128::from(modulus) * u128::from(y);
    u64::try_from(least.div_ceil(u128::from(step))).ok()
}

#[cfg(test)]
mod tests {
    use super::super::nearest_to_one;
    use super::*;
    use crate::reference::{FloatFormat, Function, Judgement, judge_precisely};
    use broadloom_math::{Binary, Scalar, functions::LogAddExp};

    fn logaddexp(a: f64, b: f64) -> f64 {
        <LogAddExp as Binary<f64>>::call(&mut Scalar, a, b)
    }

    /// The error of a result in ulps, and whether the result is the nearest number, by the precise reference.
    fn error(a: f64, b: f64, got: f64) -> (f64, bool) {
        match judge_precisely(Function::LogAddExp, FloatFormat::FLOAT64, a, b, got) {
            Judgement::Off { ulps, nearest } => (ulps, nearest),
            Judgement::Wrong => (f64::INFINITY, false),
        }
    }

    #[test]
    fn the_first_multiple_is_the_first() {
        let mut rng = Rng::new(1);
        for _ in 0..20_000 {
            let modulus = 1 + rng.next() % 300;
            let (step, high) = (rng.next() % modulus, rng.next() % modulus);
            let low = rng.next() % (high + 1);
            let want = (0..modulus).find(|x| (low..=high).contains(&(step * x % modulus)));
            assert_eq!(first(step, modulus, low, high), want, "{step} {modulus} {low} {high}");
        }
    }

    /// Compares the search of a window with all of its numbers: none is closer than the closest one found.
    #[test]
    fn a_window_has_no_nearer_pair() {
        for (binade, b) in [(0, 1.3), (4, 20.1), (9, 601.7)] {
            let mut window = Window::around(b, binade).expect("inside of the binade");
            window.reach = 2000;
            let mut found = Vec::new();
            window.visit(f64::INFINITY, |pair| found.push(pair));
            nearest(&mut found, 1);
            let mut every: Vec<Pair> = (-2000..=2000).map(|j| window.pair(j)).collect();
            nearest(&mut every, 1);
            assert_eq!(found, every, "{binade}");
        }
    }

    fn variable(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// The results of logaddexp are correct for the pairs that a search finds (`BROADLOOM_WINDOWS` sets its
    /// length).
    #[test]
    fn logaddexp_is_below_an_ulp_at_the_pairs_of_a_search() {
        let windows = variable("BROADLOOM_WINDOWS").map_or(60, |n| n.parse().expect("a number"));
        let found: Vec<_> = std::thread::scope(|scope| {
            let binades = BINADES.map(|binade| (binade, scope.spawn(move || search(binade, windows, 12, 7))));
            let threads: Vec<_> = binades.collect();
            threads.into_iter().map(|(binade, thread)| (binade, thread.join().expect("an end"))).collect()
        });
        let mut list = String::new();
        for (binade, (pairs, searched)) in found {
            assert!(searched > 1 << 20, "{binade}: {searched}");
            list += &format!("# 2^{binade} <= |x2|: of 2^{:.1} pairs\n", (searched as f64).log2());
            for Pair { a, b, distance } in pairs {
                // The closest of so many random numbers is, with high probability, closer than this.
                assert!(distance < 2_f64.powi(binade - 52 - 15), "{a:e}, {b:e}: {distance:e}");
                let got = logaddexp(a, b);
                let (ulps, _) = error(a, b, got);
                assert!(ulps < 0.51, "logaddexp({a:e}, {b:e}): {ulps} ulps");
                let mut nearest =
                    [got, got.next_up(), got.next_down()].into_iter().filter(|&y| error(a, b, y).1);
                let nearest = nearest.next().expect("a result").to_bits();
                list += &format!("{:016x} {:016x} {nearest:016x}\n", a.to_bits(), b.to_bits());
            }
        }
        // The pairs of a shorter search are not near enough for the test below.
        if variable("BROADLOOM_BLESS").and(variable("BROADLOOM_WINDOWS")).is_some() {
            let head = "# x1, x2 and the float64 nearest to logaddexp(x1, x2); made by near_one/search.rs.\n";
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/reference/near_one.txt");
            std::fs::write(path, format!("{head}{list}")).expect("the list is written");
        }
    }

    /// Tests that the list states the nearest results for its pairs, and that results of adjacent floats have errors below an
    /// ulp.
    #[test]
    fn logaddexp_is_below_an_ulp_at_the_nearest_pairs() {
        let pairs = nearest_to_one();
        assert!(pairs.len() >= 100, "{}", pairs.len());
        for [a, b, value] in pairs {
            // The value must be small, and 0 if its magnitude is less than any number.
            let distance = 2_f64.powi(-90) * b.abs();
            assert!(value.abs() <= distance * b.exp(), "logaddexp({a:e}, {b:e}) = {value:e}");
            assert!(error(a, b, value).1, "logaddexp({a:e}, {b:e}) = {value:e}");
            assert_eq!(logaddexp(a, b).to_bits(), value.to_bits(), "logaddexp({a:e}, {b:e})");
            for (a, b) in [(a.next_up(), b), (a.next_down(), b), (a, b.next_up()), (a, b.next_down())] {
                let (ulps, _) = error(a, b, logaddexp(a, b));
                assert!(ulps < 0.51, "logaddexp({a:e}, {b:e}): {ulps} ulps");
            }
        }
    }
}
