//! The position of an error in a text: line, column, and a copy of the line, so that an error can be rendered without the text.
//!
//! Only one line, or a part of it of limited length, is copied. Characters that move a terminal's cursor or change the
//! direction of text are replaced.

use std::fmt::Write;
use std::ops::Range;

use crate::printable::is_printable;

/// The maximum number of characters of a line that are shown.
const WIDTH: usize = 100;
/// The number of characters that are shown before the position in a line that is too long to be shown whole.
const BEFORE: usize = 40;

/// The position of an error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPlace {
    span: Range<u32>,
    line: usize,
    column: usize,
    /// The line, or the part of it around the position.
    excerpt: Box<str>,
    /// The range of characters in the excerpt that is marked.
    mark: Range<usize>,
}

impl TextPlace {
    /// The position of a byte range of `text`.
    ///
    /// ```
    /// use broadloom_ir::TextPlace;
    ///
    /// let place = TextPlace::new("y = 1\nreturn y + z", &(17..18));
    /// assert_eq!((place.line(), place.column()), (2, 12));
    /// ```
    pub fn new(text: &str, span: &Range<u32>) -> TextPlace {
        let floor = |at: u32| (0..=text.len().min(at as usize)).rev().find(|&at| text.is_char_boundary(at));
        let start = floor(span.start).unwrap_or(0);
        let end = floor(span.end).unwrap_or(0).max(start);
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let until = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[begin..until].trim_end_matches('\r');
        let before = text[begin..start].chars().count();
        // The mark has at least one character, also at the end of a line, and does not extend to the next line.
        let marked = text[start..end.min(until)].chars().count().max(1);
        let cut = if line.chars().nth(WIDTH).is_some() { before.saturating_sub(BEFORE) } else { 0 };
        let mut excerpt = String::new();
        if cut > 0 {
            excerpt.push('…');
        }
        let shift = usize::from(cut > 0);
        let mut rest = line.chars().skip(cut);
        excerpt.extend(rest.by_ref().take(WIDTH - shift).map(shown));
        let more = rest.next().is_some();
        let length = excerpt.chars().count();
        if more {
            excerpt.push('…');
        }
        let from = before - cut + shift;
        let mark = from..(from + marked).min(length.max(from + 1));
        TextPlace {
            span: span.clone(),
            line: 1 + text[..begin].bytes().filter(|&byte| byte == b'\n').count(),
            column: before + 1,
            excerpt: excerpt.into(),
            mark,
        }
    }

    /// The byte range in the text. It is empty at the end of the text.
    pub fn span(&self) -> Range<u32> {
        self.span.clone()
    }

    /// The number of the line in which the range begins, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The number of the character at which the range begins in its line, from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Writes the line with a mark below the range, as compilers do.
    pub(crate) fn render(&self, out: &mut String) {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let kept = |c: char| if c == '\t' { '\t' } else { ' ' };
        let indent: String =
            self.excerpt.chars().map(kept).chain(std::iter::repeat(' ')).take(self.mark.start).collect();
        let carets = "^".repeat(self.mark.len());
        let (line, column) = (self.line, self.column);
        let _ = write!(
            out,
            "\n{margin}--> line {line}, column {column}\n{margin} |\n{number} | {}\n{margin} | {indent}{carets}",
            self.excerpt
        );
    }
}

/// Replaces a character that a terminal would obey by U+FFFD.
fn shown(c: char) -> char {
    match c {
        '\t' => c,
        c if is_printable(c) => c,
        _ => '\u{fffd}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, span: Range<u32>) -> String {
        let mut out = String::new();
        TextPlace::new(text, &span).render(&mut out);
        out
    }

    #[test]
    fn the_line_is_shown_with_what_is_marked() {
        for (text, span, want) in [
            ("x + y", 4..5, "\n --> line 1, column 5\n  |\n1 | x + y\n  |     ^"),
            (
                "a = 1\nb = sqrt(a)\n",
                10..17,
                "\n --> line 2, column 5\n  |\n2 | b = sqrt(a)\n  |     ^^^^^^^",
            ),
            // Positions at the end of the text, at the end of a line, and in an empty text.
            ("x +", 3..3, "\n --> line 1, column 4\n  |\n1 | x +\n  |    ^"),
            ("x +\ny", 3..4, "\n --> line 1, column 4\n  |\n1 | x +\n  |    ^"),
            ("", 0..0, "\n --> line 1, column 1\n  |\n1 | \n  | ^"),
            // If a range has several lines, only the first is shown.
            ("f(a,\r\n  b)", 0..10, "\n --> line 1, column 1\n  |\n1 | f(a,\n  | ^^^^"),
            ("é\t+ ÿz", 5..8, "\n --> line 1, column 5\n  |\n1 | é\t+ ÿz\n  |  \t  ^^"),
            (
                "a\u{1b}[31m\u{202e}b",
                9..10,
                "\n --> line 1, column 8\n  |\n1 | a\u{fffd}[31m\u{fffd}b\n  |        ^",
            ),
        ] {
            assert_eq!(rendered(text, span.clone()), want, "{text:?} {span:?}");
        }
        let tenth = "\n".repeat(9) + "x";
        assert_eq!(rendered(&tenth, 9..10), "\n  --> line 10, column 1\n   |\n10 | x\n   | ^");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = "x + ".repeat(1000);
        for at in [0_u32, 30, 39, 40, 41, 80, 99, 100, 2000, 3990, 3999, 4000] {
            let shown = rendered(&text, at..at + 2);
            let lines: Vec<&str> = shown.lines().collect();
            let (code, marks) = (lines[3], lines[4]);
            assert!(code.chars().count() <= WIDTH + 6, "{at}");
            let marked = marks.chars().position(|c| c == '^').expect("a mark");
            let under = code.chars().nth(marked);
            assert_eq!(under.unwrap_or(' '), text.chars().nth(at as usize).unwrap_or(' '), "{at}\n{shown}");
        }
        let all = rendered(&text, 0..4000);
        assert!(all.lines().all(|line| line.chars().count() <= WIDTH + 8), "{all}");
    }

    #[test]
    fn spans_that_are_no_part_of_the_text_are_places_all_the_same() {
        for text in ["", "é", "a\nb"] {
            for start in 0..6 {
                for end in 0..6 {
                    let place = TextPlace::new(text, &(start..end));
                    let mut out = String::new();
                    place.render(&mut out);
                    assert!(out.contains('^') && place.line() <= 2 && place.column() <= 2);
                }
            }
        }
    }
}
