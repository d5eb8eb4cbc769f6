//! Output files that appear whole or not at all.
//!
//! Bytes go to a temporary file beside the output file, which [`Target::finish`] renames; until then the path is
//! untouched, and a target that is dropped leaves nothing behind. An existing file is replaced only on request.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that is written under another name in the directory of its target, and renamed at the end.
///
/// Dropped without [`Target::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct Target {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
    force: bool,
}

/// Why a target could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The target exists and was not to be replaced.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// The target is a directory, a device or the like.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Target {
    /// Begins a file for `path`. One that exists is replaced only with `force`; it then keeps its permissions. A
    /// symbolic link is replaced itself, not what it points to.
    ///
    /// # Errors
    ///
    /// Any of [`TargetError`].
    pub fn create(path: &Path, force: bool) -> Result<Target, TargetError> {
        let mut builder = tempfile::Builder::new();
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => return Err(TargetError::NotAFile(path.into())),
            Ok(_) if !force => return Err(TargetError::Exists(path.into())),
            Ok(found) => permit(&mut builder, Some(found)),
            // A link to nowhere is there as well.
            Err(_) if !force && path.is_symlink() => return Err(TargetError::Exists(path.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => permit(&mut builder, None),
            Err(error) => return Err(error.into()),
        }
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let file = builder.prefix(".broadloom-").suffix(".part").tempfile_in(directory)?;
        Ok(Target { file: BufWriter::with_capacity(64 << 10, file), path: path.into(), force })
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    ///
    /// [`TargetError::Exists`] if the target came to be in the meantime and is not to be replaced, or that of the
    /// system. Nothing is left behind then.
    pub fn finish(self) -> Result<(), TargetError> {
        let Target { file, path, force } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let outcome = if force { file.persist(&path) } else { file.persist_noclobber(&path) };
        match outcome.map_err(|error| error.error) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(TargetError::Exists(path)),
            Err(error) => Err(error.into()),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Gives a file the permissions of the one that it replaces, or those of new files; by default, tempfile makes files that
/// only their owner can read.
fn permit(builder: &mut tempfile::Builder<'_, '_>, replaced: Option<fs::Metadata>) {
    #[cfg(unix)]
    builder.permissions(match replaced {
        Some(found) => found.permissions(),
        None => std::os::unix::fs::PermissionsExt::from_mode(0o666),
    });
    #[cfg(not(unix))]
    let _ = (builder, replaced);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in a directory.
    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry"));
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn existing_files() -> Result<(), TargetError> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("x");
        Target::create(&path, false)?.write_all(b"dropped")?;
        assert_eq!(names(dir.path()), [""; 0]);

        // A target that exists is kept, also if it came to be while the file was written.
        let mut late = Target::create(&path, false)?;
        late.write_all(b"no")?;
        fs::write(&path, "kept")?;
        assert!(matches!(late.finish(), Err(TargetError::Exists(found)) if found == path));
        assert!(matches!(Target::create(&path, false), Err(TargetError::Exists(found)) if found == path));
        assert_eq!((fs::read(&path)?, names(dir.path())), (b"kept".to_vec(), vec!["x".to_owned()]));

        // With force it is replaced, at the end.
        let mut target = Target::create(&path, true)?;
        target.write_all(b"new")?;
        assert_eq!(fs::read(&path)?, b"kept");
        target.finish()?;
        assert_eq!((fs::read(&path)?, names(dir.path())), (b"new".to_vec(), vec!["x".to_owned()]));

        assert!(matches!(Target::create(dir.path(), true), Err(TargetError::NotAFile(_))));
        let nowhere = dir.path().join("none").join("x");
        assert!(matches!(Target::create(&nowhere, true), Err(TargetError::Io(_))));
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions() -> Result<(), TargetError> {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("x");
        let mode = |path: &Path| fs::metadata(path).map(|found| found.permissions().mode() & 0o777);
        let plain = dir.path().join("plain");
        fs::write(&plain, "")?;

        Target::create(&path, false)?.finish()?;
        assert_eq!(mode(&path)?, mode(&plain)?);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
        Target::create(&path, true)?.finish()?;
        assert_eq!(mode(&path)?, 0o600);

        let link = dir.path().join("link");
        symlink(dir.path().join("nowhere"), &link)?;
        assert!(matches!(Target::create(&link, false), Err(TargetError::Exists(_))));
        Target::create(&link, true)?.finish()?;
        assert!(!link.is_symlink() && link.is_file());
        Ok(())
    }
}
