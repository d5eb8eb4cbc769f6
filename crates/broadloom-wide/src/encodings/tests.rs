//! Compares each row of the encoding table with the encoder's own description of its codes.

use iced_x86::{Code, OpCodeOperandKind};

use super::encoding::Encoding;
use super::table::ALL;
use crate::length::VectorLength;

const LENGTHS: [VectorLength; 3] = [VectorLength::L128, VectorLength::L256, VectorLength::L512];

/// The codes of a table row, each with its vector length and whether AVX-512 must be available for it to be
/// chosen.
fn codes(encoding: Encoding) -> impl Iterator<Item = (VectorLength, bool, Code)> {
    LENGTHS
        .into_iter()
        .flat_map(|length| [false, true].map(|avx512| (length, avx512)))
        .filter_map(move |(length, avx512)| Some((length, avx512, encoding.code(length, avx512)?)))
}

/// All codes of a row have one mnemonic, and each has the vector length and prefix (VEX or EVEX) under which the row
/// lists it.
#[test]
fn codes_of_a_row_differ_in_length_and_prefix_only() {
    for &(name, encoding) in ALL {
        let rows: Vec<_> = codes(encoding).collect();
        let mnemonic = rows.first().unwrap_or_else(|| panic!("{name} has no code")).2.mnemonic();
        let has_vex = rows.iter().any(|&(_, avx512, _)| !avx512);
        for (length, avx512, code) in rows {
            let text = format!("{code:?}");
            assert_eq!(code.mnemonic(), mnemonic, "{name}: {text}");
            if encoding.is_single() {
                continue;
            }
            let has_evex = encoding.code(VectorLength::L512, true).is_some();
            let is_evex = avx512 && has_evex || !has_vex;
            assert_eq!(text.starts_with("EVEX_"), is_evex, "{name}: {text}");
            // The widest register in the code's name has the operation's vector length. (The names of
            // conversions and gathers also contain shorter registers; the indices of a gather are the widest.)
            let names = |l: &char| text.contains(&format!("_{l}mm")) || text.contains(&format!("_vm64{l}"));
            let widest = ['z', 'y', 'x'].into_iter().find(names);
            assert_eq!(widest, Some(['x', 'y', 'z'][length as usize]), "{name}: {text}");
            let broadcast = if is_evex { encoding.broadcast } else { 0 };
            assert_eq!(text.contains("b32"), broadcast == 4, "{name}: {text}");
            assert_eq!(text.contains("b64"), broadcast == 8, "{name}: {text}");
        }
    }
}

/// The sizes of operands and immediates in the table must agree with the encoder's.
#[test]
fn operand_sizes_are_those_of_the_encoder() {
    for &(name, encoding) in ALL {
        for (length, _, code) in codes(encoding) {
            let info = code.op_code();
            // A result and the source tied to it are one operand, and implied operands are not counted.
            let count = info.op_count();
            let kinds: Vec<OpCodeOperandKind> = (0..count).map(|i| info.op_kind(i)).collect();
            let is_immediate = |k: &OpCodeOperandKind| format!("{k:?}").starts_with("imm");
            let operands = kinds.iter().filter(|k| !is_immediate(k)).count();
            for (position, kind) in kinds.iter().enumerate() {
                let text = format!("{kind:?}");
                if is_immediate(kind) {
                    let bytes = match kind {
                        OpCodeOperandKind::imm64 => 8,
                        OpCodeOperandKind::imm32sex64 => 4,
                        _ => 1,
                    };
                    assert_eq!(encoding.immediate, bytes, "{name}: {text}");
                    continue;
                }
                let operand_length = encoding.operand_length(length, position, position + 1 == operands);
                let general = match &text[..2] {
                    "r1" => 2,
                    "r3" => 4,
                    "r6" => 8,
                    "r8" => 1,
                    // The instruction has the same code at every length.
                    _ if encoding.is_single() => continue,
                    "xm" | "ym" | "zm" => {
                        let expected = LENGTHS["xyz".find(&text[..1]).expect("a length")];
                        assert_eq!(operand_length, expected, "{name} at {length:?}: operand {position}");
                        continue;
                    }
                    _ => continue,
                };
                assert_eq!(encoding.general_bytes(position), general, "{name}: operand {position}");
            }
        }
    }
}

/// The names of the three operand orders of multiply-adds agree with the mnemonics of the encoder.
#[test]
fn fma_orders_are_named_by_the_encoder() {
    use super::fma::FmaOrder;
    for &(name, encoding) in ALL.iter().filter(|(_, encoding)| encoding.is_fma()) {
        for (order, digits) in FmaOrder::ALL.into_iter().zip(["132", "213", "231"]) {
            let code = encoding.with_fma_order(order).code(VectorLength::L128, false).expect("a VEX code");
            let text = format!("{code:?}");
            let base: String = name.to_lowercase().chars().filter(|c| !c.is_ascii_digit()).collect();
            let plain: String = format!("{:?}", code.mnemonic())
                .to_lowercase()
                .chars()
                .filter(|c| !c.is_ascii_digit())
                .collect();
            assert!(text.contains(digits), "{name}: {text}");
            assert_eq!(plain, format!("v{base}"));
        }
    }
}
