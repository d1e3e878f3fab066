//! Shorter counterexamples of a depth-first search.

use crate::method::Run;
use gridlock_lts::base::error::Result;
use gridlock_lts::engine::search::Report;
use gridlock_worker::hunt::shorten;
use gridlock_worker::life::Life;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// States that are expanded to shorten a counterexample of a depth-first search.
const SHORTENING: u64 = 2_000_000;

/// A depth-first search does not find shortest counterexamples; this shortens them as a hunt does.
pub(super) fn shorter(run: &Run, report: Report) -> Result<Report> {
    let effort = shorten::Effort { states: SHORTENING, memory: run.room() };
    let (life, done) = (Life::default(), AtomicBool::new(false));
    let verdict = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while !done.load(Relaxed) {
                if run.host.stopped().is_some() {
                    life.cancel();
                }
                std::thread::park_timeout(Duration::from_millis(20));
            }
        });
        let (network, properties) = (&run.tables().network, &run.properties);
        let verdict = shorten::shortened(network, properties, report.verdict, effort, &life);
        done.store(true, Relaxed);
        watching.thread().unpark();
        verdict
    });
    Ok(Report { verdict: verdict?, ..report })
}
