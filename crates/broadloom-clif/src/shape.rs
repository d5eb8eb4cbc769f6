//! Widening, narrowing and splitting of lanes between vectors: of 128 bits, where nothing else is said.
//!
//! In: [`Lanes`] of one width. Out: the same lanes at another. Must hold: lane order is kept, and a value takes
//! exactly the vectors that its lanes need.

use cranelift_codegen::ir::{InstBuilder, Value, types};

use crate::emit::Emitter;
use crate::value::Lanes;

impl Emitter<'_> {
    /// Each lane in twice the bytes.
    pub fn widen(&mut self, x: Lanes, signed: bool) -> Lanes {
        let width = u32::from(x.width) * 2;
        let count = self.layout.vectors_of(width);
        let mut out = smallvec::SmallVec::<[Value; 8]>::new();
        for &v in x.vectors() {
            out.push(if signed {
                self.builder.ins().swiden_low(v)
            } else {
                self.builder.ins().uwiden_low(v)
            });
            if out.len() < count {
                out.push(if signed {
                    self.builder.ins().swiden_high(v)
                } else {
                    self.builder.ins().uwiden_high(v)
                });
            }
        }
        out.truncate(count);
        Lanes::new(width, out)
    }

    /// The low half of each lane's bits.
    pub fn narrow(&mut self, x: Lanes) -> Lanes {
        let width = u32::from(x.width);
        self.pairs(x, |e, a, b| e.narrow_pair(a, b, width))
    }

    /// Two vectors of lanes to one with the low halves; `width` in bytes before.
    pub fn narrow_pair(&mut self, a: Value, b: Value, width: u32) -> Value {
        if width == 8 {
            return self.even_words(a, b);
        }
        // The packing instructions saturate: with the high half cleared there is nothing to saturate.
        let ty = self.layout.integer_vector(width);
        let mask = self.constant(ty, if width == 2 { 0xff } else { 0xffff });
        let (a, b) = (self.builder.ins().band(a, mask), self.builder.ins().band(b, mask));
        self.builder.ins().unarrow(a, b)
    }

    /// Saturates signed lanes into half the bytes, to the signed or the unsigned range.
    pub fn narrow_saturating(&mut self, x: Lanes, signed: bool) -> Lanes {
        self.pairs(
            x,
            |e, a, b| {
                if signed { e.builder.ins().snarrow(a, b) } else { e.builder.ins().unarrow(a, b) }
            },
        )
    }

    fn pairs(&mut self, x: Lanes, mut f: impl FnMut(&mut Self, Value, Value) -> Value) -> Lanes {
        let out: smallvec::SmallVec<[Value; 8]> =
            x.vectors().chunks(2).map(|pair| f(self, pair[0], pair[pair.len() - 1])).collect();
        Lanes::new(u32::from(x.width) / 2, out)
    }

    /// The even 32-bit words of two vectors.
    fn even_words(&mut self, a: Value, b: Value) -> Value {
        let mask = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
        let v = self.shuffle(a, b, mask);
        self.cast_bits(types::I32X4, v)
    }

    /// Picks bytes of two vectors.
    pub(crate) fn shuffle(&mut self, a: Value, b: Value, mask: [u8; 16]) -> Value {
        let (a, b) = (self.cast_bits(types::I8X16, a), self.cast_bits(types::I8X16, b));
        let mask = self.shuffle_mask(mask);
        self.builder.ins().shuffle(a, b, mask)
    }

    /// A mask whose lanes have another width; for vectors of any.
    pub fn resize(&mut self, m: Lanes, width: u32) -> Lanes {
        if self.layout.is_wide() {
            return self.resize_mask(m, width);
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

    /// 8- and 16-bit unsigned lanes as 32-bit ones; for vectors of any width.
    pub fn widen_unsigned_to_i32(&mut self, x: Lanes) -> Lanes {
        if self.layout.is_wide() {
            return self.resize_integers(x, 4, false);
        }
        let mut x = x;
        while x.width < 4 {
            x = self.widen(x, false);
        }
        x
    }

    /// Vectors of four 32-bit lanes as vectors with two of them each, in the low half.
    pub fn split_halves(&mut self, x: Lanes) -> Lanes {
        let count = self.layout.vectors_of(8);
        let mut out = smallvec::SmallVec::<[Value; 8]>::new();
        for &v in x.vectors() {
            out.push(v);
            if out.len() < count {
                let ty = self.builder.func.dfg.value_type(v);
                let high = self.shuffle(v, v, [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]);
                out.push(self.cast_bits(ty, high));
            }
        }
        out.truncate(count);
        Lanes::new(8, out)
    }

    /// The inverse of [`Emitter::split_halves`].
    pub fn join_halves(&mut self, x: Lanes) -> Lanes {
        let out: smallvec::SmallVec<[Value; 8]> = x
            .vectors()
            .chunks(2)
            .map(|pair| {
                let ty = self.builder.func.dfg.value_type(pair[0]);
                if pair.len() == 1 {
                    return pair[0];
                }
                let v =
                    self.shuffle(pair[0], pair[1], [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]);
                self.cast_bits(ty, v)
            })
            .collect();
        Lanes::new(4, out)
    }

    /// `a` where the mask's bits are set, else `b`; for vectors of any width.
    pub fn bit_select(&mut self, m: Lanes, a: Lanes, b: Lanes) -> Lanes {
        let vectors = m.vectors().iter().zip(a.vectors()).zip(b.vectors());
        let out: smallvec::SmallVec<[Value; 8]> = vectors
            .map(|((&m, &x), &y)| {
                let ty = self.builder.func.dfg.value_type(x);
                let m = self.cast_bits(ty, m);
                self.builder.ins().bitselect(m, x, y)
            })
            .collect();
        Lanes::new(a.width.into(), out)
    }
}
