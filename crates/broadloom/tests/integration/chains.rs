//! Expressions of a million nodes: built, evaluated and dropped on a small stack.

use broadloom::prelude::*;
use broadloom_testkit::one_of;

/// A million nodes, or a tenth of it in quick tests; recursion over either number would overflow
/// any stack.
fn nodes() -> usize {
    1_000_000 / one_of(10)
}

/// Runs a closure on a stack that recursion over the nodes would overflow.
fn on_a_small_stack(f: impl FnOnce() + Send) {
    std::thread::scope(|s| {
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(s, f);
        thread.expect("spawns").join().expect("no panic");
    });
}

#[test]
fn a_chain_of_a_million_nodes() {
    on_a_small_stack(|| {
        let mut x = Array::from_vec(vec![1i64, 2]);
        let nodes = nodes();
        for _ in 0..nodes {
            x += 1;
        }
        assert_eq!(x.to_vec::<i64>(), Ok(vec![1 + nodes as i64, 2 + nodes as i64]));
    });
}

#[test]
fn a_million_casts_and_views() {
    on_a_small_stack(|| {
        let mut x = Array::from_vec(vec![1i8, 2]) + 0;
        for i in 0..nodes() {
            x = match i % 2 {
                0 => x.astype(if i % 4 == 0 { DType::Int32 } else { DType::Int64 }),
                _ => x.flip(0).expect("has an axis"),
            };
        }
        // The outcome is the result, or an error that names a limit.
        match x.astype(DType::Int64).to_vec::<i64>() {
            Ok(values) => assert_eq!(values, [1, 2]),
            Err(e) => assert!(e.is_limit(), "{e}"),
        }
    });
}

#[test]
fn shared_nodes_are_walked_once() {
    // An expression with 2^200 paths through 200 nodes.
    let mut x = Array::from_vec(vec![1.0f64]);
    for _ in 0..200 {
        x = &x + &x;
    }
    assert_eq!(x.item::<f64>(), Ok(2f64.powi(200)));
}

#[test]
fn a_chain_dropped_from_both_ends_by_two_threads() {
    for _ in 0..20 {
        let mut x = Array::from_vec(vec![1.0f32]);
        let mut held = Vec::new();
        for i in 0..20_000 {
            x += 1;
            if i % 1000 == 0 {
                held.push(x.clone());
            }
        }
        on_a_small_stack(move || {
            let other = std::thread::Builder::new().stack_size(256 << 10).spawn(move || drop(held));
            drop(x);
            other.expect("spawns").join().expect("no panic");
        });
    }
}
