//! Tests of valid input: every dtype, order and shape, chunks of every size, text output, pictures and plans.

use crate::support::{ArrayElement, Dir, Npy, header};
use broadloom_core::text::built_ins;

/// The descriptor of every dtype, with the little-endian bytes of six elements, which include the dtype's edge cases.
fn dtypes() -> Vec<(&'static str, Vec<u8>)> {
    fn row<T: ArrayElement>(values: [T; 6]) -> (&'static str, Vec<u8>) {
        (T::DESCR, T::bytes(&values))
    }
    vec![
        row([true, false, false, true, true, false]),
        row([0, 1, -1, i8::MIN, i8::MAX, 5]),
        row([0, 1, -1, i16::MIN, i16::MAX, 0x1234]),
        row([0, 1, -1, i32::MIN, i32::MAX, 0x1234_5678]),
        row([0, 1, -1, i64::MIN, i64::MAX, 0x1234_5678_9abc_def0]),
        row([0, 1, 2, u8::MAX, 5, 6]),
        row([0, 1, 2, u16::MAX, 0x1234, 6]),
        row([0, 1, 2, u32::MAX, 0x1234_5678, 6]),
        row([0, 1, 2, u64::MAX, 0x1234_5678_9abc_def0, 6]),
        row([0.5, -0.0, 65504.0, 6e-8, f32::INFINITY, 1.0].map(half::f16::from_f32)),
        row([0.5, -0.0, f32::MAX, 1e-45, f32::NEG_INFINITY, 1.0]),
        row([0.5, -0.0, f64::MAX, 5e-324, f64::NEG_INFINITY, 1.0]),
    ]
}

/// The elements of a 2 × 3 matrix, converted from one axis order to the other.
fn transposed(data: &[u8]) -> Vec<u8> {
    let size = data.len() / 6;
    [0, 3, 1, 4, 2, 5].iter().flat_map(|&i| data[i * size..(i + 1) * size].to_vec()).collect()
}

#[test]
fn every_dtype_order_and_endianness() {
    let dir = Dir::new();
    for (descr, data) in dtypes() {
        let size = data.len() / 6;
        let mut big = data.clone();
        big.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        let big_descr = descr.replace('<', ">");
        dir.npy("c.npy", descr, &[2, 3], false, &data);
        dir.npy("f.npy", descr, &[2, 3], true, &transposed(&data));
        dir.npy("big.npy", &big_descr, &[2, 3], false, &big);
        dir.npy("bigf.npy", &big_descr, &[2, 3], true, &transposed(&big));
        let result = |fortran: bool| Npy {
            descr: descr.into(),
            shape: vec![2, 3],
            fortran,
            data: if fortran { transposed(&data) } else { data.clone() },
        };
        for chunk in ["32", "64M"] {
            for file in ["c", "f", "big", "bigf"] {
                let x = format!("x={file}.npy");
                dir.ok(&["eval", "x", &x, "-o", "out.npy", "--force", "--max-bytes", chunk]);
                assert_eq!(dir.read("out.npy"), result(file.ends_with('f')), "{descr} {file} {chunk}");
                // If the file of one operand is in C order, the result is in C order.
                let call = "where(x == x, x, y)";
                let args = ["eval", call, &x, "y=c.npy", "-o", "out.npy", "--force", "--max-bytes", chunk];
                dir.ok(&args);
                assert_eq!(dir.read("out.npy"), result(false), "{descr} {file} {chunk}");
            }
        }
    }
}

#[test]
fn bytes_other_than_1_are_true() {
    let dir = Dir::new();
    dir.npy("b.npy", "|b1", &[4], false, &[0, 1, 2, 255]);
    dir.ok(&["eval", "b", "b=b.npy", "-o", "out.npy"]);
    assert_eq!(dir.read("out.npy").data, [0, 1, 1, 1]);
    assert_eq!(dir.ok(&["eval", "~b", "b=b.npy"]), "[ True False False False]\n");
}

#[test]
fn shapes_without_axes_and_without_elements() {
    let dir = Dir::new();
    dir.array("zero.npy", &[], &[2.5f32]);
    dir.array::<f32>("none.npy", &[0, 3], &[]);
    dir.array::<f32>("nil.npy", &[2, 0], &[]);
    dir.array("row.npy", &[3], &[1.0f32, 2.0, 3.0]);
    for (expression, args, shape, data) in [
        ("zero * 2", &["zero=zero.npy"][..], &[][..], vec![5.0f32]),
        ("zero + row", &["zero=zero.npy", "row=row.npy"], &[3], vec![3.5, 4.5, 5.5]),
        ("none + row", &["none=none.npy", "row=row.npy"], &[0, 3], vec![]),
        ("nil * zero", &["nil=nil.npy", "zero=zero.npy"], &[2, 0], vec![]),
        ("astype(1 + 2, float32)", &[], &[], vec![3.0]),
    ] {
        dir.ok(&[&["eval", expression, "-o", "out.npy", "--force"], args].concat());
        let shape: Vec<u64> = shape.to_vec();
        let expected = Npy { descr: "<f4".into(), shape, fortran: false, data: f32::bytes(&data) };
        assert_eq!(dir.read("out.npy"), expected, "{expression}");
    }
    assert_eq!(dir.ok(&["eval", "zero", "zero=zero.npy"]), "2.5\n");
    assert_eq!(dir.ok(&["eval", "none", "none=none.npy"]), "[]\n");
    assert_eq!(dir.ok(&["eval", "1 / 4"]), "0.25\n");
}

#[test]
fn chunks_do_not_show() {
    let dir = Dir::new();
    let counted: Vec<f64> = (0..60).map(|i| f64::from(i) * 0.75 - 20.0).collect();
    dir.array("c.npy", &[5, 4, 3], &counted);
    dir.npy("f.npy", "<f8", &[5, 4, 3], true, &f64::bytes(&counted));
    let mut big = f64::bytes(&counted);
    big.chunks_exact_mut(8).for_each(<[u8]>::reverse);
    dir.npy("big.npy", ">f8", &[5, 4, 3], true, &big);
    // A file whose data is not aligned to the element size.
    dir.write("odd.npy", &[header("<f8", &[5, 4, 3], false, 3), f64::bytes(&counted)].concat());
    assert_ne!(header("<f8", &[5, 4, 3], false, 3).len() % 8, 0);
    dir.array("row.npy", &[3], &[10.0f32, 20.0, 30.0]);
    dir.npy("plane.npy", "<i2", &[1, 4, 3], true, &i16::bytes(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]));
    dir.array("mask.npy", &[5, 1, 1], &[true, false, true, true, false]);
    let expressions = [
        "where(mask, c, astype(plane, float64)) * astype(row, float64) + f",
        "c + f * big - odd",
        "f + big",
        "odd > astype(row, float64)",
        "astype(row, float64)",
        "astype(plane, float64) + big",
    ];
    let names = ["c", "f", "big", "odd", "row", "plane", "mask"];
    for expression in expressions {
        let used = names.iter().filter(|name| mentions(expression, name));
        let inputs: Vec<String> = used.map(|name| format!("{name}={name}.npy")).collect();
        let args = |chunk: &str, out: &str| {
            let mut args = vec!["eval".to_owned(), expression.to_owned()];
            args.extend(inputs.iter().cloned());
            args.extend(["--max-bytes", chunk, "-o", out, "--force"].map(str::to_owned));
            args
        };
        let run = |chunk: &str, out: &str| {
            let args = args(chunk, out);
            dir.ok(&args.iter().map(String::as_str).collect::<Vec<_>>());
            dir.read(out)
        };
        let whole = run("64M", "whole.npy");
        for chunk in ["64", "72", "100", "150", "200", "333", "500", "1000", "1500", "2K"] {
            assert_eq!(run(chunk, "out.npy"), whole, "{expression} {chunk}");
        }
    }
}

/// Evaluates views of files with any axis order, byte order and alignment. The output file must be the same with chunks of
/// every size as with a single chunk.
#[test]
fn chunks_do_not_show_through_views() {
    let dir = Dir::new();
    let counted: Vec<f64> = (0..60).map(|i| f64::from(i * i % 37) * 0.75 - 20.0).collect();
    let bytes = f64::bytes(&counted);
    let mut big = bytes.clone();
    big.chunks_exact_mut(8).for_each(<[u8]>::reverse);
    dir.array("c.npy", &[5, 12], &counted);
    dir.npy("f.npy", "<f8", &[5, 12], true, &bytes);
    dir.npy("big.npy", ">f8", &[5, 12], false, &big);
    dir.write("odd.npy", &[header("<f8", &[5, 12], false, 3), bytes].concat());
    dir.array("row.npy", &[12], &counted[..12]);
    dir.array("mask.npy", &[12, 5], &(0..60).map(|i| i % 3 == 0).collect::<Vec<bool>>());
    let names = ["c", "f", "big", "odd", "row", "mask"];
    for expression in [
        "c[1:] - c[:-1]",
        "f[:, 1:] - f[:, :-1] + c[:, 1:]",
        "c + c[::-1, ::-1] * big[:, ::-1]",
        "where(permute_dims(mask, [1, 0]), c, f)[::2, ::-3]",
        "permute_dims(odd, [1, 0]) + permute_dims(f, [1, 0])[::-1]",
        "reshape(permute_dims(f, [1, 0]), [-1])[1:] + reshape(big, [-1])[:-1]",
        "reshape(c, [3, 20])[:, 1:] * 2 - reshape(odd, [3, 20])[:, :-1]",
        "d = exp(c / 50) + row; d[2:, 1:-1] - d[:-2, 2:] - d[1:-1, :-2]",
        "row[::2] + row[1::2]",
        "broadcast_to(row, [3, 5, 12]) < f",
        "mask[1:, 1] | mask[:-1, 0]",
        "c[3] + row[5] - c[4, 0]",
        "c[5:] + row",
        "x: float64[n, 12]; return x[1:]",
    ] {
        let used = names.iter().filter(|name| mentions(expression, name));
        let mut files: Vec<String> = used.map(|name| format!("{name}={name}.npy")).collect();
        if expression.starts_with("x:") {
            files.push("x=c.npy".into());
        }
        let run = |size: &str, out: &str| {
            let mut args = vec!["eval", expression, "--max-bytes", size, "-o", out, "--force"];
            args.extend(files.iter().map(String::as_str));
            dir.ok(&args);
            dir.read(out)
        };
        let whole = run("64M", "whole.npy");
        for size in ["128", "200", "500", "1K", "2K"] {
            assert_eq!(run(size, "out.npy"), whole, "{expression} {size}");
        }
        // Printing computes the corners of a large result, or all of a small result. The text must equal the text of the file
        // that was computed in one chunk.
        let args: Vec<&str> =
            ["eval", expression].into_iter().chain(files.iter().map(String::as_str)).collect();
        assert_eq!(dir.ok(&args), dir.ok(&["eval", "whole", "whole=whole.npy"]), "{expression}");
    }
}

/// Reductions in passes and chunks of every size are equal to those computed at once, for files in C and in Fortran order.
#[test]
fn reductions_in_chunks() {
    let dir = Dir::new();
    let numbers: Vec<f32> = (0..6000).map(|i| (i as f32 * 0.37).sin() * 10f32.powi(i % 9 - 4)).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    dir.npy("c.npy", "<f4", &[75, 80], false, &bytes);
    dir.npy("f.npy", "<f4", &[75, 80], true, &bytes);
    for expression in [
        "sum(x)",
        "mean(x, axis=0)",
        "mean(x, axis=1)",
        "var(x, axis=0, correction=1)",
        "std(x)",
        "argmax(x, axis=0)",
        "x - mean(x, axis=0)",
        "e = exp(x / 1e5 - max(x, axis=1, keepdims=true)); e / sum(e, axis=1, keepdims=true)",
        "count_nonzero(x > mean(x))",
        "any(x > 1e4, axis=1)",
        "sum(x[1:] * x[:-1])",
        "_, y = scan (s = 0.25; v in x, axis=0) { y = s; s = s * 0.5 + v }; y",
        "s, y = scan (s = 0.25; v in x, axis=1, reverse=true) { y = s; s = s * 0.5 + v }; y - expand_dims(s, axis=1)",
        "s = scan (s = 0.25; v in x, axis=0, reverse=true) { s = s * 0.5 + v }; s",
        "_, s = scan (s = 0.25; v in reshape(x, [-1]), axis=0) { s = s * 0.5 + v }; s",
    ] {
        for file in ["x=c.npy", "x=f.npy"] {
            let eval = |output, size| {
                dir.ok(&["eval", expression, file, "-o", output, "--force", "--max-bytes", size])
            };
            eval("whole.npy", "64M");
            for size in ["2K", "5000"] {
                eval("chunks.npy", size);
                let (chunks, whole) = (dir.read("chunks.npy"), dir.read("whole.npy"));
                assert_eq!(chunks.shape, whole.shape, "{expression} {file} {size}");
                assert!(chunks.data == whole.data, "{expression} {file} {size}");
                let shown = |size| dir.ok(&["eval", expression, file, "--max-bytes", size]);
                assert_eq!(shown(size), shown("64M"), "{expression} {file} {size}");
            }
        }
    }
}

/// An integer division by zero whose result is not read fails the evaluation in chunks too, and no file is created.
#[test]
fn divisions_that_nothing_reads() {
    let dir = Dir::new();
    dir.array("i.npy", &[100], &(0..100).collect::<Vec<i32>>());
    for (expression, status) in [
        ("(7 // i)[1:]", 1),
        ("(7 // i[1:])[3:]", 0),
        ("sum((7 // i)[1:])", 1),
        ("max(7 // i)", 1),
        ("sum((7 // i[1:])[3:])", 0),
    ] {
        for size in ["64", "64M"] {
            for output in [&["-o", "out.npy", "--force"][..], &[]] {
                let args = ["eval", expression, "i=i.npy", "--int-div-zero", "error", "--max-bytes", size];
                let outcome = dir.run(&[&args[..], output].concat());
                assert_eq!(outcome.status, Some(status), "{expression} {size}: {}", outcome.stderr);
            }
        }
    }
}

#[test]
fn what_no_chunk_holds() {
    let dir = Dir::new();
    dir.array("x.npy", &[10], &[1.0f64; 10]);
    let outcome = dir.run(&["eval", "x[1:] + x[:-1]", "x=x.npy", "-o", "out.npy", "--max-bytes", "20"]);
    assert_eq!(outcome.status, Some(1));
    assert_eq!(
        outcome.stderr,
        "error: the smallest chunk takes 24 bytes of memory, the limit is 20; slice [0:9] needs 8 bytes of float64[10]; \
         --max-bytes 24 is enough\n"
    );
    // A reduction can be divided into chunks of any size, a scan only at block boundaries.
    assert_eq!(dir.ok(&["eval", "sum(x)", "x=x.npy", "--max-bytes", "20"]), "10.0\n");
    let outcome = dir.run(&["eval", "sum(cumulative_sum(x))", "x=x.npy", "--max-bytes", "20"]);
    assert_eq!(outcome.status, Some(1));
    let why = "cumulative_sum along axis 0 needs 80 bytes of float64[10]; --max-bytes 80 is enough\n";
    assert!(outcome.stderr.ends_with(why), "{}", outcome.stderr);
    dir.ok(&["eval", "sum(cumulative_sum(x))", "x=x.npy", "--max-bytes", "80"]);
    // The size that the message advises is sufficient, and less than a chunk without passes needs.
    let outcome = dir.run(&["eval", "sum(x)", "x=x.npy", "--max-bytes", "8"]);
    let why = "error: the limit of 8 bytes of memory is too small; sum along (0,) needs 80 bytes of float64[10]; \
               --max-bytes 16 is enough\n";
    assert_eq!(outcome.stderr, why);
    dir.ok(&["eval", "sum(x)", "x=x.npy", "--max-bytes", "16"]);
    assert_eq!(dir.names(), ["x.npy"]);
}

/// The explanation first shows the first pass over the file, and then how the values computed by passes are used.
#[test]
fn passes_are_explained() {
    let dir = Dir::new();
    dir.array("x.npy", &[1000], &[1.0f64; 1000]);
    let explain = |size| dir.ok(&["eval", "x - mean(x)", "x=x.npy", "--explain", "--max-bytes", size]);
    let text = explain("2K");
    assert!(text.starts_with("sum along (0,) of float64[1000] in 5 chunks; of the first:\n"), "{text}");
    let (pass, result) = text.split_once("\nfloat64[1000] in ").expect("the result");
    assert!(pass.contains("sum") && result.contains(" chunks of "), "{text}");
    assert!(explain("64M").starts_with("float64[1000] in one chunk\n"));
    dir.ok(&["eval", "var(x)", "x=x.npy", "--explain-html", "x.html", "--max-bytes", "2K"]);
}

fn mentions(expression: &str, name: &str) -> bool {
    expression.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name)
}

#[test]
fn matrices_in_fortran_order_give_one() {
    let dir = Dir::new();
    dir.npy("f.npy", "<i4", &[2, 3], true, &i32::bytes(&[1, 4, 2, 5, 3, 6]));
    dir.array("row.npy", &[3], &[10i32, 20, 30]);
    dir.array("table.npy", &[2, 3], &[0i32; 6]);
    dir.ok(&["eval", "f + row", "f=f.npy", "row=row.npy", "-o", "out.npy"]);
    let sum = [11, 14, 22, 25, 33, 36];
    assert_eq!(
        dir.read("out.npy"),
        Npy { descr: "<i4".into(), shape: vec![2, 3], fortran: true, data: i32::bytes(&sum) }
    );
    dir.ok(&["eval", "f + table", "f=f.npy", "table=table.npy", "-o", "out.npy", "--force"]);
    assert!(!dir.read("out.npy").fortran);
    assert_eq!(dir.ok(&["eval", "f + row", "f=f.npy", "row=row.npy"]), "[[11 22 33]\n [14 25 36]]\n");
}

#[test]
fn options_have_their_effect() {
    let dir = Dir::new();
    dir.array("i.npy", &[3], &[7i32, -7, 0]);
    dir.array("x.npy", &[3], &[0.5f32, 1.5, 2.5]);
    let numpy = ["eval", "i * x", "i=i.npy", "x=x.npy", "--promotion", "numpy"];
    assert_eq!(dir.ok(&numpy), "[  3.5 -10.5   0. ]\n");
    for (executor, threads) in [("interp", "1"), ("jit", "2"), ("auto", "1")] {
        let args = ["eval", "x * 0 + x", "x=x.npy", "--executor", executor, "--threads", threads];
        assert_eq!(dir.ok(&args), "[0.5 1.5 2.5]\n");
    }
    assert_eq!(dir.ok(&["eval", "i // i", "i=i.npy", "--int-div-zero", "zero"]), "[1 1 0]\n");
    assert_eq!(dir.ok(&["eval", "-i", "i=i.npy"]), "[-7  7  0]\n");
    for executor in ["interp", "jit"] {
        let plan = dir.ok(&[
            "eval",
            "x * 2 + 1",
            "x=x.npy",
            "--explain",
            "--executor",
            executor,
            "-o",
            "o",
            "--force",
        ]);
        assert!(plan.starts_with("float32[3] in one chunk\n"), "{plan}");
        assert!(plan.contains("multiply") && plan.contains("kernel 0"), "{plan}");
        assert!(plan.contains("  # x\n") && plan.contains("v0 reads x, contiguous"), "{plan}");
        assert!(!plan.contains("input 0"), "{plan}");
    }
    let plan = dir.ok(&["eval", "x + 1", "x=x.npy", "--explain", "--max-bytes", "16"]);
    assert!(plan.starts_with("float32[3] in 2 chunks of 2 elements or fewer; of the first:\n"), "{plan}");
    assert!(plan.ends_with("[1.5 2.5 3.5]\n"), "{plan}");
}

#[test]
fn an_explanation_is_a_page() {
    let dir = Dir::new();
    dir.array("x.npy", &[3], &[0.5f32, 1.5, 2.5]);
    let args = ["eval", "where(x < 1, x, x*2)", "x=x.npy", "--explain-html", "plan.html"];
    assert_eq!(dir.ok(&args), "[0.5 3.  5. ]\n");
    let page = std::fs::read_to_string(dir.path("plan.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    assert!(page.contains("<title>where(x &lt; 1, x, x*2) → float32[3] in one chunk</title>"), "{page}");
    assert!(page.contains("<svg") && page.contains("multiply"), "{page}");
    assert!(
        page.contains(">x</text>") && page.contains("reads x</td>") && !page.contains("reads input 0"),
        "{page}"
    );
    // A second run fails, because the first one has created the output file.
    assert_eq!(dir.run(&args).status, Some(1));
}

/// The explanation uses the names of the command line, also for bools, which are read as bytes, and for files that are read in
/// parts.
#[test]
fn an_explanation_has_the_names_of_the_command_line() {
    let dir = Dir::new();
    dir.array("nir.npy", &[2, 3], &[5u16, 6, 7, 8, 9, 10]);
    dir.array("red.npy", &[3], &[1u16, 2, 3]);
    dir.array("mask.npy", &[3], &[true, false, true]);
    let inputs = ["nir=nir.npy", "red=red.npy", "clear=mask.npy", "--explain"];
    let plan = dir.ok(&[&["eval", "where(clear, nir - red, 0)"], &inputs[..]].concat());
    for (name, dtype) in [("nir", "uint16[2,3]"), ("red", "uint16[3]"), ("clear", "uint8[3]")] {
        let line = format!(": {dtype}  # {name}\n");
        assert!(plan.contains(&line) && plan.contains(&format!("reads {name}, ")), "{name}: {plan}");
    }
    assert!(!plan.contains("# input"), "{plan}");
}

/// Powers, and functions whose exact results are representable, by both executors and in chunks.
#[test]
fn powers_and_transcendental_functions() {
    let dir = Dir::new();
    dir.array("i.npy", &[4], &[-3i32, -1, 0, 2]);
    dir.array("x.npy", &[2, 2], &[1.0f32, 4.0, 9.0, 0.25]);
    dir.array("h.npy", &[3], &[0.0, 1.0, 2.0].map(half::f16::from_f32));
    for (expression, file, text) in [
        ("-2**2", "", "-4\n"),
        ("2**-1", "", "0\n"),
        ("2.0**-1", "", "0.5\n"),
        ("2**3**2", "", "512\n"),
        ("i**3", "i", "[-27  -1   0   8]\n"),
        ("i**-1", "i", "[ 0 -1  0  0]\n"),
        ("2.0**astype(i, float64)", "i", "[0.125 0.5   1.    4.   ]\n"),
        ("x**0.5", "x", "[[1.  2. ]\n [3.  0.5]]\n"),
        ("x**2 - x*x", "x", "[[0. 0.]\n [0. 0.]]\n"),
        ("x**-1", "x", "[[1.         0.25      ]\n [0.11111111 4.        ]]\n"),
        ("h**h**h", "h", "[ 0.  1. 16.]\n"),
        ("exp(h * 0) + log2(2.0**h)", "h", "[1. 2. 3.]\n"),
        ("hypot(h * 3, h * 4)", "h", "[ 0.  5. 10.]\n"),
        ("round(sin(x * 0) + cos(x * 0))", "x", "[[1. 1.]\n [1. 1.]]\n"),
    ] {
        let input = format!("{file}={file}.npy");
        for options in [&["--executor", "interp"][..], &["--executor", "jit"], &["--max-bytes", "64"]] {
            let inputs = if file.is_empty() { vec![] } else { vec![&*input] };
            assert_eq!(dir.ok(&[&["eval", expression], &inputs[..], options].concat()), text, "{expression}");
        }
    }
    let numpy = dir.ok(&["eval", "exp(i * 0) + i**2", "i=i.npy", "--promotion", "numpy"]);
    assert_eq!(numpy, "[10.  2.  1.  5.]\n");
}

#[cfg(unix)]
#[test]
fn threads_are_limited() {
    let dir = Dir::new();
    dir.array("x.npy", &[1 << 20], &vec![2.0f64; 1 << 20]);
    let plan = |threads: &str| {
        let command = format!("eval 'sqrt(x) + x / 3' x=x.npy --explain --threads {threads}");
        dir.shell(&format!("RAYON_NUM_THREADS=2 \"$broadloom\" {command}")).stdout
    };
    assert!(plan("1").contains("(1 thread,"), "{}", plan("1"));
    assert!(plan("2").contains("(2 threads,"), "{}", plan("2"));
}

#[test]
fn an_input_that_is_not_used_is_a_warning() {
    let dir = Dir::new();
    dir.array("x.npy", &[1], &[1u8]);
    let outcome = dir.run(&["eval", "x", "x=x.npy", "y=x.npy"]);
    assert_eq!((outcome.status, &*outcome.stdout), (Some(0), "[1]\n"));
    assert_eq!(outcome.stderr, "warning: the expression does not use `y`\n");
    let outcome = dir.run(&["eval", "x", "x=x.npy", "y=3"]);
    assert_eq!(outcome.stderr, "warning: the expression does not use `y`\n");
}

/// An input that is a number takes the dtype of the arrays that it is combined with, or the declared dtype. A file whose name
/// is a number is specified with its folder.
#[test]
fn an_input_may_be_a_number() {
    let dir = Dir::new();
    dir.array("x.npy", &[2], &[1.5f32, -2.0]);
    dir.array("3", &[], &[40.0f64]);
    for (program, inputs, shown) in [
        ("x * rate", &["x=x.npy", "rate=3"][..], "[ 4.5 -6. ]\n"),
        ("x * rate", &["rate=-0.5", "x=x.npy"], "[-0.75  1.  ]\n"),
        ("where(flag, x, 0)", &["x=x.npy", "flag=false"], "[0. 0.]\n"),
        ("a / b", &["a=1", "b=4"], "0.25\n"),
        ("x: float32[n]\nk: float64\nreturn k * 2", &["x=x.npy", "k=3"], "6.0\n"),
        ("a + 0", &["a=./3"], "40.0\n"),
    ] {
        let args = [&["eval", program][..], inputs].concat();
        assert_eq!(dir.run(&args).stdout, shown, "{program}");
    }
    for (program, input, words) in [
        ("x + n", "n=1e300", "cannot be represented as float32"),
        ("x & n", "n=1", "does not take float32"),
        ("x + y", "x=1", "two files or numbers are given for `x`"),
    ] {
        let outcome = dir.run(&["eval", program, "x=x.npy", input]);
        assert!(outcome.status != Some(0) && outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn large_results_print_as_a_summary() {
    let dir = Dir::new();
    dir.array("x.npy", &[2000], &(0..2000).collect::<Vec<i32>>());
    for chunk in ["64M", "64"] {
        for option in ["zero", "error"] {
            let args = ["eval", "x * 2 // 2", "x=x.npy", "--max-bytes", chunk, "--int-div-zero", option];
            assert_eq!(dir.ok(&args), "[   0    1    2 ... 1997 1998 1999]\n");
        }
    }
}

#[test]
fn pictures_are_png() {
    let dir = Dir::new();
    dir.array("x.npy", &[100], &(0..100).map(|i| f64::from(i * i)).collect::<Vec<_>>());
    dir.npy("f.npy", "<f4", &[20, 30], true, &f32::bytes(&(0..600).map(|i| i as f32).collect::<Vec<_>>()));
    let png = |name: &str| {
        let bytes = std::fs::read(dir.path(name)).expect("a picture");
        assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
        bytes
    };
    assert_eq!(dir.ok(&["eval", "x / 2", "x=x.npy", "--plot", "line.png"]), "");
    png("line.png");
    // The picture does not depend on the size of chunks, or on whether it is drawn from the written file.
    dir.ok(&["eval", "f * 2", "f=f.npy", "--plot", "map.png"]);
    let map = png("map.png");
    for chunk in ["16", "100", "1000"] {
        dir.ok(&["eval", "f * 2", "f=f.npy", "--plot", "map.png", "--max-bytes", chunk, "--force"]);
        assert_eq!(png("map.png"), map);
        let args =
            ["eval", "f * 2", "f=f.npy", "--plot", "map.png", "-o", "o", "--max-bytes", chunk, "--force"];
        dir.ok(&args);
        assert_eq!(png("map.png"), map);
        assert!(dir.read("o").fortran);
    }
    assert_eq!(dir.names(), ["f.npy", "line.png", "map.png", "o", "x.npy"]);
}

#[test]
fn the_functions_are_listed() {
    let dir = Dir::new();
    let list = dir.ok(&["ops"]);
    // The list contains `astype`, which is not an op, and an empty line before the reductions, the generated arrays, the random
    // numbers, the elements at computed indices, the whole arrays, the views, and the derivatives.
    assert_eq!(list.lines().count(), broadloom::Op::public().count() + built_ins().count() + 7);
    assert!(
        list.lines().any(|line| line.starts_with("vector_norm(x, axis=…, keepdims=false, ord=2) ")),
        "{list}"
    );
    assert!(list.lines().any(|line| line.starts_with("where(condition, x2, x3) ")), "{list}");
    assert!(
        list.lines().any(|line| line.starts_with("pow(x1, x2) ") && line.contains(" x1 ** x2 ")),
        "{list}"
    );
    let version = dir.ok(&["--version"]);
    assert_eq!(version, format!("broadloom {}\n", env!("CARGO_PKG_VERSION")));
}

/// The command to regenerate the page: `cargo run -p broadloom-cli -- ops --markdown > docs/generated/ops.md`
#[test]
fn the_page_of_functions_is_current() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/ops.md");
    assert_eq!(std::fs::read_to_string(page).expect("the page"), Dir::new().ok(&["ops", "--markdown"]));
}

#[test]
fn programs_views_and_types() {
    let dir = Dir::new();
    let matrix: Vec<i32> = (0..12).collect();
    let bytes = <i32 as ArrayElement>::bytes(&matrix);
    dir.write("x.npy", &[header("<i4", &[3, 4], false, 0), bytes.clone()].concat());
    dir.write("f.npy", &[header("<i4", &[4, 3], true, 0), bytes].concat());
    for (text, expected) in [
        ("d = x[1:] - x[:-1]\nd[:, ::-1] * x[0]", "[[ 0  4  8 12]\n [ 0  4  8 12]]\n"),
        ("def half(x) = x // 2; half(half(x[2]))", "[2 2 2 2]\n"),
        ("x: int32[n, 4]; return y = permute_dims(x, [1, 0])[3]", "[ 3  7 11]\n"),
        ("s = x + x # twice\nreturn s[0]", "[0 2 4 6]\n"),
        // `f` is the same array in Fortran order.
        ("permute_dims(f, [1, 0])[1:, 2]", "[ 6 10]\n"),
    ] {
        // The results are the same in small chunks.
        let files: &[&str] =
            if text.contains("f[") || text.contains("(f,") { &["f=f.npy"] } else { &["x=x.npy"] };
        let told = dir.ok(&[&["eval", text, "--max-bytes", "64"], files].concat());
        assert_eq!(told, expected, "{text}");
    }
    let wrong = dir.run(&["eval", "x: int32[n, 5]; return x", "x=x.npy"]);
    assert!(
        wrong.stderr.contains("`x`, declared int32[n, 5], has the shape [3,4], but axis 1 is 5"),
        "{}",
        wrong.stderr
    );
}
