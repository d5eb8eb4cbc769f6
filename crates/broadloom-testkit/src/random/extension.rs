//! The extension of a random program by steps of one kind, of which some become roots.

use super::program::{Program, Step};
use super::typing::{self, Type};
use crate::rng::Rng;

/// A program that is extended.
pub(super) struct Extension<'r> {
    pub program: Program,
    pub rng: &'r mut Rng,
    /// The new steps, of which some become roots.
    pub made: Vec<usize>,
    /// The maximum number of elements of a new step.
    pub most: usize,
}

/// The program of a seed, by the first attempt that gives one. `salt` tells the kinds of programs apart.
pub(super) fn first_of(seed: u64, salt: u64, attempt: impl Fn(u64, &mut Rng) -> Option<Program>) -> Program {
    let mut rng = Rng::new(seed ^ salt);
    let mut rng = Rng::new(rng.next());
    (0..).find_map(|retry: u64| attempt(seed.wrapping_add(retry << 40), &mut rng)).expect("one of many")
}

impl Extension<'_> {
    /// The types of the steps so far.
    pub fn types(&self) -> Vec<Type> {
        typing::types(&self.program)
    }

    /// Adds a step if it is well-typed and not too large.
    pub fn push(&mut self, step: Step) -> Option<usize> {
        let t = typing::type_of(&step, &self.types(), self.program.promotion).ok()?;
        if t.elements() > self.most || t.shape.len() > 6 {
            return None;
        }
        self.program.steps.push(step);
        Some(self.program.steps.len() - 1)
    }

    /// The program, with the latest of the new steps among its roots, if there are any and the roots are not too many.
    pub fn with_roots(self) -> Option<Program> {
        let Extension { mut program, rng, made, .. } = self;
        for &step in made.iter().rev().take(5) {
            if rng.chance(3, 4) || program.roots.is_empty() {
                program.roots.push(step);
            }
        }
        let is_extended = program.roots.iter().any(|root| made.contains(root));
        (is_extended && program.roots.len() < 9).then_some(program)
    }
}
