//! Tests that host functions receive the right operands, and that their results reach the outputs.
//!
//! The expected value of an element is obtained by calling the closure for that element. Operands are compared bit for bit,
//! including NaNs, since memory passes them unchanged.

use broadloom_core::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_core::{DType, Op, Scalar};
use broadloom_math::{DTypeVisitor, Elem};
use broadloom_mem::HostFunction;

use super::{Subject, run_kernel};
use crate::edge_cases;

fn inst(code: Code, args: &[u32]) -> Inst {
    Inst { code, args: std::array::from_fn(|i| ValueId(args.get(i).copied().unwrap_or(0))) }
}

fn function<Args: 'static, F: broadloom_mem::HostClosure<Args>>(name: &str, f: F) -> HostFunction {
    HostFunction::new(name, f).expect("a name")
}

/// Mixes bits, so that the result depends on all of them.
fn mixed(bits: u64) -> u64 {
    let product = (bits ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 29
}

/// A host function with operands of types `T` and `U`, which mixes the bits of both into the result.
struct From<T>(std::marker::PhantomData<T>);
struct Any;

impl DTypeVisitor for Any {
    type Out = Vec<HostFunction>;
    fn visit<T: Elem>(self) -> Vec<HostFunction> {
        DType::ALL.iter().map(|to| to.visit(From::<T>(std::marker::PhantomData))).collect()
    }
}

impl<T: Elem> DTypeVisitor for From<T> {
    type Out = HostFunction;
    fn visit<U: Elem>(self) -> HostFunction {
        function("mixed", |x: T, y: U| {
            let bits = mixed(x.to_bits64() ^ mixed(y.to_bits64()));
            Ok::<U, std::convert::Infallible>(U::from_bits64(bits))
        })
    }
}

/// Tests every dtype as an operand and as a result, bit for bit. NaNs must be passed unchanged too.
///
/// # Panics
/// If a bit differs from the function's result.
pub fn host_functions_of_every_dtype(subject: Subject<'_>) {
    for function in DType::ALL.iter().flat_map(|from| from.visit(Any)) {
        let (from, to) = (function.signature().operands()[0], function.signature().result());
        let mut kernel =
            Kernel { inputs: vec![from, to], outputs: vec![ValueId(2).into()], ..Kernel::default() };
        let code = kernel.callee(function.declaration());
        kernel.body = vec![inst(code, &[0, 1])];
        let values = [from, to].map(edge_cases::values);
        let columns: Vec<Vec<Scalar>> = [(1, &values[0]), (3, &values[1])]
            .map(|(step, values)| (0..67).map(|i| values[(i * step) % values.len()]).collect())
            .into();
        for splat in [[false, false], [true, false], [false, true], [true, true]] {
            let got = run_kernel(subject, &kernel, std::slice::from_ref(&function), &columns, &splat)
                .swap_remove(0);
            for (i, got) in got.iter().enumerate() {
                let [x, y] = [0, 1].map(|j| columns[j][if splat[j] { 0 } else { i }]);
                let bits = mixed(x.bits ^ mixed(y.bits));
                let bits = if to == DType::Bool {
                    (bits as u8 != 0).into()
                } else {
                    bits << (64 - 8 * to.size()) >> (64 - 8 * to.size())
                };
                assert_eq!(got.bits, bits, "{function} of {x:?} and {y:?}, {splat:?}");
            }
        }
    }
}

fn first(x: f32, n: u8, b: bool) -> f64 {
    if b { f64::from(x) / 3.0 } else { f64::from(n) - f64::from(x) }
}

fn second(x: f64) -> bool {
    x.fract().abs() > 0.3
}

/// Tests a kernel with several host functions, in which ops on other element sizes use the result of one function before it
/// is passed to the next. The kernel has several outputs, and runs with every length from 1 to 70 and every choice of
/// uniform operands.
///
/// # Panics
/// If a bit differs from the functions' results.
pub fn host_functions_among_ops(subject: Subject<'_>) {
    let functions = [function("first", first), function("second", second)];
    let mut kernel = Kernel {
        inputs: vec![DType::Float32, DType::UInt8, DType::Bool],
        outputs: [3, 5, 6, 7].map(|value| ValueId(value).into()).into(),
        ..Kernel::default()
    };
    let [f, g] = functions.each_ref().map(|f| kernel.callee(f.declaration()));
    kernel.body = vec![
        inst(f, &[0, 1, 2]),
        inst(Code::apply(Op::Multiply, DType::Float64), &[3, 3]),
        inst(g, &[4]),
        inst(Code::apply(Op::Where, DType::UInt8), &[5, 1, 1]),
        inst(f, &[0, 6, 5]),
    ];
    for n in 1..=70 {
        check(subject, &kernel, &functions, n, [false; 3]);
    }
    for splats in 0..8 {
        for n in [1, 3, 37, 300] {
            check(subject, &kernel, &functions, n, [0, 1, 2].map(|i| splats >> i & 1 == 1));
        }
    }
}

fn check(subject: Subject<'_>, kernel: &Kernel, functions: &[HostFunction], n: usize, splat: [bool; 3]) {
    let columns = [
        (0..n).map(|i| Scalar::of(i as f32 * 0.37 - 5.0)).collect(),
        (0..n).map(|i| Scalar::of((i * 29) as u8)).collect(),
        (0..n).map(|i| Scalar::of(i % 3 == 0)).collect::<Vec<Scalar>>(),
    ];
    let got = run_kernel(subject, kernel, functions, &columns, &splat);
    for i in 0..n {
        let [x, n, b] = [0, 1, 2].map(|j| columns[j][if splat[j] { 0 } else { i }]);
        let x = x.get::<f32>().expect("a float32");
        let n = n.get::<u8>().expect("a uint8");
        let y = first(x, n, b.get().expect("a bool"));
        let truth = second(y * y);
        let want = [Scalar::of(y), Scalar::of(truth), Scalar::of(n), Scalar::of(first(x, n, truth))];
        for (got, want) in got.iter().zip(want) {
            assert_eq!(got[i], want, "element {i} of {}, {splat:?}\n{kernel}", got.len());
        }
    }
}
