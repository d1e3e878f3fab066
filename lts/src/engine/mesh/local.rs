//! Ranks that are threads of one process, with messages that are delayed and reordered as a seed says.
//!
//! For tests and simulations: what a network does rarely happens here all the time, and [`Mischief`] does what a network
//! must never do. A message counts as taken when its receiver has it, as with synchronous sends.
//!
//! A thousand ranks are a thousand threads that mostly sleep. What a rank does under the one lock takes a time that does not
//! grow with the number of ranks, apart from the two calls that all make together, which need what they give and get.

use super::{Mesh, Patience, UNFINISHED};
use crate::base::hash::Map;
use crate::base::rng::Rng;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is done to messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disorder {
    /// Decides which message waits how long, and which of several comes first.
    pub seed: u64,
    /// At most how often a receiver looks in vain for a message that is there.
    pub delay: usize,
    /// A fault of the network.
    pub mischief: Option<Mischief>,
}

/// What a network must never do; the number says to which message, counted from 0 over all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mischief {
    /// The message is gone, though its sender believes that it was taken.
    Lose(u64),
    /// It comes twice.
    Double(u64),
    /// It comes after all ranks have agreed that everything was taken.
    Late(u64),
    /// One of its bits changes.
    Damage(u64),
}

struct Flying {
    from: usize,
    /// Looks of the receiver until it comes.
    looks: usize,
    message: Vec<u64>,
}

/// A call that all ranks make together.
#[derive(Default)]
struct Round {
    /// What they gave: one after the other, or added up.
    words: Vec<u64>,
    /// How many have given, and how many have read.
    given: usize,
    read: usize,
}

struct Shared {
    rng: Rng,
    disorder: Disorder,
    posted: u64,
    boxes: Vec<Vec<Flying>>,
    /// From each rank to each.
    unfinished: Vec<usize>,
    /// From each rank.
    under_way: Vec<usize>,
    /// What comes too late: after which round, and to whom.
    late: Vec<(u64, usize, Flying)>,
    rounds: Map<u64, Round>,
}

struct Hub {
    shared: Mutex<Shared>,
    halted: AtomicBool,
    /// A rank has panicked, so no other rank may wait for it.
    broken: AtomicBool,
}

/// One rank of several in this process.
pub struct LocalMesh {
    rank: usize,
    size: usize,
    hub: Arc<Hub>,
    round: u64,
}

/// `size` ranks, one for each thread that takes part.
pub fn ranks(size: usize, disorder: Disorder) -> Vec<LocalMesh> {
    let shared = Shared {
        rng: Rng::new(disorder.seed),
        disorder,
        posted: 0,
        boxes: (0..size).map(|_| Vec::new()).collect(),
        unfinished: vec![0; size * size],
        under_way: vec![0; size],
        late: Vec::new(),
        rounds: Map::default(),
    };
    let hub = Arc::new(Hub {
        shared: Mutex::new(shared),
        halted: AtomicBool::new(false),
        broken: AtomicBool::new(false),
    });
    (0..size).map(|rank| LocalMesh { rank, size, hub: hub.clone(), round: 0 }).collect()
}

impl LocalMesh {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        assert!(!self.hub.broken.load(Relaxed), "another rank has panicked");
        self.hub.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of all ranks: `give` puts in what this one has, and once all have, `get` reads; `idle` is called meanwhile.
    fn together(
        &mut self,
        give: impl FnOnce(&mut Vec<u64>),
        get: impl FnOnce(&[u64]) -> Vec<u64>,
        idle: &mut dyn FnMut(&mut Self),
    ) -> Vec<u64> {
        let round = self.round;
        self.round += 1;
        let mut shared = self.lock();
        let entry = shared.rounds.entry(round).or_default();
        give(&mut entry.words);
        entry.given += 1;
        drop(shared);
        let mut patience = Patience::default();
        loop {
            let mut shared = self.lock();
            let entry = shared.rounds.get_mut(&round).expect("it is there until all have read it");
            if entry.given == self.size {
                let all = get(&entry.words);
                entry.read += 1;
                if entry.read == self.size {
                    shared.rounds.remove(&round);
                    // All believe that nothing is under way, and have looked for the last time in the round before.
                    for (after, to, flying) in std::mem::take(&mut shared.late) {
                        if after < round {
                            shared.boxes[to].push(flying);
                        } else {
                            shared.late.push((after, to, flying));
                        }
                    }
                }
                return all;
            }
            drop(shared);
            idle(self);
            patience.rest();
        }
    }
}

impl Shared {
    fn fly(&mut self, to: usize, flying: Flying) {
        self.unfinished[flying.from * self.boxes.len() + to] += 1;
        self.under_way[flying.from] += 1;
        self.boxes[to].push(flying);
    }

    /// Which of the messages to a rank comes next.
    fn next(&mut self, to: usize) -> Option<usize> {
        let waiting = &mut self.boxes[to];
        if self.disorder.delay == 0 {
            return (!waiting.is_empty()).then(|| self.rng.below(waiting.len()));
        }
        waiting.iter_mut().for_each(|flying| flying.looks = flying.looks.saturating_sub(1));
        let here: Vec<usize> = (0..waiting.len()).filter(|&k| waiting[k].looks == 0).collect();
        here.get(self.rng.below(here.len().max(1))).copied()
    }
}

impl Drop for LocalMesh {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.hub.broken.store(true, Relaxed);
        }
    }
}

impl Mesh for LocalMesh {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn has_room(&mut self, to: usize) -> bool {
        self.lock().unfinished[self.rank * self.size + to] < UNFINISHED
    }

    fn post(&mut self, to: usize, mut message: Vec<u64>) {
        assert!(self.has_room(to) && to != self.rank, "there must be room, and somebody else");
        let (from, round) = (self.rank, self.round);
        let shared = &mut *self.lock();
        let number = shared.posted;
        shared.posted += 1;
        let looks = shared.rng.below(shared.disorder.delay + 1);
        match shared.disorder.mischief {
            Some(Mischief::Lose(n)) if n == number => return,
            Some(Mischief::Late(n)) if n == number => {
                shared.late.push((round, to, Flying { from, looks: 0, message }));
                return;
            }
            Some(Mischief::Double(n)) if n == number => {
                shared.fly(to, Flying { from, looks: 0, message: message.clone() });
            }
            Some(Mischief::Damage(n)) if n == number => {
                let (at, bit) = (shared.rng.below(message.len()), shared.rng.below(64));
                message[at] ^= 1 << bit;
            }
            _ => {}
        }
        shared.fly(to, Flying { from, looks, message });
    }

    fn take(&mut self) -> Option<(usize, Vec<u64>)> {
        let shared = &mut *self.lock();
        let at = shared.next(self.rank)?;
        let Flying { from, message, .. } = shared.boxes[self.rank].swap_remove(at);
        // No rank counts a late message as under way.
        let pair = &mut shared.unfinished[from * self.size + self.rank];
        if *pair > 0 {
            *pair -= 1;
            shared.under_way[from] -= 1;
        }
        Some((from, message))
    }

    fn all_taken(&mut self) -> bool {
        self.lock().under_way[self.rank] == 0
    }

    fn halt(&mut self) {
        self.hub.halted.store(true, Relaxed);
    }

    fn halted(&mut self) -> bool {
        self.hub.halted.load(Relaxed)
    }

    fn scatter_sums(
        &mut self,
        mine: &[u64],
        attend: &mut dyn FnMut(Option<(usize, Vec<u64>)>) -> bool,
    ) -> Vec<u64> {
        let each = mine.len() / self.size;
        let own = self.rank * each..(self.rank + 1) * each;
        let add = |sums: &mut Vec<u64>| {
            sums.resize(mine.len(), 0);
            sums.iter_mut().zip(mine).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
        };
        let idle = &mut |mesh: &mut Self| {
            let message = mesh.take();
            if attend(message) {
                mesh.halt();
            }
        };
        let sums = self.together(add, |sums| sums[own].to_vec(), idle);
        // A rank goes on receiving until it sees the sum, and others see it before: what they send then comes here, and it must
        // not be there. A network shows that rarely, so here every rank looks for longer.
        let looks = self.lock().disorder.delay;
        for _ in 0..=looks {
            while let Some(came) = self.take() {
                attend(Some(came));
            }
            std::thread::yield_now();
        }
        sums
    }

    fn share(&mut self, mine: &[u64], attend: &mut dyn FnMut() -> bool) -> Vec<u64> {
        let at = self.rank * mine.len();
        let all = self.size * mine.len();
        let put = |words: &mut Vec<u64>| {
            words.resize(all, 0);
            words[at..at + mine.len()].copy_from_slice(mine);
        };
        let idle = &mut |mesh: &mut Self| {
            if attend() {
                mesh.halt();
            }
        };
        self.together(put, <[u64]>::to_vec, idle)
    }
}
