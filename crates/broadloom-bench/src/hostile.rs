//! Texts designed to be as expensive as possible: about a million characters long, or with as many nodes as the limits allow.
//!
//! Each text is within the default limit on the length of a text, so that only another limit can reject it.

use ExpectedAnswer::{Refused, Value};

/// The expected outcome for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedAnswer {
    /// The text evaluates to a value.
    Value,
    /// The text is rejected with a message that starts with this string.
    Refused(&'static str),
}

/// A text and its expected outcome.
#[derive(Clone, Debug)]
pub struct Hostile {
    /// The construct that the text repeats.
    pub name: String,
    /// The text; its free names are bound to a small array.
    pub text: String,
    /// The expected outcome.
    pub answer: ExpectedAnswer,
}

/// The approximate number of characters in a text.
const LENGTH: usize = 1_000_000;

const NODES: ExpectedAnswer = Refused("the expression has more than 131072 nodes");
const DEPTH: ExpectedAnswer = Refused("the expression nests more than 131072 deep");

/// All hostile texts.
pub fn texts() -> Vec<Hostile> {
    let mut texts = Texts(Vec::new());
    texts.nesting();
    texts.operators();
    texts.literals();
    texts.statements();
    texts.bindings();
    texts.functions();
    texts.0
}

/// Repeats a piece of text until the result has about [`LENGTH`] characters.
fn fill(piece: &str) -> String {
    piece.repeat(LENGTH / piece.len())
}

/// A text nested in `n` pairs of brackets.
fn around(open: &str, n: usize, inner: &str, close: &str) -> String {
    open.repeat(n) + inner + &close.repeat(n)
}

/// Concatenates numbered pieces of text until the result has about [`LENGTH`] characters. Also returns the number of pieces.
fn numbered(piece: &dyn Fn(usize) -> String) -> (String, usize) {
    let mut text = String::new();
    let mut i = 0;
    while text.len() < LENGTH - 1000 {
        text += &piece(i);
        i += 1;
    }
    (text, i)
}

struct Texts(Vec<Hostile>);

impl Texts {
    fn add(&mut self, name: &str, text: String, answer: ExpectedAnswer) {
        assert!(text.len() <= 1 << 20, "{name}");
        self.0.push(Hostile { name: name.to_owned(), text, answer });
    }

    /// Texts with nesting as deep as the limit allows, and deeper.
    fn nesting(&mut self) {
        self.add("parentheses", around("(", 130_000, "x", ")"), Value);
        self.add("parentheses, never closed", fill("("), DEPTH);
        self.add("parentheses, never opened", fill(")"), Refused("found `)`, expected an expression"));
        self.add(
            "parentheses, closed once more",
            around("(", 130_000, "x", ")") + ")",
            Refused("found `)`, but no"),
        );
        self.add("brackets", fill("["), Refused("found `[`, expected an expression"));
        self.add(
            "brackets in a list",
            format!("reshape(x, {}", fill("[")),
            Refused("found `[`, expected an integer"),
        );
        self.add("calls", around("abs(", 130_000, "x", ")"), Value);
        self.add("calls, never closed", fill("abs("), DEPTH);
        self.add("calls of nothing", fill("f()+"), Refused("the expression has more than"));
        self.add("constants", fill("float32("), Refused("found the name `float32`, expected a number"));
        self.add("indices of indices", "x".to_owned() + &"[:]".repeat(130_000), Value);
        self.add("indices of an axis", format!("x[{}]", fill(":,")), Refused("an array has at most 64 axes"));
        self.add(
            "integers in a list",
            format!("reshape(x, [{}])", fill("1,")),
            Refused("a list has at most 64 integers"),
        );
        self.add("extents", format!("y: int8[{}]; y", fill("1,")), Refused("an array has at most 64 axes"));
    }

    /// Texts with many operators and signs.
    fn operators(&mut self) {
        for operator in ["+", "-", "*", "/", "//", "%", "|", "^", "&", "<<", ">>", "**"] {
            let operand = if "/".contains(operator) { "x" } else { "i" };
            let pair = format!("{operand}{operator}");
            self.add(&format!("`{operator}` too often"), fill(&pair) + operand, NODES);
            self.add(&format!("`{operator}`"), pair.repeat(65_000) + operand, Value);
        }
        for operator in ["==", "<", ">="] {
            let text = fill(&format!("i{operator}")) + "i";
            self.add(&format!("`{operator}`"), text, Refused("comparisons do not chain"));
        }
        for sign in ["-", "+", "~"] {
            self.add(&format!("sign `{sign}` too often"), fill(sign) + "i", DEPTH);
            self.add(&format!("sign `{sign}`"), sign.repeat(130_000) + "i", Value);
        }
    }

    /// Texts with long literals and names.
    fn literals(&mut self) {
        self.add("an integer", fill("9"), Refused("the integer `9999"));
        self.add("a hexadecimal integer", "0x".to_owned() + &fill("f"), Refused("the integer `0xffff"));
        self.add("digits behind the point", "0.".to_owned() + &fill("3"), Value);
        self.add("digits before the point", fill("3") + ".0", Refused("`3333"));
        self.add("an exponent", "1e-".to_owned() + &fill("9"), Value);
        self.add("a hexadecimal float", "0x1.".to_owned() + &fill("f") + "p-3", Value);
        self.add("underscores", "1".to_owned() + &fill("_"), Refused("found a misplaced `_`"));
        self.add("a name", fill("n"), Value);
        self.add("a name, called", fill("n") + "(x)", Refused("there is no function `nnnn"));
        self.add(
            "a name, defined and called",
            format!("def {0}(x) = x; {0}(x, x)", "n".repeat(LENGTH / 2)),
            Refused("`nnnn"),
        );
        self.add("a name, declared", format!("{0}: float64[n]; return {0}", "n".repeat(LENGTH / 2)), Value);
        self.add("a character that is none", fill("é"), Refused("found the character `é`"));
        self.add("quotes", fill("\""), Refused("found the character `\""));
        self.add(
            "a comment without an end",
            "#".to_owned() + &fill("x"),
            Refused("found the end of the text"),
        );
        self.add("white space", fill(" \t"), Refused("found the end of the text"));
        self.add(
            "values that are not admitted",
            format!("y: int8[9] = [{}]; y", fill("1,")),
            Refused("found `[`"),
        );
    }

    /// Texts with many statements that have no value.
    fn statements(&mut self) {
        self.add("ends of lines", fill("\n"), Refused("found the end of the text"));
        self.add("semicolons", fill(";"), Refused("found the end of the text"));
        self.add("return", fill("return "), Refused("found `return`, expected an expression"));
        self.add("def", fill("def "), Refused("found `def`, expected the name"));
        self.add("colons", fill("y:"), Refused("`y` is not a dtype"));
    }

    /// Texts with many bindings, inputs, results and names.
    fn bindings(&mut self) {
        self.add("bindings", numbered(&|i| format!("a{i}=1\n")).0 + "a7", Value);
        self.add(
            "bindings that double",
            {
                let n = 40_000;
                let text: String = (0..n).map(|i| format!("a{}=a{i}+a{i}\n", i + 1)).collect();
                format!("a0=i\n{text}a{n}")
            },
            Value,
        );
        self.add("inputs", numbered(&|i| format!("a{i}:int8[n]\n")).0 + "a7", Value);
        self.add(
            "results",
            {
                let (text, _) = numbered(&|i| format!("r{i}=i,"));
                format!("return {text}r=i")
            },
            Value,
        );
        self.add("names", (0..65_000).map(|i| format!("name_of_{i}+")).collect::<String>() + "x", Value);
        self.add(
            "names, and one that is not there",
            numbered(&|i| format!("name_of_something_{i}=1;")).0 + "nme_of_smething(x)",
            Refused("there is no function"),
        );
        self.add(
            "results of one name",
            format!("return {}y=i", "y=i,".repeat(100_000)),
            Refused("two results have the name"),
        );
        self.add(
            "arguments",
            format!("add({}x)", "x,".repeat(100_000)),
            Refused("`add(x1, x2)` takes 2 arguments"),
        );
        self.add(
            "arguments with one name",
            format!("sum(x{})", ",axis=0".repeat(100_000)),
            Refused("`axis` of `sum` is given twice"),
        );
        self.add(
            "arguments with names",
            format!("sum(x{})", numbered(&|i| format!(",a{i}=0")).0),
            Refused("`sum` has no argument `a0`"),
        );
        self.add(
            "names of arguments",
            "f(".to_owned() + &fill("axis="),
            Refused("`=` is not an operator of this language"),
        );
        self.add("calls with options", around("max(", 40_000, "x", ",axis=())"), Value);
        self.add(
            "calls in options",
            around("sum(x,axis=", 60_000, "0", ")"),
            Refused("`axis` of `sum` must be"),
        );
        self.add(
            "integers in parentheses",
            format!("reshape(x, ({}))", fill("1,")),
            Refused("a list has at most 64 integers"),
        );
    }

    /// Texts with many functions, parameters and calls.
    fn functions(&mut self) {
        self.add(
            "parameters",
            {
                let (text, _) = numbered(&|i| format!("a{i},"));
                format!("def f({text}) = a1; f(x)")
            },
            Refused("`f("),
        );
        self.add(
            "parameters and arguments",
            {
                let names: Vec<String> = (0..100_000).map(|i| format!("a{i}")).collect();
                format!("def f({}) = a1; f({})", names.join(","), "x,".repeat(100_000))
            },
            Value,
        );
        self.add("functions", numbered(&|i| format!("def f{i}(x)=x\n")).0 + "f9(x)", Value);
        self.add(
            "functions of functions",
            {
                let n = 16_000;
                let text: String = (0..n).map(|i| format!("def f{}(x)=f{i}(x)+1\n", i + 1)).collect();
                format!("def f0(x)=x\n{text}f{n}(x)")
            },
            Value,
        );
        self.add(
            "functions that double",
            {
                let (text, n) = numbered(&|i| format!("def f{}(x)=f{i}(f{i}(x))\n", i + 1));
                format!("def f0(x)=x+1\n{text}f{n}(x)")
            },
            Refused("after inlining, user-defined functions have more than 131072 nodes"),
        );
        self.add(
            "functions that double what they are given",
            {
                let n = 20_000;
                let text: String = (0..n).map(|i| format!("def f{}(x)=f{i}(x)+f{i}(x)\n", i + 1)).collect();
                format!("def f0(x)=x\n{text}f{n}(x)")
            },
            Refused("after inlining, user-defined functions have more than 131072 nodes"),
        );
    }
}
