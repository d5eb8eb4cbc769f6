//! Compares the engine with hand-fused loops over the same function definitions, both at the target's maximum vector width.
//!
//! Prints the nanoseconds per element of the engine and of the loop, and their ratio. First it checks that both compute the
//! same bits. Their measurements alternate.
//!
//! `cargo run --release -p broadloom-bench --bin fused`
#![forbid(unsafe_code)]

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use broadloom::{Array, Kernel, Options};
use broadloom_bench::by_hand::{Loop, numbers};
use broadloom_bench::clock::{Contender, in_turns};
use broadloom_math::functions::{Add, Cos, Divide, Exp, Pow, Sin, Square};
use broadloom_math::{Binary, Lanes, Ops, Unary};
use pulp::Arch;

const ELEMENTS: usize = 100_000;

macro_rules! measure {
    ($t:ty, $name:literal, $from:expr, $to:expr, |$x:ident, $y:ident| $ours:expr, |$o:ident, $a:ident, $b:ident| $f:expr) => {{
        let (a, b) = numbers::<$t>(ELEMENTS, $from, $to);
        let ($x, $y) = (Array::from_vec(a.clone()), Array::from_vec(b.clone()));
        let options = Options { threads: Some(1), ..Options::default() };
        let kernel = Kernel::new(&[&$ours], &[&$x, &$y], &options)?;
        let (mut ours, mut by_hand) = (vec![0 as $t; ELEMENTS], vec![0 as $t; ELEMENTS]);
        let fused = |out: &mut [$t]| {
            #[inline(always)]
            fn body($o: &mut Lanes, $a: $t, $b: $t) -> $t {
                $f
            }
            Arch::new().dispatch(Loop(black_box(&a[..]), black_box(&b[..]), out, body_of!($t, body)))
        };
        for _ in 0..64 {
            kernel.run(&[(&a[..]).into(), (&b[..]).into()], [(&mut ours[..]).into()])?;
        }
        if fused(&mut by_hand) {
            return Err(concat!($name, ": the numbers need the long way round").into());
        }
        if ours.iter().zip(&by_hand).any(|(x, y)| x.to_bits() != y.to_bits()) {
            return Err(concat!($name, ": the bits differ").into());
        }
        let mut contenders: [Contender<'_>; 2] = [
            Box::new(|calls| {
                for _ in 0..calls {
                    let inputs = [black_box(&a[..]).into(), black_box(&b[..]).into()];
                    let done = kernel.run(&inputs, [(&mut ours[..]).into()]);
                    assert!(done.is_ok(), "it worked before: {done:?}");
                }
            }),
            Box::new(|calls| {
                for _ in 0..calls {
                    black_box(fused(&mut by_hand));
                }
            }),
        ];
        let times = in_turns(&mut contenders, Duration::from_secs(1));
        let [ours, loops] = [times[0], times[1]].map(|t| t / ELEMENTS as f64);
        println!("{:<10} {:<9} {ours:>9.3} {loops:>9.3} {:>7.2}", $name, stringify!($t), ours / loops);
    }};
}

/// Wraps a body in a closure. Each closure has a type of its own, so that calls of it are inlined.
macro_rules! body_of {
    ($t:ty, $body:ident) => {
        #[inline(always)]
        |o: &mut Lanes, a: $t, b: $t| $body(o, a, b)
    };
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<10} {:<9} {:>9} {:>9} {:>7}", "expression", "dtype", "engine ns", "fused ns", "ratio");
    macro_rules! both {
        ($($args:tt)*) => {
            measure!(f32, $($args)*);
            measure!(f64, $($args)*);
        };
    }
    both!("exp", -20.0, 20.0, |x, y| x.exp(), |o, a, _b| Exp::call(o, a));
    both!("sigmoid", -20.0, 20.0, |x, y| 1.0 / ((-&x).exp() + 1.0), |o, a, _b| {
        let minus = o.neg(a);
        let e = Exp::call(o, minus);
        let one = o.splat(1.0);
        let sum = Add::call(o, e, one);
        Divide::call(o, one, sum)
    });
    both!("sincos", -50.0, 50.0, |x, y| x.sin().square() + y.cos().square(), |o, a, b| {
        let s = Sin::call(o, a);
        let c = Cos::call(o, b);
        let s = Square::call(o, s);
        let c = Square::call(o, c);
        Add::call(o, s, c)
    });
    both!("pow", 0.5, 4.0, |x, y| x.pow(&y), |o, a, b| Pow::call(o, a, b));
    Ok(())
}
