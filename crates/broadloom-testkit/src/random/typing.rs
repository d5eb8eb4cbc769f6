//! Infers the dtype and shape of each step of a program, or the reason why it is ill-typed.
//!
//! It is written from the promotion tables of the Array API standard and of NumPy 2, not from `broadloom-core`, so that the two
//! can be compared.

use broadloom_core::draws::DrawCall;
use broadloom_core::node::StepOrder;
use broadloom_core::{DType, Kind, Literal, Op, Promotion};

use super::affine::{Affine, axis_of};
use super::draws;
use super::program::{Arg, Program, RandomRecurrence, Step, is_table};
use super::shape::{broadcast, elements};
use crate::Value;
use crate::oracle::{self, ModelSignature};

/// The dtype and shape of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// The dtype of its elements.
    pub dtype: DType,
    /// Its extents, outermost first.
    pub shape: Vec<usize>,
}

impl Type {
    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The types of the steps, up to the first that is ill-typed.
pub fn types(program: &Program) -> Vec<Type> {
    let mut types = Vec::new();
    for step in &program.steps {
        match type_of(step, &types, program.promotion) {
            Ok(t) => types.push(t),
            Err(_) => break,
        }
    }
    types
}

/// The types of all steps.
///
/// # Errors
/// The reason why a step is ill-typed.
pub fn checked(program: &Program) -> Result<Vec<Type>, String> {
    let mut types = Vec::new();
    for step in &program.steps {
        types.push(type_of(step, &types, program.promotion)?);
    }
    Ok(types)
}

/// The type of a step, given the types of the earlier steps.
///
/// # Errors
/// The reason why the step is ill-typed.
pub fn type_of(step: &Step, before: &[Type], promotion: Promotion) -> Result<Type, String> {
    if let Some(later) = step.args().into_iter().find(|&arg| arg >= before.len()) {
        return Err(format!("s{later} does not come before {step}"));
    }
    match step {
        Step::Input(x) if elements(&x.shape)? != x.bits.len() => Err("not filled".to_owned()),
        Step::Input(x) => Ok(Type { dtype: x.dtype, shape: x.shape.clone() }),
        Step::Constant(dtype, _) => Ok(Type { dtype: *dtype, shape: Vec::new() }),
        Step::Cast(arg, dtype) => Ok(Type { dtype: *dtype, shape: before[*arg].shape.clone() }),
        Step::View(arg, view) => {
            let shape = Affine::of(view, &before[*arg].shape)?.shape;
            Ok(Type { dtype: before[*arg].dtype, shape })
        }
        Step::Concat(args, axis) => {
            let first = &before[*args.first().ok_or("nothing is joined")?];
            let axis = axis_of(*axis, first.shape.len())?;
            let mut joined = Type { dtype: first.dtype, shape: first.shape.clone() };
            joined.shape[axis] = 0;
            for &arg in args {
                let Type { dtype, shape } = &before[arg];
                let other = |shape: &[usize]| [&shape[..axis], &shape[axis + 1..]].concat();
                if *dtype != first.dtype
                    || shape.len() != first.shape.len()
                    || other(shape) != other(&first.shape)
                {
                    return Err(format!("concat: {shape:?} beside {:?} along {axis}", first.shape));
                }
                joined.shape[axis] += shape[axis];
            }
            elements(&joined.shape)?;
            Ok(joined)
        }
        Step::Take(kind, x, indices, axis) => kind.type_of(&before[*x], &before[*indices], *axis),
        Step::WholeArray(call, args) => {
            call.type_of(&args.iter().map(|&arg| &before[arg]).collect::<Vec<_>>(), promotion)
        }
        Step::Draw(call, args) => draw_type(call, args, before),
        Step::Reduce(arg, reduction) => {
            let Type { dtype, shape } = &before[*arg];
            let (dtype, shape) = reduction.type_of(*dtype, shape, promotion)?;
            Ok(Type { dtype, shape })
        }
        Step::Scan(arg, scan) => {
            let Type { dtype, shape } = &before[*arg];
            let (dtype, shape) = scan.type_of(*dtype, shape, promotion)?;
            elements(&shape)?;
            Ok(Type { dtype, shape })
        }
        Step::VecDot(x, y, dot) => {
            let dtype = dot_dtype(*x, *y, before, promotion)?;
            let shape = dot.shape(&before[*x].shape, &before[*y].shape)?;
            elements(&shape)?;
            Ok(Type { dtype, shape })
        }
        Step::While(of, item) => {
            let types = body_types(&step.args(), &of.body, before, promotion)?;
            if types.get(of.condition).map(|t| t.dtype) != Some(DType::Bool) {
                return Err("the condition is no bool".to_owned());
            }
            keep_dtypes(&types, &of.next)?;
            let dtype = types[..of.state.len()].get(*item).ok_or("a value that is not carried")?.dtype;
            let mut shape = Vec::new();
            for arg in step.args() {
                shape = broadcast(&shape, &before[arg].shape)
                    .ok_or_else(|| format!("while: {shape:?} with {:?}", before[arg].shape))?;
            }
            elements(&shape)?;
            Ok(Type { dtype, shape })
        }
        Step::Recurrence(of, item) => {
            let types = body_types(&step.args(), &of.body, before, promotion)?;
            keep_dtypes(&types, &of.next)?;
            if of.order == StepOrder::Canonical {
                let dtypes = |args: &[usize]| args.iter().map(|&arg| before[arg].dtype).collect::<Vec<_>>();
                if !of.outputs.is_empty() || dtypes(&of.state) != dtypes(&of.inputs) {
                    return Err("a reduction whose elements are no states".to_owned());
                }
            }
            let shapes = RecurrenceShapes::of(of, before)?;
            let end = of.next.iter().chain(&of.outputs).nth(*item).ok_or("a value without a step")?;
            let dtype = types.get(*end).ok_or("an output without a step")?.dtype;
            let shape = if *item < of.state.len() { shapes.others } else { shapes.space };
            Ok(Type { dtype, shape })
        }
        Step::Apply(op, args) => {
            let operand = operand_dtype(*op, args, before, promotion)?;
            let mut shape = Vec::new();
            for arg in step.args() {
                shape = broadcast(&shape, &before[arg].shape)
                    .ok_or_else(|| format!("{op}: {shape:?} with {:?}", before[arg].shape))?;
            }
            elements(&shape)?;
            let is_predicate = signature(*op)?.is_predicate;
            Ok(Type { dtype: if is_predicate { DType::Bool } else { operand }, shape })
        }
    }
}

/// The type of a draw: the axes of the keys, and then those of the draw.
fn draw_type(call: &DrawCall, args: &[Arg], before: &[Type]) -> Result<Type, String> {
    let DrawCall { draw, dtype, shape } = call;
    let Some((&Arg::Step(key), parameters)) = args.split_first() else {
        return Err(format!("{draw}: without a key"));
    };
    if !draws::DRAWS.contains(draw)
        || !draw.gives().dtypes().contains(dtype)
        || parameters.len() != draw.operands()
    {
        return Err(format!("{draw} of {} parameters gives no {dtype}", parameters.len()));
    }
    let key = &before[key];
    let (Some((4, keys)), DType::UInt32) = (key.shape.split_last(), key.dtype) else {
        return Err(format!("{draw}: {:?} is no key", key.shape));
    };
    let shape = [keys, shape].concat();
    elements(&shape)?;
    for parameter in parameters {
        match *parameter {
            Arg::Literal(Literal::Int(_)) => {}
            Arg::Step(i) if before[i].dtype.is_integer() => {
                let fits = broadcast(&before[i].shape, &shape).is_some_and(|joined| joined == shape);
                fits.then_some(()).ok_or_else(|| format!("{draw}: a bound of {:?}", before[i].shape))?;
            }
            _ => return Err(format!("{draw}: a bound that is no integer")),
        }
    }
    if let [Arg::Literal(low), Arg::Literal(high)] = parameters {
        bounds(*low, *high, *dtype)?;
    }
    Ok(Type { dtype: *dtype, shape })
}

/// The bounds of a range of integers, which lie in the dtype.
fn bounds(low: Literal, high: Literal, dtype: DType) -> Result<(i128, i128), String> {
    let (Literal::Int(low), Literal::Int(high)) = (low, high) else {
        return Err("bounds that are no integers".to_owned());
    };
    let fits = |x: i128| literal(Literal::Int(x), dtype).is_some();
    if low < high && fits(low) && fits(high - 1) { Ok((low, high)) } else { Err(format!("{low}…{high}")) }
}

/// The types of the values of a body, whose parameters are elements of the steps `args`.
fn body_types(
    args: &[usize],
    body: &[Step],
    before: &[Type],
    promotion: Promotion,
) -> Result<Vec<Type>, String> {
    let given = |(i, &arg): (usize, &usize)| match is_table(body, i) {
        true => before[arg].clone(),
        false => Type { dtype: before[arg].dtype, shape: Vec::new() },
    };
    let mut types: Vec<Type> = args.iter().enumerate().map(given).collect();
    for step in body {
        let is_element =
            matches!(step, Step::Apply(..) | Step::Cast(..) | Step::Constant(..) | Step::While(..));
        let takes_operand = matches!(step, Step::Take(_, table, ..) if *table < args.len());
        if !is_element && !takes_operand {
            return Err(format!("{step} in the body of a loop"));
        }
        types.push(type_of(step, &types, promotion)?);
    }
    Ok(types)
}

/// Checks that the values `next` of a body have the dtypes of its first values, which they replace.
fn keep_dtypes(types: &[Type], next: &[usize]) -> Result<(), String> {
    let first: Option<Vec<DType>> = types.get(..next.len()).map(|of| of.iter().map(|t| t.dtype).collect());
    let next: Option<Vec<DType>> = next.iter().map(|&next| types.get(next).map(|t| t.dtype)).collect();
    if next.is_some() && next == first { Ok(()) } else { Err(format!("{first:?} becomes {next:?}")) }
}

/// The shapes of a recurrence.
pub struct RecurrenceShapes {
    /// The shape of the outputs.
    pub space: Vec<usize>,
    /// The axis of the outputs along which the steps run.
    pub axis: usize,
    /// The shape of the states, which lack the axis.
    pub others: Vec<usize>,
}

impl RecurrenceShapes {
    /// The shapes of a recurrence, given the types of the steps before it.
    ///
    /// # Errors
    /// The reason why the operands do not fit each other.
    pub fn of(of: &RandomRecurrence, before: &[Type]) -> Result<RecurrenceShapes, String> {
        let mut steps = None;
        let mut others: Vec<usize> = Vec::new();
        let mut join = |shape: &[usize]| {
            others = broadcast(&others, shape).ok_or_else(|| format!("scan: {others:?} with {shape:?}"))?;
            Ok::<_, String>(())
        };
        for &input in &of.inputs {
            let mut shape = before[input].shape.clone();
            let axis = shape.len().checked_add_signed(of.axis).filter(|axis| *axis < shape.len());
            let extent =
                shape.remove(axis.ok_or_else(|| format!("scan: {shape:?} has no axis {}", of.axis))?);
            if *steps.get_or_insert(extent) != extent {
                return Err(format!("scan: {extent} steps, and others"));
            }
            join(&shape)?;
        }
        of.state.iter().chain(&of.captured_elements()).try_for_each(|&arg| join(&before[arg].shape))?;
        let axis = (others.len() + 1).checked_add_signed(of.axis).ok_or("scan: no such axis")?;
        let mut space = others.clone();
        space.insert(axis, steps.ok_or("scan: no inputs")?);
        elements(&space)?;
        Ok(RecurrenceShapes { space, axis, others })
    }
}

impl Program {
    /// The types of the steps, up to the first that is ill-typed.
    pub fn types(&self) -> Vec<Type> {
        types(self)
    }

    /// Each applied function, with the dtype that its operands are converted to.
    pub fn calls(&self) -> impl Iterator<Item = (Op, DType)> + use<'_> {
        let types = types(self);
        self.steps.iter().filter_map(move |step| match step {
            Step::Apply(op, args) => {
                operand_dtype(*op, args, &types, self.promotion).ok().map(|dtype| (*op, dtype))
            }
            _ => None,
        })
    }
}

pub fn signature(op: Op) -> Result<&'static ModelSignature, String> {
    ModelSignature::of(op.name()).ok_or_else(|| format!("the oracle has no {op}"))
}

/// The dtype that the operands are converted to (for `where`, the last two operands).
pub fn operand_dtype(op: Op, args: &[Arg], before: &[Type], mode: Promotion) -> Result<DType, String> {
    let signature = signature(op)?;
    if args.len() != signature.arity {
        return Err(format!("{op} takes {} operands", signature.arity));
    }
    let mut numbers = args;
    if op == Op::Where {
        let is_bool = match args[0] {
            Arg::Step(i) => before[i].dtype == DType::Bool,
            Arg::Literal(x) => matches!(x, Literal::Bool(_)),
        };
        if !is_bool {
            return Err(format!("{op}: the condition is no bool"));
        }
        numbers = &args[1..];
    }
    // Like numpy.result_type: each integer dtype is promoted with the floats, not with the other integers first. int16, uint16
    // and float16 promote to float32, although int16 and uint16 alone promote to int32, which promotes with float16 to float64.
    let arrays: Vec<DType> = numbers
        .iter()
        .filter_map(|arg| if let Arg::Step(i) = *arg { Some(before[i].dtype) } else { None })
        .collect();
    // The result is the smallest float dtype that can represent the values of all operands.
    let least_float = arrays.iter().map(|dtype| match dtype.size() {
        1 => DType::Float16,
        2 => DType::Float32,
        _ => DType::Float64,
    });
    let least_float = least_float.max();
    let is_compared =
        ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"].contains(&op.name());
    let (floats, others): (Vec<DType>, Vec<DType>) = arrays.into_iter().partition(|dtype| dtype.is_float());
    let has_floats = !floats.is_empty();
    let mut met: Option<DType> = None;
    for dtype in floats.into_iter().chain(others) {
        met = Some(match met {
            None => dtype,
            Some(other) => pair(other, dtype, mode).ok_or_else(|| format!("{op}: {other} and {dtype}"))?,
        });
    }
    let mut dtype = met.ok_or_else(|| format!("{op}: literals only"))?;
    // NumPy compares such integers exactly, without a common dtype.
    if is_compared && dtype == DType::Float64 && !has_floats {
        return Err(format!("{op}: integers of both signs"));
    }
    for arg in numbers {
        if let Arg::Literal(x) = *arg {
            dtype = weak(dtype, x, mode).ok_or_else(|| format!("{op}: {dtype} and {x}"))?;
        }
    }
    let takes = |dtype: DType| signature.takes_dtype(dtype.name());
    let dtype = match dtype {
        d if op == Op::Divide && d.is_integer() => DType::Float64,
        d if takes(d) => d,
        // NumPy's reciprocal of an integer is an integer.
        d if d.is_integer() && mode == Promotion::NumPy && takes(DType::Float64) && op != Op::Reciprocal => {
            least_float.unwrap_or(DType::Float64)
        }
        d => return Err(format!("{op} does not take {d}")),
    };
    for arg in numbers {
        if let Arg::Literal(x) = *arg {
            literal(x, dtype).ok_or_else(|| format!("{x} is no {dtype}"))?;
        }
    }
    Ok(dtype)
}

/// The common dtype of the operands of a dot product.
pub fn dot_dtype(x: usize, y: usize, before: &[Type], mode: Promotion) -> Result<DType, String> {
    let (x, y) = (before[x].dtype, before[y].dtype);
    // For bools, NumPy's dot product is true if both operands are true at some index.
    let takes = |dtype: &DType| dtype.is_numeric() || mode == Promotion::NumPy;
    pair(x, y, mode).filter(takes).ok_or_else(|| format!("vecdot of {x} and {y}"))
}

/// The number of bits of an integer dtype.
fn width(dtype: DType) -> usize {
    8 * dtype.size()
}

/// The common dtype of two dtypes.
pub fn pair(a: DType, b: DType, mode: Promotion) -> Option<DType> {
    let (low, high) = if a.kind() <= b.kind() { (a, b) } else { (b, a) };
    let wider = if low.size() >= high.size() { low } else { high };
    match (low.kind(), high.kind()) {
        (x, y) if x == y => Some(wider),
        // The smallest signed dtype that can represent both.
        (Kind::Signed, Kind::Unsigned) => match width(low).max(2 * width(high)) {
            16 => Some(DType::Int16),
            32 => Some(DType::Int32),
            64 => Some(DType::Int64),
            _ if mode == Promotion::NumPy => Some(DType::Float64),
            _ => None,
        },
        _ if mode == Promotion::Strict => None,
        (Kind::Bool, _) => Some(high),
        // The smallest float with at least twice the integer's width, up to float64, and not smaller than the other dtype.
        _ => match (2 * width(low)).min(64).max(width(high)) {
            16 => Some(DType::Float16),
            32 => Some(DType::Float32),
            _ => Some(DType::Float64),
        },
    }
}

/// The common dtype of an array and a literal.
fn weak(dtype: DType, literal: Literal, mode: Promotion) -> Option<DType> {
    let is_kept = match literal {
        Literal::Bool(_) => dtype == DType::Bool,
        Literal::Int(_) => dtype.is_numeric(),
        Literal::Float(_) => dtype.is_float(),
    };
    match literal {
        _ if is_kept => Some(dtype),
        Literal::Bool(_) if mode == Promotion::NumPy => Some(dtype),
        Literal::Int(_) if mode == Promotion::NumPy => Some(DType::Int64),
        Literal::Float(_) if mode == Promotion::NumPy => Some(DType::Float64),
        _ => None,
    }
}

/// The bits of a literal as an element of a dtype, if the dtype can represent it.
pub fn literal(x: Literal, dtype: DType) -> Option<u64> {
    match (x, dtype.kind()) {
        (Literal::Bool(x), _) => Some(oracle::cast(Value::Bool(x), dtype.name()).bits()),
        (Literal::Int(x), Kind::Signed | Kind::Unsigned) => {
            let (width, is_signed) = (width(dtype), dtype.kind() == Kind::Signed);
            let (low, end) =
                if is_signed { (-(1i128 << (width - 1)), 1i128 << (width - 1)) } else { (0, 1 << width) };
            (low..end).contains(&x).then_some(x as u64 & (u64::MAX >> (64 - width)))
        }
        (Literal::Int(x), Kind::Float) => {
            let exact =
                i64::try_from(x).map(Value::I64).or_else(|_| u64::try_from(x).map(Value::U64)).ok()?;
            finite(oracle::cast(exact, dtype.name()))
        }
        (Literal::Float(x), Kind::Float) => {
            let rounded = oracle::cast(Value::F64(x), dtype.name());
            if x.is_finite() { finite(rounded) } else { Some(rounded.bits()) }
        }
        _ => None,
    }
}

fn finite(x: Value) -> Option<u64> {
    let is_finite = oracle::apply("isfinite", &[x]).is_some_and(|truth| truth.bits() == 1);
    is_finite.then_some(x.bits())
}
