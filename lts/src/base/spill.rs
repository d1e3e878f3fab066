//! Files for what does not fit into memory.
//!
//! They have no names: the system removes them with the process, however it ends. Threads read and write at the same time,
//! each at its own place.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
#[cfg(not(unix))]
use std::sync::{Mutex, PoisonError};

/// A file without a name.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    end: AtomicU64,
    /// Guards the file position on systems where reading and writing need one.
    #[cfg(not(unix))]
    position: Mutex<()>,
}

impl SpillFile {
    /// An empty file in a directory.
    pub fn new_in(directory: &Path) -> io::Result<Self> {
        tempfile::tempfile_in(directory).map(Self::from)
    }

    /// The number of bytes reserved so far.
    pub fn end(&self) -> u64 {
        self.end.load(Relaxed)
    }

    /// Reserves bytes at the end of the file for the caller alone and returns where they begin.
    pub fn reserve(&self, bytes: u64) -> u64 {
        self.end.fetch_add(bytes, Relaxed)
    }
}

impl From<File> for SpillFile {
    /// A file that the caller has opened; it must be empty.
    fn from(file: File) -> Self {
        SpillFile {
            file,
            end: AtomicU64::new(0),
            #[cfg(not(unix))]
            position: Mutex::new(()),
        }
    }
}

impl AsRef<File> for SpillFile {
    fn as_ref(&self) -> &File {
        &self.file
    }
}

#[cfg(unix)]
impl SpillFile {
    /// Writes all bytes to a place.
    pub fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, at)
    }

    /// Reads as many bytes from a place as there is room for.
    pub fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at)
    }
}

#[cfg(not(unix))]
impl SpillFile {
    /// Writes all bytes to a place.
    pub fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        use io::{Seek, Write};
        let _alone = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        (&self.file).seek(io::SeekFrom::Start(at))?;
        (&self.file).write_all(bytes)
    }

    /// Reads as many bytes from a place as there is room for.
    pub fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        use io::{Read, Seek};
        let _alone = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        (&self.file).seek(io::SeekFrom::Start(at))?;
        (&self.file).read_exact(bytes)
    }
}
