//! Compiles kernels for vectors of 256 and 512 bits: passes the emitter's CLIF to `broadloom-wide`, since Cranelift's
//! own back end only supports vectors of 128 bits.
//!
//! A kernel that `broadloom-wide` does not support is not an error: it is compiled for narrower vectors, and the reason
//! is kept.

use broadloom_ir::{CodePlan, Kernel, Purpose};
use broadloom_mem::Access;
use broadloom_wide::{Convention, Level};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::FunctionBuilderContext;

use crate::constants::TableEntry;
use crate::emit::{self, Helpers, MAX_FRAME, Variant};
use broadloom_ir::VectorWidth;

/// The alignment in bytes of each function's machine code.
pub const CODE_ALIGN: u64 = 64;

/// An estimate of the memory in bytes that compiling a function takes: a fixed part, and a part for each CLIF
/// instruction.
const ROOM: usize = 64 << 10;
const ROOM_PER_INSTRUCTION: usize = 1 << 10;

/// Machine code of a kernel that uses vectors of 256 or 512 bits.
pub struct Wide {
    /// The position-independent machine code.
    pub code: Vec<u8>,
    /// The entries of the constant table that callers pass to the code.
    pub constants: Vec<TableEntry>,
    /// The stack space that a call of the code takes, in bytes.
    pub frame: u32,
    /// The optimised CLIF and the disassembly. Both are empty unless the kernel is compiled for printing.
    pub clif: String,
    pub assembly: String,
}

/// Compiles the usual function of a kernel, which takes rows of all lengths, for the widest supported vectors up to
/// `width`. Returns the code with its plan, or `None` if the widest supported vectors have 128 bits. If the vectors are
/// narrower than `width`, the reason is returned as well.
pub fn widest(
    isa: &dyn TargetIsa,
    kernel: &Kernel,
    access: &[Access],
    width: VectorWidth,
    purpose: Purpose,
    helpers: impl Fn() -> Helpers,
) -> (Option<(CodePlan, Wide)>, Option<String>) {
    // A caller may request wider vectors than the target has, but must not receive code that the target can't run.
    let target = VectorWidth::target();
    let (width, mut narrowed) = (width.min(target), width.missing_on(target));
    for width in VectorWidth::ALL.into_iter().rev().filter(|&w| w > VectorWidth::W128 && w <= width) {
        let what = match purpose {
            _ if !kernel.loops.is_empty() => Some("loops of elements"),
            // A sum of 512 bits takes a cycle longer than one of 256 (Golden Cove), for which the next step waits.
            Purpose::Step { .. } => Some("steps of a single column"),
            Purpose::Store | Purpose::Stream | Purpose::Reduce => None,
        };
        if let Some(what) = what.filter(|_| width == VectorWidth::W512) {
            narrowed = narrowed.or_else(|| Some(format!("{what} are computed on at most 256 bits")));
            continue;
        }
        let plan = CodePlan::new(kernel, access, width, purpose);
        match wide(isa, kernel, access, &plan, Variant::Usual, helpers()) {
            Ok(wide) => return (Some((plan, wide)), narrowed),
            Err(why) => narrowed = narrowed.or(Some(why)),
        }
    }
    (None, narrowed)
}

/// Compiles a function of a kernel for vectors of the plan's width, which the target must have. The error is the reason
/// why the kernel is not supported.
pub fn wide(
    isa: &dyn TargetIsa,
    kernel: &Kernel,
    access: &[Access],
    plan: &CodePlan,
    variant: Variant,
    helpers: Helpers,
) -> Result<Wide, String> {
    let shown = matches!(helpers, Helpers::Shown(_));
    let level = match plan.width {
        VectorWidth::W512 => Level::Avx512,
        _ => Level::Avx2,
    };
    let convention = match isa.default_call_conv() {
        CallConv::WindowsFastcall => Convention::Windows,
        CallConv::SystemV => Convention::SystemV,
        other => return Err(format!("the calling convention {other} is not supported")),
    };
    let (function, constants) =
        emit::function(kernel, access, plan, variant, isa, &mut FunctionBuilderContext::new(), helpers)
            .map_err(|e| e.to_string())?;
    // The back end aborts if an allocation fails, so as much memory as it needs is reserved and freed here first, where
    // a failure can be returned as an error.
    let needed = ROOM + ROOM_PER_INSTRUCTION * function.dfg.num_insts();
    Vec::<u8>::new().try_reserve_exact(needed).map_err(|e| format!("no memory to compile it in: {e}"))?;
    if cfg!(debug_assertions) {
        cranelift_codegen::verify_function(&function, isa.flags()).map_err(|e| e.to_string())?;
    }
    let code = broadloom_wide::compile(&function, level, convention).map_err(|e| e.to_string())?;
    if code.frame > MAX_FRAME {
        return Err(format!("it would need {} bytes of stack, the limit is {MAX_FRAME}", code.frame));
    }
    let (clif, assembly) = match shown {
        true => (function.display().to_string(), code.assembly()),
        false => Default::default(),
    };
    Ok(Wide { code: code.bytes, constants, frame: code.frame, clif, assembly })
}
