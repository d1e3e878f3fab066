//! One look at a state: what is wrong with it and with its steps.
//!
//! The rules, which all searches share:
//!
//! - A state without steps is a deadlock if a property asks for that, unless it is a regular end that the property allows.
//! - A marked step is a finding if the system says so. A fault leads nowhere: it is removed from the steps and never
//!   counted as a transition. A step that violates a property is a transition like others; whether to follow it is the
//!   search's own decision.
//! - Of several findings a fault comes first, because a specification without meaning has no properties; then deadlocks,
//!   then the property of the least index.
//!
//! There are two ways to look. [`first`] is for searches that end with what they find: it keeps the least finding, so that
//! the order of work does not show. [`all`] is for searches that go on: it reports every finding of a step, except that a
//! monitor which was bad before is not violated again.
//!
//! Searches look at marked steps only if there are any ([`Steps::any_marked`]); that is all a hot loop has to do.

use crate::engine::successors::{Steps, Successors};
use crate::model::network::VectorIx;
pub use crate::property::What;
use crate::property::{DeadEnd, Finding};
use serde::{Deserialize, Serialize};

/// What was found, and where. The order is the order of preference among equally near ones.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Found {
    /// The kind, with the index of the property or fault.
    pub what: What,
    /// The packed state that is the deadlock, or from which the step was taken.
    pub state: Vec<u64>,
    /// The step and its packed target; none for a deadlock.
    pub step: Option<(VectorIx, Vec<u64>)>,
}

/// Keeps the lesser of two findings.
pub fn keep_least(kept: &mut Option<Found>, found: Option<Found>) {
    if let Some(found) = found
        && kept.as_ref().is_none_or(|k| found < *k)
    {
        *kept = Some(found);
    }
}

impl DeadEnd {
    /// The finding that a state without steps is.
    pub fn found(self, state: &[u64]) -> Option<Found> {
        Some(Found { what: self.what()?, state: state.to_vec(), step: None })
    }
}

/// What [`first`] saw.
#[derive(Debug, Default)]
pub struct Looked {
    /// The least finding.
    pub found: Option<Found>,
    /// The numbers of the steps that violate a property, ascending, after faults were removed.
    pub violating: Vec<usize>,
}

/// Looks at the marked steps of some states for the least finding, and removes faults. `ends[k]` is where the steps of the
/// k-th state end.
#[cold]
pub fn first<S: Successors>(system: &S, states: &[u64], ends: &[usize], steps: &mut Steps) -> Looked {
    let (mut looked, mut faults, mut begin) = (Looked::default(), Vec::new(), 0);
    for (state, &end) in states.chunks_exact(system.packing().words()).zip(ends) {
        for (k, &via) in (begin..end).zip(&steps.vias()[begin..end]).filter(|(_, via)| via.is_marked()) {
            let target = steps.target(k);
            let Some(finding) = system.finding(target, via) else { continue };
            let step = Some((via.vector(), target.to_vec()));
            keep_least(&mut looked.found, Some(Found { what: finding.into(), state: state.to_vec(), step }));
            match finding {
                Finding::Fault(_) => faults.push(k),
                Finding::Property(_) => looked.violating.push(k - faults.len()),
            }
        }
        begin = end;
    }
    for k in faults.into_iter().rev() {
        steps.remove(k);
    }
    looked
}

/// Calls `visit` with every finding of the marked steps of a state, and removes faults. The last step comes first.
#[cold]
pub fn all<S: Successors, E>(
    system: &S,
    state: &[u64],
    steps: &mut Steps,
    mut visit: impl FnMut(What, VectorIx, &[u64]) -> Result<(), E>,
) -> Result<(), E> {
    let mut findings = Vec::new();
    // From the end, so that removing a fault leaves what is still to be looked at in its place.
    for k in (0..steps.len()).rev() {
        let via = steps.vias()[k];
        if !via.is_marked() {
            continue;
        }
        findings.clear();
        system.findings(state, steps.target(k), via, &mut findings);
        for &finding in &findings {
            visit(finding.into(), via.vector(), steps.target(k))?;
        }
        if let Some(Finding::Fault(_)) = findings.first() {
            steps.remove(k);
        }
    }
    Ok(())
}
