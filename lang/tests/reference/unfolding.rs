//! Calls under sums, and what follows processes that never end: specifications that must be finite although processes
//! call themselves in unusual places.

use crate::{ALL, agrees, gridlock};
use gridlock_lts::model::equivalence::{Equivalence, minimise};

/// The smallest state space modulo strong bisimulation, in all table modes.
pub fn smallest(text: &str) -> (usize, usize) {
    let mut sizes = ALL.map(|tables| {
        let small = minimise(&gridlock(text, tables), Equivalence::Strong).expect("small");
        (small.num_states(), small.num_transitions())
    });
    sizes.sort_unstable();
    assert_eq!(sizes[0], sizes[2], "{text}");
    sizes[0]
}

#[test]
fn a_call_under_a_sum_ends() {
    assert_eq!(smallest("act a; proc P = a . (sum t: Bool. P); init P;"), (1, 1));
    assert_eq!(smallest("act a; proc P = a . (sum t: Nat. P); init P;"), (1, 1));
    assert_eq!(smallest("act a: Bool; proc P(x: Bool) = a(x) . (sum t: Bool. P(t)); init P(true);"), (2, 3));
    let mutual = "act a, b; proc P = a . (sum t: Bool. Q); Q = b . (sum t: Bool. t -> P <> Q); init P;";
    assert_eq!(smallest(mutual), (3, 4));
    // A process that nothing calls costs nothing.
    let unused = "act a, b; proc P = a . (sum t: Bool. P); Q = a . (sum t: Bool. Q . P); init b . delta;";
    assert_eq!(smallest(unused), (2, 1));
}

#[test]
fn what_follows_a_process_that_never_ends_is_dropped() {
    assert_eq!(smallest("act a, b; proc P = a . P . b; init P;"), (1, 1));
    assert_eq!(smallest("act a, b, c, d; proc P = a . Q . b; Q = c . P . d; init P;"), (2, 2));
    assert_eq!(smallest("act a, b, c; proc P = (a + c) . P . b; init P;"), (1, 2));
    assert_eq!(smallest("act a, b, c; proc P = a . (P + P . c) . b; init P;"), (1, 1));
    assert_eq!(smallest("act a, b; proc P = a . (sum t: Bool. P) . b; init P;"), (1, 1));
    assert_eq!(
        smallest("act a, b; proc P(x: Bool) = x -> a . P(!x) . b <> b . P(!x) . a; init P(true);"),
        (2, 2)
    );
    assert_eq!(smallest("act a, b; proc P = a . hide({b}, P) . b; init P;"), (1, 1));
    // A recursion that the data ends in a deadlock, not in a termination.
    let counts = "act a, b; proc P(n: Nat) = (n > 0) -> a . P(Int2Nat(n - 1)) . b; init P(3);";
    assert_eq!(smallest(counts), (4, 3));
    // One of two parallel parts never ends, so both together do not.
    assert_eq!(smallest("act a, b, c; proc P = a . P; Q = (P || c) . b . Q; init Q;"), (2, 4));
}

/// Dropping must not go too far: here the left part may end.
#[test]
fn what_follows_a_process_that_may_end_stays() {
    for text in [
        "act a, b, c; proc P(x: Bool) = x -> a . P(!x) . b <> c; init P(true);",
        "act a, b, c; proc P(n: Nat) = (n > 0) -> a . P(Int2Nat(n - 1)) . b <> c; init P(3);",
        "act a, b; proc P = a . Q . b; Q = P + a; R(x: Bool) = x -> a . R(false) . b <> a; init R(true) . b;",
        "act a, b, c; proc P = a . P; init (P + c) . b;",
        "act a, b, c; proc P = a . P; init (a || c) . b . P . c;",
        "act a, b, c; init (sum t: Bool. t -> a <> delta) . (b ||_ c) . (a | c) . b;",
        "act a, b, c; proc P = a . P; init block({a}, a + b) . P || c;",
    ] {
        agrees(text, text, 100, &ALL).expect_equal(text);
    }
}

/// An unfolded call may stand in the scope of variables that its own text binds: nothing may be confused.
#[test]
fn unfolding_under_a_sum_confuses_no_variables() {
    for text in [
        "act a, c: Bool; proc P(x: Bool) = a(x) . (sum t: Bool. (P(t) + c(x) . delta)); init P(true);",
        "act a, c: Bool; proc P(x: Bool) = sum t: Bool. a(t) . (sum u: Bool. (P(u) + c(t) . P(x))); init P(true);",
        "act a: Bool; c: Bool # Bool;
         proc P(x: Bool) = sum t: Bool. a(t && x) . (sum u: Bool. (Q(u, t) + c(x, t) . delta));
              Q(x, y: Bool) = sum t: Bool. c(t, x) . P(y) + x -> P(t_or(x, y));
         map t_or: Bool # Bool -> Bool; var v, w: Bool; eqn t_or(v, w) = v || w;
         init P(true);",
        "act a: Bool; b; proc P(x: Bool) = a(x) . (sum x: Bool. (x -> P(!x) <> b . P(x))); init P(true);",
        "act a, c: Bool; proc P(x: Bool) = a(x) . (sum t: Bool. (Q(t) || c(t)));
         Q(x: Bool) = (sum t: Bool. c(t && x)) + a(x) . (sum t: Bool. Q(t)); init P(true) || c(false);",
        "act s, r, c: Nat; proc P(n: Nat) = s(n) . (sum m: Nat. Q(m)); Q(m: Nat) = r(m) . (m < 3) -> P(m + 1);
         init allow({c}, comm({s|r -> c}, P(0) || (sum m: Nat. Q(m))));",
        "act a: Bool; proc P(x: Bool) = a(exists t: Bool. t == x) . (sum t: Bool. P(exists u: Bool. u != t && u == x));
         init P(true);",
    ] {
        agrees(text, text, 300, &ALL).expect_equal(text);
    }
}

/// An operator that changes nothing the second time does not pile up.
#[test]
fn operators_around_a_recursion_do_not_pile_up() {
    assert_eq!(smallest("act a, b; proc P = a . rename({a -> b}, P); init P;"), (2, 2));
    assert_eq!(smallest("act a, b; proc P = a|a . comm({a|a -> b}, P); init P;"), (2, 2));
    // The result of a communication stands behind what did not take part, and its name comes before.
    assert_eq!(smallest("act a, b, c, d; proc P = comm({b|c -> a}, b|c|d . P); init P;"), (1, 1));
}

/// Nor do several that change nothing together, and renaming in circles comes back to where it began.
#[test]
fn stacks_of_operators_around_a_recursion_do_not_pile_up() {
    for (process, expected) in [
        ("a . allow({a}, hide({b}, P))", (1, 1)),
        ("(a + b) . allow({a}, hide({b}, P))", (2, 4)),
        ("a . hide({b}, allow({a, a|b}, P)) + a|b . P", (2, 3)),
        ("a . hide({b}, P) + b . hide({a}, P) + c . P", (4, 11)),
        ("a . rename({a -> b, b -> a}, P) + c . P", (2, 4)),
        ("a . rename({a -> b, b -> c, c -> a}, P)", (3, 3)),
        ("a . rename({a -> b}, rename({b -> a}, P))", (2, 2)),
        ("a . block({b}, rename({a -> b, b -> a}, P)) + b . P", (2, 3)),
        ("(a|b + a) . hide({c}, comm({a|b -> c}, P))", (2, 4)),
        ("(a|b + a) . allow({c, a}, comm({a|b -> c}, P))", (2, 4)),
        ("a . allow({a}, block({b}, hide({c}, rename({c -> b}, P)))) + b . P + c . P", (2, 4)),
    ] {
        let text = format!("act a, b, c; proc P = {process}; init P;");
        assert_eq!(smallest(&text), expected, "{text}");
        // The reference keeps all operators, so it needs an end.
        let ended = process.replace('P', "P(n + 1)");
        let text = format!(
            "act a, b, c; proc P(n: Nat) = (n < 5) -> ({ended}) <> (a + b + c + a|b) . delta; init P(0);"
        );
        agrees(&text, &text, 50_000, &ALL).expect_equal(&text);
    }
    let mutual = "act a, b, c; proc P = a . allow({a, b}, Q); Q = b . hide({c}, P) + c . Q; init P;";
    assert_eq!(smallest(mutual), (2, 2));
}

/// Each level calls the next one twice and doubles the argument: unfolding stops in time.
#[test]
fn unfolding_has_bounds() {
    let mut text = String::from("act a: Nat; b;\nproc\n");
    for i in 0..60 {
        text.push_str(&format!("  P{i}(n: Nat) = P{}(n + n) + P{}(n);\n", i + 1, i + 1));
    }
    text.push_str("  P60(n: Nat) = a(n) . (sum m: Nat. (m < 2) -> P0(m));\ninit b . delta;\n");
    assert_eq!(smallest(&text), (2, 1));
}
