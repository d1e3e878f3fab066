//! The part about the search in the file beside a counterexample: the job that found it, and the subsystem that guided it.
//!
//! Invariant: equal findings of equal hunts give equal files, so nothing in it depends on time or on workers.

use super::plan::{Guided, Plan};
use crate::hunt::{Found, Kind};
use crate::method::JSON_VERSION;
use gridlock_lts::base::error::{Error, Result};
use gridlock_worker::hunt::job::HuntJob;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A file longer than this was not written by a hunt.
const LONGEST: u64 = 1 << 28;

/// See the module head.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Record {
    /// The member of the portfolio.
    member: String,
    /// The seed of the hunt.
    pub seed: u64,
    /// The leaves of the subsystem that guided the search, if one did.
    subsystem: Option<Vec<String>>,
    unroll: Option<u32>,
    /// The search.
    pub job: HuntJob,
}

#[derive(Deserialize)]
struct JobFile {
    version: u32,
    #[serde(flatten)]
    record: Record,
}

impl Record {
    /// The record of the search that made a finding.
    pub fn new(plan: &Plan, found: &Found) -> Self {
        let guided: Option<&Guided> = plan.guide.as_ref().filter(|_| found.member.is_guided());
        Record {
            member: found.member.to_string(),
            seed: plan.config.seed,
            subsystem: guided.map(|guided| guided.subsystem.clone()),
            unroll: guided.and_then(|guided| guided.unroll),
            job: found.job.clone(),
        }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let cannot = |why: &dyn std::fmt::Display| Error::disk(format_args!("cannot read {name}: {why}"));
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|e| cannot(&e))?;
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|e| cannot(&e))?;
        if bytes.len() as u64 > LONGEST {
            return Err(Error::input(format_args!("{name} is longer than {} MiB", LONGEST >> 20)));
        }
        let file: JobFile = serde_json::from_slice(&bytes).map_err(|e| {
            Error::input(format_args!(
                "{name}: a hunt writes no such file: {e}; name the .json beside a trace"
            ))
        })?;
        if file.version != JSON_VERSION {
            return Err(Error::input(format_args!("{name} was written by another version of gridlock")));
        }
        Ok(file.record)
    }

    /// The member.
    pub fn member(&self) -> Result<Kind> {
        self.member.parse().map_err(Error::Input)
    }

    /// The subsystem, if the search is guided.
    pub fn subsystem(&self) -> Option<(Vec<String>, Option<u32>)> {
        self.subsystem.clone().map(|names| (names, self.unroll))
    }
}
