//! The machine instructions that the back end emits, and their encodings at each vector length.
//!
//! The [`table`](self::table) names every code of the encoder that is used. The encoder's enum is `#[non_exhaustive]`,
//! so nothing may be computed from its discriminants. Tests compare each row's vector lengths, operand sizes and
//! broadcasts with the encoder's own description of the code.

mod encoding;
mod fma;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use encoding::Encoding;
pub(crate) use fma::FmaOrder;
pub(crate) use table::*;
