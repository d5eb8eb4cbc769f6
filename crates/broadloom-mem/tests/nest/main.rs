//! Compares the walk with a naive model that visits every index of the space one at a time.

mod in_order;
mod model;
mod repeated;
mod words;

use std::ops::ControlFlow;

use broadloom_ir::loop_plan::{Access, LoopMode, LoopPlan, OperandLayout};
use broadloom_mem::{
    AliasPolicy, Nest, NestError, Operands, Scratch, View, ViewError, ViewMut, bytes_of, bytes_of_mut,
};

use model::*;

#[test]
fn random_layouts() {
    let mut rng = Rng(1);
    let mut scratch = Scratch::new();
    let mut seen = [0usize; 3];
    for case in 0..3000 {
        let rank = rng.below(6);
        let extents: &[usize] = match case % 5 {
            0 => &[0, 1, 2, 3],
            1 => &[1, 2, 3, 4, 5, 7],
            2 => &[1, 2, 3, 31, 32, 33],
            3 => &[2, 3, 40, 70],
            _ => &[1, 3, 5, 65, 130],
        };
        let mut shape: Vec<usize> = (0..rank).map(|_| rng.pick(extents)).collect();
        while shape.iter().product::<usize>() > 12_000 {
            let i = rng.below(shape.len());
            shape[i] = shape[i].div_ceil(2);
        }
        let mut style = |input: bool| Style {
            permute: rng.chance(40),
            gaps: rng.chance(40),
            reverse: rng.chance(40),
            broadcast: input && rng.chance(50),
        };
        let styles = [style(true), style(true), style(true), style(false), style(false)];
        let (ins, outs) = (rng.below(4), 1 + rng.below(2));
        let inputs: Vec<Array> = (0..ins)
            .map(|i| {
                let item = rng.pick(&[1, 2, 4, 8]);
                let array = Array::random(&mut rng, &shape, item, styles[i]);
                if rng.chance(50) { array.generated() } else { array }
            })
            .collect();
        let outputs: Vec<Array> = (0..outs)
            .map(|j| {
                let item = rng.pick(&[1, 2, 4, 8]);
                let style = if rng.chance(50) { PLAIN } else { styles[3 + j] };
                Array::random(&mut rng, &shape, item, style)
            })
            .collect();
        let min_row = rng.pick(&[32, 32, 1, 300]);
        let mode = check(&mut rng, &mut scratch, &shape, &inputs, &outputs, min_row);
        seen[mode as usize] += 1;
    }
    assert!(seen.iter().all(|&n| n > 200), "modes met: {seen:?}");
}

#[test]
fn every_length() {
    let mut rng = Rng(2);
    let mut scratch = Scratch::new();
    let styles = [
        PLAIN,
        Style { gaps: true, ..PLAIN },
        Style { reverse: true, ..PLAIN },
        Style { permute: true, ..PLAIN },
        Style { broadcast: true, ..PLAIN },
    ];
    for n in 0..=70 {
        for item in [1, 2, 4, 8] {
            let flipped = Style { permute: true, gaps: true, reverse: true, broadcast: true };
            for shape in [vec![n], vec![n, 3], vec![3, n], vec![n, 40], vec![n, 1, 2, 3]] {
                let mut inputs: Vec<Array> =
                    styles.iter().map(|&style| Array::random(&mut rng, &shape, item, style)).collect();
                inputs.push(Array::random(&mut rng, &shape, item, flipped));
                if item == 8 {
                    inputs.push(Array::random(&mut rng, &shape, item, PLAIN).generated());
                    inputs.push(Array::random(&mut rng, &shape, item, flipped).generated());
                }
                let style = rng.pick(&[PLAIN, PLAIN, styles[1], styles[2]]);
                let out = Array::random(&mut rng, &shape, item, style);
                check(&mut rng, &mut scratch, &shape, &inputs, &[out], 32);
            }
        }
    }
}

/// Checks layouts that are large enough for several units, that leave partial tiles at every border, and
/// whose operands are packed in every way.
#[test]
fn large_layouts() {
    use LoopMode::{Direct, Flat, Tiled};
    let mut rng = Rng(3);
    let mut scratch = Scratch::new();
    type Layouts<'a> = &'a [(&'a [isize], LoopMode)];
    let shapes: &[(&[usize], Layouts<'_>)] = &[
        (
            &[100_000],
            &[
                (&[1], Direct),
                (&[0], Direct),
                (&[2], Tiled),
                (&[3], Tiled),
                (&[4], Tiled),
                (&[-1], Tiled),
                (&[-2], Tiled),
            ],
        ),
        (&[3, 40_000], &[(&[40_000, 1], Direct), (&[0, 1], Direct), (&[1, 0], Direct), (&[1, 3], Tiled)]),
        (&[300, 200], &[(&[1, 300], Tiled), (&[400, 2], Tiled), (&[0, 3], Tiled), (&[-200, -1], Tiled)]),
        (
            &[30_000, 3],
            &[(&[1, 0], Flat), (&[0, 1], Flat), (&[1, 30_000], Flat), (&[4, 1], Flat), (&[-3, -1], Tiled)],
        ),
        (&[2_003, 2], &[(&[1, 0], Flat), (&[1, 2_003], Flat)]),
        (&[2_003, 4], &[(&[1, 0], Flat), (&[1, 2_003], Flat), (&[-1, 2_003], Flat)]),
        (&[301, 203], &[(&[1, 301], Tiled), (&[1, 305], Tiled), (&[406, 2], Tiled)]),
        (&[20_000, 5], &[(&[1, 0], Flat), (&[1, 20_000], Flat), (&[5, -1], Flat)]),
        (
            &[5_000, 2, 3, 2],
            &[
                (&[12, 6, 2, 1], Direct),
                (&[4, 2, 0, 1], Flat),
                (&[0, 2, 0, 1], Flat),
                (&[1, 5_000, 10_000, 30_000], Flat),
            ],
        ),
        (&[40, 50, 60], &[(&[1, 40, 2000], Tiled), (&[50, 1, 2000], Tiled), (&[60, 2400, 1], Direct)]),
        (&[7, 90, 31], &[(&[0, 31, 1], Direct), (&[90, 1, 0], Flat), (&[31, 7 * 31, 1], Flat)]),
    ];
    for &(shape, layouts) in shapes {
        for &(strides, mode) in layouts {
            for item in [1, 2, 4, 8] {
                let strides: Vec<isize> = strides.iter().map(|s| s * item as isize).collect();
                let plain = Array::random(&mut rng, shape, item, PLAIN);
                let spans = strides.iter().zip(shape).map(|(&s, &e)| s * (e as isize - 1));
                let (low, high) = spans
                    .fold((0, 0), |(low, high), s| if s < 0 { (low + s, high) } else { (low, high + s) });
                let words = (0..((high - low) as usize + item).div_ceil(8)).map(|_| rng.next()).collect();
                let other = Array {
                    words,
                    item,
                    offset: -low as usize,
                    shape: shape.to_vec(),
                    strides,
                    is_generated: false,
                };
                let out = Array::random(&mut rng, shape, item, PLAIN);
                let inputs = [plain.clone(), other.clone()];
                let got = check(&mut rng, &mut scratch, shape, &inputs, std::slice::from_ref(&out), 32);
                assert_eq!(got, mode, "{shape:?} {:?}", other.strides);
                // If the operand is generated, it is walked in the same mode, but never used in place.
                if item == 8 {
                    let inputs = [plain.clone(), other.clone().generated()];
                    let got = check(&mut rng, &mut scratch, shape, &inputs, &[out], 32);
                    let wanted = if mode == Direct { Tiled } else { mode };
                    assert_eq!(got, wanted, "{shape:?} {:?}, generated", other.strides);
                }
                // The layout is also used for an output, if its strides permit that, together with a
                // contiguous one.
                if other.strides.iter().all(|&s| s != 0) {
                    let out = Array::random(&mut rng, shape, item, PLAIN);
                    let inputs = std::slice::from_ref(&plain);
                    check(&mut rng, &mut scratch, shape, inputs, &[out.clone(), other.clone()], 32);
                    check(&mut rng, &mut scratch, shape, inputs, &[other, out], 32);
                }
            }
        }
    }
}

#[test]
fn many_threads() {
    let mut rng = Rng(4);
    let shape = [333, 257];
    for strides in [[257 * 4, 4], [4, 333 * 4], [0, 4], [4, 0]] {
        let mut a = Array::random(&mut rng, &shape, 4, PLAIN);
        let b = Array { strides: strides.to_vec(), offset: 0, ..Array::random(&mut rng, &shape, 4, PLAIN) };
        let twice = strides.map(|stride| 2 * stride).to_vec();
        let c = Array { strides: twice, offset: 0, ..Array::random(&mut rng, &shape, 8, PLAIN) }.generated();
        let mut expected = [Array::random(&mut rng, &shape, 4, PLAIN)];
        let mut got = expected.clone();
        a.words.reverse();
        let inputs = [a, b, c];
        model(&inputs, &mut expected, &shape);
        let views = inputs.each_ref().map(Array::view);
        let mut nest = Nest::new(&shape, &views, got.iter_mut().map(Array::view_mut)).expect("no overlap");
        let mut kinds = kinds(&inputs, &expected);
        for (kind, access) in kinds.inputs.iter_mut().zip(nest.accesses()) {
            kind.1 = access;
        }
        std::thread::scope(|scope| {
            for part in nest.split(4, AliasPolicy::Copy) {
                let kinds = &kinds;
                scope.spawn(move || run_part(part, &mut Scratch::new(), kinds, Way::Safe));
            }
        });
        // Runs shared parts, which this thread takes from one end and other threads from the other end.
        let (shared, kinds) = (nest.split(16, AliasPolicy::Copy).shared(), &kinds);
        let visited = std::sync::atomic::AtomicUsize::new(0);
        let work = || {
            while let Some(part) = shared.take() {
                let elements = run_part(part, &mut Scratch::new(), kinds, Way::Safe);
                visited.fetch_add(elements, std::sync::atomic::Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            (0..2).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        assert_eq!(visited.into_inner(), shape.iter().product());
        assert!(got[0].words == expected[0].words, "{strides:?}");
    }
}

/// Checks inputs that overlap an output. Each row of the table has a shape and, for input and output, an
/// offset and strides within the same memory, in elements of 4 bytes.
#[test]
fn aliasing() {
    type Place<'a> = (usize, &'a [isize]);
    let rows: &[(&[usize], Place<'_>, Place<'_>, Option<bool>)] = &[
        // Each row: shape, input, output, and the result: `true` for the same memory, `false` for disjoint,
        // `None` for an error.
        (&[10], (0, &[1]), (0, &[1]), Some(true)),
        (&[10], (0, &[1]), (1, &[1]), None),
        (&[10], (0, &[1]), (10, &[1]), Some(false)),
        (&[10], (9, &[-1]), (0, &[1]), None),
        (&[10], (9, &[-1]), (9, &[-1]), Some(true)),
        (&[10], (0, &[2]), (0, &[2]), Some(true)),
        (&[10], (0, &[2]), (1, &[2]), Some(false)),
        (&[10], (0, &[0]), (0, &[1]), None),
        (&[10], (12, &[0]), (0, &[1]), Some(false)),
        (&[1], (3, &[0]), (3, &[1]), Some(true)),
        (&[8, 8], (0, &[8, 1]), (0, &[8, 1]), Some(true)),
        (&[8, 8], (0, &[1, 8]), (0, &[8, 1]), None),
        (&[8, 8], (0, &[1, 8]), (0, &[1, 8]), Some(true)),
        (&[8, 4], (0, &[8, 1]), (4, &[8, 1]), Some(false)),
        (&[8, 4], (0, &[8, 1]), (3, &[8, 1]), None),
        (&[40, 3], (0, &[4, 1]), (0, &[4, 1]), Some(true)),
        (&[40, 60], (0, &[60, 1]), (0, &[60, 1]), Some(true)),
        (&[40, 60], (0, &[70, 1]), (0, &[70, 1]), Some(true)),
        (&[40, 60], (0, &[1, 40]), (0, &[1, 40]), Some(true)),
        (&[5, 10_000], (0, &[10_001, 1]), (0, &[10_001, 1]), Some(true)),
        (&[0], (0, &[1]), (0, &[1]), Some(false)),
    ];
    let mut rng = Rng(5);
    for &(shape, input, output, outcome) in rows {
        let bytes = |strides: &[isize]| strides.iter().map(|s| s * 4).collect::<Vec<isize>>();
        let (in_strides, out_strides) = (bytes(input.1), bytes(output.1));
        let memory: Vec<u32> = (0..60_000).map(|_| rng.next() as u32).collect();
        for (way, policy) in [
            (Way::Raw, AliasPolicy::InPlace),
            (Way::Raw, AliasPolicy::Stepped),
            (Way::Raw, AliasPolicy::Copy),
            (Way::Safe, AliasPolicy::Copy),
        ] {
            let mut got = memory.clone();
            let base = got.as_mut_ptr();
            // SAFETY: both layouts are in the bounds of `got`, which nothing else uses while the nest lives.
            let (view, out) = unsafe {
                let input = View::from_raw(base.add(input.0).cast(), 4, shape, &in_strides).expect("a view");
                (input, ViewMut::from_raw(base.add(output.0).cast(), 4, shape, &out_strides).expect("a view"))
            };
            let other = View::of_slice(&[7u32]).clone();
            // The second input is broadcast.
            let other = View::new(bytes_of(&[7u32]), 4, 0, shape, &vec![0; shape.len()]).unwrap_or(other);
            let nest = match (Nest::new(shape, &[view, other], [out]), outcome) {
                (Err(error), None) => {
                    assert_eq!(error, NestError::Overlap { input: 0, output: 0 });
                    continue;
                }
                (nest, _) => nest.expect("no overlap"),
            };
            assert_eq!(Some(nest.is_aliased(0)), outcome, "{shape:?} {input:?} {output:?}");
            if outcome == Some(true) {
                assert_eq!(nest.accesses().next(), Some(Access::Contiguous), "an output is none for all");
                assert_eq!(nest.stepped_accesses().next(), Some(Access::Contiguous), "nor read in steps");
            }
            let kinds = Kinds { inputs: vec![(4, Access::Contiguous); 2], outputs: vec![4] };
            run(nest, &kinds, 1, way, policy, &mut Scratch::new());
            let mut expected = memory.clone();
            for index in indices(shape) {
                let at = |(offset, strides): Place<'_>| {
                    index.iter().zip(strides).fold(offset as isize, |at, (&i, s)| at + i as isize * s)
                        as usize
                };
                expected[at(output)] = body(0, [memory[at(input)] as u64, 7].into_iter()) as u32;
            }
            assert!(got == expected, "{shape:?} {input:?} {output:?} {way:?} {policy:?}");
        }
    }
}

#[test]
#[should_panic(expected = "input 0 is an output in place")]
fn a_safe_body_cannot_read_in_place() {
    let mut x = [1u32, 2, 3];
    let base = x.as_mut_ptr().cast::<u8>();
    // SAFETY: both layouts are in the bounds of `x`, which nothing else uses while the nest lives.
    let (a, out) = unsafe { (View::from_raw(base, 4, &[3], &[4]), ViewMut::from_raw(base, 4, &[3], &[4])) };
    let mut nest = Nest::new(&[3], &[a.expect("a view")], [out.expect("a view")]).expect("exactly the same");
    let _ = nest.run(AliasPolicy::InPlace, &mut Scratch::new(), &mut |block| {
        assert!(block.raw().any_alias);
        let _ = block.input::<u32>(0, 0);
        ControlFlow::Continue(())
    });
}

#[test]
#[should_panic(expected = "input 0 has a step in place")]
fn a_safe_body_cannot_read_steps() {
    let (x, mut y) = ([1u32, 2, 3, 4, 5], [0u32; 3]);
    let a = View::new(bytes_of(&x), 4, 0, &[3], &[8]).expect("inside");
    let out = ViewMut::new(bytes_of_mut(&mut y), 4, 0, &[3], &[4]).expect("inside");
    let mut nest = Nest::new(&[3], &[a], [out]).expect("apart");
    let _ = nest.run(AliasPolicy::Stepped, &mut Scratch::new(), &mut |block| {
        let _ = block.input::<u32>(0, 0);
        ControlFlow::Continue(())
    });
}

/// If the only operands that are not contiguous are stepped inputs, which are read in place, the walk takes
/// few blocks, however many units there are.
#[test]
fn steps_are_walked_in_few_blocks() {
    let x = vec![1u32; 200_000];
    let mut y = vec![0u32; 100_000];
    for (shape, from, to, blocks) in [
        (&[100_000][..], &[8][..], &[4][..], 1),
        (&[100, 1000], &[4000, -4], &[4000, 4], 1),
        (&[2, 50, 1000], &[-200_000, 4000, -4], &[200_000, 4000, 4], 2),
    ] {
        let offset =
            shape.iter().zip(from).map(|(&n, &s)| if s < 0 { -s as usize * (n - 1) } else { 0 }).sum();
        let a = View::new(bytes_of(&x), 4, offset, shape, from).expect("inside");
        let out = ViewMut::new(bytes_of_mut(&mut y), 4, 0, shape, to).expect("inside");
        let mut nest = Nest::new(shape, &[a], [out]).expect("apart");
        assert!(nest.plan().units() > blocks && nest.stepped_accesses().all(|access| access.is_stepped()));
        let mut sizes = Vec::new();
        let _ = nest.run(AliasPolicy::Stepped, &mut Scratch::new(), &mut |block| {
            assert!(block.raw().reads_steps);
            sizes.push(block.rows() * block.cols());
            ControlFlow::Continue(())
        });
        assert_eq!((sizes.len(), sizes.iter().sum::<usize>()), (blocks, 100_000), "{shape:?}");
    }
}

#[test]
fn outputs_do_not_overlap() {
    let mut x = [0u32; 64];
    let base = x.as_mut_ptr();
    // SAFETY: the layouts are in the bounds of `x`, and the nest is never run.
    let out = |at: usize, strides: &[isize]| unsafe {
        ViewMut::from_raw(base.add(at).cast(), 4, &[4, 4], strides).expect("a view")
    };
    let try_new = |a, b| Nest::new(&[4, 4], &[], [a, b]).err();
    let overlap = Some(NestError::OutputsOverlap { first: 0, second: 1 });
    assert_eq!(try_new(out(0, &[16, 4]), out(0, &[16, 4])), overlap, "the same");
    assert_eq!(try_new(out(0, &[16, 4]), out(15, &[16, 4])), overlap, "by one element");
    assert_eq!(try_new(out(0, &[16, 4]), out(16, &[16, 4])), None);
    assert_eq!(try_new(out(0, &[32, 4]), out(4, &[32, 4])), None, "side by side");
    assert_eq!(try_new(out(0, &[32, 8]), out(1, &[32, 8])), None, "interleaved");
}

#[test]
fn shapes_are_checked() {
    let (a, mut out) = ([0u32; 6], [0u32; 6]);
    let view = |shape: &[usize]| View::new(bytes_of(&a), 4, 0, shape, &vec![4; shape.len()]).expect("a view");
    let mut nest =
        |extents: &[usize], a: &[usize]| Nest::new(extents, &[view(a)], [ViewMut::of_slice(&mut out)]).err();
    assert_eq!(nest(&[6], &[6]), None);
    assert_eq!(nest(&[6], &[5]), Some(NestError::InputShape { input: 0 }));
    assert_eq!(nest(&[6], &[1, 6]), Some(NestError::InputShape { input: 0 }));
    assert_eq!(nest(&[5], &[5]), Some(NestError::OutputShape { output: 0 }));
    for shape in [[1 << 40, 1 << 40], [1 << 62, 2]] {
        let wide = View::new(bytes_of(&a), 4, 0, &shape, &[0, 0]).expect("one element");
        assert_eq!(Nest::new(&shape, &[wide], []).err(), Some(NestError::TooLarge));
    }
}

#[test]
fn a_walk_without_elements_calls_nobody() {
    let mut out: [u32; 0] = [];
    let view = ViewMut::new(bytes_of_mut(&mut out), 4, 0, &[3, 0], &[0, 4]).expect("a view");
    let mut nest = Nest::new(&[3, 0], &[], [view]).expect("no overlap");
    assert_eq!(
        (nest.plan().elements(), nest.plan().units(), nest.split(4, AliasPolicy::Copy).len()),
        (0, 0, 0)
    );
    let flow = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |_| panic!("called"));
    assert_eq!(flow, ControlFlow::Continue(()));
}

#[test]
fn a_high_rank() {
    let mut rng = Rng(6);
    for rank in [7, 20, 64] {
        let mut shape = vec![1; rank];
        for d in [0, 3, 5, 6, rank / 2, rank - 1] {
            shape[d] = 2 + rng.below(2);
        }
        let style = Style { permute: true, gaps: true, reverse: true, broadcast: false };
        let inputs = [
            Array::random(&mut rng, &shape, 4, PLAIN),
            Array::random(&mut rng, &shape, 2, style),
            Array::random(&mut rng, &shape, 8, Style { broadcast: true, ..style }),
        ];
        let outputs = [Array::random(&mut rng, &shape, 4, style)];
        check(&mut rng, &mut Scratch::new(), &shape, &inputs, &outputs, 32);
    }
}

#[test]
fn breaking_stops_the_walk() {
    let (n, mut out) = (100_000, vec![0u8; 200_000]);
    let view = ViewMut::new(bytes_of_mut(&mut out), 1, 0, &[n], &[2]).expect("a view");
    let mut nest = Nest::new(&[n], &[], [view]).expect("no overlap");
    let mut calls = 0;
    let flow = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
        calls += 1;
        block.output::<u8>(0, 0).fill(1);
        if calls == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((flow, calls), (ControlFlow::Break(()), 2));
    let written = out.iter().filter(|&&x| x == 1).count();
    assert!(0 < written && written < n && out[2 * written - 2] == 1 && out[2 * written] == 0, "{written}");
}

#[test]
fn direct_work_in_one_dimension_is_one_block() {
    let (a, s) = (vec![1.0f32; 1_000_000], [2.0f32]);
    let mut out = vec![0.0f32; a.len()];
    let scalar = View::new(bytes_of(&s), 4, 0, &[a.len()], &[0]).expect("a view");
    let mut nest = Nest::new(&[a.len()], &[View::of_slice(&a), scalar], [ViewMut::of_slice(&mut out)])
        .expect("no overlap");
    assert_eq!(nest.accesses().collect::<Vec<_>>(), [Access::Contiguous, Access::Splat]);
    for part in nest.split(7, AliasPolicy::Copy) {
        let (elements, mut calls) = (part.elements(), 0);
        assert!(elements % 64 == 0 || elements < a.len() / 7);
        let _ = part.run(&mut Scratch::new(), &mut |block| {
            calls += 1;
            assert_eq!((block.rows(), block.cols()), (1, elements));
            let (inputs, mut outputs) = block.row(0);
            for (i, out) in outputs.get::<f32>(0).iter_mut().enumerate() {
                *out = inputs.get::<f32>(0).get(i) * inputs.get::<f32>(1).get(i);
            }
            ControlFlow::Continue(())
        });
        assert_eq!(calls, 1);
    }
    assert!(out.iter().all(|&x| x == 2.0));
}

#[test]
#[should_panic(expected = "input 0 has elements of 4 bytes, float64 has 8")]
fn the_type_must_have_the_size() {
    let mut out = [0.0f32; 3];
    let mut nest = Nest::new(&[3], &[View::of_slice(&[1.0f32, 2.0, 3.0])], [ViewMut::of_slice(&mut out)])
        .expect("no overlap");
    let _ = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
        let _ = block.input::<f64>(0, 0);
        ControlFlow::Continue(())
    });
}

#[test]
#[should_panic(expected = "row 1 of a block of 1 rows")]
fn the_row_must_exist() {
    let mut out = [0.0f32; 3];
    let mut nest = Nest::new(&[3], &[], [ViewMut::of_slice(&mut out)]).expect("no overlap");
    let _ = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
        block.output::<f32>(0, 1).fill(1.0);
        ControlFlow::Continue(())
    });
}

/// Binds a plan to slices.
fn bind(plan: &LoopPlan, inputs: &[&[u8]], outputs: Vec<&mut [u8]>) -> Result<(), NestError> {
    let mut operands = Operands::default();
    inputs.iter().for_each(|&bytes| operands.read(bytes.into()));
    outputs.into_iter().for_each(|bytes| operands.write(bytes.into()));
    Nest::bind(plan, &mut operands).map(drop)
}

/// A plan is refused for too few or too many slices, and for slices that are too short or not aligned. A
/// slice may be longer than the plan needs.
#[test]
fn slices_that_do_not_fit_are_refused() {
    let (a, mut out) = ([1u32; 9], [0u32; 4]);
    let (read, written) = (&[8], &[4]);
    // The plan reads the elements 1, 3, 5 and 7 of the slice.
    let layouts = [OperandLayout::in_memory(4, 4, read), OperandLayout::in_memory(4, 0, written)];
    let plan = LoopPlan::new(&[4], 1, layouts, 1).expect("layouts");
    let (a, ok) = (bytes_of(&a), Ok(()));
    let no_input = |input| Err(NestError::InputShape { input });
    let rows: [(&[&[u8]], _); 6] = [
        (&[&a[..32]], ok),
        (&[a], ok),
        (&[&a[..31]], no_input(0)),
        (&[&a[2..36]], no_input(0)),
        (&[], no_input(0)),
        (&[a, a], no_input(1)),
    ];
    for (inputs, wanted) in rows {
        assert_eq!(bind(&plan, inputs, vec![bytes_of_mut(&mut out)]), wanted);
    }
    let no_output = |output| Err(NestError::OutputShape { output });
    assert_eq!(bind(&plan, &[a], vec![&mut bytes_of_mut(&mut out)[..15]]), no_output(0));
    assert_eq!(bind(&plan, &[a], vec![]), no_output(0));
    assert_eq!(bind(&plan, &[a], vec![bytes_of_mut(&mut out), &mut []]), no_output(1));
    // This operand's elements begin before its slice.
    let layouts = [OperandLayout::in_memory(4, -4, read), layouts[1]];
    let before = LoopPlan::new(&[4], 1, layouts, 1).expect("layouts");
    assert_eq!(bind(&before, &[a], vec![bytes_of_mut(&mut out)]), no_input(0));
}

/// Generated elements have no memory. They therefore do not overlap an output that happens to be at their
/// addresses, and a slice that is bound to them must be empty. The first element may have any value for which
/// the addresses do not overflow.
#[test]
fn generated_inputs_have_no_memory() {
    let mut out = [0u64; 4];
    let at = out.as_ptr().addr() as isize / 8;
    for (first, step) in [(at, 1), (at + 3, -1), (at, 0), (isize::MAX / 8 - 4, 1), (isize::MIN / 8, 1)] {
        let view = View::generated(first, &[4], &[step]).expect("in reach");
        let mut nest = Nest::new(&[4], &[view], [ViewMut::of_slice(&mut out)]).expect("nothing to overlap");
        assert!(!nest.is_aliased(0));
        let _ = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
            let (inputs, mut outputs) = block.row(0);
            outputs.bytes(0).copy_from_slice(inputs.bytes(0));
            ControlFlow::Continue(())
        });
        let wanted = [0, 1, 2, 3].map(|i| (first + i * step) as u64);
        assert_eq!(out, wanted, "{first} {step}");
    }
    let far = |first, shape: &[usize], strides: &[isize]| View::generated(first, shape, strides).map(drop);
    let refused = Err(ViewError::OutOfBounds);
    assert_eq!(far(isize::MAX / 8, &[2], &[1]), refused);
    assert_eq!(far(isize::MAX / 8 + 1, &[1], &[1]), refused);
    assert_eq!(far(0, &[2], &[isize::MAX / 8 + 1]), refused);
    assert_eq!(far(isize::MIN / 8, &[2], &[-1]), refused);
    assert_eq!(far(0, &[2], &[]), Err(ViewError::Rank { rank: 1, strides: 0 }));

    let layouts = [OperandLayout::generated(80, &[8]), OperandLayout::in_memory(8, 0, &[8])];
    let plan = LoopPlan::new(&[4], 1, layouts, 1).expect("layouts");
    assert_eq!(bind(&plan, &[&[]], vec![bytes_of_mut(&mut out)]), Ok(()));
    let refused = Err(NestError::InputShape { input: 0 });
    let memory = bytes_of(&[1u64; 32]);
    assert_eq!(bind(&plan, &[memory], vec![bytes_of_mut(&mut out)]), refused, "memory for what has none");
    assert_eq!(bind(&plan, &[], vec![bytes_of_mut(&mut out)]), refused);
}
