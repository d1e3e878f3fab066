//! The file beside a counterexample: what was found, the job that found it, and how to find it again.
//!
//! Invariant: equal findings of equal hunts give equal files, so nothing in it depends on time or on workers.

use super::plan::Guided;
use crate::input::read_text;
use crate::outcome::Failure;
use crate::shown_trace::JSON_VERSION;
use gridlock_manager::hunt::Kind;
use gridlock_worker::hunt::job::HuntJob;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A longer file was not written by a hunt.
const LONGEST: u64 = 1 << 28;

/// See the module head.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct JobFile {
    pub version: u32,
    pub gridlock: String,
    /// The file, as named on the command line, and the fingerprint of its text.
    pub specification: String,
    pub fingerprint: String,
    /// What was found, in one line.
    pub title: String,
    /// The trace, a file in the same directory.
    pub trace: String,
    /// Steps of it, and when it was found.
    pub steps: u64,
    pub found_steps: u64,
    /// A command that does the same search again.
    pub command: String,
    /// A command that does the same hunt again up to that search.
    pub from_seed: String,
    /// The member of the portfolio.
    pub member: String,
    /// The seed of the hunt.
    pub seed: u64,
    /// The leaves of the subsystem that guided the search, if one did.
    pub subsystem: Option<Vec<String>>,
    pub unroll: Option<u32>,
    /// The search.
    pub job: HuntJob,
}

impl JobFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let (name, text) = read_text(path, LONGEST)?;
        let file: JobFile = serde_json::from_str(&text).map_err(|e| {
            Failure::input(format_args!(
                "{name}: a hunt writes no such file: {e}; name the .json beside a trace"
            ))
        })?;
        if file.version != JSON_VERSION {
            return Err(Failure::input(format_args!("{name} was written by another version of gridlock")));
        }
        Ok(file)
    }

    /// The member.
    pub fn member(&self) -> Result<Kind, Failure> {
        self.member.parse().map_err(Failure::Input)
    }

    /// The subsystem, if the search is guided.
    pub fn subsystem(&self) -> Option<(Vec<String>, Option<u32>)> {
        self.subsystem.clone().map(|names| (names, self.unroll))
    }

    /// Says which subsystem guides the search.
    pub fn guided_by(&mut self, guided: Option<&Guided>) {
        self.subsystem = guided.map(|guided| guided.subsystem.clone());
        self.unroll = guided.and_then(|guided| guided.unroll);
    }
}
