//! Formula files that declare data of their own.

use super::{COUNTER, holds, load};
use gridlock_lang::property::{self, Sight};
use gridlock_lang::system::Tables;
use gridlock_lts::property::Property;

/// Messages travel on a channel; `S`, `first`, `size` and `order` are the specification's.
const CHANNEL: &str = "sort S = struct m(n: Nat)?is_m | none; Order = struct first | second;
    map size: S -> Nat; order: Order;
    var k: Nat; eqn size(m(k)) = k; size(none) = 0; order = second;
    act send, get: S;
    proc C(s: S) = (s == none) -> sum k: Nat. (k < 3) -> send(m(k)) . C(m(k)) + (s != none) -> get(s) . C(none);
    init C(none);";

/// Each formula, and its negation.
#[track_caller]
fn check(spec: &str, expected: &[(&str, bool)]) {
    let system = load(spec, Tables::Auto);
    for (text, truth) in expected {
        assert_eq!(holds(&system, text), *truth, "{text}");
        let (before, formula) = text.split_once("form ").expect("a formula");
        let (formula, behind) = formula.split_once(';').expect("its end");
        assert_eq!(holds(&system, &format!("{before}form !({formula});{behind}")), !truth, "not {text}");
    }
}

#[track_caller]
fn refused(spec: &str, text: &str, expected: &[(&str, &str, &str)]) {
    let system = load(spec, Tables::Auto);
    let errors = match property::formula(&system.builder, &Sight::default(), "f.mcf", text) {
        Ok(_) => panic!("{text} is accepted"),
        Err(errors) => errors,
    };
    let told: Vec<(&str, &str, &str)> = errors
        .iter()
        .map(|e| {
            let place = &text[e.span.start as usize..e.span.end as usize];
            (place, &*e.message, e.help.as_deref().unwrap_or(""))
        })
        .collect();
    assert_eq!(told, expected, "{text}");
}

#[test]
fn a_formula_has_mappings_of_its_own_over_the_sorts_of_the_specification() {
    check(
        CHANNEL,
        &[
            // A monitor.
            (
                "map twice: S -> Nat; var s: S; eqn twice(s) = 2 * size(s);
                 form [true*]forall k: Nat. val(k < 3) => [send(m(k))]val(twice(m(k)) < 5);",
                true,
            ),
            ("map large: Nat; eqn large = 2; form [true* . send(m(large))]false;", false),
            ("map large: Nat; eqn large = 3; form [true* . send(m(large))]false;", true),
            // A game.
            (
                "map next: Nat -> Nat; var n: Nat; eqn next(n) = if(n < 2, n + 1, 0);
                 form nu X(k: Nat = 0). <send(m(k))><get(m(k))>X(next(k));",
                true,
            ),
            // By cases on constructors of the specification, and behind the formula.
            (
                "form [true*]forall s: S. [get(s)]val(good(s));
                 map good: S -> Bool; var k: Nat; eqn good(m(k)) = k < 3; good(none) = false;",
                true,
            ),
            // Equations without order, a helper, a condition.
            (
                "map even: Nat -> Bool; odd: Nat -> Bool; var n: Nat;
                 eqn n > 0 -> even(n) = odd(Int2Nat(n - 1)); even(0) = true;
                     n > 0 -> odd(n) = even(Int2Nat(n - 1)); odd(0) = false;
                 form [true*]!(exists k: Nat. val(k < 3 && odd(k)) && <get(m(k))>true);",
                false,
            ),
        ],
    );
}

#[test]
fn a_sequence_can_be_followed_with_a_mapping() {
    let spec = "act sent: Nat; other; proc P(n: Nat) = sent(n) . P((n + 1) mod 4) + other . P(n); init P(0);";
    let formula = "map next: Nat -> Nat; var n: Nat; eqn next(n) = (n + 1) mod 4;
        form nu X(k: Nat = 0). [sent(k)]X(next(k)) && [!sent(k) && exists n: Nat. sent(n)]false
            && [!exists n: Nat. sent(n)]X(k);";
    check(spec, &[(formula, true)]);
    check(spec, &[(&formula.replace("mod 4", "mod 3"), false)]);
}

#[test]
fn a_formula_has_sorts_of_its_own_as_parameters_of_fixed_points() {
    check(
        CHANNEL,
        &[
            // What is sent is what is taken: an alias and a struct that contains a sort of the specification.
            (
                "sort Held = struct empty?is_empty | holds(what: S); Number = Nat;
                 form nu X(h: Held = empty). (forall s: S. [send(s)](val(is_empty(h)) && X(holds(s))))
                      && (forall s: S. [get(s)](val(h == holds(s)) && X(empty)));",
                true,
            ),
            (
                "sort Held = struct empty?is_empty | holds(what: S);
                 form nu X(h: Held = empty). (forall s: S. [send(s)](val(is_empty(h)) && X(holds(s))))
                      && (forall s: S. [get(s)](val(!is_empty(h) && size(what(h)) < 2) && X(empty)));",
                false,
            ),
            // A sort of the formula with constructors from `cons`, its values gone through.
            (
                "sort Turn; cons left, right: Turn;
                 map other: Turn -> Turn; eqn other(left) = right; other(right) = left;
                 form forall t: Turn. nu X(u: Turn = t). val(u != other(u)) && [true]X(other(u));",
                true,
            ),
            // Two equal structs are one sort; a recursive one; lists of them.
            (
                "sort A = struct x | y; B = struct x | y; T = struct leaf | node(left: T, right: T);
                 map a: A; b: B; depth: T -> Nat; var s, t: T;
                 eqn a = x; b = x; depth(leaf) = 0; depth(node(s, t)) = 1 + max(depth(s), depth(t));
                 form val(a == b) && val(#[x, y, a] == 3) && val(depth(node(leaf, node(leaf, leaf))) == 2)
                      && (exists e: A. val(e == y));",
                true,
            ),
        ],
    );
}

#[test]
fn what_a_formula_declares_changes_nothing_of_the_specification() {
    // The value of `order` was computed by the specification, the labels of these have its constructors.
    let spec =
        "sort D = struct d0 | d1; E = struct e0 | e1(D); act a: D; b: E; init a(d1) . b(e1(d0)) . delta;";
    check(
        spec,
        &[
            (
                "sort A = struct p | q(D) | r(E); L = List(D); map f: D -> E; var d: D; eqn f(d) = e1(d);
                 form <a(d1)><b(f(d0))>true && [a(d0)]false && [true . b(f(d1))]false;",
                true,
            ),
            ("sort A = struct p | q; map d2: A; eqn d2 = q; form exists e: E. <true><b(e)>true;", true),
        ],
    );
    // Whether it declares something or not, the answer is the same.
    let system = load(COUNTER, Tables::Auto);
    for formula in
        ["[true* . down(3)]false", "nu X. <true>X", "[true*]forall n: Nat. [up(n)]<down(n + 1)>true"]
    {
        let alone = holds(&system, formula);
        let with = format!("sort Z = struct z(Nat) | nothing; map g: Z -> Nat; form {formula};");
        assert_eq!(alone, holds(&system, &with), "{formula}");
    }
}

#[test]
fn safety_with_data_of_the_formula_is_watched_by_monitors() {
    let system = load(CHANNEL, Tables::Auto);
    for text in [
        "map k: Nat; eqn k = 3; form [true* . send(m(k))]false;",
        "sort C = struct red | green(Nat); map of: C -> S; var n: Nat; eqn of(red) = none; of(green(n)) = m(n);
         form forall n: Nat. val(n < 2) => [true* . send(of(green(n))) . !get(of(green(n)))]false;",
    ] {
        let parts = property::formula(&system.builder, &Sight::default(), "f.mcf", text).expect(text);
        assert!(parts.iter().all(|part| matches!(part.1, Property::Monitor(_))), "{text}");
        assert!(holds(&system, text), "{text}");
    }
}

#[test]
fn clashes_with_the_specification_are_errors_with_both_places() {
    let sort_again = "by the specification (test.mcrl2:1:6); the formula sees it, so remove this declaration or give it \
                      another name";
    refused(CHANNEL, "sort S = struct a; form true;", &[("S", "sort 'S' is declared before", sort_again)]);
    refused(
        CHANNEL,
        "map size: S -> Nat; var s: S; eqn size(s) = 7; form true;",
        &[
            (
                "size",
                "'size' is declared before for arguments of S",
                "by the specification (test.mcrl2:2:9); give this one another name",
            ),
            (
                "size(s)",
                "this equation is for the mapping 'size' of the specification",
                "the specification (test.mcrl2:2:9) declares it, and the values in labels were computed without this \
                 equation; declare a mapping of the formula",
            ),
        ],
    );
    refused(
        CHANNEL,
        "sort P = struct first | third; form true;",
        &[(
            "first",
            "'first' is declared before",
            "by the specification (test.mcrl2:1:55); give this one another name",
        )],
    );
    refused(
        CHANNEL,
        "sort T = S; cons c: Nat -> T; form true;",
        &[(
            "c",
            "constructor 'c' is for the sort S of the specification",
            "the specification (test.mcrl2:1:6) says which values it has; declare a sort of the formula, or a function \
             under 'map'",
        )],
    );
    // The same name for other arguments is another function, as in a specification.
    check(
        CHANNEL,
        &[("map size: Nat -> Nat; eqn size(0) = 4; form val(size(none) == 0 && size(0) == 4);", true)],
    );
    // The same declaration of an action says nothing new, even with a name for its sort.
    check(CHANNEL, &[("sort Message = S; act send: Message; form [true*]<true>true;", true)]);
    let differs = "declared: 'send: S'";
    refused(
        CHANNEL,
        "sort Q = struct q; act send: Q; form true;",
        &[("send", "the specification declares action 'send' differently", differs)],
    );
}

#[test]
fn equations_of_a_formula_are_for_what_it_declares() {
    let others = "in a formula file equations are for its own mappings, and for operators on its own sorts; the values in \
                  labels were computed without them";
    refused(
        CHANNEL,
        "eqn head([]) = none; form true;",
        &[("head([])", "this equation is for the built-in 'head'", others)],
    );
    refused(
        CHANNEL,
        "eqn order = first; form true;",
        &[(
            "order",
            "this equation is for the mapping 'order' of the specification",
            "the specification (test.mcrl2:2:25) declares it, and the values in labels were computed without this \
             equation; declare a mapping of the formula",
        )],
    );
    let own = "sort T; cons low, high: T; eqn low < high = true; high < low = false; form val(low < high);";
    assert!(holds(&load(CHANNEL, Tables::Auto), own));
}

#[test]
fn mistakes_in_declarations_have_their_place_in_the_formula_file() {
    for (text, place, message) in [
        ("map f: Message -> Nat; form true;", "Message", "no sort 'Message' is declared"),
        ("map f: Nat -> Nat; var n: Nat; eqn f(n) = true; form true;", "true", "expected Nat, found Bool"),
        ("map f: Nat -> Nat; var n: Nat; eqn f(n) = g(n); form true;", "g", "no"),
        ("sort T = struct c(T); form true;", "c", "sort T has no values"),
        ("sort T = List(T); form true;", "T", "sort 'T' is defined by itself"),
        ("sort Nat = struct c; form true;", "Nat", "'Nat' is a keyword"),
        ("map f: Nat; form [send(f)]false;", "f", ""),
    ] {
        let system = load(CHANNEL, Tables::Auto);
        let errors = match property::formula(&system.builder, &Sight::default(), "f.mcf", text) {
            Ok(_) => panic!("{text} is accepted"),
            Err(errors) => errors,
        };
        let found = &text[errors[0].span.start as usize..errors[0].span.end as usize];
        assert!(found == place && errors[0].message.starts_with(message), "{text}: {errors:?}");
    }
}

#[test]
fn functions_of_a_formula_are_none_of_the_specification_for_being_counted_alike() {
    // The first lambda expression of each. Which functions over all numbers are equal is not decided.
    let spec = "map g: Nat -> Nat; var n: Nat; eqn g(n) = n; act a: Nat -> Nat; init a(lambda x: Nat. x + 1) . delta;";
    let system = load(spec, Tables::Auto);
    for text in [
        "[a(lambda x: Nat. x + 2)]false",
        "<a(lambda x: Nat. x + 2)>true",
        "map f: Nat -> Nat; eqn f = lambda x: Nat. x + 3; form <a(f)>true;",
    ] {
        let properties = super::properties(&system, text);
        let [Property::Formula(equations)] = &properties[..] else { panic!("{text} is no safety formula") };
        let decided = super::game::decide(&system.network, &**equations, &super::Options::default());
        let error = decided.expect_err(text).to_string();
        assert!(error.contains("it contains a function over many values"), "{text}: {error}");
    }
    assert!(holds(&system, "<a(_)>true"));
}
