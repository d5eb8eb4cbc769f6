//! Local search around the pairs with the largest errors of each kind.
//!
//! Random pairs rarely reach the maximum error, which requires an argument at which the approximation is worst and roundings
//! that all go in the same direction. The search measures pairs a few floats away from the worst pairs known, replaces them by
//! the worst pairs that it finds, and repeats, separately for each kind of pairs. Its result depends on the seed only, not on
//! the order in which threads take blocks.

use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{FloatFormat, Function};
use rayon::prelude::*;

use crate::executor::Executor;
use crate::filter::Filter;
use crate::format::{round, step, width};
use crate::leaders::{KEPT, Leaders};
use crate::measure::{Findings, FunctionRun};
use crate::points::PointBlock;

/// The number of rounds of the search.
const ROUNDS: u64 = 160;
/// The maximum number of pairs in a round.
const MOST: u64 = 1 << 14;

/// A pair near another one. One or both operands are moved by a number of floats, whose order of magnitude is uniformly
/// distributed. In a quarter of the cases, operands are first scaled by a power of two, changed in sign or swapped, depending on
/// the function.
fn beside(function: Function, format: FloatFormat, rng: &mut Rng, [x, y]: [f64; 2]) -> [f64; 2] {
    let stepped = |rng: &mut Rng, x: f64| {
        let reach = 1_u64 << rng.below(width(format) as usize - 3);
        let by = (rng.next() % (2 * reach + 1)) as i64 - reach as i64;
        step(format, x, by)
    };
    match rng.below(8) {
        0..2 => [stepped(rng, x), y],
        2..4 => [x, stepped(rng, y)],
        4..6 => [stepped(rng, x), stepped(rng, y)],
        _ => match function {
            // A pair is a point of the plane. It is scaled, and half of the time one coordinate is negated.
            Function::Atan2 | Function::Hypot => {
                let by = 2_f64.powi(rng.below(2 * format.precision as usize) as i32 - format.precision);
                let [x, y] = [x, y].map(|x| round(format, x * by));
                if rng.chance(1, 2) { [stepped(rng, x), y] } else { [x, stepped(rng, -y)] }
            }
            // The exponent is changed so that the result changes by a few binades.
            Function::Pow => [x, round(format, y + (rng.below(9) as f64 - 4.0) / x.abs().log2())],
            _ => [stepped(rng, y), stepped(rng, x)],
        },
    }
}

impl FunctionRun {
    /// Searches around the worst pairs of each kind, and adds the results to `found`.
    pub fn climb(
        &self,
        found: &mut Findings,
        filter: Option<Filter>,
        executor: impl Fn() -> Executor + Sync,
    ) {
        let kinds = self.points.kinds().len();
        let Some(searched) = kinds.checked_sub(1) else { return };
        // In float64, cancelling terms need the precise reference, which is slow.
        let cancelling_is_slow = self.format == FloatFormat::FLOAT64;
        let mut families = std::mem::take(&mut found.leaders);
        families.truncate(if cancelling_is_slow { kinds } else { kinds + 1 });
        let count = (self.points.count() / (4 * ROUNDS * families.len() as u64)).clamp(1, MOST);
        let searches = families.into_par_iter().enumerate().map(|(family, mut leaders)| {
            let mut executor = executor();
            let mut found = Findings::of(kinds);
            let (mut columns, mut results) = (vec![Vec::new(); 2], Vec::new());
            for round in 0..ROUNDS {
                if leaders.cases().is_empty() {
                    break;
                }
                let mut rng = self.points.rng(u64::MAX - (family as u64 * ROUNDS + round));
                columns.iter_mut().for_each(Vec::clear);
                for _ in 0..count {
                    let from = leaders.cases()[rng.below(leaders.cases().len())].at;
                    let pair = beside(self.function, self.format, &mut rng, from);
                    columns.iter_mut().zip(pair).for_each(|(column, x)| column.push(x));
                }
                executor.run(&columns, &mut results);
                let block = PointBlock { overlap: 0, ordered: false, kind: Some(searched) };
                let mut next = self.judge(&block, &columns, &results, filter, None, KEPT);
                let worst = std::mem::take(&mut next.leaders);
                leaders = worst.into_iter().fold(leaders, Leaders::merge);
                next.leaders = vec![Leaders::default(); kinds + 1];
                found = found.merge(next);
            }
            found
        });
        let searched = searches.reduce(|| Findings::of(kinds), Findings::merge);
        *found = std::mem::take(found).merge(searched);
    }
}
