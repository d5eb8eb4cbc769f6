//! Writes rows with non-temporal stores.
//!
//! Code with such stores is called only for whole blocks that begin at a column where a cache line begins in every output. It
//! computes most columns of long rows, and of rows of any length if all of them begin at a cache line. All other columns, and
//! short rows that rarely begin at a cache line, are computed by the usual code. Before a call returns, a fence orders the stores
//! before all later memory accesses.

use broadloom_ir::tuning::code::{LONG_ROW, MIN_BLOCKS, TOGETHER};
use broadloom_mem::{RawOperand, order_streamed};
use smallvec::SmallVec;

use crate::call::Call;
use crate::code::Linked;

/// The size in bytes of a cache line, and of the widest store.
const LINE: usize = 64;

impl Call<'_> {
    /// Computes rows, with non-temporal stores where possible. Returns false, without having done anything, if rows are too short
    /// or have no column at which a cache line begins in every output.
    ///
    /// # Safety
    /// As [`Call::enter`], but for any number of columns; no output is an input.
    pub unsafe fn streamed(
        &self,
        (linked, lanes): (&Linked, usize),
        operands: &[RawOperand],
        rows: usize,
        cols: usize,
    ) -> bool {
        if cols / lanes < MIN_BLOCKS {
            return false;
        }
        let outputs = self.inner.inputs.len();
        let together = match self.begins_lines(operands) {
            true if cols.is_multiple_of(lanes) => rows,
            true => TOGETHER,
            false => 1,
        };
        let mut streamed = false;
        for row in (0..rows).step_by(together) {
            let rows = together.min(rows - row);
            let operands = self.from(operands, row, 0);
            let head = match self.to_lines(&operands[outputs..]) {
                Some(head) if head + lanes <= cols => head,
                _ => {
                    // SAFETY: `operands` now begin at this row, and have these rows and columns.
                    unsafe { self.columns(&operands, rows, 0, cols) };
                    continue;
                }
            };
            let end = head + (cols - head) / lanes * lanes;
            // SAFETY: the operands begin at this row, and 0 ≤ head ≤ end ≤ cols, so the three parts together are the rows. The
            // columns from `head` to `end` are whole blocks. At `head` a cache line begins in every output: either there is one
            // row, or all rows of all outputs begin at a cache line and `head` is 0.
            unsafe {
                self.columns(&operands, rows, 0, head);
                self.enter_at(linked, &self.from(&operands, 0, head), rows, end - head);
                self.columns(&operands, rows, end, cols - end);
            }
            streamed = true;
        }
        if streamed {
            order_streamed();
        }
        true
    }

    /// Whether rows of this many columns are too short to be streamed one by one. Rows that all begin at a cache line are
    /// streamed together.
    pub fn has_short_rows(&self, operands: &[RawOperand], rows: usize, cols: usize) -> bool {
        let widest = self.inner.outputs.iter().map(|dtype| dtype.size()).max().unwrap_or(1);
        rows > 1 && cols.saturating_mul(widest) < LONG_ROW && !self.begins_lines(operands)
    }

    /// Whether every row of every output begins at a cache line.
    fn begins_lines(&self, operands: &[RawOperand]) -> bool {
        let begins = |o: &RawOperand| (o.ptr.addr() | o.row_stride as usize).is_multiple_of(LINE);
        operands[self.inner.inputs.len()..].iter().all(begins)
    }

    /// The operands of the part of a block that begins at a row and a column.
    fn from(&self, operands: &[RawOperand], row: usize, column: usize) -> SmallVec<[RawOperand; 12]> {
        let inputs = self.inner.inputs.iter().zip(&self.inner.access);
        let inputs = inputs.map(|(dtype, access)| access.step() * dtype.size() as isize);
        let steps = inputs.chain(self.inner.outputs.iter().map(|dtype| dtype.size() as isize));
        let start = |(operand, step): (&RawOperand, isize)| {
            let offset = operand.row_stride * row as isize + step * column as isize;
            // If no columns follow, the pointer may be beyond the operand's memory, but it is not used.
            RawOperand { ptr: operand.ptr.wrapping_offset(offset), ..*operand }
        };
        operands.iter().zip(steps).map(start).collect()
    }

    /// Computes `count` columns of the rows, beginning with column `start`, with the usual code.
    ///
    /// # Safety
    /// The operands have the rows and the columns.
    unsafe fn columns(&self, operands: &[RawOperand], rows: usize, start: usize, count: usize) {
        let lanes = self.inner.plan.lanes as usize;
        // SAFETY: the rows have `count` columns from `start` on. The code is entered if these are at least a block, or if it
        // takes rows of any length; in buffers, they are at least one and fewer than a block.
        unsafe {
            if count >= lanes || count > 0 && self.inner.has_no_overlap() {
                self.enter(&self.from(operands, 0, start), rows, count);
            } else if count > 0 {
                (0..rows).for_each(|row| self.padded(operands, row, start, count));
            }
        }
    }

    /// The first column at which a cache line begins in all of these outputs, if there is such a column.
    fn to_lines(&self, outputs: &[RawOperand]) -> Option<usize> {
        let sized = || outputs.iter().zip(&self.inner.outputs).map(|(o, dtype)| (o.ptr.addr(), dtype.size()));
        // A cache line of the output with the smallest elements has the most columns, so only where a line of this output begins
        // can lines of all outputs begin.
        let (address, size) = sized().min_by_key(|&(_, size)| size)?;
        let column = (address.next_multiple_of(LINE) - address) / size;
        let begins = |(address, size): (usize, usize)| (address + column * size).is_multiple_of(LINE);
        sized().all(begins).then_some(column)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::ControlFlow;

    use broadloom_ir::code_plan::Bulk;
    use broadloom_ir::kernel::{Code, Inst, Kernel, ValueId};
    use broadloom_ir::{DType, Op, Purpose};
    use broadloom_mem::{Access, AliasPolicy, ExecutableKernel, Nest, Scratch, View, ViewMut};

    use super::*;
    use crate::code::{Compiled, Constant, Entry};
    use crate::compile::Compiler;
    use broadloom_ir::VectorWidth;

    /// A kernel with two outputs: x + x, and x as int8.
    fn kernel() -> Kernel {
        let x = [ValueId(0); 3];
        let add = Inst { code: Code::apply(Op::Add, DType::Int32), args: x };
        let cast = Inst { code: Code::Cast(DType::Int32, DType::Int8), args: x };
        Kernel {
            inputs: vec![DType::Int32],
            body: vec![add, cast],
            outputs: vec![ValueId(1).into(), ValueId(2).into()],
            ..Kernel::default()
        }
    }

    thread_local!(static STREAMED: Cell<usize> = const { Cell::new(0) });

    /// Replaces the code with non-temporal stores. It computes the kernel's outputs, but adds one to the first output, so that
    /// its results differ from those of the usual code.
    unsafe extern "C" fn one_more(
        operands: *const RawOperand,
        _: *const u64,
        _: *mut u8,
        rows: usize,
        cols: usize,
        _: *const Constant,
    ) {
        // SAFETY: the kernel has one input and two outputs.
        let operands = unsafe { std::slice::from_raw_parts(operands, 3) };
        for (row, column) in (0..rows).flat_map(|row| (0..cols).map(move |column| (row, column))) {
            // SAFETY: `row` is below `rows` and `column` below `cols`, for which all three operands are valid.
            unsafe {
                let row = |i: usize| operands[i].ptr.offset(row as isize * operands[i].row_stride);
                assert!(row(1).addr().is_multiple_of(LINE) && row(2).addr().is_multiple_of(LINE));
                let x = row(0).cast::<i32>().add(column).read();
                row(1).cast::<i32>().add(column).write(x + x + 1);
                row(2).cast::<i8>().add(column).write(x as i8);
            }
        }
        STREAMED.with(|streamed| streamed.set(streamed.get() + rows * cols));
    }

    fn compiled() -> Compiled {
        let compiler = Compiler::host().expect("a supported target");
        let mut compiled = compiler
            .compile_for(Purpose::Store, &kernel(), &[], &[Access::Contiguous], VectorWidth::W128)
            .expect("compiles");
        assert!(!compiled.streams());
        let code: unsafe extern "C" fn(_, _, _, _, _, _) = one_more;
        // SAFETY: `one_more` has an entry's signature and is never freed.
        let entry = unsafe { Entry::new(code as *const u8) };
        compiled.plan.bulk = Bulk::Stream { lanes: 16 };
        compiled.bulk = Some(Linked { entry, size: 0, constants: Box::default() });
        compiled
    }

    #[repr(align(64))]
    struct Lines<T>([T; 2048]);

    /// For outputs of any alignment, the replacement computes the whole blocks from the first column at which a cache line begins
    /// in both outputs; the usual code computes the rest.
    #[test]
    fn every_place_and_length() {
        let compiled = compiled();
        let lanes = 16;
        let x: Vec<i32> = (0..1024).map(|i| i * 3 - 500).collect();
        let mut out = Box::new((Lines([0i32; 2048]), Lines([0i8; 2048])));
        let lengths = (0..200).step_by(7).chain(MIN_BLOCKS * lanes - 1..MIN_BLOCKS * lanes + 2).chain([1000]);
        for n in lengths {
            for (a, b) in (0..70).step_by(3).flat_map(|a| [(a, a), (a, a + 16), (a, a + 64), (a, 5)]) {
                let (sums, bytes) = &mut *out;
                sums.0.fill(-7);
                bytes.0.fill(-7);
                let before = STREAMED.with(Cell::get);
                let input = broadloom_mem::bytes_of(&x[..n]);
                let outputs = [
                    broadloom_mem::bytes_of_mut(&mut sums.0[a..a + n]),
                    broadloom_mem::bytes_of_mut(&mut bytes.0[b..b + n]),
                ];
                compiled
                    .run_slices(n, [input].into_iter(), outputs.into_iter(), &[], &mut [])
                    .expect("the kernel's slices");
                // The column at which a cache line begins in both outputs is determined by the output of bytes.
                let head = b.next_multiple_of(64) - b;
                let both = (a + head).is_multiple_of(16) && n / lanes >= MIN_BLOCKS && head + lanes <= n;
                let end = if both { head + (n - head) / lanes * lanes } else { head };
                for (i, &x) in x[..n].iter().enumerate() {
                    let more = i32::from(both && (head..end).contains(&i));
                    assert_eq!((sums.0[a + i], bytes.0[b + i]), (x + x + more, x as i8), "{n} {a} {b} {i}");
                }
                let streamed = STREAMED.with(Cell::get) - before;
                assert_eq!(streamed, if both { end - head } else { 0 }, "{n} {a} {b}");
                assert!(sums.0[..a].iter().chain(&sums.0[a + n..]).all(|&v| v == -7), "{n} {a} {b}");
                assert!(bytes.0[..b].iter().chain(&bytes.0[b + n..]).all(|&v| v == -7), "{n} {a} {b}");
            }
        }
    }

    /// In a block of several rows at any address, long rows are streamed one by one, and short rows are computed by the usual
    /// code.
    #[test]
    fn rows_of_every_length() {
        let compiled = compiled();
        for cols in [33, 64, 100, 999, 1000, 1640, 3000, 7001, LONG_ROW / 4] {
            for (a, b) in [(0, 0), (1, 3), (15, 62), (16, 16)] {
                let rows = if cols < 200 { 50 } else { 3 };
                let x: Vec<i32> = (0..cols as i32).map(|i| i * 3 - 500).collect();
                let (mut sums, mut bytes) = (vec![-7i32; rows * cols + 40], vec![-7i8; rows * cols + 80]);
                let shape = [rows, cols];
                // All rows read the same row of the input.
                let input = View::new(broadloom_mem::bytes_of(&x), 4, 0, &shape, &[0, 4]).expect("inside");
                let first = ViewMut::new(
                    broadloom_mem::bytes_of_mut(&mut sums),
                    4,
                    4 * a,
                    &shape,
                    &[4 * cols as isize, 4],
                );
                let second =
                    ViewMut::new(broadloom_mem::bytes_of_mut(&mut bytes), 1, b, &shape, &[cols as isize, 1]);
                let outputs = [first.expect("inside"), second.expect("inside")];
                let mut nest = Nest::new(&shape, &[input], outputs).expect("a nest");
                let before = STREAMED.with(Cell::get);
                let _ = nest.run(AliasPolicy::InPlace, &mut Scratch::new(), &mut |block| {
                    compiled.run_alone(block, &[], &mut []).expect("the kernel's block");
                    ControlFlow::Continue(())
                });
                let by_the_row = STREAMED.with(Cell::get) > before;
                // Rows that all begin at a cache line are streamed together. Whether these do depends on where the vectors were
                // allocated.
                let begin_lines = |start: usize, row: usize| (start | row).is_multiple_of(64);
                let are_lines = begin_lines(sums.as_ptr().addr() + 4 * a, 4 * cols)
                    && begin_lines(bytes.as_ptr().addr() + b, cols);
                assert!(!by_the_row || cols * 4 >= LONG_ROW || are_lines, "{cols} {a} {b}");
                for i in 0..rows * cols {
                    let x = x[i % cols];
                    let more = if by_the_row { sums[a + i] - x - x } else { 0 };
                    assert!(matches!(more, 0 | 1), "{cols} {a} {b} {i}");
                    assert_eq!((sums[a + i] - more, bytes[b + i]), (x + x, x as i8), "{cols} {a} {b} {i}");
                }
                let around = |n: usize, of: usize| (0..of).chain(of + rows * cols..n);
                assert!(around(sums.len(), a).all(|i| sums[i] == -7), "{cols} {a} {b}");
                assert!(around(bytes.len(), b).all(|i| bytes[i] == -7), "{cols} {a} {b}");
            }
        }
    }
}
