//! The last block of a row, of which elements may be missing.
//!
//! In: instructions that read or write elements. Out: the same for those elements that are there. Must hold: nothing beyond
//! them is read or written; lanes without one compute with 0.

use smallvec::smallvec;

use crate::Unsupported;
use crate::allocate::{PART_MASK, PART_VECTOR};
use crate::code::{Encoded, Memory, Operand, Place};
use crate::encode::Writer;
use crate::forms::{self, Op};
use crate::machine::{Part, Size};

const LOAD: [Op; 4] = [forms::MOVDQU8, forms::MOVDQU16, forms::MOVDQU32, forms::MOVDQU64];
const STORE: [Op; 4] =
    [forms::MOVDQU8_STORE, forms::MOVDQU16_STORE, forms::MOVDQU32_STORE, forms::MOVDQU64_STORE];
fn part_of(operand: &Operand) -> Option<(Memory, Part)> {
    match operand {
        Operand::At(memory) => memory.part.map(|part| (*memory, part)),
        Operand::In(_) => None,
    }
}

pub fn is_part(inst: &Encoded) -> bool {
    inst.operands.iter().any(|o| part_of(o).is_some())
}

impl Writer<'_> {
    pub fn inst_of_part(&mut self, inst: &Encoded) -> Result<(), Unsupported> {
        let found = inst.operands.iter().enumerate().find_map(|(i, o)| part_of(o).map(|(m, p)| (i, m, p)));
        let Some((place, memory, part)) = found else { return self.inst(inst) };
        self.mask_from(part.lane)?;
        let kind = part.element.trailing_zeros() as usize;
        if place == 0 {
            // A store.
            let masked = Encoded { op: STORE[kind], mask: Some(PART_MASK), ..inst.clone() };
            return self.inst(&masked);
        }
        let is_load = [forms::MOVUPS, forms::MOVQ_E, forms::MOVD_E].contains(&inst.op);
        let last = place + 1 == inst.operands.len();
        let size = if is_load { inst.size } else { inst.op.length(inst.size, place, last) };
        let to = match inst.operands[0] {
            Operand::In(Place::Vector(to)) if is_load => to,
            _ => PART_VECTOR,
        };
        let to = Operand::In(Place::Vector(to));
        self.part_step(LOAD[kind], size, to, memory, Some(PART_MASK))?;
        if is_load {
            return Ok(());
        }
        let mut whole = inst.clone();
        whole.operands[place] = to;
        self.inst(&whole)
    }

    fn part_step(
        &mut self,
        op: Op,
        size: Size,
        to: Operand,
        from: Memory,
        mask: Option<u8>,
    ) -> Result<(), Unsupported> {
        let operands = smallvec![to, Operand::At(from)];
        self.inst(&Encoded { op, size, operands, immediate: None, mask, zeroing: true })
    }

    /// Sets the mask for parts to the elements from a lane on.
    fn mask_from(&mut self, lane: u16) -> Result<(), Unsupported> {
        if self.part_lane == Some(lane) {
            return Ok(());
        }
        let mask = Operand::In(Place::Mask(PART_MASK));
        let left = self.frame.left();
        self.simple(forms::KMOVQ, &[mask, Operand::At(left)], None)?;
        if lane > 0 {
            self.simple(forms::KSHIFTRQ, &[mask, mask], Some(lane.into()))?;
        }
        self.part_lane = Some(lane);
        Ok(())
    }
}
