//! Case files: calls with their one right result, one a line, for one dtype or several, below the rule that they
//! follow from.
//!
//! Every row belongs to the rule above it, and every rule has a row, so that each expected result is traced to its source. A
//! row is read for each of its dtypes as a [`Case`], or it is an error: literals that overflow or vanish, and
//! hexadecimal ones that the dtype does not hold exactly, are refused.
//!
//! ```text
//! # a comment
//! > standard: x1 is finite and not 0, x2 is -0 -> x1      the rule of the rows that follow
//! @ float16 float32                                       the dtypes of the rows that follow
//! add(1.5, -0.0) = 1.5
//! @ float64
//! add(-0x1p-1074, -0.0) = -sub
//! > decided: of integers, a number that does not fit -> modulo 2^width of the target
//! @ int16
//! astype(300, uint8) = 44
//! ```
//!
//! A rule names its [`Source`], then its condition and its result, in our own words. It holds up to the next rule;
//! dtypes hold up to the next `@` line, also across rules.
//!
//! Values: `true false`, `nan -nan` (quiet, without payload; the latter with its sign bit set), `inf`, decimal
//! and `0x1.8p-3` literals, and names that depend on the dtype. Of every number dtype: `max`. Of integers:
//! `min`. Of floats: `tiny` the smallest normal, `sub` and `subx` the smallest and the largest subnormal, `one+`
//! and `one-` the floats next to 1, `bigint` the smallest power of two whose successor is no float. Names of
//! floats, and `max` of signed integers, take a minus sign. An operand of another dtype has a suffix: `true:bool`.

pub mod arrays;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::oracle::{Dyadic, ExactReal, Signature};
use crate::value::{Format, Int, Kind, Value, kind_of};

/// Which text a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The Array API standard: a special case, or another sentence about results.
    Standard,
    /// The SONNX Div text.
    Onnx,
    /// A later edition of the standard, for functions that the tested edition lacks.
    Later,
    /// None: what the project decided where the texts are silent or leave a choice; ordinary values and exact cases.
    Decided,
}

impl Source {
    /// Every source.
    pub const ALL: [Source; 4] = [Source::Standard, Source::Onnx, Source::Later, Source::Decided];

    /// Its name in a rule line.
    pub fn name(self) -> &'static str {
        match self {
            Source::Standard => "standard",
            Source::Onnx => "onnx",
            Source::Later => "later",
            Source::Decided => "decided",
        }
    }

    /// The source that a rule line calls by this name.
    pub fn from_name(name: &str) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// The contents of a `>` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The line of the rule, from 1.
    pub line: usize,
    /// The text it comes from.
    pub source: Source,
    /// When it applies, in words.
    pub condition: String,
    /// The result, in words.
    pub result: String,
}

impl Rule {
    /// Reads what follows the `>`.
    fn parse(text: &str, line: usize) -> Result<Rule, String> {
        let form = "a rule reads: > source: condition -> result";
        let (source, text) = text.split_once(':').ok_or(form)?;
        let (condition, result) = text.split_once(" -> ").ok_or(form)?;
        let name = source.trim();
        let source = Source::from_name(name).ok_or_else(|| format!("no source is called {name}"))?;
        let (condition, result) = (condition.trim().to_owned(), result.trim().to_owned());
        if condition.is_empty() || result.is_empty() || result.contains(" -> ") {
            return Err(form.to_owned());
        }
        Ok(Rule { line, source, condition, result })
    }
}

/// One call on single values and what it must give.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the file, as given to [`parse`].
    pub file: String,
    /// The line of the row, from 1.
    pub line: usize,
    /// Its rule, shared by all rows of the rule.
    pub rule: Arc<Rule>,
    /// The function's name, or `astype`.
    pub function: String,
    /// The dtype that the row was read for (of a cast: the source).
    pub dtype: String,
    /// The arguments; a cast has one.
    pub args: Vec<Value>,
    /// The target of a cast.
    pub cast_to: Option<String>,
    /// The right result, in the result's dtype.
    pub expected: Value,
}

/// Reads a case file; `name` is what errors and cases call it.
///
/// # Errors
///
/// A message that opens with the file and line of what is wrong: a row that can't be read for one of its dtypes, or
/// has no rule or no dtypes; a rule that can't be read, or has no row.
///
/// ```
/// use broadloom_testkit::{Value, cases};
///
/// let text = "> standard: any x -> x * x\n@ int8 float32\nsquare(3) = 9\n";
/// let cases = cases::parse("square.txt", text)?;
/// assert_eq!(cases.len(), 2);
/// assert!(cases[1].expected.same(&Value::F32(9.0)));
/// assert_eq!(cases[1].rule.source, cases::Source::Standard);
/// # Ok::<(), String>(())
/// ```
pub fn parse(name: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut dtypes: Vec<&str> = Vec::new();
    let mut rule: Option<Arc<Rule>> = None;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let at = |message: String| format!("{name}:{line_number}: {message}");
        let line = line.trim();
        if let Some(list) = line.strip_prefix('@') {
            dtypes = list.split_whitespace().collect();
            if let Some(unknown) = dtypes.iter().find(|dtype| kind_of(dtype).is_none()) {
                return Err(at(format!("no dtype is called {unknown}")));
            }
        } else if let Some(text) = line.strip_prefix('>') {
            has_rows(name, rule.as_deref(), &cases)?;
            rule = Some(Arc::new(Rule::parse(text, line_number).map_err(at)?));
        } else if !line.is_empty() && !line.starts_with('#') {
            let rule = rule.as_ref().ok_or_else(|| at("no > line states a rule for this row".to_owned()))?;
            if dtypes.is_empty() {
                return Err(at("no @ line names dtypes for this row".to_owned()));
            }
            for dtype in &dtypes {
                let row = Row::parse(line, dtype).map_err(|message| at(format!("{message} ({dtype})")))?;
                cases.push(Case {
                    file: name.to_owned(),
                    line: line_number,
                    rule: Arc::clone(rule),
                    function: row.function.to_owned(),
                    dtype: (*dtype).to_owned(),
                    args: row.args,
                    cast_to: row.cast_to.map(str::to_owned),
                    expected: row.expected,
                });
            }
        }
    }
    has_rows(name, rule.as_deref(), &cases)?;
    Ok(cases)
}

/// Whether the last of the cases belongs to the rule, if there is one.
fn has_rows(name: &str, rule: Option<&Rule>, cases: &[Case]) -> Result<(), String> {
    match rule {
        Some(rule) if cases.last().is_none_or(|case| *case.rule != *rule) => {
            Err(format!("{name}:{}: no row stands below this rule", rule.line))
        }
        _ => Ok(()),
    }
}

/// Reads every file of a folder, by its stem.
///
/// # Errors
///
/// A message that names the folder or the file that can't be read; those of [`parse`].
pub fn read(folder: &Path) -> Result<BTreeMap<String, Vec<Case>>, String> {
    let mut files = BTreeMap::new();
    for (stem, text) in texts(folder)? {
        let cases = parse(&format!("{stem}.txt"), &text)?;
        files.insert(stem, cases);
    }
    Ok(files)
}

/// The texts of the files of a folder, by their stems.
fn texts(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut texts = BTreeMap::new();
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        texts.insert(stem, text);
    }
    Ok(texts)
}

struct Row<'t> {
    function: &'t str,
    args: Vec<Value>,
    cast_to: Option<&'t str>,
    expected: Value,
}

impl<'t> Row<'t> {
    fn parse(line: &'t str, dtype: &str) -> Result<Row<'t>, String> {
        let form = "a row reads: function(value, ...) = value";
        let (call, expected) = line.split_once('=').ok_or(form)?;
        let (function, rest) = call.trim().split_once('(').ok_or(form)?;
        let tokens: Vec<&str> = rest.strip_suffix(')').ok_or(form)?.split(',').map(str::trim).collect();
        let (tokens, cast_to, result_dtype) = match (function, &tokens[..]) {
            ("astype", &[_, to]) => (&tokens[..1], Some(to), to),
            ("astype", _) => return Err("a cast reads: astype(value, dtype) = value".to_owned()),
            _ => {
                let signature =
                    Signature::of(function).ok_or_else(|| format!("no function is called {function}"))?;
                if tokens.len() != signature.arity {
                    return Err(format!(
                        "{function} takes {} arguments, not {}",
                        signature.arity,
                        tokens.len()
                    ));
                }
                if !signature.takes_dtype(dtype) {
                    return Err(format!("{function} does not take {dtype}"));
                }
                (&tokens[..], None, signature.result_dtype(dtype))
            }
        };
        let args = tokens.iter().map(|token| {
            let (text, dtype) = token.split_once(':').unwrap_or((*token, dtype));
            value(text, dtype)
        });
        let expected = value(expected.trim(), result_dtype)?;
        Ok(Row { function, args: args.collect::<Result<_, _>>()?, cast_to, expected })
    }
}

/// The value that a token means for a dtype.
fn value(token: &str, dtype: &str) -> Result<Value, String> {
    let kind = kind_of(dtype).ok_or_else(|| format!("no dtype is called {dtype}"))?;
    let raw = match kind {
        Kind::Bool => match token {
            "true" => Some(1),
            "false" => Some(0),
            _ => None,
        },
        Kind::Int(int) => integer(token, int),
        Kind::Float(format) => float(token, format),
    };
    raw.map(|raw| Value::from_raw(kind, raw)).ok_or_else(|| format!("{token} is not a value of {dtype}"))
}

fn integer(token: &str, int: Int) -> Option<u64> {
    let mask = u64::MAX >> (64 - int.bits);
    let (least, largest) = match int.signed {
        true => (-(1i128 << (int.bits - 1)), i128::from(mask >> 1)),
        false => (0, i128::from(mask)),
    };
    let integer = match token {
        "max" => largest,
        "-max" => -largest,
        "min" => least,
        _ => token.parse::<i128>().ok()?,
    };
    (least..=largest).contains(&integer).then_some(integer as u64 & mask)
}

fn float(token: &str, format: Format) -> Option<u64> {
    let (negative, name) = match token.strip_prefix('-') {
        Some(name) => (true, name),
        None => (false, token),
    };
    let p = format.precision as i32;
    let hidden = 1u128 << format.fraction_bits();
    let real = match name {
        "nan" => ExactReal::Nan { negative },
        "inf" => ExactReal::Infinite { negative },
        "max" => ExactReal::finite(negative, 2 * hidden - 1, format.emax - p + 1),
        "tiny" => ExactReal::finite(negative, 1, 1 - format.emax),
        "sub" => ExactReal::finite(negative, 1, format.quantum()),
        "subx" => ExactReal::finite(negative, hidden - 1, format.quantum()),
        "one+" => ExactReal::finite(negative, hidden + 1, 1 - p),
        "one-" => ExactReal::finite(negative, 2 * hidden - 1, -p),
        "bigint" => ExactReal::finite(negative, 1, p),
        _ => match name.strip_prefix("0x") {
            Some(hex) => hexadecimal(hex, negative, format)?,
            None => {
                return decimal(name, format)
                    .map(|raw| ExactReal::decode(raw, format).with_sign(negative).encode(format));
            }
        },
    };
    Some(real.encode(format))
}

/// `1.8p-3`: hexadecimal digits with at most one point, then a power of two. The format must hold it exactly.
fn hexadecimal(text: &str, negative: bool, format: Format) -> Option<ExactReal> {
    let (digits, power) = text.split_once('p')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let magnitude = u128::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent = power.parse::<i32>().ok()? - 4 * i32::try_from(fraction.len()).ok()?;
    let exact = Dyadic { negative, magnitude, exponent };
    let stored = ExactReal::Finite(exact).rounded(format);
    match stored {
        ExactReal::Finite(x) if x.compare_magnitude(exact).is_eq() => Some(stored),
        _ => None,
    }
}

/// An unsigned decimal, rounded to the format. A float16 is rounded by way of float64, which is right unless the
/// literal is so close to a float16 tie, without being one, that float64 can't tell the two apart.
fn decimal(text: &str, format: Format) -> Option<u64> {
    let starts_well = text.starts_with(|c: char| c.is_ascii_digit());
    if !starts_well || !text.chars().all(|c| c.is_ascii_digit() || ".e+-".contains(c)) {
        return None;
    }
    let mantissa = text.split('e').next()?;
    let is_zero = !mantissa.contains(|c: char| ('1'..='9').contains(&c));
    let raw = match format.precision {
        24 => u64::from(text.parse::<f32>().ok()?.to_bits()),
        53 => text.parse::<f64>().ok()?.to_bits(),
        _ => u64::from(half::f16::from_f64(text.parse::<f64>().ok()?).to_bits()),
    };
    match ExactReal::decode(raw, format) {
        x @ ExactReal::Finite(_) if x.is_zero() == is_zero => Some(raw),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_carry_the_rule_above_them() {
        let text = "# head\n> standard: x is NaN -> NaN\n@ float32 float64\nabs(nan) = nan\n\n\
                    > decided: x is the least integer -> x\n@ int8\nabs(min) = min\nabs(-1) = 1\n\
                    >later: x is -0 -> +0\n@ float16\nabs(-0.0) = 0.0\n";
        let cases = parse("abs.txt", text).expect("a well-formed file");
        let seen: Vec<_> = cases.iter().map(|c| (c.line, c.rule.line, c.rule.source)).collect();
        let [standard, decided] = [Source::Standard, Source::Decided];
        assert_eq!(
            seen,
            [(4, 2, standard), (4, 2, standard), (8, 6, decided), (9, 6, decided), (12, 10, Source::Later)]
        );
        let rule = &cases[0].rule;
        assert_eq!((&*rule.condition, &*rule.result), ("x is NaN", "NaN"));
    }

    #[test]
    fn dtypes_outlast_a_rule() {
        let cases = parse("abs.txt", "@ int8\n> onnx: a -> b\nabs(1) = 1\n> later: a -> b\nabs(2) = 2\n");
        assert_eq!(cases.expect("a well-formed file").len(), 2);
    }

    #[test]
    fn every_source_is_found_by_its_name() {
        for source in Source::ALL {
            assert_eq!(Source::from_name(source.name()), Some(source));
        }
        assert_eq!(Source::from_name("Standard"), None);
    }

    #[test]
    fn malformed_rules_are_refused() {
        for (text, error) in [
            ("@ int8\nabs(1) = 1", "x.txt:2: no > line states a rule for this row"),
            ("> standard: a -> b", "x.txt:1: no row stands below this rule"),
            (
                "> standard: a -> b\n> onnx: a -> b\n@ int8\nabs(1) = 1",
                "x.txt:1: no row stands below this rule",
            ),
            ("@ int8\n> onnx: a -> b\nabs(1) = 1\n> onnx: a -> b", "x.txt:4: no row stands below this rule"),
            ("> numpy: a -> b\n@ int8\nabs(1) = 1", "x.txt:1: no source is called numpy"),
            ("> a -> b", "x.txt:1: a rule reads: > source: condition -> result"),
            ("> standard: a", "x.txt:1: a rule reads: > source: condition -> result"),
            ("> standard:  -> b", "x.txt:1: a rule reads: > source: condition -> result"),
            ("> standard: a -> b -> c", "x.txt:1: a rule reads: > source: condition -> result"),
        ] {
            assert_eq!(parse("x.txt", text).map(|_| ()), Err(error.to_owned()), "{text:?}");
        }
    }
}
