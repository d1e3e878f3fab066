//! The jobs of a machine whose answers count by their *places* and not by the order in which jobs were made.
//!
//! Such a machine gets its tasks from a board. The numbers of jobs then depend on which worker was faster, so they have no
//! meaning, and all records are kept by places. Invariant: a job is out until its first answer comes.

use super::machine::Accepted;
use std::collections::{BTreeMap, BTreeSet};

/// See the module head.
#[derive(Debug)]
pub struct PlacedJobs<P, T> {
    /// Jobs that are not answered, and the numbers of those that no worker has.
    out: BTreeMap<u64, (P, T)>,
    idle: BTreeSet<u64>,
    made: u64,
}

impl<P, T> Default for PlacedJobs<P, T> {
    fn default() -> Self {
        PlacedJobs { out: BTreeMap::new(), idle: BTreeSet::new(), made: 0 }
    }
}

impl<P, T: Clone> PlacedJobs<P, T> {
    /// Makes a job of a task, and returns its number.
    pub fn add(&mut self, place: P, task: T) -> u64 {
        self.out.insert(self.made, (place, task));
        self.made += 1;
        self.made - 1
    }

    /// A job that no worker has, to be handed out again.
    pub fn again(&mut self) -> Option<(u64, T)> {
        let number = self.idle.pop_first()?;
        self.out.get(&number).map(|(_, task)| (number, task.clone()))
    }

    /// A job that is not answered.
    pub fn get(&self, number: u64) -> Option<&(P, T)> {
        self.out.get(&number)
    }

    /// Records that a job is answered; returns its place if this is the first answer.
    pub fn answered(&mut self, number: u64) -> Result<P, Accepted> {
        self.idle.remove(&number);
        let known = if number < self.made { Accepted::Duplicate } else { Accepted::Unknown };
        self.out.remove(&number).map(|(place, _)| place).ok_or(known)
    }

    /// Records that the worker of a job lost it. False if the job is answered or there is no such job.
    pub fn lost(&mut self, number: u64) -> bool {
        let waiting = self.out.contains_key(&number);
        if waiting {
            self.idle.insert(number);
        }
        waiting
    }

    /// Jobs made and jobs answered.
    pub fn made_and_done(&self) -> (u64, u64) {
        (self.made, self.made - self.out.len() as u64)
    }
}
