//! Splits Rust source into tokens: enough of the grammar to find imports, paths, definitions and `unsafe`.
//!
//! Comments and the contents of literals are left out, so that each word in the result is a word of code. Items under
//! `#[cfg(test)]` can be left out too.

/// The tokens of a source: words, `::`, and single other characters.
pub fn tokens(source: &str) -> Vec<&str> {
    let bytes = source.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let from = at;
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        match bytes[at] {
            b'/' if next == b'/' => at += source[at..].find('\n').unwrap_or(source.len() - at),
            b'/' if next == b'*' => at = after_comment(bytes, at),
            b'"' => at = after_string(bytes, at),
            b'\'' => at = after_quote(source, at),
            b':' if next == b':' => {
                at += 2;
                found.push("::");
            }
            byte if is_word(byte) || byte == b'$' && is_word(next) => {
                at += 1;
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
                match after_raw_string(bytes, from, at) {
                    Some(after) => at = after,
                    None => found.push(&source[from..at]),
                }
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => {
                at += source[at..].chars().next().map_or(1, char::len_utf8);
                found.push(&source[from..at]);
            }
        }
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The position after a comment, including comments nested in it.
fn after_comment(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < bytes.len() {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn after_string(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The position after a character literal, or after the quote of a lifetime.
fn after_quote(source: &str, at: usize) -> usize {
    let rest = &source[at + 1..];
    let mut characters = rest.char_indices();
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((escaped, character))) => {
            let after = escaped + character.len_utf8();
            at + 1 + after + rest[after..].find('\'').map_or(0, |quote| quote + 1)
        }
        (Some(_), Some((quote, '\''))) => at + 1 + quote + 1,
        _ => at + 1,
    }
}

/// The position after a raw string, if the word begins one.
fn after_raw_string(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    if !matches!(&bytes[from..to], b"r" | b"br" | b"cr") {
        return None;
    }
    let hashes = bytes[to..].iter().take_while(|&&byte| byte == b'#').count();
    let first = to + hashes;
    if bytes.get(first) != Some(&b'"') {
        return None;
    }
    let end = [&b"\""[..], &vec![b'#'; hashes]].concat();
    let inside = bytes[first + 1..].windows(end.len()).position(|window| window == end)?;
    Some(first + 1 + inside + end.len())
}

/// The position after the bracket that closes the one at `at`.
pub fn closing(tokens: &[&str], mut at: usize) -> usize {
    let mut depth = 0;
    while at < tokens.len() {
        match tokens[at] {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Removes the tokens under `#[cfg(test)]`.
pub fn without_tests<'t>(tokens: &[&'t str]) -> Vec<&'t str> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let rest = &tokens[at..];
        let is_test = rest.starts_with(&["#", "[", "cfg", "(", "test"])
            || rest.starts_with(&["#", "[", "cfg", "(", "all", "(", "test"]);
        if is_test {
            at = after_item(tokens, at);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// The position after the item, field or statement that begins at `at`, including its attributes.
fn after_item(tokens: &[&str], mut at: usize) -> usize {
    let word = |at: usize| tokens.get(at).copied().unwrap_or_default();
    while word(at) == "#" {
        at = closing(tokens, at + 1);
    }
    if word(at) == "pub" {
        at = if word(at + 1) == "(" { closing(tokens, at + 1) } else { at + 1 };
    }
    let (is_use, is_field) = (word(at) == "use", word(at + 1) == ":");
    while at < tokens.len() {
        match tokens[at] {
            ";" if !is_field => return at + 1,
            "," if is_field => return at + 1,
            "}" if is_field => return at,
            "{" if !is_use && !is_field => return closing(tokens, at),
            "(" | "[" | "{" => at = closing(tokens, at),
            _ => at += 1,
        }
    }
    at
}

#[test]
fn only_code_is_left() {
    let source = r##"fn a<'a>(x: &'a str) { b('"', '\'', "unsafe \" {", r#"unsafe "}"#, b"x", 'ß', '\u{7f}') } // unsafe
        /* unsafe /* { */ */ #[cfg(test)] mod tests { unsafe {} } #[cfg(test)] use c::{d}; e::f"##;
    let found = without_tests(&tokens(source)).concat();
    assert_eq!(found, "fna<a>(x:&astr){b(,,,,b,,)}e::f");
}
