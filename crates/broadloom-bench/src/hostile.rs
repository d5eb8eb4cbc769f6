//! Texts made to cost as much as possible: about a million characters, or as many nodes as the limits allow.
//!
//! Each is within the number of bytes accepted by default, so that a limit other than length has to stop it.

/// What must become of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It means something.
    Value,
    /// It is refused, with a message that begins so.
    Refused(&'static str),
}

/// A text, and what must become of it.
#[derive(Clone, Debug)]
pub struct Hostile {
    /// What is repeated.
    pub name: String,
    /// The text; its free names are bound to a small array.
    pub text: String,
    /// What must become of it.
    pub answer: Answer,
}

/// About as many characters as a text has.
const LENGTH: usize = 1_000_000;

/// The texts.
pub fn texts() -> Vec<Hostile> {
    use Answer::{Refused, Value};
    const NODES: Answer = Refused("the expression has more than 131072 nodes");
    const DEPTH: Answer = Refused("the expression nests more than 131072 deep");
    let mut all = Vec::new();
    let mut add = |name: &str, text: String, answer| {
        assert!(text.len() <= 1 << 20, "{name}");
        all.push(Hostile { name: name.to_owned(), text, answer });
    };
    let fill = |piece: &str| piece.repeat(LENGTH / piece.len());
    let around = |open: &str, n: usize, inner: &str, close: &str| open.repeat(n) + inner + &close.repeat(n);
    let numbered = |piece: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        let mut i = 0;
        while text.len() < LENGTH - 1000 {
            text += &piece(i);
            i += 1;
        }
        (text, i)
    };
    // Nesting, within the limit and beyond.
    add("parentheses", around("(", 130_000, "x", ")"), Value);
    add("parentheses, never closed", fill("("), DEPTH);
    add("parentheses, never opened", fill(")"), Refused("found `)`, expected an expression"));
    add("parentheses, closed once more", around("(", 130_000, "x", ")") + ")", Refused("found `)`, but no"));
    add("brackets", fill("["), Refused("found `[`, expected an expression"));
    add("brackets in a list", format!("reshape(x, {}", fill("[")), Refused("found `[`, expected an integer"));
    add("calls", around("abs(", 130_000, "x", ")"), Value);
    add("calls, never closed", fill("abs("), DEPTH);
    add("calls of nothing", fill("f()+"), Refused("the expression has more than"));
    add("constants", fill("float32("), Refused("found the name `float32`, expected a number"));
    add("indices of indices", "x".to_owned() + &"[:]".repeat(130_000), Value);
    add("indices of an axis", format!("x[{}]", fill(":,")), Refused("an array has at most 64 axes"));
    add(
        "integers in a list",
        format!("reshape(x, [{}])", fill("1,")),
        Refused("a list has at most 64 integers"),
    );
    add("extents", format!("y: int8[{}]; y", fill("1,")), Refused("an array has at most 64 axes"));
    // Operators.
    for operator in ["+", "-", "*", "/", "//", "%", "|", "^", "&", "<<", ">>", "**"] {
        let operand = if "/".contains(operator) { "x" } else { "i" };
        let pair = format!("{operand}{operator}");
        add(&format!("`{operator}` too often"), fill(&pair) + operand, NODES);
        add(&format!("`{operator}`"), pair.repeat(65_000) + operand, Value);
    }
    for operator in ["==", "<", ">="] {
        let text = fill(&format!("i{operator}")) + "i";
        add(&format!("`{operator}`"), text, Refused("comparisons do not chain"));
    }
    for sign in ["-", "+", "~"] {
        add(&format!("sign `{sign}` too often"), fill(sign) + "i", DEPTH);
        add(&format!("sign `{sign}`"), sign.repeat(130_000) + "i", Value);
    }
    // Literals and words.
    add("an integer", fill("9"), Refused("the integer `9999"));
    add("a hexadecimal integer", "0x".to_owned() + &fill("f"), Refused("the integer `0xffff"));
    add("digits behind the point", "0.".to_owned() + &fill("3"), Value);
    add("digits before the point", fill("3") + ".0", Refused("`3333"));
    add("an exponent", "1e-".to_owned() + &fill("9"), Value);
    add("a hexadecimal float", "0x1.".to_owned() + &fill("f") + "p-3", Value);
    add("underscores", "1".to_owned() + &fill("_"), Refused("found a misplaced `_`"));
    add("a name", fill("n"), Value);
    add("a name, called", fill("n") + "(x)", Refused("there is no function `nnnn"));
    add(
        "a name, defined and called",
        format!("def {0}(x) = x; {0}(x, x)", "n".repeat(LENGTH / 2)),
        Refused("`nnnn"),
    );
    add("a name, declared", format!("{0}: float64[n]; return {0}", "n".repeat(LENGTH / 2)), Value);
    add("a character that is none", fill("é"), Refused("found the character `é`"));
    add("quotes", fill("\""), Refused("found the character `\\\""));
    add("a comment without an end", "#".to_owned() + &fill("x"), Refused("found the end of the text"));
    add("white space", fill(" \t"), Refused("found the end of the text"));
    add("values that are not admitted", format!("y: int8[9] = [{}]; y", fill("1,")), Refused("found `[`"));
    // Statements.
    add("ends of lines", fill("\n"), Refused("found the end of the text"));
    add("semicolons", fill(";"), Refused("found the end of the text"));
    add("return", fill("return "), Refused("found `return`, expected an expression"));
    add("def", fill("def "), Refused("found `def`, expected the name"));
    add("colons", fill("y:"), Refused("`y` is not a dtype"));
    add("bindings", numbered(&|i| format!("a{i}=1\n")).0 + "a7", Value);
    add(
        "bindings that double",
        {
            let n = 40_000;
            let text: String = (0..n).map(|i| format!("a{}=a{i}+a{i}\n", i + 1)).collect();
            format!("a0=i\n{text}a{n}")
        },
        Value,
    );
    add("inputs", numbered(&|i| format!("a{i}:int8[n]\n")).0 + "a7", Value);
    add(
        "results",
        {
            let (text, _) = numbered(&|i| format!("r{i}=i,"));
            format!("return {text}r=i")
        },
        Value,
    );
    add("names", (0..65_000).map(|i| format!("name_of_{i}+")).collect::<String>() + "x", Value);
    add(
        "names, and one that is not there",
        numbered(&|i| format!("name_of_something_{i}=1;")).0 + "nme_of_smething(x)",
        Refused("there is no function"),
    );
    add(
        "results of one name",
        format!("return {}y=i", "y=i,".repeat(100_000)),
        Refused("two results have the name"),
    );
    add("arguments", format!("add({}x)", "x,".repeat(100_000)), Refused("`add(x1, x2)` takes 2 arguments"));
    // Functions.
    add(
        "parameters",
        {
            let (text, _) = numbered(&|i| format!("a{i},"));
            format!("def f({text}) = a1; f(x)")
        },
        Refused("`f("),
    );
    add(
        "parameters and arguments",
        {
            let names: Vec<String> = (0..100_000).map(|i| format!("a{i}")).collect();
            format!("def f({}) = a1; f({})", names.join(","), "x,".repeat(100_000))
        },
        Value,
    );
    add("functions", numbered(&|i| format!("def f{i}(x)=x\n")).0 + "f9(x)", Value);
    add(
        "functions of functions",
        {
            let n = 16_000;
            let text: String = (0..n).map(|i| format!("def f{}(x)=f{i}(x)+1\n", i + 1)).collect();
            format!("def f0(x)=x\n{text}f{n}(x)")
        },
        Value,
    );
    add(
        "functions that double",
        {
            let (text, n) = numbered(&|i| format!("def f{}(x)=f{i}(f{i}(x))\n", i + 1));
            format!("def f0(x)=x+1\n{text}f{n}(x)")
        },
        Refused("after inlining, user-defined functions have more than 131072 nodes"),
    );
    add(
        "functions that double what they are given",
        {
            let n = 20_000;
            let text: String = (0..n).map(|i| format!("def f{}(x)=f{i}(x)+f{i}(x)\n", i + 1)).collect();
            format!("def f0(x)=x\n{text}f{n}(x)")
        },
        Refused("after inlining, user-defined functions have more than 131072 nodes"),
    );
    all
}
