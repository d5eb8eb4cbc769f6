//! Draws the graph as an image: nodes in boxes with their types, with a colour and a frame for each kernel.
//!
//! Each node that a result needs is drawn once, in the first kernel that computes it. A graph of too many nodes is drawn as its
//! kernels, and one of too many kernels is not drawn.

use std::fmt::Write;

use broadloom_core::Op;
use broadloom_core::fuse::{Source, Target};
use broadloom_core::graph::{Leaf, NodeId, NodeKind};
use broadloom_core::text::nodes::label;
use broadloom_ir::figures::{bytes, count, counted};
use broadloom_mem::FloatEnv;
use maud::{Markup, PreEscaped, html};
use rustc_hash::FxHashMap;

use crate::explain::explanation::{Explanation, ONE_NAN};
use crate::explain::layers::{self, HEIGHT, Item, Places, Point, TITLE};

/// Maximum number of boxes in a picture.
const MAX_BOXES: usize = 250;
/// Maximum number of characters of a line in a box.
const MAX_CHARS: usize = 34;
/// Width of a character in a monospaced font of 13 px, and in the one of titles, of 12 px.
const CHAR: f64 = 7.9;
const TITLE_CHAR: f64 = 7.3;
/// The distance of a frame from what is inside.
const PADDING: f64 = 12.0;
/// Number of colours, used in turn.
const COLOURS: usize = 8;

/// The style sheet of the page and the picture: classes `k0` … `k7` are the colours of kernels.
pub(crate) const STYLE: &str = include_str!("graph.css");

/// A box with two lines.
struct Shown {
    title: String,
    class: &'static str,
    lines: [String; 2],
    /// The kernel that it belongs to, if any.
    kernel: Option<usize>,
    band: usize,
}

struct Drawing {
    boxes: Vec<Shown>,
    edges: Vec<(usize, usize)>,
    /// A title for each kernel.
    frames: Vec<String>,
}

impl Explanation {
    /// The graph of the kernels as an SVG image.
    pub fn to_svg(&self) -> String {
        let _ieee = FloatEnv::ieee();
        picture(self).into_string()
    }
}

/// Draws the graph, or the kernels, or a note that it is too large.
pub(crate) fn picture(e: &Explanation) -> Markup {
    let (live, shown) = (e.live(), e.shown());
    let nodes = e.graph.ids().filter(|id| live[id.index()] && shown[id.index()] == *id).count();
    if nodes == 0 {
        return text_only("nothing is computed");
    }
    let drawing = if nodes <= MAX_BOXES { graph(e) } else { kernels(e) };
    if drawing.boxes.len() > MAX_BOXES {
        let (n, k) = (count(nodes as u64), counted(e.stages.len() as u64, "kernel"));
        return text_only(&format!("{n} nodes in {k}: too many to draw"));
    }
    render(&drawing)
}

/// A drawing of every live node with its operands.
fn graph(e: &Explanation) -> Drawing {
    let (live, shown) = (e.live(), e.shown());
    let kernel_of = assign(e, &live);
    let mut has_one_nan = vec![false; live.len()];
    for (id, to) in e.graph.ids().zip(&shown) {
        has_one_nan[to.index()] |= live[id.index()] && id != *to;
    }
    let mut number: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut drawing = Drawing { boxes: Vec::new(), edges: Vec::new(), frames: frames(e) };
    for id in e.graph.ids().filter(|id| live[id.index()]) {
        let node = e.graph.node(id);
        // A canonical NaN is in the box of the operation before it, which says so.
        if shown[id.index()] != id {
            number.insert(id, number[&shown[id.index()]]);
            continue;
        }
        let (class, what) = match &node.kind {
            NodeKind::Leaf(Leaf::Input { slot, layout, .. }) => {
                let how = if layout.is_contiguous() { "" } else { ", strided" };
                ("input", e.source(Source::Slot(*slot)) + how)
            }
            NodeKind::Leaf(Leaf::Index { .. }) => ("const", e.source(Source::Index)),
            NodeKind::Leaf(Leaf::Const { value, .. }) => ("const", value.to_string()),
            NodeKind::Reduce { reduction, axes, .. } => {
                let numbers: Vec<String> = axes.iter().map(|axis| axis.to_string()).collect();
                let axes = if numbers.len() == 1 { "axis" } else { "axes" };
                ("op", format!("{reduction} over {axes} {}", numbers.join(", ")))
            }
            NodeKind::Scan { scan, axis, .. } => ("op", format!("{scan} along axis {axis}")),
            kind => {
                let class = if kind.is_computed() { "op" } else { "view" };
                (class, label(kind, |function| function.name().to_owned()).unwrap_or_default())
            }
        };
        let results = e.roots.iter().enumerate().filter(|(_, root)| shown[root.index()] == id);
        let results: Vec<String> = results.map(|(i, _)| e.target(Target::Root(i as u32))).collect();
        let mut type_line = format!("{}{}", node.dtype, node.shape);
        let mut title = format!("{id:?}: {what} {type_line}");
        if has_one_nan[id.index()] || matches!(node.kind, NodeKind::Apply { op: Op::CanonicalNan, .. }) {
            title = format!("{title}, {ONE_NAN}");
        }
        if !results.is_empty() {
            type_line = format!("{type_line} → {}", results.join(", "));
            title = format!("{title}, {}", results.join(", "));
        }
        let (kernel, loose) = (kernel_of[id.index()], matches!(class, "input" | "const"));
        number.insert(id, drawing.boxes.len());
        let to = drawing.boxes.len();
        let mut from: Vec<usize> = node.kind.operands().map(|arg| number[arg]).collect();
        from.dedup();
        drawing.edges.extend(from.into_iter().map(|from| (from, to)));
        drawing.boxes.push(Shown {
            title,
            class: if results.is_empty() { class } else { "result" },
            lines: [what, type_line],
            kernel: (!loose).then_some(kernel),
            band: kernel,
        });
    }
    drawing
}

/// The kernel of each node: the first that computes it, or the first that reads it.
fn assign(e: &Explanation, live: &[bool]) -> Vec<usize> {
    let last = e.stages.len().saturating_sub(1);
    let mut kernel_of: Vec<usize> = vec![usize::MAX; live.len()];
    for (kernel, step) in e.stages.iter().enumerate() {
        for id in &step.nodes {
            kernel_of[id.index()] = kernel_of[id.index()].min(kernel);
        }
    }
    for (kernel, step) in e.stages.iter().enumerate() {
        for target in &step.stage.outputs {
            if let Target::Root(root) = target {
                let of = &mut kernel_of[e.roots[*root as usize].index()];
                *of = (*of).min(kernel);
            }
        }
    }
    // Readers come after their operands: views, inputs and constants belong to the first of their readers.
    for id in e.graph.ids().rev().filter(|id| live[id.index()]) {
        let own = kernel_of[id.index()].min(last);
        kernel_of[id.index()] = own;
        for arg in e.graph.node(id).kind.operands() {
            if !e.graph.node(*arg).kind.is_computed() {
                kernel_of[arg.index()] = kernel_of[arg.index()].min(own);
            }
        }
    }
    // Edges go down, even if rewriting has moved a view.
    for id in e.graph.ids().filter(|id| live[id.index()]) {
        let below = e.graph.node(id).kind.operands().map(|a| kernel_of[a.index()]).max().unwrap_or(0);
        kernel_of[id.index()] = kernel_of[id.index()].max(below);
    }
    kernel_of
}

/// A drawing with a box per kernel, and the inputs and temporaries between them.
fn kernels(e: &Explanation) -> Drawing {
    let mut drawing = Drawing { boxes: Vec::new(), edges: Vec::new(), frames: Vec::new() };
    let (mut inputs, mut temps): (FxHashMap<u32, usize>, FxHashMap<u32, usize>) = Default::default();
    for (i, step) in e.stages.iter().enumerate() {
        let mut from = Vec::new();
        for input in &step.stage.inputs {
            from.extend(match input.source {
                Source::Temp(t) => temps.get(&t).copied(),
                Source::Index => None,
                Source::Slot(s) => Some(*inputs.entry(s).or_insert_with(|| {
                    let what = e.source(input.source);
                    let lines = [what.clone(), input.layout.shape.to_string()];
                    drawing.boxes.push(Shown { title: what, class: "input", lines, kernel: None, band: i });
                    drawing.boxes.len() - 1
                })),
            });
        }
        from.sort_unstable();
        from.dedup();
        let to = drawing.boxes.len();
        drawing.edges.extend(from.into_iter().map(|from| (from, to)));
        for target in &step.stage.outputs {
            if let Target::Temp(t) = target {
                temps.insert(*t, to);
            }
        }
        let title = frame(e, i);
        let combines: String = step.stage.combined_by().map(|name| format!(", {name}")).collect();
        let instructions = counted(step.instructions().iter().sum::<usize>() as u64, "instruction");
        let lines = [format!("kernel {i}"), format!("{instructions}{combines}")];
        drawing.boxes.push(Shown { title, class: "op", lines, kernel: Some(i), band: i });
    }
    drawing
}

fn frames(e: &Explanation) -> Vec<String> {
    (0..e.stages.len()).map(|i| frame(e, i)).collect()
}

fn frame(e: &Explanation, i: usize) -> String {
    let step = &e.stages[i];
    let moved = (step.read as u64).saturating_add(step.written as u64);
    let run = step.run.as_ref().filter(|run| run.jit);
    let vectors = run.map_or_else(String::new, |run| format!(" ({} bits)", run.width));
    format!("kernel {i} over {}: {}{vectors}, {}", step.space(), step.executor(), bytes(moved))
}

fn render(drawing: &Drawing) -> Markup {
    let items: Vec<Item> = drawing
        .boxes
        .iter()
        .map(|shown| {
            let columns = shown.lines.iter().map(|line| columns(&short(line))).max().unwrap_or(0);
            Item { width: columns as f64 * CHAR + 22.0, band: shown.band, loose: shown.kernel.is_none() }
        })
        .collect();
    let titles: Vec<f64> = drawing.frames.iter().map(|name| columns(name) as f64 * TITLE_CHAR).collect();
    let places = layers::place(&items, &drawing.edges, &titles);
    let frames = around(drawing, &items, &titles, &places);
    let width = places.width;
    let view = format!("0 0 {width:.0} {:.0}", places.height);
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox=(view) width=(n(width)) height=(n(places.height)) role="img" {
            style { (PreEscaped(STYLE)) }
            @for (i, at, size) in &frames {
                g class=(colour(*i)) {
                    rect class="frame" x=(n(at.0)) y=(n(at.1)) width=(n(size.0)) height=(n(size.1)) rx="10" {}
                }
            }
            @for route in routes(&items, drawing, &places) { path class="edge" d=(curve(route)) {} }
            @for (name, at) in drawing.frames.iter().zip(&places.titles) {
                @if let Some(at) = at { text class="name" x=(n(at.0)) y=(n(at.1 + TITLE - 5.0)) { (name) } }
            }
            @for ((shown, item), at) in drawing.boxes.iter().zip(&items).zip(&places.boxes) {
                g class=(format!("node {} {}", shown.class, shown.kernel.map_or(String::new(), colour))) {
                    title { (shown.title) }
                    rect x=(n(at.0 - item.width / 2.0)) y=(n(at.1 - HEIGHT / 2.0)) width=(n(item.width)) height=(n(HEIGHT)) rx="6" {}
                    text class="what" x=(n(at.0)) y=(n(at.1 - 3.0)) { (short(&shown.lines[0])) }
                    text class="type" x=(n(at.0)) y=(n(at.1 + 13.0)) { (short(&shown.lines[1])) }
                }
            }
        }
    }
}

/// The position and size of the frame of each kernel that is drawn with one.
fn around(drawing: &Drawing, items: &[Item], titles: &[f64], places: &Places) -> Vec<(usize, Point, Point)> {
    let mut frames = Vec::new();
    for (i, (title, width)) in places.titles.iter().zip(titles).enumerate() {
        let Some(title) = *title else { continue };
        let (mut least, mut most) = (title, (title.0 + width, title.1 + TITLE));
        for b in (0..items.len()).filter(|&b| drawing.boxes[b].kernel == Some(i)) {
            let (at, half) = (places.boxes[b], items[b].width / 2.0);
            least.0 = least.0.min(at.0 - half);
            most = (most.0.max(at.0 + half), most.1.max(at.1 + HEIGHT / 2.0));
        }
        let (x, y) = (least.0 - PADDING, least.1 - PADDING / 2.0);
        frames.push((i, (x, y), (most.0 - x + PADDING, most.1 - y + PADDING)));
    }
    frames
}

fn colour(kernel: usize) -> String {
    format!("k{}", kernel % COLOURS)
}

/// The parts of each edge that no earlier edge has: edges of one box share all parts between layers but the last.
fn routes<'p>(items: &[Item], drawing: &Drawing, places: &'p Places) -> Vec<&'p [[Point; 2]]> {
    let mut drawn = vec![0; items.len()];
    let rest = drawing.edges.iter().zip(&places.routes).map(|((from, _), route)| {
        let shared = route.len().saturating_sub(1);
        let start = shared.min(drawn[*from]);
        drawn[*from] = shared.max(drawn[*from]);
        &route[start..]
    });
    rest.collect()
}

/// An edge along its parts, each a curve that begins and ends vertically, or a line.
fn curve(route: &[[Point; 2]]) -> String {
    let mut d = String::new();
    for (i, [from, to]) in route.iter().enumerate() {
        let [x, y, end_x, end_y] = [from.0, from.1, to.0, to.1].map(n);
        let middle = n((from.1 + to.1) / 2.0);
        // Writing to a String can't fail.
        let _ = if i == 0 { write!(d, "M{x} {y}") } else { write!(d, "V{y}") };
        let _ = match x == end_x {
            true => write!(d, "V{end_y}"),
            false => write!(d, "C{x} {middle} {end_x} {middle} {end_x} {end_y}"),
        };
    }
    d
}

/// The width of a text in characters, of which Chinese, Japanese, Korean ones and pictures are as wide as two others.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if c < '\u{2e80}' { 1 } else { 2 }).sum()
}

fn n(x: f64) -> String {
    format!("{x:.1}")
}

fn short(line: &str) -> String {
    match line.char_indices().nth(MAX_CHARS) {
        Some(_) => line.chars().take(MAX_CHARS - 1).chain(['…']).collect(),
        None => line.into(),
    }
}

fn text_only(words: &str) -> Markup {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox="0 0 600 40" width="600" height="40" role="img" {
            style { (PreEscaped(STYLE)) }
            text class="name" x="10" y="25" { (words) }
        }
    }
}
