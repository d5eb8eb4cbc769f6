//! Tests programs as text: a printed program parses to the same program, and parsing an invalid text returns an error with the
//! line.

use broadloom_testkit::random::{Program, Size, program, with_other_values};

#[test]
fn what_is_printed_reads_back_bit_for_bit() {
    for seed in 0..3000 {
        let size = if seed % 1000 == 0 { Size::Long } else { Size::Small };
        for program in [program(seed, size), with_other_values(&program(seed, size), seed)] {
            let text = program.to_string();
            let back = text.parse::<Program>().unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
            assert_eq!(back, program, "seed {seed}\n{text}");
        }
    }
}

#[test]
fn what_a_line_can_be() {
    let text = "
        # a comment
        promotion numpy
        int_division error
        accuracy nearest
        contract on
        x: float16[2, 1] = [nan(0x7e01), -nan]   # bits, and a NaN with its sign
        _c = uint64(18446744073709551615)
        y = x + 0.5; k = -y
        z: float16[1,2] = permute_dims(y, [1, 0])
        b = z[::-1, 1:]
        e: int8[0] = []
        def third(t) = t / 3
        f = where(true, x, -1e-3)
        return f, b, f, last = third(x[1, 0])
    ";
    let program: Program = text.parse().expect("a program");
    let again: Program = program.to_string().parse().expect("a program");
    assert_eq!(program, again);
    assert_eq!((program.steps.len(), &program.roots[..]), (11, &[7, 5, 7, 10][..]));
    assert_eq!(program.run().expect("types").values[0].bits, [0x7e01, 0xfe00]);
}

#[test]
fn errors_name_the_line() {
    let x = "x: int8[2] = [1, 2]\n";
    for (text, line, message) in [
        ("", 1, "found the end of the text, expected an expression"),
        ("x: int8[2] = [1]", 1, "1 elements, not 2"),
        ("x: int8[1] = [128]", 1, "`128` is no int8"),
        ("x: int8[1] = [0x100]", 1, "`0x100` is no int8"),
        // Regression: eight bits were accepted as a bool, and printed as one bit.
        ("x: bool[1] = [0x2]", 1, "`0x2` is no bool"),
        // Regression: the product of the extents overflowed.
        ("x: int8[4294967296,4294967296,0] = []\nreturn x", 1, "[4294967296, 4294967296, 0] exceeds a limit"),
        ("x: float32[1] = [one]", 1, "found the name `one`, expected a value"),
        ("x: float32[1] = [1e39]", 1, "`1e39` is no float32"),
        ("x = float16(-70000)", 1, "`-70000` is no float16"),
        ("x: float32[n] = [1]", 1, "an input with values has numbers for extents"),
        ("x: float32[2]\nreturn x", 1, "the input `x` has no values"),
        ("promotion lax\nx", 1, "`lax` is no promotion: strict or numpy"),
        ("accuracy high\nx", 1, "`high` is no accuracy: fast or nearest"),
        ("contract maybe\nx", 1, "`maybe` is no value of contract: on or off"),
        ("speed high\nx", 1, "there is no setting `speed`: promotion, int_division, accuracy, contract"),
        (&format!("{x}{x}return x"), 2, "`x` has a value already; give it another name"),
        (&format!("{x}y = add(x, z)\ny"), 2, "`z` is not known; known are `x`"),
        (&format!("{x}y: int16[2] = add(x, x)\ny"), 2, "y is int8[2], not int16[2]"),
        (&format!("{x}y = ad(x, x)\ny"), 2, "there is no function `ad`; did you mean `add`?"),
        (&format!("{x}return 2"), 2, "what is returned is the literal 2, which has no dtype"),
        (
            &format!("{x}y = flip(x, a)\ny"),
            2,
            "`axis` of `flip` must be an integer; axes are numbered in the text, from 0 on, or from -1 backwards",
        ),
        (
            &format!("{x}return x\n{x}"),
            3,
            "found the name `x` after what is returned; results are separated by `,`: `return a, b`",
        ),
        (&format!("{x}canonical_nan(x)"), 2, "there is no function `canonical_nan`"),
    ] {
        let error = text.parse::<Program>().map(|p| p.to_string()).expect_err(text);
        assert_eq!((error.line, &error.message[..]), (line, message), "{text}");
    }
}
