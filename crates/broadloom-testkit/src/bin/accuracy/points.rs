//! The points at which a function is measured, in numbered blocks of arguments.
//!
//! A block depends on its number and the seed only, so threads may take blocks in any order. Functions of one argument are
//! measured at every float16 and float32 number, in ascending order; each block begins with the last point of the preceding one.
//! For functions of two arguments in formats wider than float16, pairs are drawn at random by kind, and then searched for around
//! the worst pairs of each kind.

mod draw;
mod hard;
mod one;
mod two;

use broadloom_core::DType;
use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{FloatFormat, Function};

use crate::format::{at_place, width};

pub use hard::edge_cases;
use two::PairKind;

/// The number of points in a block.
const BLOCK: u64 = 1 << 15;

/// The points that are not listed explicitly.
enum Bulk {
    /// Every n-th number of the format, for this n.
    Places(u64),
    /// This number of random points.
    Random(u64),
    /// All pairs of these numbers.
    Pairs(Vec<f64>),
    /// `count` random pairs of these kinds. `turns` is the sequence of kinds, by index, which repeats.
    Kinds { count: u64, kinds: Vec<PairKind>, turns: Vec<usize> },
}

/// The names of the two kinds that are not drawn at random.
const NOT_DRAWN: [&str; 2] = ["listed", "around the worst of each kind"];

/// The points of a run.
pub struct Points {
    function: Function,
    format: FloatFormat,
    seed: u64,
    hard: Vec<[f64; 2]>,
    bulk: Bulk,
}

/// Properties of a block, returned by [`Points::fill`].
pub struct PointBlock {
    /// The number of points at the block's start that belong to the preceding block. They are used only to
    /// check the order of results.
    pub overlap: usize,
    /// Whether the arguments are in ascending order.
    pub ordered: bool,
    /// The kind of the block's points, if they all have the same.
    pub kind: Option<usize>,
}

impl Points {
    /// The points for a function: all numbers of the format or, if they are too many, a selection of `points`
    /// points. Only one in `thin` of these is measured.
    pub fn new(function: Function, format: FloatFormat, points: u64, thin: u64, seed: u64) -> Points {
        let bulk = match (function.arity(), format.dtype) {
            (1, DType::Float16) => Bulk::Places(1),
            // An odd stride visits all patterns of low bits.
            (1, DType::Float32) => Bulk::Places(thin | 1),
            (2, DType::Float16) => {
                let stride = (5.0 * (thin as f64).sqrt()) as usize | 1;
                let side = (0..1 << 16).step_by(stride).map(|place| at_place(format, place));
                Bulk::Pairs(side.collect())
            }
            (2, _) => {
                let kinds = two::kinds(function, format);
                let most = kinds.iter().map(|kind| kind.weight).max().unwrap_or(1);
                // Distributes the turns of each kind evenly.
                let turn = |at: usize, weight: usize| (at + 1) * weight / most > at * weight / most;
                let turns = (0..most).flat_map(|at| {
                    (0..kinds.len()).filter(|&kind| turn(at, kinds[kind].weight)).collect::<Vec<_>>()
                });
                let turns = turns.collect();
                Bulk::Kinds { count: (points / thin).max(1), kinds, turns }
            }
            _ => Bulk::Random((points / thin).max(1)),
        };
        Points { function, format, seed, hard: hard::list(function, format), bulk }
    }

    /// The number of points, without those of the local search.
    pub fn count(&self) -> u64 {
        self.hard.len() as u64 + self.bulk_count()
    }

    /// The names of the kinds of points; empty if there are no kinds. The last two are the listed points and those of the local
    /// search.
    pub fn kinds(&self) -> Vec<&'static str> {
        match &self.bulk {
            Bulk::Kinds { kinds, .. } => kinds.iter().map(|kind| kind.name).chain(NOT_DRAWN).collect(),
            _ => Vec::new(),
        }
    }

    /// The index of the kind of a point; 0 if there are no kinds.
    pub fn kind(&self, block: &PointBlock, i: usize) -> usize {
        match &self.bulk {
            Bulk::Kinds { turns, .. } => block.kind.unwrap_or(turns[i % turns.len()]),
            _ => 0,
        }
    }

    fn bulk_count(&self) -> u64 {
        match &self.bulk {
            Bulk::Places(every) => (1_u64 << width(self.format)).div_ceil(*every),
            Bulk::Random(count) | Bulk::Kinds { count, .. } => *count,
            Bulk::Pairs(side) => (side.len() * side.len()) as u64,
        }
    }

    /// Describes the points in words.
    pub fn coverage(&self) -> String {
        match &self.bulk {
            Bulk::Places(1) => "all".to_string(),
            Bulk::Places(every) => format!("every {every}th"),
            Bulk::Random(_) => "random and hard".to_string(),
            Bulk::Pairs(side) if side.len() == 1 << width(self.format) => "all".to_string(),
            Bulk::Pairs(side) => format!("pairs of {}", side.len()),
            Bulk::Kinds { .. } => format!("of {} kinds", self.kinds().len()),
        }
    }

    /// Whether the points include every number of the format.
    pub fn is_whole(&self) -> bool {
        matches!(self.bulk, Bulk::Places(1))
    }

    fn hard_blocks(&self) -> u64 {
        (self.hard.len() as u64).div_ceil(BLOCK)
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.hard_blocks() + self.bulk_count().div_ceil(BLOCK)
    }

    /// Fills the columns with the arguments of a block.
    pub fn fill(&self, block: u64, columns: &mut [Vec<f64>]) -> PointBlock {
        columns.iter_mut().for_each(Vec::clear);
        let mut push = |point: [f64; 2]| {
            columns.iter_mut().zip(point).for_each(|(column, x)| column.push(x));
        };
        let Some(block) = block.checked_sub(self.hard_blocks()) else {
            let start = (block * BLOCK) as usize;
            let end = (start + BLOCK as usize).min(self.hard.len());
            self.hard[start..end].iter().for_each(|&point| push(point));
            let kind = self.kinds().len().checked_sub(NOT_DRAWN.len());
            return PointBlock { overlap: 0, ordered: false, kind };
        };
        let range = block * BLOCK..((block + 1) * BLOCK).min(self.bulk_count());
        match &self.bulk {
            Bulk::Places(every) => {
                let start = range.start.saturating_sub(1);
                (start..range.end).for_each(|i| push([at_place(self.format, i * every), 0.0]));
                PointBlock { overlap: (range.start - start) as usize, ordered: true, kind: None }
            }
            Bulk::Pairs(side) => {
                let n = side.len() as u64;
                range.for_each(|i| push([side[(i / n) as usize], side[(i % n) as usize]]));
                PointBlock { overlap: 0, ordered: false, kind: None }
            }
            Bulk::Random(_) => {
                let mut rng = self.rng(block);
                range.for_each(|_| push([one::draw(self.function, &mut rng), 0.0]));
                let ordered = self.function.model().order.is_some();
                if ordered {
                    columns[0].sort_unstable_by(f64::total_cmp);
                }
                PointBlock { overlap: 0, ordered, kind: None }
            }
            Bulk::Kinds { kinds, turns, .. } => {
                let mut rng = self.rng(block);
                for i in 0..(range.end - range.start) as usize {
                    push(kinds[turns[i % turns.len()]].pair(self.function, self.format, &mut rng));
                }
                PointBlock { overlap: 0, ordered: false, kind: None }
            }
        }
    }

    /// The random number generator for a block.
    pub fn rng(&self, block: u64) -> Rng {
        let mut seeds =
            Rng::new(self.seed ^ (self.function as u64) << 56 ^ u64::from(width(self.format)) << 48);
        Rng::new(seeds.next() ^ block.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::round;

    #[test]
    fn blocks_hold_every_point_once() {
        for (function, format) in [
            (Function::Exp, FloatFormat::FLOAT16),
            (Function::Log, FloatFormat::FLOAT32),
            (Function::Sin, FloatFormat::FLOAT64),
            (Function::Pow, FloatFormat::FLOAT16),
            (Function::LogAddExp, FloatFormat::FLOAT32),
        ] {
            let points = Points::new(function, format, 100_000_000, 4096, 1);
            let mut columns = vec![Vec::new(); function.arity()];
            let mut count = 0;
            for block in 0..points.blocks() {
                let PointBlock { overlap, ordered, .. } = points.fill(block, &mut columns);
                count += (columns[0].len() - overlap) as u64;
                assert!(columns.iter().all(|c| c.len() == columns[0].len()));
                for column in &columns {
                    assert!(column.iter().all(|&x| x.is_nan() || round(format, x) == x), "{function:?}");
                }
                let ascending = columns[0].windows(2).all(|w| w[0].is_nan() || w[1].is_nan() || w[0] <= w[1]);
                assert!(!ordered || ascending);
            }
            assert_eq!(count, points.count(), "{function:?}");
        }
    }

    #[test]
    fn the_whole_of_a_format_is_the_whole() {
        let points = Points::new(Function::Exp, FloatFormat::FLOAT16, 1, 1000, 1);
        let mut columns = [Vec::new()];
        let mut seen = vec![0; 1 << 16];
        for block in points.hard_blocks()..points.blocks() {
            let PointBlock { overlap, .. } = points.fill(block, &mut columns);
            // A NaN may lose its payload when it is converted to float64.
            for &x in columns[0][overlap..].iter().filter(|x| !x.is_nan()) {
                seen[crate::format::to_bits(FloatFormat::FLOAT16, x) as usize] += 1;
            }
        }
        assert_eq!(seen.iter().filter(|&&n| n == 1).count(), (1 << 16) - 2 * 1023);
    }
}
