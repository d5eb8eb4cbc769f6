//! Vector operations that the machine does in one or a few instructions and CLIF has no instruction for.
//!
//! In CLIF an intrinsic is a call of an extern function whose name identifies it. It is pure unless its documentation says otherwise.

use cranelift_codegen::ir::{ExternalName, UserExternalName};

/// Declares the intrinsics and the list of their names.
macro_rules! intrinsics {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A function with a vector signature, called in CLIF, that is lowered to instructions.
        ///
        /// `iA`, `fA` are lanes of A bits, `xN` their number. A vector has 32 to 512 bits; one of less than 128 is in the low
        /// bits of a register, and the bits above are unspecified. A mask is a vector of integers whose lanes are all ones or all
        /// zeros.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Intrinsic {
            $($(#[$doc])* $name,)*
            /// `(T xN) -> T xM`: the i-th subvector; a subvector of a mask is a mask.
            Piece(u8),
        }

        impl Intrinsic {
            /// All intrinsics except [`Piece`], which exists once for each index.
            const NAMED: &[Intrinsic] = &[$($name),*];
        }
    };
}

intrinsics! {
    /// `(T) -> T xN`: the scalar in each lane, as `splat` does. The optimiser would look through a `splat` and leave arithmetic
    /// on narrow integer scalars.
    Broadcast,
    /// `(iA xN) -> iB xN`, B > A: sign extension.
    SignExtend,
    /// `(iA xN) -> iB xN`, B > A: zero extension.
    ZeroExtend,
    /// `(iA xN) -> iB xN`, B < A: the low bits.
    Truncate,
    /// `(iA xN, iA xN) -> iB x2N`, B = A/2, for vectors of 256 bits and A ≤ 32: the low bits of each lane, the first vector's in
    /// the low lanes.
    TruncatePair,
    /// `(iA xN) -> iB xN`, B < A: signed numbers, saturated to the narrower signed range.
    SaturateSigned,
    /// `(iA xN) -> iB xN`, B < A: signed numbers, saturated to the narrower unsigned range.
    SaturateUnsigned,
    /// `(mask xN) -> mask xN`: the same mask with lanes of another width.
    ResizeMask,
    /// `(f32 xN) -> f64 xN`: the same numbers.
    Promote,
    /// `(f64 xN) -> f32 xN`, rounded to nearest even.
    Demote,
    /// `(i16 xN) -> f32 xN`: lanes hold the bits of a float16, and become the same number.
    HalfToFloat,
    /// `(f32 xN) -> i16 xN`: the bits of the nearest float16, ties to even.
    FloatToHalf,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: the first shifted left by the second, whose lanes are less than A.
    ShiftLeft,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: logical right shift by a count less than A.
    ShiftRight,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: arithmetic right shift by a count less than A.
    ShiftRightSigned,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: the high halves of products of unsigned numbers. All lanes of the second vector are
    /// equal.
    MultiplyHigh,
    /// `(fA xN, fA xN) -> fA xN`, A ≥ 32: the smaller number, where −0 is smaller than 0. Unspecified if either is NaN.
    Minimum,
    /// `(fA xN, fA xN) -> fA xN`, A ≥ 32: the larger number, where 0 is larger than −0. Unspecified if either is NaN.
    Maximum,
    /// `(iA xN, i64 xM) -> iA xN`, A ≥ 16: logical right shift by the count in the lowest lane of the second vector, all of whose
    /// lanes are equal. The result is 0 for counts of A and more.
    ShiftRightUniform,
    /// `(T xN, T xN) -> T x2N`: the concatenation, with the first in the low lanes. The concatenation of masks is a mask.
    Concat,
    /// `(T xN) -> T xN`, lanes of 32 or 64 bits: the lanes in reverse order.
    Reverse,
    /// `(T xN, T xN) -> T xN`, lanes of 32 or 64 bits. Each 256 bits of the result (or all of it, if it is shorter) hold the
    /// lanes 0, 2, … of the same bits of the first vector, then the lanes 1, 3, … of the same bits of the second.
    EverySecond,
    /// `(i64, i64) -> T xN`: a masked load of min(left, N) elements at an address, and of none if left ≤ 0. The other lanes are
    /// 0.
    LoadPart,
    /// `(T xN, i64, i64)`: a masked store of min(left, N) elements at an address.
    StorePart,
    /// `(T xN, i64)`: a non-temporal store, at an address that is a multiple of the vector's size.
    StoreStream,
}

use Intrinsic::*;

impl Intrinsic {
    /// The namespace of the intrinsics' names in CLIF.
    pub const NAMESPACE: u32 = 0x77;
    /// The index of the name of [`Piece`] with the index 0.
    const PIECES: u32 = 0x100;

    /// The name of the intrinsic's function in CLIF.
    pub fn name(self) -> UserExternalName {
        let index = match self {
            Piece(place) => Self::PIECES + u32::from(place),
            other => Self::NAMED.iter().position(|&named| named == other).unwrap_or(0) as u32,
        };
        UserExternalName::new(Self::NAMESPACE, index)
    }

    /// The intrinsic with this CLIF name, if it is one.
    pub fn of(name: &UserExternalName) -> Option<Intrinsic> {
        if name.namespace != Self::NAMESPACE {
            return None;
        }
        match name.index.checked_sub(Self::PIECES) {
            Some(place) => u8::try_from(place).ok().map(Piece),
            None => Self::NAMED.get(name.index as usize).copied(),
        }
    }

    /// The intrinsic that an external function of a CLIF function is, if it is one.
    pub fn of_external(function: &cranelift_codegen::ir::Function, name: &ExternalName) -> Option<Intrinsic> {
        match name {
            ExternalName::User(user) => Intrinsic::of(&function.params.user_named_funcs()[*user]),
            _ => None,
        }
    }

    /// Whether the intrinsic has no effect but its result, so that GVN and DCE apply to it.
    pub fn is_pure(self) -> bool {
        !matches!(self, LoadPart | StorePart | StoreStream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_of_one_intrinsic() {
        for intrinsic in Intrinsic::NAMED.iter().copied().chain((0..16).map(Piece)) {
            assert_eq!(Intrinsic::of(&intrinsic.name()), Some(intrinsic));
        }
        assert_eq!(Intrinsic::of(&UserExternalName::new(0, 0)), None);
    }
}
