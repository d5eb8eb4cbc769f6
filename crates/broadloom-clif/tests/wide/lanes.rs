//! Subvectors, concatenations and short vectors: lanes keep their order, and the bits above the last lane of a short
//! vector or mask never affect another lane.

use broadloom_wide::{Convention, Intrinsic, Level};

use crate::machine::{CompiledFunction, RowMajor, levels, taken};
use crate::rows::Dice;

/// A function that loads three contiguous vectors of a type from its first operand as v10, v11 and v12, and stores
/// `results`, which `body` computes from them, to its second operand.
fn function(ty: &str, bytes: usize, head: &str, body: &str, results: &[(&str, usize)]) -> String {
    let mut text = format!("function u0:0(i64, i64, i64, i64, i64, i64) system_v {{\n{head}");
    text += "block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64):\n";
    text += "    v6 = load.i64 notrap aligned v0\n    v7 = load.i64 notrap aligned v0+16\n";
    for i in 0..3 {
        text += &format!("    v{} = load.{ty} notrap v6+{}\n", 10 + i, i * bytes);
    }
    text += body;
    let mut at = 0;
    for (value, bytes) in results {
        text += &format!("    store notrap {value}, v7+{at}\n");
        at += bytes;
    }
    text + "    return\n}\n"
}

/// Runs a function that reads `input` and writes `bytes` bytes, which are returned.
fn run(text: &str, level: Level, input: &mut [u8], bytes: usize) -> Option<Vec<u8>> {
    let machine = taken(CompiledFunction::of_text(text, level, Convention::SystemV), level)?;
    let mut output = vec![0xa5; bytes + 64];
    let operands =
        [RowMajor { ptr: input.as_mut_ptr(), stride: 0 }, RowMajor { ptr: output.as_mut_ptr(), stride: 0 }];
    // SAFETY: the function reads three vectors, which `input` contains, and writes `bytes` of the `bytes + 64` bytes of
    // `output`.
    unsafe { machine.call(&operands, 1, 1) };
    assert!(output[bytes..].iter().all(|&b| b == 0xa5), "bytes behind the results");
    output.truncate(bytes);
    Some(output)
}

fn most(level: Level) -> usize {
    if level == Level::Avx512 { 64 } else { 32 }
}

/// The type of a vector of `lanes` integers of `bytes` bytes.
fn vector(bytes: usize, lanes: usize) -> String {
    format!("i{}x{lanes}", 8 * bytes)
}

fn import(number: usize, intrinsic: Intrinsic, signature: &str) -> String {
    let name = intrinsic.name();
    format!(
        "    sig{number} = {signature} system_v\n    fn{number} = u{}:{} sig{number}\n",
        name.namespace, name.index
    )
}

/// All vector types from 64 bits to the widest of the level, as (bytes of a lane, number of lanes).
fn types(level: Level) -> impl Iterator<Item = (usize, usize)> {
    [1usize, 2, 4, 8].into_iter().flat_map(move |bytes| {
        [2usize, 4, 8, 16, 32, 64]
            .into_iter()
            .map(move |lanes| (bytes, lanes))
            .filter(move |(b, l)| (8..=most(level)).contains(&(b * l)))
    })
}

#[test]
fn subvectors_of_every_size_at_every_index() {
    for level in levels() {
        for (bytes, lanes) in types(level) {
            let whole = bytes * lanes;
            let mut pieces = 2;
            while whole / pieces >= 4 && lanes / pieces >= 2 {
                let (ty, part) = (vector(bytes, lanes), vector(bytes, lanes / pieces));
                let size = whole / pieces;
                for place in 0..pieces {
                    let head = import(0, Intrinsic::Piece(place as u8), &format!("({ty}) -> {part}"));
                    let text = function(&ty, whole, &head, "    v20 = call fn0(v11)\n", &[("v20", size)]);
                    let mut input: Vec<u8> = (0..3 * whole).map(|i| i as u8).collect();
                    let Some(found) = run(&text, level, &mut input, size) else { continue };
                    let from = whole + place * size;
                    assert_eq!(
                        found,
                        input[from..from + size],
                        "piece {place} of {pieces} of {ty}, {level:?}"
                    );
                }
                pieces *= 2;
            }
        }
    }
}

#[test]
fn concatenated_vectors() {
    for level in levels() {
        for (bytes, lanes) in types(level).filter(|(b, l)| b * l < most(level)) {
            let (ty, whole) = (vector(bytes, lanes), vector(bytes, 2 * lanes));
            let size = bytes * lanes;
            let head = import(0, Intrinsic::Concat, &format!("({ty}, {ty}) -> {whole}"));
            let text = function(&ty, size, &head, "    v20 = call fn0(v12, v10)\n", &[("v20", 2 * size)]);
            let mut input: Vec<u8> = (0..3 * size).map(|i| i as u8).collect();
            let Some(found) = run(&text, level, &mut input, 2 * size) else { continue };
            let expected = [&input[2 * size..], &input[..size]].concat();
            assert_eq!(found, expected, "{ty}, {level:?}");
        }
    }
}

/// Reversed lanes, and every second lane of two vectors; the operands are in registers, or are folded loads from
/// memory.
#[test]
fn permuted_lanes() {
    for level in levels() {
        for (bytes, lanes) in types(level).filter(|(b, l)| *b >= 4 && b * l >= 16) {
            let (ty, size) = (vector(bytes, lanes), bytes * lanes);
            let head = import(0, Intrinsic::Reverse, &format!("({ty}) -> {ty}"))
                + &import(1, Intrinsic::EverySecond, &format!("({ty}, {ty}) -> {ty}"));
            let body = "    v20 = call fn0(v10)\n    v21 = call fn0(v11)\n    v22 = call fn1(v12, v11)\n    v23 = iadd v11, v20\n";
            let results = ["v20", "v21", "v22", "v23"].map(|value| (value, size));
            let text = function(&ty, size, &head, body, &results);
            let mut input: Vec<u8> = (0..3 * size).map(|i| i as u8).collect();
            let Some(found) = run(&text, level, &mut input, 4 * size) else { continue };
            let lane = |vector: usize, i: usize| &input[vector * size + i * bytes..][..bytes];
            let reversed =
                |vector| (0..lanes).rev().flat_map(move |i| lane(vector, i)).copied().collect::<Vec<u8>>();
            assert_eq!(
                (&found[..size], &found[size..2 * size]),
                (&*reversed(0), &*reversed(1)),
                "{ty}, {level:?}"
            );
            let part = lanes.min(32 / bytes);
            let mut expected = Vec::new();
            for start in (0..lanes).step_by(part) {
                (start..start + part).step_by(2).for_each(|i| expected.extend(lane(2, i)));
                (start + 1..start + part).step_by(2).for_each(|i| expected.extend(lane(1, i)));
            }
            assert_eq!(found[2 * size..3 * size], expected, "{ty}, {level:?}");
        }
    }
}

/// Masks, complements of masks, and constant masks are concatenated, and then extracted again.
#[test]
fn concatenated_and_extracted_masks() {
    for level in levels() {
        for (bytes, lanes) in types(level).filter(|(b, l)| b * l < most(level)) {
            let (ty, whole) = (vector(bytes, lanes), vector(bytes, 2 * lanes));
            let size = bytes * lanes;
            let ones = format!("    const0 = 0x{}\n", "f".repeat(32));
            let head = ones
                + &import(0, Intrinsic::Concat, &format!("({ty}, {ty}) -> {whole}"))
                + &import(1, Intrinsic::Piece(0), &format!("({whole}) -> {ty}"))
                + &import(2, Intrinsic::Piece(1), &format!("({whole}) -> {ty}"));
            let body = format!(
                "    v20 = icmp slt v10, v11
    v21 = icmp ugt v11, v12
    v22 = bnot v20
    v23 = bnot v21
    v24 = call fn0(v22, v21)
    v25 = call fn0(v23, v22)
    v26 = bxor v24, v25
    v27 = call fn1(v26)
    v28 = call fn2(v26)
    v29 = vconst.{ty} const0
    v30 = call fn0(v29, v20)
    v31 = bnot v30
    v32 = call fn2(v31)
"
            );
            let results = [
                ("v24", 2 * size),
                ("v25", 2 * size),
                ("v27", size),
                ("v28", size),
                ("v31", 2 * size),
                ("v32", size),
            ];
            let text = function(&ty, size, &head, &body, &results);
            for seed in 0..20 {
                let mut dice = Dice(seed);
                let mut input: Vec<u8> = (0..3 * size).map(|_| dice.next() as u8).collect();
                let Some(found) = run(&text, level, &mut input, 9 * size) else { continue };
                let lane = |operand: usize, i: usize| {
                    let at = operand * size + i * bytes;
                    let mut word = [0; 8];
                    word[..bytes].copy_from_slice(&input[at..at + bytes]);
                    u64::from_le_bytes(word)
                };
                let unused = 64 - 8 * bytes;
                let signed = |x: u64| (x << unused) as i64;
                let less: Vec<bool> = (0..lanes).map(|i| signed(lane(0, i)) < signed(lane(1, i))).collect();
                let above: Vec<bool> = (0..lanes).map(|i| lane(1, i) > lane(2, i)).collect();
                let not = |m: &[bool]| m.iter().map(|b| !b).collect::<Vec<bool>>();
                let first = [not(&less), above.clone()].concat();
                let second = [not(&above), not(&less)].concat();
                let differ: Vec<bool> = first.iter().zip(&second).map(|(a, b)| a != b).collect();
                let none = [vec![false; lanes], not(&less)].concat();
                let truths = [first, second, differ, none, not(&less)].concat();
                let expected: Vec<u8> =
                    truths.iter().flat_map(|&t| vec![if t { 0xff } else { 0 }; bytes]).collect();
                assert_eq!(found, expected, "{ty}, {level:?}\n{text}");
            }
        }
    }
}

/// The highest bits of all lanes as an integer, for vectors that are not masks.
#[test]
fn highest_bits() {
    let level = Level::Avx2;
    for (bytes, lanes) in types(level).filter(|&(b, l)| b >= 4 && b * l >= 16) {
        let (ty, size) = (vector(bytes, lanes), bytes * lanes);
        let text = function(&ty, size, "", "    v20 = vhigh_bits.i64 v11\n", &[("v20", 8)]);
        for bits in 0..1u64 << lanes {
            let mut input = vec![0x7f; 3 * size];
            for lane in (0..lanes).filter(|lane| bits >> lane & 1 != 0) {
                input[size + (lane + 1) * bytes - 1] = 0x80;
            }
            let Some(found) = run(&text, level, &mut input, 8) else { continue };
            assert_eq!(found, bits.to_le_bytes(), "{ty}");
        }
    }
}

/// A cold block is entered if and only if one of the few lanes of a short vector is set.
#[test]
fn any_of_few_lanes() {
    for level in levels() {
        for (bytes, lanes) in types(level) {
            let (ty, size) = (vector(bytes, lanes), bytes * lanes);
            for not in [false, true] {
                let flags =
                    if not { "v20 = icmp eq v10, v11\n    v21 = bnot v20" } else { "v21 = icmp ne v10, v11" };
                let body = format!(
                    "    {flags}
    v22 = vany_true v21
    brif v22, block1, block2(v12)
block1 cold:
    v23 = iadd v10, v12
    jump block2(v23)
block2(v24: {ty}):
"
                );
                let text = function(&ty, size, "", &body, &[("v24", size)]);
                // No lane differs, or exactly one. The bytes after the vectors always differ.
                for differs in (0..=lanes).map(|i| i.checked_sub(1)) {
                    let mut input: Vec<u8> = (0..3 * size).map(|i| (i % size) as u8).collect();
                    if let Some(lane) = differs {
                        input[size + lane * bytes] ^= 0x80;
                    }
                    input[2 * size..].fill(1);
                    let Some(found) = run(&text, level, &mut input, size) else { continue };
                    let entered = found[..] != input[2 * size..];
                    assert_eq!(entered, differs.is_some(), "{ty}, {level:?}, lane {differs:?}, {not}");
                }
            }
        }
    }
}

/// A branch on a subvector of a mask: lanes of the whole mask that are above the subvector are ignored.
#[test]
fn a_branch_on_a_subvector_of_a_mask() {
    for level in levels() {
        for (bytes, lanes) in types(level) {
            let (whole, ty) = (bytes * lanes, vector(bytes, lanes));
            let mut pieces = 2;
            while whole / pieces >= 4 && lanes / pieces >= 2 {
                let part = vector(bytes, lanes / pieces);
                let head = import(0, Intrinsic::Piece(0), &format!("({ty}) -> {part}"));
                let body =
                    "    v20 = icmp eq v10, v11\n    v21 = call fn0(v20)\n    v22 = vany_true v21\n    \
                    brif v22, block1, block2(v11)\n\nblock1 cold:\n    jump block2(v12)\n\n\
                    block2(v30: TYPE):\n"
                        .replace("TYPE", &ty);
                let text = function(&ty, whole, &head, &body, &[("v30", whole)]);
                for in_piece in [false, true] {
                    // The lanes above the subvector are equal. In the subvector, one lane is equal if the branch is to
                    // be taken, and no lane otherwise.
                    let mut input: Vec<u8> = (0..3 * whole).map(|i| (i % whole) as u8).collect();
                    input[2 * whole..].iter_mut().for_each(|b| *b ^= 0xff);
                    let unequal = if in_piece { bytes } else { 0 };
                    input[whole + unequal..whole + whole / pieces].iter_mut().for_each(|b| *b ^= 0x80);
                    let Some(found) = run(&text, level, &mut input, whole) else { continue };
                    let expected = if in_piece { &input[2 * whole..] } else { &input[whole..2 * whole] };
                    assert_eq!(found, expected, "a piece of {ty} of {pieces}, {level:?}");
                }
                pieces *= 2;
            }
        }
    }
}
