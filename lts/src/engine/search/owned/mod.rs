//! Breadth-first search in which every rank owns a part of the states.
//!
//! The owner of a state follows from the state ([`Owner`]). A rank expands the states it owns; a target that another rank
//! owns is sent to that rank, which looks it up. Nothing but states is sent: no parents, no labels. Targets that a thread
//! has met lately are dropped before they are sent, by the same table that spares the visited set.
//!
//! Levels are those of all ranks together. A level ends when every rank has expanded its part and everything that was
//! sent has been taken and looked up; then all ranks learn of all what they did, and take the same decision. So states,
//! transitions, deadlocks, depth and the least finding are those of one machine, for any number of ranks and threads.
//!
//! The end of a level: a rank that has expanded its part waits until its messages are taken, and goes on taking those of
//! others. Then all ranks add up how many messages were sent to each. When a rank has its sum, all others have entered it, so
//! all their messages have been taken: what this rank has received must be what was sent to it, now and without waiting. No
//! message can belong to another level. The records of the level follow ([`records`]), and their certificate.
//!
//! One thread of a rank has the mesh. It expands states like the others, and moves messages after every batch.

mod levels;
mod post;
mod records;
mod restore;
#[cfg(test)]
pub(super) mod tests;
mod wire;

pub(super) use levels::Listener;
pub(super) use post::Post;
pub(super) use restore::{Restored, restore};
pub(super) use wire::agree;

use super::bfs::{self, Chunk, Queue, Route, Scratch, Worker};
use super::run::Run;
use super::saved::{Saver, Totals};
use super::{Level, RankStats};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory::Budget;
use crate::engine::look::{Found, keep_least};
use crate::engine::mesh::{Mesh, Owner, Patience};
use crate::engine::pack::Width;
use crate::engine::successors::Successors;
use crate::model::network::{LeafIx, Local};
use levels::remember;
use records::{Before, Record, certify, sum};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};
use wire::Words;

/// A level with fewer states than this for each rank is expanded by one thread of each.
const FEW: u64 = if cfg!(test) { 1 } else { 1 << 13 };
/// The part of the memory that messages may take.
const FOR_MESSAGES: u64 = 16;
/// States of this rank that are collected before they are looked up.
const OWN: usize = if cfg!(test) { 3 } else { 256 };
/// How often a rank that waits looks at the limits.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// How a search ended: the same on all ranks.
pub(super) struct Ended {
    /// Something was found, at a depth.
    pub(super) found: Option<(Found, u64)>,
    /// Why the search stopped early, if it did.
    pub(super) stop: Option<Error>,
    /// What each rank has done.
    pub(super) ranks: Vec<RankStats>,
    /// Of all ranks.
    pub(super) deadlocks: u64,
    pub(super) depth: u64,
    pub(super) frontier: u64,
    /// When levels ended.
    pub(super) levels: Vec<Level>,
}

/// What a thread keeps from level to level.
struct Kept<S: Successors> {
    scratch: Scratch<S>,
    /// States for each rank that are not in the buffer of the rank yet, and those of this rank that are not looked up yet.
    small: Vec<Vec<u64>>,
}

impl<S: Successors> Kept<S> {
    fn new(run: &Run<S>, mesh: &dyn Mesh) -> Self {
        // Of a thousand ranks many get few states, so a buffer is as large as it needs to be.
        Kept { scratch: Scratch::new(run.system), small: vec![Vec::new(); mesh.size()] }
    }
}

/// Bytes that a budget accounts for.
struct Taken<'a>(&'a Budget, u64);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.give(self.1);
    }
}

/// Searches until everything is expanded, something is found, or a rank is stopped. An error is one that all ranks have.
pub(super) fn search<'a, S: Successors>(
    run: &Run<'a, S>,
    mesh: &mut dyn Mesh,
    listener: Option<&mut Listener<'a, '_>>,
) -> Result<Ended> {
    let mut levels = Vec::new();
    let ended = search_levels(run, mesh, listener, &mut levels)?;
    Ok(Ended { levels, ..ended })
}

fn search_levels<'a, S: Successors>(
    run: &Run<'a, S>,
    mesh: &mut dyn Mesh,
    mut listener: Option<&mut Listener<'a, '_>>,
    levels: &mut Vec<Level>,
) -> Result<Ended> {
    let (words, threads) = (run.system.width().words(), run.options.workers.max(1));
    let mut saver = Saver::new(run.options.checkpoint, run.system.width(), threads, mesh);
    let begun = restore(run, mesh).and_then(|restored| begin(run, mesh, restored, &mut saver));
    let post = Post::new(mesh, words, threads, run.budget.limit() / FOR_MESSAGES);
    let begun = begun.and_then(|begun| {
        let taken = run.budget.take(post.bytes(threads)).map_err(Error::from);
        let taken = taken.map(|()| Taken(run.budget, post.bytes(threads)));
        agree(mesh, taken).map(|taken| (begun, taken))
    });
    let ((mut level, mut before), _taken) = match begun {
        Ok(begun) => begun,
        Err(stop @ Error::Limit(_)) => {
            let ranks = vec![RankStats::default(); mesh.size()];
            let none = ended(&[], words, 0, None, Some(stop));
            return Ok(Ended { ranks, ..none });
        }
        Err(error) => return Err(error),
    };
    let mut kept: Vec<Kept<S>> = (0..threads).map(|_| Kept::new(run, mesh)).collect();
    let mut last = Record { rank: mesh.rank() as u64, states: run.visited.len(), ..Record::default() };
    last.memory = run.budget.used();
    let mut records = Record::read_all(&mesh.share(&last.words(), &mut || false));
    let mut waited = Duration::ZERO;
    for depth in before.level.. {
        let states: usize = level.iter().map(|chunk| chunk.states.len() / words).sum();
        if before.frontier == 0 {
            return Ok(ended(&records, words, depth - 1, None, None));
        }
        run.set_level(depth, states as u64);
        if let Some(max) = run.options.max_depth.filter(|&max| depth >= max) {
            saver.commit(mesh);
            let stop = Some(Limit::Depth(max).into());
            return Ok(Ended { frontier: before.frontier, ..ended(&records, words, depth, None, stop) });
        }
        let failed = fill_tables(run, mesh, &mut level);
        let threads = if before.frontier / (mesh.size() as u64) < FEW { 1 } else { threads };
        let expanded_before = run.expanded();
        let Expanded { found, next, expanded, idle } =
            expand_level(run, mesh, &post, level, depth, &mut kept[..threads], listener.is_some());
        waited += idle;
        if let Some(error) = failed {
            run.stop(error);
        }
        let new: usize = next.iter().map(|chunk| chunk.states.len() / words).sum();
        let sent = post.sent();
        let stats = run.stats();
        last = Record {
            rank: mesh.rank() as u64,
            level: depth,
            frontier: states as u64,
            expanded: run.expanded() - expanded_before,
            new: new as u64,
            sent: post::Sum {
                messages: sent.iter().step_by(2).sum(),
                prints: sent.iter().skip(1).step_by(2).fold(0, |a, b| u64::wrapping_add(a, *b)),
            },
            received: post.received(),
            states: stats.states,
            saved: run.system.saved().unwrap_or(0),
            transitions: stats.transitions,
            deadlocks: stats.deadlocks,
            memory: stats.memory,
            peak_memory: stats.peak_memory,
            words_sent: post.words_sent(),
            waited: waited.as_nanos() as u64,
            found: found.is_some(),
            stopped: run.is_stopped(),
            due: saver.is_due(),
        };
        let waiting = Instant::now();
        records = Record::read_all(&mesh.share(&last.words(), &mut || attend(run)));
        waited += waiting.elapsed();
        remember(levels, before.frontier, stats.time);
        saver.tell(|| records.iter().map(|record| record.stats(words)).collect());
        if records.iter().any(|record| record.found || record.stopped) {
            let said = Words { found, stop: run.why_stopped() }.share(mesh, words)?;
            let (mut least, mut stop) = (None, None);
            for Words { found, stop: theirs } in said {
                keep_least(&mut least, found);
                stop = stop.or(theirs);
            }
            // A rank that saw something that must not be knows best what.
            if let Some(Error::Internal(_)) = &stop {
                return Err(stop.expect("it is there"));
            }
            certify(&records, mesh.size(), before)?;
            let stop = stop.or_else(|| least.is_none().then(|| Limit::Interrupted.into()));
            if least.is_none() {
                saver.commit(mesh);
            }
            return Ok(ended(&records, words, depth, least, stop));
        }
        certify(&records, mesh.size(), before)?;
        before = Before {
            level: depth + 1,
            frontier: sum(&records, |r| r.new),
            states: sum(&records, |r| r.states),
        };
        if before.frontier > 0 {
            saver.keep(totals(run, before, &records), &next);
        }
        if let Some(max) = run.options.max_states.filter(|&max| before.states > max) {
            saver.commit(mesh);
            return Ok(ended(&records, words, depth, None, Some(Limit::States(max).into())));
        }
        if before.frontier > 0 && records.iter().any(|record| record.due) {
            saver.commit(mesh);
        }
        if let Some(listener) = &mut listener
            && listener.hear(expanded, before.states, mesh)
        {
            return Ok(ended(&records, words, depth, None, None));
        }
        let elsewhere = |of: fn(&Record) -> u64| sum(&records, of) - of(&last);
        run.set_elsewhere(elsewhere(|r| r.states), elsewhere(|r| r.transitions), elsewhere(|r| r.new));
        level = next;
    }
    Err(Error::internal("a search has more levels than there are numbers"))
}

/// The level with which a search begins or goes on, and what is known before it. An error is one that all ranks have.
fn begin<'a, S: Successors>(
    run: &Run<'a, S>,
    mesh: &mut dyn Mesh,
    restored: Option<Restored<'a>>,
    saver: &mut Saver<S::Width>,
) -> Result<(Vec<Chunk<'a>>, Before)> {
    if let Some(Restored { level, totals }) = restored {
        saver.resumed(totals);
        let Totals { depth, frontier, states, .. } = totals;
        return Ok((level, Before { level: depth, frontier, states }));
    }
    let first = first_level(run, mesh);
    let level = agree(mesh, first)?;
    let before = Before { level: 0, frontier: 1, states: 1 };
    saver.keep(totals(run, before, &[]), &level);
    Ok((level, before))
}

/// What all ranks have counted before a level.
fn totals<S: Successors>(run: &Run<S>, before: Before, records: &[Record]) -> Totals {
    let earlier = run.earlier();
    Totals {
        depth: before.level,
        frontier: before.frontier,
        states: before.states,
        transitions: earlier.transitions + sum(records, |r| r.transitions),
        deadlocks: earlier.deadlocks + sum(records, |r| r.deadlocks),
    }
}

fn ended(records: &[Record], words: usize, depth: u64, found: Option<Found>, stop: Option<Error>) -> Ended {
    Ended {
        found: found.map(|found| (found, depth)),
        stop,
        ranks: records.iter().map(|record| record.stats(words)).collect(),
        deadlocks: sum(records, |r| r.deadlocks),
        depth,
        frontier: sum(records, |r| r.frontier - r.expanded.min(r.frontier)),
        levels: Vec::new(),
    }
}

/// Looks at the limits while waiting; whether to halt all ranks.
fn attend<S: Successors>(run: &Run<S>) -> bool {
    run.look_around();
    run.is_stopped()
}

/// The initial state, where it belongs.
fn first_level<'a, S: Successors>(run: &Run<'a, S>, mesh: &dyn Mesh) -> Result<Vec<Chunk<'a>>> {
    let initial = run.system.initial();
    if run.owner.of(&initial) != mesh.rank() {
        return Ok(Vec::new());
    }
    bfs::first_level(run)
}

/// Has the tables filled that the states of a level need, on all ranks all of them: so their sources number alike what
/// they meet.
fn fill_tables<S: Successors>(run: &Run<S>, mesh: &mut dyn Mesh, level: &mut [Chunk]) -> Option<Error> {
    if !run.system.fills_tables() {
        return None;
    }
    let own = bfs::missing(run, level);
    let words: Vec<u64> =
        own.iter().map(|(leaf, local)| u64::from(leaf.0) << 32 | u64::from(local.0)).collect();
    let all = mesh.share_all(&words);
    let read = |word: &u64| (LeafIx((word >> 32) as u32), Local(*word as u32));
    let missing: BTreeSet<(LeafIx, Local)> = all.iter().flatten().map(read).collect();
    bfs::fill(run, level, missing)
}

/// What a rank found in a level.
struct Expanded<'a> {
    found: Option<Found>,
    next: Vec<Chunk<'a>>,
    /// The level itself, if it is to be kept.
    expanded: Vec<Chunk<'a>>,
    /// Time without anything to do.
    idle: Duration,
}

fn expand_level<'a, S: Successors>(
    run: &Run<'a, S>,
    mesh: &mut dyn Mesh,
    post: &Post,
    level: Vec<Chunk<'a>>,
    depth: u64,
    kept: &mut [Kept<S>],
    keep: bool,
) -> Expanded<'a> {
    let queue = Mutex::new(Queue::new(level, kept.len()));
    let expand = |worker: &mut Sender<'_, 'a, '_, S>, number: usize| {
        worker.expanded = keep.then(Vec::new);
        worker.work(&queue, number);
    };
    level_with(run, mesh, post, depth, depth + 1, kept, &expand)
}

/// A level of messages: every thread does its work, and then all that was sent is looked up, at a depth.
fn level_with<'a, S: Successors>(
    run: &Run<'a, S>,
    mesh: &mut dyn Mesh,
    post: &Post,
    level: u64,
    depth: u64,
    kept: &mut [Kept<S>],
    work: &(dyn Fn(&mut Sender<'_, 'a, '_, S>, usize) + Sync),
) -> Expanded<'a> {
    let threads = kept.len();
    post.begin(level, threads);
    let (first, rest) = kept.split_first_mut().expect("there is at least one thread");
    let help = |(number, kept): (usize, &'_ mut Kept<S>)| {
        let _leaving = Leaving(post);
        let mut worker = worker(run, depth, kept, post, None);
        work(&mut worker, number);
        worker.hand_over();
        worker.help();
        (worker.found, worker.full, worker.expanded)
    };
    let help = &help;
    let (results, idle) = std::thread::scope(|scope| {
        let others: Vec<_> = (1..).zip(rest).map(|pair| scope.spawn(move || help(pair))).collect();
        let _leaving = Leaving(post);
        let mut mine = worker(run, depth, first, post, Some(mesh));
        work(&mut mine, 0);
        mine.hand_over();
        let waiting = Instant::now();
        let busy = mine.close(threads > 1);
        let idle = waiting.elapsed().saturating_sub(busy);
        let join = |other: std::thread::ScopedJoinHandle<'_, _>| {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let mine = (mine.found, mine.full, mine.expanded);
        (std::iter::once(mine).chain(others.into_iter().map(join)).collect::<Vec<_>>(), idle)
    });
    let mut all = Expanded { found: None, next: Vec::new(), expanded: Vec::new(), idle };
    for (found, next, expanded) in results {
        keep_least(&mut all.found, found);
        all.next.extend(next);
        all.expanded.extend(expanded.into_iter().flatten());
    }
    all
}

/// A thread that panics must not be waited for.
struct Leaving<'p>(&'p Post);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, SeqCst);
        }
    }
}

/// The route on ranks: targets that other ranks own are sent to them.
pub(super) struct Away<'r, 'm, W> {
    width: W,
    owner: &'r Owner,
    post: &'r Post,
    small: &'r mut [Vec<u64>],
    /// For the one thread that has it.
    mesh: Option<&'r mut (dyn Mesh + 'm)>,
}

type Sender<'r, 'a, 'm, S> = Worker<'r, 'a, S, Away<'r, 'm, <S as Successors>::Width>>;

fn worker<'r, 'a, 'm, S: Successors>(
    run: &'r Run<'a, S>,
    depth: u64,
    kept: &'r mut Kept<S>,
    post: &'r Post,
    mesh: Option<&'r mut (dyn Mesh + 'm)>,
) -> Sender<'r, 'a, 'm, S> {
    let route = Away { width: run.system.width(), owner: &run.owner, post, small: &mut kept.small, mesh };
    Worker::new(run, depth, &mut kept.scratch, route)
}

impl<S: Successors> Route<S> for Away<'_, '_, S::Width> {
    /// Targets of this rank are collected like those of others, and looked up when there are enough: which of two ranks a
    /// target belongs to cannot be predicted, and a few lookups at a time do not hide the time that memory takes.
    #[inline]
    fn hand_out(worker: &mut Worker<'_, '_, S, Self>, targets: &[u64]) -> Result<()> {
        let Away { width, owner, post, small, .. } = &mut worker.route;
        let (me, full) = (post.me(), post.small());
        owner.each(*width, targets, |to, target| {
            let buffer = &mut small[to];
            buffer.extend_from_slice(target);
            if buffer.len() >= full && to != me {
                post.add(to, buffer);
                buffer.clear();
            }
        });
        if small[me].len() < OWN * width.words() { Ok(()) } else { worker.look_up_own() }
    }

    fn attend(worker: &mut Worker<'_, '_, S, Self>) -> Result<()> {
        worker.serve();
        Ok(())
    }
}

impl<S: Successors> Worker<'_, '_, S, Away<'_, '_, S::Width>> {
    /// Moves messages, if this thread has the mesh. Whether any moved.
    fn pump(&mut self) -> bool {
        let Some(mesh) = &mut self.route.mesh else { return false };
        let moved = self.route.post.pump(&mut **mesh);
        if mesh.halted() {
            self.run.halt();
        } else if self.run.is_stopped() {
            mesh.halt();
        }
        moved
    }

    /// Looks up what has come, until nothing is there and there is room for what is to be sent. Whether there was anything.
    fn serve(&mut self) -> bool {
        let (mut any, mut patience) = (false, Patience::default());
        loop {
            self.route.post.check();
            let moved = self.pump();
            let mut came = false;
            while let Some((from, message)) = self.route.post.next() {
                self.receive(from, &message);
                self.route.post.handled(message);
                came = true;
            }
            any |= came;
            if came || moved {
                patience.renew();
            }
            if !self.route.post.is_congested() {
                return any;
            }
            if !came && !moved {
                self.let_go();
                patience.rest();
            }
        }
    }

    /// Looks up the states of a message. A rank that stops only counts it.
    fn receive(&mut self, from: usize, message: &[u64]) {
        let looked_up = match self.route.post.open(from, message) {
            Ok(_) if self.run.is_stopped() => Ok(()),
            Ok(states) => self.look_up_fresh(states),
            Err(error) => Err(error),
        };
        if let Err(stop) = looked_up {
            self.run.stop(stop);
        }
    }

    /// Looks up the targets of this rank that were collected. A rank that stops forgets them.
    fn look_up_own(&mut self) -> Result<()> {
        let me = self.route.post.me();
        let mut own = std::mem::take(&mut self.route.small[me]);
        let looked_up = if self.run.is_stopped() { Ok(()) } else { self.look_up(&own) };
        own.clear();
        self.route.small[me] = own;
        looked_up
    }

    /// Nothing more is expanded by this thread.
    fn hand_over(&mut self) {
        if let Err(stop) = self.look_up_own() {
            self.run.stop(stop);
        }
        self.let_go();
        for (to, small) in self.route.small.iter_mut().enumerate() {
            if !small.is_empty() {
                self.route.post.add(to, small);
                small.clear();
            }
        }
        self.route.post.expanding.fetch_sub(1, SeqCst);
    }

    /// Looks up what comes until nothing more can come.
    fn help(&mut self) {
        let mut patience = Patience::default();
        while !self.route.post.closed.load(SeqCst) {
            if self.serve() {
                patience.renew();
            } else {
                self.let_go();
                patience.rest();
            }
        }
        self.let_go();
    }

    /// On the thread that has the mesh: sends what is left, takes what comes, and ends the level with all other ranks. How
    /// much of that time it did something.
    fn close(&mut self, others: bool) -> Duration {
        let post = self.route.post;
        let (mut patience, mut busy, mut looked) = (Patience::default(), Duration::ZERO, Instant::now());
        let mut sealed = false;
        loop {
            let begun = Instant::now();
            if !sealed && post.expanding.load(SeqCst) == 0 {
                post.seal_all();
                sealed = true;
            }
            let did = self.serve();
            if sealed && self.route.mesh.as_deref_mut().is_none_or(|mesh| post.is_settled(mesh)) {
                break;
            }
            if did {
                busy += begun.elapsed();
                patience.renew();
            } else {
                self.let_go();
                if looked.elapsed() > BETWEEN_LOOKS {
                    looked = Instant::now();
                    self.run.look_around();
                }
                patience.rest();
            }
        }
        self.let_go();
        let mesh = self.route.mesh.take().expect("this thread has the mesh");
        let sent = post.sent();
        let expected = mesh.scatter_sums(&sent, &mut |came| {
            if let Some((from, message)) = came.and_then(|came| post.keep(came, others)) {
                let begun = Instant::now();
                self.receive(from, &message);
                post.reuse(message);
                self.let_go();
                busy += begun.elapsed();
            }
            if looked.elapsed() > BETWEEN_LOOKS {
                looked = Instant::now();
                self.run.look_around();
            }
            self.run.is_stopped()
        });
        self.route.mesh = Some(mesh);
        let mut patience = Patience::default();
        let begun = Instant::now();
        while !post.is_done() {
            post.check();
            match post.next() {
                Some((from, message)) => {
                    self.receive(from, &message);
                    post.handled(message);
                }
                None => {
                    self.let_go();
                    patience.rest();
                }
            }
        }
        self.let_go();
        post.closed.store(true, SeqCst);
        if let Err(fault) = post.compare(&expected) {
            self.run.stop(fault);
        }
        busy + begun.elapsed()
    }
}
