//! Domains that are small enough to be tested completely, on every executor against the model: every pair of 8-bit
//! integers, every bool, every float16, and every float16 combined with selected numbers. The same is tested with one
//! operand a literal, to which rewrite rules apply, and with all operands literals. (The test kit tests constant
//! folding on its own.)

use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom::{Array, DType, Op, Options};
use broadloom_core::{Scalar, fold};
use broadloom_testkit::Runner;
use broadloom_testkit::Value;
use broadloom_testkit::elements;
use broadloom_testkit::one_of;
use broadloom_testkit::oracle::{self, ModelSignature, SIGNATURES};

const BYTES: [DType; 2] = [DType::Int8, DType::UInt8];

/// Zeros, the limits of the subnormal and normal numbers, ones and the numbers next to them, halves and integers,
/// infinities, NaNs.
const FLOAT16: [u64; 26] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x3555, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0xbc00,
    0x3e00, 0x4000, 0xc000, 0x4200, 0xc248, 0x4900, 0x6401, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00,
];

/// A function, and the dtype of its operands. The condition of `where` is always bool.
#[derive(Clone, Copy)]
struct TypedFunction {
    signature: &'static ModelSignature,
    dtype: DType,
}

impl TypedFunction {
    fn operand(&self, i: usize) -> DType {
        if self.signature.name == "where" && i == 0 { DType::Bool } else { self.dtype }
    }

    fn result(&self) -> DType {
        DType::from_name(self.signature.result_dtype(self.dtype.name())).expect("a dtype")
    }

    fn is_approximate(&self) -> bool {
        self.signature.is_approximate && self.dtype.is_float()
    }

    fn evaluate(&self, operands: &[Array<'_>], runner: Runner) -> Vec<u64> {
        let op = Op::from_name(self.signature.name).expect("an op");
        let options = Options { threads: Some(1), ..runner.options() };
        let x = Array::apply(op, operands).and_then(|x| x.eval_with(&options));
        let x = x.unwrap_or_else(|e| panic!("{} of {}: {e}", self.signature.name, self.dtype));
        assert_eq!(x.dtype(), self.result(), "{} of {}", self.signature.name, self.dtype);
        elements::bits(&x).expect("in memory")
    }

    /// Panics unless the results are equal to `want`. `args` returns the operands of an element, for the message.
    fn same(&self, got: &[u64], want: &[u64], way: &str, args: impl Fn(usize) -> Vec<u64>) {
        if elements::difference(self.result(), got, want).is_some() {
            let differs =
                |i: &usize| elements::difference(self.result(), &got[*i..=*i], &want[*i..=*i]).is_some();
            let at = (0..want.len().min(got.len())).find(differs).unwrap_or(0);
            let name = self.signature.name;
            panic!("{name}{:x?} of {}, {way}: {:#x}, not {:#x}", args(at), self.dtype, got[at], want[at]);
        }
    }

    /// Evaluates the function for columns of operands on all executors, which must return the same bits. The model
    /// checks every result; of approximate functions, it checks every `step`th one, and the others must equal the
    /// scalar instance's.
    fn judged(&self, columns: &[Vec<u64>], step: usize) -> Vec<u64> {
        let n = columns[0].len();
        let args = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<_>>();
        let operands: Vec<_> = columns
            .iter()
            .enumerate()
            .map(|(i, column)| elements::array(self.operand(i), &[n], column))
            .collect();
        let got = self.evaluate(&operands, Runner::INTERP);
        assert_eq!(got.len(), n);
        for runner in Runner::all().skip(1) {
            self.same(&self.evaluate(&operands, runner), &got, &format!("{runner:?}, as interpreted"), args);
        }
        let value = |dtype: DType, bits: u64| Value::from_bits(dtype.name(), bits).expect("a dtype");
        for i in 0..n {
            let values: Vec<Value> =
                args(i).into_iter().enumerate().map(|(j, bits)| value(self.operand(j), bits)).collect();
            if step > 1 && i % step != 0 {
                let op = Op::from_name(self.signature.name).expect("an op");
                let scalars: Vec<_> =
                    args(i).into_iter().map(|bits| Scalar { dtype: self.dtype, bits }).collect();
                let want = fold::apply(op, &scalars).expect("an accepted dtype").bits;
                self.same(&got[i..=i], &[want], "as the scalar instance", |_| args(i));
                continue;
            }
            let is_right = oracle::accepts(self.signature.name, &values, value(self.result(), got[i]));
            assert!(
                is_right == Some(true),
                "{}{values:?}: {:?}, not {:?}",
                self.signature.name,
                value(self.result(), got[i]),
                oracle::apply(self.signature.name, &values)
            );
        }
        got
    }
}

/// The functions of `arity` operands that accept one of these dtypes.
fn calls(dtypes: &[DType], arity: usize) -> Vec<TypedFunction> {
    let takes = |s: &ModelSignature, dtype: DType| s.arity == arity && s.takes_dtype(dtype.name());
    let of = |&dtype: &DType| SIGNATURES.iter().filter(move |s| takes(s, dtype)).map(move |s| (s, dtype));
    dtypes.iter().flat_map(of).map(|(signature, dtype)| TypedFunction { signature, dtype }).collect()
}

/// Calls `check` for each item, on all processors.
fn each<T: Sync>(all: &[T], check: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(one);
                }
            });
        }
    });
}

/// All combinations of the values in the lists, as columns in which the last one varies fastest.
fn product(lists: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let total: usize = lists.iter().map(Vec::len).product();
    let mut repeats = total;
    let column = |list: &Vec<u64>| {
        repeats /= list.len();
        (0..total).map(|i| list[i / repeats % list.len()]).collect()
    };
    lists.iter().map(column).collect()
}

fn literal(dtype: DType, bits: u64) -> Array<'static> {
    Array::scalar(elements::literal(dtype, bits))
}

/// Checks that literals among the operands don't change the results.
fn beside_literals(call: &TypedFunction, operands: &[Array<'_>], want: &[u64], args: &[u64]) {
    for runner in Runner::all() {
        call.same(&call.evaluate(operands, runner), want, "of literals", |_| args.to_vec());
    }
}

#[test]
fn every_bool() {
    let all: Vec<TypedFunction> = (1..=3).flat_map(|arity| calls(&[DType::Bool], arity)).collect();
    assert_eq!(all.len(), 2 + 8 + 1);
    each(&all, |call| {
        let columns = product(&vec![vec![0, 1]; call.signature.arity]);
        let table = call.judged(&columns, 1);
        for (i, want) in table.iter().enumerate() {
            let args: Vec<u64> = columns.iter().map(|column| column[i]).collect();
            let operands: Vec<_> = args.iter().map(|&x| literal(DType::Bool, x)).collect();
            beside_literals(call, &operands, &[*want], &args);
        }
    });
}

#[test]
fn every_byte() {
    let all = calls(&BYTES, 1);
    assert_eq!(all.len(), 2 * 13);
    each(&all, |call| drop(call.judged(&[(0..256).collect()], 1)));
}

#[test]
fn every_pair_of_bytes() {
    let all = calls(&BYTES, 2);
    assert_eq!(all.len(), 2 * 21);
    each(&all, |call| {
        let domain: Vec<u64> = (0..256).collect();
        let columns = product(&[domain.clone(), domain.clone()]);
        let table = call.judged(&columns, 1);
        let whole = elements::array(call.dtype, &[256], &domain);
        for x in (0..256).step_by(one_of(3)) {
            let number = literal(call.dtype, x as u64);
            let want = &table[256 * x..][..256];
            beside_literals(call, &[number.clone(), whole.clone()], want, &[x as u64]);
            let want: Vec<u64> = (0..256).map(|y| table[256 * y + x]).collect();
            beside_literals(call, &[whole.clone(), number], &want, &[x as u64]);
        }
        // Constants with a dtype, which are folded.
        for i in (0..table.len()).step_by(41) {
            let args = [columns[0][i], columns[1][i]];
            let operands = args.map(|x| literal(call.dtype, x).astype(call.dtype));
            let got = call.evaluate(&operands, Runner::INTERP);
            call.same(&got, &table[i..=i], "folded", |_| args.to_vec());
        }
    });
}

/// Every byte with two bounds, in ascending and descending order.
#[test]
fn every_byte_in_functions_of_three() {
    let all = calls(&BYTES, 3);
    assert_eq!(all.len(), 2 * 2);
    each(&all, |call| {
        let bounds = vec![0, 1, 2, 5, 63, 64, 100, 126, 127, 128, 129, 200, 254, 255];
        let first = (0..if call.signature.name == "where" { 2 } else { 256 }).collect();
        drop(call.judged(&product(&[first, bounds.clone(), bounds]), 1));
    });
}

#[test]
fn every_float16() {
    let all = calls(&[DType::Float16], 1);
    assert_eq!(all.len(), 39);
    each(&all, |call| {
        let columns = [(0..=0xffff).collect()];
        let table = call.judged(&columns, 1);
        for i in (0..table.len()).step_by(101) {
            let operands = [literal(call.dtype, i as u64).astype(call.dtype)];
            let got = call.evaluate(&operands, Runner::INTERP);
            call.same(&got, &table[i..=i], "folded", |_| vec![i as u64]);
        }
    });
}

#[test]
fn every_float16_beside_some() {
    let all: Vec<(TypedFunction, bool)> =
        calls(&[DType::Float16], 2).into_iter().flat_map(|call| [(call, false), (call, true)]).collect();
    assert_eq!(all.len(), 2 * 20);
    each(&all, |&(call, is_turned)| {
        let domain: Vec<u64> = (0..=0xffff).collect();
        let whole = elements::array(call.dtype, &[domain.len()], &domain);
        for (i, x) in FLOAT16.into_iter().enumerate().skip(usize::from(is_turned)).step_by(one_of(26)) {
            let mut columns = [vec![x; domain.len()], domain.clone()];
            let mut operands = [literal(call.dtype, x), whole.clone()];
            if is_turned {
                columns.reverse();
                operands.reverse();
            }
            // A different part of the domain is checked each time.
            let step = if call.is_approximate() { 47 + i } else { 1 };
            let table = call.judged(&columns, step);
            beside_literals(&call, &operands, &table, &[x]);
        }
    });
}
