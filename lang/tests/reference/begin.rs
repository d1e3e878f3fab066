//! Systems that begin elsewhere: from the state after a random walk, in every way of filling tables, they do what the
//! processes do from there on a plain walk through all states, and every search agrees.

use crate::few_names::specification;
use crate::random::Random;
use crate::{ALL, Tables};
use gridlock_lang::network::build::Builder;
use gridlock_lang::system::{Checked, Options};
use gridlock_lts::engine::explore::{self, explore};
use gridlock_lts::engine::search::{self, Verdict};
use gridlock_lts::engine::{local, parts, replay};
use gridlock_lts::model::equivalence::{Equivalence, compare};
use gridlock_lts::model::explicit::{self, Lts, State};
use gridlock_lts::model::network::{LeafIx, Local, Network, Outcome, Step, TableSource};
use gridlock_lts::property::Property;
use std::collections::HashMap;

/// States beyond which a specification is too large to compare.
const MOST: usize = 200;

fn steps(net: &mut Network, builder: &mut Builder, state: &[Local]) -> Vec<Step> {
    for (leaf, local) in (0..).map(LeafIx).zip(state) {
        builder.expand(net, leaf, *local).expect("expanded");
    }
    let mut steps = Vec::new();
    net.successors(state, &mut steps);
    steps.retain(|step| matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Step(_)));
    steps
}

/// The state after a random walk of at most this number of steps.
fn walked(net: &mut Network, builder: &mut Builder, seed: u64, length: usize) -> Vec<Local> {
    let (mut random, mut state) = (Random(seed), net.initial());
    for _ in 0..length {
        let mut steps = steps(net, builder, &state);
        if steps.is_empty() {
            break;
        }
        state = steps.swap_remove(random.below(steps.len())).target;
    }
    state
}

/// Whether a step from a state has no meaning.
fn is_faulty(net: &Network, state: &[Local]) -> bool {
    let mut steps = Vec::new();
    net.successors(state, &mut steps);
    steps.iter().any(|step| !matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Step(_)))
}

/// All that happens from a state, without any of the engine. `None`: too much, or something has no meaning.
fn naive(net: &mut Network, builder: &mut Builder, start: Vec<Local>) -> Option<Lts> {
    let mut numbers = HashMap::from([(start.clone(), 0u32)]);
    let (mut all, mut lts, mut next) = (vec![start], explicit::Builder::new(), 0);
    lts.require_states(1);
    while next < all.len() {
        for step in steps(net, builder, &all[next].clone()) {
            let fresh = all.len() as u32;
            let to = *numbers.entry(step.target.clone()).or_insert(fresh);
            if to == fresh {
                all.push(step.target);
            }
            let Outcome::Step(label) = net.vectors[step.vector.0 as usize].outcome else { continue };
            let label = lts.label(&net.labels[label.0 as usize].clone());
            lts.add(State(next as u32), label, State(to));
        }
        if is_faulty(net, &all[next]) {
            return None;
        }
        next += 1;
        if all.len() > MOST {
            return None;
        }
    }
    Some(lts.finish(State(0)))
}

fn checked(text: &str, tables: Tables) -> Option<Checked> {
    Checked::read(text, "random", Options { tables, warm_up: 50, table_limit: 20_000, ..Options::default() })
        .ok()
}

#[test]
fn systems_that_begin_elsewhere_go_on_from_there() {
    let rounds = if std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1") { 2000 } else { 200 };
    let (mut compared, mut moved) = (0u64, 0u64);
    for seed in 0..rounds {
        let text = specification(seed);
        let length = (seed % 5) as usize;
        let mut expected = None;
        for tables in ALL {
            let Some(mut checked) = checked(&text, tables) else { continue };
            let mut elsewhere = false;
            let begun = checked.begin_at(|net, builder| {
                let state = walked(net, builder, seed, length);
                elsewhere = state != net.initial();
                if expected.is_none() {
                    expected = naive(net, builder, state.clone());
                }
                expected.is_some().then_some(state).ok_or(())
            });
            let (Ok(()), Some(expected)) = (begun, &expected) else { break };
            let mut system = checked.fill(&[], &mut |_| true);
            let source: Option<&mut dyn TableSource> =
                if system.closed { None } else { Some(&mut system.builder) };
            let options = explore::Options { max_states: 100_000, progress: &mut |_| true };
            let found = explore(&mut system.network, source, options).expect("explored");
            let verdict = compare(expected, &found, Equivalence::Strong).expect("small");
            assert!(verdict.is_equal(), "seed {seed}, {tables:?}: {verdict:?}\n{text}");
            // Different vectors may have one label, which the naive walk notes twice.
            assert_eq!(expected.num_states(), found.num_states(), "seed {seed}, {tables:?}\n{text}");
            compared += 1;
            moved += u64::from(elsewhere);
        }
    }
    assert!(compared > rounds && moved * 3 > compared, "{compared} compared, {moved} begin elsewhere");
}

/// What the searches say about a property of a system, each by its name.
fn answers(net: &Network, property: impl Fn() -> Property) -> Vec<(&'static str, Verdict)> {
    let asked = [property()];
    let exhaustive =
        |options: search::Options| search::check(net, &asked, &options).expect("a verdict").verdict;
    let options = search::Options::default;
    let parts = parts::Options {
        workers: 1,
        limit: parts::DEFAULT_LIMIT,
        groups: &[],
        reduction: parts::Reduction::default(),
        stages: parts::Stages::default(),
        members: parts::DEFAULT_MEMBERS,
        trials: parts::Trials::default(),
        max_memory: 1 << 30,
        stop: &|| None,
        progress: &|_, _, _| {},
    };
    let local = local::Options {
        workers: 1,
        limit: local::DEFAULT_LIMIT,
        tries: local::DEFAULT_TRIES,
        pairs: local::DEFAULT_PAIRS,
        marking: true,
        max_memory: 1 << 30,
        stop: &|| None,
        progress: &|_, _| {},
    };
    let decided = "nothing is too large";
    vec![
        ("breadth first", exhaustive(options())),
        ("depth first", exhaustive(search::Options { order: search::Order::DepthFirst, ..options() })),
        ("two workers", exhaustive(search::Options { workers: 2, ..options() })),
        ("symmetry", exhaustive(search::Options { symmetry: true, ..options() })),
        ("parts", parts::check(net, &asked, &parts).expect("no fault of ours").verdict.expect(decided)),
        ("local", local::check(net, &asked, &local).expect("no fault of ours").verdict.expect(decided)),
    ]
}

/// Every search, from the state after a random walk, comes to what the naive walk from there says, and what it shows is a run
/// from there.
#[test]
fn searches_that_begin_elsewhere_get_the_naive_verdict() {
    let rounds = if std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1") { 2000 } else { 150 };
    let (mut asked, mut moved, mut violated) = (0u64, 0u64, 0u64);
    for seed in 0..rounds {
        let text = specification(seed);
        let mut lts = None;
        let mut elsewhere = false;
        let tables = if seed % 2 == 0 { Tables::Auto } else { Tables::AheadOfTime };
        let Some(mut checked) = checked(&text, tables) else { continue };
        let begun = checked.begin_at(|net, builder| {
            let state = walked(net, builder, seed, 1 + (seed % 5) as usize);
            elsewhere = state != net.initial();
            lts = naive(net, builder, state.clone());
            lts.is_some().then_some(state).ok_or(())
        });
        let (Ok(()), Some(lts)) = (begun, lts) else { continue };
        let system = checked.fill(&[], &mut |_| true);
        if !system.closed {
            continue;
        }
        let net = &system.network;
        let stuck = lts.states().any(|state| lts.outgoing(state).is_empty());
        let label = lts.labels().get(seed as usize % lts.labels().len().max(1)).cloned();
        let label = label.filter(|_| seed % 3 > 0).unwrap_or_else(|| "nobody does this".to_owned());
        let happens = lts.transitions().any(|(_, taken, _)| lts.labels()[taken.0 as usize] == label);
        let deadlock = || Property::DeadlockFree { allow_termination: false };
        let never = || {
            let label = label.clone();
            Property::Never(Box::new(move |net: &Network, vector| {
                let outcome = net.vectors[vector.0 as usize].outcome;
                matches!(outcome, Outcome::Step(taken) if net.labels[taken.0 as usize] == label)
            }))
        };
        let cases: [(&dyn Fn() -> Property, bool); 2] = [(&deadlock, stuck), (&never, happens)];
        for (property, expected) in cases {
            for (search, verdict) in answers(net, property) {
                let Verdict::Violated { trace, .. } = &verdict else {
                    assert_eq!((verdict, expected), (Verdict::Holds, false), "seed {seed}, {search}\n{text}");
                    continue;
                };
                assert!(expected, "seed {seed}, {search}\n{text}");
                replay::violation(net, &property(), trace)
                    .unwrap_or_else(|e| panic!("seed {seed}, {search}: {e}\n{text}"));
            }
            asked += 1;
            moved += u64::from(elsewhere);
            violated += u64::from(expected);
        }
    }
    assert!(
        asked > rounds / 2 && moved * 3 > asked && violated * 5 > asked && violated * 10 < asked * 9,
        "{asked} asked, {moved} from elsewhere, {violated} violated"
    );
}

/// A state is found by what its local states are called, or it is said why not.
#[test]
fn a_state_that_is_described_is_found() {
    use gridlock_lang::system::Undescribed;
    let text = "act s, r, c: Nat; d; proc S(n: Nat) = (n < 3) -> s(n) . S(n + 1); R = sum n: Nat. r(n) . d . R;\n\
                init allow({c, d}, comm({s|r -> c}, S(0) || R));";
    // The names of the local states after that number of steps.
    let called = |length: usize| {
        let mut known = Vec::new();
        let mut checked = checked(text, Tables::OnDemand).expect("a specification");
        let begun = checked.begin_at(|net, builder| {
            let state = walked(net, builder, 1, length);
            let describe = |(leaf, local): (u32, &Local)| builder.describe(LeafIx(leaf), *local);
            known = (0..).zip(&state).map(describe).collect();
            Ok::<_, ()>(state)
        });
        assert!(begun.is_ok());
        known
    };
    let (initial, later): (Vec<String>, Vec<String>) = (called(0), called(3));
    let states = |mut checked: Checked, texts: &[String]| {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        checked.begin_where(&texts, &mut |_| true)?;
        let mut system = checked.fill(&[], &mut |_| true);
        let options = explore::Options { max_states: 100, progress: &mut |_| true };
        Ok::<_, Undescribed>(explore(&mut system.network, None, options).expect("explored").num_states())
    };
    let fresh = || checked(text, Tables::Auto).expect("a specification");
    let all = states(fresh(), &initial).expect("the initial state");
    let rest = states(fresh(), &later).expect("a state");
    assert!(rest < all && rest > 1, "{rest} of {all}, from {later:?}");
    let nowhere = ["S(n = 7)".to_owned(), initial[1].clone()];
    assert_eq!(states(fresh(), &nowhere), Err(Undescribed::Unknown(0)));
    let endless = checked("act a: Nat; proc P(n: Nat) = a(n) . P(n + 1); init P(0);", Tables::Auto);
    assert!(matches!(states(endless.expect("checked"), &["P(n = 2)".to_owned()]), Err(Undescribed::Open(_))));
}
