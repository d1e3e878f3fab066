//! Which searches for runs a formula allows, seen from the formula and the steps of its network alone.

use super::Refuter;
use crate::base::error::Result;
use crate::base::hash::Set;
use crate::model::network::{Network, Outcome, VectorIx};
use crate::property::formula::{Class, Equations, Position, Tree};

/// More positions are not looked at: a parameter grows, and what was seen so far is typical.
const MOST_SEEN: usize = 4096;

/// What can refute a formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// A run that repeats, or that comes to a step or an end that decides.
    pub run: bool,
    /// A run into a trap.
    pub trap: bool,
}

/// The choices that a position leaves to the two players, independent of the state.
#[derive(Default)]
struct Asks {
    /// The player who refutes may have to choose among positions.
    choice: bool,
    /// The other player may have to.
    obligation: bool,
    /// It may be false at once.
    decides: bool,
    next: Vec<Position>,
}

/// Says how a formula can be refuted without solving its game; `None` if that takes a game, or every reachable state. The
/// formula was prepared for the network, which is complete.
pub fn shape(net: &Network, equations: &dyn Equations) -> Result<Option<Shape>> {
    let mut look = Look { refuter: Refuter::new(equations), classes: classes(net, equations)? };
    let all = look.reachable(&[Position(0)])?;
    let mut shape = Shape { run: false, trap: false };
    let mut begins_with_choice = false;
    for &position in &all {
        if equations.in_turn(position) {
            return Ok(None);
        }
        let asks = look.asks(position)?;
        let odd = equations.rank(position).is_some_and(|rank| rank % 2 == 1);
        if !asks.obligation {
            shape.run |= asks.decides || odd;
            begins_with_choice |= asks.choice;
            continue;
        }
        shape.trap = true;
        for inside in look.reachable(&[position])? {
            let asks = look.asks(inside)?;
            if asks.choice || equations.rank(inside).is_some_and(|rank| rank % 2 == 0) {
                return Ok(None);
            }
        }
    }
    // A trap that begins at the beginning is the whole system.
    shape.trap &= begins_with_choice;
    Ok((shape.run || shape.trap).then_some(shape))
}

/// The classes of all steps.
fn classes(net: &Network, equations: &dyn Equations) -> Result<Vec<Class>> {
    let mut known = Set::default();
    let mut all = Vec::new();
    for (v, vector) in net.vectors.iter().enumerate() {
        if let Outcome::Step(_) = vector.outcome {
            let class = equations.class(net, VectorIx(v as u32))?;
            if known.insert(class) {
                all.push(class);
            }
        }
    }
    Ok(all)
}

struct Look<'e> {
    refuter: Refuter<'e>,
    classes: Vec<Class>,
}

impl Look<'_> {
    fn reachable(&mut self, from: &[Position]) -> Result<Vec<Position>> {
        let mut all = from.to_vec();
        let mut known: Set<Position> = all.iter().copied().collect();
        let mut done = 0;
        while done < all.len().min(MOST_SEEN) {
            for next in self.asks(all[done])?.next {
                if known.insert(next) {
                    all.push(next);
                }
            }
            done += 1;
        }
        Ok(all)
    }

    fn asks(&mut self, position: Position) -> Result<Asks> {
        let tree = self.refuter.tree(position)?;
        let mut asks = Asks::default();
        self.look_at(&tree, &mut asks)?;
        Ok(asks)
    }

    /// Adds what a tree asks; whether it may name a position.
    fn look_at(&mut self, tree: &Tree, asks: &mut Asks) -> Result<bool> {
        let all = matches!(tree, Tree::Junction(true, _) | Tree::Every(_));
        let mut open = 0;
        match tree {
            Tree::Const(truth) => {
                asks.decides |= !truth;
                return Ok(false);
            }
            Tree::At(position) => {
                asks.next.push(*position);
                return Ok(true);
            }
            Tree::Junction(_, parts) => {
                for part in parts {
                    open += usize::from(self.look_at(part, asks)?);
                }
            }
            Tree::Every(modality) | Tree::Some(modality) => {
                for k in 0..self.classes.len() {
                    let after = self.refuter.after(*modality, self.classes[k])?;
                    // Several steps may be of one class.
                    open += 2 * usize::from(self.look_at(&after, asks)?);
                }
                // A diamond without a step is false.
                asks.decides |= matches!(tree, Tree::Some(_));
            }
        }
        if open > 1 {
            *(if all { &mut asks.choice } else { &mut asks.obligation }) = true;
        }
        Ok(open > 0)
    }
}
