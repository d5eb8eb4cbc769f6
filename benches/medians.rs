//! Reads criterion's measurements back for the summaries.

use std::path::Path;

/// The median of a benchmark of this run, in nanoseconds. `id` is the name of the benchmark's folder, in
/// which characters other than letters, digits, `+` and `-` are underscores.
pub fn median(id: &str) -> Option<f64> {
    let root = std::env::var("CARGO_TARGET_DIR")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../target").into());
    let file = Path::new(&root).join("criterion").join(id).join("new/estimates.json");
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
    json["median"]["point_estimate"].as_f64()
}
