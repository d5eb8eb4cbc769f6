//! Builds program steps from a fuzzer's bytes.
//!
//! Every kind of step with any numbers can occur. Well-typed steps are likely enough for long programs to occur, and no step
//! needs more memory than a few input bytes describe.

use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use broadloom::{Array, ErrorKind, with_promotion};
use broadloom_core::graph::{IntDivision, Semantics};
use broadloom_core::{DType, Literal, Op, Promotion, Scalar};
use broadloom_testkit::differential::array;
use broadloom_testkit::random::{Arg, Program, PySlice, Step, Tensor, Type, View, type_of};
use broadloom_testkit::reduction::{Cumulative, Function, Reduction, VecDot};
use broadloom_testkit::{edge_cases, elements};

/// A program of well-typed steps, with their types and arrays.
pub struct Build {
    /// The steps.
    pub program: Program,
    /// The type of each step, according to the model.
    pub types: Vec<Type>,
    /// The array of each step, made by the library.
    pub arrays: Vec<Array<'static>>,
}

impl Build {
    /// A program without steps.
    pub fn new(u: &mut Unstructured<'_>) -> Result<Build> {
        let promotion = if u.arbitrary()? { Promotion::Strict } else { Promotion::NumPy };
        let int_division = if u.ratio(3, 4)? { IntDivision::Zero } else { IntDivision::Error };
        let semantics = Semantics { int_division, contract: u.ratio(1, 4)?, ..Semantics::default() };
        let program = Program { steps: Vec::new(), roots: Vec::new(), promotion, semantics };
        Ok(Build { program, types: Vec::new(), arrays: Vec::new() })
    }

    /// Adds a step if it is well-typed, on which the model and the array functions must agree.
    pub fn push(&mut self, step: Step) {
        let promotion = self.program.promotion;
        let model = type_of(&step, &self.types, promotion);
        let built = with_promotion(promotion, || array(&step, &self.arrays));
        match (model, built) {
            (Ok(t), Ok(array)) => {
                assert_eq!(
                    (t.dtype, &t.shape[..]),
                    (array.dtype(), array.shape()),
                    "{step}\n{:?}",
                    self.program
                );
                self.types.push(t);
                self.arrays.push(array);
                self.program.steps.push(step);
            }
            (Err(_), Err(error)) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
            (model, built) => {
                panic!("{step}: the model: {model:?}, the library: {built:?}\n{:?}", self.program)
            }
        }
    }
}

/// An array in memory of at most `most` elements.
pub fn input(u: &mut Unstructured<'_>, most: usize) -> Result<Step> {
    let dtype = *u.choose(&DType::ALL[..])?;
    let mut shape: Vec<usize> = Vec::new();
    for _ in 0..u.int_in_range(0..=4)? {
        shape.push(*u.choose(&[1, 2, 3, 4, 0, 5, 7, 9])?);
    }
    while shape.iter().product::<usize>() > most {
        shape.pop();
    }
    let bits = (0..shape.iter().product()).map(|_| element(u, dtype)).collect::<Result<_>>()?;
    Ok(Step::Input(Tensor { dtype, shape, bits }))
}

/// An element: either an edge-case value or arbitrary bits.
fn element(u: &mut Unstructured<'_>, dtype: DType) -> Result<u64> {
    static EDGE_CASES: LazyLock<Vec<Vec<Scalar>>> =
        LazyLock::new(|| DType::ALL.iter().map(|&dtype| edge_cases::values(dtype)).collect());
    let edge_cases = &EDGE_CASES[DType::ALL.iter().position(|&d| d == dtype).unwrap_or(0)];
    let byte: u8 = u.arbitrary()?;
    Ok(match byte {
        0..=239 => edge_cases[byte as usize % edge_cases.len()].bits,
        _ if dtype == DType::Bool => u.arbitrary::<u64>()? & 1,
        _ => u.arbitrary::<u64>()? & (u64::MAX >> (64 - 8 * dtype.size())),
    })
}

fn literal(u: &mut Unstructured<'_>) -> Result<Literal> {
    Ok(match u.int_in_range(0..=5)? {
        0 => Literal::Bool(u.arbitrary()?),
        1 => Literal::Int(i128::from(u.arbitrary::<i8>()?)),
        2 => Literal::Int(i128::from(u.arbitrary::<i64>()?)),
        3 => Literal::Int(i128::from(u.arbitrary::<u64>()?)),
        4 => elements::literal(DType::Float64, element(u, DType::Float64)?),
        _ => Literal::Float(u.arbitrary()?),
    })
}

/// Any step. The first must be an array.
pub fn step(u: &mut Unstructured<'_>, types: &[Type]) -> Result<Step> {
    let kind = if types.is_empty() { 0 } else { u.int_in_range(0..=18)? };
    match kind {
        0 | 1 => input(u, 30),
        2 => {
            let dtype = *u.choose(&DType::ALL[..])?;
            Ok(Step::Constant(dtype, element(u, dtype)?))
        }
        3 | 4 => Ok(Step::Cast(u.choose_index(types.len())?, *u.choose(&DType::ALL[..])?)),
        5..=7 => view(u, types),
        8 | 9 => reduction(u, types),
        _ => apply(u, types),
    }
}

/// A reduction, a scan or an inner product, along axes that may not exist.
fn reduction(u: &mut Unstructured<'_>, types: &[Type]) -> Result<Step> {
    let arg = u.choose_index(types.len())?;
    let dtype = if u.ratio(1, 4)? { Some(*u.choose(&DType::ALL[..])?) } else { None };
    if u.ratio(1, 4)? {
        let axis = if u.arbitrary()? { Some(number(u)?) } else { None };
        let (is_product, include_initial) = u.arbitrary()?;
        return Ok(Step::Scan(arg, Cumulative { is_product, axis, dtype, include_initial }));
    }
    if u.ratio(1, 6)? {
        return Ok(Step::VecDot(arg, u.choose_index(types.len())?, VecDot { axis: number(u)? }));
    }
    // The number of elements is a function of the text language only.
    let function = *u.choose(Function::ALL)?;
    let function = if function == Function::Count { Function::Sum } else { function };
    let mut axes = None;
    if u.arbitrary()? {
        let count = u.int_in_range(0..=3)?;
        axes = Some((0..count).map(|_| number(u)).collect::<Result<Vec<isize>>>()?);
    }
    let keepdims = u.arbitrary()?;
    let dtype = dtype.filter(|_| function.takes_dtype());
    let correction =
        if function.takes_correction() { *u.choose(&[0.0, 1.0, 0.5, -2.0, 1e300])? } else { 0.0 };
    let orders = [2.0, 1.0, 0.0, 3.0, -1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, 1e-300];
    let ord = if function == Function::VectorNorm { *u.choose(&orders)? } else { 2.0 };
    Ok(Step::Reduce(arg, Reduction { function, axes, keepdims, dtype, correction, ord }))
}

fn apply(u: &mut Unstructured<'_>, types: &[Type]) -> Result<Step> {
    let ops: Vec<Op> = Op::public().collect();
    let op = *u.choose(&ops)?;
    let mut args = Vec::new();
    // The number of operands is occasionally wrong.
    let arity = if u.ratio(1, 64)? { u.int_in_range(1..=4)? } else { op.operands() };
    for _ in 0..arity {
        let is_literal = u.ratio(1, 4)?;
        args.push(if is_literal {
            Arg::Literal(literal(u)?)
        } else {
            Arg::Step(u.choose_index(types.len())?)
        });
    }
    // For literals only, the library returns a literal, which a program can't express.
    if args.iter().skip((op == Op::Where) as usize).all(|arg| matches!(arg, Arg::Literal(_))) {
        args[arity - 1] = Arg::Step(u.choose_index(types.len())?);
    }
    Ok(Step::Apply(op, args))
}

/// A number for an axis, an index or a bound; mostly small.
fn number(u: &mut Unstructured<'_>) -> Result<isize> {
    Ok(match u.arbitrary::<i8>()? {
        small @ -100..=99 => isize::from(small / 12),
        100..=109 => isize::MAX,
        -128..=-110 => isize::MIN,
        110..=118 => 1 << u.int_in_range(0..=62)?,
        _ => u.arbitrary()?,
    })
}

/// An extent for a view.
fn extent(u: &mut Unstructured<'_>) -> Result<usize> {
    Ok(number(u)?.unsigned_abs())
}

/// A view of an earlier step, most often of the last.
pub fn view(u: &mut Unstructured<'_>, types: &[Type]) -> Result<Step> {
    let of = if u.ratio(3, 4)? { types.len() - 1 } else { u.choose_index(types.len())? };
    let shape = &types[of].shape;
    let view = match u.int_in_range(0..=9)? {
        0 | 1 => {
            let ranges = u.int_in_range(0..=shape.len() + 1)?;
            let bound =
                |u: &mut _| if Unstructured::ratio(u, 1, 4)? { Ok(None) } else { number(u).map(Some) };
            let range = |_| Ok(PySlice { start: bound(u)?, stop: bound(u)?, step: number(u)? });
            View::Slice((0..ranges).map(range).collect::<Result<_>>()?)
        }
        2 => {
            let mut axes: Vec<isize> = (0..shape.len() as isize).collect();
            for i in 1..axes.len() {
                axes.swap(i, u.int_in_range(0..=i)?);
            }
            if u.ratio(1, 8)? {
                axes.push(number(u)?);
            }
            View::PermuteDims(axes)
        }
        3 => {
            let mut to = shape.clone();
            to.iter_mut().filter(|e| **e == 1).try_for_each(|e| extent(u).map(|n| *e = n))?;
            for _ in 0..if u.ratio(1, 32)? { 65 } else { u.int_in_range(0..=2)? } {
                to.insert(0, extent(u)?);
            }
            View::BroadcastTo(to)
        }
        4 | 5 => View::Reshape(reshaped(u, shape)?),
        6 => View::ExpandDims(number(u)?),
        7 => View::Squeeze(number(u)?),
        8 => View::Flip(number(u)?),
        _ => View::IndexAxis(number(u)?, number(u)?),
    };
    Ok(Step::View(of, view))
}

/// A shape with the same number of elements, made by splitting and joining axes, or an arbitrary shape.
fn reshaped(u: &mut Unstructured<'_>, shape: &[usize]) -> Result<Vec<isize>> {
    let mut to: Vec<isize> = shape.iter().map(|&extent| extent as isize).collect();
    for _ in 0..u.int_in_range(0..=3)? {
        let at = u.int_in_range(0..=to.len())?;
        match u.int_in_range(0..=4)? {
            0 => to.insert(at, 1),
            1 if at + 1 < to.len() => {
                let joined = to.remove(at);
                to[at] = to[at].wrapping_mul(joined);
            }
            2 if at < to.len() => {
                let factor = *u.choose(&[2, 3, 4, 1 << 20])?;
                if to[at] % factor == 0 {
                    to[at] /= factor;
                    to.insert(at, factor);
                }
            }
            3 if at < to.len() => to[at] = -1,
            _ => to.insert(at, number(u)?),
        }
    }
    Ok(to)
}
