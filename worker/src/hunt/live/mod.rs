//! Searches for runs that violate a formula without a forbidden step: something never happens, or cannot happen any more.
//!
//! They go through pairs of a state and a part of the formula ([`gridlock_lts::engine::game::live`]): [`lasso`] looks for a
//! run that ends in a cycle, [`trap`] for one after which the formula cannot be fulfilled any more. Invariant: a run is kept
//! only if it closes a cycle, refutes the formula by its last step, or ends in a trap all of whose pairs were seen; that
//! something did not happen for a long time is no finding. A search depends on the order of choices only, never on the
//! numbers of positions.

pub(super) mod lasso;
pub(super) mod trap;

use super::survey::{Path, Survey};
use super::view::View;
use crate::stop::Stop;
use gridlock_lts::base::error::Result;
use gridlock_lts::base::hash::Map;
use gridlock_lts::engine::game::live::{Alternative, Refuter};
use gridlock_lts::engine::look;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::property::formula::{Class, Equations, Position};

/// A packed state with the number of a position behind it.
type Pair = Box<[u64]>;

fn pair(state: &[u64], position: Position) -> Pair {
    state.iter().copied().chain([u64::from(position.0)]).collect()
}

fn parts(pair: &[u64]) -> (&[u64], Position) {
    let (state, position) = pair.split_at(pair.len() - 1);
    (state, Position(position[0] as u32))
}

/// Bytes that a pair and its entry take in a table.
fn bytes(words: usize) -> u64 {
    (words as u64 + 1) * 8 + 64
}

/// The steps of one state at a time, and how they refute positions.
struct Pairs<'h, S> {
    system: &'h S,
    net: View<'h>,
    refuter: Refuter<'h>,
    steps: Steps,
    classes: Vec<Class>,
}

/// A step by its vector and target; `None` if the position changes and the state does not.
type Taken = Option<(u32, Vec<u64>)>;

impl<'h, S: Successors> Pairs<'h, S> {
    fn new(survey: &Survey<'h, S>, equations: &'h dyn Equations) -> Self {
        let (system, net) = (survey.system, survey.net);
        let steps = Steps::new(system.packing().words());
        Pairs { system, net, refuter: Refuter::new(equations), steps, classes: Vec::new() }
    }

    /// Classifies the steps that were just computed.
    fn classify(&mut self) -> Result<()> {
        self.classes.clear();
        for via in self.steps.vias() {
            let class = self.net.with(|net| self.refuter.class(net, via.vector()))?;
            self.classes.push(class);
        }
        Ok(())
    }

    /// Expands a state for its steps only, faults left out.
    fn expand(&mut self, state: &[u64]) -> Result<()> {
        self.steps.clear();
        self.system.expand(state, &mut self.steps)?;
        if self.steps.any_marked() {
            look::all(self.system, state, &mut self.steps, |_, _, _| Ok::<(), Stop>(())).ok();
        }
        self.classify()
    }

    /// The alternatives of a position in the state that was expanded; none if they are too many.
    fn alternatives(&mut self, position: Position) -> Result<Vec<Alternative>> {
        Ok(self.refuter.alternatives(position, &self.classes)?.unwrap_or_default())
    }

    fn taken(&self, step: Option<u32>) -> Taken {
        step.map(|k| k as usize).map(|k| (self.steps.vias()[k].vector().0, self.steps.target(k).to_vec()))
    }

    /// A shortest run from one pair to another, with one step or a change of the position at least, through positions of this
    /// rank or less. `left` is the number of states that may be expanded for it. `None` if these are not enough.
    fn nearest(&mut self, from: &[u64], to: &[u64], most: u32, left: &mut u64) -> Result<Option<Path>> {
        let mut ids: Map<Pair, ()> = Map::default();
        let mut all: Vec<(Pair, usize, Taken)> = vec![(from.into(), 0, None)];
        let mut done = 0;
        while done < all.len() && *left > 0 {
            *left -= 1;
            let (state, position) = parts(&all[done].0);
            let (state, position) = (state.to_vec(), position);
            self.expand(&state)?;
            for alternative in self.alternatives(position)? {
                let [(step, position)] = alternative[..] else { continue };
                if self.refuter.rank(position).is_some_and(|rank| rank > most) {
                    continue;
                }
                let taken = self.taken(step);
                let next = pair(taken.as_ref().map_or(&state, |(_, target)| target), position);
                if *next == *to {
                    let mut path: Path = taken.into_iter().collect();
                    let mut at = done;
                    while at != 0 {
                        path.extend(all[at].2.clone());
                        at = all[at].1;
                    }
                    path.reverse();
                    return Ok(Some(path));
                }
                if ids.insert(next.clone(), ()).is_none() {
                    all.push((next, done, taken));
                }
            }
            done += 1;
        }
        Ok(None)
    }

    /// A shortest run from the beginning to a pair, if `left` is enough to find it.
    fn way_to(&mut self, to: &[u64], left: &mut u64) -> Result<Option<Path>> {
        let first = pair(&self.system.initial(), Position(0));
        if *first == *to {
            return Ok(Some(Path::new()));
        }
        self.nearest(&first, to, u32::MAX, left)
    }

    /// The shorter one of a run to a pair and a shortest one.
    fn shorter(&mut self, to: &[u64], path: Path, left: &mut u64) -> Result<Path> {
        let shorter = self.way_to(to, left)?;
        Ok(shorter.filter(|shorter| shorter.len() < path.len()).unwrap_or(path))
    }
}
