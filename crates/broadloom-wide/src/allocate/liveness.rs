//! Liveness: for each virtual register, the indices of the instructions that define and read it.
//!
//! Out-of-line code counts as one instruction: a register that it reads counts as read by the branch that enters it.

use crate::inst::{MInst, VFunction, VReg};

/// The value of [`Liveness::next_use`] for a register that is not read again.
pub(super) const NEVER: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Liveness {
    /// `uses[first[r]..first[r + 1]]` are the indices of the instructions that read the register r, in ascending order.
    first: Vec<u32>,
    uses: Vec<u32>,
    defined: Vec<Option<u32>>,
}

impl Liveness {
    pub(super) fn of(func: &VFunction) -> Liveness {
        let count = func.kinds.len();
        let mut first = vec![0u32; count + 1];
        let each = |f: &mut dyn FnMut(VReg, u32)| {
            for (at, inst) in func.insts.iter().enumerate() {
                inst.each_read(&mut |reg| f(reg, at as u32));
                // A tail loop (a loop over the blocks of a row, with masks in the last block) ends with an
                // instruction that also reads the number of columns, to compare the element index with it.
                if let MInst::Loop { tail: Some(tail), end, .. } = inst {
                    f(tail.columns, *end);
                }
            }
        };
        // A counting sort: each count is stored one position further on, so that its prefix sum becomes the next register's
        // start.
        each(&mut |reg, _| first[reg.index() + 1] += 1);
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut uses = vec![0; first.last().copied().unwrap_or(0) as usize];
        let mut fill = first.clone();
        each(&mut |reg, at| {
            let place = &mut fill[reg.index()];
            uses[*place as usize] = at;
            *place += 1;
        });
        for i in 0..count {
            uses[first[i] as usize..first[i + 1] as usize].sort_unstable();
        }
        let mut defined = vec![None; count];
        for (at, inst) in func.insts.iter().enumerate() {
            inst.each_def(&mut |reg| defined[reg.index()] = Some(at as u32));
        }
        Liveness { first, uses, defined }
    }

    fn uses(&self, reg: VReg) -> &[u32] {
        &self.uses[self.first[reg.index()] as usize..self.first[reg.index() + 1] as usize]
    }

    /// The index of the first instruction after the index `at` that reads the register, or [`NEVER`].
    pub(super) fn next_use(&self, reg: VReg, at: u32) -> u32 {
        let uses = self.uses(reg);
        // Most registers have so few uses that a linear search is faster than a binary one.
        let place = match uses.len() {
            0..8 => uses.iter().position(|&use_at| use_at > at).unwrap_or(uses.len()),
            _ => uses.partition_point(|&use_at| use_at <= at),
        };
        uses.get(place).copied().unwrap_or(NEVER)
    }

    /// Whether the instruction at the index `at` reads the register.
    pub(super) fn is_read_at(&self, reg: VReg, at: u32) -> bool {
        self.uses(reg).binary_search(&at).is_ok()
    }

    /// The index of the instruction that defines the register; `None` for constants and the function's parameters.
    pub(super) fn defined_at(&self, reg: VReg) -> Option<u32> {
        self.defined[reg.index()]
    }
}
