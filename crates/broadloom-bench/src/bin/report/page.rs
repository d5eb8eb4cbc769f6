//! Writes the section on the workloads in `docs/generated/performance.md`, as Markdown.
//!
//! The machine is described by its features and not by its name.

use std::fmt::Write;

use broadloom::Executor;
use broadloom_bench::{Measurement, WORKLOADS};

use crate::measured::AllMeasured;

const BEGIN: &str = "<!-- workloads: begin; written by `cargo run --release -p broadloom-bench --bin report -- docs/generated` -->\n";
const END: &str = "<!-- workloads: end -->\n";

/// Returns the page with the text between its markers replaced.
pub fn between(page: &str, text: &str) -> Result<String, String> {
    let missing = |marker: &str| format!("performance.md has no line {}", marker.trim_end());
    let begin = page.find(BEGIN).ok_or_else(|| missing(BEGIN))? + BEGIN.len();
    let end = page[begin..].find(END).ok_or_else(|| missing(END))? + begin;
    Ok(format!("{}{text}{}", &page[..begin], &page[end..]))
}

/// Formats the text that is written between the markers.
pub fn section(measured: &AllMeasured) -> String {
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write!(
        out,
        "\nMeasured on a machine with {}. One thread by default; prepared kernels, outputs reused. Broadloom's call, the plain\n\
         loop and a copy (`memcpy` of as many bytes) alternate over the same memory; times are medians. The results are compared\n\
         with the loop's first.\n\n",
        machine(measured)
    );
    table(&mut out, measured);
    out += "\n![Roofline](roofline.svg)\n\n\
            An operation is an addition, a product, a quotient's four instructions; of functions (≈) what the op table counts, which is an\n\
            estimate and may exceed the peak. The peaks are products and sums in registers, not contracted.\n\n\
            ![Time of a call over the number of elements](latency.svg)\n\n";
    calls(&mut out, measured);
    threads(&mut out, measured);
    out
}

/// Describes the machine by its features.
fn machine(measured: &AllMeasured) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut features = vec![format!("{cores} hardware threads ({})", std::env::consts::ARCH)];
    #[cfg(target_arch = "x86_64")]
    {
        let mut sets = Vec::new();
        macro_rules! sets {
            ($($name:tt $shown:literal),*) => {
                $(if std::arch::is_x86_feature_detected!($name) { sets.push($shown); })*
            };
        }
        sets!("avx2" "AVX2", "fma" "FMA", "f16c" "F16C", "avx512f" "AVX-512F", "avx512bw" "BW", "avx512dq" "DQ",
            "avx512vl" "VL", "avx512fp16" "FP16");
        features.push(sets.join(" "));
    }
    for (bits, peak) in &measured.peaks {
        features.push(format!("{peak:.0} float32 operations a ns in {bits}-bit registers"));
    }
    let copies = measured.rows.iter().filter(|row| row.n == measured.largest()).map(|row| row.copy_gb_s);
    let best = copies.fold(0.0, f64::max);
    features.push(format!("copies at {best:.1} GB/s (read and written) out of the caches"));
    features.join(", ")
}

fn power(n: usize) -> String {
    format!("{:e}", n as f64)
}

fn time(ns: f64) -> String {
    match ns {
        x if x < 1.0 => format!("{x:.3}"),
        x if x < 10.0 => format!("{x:.2}"),
        x => format!("{x:.1}"),
    }
}

/// Appends the table with a row for each workload and dtype, and a column for each size.
fn table(out: &mut String, measured: &AllMeasured) {
    *out += "Each cell: ns for an element, the chosen executor (i: interpreter, c: compiled code), × the plain loop's time. The last columns are GB/s\n\
             of inputs and outputs at the largest size, the same in bandwidths of the copy, and the worst of the sizes of the engine's\n\
             choice against the better executor.\n\n";
    *out += "| workload | dtype |";
    for n in &measured.sizes {
        *out += &format!(" {} |", power(*n));
    }
    *out += " GB/s | / copy | auto / better |\n| --- | --- |";
    *out += &" ---: |".repeat(measured.sizes.len() + 3);
    *out += "\n";
    for w in WORKLOADS {
        for &dtype in w.dtypes {
            let rows: Vec<&Measurement> =
                measured.rows.iter().filter(|row| row.workload == w.name && row.dtype == dtype).collect();
            let of = |n: usize, executor: Executor| {
                rows.iter().find(|row| row.n == n && row.asked == executor).copied()
            };
            *out += &format!("| `{}` | {dtype} |", w.name);
            let mut worst = 0.0f64;
            for &n in &measured.sizes {
                let [Some(auto), Some(interp), Some(jit)] =
                    [Executor::Auto, Executor::Interp, Executor::Jit].map(|executor| of(n, executor))
                else {
                    *out += " |";
                    continue;
                };
                let by = match &*auto.executor {
                    "interp" => "i",
                    "jit" => "c",
                    _ => "both",
                };
                *out += &format!(" {} {by} {:.2} |", time(auto.ns_per_elem), auto.loop_ratio);
                worst = worst.max(auto.ns_per_elem / interp.ns_per_elem.min(jit.ns_per_elem));
            }
            if let Some(last) = of(measured.largest(), Executor::Auto) {
                *out += &format!(" {:.1} | {:.2} | {worst:.2} |", last.gb_s, last.copy_ratio);
            }
            *out += "\n";
        }
    }
    *out += "\n";
    for w in WORKLOADS {
        *out += &format!("- `{}`: {}\n", w.name, w.formula);
    }
}

/// Appends the times of whole calls on small arrays.
fn calls(out: &mut String, measured: &AllMeasured) {
    let sizes: Vec<usize> = measured
        .calls
        .first()
        .map_or(Vec::new(), |(_, _, rows)| rows.iter().map(|row| row.n).filter(|n| *n <= 1000).collect());
    *out += "Nanoseconds of a call, float32, by a prepared kernel, through `Array` with the expression built each time, and by the plain\n\
             loop:\n\n| workload | by |";
    sizes.iter().for_each(|n| *out += &format!(" {n} |"));
    *out += &format!("\n| --- | --- |{}\n", " ---: |".repeat(sizes.len()));
    for (name, lazy, rows) in &measured.calls {
        let rows: Vec<&Measurement> = rows.iter().filter(|row| sizes.contains(&row.n)).collect();
        let mut line = |by: &str, of: &dyn Fn(&Measurement) -> f64| {
            *out += &format!("| `{name}` | {by} |");
            rows.iter().for_each(|row| *out += &format!(" {:.0} |", of(row) * row.elements as f64));
            *out += "\n";
        };
        if !lazy {
            line("loop", &|row| row.loop_ns_per_elem);
        }
        line(if *lazy { "`Array`" } else { "kernel" }, &|row| row.ns_per_elem);
    }
    *out += "\n";
}

/// Appends the speed-up gained by a second thread.
fn threads(out: &mut String, measured: &AllMeasured) {
    let Some((one, _)) = measured.threads.first() else { return };
    *out += &format!(
        "Two threads, float32, {} elements: how many times as fast as one.\n\n\
         | workload | ours | the loop | ours / the loop |\n| --- | ---: | ---: | ---: |\n",
        power(one.n)
    );
    for (one, two) in &measured.threads {
        let ours = one.ns_per_elem / two.ns_per_elem;
        let plain = one.loop_ns_per_elem / two.loop_ns_per_elem;
        *out += &format!("| `{}` | {ours:.2} | {plain:.2} | {:.2} |\n", one.workload, ours / plain);
    }
    *out += "\n";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_the_markers_stays() {
        let page = format!("before\n{BEGIN}old\n{END}after\n");
        assert_eq!(between(&page, "new\n"), Ok(format!("before\n{BEGIN}new\n{END}after\n")));
        assert!(between("before\n", "new").is_err());
        assert!(between(BEGIN, "new").is_err());
    }
}
