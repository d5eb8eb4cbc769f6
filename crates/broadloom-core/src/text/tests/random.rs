//! Random texts: what holds for any text, and numbers in two notations.

use super::*;

/// A small generator of pseudo-random numbers (xorshift64*), so that every run is the same.
struct RandomText(u64);

impl RandomText {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}

/// Checks properties that hold for any text: no panic, spans inside the text on character boundaries, a well-formed
/// tree.
fn check(text: &str) {
    let inside = |span: &Span| text.get(span.start as usize..span.end as usize).is_some();
    match parsed(text) {
        Err(error) => assert!(inside(&error.span) && !error.message.is_empty(), "{text:?}: {error}"),
        Ok(ast) => {
            let mut uses = vec![0; ast.nodes().len()];
            for node in ast.nodes() {
                assert!(inside(&node.span) && !node.span.is_empty(), "{text:?}");
                for arg in ast.args(node) {
                    let part = &ast[*arg].span;
                    assert!(node.span.start <= part.start && part.end <= node.span.end, "{text:?}");
                    uses[arg.index()] += 1;
                }
            }
            for of in ast.loops() {
                assert!(inside(&of.at) && inside(&(of.at.start..of.end)), "{text:?}");
            }
            for body in bodies(&ast) {
                uses[body.root().index()] += 1;
            }
            assert!(uses.iter().all(|&n| n == 1), "{text:?}");
        }
    }
}

/// All expressions of a text.
fn bodies(ast: &Ast) -> Vec<&Body> {
    let mut statements: Vec<&Statement> = ast.statements().iter().collect();
    let mut found = Vec::new();
    for of in ast.loops() {
        found.extend(of.carried.iter().map(|carried| &carried.first));
        statements.extend(&of.body);
        match &of.head {
            LoopHead::While { bindings, condition, .. } => {
                statements.extend(bindings);
                found.push(condition);
            }
            LoopHead::For { lower, upper, .. } => found.extend([lower, upper]),
            LoopHead::Scan { inputs, .. } => found.extend(inputs.iter().map(|input| &input.first)),
        }
    }
    found.extend(statements.into_iter().filter_map(|statement| match statement {
        Statement::Binding { value, .. }
        | Statement::Output { value, .. }
        | Statement::Def { body: value, .. } => Some(value),
        Statement::Setting { .. } | Statement::Input { .. } | Statement::Loop(_) => None,
    }));
    found
}

#[test]
fn random_texts_never_panic() {
    let words = [
        "x",
        "f(",
        "(",
        ")",
        ")",
        ",",
        "+",
        "-",
        "*",
        "**",
        "/",
        "//",
        "%",
        "<<",
        ">>",
        "<",
        "<=",
        "==",
        "!=",
        "&",
        "^",
        "|",
        "~",
        "1",
        "0x1.8p-3",
        "1e",
        "2.5",
        "nan",
        "true",
        "float32",
        "and",
        "not",
        "=",
        " ",
        "é",
        ".",
        "_",
        "0b",
        "e",
        "'",
        "\n",
        "999999999999999999999",
        "[",
        "]",
        ":",
        "...",
        ";",
        "x = ",
        "x: ",
        "def f(",
        "return ",
        "nan(",
        "axis=",
        "f(x, ",
        "(0,",
        "#",
    ];
    let mut random = RandomText(0x9e37_79b9_7f4a_7c15);
    let mut good = 0;
    for _ in 0..50_000 {
        let length = random.below(12);
        let text: String = (0..length).map(|_| words[random.below(words.len())]).collect();
        check(&text);
        good += parsed(&text).is_ok() as usize;
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        check(&String::from_utf8_lossy(&bytes));
        let bytes: Vec<u8> = (0..length).map(|_| random.below(128) as u8).collect();
        check(&String::from_utf8_lossy(&bytes));
    }
    assert!(good > 500, "the loop tests little: {good}");
}

/// Loops from which parts are removed, or in which they are exchanged: some are programs, and none makes the parser panic.
#[test]
fn random_loops_never_panic() {
    let scan = [
        "x",
        ",",
        " n",
        " = ",
        "scan ",
        "(",
        "x = y",
        "; ",
        "t in k",
        ", ",
        "u in k + 1",
        ", ",
        "axis=",
        "-1",
        ", ",
        "reverse=true",
        ") ",
        "{ ",
        "n = x",
        "; ",
        "x = x + t * u",
        " }",
        "; ",
        "return x",
    ];
    let whole = [
        "x",
        ",",
        " n",
        " = ",
        "while ",
        "(",
        "x = y",
        ", ",
        "n = 1",
        "; ",
        "t = x + n; ",
        "t < 4",
        ") ",
        "limit 3 ",
        "{ ",
        "x = x + t",
        "; ",
        "n = for (n = n; i in ",
        "0",
        "..",
        "k",
        ") { ",
        "n = n + i",
        " }",
        "\n",
        "x = (x)",
        " }",
        "; ",
        "return x",
    ];
    for whole in [&whole[..], &scan] {
        let programs = programs_of_parts(whole);
        assert!((1000..50_000).contains(&programs), "the loop tests little: {programs}");
    }
}

/// Checks texts of these parts, of which some are removed, exchanged or repeated. Returns how many are programs.
fn programs_of_parts(whole: &[&str]) -> usize {
    let mut random = RandomText(11);
    let mut programs = 0;
    for _ in 0..100_000 {
        let mut parts = whole.to_vec();
        for _ in 0..1 + random.below(3) {
            let (i, j) = (random.below(parts.len()), random.below(parts.len()));
            match random.below(3) {
                0 => drop(parts.remove(i)),
                1 => parts.swap(i, j),
                _ => parts.insert(i, parts[j]),
            }
        }
        let text = parts.concat();
        check(&text);
        programs += usize::from(parsed(&text).is_ok());
    }
    programs
}

#[test]
fn hex_floats_agree_with_decimal_ones() {
    let mut random = RandomText(7);
    for _ in 0..20_000 {
        let bits = (random.below(1 << 31) as u64) << 32 | random.below(1 << 31) as u64;
        let value = f64::from_bits(bits & !(1 << 63));
        if !value.is_finite() {
            continue;
        }
        let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
        let (lead, power) = if exponent == 0 { (0, -1022) } else { (1, exponent as i64 - 1023) };
        let hex = format!("0x{lead}.{fraction:013x}p{power}");
        for text in [hex, format!("{value:e}"), format!("{value:?}")] {
            let ast = parsed(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(ast.nodes()[0].kind, AstKind::Float(value), "{text}");
        }
    }
}
