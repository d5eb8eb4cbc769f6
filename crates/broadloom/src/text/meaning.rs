//! Evaluates texts to arrays.
//!
//! The parts of a program become arrays. An array for an input must have the dtype and the extents that the text declares. A
//! symbol has the same value everywhere.

use std::cell::RefCell;
use std::collections::HashMap;

use broadloom_core::binding::Binding;
use broadloom_core::indices::Indices;
use broadloom_core::node::StepOrder;
use broadloom_core::padding::Padding;
use broadloom_core::reductions::ReductionCall;
use broadloom_core::text::{
    GeneratorCall, Input, Item, LoopCall, LoopKind, LoopPart, LoopRun, Meaning, RoutineCall, ScanAxis,
    TakeName, View, brief,
};
use broadloom_core::{DType, Dim, Dims, Error, ErrorKind, Literal, Op, Result, Scalar};
use broadloom_math::Elem;
use broadloom_mem::HostFunction;
use smallvec::SmallVec;

use super::calls;
use crate::along::Along;
use crate::array::Array;
use crate::array::Operand;
use crate::expr;
use crate::fori_loop::range_loop;
use crate::gradients;
use crate::joining;
use crate::reduce::named_reduce;
use crate::scan::named_scan;
use crate::storage::Element;
use crate::while_loop::LoopBuilder;

/// Arrays by name, with the extents of the symbols found so far.
pub(super) struct Arrays<'n, 'a> {
    known: HashMap<&'n str, &'n Array<'a>>,
    /// The names in the caller's order.
    names: Vec<&'n str>,
    /// The host functions, by number.
    functions: &'n [HostFunction],
    symbols: Binding,
    /// Whether some declared input has no array; its extents then remain symbols.
    is_open: bool,
}

impl<'n, 'a> Arrays<'n, 'a> {
    pub(super) fn new(bound: &'n [(&'n str, Array<'a>)], functions: &'n [HostFunction]) -> Arrays<'n, 'a> {
        Arrays {
            known: bound.iter().map(|(name, array)| (*name, array)).collect(),
            names: bound.iter().map(|(name, _)| *name).collect(),
            functions,
            symbols: Binding::default(),
            is_open: false,
        }
    }

    /// Checks an array against a declared type, and binds symbols at their first occurrence.
    fn fits(&mut self, array: &Array<'a>, declared: &Input<'_>) -> Result<()> {
        let (name, said) = (brief(declared.name()), brief(declared.type_text().unwrap_or_default()));
        let is = || match array.dims() {
            Some(_) => format!("{}{}", array.dtype(), array.all_dims()),
            None => Operand::from(array).known().to_string(),
        };
        if declared.dtype().is_some_and(|dtype| dtype != array.dtype()) || array.number().is_some() {
            let error = Error::new(ErrorKind::DType, format!("`{name}` is {}, not {said}", is()));
            let dtype = declared.dtype().map_or("float64", DType::name);
            return Err(error.with_help(format!("write `astype(…, {dtype})`")));
        }
        let Some(dims) = declared.dims() else { return Ok(()) };
        let dims = Dims::new(&dims)?;
        if self.is_open || array.dims().is_some() {
            if array.all_dims() == dims {
                return Ok(());
            }
            return Err(Error::new(ErrorKind::Shape, format!("`{name}` is {}, not {said}", is())));
        }
        self.symbols.meet(&dims, array.shape()).map_err(|error| {
            Error::new(ErrorKind::Shape, format!("`{name}`, declared {said}, {}", error.message()))
        })
    }
}

impl<'a> Meaning for Arrays<'_, 'a> {
    type Value = Array<'a>;

    fn repeat(
        &mut self,
        call: &LoopCall<'_, Array<'a>>,
        run: &mut LoopRun<'_, Self>,
    ) -> Result<Vec<Array<'a>>> {
        // The builder calls one part at a time.
        let parts = RefCell::new((self, run));
        let evaluate = |part: LoopPart, state: &[Array<'a>]| {
            let (meaning, run) = &mut *parts.borrow_mut();
            run(meaning, part, state)
        };
        let condition = |state: &[Array<'a>]| {
            let values = evaluate(LoopPart::Condition, state)?;
            values.into_iter().next().ok_or_else(|| Error::new(ErrorKind::Internal, "no condition"))
        };
        let name = |i: usize| format!("`{}`", brief(call.names[i]));
        match &call.kind {
            LoopKind::While(limit) => {
                let body = |state: &[Array<'a>]| evaluate(LoopPart::Body, state);
                let (condition, body, name, limit) = (&condition, &body, &name, *limit);
                LoopBuilder { function: "while", hidden: 0, condition, body, name, limit, made: None }
                    .build(&call.state)
            }
            LoopKind::For(bounds) => {
                let body = |i: &Array<'a>, state: &[Array<'a>]| {
                    evaluate(LoopPart::Body, &[std::slice::from_ref(i), state].concat())
                };
                range_loop("for", &name, bounds.clone(), &body, &call.state)
            }
            LoopKind::Scan(inputs, ScanAxis { axis, order, length }) => {
                let step = |state: &[Array<'a>], elements: &[Array<'a>]| {
                    let mut next = evaluate(LoopPart::Body, &[state, elements].concat())?;
                    let outputs = next.split_off(state.len().min(next.len()));
                    Ok((next, outputs))
                };
                if *order == StepOrder::Canonical {
                    let combine = |left: &[Array<'a>], right: &[Array<'a>]| Ok(step(left, right)?.0);
                    return named_reduce(&name, &combine, &call.state, inputs, *axis);
                }
                let mut along = Along::axis(*axis);
                if *order == StepOrder::Backward {
                    along = along.reverse();
                }
                if let Some(length) = length {
                    along = along.length(*length);
                }
                let (last, outputs) = named_scan(&name, &step, &call.state, inputs, along)?;
                Ok([last, outputs].concat())
            }
        }
    }

    fn literal(&mut self, x: Literal) -> Array<'a> {
        Array::scalar(x)
    }

    fn constant(&mut self, x: Scalar) -> Array<'a> {
        expr::constant(x)
    }

    fn apply(&mut self, op: Op, args: &[Array<'a>]) -> Result<Array<'a>> {
        Array::apply(op, args)
    }

    fn cast(&mut self, x: &Array<'a>, dtype: DType) -> Result<Array<'a>> {
        Ok(x.astype(dtype))
    }

    fn view(&mut self, x: &Array<'a>, view: View<'_>) -> Result<Array<'a>> {
        match view {
            View::Index(items) => index(x, items),
            View::PermuteDims(axes) => x.permute_dims(axes),
            View::BroadcastTo(shape) => {
                let extents: Option<Vec<usize>> = shape.iter().map(|&e| usize::try_from(e).ok()).collect();
                let negative = || Error::new(ErrorKind::Shape, "broadcast_to: an extent is negative");
                x.broadcast_to(&extents.ok_or_else(negative)?)
            }
            View::Reshape(shape) => x.reshape(shape),
            View::ExpandDims(axis) => x.expand_dims(axis),
            View::Squeeze(axis) => x.squeeze(axis),
            View::Flip(axis) => x.flip(axis),
            View::IndexAxis(axis, index) => x.index_axis(axis, index),
            View::SlidingWindow(length, axis) => {
                let negative =
                    |_| Error::new(ErrorKind::Shape, format!("sliding_window: the length is {length}"));
                x.sliding_window(usize::try_from(length).map_err(negative)?, axis)
            }
        }
    }

    fn reduce(&mut self, call: &ReductionCall, args: &[Array<'a>]) -> Result<Array<'a>> {
        Array::reduce(call, args)
    }

    fn take(&mut self, name: TakeName, args: &[Array<'a>], axis: isize) -> Result<Array<'a>> {
        match (name, args) {
            (TakeName::Take, [x, indices]) => x.take(indices, axis),
            (TakeName::Take, [x, indices @ ..]) => x.gather(indices, axis),
            (TakeName::TakeAlongAxis, [x, indices]) => x.take_along_axis(indices, axis),
            (TakeName::ElementsAt, [x, positions]) if positions.dtype() == DType::Int64 => {
                expr::gather(x, positions)
            }
            (TakeName::ElementsAt, [_, positions]) => {
                let why = format!("elements_at: positions are int64, not {}", positions.dtype());
                Err(Error::new(ErrorKind::DType, why).with_help("write `astype(…, int64)`"))
            }
            _ => Err(Error::new(ErrorKind::Internal, "the text was resolved wrongly")),
        }
    }

    fn concat(&mut self, args: &[Array<'a>], axis: isize) -> Result<Array<'a>> {
        joining::concat(args, axis)
    }

    fn pad_like(&mut self, args: &[Array<'a>], padding: Padding) -> Result<Array<'a>> {
        match args {
            [x, like] => expr::pad_like(x, like, padding),
            _ => Err(Error::new(ErrorKind::Internal, "the text was resolved wrongly")),
        }
    }

    fn grad(&mut self, args: &[Array<'a>]) -> Result<Array<'a>> {
        let [y, x] = args else {
            return Err(Error::new(ErrorKind::Internal, "the text was resolved wrongly"));
        };
        let found = gradients::grad(y, &[x])?.pop();
        found.ok_or_else(|| Error::new(ErrorKind::Internal, "a gradient that was lost"))
    }

    fn routine(&mut self, call: &RoutineCall, args: &[Array<'a>]) -> Result<Array<'a>> {
        calls::routine(call, args)
    }

    fn generate(&mut self, call: &GeneratorCall, args: &[Array<'a>]) -> Result<Array<'a>> {
        calls::generate(call, args)
    }

    fn host(&mut self, id: u32, args: &[Array<'a>]) -> Result<Array<'a>> {
        let unknown = || Error::new(ErrorKind::Internal, "a host function that nobody defined");
        Array::call(self.functions.get(id as usize).ok_or_else(unknown)?, args)
    }

    fn input(&mut self, input: &Input<'_>, data: Option<&[u64]>) -> Result<Array<'a>> {
        if let Some(array) = self.known.get(input.name()).copied() {
            self.fits(array, input)?;
            return Ok(array.clone());
        }
        if let Some((bits, dtype)) = data.zip(input.dtype()) {
            let fixed = |dim: &Dim| if let Dim::Fixed(n) = dim { *n } else { 1 };
            let shape: Vec<usize> = input.dims().iter().flatten().map(fixed).collect();
            return from_bits(dtype, &shape, bits);
        }
        let (Some(dtype), Some(dims)) = (input.dtype(), input.dims()) else {
            return Err(Error::new(ErrorKind::Internal, format!("`{}` is not declared", input.name())));
        };
        self.is_open = true;
        Array::input(input.name(), dtype, &dims)
    }

    fn free(&mut self, name: &str) -> Option<Array<'a>> {
        self.known.get(name).map(|array| (*array).clone())
    }

    fn names(&self) -> Vec<&str> {
        self.names.clone()
    }

    fn check(&mut self, value: &Array<'a>, declared: &Input<'_>) -> Result<()> {
        self.fits(value, declared)
    }

    fn set(&mut self, name: &str, _value: &str) -> Result<()> {
        let why = format!("`{name}` is set by the options of who evaluates the text");
        Err(Error::new(ErrorKind::Name, why))
    }

    fn show(&self, x: &Array<'a>) -> String {
        Operand::from(x).known().to_string()
    }
}

/// Applies `x[item, …]`. Ranges have the same meaning as in Python, and an index removes its axis.
fn index<'a>(x: &Array<'a>, items: &[Item]) -> Result<Array<'a>> {
    let axes = items.iter().filter(|item| **item != Item::Rest).count();
    let Some(rest) = x.rank().checked_sub(axes) else {
        let why = format!("index: {axes} indices for {}, which has rank {}", x.all_dims(), x.rank());
        return Err(Error::new(ErrorKind::Shape, why));
    };
    let mut indices = SmallVec::new();
    for item in items {
        match *item {
            Item::Rest => indices.extend(std::iter::repeat_n(Indices::ALL, rest)),
            Item::Of(of_axis) => indices.push(of_axis),
            Item::Computed => return Err(Error::new(ErrorKind::Internal, "a view with computed indices")),
        }
    }
    // If `...` comes first, axes are counted from the end.
    let begins_with_rest = items.first() == Some(&Item::Rest);
    x.indexed("index", indices, begins_with_rest)
}

macro_rules! define_from_bits {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {
        /// Makes an array whose elements have these bits.
        fn from_bits<'a>(dtype: DType, shape: &[usize], bits: &[u64]) -> Result<Array<'a>> {
            fn values<T: Element>(bits: &[u64]) -> Vec<T> {
                bits.iter().map(|&bits| <T as Elem>::from_bits64(bits)).collect()
            }
            match dtype {
                $(DType::$variant => Array::from_shape_vec(shape, values::<$rust>(bits)),)*
            }
        }
    };
}
broadloom_math::for_each_dtype!(define_from_bits);
