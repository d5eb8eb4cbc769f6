//! Generates random programs with all ops, dtypes, conversions, literals and views, with steps that are used several times, and
//! with several roots.
//!
//! A generated program is well-typed in its promotion mode. Its arrays contain edge-case values, random bits, or both.

use std::sync::OnceLock;

use broadloom_core::graph::{IntDivision, Semantics};
use broadloom_core::op::Law;
use broadloom_core::{DType, Kind, Literal, Op, Promotion, Scalar};

use super::program::{Arg, Program, PySlice, Step, View};
use super::shape::broadcast;
use super::typing::{self, Type};
use crate::reduction::Reduction;
use crate::rng::Rng;
use crate::tensor::Tensor;
use crate::{Value, edge_cases, oracle};

mod reductions;
mod shapes;
mod size;

pub use size::Size;

/// The program of a seed.
///
/// ```
/// use broadloom_testkit::random::{Size, program};
///
/// let first = program(7, Size::Small);
/// assert_eq!(first, program(7, Size::Small));
/// assert!(first.run().is_ok(), "{first}");
/// ```
pub fn program(seed: u64, size: Size) -> Program {
    // After one step, the generators of adjacent seeds are unrelated.
    let mut rng = Rng::new(seed);
    let mut rng = Rng::new(rng.next());
    let promotion = if rng.chance(1, 8) { Promotion::NumPy } else { Promotion::Strict };
    let int_division = if rng.chance(1, 5) { IntDivision::Error } else { IntDivision::Zero };
    let shape = shapes::base(&mut rng, size);
    let (limit, steps) = match size {
        Size::Small if rng.chance(1, 10) => (700, 1 + rng.below(60)),
        Size::Small => (700, 1 + rng.below(14)),
        Size::Large => (100_000, 12 + rng.below(20)),
        Size::Long => (24, 3000 + rng.below(6000)),
    };
    let palette = rng.chance(1, 3) || size == Size::Large;
    // This generator is separate, so that the programs without reductions did not change when reductions were added.
    let mut own = Rng::new(!seed);
    let mut own = Rng::new(own.next());
    let reduces = size != Size::Long && own.chance(2, 5);
    let (shape, limit, steps) = match reduces && size == Size::Small && own.chance(1, 25) {
        true => (shapes::of_long_axis(&mut own), 20_000, steps.min(6)),
        false => (shape, limit, steps),
    };
    // This generator is separate for the same reason.
    let contract = Rng::new(Rng::new(seed.rotate_left(32) ^ 0xc0).next()).chance(1, 6);
    let semantics = Semantics { int_division, contract, ..Semantics::default() };
    let program = Program { steps: Vec::new(), roots: Vec::new(), promotion, semantics };
    // If integer division by zero is an error, zeros must be rare, or most programs would fail.
    let rare_zeros = int_division == IntDivision::Error && rng.chance(2, 3);
    let is_long = size == Size::Long;
    let mut generator = Generator {
        rng,
        program,
        types: Vec::new(),
        shape,
        limit,
        palette,
        rare_zeros,
        is_long,
        reduces,
        current: 0,
    };
    for number in 0..1 + generator.rng.below(3) {
        let shape = match number {
            0 => generator.shape.clone(),
            _ => shapes::related(&mut generator.rng, &generator.shape),
        };
        generator.input(&shape);
    }
    let target = generator.program.steps.len() + steps;
    while generator.program.steps.len() < target {
        if reduces && generator.rng.chance(1, 5) {
            generator.reduce();
            continue;
        }
        match generator.rng.below(20) {
            0..=2 => generator.view(),
            3..=4 => generator.cast(),
            5 => {
                let shape = shapes::related(&mut generator.rng, &generator.shape);
                generator.input(&shape);
            }
            _ => generator.apply(),
        }
    }
    generator.roots();
    generator.program
}

/// Replaces elements, constants and literals. What remains the same is exactly what the key of a cached plan contains.
///
/// ```
/// use broadloom_testkit::random::{Size, program, with_other_values};
///
/// let first = program(7, Size::Small);
/// let second = with_other_values(&first, 1);
/// assert!(second.run().is_ok() && second.steps.len() == first.steps.len());
/// ```
pub fn with_other_values(program: &Program, seed: u64) -> Program {
    let rng = Rng::new(seed);
    let types = typing::types(program);
    let mut generator = Generator {
        rng,
        program: program.clone(),
        types,
        shape: Vec::new(),
        limit: 0,
        palette: false,
        rare_zeros: false,
        is_long: false,
        reduces: false,
        current: 0,
    };
    for number in 0..program.steps.len() {
        let mut step = program.steps[number].clone();
        match &mut step {
            // All elements are rotated by one offset, so that the reference computes few new values.
            Step::Input(x) => {
                let by = generator.rng.below(x.bits.len());
                x.bits.rotate_left(by);
            }
            Step::Constant(dtype, bits) => *bits = generator.bits(*dtype),
            Step::Apply(op, args) => {
                let operand = typing::operand_dtype(*op, args, &generator.types, program.promotion);
                for arg in args.iter_mut() {
                    match (arg, &operand) {
                        (Arg::Literal(x @ Literal::Float(_)), Ok(dtype)) if dtype.is_float() => {
                            *x = generator.literal(*dtype);
                        }
                        (Arg::Literal(x @ Literal::Int(_)), Ok(dtype)) if dtype.is_integer() => {
                            *x = generator.literal(*dtype);
                        }
                        _ => {}
                    }
                }
            }
            Step::Cast(..)
            | Step::View(..)
            | Step::Concat(..)
            | Step::Draw(..)
            | Step::Take(..)
            | Step::WholeArray(..)
            | Step::Reduce(..)
            | Step::Scan(..)
            | Step::VecDot(..)
            | Step::While(..)
            | Step::Recurrence(..) => {}
        }
        // The new step is used if it is well-typed; a literal of another kind may not be.
        if typing::type_of(&step, &generator.types[..number], program.promotion).as_ref()
            == Ok(&generator.types[number])
        {
            generator.program.steps[number] = step;
        }
    }
    generator.program
}

/// A program with the same functions and views but other inputs: other values, layouts and extents, and other numbers for some
/// constants. Equal extents stay equal. The program's own extents are kept if it would otherwise be ill-typed, or a step would
/// have more elements than `most`.
///
/// ```
/// use broadloom_testkit::random::{Size, instance, program};
///
/// let template = program(7, Size::Small);
/// let other = instance(&template, 1, 100);
/// assert!(other.run().is_ok(), "{other}");
/// ```
pub fn instance(template: &Program, seed: u64, most: usize) -> Program {
    let mut rng = Rng::new(seed);
    let mut rng = Rng::new(rng.next());
    let mut resized = template.clone();
    for _ in 0..20 {
        let Some(candidate) = shapes::resized(&mut rng, template, most) else { continue };
        let types = typing::types(&candidate);
        if types.len() == candidate.steps.len() && types.iter().all(|t| t.elements() <= most) {
            resized = candidate;
            break;
        }
    }
    let int_division = if seed.is_multiple_of(2) { IntDivision::Zero } else { IntDivision::Error };
    let semantics = Semantics { int_division, ..template.semantics };
    let program = Program { steps: Vec::new(), roots: Vec::new(), semantics, ..template.clone() };
    let palette = rng.chance(1, 3);
    let rare_zeros = int_division == IntDivision::Error && rng.chance(2, 3);
    let mut generator = Generator {
        rng,
        program,
        types: Vec::new(),
        shape: Vec::new(),
        limit: usize::MAX,
        palette,
        rare_zeros,
        is_long: false,
        reduces: false,
        current: 0,
    };
    let mut number = Vec::new();
    for mut step in resized.steps {
        match &mut step {
            Step::Input(x) => generator.input_of(x.dtype, &x.shape),
            Step::Constant(dtype, bits) => {
                // Keeps half of the constants, since a rewrite rule may need their values.
                if generator.rng.chance(1, 2) {
                    *bits = generator.bits(*dtype);
                }
                generator.program.steps.push(step);
            }
            _ => {
                step.map_args(|arg| number[arg]);
                generator.program.steps.push(step);
            }
        }
        number.push(generator.program.steps.len() - 1);
    }
    generator.program.roots = template.roots.iter().map(|&root| number[root]).collect();
    generator.program
}

struct Generator {
    rng: Rng,
    program: Program,
    types: Vec<Type>,
    /// The shape that most arrays have or broadcast to.
    shape: Vec<usize>,
    /// The maximum number of elements in an array.
    limit: usize,
    /// Whether each array has few distinct values.
    palette: bool,
    /// Whether zeros are rare among the elements of arrays.
    rare_zeros: bool,
    /// Whether each step uses the result of the last one. In a program of thousands of steps, the roots would
    /// otherwise depend on only a few of them.
    is_long: bool,
    /// Whether some steps are reductions.
    reduces: bool,
    /// The result of the last main step, excluding operands that were created for it.
    current: usize,
}

impl Generator {
    /// Adds a step if it is well-typed and not too large, and returns its number.
    fn push(&mut self, step: Step) -> Option<usize> {
        let t = typing::type_of(&step, &self.types, self.program.promotion).ok()?;
        let is_lost = self.is_long && t.elements() < self.shape.iter().product::<usize>().div_ceil(2);
        if t.elements() > self.limit || t.shape.len() > 6 || is_lost && !matches!(step, Step::Constant(..)) {
            return None;
        }
        self.program.steps.push(step);
        self.types.push(t);
        Some(self.types.len() - 1)
    }

    fn dtype(&mut self) -> DType {
        *self.rng.pick(DType::ALL).expect("dtypes")
    }

    /// A random earlier step; later ones are more likely.
    fn earlier(&mut self) -> usize {
        let n = self.types.len();
        if self.is_long {
            return self.current;
        }
        if self.rng.chance(1, 2) { n - 1 - self.rng.below(n.min(4)) } else { self.rng.below(n) }
    }

    fn bits(&mut self, dtype: DType) -> u64 {
        match self.rng.below(9) {
            // Ordinary floats, whose exponentials, trigonometric functions and powers are in range and not close to 0 or 1.
            8 if dtype.is_float() => {
                let significand = self.rng.next() | 1 << 63;
                let magnitude = significand as f64 * 2f64.powi(self.rng.below(20) as i32 - 72);
                let sign = if self.rng.chance(1, 2) { -1.0 } else { 1.0 };
                oracle::cast(Value::F64(sign * magnitude), dtype.name()).bits()
            }
            0 if dtype != DType::Bool => self.rng.next() & (u64::MAX >> (64 - 8 * dtype.size())),
            // Small numbers, so that some are equal, some divide others, and results are in range.
            1 | 2 => oracle::cast(Value::I8(self.rng.below(9) as i8 - 3), dtype.name()).bits(),
            _ => self.rng.pick(edge_case_values(dtype)).expect("edge-case values").bits,
        }
    }

    /// An array of this shape and any dtype.
    fn input(&mut self, shape: &[usize]) {
        let dtype = self.dtype();
        let first = self.program.steps.len();
        self.input_of(dtype, shape);
        for step in first..self.program.steps.len() {
            let step = &self.program.steps[step];
            self.types.push(
                typing::type_of(step, &self.types, self.program.promotion)
                    .expect("a filled array and fitting views"),
            );
        }
    }

    /// Adds an array of this shape in memory, contiguous or as a view of a larger array.
    fn input_of(&mut self, dtype: DType, shape: &[usize]) {
        let (base, views) = shapes::layout(&mut self.rng, shape);
        let elements: usize = base.iter().product();
        let mut bits: Vec<u64> = if self.palette {
            let few: Vec<u64> = (0..1 + self.rng.below(20)).map(|_| self.bits(dtype)).collect();
            (0..elements).map(|_| few[self.rng.below(few.len())]).collect()
        } else {
            (0..elements).map(|_| self.bits(dtype)).collect()
        };
        if self.rare_zeros && dtype.is_integer() {
            bits.iter_mut().filter(|b| **b == 0).for_each(|b| *b = u64::from(!self.rng.chance(1, 30)));
        }
        // The array with the elements outside of the view may exceed the size limit slightly.
        self.program.steps.push(Step::Input(Tensor { dtype, shape: base, bits }));
        for view in views {
            let last = self.program.steps.len() - 1;
            self.program.steps.push(Step::View(last, view));
        }
    }

    fn view(&mut self) {
        let arg = self.earlier();
        if let Some(view) = shapes::view(&mut self.rng, &self.types[arg].shape) {
            let made = self.push(Step::View(arg, view));
            self.current = made.unwrap_or(self.current);
        }
    }

    fn cast(&mut self) {
        let (arg, dtype) = (self.earlier(), self.dtype());
        let made = self.push(Step::Cast(arg, dtype));
        self.current = made.unwrap_or(self.current);
    }

    fn apply(&mut self) {
        let ops: Vec<Op> = Op::public().collect();
        let mut op = *self.rng.pick(&ops).expect("ops");
        if self.program.semantics.int_division == IntDivision::Error && self.rng.chance(1, 5) {
            let divide: Vec<Op> = Op::public().filter(|op| op.has(Law::Faults)).collect();
            op = *self.rng.pick(&divide).expect("ops that divide");
        }
        let mut first = self.earlier();
        if self.program.semantics.contract && self.rng.chance(1, 2) {
            (op, first) = self.sum_or_product(first);
        }
        // Applies an op to the result of another, so that rewrite rules find matches.
        let last = if self.is_long { self.current } else { self.types.len() - 1 };
        if let Step::Apply(inner, args) = &self.program.steps[last]
            && args.len() == 1
            && self.rng.chance(1, 3)
        {
            let near =
                [*inner, Op::Abs, Op::Negative, Op::Round, Op::Trunc, Op::LogicalNot, Op::BitwiseInvert];
            (op, first) = (*self.rng.pick(&near).expect("ops"), last);
        }
        let Ok(signature) = typing::signature(op) else { panic!("the oracle has no {op}") };
        let taken: Vec<DType> =
            DType::ALL.iter().copied().filter(|d| signature.takes_dtype(d.name())).collect();
        let is_taken = taken.contains(&self.types[first].dtype);
        // In NumPy's promotion mode, functions of floats accept integers too.
        if !is_taken && (self.program.promotion == Promotion::Strict || self.rng.chance(1, 2)) {
            let dtype = *self.rng.pick(&taken).expect("every function takes a dtype");
            let Some(cast) = self.push(Step::Cast(first, dtype)) else { return };
            first = cast;
        }
        let mut shape = self.types[first].shape.clone();
        let mut args = vec![Arg::Step(first)];
        let numbers = if op == Op::Where { 2 } else { signature.arity };
        for _ in 1..numbers {
            let arg = self.partner(first, &mut shape);
            args.push(arg);
        }
        if args.len() > 1 {
            let last = args.len() - 1;
            args.swap(0, self.rng.below(last + 1));
        }
        if op == Op::Where {
            let condition = self.condition(&mut shape);
            args.insert(0, condition);
        }
        let done = self.push(Step::Apply(op, args));
        self.current = done.unwrap_or(self.current);
        // A division may fail in an element that a view leaves out.
        if op.has(Law::Faults)
            && let Some(quotient) = done
            && self.rng.chance(1, 4)
        {
            let rank = self.types[quotient].shape.len();
            let half = PySlice { start: None, stop: None, step: 2 };
            self.push(Step::View(quotient, View::Slice(vec![half; rank])));
        }
    }

    /// Draws a function and its first operand such that contraction often applies: often a sum, whose operand
    /// may be a product.
    fn sum_or_product(&mut self, first: usize) -> (Op, usize) {
        let products: Vec<usize> = (0..self.types.len())
            .filter(|&step| self.types[step].dtype.is_float())
            .filter(|&step| match &self.program.steps[step] {
                Step::Apply(op, _) => [Op::Multiply, Op::Square, Op::Negative, Op::Pow].contains(op),
                Step::View(..) => true,
                _ => false,
            })
            .collect();
        let sum = *self.rng.pick(&[Op::Add, Op::Subtract]).expect("ops");
        match self.rng.pick(&products) {
            Some(&product) if self.rng.chance(2, 3) => (sum, product),
            _ => (*self.rng.pick(&[Op::Multiply, Op::Square, Op::Negative, Op::Pow]).expect("ops"), first),
        }
    }

    /// The second operand for a step: a literal, a constant, or an array of a compatible shape and dtype.
    fn partner(&mut self, first: usize, shape: &mut Vec<usize>) -> Arg {
        let dtype = self.types[first].dtype;
        match self.rng.below(12) {
            0 | 1 => return Arg::Literal(self.literal(dtype)),
            2 => return Arg::Literal(self.plain_literal(dtype)),
            3 => return Arg::Step(first),
            4 => {
                let bits = self.bits(dtype);
                if let Some(constant) = self.push(Step::Constant(dtype, bits)) {
                    return Arg::Step(constant);
                }
            }
            _ => {}
        }
        let Some(mut arg) = self.fitting(shape, |_| true) else { return Arg::Literal(self.literal(dtype)) };
        let met = typing::pair(dtype, self.types[arg].dtype, self.program.promotion);
        if met.is_none() || self.rng.chance(1, 3) {
            match self.push(Step::Cast(arg, dtype)) {
                Some(cast) => arg = cast,
                None => return Arg::Literal(self.literal(dtype)),
            }
        }
        *shape = broadcast(shape, &self.types[arg].shape).unwrap_or_default();
        Arg::Step(arg)
    }

    /// An earlier step whose shape broadcasts with this one, or sometimes a new array.
    fn fitting(&mut self, shape: &[usize], also: impl Fn(&Type) -> bool) -> Option<usize> {
        let fits = |t: &Type| {
            also(t) && broadcast(shape, &t.shape).is_some_and(|s| s.iter().product::<usize>() <= self.limit)
        };
        let mut found: Vec<usize> = (0..self.types.len()).filter(|&i| fits(&self.types[i])).collect();
        // Half of the time, only the last four candidates are considered.
        if self.rng.chance(1, 2) && found.len() > 4 {
            found.drain(..found.len() - 4);
        }
        self.rng.pick(&found).copied()
    }

    fn condition(&mut self, shape: &mut [usize]) -> Arg {
        if self.rng.chance(1, 12) {
            return Arg::Literal(Literal::Bool(self.rng.chance(1, 2)));
        }
        let found = self.fitting(shape, |t| t.dtype == DType::Bool);
        let made = match found {
            Some(bool) => Some(bool),
            None => self.fitting(shape, |_| true).and_then(|arg| self.push(Step::Cast(arg, DType::Bool))),
        };
        match made {
            Some(condition) => Arg::Step(condition),
            None => Arg::Literal(Literal::Bool(true)),
        }
    }

    /// A literal that a dtype can represent.
    fn literal(&mut self, dtype: DType) -> Literal {
        let bits = self.bits(dtype);
        match dtype.kind() {
            Kind::Bool => Literal::Bool(bits == 1),
            Kind::Signed => Literal::Int(signed(dtype, bits)),
            Kind::Unsigned => Literal::Int(i128::from(bits)),
            // In the mode that mixes kinds, a bool counts as a number.
            Kind::Float if self.program.promotion == Promotion::NumPy && self.rng.chance(1, 6) => {
                Literal::Bool(self.rng.chance(1, 2))
            }
            Kind::Float if self.rng.chance(1, 4) => Literal::Int(self.rng.below(4000) as i128 - 2000),
            Kind::Float => {
                let x = Value::from_bits(dtype.name(), bits).expect("a float");
                Literal::Float(f64::from_bits(oracle::cast(x, "float64").bits()))
            }
        }
    }

    /// A literal that rewrite rules look for.
    fn plain_literal(&mut self, dtype: DType) -> Literal {
        let ones = u64::MAX >> (64 - 8 * dtype.size());
        match dtype.kind() {
            Kind::Bool => Literal::Bool(self.rng.chance(1, 2)),
            Kind::Signed => Literal::Int([0, 1, 2, -1][self.rng.below(4)]),
            Kind::Unsigned => Literal::Int([0, 1, 2, i128::from(ones)][self.rng.below(4)]),
            Kind::Float => Literal::Float([0.0, -0.0, 1.0, 2.0, -1.0, 0.5][self.rng.below(6)]),
        }
    }

    /// Adds a reduction. Sometimes adds an expression of several reductions of one array, or of an array and
    /// its own reduction.
    fn reduce(&mut self) {
        let mut arg = self.earlier();
        if self.rng.chance(1, 3) {
            // A float dtype is chosen more often, since most functions require one.
            let dtype = *self.rng.pick(&[DType::Float16, DType::Float32, DType::Float64]).expect("dtypes");
            arg = self.push(Step::Cast(arg, dtype)).unwrap_or(arg);
        }
        let rank = self.types[arg].shape.len();
        let step = match self.rng.below(8) {
            0 if rank > 0 => Step::Scan(arg, reductions::cumulative(&mut self.rng, rank)),
            1 if rank > 0 => {
                let dot = reductions::vecdot(&mut self.rng, rank);
                let has_axis =
                    |t: &Type| t.dtype.is_numeric() && dot.shape(&self.types[arg].shape, &t.shape).is_ok();
                let found: Vec<usize> = (0..self.types.len()).filter(|&i| has_axis(&self.types[i])).collect();
                let other = self.rng.pick(&found).copied().unwrap_or(arg);
                Step::VecDot(arg, other, dot)
            }
            _ => Step::Reduce(arg, reductions::reduction(&mut self.rng, rank)),
        };
        let Some(made) = self.push(step.clone()) else { return };
        self.current = made;
        let Step::Reduce(_, first) = step else { return };
        if self.rng.chance(1, 3) {
            let other = Reduction { axes: first.axes.clone(), ..reductions::reduction(&mut self.rng, rank) };
            // `argmax` and `argmin` accept one axis or all.
            let several = first.axes.as_ref().is_some_and(|axes| axes.len() != 1);
            if !(several && other.function.is_search()) {
                self.push(Step::Reduce(arg, other));
            }
        }
        if first.keepdims && self.rng.chance(1, 2) {
            let ops = [Op::Subtract, Op::Divide, Op::Multiply, Op::Less];
            let op = *self.rng.pick(&ops).expect("ops");
            self.push(Step::Apply(op, vec![Arg::Step(arg), Arg::Step(made)]));
        }
    }

    fn roots(&mut self) {
        let last = if self.is_long { self.current } else { self.types.len() - 1 };
        self.program.roots.push(last);
        // The largest step; the last one, if there are several.
        let largest = (0..=last).max_by_key(|&i| self.types[i].elements()).unwrap_or(last);
        if self.limit > 1000 && largest != last {
            self.program.roots.push(largest);
        }
        if self.reduces && self.rng.chance(2, 3) {
            let found: Vec<usize> = (0..last).filter(|&i| self.program.steps[i].is_reduction()).collect();
            self.program.roots.extend(self.rng.pick(&found).copied());
        }
        while self.rng.chance(1, 3) && self.program.roots.len() < 5 {
            let root = if self.is_long { self.rng.below(last) } else { self.earlier() };
            self.program.roots.push(root);
        }
    }
}

/// The edge-case values of a dtype, computed once.
fn edge_case_values(dtype: DType) -> &'static [Scalar] {
    static LISTS: OnceLock<Vec<Vec<Scalar>>> = OnceLock::new();
    &LISTS.get_or_init(|| DType::ALL.iter().map(|&d| edge_cases::values(d)).collect())[dtype as usize]
}

fn signed(dtype: DType, bits: u64) -> i128 {
    let width = 8 * dtype.size();
    i128::from((bits << (64 - width)) as i64 >> (64 - width))
}
