//! Values that a loop carries in block parameters: when parameters are permuted at the end of an iteration, all of them
//! change at once, whatever cycles the permutation has. If there are more parameters than registers, the back end may
//! refuse the function.

use std::fmt::Write;

use broadloom_wide::{Convention, Level};

use crate::machine::{CompiledFunction, RowMajor, levels};
use crate::rows::Dice;

/// For each parameter, the parameter whose value it takes over at the end of an iteration.
type CarriedRule = Vec<usize>;

/// A function that loads values of a type, permutes them by the rule in each iteration, and stores them contiguously.
/// Its fourth argument is the number of iterations. In each iteration, a sum is also added to the first value. With an
/// outer loop, all of this is done twice.
fn function(ty: &str, bytes: usize, rule: &CarriedRule, outer: bool, body: usize) -> String {
    let n = rule.len();
    let mut text = String::from("function u0:0(i64, i64, i64, i64, i64, i64) system_v {\n");
    text += "block0(v0: i64, v1: i64, v2: i64, v3: i64, v4: i64, v5: i64):\n";
    text += "    v6 = iconst.i64 0\n    v7 = iconst.i64 1\n    v8 = load.i64 notrap aligned v0\n";
    text += "    v9 = load.i64 notrap aligned v0+16\n    v10 = iconst.i64 2\n";
    let list = |first: usize| (0..n).map(|i| format!("v{}", first + i)).collect::<Vec<_>>().join(", ");
    let (loaded, held, moved, before) = (100, 200, 300, 400);
    if outer {
        text += "    jump block1(v6)\nblock1(v11: i64):\n";
    }
    for i in 0..n {
        writeln!(text, "    v{} = load.{ty} notrap v8+{}", loaded + i, i * bytes).expect("writes");
    }
    writeln!(text, "    jump block2(v6, {})", list(loaded)).expect("writes");
    let parameters: Vec<String> = (0..n).map(|i| format!("v{}: {ty}", held + i)).collect();
    writeln!(text, "block2(v12: i64, {}):", parameters.join(", ")).expect("writes");
    // Sums that are live at the same time, so that there are fewer free registers: each is the previous sum plus a
    // parameter.
    let mut last = held;
    for i in 0..body {
        writeln!(text, "    v{} = iadd v{last}, v{}", before + i, held + i % n).expect("writes");
        last = before + i;
    }
    let mut sum = last;
    for i in (0..body).rev() {
        writeln!(text, "    v{} = isub v{sum}, v{}", 700 + i, before + i).expect("writes");
        sum = 700 + i;
    }
    writeln!(text, "    v{moved} = iadd v{}, v{sum}", held + rule[0]).expect("writes");
    let next: Vec<String> =
        (0..n).map(|i| format!("v{}", if i == 0 { moved } else { held + rule[i] })).collect();
    writeln!(text, "    v13 = iadd v12, v7\n    v14 = icmp slt v13, v3").expect("writes");
    writeln!(text, "    brif v14, block2(v13, {}), block3\nblock3:", next.join(", ")).expect("writes");
    // Stores the values after the last iteration.
    for (i, value) in next.iter().enumerate() {
        writeln!(text, "    store notrap {value}, v9+{}", i * bytes).expect("writes");
    }
    if outer {
        text += "    v15 = iadd v11, v7\n    v16 = icmp ult v15, v10\n    brif v16, block1(v15), block4\nblock4:\n";
    }
    text + "    return\n}\n"
}

/// Computes the result of the function for one lane in scalar arithmetic.
fn rounds(rule: &CarriedRule, lane: &[u64], count: usize, body: usize, mask: u64) -> Vec<u64> {
    let mut held = lane.to_vec();
    for _ in 0..count {
        let mut made = Vec::new();
        let mut last = held[0];
        for i in 0..body {
            last = last.wrapping_add(held[i % held.len()]) & mask;
            made.push(last);
        }
        let sum = made.iter().rev().fold(last, |sum, &m| sum.wrapping_sub(m) & mask);
        let mut next: Vec<u64> = rule.iter().map(|&from| held[from]).collect();
        next[0] = next[0].wrapping_add(sum) & mask;
        held = next;
    }
    held
}

fn agree(lane: (usize, usize), level: Level, rule: &CarriedRule, outer: bool, body: usize) -> bool {
    let (width, lanes) = lane;
    let ty = if lanes == 1 { "i64".to_string() } else { format!("i{}x{lanes}", 8 * width) };
    let bytes = width * lanes;
    let text = function(&ty, bytes, rule, outer, body);
    let mut done = false;
    for convention in [Convention::SystemV, Convention::Windows] {
        let text = text.replace(
            "system_v",
            if convention == Convention::Windows { "windows_fastcall" } else { "system_v" },
        );
        let Ok(machine) = CompiledFunction::of_text(&text, level, convention) else { continue };
        done = true;
        for count in 1..5 {
            let mut dice = Dice(count as u64);
            let mut input: Vec<u8> = (0..rule.len() * bytes).map(|_| dice.next() as u8).collect();
            let mut output = vec![0u8; rule.len() * bytes];
            let operands = [
                RowMajor { ptr: input.as_mut_ptr(), stride: 0 },
                RowMajor { ptr: output.as_mut_ptr(), stride: 0 },
            ];
            // SAFETY: the function reads and writes as many values as the rule has, and `input` and `output` have space
            // for them.
            unsafe { machine.call(&operands, count, 1) };
            let read = |from: &[u8], value: usize, lane: usize| {
                let mut word = [0; 8];
                let at = value * bytes + lane * width;
                word[..width].copy_from_slice(&from[at..at + width]);
                u64::from_le_bytes(word)
            };
            for lane in 0..lanes {
                let given: Vec<u64> = (0..rule.len()).map(|i| read(&input, i, lane)).collect();
                let found: Vec<u64> = (0..rule.len()).map(|i| read(&output, i, lane)).collect();
                let expected = rounds(rule, &given, count, body, u64::MAX >> (64 - 8 * width));
                assert_eq!(
                    found, expected,
                    "{ty}, {rule:?}, {count} rounds, {level:?}, {convention:?}\n{}",
                    machine.assembly
                );
            }
        }
    }
    done
}

/// Rules for n parameters: one cycle in each direction, exchanged pairs, no change, a chain, values that two parameters
/// take over, and a random rule.
fn rules(n: usize) -> Vec<CarriedRule> {
    let ring = (0..n).map(|i| (i + 1) % n).collect();
    let back = (0..n).map(|i| (i + n - 1) % n).collect();
    let pairs = (0..n).map(|i| if (i ^ 1) < n { i ^ 1 } else { i }).collect();
    let stay = (0..n).collect();
    let chain = (0..n).map(|i| i.saturating_sub(1)).collect();
    let same = (0..n).map(|i| i / 2).collect();
    let mut dice = Dice(n as u64);
    let any = (0..n).map(|_| dice.below(n)).collect();
    vec![ring, back, pairs, stay, chain, same, any]
}

#[test]
fn integers_change_places() {
    for level in levels() {
        for n in [1, 2, 3, 5, 7, 8, 9, 11, 13, 20] {
            for rule in rules(n) {
                for (outer, body) in [(false, 1), (true, 1), (false, 9), (true, 20)] {
                    let taken = agree((8, 1), level, &rule, outer, body);
                    assert!(taken || n > 7 || level == Level::Avx2, "{n} parameters are few");
                }
            }
        }
    }
}

#[test]
fn vectors_change_places() {
    for level in levels() {
        let bytes = if level == Level::Avx512 { 64 } else { 32 };
        for n in [1, 2, 3, 6, 12, 15, 24, 29, 30, 31, 34] {
            for rule in rules(n) {
                for (outer, body) in [(false, 1), (true, 1), (false, 9), (true, 50)] {
                    let taken = agree((4, bytes / 4), level, &rule, outer, body);
                    assert!(taken || n > 12 || level == Level::Avx2, "{n} parameters are few");
                }
            }
        }
    }
}
