//! The version, of the header and of the library.

use std::ffi::{CStr, c_char};

/// The version of this header: major × 10000 + minor × 100 + patch.
pub const BL_VERSION: u32 = 100;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version with a zero in it"),
};

/// The version of the library, in the form of BL_VERSION. Before 1.0 the library and the header must have
/// the same minor version.
#[unsafe(no_mangle)]
pub extern "C" fn bl_version() -> u32 {
    BL_VERSION
}

/// The version of the library as text, such as "0.1.0"; in static memory.
#[unsafe(no_mangle)]
pub extern "C" fn bl_version_string() -> *const c_char {
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_is_the_crates() {
        let parts: Vec<u32> =
            env!("CARGO_PKG_VERSION").split('.').map(|part| part.parse().expect("a number")).collect();
        assert_eq!(parts[0] * 10_000 + parts[1] * 100 + parts[2], super::bl_version());
    }
}
