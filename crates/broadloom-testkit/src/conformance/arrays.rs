//! Tests every row of the case files of reductions: with every executor, with every layout of its arrays, and as text.

use std::collections::BTreeMap;

use broadloom::text::expression;
use broadloom::{Array, Options, Range, Result, with_promotion};
use rayon::prelude::*;

use super::{Account, Tried, WAYS};
use crate::cases::arrays::ArrayCase;
use crate::random::{Step, Tensor};
use crate::{differential, elements};

/// The layout of an array in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestedLayout {
    Contiguous,
    /// Strided: two other elements lie between adjacent elements along each axis.
    Strided,
    /// Reversed along each axis.
    Reversed,
    /// The first axis is contiguous.
    Transposed,
}

const LAYOUTS: [TestedLayout; 4] =
    [TestedLayout::Contiguous, TestedLayout::Strided, TestedLayout::Reversed, TestedLayout::Transposed];

/// Tests all rows, on all processors.
pub fn account(files: &BTreeMap<String, Vec<ArrayCase>>) -> Account {
    let cases: Vec<&ArrayCase> = files.values().flatten().collect();
    let tried: Vec<Tried> = cases.par_iter().map(|case| tried(case)).collect();
    let mut account = Account::new();
    for (case, tried) in cases.iter().zip(tried) {
        let entry = account.entry((case.file.clone(), case.rule.line)).or_default();
        entry.compared += tried.compared;
        entry.wrong.extend(tried.wrong);
    }
    account
}

fn tried(case: &ArrayCase) -> Tried {
    let mut tried = Tried::default();
    let mut compare = |place: String, got: Result<Tensor>| {
        tried.compared += 1;
        let why = match (got, &case.expected) {
            (Ok(got), Ok(want)) if got == *want => return,
            (Err(error), Err(kind)) if error.kind() == *kind => return,
            (Ok(got), _) => format!("{} {:?} {:x?}", got.dtype, got.shape, got.bits),
            (Err(error), _) => error.to_string(),
        };
        let at = format!("{}:{}: {} of {}", case.file, case.line, case.expression, case.dtype);
        tried.wrong.push(format!("{at}, {place}: {why}"));
    };
    let contiguous: Vec<_> =
        case.arrays.iter().map(|(name, x)| (&**name, laid_out(x, TestedLayout::Contiguous))).collect();
    let text = with_promotion(case.promotion, || Ok(expression(&case.expression, &contiguous)?));
    compare("as text".to_owned(), text.and_then(|x| tensor(&x.eval()?)));
    for layout in LAYOUTS.iter().filter(|_| case.expected.is_ok()) {
        let x = expression_over(case, *layout);
        for &(executor, vector_width, rules) in &WAYS {
            for threads in [1, 3] {
                let options =
                    Options { executor, vector_width, rules, threads: Some(threads), ..Options::default() };
                let got = x.clone().and_then(|x| tensor(&x.eval_with(&options)?));
                compare(format!("{layout:?}, {executor:?}, {vector_width:?}, {rules:?}, {threads}"), got);
            }
        }
    }
    tried
}

/// Builds the expression by methods of arrays with this layout.
fn expression_over(case: &ArrayCase, layout: TestedLayout) -> Result<Array<'static>> {
    let internal = |why: String| broadloom::Error::new(broadloom::ErrorKind::Internal, why);
    let program = case.program().map_err(internal)?;
    with_promotion(case.promotion, || {
        let mut arrays: Vec<Array<'static>> = Vec::new();
        for step in &program.steps {
            let array = match step {
                Step::Input(x) => laid_out(x, layout),
                step => differential::array(step, &arrays)?,
            };
            arrays.push(array);
        }
        Ok(arrays.swap_remove(program.roots[0]))
    })
}

fn tensor(x: &Array<'_>) -> Result<Tensor> {
    Ok(Tensor { dtype: x.dtype(), shape: x.shape().to_vec(), bits: elements::bits(x)? })
}

/// An array of these elements with this layout.
fn laid_out(x: &Tensor, layout: TestedLayout) -> Array<'static> {
    let rank = x.shape.len();
    let whole: Vec<usize> = (0..rank).collect();
    let fits = "a view of all elements";
    match layout {
        TestedLayout::Contiguous => elements::array(x.dtype, &x.shape, &x.bits),
        TestedLayout::Strided => {
            let spread: Vec<usize> = x.shape.iter().map(|extent| 3 * extent + 2).collect();
            let n = x.bits.len().max(1);
            let element = |index: &[usize]| {
                let own: Vec<usize> = index.iter().map(|i| i / 3).collect();
                at(x, &own).filter(|_| index.iter().all(|i| i % 3 == 1))
            };
            let others = |number: usize| x.bits.get(number * 7 % n).copied().unwrap_or(1);
            let bits = indices(&spread).enumerate().map(|(number, i)| element(&i).unwrap_or(others(number)));
            let bits: Vec<u64> = bits.collect();
            let ranges: Vec<Range> =
                x.shape.iter().map(|&extent| Range::new(Some(1), Some(3 * extent as isize + 1), 3)).collect();
            elements::array(x.dtype, &spread, &bits).slice(&ranges).expect(fits)
        }
        TestedLayout::Reversed => {
            let bits: Vec<u64> = x.bits.iter().rev().copied().collect();
            let backwards = elements::array(x.dtype, &x.shape, &bits);
            whole.iter().fold(backwards, |x, &axis| x.flip(axis as isize).expect(fits))
        }
        TestedLayout::Transposed => {
            let turned: Vec<usize> = x.shape.iter().rev().copied().collect();
            let element =
                |index: Vec<usize>| at(x, &index.into_iter().rev().collect::<Vec<_>>()).unwrap_or(0);
            let bits: Vec<u64> = indices(&turned).map(element).collect();
            let axes: Vec<isize> = whole.iter().rev().map(|&axis| axis as isize).collect();
            elements::array(x.dtype, &turned, &bits).permute_dims(&axes).expect(fits)
        }
    }
}

/// The element at an index, if the index is in range.
fn at(x: &Tensor, index: &[usize]) -> Option<u64> {
    let inside = index.iter().zip(&x.shape).all(|(i, extent)| i < extent);
    let number = index.iter().zip(&x.shape).fold(0, |number, (i, extent)| number * extent + i);
    x.bits.get(number).copied().filter(|_| inside)
}

/// The indices of a shape in row-major order.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<'_> {
    let elements: usize = shape.iter().product();
    (0..elements).map(move |number| {
        let mut rest = number;
        let mut index: Vec<usize> = shape
            .iter()
            .rev()
            .map(|extent| {
                let i = rest % extent;
                rest /= extent;
                i
            })
            .collect();
        index.reverse();
        index
    })
}
