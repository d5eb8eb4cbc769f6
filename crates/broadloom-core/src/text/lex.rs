//! The tokens of the language.
//!
//! Tokens of other languages that this one refuses are recognised too, for specific error messages. Each byte is
//! examined a bounded number of times, and logos generates loops, not recursion (its feature `state_machine_codegen`;
//! the default overflows the stack on long texts in debug builds).

use logos::{Lexer, Logos};

use super::number::{self, BadNumber, Number};
use crate::DType;

/// A token of the language, or one of another language that this one refuses with advice.
#[derive(Logos, Clone, Copy, Debug, PartialEq)]
#[logos(skip r"[ \t\r\f]+", skip(r"#[^\n]*", allow_greedy = true))]
#[logos(error = Option<BadNumber>)]
pub(super) enum Token {
    #[token("\n")]
    Newline,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("...")]
    Rest,
    #[token("def")]
    Def,
    #[token("return")]
    Return,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token(",")]
    Comma,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("**")]
    StarStar,
    #[token("/")]
    Slash,
    #[token("//")]
    SlashSlash,
    #[token("%")]
    Percent,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("&")]
    Ampersand,
    #[token("^")]
    Caret,
    #[token("|")]
    Bar,
    #[token("~")]
    Tilde,
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("true", |_| true)]
    #[token("True", |_| true)]
    #[token("false", |_| false)]
    #[token("False", |_| false)]
    Bool(bool),
    #[token("nan", |_| Number::Float(f64::NAN))]
    #[token("inf", |_| Number::Float(f64::INFINITY))]
    #[regex(r"\.?[0-9]", number)]
    Number(Number),
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Name,
    #[token("and")]
    #[token("&&")]
    And,
    #[token("or")]
    #[token("||")]
    Or,
    #[token("not")]
    #[token("!")]
    Not,
    #[token("=")]
    Assign,
    #[token("if")]
    If,
    #[token("[")]
    Bracket,
    #[token("]")]
    BracketEnd,
}

/// Consumes the rest of a number whose beginning was matched.
fn number(lexer: &mut Lexer<'_, Token>) -> Result<Number, Option<BadNumber>> {
    let text = &lexer.source()[lexer.span().start..];
    let length = number::extent(text);
    lexer.bump(length - lexer.slice().len());
    number::value(&text[..length]).map_err(Some)
}

/// Whether a text is one name, and neither a keyword of the language nor a dtype.
///
/// ```
/// use broadloom_core::text::is_name;
///
/// assert!(is_name("x_1") && !is_name("1x") && !is_name("return") && !is_name("int8") && !is_name(" x"));
/// ```
pub fn is_name(text: &str) -> bool {
    let mut lexer = Token::lexer(text);
    lexer.next() == Some(Ok(Token::Name)) && lexer.slice() == text && DType::from_name(text).is_none()
}

impl Token {
    /// Advice for a token that the language refuses.
    pub(super) fn advice(self) -> Option<&'static str> {
        match self {
            Token::And => Some("write `&`, with parentheses around comparisons: `(a < b) & (c < d)`"),
            Token::Or => Some("write `|`, with parentheses around comparisons: `(a < b) | (c < d)`"),
            Token::Not => Some("write `~`, with parentheses around a comparison: `~(a < b)`"),
            Token::Assign => Some("to compare, write `==`"),
            Token::If => Some("to choose by element, write `where(condition, a, b)`"),
            _ => None,
        }
    }
}

/// Advice for a character that begins no token.
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
        '@' => "there is no matrix product yet: functions work element by element",
        '{' | '}' => "there are no blocks: group with parentheses",
        '²' => "write `x ** 2`",
        '³' => "write `x ** 3`",
        '√' => "write `sqrt(x)`",
        'π' => "write `3.141592653589793`",
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
