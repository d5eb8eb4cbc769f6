//! Case files: calls with their one right result, one a line, for one dtype or several.
//!
//! In: the text of a file. Out: one [`Case`] per row and dtype.
//! Must hold: a row can be read for each of its dtypes, or it is an error: literals that overflow or vanish,
//! and hexadecimal ones that the dtype does not hold exactly, are refused.
//!
//! ```text
//! # a comment
//! @ float16 float32        the dtypes of the rows that follow
//! add(1.5, -0.0) = 1.5
//! where(true:bool, 1, 2) = 1
//! @ int16
//! astype(300, uint8) = 44
//! ```
//!
//! Values: `true false`, `nan -nan` (the latter, with its sign bit set, as an argument only), `inf`, decimal
//! and `0x1.8p-3` literals, and names that depend on the dtype. Of every number dtype: `max`. Of integers:
//! `min`. Of floats: `tiny` the least normal, `sub` and `subx` the least and the largest subnormal, `one+`
//! and `one-` the neighbours of 1, `bigint` the least power of two whose successor is no float. Names of
//! floats, and `max` of signed integers, take a minus sign.

use std::collections::BTreeMap;
use std::path::Path;

use crate::oracle::{Dyadic, ExactReal, Signature};
use crate::value::{Format, Int, Kind, Value, kind_of};

/// One call on single values and what it must give.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the file, as given to [`parse`].
    pub file: String,
    /// The line of the row, from 1.
    pub line: usize,
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
/// A message that opens with the file and line of the first row that can't be read for one of its dtypes.
///
/// ```
/// use broadloom_testkit::{Value, cases};
///
/// let cases = cases::parse("square.txt", "@ int8 float32\nsquare(3) = 9\n")?;
/// assert_eq!(cases.len(), 2);
/// assert!(cases[1].expected.same(&Value::F32(9.0)));
/// # Ok::<(), String>(())
/// ```
pub fn parse(name: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let mut dtypes: Vec<&str> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let at = |message: String| format!("{name}:{line_number}: {message}");
        let line = line.trim();
        if let Some(list) = line.strip_prefix('@') {
            dtypes = list.split_whitespace().collect();
            if let Some(unknown) = dtypes.iter().find(|dtype| kind_of(dtype).is_none()) {
                return Err(at(format!("no dtype is called {unknown}")));
            }
        } else if !line.is_empty() && !line.starts_with('#') {
            if dtypes.is_empty() {
                return Err(at("no @ line names dtypes for this row".to_owned()));
            }
            for dtype in &dtypes {
                let row = Row::parse(line, dtype).map_err(|message| at(format!("{message} ({dtype})")))?;
                cases.push(Case {
                    file: name.to_owned(),
                    line: line_number,
                    function: row.function.to_owned(),
                    dtype: (*dtype).to_owned(),
                    args: row.args,
                    cast_to: row.cast_to.map(str::to_owned),
                    expected: row.expected,
                });
            }
        }
    }
    Ok(cases)
}

/// Reads every file of a folder, by its stem.
///
/// # Errors
///
/// A message that names the folder or the file that can't be read; those of [`parse`].
pub fn read(folder: &Path) -> Result<BTreeMap<String, Vec<Case>>, String> {
    let mut files = BTreeMap::new();
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        files.insert(stem.clone(), parse(&format!("{stem}.txt"), &text)?);
    }
    Ok(files)
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
        let expected = match expected.trim() {
            "-nan" => return Err("the sign of a NaN result is unspecified: expect nan".to_owned()),
            expected => value(expected, result_dtype)?,
        };
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
