//! Processes the feedback of a hunt: findings as soon as their turn has come, everything else when the next job is made.

use super::status::{Found, HuntOutcome, HuntStatus, MemberStatus};
use super::steering::worth;
use super::{Charged, Hunt, Record};
use crate::grid::ledger::Made;
use gridlock_lts::base::error::Error;
use gridlock_worker::hunt::job::{HuntEnd, HuntFeedback, HuntFinding, HuntJob, Method};
use gridlock_worker::hunt::{Key, View, portable};
use gridlock_worker::job::{JobEnd, What};

impl Hunt<'_> {
    /// Reports the findings of all jobs that are answered and whose predecessors are, in order. Once a job among them ends
    /// the hunt, everything up to it is processed, and nothing beyond.
    pub(super) fn report(&mut self) {
        while let Some(made) = self.ledger.get(self.reported) {
            let Some(feedback) = &made.answer else { return };
            let (number, end, count) = (made.job.number, feedback.end.clone(), feedback.findings.len());
            let (states, member) = (feedback.effort.states, made.about.member);
            for k in 0..count {
                self.report_one(number, k);
                if self.found >= self.config.findings {
                    break;
                }
            }
            let new = self.news.iter().filter(|found| found.job.number == number).count();
            self.records[member].findings += new as u64;
            self.reported += 1;
            self.reported_states += states;
            let why = match end {
                HuntEnd::Failed(reason) => Some(HuntOutcome::Failed { number, reason: reason.to_string() }),
                _ if self.found >= self.config.findings => Some(HuntOutcome::Findings),
                HuntEnd::Everything if !self.has_formulas() => Some(HuntOutcome::Everything),
                _ => None,
            };
            if let Some(why) = why {
                while self.ledger.processed() <= number && self.process() {}
                // What jobs beyond this one have shown does not count.
                self.everything = why == HuntOutcome::Everything;
                self.ended_by_job = true;
                self.outcome = Some(match self.outcome.take() {
                    Some(failed @ HuntOutcome::Failed { .. }) => failed,
                    _ => why,
                });
                return;
            }
        }
    }

    /// Reports a finding of a job, unless one with the same key was reported.
    fn report_one(&mut self, number: u64, k: usize) {
        let Some(Made { job, about, answer: Some(feedback) }) = self.ledger.get(number) else { return };
        let (mut job, mut finding, member) = (job.clone(), feedback.findings[k].clone(), about.member);
        alone(&mut job, &finding);
        if let View::Open(lazy) = self.net {
            let heard = portable::decode_finding(lazy, &mut finding.finding);
            match heard.and_then(|()| portable::encode_job(lazy, &job)) {
                Ok(told) => job = told,
                Err(Error::Limit(_)) => return,
                Err(why) => {
                    self.outcome = Some(HuntOutcome::Failed { number, reason: why.to_string() });
                    return;
                }
            }
        }
        let Some(key) = self.net.with(|net| Key::of_any(net, &self.packing, &finding)) else {
            let reason = "a finding does not fit the network".to_owned();
            self.outcome = Some(HuntOutcome::Failed { number, reason });
            return;
        };
        if !self.keys.insert(key) {
            return;
        }
        self.found += 1;
        let states = self.reported_states + finding.after_states;
        let member = self.members[member].kind;
        self.news.push_back(Found { number: self.found, job, member, finding, states });
    }

    /// Processes the feedback to the next job, if it has arrived.
    pub(super) fn process(&mut self) -> bool {
        let Some((job, Charged { member, charge }, mut feedback)) = self.ledger.process() else {
            return false;
        };
        if let View::Open(lazy) = self.net {
            match portable::decode_below(lazy, &job, &mut feedback) {
                Ok(()) => {}
                // The hunt is being stopped; nothing is proved by what nobody hears.
                Err(Error::Limit(_)) => feedback.below = None,
                Err(why) => {
                    self.outcome = Some(HuntOutcome::Failed { number: job.number, reason: why.to_string() });
                    return true;
                }
            }
        }
        self.members[member].take_prefix(&feedback, job.limits.states);
        self.members[member].take_run(&job.method, &feedback.end);
        let HuntFeedback { end, findings, coverage, guided, effort, shortening, traps, .. } = feedback;
        self.traps.walks += traps.walks;
        self.traps.proved += traps.proved;
        self.traps.discarded += traps.discarded;
        self.traps.undecided += traps.undecided;
        self.out = self.out.saturating_sub(job.limits.states);
        self.total.states = self.total.states.saturating_add(effort.states);
        self.total.transitions = self.total.transitions.saturating_add(effort.transitions);
        self.total.deadlocks = self.total.deadlocks.saturating_add(effort.deadlocks);
        self.total.nanoseconds = self.total.nanoseconds.saturating_add(effort.nanoseconds);
        self.total.memory = self.total.memory.max(effort.memory);
        self.total.widest = self.total.widest.max(effort.widest);
        self.shortening += shortening;
        let gain = match self.seen.add(&coverage) {
            Ok(gain) => gain,
            Err(reason) => {
                self.outcome = Some(HuntOutcome::Failed { number: job.number, reason });
                return true;
            }
        };
        if let Method::Bitstate { log2_bits, hashes, .. } = job.method {
            self.seen.add_bits(&coverage, log2_bits, hashes, effort.states);
        }
        let traces = guided.as_ref().is_some_and(|guided| guided.end == JobEnd::Complete);
        if let Some(guided) = guided {
            self.members[member].take(guided, !findings.is_empty());
        }
        if end == HuntEnd::Everything && self.has_formulas() {
            self.retire_others();
        }
        let worth = worth(&gain, traces);
        self.members[member].learn(end == HuntEnd::OverBudget, worth);
        self.steering.learn(member, charge, job.limits.states, effort.states, worth);
        let record: &mut Record = &mut self.records[member];
        record.jobs += 1;
        record.states += effort.states;
        record.nanoseconds += effort.nanoseconds;
        record.locals += gain.locals;
        record.moves += gain.moves;
        record.distinct += gain.states;
        true
    }

    /// The progress of the hunt.
    pub(super) fn summary(&self) -> HuntStatus {
        let before = if self.ended_by_job { self.ledger.processed() } else { u64::MAX };
        let members = self.members.iter().zip(&self.records).enumerate().map(|(k, (member, record))| {
            let Record { jobs, states, nanoseconds, locals, moves, distinct, findings } = *record;
            MemberStatus {
                kind: member.kind,
                jobs,
                states,
                nanoseconds,
                locals,
                moves,
                distinct,
                findings,
                yields: self.steering.yields(k),
                weight: self.steering.weight(k),
                size: member.grown(),
                traces: member.traces(before).cloned(),
            }
        });
        HuntStatus {
            made: self.ledger.made(),
            done: self.ledger.done(),
            processed: self.ledger.processed(),
            lost: self.ledger.lost_count(),
            total: self.total,
            shortening: self.shortening,
            findings: self.found,
            everything: self.everything,
            // A run against a formula may be shorter than all that have no violation at their end.
            within: self
                .members
                .iter()
                .filter(|_| !self.has_formulas())
                .filter_map(super::Member::proved)
                .max(),
            shared: self.members.iter().find_map(super::Member::shared),
            leaves: self.seen.leaves().to_vec(),
            distinct: self.seen.distinct(),
            bits: self.seen.bits(),
            traps: self.traps,
            members: members.collect(),
        }
    }
}

/// Changes a job so that it needs no reports of other jobs: a search below a prefix begins at the place of the finding instead.
fn alone(job: &mut HuntJob, found: &HuntFinding) {
    let Method::Prefix { path, known, .. } = &mut job.method else { return };
    if known.take().is_none_or(|known| known.entries == 0) {
        return;
    }
    path.clone_from(&found.finding.path);
    if !matches!(found.finding.what, What::Deadlock(_)) {
        path.pop();
    }
}
