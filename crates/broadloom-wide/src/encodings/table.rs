//! The encoding table: one row for each machine instruction that the back end emits, with every code named.
//!
//! Names are the mnemonics without the leading `V`. Suffixes tell apart operand forms of one mnemonic: `_I` and `_KI` shift by an
//! immediate (VEX and EVEX), `_X` by a count in a vector's lowest lane, `_G` reads a general register, `_STORE` writes memory,
//! `_E` is the EVEX form of an instruction whose VEX form has a row of its own.

use super::encoding::{Codes, Encoding, TO_128};
use iced_x86::Code;

/// Expands the codes of a table row: a single code for all vector lengths, or one code for each length with
/// the VEX and with the EVEX prefix.
macro_rules! codes {
    (any: $code:ident) => {
        Codes::single(Code::$code)
    };
    (avx512: $code:ident) => {
        Codes::single_avx512(Code::$code)
    };
    (vex: $x:ident, $y:ident) => {
        Codes::vex(Code::$x, Code::$y)
    };
    (evex: $x:ident, $y:ident, $z:ident) => {
        Codes::evex(Code::$x, Code::$y, Code::$z)
    };
    (evex: -, $y:ident, $z:ident) => {
        Codes::evex(Code::INVALID, Code::$y, Code::$z)
    };
    (vex: $x:ident, $y:ident; evex: $ex:ident, $ey:ident, $ez:ident) => {
        Codes::vex(Code::$x, Code::$y).with_evex(Code::$ex, Code::$ey, Code::$ez)
    };
}

macro_rules! encodings {
    ($($name:ident = $shape:ident($($codes:tt)*) $(.$property:ident($($value:tt)*))*;)*) => {
        $(pub(crate) const $name: Encoding = Encoding::$shape(codes!($($codes)*)) $(.$property($($value)*))*;)*
        /// Every encoding with its name, for tests.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, Encoding)] = &[$((stringify!($name), $name)),*];
    };
}

encodings! {
    // Float arithmetic.
    ADDPS = binary(vex: VEX_Vaddps_xmm_xmm_xmmm128, VEX_Vaddps_ymm_ymm_ymmm256;
        evex: EVEX_Vaddps_xmm_k1z_xmm_xmmm128b32, EVEX_Vaddps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4).commutes();
    ADDPD = binary(vex: VEX_Vaddpd_xmm_xmm_xmmm128, VEX_Vaddpd_ymm_ymm_ymmm256;
        evex: EVEX_Vaddpd_xmm_k1z_xmm_xmmm128b64, EVEX_Vaddpd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8).commutes();
    MULPS = binary(vex: VEX_Vmulps_xmm_xmm_xmmm128, VEX_Vmulps_ymm_ymm_ymmm256;
        evex: EVEX_Vmulps_xmm_k1z_xmm_xmmm128b32, EVEX_Vmulps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4).commutes();
    MULPD = binary(vex: VEX_Vmulpd_xmm_xmm_xmmm128, VEX_Vmulpd_ymm_ymm_ymmm256;
        evex: EVEX_Vmulpd_xmm_k1z_xmm_xmmm128b64, EVEX_Vmulpd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8).commutes();
    SUBPS = binary(vex: VEX_Vsubps_xmm_xmm_xmmm128, VEX_Vsubps_ymm_ymm_ymmm256;
        evex: EVEX_Vsubps_xmm_k1z_xmm_xmmm128b32, EVEX_Vsubps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    SUBPD = binary(vex: VEX_Vsubpd_xmm_xmm_xmmm128, VEX_Vsubpd_ymm_ymm_ymmm256;
        evex: EVEX_Vsubpd_xmm_k1z_xmm_xmmm128b64, EVEX_Vsubpd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    DIVPS = binary(vex: VEX_Vdivps_xmm_xmm_xmmm128, VEX_Vdivps_ymm_ymm_ymmm256;
        evex: EVEX_Vdivps_xmm_k1z_xmm_xmmm128b32, EVEX_Vdivps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    DIVPD = binary(vex: VEX_Vdivpd_xmm_xmm_xmmm128, VEX_Vdivpd_ymm_ymm_ymmm256;
        evex: EVEX_Vdivpd_xmm_k1z_xmm_xmmm128b64, EVEX_Vdivpd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    MINPS = binary(vex: VEX_Vminps_xmm_xmm_xmmm128, VEX_Vminps_ymm_ymm_ymmm256;
        evex: EVEX_Vminps_xmm_k1z_xmm_xmmm128b32, EVEX_Vminps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae).broadcast(4);
    MINPD = binary(vex: VEX_Vminpd_xmm_xmm_xmmm128, VEX_Vminpd_ymm_ymm_ymmm256;
        evex: EVEX_Vminpd_xmm_k1z_xmm_xmmm128b64, EVEX_Vminpd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae).broadcast(8);
    MAXPS = binary(vex: VEX_Vmaxps_xmm_xmm_xmmm128, VEX_Vmaxps_ymm_ymm_ymmm256;
        evex: EVEX_Vmaxps_xmm_k1z_xmm_xmmm128b32, EVEX_Vmaxps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae).broadcast(4);
    MAXPD = binary(vex: VEX_Vmaxpd_xmm_xmm_xmmm128, VEX_Vmaxpd_ymm_ymm_ymmm256;
        evex: EVEX_Vmaxpd_xmm_k1z_xmm_xmmm128b64, EVEX_Vmaxpd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae).broadcast(8);
    RANGEPS = binary(evex: EVEX_Vrangeps_xmm_k1z_xmm_xmmm128b32_imm8, EVEX_Vrangeps_ymm_k1z_ymm_ymmm256b32_imm8,
        EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae).broadcast(4);
    RANGEPD = binary(evex: EVEX_Vrangepd_xmm_k1z_xmm_xmmm128b64_imm8, EVEX_Vrangepd_ymm_k1z_ymm_ymmm256b64_imm8,
        EVEX_Vrangepd_zmm_k1z_zmm_zmmm512b64_imm8_sae).broadcast(8);
    SQRTPS = unary(vex: VEX_Vsqrtps_xmm_xmmm128, VEX_Vsqrtps_ymm_ymmm256;
        evex: EVEX_Vsqrtps_xmm_k1z_xmmm128b32, EVEX_Vsqrtps_ymm_k1z_ymmm256b32,
        EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er).broadcast(4);
    SQRTPD = unary(vex: VEX_Vsqrtpd_xmm_xmmm128, VEX_Vsqrtpd_ymm_ymmm256;
        evex: EVEX_Vsqrtpd_xmm_k1z_xmmm128b64, EVEX_Vsqrtpd_ymm_k1z_ymmm256b64,
        EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er).broadcast(8);
    FMADD132PS = fma(vex: VEX_Vfmadd132ps_xmm_xmm_xmmm128, VEX_Vfmadd132ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfmadd132ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfmadd132ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfmadd132ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FMADD213PS = fma(vex: VEX_Vfmadd213ps_xmm_xmm_xmmm128, VEX_Vfmadd213ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfmadd213ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfmadd213ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FMADD231PS = fma(vex: VEX_Vfmadd231ps_xmm_xmm_xmmm128, VEX_Vfmadd231ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfmadd231ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfmadd231ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FMADD132PD = fma(vex: VEX_Vfmadd132pd_xmm_xmm_xmmm128, VEX_Vfmadd132pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfmadd132pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfmadd132pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfmadd132pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FMADD213PD = fma(vex: VEX_Vfmadd213pd_xmm_xmm_xmmm128, VEX_Vfmadd213pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfmadd213pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfmadd213pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FMADD231PD = fma(vex: VEX_Vfmadd231pd_xmm_xmm_xmmm128, VEX_Vfmadd231pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfmadd231pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfmadd231pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FNMADD132PS = fma(vex: VEX_Vfnmadd132ps_xmm_xmm_xmmm128, VEX_Vfnmadd132ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmadd132ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfnmadd132ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfnmadd132ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FNMADD213PS = fma(vex: VEX_Vfnmadd213ps_xmm_xmm_xmmm128, VEX_Vfnmadd213ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmadd213ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfnmadd213ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfnmadd213ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FNMADD231PS = fma(vex: VEX_Vfnmadd231ps_xmm_xmm_xmmm128, VEX_Vfnmadd231ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmadd231ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfnmadd231ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FNMADD132PD = fma(vex: VEX_Vfnmadd132pd_xmm_xmm_xmmm128, VEX_Vfnmadd132pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmadd132pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfnmadd132pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfnmadd132pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FNMADD213PD = fma(vex: VEX_Vfnmadd213pd_xmm_xmm_xmmm128, VEX_Vfnmadd213pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmadd213pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfnmadd213pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FNMADD231PD = fma(vex: VEX_Vfnmadd231pd_xmm_xmm_xmmm128, VEX_Vfnmadd231pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmadd231pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfnmadd231pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FMSUB132PS = fma(vex: VEX_Vfmsub132ps_xmm_xmm_xmmm128, VEX_Vfmsub132ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfmsub132ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfmsub132ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfmsub132ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FMSUB213PS = fma(vex: VEX_Vfmsub213ps_xmm_xmm_xmmm128, VEX_Vfmsub213ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfmsub213ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfmsub213ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfmsub213ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FMSUB231PS = fma(vex: VEX_Vfmsub231ps_xmm_xmm_xmmm128, VEX_Vfmsub231ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfmsub231ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfmsub231ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FMSUB132PD = fma(vex: VEX_Vfmsub132pd_xmm_xmm_xmmm128, VEX_Vfmsub132pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfmsub132pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfmsub132pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfmsub132pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FMSUB213PD = fma(vex: VEX_Vfmsub213pd_xmm_xmm_xmmm128, VEX_Vfmsub213pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfmsub213pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfmsub213pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfmsub213pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FMSUB231PD = fma(vex: VEX_Vfmsub231pd_xmm_xmm_xmmm128, VEX_Vfmsub231pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfmsub231pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfmsub231pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FNMSUB132PS = fma(vex: VEX_Vfnmsub132ps_xmm_xmm_xmmm128, VEX_Vfnmsub132ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmsub132ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfnmsub132ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfnmsub132ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FNMSUB213PS = fma(vex: VEX_Vfnmsub213ps_xmm_xmm_xmmm128, VEX_Vfnmsub213ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmsub213ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfnmsub213ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfnmsub213ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FNMSUB231PS = fma(vex: VEX_Vfnmsub231ps_xmm_xmm_xmmm128, VEX_Vfnmsub231ps_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmsub231ps_xmm_k1z_xmm_xmmm128b32, EVEX_Vfnmsub231ps_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er).broadcast(4);
    FNMSUB132PD = fma(vex: VEX_Vfnmsub132pd_xmm_xmm_xmmm128, VEX_Vfnmsub132pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmsub132pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfnmsub132pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfnmsub132pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FNMSUB213PD = fma(vex: VEX_Vfnmsub213pd_xmm_xmm_xmmm128, VEX_Vfnmsub213pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmsub213pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfnmsub213pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfnmsub213pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    FNMSUB231PD = fma(vex: VEX_Vfnmsub231pd_xmm_xmm_xmmm128, VEX_Vfnmsub231pd_ymm_ymm_ymmm256;
        evex: EVEX_Vfnmsub231pd_xmm_k1z_xmm_xmmm128b64, EVEX_Vfnmsub231pd_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er).broadcast(8);
    ROUNDPS = unary(vex: VEX_Vroundps_xmm_xmmm128_imm8, VEX_Vroundps_ymm_ymmm256_imm8);
    RNDSCALEPS = unary(evex: EVEX_Vrndscaleps_xmm_k1z_xmmm128b32_imm8,
        EVEX_Vrndscaleps_ymm_k1z_ymmm256b32_imm8, EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae).broadcast(4);
    ROUNDPD = unary(vex: VEX_Vroundpd_xmm_xmmm128_imm8, VEX_Vroundpd_ymm_ymmm256_imm8);
    RNDSCALEPD = unary(evex: EVEX_Vrndscalepd_xmm_k1z_xmmm128b64_imm8,
        EVEX_Vrndscalepd_ymm_k1z_ymmm256b64_imm8, EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae).broadcast(8);
    CMPPS = binary(vex: VEX_Vcmpps_xmm_xmm_xmmm128_imm8, VEX_Vcmpps_ymm_ymm_ymmm256_imm8;
        evex: EVEX_Vcmpps_kr_k1_xmm_xmmm128b32_imm8, EVEX_Vcmpps_kr_k1_ymm_ymmm256b32_imm8,
        EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae).broadcast(4);
    CMPKPS = binary(evex: EVEX_Vcmpps_kr_k1_xmm_xmmm128b32_imm8, EVEX_Vcmpps_kr_k1_ymm_ymmm256b32_imm8,
        EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae).broadcast(4);
    CMPPD = binary(vex: VEX_Vcmppd_xmm_xmm_xmmm128_imm8, VEX_Vcmppd_ymm_ymm_ymmm256_imm8;
        evex: EVEX_Vcmppd_kr_k1_xmm_xmmm128b64_imm8, EVEX_Vcmppd_kr_k1_ymm_ymmm256b64_imm8,
        EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae).broadcast(8);
    CMPKPD = binary(evex: EVEX_Vcmppd_kr_k1_xmm_xmmm128b64_imm8, EVEX_Vcmppd_kr_k1_ymm_ymmm256b64_imm8,
        EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae).broadcast(8);
    // Integer arithmetic and comparisons.
    PADDB = binary(vex: VEX_Vpaddb_xmm_xmm_xmmm128, VEX_Vpaddb_ymm_ymm_ymmm256;
        evex: EVEX_Vpaddb_xmm_k1z_xmm_xmmm128, EVEX_Vpaddb_ymm_k1z_ymm_ymmm256,
        EVEX_Vpaddb_zmm_k1z_zmm_zmmm512).commutes();
    PSUBB = binary(vex: VEX_Vpsubb_xmm_xmm_xmmm128, VEX_Vpsubb_ymm_ymm_ymmm256;
        evex: EVEX_Vpsubb_xmm_k1z_xmm_xmmm128, EVEX_Vpsubb_ymm_k1z_ymm_ymmm256,
        EVEX_Vpsubb_zmm_k1z_zmm_zmmm512);
    PADDW = binary(vex: VEX_Vpaddw_xmm_xmm_xmmm128, VEX_Vpaddw_ymm_ymm_ymmm256;
        evex: EVEX_Vpaddw_xmm_k1z_xmm_xmmm128, EVEX_Vpaddw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpaddw_zmm_k1z_zmm_zmmm512).commutes();
    PSUBW = binary(vex: VEX_Vpsubw_xmm_xmm_xmmm128, VEX_Vpsubw_ymm_ymm_ymmm256;
        evex: EVEX_Vpsubw_xmm_k1z_xmm_xmmm128, EVEX_Vpsubw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpsubw_zmm_k1z_zmm_zmmm512);
    PADDD = binary(vex: VEX_Vpaddd_xmm_xmm_xmmm128, VEX_Vpaddd_ymm_ymm_ymmm256;
        evex: EVEX_Vpaddd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpaddd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32).broadcast(4).commutes();
    PSUBD = binary(vex: VEX_Vpsubd_xmm_xmm_xmmm128, VEX_Vpsubd_ymm_ymm_ymmm256;
        evex: EVEX_Vpsubd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpsubd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32).broadcast(4);
    PADDQ = binary(vex: VEX_Vpaddq_xmm_xmm_xmmm128, VEX_Vpaddq_ymm_ymm_ymmm256;
        evex: EVEX_Vpaddq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpaddq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    PSUBQ = binary(vex: VEX_Vpsubq_xmm_xmm_xmmm128, VEX_Vpsubq_ymm_ymm_ymmm256;
        evex: EVEX_Vpsubq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpsubq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64).broadcast(8);
    PMULLW = binary(vex: VEX_Vpmullw_xmm_xmm_xmmm128, VEX_Vpmullw_ymm_ymm_ymmm256;
        evex: EVEX_Vpmullw_xmm_k1z_xmm_xmmm128, EVEX_Vpmullw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpmullw_zmm_k1z_zmm_zmmm512).commutes();
    PMULHUW = binary(vex: VEX_Vpmulhuw_xmm_xmm_xmmm128, VEX_Vpmulhuw_ymm_ymm_ymmm256;
        evex: EVEX_Vpmulhuw_xmm_k1z_xmm_xmmm128, EVEX_Vpmulhuw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpmulhuw_zmm_k1z_zmm_zmmm512).commutes();
    PAVGW = binary(vex: VEX_Vpavgw_xmm_xmm_xmmm128, VEX_Vpavgw_ymm_ymm_ymmm256;
        evex: EVEX_Vpavgw_xmm_k1z_xmm_xmmm128, EVEX_Vpavgw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpavgw_zmm_k1z_zmm_zmmm512).commutes();
    PMULLD = binary(vex: VEX_Vpmulld_xmm_xmm_xmmm128, VEX_Vpmulld_ymm_ymm_ymmm256;
        evex: EVEX_Vpmulld_xmm_k1z_xmm_xmmm128b32, EVEX_Vpmulld_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32).broadcast(4).commutes();
    PMULLQ = binary(evex: EVEX_Vpmullq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpmullq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    PMULUDQ = binary(vex: VEX_Vpmuludq_xmm_xmm_xmmm128, VEX_Vpmuludq_ymm_ymm_ymmm256;
        evex: EVEX_Vpmuludq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpmuludq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    PMINSB = binary(vex: VEX_Vpminsb_xmm_xmm_xmmm128, VEX_Vpminsb_ymm_ymm_ymmm256;
        evex: EVEX_Vpminsb_xmm_k1z_xmm_xmmm128, EVEX_Vpminsb_ymm_k1z_ymm_ymmm256,
        EVEX_Vpminsb_zmm_k1z_zmm_zmmm512).commutes();
    PMINSW = binary(vex: VEX_Vpminsw_xmm_xmm_xmmm128, VEX_Vpminsw_ymm_ymm_ymmm256;
        evex: EVEX_Vpminsw_xmm_k1z_xmm_xmmm128, EVEX_Vpminsw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpminsw_zmm_k1z_zmm_zmmm512).commutes();
    PMINSD = binary(vex: VEX_Vpminsd_xmm_xmm_xmmm128, VEX_Vpminsd_ymm_ymm_ymmm256;
        evex: EVEX_Vpminsd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpminsd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32).broadcast(4).commutes();
    PMINSQ = binary(evex: EVEX_Vpminsq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpminsq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    PMAXSB = binary(vex: VEX_Vpmaxsb_xmm_xmm_xmmm128, VEX_Vpmaxsb_ymm_ymm_ymmm256;
        evex: EVEX_Vpmaxsb_xmm_k1z_xmm_xmmm128, EVEX_Vpmaxsb_ymm_k1z_ymm_ymmm256,
        EVEX_Vpmaxsb_zmm_k1z_zmm_zmmm512).commutes();
    PMAXSW = binary(vex: VEX_Vpmaxsw_xmm_xmm_xmmm128, VEX_Vpmaxsw_ymm_ymm_ymmm256;
        evex: EVEX_Vpmaxsw_xmm_k1z_xmm_xmmm128, EVEX_Vpmaxsw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpmaxsw_zmm_k1z_zmm_zmmm512).commutes();
    PMAXSD = binary(vex: VEX_Vpmaxsd_xmm_xmm_xmmm128, VEX_Vpmaxsd_ymm_ymm_ymmm256;
        evex: EVEX_Vpmaxsd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpmaxsd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32).broadcast(4).commutes();
    PMAXSQ = binary(evex: EVEX_Vpmaxsq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpmaxsq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    PMINUB = binary(vex: VEX_Vpminub_xmm_xmm_xmmm128, VEX_Vpminub_ymm_ymm_ymmm256;
        evex: EVEX_Vpminub_xmm_k1z_xmm_xmmm128, EVEX_Vpminub_ymm_k1z_ymm_ymmm256,
        EVEX_Vpminub_zmm_k1z_zmm_zmmm512).commutes();
    PMINUW = binary(vex: VEX_Vpminuw_xmm_xmm_xmmm128, VEX_Vpminuw_ymm_ymm_ymmm256;
        evex: EVEX_Vpminuw_xmm_k1z_xmm_xmmm128, EVEX_Vpminuw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpminuw_zmm_k1z_zmm_zmmm512).commutes();
    PMINUD = binary(vex: VEX_Vpminud_xmm_xmm_xmmm128, VEX_Vpminud_ymm_ymm_ymmm256;
        evex: EVEX_Vpminud_xmm_k1z_xmm_xmmm128b32, EVEX_Vpminud_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32).broadcast(4).commutes();
    PMINUQ = binary(evex: EVEX_Vpminuq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpminuq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    PMAXUB = binary(vex: VEX_Vpmaxub_xmm_xmm_xmmm128, VEX_Vpmaxub_ymm_ymm_ymmm256;
        evex: EVEX_Vpmaxub_xmm_k1z_xmm_xmmm128, EVEX_Vpmaxub_ymm_k1z_ymm_ymmm256,
        EVEX_Vpmaxub_zmm_k1z_zmm_zmmm512).commutes();
    PMAXUW = binary(vex: VEX_Vpmaxuw_xmm_xmm_xmmm128, VEX_Vpmaxuw_ymm_ymm_ymmm256;
        evex: EVEX_Vpmaxuw_xmm_k1z_xmm_xmmm128, EVEX_Vpmaxuw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpmaxuw_zmm_k1z_zmm_zmmm512).commutes();
    PMAXUD = binary(vex: VEX_Vpmaxud_xmm_xmm_xmmm128, VEX_Vpmaxud_ymm_ymm_ymmm256;
        evex: EVEX_Vpmaxud_xmm_k1z_xmm_xmmm128b32, EVEX_Vpmaxud_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32).broadcast(4).commutes();
    PMAXUQ = binary(evex: EVEX_Vpmaxuq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpmaxuq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    PABSB = unary(vex: VEX_Vpabsb_xmm_xmmm128, VEX_Vpabsb_ymm_ymmm256; evex: EVEX_Vpabsb_xmm_k1z_xmmm128,
        EVEX_Vpabsb_ymm_k1z_ymmm256, EVEX_Vpabsb_zmm_k1z_zmmm512);
    PABSW = unary(vex: VEX_Vpabsw_xmm_xmmm128, VEX_Vpabsw_ymm_ymmm256; evex: EVEX_Vpabsw_xmm_k1z_xmmm128,
        EVEX_Vpabsw_ymm_k1z_ymmm256, EVEX_Vpabsw_zmm_k1z_zmmm512);
    PABSD = unary(vex: VEX_Vpabsd_xmm_xmmm128, VEX_Vpabsd_ymm_ymmm256; evex: EVEX_Vpabsd_xmm_k1z_xmmm128b32,
        EVEX_Vpabsd_ymm_k1z_ymmm256b32, EVEX_Vpabsd_zmm_k1z_zmmm512b32).broadcast(4);
    PABSQ = unary(evex: EVEX_Vpabsq_xmm_k1z_xmmm128b64, EVEX_Vpabsq_ymm_k1z_ymmm256b64,
        EVEX_Vpabsq_zmm_k1z_zmmm512b64).broadcast(8);
    PCMPKB = binary(evex: EVEX_Vpcmpb_kr_k1_xmm_xmmm128_imm8, EVEX_Vpcmpb_kr_k1_ymm_ymmm256_imm8,
        EVEX_Vpcmpb_kr_k1_zmm_zmmm512_imm8);
    PCMPUKB = binary(evex: EVEX_Vpcmpub_kr_k1_xmm_xmmm128_imm8, EVEX_Vpcmpub_kr_k1_ymm_ymmm256_imm8,
        EVEX_Vpcmpub_kr_k1_zmm_zmmm512_imm8);
    PCMPEQB = binary(vex: VEX_Vpcmpeqb_xmm_xmm_xmmm128, VEX_Vpcmpeqb_ymm_ymm_ymmm256;
        evex: EVEX_Vpcmpeqb_kr_k1_xmm_xmmm128, EVEX_Vpcmpeqb_kr_k1_ymm_ymmm256,
        EVEX_Vpcmpeqb_kr_k1_zmm_zmmm512);
    PCMPGTB = binary(vex: VEX_Vpcmpgtb_xmm_xmm_xmmm128, VEX_Vpcmpgtb_ymm_ymm_ymmm256;
        evex: EVEX_Vpcmpgtb_kr_k1_xmm_xmmm128, EVEX_Vpcmpgtb_kr_k1_ymm_ymmm256,
        EVEX_Vpcmpgtb_kr_k1_zmm_zmmm512);
    PCMPKW = binary(evex: EVEX_Vpcmpw_kr_k1_xmm_xmmm128_imm8, EVEX_Vpcmpw_kr_k1_ymm_ymmm256_imm8,
        EVEX_Vpcmpw_kr_k1_zmm_zmmm512_imm8);
    PCMPUKW = binary(evex: EVEX_Vpcmpuw_kr_k1_xmm_xmmm128_imm8, EVEX_Vpcmpuw_kr_k1_ymm_ymmm256_imm8,
        EVEX_Vpcmpuw_kr_k1_zmm_zmmm512_imm8);
    PCMPEQW = binary(vex: VEX_Vpcmpeqw_xmm_xmm_xmmm128, VEX_Vpcmpeqw_ymm_ymm_ymmm256;
        evex: EVEX_Vpcmpeqw_kr_k1_xmm_xmmm128, EVEX_Vpcmpeqw_kr_k1_ymm_ymmm256,
        EVEX_Vpcmpeqw_kr_k1_zmm_zmmm512);
    PCMPGTW = binary(vex: VEX_Vpcmpgtw_xmm_xmm_xmmm128, VEX_Vpcmpgtw_ymm_ymm_ymmm256;
        evex: EVEX_Vpcmpgtw_kr_k1_xmm_xmmm128, EVEX_Vpcmpgtw_kr_k1_ymm_ymmm256,
        EVEX_Vpcmpgtw_kr_k1_zmm_zmmm512);
    PCMPKD = binary(evex: EVEX_Vpcmpd_kr_k1_xmm_xmmm128b32_imm8, EVEX_Vpcmpd_kr_k1_ymm_ymmm256b32_imm8,
        EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8).broadcast(4);
    PCMPUKD = binary(evex: EVEX_Vpcmpud_kr_k1_xmm_xmmm128b32_imm8, EVEX_Vpcmpud_kr_k1_ymm_ymmm256b32_imm8,
        EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8).broadcast(4);
    PCMPEQD = binary(vex: VEX_Vpcmpeqd_xmm_xmm_xmmm128, VEX_Vpcmpeqd_ymm_ymm_ymmm256;
        evex: EVEX_Vpcmpeqd_kr_k1_xmm_xmmm128b32, EVEX_Vpcmpeqd_kr_k1_ymm_ymmm256b32,
        EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32).broadcast(4);
    PCMPGTD = binary(vex: VEX_Vpcmpgtd_xmm_xmm_xmmm128, VEX_Vpcmpgtd_ymm_ymm_ymmm256;
        evex: EVEX_Vpcmpgtd_kr_k1_xmm_xmmm128b32, EVEX_Vpcmpgtd_kr_k1_ymm_ymmm256b32,
        EVEX_Vpcmpgtd_kr_k1_zmm_zmmm512b32).broadcast(4);
    PCMPKQ = binary(evex: EVEX_Vpcmpq_kr_k1_xmm_xmmm128b64_imm8, EVEX_Vpcmpq_kr_k1_ymm_ymmm256b64_imm8,
        EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8).broadcast(8);
    PCMPUKQ = binary(evex: EVEX_Vpcmpuq_kr_k1_xmm_xmmm128b64_imm8, EVEX_Vpcmpuq_kr_k1_ymm_ymmm256b64_imm8,
        EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8).broadcast(8);
    PCMPEQQ = binary(vex: VEX_Vpcmpeqq_xmm_xmm_xmmm128, VEX_Vpcmpeqq_ymm_ymm_ymmm256;
        evex: EVEX_Vpcmpeqq_kr_k1_xmm_xmmm128b64, EVEX_Vpcmpeqq_kr_k1_ymm_ymmm256b64,
        EVEX_Vpcmpeqq_kr_k1_zmm_zmmm512b64).broadcast(8);
    PCMPGTQ = binary(vex: VEX_Vpcmpgtq_xmm_xmm_xmmm128, VEX_Vpcmpgtq_ymm_ymm_ymmm256;
        evex: EVEX_Vpcmpgtq_kr_k1_xmm_xmmm128b64, EVEX_Vpcmpgtq_kr_k1_ymm_ymmm256b64,
        EVEX_Vpcmpgtq_kr_k1_zmm_zmmm512b64).broadcast(8);
    // Bitwise operations and shifts.
    PAND = binary(vex: VEX_Vpand_xmm_xmm_xmmm128, VEX_Vpand_ymm_ymm_ymmm256).commutes();
    PANDD = binary(evex: EVEX_Vpandd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpandd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32).broadcast(4).commutes();
    PANDQ = binary(evex: EVEX_Vpandq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpandq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    POR = binary(vex: VEX_Vpor_xmm_xmm_xmmm128, VEX_Vpor_ymm_ymm_ymmm256).commutes();
    PORD = binary(evex: EVEX_Vpord_xmm_k1z_xmm_xmmm128b32, EVEX_Vpord_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpord_zmm_k1z_zmm_zmmm512b32).broadcast(4).commutes();
    PORQ = binary(evex: EVEX_Vporq_xmm_k1z_xmm_xmmm128b64, EVEX_Vporq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vporq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    PXOR = binary(vex: VEX_Vpxor_xmm_xmm_xmmm128, VEX_Vpxor_ymm_ymm_ymmm256).commutes();
    PXORD = binary(evex: EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32, EVEX_Vpxord_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32).broadcast(4).commutes();
    PXORQ = binary(evex: EVEX_Vpxorq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpxorq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64).broadcast(8).commutes();
    PANDN = binary(vex: VEX_Vpandn_xmm_xmm_xmmm128, VEX_Vpandn_ymm_ymm_ymmm256);
    PANDND = binary(evex: EVEX_Vpandnd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpandnd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32).broadcast(4);
    PANDNQ = binary(evex: EVEX_Vpandnq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpandnq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64).broadcast(8);
    PTERNLOGD = ternary(evex: EVEX_Vpternlogd_xmm_k1z_xmm_xmmm128b32_imm8,
        EVEX_Vpternlogd_ymm_k1z_ymm_ymmm256b32_imm8,
        EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8).broadcast(4);
    PTERNLOGQ = ternary(evex: EVEX_Vpternlogq_xmm_k1z_xmm_xmmm128b64_imm8,
        EVEX_Vpternlogq_ymm_k1z_ymm_ymmm256b64_imm8,
        EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8).broadcast(8);
    FIXUPIMMPS = ternary(evex: EVEX_Vfixupimmps_xmm_k1z_xmm_xmmm128b32_imm8,
        EVEX_Vfixupimmps_ymm_k1z_ymm_ymmm256b32_imm8,
        EVEX_Vfixupimmps_zmm_k1z_zmm_zmmm512b32_imm8_sae).broadcast(4);
    FIXUPIMMPD = ternary(evex: EVEX_Vfixupimmpd_xmm_k1z_xmm_xmmm128b64_imm8,
        EVEX_Vfixupimmpd_ymm_k1z_ymm_ymmm256b64_imm8,
        EVEX_Vfixupimmpd_zmm_k1z_zmm_zmmm512b64_imm8_sae).broadcast(8);
    PSLLW_I = plain(vex: VEX_Vpsllw_xmm_xmm_imm8, VEX_Vpsllw_ymm_ymm_imm8);
    PSLLW_KI = unary(evex: EVEX_Vpsllw_xmm_k1z_xmmm128_imm8, EVEX_Vpsllw_ymm_k1z_ymmm256_imm8,
        EVEX_Vpsllw_zmm_k1z_zmmm512_imm8);
    PSLLW_X = plain(vex: VEX_Vpsllw_xmm_xmm_xmmm128, VEX_Vpsllw_ymm_ymm_xmmm128;
        evex: EVEX_Vpsllw_xmm_k1z_xmm_xmmm128, EVEX_Vpsllw_ymm_k1z_ymm_xmmm128,
        EVEX_Vpsllw_zmm_k1z_zmm_xmmm128).narrow_source(TO_128);
    PSLLVW = binary(evex: EVEX_Vpsllvw_xmm_k1z_xmm_xmmm128, EVEX_Vpsllvw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpsllvw_zmm_k1z_zmm_zmmm512);
    PSLLD_I = plain(vex: VEX_Vpslld_xmm_xmm_imm8, VEX_Vpslld_ymm_ymm_imm8);
    PSLLD_KI = unary(evex: EVEX_Vpslld_xmm_k1z_xmmm128b32_imm8, EVEX_Vpslld_ymm_k1z_ymmm256b32_imm8,
        EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8).broadcast(4);
    PSLLD_X = plain(vex: VEX_Vpslld_xmm_xmm_xmmm128, VEX_Vpslld_ymm_ymm_xmmm128;
        evex: EVEX_Vpslld_xmm_k1z_xmm_xmmm128, EVEX_Vpslld_ymm_k1z_ymm_xmmm128,
        EVEX_Vpslld_zmm_k1z_zmm_xmmm128).narrow_source(TO_128);
    PSLLVD = binary(vex: VEX_Vpsllvd_xmm_xmm_xmmm128, VEX_Vpsllvd_ymm_ymm_ymmm256;
        evex: EVEX_Vpsllvd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpsllvd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32).broadcast(4);
    PSLLQ_I = plain(vex: VEX_Vpsllq_xmm_xmm_imm8, VEX_Vpsllq_ymm_ymm_imm8);
    PSLLQ_KI = unary(evex: EVEX_Vpsllq_xmm_k1z_xmmm128b64_imm8, EVEX_Vpsllq_ymm_k1z_ymmm256b64_imm8,
        EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8).broadcast(8);
    PSLLQ_X = plain(vex: VEX_Vpsllq_xmm_xmm_xmmm128, VEX_Vpsllq_ymm_ymm_xmmm128;
        evex: EVEX_Vpsllq_xmm_k1z_xmm_xmmm128, EVEX_Vpsllq_ymm_k1z_ymm_xmmm128,
        EVEX_Vpsllq_zmm_k1z_zmm_xmmm128).narrow_source(TO_128);
    PSLLVQ = binary(vex: VEX_Vpsllvq_xmm_xmm_xmmm128, VEX_Vpsllvq_ymm_ymm_ymmm256;
        evex: EVEX_Vpsllvq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpsllvq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64).broadcast(8);
    PSRLW_I = plain(vex: VEX_Vpsrlw_xmm_xmm_imm8, VEX_Vpsrlw_ymm_ymm_imm8);
    PSRLW_KI = unary(evex: EVEX_Vpsrlw_xmm_k1z_xmmm128_imm8, EVEX_Vpsrlw_ymm_k1z_ymmm256_imm8,
        EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8);
    PSRLW_X = plain(vex: VEX_Vpsrlw_xmm_xmm_xmmm128, VEX_Vpsrlw_ymm_ymm_xmmm128;
        evex: EVEX_Vpsrlw_xmm_k1z_xmm_xmmm128, EVEX_Vpsrlw_ymm_k1z_ymm_xmmm128,
        EVEX_Vpsrlw_zmm_k1z_zmm_xmmm128).narrow_source(TO_128);
    PSRLVW = binary(evex: EVEX_Vpsrlvw_xmm_k1z_xmm_xmmm128, EVEX_Vpsrlvw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpsrlvw_zmm_k1z_zmm_zmmm512);
    PSRLD_I = plain(vex: VEX_Vpsrld_xmm_xmm_imm8, VEX_Vpsrld_ymm_ymm_imm8);
    PSRLD_KI = unary(evex: EVEX_Vpsrld_xmm_k1z_xmmm128b32_imm8, EVEX_Vpsrld_ymm_k1z_ymmm256b32_imm8,
        EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8).broadcast(4);
    PSRLD_X = plain(vex: VEX_Vpsrld_xmm_xmm_xmmm128, VEX_Vpsrld_ymm_ymm_xmmm128;
        evex: EVEX_Vpsrld_xmm_k1z_xmm_xmmm128, EVEX_Vpsrld_ymm_k1z_ymm_xmmm128,
        EVEX_Vpsrld_zmm_k1z_zmm_xmmm128).narrow_source(TO_128);
    PSRLVD = binary(vex: VEX_Vpsrlvd_xmm_xmm_xmmm128, VEX_Vpsrlvd_ymm_ymm_ymmm256;
        evex: EVEX_Vpsrlvd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpsrlvd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32).broadcast(4);
    PSRLQ_I = plain(vex: VEX_Vpsrlq_xmm_xmm_imm8, VEX_Vpsrlq_ymm_ymm_imm8);
    PSRLQ_KI = unary(evex: EVEX_Vpsrlq_xmm_k1z_xmmm128b64_imm8, EVEX_Vpsrlq_ymm_k1z_ymmm256b64_imm8,
        EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8).broadcast(8);
    PSRLQ_X = plain(vex: VEX_Vpsrlq_xmm_xmm_xmmm128, VEX_Vpsrlq_ymm_ymm_xmmm128;
        evex: EVEX_Vpsrlq_xmm_k1z_xmm_xmmm128, EVEX_Vpsrlq_ymm_k1z_ymm_xmmm128,
        EVEX_Vpsrlq_zmm_k1z_zmm_xmmm128).narrow_source(TO_128);
    PSRLVQ = binary(vex: VEX_Vpsrlvq_xmm_xmm_xmmm128, VEX_Vpsrlvq_ymm_ymm_ymmm256;
        evex: EVEX_Vpsrlvq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpsrlvq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64).broadcast(8);
    PSRAW_I = plain(vex: VEX_Vpsraw_xmm_xmm_imm8, VEX_Vpsraw_ymm_ymm_imm8);
    PSRAW_KI = unary(evex: EVEX_Vpsraw_xmm_k1z_xmmm128_imm8, EVEX_Vpsraw_ymm_k1z_ymmm256_imm8,
        EVEX_Vpsraw_zmm_k1z_zmmm512_imm8);
    PSRAW_X = plain(vex: VEX_Vpsraw_xmm_xmm_xmmm128, VEX_Vpsraw_ymm_ymm_xmmm128;
        evex: EVEX_Vpsraw_xmm_k1z_xmm_xmmm128, EVEX_Vpsraw_ymm_k1z_ymm_xmmm128,
        EVEX_Vpsraw_zmm_k1z_zmm_xmmm128).narrow_source(TO_128);
    PSRAVW = binary(evex: EVEX_Vpsravw_xmm_k1z_xmm_xmmm128, EVEX_Vpsravw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpsravw_zmm_k1z_zmm_zmmm512);
    PSRAD_I = plain(vex: VEX_Vpsrad_xmm_xmm_imm8, VEX_Vpsrad_ymm_ymm_imm8);
    PSRAD_KI = unary(evex: EVEX_Vpsrad_xmm_k1z_xmmm128b32_imm8, EVEX_Vpsrad_ymm_k1z_ymmm256b32_imm8,
        EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8).broadcast(4);
    PSRAD_X = plain(vex: VEX_Vpsrad_xmm_xmm_xmmm128, VEX_Vpsrad_ymm_ymm_xmmm128;
        evex: EVEX_Vpsrad_xmm_k1z_xmm_xmmm128, EVEX_Vpsrad_ymm_k1z_ymm_xmmm128,
        EVEX_Vpsrad_zmm_k1z_zmm_xmmm128).narrow_source(TO_128);
    PSRAVD = binary(vex: VEX_Vpsravd_xmm_xmm_xmmm128, VEX_Vpsravd_ymm_ymm_ymmm256;
        evex: EVEX_Vpsravd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpsravd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32).broadcast(4);
    PSRAQ_KI = unary(evex: EVEX_Vpsraq_xmm_k1z_xmmm128b64_imm8, EVEX_Vpsraq_ymm_k1z_ymmm256b64_imm8,
        EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8).broadcast(8);
    PSRAQ_X = plain(evex: EVEX_Vpsraq_xmm_k1z_xmm_xmmm128, EVEX_Vpsraq_ymm_k1z_ymm_xmmm128,
        EVEX_Vpsraq_zmm_k1z_zmm_xmmm128).narrow_source(TO_128);
    PSRAVQ = binary(evex: EVEX_Vpsravq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpsravq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64).broadcast(8);
    // Conversions.
    PMOVSXBW = unary(vex: VEX_Vpmovsxbw_xmm_xmmm64, VEX_Vpmovsxbw_ymm_xmmm128;
        evex: EVEX_Vpmovsxbw_xmm_k1z_xmmm64, EVEX_Vpmovsxbw_ymm_k1z_xmmm128,
        EVEX_Vpmovsxbw_zmm_k1z_ymmm256).narrow_source(1);
    PMOVSXBD = unary(vex: VEX_Vpmovsxbd_xmm_xmmm32, VEX_Vpmovsxbd_ymm_xmmm64;
        evex: EVEX_Vpmovsxbd_xmm_k1z_xmmm32, EVEX_Vpmovsxbd_ymm_k1z_xmmm64,
        EVEX_Vpmovsxbd_zmm_k1z_xmmm128).narrow_source(2);
    PMOVSXBQ = unary(vex: VEX_Vpmovsxbq_xmm_xmmm16, VEX_Vpmovsxbq_ymm_xmmm32;
        evex: EVEX_Vpmovsxbq_xmm_k1z_xmmm16, EVEX_Vpmovsxbq_ymm_k1z_xmmm32,
        EVEX_Vpmovsxbq_zmm_k1z_xmmm64).narrow_source(3);
    PMOVSXWD = unary(vex: VEX_Vpmovsxwd_xmm_xmmm64, VEX_Vpmovsxwd_ymm_xmmm128;
        evex: EVEX_Vpmovsxwd_xmm_k1z_xmmm64, EVEX_Vpmovsxwd_ymm_k1z_xmmm128,
        EVEX_Vpmovsxwd_zmm_k1z_ymmm256).narrow_source(1);
    PMOVSXWQ = unary(vex: VEX_Vpmovsxwq_xmm_xmmm32, VEX_Vpmovsxwq_ymm_xmmm64;
        evex: EVEX_Vpmovsxwq_xmm_k1z_xmmm32, EVEX_Vpmovsxwq_ymm_k1z_xmmm64,
        EVEX_Vpmovsxwq_zmm_k1z_xmmm128).narrow_source(2);
    PMOVSXDQ = unary(vex: VEX_Vpmovsxdq_xmm_xmmm64, VEX_Vpmovsxdq_ymm_xmmm128;
        evex: EVEX_Vpmovsxdq_xmm_k1z_xmmm64, EVEX_Vpmovsxdq_ymm_k1z_xmmm128,
        EVEX_Vpmovsxdq_zmm_k1z_ymmm256).narrow_source(1);
    PMOVZXBW = unary(vex: VEX_Vpmovzxbw_xmm_xmmm64, VEX_Vpmovzxbw_ymm_xmmm128;
        evex: EVEX_Vpmovzxbw_xmm_k1z_xmmm64, EVEX_Vpmovzxbw_ymm_k1z_xmmm128,
        EVEX_Vpmovzxbw_zmm_k1z_ymmm256).narrow_source(1);
    PMOVZXBD = unary(vex: VEX_Vpmovzxbd_xmm_xmmm32, VEX_Vpmovzxbd_ymm_xmmm64;
        evex: EVEX_Vpmovzxbd_xmm_k1z_xmmm32, EVEX_Vpmovzxbd_ymm_k1z_xmmm64,
        EVEX_Vpmovzxbd_zmm_k1z_xmmm128).narrow_source(2);
    PMOVZXBQ = unary(vex: VEX_Vpmovzxbq_xmm_xmmm16, VEX_Vpmovzxbq_ymm_xmmm32;
        evex: EVEX_Vpmovzxbq_xmm_k1z_xmmm16, EVEX_Vpmovzxbq_ymm_k1z_xmmm32,
        EVEX_Vpmovzxbq_zmm_k1z_xmmm64).narrow_source(3);
    PMOVZXWD = unary(vex: VEX_Vpmovzxwd_xmm_xmmm64, VEX_Vpmovzxwd_ymm_xmmm128;
        evex: EVEX_Vpmovzxwd_xmm_k1z_xmmm64, EVEX_Vpmovzxwd_ymm_k1z_xmmm128,
        EVEX_Vpmovzxwd_zmm_k1z_ymmm256).narrow_source(1);
    PMOVZXWQ = unary(vex: VEX_Vpmovzxwq_xmm_xmmm32, VEX_Vpmovzxwq_ymm_xmmm64;
        evex: EVEX_Vpmovzxwq_xmm_k1z_xmmm32, EVEX_Vpmovzxwq_ymm_k1z_xmmm64,
        EVEX_Vpmovzxwq_zmm_k1z_xmmm128).narrow_source(2);
    PMOVZXDQ = unary(vex: VEX_Vpmovzxdq_xmm_xmmm64, VEX_Vpmovzxdq_ymm_xmmm128;
        evex: EVEX_Vpmovzxdq_xmm_k1z_xmmm64, EVEX_Vpmovzxdq_ymm_k1z_xmmm128,
        EVEX_Vpmovzxdq_zmm_k1z_ymmm256).narrow_source(1);
    PMOVWB = plain(evex: EVEX_Vpmovwb_xmmm64_k1z_xmm, EVEX_Vpmovwb_xmmm128_k1z_ymm,
        EVEX_Vpmovwb_ymmm256_k1z_zmm).narrow_result(1);
    PMOVDB = plain(evex: EVEX_Vpmovdb_xmmm32_k1z_xmm, EVEX_Vpmovdb_xmmm64_k1z_ymm,
        EVEX_Vpmovdb_xmmm128_k1z_zmm).narrow_result(2);
    PMOVDW = plain(evex: EVEX_Vpmovdw_xmmm64_k1z_xmm, EVEX_Vpmovdw_xmmm128_k1z_ymm,
        EVEX_Vpmovdw_ymmm256_k1z_zmm).narrow_result(1);
    PMOVQB = plain(evex: EVEX_Vpmovqb_xmmm16_k1z_xmm, EVEX_Vpmovqb_xmmm32_k1z_ymm,
        EVEX_Vpmovqb_xmmm64_k1z_zmm).narrow_result(3);
    PMOVQW = plain(evex: EVEX_Vpmovqw_xmmm32_k1z_xmm, EVEX_Vpmovqw_xmmm64_k1z_ymm,
        EVEX_Vpmovqw_xmmm128_k1z_zmm).narrow_result(2);
    PMOVQD = plain(evex: EVEX_Vpmovqd_xmmm64_k1z_xmm, EVEX_Vpmovqd_xmmm128_k1z_ymm,
        EVEX_Vpmovqd_ymmm256_k1z_zmm).narrow_result(1);
    PMOVSWB = plain(evex: EVEX_Vpmovswb_xmmm64_k1z_xmm, EVEX_Vpmovswb_xmmm128_k1z_ymm,
        EVEX_Vpmovswb_ymmm256_k1z_zmm).narrow_result(1);
    PMOVSDB = plain(evex: EVEX_Vpmovsdb_xmmm32_k1z_xmm, EVEX_Vpmovsdb_xmmm64_k1z_ymm,
        EVEX_Vpmovsdb_xmmm128_k1z_zmm).narrow_result(2);
    PMOVSDW = plain(evex: EVEX_Vpmovsdw_xmmm64_k1z_xmm, EVEX_Vpmovsdw_xmmm128_k1z_ymm,
        EVEX_Vpmovsdw_ymmm256_k1z_zmm).narrow_result(1);
    PMOVSQB = plain(evex: EVEX_Vpmovsqb_xmmm16_k1z_xmm, EVEX_Vpmovsqb_xmmm32_k1z_ymm,
        EVEX_Vpmovsqb_xmmm64_k1z_zmm).narrow_result(3);
    PMOVSQW = plain(evex: EVEX_Vpmovsqw_xmmm32_k1z_xmm, EVEX_Vpmovsqw_xmmm64_k1z_ymm,
        EVEX_Vpmovsqw_xmmm128_k1z_zmm).narrow_result(2);
    PMOVSQD = plain(evex: EVEX_Vpmovsqd_xmmm64_k1z_xmm, EVEX_Vpmovsqd_xmmm128_k1z_ymm,
        EVEX_Vpmovsqd_ymmm256_k1z_zmm).narrow_result(1);
    PMOVUSWB = plain(evex: EVEX_Vpmovuswb_xmmm64_k1z_xmm, EVEX_Vpmovuswb_xmmm128_k1z_ymm,
        EVEX_Vpmovuswb_ymmm256_k1z_zmm).narrow_result(1);
    PMOVUSDB = plain(evex: EVEX_Vpmovusdb_xmmm32_k1z_xmm, EVEX_Vpmovusdb_xmmm64_k1z_ymm,
        EVEX_Vpmovusdb_xmmm128_k1z_zmm).narrow_result(2);
    PMOVUSDW = plain(evex: EVEX_Vpmovusdw_xmmm64_k1z_xmm, EVEX_Vpmovusdw_xmmm128_k1z_ymm,
        EVEX_Vpmovusdw_ymmm256_k1z_zmm).narrow_result(1);
    PMOVUSQB = plain(evex: EVEX_Vpmovusqb_xmmm16_k1z_xmm, EVEX_Vpmovusqb_xmmm32_k1z_ymm,
        EVEX_Vpmovusqb_xmmm64_k1z_zmm).narrow_result(3);
    PMOVUSQW = plain(evex: EVEX_Vpmovusqw_xmmm32_k1z_xmm, EVEX_Vpmovusqw_xmmm64_k1z_ymm,
        EVEX_Vpmovusqw_xmmm128_k1z_zmm).narrow_result(2);
    PMOVUSQD = plain(evex: EVEX_Vpmovusqd_xmmm64_k1z_xmm, EVEX_Vpmovusqd_xmmm128_k1z_ymm,
        EVEX_Vpmovusqd_ymmm256_k1z_zmm).narrow_result(1);
    CVTDQ2PS = unary(vex: VEX_Vcvtdq2ps_xmm_xmmm128, VEX_Vcvtdq2ps_ymm_ymmm256;
        evex: EVEX_Vcvtdq2ps_xmm_k1z_xmmm128b32, EVEX_Vcvtdq2ps_ymm_k1z_ymmm256b32,
        EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er).broadcast(4);
    CVTUDQ2PS = unary(evex: EVEX_Vcvtudq2ps_xmm_k1z_xmmm128b32, EVEX_Vcvtudq2ps_ymm_k1z_ymmm256b32,
        EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er).broadcast(4);
    CVTDQ2PD = unary(vex: VEX_Vcvtdq2pd_xmm_xmmm64, VEX_Vcvtdq2pd_ymm_xmmm128;
        evex: EVEX_Vcvtdq2pd_xmm_k1z_xmmm64b32, EVEX_Vcvtdq2pd_ymm_k1z_xmmm128b32,
        EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er).broadcast(4).narrow_source(1);
    CVTUDQ2PD = unary(evex: EVEX_Vcvtudq2pd_xmm_k1z_xmmm64b32, EVEX_Vcvtudq2pd_ymm_k1z_xmmm128b32,
        EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er).broadcast(4).narrow_source(1);
    CVTQQ2PD = unary(evex: EVEX_Vcvtqq2pd_xmm_k1z_xmmm128b64, EVEX_Vcvtqq2pd_ymm_k1z_ymmm256b64,
        EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er).broadcast(8);
    CVTUQQ2PD = unary(evex: EVEX_Vcvtuqq2pd_xmm_k1z_xmmm128b64, EVEX_Vcvtuqq2pd_ymm_k1z_ymmm256b64,
        EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er).broadcast(8);
    CVTQQ2PS = unary(evex: EVEX_Vcvtqq2ps_xmm_k1z_xmmm128b64, EVEX_Vcvtqq2ps_xmm_k1z_ymmm256b64,
        EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er).broadcast(8).narrow_result(1);
    CVTUQQ2PS = unary(evex: EVEX_Vcvtuqq2ps_xmm_k1z_xmmm128b64, EVEX_Vcvtuqq2ps_xmm_k1z_ymmm256b64,
        EVEX_Vcvtuqq2ps_ymm_k1z_zmmm512b64_er).broadcast(8).narrow_result(1);
    CVTTPS2DQ = unary(vex: VEX_Vcvttps2dq_xmm_xmmm128, VEX_Vcvttps2dq_ymm_ymmm256;
        evex: EVEX_Vcvttps2dq_xmm_k1z_xmmm128b32, EVEX_Vcvttps2dq_ymm_k1z_ymmm256b32,
        EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae).broadcast(4);
    CVTTPS2UDQ = unary(evex: EVEX_Vcvttps2udq_xmm_k1z_xmmm128b32, EVEX_Vcvttps2udq_ymm_k1z_ymmm256b32,
        EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae).broadcast(4);
    CVTTPD2QQ = unary(evex: EVEX_Vcvttpd2qq_xmm_k1z_xmmm128b64, EVEX_Vcvttpd2qq_ymm_k1z_ymmm256b64,
        EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae).broadcast(8);
    CVTTPD2UQQ = unary(evex: EVEX_Vcvttpd2uqq_xmm_k1z_xmmm128b64, EVEX_Vcvttpd2uqq_ymm_k1z_ymmm256b64,
        EVEX_Vcvttpd2uqq_zmm_k1z_zmmm512b64_sae).broadcast(8);
    CVTPS2PD = unary(vex: VEX_Vcvtps2pd_xmm_xmmm64, VEX_Vcvtps2pd_ymm_xmmm128;
        evex: EVEX_Vcvtps2pd_xmm_k1z_xmmm64b32, EVEX_Vcvtps2pd_ymm_k1z_xmmm128b32,
        EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae).broadcast(4).narrow_source(1);
    CVTPD2PS = unary(vex: VEX_Vcvtpd2ps_xmm_xmmm128, VEX_Vcvtpd2ps_xmm_ymmm256;
        evex: EVEX_Vcvtpd2ps_xmm_k1z_xmmm128b64, EVEX_Vcvtpd2ps_xmm_k1z_ymmm256b64,
        EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er).broadcast(8).narrow_result(1);
    CVTPH2PS = unary(vex: VEX_Vcvtph2ps_xmm_xmmm64, VEX_Vcvtph2ps_ymm_xmmm128;
        evex: EVEX_Vcvtph2ps_xmm_k1z_xmmm64, EVEX_Vcvtph2ps_ymm_k1z_xmmm128,
        EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae).narrow_source(1);
    CVTPS2PH = plain(vex: VEX_Vcvtps2ph_xmmm64_xmm_imm8, VEX_Vcvtps2ph_xmmm128_ymm_imm8;
        evex: EVEX_Vcvtps2ph_xmmm64_k1z_xmm_imm8, EVEX_Vcvtps2ph_xmmm128_k1z_ymm_imm8,
        EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae).narrow_result(1);
    // Permutations: packs, unpacks, shuffles, subvectors.
    PACKSSWB = binary(vex: VEX_Vpacksswb_xmm_xmm_xmmm128, VEX_Vpacksswb_ymm_ymm_ymmm256;
        evex: EVEX_Vpacksswb_xmm_k1z_xmm_xmmm128, EVEX_Vpacksswb_ymm_k1z_ymm_ymmm256,
        EVEX_Vpacksswb_zmm_k1z_zmm_zmmm512);
    PACKSSDW = binary(vex: VEX_Vpackssdw_xmm_xmm_xmmm128, VEX_Vpackssdw_ymm_ymm_ymmm256;
        evex: EVEX_Vpackssdw_xmm_k1z_xmm_xmmm128b32, EVEX_Vpackssdw_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpackssdw_zmm_k1z_zmm_zmmm512b32).broadcast(4);
    PACKUSWB = binary(vex: VEX_Vpackuswb_xmm_xmm_xmmm128, VEX_Vpackuswb_ymm_ymm_ymmm256;
        evex: EVEX_Vpackuswb_xmm_k1z_xmm_xmmm128, EVEX_Vpackuswb_ymm_k1z_ymm_ymmm256,
        EVEX_Vpackuswb_zmm_k1z_zmm_zmmm512);
    PACKUSDW = binary(vex: VEX_Vpackusdw_xmm_xmm_xmmm128, VEX_Vpackusdw_ymm_ymm_ymmm256;
        evex: EVEX_Vpackusdw_xmm_k1z_xmm_xmmm128b32, EVEX_Vpackusdw_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpackusdw_zmm_k1z_zmm_zmmm512b32).broadcast(4);
    PUNPCKLQDQ = binary(vex: VEX_Vpunpcklqdq_xmm_xmm_xmmm128, VEX_Vpunpcklqdq_ymm_ymm_ymmm256;
        evex: EVEX_Vpunpcklqdq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpunpcklqdq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpunpcklqdq_zmm_k1z_zmm_zmmm512b64).broadcast(8);
    PUNPCKLDQ = binary(vex: VEX_Vpunpckldq_xmm_xmm_xmmm128, VEX_Vpunpckldq_ymm_ymm_ymmm256;
        evex: EVEX_Vpunpckldq_xmm_k1z_xmm_xmmm128b32, EVEX_Vpunpckldq_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpunpckldq_zmm_k1z_zmm_zmmm512b32).broadcast(4);
    PUNPCKLWD = binary(vex: VEX_Vpunpcklwd_xmm_xmm_xmmm128, VEX_Vpunpcklwd_ymm_ymm_ymmm256;
        evex: EVEX_Vpunpcklwd_xmm_k1z_xmm_xmmm128, EVEX_Vpunpcklwd_ymm_k1z_ymm_ymmm256,
        EVEX_Vpunpcklwd_zmm_k1z_zmm_zmmm512);
    PSHUFB = binary(vex: VEX_Vpshufb_xmm_xmm_xmmm128, VEX_Vpshufb_ymm_ymm_ymmm256;
        evex: EVEX_Vpshufb_xmm_k1z_xmm_xmmm128, EVEX_Vpshufb_ymm_k1z_ymm_ymmm256,
        EVEX_Vpshufb_zmm_k1z_zmm_zmmm512);
    PERMQ_I = unary(any: VEX_Vpermq_ymm_ymmm256_imm8);
    PERMQ_E = unary(evex: -, EVEX_Vpermq_ymm_k1z_ymmm256b64_imm8,
        EVEX_Vpermq_zmm_k1z_zmmm512b64_imm8).broadcast(8);
    PSHUFD = unary(vex: VEX_Vpshufd_xmm_xmmm128_imm8, VEX_Vpshufd_ymm_ymmm256_imm8;
        evex: EVEX_Vpshufd_xmm_k1z_xmmm128b32_imm8, EVEX_Vpshufd_ymm_k1z_ymmm256b32_imm8,
        EVEX_Vpshufd_zmm_k1z_zmmm512b32_imm8).broadcast(4);
    SHUFPS = binary(vex: VEX_Vshufps_xmm_xmm_xmmm128_imm8, VEX_Vshufps_ymm_ymm_ymmm256_imm8;
        evex: EVEX_Vshufps_xmm_k1z_xmm_xmmm128b32_imm8, EVEX_Vshufps_ymm_k1z_ymm_ymmm256b32_imm8,
        EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8).broadcast(4);
    SHUFPD = binary(vex: VEX_Vshufpd_xmm_xmm_xmmm128_imm8, VEX_Vshufpd_ymm_ymm_ymmm256_imm8;
        evex: EVEX_Vshufpd_xmm_k1z_xmm_xmmm128b64_imm8, EVEX_Vshufpd_ymm_k1z_ymm_ymmm256b64_imm8,
        EVEX_Vshufpd_zmm_k1z_zmm_zmmm512b64_imm8).broadcast(8);
    SHUFI64X2 = binary(evex: -, EVEX_Vshufi64x2_ymm_k1z_ymm_ymmm256b64_imm8,
        EVEX_Vshufi64x2_zmm_k1z_zmm_zmmm512b64_imm8).broadcast(8);
    PSRLDQ = plain(vex: VEX_Vpsrldq_xmm_xmm_imm8, VEX_Vpsrldq_ymm_ymm_imm8);
    PSRLDQ_E = plain(evex: EVEX_Vpsrldq_xmm_xmmm128_imm8, EVEX_Vpsrldq_ymm_ymmm256_imm8,
        EVEX_Vpsrldq_zmm_zmmm512_imm8);
    EXTRACTI128 = plain(any: VEX_Vextracti128_xmmm128_ymm_imm8).narrow_result(TO_128);
    INSERTI128 = binary(any: VEX_Vinserti128_ymm_ymm_xmmm128_imm8).narrow_source(TO_128);
    EXTRACTI32X4 = plain(evex: -, EVEX_Vextracti32x4_xmmm128_k1z_ymm_imm8,
        EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8).narrow_result(TO_128);
    EXTRACTI64X4 = plain(avx512: EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8).narrow_result(1);
    INSERTI32X4 = binary(evex: -, EVEX_Vinserti32x4_ymm_k1z_ymm_xmmm128_imm8,
        EVEX_Vinserti32x4_zmm_k1z_zmm_xmmm128_imm8).narrow_source(TO_128);
    INSERTI64X4 = binary(avx512: EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8).narrow_source(1);
    // Blends and tests.
    PBLENDMB = binary(evex: EVEX_Vpblendmb_xmm_k1z_xmm_xmmm128, EVEX_Vpblendmb_ymm_k1z_ymm_ymmm256,
        EVEX_Vpblendmb_zmm_k1z_zmm_zmmm512);
    PBLENDMW = binary(evex: EVEX_Vpblendmw_xmm_k1z_xmm_xmmm128, EVEX_Vpblendmw_ymm_k1z_ymm_ymmm256,
        EVEX_Vpblendmw_zmm_k1z_zmm_zmmm512);
    PBLENDMD = binary(evex: EVEX_Vpblendmd_xmm_k1z_xmm_xmmm128b32, EVEX_Vpblendmd_ymm_k1z_ymm_ymmm256b32,
        EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32).broadcast(4);
    PBLENDMQ = binary(evex: EVEX_Vpblendmq_xmm_k1z_xmm_xmmm128b64, EVEX_Vpblendmq_ymm_k1z_ymm_ymmm256b64,
        EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64).broadcast(8);
    PBLENDVB = binary(vex: VEX_Vpblendvb_xmm_xmm_xmmm128_xmm, VEX_Vpblendvb_ymm_ymm_ymmm256_ymm);
    PBLENDW = binary(vex: VEX_Vpblendw_xmm_xmm_xmmm128_imm8, VEX_Vpblendw_ymm_ymm_ymmm256_imm8);
    PBLENDD = binary(vex: VEX_Vpblendd_xmm_xmm_xmmm128_imm8, VEX_Vpblendd_ymm_ymm_ymmm256_imm8);
    MOVMSKPS = plain(vex: VEX_Vmovmskps_r32_xmm, VEX_Vmovmskps_r32_ymm).general(4, 4);
    MOVMSKPD = plain(vex: VEX_Vmovmskpd_r32_xmm, VEX_Vmovmskpd_r32_ymm).general(4, 4);
    PTEST = plain(vex: VEX_Vptest_xmm_xmmm128, VEX_Vptest_ymm_ymmm256);
    // Moves and broadcasts.
    MOVAPS = unary(vex: VEX_Vmovaps_xmm_xmmm128, VEX_Vmovaps_ymm_ymmm256; evex: EVEX_Vmovaps_xmm_k1z_xmmm128,
        EVEX_Vmovaps_ymm_k1z_ymmm256, EVEX_Vmovaps_zmm_k1z_zmmm512);
    MOVUPS = unary(vex: VEX_Vmovups_xmm_xmmm128, VEX_Vmovups_ymm_ymmm256; evex: EVEX_Vmovups_xmm_k1z_xmmm128,
        EVEX_Vmovups_ymm_k1z_ymmm256, EVEX_Vmovups_zmm_k1z_zmmm512);
    MOVUPS_STORE = plain(vex: VEX_Vmovups_xmmm128_xmm, VEX_Vmovups_ymmm256_ymm;
        evex: EVEX_Vmovups_xmmm128_k1z_xmm, EVEX_Vmovups_ymmm256_k1z_ymm, EVEX_Vmovups_zmmm512_k1z_zmm);
    MOVDQU8 = unary(evex: EVEX_Vmovdqu8_xmm_k1z_xmmm128, EVEX_Vmovdqu8_ymm_k1z_ymmm256,
        EVEX_Vmovdqu8_zmm_k1z_zmmm512);
    MOVDQU8_STORE = plain(evex: EVEX_Vmovdqu8_xmmm128_k1z_xmm, EVEX_Vmovdqu8_ymmm256_k1z_ymm,
        EVEX_Vmovdqu8_zmmm512_k1z_zmm);
    MOVDQU16 = unary(evex: EVEX_Vmovdqu16_xmm_k1z_xmmm128, EVEX_Vmovdqu16_ymm_k1z_ymmm256,
        EVEX_Vmovdqu16_zmm_k1z_zmmm512);
    MOVDQU16_STORE = plain(evex: EVEX_Vmovdqu16_xmmm128_k1z_xmm, EVEX_Vmovdqu16_ymmm256_k1z_ymm,
        EVEX_Vmovdqu16_zmmm512_k1z_zmm);
    MOVDQU32 = unary(evex: EVEX_Vmovdqu32_xmm_k1z_xmmm128, EVEX_Vmovdqu32_ymm_k1z_ymmm256,
        EVEX_Vmovdqu32_zmm_k1z_zmmm512);
    MOVDQU32_STORE = plain(evex: EVEX_Vmovdqu32_xmmm128_k1z_xmm, EVEX_Vmovdqu32_ymmm256_k1z_ymm,
        EVEX_Vmovdqu32_zmmm512_k1z_zmm);
    MOVDQU64 = unary(evex: EVEX_Vmovdqu64_xmm_k1z_xmmm128, EVEX_Vmovdqu64_ymm_k1z_ymmm256,
        EVEX_Vmovdqu64_zmm_k1z_zmmm512);
    MOVDQU64_STORE = plain(evex: EVEX_Vmovdqu64_xmmm128_k1z_xmm, EVEX_Vmovdqu64_ymmm256_k1z_ymm,
        EVEX_Vmovdqu64_zmmm512_k1z_zmm);
    MOVD = unary(any: VEX_Vmovd_xmm_rm32).general(4, 4);
    MOVD_E = unary(avx512: EVEX_Vmovd_xmm_rm32).general(4, 4);
    MOVD_STORE = plain(any: VEX_Vmovd_rm32_xmm).general(4, 4);
    MOVD_STORE_E = plain(avx512: EVEX_Vmovd_rm32_xmm).general(4, 4);
    MOVQ = unary(any: VEX_Vmovq_xmm_rm64);
    MOVQ_E = unary(avx512: EVEX_Vmovq_xmm_rm64);
    MOVQ_STORE = plain(any: VEX_Vmovq_rm64_xmm);
    MOVQ_STORE_E = plain(avx512: EVEX_Vmovq_rm64_xmm);
    PEXTRB_STORE = plain(any: VEX_Vpextrb_r32m8_xmm_imm8).general(4, 4);
    PEXTRW_STORE = plain(any: VEX_Vpextrw_r32m16_xmm_imm8).general(4, 4);
    MOVNTPS = plain(vex: VEX_Vmovntps_m128_xmm, VEX_Vmovntps_m256_ymm; evex: EVEX_Vmovntps_m128_xmm,
        EVEX_Vmovntps_m256_ymm, EVEX_Vmovntps_m512_zmm);
    PBROADCASTB = unary(vex: VEX_Vpbroadcastb_xmm_xmmm8, VEX_Vpbroadcastb_ymm_xmmm8;
        evex: EVEX_Vpbroadcastb_xmm_k1z_xmmm8, EVEX_Vpbroadcastb_ymm_k1z_xmmm8,
        EVEX_Vpbroadcastb_zmm_k1z_xmmm8).narrow_source(TO_128);
    PBROADCASTW = unary(vex: VEX_Vpbroadcastw_xmm_xmmm16, VEX_Vpbroadcastw_ymm_xmmm16;
        evex: EVEX_Vpbroadcastw_xmm_k1z_xmmm16, EVEX_Vpbroadcastw_ymm_k1z_xmmm16,
        EVEX_Vpbroadcastw_zmm_k1z_xmmm16).narrow_source(TO_128);
    PBROADCASTD = unary(vex: VEX_Vpbroadcastd_xmm_xmmm32, VEX_Vpbroadcastd_ymm_xmmm32;
        evex: EVEX_Vpbroadcastd_xmm_k1z_xmmm32, EVEX_Vpbroadcastd_ymm_k1z_xmmm32,
        EVEX_Vpbroadcastd_zmm_k1z_xmmm32).narrow_source(TO_128);
    PBROADCASTQ = unary(vex: VEX_Vpbroadcastq_xmm_xmmm64, VEX_Vpbroadcastq_ymm_xmmm64;
        evex: EVEX_Vpbroadcastq_xmm_k1z_xmmm64, EVEX_Vpbroadcastq_ymm_k1z_xmmm64,
        EVEX_Vpbroadcastq_zmm_k1z_xmmm64).narrow_source(TO_128);
    PBROADCASTB_G = plain(evex: EVEX_Vpbroadcastb_xmm_k1z_r32, EVEX_Vpbroadcastb_ymm_k1z_r32,
        EVEX_Vpbroadcastb_zmm_k1z_r32).general(4, 4);
    PBROADCASTW_G = plain(evex: EVEX_Vpbroadcastw_xmm_k1z_r32, EVEX_Vpbroadcastw_ymm_k1z_r32,
        EVEX_Vpbroadcastw_zmm_k1z_r32).general(4, 4);
    PBROADCASTD_G = plain(evex: EVEX_Vpbroadcastd_xmm_k1z_r32, EVEX_Vpbroadcastd_ymm_k1z_r32,
        EVEX_Vpbroadcastd_zmm_k1z_r32).general(4, 4);
    PBROADCASTQ_G = plain(evex: EVEX_Vpbroadcastq_xmm_k1z_r64, EVEX_Vpbroadcastq_ymm_k1z_r64,
        EVEX_Vpbroadcastq_zmm_k1z_r64);
    // Mask registers.
    KANDB = plain(avx512: VEX_Kandb_kr_kr_kr).commutes();
    KANDW = plain(avx512: VEX_Kandw_kr_kr_kr).commutes();
    KANDD = plain(avx512: VEX_Kandd_kr_kr_kr).commutes();
    KANDQ = plain(avx512: VEX_Kandq_kr_kr_kr).commutes();
    KANDNB = plain(avx512: VEX_Kandnb_kr_kr_kr);
    KANDNW = plain(avx512: VEX_Kandnw_kr_kr_kr);
    KANDND = plain(avx512: VEX_Kandnd_kr_kr_kr);
    KANDNQ = plain(avx512: VEX_Kandnq_kr_kr_kr);
    KORB = plain(avx512: VEX_Korb_kr_kr_kr).commutes();
    KORW = plain(avx512: VEX_Korw_kr_kr_kr).commutes();
    KORD = plain(avx512: VEX_Kord_kr_kr_kr).commutes();
    KORQ = plain(avx512: VEX_Korq_kr_kr_kr).commutes();
    KXORB = plain(avx512: VEX_Kxorb_kr_kr_kr).commutes();
    KXORW = plain(avx512: VEX_Kxorw_kr_kr_kr).commutes();
    KXORD = plain(avx512: VEX_Kxord_kr_kr_kr).commutes();
    KXORQ = plain(avx512: VEX_Kxorq_kr_kr_kr).commutes();
    KNOTB = plain(avx512: VEX_Knotb_kr_kr);
    KORTESTB = plain(avx512: VEX_Kortestb_kr_kr);
    KNOTW = plain(avx512: VEX_Knotw_kr_kr);
    KORTESTW = plain(avx512: VEX_Kortestw_kr_kr);
    KNOTD = plain(avx512: VEX_Knotd_kr_kr);
    KORTESTD = plain(avx512: VEX_Kortestd_kr_kr);
    KNOTQ = plain(avx512: VEX_Knotq_kr_kr);
    KORTESTQ = plain(avx512: VEX_Kortestq_kr_kr);
    GATHERQPS = plain(vex: VEX_Vgatherqps_xmm_vm64x_xmm, VEX_Vgatherqps_xmm_vm64y_xmm;
        evex: EVEX_Vgatherqps_xmm_k1_vm64x, EVEX_Vgatherqps_xmm_k1_vm64y, EVEX_Vgatherqps_ymm_k1_vm64z)
        .narrow_result(1).narrow_source(1);
    GATHERQPD = plain(vex: VEX_Vgatherqpd_xmm_vm64x_xmm, VEX_Vgatherqpd_ymm_vm64y_ymm;
        evex: EVEX_Vgatherqpd_xmm_k1_vm64x, EVEX_Vgatherqpd_ymm_k1_vm64y, EVEX_Vgatherqpd_zmm_k1_vm64z);
    KMOVB = plain(avx512: VEX_Kmovb_kr_km8);
    KMOVW = plain(avx512: VEX_Kmovw_kr_km16);
    KMOVD = plain(avx512: VEX_Kmovd_kr_km32);
    KMOVQ = unary(avx512: VEX_Kmovq_kr_km64);
    KMOVQ_STORE = plain(avx512: VEX_Kmovq_m64_kr);
    KUNPCKBW = plain(avx512: VEX_Kunpckbw_kr_kr_kr);
    KUNPCKWD = plain(avx512: VEX_Kunpckwd_kr_kr_kr);
    KUNPCKDQ = plain(avx512: VEX_Kunpckdq_kr_kr_kr);
    KSHIFTLQ = plain(avx512: VEX_Kshiftlq_kr_kr_imm8);
    KSHIFTRQ = plain(avx512: VEX_Kshiftrq_kr_kr_imm8);
    PMOVM2B = plain(evex: EVEX_Vpmovm2b_xmm_kr, EVEX_Vpmovm2b_ymm_kr, EVEX_Vpmovm2b_zmm_kr);
    PMOVB2M = plain(evex: EVEX_Vpmovb2m_kr_xmm, EVEX_Vpmovb2m_kr_ymm, EVEX_Vpmovb2m_kr_zmm);
    PMOVM2W = plain(evex: EVEX_Vpmovm2w_xmm_kr, EVEX_Vpmovm2w_ymm_kr, EVEX_Vpmovm2w_zmm_kr);
    PMOVW2M = plain(evex: EVEX_Vpmovw2m_kr_xmm, EVEX_Vpmovw2m_kr_ymm, EVEX_Vpmovw2m_kr_zmm);
    PMOVM2D = plain(evex: EVEX_Vpmovm2d_xmm_kr, EVEX_Vpmovm2d_ymm_kr, EVEX_Vpmovm2d_zmm_kr);
    PMOVD2M = plain(evex: EVEX_Vpmovd2m_kr_xmm, EVEX_Vpmovd2m_kr_ymm, EVEX_Vpmovd2m_kr_zmm);
    PMOVM2Q = plain(evex: EVEX_Vpmovm2q_xmm_kr, EVEX_Vpmovm2q_ymm_kr, EVEX_Vpmovm2q_zmm_kr);
    PMOVQ2M = plain(evex: EVEX_Vpmovq2m_kr_xmm, EVEX_Vpmovq2m_kr_ymm, EVEX_Vpmovq2m_kr_zmm);
    // General registers.
    MOV = unary(any: Mov_r64_rm64);
    MOV_STORE = plain(any: Mov_rm64_r64);
    MOV_STORE32 = plain(any: Mov_rm32_r32).general(4, 4);
    MOV_STORE16 = plain(any: Mov_rm16_r16).general(2, 2);
    MOV_STORE8 = plain(any: Mov_rm8_r8).general(1, 1);
    MOV32 = unary(any: Mov_r32_rm32).general(4, 4);
    MOVZX8 = unary(any: Movzx_r32_rm8).general(4, 1);
    MOVZX16 = unary(any: Movzx_r32_rm16).general(4, 2);
    MOV_I64 = plain(any: Mov_r64_imm64).immediate(8);
    MOV_I32 = plain(any: Mov_rm64_imm32).immediate(4);
    MOV8_I = plain(any: Mov_rm8_imm8).general(1, 1);
    LEA = plain(any: Lea_r64_m);
    ADD = binary(any: Add_r64_rm64).commutes();
    ADD_I = plain(any: Add_rm64_imm32).immediate(4);
    SUB = binary(any: Sub_r64_rm64);
    IMUL = binary(any: Imul_r64_rm64).commutes();
    AND = binary(any: And_r64_rm64).commutes();
    AND_I = plain(any: And_rm64_imm32).immediate(4);
    SHL_I = plain(any: Shl_rm64_imm8);
    SHR_I = plain(any: Shr_rm64_imm8);
    CMP = binary(any: Cmp_r64_rm64);
    CMP_I = unary(any: Cmp_rm64_imm32).immediate(4);
    CMOVE = binary(any: Cmove_r64_rm64);
    CMOVNE = binary(any: Cmovne_r64_rm64);
    CMOVL = binary(any: Cmovl_r64_rm64);
    CMOVLE = binary(any: Cmovle_r64_rm64);
    CMOVG = binary(any: Cmovg_r64_rm64);
    CMOVGE = binary(any: Cmovge_r64_rm64);
    CMOVB = binary(any: Cmovb_r64_rm64);
    CMOVBE = binary(any: Cmovbe_r64_rm64);
    CMOVA = binary(any: Cmova_r64_rm64);
    CMOVAE = binary(any: Cmovae_r64_rm64);
    BZHI = plain(any: VEX_Bzhi_r64_rm64_r64);
    VZEROUPPER = plain(any: VEX_Vzeroupper);
    RET = plain(any: Retnq);
    PUSH = plain(any: Push_r64);
    POP = plain(any: Pop_r64);
    CALL = plain(any: Call_rm64);
}
