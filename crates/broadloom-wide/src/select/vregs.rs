//! The virtual registers of CLIF values. A value can have two of them: a vector or general register, and a mask
//! register.

use cranelift_codegen::ir::Value;
use rustc_hash::FxHashMap;

use crate::inst::{RegClass, VReg, VRegKind};
use crate::select::by_lane::repeated;

pub(super) struct VRegs {
    kinds: Vec<VRegKind>,
    /// For each value, its vector or general register, if a use has requested one.
    values: Vec<Option<VReg>>,
    /// For each value, its mask register, if it has one.
    masks: Vec<Option<VReg>>,
    constants: FxHashMap<u64, VReg>,
    integers: FxHashMap<i64, VReg>,
}

impl VRegs {
    pub(super) fn new(values: usize) -> VRegs {
        VRegs {
            kinds: Vec::new(),
            values: vec![None; values],
            masks: vec![None; values],
            constants: FxHashMap::default(),
            integers: FxHashMap::default(),
        }
    }

    pub(super) fn fresh(&mut self, class: RegClass) -> VReg {
        self.kinds.push(VRegKind::Defined(class));
        VReg(self.kinds.len() as u32 - 1)
    }

    /// The register of a vector constant that is filled with copies of a 64-bit pattern.
    pub(super) fn constant(&mut self, bits: u64) -> VReg {
        let kinds = &mut self.kinds;
        *self.constants.entry(bits).or_insert_with(|| {
            kinds.push(VRegKind::Constant(bits));
            VReg(kinds.len() as u32 - 1)
        })
    }

    /// The register of a vector constant with the same bits in each lane, which has `lane` bytes.
    pub(super) fn constant_of(&mut self, lane: u32, bits: u64) -> VReg {
        self.constant(repeated(lane, bits))
    }

    pub(super) fn integer(&mut self, value: i64) -> VReg {
        let kinds = &mut self.kinds;
        *self.integers.entry(value).or_insert_with(|| {
            kinds.push(VRegKind::Integer(value));
            VReg(kinds.len() as u32 - 1)
        })
    }

    pub(super) fn of(&self, v: Value) -> Option<VReg> {
        self.values[v.as_u32() as usize]
    }

    pub(super) fn set(&mut self, v: Value, reg: VReg) {
        self.values[v.as_u32() as usize] = Some(reg);
    }

    pub(super) fn mask_of(&self, v: Value) -> Option<VReg> {
        self.masks[v.as_u32() as usize]
    }

    pub(super) fn set_mask(&mut self, v: Value, reg: VReg) {
        self.masks[v.as_u32() as usize] = Some(reg);
    }

    /// Whether a use has requested the value.
    pub(super) fn is_wanted(&self, v: Value) -> bool {
        self.of(v).is_some() || self.mask_of(v).is_some()
    }

    /// Ends selection. Returns for each virtual register how it gets its value.
    pub(super) fn into_kinds(self) -> Vec<VRegKind> {
        self.kinds
    }
}
