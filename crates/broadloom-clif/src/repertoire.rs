//! What CLIF of more than 128 bits is made of.
//!
//! In: every code beside other dtypes, at 256 and 512 bits. Out: tests. Must hold: after the optimiser there are only the
//! instructions, types, intrinsics and blocks that the back end for wide vectors is written for.

use std::collections::BTreeSet;

use broadloom_core::DType;
use broadloom_core::kernel::Kernel;
use broadloom_mem::Access;
use broadloom_wide::Intrinsic;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Type, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::Configurable;
use cranelift_frontend::FunctionBuilderContext;

use crate::compile::tests::{codes, mixed};
use crate::compile::{X86_64_AT_LEAST, flags};
use crate::emit::{self, Helpers};
use crate::optimise;
use crate::width::Width;

fn isa() -> OwnedTargetIsa {
    let mut builder =
        cranelift_codegen::isa::lookup_by_name("x86_64-unknown-linux-gnu").expect("a back end of this build");
    X86_64_AT_LEAST.iter().for_each(|f| builder.enable(f).expect("a feature"));
    builder.finish(flags("backtracking").expect("settings")).expect("an instruction set")
}

/// The function of a kernel after the optimiser, verified before and after.
pub fn optimised(
    kernel: &Kernel,
    access: &[Access],
    width: Width,
    helpers: Helpers,
) -> (Function, Vec<[u8; 16]>) {
    let isa = isa();
    let mut context = Context::new();
    let (function, constants) =
        emit::function(kernel, access, width, &*isa, &mut FunctionBuilderContext::new(), helpers)
            .expect("a kernel that verifies");
    context.func = function;
    let whole = |context: &Context| {
        if let Err(errors) = context.verify(&*isa) {
            panic!("{errors}\n{}", context.func.display());
        }
    };
    whole(&context);
    optimise::run(&mut context.func);
    whole(&context);
    (context.func, constants)
}

/// The types of an instruction's operands and results.
fn types_of(function: &Function, inst: Inst) -> (Vec<Type>, Vec<Type>) {
    let dfg = &function.dfg;
    let of = |values: &[_]| values.iter().map(|&v| dfg.value_type(v)).collect();
    (of(dfg.inst_args(inst)), of(dfg.inst_results(inst)))
}

/// An instruction with its types, as text; of a call, the intrinsic's name.
fn named(function: &Function, inst: Inst) -> String {
    let (args, results) = types_of(function, inst);
    let opcode = function.dfg.insts[inst].opcode();
    let list = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(" ");
    let name = match intrinsic_of(function, inst) {
        Some(intrinsic) => format!("{intrinsic:?}"),
        None => opcode.to_string(),
    };
    format!("{name} ({}) -> {}", list(&args), list(&results))
}

pub fn intrinsic_of(function: &Function, inst: Inst) -> Option<Intrinsic> {
    let cranelift_codegen::ir::InstructionData::Call { func_ref, .. } = function.dfg.insts[inst] else {
        return None;
    };
    Intrinsic::of_external(function, &function.dfg.ext_funcs[func_ref].name)
}

fn instructions(function: &Function) -> impl Iterator<Item = (Block, Inst)> {
    function.layout.blocks().flat_map(|b| function.layout.block_insts(b).map(move |i| (b, i)))
}

/// Calls `f` for the optimised function of each code at both widths.
fn each_function(mut f: impl FnMut(Width, &Kernel, &Function)) {
    for width in [Width::W256, Width::W512] {
        for code in codes() {
            for other in [DType::Bool, DType::UInt8, DType::Float32, DType::Int64] {
                let kernel = mixed(code, other);
                for all in [Access::Contiguous, Access::Splat] {
                    let access = vec![all; kernel.inputs.len()];
                    let (function, constants) =
                        optimised(&kernel, &access, width, Helpers::Shown(Vec::new()));
                    assert!(constants.is_empty(), "the table is for host functions");
                    f(width, &kernel, &function);
                }
            }
        }
    }
}
