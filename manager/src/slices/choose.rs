//! Chooses a subsystem for slices, by a short search with each candidate.
//!
//! Candidates are single leaves, and pairs of the best of them if no leaf alone divides the states well. The costs of a
//! search by slices besides expanding states are known only from searching: how many states are sent, how often slices are
//! loaded again, how large the largest is. So each candidate searches the same number of states with the real coordinator,
//! and the best of them four times as many again. The choice must be quick beside a search that takes seconds: all samples
//! together have about 300,000 states, fewer if each has many steps, and a system that is smaller than a sample ends the
//! choice. Invariant: the figures, and so the choice, depend on the network, the job memory and the limit on states only.

use super::ranks::Ranks;
use super::{Options, SlicesAnswer, SlicesReport, Slicing};
use crate::grid::driver::Control;
use crate::grid::work::Grid;
use gridlock_lts::base::error::{Limit, Result};
use gridlock_lts::engine::mesh::Alone;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::model::network::LeafIx;
use std::fmt;

/// States that a candidate of the first round searches; of each later round four times as many.
const SAMPLE: u64 = if cfg!(test) { 1 << 8 } else { 1 << 12 };
const FACTOR: u64 = 4;
/// Samples of states that have more steps than this are smaller in proportion, but never below the least sample: a
/// hundred processes have a hundred steps in each state, and 300,000 states took 20 seconds.
const STEPS: u64 = 8;
const LEAST: u64 = if cfg!(test) { 1 << 5 } else { 1 << 9 };
/// Leaves of the first round, those with the most local states; the best candidates that each later round keeps; and the
/// best leaves of the first round whose pairs join the second.
const LEAVES: usize = 16;
const KEPT: [usize; 2] = [4, 2];
const PAIRED: usize = 3;

/// Pairs are tried only if the largest slice of the best leaf has a larger share than this: two leaves make many small
/// slices, and a sample shows too little of each to predict how often it will be activated.
const LARGE: f64 = 0.05;

/// The costs of a search with a subsystem, in units of the expansion of a state, fitted to four subsystems of a network of 95
/// million states: sending a state (sorted, compressed, read again), loading one, activating a slice.
const SENT: f64 = 0.3;
const LOADED: f64 = 0.6;
const ACTIVATION: f64 = 50.0;
/// A slice with all states is no slice: it saves no memory and keeps one worker busy.
const LARGEST: f64 = 40.0;

/// The figures of a short search with a subsystem.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The subsystem.
    pub leaves: Vec<LeafIx>,
    /// The names of its leaves.
    pub names: Vec<String>,
    /// States searched.
    pub states: u64,
    /// Steps of each state.
    pub steps: f64,
    /// Slices that have states.
    pub slices: u64,
    /// The share of the states that is in the largest slice.
    pub largest: f64,
    /// States sent from one slice to another, for each state.
    pub sent: f64,
    /// States loaded again, for each state.
    pub loaded: f64,
    /// Activations.
    pub activations: u64,
    /// The predicted cost of a state, in units of its expansion.
    pub cost: f64,
    /// Whether the short search has searched the whole system.
    pub ended: bool,
}

/// The subsystem that was chosen, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// The candidates of the last round, the best first.
    pub candidates: Vec<Candidate>,
    /// How many subsystems were tried in all rounds.
    pub tried: usize,
}

impl Choice {
    /// The best subsystem.
    pub fn leaves(&self) -> &[LeafIx] {
        self.candidates.first().map_or(&[], |best| &best.leaves)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(best) = self.candidates.first() else { return write!(f, "there is no leaf to choose") };
        write!(
            f,
            "slices by {}: of {} states, tried with {} subsystems, the largest of {} slices had {:.1} %, {:.2} were sent and {:.2} loaded again for each state",
            best.names.join(" and "),
            grouped(best.states),
            self.tried,
            grouped(best.slices),
            100.0 * best.largest,
            best.sent,
            best.loaded,
        )?;
        if let Some(second) = self.candidates.get(1) {
            let (names, cost) = (second.names.join(" and "), second.cost / best.cost);
            write!(f, "; next best {names}, predicted to cost {cost:.2} times as much")?;
        }
        Ok(())
    }
}

/// A number with its digits in groups of three.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Chooses a subsystem for slices. `options` are those of the search, `grid` are threads of this process.
pub fn choose_subsystem(
    prepared: &Prepared,
    options: &Options,
    grid: &Grid,
    stop: &dyn Fn() -> bool,
) -> Result<Choice> {
    let net = prepared.net();
    // A sample that is larger than the search itself would be is a waste.
    let most = options.max_states.map_or(u64::MAX, |most| most.max(LEAST));
    let options = Options { max_states: None, ..options.clone() };
    let mut leaves: Vec<LeafIx> = (0..net.leaves.len() as u32).map(LeafIx).collect();
    leaves.sort_by_key(|leaf| (usize::MAX - net.leaves[leaf.0 as usize].states.len(), *leaf));
    leaves.truncate(LEAVES);
    let Some(&first) = leaves.first() else { return Ok(Choice { candidates: Vec::new(), tried: 0 }) };
    let weight = candidate(prepared, vec![first], &options, grid, LEAST, stop)?.steps / STEPS as f64;
    let mut sample = ((SAMPLE as f64 / weight.max(1.0)) as u64).max(LEAST).min(most);
    let try_all = |subsystems: Vec<Vec<LeafIx>>, sample: u64| -> Result<Vec<Candidate>> {
        let candidate = |leaves| candidate(prepared, leaves, &options, grid, sample, stop);
        let mut candidates = subsystems.into_iter().map(candidate).collect::<Result<Vec<_>>>()?;
        sort(&mut candidates);
        Ok(candidates)
    };
    let mut candidates = try_all(leaves.into_iter().map(|leaf| vec![leaf]).collect(), sample)?;
    let mut tried = candidates.len();
    for (round, &kept) in KEPT.iter().enumerate() {
        if sample == most || candidates.len() <= 1 || candidates.iter().any(|candidate| candidate.ended) {
            break;
        }
        let best = |many: usize| candidates.iter().take(many).map(|candidate| candidate.leaves.clone());
        let mut next: Vec<Vec<LeafIx>> = best(kept).collect();
        if round == 0 && candidates[0].largest > LARGE {
            let best: Vec<LeafIx> = best(PAIRED).flatten().collect();
            for (k, &one) in best.iter().enumerate() {
                next.extend(best[k + 1..].iter().map(|&other| vec![one.min(other), one.max(other)]));
            }
            tried += next.len() - kept.min(candidates.len());
        }
        sample = (sample * FACTOR).min(most);
        candidates = try_all(next, sample)?;
    }
    Ok(Choice { candidates, tried })
}

fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| {
        let key = |c: &Candidate| (c.leaves.len(), c.leaves.clone());
        a.cost.total_cmp(&b.cost).then_with(|| key(a).cmp(&key(b)))
    });
}

fn candidate(
    prepared: &Prepared,
    leaves: Vec<LeafIx>,
    options: &Options,
    grid: &Grid,
    sample: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Candidate> {
    let control = Control { stop, progress: &|_| {}, page: &|_| Vec::new() };
    let mut alone = Alone::default();
    let told = || stop().then_some(Limit::Interrupted);
    let ranks = &Ranks::new(&mut alone, &told);
    // To choose steps for a sample would take far longer than the sample.
    let options = &Options { reduce: None, ..options.clone() };
    let slicing = Slicing {
        prepared,
        subsystem: &leaves,
        options,
        grid,
        ranks,
        sample: Some(sample),
        kept: None,
        control: &control,
    };
    let report: SlicesReport = slicing.search()?;
    let states = report.states.max(1) as f64;
    let (largest, sent, loaded) =
        (report.largest as f64 / states, report.sent as f64 / states, report.loaded as f64 / states);
    let activations = ACTIVATION * report.activations as f64 / states;
    let names = leaves.iter().map(|leaf| prepared.net().leaves[leaf.0 as usize].name.clone()).collect();
    Ok(Candidate {
        leaves,
        names,
        states: report.states,
        steps: report.transitions as f64 / states,
        slices: report.slices.iter().filter(|slice| slice.states > 0).count() as u64,
        largest,
        sent,
        loaded,
        activations: report.activations,
        ended: matches!(report.answer, SlicesAnswer::Verdict(_)),
        cost: 1.0 + SENT * sent + LOADED * loaded + activations + LARGEST * largest,
    })
}
