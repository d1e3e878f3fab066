//! Formulas that are no safety formulas, one after the other, after everything else that is asked.

use super::exhaustive::{self, Bounds, fields, memory_rows};
use super::page::escaped;
use super::quantities::{count, counted};
use super::{Bound, Conclusion, Figures, Json, Outcome, Row, Run, Spent, Tables};
use gridlock_lts::base::error::{Limit, Result};
use gridlock_lts::engine::game::{self, Decided, Decision, End, Evidence, MOST_CHECKED, ProofLts};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::search::{Options, Order, Stats, Verdict};
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

/// Checks everything else by a breadth-first search, and then each formula by a game.
pub(super) fn conduct(run: &mut Run, max_depth: Option<u64>) -> Result<Outcome> {
    run.host.begin("searching", "states");
    let properties = run.properties.clone();
    let mut figures = Played::default();
    let mut time = Duration::ZERO;
    if properties.iter().any(|property| !matches!(property, Property::Formula(_))) {
        let bounds = Bounds { depth: max_depth, states: run.common.max_states, ..Bounds::default() };
        let (report, _) = exhaustive::search(run, Order::BreadthFirst, bounds, None)?;
        time += report.stats.time;
        figures.stats = report.stats;
        if report.verdict != Verdict::Holds {
            let limit = limit_of(run, &report.verdict);
            return Ok(Outcome::of(report.verdict, time, Box::new(figures), || limit.into()));
        }
    }
    for (index, property) in properties.iter().enumerate() {
        let Property::Formula(equations) = property else { continue };
        run.go_on()?;
        let decided = decide(run, &**equations, max_depth)?;
        time += decided.stats.time;
        let conclusion = match &decided.answer {
            Decision::Holds => Conclusion::Holds,
            Decision::Violated => Conclusion::Violated(index),
            Decision::Faulty { message, .. } => Conclusion::Faulty(message.clone()),
            Decision::Unknown(_) => {
                let limit = limit_of(run, &game::verdict(&decided.answer, index, None));
                Conclusion::Unknown(Bound::from(limit))
            }
        };
        let ends = conclusion != Conclusion::Holds;
        let trace = match &decided.answer {
            Decision::Faulty { trace, .. } => Some(trace.clone()),
            _ => decided.evidence.as_ref().map(|evidence| evidence.trace.clone()),
        };
        figures.proof = proof(run, &**equations, &decided)?;
        figures.add(decided);
        // With several properties no single run is a witness for all.
        let faulty = matches!(conclusion, Conclusion::Faulty(_));
        if ends || properties.len() == 1 {
            let witness = conclusion != Conclusion::Holds || figures.is_witness();
            let trace = trace.filter(|trace| witness && (faulty || !trace.is_empty()));
            return Ok(Outcome { conclusion, trace, time, figures: Box::new(figures) });
        }
    }
    Ok(Outcome { conclusion: Conclusion::Holds, trace: None, time, figures: Box::new(figures) })
}

/// The whole proof, if it is wanted and there is one.
fn proof(run: &Run, equations: &dyn Equations, decided: &Decided) -> Result<Option<ProofLts>> {
    let proof = decided.evidence.as_ref().and_then(|evidence| evidence.proof.as_ref());
    proof.filter(|_| run.common.evidence).map(|proof| proof.lts(&run.tables().network, equations)).transpose()
}

/// The limit behind `unknown`, as the user knows it.
fn limit_of(run: &Run, verdict: &Verdict) -> Limit {
    match verdict {
        // What specification and tables take counts, too.
        Verdict::Unknown(Limit::Memory(_)) => Limit::Memory(run.memory),
        Verdict::Unknown(Limit::Interrupted) => run.limit(),
        Verdict::Unknown(limit) => *limit,
        _ => run.limit(),
    }
}

fn decide(run: &mut Run, equations: &dyn Equations, max_depth: Option<u64>) -> Result<Decided> {
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
        ..Options::default()
    };
    if run.tables().complete {
        return game::decide(&run.tables().network, equations, &options);
    }
    let Tables { network, source, complete } = run.take_tables()?;
    let lazy = Lazy::new(Arc::unwrap_or_clone(network), source, &[])?;
    let decided = game::decide_on_demand(&lazy, equations, &options);
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
    /// Whether the last formula holds, and why.
    last: Option<(bool, Option<Evidence>)>,
    /// The proof of the last, if it is wanted.
    proof: Option<ProofLts>,
    /// The antecedents of formulas that hold, of which no step was ever met.
    vacuous: Vec<String>,
}

impl Played {
    fn add(&mut self, decided: Decided) {
        let Decided { answer, evidence, stats, pairs, positions, vacuous } = decided;
        self.vacuous.extend(vacuous);
        if stats.states >= self.stats.states {
            self.stats = stats;
        }
        self.pairs = self.pairs.max(pairs);
        self.positions = self.positions.max(positions);
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
        self.evidence().is_some_and(|evidence| evidence.end != End::Branches)
    }

    /// The step after which the formula cannot be fulfilled any more.
    fn critical_step(&self) -> Option<usize> {
        let (holds, evidence) = self.last.as_ref()?;
        let evidence = evidence.as_ref().filter(|evidence| !holds && evidence.end == End::Branches)?;
        Some(evidence.trace.len()).filter(|steps| *steps > 0)
    }

    /// The states that can be reached after the critical step, if they are few enough to be checked again.
    fn closure_states(&self) -> Option<u64> {
        self.critical_step()?;
        self.evidence()?.closure
    }
}

impl Figures for Played {
    fn note(&self) -> Option<Cow<'static, str>> {
        let vacuous = self.vacuous.iter().map(|antecedent| {
            format!("warning: no step is {antecedent} wherever the formula looks: what it asks for afterwards was not put to the test")
        });
        let mut all: Vec<String> = vacuous.collect();
        all.extend(self.why().map(Cow::into_owned));
        (!all.is_empty()).then(|| Cow::Owned(all.join("\n")))
    }

    fn repeats_from(&self) -> Option<usize> {
        match self.evidence()?.end {
            End::Repeats(from) => Some(from + 1),
            End::Decides | End::Branches => None,
        }
    }

    fn proof(&self) -> Option<&ProofLts> {
        self.proof.as_ref()
    }

    fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        let note = self.note().unwrap_or_default();
        note.lines().try_for_each(|line| writeln!(out, "<p>{}</p>", escaped(line)))
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
        rows
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        let mut fields = fields(&self.stats, Some(self.stats.depth));
        fields.push(("positions", Box::new(self.positions)));
        fields.push(("pairs", Box::new(self.pairs)));
        fields.push(("repeats_from", Box::new(self.repeats_from())));
        fields.push(("critical_step", Box::new(self.critical_step())));
        fields.push(("closure_states", Box::new(self.closure_states())));
        fields.push(("vacuous", Box::new(&self.vacuous)));
        fields.push(("evidence_pairs", Box::new(self.evidence().map(|evidence| evidence.pairs))));
        fields
    }
}

impl Played {
    /// What shows the answer.
    fn why(&self) -> Option<Cow<'static, str>> {
        let (holds, evidence) = self.last.as_ref()?;
        let Some(Evidence { trace, end, asks, pairs, closure, .. }) = evidence else {
            return Some(Cow::Owned(format!(
                "no evidence is shown: the proof has more than {} pairs of states and parts of the formula",
                count(MOST_CHECKED as u64)
            )));
        };
        let pairs = count(*pairs);
        Some(Cow::Owned(match (holds, end) {
            (true, End::Branches) => return None,
            (true, _) if trace.is_empty() => return None,
            (true, End::Decides) => "the run below shows that it holds".to_owned(),
            (true, End::Repeats(from)) => {
                format!("the run below, which repeats from step {} for ever, shows that it holds", from + 1)
            }
            (false, End::Repeats(from)) => format!("the run below repeats from step {} for ever", from + 1),
            (false, End::Decides) => format!("at the end of the run below {asks} does not hold"),
            (false, End::Branches) if trace.is_empty() => {
                format!(
                    "no single run shows it: the proof has {pairs} pairs of states and parts of the formula"
                )
            }
            (false, End::Branches) => {
                let known = closure.map(|states| {
                    format!(
                        "{} can be reached from there, and the proof has {pairs} pairs of states and parts of the formula",
                        counted(states as usize, "state")
                    )
                });
                let beyond = || {
                    "too many states can be reached from there, so that this was not checked again".to_owned()
                };
                format!(
                    "step {} is critical: after it, whatever follows, {asks} does not hold ({})",
                    trace.len(),
                    known.unwrap_or_else(beyond)
                )
            }
        }))
    }
}
