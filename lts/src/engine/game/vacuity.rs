//! Vacuity of a formula that holds: boxes that match no step of any state that it looked at.
//!
//! Games and sweeps know which steps those were. For a formula that automata watch, all steps that the tables have are
//! tested, which may be more: a warning may then be missing, but none is wrong.

use crate::base::error::Result;
use crate::base::hash::{Map, Set};
use crate::model::network::{Network, Outcome, VectorIx};
use crate::property::formula::{Class, Equations, Modality, Position, Tree};
use std::collections::BTreeSet;

/// Questions beyond which nothing is said.
const MOST: usize = 200_000;

/// The same for all steps of tables: this comes after searches that are done without it.
const MOST_IN_TABLES: usize = 20_000;

/// The antecedents of a formula, each once, of which no instance matches any step that the tables have. They must be complete, and
/// the formula must hold. Where that takes too many questions, nothing is said.
pub fn in_tables(net: &Network, equations: &dyn Equations) -> Result<Vec<String>> {
    equations.prepare(net, true)?;
    let mut classes = BTreeSet::new();
    for (vector, content) in net.vectors.iter().enumerate() {
        if let Outcome::Step(_) = content.outcome {
            classes.insert(equations.class(net, VectorIx(vector as u32))?);
        }
    }
    let (mut positions, mut known) = (vec![Position(0)], Set::default());
    known.insert(Position(0));
    let (mut at, mut questions) = (0, 0);
    while let Some(&position) = positions.get(at) {
        at += 1;
        let tree = equations.unfold(position)?;
        let mut next = Vec::new();
        places(&tree, &mut next);
        let mut modalities = BTreeSet::new();
        collect(&tree, &mut |modality, _| {
            modalities.insert(modality);
        });
        questions += 1 + modalities.len() * classes.len();
        if questions > MOST_IN_TABLES {
            return Ok(Vec::new());
        }
        for modality in modalities {
            for class in &classes {
                places(&*equations.after(modality, *class)?, &mut next);
            }
        }
        positions.extend(next.into_iter().filter(|position| known.insert(*position)));
    }
    of(equations, positions.into_iter(), &classes)
}

/// The positions that a tree names.
fn places(tree: &Tree, found: &mut Vec<Position>) {
    match tree {
        Tree::Const(_) | Tree::Every(_) | Tree::Some(_) => {}
        Tree::At(position) => found.push(*position),
        Tree::Junction(_, parts) => parts.iter().for_each(|part| places(part, found)),
    }
}

/// The antecedents, each once, of which no instance matches a step of these classes. The positions are all that were asked
/// for, the classes those of all steps of all states in which they were.
pub(super) fn of(
    equations: &dyn Equations,
    positions: impl Iterator<Item = Position>,
    classes: &BTreeSet<Class>,
) -> Result<Vec<String>> {
    let mut modalities = BTreeSet::new();
    for position in positions {
        collect(&*equations.unfold(position)?, &mut |modality, every| {
            if every {
                modalities.insert(modality);
            }
        });
    }
    if modalities.len() * classes.len() > MOST {
        return Ok(Vec::new());
    }
    // Of an antecedent with variables some values may do.
    let mut matched: Map<String, bool> = Map::default();
    let mut order = Vec::new();
    for modality in modalities {
        let Some(antecedent) = equations.antecedent(modality) else { continue };
        let known = matched.entry(antecedent.clone()).or_insert_with(|| {
            order.push(antecedent);
            false
        });
        for class in classes {
            if *known {
                break;
            }
            *known = *equations.after(modality, *class)? != Tree::Const(true);
        }
    }
    Ok(order.into_iter().filter(|antecedent| !matched[antecedent]).collect())
}

/// Calls `each` for all modalities of a tree, and says whether they are about every step.
fn collect(tree: &Tree, each: &mut dyn FnMut(Modality, bool)) {
    match tree {
        Tree::Const(_) | Tree::At(_) => {}
        Tree::Junction(_, parts) => parts.iter().for_each(|part| collect(part, each)),
        Tree::Every(modality) => each(*modality, true),
        Tree::Some(modality) => each(*modality, false),
    }
}
