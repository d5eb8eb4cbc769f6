//! Vector operations for which x86-64 has one or a few instructions but CLIF has none.
//!
//! In CLIF an intrinsic is a call of an extern function whose name identifies it. It is pure unless its documentation
//! says otherwise.

use cranelift_codegen::ir::{ExternalName, UserExternalName};

/// Declares the enum of the intrinsics, and the list of those without a parameter.
macro_rules! intrinsics {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A function on vectors that CLIF code calls, and that is lowered to machine instructions instead of a call.
        ///
        /// In the signatures, `iA` and `fA` are integers and floats of A bits, and `xN` is a vector of N such lanes. A
        /// vector has 32 to 512 bits; one of less than 128 bits is in the low bits of a register, whose other bits are
        /// unspecified. A mask is a vector of integers whose lanes are all ones or all zeros.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Intrinsic {
            $($(#[$doc])* $name,)*
            /// `(T xN) -> T xM`: extracts the i-th subvector of M lanes, counted from 0 at the lowest lanes. A
            /// subvector of a mask is a mask.
            Piece(u8),
        }

        impl Intrinsic {
            /// All intrinsics except [`Piece`], which exists once for each index.
            const NAMED: &[Intrinsic] = &[$($name),*];
        }
    };
}

intrinsics! {
    /// `(T) -> T xN`: the scalar in each lane, as `splat` does. The optimiser would turn vector arithmetic on
    /// `splat`s into scalar arithmetic on narrow integers; this intrinsic is opaque to it.
    Broadcast,
    /// `(iA xN) -> iB xN`, B > A: sign extension.
    SignExtend,
    /// `(iA xN) -> iB xN`, B > A: zero extension.
    ZeroExtend,
    /// `(iA xN) -> iB xN`, B < A: the low B bits of each lane.
    Truncate,
    /// `(iA xN, iA xN) -> iB x2N`, B = A/2, for vectors of 256 bits and A ≤ 32: truncates the lanes of both
    /// vectors to their low B bits, and concatenates the results. Those of the first vector are the low
    /// lanes.
    TruncatePair,
    /// `(iA xN) -> iB xN`, B < A: signed numbers, saturated to the narrower signed range.
    SaturateSigned,
    /// `(iA xN) -> iB xN`, B < A: signed numbers, saturated to the narrower unsigned range.
    SaturateUnsigned,
    /// `(mask xN) -> mask xN`: the same mask with lanes of another width.
    ResizeMask,
    /// `(f32 xN) -> f64 xN`: converts each number exactly.
    Promote,
    /// `(f64 xN) -> f32 xN`: converts each number, rounding to nearest even.
    Demote,
    /// `(i16 xN) -> f32 xN`: converts float16 numbers, given as their bits, exactly to float32.
    HalfToFloat,
    /// `(f32 xN) -> i16 xN`: rounds each number to the nearest float16, ties to even, and returns its bits.
    FloatToHalf,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: left shift. The count for each lane is in the same lane of the
    /// second vector and is less than A.
    ShiftLeft,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: logical right shift. The count for each lane is in the same lane of
    /// the second vector and is less than A.
    ShiftRight,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: arithmetic right shift. The count for each lane is in the same lane
    /// of the second vector and is less than A.
    ShiftRightSigned,
    /// `(iA xN, iA xN) -> iA xN`, A ≥ 16: the high halves of the products of unsigned lanes. The second
    /// vector has one number in all lanes.
    MultiplyHigh,
    /// `(fA xN, fA xN) -> fA xN`, A ≥ 32: the smaller number, where −0 is smaller than 0. The result is unspecified if either
    /// number is NaN.
    Minimum,
    /// `(fA xN, fA xN) -> fA xN`, A ≥ 32: the larger number, where 0 is larger than −0. The result is unspecified if either
    /// number is NaN.
    Maximum,
    /// `(iA xN, i64 xM) -> iA xN`, A ≥ 16: logical right shift by the count in the lowest lane of the second vector, all of whose
    /// lanes are equal. The result is 0 for counts of A and more.
    ShiftRightUniform,
    /// `(T xN, T xN) -> T x2N`: the concatenation, with the first in the low lanes. The concatenation of masks is a mask.
    Concat,
    /// `(T xN) -> T xN`, lanes of 32 or 64 bits: the lanes in reverse order.
    Reverse,
    /// `(T xN, T xN) -> T xN`, lanes of 32 or 64 bits: the even lanes (0, 2, …) of the first vector, followed
    /// by the odd lanes (1, 3, …) of the second. In vectors of more than 256 bits, each 256 bits are treated
    /// as a vector of their own.
    EverySecond,
    /// `(i64, i64) -> T xN`: a masked load. The arguments are an address and a count `left`. The first
    /// min(left, N) lanes of the result are the elements at the address, or none if left ≤ 0; the other lanes
    /// are 0.
    LoadPart,
    /// `(i64, i64 xN) -> T xN`, lanes of 32 or 64 bits: the elements at these positions, counted from the address that is the
    /// first argument. All positions have to be valid.
    Gather,
    /// `(T xN, i64, i64)`: a masked store. The arguments are a vector, an address and a count `left`; the
    /// first min(left, N) lanes are stored.
    StorePart,
    /// `(T xN, i64)`: a non-temporal store of a vector to an address that is a multiple of the vector's size.
    StoreStream,
    /// `(T xN, i64)`: a store of the lowest lane to an address.
    StoreFirst,
}

use Intrinsic::*;

impl Intrinsic {
    /// The namespace of the intrinsics' names in CLIF.
    pub const NAMESPACE: u32 = 0x77;
    /// The index, within the namespace, of the name of the [`Piece`] that extracts the first subvector.
    const PIECES: u32 = 0x100;

    /// The name of the intrinsic's function in CLIF.
    pub fn name(self) -> UserExternalName {
        let index = match self {
            Piece(place) => Self::PIECES + u32::from(place),
            other => Self::NAMED.iter().position(|&named| named == other).unwrap_or(0) as u32,
        };
        UserExternalName::new(Self::NAMESPACE, index)
    }

    /// The intrinsic with this CLIF name; `None` if the name is not an intrinsic's.
    pub fn of(name: &UserExternalName) -> Option<Intrinsic> {
        if name.namespace != Self::NAMESPACE {
            return None;
        }
        match name.index.checked_sub(Self::PIECES) {
            Some(place) => u8::try_from(place).ok().map(Piece),
            None => Self::NAMED.get(name.index as usize).copied(),
        }
    }

    /// The intrinsic of an external function, which is given by the name that a CLIF function has for it; `None` if it
    /// is not an intrinsic.
    pub fn of_external(function: &cranelift_codegen::ir::Function, name: &ExternalName) -> Option<Intrinsic> {
        match name {
            ExternalName::User(user) => Intrinsic::of(&function.params.user_named_funcs()[*user]),
            _ => None,
        }
    }

    /// Whether the intrinsic has no effect but its result, so that GVN and DCE apply to it.
    pub fn is_pure(self) -> bool {
        !self.is_store() && self != LoadPart && self != Gather
    }

    /// Whether the intrinsic writes memory.
    pub(crate) fn is_store(self) -> bool {
        matches!(self, StorePart | StoreStream | StoreFirst)
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
