//! Every function of every dtype, and every conversion, over fixed arguments.
//!
//! One line each: an op that is added is a line that is added. A line begins with the hash of the arguments, so that
//! another list of edge-case values is told from another result.

use std::io::Write;

use broadloom::{Array, DType, Op};
use broadloom_core::graph::Semantics;
use broadloom_testkit::random::Rng;
use broadloom_testkit::{edge_cases, elements};

use crate::evaluate::{Executors, hashes};
use crate::hash::Hash;

/// The maximum number of combinations of edge-case values; of more, an evenly spaced part is taken.
const MOST_CROSSED: usize = 1 << 18;

/// How many pseudo-random arguments follow the edge-case values.
const RANDOM: usize = 8192;

/// Prints a line for each function and dtype, and each pair of dtypes that a conversion has.
pub fn hash_all(out: &mut impl Write) -> Result<(), String> {
    let executors = Executors::of_target();
    let mut differing = 0;
    let mut tell = |name: String, dtypes: &[DType], result: &dyn Fn(&[Array<'static>]) -> Array<'static>| {
        let columns = arguments(dtypes);
        let mut given = Hash::new();
        columns.iter().for_each(|column| given.words(column.iter().copied()));
        let arrays: Vec<Array<'static>> = dtypes
            .iter()
            .zip(&columns)
            .map(|(&dtype, bits)| elements::array(dtype, &[bits.len()], bits))
            .collect();
        let hashes = hashes(&[&result(&arrays)], Semantics::default(), &executors, &name);
        differing += usize::from(hashes.iter().any(|hash| *hash != hashes[0]));
        writeln!(out, "{name}  of {given}  {}", executors.line(&hashes)).map_err(|error| error.to_string())
    };
    let mut ops: Vec<Op> = Op::public().collect();
    ops.sort_by_key(|op| op.name());
    for op in ops {
        for &dtype in DType::ALL.iter().filter(|&&dtype| op.result(dtype).is_some()) {
            let mut dtypes = vec![dtype; op.operands()];
            if op == Op::Where {
                dtypes[0] = DType::Bool;
            }
            tell(format!("{op} {dtype}"), &dtypes, &|args| {
                Array::apply(op, args).expect("operands of its dtype")
            })?;
        }
    }
    for &from in DType::ALL {
        for &to in DType::ALL {
            tell(format!("astype {from} {to}"), &[from], &|args| args[0].astype(to))?;
        }
    }
    if differing > 0 { Err(format!("executors differ over {differing} functions")) } else { Ok(()) }
}

/// The operands' elements: all edge-case values crossed (of one narrow operand, all bit patterns), then random ones.
fn arguments(dtypes: &[DType]) -> Vec<Vec<u64>> {
    let lists: Vec<Vec<u64>> = dtypes
        .iter()
        .map(|&dtype| match dtype {
            DType::Bool => vec![0, 1],
            narrow if dtypes.len() == 1 && narrow.size() <= 2 => (0..1 << (8 * narrow.size())).collect(),
            _ => edge_cases::values(dtype).into_iter().map(|value| value.bits).collect(),
        })
        .collect();
    let total: usize = lists.iter().map(Vec::len).product();
    let step = total.div_ceil(MOST_CROSSED) | 1;
    let mut columns = vec![Vec::new(); lists.len()];
    for mut at in (0..total).step_by(step) {
        for (column, list) in columns.iter_mut().zip(&lists) {
            column.push(list[at % list.len()]);
            at /= list.len();
        }
    }
    let mut rng = Rng::new(0xb5_297a_4d3f_84d5);
    for number in 0..RANDOM {
        for (column, &dtype) in columns.iter_mut().zip(dtypes) {
            column.push(random(&mut rng, dtype, number % 2 == 0));
        }
    }
    columns
}

/// A random bit pattern, or a number that is neither large nor small: a float between 2^-12 and 2^12 of either sign, an
/// integer of few bits.
fn random(rng: &mut Rng, dtype: DType, is_moderate: bool) -> u64 {
    let bits = rng.next();
    let width = 8 * dtype.size() as u32;
    let fraction = match dtype {
        DType::Bool => return bits >> 63,
        DType::Float16 => 10,
        DType::Float32 => 23,
        DType::Float64 => 52,
        _ if is_moderate => return (bits as i64 >> (64 - width.min(11))) as u64 & (u64::MAX >> (64 - width)),
        _ => return bits >> (64 - width),
    };
    if !is_moderate {
        return bits >> (64 - width);
    }
    let bias = (1u64 << (width - fraction - 2)) - 1;
    let exponent = bias - 12 + rng.below(24) as u64;
    (bits >> 63) << (width - 1) | exponent << fraction | bits & ((1 << fraction) - 1)
}
