//! Identifies the file at a path, regardless of how the path is written.
//!
//! The file system decides whether two paths identify the same file, through symbolic links, different spellings of directories
//! or, on a case-insensitive file system, names that differ in case. Files that don't exist yet are compared by their directories
//! and by their names in them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::signals::Names;
use crate::target;

pub use system::FileId;

/// The location of an output file, which may not exist yet.
#[derive(Debug)]
pub struct FileIdentity {
    /// The identity of the file at this location, if it exists.
    file: Option<FileId>,
    folder: FileId,
    directory: PathBuf,
    name: OsString,
}

impl FileIdentity {
    /// Resolves a path through symbolic links, the last of which may be dangling.
    ///
    /// # Errors
    /// The system's error, for a directory that does not exist or can't be read.
    pub fn of(path: &Path) -> io::Result<FileIdentity> {
        let place = target::resolve(path)?;
        let directory = target::directory(&place).to_path_buf();
        let file = match FileId::of_path(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found?),
        };
        let name = place.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_os_string();
        Ok(FileIdentity { file, folder: FileId::of_path(&directory)?, directory, name })
    }

    /// Whether this is the location of an existing file.
    pub fn is_file(&self, file: &FileId) -> bool {
        self.file.as_ref() == Some(file)
    }

    /// Whether both locations refer to the same file.
    pub fn is(&self, other: &FileIdentity) -> bool {
        match (&self.file, &other.file) {
            (Some(file), Some(other)) => file == other,
            (None, None) if self.folder != other.folder => false,
            (None, None) => self.name == other.name || are_one(&self.directory, &self.name, &other.name),
            _ => false,
        }
    }
}

/// Whether two names that don't exist in a directory would refer to the same file there, as they may on a case-insensitive file
/// system. To find out, creates a temporary file whose name contains the first name, and looks for it under the same name with
/// the second name in its place.
fn are_one(directory: &Path, name: &OsStr, other: &OsStr) -> bool {
    let is_same_but_for_case = name.eq_ignore_ascii_case(other);
    if name.is_ascii() && other.is_ascii() && !is_same_but_for_case {
        return false;
    }
    // The probe fails if its file name is too long or the directory is not writable. Names that differ only in case are then
    // assumed to refer to the same file.
    probe(directory, name, other).unwrap_or(is_same_but_for_case)
}

fn probe(directory: &Path, name: &OsStr, other: &OsStr) -> io::Result<bool> {
    let process = std::process::id();
    let path = |attempt: u32, name: &OsStr| {
        let mut file = OsString::from(format!("{}{process}-{attempt}-", target::PREFIX));
        file.extend([name, target::SUFFIX.as_ref()]);
        directory.join(file)
    };
    // A file of this name may already exist if a killed process had the same id.
    for attempt in 0..64 {
        let here = path(attempt, name);
        let mut names = Names::lock();
        match File::create_new(&here) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => {
                let file = created?;
                let created = TempPath::try_from_path(&here)?;
                names.add(here);
                drop(names);
                // The file is locked, so that other processes do not take it for a leftover and remove it.
                let _ = file.try_lock();
                let id = FileId::of_path(&created)?;
                return Ok(FileId::of_path(&path(attempt, other)).is_ok_and(|found| found == id));
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(unix)]
mod system {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    /// The identity of a file on its file system.
    #[derive(Debug, PartialEq, Eq)]
    pub struct FileId {
        device: u64,
        inode: u64,
    }

    impl FileId {
        /// The identity of the file or directory at a path, following symbolic links.
        pub fn of_path(path: &Path) -> io::Result<FileId> {
            Ok(FileId::of(&std::fs::metadata(path)?))
        }

        /// The identity of the file to which standard output is redirected; `None` for a pipe, a terminal or another device.
        pub fn of_stdout() -> Option<FileId> {
            let file = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
            let found = file.metadata().ok().filter(Metadata::is_file)?;
            Some(FileId::of(&found))
        }

        fn of(found: &Metadata) -> FileId {
            FileId { device: found.dev(), inode: found.ino() }
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;
    use std::path::Path;

    use same_file::Handle;

    /// The identity of a file on its file system.
    #[derive(Debug, PartialEq, Eq)]
    pub struct FileId(Handle);

    impl FileId {
        /// The identity of the file or directory at a path, following symbolic links.
        pub fn of_path(path: &Path) -> io::Result<FileId> {
            Ok(FileId(Handle::from_path(path)?))
        }

        /// The identity of the file to which standard output is redirected; `None` for a pipe, a terminal or another device.
        pub fn of_stdout() -> Option<FileId> {
            Handle::stdout()
                .ok()
                .filter(|stdout| stdout.as_file().metadata().is_ok_and(|found| found.is_file()))
                .map(FileId)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal names refer to the same file on every file system. Names that differ only in case are not tested, because the result
    /// depends on the file system.
    #[test]
    fn names_are_tried() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let tried = |name: &str, other: &str| probe(dir.path(), name.as_ref(), other.as_ref());
        // A file left by a killed process that had the same id.
        File::create(dir.path().join(format!(
            "{}{}-0-é{}",
            target::PREFIX,
            std::process::id(),
            target::SUFFIX
        )))?;
        assert!(tried("é", "é")? && tried("a", "a")?);
        assert!(!tried("a", "b")? && !tried("é", "e")?);
        assert_eq!(std::fs::read_dir(dir.path())?.count(), 1);
        let long = "x".repeat(250);
        assert!(tried(&long, &long).is_err());
        let is_one = |name: &str, other: &str| are_one(dir.path(), name.as_ref(), other.as_ref());
        assert!(!is_one("a", "b") && !is_one("é", "a") && is_one(&long, &long.to_uppercase()));
        Ok(())
    }
}
