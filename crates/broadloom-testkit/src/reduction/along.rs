//! Groups the elements of an array along axes, and reduces each group.

use broadloom_core::{DType, Promotion};

use super::call::{Cumulative, Function, Reduction, VecDot};
use super::numbers::{Accumulator, FloatAccumulator};
use super::tree::{canonical, cumulative};
use super::{floats, typing};
use crate::tensor::Tensor;
use crate::{Value, oracle};

/// The elements that are reduced to each result, in row-major order of the reduced axes. The results are in row-major order too.
fn groups(x: &Tensor, taken: &[bool]) -> Vec<Vec<u64>> {
    let kept: usize = (0..taken.len()).filter(|&axis| !taken[axis]).map(|axis| x.shape[axis]).product();
    let mut groups = vec![Vec::new(); kept];
    let mut index = vec![0; taken.len()];
    for &bits in &x.bits {
        let mut group = 0;
        for axis in (0..taken.len()).filter(|&axis| !taken[axis]) {
            group = group * x.shape[axis] + index[axis];
        }
        groups[group].push(bits);
        for axis in (0..taken.len()).rev() {
            index[axis] += 1;
            if index[axis] < x.shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    groups
}

fn value(dtype: DType, bits: u64) -> Value {
    Value::from_bits(dtype.name(), bits).expect("a dtype of the oracle")
}

fn convert(bits: &[u64], from: DType, to: DType) -> Vec<u64> {
    if from == to {
        return bits.to_vec();
    }
    bits.iter().map(|&bits| oracle::cast(value(from, bits), to.name()).bits()).collect()
}

/// Applies one of the oracle's functions of two arguments.
fn apply(name: &str, dtype: DType, x: u64, y: u64) -> u64 {
    oracle::apply(name, &[value(dtype, x), value(dtype, y)]).expect("a function of numbers").bits()
}

fn is_nan(dtype: DType, bits: u64) -> bool {
    value(dtype, bits).is_nan()
}

impl Reduction {
    /// Computes the reduction.
    ///
    /// # Errors
    /// The errors of [`type_of`](Reduction::type_of).
    ///
    /// ```
    /// use broadloom_core::{DType, Promotion};
    /// use broadloom_testkit::random::Tensor;
    /// use broadloom_testkit::reduction::{Function, Reduction};
    ///
    /// let x = Tensor { dtype: DType::UInt8, shape: vec![2, 2], bits: vec![200, 100, 7, 8] };
    /// let sums = Reduction::along(Function::Sum, &[-1]).run(&x, Promotion::Strict)?;
    /// assert_eq!((sums.dtype, sums.bits), (DType::UInt64, vec![300, 15]));
    /// # Ok::<(), String>(())
    /// ```
    pub fn run(&self, x: &Tensor, promotion: Promotion) -> Result<Tensor, String> {
        let (dtype, shape) = self.type_of(x.dtype, &x.shape, promotion)?;
        let taken = typing::axes(self.axes.as_deref(), x.shape.len())?;
        if self.function == Function::Count {
            let count =
                (0..taken.len()).filter(|&axis| taken[axis]).map(|axis| x.shape[axis]).product::<usize>();
            return Ok(Tensor { dtype, shape, bits: convert(&[count as u64], DType::UInt64, dtype) });
        }
        let bits = groups(x, &taken).iter().map(|group| combined(self, group, x.dtype, dtype)).collect();
        Ok(Tensor { dtype, shape, bits })
    }
}

/// One element of the result, from the elements that are reduced to it.
fn combined(r: &Reduction, group: &[u64], from: DType, to: DType) -> u64 {
    let is_true = |&bits: &u64| oracle::cast(value(from, bits), "bool").bits() == 1;
    match r.function {
        Function::Any => u64::from(group.iter().any(is_true)),
        Function::All => u64::from(group.iter().all(is_true)),
        Function::CountNonzero => group.iter().filter(|bits| is_true(bits)).count() as u64,
        Function::Max => extreme("maximum", from, group),
        Function::Min => extreme("minimum", from, group),
        Function::NanMax => extreme("maximum", from, &numbers(from, group)),
        Function::NanMin => extreme("minimum", from, &numbers(from, group)),
        Function::ArgMax => first("greater", from, group),
        Function::ArgMin => first("less", from, group),
        Function::Sum | Function::Prod | Function::NanSum | Function::NanProd => {
            let accumulator = typing::accumulator(to);
            // Elements are converted to the requested dtype, and then to the accumulator's.
            let elements = convert(&convert(&replaced(r.function, from, group), from, to), to, accumulator);
            let is_product = matches!(r.function, Function::Prod | Function::NanProd);
            let result = match accumulator {
                DType::Float32 => total::<f32>(&elements, is_product),
                DType::Float64 => total::<f64>(&elements, is_product),
                DType::Int64 => total::<i64>(&elements, is_product),
                _ => total::<u64>(&elements, is_product),
            };
            convert(&[result], accumulator, to)[0]
        }
        _ => {
            let accumulator = typing::accumulator(to);
            let elements = convert(group, from, accumulator);
            let result = match accumulator {
                DType::Float32 => float::<f32>(r, &elements, to == DType::Float16),
                _ => float::<f64>(r, &elements, false),
            };
            convert(&[result], accumulator, to)[0]
        }
    }
}

fn float<F: FloatAccumulator>(r: &Reduction, elements: &[u64], of_float16: bool) -> u64 {
    let x: Vec<F> = elements.iter().map(|&bits| F::from_bits(bits)).collect();
    let result = match r.function {
        Function::Mean => floats::mean(&x),
        Function::NanMean => floats::mean_of_numbers(&x),
        Function::Var => floats::variance(&x, r.correction),
        Function::NanVar => floats::variance_of_numbers(&x, r.correction),
        Function::Std => floats::variance(&x, r.correction).square_root(),
        Function::NanStd => floats::variance_of_numbers(&x, r.correction).square_root(),
        _ if r.ord.is_infinite() => {
            let name = if r.ord > 0.0 { "maximum" } else { "minimum" };
            let magnitudes: Vec<u64> = x.iter().map(|x| x.magnitude().bits()).collect();
            F::from_bits(extreme(name, F::DTYPE, &magnitudes))
        }
        _ => floats::norm(&x, r.ord, of_float16),
    };
    result.bits()
}

fn total<N: Accumulator>(elements: &[u64], is_product: bool) -> u64 {
    let elements: Vec<N> = elements.iter().map(|&bits| N::from_bits(bits)).collect();
    let (combine, none) = operation::<N>(is_product);
    canonical(&elements, &combine).unwrap_or(none).bits()
}

/// Addition or multiplication, and its identity element.
fn operation<N: Accumulator>(is_product: bool) -> (fn(&N, &N) -> N, N) {
    match is_product {
        true => (|a, b| a.multiply(*b), N::ONE),
        false => (|a, b| a.add(*b), N::ZERO),
    }
}

/// The elements with NaNs replaced as the function prescribes.
fn replaced(function: Function, dtype: DType, group: &[u64]) -> Vec<u64> {
    let other = match function {
        Function::NanSum => 0,
        Function::NanProd => oracle::cast(Value::Bool(true), dtype.name()).bits(),
        _ => return group.to_vec(),
    };
    group.iter().map(|&bits| if is_nan(dtype, bits) { other } else { bits }).collect()
}

/// The elements without NaNs; a single NaN if nothing else remains.
fn numbers(dtype: DType, group: &[u64]) -> Vec<u64> {
    let numbers: Vec<u64> = group.iter().copied().filter(|&bits| !is_nan(dtype, bits)).collect();
    if numbers.is_empty() { group[..1].to_vec() } else { numbers }
}

/// The maximum or the minimum, with any NaN canonical.
fn extreme(name: &str, dtype: DType, group: &[u64]) -> u64 {
    group.iter().fold(group[0], |extreme, &bits| apply(name, dtype, extreme, bits))
}

/// The index of the first NaN or, without NaNs, of the first maximum or minimum.
fn first(beyond: &str, dtype: DType, group: &[u64]) -> u64 {
    if let Some(nan) = group.iter().position(|&bits| is_nan(dtype, bits)) {
        return nan as u64;
    }
    let mut first = 0;
    for (i, &bits) in group.iter().enumerate() {
        if apply(beyond, dtype, bits, group[first]) == 1 {
            first = i;
        }
    }
    first as u64
}

impl Cumulative {
    /// Computes the scan.
    ///
    /// # Errors
    /// The errors of [`type_of`](Cumulative::type_of).
    pub fn run(&self, x: &Tensor, promotion: Promotion) -> Result<Tensor, String> {
        let (dtype, shape) = self.type_of(x.dtype, &x.shape, promotion)?;
        let axis = typing::scan_axis(self, &x.shape)?;
        let accumulator = typing::accumulator(dtype);
        let scan = match accumulator {
            DType::Float32 => scanned::<f32>,
            DType::Float64 => scanned::<f64>,
            DType::Int64 => scanned::<i64>,
            _ => scanned::<u64>,
        };
        let taken: Vec<bool> = (0..x.shape.len()).map(|a| a == axis).collect();
        let rows = groups(x, &taken);
        let rows: Vec<Vec<u64>> = rows
            .iter()
            .map(|row| {
                let row = convert(&convert(row, x.dtype, dtype), dtype, accumulator);
                convert(&scan(&row, self), accumulator, dtype)
            })
            .collect();
        let inner: usize = shape[axis + 1..].iter().product();
        let at = |i: usize| rows[i / (inner * shape[axis]) * inner + i % inner][i / inner % shape[axis]];
        let bits = (0..shape.iter().product()).map(at).collect();
        Ok(Tensor { dtype, shape, bits })
    }
}

fn scanned<N: Accumulator>(row: &[u64], c: &Cumulative) -> Vec<u64> {
    let row: Vec<N> = row.iter().map(|&bits| N::from_bits(bits)).collect();
    let (combine, none) = operation::<N>(c.is_product);
    let initial = c.include_initial.then_some(none);
    initial.into_iter().chain(cumulative(&row, &combine)).map(N::bits).collect()
}

impl VecDot {
    /// Computes the dot products in the operands' common dtype.
    ///
    /// # Errors
    /// The errors of [`shape`](VecDot::shape).
    pub fn run(&self, x: &Tensor, y: &Tensor, dtype: DType) -> Result<Tensor, String> {
        let shape = self.shape(&x.shape, &y.shape)?;
        let accumulator = typing::accumulator(dtype);
        let dot = match accumulator {
            DType::Float32 => dotted::<f32>,
            DType::Float64 => dotted::<f64>,
            DType::Int64 => dotted::<i64>,
            _ => dotted::<u64>,
        };
        let [xs, ys] = [x, y].map(|x| self.rows(x, &shape, dtype));
        let sums: Vec<u64> = xs.iter().zip(&ys).map(|(x, y)| dot(x, y)).collect();
        Ok(Tensor { dtype, shape, bits: convert(&sums, accumulator, dtype) })
    }

    /// The elements of an operand along the axis, for each result.
    fn rows(&self, x: &Tensor, shape: &[usize], dtype: DType) -> Vec<Vec<u64>> {
        let axis = (x.shape.len() as isize + self.axis) as usize;
        let taken: Vec<bool> = (0..x.shape.len()).map(|a| a == axis).collect();
        let rows = groups(x, &taken);
        let mut own = x.shape.clone();
        own.remove(axis);
        let new = shape.len() - own.len();
        (0..shape.iter().product())
            .map(|at: usize| {
                // Decodes the index along each axis, beginning with the last axis; it is 0 where the operand has one element.
                let (mut rest, mut row, mut step) = (at, 0, 1);
                for (number, &extent) in shape.iter().enumerate().rev() {
                    let index = rest % extent;
                    rest /= extent;
                    if number >= new {
                        row += if own[number - new] == 1 { 0 } else { index * step };
                        step *= own[number - new];
                    }
                }
                let row = convert(&rows[row], x.dtype, dtype);
                convert(&row, dtype, typing::accumulator(dtype))
            })
            .collect()
    }
}

fn dotted<N: Accumulator>(x: &[u64], y: &[u64]) -> u64 {
    let product = |(&x, &y): (&u64, &u64)| N::from_bits(x).multiply(N::from_bits(y));
    let products: Vec<N> = x.iter().zip(y).map(product).collect();
    canonical(&products, &|a, b| a.add(*b)).unwrap_or(N::ZERO).bits()
}
