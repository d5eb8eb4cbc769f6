//! Reductions by a function in reverse mode.
//!
//! A reduction combines pairs in the canonical order, a tree whose form depends on the number of elements alone. All pairs of a level are
//! combined at once, by the function of whole arrays; the tree of levels is an expression like any other, of which the adjoints are
//! taken. It has about twice as many elements as the array.

use broadloom_core::{Op, Result, Shape, View};
use broadloom_ir::canonical::LANES;
use smallvec::SmallVec;

use super::linear::{apply, refused, spread};
use super::regions::{HandleRecurrence, LoopAdjoints, RegionBody, Vjp};
use crate::array::Array;
use crate::expr;
use crate::scan::item;

/// The adjoint of each operand of a reduction, from those of the results. `wanted` tells which operands vary.
pub(super) fn adjoints<'a>(
    of: &HandleRecurrence<'a>,
    adjoints: &[Option<Array<'a>>],
    wanted: &[bool],
    vjp: &Vjp<'_, 'a>,
) -> Result<LoopAdjoints<'a>> {
    if of.args.iter().any(|x| x.dims().is_some()) {
        let why = "there is no derivative in reverse mode of an array of open extents";
        return Err(refused(of.function(), why)
            .with_help("give the inputs of the kernel numbers as extents, or differentiate forwards (jvp)"));
    }
    let variable = |(x, &wanted): (&Array<'a>, &bool)| match wanted {
        true => apply(Op::Positive, &[x]),
        false => Ok(x.clone()),
    };
    let variables = of.args.iter().zip(wanted).map(variable).collect::<Result<Vec<_>>>()?;
    let results = Tree::of(of, &variables)?.combined(&variables[..of.states()])?;
    let seeds: Vec<_> =
        results.into_iter().zip(adjoints).filter_map(|(y, v)| Some((y, v.clone()?))).collect();
    let varying: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i]).collect();
    let arguments: Vec<Array<'a>> = varying.iter().map(|&i| variables[i].clone()).collect();
    // Elements of tables are taken of whole arrays.
    let found = vjp(&seeds, &arguments, &[])?;
    let mut arrays = vec![None; wanted.len()];
    varying.into_iter().zip(found.arrays).for_each(|(i, v)| arrays[i] = v);
    Ok(LoopAdjoints { arrays, taken: Vec::new() })
}

/// The levels of a reduction.
struct Tree<'t, 'a> {
    of: &'t HandleRecurrence<'a>,
    body: RegionBody<'t, 'a>,
    axis: usize,
    /// The elements of each input, with the shape of the index space.
    elements: Vec<Array<'a>>,
    /// The arrays that each combination uses, with an axis for the elements.
    captured: Vec<Array<'a>>,
}

impl<'t, 'a> Tree<'t, 'a> {
    fn of(of: &'t HandleRecurrence<'a>, operands: &[Array<'a>]) -> Result<Tree<'t, 'a>> {
        let axis = usize::from(of.axis);
        let (inputs, captured) = operands[of.states()..].split_at(of.inputs().len());
        let mut space: SmallVec<[usize; 4]> = item(of, 0)?.shape().into();
        let behind = space.len() - axis;
        space.insert(axis, of.inputs()[0].shape()[axis]);
        let space = Shape::new(&space)?;
        let elements = inputs.iter().map(|x| expr::view(x, View::BroadcastTo(space.clone())));
        let number = of.states() + inputs.len();
        let with_axis = |(i, x): (usize, &Array<'a>)| match x.rank().checked_sub(behind) {
            Some(before) if !of.step.is_table(number + i) => x.expand_dims(before as isize),
            _ => Ok(x.clone()),
        };
        Ok(Tree {
            of,
            body: RegionBody { region: &of.step, functions: &of.functions, args: &of.args, take: None },
            axis,
            elements: elements.collect::<Result<_>>()?,
            captured: captured.iter().enumerate().map(with_axis).collect::<Result<_>>()?,
        })
    }

    /// The results; those of no elements are the identities.
    fn combined(&self, identities: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
        if self.len(&self.elements) == 0 {
            let like = item(self.of, 0)?;
            return identities.iter().map(|x| spread(x, &like)).collect();
        }
        let lanes = self.tree(self.elements.clone(), LANES)?;
        let one = self.tree(lanes, 1)?;
        one.iter().map(|x| x.squeeze(self.axis as isize)).collect()
    }

    fn len(&self, elements: &[Array<'a>]) -> usize {
        elements[0].shape()[self.axis]
    }

    /// Combines pairs of adjacent rows until one is left. A row has an element of each lane, but the last one may be shorter; its
    /// elements that are missing, and rows without a partner, leave those of the other row as they are.
    fn tree(&self, mut level: Vec<Array<'a>>, lanes: usize) -> Result<Vec<Array<'a>>> {
        while self.len(&level) > lanes {
            let len = self.len(&level);
            let last = len / (2 * lanes) * 2 * lanes;
            // What follows the pairs of complete rows: at most one complete row, and a shorter one.
            let rest = len - last;
            let mut parts = vec![Vec::new(); level.len()];
            let mut push = |values: Vec<Array<'a>>| {
                parts.iter_mut().zip(values).for_each(|(parts, value)| parts.push(value));
            };
            if last > 0 {
                push(self.pairs(&level, last, lanes)?);
            }
            let both = rest.saturating_sub(lanes);
            if both > 0 {
                let left = self.part(&level, last, both)?;
                push(self.of_pairs(&left, &self.part(&level, last + lanes, both)?)?);
            }
            let alone = rest.min(lanes) - both;
            if alone > 0 {
                push(self.part(&level, last + both, alone)?);
            }
            let joined = parts.iter().map(|parts| expr::concat("gradient", parts, self.axis));
            level = joined.collect::<Result<_>>()?;
        }
        Ok(level)
    }

    /// The combinations of the complete rows before an index, of which there is an even number.
    fn pairs(&self, level: &[Array<'a>], end: usize, lanes: usize) -> Result<Vec<Array<'a>>> {
        // Replaces this number of axes from that of the elements on.
        let split = |x: &Array<'a>, count: usize, extents: &[usize]| {
            let shape = x.shape();
            let extents = [&shape[..self.axis], extents, &shape[self.axis + count..]].concat();
            expr::view(x, View::Reshape(Shape::new(&extents)?))
        };
        let halves = |half: isize| {
            let of_half = |x: &Array<'a>| {
                let pairs = split(&x.along(self.axis, 0, 1, end)?, 1, &[end / (2 * lanes), 2, lanes])?;
                split(&pairs.index_axis(self.axis as isize + 1, half)?, 2, &[end / 2])
            };
            level.iter().map(of_half).collect::<Result<Vec<_>>>()
        };
        self.of_pairs(&halves(0)?, &halves(1)?)
    }

    fn part(&self, level: &[Array<'a>], start: usize, len: usize) -> Result<Vec<Array<'a>>> {
        level.iter().map(|x| x.along(self.axis, start, 1, len)).collect()
    }

    /// The combinations of elements.
    fn of_pairs(&self, left: &[Array<'a>], right: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
        let made = self.body.values(&self.of.step.next, &[left, right, &self.captured].concat())?;
        made.iter().zip(left).map(|(x, like)| spread(x, like)).collect()
    }
}
