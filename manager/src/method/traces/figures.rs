//! The figures of a swarm: the columns by which informed swarms are compared, for people and as JSON.

use super::choose::Choice;
use super::compare::Compared;
use super::numbers::{SwarmNumbers, shown};
use super::options::{Iss, Traces};
use super::page::{self, Record};
use super::plan::{Plan, orders_name};
use crate::method::quantities::{bytes, count};
use crate::method::then::Handed;
use crate::method::{Conclusion, Figures, Json, Row, Spent, Traffic};
use crate::traces::swarm::{Pace, Stuck, SwarmStatus};
use gridlock_lts::base::error::{Error, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What a swarm did, as `docs/json.md` documents it.
#[derive(Serialize)]
pub struct Swarmed {
    /// The processes of the subsystem, and the size of its LTS.
    pub subsystem: Vec<String>,
    subsystem_states: usize,
    subsystem_edges: usize,
    cyclic: bool,
    unroll: Option<u32>,
    /// How many traces it has, in digits.
    pub traces: String,
    /// Whether each class of orders has an ID, or each trace; and how many traces there are, in digits.
    orders: &'static str,
    traces_in_all_orders: String,
    /// The trace IDs that were to be done: from, and up to without.
    ids: [String; 2],
    jobs: String,
    job_memory_bytes: u64,
    job_states: Option<u64>,
    /// Threads of each job.
    job_workers: usize,
    #[serde(skip)]
    borders_wanted: bool,
    directed: bool,
    strategy: &'static str,
    seed: u64,
    iss: Iss,
    window: Option<u64>,
    simulate_workers: Option<u64>,
    #[serde(flatten)]
    pub numbers: SwarmNumbers,
    /// The size of the state space, if it is known, and the work as a multiple of it.
    state_space: Option<u64>,
    multiple: Option<f64>,
    compared: Option<Compared>,
    /// The network traffic, if the swarm had ranks.
    pub traffic: Option<Traffic>,
    /// The job that found the violation.
    pub found_by: Option<u64>,
    /// Jobs that were too large.
    too_large: Vec<JobTooLarge>,
    checkpoint: Option<String>,
    /// Answers that were in the checkpoint when the run began.
    resumed: usize,
    auto: Option<Choice>,
    /// The rest that was too much work, and the search that went on.
    #[serde(flatten)]
    handed: Handed,
    identity: BTreeMap<String, String>,
    /// Job by job, for the page.
    #[serde(skip)]
    pub record: Record,
}

/// A job that was over its budget and could not be divided.
#[derive(Serialize, Clone, Debug)]
struct JobTooLarge {
    job: u64,
    states: u64,
    memory_bytes: u64,
    /// Where on its trace it stopped, and how long that is.
    position: usize,
    length: usize,
    ids: String,
}

impl Swarmed {
    /// The figures of a run that has come to an end.
    pub fn new(plan: &Plan, traces: &Traces, status: &SwarmStatus, resumed: usize) -> Self {
        let (window, simulate_workers) = match plan.config.pace {
            Pace::Window(n) => (Some(n), None),
            Pace::Batch(n) => (None, Some(n)),
        };
        let mut figures = Swarmed {
            subsystem: plan.subsystem.clone(),
            subsystem_states: plan.size.0,
            subsystem_edges: plan.size.1,
            cyclic: plan.cyclic,
            unroll: traces.unroll,
            traces: plan.traces.to_string(),
            orders: orders_name(&plan.config),
            traces_in_all_orders: plan.guide.traces().to_string(),
            ids: [plan.ids.start.to_string(), plan.ids.end.to_string()],
            jobs: plan.config.granularity.to_string(),
            job_memory_bytes: plan.config.limits.memory,
            job_states: traces.job_states,
            job_workers: traces.job_workers(),
            borders_wanted: plan.config.borders,
            directed: traces.directed(),
            strategy: plan.config.strategy.name(),
            seed: plan.config.seed,
            iss: traces.iss(),
            window,
            simulate_workers,
            numbers: SwarmNumbers::new(status),
            state_space: None,
            multiple: None,
            compared: None,
            traffic: None,
            found_by: None,
            too_large: Vec::new(),
            checkpoint: traces.informed.checkpoint.shown(),
            resumed,
            auto: plan.choice.clone(),
            handed: Handed::default(),
            identity: plan.identity.iter().cloned().collect(),
            record: Record { ids: plan.ids.clone(), ..Record::default() },
        };
        figures.set_state_space(traces.states);
        figures
    }

    /// The number of traces, and of those that differ in more than an order.
    fn shown_traces(&self) -> String {
        match self.orders {
            "one" => {
                format!(
                    "{} classes, of {} in all orders",
                    shown(&self.traces),
                    shown(&self.traces_in_all_orders)
                )
            }
            _ => shown(&self.traces),
        }
    }

    fn set_state_space(&mut self, states: Option<u64>) {
        self.state_space = states;
        self.multiple = states.map(|n| self.numbers.total_states as f64 / n.max(1) as f64);
    }

    /// The same, with the search that went on.
    pub(super) fn handed(self, handed: Handed) -> Self {
        Swarmed { handed, ..self }
    }

    /// Takes the jobs that were too large.
    pub fn set_too_large(&mut self, stuck: &[Stuck]) {
        let job = |s: &Stuck| JobTooLarge {
            job: s.number,
            states: s.effort.states,
            memory_bytes: s.effort.memory,
            position: s.position,
            length: s.length,
            ids: s.ids.to_string(),
        };
        self.too_large = stuck.iter().map(job).collect();
    }

    /// Takes the exhaustive search into account; an internal error if the two contradict each other.
    pub fn compare(&mut self, compared: Compared, conclusion: &Conclusion) -> Result<()> {
        if !compared.agrees(conclusion) {
            return Err(Error::internal(format_args!(
                "the swarm says {} and the exhaustive search {}",
                conclusion.name(),
                compared.verdict
            )));
        }
        if compared.verdict == "holds" {
            self.set_state_space(Some(compared.states));
        }
        self.compared = Some(compared);
        Ok(())
    }
}

impl Figures for Swarmed {
    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let n = &self.numbers;
        let part = self.state_space.map_or(String::new(), |states| {
            format!(", {:.4} of the state space", n.largest_states as f64 / states.max(1) as f64)
        });
        let mut rows = vec![
            ("work factor", n.work_factor(self.state_space)),
            ("traces", self.shown_traces()),
            ("searches", count(n.searches)),
            ("largest search", format!("{} states{part}", count(n.largest_states))),
            ("longest search", format!("{:.3} s", n.longest_seconds)),
            ("states in total", count(n.total_states)),
        ];
        rows.extend(self.auto.as_ref().and_then(Choice::predicted).map(|predicted| ("predicted", predicted)));
        if let Some(states) = self.state_space {
            rows.push(("state space", format!("{} states", count(states))));
        }
        if n.handed_on > 0 {
            rows.push(("handed on", format!("{} states", count(n.handed_on))));
        }
        if let Some(t) = &self.traffic {
            // Answers that were in the checkpoint came over no network.
            rows.push(("network", t.shown(n.jobs_done.saturating_sub(self.resumed as u64))));
        }
        if let Some(compared) = &self.compared {
            rows.push(("exhaustive", format!("{:.3} s, {}", compared.seconds, compared.verdict)));
        }
        rows.push(("IDs explored", shown(&n.ids_explored)));
        rows.push(("IDs pruned", shown(&n.ids_pruned)));
        let some = |digits: &str| digits != "0";
        for (name, digits) in [
            ("IDs irrelevant", &n.ids_irrelevant),
            ("IDs in work", &n.ids_in_work),
            ("IDs remaining", &n.ids_remaining),
            ("IDs given up", &n.ids_given_up),
        ] {
            if some(digits) {
                rows.push((name, shown(digits)));
            }
        }
        if n.finer_guides > 0 {
            rows.push(("finer guides", count(n.finer_guides)));
        }
        if let Some(job) = self.found_by {
            rows.push(("found by job", count(job)));
        }
        match &self.handed.inner {
            Some(inner) => rows.extend(inner.rows(spent)),
            None => {
                rows.extend(spent.seconds());
                rows.push(spent.workers());
            }
        }
        rows
    }

    fn settings(&self) -> Vec<Row> {
        let (states, edges) = (count(self.subsystem_states as u64), count(self.subsystem_edges as u64));
        let mut jobs = format!("{}, at most {}", self.jobs, bytes(self.job_memory_bytes));
        if let Some(states) = self.job_states {
            jobs += &format!(" and {} states", count(states));
        }
        if self.job_workers > 1 {
            jobs += &format!(", {} threads each", count(self.job_workers as u64));
        }
        let mut strategy = self.strategy.to_owned();
        if strategy == "random" {
            strategy += &format!(", seed {}", self.seed);
        }
        let mut rows = vec![
            ("subsystem", format!("{}: {states} states, {edges} edges", self.subsystem.join(", "))),
            ("jobs", jobs),
        ];
        if self.borders_wanted && self.numbers.borders {
            rows.push(("borders", "handed on".to_owned()));
        } else {
            if self.borders_wanted {
                rows.push(("borders", "not handed on any more: they were too large for a job".to_owned()));
            }
            rows.push(("strategy", strategy));
        }
        if self.orders == "one" {
            let orders = match self.numbers.any_order {
                true => "one search for each class",
                false => "all: classes were too large for a job",
            };
            rows.push(("orders", orders.to_owned()));
        }
        if let Some(unroll) = self.unroll.filter(|_| self.cyclic) {
            rows.insert(1, ("unroll", unroll.to_string()));
        }
        if self.ids != ["0", self.traces.as_str()] {
            rows.push(("trace IDs", format!("{}..{}", self.ids[0], self.ids[1])));
        }
        if let Some(workers) = self.simulate_workers {
            rows.push(("simulated", format!("{} workers in step", count(workers))));
        }
        if let Some(dir) = &self.checkpoint {
            rows.push(("checkpoint", format!("{dir}, {} answers resumed", count(self.resumed as u64))));
        }
        rows.extend(self.handed.left.as_ref().map(|left| ("left", left.clone())));
        rows.extend(self.handed.then.map(|then| ("then", then.to_owned())));
        rows.extend(self.handed.inner.iter().flat_map(|inner| inner.settings()));
        rows
    }

    fn headline(&self) -> Option<String> {
        self.handed.inner.as_ref()?.headline()
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        // The searches overlap: nobody knows how many different states they saw.
        let mut fields = self.handed.inner.as_ref().map_or(Vec::new(), |inner| inner.fields());
        fields.push(("swarm", Box::new(self)));
        fields
    }

    fn write_tables(&self, strong: &str, off: &str, out: &mut dyn Write) -> io::Result<()> {
        self.handed.inner.as_ref().map_or(Ok(()), |inner| inner.write_tables(strong, off, out))
    }

    fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        page::write(&self.record, out)?;
        self.handed.inner.as_ref().map_or(Ok(()), |inner| inner.write_page(out))
    }
}
