//! Seeded random systems: small ones of many shapes, and variants of them that are equivalent or nearly so.

use crate::model::explicit::{Builder, Lts, State};

/// A small deterministic generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A transition as in a file.
pub type Edge = (u32, String, u32);

pub fn edges(lts: &Lts) -> Vec<Edge> {
    lts.transitions().map(|(from, label, to)| (from.0, lts.label(label).to_owned(), to.0)).collect()
}

pub fn build(states: u32, initial: u32, edges: &[Edge]) -> Lts {
    let mut builder = Builder::new();
    builder.require_states(states);
    for (from, label, to) in edges {
        let label = builder.label(label);
        builder.add(State(*from), label, State(*to));
    }
    builder.finish(State(initial))
}

/// A system with up to `most` states, with few or many transitions, labels and taus.
pub fn random_lts(random: &mut Random, most: usize) -> Lts {
    let states = 1 + random.below(most);
    let per_state = 1 + random.below(3);
    let transitions = random.below(per_state * states + 2);
    let visible = 1 + random.below(3);
    let tau_share = 1 + random.below(4);
    let forwards = random.one_in(3);
    let mut edges = Vec::new();
    for _ in 0..transitions {
        let (from, to) = (random.below(states) as u32, random.below(states) as u32);
        let (from, to) = if forwards { (from.min(to), from.max(to)) } else { (from, to) };
        let tau = random.below(5) < tau_share;
        let label = if tau { "tau" } else { ["a", "b", "c"][random.below(visible)] };
        edges.push((from, label.to_owned(), to));
    }
    build(states as u32, random.below(states) as u32, &edges)
}

/// The system with states copied and renumbered: strongly bisimilar.
pub fn copied(random: &mut Random, lts: &Lts) -> Lts {
    let n = lts.num_states() as u32;
    let copies = 1 + random.below(2) as u32;
    // State s becomes the states (s + k * n) for all k, shifted around.
    let shift = random.below((n * (copies + 1)) as usize) as u32;
    let place = |s: u32| (s + shift) % (n * (copies + 1));
    let mut copy = Vec::new();
    for (from, label, to) in edges(lts) {
        for k in 0..=copies {
            let other = random.below(copies as usize + 1) as u32;
            copy.push((place(from + k * n), label.clone(), place(to + other * n)));
        }
    }
    build(n * (copies + 1), place(lts.initial().0 + random.below(copies as usize + 1) as u32 * n), &copy)
}

/// The system with tau transitions in front of some states: branching bisimilar, without new divergence.
pub fn delayed(random: &mut Random, lts: &Lts) -> Lts {
    let n = lts.num_states() as u32;
    let mut states = n;
    let mut result = Vec::new();
    for (from, label, to) in edges(lts) {
        if random.one_in(2) {
            result.push((from, label, states));
            result.push((states, "tau".to_owned(), to));
            states += 1;
        } else {
            result.push((from, label, to));
        }
    }
    build(states, lts.initial().0, &result)
}

/// The system with one transition changed, removed or added: often not equivalent, but nearly.
pub fn changed(random: &mut Random, lts: &Lts) -> Lts {
    let mut edges = edges(lts);
    let n = lts.num_states();
    if edges.is_empty() || random.one_in(3) {
        edges.push((random.below(n) as u32, "a".to_owned(), random.below(n) as u32));
    } else {
        let at = random.below(edges.len());
        match random.below(3) {
            0 => drop(edges.remove(at)),
            1 => edges[at].2 = random.below(n) as u32,
            _ => edges[at].1 = ["tau", "a", "b"][random.below(3)].to_owned(),
        }
    }
    build(n as u32, lts.initial().0, &edges)
}
