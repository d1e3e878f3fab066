//! A walk through the state space: its states, and the possible moves.
//!
//! A walk is a list of moves from the initial state. The page keeps that list; this module keeps the last walk that was asked
//! for, so that the next one, which usually differs only at its end, costs one step. Invariant: `states` has the initial
//! state and one more for each of `moves`, each is reached by its move from the one before, and none of the moves is a fault.

use crate::input::Stoppable;
use crate::watch::Watch;
use gridlock_lang::system::System;
use gridlock_lts::model::network::{
    LeafIx, Local, LocalLabel, Network, Outcome, Step, TableSource, VectorIx,
};
use gridlock_lts::model::trace::Trace;
use serde::{Deserialize, Serialize};

/// The most steps of a walk: its states are kept, and a browser has to draw it.
pub const LONGEST: usize = 10_000;

/// The identity of a step: the vector, and the number of one of the combinations of local moves that it stands for, counted
/// as an odometer does, the last participant fastest. Tables that grow change neither.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move(pub u32, pub u64);

/// See the module head.
pub struct Walk {
    /// The system.
    pub system: System,
    moves: Vec<Move>,
    states: Vec<Vec<Local>>,
}

impl Walk {
    /// A walk of no steps.
    pub fn new(system: System) -> Self {
        let initial = system.network.initial();
        Walk { system, moves: Vec::new(), states: vec![initial] }
    }

    /// The states of the walk, the initial one first.
    pub fn states(&self) -> &[Vec<Local>] {
        &self.states
    }

    /// Makes the walk consist of these moves. On failure the walk ends before the move that is not possible.
    pub fn follow(&mut self, moves: &[Move], watch: &Watch) -> Result<(), String> {
        if moves.len() > LONGEST {
            return Err(format!("a walk has at most {LONGEST} steps"));
        }
        let common = self.moves.iter().zip(moves).take_while(|(a, b)| a == b).count();
        self.moves.truncate(common);
        self.states.truncate(common + 1);
        for &step in &moves[common..] {
            let from = self.states[self.states.len() - 1].clone();
            self.expand(&from, watch)?;
            let target = target(&self.system.network, &from, step)
                .ok_or_else(|| format!("step {} is not possible there", self.states.len()))?;
            self.moves.push(step);
            self.states.push(target);
        }
        Ok(())
    }

    /// Expands a state, so that its steps are known.
    pub fn expand(&mut self, state: &[Local], watch: &Watch) -> Result<(), String> {
        let System { network, builder, .. } = &mut self.system;
        let mut source = Stoppable { builder, watch };
        (0..)
            .map(LeafIx)
            .zip(state)
            .try_for_each(|(leaf, local)| source.expand(network, leaf, *local))
            .map_err(|e| e.to_string())
    }

    /// Some steps of the walk.
    pub fn steps(&self, from: usize, to: usize) -> Trace {
        let step = |k: usize| Step { vector: VectorIx(self.moves[k].0), target: self.states[k + 1].clone() };
        Trace { steps: (from..to).map(step).collect() }
    }
}

/// The number of combinations that an enabled vector stands for; 0 if it is not enabled.
fn combinations(net: &Network, state: &[Local], parts: &[(LeafIx, LocalLabel)]) -> u64 {
    let moves = |&(leaf, label): &(LeafIx, LocalLabel)| {
        net.moves_with(leaf, state[leaf.0 as usize], label).len() as u64
    };
    parts.iter().map(moves).fold(1, u64::saturating_mul)
}

/// Calls `visit` with each enabled vector and its number of combinations, in the order of [`Network::successors`]. All
/// local states must be expanded.
pub fn enabled(net: &Network, state: &[Local], mut visit: impl FnMut(VectorIx, u64)) {
    for (i, leaf) in net.leaves.iter().enumerate() {
        let mut last = None;
        for &(label, _) in &leaf.states[state[i].0 as usize].moves {
            if last.replace(label) == Some(label) {
                continue;
            }
            for &v in &leaf.vectors_of[label.0 as usize] {
                let parts = &net.vectors[v.0 as usize].parts;
                let number = if parts[0].0.0 as usize == i { combinations(net, state, parts) } else { 0 };
                if number > 0 {
                    visit(v, number);
                }
            }
        }
    }
}

/// The state to which a combination of an enabled vector leads, also if it is a fault.
pub fn arrival(net: &Network, state: &[Local], step: Move) -> Option<Vec<Local>> {
    let parts = &net.vectors.get(step.0 as usize)?.parts;
    if step.1 >= combinations(net, state, parts) {
        return None;
    }
    let (mut target, mut rest) = (state.to_vec(), step.1);
    for &(leaf, label) in parts.iter().rev() {
        let choices = net.moves_with(leaf, state[leaf.0 as usize], label);
        target[leaf.0 as usize] = choices[(rest % choices.len() as u64) as usize].1;
        rest /= choices.len() as u64;
    }
    Some(target)
}

/// The state to which a move leads; `None` if it is not possible or a fault.
fn target(net: &Network, state: &[Local], step: Move) -> Option<Vec<Local>> {
    match net.vectors.get(step.0 as usize)?.outcome {
        Outcome::Step(_) => arrival(net, state, step),
        Outcome::Fault(_) => None,
    }
}

/// The moves of a trace, up to the first that is a fault or does not fit.
pub fn moves(net: &Network, trace: &Trace) -> Vec<Move> {
    let mut state = net.initial();
    let mut moves = Vec::new();
    for step in &trace.steps {
        let Some(number) = number(net, &state, step) else { break };
        moves.push(Move(step.vector.0, number));
        state.clone_from(&step.target);
    }
    moves
}

fn number(net: &Network, state: &[Local], step: &Step) -> Option<u64> {
    let vector = net.vectors.get(step.vector.0 as usize)?;
    if matches!(vector.outcome, Outcome::Fault(_)) {
        return None;
    }
    vector.parts.iter().try_fold(0u64, |number, &(leaf, label)| {
        let choices = net.moves_with(leaf, state[leaf.0 as usize], label);
        let choice = choices.iter().position(|m| m.1 == step.target[leaf.0 as usize])?;
        number.checked_mul(choices.len() as u64)?.checked_add(choice as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;
    use gridlock_lts::samples::random::Shape;

    /// Everything that is possible, by the functions of this module.
    fn all(net: &Network, state: &[Local]) -> Vec<Step> {
        let mut steps = Vec::new();
        enabled(net, state, |v, n| {
            let step = |k| Step { vector: v, target: arrival(net, state, Move(v.0, k)).expect("possible") };
            steps.extend((0..n).map(step));
            assert_eq!(arrival(net, state, Move(v.0, n)), None, "there are no more than that");
        });
        steps
    }

    #[test]
    fn moves_are_the_steps_of_the_naive_successor_function() {
        let (mut rng, mut several) = (Rng::new(11), 0);
        for seed in 0..200 {
            let net = Shape::default().network(seed);
            let (mut trace, mut successors) = (Trace::default(), Vec::new());
            for _ in 0..12 {
                let state = trace.end(&net);
                net.successors(&state, &mut successors);
                assert_eq!(all(&net, &state), successors, "seed {seed}");
                enabled(&net, &state, |_, n| several += usize::from(n > 1));
                if successors.is_empty() {
                    break;
                }
                trace.steps.push(successors.swap_remove(rng.below(successors.len())));
            }
            let mut state = net.initial();
            let walked = moves(&net, &trace);
            assert_eq!(walked.len(), trace.len());
            for (step, k) in trace.steps.iter().zip(walked) {
                state = target(&net, &state, k).expect("possible");
                assert_eq!(state, step.target, "seed {seed}");
            }
        }
        assert!(several > 100, "vectors with several combinations occur: {several}");
    }

    #[test]
    fn what_is_not_possible_leads_nowhere() {
        let net = Shape::default().network(1);
        assert_eq!(target(&net, &net.initial(), Move(u32::MAX, 0)), None);
        assert_eq!(target(&net, &net.initial(), Move(0, u64::MAX)), None);
    }
}
