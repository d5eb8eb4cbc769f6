//! Tests that the reference for reductions returns the results stated in the case files.

use std::path::Path;

use broadloom_testkit::cases::arrays::{self, ArrayCase};

fn cases() -> Vec<ArrayCase> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/reductions"));
    let files = arrays::read(folder).unwrap_or_else(|error| panic!("{error}"));
    files.into_values().flatten().collect()
}

#[test]
fn every_row() {
    let cases = cases();
    assert!(cases.len() > 800, "{}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let at = format!("{}:{}: {} of {}", case.file, case.line, case.expression, case.dtype);
        let got = case.program().and_then(|program| {
            let root = program.roots[0];
            program.run().map(|mut outcome| outcome.values.swap_remove(root))
        });
        match (got, &case.expected) {
            (Ok(got), Ok(want)) if got != *want => wrong.push(format!("{at}: {got:x?}, not {want:x?}")),
            (Ok(got), Err(_)) => wrong.push(format!("{at}: no error, but {got:x?}")),
            (Err(error), Ok(_)) => wrong.push(format!("{at}: {error}")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
