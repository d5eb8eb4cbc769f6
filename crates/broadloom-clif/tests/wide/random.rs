//! Random bodies of up to 200 nodes, whose values are last used anywhere: compiled code computes the same results as
//! the program, or the back end refuses the function.

use broadloom_wide::{Convention, Intrinsic, Level};

use crate::program::{Code, FLOAT_CONDITIONS, INTEGER_CONDITIONS, Lane, RowProgram};
use crate::rows::{Dice, agree};
use crate::text::Shape;

/// The lane types for which `lanes` lanes take at least 16 bytes and fit into a vector register of the level.
fn lanes_of(level: Level, lanes: usize) -> Vec<Lane> {
    let bytes = if level == Level::Avx512 { 64 } else { 32 };
    [Lane::I8, Lane::I16, Lane::I32, Lane::I64, Lane::F32, Lane::F64]
        .into_iter()
        .filter(|lane| lane.bytes() * lanes <= bytes && lane.bytes() * lanes >= 16)
        .collect()
}

struct Maker {
    program: RowProgram,
    dice: Dice,
    /// The nodes that are masks.
    masks: Vec<usize>,
    level: Level,
}

impl Maker {
    /// An earlier node with this lane type. Recent nodes are chosen more often.
    fn earlier(&mut self, lane: Lane) -> usize {
        let known: Vec<usize> =
            (0..self.program.nodes.len()).filter(|&i| self.program.lane(i) == lane).collect();
        if known.is_empty() || self.dice.below(12) == 0 {
            let bits = self.dice.element(lane);
            return self.program.push(lane, Code::Constant(bits));
        }
        let last = known.len().min(if self.dice.below(3) == 0 { known.len() } else { 6 });
        known[known.len() - 1 - self.dice.below(last)]
    }

    fn mask(&mut self, lane: Lane) -> usize {
        let lane = lane.integer();
        let known: Vec<usize> =
            self.masks.iter().copied().filter(|&i| self.program.lane(i) == lane).collect();
        if known.is_empty() || self.dice.below(4) == 0 {
            return self.comparison(lane);
        }
        self.dice.pick(&known)
    }

    fn comparison(&mut self, lane: Lane) -> usize {
        let float = match lane {
            Lane::I32 if self.dice.below(2) == 0 => Some(Lane::F32),
            Lane::I64 if self.dice.below(2) == 0 => Some(Lane::F64),
            _ => None,
        };
        let of = float.unwrap_or(lane);
        let condition = match float {
            Some(_) => self.dice.pick(&FLOAT_CONDITIONS),
            None => self.dice.pick(&INTEGER_CONDITIONS),
        };
        let (x, y) = (self.earlier(of), self.earlier(of));
        let m = self.program.push(lane, Code::Compare(condition, x, y));
        self.masks.push(m);
        m
    }

    fn node(&mut self, lanes: &[Lane]) {
        let lane = self.dice.pick(lanes);
        let avx512 = self.level == Level::Avx512;
        let code = match self.dice.below(20) {
            0 => {
                if self.program.inputs.len() < 12 {
                    self.program.input(lane);
                }
                return;
            }
            1 | 2 => {
                self.comparison(lane.integer());
                return;
            }
            3 | 4 => {
                let m = self.mask(lane);
                Code::Select(m, self.earlier(lane), self.earlier(lane))
            }
            5 => {
                // A mask that is computed from masks.
                let lane = lane.integer();
                let (x, y, z) = (self.mask(lane), self.mask(lane), self.mask(lane));
                let code = match self.dice.below(5) {
                    0 => Code::Unary("bnot", x),
                    1 => Code::Select(x, y, z),
                    _ => Code::Binary(self.dice.pick(&["band", "bor", "bxor"]), x, y),
                };
                let m = self.program.push(lane, code);
                self.masks.push(m);
                return;
            }
            6 if lane.bytes() >= 4 && self.dice.below(6) == 0 => {
                let m = self.mask(lane);
                Code::Rare(m, self.earlier(lane), self.earlier(lane))
            }
            7 if avx512 => return self.conversion(lane, lanes),
            _ if lane.is_float() => match self.dice.below(4) {
                0 => Code::Unary(
                    self.dice.pick(&["fneg", "fabs", "sqrt", "floor", "ceil", "trunc", "nearest"]),
                    self.earlier(lane),
                ),
                1 => Code::Fma(self.earlier(lane), self.earlier(lane), self.earlier(lane)),
                _ => Code::Binary(
                    self.dice.pick(&["fadd", "fsub", "fmul", "fdiv"]),
                    self.earlier(lane),
                    self.earlier(lane),
                ),
            },
            _ => match self.dice.below(8) {
                0 if lane.bytes() > 1 => {
                    let count = self.dice.below(8 * lane.bytes()) as u32;
                    Code::Shift(self.dice.pick(&["ishl", "ushr", "sshr"]), self.earlier(lane), count)
                }
                1 => Code::Unary(self.dice.pick(&["bnot", "ineg", "iabs"]), self.earlier(lane)),
                2 => {
                    // The back end may fold the complement into the `band`.
                    let (x, y) = (self.earlier(lane), self.earlier(lane));
                    let not = self.program.push(lane, Code::Unary("bnot", y));
                    Code::Binary("band", x, not)
                }
                3 if lane.bytes() == 8 && self.dice.below(2) == 0 => {
                    let factors = [self.nearly_a_half(lane), self.nearly_a_half(lane)];
                    Code::Binary("imul", factors[0], factors[1])
                }
                3 if lane.bytes() > 1 => Code::Binary("imul", self.earlier(lane), self.earlier(lane)),
                4 => Code::Binary(
                    self.dice.pick(&["smin", "smax", "umin", "umax"]),
                    self.earlier(lane),
                    self.earlier(lane),
                ),
                5 => Code::Select(self.earlier(lane), self.earlier(lane), self.earlier(lane)),
                _ => Code::Binary(
                    self.dice.pick(&["iadd", "isub", "band", "bor", "bxor"]),
                    self.earlier(lane),
                    self.earlier(lane),
                ),
            },
        };
        self.program.push(lane, code);
    }

    /// A value of 64 bits whose upper half is zero, or nearly so: the back end multiplies such halves by one instruction.
    fn nearly_a_half(&mut self, lane: Lane) -> usize {
        const HALF: u64 = u32::MAX as u64;
        let constant = self.dice.pick(&[HALF, HALF << 1 | 1, HALF << 1, HALF - 1, 0xD251_1F53]);
        match self.dice.below(4) {
            0 => self.program.push(lane, Code::Constant(constant)),
            1 => {
                let (x, count) = (self.earlier(lane), self.dice.pick(&[31, 32, 33, 63]));
                self.program.push(lane, Code::Shift("ushr", x, count))
            }
            order => {
                let (x, mask) = (self.earlier(lane), self.program.push(lane, Code::Constant(constant)));
                let (x, y) = if order == 2 { (x, mask) } else { (mask, x) };
                self.program.push(lane, Code::Binary("band", x, y))
            }
        }
    }

    fn conversion(&mut self, from: Lane, lanes: &[Lane]) {
        let to = self.dice.pick(lanes);
        use Intrinsic::*;
        let intrinsic = match (from, to) {
            (Lane::F32, Lane::F64) => Promote,
            (Lane::F64, Lane::F32) => Demote,
            _ if from.is_float() || to.is_float() || from == to => return,
            _ if self.dice.below(2) == 0 => {
                let m = self.mask(from);
                let resized = self.program.push(to, Code::Convert(ResizeMask, m));
                self.masks.push(resized);
                return;
            }
            _ if to.bytes() > from.bytes() => self.dice.pick(&[SignExtend, ZeroExtend]),
            _ => self.dice.pick(&[Truncate, SaturateSigned, SaturateUnsigned]),
        };
        let x = self.earlier(from);
        self.program.push(to, Code::Convert(intrinsic, x));
    }
}

/// A random program of at least `size` nodes.
fn program(seed: u64, size: usize, level: Level, lanes: usize) -> RowProgram {
    let mut maker = Maker { program: RowProgram::default(), dice: Dice(seed), masks: Vec::new(), level };
    let lanes = lanes_of(level, lanes);
    for &lane in &lanes {
        maker.program.input(lane);
    }
    while maker.program.nodes.len() < size {
        maker.node(&lanes);
    }
    let nodes = maker.program.nodes.len();
    let mut outputs = vec![nodes - 1];
    outputs.extend((0..maker.dice.below(12)).map(|_| maker.dice.below(nodes)));
    maker.program.outputs = outputs;
    maker.program
}

/// The number of programs for each level, which the environment variable `BROADLOOM_SEEDS` can change.
fn seeds() -> u64 {
    std::env::var("BROADLOOM_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150)
}

#[test]
fn random_bodies_give_what_they_mean() {
    for level in crate::machine::levels() {
        for seed in 0..seeds() {
            let mut dice = Dice(seed);
            // From 2 lanes to as many as a full vector of bytes has. The emitter uses at least eight lanes, so only
            // then must the back end compile the function.
            let lanes = 2 << dice.below(if level == Level::Avx512 { 6 } else { 5 });
            let convention = dice.pick(&[Convention::SystemV, Convention::Windows]);
            let most = if level == Level::Avx512 { 64 } else { 32 };
            let vectors = 1 + dice.below(2.min(most / lanes));
            let shape = Shape { convention, vectors, ..Shape::new(level, lanes) };
            let size = 1 + dice.below(200);
            let program = program(seed, size, level, lanes);
            let compiled = agree(&program, shape);
            if lanes >= 8 {
                crate::machine::taken(compiled, level);
            }
        }
    }
}
