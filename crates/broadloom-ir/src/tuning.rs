//! Tuning: the constants that depend on the machine, each with the measurement that chose it, or the words "not measured".
//!
//! They decide speed, never bits. Limits, which protect memory, time or the stack, are defined where they are used. All
//! measurements were made on x86-64 with AVX2 or AVX-512; the constants are used on every target.

/// The costs of the interpreter and of machine code, in nanoseconds, measured on one CPU with AVX-512 as `docs/performance.md`
/// says. On aarch64, where nothing was measured, the costs of 128 bits are used.
pub mod executors {
    /// The costs of machine code.
    pub struct Rates {
        /// Nanoseconds of one vector instruction per float32 element in a fused loop. Elements of half the size take half the
        /// time.
        pub instruction: f64,
        /// Nanoseconds per element that conversions of float16 add to an operation. They are machine instructions from 256 bits
        /// on, and integer arithmetic at 128 bits.
        pub half: f64,
        /// Nanoseconds to compile a kernel.
        pub compile: f64,
        /// Nanoseconds to compile a vector instruction.
        pub compile_instruction: f64,
    }

    /// The rates on vectors of 128, 256 and 512 bits. Compiling for the wider ones takes half the time, up to some hundreds of
    /// instructions (`cargo run --release -p broadloom-bench --features wide --bin wide compile`).
    pub const RATES: [Rates; 3] = [
        Rates { instruction: 0.035, half: 2.2, compile: 60_000.0, compile_instruction: 2_200.0 },
        Rates { instruction: 0.018, half: 0.18, compile: 30_000.0, compile_instruction: 900.0 },
        Rates { instruction: 0.012, half: 0.075, compile: 30_000.0, compile_instruction: 900.0 },
    ];

    /// Nanoseconds to load or store a float32 element, in either executor; also the cost of an instruction of a host function.
    pub const MOVE: f64 = 0.035;

    /// Nanoseconds of one vector instruction per float32 element in the interpreter's loops at four lanes. The loops use as many
    /// lanes as the target has.
    pub const INTERPRETED: f64 = 0.06;

    /// Nanoseconds per float32 element to load and store the tiles of one step of the interpreter.
    pub const PASS: f64 = 0.03;

    /// Nanoseconds per step and 256 elements of the interpreter.
    pub const DISPATCH: f64 = 4.0;

    /// Nanoseconds that machine code takes to call a host function, for at least [`HOST_LANES`] elements at a time. 3 to 6 were
    /// measured.
    pub const CALL: f64 = 4.0;

    /// The minimum number of elements for which machine code calls a host function.
    pub const HOST_LANES: u32 = 4;

    /// Nanoseconds per element of float16 arithmetic in the interpreter, if its loops convert by integer arithmetic.
    pub const INTERPRETED_HALF: f64 = 0.4;

    /// Nanoseconds per element of float16 arithmetic in the interpreter, if the target has instructions for the conversions.
    pub const CONVERTED_HALF: f64 = 0.03;

    /// The part of [`Code::cost`](crate::kernel::Code::cost) that accounts for the conversions of an operation on float16. Loops
    /// save it if the target has instructions for them.
    pub const CONVERSIONS: f64 = 20.0;

    /// Nanoseconds to bind memory and set up a run in the interpreter.
    pub const CALL_INTERPRETED: f64 = 250.0;

    /// Nanoseconds to bind memory and set up a run in machine code.
    pub const CALL_COMPILED: f64 = 60.0;

    /// Estimates are nearly always within this factor of the measured time, so estimates that are closer than it decide nothing.
    pub const CLOSE: f64 = 4.0;

    /// Nanoseconds per byte that one thread moves from or to memory, for operands larger than the caches.
    pub const PER_BYTE: f64 = 0.048;

    /// Approximate nanoseconds to scan an element. 0.65 to 0.83 were measured with AVX-512; the estimate is for any target.
    pub const SCAN: f64 = 2.0;
}

/// The choice between regular and non-temporal stores.
pub mod stores {
    /// With operands of at least this many last-level caches, the interpreter, and machine code on vectors of more than 128 bits, use
    /// non-temporal stores. Measured with float32 and float64 sums and triads on a CPU with a shared L3 of 32 MiB: no difference at 24
    /// MB, 0.7 to 0.9 of the time at 120 MB and beyond, a loss within L2.
    pub const LARGE: usize = 2;

    /// On targets without vectors of 512 bits, results are written by regular stores if they are less than 1 in this many of the
    /// bytes read: there is little to save, and blocks that are shorter than a cache line fill it slowly. With AVX-512
    /// comparisons took 0.77 of the time of regular stores.
    pub const NARROW: usize = 5;
}

/// When threads share a run.
pub mod threads {
    use std::time::Duration;

    /// Work of fewer nanoseconds than this does not justify waking a thread, which takes 20 to 50 µs.
    pub const PARALLEL: u64 = 100_000;

    /// Work of fewer nanoseconds per thread than this is not shared with threads that are awake already. On two cores with
    /// AVX-512, the sum of two float32 arrays takes 0.92 of one thread's time at 5e4 elements and 0.73 at 1e5, the sigmoid 1.01
    /// at 2e4, 0.74 at 5e4 and 0.58 at 1e5.
    pub const LOOP_AWAKE: u64 = 3_000;

    /// The most nanoseconds of work that is shared with threads that are awake without waking others. A thread looks for work for
    /// 50 µs and then sleeps; loops over larger operands take up to four times their estimate. With a higher limit, each run of a
    /// series wakes a thread that comes too late: 1.2 to 1.3 times as slow at 3e5 and 1e6 elements.
    pub const MOST_AWAKE: u64 = 50_000;

    /// The most bytes of operands of work that is shared with threads that are awake without waking others.
    pub const BYTES_AWAKE: usize = 2 << 20;

    /// How long a thread that has nothing to do looks for a job before it sleeps. The next evaluation of a series usually begins
    /// within this time. A sleeping thread begins 20 to 50 µs after it is woken, and a thread that is looking for a job after 0.3
    /// µs (measured on a virtual Xeon).
    pub const AWAKE: Duration = Duration::from_micros(50);

    /// The number of times that a thread looks for a job before it lets other threads run and reads the clock: some 200 ns.
    pub const LOOKS: usize = 16;

    /// The nanoseconds that the short runs of a series take on the calling thread alone before it wakes another thread for later
    /// runs. Waking takes the caller 10 to 15 µs (on a virtual Xeon), so that at four times as much no series becomes slower by
    /// more than a quarter.
    pub const WORTH_WAKING: u64 = 60_000;

    /// The number of sleeping threads that each thread with work wakes, so that all are awake soon although no thread wakes many.
    /// Not measured.
    pub const WAKES: usize = 2;
}

/// The sizes of tiles: of packed operands, and of the interpreter.
pub mod tiles {
    /// Bytes of a packed operand in a tile with the longest possible rows. Measured on sums of every second element, of reversed ones
    /// and of every third, float32 and float64: 4 to 8 KiB, so that the tile and the other operands stay in a first-level cache of 48
    /// KiB, are up to 1.3 × faster than 16 to 32 KiB; 2 KiB is slower again.
    pub const ROW_BYTES: usize = 8 << 10;

    /// The size in bytes of an operand in a tile for transposed copies. Not measured.
    pub const TRANSPOSED_BYTES: usize = 32 << 10;

    /// The most bytes of all packed operands in a tile for transposed copies. Not measured.
    pub const PACKED_BYTES: usize = 128 << 10;

    /// Bytes of a column, contiguous in memory, in a tile for transposed copies: two cache lines, which is the unit of prefetching. Not measured.
    pub const COLUMN_BYTES: usize = 128;

    /// The size in bytes of an operand in a tile for transposed copies from an operand larger than the caches, where larger tiles
    /// read more of each page at once. Measured on transposed sums of 10^7 float32 and float64: 0.85 to 0.92 of the time; within
    /// a cache it was up to 4 % longer.
    pub const FAR_TRANSPOSED_BYTES: usize = 64 << 10;

    /// The size in bytes of a column in a tile for transposed copies from an operand larger than the caches.
    pub const FAR_COLUMN_BYTES: usize = 256;

    /// Operands of at least this many bytes get the tiles for operands larger than the caches.
    pub const FAR: usize = 16 << 20;

    /// The size in bytes of a transposed tile whose elements are reduced row by row, with rows as long as those of results that
    /// are stored. Not measured.
    pub const COMBINED_BYTES: usize = 128 << 10;

    /// Maximum number of elements of a tile in flat mode, unless one row has more. Not measured.
    pub const FLAT_TILE: usize = 1024;

    /// The number of elements of a tile that copies an input which is also an output. The sizes of other tiles are derived from
    /// it. Not measured.
    pub const TILE: usize = 4096;

    /// The minimum size in bytes of a row that is read in steps, unless it is the only row: the size of a block of the widest
    /// machine code. Shorter rows would be computed through buffers. Not measured.
    pub const STEPPED_ROW: usize = 256;

    /// The size in bytes of all tiles that the steps of an interpreter's program use: half of a first-level cache of current
    /// processors. On one with 48 KiB, tiles of 512 and 1024 elements took 0.85 and 0.75 of the time of 256 in ten steps over
    /// float32, and 0.95 over float64.
    pub const WORKING_SET: usize = 24 << 10;

    /// The minimum length of a tile, in elements, which is kept even if many tiles then exceed [`WORKING_SET`]. Not measured.
    pub const SHORTEST: usize = 256;
}

/// The sizes of reductions and scans.
pub mod reductions {
    /// The number of bytes of the widest output's elements that are computed before they are reduced, so that they stay in a
    /// first-level cache. Not measured.
    pub const TILE_BYTES: usize = 16 << 10;

    /// The number of results that are reduced together across rows of memory, in bytes of contiguous elements of each row. Not
    /// measured.
    pub const ACROSS_BYTES: usize = 4096;

    /// The number of results that are reduced together across rows if elements are computed first. Not measured.
    pub const ACROSS_COMPUTED: usize = 64;

    /// Reductions of at most this many elements run on the calling thread. Not measured.
    pub const SHORT: usize = 1 << 12;

    /// The number of elements in a part of a long reduction is a multiple of this, so that few parts begin within a subtree. Not measured.
    pub const PART: usize = 1 << 14;

    /// The number of bytes that are reduced from memory between two checks for cancellation, if the last-level cache is smaller
    /// than this or its size is unknown. Not measured.
    pub const LEAST_STRETCH: usize = 8 << 20;

    /// The size in bytes of a tile of a scan, which fits in a second-level cache. Not measured.
    pub const SCANNED_BYTES: usize = 128 << 10;
}

/// Row blocks, by which stages run together, and the temporaries between stages.
pub mod blocks {
    /// Blocks are not made smaller than this number of bytes. Not measured.
    pub const LEAST: usize = 64 << 10;

    /// The minimum number of row blocks, unless they would be too small. Threads take blocks one by one. Not measured.
    pub const BLOCKS: usize = 16;

    /// The maximum size in bytes of a row block of a single long row: several second-level caches, and a share of the last-level
    /// cache. Not measured.
    pub const LONGEST: usize = 4 * BLOCK_BYTES;

    /// The minimum number of contiguous bytes in a block for an operand whose rows are interleaved in memory. Not measured.
    pub const RUN: usize = 256;

    /// The maximum number of elements of a row block of one stage. Not measured.
    pub const MOST: usize = 1 << 17;

    /// The approximate number of bytes that the stages of a row block read and write: half of a second-level cache of 1 MiB. Not
    /// measured.
    pub const BLOCK_BYTES: usize = 512 << 10;

    /// The cost of writing an element of a temporary and reading it back while it is in cache, in vector instructions. Not
    /// measured.
    pub const TEMPORARY: u64 = 8;

    /// The cost of writing and reading back an element of a temporary that is larger than the caches, where three times its bytes
    /// are moved, in vector instructions. Not measured.
    pub const TEMPORARY_IN_MEMORY: u64 = 40;

    /// The cost of setting up one more kernel. Not measured.
    pub const KERNEL: u64 = 20_000;
}

/// The shape of machine code.
pub mod code {
    /// Bodies of at most this cost are unrolled to save loop overhead. This threshold and the next two were measured on the functions with
    /// AVX2 and AVX-512.
    pub const SHORT_BODY: u64 = 24;

    /// Long bodies of a latency above this, in cycles of [`Kernel::latency`](crate::Kernel::latency), are computed four vectors at a time.
    pub const LONG_CHAIN: u64 = 94;

    /// Bodies of a higher cost are not unrolled: their copies would not fit the first-level instruction cache.
    pub const MOST_UNROLLED: u64 = 256;

    /// Sums and products whose body has a cost in this range are tested for NaN once per block, since their time is that of the
    /// instructions in flight. Cheaper bodies wait for memory, or take a fifth longer if there are NaNs; functions and divisions
    /// gain nothing.
    pub const TESTED_FOR_NAN: std::ops::RangeInclusive<u64> = 16..=SHORT_BODY;

    /// Kernels of a higher cost read their constants from a table. Not measured.
    pub const TABLE_ABOVE: u64 = 24;

    /// Rows of kernels of at most this cost are computed in two parts at 512 bits. Measured on sums of rows of 600 and 1000 float32
    /// with a column: 0.85 and 0.95 of the time; with a division it is 1.05, because the first part costs a block.
    pub const CHEAP: u64 = 4;

    /// The linear-time register allocator is used for bodies above this cost. The time of the backtracking allocator grows faster
    /// than the body: for eight float32 functions with 569 primitives, whose cost is 296, it takes 1.9 ms, and the linear-time
    /// one 0.7 ms.
    pub const SINGLE_PASS_ABOVE_COST: u64 = 300;

    /// The linear-time register allocator is also used for bodies of more primitives than this.
    pub const SINGLE_PASS_ABOVE_PRIMITIVES: usize = 500;

    /// Rows of fewer blocks than this are written by regular stores, because most of such a row is before the first whole cache
    /// line or after the last one. Not measured.
    pub const MIN_BLOCKS: usize = 4;

    /// The size in bytes from which on a row of the widest output is streamed even if it doesn't begin at a cache line. Rows of
    /// 4000 bytes took 1.6 to 2.2 times as long as with regular stores, because of three calls for each row and the lines that it
    /// shares with the rows beside it; making the calls for eight rows at once did not help, and one stream through a tile in
    /// cache took 1.1 to 1.3 times as long.
    pub const LONG_ROW: usize = 32 << 10;

    /// The number of rows that are streamed together, if all begin at a cache line and have columns left after the last whole
    /// line. Their memory is still in cache when these columns are computed. Not measured.
    pub const TOGETHER: usize = 8;
}

/// Chunks of data larger than memory.
pub mod chunks {
    /// The fixed cost of a chunk, in bytes that could be read instead. Not measured.
    pub const CHUNK: f64 = 65536.0;
}
