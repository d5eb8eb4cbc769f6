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
use crate::value::{Lanes, MAX_VECTORS, VECTOR, vector_type};

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
            let bytes = 4 * MAX_VECTORS as u32 * VECTOR;
            builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4))
        })
    }
}

/// Emits the test, the cold block and the join.
pub fn emit<F: Rare2<T>, T: Num>(
    e: &mut Emitter<'_>,
    flagged: Lanes,
    a: Lanes,
    b: Lanes,
    fast: Lanes,
) -> Lanes {
    let any = e.any(flagged);
    let (cold, join) = (e.builder.create_block(), e.builder.create_block());
    e.builder.set_cold_block(cold);
    for _ in fast.vectors() {
        e.builder.append_block_param(join, vector_type::<T>());
    }
    let args: Vec<BlockArg> = fast.vectors().iter().map(|&v| v.into()).collect();
    e.builder.ins().brif(any, cold, &[], join, &args);

    e.builder.switch_to_block(cold);
    e.builder.seal_block(cold);
    let part = fast.vectors().len() as u32 * VECTOR;
    let slot = e.rare_frame();
    let frame = e.builder.ins().stack_addr(types::I64, slot, 0);
    for (i, lanes) in [flagged, a, b, fast].iter().enumerate() {
        for (j, &v) in lanes.vectors().iter().enumerate() {
            let at = i as i32 * part as i32 + j as i32 * VECTOR as i32;
            e.builder.ins().store(MemFlagsData::trusted(), v, frame, at);
        }
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
            let at = 3 * part as i32 + j as i32 * VECTOR as i32;
            e.builder.ins().load(vector_type::<T>(), MemFlagsData::trusted(), frame, at).into()
        })
        .collect();
    e.builder.ins().jump(join, &results);

    e.builder.switch_to_block(join);
    e.builder.seal_block(join);
    let joined: Vec<Value> = e.builder.block_params(join).to_vec();
    Lanes::new(fast.width.into(), joined)
}
