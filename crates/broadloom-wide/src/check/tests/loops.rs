//! Corruptions of loops in loops: their branches back, the edges between the loops, and the slots of values that are live across
//! them.

use super::drafts::{nested, three_loops};
use super::{
    AInst, AllocatedFunction, AllocationMistake, CONVENTIONS, Convention, Level, PAddress, PBase, POperand,
    PReg, RegClass, RegMove, SpillSlot, allocated, check, drop_first, each_body, is_wrong_value, rejects,
    rejects_body,
};

/// Lets `f` corrupt the body of the inner loop of [`nested`].
#[track_caller]
fn rejects_inner(f: impl Fn(&mut Vec<AInst>) -> bool) -> AllocationMistake {
    rejects(&nested(), |inst| match inst {
        AInst::Loop { body, .. } if !body.iter().any(|inst| matches!(inst, AInst::Loop { .. })) => f(body),
        _ => false,
    })
}

/// Removes a move from the branch back of an inner loop. The code is wrong only in the second iteration of that loop.
#[test]
fn the_branch_back_of_an_inner_loop_leaves_another_value() {
    for i in 0..2 {
        let failure = rejects_inner(|body| match body.last_mut() {
            Some(AInst::Back { moves, .. }) => {
                moves.remove(i);
                true
            }
            _ => false,
        });
        assert!(is_wrong_value(&failure), "{failure}");
    }
}

/// The inner loop overwrites the slot of a value from before both loops, after its last read of it. The code is wrong
/// only in later iterations.
#[test]
fn an_inner_loop_overwrites_a_slot_that_both_loops_read() {
    let slots: Vec<u32> = {
        let code = allocated(&nested(), Convention::SystemV);
        (0..code.slots).collect()
    };
    let spilled = slots.iter().filter(|&&slot| {
        let mut code = allocated(&nested(), Convention::SystemV);
        each_body(&mut code.insts, &mut |body| {
            let is_inner = !body.iter().any(|inst| matches!(inst, AInst::Loop { .. }));
            if let (true, Some(AInst::Back { .. })) = (is_inner, body.last()) {
                let from = PReg::vector(0);
                let at = body.len() - 1;
                body.insert(at, AInst::Move(RegMove::Spill { slot: SpillSlot(slot), from }));
            }
        });
        let failure = check(&nested(), &code, Level::Avx512, Convention::SystemV);
        failure.is_err_and(|error| is_wrong_value(&error.failure))
    });
    // The values from before the loops and from the outer loop, except those that the inner loop keeps in registers.
    assert!(spilled.count() >= 2, "of {slots:?}");
}

#[test]
fn a_value_is_not_stored_before_an_inner_loop() {
    let failure = rejects_body(&nested(), |body| {
        let inner = body.iter().position(|inst| matches!(inst, AInst::Loop { .. }));
        let is_outer = matches!(body.last(), Some(AInst::Back { .. }));
        let Some(inner) = inner.filter(|_| is_outer) else { return false };
        let spill = body[..inner].iter().position(|inst| matches!(inst, AInst::Move(RegMove::Spill { .. })));
        spill.map(|at| body.remove(at)).is_some()
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

/// The out-of-line code of an inner loop does not give a value from outside back to its register.
#[test]
fn out_of_line_code_of_an_inner_loop_loses_a_register() {
    let failure = rejects_inner(|body| {
        body.iter_mut().any(|inst| match inst {
            AInst::Cold { body, .. } => {
                drop_first(body, |inst| matches!(inst, AInst::Move(RegMove::Reload { .. })))
            }
            _ => false,
        })
    });
    assert!(is_wrong_value(&failure), "{failure}");
}

/// The number of loops of [`three_loops`], each of which contains the next one.
const DEPTH: usize = 3;
/// Numbers of vectors from outside of [`three_loops`]: all of them are in registers, or some in slots.
const FEW: usize = 20;
const MANY: usize = 28;

/// The body of the loop that `depth` others contain.
fn body_at(insts: &mut [AInst], depth: usize) -> &mut Vec<AInst> {
    let body = insts.iter_mut().find_map(|inst| match inst {
        AInst::Loop { body, .. } => Some(body),
        _ => None,
    });
    let body = body.expect("a loop");
    if depth == 0 { body } else { body_at(body, depth - 1) }
}

/// The moves of the branch back of the loop that `depth` others contain.
fn moves_back(code: &mut AllocatedFunction, depth: usize) -> &mut Vec<RegMove> {
    match body_at(&mut code.insts, depth).last_mut() {
        Some(AInst::Back { moves, .. }) => moves,
        last => panic!("a loop that ends with {last:?}"),
    }
}

/// The slots that a sequence reads after its loop, at a branch back too.
fn slots_read_after(insts: &[AInst]) -> Vec<SpillSlot> {
    let reloaded = |m: &RegMove| match m {
        RegMove::Reload { slot, .. } => Some(*slot),
        _ => None,
    };
    let mut slots = Vec::new();
    for inst in insts.iter().skip_while(|inst| !matches!(inst, AInst::Loop { .. })) {
        match inst {
            AInst::Move(m) => slots.extend(reloaded(m)),
            AInst::Back { moves, .. } => slots.extend(moves.iter().filter_map(reloaded)),
            AInst::Op { inst, .. } => {
                slots.extend(inst.operands.iter().filter_map(|operand| match operand {
                    POperand::Mem(PAddress { base: PBase::Spill(slot), .. }) => Some(*slot),
                    _ => None,
                }))
            }
            _ => {}
        }
    }
    slots
}

/// The slots that hold values across the loop that `depth` others contain: those that are read after it in the loop around it, and
/// after that loop.
fn slots_across(code: &mut AllocatedFunction, depth: usize) -> Vec<SpillSlot> {
    let mut slots = slots_read_after(&code.insts);
    (0..depth).for_each(|around| slots.extend(slots_read_after(body_at(&mut code.insts, around))));
    slots
}

/// Lets `f` corrupt the code of [`three_loops`], and expects the checker to find a wrong value.
#[track_caller]
fn rejects_loops(outside: usize, convention: Convention, f: impl FnOnce(&mut AllocatedFunction)) {
    let func = three_loops(outside);
    let mut code = allocated(&func, convention);
    f(&mut code);
    let error = check(&func, &code, Level::Avx512, convention).expect_err("corrupt code");
    assert!(is_wrong_value(&error.failure), "{error}");
}

/// Each move of each branch back is needed, whether values are in registers or in slots.
#[test]
fn a_move_of_a_branch_back_is_dropped() {
    for convention in CONVENTIONS {
        for (outside, depth) in [FEW, MANY].into_iter().flat_map(|of| (0..DEPTH).map(move |at| (of, at))) {
            let count = moves_back(&mut allocated(&three_loops(outside), convention), depth).len();
            assert!(count >= 2, "{count} moves at depth {depth}");
            for i in 0..count {
                rejects_loops(outside, convention, |code| {
                    moves_back(code, depth).remove(i);
                });
            }
        }
    }
}

/// The last two moves of a branch back write each other's registers.
#[test]
fn moves_of_a_branch_back_change_places() {
    fn written(m: &mut RegMove) -> &mut PReg {
        match m {
            RegMove::Copy { to, .. } | RegMove::Reload { to, .. } => to,
            other => panic!("{other:?}"),
        }
    }
    for convention in CONVENTIONS {
        for depth in 0..DEPTH {
            rejects_loops(FEW, convention, |code| {
                let [.., first, second] = &mut moves_back(code, depth)[..] else { panic!("too few moves") };
                std::mem::swap(written(first), written(second));
            });
        }
    }
}

/// The branch back of a loop passes what the branch back of another loop passes: parameters are read from another edge.
#[test]
fn a_parameter_is_read_from_the_edge_of_another_loop() {
    for convention in CONVENTIONS {
        for depth in 0..DEPTH {
            for other in (0..DEPTH).filter(|&other| other != depth) {
                let of_other = moves_back(&mut allocated(&three_loops(FEW), convention), other).clone();
                rejects_loops(FEW, convention, |code| moves_back(code, depth).clone_from(&of_other));
                rejects_loops(FEW, convention, |code| {
                    let last = moves_back(code, depth).last_mut();
                    *last.expect("a move") = *of_other.last().expect("a move");
                });
            }
        }
    }
}

/// A loop overwrites the slot of a value of the loops around it, or from before all of them, at the end of its body, so that no
/// code before it is wrong in the first iteration.
#[test]
fn a_loop_overwrites_a_slot_that_is_live_across_it() {
    for convention in CONVENTIONS {
        for outside in [FEW, MANY] {
            let mut code = allocated(&three_loops(outside), convention);
            for depth in 0..DEPTH {
                let slots = slots_across(&mut code, depth);
                assert!(slots.len() >= 2 * depth, "{slots:?}");
                for slot in slots {
                    rejects_loops(outside, convention, |code| {
                        let body = body_at(&mut code.insts, depth);
                        let at = body.len() - 1;
                        body.insert(at, AInst::Move(RegMove::Spill { slot, from: PReg::vector(0) }));
                    });
                }
            }
        }
    }
}

/// After the loops, a value is read from the slot of another one.
#[test]
fn a_slot_is_taken_for_another_after_the_loops() {
    for convention in CONVENTIONS {
        let slots = slots_read_after(&allocated(&three_loops(MANY), convention).insts);
        let &[first, second, ..] = &slots[..] else { panic!("{slots:?}") };
        rejects_loops(MANY, convention, |code| {
            let after = code.insts.iter_mut().skip_while(|inst| !matches!(inst, AInst::Loop { .. }));
            for inst in after {
                match inst {
                    AInst::Move(RegMove::Reload { slot, .. }) if *slot == first => *slot = second,
                    AInst::Op { inst, .. } => inst.operands.iter_mut().for_each(|operand| {
                        if let POperand::Mem(PAddress { base: PBase::Spill(slot), .. }) = operand
                            && *slot == first
                        {
                            *slot = second;
                        }
                    }),
                    _ => {}
                }
            }
        });
    }
}

/// The copy to a register of a parameter before the loop is missing.
#[test]
fn a_loop_begins_with_another_value() {
    for convention in CONVENTIONS {
        rejects_loops(FEW, convention, |code| {
            let before = code.insts.iter().position(|inst| matches!(inst, AInst::Loop { .. }));
            let copy = code.insts[..before.unwrap_or(0)].iter().rposition(
                |inst| matches!(inst, AInst::Move(RegMove::Copy { to, .. }) if to.class == RegClass::Vector),
            );
            code.insts.remove(copy.expect("a copy before the loops"));
        });
    }
}
