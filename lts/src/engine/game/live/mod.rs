//! Support for searches that look for runs against a formula without solving its game.
//!
//! To refute a position in a state is to choose one of its [`alternatives`](Refuter::alternatives): pairs of states and
//! positions all of which are then to be refuted. Two kinds of refutation need no solver. A *run* chooses, pair after pair,
//! an alternative of one pair only, until nothing is left to refute or it repeats with an odd rank as the greatest. A
//! *trap* is a set of pairs that have one alternative each, which lies in the set, and no even rank: no move of the other
//! player ever leaves it. [`shape`] says which kinds a formula may have, [`certify`] makes a certificate of what was found,
//! and [`super::certificate::check`] checks it on the plain network.
//!
//! Invariant: what is found does not depend on the numbers of positions, which depend on the order in which they were asked
//! for.

mod certify;
mod shape;

pub use certify::certify;
pub use shape::{Shape, shape};

use crate::base::error::Result;
use crate::base::hash::Map;
use crate::engine::game::MOST_CHECKED;
use crate::engine::game::build::Trees;
use crate::model::network::{Network, VectorIx};
use crate::property::formula::{Class, Equations, Modality, Position, Tree};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most pairs of a trap: a larger one is not checked, and therefore not reported.
pub const MOST_PAIRS: usize = MOST_CHECKED;

/// Alternatives of a pair at most that come from choosing in several places at once.
const MOST_COMBINED: usize = 1 << 10;

/// How a run refutes a formula.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Ending {
    /// Nothing is left to refute at its end: its last state, or a step from there, decides.
    Decides,
    /// It repeats for ever: after its last step it is where it was after the given number of steps.
    Repeats(u32),
    /// It ends in a trap.
    Trap,
}

/// A position to refute, after the step of that index or without one.
pub type Next = (Option<u32>, Position);

/// Positions that are all to be refuted.
pub type Alternative = Vec<Next>;

/// Knows how to refute the positions of a formula; it remembers what it asked.
pub struct Refuter<'e> {
    equations: &'e dyn Equations,
    trees: Trees,
    after: Map<(Modality, Class), Arc<Tree>>,
    classes: Vec<Option<Class>>,
}

impl<'e> Refuter<'e> {
    /// A refuter for a formula that was prepared for its network.
    pub fn new(equations: &'e dyn Equations) -> Self {
        Refuter { equations, trees: Trees::default(), after: Map::default(), classes: Vec::new() }
    }

    /// The class of a vector.
    pub fn class(&mut self, net: &Network, vector: VectorIx) -> Result<Class> {
        let at = vector.0 as usize;
        if self.classes.len() <= at {
            self.classes.resize(at + 1, None);
        }
        if let Some(class) = self.classes[at] {
            return Ok(class);
        }
        let class = self.equations.class(net, vector)?;
        self.classes[at] = Some(class);
        Ok(class)
    }

    /// The rank of a position.
    pub fn rank(&self, position: Position) -> Option<u32> {
        self.equations.rank(position)
    }

    fn tree(&mut self, position: Position) -> Result<Arc<Tree>> {
        self.trees.of(self.equations, position)
    }

    fn after(&mut self, modality: Modality, class: Class) -> Result<Arc<Tree>> {
        if let Some(tree) = self.after.get(&(modality, class)) {
            return Ok(tree.clone());
        }
        let tree = self.equations.after(modality, class)?;
        self.after.insert((modality, class), tree.clone());
        Ok(tree)
    }

    /// How a position can be refuted in a state whose steps have these classes. No alternative: it holds. An empty one: it
    /// is refuted already, and there is no other. `None` if there are too many.
    pub fn alternatives(
        &mut self,
        position: Position,
        classes: &[Class],
    ) -> Result<Option<Vec<Alternative>>> {
        let tree = self.tree(position)?;
        self.of_tree(&tree, None, classes)
    }

    fn of_tree(
        &mut self,
        tree: &Tree,
        step: Option<u32>,
        classes: &[Class],
    ) -> Result<Option<Vec<Alternative>>> {
        let mut all = Alternatives::of(matches!(tree, Tree::Junction(true, _) | Tree::Every(_)));
        match tree {
            Tree::Const(true) => return Ok(Some(Vec::new())),
            Tree::Const(false) => return Ok(Some(vec![Vec::new()])),
            Tree::At(position) => return Ok(Some(vec![vec![(step, *position)]])),
            Tree::Junction(_, parts) => {
                for part in parts {
                    let Some(some) = self.of_tree(part, step, classes)? else { return Ok(None) };
                    if all.add(some) {
                        break;
                    }
                }
            }
            Tree::Every(modality) | Tree::Some(modality) => {
                for (k, class) in (0..).zip(classes) {
                    let after = self.after(*modality, *class)?;
                    let Some(some) = self.of_tree(&after, Some(k), classes)? else { return Ok(None) };
                    if all.add(some) {
                        break;
                    }
                }
            }
        }
        Ok(all.known)
    }
}

/// The alternatives of several parts: any of them (`any`), or some of each together.
struct Alternatives {
    any: bool,
    known: Option<Vec<Alternative>>,
}

impl Alternatives {
    fn of(any: bool) -> Self {
        Alternatives { any, known: Some(if any { Vec::new() } else { vec![Vec::new()] }) }
    }

    /// Adds those of one more part; whether it is decided now.
    fn add(&mut self, mut some: Vec<Alternative>) -> bool {
        let Some(known) = &mut self.known else { return true };
        if self.any {
            if some.iter().any(Vec::is_empty) {
                *known = vec![Vec::new()];
                return true;
            }
            known.append(&mut some);
            return false;
        }
        if let [only] = &some[..] {
            known.iter_mut().for_each(|alternative| alternative.extend(only));
            return false;
        }
        if known.len() * some.len() > MOST_COMBINED {
            self.known = None;
            return true;
        }
        let joined = |a: &Alternative, b: &Alternative| a.iter().chain(b).copied().collect();
        *known = known.iter().flat_map(|a| some.iter().map(move |b| joined(a, b))).collect();
        known.is_empty()
    }
}
