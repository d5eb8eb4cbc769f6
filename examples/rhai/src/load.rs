//! Loads `.npy` files of one folder.
//!
//! A name can't refer to another folder. The shape in the header is checked against the file's length before memory is
//! allocated.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use broadloom::{Array, DType};
use npyz::{NpyFile, Order};

use crate::{Answer, error};

/// Loads the array in a file, if `afford` returns no error.
pub(crate) fn npy(
    folder: &Path,
    name: &str,
    afford: impl FnOnce(usize, DType) -> Answer<()>,
) -> Answer<Array<'static>> {
    let fail = |why: &dyn std::fmt::Display| error(format!("load: {name}: {why}"));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.ends_with(".npy") || name.starts_with('.') || !name.chars().all(plain) {
        return Err(fail(&"not the name of a .npy file"));
    }
    let file = File::open(folder.join(name)).map_err(|e| fail(&e))?;
    let length = file.metadata().map_err(|e| fail(&e))?.len();
    let npy = NpyFile::new(BufReader::new(file)).map_err(|e| fail(&e))?;
    let mut shape: Vec<usize> = npy.shape().iter().map(|&n| n as usize).collect();
    let fortran = npy.order() == Order::Fortran;
    if fortran {
        shape.reverse();
    }
    let elements = shape.iter().try_fold(1usize, |all, &n| all.checked_mul(n));
    let elements =
        elements.filter(|&n| n as u64 <= length).ok_or_else(|| fail(&"shorter than its header says"))?;
    let descr = npy.dtype().descr();
    macro_rules! typed {
        ($($codes:pat => $t:ty, $dtype:ident;)*) => {
            match descr.trim_matches('\'') {
                $($codes => {
                    afford(elements, DType::$dtype)?;
                    let values: Vec<$t> = npy.into_vec().map_err(|e| fail(&e))?;
                    Array::from_shape_vec(&shape, values)
                })*
                other => return Err(fail(&format!("elements of type {other}"))),
            }
        };
    }
    typed! {
        "|b1" => bool, Bool; "|i1" => i8, Int8; "<i2" => i16, Int16; "<i4" => i32, Int32; "<i8" => i64, Int64;
        "|u1" => u8, UInt8; "<u2" => u16, UInt16; "<u4" => u32, UInt32; "<u8" => u64, UInt64;
        "<f4" => f32, Float32; "<f8" => f64, Float64;
    }
    .map(|x| if fortran { x.t() } else { x })
    .map_err(error)
}
