//! Vector operations that the machine does in one or a few instructions and CLIF has no instruction for.
//!
//! In CLIF an intrinsic is a call of an extern function whose name identifies it. It is pure unless its documentation says otherwise.

use cranelift_codegen::ir::{ExternalName, UserExternalName};

/// Declares the intrinsics, and the list of them.
macro_rules! intrinsics {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A function with a vector signature, called in CLIF, that is lowered to instructions.
        ///
        /// `iA`, `fA` are lanes of A bits, `xN` their number. A vector has 32 to 512 bits; one of less than 128 lies in the low
        /// bits of a register, below anything. A mask is a vector of integers whose lanes are all ones or all zeros.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Intrinsic {
            $($(#[$doc])* $name,)*
            /// `(T xN) -> T xM`: the i-th subvector. Of a mask, a mask.
            Piece(u8),
        }

        impl Intrinsic {
            /// Every intrinsic but [`Piece`], of which there is one for each index.
            const NAMED: &[Intrinsic] = &[$($name),*];
        }
    };
}

intrinsics! {
    /// `(T) -> T xN`: the scalar in each lane, as `splat` does; which the optimiser would look through, and leave scalar
    /// arithmetic on narrow integers.
    Broadcast,
    /// `(iA xN) -> iB xN`, B > A: the same signed number.
    SignExtend,
    /// `(iA xN) -> iB xN`, B > A: the same unsigned number.
    ZeroExtend,
    /// `(iA xN) -> iB xN`, B < A: the low bits.
    Truncate,
    /// `(iA xN, iA xN) -> iB x2N`, B = A/2, for vectors of 256 bits and A ≤ 32: the low bits, the first's in the low lanes.
    TruncatePair,
    /// `(iA xN) -> iB xN`, B < A: the nearest signed number.
    SaturateSigned,
    /// `(iA xN) -> iB xN`, B < A: the unsigned number nearest to the signed one.
    SaturateUnsigned,
    /// `(mask xN) -> mask xN` with lanes of another width: the same mask lanes.
    ResizeMask,
    /// `(f32 xN) -> f64 xN`.
    Promote,
    /// `(f64 xN) -> f32 xN`, rounded to nearest even.
    Demote,
    /// `(i16 xN) -> f32 xN`: the float of the bits of a float16.
    HalfToFloat,
    /// `(f32 xN) -> i16 xN`: the bits of the nearest float16, ties to even.
    FloatToHalf,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: the first shifted left by the second, which is below A.
    ShiftLeft,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: shifted right by a count below A; zeros come in.
    ShiftRight,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: shifted right by a count below A; the sign comes in.
    ShiftRightSigned,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: the high halves of products of unsigned numbers; the lanes of the second are the same.
    MultiplyHigh,
    /// `(fA xN, fA xN) -> fA xN`, A ≥ 32: the lesser, −0 of zeros of both signs; unspecified where either is NaN.
    Minimum,
    /// `(fA xN, fA xN) -> fA xN`, A ≥ 32: the greater, 0 of zeros of both signs; unspecified where either is NaN.
    Maximum,
    /// `(iA xN, i64 xM) -> iA xN`, A ≥ 16: shifted right by the count in the lowest lane of the second, whose lanes are the
    /// same; zeros come in, also for counts of A and more.
    ShiftRightUniform,
    /// `(T xN, T xN) -> T x2N`: the first in the low lanes. Of masks, a mask.
    Concat,
    /// `(T xN) -> T xN`, lanes of 32 or 64 bits: the last lane first.
    Reverse,
    /// `(T xN, T xN) -> T xN`, lanes of 32 or 64 bits: in each 256 bits of the result (in all of it where it has fewer), the lanes 0,
    /// 2, … of these bits of the first, then the lanes 1, 3, … of these bits of the second.
    EverySecond,
    /// `(i64, i64) -> T xN`: a masked load of min(left, N) elements, none if left ≤ 0; further lanes hold 0.
    LoadPart,
    /// `(T xN, i64, i64)`: a masked store of min(left, N) elements at an address.
    StorePart,
    /// `(T xN, i64)`: a non-temporal store, at an address that is a multiple of the vector's size.
    StoreStream,
}

use Intrinsic::*;

impl Intrinsic {
    /// The namespace of the names in CLIF.
    pub const NAMESPACE: u32 = 0x77;
    /// Where the numbers of subvectors begin.
    const PIECES: u32 = 0x100;

    /// The name of its function in CLIF.
    pub fn name(self) -> UserExternalName {
        let index = match self {
            Piece(place) => Self::PIECES + u32::from(place),
            other => Self::NAMED.iter().position(|&named| named == other).unwrap_or(0) as u32,
        };
        UserExternalName::new(Self::NAMESPACE, index)
    }

    /// The intrinsic with this name.
    pub fn of(name: &UserExternalName) -> Option<Intrinsic> {
        if name.namespace != Self::NAMESPACE {
            return None;
        }
        match name.index.checked_sub(Self::PIECES) {
            Some(place) => u8::try_from(place).ok().map(Piece),
            None => Self::NAMED.get(name.index as usize).copied(),
        }
    }

    /// The intrinsic of an external function of the CLIF function.
    pub fn of_external(function: &cranelift_codegen::ir::Function, name: &ExternalName) -> Option<Intrinsic> {
        match name {
            ExternalName::User(user) => Intrinsic::of(&function.params.user_named_funcs()[*user]),
            _ => None,
        }
    }

    /// Whether it only computes, so that GVN and DCE apply to it.
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
