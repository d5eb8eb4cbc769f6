use broadloom_ir::Op;

use super::*;

fn body(dtype: DType, ops: &[(Op, [u32; 2])], access: &[Access], width: VectorWidth) -> Body {
    let inst = |&(op, [a, b]): &(Op, [u32; 2])| kernel::Inst {
        code: kernel::Code::apply(op, dtype),
        args: [a, b, 0].map(ValueId),
    };
    let inputs = access.len();
    let kernel = Kernel {
        inputs: vec![dtype; inputs],
        body: ops.iter().map(inst).collect(),
        outputs: (0..ops.len()).map(|i| ValueId((inputs + i) as u32).into()).collect(),
        ..Kernel::default()
    };
    Body::of(&kernel, access, width).expect("a kernel that verifies")
}

/// The body of an op that is applied to an input and a parameter. `short` is whether the parameter is known to be a
/// divisor with a short reciprocal.
fn by_param(op: Op, dtype: DType, short: bool) -> Body {
    let args = [ValueId(0), ValueId(1), ValueId(0)];
    let kernel = Kernel {
        inputs: vec![dtype],
        params: vec![dtype],
        short_reciprocals: vec![short],
        body: vec![kernel::Inst { code: kernel::Code::apply(op, dtype), args }],
        outputs: vec![ValueId(2).into()],
        ..Kernel::default()
    };
    Body::of(&kernel, &[Access::Contiguous], VectorWidth::W512).expect("a kernel that verifies")
}

/// The number of times that a primitive is computed at a loop level.
fn count(body: &Body, level: Depth, primitive: Primitive) -> usize {
    body.at(level).iter().filter(|&&var| body.node(var).code == Code::Primitive(primitive)).count()
}

/// Arithmetic reads a value before its NaNs are replaced; a function that moves bits reads it afterwards.
#[test]
fn arithmetic_does_not_wait_until_nans_are_replaced() {
    for width in VectorWidth::ALL {
        for dtype in [DType::Float32, DType::Float64] {
            let ops = [
                (Op::Add, [0, 1]),
                (Op::CanonicalNan, [2, 0]),
                (Op::Multiply, [3, 1]),
                (Op::CopySign, [3, 1]),
            ];
            let body = body(dtype, &ops, &[Access::Contiguous; 2], width);
            let [sum, replaced, product, copied] = body.outputs()[..] else { unreachable!("four outputs") };
            assert!(body.replaces_nan(body.node(replaced)), "{body}");
            assert_eq!(body.node(product).args()[0], sum, "{body}");
            let mut read = vec![copied];
            let mut next = 0;
            while let Some(&var) = read.get(next) {
                read.extend(body.node(var).args().iter().filter(|_| var != replaced));
                next += 1;
            }
            assert!(read.contains(&replaced) && !read.contains(&sum), "{body}");
        }
    }
}

#[test]
fn what_a_row_has_one_of_is_computed_before_its_loop() {
    for width in VectorWidth::ALL {
        let ops = [(Op::FloorDivide, [0, 1])];
        let each = body(DType::Int32, &ops, &[Access::Contiguous; 2], width);
        assert_eq!([Depth::Row, Depth::Element].map(|d| count(&each, d, Primitive::Div)), [0, 1], "{each}");
        let splat = body(DType::Int32, &ops, &[Access::Contiguous, Access::Splat], width);
        assert_eq!([Depth::Row, Depth::Element].map(|d| count(&splat, d, Primitive::Div)), [1, 0], "{splat}");
    }
}

/// If a divisor is uniform along a row, its reciprocal is computed before the loop, and the loop divides integers
/// without any float operation.
#[test]
fn integers_are_divided_by_what_a_row_has_one_of_without_floats() {
    use DType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    for width in VectorWidth::ALL {
        for dtype in [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64] {
            if dtype.size() == 8 && width == VectorWidth::W128 {
                // At 128 bits, 64-bit integers are divided by the machine's instruction, lane by lane.
                continue;
            }
            for op in [Op::FloorDivide, Op::TruncDivide, Op::Remainder] {
                let access = [Access::Contiguous, Access::Splat];
                let body = body(dtype, &[(op, [0, 1])], &access, width);
                let in_loop = || body.at(Depth::Element).iter().map(|&var| body.node(var));
                assert!(in_loop().all(|node| !node.dtype.is_float()), "{op} {dtype} {width}: {body}");
                assert!(in_loop().count() <= 16, "{op} {dtype} {width}: {body}");
            }
        }
    }
}

/// A division by a parameter whose reciprocal is known to be short takes fewer instructions.
#[test]
fn short_reciprocals_take_fewer_instructions() {
    use DType::{Int16, Int32, UInt8, UInt16, UInt32};
    for dtype in [UInt8, UInt16, UInt32, Int16, Int32] {
        let in_loop = |short| by_param(Op::FloorDivide, dtype, short).at(Depth::Element).len();
        assert!(in_loop(true) < in_loop(false), "{dtype}");
    }
}

/// Only divisions that can fault depend on whether a reciprocal is short, so other expressions that differ only in
/// their literals can share a plan.
#[test]
fn only_divisions_that_fault_ask_for_a_short_reciprocal() {
    let mut asking = Vec::new();
    for &dtype in DType::ALL.iter().filter(|dtype| dtype.is_integer()) {
        for &op in Op::ALL.iter().filter(|op| op.operands() == 2 && op.dtypes().contains(&dtype)) {
            let of = |short| by_param(op, dtype, short).to_string();
            if of(true) != of(false) {
                assert!(op.faults(dtype), "{op} {dtype}");
                asking.push(op);
            }
        }
    }
    assert!(asking.contains(&Op::FloorDivide) && asking.contains(&Op::Remainder));
}

#[test]
fn what_is_computed_twice_is_computed_once() {
    let fma = |ops: &[(Op, [u32; 2])]| {
        let body = body(DType::Float64, ops, &[Access::Contiguous], VectorWidth::W128);
        count(&body, Depth::Element, Primitive::Fma)
    };
    let (sine, cosine) = ((Op::Sin, [0; 2]), (Op::Cos, [0; 2]));
    assert!(fma(&[sine]) > 5 && fma(&[sine, cosine]) < fma(&[sine]) + fma(&[cosine]));
    assert_eq!(fma(&[sine, sine]), fma(&[sine]));
    // The operands of an addition may be exchanged, but not those of a subtraction.
    for (op, primitive, times) in [(Op::Add, Primitive::Add, 1), (Op::Subtract, Primitive::Sub, 2)] {
        let ops = [(op, [0, 1]), (op, [1, 0])];
        let body = body(DType::Int32, &ops, &[Access::Contiguous; 2], VectorWidth::W256);
        assert_eq!(count(&body, Depth::Element, primitive), times, "{body}");
    }
}

#[test]
fn a_comparison_that_selects_its_operands_is_one_instruction_where_there_is_one() {
    let lesser = |dtype, width| {
        let body = body(dtype, &[(Op::Minimum, [0, 1])], &[Access::Contiguous; 2], width);
        body.at(Depth::Element).iter().any(|&var| body.node(var).code == Code::Minimum)
    };
    assert!(lesser(DType::Int32, VectorWidth::W256) && lesser(DType::UInt64, VectorWidth::W512));
    assert!(!lesser(DType::Int32, VectorWidth::W128) && !lesser(DType::UInt64, VectorWidth::W256));
    assert!(lesser(DType::Float32, VectorWidth::W512) && lesser(DType::Float64, VectorWidth::W256));
    assert!(!lesser(DType::Float32, VectorWidth::W128));
}

/// A minimum or maximum of floats takes three instructions: the minimum or maximum of numbers, a test of both operands
/// for NaN, and a select. A square root also takes three instructions: the root, a test for NaN, and a select.
#[test]
fn extremes_and_roots_of_floats_are_three_instructions() {
    for width in [VectorWidth::W256, VectorWidth::W512] {
        for (op, code) in [(Op::Minimum, Code::Minimum), (Op::Maximum, Code::Maximum)] {
            let body = body(DType::Float64, &[(op, [0, 1])], &[Access::Contiguous; 2], width);
            let codes: Vec<Code> = body.at(Depth::Element).iter().map(|&var| body.node(var).code).collect();
            assert!(codes.contains(&code) && codes.contains(&Code::Unordered), "{body}");
            // The loop also contains two inputs, but not the constant.
            assert_eq!(codes.len(), 3 + 2, "{body}");
        }
        let body = body(DType::Float32, &[(Op::Sqrt, [0, 0])], &[Access::Contiguous], width);
        assert_eq!(body.at(Depth::Element).len(), 3 + 1, "{body}");
    }
}

#[test]
fn masks_of_bools_are_resized_once_and_what_nobody_reads_is_dropped() {
    let ops = [(Op::Less, [0, 1]), (Op::IsNan, [0, 0])];
    let both = body(DType::Float64, &ops, &[Access::Contiguous; 2], VectorWidth::W256);
    assert_eq!(both.to_string().matches("mask_resize").count(), 2, "{both}");
    let twice = body(DType::Float64, &[ops[0], ops[0]], &[Access::Contiguous; 2], VectorWidth::W256);
    assert_eq!(twice.to_string().matches("mask_resize").count(), 1, "{twice}");
    // float16 is negated by changing its bits, so the conversion that an identity would add is never used.
    let body = body(DType::Float16, &[(Op::Positive, [0, 0])], &[Access::Contiguous], VectorWidth::W128);
    assert_eq!(body.at(Depth::Element).len(), 1, "{body}");
}
