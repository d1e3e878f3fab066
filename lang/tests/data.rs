//! The value of closed expressions, as the label of an action shows it.

use gridlock_lang::system::{Options, load};
use gridlock_lts::engine::explore::{self, Stop, explore};

/// The first label of a specification whose only action carries `expression` of the given sort.
fn value(declarations: &str, sort: &str, expression: &str) -> String {
    let text = format!("{declarations} act out: {sort}; init out({expression}) . delta;");
    let options = Options { step_limit: 100_000, ..Options::default() };
    let mut system = load(&text, "data", &options, &mut |_| true).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let limits = explore::Options { max_states: 10, progress: &mut |_| true };
    let source: Option<&mut dyn gridlock_lts::model::network::TableSource> =
        if system.closed { None } else { Some(&mut system.builder) };
    match explore(&mut system.network, source, limits) {
        Ok(lts) => {
            let (_, label, _) = lts.transitions().next().unwrap_or_else(|| panic!("no step:\n{text}"));
            lts.label(label).to_owned()
        }
        Err(Stop::Fault { message, .. }) => message,
        Err(other) => panic!("{other:?}\n{text}"),
    }
}

fn check(sort: &str, cases: &[(&str, &str)]) {
    check_with("", sort, cases);
}

fn check_with(declarations: &str, sort: &str, cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(value(declarations, sort, expression), format!("out({expected})"), "{expression}");
    }
}

#[test]
fn numbers_are_exact() {
    check(
        "Int",
        &[
            ("1 + 2 * 3", "7"),
            ("2 - 5", "-3"),
            ("-7 div 2", "-4"),
            ("-7 mod 2", "1"),
            ("7 div 2 + 7 mod 4", "6"),
            ("exp(2, 100)", "1267650600228229401496703205376"),
            ("exp(2, 100) - exp(2, 100) + 1", "1"),
            ("9223372036854775807 + 1", "9223372036854775808"),
            ("-exp(10, 20) div 3", "-33333333333333333334"),
            ("max(3, -2) + min(3, -2)", "1"),
            ("abs(-12345678901234567890)", "12345678901234567890"),
            ("succ(-1)", "0"),
            ("pred(0)", "-1"),
            ("floor(-1/2)", "-1"),
            ("ceil(-1/2)", "0"),
            ("round(5/2)", "3"),
            ("Int2Nat(3) + Nat2Int(4)", "7"),
            ("exp(-3, 3)", "-27"),
            ("if(1 < 2, 10, 20)", "10"),
        ],
    );
    check(
        "Real",
        &[
            ("1/3 + 1/6", "1 / 2"),
            ("2/4", "1 / 2"),
            ("exp(2/3, -2)", "9 / 4"),
            ("4/2", "2"),
            ("-(1/2)", "-1 / 2"),
        ],
    );
}

#[test]
fn operations_outside_their_domain_are_irreducible() {
    check(
        "Nat",
        &[("head([])", "head([])"), ("Int2Nat(1 - 2)", "Int2Nat(-1)"), ("[1, 2] . 5", "[1, 2] . 5")],
    );
    check("List(Nat)", &[("tail([])", "tail([])"), ("[head([])]", "[head([])]")]);
    check_with("sort D; map d, e: D; f: D -> D;", "D", &[("f(d)", "f(d)"), ("if(true, d, e)", "d")]);
}

/// As in mCRL2, what is irreducible is compared with patterns by its looks: a later equation applies.
#[test]
fn what_is_irreducible_fits_no_pattern_that_it_does_not_look_like() {
    let maps = "sort D = struct d1 | d2; map none, void: D; f: D -> List(D); same: D # D -> List(D);
                c, zero: Nat -> List(Nat); first: List(Nat) -> List(Nat); var d, e: D; n: Nat; l: List(Nat);
                eqn f(d1) = [d1]; f(d) = [d, d]; same(d, d) = [d]; same(d, e) = [d, d, e, e];
                    n < 3 -> c(n) = [n]; c(n) = [n, n]; zero(0) = [0]; zero(n) = [n, n];
                    first([]) = []; first(n |> l) = [n]; first(l) = l ++ l;";
    check_with(
        maps,
        "List(D)",
        &[
            ("f(d1)", "[d1]"),
            ("f(none)", "[none, none]"),
            ("same(none, none)", "[none]"),
            ("same(none, void)", "[none, none, void, void]"),
        ],
    );
    check_with(
        maps,
        "List(Nat)",
        &[
            ("c(2)", "[2]"),
            ("c(head([]))", "[head([]), head([])]"),
            ("zero(head([]))", "[head([]), head([])]"),
            ("first(tail([]))", "tail([]) ++ tail([])"),
        ],
    );
}

#[test]
fn booleans_and_order() {
    check(
        "Bool",
        &[
            ("true && !false || false", "true"),
            ("false => head([])", "true"),
            ("false && head([])", "false"),
            ("[1, 2] < [1, 3]", "true"),
            ("[] < [0]", "true"),
            ("[2] < [1, 9]", "false"),
            ("{1, 2} < {1, 2, 3}", "true"),
            ("{1, 2} <= {2, 1}", "true"),
            ("{1} < {2}", "false"),
            ("1/2 < 2/3", "true"),
            ("3 in [1, 2, 3]", "true"),
            ("forall n: Nat. n < 5 => n * n < 20", "true"),
            ("exists n: Nat. n < 5 && n * n == 9", "true"),
            ("exists n: Pos. 4 < n && n < 4", "false"),
            ("forall b, c: Bool. (b => c) == (!b || c)", "true"),
            ("exists l: List(Bool). #l == 2 && head(l) && !rhead(l)", "true"),
            ("exists l: List(Bool). #l < 2 && l != [] && head(l) && !head(l)", "false"),
            ("forall l: List(Bool). #l < 2 => l == [] || head(l) || !head(l)", "true"),
            ("exists n: Int. n in [-1, 2] && n * n == 1", "true"),
            ("exists n: Nat. (n < 3 || n in [7, 5]) && n * n == 25", "true"),
            ("exists n: Nat. if(n > 3, n < 6, false) && n * n == 16", "true"),
            ("exists n: Nat. 3/2 < n && n < 5/2 && n != 2", "false"),
            ("exists n: Nat. n in {2: 1, 5: 2} && n > 4", "true"),
            ("exists n: Nat. n in {1, 2} - {2} && n == 2", "false"),
            ("exists n: Nat, l: List(Nat). n |> l == [3, 4] && n == 3 && #l == 1", "true"),
            ("exists b: Bool, n: Nat. if(b, n < 2, n == 7) && n > 4 && !b", "true"),
            ("(lambda b: Bool. !b) == (lambda b: Bool. if(b, false, true))", "true"),
        ],
    );
    let order = "sort T = struct a | b(Nat, Bool) | c(T);";
    check_with(
        order,
        "Bool",
        &[
            ("a < b(0, false)", "true"),
            ("b(1, false) < b(0, true)", "false"),
            ("b(1, false) < b(1, true)", "true"),
            ("c(a) <= c(b(0, true))", "true"),
            ("c(c(a)) == c(c(a))", "true"),
        ],
    );
}

#[test]
fn lists_sets_and_bags() {
    check(
        "List(Nat)",
        &[
            ("0 |> [1] ++ [2] <| 3", "[0, 1, 2, 3]"),
            ("tail([1, 2, 3])", "[2, 3]"),
            ("rtail([1, 2, 3])", "[1, 2]"),
            ("[rhead([1, 2]), #[4, 5, 6], [7, 8] . 1]", "[2, 3, 8]"),
        ],
    );
    check(
        "Set(Nat)",
        &[
            ("{3, 1, 2, 1}", "{1, 2, 3}"),
            ("{1, 2} + {2, 3}", "{1, 2, 3}"),
            ("{1, 2} * {2, 3}", "{2}"),
            ("{1, 2} - {2, 3}", "{1}"),
            ("!!{1}", "{1}"),
            ("!{1} * {1, 2}", "{2}"),
            ("{n: Nat | n > 1} * {1, 2, 3}", "{2, 3}"),
            ("Bag2Set({1: 2, 3: 1})", "{1, 3}"),
        ],
    );
    check(
        "Bool",
        &[
            ("4 in {n: Nat | n mod 2 == 0}", "true"),
            ("!{true} == {false}", "true"),
            ("{b: Bool | b} == {true}", "true"),
            ("{1: 1} < {1: 2}", "true"),
            ("{1: 1, 2: 1} <= {1: 2}", "false"),
        ],
    );
    check(
        "Bag(Nat)",
        &[
            ("{1: 2} + {1: 1, 2: 1}", "{1: 3, 2: 1}"),
            ("{1: 2} * {1: 1, 2: 1}", "{1: 1}"),
            ("{1: 2, 2: 1} - {1: 1}", "{1: 1, 2: 1}"),
            ("Set2Bag({1, 2})", "{1: 1, 2: 1}"),
            ("{1: 0}", "{:}"),
        ],
    );
    check("Nat", &[("count(1, {1: 4})", "4"), ("#{1, 2}", "2")]);
}

/// What is enumerated without a bound is unknown at first; two unknowns are not equal for being unknown.
#[test]
fn unknowns_are_not_equal_for_looking_equal() {
    check_with(
        "sort D = struct d1 | d2; M = struct m(a: D, b: D, n: Nat); T = struct leaf | node(l: T, r: T);
         map g: Nat -> Nat; odd: Nat -> Bool; var k: Nat; eqn g(0) = 5; odd(g(k)) = false; odd(5) = true;",
        "Bool",
        &[
            ("forall x, y: List(Bool). x == y", "false"),
            ("exists x, y: List(Bool). x != y", "true"),
            ("exists x: M. a(x) != b(x) && n(x) < 1", "true"),
            ("forall t: T. t == leaf || l(t) == r(t)", "false"),
            ("forall x, y: Nat. {x: 1} == {y: 1}", "false"),
            ("forall x, y: Nat. {x} <= {y}", "false"),
            ("forall x, y: Nat. !{x} <= !{y}", "false"),
            ("forall x, y: Nat. {x} == {y}", "false"),
            ("forall x, y: List(Bool). if(x == y, 1, 2) == 1", "false"),
            ("exists x, y: Nat. pick({x, y}) != min(x, y) || x > 3", "true"),
            ("exists k: Nat. odd(g(k)) && k < 1", "true"),
        ],
    );
}

/// Sets and bags that have infinitely many elements, or are known by what is in them.
#[test]
fn sets_and_bags_without_end() {
    check(
        "Nat",
        &[
            ("count(3, {x: Nat | 2 * x})", "6"),
            ("count(3, {x: Nat | x} + {x: Nat | 1})", "4"),
            ("count(3, {x: Nat | x} + {3: 5})", "8"),
            ("count(3, {3: 5} + {x: Nat | x})", "8"),
            ("count(3, {x: Nat | x} * {x: Nat | 2})", "2"),
            ("count(1, {x: Nat | x} * {x: Nat | 2})", "1"),
            ("count(3, {x: Nat | x} - {x: Nat | 1})", "2"),
            ("count(0, {x: Nat | x} - {x: Nat | 1})", "0"),
            ("count(3, {x: Nat | x} - {3: 1})", "2"),
            ("count(4, {x: Nat | x} - {3: 1})", "4"),
            ("count(3, {x: Nat | x} * {3: 1})", "1"),
            ("count(4, {x: Nat | x} * {3: 1})", "0"),
            ("count(2, Set2Bag({x: Nat | x > 1}))", "1"),
            ("count(1, Set2Bag({x: Nat | x > 1}))", "0"),
            ("count(1, Set2Bag(!{1}))", "0"),
            ("count(2, Set2Bag(!{1}))", "1"),
        ],
    );
    check(
        "Bool",
        &[
            ("3 in {x: Nat | x}", "true"),
            ("0 in {x: Nat | x}", "false"),
            ("1 in {1: 2}", "true"),
            ("2 in {1: 2}", "false"),
            ("{1: 1} <= {1: 1}", "true"),
            ("{1: 1} < {1: 1}", "false"),
            ("{1: 2} <= {1: 1}", "false"),
            ("{1: 2} > {1: 1}", "true"),
            ("{1: 2} >= {1: 2}", "true"),
            ("{1: 2} > {1: 2}", "false"),
            ("1 in Bag2Set(Set2Bag(!{1, 2}))", "false"),
            ("3 in Bag2Set(Set2Bag(!{1, 2}))", "true"),
            ("{1} < {1, 2}", "true"),
            ("{1, 2} < {1, 2}", "false"),
            ("{1, 2} <= {1, 2}", "true"),
            ("{1, 3} <= {1, 2}", "false"),
            ("{1, 2} > {1}", "true"),
            ("!{1, 2} < !{1}", "true"),
            ("!{1} <= !{1, 2}", "false"),
            ("1 in !{1} + {1}", "true"),
            ("1 in !{1} - {2}", "false"),
            ("3 in !{1} - {2}", "true"),
            ("2 in {x: Nat | x > 1} + {1}", "true"),
            ("1 in {x: Nat | x > 1} + {1}", "true"),
            ("0 in {x: Nat | x > 1} + {1}", "false"),
            ("2 in {x: Nat | x > 1} - {2}", "false"),
            ("3 in {x: Nat | x > 1} - {2}", "true"),
            ("3 in {x: Nat | x > 1} * {x: Nat | x < 3}", "false"),
            ("2 in {x: Nat | x > 1} * {x: Nat | x < 3}", "true"),
            ("1 in !{x: Nat | x > 1}", "true"),
        ],
    );
    check(
        "Set(Nat)",
        &[
            ("!{1} * !{2} * {1, 2, 3}", "{3}"),
            ("{1, 2} - !{1}", "{1}"),
            ("{1} + ({2} - {x: Nat | x > 1})", "{1}"),
        ],
    );
    check(
        "Bag(Nat)",
        &[("{1: 1, 2: 3} - {x: Nat | 1}", "{2: 2}"), ("{x: Nat | 1} * {1: 2, 5: 1}", "{1: 1, 5: 1}")],
    );
}

#[test]
fn functions() {
    check(
        "Nat",
        &[
            ("(lambda n: Nat. n + 1)(4)", "5"),
            ("(lambda n: Nat. n)[3 -> 7](3)", "7"),
            ("(lambda n: Nat. n)[3 -> 7][3 -> 8](3)", "8"),
            ("(lambda n: Nat. n)[3 -> 7](4)", "4"),
            ("n + m whr n = 2, m = 3 end", "5"),
            ("(lambda x, y: Nat. x * y)(3, 4)", "12"),
            ("(lambda x: Nat. lambda y: Nat. x + y)(3)(4)", "7"),
        ],
    );
    let maps = "map twice: (Nat -> Nat) # Nat -> Nat; add: Nat -> Nat -> Nat; choose: Bool # Nat # Nat -> Nat; loop: Nat -> Nat;
                var f: Nat -> Nat; n, m: Nat;
                eqn twice(f, n) = f(f(n)); add(n)(m) = n + m; choose(true, n, m) = n; choose(false, n, m) = m; loop(n) = loop(n + 1);";
    check_with(
        maps,
        "Nat",
        &[
            ("twice(add(3), 1)", "7"),
            ("twice(lambda n: Nat. n * n, 3)", "81"),
            ("choose(true, 1, loop(0))", "1"),
            ("choose(false, loop(0), 2)", "2"),
        ],
    );
    // What is changed back is the function that it was, and the order of changes does not matter.
    check_with(
        "map f: Nat -> Bool; var n: Nat; eqn f(n) = n == 9;",
        "Bool",
        &[
            ("f[1 -> true][1 -> f(1)] == f", "true"),
            ("f[3 -> true][1 -> true][3 -> false][1 -> false] == f", "true"),
            ("f[3 -> true][1 -> true] == f[1 -> true][3 -> true]", "true"),
        ],
    );
}

#[test]
fn equations_respect_conditions_and_repeated_variables() {
    let maps = "sort N = struct z | s(N); map f: Nat -> Nat; add: N # N -> N; same: Nat # Nat -> Bool; len: List(Nat) -> Nat; last: List(Nat) -> Nat;
                var n, m: Nat; x, y: N; l: List(Nat);
                eqn n > 10 -> f(n) = 5; f(1) = 7; n <= 10 -> f(n) = 0;
                    add(z, y) = y; add(s(x), y) = s(add(x, y));
                    same(n, n) = true; n != m -> same(n, m) = false;
                    len([]) = 0; len(n |> l) = len(l) + 1; last(l <| n) = n;";
    check_with(
        maps,
        "Nat",
        &[("f(1)", "7"), ("f(2)", "0"), ("f(11)", "5"), ("len([4, 5, 6])", "3"), ("last([1, 2, 9])", "9")],
    );
    check_with(maps, "N", &[("add(s(s(z)), s(z))", "s(s(s(z)))")]);
    check_with(maps, "Bool", &[("same(3, 3)", "true"), ("same(3, 4)", "false")]);
}

#[test]
fn what_does_not_end_is_reported_at_its_place() {
    let maps = "map f: Nat -> Nat; g: Nat; var n: Nat; eqn f(n) = f(n + 1); g = g + 1;";
    assert!(value(maps, "Nat", "f(0)").contains("data:1:5:"), "{}", value(maps, "Nat", "f(0)"));
    let message = value(maps, "Nat", "g");
    assert!(message.contains("'g' is defined in terms of itself") || message.contains("steps"), "{message}");
    assert!(value("", "Nat", "exp(7, exp(2, 60))").contains("64 million bits"));
}

/// Operations on integers of which one or both are beyond 64 bits; as rationals the last ones would take minutes.
#[test]
fn large_integers() {
    let (big, more) = ("9223372036854775808", "9223372036854775809");
    check_with(
        "",
        "Int",
        &[
            (&format!("{big} + 1"), more),
            (&format!("{more} - 1"), big),
            (&format!("{big} - {big}"), "0"),
            (&format!("{big} * -2"), "-18446744073709551616"),
            ("exp(2, 63)", big),
            ("exp(-3, 41)", "-36472996377170786403"),
            ("exp(-1, 9223372036854775809)", "-1"),
            (&format!("succ({big})"), more),
            (&format!("pred({more})"), big),
            (&format!("-(-{big})"), big),
            (&format!("abs(-{big})"), big),
            (&format!("floor({more} / 1)"), more),
            (&format!("round({more} / 2)"), "4611686018427387905"),
        ],
    );
    let large = [
        ("exp(3, 300000) * exp(3, 300000) == exp(3, 600000)", "true"),
        ("exp(3, 300000) + 1 - exp(3, 300000) == 1", "true"),
    ];
    check_with("", "Bool", &large);
}

/// A described set to which elements are added, and from which they are removed, has a value that does not depend on what
/// was done in between: a process that does this for ever has few states.
#[test]
fn changes_of_described_sets_do_not_pile_up() {
    let even = "{n: Nat | n mod 2 == 0}";
    let changed = |changes: &str| value("", "Set(Nat)", &format!("{even}{changes}"));
    let same = [
        ("", " + {}"),
        ("", " + {2, 4} - {3}"),
        ("", " - {2} + {2}"),
        ("", " + {3} - {3, 5}"),
        ("", " - {2, 4} + {3} - {3} + {4, 2}"),
        (" - {2}", " - {2, 3} - {2}"),
        (" - {2}", " * !{2, 5}"),
        (" + {3}", " + {3, 4} + {3}"),
        (" - {2} + {3}", " + {5, 3} - {2, 5}"),
    ];
    for (one, other) in same {
        assert_eq!(changed(one), changed(other), "{one} and {other}");
    }
    assert_ne!(changed(""), changed(" - {2}"));
    assert_ne!(changed(" - {2}"), changed(" - {4}"));
    let members = [
        (format!("3 in {even} - {{2}} + {{3}} - {{4}}"), "true"),
        (format!("2 in {even} - {{2}} + {{3}} - {{4}}"), "false"),
        (format!("4 in {even} - {{2}} + {{3}} - {{4}}"), "false"),
        (format!("6 in {{3}} + {even} - {{2}}"), "true"),
        (format!("2 in !{{2}} * {even}"), "false"),
    ];
    check_with("", "Bool", &members.each_ref().map(|(text, expected)| (&**text, *expected)));
}

#[test]
fn equations_are_tried_in_the_order_of_the_reference() {
    let thing = "sort D = struct none | some(n: Nat); map hi: Nat # D -> Nat; var x: Nat; y: D; eqn ";
    // An equation that looks at nothing comes first, at any place in the text.
    check_with(&format!("{thing} hi(x, y) = 1; hi(x, none) = 2;"), "Nat", &[("hi(5, none)", "1")]);
    check_with(&format!("{thing} hi(x, none) = 2; hi(x, y) = 1;"), "Nat", &[("hi(5, none)", "1")]);
    // A condition and a variable that is used twice are looks, too; among equals the text decides.
    check_with(
        &format!("{thing} y == none -> hi(x, y) = 1; hi(x, none) = 2;"),
        "Nat",
        &[("hi(5, none)", "1")],
    );
    check_with(
        &format!("{thing} hi(x, none) = 2; y == none -> hi(x, y) = 1;"),
        "Nat",
        &[("hi(5, none)", "2")],
    );
    check_with(&format!("{thing} hi(x, none) = 2; hi(x, y) = x + x;"), "Nat", &[("hi(5, none)", "10")]);
    // The argument that most equations look at is evaluated first.
    check_with(
        &format!("{thing} hi(0, none) = 0; hi(0, y) = 1; hi(x, none) = 2; hi(1, y) = 3;"),
        "Nat",
        &[("hi(0, none)", "1"), ("hi(1, none)", "3"), ("hi(2, none)", "2")],
    );
    let three = "map f: Bool # Bool # Bool -> Nat; var a, b, c: Bool; eqn ";
    check_with(
        &format!("{three} f(true, true, c) = 1; f(a, true, true) = 2; f(a, b, true) = 3;"),
        "Nat",
        &[("f(true, true, true)", "2"), ("f(true, true, false)", "1"), ("f(false, false, true)", "3")],
    );
}

#[test]
fn built_in_operators_can_have_equations() {
    let floors = "sort F; cons low, mid, high: F;
        eqn low < mid = true; mid < high = true; low < high = true; mid < low = false; high < mid = false;
            high < low = false;";
    let cases =
        [("low < high", "true"), ("high < low", "false"), ("high > low", "true"), ("low == high", "false")];
    check_with(floors, "Bool", &cases);
    // On a sort of a 'cons' section the equations say what an operator means.
    let reversed =
        "sort F; cons low, high: F; eqn low < high = false; high < low = true; low == high = true;";
    check_with(
        reversed,
        "Bool",
        &[
            ("low < high", "false"),
            ("high < low", "true"),
            ("low > high", "true"),
            ("low == high", "true"),
            ("low != high", "false"),
            ("high == low", "false"),
            ("low == low", "true"),
        ],
    );
    // A sort without constructors has constants that only equations tell apart.
    let constants =
        "sort F; map low, high: F; eqn low == high = false; high == low = false; low < high = true;";
    check_with(
        constants,
        "Bool",
        &[("low == high", "false"), ("low != high", "true"), ("high > low", "true")],
    );
    // Elsewhere equations are for where the operator says nothing.
    let partial = "var n: Nat; l: List(Nat); eqn l == [] -> head(l) = 7; l . n = 9;";
    check_with(
        partial,
        "Nat",
        &[("head([])", "7"), ("head([3])", "3"), ("[1, 2] . 1", "2"), ("[1] . 5", "9")],
    );
    // Nothing but the right-hand side says which list that is.
    check_with("eqn head([]) = 0;", "Nat", &[("head([])", "0"), ("head([3])", "3")]);
    let structs = "sort S = struct one | two; eqn two < one = true; if(true, one, two) = one;";
    check_with(structs, "Bool", &[("two < one", "false"), ("one < two", "true")]);
    check_with(structs, "S", &[("if(true, one, two)", "one")]);
    let recognised = "sort S = struct one?is_one | two; map odd: S; eqn is_one(odd) = true;";
    check_with(
        recognised,
        "Bool",
        &[("is_one(one)", "true"), ("is_one(two)", "false"), ("is_one(odd)", "true")],
    );
}

#[test]
fn a_global_variable_has_some_value() {
    let declarations = "sort T = struct node(left: T, right: T) | leaf(n: Nat); U;
        glob b: Bool; p: Pos; n: Nat; l: List(Nat); s: Set(Nat); t: T; f: Nat -> Bool; u: U;";
    check_with(declarations, "Bool", &[("b", "false"), ("f(3)", "false"), ("u == u", "true")]);
    check_with(declarations, "Nat", &[("n + p + #l", "1")]);
    check_with(declarations, "T", &[("t", "leaf(0)")]);
    check_with(declarations, "U", &[("u", "u")]);
}
