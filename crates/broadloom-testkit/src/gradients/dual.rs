//! Dual numbers: the values of a program's steps, and their derivatives along one direction of the inputs.
//!
//! The rules are the derivatives of any table, applied to numbers of 80 digits, and share no code with the library. An undefined
//! derivative is an undefined tangent, which only `where` drops.

use broadloom_core::node::StepOrder;
use broadloom_core::routine::SegmentFunction;
use broadloom_core::{DType, Op};

use super::real::{Real, apply};
use crate::random::affine::{Affine, axis_of};
use crate::random::typing::{self, RecurrenceShapes, Type};
use crate::random::{Arg, Program, RandomRecurrence, Step, TakeKind, View, WholeArrayCall};
use crate::reduction::{Function, Reduction};

/// A value with its tangent.
#[derive(Clone, Debug)]
pub struct Dual {
    pub value: Real,
    pub tangent: Real,
}

/// The elements of a step, in row-major order.
#[derive(Clone, Debug)]
pub struct Duals {
    pub elements: Vec<Dual>,
    /// Whether the elements depend on an input. What does not vary has tangents of 0, whatever the derivatives for it are.
    pub varies: bool,
}

fn zero() -> Real {
    Real::of(0.0)
}

impl Dual {
    fn constant(value: Real) -> Dual {
        Dual { value, tangent: zero() }
    }

    fn plus(&self, other: &Dual) -> Dual {
        Dual { value: self.value.plus(&other.value), tangent: self.tangent.plus(&other.tangent) }
    }

    fn times(&self, other: &Dual) -> Dual {
        let (of_self, of_other) = (self.tangent.times(&other.value), self.value.times(&other.tangent));
        Dual { value: self.value.times(&other.value), tangent: of_self.plus(&of_other) }
    }

    fn over(&self, divisor: f64) -> Dual {
        let divisor = Real::of(divisor);
        Dual { value: self.value.over(&divisor), tangent: self.tangent.over(&divisor) }
    }

    fn sqrt(&self) -> Dual {
        let value = self.value.sqrt();
        // A norm has the derivative 0 at the origin.
        let tangent = match value.is_zero() {
            true => zero(),
            false => self.tangent.over(&value.plus(&value)),
        };
        Dual { value, tangent }
    }

    /// The value of an element with these bits.
    fn of_bits(dtype: DType, bits: u64, tangent: Real) -> Result<Dual, String> {
        let value = match dtype {
            DType::Bool => Real::of(bits as f64),
            DType::Int64 => Real::of(bits as i64 as f64),
            DType::Float64 => real(f64::from_bits(bits)),
            _ => return Err(format!("an element of {dtype}")),
        };
        Ok(Dual { value, tangent })
    }
}

/// The number that a float64 stands for. The constants that the library's rules round stand for the numbers that they are nearest to.
fn real(x: f64) -> Real {
    let two = Real::of(2.0);
    let size = match x.abs() {
        std::f64::consts::LN_2 => two.ln(),
        std::f64::consts::LOG10_E => Real::of(1.0).over(&Real::of(10.0).ln()),
        std::f64::consts::FRAC_2_SQRT_PI => two.over(&Real::pi().sqrt()),
        _ => return Real::of(x),
    };
    if x < 0.0 { size.negated() } else { size }
}

/// The elements of a step, from those of the steps before it. `tangents` has those of each input.
///
/// # Errors
/// A step of a kind that is not differentiated here.
pub fn of_step(
    program: &Program,
    number: usize,
    before: &[Duals],
    types: &[Type],
    tangents: &dyn Fn(usize) -> Vec<Real>,
) -> Result<Duals, String> {
    let of = |arg: usize| &before[arg];
    let shape = |arg: usize| &types[arg].shape;
    let step = &program.steps[number];
    let varies = match step {
        Step::Input(_) => true,
        Step::Apply(Op::Where, args) => {
            args[1..].iter().any(|arg| matches!(arg, Arg::Step(i) if of(*i).varies))
        }
        step => types[number].dtype.is_float() && step.args().iter().any(|&arg| of(arg).varies),
    };
    let elements = match step {
        Step::Input(x) => {
            let pairs = x.bits.iter().zip(tangents(number));
            pairs.map(|(&bits, tangent)| Dual::of_bits(x.dtype, bits, tangent)).collect::<Result<_, _>>()?
        }
        Step::Constant(dtype, bits) => vec![Dual::of_bits(*dtype, *bits, zero())?],
        // No number is rounded.
        Step::Cast(arg, to) if to.is_float() || types[*arg].dtype == DType::Bool => of(*arg).elements.clone(),
        Step::Cast(arg, DType::Int64) if types[*arg].dtype.is_float() => {
            let truncated = |x: &Dual| Ok(Dual::constant(apply(Op::Trunc, &[&x.value])?));
            of(*arg).elements.iter().map(truncated).collect::<Result<_, String>>()?
        }
        Step::Take(TakeKind::Take, table, indices, 0) if shape(*table).len() == 1 => {
            let taken = |x: &Dual| of(*table).elements.get(place(x)).cloned().ok_or("an index out of range");
            of(*indices).elements.iter().map(taken).collect::<Result<_, _>>()?
        }
        Step::WholeArray(WholeArrayCall::Segments { function: SegmentFunction::Sum, segments }, args)
            if shape(args[0]).len() == 1 =>
        {
            sums_by_label(&of(args[0]).elements, &of(args[1]).elements, *segments)?
        }
        Step::View(arg, view) => moved(&of(*arg).elements, view, shape(*arg))?,
        Step::Apply(op, args) => {
            let columns = args.iter().map(|arg| match arg {
                Arg::Step(i) => {
                    let to = View::BroadcastTo(types[number].shape.clone());
                    Ok((moved(&of(*i).elements, &to, shape(*i))?, varies && of(*i).varies))
                }
                Arg::Literal(_) => Err("a literal".to_owned()),
            });
            let columns = columns.collect::<Result<Vec<_>, String>>()?;
            let at = |i: usize| -> Vec<(&Dual, bool)> { columns.iter().map(|(c, v)| (&c[i], *v)).collect() };
            (0..types[number].elements()).map(|i| applied(*op, &at(i))).collect::<Result<_, _>>()?
        }
        Step::Concat(args, axis) => {
            let axis = axis_of(*axis, shape(args[0]).len())?;
            let outer = shape(args[0])[..axis].iter().product::<usize>();
            let row = |arg: usize| shape(arg)[axis..].iter().product::<usize>();
            let rows = (0..outer).flat_map(|i| args.iter().map(move |&arg| (i, arg)));
            rows.flat_map(|(i, arg)| of(arg).elements[i * row(arg)..(i + 1) * row(arg)].to_vec()).collect()
        }
        Step::Reduce(arg, reduction) => {
            let axes = match &reduction.axes {
                Some(axes) => {
                    axes.iter().map(|&a| axis_of(a, shape(*arg).len())).collect::<Result<_, _>>()?
                }
                None => (0..shape(*arg).len()).collect::<Vec<_>>(),
            };
            let rows = rows(&of(*arg).elements, shape(*arg), &axes)?;
            rows.iter().map(|row| reduced(reduction, row)).collect::<Result<_, _>>()?
        }
        Step::Scan(arg, scan) => {
            let axis = axis_of(scan.axis.unwrap_or(0), shape(*arg).len())?;
            let rows = rows(&of(*arg).elements, shape(*arg), &[axis])?;
            let scanned: Vec<Vec<Dual>> = rows
                .iter()
                .map(|row| {
                    let mut sum = Dual::constant(Real::of(f64::from(u8::from(scan.is_product))));
                    let mut sums: Vec<Dual> = scan.include_initial.then(|| sum.clone()).into_iter().collect();
                    for x in row {
                        sum = if scan.is_product { sum.times(x) } else { sum.plus(x) };
                        sums.push(sum.clone());
                    }
                    sums
                })
                .collect();
            columns_to_elements(&scanned, &types[number].shape, axis)
        }
        Step::Recurrence(recurrence, item) => return recurred(program, recurrence, *item, before, types),
        _ => return Err(format!("{step} is not differentiated")),
    };
    Ok(Duals { elements, varies })
}

/// The sum of the elements of each label.
fn sums_by_label(elements: &[Dual], labels: &[Dual], segments: usize) -> Result<Vec<Dual>, String> {
    let mut sums = vec![Dual::constant(zero()); segments];
    for (x, label) in elements.iter().zip(labels) {
        let sum = sums.get_mut(place(label)).ok_or("a label out of range")?;
        *sum = sum.plus(x);
    }
    Ok(sums)
}

/// The index that a number is; one beyond any array for a number that is none.
fn place(x: &Dual) -> usize {
    let x = x.value.to_f64();
    if x >= 0.0 { x as usize } else { usize::MAX }
}

fn moved<T: Clone>(elements: &[T], view: &View, shape: &[usize]) -> Result<Vec<T>, String> {
    Ok(Affine::of(view, shape)?.positions().iter().map(|&i| elements[i].clone()).collect())
}

/// The elements along axes, for each index of the others.
fn rows<T: Clone>(elements: &[T], shape: &[usize], axes: &[usize]) -> Result<Vec<Vec<T>>, String> {
    let others = (0..shape.len()).filter(|axis| !axes.contains(axis));
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    let order: Vec<isize> = others.chain(sorted).map(|axis| axis as isize).collect();
    let count = axes.iter().map(|&axis| shape[axis]).product::<usize>();
    let moved = moved(elements, &View::PermuteDims(order), shape)?;
    let results = shape.iter().product::<usize>().checked_div(count).ok_or("no elements are reduced")?;
    Ok((0..results).map(|i| moved[i * count..(i + 1) * count].to_vec()).collect())
}

/// The elements of an array of this shape whose elements along an axis are these columns.
fn columns_to_elements<T: Clone>(columns: &[Vec<T>], shape: &[usize], axis: usize) -> Vec<T> {
    let after = shape[axis + 1..].iter().product::<usize>();
    let elements = 0..shape.iter().product();
    elements
        .map(|i| columns[i / (after * shape[axis]) * after + i % after][i / after % shape[axis]].clone())
        .collect()
}

/// A function of dual numbers, each with whether it varies.
fn applied(op: Op, args: &[(&Dual, bool)]) -> Result<Dual, String> {
    let values: Vec<&Real> = args.iter().map(|(x, _)| &x.value).collect();
    let value = apply(op, &values)?;
    if op == Op::Where {
        let chosen = match args[0].0.value.is_defined() {
            true if args[0].0.value.is_zero() => args[2].0.tangent.clone(),
            true => args[1].0.tangent.clone(),
            false => Real::UNDEFINED,
        };
        return Ok(Dual { value, tangent: chosen });
    }
    let mut tangent = zero();
    for (i, (x, varies)) in args.iter().enumerate() {
        if *varies {
            tangent = tangent.plus(&derivative(op, i, &values, &value)?.times(&x.tangent));
        }
    }
    Ok(Dual { value, tangent })
}

/// The derivative of the function value `y` for the operand number `i`.
fn derivative(op: Op, i: usize, x: &[&Real], y: &Real) -> Result<Real, String> {
    let (one, two) = (Real::of(1.0), Real::of(2.0));
    let a = x[0];
    let b = *x.get(1).unwrap_or(&a);
    let square = a.times(a);
    // The share of an operand in a maximum or minimum: all of it, half of it, or nothing.
    let share = |is_result: bool, is_tied: bool| match (is_result, is_tied) {
        (true, true) => Real::of(0.5),
        (true, false) => Real::of(1.0),
        _ => Real::of(0.0),
    };
    let is_equal = |x: &Real, y: &Real| x.compare(y) == Some(std::cmp::Ordering::Equal);
    Ok(match op {
        Op::Positive | Op::Add => one,
        Op::Subtract => {
            if i == 0 {
                one
            } else {
                one.negated()
            }
        }
        Op::Negative => one.negated(),
        Op::Multiply => x[1 - i].clone(),
        Op::Divide => {
            if i == 0 {
                one.over(b)
            } else {
                a.negated().over(&b.times(b))
            }
        }
        Op::Fma => match i {
            0 => b.clone(),
            1 => a.clone(),
            _ => one,
        },
        Op::Square => a.plus(a),
        Op::Reciprocal => one.negated().over(&square),
        Op::Sqrt => one.over(&y.plus(y)),
        Op::Cbrt => one.over(&y.times(y).times(&Real::of(3.0))),
        Op::Hypot if y.is_zero() => zero(),
        Op::Hypot => x[i].over(y),
        Op::Abs => a.sign(),
        Op::Sign | Op::Floor | Op::Ceil | Op::Round | Op::Trunc | Op::FloorDivide => zero(),
        Op::Exp => y.clone(),
        Op::Exp2 => y.times(&two.ln()),
        Op::ExpM1 => a.exp(),
        Op::Log => one.over(a),
        Op::Log1p => one.over(&a.plus(&one)),
        Op::Log2 => one.over(&a.times(&two.ln())),
        Op::Log10 => one.over(&a.times(&Real::of(10.0).ln())),
        Op::LogAddExp => x[i].minus(y).exp(),
        Op::Pow if i == 0 => b.times(&a.pow(&b.minus(&one))),
        Op::Pow => y.times(&a.ln()),
        Op::Sin => a.cos(),
        Op::Cos => a.sin().negated(),
        Op::Tan => y.times(y).plus(&one),
        Op::Asin => one.over(&one.minus(&square).sqrt()),
        Op::Acos => one.negated().over(&one.minus(&square).sqrt()),
        Op::Atan => one.over(&one.plus(&square)),
        Op::Atan2 => {
            let other = if i == 0 { b.clone() } else { a.negated() };
            other.over(&square.plus(&b.times(b)))
        }
        Op::Sinh => apply(Op::Cosh, &[a])?,
        Op::Cosh => apply(Op::Sinh, &[a])?,
        Op::Tanh => one.minus(&y.times(y)),
        Op::Asinh => one.over(&square.plus(&one).sqrt()),
        Op::Acosh => one.over(&square.minus(&one).sqrt()),
        Op::Atanh => one.over(&one.minus(&square)),
        Op::Erf => square.negated().exp().times(&two).over(&Real::pi().sqrt()),
        Op::Maximum | Op::Minimum => share(is_equal(x[i], y), is_equal(a, b)),
        Op::Clip => {
            let raised = apply(Op::Maximum, &[a, b])?;
            let of_raised = share(is_equal(&raised, y), is_equal(&raised, x[2]));
            match i {
                0 | 1 => share(is_equal(x[i], &raised), is_equal(a, b)).times(&of_raised),
                _ => share(is_equal(x[2], y), is_equal(&raised, x[2])),
            }
        }
        Op::CopySign if i == 0 => {
            let of_size =
                if b.compare(&zero()) == Some(std::cmp::Ordering::Less) { one.negated() } else { one };
            a.sign().times(&of_size)
        }
        Op::CopySign => zero(),
        Op::Remainder => {
            if i == 0 {
                one
            } else {
                a.over(b).floor().negated()
            }
        }
        _ => return Err(format!("{op} is not differentiated")),
    })
}

/// A reduction of a row.
fn reduced(reduction: &Reduction, row: &[Dual]) -> Result<Dual, String> {
    let sum = |row: &[Dual]| row.iter().fold(Dual::constant(zero()), |sum, x| sum.plus(x));
    let mean = |row: &[Dual]| sum(row).over(row.len() as f64);
    Ok(match reduction.function {
        Function::Sum => sum(row),
        Function::Mean => mean(row),
        Function::Prod => row.iter().fold(Dual::constant(Real::of(1.0)), |product, x| product.times(x)),
        Function::Max | Function::Min => {
            let op = if reduction.function == Function::Max { Op::Maximum } else { Op::Minimum };
            let first = row.first().ok_or("a maximum of nothing")?.value.clone();
            let value = row.iter().try_fold(first, |y, x| apply(op, &[&y, &x.value]))?;
            let is_result = |x: &&Dual| x.value.compare(&value) == Some(std::cmp::Ordering::Equal);
            let selected: Vec<Dual> = row.iter().filter(is_result).cloned().collect();
            // The maxima share evenly.
            Dual { value, tangent: mean(&selected).tangent }
        }
        Function::Var | Function::Std => {
            let middle = mean(row);
            let minus = Dual { value: middle.value.negated(), tangent: middle.tangent.negated() };
            let squares = row.iter().map(|x| {
                let x = x.plus(&minus);
                x.times(&x)
            });
            let variance = sum(&squares.collect::<Vec<_>>()).over(row.len() as f64 - reduction.correction);
            if reduction.function == Function::Std { variance.sqrt() } else { variance }
        }
        function => return Err(format!("{} is not differentiated", function.name())),
    })
}

/// A value of a recurrence, computed column by column.
fn recurred(
    program: &Program,
    of: &RandomRecurrence,
    item: usize,
    before: &[Duals],
    types: &[Type],
) -> Result<Duals, String> {
    let RecurrenceShapes { space, axis, others } = RecurrenceShapes::of(of, types)?;
    let steps = space[axis];
    let read = |args: &[usize], shape: &[usize]| -> Result<Vec<Vec<Dual>>, String> {
        let to = View::BroadcastTo(shape.to_vec());
        args.iter().map(|&arg| moved(&before[arg].elements, &to, &types[arg].shape)).collect()
    };
    let (state, captured, inputs) =
        (read(&of.state, &others)?, read(&of.captured_elements(), &others)?, read(&of.inputs, &space)?);
    let after = others[axis..].iter().product::<usize>();
    let args = of.operands();
    let given = |(i, &arg): (usize, &usize)| match of.is_table(i) {
        true => types[arg].clone(),
        false => Type { dtype: types[arg].dtype, shape: Vec::new() },
    };
    // The operands of the body are the first steps of a program of its own; only its types are used.
    let mut body_types: Vec<Type> = args.iter().enumerate().map(given).collect();
    for step in &of.body {
        body_types.push(typing::type_of(step, &body_types, program.promotion)?);
    }
    let placeholder = || Step::Constant(DType::Float64, 0);
    let body = Program {
        steps: args.iter().map(|_| placeholder()).chain(of.body.iter().cloned()).collect(),
        ..program.clone()
    };
    let varies = args.iter().any(|&arg| before[arg].varies);
    let (mut lasts, mut outputs) = (Vec::new(), Vec::new());
    for column in 0..others.iter().product() {
        let mut current: Vec<Dual> = state.iter().map(|x| x[column].clone()).collect();
        let mut of_column = vec![current[0].clone(); steps];
        let numbers: Vec<usize> = match of.order {
            StepOrder::Forward => (0..steps).collect(),
            StepOrder::Backward => (0..steps).rev().collect(),
            StepOrder::Canonical => return Err("a reduction by a function has no adjoints".to_owned()),
        };
        for number in numbers {
            let place = (column / after * steps + number) * after + column % after;
            let elements = inputs.iter().map(|x| x[place].clone());
            let fixed = captured.iter().map(|x| x[column].clone());
            let mut given = current.iter().cloned().chain(elements).chain(fixed);
            let value = |(i, &arg): (usize, &usize)| match of.is_table(i) {
                true => Some(before[arg].elements.clone()),
                false => given.next().map(|x| vec![x]),
            };
            let elements = args.iter().enumerate().filter_map(value);
            let mut values: Vec<Duals> = elements.map(|elements| Duals { elements, varies }).collect();
            for number in args.len()..body.steps.len() {
                let next = of_step(&body, number, &values, &body_types, &|_| Vec::new())?;
                values.push(next);
            }
            let at = |i: usize| values[i].elements[0].clone();
            if let Some(output) = item.checked_sub(of.state.len()) {
                of_column[number] = at(of.outputs[output]);
            }
            current = of.next.iter().map(|&next| at(next)).collect();
        }
        lasts.extend(current.get(item).cloned());
        outputs.push(of_column);
    }
    let elements = if item < of.state.len() { lasts } else { columns_to_elements(&outputs, &space, axis) };
    Ok(Duals { elements, varies })
}
