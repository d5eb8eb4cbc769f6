//! Random programs that end with loops and recurrences.

use broadloom_core::Op;

use super::generate::{Size, program};
use super::loops::{self, repeated};
use super::program::{Arg, Program, Step};
use super::recurrences::recurrence;
use super::typing;
use crate::rng::Rng;

/// The program of a seed, with loops, scans and reductions by a function over its values, and steps that use what they return.
///
/// ```
/// use broadloom_testkit::random::program_with_loops;
///
/// let program = program_with_loops(7);
/// assert!(program.steps.iter().any(|step| step.is_loop()), "{program}");
/// assert!(program.run().is_ok(), "{program}");
/// ```
pub fn program_with_loops(seed: u64) -> Program {
    let mut rng = Rng::new(seed ^ 0x1009);
    let mut rng = Rng::new(rng.next());
    (0..).find_map(|retry: u64| with_loops(seed.wrapping_add(retry << 40), &mut rng)).expect("one of many")
}

fn with_loops(seed: u64, rng: &mut Rng) -> Option<Program> {
    let mut p = program(seed, Size::Small);
    let mut made = 0;
    for _ in 0..8 {
        let items: Vec<Step> = if rng.chance(1, 2) {
            let Some(of) = recurrence(rng, &mut p) else { continue };
            let count = of.next.len() + of.outputs.len();
            (0..count).map(|item| Step::Recurrence(Box::new(of.clone()), item)).collect()
        } else {
            let Some(of) = repeated(rng, &typing::types(&p), p.promotion, 0) else { continue };
            (0..of.state.len()).map(|item| Step::While(Box::new(of.clone()), item)).collect()
        };
        let first = p.steps.len();
        for step in items {
            let most = if matches!(step, Step::While(..)) { loops::MOST } else { usize::MAX };
            let Ok(t) = typing::type_of(&step, &typing::types(&p), p.promotion) else { break };
            if t.elements() > most {
                break;
            }
            p.steps.push(step);
        }
        if p.steps.len() == first {
            continue;
        }
        made += 1;
        // A step after the loop, so that it is fused with others.
        let last = p.steps.len() - 1;
        let after = [Op::Negative, Op::Add, Op::SignBit, Op::Positive, Op::LogicalNot, Op::IsNan];
        let op = *rng.pick(&after).expect("ops");
        let args = vec![Arg::Step(last); if op == Op::Add { 2 } else { 1 }];
        let step = Step::Apply(op, args);
        if typing::type_of(&step, &typing::types(&p), p.promotion).is_ok() {
            p.steps.push(step);
        }
        for _ in 0..1 + rng.below(2) {
            p.roots.push(first + rng.below(p.steps.len() - first));
        }
        if rng.chance(1, 2) {
            break;
        }
    }
    let is_long = p.roots.len() > 6;
    (made > 0 && !is_long).then_some(p)
}
