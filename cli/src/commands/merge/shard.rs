//! A shard of a swarm as it is found on disk: the JSON of a finished run, or a checkpoint.

use crate::outcome::Failure;
use gridlock_manager::method::checkpoint::{self, RESULT};
use gridlock_manager::method::traces::ids::parse_id;
use gridlock_manager::method::traces::{ALL_IDS, IDS, OF_THE_SPACE};
use num_bigint::BigUint;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// The identity of a run, by names.
type Identity = BTreeMap<String, String>;

/// The answer of a shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Says {
    /// Nothing was found, and no bound on cycles kept the subsystem from moving.
    Holds,
    /// Nothing was found, but a bound on cycles kept the subsystem from moving.
    Bounded,
    /// A violation was found.
    Violated,
    /// The specification has no meaning in a reachable state.
    Faulty,
    /// It has no answer.
    Unknown,
}

/// See the module head.
pub struct Shard {
    /// The file or directory, as named on the command line.
    pub name: String,
    /// The identity of its run, from which the swarm follows.
    pub identity: Identity,
    /// Its trace IDs.
    pub ids: Range<BigUint>,
    /// Its answer.
    pub says: Says,
    /// The whole result; null if there is none yet.
    pub result: Value,
}

impl Shard {
    /// Reads a shard.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let cannot = |why: &dyn std::fmt::Display| Failure::input(format_args!("cannot use {name}: {why}"));
        let file = if path.is_dir() { path.join(RESULT) } else { path.to_owned() };
        if path.is_dir() && !file.exists() {
            let identity = checkpoint::identity(path)?;
            let ids = ids(&identity).ok_or_else(|| cannot(&"its trace IDs are not clear"))?;
            return Ok(Shard { ids, identity, says: Says::Unknown, result: Value::Null, name });
        }
        let bytes = fs::read(&file).map_err(|e| cannot(&e))?;
        let result: Value = serde_json::from_slice(&bytes).map_err(|e| cannot(&e))?;
        let identity: Identity = match result.pointer("/swarm/identity") {
            Some(identity) => serde_json::from_value(identity.clone()).map_err(|e| cannot(&e))?,
            None => {
                return Err(cannot(
                    &"it is not the result of a swarm over traces (`gridlock check --search isv --jobs prefix --json`)",
                ));
            }
        };
        let ids = ids(&identity).ok_or_else(|| cannot(&"its trace IDs are not clear"))?;
        let text = |field: &str| result.get(field).and_then(Value::as_str);
        let says = match (text("verdict"), text("reason")) {
            (Some("holds"), _) | (Some("unknown"), Some("shard")) => Says::Holds,
            (Some("unknown"), Some("bounded" | "shard-bounded")) => Says::Bounded,
            (Some("violated"), _) => Says::Violated,
            (Some("faulty"), _) => Says::Faulty,
            (Some("unknown"), _) => Says::Unknown,
            _ => return Err(cannot(&"it has no verdict")),
        };
        Ok(Shard { name, identity, ids, says, result })
    }

    /// Why this cannot be a shard of the same swarm as another one, if it cannot.
    pub fn differs(&self, other: &Shard) -> Option<String> {
        let value = |shard: &Shard, part: &str| shard.identity.get(part).cloned().unwrap_or_default();
        OF_THE_SPACE.iter().find(|part| value(self, part) != value(other, part)).map(|part| {
            format!(
                "{} and {} are not of the same swarm: {part} is {} in one and {} in the other",
                other.name,
                self.name,
                value(other, part),
                value(self, part)
            )
        })
    }

    /// A field of the swarm's figures.
    pub fn number(&self, field: &str) -> f64 {
        self.result.pointer(&format!("/swarm/{field}")).and_then(Value::as_f64).unwrap_or(0.0)
    }

    /// Why it has no answer.
    pub fn reason(&self) -> &str {
        self.result.get("reason").and_then(Value::as_str).unwrap_or("unfinished")
    }
}

/// The trace IDs of an identity.
fn ids(identity: &Identity) -> Option<Range<BigUint>> {
    match identity.get(IDS)?.as_str() {
        ALL_IDS => Some(BigUint::ZERO..parse_id(identity.get("traces")?).ok()?),
        ids => {
            let (start, end) = ids.split_once("..")?;
            Some(parse_id(start).ok()?..parse_id(end).ok()?)
        }
    }
}

/// The ranges between 0 and `end` that these ranges leave out.
pub fn gaps(mut ranges: Vec<Range<BigUint>>, end: &BigUint) -> Vec<Range<BigUint>> {
    ranges.sort_by(|a, b| a.start.cmp(&b.start));
    let (mut gaps, mut reached) = (Vec::new(), BigUint::ZERO);
    for range in ranges {
        if range.start > reached {
            gaps.push(reached.clone()..range.start);
        }
        reached = reached.max(range.end);
    }
    if reached < *end {
        gaps.push(reached..end.clone());
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::gaps;
    use gridlock_lts::base::rng::Rng;
    use num_bigint::BigUint;

    #[test]
    fn gaps_are_what_no_range_has() {
        let rng = &mut Rng::new(1);
        for _ in 0..2_000 {
            let end = 1 + rng.below(20);
            let range = |rng: &mut Rng| {
                let a = rng.below(end);
                a..a + 1 + rng.below(end - a)
            };
            let ranges: Vec<_> = (0..rng.below(5)).map(|_| range(rng)).collect();
            let big = |r: &std::ops::Range<usize>| BigUint::from(r.start)..BigUint::from(r.end);
            let found = gaps(ranges.iter().map(big).collect(), &BigUint::from(end));
            for id in 0..end {
                let missing = found.iter().any(|gap| gap.contains(&BigUint::from(id)));
                assert_eq!(missing, !ranges.iter().any(|r| r.contains(&id)), "{id} of {end} in {ranges:?}");
            }
        }
    }
}
