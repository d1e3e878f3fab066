//! The journal of a run: every answer is written to a file before it counts.
//!
//! A journal is a directory with a file of records, a lock and a page on which people and programs read the progress of the
//! run. The run is a function of its answers, so resuming gives them to the machine again, one record at a time: together
//! they may be larger than the memory. Disks are slow to confirm that data is on them, so a separate thread waits for the
//! confirmation, and records that come meanwhile share the next one.
//!
//! In front of each record stands its effort ([`Tally`]), so that a reader that only counts need not decode the records.
//!
//! Invariants: a record is whole or missing; a torn end, from a kill or a full disk, is cut off when the journal is opened
//! again. After a failed write nothing more is written.

use super::wire;
use gridlock_lts::base::error::Error;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

const MAGIC: &[u8; 8] = b"GRIDLOCK";
const RECORDS: &str = "journal";
const LOCK: &str = "lock";
/// The file of the page with the progress of a run.
pub const STATUS: &str = "status.json";
/// Length and checksum in front of a record.
const HEAD: usize = 8;
/// A torn head is shorter than this; if the file is longer, the length of the head is wrong.
const LONGEST_TORN: u64 = 1 << 14;
/// Bytes of a record that are read if only its tally is wanted: two numbers.
const TALLY: usize = 32;

/// Why a journal cannot be used.
#[derive(Debug)]
pub enum Trouble {
    /// Another process uses it.
    InUse(PathBuf),
    /// There is a journal, and resuming it was not asked for.
    Exists(PathBuf),
    /// It belongs to another run: a part of the identity, and its value in the journal and in this run.
    Other {
        /// The part of the identity.
        what: String,
        /// Its value in the journal.
        journal: String,
        /// Its value in this run.
        run: String,
    },
    /// It is no journal, or one of another version.
    Foreign(PathBuf, String),
    /// The disk reports an error.
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

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Io(..) => Error::disk(trouble),
            other => Error::input(other),
        }
    }
}

/// The effort of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// States expanded.
    pub states: u64,
    /// Time, if it is known.
    pub nanoseconds: u64,
}

/// Records that are to be written together.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    records: u64,
}

impl Batch {
    /// Appends a record.
    pub fn add(&mut self, tally: Tally, record: &impl Serialize) -> Result<(), Error> {
        self.records += 1;
        record_to(&mut self.bytes, &(tally, record)).map_err(Error::internal)
    }

    /// The number of records.
    pub fn records(&self) -> u64 {
        self.records
    }
}

/// The identity of a run, as pairs of a name and a value: runs with the same list may share a journal.
pub type Identity = Vec<(String, String)>;

/// An open journal with records of one type.
pub struct Journal<T> {
    dir: PathBuf,
    /// The file of records.
    path: PathBuf,
    writer: Writer,
    /// The numbers of records that were to be written, and of those that are on disk.
    begun: u64,
    settled: u64,
    /// Held as long as the journal is open; a part has none.
    _lock: Option<File>,
    records: PhantomData<T>,
}

impl<T> Journal<T> {
    /// Opens the journal in a directory, which is made if need be; its records are read one after the other. If there is a
    /// journal already it must be of the same run, and `resume` must be true.
    pub fn open(dir: &Path, identity: &Identity, resume: bool) -> Result<(Self, Records<T>), Trouble> {
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
        let mut source = Source::open(&path)?;
        let (end, left) = match source.head()? {
            None => (0, 0),
            Some(_) if !resume => return Err(Trouble::Exists(dir.to_owned())),
            Some(theirs) => {
                compare(&theirs, identity)?;
                source.last()?
            }
        };
        let head = if end == 0 {
            head(identity).map_err(|why| Trouble::Foreign(path.clone(), why))?
        } else {
            vec![]
        };
        let begin = |file: &mut File| {
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            file.write_all(&head)?;
            file.sync_all()?;
            // The names of the files, too.
            File::open(dir)?.sync_all()
        };
        begin(&mut file).map_err(io(&path))?;
        let mut source = Source::open(&path)?;
        source.head()?;
        let writer = Writer::start(file).map_err(io(&path))?;
        let journal = Journal::new(dir, path, writer, Some(lock));
        Ok((journal, Records { source, left, records: PhantomData }))
    }

    fn new(dir: &Path, path: PathBuf, writer: Writer, lock: Option<File>) -> Self {
        let (begun, settled, records) = (0, 0, PhantomData);
        Journal { dir: dir.to_owned(), path, writer, begun, settled, _lock: lock, records }
    }

    /// Begins a part of a journal: a file of this name beside it, for one of several processes that write at the same time.
    /// The process that has the journal makes sure that no other process writes there, and that the name is new.
    pub fn begin_part(dir: &Path, name: &str, identity: &Identity) -> Result<Self, Trouble> {
        let path = dir.join(name);
        let head = head(identity).map_err(|why| Trouble::Foreign(path.clone(), why))?;
        let begin = || {
            let mut file = File::create(&path)?;
            file.write_all(&head)?;
            file.sync_all()?;
            File::open(dir)?.sync_all()?;
            Writer::start(file)
        };
        let writer = begin().map_err(|e| Trouble::Io(path.clone(), e))?;
        Ok(Journal::new(dir, path, writer, None))
    }

    /// Begins to append records, and does not wait for the disk. [`Journal::settled`] returns how many are on disk.
    pub fn begin(&mut self, batch: Batch) -> Result<(), Trouble> {
        if batch.records > 0 {
            self.send(batch, true);
        }
        Ok(())
    }

    /// Appends records that survive a crash of the process, and, after [`Journal::sync`], of the machine.
    pub fn write(&mut self, batch: Batch) -> Result<(), Trouble> {
        if batch.records > 0 {
            self.send(batch, false);
        }
        self.settle()
    }

    /// Makes the records written so far survive a failure of the machine.
    pub fn sync(&mut self) -> Result<(), Trouble> {
        self.send(Batch { bytes: Vec::new(), records: 1 }, true);
        self.settle()
    }

    fn send(&mut self, Batch { bytes, records }: Batch, sync: bool) {
        if let Some(writer) = &self.writer.orders {
            self.begun += records;
            // If nobody is there to write, the next one who asks hears why not.
            let _ = writer.send(Order { bytes, records, sync });
        }
    }

    /// Waits until all writes that were begun are done.
    fn settle(&mut self) -> Result<(), Trouble> {
        while self.settled < self.begun {
            let settled = self.writer.settled.recv().unwrap_or_else(|_| Err(given_up()));
            self.settled += settled.map_err(|e| self.cannot_write(e))?;
        }
        Ok(())
    }

    /// How many of the records that were begun survive a crash of the process or the machine.
    pub fn settled(&mut self) -> Result<u64, Trouble> {
        loop {
            match self.writer.settled.try_recv() {
                Ok(settled) => self.settled += settled.map_err(|e| self.cannot_write(e))?,
                Err(TryRecvError::Empty) => return Ok(self.settled),
                Err(TryRecvError::Disconnected) => return Err(self.cannot_write(given_up())),
            }
        }
    }

    fn cannot_write(&self, error: io::Error) -> Trouble {
        Trouble::Io(self.path.clone(), error)
    }

    /// Replaces the page with the progress of the run. It is a convenience: a failure is no reason to stop.
    pub fn tell(&self, status: &[u8]) {
        let _ =
            gridlock_lts::base::whole_file::write_whole(&self.dir.join(STATUS), |out| out.write_all(status));
    }
}

/// The error of a journal that could not be written before.
fn given_up() -> io::Error {
    io::Error::other("it could not be written before")
}

/// Bytes to write, the number of their records, and whether to wait until the disk confirms them.
struct Order {
    bytes: Vec<u8>,
    records: u64,
    sync: bool,
}

/// The thread that waits for the disk.
struct Writer {
    orders: Option<Sender<Order>>,
    /// The number of records that have come to be on disk since the last message.
    settled: Receiver<io::Result<u64>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn start(mut file: File) -> io::Result<Self> {
        let ((orders, wanted), (done, settled)) = (channel::<Order>(), channel());
        let thread = std::thread::Builder::new().spawn(move || {
            while let Ok(mut order) = wanted.recv() {
                for more in wanted.try_iter() {
                    order.bytes.extend(more.bytes);
                    order.records += more.records;
                    order.sync |= more.sync;
                }
                let written = file.write_all(&order.bytes);
                let synced = written.and_then(|()| if order.sync { file.sync_data() } else { Ok(()) });
                let settled = synced.map(|()| order.records);
                let failed = settled.is_err();
                if done.send(settled).is_err() || failed {
                    return;
                }
            }
        })?;
        Ok(Writer { orders: Some(orders), settled, thread: Some(thread) })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The records of a journal, one after the other.
pub struct Records<T> {
    source: Source,
    left: usize,
    records: PhantomData<T>,
}

impl<T> Records<T> {
    /// The records of a journal or of a part of one, which must be of this run. A torn end is not cut off.
    pub fn of(dir: &Path, name: Option<&str>, identity: &Identity) -> Result<Self, Trouble> {
        let path = dir.join(name.unwrap_or(RECORDS));
        let mut source = Source::open(&path)?;
        match source.head()? {
            Some(theirs) => compare(&theirs, identity)?,
            // It was being begun.
            None => source.left = 0,
        }
        Ok(Records { source, left: 0, records: PhantomData })
    }

    /// An empty list of records, for a journal in this directory.
    pub fn none(dir: &Path) -> Result<Self, Trouble> {
        let mut source = Source::open(&dir.join(RECORDS))?;
        source.left = 0;
        Ok(Records { source, left: 0, records: PhantomData })
    }

    /// An error that names the file if there is something behind the last record that is whole. A process that is ended while
    /// it writes leaves the beginning of a record, and nothing behind it.
    pub fn is_whole(&self) -> Result<(), Trouble> {
        if self.source.left == 0 || self.source.torn {
            return Ok(());
        }
        let why = format!(
            "it is damaged at byte {0}; put it back as it was, or cut it off there (truncate -s {0}), so that what follows is \
             done again",
            self.source.good
        );
        Err(Trouble::Foreign(self.source.path.clone(), why))
    }

    /// The number of records when the journal was opened.
    pub fn len(&self) -> usize {
        self.left
    }

    /// Whether there were no records.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl<T: DeserializeOwned> Records<T> {
    /// The next record, if there is one more.
    #[allow(clippy::should_implement_trait, reason = "an iterator cannot fail and go on")]
    pub fn next(&mut self) -> Result<Option<T>, Trouble> {
        if !self.source.advance()? {
            return Ok(None);
        }
        wire::decode::<(Tally, T)>(&self.source.payload)
            .map(|(_, record)| Some(record))
            .map_err(|why| Trouble::Foreign(self.source.path.clone(), why))
    }
}

/// The efforts of the records of a journal, one after the other.
pub struct Tallies(Source);

impl Tallies {
    /// The effort of the next record. The rest of the record is skipped, and its checksum not checked.
    #[allow(clippy::should_implement_trait, reason = "an iterator cannot fail and go on")]
    pub fn next(&mut self) -> Result<Option<Tally>, Trouble> {
        if !self.0.skip(TALLY)? {
            return Ok(None);
        }
        let tally = wire::decode_first(&self.0.payload);
        tally.map(Some).map_err(|why| Trouble::Foreign(self.0.path.clone(), why))
    }
}

/// The identity of a journal and the efforts of its records, without opening it for writing: it may be in use.
pub fn look(dir: &Path) -> Result<(Identity, Tallies), Trouble> {
    let path = dir.join(RECORDS);
    let mut source = Source::open(&path)?;
    let identity =
        source.head()?.ok_or_else(|| Trouble::Foreign(path, "it has only just begun".to_owned()))?;
    Ok((identity, Tallies(source)))
}

/// Whether a process has a journal open for writing; `None` if that cannot be known, as on a file system without locks.
pub fn is_open(dir: &Path) -> Option<bool> {
    let lock = File::open(dir.join(LOCK)).ok()?;
    // Shared, and given back at once.
    match lock.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// A file of records that is read from front to back.
struct Source {
    path: PathBuf,
    reader: BufReader<File>,
    /// Bytes before the reader, and after it when the file was opened.
    at: u64,
    left: u64,
    /// The record that was read last.
    payload: Vec<u8>,
    /// The end of the last whole record.
    good: u64,
    /// Whether the rest of the file is the beginning of a record, or zeros.
    torn: bool,
}

impl Source {
    fn open(path: &Path) -> Result<Self, Trouble> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (left, file) = opened.map_err(|e| Trouble::Io(path.to_owned(), e))?;
        let reader = BufReader::with_capacity(1 << 16, file);
        Ok(Source { path: path.to_owned(), reader, at: 0, left, payload: Vec::new(), good: 0, torn: false })
    }

    fn take(&mut self, bytes: &mut [u8]) -> Result<(), Trouble> {
        self.reader.read_exact(bytes).map_err(|e| Trouble::Io(self.path.clone(), e))?;
        self.at += bytes.len() as u64;
        self.left -= bytes.len() as u64;
        Ok(())
    }

    /// The identity; `None` if the head is not whole and nothing follows it.
    fn head(&mut self) -> Result<Option<Identity>, Trouble> {
        let foreign = |path: &Path, why: &str| Trouble::Foreign(path.to_owned(), why.to_owned());
        let mut magic = *MAGIC;
        let known = self.left.min(MAGIC.len() as u64) as usize;
        self.take(&mut magic[..known])?;
        if magic != *MAGIC {
            return Err(foreign(&self.path, "it is not a checkpoint"));
        }
        let mut version = [0; 4];
        if self.left < version.len() as u64 {
            return Ok(None);
        }
        self.take(&mut version)?;
        if version != wire::VERSION.to_le_bytes() {
            return Err(foreign(&self.path, "it was written by another version"));
        }
        let (whole, torn) = match self.next_head()? {
            None => (false, self.left < LONGEST_TORN),
            Some((length, checksum)) => (self.fill(length, checksum)?, self.left == 0),
        };
        if !whole && torn {
            return Ok(None);
        }
        // To begin anew would throw away what comes behind it.
        let damaged =
            "its beginning is damaged, so nobody knows what it is about; begin again in another directory";
        let identity = if whole { wire::decode(&self.payload).ok() } else { None };
        identity.map(Some).ok_or_else(|| foreign(&self.path, damaged))
    }

    /// Length and checksum of the next record, if as many bytes are there. After a failure of the machine a file may end in
    /// zeros, which look like records without content; no real record is empty.
    fn next_head(&mut self) -> Result<Option<(usize, u32)>, Trouble> {
        let mut head = [0; HEAD];
        if self.left < HEAD as u64 {
            self.torn = true;
            return Ok(None);
        }
        self.take(&mut head)?;
        let [a, b, c, d, e, f, g, h] = head;
        let (length, checksum) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        self.torn = length == 0 || u64::from(length) > self.left;
        Ok((!self.torn).then_some((length as usize, checksum)))
    }

    /// Reads the next record, if it is whole.
    fn advance(&mut self) -> Result<bool, Trouble> {
        let Some((length, checksum)) = self.next_head()? else { return Ok(false) };
        self.fill(length, checksum)
    }

    /// Reads this many bytes; returns whether they have this checksum.
    fn fill(&mut self, length: usize, checksum: u32) -> Result<bool, Trouble> {
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        payload.resize(length, 0);
        self.take(&mut payload)?;
        self.payload = payload;
        let whole = crc32fast::hash(&self.payload) == checksum;
        if whole {
            self.good = self.at;
        }
        Ok(whole)
    }

    /// Reads this many bytes of the next record at most, if it is as long as it says.
    fn skip(&mut self, most: usize) -> Result<bool, Trouble> {
        let Some((length, _)) = self.next_head()? else { return Ok(false) };
        let mut payload = vec![0; length.min(most)];
        self.take(&mut payload)?;
        let rest = (length - payload.len()) as u64;
        self.payload = payload;
        self.reader.seek_relative(rest as i64).map_err(|e| Trouble::Io(self.path.clone(), e))?;
        self.at += rest;
        self.left -= rest;
        Ok(true)
    }

    /// Where the last whole record ends, and how many there are.
    fn last(&mut self) -> Result<(u64, usize), Trouble> {
        let (mut end, mut records) = (self.at, 0);
        while self.advance()? {
            (end, records) = (self.at, records + 1);
        }
        Ok((end, records))
    }
}

/// Two runs are the same if their lists are equal. The message prefers a value that differs to one that only one list has.
fn compare(theirs: &Identity, ours: &Identity) -> Result<(), Trouble> {
    if theirs == ours {
        return Ok(());
    }
    let value = |all: &Identity, what: &str| all.iter().find(|p| p.0 == what).map(|p| p.1.clone());
    let names = ours.iter().chain(theirs).map(|pair| &pair.0);
    let differ = names.filter(|name| value(ours, name) != value(theirs, name));
    let both = |name: &&String| value(ours, name).is_some() && value(theirs, name).is_some();
    let what = differ.clone().find(both).or_else(|| differ.clone().next());
    let what = what.map_or("the order of its options".to_owned(), String::clone);
    let shown = |all: &Identity| value(all, &what).unwrap_or_else(|| "nothing".to_owned());
    Err(Trouble::Other { journal: shown(theirs), run: shown(ours), what })
}

fn head(identity: &Identity) -> Result<Vec<u8>, String> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(wire::VERSION.to_le_bytes());
    record_to(&mut bytes, identity)?;
    Ok(bytes)
}

fn record_to(bytes: &mut Vec<u8>, value: &impl Serialize) -> Result<(), String> {
    let start = bytes.len();
    bytes.extend([0; HEAD]);
    wire::encode_into(value, bytes)?;
    let payload = &bytes[start + HEAD..];
    let length = u32::try_from(payload.len()).map_err(|_| "a record is too long")?.to_le_bytes();
    let checksum = crc32fast::hash(payload).to_le_bytes();
    bytes[start..start + 4].copy_from_slice(&length);
    bytes[start + 4..start + HEAD].copy_from_slice(&checksum);
    Ok(())
}

#[cfg(test)]
mod tests;
