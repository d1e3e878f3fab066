//! A path with given labels, and the product that it is looked for in, explored no further than the path needs.
//!
//! A component that was reduced has a run; what it was made of has one with the same labels. The product itself is gone by
//! then, and may be far larger than what fits these labels. So it is not made again: from each state only hidden steps and
//! the label that comes next are followed.
//!
//! Invariant: which path is found depends on the component and its run only. Moves that were computed are kept as long as
//! there is room for them; without that they are computed again, and the path is the same.

use super::Trouble;
use super::lift::internal;
use super::product::{Effort, NONE, Table, events, start};
use super::system::{FIRST, Held, TAU};
use crate::base::hash::Map;
use crate::model::explicit::{Lts, State};

/// States with moves, numbered from the initial one on, which is 0.
pub(super) trait Space {
    /// Adds the moves of a state, labels with targets.
    fn moves(&mut self, state: u32, out: &mut Vec<(u32, u32)>) -> Result<(), Trouble>;

    /// How many numbers there are so far.
    fn numbers(&self) -> usize;

    /// Gives back the memory of what can be computed again.
    fn lighten(&mut self) {}
}

impl Space for &Lts {
    fn moves(&mut self, state: u32, out: &mut Vec<(u32, u32)>) -> Result<(), Trouble> {
        out.extend(self.outgoing(State(state)).iter().map(|t| (t.label.0, t.to.0)));
        Ok(())
    }

    fn numbers(&self) -> usize {
        self.num_states()
    }
}

/// The product of what a component was made of, as far as it was explored.
pub(super) struct Along<'a> {
    first: &'a Lts,
    second: Option<&'a Lts>,
    table: &'a Table,
    /// For each number the states of both sides.
    pub(super) pairs: Vec<(u32, u32)>,
    number_of: Map<(u32, u32), u32>,
    /// Moves that were computed; nothing if there is no room for them.
    kept: Option<Kept>,
    memory: Held,
    /// How many numbers are paid for.
    paid: usize,
}

/// Moves that were computed.
struct Kept {
    /// For each number where its moves are.
    places: Vec<(u32, u32)>,
    moves: Vec<(u32, u32)>,
    memory: Held,
    /// How many moves are paid for.
    paid: usize,
}

/// Numbers and moves that are paid for at once.
const CHUNK: usize = 1 << 12;
/// Bytes of a number: in the list, in the map, and where its moves are; and of a move.
const PAIR: u64 = 8 + 40 + 8;
const MOVE: u64 = 8;
/// The place of moves that are not known.
const UNKNOWN: (u32, u32) = (u32::MAX, u32::MAX);
/// No number.
const NOWHERE: u32 = u32::MAX;

impl<'a> Along<'a> {
    pub(super) fn new(
        first: &'a Lts,
        second: Option<&'a Lts>,
        table: &'a Table,
        effort: Effort,
    ) -> Result<Self, Trouble> {
        let start = start(first, second);
        Ok(Along {
            first,
            second,
            table,
            pairs: vec![start],
            number_of: Map::from_iter([(start, 0)]),
            kept: Some(Kept {
                places: Vec::new(),
                moves: Vec::new(),
                memory: Held::new(effort.budget, 0)?,
                paid: 0,
            }),
            memory: Held::new(effort.budget, 0)?,
            paid: 0,
        })
    }
}

impl Kept {
    fn get(&self, state: u32) -> Option<&[(u32, u32)]> {
        let &(begin, end) = self.places.get(state as usize)?;
        self.moves.get(begin as usize..end as usize)
    }

    /// Keeps the moves of a state; false if there is no room.
    fn keep(&mut self, state: u32, moves: &[(u32, u32)]) -> bool {
        let end = self.moves.len() + moves.len();
        if end > self.paid {
            let more = moves.len().max(CHUNK);
            if self.memory.grow(more as u64 * MOVE).is_err() || end >= NOWHERE as usize {
                return false;
            }
            self.paid += more;
        }
        if self.places.len() <= state as usize {
            self.places.resize(state as usize + 1, UNKNOWN);
        }
        self.places[state as usize] = (self.moves.len() as u32, end as u32);
        self.moves.extend_from_slice(moves);
        true
    }
}

impl Space for Along<'_> {
    fn moves(&mut self, state: u32, out: &mut Vec<(u32, u32)>) -> Result<(), Trouble> {
        if let Some(moves) = self.kept.as_ref().and_then(|kept| kept.get(state)) {
            out.extend_from_slice(moves);
            return Ok(());
        }
        let before = out.len();
        let (pairs, number_of) = (&mut self.pairs, &mut self.number_of);
        events(self.first, self.second, self.table, pairs[state as usize], |event| {
            let number = *number_of.entry(event.to).or_insert_with(|| {
                pairs.push(event.to);
                pairs.len() as u32 - 1
            });
            out.push((event.label, number));
        });
        if self.pairs.len() >= NOWHERE as usize {
            return Err(Trouble::TooLarge);
        }
        while self.pairs.len() > self.paid {
            if self.memory.grow(CHUNK as u64 * PAIR).is_err() {
                self.kept = None;
                self.memory.grow(CHUNK as u64 * PAIR)?;
            }
            self.paid += CHUNK;
        }
        out[before..].sort_unstable();
        if self.kept.as_mut().is_some_and(|kept| !kept.keep(state, &out[before..])) {
            self.kept = None;
        }
        Ok(())
    }

    fn numbers(&self) -> usize {
        self.pairs.len()
    }

    fn lighten(&mut self) {
        self.kept = None;
    }
}

/// What a state offers to others, in the labels that `called` gives, if it cannot move alone.
pub(super) fn ready(moves: &[(u32, u32)], called: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
    if moves.iter().any(|&(label, _)| label == TAU) {
        return None;
    }
    let labels = moves.iter().map(|&(label, _)| called(label));
    let mut labels: Vec<u32> = labels.filter(|&label| label >= FIRST && label != NONE).collect();
    labels.sort_unstable();
    labels.dedup();
    Some(labels)
}

/// The least memory that states on the way are paid for with at once.
const AT_ONCE: usize = 1 << 12;
/// Bytes of a state on the way at one position, and of a number.
const ENTRY: u64 = 24;
const MET: u64 = 8;

/// A path with the given labels, hidden steps in between, whose last state is a goal: for each step whether it has one of the
/// labels, and where it leads. `owner` says which label of the component each label of the space is. States are looked at
/// label by label, breadth first.
pub(super) fn path(
    effort: Effort,
    space: &mut dyn Space,
    word: &[u32],
    owner: &[u32],
    mut at_goal: impl FnMut(u32, &[(u32, u32)]) -> bool,
) -> Result<Vec<(bool, u32)>, Trouble> {
    let mut held = Held::new(effort.budget, 0)?;
    let mut paid = (0usize, 0usize);
    // For each state the last position at which it was met, for even and for odd positions.
    let mut met = [vec![NOWHERE; 1], vec![NOWHERE; 1]];
    // States with the entry before and whether the step has a label.
    let mut entries: Vec<(u32, u32, bool)> = vec![(0, NOWHERE, false)];
    met[0][0] = 0;
    let mut begin = 0;
    let mut moves: Vec<(u32, u32)> = Vec::new();
    for position in 0..=word.len() {
        let (here, there) = (position % 2, (position + 1) % 2);
        let mut later: Vec<(u32, u32, bool)> = Vec::new();
        let mut next = begin;
        while next < entries.len() {
            if next.is_multiple_of(AT_ONCE) {
                effort.stop.check()?;
            }
            let state = entries[next].0;
            moves.clear();
            space.moves(state, &mut moves)?;
            if position == word.len() && at_goal(state, &moves) {
                return Ok(back(&entries, next));
            }
            let numbers = space.numbers();
            if numbers > met[0].len() {
                met.iter_mut().for_each(|met| met.resize(numbers, NOWHERE));
            }
            for &(label, to) in &moves {
                if label == TAU && met[here][to as usize] != position as u32 {
                    met[here][to as usize] = position as u32;
                    entries.push((to, next as u32, false));
                }
                let wanted = word.get(position);
                if wanted.is_some_and(|&wanted| label != TAU && owner[label as usize] == wanted)
                    && met[there][to as usize] != position as u32 + 1
                {
                    met[there][to as usize] = position as u32 + 1;
                    later.push((to, next as u32, true));
                }
            }
            next += 1;
            let now = (entries.len() + later.len(), met[0].len());
            if now.0 > paid.0 || now.1 > paid.1 {
                let more = (now.0.saturating_sub(paid.0) + AT_ONCE, now.1.saturating_sub(paid.1) + AT_ONCE);
                let bytes = more.0 as u64 * ENTRY + more.1 as u64 * MET;
                if held.grow(bytes).is_err() {
                    space.lighten();
                    held.grow(bytes)?;
                }
                paid = (paid.0 + more.0, paid.1 + more.1);
            }
        }
        begin = entries.len();
        entries.append(&mut later);
        if entries.len() >= NOWHERE as usize {
            return Err(Trouble::TooLarge);
        }
    }
    Err(internal("a product lacks a path that its reduction has"))
}

/// The way to an entry.
fn back(entries: &[(u32, u32, bool)], mut at: usize) -> Vec<(bool, u32)> {
    let mut path = Vec::new();
    while let (state, before, seen) = entries[at]
        && before != NOWHERE
    {
        path.push((seen, state));
        at = before as usize;
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::super::Stop;
    use super::super::product::compose;
    use super::*;
    use crate::base::memory::Budget;
    use crate::base::rng::Rng;
    use crate::engine::parts::system::{System, SystemQuestion};
    use crate::property::Property;
    use crate::samples::random::Shape;
    use std::sync::Arc;

    /// A path as pairs of states, each with whether it has a label, and how many pairs were looked at.
    type Told = (Vec<(bool, (u32, u32))>, usize);

    #[test]
    fn paths_are_found_without_the_product_and_without_room_for_moves() {
        let stop = Stop(&|| None);
        let (mut found, mut fewer) = (0, 0);
        for seed in 0..300 {
            let rng = &mut Rng::new(seed);
            let net = Shape { moves: 120, ..Shape::default() }.network(seed);
            let (plenty, scarce) = (Arc::new(Budget::new(1 << 30)), 400_000);
            let property = Property::DeadlockFree { allow_termination: false };
            let system =
                System::new(&net, SystemQuestion::Property(&property), &plenty).expect("it is small");
            let slots: Vec<u32> = system.slots().collect();
            let [a, b, ..] = slots[..] else { continue };
            let (table, _) = system.table(a, Some(b));
            let (first, second) = (&system.component(a).lts, &system.component(b).lts);
            let effort = Effort { states: u64::MAX, budget: &plenty, stop: &stop };
            let product = compose(first, Some(second), &table, effort).expect("it is small").lts;
            // The labels of a walk, and what is offered at its end.
            let (mut at, mut word) = (State(0), Vec::new());
            for _ in 0..rng.below(12) {
                let moves = product.outgoing(at);
                if moves.is_empty() {
                    break;
                }
                let taken = moves[rng.below(moves.len())];
                word.extend((taken.label.0 != TAU).then_some(taken.label.0));
                at = taken.to;
            }
            let offered = |moves: &mut dyn Iterator<Item = u32>| {
                let mut labels: Vec<u32> = moves.collect();
                labels.dedup();
                labels
            };
            let wanted = offered(&mut product.outgoing(at).iter().map(|t| t.label.0));
            let owner: Vec<u32> = (0..table.labels).collect();
            let along = |budget: &Arc<Budget>, keeps: bool| -> Told {
                let effort = Effort { budget, ..effort };
                let mut space = Along::new(first, Some(second), &table, effort).expect("room");
                if !keeps {
                    space.lighten();
                }
                let at_goal = |_, moves: &[(u32, u32)]| offered(&mut moves.iter().map(|m| m.0)) == wanted;
                let path = path(effort, &mut space, &word, &owner, at_goal).expect("there is one");
                (path.iter().map(|&(seen, to)| (seen, space.pairs[to as usize])).collect(), space.numbers())
            };
            let told = along(&plenty, true);
            assert_eq!(told, along(&plenty, false), "seed {seed}");
            assert_eq!(told, along(&Arc::new(Budget::new(scarce)), true), "seed {seed}");
            let (mut from, mut labels) = (start(first, Some(second)), word.iter());
            for (seen, to) in told.0 {
                let label = if seen { *labels.next().expect("a label") } else { TAU };
                let mut there = false;
                events(first, Some(second), &table, from, |event| {
                    there |= (event.label, event.to) == (label, to);
                });
                assert!(there, "seed {seed}");
                from = to;
            }
            assert_eq!(labels.next(), None, "seed {seed}");
            found += 1;
            fewer += u32::from(told.1 < product.num_states());
        }
        assert!(found > 200 && fewer > 20, "{found} paths, {fewer} of them in a part of the product");
    }
}
