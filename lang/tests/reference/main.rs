//! The network against a naive reading of the semantics, on random specifications: the state spaces must be strongly
//! bisimilar.

mod begin;
mod few_names;
mod many_names;
mod odd;
mod random;
mod rich_data;
mod semantics;
mod styles;
mod unfolding;

use gridlock_lang::check::check;
use gridlock_lang::syntax::parse;
use gridlock_lang::system::{Options, Tables, load};
use gridlock_lts::engine::explore::{self, explore};
use gridlock_lts::model::equivalence::{Comparison, Equivalence, compare};
use gridlock_lts::model::explicit::Lts;
use semantics::Reference;
use std::sync::Arc;

/// The state space as Gridlock builds it; `None` if it refuses the specification because too many actions could happen
/// at once. Any other refusal is a failure of the test.
fn built(text: &str, tables: Tables) -> Option<Lts> {
    built_with(text, &Options { tables, warm_up: 200, ..Options::default() })
}

/// The same with other options.
fn built_with(text: &str, options: &Options) -> Option<Lts> {
    let mut system = match load(text, "random", options, &mut |_| true) {
        Ok(system) => system,
        Err(e)
            if e.iter().all(|d| {
                d.message.contains("combinations of actions could happen")
                    || d.message.contains("can do too many actions at once")
            }) =>
        {
            return None;
        }
        Err(e) => panic!("{e:?}\n{text}"),
    };
    let source: Option<&mut dyn gridlock_lts::model::network::TableSource> =
        if system.closed { None } else { Some(&mut system.builder) };
    let options = explore::Options { max_states: 100_000, progress: &mut |_| true };
    Some(explore(&mut system.network, source, options).unwrap_or_else(|e| panic!("{e:?}\n{text}")))
}

/// The state space of a specification that Gridlock must accept.
fn gridlock(text: &str, tables: Tables) -> Lts {
    built(text, tables).unwrap_or_else(|| panic!("refused: {text}"))
}

const ALL: [Tables; 3] = [Tables::Auto, Tables::AheadOfTime, Tables::OnDemand];

/// What a comparison with the reference came to; a difference is a panic.
enum Agreement {
    /// The state spaces are strongly bisimilar; this is the reference's.
    Equal(Lts),
    /// The reference has too many states to compare.
    TooLarge,
    /// Gridlock refused the specification, see [`built`].
    Refused,
}

impl Agreement {
    /// The reference's state space, where nothing may be too large.
    fn expect_equal(self, text: &str) -> Lts {
        match self {
            Agreement::Equal(lts) => lts,
            Agreement::TooLarge => panic!("too large: {text}"),
            Agreement::Refused => panic!("refused: {text}"),
        }
    }
}

/// Compares the network with the reference in the given table modes.
fn agrees(text: &str, what: &str, limit: usize, modes: &[Tables]) -> Agreement {
    let model = Arc::new(check(&parse(text).expect("syntax")).unwrap_or_else(|e| panic!("{e:?}\n{text}")));
    let Some(expected) = Reference::new(model).explore(limit) else { return Agreement::TooLarge };
    for tables in modes {
        let Some(found) = built(text, *tables) else { return Agreement::Refused };
        let verdict = compare(&expected, &found, Equivalence::Strong).expect("small");
        assert!(
            matches!(verdict, Comparison::Equal),
            "{what}, {tables:?}: {verdict:?}\nreference {} states, network {}\n{text}",
            expected.num_states(),
            found.num_states()
        );
    }
    Agreement::Equal(expected)
}
