//! From texts to a system and its properties.

use super::Task;
use super::host::RoadHost;
use super::properties::Properties;
use crate::flags::TableMode;
use crate::input::{Specification, faulty, fill, fill_if_cheap, require_closed};
use crate::outcome::Failure;
use gridlock_lang::data::disagreement::Disagreements;
use gridlock_lang::property::never;
use gridlock_lang::system::{Options, System};
use gridlock_lts::property::Property;
use gridlock_manager::grid::journal::Identity;
use gridlock_manager::method::{Host, Tables};
use std::sync::Arc;

/// The result of loading the texts.
pub struct Loaded {
    /// The processes.
    pub tables: Tables,
    /// The properties to check.
    pub properties: Properties,
    /// The meanings of the method's patterns.
    pub patterns: Vec<Property>,
    /// The identity that determines all of this.
    pub identity: Identity,
    /// Warnings about properties from before the tables were filled.
    pub warnings: Vec<String>,
    /// Equations that disagree, if they are looked for; more may be found while tables are filled.
    pub disagreements: Option<Arc<Disagreements>>,
}

/// Reads, checks, translates and fills.
pub fn load(task: &Task, specification: &Specification, host: &RoadHost) -> Result<Loaded, Failure> {
    let watch = host.watch;
    let disagreements = task.check_equations.then(|| Arc::new(Disagreements::default()));
    let options = Options { disagreements: disagreements.clone(), ..task.tables.options(TableMode::Auto) };
    let complete = task.method.needs_complete_tables();
    // An endless process is searched while it unfolds, unless tables are better complete.
    let most = task.common.max_states.filter(|_| !task.method.prefers_complete_tables());
    let most = most.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let mut checked = specification.check(&specification.name, &options, most, watch)?;
    // Tables may take long; the user hears before that what is wrong with a property.
    let properties = task.wanted.translate(checked.builder())?;
    let warnings = task.wanted.notes(checked.builder())?;
    warnings.iter().for_each(|note| host.note(note));
    for [name, sort, value] in checked.builder().globals() {
        host.note(&format!("the global variable {name}: {sort} is taken to be {value}"));
    }
    if let Some(start) = &task.from {
        start.enter(&mut checked, watch)?;
    }
    let system = match complete {
        Some(what) => {
            let system = fill(checked, &[], watch)?;
            require_closed(&system, what)?;
            system
        }
        None if task.method.prefers_complete_tables() => fill_if_cheap(checked, &properties.checked, watch)?,
        None => fill(checked, &properties.checked, watch)?,
    };
    let System { network, builder, closed, .. } = system;
    let (flag, patterns) = task.method.patterns();
    let sight = task.wanted.sight(&builder)?;
    let pattern =
        |text: &String| never(&builder, &sight, text).map_err(|problems| faulty(flag, text, &problems));
    let patterns = patterns.iter().map(pattern).collect::<Result<Vec<_>, _>>()?;
    let parts = [
        ("gridlock", env!("CARGO_PKG_VERSION").to_owned()),
        ("specification", specification.fingerprint()),
        ("properties", properties.identity.join(", ")),
        // Tables that are filled otherwise may have other local states, and so other traces.
        ("tables", format!("{:?}, {}, {}", options.tables, options.table_limit, options.step_limit)),
    ];
    let from = task.from.iter().map(|start| ("from", start.identity()));
    let identity = parts.into_iter().chain(from).map(|(name, value)| (name.to_owned(), value)).collect();
    let tables = Tables { network: Arc::new(network), source: Box::new(builder), complete: closed };
    Ok(Loaded { tables, properties, patterns, identity, warnings, disagreements })
}
