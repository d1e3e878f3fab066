//! The obligations of a search: which there are, which task comes next, and which results count.
//!
//! The first obligation that does not hold decides, and everything before it is waited for. As long as there are tasks of
//! an obligation, those of later ones wait; so one worker goes from one to the next, and many do not stand idle. Invariant:
//! what is reported about the obligations up to the first that does not hold is the same however many work on them, and in
//! any order they answer, as long as the memory suffices.

use super::aggregate::{Aggregation, Answer, End, Purpose, Step};
use super::task::{Answered, Task};
use super::{
    Account, Fate, Obligation, PartsReport, Setting, Stop, Trouble, Why, obligations_of, property, result_of,
};
use crate::base::error::{Limit, Result};
use crate::engine::search::Verdict;
use crate::model::trace::Trace;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Instant;

/// The place of a task: its obligation and its purpose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct TaskPlace {
    obligation: u32,
    purpose: Purpose,
}

impl TaskPlace {
    /// Whether its result is worth remembering: leaves, and components that were made before, are made again.
    pub fn is_memorable(&self) -> bool {
        matches!(self.purpose, Purpose::Trial(_) | Purpose::Interfaces(_))
    }
}

/// An obligation that is worked on.
struct Going {
    aggregation: Aggregation,
    /// Tasks that no worker has.
    waiting: VecDeque<(Purpose, Task)>,
    /// The tasks of this step, with their results.
    step: Vec<(Purpose, Option<Answered>)>,
}

enum At {
    Before,
    Going(Box<Going>),
    Ended(Box<Aggregation>, std::result::Result<End, Trouble>),
    Holds(Box<Account>),
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PartsStatus {
    /// Obligations that hold.
    pub decided: u64,
    /// Components left of the one that is worked on.
    pub left: u64,
    /// States of all components of all obligations, before reduction.
    pub states: u64,
    /// Trials.
    pub trials: u64,
}

/// The obligations of a search, their tasks and their results.
pub struct Board {
    obligations: Vec<(Obligation, At)>,
    /// The memory does not suffice for several at a time.
    one_by_one: bool,
    start: Instant,
}

impl At {
    fn lacks_memory(&self) -> bool {
        matches!(self, At::Ended(_, Ok(End::Left(Why::Memory)) | Err(Trouble::Memory)))
    }
}

impl Board {
    /// All obligations of a setting, none of which is decided.
    pub fn new(setting: Setting) -> Self {
        let before = |obligation| (obligation, At::Before);
        let obligations = match property::violated_initially(setting.properties) {
            Some(_) => Vec::new(),
            None => obligations_of(setting).into_iter().map(before).collect(),
        };
        Board { obligations, one_by_one: false, start: Instant::now() }
    }

    /// Whether all that counts is decided.
    pub fn is_over(&self) -> bool {
        self.undecided().is_none_or(|first| matches!(self.obligations[first].1, At::Ended(..)))
    }

    /// The first obligation that is not known to hold.
    fn undecided(&self) -> Option<usize> {
        self.obligations.iter().position(|(_, at)| !matches!(at, At::Holds(_)))
    }

    /// The next task for a worker; `None` if there is none before more answers come.
    pub fn take(&mut self, setting: Setting) -> Option<(TaskPlace, Task)> {
        for number in 0..self.obligations.len() {
            if self.one_by_one && self.undecided().is_some_and(|first| number > first) {
                return None;
            }
            if let (obligation, at @ At::Before) = &mut self.obligations[number] {
                let mut aggregation = Aggregation::new(setting, *obligation);
                let step = aggregation.begin(setting);
                *at = after(aggregation, step);
                self.settle(number);
            }
            match &mut self.obligations[number].1 {
                At::Before | At::Holds(_) => {}
                At::Going(going) => {
                    if let Some((purpose, task)) = going.waiting.pop_front() {
                        return Some((TaskPlace { obligation: number as u32, purpose }, task));
                    }
                }
                // What comes behind it does not matter.
                At::Ended(..) => return None,
            }
        }
        None
    }

    /// Takes the result of a task. A result that is no longer wanted is ignored.
    pub fn put(&mut self, setting: Setting, place: TaskPlace, answered: Answered) {
        let Some((_, at @ At::Going(_))) = self.obligations.get_mut(place.obligation as usize) else {
            return;
        };
        let At::Going(going) = at else { return };
        let waits = |(purpose, answer): &&mut (Purpose, Option<Answered>)| {
            *purpose == place.purpose && answer.is_none()
        };
        let Some((_, answer)) = going.step.iter_mut().find(waits) else { return };
        *answer = Some(answered);
        if going.step.iter().any(|(_, answer)| answer.is_none()) {
            return;
        }
        let At::Going(going) = std::mem::replace(at, At::Before) else { return };
        let Going { mut aggregation, step, .. } = *going;
        let answers = step.into_iter().filter_map(|(_, answer)| answer).collect();
        let step = aggregation.advance(setting, answers);
        *at = after(aggregation, step);
        self.settle(place.obligation as usize);
    }

    /// An obligation for which the memory did not suffice while others took some of it is begun again, without them.
    fn settle(&mut self, number: usize) {
        let first = self.undecided();
        let others = self.obligations.iter().enumerate();
        let mut others = others.filter(|(other, (_, at))| *other != number && matches!(at, At::Going(_)));
        if !self.obligations[number].1.lacks_memory() || others.next().is_none() {
            return;
        }
        self.one_by_one = true;
        for (other, (_, at)) in self.obligations.iter_mut().enumerate() {
            if other == number || (Some(other) != first && matches!(at, At::Going(_))) {
                *at = At::Before;
            }
        }
    }

    /// How far it is.
    pub fn status(&self) -> PartsStatus {
        let mut status = PartsStatus::default();
        for (_, at) in self.obligations.iter().rev() {
            let (left, states, trials) = match at {
                At::Before => continue,
                At::Going(going) => going.aggregation.progress(),
                At::Ended(aggregation, _) => aggregation.progress(),
                At::Holds(account) => {
                    status.decided += 1;
                    (status.left, account.states(), account.trials)
                }
            };
            status.left = left;
            status.states += states;
            status.trials += trials;
        }
        status
    }

    /// The report; the run of a violation is put together and replayed. If not all that counts is decided, the search was
    /// asked to stop.
    pub fn report(self, setting: Setting, stop: &(dyn Fn() -> Option<Limit> + Sync)) -> Result<PartsReport> {
        let Board { obligations, start, .. } = self;
        let mut accounts = Vec::new();
        let initially = property::violated_initially(setting.properties);
        let mut verdict = match initially {
            Some(property) => Some(Verdict::Violated { property, trace: Trace::default() }),
            None => Some(Verdict::Holds),
        };
        for (obligation, at) in obligations {
            let stopped = || Answer::Stopped(stop().unwrap_or(Limit::Interrupted));
            let (aggregation, answer) = match at {
                At::Holds(account) => {
                    accounts.push(Account { result: Fate::Holds, ..*account });
                    continue;
                }
                At::Before => (Aggregation::new(setting, obligation), stopped()),
                At::Going(going) => (going.aggregation, stopped()),
                At::Ended(mut aggregation, end) => {
                    let answer = match end {
                        Ok(end) => aggregation.answer(setting, end, &Stop(stop)),
                        Err(Trouble::Stopped(_)) => stopped(),
                        Err(trouble) => trouble.answer(Why::Limit(setting.limit)),
                    };
                    (*aggregation, answer)
                }
            };
            let (result, told) = result_of(answer)?;
            accounts.push(Account { result, ..aggregation.account() });
            verdict = told;
            break;
        }
        Ok(PartsReport { verdict, accounts, peak_memory: setting.budget.peak(), time: start.elapsed() })
    }
}

/// Where an obligation stands after a step.
fn after(aggregation: Aggregation, step: std::result::Result<Step, Trouble>) -> At {
    match step {
        Ok(Step::Ended(End::Holds)) => At::Holds(Box::new(aggregation.account())),
        Ok(Step::Ended(end)) => At::Ended(Box::new(aggregation), Ok(end)),
        Ok(Step::Tasks(tasks)) => {
            let step = tasks.iter().map(|(purpose, _)| (*purpose, None)).collect();
            At::Going(Box::new(Going { aggregation, waiting: tasks.into(), step }))
        }
        Err(trouble) => At::Ended(Box::new(aggregation), Err(trouble)),
    }
}
