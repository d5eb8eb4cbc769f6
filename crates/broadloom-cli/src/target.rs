//! Output files that appear complete or not at all.
//!
//! A file is written without a name, and [`finish_all`] links it to its path. If the process ends earlier, the system frees the
//! file. On systems without unnamed files, a named temporary file is written in the directory of the output file, and a signal
//! removes it ([`Names`]). The temporary file is locked while it is written, so that a later run can recognise and remove the
//! files of killed processes. An existing file is replaced only on request, as the last step.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf, is_separator};

use tempfile::TempPath;

use crate::signals::{self, Names};
use crate::text::shown;

/// The prefix and suffix of the names of temporary files.
pub const PREFIX: &str = ".broadloom-";
pub const SUFFIX: &str = ".part";

/// The maximum number of symbolic links followed for a path.
const MOST_LINKS: usize = 40;

/// An output file, which appears at its path when it is complete. If it is dropped before [`finish_all`], no file remains.
#[derive(Debug)]
pub struct Target {
    draft: BufWriter<FileDraft>,
    /// The path as given by the user.
    path: PathBuf,
    /// The path after resolving symbolic links.
    place: PathBuf,
    force: bool,
}

/// The reason why an output file could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The file exists and must not be replaced.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// The path refers to a directory, a device or another special file.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The process received a signal.
    #[error("interrupted")]
    Interrupted,
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Target {
    /// Creates an output file for `path`. An existing file is replaced only with `force`, and its permissions are kept. If the
    /// path is a symbolic link, the file that it points to is written.
    ///
    /// # Errors
    ///
    /// Any [`TargetError`].
    pub fn create(path: &Path, force: bool) -> Result<Target, TargetError> {
        let place = resolve(path)?;
        let names_a_file =
            !path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| is_separator(last.into()));
        // For a device or a pipe, the target of the last link may not be a valid path: /dev/stdout leads to `pipe:[4321]`.
        let is_other = fs::metadata(path).is_ok_and(|found| !found.is_file());
        if !names_a_file || is_other {
            return Err(TargetError::NotAFile(path.into()));
        }
        let replaced = match fs::metadata(&place) {
            Ok(found) if !found.is_file() => return Err(TargetError::NotAFile(path.into())),
            Ok(_) if !force => return Err(TargetError::Exists(path.into())),
            Ok(found) => Some(found.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let directory = directory(&place);
        if !directory.exists() {
            return Err(io::Error::other(format!("there is no directory {}", shown(directory))).into());
        }
        let draft = FileDraft::create(directory, replaced, force)?;
        Ok(Target { draft: BufWriter::with_capacity(64 << 10, draft), path: path.into(), place, force })
    }

    /// The path as given by the user.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that will contain the file.
    pub fn directory(&self) -> PathBuf {
        directory(&self.place).to_path_buf()
    }

    /// Flushes the file, and returns it for reading. Nothing may be written afterwards.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn reader(&mut self) -> io::Result<File> {
        self.draft.flush()?;
        self.draft.get_ref().file.try_clone()
    }

    /// Moves the file to its path, like [`finish_all`].
    #[cfg(test)]
    pub fn finish(self) -> Result<(), TargetError> {
        finish_all(vec![self]).map_err(|(_, error)| error)
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.draft.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.draft.flush()
    }
}

/// Moves either all files to their paths, or none. There is one exception: if replacing an existing file fails, files that have
/// already been replaced keep their new contents.
///
/// # Errors
///
/// The path of a file, with [`TargetError::Exists`] if another process has created a file there that must not be replaced, with
/// [`TargetError::Interrupted`], or with the system's error. No temporary files remain.
pub fn finish_all(targets: Vec<Target>) -> Result<(), (PathBuf, TargetError)> {
    let mut ready = Vec::new();
    for Target { draft, path, place, force } in targets {
        match draft.into_inner() {
            Ok(draft) => ready.push((draft, path, place, force)),
            Err(error) => return Err((path, error.into_error().into())),
        }
    }
    // While the lock is held, no signal ends the process.
    let names = Names::lock();
    if signals::interrupted() {
        let path = ready.first().map(|(_, path, ..)| path.clone()).unwrap_or_default();
        drop(names);
        return Err((path, TargetError::Interrupted));
    }
    let mut linked: Vec<PathBuf> = Vec::new();
    let mut renamed: Vec<(TempPath, PathBuf, PathBuf)> = Vec::new();
    let mut failed = None;
    for (draft, path, place, force) in ready {
        let outcome = match force {
            true => draft.named(directory(&place)).map(|name| renamed.push((name, path.clone(), place))),
            false => draft.link(&place).map(|()| linked.push(place)),
        };
        match outcome {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                failed = Some((path.clone(), TargetError::Exists(path)));
                break;
            }
            Err(error) => {
                failed = Some((path, error.into()));
                break;
            }
        }
    }
    if let Some(failed) = failed {
        // A file that can't be removed stays at its path, but is complete.
        linked.iter().for_each(|place| drop(fs::remove_file(place)));
        return Err(failed);
    }
    for (name, path, place) in renamed {
        name.persist(&place).map_err(|error| (path, error.error.into()))?;
    }
    drop(names);
    Ok(())
}

/// An output file that is being written.
#[derive(Debug)]
struct FileDraft {
    file: File,
    /// The name, if the file has one. When the name is dropped, the file is removed.
    name: Option<TempPath>,
}

impl FileDraft {
    /// Creates a file in a directory, with the permissions of the file that it replaces, or with the default permissions if
    /// there is no such file.
    fn create(directory: &Path, replaced: Option<fs::Permissions>, force: bool) -> io::Result<FileDraft> {
        if force {
            collect(directory);
        }
        if let Some(file) = system::unnamed(directory) {
            // If locking fails, the worst consequence is that a later run removes the file.
            let _ = file.try_lock();
            if let Some(permissions) = replaced {
                file.set_permissions(permissions)?;
            }
            return Ok(FileDraft { file, name: None });
        }
        collect(directory);
        FileDraft::with_name(directory, replaced.as_ref())
    }

    /// Creates a temporary file with a name.
    fn with_name(directory: &Path, replaced: Option<&fs::Permissions>) -> io::Result<FileDraft> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        permit(&mut builder, replaced);
        loop {
            let mut names = Names::lock();
            let (file, name) = builder.tempfile_in(directory)?.into_parts();
            names.add(name.to_path_buf());
            let taken = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
            // Another process may have removed the file before it was locked. Another file is then created.
            if !taken && name.exists() {
                return Ok(FileDraft { file, name: Some(name) });
            }
        }
    }

    /// Gives the file a temporary name in the directory.
    fn named(mut self, directory: &Path) -> io::Result<TempPath> {
        if let Some(name) = self.name.take() {
            return Ok(name);
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        Ok(builder.make_in(directory, |name| system::link(&self.file, name))?.into_temp_path())
    }

    /// Links the file to a path at which no file exists.
    fn link(mut self, place: &Path) -> io::Result<()> {
        match self.name.take() {
            None => system::link(&self.file, place),
            Some(name) => name.persist_noclobber(place).map_err(|error| error.error),
        }
    }
}

impl Write for FileDraft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Resolves a path through symbolic links, the last of which may be dangling.
///
/// # Errors
/// The system's error, for a link that can't be read or for a cycle of links.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if !place.is_symlink() {
            return Ok(place);
        }
        let to = fs::read_link(&place)?;
        place = directory(&place).join(to);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The directory of a path.
pub fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Removes the temporary files in a directory that are not locked, since their processes have ended.
fn collect(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let bytes = name.as_encoded_bytes();
        let is_ours = bytes.starts_with(PREFIX.as_bytes()) && bytes.ends_with(SUFFIX.as_bytes());
        // Opening a named pipe would block, so only regular files are considered.
        if !is_ours || !entry.file_type().is_ok_and(|found| found.is_file()) {
            continue;
        }
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            // A file that can't be removed is left in place.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Sets the permissions to those of the file to be replaced, or to the default permissions if there is none. The `tempfile`
/// crate would make the file readable by its owner only.
fn permit(builder: &mut tempfile::Builder<'_, '_>, replaced: Option<&fs::Permissions>) {
    #[cfg(unix)]
    builder.permissions(match replaced {
        Some(permissions) => permissions.clone(),
        None => std::os::unix::fs::PermissionsExt::from_mode(0o666),
    });
    #[cfg(not(unix))]
    let _ = (builder, replaced);
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, OFlags};

    /// Creates an unnamed file in a directory; `None` if the file system doesn't support unnamed files, or they can't be linked.
    pub fn unnamed(directory: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE.bits() as i32;
        let file = OpenOptions::new().read(true).write(true).mode(0o666).custom_flags(flags).open(directory);
        file.ok().filter(|file| std::fs::metadata(entry(file)).is_ok())
    }

    /// Links the file to a path at which no file exists.
    pub fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::linkat(CWD, entry(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// The path under which the process can access its own open file.
    fn entry(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    /// Always `None`: unnamed files can't be linked on this system.
    pub fn unnamed(_: &Path) -> Option<File> {
        None
    }

    pub fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
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

        // An existing file is kept, even if it was created while the output file was being written.
        let mut late = Target::create(&path, false)?;
        late.write_all(b"no")?;
        fs::write(&path, "kept")?;
        assert!(matches!(late.finish(), Err(TargetError::Exists(found)) if found == path));
        assert!(matches!(Target::create(&path, false), Err(TargetError::Exists(found)) if found == path));
        assert_eq!((fs::read(&path)?, names(dir.path())), (b"kept".to_vec(), vec!["x".to_owned()]));

        // With `force`, the existing file is replaced, as the last step.
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

        // Links are followed, including relative and dangling ones.
        for (name, to) in [("a", "pointee"), ("b", "a")] {
            symlink(to, dir.path().join(name))?;
        }
        Target::create(&dir.path().join("b"), false)?.write_all(b"1")?;
        let mut target = Target::create(&dir.path().join("b"), false)?;
        target.write_all(b"2")?;
        target.finish()?;
        let pointee = dir.path().join("pointee");
        assert!(dir.path().join("b").is_symlink() && dir.path().join("a").is_symlink());
        assert_eq!((fs::read(&pointee)?, mode(&pointee)?), (b"2".to_vec(), mode(&plain)?));
        assert!(matches!(Target::create(&dir.path().join("b"), false), Err(TargetError::Exists(_))));
        Target::create(&dir.path().join("b"), true)?.finish()?;
        assert_eq!((fs::read(&pointee)?, dir.path().join("b").is_symlink()), (Vec::new(), true));
        symlink("round", dir.path().join("round"))?;
        assert!(matches!(Target::create(&dir.path().join("round"), true), Err(TargetError::Io(_))));
        Ok(())
    }

    /// Several files appear at their paths together, or not at all.
    #[test]
    fn several_at_once() -> Result<(), TargetError> {
        let dir = tempfile::tempdir()?;
        let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
        fs::write(&b, "old")?;
        let all = || -> Result<Vec<Target>, TargetError> {
            Ok(vec![Target::create(&b, true)?, Target::create(&a, false)?, Target::create(&c, false)?])
        };
        let late = all()?;
        fs::write(&c, "came to be")?;
        let refused = finish_all(late);
        assert!(matches!(&refused, Err((path, TargetError::Exists(_))) if *path == c), "{refused:?}");
        assert_eq!((fs::read(&b)?, names(dir.path())), (b"old".to_vec(), vec!["b".into(), "c".into()]));
        fs::remove_file(&c)?;
        assert!(finish_all(all()?).is_ok());
        assert_eq!(
            (fs::read(&b)?, names(dir.path())),
            (Vec::new(), vec!["a".into(), "b".into(), "c".into()])
        );
        Ok(())
    }

    /// On systems without unnamed files, the next run removes the temporary file that a killed process has left.
    #[test]
    fn what_a_killed_process_left_is_collected() -> Result<(), TargetError> {
        let dir = tempfile::tempdir()?;
        let left = |name: &str| fs::write(dir.path().join(name), "");
        [".broadloom-1.part", ".broadloom-2.part", ".broadloom-1", "x.part"]
            .into_iter()
            .try_for_each(left)?;
        let held = File::open(dir.path().join(".broadloom-2.part"))?;
        held.try_lock().map_err(|_| io::Error::other("the lock"))?;
        let draft = FileDraft::with_name(dir.path(), None)?;
        let mine = draft.name.as_ref().and_then(|name| name.file_name()).map(|name| name.to_string_lossy());
        let mine = mine.unwrap_or_default().into_owned();
        collect(dir.path());
        let mut expected = vec![".broadloom-1".to_owned(), ".broadloom-2.part".into(), mine, "x.part".into()];
        expected.sort();
        assert_eq!(names(dir.path()), expected);
        drop(draft);
        assert_eq!(names(dir.path()).len(), 3);
        Ok(())
    }

    /// Tests the implementation for systems without unnamed files.
    #[test]
    fn files_with_a_temporary_name() -> Result<(), TargetError> {
        let dir = tempfile::tempdir()?;
        let place = dir.path().join("x");
        let target = |force| -> io::Result<Target> {
            let draft = BufWriter::new(FileDraft::with_name(dir.path(), None)?);
            Ok(Target { draft, path: place.clone(), place: place.clone(), force })
        };
        let mut first = target(false)?;
        first.write_all(b"1")?;
        assert_eq!(names(dir.path()).len(), 1);
        first.finish()?;
        assert!(matches!(target(false)?.finish(), Err(TargetError::Exists(_))));
        assert_eq!((fs::read(&place)?, names(dir.path())), (b"1".to_vec(), vec!["x".into()]));
        target(true)?.finish()?;
        assert_eq!((fs::read(&place)?, names(dir.path())), (Vec::new(), vec!["x".into()]));
        Ok(())
    }
}
