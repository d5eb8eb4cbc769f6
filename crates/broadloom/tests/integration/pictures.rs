//! Pictures of graphs: edges must not cross texts, and texts must not cover each other. This is measured in the drawn image.

use broadloom::prelude::*;
use broadloom::{Executor, Explanation, Options, explain_many};
use broadloom_html::picture;
use broadloom_testkit::differential;
use broadloom_testkit::random::{Size, program};
use roxmltree::{Document, Node};

/// A rectangle: its left, top, right and bottom coordinates.
type Area = [f64; 4];

/// The objects in an image, read from the elements of its SVG.
#[derive(Default)]
struct Image {
    size: [f64; 2],
    boxes: Vec<Area>,
    frames: Vec<Area>,
    /// Each text, with its area.
    texts: Vec<(String, Area)>,
    titles: usize,
    /// For each edge, closely spaced points along it.
    edges: Vec<Vec<[f64; 2]>>,
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    let value = node.attribute(name).unwrap_or_else(|| panic!("no {name}: {node:?}"));
    value.parse().unwrap_or_else(|_| panic!("{name} is {value}"))
}

fn area(node: Node<'_, '_>) -> Area {
    let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(node, name));
    [x, y, x + width, y + height]
}

/// The area of a text in DejaVu Sans Mono. The width of a character is 0.602 times the font size. The area extends from the top of
/// capitals to the bottom of descenders.
fn written(node: Node<'_, '_>, size: f64, is_centred: bool) -> (String, Area) {
    let text: String = node.descendants().filter_map(|n| n.text().filter(|_| n.is_text())).collect();
    let wide = |c: char| ('\u{2e80}'..='\u{ffdc}').contains(&c);
    let columns: usize = text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum();
    let (x, y, width) = (number(node, "x"), number(node, "y"), columns as f64 * 0.602 * size);
    let left = if is_centred { x - width / 2.0 } else { x };
    (text, [left, y - 0.76 * size, left + width, y + 0.24 * size])
}

/// Closely spaced points along a path of `M`, `V` and `C` with absolute coordinates.
fn points(path: &str) -> Vec<[f64; 2]> {
    let mut points: Vec<[f64; 2]> = Vec::new();
    let starts = path.char_indices().filter(|(_, c)| c.is_ascii_alphabetic()).map(|(i, _)| i);
    let mut starts: Vec<usize> = starts.collect();
    starts.push(path.len());
    for range in starts.windows(2) {
        let (command, given) = path[range[0]..range[1]].split_at(1);
        let given: Vec<f64> = given.split_whitespace().map(|x| x.parse().expect("a number")).collect();
        let from = points.last().copied().unwrap_or_default();
        let controls: [[f64; 2]; 4] = match (command, &given[..]) {
            ("M", &[x, y]) => [[x, y]; 4],
            ("V", &[y]) => [from, from, [from[0], y], [from[0], y]],
            ("C", &[a, b, c, d, x, y]) => [from, [a, b], [c, d], [x, y]],
            other => panic!("{other:?} in {path}"),
        };
        // The points are two pixels apart, which is less than the height of a text.
        let length = [0, 1].map(|axis| (controls[3][axis] - controls[0][axis]).abs());
        let steps = (length[0].max(length[1]) / 2.0).ceil().max(1.0);
        points.extend((0..=steps as u32).map(|step| {
            let t = f64::from(step) / steps;
            let weights =
                [(1.0 - t).powi(3), 3.0 * t * (1.0 - t).powi(2), 3.0 * t * t * (1.0 - t), t.powi(3)];
            [0, 1].map(|axis| controls.iter().zip(weights).map(|(point, weight)| point[axis] * weight).sum())
        }));
    }
    points
}

impl Image {
    fn of(svg: &str) -> Image {
        let document = Document::parse(svg).expect("XML");
        let root = document.root_element();
        let mut image = Image { size: [number(root, "width"), number(root, "height")], ..Image::default() };
        for node in document.descendants() {
            match (node.tag_name().name(), node.attribute("class")) {
                ("rect", Some("frame")) => image.frames.push(area(node)),
                ("rect", _) => image.boxes.push(area(node)),
                ("path", Some("edge")) => image.edges.push(points(node.attribute("d").expect("a path"))),
                ("text", Some("name")) => {
                    image.titles += 1;
                    image.texts.push(written(node, 12.0, false));
                }
                ("text", Some("what")) => image.texts.push(written(node, 13.0, true)),
                ("text", Some("type")) => image.texts.push(written(node, 11.0, true)),
                _ => {}
            }
        }
        image
    }

    /// Describes what is wrong with the image.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let within = |[x, y]: [f64; 2], [left, top, right, bottom]: Area| {
            left < x && x < right && top < y && y < bottom
        };
        let overlap = |a: Area, b: Area| a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
        for edge in &self.edges {
            for (text, area) in self.texts.iter().filter(|(_, area)| edge.iter().any(|&at| within(at, *area)))
            {
                faults.push(format!("an edge crosses {text:?} at {area:?}"));
            }
            // Coordinates are written with one decimal digit, so an edge may extend into its box by up to a tenth.
            let inner =
                |&[left, top, right, bottom]: &Area| [left + 0.1, top + 0.1, right - 0.1, bottom - 0.1];
            for area in self.boxes.iter().map(inner).filter(|&area| edge.iter().any(|&at| within(at, area))) {
                faults.push(format!("an edge crosses the box at {area:?}"));
            }
        }
        for (i, (text, area)) in self.texts.iter().enumerate() {
            let others = self.texts[i + 1..].iter().filter(|(_, other)| overlap(*area, *other));
            faults.extend(others.map(|(other, _)| format!("{text:?} covers {other:?}")));
            let crosses = |of: &&Area| {
                let contains = of[0] <= area[0] && of[1] <= area[1] && area[2] <= of[2] && area[3] <= of[3];
                overlap(*area, **of) && !contains
            };
            let across = self.boxes.iter().chain(&self.frames).filter(crosses);
            faults.extend(across.map(|of| format!("{text:?} crosses the border of {of:?}")));
            if area[0] < 0.0 || area[1] < 0.0 || area[2] > self.size[0] || area[3] > self.size[1] {
                faults.push(format!("{text:?} is outside: {area:?}"));
            }
        }
        faults
    }
}

/// Tests the check with an edge through a title, an edge through a box, and a title that extends beyond its frame and the picture.
#[test]
fn faults_are_found() {
    let svg = |d: &str, x: u32| {
        format!(
            r#"<svg width="200" height="200"><path class="edge" d="{d}"/><rect class="frame" x="5" y="70" width="190" height="90"/>
            <text class="name" x="{x}" y="87">kernel 0</text>
            <rect x="60" y="110" width="80" height="40"/><text class="what" x="100" y="127">add</text></svg>"#
        )
    };
    let faults = |d: &str, x: u32| Image::of(&svg(d, x)).faults();
    assert_eq!(faults("M100 20V60C100 85 100 85 100 110", 10), [""; 0]);
    for (d, x, fault) in [
        ("M30 20C30 90 100 90 100 110", 10, "an edge crosses \"kernel 0\""),
        ("M100 20V115", 10, "an edge crosses the box"),
        ("M100 20V110", 180, "\"kernel 0\" crosses the border"),
        ("M100 20V110", 180, "\"kernel 0\" is outside"),
    ] {
        assert!(faults(d, x).iter().any(|found| found.starts_with(fault)), "{fault}: {:?}", faults(d, x));
    }
}

fn options() -> Options {
    Options { executor: Executor::Interp, threads: Some(1), ..Options::default() }
}

/// Asserts that the picture has no faults, and returns the numbers of its edges and titles.
fn check(explanation: &Explanation, what: &str) -> (usize, usize) {
    let svg = picture(explanation);
    let image = Image::of(&svg);
    let faults = image.faults();
    assert!(faults.is_empty(), "{what}: {}\n{svg}", faults.join("\n"));
    (image.edges.len(), image.titles)
}

fn ones(shape: &[usize]) -> Array<'static> {
    Array::ones(shape, DType::Float32).and_then(|x| x.eval()).expect("small")
}

/// Random graphs, most of which have one kernel.
#[test]
fn nothing_is_crossed_in_random_graphs() {
    let (mut edges, mut titles) = (0, 0);
    for seed in 0..600 {
        let program = program(seed, if seed % 20 == 0 { Size::Large } else { Size::Small });
        let arrays = differential::arrays(&program).expect("it types");
        let roots: Vec<&Array<'static>> = program.roots.iter().map(|&root| &arrays[root]).collect();
        let options = options().with_semantics(program.semantics);
        let explanation = explain_many(&roots, &options, false).expect("an expression");
        let drawn = check(&explanation, &format!("seed {seed}"));
        (edges, titles) = (edges + drawn.0, titles + drawn.1);
    }
    assert!(edges > 2_000 && titles > 500, "{edges} edges, {titles} titles");
}

/// Graphs of many kernels whose values pass by other kernels, with names that are longer than boxes or in other scripts.
#[test]
fn nothing_is_crossed_in_graphs_of_many_kernels() -> Result<()> {
    for rows in [1, 2, 5] {
        for inputs in [1, 2, 3, 6] {
            let arrays: Vec<Array<'static>> = (0..inputs).map(|i| ones(&[40, 30 + i % 2])).collect();
            let means: Vec<Array<'_>> = arrays
                .iter()
                .map(|x| x.slice((.., ..30))?.mean(Over::axis(-1).keep_dims()))
                .collect::<Result<_>>()?;
            let mut sum = means[0].clone();
            for round in 0..rows {
                for (x, mean) in arrays.iter().zip(&means) {
                    sum = (&sum + x.slice((.., ..30))? - mean) * (round + 1);
                }
                sum = &sum / sum.sum(Over::axis(-1).keep_dims())?;
            }
            let explanation = explain_many(&[&sum, &means[inputs - 1]], &options(), false)?;
            let (edges, titles) = check(&explanation, &format!("{rows} rows of {inputs}"));
            assert!(edges > 2 * inputs && titles > rows as usize, "{edges} edges, {titles} titles");
            let names: Vec<String> = (0..inputs)
                .map(|i| {
                    ["x", "a_name_that_is_longer_than_boxes_are", "温度の平均値と標準偏差と最大値"][i % 3]
                        .repeat(1 + i / 3)
                })
                .collect();
            let named = explanation.with_inputs(names.iter().map(|name| &**name).zip(&arrays));
            check(&named, &format!("{rows} rows of {inputs}, named"));
        }
    }
    Ok(())
}

/// In a graph that is drawn with a box per kernel, there are no frames.
#[test]
fn nothing_is_crossed_between_kernels() {
    let x = ones(&[10]);
    let long = (0..9000).fold(x.clone(), |y, i| y * &x + i);
    let (edges, titles) = check(&long.explanation(&options(), false).expect("an expression"), "long");
    assert!(edges > 1 && titles == 0, "{edges} edges, {titles} titles");
}

/// The canonical NaN is described in the box of the operation before it, and has no box of its own.
#[test]
fn a_canonical_nan_is_in_the_box_of_its_operation() -> Result<()> {
    let x = ones(&[4, 3]);
    let sign = (&x - 1).signbit();
    for (array, operations) in [(&x - 1, 1), (sign, 2), ((&x / 3).t() * 2, 2)] {
        let explanation = array.explanation(&options(), false)?;
        let (svg, text) = (picture(&explanation), explanation.to_string());
        assert!(!svg.contains("canonical"), "{svg}");
        let graphs = text.split_once("plan (").expect("a plan").0;
        assert!(!graphs.contains("canonical"), "{text}");
        assert!(graphs.contains("  # one bit pattern for every NaN\n"), "{text}");
        assert_eq!(svg.matches(", one bit pattern for every NaN").count(), 1, "{svg}");
        assert_eq!(
            svg.matches("class=\"node op").count() + svg.matches("class=\"node result").count(),
            operations
        );
    }
    Ok(())
}
