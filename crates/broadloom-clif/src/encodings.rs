//! Compares the machine code of kernels on wide vectors with a second disassembler.
//!
//! For each instruction, the disassembler Capstone must agree with the encoder's own decoder about the length,
//! mnemonic, registers, memory operand, immediate, mask, zeroing and broadcast.

use std::collections::{BTreeSet, HashSet};

use broadloom_ir::kernel::{self, Kernel};
use broadloom_ir::{DType, Purpose};
use broadloom_mem::Access;
use broadloom_wide::{Code, Convention, Level};
use capstone::Capstone;
use capstone::arch::x86::{ArchMode, X86OperandType};
use capstone::arch::{BuildsCapstone, DetailsArchInsn};
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register};

use crate::compile::tests::mixed;
use crate::emit::Helpers;
use crate::repertoire;
use broadloom_ir::VectorWidth;

/// An instruction in a form that both decoders can be converted to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    bytes: usize,
    mnemonic: String,
    operands: Vec<EncodedOperand>,
    mask: String,
    zeroing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum EncodedOperand {
    Register(String),
    Immediate(i64),
    Memory {
        base: String,
        index: String,
        scale: i64,
        displacement: i64,
        /// The number of lanes to which an embedded broadcast copies the scalar, or 0 if there is none.
        broadcast: usize,
    },
}

impl Reading {
    /// The instruction's encoding: its mnemonic and the kinds of its operands.
    fn encoding(&self) -> String {
        let kinds: Vec<String> = self
            .operands
            .iter()
            .map(|operand| match operand {
                EncodedOperand::Register(name) => {
                    name.trim_end_matches(|c: char| c.is_ascii_digit()).to_string()
                }
                EncodedOperand::Immediate(_) => "imm".to_string(),
                EncodedOperand::Memory { broadcast: 0, .. } => "mem".to_string(),
                EncodedOperand::Memory { broadcast, .. } => format!("mem{{1to{broadcast}}}"),
            })
            .collect();
        let masked = match (self.mask.is_empty(), self.zeroing) {
            (true, _) => "",
            (false, false) => " merging",
            (false, true) => " zeroing",
        };
        format!("{} {}{masked}", self.mnemonic, kinds.join(", "))
    }
}

fn own(instruction: &Instruction) -> Reading {
    let name = |register: Register| match register {
        Register::None => String::new(),
        other => format!("{other:?}").to_lowercase(),
    };
    let memory = || {
        let is_relative = instruction.is_ip_rel_memory_operand();
        let absolute = instruction.memory_displacement64();
        let size = instruction.memory_size();
        let whole: usize =
            format!("{size:?}").strip_prefix("Broadcast").map_or(0, |s| s[..3].parse().expect("bits"));
        EncodedOperand::Memory {
            base: name(instruction.memory_base()),
            index: name(instruction.memory_index()),
            scale: i64::from(instruction.memory_index_scale()),
            displacement: match is_relative {
                true => absolute.wrapping_sub(instruction.next_ip()) as i64,
                false => absolute as i64,
            },
            broadcast: if instruction.is_broadcast() { whole / (8 * size.size()) } else { 0 },
        }
    };
    let operands = (0..instruction.op_count())
        .map(|i| match instruction.op_kind(i) {
            OpKind::Register => EncodedOperand::Register(name(instruction.op_register(i))),
            OpKind::Memory => memory(),
            OpKind::NearBranch64 => EncodedOperand::Immediate(instruction.near_branch_target() as i64),
            _ => EncodedOperand::Immediate(instruction.immediate(i) as i64),
        })
        .collect();
    Reading {
        bytes: instruction.len(),
        mnemonic: format!("{:?}", instruction.mnemonic()).to_lowercase(),
        operands,
        mask: name(instruction.op_mask()),
        zeroing: instruction.zeroing_masking(),
    }
}

/// Decodes one instruction with Capstone. Returns it with Capstone's text.
fn foreign(capstone: &Capstone, bytes: &[u8], at: u64) -> Option<(Reading, String)> {
    let read = capstone.disasm_count(bytes, at, 1).expect("disassembles");
    let instruction = read.iter().next()?;
    let detail = capstone.insn_detail(instruction).expect("details");
    let detail = detail.arch_detail();
    let detail = detail.x86().expect("of x86");
    let name = |id| capstone.reg_name(id).unwrap_or_default();
    let text = instruction.op_str().unwrap_or_default();
    let between =
        |open: &str, close: char| text.split_once(open)?.1.split_once(close).map(|(inside, _)| inside);
    let broadcast = between("{1to", '}').map_or(0, |count| count.parse().expect("a number of lanes"));
    let mask = between("{k", '}').map_or(String::new(), |number| format!("k{number}"));
    let mut operands: Vec<EncodedOperand> = detail
        .operands()
        .map(|operand| match operand.op_type {
            X86OperandType::Reg(id) => EncodedOperand::Register(name(id)),
            X86OperandType::Imm(value) => EncodedOperand::Immediate(value),
            X86OperandType::Mem(memory) => EncodedOperand::Memory {
                base: name(memory.base()),
                index: name(memory.index()),
                scale: i64::from(memory.scale()),
                displacement: memory.disp(),
                broadcast,
            },
            X86OperandType::Invalid => panic!("an operand that is none: {text}"),
        })
        .collect();
    // Works around a bug of Capstone 5, which scales a short displacement of this instruction by 16. The unit is 8
    // bytes (a 64-bit scalar); binutils decodes it correctly.
    if let ([0x62, _, _, _, 0x7e, modrm, ..], Some(EncodedOperand::Memory { displacement, .. })) =
        (bytes, operands.first_mut())
        && instruction.mnemonic() == Some("vmovq")
        && modrm >> 6 == 1
    {
        *displacement /= 2;
    }
    // Capstone lists the mask among the operands, after the first one.
    if !mask.is_empty() {
        assert_eq!(operands.remove(1), EncodedOperand::Register(mask.clone()), "{text}");
    }
    let mut mnemonic = instruction.mnemonic().unwrap_or_default().to_string();
    // In comparisons into a mask register and comparisons of floats, an immediate contains the condition. In
    // comparisons of integers into a vector register, the opcode contains the condition.
    let into_mask = matches!(&operands[..], [EncodedOperand::Register(k), ..] if k.starts_with('k'));
    if let Some((plain, predicate)) =
        predicate(&mnemonic).filter(|(plain, _)| into_mask || plain.starts_with("vcmp"))
    {
        operands.push(EncodedOperand::Immediate(predicate));
        mnemonic = plain;
    }
    if mnemonic == "movabs" {
        mnemonic = "mov".into();
    }
    let (bytes, zeroing) = (instruction.len(), text.contains("{z}"));
    let shown = format!("{mnemonic} {text}");
    Some((Reading { bytes, mnemonic, operands, mask, zeroing }, shown))
}

/// Splits a comparison mnemonic that includes its predicate (`vcmpltps`) into the plain mnemonic (`vcmpps`) and the
/// immediate value of the predicate.
fn predicate(mnemonic: &str) -> Option<(String, i64)> {
    const INTEGERS: [&str; 8] = ["eq", "lt", "le", "false", "neq", "nlt", "nle", "true"];
    const FLOATS: [&str; 32] = [
        "eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord", "eq_uq", "nge", "ngt", "false", "neq_oq",
        "ge", "gt", "true", "eq_os", "lt_oq", "le_oq", "unord_s", "neq_us", "nlt_uq", "nle_uq", "ord_s",
        "eq_us", "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq", "gt_oq", "true_us",
    ];
    let (stem, rest, names, lanes): (_, _, &[&str], &[&str]) = match mnemonic.strip_prefix("vpcmp") {
        Some(rest) => ("vpcmp", rest, &INTEGERS, &["ub", "uw", "ud", "uq", "b", "w", "d", "q"]),
        None => ("vcmp", mnemonic.strip_prefix("vcmp")?, &FLOATS, &["ps", "pd"]),
    };
    let lane = lanes.iter().find(|lane| rest.ends_with(**lane))?;
    let condition = &rest[..rest.len() - lane.len()];
    let place = names.iter().position(|name| *name == condition)?;
    Some((format!("{stem}{lane}"), place as i64))
}

fn capstone() -> Capstone {
    Capstone::new().x86().mode(ArchMode::Mode64).detail(true).build().expect("a disassembler")
}

fn code(kernel: &Kernel, access: Access, (width, convention): (VectorWidth, Convention)) -> Option<Code> {
    let access = vec![access; kernel.inputs.len()];
    let (function, _) =
        repertoire::optimised(kernel, &access, width, Purpose::Store, Helpers::Shown(Vec::new()));
    let level = if width == VectorWidth::W512 { Level::Avx512 } else { Level::Avx2 };
    broadloom_wide::compile(&function, level, convention).ok()
}

/// The minimum number of distinct encodings that the test must see. If it sees fewer, some kernels were not compiled,
/// or were compiled to other instructions.
const ENCODINGS: usize = 735;

#[test]
fn another_disassembler_reads_the_same() {
    let capstone = capstone();
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut encodings: BTreeSet<String> = BTreeSet::new();
    let mut wrong: Vec<String> = Vec::new();
    let targets = [VectorWidth::W256, VectorWidth::W512]
        .into_iter()
        .flat_map(|width| [Convention::SystemV, Convention::Windows].map(|convention| (width, convention)));
    for target in targets {
        let kernels = kernel::Code::all().flat_map(|code| {
            [
                (DType::Float32, Access::Contiguous),
                (DType::UInt8, Access::Contiguous),
                (DType::Int64, Access::Splat),
            ]
            .map(|(other, access)| (mixed(code, other), access))
        });
        for (kernel, access) in kernels {
            let Some(code) = code(&kernel, access, target) else { continue };
            let bytes = &code.bytes[..code.code_bytes];
            for instruction in &mut Decoder::new(64, bytes, DecoderOptions::NONE) {
                let at = instruction.ip() as usize;
                let inside = &bytes[at..at + instruction.len()];
                if !seen.insert(inside.to_vec()) {
                    continue;
                }
                let ours = own(&instruction);
                let theirs = foreign(&capstone, &bytes[at..], at as u64);
                if theirs.as_ref().is_none_or(|(theirs, _)| *theirs != ours) {
                    wrong.push(format!("{inside:02x?}: {ours:?}, {theirs:?}\n"));
                }
                encodings.insert(ours.encoding());
            }
        }
    }
    println!("{} encodings of {} instructions", encodings.len(), seen.len());
    wrong.truncate(40);
    assert!(wrong.is_empty(), "{}", wrong.concat());
    assert!(
        encodings.len() >= ENCODINGS,
        "only {} encodings of {} instructions",
        encodings.len(),
        seen.len()
    );
}
