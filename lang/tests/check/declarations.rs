//! Sorts, equations, processes and `init`.

use crate::{check_spec, run};

#[test]
fn sorts() {
    for text in [
        "sort T = struct leaf | node(T, T);",
        "sort B = List(struct f(B));",
        "sort B = List(struct f(B) | c);",
        "sort LP = List(P); P = struct b(x: LP);",
        "sort P = struct b(x: List(P)) | c(FSet(P)) | d(FBag(P));",
        "sort A = struct a(B) | stop; B = struct b(A);",
        "sort S = struct t(struct e(Nat)); map x: S; eqn x = t(e(3));",
        "sort S = struct c(p: Bool) | d(p: Bool, q: S); map f: S -> Bool; var s: S; eqn f(s) = p(s) && p(q(s));",
        "sort A = List(List(B)); B; C = List(B); map f: A -> Bool; var x: List(C); eqn f(x) = true;",
        "sort D; cons f: D; f: D -> D; map g: D; eqn g = f(f);",
        "sort ID = struct p | q; sort ID = struct p | q; map N: Nat; map N: Nat; eqn N = 2;",
        "sort A = struct a | b; B = A; map f: A -> B; eqn f(a) = b;",
        "sort A = struct a; B = struct a; map f: A -> B; var x: A; eqn f(x) = x;",
        "sort A = struct a(C); B = struct a(D); C = struct c; D = struct c; map f: A -> B; var x: A; eqn f(x) = x;",
        "map f: struct t -> Bool; g: Bool; eqn g = f(t);",
        "map b: Bool; eqn b = forall x, y: struct t. x == y;",
        "sort A11 = struct A11 | B;",
        "act a: S; sort S = struct x; init a(x);",
    ] {
        check_spec(text, &[]);
    }
    for (text, errors) in [
        ("sort S = U; U = S;", &["S: sort 'S' is defined by itself"][..]),
        ("sort S = U; U = T; T = S;", &["S: sort 'S' is defined by itself"]),
        ("sort A = List(A);", &["A: sort 'A' is defined by itself [only a struct can refer to itself"]),
        ("sort G; F = F -> G;", &["F: sort 'F' is defined by itself"]),
        ("sort D = struct f(D);", &["f: sort D has no values"]),
        ("sort A = struct a(B); B = struct b(A);", &["a: sort A has no values", "b: sort B has no values"]),
        ("sort D; cons f: D -> D;", &["f: sort D has no values"]),
        ("sort G = struct f(Nat -> G) | c;", &["f: sort G is defined by itself through a function sort"]),
        (
            "sort G = struct f(Set(G)) | c;",
            &["f: sort G is defined by itself through a function sort, Set or Bag"],
        ),
        ("sort S = struct c; S = Nat;", &["S: sort 'S' is declared before as something else"]),
        ("sort S; S = struct c;", &["S: sort 'S' is declared before as something else"]),
        (
            "cons maybe: Bool;",
            &["maybe: constructor 'maybe' is for the sort Bool, which cannot have constructors"],
        ),
        ("sort S = struct c | c;", &["c: 'c' is declared more than once as S"]),
        ("sort S = struct c(p: Nat, p: Bool);", &["p: two fields of 'c' are named 'p'"]),
        ("sort S = struct c; map c: S;", &["c: 'c' is declared more than once as S"]),
        (
            "proc P(x: struct t, y: struct t?is_t) = (x == y) -> tau;",
            &["(x == y): '==' cannot be applied to struct t and struct t?is_t"],
        ),
    ] {
        check_spec(text, errors);
    }
}

#[test]
fn merged_structs_share_one_index() {
    let model =
        run("sort A = struct a; B = struct a; L = List(A); M = List(B); init delta;").expect("accepted");
    let id = |name: &str| model.sort_names.iter().find(|(n, _)| &**n == name).map(|(_, id)| *id);
    assert_eq!(id("A"), id("B"));
    assert_eq!(id("L"), id("M"));
    assert_eq!(model.constructors.len(), 1);
    assert_eq!(model.sort_name(id("L").expect("declared")), "List(A)");
}

#[test]
fn equations() {
    for text in [
        "map f: Nat -> Nat; var n: Nat; eqn f(0) = 1; n > 0 -> f(n) = n * f(Int2Nat(n - 1));",
        "map f: List(Nat) -> Nat; var x: Nat; l: List(Nat); eqn f([]) = 0; f(x |> l) = x + f(l);",
        "map f: List(Nat) -> Nat; var x, y: Nat; l: List(Nat); eqn f(l <| x) = x; f([x, y]) = y;",
        "map f: Int -> Bool; eqn f(-1) = true; f(2 * 3) = false;",
        "map f: Nat -> Nat -> Nat; var x, y: Nat; eqn f(x)(y) = x + y;",
        "map f: Nat -> Nat; eqn f = lambda n: Nat. n;",
        "map f: Nat # Nat -> Bool; var x: Nat; eqn f(x, x) = true;",
        "map f: Pos # Nat -> Bool; var x: Pos; eqn f(x, x) = true;",
        "map f: Set(Nat) -> Bool; g: Bag(Nat) -> Bool; eqn f({}) = true; g({:}) = true;",
        "map f: Nat -> Bool; g: Nat -> Nat; var n: Nat; eqn f(g(n)) = true;",
        "map N: Nat; f: Nat -> Bool; eqn N = 3; f(N) = true;",
        "sort S = struct c; map succ: S -> S; eqn succ(c) = c;",
        "sort S, T; map count: S # T -> Nat; count: S -> Nat; var x: S; y: T; eqn count(x, y) = 0; count(x) = 1;",
        "sort T = struct leaf(val: Nat) | node(T, T); var x, y: T; eqn val(node(x, y)) = val(x) + val(y);",
        "map f: Nat -> Bool; var p: Pos; eqn f(Pos2Nat(p)) = true; f(0) = false;",
        "map f: Nat -> Bool; var x: Nat; x: Nat; eqn f(x) = true;",
        "sort S; map S: S -> Bool; var S: S; eqn S(S) = S == S;",
        "sort D; cons d1, d2: D; e: D # Nat -> D; var d, d': D; n, n': Nat; \
         eqn d1 == d2 = false; d == d = true; d1 != d2 = true; d != d' = !(d == d'); e(d, n) == d1 = false; \
         e(d, n) == e(d', n') = d == d' && n' == n;",
        "map f: Nat -> Nat; var i, j: Nat; eqn f(i) = i + j whr i = 2, j = 1 end;",
    ] {
        check_spec(text, &[]);
    }
    for (text, errors) in [
        (
            "map f: Nat -> Nat; var m, n, k: Nat; eqn k > 0 -> f(n) = m;",
            &["k > 0 -> f(n) = m: 'k', 'm' on the right or in the condition, but not on the left"][..],
        ),
        (
            "map f: Nat -> Nat; var n: Nat; eqn f(n) = n - 1;",
            &["n - 1: expected Nat, found Int [if the value is surely of sort Nat, write 'Int2Nat(n - 1)']"],
        ),
        ("map f: Nat -> Nat; var n: Nat; eqn f(n + 1) = n;", &["n + 1: this can never match"]),
        ("map f: Nat -> Nat; var n: Nat; eqn f(succ(n)) = n;", &["succ(n): this can never match"]),
        (
            "sort S = struct c(Nat); var n: Nat; eqn c(n) = c(0);",
            &["c(n): equations for the constructor 'c' are not supported"],
        ),
        (
            "var f: Nat -> Nat; eqn f(1) = 2;",
            &["f(1): the left-hand side of an equation cannot start with the variable 'f'"],
        ),
        ("map f: Nat -> Nat; var n: Nat; eqn n -> f(n) = n;", &["n: expected Bool, found Nat"]),
        (
            "map f: Nat -> Nat; var n: Nat; n: Bool; eqn f(n) = n;",
            &["n: variable 'n' is declared as Nat and as Bool"],
        ),
    ] {
        check_spec(text, errors);
    }
}

#[test]
fn a_narrower_variable_guards_its_equation() {
    let guards = |text: &str| {
        let model = run(&format!("{text} init delta;")).expect("accepted");
        format!("{:?}", model.functions[0].clauses[0].condition)
    };
    let none = guards("map f: Nat -> Bool; var n: Nat; eqn f(n) = true;");
    assert_eq!(none, "None");
    let nat = guards("map f: Int -> Bool; var n: Nat; eqn f(n) = true;");
    assert!(nat.contains("GreaterEqual") && !nat.contains("Floor"), "{nat}");
    let conversion = guards("map f: Nat -> Bool; var p: Pos; eqn f(Pos2Nat(p)) = true;");
    assert!(conversion.contains("GreaterEqual"), "{conversion}");
    let real = guards("map f: Real -> Bool; var i: Int; eqn i > 2 -> f(i) = true;");
    assert!(real.contains("Floor") && real.contains("And") && !real.contains("GreaterEqual"), "{real}");
}

#[test]
fn processes() {
    for text in [
        "act a: Nat; a: Bool; a; init a(1) . a(true) . a;",
        "act a: Nat; a: Int; init a(1) . a(-1);",
        "act a; proc P(n: Nat) = a . P(true); P(b: Bool) = a . P(1); init P(0);",
        "act a; proc P(n: Nat, b: Bool) = a . P(b = !b) + a . P() + sum n: Nat. a . P(); init P(0, true);",
        "act a; proc P(n: Nat) = Q(m = n); Q(m, n: Nat) = a . Q(m = 1, n = 2); init P(0);",
        "act a, b, c; init comm({a|b -> c}, a || b);",
        "act a, b, c; init comm({a|a -> a, b|b|b -> c}, a || a);",
        "act a, b: Nat; init rename({a -> b}, a(1)) || hide({a}, block({b}, allow({a, a|b}, a(1)|b(2))));",
        "init P; proc P = a . P; act a;",
        "act a; proc P = a ||_ a; init (P | a | tau) + (delta | a);",
    ] {
        check_spec(text, &[]);
    }
    for (text, errors) in [
        ("act a: Nat; init a;", &["a: action 'a' needs arguments [declared: 'a: Nat']"][..]),
        ("act a; init a(1);", &["a(1): action 'a' does not take 1 argument [declared: 'a']"]),
        ("act a: Nat; a: List(Nat); init a(true);", &["a(true): action 'a' cannot be used with (Bool)"]),
        ("act a; a;", &["a: action 'a' is declared more than once"]),
        ("act a; proc a = delta;", &["a: 'a' is declared both as an action and as a process"]),
        ("proc P = delta; P = tau;", &["P: process 'P' is declared more than once"]),
        ("proc P(x, x: Nat) = delta;", &["x: variable 'x' is declared twice here"]),
        ("proc P(n: Nat) = P(m = 1);", &["m: process 'P' has no parameter 'm' [it has 'n']"]),
        ("proc P(n: Nat) = P(n = 1, n = 2);", &["n: parameter 'n' is assigned twice"]),
        ("proc P(n: Nat) = P(n = true);", &["true: expected Nat, found Bool"]),
        (
            "proc P(n: Nat) = delta; init P();",
            &["P(): parameter 'n' of process 'P' gets no value [no 'n' is in scope"],
        ),
        (
            "proc P(n: Nat) = delta; Q(n: Int) = P();",
            &["P(): parameter 'n' of process 'P' gets no value [the 'n' in scope is Int"],
        ),
        ("proc P(n: Nat) = (n) -> tau;", &["(n): expected Bool, found Nat"]),
        ("act a; init a || Q(1);", &["Q: no action or process 'Q' is declared"]),
        ("act a; init block({P}, P); proc P = a;", &["P: 'P' is a process; 'block' is about actions"]),
        ("act a, b; init rename({a -> b, a -> a}, a);", &["a: action 'a' is renamed twice"]),
        ("act a: Nat; b: Bool; init rename({a -> b}, a(1));", &["a -> b: 'a' cannot be renamed to 'b'"]),
        (
            "act a, b, c, d; init comm({a|b -> c, a|d -> c}, a);",
            &["a: action 'a' communicates in two different ways"],
        ),
        (
            "act a, b, c, d; init comm({a|b -> c, c|d -> a}, a);",
            &[
                "c: action 'c' is the result of one communication and takes part in another",
                "a: action 'a' is the result of one communication and takes part in another",
            ],
        ),
        (
            "act a, b: Nat; c; init comm({a|b -> c}, a(1));",
            &["a|b -> c: these actions and 'c' never have arguments of the same sorts"],
        ),
    ] {
        check_spec(text, errors);
    }
}

#[test]
fn init_stands_exactly_once() {
    let without = run("act a;").expect_err("no init");
    assert_eq!(without[0].message, "there is no 'init'");
    check_spec("act a; init a; init a.a;", &["a.a: there is more than one 'init'"]);
}
