//! Explanations: their contents, that they are reproducible, and that the page is well-formed for any input.

use std::collections::BTreeSet;
use std::process::Command;

use broadloom::explain::NodeRole;
use broadloom::gradients::{grad, jacfwd, variable, vjp, vmap};
use broadloom::prelude::*;
use broadloom::{Executor, Explanation, IntDivision, Kernel, Options, explain_many};
use broadloom_html::{page, picture};

/// Options that select the interpreter, which runs on every target, because the executor chosen by default depends on the
/// target.
fn options() -> Options {
    Options { executor: Executor::Interp, threads: Some(1), ..Options::default() }
}

fn explained(array: &Array<'_>) -> Explanation {
    array.explanation(&options(), false).expect("an expression")
}

fn ones(shape: &[usize]) -> Array<'static> {
    Array::ones(shape, DType::Float32).and_then(|x| x.eval()).expect("small")
}

/// The text without the lines with estimates, which depend on the target's number of lanes.
fn portable(explanation: &Explanation) -> String {
    let text = explanation.to_string();
    text.lines().filter(|line| !line.contains("estimated")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_it_says() {
    let (x, y) = (ones(&[2, 3]), ones(&[3]));
    let z = (&x * 1 + &y).pow(2);
    assert_eq!(
        portable(&explained(&z)),
        "\
typed graph (7 nodes; result n6):
  n0: float32[2,3]  # input 0
  n1: float32[] = float32(1.0)
  n2: float32[2,3] = n0 * n1
  n3: float32[3]  # input 1
  n4: float32[2,3] = n2 + n3
  n5: float32[] = float32(2.0)
  n6: float32[2,3] = n4 ** n5
rewriting (3 rules fired):
  n2: x * 1 -> x, gives n0
  n6: x ** 2 -> square(x), gives n7
  n6: NaNs whose bits can be read -> one bit pattern for every NaN, in n7
graph (4 nodes after rewriting; result n7):
  n0: float32[2,3]  # input 0
  n3: float32[3]  # input 1
  n4: float32[2,3] = n0 + n3
  n7: float32[2,3] = square(n4)  # one bit pattern for every NaN
plan (1 kernel, 0 temporaries; 60 B moved, 12 operations):
kernel 0 over [2,3]:
  v0 reads input 0, contiguous, element by element
  v1 reads input 1, strides [0, 1], packed into rows of elements
  v4 is written to the result
  kernel e620398547430eecc9a9a74ee22a64bc (v0: float32, v1: float32)
    v2 = add.float32 v0, v1
    v3 = square.float32 v2
    v4 = canonical_nan.float32 v3  # one bit pattern for every NaN
    return v4
  for each element 2 instructions; reads 36 B, writes 24 B, 12 operations
"
    );
}

/// Machine code on wide vectors reads reversed and every second element in place. Other executors read them from packed tiles.
#[test]
fn how_steps_are_read() {
    let backwards = ones(&[1000]).flip(-1).expect("an axis");
    let every_second = ones(&[2000]).slice(vec![Range::from(0..).step(2)]).expect("inside");
    let sum = backwards + every_second;
    let text = explained(&sum).to_string();
    assert_eq!(text.matches("packed into rows of elements").count(), 2, "{text}");
    #[cfg(feature = "jit")]
    {
        use broadloom_clif::VectorWidth;
        let options = Options { executor: Executor::Jit, ..options() };
        let text = sum.explanation(&options, false).expect("an expression").to_string();
        let of_each = usize::from(VectorWidth::target() > VectorWidth::W128);
        for (how, count) in [
            ("element by element, backwards", of_each),
            ("every second element", of_each),
            ("packed into rows of elements", 2 - 2 * of_each),
        ] {
            assert_eq!(text.matches(how).count(), count, "{how}: {text}");
        }
    }
}

/// The explanation names each reason for materialising or fusing a node.
#[test]
fn why_it_was_cut() {
    let (x, row, column) = (ones(&[200, 100]), ones(&[100]), ones(&[200, 1]));
    let tall = ones(&[3, 2]).t();
    let divided = Array::ones(&[4], DType::Int32).and_then(|x| x.eval()).expect("small");
    let rows: [(Array<'_>, &str); 5] = [
        (
            &x + row.exp().sin(),
            "is materialised: computing it for each of 20 000 elements of n4 would cost more than a temporary of 100 elements",
        ),
        (&x + (&row + 1), "is fused: computing it again for each of 20 000 elements of n4 costs about"),
        (&x + column.exp(), "is fused: it is one value for a whole row"),
        (tall.sqrt().reshape(&[6]).expect("6") * 2, "is materialised: no strides express its reshape [6]"),
        (
            (&divided % &divided).slice(..2).expect("2") + 1,
            "is materialised: it may divide by zero in elements that are not read",
        ),
    ];
    for (array, why) in rows {
        let options = Options { int_division: IntDivision::Error, ..options() };
        let text = array.explanation(&options, false).expect("an expression").to_string();
        let notes: Vec<&str> = text.lines().filter(|line| line.starts_with("note: ")).collect();
        assert!(notes.len() == 1 && notes[0].contains(why), "{why}:\n{text}");
    }
}

/// An instruction whose operands are uniform over a row, or over the array, is counted once per row or once in total.
#[test]
fn operations_and_bytes() {
    let (x, column) = (ones(&[50, 40]), ones(&[50, 1]));
    let e = explained(&(&x * column.sqrt()));
    assert_eq!((e.kernels(), e.operations(), e.bytes()), (1, 2000 + 50, 4 * (2000 + 50 + 2000)));
    let nothing = explained(&(ones(&[0, 4]) + 1));
    assert_eq!((nothing.operations(), nothing.bytes()), (0, 0));
    assert!(nothing.to_string().contains("kernel 0 has no elements: nothing runs"), "{nothing}");
}

/// An expression with two kernels, a temporary, views, nodes that are used several times, and functions with a slow path.
fn varied() -> Array<'static> {
    let x = ones(&[20, 10]);
    let y = (&x - ones(&[10]).sin()) / (&x + 2).pow(0.3);
    (&y + y.reshape(&[10, 20]).expect("200").t()).cos().greater(0.5)
}

/// The text and the page are the same in another process, although its addresses differ.
#[test]
fn the_same_in_every_process() {
    const CHILD: &str = "BROADLOOM_TEST_EXPLAINS";
    let said = || {
        let e = varied().explanation(&Options { threads: Some(1), ..Options::default() }, true);
        let e = e.expect("an expression");
        format!("{e}{}", page(&e, "varied"))
    };
    if std::env::var_os(CHILD).is_some() {
        println!("<<{}>>", said());
        return;
    }
    let child = || {
        let mut child = Command::new(std::env::current_exe().expect("the test's own file"));
        child.args(["--exact", "explain::the_same_in_every_process", "--nocapture", "--test-threads=1"]);
        let out = child.env(CHILD, "1").output().expect("the test runs again").stdout;
        let text = String::from_utf8(out).expect("text");
        let (_, text) = text.split_once("<<").expect("the beginning");
        text.rsplit_once(">>").expect("the end").0.to_string()
    };
    let first = child();
    assert!(!cfg!(feature = "jit") || first.contains("CLIF"), "{first}");
    assert!(first == child(), "two processes differ");
    assert!(first == said(), "this process differs");
}

fn parse(page: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}:\n{page}"))
}

/// The titles of the drawn boxes.
fn boxes(page: &str) -> Vec<String> {
    let document = parse(page);
    let of_node = |node: &roxmltree::Node<'_, '_>| {
        node.attribute("class").is_some_and(|class| class.split(' ').any(|class| class == "node"))
    };
    let title =
        |node: roxmltree::Node<'_, '_>| node.first_element_child().and_then(|n| n.text().map(String::from));
    document.descendants().filter(of_node).map(|node| title(node).expect("a title")).collect()
}

#[test]
fn the_page_is_well_formed_and_stands_alone() {
    // The second array is in memory already, and the third is a view of an array in memory.
    for array in [varied(), ones(&[3]), ones(&[3, 2]).t(), ones(&[0]) + 1, Array::scalar(1.5)] {
        let e = array.explanation(&options(), true).expect("an expression");
        let page = page(&e, "a page");
        let document = parse(&page);
        let names: BTreeSet<&str> = document.descendants().map(|node| node.tag_name().name()).collect();
        assert!(names.contains("svg") && !names.contains("script"), "{names:?}");
        assert_eq!(names.contains("summary"), e.kernels() > 0, "{names:?}");
        for node in document.descendants() {
            for attribute in node.attributes() {
                let fetches = ["src", "href", "srcset", "data", "action"].contains(&attribute.name());
                assert!(!fetches && !attribute.name().starts_with("on"), "{attribute:?}");
            }
        }
        assert!(!page.contains("url(") && !page.contains("@import"));
        assert!(parse(&picture(&e)).root_element().has_tag_name(("http://www.w3.org/2000/svg", "svg")));
    }
}

/// Each node that a result needs is drawn once.
#[test]
fn every_node_is_drawn_once() {
    for array in [varied(), ones(&[3, 2]).t(), (ones(&[4]) * 1 + 0.5).pow(2)] {
        let e = explained(&array);
        let text = e.to_string();
        let (_, after) = text.split_once(" after rewriting; ").expect("the graph");
        let (_, after) = after.split_once('\n').expect("its nodes");
        let nodes = after.lines().take_while(|line| line.starts_with("  "));
        let mut nodes: Vec<&str> = nodes.filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
        let drawn = boxes(&page(&e, "x"));
        let mut drawn: Vec<&str> = drawn.iter().filter_map(|title| Some(title.split_once(':')?.0)).collect();
        nodes.sort_unstable();
        drawn.sort_unstable();
        assert!(!nodes.is_empty());
        assert_eq!(drawn, nodes);
    }
}

#[test]
fn hostile_titles_are_text() {
    let e = explained(&(ones(&[3]) + 1));
    for title in ["</title><script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "&lt; & <!-- ]]>"]
    {
        let page = page(&e, title);
        let document = parse(&page);
        let found =
            document.descendants().find(|node| node.has_tag_name("title")).and_then(|node| node.text());
        assert_eq!(found, Some(title));
        assert!(!document.descendants().any(|node| node.has_tag_name("script") || node.has_tag_name("img")));
    }
}

/// The explanation of a kernel contains the names of its inputs and outputs, with any characters, and needs no memory.
#[test]
fn kernels_are_explained_without_memory() -> Result<()> {
    let hostile = "</pre><script>alert(1)</script>";
    let x = Array::input("x", DType::Float32, &["n".into(), 3.into()])?;
    let row = Array::input("row", DType::Float32, &[3.into()])?;
    let turned = (&x * &row).permute_dims(&[1, 0])?.sqrt();
    let kernel = Kernel::named(&[(hostile, &turned)], &[&x, &row], &options())?;
    let text = kernel.explain()?;
    assert!(text.starts_with(&format!("{kernel:?}, {}\n", kernel.id())), "{text}");
    assert!(text.contains("  n0: float32[1000,3]  # x\n"), "{text}");
    assert!(text.contains("reads x, strides [1, 3], packed"), "{text}");
    assert!(text.contains(&format!("is written to {hostile}\n")) && text.contains("[3,1000]"), "{text}");
    let explanation = kernel.bind(&[("n", 5)])?.explanation(true)?;
    assert!(explanation.to_string().contains("over [3,5]"), "{explanation}");
    let page = page(&explanation, "x");
    assert!(!parse(&page).descendants().any(|node| node.has_tag_name("script")));
    assert!(boxes(&page).iter().any(|title| title.contains(hostile)), "{page}");
    Ok(())
}

/// The assumed extents broadcast: an array that is added to a slice is assumed to have the slice's extent.
#[test]
fn kernels_of_slices_are_explained() {
    for (text, space) in [
        ("x: float64[m]; y: float64[n]; x[1:] + y", "[999]"),
        ("y: float64[n]; x: float64[m]; y + x[1:]", "[999]"),
        ("x: float64[n]; y: float64[m]; x[::2] * y", "[500]"),
        ("x: float64[n]; y: float64[m]; z: float64[k]; y + x[:5] * z[2:]", "[5]"),
        ("x: float64[m]; y: float64[n]; cumulative_sum(y, include_initial=true) * x", "[1001]"),
    ] {
        let kernel = Kernel::parse(text, &options()).unwrap_or_else(|e| panic!("{text}: {}", e.render()));
        let told = kernel.explain().unwrap_or_else(|e| panic!("{text}: {e}"));
        assert!(told.contains(&format!(" over {space}:\n")), "{text}: {told}");
    }
}

/// Several arrays have one explanation and one picture. Shared nodes occur once, and each result is named.
#[test]
fn several_arrays_are_explained_together() -> Result<()> {
    let (x, y) = (ones(&[4, 3]), ones(&[3]));
    let shared = (&x + &y).sqrt();
    let (first, second) = (&shared * 2, shared.exp());
    let explain = |arrays: &[&Array<'_>]| explain_many(arrays, &options(), false);

    let both = explain(&[&first, &second])?;
    assert_eq!((both.kernels(), both.operations()), (1, 4 * 12));
    let text = both.to_string();
    assert_eq!(text.matches("= sqrt(").count(), 2, "once in each graph: {text}");
    let picture = broadloom_html::picture(&both);
    assert!(picture.contains("→ result 0") && picture.contains("→ result 1"), "{picture}");

    let named = both.with_inputs([("x", &x), ("y", &y)]).with_results(["twice", "grown"]);
    let (text, picture) = (named.to_string(), broadloom_html::picture(&named));
    assert!(text.contains("is written to twice\n") && text.contains("is written to grown\n"), "{text}");
    assert!(picture.contains("→ twice") && picture.contains("→ grown"), "{picture}");
    for gone in ["input 0", "input 1", "result 0", "result 1"] {
        assert!(!text.contains(gone) && !picture.contains(gone), "{gone}: {text}{picture}");
    }

    // An array that is already in memory is not computed. The other arrays keep their numbers.
    let one = explain(&[&x, &first])?;
    let text = one.to_string();
    assert!(text.contains("note: result 0 is in memory already: it is shared"), "{text}");
    assert!(text.contains("is written to result 1\n"), "{text}");
    let none = explain(&[&x])?;
    assert_eq!((none.kernels(), none.bytes()), (0, 0));
    let address = |array: &Array<'_>| array.as_slice::<f32>().map(<[f32]>::as_ptr);
    assert_eq!(address(&eval_many(&[&x])?[0]), address(&x), "as it says");
    Ok(())
}

/// A name belongs to memory. It can be specified by an array, a view of it, or an expression of it alone.
#[test]
fn names_are_found_by_memory() {
    let (x, y, other) = (ones(&[4, 3]), ones(&[3]), ones(&[3]));
    let sum = x.t().reshape(&[4, 3]).expect("12") + &y;
    let (square, both) = (y.square(), &x + &y);
    let names = |given: &[(&str, &Array<'_>)]| {
        let text = explained(&sum).with_inputs(given.iter().copied()).to_string();
        let comments = text.lines().take(5).filter_map(|line| Some(line.split_once("  # ")?.1.to_owned()));
        comments.collect::<Vec<_>>().join(" ")
    };
    let layout = "strides [1, 3] offset 0";
    assert_eq!(names(&[]), format!("input 0 {layout} input 1"));
    assert_eq!(names(&[("y", &y)]), format!("input 0 {layout} y"));
    assert_eq!(names(&[("turned", &x.t()), ("square", &square)]), format!("turned {layout} square"));
    assert_eq!(names(&[("first", &x), ("second", &x)]), format!("first {layout} input 1"));
    let strangers = [("both", &both), ("other", &other), ("number", &Array::scalar(1.0))];
    assert_eq!(names(&strangers), format!("input 0 {layout} input 1"));
    // A line break in a name is escaped, so that the line remains one line.
    assert_eq!(names(&[("a\nb", &x)]), format!("a\\nb {layout} input 1"));
}

/// A graph of hundreds of nodes is drawn with a box per kernel. Thousands of kernels are not drawn.
#[test]
fn large_graphs_are_drawn_as_kernels() {
    let x = ones(&[10]);
    let long = (0..9000).fold(x.clone(), |y, i| y * &x + i);
    let e = explained(&long);
    assert!(e.kernels() > 1);
    let drawn = boxes(&page(&e, "long"));
    assert_eq!(drawn.iter().filter(|title| title.starts_with("kernel ")).count(), e.kernels());
    assert!(drawn.len() <= e.kernels() + 1, "{drawn:?}");

    let turns = (0..300).fold(ones(&[3, 2]), |y, _| (y + 1).t().reshape(&[3, 2]).expect("6"));
    let page = page(&explained(&turns), "turns");
    assert!(boxes(&page).is_empty() && page.contains("too many to draw"));
}

/// Edges that leave the same box share a line for as long as they have the same route. It is drawn once, so that it is no
/// thicker than other lines, and so that the size of the picture doesn't grow with the square of the number of uses of an
/// operand.
#[test]
fn shared_parts_of_edges_are_drawn_once() {
    let y = ones(&[4]);
    let picture = picture(&explained(&(0..6).fold(ones(&[4]), |x, _| (x * &y).exp())));
    let document = parse(&picture);
    let paths = document.descendants().filter_map(|node| node.attribute("d"));
    let curves: Vec<&str> =
        paths.flat_map(|d| d.split(['M', 'V']).flat_map(|part| part.split('C').skip(1))).collect();
    let distinct: BTreeSet<&str> = curves.iter().copied().collect();
    assert!(curves.len() >= 12 && curves.len() == distinct.len(), "{curves:?}");
}

/// The README's picture is the current drawing. `BROADLOOM_BLESS=1` draws it again.
#[test]
fn the_picture_in_the_readme_is_current() {
    let band = || Array::zeros(&[512, 512], DType::UInt16).and_then(|x| x.eval()).expect("small");
    let (nir, red) = (band().astype(DType::Float32), band().astype(DType::Float32));
    let index = (&nir - &red) / (&nir + &red);
    let explained = explained(&where_(index.greater(0.2), &index, 0.0));
    let picture = picture(&explained.with_inputs([("nir", &nir), ("red", &red)])) + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explain.svg");
    if std::env::var_os("BROADLOOM_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, &picture).expect("written");
    }
    assert!(
        std::fs::read_to_string(path).is_ok_and(|text| text == picture),
        "BROADLOOM_BLESS=1 draws it anew"
    );
}

/// A reduction has its own kernel. The explanation contains the shape to which it combines elements, the order in which it
/// does, and the reason why the node that reads it is in another kernel.
#[test]
fn reductions_are_explained() -> Result<()> {
    let x = ones(&[2, 3]);
    let centred = &x - x.mean(Over::axis(-1).keep_dims())?;
    let text = portable(&explained(&centred));
    // Whether rows run in blocks depends on the sizes of the caches.
    let (plan, blocks) = text.split_once("note: kernels ").expect("a note about rows");
    assert!(blocks.starts_with("run one after the other"), "{blocks}");
    assert_eq!(
        plan.split_once("\ngraph (5 ").expect("the graph after rewriting").1,
        "\
 nodes after rewriting; result n4):
  n0: float32[2,3]  # input 0
  n1: float32[2,1] = sum(n0, axis=(1,), keepdims=true)
  n2: float32[] = float32(3.0)
  n3: float32[2,1] = n1 / n2
  n4: float32[2,3] = n0 - n3  # one bit pattern for every NaN
plan (2 kernels, 1 temporary; 88 B moved, 18 operations):
kernel 0 over [2,3], combined to [2]:
  v0 reads input 0, contiguous, element by element
  sum(v0, axis=(1,)) is written to temporary 0
  kernel 1b1c9cc7f2c312e38fa0492c0f2b0b1f (v0: float32)
    return sum(v0)
  each of 2 results is combined of 3 elements; sum in the canonical order of 16 lanes
  elements are combined where they are in memory, result by result
  for each element 0 instructions, 1 combination; reads 24 B, writes 8 B, 6 operations
kernel 1 over [2,3]:
  v0 reads input 0, contiguous, element by element
  v1 reads temporary 0, strides [1, 0], packed into rows of elements
  v5 is written to the result
  kernel 24e75ba2aceb44c9434baa51f9098a8f (v0: float32, v1: float32, v2: scalar float32)
    v3 = divide.float32 v1, v2
    v4 = subtract.float32 v0, v3
    v5 = canonical_nan.float32 v4  # one bit pattern for every NaN
    return v5
  for each element 2 instructions; reads 32 B, writes 24 B, 12 operations
note: n3 (float32[2,1]) is fused: it is one value for a whole row of n4, computed once per row
note: n1 (float32[2,1]) is materialised: it combines elements, and what reads it is computed in a later kernel
"
    );
    Ok(())
}

/// Reductions that share a loop are outputs of one kernel. A reduction of elements in memory needs no code.
#[test]
fn reductions_that_share_a_loop_are_explained_together() -> Result<()> {
    let x = ones(&[40, 30]);
    let (sum, most, norm) = (x.sum(0)?, x.max(0)?, x.exp().sum(0)?);
    let e = explain_many(&[&sum, &most, &norm], &options(), false)?;
    let text = e.to_string();
    assert_eq!(e.kernels(), 1);
    assert_eq!(e.executors().collect::<Vec<_>>(), [Some(Executor::Interp)]);
    for line in [
        "kernel 0 over [40,30], combined to [30]:\n",
        "  sum(v0, axis=(0,)) is written to result 0\n",
        "  max(v0, axis=(0,)) is written to result 1\n",
        "  each of 30 results is combined of 40 elements; sum in the canonical order of 16 lanes; max in any order, which gives \
         the same bits\n",
        "in cache, and combined there, 30 adjacent results at once\n",
        "  for each element 1 instruction, 3 combinations; reads 4.8 kB, writes 360 B, 4 800 operations\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    // A sum of exponentials that are also stored, and another sum along the same axis that needs the maxima as well.
    let many = ones(&[1000, 1000]);
    let less = &many - many.max(Over::axis(-1).keep_dims())?;
    let e = less.exp();
    let (softmax, other) = (&e / e.sum(Over::axis(-1).keep_dims())?, (&less * &many).sum(-1)?);
    let e = explain_many(&[&softmax, &other], &options(), false)?;
    let text = e.to_string();
    assert_eq!(e.kernels(), 3, "{text}");
    for line in ["  v3 is written to temporary 1\n", "  sum(v3, axis=(1,)) is", "  sum(v4, axis=(1,)) is"] {
        assert!(text.contains(line), "{line}{text}");
    }
    let all = explained(&x.sum(())?).to_string();
    assert!(all.contains("elements are combined where they are in memory, result by result\n"), "{all}");
    assert!(
        all.contains(
            "kernel 0 runs on a built-in loop: the elements are read from memory, and none is computed"
        ),
        "{all}"
    );
    assert!(!all.contains("runs on the") && !all.contains("to compile"), "{all}");
    assert_eq!(explained(&x.sum(())?).executors().collect::<Vec<_>>(), [None]);
    let (page, picture) = (page(&explained(&x.sum(())?), "sum"), picture(&explained(&x.sum(())?)));
    assert!(
        page.contains("Runs on a <b>built-in loop</b>") && !page.contains("Nothing is computed"),
        "{page}"
    );
    assert!(picture.contains(">kernel 0: built-in loop, 4.8 kB<"), "{picture}");
    // If there is only one result, it has no number.
    assert!(
        picture.contains("float32[] → result<") && all.contains("is written to the result\n"),
        "{picture}{all}"
    );
    let nothing = explained(&ones(&[0, 4]).sum(0)?).to_string();
    assert!(nothing.contains("kernel 0 has no elements: its results are those of nothing"), "{nothing}");
    let scan = explained(&x.cumulative_sum(Some(1), None, true)?).to_string();
    assert!(
        scan.contains("cumulative_sum(v0, axis=1, include_initial=true) is written to the result"),
        "{scan}"
    );
    assert!(scan.contains("kernel 0 over [40,30], scanned along axis 1:\n"), "{scan}");
    Ok(())
}

/// A node that combines elements is drawn in the kernel that combines them, and the page describes how.
#[test]
fn reductions_are_drawn() -> Result<()> {
    let x = ones(&[20, 30]);
    let e = (&x - x.max(Over::axis(-1).keep_dims())?).exp();
    let softmax = &e / e.sum(Over::axis(-1).keep_dims())?;
    let explained = explained(&softmax);
    let page = page(&explained, "softmax");
    let drawn = boxes(&page);
    for title in ["max over axis 1", "sum over axis 1"] {
        assert!(drawn.iter().any(|drawn| drawn.contains(title)), "{drawn:?}");
    }
    let document = parse(&page);
    // Each reduction has the colour of its kernel: the first kernel computes the maxima, the second the sums.
    let class = |title: &str| {
        let of = |node: &roxmltree::Node<'_, '_>| {
            node.first_element_child().is_some_and(|n| n.text().is_some_and(|t| t.contains(title)))
        };
        document
            .descendants()
            .find(|node| of(node) && node.has_attribute("class"))
            .and_then(|node| node.attribute("class").map(str::to_owned))
    };
    assert_eq!(class("max over axis 1").as_deref(), Some("node op k0"));
    assert_eq!(class("sum over axis 1").as_deref(), Some("node op k1"));
    assert!(
        page.contains("combined to [20]") && page.contains("in the canonical order of 16 lanes"),
        "{page}"
    );
    let names: BTreeSet<&str> = document.descendants().map(|node| node.tag_name().name()).collect();
    assert!(names.contains("svg") && names.contains("li"));
    Ok(())
}

/// The numbers in a text, each with the word after it. Numbers in brackets belong to shapes, and text after `#` is a name;
/// these are skipped.
fn figures(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let is_code = |line: &str| ["  kernel ", "  n"].iter().any(|start| line.starts_with(start));
    for line in text.lines().filter(|line| !is_code(line)) {
        let (mut plain, mut depth) = (String::new(), 0);
        for c in line.split("  # ").next().unwrap_or_default().chars() {
            depth += i32::from(c == '[') - i32::from(c == ']');
            if depth == 0 {
                plain.push(c);
            }
        }
        let words: Vec<&str> =
            plain.split([' ', '(', ')', ',', ':', ';']).filter(|w| !w.is_empty()).collect();
        for (i, word) in
            words.iter().enumerate().filter(|(_, word)| word.starts_with(|c: char| c.is_ascii_digit()))
        {
            found.push(((*word).to_owned(), words.get(i + 1).copied().unwrap_or_default().to_owned()));
        }
    }
    found
}

/// Units are in the singular or plural as required, numbers have separators between groups of digits, and only significant
/// digits are printed.
#[test]
fn figures_are_said_as_people_say_them() -> Result<()> {
    let x = ones(&[1234, 1000]);
    let rows = [
        ones(&[1]).sqrt(),
        ones(&[3]),
        &x * 3.0 + 0.1,
        &x - x.mean(Over::axis(-1).keep_dims())?,
        x.sum(())?,
        x.exp().sum(0)?,
        &x + ones(&[1000]).exp().sin(),
        varied(),
    ];
    for executor in [Executor::Interp, Executor::Auto] {
        for array in &rows {
            let explanation = array.explanation(&Options { executor, ..options() }, false)?;
            let text = explanation.to_string();
            for (number, unit) in figures(&text) {
                let digits = |part: &str| part.chars().filter(char::is_ascii_digit).count();
                let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
                assert!(digits(whole) <= 3, "{number} {unit}:\n{text}");
                assert!(!fraction.ends_with('0') && digits(&number) <= 4, "{number} {unit}:\n{text}");
                let is_plural =
                    ["nodes", "rules", "kernels", "temporaries", "operations", "elements", "instructions"];
                assert!(number != "1" || !is_plural.contains(&&*unit), "{number} {unit}:\n{text}");
            }
        }
    }
    let text = explained(&rows[2]).to_string();
    for said in
        ["1 kernel, 0 temporaries; 9.87 MB moved, 2.47 million operations", " for 1.23 million elements, "]
    {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(text.contains(" per element"), "{text}");
    assert!(explained(&rows[0]).to_string().contains("estimated to take"), "the times of both executors");
    assert!(explained(&rows[1]).to_string().starts_with("typed graph (0 nodes; no result):"));
    Ok(())
}

/// The nodes that only a derivative needs are marked in the text, the data and the picture: here the cosine and the products, but
/// neither the square, which the function needs too, nor the input.
#[test]
fn nodes_of_a_derivative_are_marked() -> Result<()> {
    let x = variable(&ones(&[2, 3]))?;
    let y = x.square().sin();
    let gradient = vjp(&[&y], &[&Array::ones(&[2, 3], DType::Float32)?], &[&x])?.remove(0);
    let e = explain_many(&[&y, &gradient], &options(), false)?;
    let operations = |is_derivative: bool| -> BTreeSet<String> {
        let nodes = e.details().nodes.into_iter().filter(|node| node.role == NodeRole::Operation);
        nodes.filter(|node| node.is_derivative == is_derivative).map(|node| node.what).collect()
    };
    let of = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    // A product with an adjoint of 0 is 0.
    assert_eq!(operations(true), of(&["cos", "multiply", "equal", "where"]), "{e}");
    assert_eq!(operations(false), of(&["square", "sin"]), "{e}");
    let lines = |text: &str, name: &str| -> Vec<bool> {
        let of_name = text.lines().filter(|line| line.starts_with("  n") && line.contains(name));
        of_name.map(|line| line.ends_with("  # derivative")).collect()
    };
    let text = e.to_string();
    // Each node is in the typed graph, and in the one after rewriting.
    for (name, is_marked) in [("cos(", true), ("square(", false), ("sin(", false), ("input 0", false)] {
        assert_eq!(lines(&text, name), [is_marked; 2], "{name}: {text}");
    }
    let is_of_derivative = |name: &str| {
        let titles = boxes(&page(&e, "a page"));
        titles
            .into_iter()
            .find(|title| title.contains(&format!(": {name} ")))
            .map(|title| title.ends_with(", of a derivative"))
    };
    assert_eq!([is_of_derivative("cos"), is_of_derivative("sin")], [Some(true), Some(false)]);
    assert!(!explained(&y).to_string().contains("derivative"));
    assert!(!page(&explained(&y), "a page").contains("a derivative"));
    Ok(())
}

/// Derivatives of derivatives, of batches and in kernels keep the marks.
#[test]
fn marks_outlive_transformations() -> Result<()> {
    let marks = |text: &str, name: &str| -> Vec<bool> {
        let of_name = text.lines().filter(|line| line.starts_with("  n") && line.contains(name));
        of_name.map(|line| line.ends_with("  # derivative")).collect()
    };
    let of = |x: &Array<'static>| -> Result<Array<'static>> {
        let x = variable(x)?;
        Ok(grad(&x.exp().sin().sum(())?, &[&x])?.remove(0))
    };
    let rows = vmap(|x| Ok(vec![of(&x[0])?]), &[ones(&[4, 3])], &[Some(0)], 0)?.remove(0);
    let x = variable(&ones(&[3]))?;
    let jacobian = jacfwd(&x.exp().sin(), &x)?;
    let input = Array::input("x", DType::Float32, &["n".into()])?;
    let kernel = Kernel::new(&[&of(&input)?], &[&input], &options())?;
    for (what, text) in [
        ("vmap", explained(&rows).to_string()),
        ("jacfwd", explained(&jacobian).to_string()),
        ("kernel", kernel.explain()?),
    ] {
        assert_eq!(marks(&text, " cos("), [true; 2], "{what}: {text}");
        assert_eq!(marks(&text, " exp("), [false; 2], "{what}: {text}");
    }
    Ok(())
}
