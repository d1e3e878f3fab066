//! The journal of a run: every answer that counts, on disk before it does.
//!
//! A journal is a directory with a file of records, a lock and a page for people and programs that want to know how far
//! the run is. The run is a function of its answers, so to resume means to give them again. Invariant: a record is whole
//! or not there; a torn end, from a kill or a full disk, is cut off when the journal is opened again.

use crate::wire;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"GRIDLOCK";
const RECORDS: &str = "journal";
const LOCK: &str = "lock";
/// The page that tells how far a run is.
pub const STATUS: &str = "status.json";
/// Length and checksum in front of a record.
const HEAD: usize = 8;

/// Why a journal cannot be used.
#[derive(Debug)]
pub enum Trouble {
    /// Another process uses it.
    InUse(PathBuf),
    /// There is a journal, and it is not to be resumed.
    Exists(PathBuf),
    /// It belongs to another run: what differs, here and there.
    Other {
        /// What it is about.
        what: String,
        /// What the journal says.
        journal: String,
        /// What this run says.
        run: String,
    },
    /// It is no journal, or one of another version.
    Foreign(PathBuf, String),
    /// The disk says no.
    Io(PathBuf, io::Error),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::InUse(dir) => write!(f, "another process uses the checkpoint {}", dir.display()),
            Trouble::Exists(dir) => write!(
                f,
                "there is a checkpoint in {} already: say --resume to continue it, or name another directory",
                dir.display()
            ),
            Trouble::Other { what, journal, run } => {
                write!(f, "the checkpoint belongs to another run: {what} is {journal} there and {run} here")
            }
            Trouble::Foreign(path, why) => write!(f, "{} cannot be resumed: {why}", path.display()),
            Trouble::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Trouble {}

/// What a run is, as pairs of a name and a value: two runs with the same list may share a journal.
pub type Identity = Vec<(String, String)>;

/// An open journal with records of one type.
pub struct Journal<T> {
    dir: PathBuf,
    file: File,
    /// Held as long as the journal is open.
    _lock: File,
    records: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> Journal<T> {
    /// Opens the journal in a directory, which is made if need be, and reads what is in it. If there is one already it
    /// must be of the same run, and `resume` must be true.
    pub fn open(dir: &Path, identity: &Identity, resume: bool) -> Result<(Self, Vec<T>), Trouble> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |e: io::Error| Trouble::Io(path, e)
        };
        fs::create_dir_all(dir).map_err(io(dir))?;
        let lock_path = dir.join(LOCK);
        let lock = OpenOptions::new().create(true).append(true).open(&lock_path).map_err(io(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Trouble::InUse(dir.to_owned())),
            Err(TryLockError::Error(e)) => return Err(Trouble::Io(lock_path, e)),
        }
        let path = dir.join(RECORDS);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io(&path))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io(&path))?;
        let (mut records, mut end) = (Vec::new(), 0);
        match read_head(&bytes).map_err(|why| Trouble::Foreign(path.clone(), why))? {
            // A head that is not whole was never followed by a record.
            None => {}
            Some(_) if !resume => return Err(Trouble::Exists(dir.to_owned())),
            Some((theirs, after)) => {
                compare(&theirs, identity)?;
                (records, end) =
                    read_records(&bytes, after).map_err(|why| Trouble::Foreign(path.clone(), why))?;
            }
        }
        let head = if end == 0 {
            head(identity).map_err(|why| Trouble::Foreign(path.clone(), why))?
        } else {
            vec![]
        };
        let begin = |file: &mut File| {
            file.set_len(end as u64)?;
            file.seek(SeekFrom::Start(end as u64))?;
            file.write_all(&head)?;
            file.sync_all()?;
            // The names of the files, too.
            File::open(dir)?.sync_all()
        };
        begin(&mut file).map_err(io(&path))?;
        Ok((Journal { dir: dir.to_owned(), file, _lock: lock, records: PhantomData }, records))
    }

    /// Appends records; once this returns they survive whatever happens to the process or the machine.
    pub fn append(&mut self, records: &[T]) -> Result<(), Trouble> {
        let path = self.dir.join(RECORDS);
        let mut bytes = Vec::new();
        for record in records {
            record_to(&mut bytes, record).map_err(|why| Trouble::Foreign(path.clone(), why))?;
        }
        self.file.write_all(&bytes).and_then(|()| self.file.sync_data()).map_err(|e| Trouble::Io(path, e))
    }

    /// Replaces the page that tells how far the run is. It is a convenience: a failure is no reason to stop.
    pub fn tell(&self, status: &[u8]) {
        let _ = gridlock_lts::whole_file::write_whole(&self.dir.join(STATUS), |out| out.write_all(status));
    }
}

/// What a journal is about and the records in it, without opening it for writing: it may be in use.
pub fn read<T: DeserializeOwned>(dir: &Path) -> Result<(Identity, Vec<T>), Trouble> {
    let path = dir.join(RECORDS);
    let bytes = fs::read(&path).map_err(|e| Trouble::Io(path.clone(), e))?;
    let foreign = |why: String| Trouble::Foreign(path.clone(), why);
    let (identity, after) =
        read_head(&bytes).map_err(foreign)?.ok_or_else(|| foreign("it has only just begun".to_owned()))?;
    Ok((identity, read_records(&bytes, after).map_err(foreign)?.0))
}

/// What a journal is about, without its records: they may be of any kind.
pub fn read_identity(dir: &Path) -> Result<Identity, Trouble> {
    let path = dir.join(RECORDS);
    let bytes = fs::read(&path).map_err(|e| Trouble::Io(path.clone(), e))?;
    let foreign = |why: String| Trouble::Foreign(path.clone(), why);
    let head = read_head(&bytes).map_err(foreign)?;
    head.map(|(identity, _)| identity).ok_or_else(|| foreign("it has only just begun".to_owned()))
}

fn compare(theirs: &Identity, ours: &Identity) -> Result<(), Trouble> {
    let nothing = || "nothing".to_owned();
    for k in 0..theirs.len().max(ours.len()) {
        if theirs.get(k) != ours.get(k) {
            let what = theirs.get(k).or(ours.get(k)).map_or_else(nothing, |pair| pair.0.clone());
            let value =
                |all: &Identity| all.iter().find(|p| p.0 == what).map_or_else(nothing, |p| p.1.clone());
            return Err(Trouble::Other { journal: value(theirs), run: value(ours), what });
        }
    }
    Ok(())
}

fn head(identity: &Identity) -> Result<Vec<u8>, String> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(wire::VERSION.to_le_bytes());
    record_to(&mut bytes, identity)?;
    Ok(bytes)
}

/// The identity and where it ends; `None` if the head is not whole.
fn read_head(bytes: &[u8]) -> Result<Option<(Identity, usize)>, String> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err("it is not a checkpoint".to_owned());
    }
    let Some(version) = bytes.get(MAGIC.len()..MAGIC.len() + 4) else { return Ok(None) };
    if version != wire::VERSION.to_le_bytes() {
        return Err("it was written by another version".to_owned());
    }
    match read_record(&bytes[MAGIC.len() + 4..]) {
        None => Ok(None),
        Some(payload) => {
            let end = MAGIC.len() + 4 + HEAD + payload.len();
            Ok(Some((wire::decode(payload)?, end)))
        }
    }
}

/// The records from a place on, and where the last whole one ends.
fn read_records<T: DeserializeOwned>(bytes: &[u8], from: usize) -> Result<(Vec<T>, usize), String> {
    let (mut records, mut at) = (Vec::new(), from);
    while let Some(payload) = read_record(&bytes[at..]) {
        records.push(wire::decode(payload)?);
        at += HEAD + payload.len();
    }
    Ok((records, at))
}

fn record_to(bytes: &mut Vec<u8>, value: &impl Serialize) -> Result<(), String> {
    let payload = wire::encode(value)?;
    bytes.extend(u32::try_from(payload.len()).map_err(|_| "a record is too long")?.to_le_bytes());
    bytes.extend(crc32fast::hash(&payload).to_le_bytes());
    bytes.extend(payload);
    Ok(())
}

/// The first record, if it is whole.
fn read_record(bytes: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let payload = bytes.get(HEAD..HEAD.checked_add(number(0)? as usize)?)?;
    (crc32fast::hash(payload) == number(4)?).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(model: &str) -> Identity {
        vec![("model".to_owned(), model.to_owned()), ("jobs".to_owned(), "trace".to_owned())]
    }

    #[test]
    fn a_journal_survives_a_kill_at_any_byte() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("c");
        let (mut journal, old) = Journal::<String>::open(&at, &identity("m"), false).unwrap();
        assert!(old.is_empty());
        let all = ["one", "two", "three", ""].map(str::to_owned);
        journal.append(&all[..1]).unwrap();
        journal.append(&all[1..]).unwrap();
        drop(journal);
        let whole = fs::read(at.join(RECORDS)).unwrap();
        for end in 0..=whole.len() {
            fs::write(at.join(RECORDS), &whole[..end]).unwrap();
            let (mut journal, old) = Journal::<String>::open(&at, &identity("m"), true).unwrap();
            assert_eq!(old, all[..old.len()], "the first so many records");
            journal.append(&["more".to_owned()]).unwrap();
            drop(journal);
            let (_, again) = Journal::<String>::open(&at, &identity("m"), true).unwrap();
            assert_eq!(again[..old.len()], old);
            assert_eq!(again[old.len()..], ["more"]);
            assert_eq!(read::<String>(&at).unwrap().1, again);
        }
    }

    #[test]
    fn a_journal_is_not_taken_for_another() {
        let dir = tempfile::tempdir().unwrap();
        let open = |model: &str, resume| Journal::<String>::open(dir.path(), &identity(model), resume);
        let first = open("m", true).unwrap();
        assert!(matches!(open("m", true), Err(Trouble::InUse(_))), "a second process");
        drop(first);
        assert!(matches!(open("m", false), Err(Trouble::Exists(_))));
        let Err(Trouble::Other { what, journal, run }) = open("other", true) else { panic!("another run") };
        assert_eq!([what, journal, run], ["model", "m", "other"]);
        fs::write(dir.path().join(RECORDS), "something else").unwrap();
        assert!(matches!(open("m", true), Err(Trouble::Foreign(..))));
    }

    #[test]
    fn broken_records_end_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::<String>::open(dir.path(), &identity("m"), false).unwrap();
        journal.append(&["one".to_owned(), "two".to_owned()]).unwrap();
        drop(journal);
        let mut bytes = fs::read(dir.path().join(RECORDS)).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(dir.path().join(RECORDS), bytes).unwrap();
        let (_, old) = Journal::<String>::open(dir.path(), &identity("m"), true).unwrap();
        assert_eq!(old, ["one"]);
    }
}
