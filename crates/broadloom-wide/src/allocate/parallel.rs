//! Orders register copies that are meant to happen all at once (parallel moves), so that they can be made one by one.

use smallvec::SmallVec;

use crate::allocated::{PReg, RegMove, SpillSlot};

#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Reg(PReg),
    Slot(SpillSlot),
}

/// Appends moves that together have the effect of making all copies, given as (target, source), at the same time. A
/// copy is emitted once no other pending copy reads its target. A cycle is broken by storing one of its registers in a
/// fresh spill slot and reloading it from there.
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
