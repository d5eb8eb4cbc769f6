//! Errors for invalid input: typed errors that name the op, the types and the axis, and panics with the same
//! message and the caller's location.

use std::panic::{AssertUnwindSafe, Location, PanicHookInfo, catch_unwind};
use std::sync::Mutex;

use broadloom::prelude::*;
use broadloom::{ErrorKind, functions, onnx};

fn floats(shape: &[usize]) -> Array<'static> {
    Array::zeros(shape, DType::Float32).expect("small")
}

#[test]
fn messages() {
    use ErrorKind::*;
    let (f, i) = (floats(&[3, 4]), Array::from_shape_vec(&[3, 4], vec![0i32; 12]).expect("12"));
    let bytes = Array::from_vec(vec![0u8; 4]);
    let rows: [(Result<Array<'_>>, ErrorKind, &str); 25] = [
        (
            f.try_add(floats(&[5])),
            Shape,
            "add: cannot broadcast float32[3,4] with float32[5] (axis -1: 4 and 5)",
        ),
        (
            f.try_add(&i),
            DType,
            "add: cannot promote float32 and int32; write astype(x, float32) for the int32 operand, or promote as NumPy does (promotion=numpy)",
        ),
        (bytes.try_multiply(300), Literal, "multiply: 300 cannot be represented as uint8"),
        (
            i.try_multiply(0.5),
            DType,
            "multiply: int32 with the literal 0.5; write astype(x, float64), or promote as NumPy does (promotion=numpy); int32 holds no 0.5",
        ),
        (
            i.try_sqrt(),
            DType,
            "sqrt: does not take int32; write astype(x, float64), or promote as NumPy does (promotion=numpy)",
        ),
        (
            functions::try_add(true, 1),
            DType,
            "add: true and 1 mix bool and numbers; write numbers, or promote as NumPy does (promotion=numpy)",
        ),
        (f.reshape(&[5, -1]), Shape, "reshape: the 12 elements of [3,4] do not fill [5,-1]"),
        (f.reshape(&[7]), Shape, "reshape: [3,4] has 12 elements, [7] 7"),
        (f.reshape(&[-1, 2, -1]), Shape, "reshape: axes 0 and 2 of [-1,2,-1] are both -1"),
        (f.reshape(&[3, -4]), Shape, "reshape: axis 1 of [3,-4] is -4"),
        (f.reshape(&[0, -1]), Shape, "reshape: the 12 elements of [3,4] do not fill [0,-1]"),
        (f.permute_dims(&[0, 0]), Shape, "permute_dims: [0, 0] is not a permutation of the axes of [3,4]"),
        (f.permute_dims(&[0]), Shape, "permute_dims: 1 axes for [3,4], which has 2"),
        (f.permute_dims(&[0, 2]), Shape, "permute_dims: axis 2 is out of range for [3,4], which has rank 2"),
        (f.slice([Range::from(..); 3]), Shape, "slice: 3 ranges for [3,4], which has rank 2"),
        (
            f.slice([(..).into(), Range::from(..).step(0)]),
            Shape,
            "slice: the step along axis 1 of [3,4] is 0",
        ),
        (f.index_axis(1, 4), Shape, "index_axis: index 4 is out of range for axis 1 of [3,4]"),
        (f.index_axis(-1, -5), Shape, "index_axis: index -5 is out of range for axis 1 of [3,4]"),
        (f.index_axis(2, 0), Shape, "index_axis: axis 2 is out of range for [3,4], which has rank 2"),
        (f.broadcast_to(&[4]), Shape, "broadcast_to: [3,4] does not broadcast to [4]"),
        (f.expand_dims(4), Shape, "expand_dims: axis 4 is out of range for [3,4], which has rank 2"),
        (f.squeeze(-1), Shape, "squeeze: axis 1 of [3,4] has extent 4, not 1"),
        (f.flip(-3), Shape, "flip: axis -3 is out of range for [3,4], which has rank 2"),
        (
            Array::zeros(&[usize::MAX, 2], broadloom::DType::Int8),
            Limit,
            "shape [18446744073709551615,2] has more elements than memory can address",
        ),
        (
            Array::scalar(broadloom::Literal::Int(1 << 64)).eval(),
            Literal,
            "18446744073709551616 cannot be represented as int64",
        ),
    ];
    for (got, kind, message) in rows {
        match got {
            Ok(x) => panic!("no error for: {message}, but {}{:?}", x.dtype(), x.shape()),
            Err(e) => assert_eq!((e.kind(), e.to_string().as_str()), (kind, message)),
        }
    }
}

#[test]
fn data_and_access_messages() {
    let f = Array::from_shape_vec(&[2, 2], vec![1.0f32; 4]).expect("4");
    let mut strided = f.t().clone();
    let mut repeated = Array::from_vec(vec![0f32]).broadcast_to(&[2, 2]).expect("broadcasts");
    for (got, message) in [
        (
            Array::from_shape_vec(&[2, 3], vec![0; 5]).map(|_| ()),
            "from_shape_vec: [2,3] has 6 elements, the data has 5",
        ),
        (
            Array::from_shape_slice(&[1], &[0; 0]).map(|_| ()),
            "from_shape_slice: [1] has 1 elements, the data has 0",
        ),
        (
            f.to_vec::<f64>().map(|_| ()),
            "to_vec: the array is float32, not float64; write astype(x, float64)",
        ),
        (f.item::<f32>().map(|_| ()), "item: [2,2] has 4 elements, not 1"),
        (f.eval_into(&mut [0f64; 4]), "eval_into: the array is float32, the output float64"),
        (f.eval_into(&mut [0f32; 3]), "eval_into: [2,2] has 4 elements, the output 3"),
        (
            f.index_axis(0, 0).and_then(|x| Evaluation::default().eval_into_array(&x, &mut strided)),
            "eval_into_array: the array has shape [2], the output [2,2]",
        ),
        (
            Evaluation::default().eval_into_array(&f.astype(DType::Int8), &mut strided),
            "eval_into_array: the array is int8, the output float32",
        ),
        (
            Evaluation::default().eval_into_array(&f, &mut repeated),
            "eval_into_array: the output repeats one element along axis 0",
        ),
        (Array::arange(0, 1, 0).map(|_| ()), "arange(0, 1, 0): the step is 0"),
        (Array::arange(0.0, f64::INFINITY, 1.0).map(|_| ()), "arange(0.0, inf, 1.0): not finite"),
        (Array::arange(false, true, true).map(|_| ()), "arange: does not take bool"),
        (
            Array::arange(0, i64::MAX, 1).map(|_| ()),
            "shape [9223372036854775807] has more elements than memory can address",
        ),
    ] {
        assert_eq!(got.map_err(|e| e.to_string()), Err(message.to_string()));
    }
}

#[test]
fn onnx_div_neither_promotes_nor_broadcasts() {
    let i = Array::from_vec(vec![7i32, -7]);
    let f = Array::from_vec(vec![7f32, -7.0]);
    assert_eq!(onnx::div(&i, &i).and_then(|x| x.to_vec::<i32>()), Ok(vec![1, 1]));
    assert_eq!(onnx::div(&f, &f).map(|x| x.dtype()), Ok(DType::Float32));
    for (a, b, message) in [
        (&i, &f, "onnx::div: int32 and float32 are different dtypes"),
        (&i, &i.reshape(&[2, 1]).expect("2"), "onnx::div: [2] and [2,1] are different shapes"),
        (&i, &Array::scalar(2).astype(DType::Int32), "onnx::div: [2] and [] are different shapes"),
        (&i.less(0), &i.less(0), "onnx::div: does not take bool"),
    ] {
        assert_eq!(onnx::div(a, b).map(|_| ()).map_err(|e| e.to_string()), Err(message.to_string()));
    }
}

/// The message, file and line of the panic, which the panic hook receives.
fn panicked(f: impl FnOnce()) -> (String, String, u32) {
    static SEEN: Mutex<Option<(String, u32)>> = Mutex::new(None);
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let place = info.location().map(|l| (l.file().to_string(), l.line()));
        *SEEN.lock().expect("not poisoned") = place;
    }));
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("a panic");
    std::panic::set_hook(before);
    let (file, line) = SEEN.lock().expect("not poisoned").take().expect("the hook ran");
    (payload.downcast_ref::<String>().cloned().unwrap_or_default(), file, line)
}

#[test]
fn panics_say_what_the_twin_returns_where_the_operator_stands() {
    type Call = fn(&Array<'static>, &Array<'static>);
    let (a, b) = (floats(&[3]), floats(&[4]));
    let here = Location::caller().line();
    let calls: [(Call, u32); 8] = [
        (|a, b| drop(a + b), 2),
        (|a, b| drop(a.clone() * b.clone()), 3),
        (|a, b| drop(a.maximum(b)), 4),
        (|a, b| drop(functions::clip(0, a, b)), 5),
        (|a, b| drop(where_(a.less(0), b, 1)), 6),
        (|a, _| drop(1 << a), 7),
        (|a, _| drop(!a), 8),
        (|a, _| drop(functions::logical_not(a)), 9),
    ];
    for (call, line) in calls {
        let (message, file, at) = panicked(|| call(&a, &b));
        assert!(file.ends_with("errors.rs"), "{file}: {message}");
        // Each call is on a line of its own.
        assert_eq!(at, here + line, "{message}");
    }
    let (message, ..) = panicked(|| drop(&a + &b));
    assert_eq!(message, a.try_add(&b).map(|_| ()).unwrap_err().to_string());
}
