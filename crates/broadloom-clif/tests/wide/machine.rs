//! Compiled functions in memory, and calls of them.
//!
//! A call fills the callee-saved registers and compares them afterwards; the helper of cold blocks overwrites every caller-saved
//! register.

use std::arch::global_asm;
use std::mem::ManuallyDrop;

use broadloom_clif::VectorWidth;
use broadloom_wide::{Convention, Level, Unsupported};
use cranelift_codegen::ir::{
    AbiParam, Block, ConstantData, Function, Inst, InstructionData, Signature, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::settings;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};

use crate::program::{Lane, RowProgram, rare};
use crate::text::{self, Shape};

/// The instruction set levels that this CPU supports, the highest first.
pub fn levels() -> Vec<Level> {
    match VectorWidth::target() {
        VectorWidth::W512 => vec![Level::Avx512, Level::Avx2],
        VectorWidth::W256 => vec![Level::Avx2],
        VectorWidth::W128 => vec![],
    }
}

/// Parses the function in a text and verifies it. A vector constant is filled by repeating the bytes in the text.
pub fn parse(text: &str) -> Function {
    let functions = cranelift_reader::parse_functions(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let [function] = &functions[..] else { panic!("not one function") };
    let mut function = function.clone();
    let blocks: Vec<Block> = function.layout.blocks().collect();
    let instructions: Vec<Inst> = blocks.iter().flat_map(|&b| function.layout.block_insts(b)).collect();
    for inst in instructions {
        if let InstructionData::UnaryConst { opcode, constant_handle } = function.dfg.insts[inst] {
            let bytes = function.dfg.value_type(function.dfg.first_result(inst)).bytes();
            let pattern = function.dfg.constants.get(constant_handle).as_slice();
            let data: Vec<u8> = pattern.iter().copied().cycle().take(bytes as usize).collect();
            let constant_handle = function.dfg.constants.insert(ConstantData::from(&data[..]));
            function.dfg.insts[inst] = InstructionData::UnaryConst { opcode, constant_handle };
        }
    }
    let flags = settings::Flags::new(settings::builder());
    if let Err(errors) = cranelift_codegen::verify_function(&function, &flags) {
        panic!("{errors}\n{text}");
    }
    function
}

/// Whether the back end can compile every function of these tests for 256 bits.
const TAKES_256: bool = true;

/// Returns the compiled function. A refusal is a failure of the test, unless it is at 256 bits and [`TAKES_256`] is false.
pub fn taken<T>(compiled: Result<T, Unsupported>, level: Level) -> Option<T> {
    match compiled {
        Ok(compiled) => Some(compiled),
        Err(_) if level == Level::Avx2 && !TAKES_256 => None,
        Err(why) => panic!("{why}"),
    }
}

/// A compiled function.
pub struct CompiledFunction {
    module: ManuallyDrop<JITModule>,
    entry: *const u8,
    convention: Convention,
    pub frame: u32,
    pub assembly: String,
}

impl Drop for CompiledFunction {
    fn drop(&mut self) {
        // SAFETY: `self` is being dropped, so the module is not used again.
        let module = unsafe { ManuallyDrop::take(&mut self.module) };
        // SAFETY: the function is called only through a borrow of `self`: no call is running, and no later call is possible.
        unsafe { module.free_memory() };
    }
}

/// A row-major operand: the address of its first element, and the number of bytes from row to row.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RowMajor {
    pub ptr: *mut u8,
    pub stride: isize,
}

/// The number of 64-bit words of the callee-saved registers: rbx, rbp, rdi, rsi, r12 to r15, and then xmm6 to xmm15, which have
/// two words each.
const KEPT: usize = 8 + 20;

global_asm!(
    // checked_system_v(function: rdi, arguments: rsi, registers before: rdx, registers after: rcx)
    ".globl broadloom_checked_system_v",
    "broadloom_checked_system_v:",
    "push rbx; push rbp; push r12; push r13; push r14; push r15",
    "sub rsp, 24",
    "mov [rsp], rcx",
    "mov [rsp + 8], rsp",
    "mov rax, rdi",
    "mov r10, rsi",
    "mov rbx, [rdx]; mov rbp, [rdx + 8]",
    "mov r12, [rdx + 32]; mov r13, [rdx + 40]; mov r14, [rdx + 48]; mov r15, [rdx + 56]",
    "mov rdi, [r10]; mov rsi, [r10 + 8]; mov rdx, [r10 + 16]; mov rcx, [r10 + 24]",
    "mov r8, [r10 + 32]; mov r9, [r10 + 40]",
    "call rax",
    "mov rax, [rsp]",
    "mov [rax], rbx; mov [rax + 8], rbp",
    "mov [rax + 32], r12; mov [rax + 40], r13; mov [rax + 48], r14; mov [rax + 56], r15",
    "mov rax, [rsp + 8]; sub rax, rsp",
    "add rsp, 24",
    "pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
    "ret",
    // checked_windows: the same parameters. In System V, rdi, rsi and all vector registers are caller-saved.
    ".globl broadloom_checked_windows",
    "broadloom_checked_windows:",
    "push rbx; push rbp; push r12; push r13; push r14; push r15",
    "sub rsp, 88",
    "mov [rsp + 64], rcx",
    "mov [rsp + 72], rsp",
    "mov rax, rdi",
    "mov r10, rsi",
    "mov rbx, [rdx]; mov rbp, [rdx + 8]; mov rdi, [rdx + 16]; mov rsi, [rdx + 24]",
    "mov r12, [rdx + 32]; mov r13, [rdx + 40]; mov r14, [rdx + 48]; mov r15, [rdx + 56]",
    "movups xmm6, [rdx + 64]; movups xmm7, [rdx + 80]; movups xmm8, [rdx + 96]; movups xmm9, [rdx + 112]",
    "movups xmm10, [rdx + 128]; movups xmm11, [rdx + 144]; movups xmm12, [rdx + 160]",
    "movups xmm13, [rdx + 176]; movups xmm14, [rdx + 192]; movups xmm15, [rdx + 208]",
    "mov rcx, [r10 + 32]; mov [rsp + 32], rcx; mov rcx, [r10 + 40]; mov [rsp + 40], rcx",
    "mov rcx, 0x5eed5eed; mov [rsp + 48], rcx",
    "mov rcx, [r10]; mov rdx, [r10 + 8]; mov r8, [r10 + 16]; mov r9, [r10 + 24]",
    "call rax",
    "mov rax, [rsp + 64]",
    "mov [rax], rbx; mov [rax + 8], rbp; mov [rax + 16], rdi; mov [rax + 24], rsi",
    "mov [rax + 32], r12; mov [rax + 40], r13; mov [rax + 48], r14; mov [rax + 56], r15",
    "movups [rax + 64], xmm6; movups [rax + 80], xmm7; movups [rax + 96], xmm8; movups [rax + 112], xmm9",
    "movups [rax + 128], xmm10; movups [rax + 144], xmm11; movups [rax + 160], xmm12",
    "movups [rax + 176], xmm13; movups [rax + 192], xmm14; movups [rax + 208], xmm15",
    "mov rax, [rsp + 72]; sub rax, rsp",
    "mov rcx, [rsp + 48]; xor rcx, 0x5eed5eed; or rax, rcx",
    "add rsp, 88",
    "pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
    "ret",
);

unsafe extern "sysv64" {
    fn broadloom_checked_system_v(
        code: *const u8,
        arguments: *const u64,
        before: *const u64,
        after: *mut u64,
    ) -> u64;
    fn broadloom_checked_windows(
        code: *const u8,
        arguments: *const u64,
        before: *const u64,
        after: *mut u64,
    ) -> u64;
}

impl CompiledFunction {
    /// Compiles a text.
    ///
    /// # Errors
    /// The reason why the back end refuses the function.
    pub fn of_text(
        text: &str,
        level: Level,
        convention: Convention,
    ) -> Result<CompiledFunction, Unsupported> {
        let function = parse(text);
        let code = broadloom_wide::compile(&function, level, convention)?;
        let mut module = JITModule::new(JITBuilder::new(default_libcall_names()).expect("a host"));
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([AbiParam::new(types::I64); 6]);
        let id = module.declare_function("kernel", Linkage::Local, &signature).expect("declares");
        module.define_function_bytes(id, 64, &code.bytes, &[]).expect("defines");
        module.finalize_definitions().expect("executable memory");
        let entry = module.get_finalized_function(id);
        let module = ManuallyDrop::new(module);
        Ok(CompiledFunction { module, entry, convention, frame: code.frame, assembly: code.assembly() })
    }

    /// Compiles a program.
    ///
    /// # Errors
    /// The reason why the back end refuses the function.
    pub fn of(program: &RowProgram, shape: Shape) -> Result<CompiledFunction, Unsupported> {
        CompiledFunction::of_text(&text::function(program, shape), shape.level, shape.convention)
    }

    /// Calls the function; `last` is the number of columns or the first column of the last block, depending on the level.
    ///
    /// # Safety
    /// The operands are those that the function was generated for, with memory for the given rows and columns.
    pub unsafe fn call(&self, operands: &[RowMajor], rows: usize, last: usize) {
        let arguments = [operands.as_ptr() as u64, 0, 0, rows as u64, last as u64, 0];
        let before: [u64; KEPT] =
            std::array::from_fn(|i| 0x0101_0101_0101_0101u64.wrapping_mul(i as u64 + 3));
        let mut after = before;
        // SAFETY: `entry` is code for a function of six integers in `convention`; `arguments` has six words, `before` and `after` have
        // `KEPT` words, which is what the trampolines read and write; the operands are valid by `call`'s contract.
        let moved = unsafe {
            let (arguments, before, after) = (arguments.as_ptr(), before.as_ptr(), after.as_mut_ptr());
            match self.convention {
                Convention::SystemV => broadloom_checked_system_v(self.entry, arguments, before, after),
                Convention::Windows => broadloom_checked_windows(self.entry, arguments, before, after),
            }
        };
        assert_eq!(moved, 0, "the stack pointer, or the caller's stack");
        assert_eq!(after, before, "registers that belong to the caller: {:?}", self.convention);
    }
}

/// The number that identifies a lane type to the helper.
pub fn kind_of(lane: Lane) -> i64 {
    [Lane::I8, Lane::I16, Lane::I32, Lane::I64, Lane::F32, Lane::F64]
        .iter()
        .position(|&l| l == lane)
        .expect("a lane") as i64
}

/// The address of the helper of cold blocks.
pub fn helper(convention: Convention) -> usize {
    match convention {
        Convention::SystemV => helper_system_v as *const () as usize,
        Convention::Windows => helper_windows as *const () as usize,
    }
}

/// # Safety
/// `frame` points to four parts of [`text::PART`] bytes: masks, arguments, inline results, results. A vector of `lanes` lanes of
/// `kind` has at most [`text::PART`] bytes.
unsafe extern "sysv64" fn helper_system_v(frame: *mut u8, kind: u64, lanes: u64) {
    // SAFETY: `flagged` has the contract of this function, with the same arguments.
    unsafe { flagged(frame, kind, lanes) };
    spoil_system_v();
}

/// # Safety
/// As [`helper_system_v`].
unsafe extern "win64" fn helper_windows(frame: *mut u8, kind: u64, lanes: u64) {
    // SAFETY: `flagged` has the contract of this function, with the same arguments.
    unsafe { flagged(frame, kind, lanes) };
    spoil_windows();
}

/// # Safety
/// As [`helper_system_v`].
unsafe fn flagged(frame: *mut u8, kind: u64, lanes: u64) {
    let lane = [Lane::I8, Lane::I16, Lane::I32, Lane::I64, Lane::F32, Lane::F64][kind as usize];
    let size = lane.bytes();
    for i in 0..lanes as usize {
        // SAFETY: each of the four parts has `text::PART` = 64 bytes, and `lanes * size` is at most 64.
        let read = |part: usize| unsafe { read(frame.add(part * text::PART + i * size), size) };
        let result = if read(0) != 0 { rare(lane, read(1)) } else { read(2) };
        // SAFETY: lane `i` of the fourth part is within its 64 bytes.
        unsafe { write(frame.add(3 * text::PART + i * size), size, result) };
    }
}

/// # Safety
/// `from` is valid for reads of `bytes` bytes, at most 8.
pub unsafe fn read(from: *const u8, bytes: usize) -> u64 {
    let mut word = [0; 8];
    // SAFETY: `bytes` bytes are readable by this function's contract, and `word` has space for 8 bytes.
    unsafe { std::ptr::copy_nonoverlapping(from, word.as_mut_ptr(), bytes) };
    u64::from_le_bytes(word)
}

/// # Safety
/// `to` is valid for writes of `bytes` bytes, at most 8.
pub unsafe fn write(to: *mut u8, bytes: usize, value: u64) {
    // SAFETY: `bytes` bytes are writable by this function's contract, and `value` has 8 bytes.
    unsafe { std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), to, bytes) };
}

/// Overwrites every register that is caller-saved under System V, and no other register.
fn spoil_system_v() {
    let all = VectorWidth::target() == VectorWidth::W512;
    // SAFETY: `clobber_abi` names every register that is written; the AVX-512 instructions run only where `VectorWidth::target` has them.
    unsafe {
        std::arch::asm!(
            "vcmpps ymm0, ymm0, ymm0, 15",
            "vmovaps ymm1, ymm0",
            "vmovaps ymm2, ymm0",
            "vmovaps ymm3, ymm0",
            "vmovaps ymm4, ymm0",
            "vmovaps ymm5, ymm0",
            "vmovaps ymm6, ymm0",
            "vmovaps ymm7, ymm0",
            "vmovaps ymm8, ymm0",
            "vmovaps ymm9, ymm0",
            "vmovaps ymm10, ymm0",
            "vmovaps ymm11, ymm0",
            "vmovaps ymm12, ymm0",
            "vmovaps ymm13, ymm0",
            "vmovaps ymm14, ymm0",
            "vmovaps ymm15, ymm0",
            "mov rcx, -7",
            "mov rdx, rcx",
            "mov rsi, rcx",
            "mov rdi, rcx",
            "mov r8, rcx",
            "mov r9, rcx",
            "mov r10, rcx",
            "mov r11, rcx",
            clobber_abi("sysv64"),
        );
        if all {
            std::arch::asm!(
                "vpternlogd zmm16, zmm16, zmm16, 255",
                "vmovaps zmm17, zmm16",
                "vmovaps zmm18, zmm16",
                "vmovaps zmm19, zmm16",
                "vmovaps zmm20, zmm16",
                "vmovaps zmm21, zmm16",
                "vmovaps zmm22, zmm16",
                "vmovaps zmm23, zmm16",
                "vmovaps zmm24, zmm16",
                "vmovaps zmm25, zmm16",
                "vmovaps zmm26, zmm16",
                "vmovaps zmm27, zmm16",
                "vmovaps zmm28, zmm16",
                "vmovaps zmm29, zmm16",
                "vmovaps zmm30, zmm16",
                "vmovaps zmm31, zmm16",
                "kxnorq k1, k1, k1",
                "kmovq k2, k1",
                "kmovq k3, k1",
                "kmovq k4, k1",
                "kmovq k5, k1",
                "kmovq k6, k1",
                "kmovq k7, k1",
                "vzeroupper",
                clobber_abi("sysv64"),
            );
        }
    }
}

/// Overwrites the caller-saved registers of Windows. The low halves of xmm6 to xmm15, rdi and rsi are callee-saved.
fn spoil_windows() {
    let all = VectorWidth::target() == VectorWidth::W512;
    // SAFETY: `clobber_abi` names every register that is written; `vzeroupper` keeps the low halves of xmm6 to xmm15.
    unsafe {
        std::arch::asm!(
            "vcmpps ymm0, ymm0, ymm0, 15",
            "vmovaps ymm1, ymm0",
            "vmovaps ymm2, ymm0",
            "vmovaps ymm3, ymm0",
            "vmovaps ymm4, ymm0",
            "vmovaps ymm5, ymm0",
            "mov rcx, -7",
            "mov rdx, rcx",
            "mov r8, rcx",
            "mov r9, rcx",
            "mov r10, rcx",
            "mov r11, rcx",
            "vzeroupper",
            clobber_abi("win64"),
        );
        if all {
            std::arch::asm!(
                "vpternlogd zmm16, zmm16, zmm16, 255",
                "vmovaps zmm17, zmm16",
                "vmovaps zmm18, zmm16",
                "vmovaps zmm19, zmm16",
                "vmovaps zmm20, zmm16",
                "vmovaps zmm21, zmm16",
                "vmovaps zmm22, zmm16",
                "vmovaps zmm23, zmm16",
                "vmovaps zmm24, zmm16",
                "vmovaps zmm25, zmm16",
                "vmovaps zmm26, zmm16",
                "vmovaps zmm27, zmm16",
                "vmovaps zmm28, zmm16",
                "vmovaps zmm29, zmm16",
                "vmovaps zmm30, zmm16",
                "vmovaps zmm31, zmm16",
                "kxnorq k1, k1, k1",
                "kmovq k2, k1",
                "kmovq k3, k1",
                "kmovq k4, k1",
                "kmovq k5, k1",
                "kmovq k6, k1",
                "kmovq k7, k1",
                clobber_abi("win64"),
            );
        }
    }
}
