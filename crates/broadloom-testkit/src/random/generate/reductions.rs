//! Random reductions for an array with a given number of axes.

use broadloom_core::DType;

use crate::reduction::{Cumulative, Function, Reduction, VecDot};
use crate::rng::Rng;

/// The reductions that executors implement; the others are composed of them.
const PRIMITIVE: [Function; 6] =
    [Function::Sum, Function::Prod, Function::Max, Function::Min, Function::Any, Function::All];

/// A length at which a lane, a row of lanes, a group of eight rows or a block ends, or an adjacent
/// length.
pub fn length(rng: &mut Rng) -> usize {
    match rng.below(4) {
        0 => 16 * (1 + rng.below(60)) + rng.below(3) - 1,
        1 => 128 * (1 + rng.below(20)) + rng.below(3) - 1,
        2 => 1023 + rng.below(3),
        _ => 1023 + rng.below(3978),
    }
}

/// A reduction with random arguments.
pub fn reduction(rng: &mut Rng, rank: usize) -> Reduction {
    let some = if rng.chance(1, 2) { &PRIMITIVE } else { Function::ALL };
    let function = rng.pick(some).copied().filter(|f| *f != Function::Count).unwrap_or(Function::Sum);
    let mut reduction = Reduction::all(function);
    if rng.chance(2, 3) && !(rank == 0 && function.is_search()) {
        let most = if function.is_search() { 1 } else { rank };
        let taken =
            if most == 0 || rng.chance(1, 20) && !function.is_search() { 0 } else { 1 + rng.below(most) };
        let axes = rng.permutation(rank).into_iter().take(taken);
        reduction.axes =
            Some(axes.collect::<Vec<_>>().into_iter().map(|axis| signed(rng, axis, rank)).collect());
    }
    reduction.keepdims = rng.chance(1, 2);
    if function.takes_dtype() && rng.chance(1, 4) {
        reduction.dtype = rng.pick(DType::ALL).copied();
    }
    if function.takes_correction() {
        reduction.correction = [0.0, 0.0, 1.0, 1.0, 0.5, 3.0, -1.0][rng.below(7)];
    }
    if function == Function::VectorNorm {
        let (inf, below) = (f64::INFINITY, f64::NEG_INFINITY);
        reduction.ord = [2.0, 2.0, 2.0, 1.0, 1.0, inf, below, 0.0, 3.0, 0.5, -1.0, -2.0, 1.5][rng.below(13)];
    }
    reduction
}

/// A cumulative sum or product with random arguments.
pub fn cumulative(rng: &mut Rng, rank: usize) -> Cumulative {
    let axis = rng.below(rank);
    let axis = (rank != 1 || rng.chance(1, 2)).then(|| signed(rng, axis, rank));
    let dtype = if rng.chance(1, 4) { rng.pick(DType::ALL).copied() } else { None };
    Cumulative { is_product: rng.chance(1, 3), axis, dtype, include_initial: rng.chance(1, 4) }
}

/// A dot product along an axis that both operands have.
pub fn vecdot(rng: &mut Rng, rank: usize) -> VecDot {
    VecDot { axis: -1 - rng.below(rank) as isize }
}

fn signed(rng: &mut Rng, axis: usize, rank: usize) -> isize {
    if rng.chance(1, 2) { axis as isize } else { axis as isize - rank as isize }
}
