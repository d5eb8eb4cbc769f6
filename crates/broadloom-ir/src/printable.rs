//! Escapes text that comes from users, files and models, so that it can be printed on a terminal.
//!
//! A name may contain any character, including those that move the cursor, change colours, or change the direction of the text
//! around it. All code that shows such text escapes it with these functions; error messages are escaped when they are made.

use std::borrow::Cow;

/// Whether a terminal shows a character unchanged. Control characters, line separators, characters without a width and
/// characters that change the direction of text are not printable.
pub fn is_printable(c: char) -> bool {
    !(c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}'))
}

/// Escapes every character of a text that is not printable, including line breaks.
///
/// ```
/// use broadloom_ir::printable;
///
/// assert_eq!(printable("a\n\u{1b}[31mb"), "a\\n\\u{1b}[31mb");
/// assert_eq!(printable("mâché"), "mâché");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_printable)
}

/// Escapes every character of a text that is not printable, except line breaks and tabs.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_printable(c) || matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&is_kept) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_kept(c) {
            true => out.push(c),
            false => out.extend(c.escape_debug()),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_turns_text_around_is_escaped() {
        for c in ('\0'..=char::MAX).filter(|c| c.is_control()).chain("\u{61c}\u{200b}\u{200e}".chars()) {
            let shown = printable(&format!("a{c}b")).into_owned();
            assert!(shown.starts_with("a\\") && shown.is_ascii() && shown.ends_with('b'), "{shown:?}");
        }
        for c in ["\u{202e}", "\u{2028}", "\u{2066}", "\u{feff}", "\u{9b}"] {
            assert_eq!(printable(c), c.escape_unicode().to_string());
        }
        for text in ["", "x", "a\\b'\"`", "e\u{301}", "日本", "…"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        assert_eq!(printable_lines("a\n\tb\r\u{7}"), "a\n\tb\\r\\u{7}");
    }
}
