//! Tests of parsing: tables of texts with their trees, tables of texts with their errors, and large texts.

use super::*;

mod random;

fn parsed(text: &str) -> Result<Ast, TextError> {
    parse(text, &ParseOptions::default())
}

/// The tree of an expression as an s-expression, in which operators have the names of their functions.
fn tree(text: &str) -> String {
    let ast = parsed(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let body = ast.expression().unwrap_or_else(|| panic!("{text} is no expression"));
    let mut done: Vec<String> = Vec::new();
    for id in body.ids() {
        let node = &ast[id];
        assert_eq!(id.index(), done.len());
        let args: String = ast.args(node).iter().map(|arg| format!(" {}", done[arg.index()])).collect();
        done.push(match &node.kind {
            AstKind::Name => ast.at(&node.span).to_owned(),
            AstKind::Bool(value) => value.to_string(),
            AstKind::Int(value) => value.to_string(),
            AstKind::Float(value) => format!("{value:?}"),
            AstKind::Constant(value) => format!("{value:?}"),
            AstKind::DType(dtype) => format!("<{dtype}>"),
            AstKind::List(list) => format!("{:?}", ast.integers(list)),
            AstKind::Operator { op, .. } => format!("({op}{args})"),
            AstKind::Call { name, .. } => {
                let named = |(name, arg): (Option<&Span>, AstId)| {
                    let name = name.map_or(String::new(), |name| format!("{}=", ast.at(name)));
                    format!(" {name}{}", done[arg.index()])
                };
                format!("({}{})", ast.at(name), ast.arguments(node).map(named).collect::<String>())
            }
            AstKind::Index(items) => {
                let items: Vec<String> = ast.items(items).iter().map(Item::to_string).collect();
                format!("(index{args} {})", items.join(" "))
            }
        });
    }
    assert_eq!(body.root().index() + 1, ast.nodes().len());
    done.pop().unwrap_or_default()
}

/// Texts, and their trees as printed by [`tree`].
const TREES: &[(&str, &str)] = &[
    // literals
    ("x", "x"),
    ("  _a9\t\r\n ", "_a9"),
    ("true", "true"),
    ("True", "true"),
    ("false | False", "(bitwise_or false false)"),
    ("truex", "truex"),
    ("nano", "nano"),
    ("0", "0"),
    ("00_0", "0"),
    ("1_000", "1000"),
    ("0xFf", "255"),
    ("0X_ff", "255"),
    ("0b1_01", "5"),
    ("0o17", "15"),
    ("18446744073709551615", "18446744073709551615"),
    ("-18446744073709551615", "-18446744073709551615"),
    ("1.", "1.0"),
    (".5", "0.5"),
    ("007.5", "7.5"),
    ("1_0.2_5e1_0", "102500000000.0"),
    ("1e-3", "0.001"),
    ("1E+3", "1000.0"),
    ("nan", "NaN"),
    ("-inf", "-inf"),
    ("0x1.8p-3", "0.1875"),
    ("0x.8P+1", "1.0"),
    ("0xep0", "14.0"),
    // a sign belongs to the number, but not below a power
    ("-128", "-128"),
    ("- 128", "-128"),
    ("+1.5", "1.5"),
    ("-0", "0"),
    ("-0.0", "-0.0"),
    ("--1", "(negative -1)"),
    ("~-1", "(bitwise_invert -1)"),
    ("-(1)", "(negative 1)"),
    ("-true", "(negative true)"),
    ("1-1", "(subtract 1 1)"),
    ("1--1", "(subtract 1 -1)"),
    ("1 - +1", "(subtract 1 1)"),
    ("-2**2", "(negative (pow 2 2))"),
    ("2**-1", "(pow 2 -1)"),
    ("2**-1**2", "(pow 2 (negative (pow 1 2)))"),
    ("-2**-2", "(negative (pow 2 -2))"),
    // precedence and association
    ("a+b+c", "(add (add a b) c)"),
    ("a-b+c", "(add (subtract a b) c)"),
    ("a/b*c", "(multiply (divide a b) c)"),
    ("a//b%c", "(remainder (floor_divide a b) c)"),
    ("a**b**c", "(pow a (pow b c))"),
    ("a+b*c", "(add a (multiply b c))"),
    ("a*b+c", "(add (multiply a b) c)"),
    ("(a+b)*c", "(multiply (add a b) c)"),
    ("-a*b", "(multiply (negative a) b)"),
    ("-a**b", "(negative (pow a b))"),
    ("-f(a)**b", "(negative (pow (f a) b))"),
    ("a**-b*c", "(multiply (pow a (negative b)) c)"),
    ("a**~-+b", "(pow a (bitwise_invert (negative (positive b))))"),
    ("a*-b**c", "(multiply a (negative (pow b c)))"),
    ("~a&b", "(bitwise_and (bitwise_invert a) b)"),
    ("a|b^c&d", "(bitwise_or a (bitwise_xor b (bitwise_and c d)))"),
    ("a&b^c|d", "(bitwise_or (bitwise_xor (bitwise_and a b) c) d)"),
    ("a&b<<c+d", "(bitwise_and a (bitwise_left_shift b (add c d)))"),
    ("a>>b<<c", "(bitwise_left_shift (bitwise_right_shift a b) c)"),
    ("a<b|c", "(less a (bitwise_or b c))"),
    ("a|b==c|d", "(equal (bitwise_or a b) (bitwise_or c d))"),
    ("(a<b)&(b<=c)", "(bitwise_and (less a b) (less_equal b c))"),
    ("(a<b)==(c>d)", "(equal (less a b) (greater c d))"),
    ("a!=b+1", "(not_equal a (add b 1))"),
    ("a>=-b", "(greater_equal a (negative b))"),
    // calls
    ("f()", "(f)"),
    ("f(a)", "(f a)"),
    ("f (a, b,)", "(f a b)"),
    ("f(a<b, -c)", "(f (less a b) (negative c))"),
    ("f(g(h(a)), (b))", "(f (g (h a)) b)"),
    ("where(x > 0, x, -x) ** 2", "(pow (where (greater x 0) x (negative x)) 2)"),
    ("astype(x, float32)", "(astype x <float32>)"),
    ("f(bool, int8,)", "(f <bool> <int8>)"),
    ("reshape(x, [2, -1])", "(reshape x [2, -1])"),
    ("reshape(x, [])", "(reshape x [])"),
    ("f(x, [1,], 2)", "(f x [1] 2)"),
    // named arguments, and lists in parentheses
    ("sum(x, axis=0)", "(sum x axis=0)"),
    ("f(x, k = -1, on=true, to=float32,)", "(f x k=-1 on=true to=<float32>)"),
    ("f(a=g(b=x, c), d)", "(f a=(g b=x c) d)"),
    ("f(a=(b + c)[0], d=-e)", "(f a=(index (add b c) 0) d=(negative e))"),
    ("f(a=b == c)", "(f a=(equal b c))"),
    ("f(axis=(0, -1))", "(f axis=[0, -1])"),
    ("f(axis=(0,))", "(f axis=[0])"),
    ("f(axis=( -2,\n 1,\n))", "(f axis=[-2, 1])"),
    ("f(x, (), [1])", "(f x [] [1])"),
    ("f((1), axis=(1))", "(f 1 axis=1)"),
    ("f((-1) + 2, (1 + 2))", "(f (add -1 2) (add 1 2))"),
    // indices
    ("x[3]", "(index x 3)"),
    ("x[1:5:2, ::-1, -3]", "(index x 1:5:2 ::-1 -3)"),
    ("x[:, ..., 1:, :-1, ::]", "(index x : ... 1: :-1 :)"),
    ("-x[0]**y[1]", "(negative (pow (index x 0) (index y 1)))"),
    ("(a + b)[0][1,]", "(index (index (add a b) 0) 1)"),
    ("f(x)[0] * 2", "(multiply (index (f x) 0) 2)"),
    ("x[i]", "(index x i _)"),
    ("x[i + 1, :, -j, ...,]", "(index x (add i 1) (negative j) _ : _ ...)"),
    ("x[1:, y[2, z[k]], -1 + 2]", "(index x (index y (index z k _) 2 _) (add -1 2) 1: _ _)"),
    ("x[\n(i),\n0]", "(index x i _ 0)"),
    ("f(x[i], a=x[g(j, 1)])", "(f (index x i _) a=(index x (g j 1) _))"),
    // literals with a dtype
    ("float32(0x1.8p-3)", "0.1875:float32"),
    ("-int8(-128)", "(negative -128:int8)"),
    ("bool(true) | bool(False)", "(bitwise_or true:bool false:bool)"),
    ("uint64(18446744073709551615)", "18446744073709551615:uint64"),
    ("float64(-0.0)", "-0.0:float64"),
    ("int64(- 9223372036854775808)", "-9223372036854775808:int64"),
    ("float16(nan(0x7e01))", "NaN:float16"),
    ("nan(0x7ff8000000000001)", "NaN"),
    // white space, line ends and comments
    ("f(a,\n  b # the second\n)", "(f a b)"),
    ("\n# before\n;; a + b # after\n;\n", "(add a b)"),
    ("(a\n+ b)", "(add a b)"),
];

#[test]
fn trees() {
    for &(text, expected) in TREES {
        assert_eq!(tree(text), expected, "{text}");
    }
}

/// Texts with errors: the text, the part of it at the error's span ("" at the end), a part of the message, and a part
/// of the help.
const ERRORS: &[(&str, &str, &str, &str)] = &[
    ("", "", "found the end of the text, expected an expression", ""),
    ("  ", "", "found the end of the text, expected an expression", ""),
    ("a +", "", "found the end of the text, expected an operand after `+`", ""),
    ("a + * b", "*", "found `*`, expected an operand after `+`", ""),
    ("a + )", ")", "found `)`, expected an operand after `+`", ""),
    ("* a", "*", "found `*`, expected an expression", ""),
    ("-", "", "expected an operand after `-`", ""),
    ("()", ")", "found `)`, expected an expression after `(`", ""),
    ("(a", "(", "this parenthesis is never closed", ""),
    ("f(a, (b + c)", "(", "the arguments of `f` have no `)` at their end", ""),
    ("(a))", ")", "found `)`, but no parenthesis is open", ""),
    (")", ")", "found `)`, expected an expression", ""),
    ("a, b", ",", "only separates arguments", "return y = a, z = b"),
    ("(a, b)", ",", "only separates arguments", "there are no tuples"),
    ("f(,)", ",", "found `,`, expected an argument of `f`, or `)`", ""),
    ("f(a,,b)", ",", "found `,`, expected another argument of `f`, or `)`", ""),
    ("f(a", "(", "the arguments of `f` have no `)` at their end", ""),
    ("f(a,", "", "found the end of the text, expected another argument of `f`", ""),
    ("a b", "b", "found the name `b`, expected an operator", "write `*`"),
    ("(a b)", "b", "found the name `b`, expected an operator or `)`", "write `*`"),
    ("f(a b)", "b", "expected an operator, `,` or `)`", "write `*`"),
    ("a 2", "2", "found the number `2`, expected an operator", "write `*`"),
    ("2(a)", "(", "found `(`, expected an operator", "only a name can be called"),
    ("(a)(b)", "(", "found `(`, expected an operator", "only a name can be called"),
    ("a ~ b", "~", "found `~`, expected an operator", ""),
    // comparisons do not chain
    ("a < b < c", "<", "do not chain: found `<` after `<`", "write `(a < b) & (b < c)`"),
    ("0 <= x+1 != y", "!=", "do not chain", "write `(0 <= x+1) & (x+1 != y)`"),
    ("f(a == (b < c) == d)", "==", "do not chain", "write `(a == (b < c)) & ((b < c) == d)`"),
    // words of other languages
    ("a and b", "and", "`and` is not an operator", "write `&`"),
    ("a && b", "&&", "`&&` is not an operator", "write `&`"),
    ("a or b", "or", "`or` is not an operator", "write `|`"),
    ("a || b", "||", "`||` is not an operator", "write `|`"),
    ("not a", "not", "`not` is not an operator", "write `~`"),
    ("!a", "!", "`!` is not an operator", "write `~`"),
    ("a = b", "", "expected `return`", "write `return a`"),
    ("(a = b)", "=", "`=` is not an operator", "write `==`"),
    ("a = = b", "=", "`=` is not an operator", "write `==`"),
    ("f(a + b=c)", "=", "`=` is not an operator", "to compare, write `==`"),
    ("f(a=b=c)", "=", "`=` is not an operator", "an argument has one name"),
    ("f((a=b))", "=", "`=` is not an operator", "write `==`"),
    ("f(x, axis=)", ")", "found `)`, expected a value after `axis=`", ""),
    ("f(axis=, x)", ",", "found `,`, expected a value after `axis=`", ""),
    ("f(axis=", "", "found the end of the text, expected a value after `axis=`", ""),
    ("f(axis=*)", "*", "found `*`, expected a value after `axis=`", ""),
    ("f(axis=(0, x))", "x", "found the name `x`, expected an integer", ""),
    ("f(axis=(0 1))", "1", "found the number `1`, expected an operator or `)`", "write `*`"),
    ("f(axis=(0, 1)", "(", "the arguments of `f` have no `)` at their end", ""),
    ("f(axis=(0, 1", "", "expected `,` or `)` after an integer", ""),
    ("f(axis=(0, 1.5))", "1.5", "found `1.5`, expected an integer", ""),
    ("(0, 1)", ",", "only separates arguments", "there are no tuples"),
    ("f(-(0, 1))", ",", "only separates arguments", "there are no tuples"),
    ("a if b", "if", "found `if`, expected an operator", "where(condition, a, b)"),
    ("[1, 2]", "[", "found `[`, expected an expression", "argument of a function"),
    ("a + [1]", "[", "found `[`, expected an operand", "argument of a function"),
    ("f(x, [[1]])", "[", "found `[`, expected an integer", ""),
    ("f(x, [1.5])", "1.5", "found `1.5`, expected an integer", ""),
    ("f(x, [1 2])", "2", "expected `,` or `]` after an integer", ""),
    ("f(x, [n])", "n", "found the name `n`, expected an integer", ""),
    ("x[]", "]", "found `]`, expected an index", ""),
    (
        "x[i:]",
        ":",
        "found `:`, expected an operator, `,` or `]`",
        "bounds and the step of a range are integers",
    ),
    ("x[1:n]", "n", "found the name `n`, expected an integer", "bounds and the step of a range are integers"),
    ("x[i", "[", "this bracket is never closed", ""),
    ("x[i)", ")", "found `)`, expected an operator, `,` or `]`", ""),
    ("x[(i]", "]", "expected an operator or `)`", ""),
    ("i]", "]", "found `]`, expected an operator", ""),
    ("x[i +]", "]", "found `]`, expected an operand after `+`", ""),
    ("x[..., i, ...]", "[", "a second `...`", ""),
    ("x[,]", ",", "found `,`, expected an index", ""),
    ("x[1:2:3:4]", ":", "found `:`, expected `,` or `]` after an index", ""),
    ("x[::0]", ":", "a step of 0", ""),
    ("x[..., ...]", "[", "a second `...`", ""),
    ("x[1", "", "found the end of the text, expected `,` or `]`", ""),
    ("x]", "]", "found `]`, expected an operator", ""),
    ("x.abs()", ".", "found the character `.`", "abs(x)"),
    ("a − b", "−", "found the character `−`", "write `-`"),
    ("a × b", "×", "found the character", "write `*`"),
    ("a € b", "€", "found the character `€`", ""),
    ("µ", "µ", "found the character `µ`", ""),
    ("a \u{7} b", "\u{7}", "found the character `\\u{7}`", ""),
    ("'float32'", "'", "found the character", "without quotes"),
    // dtypes
    ("float32", "float32", "`float32` is a dtype, which can only be an argument", "astype(x, float32)"),
    ("float32 + 1", "float32", "is a dtype, which can only be an argument", "astype"),
    ("f(int8 + 1)", "int8", "is a dtype, which can only be an argument", "astype"),
    ("f(-int8)", "int8", "is a dtype, which can only be an argument", "astype"),
    ("f((int8))", "int8", "is a dtype, which can only be an argument", "astype"),
    ("float32(x)", "x", "found the name `x`, expected a number in `float32(…)`", "astype(x, float32)"),
    ("float32(1 + 1)", "+", "found `+`, expected `)` after the number", "astype(x, float32)"),
    ("int8(128)", "128", "`128` is no int8", ""),
    ("int8(1.0)", "1.0", "`1.0` is no int8", ""),
    ("uint8(-1)", "-1", "`-1` is no uint8", ""),
    ("float16(65520)", "65520", "`65520` is no float16", ""),
    ("bool(1)", "1", "`1` is no bool", ""),
    ("int8(true)", "true", "`true` is no int8", ""),
    ("float16(nan(0x7c00))", "nan(0x7c00)", "is no float16", ""),
    ("float16(nan(0x17e00))", "nan(0x17e00)", "is no float16", ""),
    ("int8(nan(1))", "nan(1)", "is no int8", ""),
    ("float16(-nan(0x7e01))", "nan(0x7e01)", "the sign of a NaN", "astype"),
    ("nan(1)", "nan(1)", "is no float64", ""),
    ("nan(x)", "x", "expected the bits of a NaN", ""),
    // numbers
    ("18446744073709551616", "18446744073709551616", "does not fit in 64 bits", "decimal point"),
    ("0x1_0000_0000_0000_0000", "0x1_0000_0000_0000_0000", "does not fit in 64 bits", ""),
    ("012", "012", "may not start with 0", "write `12`, or `0o12`"),
    ("0x", "0x", "expected hexadecimal digits after `0x`", ""),
    ("0b_", "0b_", "expected binary digits", ""),
    ("0b12", "0b12", "found `2` in `0b12`, expected binary digits", ""),
    ("0o8", "0o8", "found `8` in `0o8`, expected octal digits", ""),
    ("0xfg", "0xfg", "found `g` in `0xfg`", ""),
    ("1__0", "1__0", "misplaced `_`", ""),
    ("1_", "1_", "misplaced `_`", ""),
    ("1_.5", "1_.5", "misplaced `_`", ""),
    ("1._5", "1._5", "misplaced `_`", ""),
    ("1.5_e3", "1.5_e3", "misplaced `_`", ""),
    ("0x__f", "0x__f", "misplaced `_`", ""),
    ("0x1_.8p0", "0x1_.8p0", "misplaced `_`", ""),
    ("1e", "1e", "expected digits after the exponent mark", ""),
    ("1e+", "1e+", "expected digits after the exponent mark", ""),
    ("1.2.3", "1.2.3", "second decimal point", ""),
    ("2x", "2x", "found `x` directly after the number `2`", "write `2 * x`"),
    ("1.5f", "1.5f", "found `f` directly after the number `1.5`", "write `1.5 * f`"),
    ("2j", "2j", "imaginary", "complex"),
    ("1e999", "1e999", "too large for float64", "write `inf`"),
    ("0x1p1024", "0x1p1024", "too large for float64", "write `inf`"),
    ("0x1.8", "0x1.8", "has no exponent", "write `0x1.8p0`"),
    ("0x.p1", "0x.p1", "expected hexadecimal digits", ""),
    ("0x1p", "0x1p", "expected a decimal exponent", ""),
    ("0x1p-", "0x1p-", "expected a decimal exponent", ""),
    ("0x1.2.3p1", "0x1.2.3p1", "found `.` in", ""),
    // loops
    ("x, y = while (x = 0; x < 4) { }; return x", "while", "1 value is bound to 2 names", "write `_`"),
    ("x = while (x = 0, y = 1; x < 4) { }; return x", "while", "2 values is bound to 1 name", "write `_`"),
    (
        "x = while (x = 0; x < 4) limit y { }",
        "y",
        "found the name `y`, expected the number of iterations",
        "",
    ),
    ("x = while (x = 0; x < 4) limit -1 { }", "-", "expected the number of iterations", ""),
    ("x = while (x = 0; x < 4) until { }", "until", "expected `limit` or `{`", ""),
    ("x = while (x = 0; x < 4) x", "x", "expected `limit` or `{`", ""),
    ("x = while (x = 0; x < 4)", "", "found the end of the text, expected `{` and the body", ""),
    (
        "x = while (x = 0; x < 4) {",
        "",
        "found the end of the text, expected a binding",
        "the last value of a carried name",
    ),
    ("x = while (x = 0; x < 4) { x = x + 1", "", "expected `;`, the end of the line, or `}`", ""),
    (
        "x = while (x = 0; x < 4) { x + 1 }",
        "x",
        "found the name `x`, expected a binding",
        "the last value of a carried name",
    ),
    (
        "x = while (x = 0; x < 4) { return x }",
        "return",
        "expected a binding",
        "the last value of a carried name",
    ),
    (
        "x = while (x = 0; x < 4) { x: int8 = 1 }",
        "x",
        "expected a binding",
        "the last value of a carried name",
    ),
    ("x = while (x = 0; x < 4) { x = 1, y = 2 }", ",", "expected `;`, the end of the line, or `}`", ""),
    ("x = while (x = 0) { }", ")", "expected `,` and another carried value, or `;`", ""),
    ("x = while (x = 0; y = 1) { }", ")", "expected `;` and the condition", ""),
    ("x = while (x = 0; (x < 4) { }", "{", "found `{`, expected an operator", "only loops have blocks"),
    ("x = while (x = 0; x < 4)) { }", ")", "expected `{`", ""),
    (
        "x = while (x = 0; x < 4) { x = 1 }",
        "",
        "found the end of the text, expected `return`",
        "write `return x`",
    ),
    ("_, n = for (x = 0, n = 0; i in 0..4) { }", "", "expected `return`", "write `return n`"),
    ("x = for (x = 0; i of 0..4) { }", "of", "expected `in` and a range", ""),
    ("x = for (x = 0; i in 4) { }", ")", "expected `..` and the end of the range", ""),
    ("x = for (x = 0; i in 0...4) { }", "...", "found `...`, expected", ""),
    ("x = for (x = 0; i in 0..4) limit 3 { }", "limit", "expected `{`", ""),
    ("x = for (x = 0; i in 0..4; x < 3) { }", ";", "expected `)` after the range", ""),
    ("x = while x < 4 { x = x + 1 }", "x", "expected an operator", "x = while (x = 0;"),
    ("0..4", "..", "found `..`, expected an operator", "x = for ("),
    ("y = { x }", "{", "found `{`, expected an expression", "x = while (x = 0;"),
];

#[test]
fn errors() {
    for &(text, under, message, help) in ERRORS {
        let error = match parsed(text) {
            Ok(_) => panic!("{text}: parsed as {}", tree(text)),
            Err(error) => error,
        };
        let (start, end) = (error.span.start as usize, error.span.end as usize);
        assert_eq!(&text[start..end], under, "{text}: {error}");
        assert!(start < end || end == text.len(), "{text}: {error}");
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(help.is_empty(), error.help.is_none(), "{text}: {error}");
        assert!(error.help.as_deref().unwrap_or_default().contains(help), "{text}: {error}");
        assert!(!error.is_limit() && error.to_string().contains(&error.message), "{text}: {error}");
    }
}

#[test]
fn which_of_two_equal_tokens_is_at_fault() {
    for (text, span) in [
        ("a < b < c", 6..7),
        ("((a)", 0..1),
        ("f(f(a)", 1..2),
        ("(a))", 3..4),
        ("a = = b", 4..5),
        ("a b b", 2..3),
        ("a + + ", 6..6),
    ] {
        assert_eq!(parsed(text).map_err(|error| error.span), Err(span), "{text}");
    }
}

#[test]
fn spans() {
    let text = " f( (a + b) * -2 , -c) ";
    let expected = [
        ("a", None),
        ("b", None),
        ("a + b", Some("+")),
        ("-2", None),
        ("(a + b) * -2", Some("*")),
        ("c", None),
        ("-c", Some("-")),
        ("f( (a + b) * -2 , -c)", Some("f")),
    ];
    let ast = parsed(text).unwrap_or_else(|error| panic!("{error}"));
    let under = |span: &Span| &text[span.start as usize..span.end as usize];
    let got: Vec<_> = (ast.nodes().iter())
        .map(|node| match &node.kind {
            AstKind::Call { name: at, .. } | AstKind::Operator { at, .. } => {
                (under(&node.span), Some(under(at)))
            }
            _ => (under(&node.span), None),
        })
        .collect();
    assert_eq!(got, expected);
    assert_eq!(ast.nodes()[7].span, 1..22);
}

#[test]
fn floats_are_rounded_to_nearest_even() {
    let rows: &[(&str, u64)] = &[
        ("0.1", 0x3fb9_9999_9999_999a),
        ("0x0p0", 0),
        ("0x0.000p99999999999999999999", 0),
        ("0x1p0", 0x3ff0_0000_0000_0000),
        ("0x1.fffffffffffffp1023", 0x7fef_ffff_ffff_ffff),
        ("0x1.fffffffffffff7fffp1023", 0x7fef_ffff_ffff_ffff),
        ("0x1.00000000000008p0", 0x3ff0_0000_0000_0000),
        ("0x1.00000000000008000000000000000001p0", 0x3ff0_0000_0000_0001),
        ("0x1.00000000000018p0", 0x3ff0_0000_0000_0002),
        ("0x1.fffffffffffff8p0", 0x4000_0000_0000_0000),
        ("0x100000000000000000000000000000000p-128", 0x3ff0_0000_0000_0000),
        ("0x100000000000008000000000000000001p-128", 0x3ff0_0000_0000_0001),
        ("0x0.00000000000000000000000000000001p128", 0x3ff0_0000_0000_0000),
        ("0x1p-1022", 0x0010_0000_0000_0000),
        ("0x1.fffffffffffffp-1023", 0x0010_0000_0000_0000),
        ("0x0.fffffffffffffp-1022", 0x000f_ffff_ffff_ffff),
        ("0x1p-1074", 1),
        ("0x1.8p-1074", 2),
        ("0x1.7ffp-1074", 1),
        ("0x1p-1075", 0),
        ("0x1.00001p-1075", 1),
        ("0x1.fp-1076", 0),
        ("0x1p-99999999999999999999", 0),
        ("4.9e-324", 1),
        ("0.00_00e5", 0),
        ("2.4703282292062327e-324", 0),
        ("2.4703282292062328e-324", 1),
        ("1e-99999999999999999999", 0),
    ];
    for (text, bits) in rows {
        let ast = parsed(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let AstKind::Float(value) = ast.nodes()[0].kind else { panic!("{text}") };
        assert_eq!(value.to_bits(), *bits, "{text}: {value:e}");
    }
    // Exactly the number halfway between 1 and the next float64, and a number that is greater only in the last of a
    // thousand further digits.
    let halfway = "1.00000000000000011102230246251565404236316680908203125";
    let zeros = "0".repeat(1000);
    for (text, value) in [
        (format!("{halfway}{zeros}"), 1.0),
        (format!("{halfway}{zeros}1"), 1.0 + f64::EPSILON),
        (format!("0.{zeros}25e1_000"), 0.25),
        (format!("{zeros}25_{zeros}e-1001"), 2.5),
    ] {
        let ast = parsed(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(ast.nodes()[0].kind, AstKind::Float(value), "{text}");
    }
    for text in ["0x1.fffffffffffff8p1023", "0x1p99999999999999999999", "1e99999999999999999999"] {
        assert!(parsed(text).is_err_and(|error| error.message.contains("too large")), "{text}");
    }
}

#[test]
fn limits() {
    let options = ParseOptions { max_bytes: 40, max_nodes: 5, max_depth: 4, data: false };
    let rows = [
        ("a + b + c", true),
        ("a + b + c + d", false),
        ("((((a))))", true),
        ("(((((a)))))", false),
        ("f(f(f(f(a))))", true),
        ("----a", true),
        ("-----a", false),
        ("a**a**a", true),
        ("-(-(-a))", false),
        ("a                                      ", true),
        ("a                                        ", false),
    ];
    for (text, fits) in rows {
        match parse(text, &options) {
            Ok(_) => assert!(fits, "{text}"),
            Err(error) => assert!(!fits && error.is_limit() && error.help.is_none(), "{text}: {error}"),
        }
    }
}

#[test]
fn large_texts() {
    let n = 1_000_000;
    let options = ParseOptions { max_bytes: 1 << 24, max_nodes: 1 << 22, max_depth: 1 << 21, data: false };
    let nodes = |text: &str, options: &ParseOptions| match parse(text, options) {
        Ok(ast) => Ok(ast.nodes().len()),
        Err(error) => Err((error.span, error.message)),
    };
    let rows = [
        ("(".repeat(n) + "x" + &")".repeat(n), Ok(1)),
        ("f(".repeat(n) + "x" + &")".repeat(n), Ok(n + 1)),
        ("f(".repeat(n) + &")".repeat(n), Ok(n)),
        ("-".repeat(n) + "x", Ok(n + 1)),
        ("~".repeat(n) + "1", Ok(n + 1)),
        ("x**".repeat(n) + "x", Ok(2 * n + 1)),
        ("x**-".repeat(n / 2) + "x", Ok(3 * n / 2 + 1)),
        ("x+".repeat(n) + "x", Ok(2 * n + 1)),
        ("x*x-".repeat(n / 2) + "x", Ok(2 * n + 1)),
        ("(x+".repeat(n) + "x" + &")".repeat(n), Ok(2 * n + 1)),
        ("f(".to_owned() + &"x,".repeat(n) + ")", Ok(n + 1)),
        ("x".repeat(10 * n), Ok(1)),
        (" ".repeat(10 * n) + "x", Ok(1)),
        ("1".to_owned() + &"0".repeat(n) + "e-" + &n.to_string(), Ok(1)),
        ("0x".to_owned() + &"f".repeat(n) + "p-4000000", Ok(1)),
        (
            "(".repeat(n),
            Err(((n as u32..n as u32), "found the end of the text, expected an expression after `(`")),
        ),
        ("(".repeat(n) + "x", Err((n as u32 - 1..n as u32, "this parenthesis is never closed"))),
        ("x".to_owned() + &")".repeat(n), Err((1..2, "found `)`, but no parenthesis is open"))),
        (
            "(".repeat(n) + "x y",
            Err((n as u32 + 2..n as u32 + 3, "found the name `y`, expected an operator or `)`")),
        ),
        ("(".repeat(3 * n), Err((1 << 21..(1 << 21) + 1, "the expression nests more than 2097152 deep"))),
    ];
    // The stack is so small that recursion would overflow it, with or without optimisation.
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let work = move || {
        let ast = parse(&("-(".repeat(n / 10) + "x" + &")".repeat(n / 10)), &options);
        assert!(ast.clone() == ast && format!("{ast:?}").len() > n / 10);
        for (text, expected) in rows {
            assert_eq!(
                nodes(&text, &options),
                expected.map_err(|(span, message)| (span, message.to_owned())),
                "{}",
                &text[..4]
            );
        }
    };
    small.spawn(work).expect("a thread").join().expect("no panic");
}

#[test]
fn nearest_names() {
    let names = ["sin", "sinh", "sqrt", "square", "floor_divide", "log1p", "x", "isnan", "isinf"];
    let rows = [
        ("sqtr", Some("sqrt")),
        ("Sqrt", Some("sqrt")),
        ("sinn", Some("sin")),
        ("sihn", Some("sinh")),
        ("is_nan", Some("isnan")),
        ("floordivide", Some("floor_divide")),
        ("flor_devide", Some("floor_divide")),
        ("logp1", Some("log1p")),
        ("X", Some("x")),
        ("y", None),
        ("frobnicate", None),
        ("", None),
        ("µµ", None),
    ];
    for (name, expected) in rows {
        assert_eq!(nearest(name, names.into_iter()).as_deref(), expected, "{name}");
    }
    let long = "s".repeat(1 << 20);
    assert_eq!(nearest(&long, names.into_iter()), None);
    assert_eq!(nearest("sin", [&*long, ""].into_iter()), None);
}

/// Messages quote the text, including comments in it, and contain no characters that a terminal would interpret.
#[test]
fn quoted_text_is_escaped() {
    let comment = "#\u{1b}[2J\u{202e}\r\n";
    for text in [
        format!("x[(y > {comment} 0):]"),
        format!("x[({comment} y + \u{7}"),
        format!("0 < (x {comment}) < 1"),
        format!("f(x, {comment} axis={comment}=)"),
        format!("reshape(x, [a {comment}, (b {comment} + 1)])"),
        "x \u{9b}31m y".to_owned(),
    ] {
        let error = parse(&text, &ParseOptions::default()).expect_err("no program");
        for shown in [error.to_string(), error.message().to_owned(), error.render(), format!("{error:?}")] {
            let is_obeyed = |c: char| c != '\n' && !crate::is_printable(c);
            assert!(!shown.contains(is_obeyed), "{text:?}: {shown:?}");
        }
    }
}
