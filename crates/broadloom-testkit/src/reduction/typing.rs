//! The dtypes and shapes of reductions, by the standard and, where it leaves a choice, by `docs/conformance.md`.

use broadloom_core::{DType, Promotion};

use super::call::{Cumulative, Function, Reduction, VecDot};

/// For each axis, whether it is reduced.
pub(super) fn axes(given: Option<&[isize]>, rank: usize) -> Result<Vec<bool>, String> {
    let Some(given) = given else { return Ok(vec![true; rank]) };
    let mut taken = vec![false; rank];
    for &axis in given {
        let axis = self::axis(axis, rank)?;
        if taken[axis] {
            return Err(format!("axis {axis} twice"));
        }
        taken[axis] = true;
    }
    Ok(taken)
}

/// Resolves an axis that may count from the last.
pub(super) fn axis(axis: isize, rank: usize) -> Result<usize, String> {
    let rank = rank as isize;
    if (-rank..rank).contains(&axis) {
        Ok(axis.rem_euclid(rank) as usize)
    } else {
        Err(format!("axis {axis} of {rank}"))
    }
}

/// The dtype that elements are converted to before they are added or multiplied. It is the dtype of the result
/// too.
pub(super) fn of_sums(
    dtype: DType,
    asked: Option<DType>,
    name: &str,
    promotion: Promotion,
) -> Result<DType, String> {
    match (asked, dtype) {
        (Some(DType::Bool), _) => Err(format!("{name} in bool")),
        (Some(asked), _) => Ok(asked),
        (None, DType::Bool) if promotion == Promotion::Strict => Err(format!("{name} of bool")),
        (None, DType::Bool) => Ok(DType::Int64),
        (None, d) if d.is_float() => Ok(d),
        (None, d) => Ok(accumulator(d)),
    }
}

/// The dtype in which sums and products of a numeric dtype are computed.
pub(super) fn accumulator(dtype: DType) -> DType {
    match dtype {
        DType::Float16 => DType::Float32,
        d if d.is_float() => d,
        DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => DType::UInt64,
        _ => DType::Int64,
    }
}

/// The float dtype of means, variances and norms.
fn of_floats(dtype: DType, name: &str, promotion: Promotion) -> Result<DType, String> {
    match dtype {
        d if d.is_float() => Ok(d),
        _ if promotion == Promotion::NumPy => Ok(DType::Float64),
        d => Err(format!("{name} of {d}")),
    }
}

impl Reduction {
    /// The dtype and shape of the result, given the dtype and shape of the operand.
    ///
    /// # Errors
    /// The reason why the call is ill-typed.
    pub fn type_of(
        &self,
        dtype: DType,
        shape: &[usize],
        promotion: Promotion,
    ) -> Result<(DType, Vec<usize>), String> {
        reduced(self, dtype, shape, promotion)
    }
}

fn reduced(
    r: &Reduction,
    dtype: DType,
    shape: &[usize],
    promotion: Promotion,
) -> Result<(DType, Vec<usize>), String> {
    let name = r.function.name();
    let taken = axes(r.axes.as_deref(), shape.len())?;
    let count: usize = (0..shape.len()).filter(|&axis| taken[axis]).map(|axis| shape[axis]).product();
    let result = match r.function {
        Function::Sum | Function::Prod | Function::NanSum | Function::NanProd => {
            of_sums(dtype, r.dtype, name, promotion)?
        }
        Function::Any | Function::All => DType::Bool,
        Function::CountNonzero => DType::Int64,
        Function::Count => return Ok((r.dtype.unwrap_or(DType::Int64), Vec::new())),
        Function::Mean | Function::Var | Function::Std | Function::VectorNorm => {
            of_floats(dtype, name, promotion)?
        }
        Function::NanMean | Function::NanVar | Function::NanStd => of_floats(dtype, name, promotion)?,
        _ if !dtype.is_numeric() => return Err(format!("{name} of {dtype}")),
        Function::ArgMax | Function::ArgMin => DType::Int64,
        Function::Max | Function::Min | Function::NanMax | Function::NanMin => dtype,
    };
    let has_none = match r.function {
        Function::Max | Function::Min | Function::NanMax | Function::NanMin => true,
        Function::ArgMax | Function::ArgMin => true,
        Function::VectorNorm => r.ord.is_infinite(),
        _ => false,
    };
    let mut kept = Vec::new();
    for (axis, &extent) in shape.iter().enumerate() {
        match taken[axis] {
            false => kept.push(extent),
            true if r.keepdims => kept.push(1),
            true => {}
        }
    }
    if has_none && count == 0 && !kept.contains(&0) {
        return Err(format!("{name} of no elements"));
    }
    Ok((result, kept))
}

impl Cumulative {
    /// The dtype and shape of the result, given the dtype and shape of the operand.
    ///
    /// # Errors
    /// The reason why the call is ill-typed.
    pub fn type_of(
        &self,
        dtype: DType,
        shape: &[usize],
        promotion: Promotion,
    ) -> Result<(DType, Vec<usize>), String> {
        let axis = scan_axis(self, shape)?;
        let mut shape = shape.to_vec();
        shape[axis] += usize::from(self.include_initial);
        Ok((of_sums(dtype, self.dtype, self.name(), promotion)?, shape))
    }
}

pub(super) fn scan_axis(c: &Cumulative, shape: &[usize]) -> Result<usize, String> {
    match c.axis {
        None if shape.len() == 1 => Ok(0),
        None => Err(format!("{} of {} axes without an axis", c.name(), shape.len())),
        Some(axis) => self::axis(axis, shape.len()),
    }
}

impl VecDot {
    /// The shape of the result, given the shapes of the operands. The dtype is the common dtype of the operands.
    ///
    /// # Errors
    /// The reason why the call is ill-typed.
    pub fn shape(&self, x: &[usize], y: &[usize]) -> Result<Vec<usize>, String> {
        let least = x.len().min(y.len()) as isize;
        if !(-least..0).contains(&self.axis) {
            return Err(format!("vecdot along axis {} of {least}", self.axis));
        }
        let of = |shape: &[usize]| (shape.len() as isize + self.axis) as usize;
        let (mut rest_x, mut rest_y) = (x.to_vec(), y.to_vec());
        let (n, m) = (rest_x.remove(of(x)), rest_y.remove(of(y)));
        if n != m {
            return Err(format!("vecdot of {n} and {m} elements"));
        }
        broadcast(&rest_x, &rest_y).ok_or_else(|| format!("vecdot of {rest_x:?} and {rest_y:?}"))
    }
}

/// The shape that two shapes broadcast to.
fn broadcast(x: &[usize], y: &[usize]) -> Option<Vec<usize>> {
    let rank = x.len().max(y.len());
    let extent = |shape: &[usize], axis: usize| {
        if axis + shape.len() < rank { 1 } else { shape[axis + shape.len() - rank] }
    };
    (0..rank)
        .map(|axis| match (extent(x, axis), extent(y, axis)) {
            (n, m) if n == m || m == 1 => Some(n),
            (1, m) => Some(m),
            _ => None,
        })
        .collect()
}
