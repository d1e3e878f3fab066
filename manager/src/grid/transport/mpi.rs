//! Workers that are ranks of an MPI job: the one module that names the `mpi` crate, with [`mesh`] for ranks that talk to each
//! other.
//!
//! Rank 0 has the [`Ranks`], the others [`serve`]. Rank 0 never waits idly for a message to be sent: it sends from a buffer
//! of its own, and counts the bytes that may still be in it. While it sends a message that is too long for the buffer, it
//! receives. So the other ranks may wait until their messages are received, and there is no deadlock. Messages of any length
//! are cut into pieces, since MPI counts with 32 bits; pieces from one rank to another arrive in order. Waiting is polling
//! with pauses: a rank without work leaves its core to others.
//!
//! Invariants: all calls into MPI come from the thread that started it. A message that cannot be decoded is an error.

mod farewell;
mod mesh;

pub use mesh::MpiMesh;

use farewell::Signs;

use super::threads::Threads;
use super::{Returned, SOURCES, Ticket, Transport};
use crate::grid::journal::Identity;
use crate::grid::machine::Numbered;
use crate::grid::wire;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::hash::Map;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use mpi::{Rank, Threading};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use tracing::{debug, info};

/// Bytes of a piece of a message.
const PIECE: usize = 1 << 28;
/// Bytes that rank 0 may have under way.
const BUFFER: usize = 64 << 20;
/// Bytes of the buffer kept free for messages that are not jobs, and for MPI's own needs.
const RESERVE: usize = 4 << 20;
/// More than the bytes that MPI adds to a message at most.
const OVERHEAD: usize = 1_024;
/// A job with more bytes does not go through the buffer, and is cut into pieces of this size.
const LONG: usize = 4 << 20;
const LONG_PIECE: usize = 4 << 20;
/// After this many probes without a message, there is none.
const PROBES: u32 = 16;
/// The shortest and the longest pause between two looks.
const PAUSE: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(5));
/// A worker without messages gives a sign of life this often.
const ALIVE: Duration = Duration::from_secs(5);
/// After this time of silence the user is warned about a worker.
const SILENT: Duration = Duration::from_secs(60);

/// The version of the messages between ranks other than jobs and answers.
const MESSAGES: u32 = 1;

/// The tags of the kinds of messages, known before a message is decoded.
const HELLO: i32 = 1;
const DOWN: i32 = 2;
const UP: i32 = 3;

/// This process as a rank of an MPI job.
pub struct World {
    communicator: SimpleCommunicator,
    piece: usize,
    /// The pieces received so far of messages that are not whole yet.
    partial: RefCell<Map<(Rank, i32), Vec<u8>>>,
    traffic: Cell<Traffic>,
    signs: RefCell<Signs>,
    /// Greetings that this rank has sent, or rank 0 received.
    hellos: Cell<u64>,
    // Dropped last, which ends MPI.
    _universe: Universe,
}

/// The network traffic of this rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Messages sent and received.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a rank reports about itself before work begins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The machine it runs on.
    pub host: String,
    /// Version, build and sources of the program, and the version of its messages.
    pub build: String,
    /// The jobs it does at a time.
    pub threads: u32,
    /// The run that it is going to work on, or why it cannot.
    pub run: std::result::Result<Run, String>,
}

/// The run that a rank is going to work on. Ranks must agree on the identity; files may have different names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The path of the specification on this rank.
    pub file: String,
    /// The identity of the run.
    pub identity: Identity,
}

impl Run {
    /// One part of the identity for people, with the file: to remove a difference users must know where it is.
    fn shown(&self, part: usize) -> String {
        let Run { file, identity } = self;
        let part = identity.get(part).map_or("nothing".to_owned(), |(name, value)| format!("{name} {value}"));
        format!("{part} ({file})")
    }
}

#[derive(Serialize, Deserialize)]
enum Down<J> {
    Job(Ticket, J),
    Cancel,
    End(u8),
    /// All ranks have joined, and form a mesh.
    Begin,
    /// After the end: how many signs were sent to the rank.
    Signs(u64),
}

#[derive(Serialize, Deserialize)]
enum Up<A> {
    Done(Ticket, A),
    Lost(Ticket, String),
    Alive,
    /// The rank knows that the run is over; how many signs it has sent to each rank, and how often it said hello.
    Bye {
        signs: Vec<u64>,
        hellos: u64,
    },
}

/// Version, build and sources of this program.
fn build() -> String {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let (version, messages) = (env!("CARGO_PKG_VERSION"), wire::VERSION);
    format!("{version} ({profile}, sources {SOURCES}), messages of version {messages}.{MESSAGES}")
}

impl World {
    /// Starts MPI. The thread that calls this must make all further calls.
    pub fn start() -> Result<Self> {
        let (mut universe, threading) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| Error::internal("MPI was started before"))?;
        if threading < Threading::Funneled {
            return Err(Error::input("this MPI library does not allow threads besides its own"));
        }
        universe.set_buffer_size(BUFFER);
        let communicator = universe.world();
        Ok(World {
            signs: RefCell::new(Signs::new(communicator.size() as usize)),
            hellos: Cell::new(0),
            communicator,
            piece: PIECE,
            partial: RefCell::default(),
            traffic: Cell::default(),
            _universe: universe,
        })
    }

    /// The number of this process.
    pub fn rank(&self) -> u32 {
        self.communicator.rank() as u32
    }

    /// The number of processes.
    pub fn size(&self) -> u32 {
        self.communicator.size() as u32
    }

    /// The network traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic.get()
    }

    /// Runs `body`; if that panics, ends all processes with this code, since the others would wait for ever.
    pub fn guard<R>(&self, code: u8, body: impl FnOnce() -> R) -> R {
        // A thread that sees a half changed state is about to end.
        catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| self.abort(code))
    }

    /// Ends all processes at once.
    pub fn abort(&self, code: u8) -> ! {
        self.communicator.abort(i32::from(code))
    }

    /// Sends messages in pieces of `bytes` bytes. For tests.
    #[doc(hidden)]
    pub fn cut(&mut self, piece: usize) {
        self.piece = piece.max(1);
    }

    fn count(&self, bytes: usize) {
        let Traffic { messages, bytes: before } = self.traffic.get();
        self.traffic.set(Traffic { messages: messages + 1, bytes: before + bytes as u64 });
    }

    /// Sends a message: rank 0 does not wait, the others wait until it is on its way.
    fn post(&self, to: Rank, tag: i32, value: &impl Serialize) -> Result<usize> {
        Ok(self.post_bytes(to, tag, &wire::encode(value).map_err(Error::Internal)?))
    }

    fn post_bytes(&self, to: Rank, tag: i32, bytes: &[u8]) -> usize {
        self.count(bytes.len());
        let to = self.communicator.process_at_rank(to);
        let pieces = self.pieces(bytes, self.piece);
        let count = pieces.len();
        for piece in pieces {
            if self.rank() == 0 {
                to.buffered_send_with_tag(&piece[..], tag);
            } else {
                to.send_with_tag(&piece[..], tag);
            }
        }
        bytes.len() + count * OVERHEAD
    }

    /// The pieces of a message; the first byte of each says whether it is the last.
    fn pieces<'b>(&self, bytes: &'b [u8], size: usize) -> impl ExactSizeIterator<Item = Vec<u8>> + use<'b> {
        let pieces = bytes.len().div_ceil(size).max(1);
        (0..pieces).map(move |k| {
            let mut piece = vec![u8::from(k + 1 == pieces)];
            piece.extend_from_slice(&bytes[k * size..bytes.len().min((k + 1) * size)]);
            piece
        })
    }

    /// Sends a message that is too long for the buffer of rank 0, without it. Until the receiver has taken it, `meanwhile` is
    /// called repeatedly. It must receive the messages of that rank, which may be waiting for that.
    fn post_long(
        &self,
        to: Rank,
        tag: i32,
        bytes: &[u8],
        meanwhile: &mut dyn FnMut() -> Result<bool>,
    ) -> Result<()> {
        self.count(bytes.len());
        let to = self.communicator.process_at_rank(to);
        for piece in self.pieces(bytes, self.piece.min(LONG_PIECE)) {
            mpi::request::scope(|scope| {
                let mut request = to.immediate_send_with_tag(scope, &piece[..], tag);
                let (mut pause, mut trouble) = (Pause::default(), Ok(()));
                loop {
                    match request.test() {
                        Ok(_) => return trouble,
                        Err(unfinished) => request = unfinished,
                    }
                    // The piece must not be dropped while it is being sent, even if something else goes wrong.
                    match if trouble.is_ok() { meanwhile() } else { Ok(false) } {
                        Ok(true) => pause = Pause::default(),
                        Ok(false) => pause.rest(),
                        Err(why) => trouble = Err(why),
                    }
                }
            })?;
        }
        Ok(())
    }

    /// The next whole message of a kind, if there is one.
    fn poll<T: DeserializeOwned>(&self, tag: i32) -> Result<Option<(Rank, T)>> {
        // A single probe may only move a message on: Open MPI sees some of its sources every eighth call or so. With one
        // probe between pauses that get longer, a message took 8 ms.
        let probe = || self.communicator.any_process().immediate_matched_probe_with_tag(tag);
        while let Some(found) = (0..PROBES).find_map(|_| probe()) {
            let (bytes, status) = found.matched_receive_vec::<u8>();
            let from = status.source_rank();
            let (&last, piece) = bytes
                .split_first()
                .ok_or_else(|| Error::Internal(format!("rank {from} sent an empty piece")))?;
            let mut partial = self.partial.borrow_mut();
            let whole = partial.entry((from, tag)).or_default();
            whole.extend_from_slice(piece);
            if last == 1 {
                let whole = std::mem::take(whole);
                self.count(whole.len());
                let value =
                    wire::decode(&whole).map_err(|e| Error::Internal(format!("from rank {from}: {e}")))?;
                return Ok(Some((from, value)));
            }
        }
        Ok(None)
    }

    /// Introduces this rank to rank 0. [`serve`] must follow, or [`World::wait_for_end`] if there is nothing to serve.
    pub fn hello(&self, threads: u32, run: std::result::Result<Run, String>) -> Result<()> {
        let host = mpi::environment::processor_name().unwrap_or_default();
        self.hellos.update(|hellos| hellos + 1);
        self.post(0, HELLO, &Hello { host, build: build(), threads, run }).map(drop)
    }

    /// On rank 0: receives the introductions of the others; all must be going to work on the same run.
    pub fn gather(&self, run: &Run, stop: &dyn Fn() -> bool) -> Result<Vec<Hello>> {
        let mut hellos: Vec<Option<Hello>> = vec![None; self.size() as usize - 1];
        let mut pause = Pause::default();
        while hellos.iter().any(Option::is_none) {
            if stop() {
                return Err(Limit::Interrupted.into());
            }
            match self.poll::<Hello>(HELLO)? {
                Some((from, hello)) => {
                    hellos[from as usize - 1] = Some(hello);
                    self.hellos.update(|hellos| hellos + 1);
                }
                None => pause.rest(),
            }
        }
        let hellos: Vec<Hello> = hellos.into_iter().flatten().collect();
        info!(ranks = self.size(), "all ranks are there");
        for (rank, hello) in (1..).zip(&hellos) {
            let who = format!("rank {rank} on {}", hello.host);
            if hello.build != build() {
                return Err(Error::Input(format!(
                    "{who} runs gridlock {}, rank 0 runs {}",
                    hello.build,
                    build()
                )));
            }
            let theirs = hello.run.as_ref().map_err(|why| Error::Input(format!("{who}: {why}")))?;
            let differs = |k: usize| theirs.identity.get(k) != run.identity.get(k);
            if let Some(k) = (0..theirs.identity.len().max(run.identity.len())).find(|&k| differs(k)) {
                return Err(Error::Input(format!(
                    "{who} has {}, rank 0 has {}",
                    theirs.shown(k),
                    run.shown(k)
                )));
            }
        }
        Ok(hellos)
    }

    /// Waits until all ranks have joined, and checks that all are going to work on the same run. If they are not, rank 0 gets
    /// an error, and the others get the exit code with which the run ends. `stop`: whether rank 0 is to stop waiting.
    pub fn meet(&self, threads: u32, run: &Run, stop: &dyn Fn() -> bool) -> Result<Met<'_>> {
        if self.rank() == 0 {
            self.gather(run, stop)?;
            for rank in 1..self.size() as Rank {
                self.post(rank, DOWN, &Down::<()>::Begin)?;
            }
            return Ok(Met::All(MpiMesh::new(self)));
        }
        self.hello(threads, Ok(run.clone()))?;
        let mut pause = Pause::default();
        loop {
            match self.poll::<Down<()>>(DOWN)? {
                Some((_, Down::Begin)) => return Ok(Met::All(MpiMesh::new(self))),
                Some((_, Down::End(code))) => {
                    self.leave()?;
                    return Ok(Met::Over(code));
                }
                Some(_) => {}
                None => pause.rest(),
            }
        }
    }

    /// On rank 0: tells the others that there are no more jobs, and that another search follows for which all ranks meet.
    pub fn release(&self) -> Result<()> {
        (1..self.size() as Rank).try_for_each(|rank| self.post(rank, DOWN, &Down::<()>::Begin).map(drop))
    }
}

/// The result of waiting for all ranks.
pub enum Met<'w> {
    /// All have joined.
    All(MpiMesh<'w>),
    /// The run is over, with an exit code.
    Over(u8),
}

/// Pauses that get longer while nothing happens.
struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Pause(PAUSE.0)
    }
}

impl Pause {
    /// The length of this pause; the next one is longer.
    fn longer(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(PAUSE.1);
        pause
    }

    fn rest(&mut self) {
        std::thread::sleep(self.longer());
    }
}

/// The ranks from 1 on as workers.
pub struct Ranks<'w, A> {
    world: &'w World,
    hellos: &'w [Hello],
    waiting: VecDeque<(u32, Ticket, Returned<A>)>,
    /// For each rank the jobs whose messages may still be in the buffer, oldest first.
    under_way: Vec<VecDeque<(Ticket, usize)>>,
    heard: Vec<Instant>,
    /// Called for ranks that are silent.
    warn: &'w dyn Fn(String),
}

impl<'w, A: DeserializeOwned> Ranks<'w, A> {
    /// The ranks that said hello.
    pub fn new(world: &'w World, hellos: &'w [Hello], warn: &'w dyn Fn(String)) -> Self {
        Ranks {
            world,
            hellos,
            waiting: VecDeque::new(),
            under_way: vec![VecDeque::new(); hellos.len()],
            heard: vec![Instant::now(); hellos.len()],
            warn,
        }
    }

    /// Takes a message, if there is one.
    fn look(&mut self) -> Result<bool> {
        let Some((from, message)) = self.world.poll::<Up<A>>(UP)? else { return Ok(false) };
        let worker = from as u32 - 1;
        self.heard[worker as usize] = Instant::now();
        let (ticket, answer) = match message {
            Up::Done(ticket, answer) => (ticket, Returned::Done(answer)),
            Up::Lost(ticket, why) => (
                ticket,
                Returned::Lost(format!("on rank {from}, {}: {why}", self.hellos[worker as usize].host)),
            ),
            Up::Alive => return Ok(true),
            Up::Bye { .. } => return Err(Error::Input(format!("rank {from} has gone"))),
        };
        // What was sent before this job has arrived, too.
        let under_way = &mut self.under_way[worker as usize];
        if let Some(at) = under_way.iter().position(|(t, _)| *t == ticket) {
            under_way.drain(..=at);
        }
        self.waiting.push_back((worker, ticket, answer));
        Ok(true)
    }

    fn bytes_under_way(&self) -> usize {
        self.under_way.iter().flatten().map(|(_, bytes)| bytes).sum()
    }

    fn warn_of_silence(&mut self) {
        for (k, heard) in self.heard.iter_mut().enumerate() {
            if heard.elapsed() > SILENT {
                let (rank, host) = (k + 1, &self.hellos[k].host);
                (self.warn)(format!(
                    "rank {rank} on {host} has not been heard of for {} s",
                    SILENT.as_secs()
                ));
                // And again after as long.
                *heard = Instant::now();
            }
        }
    }
}

impl<J: Serialize + Numbered, A: DeserializeOwned> Transport<J, A> for Ranks<'_, A> {
    /// One slot more than a rank has threads, so that no thread waits for its next job.
    fn slots(&self) -> Vec<u32> {
        let most = self.hellos.iter().map(|hello| hello.threads + 1).max().unwrap_or(0);
        // By turns: the first jobs go to different ranks.
        let round =
            |k: u32| (0..).zip(self.hellos).filter(move |(_, h)| k <= h.threads).map(|(worker, _)| worker);
        (0..most).flat_map(round).collect()
    }

    fn send(&mut self, worker: u32, ticket: Ticket, mut job: J) -> Result<()> {
        job.address(worker);
        let message = wire::encode(&Down::Job(ticket, job)).map_err(Error::Internal)?;
        let (world, to) = (self.world, worker as Rank + 1);
        if message.len() > LONG {
            return world.post_long(to, DOWN, &message, &mut || self.look());
        }
        let mut pause = Pause::default();
        while self.bytes_under_way() + message.len() + OVERHEAD > BUFFER - RESERVE {
            if !self.look()? {
                pause.rest();
            }
        }
        let bytes = world.post_bytes(to, DOWN, &message);
        self.under_way[worker as usize].push_back((ticket, bytes));
        Ok(())
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Ticket, Returned<A>)>> {
        let (begun, mut pause) = (Instant::now(), Pause::default());
        loop {
            while self.look()? {}
            if let Some(answer) = self.waiting.pop_front() {
                return Ok(Some(answer));
            }
            if begun.elapsed() >= wait {
                self.warn_of_silence();
                return Ok(None);
            }
            pause.rest();
        }
    }

    fn cancel(&mut self) {
        for rank in 1..=self.hellos.len() as Rank {
            // If it cannot be said, the end will be.
            let _ = self.world.post(rank, DOWN, &Down::<()>::Cancel);
        }
    }
}

/// Does jobs for rank 0 on some threads until rank 0 ends the run, and returns its exit code; `None` if rank 0 goes on with
/// all ranks as peers ([`World::release`]). `arrived` is called for each job first.
pub fn serve<J, A>(world: &World, pool: &mut Threads<J, A>, arrived: &dyn Fn(&mut J)) -> Result<Option<u8>>
where
    J: Send + DeserializeOwned,
    A: Send + Serialize,
{
    let mut free = pool.slots();
    let mut jobs: VecDeque<(Ticket, J)> = VecDeque::new();
    let (mut pause, mut spoken) = (Pause::default(), Instant::now());
    loop {
        let mut idle = true;
        match world.poll::<Down<J>>(DOWN)? {
            Some((_, Down::Job(ticket, mut job))) => {
                debug!(job = ticket, "received");
                arrived(&mut job);
                jobs.push_back((ticket, job));
            }
            Some((_, Down::Cancel)) => pool.cancel(),
            Some((_, Down::Begin)) => return Ok(None),
            Some((_, Down::End(code))) => {
                world.leave()?;
                return Ok(Some(code));
            }
            Some((_, Down::Signs(_))) | None => {}
        }
        while let Some(thread) = free.pop_if(|_| !jobs.is_empty()) {
            let (ticket, job) = jobs.pop_front().expect("there is a job");
            pool.send(thread, ticket, job)?;
            idle = false;
        }
        // An answer ends the pause, a message does not.
        let mut wait = if idle { pause.longer() } else { Duration::ZERO };
        while let Some((thread, ticket, answer)) = pool.receive(std::mem::take(&mut wait))? {
            free.push(thread);
            let message = match answer {
                Returned::Done(answer) => Up::Done(ticket, answer),
                Returned::Lost(why) => Up::Lost(ticket, why),
            };
            world.post(0, UP, &message)?;
            debug!(job = ticket, "answered");
            (idle, spoken) = (false, Instant::now());
        }
        if spoken.elapsed() > ALIVE {
            world.post(0, UP, &Up::<A>::Alive)?;
            spoken = Instant::now();
        }
        if !idle {
            pause = Pause::default();
        }
    }
}
