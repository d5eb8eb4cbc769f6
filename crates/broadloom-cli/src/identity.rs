//! The identity of the file behind a path, independent of the path's spelling.
//!
//! The file system decides whether two paths mean one file: through links, with other spellings of folders, or with names that
//! differ in case where that makes no difference. Files that do not exist yet are compared by their folder and their name in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::signals::Names;
use crate::target;

pub use system::FileId;

/// The place of an output file.
#[derive(Debug)]
pub struct Place {
    /// The identity of the file at this place, if one exists.
    file: Option<FileId>,
    folder: FileId,
    directory: PathBuf,
    name: OsString,
}

impl Place {
    /// The place that a path leads to through symbolic links, the last of which may point to nothing.
    ///
    /// # Errors The error of the system, for a folder that does not exist or can't be examined.
    pub fn of(path: &Path) -> io::Result<Place> {
        let place = target::resolve(path)?;
        let directory = target::directory(&place).to_path_buf();
        let file = match FileId::of_path(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found?),
        };
        let name = place.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_os_string();
        Ok(Place { file, folder: FileId::of_path(&directory)?, directory, name })
    }

    /// Whether this is the place of the given file, which exists.
    pub fn is_file(&self, file: &FileId) -> bool {
        self.file.as_ref() == Some(file)
    }

    /// Whether both places are the same file.
    pub fn is(&self, other: &Place) -> bool {
        match (&self.file, &other.file) {
            (Some(file), Some(other)) => file == other,
            (None, None) if self.folder != other.folder => false,
            (None, None) => self.name == other.name || are_one(&self.directory, &self.name, &other.name),
            _ => false,
        }
    }
}

/// Whether two names would be one file in a directory where neither exists, because case makes no difference. This is tried out
/// with a file whose name contains one of the names, which is looked for with the other name.
fn are_one(directory: &Path, name: &OsStr, other: &OsStr) -> bool {
    let is_same_but_for_case = name.eq_ignore_ascii_case(other);
    if name.is_ascii() && other.is_ascii() && !is_same_but_for_case {
        return false;
    }
    // The test is impossible if the name becomes too long with what is around it, or nothing can be created in the directory.
    probe(directory, name, other).unwrap_or(is_same_but_for_case)
}

fn probe(directory: &Path, name: &OsStr, other: &OsStr) -> io::Result<bool> {
    let process = std::process::id();
    let path = |attempt: u32, name: &OsStr| {
        let mut file = OsString::from(format!("{}{process}-{attempt}-", target::PREFIX));
        file.extend([name, target::SUFFIX.as_ref()]);
        directory.join(file)
    };
    // A process with the same number may have left a file with this name.
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
                // Other processes remove such files unless they are locked.
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
        /// The identity of the file or folder that a path leads to.
        pub fn of_path(path: &Path) -> io::Result<FileId> {
            Ok(FileId::of(&std::fs::metadata(path)?))
        }

        /// The identity of the file that standard output goes to; `None` if it is a pipe, a terminal or another device.
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
        /// The identity of the file or folder that a path leads to.
        pub fn of_path(path: &Path) -> io::Result<FileId> {
            Ok(FileId(Handle::from_path(path)?))
        }

        /// The identity of the file that standard output goes to; `None` if it is a pipe, a terminal or another device.
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

    /// The file system decides about names that differ in case only. The test uses equal names, which are one file on any file
    /// system.
    #[test]
    fn names_are_tried() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let tried = |name: &str, other: &str| probe(dir.path(), name.as_ref(), other.as_ref());
        // A file that a process with the same number has left.
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
