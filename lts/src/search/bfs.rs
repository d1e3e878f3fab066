//! Breadth-first search on one thread, with a plain hash map of parents.

use super::{Options, Reason, Report, Stats, Verdict};
use crate::hash::Map;
use crate::network::{Network, VectorIx};
use crate::pack::{Packing, Width};
use crate::property::{self, Property};
use crate::successors::{Finding, Steps, Successors};
use crate::trace::Trace;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

pub(super) fn run<S: Successors>(
    net: &Network,
    system: &S,
    packing: &Packing,
    properties: &[Property],
    options: &Options,
) -> Result<Report, String> {
    let start = Instant::now();
    let mut stats = Stats { states: 1, ..Stats::default() };
    let words = system.width().words();
    let initial: Box<[u64]> = system.initial().into();
    let mut states: Vec<(Box<[u64]>, usize, VectorIx)> = vec![(initial.clone(), usize::MAX, VectorIx(0))];
    let mut seen: Map<Box<[u64]>, usize> = Map::default();
    seen.insert(initial, 0);
    let trace_to = |states: &[(Box<[u64]>, usize, VectorIx)], mut at: usize| {
        let mut steps = Vec::new();
        while states[at].1 != usize::MAX {
            let mut target = packing.unpack(&states[at].0);
            target.truncate(net.leaves.len());
            steps.push(crate::network::Step { vector: states[at].2, target });
            at = states[at].1;
        }
        steps.reverse();
        Trace { steps }
    };
    if let Some(property) = property::violated_initially(properties) {
        return Ok(Report { verdict: Verdict::Violated { property, trace: Trace::default() }, stats });
    }
    let deadlock = property::asks_for_deadlocks(properties);
    let (mut steps, mut next, mut level_end) = (Steps::default(), 0, 1);
    let verdict = loop {
        if next == states.len() {
            break Verdict::Holds;
        }
        if next == level_end {
            stats.depth += 1;
            level_end = states.len();
        }
        if options.max_depth.is_some_and(|d| stats.depth >= d) {
            break Verdict::Unknown(Reason::Depth(stats.depth));
        }
        if let Some(limit) = options.time_limit.filter(|&t| start.elapsed() >= t) {
            break Verdict::Unknown(Reason::Time(limit));
        }
        if options.cancel.is_some_and(|c| c.load(Relaxed)) {
            break Verdict::Unknown(Reason::Cancelled);
        }
        steps.clear();
        system.expand(&states[next].0, &mut steps)?;
        if steps.is_empty() {
            stats.deadlocks += 1;
            if let Some(property) = deadlock {
                break Verdict::Violated { property, trace: trace_to(&states, next) };
            }
        }
        let mut found = None;
        for (target, &via) in steps.targets.chunks_exact(words).zip(&steps.vias) {
            let finding = if via.is_marked() { system.finding(target, via) } else { None };
            if let Some(finding) = finding {
                states.push((target.into(), next, via.vector()));
                found = Some((finding, trace_to(&states, states.len() - 1)));
                break;
            }
            stats.transitions += 1;
            if !seen.contains_key(target) {
                seen.insert(target.into(), states.len());
                states.push((target.into(), next, via.vector()));
                stats.states += 1;
            }
        }
        match found {
            Some((Finding::Fault(f), trace)) => {
                break Verdict::Faulty { message: net.faults[f as usize].clone(), trace };
            }
            Some((Finding::Property(property), trace)) => break Verdict::Violated { property, trace },
            None => {}
        }
        if let Some(max) = options.max_states.filter(|&m| stats.states >= m) {
            break Verdict::Unknown(Reason::States(max));
        }
        next += 1;
    };
    stats.time = start.elapsed();
    Ok(Report { verdict, stats })
}
