//! Slow paths: out-of-line calls of scalar functions for the lanes that need them.
//!
//! The code tests whether any lane of a mask is set. Only if one is, it enters a cold block, which stores the lanes to
//! a stack frame and calls a helper; the helper calls the scalar function for each lane in which the mask is set. The
//! frame contains an array for the mask, for each argument and for the result.

use broadloom_math::Num;
use broadloom_math::record::SlowFunction;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{BlockArg, InstBuilder, MemFlagsData, StackSlot, Value, types};
use smallvec::SmallVec;

use crate::value::{Lanes, MAX_VECTORS};
use crate::vectors::Vectors;

/// Calls a [`SlowFunction`] with the arrays of a frame.
///
/// # Safety
/// `frame` points to `bytes` bytes, which may be read and written and which no other code uses during the call;
/// `function` may be called on this machine.
#[expect(
    improper_ctypes_definitions,
    reason = "the function is given as the address of one of this type, by this crate"
)]
unsafe extern "C" fn slow_lanes(frame: *mut u8, bytes: usize, function: unsafe fn(&mut [u8])) {
    // SAFETY: by the function's contract the frame is valid for reads and writes of `bytes` bytes, and only this call
    // uses it; the emitted code has stored to all of these bytes.
    let arrays = unsafe { std::slice::from_raw_parts_mut(frame, bytes) };
    // SAFETY: this machine can call the function, by this function's contract.
    unsafe { function(arrays) }
}

/// Sets a fault byte if the mask is set in any lane that is an element of the row.
///
/// # Safety
/// `frame` points to `lanes` mask lanes, the first `left` of which are elements of the row, and `fault` points to a
/// byte that no other code uses during the call.
unsafe extern "C" fn note_within<T: Num>(frame: *const T, lanes: usize, left: usize, fault: *mut u8) {
    for lane in 0..lanes.min(left) {
        // SAFETY: `lane` is below `lanes`, and every bit pattern is a valid T, which is an unsigned integer.
        if unsafe { frame.add(lane).read() }.to_bits64() != 0 {
            // SAFETY: `fault` is a valid byte that only this call uses, by the function's contract.
            unsafe { fault.write(1) };
        }
    }
}

/// How machine code refers to the functions that it calls.
pub enum Helpers {
    /// By their addresses, which differ from process to process. Only such code can be run.
    Called,
    /// By numbers that are not addresses, for printing. The list contains the functions that have been numbered so far.
    Shown(Vec<usize>),
}

impl Helpers {
    /// The number that is printed for the first function. It has as many digits as an address.
    const FIRST: i64 = 0x7000_0000_0000;

    fn address(&mut self, function: usize) -> i64 {
        match self {
            Helpers::Called => function as i64,
            Helpers::Shown(known) => {
                let number = known.iter().position(|&f| f == function).unwrap_or_else(|| {
                    known.push(function);
                    known.len() - 1
                });
                Helpers::FIRST + number as i64
            }
        }
    }
}

/// The stack frame that all slow paths share, since no two run at once, and the way in which they refer to functions.
pub struct SlowPaths {
    helpers: Helpers,
    frame: Option<StackSlot>,
}

impl SlowPaths {
    pub fn new(helpers: Helpers) -> SlowPaths {
        SlowPaths { helpers, frame: None }
    }

    /// The address of a frame with space for the lanes of four values.
    pub fn frame(&mut self, v: &mut Vectors<'_>) -> Value {
        let slot = *self.frame.get_or_insert_with(|| {
            let bytes = 4 * MAX_VECTORS as u32 * v.layout.width.bytes();
            v.frame(bytes)
        });
        v.ins().stack_addr(types::I64, slot, 0)
    }

    /// The address of a function that the code calls.
    pub fn address(&mut self, v: &mut Vectors<'_>, function: usize) -> Value {
        let address = self.helpers.address(function);
        v.ins().iconst(types::I64, address)
    }

    /// Computes the scalar function of `a` and `b` in the lanes where the mask is set; the other lanes are those of
    /// `fast`.
    pub fn select(
        &mut self,
        v: &mut Vectors<'_>,
        function: &SlowFunction,
        &[mask, a, b, fast]: &[Lanes; 4],
    ) -> Lanes {
        let ty = v.type_of(fast.vectors()[0]);
        let any = v.any(mask);
        let (cold, join) = (v.builder.create_block(), v.builder.create_block());
        v.builder.set_cold_block(cold);
        for _ in fast.vectors() {
            v.builder.append_block_param(join, ty);
        }
        let args: Vec<BlockArg> = fast.vectors().iter().map(|&v| v.into()).collect();
        v.ins().brif(any, cold, &[], join, &args);

        v.builder.switch_to_block(cold);
        v.builder.seal_block(cold);
        let bytes = fast.vectors().len() as u32 * ty.bytes();
        let frame = self.frame(v);
        for (i, lanes) in [mask, a, b, fast].iter().enumerate() {
            v.store_to_frame(frame, i as i32 * bytes as i32, lanes);
        }
        // Whole vectors are stored, so that the arrays are at the offsets that the function expects. Lanes above the
        // value's own are unspecified, and so are the results for them.
        let size = v.ins().iconst(types::I64, 4 * i64::from(bytes));
        let scalar = self.address(v, function.fastest() as *const () as usize);
        let helper = self.address(v, slow_lanes as *const () as usize);
        v.call_address(helper, &[frame, size, scalar]);
        let flags = v.frame_flags();
        let results: Vec<BlockArg> = (0..fast.vectors().len() as i32)
            .map(|j| v.ins().load(ty, flags, frame, 3 * bytes as i32 + j * ty.bytes() as i32).into())
            .collect();
        v.ins().jump(join, &results);

        v.builder.switch_to_block(join);
        v.builder.seal_block(join);
        let joined: Vec<Value> = v.builder.block_params(join).to_vec();
        Lanes::new(fast.width.into(), joined)
    }

    /// Replaces every NaN of `x` by the constant `nan`, in a cold block. A block of a row branches to the cold block if
    /// the block, or an earlier block of the row, has a NaN; in that case the returned `seen` is not 0. Each block of a
    /// row passes `seen` to the next.
    ///
    /// PERF: because all later blocks of the row take the branch, it is mispredicted once per row. When the branch
    /// depended on each block alone, a loop of ten sums and products took 1.3 to 2.2 times as long on data of which a
    /// tenth is NaN.
    pub fn replace_nan(
        &mut self,
        v: &mut Vectors<'_>,
        nan: &Lanes,
        x: &Lanes,
        seen: Value,
    ) -> (Lanes, Value) {
        let ty = v.type_of(x.vectors()[0]);
        // Vectors are tested in pairs, by one comparison that finds the lanes in which at least one of the two is NaN.
        let mut nans = None;
        for pair in x.vectors().chunks(2) {
            let more = v.ins().fcmp(FloatCC::Unordered, pair[0], pair[pair.len() - 1]);
            nans = Some(nans.map_or(more, |nans| v.ins().bor(nans, more)));
        }
        let seen = nans.map_or(seen, |nans| {
            let bits = v.ins().vhigh_bits(types::I64, nans);
            v.ins().iadd(seen, bits)
        });
        let zero = v.ins().iconst(types::I64, 0);
        let any = v.ins().icmp(IntCC::NotEqual, seen, zero);
        let (cold, join) = (v.builder.create_block(), v.builder.create_block());
        v.builder.set_cold_block(cold);
        let inline: SmallVec<[BlockArg; MAX_VECTORS]> = x.vectors().iter().map(|&x| x.into()).collect();
        v.ins().brif(any, cold, &[], join, &inline);

        v.builder.switch_to_block(cold);
        v.builder.seal_block(cold);
        let replaced = x.zip(nan, |x, nan| {
            let is_nan = v.ins().fcmp(FloatCC::NotEqual, x, x);
            let is_nan = v.cast_bits(ty, is_nan);
            v.ins().bitselect(is_nan, nan, x)
        });
        let replaced: SmallVec<[BlockArg; MAX_VECTORS]> =
            replaced.vectors().iter().map(|&x| x.into()).collect();
        v.ins().jump(join, &replaced);

        v.builder.switch_to_block(join);
        v.builder.seal_block(join);
        let joined: SmallVec<[Value; MAX_VECTORS]> =
            x.vectors().iter().map(|_| v.builder.append_block_param(join, ty)).collect();
        (Lanes::new(x.width.into(), joined), seen)
    }

    /// Sets the byte of a fault site if any lane of the mask is set. If only `left` elements of the row are left, later
    /// lanes are ignored. If there is a frame `strays`, the lanes are added to the mask in it.
    pub fn note(
        &mut self,
        v: &mut Vectors<'_>,
        mask: Lanes,
        left: Option<Value>,
        faults: Value,
        site: i32,
        strays: Option<StackSlot>,
    ) {
        let any = v.any(mask);
        let (cold, join) = (v.builder.create_block(), v.builder.create_block());
        v.builder.set_cold_block(cold);
        v.ins().brif(any, cold, &[], join, &[]);
        v.builder.switch_to_block(cold);
        match left {
            None => {
                let one = v.ins().iconst(types::I8, 1);
                v.ins().store(MemFlagsData::trusted(), one, faults, site);
            }
            Some(left) => {
                let frame = self.frame(v);
                v.store_to_frame(frame, 0, &mask);
                let lanes = i64::from(v.layout.lanes);
                let lanes = v.ins().iconst(types::I64, lanes);
                let fault = v.ins().iadd_imm_s(faults, i64::from(site));
                let helper = match mask.width {
                    1 => note_within::<u8> as *const (),
                    2 => note_within::<u16> as *const (),
                    4 => note_within::<u32> as *const (),
                    _ => note_within::<u64> as *const (),
                };
                let helper = self.address(v, helper as usize);
                v.call_address(helper, &[frame, lanes, left, fault]);
            }
        }
        if let Some(strays) = strays {
            let strays = v.ins().stack_addr(types::I64, strays, 0);
            let before = v.load_from_frame(strays, 0, &mask);
            let all = mask.zip(&before, |x, y| v.ins().bor(x, y));
            v.store_to_frame(strays, 0, &all);
        }
        v.ins().jump(join, &[]);
        v.builder.switch_to_block(join);
    }
}
