//! The mesh: each rank owns a part of the states and sends states that other ranks own to them.
//!
//! A [`Mesh`] moves messages and adds up numbers; it knows nothing of states. A search is written against the trait and
//! does not know whether ranks are processes of an MPI job or threads of this one ([`local`], which delays and reorders
//! messages as its seed says, for tests).
//!
//! Invariants that a search builds on. A message counts as taken once its receiver has it in hand, not before: so if all
//! ranks enter a sum with everything taken, nothing is under way when the sum is there. At most [`UNFINISHED`] messages are
//! on their way from one rank to another; a rank whose messages are not read must wait, which bounds the memory of all. No
//! call waits for another rank except the two that all ranks make together, and these go on receiving meanwhile.

pub mod choose;
pub mod local;
pub mod parcels;

use crate::engine::pack::{Packing, Width};
use crate::model::network::LeafIx;
use std::time::{Duration, Instant};

/// Messages that may be on their way from one rank to another.
pub const UNFINISHED: usize = 2;

/// One rank's access to the mesh.
pub trait Mesh {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Whether a message may be posted to a rank: fewer than [`UNFINISHED`] are on their way there.
    fn has_room(&mut self, to: usize) -> bool;

    /// Sends a message without waiting. There must be room.
    fn post(&mut self, to: usize, message: Vec<u64>);

    /// The next message that has come, and from whom. Messages of one rank may come in any order.
    fn take(&mut self) -> Option<(usize, Vec<u64>)>;

    /// Whether every message that was posted here has been taken.
    fn all_taken(&mut self) -> bool;

    /// Tells all ranks to stop as soon as they can.
    fn halt(&mut self);

    /// Whether some rank has told so.
    fn halted(&mut self) -> bool;

    /// All ranks together: each has as many numbers for each rank, and gets the sums (modulo 2^64) of those for itself. What
    /// comes meanwhile is handed to `attend`, which is also called now and then with nothing, and says whether to halt.
    fn scatter_sums(
        &mut self,
        mine: &[u64],
        attend: &mut dyn FnMut(Option<(usize, Vec<u64>)>) -> bool,
    ) -> Vec<u64>;

    /// All ranks together: the numbers of all, in the order of ranks. All have equally many. `attend` is called now and then
    /// and says whether to halt.
    fn share(&mut self, mine: &[u64], attend: &mut dyn FnMut() -> bool) -> Vec<u64>;
}

impl dyn Mesh + '_ {
    /// [`Mesh::share`] for any number of words: those of each rank, in the order of ranks.
    pub fn share_all(&mut self, mine: &[u64]) -> Vec<Vec<u64>> {
        let lengths = self.share(&[mine.len() as u64], &mut || false);
        let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
        if longest == 0 {
            return vec![Vec::new(); lengths.len()];
        }
        let mut padded = mine.to_vec();
        padded.resize(longest, 0);
        let all = self.share(&padded, &mut || false);
        all.chunks_exact(longest).zip(&lengths).map(|(words, &n)| words[..n as usize].to_vec()).collect()
    }
}

/// The mesh of a rank that is alone.
#[derive(Debug, Default)]
pub struct Alone {
    halted: bool,
}

impl Mesh for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn has_room(&mut self, _: usize) -> bool {
        false
    }

    fn post(&mut self, _: usize, _: Vec<u64>) {
        unreachable!("a rank that is alone has nobody to send to");
    }

    fn take(&mut self) -> Option<(usize, Vec<u64>)> {
        None
    }

    fn all_taken(&mut self) -> bool {
        true
    }

    fn halt(&mut self) {
        self.halted = true;
    }

    fn halted(&mut self) -> bool {
        self.halted
    }

    fn scatter_sums(
        &mut self,
        mine: &[u64],
        _: &mut dyn FnMut(Option<(usize, Vec<u64>)>) -> bool,
    ) -> Vec<u64> {
        mine.to_vec()
    }

    fn share(&mut self, mine: &[u64], _: &mut dyn FnMut() -> bool) -> Vec<u64> {
        mine.to_vec()
    }
}

/// Which rank owns a state. It follows from the state and nothing else, by a hash of all of it or of the local states of some
/// leaves, and not by the bits by which a visited set chooses a line: otherwise the states of one rank would stand in a part
/// of the lines of its set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    ranks: usize,
    /// The bits that decide, if not all do.
    mask: Option<Vec<u64>>,
}

impl Owner {
    /// All of a state decides.
    pub fn new(ranks: usize) -> Self {
        Owner { ranks, mask: None }
    }

    /// The local states of these leaves decide: a step that moves none of them stays with the rank.
    pub fn by_leaves(ranks: usize, packing: &Packing, leaves: &[LeafIx]) -> Self {
        let mut mask = vec![0; packing.words()];
        for field in leaves.iter().map(|&leaf| packing.field(leaf)) {
            mask[field.word as usize] |= field.mask() << field.shift;
        }
        Owner { ranks, mask: Some(mask) }
    }

    /// The rank that owns a state.
    pub fn of(&self, state: &[u64]) -> usize {
        match &self.mask {
            None => self.of_all(state),
            Some(mask) => self.of_masked(state, mask),
        }
    }

    /// Goes through states, with the rank that owns each.
    #[inline(always)]
    pub(crate) fn each<W: Width>(&self, width: W, states: &[u64], mut take: impl FnMut(usize, &[u64])) {
        let states = states.chunks_exact(width.words());
        // What is asked once is not asked for every state.
        match &self.mask {
            None => states.for_each(|state| take(self.of_all(state), state)),
            Some(mask) => states.for_each(|state| take(self.of_masked(state, mask), state)),
        }
    }

    #[inline(always)]
    fn of_all(&self, state: &[u64]) -> usize {
        self.scale(state.iter().fold(0, |h, &word| mix(h ^ word)))
    }

    #[inline(always)]
    fn of_masked(&self, state: &[u64], mask: &[u64]) -> usize {
        self.scale(state.iter().zip(mask).fold(0, |h, (word, mask)| mix(h ^ (word & mask))))
    }

    #[inline(always)]
    fn scale(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.ranks as u128) >> 64) as usize
    }
}

/// The finalizer of SplitMix64. The visited set multiplies by another constant.
#[inline(always)]
fn mix(x: u64) -> u64 {
    let mut x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// One more word of a hash that depends on the order of words.
#[inline(always)]
fn add(h: u64, word: u64) -> u64 {
    let x = (h ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25);
    x ^ (x >> 29)
}

/// Words of a message that are hashed side by side: a word waits for the one before it, and a processor has several
/// multiplications under way. With one after another, prints took a sixtieth of the time of a search.
const SIDE_BY_SIDE: usize = 4;

/// A hash of a message, its sender and its receiver: sums of those of all that were sent and of all that came tell whether
/// they are the same.
pub(crate) fn print(from: usize, to: usize, message: &[u64]) -> u64 {
    let seed = [from, to, message.len()].iter().fold(0x51_7cc1_b727_220a, |h, &word| add(h, word as u64));
    let mut sides: [u64; SIDE_BY_SIDE] = std::array::from_fn(|k| add(seed, k as u64));
    let rows = message.chunks_exact(SIDE_BY_SIDE);
    let rest = rows.remainder();
    for row in rows {
        for (side, &word) in sides.iter_mut().zip(row) {
            *side = add(*side, word);
        }
    }
    sides.iter().chain(rest).fold(seed, |h, &word| add(h, word))
}

/// How long to wait for another rank before looking again: not at all at first, since answers take microseconds, and then
/// longer, since a core may be shared.
#[derive(Debug)]
pub struct Patience {
    looks: u32,
    since: Instant,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { looks: 0, since: Instant::now() }
    }
}

/// Looks without a pause.
const EAGER: u32 = 200;
/// The shortest and the longest pause.
const PAUSE: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));

impl Patience {
    /// Waits a little.
    pub fn rest(&mut self) {
        self.looks = self.looks.saturating_add(1);
        match self.looks.checked_sub(EAGER) {
            None => std::thread::yield_now(),
            Some(n) => std::thread::sleep((PAUSE.0 * (1 + n / 16).min(64)).min(PAUSE.1)),
        }
    }

    /// Something happened: the next wait is short again.
    pub fn renew(&mut self) {
        self.looks = 0;
    }

    /// Time since the waiting began.
    pub fn waited(&self) -> Duration {
        self.since.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pack::Many;
    use crate::model::network::Local;

    #[test]
    fn owners_are_balanced() {
        for (ranks, states) in [(2, 10_000u64), (7, 70_000), (64, 640_000)] {
            let mut owned = vec![0u64; ranks];
            let owner = Owner::new(ranks);
            (0..states).for_each(|s| owned[owner.of(&[s << 7])] += 1);
            let mean = states / ranks as u64;
            assert!(owned.iter().all(|&n| n > mean * 9 / 10 && n < mean * 11 / 10), "{owned:?}");
        }
        let owner = Owner::new(1 << 20);
        assert_ne!(owner.of(&[1, 0]), owner.of(&[0, 1]), "words do not commute");
    }

    #[test]
    fn each_state_goes_to_the_rank_that_owns_it() {
        let packing = Packing::for_sizes([1 << 20, 1 << 30, 7, 1 << 31, 5]);
        let states: Vec<u64> = (0..200).map(|k| mix(k) >> 1).collect();
        for owner in [Owner::new(5), Owner::by_leaves(5, &packing, &[LeafIx(1), LeafIx(2)])] {
            let mut went = Vec::new();
            owner.each(Many(2), &states, |to, state| went.push((to, state.to_vec())));
            let wanted = states.chunks(2).map(|state| (owner.of(state), state.to_vec()));
            assert_eq!(went, wanted.collect::<Vec<_>>());
        }
    }

    #[test]
    fn prints_tell_messages_apart() {
        let message: Vec<u64> = (0..11).map(|k| k % 3).collect();
        let same = print(1, 2, &message);
        assert_eq!(same, print(1, 2, &message.clone()));
        assert_ne!(same, print(2, 1, &message), "who sends to whom");
        for length in 0..message.len() {
            assert_ne!(same, print(1, 2, &message[..length]), "a part of it");
        }
        for (a, b) in (0..message.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let mut other = message.clone();
            other.swap(a, b);
            assert_eq!(
                same == print(1, 2, &other),
                message[a] == message[b],
                "words {a} and {b} change places"
            );
            other.clone_from(&message);
            other[a] ^= 1 << (b * 5);
            assert_ne!(same, print(1, 2, &other), "a bit of word {a}");
        }
        let longer: Vec<u64> = message.iter().copied().chain([0]).collect();
        assert_ne!(same, print(1, 2, &longer));
    }

    #[test]
    fn other_leaves_do_not_change_the_owner() {
        let packing = Packing::for_sizes([10, 1 << 30, 7, 1 << 31, 5]);
        let owner = Owner::by_leaves(1 << 20, &packing, &[LeafIx(0), LeafIx(3)]);
        let owner_of = |locals: [u32; 5]| {
            let mut state = vec![0; packing.words()];
            packing.pack(&locals.map(Local), &mut state);
            owner.of(&state)
        };
        assert_eq!(owner_of([3, 0, 0, 77, 0]), owner_of([3, 12345, 6, 77, 4]));
        assert_ne!(owner_of([3, 0, 0, 77, 0]), owner_of([4, 0, 0, 77, 0]));
        assert_ne!(owner_of([3, 0, 0, 77, 0]), owner_of([3, 0, 0, 78, 0]));
    }
}
