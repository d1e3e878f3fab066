//! What is wrong with a network, by exploring all of it, for the tests of searches that decide obligations.

use super::Obligation;
use crate::engine::replay;
use crate::engine::search::Verdict;
use crate::model::network::{Local, Network, Outcome, Step};
use crate::property::{self, Property};
use std::collections::BTreeSet;

/// What is wrong with a system, by exploring all of it.
pub(in crate::engine) fn naive(net: &Network, asked: Option<&Property>) -> bool {
    let start = (net.initial(), Local(0));
    let mut seen = BTreeSet::from([start.clone()]);
    let mut queue = vec![start];
    let mut steps: Vec<Step> = Vec::new();
    while let Some((state, monitored)) = queue.pop() {
        net.successors(&state, &mut steps);
        if let Some(Property::DeadlockFree { allow_termination }) = asked
            && steps.is_empty()
            && !(*allow_termination && net.is_terminated(&state))
        {
            return true;
        }
        for step in steps.drain(..) {
            if matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_)) {
                if asked.is_none() {
                    return true;
                }
                continue;
            }
            let next = match asked {
                Some(Property::Never(forbidden)) if forbidden(net, step.vector) => return true,
                Some(Property::Monitor(monitor)) => monitor.next(monitored, monitor.class(net, step.vector)),
                _ => Local(0),
            };
            if matches!(asked, Some(Property::Monitor(monitor)) if monitor.is_bad(next)) {
                return true;
            }
            let target = (step.target, next);
            if seen.insert(target.clone()) {
                queue.push(target);
            }
        }
    }
    false
}

/// The first obligation that is violated.
pub(in crate::engine) fn expected(net: &Network, properties: &[Property]) -> Option<Obligation> {
    if let Some(property) = property::violated_initially(properties) {
        return Some(Obligation::Property(property));
    }
    let deadlock = property::deadlock_freedom(properties).map(|(index, _)| index);
    let obligations = properties.iter().enumerate().filter(|(index, property)| {
        !matches!(property, Property::DeadlockFree { .. }) || Some(*index) == deadlock
    });
    if naive(net, None) {
        return Some(Obligation::Faults);
    }
    let mut violated = obligations.filter(|(_, property)| naive(net, Some(property)));
    violated.next().map(|(index, _)| Obligation::Property(index))
}

/// What a verdict says; a violation must replay.
pub(in crate::engine) fn told(
    net: &Network,
    properties: &[Property],
    verdict: &Verdict,
) -> Option<Obligation> {
    match verdict {
        Verdict::Holds => None,
        Verdict::Violated { property, trace } => {
            assert_eq!(replay::violation(net, &properties[*property], trace), Ok(()));
            Some(Obligation::Property(*property))
        }
        Verdict::Faulty { trace, .. } => {
            assert_eq!(replay::fault(net, trace), Ok(()));
            Some(Obligation::Faults)
        }
        Verdict::Unknown(limit) => panic!("nothing limits this: {limit}"),
    }
}
