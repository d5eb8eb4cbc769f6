//! A naive model of the walk, and a check that compares it with every way to run a nest.

use std::ops::ControlFlow;

use broadloom_ir::loop_plan::{
    Access, AccessClass, Generated, LoopMode, LoopOperand, LoopPlan, OperandLayout,
};
use broadloom_mem::{
    AliasPolicy, Block, Nest, Operand, Operands, Part, RawBlock, Scratch, View, ViewMut, bytes_of,
    bytes_of_mut,
};

/// A small random generator (splitmix64), with the same sequence on every run.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// An array of a test: memory, and the layout of the elements in it.
#[derive(Clone, Debug)]
pub struct Array {
    pub words: Vec<u64>,
    pub item: usize,
    pub offset: usize,
    pub shape: Vec<usize>,
    pub strides: Vec<isize>,
    /// Whether the elements are generated: the value of each is an eighth of its offset. A nest then reads no
    /// memory.
    pub is_generated: bool,
}

/// The layout of an array's dimensions in memory.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub permute: bool,
    pub gaps: bool,
    pub reverse: bool,
    pub broadcast: bool,
}

pub const PLAIN: Style = Style { permute: false, gaps: false, reverse: false, broadcast: false };

impl Array {
    pub fn random(rng: &mut Rng, shape: &[usize], item: usize, style: Style) -> Array {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if style.permute {
            for i in (1..order.len()).rev() {
                order.swap(i, rng.below(i + 1));
            }
        }
        let (mut step, mut offset, mut strides) = (item, 0, vec![0isize; shape.len()]);
        for &d in order.iter().rev() {
            if style.broadcast && rng.chance(40) {
                continue;
            }
            if style.gaps && rng.chance(40) {
                step += item * (1 + rng.below(4));
            }
            strides[d] = step as isize;
            if style.reverse && rng.chance(40) {
                offset += step * shape[d].saturating_sub(1);
                strides[d] = -strides[d];
            }
            step *= shape[d].max(1);
        }
        let lead = item * rng.below(4);
        let words = (0..(lead + step + item).div_ceil(8)).map(|_| rng.next()).collect();
        Array { words, item, offset: lead + offset, shape: shape.to_vec(), strides, is_generated: false }
    }

    /// The array with generated elements, if elements have 8 bytes.
    pub fn generated(mut self) -> Array {
        if self.item == 8 {
            self.words.iter_mut().zip(0..).for_each(|(word, number)| *word = number);
            self.is_generated = true;
        }
        self
    }

    pub fn layout(&self) -> OperandLayout<'_> {
        let Array { item, offset, strides, is_generated, .. } = self;
        OperandLayout {
            item: *item,
            offset: *offset as isize,
            strides,
            generated: is_generated.then_some(Generated::Numbers),
        }
    }

    /// The slice to which a plan is bound.
    pub fn slice(&self) -> &[u8] {
        if self.is_generated { &[] } else { bytes_of(&self.words) }
    }

    pub fn view(&self) -> View<'_> {
        if self.is_generated {
            let strides: Vec<isize> = self.strides.iter().map(|stride| stride / 8).collect();
            return View::generated(self.offset as isize / 8, &self.shape, &strides).expect("in reach");
        }
        View::new(bytes_of(&self.words), self.item, self.offset, &self.shape, &self.strides)
            .expect("in bounds")
    }

    pub fn view_mut(&mut self) -> ViewMut<'_> {
        ViewMut::new(bytes_of_mut(&mut self.words), self.item, self.offset, &self.shape, &self.strides)
            .expect("in bounds and injective")
    }

    pub fn at(&self, index: &[usize]) -> usize {
        let steps: isize = index.iter().zip(&self.strides).map(|(&i, &s)| i as isize * s).sum();
        self.offset.strict_add_signed(steps)
    }

    pub fn get(&self, index: &[usize]) -> u64 {
        let mut bytes = [0; 8];
        bytes[..self.item].copy_from_slice(&bytes_of(&self.words)[self.at(index)..][..self.item]);
        u64::from_le_bytes(bytes)
    }

    pub fn put(&mut self, index: &[usize], value: u64) {
        let at = self.at(index);
        bytes_of_mut(&mut self.words)[at..][..self.item].copy_from_slice(&value.to_le_bytes()[..self.item]);
    }
}

/// The value of output `j`: a hash of every input's bits and position.
pub fn body(j: usize, inputs: impl Iterator<Item = u64>) -> u64 {
    inputs.fold(j as u64 + 1, |sum, x| (sum ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

pub fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let n: usize = shape.iter().product();
    (0..n).map(move |mut linear| {
        let mut index = vec![0; shape.len()];
        for (i, &extent) in index.iter_mut().zip(shape).rev() {
            (linear, *i) = (linear / extent, linear % extent);
        }
        index
    })
}

pub fn model(inputs: &[Array], outputs: &mut [Array], shape: &[usize]) {
    for index in indices(shape) {
        let values: Vec<u64> = inputs.iter().map(|a| a.get(&index)).collect();
        for (j, out) in outputs.iter_mut().enumerate() {
            out.put(&index, body(j, values.iter().copied()));
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Way {
    Safe,
    Raw,
}

pub fn safe_input(block: &Block<'_>, item: usize, i: usize, row: usize) -> Vec<u64> {
    macro_rules! read {
        ($t:ty) => {
            match block.input::<$t>(i, row) {
                Operand::Slice(row) => row.iter().map(|&x| x as u64).collect(),
                Operand::Splat(x) => vec![x as u64; block.cols()],
            }
        };
    }
    match item {
        1 => read!(u8),
        2 => read!(u16),
        4 => read!(u32),
        _ => read!(u64),
    }
}

pub fn safe_output(block: &mut Block<'_>, item: usize, j: usize, row: usize, values: &[u64]) {
    macro_rules! write {
        ($t:ty) => {
            block.output::<$t>(j, row).iter_mut().zip(values).for_each(|(to, &x)| *to = x as $t)
        };
    }
    match item {
        1 => write!(u8),
        2 => write!(u16),
        4 => write!(u32),
        _ => write!(u64),
    }
}

pub fn raw_input(raw: RawBlock<'_>, access: Access, item: usize, i: usize, row: usize, col: usize) -> u64 {
    let step = access.step() * item as isize;
    let mut bytes = [0; 8];
    let offset = row as isize * raw.operands[i].row_stride + col as isize * step;
    let from = raw.operands[i].ptr.wrapping_offset(offset);
    assert_eq!(from.addr() % item, 0, "aligned");
    // SAFETY: row < rows and col < cols, as `RawBlock` requires.
    unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), item) }
    u64::from_le_bytes(bytes)
}

pub fn raw_output(raw: RawBlock<'_>, item: usize, j: usize, row: usize, col: usize, value: u64) {
    let to = raw.operands[raw.inputs + j]
        .ptr
        .wrapping_offset(row as isize * raw.operands[raw.inputs + j].row_stride)
        .wrapping_add(col * item);
    assert_eq!(to.addr() % item, 0, "aligned");
    let bytes = value.to_le_bytes();
    // SAFETY: row < rows and col < cols, as `RawBlock` requires.
    unsafe { bytes.as_ptr().copy_to_nonoverlapping(to, item) }
}

/// The item sizes and accesses of a nest's operands, which a body needs in addition to the block.
#[derive(Clone, Debug)]
pub struct Kinds {
    pub inputs: Vec<(usize, Access)>,
    pub outputs: Vec<usize>,
}

/// Runs a part and returns the number of elements that it visited.
pub fn run_part(part: Part<'_>, scratch: &mut Scratch, kinds: &Kinds, way: Way) -> usize {
    let (expected, mut visited) = (part.elements(), 0);
    let flow = part.run(scratch, &mut |block| {
        visited += block.rows() * block.cols();
        for row in 0..block.rows() {
            match way {
                Way::Safe => {
                    let inputs: Vec<Vec<u64>> = kinds
                        .inputs
                        .iter()
                        .enumerate()
                        .map(|(i, k)| safe_input(block, k.0, i, row))
                        .collect();
                    for (j, &item) in kinds.outputs.iter().enumerate() {
                        let values: Vec<u64> =
                            (0..block.cols()).map(|c| body(j, inputs.iter().map(|x| x[c]))).collect();
                        safe_output(block, item, j, row, &values);
                    }
                }
                Way::Raw => {
                    let raw = block.raw();
                    for col in 0..raw.cols {
                        let inputs: Vec<u64> = (kinds.inputs.iter().enumerate())
                            .map(|(i, &(item, access))| raw_input(raw, access, item, i, row, col))
                            .collect();
                        for (j, &item) in kinds.outputs.iter().enumerate() {
                            raw_output(raw, item, j, row, col, body(j, inputs.iter().copied()));
                        }
                    }
                }
            }
        }
        ControlFlow::Continue(())
    });
    assert_eq!(flow, ControlFlow::Continue(()));
    assert_eq!(visited, expected);
    visited
}

/// Runs the nest in parts, the last part first, and returns its mode.
pub fn run(
    mut nest: Nest<'_>,
    items: &Kinds,
    parts: usize,
    way: Way,
    policy: AliasPolicy,
    scratch: &mut Scratch,
) -> LoopMode {
    let plan = nest.plan();
    let generated = |operand: &&LoopOperand| operand.is_generated() && plan.elements() > 0;
    assert!(plan.operands().iter().filter(generated).all(|operand| operand.class() == AccessClass::Packed));
    let (mode, elements, units) = (plan.mode(), plan.elements(), plan.units());
    assert_eq!(plan.extents().product::<usize>(), elements);
    let mut kinds = items.clone();
    let accesses: Vec<Access> = match policy {
        AliasPolicy::Stepped => nest.stepped_accesses().collect(),
        AliasPolicy::InPlace | AliasPolicy::Copy => nest.accesses().collect(),
    };
    for (kind, access) in kinds.inputs.iter_mut().zip(accesses) {
        kind.1 = access;
    }
    let parts_left = nest.split(parts, policy);
    // All parts, in the order of the iterator, or in the order in which several threads take them.
    let all: Vec<Part<'_>> = match way {
        Way::Safe => parts_left.collect(),
        Way::Raw => {
            let shared = parts_left.shared();
            std::iter::from_fn(|| shared.take()).collect()
        }
    };
    assert_eq!(all.len(), parts.min(units));
    assert_eq!(all.iter().map(Part::elements).sum::<usize>(), elements);
    assert!(all.iter().all(|part| part.elements() > 0), "{mode:?}: an empty part");
    let visited: usize = all.into_iter().rev().map(|part| run_part(part, scratch, &kinds, way)).sum();
    assert_eq!(visited, elements);
    mode
}

pub fn kinds(inputs: &[Array], outputs: &[Array]) -> Kinds {
    Kinds {
        inputs: inputs.iter().map(|a| (a.item, Access::Contiguous)).collect(),
        outputs: outputs.iter().map(|a| a.item).collect(),
    }
}

/// Compares a nest's outputs with the model's, for bodies over slices and over pointers, run as a whole and
/// in parts. The nest is made from views or by binding a plan to slices. Returns the plan's mode.
pub fn check(
    rng: &mut Rng,
    scratch: &mut Scratch,
    shape: &[usize],
    inputs: &[Array],
    outputs: &[Array],
    min_row: usize,
) -> LoopMode {
    let mut expected = outputs.to_vec();
    model(inputs, &mut expected, shape);
    let kinds = kinds(inputs, outputs);
    let parts = 2 + rng.below(5);
    let plan = plan(shape, inputs, outputs, min_row);
    let mut mode = LoopMode::Direct;
    for (way, parts) in [(Way::Safe, 1), (Way::Raw, 1), (Way::Safe, parts), (Way::Raw, parts)] {
        let mut got = outputs.to_vec();
        let views: Vec<View<'_>> = inputs.iter().map(Array::view).collect();
        let policy = match way {
            Way::Safe => rng.pick(&[AliasPolicy::Copy, AliasPolicy::InPlace]),
            Way::Raw => rng.pick(&[AliasPolicy::Copy, AliasPolicy::InPlace, AliasPolicy::Stepped]),
        };
        let mut operands = Operands::default();
        let nest = match min_row == LoopPlan::MIN_ROW && rng.chance(50) {
            true => Nest::new(shape, &views, got.iter_mut().map(Array::view_mut)),
            false => {
                inputs.iter().for_each(|input| operands.read(input.slice().into()));
                got.iter_mut().for_each(|a| operands.write(bytes_of_mut(&mut a.words).into()));
                Nest::bind(&plan, &mut operands)
            }
        };
        let nest = nest.expect("no overlap");
        mode = run(nest, &kinds, parts, way, policy, scratch);
        drop(operands);
        for (j, (got, expected)) in got.iter().zip(&expected).enumerate() {
            assert!(
                got.words == expected.words,
                "{mode:?} {way:?}, {parts} parts, output {j} of {:?}\ninputs {:?}",
                (&got.shape, &got.strides, got.item),
                inputs.iter().map(|a| (&a.strides, a.item)).collect::<Vec<_>>()
            );
        }
    }
    mode
}

/// Plans the loops for operands in slices.
pub fn plan(shape: &[usize], inputs: &[Array], outputs: &[Array], min_row: usize) -> LoopPlan {
    let layouts = inputs.iter().chain(outputs).map(Array::layout);
    LoopPlan::new(shape, inputs.len(), layouts, min_row).expect("layouts")
}
