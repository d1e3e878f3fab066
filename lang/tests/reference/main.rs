//! The network against a naive reading of the semantics, on random specifications: the state spaces must be strongly
//! bisimilar.

mod few_names;
mod many_names;
mod random;
mod semantics;
mod unfolding;

use gridlock_lang::check::check;
use gridlock_lang::syntax::parse;
use gridlock_lang::system::{Options, Tables, load};
use gridlock_lts::engine::explore::{self, explore};
use gridlock_lts::model::equivalence::{Comparison, Equivalence, compare};
use gridlock_lts::model::explicit::Lts;
use semantics::Reference;
use std::sync::Arc;

/// The state space as Gridlock builds it.
fn gridlock(text: &str, tables: Tables) -> Lts {
    let options = Options { tables, warm_up: 200, ..Options::default() };
    let mut system =
        load(text, "random", &options, &mut |_| true).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let source: Option<&mut dyn gridlock_lts::model::network::TableSource> =
        if system.closed { None } else { Some(&mut system.builder) };
    let options = explore::Options { max_states: 100_000, progress: &mut |_| true };
    explore(&mut system.network, source, options).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

const ALL: [Tables; 3] = [Tables::Auto, Tables::AheadOfTime, Tables::OnDemand];

/// Compares the network with the reference in the given table modes; `None` if the reference is too large.
fn agrees(text: &str, what: &str, limit: usize, modes: &[Tables]) -> Option<Lts> {
    let model = Arc::new(check(&parse(text).expect("syntax")).unwrap_or_else(|e| panic!("{e:?}\n{text}")));
    let expected = Reference::new(model).explore(limit)?;
    for tables in modes {
        let found = gridlock(text, *tables);
        let verdict = compare(&expected, &found, Equivalence::Strong).expect("small");
        assert!(
            matches!(verdict, Comparison::Equal),
            "{what}, {tables:?}: {verdict:?}\nreference {} states, network {}\n{text}",
            expected.num_states(),
            found.num_states()
        );
    }
    Some(expected)
}
