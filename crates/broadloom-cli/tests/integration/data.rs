//! Tests of the data sets under `examples/data`, and of the vegetation index that the README computes from them.

#[path = "../../examples/make_data.rs"]
#[allow(dead_code, missing_docs, reason = "its main function is not called here")]
mod make_data;

use std::path::{Path, PathBuf};

use crate::support::{ArrayElement, Dir, read};

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data").join(name)
}

#[test]
fn the_files_are_what_the_script_makes() -> std::io::Result<()> {
    let files = make_data::files()?;
    let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(total < 600 << 10, "{total}");
    for (name, bytes) in files {
        assert!(std::fs::read(shipped(name))? == bytes, "{name}: run the example make_data");
    }
    Ok(())
}

#[test]
fn the_vegetation_index() {
    let dir = Dir::new();
    let inputs = ["red", "nir"].map(|name| format!("{name}={}", shipped(&format!("{name}.npy")).display()));
    let expression =
        "(astype(nir, float32) - astype(red, float32)) / (astype(nir, float32) + astype(red, float32))";
    let written = ["-o", "ndvi.npy", "--plot", "ndvi.png"];
    dir.ok(&[&["eval", expression, &inputs[0], &inputs[1]][..], &written].concat());
    let bands = ["red.npy", "nir.npy"].map(|name| {
        let data = read(&shipped(name)).data;
        let counts = data.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        counts.map(f32::from).collect::<Vec<f32>>()
    });
    let index: Vec<f32> =
        bands[0].iter().zip(&bands[1]).map(|(red, nir)| (nir - red) / (nir + red)).collect();
    let result = dir.read("ndvi.npy");
    assert_eq!((&*result.descr, &result.shape[..]), ("<f4", &[240, 320][..]));
    assert!(result.data == f32::bytes(&index));
    assert_eq!(dir.names(), ["ndvi.npy", "ndvi.png"]);
    // The index is negative for water, and well above zero for fields and forest.
    let share = |is: fn(f32) -> bool| index.iter().filter(|&&x| is(x)).count() as f64 / index.len() as f64;
    assert!((0.02..0.2).contains(&share(|x| x < -0.1)) && share(|x| x > 0.4) > 0.5);
}
