//! The expression behind a handle: a DAG of typed nodes.
//!
//! In: ops on operands, conversions, views. Out: nodes whose operands have exactly the types that the op takes.
//! Must hold: typed at birth; a literal is a root or has become a constant; building, folding and dropping take
//! bounded stack however deep the DAG is. No Debug, Eq or Hash is derived here: they would recurse.

use std::sync::Arc;

use broadloom_core::{DType, Dims, Error, ErrorKind, Layout, Literal, Op, Result, Scalar, Shape, View};
use broadloom_core::{fold, infer};
use broadloom_mem::{FloatEnv, HostFunction};
use smallvec::SmallVec;

use crate::array::Array;
use crate::operand::{IntoArray, Operand};
use crate::promote::promotion;
use crate::storage::Storage;

/// A node.
pub(crate) struct Expr<'a> {
    pub kind: Kind<'a>,
    pub dtype: DType,
    /// With symbols, their [`Dims::least_shape`].
    pub shape: Shape,
    /// Of what depends on inputs of a kernel whose extents are open.
    pub dims: Option<Arc<Dims>>,
}

/// What a node is.
pub(crate) enum Kind<'a> {
    /// Elements in memory.
    Data(Box<Leaf<'a>>),
    /// An input of kernels, by name: it has no elements.
    Input(Box<str>),
    /// A number that has met no array, 0-d. Boxed: it is the largest, and rare.
    Literal(Box<Literal>),
    /// A number that has, 0-d.
    Const(Scalar),
    /// A function; as many operands as it takes. Not a `SmallVec`, which would make the lifetime invariant.
    Apply { op: Op, args: [Option<Array<'a>>; 3] },
    /// A function of the host program; as many operands as it takes.
    Host { function: HostFunction, args: [Option<Array<'a>>; 3] },
    /// A conversion to the node's dtype.
    Cast { arg: Array<'a> },
    /// The same elements under another shape.
    View { arg: Array<'a>, view: Box<View> },
}

/// Elements in memory, and where each lies.
pub(crate) struct Leaf<'a> {
    pub storage: Storage<'a>,
    pub layout: Layout,
}

/// The op of these operands, promoted and broadcast.
pub(crate) fn apply<'a>(op: Op, operands: SmallVec<[Operand<'a>; 3]>) -> Result<Array<'a>> {
    // Literals are rounded and folded, whatever the host has set.
    let _ieee = operands.iter().any(|x| x.literal().is_some()).then(FloatEnv::ieee);
    let known: SmallVec<[infer::Operand<'_>; 3]> = operands.iter().map(Operand::known).collect();
    let signature = infer::apply(op, &known, promotion())?;
    let literals_only = known.iter().all(|x| matches!(x, infer::Operand::Literal(_)));
    drop(known);
    if literals_only && let Some(folded) = fold_literals(op, &operands, &signature)? {
        return Ok(folded);
    }
    let mut args = [None, None, None];
    for (i, operand) in operands.into_iter().enumerate() {
        let dtype = signature.operand(op, i);
        args[i] = Some(match operand.literal() {
            Some(x) => constant(x.to_dtype(dtype)?),
            None => cast(operand.into_array(), dtype),
        });
    }
    let dims = signature.dims.map(Arc::new);
    Ok(Array::with_dims(Kind::Apply { op, args }, signature.result, signature.shape, dims))
}

/// A host function of these operands, which have its dtypes, broadcast.
pub(crate) fn call<'a>(function: &HostFunction, operands: SmallVec<[Operand<'a>; 3]>) -> Result<Array<'a>> {
    // Literals are rounded, whatever the host has set.
    let _ieee = operands.iter().any(|x| x.literal().is_some()).then(FloatEnv::ieee);
    let known: SmallVec<[infer::Operand<'_>; 3]> = operands.iter().map(Operand::known).collect();
    let (shape, dims) = infer::call(function.declaration(), &known)?;
    drop(known);
    let signature = function.signature();
    let mut args = [None, None, None];
    for ((place, operand), &dtype) in args.iter_mut().zip(operands).zip(signature.operands()) {
        *place = Some(match operand.literal() {
            Some(x) => constant(x.to_dtype(dtype)?),
            None => operand.into_array(),
        });
    }
    let kind = Kind::Host { function: function.clone(), args };
    Ok(Array::with_dims(kind, signature.result(), shape, dims.map(Arc::new)))
}

/// The literal that the op gives for literals; not where a zero divisor may have to fail the evaluation.
fn fold_literals<'a>(
    op: Op,
    operands: &[Operand<'a>],
    signature: &infer::Signature,
) -> Result<Option<Array<'a>>> {
    let mut values: SmallVec<[Scalar; 3]> = SmallVec::new();
    for (i, literal) in operands.iter().filter_map(Operand::literal).enumerate() {
        values.push(literal.to_dtype(signature.operand(op, i))?);
    }
    if op.faults(signature.operand) && values.last().is_none_or(|divisor| divisor.bits == 0) {
        return Ok(None);
    }
    let Some(value) = fold::apply(op, &values) else {
        return Err(Error::new(ErrorKind::Internal, format!("{op} of {values:?}")));
    };
    Ok(Some(match (value.get::<bool>(), value.get::<i64>(), value.get::<f64>()) {
        (Some(x), ..) => Array::scalar(x),
        (_, Some(x), _) => Array::scalar(x),
        (.., Some(x)) => Array::scalar(x),
        _ => constant(value),
    }))
}

/// A 0-d array of one value.
pub(crate) fn constant<'a>(value: Scalar) -> Array<'a> {
    Array::of(Kind::Const(value), value.dtype, Shape::scalar())
}

/// The array converted to a dtype; the array itself if it has it, and is no literal.
pub(crate) fn cast<'a>(arg: Array<'a>, dtype: DType) -> Array<'a> {
    match &arg.0.kind {
        Kind::Literal(x) => {
            let _ieee = FloatEnv::ieee();
            constant(cast_literal(**x, dtype))
        }
        _ if arg.0.dtype == dtype => arg,
        Kind::Const(value) => {
            let _ieee = FloatEnv::ieee();
            constant(fold::cast(*value, dtype))
        }
        _ => {
            let (shape, dims) = (arg.0.shape.clone(), arg.0.dims.clone());
            Array::with_dims(Kind::Cast { arg }, dtype, shape, dims)
        }
    }
}

/// The literal as the dtype itself where it fits, and else as astype converts it: a float saturates, an integer
/// wraps.
fn cast_literal(x: Literal, dtype: DType) -> Scalar {
    x.to_dtype(dtype).unwrap_or_else(|_| match x {
        Literal::Bool(x) => fold::cast(Scalar::of(x), dtype),
        Literal::Float(x) => fold::cast(Scalar::of(x), dtype),
        Literal::Int(x) if dtype == DType::Bool => Scalar::of(x != 0),
        Literal::Int(x) if dtype.is_float() => fold::cast(Scalar::of(x as f64), dtype),
        Literal::Int(x) => fold::cast(Scalar::of(x as u64), dtype),
    })
}

/// The array with a dtype of its own: a literal gets its default one.
///
/// Errors: a literal that the default dtype can't hold.
pub(crate) fn typed<'a>(arg: &Array<'a>) -> Result<Array<'a>> {
    match &arg.0.kind {
        Kind::Literal(x) => Ok(constant(x.to_dtype(x.default_dtype())?)),
        _ => Ok(arg.clone()),
    }
}

/// The same elements under another shape.
pub(crate) fn view<'a>(arg: &Array<'a>, view: View) -> Result<Array<'a>> {
    if let Some(dims) = &arg.0.dims {
        return symbolic_view(arg, view, dims);
    }
    view.check(&arg.0.shape)?;
    if changes_nothing(&view, &arg.0.shape) {
        return Ok(arg.clone());
    }
    let shape = view.shape(&arg.0.shape);
    match &arg.0.kind {
        Kind::Data(leaf) => {
            if let Some(layout) = leaf.layout.view(&view) {
                return Ok(Array::data(leaf.storage.clone(), layout));
            }
        }
        // Every element is the same one.
        Kind::View { arg: inner, view: outer }
            if inner.0.shape.rank() == 0 && matches!(**outer, View::BroadcastTo(_)) =>
        {
            return self::view(inner, View::BroadcastTo(shape));
        }
        _ => {}
    }
    let arg = typed(arg)?;
    let dtype = arg.0.dtype;
    Ok(Array::of(Kind::View { arg, view: Box::new(view) }, dtype, shape))
}

/// A view of what has open extents.
///
/// Errors: any but a permutation of known axes, since what it is depends on the extents.
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
    let permuted = dims.permuted(axes).map(Arc::new);
    let shape = view.shape(&arg.0.shape);
    Ok(Array::with_dims(Kind::View { arg: arg.clone(), view: Box::new(view) }, arg.0.dtype, shape, permuted))
}

fn changes_nothing(view: &View, of: &Shape) -> bool {
    match view {
        View::BroadcastTo(shape) | View::Reshape(shape) => shape == of,
        View::Permute(axes) => axes.iter().enumerate().all(|(i, &axis)| i == axis as usize),
        View::Slice(slices) => {
            slices.iter().zip(of.iter()).all(|(s, &n)| s.len == n && (n <= 1 || s.start == 0 && s.step == 1))
        }
    }
}

impl Drop for Expr<'_> {
    /// Takes apart the nodes that only this one holds, deepest last, without recursion.
    fn drop(&mut self) {
        let mut orphans: SmallVec<[Array<'_>; 4]> = SmallVec::new();
        take_operands(&mut self.kind, &mut orphans);
        while let Some(Array(node)) = orphans.pop() {
            // None where another handle holds the node; exactly one of the last two holders gets it.
            if let Some(mut node) = Arc::into_inner(node) {
                take_operands(&mut node.kind, &mut orphans);
            }
        }
    }
}

fn take_operands<'a>(kind: &mut Kind<'a>, into: &mut SmallVec<[Array<'a>; 4]>) {
    if matches!(kind, Kind::Data(_) | Kind::Input(_) | Kind::Literal(_) | Kind::Const(_)) {
        return;
    }
    match std::mem::replace(kind, Kind::Const(Scalar::of(false))) {
        Kind::Apply { args, .. } | Kind::Host { args, .. } => into.extend(args.into_iter().flatten()),
        Kind::Cast { arg } | Kind::View { arg, .. } => into.push(arg),
        Kind::Data(_) | Kind::Input(_) | Kind::Literal(_) | Kind::Const(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sends<T: Send + Sync>() {}

    #[test]
    fn a_handle_is_a_pointer_and_crosses_threads() {
        sends::<Array<'static>>();
        assert_eq!(size_of::<Array<'static>>(), size_of::<usize>());
        // A million nodes are 112 MB with the counts: keep nodes small.
        assert!(size_of::<Expr<'static>>() <= 96, "{}", size_of::<Expr<'static>>());
    }

    fn shorter<'a>(long: Array<'static>, _: &'a [f32]) -> Array<'a> {
        long // compiles only if the lifetime is covariant
    }

    #[test]
    fn an_owning_handle_serves_where_a_borrowing_one_is_asked_for() {
        assert_eq!(shorter(Array::scalar(1), &[0.0]).rank(), 0);
    }

    #[test]
    fn literal_operations_fold_into_literals() -> Result<()> {
        let folded = |op, operands: &[Literal]| -> Result<Array<'static>> {
            apply(op, operands.iter().map(|&x| Operand::Literal(x)).collect())
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
                (Kind::Literal(x), Some(expected)) => assert_eq!(**x, expected, "{op}"),
                (Kind::Apply { .. }, None) => assert_eq!(got.dtype(), DType::Int64),
                _ => panic!("{op} of {operands:?} became something else"),
            }
        }
        let nan = folded(Op::Divide, &[Literal::Float(0.0), Literal::Float(0.0)])?;
        let sign = apply(Op::SignBit, [Operand::Array(nan)].into_iter().collect())?;
        let Kind::Literal(sign) = &sign.0.kind else { panic!("a literal of literals") };
        assert_eq!(**sign, Literal::Bool(false), "a computed NaN is positive");
        Ok(())
    }

    #[test]
    fn literals_become_constants_of_the_operand_dtype() -> Result<()> {
        let x = constant(Scalar::of(1.5f32));
        let y = apply(Op::Add, [x.into(), Operand::Literal(Literal::Int(2))].into_iter().collect())?;
        let Kind::Apply { args: [_, Some(two), None], .. } = &y.0.kind else { panic!("not a sum") };
        assert!(matches!(two.0.kind, Kind::Const(s) if s == Scalar::of(2.0f32)));
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
