//! Reduces rows in registers, in the canonical order of reductions, so that only the reduced rows are stored.
//!
//! A leaf is the node of the reduction tree to which 2^k rows are reduced. The rows are computed one after the other,
//! a group of lanes at a time, and merged as carries propagate in a binary counter, so that at most k + 1 nodes are
//! live. Two rows are merged by the body of the reduction's op, which all executors share.

use broadloom_ir::kernel::{self, Depth, Inst, Kernel, ValueId};
use broadloom_ir::{DType, Error, ErrorKind, Reduction, Result};
use broadloom_math::record::Primitive;
use broadloom_mem::Access;
use smallvec::SmallVec;

use crate::body::{Body, Code};
use crate::lower;
use crate::value::{Lanes, scalar_of};
use crate::vectors::Vectors;
use broadloom_ir::VectorWidth;

/// How the rows of an output are reduced: the body of the op that merges two of them.
pub struct Leaf {
    body: Body,
}

impl Leaf {
    pub fn new(reduction: Reduction, dtype: DType, width: VectorWidth) -> Result<Leaf> {
        let none = || Error::new(ErrorKind::Internal, format!("{reduction} combines no two elements"));
        let inst = Inst {
            code: kernel::Code::apply(reduction.op().ok_or_else(none)?, dtype),
            args: [ValueId(0), ValueId(1), ValueId(0)],
        };
        let kernel = Kernel {
            inputs: vec![dtype; 2],
            body: vec![inst],
            outputs: vec![ValueId(2).into()],
            ..Kernel::default()
        };
        Ok(Leaf { body: Body::of(&kernel, &[Access::Contiguous; 2], width)? })
    }

    /// Adds a row to the nodes of the rows before it, and merges the last two nodes `pairs` times: once for each pair
    /// of nodes of equal size that the row completes.
    pub fn push(&self, v: &mut Vectors<'_>, nodes: &mut SmallVec<[Lanes; 8]>, row: Lanes, pairs: u32) {
        let node = (0..pairs).fold(row, |second, _| match nodes.pop() {
            Some(first) => self.pair(v, &first, &second),
            None => second,
        });
        nodes.push(node);
    }

    /// Merges two nodes.
    fn pair(&self, v: &mut Vectors<'_>, first: &Lanes, second: &Lanes) -> Lanes {
        let mut values: Vec<Option<Lanes>> = vec![None; self.body.len()];
        for level in [Depth::Call, Depth::Row, Depth::Element] {
            for &var in self.body.at(level) {
                let node = *self.body.node(var);
                let mut args = [Lanes::new(1, []); 4];
                for (slot, &arg) in args.iter_mut().zip(node.args()) {
                    *slot = values[arg.index()].unwrap_or(*first);
                }
                values[var.index()] = Some(match node.code {
                    Code::Input(0) => *first,
                    Code::Input(_) => *second,
                    Code::Primitive(Primitive::Splat(bits)) => v.constant_lanes(scalar_of(node.dtype), bits),
                    _ => lower::node(v, &node, &args),
                });
            }
        }
        self.body.outputs().first().and_then(|out| values[out.index()]).unwrap_or(*first)
    }
}
