//! The whole state space as an explicit LTS: a sequential breadth-first search that keeps every transition.
//!
//! State numbers are the order of discovery, which depends on nothing but the network, so the same specification
//! always gives the same file. This is the search behind `lts`, `minimise` and `compare`; checking properties does not
//! need the transitions and has faster searches.

use crate::base::hash::{Map, Set};
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::{LeafIx, Local, Network, Outcome, Step, TableSource};

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

/// What an exploration may use, and whom it tells how far it is.
pub struct Options<'a> {
    /// The most states it may find.
    pub max_states: usize,
    /// Called every few thousand states; `false` stops the exploration.
    pub progress: &'a mut dyn FnMut(Progress) -> bool,
}

/// Explores a network. With a source, local states are expanded when they are first reached.
pub fn explore(
    net: &mut Network,
    source: Option<&mut dyn TableSource>,
    options: Options,
) -> Result<Lts, Stop> {
    let mut builder = Builder::new();
    let labels: &mut Map<u32, _> = &mut Map::default();
    run(net, source, options, &mut |net, from, label, to| {
        let label = *labels.entry(label).or_insert_with(|| builder.label(&net.labels[label as usize]));
        builder.add(State(from), label, State(to));
    })
    .map(|states| {
        builder.require_states(states);
        builder.finish(State(0))
    })
}

/// Explores a network only to expand the local states it reaches; `Ok(true)` if that was all of them.
pub fn warm_up(net: &mut Network, source: &mut dyn TableSource, options: Options) -> Result<bool, Stop> {
    match run(net, Some(source), options, &mut |_, _, _, _| {}) {
        Ok(_) => Ok(true),
        Err(Stop::Limit(_)) => Ok(false),
        // Where the specification has no meaning, the search that the user asked for will say so.
        Err(Stop::Fault { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}

/// The search itself: reports every transition as numbers, returns the number of states.
fn run(
    net: &mut Network,
    mut source: Option<&mut dyn TableSource>,
    options: Options,
    found: &mut dyn FnMut(&Network, u32, u32, u32),
) -> Result<u32, Stop> {
    let initial = net.initial();
    let mut numbers: Map<Box<[Local]>, u32> = Map::default();
    let mut order: Vec<Box<[Local]>> = vec![initial.clone().into()];
    let mut parents: Vec<u32> = vec![0];
    numbers.insert(initial.into(), 0);
    let mut steps: Vec<Step> = Vec::new();
    let mut seen: Set<(u32, u32)> = Set::default();
    let mut transitions = 0;
    let mut at = 0;
    while at < order.len() {
        let state = order[at].clone();
        if let Some(source) = &mut source {
            for (i, local) in state.iter().enumerate() {
                if !net.leaves[i].states[local.0 as usize].expanded {
                    source
                        .expand(net, LeafIx(i as u32), *local)
                        .map_err(|error| Stop::Source(error.to_string()))?;
                }
            }
        }
        net.successors(&state, &mut steps);
        seen.clear();
        for step in steps.drain(..) {
            let label = match net.vectors[step.vector.0 as usize].outcome {
                Outcome::Step(label) => label,
                Outcome::Fault(f) => {
                    return Err(Stop::Fault {
                        message: net.faults[f as usize].clone(),
                        trace: labels_to(net, &order, &parents, at as u32),
                    });
                }
            };
            let target: Box<[Local]> = step.target.into();
            let to = match numbers.get(&target) {
                Some(&to) => to,
                None => {
                    let progress = Progress { states: order.len(), expanded: at, transitions };
                    if order.len() >= options.max_states || order.len() >= u32::MAX as usize {
                        return Err(Stop::Limit(progress));
                    }
                    let to = order.len() as u32;
                    numbers.insert(target.clone(), to);
                    order.push(target);
                    parents.push(at as u32);
                    to
                }
            };
            // Two vectors may lead to the same place under the same label; that is one transition.
            if seen.insert((label.0, to)) {
                transitions += 1;
                found(net, at as u32, label.0, to);
            }
        }
        at += 1;
        if at.is_multiple_of(4096) {
            let progress = Progress { states: order.len(), expanded: at, transitions };
            if !(options.progress)(progress) {
                return Err(Stop::Interrupted(progress));
            }
        }
    }
    Ok(order.len() as u32)
}

/// The labels on the way to a state, found again by following parents.
fn labels_to(net: &Network, order: &[Box<[Local]>], parents: &[u32], mut at: u32) -> Vec<String> {
    let mut labels = Vec::new();
    let mut steps = Vec::new();
    while at != 0 {
        let parent = parents[at as usize];
        net.successors(&order[parent as usize], &mut steps);
        let step =
            steps.iter().find(|s| s.target[..] == order[at as usize][..]).expect("the parent leads here");
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
}
