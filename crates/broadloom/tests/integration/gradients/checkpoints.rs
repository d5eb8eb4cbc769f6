//! Scans and loops that compute their states again in reverse mode.

use broadloom::gradients::checkpoint;
use broadloom::{Along, fori_loop, scan};

use super::*;

type OfThree = fn(&[Array<'static>; 3], isize) -> Result<Array<'static>>;

/// Two states, an input of rows, an initial state, an array that each step uses, and an output.
fn filtered(of: &[Array<'static>; 3], is_reverse: isize) -> Result<Array<'static>> {
    let [x, initial, w] = of;
    let along = if is_reverse == 1 { Along::axis(0).reverse() } else { Along::axis(0) };
    let step = |[mean, speed]: &[Array<'static>; 2], [x]: &[Array<'static>; 1]| {
        let next = mean + (x - mean) * w + speed.sin() * 0.25;
        ([next.clone(), speed * 0.5 + x.cos()], [next * speed])
    };
    let ([mean, speed], [ys]) = scan(step, [initial.clone(), Array::scalar(0.5_f32)], [x.clone()], along)?;
    ys.square().sum(())?.try_add(&(mean * 2.0_f32 + speed).sum(())?)
}

/// A state that is also an output, and one that is not.
fn accumulated(of: &[Array<'static>; 3], is_reverse: isize) -> Result<Array<'static>> {
    let [x, initial, w] = of;
    let along = if is_reverse == 1 { Along::axis(0).reverse() } else { Along::axis(0) };
    let step = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
        let next = s * w + x;
        ([next.clone()], [next])
    };
    let (_, [sums]) = scan(step, [initial.clone()], [x.clone()], along)?;
    sums.sin().sum(())
}

/// A loop without inputs, whose body uses its index.
fn repeated<const TRIPS: i64>(of: &[Array<'static>; 3], _: isize) -> Result<Array<'static>> {
    let [_, initial, w] = of;
    let body = |i: &Array<'static>, [y]: &[Array<'static>; 1]| [y * w.cos() + i.astype(DType::Float32) * w];
    let [y] = fori_loop(0, TRIPS, body, [initial.clone()])?;
    y.sin().sum(())
}

fn data(shape: &[usize], scale: f32) -> Result<Array<'static>> {
    let len: usize = shape.iter().product();
    Array::from_shape_vec(shape, (0..len).map(|i| (i as f32 * 0.77 + scale).sin() * scale).collect())
}

/// The gradients of a function, and their tangents along all arguments.
fn derivatives(
    function: impl Fn(&[Array<'static>; 3]) -> Result<Array<'static>>,
    of: &[Array<'static>; 3],
) -> Result<Vec<Array<'static>>> {
    let variables = [variable(&of[0])?, variable(&of[1])?, variable(&of[2])?];
    let arguments = variables.each_ref();
    let found = grad(&function(&variables)?, &arguments)?;
    let tangents = jvp(&found.iter().collect::<Vec<_>>(), &arguments, &of.each_ref())?;
    Ok([found, tangents].concat())
}

/// The derivatives have the bits that they have if all states are stored, on every executor and for any number of threads: without
/// steps, with one, with numbers of steps that are squares and others.
#[test]
fn the_bits_are_those_of_stored_states() -> Result<()> {
    let cases: [(&str, OfThree); 4] = [
        ("a filter", filtered),
        ("sums", accumulated),
        ("a loop of 50 trips", repeated::<50>),
        ("a loop of 1 trip", repeated::<1>),
    ];
    for steps in [0, 1, 2, 3, 4, 5, 9, 10, 23, 64] {
        for (name, function) in cases {
            if steps != 9 && name.contains("loop") {
                continue;
            }
            for is_reverse in [0, 1] {
                let of = [data(&[steps, 3], 1.0)?, data(&[3], 0.5)?, data(&[], 0.9)?];
                let stored = derivatives(|x| function(x, is_reverse), &of)?;
                let again = derivatives(|x| checkpoint(|| function(x, is_reverse)), &of)?;
                for (i, (stored, again)) in stored.iter().zip(&again).enumerate() {
                    let wanted: Vec<u32> = stored.to_vec::<f32>()?.iter().map(|x| x.to_bits()).collect();
                    for options in on_executors::executors() {
                        let got = again.eval_with(&options)?.to_vec::<f32>()?;
                        let got: Vec<u32> = got.iter().map(|x| x.to_bits()).collect();
                        assert_eq!(got, wanted, "{name}, {steps} steps, {is_reverse}, {i}: {options:?}");
                    }
                }
            }
        }
    }
    Ok(())
}

/// A derivative of the derivative in reverse mode is that of the blocks, whose contributions are added block by block.
#[test]
fn derivatives_of_derivatives() -> Result<()> {
    let of = [data(&[23, 3], 1.0)?, data(&[3], 0.5)?, data(&[], 0.9)?];
    let second = |is_checkpointed: bool| -> Result<Vec<Array<'static>>> {
        let variables = [variable(&of[0])?, variable(&of[1])?, variable(&of[2])?];
        let arguments = variables.each_ref();
        let y = match is_checkpointed {
            true => checkpoint(|| filtered(&variables, 0))?,
            false => filtered(&variables, 0)?,
        };
        let first = grad(&y, &arguments)?;
        let total = first[0].sin().sum(())?.try_add(&first[1].sin().sum(())?)?.try_add(first[2].sin())?;
        grad(&total, &arguments)
    };
    for (got, wanted) in second(true)?.iter().zip(second(false)?) {
        for (got, wanted) in got.to_vec::<f32>()?.iter().zip(wanted.to_vec::<f32>()?) {
            assert!((got - wanted).abs() <= 1e-5 * wanted.abs().max(1.0), "{got} {wanted}");
        }
    }
    Ok(())
}

/// y doubles in each of 10 steps, so that its derivatives are powers of two.
#[test]
fn powers_of_a_factor() -> Result<()> {
    let (x, a) = (variable(&Array::from([1.0, 3.0]))?, variable(&Array::from([2.0, 2.0]))?);
    let [y] = checkpoint(|| fori_loop(0, 10, |_, [y]| [y * &a], [x.clone()]))?;
    let found = grad(&y.sum(())?, &[&x, &a])?;
    on_executors::each(&found[0], &[1024.0, 1024.0], "the initial state")?;
    on_executors::each(&found[1], &[10.0 * 512.0, 3.0 * 10.0 * 512.0], "the factor")
}

/// The most bytes of temporaries that are live at once: what a kernel writes is live until the last kernel that reads it.
fn peak(y: &Array<'static>) -> Result<u64> {
    let details = y.explanation(&Options { threads: Some(1), ..Options::default() }, false)?.details();
    let mut last_read: Vec<usize> = (0..details.kernels.len()).collect();
    for (i, kernel) in details.kernels.iter().enumerate() {
        kernel.inputs.iter().filter_map(|input| input.kernel).for_each(|writer| last_read[writer] = i);
    }
    let live = |i: usize| {
        let written = details.kernels[..=i].iter().zip(&last_read).filter(|(_, last)| **last >= i);
        written.map(|(kernel, _)| kernel.written).sum::<u64>()
    };
    Ok((0..details.kernels.len()).map(live).max().unwrap_or(0))
}

/// 10 000 steps over 256 columns store as many states, float32 with the int64 index of the loop; or those of some 200 steps.
#[test]
fn states_take_the_memory_of_some_steps() -> Result<()> {
    let x = variable(&data(&[256], 1.0)?)?;
    let gradient = |[y]: [Array<'static>; 1]| Ok::<_, Error>(grad(&y.sum(())?, &[&x])?.remove(0));
    let run = || fori_loop(0, 10_000, |_, [y]| [y + y.sin() * 0.01_f32], [x.clone()]);
    let state = 256 * (4 + 8);
    let (stored, again) = (peak(&gradient(run()?)?)?, peak(&gradient(checkpoint(run)?)?)?);
    assert!(stored >= 10_000 * state, "{stored}");
    assert!((200 * state..210 * state).contains(&again), "{again}");
    Ok(())
}

/// What the steps of a block contribute to the adjoint of an input is copied to the result before the next block is walked.
#[test]
fn contributions_of_blocks_are_copied_at_once() -> Result<()> {
    let x = variable(&data(&[2500, 64], 1.0)?)?;
    let gradient = |made: Result<([Array<'static>; 1], [Array<'static>; 0])>| {
        Ok::<_, Error>(grad(&made?.0[0].sum(())?, &[&x])?.remove(0))
    };
    let run = || scan(|[s], [x]| ([(s * x).sin()], []), [Array::scalar(0.5_f32)], [x.clone()], 0);
    let whole = 2500 * 64 * 4;
    let (stored, again) = (peak(&gradient(run())?)?, peak(&gradient(checkpoint(run))?)?);
    assert!(stored >= whole, "{stored}");
    assert!(again < whole / 8, "{again}");
    Ok(())
}

/// Batches keep the values. Kernels with open extents cannot have blocks of steps.
#[test]
fn where_scans_are_made_again() -> Result<()> {
    let of = |x: &Array<'static>| -> Result<Array<'static>> {
        let [y] = checkpoint(|| fori_loop(0, 10, |_, [y]| [y * 2.0], [x.clone()]))?;
        y.sum(())
    };
    let rows = vmap(
        |x| {
            let x = variable(&x[0])?;
            grad(&of(&x)?, &[&x])
        },
        &[Array::from([[1.0, 2.0], [3.0, 4.0]])],
        &[Some(0)],
        0,
    )?;
    on_executors::each(&rows[0], &[1024.0; 4], "a batch")?;
    let x = Array::input("x", DType::Float64, &["n".into()])?;
    let error = grad(&of(&x)?, &[&x]).map(drop).expect_err("an open extent");
    assert_eq!(error.kind(), ErrorKind::Derivative);
    assert_eq!(
        error.to_string(),
        "scan: its states cannot be computed again in blocks of steps, since extents are open; give the inputs of the kernel \
         numbers as extents, or store the states (without `checkpoint`)"
    );
    Ok(())
}
