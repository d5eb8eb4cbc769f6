//! The constants of a function.
//!
//! In: lane bits, or bytes. Out: values; and the table that the function is called with. Must hold: equal constants are
//! one value, or are read from one place.

use std::collections::HashMap;

use broadloom_ir::HostDeclaration;
use broadloom_mem::HostFunction;
use cranelift_codegen::ir::{ConstantData, Immediate, InstBuilder, MemFlagsData, Type, Value, types};
use rustc_hash::FxBuildHasher;

use crate::emit::Emitter;
use crate::value::{Lanes, VECTOR};
use crate::width::Width;

/// The constants of a function.
///
/// A short body's are defined once and stay in registers. A long one has more than there are registers: hoisted out of
/// the loop, they would be spilled there and read back by one instruction each; read from a table, each is the memory
/// operand of the instruction that uses it. In wider vectors than of 128 bits all are CLIF's own, which their back end
/// places by itself.
#[derive(Default)]
pub(crate) struct Constants {
    /// The table's address.
    pub table_address: Option<Value>,
    /// The same, where constants are read from the table.
    pub base: Option<Value>,
    defined: HashMap<(Type, u64), Value, FxBuildHasher>,
    pub table: Vec<TableEntry>,
    /// Masks of shuffles: the optimiser takes two for the same only if they are one immediate.
    masks: Vec<([u8; VECTOR as usize], Immediate)>,
    /// Lane bits of the values that are constants, for the instructions that are shorter with one.
    bits: HashMap<Value, u64, FxBuildHasher>,
}

/// Kernels of a higher cost read their constants from a table.
pub const TABLE_ABOVE: u64 = 24;

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

impl Emitter<'_> {
    /// A vector constant with `bits` in each lane.
    ///
    /// One definition in a register serves the rest of the function: control flow only ever goes on from where a
    /// constant was first needed, but for cold blocks, which need none.
    pub(crate) fn constant(&mut self, ty: Type, bits: u64) -> Value {
        if let Some(&v) = self.constants.defined.get(&(ty, bits)) {
            return v;
        }
        let lane = &bits.to_le_bytes()[..(ty.lane_bits() / 8) as usize];
        let mut bytes = [0; Width::W512.bytes() as usize];
        bytes.chunks_exact_mut(lane.len()).for_each(|place| place.copy_from_slice(lane));
        // Zero is made without memory.
        let v = match (self.constants.base, bytes.first_chunk()) {
            (Some(base), Some(&bytes)) if bits != 0 => self.constant_from_table(base, ty, bytes),
            _ => {
                let v = self.constant_in_register(ty, &bytes[..ty.bytes() as usize]);
                self.constants.defined.insert((ty, bits), v);
                v
            }
        };
        self.constants.bits.insert(v, bits);
        v
    }

    /// A 128-bit constant of any bytes.
    pub(crate) fn constant_vector(&mut self, ty: Type, bytes: [u8; VECTOR as usize]) -> Value {
        match self.constants.base {
            Some(base) => self.constant_from_table(base, ty, bytes),
            None => self.constant_in_register(ty, &bytes),
        }
    }

    pub(crate) fn constant_in_register(&mut self, ty: Type, bytes: &[u8]) -> Value {
        let data = self.builder.func.dfg.constants.insert(ConstantData::from(bytes));
        self.builder.ins().vconst(ty, data)
    }

    /// The immediate of a shuffle's mask.
    pub(crate) fn shuffle_mask(&mut self, mask: [u8; VECTOR as usize]) -> Immediate {
        if let Some((_, known)) = self.constants.masks.iter().find(|(m, _)| *m == mask) {
            return *known;
        }
        let new = self.builder.func.dfg.immediates.push(mask.to_vec().into());
        self.constants.masks.push((mask, new));
        new
    }

    fn constant_from_table(&mut self, base: Value, ty: Type, bytes: [u8; VECTOR as usize]) -> Value {
        let at = (self.place(TableEntry::Bytes(bytes)) * VECTOR as usize) as i32;
        // A pure load: it goes where it is used.
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.builder.ins().load(ty, flags, base, at)
    }

    /// Where a host function is entered, and what with: from a place of the table for the two.
    pub(crate) fn host_entry(&mut self, function: &HostDeclaration) -> (Value, Value) {
        let at = (self.place(TableEntry::Host(function.clone())) * VECTOR as usize) as i32;
        let known = self.constants.base.or(self.constants.table_address);
        // The entry block has set the address.
        let base = known.unwrap_or_else(|| self.builder.ins().iconst(types::I64, 0));
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let mut word = |at| self.builder.ins().load(types::I64, flags, base, at);
        (word(at), word(at + 8))
    }

    /// The place of 16 bytes in the table: one for each, so that the optimiser sees what two functions have in common.
    fn place(&mut self, entry: TableEntry) -> usize {
        let table = &mut self.constants.table;
        table.iter().position(|known| *known == entry).unwrap_or_else(|| {
            table.push(entry);
            table.len() - 1
        })
    }

    /// The bits that every lane of a constant has, if it is one.
    pub(crate) fn constant_bits(&self, x: &Lanes) -> Option<u64> {
        self.constants.bits.get(x.vectors().first()?).copied()
    }

    pub(crate) fn zero(&mut self, ty: Type) -> Value {
        self.constant(ty, 0)
    }
}
