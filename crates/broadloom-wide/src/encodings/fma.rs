//! The three operand orders of a fused multiply-add.
//!
//! The digits of an order name the operands that are multiplied, then the one that is added; the first operand is overwritten.
//! The order thus determines which of a, b and c of `a·b + c` is destroyed and which one may be a memory operand.

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

/// The encodings of each multiply-add, one for each [`FmaOrder`] in its order.
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

    /// The positions among the operands of the two factors and of the addend.
    pub(crate) fn positions(self) -> ([usize; 2], usize) {
        match self {
            FmaOrder::O132 => ([0, 2], 1),
            FmaOrder::O213 => ([0, 1], 2),
            FmaOrder::O231 => ([1, 2], 0),
        }
    }
}

impl Encoding {
    /// Whether the instruction is a fused multiply-add. Instruction selection uses the order 213; the allocator picks the final
    /// one.
    pub(crate) fn is_fma(self) -> bool {
        self.is_fma
    }

    /// This multiply-add in another operand order.
    pub(crate) fn with_fma_order(self, order: FmaOrder) -> Encoding {
        let orders = ORDERS.iter().find(|orders| orders.contains(&self));
        orders.map_or(self, |orders| orders[order as usize])
    }
}
