//! The result of compiling a function: machine code with its constant pool.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

/// Position-independent machine code, to be placed at an address that is a multiple of 64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The code, followed by the constant pool.
    pub bytes: Vec<u8>,
    /// The size of the code in bytes, without the constant pool.
    pub code_bytes: usize,
    /// The stack space that a call of the code takes, in bytes, without the saved general registers.
    pub frame: u32,
}

impl Code {
    /// The disassembly: one line for each instruction, with its offset first.
    pub fn assembly(&self) -> String {
        let mut decoder = Decoder::new(64, &self.bytes[..self.code_bytes], DecoderOptions::NONE);
        let mut formatter = IntelFormatter::new();
        let options = formatter.options_mut();
        options.set_rip_relative_addresses(true);
        options.set_space_after_operand_separator(true);
        options.set_branch_leading_zeros(false);
        let (mut text, mut line) = (String::new(), String::new());
        for instruction in &mut decoder {
            line.clear();
            formatter.format(&instruction, &mut line);
            text.push_str(&format!("{:6x}:  {line}\n", instruction.ip()));
        }
        text
    }
}
