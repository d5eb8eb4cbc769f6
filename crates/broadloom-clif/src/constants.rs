//! The constants of a function, and the table of constants that callers pass to it.
//!
//! Equal constants share one value or one entry of the table. A short body keeps its constants in registers; a long
//! body has more constants than there are registers and reads them from the table.

use std::collections::HashMap;

use broadloom_ir::HostDeclaration;
use broadloom_mem::HostFunction;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{ConstantData, Immediate, Inst, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use rustc_hash::FxBuildHasher;

use crate::value::{Lanes, VECTOR};
use broadloom_ir::VectorWidth;

/// The constants of a function.
///
/// The constants of a short body are defined once and stay in registers. A long body has more constants than there are
/// registers. If they were hoisted out of the loop, each would be spilled, and reloaded by an instruction of its own,
/// whereas a constant in the table is a memory operand of the instruction that uses it. For vectors of more than 128
/// bits all constants are defined in the entry block by CLIF instructions, and `broadloom-wide` decides where they are
/// kept.
#[derive(Default)]
pub struct Constants {
    /// The address of the table of constants.
    table_address: Option<Value>,
    /// The address from which vector constants are read in the current loop; `None` if they are defined in registers.
    base: Option<Value>,
    /// The jump that ends the entry block. Constants of vectors of more than 128 bits are defined before it.
    entry_end: Option<Inst>,
    defined: HashMap<(Type, u64), Value, FxBuildHasher>,
    table: Vec<TableEntry>,
    /// The immediates of shuffle masks. Equal masks must share one immediate, because Cranelift's optimiser compares
    /// immediates, not their bytes.
    masks: Vec<([u8; VECTOR as usize], Immediate)>,
    /// For the values that are constants, the bits of each lane. Some instructions have a shorter form for constants.
    bits: HashMap<Value, u64, FxBuildHasher>,
}

/// The constants that are defined at a point of the code.
pub struct KnownConstants(HashMap<(Type, u64), Value, FxBuildHasher>);

/// An entry of the table of constants that a function's code reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableEntry {
    /// A vector constant with these bytes.
    Bytes([u8; VECTOR as usize]),
    /// The entry address of a host function and its context, which are known when the code is linked.
    Host(HostDeclaration),
}

impl TableEntry {
    /// The 16 bytes of the entry; `None` if the host function is not among `functions`.
    pub fn link(&self, functions: &[HostFunction]) -> Option<[u8; VECTOR as usize]> {
        match self {
            TableEntry::Bytes(bytes) => Some(*bytes),
            TableEntry::Host(declaration) => {
                let function = functions.iter().find(|f| f.declaration() == declaration)?;
                let mut bytes = [0; VECTOR as usize];
                bytes[..8].copy_from_slice(&(function.entry() as usize as u64).to_le_bytes());
                bytes[8..].copy_from_slice(&(function.context() as usize as u64).to_le_bytes());
                Some(bytes)
            }
        }
    }
}

/// The flags of a load that returns the same result wherever it is executed, so that it can be moved to its use.
fn pure_load() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

impl Constants {
    /// The constants of a function whose table is at this address. `from_table` is whether vector constants are read
    /// from the table.
    pub fn new(table_address: Value, from_table: bool) -> Constants {
        Constants {
            table_address: Some(table_address),
            base: from_table.then_some(table_address),
            ..Constants::default()
        }
    }

    /// The address from which vector constants are read, if they are read from the table.
    pub fn base(&self) -> Option<Value> {
        self.base
    }

    /// Sets the address from which all later vector constants are read. A loop carries this address unchanged.
    pub fn set_base(&mut self, base: Option<Value>) {
        self.base = base;
    }

    /// Sets the jump that ends the entry block.
    pub fn end_entry(&mut self, jump: Option<Inst>) {
        self.entry_end = jump;
    }

    /// The entries of the table that callers have to pass to the code.
    pub fn into_table(self) -> Vec<TableEntry> {
        self.table
    }

    /// The constants that are defined so far in code that dominates what follows, if not all of them are defined in the entry block.
    pub fn known(&self) -> Option<KnownConstants> {
        self.entry_end.is_none().then(|| KnownConstants(self.defined.clone()))
    }

    /// Forgets all but these constants, since the others were defined in a block that does not dominate what follows.
    pub fn restore(&mut self, known: Option<KnownConstants>) {
        if let Some(KnownConstants(defined)) = known {
            self.defined = defined;
        }
    }

    /// A vector constant with `bits` in each lane.
    ///
    /// A constant that is defined in a register is reused in the rest of the function, since the point where it is
    /// first needed dominates all later code. The block of a branch does not; see [`restore`](Constants::restore).
    pub fn constant(&mut self, builder: &mut FunctionBuilder<'_>, ty: Type, bits: u64) -> Value {
        if let Some(&v) = self.defined.get(&(ty, bits)) {
            return v;
        }
        let lane = &bits.to_le_bytes()[..(ty.lane_bits() / 8) as usize];
        let mut bytes = [0; VectorWidth::W512.bytes() as usize];
        bytes.chunks_exact_mut(lane.len()).for_each(|place| place.copy_from_slice(lane));
        // Zero is computed in a register, without reading memory.
        let v = match (self.base, bytes.first_chunk()) {
            (Some(base), Some(&bytes)) if bits != 0 => self.load_from_table(builder, base, ty, bytes),
            _ => {
                let v = self.in_register(builder, ty, &bytes[..ty.bytes() as usize]);
                self.defined.insert((ty, bits), v);
                v
            }
        };
        self.bits.insert(v, bits);
        v
    }

    /// A 128-bit constant with these bytes.
    pub fn vector(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        ty: Type,
        bytes: [u8; VECTOR as usize],
    ) -> Value {
        match self.base {
            Some(base) => self.load_from_table(builder, base, ty, bytes),
            None => self.in_register(builder, ty, &bytes),
        }
    }

    /// A constant that is defined in the function itself instead of in the table.
    pub fn in_register(&mut self, builder: &mut FunctionBuilder<'_>, ty: Type, bytes: &[u8]) -> Value {
        let data = builder.func.dfg.constants.insert(ConstantData::from(bytes));
        match self.entry_end {
            Some(jump) => FuncCursor::new(builder.func).at_inst(jump).ins().vconst(ty, data),
            None => builder.ins().vconst(ty, data),
        }
    }

    /// The immediate of a shuffle's mask.
    pub fn shuffle_mask(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        mask: [u8; VECTOR as usize],
    ) -> Immediate {
        if let Some((_, known)) = self.masks.iter().find(|(m, _)| *m == mask) {
            return *known;
        }
        let new = builder.func.dfg.immediates.push(mask.to_vec().into());
        self.masks.push((mask, new));
        new
    }

    fn load_from_table(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        base: Value,
        ty: Type,
        bytes: [u8; VECTOR as usize],
    ) -> Value {
        let at = (self.place(TableEntry::Bytes(bytes)) * VECTOR as usize) as i32;
        builder.ins().load(ty, pure_load(), base, at)
    }

    /// The entry address and the context of a host function, which are loaded from one entry of the table.
    pub fn host_entry(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        function: &HostDeclaration,
    ) -> (Value, Value) {
        let at = (self.place(TableEntry::Host(function.clone())) * VECTOR as usize) as i32;
        let known = self.base.or(self.table_address);
        // The emitter has set the table's address in the entry block, so the constant 0 is never used.
        let base = known.unwrap_or_else(|| builder.ins().iconst(types::I64, 0));
        let mut word = |at| builder.ins().load(types::I64, pure_load(), base, at);
        (word(at), word(at + 8))
    }

    /// Returns the index of an entry in the table. A new entry is added. Equal entries share one index, so that
    /// Cranelift's optimiser can merge their loads.
    fn place(&mut self, entry: TableEntry) -> usize {
        self.table.iter().position(|known| *known == entry).unwrap_or_else(|| {
            self.table.push(entry);
            self.table.len() - 1
        })
    }

    /// The bits of each lane, if a value is a constant.
    pub fn bits_of(&self, x: &Lanes) -> Option<u64> {
        self.bits.get(x.vectors().first()?).copied()
    }
}
