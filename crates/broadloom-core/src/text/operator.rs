//! The operators: their functions and their precedence.
//!
//! Parsing and printing use the same table.

use super::lex::Token;
use crate::Op;

/// The precedence of an operator, lowest first. The order is Python's, except that comparisons do not chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Comparison,
    Or,
    Xor,
    And,
    Shift,
    Sum,
    Product,
    Sign,
    Power,
}

macro_rules! operators {
    (binary { $($token:ident $text:literal $binding:ident $op:ident;)* }
     prefix { $($sign:ident $sign_text:literal $sign_op:ident;)* }) => {
        /// The precedence and the function of a binary operator.
        pub(super) fn binary(token: Token) -> Option<(Binding, Op)> {
            Some(match token {
                $(Token::$token => (Binding::$binding, Op::$op),)*
                _ => return None,
            })
        }

        /// The function of a prefix operator. All prefix operators have the precedence [`Binding::Sign`].
        pub(super) fn prefix(token: Token) -> Option<Op> {
            Some(match token {
                $(Token::$sign => Op::$sign_op,)*
                _ => return None,
            })
        }

        /// The operator of a function, if it has one.
        pub fn symbol(op: Op) -> Option<&'static str> {
            Some(match op {
                $(Op::$op => $text,)*
                $(Op::$sign_op => $sign_text,)*
                _ => return None,
            })
        }
    };
}

operators! {
    binary {
        Equal "==" Comparison Equal;
        NotEqual "!=" Comparison NotEqual;
        Less "<" Comparison Less;
        LessEqual "<=" Comparison LessEqual;
        Greater ">" Comparison Greater;
        GreaterEqual ">=" Comparison GreaterEqual;
        Bar "|" Or BitwiseOr;
        Caret "^" Xor BitwiseXor;
        Ampersand "&" And BitwiseAnd;
        ShiftLeft "<<" Shift BitwiseLeftShift;
        ShiftRight ">>" Shift BitwiseRightShift;
        Plus "+" Sum Add;
        Minus "-" Sum Subtract;
        Star "*" Product Multiply;
        Slash "/" Product Divide;
        SlashSlash "//" Product FloorDivide;
        Percent "%" Product Remainder;
        StarStar "**" Power Pow;
    }
    prefix {
        Minus "-" Negative;
        Plus "+" Positive;
        Tilde "~" BitwiseInvert;
    }
}
