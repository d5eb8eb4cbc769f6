//! The builder of instructions on the lanes of a value, with operations that move lanes between vectors.
//!
//! [`Vectors`] owns the function that is being built, with its constants and intrinsics. All functions here keep the
//! order of lanes, and a value takes exactly as many vectors as its lanes need. Unless a comment says otherwise, a
//! vector has 128 bits.

use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::{
    AbiParam, Endianness, InstBuilder, MemFlagsData, Opcode, Signature, StackSlot, StackSlotData,
    StackSlotKind, Type, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder};
use smallvec::SmallVec;

use crate::constants::Constants;
use crate::intrinsic::Intrinsics;
use crate::value::{LaneLayout, Lanes, MAX_VECTORS, VECTOR, integer};
use broadloom_ir::VectorWidth;

/// Builds a function whose values are lanes of a layout.
pub struct Vectors<'a> {
    pub builder: FunctionBuilder<'a>,
    pub constants: Constants,
    pub layout: LaneLayout,
    /// Whether all lanes of the values being computed are equal. It is set for values that are computed before the loop
    /// over a row.
    pub uniform: bool,
    intrinsics: Intrinsics,
    call_conv: CallConv,
}

/// The flags of loads and stores of elements. Elements are aligned to their own size, as in NumPy, not to the size of
/// vectors, and every address comes from the caller of the code.
pub fn element_flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// The vector type with this scalar type and number of lanes, from 4 to 64.
fn vector(lane: Type, lanes: u32) -> Type {
    lane.by(lanes).unwrap_or(lane)
}

impl<'a> Vectors<'a> {
    pub fn new(builder: FunctionBuilder<'a>, layout: LaneLayout, call_conv: CallConv) -> Vectors<'a> {
        Vectors {
            builder,
            constants: Constants::default(),
            layout,
            uniform: false,
            intrinsics: Intrinsics::new(call_conv),
            call_conv,
        }
    }

    pub fn ins<'b>(&'b mut self) -> FuncInstBuilder<'b, 'a> {
        self.builder.ins()
    }

    pub fn type_of(&self, v: Value) -> Type {
        self.builder.func.dfg.value_type(v)
    }

    /// A vector constant with `bits` in each lane.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.constants.constant(&mut self.builder, ty, bits)
    }

    /// A 128-bit constant with these bytes.
    pub fn constant_vector(&mut self, ty: Type, bytes: [u8; VECTOR as usize]) -> Value {
        self.constants.vector(&mut self.builder, ty, bytes)
    }

    pub fn zero(&mut self, ty: Type) -> Value {
        self.constant(ty, 0)
    }

    /// A constant value of a scalar type, with these bits in each lane.
    pub fn constant_lanes(&mut self, lane: Type, bits: u64) -> Lanes {
        let v = self.constant(self.layout.vector(lane), bits);
        Lanes::new(lane.bytes(), std::iter::repeat_n(v, self.layout.vectors_of(lane.bytes())))
    }

    /// Calls an intrinsic. Returns its result, which has the type `ty`.
    pub fn call(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Value {
        let result = self.intrinsics.call(&mut self.builder, intrinsic, args, Some(ty));
        // The signature has a result, so the call returns one.
        result.unwrap_or_else(|| self.zero(ty))
    }

    /// Calls an intrinsic without a result.
    pub fn run(&mut self, intrinsic: Intrinsic, args: &[Value]) {
        self.intrinsics.call(&mut self.builder, intrinsic, args, None);
    }

    /// Stores the lowest lane of a vector at an address.
    pub fn store_first(&mut self, vector: Value, address: Value) {
        if self.layout.is_wide() {
            return self.run(Intrinsic::StoreFirst, &[vector, address]);
        }
        let first = self.ins().extractlane(vector, 0);
        self.ins().store(element_flags(), first, address, 0);
    }

    /// Calls the function at an address with integer arguments.
    pub fn call_address(&mut self, callee: Value, args: &[Value]) {
        let mut signature = Signature::new(self.call_conv);
        signature.params.extend(args.iter().map(|_| AbiParam::new(types::I64)));
        let signature = self.builder.import_signature(signature);
        self.ins().call_indirect(signature, callee, args);
    }

    /// A stack slot of this many bytes, aligned to 16 bytes.
    pub fn frame(&mut self, bytes: u32) -> StackSlot {
        let align = VECTOR.trailing_zeros() as u8;
        self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, align))
    }

    /// The flags of loads and stores of vectors in stack frames, which are aligned to 16 bytes.
    pub fn frame_flags(&self) -> MemFlagsData {
        if self.layout.is_wide() { element_flags() } else { MemFlagsData::trusted() }
    }

    /// Stores the vectors of a value contiguously to a frame, beginning at the byte offset `at`.
    pub fn store_to_frame(&mut self, frame: Value, at: i32, lanes: &Lanes) {
        let flags = self.frame_flags();
        for (j, &v) in lanes.vectors().iter().enumerate() {
            let bytes = self.type_of(v).bytes() as i32;
            self.ins().store(flags, v, frame, at + j as i32 * bytes);
        }
    }

    /// Loads a value that was stored to a frame, with as many vectors of the same type as `like`.
    pub fn load_from_frame(&mut self, frame: Value, at: i32, like: &Lanes) -> Lanes {
        let flags = self.frame_flags();
        let ty = self.type_of(like.vectors()[0]);
        let places = (0..like.vectors().len() as i32).map(|j| at + j * ty.bytes() as i32);
        let vectors: SmallVec<[Value; 8]> = places.map(|at| self.ins().load(ty, flags, frame, at)).collect();
        Lanes::new(like.width.into(), vectors)
    }

    /// Reinterprets the bits of a vector as another type of the same size.
    pub fn cast_bits(&mut self, ty: Type, v: Value) -> Value {
        if self.type_of(v) == ty {
            return v;
        }
        self.ins().bitcast(ty, MemFlagsData::new().with_endianness(Endianness::Little), v)
    }

    /// Broadcasts a scalar of the type `lane` to every lane.
    pub fn splat_scalar(&mut self, lane: Type, scalar: Value) -> Lanes {
        let ty = self.layout.vector(lane);
        let v = match self.layout.is_wide() {
            true => self.call(Intrinsic::Broadcast, &[scalar], ty),
            false => self.ins().splat(ty, scalar),
        };
        let vectors = std::iter::repeat_n(v, self.layout.vectors_of(lane.bytes()));
        Lanes::new(lane.bytes(), vectors).with_uniform(Some(scalar))
    }

    /// Emits a test of whether any lane of a mask is set. Vector lanes above the value's own are ignored.
    pub fn any(&mut self, m: Lanes) -> Value {
        let own = self.layout.lanes * u32::from(m.width);
        let mut all = m.vectors()[0];
        for &v in &m.vectors()[1..] {
            all = self.ins().bor(all, v);
        }
        if own < self.layout.vector_bytes(m.width.into()) {
            let valid: Vec<u8> = (0..VECTOR).map(|b| if b < own { 0xff } else { 0 }).collect();
            let ty = self.type_of(all);
            let valid = self.constants.in_register(&mut self.builder, ty, &valid);
            all = self.ins().band(all, valid);
        }
        self.ins().vany_true(all)
    }

    /// Computes a value lane by lane: for each lane, calls `f` with the scalars in that lane of the arguments, and
    /// collects the results as vectors of the type `ty`.
    pub fn by_lane(
        &mut self,
        args: &[Lanes],
        ty: Type,
        mut f: impl FnMut(&mut Self, &[Value]) -> Value,
    ) -> Lanes {
        let out_lanes = ty.lane_count();
        let count = self.layout.lanes.div_ceil(out_lanes).max(1);
        let mut vectors = [Value::from_u32(0); MAX_VECTORS];
        for (i, slot) in vectors.iter_mut().enumerate().take(count as usize) {
            let mut out = self.zero(ty);
            for lane in 0..out_lanes.min(self.layout.lanes) {
                let at = i as u32 * out_lanes + lane;
                let scalars: SmallVec<[Value; 2]> = args.iter().map(|a| self.lane(a, at)).collect();
                let y = f(self, &scalars);
                out = self.ins().insertlane(out, y, lane as u8);
            }
            *slot = out;
        }
        Lanes::new(ty.lane_bits() / 8, vectors.into_iter().take(count as usize))
    }

    /// Lane `at` of a value, extracted as a scalar.
    fn lane(&mut self, x: &Lanes, at: u32) -> Value {
        let per_vector = 16 / u32::from(x.width);
        let v = x.vectors()[(at / per_vector) as usize];
        self.ins().extractlane(v, (at % per_vector) as u8)
    }

    /// Converts lanes to another type, vector by vector, with `convert`. If the result takes more vectors than `x`,
    /// each vector is split into subvectors that are converted; if it takes fewer, the results are concatenated. For
    /// vectors of more than 128 bits.
    pub fn converted(
        &mut self,
        x: Lanes,
        lane: Type,
        mut convert: impl FnMut(&mut Self, Value, Type) -> Value,
    ) -> Lanes {
        let (from, to) = (x.vectors().len(), self.layout.vectors_of(lane.bytes()));
        let count = (to / from).max(1);
        let mut out: SmallVec<[Value; MAX_VECTORS]> = SmallVec::new();
        for (at, &v) in x.vectors().iter().enumerate() {
            let ty = self.type_of(v);
            let part = vector(ty.lane_type(), ty.lane_count() / count as u32);
            // Equal vectors are converted once, and so are equal subvectors of one vector.
            let again = at > 0 && x.vectors()[at - 1] == v;
            let same = count > 1 && (self.uniform || self.is_broadcast(v));
            for i in 0..count {
                let known = match (again, same && i > 0) {
                    (true, _) => Some(out[out.len() - count]),
                    (_, true) => out.last().copied(),
                    _ => None,
                };
                let converted = known.unwrap_or_else(|| {
                    let v = if count == 1 { v } else { self.call(Intrinsic::Piece(i as u8), &[v], part) };
                    convert(self, v, vector(lane, part.lane_count()))
                });
                out.push(converted);
            }
        }
        while out.len() > to {
            let pairs: SmallVec<[Value; MAX_VECTORS]> = std::mem::take(&mut out);
            for (at, pair) in pairs.chunks(2).enumerate() {
                let again = at > 0 && pair == &pairs[2 * at - 2..2 * at];
                let ty = vector(lane, 2 * self.type_of(pair[0]).lane_count());
                let whole = if again { out[at - 1] } else { self.call(Intrinsic::Concat, pair, ty) };
                out.push(whole);
            }
        }
        Lanes::new(lane.bytes(), out)
    }

    /// Whether all lanes of a vector are known to be equal, because it is the broadcast of a scalar, possibly converted
    /// a few times.
    fn is_broadcast(&self, mut v: Value) -> bool {
        let dfg = &self.builder.func.dfg;
        for _ in 0..6 {
            let Some(inst) = dfg.value_def(dfg.resolve_aliases(v)).inst() else { return false };
            match dfg.inst_args(inst) {
                _ if dfg.insts[inst].opcode() == Opcode::Load => return false,
                [arg] if !dfg.value_type(*arg).is_vector() => return true,
                [arg] => v = *arg,
                _ => return false,
            }
        }
        false
    }

    /// Converts lanes to another type by an intrinsic with one argument.
    pub fn converted_by(&mut self, x: Lanes, lane: Type, intrinsic: Intrinsic) -> Lanes {
        self.converted(x, lane, |e, v, ty| e.call(intrinsic, &[v], ty))
    }

    /// Resizes integers to `to` bytes per lane: sign-extends, zero-extends, or truncates them. For vectors of any
    /// width.
    pub fn resize_integers(&mut self, x: Lanes, to: u32, signed: bool) -> Lanes {
        let from = u32::from(x.width);
        if self.layout.is_wide() {
            let intrinsic = match (to > from, signed) {
                _ if to == from => return x,
                (false, _) => Intrinsic::Truncate,
                (true, true) => Intrinsic::SignExtend,
                (true, false) => Intrinsic::ZeroExtend,
            };
            let mut x = x.with_uniform(None);
            if self.interleaves(from, to) {
                return if to > from {
                    self.widen_interleaved(x, signed)
                } else {
                    self.narrow_interleaved(x)
                };
            }
            while self.layout.width == VectorWidth::W256
                && (2 * to..8).contains(&u32::from(x.width))
                && x.vectors().len() > 1
            {
                x = self.narrow_pairs(x);
            }
            if u32::from(x.width) == to {
                return x;
            }
            return self.converted_by(x, integer(to), intrinsic);
        }
        let mut x = x.with_uniform(None);
        while u32::from(x.width) < to {
            x = self.widen(x, signed);
        }
        while u32::from(x.width) > to {
            x = self.narrow(x);
        }
        x
    }

    /// Truncates lanes to half their width, two vectors of 256 bits at a time.
    fn narrow_pairs(&mut self, x: Lanes) -> Lanes {
        let width = u32::from(x.width) / 2;
        let mut out = SmallVec::<[Value; MAX_VECTORS]>::new();
        for (at, pair) in x.vectors().chunks(2).enumerate() {
            let again = at > 0 && pair == &x.vectors()[2 * at - 2..2 * at];
            let ty = vector(integer(width), 2 * self.type_of(pair[0]).lane_count());
            let narrow = if again { out[at - 1] } else { self.call(Intrinsic::TruncatePair, pair, ty) };
            out.push(narrow);
        }
        Lanes::new(width, out)
    }

    /// Converts a mask to lanes of `width` bytes. For vectors of any width.
    pub fn resize_mask(&mut self, m: Lanes, width: u32) -> Lanes {
        if self.layout.is_wide() {
            let from = u32::from(m.width);
            return match from == width {
                true => m,
                false if self.interleaves(from, width) => match width > from {
                    true => self.widen_mask_interleaved(m),
                    false => self.narrow_mask_interleaved(m),
                },
                false => self.converted_by(m, integer(width), Intrinsic::ResizeMask),
            };
        }
        let mut m = m;
        while u32::from(m.width) < width {
            m = self.widen(m, true);
        }
        while u32::from(m.width) > width {
            m = match m.width {
                8 => self.pairs(m, |e, a, b| e.even_words(a, b)),
                _ => self.narrow_saturating(m, true),
            };
        }
        m
    }

    /// Extends each lane to twice its width: sign-extends it if `signed`, otherwise zero-extends it.
    pub fn widen(&mut self, x: Lanes, signed: bool) -> Lanes {
        let width = u32::from(x.width) * 2;
        let count = self.layout.vectors_of(width);
        let mut out = SmallVec::<[Value; MAX_VECTORS]>::new();
        for &v in x.vectors() {
            out.push(if signed { self.ins().swiden_low(v) } else { self.ins().uwiden_low(v) });
            if out.len() < count {
                out.push(if signed { self.ins().swiden_high(v) } else { self.ins().uwiden_high(v) });
            }
        }
        out.truncate(count);
        Lanes::new(width, out)
    }

    /// Truncates each lane to half its width.
    pub fn narrow(&mut self, x: Lanes) -> Lanes {
        let width = u32::from(x.width);
        self.pairs(x, |e, a, b| e.narrow_pair(a, b, width))
    }

    /// Truncates each lane of two vectors from `width` bytes to half as many, and packs the lanes of both into one
    /// vector.
    pub fn narrow_pair(&mut self, a: Value, b: Value, width: u32) -> Value {
        if width == 8 {
            return self.even_words(a, b);
        }
        // The packing instructions saturate, which has no effect if the high halves are cleared.
        let ty = self.layout.integer_vector(width);
        let mask = self.constant(ty, if width == 2 { 0xff } else { 0xffff });
        let (a, b) = (self.ins().band(a, mask), self.ins().band(b, mask));
        self.ins().unarrow(a, b)
    }

    /// Narrows signed lanes to half their width, saturating to the signed or the unsigned range.
    pub fn narrow_saturating(&mut self, x: Lanes, signed: bool) -> Lanes {
        self.pairs(x, |e, a, b| if signed { e.ins().snarrow(a, b) } else { e.ins().unarrow(a, b) })
    }

    fn pairs(&mut self, x: Lanes, mut f: impl FnMut(&mut Self, Value, Value) -> Value) -> Lanes {
        let out: SmallVec<[Value; MAX_VECTORS]> =
            x.vectors().chunks(2).map(|pair| f(self, pair[0], pair[pair.len() - 1])).collect();
        Lanes::new(u32::from(x.width) / 2, out)
    }

    /// The even-indexed 32-bit words of two vectors, in one vector.
    fn even_words(&mut self, a: Value, b: Value) -> Value {
        let mask = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
        let v = self.shuffle(a, b, mask);
        self.cast_bits(types::I32X4, v)
    }

    /// Selects bytes of two vectors. For each byte of the result, the mask contains an index into the 32 bytes of `a`
    /// and `b`.
    pub fn shuffle(&mut self, a: Value, b: Value, mask: [u8; 16]) -> Value {
        let (a, b) = (self.cast_bits(types::I8X16, a), self.cast_bits(types::I8X16, b));
        let mask = self.constants.shuffle_mask(&mut self.builder, mask);
        self.ins().shuffle(a, b, mask)
    }

    /// Splits each vector of four 32-bit lanes into two vectors. The low half of each contains two of the lanes; the
    /// high half is unused.
    pub fn split_halves(&mut self, x: Lanes) -> Lanes {
        let count = self.layout.vectors_of(8);
        let mut out = SmallVec::<[Value; MAX_VECTORS]>::new();
        for &v in x.vectors() {
            out.push(v);
            if out.len() < count {
                let ty = self.type_of(v);
                let high = self.shuffle(v, v, [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]);
                out.push(self.cast_bits(ty, high));
            }
        }
        out.truncate(count);
        Lanes::new(8, out)
    }

    /// Joins vectors with two 32-bit lanes in their low halves: the inverse of [`Vectors::split_halves`].
    pub fn join_halves(&mut self, x: Lanes) -> Lanes {
        let out: SmallVec<[Value; MAX_VECTORS]> = x
            .vectors()
            .chunks(2)
            .map(|pair| {
                if pair.len() == 1 {
                    return pair[0];
                }
                let ty = self.type_of(pair[0]);
                let mask = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
                let v = self.shuffle(pair[0], pair[1], mask);
                self.cast_bits(ty, v)
            })
            .collect();
        Lanes::new(4, out)
    }
}
