//! The ranks of a search by slices, as seen by one of them: a mesh, and the messages over it.
//!
//! Rank 0 has no slices, unless it is alone: it knows sizes and takes decisions, as all ranks do, and reports for them. So
//! its traffic does not depend on the number of states. Invariant: every call that waits for others is made by all ranks, in
//! the same order; an error that one of them has is known to all after it.

use crate::grid::wire;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::mesh::Mesh;
use gridlock_lts::engine::mesh::parcels::{Sent, exchange};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::{Cell, RefCell};

/// See the module head.
pub(super) struct Ranks<'m> {
    mesh: RefCell<&'m mut dyn Mesh>,
    rank: usize,
    size: usize,
    told: &'m dyn Fn() -> Option<Limit>,
    exchanges: Cell<u64>,
    sent: Cell<Sent>,
}

impl<'m> Ranks<'m> {
    /// All ranks together. `told`: whether and why this one is to stop.
    pub(super) fn new(mesh: &'m mut dyn Mesh, told: &'m dyn Fn() -> Option<Limit>) -> Self {
        let (rank, size) = (mesh.rank(), mesh.size());
        Ranks {
            mesh: RefCell::new(mesh),
            rank,
            size,
            told,
            exchanges: Cell::default(),
            sent: Cell::default(),
        }
    }

    /// The number of this rank.
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Whether there are others.
    pub(super) fn is_distributed(&self) -> bool {
        self.size > 1
    }

    /// The ranks that have slices.
    pub(super) fn owners(&self) -> std::ops::Range<usize> {
        usize::from(self.is_distributed())..self.size
    }

    /// The traffic to other ranks so far: states, as they are stored.
    pub(super) fn sent(&self) -> Sent {
        self.sent.get()
    }

    /// Whether this rank is to stop.
    pub(super) fn is_told(&self) -> bool {
        (self.told)().is_some()
    }

    /// Why this rank stops: for its own reason, or because another rank stops.
    pub(super) fn why(&self) -> Limit {
        (self.told)().unwrap_or(Limit::Interrupted)
    }

    /// Whether to stop, for a reason at this rank or at another one. It is called regularly while threads work, and gives a
    /// sign of life; it must not be called while an exchange may be under way.
    pub(super) fn is_stopped(&self) -> bool {
        if !self.is_distributed() {
            return self.is_told();
        }
        let mut mesh = self.mesh.borrow_mut();
        if self.is_told() {
            mesh.halt();
        }
        // Between two exchanges nothing comes; what nevertheless does is missed in the next one.
        drop(mesh.take());
        mesh.halted()
    }

    /// Tells all ranks to stop as soon as they can.
    pub(super) fn halt(&self) {
        if self.is_distributed() {
            self.mesh.borrow_mut().halt();
        }
    }

    /// All ranks together: the values of all ranks, in the order of ranks.
    pub(super) fn share<T: Serialize + DeserializeOwned>(&self, mine: &T) -> Result<Vec<T>> {
        let bytes = wire::encode(mine).map_err(Error::Internal)?;
        let mut words: Vec<u64> = vec![bytes.len() as u64];
        words.extend(bytes.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }));
        let mut mesh = self.mesh.borrow_mut();
        // Others may be at work for long.
        let lengths = mesh.share(&[words.len() as u64], &mut || self.is_told());
        words.resize(lengths.into_iter().max().unwrap_or(0) as usize, 0);
        let longest = words.len();
        let all = mesh.share(&words, &mut || self.is_told());
        let read = |(rank, words): (usize, &[u64])| {
            let broken = || Error::Internal(format!("what rank {rank} says makes no sense"));
            let (&length, words) = words.split_first().ok_or_else(broken)?;
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let bytes =
                usize::try_from(length).ok().and_then(|length| bytes.get(..length)).ok_or_else(broken)?;
            wire::decode(bytes).map_err(|_| broken())
        };
        all.chunks_exact(longest).enumerate().map(read).collect()
    }

    /// All ranks together: an error if one of them has one.
    pub(super) fn agree<T>(&self, result: Result<T>) -> Result<T> {
        if !self.is_distributed() {
            return result;
        }
        let (value, trouble) = match result {
            Ok(value) => (Some(value), None),
            Err(trouble) => (None, Some(trouble)),
        };
        match (worst(self.share(&trouble)?), value) {
            (Some(trouble), _) => Err(trouble),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(Error::internal("ranks do not agree about what went wrong")),
        }
    }

    /// All ranks together: sends parcels and takes those of others, see [`exchange`].
    pub(super) fn exchange(
        &self,
        next: &mut dyn FnMut() -> Result<Option<(usize, Vec<u64>)>>,
        accept: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        if !self.is_distributed() {
            return match next()? {
                None => Ok(()),
                Some(_) => Err(Error::internal("there is nobody to send to")),
            };
        }
        let number = self.exchanges.get();
        self.exchanges.set(number + 1);
        let done = exchange(&mut **self.mesh.borrow_mut(), number, next, &mut |_, words| accept(words));
        let sent = self.agree(done)?;
        let before = self.sent.get();
        self.sent.set(Sent { messages: before.messages + sent.messages, words: before.words + sent.words });
        Ok(())
    }
}

/// The error that counts, among those of all ranks: the first that is more than an interruption.
pub(super) fn worst(all: Vec<Option<Error>>) -> Option<Error> {
    let told = |error: &Error| *error == Error::Limit(Limit::Interrupted);
    let mut troubles: Vec<Error> = all.into_iter().flatten().collect();
    let at = troubles.iter().position(|error| !told(error)).unwrap_or(0);
    if troubles.is_empty() { None } else { Some(troubles.swap_remove(at)) }
}
