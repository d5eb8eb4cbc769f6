//! Random recurrences: every executor, vector width and number of threads gives the bits of scalar programs that the test kit's
//! reference runs, step by step and column by column. A third of them are reductions, whose steps combine elements in pairs.

use broadloom::prelude::*;
use broadloom::text::Printed;
use broadloom::{Along, Op, Promotion, Semantics, try_reduce, try_scan};
use broadloom_core::node::StepOrder;
use broadloom_core::rewrite::Rules;
use broadloom_testkit::random::{self, Arg, Rng, Step, Tensor, Type, type_of};
use broadloom_testkit::{differential, edge_cases, elements};

use crate::combine::combined;
use crate::scan::ways;

/// A random step over states, inputs and captured values, as a program of 0-d values.
struct RandomScan {
    /// The initial states, inputs and captured values, with the position of each element in them for an index of the space.
    params: Vec<Tensor>,
    states: usize,
    inputs: usize,
    body: Vec<Step>,
    next: Vec<usize>,
    outputs: Vec<usize>,
    /// The index space and the axis.
    space: Vec<usize>,
    axis: usize,
    order: StepOrder,
}

impl RandomScan {
    fn new(rng: &mut Rng) -> RandomScan {
        let rank = 1 + rng.below(3);
        let axis = rng.below(rank);
        let orders = [StepOrder::Forward, StepOrder::Backward, StepOrder::Canonical];
        let order = *rng.pick(&orders).expect("orders");
        let is_reduction = order == StepOrder::Canonical;
        // Rows of reductions have 16 elements.
        let most = if is_reduction { 70 } else { 8 };
        let space: Vec<usize> =
            (0..rank).map(|i| if i == axis { rng.below(most) } else { 1 + rng.below(5) }).collect();
        let mut others = space.clone();
        others.remove(axis);
        let dtypes =
            [DType::Float64, DType::Float32, DType::Int32, DType::UInt8, DType::Bool, DType::Float16];
        let (states, inputs, captured) = (1 + rng.below(3), 1 + rng.below(2), rng.below(3));
        let inputs = if is_reduction { states } else { inputs };
        let mut params: Vec<Tensor> = Vec::new();
        for i in 0..states + inputs + captured {
            let is_input = (states..states + inputs).contains(&i);
            let all = if is_input { &space } else { &others };
            // Some extents are 1, and some leading axes are missing; the first input has all.
            let keeps = |at: usize, rng: &mut Rng| i == states || is_input && at == axis || rng.chance(2, 3);
            let mut shape: Vec<usize> =
                all.iter().enumerate().map(|(at, &n)| if keeps(at, rng) { n } else { 1 }).collect();
            if !is_input && rng.chance(1, 3) {
                shape.drain(..rng.below(shape.len() + 1));
            }
            let of_state = i.checked_sub(states).filter(|of| is_reduction && *of < states);
            let drawn = *rng.pick(&dtypes).expect("dtypes");
            let dtype = of_state.map_or(drawn, |of| params[of].dtype);
            let values = edge_cases::values(dtype);
            let bits = 0..shape.iter().product::<usize>();
            let bits = bits.map(|_| rng.pick(&values).expect("values").bits).collect();
            params.push(Tensor { dtype, shape, bits });
        }
        let mut types: Vec<Type> =
            params.iter().map(|x| Type { dtype: x.dtype, shape: Vec::new() }).collect();
        let mut body = Vec::new();
        let mut push = |types: &mut Vec<Type>, step: Step| -> Option<usize> {
            types.push(type_of(&step, types, Promotion::Strict).ok()?);
            body.push(step);
            Some(types.len() - 1)
        };
        let ops: Vec<Op> = Op::public().collect();
        for _ in 0..2 + rng.below(8) {
            let op = *rng.pick(&ops).expect("ops");
            let last = rng.below(types.len());
            let mut args = Vec::new();
            for i in 0..op.operands() {
                let dtype = if op == Op::Where && i == 0 { DType::Bool } else { types[last].dtype };
                let arg = rng.below(types.len());
                args.extend(push(&mut types, Step::Cast(arg, dtype)).map(Arg::Step));
            }
            push(&mut types, Step::Apply(op, args));
        }
        let any = |rng: &mut Rng, types: &[Type]| types.len() - 1 - rng.below(types.len().min(9));
        let next = (0..states).filter_map(|i| {
            let (value, dtype) = (any(rng, &types), params[i].dtype);
            push(&mut types, Step::Cast(value, dtype))
        });
        let next = next.collect();
        let outputs = if is_reduction { 0 } else { rng.below(3) };
        let outputs = (0..outputs).map(|_| any(rng, &types)).collect();
        RandomScan { params, states, inputs, body, next, outputs, space, axis, order }
    }

    /// The bits of the last states and the outputs, step by step and column by column.
    fn expected(&self) -> Vec<Vec<u64>> {
        let columns: Vec<usize> =
            self.space.iter().enumerate().filter(|(i, _)| *i != self.axis).map(|x| *x.1).collect();
        let steps = self.space[self.axis];
        let elements: usize = self.space.iter().product();
        let mut results = vec![Vec::new(); self.states];
        results.extend(self.outputs.iter().map(|_| vec![0; elements]));
        for column in 0..columns.iter().product() {
            let (mut rest, mut index) = (column, vec![0; columns.len()]);
            for (i, &extent) in columns.iter().enumerate().rev() {
                (rest, index[i]) = (rest / extent, rest % extent);
            }
            let at = |x: &Tensor, index: &[usize]| {
                let aligned = x.shape.iter().zip(&index[index.len() - x.shape.len()..]);
                let place =
                    aligned.fold(0, |at, (&extent, &i)| at * extent + if extent == 1 { 0 } else { i });
                Tensor { dtype: x.dtype, shape: Vec::new(), bits: vec![x.bits[place]] }
            };
            let whole = |step: usize| {
                let mut whole = index.clone();
                whole.insert(self.axis, step);
                whole
            };
            let ends = self.states + self.inputs;
            let elements = |step: usize| -> Vec<Tensor> {
                self.params[self.states..ends].iter().map(|x| at(x, &whole(step))).collect()
            };
            let captured: Vec<Tensor> = self.params[ends..].iter().map(|x| at(x, &index)).collect();
            // The values of a step for a state and elements.
            let values = |state: &[Tensor], elements: &[Tensor]| {
                let params = state.iter().chain(elements).chain(&captured).cloned().map(Step::Input);
                let program = random::Program {
                    steps: params.chain(self.body.iter().cloned()).collect(),
                    roots: self.next.iter().chain(&self.outputs).copied().collect(),
                    promotion: Promotion::Strict,
                    semantics: Semantics::default(),
                };
                program.run().expect("a well-typed step").values
            };
            let next_of = |values: &[Tensor]| -> Vec<Tensor> {
                self.next.iter().map(|&next| values[next].clone()).collect()
            };
            let mut state: Vec<Tensor> = self.params[..self.states].iter().map(|x| at(x, &index)).collect();
            if self.order == StepOrder::Canonical {
                let all: Vec<Vec<Tensor>> = (0..steps).map(elements).collect();
                state = combined(&all, |a, b| next_of(&values(a, b))).unwrap_or(state);
            }
            for step in 0..if self.order == StepOrder::Canonical { 0 } else { steps } {
                let step = if self.order == StepOrder::Backward { steps - 1 - step } else { step };
                let values = values(&state, &elements(step));
                state = next_of(&values);
                let whole = whole(step);
                let element = whole.iter().zip(&self.space).fold(0, |at, (i, extent)| at * extent + i);
                for (result, &output) in results[self.states..].iter_mut().zip(&self.outputs) {
                    result[element] = values[output].bits[0];
                }
            }
            for (result, last) in results.iter_mut().zip(&state) {
                result.push(last.bits[0]);
            }
        }
        results
    }

    fn build(&self) -> Result<Vec<Array<'static>>> {
        let params: Vec<Array<'static>> =
            self.params.iter().map(|x| elements::array(x.dtype, &x.shape, &x.bits)).collect();
        let (state, others) = params.split_at(self.states);
        let (inputs, captured) = others.split_at(self.inputs);
        type Values = Vec<Array<'static>>;
        let step = |state: &[Array<'static>], elements: &[Array<'static>]| -> Result<(Values, Values)> {
            let mut values = [state, elements, captured].concat();
            for step in &self.body {
                let value = differential::array(step, &values)?;
                values.push(value);
            }
            let of = |which: &[usize]| which.iter().map(|&i| values[i].clone()).collect();
            Ok((of(&self.next), of(&self.outputs)))
        };
        let axis = self.axis as isize - self.space.len() as isize;
        let along = match self.order {
            StepOrder::Forward => Along::axis(axis),
            StepOrder::Backward => Along::axis(axis).reverse(),
            StepOrder::Canonical => {
                let combine = |left: &[Array<'static>], right: &[Array<'static>]| Ok(step(left, right)?.0);
                return try_reduce(&combine, state, inputs, axis);
            }
        };
        let (last, outputs) = try_scan(&step, state, inputs, along)?;
        Ok([last, outputs].concat())
    }
}

#[test]
fn random_scans_agree_with_scalar_programs() -> Result<()> {
    let mut rng = Rng::new(0x5ca9);
    for number in 0..300 {
        let random = RandomScan::new(&mut rng);
        let (expected, built) = (random.expected(), random.build()?);
        let roots: Vec<&Array<'_>> = built.iter().collect();
        for (i, options) in ways().enumerate() {
            let rules = if i % 2 == 0 { Rules::On } else { Rules::Off };
            let got = eval_many_with(&roots, &Options { rules, ..options })?;
            for (value, (got, expected)) in got.iter().zip(&expected).enumerate() {
                let found = elements::difference(got.dtype(), &elements::bits(got)?, expected);
                assert!(
                    found.is_none(),
                    "scan {number}, value {value}: {found:?} {i}\n{}",
                    Printed::new(&[("x", roots[value])])?
                );
            }
        }
    }
    Ok(())
}
