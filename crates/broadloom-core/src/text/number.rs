//! Number literals: their extent in the text, and their value.
//!
//! A float literal is rounded to the nearest float64 (ties to even). An overflow is an error, never infinity.

/// The value of a number literal: an integer or a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(u64),
    Float(f64),
}

/// An error in a number literal: the message and advice.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct BadNumber {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// The length in bytes of the number literal at the start of `text`, well formed or not. It consists of letters,
/// digits, `_` and `.`, and of a sign directly after the first exponent mark. It ends before `..`.
pub(super) fn extent(text: &str) -> usize {
    let bytes = text.as_bytes();
    let marks: &[u8] = match bytes.get(1) {
        Some(b'x' | b'X') => b"pP",
        Some(b'b' | b'B' | b'o' | b'O') => b"",
        _ => b"eE",
    };
    let mut mark = None;
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'.' if bytes.get(i + 1) == Some(&b'.') => return i,
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'.' => {
                if mark.is_none() && marks.contains(byte) {
                    mark = Some(i);
                }
            }
            b'+' | b'-' if mark.is_some_and(|mark| mark + 1 == i) => {}
            _ => return i,
        }
    }
    bytes.len()
}

/// The value of a number literal. `text` is exactly the literal that [`extent`] measured.
pub(super) fn value(text: &str) -> Result<Number, BadNumber> {
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] if text.contains(['.', 'p', 'P']) => hex_float(text),
        [b'0', b'x' | b'X', ..] => integer(text, &text[2..], 16),
        [b'0', b'o' | b'O', ..] => integer(text, &text[2..], 8),
        [b'0', b'b' | b'B', ..] => integer(text, &text[2..], 2),
        _ if text.bytes().all(|b| b.is_ascii_digit() || b == b'_') => {
            if text.starts_with('0') && text.bytes().any(|b| matches!(b, b'1'..=b'9')) {
                let plain = brief(text.trim_start_matches(['0', '_']));
                return bad(
                    format!("an integer may not start with 0: `{}`", brief(text)),
                    format!("write `{plain}`, or `0o{plain}` if it is octal"),
                );
            }
            integer(text, text, 10)
        }
        _ => decimal_float(text),
    }
}

fn bad<T>(message: String, help: impl Into<Option<String>>) -> Result<T, BadNumber> {
    Err(BadNumber { message, help: help.into() })
}

/// Truncates a text that is too long for a message.
///
/// ```
/// use broadloom_core::text::brief;
///
/// assert_eq!(brief("short"), "short");
/// assert_eq!(brief(&"x".repeat(41)), "x".repeat(40) + "…");
/// ```
pub fn brief(text: &str) -> std::borrow::Cow<'_, str> {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Whether every `_` of `digits` has a digit of the radix on both sides.
fn underscores_separate_digits(digits: &str, radix: u32) -> bool {
    let bytes = digits.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(|&b| (b as char).is_digit(radix));
    (0..bytes.len()).all(|i| bytes[i] != b'_' || (i > 0 && digit(i - 1) && digit(i + 1)))
}

fn integer(text: &str, digits: &str, radix: u32) -> Result<Number, BadNumber> {
    let kind = match radix {
        2 => "binary",
        8 => "octal",
        16 => "hexadecimal",
        _ => "decimal",
    };
    // An underscore between the prefix and the digits (`0x_ff`) is allowed, as in Python.
    let digits = if radix == 10 { digits } else { digits.strip_prefix('_').unwrap_or(digits) };
    if digits.is_empty() {
        return bad(format!("expected {kind} digits after `{text}`, found none"), None);
    }
    if let Some(stray) = digits.chars().find(|&c| c != '_' && !c.is_digit(radix)) {
        return bad(format!("found `{stray}` in `{}`, expected {kind} digits only", brief(text)), None);
    }
    if !underscores_separate_digits(digits, radix) {
        return bad_underscore(text);
    }
    let mut total: u64 = 0;
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        let next = total.checked_mul(radix as u64).and_then(|t| t.checked_add(digit as u64));
        let Some(next) = next else {
            let help = (radix == 10).then(|| "for a float, add a decimal point".to_owned());
            return bad(format!("the integer `{}` does not fit in 64 bits", brief(text)), help);
        };
        total = next;
    }
    Ok(Number::Int(total))
}

fn bad_underscore<T>(text: &str) -> Result<T, BadNumber> {
    bad(format!("found a misplaced `_` in `{}`, expected digits on both sides of it", brief(text)), None)
}

fn decimal_float(text: &str) -> Result<Number, BadNumber> {
    if let Some(error) = malformed_decimal(text) {
        return Err(error);
    }
    if !underscores_separate_digits(text, 10) {
        return bad_underscore(text);
    }
    match shortened(text).parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Number::Float(value)),
        Ok(_) => too_large(text),
        Err(_) => bad(format!("`{}` is not a number", brief(text)), None),
    }
}

/// A decimal literal of bounded length and without underscores that rounds to the same float64: `0.digits` times a
/// power of ten. The exponent is reduced because the standard library's conversion is exact only for exponents below
/// about 65536.
fn shortened(text: &str) -> String {
    // A number halfway between two float64 numbers has at most 768 significant digits, so rounding depends on further
    // digits only by whether all of them are 0.
    const ENOUGH: usize = 800;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let mut digits = String::from("0.");
    let (mut point, mut after_point, mut more) = (0i64, false, false);
    for byte in mantissa.bytes().filter(|&b| b != b'_') {
        let leading_zero = byte == b'0' && digits.len() == 2;
        match byte {
            b'.' => after_point = true,
            _ if leading_zero => point -= after_point as i64,
            _ => {
                point += !after_point as i64;
                match digits.len() < ENOUGH {
                    true => digits.push(byte as char),
                    false => more |= byte != b'0',
                }
            }
        }
    }
    if more {
        digits.push('1');
    }
    format!("{digits}0e{}", (point + decimal_exponent(exponent)).clamp(-9999, 9999))
}

/// The value of `[sign] digits`, clamped to ±2^40.
fn decimal_exponent(text: &str) -> i64 {
    let digits = text.bytes().filter(u8::is_ascii_digit);
    let value = digits.fold(0, |value, digit| (value * 10 + i64::from(digit - b'0')).min(1 << 40));
    if text.starts_with('-') { -value } else { value }
}

fn too_large<T>(text: &str) -> Result<T, BadNumber> {
    bad(format!("`{}` is too large for float64", brief(text)), "for infinity, write `inf`".to_owned())
}

/// The error for a text that does not have the form `digits [. digits] [e [sign] digits]`; `None` if it has.
fn malformed_decimal(text: &str) -> Option<BadNumber> {
    let after =
        |rest: &str| rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').len();
    let mut at = after(text);
    if text[at..].starts_with('.') {
        at += 1 + after(&text[at + 1..]);
    }
    let mantissa = at;
    if text[at..].starts_with(['e', 'E']) {
        at += 1;
        at += text[at..].starts_with(['+', '-']) as usize;
        let digits = after(&text[at..]);
        if digits == 0 {
            return bad::<()>(format!("expected digits after the exponent mark of `{}`", brief(text)), None)
                .err();
        }
        at += digits;
    }
    let (number, rest) = text.split_at(at);
    let (message, help) = match rest.chars().next()? {
        'j' | 'J' if rest.len() == 1 => (
            format!("`{}` is an imaginary number", brief(text)),
            Some("there are no complex dtypes".to_owned()),
        ),
        '.' => (format!("found a second decimal point in `{}`", brief(text)), None),
        first => (
            format!(
                "found `{}` directly after the number `{}`, expected an operator",
                brief(rest),
                brief(number)
            ),
            (at == mantissa && first.is_ascii_alphabetic())
                .then(|| format!("to multiply, write `{} * {}`", brief(number), brief(rest))),
        ),
    };
    Some(BadNumber { message, help })
}

fn hex_float(text: &str) -> Result<Number, BadNumber> {
    let body = &text[2..];
    let Some((mantissa, exponent)) = body.split_once(['p', 'P']) else {
        return bad(
            format!("the hexadecimal float `{}` has no exponent", brief(text)),
            format!("write `{}p0`", brief(text)),
        );
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let stray = (whole.chars().chain(fraction.chars())).find(|&c| c != '_' && !c.is_ascii_hexdigit());
    if let Some(stray) = stray {
        return bad(format!("found `{stray}` in `{}`, expected hexadecimal digits", brief(text)), None);
    }
    if whole.is_empty() && fraction.is_empty() {
        return bad(format!("expected hexadecimal digits in `{}`, found none", brief(text)), None);
    }
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if power.is_empty() || !power.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return bad(format!("expected a decimal exponent after the `p` of `{}`", brief(text)), None);
    }
    if !(underscores_separate_digits(mantissa, 16) && underscores_separate_digits(power, 10)) {
        return bad_underscore(text);
    }
    match round(Significand::read(whole, fraction), decimal_exponent(exponent)) {
        Some(value) => Ok(Number::Float(value)),
        None => too_large(text),
    }
}

/// The number `bits * 2^exponent`, or a slightly greater number if `more` is set.
struct Significand {
    bits: u64,
    exponent: i64,
    more: bool,
}

impl Significand {
    /// The value of hexadecimal digits before and after the point.
    fn read(whole: &str, fraction: &str) -> Significand {
        let mut s = Significand { bits: 0, exponent: 0, more: false };
        let whole = whole.chars().map(|c| (c, 0));
        let fraction = fraction.chars().map(|c| (c, 4));
        for (digit, places) in whole.chain(fraction).filter_map(|(c, places)| Some((c.to_digit(16)?, places)))
        {
            if s.bits >> 60 == 0 {
                s.bits = s.bits << 4 | digit as u64;
                s.exponent -= places;
            } else {
                s.more |= digit != 0;
                s.exponent += 4 - places;
            }
        }
        s
    }
}

/// The float64 nearest to the significand times `2^power`, ties to even; `None` if it would be infinite.
fn round(s: Significand, power: i64) -> Option<f64> {
    if s.bits == 0 {
        return Some(0.0);
    }
    let shift = s.bits.leading_zeros() as i64;
    let bits = (s.bits << shift) as u128;
    let exponent = s.exponent + power - shift;
    // The leading bit has the weight 2^top. Below the normal range, fewer bits of the significand are kept.
    let top = exponent + 63;
    if top > 1023 {
        return None;
    }
    let kept = 53 - (-1022 - top).max(0);
    if kept < 0 {
        return Some(0.0);
    }
    let dropped = 64 - kept;
    let (half, rest) = (1u128 << (dropped - 1), bits & ((1u128 << dropped) - 1));
    let mut quotient = bits >> dropped;
    if rest > half || (rest == half && (s.more || quotient & 1 == 1)) {
        quotient += 1;
    }
    // The product is exact unless it overflows: the quotient has at most 53 bits, and the last one weighs at least
    // 2^-1074.
    let value = quotient as f64 * power_of_two(exponent + dropped);
    value.is_finite().then_some(value)
}

/// The float64 `2^n` for n from −1074 to 1023.
fn power_of_two(n: i64) -> f64 {
    match n {
        ..-1022 => f64::from_bits(1 << (n + 1074)),
        _ => f64::from_bits(((n + 1023) as u64) << 52),
    }
}
