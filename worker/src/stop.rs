//! Why the search of a worker ends early.

use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::base::memory::Exhausted;

/// Why a search ends early. The first two are ordinary ends of a job; only the third is an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// The job may not use more, or has found enough.
    OverBudget,
    Interrupted,
    Failed(Error),
}

impl From<Exhausted> for Stop {
    fn from(_: Exhausted) -> Self {
        Stop::OverBudget
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error {
            Error::Limit(Limit::Interrupted) => Stop::Interrupted,
            Error::Limit(_) => Stop::OverBudget,
            Error::Input(_) | Error::Disk(_) | Error::Internal(_) => Stop::Failed(error),
        }
    }
}
