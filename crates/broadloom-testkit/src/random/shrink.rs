//! Shrinks a failing program until no single change makes it smaller and still failing.
//!
//! Every candidate is well typed. Each kind of change reduces a measure of its own (the number of computing steps, of elements,
//! or of distinct bits), so that shrinking terminates.

use broadloom_core::Accuracy;
use broadloom_core::Promotion;
use broadloom_core::graph::IntDivision;

use super::program::{Arg, Program, Step, View};

/// The maximum number of candidates that are tested.
const BUDGET: usize = 4000;

/// Shrinks a program as long as it fails.
///
/// ```
/// use broadloom_core::Op;
/// use broadloom_testkit::random::{Program, Size, Step, program, shrink};
///
/// // "Fails" where a root is a floor.
/// let is_floor = |step: &Step| matches!(step, Step::Apply(Op::Floor, _));
/// let fails = |p: &Program| p.roots.iter().any(|&root| is_floor(&p.steps[root]));
/// let found = (0..).map(|seed| program(seed, Size::Small)).find(|p| fails(p)).expect("a floor");
/// let small = shrink(&found, fails);
/// assert_eq!(small.steps.len(), 2, "{small}");
/// ```
pub fn shrink(program: &Program, fails: impl FnMut(&Program) -> bool) -> Program {
    shrink_while(program, || true, fails)
}

/// Like [`shrink`], but stops when `go_on` returns false.
pub fn shrink_while(
    program: &Program,
    go_on: impl Fn() -> bool,
    mut fails: impl FnMut(&Program) -> bool,
) -> Program {
    let mut smallest = program.clone();
    let mut tried = 0;
    loop {
        let mut is_smaller = false;
        for change in [alone, roots, bypasses, inputs, modes, limits, extents, values] {
            let mut at = 0;
            // Changes are numbered. After an accepted change, the same number denotes the next change.
            while let Some(candidate) = change(&smallest, at) {
                tried += 1;
                if tried > BUDGET || !go_on() {
                    return smallest;
                }
                let candidate = candidate.map(|c| without_unused(&c));
                match candidate.filter(|c| *c != smallest && c.run().is_ok() && fails(c)) {
                    Some(kept) => {
                        smallest = kept;
                        is_smaller = true;
                    }
                    None => at += 1,
                }
            }
        }
        if !is_smaller {
            return smallest;
        }
    }
}

/// The result of trying to change a program. The changes of each kind are numbered. The outer `None` means that there is no
/// change with this number, and the inner `None` means that the change has no effect.
type Candidate = Option<Option<Program>>;

/// Makes a single step the only root, since a wrong result may not be visible in the roots.
fn alone(p: &Program, at: usize) -> Candidate {
    let is_smaller = at + 1 < p.steps.len() || p.roots.len() > 1;
    (at < p.steps.len()).then(|| is_smaller.then(|| Program { roots: vec![at], ..p.clone() }))
}

/// Removes a root, or replaces it by one of its operands.
fn roots(p: &Program, at: usize) -> Candidate {
    let (root, what) = (at / 5, at % 5);
    let step = *p.roots.get(root)?;
    let mut out = p.clone();
    if what == 0 {
        out.roots.remove(root);
        return Some((!out.roots.is_empty()).then_some(out));
    }
    let operand = p.steps[step].args().get(what - 1).copied();
    Some(operand.map(|operand| {
        out.roots[root] = operand;
        out
    }))
}

/// Replaces a step by one of its operands.
fn bypasses(p: &Program, at: usize) -> Candidate {
    let (step, what) = (at / 4, at % 4);
    let operand = p.steps.get(step)?.args().get(what).copied();
    Some(operand.map(|operand| {
        let mut out = p.clone();
        let to = |i: usize| if i == step { operand } else { i };
        out.steps[step + 1..].iter_mut().for_each(|s| s.map_args(to));
        out.roots.iter_mut().for_each(|root| *root = to(*root));
        out
    }))
}

/// Replaces a computing step by an array in memory.
fn inputs(p: &Program, at: usize) -> Candidate {
    let step = p.steps.len().checked_sub(at + 1)?;
    if matches!(p.steps[step], Step::Input(_)) {
        return Some(None);
    }
    let value = p.run().ok()?.values.swap_remove(step);
    let mut out = p.clone();
    out.steps[step] = Step::Input(value);
    Some(Some(out))
}

fn modes(p: &Program, at: usize) -> Candidate {
    let mut out = p.clone();
    match at {
        0 => out.promotion = Promotion::Strict,
        1 => out.semantics.int_division = IntDivision::Zero,
        2 => out.semantics.accuracy = Accuracy::Fast,
        3 => out.semantics.contract = false,
        _ => return None,
    }
    Some(Some(out))
}

/// Lowers the limit of a loop: to none of its iterations, half of them, or all but one.
fn limits(p: &Program, at: usize) -> Candidate {
    let (step, how) = (at / 3, at % 3);
    let mut out = p.clone();
    let Step::While(of, _) = out.steps.get_mut(step)? else { return Some(None) };
    let Some(limit) = of.limit.as_mut().filter(|limit| **limit > 0) else { return Some(None) };
    *limit = [0, *limit / 2, *limit - 1][how];
    Some(Some(out))
}

/// Shortens all axes with the same extent, or one axis of one array.
fn extents(p: &Program, at: usize) -> Candidate {
    let mut all: Vec<usize> = p.steps.iter().flat_map(extents_of).filter(|&e| e > 1).collect();
    all.sort_unstable();
    all.dedup();
    let (which, how) = (at / 5, at % 5);
    let shorter = |e: usize| [1, 1, e / 2, e / 2, e - 1][how];
    let is_tail = how % 2 == 1;
    if let Some(&extent) = all.get(which) {
        let mut out = p.clone();
        let to = |_: usize, e: usize| if e == extent { shorter(e) } else { e };
        out.steps.iter_mut().for_each(|s| shorten(s, is_tail, &to));
        return Some(Some(out));
    }
    let mut axes = p.steps.iter().enumerate().flat_map(|(i, s)| match s {
        Step::Input(x) => (0..x.shape.len()).map(|axis| (i, axis)).collect(),
        _ => Vec::new(),
    });
    let (step, axis) = axes.nth(which - all.len())?;
    let mut out = p.clone();
    shorten(&mut out.steps[step], is_tail, &|a, e| if a == axis && e > 1 { shorter(e) } else { e });
    Some(Some(out))
}

fn extents_of(step: &Step) -> Vec<usize> {
    match step {
        Step::Input(x) => x.shape.clone(),
        Step::View(_, View::BroadcastTo(shape)) => shape.clone(),
        Step::Draw(call, _) => call.shape.to_vec(),
        Step::View(_, View::Reshape(shape)) => {
            shape.iter().filter_map(|&e| usize::try_from(e).ok()).collect()
        }
        _ => Vec::new(),
    }
}

/// Shortens an array, or a shape in a view. For each axis and extent, `to` returns the new extent. The
/// elements that remain are the first ones along each axis or, if `is_tail`, the last ones.
fn shorten(step: &mut Step, is_tail: bool, to: &dyn Fn(usize, usize) -> usize) {
    match step {
        Step::Input(x) => {
            let shape: Vec<usize> = x.shape.iter().enumerate().map(|(axis, &e)| to(axis, e)).collect();
            let mut bits = Vec::new();
            for (i, &b) in x.bits.iter().enumerate() {
                let mut rest = i;
                let is_kept = x.shape.iter().zip(&shape).rev().all(|(&from, &to)| {
                    let index = rest % from;
                    rest /= from;
                    if is_tail { index + to >= from } else { index < to }
                });
                if is_kept {
                    bits.push(b);
                }
            }
            (x.shape, x.bits) = (shape, bits);
        }
        Step::View(_, View::BroadcastTo(shape)) => {
            shape.iter_mut().enumerate().for_each(|(axis, e)| *e = to(axis, *e));
        }
        Step::Draw(call, _) => call.shape.iter_mut().enumerate().for_each(|(axis, e)| *e = to(axis, *e)),
        Step::View(_, View::Reshape(shape)) => shape.iter_mut().enumerate().for_each(|(axis, e)| {
            if *e >= 0 {
                *e = to(axis, *e as usize) as isize;
            }
        }),
        _ => {}
    }
}

/// Replaces elements of an array by zeros: all, half, or one.
fn values(p: &Program, at: usize) -> Candidate {
    const PARTS: usize = 3 + 40;
    let (which, part) = (at / PARTS, at % PARTS);
    let inputs: Vec<usize> = (0..p.steps.len()).filter(|&i| matches!(p.steps[i], Step::Input(_))).collect();
    let step = *inputs.get(which)?;
    let mut out = p.clone();
    let Step::Input(x) = &mut out.steps[step] else { return Some(None) };
    let n = x.bits.len();
    let zeroed = match part {
        0 => 0..n,
        1 => 0..n / 2,
        2 => n / 2..n,
        _ if part - 3 < n => part - 3..part - 2,
        _ => return Some(None),
    };
    x.bits[zeroed].fill(0);
    Some(Some(out))
}

/// The program without the steps that no root depends on.
fn without_unused(p: &Program) -> Program {
    let mut is_needed = vec![false; p.steps.len()];
    p.roots.iter().for_each(|&root| is_needed[root] = true);
    for (i, step) in p.steps.iter().enumerate().rev() {
        if is_needed[i] {
            step.args().into_iter().for_each(|arg| is_needed[arg] = true);
        }
    }
    let mut number = vec![0; p.steps.len()];
    let mut out = Program { steps: Vec::new(), ..p.clone() };
    for (i, step) in p.steps.iter().enumerate().filter(|(i, _)| is_needed[*i]) {
        number[i] = out.steps.len();
        let mut step = step.clone();
        step.map_args(|arg| number[arg]);
        if let Step::Apply(_, args) = &step {
            debug_assert!(args.iter().all(|arg| !matches!(arg, Arg::Step(a) if *a >= number[i])));
        }
        out.steps.push(step);
    }
    out.roots.iter_mut().for_each(|root| *root = number[*root]);
    out
}
