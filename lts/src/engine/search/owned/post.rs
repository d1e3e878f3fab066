//! Outgoing and incoming messages: the part of a mesh that all threads of a rank share.
//!
//! A thread collects the states of each other rank in a small buffer of its own, then in that of the rank, which becomes a
//! message when it is full. One thread has the mesh ([`Post::pump`]): it posts messages and takes what comes; every thread
//! looks up what came. A thread that would have to wait until messages leave first takes one that has come, so there is no
//! cycle of waiting; and since no more than a few messages are taken before they are looked up, ranks that send faster than
//! this one can look up are held back.
//!
//! Invariant: of every message that is sealed the print, a hash of its level, sender, receiver, number and contents, is added
//! to a sum, and of every message that is looked up to another. A message that is lost, comes twice, in another level or
//! with other contents makes them differ.

use crate::base::error::{Error, Result};
use crate::engine::mesh::{Mesh, print};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Words before the states of a message: its level and its number.
const HEADER: usize = 2;
/// Words of a message: 64 KiB. Tests use short ones, so that small networks send many.
const MESSAGE: usize = if cfg!(test) { 12 } else { 8 << 10 };
/// Words of the buffer of a thread.
const SMALL: usize = if cfg!(test) { 4 } else { 512 };
/// Messages that are kept to be filled again.
const SPARE: usize = 8;
/// Messages that are handled at a time, so that a thread comes back to its own work.
const AT_ONCE: usize = 16;

/// How many messages, and the sum of their prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    pub(super) messages: u64,
    pub(super) prints: u64,
}

/// What is collected for one rank.
#[derive(Default)]
struct Open {
    message: Vec<u64>,
    /// Words of the last message. The next one will need about as many, and with many ranks that is little.
    last: usize,
    /// In this level.
    sent: Sum,
}

/// The messages of one rank.
pub(in crate::engine::search) struct Post {
    me: usize,
    ranks: usize,
    /// Words of a record.
    record: usize,
    /// Words of a full message.
    full: usize,
    /// Words of a full buffer of a thread.
    small: usize,
    level: AtomicU64,
    open: Vec<Mutex<Open>>,
    /// Sealed, and to be posted.
    ready: Mutex<VecDeque<(usize, Vec<u64>)>>,
    waiting: AtomicUsize,
    /// Taken, and to be looked up.
    inbox: Mutex<VecDeque<(usize, Vec<u64>)>>,
    most_inbox: usize,
    /// Full messages that have been looked up, to be filled again: memory that is given back and asked for anew is cleared by
    /// the system each time, which took a twentieth of the time of a search.
    spare: Mutex<Vec<Vec<u64>>>,
    /// Messages that are being looked up.
    handled: AtomicUsize,
    received: [AtomicU64; 2],
    /// Threads that may still expand states.
    pub(super) expanding: AtomicUsize,
    /// Nothing more comes in this level.
    pub(super) closed: AtomicBool,
    /// A thread of this rank has panicked.
    pub(super) broken: AtomicBool,
    /// Words of records that were sent, of all levels.
    words_sent: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panics ends the search; what it leaves is never half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Post {
    /// For records of `record` words. A rank uses at most about `bytes` bytes for messages, unless that is too little for any.
    pub(in crate::engine::search) fn new(mesh: &dyn Mesh, record: usize, threads: usize, bytes: u64) -> Self {
        let ranks = mesh.size();
        let share = bytes as usize / (8 * 4 * ranks * threads.max(1));
        let whole = |words: usize| (words / record).max(1) * record;
        let full = whole(MESSAGE.min(share.max(64)));
        Post {
            me: mesh.rank(),
            ranks,
            record,
            full: HEADER + full,
            small: whole(SMALL.min(full)),
            level: AtomicU64::new(0),
            open: (0..ranks).map(|_| Mutex::default()).collect(),
            ready: Mutex::default(),
            waiting: AtomicUsize::new(0),
            inbox: Mutex::default(),
            most_inbox: 4 + 2 * threads,
            spare: Mutex::default(),
            handled: AtomicUsize::new(0),
            received: [AtomicU64::new(0), AtomicU64::new(0)],
            expanding: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            words_sent: AtomicU64::new(0),
        }
    }

    /// Bytes that it may take with buffers for a number of threads.
    pub(in crate::engine::search) fn bytes(&self, threads: usize) -> u64 {
        let messages = 3 * self.ranks + self.most_ready() + self.most_inbox + SPARE;
        // The buffer of a thread grows twofold until it is full.
        8 * (messages * self.full + threads * self.ranks * 2 * self.small) as u64
    }

    pub(super) fn me(&self) -> usize {
        self.me
    }

    pub(super) fn small(&self) -> usize {
        self.small
    }

    fn most_ready(&self) -> usize {
        self.ranks + 4
    }

    /// Begins a level on a number of threads.
    pub(in crate::engine::search) fn begin(&self, level: u64, threads: usize) {
        self.level.store(level, Relaxed);
        self.open.iter().for_each(|open| lock(open).sent = Sum::default());
        self.received.iter().for_each(|sum| sum.store(0, Relaxed));
        self.expanding.store(threads, SeqCst);
        self.closed.store(false, SeqCst);
    }

    /// Adds records for a rank.
    pub(in crate::engine::search) fn add(&self, to: usize, records: &[u64]) {
        self.words_sent.fetch_add(records.len() as u64, Relaxed);
        let mut open = lock(&self.open[to]);
        let mut rest = records;
        while !rest.is_empty() {
            if open.message.is_empty() {
                let room = open.last.clamp(HEADER + self.record, self.full);
                if room == self.full {
                    open.message = lock(&self.spare).pop().unwrap_or_default();
                }
                open.message.reserve_exact(room);
                let header = [self.level.load(Relaxed), open.sent.messages];
                open.message.extend(header);
            }
            let (now, later) = rest.split_at(rest.len().min(self.full - open.message.len()));
            let (len, room) = (open.message.len(), open.message.capacity());
            if len + now.len() > room {
                open.message.reserve_exact((len + now.len()).max(2 * room).min(self.full) - len);
            }
            open.message.extend_from_slice(now);
            rest = later;
            if open.message.len() == self.full {
                self.seal(to, &mut open);
            }
        }
    }

    fn seal(&self, to: usize, open: &mut Open) {
        let message = std::mem::take(&mut open.message);
        open.last = message.len();
        open.sent.messages += 1;
        open.sent.prints = open.sent.prints.wrapping_add(print(self.me, to, &message));
        self.waiting.fetch_add(1, SeqCst);
        lock(&self.ready).push_back((to, message));
    }

    /// Makes messages of all that was collected.
    pub(in crate::engine::search) fn seal_all(&self) {
        for (to, open) in self.open.iter().enumerate() {
            let mut open = lock(open);
            if !open.message.is_empty() {
                self.seal(to, &mut open);
            }
        }
    }

    /// Whether enough messages wait that no thread should make more.
    pub(in crate::engine::search) fn is_congested(&self) -> bool {
        self.waiting.load(Relaxed) > self.most_ready()
    }

    /// Posts what can be posted and takes what has come, as far as there is room. Whether anything happened.
    pub(in crate::engine::search) fn pump(&self, mesh: &mut dyn Mesh) -> bool {
        let mut moved = false;
        if self.waiting.load(SeqCst) > 0 {
            let mut ready = lock(&self.ready);
            for _ in 0..ready.len().min(AT_ONCE) {
                let Some((to, message)) = ready.pop_front() else { break };
                if mesh.has_room(to) {
                    mesh.post(to, message);
                    self.waiting.fetch_sub(1, SeqCst);
                    moved = true;
                } else {
                    ready.push_back((to, message));
                }
            }
        }
        for _ in 0..AT_ONCE {
            if lock(&self.inbox).len() >= self.most_inbox {
                break;
            }
            let Some(came) = mesh.take() else { break };
            lock(&self.inbox).push_back(came);
            moved = true;
        }
        moved
    }

    /// Whether everything that was sealed has been posted, and taken by its receivers.
    pub(in crate::engine::search) fn is_settled(&self, mesh: &mut dyn Mesh) -> bool {
        self.waiting.load(SeqCst) == 0 && mesh.all_taken()
    }

    /// The next message to be looked up. [`Post::handled`] must follow.
    pub(in crate::engine::search) fn next(&self) -> Option<(usize, Vec<u64>)> {
        let mut inbox = lock(&self.inbox);
        let next = inbox.pop_front();
        self.handled.fetch_add(usize::from(next.is_some()), SeqCst);
        next
    }

    /// A message has been looked up.
    pub(in crate::engine::search) fn handled(&self, message: Vec<u64>) {
        self.reuse(message);
        self.handled.fetch_sub(1, SeqCst);
    }

    /// Keeps a message that was full, to be filled again.
    pub(super) fn reuse(&self, mut message: Vec<u64>) {
        if message.len() == self.full {
            let mut spare = lock(&self.spare);
            if spare.len() < SPARE {
                message.clear();
                spare.push(message);
            }
        }
    }

    /// Takes a message that came while a sum was made, if there is room and another thread to look it up.
    pub(super) fn keep(&self, came: (usize, Vec<u64>), others: bool) -> Option<(usize, Vec<u64>)> {
        let mut inbox = lock(&self.inbox);
        if !others || inbox.len() >= self.most_inbox {
            return Some(came);
        }
        inbox.push_back(came);
        None
    }

    /// Panics if a thread of this rank has panicked, since others would wait for it for ever.
    pub(super) fn check(&self) {
        assert!(!self.broken.load(Relaxed), "another thread of this rank has panicked");
    }

    /// Whether everything that came has been looked up.
    pub(super) fn is_done(&self) -> bool {
        lock(&self.inbox).is_empty() && self.handled.load(SeqCst) == 0
    }

    /// The records of a message, which is counted as received.
    pub(in crate::engine::search) fn open<'m>(&self, from: usize, message: &'m [u64]) -> Result<&'m [u64]> {
        self.received[0].fetch_add(1, Relaxed);
        self.received[1].fetch_add(print(from, self.me, message), Relaxed);
        let level = self.level.load(Relaxed);
        match message.split_at_checked(HEADER) {
            Some((header, records)) if header[0] == level && records.len() % self.record == 0 => Ok(records),
            Some((header, _)) if header[0] != level => Err(Error::Internal(format!(
                "rank {} got a message of level {} from rank {from} in level {level}",
                self.me, header[0]
            ))),
            _ => Err(Error::Internal(format!("rank {} got a broken message from rank {from}", self.me))),
        }
    }

    /// What was sent to each rank in this level: messages and sums of prints, by turns.
    pub(in crate::engine::search) fn sent(&self) -> Vec<u64> {
        let sums = self.open.iter().map(|open| lock(open).sent);
        sums.flat_map(|sum| [sum.messages, sum.prints]).collect()
    }

    /// What was received in this level.
    pub(super) fn received(&self) -> Sum {
        let [messages, prints] = &self.received;
        Sum { messages: messages.load(Relaxed), prints: prints.load(Relaxed) }
    }

    /// An error unless what was received is what was sent here, as the sums of all ranks say.
    pub(in crate::engine::search) fn compare(&self, expected: &[u64]) -> Result<()> {
        let received = self.received();
        if [received.messages, received.prints] == *expected {
            return Ok(());
        }
        Err(Error::Internal(format!(
            "rank {} received {} messages in level {}, and {} were sent to it{}",
            self.me,
            received.messages,
            self.level.load(Relaxed),
            expected[0],
            if received.messages == expected[0] { ", but not these" } else { "" }
        )))
    }

    /// Words of records that were sent, of all levels.
    pub(super) fn words_sent(&self) -> u64 {
        self.words_sent.load(Relaxed)
    }
}
