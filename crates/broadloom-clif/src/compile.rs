//! Compiles kernels to callable machine code. The emitter's CLIF is compiled by Cranelift, or by `broadloom-wide` for vectors of
//! more than 128 bits. The machine code of each kernel is in a JIT module of its own.
//!
//! Pages are written first and then made executable. A kernel that `broadloom-wide` does not support is compiled for narrower
//! vectors.

use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use broadloom_ir::code_plan::{Allocator, Bulk};
use broadloom_ir::{CodePlan, Error, ErrorKind, HostDeclaration, Kernel, Purpose, Result, verify};
use broadloom_mem::{Access, ExecutableKernel, HostFunction, KernelExecutor, Listing};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CodegenError, Context};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};
use smallvec::SmallVec;
use target_lexicon::Architecture;

use crate::body::Body;
use crate::code::{Code, Compiled, Constant, Entry, Linked};
use crate::constants::TableEntry;
use crate::emit::{self, Helpers, MAX_FRAME, Variant};
#[cfg(all(unix, target_arch = "x86_64"))]
use crate::pages::{CodeMemory, KernelPages};
use crate::symbols::{self, Announce};
use crate::wide::{self, CODE_ALIGN, Wide};
use broadloom_ir::VectorWidth;

/// Compiles kernels for this CPU.
pub struct Compiler {
    thorough: OwnedTargetIsa,
    linear: OwnedTargetIsa,
    announce: Announce,
    #[cfg(all(unix, target_arch = "x86_64"))]
    memory: Arc<CodeMemory>,
}

// A compiler holds an immutable description of the target, and memory from which whole pages are handed out. Each
// compilation has a context of its own.
impl UnwindSafe for Compiler {}
impl RefUnwindSafe for Compiler {}

impl Compiler {
    /// The compiler for the CPU that the process runs on.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the CPU is not supported; supported are x86-64 with AVX and FMA, and aarch64.
    pub fn host() -> Result<Compiler> {
        let (thorough, linear) = (host_isa("backtracking")?, host_isa("single_pass")?);
        Ok(Compiler {
            thorough,
            linear,
            announce: Announce::default(),
            #[cfg(all(unix, target_arch = "x86_64"))]
            memory: Arc::default(),
        })
    }

    /// Returns this compiler, changed so that it also announces its code to profilers and debuggers: by a line in perf's map (the
    /// file `perf-PID.map` in the folder where perf looks; on Linux only), through GDB's interface for compiled code (with the
    /// feature `gdb` only), or in both ways.
    #[must_use]
    pub fn announcing(self, perf_map: bool, gdb: bool) -> Compiler {
        Compiler { announce: Announce { perf_map, gdb }, ..self }
    }

    fn isa_for(&self, allocator: Allocator) -> &OwnedTargetIsa {
        match allocator {
            Allocator::SinglePass => &self.linear,
            Allocator::Backtracking => &self.thorough,
        }
    }

    /// Compiles a kernel whose host functions are among `functions`. The code uses vectors of this width if the CPU has
    /// them and the back end supports the kernel, otherwise narrower vectors ([`ExecutableKernel::narrowed`]). The results have
    /// the same bits for every width.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if the system refuses executable memory; [`ErrorKind::Limit`] if memory has run out, if the kernel
    /// is too large for the compiler or would need more than 64 KiB of stack, and under `perf record` if perf's map can't be
    /// written; [`ErrorKind::Internal`] for a kernel that does not verify.
    pub fn compile(
        &self,
        kernel: &Kernel,
        functions: &[HostFunction],
        access: &[Access],
        width: VectorWidth,
    ) -> Result<Compiled> {
        self.compile_for(Purpose::Store, kernel, functions, access, width)
    }

    /// Compiles a kernel for a purpose, which may need a second function on vectors of more than 128 bits ([`CodePlan::bulk`]).
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn compile_for(
        &self,
        purpose: Purpose,
        kernel: &Kernel,
        functions: &[HostFunction],
        access: &[Access],
        width: VectorWidth,
    ) -> Result<Compiled> {
        check(kernel, access)?;
        let wanted = CodePlan::new(kernel, access, width, purpose);
        let isa = self.isa_for(wanted.allocator);
        let mut module = self.module(isa)?;
        // If `perf record` started the process, Cranelift writes the function's name to perf's map too.
        let name = if self.announce.is_on() || symbols::perf::is_recording() {
            symbols::name(kernel)
        } else {
            "broadloom".to_owned()
        };
        let Defined { usual, bulk, plan, narrowed, frame } =
            define(&mut module.0, &**isa, &name, purpose, kernel, access, width)?;
        let access = read_at(plan.width, access);
        if frame > MAX_FRAME {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("the kernel would need {frame} bytes of stack, the limit is {MAX_FRAME}"),
            ));
        }
        make_executable(&mut module)?;
        let mut registrations = SmallVec::new();
        let mut link = |function: DefinedFunction| -> Result<Linked> {
            let code = module.0.get_finalized_function(function.id);
            registrations.push(self.announce.code(&function.name, code, function.size));
            let constants = function.constants.iter().map(|entry| entry.link(functions).map(Constant));
            let constants: Option<Box<[Constant]>> = constants.collect();
            let absent = || Error::new(ErrorKind::Internal, "a host function of the kernel was not given");
            let constants = constants.ok_or_else(absent)?;
            // SAFETY: `finalize_definitions` has succeeded, and the function was declared with the signature that
            // `emit::signature` returns for this platform: six words and no result.
            Ok(Linked { entry: unsafe { Entry::new(code) }, size: function.size, constants })
        };
        let (usual, bulk) = (link(usual)?, bulk.map(&mut link).transpose()?);
        Ok(Compiled {
            plan,
            usual,
            bulk,
            narrowed,
            inputs: kernel.inputs.clone(),
            outputs: kernel.output_dtypes().collect(),
            reads_steps: access.iter().any(|access| access.is_stepped()),
            access,
            params: kernel.params.len(),
            tables: kernel.tables.clone(),
            has_loops: !kernel.loops.is_empty(),
            fault_sites: kernel.fault_sites().count(),
            _registrations: registrations,
            _functions: functions.into(),
            _code: module,
        })
    }

    /// Creates a module for one kernel's code.
    ///
    /// Errors: [`ErrorKind::Limit`] under `perf record` if perf's map, to which Cranelift writes names, can't be written.
    fn module(&self, isa: &OwnedTargetIsa) -> Result<Code> {
        if let Some(why) = symbols::perf::refused() {
            let path = "the map for perf (PERF_BUILDID_DIR is set)";
            return Err(Error::new(ErrorKind::Limit, format!("{path} can't be written: {why}")));
        }
        #[cfg_attr(
            not(all(unix, target_arch = "x86_64")),
            expect(unused_mut, reason = "Cranelift's own memory")
        )]
        let mut builder = JITBuilder::with_isa(isa.clone(), default_libcall_names());
        #[cfg(all(unix, target_arch = "x86_64"))]
        builder.memory_provider(Box::new(KernelPages::new(&self.memory)));
        Ok(Code(ManuallyDrop::new(JITModule::new(builder))))
    }
}

impl KernelExecutor for Compiler {
    fn prepare(
        &self,
        kernel: &Kernel,
        functions: &[HostFunction],
        access: &[Access],
        width: VectorWidth,
        purpose: Purpose,
    ) -> Result<Arc<dyn ExecutableKernel>> {
        Ok(Arc::new(self.compile_for(purpose, kernel, functions, access, width)?))
    }

    /// Tests whether the system allows executable memory, with code that is never run.
    fn probe(&self) -> Result<()> {
        let isa = &self.linear;
        let mut module = self.module(isa)?;
        let signature = emit::signature(isa.default_call_conv());
        let id = module.0.declare_function("broadloom_probe", Linkage::Local, &signature).map_err(defect)?;
        module.0.define_function_bytes(id, CODE_ALIGN, &[0; 16], &[]).map_err(refused)?;
        make_executable(&mut module)
    }

    /// The listing of the function for a purpose: the second function if there is one, otherwise the usual function.
    fn listing(
        &self,
        kernel: &Kernel,
        access: &[Access],
        width: VectorWidth,
        purpose: Purpose,
    ) -> Result<Listing> {
        check(kernel, access)?;
        let isa = &**self.isa_for(CodePlan::new(kernel, access, width, purpose).allocator);
        let shown = || Helpers::Shown(Vec::new());
        let (usual, narrowed) = wide::widest(isa, kernel, access, width, purpose, shown);
        let Some((plan, usual)) = usual else {
            return explain(isa, kernel, access).map(|listing| Listing { narrowed, ..listing });
        };
        let bulk = match plan.bulk {
            Bulk::None => None,
            _ => wide::wide(isa, kernel, access, &plan, Variant::Bulk, shown()).ok(),
        };
        let variant = if bulk.is_some() { Variant::Bulk } else { Variant::Usual };
        let wide = bulk.unwrap_or(usual);
        Ok(Listing {
            primitives: Body::of(kernel, access, plan.width)?.to_string(),
            clif: format!("{}{}", host_functions(kernel, &wide.constants), wide.clif),
            assembly: wide.assembly,
            bytes: wide.code.len() + wide.constants.len() * size_of::<Constant>(),
            lanes: variant.step(&plan) as usize,
            width: plan.width,
            narrowed,
        })
    }
}

/// Makes the defined functions executable, and their pages no longer writable.
fn make_executable(module: &mut Code) -> Result<()> {
    let unavailable = |e| Error::new(ErrorKind::Memory, format!("executable memory is not available: {e}"));
    module.0.finalize_definitions().map_err(unavailable)
}

/// A function that was defined in a module.
struct DefinedFunction {
    name: String,
    id: FuncId,
    constants: Vec<TableEntry>,
    /// The size of the code in bytes.
    size: usize,
}

/// The functions of a kernel that were defined in a module.
struct Defined {
    usual: DefinedFunction,
    bulk: Option<DefinedFunction>,
    plan: CodePlan,
    narrowed: Option<String>,
    /// The stack space that a call takes, in bytes.
    frame: u32,
}

/// Compiles a kernel's functions for the widest supported vectors up to `width`, and defines them in a module.
fn define(
    module: &mut JITModule,
    isa: &dyn TargetIsa,
    name: &str,
    purpose: Purpose,
    kernel: &Kernel,
    access: &[Access],
    width: VectorWidth,
) -> Result<Defined> {
    let signature = emit::signature(isa.default_call_conv());
    let declare = |module: &mut JITModule, name: &str| {
        module.declare_function(name, Linkage::Local, &signature).map_err(defect)
    };
    let id = declare(module, name)?;
    let (wide, narrowed) = wide::widest(isa, kernel, access, width, purpose, || Helpers::Called);
    let Some((mut plan, wide)) = wide else {
        let mut context = Context::new();
        let mut builders = FunctionBuilderContext::new();
        let access = read_at(VectorWidth::W128, access);
        let plan = CodePlan::new(kernel, &access, VectorWidth::W128, purpose);
        let (function, constants) =
            emit::function(kernel, &access, &plan, Variant::Usual, isa, &mut builders, Helpers::Called)?;
        context.func = function;
        module.define_function(id, &mut context).map_err(refused)?;
        let code = context.compiled_code();
        let size = code.map_or(0, |c| c.code_buffer().len());
        let frame = code.and_then(|c| c.buffer.frame_layout()).map_or(0, |f| f.frame_to_fp_offset);
        let usual = DefinedFunction { name: name.to_owned(), id, constants, size };
        return Ok(Defined { usual, bulk: None, plan, narrowed, frame });
    };
    let define = |module: &mut JITModule, name: &str, id: FuncId, wide: Wide| -> Result<DefinedFunction> {
        module.define_function_bytes(id, CODE_ALIGN, &wide.code, &[]).map_err(refused)?;
        Ok(DefinedFunction { name: name.to_owned(), id, constants: wide.constants, size: wide.code.len() })
    };
    let suffix = match plan.bulk {
        Bulk::None => None,
        Bulk::Stream { .. } => Some("streaming"),
        Bulk::Leaf { .. } => Some("leaves"),
    };
    let mut frame = wide.frame;
    let usual = define(module, name, id, wide)?;
    let mut bulk = None;
    if let Some(suffix) = suffix
        && let Ok(wide) = wide::wide(isa, kernel, access, &plan, Variant::Bulk, Helpers::Called)
    {
        let name = format!("{name}_{suffix}");
        let id = declare(module, &name)?;
        frame = frame.max(wide.frame);
        bulk = Some(define(module, &name, id, wide)?);
    } else {
        plan.bulk = Bulk::None;
    }
    Ok(Defined { usual, bulk, plan, narrowed, frame })
}

/// The CLIF of a kernel, after Cranelift's optimiser, for x86-64 with only the features that are required (AVX and
/// FMA). The text is the same on every machine whose build has a back end for x86-64.
///
/// # Errors
/// [`ErrorKind::Limit`] without such a back end; [`ErrorKind::Internal`] for a defect.
pub fn clif(kernel: &Kernel, access: &[Access]) -> Result<String> {
    check(kernel, access)?;
    let without = |why| Error::new(ErrorKind::Limit, format!("no compiler for x86-64: {why:?}"));
    let mut builder = cranelift_codegen::isa::lookup_by_name("x86_64-unknown-linux-gnu").map_err(without)?;
    for feature in X86_64_AT_LEAST {
        builder.enable(feature).map_err(defect)?;
    }
    let isa = builder.finish(flags("backtracking")?).map_err(defect)?;
    explain(&*isa, kernel, access).map(|listing| listing.clif)
}

/// Cranelift's names of the required x86-64 features: AVX, FMA, and those that they imply.
pub(crate) const X86_64_AT_LEAST: [&str; 6] =
    ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_avx", "has_fma"];

/// The access class with which code of this vector width reads each input. Code on vectors of 128 bits has no permutations, so
/// inputs that are reversed or every second element in memory are copied to contiguous memory first.
fn read_at(width: VectorWidth, access: &[Access]) -> Vec<Access> {
    match width {
        VectorWidth::W128 => access.iter().map(|access| access.packed()).collect(),
        VectorWidth::W256 | VectorWidth::W512 => access.to_vec(),
    }
}

/// Verifies a kernel and its access classes. The emitter relies on it: a store writes as many bytes as the value has,
/// whatever the dtype of the output.
fn check(kernel: &Kernel, access: &[Access]) -> Result<()> {
    verify::kernel(kernel)?;
    if let Some(why) = kernel.never_compiled() {
        return Err(Error::new(ErrorKind::Limit, format!("the kernel is interpreted: {why}")));
    }
    if access.len() != kernel.inputs.len() {
        return Err(Error::new(ErrorKind::Internal, "not one access class per input"));
    }
    let steps = || access.iter().zip(&kernel.inputs).filter(|(access, _)| access.is_stepped());
    if steps().any(|(_, dtype)| dtype.size() < 4) {
        return Err(Error::new(ErrorKind::Internal, "steps of elements that are not read so"));
    }
    Ok(())
}

/// Does the work of [`KernelExecutor::listing`] for vectors of 128 bits of any instruction set that the emitter
/// supports.
pub(crate) fn explain(isa: &dyn TargetIsa, kernel: &Kernel, access: &[Access]) -> Result<Listing> {
    let mut context = Context::new();
    context.set_disasm(true);
    let shown = Helpers::Shown(Vec::new());
    let access = &*read_at(VectorWidth::W128, access);
    let plan = CodePlan::new(kernel, access, VectorWidth::W128, Purpose::Store);
    let mut builders = FunctionBuilderContext::new();
    let (function, constants) =
        emit::function(kernel, access, &plan, Variant::Usual, isa, &mut builders, shown)?;
    context.func = function;
    let mut control = cranelift_codegen::control::ControlPlane::default();
    context.optimize(isa, &mut control).map_err(defect)?;
    let clif = format!("{}{}", host_functions(kernel, &constants), context.func.display());
    let code = context.compile(isa, &mut control).map_err(|e| defect(e.inner))?;
    let assembly = code.vcode.clone().unwrap_or_default();
    Ok(Listing {
        primitives: Body::of(kernel, access, VectorWidth::W128)?.to_string(),
        clif,
        assembly,
        bytes: code.code_buffer().len() + constants.len() * size_of::<Constant>(),
        lanes: plan.lanes as usize,
        width: VectorWidth::W128,
        narrowed: None,
    })
}

/// Comment lines that name the host functions in the table of constants, since the code contains only offsets into the table.
fn host_functions(kernel: &Kernel, constants: &[TableEntry]) -> String {
    let line = |function: &HostDeclaration| {
        let of = |entry: &TableEntry| matches!(entry, TableEntry::Host(f) if f == function);
        let place = constants.iter().position(of);
        place.map(|place| format!("; constants+{}: {function}\n", 16 * place))
    };
    kernel.functions.iter().filter_map(line).collect()
}

fn defect(e: impl fmt::Debug) -> Error {
    Error::new(ErrorKind::Internal, format!("Cranelift refused a kernel, please report it: {e:?}"))
}

/// The error for a function that could not be defined: [`ErrorKind::Limit`] for an exceeded limit, which is not a defect.
fn refused(e: ModuleError) -> Error {
    match e {
        ModuleError::Allocation { err } => {
            Error::new(ErrorKind::Limit, format!("no memory for machine code: {err}"))
        }
        ModuleError::Compilation(e @ (CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge)) => {
            Error::new(ErrorKind::Limit, format!("the kernel is too large for the compiler: {e}"))
        }
        other => defect(other),
    }
}

/// The Cranelift settings that are common to all instruction sets.
pub(crate) fn flags(regalloc: &str) -> Result<settings::Flags> {
    let mut builder = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("regalloc_algorithm", regalloc),
        ("enable_verifier", verify),
        ("unwind_info", "false"),
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        ("is_pic", "false"),
    ] {
        builder.set(name, value).map_err(defect)?;
    }
    Ok(settings::Flags::new(builder))
}

fn host_isa(regalloc: &str) -> Result<OwnedTargetIsa> {
    let unsupported = |why: &str| Error::new(ErrorKind::Limit, format!("no compiler for this target: {why}"));
    let builder = cranelift_native::builder().map_err(unsupported)?;
    let isa = builder.finish(flags(regalloc)?).map_err(defect)?;
    let has = |name: &str| isa.isa_flags().iter().any(|f| f.name == name && f.as_bool() == Some(true));
    match isa.triple().architecture {
        Architecture::X86_64 if has("has_avx") && has("has_fma") => Ok(isa),
        Architecture::X86_64 => Err(unsupported("x86-64 without AVX and FMA")),
        Architecture::Aarch64(_) => Ok(isa),
        other => Err(unsupported(&format!("{other} is not supported"))),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::body::Body;
    use broadloom_ir::DType;
    use broadloom_ir::kernel::{self, Inst, ValueId};

    /// A kernel that computes one instruction and also copies an input of another dtype, so that its lanes have two widths.
    pub(crate) fn mixed(code: kernel::Code, other: DType) -> Kernel {
        let operands = code.operands();
        let mut args = [ValueId(0); 3];
        (0..operands).for_each(|i| args[i] = ValueId(i as u32));
        let mut inputs: Vec<DType> = (0..operands).map(|i| code.operand(i)).collect();
        inputs.push(other);
        let outputs = vec![ValueId(operands as u32 + 1).into(), ValueId(operands as u32).into()];
        Kernel {
            inputs,
            body: vec![Inst { code, args }],
            outputs,
            checks_division: true,
            ..Kernel::default()
        }
    }

    /// A kernel with a loop in a loop: of a float32, a float64 and a bool; the inner one has no limit and divides.
    pub(crate) fn nested() -> Kernel {
        use broadloom_ir::Op;
        use broadloom_ir::kernel::KernelLoop;
        let inst = |code, args: [u32; 3]| Inst { code, args: args.map(ValueId) };
        let apply = |op, dtype, args| inst(kernel::Code::apply(op, dtype), args);
        let item = |item, dtype, of| inst(kernel::Code::Item { item, dtype }, [of, 0, 0]);
        let inner = KernelLoop {
            body: Kernel {
                inputs: vec![DType::Int32, DType::Int32, DType::Int64],
                body: vec![
                    apply(Op::Greater, DType::Int32, [0, 1, 0]),
                    apply(Op::FloorDivide, DType::Int32, [0, 1, 0]),
                ],
                outputs: vec![ValueId(3).into(), ValueId(4).into()],
                ..Kernel::default()
            },
            limit: None,
            is_numbered: true,
            args: [1, 2, 4].map(ValueId).into(),
            tables: Vec::new(),
        };
        let outer = KernelLoop {
            body: Kernel {
                inputs: vec![DType::Float64, DType::Int32, DType::Int32, DType::Bool, DType::Int64],
                loops: vec![inner],
                body: vec![
                    inst(kernel::Code::Loop(0), [0; 3]),
                    item(0, DType::Int32, 5),
                    apply(Op::Sin, DType::Float64, [0, 0, 0]),
                    apply(Op::Less, DType::Int32, [6, 2, 0]),
                ],
                outputs: [3, 7, 6, 2, 8].map(|value| ValueId(value).into()).into(),
                ..Kernel::default()
            },
            limit: Some(9),
            is_numbered: true,
            args: [0, 1, 2, 3, 4].map(ValueId).into(),
            tables: Vec::new(),
        };
        Kernel {
            inputs: vec![DType::Float64, DType::Int32, DType::Int32, DType::Bool, DType::Int64],
            loops: vec![outer],
            body: vec![
                inst(kernel::Code::Loop(0), [0; 3]),
                item(0, DType::Float64, 5),
                item(1, DType::Int32, 5),
                item(3, DType::Bool, 5),
            ],
            outputs: [6, 7, 8].map(|value| ValueId(value).into()).into(),
            checks_division: true,
            ..Kernel::default()
        }
    }

    /// Loops are compiled for vectors of at most 256 bits.
    #[test]
    fn loops_use_at_most_256_bits() {
        let Ok(compiler) = Compiler::host() else { return };
        let kernel = nested();
        let access = vec![Access::Contiguous; kernel.inputs.len()];
        for width in VectorWidth::of_target() {
            let compiled = compiler.compile(&kernel, &[], &access, width).expect("compiles");
            assert_eq!(compiled.plan.width, width.min(VectorWidth::W256));
            assert_eq!(compiled.narrowed.is_some(), width == VectorWidth::W512);
            assert_eq!(compiled.fault_sites, 1);
        }
    }

    /// A kernel whose only loop is a branch, for elements of which the last input, a bool, is true: it applies a function to the
    /// inputs. Elsewhere the result is the first input.
    fn branch(op: broadloom_ir::Op, dtype: DType) -> Kernel {
        use broadloom_ir::kernel::KernelLoop;
        let operands = op.operands() as u32;
        let args = [0, 1, 2].map(|i| ValueId(1 + i.min(operands - 1)));
        let body = Kernel {
            inputs: [vec![dtype; 1 + operands as usize], vec![DType::Bool]].concat(),
            body: vec![Inst { code: kernel::Code::apply(op, dtype), args }],
            outputs: vec![ValueId(1 + operands).into(), ValueId(2 + operands).into()],
            ..Kernel::default()
        };
        let args = [0].into_iter().chain(0..=operands).map(ValueId).collect();
        let inst = |code| Inst { code, args: [ValueId(1 + operands), ValueId(0), ValueId(0)] };
        Kernel {
            inputs: [vec![dtype; operands as usize], vec![DType::Bool]].concat(),
            loops: vec![KernelLoop { body, limit: Some(1), is_numbered: false, args, tables: Vec::new() }],
            body: vec![inst(kernel::Code::Loop(0)), inst(kernel::Code::Item { item: 0, dtype })],
            outputs: vec![ValueId(2 + operands).into()],
            ..Kernel::default()
        }
    }

    /// What a branch computes is not computed before it is known whether a lane takes it.
    #[test]
    fn a_branch_computes_nothing_beforehand() {
        for width in VectorWidth::ALL {
            let kernel = branch(broadloom_ir::Op::Exp, DType::Float64);
            let body = Body::of(&kernel, &[Access::Contiguous; 2], width).expect("a kernel that verifies");
            let region = &body.loops()[0];
            assert!(region.is_branch && region.before.is_empty() && region.rest.len() > 10, "{body}");
        }
    }

    /// Branches are compiled at 256 bits, whatever they compute.
    #[test]
    fn every_function_is_compiled_in_a_branch() {
        let Ok(compiler) = Compiler::host() else { return };
        let (mut count, mut branches) = (0, 0);
        for op in broadloom_ir::Op::public() {
            for &dtype in DType::ALL.iter().filter(|&&dtype| op.result(dtype) == Some(dtype)) {
                if op == broadloom_ir::Op::Where {
                    continue;
                }
                let kernel = branch(op, dtype);
                let access = vec![Access::Contiguous; kernel.inputs.len()];
                for width in VectorWidth::of_target() {
                    let compiled = compiler.compile(&kernel, &[], &access, width).expect("compiles");
                    assert_eq!(compiled.plan.width, width.min(VectorWidth::W256), "{kernel}");
                }
                let body = Body::of(&kernel, &access, VectorWidth::W256).expect("a kernel that verifies");
                count += 1;
                branches += usize::from(body.loops()[0].is_branch);
            }
        }
        assert!(count > 300 && branches > 250 && branches < count, "{branches} of {count}");
    }

    fn lowers_everything(triple: &str, features: &[&str]) {
        let mut builder = cranelift_codegen::isa::lookup_by_name(triple).expect("a back end of this build");
        features.iter().for_each(|f| builder.enable(f).expect("a feature"));
        let isa = builder.finish(flags("backtracking").expect("settings")).expect("an instruction set");
        let looped = nested();
        let access = vec![Access::Contiguous; looped.inputs.len()];
        assert!(!explain(&*isa, &looped, &access).expect("lowers").assembly.is_empty());
        for code in kernel::Code::all() {
            for other in [DType::Bool, DType::Float32, DType::Int64] {
                let kernel = mixed(code, other);
                for all in [Access::Contiguous, Access::Splat] {
                    let access = vec![all; kernel.inputs.len()];
                    let listing = explain(&*isa, &kernel, &access).expect("lowers");
                    assert!(!listing.assembly.is_empty());
                }
            }
        }
    }

    /// Cranelift's aarch64 back end compiles every instruction that is emitted. The code is not run.
    #[cfg(feature = "arm64")]
    #[test]
    fn aarch64_lowers_everything() {
        lowers_everything("aarch64-unknown-linux-gnu", &[]);
    }

    /// Cranelift's x86-64 back end compiles every instruction with only the CPU features that the compiler requires.
    #[test]
    fn x86_64_with_avx_and_fma_lowers_everything() {
        lowers_everything("x86_64-unknown-linux-gnu", &X86_64_AT_LEAST);
    }

    #[test]
    fn x86_64_with_avx512_lowers_everything() {
        let wide =
            ["has_avx2", "has_avx512bitalg", "has_avx512dq", "has_avx512f", "has_avx512vl", "has_avx512vbmi"];
        lowers_everything("x86_64-unknown-linux-gnu", &[&X86_64_AT_LEAST[..], &wide[..]].concat());
    }
}
