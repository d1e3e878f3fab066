//! An estimate of what putting two components together gains.
//!
//! Every step of one component goes with every state of the other, and every two steps that go together with each other:
//! the product has at most this number of transitions, if all of it is reachable. A pair is good if its transitions are
//! mostly hidden, because no other component takes part, and mostly made by both sides together, because steps of one side
//! alone only interleave. Both are shares of the estimate, and their sum is what pairs are ordered by.
//!
//! Both measures, of hiding and of interleaving, are after P. Crouzen and F. Lang, "Smart Reduction" (FASE 2011).

use super::system::{FIRST, System, TAU};
use crate::base::hash::Map;

/// How many moves of each label a component has, and how many states.
struct Counted {
    states: f64,
    tau: f64,
    moves: Vec<f64>,
}

/// What is estimated of one pair: transitions of the product.
#[derive(Clone, Copy, Default)]
struct Estimate {
    all: f64,
    hidden: f64,
    together: f64,
}

/// For pairs of slots what they promise, in millionths: at most two millions.
pub(super) struct Estimates {
    of: Map<(u32, u32), u64>,
}

impl Estimates {
    pub(super) fn new(system: &System, pairs: &[(u32, u32)]) -> Self {
        let counted: Vec<Option<Counted>> =
            system.components.iter().map(|component| Some(count(component.as_deref()?))).collect();
        let mut syncs_of: Vec<Vec<u32>> = vec![Vec::new(); system.components.len()];
        for (ix, sync) in (0u32..).zip(&system.syncs) {
            sync.iter().for_each(|part| syncs_of[part.0 as usize].push(ix));
        }
        let of = |&pair: &(u32, u32)| {
            let (Some(a), Some(b)) = (&counted[pair.0 as usize], &counted[pair.1 as usize]) else {
                return (pair, 0);
            };
            let alone = a.tau * b.states + b.tau * a.states;
            let mut sum = Estimate { all: alone, hidden: alone, together: 0.0 };
            for &ix in &syncs_of[pair.0 as usize] {
                let sync = &system.syncs[ix as usize];
                let own = moves(a, sync, pair.0);
                match sync.iter().any(|part| part.0 == pair.1) {
                    true => {
                        let both = own * moves(b, sync, pair.1);
                        sum.add(both, sync.len() == 2);
                        sum.together += both;
                    }
                    false => sum.add(own * b.states, sync.len() == 1),
                }
            }
            for &ix in &syncs_of[pair.1 as usize] {
                let sync = &system.syncs[ix as usize];
                if !sync.iter().any(|part| part.0 == pair.0) {
                    sum.add(moves(b, sync, pair.1) * a.states, sync.len() == 1);
                }
            }
            (pair, sum.promise())
        };
        Estimates { of: pairs.iter().map(of).collect() }
    }

    /// What a pair promises: the more the better.
    pub(super) fn promise(&self, pair: (u32, u32)) -> u64 {
        self.of.get(&pair).copied().unwrap_or(0)
    }
}

impl Estimate {
    fn add(&mut self, transitions: f64, hidden: bool) {
        self.all += transitions;
        self.hidden += if hidden { transitions } else { 0.0 };
    }

    fn promise(self) -> u64 {
        match self.all > 0.0 {
            true => ((self.hidden + self.together) / self.all * 1e6) as u64,
            false => 0,
        }
    }
}

fn count(component: &super::system::Component) -> Counted {
    let lts = &component.lts;
    let mut moves = vec![0.0; lts.labels().len().max(FIRST as usize)];
    for (_, label, _) in lts.transitions() {
        moves[label.0 as usize] += 1.0;
    }
    Counted { states: lts.num_states() as f64, tau: moves[TAU as usize], moves }
}

/// The moves by which a component takes part in a sync.
fn moves(of: &Counted, sync: &[(u32, u32)], slot: u32) -> f64 {
    sync.iter().find(|part| part.0 == slot).map_or(0.0, |part| of.moves[part.1 as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::memory::Budget;
    use crate::engine::parts::system::SystemQuestion;
    use crate::property::Property;
    use crate::samples::synthetic;
    use std::sync::Arc;

    #[test]
    fn neighbours_promise_more_than_strangers() {
        let net = synthetic::philosophers(4);
        let property = Property::DeadlockFree { allow_termination: false };
        let budget = Arc::new(Budget::new(1 << 30));
        let system = System::new(&net, SystemQuestion::Property(&property), &budget).expect("it is small");
        let slots: Vec<u32> = system.slots().collect();
        let pairs: Vec<(u32, u32)> = slots
            .iter()
            .enumerate()
            .flat_map(|(i, &a)| slots[i + 1..].iter().map(move |&b| (a, b)))
            .collect();
        let estimates = Estimates::new(&system, &pairs);
        let share = |pair: &(u32, u32)| {
            system
                .syncs
                .iter()
                .any(|sync| sync.iter().filter(|part| part.0 == pair.0 || part.0 == pair.1).count() == 2)
        };
        let (mut neighbours, mut strangers) = (0, 0);
        for &pair in &pairs {
            match share(&pair) {
                // What both do together is counted, and hidden where no other component takes part.
                true => {
                    assert!(estimates.promise(pair) > 0, "{pair:?}");
                    neighbours += 1;
                }
                false => {
                    assert_eq!(estimates.promise(pair), 0, "{pair:?}");
                    strangers += 1;
                }
            }
        }
        assert!(neighbours > 0 && strangers > 0, "{neighbours} neighbours, {strangers} strangers");
    }
}
