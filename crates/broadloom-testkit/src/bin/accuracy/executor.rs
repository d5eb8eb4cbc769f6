//! Runs the function that is measured: a kernel of one function, on the interpreter or as machine code.
//!
//! The kernel runs over blocks of memory as in a user's call. Arguments and results are float64 values that the dtype can
//! represent exactly, so that converting them does not round.

use std::ops::ControlFlow;
use std::sync::Arc;

use broadloom_core::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_core::{Accuracy, DType, Op};
use broadloom_core::{Error, ErrorKind};
use broadloom_interp::Interpreter;
use broadloom_ir::{Purpose, VectorWidth};
use broadloom_mem::{
    Access, AliasPolicy, ExecutableKernel, KernelExecutor, KernelRun, Nest, Scratch, Stores, View, ViewMut,
    WorkingMemory,
};
use broadloom_testkit::reference::Function;
use half::f16;

/// The executor of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
    /// The tile loops.
    Interpreter,
    /// The compiler's code, on vectors as wide as the target's.
    Jit,
    /// The compiler's code on vectors of 128 bits.
    Jit128,
    /// The kernel on vectors of 256 bits, if the target has them.
    Jit256,
    /// The kernel on vectors of 512 bits, if the target has them.
    Jit512,
}

/// The function as a kernel applies it; `None` if it has no definition of this accuracy for the dtype.
pub fn code(function: Function, accuracy: Accuracy, dtype: DType) -> Option<Code> {
    let code = Code::Apply { op: Op::from_name(function.name())?, accuracy, dtype };
    code.result().map(|_| code)
}

impl Which {
    fn width(self) -> VectorWidth {
        match self {
            Which::Interpreter | Which::Jit => VectorWidth::target(),
            Which::Jit128 => VectorWidth::W128,
            Which::Jit256 => VectorWidth::W256,
            Which::Jit512 => VectorWidth::W512,
        }
    }
}

/// Elements of one dtype.
enum ExecutorColumn {
    F16(Vec<f16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl ExecutorColumn {
    fn new(dtype: DType) -> ExecutorColumn {
        match dtype {
            DType::Float16 => ExecutorColumn::F16(Vec::new()),
            DType::Float32 => ExecutorColumn::F32(Vec::new()),
            _ => ExecutorColumn::F64(Vec::new()),
        }
    }

    fn load(&mut self, values: &[f64]) {
        match self {
            ExecutorColumn::F16(column) => {
                column.clear();
                column.extend(values.iter().map(|&x| f16::from_f64(x)));
            }
            ExecutorColumn::F32(column) => {
                column.clear();
                column.extend(values.iter().map(|&x| x as f32));
            }
            ExecutorColumn::F64(column) => {
                column.clear();
                column.extend_from_slice(values);
            }
        }
    }

    fn store(&self, values: &mut Vec<f64>) {
        values.clear();
        match self {
            ExecutorColumn::F16(column) => values.extend(column.iter().map(|x| x.to_f64())),
            ExecutorColumn::F32(column) => values.extend(column.iter().map(|&x| f64::from(x))),
            ExecutorColumn::F64(column) => values.extend_from_slice(column),
        }
    }

    fn view(&self) -> View<'_> {
        match self {
            ExecutorColumn::F16(column) => View::of_slice(column),
            ExecutorColumn::F32(column) => View::of_slice(column),
            ExecutorColumn::F64(column) => View::of_slice(column),
        }
    }

    fn view_mut(&mut self) -> ViewMut<'_> {
        match self {
            ExecutorColumn::F16(column) => ViewMut::of_slice(column),
            ExecutorColumn::F32(column) => ViewMut::of_slice(column),
            ExecutorColumn::F64(column) => ViewMut::of_slice(column),
        }
    }
}

/// A function for one dtype, prepared once and run on many blocks.
pub struct Executor {
    prepared: Arc<dyn ExecutableKernel>,
    memory: WorkingMemory,
    inputs: Vec<ExecutorColumn>,
    output: ExecutorColumn,
    scratch: Scratch,
}

impl Executor {
    /// Prepares a function.
    ///
    /// # Errors
    /// broadloom does not have the function, or machine code is unavailable on the target.
    pub fn new(
        which: Which,
        accuracy: Accuracy,
        function: Function,
        dtype: DType,
    ) -> Result<Executor, String> {
        let name = function.name();
        let code = code(function, accuracy, dtype).ok_or_else(|| format!("{name}: no such function"))?;
        let arity = function.arity();
        let mut args = [ValueId(0); 3];
        (0..arity).for_each(|i| args[i] = ValueId(i as u32));
        let kernel = Kernel {
            inputs: vec![dtype; arity],
            // The body that rewriting produces for this function.
            body: vec![
                Inst { code, args },
                Inst { code: Code::apply(Op::CanonicalNan, dtype), args: [ValueId(arity as u32); 3] },
            ],
            outputs: vec![ValueId(arity as u32 + 1).into()],
            ..Kernel::default()
        };
        let access = vec![Access::Contiguous; arity];
        let prepared = prepare(which, &kernel, &access).map_err(|e| format!("{name}: {e}"))?;
        let inputs = (0..arity).map(|_| ExecutorColumn::new(dtype)).collect();
        Ok(Executor {
            prepared,
            memory: WorkingMemory::default(),
            inputs,
            output: ExecutorColumn::new(dtype),
            scratch: Scratch::new(),
        })
    }

    /// Runs the function on columns of equal length.
    pub fn run(&mut self, columns: &[Vec<f64>], results: &mut Vec<f64>) {
        self.inputs.iter_mut().zip(columns).for_each(|(input, column)| input.load(column));
        self.output.load(&columns[0]);
        let n = columns[0].len();
        {
            let views: Vec<View<'_>> = self.inputs.iter().map(ExecutorColumn::view).collect();
            let mut nest = Nest::new(&[n], &views, [self.output.view_mut()]).expect("columns of one length");
            let (prepared, memory) = (&self.prepared, &mut self.memory);
            let mut run = KernelRun {
                params: &[],
                tables: &[],
                faults: &mut [],
                stores: Stores::Cached,
                memory,
                loops: None,
            };
            let done = nest.run(AliasPolicy::Copy, &mut self.scratch, &mut |block| {
                prepared.run(block, &mut run).expect("a block of the kernel");
                ControlFlow::Continue(())
            });
            assert!(done.is_continue());
        }
        self.output.store(results);
    }
}

fn prepare(
    which: Which,
    kernel: &Kernel,
    access: &[Access],
) -> broadloom_core::Result<Arc<dyn ExecutableKernel>> {
    match which {
        Which::Interpreter => Interpreter.prepare(kernel, &[], access, VectorWidth::target(), Purpose::Store),
        Which::Jit | Which::Jit128 | Which::Jit256 | Which::Jit512 => {
            let compiler = broadloom_clif::Compiler::host()?;
            let compiled = compiler.prepare(kernel, &[], access, which.width(), Purpose::Store)?;
            if let Some(why) = compiled.narrowed() {
                return Err(Error::new(ErrorKind::Limit, format!("no vectors so wide: {why}")));
            }
            Ok(compiled)
        }
    }
}
