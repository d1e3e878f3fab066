//! Whether components that are made deterministic can be stuck together.
//!
//! A deadlock is a choice of one stable member, which cannot move alone, for each component, such that no sync is offered
//! by all its parts. Of what stable members offer, their *ready sets*, only the minimal ones matter: a member that offers
//! less hinders more. The members of a group are tuples, and choices in these have ready sets again.

use super::Trouble;
use super::interface::{Group, Interfaces, Kind, ReadySets};
use super::mutants::{self, Mutant};
use super::system::{FIRST, TAU};
use std::ops::ControlFlow;

/// For each tuple that may be explored, the combinations of ready sets that may be looked at.
const COMBINATIONS: u64 = 64;

impl Interfaces<'_> {
    /// The minimal ready sets of a macro-state.
    pub(super) fn ready(&mut self, node: usize, at: u32) -> Result<ReadySets, Trouble> {
        if let Some(known) = &self.nodes[node].ready[at as usize] {
            return Ok(known.clone());
        }
        let members = self.nodes[node].macros[at as usize].clone();
        let mut sets: Vec<Box<[u32]>> = Vec::new();
        for &member in &*members {
            match self.nodes[node].kind {
                Kind::Component { .. } => sets.extend(self.offered(node, member)),
                Kind::Group(_) => self.choices(node, member, |_, ready| {
                    sets.push(ready.into());
                    ControlFlow::Continue(())
                })?,
            }
            if sets.len() > 1 << 10 {
                sets = minimal(sets);
            }
        }
        let sets: ReadySets = minimal(sets).into();
        self.nodes[node].ready[at as usize] = Some(sets.clone());
        Ok(sets)
    }

    /// What a member of a component offers to others, if it is stable.
    pub(super) fn offered(&self, node: usize, member: u32) -> Option<Box<[u32]>> {
        let moves = self.nodes[node].moves[member as usize].as_deref()?;
        if self.nodes[node].unknown.contains(&member) {
            return None;
        }
        if moves.first().is_some_and(|m| m.label == TAU) {
            return None;
        }
        let mut labels: Vec<u32> = moves.iter().map(|m| m.label).filter(|&label| label >= FIRST).collect();
        labels.dedup();
        Some(labels.into())
    }

    /// For a tuple of a group: a ready set for each child such that the group cannot move alone and offers what is wanted.
    pub(super) fn choice(
        &mut self,
        node: usize,
        member: u32,
        wanted: &[u32],
    ) -> Result<Option<Vec<Box<[u32]>>>, Trouble> {
        let mut found = None;
        self.choices(node, member, |chosen, ready| {
            if ready != wanted {
                return ControlFlow::Continue(());
            }
            found = Some(chosen.iter().map(|set| (*set).into()).collect());
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Tells all choices of ready sets of the children with which the group cannot move alone, with what it offers then.
    fn choices(
        &mut self,
        node: usize,
        member: u32,
        mut tell: impl FnMut(&[&[u32]], &[u32]) -> ControlFlow<()>,
    ) -> Result<(), Trouble> {
        let Kind::Group(group) = &self.nodes[node].kind else { return Ok(()) };
        let (tuple, children) = (group.tuples[member as usize].clone(), group.children.clone());
        let mut sets: Vec<ReadySets> = Vec::with_capacity(children.len());
        for (&child, &at) in children.iter().zip(&*tuple) {
            let ready = self.ready(child, at)?;
            if ready.is_empty() {
                // It can always move alone.
                return Ok(());
            }
            sets.push(ready);
        }
        let Kind::Group(group) = &self.nodes[node].kind else { return Ok(()) };
        let most = self.effort.states.saturating_mul(COMBINATIONS);
        let mut work = self.work;
        // The set that is tried next for each child that has one.
        let mut next = vec![0];
        let mut chosen: Vec<&[u32]> = Vec::new();
        while let Some(&set) = next.last() {
            work += 1;
            if work > most {
                return Err(Trouble::TooLarge);
            }
            let child = next.len() - 1;
            chosen.truncate(child);
            if child == sets.len() {
                if tell(&chosen, &offers(group, &chosen)).is_break() {
                    break;
                }
                next.pop();
                continue;
            }
            let Some(ready) = sets[child].get(set) else {
                next.pop();
                continue;
            };
            next[child] += 1;
            chosen.push(ready);
            if !moves_alone(group, &chosen) {
                next.push(0);
            }
        }
        self.work = work;
        Ok(())
    }
}

/// Whether the last of the chosen sets makes a step possible in which no component outside takes part.
fn moves_alone(group: &Group, chosen: &[&[u32]]) -> bool {
    let last = chosen.len() - 1;
    let offered = |&(child, label): &(u32, u32)| chosen[child as usize].binary_search(&label).is_ok();
    let possible = |&sync: &u32| group.syncs[sync as usize].parts.iter().all(offered);
    let syncs = |label: &u32| group.own_by_last.get(&(last as u32, *label));
    chosen[last].iter().filter_map(syncs).flatten().any(possible)
}

/// What a group offers.
fn offers(group: &Group, chosen: &[&[u32]]) -> Vec<u32> {
    let offered = |&(child, label): &(u32, u32)| chosen[child as usize].binary_search(&label).is_ok();
    let seen = group.syncs.iter().filter(|joint| joint.label != TAU && joint.parts.iter().all(offered));
    let mut labels: Vec<u32> = seen.map(|joint| joint.label).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// The sets that contain no other.
fn minimal(mut sets: Vec<Box<[u32]>>) -> Vec<Box<[u32]>> {
    sets.sort_unstable_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    sets.dedup();
    if mutants::is(Mutant::MaximalReadySets) {
        sets.reverse();
    }
    let mut kept: Vec<Box<[u32]>> = Vec::new();
    for set in sets {
        let within =
            |small: &[u32], large: &[u32]| small.iter().all(|label| large.binary_search(label).is_ok());
        let needless = kept.iter().any(|known| match mutants::is(Mutant::MaximalReadySets) {
            false => within(known, &set),
            true => within(&set, known),
        });
        if !needless {
            kept.push(set);
        }
    }
    kept
}
