//! Decides obligations on several threads.
//!
//! An obligation has a place: its number, and for each split that of the member. The first place at which something does not
//! hold decides, and everything before it is waited for; what comes behind it is given up. So the answer, and all that is
//! told about the places up to it, is the same for any number of threads.

use super::refine::{Answer, Job, Refinement};
use super::{Account, Fate, Options, Why};
use crate::base::error::Limit;
use crate::base::memory::Budget;
use crate::engine::parts::{Stop, Trouble};
use crate::engine::search::Verdict;
use crate::model::network::Network;
use crate::property::Property;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How it ended.
pub(super) enum Ended {
    Holds,
    Verdict(Verdict),
    Trouble(Trouble),
}

type Place = Vec<u32>;

#[derive(Default)]
struct Board {
    waiting: BTreeMap<Place, Job>,
    running: BTreeSet<Place>,
    accounts: BTreeMap<Place, Account>,
    /// The first place at which something does not hold.
    decided: Option<(Place, Ended)>,
    done: u64,
}

struct Workers<'a> {
    on: (&'a Network, &'a [Property]),
    options: &'a Options<'a>,
    budget: &'a Arc<Budget>,
    board: Mutex<Board>,
    changed: Condvar,
    states: AtomicU64,
}

/// Decides them, and tells what was done up to the first that does not hold.
pub(super) fn decide(
    on: (&Network, &[Property]),
    jobs: Vec<Job>,
    options: &Options,
    budget: &Arc<Budget>,
) -> (Vec<Account>, Ended) {
    let waiting = (0..).zip(jobs).map(|(number, job)| (vec![number], job)).collect();
    let board = Mutex::new(Board { waiting, ..Board::default() });
    let workers = Workers { on, options, budget, board, changed: Condvar::new(), states: AtomicU64::new(0) };
    std::thread::scope(|scope| {
        for _ in 1..options.workers {
            scope.spawn(|| workers.work());
        }
        workers.work();
    });
    let board = workers.board.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (last, ended) = match board.decided {
        Some((place, ended)) => (Some(place), ended),
        None => (None, Ended::Holds),
    };
    let counts = |place: &Place| last.as_ref().is_none_or(|last| place <= last);
    (
        board.accounts.into_iter().filter(|(place, _)| counts(place)).map(|(_, account)| account).collect(),
        ended,
    )
}

impl Workers<'_> {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; none: nothing is left to do.
    fn take(&self) -> Option<(Place, Job)> {
        let mut board = self.board();
        loop {
            if let Some((last, _)) = &board.decided {
                let last = last.clone();
                board.waiting.retain(|place, _| *place < last);
                board.running.retain(|place| *place < last);
            }
            if let Some((place, job)) = board.waiting.pop_first() {
                board.running.insert(place.clone());
                return Some((place, job));
            }
            if board.running.is_empty() {
                return None;
            }
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self) {
        while let Some((place, job)) = self.take() {
            let in_vain = || {
                let board = self.board();
                board.decided.as_ref().is_some_and(|(last, _)| *last < place)
            };
            let asked_to_stop = || (self.options.stop)().or_else(|| in_vain().then_some(Limit::Interrupted));
            let stop = Stop(&asked_to_stop);
            let progress = |states: u64| {
                let all = self.states.fetch_add(states, Relaxed) + states;
                (self.options.progress)(self.board().done, all);
            };
            let limit = self.options.limit;
            let mut refinement = Refinement::new(self.on, self.options, self.budget, &stop, &progress);
            let answer = refinement.decide(&job);
            let fate = match &answer {
                Ok(Answer::Holds) => Fate::Holds,
                Ok(Answer::Verdict(_)) => Fate::Violated,
                Ok(Answer::Split(jobs)) => Fate::Split(jobs.len()),
                Err(Trouble::TooLarge) => Fate::Left(Why::Limit(limit)),
                Err(Trouble::Memory) => Fate::Left(Why::Memory),
                Err(Trouble::Stopped(_) | Trouble::Internal(_)) => Fate::Left(Why::Stopped),
            };
            let account = refinement.account(&job, fate);
            let mut board = self.board();
            board.running.remove(&place);
            let ended = match answer {
                Ok(Answer::Holds) => None,
                Ok(Answer::Verdict(verdict)) => Some(Ended::Verdict(verdict)),
                Ok(Answer::Split(jobs)) => {
                    for (number, job) in (0..).zip(jobs) {
                        let place = place.iter().copied().chain([number]).collect();
                        board.waiting.insert(place, job);
                    }
                    None
                }
                Err(trouble) => Some(Ended::Trouble(trouble)),
            };
            board.done += 1;
            board.accounts.insert(place.clone(), account);
            if let Some(ended) = ended
                && board.decided.as_ref().is_none_or(|(last, _)| place < *last)
            {
                board.decided = Some((place, ended));
            }
            self.changed.notify_all();
        }
    }
}
