//! Random recurrences: every executor, vector width and number of threads gives the bits of scalar programs that the test kit's
//! reference runs, step by step and column by column. A third of them are reductions, whose steps combine elements in pairs.

use broadloom::prelude::*;
use broadloom::text::Printed;
use broadloom::{Along, Chunks, Executor, Op, Passes, Promotion, Semantics, try_reduce, try_scan};
use broadloom_core::node::StepOrder;
use broadloom_core::rewrite::Rules;
use broadloom_testkit::random::{self, Arg, Rng, Step, Tensor, Type, type_of};
use broadloom_testkit::{differential, edge_cases, elements};

use crate::combine::combined;
use crate::passes::read;
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
    /// A scan of fewer than `steps` steps.
    fn new(rng: &mut Rng, steps: usize) -> RandomScan {
        let rank = 1 + rng.below(3);
        let axis = rng.below(rank);
        let orders = [StepOrder::Forward, StepOrder::Backward, StepOrder::Canonical];
        let order = *rng.pick(&orders).expect("orders");
        let is_reduction = order == StepOrder::Canonical;
        // Rows of reductions have 16 elements.
        let most = if is_reduction { 70 } else { steps };
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

    /// The parameters as arrays.
    fn arrays(&self) -> Vec<Array<'static>> {
        self.params.iter().map(|x| elements::array(x.dtype, &x.shape, &x.bits)).collect()
    }

    /// The last states and the outputs over these parameters.
    fn build(&self, params: &[Array<'static>]) -> Result<Vec<Array<'static>>> {
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
        let random = RandomScan::new(&mut rng, 8);
        let (expected, built) = (random.expected(), random.build(&random.arrays())?);
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

/// The bits of results of one shape, whose inputs are read in parts, in passes and chunks of at most `max_bytes`; and whether a
/// pass has cut a scan along its axis. A limit that is too small is doubled.
fn in_chunks(
    roots: &[&Array<'static>],
    inputs: &[Array<'static>],
    values: &[Array<'static>],
    options: &Options,
) -> Result<(Vec<Vec<u64>>, bool)> {
    let unlimited = Options { max_bytes: usize::MAX, ..options.clone() };
    let placeholders: Vec<&Array<'static>> = inputs.iter().collect();
    let mut options = options.clone();
    let mut passes = loop {
        match Passes::new(roots, &placeholders, &options) {
            Err(error) if error.is_limit() => options.max_bytes *= 2,
            passes => break passes?,
        }
    };
    let mut cuts = 0;
    while let Some(chunk) = passes.next_chunk()? {
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&values[part.input], part)).collect();
        cuts += usize::from(chunk.describe().starts_with("scan "));
        chunk.fold(&parts)?;
    }
    let results: Vec<&Array<'static>> = passes.results()?.iter().collect();
    let chunks = loop {
        match Chunks::new(&results, &placeholders, &options) {
            Err(error) if error.is_limit() => options.max_bytes *= 2,
            chunks => break chunks?,
        }
    };
    let mut bits = vec![Vec::new(); roots.len()];
    for chunk in chunks.iter() {
        let chunk = chunk?;
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&values[part.input], part)).collect();
        for (bits, result) in bits.iter_mut().zip(chunk.results(&parts)?) {
            bits.extend(elements::bits(&result.eval_with(&unlimited)?)?);
        }
    }
    Ok((bits, cuts > 1))
}

#[test]
fn random_scans_in_chunks_agree_with_scalar_programs() -> Result<()> {
    let mut rng = Rng::new(0xc477);
    let mut cut = 0;
    for number in 0..200 {
        let random = RandomScan::new(&mut rng, 40);
        let (expected, values) = (random.expected(), random.arrays());
        let input = |(i, x): (usize, &Array<'static>)| {
            let dims: Vec<_> = x.shape().iter().map(|&extent| extent.into()).collect();
            Array::input(&format!("x{i}"), x.dtype(), &dims)
        };
        let inputs = values.iter().enumerate().map(input).collect::<Result<Vec<_>>>()?;
        let built = random.build(&inputs)?;
        // The last states together, all outputs together, and one value alone.
        let all: Vec<usize> = (0..built.len()).collect();
        let (last, outputs) = all.split_at(random.states);
        let alone = [rng.below(built.len())];
        for group in [last, outputs, &alone] {
            if group.is_empty() {
                continue;
            }
            let roots: Vec<&Array<'_>> = group.iter().map(|&i| &built[i]).collect();
            let bytes: usize = roots.iter().map(|x| x.len() * x.dtype().size()).sum();
            let executor = *rng.pick(&[Executor::Interp, Executor::Jit]).expect("executors");
            let max_bytes = 8 + rng.below(2 * bytes + 8);
            let options =
                Options { executor, max_bytes, threads: Some(1 + rng.below(2)), ..Options::default() };
            let (got, is_cut) = in_chunks(&roots, &inputs, &values, &options)?;
            cut += usize::from(is_cut);
            for (&value, got) in group.iter().zip(&got) {
                let found = elements::difference(built[value].dtype(), got, &expected[value]);
                assert!(
                    found.is_none(),
                    "scan {number}, value {value} in {max_bytes} bytes: {found:?}\n{}",
                    Printed::new(&[("x", &built[value])])?
                );
            }
        }
    }
    assert!(cut > 100, "{cut}");
    Ok(())
}
