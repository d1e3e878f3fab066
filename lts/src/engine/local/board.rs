//! The tasks of a search: which there are, which comes next, and which results count.
//!
//! A task has a *place*: the number of its obligation, and for each split that of the member. The first place at which
//! something does not hold decides, and everything before it is waited for; what comes behind it is given up. So the
//! answer, and all that is reported about the places up to it, is the same for any number of workers and any order of
//! answers.

use super::Account;
use super::task::{Answered, Task, TaskEnd};
use std::collections::{BTreeMap, BTreeSet};

/// Where a task stands.
pub type TaskPath = Vec<u32>;

/// The tasks of all obligations and the results so far.
#[derive(Debug, Default)]
pub struct Board {
    waiting: BTreeMap<TaskPath, Task>,
    running: BTreeSet<TaskPath>,
    accounts: BTreeMap<TaskPath, Account>,
    /// The first place at which something does not hold, and what.
    decided: Option<(TaskPath, TaskEnd)>,
    done: u64,
}

impl Board {
    /// A board of this number of obligations, none of which is decided.
    pub fn new(obligations: u32) -> Self {
        let waiting = (0..obligations).map(|number| (vec![number], Task::whole(number))).collect();
        Board { waiting, ..Board::default() }
    }

    /// The next task for a worker; `None` if no task waits.
    pub fn take(&mut self) -> Option<(TaskPath, Task)> {
        let (place, task) = self.waiting.pop_first()?;
        self.running.insert(place.clone());
        Some((place, task))
    }

    /// Takes a task back that its worker has given up.
    pub fn give_back(&mut self, place: TaskPath, task: Task) {
        if self.running.remove(&place) {
            self.waiting.insert(place, task);
        }
    }

    /// Whether all that counts is decided.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Whether the result of a place no longer counts.
    pub fn is_in_vain(&self, place: &[u32]) -> bool {
        self.decided.as_ref().is_some_and(|(last, _)| last[..] < *place)
    }

    /// How many tasks are decided.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Takes the result of a task.
    pub fn put(&mut self, place: TaskPath, answered: Answered) {
        if !self.running.remove(&place) {
            return;
        }
        let Answered { account, end } = answered;
        self.done += 1;
        self.accounts.insert(place.clone(), account);
        match end {
            TaskEnd::Holds => {}
            TaskEnd::Split(tasks) => {
                for (number, task) in (0..).zip(tasks) {
                    self.waiting.insert(place.iter().copied().chain([number]).collect(), task);
                }
            }
            end => {
                if self.decided.as_ref().is_none_or(|(last, _)| place < *last) {
                    self.decided = Some((place, end));
                }
            }
        }
        if let Some((last, _)) = &self.decided {
            self.waiting.retain(|place, _| place < last);
            self.running.retain(|place| place < last);
        }
    }

    /// The accounts up to the first obligation that does not hold, and the number and end of that one.
    pub fn end(self) -> (Vec<Account>, Option<(u32, TaskEnd)>) {
        let last = self.decided.as_ref().map(|(place, _)| place);
        let counts = |place: &TaskPath| last.is_none_or(|last| place <= last);
        let accounts = self.accounts.into_iter().filter(|(place, _)| counts(place));
        let accounts = accounts.map(|(_, account)| account).collect();
        (accounts, self.decided.map(|(place, end)| (place.first().copied().unwrap_or(0), end)))
    }
}
