//! Runs a compiled kernel on a block.
//!
//! Code is called only with operands of the sizes and access classes that it was compiled for. Each division that may
//! fault has a byte of its own (its fault site), which is set if a divisor is zero.

use broadloom_ir::code_plan::Tail;
use broadloom_ir::loop_plan::AccessClass;
use broadloom_ir::{CodePlan, Error, ErrorKind, Result, VectorWidth};
use broadloom_mem::{
    Access, AliasPolicy, Block, ExecutableKernel, KernelRun, Operands, RawBlock, RowOperand, Table,
};
use smallvec::SmallVec;

use crate::call::Call;
use crate::code::{Compiled, Linked};
use crate::pauses::LoopContext;

impl ExecutableKernel for Compiled {
    #[inline]
    fn run(&self, block: &mut Block<'_>, run: &mut KernelRun<'_>) -> Result<()> {
        let inputs = self.inputs.iter().zip(&self.access).map(|(d, &a)| (d.size(), a));
        let matches = block.matches(inputs, self.outputs.iter().map(|d| d.size()));
        let has_tables = run.tables.iter().map(Table::item).eq(self.tables.iter().map(|dtype| dtype.size()));
        if !matches || !has_tables || run.params.len() < self.params || run.faults.len() < self.fault_sites {
            return Err(mismatch());
        }
        if !self.has_loops && self.tables.is_empty() {
            return self.run_with(block, run.params, run.faults);
        }
        let mut params: SmallVec<[u64; 8]> = SmallVec::from_slice(&run.params[..self.params]);
        let tables: SmallVec<[[u64; 2]; 4]> = run
            .tables
            .iter()
            .map(|table| [table.bytes().as_ptr().expose_provenance() as u64, table.elements() as u64])
            .collect();
        let listed = (!tables.is_empty()).then(|| tables.as_ptr().expose_provenance() as u64);
        if !self.has_loops {
            params.extend(listed);
            return self.run_with(block, &params, run.faults);
        }
        let absent = || Error::new(ErrorKind::Internal, "a kernel with loops, run without what they need");
        let mut context = LoopContext::new(run.loops.ok_or_else(absent)?, self.plan.pace);
        params.push((&raw mut context).expose_provenance() as u64);
        params.extend(listed);
        let done = self.run_with(block, &params, run.faults);
        done.and(context.finish())
    }

    /// The aliasing policy of machine code: it reads each element before it writes it, and may read inputs in place
    /// that are reversed or every second element in memory.
    fn policy(&self) -> AliasPolicy {
        if self.reads_steps { AliasPolicy::Stepped } else { AliasPolicy::InPlace }
    }

    fn width(&self) -> VectorWidth {
        self.plan.width
    }

    fn plan(&self) -> Option<&CodePlan> {
        Some(&self.plan)
    }

    fn code_size(&self) -> usize {
        let of = |linked: &Linked| linked.size + size_of_val(&*linked.constants);
        of(&self.usual) + self.bulk.as_ref().map_or(0, of)
    }

    fn narrowed(&self) -> Option<&str> {
        self.narrowed.as_deref()
    }
}

impl Compiled {
    /// Runs the code on a block whose operands match. `params` has the kernel's parameters. For code with loops, the
    /// address of their state follows, which is valid during the call and used by nothing else; for code with tables, the
    /// address of a list of their addresses and numbers of elements.
    #[inline]
    fn run_with(&self, block: &mut Block<'_>, params: &[u64], faults: &mut [u8]) -> Result<()> {
        // Non-temporal stores are used only if no output is also an input, and no output is copied to another place afterwards.
        let streaming =
            self.streaming().filter(|_| (0..self.outputs.len()).all(|output| block.is_apart(output)));
        let RawBlock { operands, rows, cols, level, any_alias, .. } = block.raw();
        let call = Call { inner: self, params, faults: faults.as_mut_ptr() };
        if level > 0 {
            let Some(linked) = self.leaf(level) else { return Err(mismatch()) };
            // SAFETY: as below, but outputs have a row of 16 elements for each node of this level, which the function writes. The
            // columns are a whole number of nodes (`Block::level`), and their number is the argument that the function expects.
            unsafe { call.enter_at(linked, operands, rows, cols) };
            return Ok(());
        }
        let lanes = self.lanes();
        if self.plan.tail == Tail::Single && cols != 1 {
            return Err(mismatch());
        }
        // The last block of a row overlaps the block before it. If an output is also an input, there must be no overlap, since
        // the last block would read results of the block before it. Code that takes rows of any length has no overlapping blocks.
        let tail = if self.has_no_overlap() {
            0
        } else if cols < lanes || any_alias {
            cols % lanes
        } else {
            0
        };
        if let Some(streaming) = streaming
            && !call.has_short_rows(operands, rows, cols)
            // SAFETY: a block's pointers are valid for `rows × cols` elements while it is borrowed, with the sizes and classes
            // checked above; no output is an input.
            && unsafe { call.streamed(streaming, operands, rows, cols) }
        {
            return Ok(());
        }
        if cols > tail {
            // SAFETY: a block's pointers are valid for `rows × cols` elements while it is borrowed, with the sizes and classes
            // checked above; `cols − tail` is at least `lanes`, or at least 1 where the code takes any row.
            unsafe { call.enter(operands, rows, cols - tail) };
        }
        if tail > 0 {
            for row in 0..rows {
                // SAFETY: `row` is below `rows`, the last `tail` columns are the block's own, and there are at least one and
                // fewer than `lanes` of them.
                unsafe { call.padded(operands, row, cols - tail, tail) };
            }
        }
        Ok(())
    }

    /// Computes `elements` elements, which are passed as slices. Each slice contains contiguous elements, or a single element if
    /// the kernel was compiled for a uniform input.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`]: the number of slices is wrong, a slice has too few elements, there are too few parameters or
    /// fault bytes, or the kernel reads stepped inputs. Nothing is read or written then.
    pub fn run_slices<'a>(
        &self,
        elements: usize,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        params: &[u64],
        faults: &mut [u8],
    ) -> Result<()> {
        self.run_nodes(elements, 0, inputs, outputs, params, faults)
    }

    /// Does the same as [`Compiled::run_slices`], but reduces the elements to nodes of the reduction tree. Each output
    /// has a row of 16 elements for each node of the level `level`, which must be the level of the [plan](CodePlan::leaf_level).
    ///
    /// # Errors
    /// The errors of [`Compiled::run_slices`], and also [`ErrorKind::Internal`] if the elements are not a whole number of nodes,
    /// or the level differs from the plan's.
    pub fn run_nodes<'a>(
        &self,
        elements: usize,
        level: u8,
        inputs: impl Iterator<Item = &'a [u8]>,
        outputs: impl Iterator<Item = &'a mut [u8]>,
        params: &[u64],
        faults: &mut [u8],
    ) -> Result<()> {
        if elements == 0 {
            return Ok(());
        }
        let mut operands = Operands::default();
        inputs.for_each(|bytes| operands.read(bytes.into()));
        outputs.for_each(|bytes| operands.write(bytes.into()));
        if self.reads_steps {
            return Err(mismatch());
        }
        let class = |access: &Access| match access {
            Access::Splat => AccessClass::Uniform,
            _ => AccessClass::Contiguous,
        };
        let inputs = self.inputs.iter().zip(&self.access).map(|(dtype, access)| (dtype, class(access)));
        let outputs = self.outputs.iter().map(|dtype| (dtype, AccessClass::Contiguous));
        let rows = inputs.chain(outputs).map(|(d, class)| RowOperand { item: d.size(), start: 0, class });
        let done = operands.with_row(elements, level, rows, |block| self.run_alone(block, params, faults));
        done.unwrap_or_else(|_| Err(mismatch()))
    }
}

fn mismatch() -> Error {
    Error::new(ErrorKind::Internal, "a compiled kernel was given operands of another kernel")
}
