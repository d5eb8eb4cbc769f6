//! Loops: each element repeats a body while its condition holds.
//!
//! The condition and the body are functions of arrays, called with placeholders for the carried values; what they return is
//! [recorded](crate::recorder) as a [`Region`].

use std::sync::Arc;

use broadloom_core::graph::WHILE;
use broadloom_core::node::{LoopNode, NodeId, NodeKind, Region};
use broadloom_core::region::MAX_CARRIED;
use broadloom_core::{DType, Dims, Error, ErrorKind, Result, Scalar, Shape, infer, region};
use broadloom_ir::Axes;
use broadloom_ir::figures::counted;
use broadloom_mem::{FloatEnv, HostFunction, LoopRun};
use smallvec::SmallVec;

use crate::array::{Array, Kind, Leaf};
use crate::expr;
use crate::promote::promotion;
use crate::recorder::Recorder;
use crate::stamp::{Stamp, stamped};
use crate::weak::Number;

/// Repeats `body` for each element while `condition` holds, and returns the last state.
///
/// The functions take the carried values; `body` returns the next ones. The loop has the shape to which the initial state and the
/// arrays used in the functions broadcast. Each element performs its own iterations, as a scalar program would: once its
/// condition is false, which is tested before each iteration, its values do not change any more, and iterations that it does not
/// perform have no effect. What does not depend on a carried value is computed once, before the loop, except integer divisions,
/// takes, host functions and loops that can fail, if the functions make them. A [take](Array::take) reads an array that is the same
/// in all iterations, and is computed before them for all of its elements. A number as an initial value takes the dtype that the
/// body gives it; to find it, the functions are called several times, and must return the same each time.
///
/// An element ends after `limit` iterations. Without a limit, [`Options::max_iterations`](crate::Options::max_iterations) holds,
/// and reaching it is an error of the evaluation.
///
/// # Errors
/// [`ErrorKind::DType`] for a condition that is not bool, and for a carried value whose dtype changes; [`ErrorKind::Shape`] for one
/// whose shape changes, for operations that are not element-wise, and for a take from an array that depends on a carried value;
/// [`ErrorKind::Limit`] for more than 8 nested loops, and for more than 64 carried values.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::while_loop;
///
/// // Heron's method, until the square of the result is near enough.
/// let a = Array::from_vec(vec![4.0_f64, 9.0, 1e-6]);
/// let state = [Array::scalar(1.0)];
/// let [root] = while_loop(
///     |[x]| ((x * x - &a) / &a).abs().greater(1e-15),
///     |[x]| [(x + &a / x) / 2],
///     state,
///     100,
/// )?;
/// assert_eq!(root.to_vec::<f64>()?, [2.0, 3.0, 1e-3]);
/// # Ok::<(), Error>(())
/// ```
pub fn while_loop<'a, const N: usize>(
    condition: impl Fn(&[Array<'a>; N]) -> Array<'a>,
    body: impl Fn(&[Array<'a>; N]) -> [Array<'a>; N],
    state: [Array<'a>; N],
    limit: impl Into<Option<u64>>,
) -> Result<[Array<'a>; N]> {
    let condition = |state: &[Array<'a>]| exactly(state).map(&condition);
    let body = |state: &[Array<'a>]| exactly(state).map(|state| body(state).to_vec());
    exact(try_while_loop(&condition, &body, &state, limit.into())?)
}

/// Repeats `body` like [`while_loop`], and also returns the number of iterations that each element has performed, as int64.
///
/// # Errors
/// The errors of [`while_loop`].
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::while_loop_counts;
///
/// let n = Array::from_vec(vec![1_i32, 6, 27]);
/// let next = |n: &Array<'static>| where_((n % 2).equal(0), n.floor_divide(2), n * 3 + 1);
/// let ([_], steps) = while_loop_counts(|[n]| n.not_equal(1), |[n]| [next(n)], [n], None)?;
/// assert_eq!(steps.to_vec::<i64>()?, [0, 8, 111]);
/// # Ok::<(), Error>(())
/// ```
pub fn while_loop_counts<'a, const N: usize>(
    condition: impl Fn(&[Array<'a>; N]) -> Array<'a>,
    body: impl Fn(&[Array<'a>; N]) -> [Array<'a>; N],
    state: [Array<'a>; N],
    limit: impl Into<Option<u64>>,
) -> Result<([Array<'a>; N], Array<'a>)> {
    let count = Array::scalar(0_i64).astype(DType::Int64);
    let state = [&state[..], &[count]].concat();
    let condition = |state: &[Array<'a>]| exactly(&state[..N]).map(&condition);
    let body = |state: &[Array<'a>]| {
        let mut next = exactly(&state[..N]).map(|state| body(state).to_vec())?;
        next.push(state[N].try_add(1)?);
        Ok(next)
    };
    let name = |i: usize| if i < N { carried_value(i) } else { "the count".to_owned() };
    let (condition, body, limit) = (&condition, &body, limit.into());
    let of = LoopBuilder { function: WHILE, hidden: 1, condition, body, name: &name, limit, made: None };
    let mut results = of.build(&state)?;
    let counts = results.pop().ok_or_else(lost)?;
    Ok((exact(results)?, counts))
}

pub(crate) fn exactly<'s, 'a, const N: usize>(state: &'s [Array<'a>]) -> Result<&'s [Array<'a>; N]> {
    state.try_into().map_err(|_| lost())
}

pub(crate) fn exact<'a, const N: usize>(results: Vec<Array<'a>>) -> Result<[Array<'a>; N]> {
    results.try_into().map_err(|_| lost())
}

fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a loop that has lost a carried value")
}

/// Repeats `body` like [`while_loop`], for any number of carried values and for functions that may fail, such as those of an
/// interpreter of a language.
///
/// # Errors
/// The errors of [`while_loop`] and of the functions; [`ErrorKind::Arity`] if there are no carried values, or `body` returns another
/// number of them.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::try_while_loop;
///
/// let x = Array::from_vec(vec![1_u8, 200]);
/// let double = |state: &[Array<'static>]| Ok(vec![state[0].try_multiply(2)?]);
/// let small = |state: &[Array<'static>]| state[0].try_less(100);
/// assert_eq!(try_while_loop(&small, &double, &[x], None)?[0].to_vec::<u8>()?, [128, 200]);
/// # Ok::<(), Error>(())
/// ```
pub fn try_while_loop<'a>(
    condition: &dyn Fn(&[Array<'a>]) -> Result<Array<'a>>,
    body: &dyn Fn(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
    state: &[Array<'a>],
    limit: Option<u64>,
) -> Result<Vec<Array<'a>>> {
    LoopBuilder { function: WHILE, hidden: 0, condition, body, name: &carried_value, limit, made: None }
        .build(state)
}

/// Checks the number of carried values.
pub(crate) fn check_number(function: &str, carried: usize) -> Result<()> {
    match carried {
        0 => Err(Error::new(ErrorKind::Arity, format!("{function}: there is no carried value"))),
        1..=MAX_CARRIED => Ok(()),
        _ => {
            let why = format!("{function}: {carried} carried values, the limit is {MAX_CARRIED}");
            Err(Error::new(ErrorKind::Limit, why))
        }
    }
}

/// The name of a carried value in errors.
pub(crate) fn carried_value(i: usize) -> String {
    format!("carried value {i}")
}

/// A loop that is built.
pub(crate) struct LoopBuilder<'l, 'a> {
    /// The name of the function in errors.
    pub function: &'static str,
    /// The number of carried values that the function adds to those of the caller.
    pub hidden: usize,
    pub condition: &'l dyn Fn(&[Array<'a>]) -> Result<Array<'a>>,
    pub body: &'l dyn Fn(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
    /// The name of a carried value in errors.
    pub name: &'l dyn Fn(usize) -> String,
    pub limit: Option<u64>,
    /// The stamp of the arrays that the functions have made before, if they do not make them again.
    pub made: Option<Stamp>,
}

impl<'a> LoopBuilder<'_, 'a> {
    /// Builds the arrays of the last state.
    pub(crate) fn build(&self, state: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
        check_number(self.function, state.len() - self.hidden)?;
        let known: SmallVec<[infer::Operand<'_>; 3]> = state.iter().map(Array::known).collect();
        let (shape, dims) = infer::broadcast(self.function, &known)?;
        let dims = dims.map(Arc::new);
        let (placeholders, args) = self.begin(state, &shape, dims.as_ref())?;
        self.close(&placeholders, args)
    }

    /// The carried values in the functions, and the initial ones.
    pub(crate) fn begin(
        &self,
        state: &[Array<'a>],
        shape: &Shape,
        dims: Option<&Arc<Dims>>,
    ) -> Result<(Vec<Array<'a>>, Vec<Array<'a>>)> {
        let dtypes = self.dtypes(state, shape, dims)?;
        let typed = state.iter().zip(&dtypes).enumerate().map(|(i, (x, &dtype))| self.typed(i, x, dtype));
        let args = typed.collect::<Result<Vec<_>>>()?;
        Ok((dtypes.iter().map(|&dtype| placeholder(dtype, shape, dims)).collect(), args))
    }

    /// Builds the arrays of the last state of a loop whose carried values begin as `args`.
    pub(crate) fn close(&self, placeholders: &[Array<'a>], args: Vec<Array<'a>>) -> Result<Vec<Array<'a>>> {
        let functions = || -> Result<_> { Ok((self.tested(placeholders)?, self.next(placeholders)?)) };
        let (made, stamp) = stamped(functions);
        let (condition, next) = made?;
        let next = self.checked(placeholders, next)?;
        let repeats = self.limit.is_none_or(|limit| limit > 1);
        let recorder = Recorder::new(self.function, placeholders, self.made.unwrap_or(stamp), !repeats);
        self.record(recorder, args, &condition, &next)
    }

    /// The next values as arrays of the dtypes of the carried ones, whose number and shapes are checked.
    pub(crate) fn checked(
        &self,
        placeholders: &[Array<'a>],
        mut next: Vec<Array<'a>>,
    ) -> Result<Vec<Array<'a>>> {
        self.check_count(placeholders, &next)?;
        for (i, value) in next.iter_mut().enumerate() {
            *value = self.typed(i, value, placeholders[i].dtype())?;
            let both = [placeholders[i].known(), value.known()];
            if infer::broadcast(self.function, &both).is_err() {
                let [before, after] =
                    [&placeholders[i], &*value].map(|x| format!("{}{}", x.dtype(), x.all_dims()));
                let why = format!("{}: {} is {before}, but becomes {after}", self.function, (self.name)(i));
                return Err(
                    Error::new(ErrorKind::Shape, why).with_help("a body keeps the shapes of what it carries")
                );
            }
        }
        Ok(next)
    }

    /// The dtypes of the carried values. Numbers take those that the body gives them.
    fn dtypes(&self, state: &[Array<'a>], shape: &Shape, dims: Option<&Arc<Dims>>) -> Result<Vec<DType>> {
        let numbers: Vec<Option<Number>> = state.iter().map(Array::number).collect();
        let mut dtypes: Vec<Option<DType>> =
            state.iter().zip(&numbers).map(|(x, number)| number.is_none().then(|| x.dtype())).collect();
        while dtypes.contains(&None) {
            let probes: Vec<Array<'a>> = dtypes
                .iter()
                .zip(&numbers)
                .map(|(dtype, number)| match (dtype, number) {
                    (None, Some(number)) => Array::scalar(number.one()),
                    (dtype, _) => placeholder(dtype.unwrap_or(DType::Bool), shape, dims),
                })
                .collect();
            let next = self.next(&probes)?;
            let is_open = |i: usize| dtypes[i].is_none();
            let found: Vec<(usize, DType)> = next
                .iter()
                .enumerate()
                .filter(|(i, x)| is_open(*i) && x.number().is_none())
                .map(|(i, x)| (i, x.dtype()))
                .collect();
            for &(i, dtype) in &found {
                dtypes[i] = Some(dtype);
            }
            if found.is_empty() {
                // The rest is computed from numbers alone, and has the dtypes of these.
                for (dtype, x) in dtypes.iter_mut().zip(&next) {
                    dtype.get_or_insert(x.dtype());
                }
            }
        }
        Ok(dtypes.into_iter().flatten().collect())
    }

    /// The next values, whose number is checked.
    fn next(&self, state: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
        let next = (self.body)(state)?;
        self.check_count(state, &next)?;
        Ok(next)
    }

    fn check_count(&self, state: &[Array<'a>], next: &[Array<'a>]) -> Result<()> {
        if next.len() != state.len() {
            let [carried, returned] = [state, next].map(|of| of.len() - self.hidden);
            let carried = counted(carried as u64, "carried value");
            let why = format!("{}: the body takes {carried}, but returns {returned}", self.function);
            return Err(Error::new(ErrorKind::Arity, why));
        }
        Ok(())
    }

    /// The condition, whose dtype is checked.
    fn tested(&self, state: &[Array<'a>]) -> Result<Array<'a>> {
        let condition = (self.condition)(state)?;
        if condition.dtype() != DType::Bool {
            let why = format!(
                "{}: the condition must be bool, not {}{}",
                self.function,
                condition.dtype(),
                condition.all_dims()
            );
            return Err(Error::new(ErrorKind::DType, why).with_help("compare it with something"));
        }
        expr::typed(&condition)
    }

    /// An initial or next value of a carried one: a number as an element of the dtype, an array of this dtype.
    fn typed(&self, i: usize, x: &Array<'a>, dtype: DType) -> Result<Array<'a>> {
        let name = || (self.name)(i);
        match x.number() {
            Some(number) => literal(number, dtype, || format!("{}: {}", self.function, name())),
            None if x.dtype() == dtype => Ok(x.clone()),
            None => {
                let why = format!("{}: {} is {dtype}, but becomes {}", self.function, name(), x.dtype());
                Err(Error::new(ErrorKind::DType, why)
                    .with_help(format!("write astype(x, {dtype}) in the body, or convert the initial value")))
            }
        }
    }

    /// Records the region, and makes the arrays of the loop over it.
    fn record(
        &self,
        mut recorder: Recorder<'_, 'a>,
        mut args: Vec<Array<'a>>,
        condition: &Array<'a>,
        next: &[Array<'a>],
    ) -> Result<Vec<Array<'a>>> {
        let mut params: Vec<DType> = args.iter().map(Array::dtype).collect();
        let roots = [condition].into_iter().chain(next);
        let mut values = Vec::with_capacity(1 + next.len());
        for (i, root) in roots.enumerate() {
            let what = || i.checked_sub(1).map_or_else(|| "the condition".to_owned(), self.name);
            values.push(recorder.record(root, &what)?);
        }
        let Recorder { nodes, captured, tables, functions, numbered, .. } = recorder;
        params.extend(captured.iter().map(Array::dtype));
        args.extend(captured);
        let mut region = Region {
            params,
            tables,
            limit: self.limit,
            is_numbered: false,
            nodes,
            condition: Some(values[0]),
            next: values[1..].to_vec(),
            outputs: Vec::new(),
        };
        region::check_depth(self.function, &region)?;
        if self.limit.is_none() || numbered.is_some() {
            let number = number_of_elements(&whole(&aligned(&region, &args))?)?;
            let param = region.params.len() as u32;
            if let Some(leaf) = numbered {
                region.nodes[leaf.index()] = NodeKind::Leaf(param);
            }
            region.params.push(DType::Int64);
            region.is_numbered = true;
            args.push(number);
        }
        items(&region, &functions, &args)
    }
}

/// A number as an element of a dtype; `what` names it in errors.
pub(crate) fn literal<'a>(number: Number, dtype: DType, what: impl Fn() -> String) -> Result<Array<'a>> {
    let _ieee = FloatEnv::ieee();
    let value = infer::literal(number.literal(), dtype, promotion());
    let refused = |e: Error| Error::new(e.kind(), format!("{}: {}", what(), e.message()));
    Ok(expr::constant(value.map_err(refused)?))
}

/// A carried value in the condition and the body.
pub(crate) fn placeholder<'a>(dtype: DType, shape: &Shape, dims: Option<&Arc<Dims>>) -> Array<'a> {
    Array::with_dims(Kind::Leaf(Leaf::Carried), dtype, shape.clone(), dims.cloned())
}

/// The number of each element of an array in row-major order, as int64; [`LoopRun::UNNUMBERED`] for all of them if the rank is
/// open.
fn number_of_elements<'a>(of: &Array<'a>) -> Result<Array<'a>> {
    if of.all_dims().has_rest() {
        return Ok(expr::constant(Scalar::of(LoopRun::UNNUMBERED as i64)));
    }
    expr::index(of, (0..of.rank()).collect::<Axes>())
}

/// An array of the shape to which arrays broadcast: the first value of a loop over them that has no iterations.
fn whole<'a>(args: &[Array<'a>]) -> Result<Array<'a>> {
    let ends = expr::constant(Scalar::of(false));
    let args = [args, &[ends]].concat();
    let leaf = |param: usize| NodeKind::Leaf(param as u32);
    let last = args.len() - 1;
    let region = Region {
        params: args.iter().map(Array::dtype).collect(),
        tables: Vec::new(),
        limit: Some(0),
        is_numbered: false,
        nodes: vec![leaf(0), leaf(last)],
        condition: Some(NodeId::new(1)),
        next: vec![NodeId::new(0)],
        outputs: Vec::new(),
    };
    items(&region, &[], &args)?.pop().ok_or_else(lost)
}

/// The operands of a loop that broadcast to its shape: all but tables.
fn aligned<'a>(region: &Region, args: &[Array<'a>]) -> Vec<Array<'a>> {
    let aligned = args.iter().enumerate().filter(|(param, _)| !region.is_table(*param));
    aligned.map(|(_, arg)| arg.clone()).collect()
}

/// The values that a loop carries, after it.
pub(crate) fn items<'a>(
    region: &Region,
    functions: &[HostFunction],
    args: &[Array<'a>],
) -> Result<Vec<Array<'a>>> {
    let aligned = aligned(region, args);
    let known: SmallVec<[infer::Operand<'_>; 3]> = aligned.iter().map(Array::known).collect();
    let (shape, dims) = infer::broadcast(WHILE, &known)?;
    let (region, dims) = (Arc::new(region.clone()), dims.map(Arc::new));
    let item = |item: usize| {
        let (region, args) = (region.clone(), args.to_vec());
        let node = LoopNode { region, functions: functions.to_vec(), args, item: item as u32 };
        let dtype = node.dtype();
        Array::with_dims(Kind::Loop(Box::new(node)), dtype, shape.clone(), dims.clone())
    };
    Ok((0..region.carried()).map(item).collect())
}
