//! The course of the work of a swarm, for its page: the work against the different states in it, and the jobs that repeated
//! the work of others.
//!
//! Invariant: it takes the same memory however many jobs there are.

use super::status::Different;
use std::cmp::Reverse;

/// The most points; beyond, every second one is dropped.
const POINTS: usize = 200;
/// The most jobs kept of those that repeated work.
const KEPT: usize = 20;
/// Moves of a prefix that are named at either end; a prefix of more than twice as many is shortened.
const ENDS: usize = 6;

/// The work after some jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Jobs whose answers were processed.
    pub jobs: u64,
    /// States that they have expanded.
    pub states: u64,
    /// Different ones among them.
    pub different: Different,
}

/// A job that expanded states which jobs before it had expanded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Again {
    /// Its number.
    pub number: u64,
    /// The worker, as it named itself.
    pub worker: u32,
    /// States that it expanded.
    pub states: u64,
    /// How many of them were not new, an estimate.
    pub repeated: u64,
    /// The moves of its prefix.
    pub prefix: Vec<String>,
    /// Moves that were left out in the middle.
    pub left_out: usize,
}

/// See the module head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Course {
    points: Vec<Point>,
    /// The last one, whether it is kept or not.
    last: Option<Point>,
    /// A point is kept after each time this many jobs.
    every: u64,
    /// The jobs that repeated most come first.
    again: Vec<Again>,
}

impl Default for Course {
    fn default() -> Self {
        Course { points: Vec::new(), last: None, every: 1, again: Vec::new() }
    }
}

impl Course {
    /// Adds a point.
    pub(super) fn add(&mut self, point: Point) {
        self.last = Some(point);
        if !point.jobs.is_multiple_of(self.every) {
            return;
        }
        self.points.push(point);
        if self.points.len() > POINTS {
            self.every *= 2;
            let every = self.every;
            self.points.retain(|point| point.jobs.is_multiple_of(every));
        }
    }

    /// Adds a job that repeated something. `label` names a move of its prefix.
    pub(super) fn repeat(&mut self, job: Again, path: &[u32], label: impl Fn(u32) -> String) {
        let key = |job: &Again| (Reverse(job.repeated), job.number);
        let place = self.again.partition_point(|other| key(other) < key(&job));
        if job.repeated == 0 || place >= KEPT {
            return;
        }
        let left_out = path.len().saturating_sub(2 * ENDS);
        let (first, last) =
            if left_out == 0 { (path, &[][..]) } else { (&path[..ENDS], &path[path.len() - ENDS..]) };
        let prefix = first.iter().chain(last).map(|&edge| label(edge)).collect();
        self.again.insert(place, Again { prefix, left_out, ..job });
        self.again.truncate(KEPT);
    }

    /// The work after some jobs each, the last one among them.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        let last = self.last.as_ref().filter(|last| self.points.last() != Some(last));
        self.points.iter().chain(last)
    }

    /// The jobs that repeated most.
    pub fn again(&self) -> &[Again] {
        &self.again
    }
}

impl Again {
    /// Where in the prefix moves were left out.
    pub fn gap(&self) -> usize {
        ENDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_size_is_bounded_and_the_last_point_is_there() {
        let mut course = Course::default();
        for jobs in 1..=100_001 {
            let different = Different { states: jobs * 3, estimated: true };
            course.add(Point { jobs, states: jobs * 7, different });
            assert!(course.points.len() <= POINTS);
        }
        let jobs: Vec<u64> = course.points().map(|point| point.jobs).collect();
        assert!(jobs.len() > POINTS / 2 - 2 && jobs.is_sorted(), "{jobs:?}");
        assert_eq!(jobs.last(), Some(&100_001));
        let steps: Vec<u64> = jobs.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(steps[..steps.len() - 1].iter().all(|step| *step == steps[0]), "evenly: {steps:?}");
    }

    #[test]
    fn the_jobs_that_repeated_most_are_kept() {
        let mut course = Course::default();
        for number in 0..1_000 {
            let repeated = number * 7_919 % 1_000;
            let job = Again { number, worker: 0, states: 1_000, repeated, prefix: Vec::new(), left_out: 0 };
            let path: Vec<u32> = (0..number as u32 % 30).collect();
            course.repeat(job, &path, |edge| edge.to_string());
        }
        let repeated: Vec<u64> = course.again().iter().map(|job| job.repeated).collect();
        assert_eq!(repeated, (980..1_000).rev().collect::<Vec<_>>());
        for job in course.again() {
            let length = job.number as usize % 30;
            assert_eq!(job.prefix.len() + job.left_out, length);
            assert!(job.prefix.len() <= 2 * ENDS, "{job:?}");
            assert_eq!(job.prefix.last(), length.checked_sub(1).map(|last| last.to_string()).as_ref());
        }
    }
}
