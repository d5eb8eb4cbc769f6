//! Checks one allocated operation against the operation over virtual registers that it comes from.
//!
//! The encoding, its immediate and its masking must be the same, and every operand must be read from a register or slot
//! that holds its value. Sources may be exchanged where the instruction commutes, and a multiply-add may have any of
//! its operand orders.

use smallvec::SmallVec;

use crate::allocated::{PAddress, PBase, PInst, POperand, PReg, TAIL_MASK, TAIL_VECTOR};
use crate::check::error::{Allocation, AllocationMistake};
use crate::check::state::AllocatorState;
use crate::encodings::FmaOrder;
use crate::inst::{RegClass, VAddress, VBase, VFunction, VInst, VOperand, VReg, VRegKind};
use crate::tail::{self, TailExpansion};

/// For each source of the operation over virtual registers, its position among the operands of the allocated one.
type Arrangement = SmallVec<[usize; 3]>;

pub(super) struct OperationCheck<'c> {
    pub(super) func: &'c VFunction,
    pub(super) state: &'c AllocatorState,
    /// The address whose contents the preceding masked load has put into [`TAIL_VECTOR`].
    pub(super) loaded: Option<PAddress>,
}

fn require(holds: bool, what: &'static str) -> Result<(), AllocationMistake> {
    if holds { Ok(()) } else { Err(AllocationMistake::Mismatch(what)) }
}

impl OperationCheck<'_> {
    /// Checks one operation. Returns the register that it writes.
    pub(super) fn check(&self, want: &VInst, got: &PInst) -> Result<Option<PReg>, AllocationMistake> {
        let is_same = got.length == want.length && got.immediate == want.immediate.map(i64::from);
        require(is_same, "length or immediate")?;
        require(got.zeroing == want.zeroing, "masking")?;
        require(has_own_registers(got), "set of distinct registers")?;
        match (want.mask, got.mask) {
            (None, None) => {}
            (Some(mask), Some(number)) => self.register(mask, PReg::mask(number))?,
            _ => return Err(AllocationMistake::Mismatch("masking")),
        }
        let mut first = None;
        for arrangement in arrangements(want, got)? {
            match self.sources(want, got, &arrangement) {
                Ok(()) => return self.result(want, got),
                Err(failure) => first = first.or(Some(failure)),
            }
        }
        Err(first.unwrap_or(AllocationMistake::Mismatch("encoding")))
    }

    fn result(&self, want: &VInst, got: &PInst) -> Result<Option<PReg>, AllocationMistake> {
        match (want.def, got.operands.first()) {
            (None, _) => Ok(None),
            (Some(def), Some(&POperand::Reg(register))) if self.func.class(def) == register.class => {
                Ok(Some(register))
            }
            _ => Err(AllocationMistake::Mismatch("result")),
        }
    }

    fn sources(&self, want: &VInst, got: &PInst, arrangement: &Arrangement) -> Result<(), AllocationMistake> {
        let result = usize::from(want.def.is_some() && !want.tied);
        for (&source, &position) in want.sources.iter().zip(arrangement) {
            let folds = match got.encoding.is_fma() {
                true => position == 2,
                false => got.encoding.memory.is_some_and(|m| usize::from(m) + result == position),
            };
            self.source(source, got, position, folds)?;
        }
        Ok(())
    }

    fn source(
        &self,
        want: VOperand,
        got: &PInst,
        position: usize,
        folds: bool,
    ) -> Result<(), AllocationMistake> {
        match (want, got.operands[position]) {
            (VOperand::Reg(reg), POperand::Reg(register)) => self.register(reg, register),
            (VOperand::Reg(reg), POperand::Mem(address)) => {
                require(folds, "folded operand")?;
                self.folded(reg, &address, got)
            }
            (VOperand::Mem(want), POperand::Mem(address)) => self.address(&want, &address),
            (VOperand::Mem(want), POperand::Reg(TAIL_VECTOR)) => match self.loaded {
                Some(address) => self.address(&want, &address),
                None => Err(AllocationMistake::Mismatch("memory operand")),
            },
            (VOperand::Mem(_), POperand::Reg(_)) => Err(AllocationMistake::Mismatch("memory operand")),
        }
    }

    /// Fails unless the physical register holds the value of the virtual one and is of its class.
    pub(super) fn register(&self, reg: VReg, register: PReg) -> Result<(), AllocationMistake> {
        require(self.func.class(reg) == register.class, "register class")?;
        self.state.read(Allocation::Reg(register), reg)
    }

    /// Checks an operand that is folded from memory: it has to be the value's spill slot, or the value's constant in
    /// the pool.
    fn folded(&self, reg: VReg, address: &PAddress, got: &PInst) -> Result<(), AllocationMistake> {
        let plain = PAddress { broadcast: address.broadcast, ..PAddress::at(address.base, 0) };
        require(*address == plain, "folded operand's address")?;
        match (address.base, self.func.kinds[reg.index()]) {
            (PBase::Spill(slot), _) => {
                require(!address.broadcast, "folded operand's broadcast")?;
                self.state.read(Allocation::Slot(slot), reg)
            }
            (PBase::Pool { bits, bytes }, VRegKind::Constant(constant)) => {
                require(bits == constant, "constant")?;
                let repeats = bytes == 8 || bits as u32 == (bits >> 32) as u32;
                let is_read_whole = match address.broadcast {
                    true => bytes == got.encoding.broadcast && repeats,
                    false => u32::from(bytes) == got.length.bytes(),
                };
                require(is_read_whole, "constant's size")
            }
            _ => Err(AllocationMistake::Mismatch("folded operand")),
        }
    }

    fn address(&self, want: &VAddress, got: &PAddress) -> Result<(), AllocationMistake> {
        let is_same = got.offset == want.offset && got.tail == want.tail && !got.broadcast;
        require(is_same, "address")?;
        match (want.base, got.base) {
            (VBase::Reg(reg), PBase::Reg(number)) => self.register(reg, PReg::general(number))?,
            (VBase::StackSlots, PBase::StackSlots) => {}
            _ => return Err(AllocationMistake::Mismatch("base")),
        }
        match (want.index, got.index) {
            (None, None) => Ok(()),
            (Some((reg, want)), Some((register, got))) if want == got => self.register(reg, register),
            _ => Err(AllocationMistake::Mismatch("index")),
        }
    }

    /// Checks the masked instructions that replace an operation in the tail of a row, the elements after its last whole
    /// block. The caller has already put their tail mask into the state.
    pub(super) fn check_tail(
        &mut self,
        want: &VInst,
        got: &PInst,
        expansion: &TailExpansion,
    ) -> Result<Option<PReg>, AllocationMistake> {
        if let Some(load) = &expansion.load {
            let (to, address) = match load.operands[..] {
                [POperand::Reg(to), POperand::Mem(address)] => (to, address),
                _ => return Err(AllocationMistake::Mismatch("masked load")),
            };
            self.masked(load, &address, true)?;
            if expansion.inst.is_none() {
                // The operation is itself a load. The masked load must be the same instruction except for its
                // mask.
                require(got.operands[..] == load.operands[..] && got.length == load.length, "masked load")?;
                return self.check(want, got);
            }
            require(to == TAIL_VECTOR, "masked load's register")?;
            self.loaded = Some(address);
        }
        match (&expansion.inst, want.def) {
            (Some(inst), Some(_)) => self.check(want, inst),
            (Some(store), None) => {
                let Some(POperand::Mem(address)) = store.operands.first() else {
                    return Err(AllocationMistake::Mismatch("masked store"));
                };
                self.masked(store, address, false)?;
                require(got.operands == store.operands && got.length == store.length, "masked store")?;
                self.check(want, got)
            }
            (None, _) => Err(AllocationMistake::Mismatch("tail access")),
        }
    }

    /// Checks that the mask of a masked load or store is the tail mask, shifted to the vector's first lane, and that it
    /// masks lanes of the elements' size.
    fn masked(&self, inst: &PInst, address: &PAddress, is_load: bool) -> Result<(), AllocationMistake> {
        let Some(access) = address.tail else { return Err(AllocationMistake::Mismatch("tail access")) };
        let found = self.state.tail_mask;
        if found != Some(access.lane) {
            return Err(AllocationMistake::TailMask { wanted: access.lane, found });
        }
        require(inst.mask == Some(TAIL_MASK.number) && inst.zeroing == is_load, "tail mask")?;
        require(inst.encoding == tail::masked_move(access.element, is_load), "masked move")
    }
}

/// Whether a gather has a register for each of its result, its indices and its mask, as the processor demands. Other instructions
/// may read and write one register.
fn has_own_registers(got: &PInst) -> bool {
    let is_gather = |operand: &POperand| match operand {
        POperand::Mem(address) => address.index.is_some_and(|(index, _)| index.class == RegClass::Vector),
        POperand::Reg(_) => false,
    };
    if !got.operands.iter().any(is_gather) {
        return true;
    }
    let registers: SmallVec<[PReg; 3]> = got
        .operands
        .iter()
        .filter_map(|operand| match operand {
            POperand::Reg(register) => Some(*register),
            POperand::Mem(address) => address.index.map(|(register, _)| register),
        })
        .collect();
    (1..registers.len()).all(|i| !registers[..i].contains(&registers[i]))
}

/// The orders in which the sources may appear among the operands. Fails if the encoding belongs to another instruction.
fn arrangements(want: &VInst, got: &PInst) -> Result<SmallVec<[Arrangement; 2]>, AllocationMistake> {
    let same_count = |operands: usize| require(got.operands.len() == operands, "number of operands");
    if want.encoding.is_fma() {
        same_count(3)?;
        let order = FmaOrder::ALL.into_iter().find(|&o| got.encoding == want.encoding.with_fma_order(o));
        let Some(([x, y], sum)) = order.map(FmaOrder::positions) else {
            return Err(AllocationMistake::Mismatch("encoding"));
        };
        return Ok([[x, y, sum], [y, x, sum]].into_iter().map(Arrangement::from).collect());
    }
    require(got.encoding == want.encoding, "encoding")?;
    let first = usize::from(want.def.is_some() && !want.tied);
    same_count(first + want.sources.len())?;
    let plain: Arrangement = (first..first + want.sources.len()).collect();
    let mut arrangements: SmallVec<[Arrangement; 2]> = SmallVec::new();
    if want.encoding.commutes && plain.len() == 2 {
        arrangements.push([plain[1], plain[0]].into_iter().collect());
    }
    arrangements.insert(0, plain);
    Ok(arrangements)
}

/// Whether values may be allocated to a register. The stack and frame pointers, the scratch register and the registers
/// reserved for the tail of a row are not allocatable.
pub(super) fn is_allocatable(register: PReg, avx512: bool) -> bool {
    let number = register.number;
    match register.class {
        RegClass::General => (1..16).contains(&number) && ![4, 5].contains(&number),
        RegClass::Vector => number < if avx512 { TAIL_VECTOR.number } else { 16 },
        RegClass::Mask => avx512 && (1..TAIL_MASK.number).contains(&number),
    }
}
