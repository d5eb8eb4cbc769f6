//! Evaluates CLIF on vectors of any width, lane by lane. Back ends are compared with this evaluator.
//!
//! [`executor`] runs the emitter's functions in the evaluator, without a back end, through the suite of all executors.
//! The evaluator panics if an access is outside of the memory that was passed to the function, at an instruction that
//! `broadloom-wide` does not support, and at an intrinsic whose types differ from its description.

mod executor;

use std::ops::Range;

use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    BlockArg, BlockCall, Function, Inst, InstructionData, Opcode, Type, Value, types,
};

use crate::repertoire::intrinsic_of;

/// The bits of each lane of a value. A scalar has one lane.
type Bits = [u64; 64];

/// The state of a CLIF function that is being evaluated.
struct Machine<'f> {
    function: &'f Function,
    values: Vec<Bits>,
    /// The address ranges that may be read and written.
    memory: Vec<Range<u64>>,
    slots: Vec<Vec<u64>>,
}

fn ones(lane_bits: u32) -> u64 {
    u64::MAX >> (64 - lane_bits)
}

fn signed(bits: u64, lane_bits: u32) -> i64 {
    (bits << (64 - lane_bits)) as i64 >> (64 - lane_bits)
}

/// Applies a function of floats, given for float32 and for float64, to the bits of its arguments.
fn float(ty: Type, args: &[u64], single: impl Fn(&[f32]) -> f32, double: impl Fn(&[f64]) -> f64) -> u64 {
    if ty.lane_type() == types::F32 {
        let args: [f32; 3] =
            std::array::from_fn(|i| f32::from_bits(args.get(i).copied().unwrap_or(0) as u32));
        u64::from(single(&args).to_bits())
    } else {
        double(&std::array::from_fn::<_, 3, _>(|i| f64::from_bits(args.get(i).copied().unwrap_or(0))))
            .to_bits()
    }
}

fn as_f64(ty: Type, bits: u64) -> f64 {
    if ty.lane_type() == types::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

impl<'f> Machine<'f> {
    fn new(function: &'f Function, memory: Vec<Range<u64>>) -> Machine<'f> {
        let slots: Vec<Vec<u64>> = function
            .sized_stack_slots
            .values()
            .map(|slot| vec![0x5a5a_5a5a_5a5a_5a5a; slot.size as usize / 8])
            .collect();
        let frames =
            slots.iter().map(|s| s.as_ptr_range()).map(|r| r.start.addr() as u64..r.end.addr() as u64);
        let memory = memory.into_iter().chain(frames).collect();
        Machine { function, values: vec![[0; 64]; function.dfg.num_values()], memory, slots }
    }

    fn ty(&self, v: Value) -> Type {
        self.function.dfg.value_type(v)
    }

    fn get(&self, v: Value) -> &Bits {
        &self.values[self.function.dfg.resolve_aliases(v).as_u32() as usize]
    }

    fn scalar(&self, v: Value) -> u64 {
        self.get(v)[0]
    }

    fn check(&self, address: u64, bytes: u32) {
        let end = address + u64::from(bytes);
        let inside = self.memory.iter().any(|r| r.start <= address && end <= r.end);
        assert!(inside, "{bytes} bytes at {address:#x} are not the function's");
    }

    fn read(&self, address: u64, lane: u32) -> u64 {
        self.check(address, lane);
        let mut bytes = [0; 8];
        for (i, byte) in bytes.iter_mut().enumerate().take(lane as usize) {
            // SAFETY: `check` has verified that the bytes are in memory that was passed to the function, which outlives
            // the machine.
            *byte = unsafe { std::ptr::with_exposed_provenance::<u8>(address as usize + i).read() };
        }
        u64::from_le_bytes(bytes)
    }

    fn write(&self, address: u64, lane: u32, bits: u64) {
        self.check(address, lane);
        for (i, byte) in bits.to_le_bytes().into_iter().enumerate().take(lane as usize) {
            // SAFETY: `check` has verified that the bytes are in memory that was passed to the function, and no other
            // code accesses it while the function runs.
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address as usize + i).write(byte) };
        }
    }

    /// The lanes of a result, each computed by `f` from the same lane of the operands.
    fn lanes(&self, ty: Type, args: &[Value], f: impl Fn(&[u64]) -> u64) -> Bits {
        let mut out = [0; 64];
        let args: Vec<&Bits> = args.iter().map(|&v| self.get(v)).collect();
        for (i, out) in out.iter_mut().enumerate().take(ty.lane_count() as usize) {
            let at: [u64; 3] = std::array::from_fn(|j| args.get(j).map_or(0, |a| a[i]));
            *out = f(&at) & ones(ty.lane_bits());
        }
        out
    }

    fn run(&mut self, args: &[u64]) {
        let layout = &self.function.layout;
        let mut block = layout.entry_block().expect("an entry");
        for (&param, &arg) in self.function.dfg.block_params(block).iter().zip(args) {
            self.values[param.as_u32() as usize][0] = arg;
        }
        loop {
            let mut next = None;
            for inst in layout.block_insts(block) {
                match self.function.dfg.insts[inst] {
                    InstructionData::Jump { destination, .. } => next = Some(destination),
                    InstructionData::Brif { arg, blocks, .. } => {
                        next = Some(blocks[usize::from(self.scalar(arg) == 0)]);
                    }
                    InstructionData::MultiAry { opcode: Opcode::Return, .. } => return,
                    _ => {
                        let value = self.instruction(inst);
                        if let &[result] = self.function.dfg.inst_results(inst) {
                            self.values[result.as_u32() as usize] = value;
                        }
                    }
                }
            }
            block = self.enter(next.expect("a terminator"));
        }
    }

    fn enter(&mut self, call: BlockCall) -> cranelift_codegen::ir::Block {
        let pool = &self.function.dfg.value_lists;
        let args: Vec<Bits> = call
            .args(pool)
            .map(|arg| match arg {
                BlockArg::Value(v) => *self.get(v),
                other => panic!("{other:?}"),
            })
            .collect();
        let block = call.block(pool);
        for (&param, arg) in self.function.dfg.block_params(block).iter().zip(args) {
            self.values[param.as_u32() as usize] = arg;
        }
        block
    }

    fn instruction(&mut self, inst: Inst) -> Bits {
        let dfg = &self.function.dfg;
        let args = dfg.inst_args(inst);
        let ty = dfg.inst_results(inst).first().map_or(types::I64, |&v| self.ty(v));
        let from = args.first().map_or(ty, |&v| self.ty(v));
        let one = |bits: u64| std::array::from_fn(|i| if i == 0 { bits } else { 0 });
        match (dfg.insts[inst].opcode(), dfg.insts[inst]) {
            (_, InstructionData::Load { arg, offset, .. }) => {
                let address = self.scalar(arg).wrapping_add_signed(i64::from(i32::from(offset)));
                self.load(ty, address, ty.lane_count())
            }
            (_, InstructionData::Store { args: [value, pointer], offset, .. }) => {
                let address = self.scalar(pointer).wrapping_add_signed(i64::from(i32::from(offset)));
                self.store(value, address, from.lane_count());
                [0; 64]
            }
            (_, InstructionData::StackAddr { stack_slot, offset, .. }) => {
                let slot = &self.slots[stack_slot.as_u32() as usize];
                let start = slot.as_ptr().expose_provenance() as u64;
                one(start.wrapping_add_signed(i64::from(i32::from(offset))))
            }
            (_, InstructionData::UnaryConst { constant_handle, .. }) => {
                let bytes = dfg.constants.get(constant_handle).as_slice();
                assert_eq!(bytes.len(), ty.bytes() as usize);
                unpacked(bytes, ty)
            }
            (Opcode::Iconst, InstructionData::UnaryImm { imm, .. }) => {
                one(imm.bits() as u64 & ones(ty.lane_bits()))
            }
            (Opcode::Bitcast, _) => unpacked(&packed(self.get(args[0]), from), ty),
            (Opcode::VanyTrue, _) => one(u64::from(self.get(args[0]).iter().any(|&lane| lane != 0))),
            (Opcode::VhighBits, _) => {
                let (lanes, top) = (from.lane_count() as usize, from.lane_bits() - 1);
                let bits =
                    self.get(args[0])[..lanes].iter().rev().fold(0, |all, lane| 2 * all + (lane >> top & 1));
                one(bits)
            }
            (_, InstructionData::IntCompare { cond, .. }) => {
                self.compare(inst, ty, |a, b| compare(cond, from, a, b))
            }
            (_, InstructionData::FloatCompare { cond, .. }) => {
                self.compare(inst, ty, |a, b| compare_floats(cond, as_f64(from, a), as_f64(from, b)))
            }
            (Opcode::Ishl | Opcode::Ushr | Opcode::Sshr, _) => {
                let (bits, opcode) = (ty.lane_bits(), dfg.insts[inst].opcode());
                assert!(!ty.is_vector() || bits > 8, "a shift of bytes");
                let count = self.scalar(args[1]) % u64::from(bits);
                self.lanes(ty, &args[..1], |x| match opcode {
                    Opcode::Ishl => x[0] << count,
                    Opcode::Ushr => x[0] >> count,
                    _ => (signed(x[0], bits) >> count) as u64,
                })
            }
            (Opcode::Call, _) => {
                let intrinsic = intrinsic_of(self.function, inst).expect("a call of an intrinsic");
                self.intrinsic(intrinsic, args, ty)
            }
            (Opcode::CallIndirect, _) => {
                let (entry, given) = (self.scalar(args[0]) as usize, &args[1..]);
                let given: Vec<u64> = given.iter().map(|&v| self.scalar(v)).collect();
                let entry = std::ptr::with_exposed_provenance::<()>(entry);
                match given[..] {
                    // SAFETY: only the helper of slow paths is called with three words. The address is that of a
                    // function with this signature, the first word points to a frame in this machine's slots, the
                    // second is the length of the frame, and the third is the address of a function of the type that
                    // the helper expects.
                    [a, b, c] => unsafe {
                        std::mem::transmute::<*const (), unsafe extern "C" fn(u64, u64, u64)>(entry)(a, b, c);
                    },
                    // SAFETY: only host functions and the helper that notes faults are called with four words. The
                    // address is that of such a function, and the pointers point into this machine's slots and the
                    // caller's fault bytes.
                    [a, b, c, d] => unsafe {
                        std::mem::transmute::<*const (), unsafe extern "C" fn(u64, u64, u64, u64)>(entry)(
                            a, b, c, d,
                        );
                    },
                    _ => panic!("a call with {} arguments", given.len()),
                }
                [0; 64]
            }
            (opcode, _) => self.arithmetic(opcode, args, ty, from),
        }
    }

    fn arithmetic(&self, opcode: Opcode, args: &[Value], ty: Type, from: Type) -> Bits {
        let bits = ty.lane_bits();
        let s = |x: u64| signed(x, bits);
        let int = |f: &dyn Fn(u64, u64) -> u64| self.lanes(ty, args, |x| f(x[0], x[1]));
        let floats = |single: fn(&[f32]) -> f32, double: fn(&[f64]) -> f64| {
            self.lanes(ty, args, |x| float(ty, x, single, double))
        };
        let single = ty.lane_type() == types::F32;
        match opcode {
            Opcode::Iadd => int(&u64::wrapping_add),
            Opcode::Isub => int(&u64::wrapping_sub),
            Opcode::Imul if !ty.is_vector() || bits > 8 => int(&u64::wrapping_mul),
            Opcode::AvgRound if bits <= 16 => int(&|a, b| (a + b + 1) >> 1),
            Opcode::Band => int(&|a, b| a & b),
            Opcode::Bor => int(&|a, b| a | b),
            Opcode::Bxor => int(&|a, b| a ^ b),
            Opcode::Bnot => int(&|a, _| !a),
            Opcode::Smin => int(&|a, b| s(a).min(s(b)) as u64),
            Opcode::Smax => int(&|a, b| s(a).max(s(b)) as u64),
            Opcode::Umin => int(&u64::min),
            Opcode::Umax => int(&u64::max),
            Opcode::Bitselect => self.lanes(ty, args, |x| x[0] & x[1] | !x[0] & x[2]),
            Opcode::Select if !ty.is_vector() => {
                self.lanes(ty, args, |x| if x[0] != 0 { x[1] } else { x[2] })
            }
            Opcode::Fadd => floats(|x| x[0] + x[1], |x| x[0] + x[1]),
            Opcode::Fsub => floats(|x| x[0] - x[1], |x| x[0] - x[1]),
            Opcode::Fmul => floats(|x| x[0] * x[1], |x| x[0] * x[1]),
            Opcode::Fdiv => floats(|x| x[0] / x[1], |x| x[0] / x[1]),
            Opcode::Fneg => floats(|x| -x[0], |x| -x[0]),
            Opcode::Sqrt => floats(|x| x[0].sqrt(), |x| x[0].sqrt()),
            Opcode::Fma => floats(|x| x[0].mul_add(x[1], x[2]), |x| x[0].mul_add(x[1], x[2])),
            Opcode::Ceil => floats(|x| x[0].ceil(), |x| x[0].ceil()),
            Opcode::Floor => floats(|x| x[0].floor(), |x| x[0].floor()),
            Opcode::Trunc => floats(|x| x[0].trunc(), |x| x[0].trunc()),
            Opcode::Nearest => floats(|x| x[0].round_ties_even(), |x| x[0].round_ties_even()),
            Opcode::FcvtFromSint => {
                self.lanes(ty, args, |x| match (single, signed(x[0], from.lane_bits())) {
                    (true, x) => u64::from((x as f32).to_bits()),
                    (false, x) => (x as f64).to_bits(),
                })
            }
            Opcode::FcvtFromUint => self.lanes(ty, args, |x| match single {
                true => u64::from((x[0] as f32).to_bits()),
                false => (x[0] as f64).to_bits(),
            }),
            Opcode::FcvtToSintSat => self.lanes(ty, args, |x| match (as_f64(from, x[0]), bits) {
                (x, 32) => x as i32 as u64,
                (x, _) => x as i64 as u64,
            }),
            Opcode::FcvtToUintSat => self.lanes(ty, args, |x| match (as_f64(from, x[0]), bits) {
                (x, 32) => u64::from(x as u32),
                (x, _) => x as u64,
            }),
            other => panic!("{other} of {ty} is none of the instructions that there are"),
        }
    }

    fn compare(&self, inst: Inst, ty: Type, holds: impl Fn(u64, u64) -> bool) -> Bits {
        let yes = if ty.is_vector() { u64::MAX } else { 1 };
        self.lanes(ty, self.function.dfg.inst_args(inst), |x| if holds(x[0], x[1]) { yes } else { 0 })
    }

    fn load(&self, ty: Type, address: u64, count: u32) -> Bits {
        let lane = ty.lane_bits() / 8;
        let mut out = [0; 64];
        for (i, out) in out.iter_mut().enumerate().take(count as usize) {
            *out = self.read(address + i as u64 * u64::from(lane), lane);
        }
        out
    }

    fn store(&self, value: Value, address: u64, count: u32) {
        let lane = self.ty(value).lane_bits() / 8;
        for (i, &bits) in self.get(value).iter().enumerate().take(count as usize) {
            self.write(address + i as u64 * u64::from(lane), lane, bits);
        }
    }

    /// The result of an intrinsic, as its description defines it. Lanes of a masked load that have no element are an
    /// exception: they are set to the first element instead of 0, so that a test notices results that depend on them.
    fn intrinsic(&self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Bits {
        let from = self.ty(args[0]);
        let (a, b, n) = (from.lane_bits(), ty.lane_bits(), ty.lane_count());
        let conversion = |holds: bool, f: &dyn Fn(u64) -> u64| {
            assert!(holds && from.lane_count() == n && args.len() == 1, "{intrinsic:?} of {from} to {ty}");
            self.lanes(ty, args, |x| f(x[0]))
        };
        let shift = |f: &dyn Fn(u64, u64) -> u64| {
            assert!(
                from == ty && self.ty(args[1]) == ty && a >= 16 && ty.is_vector(),
                "{intrinsic:?} of {ty}"
            );
            assert!(self.get(args[1]).iter().all(|&count| count < u64::from(a)), "a count beyond the width");
            self.lanes(ty, args, |x| f(x[0], x[1]))
        };
        let ints = from.lane_type().is_int() && ty.lane_type().is_int() && ty.is_vector();
        let left = |v: Value| (self.scalar(v) as i64).clamp(0, 64) as u32;
        match intrinsic {
            Intrinsic::Broadcast => {
                assert!(from == ty.lane_type() && ty.is_vector());
                std::array::from_fn(|i| if i < n as usize { self.scalar(args[0]) } else { 0 })
            }
            Intrinsic::SignExtend => conversion(ints && b > a, &|x| signed(x, a) as u64),
            Intrinsic::ZeroExtend => conversion(ints && b > a, &|x| x),
            Intrinsic::Truncate => conversion(ints && b < a, &|x| x),
            Intrinsic::TruncatePair => {
                let half = from.lane_count() as usize;
                let types = self.ty(args[1]) == from && (b, n) == (a / 2, 2 * half as u32);
                assert!(ints && types && a <= 32 && from.bytes() == 32, "{intrinsic:?} of {from} to {ty}");
                let (x, y) = (self.get(args[0]), self.get(args[1]));
                let at = |j: usize| if j < half { x[j] } else { y[j - half] };
                std::array::from_fn(|j| if j < 2 * half { at(j) & ones(b) } else { 0 })
            }
            Intrinsic::SaturateSigned => {
                conversion(ints && b < a, &|x| signed(x, a).clamp(-1 << (b - 1), (1 << (b - 1)) - 1) as u64)
            }
            Intrinsic::SaturateUnsigned => {
                conversion(ints && b < a, &|x| signed(x, a).clamp(0, ones(b) as i64) as u64)
            }
            Intrinsic::ResizeMask => conversion(ints && a != b, &|x| {
                assert!(x == 0 || x == ones(a), "no mask: {x:#x}");
                if x == 0 { 0 } else { u64::MAX }
            }),
            Intrinsic::Promote => {
                let types = (from.lane_type(), ty.lane_type()) == (types::F32, types::F64);
                conversion(types, &|x| f64::from(f32::from_bits(x as u32)).to_bits())
            }
            Intrinsic::Demote => {
                let types = (from.lane_type(), ty.lane_type()) == (types::F64, types::F32);
                conversion(types, &|x| u64::from((f64::from_bits(x) as f32).to_bits()))
            }
            Intrinsic::HalfToFloat => {
                let types = (from.lane_type(), ty.lane_type()) == (types::I16, types::F32);
                conversion(types, &|x| u64::from(broadloom_math::f16::from_bits(x as u16).to_f32().to_bits()))
            }
            Intrinsic::FloatToHalf => {
                let types = (from.lane_type(), ty.lane_type()) == (types::F32, types::I16);
                conversion(types, &|x| {
                    u64::from(broadloom_math::f16::from_f32(f32::from_bits(x as u32)).to_bits())
                })
            }
            Intrinsic::ShiftLeft => shift(&|x, count| x << count),
            Intrinsic::ShiftRight => shift(&|x, count| x >> count),
            Intrinsic::ShiftRightSigned => shift(&|x, count| (signed(x, a) >> count) as u64),
            Intrinsic::MultiplyHigh => {
                assert!(from == ty && self.ty(args[1]) == ty && a >= 16 && ints, "{intrinsic:?} of {ty}");
                let same = &self.get(args[1])[..n as usize];
                assert!(same.iter().all(|other| *other == same[0]), "lanes that differ");
                self.lanes(ty, args, |x| ((u128::from(x[0]) * u128::from(x[1])) >> a) as u64)
            }
            Intrinsic::Minimum | Intrinsic::Maximum => {
                let floats = from == ty && self.ty(args[1]) == ty && from.lane_type().is_float();
                assert!(floats && a >= 32, "{intrinsic:?} of {from} to {ty}");
                let is_least = intrinsic == Intrinsic::Minimum;
                self.lanes(ty, args, |x| extremum(x[0], x[1], a, is_least))
            }
            Intrinsic::ShiftRightUniform => {
                let counts = self.ty(args[1]);
                assert!(from == ty && a >= 16 && counts.lane_type() == types::I64, "{intrinsic:?} of {ty}");
                let count = self.scalar(args[1]);
                let lanes = &self.get(args[1])[..counts.lane_count() as usize];
                assert!(lanes.iter().all(|&other| other == count), "counts that differ");
                self.lanes(ty, &args[..1], |x| if count < u64::from(a) { x[0] >> count } else { 0 })
            }
            Intrinsic::Piece(i) => {
                let (whole, i) = (from.lane_count(), u32::from(i));
                assert!(from.lane_type() == ty.lane_type() && n < whole && (i + 1) * n <= whole);
                let x = self.get(args[0]);
                std::array::from_fn(|j| if j < n as usize { x[(i * n) as usize + j] } else { 0 })
            }
            Intrinsic::Concat => {
                let half = from.lane_count() as usize;
                assert!(
                    self.ty(args[1]) == from && from.lane_type() == ty.lane_type() && n == 2 * half as u32
                );
                let (x, y) = (self.get(args[0]), self.get(args[1]));
                std::array::from_fn(|j| {
                    if j < half {
                        x[j]
                    } else if j < 2 * half {
                        y[j - half]
                    } else {
                        0
                    }
                })
            }
            Intrinsic::Reverse => {
                assert!(from == ty && a >= 32 && ty.bytes() >= 16, "{intrinsic:?} of {from} to {ty}");
                let (x, n) = (self.get(args[0]), n as usize);
                std::array::from_fn(|j| if j < n { x[n - 1 - j] } else { 0 })
            }
            Intrinsic::EverySecond => {
                let types = from == ty && self.ty(args[1]) == ty;
                assert!(types && a >= 32 && ty.bytes() >= 16, "{intrinsic:?} of {from} to {ty}");
                let (x, y, n) = (self.get(args[0]), self.get(args[1]), n as usize);
                let part = n.min(256 / a as usize);
                let at = |j: usize| {
                    let (start, k) = (j / part * part, 2 * (j % part));
                    if k < part { x[start + k] } else { y[start + k - part + 1] }
                };
                std::array::from_fn(|j| if j < n { at(j) } else { 0 })
            }
            Intrinsic::LoadPart => {
                let count = left(args[1]).min(n);
                let mut out = self.load(ty, self.scalar(args[0]), count);
                if count > 0 {
                    let first = out[0];
                    out[count as usize..n as usize].fill(first);
                }
                out
            }
            Intrinsic::Gather => {
                let (start, size) = (self.scalar(args[0]), u64::from(ty.lane_bits() / 8));
                let positions = self.get(args[1]);
                std::array::from_fn(|j| match (j as u32) < n {
                    true => self.load(ty, start.wrapping_add(positions[j].wrapping_mul(size)), 1)[0],
                    false => 0,
                })
            }
            Intrinsic::StorePart => {
                self.store(args[0], self.scalar(args[1]), left(args[2]).min(from.lane_count()));
                [0; 64]
            }
            Intrinsic::StoreFirst => {
                self.store(args[0], self.scalar(args[1]), 1);
                [0; 64]
            }
            Intrinsic::StoreStream => {
                let address = self.scalar(args[1]);
                assert!(from.bytes() >= 16 && address.is_multiple_of(u64::from(from.bytes())));
                self.store(args[0], address, from.lane_count());
                [0; 64]
            }
        }
    }
}

fn packed(x: &Bits, ty: Type) -> Vec<u8> {
    let lane = (ty.lane_bits() / 8) as usize;
    x[..ty.lane_count() as usize].iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(lane)).collect()
}

fn unpacked(bytes: &[u8], ty: Type) -> Bits {
    assert_eq!(bytes.len(), ty.bytes() as usize);
    let mut out = [0; 64];
    for (out, chunk) in out.iter_mut().zip(bytes.chunks((ty.lane_bits() / 8) as usize)) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        *out = u64::from_le_bytes(word);
    }
    out
}

/// The minimum or maximum of two floats, with −0 smaller than 0. If one of the floats is NaN, the result is
/// unspecified; it is a fixed number here, so that a test notices code that expects a NaN.
fn extremum(a: u64, b: u64, lane_bits: u32, is_least: bool) -> u64 {
    let value = |bits: u64| match lane_bits {
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    };
    let (x, y) = (value(a), value(b));
    match (x.is_nan() || y.is_nan(), x.total_cmp(&y).is_le() == is_least) {
        (true, _) => 0x5a5a_5a5a_5a5a_5a5a & ones(lane_bits),
        (false, true) => a,
        (false, false) => b,
    }
}

fn compare(cond: IntCC, ty: Type, a: u64, b: u64) -> bool {
    let (x, y) = (signed(a, ty.lane_bits()), signed(b, ty.lane_bits()));
    match cond {
        IntCC::Equal => a == b,
        IntCC::NotEqual => a != b,
        IntCC::SignedLessThan => x < y,
        IntCC::SignedLessThanOrEqual => x <= y,
        IntCC::SignedGreaterThan => x > y,
        IntCC::SignedGreaterThanOrEqual => x >= y,
        IntCC::UnsignedLessThan => a < b,
        IntCC::UnsignedLessThanOrEqual => a <= b,
        IntCC::UnsignedGreaterThan => a > b,
        IntCC::UnsignedGreaterThanOrEqual => a >= b,
    }
}

fn compare_floats(cond: FloatCC, a: f64, b: f64) -> bool {
    match cond {
        FloatCC::Equal => a == b,
        FloatCC::NotEqual => a != b,
        FloatCC::LessThan => a < b,
        FloatCC::LessThanOrEqual => a <= b,
        FloatCC::GreaterThan => a > b,
        FloatCC::GreaterThanOrEqual => a >= b,
        FloatCC::Ordered => !a.is_nan() && !b.is_nan(),
        FloatCC::Unordered => a.is_nan() || b.is_nan(),
        other => panic!("fcmp {other} is none of the comparisons that there are"),
    }
}
