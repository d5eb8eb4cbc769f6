//! `broadloom ops`: the functions that an expression can call, as text or as the page docs/generated/ops.md.
//!
//! The whole list is derived from the op table, type inference or the parser, so that it can't become outdated.

use broadloom::listing::{gives, signature, takes};
use broadloom::{Literal, Op, ReductionFunction};
use broadloom_core::text as language;

use crate::args::OpsArgs;
use crate::failure::Failure;
use crate::stdout;

/// Prints the list.
pub fn print(args: &OpsArgs) -> Result<(), Failure> {
    let text = if args.markdown { markdown() } else { plain() };
    stdout::print(&text)
}

/// A row of the list, which describes a function.
struct ListedFunction {
    call: String,
    operator: Option<String>,
    takes: String,
    gives: &'static str,
    /// The cells of the columns that are only on the page.
    more: Vec<String>,
    doc: String,
}

/// A group of functions that take other arguments than operands.
struct ListedGroup {
    heading: &'static str,
    /// The text about the group on the page.
    words: &'static str,
    /// The names of the columns that only this group has.
    columns: &'static [&'static str],
    rows: Vec<ListedFunction>,
}

fn rows() -> Vec<ListedFunction> {
    let mut rows: Vec<ListedFunction> = Op::public()
        .map(|op| ListedFunction {
            call: format!("{op}({})", signature(op)),
            operator: operator(op),
            takes: takes(op),
            gives: gives(op),
            more: Vec::new(),
            doc: op.doc().to_owned(),
        })
        .collect();
    rows.extend(language::built_ins().filter(|function| function.name == language::ASTYPE).map(row));
    rows.sort_by(|a, b| a.call.cmp(&b.call));
    rows
}

/// The groups of functions that take other arguments than operands.
fn groups() -> [ListedGroup; 6] {
    let of = |is_one: fn(&language::BuiltIn) -> bool| {
        language::built_ins().filter(|function| is_one(function)).map(row).collect()
    };
    [
        ListedGroup {
            heading: "Of the elements along axes",
            words: "The elements along `axis`, one or several such as `(0, 1)`, are combined to one; of all axes unless it is \
                    given. `…` is a default that the operand decides. `of nothing` is the result for no elements, and \
                    `order` the elements of which any order gives the same bits. Sums and products of floats are added in one \
                    order, which no layout and no number of threads changes; those of float16 are added as float32 and rounded \
                    once.",
            columns: &["of nothing", "order"],
            rows: of(language::BuiltIn::is_reduction),
        },
        ListedGroup {
            heading: "Arrays of numbers",
            words: "They are computed where they are read, and take no memory. Their arguments are numbers in the text.",
            columns: &[],
            rows: of(|function| function.is_generator() && !function.is_random()),
        },
        ListedGroup {
            heading: "Random numbers",
            words: "Element i is a function of the key and of i, and takes no memory; two draws of one key have the same bits. Each \
                    row has the map from bits: w is a word of 32 bits, b has the bits of the dtype (32, or 64 for float64), n is \
                    their number, s is the top bit of b and r has the others, p = (r + ½)/2ⁿ and u = (b + ½)/2ⁿ, where r and \
                    b are rounded to the dtype, and then the sums. Arrays of keys draw for each key.",
            columns: &[],
            rows: of(language::BuiltIn::is_random),
        },
        ListedGroup {
            heading: "Elements at computed indices",
            words: "Indices are integers, which the expression may compute. A negative one counts from the end; any other one out \
                    of range is an error, which names the first.",
            columns: &[],
            rows: of(language::BuiltIn::is_take),
        },
        ListedGroup {
            heading: "Views",
            words: "They move no element. Axes, extents and indices are numbers in the text.",
            columns: &[],
            rows: of(is_view),
        },
        ListedGroup {
            heading: "Derivatives",
            words: "They are expressions of the same functions.",
            columns: &[],
            rows: of(language::BuiltIn::is_derivative),
        },
    ]
}

fn is_view(function: &language::BuiltIn) -> bool {
    !function.is_reduction()
        && !function.is_generator()
        && !function.is_take()
        && !function.is_derivative()
        && function.name != language::ASTYPE
}

/// The row of a function that takes other arguments than operands.
fn row(function: &'static language::BuiltIn) -> ListedFunction {
    ListedFunction {
        call: format!("{}({})", function.name, function.signature()),
        operator: None,
        takes: function.takes.to_owned(),
        gives: function.gives,
        more: function.reduction().map(of_elements).unwrap_or_default(),
        doc: match function.reduction().and_then(ReductionFunction::composition) {
            Some(composition) => format!("{} It is `{composition}`.", function.doc),
            None => function.doc.to_owned(),
        },
    }
}

/// Two cells: a reduction's result for no elements, and the types of elements whose order has no effect on the
/// bits of the result.
fn of_elements(function: ReductionFunction) -> Vec<String> {
    let of_nothing = match function.identity() {
        None => "error".to_owned(),
        Some(Literal::Float(x)) if x.is_nan() => "nan".to_owned(),
        Some(identity) => identity.to_string(),
    };
    vec![of_nothing, function.order().words().to_owned()]
}

/// The use of the operator that calls a function, if it has one: `x1 + x2`.
fn operator(op: Op) -> Option<String> {
    let symbol = language::symbol(op)?;
    Some(if op.operands() == 1 { format!("{symbol}x") } else { format!("x1 {symbol} x2") })
}

/// The list as columns of text, for a terminal.
fn plain() -> String {
    let mut text = columns(&rows());
    for group in groups() {
        text += &format!("\n{}", columns(&group.rows));
    }
    text
}

fn columns(rows: &[ListedFunction]) -> String {
    let operator = |row: &ListedFunction| row.operator.clone().unwrap_or_default();
    let width = |cell: &dyn Fn(&ListedFunction) -> String| {
        rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0)
    };
    let (call, operators, takes, gives) = (
        width(&|row| row.call.clone()),
        width(&operator),
        width(&|row| row.takes.clone()),
        width(&|row| row.gives.to_owned()),
    );
    // If no function of the list has an operator, the column of operators is omitted.
    let operators = if operators == 0 { 0 } else { operators + 2 };
    let mut text = String::new();
    for row in rows {
        text += &format!(
            "{:call$}  {:operators$}{:takes$} → {:gives$}  {}\n",
            row.call,
            operator(row),
            row.takes,
            row.gives,
            row.doc
        );
    }
    text
}

/// The Markdown text of docs/generated/ops.md.
fn markdown() -> String {
    let mut text = String::from(
        "# Functions\n\n\
         <!-- Made by `broadloom ops --markdown`. A test fails where this page is not what that prints. -->\n\n\
         ## Element by element\n\n\
         Operands broadcast, and promote to one dtype before the function \
         sees them; a function gives the dtype that they promote to, or bool. `integer` stands for the eight signed \
         and unsigned dtypes, `float` for float16, float32 and float64. ≈: a float result may not be the nearest to \
         the exact one, but is off by less than a unit in the last place ([accuracy](../accuracy.md)).\n\n\
         | function | operator | takes | gives | |\n| --- | --- | --- | --- | --- |\n",
    );
    for row in rows() {
        let operator = row.operator.map(|text| format!("`{}`", text.replace('|', "\\|")));
        text += &format!(
            "| `{}` | {} | {} | {} | {} |\n",
            row.call,
            operator.unwrap_or_default(),
            row.takes,
            row.gives,
            row.doc.replace('|', "\\|")
        );
    }
    for ListedGroup { heading, words, columns, rows } in groups() {
        let more: String = columns.iter().map(|name| format!(" {name} |")).collect();
        let rule = " --- |".repeat(columns.len());
        text += &format!(
            "\n## {heading}\n\n{words}\n\n| function | takes | gives |{more} |\n| --- | --- | --- |{rule} --- |\n"
        );
        for row in rows {
            let more: String = row.more.iter().map(|cell| format!(" {cell} |")).collect();
            text += &format!("| `{}` | {} | {} |{more} {} |\n", row.call, row.takes, row.gives, row.doc);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_parse_to_their_functions() {
        let listed: Vec<_> = Op::public().filter_map(|op| Some((op, operator(op)?))).collect();
        assert_eq!(listed.len(), 21);
        for (function, text) in listed {
            let ast = language::parse(&text, &language::ParseOptions::default()).expect("an expression");
            let root = ast.expression().expect("an expression").root();
            assert!(
                matches!(ast[root].kind, language::AstKind::Operator { op, .. } if op == function),
                "{text}"
            );
        }
    }

    #[test]
    fn rows_say_what_is_taken_and_given() {
        let cells = |call: &str| {
            let row = rows().into_iter().find(|row| row.call == call).expect("a function");
            (row.operator.unwrap_or_default(), row.takes, row.gives)
        };
        assert_eq!(cells("less(x1, x2)"), ("x1 < x2".into(), "integer, float".into(), "bool"));
        assert_eq!(cells("divide(x1, x2)"), ("x1 / x2".into(), "integer, float".into(), "float"));
        assert_eq!(cells("logical_not(x)"), ("".into(), "bool".into(), "the same"));
        assert_eq!(cells("pow(x1, x2)"), ("x1 ** x2".into(), "integer, float".into(), "the same ≈"));
    }
}
