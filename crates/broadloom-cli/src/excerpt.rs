//! Extracts the lines of a text that an error report shows.
//!
//! An [`Excerpt`] contains all lines from the first to the last marked one. A long line is truncated to the part around the
//! mark. Each character that a terminal would interpret is replaced by one other character, so that marks stay below the marked
//! text.

use std::ops::Range;

use broadloom_core::is_printable;

/// Lines longer than this, in bytes, are truncated.
const LONGEST: usize = 400;
/// The approximate number of bytes that a truncated line shows on each side of the mark.
const AROUND: usize = 60;
/// Operands are marked if they are at most this many lines away from the error.
const NEAR: usize = 10;

/// The lines of a text that a report shows.
pub struct Excerpt {
    /// The lines that are shown, preceded by an empty line for each earlier line of the text, which makes the line numbers
    /// right. A trailing blank provides a character below which a mark at the end can be drawn.
    pub text: String,
    /// For each character that is shown, and for the end: its byte offset in the whole text, and in the excerpt.
    places: Vec<(usize, usize)>,
}

impl Excerpt {
    /// Extracts the lines around `span`, and those around the spans in `others` that are at most `NEAR` lines away.
    pub fn of(text: &str, span: &Range<u32>, others: &[Range<u32>]) -> Excerpt {
        let line_of = |at: u32| lines_before(text, at as usize);
        let line = line_of(span.start);
        let near = others.iter().filter(|other| line_of(other.start).abs_diff(line) <= NEAR);
        let spans: Vec<&Range<u32>> = std::iter::once(span).chain(near).collect();
        let first = spans.iter().map(|span| line_of(span.start)).min().unwrap_or(line);
        let last = spans.iter().map(|span| line_of(span.end).min(line + NEAR)).max().unwrap_or(line);
        let mut excerpt = Excerpt { text: "\n".repeat(first), places: Vec::new() };
        let (mut start, mut end) = (0, text.len());
        for (number, line) in text.split_inclusive('\n').enumerate() {
            if (first..=last).contains(&number) {
                let marked = spans.iter().map(|span| span.start as usize);
                let marked =
                    marked.filter(|at| (start..=start + line.len()).contains(at)).map(|at| at - start);
                excerpt.push(
                    line,
                    start,
                    marked.min_by_key(|&at| (start + at).abs_diff(span.start as usize)),
                );
                end = start + line.len();
            }
            start += line.len();
        }
        excerpt.places.push((end, excerpt.text.len()));
        excerpt.text.push(' ');
        excerpt
    }

    /// Appends a line that begins at `start`. A long line is truncated around the byte `marked`.
    fn push(&mut self, line: &str, start: usize, marked: Option<usize>) {
        let (mut from, mut to) = (0, line.len());
        if line.len() > LONGEST {
            let at = marked.unwrap_or(0).min(line.len());
            from = line.floor_char_boundary(at.saturating_sub(AROUND));
            to = line.ceil_char_boundary((at + AROUND).min(line.len()));
        }
        if from > 0 {
            self.text.push('…');
        }
        for (at, c) in line[from..to].char_indices() {
            self.places.push((start + from + at, self.text.len()));
            match c {
                '\n' | '\t' => self.text.push(c),
                '\r' if line[from + at..] == *"\r\n" => {}
                c if is_printable(c) => self.text.push(c),
                _ => self.text.push('\u{fffd}'),
            }
        }
        if to < line.len() {
            self.places.push((start + to, self.text.len()));
            self.text.push_str(if line.ends_with('\n') { "…\n" } else { "…" });
        }
    }

    /// Whether the excerpt contains the whole span.
    pub fn shows(&self, span: &Range<u32>) -> bool {
        let is_shown = |at: u32| self.places.binary_search_by_key(&(at as usize), |(from, _)| *from).is_ok();
        is_shown(span.start) && is_shown(span.end.max(span.start))
    }

    /// The span's position in the excerpt. An empty span is extended to one byte, because an empty one would not be marked.
    pub fn place(&self, span: &Range<u32>) -> Range<usize> {
        let here = |at: u32| {
            let next = self.places.partition_point(|(from, _)| *from < at as usize);
            self.places.get(next).or(self.places.last()).map_or(0, |(_, here)| *here)
        };
        let start = here(span.start);
        start..here(span.end).max(start + 1)
    }
}

/// The number of line breaks before a byte of the text.
fn lines_before(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}
