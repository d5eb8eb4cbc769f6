//! An explanation as a page.
//!
//! The page is one file of HTML that is also well-formed XML. It has no scripts and no external resources, and the macro escapes
//! all text, since names may come from untrusted sources.

use broadloom_ir::figures::{bytes, count, counted, time};
use broadloom_mem::FloatEnv;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::explain::draw;
use crate::explain::explanation::{Explanation, Run, Step, vectors};
use crate::explain::text::{plural, results};
use broadloom_mem::Listing;

/// Maximum number of lines that a page lists of a graph.
const MAX_LINES: usize = 5000;

impl Explanation {
    /// A page in one file without external resources or scripts, light or dark according to the reader's system.
    ///
    /// All titles, names and values are escaped. Graphs of hundreds of nodes are drawn as kernels.
    pub fn to_html(&self, title: &str) -> String {
        // Positions and figures are computed with floats, in the default environment.
        let _ieee = FloatEnv::ieee();
        page(self, title)
    }
}

/// The whole page.
fn page(e: &Explanation, title: &str) -> String {
    let (typed, typed_roots) = &e.typed;
    let (typed_lines, after) = (e.lines(typed), e.lines_after());
    let nodes = |lines: &[String]| counted(lines.len() as u64, "node");
    let estimate: f64 = e.stages.iter().map(chosen).sum();
    let figures = [
        (e.kernels().to_string(), plural(e.kernels(), "kernel")),
        (count(e.operations()), plural(e.operations() as usize, "operation")),
        (bytes(e.bytes()), "moved at least".into()),
        (time(estimate), "estimated on one thread".into()),
    ];
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                // Written such that an XML parser accepts it as well.
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
                }
                div class="wide" { (draw::picture(e)) }
                h2 { "From the expression to the plan" }
                (listing(&format!("Typed graph: {}, {}", nodes(&typed_lines), results(typed_roots)), &typed_lines, false))
                (listing(&fired(e), &e.rules().collect::<Vec<_>>(), true))
                (listing(&format!("After rewriting: {}, {}", nodes(&after), results(&e.results_after())), &after, false))
                (decisions(&e.decisions().collect::<Vec<_>>()))
                @for note in e.notes() { p { (note) "." } }
                @for (number, step) in e.stages.iter().enumerate() { (kernel(e, number, step)) }
                footer {
                    "broadloom " (env!("CARGO_PKG_VERSION")) ". Times are estimates of the cost model, not measured; bytes and "
                    "operations follow from the plan."
                }
            }
        }
    }
    .into_string()
}

fn chosen(step: &Step) -> f64 {
    step.run.as_ref().map_or(0.0, |run| if run.jit { run.compiled } else { run.interpreted })
}

fn fired(e: &Explanation) -> String {
    match e.firings.len() {
        0 => "Rewriting: no rule applies".into(),
        n => format!("Rewriting: {} fired", counted(n as u64, "rule")),
    }
}

/// Lines under a summary that expands them; the summary alone if there are none.
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

fn kernel(e: &Explanation, number: usize, step: &Step) -> Markup {
    let stage = &step.stage;
    let [call, row, element] = step.instructions();
    html! {
        section {
            h2 { "Kernel " (number) " over " code { (step.space()) } }
            @match &step.run {
                None if step.combinations() > 0 => p { "It has no elements: its results are those of nothing." },
                None => p { "It has no elements: nothing runs." },
                Some(run) if run.folds => p {
                    "Nothing is computed: elements are combined where they are in memory, with "
                    (counted(run.threads as u64, "thread")) ", in " (step.estimate(run.compiled)) "."
                },
                Some(run) => {
                    p {
                        "Runs on the " b { (step.executor()) } " with " (counted(run.threads as u64, "thread")) ": " (run.why) "."
                        @if let Some(vectors) = step.vectors() { " It has " (vectors) "." }
                        @if run.streams { " Its stores are non-temporal, except where an output is an input." }
                    }
                    table class="bars" {
                        (bar("interpreter", run.interpreted, run))
                        (bar("machine code", run.compiled, run))
                        (bar("to compile", run.compile, run))
                    }
                }
            }
            @if !step.combining.is_empty() { ul { @for line in &step.combining { li { (line) } } } }
            p {
                @if step.combinations() > 0 { (counted(step.combinations() as u64, "combination")) " and " }
                (counted(element as u64, "instruction")) " for each element"
                @for (n, what) in [(row, "row"), (call, "call")] { @if n > 0 { ", " (n) " for each " (what) } }
                ": " (counted(step.operations(), "operation")) ". Reads " (bytes(step.read as u64)) ", writes " (bytes(step.written as u64)) "."
            }
            table {
                tr { th { "value" } th { "dtype" } th { "where" } th { "layout" } th { "access" } }
                @for j in 0..stage.inputs.len() {
                    @let [source, layout, access] = e.input(step, j);
                    @let (name, dtype) = stage.read(j);
                    tr {
                        td { (name) }
                        td { (dtype) }
                        td { "reads " (source) } td { (layout) } td { (access) }
                    }
                }
                @for (j, &target) in stage.outputs.iter().enumerate() {
                    tr {
                        td { (stage.written(j)) } td { (stage.kernel.dtype(stage.kernel.outputs[j].value)) }
                        td { "writes " (e.target(target)) } td { "contiguous, unless memory is given" } td {}
                    }
                }
            }
            (listing("Body", &step.body(), true))
            @match &step.code {
                None => {},
                Some(Err(why)) => p { "No machine code: " (why) },
                Some(Ok(code)) => {
                    (details("Primitives, by loop level", false, html! { pre { (code.primitives) } }))
                    (details("CLIF", false, html! { pre { (code.clif) } }))
                    (details(
                        &machine_code(code),
                        false,
                        html! { pre { (code.assembly) } },
                    ))
                }
            }
        }
    }
}

fn machine_code(code: &Listing) -> String {
    let vectors = vectors(code.width, code.narrowed.as_deref());
    format!(
        "Machine code: {} with constants, blocks of {} elements, {vectors}",
        bytes(code.bytes as u64),
        code.lanes
    )
}

/// A row with a bar whose length is the time, relative to the longest of the three.
fn bar(what: &str, ns: f64, run: &Run) -> Markup {
    let longest = run.interpreted.max(run.compiled).max(run.compile);
    let width = format!("width:{:.1}%", (ns / longest * 100.0).clamp(0.5, 100.0));
    html! {
        tr { td { (what) } td { (time(ns)) } td class="bar" { div style=(width) {} } }
    }
}
