//! Output files that appear whole or not at all.
//!
//! The content goes to a temporary file in the directory of the target, is forced to disk and then renamed over the target,
//! so no reader ever sees half a file under its final name, even after a crash of the machine or the process. If writing
//! fails, the temporary file is removed and an older file of that name is left as it was. Writing is buffered here: a
//! buffer of the caller's own would, when dropped, not report what did not fit on the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file by calling `content` with a place to write to.
///
/// The file gets the permissions that creating it in the ordinary way would give: those of the file it replaces, else
/// what the umask leaves. A symbolic link is followed; a device or a pipe is written directly, since renaming would
/// replace it. Every error names the path.
pub fn write_whole(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let failed = |e: io::Error| io::Error::new(e.kind(), format!("cannot write {}: {e}", path.display()));
    match fs::metadata(path) {
        Ok(old) if old.is_dir() => {
            let reason = format!("cannot write {}: it is a directory, name a file", path.display());
            Err(io::Error::new(io::ErrorKind::IsADirectory, reason))
        }
        Ok(old) if !old.is_file() => {
            let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            buffered(&mut file, content).map_err(failed)
        }
        Ok(old) => {
            // A file that may not be written stays protected, although its directory would let it be replaced.
            OpenOptions::new().write(true).open(path).map_err(failed)?;
            let target = fs::canonicalize(path).map_err(failed)?;
            replace(&target, Some(old.permissions()), content).map_err(failed)
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => replace(path, None, content).map_err(failed),
        Err(e) => Err(failed(e)),
    }
}

/// Writes a file that is not there yet. False, and nothing is written, if something has that name.
pub fn write_new(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<bool> {
    let failed = |e: io::Error| io::Error::new(e.kind(), format!("cannot write {}: {e}", path.display()));
    let temporary = written(path, None, content).map_err(failed)?;
    match temporary.persist_noclobber(path) {
        Ok(_) => {
            persisted(path);
            Ok(true)
        }
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(failed(e.error)),
    }
}

fn replace(
    target: &Path,
    permissions: Option<fs::Permissions>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    written(target, permissions, content)?.persist(target).map_err(|e| e.error)?;
    persisted(target);
    Ok(())
}

fn directory_of(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Makes a new name durable too; where directories cannot be synchronised the content still is.
fn persisted(target: &Path) {
    if let Ok(directory) = File::open(directory_of(target)) {
        let _ = directory.sync_all();
    }
}

fn buffered(file: &mut File, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.flush()
}

/// The content in a temporary file beside the target.
fn written(
    target: &Path,
    permissions: Option<fs::Permissions>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<tempfile::NamedTempFile> {
    if target.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this path names no file"));
    }
    let directory = directory_of(target);
    if !directory.is_dir() {
        let reason = format!("there is no directory {}", directory.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    let mut temporary = create_in(&directory).map_err(|e| {
        let reason = format!("no temporary file can be made in the directory {}: {e}", directory.display());
        io::Error::new(e.kind(), reason)
    })?;
    buffered(temporary.as_file_mut(), content)?;
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

fn create_in(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".gridlock-").suffix(".tmp");
    #[cfg(unix)]
    {
        // The kernel takes the umask off this, as for any file that is created; the default would be 0600.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory).map_err(|e| match e.get_ref().is_some() {
        // The crate wraps the cause with the random name, which tells the user nothing.
        true => io::Error::from(e.kind()),
        false => e,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn writes_and_replaces() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.aut");
        for text in ["one", "two"] {
            write_whole(&path, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(dir.path()), ["out.aut"]);
    }

    #[test]
    fn what_is_there_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        assert!(write_new(&path, |out| out.write_all(b"one")).unwrap());
        assert!(!write_new(&path, |out| out.write_all(b"two")).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(names(dir.path()), ["new"]);
    }

    #[test]
    fn failure_leaves_nothing_new() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.aut");
        let half = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::other("the search stopped"))
        };
        let error = write_whole(&path, half).unwrap_err().to_string();
        assert!(error.contains("out.aut") && error.contains("the search stopped"), "{error}");
        assert_eq!(names(dir.path()), [] as [&str; 0]);

        fs::write(&path, "old").unwrap();
        write_whole(&path, half).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(dir.path()), ["out.aut"]);
    }

    #[test]
    fn nothing_stands_under_the_name_while_writing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.aut");
        write_whole(&path, |out| {
            out.write_all(b"x")?;
            assert!(!path.exists());
            Ok(())
        })
        .unwrap();
        assert!(path.exists());
    }

    #[test]
    fn impossible_places_are_named() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().join("none/out.aut"), dir.path().to_owned(), PathBuf::from("")] {
            let error = write_whole(&path, |_| Ok(())).unwrap_err().to_string();
            assert!(error.contains(&format!("cannot write {}: ", path.display())), "{error}");
        }
        let error = write_whole(&dir.path().join("none/out.aut"), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("there is no directory"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_the_ordinary_ones() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let dir = tempfile::tempdir().unwrap();
        let ordinary = dir.path().join("ordinary");
        fs::write(&ordinary, "").unwrap();
        let path = dir.path().join("out.aut");
        write_whole(&path, |_| Ok(())).unwrap();
        assert_eq!(mode(&path), mode(&ordinary));

        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_whole(&path, |_| Ok(())).unwrap();
        assert_eq!(mode(&path), 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_survive() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_whole(&link, |out| out.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");

        write_whole(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
