//! Workloads with operands that are broadcast, transposed, reversed or strided.

use broadloom::prelude::*;
use smallvec::smallvec;

use crate::column::{between, first, part, whole};
use crate::float::Float;
use crate::layouts;
use crate::loops::rows;
use crate::problem::{Expressions, Problem};

/// The number of elements in a row, for workloads with long rows.
const ROW: usize = 1000;

/// The shape of `n` elements in rows of [`ROW`] elements. If `n` is less than [`ROW`], a single row
/// of `n` elements.
pub(super) fn of_rows(n: usize) -> [usize; 2] {
    [(n / ROW).max(1), n.min(ROW)]
}

/// The flat indices of the elements in a range of rows.
pub(super) fn rows_at(at: &std::ops::Range<usize>, columns: usize) -> std::ops::Range<usize> {
    at.start * columns..at.end * columns
}

pub(super) fn standardize<T: Float>(n: usize) -> Problem {
    let shape @ [count, columns] = of_rows(n);
    let roots: Expressions = |x| smallvec![(&x[0] - &x[1]) / &x[2]];
    Problem::new(&shape, roots, move |x, out, at| {
        let a = part::<T>(&x[0], &rows_at(&at, columns));
        rows(a, whole::<T>(&x[1]), whole::<T>(&x[2]), &[], first(out), |a, mean, std, _| (a - mean) / std)
    })
    .in_units(count)
    .reads::<T>(&shape, between(-1.0, 1.0))
    .reads::<T>(&[columns], between(-0.1, 0.1))
    .reads::<T>(&[columns], between(0.5, 2.0))
    .writes::<T>()
}

pub(super) fn outer<T: Float>(n: usize) -> Problem {
    let shape @ [count, columns] = of_rows(n);
    let roots: Expressions = |x| smallvec![&x[0] * &x[1] + &x[2]];
    Problem::new(&shape, roots, move |x, out, at| {
        let (column, row) = (part::<T>(&x[0], &at), whole::<T>(&x[1]));
        let mat = part::<T>(&x[2], &rows_at(&at, columns));
        rows(mat, row, row, column, first(out), |mat, row, _, col| col * row + mat)
    })
    .in_units(count)
    .reads::<T>(&[count, 1], between(-1.0, 1.0))
    .reads::<T>(&[columns], between(-1.0, 1.0))
    .reads::<T>(&shape, between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn short_rows<T: Float>(n: usize) -> Problem {
    let shape @ [count, columns] = [n.div_ceil(3), 3];
    Problem::new(
        &shape,
        |x| smallvec![&x[0] + &x[1]],
        move |x, out, at| {
            let row = whole::<T>(&x[1]);
            let a = part::<T>(&x[0], &rows_at(&at, columns));
            layouts::short_rows(a, &[row[0], row[1], row[2]], first(out));
        },
    )
    .in_units(count)
    .reads::<T>(&shape, between(-1.0, 1.0))
    .reads::<T>(&[columns], between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn short_columns<T: Float>(n: usize) -> Problem {
    let shape @ [rows, columns] = [3, n.div_ceil(3)];
    Problem::new(
        &shape,
        |x| smallvec![&x[0] + &x[1]],
        move |x, out, at| {
            layouts::short_columns(whole::<T>(&x[0]), whole::<T>(&x[1]), columns, first(out), at);
        },
    )
    .reads::<T>(&shape, between(-1.0, 1.0))
    .reads::<T>(&[rows, 1], between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn transposed<T: Float + layouts::Turn>(n: usize) -> Problem {
    let side = n.isqrt();
    let shape = [side, side];
    Problem::new(
        &shape,
        |x| smallvec![&x[0] + x[1].t()],
        move |x, out, at| {
            layouts::transposed(whole::<T>(&x[0]), whole::<T>(&x[1]), side, first(out), at);
        },
    )
    .in_units(side)
    .reads::<T>(&shape, between(-1.0, 1.0))
    .reads::<T>(&shape, between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn reversed<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| smallvec![x[0].flip(0).expect("it has an axis") + &x[1]];
    Problem::new(&[n], roots, move |x, out, at| {
        let a = part::<T>(&x[0], &(n - at.end..n - at.start));
        layouts::reversed(a, part(&x[1], &at), first(out));
    })
    .reads::<T>(&[n], between(-1.0, 1.0))
    .reads::<T>(&[n], between(-1.0, 1.0))
    .writes::<T>()
}

pub(super) fn every_second<T: Float>(n: usize) -> Problem {
    let roots: Expressions = |x| {
        let half = [Range::new(None, None, 2)];
        let [a, b] = [0, 1].map(|i| x[i].slice(half).expect("it has an axis"));
        smallvec![a + b]
    };
    Problem::new(&[n], roots, |x, out, at| {
        let at = 2 * at.start..2 * at.end;
        layouts::every_second(part::<T>(&x[0], &at), part(&x[1], &at), first(out));
    })
    .reads_some::<T>(&[2 * n], 2, between(-1.0, 1.0))
    .reads_some::<T>(&[2 * n], 2, between(-1.0, 1.0))
    .writes::<T>()
}
