//! Chooses the values to pin in an innermost loop: values from outside that stay in registers throughout the loop.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::allocate::liveness::Liveness;
use crate::inst::{MInst, RegClass, TailLoop, VFunction, VReg, VRegKind};

/// For each register class (general, vector, mask), the number of registers that are kept free for operands that the
/// body reloads, in addition to those that its own values need.
const SPARE: [usize; 3] = [2, 2, 1];

/// The values to pin in the loop from the instruction `head` to the instruction `end`: the values that it reads most
/// often, as many as fit in registers together with the values that the body computes. A loop that contains a loop or
/// an inline call has no pins.
pub(super) fn choose(
    func: &VFunction,
    liveness: &Liveness,
    (head, end): (u32, u32),
    tail: Option<TailLoop>,
    registers: [usize; 3],
) -> Vec<VReg> {
    let body = &func.insts[head as usize + 1..=end as usize];
    if body.iter().any(|inst| matches!(inst, MInst::Loop { .. } | MInst::Call { .. })) {
        return Vec::new();
    }
    let (pressure, mut outside) = survey(func, liveness, head, body);
    if let Some(tail) = tail {
        *outside.entry(tail.columns).or_default() += 1;
    }
    let mut wanted: Vec<(VReg, u32)> = outside.into_iter().collect();
    // The most read values come first.
    wanted.sort_unstable_by_key(|&(reg, count)| (u32::MAX - count, reg));
    let mut room = RegClass::ALL.map(|class| {
        let i = class as usize;
        let address = usize::from(class == RegClass::General);
        registers[i].saturating_sub(pressure[i] + SPARE[i] + address)
    });
    let mut pins = Vec::new();
    for (reg, _) in wanted {
        let left = &mut room[func.class(reg) as usize];
        if *left > 0 {
            *left -= 1;
            pins.push(reg);
        }
    }
    pins
}

/// Returns two results for the body of a loop: for each register class, the maximum number of values of the body that
/// are live at once; and for each value from outside, how often the body reads it.
fn survey(
    func: &VFunction,
    liveness: &Liveness,
    head: u32,
    body: &[MInst],
) -> ([usize; 3], FxHashMap<VReg, u32>) {
    let (mut live, mut pressure) = ([0usize; 3], [0usize; 3]);
    let mut is_live: FxHashSet<VReg> = FxHashSet::default();
    let mut outside: FxHashMap<VReg, u32> = FxHashMap::default();
    for (i, inst) in body.iter().enumerate().rev() {
        let at = head + 1 + i as u32;
        let mut unused = [0usize; 3];
        inst.each_def(&mut |reg| {
            let class = func.class(reg) as usize;
            if is_live.remove(&reg) {
                live[class] -= 1;
            } else {
                unused[class] += 1;
            }
        });
        let is_cold = matches!(inst, MInst::Cold { .. });
        inst.each_read(&mut |reg| {
            let defined = liveness.defined_at(reg);
            if defined.is_some_and(|at| at >= head) {
                // Values that out-of-line code defines take no register on the inline path.
                if defined != Some(at) && is_live.insert(reg) {
                    live[func.class(reg) as usize] += 1;
                }
            } else if !is_cold && !matches!(func.kinds[reg.index()], VRegKind::Integer(_)) {
                // An integer is rematerialised where it is read, and out-of-line code loads the values that it reads.
                *outside.entry(reg).or_default() += 1;
            }
        });
        for class in 0..3 {
            let unused = if is_cold { 0 } else { unused[class] };
            pressure[class] = pressure[class].max(live[class] + unused);
        }
    }
    (pressure, outside)
}
