//! Builds typed nodes: functions of operands, conversions, views.
//!
//! Type inference runs in this module and in no later stage. A node's operands are converted to the dtypes that its function
//! takes; a number becomes a constant of such a dtype, or remains a number if all operands are numbers. Building and folding an
//! expression of any depth take bounded stack.

use std::sync::Arc;

use broadloom_core::indices::DynamicView;
use broadloom_core::node::Args;
use broadloom_core::op::Arity;
use broadloom_core::padding::{PAD_LIKE, Padding, PaddingStep, PaddingSteps};
use broadloom_core::rewrite::contract;
use broadloom_core::routine::{Routine, RoutineNode};
use broadloom_core::scalar::Class;
use broadloom_core::{Accuracy, DType, Dims, Error, ErrorKind, Literal, Op, Result, Scalar, Shape, View};
use broadloom_core::{fold, infer};
use broadloom_ir::{Axes, Reduction, Scan};
use broadloom_mem::{FloatEnv, HostFunction};
use smallvec::{SmallVec, smallvec};

use crate::array::{Array, Kind, Leaf, Operand};
use crate::operand::{check_numbers, own_dtype};
use crate::promote::promotion;
use crate::weak::Number;

/// Whether the array is a product of floats, or a negated product of floats, which contraction would merge into a sum.
pub(crate) fn is_product(array: &Array<'_>) -> bool {
    array.0.dtype.is_float() && contract::is_product(array, |x| &x.0.kind, is_two)
}

/// Whether the array is the number 2 with a dtype.
pub(crate) fn is_two(array: &Array<'_>) -> bool {
    matches!(array.leaf(), Some(Leaf::Const(value) | Leaf::Rounded(value, _)) if value.class() == Class::Two)
}

/// Prepares an operand of a sum that the user did not write: a product is wrapped in an op that protects it from contraction.
pub(crate) fn uncontracted<'a>(x: &Array<'a>) -> Result<Array<'a>> {
    if is_product(x) { apply(Op::Positive, smallvec![x.into()]) } else { Ok(x.clone()) }
}

/// Applies an op to these operands, after promotion and broadcasting.
pub(crate) fn apply<'a>(op: Op, operands: SmallVec<[Operand<'a>; 3]>) -> Result<Array<'a>> {
    // Numbers are rounded and folded, which requires the default floating-point environment.
    let _ieee = operands.iter().any(|x| x.number().is_some()).then(FloatEnv::ieee);
    let signature = signature(op, &operands)?;
    let numbers_only = operands.iter().all(|x| x.number().is_some());
    if numbers_only && let Some(folded) = fold_numbers(op, &operands, &signature)? {
        return Ok(folded);
    }
    let args = typed_operands(operands, |i| signature.operand(op, i))?;
    let dims = signature.dims.map(Arc::new);
    Ok(Array::with_dims(
        Kind::Apply { op, accuracy: Accuracy::Fast, args },
        signature.result,
        signature.shape,
        dims,
    ))
}

/// The dtypes to which the op converts these operands.
pub(crate) fn operand_dtypes<'a>(op: Op, operands: SmallVec<[Operand<'a>; 3]>) -> Result<Vec<DType>> {
    let signature = signature(op, &operands)?;
    Ok((0..operands.len()).map(|i| signature.operand(op, i)).collect())
}

/// Infers the types of an op's application to these operands. If all operands are numbers, and [`own_dtype`] returns a dtype for
/// them, they are typed as 0-d arrays of this dtype.
fn signature(op: Op, operands: &[Operand<'_>]) -> Result<infer::Signature> {
    let own = own_dtype(op, operands);
    let alone = Shape::scalar();
    let first = usize::from(op.arity() == Arity::Choice);
    let mut known: SmallVec<[infer::Operand<'_>; 3]> = operands.iter().map(Operand::known).collect();
    if let Some(dtype) = own {
        known.iter_mut().skip(first).for_each(|x| *x = infer::Operand::Array(dtype, &alone));
    }
    let signature = infer::apply(op, &known, promotion())?;
    own.map_or(Ok(()), |dtype| check_numbers(op, operands, dtype))?;
    Ok(signature)
}

/// Calls a host function with these operands, after broadcasting. The operands must have the dtypes that the function declares.
pub(crate) fn call<'a>(function: &HostFunction, operands: SmallVec<[Operand<'a>; 3]>) -> Result<Array<'a>> {
    // Numbers are rounded, which requires the default floating-point environment.
    let _ieee = operands.iter().any(|x| x.number().is_some()).then(FloatEnv::ieee);
    let known: SmallVec<[infer::Operand<'_>; 3]> = operands.iter().map(Operand::known).collect();
    let (shape, dims) = infer::call(function.declaration(), &known)?;
    drop(known);
    let signature = function.signature();
    let args = typed_operands(operands, |i| signature.operands()[i])?;
    let kind = Kind::Host { function: function.clone(), args };
    Ok(Array::with_dims(kind, signature.result(), shape, dims.map(Arc::new)))
}

/// Converts the operands to the dtypes that a function takes.
fn typed_operands<'a>(
    operands: SmallVec<[Operand<'a>; 3]>,
    dtype: impl Fn(usize) -> DType,
) -> Result<Args<Array<'a>>> {
    let typed = operands.into_iter().enumerate().map(|(i, operand)| match operand.number() {
        Some(x) => Ok(rounded(infer::literal(x.literal(), dtype(i), promotion())?, x.rounded_by())),
        None => Ok(cast(operand.into_array(), dtype(i))),
    });
    typed.collect()
}

/// Applies the op to numbers, and returns the result as a number. `None` for a division by zero, which an evaluation may have to
/// report as an error.
fn fold_numbers<'a>(
    op: Op,
    operands: &[Operand<'a>],
    signature: &infer::Signature,
) -> Result<Option<Array<'a>>> {
    let mut values: SmallVec<[Scalar; 3]> = SmallVec::new();
    let (mut has_own, mut rounded_by) = (false, None);
    for (i, number) in operands.iter().filter_map(Operand::number).enumerate() {
        values.push(infer::literal(number.literal(), signature.operand(op, i), promotion())?);
        has_own |= number.own_dtype().is_some();
        rounded_by = rounded_by.or(number.rounded_by());
    }
    if !op.is_nearest(signature.operand, values.last().map(|last| last.class())) {
        rounded_by = Some(op);
    }
    if op.faults(signature.operand) && values.last().is_none_or(|divisor| divisor.bits == 0) {
        return Ok(None);
    }
    match fold::apply(op, &values).and_then(|value| Number::folded(value, has_own, rounded_by)) {
        Some(number) => Ok(Some(Array::scalar(number))),
        None => Err(Error::new(ErrorKind::Internal, format!("{op} of {values:?}"))),
    }
}

/// A 0-d array of a value.
pub(crate) fn constant<'a>(value: Scalar) -> Array<'a> {
    Array::of(Kind::Leaf(Leaf::Const(value)), value.dtype, Shape::scalar())
}

/// A 0-d array of one value, with the approximate op that computed it from other numbers, if there is one.
fn rounded<'a>(value: Scalar, by: Option<Op>) -> Array<'a> {
    match by {
        Some(op) => Array::of(Kind::Leaf(Leaf::Rounded(value, op)), value.dtype, Shape::scalar()),
        None => constant(value),
    }
}

/// The array converted to a dtype; the array itself if it already has this dtype and is not a number without a dtype.
pub(crate) fn cast<'a>(arg: Array<'a>, dtype: DType) -> Array<'a> {
    match arg.leaf() {
        Some(Leaf::Number(x)) => {
            let _ieee = FloatEnv::ieee();
            rounded(cast_literal(x.literal(), dtype), x.rounded_by())
        }
        _ if arg.0.dtype == dtype => arg,
        Some(Leaf::Const(value)) => {
            let _ieee = FloatEnv::ieee();
            constant(fold::cast(*value, dtype))
        }
        Some(Leaf::Rounded(value, op)) => {
            let _ieee = FloatEnv::ieee();
            rounded(fold::cast(*value, dtype), Some(*op))
        }
        _ => {
            let (shape, dims) = (arg.0.shape.clone(), arg.0.dims.clone());
            Array::with_dims(Kind::Cast { arg, to: dtype }, dtype, shape, dims)
        }
    }
}

/// The literal as an element of the dtype. A literal that does not fit is converted as `astype` does: a float saturates, and an
/// integer wraps.
fn cast_literal(x: Literal, dtype: DType) -> Scalar {
    x.to_dtype(dtype).unwrap_or_else(|_| infer::converted(x, dtype))
}

/// The array with a fixed dtype: a number without a dtype takes its default dtype.
///
/// Errors: a literal that its default dtype can't represent.
pub(crate) fn typed<'a>(arg: &Array<'a>) -> Result<Array<'a>> {
    match arg.number() {
        Some(x) => Ok(rounded(x.scalar()?, x.rounded_by())),
        None => Ok(arg.clone()),
    }
}

/// Reduces elements along axes. The reduction must accept the dtype of the elements.
pub(crate) fn reduce<'a>(
    reduction: Reduction,
    arg: &Array<'a>,
    axes: Axes,
    keep_dims: bool,
) -> Result<Array<'a>> {
    let arg = typed(arg)?;
    let (shape, dims) = infer::reduce(reduction, &arg.known(), axes, keep_dims)?;
    let dtype = reduction.result(arg.0.dtype);
    Ok(Array::with_dims(Kind::Reduce { arg, reduction, axes, keep_dims }, dtype, shape, dims.map(Arc::new)))
}

/// Scans elements along an axis. The scan must accept the dtype of the elements.
pub(crate) fn scan<'a>(scan: Scan, arg: &Array<'a>, axis: usize, initial: bool) -> Result<Array<'a>> {
    let arg = typed(arg)?;
    let (shape, dims) = infer::scan(scan, &arg.known(), axis, initial)?;
    let (dtype, axis) = (arg.0.dtype, axis as u8);
    let kind = Kind::Scan { arg, scan, axis, initial, before: None };
    Ok(Array::with_dims(kind, dtype, shape, dims.map(Arc::new)))
}

/// The elements of an array at these positions in its row-major order, as int64. The result has the shape of the positions.
pub(crate) fn gather<'a>(table: &Array<'a>, positions: &Array<'a>) -> Result<Array<'a>> {
    let (table, positions) = (typed(table)?, typed(positions)?);
    let (dtype, shape, dims) = (table.0.dtype, positions.0.shape.clone(), positions.0.dims.clone());
    Ok(Array::with_dims(Kind::Gather { table, positions }, dtype, shape, dims))
}

/// The results of a routine, in order. The operands must have the dtypes that it takes.
pub(crate) fn routine<'a>(routine: Routine, args: &[Array<'a>]) -> Result<SmallVec<[Array<'a>; 2]>> {
    let args = args.iter().map(typed).collect::<Result<Vec<Array<'a>>>>()?;
    let operands: SmallVec<[infer::Operand<'_>; 3]> = args.iter().map(Array::known).collect();
    let results = infer::routine(&routine, &operands)?.into_iter().zip(0..);
    let array = |((dtype, shape, dims), item): (infer::RoutineResult, u32)| {
        let kind = Kind::Routine(Box::new(RoutineNode { routine, args: args.clone(), item }));
        Array::with_dims(kind, dtype, shape, dims.map(Arc::new))
    };
    Ok(results.map(array).collect())
}

/// Arrays of one dtype, joined along an axis. Their extents must be known.
pub(crate) fn concat<'a>(name: &str, args: &[Array<'a>], axis: usize) -> Result<Array<'a>> {
    let args = args.iter().map(typed).collect::<Result<Vec<Array<'a>>>>()?;
    let operands: Vec<infer::Operand<'_>> = args.iter().map(Array::known).collect();
    let (dtype, shape) = infer::concat(name, &operands, axis)?;
    if let [array] = &args[..] {
        return Ok(array.clone());
    }
    Ok(Array::of(Kind::Concat { args, axis: axis as u8 }, dtype, shape))
}

/// The number of elements along axes, as a 0-d array of this dtype; a constant if the extents are known.
pub(crate) fn count<'a>(arg: &Array<'a>, axes: Axes, to: DType) -> Array<'a> {
    if arg.0.dims.is_none() {
        let _ieee = FloatEnv::ieee();
        return constant(fold::cast(Scalar::of(axes.count(&arg.0.shape) as u64), to));
    }
    Array::of(Kind::Count { arg: arg.clone(), axes, to }, to, Shape::scalar())
}

/// The int64 numbers 0, 1, …, `len` - 1, without memory.
pub(crate) fn numbers<'a>(len: usize) -> Result<Array<'a>> {
    Ok(Array::of(Kind::Leaf(Leaf::Index(len)), DType::Int64, Shape::new(&[len])?))
}

/// The first words of the stream of a key, which must be uint32[4]: as many as `len`, as uint32 or uint64. They take no memory.
pub(crate) fn words<'a>(key: &Array<'a>, to: DType, len: usize) -> Result<Array<'a>> {
    Ok(Array::of(Kind::Words { key: key.clone(), to, len }, to, Shape::new(&[len])?))
}

/// For each element, its index among the elements along these axes, in row-major order, as int64.
pub(crate) fn index<'a>(arg: &Array<'a>, axes: Axes) -> Result<Array<'a>> {
    let arg = typed(arg)?;
    if arg.0.dims.is_none() {
        let shape = &arg.0.shape;
        let others: Axes = (0..shape.rank()).filter(|&axis| !axes.contains(axis)).collect();
        let along: SmallVec<[usize; 4]> = others.reduced(shape, true, 1).collect();
        let numbers = numbers(axes.count(shape))?;
        let along = view(&numbers, View::Reshape(Shape::new(&along)?))?;
        return view(&along, View::BroadcastTo(shape.clone()));
    }
    let mut number: Option<Array<'a>> = None;
    for axis in axes.iter() {
        infer::index(&arg.known(), axis)?;
        let (shape, dims) = (arg.0.shape.clone(), arg.0.dims.clone());
        let index = Kind::Index { arg: arg.clone(), axis: axis as u8 };
        let index = Array::with_dims(index, DType::Int64, shape, dims);
        number = Some(match number {
            None => index,
            Some(before) => {
                let extent = count(&arg, [axis].into_iter().collect(), DType::Int64);
                let rows = apply(Op::Multiply, [before, extent].map(Into::into).into_iter().collect())?;
                apply(Op::Add, [rows, index].map(Into::into).into_iter().collect())?
            }
        });
    }
    number.map_or_else(|| numbers(1).and_then(|zero| view(&zero, View::Reshape(Shape::scalar()))), Ok)
}

/// Applies a view.
pub(crate) fn view<'a>(arg: &Array<'a>, view: View) -> Result<Array<'a>> {
    if let Some(dims) = &arg.0.dims {
        return symbolic_view(arg, view, dims);
    }
    view.check(&arg.0.shape)?;
    if view.changes_nothing(&arg.0.shape) {
        return Ok(arg.clone());
    }
    let shape = view.shape(&arg.0.shape);
    if let Some(data) = arg.in_memory()
        && let Some(layout) = data.layout.view(&view)
    {
        return Ok(Array::data(data.storage.clone(), layout));
    }
    // All elements of a broadcast scalar are equal, so any view of it is again a broadcast of the scalar.
    if let Kind::View { arg: inner, view: outer } = &arg.0.kind
        && inner.0.shape.rank() == 0
        && matches!(**outer, View::BroadcastTo(_))
    {
        return self::view(inner, View::BroadcastTo(shape));
    }
    let arg = typed(arg)?;
    let dtype = arg.0.dtype;
    Ok(Array::of(Kind::View { arg, view: Arc::new(view) }, dtype, shape))
}

/// Applies a view that depends on extents: now if the extents are known, and otherwise when the kernel is bound.
pub(crate) fn dynamic_view<'a>(arg: &Array<'a>, function: &str, view: DynamicView) -> Result<Array<'a>> {
    let Some(dims) = &arg.0.dims else {
        let views = view.resolve(function, &arg.0.shape)?;
        return views.into_iter().try_fold(arg.clone(), |arg, view| self::view(&arg, view));
    };
    if view.changes_nothing() {
        return Ok(arg.clone());
    }
    let dims = view.dims(function, dims)?;
    let (dtype, shape) = (arg.0.dtype, dims.least_shape()?);
    let dims = if dims.is_fixed() { None } else { Some(Arc::new(dims)) };
    Ok(Array::with_dims(Kind::DynamicView { arg: arg.clone(), view: Arc::new(view) }, dtype, shape, dims))
}

/// The elements of an array moved back to the indices of a range of an axis that is as long as that of `like`, with zeros at the
/// others: now if the extents are known, and otherwise when the kernel is bound.
pub(crate) fn pad_like<'a>(arg: &Array<'a>, like: &Array<'a>, padding: Padding) -> Result<Array<'a>> {
    let arg = typed(arg)?;
    let dims = padding.dims(&arg.all_dims(), &like.all_dims())?;
    if arg.0.dims.is_none() && dims.is_fixed() {
        // The axis of `like` has this extent whatever its other axes are.
        return padded(&arg, padding.steps(&arg.0.shape, &like.0.shape)?);
    }
    let (dtype, shape) = (arg.0.dtype, dims.least_shape()?);
    let kind = Kind::PadLike { arg, like: like.clone(), padding: Arc::new(padding) };
    Ok(Array::with_dims(kind, dtype, shape, Some(Arc::new(dims))))
}

/// Follows the steps that move elements back to the indices of a range.
pub(crate) fn padded<'a>(arg: &Array<'a>, steps: PaddingSteps) -> Result<Array<'a>> {
    steps.into_iter().try_fold(arg.clone(), |arg, step| match step {
        PaddingStep::View(view) => self::view(&arg, view),
        PaddingStep::Zeros { axis, before, after } => {
            let zero = constant(Scalar { dtype: arg.0.dtype, bits: 0 });
            let zeros = |shape: Option<Shape>| {
                shape.map(|shape| self::view(&zero, View::BroadcastTo(shape))).transpose()
            };
            let elements = Some(arg.clone()).filter(|arg| arg.0.shape[axis] > 0);
            let parts: Vec<Array<'a>> =
                [zeros(before)?, elements, zeros(after)?].into_iter().flatten().collect();
            concat(PAD_LIKE, &parts, axis)
        }
    })
}

/// A view of an array with dynamic dimensions.
///
/// Errors: any view except a permutation of known axes, since the validity and the shape of other views depend on the extents.
#[cold]
fn symbolic_view<'a>(arg: &Array<'a>, view: View, dims: &Dims) -> Result<Array<'a>> {
    let View::Permute(axes) = &view else {
        let why = format!("{view}: the extents of {}{dims} are open", arg.0.dtype);
        return Err(Error::new(ErrorKind::Shape, why)
            .with_help("run the kernel on a view of the input instead, or fix the extents"));
    };
    if dims.has_rest() {
        let why = format!("{view}: the rank of {}{dims} is open", arg.0.dtype);
        return Err(Error::new(ErrorKind::Shape, why));
    }
    view.check(&arg.0.shape)?;
    if view.changes_nothing(&arg.0.shape) {
        return Ok(arg.clone());
    }
    let permuted = dims.permuted(axes).map(Arc::new);
    let shape = view.shape(&arg.0.shape);
    Ok(Array::with_dims(Kind::View { arg: arg.clone(), view: Arc::new(view) }, arg.0.dtype, shape, permuted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_operations_fold_into_literals() -> Result<()> {
        let folded = |op, operands: &[Literal]| -> Result<Array<'static>> {
            apply(op, operands.iter().map(|&x| Operand::Number(x.into())).collect())
        };
        for (op, operands, result) in [
            (Op::Add, &[Literal::Int(2), Literal::Int(3)][..], Some(Literal::Int(5))),
            (Op::Multiply, &[Literal::Int(2), Literal::Float(0.25)], Some(Literal::Float(0.5))),
            (Op::Divide, &[Literal::Int(1), Literal::Int(4)], Some(Literal::Float(0.25))),
            (Op::Less, &[Literal::Int(1), Literal::Int(4)], Some(Literal::Bool(true))),
            (Op::Sqrt, &[Literal::Int(9)], Some(Literal::Float(3.0))),
            (Op::FloorDivide, &[Literal::Int(7), Literal::Int(2)], Some(Literal::Int(3))),
            (Op::FloorDivide, &[Literal::Int(7), Literal::Int(0)], None),
            (Op::Remainder, &[Literal::Float(7.0), Literal::Int(2)], Some(Literal::Float(1.0))),
            (Op::Add, &[Literal::Int(i64::MAX.into()), Literal::Int(1)], Some(Literal::Int(i64::MIN.into()))),
        ] {
            let got = folded(op, operands)?;
            match (&got.0.kind, result) {
                (Kind::Leaf(Leaf::Number(x)), Some(expected)) => assert_eq!(**x, expected.into(), "{op}"),
                (Kind::Apply { .. }, None) => assert_eq!(got.dtype(), DType::Int64),
                _ => panic!("{op} of {operands:?} became something else"),
            }
        }
        let nan = folded(Op::Divide, &[Literal::Float(0.0), Literal::Float(0.0)])?;
        let sign = apply(Op::SignBit, [Operand::Array(nan)].into_iter().collect())?;
        assert_eq!(sign.number(), Some(Literal::Bool(false).into()), "a computed NaN is positive");
        Ok(())
    }

    #[test]
    fn literals_become_constants_of_the_operand_dtype() -> Result<()> {
        let x = constant(Scalar::of(1.5f32));
        let y = apply(Op::Add, [x.into(), Operand::Number(Literal::Int(2).into())].into_iter().collect())?;
        let Kind::Apply { args, .. } = &y.0.kind else { panic!("not a sum") };
        let two = args.get(1).and_then(Array::leaf);
        assert!(matches!(two, Some(Leaf::Const(s)) if *s == Scalar::of(2.0f32)));
        assert_eq!(args.iter().count(), 2);
        Ok(())
    }

    #[test]
    fn literals_convert_as_arrays_do_where_they_do_not_fit() {
        for (x, dtype, bits) in [
            (Literal::Int(300), DType::UInt8, 44),
            (Literal::Int(-1), DType::UInt64, u64::MAX),
            (Literal::Float(2.9), DType::Int8, 2),
            (Literal::Float(1e9), DType::Int8, 127),
            (Literal::Float(1e300), DType::Float32, f32::INFINITY.to_bits().into()),
            (Literal::Int(3), DType::Bool, 1),
            (Literal::Bool(true), DType::Float64, 1f64.to_bits()),
        ] {
            assert_eq!(cast_literal(x, dtype), Scalar { dtype, bits }, "{x} to {dtype}");
        }
    }
}
