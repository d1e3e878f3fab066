//! `--reduce auto`: a full search, and beside it a reduced one that may take a small part of the time.
//!
//! A state costs a reduced search some ten to a hundred times as much as a full one, and there is no cheap way to predict how
//! many states it would visit. So both run. When the full search has become large, a *companion* begins: a reduced search on
//! one thread that may do a fortieth of the full one's work. It never starts anew, so that no work is done twice. If it ends,
//! its answer is that of the run. If it does not end, but came as deep as the full search with a fraction of the work, the
//! full search waits, and a reduced one on all threads may do as much work as the full search has done so far.
//!
//! Both are measured in work, not in time, and compared only after levels of the full search. Invariant: which search answers
//! depends on the system, the properties and the limits, not on threads or the clock; and shortest counterexamples are kept:
//! a reduced search whose counterexample may be longer answers only if the full search ends at a limit.

use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::memory;
use gridlock_lts::engine::reduce::{Allowance, Keep};
use gridlock_lts::engine::search::{self, Options, Order, Report, Stats, Verdict};
use gridlock_lts::model::network::{Leaf, Network};
use gridlock_lts::property::Property;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::Instant;

#[cfg(test)]
mod tests;

/// When both searches are compared, and how much work the reduced one may do.
#[derive(Clone, Copy)]
struct Pace {
    /// States of the full search before the reduced one begins: a smaller search takes less than a second anyway.
    first: u64,
    /// The reduced search may do one part in this number of the full one's work.
    part: u64,
    /// The cost of the tables of a reduced search, for each move of a process and for each part of a process in a step of
    /// several.
    setup: u64,
}

const PACE: Pace = Pace { first: 1 << 20, part: 40, setup: 32 };
/// Work of the full search from which on the part is smaller, by [`LESS`]: many threads do that much in seconds, and would have to
/// wait for the one of the reduced search if its part were as large as theirs.
const LONG: u64 = 1 << 33;
const LESS: u64 = 4;
/// The least cost of a transition of a full search, in units of work of a reduced one.
const TRANSITION: u64 = 8;
/// Both are compared when the full search has grown by one part in this number.
const GROWTH: u64 = 8;
/// The reduced search goes on alone if it came as deep for this number of times less work,
const AHEAD: u64 = 4;
/// until it has done the full one's work, and again when the full one has grown this number of times.
const AGAIN: u64 = 4;
/// The share of the memory that the companion may use, as a divisor.
const MEMORY: u64 = 16;
/// About how many times as much a state costs in a reduced search.
const DEARER: u64 = 16;

/// The decision of `--reduce auto`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// The full search answered; whether a reduced one had begun.
    Full(bool),
    /// The reduced search answered when the full one had this number of states.
    Reduced(u64),
    /// The full search ran out of memory at this number of states, and a reduced one took over.
    Memory(u64),
    /// The full search ended at a limit with this number of states, and a reduced one had found a counterexample, if perhaps
    /// no shortest one.
    Longer(u64),
}

/// What both searches are about.
#[derive(Clone, Copy)]
struct Task<'a> {
    net: &'a Network,
    properties: &'a [Property],
    options: &'a Options<'a>,
    /// Called with the length of a counterexample that may be longer than necessary, while the full search goes on.
    found: &'a (dyn Fn(usize) + Sync),
}

/// The reduced search that accompanies a full one.
#[derive(Default)]
struct Companion {
    allowance: Arc<Allowance>,
    /// States and work when each of its levels ended.
    levels: Mutex<Vec<(u64, u64)>>,
    /// Its result.
    ended: Mutex<Option<Result<Option<Report>>>>,
    /// The first answer of a reduced search with a counterexample that may be longer than necessary.
    longer: Mutex<Option<Report>>,
}

/// The state of the comparison, on the side of the full search.
struct Course {
    pace: Pace,
    begun: bool,
    /// Transitions when each level of the full search ended.
    levels: Vec<u64>,
    /// States at which both are compared next.
    due: u64,
    /// The cost of beginning the reduced search.
    setup: u64,
    /// Work of the full search from which on the reduced one may go on alone.
    alone: u64,
    answer: Option<Result<Report>>,
    at: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Searches with `options`, and beside that with a reduced search. `found` is called with the length of a counterexample that
/// may be longer than necessary, if the full search goes on for a shortest one.
pub(super) fn search(
    net: &Network,
    properties: &[Property],
    options: &Options,
    found: &(dyn Fn(usize) + Sync),
) -> Result<(Report, Decision)> {
    accompanied(Task { net, properties, options, found }, PACE)
}

fn accompanied(task: Task, pace: Pace) -> Result<(Report, Decision)> {
    let Task { net, properties, options, .. } = task;
    let started = Instant::now();
    // The time of a reduced search is that of all there was.
    let whole =
        |report: Report| Report { stats: Stats { time: started.elapsed(), ..report.stats }, ..report };
    let (companion, course) = (Companion::default(), Mutex::new(Course::new(pace, pace.setup * size(net))));
    let full = std::thread::scope(|scope| {
        let pause = |stats: &Stats| locked(&course).look(stats, &companion, task, scope);
        let options = Options { pause: Some(&pause), ..*options };
        companion.allowance.while_needed(|| {
            let full = search::check(net, properties, &options)?;
            if matches!(full.verdict, Verdict::Unknown(_)) {
                locked(&course).end(&full.stats, &companion);
            }
            Ok::<_, Error>(full)
        })
    })?;
    let course = course.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = course.answer {
        return Ok((whole(answer?), Decision::Reduced(course.at)));
    }
    let states = full.stats.states;
    if let Verdict::Unknown(limit) = &full.verdict {
        if let Limit::Memory(_) = limit
            && let Some(report) =
                reduced(task, &within(options, states / DEARER), |found| companion.keep(task, found))?
        {
            return Ok((whole(report), Decision::Memory(states)));
        }
        if let Some(report) = locked(&companion.longer).take() {
            return Ok((whole(report), Decision::Longer(states)));
        }
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

/// How large the tables are from which those of a reduced search are made: moves, and parts in vectors; the memory for
/// visited states counts little.
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

    /// The work allowed to the reduced search when the full one has done some work.
    fn share(&self, work: u64) -> u64 {
        work.min(LONG) / self.pace.part + work.saturating_sub(LONG) / (self.pace.part * LESS)
    }

    /// Compares both searches, at a point that depends on the system only. True if the full one is not needed any more.
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

    /// Checks the reduced search when the full one has ended at a limit.
    fn end(&mut self, stats: &Stats, companion: &Companion) {
        if self.begun && self.answer.is_none() {
            // What it has found must not depend on how quick it is.
            companion.allowance.settle();
            self.at = stats.states;
            self.answer = companion.answer().filter(Result::is_ok);
        }
    }

    /// Lets the reduced search have all the time, if that is promising.
    fn go_on_alone(&mut self, companion: &Companion, task: Task, stats: &Stats, work: u64) {
        let Some(states) = self.promises(companion, work) else { return };
        self.alone = work.saturating_mul(AGAIN);
        // The full search keeps what it has.
        let memory = limit(task.options).saturating_sub(stats.memory);
        let limited = Options { progress: None, max_memory: Some(memory), ..within(task.options, states) };
        // A search on several threads may see the limit late, and end beyond it.
        let is_within = |report: &Report| report.stats.states <= states;
        let keep = |found: Report| {
            if is_within(&found) {
                companion.keep(task, found);
            }
        };
        let kept = |answer: &Result<Report>| answer.as_ref().map_or(true, is_within);
        self.answer = reduced(task, &limited, keep).transpose().filter(kept);
    }

    /// If the reduced search came as deep with much less work: how many states it may visit now.
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
        let answer = || reduced(task, &options, |found| self.keep(task, found));
        self.allowance.until_end(|| *locked(&self.ended) = Some(answer()));
    }

    /// Keeps an answer whose counterexample may be longer than necessary.
    fn keep(&self, task: Task, found: Report) {
        let mut longer = locked(&self.longer);
        if longer.is_none() {
            if let Verdict::Violated { trace, .. } | Verdict::Faulty { trace, .. } = &found.verdict {
                (task.found)(trace.steps.len());
            }
            *longer = Some(found);
        }
    }

    /// Its answer, if it has one.
    fn answer(&self) -> Option<Result<Report>> {
        locked(&self.ended).take().and_then(Result::transpose)
    }
}

/// The answer of a reduced search, if it has one that a full search could have given. `longer` gets one whose counterexample
/// may be longer, before one is looked for that is not.
fn reduced(task: Task, options: &Options, longer: impl Fn(Report)) -> Result<Option<Report>> {
    let shortest = options.order == Order::BreadthFirst;
    for keep in [Keep::Verdicts, Keep::Lengths] {
        let report = search::check(task.net, task.properties, &Options { reduce: Some(keep), ..*options })?;
        let lengths = report.reduction.is_none_or(|reduction| reduction.lengths);
        match report.verdict {
            Verdict::Unknown(_) => return Ok(None),
            Verdict::Violated { .. } | Verdict::Faulty { .. } if shortest && !lengths => longer(report),
            _ => return Ok(Some(report)),
        }
    }
    Ok(None)
}
