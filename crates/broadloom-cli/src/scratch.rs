//! Unnamed temporary files, which the system removes when they are closed or the process ends.
//!
//! An error message states that it is about a temporary file, and names the file's directory. If it contained only the path of an
//! input, it would read as if the input were missing or its disk full.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::text::shown;

/// An unnamed temporary file that is being written.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    directory: PathBuf,
}

impl TemporaryFile {
    /// Creates a file in the system's temporary directory.
    ///
    /// # Errors
    /// The system's error, with the directory added to the message.
    pub fn create() -> io::Result<TemporaryFile> {
        let directory = std::env::temp_dir();
        let file = tempfile::tempfile_in(&directory);
        let advice = if cfg!(unix) { "; TMPDIR names another folder" } else { "" };
        let why = |error| {
            about(&error, &format!("no temporary file can be created in {}", shown(&directory)), advice)
        };
        Ok(TemporaryFile { file: file.map_err(why)?, directory })
    }

    /// Creates a file in the directory of the output file that will be made from it.
    ///
    /// # Errors
    /// The system's error, with the directory added to the message.
    pub fn create_in(directory: &Path) -> io::Result<TemporaryFile> {
        let file = tempfile::tempfile_in(directory);
        let why =
            |error| about(&error, &format!("no temporary file can be created in {}", shown(directory)), "");
        Ok(TemporaryFile { file: file.map_err(why)?, directory: directory.into() })
    }

    /// Flushes the file, and returns it for reading.
    pub fn into_file(self) -> File {
        self.file
    }

    fn failed(&self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => about(&error, &format!("a temporary file in {}", shown(&self.directory)), ""),
        }
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.failed(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Adds to an error's message the file or directory that it is about, and advice.
fn about(error: &io::Error, what: &str, advice: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}{advice}"))
}
