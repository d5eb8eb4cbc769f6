//! Conversions between all dtypes, and conversions of conversions, to which rewrite rules apply. The values are
//! at the limits of every integer dtype, at ties and next to them, zeros, subnormals, infinities and NaNs.
//! Expected results come from the model and, where they are obvious, from rows that are written out. Each
//! conversion is interpreted, compiled and folded.

use std::collections::BTreeSet;

use broadloom::{Array, DType, Options};
use broadloom_testkit::Runner;
use broadloom_testkit::elements;
use broadloom_testkit::{DTYPES, Value, edge_cases, one_of, oracle};

fn all() -> impl Iterator<Item = DType> {
    DTYPES.iter().map(|name| DType::from_name(name).expect("a dtype"))
}

/// The limits of the integer dtypes, and the numbers at a distance of one, of a half and of one ulp.
fn ends() -> Vec<f64> {
    let powers = [0, 7, 8, 15, 16, 31, 32, 63, 64].map(|e| 2f64.powi(e));
    let beside = |x: f64| [x - 1.0, x - 0.5, x.next_down(), x, x.next_up(), x + 0.5, x + 1.0];
    // The adjacent floats in narrower formats.
    let near = |x: f64| [11, 24].map(|p| [x * (1.0 - 2f64.powi(-p)), x * (1.0 + 2f64.powi(1 - p))]);
    let of = |x: f64| [beside(x).to_vec(), near(x).concat()].concat();
    powers.into_iter().flat_map(|x| [x, -x]).flat_map(of).collect()
}

/// Numbers halfway between two floats of a narrower format, and numbers slightly above and below these.
fn ties() -> Vec<f64> {
    let mut ties = vec![65504.0, 65519.0, 65520.0, f64::from(f32::MAX), 3.402_823_567_797_336_6e38];
    for precision in [11, 24] {
        let unit = 2f64.powi(1 - precision);
        for scale in [-3, 0, 5].map(|e| 2f64.powi(e)) {
            ties.extend([1.0, 3.0, 5.0].map(|odd| (1.0 + odd * unit / 2.0) * scale));
        }
    }
    // Halfway between subnormals of float16, and of float32.
    for least in [-24, -149].map(|e| 2f64.powi(e)) {
        ties.extend([0.5, 1.5, 2.5, 1022.5, 1023.5].map(|n| n * least));
    }
    let beside =
        |x: f64| [x, x.next_down(), x.next_up(), x * (1.0 + 2f64.powi(-40)), x * (1.0 - 2f64.powi(-20))];
    ties.into_iter().flat_map(beside).flat_map(|x| [x, -x]).collect()
}

/// Integers near limits, and integers that are ties of a float dtype or next to one.
fn integers() -> Vec<i128> {
    let mut out: Vec<i128> = [0, 7, 8, 15, 16, 31, 32, 63, 64].map(|e| 1 << e).to_vec();
    for precision in [11, 24, 53] {
        for shift in [0, 1, 4, 9] {
            out.extend([1, 3, 5].map(|odd| ((1i128 << precision) + odd) << shift));
        }
    }
    out.extend([(1 << 62) + (1 << 38), (1 << 62) + 3 * (1 << 38), (1 << 63) + (1 << 39), 65_504, 65_520]);
    out.into_iter().flat_map(|x| (-2..=2).flat_map(move |by| [x + by, -x + by])).collect()
}

/// The elements of a dtype that are converted.
fn elements(dtype: DType) -> Vec<u64> {
    let name = dtype.name();
    let mut out: BTreeSet<u64> = edge_cases::values(dtype).into_iter().map(|x| x.bits).collect();
    if name.starts_with("float") {
        let numbers = [ends(), ties()].concat();
        out.extend(numbers.into_iter().map(|x| oracle::cast(Value::F64(x), name).bits()));
        out.extend([0.9, 0.5, 0.1].map(|x| oracle::cast(Value::F64(-x), name).bits()));
    } else if dtype != DType::Bool {
        let mask = u64::MAX >> (64 - 8 * dtype.size());
        out.extend(integers().into_iter().map(|x| x as u64 & mask));
    }
    out.into_iter().collect()
}

fn cast(from: DType, bits: u64, to: DType) -> u64 {
    oracle::cast(Value::from_bits(from.name(), bits).expect("a dtype"), to.name()).bits()
}

fn evaluate(x: &Array<'_>, runner: Runner) -> Vec<u64> {
    let options = Options { threads: Some(1), ..runner.options() };
    x.eval_with(&options).and_then(|x| elements::bits(&x)).unwrap_or_else(|e| panic!("{e}"))
}

/// Panics if an element differs from the expected one. The message contains the element from which it was
/// converted.
fn same(dtype: DType, got: &[u64], want: &[u64], from: &[u64], place: &str) {
    let Some(difference) = elements::difference(dtype, got, want) else { return };
    let at = (0..want.len()).find(|&i| elements::difference(dtype, &got[i..=i], &want[i..=i]).is_some());
    panic!("{place}: of {:#x}, {difference}", from[at.unwrap_or(0)]);
}

#[test]
fn every_dtype_to_every_dtype() {
    let mut checked = 0;
    for from in all() {
        let elements = elements(from);
        assert!(from == DType::Bool || elements.len() > 80, "{from}");
        let x = elements::array(from, &[elements.len()], &elements);
        for to in all() {
            let want: Vec<u64> = elements.iter().map(|&bits| cast(from, bits, to)).collect();
            let y = x.astype(to);
            assert_eq!((y.dtype(), y.shape()), (to, x.shape()));
            for runner in Runner::all() {
                let place = format!("{from} to {to}, {runner:?}");
                same(to, &evaluate(&y, runner), &want, &elements, &place);
            }
            for (&element, want) in elements.iter().zip(want.chunks(1)) {
                let folded = Array::scalar(elements::literal(from, element)).astype(from).astype(to);
                let place = format!("{from} to {to}, folded");
                same(to, &evaluate(&folded, Runner::INTERP), want, &[element], &place);
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 144);
}

/// All values of the dtypes of 8 and 16 bits.
#[test]
fn every_value_of_up_to_16_bits() {
    for from in all().filter(|from| from.size() <= 2) {
        let n = if from == DType::Bool { 2 } else { 1 << (8 * from.size()) };
        let elements: Vec<u64> = (0..n).collect();
        let x = elements::array(from, &[elements.len()], &elements);
        for to in all() {
            let want: Vec<u64> = elements.iter().map(|&bits| cast(from, bits, to)).collect();
            for runner in Runner::all() {
                let place = format!("{from} to {to}, {runner:?}");
                same(to, &evaluate(&x.astype(to), runner), &want, &elements, &place);
            }
        }
    }
}

#[test]
fn conversions_of_conversions() {
    for from in all() {
        let elements = elements(from);
        let x = elements::array(from, &[elements.len()], &elements);
        for between in all().skip(from as usize % one_of(3)).step_by(one_of(3)) {
            let y = x.astype(between);
            let halfway: Vec<u64> = elements.iter().map(|&bits| cast(from, bits, between)).collect();
            for to in all() {
                let want: Vec<u64> = halfway.iter().map(|&bits| cast(between, bits, to)).collect();
                let z = y.astype(to);
                for runner in Runner::all() {
                    let place = format!("{from} to {between} to {to}, {runner:?}");
                    same(to, &evaluate(&z, runner), &want, &elements, &place);
                }
            }
        }
    }
}

use Value::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

fn half(bits: u16) -> Value {
    F16(broadloom::f16::from_bits(bits))
}

/// Pairs of a value and the expected result of converting it.
fn rows() -> Vec<(Value, Value)> {
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    vec![
        // Floats to integers: truncated, saturated, NaN to 0.
        (F64(1.9), I8(1)),
        (F64(-1.9), I8(-1)),
        (F64(-0.9), U8(0)),
        (F64(127.999), I8(127)),
        (F64(128.0), I8(127)),
        (F64(-128.999), I8(-128)),
        (F64(-129.0), I8(-128)),
        (F64(255.9), U8(255)),
        (F64(256.0), U8(255)),
        (F64(-1.0), U8(0)),
        (F64(65_536.0), U16(65_535)),
        (F64(-32_769.0), I16(-32_768)),
        (F64(2_147_483_647.5), I32(i32::MAX)),
        (F64(2_147_483_648.0), I32(i32::MAX)),
        (F64(-2_147_483_649.0), I32(i32::MIN)),
        (F64(4_294_967_295.5), U32(u32::MAX)),
        (F64(9_223_372_036_854_774_784.0), I64(9_223_372_036_854_774_784)),
        (F64(9_223_372_036_854_775_808.0), I64(i64::MAX)),
        (F64(9_223_372_036_854_775_808.0), U64(1 << 63)),
        (F64(-9_223_372_036_854_775_808.0), I64(i64::MIN)),
        (F64(18_446_744_073_709_551_616.0), U64(u64::MAX)),
        (F64(18_446_744_073_709_549_568.0), U64(u64::MAX - 2047)),
        (F32(2_147_483_520.0), I32(2_147_483_520)),
        (F32(2_147_483_648.0), I32(i32::MAX)),
        (F32(-1e30), I64(i64::MIN)),
        (half(0x7bff), I16(i16::MAX)),
        (half(0x7bff), U16(65_504)),
        (half(0x7c00), I64(i64::MAX)),
        (half(0xfc00), U64(0)),
        (F64(infinity), U8(255)),
        (F64(-infinity), I32(i32::MIN)),
        (F64(nan), I64(0)),
        (F32(-f32::NAN), U16(0)),
        (half(0x7e00), I8(0)),
        // Integers to narrower integers wrap.
        (I32(300), I8(44)),
        (I32(-129), I8(127)),
        (I64(-1), U16(65_535)),
        (I8(-1), U64(u64::MAX)),
        (U64(u64::MAX), I8(-1)),
        (U64(1 << 63), I64(i64::MIN)),
        (U32(0x8000_0000), I32(i32::MIN)),
        (I16(-256), U8(0)),
        // Integers to floats are rounded once to the nearest float, ties to even.
        (I64(9_007_199_254_740_993), F64(9_007_199_254_740_992.0)),
        (I64(9_007_199_254_740_995), F64(9_007_199_254_740_996.0)),
        (U64(u64::MAX), F64(18_446_744_073_709_551_616.0)),
        (I32(16_777_217), F32(16_777_216.0)),
        (I32(-16_777_219), F32(-16_777_220.0)),
        (I64((1 << 62) + (1 << 38)), F32(4_611_686_018_427_387_904.0)),
        (I64((1 << 62) + (1 << 38) + 1), F32(4_611_686_568_183_201_792.0)),
        (U64((1 << 63) + (1 << 39) + 1), F32(9_223_373_136_366_403_584.0)),
        (U16(2049), half(0x6800)),
        (U16(2051), half(0x6802)),
        (U16(65_519), half(0x7bff)),
        (U16(65_520), half(0x7c00)),
        (I64(i64::MIN), half(0xfc00)),
        (F64(65_519.999_999_999_99), half(0x7bff)),
        (F64(65_520.0), half(0x7c00)),
        // Exactly half a unit above 1, and slightly more. Converting to float32 first would lose the excess.
        (F64(1.000_488_281_25), half(0x3c00)),
        (F64(1.000_488_281_250_001), half(0x3c01)),
        (F64(1.001_464_843_75), half(0x3c02)),
        (F64(2.980_232_238_769_531_3e-8), half(0x0000)),
        (F64(2.980_232_238_769_532e-8), half(0x0001)),
        (F64(-8.940_696_716_308_594e-8), half(0x8002)),
        (F64(1.000_000_059_604_644_8), F32(1.0)),
        (F64(1.000_000_059_604_645), F32(1.000_000_1)),
        (F64(7.006_492_321_624_085e-46), F32(0.0)),
        (F64(-7.006_492_321_624_087e-46), F32(-1e-45)),
        (F64(3.402_823_567_797_336_6e38), F32(f32::INFINITY)),
        (F64(3.402_823_567_797_336e38), F32(f32::MAX)),
        (F32(1e-45), F64(1.401_298_464_324_817e-45)),
        (half(0x0001), F32(5.960_464_5e-8)),
        (half(0x8000), F64(-0.0)),
        (F64(-0.0), F32(-0.0)),
        (F64(-1e-300), half(0x8000)),
        (F64(nan), half(0x7e00)),
        (F32(f32::NEG_INFINITY), half(0xfc00)),
        // Everything except zeros is true.
        (F64(-0.0), Bool(false)),
        (F64(5e-324), Bool(true)),
        (half(0x8001), Bool(true)),
        (F32(f32::NAN), Bool(true)),
        (F64(-infinity), Bool(true)),
        (I16(256), Bool(true)),
        (U64(1 << 63), Bool(true)),
        (I64(0), Bool(false)),
        (Bool(true), I8(1)),
        (Bool(true), half(0x3c00)),
        (Bool(false), F64(0.0)),
    ]
}

#[test]
fn what_can_be_read_off() {
    for (x, y) in rows() {
        let [from, to] = [x, y].map(|x| DType::from_name(x.dtype()).expect("a dtype"));
        let place = format!("{x:?} to {to}");
        assert!(oracle::cast(x, to.name()).same(&y), "{place} by the model");
        // A column that is long enough for vectors and a tail.
        let column = elements::array(from, &[19], &[x.bits(); 19]).astype(to);
        let folded = Array::scalar(elements::literal(from, x.bits())).astype(from).astype(to);
        for runner in Runner::all() {
            same(to, &evaluate(&column, runner), &[y.bits(); 19], &[x.bits(); 19], &place);
            same(to, &evaluate(&folded, runner), &[y.bits()], &[x.bits()], &place);
        }
    }
}
