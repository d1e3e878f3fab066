//! Which tasks there are, who comes next, and what counts.
//!
//! A task has a *place*: the number of its obligation, and for each split that of the member. The first place at which
//! something does not hold decides, and everything before it is waited for; what comes behind it is given up. So the answer,
//! and all that is told about the places up to it, is the same for any number of workers and any order of answers.

use super::Account;
use super::task::{Answered, Task, TaskEnd};
use std::collections::{BTreeMap, BTreeSet};

/// Where a task stands.
pub type TaskPath = Vec<u32>;

/// See the module head.
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
    /// So many obligations, none of which is decided.
    pub fn new(obligations: u32) -> Self {
        let waiting = (0..obligations).map(|number| (vec![number], Task::whole(number))).collect();
        Board { waiting, ..Board::default() }
    }

    /// The next task, for somebody to work on; none: nothing waits.
    pub fn take(&mut self) -> Option<(TaskPath, Task)> {
        let (place, task) = self.waiting.pop_first()?;
        self.running.insert(place.clone());
        Some((place, task))
    }

    /// Nobody works on a task any more.
    pub fn give_back(&mut self, place: TaskPath, task: Task) {
        if self.running.remove(&place) {
            self.waiting.insert(place, task);
        }
    }

    /// Whether all that counts is decided.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Whether what comes of a place counts no more.
    pub fn is_in_vain(&self, place: &[u32]) -> bool {
        self.decided.as_ref().is_some_and(|(last, _)| last[..] < *place)
    }

    /// How many tasks are decided.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Takes what came of a task.
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

    /// What was done, up to the first that does not hold, and that with the number of its obligation.
    pub fn end(self) -> (Vec<Account>, Option<(u32, TaskEnd)>) {
        let last = self.decided.as_ref().map(|(place, _)| place);
        let counts = |place: &TaskPath| last.is_none_or(|last| place <= last);
        let accounts = self.accounts.into_iter().filter(|(place, _)| counts(place));
        let accounts = accounts.map(|(_, account)| account).collect();
        (accounts, self.decided.map(|(place, end)| (place.first().copied().unwrap_or(0), end)))
    }
}
