//! Tests every row of the case files with its operands in every place that could make a difference: as constants, in every
//! lane, strided, broadcast, and in text.
//!
//! The elements of a row are compared, bit for bit, with the result that the row states. The expected values of the other
//! elements in the array come from the oracle. For each rule, the account states how many results were compared and which were
//! wrong.

pub mod arrays;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use broadloom::{Array, DType, Executor, Op, Options, Range, Result, VectorWidth, text, typed_graph};
use broadloom_core::rewrite::Rules;
use broadloom_core::{Scalar, fold};
use rayon::prelude::*;

use crate::cases::{self, Rule};
use crate::oracle::{self, ModelSignature};
use crate::{Value, elements};

/// Applies the named function to arrays.
pub type Apply<'f> = dyn Fn(&str, &[Array<'static>]) -> Result<Array<'static>> + Sync + 'f;

/// The place of a row's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandPlace {
    /// The operands are arrays without axes.
    ZeroDimensional,
    /// The operands are constants, so the result is computed when the expression is built.
    Folded,
    /// The operands are literals, without any array.
    LiteralsAlone,
    /// One operand is a literal, the others are elements of arrays.
    LiteralBeside,
    /// The operands are elements of arrays that are bound to the names of an expression in text form.
    Text,
    /// The operands are in arrays that are shorter than a vector, that have a few whole vectors, or whose
    /// length is not a multiple of a vector's. The row is tested in every lane and at every position after
    /// the last whole vector.
    EveryLane,
    /// The operands are every third element of an array, or are reversed, or are reversed twice.
    Strided,
    /// Each operand in turn is a column that is broadcast against rows of the others.
    Broadcast,
}

impl OperandPlace {
    /// Every place.
    pub const ALL: [OperandPlace; 8] = [
        OperandPlace::ZeroDimensional,
        OperandPlace::Folded,
        OperandPlace::LiteralsAlone,
        OperandPlace::LiteralBeside,
        OperandPlace::Text,
        OperandPlace::EveryLane,
        OperandPlace::Strided,
        OperandPlace::Broadcast,
    ];
}

type Way = (Executor, Option<VectorWidth>, Rules);

/// If the target lacks a vector width, its maximum width is tested once more instead, so that the number of comparisons is the
/// same everywhere.
const WAYS: [Way; 6] = [
    (Executor::Interp, None, Rules::Off),
    (Executor::Interp, None, Rules::On),
    (Executor::Jit, None, Rules::Off),
    (Executor::Jit, Some(VectorWidth::W128), Rules::On),
    (Executor::Jit, Some(VectorWidth::W256), Rules::On),
    (Executor::Jit, Some(VectorWidth::W512), Rules::On),
];

/// Lengths shorter than a vector, between multiples of the vector length, and of several vectors with tails.
const LENGTHS: [usize; 5] = [1, 7, 16, 37, 67];

/// The outcome of a rule's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// The number of results compared.
    pub compared: u64,
    /// Descriptions of the wrong results.
    pub wrong: Vec<String>,
}

/// The outcome for each rule, by file and line.
pub type Account = BTreeMap<(String, usize), Tried>;

/// The rows of one function for operands of the same dtypes.
pub struct Batch {
    function: String,
    operands: Vec<DType>,
    cast_to: Option<DType>,
    result: DType,
    rows: Vec<TriedRow>,
}

struct TriedRow {
    file: String,
    line: usize,
    rule: Arc<Rule>,
    args: Vec<u64>,
    want: u64,
}

/// The rows of a folder of case files, grouped into batches that can share arrays.
///
/// # Errors
/// The errors of [`cases::read`].
pub fn batches(folder: &Path) -> std::result::Result<Vec<Batch>, String> {
    let dtype = |name: &str| DType::from_name(name).ok_or_else(|| format!("{name} is no dtype"));
    let mut batches: BTreeMap<_, Batch> = BTreeMap::new();
    for case in cases::read(folder)?.into_values().flatten() {
        let operands =
            case.args.iter().map(|x| dtype(x.dtype())).collect::<std::result::Result<Vec<_>, _>>()?;
        let key = (case.function.clone(), operands.clone(), case.cast_to.clone());
        let cast_to = case.cast_to.as_deref().map(dtype).transpose()?;
        let result = dtype(case.expected.dtype())?;
        let empty = Batch { function: case.function, operands, cast_to, result, rows: Vec::new() };
        batches.entry(key).or_insert(empty).rows.push(TriedRow {
            file: case.file,
            line: case.line,
            rule: case.rule,
            args: case.args.iter().map(Value::bits).collect(),
            want: case.expected.bits(),
        });
    }
    Ok(batches.into_values().collect())
}

/// Tests all rows in a place, on all processors.
pub fn account(batches: &[Batch], place: OperandPlace, apply: &Apply<'_>) -> Account {
    let all = Mutex::new(Account::new());
    batches.par_iter().for_each(|batch| {
        let mut trial = Trial { batch, apply, compared: vec![0; batch.rows.len()], wrong: Vec::new() };
        trial.at(place);
        trial.enter(&mut all.lock().unwrap_or_else(|e| e.into_inner()));
    });
    all.into_inner().unwrap_or_else(|e| e.into_inner())
}

impl Batch {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The values of an operand in all rows, repeated until there are `beyond` more elements than rows.
    fn column(&self, operand: usize, beyond: usize) -> Vec<u64> {
        (0..self.rows.len() + beyond).map(|i| self.rows[i % self.rows.len()].args[operand]).collect()
    }

    fn name(&self) -> String {
        let operands: Vec<&str> = self.operands.iter().map(|d| d.name()).collect();
        let to = self.cast_to.map_or(String::new(), |d| format!(" to {d}"));
        format!("{}({}){to}", self.function, operands.join(", "))
    }

    /// The expected result for operands of these bits, as bits. It comes from the oracle. For an approximate
    /// function, of which the oracle accepts several results, it is the result of the scalar instance.
    fn right(&self, bits: impl Iterator<Item = u64>) -> Option<u64> {
        let scalars: Vec<Scalar> =
            self.operands.iter().zip(bits).map(|(&dtype, bits)| Scalar { dtype, bits }).collect();
        if ModelSignature::of(&self.function)?.is_approximate && self.result.is_float() {
            return Some(fold::apply(Op::from_name(&self.function)?, &scalars)?.bits);
        }
        let values =
            scalars.iter().map(|x| Value::from_bits(x.dtype.name(), x.bits)).collect::<Option<Vec<_>>>()?;
        oracle::apply(&self.function, &values).map(|value| value.bits())
    }
}

/// A batch under test.
struct Trial<'b> {
    batch: &'b Batch,
    apply: &'b Apply<'b>,
    /// The number of compared results for each row.
    compared: Vec<u64>,
    wrong: Vec<(usize, String)>,
}

impl Trial<'_> {
    fn enter(self, account: &mut Account) {
        let key = |row: &TriedRow| (row.file.clone(), row.rule.line);
        for (row, compared) in self.batch.rows.iter().zip(self.compared) {
            account.entry(key(row)).or_default().compared += compared;
        }
        for (row, why) in self.wrong {
            let row = &self.batch.rows[row];
            let entry = account.entry(key(row)).or_default();
            entry.wrong.push(format!("{}:{}: {}, {why}", row.file, row.line, self.batch.name()));
        }
    }

    fn at(&mut self, place: OperandPlace) {
        match place {
            OperandPlace::ZeroDimensional => self.zero_dimensional(),
            OperandPlace::Folded => self.folded(),
            OperandPlace::LiteralsAlone => self.literals_alone(),
            OperandPlace::LiteralBeside => self.literal_beside(),
            OperandPlace::Text => self.text(),
            OperandPlace::EveryLane => self.every_lane(),
            OperandPlace::Strided => self.strided(),
            OperandPlace::Broadcast => self.broadcast(),
        }
    }

    /// Applies the function, or the conversion, to these operands.
    fn array(&self, operands: &[Array<'static>]) -> Result<Array<'static>> {
        match self.batch.cast_to {
            Some(dtype) => Ok(operands[0].astype(dtype)),
            None => (self.apply)(&self.batch.function, operands),
        }
    }

    /// Applies the function, or the conversion, to these operands, evaluates it in the given ways, and
    /// compares the elements that belong to the given rows.
    fn check(&mut self, operands: &[Array<'static>], ways: &[Way], place: &str, rows: &[usize]) {
        let x = self.array(operands);
        let want: Vec<u64> = rows.iter().map(|&row| self.batch.rows[row].want).collect();
        self.check_array(x, ways, place, rows, &want);
        rows.iter().for_each(|&row| self.compared[row] += ways.len() as u64);
    }

    fn check_array(
        &mut self,
        x: Result<Array<'static>>,
        ways: &[Way],
        place: &str,
        rows: &[usize],
        want: &[u64],
    ) {
        // Results are kept until the end, so that no evaluation reuses memory that still contains the right values of another.
        let mut kept = Vec::new();
        for &(executor, vector_width, rules) in ways {
            let options = Options { executor, vector_width, rules, threads: Some(1), ..Options::default() };
            let result = x.clone().and_then(|x| x.eval_with(&options));
            let why = match result.as_ref().map(|x| (x.dtype(), elements::bits(x))) {
                Err(e) => Some(e.to_string()),
                Ok((_, Err(e))) => Some(e.to_string()),
                Ok((dtype, _)) if dtype != self.batch.result => Some(format!("the result is {dtype}")),
                Ok((dtype, Ok(got))) => elements::difference(dtype, &got, want),
            };
            if let Some(why) = why {
                let row = self.row_of(&result, rows, want);
                let vectors = vector_width.map_or("auto", VectorWidth::name);
                let way = format!("{place}, {executor:?}, vectors {vectors}, rules {rules:?}");
                self.wrong.push((row, format!("{way}: {why}")));
            }
            kept.push(result);
        }
    }

    /// The first row with a wrong result.
    fn row_of(&self, result: &Result<Array<'static>>, rows: &[usize], want: &[u64]) -> usize {
        let got = result.as_ref().ok().and_then(|x| elements::bits(x).ok()).unwrap_or_default();
        let differs = |(got, want): (&u64, &u64)| {
            elements::difference(self.batch.result, std::slice::from_ref(got), std::slice::from_ref(want))
                .is_some()
        };
        rows.get(got.iter().zip(want).position(differs).unwrap_or(0)).copied().unwrap_or(0)
    }

    fn zero_dimensional(&mut self) {
        for (row, r) in self.batch.rows.iter().enumerate() {
            let dtypes = self.batch.operands.iter();
            let operands: Vec<_> =
                dtypes.zip(&r.args).map(|(&dtype, &x)| elements::array(dtype, &[], &[x])).collect();
            self.check(&operands, &WAYS, "0-d", &[row]);
        }
    }

    fn folded(&mut self) {
        for (row, r) in self.batch.rows.iter().enumerate() {
            let dtypes = self.batch.operands.iter();
            let constant = |(&dtype, &x)| Array::scalar(elements::literal(dtype, x)).astype(dtype);
            let operands: Vec<_> = dtypes.zip(&r.args).map(constant).collect();
            let is_folded = |x: Array<'static>| {
                let typed = typed_graph(&[&x], &Options::default())?;
                Ok(typed.graph.node(typed.roots[0]).constant().is_some())
            };
            if self.array(&operands).and_then(is_folded) != Ok(true) {
                self.wrong.push((row, "not folded".into()));
            }
            self.check(&operands, &WAYS[..2], "folded", &[row]);
        }
    }

    /// Tests operands that are all literals. Such literals are int64, float64 or bool.
    fn literals_alone(&mut self) {
        let alone = [DType::Bool, DType::Int64, DType::Float64];
        if !self.batch.operands.iter().all(|dtype| alone.contains(dtype)) {
            return;
        }
        for (row, r) in self.batch.rows.iter().enumerate() {
            // Skips casts of NaNs: a literal's bits are used without a conversion, so a NaN keeps its sign.
            let is_nan = |(&dtype, &bits): (&DType, &u64)| Scalar { dtype, bits }.is_nan();
            if self.batch.cast_to.is_some() && self.batch.operands.iter().zip(&r.args).any(is_nan) {
                continue;
            }
            let dtypes = self.batch.operands.iter();
            let operands: Vec<_> =
                dtypes.zip(&r.args).map(|(&dtype, &x)| Array::scalar(elements::literal(dtype, x))).collect();
            self.check(&operands, &WAYS[1..2], "literals alone", &[row]);
        }
    }

    fn literal_beside(&mut self) {
        let dtypes = &self.batch.operands;
        if dtypes.len() < 2 {
            return;
        }
        for (row, r) in self.batch.rows.iter().enumerate() {
            for literal in 0..dtypes.len() {
                let operand = |i: usize| match i == literal {
                    true => Array::scalar(elements::literal(dtypes[i], r.args[i])),
                    false => elements::array(dtypes[i], &[2], &[r.args[i]; 2]),
                };
                let operands: Vec<_> = (0..dtypes.len()).map(operand).collect();
                let place = format!("operand {literal} as a literal");
                self.check(&operands, &[WAYS[1], WAYS[5]], &place, &[row; 2]);
            }
        }
    }

    fn text(&mut self) {
        let batch = self.batch;
        let names = ["x", "y", "z"];
        let mut args: Vec<&str> = names[..batch.operands.len()].to_vec();
        args.extend(batch.cast_to.map(DType::name));
        let columns = batch.operands.iter().enumerate();
        let columns =
            columns.map(|(i, &dtype)| elements::array(dtype, &[batch.rows.len()], &batch.column(i, 0)));
        let bound: Vec<(&str, Array<'_>)> = names.into_iter().zip(columns).collect();
        let text = format!("{}({})", batch.function, args.join(", "));
        let x = text::expression(&text, &bound).map_err(Into::into);
        let rows: Vec<usize> = (0..batch.rows.len()).collect();
        let want: Vec<u64> = batch.rows.iter().map(|row| row.want).collect();
        self.check_array(x, &[(Executor::Auto, None, Rules::On)], &text, &rows, &want);
        self.compared.iter_mut().for_each(|compared| *compared += 1);
    }

    fn every_lane(&mut self) {
        let batch = self.batch;
        let longest = LENGTHS[LENGTHS.len() - 1];
        let columns: Vec<_> = (0..batch.operands.len()).map(|i| batch.column(i, longest)).collect();
        for length in LENGTHS {
            for from in 0..batch.rows.len() {
                let columns = batch.operands.iter().zip(&columns);
                let operands: Vec<_> = columns
                    .map(|(&dtype, column)| elements::array(dtype, &[length], &column[from..][..length]))
                    .collect();
                let rows: Vec<usize> = (from..from + length).map(|row| row % batch.rows.len()).collect();
                self.check(&operands, &WAYS, &format!("{length} elements from row {from}"), &rows);
            }
        }
    }

    fn strided(&mut self) {
        let batch = self.batch;
        let n = batch.rows.len();
        let (mut strided, mut reversed) = (Vec::new(), Vec::new());
        for (i, &dtype) in batch.operands.iter().enumerate() {
            let column = batch.column(i, 0);
            // Between the selected elements, the array has other values.
            let spread: Vec<u64> =
                (0..3 * n + 2).map(|at| column[if at % 3 == 1 { at / 3 } else { at * 7 + 3 } % n]).collect();
            let every_third = Range::new(Some(1), Some(3 * n as isize - 1), 3);
            strided
                .push(elements::array(dtype, &[3 * n + 2], &spread).slice([every_third]).expect("an axis"));
            reversed.push(elements::array(dtype, &[n], &column).flip(0).expect("an axis"));
        }
        let forwards: Vec<usize> = (0..n).collect();
        let backwards: Vec<usize> = (0..n).rev().collect();
        self.check(&strided, &WAYS, "strided", &forwards);
        self.check(&reversed, &WAYS, "reversed", &backwards);
        if batch.operands.len() > 1 {
            // Reverses every operand a second time, so that all of them are read forwards.
            reversed[0] =
                elements::array(batch.operands[0], &[n], &batch.column(0, 0)).flip(0).expect("an axis");
            let again: Vec<_> = reversed.iter().map(|x| x.flip(0).expect("an axis")).collect();
            self.check(&again, &WAYS, "reversed twice", &forwards);
        }
    }

    /// Combines each row with each other one. The expected results off the diagonal come from the oracle.
    fn broadcast(&mut self) {
        let batch = self.batch;
        let n = batch.rows.len();
        if batch.operands.len() < 2 {
            return;
        }
        for turned in 0..batch.operands.len() {
            let operand = |i: usize| {
                let shape = if i == turned { [n, 1] } else { [1, n] };
                elements::array(batch.operands[i], &shape, &batch.column(i, 0))
            };
            let operands: Vec<_> = (0..batch.operands.len()).map(operand).collect();
            let row = |i: usize, at: usize| if i == turned { at / n } else { at % n };
            let want: Option<Vec<u64>> = (0..n * n)
                .map(|at| batch.right((0..batch.operands.len()).map(|i| batch.rows[row(i, at)].args[i])))
                .collect();
            let place = format!("operand {turned} as a column");
            let Some(mut want) = want else {
                self.wrong.push((0, format!("{place}: the oracle has no answer")));
                continue;
            };
            (0..n).for_each(|i| want[i * n + i] = batch.rows[i].want);
            let rows: Vec<usize> = (0..n * n).map(|at| at / n).collect();
            let x = (self.apply)(&batch.function, &operands);
            self.check_array(x, &WAYS, &place, &rows, &want);
            // The diagonal contains the rows themselves, with their expected results.
            self.compared.iter_mut().for_each(|compared| *compared += WAYS.len() as u64);
        }
    }
}
