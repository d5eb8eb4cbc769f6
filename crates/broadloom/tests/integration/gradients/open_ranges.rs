//! Adjoints of ranges of axes whose extents are open: each element returns to its index by Python's rules, and all others are 0.

use broadloom::text::Program;
use broadloom::{Dim, In, Kernel, Out, Range};
use broadloom_testkit::Runner;

use super::*;

/// The indices of a range of `n` elements, one by one as Python's `slice.indices` defines them.
fn indices(range: (Option<isize>, Option<isize>, isize), n: isize) -> Vec<usize> {
    let (start, stop, step) = range;
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let cut = |x: isize| if x < 0 { (x + n).max(low) } else { x.min(high) };
    let mut i = start.map_or(if step > 0 { low } else { high }, cut);
    let stop = stop.map_or(if step > 0 { high } else { low }, cut);
    let mut found = Vec::new();
    while if step > 0 { i < stop } else { i > stop } {
        found.push(i as usize);
        i += step;
    }
    found
}

fn written((start, stop, step): (Option<isize>, Option<isize>, isize)) -> String {
    let of = |bound: Option<isize>| bound.map_or_else(String::new, |bound| bound.to_string());
    format!("{}:{}:{step}", of(start), of(stop))
}

/// The gradient of a text, at an array of this shape.
fn gradient(kernel: &Kernel, x: &[f64], shape: &[usize]) -> Result<Vec<f64>> {
    let mut out = vec![9.0; x.len()];
    kernel.run(&[In::shaped(x, shape)], [Out::shaped(&mut out, shape)])?;
    Ok(out)
}

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7919) % 401) as f64 * 0.37 - 50.0).collect()
}

/// The k-th element of a range has the weight k + 1, which is therefore the gradient at its index.
#[test]
fn each_element_of_a_range_returns_to_its_index() -> Result<()> {
    let bounds = [None, Some(-9), Some(-3), Some(-1), Some(0), Some(1), Some(2), Some(7)];
    let mut count = 0;
    for (start, stop) in bounds.iter().flat_map(|&start| bounds.map(|stop| (start, stop))) {
        for step in [-3, -2, -1, 1, 2, 4] {
            let range = (start, stop, step);
            let r = format!("x[{}]", written(range));
            let text = format!("x: float64[n]; y = sum({r} * astype(indices({r}) + 1, float64)); grad(y, x)");
            let kernel = match Kernel::parse(&text, &Options::default()) {
                Ok(kernel) => kernel,
                // No function of the extent is the length of such a range, so that nothing can be computed from it either.
                Err(e) => {
                    assert!(e.message.ends_with("has no simple form"), "{r}: {e}");
                    continue;
                }
            };
            count += 1;
            for n in [0, 1, 2, 3, 4, 8, 17] {
                let mut expected = vec![0.0; n];
                let at = indices(range, n as isize);
                at.iter().enumerate().for_each(|(k, &i)| expected[i] = k as f64 + 1.0);
                assert_eq!(gradient(&kernel, &numbers(n), &[n])?, expected, "{r} of {n}");
            }
        }
    }
    // Forwards, three starts and three stops have none; backwards, four and two.
    assert_eq!(count, 8 * 8 * 6 - 3 * (3 * 3 + 4 * 2));
    Ok(())
}

/// Ranges of several axes, beside single indices and axes that are complete, for any leading axes, on each executor.
#[test]
fn elements_of_ranges_of_several_axes_return_to_their_indices() -> Result<()> {
    let all = (None, None, 1);
    let at = |i: isize| (Some(i), if i == -1 { None } else { Some(i + 1) }, 1);
    let (later, odd, back) = ((Some(1), None, 1), (Some(1), None, 2), (Some(-2), Some(0), -2));
    for (dims, item, ranges) in [
        ("n, m", "1:, 1::2", [all, later, odd]),
        ("n, m", "1::2, 1:", [all, odd, later]),
        ("n, m", "-2:0:-2, :", [all, back, all]),
        ("n, m", "::-1, -2:0:-2", [all, (None, None, -1), back]),
        ("n, 5", "1:, -2", [all, later, at(-2)]),
        ("n, 5", "1, -4:3", [all, at(1), (Some(-4), Some(3), 1)]),
        ("k, n, m", "1:, -1, 1::2", [later, at(-1), odd]),
        ("..., n, m", "..., 1:, -2:0:-2", [all, later, back]),
        ("..., m", "..., 1::2", [all, all, odd]),
    ] {
        let dims: Vec<Dim> = dims.split(", ").map(Dim::from).collect();
        let x = Array::input("x", DType::Float64, &dims)?;
        let (text, bound) = (format!("sin(x[{item}])"), [("x", x.clone())]);
        let program = Program::parse(&text).expect("a text");
        let y = program.build(&bound).unwrap_or_else(|e| panic!("{text}: {e}")).remove(0).1;
        let found = vjp(&[&y], &[&(&y * 0.0 + 2.0)], &[&x])?.remove(0);
        for runner in [Runner::INTERP, Runner::JIT] {
            let kernel = Kernel::new(&[&found], &[&x], &runner.options())?;
            for extents in [[1, 2, 5], [1, 4, 5], [1, 7, 5]] {
                let rank = if dims[0] == Dim::Rest { 3 } else { dims.len() };
                let extents = if rank == 3 { [3, extents[1], extents[2]] } else { extents };
                let x = numbers(extents.iter().product());
                let mut expected = vec![0.0; x.len()];
                for i in indices(ranges[0], extents[0] as isize) {
                    for j in indices(ranges[1], extents[1] as isize) {
                        for k in indices(ranges[2], extents[2] as isize) {
                            let at = (i * extents[1] + j) * extents[2] + k;
                            expected[at] = x[at].cos() * 2.0;
                        }
                    }
                }
                let got = gradient(&kernel, &x, &extents[3 - rank..])?;
                for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
                    assert!(
                        (got - expected).abs() <= 1e-15 * expected.abs(),
                        "{text} {extents:?} [{i}] {got}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// With xᵢ³ of the elements from 1 on and xᵢ² of every second one: derivatives of both modes, in each order.
#[test]
fn second_derivatives_of_ranges() -> Result<()> {
    let x = Array::input("x", DType::Float64, &["n".into()])?;
    let every = x.slice([Range::new(None, None, 2)])?;
    let y = x.slice(1..)?.pow(3.0).sum(())? + every.square().sum(())?;
    let first = grad(&y, &[&x])?.remove(0);
    let w = Array::input("w", DType::Float64, &["n".into()])?;
    let reverse = grad(&(&first * &w).sum(())?, &[&x])?.remove(0);
    let forward = jvp(&[&first], &[&x], &[&w])?.remove(0);
    let kernel = Kernel::new(&[&first, &reverse, &forward], &[&x, &w], &Options::default())?;
    for n in [1, 2, 5, 40] {
        let (x, w) = (numbers(n), (0..n).map(|i| i as f64 - 3.0).collect::<Vec<_>>());
        let cubed = |i: usize| f64::from(u8::from(i > 0));
        let squared = |i: usize| f64::from(u8::from(i.is_multiple_of(2)));
        let slopes = (0..n).map(|i| 3.0 * x[i] * x[i] * cubed(i) + 2.0 * x[i] * squared(i));
        let along = (0..n).map(|i| (6.0 * x[i] * cubed(i) + 2.0 * squared(i)) * w[i]);
        let expected = [slopes.collect::<Vec<_>>(), along.clone().collect(), along.collect()];
        let mut outs = [vec![9.0; n], vec![9.0; n], vec![9.0; n]];
        kernel.run(&[(&x).into(), (&w).into()], outs.iter_mut().map(Out::from))?;
        for (got, expected) in outs.iter().flatten().zip(expected.iter().flatten()) {
            assert!((got - expected).abs() <= 1e-13 * expected.abs(), "{n}: {got} {expected}");
        }
    }
    Ok(())
}

/// A cumulative product that begins with 1 has the tangent 0 there, and its gradient skips that element.
#[test]
fn cumulative_products_with_an_initial_element() -> Result<()> {
    let x = Array::input("x", DType::Float64, &["n".into()])?;
    let y = x.cumulative_prod(None, None, true)?;
    let along = jvp(&[&y], &[&x], &[&x])?.remove(0);
    let slopes = grad(&y.slice(1..)?.sum(())?, &[&x])?.remove(0);
    let kernel = Kernel::new(&[&along, &slopes], &[&x], &Options::default())?;
    // Along x, the product of k elements has the derivative k times itself.
    let (mut of_along, mut of_slopes) = ([9.0; 4], [9.0; 3]);
    kernel.run(&[(&[2.0, 3.0, 5.0]).into()], [(&mut of_along).into(), (&mut of_slopes).into()])?;
    assert_eq!((of_along, of_slopes), ([0.0, 2.0, 12.0, 90.0], [19.0, 12.0, 6.0]));
    Ok(())
}

/// A kernel's gradient is one for all extents, whose text is read back.
#[test]
fn texts_pad() -> Result<()> {
    let x = Array::input("x", DType::Float64, &["n".into(), "m".into()])?;
    let of = grad(&x.slice((1.., Range::new(None, Some(-1), 2)))?.square().sum(())?, &[&x])?.remove(0);
    let text = broadloom::text::print(&[("g", &of)]).expect("a text");
    for call in ["axis=-1, stop=-1, step=2)", "axis=-2, start=1)"] {
        assert!(text.contains("pad_like(") && text.contains(call), "{text}");
    }
    let ids = [
        Kernel::named(&[("g", &of)], &[&x], &Options::default())?.id(),
        Kernel::parse(&text, &Options::default()).expect("the same").id(),
    ];
    assert_eq!(ids[0], ids[1]);
    let bound = [("v", Array::from([1, 2])), ("x", Array::from([0.0; 5]))];
    let of = |text: &str| -> std::result::Result<Vec<i32>, String> {
        let program = Program::parse(text).map_err(|e| e.message)?;
        let built = program.build(&bound).map_err(|e| e.message)?;
        built[0].1.to_vec().map_err(|e| e.to_string())
    };
    for (text, expected) in [
        ("pad_like(v, x, start=1, stop=-2)", [0, 1, 2, 0, 0]),
        ("pad_like(v, x, axis=-1, start=4, step=-4)", [2, 0, 0, 0, 1]),
    ] {
        assert_eq!(of(text).expect(text), expected, "{text}");
    }
    for (text, words) in [
        ("pad_like(v, x)", "pad_like: the range : of 5 has 5 indices, but axis 0 of [2] has 2 elements"),
        ("pad_like(v, x, axis=-2)", "pad_like: 1 axes have no axis -2"),
        ("pad_like(v, x, axis=0)", "`axis` of `pad_like` must be negative"),
        ("pad_like(v, x, step=0)", "pad_like: the step along axis 0 of [5] is 0"),
    ] {
        assert_eq!(of(text).expect_err(text), words, "{text}");
    }
    Ok(())
}

/// An element that is missing is an error of the gradient as of the function.
#[test]
fn extents_that_are_too_small_are_refused() -> Result<()> {
    let kernel = Kernel::parse("x: float64[n]; grad(sum(x[1:]) * x[3], x)", &Options::default());
    let kernel = kernel.expect("a kernel");
    assert_eq!(gradient(&kernel, &[1.0, 2.0, 3.0, 4.0], &[4])?, [0.0, 4.0, 4.0, 13.0]);
    let e = gradient(&kernel, &[1.0, 2.0, 3.0], &[3]).expect_err("three elements");
    assert_eq!(e.to_string(), "index: 3 is out of range for axis 0 of [3]");
    Ok(())
}

/// The adjoint of a sum is one number, which is repeated before it is moved.
#[test]
fn sums_of_ranges() -> Result<()> {
    let text = "x: float64[n, m]; grad(sum(x[1:]) + 2 * sum(x[:, ::-2]), x)";
    let kernel = Kernel::parse(text, &Options::default()).expect("a kernel");
    let expected = [0.0, 2.0, 0.0, 2.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0];
    assert_eq!(gradient(&kernel, &numbers(12), &[3, 4])?, expected);
    Ok(())
}

/// The product of the others of 24 elements, two of which may be 0, along all axes or some of open extents.
#[test]
fn products_along_several_axes() -> Result<()> {
    let x: Vec<f64> = (0..24).map(|i| [0.5, 2.0, 4.0, 0.25, 1.0][i * i % 5]).collect();
    for (axes, is_along) in
        [("", [true; 3]), (", axis=(0, 2)", [true, false, true]), (", axis=(2, 1)", [false, true, true])]
    {
        for at in [None, Some(5), Some(23)] {
            let mut x = x.clone();
            at.into_iter().for_each(|at| x[at] = 0.0);
            let text = format!("x: float64[n, m, k]; grad(sum(prod(x{axes})), x)");
            let kernel = Kernel::parse(&text, &Options::default()).expect("a kernel");
            let index = |i: usize| [i / 12, i / 4 % 3, i % 4];
            let is_together =
                |i: usize, j: usize| (0..3).all(|axis| is_along[axis] || index(i)[axis] == index(j)[axis]);
            // Powers of two have exact products.
            let others = |i: usize| (0..24).filter(|&j| j != i && is_together(i, j)).map(|j| x[j]).product();
            let expected: Vec<f64> = (0..24).map(others).collect();
            assert_eq!(gradient(&kernel, &x, &[2, 3, 4])?, expected, "{text} {at:?}");
        }
    }
    Ok(())
}
