//! An explanation as a page.
//!
//! The page is a single HTML file that is also well-formed XML. It has no scripts and no external resources. The macro `html!`
//! escapes all text, because names may come from untrusted sources.

use broadloom::Explanation;
use broadloom::explain::{Details, ExplainedKernel, ExplainedRun};
use broadloom_ir::figures::{bytes, count, counted, time};
use broadloom_mem::FloatEnv;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::picture::drawn;

/// Maximum number of a graph's lines that the page lists.
const MAX_LINES: usize = 5000;

/// A page that shows the graph as a picture, the kernels and their code. It is a single file without external resources or
/// scripts.
///
/// All titles, names and values are escaped. In the picture of a graph of hundreds of nodes, a box represents a kernel.
///
/// ```
/// use broadloom::Options;
/// use broadloom::prelude::*;
///
/// let x = Array::from_vec(vec![1.0_f32, 2.0]);
/// let page = broadloom_html::page(&(&x * 2 + 1).explanation(&Options::default(), true)?, "twice and one");
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg"));
/// # Ok::<(), Error>(())
/// ```
pub fn page(explanation: &Explanation, title: &str) -> String {
    // Positions and figures are computed with floats, in the default environment.
    let _ieee = FloatEnv::ieee();
    let e = &explanation.details();
    let nodes = |lines: &[String]| counted(lines.len() as u64, "node");
    let estimate: f64 = e.kernels.iter().filter_map(|kernel| kernel.run.as_ref()).map(|run| run.time).sum();
    let operations = explanation.operations();
    let figures = [
        (e.kernels.len().to_string(), plural(e.kernels.len() as u64, "kernel")),
        (count(operations), plural(operations, "operation")),
        (bytes(explanation.bytes()), "moved at least".into()),
        (time(estimate), "estimated on one thread".into()),
    ];
    let after: Vec<String> = e.nodes.iter().map(|node| node.line.clone()).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                // These elements are closed, so that an XML parser accepts them as well.
                (PreEscaped("<meta charset=\"utf-8\"/><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"))
                title { (title) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                h1 { code { (title) } }
                @if !e.about.is_empty() { p { code { (e.about) } } }
                div class="figures" {
                    @for (value, what) in &figures { div { b { (value) } span { (what) } } }
                }
                h2 { "The graph, as it is computed" }
                p class="hint" {
                    "A frame is a kernel: one loop over its index space. Dashed boxes cost nothing: constants, and views. "
                    "Hover over a box for its whole text."
                    @if e.nodes.iter().any(|node| node.is_derivative) { " Nodes that only a derivative needs are in italics." }
                }
                div class="wide" { (drawn(e)) }
                h2 { "From the expression to the plan" }
                (listing(&format!("Typed graph: {}, {}", nodes(&e.typed), results(&e.typed_results)), &e.typed, false))
                (listing(&fired(e), &e.rules, true))
                (listing(&format!("After rewriting: {}, {}", nodes(&after), results(&e.results)), &after, false))
                (decisions(&e.decisions))
                @for note in &e.notes { p { (note) "." } }
                @for (number, kernel) in e.kernels.iter().enumerate() { (section(number, kernel)) }
                footer {
                    "broadloom " (env!("CARGO_PKG_VERSION")) ". Times are estimates of the cost model, not measured; bytes and "
                    "operations follow from the plan."
                }
            }
        }
    }
    .into_string()
}

fn fired(e: &Details) -> String {
    match e.rules.len() {
        0 => "Rewriting: no rule applies".into(),
        n => format!("Rewriting: {} fired", counted(n as u64, "rule")),
    }
}

fn results(names: &[String]) -> String {
    match names {
        [] => "no result".into(),
        names => format!("{} {}", plural(names.len() as u64, "result"), names.join(", ")),
    }
}

fn plural(n: u64, what: &str) -> String {
    if n == 1 { what.into() } else { format!("{what}s") }
}

/// A summary that expands to lines; only the summary if there are no lines.
fn listing(summary: &str, lines: &[String], open: bool) -> Markup {
    let shown = &lines[..lines.len().min(MAX_LINES)];
    html! {
        @if lines.is_empty() { p { (summary) } } @else {
            (details(summary, open, html! {
                pre { @for line in shown { (line) "\n" } }
                @if shown.len() < lines.len() { p { "… and " (lines.len() - shown.len()) " more" } }
            }))
        }
    }
}

fn details(summary: &str, open: bool, inside: Markup) -> Markup {
    html! {
        @if open { details open="" { summary { (summary) } (inside) } }
        @else { details { summary { (summary) } (inside) } }
    }
}

fn decisions(decisions: &[String]) -> Markup {
    html! {
        @if decisions.is_empty() { p { "Fusion: nothing had to be cut off" } }
        @else { (listing(&format!("Fusion: {}", counted(decisions.len() as u64, "decision")), decisions, true)) }
    }
}

fn section(number: usize, kernel: &ExplainedKernel) -> Markup {
    let [call, row, element] = kernel.instructions;
    let combinations = kernel.combines.len() as u64;
    html! {
        section {
            h2 { "Kernel " (number) " over " code { (kernel.space) } }
            @match &kernel.run {
                None if combinations > 0 => p { "It has no elements: its results are those of nothing." },
                None => p { "It has no elements: nothing runs." },
                Some(run) => {
                    p {
                        "Runs on " @if run.is_built_in { "a " } @else { "the " } b { (run.executor) } " with "
                        (counted(run.threads as u64, "thread")) ": " (run.why) "."
                        @if run.is_built_in { " It takes " (run.estimate) "." }
                        @if let Some(vectors) = &run.vectors { " It has " (vectors) "." }
                        @if run.streams { " Its stores are non-temporal, except where an output is an input." }
                    }
                    @if !run.is_built_in {
                        table class="bars" {
                            (bar("interpreter", run.interpreted, run))
                            (bar("machine code", run.compiled, run))
                            (bar("to compile", run.compile, run))
                        }
                    }
                }
            }
            @if !kernel.combining.is_empty() { ul { @for line in &kernel.combining { li { (line) } } } }
            p {
                @if combinations > 0 { (counted(combinations, "combination")) " and " }
                (counted(element as u64, "instruction")) " for each element"
                @for (n, what) in [(row, "row"), (call, "call")] { @if n > 0 { ", " (n) " for each " (what) } }
                ": " (counted(kernel.operations, "operation")) ". Reads " (bytes(kernel.read)) ", writes " (bytes(kernel.written)) "."
            }
            table {
                tr { th { "value" } th { "dtype" } th { "where" } th { "layout" } th { "access" } }
                @for input in &kernel.inputs {
                    tr {
                        td { (input.value) }
                        td { (input.dtype) }
                        td { "reads " (input.source) } td { (input.layout) } td { (input.access) }
                    }
                }
                @for output in &kernel.outputs {
                    tr {
                        td { (output.value) } td { (output.dtype) }
                        td { "writes " (output.target) } td { "contiguous, unless memory is given" } td {}
                    }
                }
            }
            (listing("Body", &kernel.body, true))
            @if let Some(why) = &kernel.no_code { p { "No machine code: " (why) } }
            @for (title, code) in &kernel.code { (details(&capitalised(title), false, html! { pre { (code) } })) }
        }
    }
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// A row with a bar for a time. The length of the bar is relative to the longest of the three times.
fn bar(what: &str, ns: f64, run: &ExplainedRun) -> Markup {
    let longest = run.interpreted.max(run.compiled).max(run.compile);
    let width = format!("width:{:.1}%", (ns / longest * 100.0).clamp(0.5, 100.0));
    html! {
        tr { td { (what) } td { (time(ns)) } td class="bar" { div style=(width) {} } }
    }
}
