//! The three operand orders of a fused multiply-add.
//!
//! The digits of an order are the numbers of the operands: the first two are multiplied and the third is added. The
//! result overwrites operand 1, and only operand 3 may be in memory, so the order determines which of a, b and c of
//! `a·b + c` is overwritten and which may be in memory.

use super::encoding::Encoding;
use super::table::*;

/// The operand order of a fused multiply-add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FmaOrder {
    /// `op1·op3 + op2`.
    O132,
    /// `op2·op1 + op3`.
    O213,
    /// `op2·op3 + op1`.
    O231,
}

/// For each multiply-add, its encodings in the operand orders 132, 213 and 231.
const ORDERS: [[Encoding; 3]; 8] = [
    [FMADD132PS, FMADD213PS, FMADD231PS],
    [FMADD132PD, FMADD213PD, FMADD231PD],
    [FNMADD132PS, FNMADD213PS, FNMADD231PS],
    [FNMADD132PD, FNMADD213PD, FNMADD231PD],
    [FMSUB132PS, FMSUB213PS, FMSUB231PS],
    [FMSUB132PD, FMSUB213PD, FMSUB231PD],
    [FNMSUB132PS, FNMSUB213PS, FNMSUB231PS],
    [FNMSUB132PD, FNMSUB213PD, FNMSUB231PD],
];

#[cfg_attr(
    not(debug_assertions),
    expect(dead_code, reason = "the checker computes with them, in debug builds")
)]
impl FmaOrder {
    pub(crate) const ALL: [FmaOrder; 3] = [FmaOrder::O132, FmaOrder::O213, FmaOrder::O231];

    /// The positions of the two factors among the operands, counted from 0, and the position of the addend.
    pub(crate) fn positions(self) -> ([usize; 2], usize) {
        match self {
            FmaOrder::O132 => ([0, 2], 1),
            FmaOrder::O213 => ([0, 1], 2),
            FmaOrder::O231 => ([1, 2], 0),
        }
    }
}

impl Encoding {
    /// Whether the instruction is a fused multiply-add. Instruction selection uses the operand order 213; the register
    /// allocator picks the final one.
    pub(crate) fn is_fma(self) -> bool {
        self.is_fma
    }

    /// This multiply-add in another operand order.
    pub(crate) fn with_fma_order(self, order: FmaOrder) -> Encoding {
        let orders = ORDERS.iter().find(|orders| orders.contains(&self));
        orders.map_or(self, |orders| orders[order as usize])
    }
}
