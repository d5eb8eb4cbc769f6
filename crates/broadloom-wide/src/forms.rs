//! The instructions of the machine that are used, and their forms for each length of vectors.
//!
//! In: nothing. Out: an [`Op`] for each. Must hold: the encodings of an operation for 128, 256 (VEX), 128, 256 and 512 bits
//! (EVEX) are numbered one after the other by the encoder, so the first one names them all; a test reads their names.

use iced_x86::Code;

use crate::machine::Size;

/// An operation, in all its lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    first: Code,
    lengths: Lengths,
    /// Bytes of the scalar that may stand in memory for a whole operand, or 0.
    pub broadcast: u8,
    /// The source that may be memory.
    pub memory: Option<u8>,
    /// Whether the first two sources may change places.
    pub commutes: bool,
    /// How many times the result is half as long as the operation, and the last source.
    result: u8,
    source: u8,
    /// Bytes of general registers: the first operand's, the others'.
    general: [u8; 2],
    /// Bytes of an immediate.
    pub immediate: u8,
    /// Whether it is a product with a sum, of which there are forms for each place of the operands.
    pub product: bool,
}

/// Which encodings there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// One.
    One,
    /// One, of AVX-512.
    OneWide,
    /// VEX for 128 and 256 bits.
    Vex,
    /// EVEX for 128, 256 and 512 bits.
    Evex,
    /// Both, one after the other.
    Both,
    /// Both, the second so many places after the first.
    Apart(u8),
    /// EVEX for 256 and 512 bits.
    Long,
}

impl Op {
    const fn new(first: Code, lengths: Lengths, memory: Option<u8>) -> Op {
        let (result, source, general, immediate) = (0, 0, [8; 2], 1);
        let (broadcast, commutes, product) = (0, false, false);
        Op { first, lengths, broadcast, memory, commutes, result, source, general, immediate, product }
    }

    const fn broadcast(self, bytes: u8) -> Op {
        Op { broadcast: bytes, ..self }
    }

    const fn commutes(self) -> Op {
        Op { commutes: true, ..self }
    }

    /// The result is that many times half as long as the operation, but of 128 bits at least.
    const fn result(self, halvings: u8) -> Op {
        Op { result: halvings, ..self }
    }

    /// The last source is.
    const fn source(self, halvings: u8) -> Op {
        Op { source: halvings, ..self }
    }

    const fn general(self, first: u8, others: u8) -> Op {
        Op { general: [first, others], ..self }
    }

    const fn immediate(self, bytes: u8) -> Op {
        Op { immediate: bytes, ..self }
    }

    /// The length of a vector operand: the first, one between, or the last.
    pub fn length(self, size: Size, place: usize, last: bool) -> Size {
        let halvings = match (place, last) {
            (0, _) => self.result,
            (_, true) => self.source,
            _ => 0,
        };
        match (size, halvings) {
            (size, 0) => size,
            (Size::Z, 1) => Size::Y,
            _ => Size::X,
        }
    }

    /// Bytes of a general register that is an operand.
    pub fn general_bytes(self, place: usize) -> u8 {
        self.general[usize::from(place > 0)]
    }

    const fn product(self) -> Op {
        Op { product: true, ..self }
    }

    /// The encoding for a length: of AVX-512 if `evex` and there is one, else of AVX2 if there is one.
    pub fn code(self, size: Size, evex: bool) -> Option<Code> {
        let place = match (self.lengths, size) {
            (Lengths::OneWide | Lengths::Evex | Lengths::Long, _) if !evex => return None,
            (Lengths::One | Lengths::OneWide, _) => 0,
            (Lengths::Vex, Size::Z) => return None,
            (Lengths::Both, _) if evex => 2 + size as usize,
            (Lengths::Apart(places), _) if evex => places as usize + size as usize,
            (Lengths::Both | Lengths::Apart(_), Size::Z) => return None,
            (Lengths::Long, Size::X) => return None,
            (Lengths::Long, _) => size as usize - 1,
            (Lengths::Vex | Lengths::Evex | Lengths::Both | Lengths::Apart(_), _) => size as usize,
        };
        Code::try_from(self.first as usize + place).ok()
    }

    /// The same product with the operands in other places: 0 for `a·c + b`, 1 for `b·a + c`, 2 for `b·c + a` with the
    /// first operand a.
    pub fn product_form(self, form: usize) -> Op {
        let first =
            PRODUCTS.iter().find(|forms| forms[1].first == self.first).map_or(self.first, |f| f[form].first);
        Op { first, ..self }
    }
}

/// One source, memory or not.
const fn unary(first: Code, lengths: Lengths) -> Op {
    Op::new(first, lengths, Some(0))
}

/// Two sources, the second may be memory.
const fn binary(first: Code, lengths: Lengths) -> Op {
    Op::new(first, lengths, Some(1))
}

/// No source may be memory that is not said to be.
const fn plain(first: Code, lengths: Lengths) -> Op {
    Op::new(first, lengths, None)
}

/// a·b + c, tied to one of them.
const fn product(first: Code, broadcast: u8) -> Op {
    // The encoder counts both floats' VEX forms, then both floats' EVEX forms.
    let apart = if broadcast == 4 { Apart(4) } else { Apart(5) };
    Op::new(first, apart, Some(2)).broadcast(broadcast).product()
}

/// The forms 132, 213 and 231 of each product.
const PRODUCTS: [[Op; 3]; 4] = [
    [
        product(Code::VEX_Vfmadd132ps_xmm_xmm_xmmm128, 4),
        FMADDPS,
        product(Code::VEX_Vfmadd231ps_xmm_xmm_xmmm128, 4),
    ],
    [
        product(Code::VEX_Vfmadd132pd_xmm_xmm_xmmm128, 8),
        FMADDPD,
        product(Code::VEX_Vfmadd231pd_xmm_xmm_xmmm128, 8),
    ],
    [
        product(Code::VEX_Vfnmadd132ps_xmm_xmm_xmmm128, 4),
        FNMADDPS,
        product(Code::VEX_Vfnmadd231ps_xmm_xmm_xmmm128, 4),
    ],
    [
        product(Code::VEX_Vfnmadd132pd_xmm_xmm_xmmm128, 8),
        FNMADDPD,
        product(Code::VEX_Vfnmadd231pd_xmm_xmm_xmmm128, 8),
    ],
];

use Lengths::{Apart, Both, Evex, Long, One, OneWide, Vex};

macro_rules! ops {
    ($($name:ident = $op:expr;)*) => {
        $(pub const $name: Op = $op;)*
        /// Every operation, for tests.
        #[cfg(test)]
        pub const ALL: &[(&str, Op)] = &[$((stringify!($name), $name)),*];
    };
}

ops! {
    // Arithmetic of floats.
    ADDPS = binary(Code::VEX_Vaddps_xmm_xmm_xmmm128, Both).broadcast(4).commutes();
    ADDPD = binary(Code::VEX_Vaddpd_xmm_xmm_xmmm128, Both).broadcast(8).commutes();
    MULPS = binary(Code::VEX_Vmulps_xmm_xmm_xmmm128, Both).broadcast(4).commutes();
    MULPD = binary(Code::VEX_Vmulpd_xmm_xmm_xmmm128, Both).broadcast(8).commutes();
    SUBPS = binary(Code::VEX_Vsubps_xmm_xmm_xmmm128, Both).broadcast(4);
    SUBPD = binary(Code::VEX_Vsubpd_xmm_xmm_xmmm128, Both).broadcast(8);
    DIVPS = binary(Code::VEX_Vdivps_xmm_xmm_xmmm128, Both).broadcast(4);
    DIVPD = binary(Code::VEX_Vdivpd_xmm_xmm_xmmm128, Both).broadcast(8);
    MINPS = binary(Code::VEX_Vminps_xmm_xmm_xmmm128, Both).broadcast(4);
    MINPD = binary(Code::VEX_Vminpd_xmm_xmm_xmmm128, Both).broadcast(8);
    MAXPS = binary(Code::VEX_Vmaxps_xmm_xmm_xmmm128, Both).broadcast(4);
    MAXPD = binary(Code::VEX_Vmaxpd_xmm_xmm_xmmm128, Both).broadcast(8);
    SQRTPS = unary(Code::VEX_Vsqrtps_xmm_xmmm128, Both).broadcast(4);
    SQRTPD = unary(Code::VEX_Vsqrtpd_xmm_xmmm128, Both).broadcast(8);
    FMADDPS = product(Code::VEX_Vfmadd213ps_xmm_xmm_xmmm128, 4);
    FMADDPD = product(Code::VEX_Vfmadd213pd_xmm_xmm_xmmm128, 8);
    FNMADDPS = product(Code::VEX_Vfnmadd213ps_xmm_xmm_xmmm128, 4);
    FNMADDPD = product(Code::VEX_Vfnmadd213pd_xmm_xmm_xmmm128, 8);
    ROUNDPS = unary(Code::VEX_Vroundps_xmm_xmmm128_imm8, Vex);
    RNDSCALEPS = unary(Code::EVEX_Vrndscaleps_xmm_k1z_xmmm128b32_imm8, Evex).broadcast(4);
    ROUNDPD = unary(Code::VEX_Vroundpd_xmm_xmmm128_imm8, Vex);
    RNDSCALEPD = unary(Code::EVEX_Vrndscalepd_xmm_k1z_xmmm128b64_imm8, Evex).broadcast(8);
    CMPPS = binary(Code::VEX_Vcmpps_xmm_xmm_xmmm128_imm8, Both).broadcast(4);
    CMPKPS = binary(Code::EVEX_Vcmpps_kr_k1_xmm_xmmm128b32_imm8, Evex).broadcast(4);
    CMPPD = binary(Code::VEX_Vcmppd_xmm_xmm_xmmm128_imm8, Both).broadcast(8);
    CMPKPD = binary(Code::EVEX_Vcmppd_kr_k1_xmm_xmmm128b64_imm8, Evex).broadcast(8);
    // Arithmetic of integers.
    PADDB = binary(Code::VEX_Vpaddb_xmm_xmm_xmmm128, Both).commutes();
    PSUBB = binary(Code::VEX_Vpsubb_xmm_xmm_xmmm128, Both);
    PADDW = binary(Code::VEX_Vpaddw_xmm_xmm_xmmm128, Both).commutes();
    PSUBW = binary(Code::VEX_Vpsubw_xmm_xmm_xmmm128, Both);
    PADDD = binary(Code::VEX_Vpaddd_xmm_xmm_xmmm128, Both).broadcast(4).commutes();
    PSUBD = binary(Code::VEX_Vpsubd_xmm_xmm_xmmm128, Both).broadcast(4);
    PADDQ = binary(Code::VEX_Vpaddq_xmm_xmm_xmmm128, Both).broadcast(8).commutes();
    PSUBQ = binary(Code::VEX_Vpsubq_xmm_xmm_xmmm128, Both).broadcast(8);
    PMULLW = binary(Code::VEX_Vpmullw_xmm_xmm_xmmm128, Both).commutes();
    PMULLD = binary(Code::VEX_Vpmulld_xmm_xmm_xmmm128, Both).broadcast(4).commutes();
    PMULLQ = binary(Code::EVEX_Vpmullq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8).commutes();
    PMULUDQ = binary(Code::VEX_Vpmuludq_xmm_xmm_xmmm128, Both).broadcast(8).commutes();
    PMINSB = binary(Code::VEX_Vpminsb_xmm_xmm_xmmm128, Both).commutes();
    PMINSW = binary(Code::VEX_Vpminsw_xmm_xmm_xmmm128, Both).commutes();
    PMINSD = binary(Code::VEX_Vpminsd_xmm_xmm_xmmm128, Both).broadcast(4).commutes();
    PMINSQ = binary(Code::EVEX_Vpminsq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8).commutes();
    PMAXSB = binary(Code::VEX_Vpmaxsb_xmm_xmm_xmmm128, Both).commutes();
    PMAXSW = binary(Code::VEX_Vpmaxsw_xmm_xmm_xmmm128, Both).commutes();
    PMAXSD = binary(Code::VEX_Vpmaxsd_xmm_xmm_xmmm128, Both).broadcast(4).commutes();
    PMAXSQ = binary(Code::EVEX_Vpmaxsq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8).commutes();
    PMINUB = binary(Code::VEX_Vpminub_xmm_xmm_xmmm128, Both).commutes();
    PMINUW = binary(Code::VEX_Vpminuw_xmm_xmm_xmmm128, Both).commutes();
    PMINUD = binary(Code::VEX_Vpminud_xmm_xmm_xmmm128, Both).broadcast(4).commutes();
    PMINUQ = binary(Code::EVEX_Vpminuq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8).commutes();
    PMAXUB = binary(Code::VEX_Vpmaxub_xmm_xmm_xmmm128, Both).commutes();
    PMAXUW = binary(Code::VEX_Vpmaxuw_xmm_xmm_xmmm128, Both).commutes();
    PMAXUD = binary(Code::VEX_Vpmaxud_xmm_xmm_xmmm128, Both).broadcast(4).commutes();
    PMAXUQ = binary(Code::EVEX_Vpmaxuq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8).commutes();
    PABSB = unary(Code::VEX_Vpabsb_xmm_xmmm128, Both);
    PABSW = unary(Code::VEX_Vpabsw_xmm_xmmm128, Both);
    PABSD = unary(Code::VEX_Vpabsd_xmm_xmmm128, Both).broadcast(4);
    PABSQ = unary(Code::EVEX_Vpabsq_xmm_k1z_xmmm128b64, Evex).broadcast(8);
    PCMPKB = binary(Code::EVEX_Vpcmpb_kr_k1_xmm_xmmm128_imm8, Evex);
    PCMPUKB = binary(Code::EVEX_Vpcmpub_kr_k1_xmm_xmmm128_imm8, Evex);
    PCMPEQB = binary(Code::VEX_Vpcmpeqb_xmm_xmm_xmmm128, Both);
    PCMPGTB = binary(Code::VEX_Vpcmpgtb_xmm_xmm_xmmm128, Both);
    PCMPKW = binary(Code::EVEX_Vpcmpw_kr_k1_xmm_xmmm128_imm8, Evex);
    PCMPUKW = binary(Code::EVEX_Vpcmpuw_kr_k1_xmm_xmmm128_imm8, Evex);
    PCMPEQW = binary(Code::VEX_Vpcmpeqw_xmm_xmm_xmmm128, Both);
    PCMPGTW = binary(Code::VEX_Vpcmpgtw_xmm_xmm_xmmm128, Both);
    PCMPKD = binary(Code::EVEX_Vpcmpd_kr_k1_xmm_xmmm128b32_imm8, Evex).broadcast(4);
    PCMPUKD = binary(Code::EVEX_Vpcmpud_kr_k1_xmm_xmmm128b32_imm8, Evex).broadcast(4);
    PCMPEQD = binary(Code::VEX_Vpcmpeqd_xmm_xmm_xmmm128, Both).broadcast(4);
    PCMPGTD = binary(Code::VEX_Vpcmpgtd_xmm_xmm_xmmm128, Both).broadcast(4);
    PCMPKQ = binary(Code::EVEX_Vpcmpq_kr_k1_xmm_xmmm128b64_imm8, Evex).broadcast(8);
    PCMPUKQ = binary(Code::EVEX_Vpcmpuq_kr_k1_xmm_xmmm128b64_imm8, Evex).broadcast(8);
    PCMPEQQ = binary(Code::VEX_Vpcmpeqq_xmm_xmm_xmmm128, Both).broadcast(8);
    PCMPGTQ = binary(Code::VEX_Vpcmpgtq_xmm_xmm_xmmm128, Both).broadcast(8);
    // Bits.
    PAND = binary(Code::VEX_Vpand_xmm_xmm_xmmm128, Vex).commutes();
    PANDD = binary(Code::EVEX_Vpandd_xmm_k1z_xmm_xmmm128b32, Evex).broadcast(4).commutes();
    PANDQ = binary(Code::EVEX_Vpandq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8).commutes();
    POR = binary(Code::VEX_Vpor_xmm_xmm_xmmm128, Vex).commutes();
    PORD = binary(Code::EVEX_Vpord_xmm_k1z_xmm_xmmm128b32, Evex).broadcast(4).commutes();
    PORQ = binary(Code::EVEX_Vporq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8).commutes();
    PXOR = binary(Code::VEX_Vpxor_xmm_xmm_xmmm128, Vex).commutes();
    PXORD = binary(Code::EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32, Evex).broadcast(4).commutes();
    PXORQ = binary(Code::EVEX_Vpxorq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8).commutes();
    PANDN = binary(Code::VEX_Vpandn_xmm_xmm_xmmm128, Vex);
    PANDND = binary(Code::EVEX_Vpandnd_xmm_k1z_xmm_xmmm128b32, Evex).broadcast(4);
    PANDNQ = binary(Code::EVEX_Vpandnq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8);
    PTERNLOGD = Op::new(Code::EVEX_Vpternlogd_xmm_k1z_xmm_xmmm128b32_imm8, Evex, Some(2)).broadcast(4);
    PTERNLOGQ = Op::new(Code::EVEX_Vpternlogq_xmm_k1z_xmm_xmmm128b64_imm8, Evex, Some(2)).broadcast(8);
    PSLLW_I = plain(Code::VEX_Vpsllw_xmm_xmm_imm8, Vex);
    PSLLW_KI = unary(Code::EVEX_Vpsllw_xmm_k1z_xmmm128_imm8, Evex);
    PSLLW_X = plain(Code::VEX_Vpsllw_xmm_xmm_xmmm128, Both).source(9);
    PSLLVW = binary(Code::EVEX_Vpsllvw_xmm_k1z_xmm_xmmm128, Evex);
    PSLLD_I = plain(Code::VEX_Vpslld_xmm_xmm_imm8, Vex);
    PSLLD_KI = unary(Code::EVEX_Vpslld_xmm_k1z_xmmm128b32_imm8, Evex).broadcast(4);
    PSLLD_X = plain(Code::VEX_Vpslld_xmm_xmm_xmmm128, Both).source(9);
    PSLLVD = binary(Code::VEX_Vpsllvd_xmm_xmm_xmmm128, Apart(4)).broadcast(4);
    PSLLQ_I = plain(Code::VEX_Vpsllq_xmm_xmm_imm8, Vex);
    PSLLQ_KI = unary(Code::EVEX_Vpsllq_xmm_k1z_xmmm128b64_imm8, Evex).broadcast(8);
    PSLLQ_X = plain(Code::VEX_Vpsllq_xmm_xmm_xmmm128, Both).source(9);
    PSLLVQ = binary(Code::VEX_Vpsllvq_xmm_xmm_xmmm128, Apart(5)).broadcast(8);
    PSRLW_I = plain(Code::VEX_Vpsrlw_xmm_xmm_imm8, Vex);
    PSRLW_KI = unary(Code::EVEX_Vpsrlw_xmm_k1z_xmmm128_imm8, Evex);
    PSRLW_X = plain(Code::VEX_Vpsrlw_xmm_xmm_xmmm128, Both).source(9);
    PSRLVW = binary(Code::EVEX_Vpsrlvw_xmm_k1z_xmm_xmmm128, Evex);
    PSRLD_I = plain(Code::VEX_Vpsrld_xmm_xmm_imm8, Vex);
    PSRLD_KI = unary(Code::EVEX_Vpsrld_xmm_k1z_xmmm128b32_imm8, Evex).broadcast(4);
    PSRLD_X = plain(Code::VEX_Vpsrld_xmm_xmm_xmmm128, Both).source(9);
    PSRLVD = binary(Code::VEX_Vpsrlvd_xmm_xmm_xmmm128, Apart(4)).broadcast(4);
    PSRLQ_I = plain(Code::VEX_Vpsrlq_xmm_xmm_imm8, Vex);
    PSRLQ_KI = unary(Code::EVEX_Vpsrlq_xmm_k1z_xmmm128b64_imm8, Evex).broadcast(8);
    PSRLQ_X = plain(Code::VEX_Vpsrlq_xmm_xmm_xmmm128, Both).source(9);
    PSRLVQ = binary(Code::VEX_Vpsrlvq_xmm_xmm_xmmm128, Apart(5)).broadcast(8);
    PSRAW_I = plain(Code::VEX_Vpsraw_xmm_xmm_imm8, Vex);
    PSRAW_KI = unary(Code::EVEX_Vpsraw_xmm_k1z_xmmm128_imm8, Evex);
    PSRAW_X = plain(Code::VEX_Vpsraw_xmm_xmm_xmmm128, Both).source(9);
    PSRAVW = binary(Code::EVEX_Vpsravw_xmm_k1z_xmm_xmmm128, Evex);
    PSRAD_I = plain(Code::VEX_Vpsrad_xmm_xmm_imm8, Vex);
    PSRAD_KI = unary(Code::EVEX_Vpsrad_xmm_k1z_xmmm128b32_imm8, Evex).broadcast(4);
    PSRAD_X = plain(Code::VEX_Vpsrad_xmm_xmm_xmmm128, Both).source(9);
    PSRAVD = binary(Code::VEX_Vpsravd_xmm_xmm_xmmm128, Both).broadcast(4);
    PSRAQ_KI = unary(Code::EVEX_Vpsraq_xmm_k1z_xmmm128b64_imm8, Evex).broadcast(8);
    PSRAQ_X = plain(Code::EVEX_Vpsraq_xmm_k1z_xmm_xmmm128, Evex).source(9);
    PSRAVQ = binary(Code::EVEX_Vpsravq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8);
    // Conversions.
    PMOVSXBW = unary(Code::VEX_Vpmovsxbw_xmm_xmmm64, Both).source(1);
    PMOVSXBD = unary(Code::VEX_Vpmovsxbd_xmm_xmmm32, Both).source(2);
    PMOVSXBQ = unary(Code::VEX_Vpmovsxbq_xmm_xmmm16, Both).source(3);
    PMOVSXWD = unary(Code::VEX_Vpmovsxwd_xmm_xmmm64, Both).source(1);
    PMOVSXWQ = unary(Code::VEX_Vpmovsxwq_xmm_xmmm32, Both).source(2);
    PMOVSXDQ = unary(Code::VEX_Vpmovsxdq_xmm_xmmm64, Both).source(1);
    PMOVZXBW = unary(Code::VEX_Vpmovzxbw_xmm_xmmm64, Both).source(1);
    PMOVZXBD = unary(Code::VEX_Vpmovzxbd_xmm_xmmm32, Both).source(2);
    PMOVZXBQ = unary(Code::VEX_Vpmovzxbq_xmm_xmmm16, Both).source(3);
    PMOVZXWD = unary(Code::VEX_Vpmovzxwd_xmm_xmmm64, Both).source(1);
    PMOVZXWQ = unary(Code::VEX_Vpmovzxwq_xmm_xmmm32, Both).source(2);
    PMOVZXDQ = unary(Code::VEX_Vpmovzxdq_xmm_xmmm64, Both).source(1);
    PMOVWB = plain(Code::EVEX_Vpmovwb_xmmm64_k1z_xmm, Evex).result(1);
    PMOVDB = plain(Code::EVEX_Vpmovdb_xmmm32_k1z_xmm, Evex).result(2);
    PMOVDW = plain(Code::EVEX_Vpmovdw_xmmm64_k1z_xmm, Evex).result(1);
    PMOVQB = plain(Code::EVEX_Vpmovqb_xmmm16_k1z_xmm, Evex).result(3);
    PMOVQW = plain(Code::EVEX_Vpmovqw_xmmm32_k1z_xmm, Evex).result(2);
    PMOVQD = plain(Code::EVEX_Vpmovqd_xmmm64_k1z_xmm, Evex).result(1);
    PMOVSWB = plain(Code::EVEX_Vpmovswb_xmmm64_k1z_xmm, Evex).result(1);
    PMOVSDB = plain(Code::EVEX_Vpmovsdb_xmmm32_k1z_xmm, Evex).result(2);
    PMOVSDW = plain(Code::EVEX_Vpmovsdw_xmmm64_k1z_xmm, Evex).result(1);
    PMOVSQB = plain(Code::EVEX_Vpmovsqb_xmmm16_k1z_xmm, Evex).result(3);
    PMOVSQW = plain(Code::EVEX_Vpmovsqw_xmmm32_k1z_xmm, Evex).result(2);
    PMOVSQD = plain(Code::EVEX_Vpmovsqd_xmmm64_k1z_xmm, Evex).result(1);
    PMOVUSWB = plain(Code::EVEX_Vpmovuswb_xmmm64_k1z_xmm, Evex).result(1);
    PMOVUSDB = plain(Code::EVEX_Vpmovusdb_xmmm32_k1z_xmm, Evex).result(2);
    PMOVUSDW = plain(Code::EVEX_Vpmovusdw_xmmm64_k1z_xmm, Evex).result(1);
    PMOVUSQB = plain(Code::EVEX_Vpmovusqb_xmmm16_k1z_xmm, Evex).result(3);
    PMOVUSQW = plain(Code::EVEX_Vpmovusqw_xmmm32_k1z_xmm, Evex).result(2);
    PMOVUSQD = plain(Code::EVEX_Vpmovusqd_xmmm64_k1z_xmm, Evex).result(1);
    CVTDQ2PS = unary(Code::VEX_Vcvtdq2ps_xmm_xmmm128, Both).broadcast(4);
    CVTUDQ2PS = unary(Code::EVEX_Vcvtudq2ps_xmm_k1z_xmmm128b32, Evex).broadcast(4);
    CVTDQ2PD = unary(Code::VEX_Vcvtdq2pd_xmm_xmmm64, Both).broadcast(4).source(1);
    CVTUDQ2PD = unary(Code::EVEX_Vcvtudq2pd_xmm_k1z_xmmm64b32, Evex).broadcast(4).source(1);
    CVTQQ2PD = unary(Code::EVEX_Vcvtqq2pd_xmm_k1z_xmmm128b64, Evex).broadcast(8);
    CVTUQQ2PD = unary(Code::EVEX_Vcvtuqq2pd_xmm_k1z_xmmm128b64, Evex).broadcast(8);
    CVTQQ2PS = unary(Code::EVEX_Vcvtqq2ps_xmm_k1z_xmmm128b64, Evex).broadcast(8).result(1);
    CVTUQQ2PS = unary(Code::EVEX_Vcvtuqq2ps_xmm_k1z_xmmm128b64, Evex).broadcast(8).result(1);
    CVTTPS2DQ = unary(Code::VEX_Vcvttps2dq_xmm_xmmm128, Both).broadcast(4);
    CVTTPS2UDQ = unary(Code::EVEX_Vcvttps2udq_xmm_k1z_xmmm128b32, Evex).broadcast(4);
    CVTTPD2QQ = unary(Code::EVEX_Vcvttpd2qq_xmm_k1z_xmmm128b64, Evex).broadcast(8);
    CVTTPD2UQQ = unary(Code::EVEX_Vcvttpd2uqq_xmm_k1z_xmmm128b64, Evex).broadcast(8);
    CVTPS2PD = unary(Code::VEX_Vcvtps2pd_xmm_xmmm64, Both).broadcast(4).source(1);
    CVTPD2PS = unary(Code::VEX_Vcvtpd2ps_xmm_xmmm128, Both).broadcast(8).result(1);
    CVTPH2PS = unary(Code::VEX_Vcvtph2ps_xmm_xmmm64, Both).source(1);
    CVTPS2PH = plain(Code::VEX_Vcvtps2ph_xmmm64_xmm_imm8, Both).result(1);
    // Between lanes.
    PACKSSWB = binary(Code::VEX_Vpacksswb_xmm_xmm_xmmm128, Both);
    PACKSSDW = binary(Code::VEX_Vpackssdw_xmm_xmm_xmmm128, Both).broadcast(4);
    PACKUSWB = binary(Code::VEX_Vpackuswb_xmm_xmm_xmmm128, Both);
    PACKUSDW = binary(Code::VEX_Vpackusdw_xmm_xmm_xmmm128, Both).broadcast(4);
    PUNPCKLQDQ = binary(Code::VEX_Vpunpcklqdq_xmm_xmm_xmmm128, Both).broadcast(8);
    PUNPCKLDQ = binary(Code::VEX_Vpunpckldq_xmm_xmm_xmmm128, Both).broadcast(4);
    PUNPCKLWD = binary(Code::VEX_Vpunpcklwd_xmm_xmm_xmmm128, Both);
    PSHUFB = binary(Code::VEX_Vpshufb_xmm_xmm_xmmm128, Both);
    PERMQ_I = unary(Code::VEX_Vpermq_ymm_ymmm256_imm8, One);
    PSRLDQ = plain(Code::VEX_Vpsrldq_xmm_xmm_imm8, Vex);
    PSRLDQ_E = plain(Code::EVEX_Vpsrldq_xmm_xmmm128_imm8, Evex);
    EXTRACTI128 = plain(Code::VEX_Vextracti128_xmmm128_ymm_imm8, One).result(9);
    INSERTI128 = binary(Code::VEX_Vinserti128_ymm_ymm_xmmm128_imm8, One).source(9);
    EXTRACTI32X4 = plain(Code::EVEX_Vextracti32x4_xmmm128_k1z_ymm_imm8, Long).result(9);
    EXTRACTI64X4 = plain(Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, OneWide).result(1);
    INSERTI32X4 = binary(Code::EVEX_Vinserti32x4_ymm_k1z_ymm_xmmm128_imm8, Long).source(9);
    INSERTI64X4 = binary(Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8, OneWide).source(1);
    // Choice.
    PBLENDMB = binary(Code::EVEX_Vpblendmb_xmm_k1z_xmm_xmmm128, Evex);
    PBLENDMW = binary(Code::EVEX_Vpblendmw_xmm_k1z_xmm_xmmm128, Evex);
    PBLENDMD = binary(Code::EVEX_Vpblendmd_xmm_k1z_xmm_xmmm128b32, Evex).broadcast(4);
    PBLENDMQ = binary(Code::EVEX_Vpblendmq_xmm_k1z_xmm_xmmm128b64, Evex).broadcast(8);
    PBLENDVB = binary(Code::VEX_Vpblendvb_xmm_xmm_xmmm128_xmm, Vex);
    PBLENDW = binary(Code::VEX_Vpblendw_xmm_xmm_xmmm128_imm8, Vex);
    PTEST = plain(Code::VEX_Vptest_xmm_xmmm128, Vex);
    // Moves.
    MOVAPS = unary(Code::VEX_Vmovaps_xmm_xmmm128, Both);
    MOVUPS = unary(Code::VEX_Vmovups_xmm_xmmm128, Both);
    MOVUPS_STORE = plain(Code::VEX_Vmovups_xmmm128_xmm, Both);
    MOVDQU8 = unary(Code::EVEX_Vmovdqu8_xmm_k1z_xmmm128, Evex);
    MOVDQU8_STORE = plain(Code::EVEX_Vmovdqu8_xmmm128_k1z_xmm, Evex);
    MOVDQU16 = unary(Code::EVEX_Vmovdqu16_xmm_k1z_xmmm128, Evex);
    MOVDQU16_STORE = plain(Code::EVEX_Vmovdqu16_xmmm128_k1z_xmm, Evex);
    MOVDQU32 = unary(Code::EVEX_Vmovdqu32_xmm_k1z_xmmm128, Evex);
    MOVDQU32_STORE = plain(Code::EVEX_Vmovdqu32_xmmm128_k1z_xmm, Evex);
    MOVDQU64 = unary(Code::EVEX_Vmovdqu64_xmm_k1z_xmmm128, Evex);
    MOVDQU64_STORE = plain(Code::EVEX_Vmovdqu64_xmmm128_k1z_xmm, Evex);
    MOVD = unary(Code::VEX_Vmovd_xmm_rm32, One).general(4, 4);
    MOVD_E = unary(Code::EVEX_Vmovd_xmm_rm32, OneWide).general(4, 4);
    MOVD_STORE = plain(Code::VEX_Vmovd_rm32_xmm, One).general(4, 4);
    MOVD_STORE_E = plain(Code::EVEX_Vmovd_rm32_xmm, OneWide).general(4, 4);
    MOVQ = unary(Code::VEX_Vmovq_xmm_rm64, One);
    MOVQ_E = unary(Code::EVEX_Vmovq_xmm_rm64, OneWide);
    MOVQ_STORE = plain(Code::VEX_Vmovq_rm64_xmm, One);
    MOVQ_STORE_E = plain(Code::EVEX_Vmovq_rm64_xmm, OneWide);
    MOVNTPS = plain(Code::VEX_Vmovntps_m128_xmm, Both);
    PBROADCASTB = unary(Code::VEX_Vpbroadcastb_xmm_xmmm8, Both).source(9);
    PBROADCASTW = unary(Code::VEX_Vpbroadcastw_xmm_xmmm16, Both).source(9);
    PBROADCASTD = unary(Code::VEX_Vpbroadcastd_xmm_xmmm32, Both).source(9);
    PBROADCASTQ = unary(Code::VEX_Vpbroadcastq_xmm_xmmm64, Apart(5)).source(9);
    PBROADCASTB_G = plain(Code::EVEX_Vpbroadcastb_xmm_k1z_r32, Evex).general(4, 4);
    PBROADCASTW_G = plain(Code::EVEX_Vpbroadcastw_xmm_k1z_r32, Evex).general(4, 4);
    PBROADCASTD_G = plain(Code::EVEX_Vpbroadcastd_xmm_k1z_r32, Evex).general(4, 4);
    PBROADCASTQ_G = plain(Code::EVEX_Vpbroadcastq_xmm_k1z_r64, Evex);
    // Masks.
    KANDB = plain(Code::VEX_Kandb_kr_kr_kr, OneWide).commutes();
    KANDW = plain(Code::VEX_Kandw_kr_kr_kr, OneWide).commutes();
    KANDD = plain(Code::VEX_Kandd_kr_kr_kr, OneWide).commutes();
    KANDQ = plain(Code::VEX_Kandq_kr_kr_kr, OneWide).commutes();
    KANDNB = plain(Code::VEX_Kandnb_kr_kr_kr, OneWide);
    KANDNW = plain(Code::VEX_Kandnw_kr_kr_kr, OneWide);
    KANDND = plain(Code::VEX_Kandnd_kr_kr_kr, OneWide);
    KANDNQ = plain(Code::VEX_Kandnq_kr_kr_kr, OneWide);
    KORB = plain(Code::VEX_Korb_kr_kr_kr, OneWide).commutes();
    KORW = plain(Code::VEX_Korw_kr_kr_kr, OneWide).commutes();
    KORD = plain(Code::VEX_Kord_kr_kr_kr, OneWide).commutes();
    KORQ = plain(Code::VEX_Korq_kr_kr_kr, OneWide).commutes();
    KXORB = plain(Code::VEX_Kxorb_kr_kr_kr, OneWide).commutes();
    KXORW = plain(Code::VEX_Kxorw_kr_kr_kr, OneWide).commutes();
    KXORD = plain(Code::VEX_Kxord_kr_kr_kr, OneWide).commutes();
    KXORQ = plain(Code::VEX_Kxorq_kr_kr_kr, OneWide).commutes();
    KNOTB = plain(Code::VEX_Knotb_kr_kr, OneWide);
    KORTESTB = plain(Code::VEX_Kortestb_kr_kr, OneWide);
    KNOTW = plain(Code::VEX_Knotw_kr_kr, OneWide);
    KORTESTW = plain(Code::VEX_Kortestw_kr_kr, OneWide);
    KNOTD = plain(Code::VEX_Knotd_kr_kr, OneWide);
    KORTESTD = plain(Code::VEX_Kortestd_kr_kr, OneWide);
    KNOTQ = plain(Code::VEX_Knotq_kr_kr, OneWide);
    KORTESTQ = plain(Code::VEX_Kortestq_kr_kr, OneWide);
    KMOVQ = unary(Code::VEX_Kmovq_kr_km64, OneWide);
    KMOVQ_STORE = plain(Code::VEX_Kmovq_m64_kr, OneWide);
    KSHIFTLQ = plain(Code::VEX_Kshiftlq_kr_kr_imm8, OneWide);
    KSHIFTRQ = plain(Code::VEX_Kshiftrq_kr_kr_imm8, OneWide);
    PMOVM2B = plain(Code::EVEX_Vpmovm2b_xmm_kr, Evex);
    PMOVB2M = plain(Code::EVEX_Vpmovb2m_kr_xmm, Evex);
    PMOVM2W = plain(Code::EVEX_Vpmovm2w_xmm_kr, Evex);
    PMOVW2M = plain(Code::EVEX_Vpmovw2m_kr_xmm, Evex);
    PMOVM2D = plain(Code::EVEX_Vpmovm2d_xmm_kr, Evex);
    PMOVD2M = plain(Code::EVEX_Vpmovd2m_kr_xmm, Evex);
    PMOVM2Q = plain(Code::EVEX_Vpmovm2q_xmm_kr, Evex);
    PMOVQ2M = plain(Code::EVEX_Vpmovq2m_kr_xmm, Evex);
    // Integers in general registers.
    MOV = unary(Code::Mov_r64_rm64, One);
    MOV_STORE = plain(Code::Mov_rm64_r64, One);
    MOV_STORE32 = plain(Code::Mov_rm32_r32, One).general(4, 4);
    MOV_STORE16 = plain(Code::Mov_rm16_r16, One).general(2, 2);
    MOV_STORE8 = plain(Code::Mov_rm8_r8, One).general(1, 1);
    MOV32 = unary(Code::Mov_r32_rm32, One).general(4, 4);
    MOVZX8 = unary(Code::Movzx_r32_rm8, One).general(4, 1);
    MOVZX16 = unary(Code::Movzx_r32_rm16, One).general(4, 2);
    MOV_I64 = plain(Code::Mov_r64_imm64, One).immediate(8);
    MOV_I32 = plain(Code::Mov_rm64_imm32, One).immediate(4);
    MOV8_I = plain(Code::Mov_rm8_imm8, One).general(1, 1);
    LEA = plain(Code::Lea_r64_m, One);
    ADD = binary(Code::Add_r64_rm64, One).commutes();
    ADD_I = plain(Code::Add_rm64_imm32, One).immediate(4);
    SUB = binary(Code::Sub_r64_rm64, One);
    IMUL = binary(Code::Imul_r64_rm64, One).commutes();
    AND = binary(Code::And_r64_rm64, One).commutes();
    AND_I = plain(Code::And_rm64_imm32, One).immediate(4);
    SHL_I = plain(Code::Shl_rm64_imm8, One);
    SHR_I = plain(Code::Shr_rm64_imm8, One);
    CMP = binary(Code::Cmp_r64_rm64, One);
    CMP_I = unary(Code::Cmp_rm64_imm32, One).immediate(4);
    CMOVE = binary(Code::Cmove_r64_rm64, One);
    CMOVNE = binary(Code::Cmovne_r64_rm64, One);
    CMOVL = binary(Code::Cmovl_r64_rm64, One);
    CMOVLE = binary(Code::Cmovle_r64_rm64, One);
    CMOVG = binary(Code::Cmovg_r64_rm64, One);
    CMOVGE = binary(Code::Cmovge_r64_rm64, One);
    CMOVB = binary(Code::Cmovb_r64_rm64, One);
    CMOVBE = binary(Code::Cmovbe_r64_rm64, One);
    CMOVA = binary(Code::Cmova_r64_rm64, One);
    CMOVAE = binary(Code::Cmovae_r64_rm64, One);
    BZHI = plain(Code::VEX_Bzhi_r64_rm64_r64, One);
    VZEROUPPER = plain(Code::VEX_Vzeroupper, One);
    RET = plain(Code::Retnq, One);
    PUSH = plain(Code::Push_r64, One);
    POP = plain(Code::Pop_r64, One);
    CALL = plain(Code::Call_rm64, One);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the numbers of the encoder are taken for.
    #[test]
    fn encodings_of_other_lengths_follow_the_first() {
        for &(name, op) in ALL {
            let mnemonic = op.first.mnemonic();
            for (size, letter) in [(Size::X, 'x'), (Size::Y, 'y'), (Size::Z, 'z')] {
                for evex in [false, true] {
                    let Some(code) = op.code(size, evex) else { continue };
                    let text = format!("{code:?}");
                    assert_eq!(code.mnemonic(), mnemonic, "{name}: {text}");
                    if matches!(op.lengths, Lengths::One | Lengths::OneWide) {
                        continue;
                    }
                    let wanted = evex && op.lengths != Lengths::Vex
                        || op.lengths == Lengths::Evex
                        || op.lengths == Lengths::Long;
                    assert_eq!(text.starts_with("EVEX_"), wanted, "{name}: {text}");
                    let widest = ['z', 'y', 'x'].into_iter().find(|l| text.contains(&format!("_{l}mm")));
                    // A shorter operand names the length of some conversions; no other does.
                    assert_eq!(widest, Some(letter), "{name}: {text}");
                    assert_eq!(text.contains("b32"), evex_broadcast(op, wanted) == 4, "{name}: {text}");
                    assert_eq!(text.contains("b64"), evex_broadcast(op, wanted) == 8, "{name}: {text}");
                }
            }
        }
    }

    /// The lengths of operands and immediates are the encoder's.
    #[test]
    fn operands_have_the_lengths_that_the_forms_ask_for() {
        use iced_x86::OpCodeOperandKind as Kind;
        for &(name, op) in ALL {
            for (size, evex) in
                [(Size::X, false), (Size::Y, false), (Size::X, true), (Size::Y, true), (Size::Z, true)]
            {
                let Some(code) = op.code(size, evex) else { continue };
                let info = code.op_code();
                // A tied source is the result; an implied one is none.
                let count = info.op_count() as usize;
                let kinds: Vec<Kind> = (0..count as u32).map(|i| info.op_kind(i)).collect();
                let is_immediate = |k: &Kind| format!("{k:?}").starts_with("imm");
                let operands = kinds.iter().filter(|k| !is_immediate(k)).count();
                for (place, kind) in kinds.iter().enumerate() {
                    let text = format!("{kind:?}");
                    let bytes = match kind {
                        Kind::imm64 => 8,
                        Kind::imm32sex64 => 4,
                        _ => 1,
                    };
                    if is_immediate(kind) {
                        assert_eq!(op.immediate, bytes, "{name}: {text}");
                        continue;
                    }
                    let length = op.length(size, place, place + 1 == operands);
                    match &text[..2] {
                        // One encoding stands for every length.
                        "xm" | "ym" | "zm"
                            if matches!(op.lengths, Lengths::One | Lengths::OneWide)
                                && place + 1 < operands => {}
                        "xm" if matches!(op.lengths, Lengths::One | Lengths::OneWide) => {}
                        "xm" => assert_eq!(length, Size::X, "{name} at {size:?}: operand {place}"),
                        "ym" if matches!(op.lengths, Lengths::One | Lengths::OneWide) => {}
                        "ym" => assert_eq!(length, Size::Y, "{name} at {size:?}: operand {place}"),
                        "zm" if matches!(op.lengths, Lengths::One | Lengths::OneWide) => {}
                        "zm" => assert_eq!(length, Size::Z, "{name} at {size:?}: operand {place}"),
                        "r3" => assert_eq!(op.general_bytes(place), 4, "{name}: operand {place}"),
                        "r1" => assert_eq!(op.general_bytes(place), 2, "{name}: operand {place}"),
                        "r8" => assert_eq!(op.general_bytes(place), 1, "{name}: operand {place}"),
                        "r6" => assert_eq!(op.general_bytes(place), 8, "{name}: operand {place}"),
                        _ => {}
                    }
                }
            }
        }
    }

    fn evex_broadcast(op: Op, evex: bool) -> u8 {
        if evex { op.broadcast } else { 0 }
    }
}
