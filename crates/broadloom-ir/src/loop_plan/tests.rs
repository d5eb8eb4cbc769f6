use super::AccessClass::{Contiguous, Packed, Stepped, Uniform};
use super::*;

fn plan(extents: &[usize], inputs: usize, strides: &[&[isize]]) -> Result<LoopPlan, LoopPlanError> {
    let layouts = strides.iter().map(|strides| OperandLayout::in_memory(4, 0, strides));
    LoopPlan::new(extents, inputs, layouts, LoopPlan::MIN_ROW)
}

/// Each row of the table has extents, the strides of a float32 input and a float32 output, and the expected loops, mode and class
/// of the input.
#[test]
fn layouts_and_their_loops() {
    type Row<'a> = (&'a [usize], [&'a [isize]; 2], &'a [usize], LoopMode, AccessClass);
    let rows: &[Row<'_>] = &[
        (&[10, 50], [&[200, 4], &[200, 4]], &[500], LoopMode::Direct, Contiguous),
        (&[10, 50], [&[0, 0], &[200, 4]], &[500], LoopMode::Direct, Uniform),
        (&[10, 50], [&[4, 0], &[200, 4]], &[10, 50], LoopMode::Direct, Uniform),
        (&[10, 50], [&[0, 4], &[200, 4]], &[10, 50], LoopMode::Direct, Contiguous),
        (&[10, 50], [&[4, 40], &[200, 4]], &[10, 50], LoopMode::Tiled, Packed),
        (&[10, 50], [&[4, 40], &[4, 40]], &[500], LoopMode::Direct, Contiguous),
        (&[500], [&[8], &[4]], &[500], LoopMode::Tiled, Stepped(Access::EverySecond)),
        (&[500], [&[-4], &[4]], &[500], LoopMode::Tiled, Stepped(Access::Reversed)),
        (&[500], [&[4], &[-4]], &[500], LoopMode::Tiled, Stepped(Access::Reversed)),
        (&[500], [&[-8], &[4]], &[500], LoopMode::Tiled, Packed),
        (&[500], [&[12], &[4]], &[500], LoopMode::Tiled, Packed),
        (&[10, 50], [&[400, 8], &[200, 4]], &[500], LoopMode::Tiled, Stepped(Access::EverySecond)),
        (&[10, 64], [&[260, -4], &[256, 4]], &[10, 64], LoopMode::Tiled, Stepped(Access::Reversed)),
        (&[10, 63], [&[256, -4], &[252, 4]], &[10, 63], LoopMode::Tiled, Packed),
        (&[50, 3], [&[-12, -4], &[12, 4]], &[150], LoopMode::Tiled, Stepped(Access::Reversed)),
        (&[50, 3], [&[12, -4], &[12, 4]], &[50, 3], LoopMode::Flat, Packed),
        (&[500], [&[-4], &[-4]], &[500], LoopMode::Direct, Contiguous),
        (&[50, 3], [&[0, 4], &[12, 4]], &[50, 3], LoopMode::Flat, Packed),
        (&[50, 3], [&[0, 0], &[16, 4]], &[50, 3], LoopMode::Flat, Uniform),
        (&[1, 1], [&[0, 0], &[4, 4]], &[1], LoopMode::Direct, Uniform),
        (&[1, 1], [&[8, 4], &[4, 4]], &[1], LoopMode::Direct, Contiguous),
        (&[], [&[], &[]], &[1], LoopMode::Direct, Contiguous),
        (&[7, 0], [&[0, 0], &[4, 4]], &[0], LoopMode::Direct, Contiguous),
    ];
    for &(extents, strides, loops, mode, class) in rows {
        let plan = plan(extents, 1, &strides).expect("a plan");
        let got = (plan.extents().collect::<Vec<_>>(), plan.mode(), plan.operands()[0].class());
        assert_eq!(got, (loops.to_vec(), mode, class), "{extents:?} {strides:?}");
        assert_eq!(plan.is_linear(), mode == LoopMode::Direct && loops.len() == 1);
        assert_eq!(plan.accesses().collect::<Vec<_>>(), [class.access()]);
        assert_eq!(plan.stepped_accesses().collect::<Vec<_>>(), [class.stepped_access()]);
        assert!(matches!(plan.operands()[1].class(), Contiguous | Packed), "{extents:?} {strides:?}");
    }
}

/// Reversed elements and every second element are read in place if they have 4 or 8 bytes; smaller elements are packed.
#[test]
fn steps_of_each_size() {
    for (item, is_read) in [(1, false), (2, false), (4, true), (8, true)] {
        for access in [Access::Reversed, Access::EverySecond] {
            let strides = [access.step() * item as isize, item as isize];
            let layouts =
                strides.each_ref().map(|s| OperandLayout::in_memory(item, 0, std::slice::from_ref(s)));
            let plan = LoopPlan::new(&[500], 1, layouts, LoopPlan::MIN_ROW).expect("a plan");
            let class = if is_read { Stepped(access) } else { Packed };
            assert_eq!(plan.operands()[0].class(), class, "{item} {access:?}");
        }
    }
}

/// The loops have the order of the output's memory; a dimension in which the output has a negative stride is flipped for all
/// operands.
#[test]
fn loops_follow_the_memory_of_the_output() {
    let plan = plan(&[3, 40, 2], 1, &[&[320, 8, 4], &[-4, 24, 12]]).expect("a plan");
    assert_eq!(plan.extents().collect::<Vec<_>>(), [80, 3]);
    assert_eq!((plan.strides(0), plan.strides(1)), (&[4, -320][..], &[12, 4][..]));
    let starts: Vec<isize> = plan.operands().iter().map(LoopOperand::start).collect();
    assert_eq!(starts, [640, -8]);
    let reaches: Vec<_> = plan.operands().iter().map(LoopOperand::reach).collect();
    assert_eq!(reaches, [(0, 960), (-8, 952)]);
}

/// Every element that a plan visits is within the reach that the plan reports, and no element is visited twice.
#[test]
fn each_element_is_visited_once() {
    let shapes: [(&[usize], [&[isize]; 2]); 4] = [
        (&[4, 5, 6], [&[4, 16, 80], &[120, 24, 4]]),
        (&[4, 5, 6], [&[-120, 0, 4], &[24, -96, 4]]),
        (&[7, 1, 9], [&[0, 4, 8], &[-36, 400, -4]]),
        (&[2, 2, 2, 2], [&[4, 8, 16, 32], &[32, 16, 8, 4]]),
    ];
    for (extents, strides) in shapes {
        let plan = plan(extents, 1, &strides).expect("a plan");
        for (i, given) in strides.iter().enumerate() {
            let places = |extents: &[usize], strides: &[isize], start: isize| {
                let mut all = vec![start];
                for (&extent, &stride) in extents.iter().zip(strides) {
                    all = all
                        .iter()
                        .flat_map(|at| (0..extent as isize).map(move |n| at + n * stride))
                        .collect();
                }
                all.sort_unstable();
                all
            };
            let walked: Vec<usize> = plan.extents().collect();
            let operand = plan.operands()[i];
            let got = places(&walked, plan.strides(i), operand.start());
            assert_eq!(got, places(extents, given, 0), "{extents:?} {strides:?}");
            let (low, high) = operand.reach();
            assert_eq!((got[0], got[got.len() - 1] + 4), (low, high));
        }
    }
}

#[test]
fn units_cover_the_space() {
    let shapes: [(&[usize], [&[isize]; 2]); 4] = [
        (&[1_000_003], [&[4], &[4]]),
        (&[700, 900], [&[4, 2800], &[3600, 4]]),
        (&[3, 70, 900], [&[4, 12, 840], &[252_000, 3600, 4]]),
        (&[30_000, 3], [&[0, 4], &[12, 4]]),
    ];
    for (extents, strides) in shapes {
        let plan = plan(extents, 1, &strides).expect("a plan");
        for plan in [plan.clone(), plan.in_units_of(1000), plan.in_units_of(1)] {
            let ends: Vec<usize> = (0..=plan.units()).map(|unit| plan.elements_before(unit)).collect();
            assert!(plan.units() > 1 && ends.is_sorted_by(|a, b| a < b), "{extents:?}: {ends:?}");
            assert_eq!((ends[0], ends[plan.units()]), (0, plan.elements()));
        }
        // A unit has at least one tile, and a tile of packed operands of three dimensions may have more than 1000 elements.
        let (high, wide) = plan.tile();
        let is_finer = plan.in_units_of(1000).units() > plan.units();
        assert!(is_finer || high * wide > 1000, "{extents:?}: {high} × {wide}");
        assert_eq!(plan.in_units_of(1 << 20).units(), plan.units());
    }
}

/// Tiles for a transposed operand that is larger than the caches have more rows and columns, and units still cover the index
/// space.
#[test]
fn transposed_tiles_are_taller_where_memory_is_far() {
    let of_side = |side: usize| {
        let row = 8 * side as isize;
        plan(&[side, side], 1, &[&[8, row], &[row, 8]]).expect("a plan")
    };
    let (near, far) = (of_side(500), of_side(3000));
    assert_eq!((near.mode(), far.mode()), (LoopMode::Tiled, LoopMode::Tiled));
    assert!(far.tile().0 > near.tile().0, "{:?} {:?}", far.tile(), near.tile());
    for plan in [near, far] {
        assert_eq!(plan.elements_before(plan.units()), plan.elements());
        assert!((0..plan.units()).all(|unit| plan.elements_before(unit) < plan.elements_before(unit + 1)));
    }
}

#[test]
fn bytes_that_are_moved() {
    let rows: &[(&[usize], &[isize], usize)] = &[
        (&[10, 50], &[200, 4], 2000),
        (&[10, 50], &[0, 4], 200),
        (&[10, 50], &[4, 0], 40),
        (&[10, 50], &[0, 0], 4),
        (&[10, 50], &[-8, 80], 2000),
        (&[1, 1], &[4, 4], 4),
        (&[0, 50], &[0, 0], 0),
        (&[1 << 30, 1 << 30], &[0, 4], 4 << 30),
    ];
    for &(extents, strides, bytes) in rows {
        assert_eq!(plan(extents, 1, &[strides]).expect("a plan").distinct_bytes(0), bytes, "{strides:?}");
    }
}

/// A row of the test: extents, number of inputs, strides of each operand, and the expected error.
type Refusal<'r> = (&'r [usize], usize, &'r [&'r [isize]], LoopPlanError);

#[test]
fn what_is_no_layout_is_refused() {
    use LoopPlanError::{Misaligned, OutOfReach, Rank, SelfOverlap, TooLarge};
    let rows: &[Refusal<'_>] = &[
        (&[4], 1, &[&[4, 4], &[4]], Rank { operand: 0 }),
        (&[4], 1, &[&[4], &[6]], Misaligned { operand: 1 }),
        (&[3, 2], 1, &[&[isize::MAX - 3, 4], &[8, 4]], OutOfReach { operand: 0 }),
        (&[3, 2], 1, &[&[0, 0], &[4, 4]], SelfOverlap { output: 0 }),
        (&[3], 0, &[&[4], &[0]], SelfOverlap { output: 1 }),
        (&[1 << 40, 1 << 40], 1, &[&[0, 0]], TooLarge),
        (&[1 << 62, 2], 1, &[&[0, 0]], TooLarge),
    ];
    for &(extents, inputs, strides, error) in rows {
        assert_eq!(plan(extents, inputs, strides).map(drop), Err(error), "{extents:?} {strides:?}");
    }
    for item in [0, 3, 16] {
        let layout = OperandLayout::in_memory(item, 0, &[16]);
        assert_eq!(LoopPlan::new(&[2], 1, [layout], 1).map(drop), Err(Misaligned { operand: 0 }));
    }
    let layout = OperandLayout::in_memory(4, isize::MAX - 4, &[4]);
    assert_eq!(LoopPlan::new(&[2], 1, [layout], 1).map(drop), Err(OutOfReach { operand: 0 }));
}

/// A generated operand is always packed, so no plan with one is linear. The loops are the same as for an operand in memory with
/// that layout.
#[test]
fn generated_operands_are_packed_and_move_no_bytes() {
    type Row<'a> = (&'a [usize], &'a [isize], &'a [usize], LoopMode);
    let rows: &[Row<'_>] = &[
        (&[10, 50], &[400, 8], &[500], LoopMode::Tiled),
        (&[10, 50], &[0, 8], &[10, 50], LoopMode::Tiled),
        (&[10, 50], &[8, 0], &[10, 50], LoopMode::Tiled),
        (&[10, 50], &[0, 0], &[500], LoopMode::Tiled),
        (&[50, 10], &[8, 400], &[50, 10], LoopMode::Flat),
        (&[500], &[-8], &[500], LoopMode::Tiled),
        (&[1, 1], &[400, 8], &[1], LoopMode::Tiled),
        (&[], &[], &[1], LoopMode::Tiled),
        (&[3, 0], &[0, 8], &[0], LoopMode::Direct),
    ];
    for &(extents, strides, loops, mode) in rows {
        let row: Vec<isize> =
            (0..extents.len()).map(|d| extents[d + 1..].iter().product::<usize>() as isize * 4).collect();
        let layouts = [OperandLayout::generated(4000, strides), OperandLayout::in_memory(4, 0, &row)];
        let plan = LoopPlan::new(extents, 1, layouts, LoopPlan::MIN_ROW).expect("a plan");
        assert_eq!((plan.extents().collect::<Vec<_>>(), plan.mode()), (loops.to_vec(), mode), "{strides:?}");
        let [index, out] = plan.operands() else { panic!("two operands") };
        assert_eq!(
            (index.is_generated(), out.is_generated(), plan.is_linear()),
            (true, false, plan.elements() == 0)
        );
        assert!(index.class() == Packed || plan.elements() == 0, "{strides:?}");
        assert_eq!((plan.distinct_bytes(0), index.item()), (0, 8));
        assert_eq!(plan.accesses().next(), Some(Access::Contiguous));
    }
}

#[test]
fn what_can_not_be_generated_is_refused() {
    let row: &[isize] = &[8];
    let of = |inputs, layout| LoopPlan::new(&[4], inputs, [layout], 1).map(drop);
    let index = OperandLayout::generated(0, row);
    assert_eq!(of(1, index), Ok(()));
    let refused = Err(LoopPlanError::NotGenerated { operand: 0 });
    assert_eq!(of(0, index), refused, "an output");
    assert_eq!(of(1, OperandLayout { item: 4, ..index }), refused);
    assert_eq!(of(1, OperandLayout { offset: 4, ..index }), refused);
    assert_eq!(
        of(1, OperandLayout { strides: &[4], ..index }),
        Err(LoopPlanError::Misaligned { operand: 0 })
    );
    let far = OperandLayout::generated(isize::MAX - 7, row);
    assert_eq!(of(1, far), Err(LoopPlanError::OutOfReach { operand: 0 }));
}
