//! Random specifications in a style that relies on data: messages, queues, sets, bags and tables as parameters, sums that
//! data bounds, receivers that look at what they are sent, and operators around groups of processes.

use crate::random::Random;
use crate::{ALL, Agreement, agrees};
use std::fmt::Write;

const DECLARATIONS: &str = "\
sort D = struct d1 | d2;
     M = struct none?is_none | msg(to: Nat, what: D)?is_msg | pack(load: List(D))?is_pack;
map  other: D -> D;
     short, rev: List(D) -> List(D);
     weight: M -> Nat;
     few: Bag(D) -> Bag(D);
var  d, e: D; l: List(D); k: Nat; c: Bag(D);
eqn  other(d1) = d2;  other(d2) = d1;
     #l < 3 -> short(l) = l;
     #l >= 3 -> short(l) = short(tail(l));
     rev([]) = [];  rev(d |> l) = rev(l) <| d;
     weight(none) = 0;  weight(msg(k, d)) = if(d == d1, k, (k + 1) mod 3);  weight(pack([])) = 1;
     weight(pack(d |> l)) = weight(msg(#l, d));
     few(c) = {e: D | min(count(e, c), 2)};
act  a, k;  f, sd, rd, cd: D;  h: Nat # Bool;  p, sn, rn, cn: Nat;  t: Set(Nat);  u: Bag(D);  z, sm, rm, cm: M;
     y, sl, rl, cl: List(D);  w: Bool -> Nat;
";

#[derive(Clone, Copy, PartialEq, Debug)]
enum Sort {
    Bool,
    D,
    Nat,
    List,
    Set,
    Bag,
    Message,
    Table,
}

use Sort::{Bag, Bool, D, List, Message, Nat, Set, Table};

const PARAMETERS: [(&str, Sort); 7] =
    [("x", D), ("n", Nat), ("q", List), ("v", Set), ("b", Bag), ("m", Message), ("g", Table)];

type Scope = Vec<(&'static str, Sort)>;

/// The scope inside of a variable's binder, where no other of its name is seen.
fn inside(scope: &Scope, name: &'static str, sort: Sort) -> Scope {
    let others = scope.iter().copied().filter(|v| v.0 != name);
    others.chain([(name, sort)]).collect()
}

struct Generator {
    r: Random,
}

impl Generator {
    /// An expression of a sort whose numbers are below 3, whose lists have at most two elements, and so on.
    fn expr(&mut self, sort: Sort, depth: usize, scope: &Scope) -> String {
        let vars: Vec<&str> = scope.iter().filter(|v| v.1 == sort).map(|v| v.0).collect();
        if depth == 0 || self.r.below(5) == 0 {
            let constants: &[&str] = match sort {
                Bool => &["true", "false"],
                D => &["d1", "d2"],
                Nat => &["0", "1", "2"],
                List => &["[]", "[d1]", "[d2, d1]"],
                Set => &["{0}", "{2, 1}"],
                Bag => &["{d1: 1}", "{d2: 2, d1: 1}"],
                Message => &["none", "msg(1, d1)", "pack([d2])"],
                Table => &["(lambda d: D. 1)"],
            };
            let variable = !vars.is_empty() && self.r.below(4) > 0;
            return if variable { self.r.of(&vars) } else { self.r.of(constants) }.to_owned();
        }
        let mut of = |sort| self.expr(sort, depth - 1, scope);
        let (one, two) = (of(sort), of(sort));
        let (flag, d, n, list) = (of(Bool), of(D), of(Nat), of(List));
        let (set, bag, message, table) = (of(Set), of(Bag), of(Message), of(Table));
        if self.r.below(6) == 0 {
            return format!("if({flag}, {one}, {two})");
        }
        match (sort, self.r.below(8)) {
            (Bool, 0) => format!("({d} == {})", self.expr(D, depth - 1, scope)),
            (Bool, 1) => {
                format!("({n} {} {})", self.r.of(&["<", "<=", "!="]), self.expr(Nat, depth - 1, scope))
            }
            (Bool, 2) => format!("({d} in {list} && {one})"),
            (Bool, 3) => format!("({n} in {set} || !{one})"),
            (Bool, 4) => {
                format!("{}({message})", self.r.of(&["is_none", "is_msg", "is_pack"]))
            }
            (Bool, 5) => {
                let inner = self.expr(Bool, depth - 1, &inside(scope, "i", Nat));
                format!("(exists i: Nat. i < 3 && {inner})")
            }
            (Bool, 6) => {
                let inner = self.expr(Bool, depth - 1, &inside(scope, "d", D));
                format!("(forall d: D. {inner} => {one})")
            }
            (Bool, _) => {
                format!("({list} {} {})", self.r.of(&["==", "<"]), self.expr(List, depth - 1, scope))
            }
            (D, 0..2) => format!("other({d})"),
            (D, 2..4) => format!("if({list} == [], {d}, head({list}))"),
            (D, 4) => format!("if(is_msg({message}), what({message}), {d})"),
            (D, 5) => format!("(e whr e = other({d}) end)"),
            (D, _) => format!("if(#{list} == 2, {list} . 1, {d})"),
            (Nat, 0) => format!("(({n} + {one}) mod 3)"),
            (Nat, 1) => format!("#{list}"),
            (Nat, 2) => format!("min(count({d}, {bag}), 2)"),
            (Nat, 3) => format!("{table}({d})"),
            (Nat, 4) => format!("abs({n} - {two})"),
            (Nat, 5) => format!("weight({message})"),
            (Nat, 6) => {
                let inner = self.expr(Nat, depth - 1, &inside(scope, "i", Nat));
                format!("({inner} whr i = {two} end)")
            }
            (Nat, _) => format!("(lambda i: Nat. abs(2 - i))({one})"),
            (List, 0..2) => format!("short({d} |> {list})"),
            (List, 2) => format!("short({list} ++ {two})"),
            (List, 3) => format!("short({list} <| {d})"),
            (List, 4) => format!("if({list} == [], {two}, tail({list}))"),
            (List, 5) => format!("if(is_pack({message}), load({message}), {two})"),
            (List, _) => format!("rev({list})"),
            (Set, 0) => format!("({set} + {{{n}}})"),
            (Set, 1) => format!("({set} - {{{n}, 0}})"),
            (Set, 2) => format!("({set} {} {two})", self.r.of(&["+", "*", "-"])),
            (Set, 3) => format!("(!{set} * {{0, 1, 2}})"),
            (Set, _) => {
                let inner = self.expr(Bool, depth - 1, &inside(scope, "i", Nat));
                format!("({{0, 1, 2}} * {{i: Nat | {inner}}})")
            }
            (Bag, 0) => format!("few({bag} + {{{d}: {n}}})"),
            (Bag, 1) => format!("({bag} {} {two})", self.r.of(&["-", "*"])),
            (Bag, 2) => format!("few({bag} + {two})"),
            (Bag, _) => {
                let inner = self.expr(Nat, depth - 1, &inside(scope, "d", D));
                format!("{{d: D | {inner}}}")
            }
            (Message, 0..3) => format!("msg({n}, {d})"),
            (Message, 3..5) => format!("pack({list})"),
            (Message, _) => format!("if(is_msg({message}), msg(to({message}), {d}), {two})"),
            (Table, 0..4) => format!("{table}[{d} -> {n}]"),
            (Table, _) => {
                let inner = self.expr(Nat, depth - 1, &inside(scope, "d", D));
                format!("(lambda d: D. {inner})")
            }
        }
    }

    /// A visible action or one that is sent.
    fn action(&mut self, scope: &Scope) -> String {
        let (name, sort) = match self.r.below(14) {
            0 => return self.r.of(&["a", "k", "tau", "a|k"]).to_owned(),
            1 => return format!("h({}, {})", self.expr(Nat, 1, scope), self.expr(Bool, 1, scope)),
            2 => ("f", D),
            3 => ("p", Nat),
            4 => ("t", Set),
            5 => ("u", Bag),
            6 => ("z", Message),
            7 => ("y", List),
            8 => ("sd", D),
            9 | 10 => ("sn", Nat),
            11 | 12 => ("sm", Message),
            _ => ("sl", List),
        };
        let more = self.r.of(&["", "", "", "a|"]);
        format!("{more}{name}({})", self.expr(sort, 2, scope))
    }

    /// An action that needs no partner.
    fn seen(&mut self, scope: &Scope) -> String {
        loop {
            let action = self.action(scope);
            if ["sd(", "sn(", "sm(", "sl("].iter().all(|sent| !action.contains(sent)) {
                return action;
            }
        }
    }

    /// A call that changes few parameters.
    fn call(&mut self, scope: &Scope) -> String {
        let process = self.r.below(3);
        let mut changes: Vec<String> = Vec::new();
        for _ in 0..self.r.below(3) {
            let (name, sort) = PARAMETERS[self.r.below(PARAMETERS.len())];
            if changes.iter().all(|c| !c.starts_with(&format!("{name} ="))) {
                changes.push(format!("{name} = {}", self.expr(sort, 2, scope)));
            }
        }
        format!("P{process}({})", changes.join(", "))
    }

    /// A sum, with what bounds it: a condition or a partner.
    fn sum(&mut self, depth: usize, scope: &Scope) -> String {
        // What bounds the variable must not speak of it.
        let outer: Scope = scope.iter().copied().filter(|v| v.0 != "j").collect();
        let (var, sort, bound) = match self.r.below(10) {
            0 => ("j: D", D, String::new()),
            1 => ("j: Nat", Nat, format!("(j < {}) -> ", self.expr(Nat, 1, &outer))),
            2 => ("j: Nat", Nat, format!("(j in {}) -> ", self.expr(Set, 1, &outer))),
            3 => ("j: Nat", Nat, format!("({} == j) -> ", self.expr(Nat, 1, &outer))),
            4 => ("j: Nat", Nat, format!("(exists d: D. {}(d) == j) -> ", self.expr(Table, 1, &outer))),
            5 => ("j: D", D, format!("(j in {}) -> ", self.expr(List, 1, &outer))),
            _ => {
                let (var, sort, name) = match self.r.below(4) {
                    0 => ("j: D", D, "rd"),
                    1 => ("j: Nat", Nat, "rn"),
                    2 => ("j: M", Message, "rm"),
                    _ => ("j: List(D)", List, "rl"),
                };
                let inner = inside(scope, "j", sort);
                let only = match (sort, self.r.below(3)) {
                    (_, 0) => String::new(),
                    (Message, 1) => "(is_msg(j) && to(j) == n) -> ".to_owned(),
                    _ => format!("({}) -> ", self.expr(Bool, 1, &inner)),
                };
                return format!("(sum {var}. {only}{name}(j) . {})", self.after(depth, &inner));
            }
        };
        format!("(sum {var}. {bound}{})", self.steps(depth, &inside(scope, "j", sort)))
    }

    fn after(&mut self, depth: usize, scope: &Scope) -> String {
        if depth > 0 && self.r.below(4) == 0 { self.steps(depth - 1, scope) } else { self.call(scope) }
    }

    fn steps(&mut self, depth: usize, scope: &Scope) -> String {
        if depth == 0 {
            return format!("{} . {}", self.action(scope), self.call(scope));
        }
        match self.r.below(6) {
            0 | 1 => self.sum(depth - 1, scope),
            2 => {
                let (yes, no) = (self.steps(depth - 1, scope), self.steps(depth - 1, scope));
                format!("(({}) -> {yes} <> {no})", self.expr(Bool, 2, scope))
            }
            3 => format!("(({}) -> {})", self.expr(Bool, 2, scope), self.steps(depth - 1, scope)),
            4 => format!("({} + {})", self.steps(depth - 1, scope), self.steps(depth - 1, scope)),
            _ => format!("{} . {}", self.action(scope), self.after(depth, scope)),
        }
    }
}

/// What may be seen; what is sent and received never is.
const SEEN: &str = "a, k, a|k, f, h, p, t, u, z, y, a|f, a|z, cd, cn, cm, cl, a|cd, a|cm, a|cn, f|p, cn|cn";

pub fn specification(seed: u64) -> String {
    let mut g = Generator { r: Random(seed) };
    let mut out = String::from(DECLARATIONS);
    let parameters = "x: D, n: Nat, q: List(D), v: Set(Nat), b: Bag(D), m: M, g: D -> Nat";
    out.push_str("proc\n");
    for process in 0..3 {
        let scope = PARAMETERS.to_vec();
        let (one, two) = (g.sum(1, &scope), g.steps(2, &scope));
        let (seen, next) = (g.seen(&scope), g.call(&scope));
        writeln!(out, "  P{process}({parameters}) = {one} + {two} + {seen} . {next};")
            .expect("strings take everything");
    }
    let start = |g: &mut Generator| {
        let arguments: Vec<String> = PARAMETERS.iter().map(|p| g.expr(p.1, 1, &vec![])).collect();
        format!("P{}({})", g.r.below(3), arguments.join(", "))
    };
    let pair = format!("{} || {}", start(&mut g), start(&mut g));
    let rules = "sd|rd -> cd, sn|rn -> cn, sm|rm -> cm, sl|rl -> cl";
    // Some talk inside, and what they said is hidden or has another name further out.
    let inner = match g.r.below(4) {
        0 => pair,
        1 => format!("hide({{cn, k}}, allow({{{SEEN}, sd, sn}}, comm({{{rules}}}, {pair})))"),
        2 => format!("rename({{cd -> f, p -> sn, cm -> z}}, comm({{{rules}}}, {pair}))"),
        _ => format!("block({{sm, rm, k}}, comm({{sm|rm -> cm}}, {pair}))"),
    };
    let third = if g.r.below(2) == 0 { format!(" || {}", start(&mut g)) } else { String::new() };
    let whole = format!("allow({{{SEEN}}}, comm({{{rules}}}, {inner}{third}))");
    let init = match g.r.below(3) {
        0 => format!("hide({{cl, cm}}, {whole})"),
        1 => format!("rename({{cn -> p, cl -> y}}, {whole})"),
        _ => whole,
    };
    writeln!(out, "init {init};").expect("strings take everything");
    out
}

/// A share of these always runs, more with `GRIDLOCK_SLOW`, and as many as `GRIDLOCK_RICH` says.
#[test]
fn random_specifications_with_rich_data() {
    let rounds = match std::env::var("GRIDLOCK_RICH") {
        Ok(text) => text.parse().expect("GRIDLOCK_RICH is a number"),
        Err(_) if std::env::var_os("GRIDLOCK_SLOW").is_some() => 1_000,
        Err(_) => 30,
    };
    let (mut compared, mut moving) = (0, 0);
    for seed in 0..rounds {
        let text = specification(seed);
        let modes = &ALL[(seed % 3) as usize..][..1];
        if let Agreement::Equal(lts) = agrees(&text, &format!("seed {seed}"), 60, modes) {
            compared += 1;
            moving += u64::from(lts.num_transitions() > 5);
        }
    }
    println!("{compared} of {rounds} specifications compared, {moving} of them move");
    assert!(compared * 3 > rounds, "too many specifications were too large: {compared} of {rounds}");
    assert!(moving * 2 > compared, "too few specifications do much: {moving} of {compared}");
}
