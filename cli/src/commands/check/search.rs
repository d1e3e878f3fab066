//! Runs the search of the library under the eyes of the [`Watch`], and says in its words why it ended.
//!
//! Invariant: a [`Conclusion`] other than `Unknown` comes from a search that went over complete tables.

use super::Arguments;
use super::properties::Properties;
use crate::input::Stoppable;
use crate::memory;
use crate::outcome::Failure;
use crate::quantities::{bytes, count, counted, duration};
use crate::shown_trace::ShownTrace;
use crate::watch::{self, Watch};
use gridlock_lang::system::System;
use gridlock_lts::explore::{self, explore};
use gridlock_lts::memory::default_limit;
use gridlock_lts::network::{self, Network, Step};
use gridlock_lts::replay::{Growing, labels};
use gridlock_lts::search::{self, Options, Reason, Stats, Verdict};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The answer to what was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Conclusion {
    /// All properties hold.
    Holds,
    /// The property of that index does not.
    Violated(usize),
    /// The specification has no meaning in a reachable state; this is why.
    Faulty(String),
    /// No answer.
    Unknown(Bound),
}

/// What kept a search from an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// `--max-states`.
    States(u64),
    /// `--max-depth`.
    Depth(u64),
    /// `--max-memory`, or what there is.
    Memory(u64),
    /// `--time-limit`.
    Time(Duration),
    /// Ctrl-C or SIGTERM.
    Interrupted,
}

impl Bound {
    /// A stable name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Bound::States(_) => "max-states",
            Bound::Depth(_) => "max-depth",
            Bound::Memory(_) => "max-memory",
            Bound::Time(_) => "time-limit",
            Bound::Interrupted => "interrupted",
        }
    }

    /// For people.
    pub fn message(self) -> String {
        match self {
            Bound::States(n) => {
                format!("there are more than {} states, which is the limit (--max-states)", count(n))
            }
            Bound::Depth(n) => {
                format!("there are states beyond a depth of {}, which is the limit (--max-depth)", count(n))
            }
            Bound::Memory(n) => {
                format!("the memory limit of {} is reached (--max-memory sets another)", bytes(n))
            }
            Bound::Time(t) => format!("the time limit of {} is reached (--time-limit)", duration(t)),
            Bound::Interrupted => "interrupted".to_owned(),
        }
    }

    /// Why the watch stopped the run, if it did.
    pub fn of(watch: &Watch) -> Option<Bound> {
        watch.stopped().map(|reason| match reason {
            watch::Reason::Interrupted => Bound::Interrupted,
            watch::Reason::Time(limit) => Bound::Time(limit),
            watch::Reason::Memory(limit) => Bound::Memory(limit),
        })
    }
}

/// What came out.
pub struct Outcome {
    /// The answer.
    pub conclusion: Conclusion,
    /// How much was searched.
    pub stats: Stats,
    /// The run that shows a violation or a fault.
    pub trace: Option<ShownTrace>,
}

impl Outcome {
    /// No answer.
    pub fn unknown(bound: Bound, stats: Stats) -> Self {
        Outcome { conclusion: Conclusion::Unknown(bound), stats, trace: None }
    }
}

/// Searches a network whose tables are complete.
pub fn search(
    system: &System,
    properties: &Properties,
    arguments: &Arguments,
    watch: &Watch,
) -> Result<Outcome, Failure> {
    watch.begin("searching", "states");
    let cancel = AtomicBool::new(false);
    // Called by the search about every 100 ms.
    let progress = |stats: &Stats| {
        watch.count(stats.states as usize, stats.transitions as usize);
        watch.detail(format!(
            "{} waiting, {:.1} bytes/state",
            count(stats.frontier),
            per_state(stats.memory, stats)
        ));
        if watch.stopped().is_some() {
            cancel.store(true, Relaxed);
        }
    };
    let limit = arguments.limits.watched().memory.unwrap_or_else(default_limit);
    let options = Options {
        order: arguments.search.order(),
        workers: arguments.workers(),
        max_states: arguments.limits.max_states,
        max_depth: arguments.max_depth,
        // What specification and tables take is not for the search any more.
        max_memory: Some(limit.saturating_sub(memory::resident().unwrap_or(0))),
        // The watch counts from the start of the program.
        time_limit: None,
        cancel: Some(&cancel),
        progress: Some(&progress),
    };
    let report = search::check(&system.network, &properties.checked, &options).map_err(Failure::Input)?;
    let show = |trace| Some(ShownTrace::new(&system.network, &system.builder, &trace));
    let (conclusion, trace) = match report.verdict {
        Verdict::Holds => (Conclusion::Holds, None),
        Verdict::Violated { property, trace } => (Conclusion::Violated(property), show(trace)),
        Verdict::Faulty { message, trace } => (Conclusion::Faulty(message), show(trace)),
        Verdict::Unknown(reason) => {
            let bound = match reason {
                Reason::States(n) => Bound::States(n),
                Reason::Depth(n) => Bound::Depth(n),
                Reason::Memory(_) => Bound::Memory(limit),
                Reason::Time(limit) => Bound::Time(limit),
                Reason::Cancelled => Bound::of(watch).unwrap_or(Bound::Interrupted),
            };
            (Conclusion::Unknown(bound), None)
        }
    };
    Ok(Outcome { conclusion, stats: report.stats, trace })
}

/// Bytes for each state.
pub fn per_state(memory: u64, stats: &Stats) -> f64 {
    memory as f64 / stats.states.max(1) as f64
}

/// Completes tables that are filled on demand, by going everywhere once. If that comes to no end, what it came to is
/// the outcome of the whole run.
pub fn complete(
    system: &mut System,
    arguments: &Arguments,
    watch: &Watch,
) -> Result<Option<Outcome>, Failure> {
    watch.begin("completing the tables on demand", "states");
    let mut progress = |p: explore::Progress| {
        watch.count(p.states, p.transitions);
        watch.stopped().is_none()
    };
    let options = explore::Options { max_states: arguments.limits.states(), progress: &mut progress };
    let System { network, closed, builder } = system;
    let stop = match explore(network, Some(&mut Stoppable { builder: &mut *builder, watch }), options) {
        Ok(_) => {
            network.drop_moves_to_unexpanded();
            *closed = true;
            return Ok(None);
        }
        Err(stop) => stop,
    };
    let seen = |p: explore::Progress| Stats {
        states: p.states as u64,
        transitions: p.transitions as u64,
        ..Stats::default()
    };
    let interrupted = Bound::of(watch);
    match (stop, interrupted) {
        (explore::Stop::Limit(p), _) => {
            let limit = arguments.limits.max_states.unwrap_or(u64::from(u32::MAX));
            Ok(Some(Outcome::unknown(Bound::States(limit), seen(p))))
        }
        (explore::Stop::Interrupted(p), bound) => {
            Ok(Some(Outcome::unknown(bound.unwrap_or(Bound::Interrupted), seen(p))))
        }
        (explore::Stop::Source(_), Some(bound)) => Ok(Some(Outcome::unknown(bound, Stats::default()))),
        (explore::Stop::Source(message), None) => Err(Failure::Input(message)),
        (explore::Stop::Fault { message, trace }, _) => {
            let mut way = labels(Growing { net: &mut *network, source: &mut *builder }, &trace)
                .map_err(|e| Failure::Input(format!("internal: the way to a fault does not replay, {e}")))?;
            let mut possible = Vec::new();
            network.successors(&way.end(network), &mut possible);
            way.steps.extend(possible.into_iter().find(|step| is_fault(network, step, &message)));
            let trace = Some(ShownTrace::new(network, builder, &way));
            Ok(Some(Outcome { conclusion: Conclusion::Faulty(message), stats: Stats::default(), trace }))
        }
    }
}

/// Whether a step is the fault with this message.
fn is_fault(net: &Network, step: &Step, message: &str) -> bool {
    match net.vectors[step.vector.0 as usize].outcome {
        network::Outcome::Fault(fault) => net.faults[fault as usize] == message,
        network::Outcome::Step(_) => false,
    }
}

/// The number of steps in words, for what is shown after them.
pub fn after(steps: usize) -> String {
    match steps {
        0 => "in the initial state".to_owned(),
        n => format!("after {}", counted(n, "step")),
    }
}
