//! The figures of a hunt, for people and programs. `docs/json.md` documents every field.

use super::options::Hunting;
use super::plan::Plan;
use crate::hunt::{HuntStatus, LeafCoverage, MemberStatus, Part, Shared, Traces};
use crate::method::quantities::{big, count, counted};
use crate::method::{Bound, Figures, Json, Row, Shown, Spent, Traffic};
use gridlock_lts::model::network::{self, Network};
use gridlock_worker::hunt::job::Traps;
use gridlock_worker::sketch;
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// With more leaves than this, the text shows only their sum.
const SHOWN_LEAVES: usize = 12;

/// The figures of a hunt, as results and checkpoints have them.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct HuntNumbers {
    pub jobs_made: u64,
    pub jobs_done: u64,
    pub jobs_lost: u64,
    /// Jobs whose answer was processed; the figures below count these.
    pub searches: u64,
    /// Different violations.
    pub found: u64,
    pub states: u64,
    pub transitions: u64,
    /// States expanded to shorten findings, not counted above.
    pub shortening_states: u64,
    pub largest_memory_bytes: u64,
    /// The time of all searches, added up.
    pub total_seconds: f64,
    pub coverage: Coverage,
    /// The counts of walks that may end in a trap, if there were any.
    pub traps: Option<Traps>,
    /// The figures about states that searches of `prefix` share, if they share them.
    pub shared: Option<SharedNumbers>,
    pub members: Vec<Member>,
}

/// The coverage.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct Coverage {
    /// Whether every reachable state was seen. This is no verdict.
    pub everything: bool,
    /// No run of this number of steps, or of fewer, ends with a violation.
    pub no_violation_within: Option<u32>,
    pub leaves: Vec<Leaf>,
    /// An estimate, and its standard error as a part of it.
    pub distinct_states: f64,
    pub distinct_states_error: f64,
    /// Traces of the subsystem, if there is one.
    pub traces: Option<TraceCoverage>,
    /// Bit arrays, if there were any.
    pub bits: Option<Bits>,
}

/// The figures about expanded states that searches share.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct SharedNumbers {
    pub expanded: u64,
    pub different: u64,
    /// Whether that number is exact; otherwise there are more.
    pub all_kept: bool,
    /// The share of repeated expansions: all but one of each different state within a bound.
    pub repeated: f64,
    pub told: u64,
    pub skipped: u64,
    /// The states within the greatest bound that was searched to its end.
    pub within: Option<Within>,
}

/// States within a number of steps.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct Within {
    pub steps: u32,
    pub states: u64,
    pub exact: bool,
}

impl SharedNumbers {
    fn new(shared: &Shared) -> Self {
        let Shared { expanded, different, all_kept, told, skipped, within } = *shared;
        let repeated = expanded.saturating_sub(different) as f64 / (expanded as f64).max(1.0);
        let within = within.map(|(steps, states, exact)| Within { steps, states, exact });
        SharedNumbers { expanded, different, all_kept, repeated, told, skipped, within }
    }

    fn rows(&self) -> Vec<Row> {
        let SharedNumbers { repeated, skipped, all_kept, .. } = *self;
        let most = if all_kept { "" } else { "at most " };
        let mut rows = vec![(
            "shared",
            format!(
                "{} steps to known states left out, {most}{:.1} % repeated",
                count(skipped),
                100.0 * repeated
            ),
        )];
        if let Some(Within { steps, states, exact }) = self.within {
            let (least, steps) = (if exact { "" } else { "at least " }, counted(steps as usize, "step"));
            rows.push(("within", format!("{least}{} states within {steps}", count(states))));
        }
        rows
    }
}

/// The coverage of a process.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct Leaf {
    pub name: String,
    pub local_states: u64,
    pub local_states_total: u64,
    pub local_transitions: u64,
    pub local_transitions_total: u64,
}

/// The traces of the subsystem that were done; big numbers are text.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct TraceCoverage {
    /// The member that has done most of them.
    pub member: String,
    pub all: String,
    pub explored: String,
    pub pruned: String,
}

/// Bit arrays of bitstate searches.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct Bits {
    pub jobs: u64,
    /// The fill of the fullest array, and the states that the search with it is expected to have left out.
    pub fill: f64,
    pub expected_omissions: f64,
    pub taken_for_visited: u64,
}

/// The figures of a member of the portfolio.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct Member {
    pub name: String,
    pub jobs: u64,
    pub states: u64,
    pub seconds: f64,
    pub new_local_states: u64,
    pub new_local_transitions: u64,
    pub new_states: f64,
    pub findings: u64,
    /// The worth of new coverage for each state in its last jobs, and its part of the work at the end.
    #[serde(rename = "yield")]
    pub yields: f64,
    pub weight: f64,
    pub job_states: u64,
}

impl HuntNumbers {
    /// The figures of a status; the network if its tables are complete.
    pub fn new(net: Option<&Network>, status: &HuntStatus) -> Self {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let leaf = |(leaf, seen): (&network::Leaf, &LeafCoverage)| Leaf {
            name: leaf.name.clone(),
            local_states: seen.locals.reached,
            local_states_total: seen.locals.total,
            local_transitions: seen.moves.reached,
            local_transitions_total: seen.moves.total,
        };
        let bits = status.bits;
        let coverage = Coverage {
            everything: status.everything,
            no_violation_within: status.within,
            leaves: net.map_or(&[][..], |net| &net.leaves).iter().zip(&status.leaves).map(leaf).collect(),
            distinct_states: status.distinct.round(),
            distinct_states_error: sketch::ERROR,
            traces: traces(&status.members),
            bits: (bits.jobs > 0).then_some(Bits {
                jobs: bits.jobs,
                fill: bits.fill,
                expected_omissions: bits.omissions,
                taken_for_visited: bits.taken_for_visited,
            }),
        };
        let member = |m: &MemberStatus| Member {
            name: m.kind.to_string(),
            jobs: m.jobs,
            states: m.states,
            seconds: seconds(m.nanoseconds),
            new_local_states: m.locals,
            new_local_transitions: m.moves,
            new_states: m.distinct.round(),
            findings: m.findings,
            yields: m.yields,
            weight: m.weight,
            job_states: m.size,
        };
        HuntNumbers {
            jobs_made: status.made,
            jobs_done: status.done,
            jobs_lost: status.lost,
            searches: status.processed,
            found: status.findings,
            states: status.total.states,
            transitions: status.total.transitions,
            shortening_states: status.shortening,
            largest_memory_bytes: status.total.memory,
            total_seconds: seconds(status.total.nanoseconds),
            coverage,
            traps: Some(status.traps).filter(|traps| traps.walks > 0),
            shared: status.shared.as_ref().map(SharedNumbers::new),
            members: status.members.iter().map(member).collect(),
        }
    }

    /// For people who look at a checkpoint.
    pub fn status_rows(&self) -> Vec<Row> {
        let in_work = self.jobs_made.saturating_sub(self.jobs_done);
        let mut rows = vec![
            ("findings", count(self.found)),
            ("jobs done", format!("{}, {} in work", count(self.jobs_done), count(in_work))),
        ];
        rows.extend(self.rows());
        rows
    }

    /// Work and coverage, for people.
    fn rows(&self) -> Vec<Row> {
        let Coverage { leaves, distinct_states, distinct_states_error, .. } = &self.coverage;
        let sum = |reached: fn(&Leaf) -> u64, total: fn(&Leaf) -> u64| {
            part(leaves.iter().map(reached).sum(), leaves.iter().map(total).sum())
        };
        let mut rows = vec![
            ("searches", count(self.searches)),
            ("states", count(self.states)),
            ("transitions", count(self.transitions)),
        ];
        if self.shortening_states > 0 {
            rows.push(("to shorten", format!("{} states", count(self.shortening_states))));
        }
        let error = 100.0 * distinct_states_error;
        rows.push((
            "different",
            format!("{} states, give or take {error:.1} %", count(*distinct_states as u64)),
        ));
        if let Some(steps) = self.coverage.no_violation_within {
            rows.push(("proved", format!("{} without a violation", counted(steps as usize, "step"))));
        }
        rows.extend(self.shared.iter().flat_map(SharedNumbers::rows));
        if let Some(Traps { walks, proved, discarded, undecided }) = self.traps {
            let [walks, proved, discarded, undecided] = [walks, proved, discarded, undecided].map(count);
            rows.push((
                "traps",
                format!("{walks} walks: {proved} into a trap, {discarded} into none, {undecided} left open by the budget"),
            ));
        }
        if !leaves.is_empty() {
            rows.push(("local states", sum(|l| l.local_states, |l| l.local_states_total)));
            rows.push(("local steps", sum(|l| l.local_transitions, |l| l.local_transitions_total)));
        }
        if let Some(t) = &self.coverage.traces {
            let number = |digits: &str| digits.parse::<BigUint>().map_or(digits.to_owned(), |n| big(&n));
            let (explored, pruned, all) = (number(&t.explored), number(&t.pruned), number(&t.all));
            rows.push(("traces", format!("{explored} explored, {pruned} impossible, of {all}")));
        }
        if let Some(b) = &self.coverage.bits {
            let (fill, omitted) = (100.0 * b.fill, b.expected_omissions);
            rows.push((
                "bit array",
                format!("{fill:.2} % full at most, {omitted:.3} states omitted by that"),
            ));
        }
        rows
    }

    /// Leaf by leaf, if they are few: name, local states, local transitions.
    fn leaf_rows(&self) -> Vec<(&str, String, String)> {
        let leaves = &self.coverage.leaves;
        if leaves.len() > SHOWN_LEAVES {
            return Vec::new();
        }
        let row = |l: &Leaf| {
            (part(l.local_states, l.local_states_total), part(l.local_transitions, l.local_transitions_total))
        };
        leaves.iter().map(|l| (l.name.as_str(), row(l).0, row(l).1)).collect()
    }
}

/// The figures of a hunt.
#[derive(Default)]
pub struct Hunted {
    /// Why it ended.
    reason: Option<&'static str>,
    seed: Option<u64>,
    budget_seconds: f64,
    subsystem: Option<Vec<String>>,
    unroll: Option<u32>,
    checkpoint: Option<String>,
    resumed: usize,
    identity: BTreeMap<String, String>,
    traffic: Option<Traffic>,
    /// `None` if it ended before the first search.
    numbers: Option<HuntNumbers>,
    headline: Option<String>,
    /// What the first finding shows, if it is a run that violates a formula.
    shown: Option<Shown>,
}

impl Hunted {
    /// The figures of a hunt that has not begun.
    pub fn new(hunting: &Hunting) -> Self {
        Hunted {
            budget_seconds: hunting.budget.as_secs_f64(),
            checkpoint: hunting.checkpoint.shown(),
            ..Hunted::default()
        }
    }

    /// Takes the figures of a hunt that has begun.
    pub fn fill(&mut self, plan: &Plan, numbers: HuntNumbers, resumed: usize, traffic: Option<Traffic>) {
        let guide = plan.guide.as_ref();
        self.numbers = Some(numbers);
        self.seed = Some(plan.config.seed);
        self.subsystem = guide.map(|guided| guided.subsystem.clone());
        self.unroll = guide.and_then(|guided| guided.unroll);
        self.resumed = resumed;
        self.identity = plan.identity.iter().cloned().collect();
        self.traffic = traffic;
    }

    /// Takes the number of violations and the reason of the end.
    pub fn ended(&mut self, findings: u64, ending: &Bound, shown: Option<Shown>) {
        self.shown = shown;
        self.reason = Some(ending.name);
        if findings > 1 {
            let violations = counted(findings as usize, "violation");
            self.headline = Some(format!("{violations} in different places; {}", ending.message));
        }
    }
}

impl Figures for Hunted {
    fn begun(&self) -> bool {
        self.numbers.is_some()
    }

    fn headline(&self) -> Option<String> {
        self.headline.clone()
    }

    fn repeats_from(&self) -> Option<usize> {
        self.shown.as_ref()?.repeats_from
    }

    fn note(&self) -> Option<Cow<'static, str>> {
        let coverage = &self.numbers.as_ref()?.coverage;
        if coverage.everything {
            let note = "every reachable state was seen (a hunt gives no verdict on that: `check` does)";
            return Some(Cow::Borrowed(note));
        }
        let steps = counted(coverage.no_violation_within? as usize, "step");
        Some(Cow::Owned(format!(
            "no violation within {steps}, since every state that near was expanded; beyond, nothing is proved"
        )))
    }

    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let Some(numbers) = &self.numbers else { return Vec::new() };
        let mut rows = numbers.rows();
        rows.extend(spent.seconds());
        rows.push(spent.workers());
        rows.extend(self.seed.map(|seed| ("seed", seed.to_string())));
        rows
    }

    fn settings(&self) -> Vec<Row> {
        let Some(names) = &self.subsystem else { return Vec::new() };
        let times = |k: u32| format!(", closing cycles {}", counted(k as usize, "time"));
        vec![("subsystem", format!("{}{}", names.join(", "), self.unroll.map_or(String::new(), times)))]
    }

    fn write_tables(&self, strong: &str, off: &str, out: &mut dyn Write) -> io::Result<()> {
        let Some(numbers) = &self.numbers else { return Ok(()) };
        let leaves = numbers.leaf_rows();
        if !leaves.is_empty() {
            writeln!(out, "\n{strong}seen of each process{off}: local states, local transitions")?;
            let width = leaves.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
            let next = leaves.iter().map(|row| row.1.len()).max().unwrap_or(0);
            for (name, states, steps) in &leaves {
                writeln!(out, "  {name:<width$}  {states:<next$}  {steps}")?;
            }
        }
        let heads = ["searches", "states", "new states", "locals", "steps", "share"];
        let [a, b, c, d, e, f] = heads;
        writeln!(out, "\n{strong}{:<20}{a:>8}{b:>14}{c:>14}{d:>8}{e:>8}{f:>7}{off}", "portfolio")?;
        for m in &numbers.members {
            writeln!(
                out,
                "  {:<18}{:>8}{:>14}{:>14}{:>8}{:>8}{:>6.0}%",
                m.name,
                count(m.jobs),
                count(m.states),
                count(m.new_states as u64),
                count(m.new_local_states),
                count(m.new_local_transitions),
                100.0 * m.weight
            )?;
        }
        Ok(())
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        let mut fields: Vec<(&'static str, Json<'_>)> = vec![("command", Box::new("hunt"))];
        if let Some(reason) = self.reason {
            fields.push(("reason", Box::new(reason)));
        }
        fields.push(("seed", Box::new(self.seed)));
        fields.push(("budget_seconds", Box::new(self.budget_seconds)));
        fields.push(("subsystem", Box::new(&self.subsystem)));
        fields.push(("unroll", Box::new(self.unroll)));
        if let Some(n) = &self.numbers {
            fields.push(("jobs_made", Box::new(n.jobs_made)));
            fields.push(("jobs_done", Box::new(n.jobs_done)));
            fields.push(("jobs_lost", Box::new(n.jobs_lost)));
            fields.push(("searches", Box::new(n.searches)));
            fields.push(("found", Box::new(n.found)));
            fields.push(("states", Box::new(n.states)));
            fields.push(("transitions", Box::new(n.transitions)));
            fields.push(("shortening_states", Box::new(n.shortening_states)));
            fields.push(("largest_memory_bytes", Box::new(n.largest_memory_bytes)));
            fields.push(("total_seconds", Box::new(n.total_seconds)));
            fields.push(("coverage", Box::new(&n.coverage)));
            fields.push(("traps", Box::new(n.traps)));
            fields.push(("shared", Box::new(&n.shared)));
            fields.push(("members", Box::new(&n.members)));
        }
        fields.push(("checkpoint", Box::new(&self.checkpoint)));
        fields.push(("resumed", Box::new(self.resumed)));
        fields.push(("identity", Box::new(&self.identity)));
        fields.push(("traffic", Box::new(self.traffic)));
        fields
    }
}

/// `12 of 34 (35.3 %)`.
fn part(reached: u64, total: u64) -> String {
    let share = if total == 0 { 100.0 } else { 100.0 * reached as f64 / total as f64 };
    format!("{} of {} ({share:.1} %)", count(reached), count(total))
}

/// The figures of the member that has done most of the traces.
fn traces(members: &[MemberStatus]) -> Option<TraceCoverage> {
    let done = members.iter().filter_map(|member| Some((member.kind, member.traces.as_ref()?)));
    // The first of equal ones.
    let most = done.reduce(|best, next| {
        let sum = |t: &Traces| &t.explored + &t.pruned;
        if sum(next.1) > sum(best.1) { next } else { best }
    });
    most.map(|(kind, traces)| TraceCoverage {
        member: kind.to_string(),
        all: traces.all.to_string(),
        explored: traces.explored.to_string(),
        pruned: traces.pruned.to_string(),
    })
}

/// The progress of a hunt, for the line of progress.
pub fn progress(status: &HuntStatus) -> String {
    let part = |parts: &mut dyn Iterator<Item = Part>| {
        let (reached, total) = parts.fold((0, 0), |(r, t), part| (r + part.reached, t + part.total));
        100.0 * reached as f64 / (total as f64).max(1.0)
    };
    format!(
        "{} jobs done, {} found, about {} different states, {:.0} % of local states, {:.0} % of local steps",
        count(status.done),
        count(status.findings),
        count(status.distinct as u64),
        part(&mut status.leaves.iter().map(|leaf| leaf.locals)),
        part(&mut status.leaves.iter().map(|leaf| leaf.moves)),
    )
}
