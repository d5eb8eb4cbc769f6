//! Measured results, and the ones with the largest errors for each kind of points.

use std::cmp::Ordering;

use broadloom_testkit::reference::{FloatFormat, Function};

use crate::format::{decimal, hex};

/// The number of worst pairs per kind that are kept from a block of random pairs.
pub const OF_BLOCK: usize = 4;
/// The number of worst pairs per kind that the local search starts from.
pub const KEPT: usize = 48;

/// The result of a function at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// The arguments.
    pub at: [f64; 2],
    /// The result.
    pub got: f64,
    /// The error in ulps.
    pub ulps: f64,
}

impl Case {
    /// Formats the case as `f(x, y) = z`, exactly and in decimal.
    pub fn describe(&self, function: Function, format: FloatFormat) -> String {
        let arguments = &self.at[..function.arity()];
        let list =
            |show: &dyn Fn(f64) -> String| arguments.iter().map(|&x| show(x)).collect::<Vec<_>>().join(", ");
        let shown = list(&|x| decimal(format, x));
        format!("{}({}) = {} ({shown})", function.name(), list(&hex), hex(self.got))
    }

    /// Compares the arguments.
    pub fn order(&self, other: &Case) -> Ordering {
        self.at[0].total_cmp(&other.at[0]).then(self.at[1].total_cmp(&other.at[1]))
    }
}

/// The cases with the largest errors, in descending order. Equal errors are ordered by the arguments.
#[derive(Clone, Debug, Default)]
pub struct Leaders(Vec<Case>);

impl Leaders {
    /// The cases, largest error first.
    pub fn cases(&self) -> &[Case] {
        &self.0
    }

    /// The error that a new case must exceed to be among the first `count`.
    pub fn bar(&self, count: usize) -> f64 {
        count.checked_sub(1).and_then(|last| self.0.get(last)).map_or(-1.0, |case| case.ulps)
    }

    /// Inserts a case, and keeps the first `count`.
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

    /// Merges two lists of cases, and keeps the first cases of the result.
    pub fn merge(mut self, other: Leaders) -> Leaders {
        other.0.into_iter().for_each(|case| self.add(case, KEPT));
        self
    }
}

/// Merges the worst cases of each kind.
pub fn merge(a: Vec<Leaders>, b: Vec<Leaders>) -> Vec<Leaders> {
    a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect()
}

#[cfg(test)]
mod tests {
    use broadloom_testkit::random::Rng;

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
