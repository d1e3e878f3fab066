//! The jobs of a machine whose answers count by their *places* and not by the order in which jobs were made.
//!
//! Such a machine asks a board what there is to do. Numbers of jobs then depend on who was faster, so they mean nothing, and
//! all that is kept is kept by places. Invariant: a job is out until its first answer comes.

use super::machine::Accepted;
use std::collections::{BTreeMap, BTreeSet};

/// See the module head.
#[derive(Debug)]
pub struct PlacedJobs<P, T> {
    /// Jobs that are not answered, and those of them that nobody works on.
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
    /// Makes a job of a task, and tells its number.
    pub fn add(&mut self, place: P, task: T) -> u64 {
        self.out.insert(self.made, (place, task));
        self.made += 1;
        self.made - 1
    }

    /// A job that nobody works on, for somebody to work on.
    pub fn again(&mut self) -> Option<(u64, T)> {
        let number = self.idle.pop_first()?;
        self.out.get(&number).map(|(_, task)| (number, task.clone()))
    }

    /// A job that is not answered.
    pub fn get(&self, number: u64) -> Option<&(P, T)> {
        self.out.get(&number)
    }

    /// A job is answered: its place, if this is the first answer.
    pub fn answered(&mut self, number: u64) -> Result<P, Accepted> {
        self.idle.remove(&number);
        let known = if number < self.made { Accepted::Duplicate } else { Accepted::Unknown };
        self.out.remove(&number).map(|(place, _)| place).ok_or(known)
    }

    /// Nobody works on a job any more. False if it is answered or there is no such job.
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
