//! The checker on small specifications: what it accepts, which sorts it infers, what it says about mistakes.

use gridlock_lang::check;
use gridlock_lang::check::Checker;
use gridlock_lang::diagnostic::Diagnostic;
use gridlock_lang::model::{ExprKind, Model, ProcKind, SortId};
use gridlock_lang::syntax;

fn run(text: &str) -> Result<Model, Vec<Diagnostic>> {
    let spec = syntax::parse(text).unwrap_or_else(|e| panic!("syntax of {text:?}: {e:?}"));
    check::check(&spec)
}

fn shown(text: &str, error: &Diagnostic) -> String {
    let place = &text[error.span.start as usize..error.span.end as usize];
    match &error.help {
        Some(help) => format!("{place}: {} [{help}]", error.message),
        None => format!("{place}: {}", error.message),
    }
}

/// Checks a specification, with `init delta` if it has none. `expected` holds the beginning of each error, with the
/// underlined text in front; none means that it must be accepted.
#[track_caller]
fn check_spec(text: &str, expected: &[&str]) {
    let text = if text.contains("init ") { text.to_owned() } else { format!("{text} init delta;") };
    let found: Vec<String> = match run(&text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(|e| shown(&text, e)).collect(),
    };
    let same = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| f.starts_with(e));
    assert!(same, "in {text}\nexpected {expected:#?}\nfound {found:#?}");
}

/// The sort that is inferred for an expression without any context.
#[track_caller]
fn check_sort(declarations: &str, vars: &str, expr: &str, expected: &str) {
    let params = if vars.is_empty() { String::new() } else { format!("({vars})") };
    let text = format!("{declarations} proc P{params} = ((true whr it = {expr} end)) -> tau; init delta;");
    let model = run(&text).unwrap_or_else(|errors| {
        panic!("{expr}: {:#?}", errors.iter().map(|e| shown(&text, e)).collect::<Vec<_>>())
    });
    let var = model.vars.iter().find(|v| &*v.name == "it").expect("the variable is in the model");
    assert_eq!(model.sort_name(var.sort), expected, "{expr}");
}

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
fn no_downcasts_and_no_casts_inside_sorts() {
    check_spec(
        "act a: Nat; proc P(i: Int) = a(i); init P(0);",
        &[
            "i: expected Nat, found Int [if the value is surely of sort Nat, write 'Int2Nat(i)'; declared: 'a: Nat']",
        ],
    );
    check_spec("act a: Pos; init a(0);", &["0: expected Pos, found Nat"]);
    check_spec(
        "proc P(x: List(Pos), y: List(Nat)) = (x == y) -> tau; init delta;",
        &["(x == y): '==' cannot be applied to List(Pos) and List(Nat) [both sides must have the same sort]"],
    );
    check_spec(
        "proc P(x: List(Pos)) = ([0] ++ x == x) -> tau; init delta;",
        &["[0] ++ x: '++' cannot be applied to List(Nat) and List(Pos)"],
    );
    check_spec(
        "map f: Nat -> Nat; eqn f = lambda x: Int. 1;",
        &["lambda x: Int. 1: expected Nat -> Nat, found Int -> Pos"],
    );
    check_spec(
        "map l: List(Nat) -> List(Nat); var x: List(Nat); eqn l(x) = head(x) ++ tail(x);",
        &["head(x) ++ tail(x): '++' cannot be applied to Nat and List(Nat)"],
    );
    check_spec("map b: Bool; eqn b = !{:};", &["!{:}: '!' cannot be applied to FBag(_)"]);
    check_spec(
        "proc P(s: Set(Nat)) = (#s > 1) -> tau; init delta;",
        &["#s: '#' cannot be applied to Set(Nat)"],
    );
    check_spec(
        "proc P(n: Nat) = (n mod n == 0) -> tau; init delta;",
        &["n mod n: 'mod' cannot be applied to Nat and Nat [the right-hand side of 'mod' must be a Pos"],
    );
    check_spec(
        "map b: Bag(Pos); eqn b = {n: Pos | 2/3};",
        &["2/3: expected Bool (for a set) or Nat (for a bag), found Real"],
    );
}

#[test]
fn names_that_are_not_declared() {
    check_spec(
        "sort Colour = struct red | green; act show: Colour; proc Main = show(gren) . Mian; init Main;",
        &[
            "gren: no name 'gren' is declared [did you mean 'green'?]",
            "Mian: no action or process 'Mian' is declared [did you mean 'Main'?]",
        ],
    );
    check_spec("map f: Nta;", &["Nta: no sort 'Nta' is declared [did you mean 'Nat'?]"]);
    check_spec("act a; map x: Nat; eqn x = a;", &["a: 'a' is an action, but a data expression is expected"]);
    check_spec(
        "act send; init allow({sned}, block({q}, hide({send, Zzz}, send)));",
        &[
            "sned: no action 'sned' is declared [did you mean 'send'?]",
            "q: no action 'q' is declared",
            "Zzz: no action 'Zzz' is declared",
        ],
    );
    check_spec("map x: Nat; eqn x = (y whr x' = 3, y = x' + 1 end);", &["x': no name 'x'' is declared"]);
}

#[test]
fn one_mistake_is_reported_once() {
    check_spec("map f: Foo -> Nat; g: Nat; eqn g = f(1) + f(true);", &["Foo: no sort 'Foo' is declared"]);
    check_spec(
        "act a: Nat; proc P(x: List(Foo)) = (x == [] && head(x) > 2) -> a(#x) . P(tail(x)); init P([]);",
        &["Foo: no sort 'Foo' is declared"],
    );
    check_spec(
        "act a: Nat; init a(undefined + 1) . a(#undefined2);",
        &["undefined: no name 'undefined' is declared", "undefined2: no name 'undefined2' is declared"],
    );
    check_spec("act a: Nat # Foo; init a(1, 2);", &["Foo: no sort 'Foo' is declared"]);
}

#[test]
fn all_mistakes_of_a_file_are_reported() {
    check_spec(
        "sort S = struct c(Boolean); map f: S -> Nat; var s: S; eqn f(s) = true; act a: Nat; \
         proc P = a(true) + b; init Q;",
        &[
            "Boolean: no sort 'Boolean' is declared",
            "true: expected Nat, found Bool",
            "true: expected Nat, found Bool",
            "b: no action or process 'b' is declared",
            "Q: no action or process 'Q' is declared",
        ],
    );
}

#[test]
fn applications_that_do_not_fit() {
    check_spec(
        "map f: Nat # Bool -> Nat; x: Nat; eqn x = f(true, 1);",
        &["true: expected Nat, found Bool [declared: 'f: Nat # Bool -> Nat']"],
    );
    check_spec("map f: Nat -> Nat; x: Nat; eqn x = f(1, 2);", &["f: 'f' does not take 2 arguments"]);
    check_spec("map f: Nat; x: Nat; eqn x = f(1);", &["f: 'f' is not a function"]);
    check_spec(
        "map f: Nat -> Nat; f: Bool -> Nat; x: Nat; eqn x = f([]);",
        &["f([]): 'f' cannot be applied to (List(_)) [declared: 'f: Nat -> Nat', 'f: Bool -> Nat']"],
    );
    check_spec("map x: Nat; eqn x = head(1);", &["head(1): 'head' cannot be applied to (Pos)"]);
    check_spec(
        "map x: Bool; eqn x = ((lambda y: Nat. y)(1, 2) > 0);",
        &["(lambda y: Nat. y): this function takes 1 argument, but gets 2"],
    );
    check_spec("proc P(x: Nat) = (x(1) == 2) -> tau;", &["x: this is Nat, not a function"]);
    check_spec(
        "map x: List(Nat); eqn x = [1, true, 2];",
        &["true: the elements before this one are Pos, this one is Bool"],
    );
    check_spec("proc P(f: Nat -> Nat) = (f[true -> 1](0) == 1) -> tau;", &["true: expected Nat, found Bool"]);
    check_spec("proc P(f: Nat -> Nat) = (f[1 -> -1](0) == 1) -> tau;", &["-1: expected Nat, found Int"]);
    check_spec(
        "proc P(f: Nat # Nat -> Nat) = (f[1 -> 2](0, 0) == 1) -> tau;",
        &["f: only a function of one argument can be updated, this is Nat # Nat -> Nat"],
    );
    check_spec("map b: Bool; eqn b = forall x: Nat. x + 1;", &["x + 1: expected Bool, found Pos"]);
    check_spec("map b: Bool; eqn b = exists x, x: Nat. x > 1;", &["x: variable 'x' is declared twice here"]);
    check_spec("map n: Nat; eqn n = x whr x = 1, x = 2 end;", &["x: 'x' is defined twice here"]);
    check_spec("map b: Bag(Nat); eqn b = {1: -1};", &["-1: expected Nat, found Int"]);
}

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

/// The data expression that stands as the condition of the first process.
fn condition(text: &str) -> syntax::tree::Data {
    let spec = syntax::parse(&format!("proc X = ({text}) -> tau; init delta;")).expect("syntax");
    match &spec.processes[0].body.kind {
        syntax::tree::ProcessKind::Condition(condition, ..) => (**condition).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn expressions_are_checked_against_a_finished_model() {
    let mut model = run(
        "sort D = struct d1 | d2; Q = List(D); act a: Q # Nat; b; map f: struct t(x: D) -> Nat; proc P(q: Q) = b.P(); \
         init P([]);",
    )
    .expect("accepted");
    let q = model.processes[0].params[0];
    let expr =
        check::check_data_in(&mut model, &[q], &condition("head(q) == d1 && f(t(d2)) > 1"), SortId::BOOL);
    assert!(matches!(expr.expect("accepted").kind, ExprKind::Apply(..)));
    let errors = check::check_data_in(&mut model, &[], &condition("q == [] && d1 + 1"), SortId::BOOL)
        .expect_err("wrong");
    assert_eq!(errors.len(), 2, "{errors:?}");
    let errors = check::check_data_in(&mut model, &[q], &condition("#q"), SortId::BOOL).expect_err("wrong");
    assert_eq!(errors[0].message, "expected Bool, found Nat");

    let sorts = model.sorts.len();
    let mut checker = Checker::new(model);
    let spec =
        syntax::parse("map x: Q; y: List(D); z: struct t(x: D); w: Quue; init delta;").expect("syntax");
    let first = checker.sort(&spec.maps[0].sort).expect("declared");
    assert_eq!(checker.sort(&spec.maps[1].sort), Ok(first));
    assert!(checker.sort(&spec.maps[2].sort).is_ok());
    assert_eq!(checker.model().sorts.len(), sorts, "nothing new");
    let errors = checker.sort(&spec.maps[3].sort).expect_err("not declared");
    assert_eq!(errors[0].message, "no sort 'Quue' is declared");

    let spec = syntax::parse("act a; init a([d1], 3) + a(3) + c;").expect("syntax");
    let syntax::tree::ProcessKind::Choice(calls) = &spec.inits[0].kind else { panic!("a choice") };
    let results: Vec<bool> = calls
        .iter()
        .map(|call| match &call.kind {
            syntax::tree::ProcessKind::Call(name, args) => checker.action(&[], name, args, call.span).is_ok(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(results, [true, false, false]);
}

#[test]
fn multi_actions_are_flattened_and_calls_completed() {
    let model = run(
        "act a: Nat; b, c; proc P(n: Nat, m: Nat) = (a(1)|b|tau|c) . P(m = n) + (b . c) | b; init P(1, 2);",
    )
    .expect("accepted");
    let ProcKind::Choice(parts) = &model.processes[0].body.kind else { panic!("a choice") };
    let ProcKind::Seq(steps) = &parts[0].kind else { panic!("a sequence") };
    assert!(matches!(&steps[0].kind, ProcKind::Multi(actions) if actions.len() == 3));
    let ProcKind::Call(_, args) = &steps[1].kind else { panic!("a call") };
    let n = model.processes[0].params[0];
    assert!(args.len() == 2 && args.iter().all(|arg| matches!(arg.kind, ExprKind::Var(v) if v == n)));
    assert!(matches!(&parts[1].kind, ProcKind::Sync(..)));
    let basic: Vec<String> = (0..5).map(|i| model.sort_name(SortId(i))).collect();
    assert_eq!(basic, ["Bool", "Pos", "Nat", "Int", "Real"]);
}

#[test]
fn equations_that_never_match_have_no_effect() {
    let model = run(
        "map f: List(Nat) -> Nat; g: Nat # Bool -> Nat; var l, m: List(Nat); c: Bool; n: Nat; \
         eqn f(if(c, l, m)) = if(c, f(l), f(m)); f(l ++ m) = f(l) + f(m); f([]) = 0; g(n, n == n) = 1; g(1 + 1, true) = 2; \
         init delta;",
    )
    .expect("accepted");
    assert_eq!(model.functions[0].clauses.len(), 1);
    assert_eq!(model.functions[1].clauses.len(), 1, "a closed expression is compared by value");
}
