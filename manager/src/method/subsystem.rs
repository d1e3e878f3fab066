//! The subsystem of a swarm: from names on the command line to leaves, and from leaves to a guide.
//!
//! Names are those that `gridlock info` prints, parameters may be left out where the name stays unique. Invariant: every
//! error about names or about the subsystem comes with a remedy.

use super::quantities::count;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::guide::{Guide, NoGuide, NoOrders, Orders, Subsystem};
use gridlock_lts::model::network::{LeafIx, Network};

/// The most states that a subsystem or its unrolling may have.
pub const GUIDE_LIMIT: usize = 1 << 20;
/// Of a cycle, this many steps are shown at most.
const SHOWN_CYCLE: usize = 8;
/// Of the leaves, this many are listed at most.
const LISTED: usize = 50;

/// Splits at commas that are not within parentheses, as in `LINK(2, 0),BUS`.
pub fn split_names(texts: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for text in texts {
        let (mut depth, mut name) = (0usize, String::new());
        for c in text.chars() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    names.push(std::mem::take(&mut name));
                    continue;
                }
                _ => {}
            }
            name.push(c);
        }
        names.push(name);
    }
    names.into_iter().map(|name| name.trim().to_owned()).collect()
}

/// The leaves of these names, which the user gave with `--subsystem`.
pub fn find_leaves(net: &Network, names: &[String]) -> Result<Vec<LeafIx>> {
    find_leaves_for("--subsystem", net, names)
}

/// The leaves of these names, which the user gave with the given option.
pub fn find_leaves_for(option: &str, net: &Network, names: &[String]) -> Result<Vec<LeafIx>> {
    let mut leaves = names.iter().map(|name| find(option, net, name)).collect::<Result<Vec<_>>>()?;
    leaves.sort_unstable();
    leaves.dedup();
    Ok(leaves)
}

/// An error if a list of groups, as in `A,B;C,D`, has one without names.
pub fn check_groups(option: &str, text: &str) -> Result<()> {
    if text.split(';').any(|group| group.trim().is_empty()) {
        return Err(Error::input(format_args!(
            "{option} has a group without names; it is `auto`, or names with commas and groups with semicolons in \
             between: {option} 'A,B;C,D'"
        )));
    }
    Ok(())
}

/// The leaves of each group in a list like `A,B;C,D`. No leaf may be in two groups.
pub fn find_groups(option: &str, net: &Network, text: &str) -> Result<Vec<Vec<LeafIx>>> {
    check_groups(option, text)?;
    let mut groups: Vec<Vec<LeafIx>> = Vec::new();
    for group in text.split(';') {
        let leaves = find_leaves_for(option, net, &split_names(&[group.to_owned()]))?;
        let twice = leaves.iter().find(|leaf| groups.iter().flatten().any(|known| known == *leaf));
        if let Some(leaf) = twice {
            return Err(Error::input(format_args!(
                "{option}: `{}` is in two groups; a process can be in one",
                names(net, &[*leaf]).concat()
            )));
        }
        groups.push(leaves);
    }
    Ok(groups)
}

/// The names of leaves.
pub fn names(net: &Network, leaves: &[LeafIx]) -> Vec<String> {
    leaves.iter().map(|leaf| net.leaves[leaf.0 as usize].name.clone()).collect()
}

fn find(option: &str, net: &Network, name: &str) -> Result<LeafIx> {
    // Blanks in a name are a matter of taste.
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let wanted = bare(name);
    // A name without its parameters will do if only one process has it.
    let stem = |leaf: &str| bare(leaf.split('(').next().unwrap_or(leaf));
    let places = |wanted: &dyn Fn(&str) -> bool| -> Vec<u32> {
        (0..).zip(&net.leaves).filter(|(_, leaf)| wanted(&leaf.name)).map(|(ix, _)| ix).collect()
    };
    for found in [places(&|leaf| bare(leaf) == wanted), places(&|leaf| stem(leaf) == wanted)] {
        if let [leaf] = found[..] {
            return Ok(LeafIx(leaf));
        }
    }
    let distance = |leaf: &str| {
        let to = |text: String| edit_distance(&text.to_lowercase(), &wanted.to_lowercase());
        to(bare(leaf)).min(to(stem(leaf)))
    };
    let nearest = net.leaves.iter().map(|leaf| (distance(&leaf.name), &leaf.name)).min();
    let guess = match nearest {
        Some((distance, nearest)) if distance <= wanted.chars().count().div_ceil(2) => {
            format!("; did you mean `{nearest}`?")
        }
        _ => String::new(),
    };
    let mut listed: Vec<&str> = net.leaves.iter().take(LISTED).map(|leaf| leaf.name.as_str()).collect();
    if net.leaves.len() > LISTED {
        listed.push("... (`gridlock info` shows all)");
    }
    Err(Error::input(format_args!(
        "{option}: there is no process `{name}`{guess}\n  the processes are: {}",
        listed.join(", ")
    )))
}

/// The number of characters to add, remove or replace to turn one text into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    // The beginning of a name is enough to guess by, however long it is.
    let b: Vec<char> = b.chars().take(200).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(200).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The LTS of some leaves.
pub fn build(net: &Network, leaves: &[LeafIx]) -> Result<Subsystem> {
    Subsystem::new(net, leaves, GUIDE_LIMIT).map_err(|why| failure(net, leaves, why))
}

/// The guide of a subsystem, its cycles bounded if `unroll` says so.
pub fn guide(net: &Network, subsystem: &Subsystem, unroll: Option<u32>) -> Result<Guide> {
    let made = match unroll {
        None => subsystem.guide(net),
        Some(bound) => subsystem.unrolled(bound, GUIDE_LIMIT),
    };
    made.map_err(|why| failure(net, subsystem.leaves(), why))
}

/// The classes of the traces of a guide, which `--orders one` asks for.
pub fn orders(guide: &Guide) -> Result<Orders> {
    Orders::of(guide, GUIDE_LIMIT).map_err(|why| match why {
        NoOrders::Bounded => Error::input(
            "--orders one does not go with a cyclic subsystem: how often a process goes round is bounded for all processes of \
             the subsystem together (--unroll), so the order of their moves matters",
        ),
        NoOrders::TooLarge { limit } => Error::input(format_args!(
            "the subsystem with the moves that have to wait in each place has more than {} states: choose fewer processes, or \
             --orders all",
            count(limit as u64)
        )),
    })
}

fn failure(net: &Network, leaves: &[LeafIx], why: NoGuide) -> Error {
    let names = names(net, leaves).join(", ");
    match why {
        NoGuide::TooLarge { limit } => Error::input(format_args!(
            "the subsystem {names} has more than {} states: choose fewer or smaller processes, or a smaller --unroll",
            count(limit as u64)
        )),
        NoGuide::Cyclic(cycle) => Error::input(format_args!(
            "the subsystem {names} is cyclic, for instance by {}, so its traces have no end: --unroll K follows \
             each cycle at most K times, or choose a process that `gridlock info` does not call cyclic",
            shown_cycle(&cycle)
        )),
    }
}

/// The labels of a cycle in a line.
pub fn shown_cycle(labels: &[String]) -> String {
    let mut text = labels.iter().take(SHOWN_CYCLE).map(String::as_str).collect::<Vec<_>>().join(" . ");
    if labels.len() > SHOWN_CYCLE {
        text += &format!(" . ... ({} steps)", labels.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_outside_parentheses() {
        let split = |texts: &[&str]| split_names(&texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            split(&["LINK(2, 0), BUS", "P([1, 2], f(3, 4))"]),
            ["LINK(2, 0)", "BUS", "P([1, 2], f(3, 4))"]
        );
        assert_eq!(split(&["A)),B"]), ["A))", "B"]);
    }

    #[test]
    fn distances() {
        for (a, b, distance) in [("", "", 0), ("user", "usr", 1), ("kitten", "sitting", 3), ("abc", "", 3)] {
            assert_eq!(edit_distance(a, b), distance);
            assert_eq!(edit_distance(b, a), distance);
        }
    }
}
