//! Tests of kernels and of their loops: hashes, listings, faults, tallies and costs.

use super::*;
use crate::Accuracy;

fn triad() -> Kernel {
    let inst =
        |op, a, b| Inst { code: Code::apply(op, DType::Float32), args: [ValueId(a), ValueId(b), ValueId(0)] };
    Kernel {
        inputs: vec![DType::Float32; 2],
        params: vec![DType::Float32],
        body: vec![inst(Op::Multiply, 0, 1), inst(Op::Add, 3, 2)],
        outputs: vec![ValueId(4).into()],
        ..Kernel::default()
    }
}

fn host(k: &mut Kernel, name: &str, operands: [DType; 2], result: DType) -> Code {
    k.callee(&HostDeclaration::new(name, &operands, result, 1).expect("a name"))
}

/// In (a·b + p)·(a + b), the left factor of the last product depends on a product and a sum, and the right factor only on a
/// sum.
#[test]
fn the_latency_is_that_of_the_longest_chain() {
    let mut k = triad();
    let inst = |op, args: [u32; 2]| Inst {
        code: Code::apply(op, DType::Float32),
        args: [ValueId(args[0]), ValueId(args[1]), ValueId(0)],
    };
    let sum = k.body[1].code.latency();
    assert!(sum > 0);
    assert_eq!(k.latency(), u64::from(k.body[0].code.latency() + sum));
    k.body.extend([inst(Op::Add, [0, 1]), inst(Op::Multiply, [4, 5])]);
    k.outputs = vec![ValueId(6).into()];
    assert_eq!(k.latency(), u64::from(2 * k.body[0].code.latency() + sum));
}

/// The hash must not depend on the id of a host function, which differs between processes. Caches therefore compare the
/// kernels themselves as well.
#[test]
fn two_functions_of_one_name_are_one_in_the_hash_and_two_in_a_comparison() {
    let mut kernels = [triad(), triad()];
    for k in &mut kernels {
        k.body[0].code = host(k, "f", [DType::Float32; 2], DType::Float32);
    }
    assert_eq!(kernels[0].content_hash(), kernels[1].content_hash());
    assert_ne!(kernels[0], kernels[1]);
}

#[test]
fn every_part_of_a_kernel_is_in_its_hash() {
    let changes: &[fn(&mut Kernel)] = &[
        |_| (),
        |k| k.inputs.push(DType::Float32),
        |k| k.inputs[0] = DType::Float64,
        |k| k.params[0] = DType::Int32,
        |k| k.body[0].code = Code::apply(Op::Subtract, DType::Float32),
        |k| k.body[0].code = Code::apply(Op::Hypot, DType::Float32),
        |k| {
            let (op, dtype) = (Op::Hypot, DType::Float32);
            k.body[0].code = Code::Apply { op, accuracy: Accuracy::Nearest, dtype };
        },
        |k| k.body[0].code = Code::Cast(DType::Float32, DType::Float32),
        |k| k.body[0].args[1] = ValueId(0),
        |k| k.outputs.push(ValueId(3).into()),
        |k| k.outputs[0].value = ValueId(3),
        |k| k.checks_division = true,
        |k| k.outputs[0].sink = Sink::Reduce(Reduction::Sum),
        |k| k.outputs[0].sink = Sink::Reduce(Reduction::Prod),
        |k| k.outputs[0].sink = Sink::Scan(Scan::Sum),
        |k| k.body[0].code = host(k, "f", [DType::Float32; 2], DType::Float32),
        |k| k.body[0].code = host(k, "g", [DType::Float32; 2], DType::Float32),
        |k| k.body[0].code = host(k, "f", [DType::Float32, DType::Float64], DType::Float32),
        |k| k.body[0].code = host(k, "f", [DType::Float32; 2], DType::Float64),
        |k| looped(k, |_| ()),
        |k| looped(k, |of| of.limit = Some(9)),
        |k| looped(k, |of| of.limit = Some(9 << 32)),
        |k| looped(k, |of| of.is_numbered = true),
        |k| looped(k, |of| of.args[1] = ValueId(0)),
        |k| looped(k, |of| of.tables = vec![0]),
        |k| looped(k, |of| of.tables = vec![1]),
        |k| looped(k, |of| of.body.body[0].args[0] = ValueId(1)),
        |k| looped(k, |of| of.body.outputs.swap(0, 1)),
        |k| {
            looped(k, |_| ());
            k.body[3].code = Code::Item { item: 1, dtype: DType::Float32 };
        },
        |k| {
            looped(k, |_| ());
            k.body[3].code = Code::Item { item: 0, dtype: DType::Float64 };
        },
    ];
    let hashes: std::collections::HashSet<u128> = changes
        .iter()
        .map(|change| {
            let mut kernel = triad();
            change(&mut kernel);
            kernel.content_hash()
        })
        .collect();
    assert_eq!(hashes.len(), changes.len());
}

/// Adds a loop that doubles a value and ends once it is not less than a captured one, and the item that it carries.
fn looped(k: &mut Kernel, change: fn(&mut KernelLoop)) {
    let inst = |code, args| Inst { code, args };
    let mut of = KernelLoop {
        body: Kernel {
            inputs: vec![DType::Float32; 2],
            body: vec![
                inst(Code::apply(Op::Less, DType::Float32), [ValueId(0), ValueId(1), ValueId(0)]),
                inst(Code::apply(Op::Add, DType::Float32), [ValueId(0); 3]),
            ],
            outputs: vec![ValueId(2).into(), ValueId(3).into()],
            ..Kernel::default()
        },
        limit: None,
        is_numbered: false,
        args: vec![ValueId(3), ValueId(1)],
        tables: Vec::new(),
    };
    change(&mut of);
    k.loops.push(of);
    k.body.push(inst(Code::Loop(0), [ValueId(0); 3]));
    let item = Code::Item { item: 0, dtype: DType::Float32 };
    k.body.push(inst(item, [ValueId(5), ValueId(0), ValueId(0)]));
    k.outputs[0].value = ValueId(6);
}

/// A loop is computed at the level of its operands, and costs as much as the iterations that are expected.
#[test]
fn a_loop_has_the_level_of_its_operands_and_the_cost_of_its_iterations() {
    let mut k = triad();
    let before = k.cost();
    looped(&mut k, |of| of.limit = Some(7));
    assert_eq!(k.cost(), before + 7 * k.loops[0].body.cost());
    assert!(k.loops[0].body.cost() > 0);
    let level = |k: &Kernel, per_row: [bool; 2]| k.depths(|input| per_row[input])[6];
    assert_eq!(level(&k, [true, false]), Depth::Element);
    assert_eq!(level(&k, [true, true]), Depth::Row);
    k.loops[0].args = vec![ValueId(2), ValueId(2)];
    assert_eq!(level(&k, [false, false]), Depth::Call);
}

/// A carried integer to which each iteration adds a captured value is a tally, unless anything else reads it.
#[test]
fn integers_that_only_count_are_tallies() {
    let inst = |op, dtype, args: [u32; 2]| Inst {
        code: Code::apply(op, dtype),
        args: [ValueId(args[0]), ValueId(args[1]), ValueId(0)],
    };
    let (int, float) = (DType::Int64, DType::Float32);
    // v0 and v1 are carried; v2 and v3 are captured.
    let mut of = KernelLoop {
        body: Kernel {
            inputs: vec![float, int, float, int],
            body: vec![
                inst(Op::Less, float, [0, 2]),
                inst(Op::Add, float, [0, 2]),
                inst(Op::Add, int, [3, 1]),
            ],
            outputs: [4, 5, 6].map(|value| ValueId(value).into()).into(),
            ..Kernel::default()
        },
        limit: Some(9),
        is_numbered: false,
        args: [0, 1, 2, 3].map(ValueId).into(),
        tables: Vec::new(),
    };
    assert_eq!([0, 1].map(|item| of.tally(item)), [None, Some(ValueId(3))], "floats round");
    let change = |of: &mut KernelLoop, code, args: [u32; 2]| of.body.body[2] = inst(code, int, args);
    change(&mut of, Op::Multiply, [3, 1]);
    assert_eq!(of.tally(1), None);
    change(&mut of, Op::Add, [1, 1]);
    assert_eq!(of.tally(1), None, "not captured");
    change(&mut of, Op::Add, [1, 3]);
    assert_eq!(of.tally(1), Some(ValueId(3)));
    of.body.body[0] = inst(Op::Less, int, [1, 3]);
    assert_eq!(of.tally(1), None, "the condition reads it");
    of.body.body[0] = inst(Op::Less, int, [6, 3]);
    assert_eq!(of.tally(1), None, "the condition reads the sum");
}

/// The body of a loop is part of the code once, however often it is repeated. Code can't call host functions in loops.
#[test]
fn the_length_of_a_loop_is_that_of_its_body() {
    let mut k = triad();
    let before = k.length();
    assert_eq!(before, k.cost());
    looped(&mut k, |of| of.limit = Some(7));
    assert_eq!(k.length(), before + k.loops[0].body.cost());
    assert_eq!(k.never_compiled(), None);
    host(&mut k.loops[0].body, "f", [DType::Float32; 2], DType::Float32);
    assert!(k.never_compiled().is_some());
}

/// Applications may store the hash, so it must be stable within a version of the crate.
#[test]
fn the_hash_is_the_same_in_every_process() {
    assert_eq!(format!("{:032x}", triad().content_hash()), HASH_OF_TRIAD);
}

const HASH_OF_TRIAD: &str = "0ec445593c151d4ee02c6515cac24908";
