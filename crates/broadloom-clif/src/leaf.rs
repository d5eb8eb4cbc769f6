//! Leaves of a reduction: the rows of 16 elements in a block, combined to one row before it is stored.
//!
//! A block of 2^k rows is an aligned subtree of the canonical order, so that machine code combines what it has in registers and
//! memory gets a fraction of the elements. Two rows are combined by the body of the op that the reduction is of, which executors
//! share with everything else.

use broadloom_ir::kernel::{Code as Instruction, Depth, Inst, Kernel, ValueId};
use broadloom_ir::{DType, Reduction, Result};
use broadloom_math::record::Primitive;
use broadloom_mem::Access;
use smallvec::SmallVec;

use crate::body::{Body, Code};
use crate::lower;
use crate::value::{Lanes, Layout, scalar_of};
use crate::vectors::Vectors;
use crate::width::Width;

/// The elements of a row.
pub const ROW: u32 = 16;

/// How the rows of an output are combined.
pub struct Leaf {
    body: Body,
    dtype: DType,
}

impl Leaf {
    pub fn new(reduction: Reduction, dtype: DType, width: Width) -> Result<Leaf> {
        let inst = Inst {
            code: Instruction::Apply(reduction.op(), dtype),
            args: [ValueId(0), ValueId(1), ValueId(0)],
        };
        let kernel = Kernel {
            inputs: vec![dtype; 2],
            body: vec![inst],
            outputs: vec![ValueId(2)],
            ..Kernel::default()
        };
        Ok(Leaf { body: Body::of(&kernel, &[Access::Contiguous; 2], width)?, dtype })
    }

    /// The one row that the rows of a block are combined to, neighbours first.
    pub fn combined(&self, v: &mut Vectors<'_>, block: &Lanes) -> Lanes {
        let size = self.dtype.size() as u32;
        let whole = v.layout;
        v.layout = Layout { lanes: ROW, ..whole };
        let vectors = v.layout.vectors_of(size);
        let rows = block.vectors().chunks(vectors);
        let mut rows: SmallVec<[Lanes; 8]> = rows.map(|row| Lanes::new(size, row.iter().copied())).collect();
        while rows.len() > 1 {
            rows = rows.chunks(2).map(|pair| self.pair(v, pair)).collect();
        }
        v.layout = whole;
        rows.first().copied().unwrap_or(*block)
    }

    /// Two rows combined; of an odd last one, itself.
    fn pair(&self, v: &mut Vectors<'_>, pair: &[Lanes]) -> Lanes {
        let [first, second] = pair else { return pair[0] };
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
