//! Which sorts are inferred.

use crate::{check_sort, check_spec, run};

#[test]
fn numbers_have_the_smallest_sort() {
    let vars = "p, q: Pos, n, m: Nat, i, j: Int, r, s: Real";
    for (expr, sort) in [
        ("0", "Nat"),
        ("1", "Pos"),
        ("-1", "Int"),
        ("0 + 1", "Pos"),
        ("1 + 0", "Pos"),
        ("0 + 0", "Nat"),
        ("1 * 2 + 3", "Pos"),
        ("p + n", "Pos"),
        ("n + p", "Pos"),
        ("n + m", "Nat"),
        ("n + i", "Int"),
        ("i + r", "Real"),
        ("p - q", "Int"),
        ("n - 1", "Int"),
        ("r - 1", "Real"),
        ("p * n", "Nat"),
        ("n * i", "Int"),
        ("p / q", "Real"),
        ("p div q", "Nat"),
        ("n div p", "Nat"),
        ("i div p", "Int"),
        ("n mod p", "Nat"),
        ("i mod p", "Nat"),
        ("exp(p, n)", "Pos"),
        ("exp(n, n)", "Nat"),
        ("exp(i, n)", "Int"),
        ("exp(r, i)", "Real"),
        ("succ(p)", "Pos"),
        ("succ(n)", "Pos"),
        ("succ(i)", "Int"),
        ("pred(p)", "Nat"),
        ("pred(n)", "Int"),
        ("pred(r)", "Real"),
        ("abs(i)", "Nat"),
        ("abs(n)", "Nat"),
        ("abs(r)", "Real"),
        ("floor(r)", "Int"),
        ("ceil(1/2)", "Int"),
        ("min(p, q)", "Pos"),
        ("min(p, n)", "Nat"),
        ("max(p, n)", "Pos"),
        ("max(p, i)", "Pos"),
        ("max(n, i)", "Nat"),
        ("max(i, j)", "Int"),
        ("max(r, s)", "Real"),
        ("Int2Nat(i)", "Nat"),
        ("Nat2Pos(p)", "Pos"),
        ("Real2Int(n)", "Int"),
        ("if(p == n, 0, 1)", "Nat"),
        ("if(true, -1, r)", "Real"),
        ("-p", "Int"),
        ("-r", "Real"),
    ] {
        check_sort("", vars, expr, sort);
    }
}

#[test]
fn containers_get_the_sort_of_their_elements() {
    let vars = "l: List(Nat), k: List(Pos), s: Set(Nat), f: FSet(Nat), b: Bag(Nat), g: FBag(Bool)";
    for (expr, sort) in [
        ("[0]", "List(Nat)"),
        ("[1, 0, 2]", "List(Nat)"),
        ("[true, false]", "List(Bool)"),
        ("[[], [1], [0]]", "List(List(Nat))"),
        ("[0] ++ [1, 2]", "List(Nat)"),
        ("l ++ [1, 2]", "List(Nat)"),
        ("[1] ++ k", "List(Pos)"),
        ("1 |> l", "List(Nat)"),
        ("[] <| -1", "List(Int)"),
        ("head([0, 1])", "Nat"),
        ("tail(k)", "List(Pos)"),
        ("k . 0", "Pos"),
        ("#[]", "Nat"),
        ("#f", "Nat"),
        ("#g", "Nat"),
        ("true in []", "Bool"),
        ("1 in s", "Bool"),
        ("{1, 2, -7}", "FSet(Int)"),
        ("{1: 1, -8: 8}", "FBag(Int)"),
        ("{true: 1} + g", "FBag(Bool)"),
        ("{1} + s", "Set(Nat)"),
        ("{1} + f", "FSet(Nat)"),
        ("{0} * {1}", "FSet(Nat)"),
        ("f + s", "Set(Nat)"),
        ("!f", "Set(Nat)"),
        ("!{} <= {}", "Bool"),
        ("{x: Nat | x mod 2 == 0}", "Set(Nat)"),
        ("{x: Pos | x + 1}", "Bag(Pos)"),
        ("{x: Nat | (lambda y: Nat. y * y)(x)}", "Bag(Nat)"),
        ("count(1, b)", "Nat"),
        ("Set2Bag(s)", "Bag(Nat)"),
        ("Bag2Set(b) + {1}", "Set(Nat)"),
        ("pick({0, 1})", "Nat"),
        ("pick({1: 1, -2: 2})", "Int"),
        ("if(true, {}, {o: Bool | true whr z = true end})", "Set(Bool)"),
        ("if(true, [], l)", "List(Nat)"),
        ("if(true, [1], l)", "List(Nat)"),
        ("[1] == l", "Bool"),
        ("{} < s", "Bool"),
        ("s > f", "Bool"),
        ("{:} <= b", "Bool"),
        ("[1] < [0]", "Bool"),
        ("#[0, 1] == -1", "Bool"),
    ] {
        check_sort("", vars, expr, sort);
    }
}

#[test]
fn functions_are_values() {
    let declarations = "sort S = struct c(x: Int) | d; map f: Nat -> Bool; apply: (Nat -> Nat) # Nat -> Nat; \
        g: Nat -> Nat # Nat -> Bool; pick_: (List(Nat) -> Nat) -> Nat; make: (Int -> S) -> S;";
    for (expr, sort) in [
        ("f", "Nat -> Bool"),
        ("c", "Int -> S"),
        ("x", "S -> Int"),
        ("g(1)(2, 3)", "Bool"),
        ("g(1)", "Nat # Nat -> Bool"),
        ("apply(succ, 1)", "Nat"),
        ("apply(lambda n: Nat. 1, 1)", "Nat"),
        ("pick_(head)", "Nat"),
        ("make(c)", "S"),
        ("lambda n: Nat. n + 1", "Nat -> Pos"),
        ("(lambda n: Nat. n mod 2 == 0)[0 -> false]", "Nat -> Bool"),
        ("(lambda b: Bool. b)[true -> false][false -> true](true)", "Bool"),
        ("(lambda n: Nat. 1)[0 -> 0]", "Nat -> Nat"),
        ("lambda x: S. x(x) < 0", "S -> Bool"),
        ("[lambda n: Nat. 1, lambda n: Nat. -1]", "List(Nat -> Int)"),
        ("x + y whr x = 3, y = 10 end", "Pos"),
        ("forall n: Nat. n > -1", "Bool"),
        ("exists m, n: Pos. m == n", "Bool"),
    ] {
        check_sort(declarations, "", expr, sort);
    }
}

#[test]
fn overloads_are_told_apart_by_sorts() {
    let declarations = "map f: Pos -> Nat; f: Nat -> Pos; g: Nat -> Bool; g: Nat; g: Nat # Nat -> Bool; \
        h: Pos # Nat -> Bool; h: Pos # Pos -> Nat; h: Nat # Pos -> Int;";
    for (expr, sort) in [
        ("f(0)", "Pos"),
        ("f(1)", "Nat"),
        ("f(n)", "Pos"),
        ("f(p)", "Nat"),
        ("g", "Nat"),
        ("g(g)", "Bool"),
        ("g(g, g)", "Bool"),
        ("g((lambda x: Bool. g)(g(g, g)))", "Bool"),
        ("h(p, p)", "Nat"),
        ("h(p, n)", "Bool"),
        ("h(n, p)", "Int"),
    ] {
        check_sort(declarations, "p: Pos, n: Nat", expr, sort);
    }
}

#[test]
fn the_context_decides() {
    for text in [
        "act a: Real; b: List(Int); c: Set(Nat); d: List(List(Nat)); init a(1).b([1, 2]).c({}).c({1}).d([[], [1]]);",
        "act a: Nat; init a(if(true, 0, 1)) . a(head([])) . a([1] . 0);",
        "map x: List(Int); eqn x = 1 |> ([2] ++ [3]);",
        "map s: Set(Int); eqn s = {1} + {x: Int | x > 0};",
        "map f: Nat -> Int; eqn f = (lambda n: Nat. 1)[0 -> 2];",
        "map l: List(Nat -> Int); eqn l = [lambda n: Nat. 1];",
        "sort S = struct c(Nat, List(Int)); map s: S; eqn s = c(1, []);",
        "map f: Set(Nat); eqn f = {1, 2} - {2};",
        "map b: Bag(Int); eqn b = {1: 1} + {2: 2};",
        "map x: Int; eqn x = (y whr y = 1 end);",
        "map x: List(Int); eqn x = (y whr y = [1] end);",
        "map r: Real; eqn r = 1 + 2;",
        "map f: Pos -> Bool; b: Bool; eqn b = f(Int2Pos(-1)) && f(Real2Pos(1/2));",
        "map f: Nat; eqn f = 2 * 3 div 4;",
    ] {
        check_spec(text, &[]);
    }
}

#[test]
fn the_operation_follows_the_sorts() {
    for (expr, op) in [
        ("s + {1} == s", "SetUnion"),
        ("b + {1: 1} == b", "BagUnion"),
        ("1 + 1 == 2", "Add"),
        ("s < s", "ProperSubset"),
        ("b <= b", "Subbag"),
        ("l < l", "Less"),
        ("!s == s", "SetComplement"),
        ("!(true)", "Not"),
        ("1 in l", "InList"),
        ("1 in s", "InSet"),
        ("1 in b", "InBag"),
        ("#l == 0", "ListSize"),
        ("#{1} == 0", "SetSize"),
        ("s - {} == {}", "SetDifference"),
        ("pick({1: 1}) == 1", "BagPick"),
    ] {
        let text = format!("proc P(s: Set(Nat), b: Bag(Nat), l: List(Nat)) = ({expr}) -> tau; init delta;");
        let model = run(&text).unwrap_or_else(|e| panic!("{expr}: {e:?}"));
        let body = format!("{:?}", model.processes[0].body);
        assert!(body.contains(&format!("Op({op})")), "{expr} has no {op}: {body}");
    }
}

#[test]
fn ambiguity_is_an_error() {
    check_spec(
        "sort S, T; map f: Nat -> S; f: Nat -> T; b: Bool; eqn b = (f(1) == f(1));",
        &["(f(1) == f(1)): '==' is ambiguous here [it could be '==: S # S -> Bool' or '==: T # T -> Bool']"],
    );
    check_spec(
        "act a: Nat; map f: Pos # Nat -> Nat; f: Nat # Pos -> Nat; init a(f(1, 1));",
        &["f(1, 1): 'f' is ambiguous here [it could be 'f: Pos # Nat -> Nat' or 'f: Nat # Pos -> Nat']"],
    );
    check_spec(
        "act a: Pos # Nat; a: Nat # Pos; init a(1, 1);",
        &["a(1, 1): action 'a' is ambiguous here [it could be the one with (Pos # Nat) or with (Nat # Pos)]"],
    );
}
