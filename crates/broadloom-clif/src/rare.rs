//! `rare`: the long way round for flagged lanes.
//!
//! In: a mask, arguments, and the result for the other lanes. Out: a select over a call per flagged lane, in a cold
//! block that ordinary lanes never enter. Must hold: the frame that the block and the helper share has the lanes
//! of the mask, the arguments and the result one after the other.

use broadloom_math::{Num, Rare2};
use cranelift_codegen::ir::{
    AbiParam, BlockArg, InstBuilder, MemFlagsData, Signature, StackSlot, StackSlotData, StackSlotKind, Value,
    types,
};

use crate::emit::Emitter;
use crate::memory::element_flags;
use crate::value::{Lanes, MAX_VECTORS};

/// Calls `F` for each lane whose mask is not zero.
///
/// # Safety
/// `frame` points to four arrays of `lanes` values, aligned for `T`: the masks (as wide as `T`), both arguments
/// and the results, which may be written; no one else uses them during the call.
unsafe extern "C" fn flagged_lanes<F: Rare2<T>, T: Num>(frame: *mut T, lanes: usize) {
    for lane in 0..lanes {
        // SAFETY: each index is below 4 · lanes, inside the frame that the caller vouches for; a mask lane is all
        // ones or all zeros, which is a valid T either way.
        unsafe {
            if frame.add(lane).read().to_bits64() != 0 {
                let (a, b) = (frame.add(lanes + lane).read(), frame.add(2 * lanes + lane).read());
                frame.add(3 * lanes + lane).write(F::call(a, b));
            }
        }
    }
}

impl Emitter<'_> {
    /// The frame of every `rare`: no two are in use at once.
    fn rare_frame(&mut self) -> StackSlot {
        let builder = &mut self.builder;
        *self.rare_frame.get_or_insert_with(|| {
            let bytes = 4 * MAX_VECTORS as u32 * self.layout.width.bytes();
            builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4))
        })
    }

    /// Writes lanes one after the other to a frame.
    pub(crate) fn store_to_frame(&mut self, frame: Value, at: i32, lanes: &Lanes) {
        let flags = self.frame_flags();
        for (j, &v) in lanes.vectors().iter().enumerate() {
            let bytes = self.builder.func.dfg.value_type(v).bytes() as i32;
            self.builder.ins().store(flags, v, frame, at + j as i32 * bytes);
        }
    }

    /// How vectors lie in frames, which are aligned to 16 bytes.
    pub(crate) fn frame_flags(&self) -> MemFlagsData {
        if self.layout.is_wide() { element_flags() } else { MemFlagsData::trusted() }
    }
}

/// Writes 1 where a lane of the row is set.
///
/// # Safety
/// `frame` points to `lanes` masks, of which the row has the first `left`, and `fault` to a byte that no one else uses
/// during the call.
unsafe extern "C" fn note<T: Num>(frame: *const T, lanes: usize, left: usize, fault: *mut u8) {
    for lane in 0..lanes.min(left) {
        // SAFETY: the index is below `lanes`, and a mask lane is all ones or all zeros, which is a valid T either way.
        if unsafe { frame.add(lane).read() }.to_bits64() != 0 {
            // SAFETY: the caller vouches for the byte.
            unsafe { fault.write(1) };
        }
    }
}

/// Notes the lanes of a mask that the row has, in a block that has lanes beyond it; in a cold block.
pub fn note_within(e: &mut Emitter<'_>, m: Lanes, left: Value, faults: Value, site: i32) {
    let helper = match m.width {
        1 => note::<u8> as *const (),
        2 => note::<u16> as *const (),
        4 => note::<u32> as *const (),
        _ => note::<u64> as *const (),
    };
    let slot = e.rare_frame();
    let frame = e.builder.ins().stack_addr(types::I64, slot, 0);
    e.store_to_frame(frame, 0, &m);
    let lanes = e.builder.ins().iconst(types::I64, i64::from(e.layout.lanes));
    let fault = e.builder.ins().iadd_imm_s(faults, i64::from(site));
    let mut signature = Signature::new(e.call_conv);
    signature.params.extend([AbiParam::new(types::I64); 4]);
    let signature = e.builder.import_signature(signature);
    let helper = e.helpers.address(helper as usize);
    let helper = e.builder.ins().iconst(types::I64, helper);
    e.builder.ins().call_indirect(signature, helper, &[frame, lanes, left, fault]);
}

/// Emits the test, the cold block and the join.
pub fn emit<F: Rare2<T>, T: Num>(
    e: &mut Emitter<'_>,
    flagged: Lanes,
    a: Lanes,
    b: Lanes,
    fast: Lanes,
) -> Lanes {
    let ty = e.layout.vector_type::<T>();
    let any = e.any(flagged);
    let (cold, join) = (e.builder.create_block(), e.builder.create_block());
    e.builder.set_cold_block(cold);
    for _ in fast.vectors() {
        e.builder.append_block_param(join, ty);
    }
    let args: Vec<BlockArg> = fast.vectors().iter().map(|&v| v.into()).collect();
    e.builder.ins().brif(any, cold, &[], join, &args);

    e.builder.switch_to_block(cold);
    e.builder.seal_block(cold);
    let vector = ty.bytes();
    let part = fast.vectors().len() as u32 * vector;
    let flags = e.frame_flags();
    let slot = e.rare_frame();
    let frame = e.builder.ins().stack_addr(types::I64, slot, 0);
    for (i, lanes) in [flagged, a, b, fast].iter().enumerate() {
        e.store_to_frame(frame, i as i32 * part as i32, lanes);
    }
    // Whole vectors, so that the parts of the frame lie where the helper looks; lanes beyond the value's own hold
    // anything, and so do their results.
    let lanes = e.builder.ins().iconst(types::I64, i64::from(part) / size_of::<T>() as i64);
    let mut signature = Signature::new(e.call_conv);
    signature.params.extend([AbiParam::new(types::I64); 2]);
    let signature = e.builder.import_signature(signature);
    let helper = e.helpers.address(flagged_lanes::<F, T> as *const () as usize);
    let helper = e.builder.ins().iconst(types::I64, helper);
    e.builder.ins().call_indirect(signature, helper, &[frame, lanes]);
    let results: Vec<BlockArg> = (0..fast.vectors().len())
        .map(|j| {
            let at = 3 * part as i32 + j as i32 * vector as i32;
            e.builder.ins().load(ty, flags, frame, at).into()
        })
        .collect();
    e.builder.ins().jump(join, &results);

    e.builder.switch_to_block(join);
    e.builder.seal_block(join);
    let joined: Vec<Value> = e.builder.block_params(join).to_vec();
    Lanes::new(fast.width.into(), joined)
}
