//! A vegetation index: one fused loop computes a masked index from two bands, and the program
//! prints how the index was computed.
//!
//! `cargo run --release -p broadloom --example vegetation`

use broadloom::prelude::*;

fn main() -> Result<()> {
    let nir = Array::from([[4000_u16, 5200, 3100], [800, 4700, 900]]);
    let red = Array::from([[1000_u16, 700, 1500], [790, 650, 1200]]);
    let (nir, red) = (nir.astype(DType::Float32), red.astype(DType::Float32));

    let index = (&nir - &red) / (&nir + &red);
    let masked = where_(index.greater(0.2), &index, 0.0);

    println!("{}\n", masked.eval()?);
    println!("{}", masked.explain()?);
    Ok(())
}
