//! Loop selection: decides which precompiled loop computes which instructions of a kernel.
//!
//! An instruction is computed by the loop of its function; by a loop that keeps a uniform operand in a register; or by a fused
//! loop, together with the only instruction that reads its result. If the only reader of a result makes NaN canonical, the loop
//! of the instruction does this as well. Selection does not depend on memory.

use broadloom_ir::kernel::{Code, Definition, Depth, Inst, Kernel, ValueId};
use broadloom_ir::{Error, ErrorKind, Op, Result};
use broadloom_mem::HostFunction;

use crate::fused::{self, Ordered};
use crate::halves;
use crate::loops::{NanBits, OPERANDS, TileLoop, defined_loop};
use crate::program::Work;

/// The loop of an instruction whose operands all have an element per column.
///
/// # Errors
/// [`ErrorKind::Internal`] if the op does not take the dtype, which can't happen for a verified kernel.
fn tile_loop(code: Code, nan: NanBits) -> Result<TileLoop> {
    match halves::tile_loop(code, nan) {
        Some(converting) => Ok(converting),
        None => defined_loop(code, nan),
    }
}

/// The loop that was selected for one instruction, or for two instructions, the second of which is the only reader of the first.
pub(crate) struct Selected {
    pub(crate) work: Work,
    /// The operands in the loop's order. If the bool is set, the loop reads only one element of the operand
    /// when it is uniform.
    args: [(ValueId, bool); OPERANDS],
    operands: usize,
    /// The index of the first instruction, if the loop computes two.
    inner: Option<usize>,
}

impl Selected {
    /// The operands in the loop's order. If the bool is set, the loop reads only one element of the operand
    /// when it is uniform.
    pub(crate) fn operands(&self) -> &[(ValueId, bool)] {
        &self.args[..self.operands]
    }

    /// Reorders the operands as the loop takes them.
    fn ordered(self, with: &Ordered) -> Selected {
        let args = with.order.map(|from| self.args[usize::from(from)]);
        Selected { args, ..self }
    }
}

/// Selects the loops of a kernel. The result has one entry per instruction, which is `None` if the instruction is computed
/// together with its reader, or is an item of a loop, which is computed with the loop. `depths` contains the loop level of each
/// value.
///
/// # Errors
/// [`ErrorKind::Internal`] if a host function of the kernel is not among `functions`, or the kernel is not verified.
pub(crate) fn loops(
    kernel: &Kernel,
    functions: &[HostFunction],
    depths: &[Depth],
) -> Result<Vec<Option<Selected>>> {
    let mut uses = vec![0u32; kernel.values()];
    let read = kernel.body.iter().flat_map(|inst| kernel.args(inst)).copied();
    let read = read.chain(kernel.outputs.iter().map(|output| output.value));
    read.for_each(|v| uses[v.index()] += 1);
    let mut closes = vec![None; kernel.body.len()];
    let mut nan = vec![NanBits::Unread; kernel.body.len()];
    for (i, inst) in kernel.body.iter().enumerate() {
        if let Some(inner) = closed(kernel, &uses, inst) {
            closes[i] = Some(inner);
            nan[inner] = NanBits::Read;
        }
    }
    let mut selection = Selection { kernel, functions, depths, uses, nan, selected: Vec::new() };
    for (i, inst) in kernel.body.iter().enumerate() {
        let whole = |number| Selected {
            work: Work::While(number),
            args: [(ValueId(0), false); OPERANDS],
            operands: 0,
            inner: None,
        };
        match inst.code {
            Code::Loop(number) => {
                selection.selected.push(Some(whole(number as usize)));
                continue;
            }
            Code::Item { .. } => {
                selection.selected.push(None);
                continue;
            }
            Code::Apply { .. } | Code::Cast(..) | Code::Host(_) | Code::Gather { .. } => {}
        }
        let selected = match closes[i] {
            Some(inner) => selection.selected[inner].take(),
            None => None,
        };
        let selected = match selected.or_else(|| selection.pair(i)) {
            Some(selected) => {
                selected.inner.into_iter().for_each(|inner| selection.selected[inner] = None);
                selected
            }
            None => selection.single(i, inst)?,
        };
        selection.selected.push(Some(selected));
    }
    Ok(selection.selected)
}

/// If an instruction makes NaN canonical, returns the index of the instruction that computes its operand, provided that the
/// operand has no other reader and the loop that computes it can make NaN canonical as well.
fn closed(kernel: &Kernel, uses: &[u32], inst: &Inst) -> Option<usize> {
    let Code::Apply { op: Op::CanonicalNan, .. } = inst.code else { return None };
    let Definition::Inst(inner) = kernel.definition(inst.args[0]) else { return None };
    let code = kernel.body[inner].code;
    let has_loop = code.leaves_nan_open() && !matches!(code, Code::Host(_));
    (has_loop && uses[inst.args[0].index()] == 1).then_some(inner)
}

struct Selection<'a> {
    kernel: &'a Kernel,
    functions: &'a [HostFunction],
    depths: &'a [Depth],
    /// For each value, the number of instructions and outputs that read it.
    uses: Vec<u32>,
    /// For each instruction, whether the bits of a NaN in its result are read.
    nan: Vec<NanBits>,
    /// The loops selected so far, one entry per instruction.
    selected: Vec<Option<Selected>>,
}

impl Selection<'_> {
    fn is_uniform(&self, id: ValueId) -> bool {
        self.depths[id.index()] != Depth::Element
    }

    /// Selects the loop of a single instruction.
    fn single(&self, i: usize, inst: &Inst) -> Result<Selected> {
        let selected = |work, as_element: bool| {
            let args = inst.args.map(|a| (a, as_element));
            let args = [args[0], args[1], args[2], (ValueId(0), false)];
            Selected { work, args, operands: inst.args().len(), inner: None }
        };
        if let Code::Host(callee) = inst.code {
            let declared = &self.kernel.functions[callee.function as usize];
            let Some(function) = self.functions.iter().find(|f| f.declaration() == declared) else {
                let why = format!("the host function {declared} of the kernel was not given");
                return Err(Error::new(ErrorKind::Internal, why));
            };
            return Ok(selected(Work::Host(function.clone()), false));
        }
        if let Code::Gather { table, .. } = inst.code {
            return Ok(selected(Work::Gather(table as usize), false));
        }
        let per_element = !self.is_uniform(self.kernel.value(i));
        if let (Code::Apply { op, dtype, .. }, &[a, b], true) = (inst.code, inst.args(), per_element)
            && let Some(with) =
                fused::with_uniform(op, dtype, [a, b].map(|v| self.is_uniform(v)), self.nan[i])
        {
            return Ok(selected(Work::Loop(with.run), true).ordered(&with));
        }
        if let (Code::Apply { op: Op::Fma, dtype, .. }, true) = (inst.code, per_element) {
            let uniform = inst.args.map(|v| self.is_uniform(v));
            if let Some(with) = fused::fused_sum(dtype, uniform, [false; 2], self.nan[i]) {
                return Ok(selected(Work::Loop(with.run), true).ordered(&with));
            }
        }
        Ok(selected(Work::Loop(tile_loop(inst.code, self.nan[i])?), false))
    }

    /// Selects the loop that computes an instruction together with one of its operands that has no other reader, if there is such
    /// a loop.
    fn pair(&self, i: usize) -> Option<Selected> {
        let outer = &self.kernel.body[i];
        let Code::Apply { op, dtype, .. } = outer.code else { return None };
        let candidates = match op {
            Op::Where => 1,
            Op::Fma => 3,
            _ if outer.args().len() == 2 => 2,
            _ => 0,
        };
        (0..candidates).find_map(|side| {
            let id = outer.args[side];
            let Definition::Inst(inner) = self.kernel.definition(id) else { return None };
            let is_single = self.selected[inner].as_ref()?.inner.is_none();
            if self.uses[id.index()] != 1 || self.is_uniform(id) || !is_single {
                return None;
            }
            let Inst { code: Code::Apply { op: inner_op, dtype: inner_dtype, .. }, args: [a, b, _] } =
                self.kernel.body[inner]
            else {
                return None;
            };
            if inner_dtype != dtype {
                return None;
            }
            let (with, args, operands) = if op == Op::Fma {
                if inner_op != Op::Negative {
                    return None;
                }
                let mut args = outer.args;
                args[side] = a;
                let (uniform, negative) = (args.map(|v| self.is_uniform(v)), [side < 2, side == 2]);
                let with = fused::fused_sum(dtype, uniform, negative, self.nan[i])?;
                (with, [(args[0], true), (args[1], true), (args[2], true), (ValueId(0), false)], 3)
            } else if op == Op::Where {
                let with = fused::choice(inner_op, dtype, [a, b].map(|v| self.is_uniform(v)))?;
                (with, [(a, true), (b, true), (outer.args[1], false), (outer.args[2], false)], 4)
            } else {
                // `square` is defined as the product of its operand with itself.
                let (inner_op, b) = if inner_op == Op::Square { (Op::Multiply, a) } else { (inner_op, b) };
                let c = outer.args[1 - side];
                let uniform = [a, b, c].map(|v| self.is_uniform(v));
                let with = fused::pair(op, inner_op, side, dtype, uniform, self.nan[i])?;
                (with, [(a, true), (b, true), (c, true), (ValueId(0), false)], 3)
            };
            Some(Selected { work: Work::Loop(with.run), args, operands, inner: Some(inner) }.ordered(&with))
        })
    }
}
