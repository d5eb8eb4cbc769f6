//! Steps that read elements at computed places: takes, sorts, searches, reductions by label and scatters. Their types, texts and
//! expected elements are written from their definitions, one element after another.

use std::cmp::Ordering;

use broadloom_core::routine::{ScatterMode, SegmentFunction};
use broadloom_core::{DType, Kind, Op, Promotion};

use super::affine::axis_of;
use super::program::{TakeKind, WholeArrayCall};
use super::shape::{broadcast, elements};
use super::typing::Type;
use crate::reduction::{Function, Reduction};
use crate::tensor::Tensor;
use crate::{Value, oracle};

/// The elements of a step, and the function that fails for them, if one does.
pub(super) type ElementsAndFault = (Vec<u64>, Option<&'static str>);

impl TakeKind {
    /// The name of the function.
    pub(super) fn name(self) -> &'static str {
        match self {
            TakeKind::Take => "take",
            TakeKind::AlongAxis => "take_along_axis",
        }
    }

    /// The type of the elements of `x` that are taken.
    pub(super) fn type_of(self, x: &Type, indices: &Type, axis: isize) -> Result<Type, String> {
        let axis = axis_of(axis, x.shape.len())?;
        if !indices.dtype.is_integer() {
            return Err(format!("{}: indices of {}", self.name(), indices.dtype));
        }
        let shape = match self {
            TakeKind::Take => [&x.shape[..axis], &indices.shape, &x.shape[axis + 1..]].concat(),
            TakeKind::AlongAxis => {
                if indices.shape.len() != x.shape.len() {
                    return Err(format!("take_along_axis: {:?} of {:?}", indices.shape, x.shape));
                }
                // The axis has the extent of the indices; the other axes broadcast.
                let mut others = x.shape.clone();
                others[axis] = indices.shape[axis];
                let joined = broadcast(&others, &indices.shape);
                joined.ok_or_else(|| format!("take_along_axis: {:?} of {:?}", indices.shape, x.shape))?
            }
        };
        elements(&shape)?;
        Ok(Type { dtype: x.dtype, shape })
    }

    /// The elements that are taken.
    pub(super) fn run(
        self,
        x: &Tensor,
        indices: &Tensor,
        axis: isize,
        t: &Type,
    ) -> Result<ElementsAndFault, String> {
        let axis = axis_of(axis, x.shape.len())?;
        let extent = x.shape[axis] as i128;
        let (mut bits, mut fault) = (Vec::new(), None);
        for place in places(&t.shape) {
            let (mut of, index) = match self {
                TakeKind::Take => {
                    let end = axis + indices.shape.len();
                    let of = [&place[..axis], &[0], &place[end..]].concat();
                    (of, &indices.bits[position(&place[axis..end], &indices.shape)])
                }
                TakeKind::AlongAxis => (place.clone(), &indices.bits[position(&place, &indices.shape)]),
            };
            let index = number(indices.dtype, *index);
            let index = if index < 0 { index + extent } else { index };
            if !(0..extent).contains(&index) {
                // Errors name all takes so.
                fault = Some(TakeKind::Take.name());
                bits.push(0);
                continue;
            }
            of[axis] = index as usize;
            bits.push(x.bits[position(&of, &x.shape)]);
        }
        Ok((bits, fault))
    }
}

impl WholeArrayCall {
    /// The text of a call of named operands.
    pub(super) fn text(&self, args: &[String]) -> String {
        let all = args.join(", ");
        match *self {
            WholeArrayCall::Sort { axis, descending } => {
                format!("sort({all}, axis={axis}, descending={descending})")
            }
            WholeArrayCall::ArgSort { axis, descending } => {
                format!("argsort({all}, axis={axis}, descending={descending})")
            }
            WholeArrayCall::TopK { k, axis, largest, is_indices } => {
                let name = if is_indices { "topk_indices" } else { "topk" };
                format!("{name}({all}, {k}, axis={axis}, largest={largest})")
            }
            WholeArrayCall::SearchSorted { right } => format!("searchsorted({all}, right={right})"),
            WholeArrayCall::Segments { function, segments } => {
                format!("{}({all}, {segments})", function.name())
            }
            WholeArrayCall::Scatter(mode) => format!("{}({all})", mode.function()),
        }
    }

    /// The type of the result.
    pub(super) fn type_of(&self, args: &[&Type], promotion: Promotion) -> Result<Type, String> {
        match (*self, args) {
            (WholeArrayCall::Sort { axis, .. }, [x]) => axis_of(axis, x.shape.len()).map(|_| (*x).clone()),
            (WholeArrayCall::ArgSort { axis, .. }, [x]) => {
                axis_of(axis, x.shape.len()).map(|_| Type { dtype: DType::Int64, shape: x.shape.clone() })
            }
            (WholeArrayCall::TopK { k, axis, is_indices, .. }, [x]) => {
                let (axis, mut shape) = (axis_of(axis, x.shape.len())?, x.shape.clone());
                if k > shape[axis] {
                    return Err(format!("topk: {k} of {}", shape[axis]));
                }
                shape[axis] = k;
                Ok(Type { dtype: if is_indices { DType::Int64 } else { x.dtype }, shape })
            }
            (WholeArrayCall::SearchSorted { .. }, [sorted, queries]) => {
                if sorted.shape.len() != 1 || sorted.dtype != queries.dtype {
                    return Err(format!("searchsorted: in {:?}", sorted.shape));
                }
                Ok(Type { dtype: DType::Int64, shape: queries.shape.clone() })
            }
            (WholeArrayCall::Segments { function: SegmentFunction::Count, segments }, [labels]) => {
                if labels.shape.len() != 1 || !labels.dtype.is_integer() {
                    return Err(format!("labels of {:?}", labels.shape));
                }
                Ok(Type { dtype: DType::Int64, shape: vec![segments] })
            }
            (WholeArrayCall::Segments { function, segments }, [x, labels]) => {
                if x.shape.is_empty() || labels.shape[..] != x.shape[..1] || !labels.dtype.is_integer() {
                    return Err(format!("labels of {:?} for {:?}", labels.shape, x.shape));
                }
                // The type does not depend on the number of elements.
                let one = [&[1][..], &x.shape[1..]].concat();
                let of = reduction(function)?.type_of(x.dtype, &one, promotion)?;
                if x.dtype == DType::Bool {
                    return Err("bools are not reduced by label".to_owned());
                }
                let shape = [&[segments][..], &x.shape[1..]].concat();
                elements(&shape)?;
                Ok(Type { dtype: of.0, shape })
            }
            (WholeArrayCall::Scatter(mode), [x, positions, values]) => {
                let is_bool = x.dtype == DType::Bool && mode != ScatterMode::Set;
                if is_bool
                    || positions.dtype != DType::Int64
                    || values.dtype != x.dtype
                    || values.shape != positions.shape
                {
                    return Err(format!("{mode}: {:?} at {:?}", values.shape, positions.shape));
                }
                Ok((*x).clone())
            }
            _ => Err(format!("{self:?} of {} operands", args.len())),
        }
    }

    /// The elements of the result.
    pub(super) fn run(
        &self,
        args: &[&Tensor],
        t: &Type,
        promotion: Promotion,
    ) -> Result<ElementsAndFault, String> {
        match (*self, args) {
            (WholeArrayCall::Sort { axis, descending }, [x]) => {
                let as_stored = |bits: u64| if x.dtype == DType::Bool { u64::from(bits != 0) } else { bits };
                let of = |row: &[u64], index: usize| as_stored(row[index]);
                Ok((ordered(x, axis, descending, t, &of)?, None))
            }
            (WholeArrayCall::ArgSort { axis, descending }, [x]) => {
                Ok((ordered(x, axis, descending, t, &|_, index| index as u64)?, None))
            }
            (WholeArrayCall::TopK { axis, largest, is_indices, .. }, [x]) => {
                let as_stored = |bits: u64| if x.dtype == DType::Bool { u64::from(bits != 0) } else { bits };
                let of =
                    |row: &[u64], index: usize| if is_indices { index as u64 } else { as_stored(row[index]) };
                Ok((ordered(x, axis, largest, t, &of)?, None))
            }
            (WholeArrayCall::SearchSorted { right }, [sorted, queries]) => {
                let compare = |a: u64, b: u64| by_number(sorted.dtype, a, b);
                let search = |&query: &u64| {
                    let (mut low, mut high) = (0, sorted.bits.len());
                    while low < high {
                        let middle = low + (high - low) / 2;
                        let order = compare(sorted.bits[middle], query);
                        let is_before = order == Ordering::Less || right && order == Ordering::Equal;
                        if is_before { low = middle + 1 } else { high = middle }
                    }
                    low as u64
                };
                Ok((queries.bits.iter().map(search).collect(), None))
            }
            (WholeArrayCall::Segments { function: SegmentFunction::Count, segments }, [labels]) => {
                let (members, is_wrong) = members(labels, segments);
                let counts = members.iter().map(|of| of.len() as u64).collect();
                Ok((counts, (is_wrong && segments > 0).then_some("segment_count")))
            }
            (WholeArrayCall::Segments { function, segments }, [x, labels]) => {
                let (members, is_wrong) = members(labels, segments);
                let row: usize = x.shape[1..].iter().product();
                let mut bits = Vec::new();
                for of in members {
                    bits.extend(reduced(function, x, &of, row, t.dtype, promotion)?);
                }
                let is_empty = bits.is_empty();
                Ok((bits, (is_wrong && !is_empty).then_some(function.name())))
            }
            (WholeArrayCall::Scatter(mode), [x, positions, values]) => {
                scattered(mode, x, positions, values, promotion)
            }
            _ => Err(format!("{self:?} of {} operands", args.len())),
        }
    }
}

/// The reduction of the elements of a segment.
fn reduction(function: SegmentFunction) -> Result<Reduction, String> {
    let function = match function {
        SegmentFunction::Sum => Function::Sum,
        SegmentFunction::Prod => Function::Prod,
        SegmentFunction::Max => Function::Max,
        SegmentFunction::Min => Function::Min,
        SegmentFunction::Mean => Function::Mean,
        SegmentFunction::Count => return Err("a count reduces no elements".to_owned()),
    };
    Ok(Reduction::along(function, &[0]))
}

/// The indices of the elements of each label, and whether a label is that of no segment, and not −1.
fn members(labels: &Tensor, segments: usize) -> (Vec<Vec<usize>>, bool) {
    let (mut members, mut is_wrong) = (vec![Vec::new(); segments], false);
    for (i, &bits) in labels.bits.iter().enumerate() {
        let label = number(labels.dtype, bits);
        match usize::try_from(label).ok().and_then(|label| members.get_mut(label)) {
            Some(of) => of.push(i),
            None => is_wrong |= label != -1,
        }
    }
    (members, is_wrong)
}

/// The reduction of these rows of `x`, each of `row` elements.
fn reduced(
    function: SegmentFunction,
    x: &Tensor,
    of: &[usize],
    row: usize,
    dtype: DType,
    promotion: Promotion,
) -> Result<Vec<u64>, String> {
    if of.is_empty() && matches!(function, SegmentFunction::Max | SegmentFunction::Min) {
        return Ok(vec![limit(dtype, function == SegmentFunction::Min); row]);
    }
    let bits = of.iter().flat_map(|&i| x.bits[i * row..][..row].iter().copied()).collect();
    let mut shape = x.shape.clone();
    shape[0] = of.len();
    Ok(reduction(function)?.run(&Tensor { dtype: x.dtype, shape, bits }, promotion)?.bits)
}

/// The bits of the greatest or the least value of a dtype; of floats, an infinity.
fn limit(dtype: DType, is_greatest: bool) -> u64 {
    let width = 8 * dtype.size() as u32;
    let ones = u64::MAX >> (64 - width);
    match (dtype.kind(), is_greatest) {
        (Kind::Float, _) => {
            let infinity = match dtype {
                DType::Float16 => 0x7c00,
                DType::Float32 => 0x7f80_0000,
                _ => 0x7ff0_0000_0000_0000,
            };
            if is_greatest { infinity } else { infinity | 1 << (width - 1) }
        }
        (Kind::Signed, true) => ones >> 1,
        (Kind::Signed, false) => 1 << (width - 1),
        (_, true) => ones,
        (_, false) => 0,
    }
}

fn scattered(
    mode: ScatterMode,
    x: &Tensor,
    positions: &Tensor,
    values: &Tensor,
    promotion: Promotion,
) -> Result<ElementsAndFault, String> {
    let (members, is_wrong) = members(positions, x.bits.len());
    let is_negative = positions.bits.iter().any(|&bits| number(DType::Int64, bits) < 0);
    let flat = Tensor { dtype: values.dtype, shape: vec![values.bits.len()], bits: values.bits.clone() };
    let (function, op) = match mode {
        ScatterMode::Set => (SegmentFunction::Count, Op::Where),
        ScatterMode::Add => (SegmentFunction::Sum, Op::Add),
        ScatterMode::Multiply => (SegmentFunction::Prod, Op::Multiply),
        ScatterMode::Min => (SegmentFunction::Min, Op::Minimum),
        ScatterMode::Max => (SegmentFunction::Max, Op::Maximum),
    };
    let mut bits = x.bits.clone();
    for (to, of) in bits.iter_mut().zip(&members) {
        let Some(&last) = of.last() else { continue };
        if mode == ScatterMode::Set {
            *to = values.bits[last];
            continue;
        }
        let dtype = reduction(function)?.type_of(x.dtype, &[1], promotion)?.0;
        let sum = reduced(function, &flat, of, 1, dtype, promotion)?[0];
        let sum = oracle::cast(value(dtype, sum), x.dtype.name());
        let joined = oracle::apply(op.name(), &[value(x.dtype, *to), sum]);
        *to = joined.ok_or_else(|| format!("{op} of {}", x.dtype))?.bits();
    }
    let fails = (is_wrong || is_negative) && !x.bits.is_empty();
    Ok((bits, fails.then_some("scatter")))
}

/// For each row along an axis, what `of` makes of the indices in order, as many as the type has.
fn ordered(
    x: &Tensor,
    axis: isize,
    descending: bool,
    t: &Type,
    of: &dyn Fn(&[u64], usize) -> u64,
) -> Result<Vec<u64>, String> {
    let axis = axis_of(axis, x.shape.len())?;
    let mut bits = vec![0; t.elements()];
    let mut first = x.shape.clone();
    first[axis] = x.shape[axis].min(1);
    for mut place in places(&first) {
        let along: Vec<u64> = (0..x.shape[axis])
            .map(|i| {
                place[axis] = i;
                x.bits[position(&place, &x.shape)]
            })
            .collect();
        let mut indices: Vec<usize> = (0..along.len()).collect();
        // A stable sort in either direction.
        indices.sort_by(|&a, &b| {
            let order = key(x.dtype, along[a]).cmp(&key(x.dtype, along[b]));
            if descending { order.reverse() } else { order }
        });
        for (i, &index) in indices.iter().take(t.shape[axis]).enumerate() {
            place[axis] = i;
            bits[position(&place, &t.shape)] = of(&along, index);
        }
    }
    Ok(bits)
}

/// The order of sorts: numbers with −0 before +0, and then NaNs by their bits.
fn key(dtype: DType, bits: u64) -> (bool, i128) {
    if dtype.kind() != Kind::Float {
        return (false, number(dtype, bits));
    }
    let sign = 1 << (8 * dtype.size() - 1);
    let magnitude = bits & (sign - 1);
    if magnitude > limit(dtype, true) {
        return (true, bits.into());
    }
    (false, if bits & sign != 0 { -1 - i128::from(magnitude) } else { magnitude.into() })
}

/// The order of numbers: −0 is +0, and NaNs are equal and after all others.
fn by_number(dtype: DType, a: u64, b: u64) -> Ordering {
    let key = |bits: u64| match key(dtype, bits) {
        (true, _) => (true, 0),
        (false, -1) if dtype.kind() == Kind::Float => (false, 0),
        key => key,
    };
    key(a).cmp(&key(b))
}

/// The number of an integer; of a bool, whether it is true.
fn number(dtype: DType, bits: u64) -> i128 {
    let unused = 64 - 8 * dtype.size() as u32;
    match dtype.kind() {
        Kind::Signed => i128::from((bits << unused) as i64 >> unused),
        Kind::Bool => i128::from(bits != 0),
        _ => bits.into(),
    }
}

fn value(dtype: DType, bits: u64) -> Value {
    Value::from_bits(dtype.name(), bits).expect("a dtype of the oracle")
}

/// All places of a shape, in row-major order.
fn places(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut places = vec![Vec::new()];
    for &extent in shape {
        places = places
            .into_iter()
            .flat_map(|place: Vec<usize>| (0..extent).map(move |i| [&place[..], &[i]].concat()))
            .collect();
    }
    places
}

/// The row-major position of a place, in a shape that may have extents of 1 along which elements repeat.
fn position(place: &[usize], shape: &[usize]) -> usize {
    place
        .iter()
        .zip(shape)
        .fold(0, |position, (&i, &extent)| position * extent + if extent == 1 { 0 } else { i })
}
