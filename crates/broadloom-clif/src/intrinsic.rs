//! What CLIF has no instruction for, in vectors of more than 128 bits.
//!
//! In: values. Out: calls of the functions that stand for instructions ([`Intrinsic`]), and conversions of lanes made of
//! them. Must hold: equal calls of pure ones are one call, since the optimiser doesn't merge calls; so that its value
//! reaches all uses, none is made in a cold block.

use std::collections::HashMap;

use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, InstBuilder, Opcode, SigRef, Signature, Type, Value,
};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::emit::Emitter;
use crate::value::{Lanes, MAX_VECTORS, integer};

/// The types of a call: of its arguments, and of the result.
type Types = (SmallVec<[Type; 3]>, Option<Type>);

/// The functions that are called, and the results so far.
#[derive(Default)]
pub(crate) struct Intrinsics {
    signatures: HashMap<Types, SigRef, FxBuildHasher>,
    functions: HashMap<(Intrinsic, SigRef), FuncRef, FxBuildHasher>,
    results: HashMap<(FuncRef, SmallVec<[Value; 2]>), Value, FxBuildHasher>,
}

impl Emitter<'_> {
    /// What an intrinsic with a result gives.
    pub(crate) fn call(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Value {
        let function = self.function(intrinsic, args, Some(ty));
        if !intrinsic.is_pure() {
            return self.result_of(function, args);
        }
        let key = (function, SmallVec::from_slice(args));
        if let Some(&known) = self.intrinsics.results.get(&key) {
            return known;
        }
        let result = self.result_of(function, args);
        self.intrinsics.results.insert(key, result);
        result
    }

    /// Runs an intrinsic without a result.
    pub(crate) fn run(&mut self, intrinsic: Intrinsic, args: &[Value]) {
        let function = self.function(intrinsic, args, None);
        self.builder.ins().call(function, args);
    }

    fn result_of(&mut self, function: FuncRef, args: &[Value]) -> Value {
        let call = self.builder.ins().call(function, args);
        self.builder.func.dfg.first_result(call)
    }

    fn function(&mut self, intrinsic: Intrinsic, args: &[Value], result: Option<Type>) -> FuncRef {
        let types = args.iter().map(|&v| self.builder.func.dfg.value_type(v)).collect();
        let call_conv = self.call_conv;
        let func = &mut self.builder.func;
        let signature =
            *self.intrinsics.signatures.entry((types, result)).or_insert_with_key(|(types, result)| {
                let mut signature = Signature::new(call_conv);
                signature.params.extend(types.iter().map(|&ty| AbiParam::new(ty)));
                signature.returns.extend(result.map(AbiParam::new));
                func.import_signature(signature)
            });
        *self.intrinsics.functions.entry((intrinsic, signature)).or_insert_with(|| {
            let name = func.declare_imported_user_function(intrinsic.name());
            let name = ExternalName::user(name);
            func.import_function(ExtFuncData { name, signature, colocated: false, patchable: false })
        })
    }

    /// Lanes of another type, by `convert`: each vector on its own, in pieces where the result takes more vectors, put
    /// together where it takes fewer.
    pub(crate) fn converted(
        &mut self,
        x: Lanes,
        lane: Type,
        mut convert: impl FnMut(&mut Self, Value, Type) -> Value,
    ) -> Lanes {
        let (from, to) = (x.vectors().len(), self.layout.vectors_of(lane.bytes()));
        let mut out: SmallVec<[Value; MAX_VECTORS]> = SmallVec::new();
        for &v in x.vectors() {
            let pieces = (to / from).max(1);
            let ty = self.builder.func.dfg.value_type(v);
            let part = vector(ty.lane_type(), ty.lane_count() / pieces as u32);
            let same = pieces > 1 && self.is_broadcast(v);
            for i in 0..pieces {
                let i = if same { 0 } else { i };
                let v = if pieces == 1 { v } else { self.call(Intrinsic::Piece(i as u8), &[v], part) };
                out.push(convert(self, v, vector(lane, part.lane_count())));
            }
        }
        while out.len() > to {
            out = out
                .chunks(2)
                .map(|pair| {
                    let ty = self.builder.func.dfg.value_type(pair[0]);
                    self.call(Intrinsic::Concat, pair, vector(lane, 2 * ty.lane_count()))
                })
                .collect();
        }
        Lanes::new(lane.bytes(), out)
    }

    /// Whether a vector is known to have the same in each lane: a scalar's broadcast, or a conversion or two of one.
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

    /// Lanes of another type, by an intrinsic of one argument.
    pub(crate) fn converted_by(&mut self, x: Lanes, lane: Type, intrinsic: Intrinsic) -> Lanes {
        self.converted(x, lane, |e, v, ty| e.call(intrinsic, &[v], ty))
    }

    /// Integers of so many bytes: sign- or zero-extended, or their low bits.
    pub(crate) fn resize_integers(&mut self, x: Lanes, to: u32, signed: bool) -> Lanes {
        let from = u32::from(x.width);
        if from == to {
            return x;
        }
        if let Some(bits) = self.constant_bits(&x) {
            let sign = if signed { 64 - 8 * from } else { 0 };
            let bits = ((bits << sign) as i64 >> sign) as u64;
            return self.constant_lanes(to, bits & (u64::MAX >> (64 - 8 * to)));
        }
        let intrinsic = match (to > from, signed) {
            (false, _) => Intrinsic::Truncate,
            (true, true) => Intrinsic::SignExtend,
            (true, false) => Intrinsic::ZeroExtend,
        };
        self.converted_by(x, integer(to), intrinsic)
    }

    /// The truths of a mask, in lanes of so many bytes.
    pub(crate) fn resize_mask(&mut self, m: Lanes, to: u32) -> Lanes {
        if u32::from(m.width) == to {
            return m;
        }
        match self.constant_bits(&m) {
            Some(0) => self.constant_lanes(to, 0),
            Some(_) => self.constant_lanes(to, u64::MAX >> (64 - 8 * to)),
            None => self.converted_by(m, integer(to), Intrinsic::ResizeMask),
        }
    }

    /// A constant of integer lanes.
    fn constant_lanes(&mut self, width: u32, bits: u64) -> Lanes {
        let v = self.constant(self.layout.integer_vector(width), bits);
        Lanes::new(width, std::iter::repeat_n(v, self.layout.vectors_of(width)))
    }
}

/// A vector type, of 4 to 64 lanes.
fn vector(lane: Type, lanes: u32) -> Type {
    lane.by(lanes).unwrap_or(lane)
}
