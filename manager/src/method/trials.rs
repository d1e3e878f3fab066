//! `--reduce auto`: a full search, and beside it a reduced one that may take a small part of the time.
//!
//! A state costs a reduced search some ten to a hundred times as much as a full one, and nothing cheap tells beforehand how
//! many states it would visit. So both run. When the full search has become large, a *companion* begins: a reduced search on
//! one thread that may do a fortieth of the full one's work. It never starts anew, so that nothing is worked out twice. If
//! it ends, its answer is the answer. If it does not, but came as deep as the full search for a fraction of the work, the full
//! search waits, and a reduced one on all threads may visit as many states as cost what the full search has cost so far.
//!
//! Work, not time, is what both are measured in, and it is compared after levels of the full search only. Invariant: which
//! search answers depends on the system, the properties and the limits, not on threads or the clock; and a shortest
//! counterexample stays one: a reduced search that may find longer ones answers only if nothing is violated.

use gridlock_lts::base::error::{Limit, Result};
use gridlock_lts::base::memory;
use gridlock_lts::engine::reduce::{Allowance, Keep};
use gridlock_lts::engine::search::{self, Options, Order, Report, Stats, Verdict};
use gridlock_lts::model::network::{Leaf, Network};
use gridlock_lts::property::Property;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::Instant;

/// When both searches are compared, and what the reduced one may do.
#[derive(Clone, Copy)]
struct Pace {
    /// States of the full search before the reduced one begins: a smaller search takes less than a second anyway.
    first: u64,
    /// The reduced search may do one part in this number of the full one's work.
    part: u64,
    /// What a move of a process costs when a reduced search begins, and the part of a process in a step of several.
    setup: u64,
}

const PACE: Pace = Pace { first: 1 << 20, part: 40, setup: 32 };
/// Work of the full search from which on the part is smaller, by [`LESS`]: many threads do that much in seconds, and would have to
/// wait for the one of the reduced search if its part were as large as theirs.
const LONG: u64 = 1 << 33;
const LESS: u64 = 4;
/// What a transition of a full search costs at least, in units of work of a reduced one.
const TRANSITION: u64 = 8;
/// Both are compared when the full search has grown by one part in this number.
const GROWTH: u64 = 8;
/// The reduced search goes on alone if it came as deep for this number of times less work,
const AHEAD: u64 = 4;
/// until it has done the full one's work, and again when the full one has grown this number of times.
const AGAIN: u64 = 4;
/// The share of the memory that the companion may use, as a divisor.
const MEMORY: u64 = 16;
/// How many times as much a state costs a reduced search, about.
const DEARER: u64 = 16;

/// What `--reduce auto` came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// The full search answered; whether a reduced one had begun.
    Full(bool),
    /// The reduced search answered when the full one had this number of states.
    Reduced(u64),
    /// The full search ran out of memory at this number of states, and a reduced one took over.
    Memory(u64),
}

/// What both searches are about.
#[derive(Clone, Copy)]
struct Task<'a> {
    net: &'a Network,
    properties: &'a [Property],
    options: &'a Options<'a>,
}

/// The reduced search that accompanies a full one.
#[derive(Default)]
struct Companion {
    allowance: Arc<Allowance>,
    /// States and work when each of its levels ended.
    levels: Mutex<Vec<(u64, u64)>>,
    /// What it came to.
    ended: Mutex<Option<Result<Option<Report>>>>,
}

/// What the full search knows of the reduced one.
struct Course {
    pace: Pace,
    begun: bool,
    /// Transitions when each level of the full search ended.
    levels: Vec<u64>,
    /// States at which both are compared next.
    due: u64,
    /// What it costs to begin the reduced search.
    setup: u64,
    /// Work of the full search from which on the reduced one may go on alone.
    alone: u64,
    answer: Option<Result<Report>>,
    at: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Searches as `options` say, and accompanies that by a reduced search.
pub(super) fn search(
    net: &Network,
    properties: &[Property],
    options: &Options,
) -> Result<(Report, Decision)> {
    accompanied(Task { net, properties, options }, PACE)
}

fn accompanied(task: Task, pace: Pace) -> Result<(Report, Decision)> {
    let Task { net, properties, options } = task;
    let started = Instant::now();
    // The time of a reduced search is that of all there was.
    let whole =
        |report: Report| Report { stats: Stats { time: started.elapsed(), ..report.stats }, ..report };
    let (companion, course) = (Companion::default(), Mutex::new(Course::new(pace, pace.setup * size(net))));
    let full = std::thread::scope(|scope| {
        let pause = |stats: &Stats| locked(&course).look(stats, &companion, task, scope);
        let options = Options { pause: Some(&pause), ..*options };
        companion.allowance.while_needed(|| search::check(net, properties, &options))
    })?;
    let course = course.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = course.answer {
        return Ok((whole(answer?), Decision::Reduced(course.at)));
    }
    if let Verdict::Unknown(Limit::Memory(_)) = full.verdict
        && let Some(report) = reduced(task, &within(options, full.stats.states / DEARER))?
    {
        return Ok((whole(report), Decision::Memory(full.stats.states)));
    }
    Ok((full, Decision::Full(course.begun)))
}

/// The same options with fewer states.
fn within<'a>(options: &Options<'a>, states: u64) -> Options<'a> {
    let most = options.max_states.map_or(states, |most| most.min(states));
    Options { max_states: Some(most), ..*options }
}

/// Bytes that a search may use.
fn limit(options: &Options) -> u64 {
    options.max_memory.unwrap_or_else(memory::default_limit)
}

/// How large the tables are from which those of a reduced search are made: moves, and parts in vectors; places for what it
/// remembers count little.
fn size(net: &Network) -> u64 {
    const PLACES: usize = 32;
    let of_leaf = |leaf: &Leaf| {
        let moves: usize = leaf.states.iter().map(|table| table.moves.len()).sum();
        moves + leaf.states.len() * leaf.labels.len() / PLACES
    };
    let parts = net.vectors.iter().map(|vector| vector.parts.len());
    net.leaves.iter().map(of_leaf).chain(parts).sum::<usize>() as u64
}

impl Course {
    fn new(pace: Pace, setup: u64) -> Self {
        let due = pace.first;
        Course { pace, begun: false, levels: Vec::new(), due, setup, alone: 0, answer: None, at: 0 }
    }

    /// What the reduced search may have cost when the full one has done some work.
    fn share(&self, work: u64) -> u64 {
        work.min(LONG) / self.pace.part + work.saturating_sub(LONG) / (self.pace.part * LESS)
    }

    /// Looks at both searches, at a point that depends on the system only. True if the full one is not needed any more.
    fn look<'scope, 'env>(
        &mut self,
        stats: &Stats,
        companion: &'env Companion,
        task: Task<'env>,
        scope: &'scope Scope<'scope, 'env>,
    ) -> bool {
        self.levels.push(stats.transitions);
        if stats.states < self.due {
            return false;
        }
        self.due = stats.states.saturating_add(stats.states / GROWTH);
        self.at = stats.states;
        let work = stats.transitions.saturating_mul(TRANSITION);
        if self.begun {
            companion.allowance.settle();
            self.answer = companion.answer();
            if self.answer.is_none() && work >= self.alone {
                self.go_on_alone(companion, task, stats, work);
            }
        }
        if let Some(granted) = self.share(work).checked_sub(self.setup) {
            companion.allowance.grant(granted);
            if !std::mem::replace(&mut self.begun, true) {
                scope.spawn(move || companion.search(task));
            }
        }
        self.answer.is_some()
    }

    /// Lets the reduced search have all the time, if that is promising.
    fn go_on_alone(&mut self, companion: &Companion, task: Task, stats: &Stats, work: u64) {
        let Some(states) = self.promises(companion, work) else { return };
        self.alone = work.saturating_mul(AGAIN);
        // The full search keeps what it has.
        let memory = limit(task.options).saturating_sub(stats.memory);
        let limited = Options { progress: None, max_memory: Some(memory), ..within(task.options, states) };
        // A search on several threads may see the limit late, and end beyond it.
        let kept = |answer: &Result<Report>| answer.as_ref().map_or(true, |r| r.stats.states <= states);
        self.answer = reduced(task, &limited).transpose().filter(kept);
    }

    /// Whether the reduced search came as deep for much less work; how many states it may then visit.
    fn promises(&self, companion: &Companion, work: u64) -> Option<u64> {
        let levels = locked(&companion.levels);
        let depth = levels.len().min(self.levels.len()).checked_sub(1)?;
        let (full, (_, spent)) = (self.levels[depth].saturating_mul(TRANSITION), levels[depth]);
        let (states, all) = *levels.last()?;
        let ahead = spent.saturating_mul(AHEAD) <= full;
        let most = u128::from(states) * u128::from(work) / u128::from(all.max(1));
        ahead.then(|| u64::try_from(most).unwrap_or(u64::MAX))
    }
}

impl Companion {
    /// Searches with reduction on one thread, as far as the allowance lets it.
    fn search(&self, task: Task) {
        let breadth_first = task.options.order == Order::BreadthFirst;
        let pause = |stats: &Stats| {
            // Depth first there are no levels to compare.
            if breadth_first {
                locked(&self.levels).push((stats.states, self.allowance.spent()));
            }
            false
        };
        let memory = limit(task.options) / MEMORY;
        let options = Options {
            workers: 1,
            max_memory: Some(memory),
            progress: None,
            pause: Some(&pause),
            allowance: Some(&self.allowance),
            ..*task.options
        };
        self.allowance.until_end(|| *locked(&self.ended) = Some(reduced(task, &options)));
    }

    /// Its answer, if it has one.
    fn answer(&self) -> Option<Result<Report>> {
        locked(&self.ended).take().and_then(Result::transpose)
    }
}

/// The answer of a reduced search, if it has one that a full search could have given.
fn reduced(task: Task, options: &Options) -> Result<Option<Report>> {
    let shortest = options.order == Order::BreadthFirst;
    for keep in [Keep::Verdicts, Keep::Lengths] {
        let report = search::check(task.net, task.properties, &Options { reduce: Some(keep), ..*options })?;
        let lengths = report.reduction.is_none_or(|reduction| reduction.lengths);
        match report.verdict {
            Verdict::Unknown(_) => return Ok(None),
            Verdict::Violated { .. } | Verdict::Faulty { .. } if shortest && !lengths => {}
            _ => return Ok(Some(report)),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::samples::random::{self, Shape};
    use gridlock_lts::samples::synthetic;

    const DEADLOCK: Property = Property::DeadlockFree { allow_termination: false };

    fn accompany(
        net: &Network,
        properties: &[Property],
        options: &Options,
        pace: Pace,
    ) -> (Report, Decision) {
        accompanied(Task { net, properties, options }, pace).expect("a report")
    }

    #[test]
    fn a_small_system_is_searched_in_full() {
        let net = synthetic::philosophers(6);
        let (report, decision) = search(&net, &[DEADLOCK], &Options::default()).expect("a report");
        assert_eq!(decision, Decision::Full(false));
        let full = search::check(&net, &[DEADLOCK], &Options::default()).expect("a report");
        assert_eq!(report, Report { stats: report.stats.clone(), ..full });
    }

    #[test]
    fn a_large_one_that_reduces_well_is_not() {
        // 3^15 states, of which a reduced search visits hundreds.
        let net = synthetic::philosophers(15);
        let mut seen = Vec::new();
        for workers in [1, 2] {
            let options = Options { workers, ..Options::default() };
            let (report, decision) = search(&net, &[DEADLOCK], &options).expect("a report");
            let Decision::Reduced(at) = decision else { panic!("{decision:?}") };
            assert!((PACE.first..4 * PACE.first).contains(&at), "{at}");
            assert!(report.stats.states <= at / 100, "{:?}", report.stats);
            let Verdict::Violated { property: 0, trace } = report.verdict else { panic!("{report:?}") };
            assert_eq!(trace.steps.len(), 15, "as short as can be");
            seen.push((at, report.stats.states, trace));
        }
        assert_eq!(seen[0], seen[1]);
    }

    #[test]
    fn one_that_does_not_reduce_is_searched_in_full() {
        // Registers that everybody reads: every order makes a difference.
        let net = synthetic::registers(7, 3);
        let full = search::check(&net, &[DEADLOCK], &Options::default()).expect("a report");
        let pace = Pace { first: full.stats.states / 8, ..PACE };
        for workers in [1, 3] {
            let options = Options { workers, ..Options::default() };
            let (report, decision) = accompany(&net, &[DEADLOCK], &options, pace);
            assert_eq!(decision, Decision::Full(true), "{report:?}");
            assert_eq!((&report.verdict, report.reduction), (&full.verdict, None));
            assert_eq!(
                (report.stats.states, report.stats.transitions),
                (full.stats.states, full.stats.transitions)
            );
        }
    }

    #[test]
    fn a_reduced_search_begins_only_if_its_part_pays_for_its_tables() {
        let net = synthetic::registers(5, 3);
        let pace = Pace { first: 4, setup: 1 << 30, ..PACE };
        let (_, decision) = accompany(&net, &[DEADLOCK], &Options::default(), pace);
        assert_eq!(decision, Decision::Full(false));
        let course = Course::new(PACE, 0);
        assert_eq!(course.share(LONG), LONG / PACE.part);
        assert_eq!(course.share(3 * LONG) - course.share(LONG), 2 * LONG / (PACE.part * LESS));
    }

    /// A reduced search does no more than it may before it waits, and wakes when it is to end.
    #[test]
    fn a_companion_keeps_to_its_allowance() {
        let net = synthetic::philosophers(12);
        let options = Options::default();
        let task = Task { net: &net, properties: &[DEADLOCK], options: &options };
        let spend = |grants: &[u64]| {
            let companion = Companion::default();
            std::thread::scope(|scope| {
                scope.spawn(|| companion.search(task));
                let spent = |&grant: &u64| {
                    companion.allowance.grant(grant);
                    companion.allowance.settle()
                };
                companion.allowance.while_needed(|| grants.iter().map(spent).collect::<Vec<_>>())
            })
        };
        // It is asked after some states, not after each step of the algorithm.
        const BETWEEN: u64 = 1 << 15;
        let grants = [1000, 10_000, 100_000];
        let spent = spend(&grants);
        assert!(spent.iter().zip(grants).all(|(&s, g)| (g + 1..g + BETWEEN).contains(&s)), "{spent:?}");
        assert_eq!(spend(&grants), spent, "the same in every run");
        assert_eq!(spend(&[100_000])[0], spent[2], "whatever was granted before");
    }

    #[test]
    fn memory_that_is_not_enough_is_left_to_a_reduced_search() {
        let net = synthetic::philosophers(12);
        let options = Options { max_memory: Some(3 << 20), ..Options::default() };
        let full = search::check(&net, &[DEADLOCK], &options).expect("a report");
        assert!(matches!(full.verdict, Verdict::Unknown(Limit::Memory(_))), "{full:?}");
        let (report, decision) = search(&net, &[DEADLOCK], &options).expect("a report");
        assert!(
            matches!(decision, Decision::Memory(_)) && matches!(report.verdict, Verdict::Violated { .. })
        );
    }

    fn length(verdict: &Verdict) -> Option<usize> {
        match verdict {
            Verdict::Violated { trace, .. } | Verdict::Faulty { trace, .. } => Some(trace.steps.len()),
            _ => None,
        }
    }

    /// Whichever search answers, on any number of threads it is the same one, and what it says is as short and as true.
    #[test]
    fn both_searches_say_the_same_on_any_number_of_threads() {
        let mut answered = [0, 0];
        for seed in 0..200 {
            let net = Shape { faults: seed as usize % 3 * 20, ..Shape::default() }.network(seed);
            let properties = random::properties(&net, seed);
            let full = search::check(&net, &properties, &Options::default()).expect("a report");
            let pace = Pace { first: 4, part: 1, setup: 0 };
            let of = |workers| accompany(&net, &properties, &Options { workers, ..Options::default() }, pace);
            let (one, decision) = of(1);
            assert_eq!(length(&one.verdict), length(&full.verdict), "seed {seed}, {decision:?}");
            assert_eq!(one.verdict == Verdict::Holds, full.verdict == Verdict::Holds, "seed {seed}");
            for workers in [2, 3] {
                let (several, same) = of(workers);
                assert_eq!((same, &several.verdict), (decision, &one.verdict), "seed {seed}");
                assert_eq!(several.stats.states, one.stats.states, "seed {seed}");
            }
            answered[usize::from(matches!(decision, Decision::Reduced(_)))] += 1;
        }
        assert!(answered.iter().all(|&n| n > 10), "{answered:?}");
    }

    /// What a trial says is what the full search says, and as short.
    #[test]
    fn reduced_answers_are_those_of_the_full_search() {
        let mut answered = 0;
        for seed in 0..300 {
            let net = Shape { faults: seed as usize % 3 * 20, ..Shape::default() }.network(seed);
            let properties = random::properties(&net, seed);
            for order in [Order::BreadthFirst, Order::DepthFirst] {
                let options = Options { order, ..Options::default() };
                let full = search::check(&net, &properties, &options).expect("a report");
                let trial = reduced(Task { net: &net, properties: &properties, options: &options }, &options);
                let Some(trial) = trial.expect("a report") else { continue };
                answered += 1;
                let [a, b] = [&full.verdict, &trial.verdict].map(length);
                match order {
                    Order::BreadthFirst => assert_eq!(a, b, "seed {seed}"),
                    Order::DepthFirst => assert_eq!(a.is_some(), b.is_some(), "seed {seed}"),
                }
            }
        }
        assert!(answered > 400, "{answered}");
    }
}
