//! Decides formulas that are no safety formulas, one after the other, after all other properties.
//!
//! On ranks, rank 0 decides with the help of all others, which follow: before each formula rank 0 tells them whether there is
//! one more, so that no rank waits in vain.

use super::exhaustive::{self, Bounds, fields, memory_rows, ranks};
use super::quantities::{bytes, count, counted};
use super::{Bound, Conclusion, Figures, Json, Outcome, Row, Run, Spent, Tables};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::game::{self, Decided, Decision, Evidence, MOST_CHECKED, ProofLts, RunEnd};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::mesh::Mesh;
use gridlock_lts::engine::search::{Level, Options, Order, RankStats, Report, Stats, Verdict};
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::property::Property;
use gridlock_lts::property::formula::Equations;
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// Whether there are any.
pub(super) fn are_asked(run: &Run) -> bool {
    run.properties.iter().any(|property| matches!(property, Property::Formula(_)))
}

/// Other ranks, and how states are divided among them.
pub(super) struct Distributed<'a> {
    pub(super) mesh: &'a mut dyn Mesh,
    /// The leaves that decide which rank owns a state, if not the whole state does.
    pub(super) owners: Option<&'a [LeafIx]>,
    /// The same for people.
    pub(super) shown: String,
}

impl Distributed<'_> {
    fn lend(&mut self) -> (&mut dyn Mesh, Option<&[LeafIx]>) {
        (&mut *self.mesh, self.owners)
    }
}

/// The message of rank 0 before a formula: there is one more, or there is none.
const ONE_MORE: u64 = 1;
const OVER: u64 = 2;

fn formula(property: &Property) -> Option<&dyn Equations> {
    match property {
        Property::Formula(equations) => Some(&**equations),
        _ => None,
    }
}

/// Checks everything else by a breadth-first search, and then each formula by a game; on one process, or on rank 0.
pub(super) fn conduct(
    run: &mut Run,
    max_depth: Option<u64>,
    mut distributed: Option<Distributed>,
) -> Result<Outcome> {
    run.host.begin("searching", "states");
    let mut left = run.properties.iter().filter_map(formula).count();
    let mut searched = false;
    let outcome = conduct_with(run, max_depth, distributed.as_mut(), &mut searched, &mut left);
    if let Some(Distributed { mesh, .. }) = &mut distributed
        && searched
        && left > 0
    {
        mesh.share(&[OVER], &mut || false);
    }
    outcome
}

/// `searched` says whether everything else holds, and `left` how many formulas the other ranks wait for.
fn conduct_with(
    run: &mut Run,
    max_depth: Option<u64>,
    mut distributed: Option<&mut Distributed>,
    searched: &mut bool,
    left: &mut usize,
) -> Result<Outcome> {
    let properties = run.properties.clone();
    let mut figures = Played {
        owner: distributed.as_ref().map(|distributed| distributed.shown.clone()),
        ..Played::default()
    };
    let mut time = Duration::ZERO;
    if let Some(report) = others(run, max_depth, distributed.as_deref_mut().map(Distributed::lend))? {
        time += report.stats.time;
        (figures.stats, figures.ranks, figures.levels) = (report.stats, report.ranks, report.levels);
        if report.verdict != Verdict::Holds {
            let limit = limit_of(run, &report.verdict);
            return Ok(Outcome::of(report.verdict, time, Box::new(figures), || limit.into()));
        }
    }
    *searched = true;
    // What could not be decided, while others may be violated still.
    let mut undecided = None;
    for (index, property) in properties.iter().enumerate() {
        let Some(equations) = formula(property) else { continue };
        run.go_on()?;
        if let Some(Distributed { mesh, .. }) = &mut distributed {
            mesh.share(&[ONE_MORE], &mut || false);
        }
        *left -= 1;
        let mesh = distributed.as_deref_mut().map(Distributed::lend);
        let decided = decide(run, equations, max_depth, mesh)?
            .ok_or_else(|| Error::internal("rank 0 has no answer to a formula"))?;
        time += decided.stats.time;
        let mut over = false;
        let conclusion = match &decided.answer {
            Decision::Holds => Conclusion::Holds,
            Decision::Violated => Conclusion::Violated(index),
            Decision::Faulty { message, .. } => Conclusion::Faulty(message.clone()),
            Decision::Unknown(_) => {
                let limit = limit_of(run, &game::verdict(&decided.answer, index, None));
                // Neither is anything left for other formulas.
                over = matches!(limit, Limit::Time(_) | Limit::Interrupted);
                Conclusion::Unknown(Bound::from(limit))
            }
        };
        let ends = match &conclusion {
            Conclusion::Holds => false,
            Conclusion::Unknown(_) => over || properties.len() == 1,
            _ => true,
        };
        let trace = match &decided.answer {
            Decision::Faulty { trace, .. } => Some(trace.clone()),
            _ => decided.evidence.as_ref().map(|evidence| evidence.trace.clone()),
        };
        figures.proof = proof(run, equations, &decided)?;
        figures.add(decided);
        // With several properties no single run is a witness for all.
        let faulty = matches!(conclusion, Conclusion::Faulty(_));
        if ends || properties.len() == 1 {
            let witness = conclusion != Conclusion::Holds || figures.is_witness();
            let trace = trace.filter(|trace| witness && (faulty || !trace.is_empty()));
            return Ok(Outcome { conclusion, trace, time, figures: Box::new(figures) });
        }
        if conclusion != Conclusion::Holds {
            undecided.get_or_insert(conclusion);
        }
    }
    if undecided.is_some() {
        // They are about another formula.
        (figures.last, figures.proof) = (None, None);
    }
    let conclusion = undecided.unwrap_or(Conclusion::Holds);
    Ok(Outcome { conclusion, trace: None, time, figures: Box::new(figures) })
}

/// The properties that are no formulas, if there are any.
fn others(
    run: &mut Run,
    max_depth: Option<u64>,
    mesh: Option<(&mut dyn Mesh, Option<&[LeafIx]>)>,
) -> Result<Option<Report>> {
    if run.properties.iter().all(|property| formula(property).is_some()) {
        return Ok(None);
    }
    let bounds = Bounds { depth: max_depth, states: run.common.max_states, ..Bounds::default() };
    exhaustive::search(run, Order::BreadthFirst, bounds, mesh).map(|(report, _)| Some(report))
}

/// On ranks that are not the first. An error means that this rank cannot take part; rank 0 reports the errors that all ranks
/// have.
pub(super) fn follow(
    run: &mut Run,
    max_depth: Option<u64>,
    mesh: &mut dyn Mesh,
    owners: Option<&[LeafIx]>,
) -> Result<()> {
    match others(run, max_depth, Some((mesh, owners))) {
        Ok(report) if report.as_ref().is_none_or(|report| report.verdict == Verdict::Holds) => {}
        _ => return Ok(()),
    }
    let properties = run.properties.clone();
    for equations in properties.iter().filter_map(formula) {
        if mesh.share(&[0], &mut || false)[0] != ONE_MORE {
            break;
        }
        decide(run, equations, max_depth, Some((mesh, owners)))?;
    }
    Ok(())
}

/// The whole proof, if it is wanted and there is one.
fn proof(run: &Run, equations: &dyn Equations, decided: &Decided) -> Result<Option<ProofLts>> {
    let proof = decided.evidence.as_ref().and_then(|evidence| evidence.proof.as_ref());
    proof.filter(|_| run.common.evidence).map(|proof| proof.lts(&run.tables().network, equations)).transpose()
}

/// The limit behind `unknown`, as the user set it.
fn limit_of(run: &Run, verdict: &Verdict) -> Limit {
    match verdict {
        // What specification and tables take counts, too.
        Verdict::Unknown(Limit::Memory(_)) => Limit::Memory(run.memory),
        Verdict::Unknown(Limit::Interrupted) => run.limit(),
        Verdict::Unknown(limit) => *limit,
        _ => run.limit(),
    }
}

/// Decides a formula. Returns `None` on ranks other than rank 0.
fn decide(
    run: &mut Run,
    equations: &dyn Equations,
    max_depth: Option<u64>,
    mesh: Option<(&mut dyn Mesh, Option<&[LeafIx]>)>,
) -> Result<Option<Decided>> {
    let (mesh, owners) = mesh.unzip();
    let (host, halt) = (run.host, run.host.halt());
    // Called about every 100 ms.
    let progress = |stats: &Stats| {
        host.progress(stats.states, stats.transitions, format!("{} waiting", count(stats.frontier)));
    };
    let options = Options {
        workers: run.threads,
        max_states: run.common.max_states,
        max_depth,
        // What specification and tables take is not for the search any more.
        max_memory: Some(run.room()),
        cancel: Some(halt.flag()),
        progress: Some(&progress),
        owners: owners.flatten(),
        ..Options::default()
    };
    if run.tables().complete {
        let net = &run.tables().network;
        return match mesh {
            None => game::decide(net, equations, &options).map(Some),
            Some(mesh) => game::ranks::decide_together(net, equations, &options, mesh),
        };
    }
    let Tables { network, source, complete } = run.take_tables()?;
    let lazy = Lazy::new(Arc::unwrap_or_clone(network), source, &[])?;
    let decided = match mesh {
        None => game::decide_on_demand(&lazy, equations, &options).map(Some),
        Some(mesh) => game::ranks::decide_on_demand_together(&lazy, equations, &options, mesh),
    };
    let (network, source) = lazy.into_parts();
    run.put_tables(Tables { network: Arc::new(network), source, complete });
    decided
}

/// The figures of games: of several, the largest, and the evidence of the last.
#[derive(Default)]
struct Played {
    stats: Stats,
    pairs: u64,
    positions: u64,
    /// Bytes of states in a file.
    spilled: u64,
    /// Whether the last formula holds, and why.
    last: Option<(bool, Option<Evidence>)>,
    /// The proof of the last, if it is wanted.
    proof: Option<ProofLts>,
    /// The antecedents of formulas that hold, of which no step was ever met.
    vacuous: Vec<String>,
    /// What each rank has done, if several searched.
    ranks: Vec<RankStats>,
    /// When levels ended then.
    levels: Vec<Level>,
    /// If there are several ranks, what decides which of them owns a state.
    owner: Option<String>,
}

impl Played {
    fn add(&mut self, decided: Decided) {
        let Decided { answer, evidence, stats, pairs, positions, vacuous, ranks, levels, spilled } = decided;
        self.vacuous.extend(vacuous);
        if stats.states >= self.stats.states {
            (self.stats, self.ranks, self.levels) = (stats, ranks, levels);
        }
        self.pairs = self.pairs.max(pairs);
        self.positions = self.positions.max(positions);
        self.spilled = self.spilled.max(spilled);
        self.last = match answer {
            Decision::Holds | Decision::Violated => Some((answer == Decision::Holds, evidence)),
            Decision::Faulty { .. } | Decision::Unknown(_) => None,
        };
    }

    fn evidence(&self) -> Option<&Evidence> {
        self.last.as_ref()?.1.as_ref()
    }

    /// Whether the run alone shows that the formula holds.
    fn is_witness(&self) -> bool {
        self.evidence().is_some_and(|evidence| evidence.end != RunEnd::Branches)
    }

    /// The step after which the formula cannot be fulfilled any more.
    fn critical_step(&self) -> Option<usize> {
        let (holds, evidence) = self.last.as_ref()?;
        critical_step(evidence.as_ref().filter(|_| !holds)?)
    }

    /// The states that can be reached after the critical step, if they are few enough to be checked again.
    fn closure_states(&self) -> Option<u64> {
        self.critical_step()?;
        self.evidence()?.closure
    }
}

impl Figures for Played {
    fn note(&self) -> Option<Cow<'static, str>> {
        self.why()
    }

    fn vacuous(&self) -> &[String] {
        &self.vacuous
    }

    fn repeats_from(&self) -> Option<usize> {
        repeats_from(self.evidence()?)
    }

    fn proof(&self) -> Option<&ProofLts> {
        self.proof.as_ref()
    }

    fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        ranks::write_page(&self.ranks, &self.levels, out)
    }

    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let stats = &self.stats;
        let mut rows = vec![
            ("states", count(stats.states)),
            ("transitions", count(stats.transitions)),
            ("depth", count(stats.depth)),
            ("positions", count(self.positions)),
            ("pairs", count(self.pairs)),
        ];
        rows.extend(spent.seconds());
        rows.extend(memory_rows(stats));
        rows.extend((self.spilled > 0).then(|| ("in a file", bytes(self.spilled))));
        rows.extend(ranks::rows(&self.ranks, stats));
        rows
    }

    fn settings(&self) -> Vec<Row> {
        let owner = self.owner.as_ref().map(|owner| match self.ranks.is_empty() {
            false => ("owner", owner.clone()),
            true => {
                ("decided by", "rank 0 alone: a game that is small, or that ranks cannot divide".to_owned())
            }
        });
        owner.into_iter().collect()
    }

    fn write_tables(&self, strong: &str, off: &str, out: &mut dyn Write) -> io::Result<()> {
        ranks::write_table(&self.ranks, strong, off, out)
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        let mut fields = fields(&self.stats, Some(self.stats.depth));
        fields.push(("positions", Box::new(self.positions)));
        fields.push(("pairs", Box::new(self.pairs)));
        fields.push(("spilled_bytes", Box::new(self.spilled)));
        fields.push(("repeats_from", Box::new(self.repeats_from())));
        fields.push(("critical_step", Box::new(self.critical_step())));
        fields.push(("closure_states", Box::new(self.closure_states())));
        fields.push(("evidence_pairs", Box::new(self.evidence().map(|evidence| evidence.pairs))));
        if !self.ranks.is_empty() {
            fields.push(("ranks", Box::new(ranks::fields(&self.ranks))));
            fields.push(("owner", Box::new(&self.owner)));
        }
        fields
    }
}

impl Played {
    /// The evidence for the answer, in words.
    fn why(&self) -> Option<Cow<'static, str>> {
        let (holds, evidence) = self.last.as_ref()?;
        let Some(evidence) = evidence else {
            return Some(Cow::Owned(format!(
                "no evidence is shown: the proof has more than {} pairs of states and parts of the formula",
                count(MOST_CHECKED as u64)
            )));
        };
        why(*holds, evidence).map(Cow::Owned)
    }
}

/// An evidence, in words.
pub(super) fn why(holds: bool, evidence: &Evidence) -> Option<String> {
    let Evidence { trace, end, asks, pairs, closure, .. } = evidence;
    let pairs = count(*pairs);
    Some(match (holds, end) {
        (true, RunEnd::Branches) => return None,
        (true, _) if trace.is_empty() => return None,
        (true, RunEnd::Decides) => "the run below shows that it holds".to_owned(),
        (true, RunEnd::Repeats(from)) => {
            format!("the run below, which repeats from step {} for ever, shows that it holds", from + 1)
        }
        (false, RunEnd::Repeats(from)) => format!("the run below repeats from step {} for ever", from + 1),
        (false, RunEnd::Decides) => format!("at the end of the run below {asks} does not hold"),
        (false, RunEnd::Branches) if trace.is_empty() => {
            format!("no single run shows it: the proof has {pairs} pairs of states and parts of the formula")
        }
        (false, RunEnd::Branches) => {
            let known = closure.map(|states| {
                format!(
                    "{} can be reached from there, and the proof has {pairs} pairs of states and parts of the formula",
                    counted(states as usize, "state")
                )
            });
            let beyond =
                || "too many states can be reached from there, so that this was not checked again".to_owned();
            format!(
                "step {} is critical: after it, whatever follows, {asks} does not hold ({})",
                trace.len(),
                known.unwrap_or_else(beyond)
            )
        }
    })
}

/// The step of a run after which the formula cannot be fulfilled any more, if all continuations show that.
pub(super) fn critical_step(evidence: &Evidence) -> Option<usize> {
    Some(evidence.trace.len()).filter(|steps| *steps > 0 && evidence.end == RunEnd::Branches)
}

/// From which step, counted from 1, a run repeats.
pub(super) fn repeats_from(evidence: &Evidence) -> Option<usize> {
    match evidence.end {
        RunEnd::Repeats(from) => Some(from + 1),
        RunEnd::Decides | RunEnd::Branches => None,
    }
}
