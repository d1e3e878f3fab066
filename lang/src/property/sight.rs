//! What a property sees of a step: its visible label, or also actions that the specification hides.
//!
//! A formula means what it means in mCRL2, where a hidden action is `tau`. A user who wants to look behind a `hide` says so,
//! for some names or for all; every step is then read as if these were not hidden.

use crate::diagnostic::did_you_mean;
use crate::model::{ActName, Model};
use crate::process::action::{Act, MultiAction, Names};

/// Which hidden actions are seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sight(Seen);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Seen {
    All,
    Named(Names),
}

impl Default for Sight {
    /// No hidden action is seen.
    fn default() -> Self {
        Sight(Seen::Named(Vec::new()))
    }
}

impl Sight {
    /// The hidden actions with these names, or all if there is none; an error if one is not declared.
    pub fn of(model: &Model, names: &[String]) -> Result<Self, String> {
        if names.is_empty() {
            return Ok(Sight(Seen::All));
        }
        let declared = &model.action_names;
        let mut seen = Vec::new();
        for name in names {
            match declared.iter().position(|n| **n == **name) {
                Some(at) => seen.push(ActName(at as u32)),
                None => {
                    let guess = did_you_mean(name, declared.iter().map(|n| &**n));
                    let hint = guess.map(|guess| format!("; did you mean '{guess}'?")).unwrap_or_default();
                    return Err(format!("no action '{name}' is declared{hint}"));
                }
            }
        }
        seen.sort();
        seen.dedup();
        Ok(Sight(Seen::Named(seen)))
    }

    /// Whether the name is seen where it is hidden.
    pub fn sees(&self, name: ActName) -> bool {
        match &self.0 {
            Seen::All => true,
            Seen::Named(names) => names.binary_search(&name).is_ok(),
        }
    }

    /// A step as it is seen, sorted.
    pub fn view(&self, visible: MultiAction, hidden: Vec<Act>) -> MultiAction {
        let mut view = visible;
        view.extend(hidden.into_iter().filter(|act| self.sees(act.name)));
        view.sort();
        view
    }
}
