//! Flags that several methods share.

use super::checkpoint;
use super::quantities::parse_duration;
use crate::grid::driver::Opened;
use crate::grid::journal::{Identity, Journal};
use crate::grid::transport::launch::launched;
use gridlock_lts::base::error::{Error, Result};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Where answers are kept.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct Checkpoint {
    /// Save every answer (breadth first: the states of each level) in this directory, so that the run can be resumed
    #[arg(long, value_name = "DIR", help_heading = "Checkpoint")]
    pub checkpoint: Option<PathBuf>,

    /// Continue from the checkpoint, if there is one
    #[arg(long, requires = "checkpoint", help_heading = "Checkpoint")]
    pub resume: bool,
}

impl Checkpoint {
    /// Refuses a directory that cannot hold a checkpoint.
    pub fn check(&self) -> Result<()> {
        if self.checkpoint.as_ref().is_some_and(|dir| dir.exists() && !dir.is_dir()) {
            return Err(Error::input("--checkpoint needs a directory, and there is a file of that name"));
        }
        Ok(())
    }

    /// The identity of the run in the checkpoint, if there is one of that method to be resumed.
    pub fn recorded(&self, method: &str) -> Option<BTreeMap<String, String>> {
        let dir = self.checkpoint.as_ref().filter(|_| self.resume)?;
        let identity = checkpoint::identity(dir).ok()?;
        Some(identity).filter(|identity| identity.get(checkpoint::METHOD).is_some_and(|name| name == method))
    }

    /// A number that the run in the checkpoint has in its identity.
    pub fn recorded_number(&self, method: &str, name: &str) -> Option<u64> {
        self.recorded(method)?.get(name)?.parse().ok()
    }

    /// Opens the journal of a run, if one is wanted, and forgets the result of an earlier one.
    pub fn open<T: DeserializeOwned>(&self, identity: &Identity) -> Result<Option<Opened<T>>> {
        let Some(dir) = &self.checkpoint else { return Ok(None) };
        let opened = Journal::open(dir, identity, self.resume).map_err(checkpoint::cannot_use)?;
        checkpoint::forget_result(dir)?;
        Ok(Some(opened))
    }

    /// The directory for people.
    pub fn shown(&self) -> Option<String> {
        self.checkpoint.as_ref().map(|dir| dir.display().to_string())
    }
}

/// Jobs ask many times a second whether to go on, so this is long, even on a busy machine.
const STUCK_AFTER: Duration = Duration::from_secs(300);

/// How long to wait for threads.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
pub struct Patience {
    /// Give up a thread that gives no sign of life for this time; its job goes to another thread. Breadth first and by
    /// slices on MPI ranks: give up a rank, which ends the run. 0: never [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    stuck_after: Option<Duration>,
}

impl Patience {
    /// Whether the user has set it.
    pub fn is_given(self) -> bool {
        self.stuck_after.is_some()
    }

    /// How long a thread may give no sign of life; `None` if there is no limit.
    pub fn stuck_after(self) -> Option<Duration> {
        Some(self.stuck_after.unwrap_or(STUCK_AFTER)).filter(|time| !time.is_zero())
    }
}

/// The number of threads of this process: one for each core, or as many as the user asked for. With several processes there
/// is usually one for each core.
pub(super) fn threads(wanted: Option<u16>, on_ranks: bool) -> usize {
    let distributed = launched().is_some_and(|launch| launch.is_distributed());
    match wanted {
        Some(threads) => usize::from(threads),
        None if distributed && on_ranks => 1,
        None => std::thread::available_parallelism().map_or(1, |n| n.get()),
    }
}
