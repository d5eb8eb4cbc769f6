//! Every row of the case files in tests/cases/spec, through the functions of the face: both executors, with rewrite
//! rules and without, folded at build time, and at every place in an array that could make a difference.

use std::collections::BTreeMap;
use std::path::Path;

use broadloom::{Array, DType, Executor, Op, Options, Range, Result, functions, text};
use broadloom_core::rewrite::Rules;
use broadloom_core::{Scalar, fold};
use broadloom_testkit::elements as bits;
use broadloom_testkit::oracle::{self, Signature};
use broadloom_testkit::{Value, cases};

const WAYS: [(Executor, Rules); 4] = [
    (Executor::Interp, Rules::Off),
    (Executor::Interp, Rules::On),
    (Executor::Jit, Rules::Off),
    (Executor::Jit, Rules::On),
];

/// Shorter than a vector, between vectors, several of them, with tails.
const LENGTHS: [usize; 5] = [1, 7, 16, 37, 67];

/// The rows of one function over operands of given dtypes.
struct Batch {
    function: String,
    operands: Vec<DType>,
    cast_to: Option<DType>,
    result: DType,
    /// One row each: file and line, the operands' bits, the result's.
    rows: Vec<(String, Vec<u64>, u64)>,
}

impl Batch {
    /// The rows' values of an operand, again and again up to a length beyond the last row.
    fn column(&self, operand: usize, beyond: usize) -> Vec<u64> {
        (0..self.rows.len() + beyond).map(|i| self.rows[i % self.rows.len()].1[operand]).collect()
    }

    fn expected(&self, beyond: usize) -> Vec<u64> {
        (0..self.rows.len() + beyond).map(|i| self.rows[i % self.rows.len()].2).collect()
    }

    /// The function, or the conversion, of these operands.
    fn apply<'a>(&self, operands: &[Array<'a>]) -> Array<'a> {
        match self.cast_to {
            Some(dtype) => operands[0].astype(dtype),
            None => apply(&self.function, operands).unwrap_or_else(|e| panic!("{}: {e}", self.name())),
        }
    }

    fn name(&self) -> String {
        let operands: Vec<&str> = self.operands.iter().map(|d| d.name()).collect();
        let to = self.cast_to.map_or(String::new(), |d| format!(" to {d}"));
        format!("{}({}){to}", self.function, operands.join(", "))
    }

    /// The bits of the right result for operands of these bits.
    fn right(&self, bits: impl Iterator<Item = u64>) -> u64 {
        let scalars: Vec<Scalar> =
            self.operands.iter().zip(bits).map(|(&dtype, bits)| Scalar { dtype, bits }).collect();
        let signature = Signature::of(&self.function).expect("a function of the oracle");
        if signature.is_approximate && self.result.is_float() {
            let op = Op::from_name(&self.function).expect("an op");
            return fold::apply(op, &scalars).expect("an accepted dtype").bits;
        }
        let value = |x: &Scalar| Value::from_bits(x.dtype.name(), x.bits).expect("a dtype of the oracle");
        let values: Vec<Value> = scalars.iter().map(value).collect();
        oracle::apply(&self.function, &values).expect("an accepted dtype").bits()
    }

    /// Evaluates in every way.
    fn check(&self, x: &Array<'_>, want: &[u64], place: &str) {
        // Kept, so that no way is given memory in which another has left the right values.
        let _kept = WAYS.map(|(executor, rules)| self.check_way(x, want, place, executor, rules));
    }

    fn check_way(
        &self,
        x: &Array<'_>,
        want: &[u64],
        place: &str,
        executor: Executor,
        rules: Rules,
    ) -> Array<'static> {
        let way = format!("{}, {place}, {executor:?}, rules {rules:?}", self.name());
        assert_eq!(x.dtype(), self.result, "{way}");
        let options = Options { executor, rules, threads: Some(1), ..Options::default() };
        let result = x.eval_with(&options).unwrap_or_else(|e| panic!("{way}: {e}"));
        let got = bits::bits(&result).unwrap_or_else(|e| panic!("{way}: {e}"));
        if let Some(difference) = bits::difference(self.result, &got, want) {
            panic!("{way}: {difference}; the rows: {:?}", self.rows.iter().map(|r| &r.0).collect::<Vec<_>>());
        }
        result
    }
}

/// Calls the function of a name, from the op table.
macro_rules! call {
    ($arity:ident [internal] $name:literal $args:ident) => {
        panic!("{} is not a function", $name)
    };
    (unary $laws:tt $name:literal $args:ident) => {
        pastey::paste!(functions::[<try_ $name>])(&$args[0])
    };
    (binary $laws:tt $name:literal $args:ident) => {
        pastey::paste!(functions::[<try_ $name>])(&$args[0], &$args[1])
    };
    ($three:ident $laws:tt $name:literal $args:ident) => {
        pastey::paste!(functions::[<try_ $name>])(&$args[0], &$args[1], &$args[2])
    };
}

macro_rules! by_name {
    ($(($op:ident, $name:literal, $arity:ident, $class:ident, $cost:literal, $laws:tt, $doc:literal))*) => {
        fn apply<'a>(name: &str, args: &[Array<'a>]) -> Result<Array<'a>> {
            match name {
                $($name => call!($arity $laws $name args),)*
                _ => panic!("there is no function {name}"),
            }
        }
    };
}
broadloom_core::for_each_op!(by_name);

fn batches() -> Vec<Batch> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/spec"));
    let files = cases::read(folder).unwrap_or_else(|error| panic!("{error}"));
    let dtype = |name: &str| DType::from_name(name).expect("a dtype");
    let mut batches: BTreeMap<_, Batch> = BTreeMap::new();
    for case in files.into_values().flatten() {
        let operands: Vec<DType> = case.args.iter().map(|x| dtype(x.dtype())).collect();
        let key = (case.function.clone(), operands.clone(), case.cast_to.clone());
        let batch = batches.entry(key).or_insert_with(|| Batch {
            function: case.function,
            operands,
            cast_to: case.cast_to.as_deref().map(dtype),
            result: dtype(case.expected.dtype()),
            rows: Vec::new(),
        });
        let args = case.args.iter().map(Value::bits).collect();
        batch.rows.push((format!("{}:{}", case.file, case.line), args, case.expected.bits()));
    }
    batches.into_values().collect()
}

/// Runs a check on every batch, on all processors.
fn each(check: impl Fn(&Batch) + Sync) {
    let batches = batches();
    let rows: usize = batches.iter().map(|b| b.rows.len()).sum();
    assert!(batches.len() > 400 && rows > 6000, "{rows} rows in {} batches", batches.len());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(batch) = batches.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    check(batch);
                }
            });
        }
    });
}

#[test]
fn zero_dimensional() {
    each(|batch| {
        for (row, args, want) in &batch.rows {
            let operands: Vec<_> =
                batch.operands.iter().zip(args).map(|(&dtype, &x)| bits::array(dtype, &[], &[x])).collect();
            batch.check(&batch.apply(&operands), &[*want], row);
        }
    });
}

#[test]
fn folded_from_constants() {
    each(|batch| {
        for (row, args, want) in &batch.rows {
            let operands: Vec<_> = batch
                .operands
                .iter()
                .zip(args)
                .map(|(&dtype, &x)| Array::scalar(bits::literal(dtype, x)).astype(dtype))
                .collect();
            for rules in [Rules::Off, Rules::On] {
                batch.check_way(&batch.apply(&operands), &[*want], row, Executor::Interp, rules);
            }
        }
    });
}

#[test]
fn written_as_text() {
    each(|batch| {
        let names = ["x", "y", "z"];
        let mut args: Vec<&str> = names[..batch.operands.len()].to_vec();
        args.extend(batch.cast_to.map(DType::name));
        let columns = batch.operands.iter().enumerate();
        let columns = columns.map(|(i, &dtype)| bits::array(dtype, &[batch.rows.len()], &batch.column(i, 0)));
        let bound: Vec<(&str, Array<'_>)> = names.into_iter().zip(columns).collect();
        let text = format!("{}({})", batch.function, args.join(", "));
        let x = text::expression(&text, &bound).unwrap_or_else(|e| panic!("{text}: {e}"));
        batch.check_way(&x, &batch.expected(0), &text, Executor::Auto, Rules::On);
    });
}

/// Literals alone are int64, float64 or bool.
#[test]
fn literals_alone() {
    each(|batch| {
        let operands_of = |args: &[u64]| -> Vec<Array<'_>> {
            batch
                .operands
                .iter()
                .zip(args)
                .map(|(&dtype, &x)| Array::scalar(bits::literal(dtype, x)))
                .collect()
        };
        let alone = [DType::Bool, DType::Int64, DType::Float64];
        for (row, args, want) in &batch.rows {
            if batch.operands.iter().all(|dtype| alone.contains(dtype)) {
                batch.check_way(&batch.apply(&operands_of(args)), &[*want], row, Executor::Interp, Rules::On);
            }
        }
    });
}

#[test]
fn a_literal_beside_arrays() {
    each(|batch| {
        for (row, args, want) in batch.rows.iter().filter(|_| batch.operands.len() > 1) {
            for literal in 0..args.len() {
                let operand = |i: usize| match i == literal {
                    true => Array::scalar(bits::literal(batch.operands[i], args[i])),
                    false => bits::array(batch.operands[i], &[2], &[args[i]; 2]),
                };
                let operands: Vec<_> = (0..args.len()).map(operand).collect();
                for (executor, rules) in [(Executor::Interp, Rules::On), (Executor::Jit, Rules::On)] {
                    batch.check_way(&batch.apply(&operands), &[*want; 2], row, executor, rules);
                }
            }
        }
    });
}

/// Each row at each lane and in each place of a tail, between the others.
#[test]
fn at_every_lane() {
    each(|batch| {
        let longest = LENGTHS[LENGTHS.len() - 1];
        let columns: Vec<_> = (0..batch.operands.len()).map(|i| batch.column(i, longest)).collect();
        let want = batch.expected(longest);
        for length in LENGTHS {
            for from in 0..batch.rows.len() {
                let operands: Vec<_> = batch
                    .operands
                    .iter()
                    .zip(&columns)
                    .map(|(&dtype, column)| bits::array(dtype, &[length], &column[from..][..length]))
                    .collect();
                let place = format!("{length} elements from row {from}");
                batch.check(&batch.apply(&operands), &want[from..][..length], &place);
            }
        }
    });
}

#[test]
fn strided_and_reversed() {
    each(|batch| {
        let n = batch.rows.len();
        let (mut strided, mut reversed) = (Vec::new(), Vec::new());
        for (i, &dtype) in batch.operands.iter().enumerate() {
            let column = batch.column(i, 0);
            // Between the elements that are taken stand others' values.
            let spread: Vec<u64> =
                (0..3 * n + 2).map(|at| column[if at % 3 == 1 { at / 3 } else { at * 7 + 3 } % n]).collect();
            let every_third = Range::new(Some(1), Some(3 * n as isize - 1), 3);
            strided.push(bits::array(dtype, &[3 * n + 2], &spread).slice(&[every_third]).expect("an axis"));
            reversed.push(bits::array(dtype, &[n], &column).flip(0).expect("an axis"));
        }
        let mut want = batch.expected(0);
        batch.check(&batch.apply(&strided), &want, "strided");
        want.reverse();
        batch.check(&batch.apply(&reversed), &want, "reversed");
        if batch.operands.len() > 1 {
            // One forwards, the others backwards through the same rows.
            reversed[0] = bits::array(batch.operands[0], &[n], &batch.column(0, 0)).flip(0).expect("an axis");
            let again: Vec<_> = reversed.iter().map(|x| x.flip(0).expect("an axis")).collect();
            want.reverse();
            batch.check(&batch.apply(&again), &want, "reversed twice");
        }
    });
}

/// Columns against rows: what stands off the diagonal is the oracle's to say, which the case files hold to account; of
/// an approximate function it is the scalar instance's, which the oracle holds to account.
#[test]
fn broadcast_against_each_other() {
    each(|batch| {
        let n = batch.rows.len();
        if batch.operands.len() < 2 {
            return;
        }
        for turned in 0..batch.operands.len() {
            let operand = |i: usize| {
                let shape = if i == turned { [n, 1] } else { [1, n] };
                bits::array(batch.operands[i], &shape, &batch.column(i, 0))
            };
            let operands: Vec<_> = (0..batch.operands.len()).map(operand).collect();
            let want: Vec<u64> = (0..n * n)
                .map(|at| {
                    let row = |i: usize| if i == turned { at / n } else { at % n };
                    batch.right((0..batch.operands.len()).map(|i| batch.rows[row(i)].1[i]))
                })
                .collect();
            assert!((0..n).all(|i| {
                bits::difference(batch.result, &want[i * n + i..][..1], &[batch.rows[i].2]).is_none()
            }));
            batch.check(&batch.apply(&operands), &want, &format!("operand {turned} as a column"));
        }
    });
}
