//! Programs over lanes, and their evaluation for one lane in scalar arithmetic. This module contains nothing about
//! vectors.

use broadloom_wide::Intrinsic;

/// The type of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

use Lane::*;

impl Lane {
    pub fn bytes(self) -> usize {
        match self {
            I8 => 1,
            I16 => 2,
            I32 | F32 => 4,
            I64 | F64 => 8,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            I8 => "i8",
            I16 => "i16",
            I32 => "i32",
            I64 => "i64",
            F32 => "f32",
            F64 => "f64",
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, F32 | F64)
    }

    /// The integer type of the same width.
    pub fn integer(self) -> Lane {
        match self {
            F32 => I32,
            F64 => I64,
            other => other,
        }
    }

    pub fn all_ones(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }

    fn signed(self, bits: u64) -> i64 {
        let unused = 64 - 8 * self.bytes();
        (bits << unused) as i64 >> unused
    }
}

/// The code of a node. Its operands are the numbers of earlier nodes.
#[derive(Clone, Debug)]
pub enum Code {
    Input(usize),
    /// A constant with these bits in every lane.
    Constant(u64),
    /// A CLIF instruction with one operand, by its name.
    Unary(&'static str, usize),
    Binary(&'static str, usize, usize),
    /// A shift of every lane by a count.
    Shift(&'static str, usize, u32),
    /// a·b + c.
    Fma(usize, usize, usize),
    /// `fcmp` or `icmp` with this condition.
    Compare(&'static str, usize, usize),
    /// Selects the second operand where the first, a mask, is set, otherwise the third.
    Select(usize, usize, usize),
    Convert(Intrinsic, usize),
    /// In a cold block, computes [`rare`] of the second operand where the first, a mask, is set; elsewhere the result
    /// is the third operand.
    Rare(usize, usize, usize),
}

#[derive(Clone, Debug)]
pub struct ProgramNode {
    pub code: Code,
    pub lane: Lane,
}

/// A program that is run for each element of rows.
#[derive(Clone, Debug, Default)]
pub struct RowProgram {
    pub inputs: Vec<Lane>,
    pub nodes: Vec<ProgramNode>,
    pub outputs: Vec<usize>,
}

/// The function that a cold block computes.
pub fn rare(lane: Lane, x: u64) -> u64 {
    match lane {
        F32 if f32::from_bits(x as u32).is_nan() => u64::from(1.5f32.to_bits()),
        F32 => u64::from((-f32::from_bits(x as u32)).to_bits()),
        F64 if f64::from_bits(x).is_nan() => 1.5f64.to_bits(),
        F64 => (-f64::from_bits(x)).to_bits(),
        other => (x.wrapping_mul(3) ^ 0x2a) & other.all_ones(),
    }
}

impl RowProgram {
    pub fn push(&mut self, lane: Lane, code: Code) -> usize {
        self.nodes.push(ProgramNode { code, lane });
        self.nodes.len() - 1
    }

    /// Adds an input, and returns its node.
    pub fn input(&mut self, lane: Lane) -> usize {
        self.inputs.push(lane);
        self.push(lane, Code::Input(self.inputs.len() - 1))
    }

    /// Adds a node with the same lane type as node `x`.
    pub fn like(&mut self, x: usize, code: Code) -> usize {
        self.push(self.nodes[x].lane, code)
    }

    pub fn compare(&mut self, condition: &'static str, x: usize, y: usize) -> usize {
        self.push(self.nodes[x].lane.integer(), Code::Compare(condition, x, y))
    }

    pub fn lane(&self, node: usize) -> Lane {
        self.nodes[node].lane
    }

    /// Computes the outputs for one element of each input.
    pub fn run(&self, inputs: &[u64]) -> Vec<u64> {
        let mut values: Vec<u64> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |x: usize| (self.lane(x), values[x]);
            let value = match node.code {
                Code::Input(i) => inputs[i],
                Code::Constant(bits) => bits,
                Code::Unary(name, x) => unary(name, node.lane, values[x]),
                Code::Binary(name, x, y) => binary(name, node.lane, values[x], values[y]),
                Code::Shift(name, x, count) => shift(name, node.lane, values[x], count),
                Code::Fma(x, y, z) => fma(node.lane, values[x], values[y], values[z]),
                Code::Compare(condition, x, y) => {
                    let truth = compare(condition, self.lane(x), values[x], values[y]);
                    if truth { node.lane.all_ones() } else { 0 }
                }
                Code::Select(m, x, y) => values[m] & values[x] | !values[m] & values[y],
                Code::Convert(intrinsic, x) => convert(intrinsic, of(x), node.lane),
                Code::Rare(m, x, fast) => {
                    if values[m] != 0 {
                        rare(node.lane, values[x])
                    } else {
                        values[fast]
                    }
                }
            };
            values.push(value & node.lane.all_ones());
        }
        self.outputs.iter().map(|&output| values[output]).collect()
    }
}

/// Applies a function of floats to arguments that are passed as bits.
fn floats<const N: usize>(
    lane: Lane,
    x: [u64; N],
    f32s: fn([f32; N]) -> f32,
    f64s: fn([f64; N]) -> f64,
) -> u64 {
    match lane {
        F32 => u64::from(f32s(x.map(|x| f32::from_bits(x as u32))).to_bits()),
        F64 => f64s(x.map(f64::from_bits)).to_bits(),
        other => panic!("{other:?} is no float"),
    }
}

fn unary(name: &str, lane: Lane, x: u64) -> u64 {
    let sign = 1u64 << (8 * lane.bytes() - 1);
    match name {
        "fneg" => x ^ sign,
        "fabs" => x & !sign,
        "sqrt" => floats(lane, [x], |[x]| x.sqrt(), |[x]| x.sqrt()),
        "floor" => floats(lane, [x], |[x]| x.floor(), |[x]| x.floor()),
        "ceil" => floats(lane, [x], |[x]| x.ceil(), |[x]| x.ceil()),
        "trunc" => floats(lane, [x], |[x]| x.trunc(), |[x]| x.trunc()),
        "nearest" => floats(lane, [x], |[x]| x.round_ties_even(), |[x]| x.round_ties_even()),
        "bnot" => !x,
        "ineg" => x.wrapping_neg(),
        "iabs" => lane.signed(x).wrapping_abs() as u64,
        other => panic!("{other}"),
    }
}

fn binary(name: &str, lane: Lane, x: u64, y: u64) -> u64 {
    let (i, j) = (lane.signed(x), lane.signed(y));
    match name {
        "fadd" => floats(lane, [x, y], |[x, y]| x + y, |[x, y]| x + y),
        "fsub" => floats(lane, [x, y], |[x, y]| x - y, |[x, y]| x - y),
        "fmul" => floats(lane, [x, y], |[x, y]| x * y, |[x, y]| x * y),
        "fdiv" => floats(lane, [x, y], |[x, y]| x / y, |[x, y]| x / y),
        "iadd" => x.wrapping_add(y),
        "isub" => x.wrapping_sub(y),
        "imul" => x.wrapping_mul(y),
        "smin" => i.min(j) as u64,
        "smax" => i.max(j) as u64,
        "umin" => x.min(y),
        "umax" => x.max(y),
        "band" => x & y,
        "bor" => x | y,
        "bxor" => x ^ y,
        other => panic!("{other}"),
    }
}

fn shift(name: &str, lane: Lane, x: u64, count: u32) -> u64 {
    let count = count % (8 * lane.bytes() as u32);
    match name {
        "ishl" => x << count,
        "ushr" => x >> count,
        "sshr" => (lane.signed(x) >> count) as u64,
        other => panic!("{other}"),
    }
}

fn fma(lane: Lane, x: u64, y: u64, z: u64) -> u64 {
    floats(lane, [x, y, z], |[x, y, z]| x.mul_add(y, z), |[x, y, z]| x.mul_add(y, z))
}

/// The conditions of `icmp`, and of `fcmp`. For unordered floats, the conditions `ne`, `uno` and those that begin with
/// `u` are true.
pub const INTEGER_CONDITIONS: [&str; 10] =
    ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];
pub const FLOAT_CONDITIONS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "ord", "uno", "ueq", "one", "ult", "ule", "ugt", "uge"];

fn compare(condition: &str, lane: Lane, x: u64, y: u64) -> bool {
    use std::cmp::Ordering::*;
    if !lane.is_float() {
        let (i, j) = (lane.signed(x), lane.signed(y));
        return match condition {
            "eq" => x == y,
            "ne" => x != y,
            "slt" => i < j,
            "sle" => i <= j,
            "sgt" => i > j,
            "sge" => i >= j,
            "ult" => x < y,
            "ule" => x <= y,
            "ugt" => x > y,
            "uge" => x >= y,
            other => panic!("{other}"),
        };
    }
    let order = match lane {
        F32 => f32::from_bits(x as u32).partial_cmp(&f32::from_bits(y as u32)),
        _ => f64::from_bits(x).partial_cmp(&f64::from_bits(y)),
    };
    let among = |orders: &[std::cmp::Ordering]| order.is_some_and(|o| orders.contains(&o));
    let none = order.is_none();
    match condition {
        "eq" => among(&[Equal]),
        "ne" => none || among(&[Less, Greater]),
        "lt" => among(&[Less]),
        "le" => among(&[Less, Equal]),
        "gt" => among(&[Greater]),
        "ge" => among(&[Greater, Equal]),
        "ord" => !none,
        "uno" => none,
        "ueq" => none || among(&[Equal]),
        "one" => among(&[Less, Greater]),
        "ult" => none || among(&[Less]),
        "ule" => none || among(&[Less, Equal]),
        "ugt" => none || among(&[Greater]),
        "uge" => none || among(&[Greater, Equal]),
        other => panic!("{other}"),
    }
}

fn convert(intrinsic: Intrinsic, (from, x): (Lane, u64), to: Lane) -> u64 {
    let signed = from.signed(x);
    match intrinsic {
        Intrinsic::SignExtend | Intrinsic::ResizeMask => signed as u64,
        Intrinsic::ZeroExtend | Intrinsic::Truncate => x,
        Intrinsic::SaturateSigned => {
            let most = (to.all_ones() >> 1) as i64;
            signed.clamp(-most - 1, most) as u64
        }
        Intrinsic::SaturateUnsigned => signed.clamp(0, to.all_ones().min(i64::MAX as u64) as i64) as u64,
        Intrinsic::Promote => f64::from(f32::from_bits(x as u32)).to_bits(),
        Intrinsic::Demote => u64::from((f64::from_bits(x) as f32).to_bits()),
        other => panic!("{other:?}"),
    }
}
