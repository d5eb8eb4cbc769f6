//! The worst pairs of each kind, and a search around them.
//!
//! The maximum of an error over pairs is rarely met by chance: it takes a place where the approximation is at its worst and
//! roundings that all go the same way. So pairs that are steps away from the worst ones are measured, the worst of these
//! replace them, and so on, for every kind of pairs by itself. A search depends on the seed alone, not on the order in which
//! threads take blocks.

use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{Format, Function};
use rayon::prelude::*;

use crate::executor::Executor;
use crate::filter::Filter;
use crate::format::{round, step, width};
use crate::measure::{Case, Found, Run};
use crate::points::Block;

/// The worst pairs of a kind that are kept from a block of random pairs.
pub const OF_BLOCK: usize = 4;
/// Those around which the search goes on.
const KEPT: usize = 48;
/// Rounds of the search.
const ROUNDS: u64 = 160;
/// The maximum number of pairs of a round.
const MOST: u64 = 1 << 14;

/// The cases of the greatest errors, in order; of equal errors that of the lesser arguments first.
#[derive(Clone, Debug, Default)]
pub struct Leaders(Vec<Case>);

impl Leaders {
    /// The error that a case has to exceed to be among the first `count`.
    pub fn bar(&self, count: usize) -> f64 {
        count.checked_sub(1).and_then(|last| self.0.get(last)).map_or(-1.0, |case| case.ulps)
    }

    /// Puts in a case, and keeps the first `count`.
    pub fn add(&mut self, case: Case, count: usize) {
        let order = |other: &Case| other.ulps.total_cmp(&case.ulps).reverse().then(other.order(&case));
        match self.0.binary_search_by(order) {
            Ok(_) => {}
            Err(place) if place < count => {
                self.0.insert(place, case);
                self.0.truncate(count);
            }
            Err(_) => {}
        }
    }

    fn merge(mut self, other: Leaders) -> Leaders {
        other.0.into_iter().for_each(|case| self.add(case, KEPT));
        self
    }
}

/// Merges the leaders of each kind.
pub fn merge(a: Vec<Leaders>, b: Vec<Leaders>) -> Vec<Leaders> {
    a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect()
}

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
            // The same direction in the plane.
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
                if leaders.0.is_empty() {
                    break;
                }
                let mut rng = self.points.rng(u64::MAX - (family as u64 * ROUNDS + round));
                columns.iter_mut().for_each(Vec::clear);
                for _ in 0..count {
                    let from = leaders.0[rng.below(leaders.0.len())].at;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn case(x: f64, ulps: f64) -> Case {
        Case { at: [x, 0.0], got: 0.0, ulps }
    }

    #[test]
    fn leaders_are_the_same_in_any_order() {
        let cases = [case(1.0, 0.5), case(2.0, 0.7), case(3.0, 0.5), case(4.0, 0.6), case(2.0, 0.7)];
        let mut rng = Rng::new(1);
        for _ in 0..100 {
            let mut leaders = Leaders::default();
            rng.permutation(cases.len()).into_iter().for_each(|i| leaders.add(cases[i], 3));
            assert_eq!(leaders.0, [case(2.0, 0.7), case(4.0, 0.6), case(1.0, 0.5)]);
            assert_eq!((leaders.bar(3), leaders.bar(4)), (0.5, -1.0));
        }
    }
}
