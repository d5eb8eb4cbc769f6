//! Case files of reductions. Each row has an expression in the text language over small arrays, and the expected array or the
//! kind of the expected error. Rows are grouped under the rule from which their results follow.
//!
//! ```text
//! > standard: axis is an integer -> the sums along it        the rule of the rows that follow
//! @ int8 int64                                               the dtypes of the rows that follow
//! x = [2, 2] 1 2 3 -4                                        an array, valid until its name is used again
//! w = float64[2] 0.5 inf                                     an array whose dtype is not the row's
//! sum(x, axis=0) = int64[2] 4 -2                             a row; a result without a dtype has the row's
//! sum(x, axis=2) fails: shape                                a row that expects an error
//! numpy: mean(x) = float64 0.5                               a row under NumPy's promotion; the result has no axes
//! ```
//!
//! Rules, dtypes, values and errors are the same as in [the files of functions](super).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use broadloom_core::{DType, ErrorKind, Promotion};

use super::{Rule, kind_of, value};
use crate::random::{Program, ProgramError, element, type_text};
use crate::tensor::Tensor;

/// An expression over arrays, and its expected result.
#[derive(Clone, Debug)]
pub struct ArrayCase {
    /// The name of the file.
    pub file: String,
    /// The line number of the row, from 1.
    pub line: usize,
    /// The rule, shared by all its rows.
    pub rule: Arc<Rule>,
    /// The dtype that the row was parsed for.
    pub dtype: DType,
    /// The rule for operands of different kinds.
    pub promotion: Promotion,
    /// The arrays that the expression uses, by name.
    pub arrays: Vec<(String, Tensor)>,
    /// The expression.
    pub expression: String,
    /// The expected result, or the kind of the expected error.
    pub expected: Result<Tensor, ErrorKind>,
}

impl ArrayCase {
    /// Converts the expression over its arrays to a program for the reference.
    ///
    /// # Errors
    /// The reason why the expression can't be parsed or is ill-typed.
    pub fn program(&self) -> Result<Program, String> {
        let mut text = String::new();
        if self.promotion == Promotion::NumPy {
            text.push_str("promotion numpy\n");
        }
        for (name, x) in &self.arrays {
            let elements: Vec<String> = x.bits.iter().map(|&bits| element(x.dtype, bits)).collect();
            text += &format!("{name}: {} = [{}]\n", type_text(x.dtype, &x.shape), elements.join(", "));
        }
        text += &format!("return {}\n", self.expression);
        text.parse().map_err(|error: ProgramError| error.to_string())
    }
}

/// The kinds of errors that a row can state.
const KINDS: [(&str, ErrorKind); 2] = [("shape", ErrorKind::Shape), ("dtype", ErrorKind::DType)];

/// Parses the text of a file. `name` is its name in errors and cases.
///
/// # Errors
/// A message that starts with the file and line of the mistake.
///
/// ```
/// use broadloom_testkit::cases::arrays;
///
/// let text = "> standard: any -> the sum\n@ int8 int16\nx = [2] 1 2\nsum(x) = int64 3\n";
/// let cases = arrays::parse("sum.txt", text)?;
/// assert_eq!(cases.len(), 2);
/// assert_eq!(cases[1].expected.as_ref().map(|x| &x.bits[..]), Ok(&[3][..]));
/// # Ok::<(), String>(())
/// ```
pub fn parse(name: &str, text: &str) -> Result<Vec<ArrayCase>, String> {
    let mut cases: Vec<ArrayCase> = Vec::new();
    let mut dtypes: Vec<&str> = Vec::new();
    let mut arrays: BTreeMap<&str, &str> = BTreeMap::new();
    let mut rule: Option<Arc<Rule>> = None;
    for (index, line) in text.lines().enumerate() {
        let at = |message: String| format!("{name}:{}: {message}", index + 1);
        let line = line.trim();
        if let Some(list) = line.strip_prefix('@') {
            dtypes = list.split_whitespace().collect();
            if let Some(unknown) = dtypes.iter().find(|dtype| kind_of(dtype).is_none()) {
                return Err(at(format!("no dtype is called {unknown}")));
            }
        } else if let Some(text) = line.strip_prefix('>') {
            has_rows(name, rule.as_deref(), &cases)?;
            rule = Some(Arc::new(Rule::parse(text, index + 1).map_err(at)?));
        } else if let Some((array, values)) = line.split_once(" = ").filter(|(x, _)| is_name(x)) {
            arrays.insert(array, values);
        } else if !line.is_empty() && !line.starts_with('#') {
            let rule = rule.as_ref().ok_or_else(|| at("no > line states a rule for this row".to_owned()))?;
            if dtypes.is_empty() {
                return Err(at("no @ line names dtypes for this row".to_owned()));
            }
            for dtype in &dtypes {
                let row = row(line, dtype, &arrays).map_err(|why| at(format!("{why} ({dtype})")))?;
                cases.push(ArrayCase {
                    file: name.to_owned(),
                    line: index + 1,
                    rule: Arc::clone(rule),
                    ..row
                });
            }
        }
    }
    has_rows(name, rule.as_deref(), &cases)?;
    Ok(cases)
}

/// Reads every file in a folder. The keys are the file names without extension.
///
/// # Errors
/// A message that names the folder or the file that can't be read, or an error of [`parse`].
pub fn read(folder: &Path) -> Result<BTreeMap<String, Vec<ArrayCase>>, String> {
    let mut files = BTreeMap::new();
    for (stem, text) in super::texts(folder)? {
        let cases = parse(&format!("{stem}.txt"), &text)?;
        files.insert(stem, cases);
    }
    Ok(files)
}

fn has_rows(name: &str, rule: Option<&Rule>, cases: &[ArrayCase]) -> Result<(), String> {
    match rule {
        Some(rule) if cases.last().is_none_or(|case| *case.rule != *rule) => {
            Err(format!("{name}:{}: no row stands below this rule", rule.line))
        }
        _ => Ok(()),
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !text.is_empty()
}

/// Parses a row for a dtype. The caller fills in the file, line and rule.
fn row(line: &str, dtype: &str, arrays: &BTreeMap<&str, &str>) -> Result<ArrayCase, String> {
    let form = "a row reads: expression = result, or: expression fails: kind";
    let (promotion, line) = match line.strip_prefix("numpy: ") {
        Some(line) => (Promotion::NumPy, line),
        None => (Promotion::Strict, line),
    };
    let (expression, expected) = match line.rsplit_once(" fails: ") {
        Some((expression, kind)) => {
            let kind = KINDS
                .iter()
                .find(|(name, _)| *name == kind)
                .ok_or_else(|| format!("no kind is called {kind}"))?;
            (expression, Err(kind.1))
        }
        None => {
            // A named argument has no space before its `=`.
            let (expression, result) = line.rsplit_once(" = ").ok_or(form)?;
            (expression, Ok(tensor(result, dtype)?))
        }
    };
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let mut named: Vec<&str> = words.filter(|word| arrays.contains_key(word)).collect();
    named.sort_unstable();
    named.dedup();
    if named.is_empty() {
        return Err("the expression names no array".to_owned());
    }
    let given = named.into_iter().map(|name| Ok((name.to_owned(), tensor(arrays[name], dtype)?)));
    Ok(ArrayCase {
        file: String::new(),
        line: 0,
        rule: Arc::new(Rule {
            line: 0,
            source: super::RuleSource::Decided,
            condition: String::new(),
            result: String::new(),
        }),
        dtype: self::dtype(dtype)?,
        promotion,
        arrays: given.collect::<Result<_, String>>()?,
        expression: expression.to_owned(),
        expected,
    })
}

fn dtype(name: &str) -> Result<DType, String> {
    DType::from_name(name).ok_or_else(|| format!("no dtype is called {name}"))
}

/// Parses `dtype[extent, …] value …`. Without a dtype the array has the given one; without extents it has no axes.
fn tensor(text: &str, dtype: &str) -> Result<Tensor, String> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (dtype, rest) = if kind_of(&text[..end]).is_some() { text.split_at(end) } else { (dtype, text) };
    let (extents, values) = match rest.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some(split)) => split,
        Some(None) => return Err("no ] ends the extents".to_owned()),
        None => ("", rest),
    };
    let extents = extents.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape = extents.map(|extent| extent.parse().map_err(|_| format!("{extent} is no extent")));
    let shape: Vec<usize> = shape.collect::<Result<_, String>>()?;
    let bits = values.split_whitespace().map(|token| value(token, dtype).map(|value| value.bits()));
    let bits: Vec<u64> = bits.collect::<Result<_, String>>()?;
    if bits.len() != shape.iter().product::<usize>() {
        return Err(format!("{} values do not fill {shape:?}", bits.len()));
    }
    Ok(Tensor { dtype: self::dtype(dtype)?, shape, bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_arrays_it_names() {
        let text = "> decided: a -> b\n@ int8\nx = [2, 1] 1 2\nm = bool[] true\nx = [0]\n\
                    numpy: sum(where(m, x, 0), axis=(0, 1)) = int64[1, 2] -1 7\nmax(x) fails: shape\n";
        let cases = parse("x.txt", text).expect("a well-formed file");
        let names: Vec<Vec<&str>> =
            cases.iter().map(|case| case.arrays.iter().map(|(name, _)| &**name).collect()).collect();
        assert_eq!(names, [vec!["m", "x"], vec!["x"]]);
        assert_eq!(
            (cases[0].line, cases[0].promotion, &*cases[0].arrays[1].1.shape),
            (6, Promotion::NumPy, &[0][..])
        );
        let want = Tensor { dtype: DType::Int64, shape: vec![1, 2], bits: vec![u64::MAX, 7] };
        assert_eq!((&cases[0].expected, &cases[1].expected), (&Ok(want), &Err(ErrorKind::Shape)));
    }

    #[test]
    fn malformed_rows_are_refused() {
        for (row, error) in [
            ("sum(x) 1", "a row reads: expression = result, or: expression fails: kind (int8)"),
            ("sum(y) = 1", "the expression names no array (int8)"),
            ("sum(x) = [2] 1", "1 values do not fill [2] (int8)"),
            ("sum(x) = 128", "128 is not a value of int8 (int8)"),
            ("sum(x) fails: badly", "no kind is called badly (int8)"),
            ("sum(x) = [1 1", "no ] ends the extents (int8)"),
        ] {
            let text = format!("> decided: a -> b\n@ int8\nx = [1] 5\n{row}\n");
            assert_eq!(parse("x.txt", &text).map(|_| ()), Err(format!("x.txt:4: {error}")), "{row}");
        }
    }
}
