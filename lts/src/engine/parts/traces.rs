//! How many runs a system has, where runs that differ only in the order of independent steps count once (Mazurkiewicz
//! traces). Steps are independent if no component takes part in both.
//!
//! Runs are counted depth first. *Sleep sets* leave out a step that was taken from here before and is independent of
//! everything since, so that exactly one run of each trace is followed to its end. *Persistent sets* bound the
//! steps that have to be tried in a state: those of components `C` such that no step with a part in `C` that is
//! impossible now becomes possible as long as `C` stands still. How many traces follow depends on state and sleep set alone and is
//! remembered.
//!
//! Invariants: counts are exact. A system with an infinite run has no count: a state that is met again below itself is an
//! error, and if the runs that are followed all end, all runs do (a run that never ends could be continued behind each of
//! their steps).

use super::Trouble;
use super::product::Effort;
use super::system::{Held, Sync, System, TAU, moves_with};
use crate::base::hash::{Map, Set};
use crate::model::explicit::{Lts, State};
use num_bigint::BigUint;
use std::sync::Arc;

/// Why there is no count.
#[derive(Debug)]
pub(super) enum Uncounted {
    /// A run need not end.
    Cyclic,
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Uncounted {
    fn from(trouble: T) -> Self {
        Uncounted::Trouble(trouble.into())
    }
}

/// A step: which sync, or from their number on which component alone, and where each part goes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Event {
    sync: u32,
    to: Vec<u32>,
}

type Global = Arc<[u32]>;
type Key = (Global, Arc<[Event]>);

struct Counter<'a> {
    components: Vec<&'a Lts>,
    /// With components by their places.
    syncs: Vec<Sync>,
    by_first: Map<(u32, u32), Vec<u32>>,
    syncs_of: Map<(u32, u32), Vec<u32>>,
    /// For each component and state the labels that it may offer now or later, as bits.
    later: Vec<Vec<Box<[u64]>>>,
}

/// A state that is being looked at.
struct Frame {
    key: Key,
    /// The steps to try, and how many of them are done.
    events: Vec<Event>,
    done: usize,
    sum: BigUint,
}

/// Bytes of an entry that is remembered, apart from its numbers.
const ENTRY: u64 = 200;

/// Counts the traces of a system that cannot be continued.
pub(super) fn count(system: &System, effort: Effort) -> Result<BigUint, Uncounted> {
    let counter = Counter::new(system);
    let start: Global = vec![0; counter.components.len()].into();
    let mut held = Held::new(effort.budget, 0)?;
    let mut known: Map<Key, BigUint> = Map::default();
    let mut open: Set<Global> = Set::default();
    let mut stack: Vec<Frame> = Vec::new();
    let mut returned: Option<BigUint> = None;
    let mut next: Option<Key> = Some((start, Arc::default()));
    loop {
        if let Some(key) = next.take() {
            if let Some(count) = known.get(&key) {
                returned = Some(count.clone());
            } else {
                if stack.len().is_multiple_of(64) {
                    effort.stop.check()?;
                }
                if !open.insert(key.0.clone()) {
                    return Err(Uncounted::Cyclic);
                }
                let enabled = counter.enabled(&key.0);
                let sum = BigUint::from(u32::from(enabled.is_empty()));
                let events = counter.persistent(&key.0, enabled);
                stack.push(Frame { key, events, done: 0, sum });
            }
        }
        let Some(frame) = stack.last_mut() else {
            return Ok(returned.unwrap_or_default());
        };
        if let Some(count) = returned.take() {
            frame.sum += count;
        }
        while frame.done < frame.events.len() && frame.key.1.binary_search(&frame.events[frame.done]).is_ok()
        {
            frame.done += 1;
        }
        let Some(event) = frame.events.get(frame.done) else {
            let Some(Frame { key, sum, .. }) = stack.pop() else { continue };
            open.remove(&key.0);
            let numbers = key.0.len() + key.1.iter().map(|event| 16 + event.to.len()).sum::<usize>();
            held.grow(ENTRY + numbers as u64 * 4)?;
            if known.len() as u64 >= effort.states {
                return Err(Trouble::TooLarge.into());
            }
            returned = Some(sum.clone());
            known.insert(key, sum);
            continue;
        };
        let asleep = frame.key.1.iter().chain(&frame.events[..frame.done]);
        let mut sleep: Vec<Event> =
            asleep.filter(|other| counter.independent(event, other)).cloned().collect();
        sleep.sort_unstable();
        sleep.dedup();
        next = Some((counter.after(&frame.key.0, event), sleep.into()));
        frame.done += 1;
    }
}

impl<'a> Counter<'a> {
    fn new(system: &'a System) -> Self {
        let slots: Vec<u32> = system.slots().collect();
        let place: Map<u32, u32> = slots.iter().copied().zip(0..).collect();
        let components: Vec<&Lts> = slots.iter().map(|&slot| &*system.component(slot).lts).collect();
        let syncs: Vec<Sync> = system
            .syncs
            .iter()
            .map(|sync| sync.iter().map(|(slot, label)| (place[slot], *label)).collect())
            .collect();
        let mut by_first: Map<(u32, u32), Vec<u32>> = Map::default();
        let mut syncs_of: Map<(u32, u32), Vec<u32>> = Map::default();
        for (ix, sync) in (0..).zip(&syncs) {
            by_first.entry(sync[0]).or_default().push(ix);
            sync.iter().for_each(|part| syncs_of.entry(*part).or_default().push(ix));
        }
        let later = components.iter().map(|lts| later(lts)).collect();
        Counter { components, syncs, by_first, syncs_of, later }
    }

    fn actors(&self, event: &Event) -> impl Iterator<Item = u32> + '_ {
        let alone = (event.sync as usize).checked_sub(self.syncs.len()).map(|c| c as u32);
        let parts = self.syncs.get(event.sync as usize).into_iter().flatten().map(|part| part.0);
        alone.into_iter().chain(parts)
    }

    fn independent(&self, a: &Event, b: &Event) -> bool {
        self.actors(a).all(|actor| self.actors(b).all(|other| other != actor))
    }

    fn after(&self, state: &Global, event: &Event) -> Global {
        let mut state = state.to_vec();
        for (actor, to) in self.actors(event).zip(&event.to) {
            state[actor as usize] = *to;
        }
        state.into()
    }

    /// The labels that a component offers in a state, each once.
    fn offers(&self, component: usize, state: u32) -> Vec<u32> {
        let moves = self.components[component].outgoing(State(state));
        let mut labels: Vec<u32> = moves.iter().map(|t| t.label.0).collect();
        labels.dedup();
        labels
    }

    /// The steps that are possible in a state, in a fixed order.
    fn enabled(&self, state: &Global) -> Vec<Event> {
        let mut events = Vec::new();
        for (c, &at) in state.iter().enumerate() {
            for label in self.offers(c, at) {
                if label == TAU {
                    let sync = (self.syncs.len() + c) as u32;
                    let moves = moves_with(self.components[c], at, TAU).iter();
                    events.extend(moves.map(|t| Event { sync, to: vec![t.to.0] }));
                    continue;
                }
                for &sync in self.by_first.get(&(c as u32, label)).into_iter().flatten() {
                    let mut targets: Vec<Vec<u32>> = vec![Vec::new()];
                    for &(c, label) in &self.syncs[sync as usize] {
                        let moves = moves_with(self.components[c as usize], state[c as usize], label);
                        targets = targets
                            .iter()
                            .flat_map(|to| moves.iter().map(|t| to.iter().copied().chain([t.to.0]).collect()))
                            .collect();
                    }
                    events.extend(targets.into_iter().map(|to| Event { sync, to }));
                }
            }
        }
        events.sort_unstable();
        events
    }

    /// The steps that have to be tried: the fewest that are those of some persistent set.
    fn persistent(&self, state: &Global, enabled: Vec<Event>) -> Vec<Event> {
        let mut best: Option<(usize, Vec<bool>)> = None;
        let mut tried: Set<Vec<bool>> = Set::default();
        for event in &enabled {
            let inside = self.closed(state, event);
            if !tried.insert(inside.clone()) {
                continue;
            }
            let within = |event: &&Event| self.actors(event).any(|actor| inside[actor as usize]);
            let size = enabled.iter().filter(within).count();
            if best.as_ref().is_none_or(|(least, _)| size < *least) {
                best = Some((size, inside));
            }
        }
        let Some((_, inside)) = best else { return enabled };
        enabled.into_iter().filter(|event| self.actors(event).any(|actor| inside[actor as usize])).collect()
    }

    /// The components of an event, with all that may come to take part in a step with them while they stand still.
    fn closed(&self, state: &Global, event: &Event) -> Vec<bool> {
        let mut inside = vec![false; self.components.len()];
        let mut queue: Vec<u32> = self.actors(event).collect();
        queue.iter().for_each(|&c| inside[c as usize] = true);
        while let Some(c) = queue.pop() {
            for label in self.offers(c as usize, state[c as usize]) {
                for &sync in self.syncs_of.get(&(c, label)).into_iter().flatten() {
                    let parts = &self.syncs[sync as usize];
                    let may = |&(d, label): &(u32, u32)| {
                        let at = state[d as usize];
                        match inside[d as usize] {
                            true => !moves_with(self.components[d as usize], at, label).is_empty(),
                            false => has(&self.later[d as usize][at as usize], label),
                        }
                    };
                    if !parts.iter().all(may) {
                        continue;
                    }
                    for &(d, _) in parts {
                        if !std::mem::replace(&mut inside[d as usize], true) {
                            queue.push(d);
                        }
                    }
                }
            }
        }
        inside
    }
}

fn has(bits: &[u64], label: u32) -> bool {
    bits[label as usize / 64] >> (label % 64) & 1 == 1
}

/// For each state the labels that can be offered from there on.
fn later(lts: &Lts) -> Vec<Box<[u64]>> {
    let words = lts.labels().len().div_ceil(64);
    let mut bits: Vec<Box<[u64]>> = vec![vec![0; words].into(); lts.num_states()];
    let mut incoming: Vec<Vec<u32>> = vec![Vec::new(); lts.num_states()];
    for (from, label, to) in lts.transitions() {
        bits[from.0 as usize][label.0 as usize / 64] |= 1 << (label.0 % 64);
        incoming[to.0 as usize].push(from.0);
    }
    let mut queue: Vec<u32> = (0..lts.num_states() as u32).collect();
    while let Some(state) = queue.pop() {
        let own = bits[state as usize].clone();
        for &from in &incoming[state as usize] {
            let theirs = &mut bits[from as usize];
            let before = theirs.clone();
            theirs.iter_mut().zip(&*own).for_each(|(a, b)| *a |= b);
            if *theirs != before {
                queue.push(from);
            }
        }
    }
    bits
}
