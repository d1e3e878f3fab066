//! Messages about mistakes in expressions.

use crate::check_spec;

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
