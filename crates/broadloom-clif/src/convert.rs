//! Conversions between integers and floats that the target has instructions for. (Other conversions have already been
//! [legalised](crate::legalise).)
//!
//! Integers become floats by rounding once, to nearest even. Floats become integers by truncating and saturating; NaN
//! becomes 0.

use broadloom_ir::DType;
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::{InstBuilder, types};

use crate::value::{Lanes, integer, is_signed, scalar_of};
use crate::vectors::Vectors;

impl Vectors<'_> {
    pub fn int_to_float(&mut self, from: DType, to: DType, x: Lanes) -> Lanes {
        let signed = is_signed(from);
        match (from.size(), to.size()) {
            (4, 8) if !self.layout.is_wide() => {
                let low_first = self.split_halves(x);
                low_first.map(|v| {
                    let v = self.ins().swiden_low(v);
                    self.ins().fcvt_from_sint(types::F64X2, v)
                })
            }
            (8, 4) if !self.layout.is_wide() => {
                self.by_lane(&[x], types::F32X4, |e, s| e.ins().fcvt_from_sint(types::F32, s[0]))
            }
            _ if self.layout.is_wide() => self.converted(x, scalar_of(to), |e, v, ty| match signed {
                true => e.ins().fcvt_from_sint(ty, v),
                false => e.ins().fcvt_from_uint(ty, v),
            }),
            _ => {
                let ty = self.layout.vector_of(to);
                x.map(|v| match signed {
                    true => self.ins().fcvt_from_sint(ty, v),
                    false => self.ins().fcvt_from_uint(ty, v),
                })
            }
        }
    }

    pub fn float_to_int(&mut self, from: DType, to: DType, x: Lanes) -> Lanes {
        let (signed, size) = (is_signed(to), to.size() as u32);
        if !self.layout.is_wide() && size == 8 && self.layout.converts_to_long {
            let x = if from == DType::Float32 { self.float_resize(DType::Float64, x) } else { x };
            return x.map(|v| self.ins().fcvt_to_sint_sat(types::I64X2, v));
        }
        if !self.layout.is_wide() && size == 8 {
            return self.by_lane(&[x], types::I64X2, |e, s| e.ins().fcvt_to_sint_sat(types::I64, s[0]));
        }
        // Floats are first converted to integers of the same width; a narrower result is then computed by saturating in
        // steps.
        let own = from.size() as u32;
        let ty = self.layout.vector(integer(own));
        let mut whole = x.map(|v| match signed || size < own {
            true => self.ins().fcvt_to_sint_sat(ty, v),
            false => self.ins().fcvt_to_uint_sat(ty, v),
        });
        if size == own {
            return whole;
        }
        if self.layout.is_wide() {
            let how = if signed { Intrinsic::SaturateSigned } else { Intrinsic::SaturateUnsigned };
            return self.converted_by(whole, integer(size), how);
        }
        while u32::from(whole.width) > size {
            // The last step saturates to the range of the result's dtype; the steps before it saturate to signed
            // ranges.
            let last = u32::from(whole.width) == 2 * size;
            whole = self.narrow_saturating(whole, signed || !last);
        }
        whole
    }

    /// Converts between float32 and float64.
    pub fn float_resize(&mut self, to: DType, x: Lanes) -> Lanes {
        match (to, self.layout.is_wide()) {
            (DType::Float64, true) => self.converted_by(x, types::F64, Intrinsic::Promote),
            (_, true) => self.converted_by(x, types::F32, Intrinsic::Demote),
            (DType::Float64, false) => {
                let low_first = self.split_halves(x);
                low_first.map(|v| self.ins().fvpromote_low(v))
            }
            (_, false) => {
                let halves = x.map(|v| self.ins().fvdemote(v));
                self.join_halves(halves.with_width(4))
            }
        }
    }
}
