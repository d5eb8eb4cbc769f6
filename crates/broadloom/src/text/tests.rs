//! The results of texts, as rows of dtype, shape and values; and the messages and positions of errors.

use super::*;
use crate::with_promotion;
use crate::{DType, Error, ErrorKind};
use broadloom_core::Promotion;

/// The arrays that the rows below use.
fn names() -> Vec<(&'static str, Array<'static>)> {
    let table = Array::from_shape_vec(&[2, 2], vec![1.0f64, 2.0, 3.0, 4.0]).expect("four elements");
    vec![
        ("b", Array::from_vec(vec![true, false, true])),
        ("i", Array::from_vec(vec![-7i32, 0, 7])),
        ("u", Array::from_vec(vec![250u8, 2, 0])),
        ("x", Array::from_vec(vec![-1.5f32, 0.0, 2.5])),
        ("h", Array::from_vec(vec![crate::f16::from_f32(0.5)])),
        ("table", table),
        ("abs", Array::full(&[], 9i64).expect("one element")),
    ]
}

#[test]
fn texts_have_values() {
    for (text, expected) in [
        // Names, literals, and conversions of literals.
        ("x", "float32[3] [-1.5  0.   2.5]"),
        ("abs", "int64[] 9"),
        ("abs(abs)", "int64[] 9"),
        ("12", "int64[] 12"),
        ("-128", "int64[] -128"),
        ("0x10 + 0b11", "int64[] 19"),
        ("2.5", "float64[] 2.5"),
        ("true", "bool[] True"),
        ("-inf", "float64[] -inf"),
        ("where(b, nan, x)", "float32[3] [nan  0. nan]"),
        ("x * 2", "float32[3] [-3.  0.  5.]"),
        ("h + 1", "float16[1] [1.5]"),
        ("u + 5", "uint8[3] [255   7   5]"),
        ("1 / 4", "float64[] 0.25"),
        // Every operator, with its precedence.
        ("i + u * 0 - 1", "int32[3] [-8 -1  6]"),
        ("i / 2", "float64[3] [-3.5  0.   3.5]"),
        ("i // 2", "int32[3] [-4  0  3]"),
        ("i % 4", "int32[3] [1 0 3]"),
        ("-i + +i", "int32[3] [0 0 0]"),
        ("~u", "uint8[3] [  5 253 255]"),
        ("u >> 1 << 2", "uint8[3] [244   4   0]"),
        ("u & 3 | 4 ^ 1", "uint8[3] [7 7 5]"),
        ("~b | (x < 0) & (i != 0)", "bool[3] [ True  True False]"),
        ("x <= 0", "bool[3] [ True  True False]"),
        ("x >= 0", "bool[3] [False  True  True]"),
        ("x > 0", "bool[3] [False False  True]"),
        ("i == 7", "bool[3] [False False  True]"),
        // Powers: with signs, of powers, and of integers.
        ("-2**2", "int64[] -4"),
        ("(-2)**2", "int64[] 4"),
        ("-2.0**2", "float64[] -4.0"),
        ("2**3**2", "int64[] 512"),
        ("2**-1", "int64[] 0"),
        ("2.0**-1", "float64[] 0.5"),
        ("2**0.5**2 < 1.2", "bool[] True"),
        ("i**3**2", "int32[3] [-40353607         0  40353607]"),
        ("i**2", "int32[3] [49  0 49]"),
        ("i**-1", "int32[3] [0 0 0]"),
        ("(i // 7)**-1", "int32[3] [-1  0  1]"),
        ("(i // 7)**-2", "int32[3] [1 0 1]"),
        ("2**i", "int32[3] [  0   1 128]"),
        ("i**i", "int32[3] [     0      1 823543]"),
        ("u**2", "uint8[3] [36  4  0]"),
        ("2**u", "uint8[3] [0 4 1]"),
        ("-x**2", "float32[3] [-2.25 -0.   -6.25]"),
        ("x**2 * 2", "float32[3] [ 4.5  0.  12.5]"),
        ("x**-1", "float32[3] [-0.6666667        inf  0.4      ]"),
        ("x**1 - x", "float32[3] [0. 0. 0.]"),
        ("nan**0 + x**0", "float32[3] [2. 2. 2.]"),
        ("2.0**(x * 2)", "float32[3] [ 0.125  1.    32.   ]"),
        ("(x * x)**0.5", "float32[3] [1.5 0.  2.5]"),
        ("(x * 10)**0.5", "float32[3] [nan  0.  5.]"),
        ("h**2", "float16[1] [0.25]"),
        ("table**table", "float64[2,2] [[  1.   4.]\n [ 27. 256.]]"),
        ("pow(table, 3) - table**3", "float64[2,2] [[0. 0.]\n [0. 0.]]"),
        // Functions of every arity, and conversions.
        ("sqrt(square(x))", "float32[3] [1.5 0.  2.5]"),
        ("maximum(i, 1)", "int32[3] [1 1 7]"),
        ("clip(x, -1, 1)", "float32[3] [-1.  0.  1.]"),
        ("where(x > 0, x, 0)", "float32[3] [0.  0.  2.5]"),
        ("trunc_divide(i, 2)", "int32[3] [-3  0  3]"),
        ("exp(x * 0)", "float32[3] [1. 1. 1.]"),
        ("log10(10**(table - 1))", "float64[2,2] [[0. 1.]\n [2. 3.]]"),
        ("hypot(table * 3, table * 4)", "float64[2,2] [[ 5. 10.]\n [15. 20.]]"),
        ("atan2(x * 0, 1)", "float32[3] [-0.  0.  0.]"),
        ("exp(0) + log(1)", "float64[] 1.0"),
        ("astype(x, uint8)", "uint8[3] [0 0 2]"),
        ("astype(300, uint8)", "uint8[] 44"),
        ("astype(i, bool)", "bool[3] [ True False  True]"),
        ("astype(u, float32) * x", "float32[3] [-375.    0.    0.]"),
        // Operands that are broadcast.
        ("table * 10 + h", "float64[2,2] [[10.5 20.5]\n [30.5 40.5]]"),
    ] {
        let x = expression(text, &names()).unwrap_or_else(|e| panic!("{text}: {e}"));
        let shape = x.shape().iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        assert_eq!(format!("{}[{shape}] {x}", x.dtype()), expected, "{text}");
    }
}

#[test]
fn errors_have_places() {
    // Each row: the text, with the erroneous part in brackets; the kind of the error; and its message.
    for (marked, kind, words) in [
        ("x + [yy]", ErrorKind::Name, "`yy` is not known; known are `b`, `i`, `u`, `x`, `h`, `table`, `abs`"),
        ("x + [tabel]", ErrorKind::Name, "`tabel` is not known; did you mean `table`?"),
        (
            "2 * [sqrt]",
            ErrorKind::Name,
            "`sqrt` is not known; `sqrt` is a function: write its arguments after it, in parentheses",
        ),
        ("1 + [sqtr](x)", ErrorKind::Name, "there is no function `sqtr`; did you mean `sqrt`?"),
        (
            "[max](x, i)",
            ErrorKind::Arity,
            "`max(x, axis=…, keepdims=false)` takes 1 argument without a name, but is given 2; of two arrays it is `maximum(x, i)`",
        ),
        ("[frobnicate](x)", ErrorKind::Name, "there is no function `frobnicate`"),
        ("[canonical_nan](x)", ErrorKind::Name, "there is no function `canonical_nan`"),
        ("2 * [x](i)", ErrorKind::Name, "there is no function `x`"),
        ("x * [x](i)", ErrorKind::Name, "there is no function `x`; `x` is an array; to multiply, write `*`"),
        (
            "i[**]0.5",
            ErrorKind::DType,
            "pow: int32 with the literal 0.5; write astype(x, float64), or promote as NumPy does (promotion=numpy); int32 holds no 0.5",
        ),
        ("1 + u[**]-1", ErrorKind::Literal, "pow: -1 cannot be represented as uint8"),
        (
            "x[**]i**2",
            ErrorKind::DType,
            "pow: cannot promote float32 and int32; write astype(x, float32) for the int32 operand, or promote as NumPy does (promotion=numpy)",
        ),
        (
            "x + [exp](i)",
            ErrorKind::DType,
            "exp: does not take int32; write astype(x, float64), or promote as NumPy does (promotion=numpy)",
        ),
        (
            "[hypot](i, 2)",
            ErrorKind::DType,
            "hypot: does not take int32 and 2; write astype(x, float64), or promote as NumPy does (promotion=numpy)",
        ),
        (
            "[sin](b)",
            ErrorKind::DType,
            "sin: does not take bool; write astype(x, float64), or promote as NumPy does (promotion=numpy)",
        ),
        ("[atan2](x)", ErrorKind::Arity, "`atan2(x1, x2)` takes 2 arguments, but is given 1"),
        ("1 + [sqrt](x, x)", ErrorKind::Arity, "`sqrt(x)` takes 1 argument, but is given 2"),
        ("[clip](x, 1)", ErrorKind::Arity, "`clip(x, lo, hi)` takes 3 arguments, but is given 2"),
        ("[where]()", ErrorKind::Arity, "`where(condition, x2, x3)` takes 3 arguments, but is given 0"),
        ("[astype](x)", ErrorKind::Arity, "`astype(x, dtype)` takes 2 arguments, but is given 1"),
        ("astype(x, [flot32])", ErrorKind::Name, "`flot32` is not a dtype; did you mean `float32`?"),
        (
            "astype(x, [1 + 1])",
            ErrorKind::Name,
            "`dtype` of `astype` must be the name of a dtype; dtypes are bool, int8, int16, int32, int64, uint8, \
             uint16, uint32, uint64, float16, float32, float64",
        ),
        (
            "maximum(x, [int8])",
            ErrorKind::Arity,
            "`int8` is a dtype, which only `astype` and `dtype=` take; to convert, write `astype(x, int8)`",
        ),
        (
            "astype([int8], int8)",
            ErrorKind::Arity,
            "`int8` is a dtype, which only `astype` and `dtype=` take; to convert, write `astype(x, int8)`",
        ),
        (
            "2 * (x [+] i)",
            ErrorKind::DType,
            "add: cannot promote float32 and int32; write astype(x, float32) for the int32 operand, or promote as NumPy does (promotion=numpy)",
        ),
        (
            "1 + [sqrt](i)",
            ErrorKind::DType,
            "sqrt: does not take int32; write astype(x, float64), or promote as NumPy does (promotion=numpy)",
        ),
        (
            "astype(x, float64) [*] table",
            ErrorKind::Shape,
            "multiply: cannot broadcast float64[3] with float64[2,2] (axis -1: 3 and 2)",
        ),
        ("u [+] 300", ErrorKind::Literal, "add: 300 cannot be represented as uint8"),
        ("1 + 2[)]", ErrorKind::Syntax, "found `)`, but no parenthesis is open"),
        ("x +[]", ErrorKind::Syntax, "found the end of the text, expected an operand after `+`"),
    ] {
        let text = marked.replace(['[', ']'], "");
        let start = marked.find('[').expect("a mark") as u32;
        let end = marked.find(']').expect("a mark") as u32 - 1;
        let e = expression(&text, &names()).err().unwrap_or_else(|| panic!("{text} is no error"));
        assert_eq!((e.kind, &e.span), (kind, &(start..end)), "{text}: {e}");
        let (line, column) = e.position(&text);
        assert_eq!((e.line(), e.column()), (Some(line), Some(column)), "{text}");
        assert_eq!(e.to_string(), format!("line {line}, column {column}: {words}"), "{text}");
        // The error has the same contents when it is converted to the library's error.
        let error = crate::Error::from(e.clone());
        assert_eq!(
            (error.kind(), error.message(), error.help()),
            (e.kind(), e.message(), e.help()),
            "{text}"
        );
        assert_eq!(
            (error.place(), error.span(), error.render()),
            (e.place(), e.span(), e.render()),
            "{text}"
        );
        assert_eq!(error.to_string(), e.to_string());
        assert_eq!(Error::from(e).kind(), kind);
    }
}

#[test]
fn type_errors_name_the_operands() {
    let e = expression("(x) + where(b, i, 0)", &names()).expect_err("mixed kinds");
    assert_eq!(e.operands, [(1..2, "float32[3]".to_owned()), (6..20, "int32[3]".to_owned())]);
    assert!(e.uses_names);
    let e = expression("x + (true + 1)", &names()).expect_err("bool and integer");
    assert_eq!(e.operands, [(5..9, "true".to_owned()), (12..13, "1".to_owned())]);
    assert!(!e.uses_names);
}

#[test]
fn promotion_is_the_thread_s() {
    let mixed = || expression("x + i", &names()).map(|x| x.dtype());
    assert!(mixed().is_err());
    assert_eq!(with_promotion(Promotion::NumPy, mixed), Ok(DType::Float64));
    let dtype = |text| with_promotion(Promotion::NumPy, || expression(text, &names()).map(|x| x.dtype()));
    for text in ["exp(i)", "atan2(u, i)", "hypot(i, 2)", "i ** 0.5", "2.0 ** u", "x ** i"] {
        assert_eq!(dtype(text), Ok(DType::Float64), "{text}");
    }
    assert_eq!(dtype("i ** u"), Ok(DType::Int32));
    assert_eq!([dtype("hypot(u, 2)"), dtype("b + b")], [Ok(DType::Float16), Ok(DType::Bool)]);
}

#[test]
fn the_last_of_two_names_counts_and_one_parse_serves_several_builds() -> Result<(), TextError> {
    let x = Expression::parse("x + x + y")?;
    assert_eq!(x.names(), ["x", "y"]);
    for n in [1i8, 2] {
        let array = |n: i8| Array::from_vec(vec![n]);
        let sum = x.build(&[("y", array(9)), ("x", array(n)), ("y", array(n))])?;
        assert_eq!(sum.to_string(), format!("[{}]", 3 * n));
    }
    Ok(())
}

#[test]
fn a_long_text_builds_and_limits_are_errors() -> Result<(), TextError> {
    let x = Array::from_vec(vec![1i64, 2]);
    let long = format!("{}x{}", "-(".repeat(60_000), ")".repeat(60_000));
    assert_eq!(expression(&long, &[("x", x)])?.shape(), [2]);
    let options = ParseOptions { max_nodes: 2, ..ParseOptions::default() };
    let e = Expression::parse_with("1 + 2", &options).expect_err("three nodes");
    assert_eq!(e.kind, ErrorKind::Limit);
    Ok(())
}

#[test]
fn what_is_printed_has_the_same_structure() -> crate::Result<()> {
    use crate::engine::Options;
    use crate::lower::Lowered;
    let x = Array::from_shape_vec(&[2, 3], vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let (turned, row) = (x.t(), x.index_axis(0, -1)?);
    let two = crate::expr::constant(broadloom_core::Scalar::of(2.0_f32));
    let sum = &x + 1;
    let lazy = (&sum * &sum).t().slice([crate::Range::new(None, None, -2), crate::Range::from(..)])?;
    let rows: Vec<Vec<Array<'_>>> = vec![
        // A node that is used twice, and two equal nodes.
        vec![&sum * &sum, (&x + 1) * (&x + 1)],
        // A constant that is used twice, and two equal constants.
        vec![(&x * &two) + &two, (&x * 2) + 2],
        // Memory with several layouts; one array as two results.
        vec![&turned.t() + &row, row.clone(), row],
        vec![lazy.reshape(&[4])?.astype(DType::Int8), lazy.index_axis(1, 1)?, lazy.expand_dims(0)?],
        vec![Array::full(&[3], 0.5_f32)?.slice(1..)?, Array::scalar(-1), Array::scalar(f64::NAN)],
        vec![x.slice((0..0, ..))? + 1, two.broadcast_to(&[2, 2])?],
    ];
    for row in &rows {
        let roots: Vec<&Array<'_>> = row.iter().collect();
        let names: Vec<String> = (0..row.len()).map(|i| format!("r{i}")).collect();
        let named: Vec<(&str, &Array<'_>)> = names.iter().zip(row).map(|(n, x)| (&**n, x)).collect();
        let printed = Printed::new(&named)?;
        let program = Program::parse(&printed.text)?;
        let inputs: Vec<(&str, Array<'_>)> = printed.inputs.iter().map(|(n, x)| (&**n, x.clone())).collect();
        let built: Vec<Array<'_>> = program.build(&inputs)?.into_iter().map(|(_, x)| x).collect();
        let again: Vec<&Array<'_>> = built.iter().collect();
        let limits = Options::default().size_limits();
        let (one, other) = (Lowered::new(&roots, limits)?, Lowered::new(&again, limits)?);
        assert_eq!(one.expression().structure, other.expression().structure, "{printed}");
        assert!(
            one.literals().iter().map(|x| x.bits).eq(other.literals().iter().map(|x| x.bits)),
            "{printed}"
        );
    }
    Ok(())
}

#[test]
fn constants_give_way_to_what_has_their_name() -> std::result::Result<(), TextError> {
    use crate::engine::Options;
    use crate::kernel::Kernel;
    let array = |x: f64| Array::from_vec(vec![x]);
    let text = |text: &str, names: &[(&str, Array<'static>)]| -> std::result::Result<String, TextError> {
        let array = expression(text, names)?;
        Ok(format!("{}{} {array}", array.dtype(), array.all_dims()))
    };
    assert_eq!(text("pi", &[])?, "float64[] 3.141592653589793");
    assert_eq!(text("-e", &[])?, "float64[] -2.718281828459045");
    // A literal takes the dtype of the other operand.
    assert_eq!(text("x * pi", &[("x", Array::from_vec(vec![1.0_f32]))])?, "float32[1] [3.1415927]");
    // Arrays, bindings and parameters take precedence over the constants, but arrays are not visible in
    // user-defined functions.
    assert_eq!(text("e + 1", &[("e", array(1.0))])?, "float64[1] [2.]");
    assert_eq!(text("e = 4; e + 1", &[])?, "int64[] 5");
    assert_eq!(text("def f(e) = e + 1; f(2)", &[])?, "int64[] 3");
    assert_eq!(text("def f(x) = x * pi; f(2) + pi", &[("pi", array(1.0))])?, "float64[1] [7.28318531]");
    // A name that has been used can't be bound later; this error is reported before others.
    assert!(text("y = e; e = 2; y", &[]).is_err());
    let inputs = |text: &str| {
        Program::parse(text).map(|program| {
            program
                .inputs()
                .map(|input| (input.name().to_owned(), input.constant().is_some()))
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(inputs("x * pi")?, [("x".to_owned(), false), ("pi".to_owned(), true)]);
    assert_eq!(inputs("pi: float64; pi")?, [("pi".to_owned(), false)]);
    assert_eq!(inputs("pi = 3; pi")?, []);
    // A constant is not an input of the kernel.
    let kernel = Kernel::parse("r: float64[n]; 2 * pi * r", &Options::default())?;
    assert_eq!(kernel.inputs().len(), 1);
    Ok(())
}
