//! Case files. Each line has a call and its expected result, for one or several dtypes. Lines are grouped under the rule from
//! which their results follow.
//!
//! Every row belongs to the rule above it, and every rule has a row, so that each expected result can be traced to its source. A
//! row is parsed as a [`Case`] for each of its dtypes. Literals that overflow or underflow to 0, and hexadecimal literals that
//! the dtype can't represent exactly, are errors.
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
//! A rule states its [`RuleSource`], its condition and its result, in the project's own words. It applies to the rows up to the
//! next rule. Dtypes apply up to the next `@` line, even if a new rule begins in between.
//!
//! Values: `true false`, `nan -nan` (quiet, without payload; `-nan` has its sign bit set), `inf`, decimal and `0x1.8p-3`
//! literals, and names that depend on the dtype. For every numeric dtype: `max`. For integers: `min`. For floats: `tiny` is the
//! smallest normal number, `sub` and `subx` are the smallest and the largest subnormal, `one+` and `one-` are the floats
//! adjacent to 1, and `bigint` is the smallest power of two whose successor is not a float. The names for floats, and `max` of
//! signed integers, may have a minus sign. An operand of another dtype than the row's has a suffix: `true:bool`.

pub mod arrays;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::oracle::{Dyadic, ExactReal, ModelSignature};
use crate::value::{Format, Int, Value, ValueKind, kind_of};

/// The source of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleSource {
    /// The Array API standard: a special case, or another sentence about results.
    Standard,
    /// SONNX's specification of the operator Div.
    Onnx,
    /// A later edition of the standard, for functions that the edition under test lacks.
    Later,
    /// The project's own decision, where the Array API standard and SONNX specify nothing or leave a choice. Also the source of
    /// the rules for ordinary values and exact cases.
    Decided,
}

impl RuleSource {
    /// Every source.
    pub const ALL: [RuleSource; 4] =
        [RuleSource::Standard, RuleSource::Onnx, RuleSource::Later, RuleSource::Decided];

    /// The name of the source in a rule line.
    pub fn name(self) -> &'static str {
        match self {
            RuleSource::Standard => "standard",
            RuleSource::Onnx => "onnx",
            RuleSource::Later => "later",
            RuleSource::Decided => "decided",
        }
    }

    /// The source with this name in a rule line.
    pub fn from_name(name: &str) -> Option<RuleSource> {
        RuleSource::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// The contents of a `>` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The line number of the rule, from 1.
    pub line: usize,
    /// The source of the rule.
    pub source: RuleSource,
    /// The condition for the rule, in words.
    pub condition: String,
    /// The result, in words.
    pub result: String,
}

impl Rule {
    /// Parses the text after the `>`.
    fn parse(text: &str, line: usize) -> Result<Rule, String> {
        let form = "a rule reads: > source: condition -> result";
        let (source, text) = text.split_once(':').ok_or(form)?;
        let (condition, result) = text.split_once(" -> ").ok_or(form)?;
        let name = source.trim();
        let source = RuleSource::from_name(name).ok_or_else(|| format!("no source is called {name}"))?;
        let (condition, result) = (condition.trim().to_owned(), result.trim().to_owned());
        if condition.is_empty() || result.is_empty() || result.contains(" -> ") {
            return Err(form.to_owned());
        }
        Ok(Rule { line, source, condition, result })
    }
}

/// A call on single values, and its expected result.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the file, as given to [`parse`].
    pub file: String,
    /// The line number of the row, from 1.
    pub line: usize,
    /// The rule, shared by all its rows.
    pub rule: Arc<Rule>,
    /// The function's name, or `astype`.
    pub function: String,
    /// The dtype that the row was parsed for; for a cast, the source dtype.
    pub dtype: String,
    /// The arguments; a cast has one.
    pub args: Vec<Value>,
    /// The target dtype of a cast.
    pub cast_to: Option<String>,
    /// The expected result, in the result's dtype.
    pub expected: Value,
}

/// Parses a case file. `name` is its name in errors and cases.
///
/// # Errors
///
/// A message that starts with the file and line of the mistake: a row that can't be parsed for one of its dtypes, a row without
/// a rule or without dtypes, a rule that can't be parsed, or a rule without a row.
///
/// ```
/// use broadloom_testkit::{Value, cases};
///
/// let text = "> standard: any x -> x * x\n@ int8 float32\nsquare(3) = 9\n";
/// let cases = cases::parse("square.txt", text)?;
/// assert_eq!(cases.len(), 2);
/// assert!(cases[1].expected.same(&Value::F32(9.0)));
/// assert_eq!(cases[1].rule.source, cases::RuleSource::Standard);
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

/// Checks that the rule, if there is one, has a row: the last of the cases must belong to it.
fn has_rows(name: &str, rule: Option<&Rule>, cases: &[Case]) -> Result<(), String> {
    match rule {
        Some(rule) if cases.last().is_none_or(|case| *case.rule != *rule) => {
            Err(format!("{name}:{}: no row stands below this rule", rule.line))
        }
        _ => Ok(()),
    }
}

/// Reads every file in a folder. The keys are the file names without extension.
///
/// # Errors
///
/// A message that names the folder or the file that can't be read, or an error of [`parse`].
pub fn read(folder: &Path) -> Result<BTreeMap<String, Vec<Case>>, String> {
    let mut files = BTreeMap::new();
    for (stem, text) in texts(folder)? {
        let cases = parse(&format!("{stem}.txt"), &text)?;
        files.insert(stem, cases);
    }
    Ok(files)
}

/// The texts of the files in a folder. The keys are the file names without extension.
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
                let signature = ModelSignature::of(function)
                    .ok_or_else(|| format!("no function is called {function}"))?;
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

/// Parses a token as a value of a dtype.
fn value(token: &str, dtype: &str) -> Result<Value, String> {
    let kind = kind_of(dtype).ok_or_else(|| format!("no dtype is called {dtype}"))?;
    let raw = match kind {
        ValueKind::Bool => match token {
            "true" => Some(1),
            "false" => Some(0),
            _ => None,
        },
        ValueKind::Int(int) => integer(token, int),
        ValueKind::Float(format) => float(token, format),
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

/// Parses a literal such as `1.8p-3`: hexadecimal digits with at most one point, and a power of two. The format must be able to
/// represent it exactly.
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

/// Parses an unsigned decimal literal and rounds it to the format. float16 literals are rounded to float64 first, which only
/// gives a wrong result for a literal extremely close to the midpoint of two float16 numbers.
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
        let [standard, decided] = [RuleSource::Standard, RuleSource::Decided];
        assert_eq!(
            seen,
            [
                (4, 2, standard),
                (4, 2, standard),
                (8, 6, decided),
                (9, 6, decided),
                (12, 10, RuleSource::Later)
            ]
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
        for source in RuleSource::ALL {
            assert_eq!(RuleSource::from_name(source.name()), Some(source));
        }
        assert_eq!(RuleSource::from_name("Standard"), None);
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
