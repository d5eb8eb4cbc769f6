//! Draws of random programs: their texts, and their elements by the definition of each map from bits, one by one.

use broadloom_core::draws::{Draw, DrawCall};
use broadloom_core::text::print;
use broadloom_core::{DType, Kind, Op, Scalar, fold};

use super::program::Arg;
use crate::oracle::{self, philox};
use crate::value::Value;

/// The draws of random programs.
pub(super) const DRAWS: [Draw; 5] =
    [Draw::Bits, Draw::Uniform, Draw::UniformOpen, Draw::Normal, Draw::Integers];

/// Attempt t of a rejection for element i reads the block i + t times this.
const ATTEMPT: u64 = 1 << 48;

/// The text of a draw, which parses to the same step.
pub(super) fn text(call: &DrawCall, args: &[Arg]) -> String {
    let arg = |arg: &Arg| match arg {
        Arg::Step(i) => format!("s{i}"),
        Arg::Literal(x) => print::operand(*x).to_string(),
    };
    let args: Vec<String> = args.iter().map(arg).collect();
    let extents: Vec<String> = call.shape.iter().map(usize::to_string).collect();
    format!("{}({}, [{}], dtype={})", call.draw, args.join(", "), extents.join(", "), call.dtype)
}

/// A key: four words.
struct Words([u32; 4]);

impl Words {
    fn block(&self, number: u64) -> [u32; 4] {
        let Words([k0, k1, c2, c3]) = *self;
        philox::block([number as u32, (number >> 32) as u32, c2, c3], [k0, k1])
    }

    /// Word i of the stream.
    fn word(&self, i: u64) -> u64 {
        u64::from(self.block(i / 4)[(i % 4) as usize])
    }

    /// The bits of element i.
    fn bits(&self, i: u64, width: usize) -> u64 {
        if width == 64 { self.word(2 * i) | self.word(2 * i + 1) << 32 } else { self.word(i) }
    }

    /// Element i of a range of this many integers, by Lemire's method.
    fn below(&self, i: u64, count: u128) -> u128 {
        let width = if count <= 1 << 32 { 32 } else { 64 };
        let whole = 1_u128 << width;
        for attempt in 0.. {
            let [low, high, ..] = self.block(i + ATTEMPT * attempt).map(u128::from);
            let bits = if width == 32 { low } else { low | high << 32 };
            // A product of two numbers of 64 bits, and of 2^64 by one.
            let product = bits * count;
            if product % whole >= (whole - count) % count {
                return product >> width;
            }
        }
        unreachable!("an attempt succeeds")
    }
}

/// A bound of each element of a draw: one number, or for each element the index of an integer of a dtype.
pub(super) enum Bound {
    Number(i128),
    Column(DType, Vec<usize>, Vec<u64>),
}

impl Bound {
    fn get(&self, place: usize) -> i128 {
        match self {
            Bound::Number(x) => *x,
            Bound::Column(dtype, positions, bits) => integer(*dtype, bits[positions[place]]),
        }
    }
}

/// The elements of a draw from keys, the words of which stand one after the other.
pub(super) fn elements(call: &DrawCall, keys: &[u64], bounds: &[Bound]) -> Vec<u64> {
    let size: usize = call.shape.iter().product();
    let mut elements = Vec::new();
    for (number, words) in keys.chunks_exact(4).enumerate() {
        let key = Words([0, 1, 2, 3].map(|at| words[at] as u32));
        for i in 0..size {
            let bound = |at: usize| bounds[at].get(number * size + i);
            elements.push(element(call, &key, i as u64, &bound));
        }
    }
    elements
}

fn integer(dtype: DType, bits: u64) -> i128 {
    let width = 8 * dtype.size();
    match dtype.kind() == Kind::Signed {
        true => i128::from((bits << (64 - width)) as i64 >> (64 - width)),
        false => i128::from(bits),
    }
}

/// The bits of an element of a draw.
fn element(call: &DrawCall, key: &Words, i: u64, bound: &dyn Fn(usize) -> i128) -> u64 {
    let dtype = call.dtype;
    let width = if dtype.size() == 8 { 64 } else { 32 };
    let bits = || key.bits(i, width);
    match call.draw {
        Draw::Uniform | Draw::UniformOpen => {
            let is_open = call.draw == Draw::UniformOpen;
            let digits = match dtype {
                DType::Float64 => 53,
                DType::Float32 => 24,
                _ => 11,
            } - i32::from(is_open);
            let whole = (bits() >> (width as i32 - digits)) as f64;
            let number = (if is_open { whole + 0.5 } else { whole }) * 2_f64.powi(-digits);
            // All of these numbers are numbers of the dtype.
            oracle::cast(Value::F64(number), dtype.name()).bits()
        }
        Draw::Normal => {
            let (bits, sign) = (bits(), 1 << (width - 1));
            let rest = bits & (sign - 1);
            let p = match dtype {
                DType::Float64 => Scalar::of((rest as f64 + 0.5) * 2_f64.powi(-64)),
                _ => Scalar::of((rest as f32 + 0.5) * 2_f32.powi(-32)),
            };
            let quantile = fold::apply(Op::Ndtri, &[p]).expect("a function of floats").bits;
            if bits & sign == 0 { quantile ^ sign } else { quantile }
        }
        Draw::Integers => {
            let (low, high) = (bound(0), bound(1));
            let offset = if low < high { key.below(i, (high - low) as u128) } else { 0 };
            (low + offset as i128) as u64 & (u64::MAX >> (64 - 8 * dtype.size()))
        }
        _ => bits(),
    }
}
