//! Specifications that are too much for the tables: a clear answer, soon.

use gridlock_lang::system::{Options, load};
use std::time::{Duration, Instant};

#[test]
fn unrestricted_parallel_processes_with_data_are_refused() {
    let text = "act tick: Nat; proc Clock(n: Nat) = tick(n) . Clock((n + 1) mod 50);
                init Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0);";
    let Err(found) = load(text, "clocks", &Options::default(), &mut |_| true) else { panic!("loaded") };
    assert!(found[0].message.contains("combinations of actions"), "{found:?}");
    assert!(found[0].help.as_ref().is_some_and(|h| h.contains("allow")), "{found:?}");
}

#[test]
fn the_same_with_an_allow_is_small() {
    let text = "act tick: Nat; proc Clock(n: Nat) = tick(n) . Clock((n + 1) mod 50);
                init allow({tick}, Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0));";
    let Ok(system) = load(text, "clocks", &Options::default(), &mut |_| true) else { panic!("refused") };
    assert!(system.closed);
    assert_eq!(system.network.vectors.len(), 6 * 50);
}

#[test]
fn what_a_complete_short_search_did_not_reach_is_gone() {
    // The queue could hold anything; the system keeps it short.
    let text = "act put, get, move: Nat; proc P(n: Nat) = put(n) . get(n) . P((n + 1) mod 3);
                Q(l: List(Nat)) = sum n: Nat. get(n) . Q(l <| n) + (l != []) -> put(head(l)) . Q(tail(l));
                init allow({move}, comm({put|get -> move}, P(0) || Q([])));";
    let Ok(system) = load(text, "queue", &Options::default(), &mut |_| true) else { panic!("refused") };
    assert!(system.closed);
    for leaf in &system.network.leaves {
        assert!(leaf.states.iter().all(|s| s.expanded));
        assert!(leaf.states.iter().flat_map(|s| &s.moves).all(|m| (m.1.0 as usize) < leaf.states.len()));
    }
    let report = gridlock_lts::engine::search::check(&system.network, &[], &Default::default());
    assert_eq!(report.map(|r| r.stats.states), Ok(6));
}

#[test]
fn recursion_through_parallel_composition_is_refused() {
    for body in ["a . (P || P)", "a . (P || b . P || c)", "a . (b || P) . P"] {
        let text = format!("act a, b, c; proc P = {body}; init P;");
        let Err(found) = load(&text, "parallel", &Options::default(), &mut |_| true) else {
            panic!("loaded {body}")
        };
        assert!(found[0].message.contains("too many actions at once"), "{found:?}");
    }
}

#[test]
fn recursion_that_leaves_actions_behind_is_refused_soon() {
    // Each round leaves one more `t` running: the alphabet grows a little in every step of its fixpoint.
    let text = "act t, u, d, tt, l: Pos; proc Phil(n: Pos) = t(n) || t(n + 1) . u(n) . Phil(n);
                Fork(n: Pos) = d(n) . (u(n) + tau) . Fork(n);
                init block({t, d}, rename({u -> l}, comm({t|d -> tt}, Phil(1) || Fork(1) || Phil(2) || Fork(2))));";
    let Err(found) = load(text, "left behind", &Options::default(), &mut |_| true) else { panic!("loaded") };
    assert!(found[0].message.contains("too many actions at once"), "{found:?}");
}

/// Refused within a time that is generous for a busy machine.
#[track_caller]
fn refused_soon(text: &str, message: &str) {
    let begun = Instant::now();
    let Err(found) = load(text, "soon", &Options::default(), &mut |_| true) else { panic!("loaded") };
    assert!(found[0].message.contains(message), "{found:?}");
    assert!(begun.elapsed() < Duration::from_secs(10), "took {:?}", begun.elapsed());
}

/// Philosophers who sit down one after the other, as the random changes of specifications left them.
fn philosophers(seats: &str, goes_on: &str) -> String {
    format!(
        "map N: Pos; eqn N = {seats}; act t, u, d, tt, l: Pos;
         proc Phil(n: Pos) = t(n) . t(if(n == N, 1, n + 1)) . u(n) . Phil(n);
         Fork(n: Pos) = d(n) . (u(n) + tau) . Fork(n);
         K(n: Pos) = ({goes_on}) -> (Phil(n) || Fork(n) || K(Int2Pos(n - 1))) <> (Phil(1) || Fork(1));
         init block({{t, d}}, rename({{u -> l}}, comm({{t|d -> tt}}, K(N))));"
    )
}

#[test]
fn an_endless_recursion_over_parallel_processes_is_refused_soon() {
    // Below 1 the parameter becomes an irreducible term that grows with every unfolding.
    refused_soon(&philosophers("3", "100000000000000000000 > 1"), "more than 4096 parallel processes");
}

#[test]
fn many_processes_that_nothing_restricts_are_refused_soon() {
    refused_soon(&philosophers("13", "n > 1"), "more than 500000 combinations of actions");
}

#[test]
fn equal_parts_of_a_process_are_interchangeable() {
    // Behind an action the parallel processes are one leaf. Of 24 equal ones it matters only how many do what.
    let parts = vec!["Q"; 24].join(" || ");
    let text = format!("act start, a, b; proc Q = a . b; init allow({{start, a, b}}, start . ({parts}));");
    let Ok(mut system) = load(&text, "parts", &Options::default(), &mut |_| true) else { panic!("refused") };
    let options = gridlock_lts::model::explore::Options { max_states: 1_000, progress: &mut |_| true };
    let source: Option<&mut dyn gridlock_lts::model::network::TableSource> =
        if system.closed { None } else { Some(&mut system.builder) };
    let Ok(lts) = gridlock_lts::model::explore::explore(&mut system.network, source, options) else {
        panic!("fault")
    };
    // Before `start`, after `Terminate`, and i before `a` with j before `b` where i + j is at most 24.
    assert_eq!((lts.num_states(), lts.num_transitions()), (2 + 325, 2 + 300 + 300));
}

#[test]
fn equal_parts_of_a_process_move_together_too() {
    let text = "act start, a, b; proc Q = a + b; init start . (Q || Q);";
    let Ok(mut system) = load(text, "parts", &Options::default(), &mut |_| true) else { panic!("refused") };
    assert!(system.closed);
    let options = gridlock_lts::model::explore::Options { max_states: 1_000, progress: &mut |_| true };
    let Ok(lts) = gridlock_lts::model::explore::explore(&mut system.network, None, options) else {
        panic!("fault")
    };
    let mut labels: Vec<&String> = lts.labels().iter().filter(|label| *label != "tau").collect();
    labels.sort();
    assert_eq!(labels, ["Terminate", "a", "a|a", "a|b", "b", "b|b", "start"]);
    assert_eq!((lts.num_states(), lts.num_transitions()), (5, 1 + 5 + 2 + 1));
}

#[test]
fn a_choice_of_thousands_of_actions_is_quick() {
    // Every summand goes on with a call that can do all of them: 100 million names if each had its own alphabet.
    let names: Vec<String> = (0..10_000).map(|i| format!("a{i}")).collect();
    let summands: Vec<String> = names.iter().map(|name| format!("{name} . P")).collect();
    let text = format!("act {}, b; proc P = {}; init P || b;", names.join(", "), summands.join(" + "));
    let begun = Instant::now();
    let Ok(system) = load(&text, "choice", &Options::default(), &mut |_| true) else { panic!("refused") };
    assert!(system.closed);
    // Each alone and each with b, and b alone; P never ends, so there is no Terminate.
    assert_eq!(system.network.vectors.len(), 20_001);
    assert!(begun.elapsed() < Duration::from_secs(10), "took {:?}", begun.elapsed());
}
