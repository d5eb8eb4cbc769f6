//! A search around the worst pairs of each kind.
//!
//! Random pairs rarely meet the maximum error, which needs an argument where the approximation is worst and
//! roundings that all go in one direction. The search measures pairs a few steps away from the worst ones, replaces them by the worst of
//! these, and repeats, separately for each kind of pairs. It depends on the seed alone, not on the order in which
//! threads take blocks.

use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{Format, Function};
use rayon::prelude::*;

use crate::executor::Executor;
use crate::filter::Filter;
use crate::format::{round, step, width};
use crate::leaders::{KEPT, Leaders};
use crate::measure::{Found, Run};
use crate::points::Block;

/// Rounds of the search.
const ROUNDS: u64 = 160;
/// The maximum number of pairs of a round.
const MOST: u64 = 1 << 14;

/// A pair some steps away from another: of one operand or of both, at any distance as likely as at another; at times with a
/// power of two or a sign changed first.
fn beside(function: Function, format: Format, rng: &mut Rng, [x, y]: [f64; 2]) -> [f64; 2] {
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
            // A pair in one direction of the plane.
            Function::Atan2 | Function::Hypot => {
                let by = 2_f64.powi(rng.below(2 * format.precision as usize) as i32 - format.precision);
                let [x, y] = [x, y].map(|x| round(format, x * by));
                if rng.chance(1, 2) { [stepped(rng, x), y] } else { [x, stepped(rng, -y)] }
            }
            // Powers of two are further or nearer by a few.
            Function::Pow => [x, round(format, y + (rng.below(9) as f64 - 4.0) / x.abs().log2())],
            _ => [stepped(rng, y), stepped(rng, x)],
        },
    }
}

impl Run {
    /// Searches around the worst pairs of each kind, and adds what it finds.
    pub fn climb(&self, found: &mut Found, filter: Option<Filter>, executor: impl Fn() -> Executor + Sync) {
        let kinds = self.points.kinds().len();
        let Some(searched) = kinds.checked_sub(1) else { return };
        // Terms that cancel take the precise reference in float64.
        let cancelling_is_slow = self.format == Format::FLOAT64;
        let mut families = std::mem::take(&mut found.leaders);
        families.truncate(if cancelling_is_slow { kinds } else { kinds + 1 });
        let count = (self.points.count() / (4 * ROUNDS * families.len() as u64)).clamp(1, MOST);
        let searches = families.into_par_iter().enumerate().map(|(family, mut leaders)| {
            let mut executor = executor();
            let mut found = Found::of(kinds);
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
                let block = Block { overlap: 0, ordered: false, kind: Some(searched) };
                let mut next = self.judge(&block, &columns, &results, filter, None, KEPT);
                let worst = std::mem::take(&mut next.leaders);
                leaders = worst.into_iter().fold(leaders, Leaders::merge);
                next.leaders = vec![Leaders::default(); kinds + 1];
                found = found.merge(next);
            }
            found
        });
        let searched = searches.reduce(|| Found::of(kinds), Found::merge);
        *found = std::mem::take(found).merge(searched);
    }
}
