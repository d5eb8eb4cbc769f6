//! Tables with empty cells everywhere, against a loop over the cells; mistakes; and the command.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use broadloom_formula::{Column, ColumnValues, Formula, FormulaError, Table, TableError};

const ORDERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/orders.csv");

/// The sample: orders of a shop, some of them incomplete, by a rule.
fn orders() -> String {
    let mut state = 2026u64;
    let mut next = move |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    let mut out = "order,product,quantity,unit price,discount,paid\n".to_owned();
    for order in 1..=300 {
        let product = ["loom", "shuttle", "yarn, red", "yarn, blue", "reed"][next(5) as usize];
        let product = if product.contains(',') { format!("\"{product}\"") } else { product.to_owned() };
        let quantity = if next(10) == 0 { String::new() } else { (1 + next(40)).to_string() };
        let price = if next(12) == 0 { String::new() } else { format!("{}.{:02}", next(200), next(100)) };
        let discount = if next(3) == 0 { format!("0.{:02}", next(40)) } else { String::new() };
        let discount = if next(2) == 0 && discount.is_empty() { "0".to_owned() } else { discount };
        let paid = ["true", "false", ""][next(3) as usize];
        out += &format!("{order},{product},{quantity},{price},{discount},{paid}\n");
    }
    out
}

/// `BLESS=1 cargo test -p broadloom-formula` writes the sample.
#[test]
fn the_sample_is_what_its_rule_gives() {
    if std::env::var_os("BLESS").is_some() {
        fs::write(ORDERS, orders()).expect("written");
    }
    assert_eq!(fs::read_to_string(ORDERS).expect("the sample"), orders());
}

fn table(text: &str) -> Table {
    Table::read(text.as_bytes()).expect(text)
}

fn cells(column: &Column) -> Vec<String> {
    (0..column.valid.len()).map(|row| column.cell(row)).collect()
}

fn result(formula: &str, text: &str) -> Vec<String> {
    let table = table(text);
    cells(&Formula::new(formula, &table).expect(formula).run(&table).expect(formula))
}

#[test]
fn a_total_is_what_a_loop_over_the_cells_gives() {
    let table = table(&orders());
    let formula = Formula::new("quantity * unit_price * (1 - discount)", &table).expect("a formula");
    assert_eq!(formula.loops().expect("a plan"), 1, "values and mask in one loop");
    let total = formula.run(&table).expect("a column");
    let (rows, mut empty) = (csv_rows(&orders()), 0);
    for (row, (cell, fields)) in cells(&total).into_iter().zip(rows).enumerate() {
        let number = |i: usize| fields[i].parse::<f64>().ok();
        let expected = number(2).and_then(|q| Some(q * number(3)? * (1.0 - number(4)?)));
        empty += usize::from(expected.is_none());
        assert_eq!(cell, expected.map_or(String::new(), |x| format!("{x:?}")), "row {row}");
    }
    assert!((60..240).contains(&empty), "{empty} of 300");
}

/// The fields of each row; of the sample only the second is quoted.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let fields = |line: &str| {
        let line = match line.split('"').collect::<Vec<_>>()[..] {
            [before, quoted, after] => format!("{before}{}{after}", quoted.replace(',', ";")),
            _ => line.to_owned(),
        };
        line.split(',').map(str::to_owned).collect()
    };
    text.lines().skip(1).map(fields).collect()
}

#[test]
fn a_result_is_empty_where_a_column_that_is_used_is() {
    // Every combination of empty cells in three columns; the fourth is not used, and empty throughout.
    let mut text = "a,b,c,d\n".to_owned();
    for row in 0..8 {
        let cell = |bit: usize| if row >> bit & 1 == 1 { (row + bit).to_string() } else { String::new() };
        text += &format!("{},{},{},\n", cell(0), cell(1), cell(2));
    }
    for (formula, used) in [
        ("a", 0b001),
        ("a + b", 0b011),
        ("c - a", 0b101),
        ("b * b", 0b010),
        ("where(a > b, a, c)", 0b111),
        ("a + d", 0b1001),
    ] {
        for (row, cell) in result(formula, &text).iter().enumerate() {
            assert_eq!(!cell.is_empty(), row & used == used, "{formula}, row {row}: {cell:?}");
        }
    }
    assert_eq!(result("a + b + c", &text)[7], "24");
    // Columns may have any names.
    assert_eq!(result("a + valid_a + column_a", "a,valid_a,column_a\n1,2,3\n,5,6\n7,,8\n"), ["6", "", ""]);
}

#[test]
fn types_are_the_narrowest_that_take_all_cells() {
    let table = table("i,f,b,t,e,mixed\n1,1,true,x,,1\n,2.5,FALSE,1,,true\n-9223372036854775808,nan,,,,\n");
    let of = |name: &str| &table.column(name).expect(name).values;
    assert_eq!(of("i"), &ColumnValues::Int(vec![1, 0, i64::MIN]));
    assert!(matches!(of("f"), ColumnValues::Float(x) if x[1] == 2.5 && x[2].is_nan()));
    assert_eq!(of("b"), &ColumnValues::Bool(vec![true, false, false]));
    assert_eq!((of("t"), of("mixed")), (&ColumnValues::Text, &ColumnValues::Text));
    assert_eq!(of("e"), &ColumnValues::Float(vec![0.0; 3]));
    assert_eq!(table.column("i").expect("i").valid, [true, false, true]);
}

#[test]
fn results_of_every_type_are_written_as_they_are_read() {
    let text = "i,x,b\n7,0.1,true\n-3,1e300,false\n,inf,\n0,nan,true\n";
    for (formula, expected) in [
        ("i // 2", ["3", "-2", "", "0"]),
        ("i / 2", ["3.5", "-1.5", "", "0.0"]),
        ("x * 1", ["0.1", "1e300", "inf", "NaN"]),
        ("astype(i, int8)", ["7", "-3", "", "0"]),
        ("astype(abs(i), uint64)", ["7.0", "3.0", "", "0.0"]),
        ("i > 0", ["true", "false", "", "false"]),
        ("b & (x < 1)", ["true", "false", "", "false"]),
        ("~b", ["false", "true", "", "false"]),
        ("isnan(x)", ["false", "false", "false", "true"]),
        // Where a cell is empty, nothing goes wrong: the divisor may be anything.
        ("1 // i", ["0", "-1", "", "0"]),
    ] {
        assert_eq!(result(formula, text), expected, "{formula}");
    }
}

#[test]
fn tables_without_rows_and_of_one() {
    assert_eq!(result("a * 2", "a,b\n"), [""; 0]);
    assert_eq!(result("a * 2", "a,b\n3,\n"), ["6"]);
    assert_eq!(result("a * 2", "a,b\n,\n"), [""]);
    let mut out = Vec::new();
    let none = table("a,b\n");
    let column = Formula::new("a + b", &none).and_then(|f| f.run(&none)).expect("a column");
    none.write_with("sum", &column, &mut out).expect("written");
    assert_eq!(out, b"a,b,sum\n");
}

#[test]
fn the_tables_own_cells_stay_as_they_are() {
    let text = "name,\"a \"\"b\"\"\",n\n\"x, y\",01.50,\n,2,3\n";
    let table = table(text);
    let column = Formula::new("a__b_ * n", &table).and_then(|f| f.run(&table)).expect("a column");
    let mut out = Vec::new();
    table.write_with("product", &column, &mut out).expect("written");
    let expected = "name,\"a \"\"b\"\"\",n,product\n\"x, y\",01.50,,\n,2,3,6.0\n";
    assert_eq!(String::from_utf8(out).expect("text"), expected);
}

#[test]
fn a_formula_runs_on_other_tables_with_its_columns() {
    let formula = Formula::new("a - b", &table("a,b\n1,2\n3,4\n")).expect("a formula");
    let other = table("b,z,a\n10,x,1\n,y,2\n7,,7\n");
    assert_eq!(cells(&formula.run(&other).expect("a column")), ["-9", "", "0"]);
    for text in ["a\n1\n1\n", "a,b\n1,x\n1,x\n", "a,b\n1,1.5\n1,1.5\n"] {
        assert!(matches!(formula.run(&table(text)), Err(FormulaError::Run(_))), "{text}");
    }
}

#[test]
fn mistakes_have_a_place() {
    let table = table("price,city,n\n1.5,x,2\n");
    for (formula, place, message) in [
        ("prize * 2", "prize", "`prize` is not known"),
        (
            "price * city",
            "city",
            "the column `city` is text: its cell in row 1 (line 2) is `x`, not a number",
        ),
        ("price &  n", "&", "does not take float64"),
        ("price * (1 - ", "", ""),
        ("price price", "price", ""),
        ("1 + 2", "1 + 2", "the formula names no column"),
    ] {
        let Err(FormulaError::Text(mistake)) = Formula::new(formula, &table) else { panic!("{formula}") };
        assert_eq!(formula.get(mistake.span.clone()), Some(place), "{mistake:?}");
        assert!(mistake.message.contains(message), "{mistake:?}");
    }
    assert!(matches!(
        Table::read("a b,a_b\n1,2\n".as_bytes()),
        Err(TableError::Twins { first: 1, second: 2, .. })
    ));
    let ragged = Table::read("a,b\n1,2\n3\n".as_bytes()).expect_err("a short row");
    assert_eq!(ragged.to_string(), "row 2 (line 3) is not as long as the header: 1 against 2 cells");
}

/// An error in a cell names the column, the row and the line. Row and line differ if cells contain line
/// breaks.
#[test]
fn a_cell_that_makes_a_column_text_is_named() {
    let long = "9".repeat(50) + "x";
    for (text, place, cell, expected) in [
        ("n\n1\n\n-\n3\n", "row 2 (line 4)", "-", "a number"),
        ("t,n\n\"a\nb\",1\n\"c\",n/a\nd,x\n", "row 2 (line 4)", "n/a", "a number"),
        ("n\ntrue\n1\n", "row 2 (line 3)", "1", "true or false"),
        ("n\n1.5\ntrue\n", "row 2 (line 3)", "true", "a number"),
        ("n\n\"1\n2\"\n", "row 1 (line 2)", "1\\n2", "a number"),
        (&*format!("n\n{long}\n"), "row 1 (line 2)", &*format!("{}…", "9".repeat(40)), "a number"),
    ] {
        let Err(FormulaError::Text(mistake)) = Formula::new("n * 2", &table(text)) else { panic!("{text}") };
        let message = format!("the column `n` is text: its cell in {place} is `{cell}`, not {expected}");
        assert_eq!(mistake.message, message, "{text}");
    }
    assert_eq!(table("n\n1\n").odd_cell("n"), None);
}

#[test]
fn columns_of_one_name_are_refused_when_they_are_read_and_when_one_is_added() {
    for (header, message) in [
        ("a,b,a", "columns 1 (`a`) and 3 (`a`) are both `a` in formulas; rename one of them"),
        (
            "unit price,unit_price",
            "columns 1 (`unit price`) and 2 (`unit_price`) are both `unit_price` in formulas",
        ),
    ] {
        let error = Table::read(format!("{header}\n").as_bytes()).expect_err(header);
        assert!(error.to_string().contains(message), "{error}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("data.csv"), "unit price,result\n2,4\n").expect("written");
    for (title, message) in [
        (
            &["--as", "unit_price"][..],
            "has a column `unit price` already (column 1, `unit_price` in formulas)",
        ),
        (&["--as", "unit price"], "has a column `unit price` already"),
        (
            &[],
            "has a column `result` already (column 2, `result` in formulas); give the new one another name: --as NAME",
        ),
    ] {
        let args = [&["data.csv", "result * 2", "-o", "out.csv"], title].concat();
        let out = command(&args, folder.path());
        let words = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{words}");
        assert!(words.contains(message) && !folder.path().join("out.csv").exists(), "{words}");
    }
    let done = command(&["data.csv", "result * 2", "--as", "twice"], folder.path());
    assert_eq!(String::from_utf8_lossy(&done.stdout), "unit price,result,twice\n2,4,8\n");
}

fn command(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_formula")).args(args).current_dir(folder).output().expect("it runs")
}

#[test]
fn the_command_appends_a_column_or_points_at_the_mistake() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("data.csv"), "price,quantity\n2.5,4\n,1\n").expect("written");
    let done = command(&["data.csv", "price * quantity", "--as", "total", "-o", "out.csv"], folder.path());
    assert!(done.status.success() && done.stdout.is_empty(), "{done:?}");
    let out = fs::read_to_string(folder.path().join("out.csv")).expect("the output");
    assert_eq!(out, "price,quantity,total\n2.5,4,10.0\n,1,\n");

    let wrong = command(&["data.csv", "price * quantty", "-o", "no.csv"], folder.path());
    let words = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(2), "{words}");
    for part in ["`quantty` is not known", "price * quantty", "───┬───", "did you mean `quantity`?"]
    {
        assert!(words.contains(part), "{words}");
    }
    assert!(!folder.path().join("no.csv").exists());
    assert_eq!(command(&["absent.csv", "x"], folder.path()).status.code(), Some(1));
}

/// The page's commands, as they stand there, in a folder that has the examples.
#[cfg(unix)]
#[test]
fn the_commands_of_the_readme_work() {
    let lines = include_str!("../README.md").lines();
    let commands: Vec<&str> =
        lines.filter_map(|line| line.strip_prefix("cargo run --release -p broadloom-formula -- ")).collect();
    assert!(!commands.is_empty());
    for command in commands {
        let folder = tempfile::tempdir().expect("a folder");
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the examples");
        std::os::unix::fs::symlink(examples, folder.path().join("examples")).expect("a link");
        let script = format!("'{}' {command}", env!("CARGO_BIN_EXE_formula"));
        let done = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output();
        let done = done.expect("it runs");
        assert!(done.status.success() && folder.path().join("out.csv").is_file(), "{command}: {done:?}");
    }
}
