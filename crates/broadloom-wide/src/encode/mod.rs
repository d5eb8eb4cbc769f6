//! Writes instructions down.
//!
//! In: code with registers. Out: bytes, the constants behind them. Must hold: the code can stand at any address that is a
//! multiple of 64; it leaves the registers and the stack as the calling convention asks.

mod frame;
mod operand;
mod part;

use iced_x86::{Code as Form, Encoder, Instruction};
use rustc_hash::FxHashMap;

use crate::code::{Encoded, Memory, MemoryBase, Operand, Out, Place, Placed};
use crate::forms;
use crate::machine::{Condition, Size};
use crate::target::Convention;
use crate::{Code, Level, Unsupported};
use frame::Frame;

/// A constant that is read, and where its address goes: a displacement that ends so many bytes before the instruction does.
struct PoolUse {
    key: (u64, u8),
    displacement: usize,
    next: usize,
}

/// Cold code that is still to be written.
struct Pending<'p> {
    steps: &'p [Out],
    jump: usize,
    back: usize,
    part: bool,
}

pub struct Writer<'p> {
    encoder: Encoder,
    at: usize,
    /// Bytes of the last instruction.
    last: usize,
    evex: bool,
    frame: Frame,
    pool: Vec<PoolUse>,
    pending: Vec<Pending<'p>>,
    /// Jumps to be patched: where the last byte of the distance ends, and where it leads.
    patches: Vec<(usize, usize)>,
    heads: Vec<usize>,
    /// Whether the last block of a row is being written, of which elements may be missing.
    part: bool,
    /// The lane from which on the mask for parts counts, if it is set.
    part_lane: Option<u16>,
}

pub fn write(placed: &Placed, level: Level, convention: Convention) -> Result<Code, Unsupported> {
    let frame = Frame::of(placed, convention);
    let mut writer = Writer {
        encoder: Encoder::new(64),
        at: 0,
        last: 0,
        evex: level == Level::Avx512,
        frame,
        pool: Vec::new(),
        pending: Vec::new(),
        patches: Vec::new(),
        heads: Vec::new(),
        part: false,
        part_lane: None,
    };
    writer.prologue()?;
    writer.steps(&placed.steps)?;
    let mut next = 0;
    while next < writer.pending.len() {
        let Pending { steps, jump, back, part } = writer.pending[next];
        next += 1;
        writer.patches.push((jump, writer.at));
        (writer.part, writer.part_lane) = (part, None);
        writer.steps(steps)?;
        let jump = writer.jump(None)?;
        writer.patches.push((jump, back));
    }
    let code_end = writer.at;
    let frame_bytes = writer.frame.bytes();
    let Writer { mut encoder, pool, patches, .. } = writer;
    let mut bytes = encoder.take_buffer();
    let mut patch = |end: usize, distance: i64| -> Result<(), Unsupported> {
        let distance = i32::try_from(distance).map_err(|_| Unsupported("code of 2 GiB".into()))?;
        bytes[end - 4..end].copy_from_slice(&distance.to_le_bytes());
        Ok(())
    };
    for (end, target) in patches {
        patch(end, target as i64 - end as i64)?;
    }
    // The longest constants first, so that each is aligned to its length.
    let mut keys: Vec<(u64, u8)> = pool.iter().map(|u| u.key).collect();
    keys.sort_unstable_by_key(|&(bits, length)| (u8::MAX - length, bits));
    keys.dedup();
    let mut places: FxHashMap<(u64, u8), usize> = FxHashMap::default();
    let mut end = code_end.next_multiple_of(64);
    for &key in &keys {
        places.insert(key, end);
        end += usize::from(key.1);
    }
    for u in &pool {
        patch(u.displacement, places[&u.key] as i64 - u.next as i64)?;
    }
    // What is not code traps, should it ever be run.
    bytes.resize(code_end.next_multiple_of(64), 0xcc);
    for (bits, length) in keys {
        bytes.extend(bits.to_le_bytes().iter().cycle().take(usize::from(length)));
    }
    Ok(Code { bytes, code_bytes: code_end, frame: frame_bytes })
}

impl<'p> Writer<'p> {
    fn steps(&mut self, steps: &'p [Out]) -> Result<(), Unsupported> {
        for step in steps {
            match step {
                Out::Inst(inst) => {
                    match self.part && part::is_part(inst) {
                        true => self.inst_of_part(inst)?,
                        false => self.inst(inst)?,
                    }
                    if inst.op == forms::CALL {
                        // Every mask register is the called function's.
                        self.part_lane = None;
                    }
                }
                Out::Cold(condition, steps) => {
                    let jump = self.jump(Some(*condition))?;
                    let (back, part) = (self.at, self.part);
                    self.part_lane = None;
                    self.pending.push(Pending { steps, jump, back, part });
                }
                Out::Loop(body) => {
                    self.align();
                    self.heads.push(self.at);
                    self.steps(body)?;
                    self.heads.pop();
                }
                Out::Back(condition, moves) => {
                    let head = self.heads.last().copied().unwrap_or(0);
                    if moves.is_empty() {
                        let jump = self.jump(Some(*condition))?;
                        self.patches.push((jump, head));
                    } else {
                        let over = self.jump(Some(condition.inverse()))?;
                        self.steps(moves)?;
                        let jump = self.jump(None)?;
                        self.patches.push((jump, head));
                        self.patches.push((over, self.at));
                    }
                }
                Out::Partial { body, index, columns, lanes } => {
                    self.partial(body, *index, *columns, *lanes as i32)?;
                }
                Out::Return => self.epilogue()?,
            }
        }
        Ok(())
    }

    /// Whole blocks, then a part of one if there are elements left.
    fn partial(
        &mut self,
        body: &'p [Out],
        index: u8,
        columns: Operand,
        lanes: i32,
    ) -> Result<(), Unsupported> {
        const RAX: Operand = Operand::In(Place::General(0));
        let index_place = Operand::In(Place::General(index));
        let compare = |w: &mut Self, x: Operand, y: Operand| w.simple(forms::CMP, &[x, y], None);
        // Where the last whole block begins.
        let limit = Operand::At(self.frame.limit());
        self.simple(forms::MOV, &[RAX, columns], None)?;
        self.simple(forms::ADD_I, &[RAX], Some(-i64::from(lanes)))?;
        self.simple(forms::MOV_STORE, &[limit, RAX], None)?;
        let none = self.jump(Some(Condition::Less))?;
        self.align();
        let head = self.at;
        self.steps(body)?;
        compare(self, index_place, limit)?;
        let again = self.jump(Some(Condition::LessEqual))?;
        self.patches.push((again, head));
        compare(self, index_place, columns)?;
        let done = self.jump(Some(Condition::GreaterEqual))?;
        self.patches.push((none, self.at));
        self.simple(forms::MOV, &[RAX, columns], None)?;
        self.simple(forms::SUB, &[RAX, index_place], None)?;
        let ones = Memory::at(MemoryBase::Pool { bits: u64::MAX, bytes: 8 }, 0);
        self.simple(forms::BZHI, &[RAX, Operand::At(ones), RAX], None)?;
        let left = self.frame.left();
        self.simple(forms::MOV_STORE, &[Operand::At(left), RAX], None)?;
        (self.part, self.part_lane) = (true, None);
        self.steps(body)?;
        self.part = false;
        self.patches.push((done, self.at));
        Ok(())
    }

    pub fn simple(
        &mut self,
        op: forms::Op,
        operands: &[Operand],
        immediate: Option<i64>,
    ) -> Result<(), Unsupported> {
        self.inst(&Encoded {
            op,
            size: Size::X,
            operands: smallvec::SmallVec::from_slice(operands),
            immediate,
            mask: None,
            zeroing: false,
        })
    }

    /// A jump; where the last byte of its distance ends.
    fn jump(&mut self, condition: Option<Condition>) -> Result<usize, Unsupported> {
        let form = match condition {
            None => Form::Jmp_rel32_64,
            Some(Condition::Equal) => Form::Je_rel32_64,
            Some(Condition::NotEqual) => Form::Jne_rel32_64,
            Some(Condition::Less) => Form::Jl_rel32_64,
            Some(Condition::LessEqual) => Form::Jle_rel32_64,
            Some(Condition::Greater) => Form::Jg_rel32_64,
            Some(Condition::GreaterEqual) => Form::Jge_rel32_64,
            Some(Condition::Below) => Form::Jb_rel32_64,
            Some(Condition::BelowEqual) => Form::Jbe_rel32_64,
            Some(Condition::Above) => Form::Ja_rel32_64,
            Some(Condition::AboveEqual) => Form::Jae_rel32_64,
        };
        let jump = Instruction::with_branch(form, self.at as u64).map_err(refused)?;
        self.encode(&jump)?;
        Ok(self.at)
    }

    fn encode(&mut self, instruction: &Instruction) -> Result<(), Unsupported> {
        self.last = self.encoder.encode(instruction, self.at as u64).map_err(refused)?;
        self.at += self.last;
        Ok(())
    }

    /// To the next multiple of 32, where the front end reads whole lines.
    fn align(&mut self) {
        // The processors' manuals name this as one instruction that does nothing.
        const LONG: [u8; 9] = [0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
        let mut missing = self.at.next_multiple_of(32) - self.at;
        while missing > 0 {
            if missing >= LONG.len() {
                LONG.iter().for_each(|&b| self.encoder.write_u8(b));
                (missing, self.at) = (missing - LONG.len(), self.at + LONG.len());
            } else {
                self.encoder.write_u8(0x90);
                (missing, self.at) = (missing - 1, self.at + 1);
            }
        }
    }
}

fn refused(e: iced_x86::IcedError) -> Unsupported {
    Unsupported(format!("an instruction that can't be encoded: {e}"))
}
