//! The lexer of the language.
//!
//! It recognises some tokens of other languages, which this language refuses with specific error messages. The lexer is
//! a loop over bytes that examines each byte a bounded number of times, so that every text takes linear time and no
//! recursion.

use std::ops::Range;

use super::number::{self, BadNumber, Number};
use crate::DType;

/// A token of the language, or a token of another language, which the parser refuses with advice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token {
    Newline,
    Semicolon,
    Colon,
    Rest,
    Range,
    Def,
    Return,
    Open,
    Close,
    Comma,
    Plus,
    Minus,
    Star,
    StarStar,
    Slash,
    SlashSlash,
    Percent,
    ShiftLeft,
    ShiftRight,
    Ampersand,
    Caret,
    Bar,
    Tilde,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Bool(bool),
    Number(Number),
    Name,
    And,
    Or,
    Not,
    Assign,
    If,
    Bracket,
    BracketEnd,
    Brace,
    BraceEnd,
}

/// The longest punctuation token that matches the start of a text, and its length in bytes.
fn mark(bytes: &[u8]) -> Option<(Token, usize)> {
    Some(match bytes {
        [b'.', b'.', b'.', ..] => (Token::Rest, 3),
        [b'.', b'.', ..] => (Token::Range, 2),
        [b'*', b'*', ..] => (Token::StarStar, 2),
        [b'/', b'/', ..] => (Token::SlashSlash, 2),
        [b'<', b'<', ..] => (Token::ShiftLeft, 2),
        [b'<', b'=', ..] => (Token::LessEqual, 2),
        [b'>', b'>', ..] => (Token::ShiftRight, 2),
        [b'>', b'=', ..] => (Token::GreaterEqual, 2),
        [b'&', b'&', ..] => (Token::And, 2),
        [b'|', b'|', ..] => (Token::Or, 2),
        [b'=', b'=', ..] => (Token::Equal, 2),
        [b'!', b'=', ..] => (Token::NotEqual, 2),
        [b'\n', ..] => (Token::Newline, 1),
        [b';', ..] => (Token::Semicolon, 1),
        [b':', ..] => (Token::Colon, 1),
        [b'(', ..] => (Token::Open, 1),
        [b')', ..] => (Token::Close, 1),
        [b',', ..] => (Token::Comma, 1),
        [b'+', ..] => (Token::Plus, 1),
        [b'-', ..] => (Token::Minus, 1),
        [b'*', ..] => (Token::Star, 1),
        [b'/', ..] => (Token::Slash, 1),
        [b'%', ..] => (Token::Percent, 1),
        [b'<', ..] => (Token::Less, 1),
        [b'>', ..] => (Token::Greater, 1),
        [b'&', ..] => (Token::Ampersand, 1),
        [b'^', ..] => (Token::Caret, 1),
        [b'|', ..] => (Token::Bar, 1),
        [b'~', ..] => (Token::Tilde, 1),
        [b'=', ..] => (Token::Assign, 1),
        [b'!', ..] => (Token::Not, 1),
        [b'[', ..] => (Token::Bracket, 1),
        [b']', ..] => (Token::BracketEnd, 1),
        [b'{', ..] => (Token::Brace, 1),
        [b'}', ..] => (Token::BraceEnd, 1),
        _ => return None,
    })
}

/// The token for a word: a keyword, a bool, `nan` or `inf`, or a name.
fn word(text: &str) -> Token {
    match text {
        "def" => Token::Def,
        "return" => Token::Return,
        "if" => Token::If,
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        "true" | "True" => Token::Bool(true),
        "false" | "False" => Token::Bool(false),
        "nan" => Token::Number(Number::Float(f64::NAN)),
        "inf" => Token::Number(Number::Float(f64::INFINITY)),
        _ => Token::Name,
    }
}

/// The reason why a text is not a token: a malformed number, or `None` for a character with which no token begins.
pub(super) type NoToken = Option<BadNumber>;

/// An iterator over the tokens of a text. Its methods return the span and the text of the last token. After an error it
/// continues after the invalid text.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    span: Range<usize>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, span: 0..0 }
    }

    /// The span of the last token, or of the invalid text.
    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The text of the last token.
    pub(super) fn slice(&self) -> &'a str {
        &self.text[self.span.clone()]
    }

    /// The offset of the next token, after blanks and comments.
    fn start(&self) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.span.end;
        loop {
            match bytes.get(at) {
                Some(b' ' | b'\t' | b'\r' | b'\x0c') => at += 1,
                Some(b'#') => at += bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at),
                _ => return at,
            }
        }
    }

    /// The token at the start of `rest`, and its length in bytes.
    fn token(rest: &str) -> (Result<Token, NoToken>, usize) {
        let bytes = rest.as_bytes();
        match bytes {
            [b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] => {
                let is_letter = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
                let length = bytes.iter().position(|b| !is_letter(b)).unwrap_or(bytes.len());
                (Ok(word(&rest[..length])), length)
            }
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => {
                let length = number::extent(rest);
                (number::value(&rest[..length]).map(Token::Number).map_err(Some), length)
            }
            _ => match mark(bytes) {
                Some((token, length)) => (Ok(token), length),
                None => (Err(None), rest.chars().next().map_or(0, char::len_utf8)),
            },
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Result<Token, NoToken>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.start();
        if start == self.text.len() {
            self.span = start..start;
            return None;
        }
        let (token, length) = Lexer::token(&self.text[start..]);
        self.span = start..start + length;
        Some(token)
    }
}

/// Whether a text is a single name; keywords of the language and names of dtypes are excluded.
///
/// ```
/// use broadloom_core::text::is_name;
///
/// assert!(is_name("x_1") && !is_name("1x") && !is_name("return") && !is_name("int8") && !is_name(" x"));
/// ```
pub fn is_name(text: &str) -> bool {
    let mut lexer = Lexer::new(text);
    lexer.next() == Some(Ok(Token::Name)) && lexer.slice() == text && DType::from_name(text).is_none()
}

impl Token {
    /// Advice on a token that the language refuses.
    pub(super) fn advice(self) -> Option<&'static str> {
        match self {
            Token::And => Some("write `&`, with parentheses around comparisons: `(a < b) & (c < d)`"),
            Token::Or => Some("write `|`, with parentheses around comparisons: `(a < b) | (c < d)`"),
            Token::Not => Some("write `~`, with parentheses around a comparison: `~(a < b)`"),
            Token::Assign => Some("to compare, write `==`"),
            Token::Brace | Token::BraceEnd => Some(
                "only loops have blocks: `x = while (x = 0; x < 4) { x = x + 1 }`; group with parentheses",
            ),
            Token::Range => {
                Some("a range of integers is written in a loop: `x = for (x = 0; i in 0..4) { x = x + i }`")
            }
            Token::If => Some("to choose by element, write `where(condition, a, b)`"),
            _ => None,
        }
    }
}

/// Advice on a character with which no token begins.
pub(super) fn instead_of(character: char) -> Option<&'static str> {
    Some(match character {
        '−' | '–' | '—' => "write `-`",
        '×' | '·' | '⋅' | '∙' => "write `*`",
        '÷' | '∕' => "write `/`",
        '≤' => "write `<=`",
        '≥' => "write `>=`",
        '≠' => "write `!=`",
        '∞' => "write `inf`",
        '\'' | '"' | '‘' | '’' | '“' | '”' => {
            "there are no strings; a dtype is written without quotes: `astype(x, float32)`"
        }
        '?' => "to choose by element, write `where(condition, a, b)`",
        '@' => "there is no matrix product; of vectors it is `vecdot(x1, x2)`, or `sum(x1 * x2)`",
        '²' => "write `x ** 2`",
        '³' => "write `x ** 3`",
        '√' => "write `sqrt(x)`",
        'π' => "write `pi`",
        '∧' => "write `&`",
        '∨' => "write `|`",
        '¬' => "write `~`",
        '⊕' => "write `^`",
        '`' => "names are written without quotes",
        '$' => "names have letters, digits and `_`",
        '\\' => "inside parentheses a line may end anywhere",
        _ => return None,
    })
}
