//! The constants of a function, and the table that it is called with.
//!
//! Equal constants are one value, or are read from one entry of the table. Which of the two it is depends on the body: a
//! short one keeps its constants in registers, a long one has more than there are registers.

use std::collections::HashMap;

use broadloom_ir::HostDeclaration;
use broadloom_mem::HostFunction;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{ConstantData, Immediate, Inst, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use rustc_hash::FxBuildHasher;

use crate::value::{Lanes, VECTOR};
use crate::width::Width;

/// The constants of a function.
///
/// A short body's are defined once and stay in registers. A long one has more than there are registers: hoisted out of
/// the loop, they would be spilled there and read back by one instruction each; read from a table, each is the memory
/// operand of the instruction that uses it. In wider vectors than of 128 bits all are CLIF's own, defined in the entry
/// block, and their back end places them by itself.
#[derive(Default)]
pub struct Constants {
    /// The table's address.
    table_address: Option<Value>,
    /// The form in which constants are read from the table.
    base: Option<Value>,
    /// Before this instruction, the entry block's last, constants of wide vectors are defined.
    entry_end: Option<Inst>,
    defined: HashMap<(Type, u64), Value, FxBuildHasher>,
    table: Vec<TableEntry>,
    /// Masks of shuffles: Cranelift's optimiser takes two for the same only if they are one immediate.
    masks: Vec<([u8; VECTOR as usize], Immediate)>,
    /// Lane bits of the values that are constants, for the instructions that are shorter with one.
    bits: HashMap<Value, u64, FxBuildHasher>,
}

/// An entry of the table of constants that a function's code reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableEntry {
    /// A vector of these bytes.
    Bytes([u8; VECTOR as usize]),
    /// The entry address of a host function and its context, which are known when the code is linked.
    Host(HostDeclaration),
}

impl TableEntry {
    /// The 16 bytes of the entry; `None` for a host function that is not among these.
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

/// A load that reads the same wherever it stands: it goes where it is used.
fn pure_load() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

impl Constants {
    /// The constants of a function that is given the table's address, and reads vectors from it or not.
    pub fn new(table_address: Value, from_table: bool) -> Constants {
        Constants {
            table_address: Some(table_address),
            base: from_table.then_some(table_address),
            ..Constants::default()
        }
    }

    /// The address that vectors are read from, if they are.
    pub fn base(&self) -> Option<Value> {
        self.base
    }

    /// From here on vectors are read from this address, which is the same for a loop's body.
    pub fn set_base(&mut self, base: Option<Value>) {
        self.base = base;
    }

    /// The entry block ends with this jump.
    pub fn end_entry(&mut self, jump: Option<Inst>) {
        self.entry_end = jump;
    }

    /// The table, as far as it is read.
    pub fn into_table(self) -> Vec<TableEntry> {
        self.table
    }

    /// A vector constant with `bits` in each lane.
    ///
    /// One definition in a register serves the rest of the function: control flow only ever goes on from where a
    /// constant was first needed, but for cold blocks, which need none.
    pub fn constant(&mut self, builder: &mut FunctionBuilder<'_>, ty: Type, bits: u64) -> Value {
        if let Some(&v) = self.defined.get(&(ty, bits)) {
            return v;
        }
        let lane = &bits.to_le_bytes()[..(ty.lane_bits() / 8) as usize];
        let mut bytes = [0; Width::W512.bytes() as usize];
        bytes.chunks_exact_mut(lane.len()).for_each(|place| place.copy_from_slice(lane));
        // Zero is made without memory.
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

    /// A 128-bit constant of any bytes.
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

    /// A constant of the function's own.
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

    /// Where a host function is entered, and what with: from an entry of the table for the two.
    pub fn host_entry(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        function: &HostDeclaration,
    ) -> (Value, Value) {
        let at = (self.place(TableEntry::Host(function.clone())) * VECTOR as usize) as i32;
        let known = self.base.or(self.table_address);
        // The entry block has set the address.
        let base = known.unwrap_or_else(|| builder.ins().iconst(types::I64, 0));
        let mut word = |at| builder.ins().load(types::I64, pure_load(), base, at);
        (word(at), word(at + 8))
    }

    /// The place of 16 bytes in the table: one for each, so that Cranelift's optimiser sees what two functions have in
    /// common.
    fn place(&mut self, entry: TableEntry) -> usize {
        self.table.iter().position(|known| *known == entry).unwrap_or_else(|| {
            self.table.push(entry);
            self.table.len() - 1
        })
    }

    /// The bits that every lane of a constant has, if it is one.
    pub fn bits_of(&self, x: &Lanes) -> Option<u64> {
        self.bits.get(x.vectors().first()?).copied()
    }
}
