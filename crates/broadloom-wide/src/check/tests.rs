//! Tests the checker with deliberate corruptions of allocated code: it accepts the allocator's output and rejects each corruption.

mod drafts;
mod loops;

use drafts::{carried, functions, gather, pressure, row};

use super::{AllocationMistake, check};
use crate::allocate::allocate;
use crate::allocated::{
    AInst, AllocatedFunction, PAddress, PBase, PInst, POperand, PReg, RegMove, SCRATCH, SpillSlot, TAIL_MASK,
};
use crate::encodings;
use crate::inst::{InstId, RegClass, VFunction, VectorLength};
use crate::target::{Convention, Level};

const CONVENTIONS: [Convention; 2] = [Convention::SystemV, Convention::Windows];

fn allocated(func: &VFunction, convention: Convention) -> AllocatedFunction {
    let allocated = allocate(func, Level::Avx512, convention).expect("allocates");
    check(func, &allocated, Level::Avx512, convention).expect("what the allocator makes is right");
    allocated
}

/// Calls `f` with the function's instruction sequence and with each sequence nested in it.
fn each_body(insts: &mut Vec<AInst>, f: &mut impl FnMut(&mut Vec<AInst>)) {
    f(insts);
    for inst in insts {
        match inst {
            AInst::Cold { body, .. } | AInst::Loop { body, .. } | AInst::TailLoop { body, .. } => {
                each_body(body, f);
            }
            _ => {}
        }
    }
}

/// Lets `f` corrupt one instruction (`f` returns whether it did), and expects the checker to reject the function.
#[track_caller]
fn rejects(func: &VFunction, mut f: impl FnMut(&mut AInst) -> bool) -> AllocationMistake {
    rejects_body(func, |body| body.iter_mut().any(&mut f))
}

#[track_caller]
fn rejects_body(func: &VFunction, mut f: impl FnMut(&mut Vec<AInst>) -> bool) -> AllocationMistake {
    let mut failure = None;
    for convention in CONVENTIONS {
        let mut code = allocated(func, convention);
        let mut done = false;
        each_body(&mut code.insts, &mut |body| done = done || f(body));
        assert!(done, "nothing to corrupt");
        let error = check(func, &code, Level::Avx512, convention).expect_err("corrupt code");
        assert!(!error.to_string().is_empty() && !error.instruction.is_empty());
        failure = Some(error.failure);
    }
    failure.expect("two conventions")
}

/// Removes the first instruction for which `is` holds.
fn drop_first(body: &mut Vec<AInst>, is: impl Fn(&AInst) -> bool) -> bool {
    let found = body.iter().position(is);
    found.map(|i| body.remove(i)).is_some()
}

fn is_wrong_value(failure: &AllocationMistake) -> bool {
    matches!(failure, AllocationMistake::WrongValue { .. })
}

#[test]
fn what_the_allocator_makes_is_accepted() {
    for func in functions() {
        for convention in CONVENTIONS {
            allocated(&func, convention);
        }
    }
}

#[test]
fn two_source_registers_are_swapped() {
    let failure = rejects(&pressure(), |inst| match inst {
        AInst::Op { inst: PInst { encoding, operands, .. }, .. } if *encoding == encodings::PSUBD => {
            let is_reg = |o: &POperand| matches!(o, POperand::Reg(_));
            let distinct = is_reg(&operands[1]) && is_reg(&operands[2]) && operands[1] != operands[2];
            if distinct {
                operands.swap(1, 2);
            }
            distinct
        }
        _ => false,
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

/// The register of the result holds the indices too, until the gather overwrites it.
#[test]
fn a_gather_takes_its_indices_from_the_register_of_its_result() {
    let failure = rejects(&gather(), |inst| match inst {
        AInst::Op { inst: PInst { encoding, operands, .. }, .. } if *encoding == encodings::GATHERQPD => {
            let [POperand::Reg(result), POperand::Mem(PAddress { index: Some((index, _)), .. })] =
                &mut operands[..]
            else {
                return false;
            };
            *index = *result;
            true
        }
        _ => false,
    });
    assert!(matches!(failure, AllocationMistake::Mismatch("set of distinct registers")), "{failure}");
}

/// The checker accepts swapped sources of an addition, but not of a subtraction.
#[test]
fn sources_of_an_addition_may_be_swapped() {
    let func = carried();
    let mut code = allocated(&func, Convention::SystemV);
    let mut done = false;
    each_body(&mut code.insts, &mut |body| {
        for inst in body {
            if let AInst::Op { inst, .. } = inst
                && inst.encoding == encodings::PADDD
            {
                inst.operands.swap(1, 2);
                done = true;
            }
        }
    });
    assert!(done);
    check(&func, &code, Level::Avx512, Convention::SystemV).expect("commutes");
}

#[test]
fn a_spill_is_dropped() {
    let is_spill = |inst: &AInst| matches!(inst, AInst::Move(RegMove::Spill { .. }));
    let failure = rejects_body(&pressure(), |body| drop_first(body, is_spill));
    assert!(is_wrong_value(&failure), "{failure}");
}

#[test]
fn a_reload_is_dropped() {
    let is_reload = |inst: &AInst| matches!(inst, AInst::Move(RegMove::Reload { .. }));
    let failure = rejects_body(&pressure(), |body| drop_first(body, is_reload));
    assert!(is_wrong_value(&failure), "{failure}");
}

#[test]
fn a_constant_is_not_rematerialised() {
    let is_integer = |inst: &AInst| matches!(inst, AInst::Move(RegMove::Integer { .. }));
    for func in functions() {
        assert!(is_wrong_value(&rejects_body(&func, |body| drop_first(body, is_integer))));
    }
}

#[test]
fn another_constant_is_rematerialised() {
    let failure = rejects(&row(), |inst| match inst {
        AInst::Move(RegMove::Integer { value, .. }) => {
            *value += 1;
            true
        }
        _ => false,
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

#[test]
fn a_reload_reads_the_wrong_slot() {
    let failure = rejects(&pressure(), |inst| match inst {
        AInst::Move(RegMove::Reload { slot, .. }) if slot.0 > 0 => {
            slot.0 -= 1;
            true
        }
        _ => false,
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

#[test]
fn a_folded_operand_reads_the_wrong_slot() {
    let failure = rejects(&pressure(), |inst| match inst {
        AInst::Op { inst, .. } => inst.operands.iter_mut().any(|operand| match operand {
            POperand::Mem(address) => match &mut address.base {
                PBase::Spill(slot) => {
                    slot.0 = if slot.0 == 0 { 1 } else { slot.0 - 1 };
                    true
                }
                _ => false,
            },
            POperand::Reg(_) => false,
        }),
        _ => false,
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

/// A spill uses the slot of an earlier spill, as if that slot had been freed too early.
#[test]
fn a_slot_is_reused_too_early() {
    let mut first = None;
    let failure = rejects_body(&pressure(), |body| {
        for inst in body {
            if let AInst::Move(RegMove::Spill { slot, .. }) = inst {
                let before = *first.get_or_insert(*slot);
                if before != *slot {
                    *slot = before;
                    first = None;
                    return true;
                }
            }
        }
        false
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

#[test]
fn a_slot_beyond_the_frame_is_used() {
    let failure = rejects(&pressure(), |inst| match inst {
        AInst::Move(RegMove::Spill { slot, .. }) => {
            *slot = SpillSlot(1 << 20);
            true
        }
        _ => false,
    });
    assert_eq!(failure, AllocationMistake::NoSuchSlot(SpillSlot(1 << 20)));
}

/// The out-of-line code does not spill a vector register whose value is live across its call.
#[test]
fn a_save_around_a_cold_call_is_missing() {
    for func in [pressure(), row()] {
        let failure = rejects(&func, |inst| match inst {
            AInst::Cold { body, .. } => drop_first(
                body,
                |inst| matches!(inst, AInst::Move(RegMove::Spill { from, .. }) if from.class == RegClass::Vector),
            ),
            _ => false,
        });
        assert!(is_wrong_value(&failure), "{failure}");
    }
}

#[test]
fn a_mask_register_is_not_restored_after_a_call() {
    for func in [pressure(), row()] {
        let failure = rejects(&func, |inst| match inst {
            AInst::Cold { body, .. } => drop_first(
                body,
                |inst| matches!(inst, AInst::Move(RegMove::Reload { to, .. }) if to.class == RegClass::Mask),
            ),
            _ => false,
        });
        assert!(is_wrong_value(&failure), "{failure}");
    }
}

#[test]
fn out_of_line_code_gives_back_the_wrong_value() {
    let failure = rejects(&row(), |inst| match inst {
        AInst::Cold { body, .. } => drop_first(
            body,
            |inst| matches!(inst, AInst::Op { inst, .. } if inst.encoding == encodings::MOVUPS),
        ),
        _ => false,
    });
    assert!(matches!(failure, AllocationMistake::OutOfOrder { .. }), "{failure}");
}

#[test]
fn an_argument_of_a_call_is_overwritten() {
    let failure = rejects_body(&pressure(), |body| {
        let call = body.iter().position(|inst| matches!(inst, AInst::Call { .. }));
        let Some(at) = call else { return false };
        let target = |inst: &AInst| match inst {
            AInst::Move(RegMove::Integer { to, value }) if *to == SCRATCH.number => Some(*value),
            _ => None,
        };
        let Some(value) = body.iter().find_map(target) else { return false };
        // The register of the first argument in each of the two calling conventions: rdi and rcx.
        for to in [7, 1] {
            body.insert(at, AInst::Move(RegMove::Integer { to, value }));
        }
        true
    });
    assert!(
        matches!(failure, AllocationMistake::WrongValue { .. } | AllocationMistake::NotSaved(_)),
        "{failure}"
    );
}

/// The moves that swap two values are made in reverse order.
#[test]
fn parallel_moves_are_in_the_wrong_order() {
    let failure = rejects(&carried(), |inst| match inst {
        AInst::Back { moves, .. } => {
            moves.reverse();
            true
        }
        _ => false,
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

/// Removes a move from a branch back. The code is wrong only from the second iteration on: the registers at
/// the loop's head then no longer hold the values that the body reads.
#[test]
fn the_branch_back_leaves_another_value() {
    for i in 0..2 {
        let failure = rejects(&carried(), |inst| match inst {
            AInst::Back { moves, .. } if moves.len() > i => {
                moves.remove(i);
                true
            }
            _ => false,
        });
        assert!(is_wrong_value(&failure), "{failure}");
    }
}

#[test]
fn a_pinned_register_is_overwritten_in_the_loop() {
    let failure = rejects(&carried(), |inst| {
        let AInst::Loop { body, .. } = inst else { return false };
        let sources = body.iter().find_map(|inst| match inst {
            AInst::Op { inst, .. } if inst.encoding == encodings::PADDD => {
                Some((inst.operands[1], inst.operands[2]))
            }
            _ => None,
        });
        let Some((POperand::Reg(from), POperand::Reg(to))) = sources else { return false };
        let at = body.len() - 1;
        body.insert(at, AInst::Move(RegMove::Copy { to, from }));
        true
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

#[test]
fn a_result_overwrites_a_live_value() {
    let failure = rejects(&pressure(), |inst| match inst {
        AInst::Op { inst, .. } if inst.encoding == encodings::MOVUPS => match &mut inst.operands[0] {
            POperand::Reg(register) if register.number > 0 => {
                register.number = 0;
                true
            }
            _ => false,
        },
        _ => false,
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

#[test]
fn an_instruction_is_missing_or_comes_twice() {
    let is_op = |inst: &AInst| matches!(inst, AInst::Op { .. });
    for func in functions() {
        let failure = rejects_body(&func, |body| drop_first(body, is_op));
        assert!(matches!(failure, AllocationMistake::OutOfOrder { .. }), "{failure}");
        let failure = rejects_body(&func, |body| {
            let found = body.iter().position(is_op);
            found.map(|i| body.insert(i, body[i].clone())).is_some()
        });
        assert!(matches!(failure, AllocationMistake::OutOfOrder { .. }), "{failure}");
    }
}

#[test]
fn an_operation_is_another_one() {
    let first_op = |f: fn(&mut PInst)| {
        rejects(&pressure(), |inst| match inst {
            AInst::Op { inst, .. } if inst.encoding == encodings::PSUBD => {
                f(inst);
                true
            }
            _ => false,
        })
    };
    let is_mismatch =
        |failure: AllocationMistake| assert!(matches!(failure, AllocationMistake::Mismatch(_)), "{failure}");
    is_mismatch(first_op(|inst| inst.encoding = encodings::PADDD));
    is_mismatch(first_op(|inst| inst.length = VectorLength::L256));
    is_mismatch(first_op(|inst| inst.immediate = Some(1)));
    is_mismatch(first_op(|inst| inst.mask = Some(1)));
    is_mismatch(first_op(|inst| inst.operands.truncate(2)));
}

#[test]
fn a_select_has_another_mask() {
    let failure = rejects(&row(), |inst| match inst {
        AInst::Op { inst: PInst { mask: Some(mask), .. }, .. } => {
            *mask = if *mask == 1 { 2 } else { 1 };
            true
        }
        _ => false,
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

#[test]
fn a_reserved_register_is_written() {
    let failure = rejects(&row(), |inst| match inst {
        AInst::Op { inst, .. } if inst.encoding == encodings::PCMPKD => {
            inst.operands[0] = POperand::Reg(TAIL_MASK);
            true
        }
        _ => false,
    });
    assert_eq!(failure, AllocationMistake::NotAllocatable(TAIL_MASK));
}

/// The code writes a callee-saved register that the prologue would not save.
#[test]
fn a_written_register_is_not_noted() {
    for func in functions() {
        let mut code = allocated(&func, Convention::Windows);
        code.written = [0; 3];
        let error = check(&func, &code, Level::Avx512, Convention::Windows).expect_err("not noted");
        assert!(matches!(error.failure, AllocationMistake::NotSaved(PReg { .. })), "{error}");
    }
}

#[test]
fn a_masked_access_is_at_another_lane() {
    let failure = rejects(&row(), |inst| match inst {
        AInst::Op { inst, .. } => inst.operands.iter_mut().any(|operand| match operand {
            POperand::Mem(address) => match &mut address.tail {
                Some(tail) => {
                    tail.lane += 1;
                    true
                }
                None => false,
            },
            POperand::Reg(_) => false,
        }),
        _ => false,
    });
    assert!(matches!(failure, AllocationMistake::Mismatch(_)), "{failure}");
}

#[test]
fn a_row_is_counted_from_another_register() {
    for f in [|index: &mut u8, _: &mut u32| *index = 11, |_: &mut u8, lanes: &mut u32| *lanes = 16] {
        rejects(&row(), |inst| match inst {
            AInst::TailLoop { index, lanes, .. } => {
                f(index, lanes);
                true
            }
            _ => false,
        });
    }
}

#[test]
fn a_branch_has_the_inverse_condition() {
    let failure = rejects(&pressure(), |inst| match inst {
        AInst::Cold { condition, .. } => {
            *condition = condition.inverse();
            true
        }
        _ => false,
    });
    assert_eq!(failure, AllocationMistake::Mismatch("condition"));
    let failure = rejects(&carried(), |inst| match inst {
        AInst::Back { condition, .. } => {
            *condition = condition.inverse();
            true
        }
        _ => false,
    });
    assert_eq!(failure, AllocationMistake::Mismatch("condition"));
}

#[test]
fn an_instruction_stands_for_another_one() {
    let failure = rejects(&carried(), |inst| match inst {
        AInst::Op { id, .. } if id.index > 0 => {
            *id = InstId { index: id.index - 1, ..*id };
            true
        }
        _ => false,
    });
    assert!(matches!(failure, AllocationMistake::OutOfOrder { .. }), "{failure}");
}
