//! The states that jobs of the member `prefix` report to each other: those that they have expanded within one bound, with
//! their depths.
//!
//! The manager appends the states of an answer when it processes that answer, and a job uses the entries that existed when it
//! was made. So the states that a job leaves out follow from answers that were processed before, and not from the speed of
//! workers. Entries do not change: a state that is reported again, nearer, gets another entry. If there is no room left, no
//! entry is added, and states are searched again. States are compared exactly.
//!
//! A rank has a copy of the summaries. It gets new entries with the next job that is sent there ([`Known::address`]), so each
//! entry goes to each rank once, and the copy consists of the first entries of rank 0.
//!
//! Invariant: an entry (state, depth) means that the state was expanded at that depth or nearer, and that each of its steps
//! leads to a state for which the same holds one step deeper, or to one that lies behind a state that the reporting job gave
//! back. A state may be left out only where it is met at that depth or deeper.

use crate::states::hash;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

/// An answer reports at most this many states, the nearest: it stays in the manager's memory until it is processed, and goes
/// into the checkpoint.
pub const MOST_TOLD: usize = 1 << 17;
/// Bytes of an entry besides the state: depth, link, two slots of the table.
const ENTRY: u64 = 20;
/// There is no earlier entry.
const NONE: u32 = u32::MAX;

/// States that a job has expanded.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Told {
    /// Packed, one after the other.
    pub states: Vec<u64>,
    /// The depth of each.
    pub depths: Vec<u32>,
    /// The number of further states that were left out.
    pub left_out: u64,
}

impl Told {
    /// Leaves out the farthest states if there are more than `most`.
    pub(super) fn cut(&mut self, words: usize, most: usize) {
        if self.depths.len() <= most {
            return;
        }
        let mut order: Vec<usize> = (0..self.depths.len()).collect();
        order.sort_by_key(|&k| (self.depths[k], k));
        order.truncate(most);
        order.sort_unstable();
        let states = order.iter().flat_map(|&k| &self.states[k * words..(k + 1) * words]).copied();
        let cut = Told {
            states: states.collect(),
            depths: order.iter().map(|&k| self.depths[k]).collect(),
            left_out: self.left_out + (self.depths.len() - most) as u64,
        };
        *self = cut;
    }
}

#[derive(Default)]
struct Entries {
    states: Vec<u64>,
    depths: Vec<u32>,
    /// The entry of the same state before this one.
    before: Vec<u32>,
    /// The last entry of each state.
    newest: HashTable<u32>,
    lossy: bool,
}

/// The entries within one bound.
pub struct Summaries {
    words: usize,
    most: usize,
    entries: RwLock<Entries>,
    /// For each rank the number of entries that were sent there.
    sent: Mutex<BTreeMap<u32, u32>>,
}

impl Summaries {
    /// No entries, for states of this many words; entries may take `bytes` bytes.
    pub fn new(words: usize, bytes: u64) -> Self {
        let most = (bytes / (words as u64 * 8 + ENTRY)).min(u64::from(NONE) - 1) as usize;
        Summaries { words, most, entries: RwLock::default(), sent: Mutex::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, Entries> {
        // Whoever panicked has at worst not added all.
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of entries so far.
    pub fn len(&self) -> u32 {
        self.read().depths.len() as u32
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of different states among the entries, and whether no reported state was dropped.
    pub fn different(&self) -> (u64, bool) {
        let entries = self.read();
        (entries.newest.len() as u64, !entries.lossy)
    }

    /// Adds the states of an answer that are new, or nearer than before, as far as there is room.
    pub fn add(&self, told: &Told) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.lossy |= told.left_out > 0;
        for (state, &depth) in told.states.chunks_exact(self.words).zip(&told.depths) {
            entries.add(self.words, self.most, state, depth);
        }
    }

    /// Whether any entry has the state at this depth or nearer.
    pub fn covers(&self, state: &[u64], depth: u32) -> bool {
        self.read().depth(self.words, state, NONE).is_some_and(|known| known <= depth)
    }

    /// The entries before a number that a rank has not got yet. They count as sent from now on.
    fn news(&self, rank: u32, to: u32) -> Option<News> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let from = sent.insert(rank, to).unwrap_or(0);
        if from >= to {
            sent.insert(rank, from);
            return None;
        }
        Some(News { from, told: self.part(from, to) })
    }

    /// The entries of these numbers, in the order in which they were added.
    pub fn part(&self, from: u32, to: u32) -> Told {
        let entries = self.read();
        let (from, to) = (from as usize, to as usize);
        Told {
            states: entries.states[from * self.words..to * self.words].to_vec(),
            depths: entries.depths[from..to].to_vec(),
            left_out: 0,
        }
    }
}

impl Entries {
    fn find(&self, words: usize, state: &[u64]) -> Option<u32> {
        let at = |entry: u32| &self.states[entry as usize * words..(entry as usize + 1) * words];
        let same = |entry: &u32| at(*entry).iter().zip(state).all(|(a, b)| a == b);
        self.newest.find(hash(state), same).copied()
    }

    /// The least depth of a state among the entries before a number.
    fn depth(&self, words: usize, state: &[u64], end: u32) -> Option<u32> {
        let mut entry = self.find(words, state)?;
        while entry >= end {
            entry = self.before[entry as usize];
            if entry == NONE {
                return None;
            }
        }
        // Later ones are nearer.
        Some(self.depths[entry as usize])
    }

    fn add(&mut self, words: usize, most: usize, state: &[u64], depth: u32) {
        let known = self.find(words, state);
        if known.is_some_and(|entry| self.depths[entry as usize] <= depth) {
            return;
        }
        if self.depths.len() >= most {
            self.lossy |= known.is_none();
            return;
        }
        let entry = self.depths.len() as u32;
        self.states.extend_from_slice(state);
        self.depths.push(depth);
        self.before.push(known.unwrap_or(NONE));
        let states = &self.states;
        let at = |entry: u32| &states[entry as usize * words..(entry as usize + 1) * words];
        match known {
            Some(old) => {
                if let Some(newest) = self.newest.find_mut(hash(state), |&entry| entry == old) {
                    *newest = entry;
                }
            }
            None => {
                self.newest.insert_unique(hash(state), entry, |&entry| hash(at(entry)));
            }
        }
    }
}

/// Entries on their way to a rank.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct News {
    /// The number of the first.
    from: u32,
    told: Told,
}

/// What a job knows of other jobs: the first entries of the summaries of its round.
#[derive(Clone, Serialize, Deserialize)]
pub struct Known {
    /// Which summaries these are: the round of the member.
    pub round: u64,
    /// How many of the entries.
    pub entries: u32,
    /// The earliest round with a job whose answer still counts.
    pub oldest: u64,
    /// The summaries themselves. They do not go with the job to files.
    #[serde(skip)]
    pub summaries: Option<Arc<Summaries>>,
    /// The entries that the rank lacks to which the job is sent.
    news: Option<News>,
}

/// The summaries of a round are the same in every process, so the round and the number of entries decide.
impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        (self.round, self.entries) == (other.round, other.entries)
    }
}

impl Eq for Known {}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.round, self.entries).hash(state);
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries of round {}", self.entries, self.round)
    }
}

impl Known {
    /// What a job of a round knows: all entries so far.
    pub fn new(round: u64, oldest: u64, summaries: Arc<Summaries>) -> Self {
        Known { round, entries: summaries.len(), oldest, summaries: Some(summaries), news: None }
    }

    /// Adds the entries that a rank has not got yet, before the job is sent there.
    pub fn address(&mut self, rank: u32) {
        self.news = self.summaries.as_ref().and_then(|summaries| summaries.news(rank, self.entries));
    }

    /// Whether this process has the entries that the job is to know.
    pub(super) fn is_there(&self) -> bool {
        self.entries == 0 || self.summaries.as_ref().is_some_and(|told| told.len() >= self.entries)
    }

    /// Removes from `kept` the indices of states that are known at this depth or nearer; `targets` has the states one after
    /// the other. Returns how many were removed.
    pub(super) fn leave_out(&self, targets: &[u64], depth: u32, kept: &mut Vec<u32>) -> u64 {
        let Some(summaries) = self.summaries.as_ref().filter(|_| self.entries > 0 && !kept.is_empty()) else {
            return 0;
        };
        let (words, before) = (summaries.words, kept.len());
        let entries = summaries.read();
        kept.retain(|&k| {
            let state = &targets[k as usize * words..(k as usize + 1) * words];
            entries.depth(words, state, self.entries).is_none_or(|known| known > depth)
        });
        (before - kept.len()) as u64
    }
}

/// The summaries that a rank has.
#[derive(Default)]
pub struct Copies {
    rounds: Mutex<BTreeMap<u64, Arc<Summaries>>>,
}

impl Copies {
    /// Takes the entries that come with a job, in the order in which jobs were sent here, and gives the job its summaries. A
    /// state has `words` words.
    pub fn take_in(&self, words: usize, known: &mut Known) {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.retain(|round, _| *round >= known.oldest);
        let copy = rounds.entry(known.round).or_insert_with(|| Arc::new(Summaries::new(words, u64::MAX)));
        // If something is missing the job says that it cannot be done.
        if let Some(news) = known.news.take().filter(|news| news.from == copy.len()) {
            copy.add(&news.told);
        }
        known.summaries = Some(copy.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;
    use std::collections::BTreeMap;

    /// What each number of first entries says, against a map that is made anew from these entries.
    #[test]
    fn first_entries_say_the_same_for_ever() {
        let rng = &mut Rng::new(5);
        for words in 1..3 {
            let summaries = Arc::new(Summaries::new(words, 200 * (words as u64 * 8 + ENTRY)));
            let mut told = Vec::new();
            for _ in 0..30 {
                let mut answer = Told::default();
                for _ in 0..rng.below(60) {
                    let state = vec![rng.below(150) as u64; words];
                    answer.states.extend(&state);
                    answer.depths.push(rng.below(20) as u32);
                }
                summaries.add(&answer);
                told.push(summaries.len());
            }
            assert_eq!(summaries.len(), 200, "it was full");
            for &entries in &told {
                let mut naive = BTreeMap::new();
                let part = summaries.part(0, entries);
                for (state, depth) in part.states.chunks_exact(words).zip(&part.depths) {
                    let least = naive.entry(state[0]).or_insert(*depth);
                    *least = (*least).min(*depth);
                }
                let all: Vec<u64> = (0..160u64).flat_map(|state| vec![state; words]).collect();
                for depth in 0..21 {
                    let mut kept: Vec<u32> = (0..160).collect();
                    let known = Known { round: 1, entries, oldest: 1, summaries: None, news: None };
                    assert_eq!(
                        known.leave_out(&all, depth, &mut kept),
                        0,
                        "nothing is known without summaries"
                    );
                    let known = Known { summaries: Some(summaries.clone()), ..known };
                    let left_out = known.leave_out(&all, depth, &mut kept);
                    let expected: Vec<u32> =
                        (0..160).filter(|s| naive.get(&u64::from(*s)).is_none_or(|d| *d > depth)).collect();
                    assert_eq!((&kept, left_out), (&expected, 160 - expected.len() as u64));
                }
            }
        }
    }

    #[test]
    fn what_is_lost_is_said() {
        let summaries = Summaries::new(1, 3 * (8 + ENTRY));
        summaries.add(&Told { states: vec![4, 5, 4, 6], depths: vec![9, 9, 9, 9], left_out: 0 });
        assert_eq!((summaries.len(), summaries.different()), (3, (3, true)));
        // Nearer, but without room: the states are counted nevertheless.
        summaries.add(&Told { states: vec![4], depths: vec![2], left_out: 0 });
        assert_eq!((summaries.covers(&[4], 9), summaries.covers(&[4], 8)), (true, false));
        assert_eq!(summaries.different(), (3, true));
        summaries.add(&Told { states: vec![7], depths: vec![2], left_out: 0 });
        assert_eq!((summaries.covers(&[7], 9), summaries.different()), (false, (3, false)));
        let mut told = Told { states: vec![1, 1, 2, 2, 3, 3], depths: vec![7, 5, 5], left_out: 0 };
        told.cut(2, 2);
        assert_eq!(told, Told { states: vec![2, 2, 3, 3], depths: vec![5, 5], left_out: 1 });
    }
}
