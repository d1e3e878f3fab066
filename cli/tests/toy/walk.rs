//! A toy: one random walk. Everything that a new search needs is in this file.

use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::replay;
use gridlock_lts::model::network::Step;
use gridlock_lts::model::trace::Trace;
use gridlock_lts::property::Property;
use gridlock_manager::method::{Bound, Conclusion, Figures, Json, Listed, Method, Outcome, Row, Run, Spent};
use std::time::Instant;

/// A random walk from the initial state.
#[derive(clap::Args, Debug)]
pub struct Walk {
    /// Give up after this many steps
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = "Walk (with --search walk)")]
    steps: usize,
}

impl Listed for Walk {
    const NAME: &'static str = "walk";
    const CHOSEN_BY: &'static str = "--search walk";
    const ABOUT: &'static str = "One random walk, for tests";

    fn decides(property: &Property) -> bool {
        matches!(property, Property::DeadlockFree { .. })
    }
}

impl Method for Walk {
    fn needs_complete_tables(&self) -> Option<&'static str> {
        Some("a walk")
    }

    fn threads(&self, _: Option<u16>) -> usize {
        1
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        run.host.begin("walking", "steps");
        let (start, net, mut rng) = (Instant::now(), &run.tables().network, Rng::new(1));
        let (mut trace, mut next): (Trace, Vec<Step>) = (Trace::default(), Vec::new());
        let conclusion = loop {
            run.go_on()?;
            net.successors(&trace.end(net), &mut next);
            if next.is_empty() {
                break Conclusion::Violated(0);
            }
            if trace.len() == self.steps {
                let message = format!("nothing was met within {} steps (--steps)", self.steps);
                break Conclusion::Unknown(Bound::new("steps", message));
            }
            trace.steps.push(next.swap_remove(rng.below(next.len())));
            next.clear();
        };
        let (time, figures) = (start.elapsed(), Box::new(Walked(trace.len())));
        let trace = match conclusion {
            Conclusion::Violated(property) => {
                let violated = replay::violation(net, &run.properties[property], &trace);
                violated
                    .map_err(|mismatch| Error::internal(format_args!("it does not replay: {mismatch}")))?;
                Some(trace)
            }
            _ => None,
        };
        Ok(Outcome { conclusion, trace, time, figures })
    }
}

struct Walked(usize);

impl Figures for Walked {
    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let mut rows = vec![("steps walked", self.0.to_string())];
        rows.extend(spent.seconds());
        rows
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        vec![("walked", Box::new(self.0))]
    }
}
