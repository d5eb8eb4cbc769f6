//! The tail of a row: the elements after its last whole block, fewer than a block has lanes. Its loads and stores are
//! masked.
//!
//! Nothing beyond the row's last element is read or written, and lanes without an element compute with 0. The tail mask
//! is shifted such that its lowest bit belongs to the first lane of the accessed vector. It is set again when another
//! vector is accessed, after a call, and in out-of-line code, because mask registers are not preserved there.

use crate::allocated::{PInst, POperand, TAIL_MASK, TAIL_VECTOR};
use crate::encodings::{self, Encoding};

const LOADS: [Encoding; 4] =
    [encodings::MOVDQU8, encodings::MOVDQU16, encodings::MOVDQU32, encodings::MOVDQU64];
const STORES: [Encoding; 4] = [
    encodings::MOVDQU8_STORE,
    encodings::MOVDQU16_STORE,
    encodings::MOVDQU32_STORE,
    encodings::MOVDQU64_STORE,
];
/// Instructions that only load a vector register. In the tail a masked load replaces them altogether.
const PLAIN_LOADS: [Encoding; 3] = [encodings::MOVUPS, encodings::MOVQ_E, encodings::MOVD_E];

/// The instruction for a masked load or store of elements of this many bytes.
pub(crate) fn masked_move(element: u8, is_load: bool) -> Encoding {
    let moves = if is_load { LOADS } else { STORES };
    moves[element.trailing_zeros() as usize]
}

/// The instructions that replace one instruction in the tail of a row, in execution order.
#[derive(Clone, Debug)]
pub(crate) struct TailExpansion {
    /// The lane of the block to which the lowest bit of the tail mask will belong, if the mask has to be set
    /// first.
    pub(crate) set_mask: Option<u16>,
    /// A masked load of the operand in memory.
    pub(crate) load: Option<PInst>,
    /// The instruction itself: a masked store, or an instruction that reads the loaded operand.
    pub(crate) inst: Option<PInst>,
}

/// Expands the instructions of a row's tail one by one, in execution order.
#[derive(Debug)]
pub(crate) struct TailMasker {
    /// The lane of the block to which the lowest bit of the tail mask belongs, if the mask is set.
    lane: Option<u16>,
}

impl TailMasker {
    pub(crate) fn new() -> TailMasker {
        TailMasker { lane: None }
    }

    /// Records that a call clears the tail mask: mask registers are caller-saved in both calling conventions.
    pub(crate) fn after_call(&mut self) {
        self.lane = None;
    }

    /// Returns the masker for out-of-line code. The inline code after it can't know which mask that code has set, so
    /// this masker's own record of the mask is cleared.
    pub(crate) fn enter_cold(&mut self) -> TailMasker {
        self.lane = None;
        TailMasker::new()
    }

    /// The instructions that replace an instruction in the tail, or `None` if it accesses no elements of the row.
    pub(crate) fn expand(&mut self, inst: &PInst) -> Option<TailExpansion> {
        let (position, address, access) =
            inst.operands.iter().enumerate().find_map(|(position, operand)| match operand {
                POperand::Mem(address) => address.tail.map(|access| (position, *address, access)),
                POperand::Reg(_) => None,
            })?;
        let set_mask = (self.lane != Some(access.lane)).then_some(access.lane);
        self.lane = Some(access.lane);
        let mask = Some(TAIL_MASK.number);
        if position == 0 {
            let store = PInst { encoding: masked_move(access.element, false), mask, ..inst.clone() };
            return Some(TailExpansion { set_mask, load: None, inst: Some(store) });
        }
        let is_load = PLAIN_LOADS.contains(&inst.encoding);
        let is_last = position + 1 == inst.operands.len();
        let (to, length) = match is_load {
            true => (inst.operands[0], inst.length),
            false => {
                let length = inst.encoding.operand_length(inst.length, position, is_last);
                (POperand::Reg(TAIL_VECTOR), length)
            }
        };
        let load = PInst::new(masked_move(access.element, true), length, &[to, POperand::Mem(address)]);
        let load = Some(PInst { mask, zeroing: true, ..load });
        let rest = (!is_load).then(|| {
            let mut rest = inst.clone();
            rest.operands[position] = to;
            rest
        });
        Some(TailExpansion { set_mask, load, inst: rest })
    }
}
