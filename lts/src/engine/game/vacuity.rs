//! What a formula that holds was never asked: boxes that no step of any state it looked at matches.

use crate::base::error::Result;
use crate::base::hash::Map;
use crate::property::formula::{Class, Equations, Modality, Position, Tree};
use std::collections::BTreeSet;

/// Questions beyond which nothing is said.
const MOST: usize = 200_000;

/// The antecedents, each once, of which no instance matches a step of these classes. The positions are all that were asked
/// for, the classes those of all steps of all states in which they were.
pub(super) fn of(
    equations: &dyn Equations,
    positions: impl Iterator<Item = Position>,
    classes: &BTreeSet<Class>,
) -> Result<Vec<String>> {
    let mut modalities = BTreeSet::new();
    for position in positions {
        collect(&*equations.unfold(position)?, &mut modalities);
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

fn collect(tree: &Tree, modalities: &mut BTreeSet<Modality>) {
    match tree {
        Tree::Const(_) | Tree::At(_) | Tree::Some(_) => {}
        Tree::Junction(_, parts) => parts.iter().for_each(|part| collect(part, modalities)),
        Tree::Every(modality) => {
            modalities.insert(*modality);
        }
    }
}
