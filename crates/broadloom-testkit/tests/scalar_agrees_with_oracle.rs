//! The scalar instance of every function against the oracle, on all pairs of spicy values.

use broadloom_core::{DType, Op, Scalar, fold};
use broadloom_testkit::{Value, oracle, spicy};
use half::f16;

fn value(s: Scalar) -> Value {
    let bits = s.bits;
    match s.dtype {
        DType::Bool => Value::Bool(bits != 0),
        DType::Int8 => Value::I8(bits as i8),
        DType::Int16 => Value::I16(bits as i16),
        DType::Int32 => Value::I32(bits as i32),
        DType::Int64 => Value::I64(bits as i64),
        DType::UInt8 => Value::U8(bits as u8),
        DType::UInt16 => Value::U16(bits as u16),
        DType::UInt32 => Value::U32(bits as u32),
        DType::UInt64 => Value::U64(bits),
        DType::Float16 => Value::F16(f16::from_bits(bits as u16)),
        DType::Float32 => Value::F32(f32::from_bits(bits as u32)),
        DType::Float64 => Value::F64(f64::from_bits(bits)),
    }
}

#[test]
fn every_op_on_all_pairs() {
    for op in Op::public() {
        for &dtype in op.dtypes() {
            // Integers are divided as float64: the graph converts them, so the op sees floats only.
            let mut lists = vec![spicy::values(dtype); op.operands()];
            if op == Op::Where {
                lists[0] = spicy::values(DType::Bool);
            }
            let total: usize = lists.iter().map(Vec::len).product();
            let step = (total / 40_000).max(1) | 1;
            for mut at in (0..total).step_by(step) {
                let mut args = Vec::new();
                for list in &lists {
                    args.push(list[at % list.len()]);
                    at /= list.len();
                }
                let got = fold::apply(op, &args).expect("an accepted dtype");
                let values: Vec<Value> = args.iter().copied().map(value).collect();
                let want = oracle::apply(op.name(), &values).expect("a function of the oracle");
                assert!(value(got).same(&want), "{op}{args:?}: got {got:?}, want {want:?}");
            }
        }
    }
}

#[test]
fn every_cast_of_spicy_values() {
    for &from in DType::ALL {
        for &to in DType::ALL {
            for x in spicy::values(from) {
                let (got, want) = (fold::cast(x, to), oracle::cast(value(x), to.name()));
                assert!(value(got).same(&want), "astype({x:?}, {to}): got {got:?}, want {want:?}");
            }
        }
    }
}

/// float16 is small enough to be tried whole.
#[test]
fn every_float16_in_unary_functions_and_casts() {
    for bits in 0..=u16::MAX {
        let x = Scalar { dtype: DType::Float16, bits: bits.into() };
        for op in Op::public().filter(|op| op.operands() == 1 && op.dtypes().contains(&DType::Float16)) {
            let (got, want) =
                (fold::apply(op, &[x]).unwrap(), oracle::apply(op.name(), &[value(x)]).unwrap());
            assert!(value(got).same(&want), "{op}({x:?}): got {got:?}, want {want:?}");
        }
        for &to in DType::ALL {
            let (got, want) = (fold::cast(x, to), oracle::cast(value(x), to.name()));
            assert!(value(got).same(&want), "astype({x:?}, {to}): got {got:?}, want {want:?}");
        }
    }
}

/// All pairs of 8-bit integers.
#[test]
fn every_pair_of_bytes() {
    for dtype in [DType::Int8, DType::UInt8] {
        for op in Op::public().filter(|op| op.operands() == 2 && op.dtypes().contains(&dtype)) {
            for pair in 0..=u16::MAX {
                let args = [pair & 0xff, pair >> 8].map(|b| Scalar { dtype, bits: b.into() });
                let got = fold::apply(op, &args).unwrap();
                let want = oracle::apply(op.name(), &args.map(value)).unwrap();
                assert!(value(got).same(&want), "{op}{args:?}: got {got:?}, want {want:?}");
            }
        }
    }
}
