//! Chooses a subsystem by short searches with each candidate.
//!
//! Candidates are all processes, and all pairs of them if they are few, whose traces have an end (or are bounded by
//! `--unroll`). For each, some traces spread evenly over its IDs are searched with a small budget. The sizes of these
//! searches predict the largest job and the work of one search for each trace; what `prefix` saves is not predicted.
//! Candidates with the most traces come first, and the choice ends once all these searches have visited a tenth of the states
//! that the best candidate predicts: choosing must not cost more than it saves. If jobs hand on their borders each state is
//! expanded once with any subsystem, so searches are shorter. Invariant: the choice depends on the network, the properties
//! and the limits only.

use crate::method::Host;
use crate::method::quantities::{big, count};
use crate::method::subsystem::{self, GUIDE_LIMIT};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::guide::{Guide, Subsystem};
use gridlock_lts::model::network::{LeafIx, Network};
use gridlock_worker::guided::{Setting, Worker};
use gridlock_worker::job::{Job, JobEnd, JobLimits, Order, Then};
use gridlock_worker::life::Life;
use num_bigint::BigUint;
use serde::Serialize;
use std::cmp::Reverse;
use std::sync::Arc;

/// Pairs are candidates if there are not more processes than this.
const FEW: usize = 8;
/// A candidate with more states is left out.
const LARGEST: usize = 100_000;
const _: () = assert!(LARGEST <= GUIDE_LIMIT);
/// At most this many candidates are sampled: those with the most traces.
const SAMPLED: usize = 64;
/// Traces that are searched for each candidate.
const SAMPLES: u64 = 5;
/// The searches may visit this part, as a divisor, of the states that the best candidate predicts.
const TENTH: u64 = 10;
/// The limits of each of these searches.
const SAMPLE: JobLimits = JobLimits { states: 20_000, memory: 32 << 20 };
/// States that all of them may visit: with many candidates each search is shorter.
const ALL: u64 = 1 << 20;
/// The same if each state is expanded once with any subsystem.
const ALL_ONCE: u64 = 1 << 16;
/// A multiple of every possible number of traces that are searched.
const SHARES: u64 = 60;

/// The figures of a candidate.
#[derive(Serialize, Clone, Debug)]
pub struct Candidate {
    /// Its processes.
    pub subsystem: Vec<String>,
    #[serde(skip)]
    leaves: Vec<LeafIx>,
    /// States of its LTS, or of its unrolling.
    pub states: usize,
    /// How many traces it has.
    pub traces: String,
    #[serde(skip)]
    number: BigUint,
    /// Traces that were searched.
    pub sampled: u64,
    /// How many of these searches stayed within their budget.
    pub within_budget: u64,
    /// The most states in one of them, and all of them added up.
    pub largest_states: u64,
    #[serde(skip)]
    total: u64,
    /// The states that one search for each trace would visit in all, if all were like these.
    pub predicted_total: String,
    #[serde(skip)]
    predicted: BigUint,
    /// Whether one of these searches found a violation.
    pub found: bool,
}

/// How the subsystem was chosen.
#[derive(Serialize, Clone, Debug)]
pub struct Choice {
    /// Why.
    pub reason: String,
    /// Processes and pairs that were left out since they are cyclic or too large.
    pub left_out: usize,
    /// Processes and pairs that were not tried, because the best so far predicts little work.
    pub untried: usize,
    /// States that the searches along traces of candidates visited.
    pub visited: u64,
    /// Best first: the first one is the choice.
    pub candidates: Vec<Candidate>,
}

/// How closely candidates are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// As described in the module head.
    Close,
    /// The same with shorter searches, for jobs that expand each state once with any subsystem.
    Once,
    /// Single processes with few states, for searches that can do without a good subsystem.
    Short,
}

/// Chooses.
pub fn choose(
    prepared: &Prepared,
    unroll: Option<u32>,
    limits: JobLimits,
    look: Look,
    host: &dyn Host,
) -> Result<(Vec<LeafIx>, Choice)> {
    host.begin("choosing a subsystem", "states");
    let net = prepared.net();
    let (mut guides, mut left_out) = (Vec::new(), 0);
    let (few, largest, all) = match look {
        Look::Close => (FEW, LARGEST, ALL),
        Look::Once => (FEW, LARGEST, ALL_ONCE),
        Look::Short => (0, LARGEST / 10, ALL),
    };
    for leaves in groups(net.leaves.len(), few) {
        go_on(host)?;
        match guide(net, &leaves, unroll, largest) {
            // A subsystem that never moves guides nobody.
            Some(guide) if guide.edge_count() > 0 => guides.push(guide),
            _ => left_out += 1,
        }
    }
    guides.sort_by(|a, b| b.traces().cmp(a.traces()));
    left_out += guides.len().saturating_sub(SAMPLED);
    guides.truncate(SAMPLED);
    let share = all / (SAMPLES * guides.len().max(1) as u64);
    let limits = JobLimits {
        states: SAMPLE.states.min(limits.states).min(share),
        memory: SAMPLE.memory.min(limits.memory),
    };
    let sampling = Sampling { prepared, guides, limits, host };
    let sampled = sampling.guides.len();
    let mut candidates = prepared.visit(sampling)??;
    let untried = sampled - candidates.len();
    candidates.sort_by(|a, b| rank(a).cmp(&rank(b)));
    let Some(best) = candidates.first() else {
        return Err(Error::input(match unroll {
            None => {
                "--subsystem auto: no process has traces that end; --unroll K bounds cycles, try --unroll 1"
            }
            Some(_) => "--subsystem auto: no process is small enough; name one, or use a smaller --unroll",
        }));
    };
    let leaves = best.leaves.clone();
    let reason = reason(best);
    let visited = candidates.iter().map(|candidate| candidate.total).sum();
    Ok((leaves, Choice { reason, left_out, untried, visited, candidates }))
}

/// All leaves one by one, and in pairs if they are few.
fn groups(leaves: usize, few: usize) -> Vec<Vec<LeafIx>> {
    let leaf = |k: usize| LeafIx(k as u32);
    let mut groups: Vec<Vec<LeafIx>> = (0..leaves).map(|a| vec![leaf(a)]).collect();
    if leaves <= few {
        groups.extend((0..leaves).flat_map(|a| (a + 1..leaves).map(move |b| vec![leaf(a), leaf(b)])));
    }
    groups
}

fn guide(net: &Network, leaves: &[LeafIx], unroll: Option<u32>, largest: usize) -> Option<Guide> {
    let subsystem = Subsystem::new(net, leaves, largest).ok()?;
    match unroll {
        None => subsystem.guide(net).ok(),
        Some(bound) => subsystem.unrolled(bound, largest).ok(),
    }
}

/// The rank of a candidate; the least is the best. First come candidates whose searches find a violation; then those whose
/// searches stay within their budget, by least work; then the others, by the smallest part of searches over the budget, and
/// by how far the traces divide the work.
fn rank(c: &Candidate) -> impl Ord {
    let over = (c.sampled - c.within_budget) * SHARES / c.sampled.max(1);
    let least = if over == 0 { c.predicted.clone() } else { BigUint::ZERO };
    let most = if over == 0 { BigUint::ZERO } else { c.number.clone() };
    (!c.found, over, least, Reverse(most), c.largest_states, c.leaves.len(), c.leaves.clone())
}

fn reason(best: &Candidate) -> String {
    if best.found {
        return "a search along one of its traces found a violation at once".to_owned();
    }
    if best.within_budget == best.sampled {
        return format!(
            "sampled searches are small ({} with at most {} states), and one for each trace means the least work",
            best.sampled,
            count(best.largest_states)
        );
    }
    format!(
        "{} of {} sampled searches are small, no smaller part than with others, and it has many traces to divide the rest by",
        best.within_budget, best.sampled
    )
}

fn go_on(host: &dyn Host) -> Result<()> {
    host.stopped().map_or(Ok(()), |limit| Err(Error::Limit(limit)))
}

struct Sampling<'a> {
    prepared: &'a Prepared,
    guides: Vec<Guide>,
    limits: JobLimits,
    host: &'a dyn Host,
}

impl Visitor for Sampling<'_> {
    type Out = Result<Vec<Candidate>>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        let Sampling { prepared, guides, limits, host } = self;
        let net = prepared.net();
        let mut seen = 0;
        let mut sample = |guide: Guide| -> Result<Candidate> {
            let guide = Arc::new(guide);
            let mut candidate = Candidate::new(net, &guide);
            let mut worker =
                Worker::new(Setting { system: &*system, net, guide: guide.clone(), relevance: None });
            let samples = u64::try_from(guide.traces()).map_or(SAMPLES, |traces| traces.min(SAMPLES));
            for k in 0..samples {
                go_on(host)?;
                let id = guide.traces() * k / samples;
                let path = guide.trace(&id).unwrap_or_default().into_iter().map(|edge| edge.0).collect();
                let job = Job {
                    number: k,
                    refinements: Vec::new(),
                    path,
                    then: Then::Stop,
                    any_order: false,
                    order: Order::BreadthFirst,
                    limits,
                    handed: None,
                };
                let feedback = worker.run(&job, &Life::default());
                seen += feedback.effort.states;
                host.progress(seen, 0, String::new());
                candidate.see(feedback.effort.states, &feedback.end);
            }
            candidate.predict();
            Ok(candidate)
        };
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut spent = 0;
        for guide in guides {
            let best = candidates.iter().min_by(|a, b| rank(a).cmp(&rank(b)));
            // A violation found, or hardly any work left to save.
            if best.is_some_and(|best| best.found || best.predicted < BigUint::from(TENTH * spent)) {
                break;
            }
            let candidate = sample(guide)?;
            spent += candidate.total;
            candidates.push(candidate);
        }
        Ok(candidates)
    }
}

impl Candidate {
    fn new(net: &Network, guide: &Guide) -> Self {
        Candidate {
            subsystem: subsystem::names(net, guide.leaves()),
            leaves: guide.leaves().to_vec(),
            states: guide.states(),
            traces: guide.traces().to_string(),
            number: guide.traces().clone(),
            sampled: 0,
            within_budget: 0,
            largest_states: 0,
            total: 0,
            predicted_total: String::new(),
            predicted: BigUint::ZERO,
            found: false,
        }
    }

    fn see(&mut self, states: u64, end: &JobEnd) {
        self.sampled += 1;
        self.within_budget += u64::from(matches!(end, JobEnd::Complete | JobEnd::Found(_)));
        self.found |= matches!(end, JobEnd::Found(_));
        self.largest_states = self.largest_states.max(states);
        self.total += states;
    }

    fn predict(&mut self) {
        self.predicted = &self.number * self.total / self.sampled.max(1);
        self.predicted_total = self.predicted.to_string();
    }
}

impl Choice {
    /// The prediction for the choice, in a line, to be compared with the figures of the run.
    pub fn predicted(&self) -> Option<String> {
        let best = self.candidates.first()?;
        let over = if best.within_budget < best.sampled { "more than " } else { "" };
        Some(format!(
            "along single traces {} searches of up to {over}{} states, {over}{} in all; {} visited to choose",
            big(&best.number),
            count(best.largest_states),
            big(&best.predicted),
            count(self.visited)
        ))
    }

    /// Prints the choice and its reason.
    pub fn tell(&self, host: &dyn Host) {
        const SHOWN: usize = 8;
        let Some(best) = self.candidates.first() else { return };
        host.note(&format!("subsystem: {}, because {}", best.subsystem.join(", "), self.reason));
        let mut rows = vec![["subsystem", "traces", "small", "largest", "in all"].map(str::to_owned)];
        rows.extend(self.candidates.iter().take(SHOWN).map(|c| {
            let small = format!("{}/{}", c.within_budget, c.sampled);
            let over = if c.within_budget < c.sampled { ">" } else { "" };
            let all = format!("{over}{}", big(&c.predicted));
            [c.subsystem.join(", "), big(&c.number), small, format!("{over}{}", count(c.largest_states)), all]
        }));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..5).map(width).collect();
        for row in &rows {
            let mut line = format!("  {:<w$}", row[0], w = widths[0]);
            (1..5).for_each(|c| line += &format!("  {:>w$}", row[c], w = widths[c]));
            host.note(&line);
        }
        if self.candidates.len() > SHOWN {
            host.note(&format!("  ... and {} more", self.candidates.len() - SHOWN));
        }
        if self.left_out > 0 {
            host.note(&format!("  {} others are cyclic, too large or never move", self.left_out));
        }
        if self.untried > 0 {
            host.note(&format!(
                "  {} others were not tried: the search is short enough with the best of these",
                self.untried
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(leaf: u32, traces: u64, sampled: u64, within_budget: u64) -> Candidate {
        let mut candidate = Candidate {
            subsystem: Vec::new(),
            leaves: vec![LeafIx(leaf)],
            states: 2,
            traces: traces.to_string(),
            number: traces.into(),
            sampled,
            within_budget,
            largest_states: 100,
            total: 100 * sampled,
            predicted_total: String::new(),
            predicted: BigUint::ZERO,
            found: false,
        };
        candidate.predict();
        candidate
    }

    #[test]
    fn few_traces_that_are_all_too_large_are_no_advantage() {
        let best = |candidates: &[Candidate]| {
            candidates.iter().min_by(|a, b| rank(a).cmp(&rank(b))).map(|best| best.leaves[0].0)
        };
        assert_eq!(best(&[candidate(0, 2, 2, 0), candidate(1, 700, 5, 0)]), Some(1), "it divides the work");
        assert_eq!(best(&[candidate(0, 700, 5, 1), candidate(1, 2, 2, 1)]), Some(1), "half of them fit");
        assert_eq!(best(&[candidate(0, 9, 5, 5), candidate(1, 700, 5, 4)]), Some(0), "all of them fit");
        assert_eq!(best(&[candidate(0, 9, 5, 5), candidate(1, 7, 5, 5)]), Some(1), "less work");
    }
}
