//! Draws the graph as an image: nodes in boxes with their types, with a colour and a frame for each kernel.
//!
//! Each node that a result needs is drawn once, in the first kernel that computes it. If a graph has too many nodes, a box
//! represents a kernel. If it has too many kernels, it is not drawn.

use std::collections::HashMap;
use std::fmt::Write;

use broadloom::Explanation;
use broadloom::explain::{Details, NodeRole};
use broadloom_ir::figures::{bytes, count, counted};
use broadloom_mem::FloatEnv;
use maud::{Markup, PreEscaped, html};

use crate::layers::{self, HEIGHT, LINE, LayoutBox, Places, Point, TITLE};

/// Maximum number of boxes in a picture.
const MAX_BOXES: usize = 250;
/// Maximum number of characters of a line in a box.
const MAX_CHARS: usize = 34;
/// Width of a character in the monospaced font of boxes (13 px), and of titles (12 px).
const CHAR: f64 = 7.9;
const TITLE_CHAR: f64 = 7.3;
/// The distance between a frame and the boxes inside it.
const PADDING: f64 = 12.0;
/// Number of colours, which kernels use in turn.
const COLOURS: usize = 8;

/// The style sheet of the picture: classes `k0` … `k7` are the colours of kernels.
const STYLE: &str = include_str!("picture.css");

/// A box with two lines of text.
struct Shown {
    title: String,
    class: &'static str,
    is_derivative: bool,
    lines: [String; 2],
    /// The kernel to which the box belongs, if any.
    kernel: Option<usize>,
    band: usize,
}

struct Drawing {
    boxes: Vec<Shown>,
    edges: Vec<(usize, usize)>,
    /// A title of two lines for each kernel.
    frames: Vec<[String; 2]>,
}

/// Draws the graph, with a frame around the nodes of each kernel, as an SVG image.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{Options, explain_many};
///
/// let x = Array::from_vec(vec![3.0_f64, 4.0]);
/// let squared = x.square();
/// let explanation = explain_many(&[&squared.sqrt(), &(&squared + 1)], &Options::default(), false)?;
/// let named = explanation.with_inputs([("x", &x)]).with_results(["root", "next"]);
/// assert!(broadloom_html::picture(&named).contains("float64[2] → next"));
/// # Ok::<(), Error>(())
/// ```
pub fn picture(explanation: &Explanation) -> String {
    let _ieee = FloatEnv::ieee();
    drawn(&explanation.details()).into_string()
}

/// Draws the graph or, if it has too many nodes, the kernels. If even the kernels are too many, the picture consists of a note.
pub(crate) fn drawn(e: &Details) -> Markup {
    let nodes = e.nodes.len();
    if nodes == 0 {
        return text_only("nothing is computed");
    }
    let drawing = if nodes <= MAX_BOXES { graph(e) } else { kernels(e) };
    if drawing.boxes.len() > MAX_BOXES {
        let (n, k) = (count(nodes as u64), counted(e.kernels.len() as u64, "kernel"));
        return text_only(&format!("{n} nodes in {k}: too many to draw"));
    }
    render(&drawing)
}

/// The drawing of the graph: a box for every node, and edges from its operands.
fn graph(e: &Details) -> Drawing {
    let kernel_of = assign(e);
    let frames = (0..e.kernels.len()).map(|i| frame(e, i)).collect();
    let mut drawing = Drawing { boxes: Vec::new(), edges: Vec::new(), frames };
    for (to, node) in e.nodes.iter().enumerate() {
        let mut type_line = node.type_name.clone();
        let mut title = format!("{}: {} {type_line}", node.name, node.what);
        if node.has_one_nan {
            title += ", one bit pattern for every NaN";
        }
        if node.is_derivative {
            title += ", of a derivative";
        }
        let results = node.results.join(", ");
        if !results.is_empty() {
            type_line = format!("{type_line} → {results}");
            title = format!("{title}, {results}");
        }
        let class = match node.role {
            _ if !results.is_empty() => "result",
            NodeRole::Input => "input",
            NodeRole::Constant => "const",
            NodeRole::View => "view",
            NodeRole::Operation => "op",
        };
        let is_loose = matches!(node.role, NodeRole::Input | NodeRole::Constant);
        let mut from = node.operands.clone();
        from.dedup();
        drawing.edges.extend(from.into_iter().map(|from| (from, to)));
        drawing.boxes.push(Shown {
            title,
            class,
            is_derivative: node.is_derivative,
            lines: [node.what.clone(), type_line],
            kernel: (!is_loose).then_some(kernel_of[to]),
            band: kernel_of[to],
        });
    }
    drawing
}

/// For each node, the first kernel that computes it, or the first kernel that reads it if none computes it.
fn assign(e: &Details) -> Vec<usize> {
    let last = e.kernels.len().saturating_sub(1);
    let mut kernel_of: Vec<usize> = e.nodes.iter().map(|node| node.kernel.unwrap_or(usize::MAX)).collect();
    // Nodes come after their operands. A view, an input or a constant belongs to the kernel of the first node that reads it.
    for (i, node) in e.nodes.iter().enumerate().rev() {
        kernel_of[i] = kernel_of[i].min(last);
        for &operand in node.operands.iter().filter(|&&operand| e.nodes[operand].role != NodeRole::Operation)
        {
            kernel_of[operand] = kernel_of[operand].min(kernel_of[i]);
        }
    }
    // An edge must go down, even if rewriting has moved a view.
    for (i, node) in e.nodes.iter().enumerate() {
        let above = node.operands.iter().map(|&operand| kernel_of[operand]).max().unwrap_or(0);
        kernel_of[i] = kernel_of[i].max(above);
    }
    kernel_of
}

/// The drawing of the kernels: a box for every kernel and every input, and edges that represent inputs and temporaries.
fn kernels(e: &Details) -> Drawing {
    let mut drawing = Drawing { boxes: Vec::new(), edges: Vec::new(), frames: Vec::new() };
    let mut inputs: HashMap<usize, usize> = HashMap::new();
    // For each kernel, the index of its box.
    let mut place = Vec::new();
    for (i, kernel) in e.kernels.iter().enumerate() {
        let mut from = Vec::new();
        for input in &kernel.inputs {
            from.extend(input.kernel.map(|writer| place[writer]));
            from.extend(input.number.map(|number| {
                *inputs.entry(number).or_insert_with(|| {
                    let lines = [input.source.clone(), input.shape.clone()];
                    let title = input.source.clone();
                    drawing.boxes.push(Shown {
                        title,
                        class: "input",
                        is_derivative: false,
                        lines,
                        kernel: None,
                        band: i,
                    });
                    drawing.boxes.len() - 1
                })
            }));
        }
        from.sort_unstable();
        from.dedup();
        let to = drawing.boxes.len();
        place.push(to);
        drawing.edges.extend(from.into_iter().map(|from| (from, to)));
        let title = frame(e, i).join(" ");
        let combines: String = kernel.combines.iter().map(|name| format!(", {name}")).collect();
        let instructions = counted(kernel.instructions.iter().sum::<usize>() as u64, "instruction");
        let lines = [format!("kernel {i}"), format!("{instructions}{combines}")];
        drawing.boxes.push(Shown {
            title,
            class: "op",
            is_derivative: false,
            lines,
            kernel: Some(i),
            band: i,
        });
    }
    drawing
}

/// The two lines above a kernel: its executor and traffic, and its index space.
fn frame(e: &Details, i: usize) -> [String; 2] {
    let kernel = &e.kernels[i];
    let moved = bytes(kernel.read.saturating_add(kernel.written));
    let executor = match &kernel.run {
        None => "nothing".to_owned(),
        Some(run) => match run.width {
            Some(width) => format!("{} ({width} bits)", run.executor),
            None => run.executor.to_owned(),
        },
    };
    [format!("kernel {i}: {executor}, {moved}"), format!("over {}", kernel.space)]
}

fn render(drawing: &Drawing) -> Markup {
    let items: Vec<LayoutBox> = drawing
        .boxes
        .iter()
        .map(|shown| {
            let columns = shown.lines.iter().map(|line| columns(&short(line))).max().unwrap_or(0);
            LayoutBox { width: columns as f64 * CHAR + 22.0, band: shown.band, loose: shown.kernel.is_none() }
        })
        .collect();
    let wide =
        |lines: &[String; 2]| lines.iter().map(|line| columns(line)).max().unwrap_or(0) as f64 * TITLE_CHAR;
    let titles: Vec<f64> = drawing.frames.iter().map(wide).collect();
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
            @for (lines, at) in drawing.frames.iter().zip(&places.titles) {
                @if let Some(at) = at {
                    @for (line, below) in lines.iter().zip([LINE, TITLE]) {
                        text class="name" x=(n(at.0)) y=(n(at.1 + below - 5.0)) { (line) }
                    }
                }
            }
            @for ((shown, item), at) in drawing.boxes.iter().zip(&items).zip(&places.boxes) {
                g class=(classes(shown)) {
                    title { (shown.title) }
                    rect x=(n(at.0 - item.width / 2.0)) y=(n(at.1 - HEIGHT / 2.0)) width=(n(item.width)) height=(n(HEIGHT)) rx="6" {}
                    text class="what" x=(n(at.0)) y=(n(at.1 - 3.0)) { (short(&shown.lines[0])) }
                    text class="type" x=(n(at.0)) y=(n(at.1 + 13.0)) { (short(&shown.lines[1])) }
                }
            }
        }
    }
}

/// The classes of a box in the style sheet.
fn classes(shown: &Shown) -> String {
    let mut classes = format!("node {} {}", shown.class, shown.kernel.map_or(String::new(), colour));
    if shown.is_derivative {
        classes += " derivative";
    }
    classes
}

/// The index, position and size of the frame of each kernel that has a title.
fn around(
    drawing: &Drawing,
    items: &[LayoutBox],
    titles: &[f64],
    places: &Places,
) -> Vec<(usize, Point, Point)> {
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

/// For each edge, the parts that no earlier edge contains. Edges that leave the same box share all parts between layers except
/// the last.
fn routes<'p>(items: &[LayoutBox], drawing: &Drawing, places: &'p Places) -> Vec<&'p [[Point; 2]]> {
    let mut drawn = vec![0; items.len()];
    let rest = drawing.edges.iter().zip(&places.routes).map(|((from, _), route)| {
        let shared = route.len().saturating_sub(1);
        let start = shared.min(drawn[*from]);
        drawn[*from] = shared.max(drawn[*from]);
        &route[start..]
    });
    rest.collect()
}

/// The SVG path of an edge. Each part is a line, or a curve that is vertical at both ends.
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

/// The width of a text in characters. Chinese, Japanese and Korean characters and emoji are twice as wide.
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
