//! The mesh: ranks that own a part of the states each, and send to each other whatever belongs to another.
//!
//! A [`Mesh`] moves messages and adds up numbers; it knows nothing of states. A search is written against the trait and
//! does not know whether ranks are processes of an MPI job or threads of this one ([`local`], which delays and reorders
//! messages as its seed says, for tests).
//!
//! Invariants that a search builds on. A message counts as taken once its receiver has it in hand, not before: so if all
//! ranks enter a sum with everything taken, nothing is under way when the sum is there. At most [`UNFINISHED`] messages are
//! on their way from one rank to another; who is not read from must wait, which bounds the memory of all. No call waits
//! for another rank except the two that all ranks make together, and these go on receiving meanwhile.

pub mod local;

use std::time::{Duration, Instant};

/// Messages that may be on their way from one rank to another.
pub const UNFINISHED: usize = 2;

/// What one rank sees of all.
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

/// The rank that owns a state, of so many. It depends on the state and on nothing else, and not on the bits by which a
/// visited set chooses a line: otherwise the states of one rank would stand in a part of the lines of its set.
#[inline(always)]
pub fn owner(state: &[u64], ranks: usize) -> usize {
    // The finalizer of SplitMix64, with an odd increment for each word. The set multiplies by another constant.
    let mut h = 0u64;
    for &word in state {
        let mut x = (word ^ h).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        h = x ^ (x >> 31);
    }
    ((u128::from(h) * ranks as u128) >> 64) as usize
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

    #[test]
    fn owners_are_balanced() {
        for (ranks, states) in [(2, 10_000u64), (7, 70_000), (64, 640_000)] {
            let mut owned = vec![0u64; ranks];
            (0..states).for_each(|s| owned[owner(&[s << 7], ranks)] += 1);
            let mean = states / ranks as u64;
            assert!(owned.iter().all(|&n| n > mean * 9 / 10 && n < mean * 11 / 10), "{owned:?}");
        }
        assert_ne!(owner(&[1, 0], 1 << 20), owner(&[0, 1], 1 << 20), "words do not commute");
    }
}
