use std::sync::atomic::Ordering;

use super::*;
use crate::{bytes_of, bytes_of_mut};
use broadloom_math::f16;

#[test]
fn closures_are_called_for_each_element_by_their_types() -> Result<(), HostError> {
    let mixed = HostFunction::new("mixed", |b: bool, x: f16, n: i64| if b { x.to_f64() } else { n as f64 })?;
    let (b, x, n) = ([1u8, 0, 1], [f16::from_f32(0.5); 3], [7i64, -8, 9]);
    let mut out = [0.0f64; 3];
    mixed.call(&[&b, bytes_of(&x), bytes_of(&n)], bytes_of_mut(&mut out));
    assert_eq!(out, [0.5, -8.0, 0.5]);
    assert_eq!(mixed.to_string(), "mixed(bool, float16, int64 -> float64)");
    Ok(())
}

unsafe extern "C" fn seven_if_positive(x: f32) -> u8 {
    if x > 0.0 { 7 } else { 0 }
}

/// A bool operand is true for any byte but 0, and a bool result of any byte but 0 becomes 1.
#[test]
fn a_bool_is_0_or_1_on_both_sides() -> Result<(), HostError> {
    unsafe extern "C" fn copy(n: usize, inputs: *const *const u8, out: *mut u8, seen: *const c_void) {
        // SAFETY: this function is registered with one operand of bools, a result of bools, and an atomic
        // byte as context.
        unsafe {
            for at in 0..n {
                let byte = inputs.read().add(at).read();
                (*seen.cast::<std::sync::atomic::AtomicU8>()).fetch_max(byte, Ordering::Relaxed);
                out.add(at).write(byte * 3);
            }
        }
    }
    // SAFETY: `seven_if_positive` has this signature, and it only computes.
    let sign = unsafe { HostFunction::scalar::<fn(f32) -> bool>("sign", seven_if_positive)? };
    let mut out = [9u8; 3];
    sign.call(&[bytes_of(&[1.0f32, -1.0, 2.0])], &mut out);
    assert_eq!(out, [1, 0, 1]);

    let seen = Arc::new(std::sync::atomic::AtomicU8::new(0));
    struct Shared(Arc<std::sync::atomic::AtomicU8>);
    unsafe extern "C" fn copy_shared(n: usize, inputs: *const *const u8, out: *mut u8, seen: *const c_void) {
        // SAFETY: the context is a `Shared`, whose atomic byte `copy` expects.
        unsafe { copy(n, inputs, out, Arc::as_ptr(&(*seen.cast::<Shared>()).0).cast()) }
    }
    let bools = [DType::Bool];
    // SAFETY: the function reads and writes bytes of its dtypes.
    let copy = unsafe { HostFunction::tile("copy", &bools, DType::Bool, copy_shared, Shared(seen.clone()))? };
    // The input has more than one chunk, and the last chunk contains a byte other than 0 and 1.
    let mut input = [0u8; 600];
    input[0] = 1;
    input[599] = 255;
    let mut out = [9u8; 600];
    copy.call(&[&input], &mut out);
    assert_eq!((out[0], out[599]), (1, 1));
    assert!(out[1..599].iter().all(|b| *b == 0));
    assert_eq!(seen.load(Ordering::Relaxed), 1, "the function sees 0 and 1 only");
    Ok(())
}

#[test]
fn what_a_function_owns_lives_as_long_as_its_handles() -> Result<(), HostError> {
    let owned = Arc::new(3u8);
    let kept = owned.clone();
    let add = HostFunction::new("add_owned", move |x: u8| x + *kept)?;
    let (clone, dear) = (add.clone(), add.clone().with_cost(9000));
    assert!(clone == add && dear != add && dear.id() != add.id());
    drop((add, clone));
    let mut out = [0u8; 2];
    dear.call(&[&[1, 2]], &mut out);
    assert_eq!((out, Arc::strong_count(&owned)), ([4, 5], 2));
    drop(dear);
    assert_eq!(Arc::strong_count(&owned), 1);
    Ok(())
}

#[test]
fn a_signature_that_expressions_can_not_use_is_refused() {
    for name in ["", "2x", "a b", "a-b", "é", "a\n", &"a".repeat(256)] {
        assert!(matches!(HostFunction::new(name, |x: f32| x), Err(HostError::Name(_))), "{name:?}");
    }
    assert!(HostFunction::new("_a2", |x: f32| x).is_ok());
    unsafe extern "C" fn nothing(_: usize, _: *const *const u8, _: *mut u8, _: *const c_void) {}
    for n in [0, 4] {
        // SAFETY: it is never called.
        let made = unsafe { HostFunction::tile("f", &[DType::Int8; 4][..n], DType::Int8, nothing, ()) };
        assert_eq!(made, Err(HostError::Operands { name: "f".into(), operands: n }));
    }
}

#[test]
fn operands_of_another_length_or_number_are_refused() -> Result<(), HostError> {
    let add = HostFunction::new("plus", |x: u16, y: u8| x + u16::from(y))?;
    let words = [0u64; 2];
    let bytes = bytes_of(&words);
    let refused = |inputs: &[&[u8]], out: usize| {
        let mut words = [0u64; 2];
        let out = &mut bytes_of_mut(&mut words)[..out];
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| add.call(inputs, out))).is_err()
    };
    assert!(!refused(&[&bytes[..4], &bytes[..2]], 4) && !refused(&[&[], &[]], 0));
    assert!(refused(&[&bytes[..4]], 4), "number");
    assert!(refused(&[&bytes[..4], &bytes[..1]], 4), "length");
    assert!(refused(&[&bytes[..4], &bytes[..2]], 5), "a part of an element");
    assert!(refused(&[&bytes[1..5], &bytes[..2]], 4), "alignment");
    Ok(())
}

#[test]
fn a_failure_stays_in_its_scope() -> Result<(), HostError> {
    let next = HostFunction::new("next", |x: i32| if x < 0 { Err("negative") } else { Ok(x + 1) })?;
    let twice = HostFunction::new("twice", |x: i32| 2 * x)?;
    let call = |f: &HostFunction, x: [i32; 4]| {
        let mut out = [9i32; 4];
        f.call(&[bytes_of(&x)], bytes_of_mut(&mut out));
        out
    };
    assert!(next.can_fail() && !twice.can_fail());
    // Without a scope, a failure shows only by results of zero.
    assert_eq!(call(&next, [1, -1, 2, 3]), [2, 0, 0, 0]);
    let ((), none) = catch_failure(|| assert_eq!(call(&next, [1, 2, 3, 4]), [2, 3, 4, 5]));
    assert!(none.is_none());
    let (inner, error) = catch_failure(|| {
        let ((), inner) = catch_failure(|| assert_eq!(call(&next, [-1, 2, 3, 4]), [0; 4]));
        assert!(!has_failed(), "the inner scope's is not the outer one's");
        assert_eq!(call(&next, [5, 6, 7, -8]), [6, 7, 8, 0]);
        assert!(has_failed());
        assert_eq!(call(&next, [1; 4]), [0; 4], "it is not called again");
        assert_eq!(call(&twice, [1; 4]), [2; 4], "one that can't fail is");
        inner
    });
    for error in [inner, error] {
        let error = error.expect("a failure");
        assert_eq!((error.kind(), error.message()), (broadloom_ir::ErrorKind::Host, "next: negative"));
        assert_eq!(std::error::Error::source(&error).map(|e| e.to_string()).as_deref(), Some("negative"));
    }
    let panicked = std::panic::catch_unwind(|| {
        catch_failure(|| {
            call(&next, [-1; 4]);
            panic!("of whoever runs the loops");
        })
    });
    assert!(panicked.is_err() && !has_failed());
    Ok(())
}
