//! Specifications that are too much for the tables: they get a clear answer soon.

use gridlock_lang::property::{Sight, never};
use gridlock_lang::system::{Checked, LeftOpen, Options, System, Tables, load};
use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::base::halt::Halt;
use gridlock_lts::engine::explore::{self, Stop};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::search::{Report, Verdict, check_on_demand};
use gridlock_lts::model::network::{LeafIx, Local, TableSource};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn unrestricted_parallel_processes_with_data_are_searched_on_demand() {
    let text = "act tick: Nat; proc Clock(n: Nat) = tick(n) . Clock((n + 1) mod 50);
                init Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0);";
    let Ok(mut system) = load(text, "clocks", &Options::default(), &mut |_| true) else { panic!("refused") };
    assert_eq!(system.left_open, Some(LeftOpen::Vectors(300_000)));
    // There is an end to that, too, and it says what helps: one local state adds too much.
    let all = (0..50).flat_map(|n| (0..8).map(move |leaf| (LeafIx(leaf), Local(n))));
    let expanded: Result<(), Error> =
        all.into_iter().try_for_each(|(leaf, n)| system.builder.expand(&mut system.network, leaf, n));
    let why = expanded.expect_err("too much").to_string();
    assert!(why.contains("in more than 300000 ways") && why.contains("put an allow around"), "{why}");
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
    // Those that are left are still called what they are, although longer queues were between them.
    let queues: Vec<String> = (0..4).map(|n| system.builder.describe(LeafIx(1), Local(n))).collect();
    assert_eq!(queues, ["Q(l = [])", "Q(l = [0])", "Q(l = [1])", "Q(l = [2])"]);
}

#[test]
fn a_sum_that_no_partner_drives_runs_through_many_values() {
    let text = "act a: Nat; init sum n: Nat. (n < 5000) -> a(n) . delta;";
    let Ok(system) = load(text, "sum", &Options::default(), &mut |_| true) else { panic!("refused") };
    assert!(system.closed && system.network.faults.is_empty());
    assert_eq!(system.network.vectors.len(), 5000);
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

/// Refused by a limit, where without it the work would have no end.
#[track_caller]
fn refused_soon(text: &str, message: &str) {
    let Err(found) = load(text, "soon", &Options::default(), &mut |_| true) else { panic!("loaded") };
    assert!(found[0].message.contains(message), "{found:?}");
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
    refused_soon(&philosophers("13", "n > 1"), "too many combinations of actions");
}

#[test]
fn equal_parts_of_a_process_are_interchangeable() {
    // Behind an action the parallel processes are one leaf. Of 24 equal ones it matters only how many do what.
    let parts = vec!["Q"; 24].join(" || ");
    let text = format!("act start, a, b; proc Q = a . b; init allow({{start, a, b}}, start . ({parts}));");
    let Ok(mut system) = load(&text, "parts", &Options::default(), &mut |_| true) else { panic!("refused") };
    let options = explore::Options { max_states: 1_000, progress: &mut |_| true };
    let source: Option<&mut dyn TableSource> = if system.closed { None } else { Some(&mut system.builder) };
    let Ok(lts) = gridlock_lts::engine::explore::explore(&mut system.network, source, options) else {
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
    let options = explore::Options { max_states: 1_000, progress: &mut |_| true };
    let Ok(lts) = gridlock_lts::engine::explore::explore(&mut system.network, None, options) else {
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
    let Ok(system) = load(&text, "choice", &Options::default(), &mut |_| true) else { panic!("refused") };
    assert!(system.closed);
    // Each alone and each with b, and b alone; P never ends, so there is no Terminate.
    assert_eq!(system.network.vectors.len(), 20_001);
    let work = system.builder.work();
    assert!(work < 200_000, "{work} units of work for 20,001 vectors");
}

/// Counts up and down without an end.
const COUNTER: &str =
    "act up, down: Nat; proc P(n: Nat) = up(n) . P(n + 1) + (n > 0) -> down(n) . P(Int2Nat(n - 1));
                       init P(0);";

/// Two servers elect leaders, in terms that grow without an end.
const ELECTION: &str = "act ask, hear, request, start, lead: Nat # Nat;
    proc Server(i, term: Nat) = start(i, term + 1) . Candidate(i, term + 1) + Listen(i, term);
         Candidate(i, term: Nat) = ask(i, term) . lead(i, term) . Server(i, term) + Listen(i, term);
         Listen(i, term: Nat) =
           sum j, t: Nat. (j < 2 && j != i) -> hear(j, t) . (t > term) -> Server(i, t) <> Server(i, term);
    init allow({request, start, lead}, comm({ask|hear -> request}, Server(0, 0) || Server(1, 0)));";

/// Fills the tables of a specification that is searched for a pattern.
fn searched_for(
    text: &str,
    pattern: &str,
    options: &Options,
) -> (System, Vec<gridlock_lts::property::Property>) {
    let checked = Checked::read(text, "unbounded", options.clone()).expect("a specification");
    let properties = vec![never(checked.builder(), &Sight::default(), pattern).expect("a pattern")];
    (checked.fill(&properties, &mut |_| true), properties)
}

/// The number of steps of the counterexample that a search on demand finds.
fn steps_to(text: &str, pattern: &str, options: &Options) -> usize {
    let (system, properties) = searched_for(text, pattern, options);
    let lazy = Lazy::new(system.network, Box::new(system.builder), &properties).expect("a network");
    match check_on_demand(&lazy, &Default::default()) {
        Ok(Report { verdict: Verdict::Violated { trace, .. }, .. }) => trace.steps.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_short_search_sees_violations_where_there_is_no_end() {
    for (text, pattern, steps) in [(COUNTER, "up(5)", 6), (ELECTION, "lead(1, 3)", 9)] {
        let options = Options { warm_up: 1_000, ..Options::default() };
        assert_eq!(searched_for(text, pattern, &options).0.left_open, Some(LeftOpen::Violated));
        let on_demand = Options { tables: Tables::OnDemand, ..Options::default() };
        let found = steps_to(text, pattern, &options);
        assert_eq!((found, found), (steps_to(text, pattern, &on_demand), steps), "{pattern}");
    }
    // A system with an end has complete tables, for any violation.
    let small = "act a, b; init a . b . delta || delta;";
    assert_eq!(searched_for(small, "b", &Options::default()).0.left_open, None);
}

#[test]
fn tables_are_completed_for_a_search_that_is_better_with_them_if_that_takes_little() {
    let filled = |text: &str, pattern: &str, options: &Options| {
        let checked = Checked::read(text, "bounded", options.clone()).expect("a specification");
        let properties = vec![never(checked.builder(), &Sight::default(), pattern).expect("a pattern")];
        let system = checked.fill_if_cheap(&properties, &mut |_| true);
        (system.left_open, system.network.leaves[0].states.len())
    };
    let options = Options { warm_up: 100, table_limit: 10_000, ..Options::default() };
    // Nothing is near: all is tried. A violation is near: a tenth of it.
    assert_eq!(filled(COUNTER, "up(500)", &options).0, Some(LeftOpen::States(10_000)));
    let (left_open, states) = filled(COUNTER, "up(5)", &options);
    assert_eq!(left_open, Some(LeftOpen::Violated));
    assert!(states <= 1_001, "{states} local states");
    // More states than the short search may visit, and few enough to complete the tables: as if nothing was near.
    let bounded = |n: u32| COUNTER.replace("= up(n)", &format!("= (n < {n}) -> up(n)"));
    assert_eq!(filled(&bounded(900), "up(5)", &options), (None, 901));
    assert_eq!(filled(&bounded(900), "up(500)", &options), (None, 901));
    assert_eq!(filled(&bounded(2_000), "up(5)", &options).0, Some(LeftOpen::Violated));
    assert_eq!(filled(&bounded(2_000), "up(500)", &options), (None, 2_001));
}

#[test]
fn every_limit_on_building_ahead_leads_to_on_demand() {
    let limited = |table_limit| Options { warm_up: 100, table_limit, ..Options::default() };
    for (text, options) in [(COUNTER, limited(1_000)), (ELECTION, limited(300))] {
        let limit = options.table_limit;
        let load =
            || load(text, "unbounded", &options, &mut |_| true).map_err(|_| "refused").expect("loaded");
        let mut system = load();
        // Servers that ask each other take more work than their number of states allows.
        let reached = if text == COUNTER { LeftOpen::States(limit) } else { LeftOpen::Work(limit) };
        assert_eq!(system.left_open, Some(reached), "{text}");
        assert_eq!(system.builder.work(), load().builder.work(), "work depends on nothing else");
        let bounded = explore::Options { max_states: 3_000, progress: &mut |_| true };
        let explored = explore::explore(&mut system.network, Some(&mut system.builder), bounded);
        assert!(matches!(explored, Err(Stop::Limit(_))), "{explored:?}");
    }
}

#[test]
fn building_ahead_has_a_budget_of_work() {
    // Each local state is little, but takes an evaluation that is longer than the last.
    let text = "map f: Nat # Nat -> Nat; var n, m: Nat;
                eqn f(0, m) = m; n > 0 -> f(n, m) = f(Int2Nat(n - 1), (m + n) mod 7);
                act a, b: Nat; proc P(n: Nat) = a(f(n, 0)) . P(n + 1); init allow({a, b}, P(0) || b(0));";
    let options = Options { warm_up: 50, table_limit: 20_000, ..Options::default() };
    let Ok(system) = load(text, "slow", &options, &mut |_| true) else { panic!("refused") };
    assert_eq!(system.left_open, Some(LeftOpen::Work(20_000)));
}

#[test]
fn an_evaluation_ends_when_it_is_asked_to() {
    let text = "map f: Nat -> Nat; var n: Nat; eqn f(n) = f(n + 1); act a: Nat; init a(f(0));";
    let halt = Arc::new(Halt::default());
    let options = Options { step_limit: u64::MAX, halt: halt.clone(), ..Options::default() };
    let asking = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        halt.ask();
    });
    let Ok(mut system) = load(text, "endless", &options, &mut |_| true) else { panic!("refused") };
    asking.join().expect("no panic");
    let expanded = system.builder.expand(&mut system.network, LeafIx(0), Local(0));
    let stopped = Err(Error::Limit(Limit::Interrupted));
    assert_eq!(expanded, stopped);
    let state = &system.network.leaves[0].states[0];
    assert!(!state.expanded && system.network.faults.is_empty(), "what was cut short is no fault");
}

#[test]
fn a_later_sum_that_nothing_bounds_is_a_fault() {
    // The second sum offers what the first does, so the partner was asked about it before.
    let text = "act c, r, s, t: Nat; proc R = r(1) . R;
                init allow({c, t}, comm({r|s -> c}, (sum n: Nat. s(n)) . (sum n, m: Nat. s(n) . t(m)) || R));";
    for tables in [Tables::Auto, Tables::AheadOfTime, Tables::OnDemand] {
        let options = Options { tables, ..Options::default() };
        let Ok(mut system) = load(text, "later", &options, &mut |_| true) else { panic!("refused") };
        let options = explore::Options { max_states: 10, progress: &mut |_| true };
        match explore::explore(&mut system.network, Some(&mut system.builder), options) {
            Err(Stop::Fault { trace, .. }) => assert_eq!(trace, ["c(1)"]),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn joining_ends_when_it_is_asked_to() {
    // Both together have 160,000 steps in their first state.
    let text = "act a: Nat; proc P = sum n: Nat. (n < 400) -> a(n) . P; init P || P;";
    let halt = Arc::new(Halt::default());
    let options = Options { tables: Tables::OnDemand, halt: halt.clone(), ..Options::default() };
    let Ok(mut system) = load(text, "joined", &options, &mut |_| true) else { panic!("refused") };
    let mut expand = |leaf| {
        let expanded = system.builder.expand(&mut system.network, LeafIx(leaf), Local(0));
        (expanded, system.network.vectors.len())
    };
    assert_eq!(expand(0), (Ok(()), 400));
    halt.ask();
    let (expanded, vectors) = expand(1);
    assert_eq!(expanded, Err(Error::Limit(Limit::Interrupted)));
    assert!(vectors < 1000, "{vectors} vectors");
}

#[test]
fn values_that_do_not_fit_are_not_made() {
    // Twice as long in every step: without a limit, 2^40 elements.
    let text = "map f: Nat # List(Bool) -> List(Bool); var n: Nat; l: List(Bool);
                eqn f(0, l) = l; n > 0 -> f(n, l) = f(Int2Nat(n - 1), l ++ l);
                act a: Nat; init a(#f(40, [true]));";
    let Some(used) = gridlock_lts::base::memory::resident() else { return };
    let halt = Arc::new(Halt::new(Some(used + (100 << 20))));
    let options = Options { step_limit: u64::MAX, halt: halt.clone(), ..Options::default() };
    let Ok(system) = load(text, "large", &options, &mut |_| true) else { panic!("refused") };
    assert!(system.network.faults.is_empty(), "what was cut short is no fault");
    assert_eq!(halt.exceeded(), Some(used + (100 << 20)));
}
