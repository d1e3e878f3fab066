//! The services of the road for a method while it runs: progress on standard error, notes, and findings that are saved at once.

use super::findings::{Finding, describe, save};
use super::properties::AskedProperty;
use super::{Task, lock};
use crate::input::Specification;
use crate::terminal::tell;
use crate::watch::{Phase, Watch};
use gridlock_lts::base::error::Limit;
use gridlock_lts::base::halt::Halt;
use gridlock_manager::method::{self, Host, Tables};
use std::sync::{Arc, Mutex};

/// See the module head.
pub struct RoadHost<'a> {
    pub task: &'a Task<'a>,
    pub specification: &'a Specification,
    pub watch: &'a Watch,
    quiet: bool,
    asked: Mutex<Vec<AskedProperty>>,
}

impl<'a> RoadHost<'a> {
    /// A host; if it is quiet it prints only warnings.
    pub fn new(task: &'a Task, specification: &'a Specification, watch: &'a Watch, quiet: bool) -> Self {
        RoadHost { task, specification, watch, quiet, asked: Mutex::default() }
    }

    /// Sets the names of the properties.
    pub fn know(&self, asked: Vec<AskedProperty>) {
        *lock(&self.asked) = asked;
    }

    /// The findings so far.
    pub fn findings(&self) -> Vec<Finding> {
        lock(&self.task.findings).clone()
    }
}

impl Host for RoadHost<'_> {
    fn stopped(&self) -> Option<Limit> {
        self.watch.limit()
    }

    fn halt(&self) -> Arc<Halt> {
        self.watch.halt()
    }

    fn begin(&self, what: &'static str, unit: &'static str) {
        self.watch.begin(what, unit);
    }

    fn progress(&self, counted: u64, transitions: u64, detail: String) {
        self.watch.count(counted as usize, transitions as usize);
        self.watch.detail(detail);
    }

    fn note(&self, text: &str) {
        if !self.quiet {
            self.watch.rest();
            tell(text);
        }
    }

    fn found(&self, tables: &Tables, finding: method::Finding) {
        let Some((mut finding, origin)) = describe(&lock(&self.asked), tables, finding) else { return };
        let Some(origin) = origin else {
            lock(&self.task.findings).push(finding);
            return;
        };
        let before = self.watch.phase();
        self.watch.enter(Phase::Writing);
        let saved = save(self.task, self.specification, &mut finding, origin);
        self.watch.enter(before);
        if !self.quiet {
            tell(format_args!("found {}: {} ({})", finding.number, finding.title(), finding.how()));
        }
        if let Err(e) = saved {
            tell(format_args!("warning: finding {} is not saved: {e}", finding.number));
        }
        lock(&self.task.findings).push(finding);
    }
}
