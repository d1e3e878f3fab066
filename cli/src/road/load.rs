//! From texts to a system and what is asked of it.

use super::Task;
use super::host::RoadHost;
use super::properties::Properties;
use crate::arguments::TableMode;
use crate::input::{Specification, faulty};
use crate::outcome::Failure;
use gridlock_lang::property::never;
use gridlock_lang::system::{Options, System, Tables as Filling};
use gridlock_lts::property::Property;
use gridlock_manager::journal::Identity;
use gridlock_manager::method::subsystem::require_complete;
use gridlock_manager::method::{Host, Tables};
use std::sync::Arc;

/// Everything that the texts say.
pub struct Loaded {
    /// The processes.
    pub tables: Tables,
    /// What is asked.
    pub properties: Properties,
    /// What the patterns of the method mean.
    pub patterns: Vec<Property>,
    /// What decides all of this.
    pub identity: Identity,
}

/// Reads, checks, translates and fills.
pub fn load(task: &Task, specification: &Specification, host: &RoadHost) -> Result<Loaded, Failure> {
    let watch = host.watch;
    let options = task.tables.options(TableMode::Auto);
    if task.wanted.can_be_wrong() {
        // Tables may take minutes; what is wrong with a property is told before.
        let options = Options { tables: Filling::OnDemand, ..options.clone() };
        let system = specification.load(&specification.name, &options, options.table_limit, watch)?;
        task.wanted.translate(&system.builder)?;
        for (place, name) in task.wanted.absent(&system.builder)? {
            host.note(&format!(
                "note: {place}: no step can have the action '{name}', hidden or not; nothing matches it"
            ));
        }
    }
    // An endless process is searched while it unfolds.
    let most = task.common.max_states.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let most = most.min(options.table_limit);
    let System { network, builder, closed } =
        specification.load(&specification.name, &options, most, watch)?;
    let properties = task.wanted.translate(&builder)?;
    if let Some(what) = task.method.needs_complete_tables() {
        require_complete(closed, what)?;
    }
    let (flag, patterns) = task.method.patterns();
    let pattern = |text: &String| never(&builder, text).map_err(|problems| faulty(flag, text, &problems));
    let patterns = patterns.iter().map(pattern).collect::<Result<Vec<_>, _>>()?;
    let parts = [
        ("gridlock", env!("CARGO_PKG_VERSION").to_owned()),
        ("specification", specification.fingerprint()),
        ("properties", properties.identity.join(", ")),
        // Tables that are filled otherwise may have other local states, and so other traces.
        ("tables", format!("{:?}, {}, {}", options.tables, options.table_limit, options.step_limit)),
    ];
    let identity = parts.map(|(name, value)| (name.to_owned(), value)).into();
    let tables = Tables { network: Arc::new(network), source: Box::new(builder), complete: closed };
    Ok(Loaded { tables, properties, patterns, identity })
}
