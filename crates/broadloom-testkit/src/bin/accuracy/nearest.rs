//! Verifies functions that return the nearest float32. For each result, the cheapest criterion that applies proves that it is
//! the nearest; the last criterion is the exact reference.
//!
//! The proof in `docs/nearest.md` relies on a run over all 2^32 arguments, which must therefore be fast enough to be repeated.
//! The reference judges the results that no other criterion decides, and a sample of the others.

use broadloom_testkit::reference::{Function, Symmetry, judge};

use crate::executor::Executor;
use crate::filter::Filter;
use crate::leaders::Case;
use crate::measure::{AUDIT, FunctionRun, Tally};
use crate::points::PointBlock;

impl FunctionRun {
    /// Verifies a block of results, and counts those that are not the nearest float32.
    pub fn verify(
        &self,
        block: &PointBlock,
        columns: &[Vec<f64>],
        results: &[f64],
        filter: Filter,
        executor: &mut Executor,
    ) -> Tally {
        let mut tally = Tally { points: (results.len() - block.overlap) as u64, ..Tally::default() };
        let arguments = &columns[0][..];
        self.count_breaks(block, arguments, results, &mut tally);
        if self.points.is_whole() && block.ordered && self.is_mirrored(arguments, results, executor) {
            return tally;
        }
        let uniform = block.ordered && self.is_uniform(arguments, results);
        for i in block.overlap..results.len() {
            let (x, got) = (arguments[i], results[i]);
            let settled = uniform || is_argument(self.function, x) && got == x || filter.confirms(x, got);
            if settled && i % (10 * AUDIT) != 0 {
                continue;
            }
            let judgement = judge(self.function, self.format, x, 0.0, got);
            let before = (tally.wrong, tally.not_nearest);
            tally.note([x, 0.0], got, judgement);
            tally.unsound += u64::from(settled && before != (tally.wrong, tally.not_nearest));
        }
        tally
    }

    fn count_breaks(&self, block: &PointBlock, arguments: &[f64], results: &[f64], tally: &mut Tally) {
        let Some(direction) = self.function.model().order.filter(|_| block.ordered) else { return };
        for i in block.overlap.max(1)..results.len() {
            if results[i].partial_cmp(&results[i - 1]) == Some(direction.reverse()) {
                tally.breaks += 1;
                tally.first_break.get_or_insert(Case { at: [arguments[i], 0.0], got: results[i], ulps: 0.0 });
            }
        }
    }

    /// Whether the results of an even or odd function for negative arguments follow, bit for bit, from its
    /// results for the positive arguments, which another block verifies.
    fn is_mirrored(&self, arguments: &[f64], results: &[f64], executor: &mut Executor) -> bool {
        let symmetry = self.function.model().symmetry;
        if symmetry == Symmetry::None || !arguments.iter().all(|x| x.is_sign_negative() && !x.is_nan()) {
            return false;
        }
        let mirrored: Vec<f64> = arguments.iter().map(|x| -x).collect();
        let mut others = Vec::new();
        executor.run(&[mirrored], &mut others);
        let follows = |got: f64, other: f64| match symmetry {
            Symmetry::Odd if !other.is_nan() => got.to_bits() == (-other).to_bits(),
            _ => got.to_bits() == other.to_bits(),
        };
        results.iter().zip(others).all(|(&got, other)| follows(got, other))
    }

    /// Whether all results of the block are equal, and the first and the last are the nearest number. The
    /// arguments are adjacent and have one sign. If the function is monotonic, or undefined for all of them,
    /// the results between the first and the last are then also the nearest number.
    fn is_uniform(&self, arguments: &[f64], results: &[f64]) -> bool {
        let (Some(first), Some(last)) = (results.first(), results.last()) else { return false };
        let [low, high] = [arguments[0], arguments[arguments.len() - 1]];
        let is_nearest = |x: f64| {
            let mut tally = Tally::default();
            tally.note([x, 0.0], *first, judge(self.function, self.format, x, 0.0, *first));
            (tally.wrong, tally.not_nearest) == (0, 0)
        };
        self.function.model().order.is_some()
            && low.is_sign_negative() == high.is_sign_negative()
            && first.to_bits() == last.to_bits()
            && results.iter().all(|got| got.to_bits() == first.to_bits())
            && arguments.iter().all(|x| x.is_nan() == low.is_nan())
            && is_nearest(low)
            && is_nearest(high)
    }
}

/// Whether the function differs from its argument by less than a quarter of an ulp of float32. The difference is at most x³/2 if
/// the series has no quadratic term, and x² otherwise.
fn is_argument(function: Function, x: f64) -> bool {
    use Function::*;
    match function {
        Asin | Asinh | Atan | Atanh | Sin | Sinh | Tan | Tanh => x.abs() < 2_f64.powi(-13),
        Expm1 | Log1p => x.abs() < 2_f64.powi(-26),
        _ => false,
    }
}
