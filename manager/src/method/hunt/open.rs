//! The tables of a hunt: shared if they are complete, otherwise lent to the searches that fill them.
//!
//! Invariant: the run has its tables again after the hunt, however it ended.

use crate::hunt::run::Searched;
use crate::method::{Run, Tables};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::model::network::{LeafIx, Local, Network, TableSource};
use std::sync::Arc;

/// Stands in for a source that is lent.
struct Away;

impl TableSource for Away {
    /// Only threads that were given up may still call this, and those are to stop.
    fn expand(&mut self, _: &mut Network, _: LeafIx, _: Local) -> Result<()> {
        Err(Error::Limit(Limit::Interrupted))
    }

    fn describe(&self, _: LeafIx, _: Local) -> String {
        String::new()
    }
}

/// Runs a hunt on the processes of a run.
pub(super) fn with_searched<R>(run: &mut Run, hunt: impl FnOnce(&Run, &Searched) -> Result<R>) -> Result<R> {
    if run.tables().complete {
        let searched = Searched::Complete(run.prepared());
        return hunt(run, &searched);
    }
    let Tables { network, source, complete } = run.take_tables()?;
    let lazy = Lazy::in_order(Arc::unwrap_or_clone(network), source, run.properties.clone())?;
    let searched = Searched::Open(Arc::new(lazy));
    let result = hunt(run, &searched);
    if let Searched::Open(lazy) = searched {
        let (network, source) = match Arc::try_unwrap(lazy) {
            Ok(lazy) => lazy.into_parts(),
            // Threads that were given up still look at it.
            Err(lazy) => {
                lazy.with_parts(|net, source| (net.clone(), std::mem::replace(source, Box::new(Away))))
            }
        };
        run.put_tables(Tables { network: Arc::new(network), source, complete });
    }
    result
}

/// Calls `look` with the present tables; searches that need them wait.
pub(super) fn with_tables<R>(run: &Run, searched: &Searched, look: impl FnOnce(&Tables) -> R) -> R {
    let Searched::Open(lazy) = searched else { return look(run.tables()) };
    lazy.with_parts(|net, source| {
        let network = Arc::new(std::mem::take(net));
        let tables = Tables { network, source: std::mem::replace(source, Box::new(Away)), complete: false };
        let result = look(&tables);
        (*net, *source) = (Arc::unwrap_or_clone(tables.network), tables.source);
        result
    })
}
