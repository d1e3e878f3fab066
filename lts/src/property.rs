//! Properties of a network, and how they become part of it.
//!
//! A search knows two kinds of violation: a state without steps, and a step that carries a mark and turns out to be
//! forbidden. Both kinds of user-made properties end in the second: a forbidden vector is marked, and a
//! [`Monitor`] becomes one more leaf that takes part in the vectors it listens to, which are marked if they can make it
//! bad. So every search supports every such property. A [`Property::Formula`] is decided by a search of its own.
//!
//! Invariant of [`instrument`]: vectors keep their numbers, leaves keep theirs, and without its last leaves the
//! instrumented network has exactly the steps of the original one.

pub mod formula;
pub mod just;

use crate::base::error::{Error, Result};
use crate::base::hash::Map;
use crate::model::network::{LeafIx, Local, LocalLabel, Network, Outcome, VectorIx};
use crate::model::vector_set::VectorSet;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a marked step turns out to be. The order is the order of preference among equally short ones: a fault comes
/// first because a specification without meaning has no properties.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Finding {
    /// The vector's outcome is the fault of that index.
    Fault(u32),
    /// The step violates the property of that index.
    Property(usize),
}

/// What a state without steps is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeadEnd {
    /// All processes have terminated, and the property allows that. It does not count as a deadlock.
    Regular,
    /// A deadlock, with the index of the property that asks for freedom from it.
    Deadlock(Option<usize>),
}

impl DeadEnd {
    /// Whether the state counts as a deadlock.
    pub fn is_deadlock(self) -> bool {
        self != DeadEnd::Regular
    }

    /// The kind of finding, without the state.
    pub fn what(self) -> Option<What> {
        match self {
            DeadEnd::Deadlock(property) => property.map(What::Deadlock),
            DeadEnd::Regular => None,
        }
    }
}

/// The kinds of findings, in the order of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum What {
    /// A step whose outcome is the fault of that index.
    Fault(u32),
    /// A state without steps; the property of that index asks that there be none.
    Deadlock(usize),
    /// A step that violates the property of that index.
    Property(usize),
}

impl From<Finding> for What {
    fn from(finding: Finding) -> Self {
        match finding {
            Finding::Fault(fault) => What::Fault(fault),
            Finding::Property(property) => What::Property(property),
        }
    }
}

/// A predicate on the vectors of a network. It is asked once for each vector, also for those found during a search.
pub type VectorPredicate = Box<dyn Fn(&Network, VectorIx) -> bool + Send + Sync>;

/// What a search can check. A search may check several; they are known by their index.
pub enum Property {
    /// No reachable state is without steps.
    DeadlockFree {
        /// Whether a state in which all processes have terminated is none of these.
        allow_termination: bool,
    },
    /// No step of these vectors is reachable.
    Never(VectorPredicate),
    /// The monitor never becomes bad.
    Monitor(Monitor),
    /// The formula holds in the initial state. No step is marked for it: only [`crate::engine::game`] decides it.
    Formula(Box<dyn formula::Equations>),
}

impl std::fmt::Debug for Property {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Property::DeadlockFree { .. } => "DeadlockFree",
            Property::Never(_) => "Never",
            Property::Monitor(_) => "Monitor",
            Property::Formula(_) => "Formula",
        })
    }
}

/// The class of each vector of a network.
pub type Classify = Box<dyn Fn(&Network, VectorIx) -> u32 + Send + Sync>;

/// A deterministic finite automaton that reads the vectors of a run, class by class. Its initial state is 0. It is
/// total, so listening never disables a step.
pub struct Monitor {
    name: String,
    classify: Classify,
    next: Vec<Vec<u32>>,
    bad: Vec<bool>,
}

impl Monitor {
    /// A monitor. `next[state][class]` is the state after a vector of that class, `bad[state]` whether the property
    /// is violated there; `classify` must return a class below the length of the rows of `next`.
    pub fn new(
        name: impl Into<String>,
        classify: Classify,
        next: Vec<Vec<u32>>,
        bad: Vec<bool>,
    ) -> Result<Self> {
        let name = name.into();
        let classes = next.first().map_or(0, Vec::len);
        let total =
            next.iter().all(|row| row.len() == classes && row.iter().all(|&s| (s as usize) < next.len()));
        if classes == 0 || !total || bad.len() != next.len() || u32::try_from(next.len()).is_err() {
            return Err(Error::Internal(format!("the automaton of the monitor `{name}` is not total")));
        }
        Ok(Monitor { name, classify, next, bad })
    }

    /// The name of the leaf that the monitor becomes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of states.
    pub fn states(&self) -> usize {
        self.next.len()
    }

    /// The class of a vector.
    pub fn class(&self, net: &Network, vector: VectorIx) -> u32 {
        let class = (self.classify)(net, vector);
        assert!(
            (class as usize) < self.next[0].len(),
            "the classes of the monitor `{}` are total",
            self.name
        );
        class
    }

    /// The state after a vector of a class.
    pub fn next(&self, state: Local, class: u32) -> Local {
        Local(self.next[state.0 as usize][class as usize])
    }

    /// Whether the property is violated in a state.
    pub fn is_bad(&self, state: Local) -> bool {
        self.bad[state.0 as usize]
    }

    /// The number of classes.
    pub(crate) fn classes(&self) -> u32 {
        self.next[0].len() as u32
    }

    /// Whether some state changes with a vector of the class.
    pub(crate) fn listens_to(&self, class: u32) -> bool {
        self.next.iter().enumerate().any(|(state, row)| row[class as usize] as usize != state)
    }

    /// Whether a vector of the class can make the monitor bad.
    pub(crate) fn can_turn_bad(&self, class: u32) -> bool {
        self.next.iter().any(|row| self.bad[row[class as usize] as usize])
    }

    /// Adds the monitor to `net` as its last leaf. Vectors are classified as they are in `original`.
    fn compose(&self, original: &Network, net: &mut Network, alarms: &mut Alarms) -> LeafIx {
        let leaf = net.add_leaf(self.name.clone());
        for _ in 0..self.next.len() {
            let state = net.add_state(leaf);
            net.leaves[leaf.0 as usize].states[state.0 as usize].expanded = true;
        }
        let classes: Vec<LocalLabel> = (0..self.next[0].len())
            .map(|class| net.add_local_label(leaf, format!("class {class}")))
            .collect();
        for (state, row) in self.next.iter().enumerate() {
            for (&label, &to) in classes.iter().zip(row) {
                net.add_move(leaf, Local(state as u32), label, Local(to));
            }
        }
        for v in 0..net.vectors.len() {
            let vector = VectorIx(v as u32);
            if matches!(net.vectors[v].outcome, Outcome::Fault(_)) {
                continue;
            }
            let class = self.class(original, vector);
            if self.listens_to(class) {
                net.vectors[v].parts.push((leaf, classes[class as usize]));
                net.leaves[leaf.0 as usize].vectors_of[class as usize].push(vector);
            }
            if self.can_turn_bad(class) {
                alarms.marked.insert(vector);
            }
        }
        leaf
    }
}

/// What is known of a vector besides its parts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Mark {
    marked: bool,
    fault: Option<u32>,
    /// The properties that forbid it.
    never: Vec<usize>,
}

impl Mark {
    /// A number that equal marks share.
    pub(crate) fn print(&self) -> u64 {
        let fault = self.fault.map_or(0, |fault| u64::from(fault) + 1);
        let never = self.never.iter().fold(fault, |sum, &p| sum.wrapping_mul(31).wrapping_add(p as u64 + 1));
        2 * never + u64::from(self.marked)
    }
}

/// Which steps a search must look at, and what they then are.
#[derive(Clone, Default, Debug)]
pub struct Alarms {
    marked: VectorSet,
    faults: Map<VectorIx, u32>,
    never: Vec<(usize, VectorSet)>,
    monitors: Vec<(usize, LeafIx, Vec<bool>)>,
    /// The first property that asks for freedom from deadlock, and whether it allows termination.
    deadlock: Option<(usize, bool)>,
    /// For each leaf that is not a monitor its local state after termination.
    terminated: Vec<Option<Local>>,
}

impl Alarms {
    /// The alarms of a network without properties: its faults.
    pub fn faults_of(net: &Network) -> Self {
        let terminated = net.leaves.iter().map(|leaf| leaf.terminated).collect();
        let mut alarms = Alarms { terminated, ..Alarms::default() };
        for (v, vector) in net.vectors.iter().enumerate() {
            if let Outcome::Fault(fault) = vector.outcome {
                alarms.faults.insert(VectorIx(v as u32), fault);
                alarms.marked.insert(VectorIx(v as u32));
            }
        }
        alarms
    }

    /// Whether the steps of a vector carry a mark.
    pub fn is_marked(&self, vector: VectorIx) -> bool {
        self.marked.contains(vector)
    }

    /// Whether a vector is a fault or forbidden, no matter where its steps lead.
    pub(crate) fn is_forbidden(&self, vector: VectorIx) -> bool {
        self.faults.contains_key(&vector) || self.never.iter().any(|(_, set)| set.contains(vector))
    }

    /// Whether a leaf is a monitor, and bad in a state.
    pub(crate) fn is_bad(&self, leaf: LeafIx, state: Local) -> bool {
        self.monitors.iter().any(|(_, monitor, bad)| *monitor == leaf && bad[state.0 as usize])
    }

    /// What is known of a vector.
    pub(crate) fn mark(&self, vector: VectorIx) -> Mark {
        let never = self.never.iter().filter(|(_, set)| set.contains(vector)).map(|(property, _)| *property);
        Mark {
            marked: self.is_marked(vector),
            fault: self.faults.get(&vector).copied(),
            never: never.collect(),
        }
    }

    /// The property whose monitor a leaf is.
    pub(crate) fn monitor(&self, leaf: LeafIx) -> Option<usize> {
        self.monitors.iter().find(|(_, monitor, _)| *monitor == leaf).map(|m| m.0)
    }

    /// What a state without steps is, given its local states.
    pub fn dead_end(&self, local: impl Fn(LeafIx) -> Local) -> DeadEnd {
        let ended = || {
            let leaves = (0..).map(LeafIx).zip(&self.terminated);
            leaves.into_iter().all(|(leaf, terminated)| *terminated == Some(local(leaf)))
        };
        match self.deadlock {
            Some((_, true)) if ended() => DeadEnd::Regular,
            deadlock => DeadEnd::Deadlock(deadlock.map(|(property, _)| property)),
        }
    }

    /// What a step is, given the local states of its target.
    pub fn finding(&self, vector: VectorIx, local: impl Fn(LeafIx) -> Local) -> Option<Finding> {
        if let Some(&fault) = self.faults.get(&vector) {
            return Some(Finding::Fault(fault));
        }
        let never = self.never.iter().filter(|(_, set)| set.contains(vector)).map(|(property, _)| *property);
        let bad = self.monitors.iter().filter(|(_, leaf, bad)| bad[local(*leaf).0 as usize]).map(|m| m.0);
        never.chain(bad).min().map(Finding::Property)
    }

    /// Everything that a step is, given the local states before and after it; of monitors only those that it made bad.
    pub fn findings(
        &self,
        vector: VectorIx,
        before: impl Fn(LeafIx) -> Local,
        after: impl Fn(LeafIx) -> Local,
        found: &mut Vec<Finding>,
    ) {
        if let Some(&fault) = self.faults.get(&vector) {
            found.push(Finding::Fault(fault));
            return;
        }
        let never = self.never.iter().filter(|(_, set)| set.contains(vector)).map(|(property, _)| *property);
        let turned = |(_, leaf, bad): &&(usize, LeafIx, Vec<bool>)| {
            bad[after(*leaf).0 as usize] && !bad[before(*leaf).0 as usize]
        };
        let turned = self.monitors.iter().filter(turned).map(|m| m.0);
        found.extend(never.chain(turned).map(Finding::Property));
    }
}

/// A network with its properties built in.
#[derive(Debug)]
pub struct Instrumented<'a> {
    /// The network, with one more leaf for each monitor.
    pub network: Cow<'a, Network>,
    /// Which of its steps are findings.
    pub alarms: Alarms,
}

/// The property that decides about deadlocks, and whether it allows termination. Of several it is the first of the
/// strictest: what it accepts, all accept.
pub fn deadlock_freedom(properties: &[Property]) -> Option<(usize, bool)> {
    let asked = properties.iter().enumerate().filter_map(|(index, property)| match property {
        Property::DeadlockFree { allow_termination } => Some((index, *allow_termination)),
        Property::Never(_) | Property::Monitor(_) | Property::Formula(_) => None,
    });
    asked.min_by_key(|(_, allow_termination)| *allow_termination)
}

/// Builds properties into a network whose tables are complete.
pub fn instrument<'a>(net: &'a Network, properties: &[Property]) -> Instrumented<'a> {
    let mut network = Cow::Borrowed(net);
    let mut alarms = Alarms::faults_of(net);
    alarms.deadlock = deadlock_freedom(properties);
    for (index, property) in properties.iter().enumerate() {
        match property {
            Property::DeadlockFree { .. } => {}
            Property::Never(forbidden) => {
                let mut set = VectorSet::default();
                for v in (0..net.vectors.len() as u32).map(VectorIx).filter(|&v| forbidden(net, v)) {
                    set.insert(v);
                    alarms.marked.insert(v);
                }
                alarms.never.push((index, set));
            }
            Property::Monitor(monitor) => {
                let leaf = monitor.compose(net, network.to_mut(), &mut alarms);
                alarms.monitors.push((index, leaf, monitor.bad.clone()));
            }
            Property::Formula(_) => {}
        }
    }
    Instrumented { network, alarms }
}

/// The least property that is violated before the first step: a monitor that starts bad.
pub fn violated_initially(properties: &[Property]) -> Option<usize> {
    properties.iter().position(|p| matches!(p, Property::Monitor(m) if m.is_bad(Local(0))))
}

/// The index of the first property that asks for freedom from deadlock.
pub fn asks_for_deadlocks(properties: &[Property]) -> Option<usize> {
    properties.iter().position(|p| matches!(p, Property::DeadlockFree { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::samples::random::{self, Shape};
    use std::collections::BTreeSet;

    /// The instrumented network steps like the original beside the monitors.
    #[test]
    fn monitors_follow_and_change_nothing() {
        for seed in 0..300 {
            let net = Shape { faults: 20, ..Shape::default() }.network(seed);
            let rng = &mut Rng::new(seed);
            let properties: Vec<Property> =
                (0..2).map(|k| Property::Monitor(random::monitor(&format!("m{k}"), rng))).collect();
            let Instrumented { network, alarms } = instrument(&net, &properties);
            let leaves = net.leaves.len();
            assert_eq!(network.leaves.len(), leaves + 2);
            let (mut original, mut composed) = (Vec::new(), Vec::new());
            let mut seen = BTreeSet::from([network.initial()]);
            let mut queue: Vec<_> = seen.iter().cloned().collect();
            while let Some(state) = queue.pop() {
                net.successors(&state[..leaves], &mut original);
                network.successors(&state, &mut composed);
                assert_eq!(original.len(), composed.len(), "seed {seed}");
                for step in &original {
                    let mut target = step.target.clone();
                    let fault = matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_));
                    let (mut bad, mut turned) = (None, Vec::new());
                    for (k, property) in properties.iter().enumerate() {
                        let Property::Monitor(monitor) = property else { unreachable!() };
                        let class = if fault { None } else { Some(monitor.class(&net, step.vector)) };
                        let now = state[leaves + k];
                        target.push(class.map_or(now, |class| monitor.next(now, class)));
                        let finding = monitor.is_bad(target[leaves + k]).then_some(Finding::Property(k));
                        bad = bad.or(finding);
                        turned.extend(finding.filter(|_| !monitor.is_bad(now)));
                    }
                    assert!(
                        composed.iter().any(|c| c.vector == step.vector && c.target == target),
                        "seed {seed}"
                    );
                    if !fault {
                        let finding = alarms.finding(step.vector, |leaf| target[leaf.0 as usize]);
                        assert_eq!(finding, bad);
                        let mut findings = Vec::new();
                        let (before, after) =
                            (|l: LeafIx| state[l.0 as usize], |l: LeafIx| target[l.0 as usize]);
                        alarms.findings(step.vector, before, after, &mut findings);
                        assert_eq!(findings, turned, "seed {seed}");
                        // From a state that is not bad yet, every finding is also marked.
                        let was_bad = alarms.finding(step.vector, |leaf| state[leaf.0 as usize]).is_some();
                        assert!(was_bad || bad.is_none() || alarms.is_marked(step.vector), "seed {seed}");
                    }
                    if seen.len() < 200 && seen.insert(target.clone()) {
                        queue.push(target);
                    }
                }
            }
        }
    }

    #[test]
    fn a_monitor_must_be_total() {
        let make =
            |next: Vec<Vec<u32>>, bad: usize| Monitor::new("m", Box::new(|_, _| 0), next, vec![false; bad]);
        assert!(make(vec![vec![0, 1], vec![1, 1]], 2).is_ok());
        assert!(make(vec![], 0).is_err());
        assert!(make(vec![vec![]], 1).is_err());
        assert!(make(vec![vec![0, 1], vec![1]], 2).is_err());
        assert!(make(vec![vec![0, 2], vec![1, 1]], 2).is_err());
        assert!(make(vec![vec![0]], 2).is_err());
    }
}
