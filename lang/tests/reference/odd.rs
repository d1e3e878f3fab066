//! Specifications by hand in which one name means several things, operators stand in unusual places, and data is unusual.

use crate::unfolding::smallest;
use crate::{ALL, agrees};

/// Compares each in all table modes.
fn compared(texts: &[&str]) {
    for text in texts {
        let lts = agrees(text, text, 1000, &ALL).expect_equal(text);
        assert!(lts.num_transitions() >= 2, "this does too little: {text}");
    }
}

/// Processes, actions, mappings and variables may have the same name; processes and actions may be overloaded.
#[test]
fn names_that_mean_several_things() {
    compared(&[
        "act a; a: Bool; a: Nat; proc P = a . P(true); P(a: Bool) = a(a) . P(if(a, 1, 0)); P(n: Nat) = a(n) . P;
         init P;",
        "sort S = struct a | c?a | b; act b: S; proc P(b: S) = b(b) . P(if(b == a, c, if(a(b), a, b))); init P(c);",
        "act x: Bool; proc P(x: Bool) = x(x) . (sum x: Bool. x(!x) . P(x)) + (sum y: Bool. (x == y) -> x(y) . P(!y));
         init P(true);",
        "map P: Bool -> Bool; var x: Bool; eqn P(x) = !x; act a: Bool; proc P(a: Bool) = a(P(a)) . P(P(!a)) + a(a) . P(P(a));
         init P(true);",
        "act a, b: Bool; proc P(x, y: Bool) = a(x) . P(x = y, y = x) + b(y) . P(y = !y) + a(y) . P();
         init P(true, false);",
        "act a: Nat; proc P(n: Nat) = a(n whr n = n + 1, m = n end) . P((n + 1) mod 3); init P(0);",
    ]);
}

/// Operators under sums and conditions, behind sequences, and around processes that call themselves.
#[test]
fn operators_in_unusual_places() {
    compared(&[
        "act a, b, c: Bool; init sum x: Bool. hide({b}, rename({a -> b}, a(x) . b(!x)) || c(x)) . a(x);",
        "act a, b; proc P = rename({a -> b}, block({b}, a . P + b)); init comm({a|b -> a}, P || a . b);",
        "act a, b, c; init comm({b|c -> a}, comm({a|b -> c}, a . c || b || rename({a -> b}, a . a)));",
        // What the partner knows belongs to the second action by name, which is written first.
        "act a, c, r, s: Nat; proc P = sum n: Nat. s(n)|a(n + 1) . P;
         init allow({a|c}, comm({r|s -> c}, P || r(3) . r(2)));",
        "act a, b; init allow({a, a|b}, (a || b) . (a | b) ||_ allow({b}, a || b));",
        "act a, b, c; init (hide({a}, a . b) + block({a}, a . c + c)) . rename({b -> a, a -> b}, a | b . a);",
        "act a: Bool; b: Bool; init comm({a|a -> b}, hide({b}, comm({a|a -> b}, a(true) || a(true))) || a(false));",
    ]);
}

/// Values whose equal forms must be one state, and values that no equation reduces. The naive semantics has no literals for
/// them, so the smallest state spaces, which are known, are compared.
#[test]
fn unusual_data() {
    let cases = [
        (
            "act a: Set(Nat); proc P(s: Set(Nat)) = a(s) . P(if(1 in s, s - {1}, s + {1, 0}));
             init P({n: Nat | n < 2 && n != 1});",
            (2, 2),
        ),
        (
            "act a: Bag(Bool); proc P(b: Bag(Bool)) = (count(true, b) < 3) -> a(b) . P(b + {true: 1, false: 0})
             <> a({:}) . P({true: 1});
             init P({:});",
            (3, 3),
        ),
        (
            "act a: Bool -> Nat;
             proc P(f: Bool -> Nat) = a(f) . P(f[true -> (f(true) + 1) mod 2]) + a(f[false -> 0]) . P(f);
             init P(lambda b: Bool. if(b, 1, 0));",
            (2, 4),
        ),
        (
            "map none: Nat; act a: Nat; b: List(Nat);
             proc P(l: List(Nat)) = (l != []) -> a(head(l)) . P(tail(l)) <> b(l) . P([none, 2]);
             init P([1, none]);",
            (5, 5),
        ),
        (
            "act a: Real; b: Int; proc P(r: Real) = (r < 1) -> a(r) . P(r + 1/3) <> b(floor(-r)) . P(r - 1);
             init P(1/6);",
            (4, 4),
        ),
        (
            "sort T = struct leaf | node(left: T, right: T); map size: T -> Nat; var t, u: T;
             eqn size(leaf) = 0; size(node(t, u)) = 1 + size(t) + size(u);
             act a: Nat; proc P(t: T) = (size(t) < 3) -> (a(size(t)) . P(node(t, leaf)) + a(0) . P(node(leaf, t)))
             <> a(9) . P(left(t));
             init P(leaf);",
            (5, 7),
        ),
        (
            "act a: Pos; proc P(n: Nat) = (exists m: Nat. m < 3 && m * m == n) -> a(n + 1) . P((n + 1) mod 5)
             <> (sum k: Pos. (k < 3 && (forall b: Bool. b || k > 1)) -> a(k) . P(abs(n - k)));
             init P(0);",
            (3, 3),
        ),
        // Nothing bounds these before they are split into cases.
        (
            "act a: List(Bool) # List(Bool);
             proc P = sum x, y: List(Bool). (x != y && #x < 2 && #y < 2) -> a(x, y) . P; init P;",
            (1, 6),
        ),
        (
            "sort D = struct d1 | d2; M = struct m(from: D, to: D, size: Nat); act a: M;
             proc P = sum x: M. (from(x) != to(x) && size(x) < 2) -> a(x) . P; init P;",
            (1, 4),
        ),
    ];
    for (text, size) in cases {
        assert_eq!(smallest(text), size, "{text}");
    }
}
