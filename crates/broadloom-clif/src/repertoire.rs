//! The subset of CLIF that the back end for wide vectors supports, and a test that the emitter stays within it.
//!
//! Each of the tested kernels has one instruction and copies an input of another dtype; all instructions are tested, at
//! 256 and 512 bits. The CLIF of the kernels may contain only instructions, types, intrinsics and blocks that
//! `broadloom-wide` supports.

use std::fmt;

use broadloom_ir::kernel::{Code, Kernel};
use broadloom_ir::{CodePlan, DType, Purpose};
use broadloom_mem::Access;
use broadloom_wide::Intrinsic;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{Function, Inst, InstructionData, Opcode, Type, Value, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::Configurable;
use cranelift_frontend::FunctionBuilderContext;

use crate::compile::tests::mixed;
use crate::compile::{X86_64_AT_LEAST, flags};
use crate::constants::TableEntry;
use crate::emit::{self, Helpers, Variant};
use broadloom_ir::VectorWidth;

fn isa() -> OwnedTargetIsa {
    let mut builder =
        cranelift_codegen::isa::lookup_by_name("x86_64-unknown-linux-gnu").expect("a back end of this build");
    X86_64_AT_LEAST.iter().for_each(|f| builder.enable(f).expect("a feature"));
    builder.finish(flags("backtracking").expect("settings")).expect("an instruction set")
}

/// The verified CLIF function of a kernel: the second function if the purpose requires one, otherwise the usual
/// function.
pub fn optimised(
    kernel: &Kernel,
    access: &[Access],
    width: VectorWidth,
    purpose: Purpose,
    helpers: Helpers,
) -> (Function, Vec<TableEntry>) {
    let isa = isa();
    let mut context = Context::new();
    let plan = CodePlan::new(kernel, access, width, purpose);
    let variant = if purpose == Purpose::Store { Variant::Usual } else { Variant::Bulk };
    let (function, constants) =
        emit::function(kernel, access, &plan, variant, &*isa, &mut FunctionBuilderContext::new(), helpers)
            .expect("a kernel that verifies");
    context.func = function;
    let whole = |context: &Context| {
        if let Err(errors) = context.verify(&*isa) {
            panic!("{errors}\n{}", context.func.display());
        }
    };
    whole(&context);
    (context.func, constants)
}

pub fn intrinsic_of(function: &Function, inst: Inst) -> Option<Intrinsic> {
    let InstructionData::Call { func_ref, .. } = function.dfg.insts[inst] else { return None };
    Intrinsic::of_external(function, &function.dfg.ext_funcs[func_ref].name)
}

/// Prints an instruction with the types of its operands and results; a call is printed with the name of the intrinsic.
struct ShownInstruction<'f>(&'f Function, Inst);

impl ShownInstruction<'_> {
    fn types(&self) -> (Vec<Type>, Vec<Type>) {
        let dfg = &self.0.dfg;
        let of = |values: &[Value]| values.iter().map(|&v| dfg.value_type(v)).collect();
        (of(dfg.inst_args(self.1)), of(dfg.inst_results(self.1)))
    }
}

impl fmt::Display for ShownInstruction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (args, results) = self.types();
        match intrinsic_of(self.0, self.1) {
            Some(intrinsic) => write!(f, "{intrinsic:?}")?,
            None => write!(f, "{}", self.0.dfg.insts[self.1].opcode())?,
        }
        let list = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(" ");
        write!(f, " ({}) -> {}", list(&args), list(&results))
    }
}

/// Whether `broadloom-wide` supports an instruction with these types.
fn is_known(function: &Function, inst: Inst, width: VectorWidth) -> bool {
    use Opcode::*;
    let (args, results) = ShownInstruction(function, inst).types();
    let fits = |ty: &Type| !ty.is_vector() || (4..=width.bytes()).contains(&ty.bytes());
    if !args.iter().chain(&results).all(fits) {
        return false;
    }
    let opcode = function.dfg.insts[inst].opcode();
    let ty = *results.first().or(args.first()).unwrap_or(&types::I64);
    let wide512 = width == VectorWidth::W512;
    if !ty.is_vector() {
        let address =
            matches!(opcode, Iadd | Isub | Imul | Band | Ishl | Ushr | Select | StackAddr | Load | Store);
        return match opcode {
            Jump | Brif | Return | CallIndirect | Iconst | VanyTrue => true,
            Icmp => args[0] == types::I64,
            VhighBits => !wide512 && args[0].lane_bits() >= 32 && args[0].bytes() >= 16,
            Load => true,
            Store => ty == types::I8,
            // Masked stores are calls.
            Call => true,
            _ => address && ty == types::I64,
        };
    }
    let (lane, from) = (ty.lane_type(), args.first().map_or(ty, |a| a.lane_type()));
    match opcode {
        Iadd | Isub | Band | Bor | Bxor | Bnot | Bitselect | Bitcast | Icmp | Vconst => true,
        Imul | Ishl | Ushr | Sshr => lane.bits() >= 16,
        AvgRound => lane.bits() == 16,
        // AVX2 has no minimum and maximum of 64-bit integers.
        Smin | Smax | Umin | Umax => wide512 || lane.bits() < 64,
        Fadd | Fsub | Fmul | Fdiv | Fneg | Sqrt | Fma | Ceil | Floor | Trunc | Nearest => lane.is_float(),
        Fcmp => true,
        FcvtFromSint if !wide512 => from == types::I32,
        FcvtFromSint | FcvtFromUint => wide512 && from.bits() >= 32,
        FcvtToSintSat if !wide512 => (from, lane) == (types::F32, types::I32),
        FcvtToSintSat | FcvtToUintSat => wide512 && from.bits() == lane.bits(),
        // At 512 bits elements are read and written by masked accesses.
        Load | Store => true,
        Call => intrinsic_of(function, inst).is_some(),
        _ => false,
    }
}

/// Calls `f` for the CLIF function of each kernel instruction, at both vector widths and for several access classes and
/// purposes.
fn each_function(mut f: impl FnMut(VectorWidth, &Function)) {
    for width in [VectorWidth::W256, VectorWidth::W512] {
        for code in Code::all() {
            for other in [DType::Bool, DType::UInt8, DType::Float32, DType::Int64] {
                let kernel = mixed(code, other);
                for (all, purpose) in [
                    (Access::Contiguous, Purpose::Store),
                    (Access::Contiguous, Purpose::Stream),
                    (Access::Splat, Purpose::Store),
                    (Access::Reversed, Purpose::Store),
                    (Access::EverySecond, Purpose::Store),
                ] {
                    // Inputs with elements of 1 or 2 bytes that are reversed or every second element in memory are
                    // packed.
                    let access = |dtype: &DType| if dtype.size() < 4 { all.packed() } else { all };
                    let access: Vec<Access> = kernel.inputs.iter().map(access).collect();
                    let (function, constants) =
                        optimised(&kernel, &access, width, purpose, Helpers::Shown(Vec::new()));
                    assert!(constants.is_empty(), "the table is for host functions");
                    f(width, &function);
                }
            }
        }
    }
}

#[test]
fn only_what_the_back_end_is_written_for() {
    each_function(|width, function| {
        for block in function.layout.blocks() {
            for inst in function.layout.block_insts(block) {
                let shown = ShownInstruction(function, inst);
                assert!(is_known(function, inst, width), "{shown} at {width} bits\n{}", function.display());
            }
        }
    });
}

/// Every vector constant consists of copies of at most 64 bits.
#[test]
fn constants_repeat() {
    each_function(|_, function| {
        for (_, constant) in function.dfg.constants.iter() {
            let bytes = constant.as_slice();
            let first = &bytes[..bytes.len().min(8)];
            assert!(bytes.chunks(8).all(|chunk| chunk == first), "{bytes:?}");
        }
    });
}

/// A cold block is the target of a branch whose other target is the join. It has no parameters and at most one call.
#[test]
fn cold_blocks_come_back() {
    each_function(|_, function| {
        let (dfg, layout) = (&function.dfg, &function.layout);
        for cold in layout.blocks().filter(|&b| layout.is_cold(b)) {
            assert!(dfg.block_params(cold).is_empty());
            let before = layout.prev_block(cold).and_then(|b| layout.last_inst(b)).expect("a branch");
            let InstructionData::Brif { blocks: [then, other], .. } = dfg.insts[before] else {
                panic!("{}", function.display())
            };
            let last = layout.last_inst(cold).expect("a jump");
            let InstructionData::Jump { destination, .. } = dfg.insts[last] else {
                panic!("{}", function.display())
            };
            let [then, other, join] = [then, other, destination].map(|call| call.block(&dfg.value_lists));
            assert_eq!((then, other, layout.next_block(cold)), (cold, join, Some(join)));
            let calls = layout.block_insts(cold).filter(|&i| dfg.insts[i].opcode().is_call());
            assert!(calls.count() <= 1);
        }
    });
}
