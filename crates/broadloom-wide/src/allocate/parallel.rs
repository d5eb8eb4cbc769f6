//! Sequences register copies that are wanted in parallel.

use smallvec::SmallVec;

use crate::allocated::{PReg, RegMove, SpillSlot};

#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Reg(PReg),
    Slot(SpillSlot),
}

/// Appends moves that have the effect of all copies, given as (to, from), at once. A copy is made once no other one reads its
/// target; of a cycle one register goes through a fresh slot.
pub(super) fn sequence(
    copies: &[(PReg, PReg)],
    mut fresh_slot: impl FnMut() -> SpillSlot,
    moves: &mut Vec<RegMove>,
) {
    let mut pending: SmallVec<[(PReg, From); 16]> =
        copies.iter().map(|&(to, from)| (to, From::Reg(from))).collect();
    while !pending.is_empty() {
        let is_read = |to: PReg| pending.iter().any(|&(_, from)| from == From::Reg(to));
        if let Some(i) = pending.iter().position(|&(to, _)| !is_read(to)) {
            let (to, from) = pending.swap_remove(i);
            moves.push(match from {
                From::Reg(from) => RegMove::Copy { to, from },
                From::Slot(slot) => RegMove::Reload { to, slot },
            });
            continue;
        }
        let first = pending.iter().find_map(|&(_, from)| match from {
            From::Reg(register) => Some(register),
            From::Slot(_) => None,
        });
        let Some(register) = first else { return };
        let slot = fresh_slot();
        moves.push(RegMove::Spill { slot, from: register });
        for (_, from) in &mut pending {
            if *from == From::Reg(register) {
                *from = From::Slot(slot);
            }
        }
    }
}
