//! Writes `docs/generated/accuracy.md` from the results.
//!
//! Every figure on the page comes from a row of the results. Errors are rounded up, so that none is understated.

use std::fmt::Write;

use crate::results::{AccuracyRow, CANCELLING};
use broadloom_core::Accuracy;

const HEAD: &str = include_str!("report.md");

/// The text of the page.
pub fn page(rows: &[AccuracyRow]) -> String {
    let mut page = HEAD.to_string();
    let sections = [
        ("float16", "float16", Accuracy::Fast),
        ("float32", "float32", Accuracy::Fast),
        ("float32 with `accuracy = nearest`", "float32", Accuracy::Nearest),
        ("float64", "float64", Accuracy::Fast),
    ];
    for (title, dtype, accuracy) in sections {
        let is_here = |row: &&AccuracyRow| row.dtype == dtype && row.accuracy == accuracy.name();
        let of_dtype: Vec<&AccuracyRow> = rows.iter().filter(is_here).collect();
        if of_dtype.is_empty() {
            continue;
        }
        let _ = writeln!(page, "\n## {title}\n");
        page.push_str("| function | points | largest error, ulps | at | result there | not the nearest | order | exact cases |\n");
        page.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
        of_dtype.iter().for_each(|row| page.push_str(&line(row)));
        page.push_str(&kinds(&of_dtype));
    }
    page
}

/// A table of maximum errors with a row for each kind of pairs and a column for each function of two
/// operands. Empty if there are no kinds.
fn kinds(rows: &[&AccuracyRow]) -> String {
    let rows: Vec<&&AccuracyRow> = rows.iter().filter(|row| !row.kinds.is_empty()).collect();
    let mut names: Vec<&str> = Vec::new();
    for kind in rows.iter().flat_map(|row| &row.kinds) {
        if !names.contains(&kind.name.as_str()) {
            names.push(&kind.name);
        }
    }
    // The kinds that are not drawn at random come last, as in each row.
    let last =
        |name: &&str| rows.iter().any(|row| row.kinds.iter().rev().take(2).any(|kind| kind.name == *name));
    names.sort_by_key(last);
    if rows.is_empty() {
        return String::new();
    }
    let mut table =
        String::from("\nPairs by kind: the largest error, and how many pairs it rests on.\n\n| pairs |");
    rows.iter().for_each(|row| table.extend([" ", &row.function, " |"]));
    table.extend(["\n| --- |", &" --- |".repeat(rows.len()), "\n"]);
    for name in names {
        table.extend(["| ", name, " |"]);
        for row in &rows {
            match row.kinds.iter().find(|kind| kind.name == name) {
                Some(kind) => table.extend([" ", &ulps(kind.ulps), " of ", &count(kind.points), " |"]),
                None => table.push_str(" – |"),
            }
        }
        table.push('\n');
    }
    table
}

fn line(row: &AccuracyRow) -> String {
    let name =
        if row.part == CANCELLING { format!("{}, cancelling", row.function) } else { row.function.clone() };
    let order = match row.breaks {
        None => "–".to_string(),
        Some(0) => "kept".to_string(),
        Some(n) => format!("broken {n} times"),
    };
    let exact = if row.missed == 0 {
        format!("{}", row.exact)
    } else {
        format!("{} of {} missed", row.missed, row.exact)
    };
    let wrong = if row.wrong == 0 { String::new() } else { format!("; {} of the wrong kind", row.wrong) };
    format!(
        "| {name} | {} ({}) | {} | {} | {} | {}{wrong} | {order} | {exact} |\n",
        count(row.points),
        row.coverage,
        ulps(row.ulps),
        if row.ulps == 0.0 {
            "–".to_string()
        } else {
            format!("`{}` ({})", row.at.join(", "), row.decimal.join(", "))
        },
        if row.ulps == 0.0 { "–".to_string() } else { format!("`{}`", row.got) },
        share(row.not_nearest, row.points),
    )
}

/// An error with four decimals, rounded up.
fn ulps(ulps: f64) -> String {
    if ulps < 1000.0 { format!("{:.4}", (ulps * 1e4).ceil() / 1e4) } else { format!("{ulps:.1e}") }
}

/// A fraction in percent; not shown as 0 unless it is 0.
fn share(part: u64, whole: u64) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    match part {
        0 => "none".to_string(),
        _ if percent < 0.001 => "< 0.001 %".to_string(),
        _ => format!("{percent:.3} %"),
    }
}

/// A number with its digits in groups of three.
fn count(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{self, KindRow};

    fn row() -> AccuracyRow {
        AccuracyRow {
            function: "exp".into(),
            dtype: "float32".into(),
            part: String::new(),
            coverage: "all".into(),
            points: 1 << 32,
            ulps: 0.500_01,
            at: vec!["0x1p+0".into()],
            decimal: vec!["1".into()],
            got: "0x1.5bf0a8p+1".into(),
            not_nearest: 7,
            wrong: 0,
            breaks: Some(0),
            exact: 1,
            missed: 0,
            executor: "interpreter".into(),
            accuracy: "fast".into(),
            kinds: Vec::new(),
        }
    }

    #[test]
    fn figures_are_rounded_up() {
        let line = line(&row());
        let expected = "| exp | 4 294 967 296 (all) | 0.5001 | `0x1p+0` (1) | `0x1.5bf0a8p+1` | < 0.001 % | kept | 1 |\n";
        assert_eq!(line, expected);
    }

    #[test]
    fn rows_come_back_from_disk_and_new_ones_replace_old_ones() {
        let other = AccuracyRow { function: "acos".into(), ..row() };
        let rows = results::merge(vec![row()], vec![other.clone()]);
        assert_eq!(rows, [other.clone(), row()]);
        assert_eq!(results::parse(&results::print(&rows)).expect("rows"), rows);
        let better = AccuracyRow { ulps: 0.5, ..row() };
        assert_eq!(results::merge(rows, vec![better.clone()]), [other, better]);
    }

    fn kind(name: &str, ulps: f64) -> KindRow {
        KindRow { name: name.into(), points: 1234, ulps, at: vec!["0x1p+0".into(), "0x1p+1".into()] }
    }

    #[test]
    fn kinds_of_pairs_have_a_table() {
        let hypot = AccuracyRow {
            function: "hypot".into(),
            kinds: vec![
                kind("any bits", 0.5),
                kind("small", 0.25),
                kind("listed", 0.75),
                kind("around", 0.8),
            ],
            ..row()
        };
        let pow = AccuracyRow {
            function: "pow".into(),
            kinds: vec![kind("any bits", 0.5), kind("large", 0.7), kind("listed", 0.6), kind("around", 0.8)],
            ..row()
        };
        let printed = results::print(std::slice::from_ref(&hypot));
        assert_eq!(results::parse(&printed).expect("rows"), std::slice::from_ref(&hypot));
        let table = kinds(&[&hypot, &row(), &pow]);
        let expected = "\n| pairs | hypot | pow |\n| --- | --- | --- |\n\
            | any bits | 0.5000 of 1 234 | 0.5000 of 1 234 |\n\
            | small | 0.2500 of 1 234 | – |\n\
            | large | – | 0.7000 of 1 234 |\n\
            | listed | 0.7500 of 1 234 | 0.6000 of 1 234 |\n\
            | around | 0.8000 of 1 234 | 0.8000 of 1 234 |\n";
        assert!(table.ends_with(expected), "{table}");
        assert_eq!(kinds(&[&row()]), "");
    }

    #[test]
    fn an_error_above_the_stated_maximum_is_told() {
        let stated = [row()];
        assert_eq!(row().exceeds(&stated), None);
        let above = AccuracyRow { ulps: 0.6, ..row() };
        let told = "exp of float32: 0.6 ulps at 0x1p+0, where 0.50001 are stated";
        assert_eq!(above.exceeds(&stated).as_deref(), Some(told));
        assert_eq!(AccuracyRow { dtype: "float64".into(), ..above }.exceeds(&stated), None);
    }

    #[test]
    fn each_promise_is_held() {
        assert_eq!(row().broken(), Vec::<String>::new());
        let breaks: [fn(&mut AccuracyRow); 4] =
            [|r| r.ulps = 1.0, |r| r.wrong = 1, |r| r.breaks = Some(1), |r| r.missed = 1];
        for change in breaks {
            let mut row = row();
            change(&mut row);
            assert_eq!(row.broken().len(), 1, "{row:?}");
        }
        let nearest = AccuracyRow { accuracy: "nearest".into(), ..row() };
        assert_eq!(nearest.broken(), ["exp of float32, nearest: 7 results are not the nearest"]);
        let mut half = AccuracyRow { dtype: "float16".into(), ..row() };
        assert_eq!(half.broken(), ["exp of float16: 7 results are not the nearest"]);
        half.function = "hypot".into();
        half.breaks = None;
        half.ulps = 0.51;
        assert_eq!(half.broken(), ["hypot of float16: 0.51 ulps"]);
    }

    /// The hand-written page states the largest errors of float32 and float64.
    #[test]
    fn the_summary_has_the_maxima() {
        let rows = results::parse(include_str!("../../../../../docs/generated/accuracy.json")).expect("rows");
        let summary = include_str!("../../../../../docs/accuracy.md");
        for dtype in ["float32", "float64"] {
            let rows = rows.iter().filter(|row| row.dtype == dtype && row.accuracy == Accuracy::Fast.name());
            let worst = rows.max_by(|a, b| a.ulps.total_cmp(&b.ulps)).expect("a row");
            let shown = format!("{} ulp in {dtype} (`{}`)", ulps(worst.ulps), worst.function);
            assert!(summary.contains(&shown), "{shown}");
        }
    }

    /// The committed page equals the one generated from the committed results.
    #[test]
    fn the_page_is_made_from_the_results() {
        let rows = results::parse(include_str!("../../../../../docs/generated/accuracy.json")).expect("rows");
        assert_eq!(include_str!("../../../../../docs/generated/accuracy.md"), page(&rows));
    }
}
