//! Determines the format of a file from the extension of its name.
//!
//! A known format of another program is rejected with advice that names it. Any other extension, or none, means a `.npy`
//! file.

use std::path::{Path, PathBuf};

/// A format that the command reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One array, as `numpy.save` writes it.
    Npy,
    /// An archive of `.npy` files, as `numpy.savez` writes it.
    Npz,
    /// A table of numbers as comma-separated text.
    Csv,
}

/// Extensions of formats that are rejected, each with advice on how to convert the arrays.
const REFUSED: [(&[&str], &str); 9] = [
    (&["h5", "hdf5", "hdf"], "HDF5 files are read and written with h5py"),
    (&["nc", "nc4"], "NetCDF files are read and written with xarray"),
    (&["mat"], "MATLAB files are read and written with scipy.io"),
    (&["parquet", "feather", "arrow"], "tables of this kind are read and written with pandas"),
    (&["tif", "tiff", "jpg", "jpeg"], "pictures are read with imageio; --plot writes PNG files"),
    (&["xls", "xlsx", "ods"], "save the sheet as .csv"),
    (&["tsv"], "separate the columns by commas, and name the file .csv"),
    (&["gz", "bz2", "xz", "zst"], "compressed files are packed and unpacked by other programs, such as gzip"),
    (&["zip"], "an archive of arrays has the ending .npz"),
];

impl Format {
    /// Determines the format of the file at a path.
    ///
    /// # Errors
    ///
    /// The advice for a format that is rejected.
    pub fn of(path: &Path) -> Result<Format, String> {
        let ending =
            path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        match &*ending {
            "npz" => return Ok(Format::Npz),
            "csv" => return Ok(Format::Csv),
            "png" => {
                return Err("a picture is drawn by --plot; arrays are .npy, .npz and .csv files".to_owned());
            }
            _ => {}
        }
        match REFUSED.iter().find(|(endings, _)| endings.contains(&&*ending)) {
            Some((_, advice)) => Err(format!(
                "files ending in .{ending} are not read or written, but .npy, .npz and .csv files are; {advice}"
            )),
            None => Ok(Format::Npy),
        }
    }

    /// Splits an argument into the path and the part of the file: `file.npz:member`, `file.csv:column`.
    pub fn split_part(path: &Path) -> (PathBuf, Option<String>) {
        let Some(text) = path.to_str() else { return (path.into(), None) };
        for ending in [".npz:", ".csv:"] {
            if let Some(at) = text.rfind(ending) {
                let (file, part) = (&text[..at + ending.len() - 1], &text[at + ending.len()..]);
                // A colon before a `/` belongs to the name of a directory.
                if !part.contains('/') {
                    return (file.into(), Some(part.to_owned()));
                }
            }
        }
        (path.into(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings() {
        for (path, format) in [
            ("a.npy", Format::Npy),
            ("a", Format::Npy),
            ("a.dat", Format::Npy),
            ("b/a.NPZ", Format::Npz),
            ("a.b.csv", Format::Csv),
        ] {
            assert_eq!(Format::of(path.as_ref()), Ok(format), "{path}");
        }
        for path in ["a.h5", "a.npy.gz", "a.PNG", "a.zip"] {
            assert!(Format::of(path.as_ref()).is_err(), "{path}");
        }
    }

    #[test]
    fn parts_of_files() {
        let split = |path: &str| {
            let (file, part) = Format::split_part(path.as_ref());
            (file.display().to_string(), part)
        };
        for (path, file, part) in [
            ("a.npz", "a.npz", None),
            ("a.npz:x", "a.npz", Some("x")),
            ("t.npz:x.npz:y", "t.npz:x.npz", Some("y")),
            ("a.csv:height", "a.csv", Some("height")),
            ("a.npz:b/c.npy", "a.npz:b/c.npy", None),
            ("a:b.npy", "a:b.npy", None),
        ] {
            assert_eq!(split(path), (file.to_owned(), part.map(str::to_owned)), "{path}");
        }
    }
}
