//! Tuning: the constants that depend on the machine, each with the measurement from which it was chosen, or the words "not
//! measured".
//!
//! These constants decide speed, never bits. Limits that protect memory, time or the stack are defined where they are used. All
//! measurements were made on x86-64 with AVX2 or AVX-512; the constants are used on every target.

/// The costs of the interpreter and of machine code, in nanoseconds, measured on one CPU with AVX-512 as `docs/performance.md`
/// describes. On aarch64, where nothing was measured, the costs for vectors of 128 bits are used.
pub mod executors {
    /// The costs of machine code at one vector width.
    pub struct Rates {
        /// The nanoseconds per float32 element that one vector instruction of a fused loop takes. Elements of half the size take
        /// half the time.
        pub instruction: f64,
        /// The nanoseconds per element that the conversions from and to float16 add to an operation. The conversions are machine
        /// instructions in code for 256 or more bits, and integer arithmetic in code for 128 bits.
        pub half: f64,
        /// The nanoseconds that compiling a kernel takes in addition to the time for its instructions.
        pub compile: f64,
        /// The additional nanoseconds of compile time for each vector instruction of the kernel.
        pub compile_instruction: f64,
    }

    /// The costs for vectors of 128, 256 and 512 bits. Compiling for the wider vectors takes half the time, for up to some
    /// hundreds of instructions (`cargo run --release -p broadloom-bench --features wide --bin wide compile`).
    pub const RATES: [Rates; 3] = [
        Rates { instruction: 0.035, half: 2.2, compile: 60_000.0, compile_instruction: 2_200.0 },
        Rates { instruction: 0.018, half: 0.18, compile: 30_000.0, compile_instruction: 900.0 },
        Rates { instruction: 0.012, half: 0.075, compile: 30_000.0, compile_instruction: 900.0 },
    ];

    /// The nanoseconds that loading or storing a float32 element takes, in the interpreter and in machine code. It is also the
    /// time for each unit of a host function's declared cost.
    pub const MOVE: f64 = 0.035;

    /// The nanoseconds that generating a word of 32 bits of a random stream takes, in the interpreter and in machine code
    /// (AVX-512).
    pub const WORD: f64 = 0.6;

    /// The nanoseconds per float32 element that one vector instruction of the interpreter's loops takes with vectors of four
    /// lanes. The loops use the widest vectors that the target has.
    pub const INTERPRETED: f64 = 0.06;

    /// The nanoseconds per float32 element for loading and storing the tiles of one step of the interpreter.
    pub const PASS: f64 = 0.03;

    /// The nanoseconds that the interpreter takes to begin one step on a tile, per 256 elements.
    pub const DISPATCH: f64 = 4.0;

    /// The nanoseconds that a call of a host function by machine code takes, without the function itself. 3 to 6 were measured. A
    /// call is for at least [`HOST_LANES`] elements.
    pub const CALL: f64 = 4.0;

    /// The minimum number of elements that machine code passes in one call of a host function.
    pub const HOST_LANES: u32 = 4;

    /// The nanoseconds per element of a float16 operation in the interpreter, if its loops convert float16 by integer arithmetic.
    pub const INTERPRETED_HALF: f64 = 0.4;

    /// The nanoseconds per element of a float16 operation in the interpreter, if the target has instructions that convert
    /// float16.
    pub const CONVERTED_HALF: f64 = 0.03;

    /// The part of [`Code::cost`](crate::kernel::Code::cost) of a float16 operation that accounts for its conversions. It is
    /// subtracted if the target has instructions that convert float16.
    pub const CONVERSIONS: f64 = 20.0;

    /// The nanoseconds for binding memory and setting up a run of the interpreter.
    pub const CALL_INTERPRETED: f64 = 250.0;

    /// The nanoseconds for binding memory and setting up a run of machine code.
    pub const CALL_COMPILED: f64 = 60.0;

    /// Estimates are nearly always within this factor of the measured time. If the estimates for two executors differ by less,
    /// they do not decide between them.
    pub const CLOSE: f64 = 4.0;

    /// The nanoseconds per byte that one thread moves from or to memory, if operands are larger than the caches.
    pub const PER_BYTE: f64 = 0.048;

    /// The approximate nanoseconds that scanning an element takes. 0.65 to 0.83 were measured with AVX-512; the estimate is for
    /// any target.
    pub const SCAN: f64 = 2.0;
}

/// The choice between regular and non-temporal stores.
pub mod stores {
    /// Non-temporal stores are used by the interpreter, and by machine code for vectors of more than 128 bits, if the operands
    /// are at least this many times as large as the last-level cache. Measured with float32 and float64 sums and triads on a CPU
    /// with a shared L3 of 32 MiB: no difference at 24 MB, 0.7 to 0.9 of the time at 120 MB and beyond, slower within L2.
    pub const LARGE: usize = 2;

    /// On targets without vectors of 512 bits, outputs are written by regular stores if they have less than 1 / `NARROW` of the
    /// bytes that are read. There is then little to save, and the code fills a cache line slowly if one iteration writes only a
    /// part of it. With AVX-512, comparisons with non-temporal stores took 0.77 of the time with regular stores.
    pub const NARROW: usize = 5;
}

/// The conditions under which several threads share a run.
pub mod threads {
    use std::time::Duration;

    /// Work of fewer estimated nanoseconds than this does not justify waking a thread, which takes 20 to 50 µs.
    pub const PARALLEL: u64 = 100_000;

    /// Work of fewer estimated nanoseconds per thread than this is not even shared with threads that are awake. On two cores with
    /// AVX-512, the sum of two float32 arrays takes 0.92 of one thread's time at 5e4 elements and 0.73 at 1e5, the sigmoid 1.01
    /// at 2e4, 0.74 at 5e4 and 0.58 at 1e5.
    pub const LOOP_AWAKE: u64 = 3_000;

    /// The maximum estimated nanoseconds of work that is shared only with threads that are awake, without waking others. A thread
    /// looks for work for 50 µs and then sleeps; loops over larger operands take up to four times their estimate. With a higher
    /// limit, each run of a series wakes a thread that comes too late: runs took 1.2 to 1.3 times as long at 3e5 and 1e6
    /// elements.
    pub const MOST_AWAKE: u64 = 50_000;

    /// The maximum total size in bytes of the operands of work that is shared only with threads that are awake, without waking
    /// others.
    pub const BYTES_AWAKE: usize = 2 << 20;

    /// The time for which a thread without work looks for a job before it sleeps. The next evaluation of a series usually begins
    /// within this time. A sleeping thread begins 20 to 50 µs after it is woken, but a thread that is looking for a job begins
    /// after 0.3 µs (measured on a virtual Xeon).
    pub const AWAKE: Duration = Duration::from_micros(50);

    /// The number of times that a thread looks for a job between two readings of the clock, at which it also yields to other
    /// threads: about 200 ns.
    pub const LOOKS: usize = 16;

    /// The total estimated nanoseconds of short runs in a series that the calling thread computes alone before it wakes another
    /// thread for the following ones. Waking takes the caller 10 to 15 µs (on a virtual Xeon). The limit is four times that cost,
    /// so that waking makes no series slower by more than a quarter.
    pub const WORTH_WAKING: u64 = 60_000;

    /// The number of sleeping threads that each thread with work wakes. Woken threads wake others in turn, so all threads are
    /// awake soon although no thread wakes many others. Not measured.
    pub const WAKES: usize = 2;
}

/// The sizes of the tiles of packed operands, and of the interpreter's tiles.
pub mod tiles {
    /// The size in bytes of a packed operand's tile, if the tile has rows as long as possible. Measured on sums of every second
    /// element, of reversed elements and of every third element, in float32 and float64: 4 to 8 KiB are up to 1.3 × faster than
    /// 16 to 32 KiB, because the tile and the other operands stay in a first-level cache of 48 KiB; 2 KiB is slower than 4 KiB.
    pub const ROW_BYTES: usize = 8 << 10;

    /// The size in bytes of an operand's tile for a transposed copy. Not measured.
    pub const TRANSPOSED_BYTES: usize = 32 << 10;

    /// The maximum total size in bytes of the tiles of all packed operands. Not measured.
    pub const PACKED_BYTES: usize = 128 << 10;

    /// The size in bytes of a tile's column, which is contiguous in memory, for a transposed copy: two cache lines, the unit of
    /// prefetching. Not measured.
    pub const COLUMN_BYTES: usize = 128;

    /// The size in bytes of an operand's tile for a transposed copy from an operand larger than the caches, where a larger tile
    /// reads more of each page at once. Measured on transposed sums of 10^7 float32 and float64: 0.85 to 0.92 of the time with
    /// [`TRANSPOSED_BYTES`]; for operands within a cache it was up to 4 % more.
    pub const FAR_TRANSPOSED_BYTES: usize = 64 << 10;

    /// The size in bytes of a tile's column for a transposed copy from an operand larger than the caches.
    pub const FAR_COLUMN_BYTES: usize = 256;

    /// When the tile of an operand is chosen, an operand of at least this size in bytes is treated as larger than the caches.
    pub const FAR: usize = 16 << 20;

    /// The size in bytes of an operand's tile for a transposed copy whose elements are reduced row by row. Its rows are as long
    /// as for results that are stored. Not measured.
    pub const COMBINED_BYTES: usize = 128 << 10;

    /// The maximum number of elements of a tile in flat mode, unless a single row has more. Not measured.
    pub const FLAT_TILE: usize = 1024;

    /// The number of elements of a tile for copies of an input that is also an output. The sizes of some other tiles are limited
    /// by it. Not measured.
    pub const TILE: usize = 4096;

    /// The minimum size in bytes of a row whose elements are read in place if they are reversed or two elements apart, unless it
    /// is the only row. It is the size of an iteration of the widest machine code; shorter rows would be computed through
    /// buffers. Not measured.
    pub const STEPPED_ROW: usize = 256;

    /// The total size in bytes of the tiles that the steps of an interpreter's program use: half of a first-level cache of
    /// current processors. On a processor with 48 KiB, ten steps over float32 took 0.85 of the time with tiles of 512 elements
    /// and 0.75 with tiles of 1024, compared with tiles of 256; ten steps over float64 took 0.95.
    pub const WORKING_SET: usize = 24 << 10;

    /// The minimum number of elements of the interpreter's tiles, even if many such tiles exceed [`WORKING_SET`]. Not measured.
    pub const SHORTEST: usize = 256;
}

/// The sizes of the tiles, parts and groups in which reductions and scans work.
pub mod reductions {
    /// The size in bytes of the tile of the widest output into which elements are computed before they are reduced, so that they
    /// stay in a first-level cache. Not measured.
    pub const TILE_BYTES: usize = 16 << 10;

    /// The size in bytes of the contiguous elements, one for each of several adjacent results, that are reduced together in each
    /// row of memory. Not measured.
    pub const ACROSS_BYTES: usize = 4096;

    /// The minimum number of adjacent results that are reduced together row by row, if their elements are computed first instead
    /// of being read from memory. Not measured.
    pub const ACROSS_COMPUTED: usize = 64;

    /// Reductions of at most this many elements in memory run on the calling thread, without tiles. They take 1 to 3 µs, which is
    /// less than a second thread needs to begin.
    pub const SHORT: usize = 1 << 14;

    /// The elements of a long reduction are divided among threads in multiples of this number, so that few threads begin within a
    /// subtree. Not measured.
    pub const PART: usize = 1 << 14;

    /// The minimum number of bytes that are reduced from memory between two checks for cancellation; usually the size of the
    /// last-level cache is used. Not measured.
    pub const LEAST_STRETCH: usize = 8 << 20;

    /// The size in bytes of the tile in which elements are scanned. It fits in a second-level cache. Not measured.
    pub const SCANNED_BYTES: usize = 128 << 10;
}

/// The sizes of row blocks, which several stages compute one after the other, and the costs of temporaries between stages.
pub mod blocks {
    /// The minimum size in bytes of a row block. Not measured.
    pub const LEAST: usize = 64 << 10;

    /// The minimum number of row blocks, unless they would be smaller than [`LEAST`]. Threads take blocks one by one. Not
    /// measured.
    pub const BLOCKS: usize = 16;

    /// The maximum size in bytes of a row block that consists of a single long row: several second-level caches, and a share of
    /// the last-level cache. Not measured.
    pub const LONGEST: usize = 4 * BLOCK_BYTES;

    /// The minimum number of contiguous bytes of an operand in a block, if elements of different rows are adjacent in the
    /// operand's memory. If there are fewer, the stages do not run block by block. Not measured.
    pub const RUN: usize = 256;

    /// The minimum number of elements of each result in a row block, for a stage that reduces all rows block by block. Measured on
    /// the gradient of a regression (Zen 4): blocks of 256 rows save a tenth to a third of the time; with 96 rows of 1000 columns, the
    /// sums so far do not stay in cache, and it takes twice the time.
    pub const LEAST_OF_TOTAL: usize = 256;

    /// The maximum number of elements that one stage computes for a row block. Not measured.
    pub const MOST: usize = 1 << 17;

    /// The approximate number of bytes that the stages read and write for one row block: half of a second-level cache of 1 MiB.
    /// Not measured.
    pub const BLOCK_BYTES: usize = 512 << 10;

    /// The cost of writing an element of a temporary and reading it back while it is in cache, in the unit of the cost model: the
    /// time of one vector instruction per element. Not measured.
    pub const TEMPORARY: u64 = 8;

    /// The cost of writing an element of a temporary that is larger than the caches and reading it back, in the same unit as
    /// [`TEMPORARY`]. The memory traffic is three times the size of the element. Not measured.
    pub const TEMPORARY_IN_MEMORY: u64 = 40;

    /// The cost of running one more kernel, in the same unit as [`TEMPORARY`]. Not measured.
    pub const KERNEL: u64 = 20_000;
}

/// The thresholds that decide the shape of machine code.
pub mod code {
    /// Bodies of at most this cost are unrolled to save loop overhead. This threshold and the next two were measured on the
    /// functions with AVX2 and AVX-512.
    pub const SHORT_BODY: u64 = 24;

    /// Long bodies with a latency above this, in cycles of [`Kernel::latency`](crate::Kernel::latency), are compiled to compute
    /// four vectors per iteration.
    pub const LONG_CHAIN: u64 = 94;

    /// Bodies of a higher cost are not unrolled, since several copies of them take long to compile, unless one chain of dependent
    /// instructions takes most of their time.
    pub const MOST_UNROLLED: u64 = 256;

    /// Bodies of at most this cost are compiled to compute four vectors per iteration if their latency is above half of their cost.
    /// Measured on sums of normal variates with 512 bits (Golden Cove): 8.9 ns per element instead of 13.4 for float64, whose cost is 334
    /// and latency 280, and 6.2 instead of 9.6 for float32.
    pub const MOST_OF_A_CHAIN: u64 = 1000;

    /// For sums and products whose body has a cost in this range, the code tests once per iteration whether any result is a NaN,
    /// since the instructions determine their time. Cheaper bodies wait for memory, or take a fifth longer if there are NaNs;
    /// the test makes functions and divisions no faster.
    pub const TESTED_FOR_NAN: std::ops::RangeInclusive<u64> = 16..=SHORT_BODY;

    /// Kernels of a higher cost read their constants from a table in memory. Not measured.
    pub const TABLE_ABOVE: u64 = 24;

    /// Kernels of at most this cost compute a long row in two parts with vectors of 512 bits, so that the second part begins at a
    /// cache line. Measured on sums of rows of 600 and 1000 float32 with a column: 0.85 and 0.95 of the time. With a division it
    /// took 1.05 of the time, because the first part costs an additional iteration.
    pub const CHEAP: u64 = 4;

    /// The single-pass register allocator is used for bodies above this cost. The time of the backtracking allocator grows faster
    /// than the body: for eight float32 functions with 569 primitives, whose cost is 296, it takes 1.9 ms, and the single-pass
    /// allocator 0.7 ms.
    pub const SINGLE_PASS_ABOVE_COST: u64 = 300;

    /// The single-pass register allocator is also used for bodies of more primitives than this.
    pub const SINGLE_PASS_ABOVE_PRIMITIVES: usize = 500;

    /// Rows with elements for fewer iterations than this are written by regular stores, because most of such a row is before the
    /// first whole cache line or after the last one. Not measured.
    pub const MIN_BLOCKS: usize = 4;

    /// The size in bytes from which a row of the widest output is written by non-temporal stores even if it doesn't begin at a
    /// cache line. Rows of 4000 bytes took 1.6 to 2.2 times as long as with regular stores, because each row takes three calls
    /// and shares cache lines with the rows before and after it. Making the calls for eight rows at once did not help, and a
    /// single stream through a tile in cache took 1.1 to 1.3 times as long.
    pub const LONG_ROW: usize = 32 << 10;

    /// The number of rows that are written by non-temporal stores in one call, if all of them begin at a cache line and end
    /// within one. Their inputs are still in cache when the columns after the last whole cache line are computed. Not measured.
    pub const TOGETHER: usize = 8;
}

/// The cost of chunks, in which results larger than memory are computed.
pub mod chunks {
    /// The fixed cost of computing one chunk, as the number of bytes that could be read in that time. Not measured.
    pub const CHUNK: f64 = 65536.0;
}

/// Loops in kernels.
pub mod loops {
    /// The number of iterations of an element that estimates assume, if the loop has no lower limit. Not measured.
    pub const TRIPS: u64 = 32;

    /// The vector instructions per element, times elements, after which the interpreter looks whether to go on. They take some
    /// tenths of a millisecond.
    pub const PAUSE: u64 = 1 << 20;

    /// Functions of at least this many vector instructions may have a slow path, which calls a scalar function for each element.
    pub const FUNCTION: u32 = 8;

    /// The time of such a call, in vector instructions of an element.
    pub const SLOW_PATH: u64 = 256;

    /// The factor by which the interpreter takes longer for an operation in a loop than outside, to select the elements that
    /// iterate. The Mandelbrot set of float64 takes it about 8 times as long as machine code (AVX2).
    pub const MASKED: f64 = 2.5;

    /// Iterations of at most this many vector instructions per element are computed for four vectors at once, longer ones for two.
    /// This constant and the next three were measured with AVX2: sums of up to ten captured products, chains of `erfc` and `exp`,
    /// and up to ten carried values that change places, each with one, two and four vectors.
    pub const SHORT_ITERATION: u64 = 64;

    /// The maximum number of carried values of which four vectors are computed at once. Three take as long with two.
    pub const CARRIED_BY_FOUR: usize = 3;

    /// The maximum number of carried values of which two vectors are computed at once. Six take as long with one.
    pub const CARRIED_BY_TWO: usize = 5;

    /// Loops whose iterations compute at least this many values beside the condition test it at the end of an iteration. Measured on
    /// draws by rejection, of 80 to 440 values (Golden Cove): 0.57 to 0.85 of the time. The number itself was not measured.
    pub const LONG_ITERATION: usize = 32;

    /// Kernels of more vector instructions per element compute one vector at a time. A chain of eight `erfc` and `exp` still gains
    /// a tenth or more from two.
    pub const MOST_OF_LOOPS: u64 = 1024;

    /// The vector instructions per element up to which a branch is computed for all elements, since a test would take as long. Not
    /// measured.
    pub const BRANCH: u32 = 16;
}

/// Recurrences along an axis. Constants without figures were not measured.
pub mod recurrences {
    /// The bytes of the states that one call of the interpreter computes, so that they stay in a first-level cache.
    pub const STATES_BYTES: usize = 16 << 10;

    /// The bytes of an output that one call of machine code computes, which overwrites the states of several columns and keeps that
    /// of a single one in a register. With 16 KiB, an exponential average of float64 takes 1.1 times as long in one column (Golden
    /// Cove) and 1.7 times in 256 (Zen 4); with 512 KiB, 0.9 times.
    pub const OVERWRITTEN_BYTES: usize = 128 << 10;

    /// The maximum number of columns of a unit.
    pub const MOST_COLUMNS: usize = 1024;

    /// The maximum number of columns that a thread combines at a time in the canonical order. For elements that are contiguous along
    /// the axis it is lower by the number of rows of 16 that a column has.
    pub const COMBINED_COLUMNS: usize = 64;

    /// The number of columns of which a unit has a multiple if a recurrence is divided among threads.
    pub const LEAST_COLUMNS: usize = 64;

    /// The nanoseconds that machine code takes at least for a row that depends on the one before it: a store and a load of the
    /// states, or states in registers, and some operations.
    pub const ROW: f64 = 5.0;
}

/// Trials of both executors. Not measured.
pub mod trials {
    /// Runs of at least this many nanoseconds are long: warming up takes a small part of them.
    pub const LONG: f64 = 1e6;

    /// The ratio of two long runs from which no further ones are needed.
    pub const FAR: f64 = 3.0;
}
