//! The whole state space as an explicit LTS: a sequential breadth-first search that keeps every transition.
//!
//! State numbers are the order of discovery, which depends on nothing but the network, so the same specification
//! always gives the same file. This is the search behind `lts`, `minimise` and `compare`; checking properties does not
//! need the transitions and has faster searches.

use crate::base::hash::{Hasher, Map, Set};
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::{Label, LeafIx, Local, Network, Outcome, Step, TableSource, VectorIx};
use crate::property::{Monitor, Property, VectorPredicate, deadlock_freedom};
use hashbrown::HashTable;
use std::hash::{Hash, Hasher as _};

/// How far an exploration has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// States found.
    pub states: usize,
    /// States whose transitions are known.
    pub expanded: usize,
    /// Transitions found.
    pub transitions: usize,
}

/// Looks at labels, vectors and steps between two reports: a tenth of a second at most.
const BETWEEN_REPORTS: u64 = 1 << 18;

/// States that a search which only fills tables expands after it saw a violation, besides as many as before it. A system
/// that is no larger gets complete tables; in any other the search that the user asked for is soon over.
const AFTER_VIOLATION: usize = 1 << 14;

/// Why an exploration did not end with the whole state space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The specification has no meaning in a reachable state; the labels lead there.
    Fault {
        /// What is wrong.
        message: String,
        /// The labels of a shortest way to it.
        trace: Vec<String>,
    },
    /// More states than allowed.
    Limit(Progress),
    /// The caller asked to stop.
    Interrupted(Progress),
    /// The source of the tables failed.
    Source(String),
}

/// The limits of an exploration, and where it reports progress.
pub struct Options<'a> {
    /// The most states it may find.
    pub max_states: usize,
    /// Called every few thousand states, or earlier if they have many steps; `false` stops the exploration.
    pub progress: &'a mut dyn FnMut(Progress) -> bool,
}

/// Explores a network. With a source, local states are expanded when they are first reached.
pub fn explore(
    net: &mut Network,
    source: Option<&mut dyn TableSource>,
    options: Options,
) -> Result<Lts, Stop> {
    let mut all = Transitions { builder: Builder::new(), labels: Map::default() };
    let states = run(net, source, options, u64::MAX, &mut all)?;
    all.builder.require_states(states);
    Ok(all.builder.finish(State(0)))
}

/// The result of a search that only filled tables.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// Whether it saw the whole state space, so that nothing is left to be expanded.
    pub complete: bool,
    /// Whether it saw a violation of a property. It may overlook one of a monitor, which it follows along one way to
    /// each state only.
    pub violated: bool,
}

/// Explores a network only to expand the local states it reaches. The reason for an early stop does not matter: if a
/// reachable state has no meaning, the search that the user asked for reports it. It stops after `most_looks` at labels,
/// vectors and steps: states whose processes have thousands of steps each take much longer than others. `early`: it also
/// ends soon after it has seen a violation.
pub fn warm_up(
    net: &mut Network,
    source: &mut dyn TableSource,
    properties: &[Property],
    early: bool,
    options: Options,
    most_looks: u64,
) -> WarmUp {
    let mut alarms = Alarms { early, ..Alarms::new(properties) };
    let complete = run(net, Some(source), options, most_looks, &mut alarms).is_ok();
    WarmUp { complete, violated: alarms.violated }
}

/// Receives what a search sees. States are given by their numbers.
trait Listener {
    /// A step, also if another one has the same label and target. `fresh` if it is the first way to its target.
    fn step(&mut self, net: &Network, from: u32, vector: VectorIx, fresh: bool);
    /// A transition, once for every label and target.
    fn transition(&mut self, net: &Network, from: u32, label: Label, to: u32);
    /// A state without steps.
    fn dead_end(&mut self, net: &Network, state: &[Local]);
    /// Whether the rest need not be seen, after this number of states was expanded.
    fn is_satisfied(&mut self, _expanded: usize) -> bool {
        false
    }
}

/// Keeps every transition.
struct Transitions {
    builder: Builder,
    labels: Map<Label, Label>,
}

impl Listener for Transitions {
    fn step(&mut self, _: &Network, _: u32, _: VectorIx, _: bool) {}

    fn transition(&mut self, net: &Network, from: u32, label: Label, to: u32) {
        let builder = &mut self.builder;
        let label = *self.labels.entry(label).or_insert_with(|| builder.label(&net.labels[label.0 as usize]));
        builder.add(State(from), label, State(to));
    }

    fn dead_end(&mut self, _: &Network, _: &[Local]) {}
}

/// Looks for violations.
struct Alarms<'p> {
    /// Whether the property that asks for freedom from deadlock allows termination; none if there is no such property.
    termination_allowed: Option<bool>,
    never: Vec<&'p VectorPredicate>,
    monitors: Vec<&'p Monitor>,
    /// For each vector that was asked about, whether it is forbidden.
    forbidden: Map<VectorIx, bool>,
    /// For each state the states of all monitors on the first way to it.
    followed: Vec<Local>,
    violated: bool,
    /// Whether the rest need not be seen after a violation.
    early: bool,
    /// How many states were expanded when it saw the violation.
    violated_at: Option<usize>,
}

impl<'p> Alarms<'p> {
    fn new(properties: &'p [Property]) -> Self {
        let termination_allowed = deadlock_freedom(properties).map(|(_, allowed)| allowed);
        let (mut never, mut monitors) = (Vec::new(), Vec::new());
        for property in properties {
            match property {
                Property::DeadlockFree { .. } => {}
                Property::Never(forbidden) => never.push(forbidden),
                Property::Monitor(monitor) => monitors.push(monitor),
                Property::Formula(_) => {}
            }
        }
        let followed = vec![Local(0); monitors.len()];
        Alarms {
            termination_allowed,
            never,
            monitors,
            forbidden: Map::default(),
            followed,
            violated: false,
            early: true,
            violated_at: None,
        }
    }
}

impl Listener for Alarms<'_> {
    fn step(&mut self, net: &Network, from: u32, vector: VectorIx, fresh: bool) {
        if !self.never.is_empty() {
            let never = &self.never;
            let forbidden = self.forbidden.entry(vector);
            self.violated |= *forbidden.or_insert_with(|| never.iter().any(|forbids| forbids(net, vector)));
        }
        for (m, monitor) in self.monitors.iter().enumerate() {
            let before = self.followed[from as usize * self.monitors.len() + m];
            let after = monitor.next(before, monitor.class(net, vector));
            self.violated |= monitor.is_bad(after);
            if fresh {
                self.followed.push(after);
            }
        }
    }

    fn transition(&mut self, _: &Network, _: u32, _: Label, _: u32) {}

    fn dead_end(&mut self, net: &Network, state: &[Local]) {
        let is_deadlock = |allowed: bool| !(allowed && net.is_terminated(state));
        self.violated |= self.termination_allowed.is_some_and(is_deadlock);
    }

    fn is_satisfied(&mut self, expanded: usize) -> bool {
        self.early
            && self.violated
            && expanded >= 2 * *self.violated_at.get_or_insert(expanded) + AFTER_VIOLATION
    }
}

/// The states found so far, by number, all in one place.
struct States {
    leaves: usize,
    locals: Vec<Local>,
    numbers: HashTable<u32>,
    /// For each state the one it was found from.
    parents: Vec<u32>,
}

impl States {
    fn new(initial: &[Local]) -> Self {
        let mut states = States {
            leaves: initial.len(),
            locals: Vec::new(),
            numbers: HashTable::new(),
            parents: Vec::new(),
        };
        states.number(initial, 0, 1);
        states
    }

    fn len(&self) -> usize {
        self.parents.len()
    }

    fn get(&self, number: u32) -> &[Local] {
        &self.locals[number as usize * self.leaves..][..self.leaves]
    }

    /// The number of a state, and whether it is new; nothing if it is new and there are `most` already.
    fn number(&mut self, state: &[Local], parent: u32, most: usize) -> Option<(u32, bool)> {
        let hash = |state: &[Local]| {
            let mut hasher = Hasher::default();
            state.hash(&mut hasher);
            hasher.finish()
        };
        let States { leaves, locals, numbers, parents } = self;
        let at = |number: u32| &locals[number as usize * *leaves..][..*leaves];
        let hashed = hash(state);
        if let Some(&number) = numbers.find(hashed, |&number| at(number) == state) {
            return Some((number, false));
        }
        if parents.len() >= most {
            return None;
        }
        let number = parents.len() as u32;
        numbers.insert_unique(hashed, number, |&number| hash(at(number)));
        locals.extend_from_slice(state);
        parents.push(parent);
        Some((number, true))
    }
}

/// The search itself; returns the number of states.
fn run(
    net: &mut Network,
    mut source: Option<&mut dyn TableSource>,
    options: Options,
    most_looks: u64,
    listener: &mut dyn Listener,
) -> Result<u32, Stop> {
    let most = options.max_states.min(u32::MAX as usize);
    let mut states = States::new(&net.initial());
    let mut state = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    let mut seen: Set<(Label, u32)> = Set::default();
    let mut transitions = 0;
    let mut at = 0;
    let (mut looks, mut told) = (0u64, 0);
    while at < states.len() {
        let from = at as u32;
        state.clear();
        state.extend_from_slice(states.get(from));
        if let Some(source) = &mut source {
            for (i, local) in state.iter().enumerate() {
                if !net.leaves[i].states[local.0 as usize].expanded {
                    source
                        .expand(net, LeafIx(i as u32), *local)
                        .map_err(|error| Stop::Source(error.to_string()))?;
                }
            }
        }
        looks += net.successors(&state, &mut steps);
        if steps.is_empty() {
            listener.dead_end(net, &state);
        }
        seen.clear();
        for step in steps.drain(..) {
            let label = match net.vectors[step.vector.0 as usize].outcome {
                Outcome::Step(label) => label,
                Outcome::Fault(f) => {
                    return Err(Stop::Fault {
                        message: net.faults[f as usize].clone(),
                        trace: labels_to(net, &states, from),
                    });
                }
            };
            let Some((to, fresh)) = states.number(&step.target, from, most) else {
                return Err(Stop::Limit(Progress { states: states.len(), expanded: at, transitions }));
            };
            listener.step(net, from, step.vector, fresh);
            // Two vectors may lead to the same place under the same label; that is one transition.
            if seen.insert((label, to)) {
                transitions += 1;
                listener.transition(net, from, label, to);
            }
        }
        at += 1;
        let progress = Progress { states: states.len(), expanded: at, transitions };
        let enough = looks > most_looks || listener.is_satisfied(at);
        if enough && at < states.len() {
            return Err(Stop::Limit(progress));
        }
        if at.is_multiple_of(4096) || looks - told > BETWEEN_REPORTS {
            told = looks;
            if !(options.progress)(progress) {
                return Err(Stop::Interrupted(progress));
            }
        }
    }
    Ok(states.len() as u32)
}

/// The labels on the way to a state, found again by following parents.
fn labels_to(net: &Network, states: &States, mut at: u32) -> Vec<String> {
    let mut labels = Vec::new();
    let mut steps = Vec::new();
    while at != 0 {
        let parent = states.parents[at as usize];
        net.successors(states.get(parent), &mut steps);
        let step = steps.iter().find(|s| s.target[..] == *states.get(at)).expect("the parent leads here");
        if let Outcome::Step(label) = net.vectors[step.vector.0 as usize].outcome {
            labels.push(net.labels[label.0 as usize].clone());
        }
        at = parent;
    }
    labels.reverse();
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Error;
    use crate::model::network::Label;

    fn two_coins() -> Network {
        let mut net = Network::new();
        for leaf in 0..2 {
            let leaf = net.add_leaf(format!("coin {leaf}"));
            for _ in 0..2 {
                let s = net.add_state(leaf);
                net.leaves[leaf.0 as usize].states[s.0 as usize].expanded = true;
            }
            let flip = net.add_local_label(leaf, "flip");
            net.add_move(leaf, Local(0), flip, Local(1));
            let visible = net.label("flip");
            net.add_vector(vec![(leaf, flip)], Outcome::Step(visible), visible);
        }
        net
    }

    #[test]
    fn every_state_and_transition_once() {
        let mut net = two_coins();
        let lts =
            explore(&mut net, None, Options { max_states: 10, progress: &mut |_| true }).expect("small");
        assert_eq!((lts.num_states(), lts.num_transitions()), (4, 4));
    }

    #[test]
    fn limits_and_faults_end_it() {
        let mut net = two_coins();
        let stopped = explore(&mut net, None, Options { max_states: 3, progress: &mut |_| true });
        assert!(matches!(stopped, Err(Stop::Limit(p)) if p.states == 3));
        let broken = net.add_local_label(LeafIx(0), "broken");
        net.add_move(LeafIx(0), Local(1), broken, Local(1));
        net.faults.push("no meaning".into());
        net.add_vector(vec![(LeafIx(0), broken)], Outcome::Fault(0), Label::TAU);
        let stopped = explore(&mut net, None, Options { max_states: 10, progress: &mut |_| true });
        assert_eq!(
            stopped.err(),
            Some(Stop::Fault { message: "no meaning".into(), trace: vec!["flip".into()] })
        );
    }

    /// Everything is expanded already.
    struct Nothing;

    impl TableSource for Nothing {
        fn expand(&mut self, _: &mut Network, _: LeafIx, _: Local) -> Result<(), Error> {
            Err(Error::internal("nothing to expand"))
        }

        fn describe(&self, _: LeafIx, _: Local) -> String {
            String::new()
        }
    }

    #[test]
    fn a_warm_up_sees_violations() {
        let flips = |bad_after: usize| {
            let next = (0..4).map(|state: u32| vec![(state + 1).min(3)]).collect();
            let bad = (0..4).map(|state| state >= bad_after).collect();
            let monitor = Monitor::new("flips", Box::new(|_, _| 0), next, bad);
            Property::Monitor(monitor.expect("a total automaton"))
        };
        let never = |vector: u32| Property::Never(Box::new(move |_, v| v == VectorIx(vector)));
        let cases = [
            (Property::DeadlockFree { allow_termination: false }, 10, true, true),
            (Property::DeadlockFree { allow_termination: true }, 10, true, true),
            (never(1), 10, true, true),
            (never(7), 10, true, false),
            (never(0), 2, false, true),
            (flips(2), 10, true, true),
            (flips(3), 10, true, false),
        ];
        for (k, (property, max_states, complete, violated)) in cases.into_iter().enumerate() {
            let options = Options { max_states, progress: &mut |_| true };
            let warm = warm_up(&mut two_coins(), &mut Nothing, &[property], true, options, u64::MAX);
            assert_eq!(warm, WarmUp { complete, violated }, "case {k}");
        }
    }

    #[test]
    fn a_warm_up_ends_soon_after_a_violation() {
        // A row of states, and a step of it that is forbidden.
        let row = |states: u32, bad: u32| {
            let mut net = Network::new();
            let leaf = net.add_leaf("row");
            let visible = net.label("on");
            for k in 0..states {
                let state = net.add_state(leaf);
                net.leaves[0].states[k as usize].expanded = true;
                let on = net.add_local_label(leaf, format!("on {k}"));
                net.add_vector(vec![(leaf, on)], Outcome::Step(visible), visible);
                if k + 1 < states {
                    net.add_move(leaf, state, on, Local(k + 1));
                }
            }
            let forbidden = [Property::Never(Box::new(move |_, vector| vector == VectorIx(bad)))];
            let options = Options { max_states: usize::MAX, progress: &mut |_| true };
            warm_up(&mut net, &mut Nothing, &forbidden, true, options, u64::MAX)
        };
        let more = AFTER_VIOLATION as u32;
        let seen = |complete, violated| WarmUp { complete, violated };
        assert_eq!(row(10, 5), seen(true, true));
        assert_eq!(row(2 * 11 + more, 10), seen(true, true));
        assert_eq!(row(2 * 11 + more + 1, 10), seen(false, true));
        assert_eq!(row(2 * 11 + more + 1, u32::MAX), seen(true, false));
    }

    #[test]
    fn a_warm_up_stops_after_a_number_of_looks() {
        let mut steps = Vec::new();
        let mut net = two_coins();
        let first = net.successors(&net.initial(), &mut steps);
        assert!(first >= steps.len() as u64 && first < 20, "{first}");
        let mut complete = |looks| {
            let options = Options { max_states: 10, progress: &mut |_| true };
            warm_up(&mut net, &mut Nothing, &[], true, options, looks).complete
        };
        assert!(!complete(0) && !complete(first));
        assert!(complete(100));
    }
}
