//! The optimiser of functions on vectors of more than 128 bits.
//!
//! In: a function as the emitter makes it: blocks one after the other, two loops, cold blocks beside. Out: the same without
//! repeated computations and such that change nothing, with what doesn't change in a loop before it, without what nobody needs. Must hold: what is
//! moved or merged has no effects; blocks stay as they are.
//!
//! Cranelift's own optimiser takes no such functions: where the result of one of its rules is a constant vector (as that
//! of `isub x, x`), it has a constructor for 128 bits only, and panics.

use std::collections::HashMap;

use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::{Block, Function, Inst, InstructionData, Opcode, Type, Value, ValueDef};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// What two instructions that compute the same have in common.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// Of instructions with up to three operands, which are in it.
    Plain(InstructionData, Type),
    /// Of a call: the function and the arguments.
    Call(cranelift_codegen::ir::FuncRef, SmallVec<[Value; 2]>),
}

/// A loop over the blocks of the line from one place to another.
struct Loop {
    head: usize,
    end: usize,
}

/// Optimises a function of the emitter's.
pub fn run(function: &mut Function) {
    let line: Vec<Block> = function.layout.blocks().filter(|&b| !function.layout.is_cold(b)).collect();
    let mut place = vec![0; function.dfg.num_blocks()];
    line.iter().enumerate().for_each(|(i, b)| place[b.as_u32() as usize] = i);
    let loops = loops(function, &line, &place);
    let mut known: HashMap<Key, Inst, FxBuildHasher> = HashMap::default();
    known.reserve(function.dfg.num_insts());
    let blocks: Vec<Block> = function.layout.blocks().collect();
    for block in blocks {
        let cold = function.layout.is_cold(block);
        let mut next = function.layout.first_inst(block);
        while let Some(inst) = next {
            next = function.layout.next_inst(inst);
            let dfg = &mut function.dfg;
            if dfg.inst_values(inst).any(|v| dfg.resolve_aliases(v) != v) {
                let resolved: SmallVec<[Value; 4]> =
                    dfg.inst_values(inst).map(|v| dfg.resolve_aliases(v)).collect();
                let mut resolved = resolved.into_iter();
                dfg.map_inst_values(inst, |v| resolved.next().unwrap_or(v));
            }
            if !is_pure(function, inst) {
                continue;
            }
            if let Some(same) = unchanged(function, inst) {
                let result = function.dfg.first_result(inst);
                function.dfg.clear_results(inst);
                function.dfg.change_to_alias(result, same);
                function.layout.remove_inst(inst);
                continue;
            }
            let key = key(function, inst);
            if let Some(&same) = known.get(&key) {
                function.dfg.replace_with_aliases(inst, same);
                function.layout.remove_inst(inst);
                continue;
            }
            // Blocks of the line come after each other; a cold one comes before none.
            if cold {
                continue;
            }
            hoist(function, inst, place[block.as_u32() as usize], &line, &place, &loops);
            known.insert(key, inst);
        }
    }
    function.dfg.resolve_all_aliases();
    remove_unused(function);
}

/// The loops of the line, the outermost first.
fn loops(function: &Function, line: &[Block], place: &[usize]) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::new();
    for (from, &block) in line.iter().enumerate() {
        let Some(last) = function.layout.last_inst(block) else { continue };
        let dfg = &function.dfg;
        for to in dfg.insts[last].branch_destination(&dfg.jump_tables, &dfg.exception_tables) {
            let to = to.block(&dfg.value_lists);
            let head = place[to.as_u32() as usize];
            if function.layout.is_cold(to) || head > from {
                continue;
            }
            match loops.iter_mut().find(|l| l.head == head) {
                Some(known) => known.end = from,
                None => loops.push(Loop { head, end: from }),
            }
        }
    }
    loops.sort_by_key(|l| l.head);
    loops
}

/// Moves an instruction before the outermost loop that sets none of its operands: a constant before all.
fn hoist(function: &mut Function, inst: Inst, at: usize, line: &[Block], place: &[usize], loops: &[Loop]) {
    let args = function.dfg.inst_args(inst);
    let block_of = |v: &Value| match function.dfg.value_def(*v) {
        ValueDef::Result(inst, _) => function.layout.inst_block(inst),
        ValueDef::Param(block, _) => Some(block),
        ValueDef::Union(..) => None,
    };
    let latest = args.iter().filter_map(block_of).map(|b| place[b.as_u32() as usize]).max().unwrap_or(0);
    let Some(outer) = loops.iter().find(|l| l.head <= at && at <= l.end && latest < l.head) else { return };
    // The block before a loop ends with the jump into it.
    if let Some(last) = outer.head.checked_sub(1).and_then(|before| function.layout.last_inst(line[before])) {
        function.layout.remove_inst(inst);
        function.layout.insert_inst(inst, last);
    }
}

fn key(function: &Function, inst: Inst) -> Key {
    let dfg = &function.dfg;
    match dfg.insts[inst] {
        InstructionData::Call { func_ref, .. } => Key::Call(func_ref, dfg.inst_args(inst).into()),
        InstructionData::Binary { opcode, args: [a, b] } if is_commutative(opcode) => {
            let args = [a.min(b), a.max(b)];
            Key::Plain(InstructionData::Binary { opcode, args }, dfg.ctrl_typevar(inst))
        }
        plain => Key::Plain(plain, dfg.ctrl_typevar(inst)),
    }
}

/// The operand that an operation with a constant gives back as it is.
fn unchanged(function: &Function, inst: Inst) -> Option<Value> {
    let dfg = &function.dfg;
    let InstructionData::Binary { opcode, args: [x, y] } = dfg.insts[inst] else { return None };
    let neutral = match opcode {
        Opcode::Iadd | Opcode::Isub | Opcode::Bor | Opcode::Bxor => 0,
        Opcode::Band => 0xff,
        _ => return None,
    };
    let ValueDef::Result(constant, _) = dfg.value_def(y) else { return None };
    let is_neutral = match dfg.insts[constant] {
        InstructionData::UnaryConst { opcode: Opcode::Vconst, constant_handle } => {
            dfg.constants.get(constant_handle).as_slice().iter().all(|&byte| byte == neutral)
        }
        InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => neutral == 0 && imm.bits() == 0,
        _ => false,
    };
    is_neutral.then_some(x)
}

fn is_commutative(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(opcode, Iadd | Imul | Band | Bor | Bxor | Smin | Smax | Umin | Umax | Fadd | Fmul)
}

/// Whether an instruction only computes one value, from operands that are in it, or is such an intrinsic.
fn is_pure(function: &Function, inst: Inst) -> bool {
    let data = function.dfg.insts[inst];
    if let InstructionData::Call { func_ref, .. } = data {
        let intrinsic = Intrinsic::of_external(function, &function.dfg.ext_funcs[func_ref].name);
        return intrinsic.is_some_and(Intrinsic::is_pure);
    }
    let opcode: Opcode = data.opcode();
    let effects = opcode.can_load()
        || opcode.can_store()
        || opcode.can_trap()
        || opcode.other_side_effects()
        || opcode.is_call()
        || opcode.is_terminator();
    !effects && function.dfg.inst_results(inst).len() == 1
}

/// Removes computations whose results nobody reads.
fn remove_unused(function: &mut Function) {
    let mut used = vec![false; function.dfg.num_values()];
    let mut at = function.layout.last_block();
    while let Some(block) = at {
        at = function.layout.prev_block(block);
        let mut before = function.layout.last_inst(block);
        while let Some(inst) = before {
            before = function.layout.prev_inst(inst);
            let read = function.dfg.inst_results(inst).iter().any(|v| used[v.as_u32() as usize]);
            if read || !is_pure(function, inst) {
                function.dfg.inst_values(inst).for_each(|v| used[v.as_u32() as usize] = true);
            } else {
                function.layout.remove_inst(inst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use broadloom_ir::kernel::{Code, Inst, Kernel, ValueId};
    use broadloom_ir::{DType, Op};
    use broadloom_mem::{Access, Stores};
    use cranelift_codegen::ir::{Block, Function, Opcode};

    use crate::emit::Helpers;
    use crate::repertoire::optimised;
    use crate::width::Width;

    fn function(dtype: DType, body: &[(Op, [u32; 2])], access: &[Access]) -> Function {
        let inst = |&(op, [a, b]): &(Op, [u32; 2])| Inst {
            code: Code::Apply(op, dtype),
            args: [a, b, 0].map(ValueId),
        };
        let inputs = access.len();
        let kernel = Kernel {
            inputs: vec![dtype; inputs],
            body: body.iter().map(inst).collect(),
            outputs: (0..body.len()).map(|i| ValueId((inputs + i) as u32)).collect(),
            ..Kernel::default()
        };
        optimised(&kernel, access, Width::W512, Stores::Cached, Helpers::Shown(Vec::new())).0
    }

    /// The blocks of the instructions of one opcode.
    fn places(function: &Function, opcode: Opcode) -> Vec<Block> {
        let layout = &function.layout;
        let insts = layout.blocks().flat_map(|b| layout.block_insts(b).map(move |i| (b, i)));
        insts.filter(|&(_, i)| function.dfg.insts[i].opcode() == opcode).map(|(b, _)| b).collect()
    }

    #[test]
    fn what_a_row_has_one_of_is_computed_before_its_loop() {
        let body = [(Op::FloorDivide, [0, 1])];
        // The lanes of the divisor take several vectors, whose reciprocal is one.
        let splat = function(DType::Int32, &body, &[Access::Contiguous, Access::Splat]);
        let blocks: Vec<Block> = splat.layout.blocks().collect();
        assert_eq!(places(&splat, Opcode::Fdiv), [blocks[1]], "{}", splat.display());
        let each = function(DType::Int32, &body, &[Access::Contiguous; 2]);
        assert_eq!(places(&each, Opcode::Fdiv), [blocks[2]; 4], "{}", each.display());
    }

    #[test]
    fn what_is_computed_twice_is_computed_once() {
        let fma = |body: &[(Op, [u32; 2])]| {
            places(&function(DType::Float64, body, &[Access::Contiguous]), Opcode::Fma).len()
        };
        let (sine, cosine) = ((Op::Sin, [0; 2]), (Op::Cos, [0; 2]));
        assert!(fma(&[sine]) > 5 && fma(&[sine, cosine]) < fma(&[sine]) + fma(&[cosine]));
        assert_eq!(fma(&[sine, sine]), fma(&[sine]));
        // Operands of sums may change places.
        let both = function(DType::Int32, &[(Op::Add, [0, 1]), (Op::Add, [1, 0])], &[Access::Contiguous; 2]);
        let one = function(DType::Int32, &[(Op::Add, [0, 1])], &[Access::Contiguous; 2]);
        let vectors = |f: &Function| places(f, Opcode::Iadd).len();
        assert_eq!(
            vectors(&both) - vectors(&one),
            5,
            "the addresses of an output: its row, block, and three more vectors"
        );
        assert_eq!(places(&both, Opcode::Call).len(), places(&one, Opcode::Call).len() + 4);
    }

    /// On which Cranelift's own optimiser panics.
    #[test]
    fn a_difference_of_one_value_with_itself() {
        let zero = function(DType::Int32, &[(Op::Subtract, [0, 0])], &[Access::Contiguous]);
        assert!(!places(&zero, Opcode::Isub).is_empty());
    }
}
