//! The vector width of machine code.
//!
//! The whole workspace uses this type. Options specify the widest vectors that may be used; the engine limits that once
//! to the width of the [target](VectorWidth::target), and everything after that (costs, cache keys, the emitter) uses
//! the limited width. A width changes speed, never bits.

use std::fmt;

/// The number of bits in a vector.
///
/// ```
/// use broadloom_ir::VectorWidth;
///
/// assert!(VectorWidth::W128 < VectorWidth::W512 && VectorWidth::W128 <= VectorWidth::target());
/// assert_eq!((VectorWidth::W256.bits(), VectorWidth::W256.bytes()), (256, 32));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VectorWidth {
    /// 128 bits: SSE and AVX of x86-64, NEON of aarch64.
    W128,
    /// 256 bits: AVX2, FMA, F16C and BMI2.
    W256,
    /// 512 bits: AVX-512 F, BW, DQ and VL, and the extensions of 256 bits.
    W512,
}

impl VectorWidth {
    /// All widths, the narrowest first.
    pub const ALL: [VectorWidth; 3] = [VectorWidth::W128, VectorWidth::W256, VectorWidth::W512];

    /// The number of bytes in a vector.
    pub const fn bytes(self) -> u32 {
        match self {
            VectorWidth::W128 => 16,
            VectorWidth::W256 => 32,
            VectorWidth::W512 => 64,
        }
    }

    /// The number of bits in a vector.
    pub const fn bits(self) -> u32 {
        8 * self.bytes()
    }

    /// The name in command lines, which is the number of bits.
    pub const fn name(self) -> &'static str {
        match self {
            VectorWidth::W128 => "128",
            VectorWidth::W256 => "256",
            VectorWidth::W512 => "512",
        }
    }

    /// The width with this number of bits, if there is one.
    ///
    /// ```
    /// use broadloom_ir::VectorWidth;
    ///
    /// assert_eq!(VectorWidth::from_bits(256), Some(VectorWidth::W256));
    /// assert_eq!(VectorWidth::from_bits(64), None);
    /// ```
    pub fn from_bits(bits: u32) -> Option<VectorWidth> {
        VectorWidth::ALL.into_iter().find(|width| width.bits() == bits)
    }

    /// The width of the widest vectors that this CPU supports. It supports all smaller widths as well.
    pub fn target() -> VectorWidth {
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! has {
                ($($feature:tt),*) => { $(is_x86_feature_detected!($feature))&&* };
            }
            if has!("avx2", "fma", "f16c", "bmi2") {
                let wide = has!("avx512f", "avx512bw", "avx512dq", "avx512vl");
                return if wide { VectorWidth::W512 } else { VectorWidth::W256 };
            }
        }
        VectorWidth::W128
    }

    /// The reason why this width can't be used on a CPU whose widest vectors are `target`; `None` if the CPU supports it.
    pub fn missing_on(self, target: VectorWidth) -> Option<String> {
        (self > target).then(|| format!("this CPU has vectors of {target} bits"))
    }

    /// The widths that this CPU supports, the narrowest first.
    pub fn of_target() -> impl Iterator<Item = VectorWidth> {
        VectorWidth::ALL.into_iter().filter(|&width| width <= VectorWidth::target())
    }
}

impl fmt::Display for VectorWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_ordered_by_their_bits() {
        assert_eq!(VectorWidth::ALL.map(VectorWidth::bits), [128, 256, 512]);
        assert!(VectorWidth::ALL.is_sorted());
        assert_eq!(VectorWidth::ALL.map(|width| width.to_string()), ["128", "256", "512"]);
        assert_eq!(VectorWidth::ALL.map(|w| VectorWidth::from_bits(w.bits())), VectorWidth::ALL.map(Some));
    }

    #[test]
    fn the_target_has_every_width_up_to_its_widest() {
        let widths: Vec<VectorWidth> = VectorWidth::of_target().collect();
        assert_eq!(widths, VectorWidth::ALL[..widths.len()]);
        assert_eq!(widths.last(), Some(&VectorWidth::target()));
    }
}
