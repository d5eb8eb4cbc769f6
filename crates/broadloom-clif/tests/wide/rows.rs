//! Runs compiled programs over rows and compares the results with scalar evaluation. An access outside of an array, at
//! the side of its inaccessible page, ends the process, and bytes between rows must not change.

use broadloom_wide::Unsupported;

use crate::machine::{CompiledFunction, RowMajor, read, write};
use crate::program::{Lane, RowProgram};
use crate::text::Shape;

const PAGE: usize = 4096;

/// Memory between two inaccessible pages.
pub struct Guarded {
    map: *mut u8,
    pages: usize,
    start: *mut u8,
    len: usize,
}

/// The end of the memory that is adjacent to an inaccessible page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wall {
    Behind,
    Before,
}

impl Guarded {
    pub fn new(len: usize, wall: Wall) -> Guarded {
        let pages = len.div_ceil(PAGE).max(1);
        let bytes = (pages + 2) * PAGE;
        let (none, both) = (libc::PROT_NONE, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new anonymous mapping of `bytes` bytes; the pages made accessible are within it.
        let map = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let map = libc::mmap(std::ptr::null_mut(), bytes, none, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED, "pages");
            assert_eq!(libc::mprotect(map.byte_add(PAGE), pages * PAGE, both), 0);
            map.cast::<u8>()
        };
        let inset = if wall == Wall::Behind { pages * PAGE - len } else { 0 };
        // SAFETY: `inset + len` is at most `pages * PAGE`, so the pointer stays in the accessible pages.
        let start = unsafe { map.add(PAGE + inset) };
        Guarded { map, pages, start, len }
    }

    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes from `start` on are accessible, and `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes from `start` on are accessible, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no borrow of it is left.
        unsafe { libc::munmap(self.map.cast(), (self.pages + 2) * PAGE) };
    }
}

/// A generator of pseudorandom numbers.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        // The algorithm is SplitMix64, by G. Steele, D. Lea and C. Flood.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A random element: usually a small number, sometimes an edge-case value or arbitrary bits.
    pub fn element(&mut self, lane: Lane) -> u64 {
        let any = self.next() & lane.all_ones();
        let small = (self.next() % 200) as i64 - 100;
        match (lane, self.next() % 8) {
            (_, 0) => any,
            (Lane::F32, 1) => {
                let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, 1.0, 3e9];
                self.pick(&special).to_bits().into()
            }
            (Lane::F64, 1) => {
                let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, 1.0, 1e19];
                self.pick(&special).to_bits()
            }
            (Lane::F32, _) => (small as f32 / 8.0).to_bits().into(),
            (Lane::F64, _) => (small as f64 / 8.0).to_bits(),
            (_, 1) => self.pick(&[0, lane.all_ones(), lane.all_ones() >> 1, (lane.all_ones() >> 1) + 1]),
            _ => small as u64 & lane.all_ones(),
        }
    }
}

/// Whether two results have the same bits, or both are NaN.
fn same(lane: Lane, x: u64, y: u64) -> bool {
    let nan = |bits: u64| match lane {
        Lane::F32 => f32::from_bits(bits as u32).is_nan(),
        Lane::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    };
    x == y || nan(x) && nan(y)
}

/// The rows on which a program is run, and their memory.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub rows: usize,
    pub columns: usize,
    pub wall: Wall,
    /// Whether the first output is the first input.
    pub in_place: bool,
    pub seed: u64,
}

impl Field {
    pub fn row(columns: usize) -> Field {
        Field { rows: 1, columns, wall: Wall::Behind, in_place: false, seed: columns as u64 }
    }
}

/// Runs a compiled program, and compares its results with scalar evaluation.
pub fn run(machine: &CompiledFunction, program: &RowProgram, shape: Shape, field: Field) {
    let Field { rows, columns, wall, .. } = field;
    let mut dice = Dice(field.seed);
    let gap = if rows > 1 { 24 } else { 0 };
    let lanes: Vec<Lane> =
        program.inputs.iter().copied().chain(program.outputs.iter().map(|&o| program.lane(o))).collect();
    let stride = |lane: Lane| columns * lane.bytes() + gap;
    let mut arrays: Vec<Guarded> = lanes
        .iter()
        .map(|&lane| {
            let mut array = Guarded::new((rows - 1) * stride(lane) + columns * lane.bytes(), wall);
            array.bytes_mut().iter_mut().for_each(|b| *b = dice.next() as u8);
            for row in 0..rows {
                for column in 0..columns {
                    // SAFETY: `row` is below `rows` and `column` below `columns`, so the element is within the array's
                    // `(rows - 1) * stride + columns * bytes` bytes.
                    unsafe {
                        let at = array.as_mut_ptr().add(row * stride(lane) + column * lane.bytes());
                        write(at, lane.bytes(), dice.element(lane));
                    }
                }
            }
            array
        })
        .collect();
    let before: Vec<Vec<u8>> = arrays.iter().map(|a| a.bytes().to_vec()).collect();
    let inputs = program.inputs.len();
    let mut operands: Vec<RowMajor> = arrays
        .iter_mut()
        .zip(&lanes)
        .map(|(array, &lane)| RowMajor { ptr: array.as_mut_ptr(), stride: stride(lane) as isize })
        .collect();
    if field.in_place {
        operands[inputs] = operands[0];
    }
    let last = match shape.level {
        broadloom_wide::Level::Avx512 => columns,
        broadloom_wide::Level::Avx2 => columns - shape.block(),
    };
    // SAFETY: `operands` lists an array of `rows` rows of `columns` elements for each input and output of the program that
    // `machine` was compiled from, and at least one block of columns where the level has no masks.
    unsafe { machine.call(&operands, rows, last) };
    let element = |array: &[u8], operand: usize, row: usize, column: usize| {
        let lane = lanes[operand];
        let at = row * stride(lane) + column * lane.bytes();
        // SAFETY: the slice has `lane.bytes()` bytes.
        unsafe { read(array[at..at + lane.bytes()].as_ptr(), lane.bytes()) }
    };
    let mut expected = before.clone();
    for row in 0..rows {
        for column in 0..columns {
            let given: Vec<u64> = (0..inputs).map(|i| element(&before[i], i, row, column)).collect();
            for (i, value) in program.run(&given).into_iter().enumerate() {
                let to = if field.in_place && i == 0 { 0 } else { inputs + i };
                let lane = lanes[inputs + i];
                let found = element(arrays[to].bytes(), to, row, column);
                assert!(
                    same(lane, found, value),
                    "output {i}, row {row}, column {column}: {found:#x}, not {value:#x}, of {given:x?}; {field:?}, {shape:?}\n{program:?}\n{}",
                    machine.assembly
                );
                let at = row * stride(lane) + column * lane.bytes();
                expected[to][at..at + lane.bytes()].copy_from_slice(&found.to_le_bytes()[..lane.bytes()]);
            }
        }
    }
    for (i, (array, expected)) in arrays.iter().zip(&expected).enumerate() {
        assert!(array.bytes() == expected, "operand {i}: bytes that are no output's, {field:?}, {shape:?}");
    }
}

/// Compiles a program and runs it over rows of several lengths: about one, two or three blocks and, if accesses can be
/// masked, less than a block.
///
/// # Errors
/// The reason why the back end refuses the function.
pub fn agree(program: &RowProgram, shape: Shape) -> Result<CompiledFunction, Unsupported> {
    let machine = CompiledFunction::of(program, shape)?;
    let block = shape.block();
    let mut lengths = vec![block, 2 * block, 3 * block + 1, 2 * block - 1];
    if shape.level == broadloom_wide::Level::Avx512 {
        lengths.extend([1, 2, block / 2, block - 1, block + 1]);
    }
    for columns in lengths {
        run(&machine, program, shape, Field::row(columns));
    }
    Ok(machine)
}
