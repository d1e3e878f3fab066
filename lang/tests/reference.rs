//! The network against a naive reading of the semantics, on random specifications.
//!
//! The reference knows nothing of leaves, rules, summands or tables: a state is a closed process expression, a step is
//! found by structural recursion, a sum runs through its values, communication tries all partners. Only the evaluation
//! of closed data expressions is shared. Both state spaces must be strongly bisimilar.

use gridlock_lang::check::check;
use gridlock_lang::data::compile::{Compiler, Scope};
use gridlock_lang::data::eval::{Evaluator, new_frame};
use gridlock_lang::data::print::{expr_text, value_text};
use gridlock_lang::data::value::{Number, Value};
use gridlock_lang::model::{ActName, Expr, ExprKind, Model, Proc, ProcKind, SortDef, SortId, Symbol, VarId};
use gridlock_lang::process::substitute::{Substitution, in_proc};
use gridlock_lang::syntax::parse;
use gridlock_lang::system::{Options, Tables, load};
use gridlock_lts::engine::explore::{self, explore};
use gridlock_lts::model::equivalence::{Comparison, Equivalence, compare};
use gridlock_lts::model::explicit::{Builder, Lts, State};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// An action with values, as the reference sees it.
type Action = (ActName, Vec<Value>);

struct Reference {
    model: Arc<Model>,
    ev: Evaluator,
}

impl Reference {
    fn eval(&self, e: &Expr) -> Value {
        let mut scope = Scope::default();
        let code = Compiler::numbering_from(&self.model, self.ev.lambdas).expr(e, &mut scope);
        self.ev.begin();
        self.ev.eval(&code, &mut new_frame(scope.size())).expect("generated data always has a value")
    }

    /// `None` is successful termination.
    fn steps(&self, p: &Proc) -> Vec<(Vec<Action>, Option<Proc>)> {
        match &p.kind {
            ProcKind::Delta => vec![],
            ProcKind::Multi(acts) => {
                let acts =
                    acts.iter().map(|a| (a.name, a.args.iter().map(|e| self.eval(e)).collect())).collect();
                vec![(sorted(acts), None)]
            }
            ProcKind::Call(id, args) => {
                let def = &self.model.processes[id.ix()];
                let args = args.iter().map(|e| literal(&self.eval(e), e));
                let map: Substitution = def.params.iter().copied().zip(args).collect();
                self.steps(&in_proc(&def.body, &map))
            }
            ProcKind::Choice(ps) => ps.iter().flat_map(|p| self.steps(p)).collect(),
            ProcKind::Seq(ps) => {
                let rest = ps[1..].to_vec();
                let then = |next: Option<Proc>| {
                    let mut all: Vec<Proc> = next.into_iter().collect();
                    all.extend(rest.clone());
                    Some(if all.len() == 1 {
                        all.remove(0)
                    } else {
                        Proc { kind: ProcKind::Seq(all), span: p.span }
                    })
                };
                self.steps(&ps[0]).into_iter().map(|(a, next)| (a, then(next))).collect()
            }
            ProcKind::Sum(vars, body) => self.sum(vars, body),
            ProcKind::Condition(c, yes, no) => match (self.eval(c), no) {
                (Value::Bool(true), _) => self.steps(yes),
                (Value::Bool(false), Some(no)) => self.steps(no),
                (Value::Bool(false), None) => vec![],
                (other, _) => panic!("a condition became {other:?}"),
            },
            ProcKind::Parallel(ps) => {
                let (first, rest) = ps.split_first().expect("not empty");
                if rest.is_empty() {
                    return self.steps(first);
                }
                let rest = Proc { kind: ProcKind::Parallel(rest.to_vec()), span: p.span };
                self.merge(first, &rest)
            }
            ProcKind::LeftMerge(a, b) => {
                self.steps(a).into_iter().map(|(x, next)| (x, beside(next, Some((**b).clone())))).collect()
            }
            ProcKind::Sync(a, b) => self.both(a, b),
            _ => self.operator(p),
        }
    }

    fn sum(&self, vars: &[VarId], body: &Proc) -> Vec<(Vec<Action>, Option<Proc>)> {
        let Some((first, rest)) = vars.split_first() else { return self.steps(body) };
        let var = &self.model.vars[first.ix()];
        let sort = var.sort;
        let as_expr = Expr { kind: ExprKind::Var(*first), sort, span: var.span };
        self.values(sort)
            .into_iter()
            .flat_map(|v| {
                let map: Substitution = [(*first, literal(&v, &as_expr))].into_iter().collect();
                self.sum(rest, &in_proc(body, &map))
            })
            .collect()
    }

    /// Numbers of generated specifications stay below 3, so a few of them stand for all.
    fn values(&self, sort: SortId) -> Vec<Value> {
        match &self.model.sorts[sort.ix()] {
            SortDef::Nat => (0..5).map(Value::int).collect(),
            _ => (*self.ev.sorts.values(&self.model, sort).expect("finite")).clone(),
        }
    }

    fn merge(&self, a: &Proc, b: &Proc) -> Vec<(Vec<Action>, Option<Proc>)> {
        let mut all = Vec::new();
        for (x, next) in self.steps(a) {
            all.push((x, beside(next, Some(b.clone()))));
        }
        for (y, next) in self.steps(b) {
            all.push((y, beside(Some(a.clone()), next)));
        }
        all.extend(self.both(a, b));
        all
    }

    fn both(&self, a: &Proc, b: &Proc) -> Vec<(Vec<Action>, Option<Proc>)> {
        let mut all = Vec::new();
        for (x, p) in self.steps(a) {
            for (y, q) in self.steps(b) {
                all.push((sorted([&x[..], &y[..]].concat()), beside(p.clone(), q)));
            }
        }
        all
    }

    fn operator(&self, p: &Proc) -> Vec<(Vec<Action>, Option<Proc>)> {
        let (inner, change): (&Proc, Box<dyn Fn(Vec<Action>) -> Option<Vec<Action>>>) = match &p.kind {
            ProcKind::Block(names, q) => {
                (q, Box::new(move |a| (!a.iter().any(|x| names.contains(&x.0))).then_some(a)))
            }
            ProcKind::Hide(names, q) => {
                (q, Box::new(move |a| Some(a.into_iter().filter(|x| !names.contains(&x.0)).collect())))
            }
            ProcKind::Rename(pairs, q) => (
                q,
                Box::new(move |a| {
                    let new = |n: ActName| pairs.iter().find(|p| p.0 == n).map_or(n, |p| p.1);
                    Some(sorted(a.into_iter().map(|(n, args)| (new(n), args)).collect()))
                }),
            ),
            ProcKind::Allow(sets, q) => (
                q,
                Box::new(move |a| {
                    let mut names: Vec<ActName> = a.iter().map(|x| x.0).collect();
                    names.sort();
                    (names.is_empty() || sets.contains(&names)).then_some(a)
                }),
            ),
            ProcKind::Comm(rules, q) => (q, Box::new(move |a| Some(communicate(a, rules)))),
            other => unreachable!("not an operator: {other:?}"),
        };
        let again = |q: Proc| {
            let q = Box::new(q);
            let kind = match &p.kind {
                ProcKind::Block(n, _) => ProcKind::Block(n.clone(), q),
                ProcKind::Hide(n, _) => ProcKind::Hide(n.clone(), q),
                ProcKind::Rename(n, _) => ProcKind::Rename(n.clone(), q),
                ProcKind::Allow(n, _) => ProcKind::Allow(n.clone(), q),
                ProcKind::Comm(n, _) => ProcKind::Comm(n.clone(), q),
                _ => unreachable!("checked above"),
            };
            Proc { kind, span: p.span }
        };
        self.steps(inner).into_iter().filter_map(|(a, next)| Some((change(a)?, next.map(&again)))).collect()
    }

    fn text(&self, p: &Proc) -> String {
        let list = |ps: &[Proc], sign: &str| {
            format!("({})", ps.iter().map(|p| self.text(p)).collect::<Vec<_>>().join(sign))
        };
        match &p.kind {
            ProcKind::Multi(acts) => {
                let mut out = String::from("@");
                for a in acts {
                    let args: Vec<String> = a.args.iter().map(|e| expr_text(&self.model, e)).collect();
                    write!(out, "|{}({})", a.name.0, args.join(",")).expect("strings take everything");
                }
                out
            }
            ProcKind::Delta => "delta".into(),
            ProcKind::Call(id, args) => {
                let args: Vec<String> = args.iter().map(|e| value_or_text(self, e)).collect();
                format!("P{}({})", id.0, args.join(","))
            }
            ProcKind::Choice(ps) => list(ps, "+"),
            ProcKind::Seq(ps) => list(ps, "."),
            ProcKind::Parallel(ps) => list(ps, "||"),
            ProcKind::LeftMerge(a, b) => format!("({}||_{})", self.text(a), self.text(b)),
            ProcKind::Sync(a, b) => format!("({}|{})", self.text(a), self.text(b)),
            ProcKind::Sum(vs, b) => format!("sum{vs:?}{}", self.text(b)),
            ProcKind::Condition(c, p, q) => format!(
                "({}->{}<>{})",
                expr_text(&self.model, c),
                self.text(p),
                q.as_ref().map_or(String::new(), |q| self.text(q))
            ),
            ProcKind::Block(n, p) => format!("block({n:?},{})", self.text(p)),
            ProcKind::Hide(n, p) => format!("hide({n:?},{})", self.text(p)),
            ProcKind::Rename(n, p) => format!("rename({n:?},{})", self.text(p)),
            ProcKind::Allow(n, p) => format!("allow({n:?},{})", self.text(p)),
            ProcKind::Comm(n, p) => format!("comm({n:?},{})", self.text(p)),
        }
    }

    fn label(&self, acts: &[Action]) -> String {
        // No name of a generated action is a prefix of another, so sorting texts sorts by name and arguments.
        let mut parts: Vec<String> = acts
            .iter()
            .map(|(name, args)| {
                let name = &self.model.action_names[name.ix()];
                let args: Vec<String> = args.iter().map(|v| value_text(&self.model, v)).collect();
                if args.is_empty() { name.to_string() } else { format!("{name}({})", args.join(", ")) }
            })
            .collect();
        parts.sort();
        if parts.is_empty() { "tau".into() } else { parts.join("|") }
    }

    /// The state space, or `None` if it has more than `limit` states.
    fn explore(&self, limit: usize) -> Option<Lts> {
        let mut builder = Builder::new();
        let mut states: Vec<Option<Proc>> = vec![self.model.init.clone()];
        let mut ids: HashMap<String, u32> = HashMap::from([(self.key(&states[0]), 0)]);
        let mut dead = None;
        let mut at = 0;
        while at < states.len() {
            let from = State(at as u32);
            match states[at].clone() {
                None if dead == Some(at) => {}
                None => {
                    let to = *dead.get_or_insert_with(|| {
                        states.push(None);
                        states.len() - 1
                    });
                    let label = builder.label("Terminate");
                    builder.add(from, label, State(to as u32));
                }
                Some(p) => {
                    for (acts, next) in self.steps(&p) {
                        let fresh = states.len() as u32;
                        let to = *ids.entry(self.key(&next)).or_insert(fresh);
                        if to == fresh {
                            states.push(next);
                        }
                        let label = builder.label(&self.label(&acts));
                        builder.add(from, label, State(to));
                    }
                }
            }
            at += 1;
            if states.len() > limit {
                return None;
            }
        }
        builder.require_states(states.len() as u32);
        Some(builder.finish(State(0)))
    }

    fn key(&self, p: &Option<Proc>) -> String {
        p.as_ref().map_or("done".into(), |p| self.text(p))
    }
}

fn value_or_text(r: &Reference, e: &Expr) -> String {
    let mut free = Vec::new();
    gridlock_lang::data::compile::free_vars(e, &mut free);
    if free.is_empty() { value_text(&r.model, &r.eval(e)) } else { expr_text(&r.model, e) }
}

fn beside(a: Option<Proc>, b: Option<Proc>) -> Option<Proc> {
    match (a, b) {
        (None, p) | (p, None) => p,
        (Some(a), Some(b)) => {
            let span = a.span;
            Some(Proc { kind: ProcKind::Parallel(vec![a, b]), span })
        }
    }
}

fn sorted(mut acts: Vec<Action>) -> Vec<Action> {
    acts.sort();
    acts
}

/// Communication by trying every choice of partners until nothing fits any more.
fn communicate(mut acts: Vec<Action>, rules: &[(Vec<ActName>, ActName)]) -> Vec<Action> {
    let mut results = Vec::new();
    'again: loop {
        for (left, to) in rules {
            for (first, candidate) in acts.iter().enumerate().filter(|(_, a)| a.0 == left[0]) {
                let mut taken = vec![first];
                for name in &left[1..] {
                    let partner = (0..acts.len())
                        .find(|i| !taken.contains(i) && acts[*i].0 == *name && acts[*i].1 == candidate.1);
                    taken.extend(partner);
                }
                if taken.len() == left.len() {
                    results.push((*to, candidate.1.clone()));
                    acts = acts
                        .into_iter()
                        .enumerate()
                        .filter(|(i, _)| !taken.contains(i))
                        .map(|(_, a)| a)
                        .collect();
                    continue 'again;
                }
            }
        }
        acts.extend(results);
        return sorted(acts);
    }
}

fn literal(value: &Value, like: &Expr) -> Expr {
    let kind = match value {
        Value::Bool(b) => ExprKind::Bool(*b),
        Value::Number(Number::Small(n)) => ExprKind::Number((*n).into()),
        Value::Ctor(c, args) if args.is_empty() => ExprKind::Symbol(Symbol::Ctor(*c)),
        other => panic!("generated specifications do not have the value {other:?}"),
    };
    Expr { kind, sort: like.sort, span: like.span }
}

/// A small deterministic generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn of<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

/// A random specification: a few sequential processes with data, composed in parallel under random operators.
fn specification(seed: u64) -> String {
    let mut r = Random(seed);
    let mut out = String::from(
        "sort D = struct d1 | d2;\nact a, b, c, k; e, f, g: D; s, q, w: Nat; h: Nat # Bool;\nproc\n",
    );
    for p in 0..3 {
        let more = if r.below(2) == 0 { format!(" + {}", body(&mut r, 1)) } else { String::new() };
        writeln!(out, "  P{p}(x: D, n: Nat) = {}{more};", body(&mut r, 2)).expect("strings take everything");
    }
    let leaves = 2 + r.below(2);
    let mut init = (0..leaves)
        .map(|_| format!("P{}({}, {})", r.below(3), r.of(&["d1", "d2"]), r.below(3)))
        .collect::<Vec<_>>()
        .join(" || ");
    // Many short processes: here several communications happen at once.
    if r.below(3) == 0 {
        let short = |r: &mut Random| {
            let send = format!("{} . {}", action(r, "d1", "1"), action(r, "d2", "0"));
            if r.below(3) == 0 { format!("(sum m: Nat. q(m) . {send})") } else { format!("({send})") }
        };
        init = (0..4).map(|_| short(&mut r)).collect::<Vec<_>>().join(" || ");
    } else if r.below(4) == 0 {
        init = format!("hide({{b}}, {init}) || {}", r.of(&["a.c", "f(d1)", "b.delta", "tau.a"]));
    }
    // `q` receives any number: it must never be visible alone.
    let comm =
        r.of(&["s|q -> w, a|b -> c", "s|q -> w, e|f -> g", "s|q -> w, a|a -> k", "s|q -> w, a|b|c -> k"]);
    let allow = r.of(&[
        "a, b, c, e, f, g, w, h, k",
        "a, c, a|a, g, w, w|w, h, k",
        "c, e, f, e|f, w, h|w, a|c, k, a|k",
        "a, b, e|e, g, w|c, w, h, k|k, k",
        "w|w, c|c, k|k, g|g, a|w, s|s",
    ]);
    init = format!("allow({{{allow}}}, comm({{{comm}}}, {init}))");
    init = match r.below(5) {
        0 => format!("hide({{c, w}}, {init})"),
        1 => format!("rename({{a -> b, w -> s}}, {init})"),
        2 => format!("block({{k}}, {init})"),
        3 => format!("hide({{g}}, rename({{e -> f}}, {init}))"),
        _ => init,
    };
    writeln!(out, "init {init};").expect("strings take everything");
    out
}

fn body(r: &mut Random, depth: usize) -> String {
    let choices = if depth == 0 { 4 } else { 9 };
    match r.below(choices) {
        0 | 1 => format!("{} . {}", action(r, "x", "n"), next(r, depth)),
        2 => format!("sum y: D. {}(y) . P{}(y, n)", r.of(&["e", "f", "g"]), r.below(3)),
        3 => format!("sum m: Nat. q(m) . P{}(x, m)", r.below(3)),
        4 => format!("({} + {})", body(r, depth - 1), body(r, depth - 1)),
        5 => format!("(x == d1) -> ({}) <> ({})", body(r, depth - 1), body(r, depth - 1)),
        6 => format!("(n > {}) -> ({})", r.below(2), body(r, depth - 1)),
        7 => format!(
            "sum m: Nat. (m < {}) -> h(m, x == d2) . P{}(x, (n + m) mod 3)",
            1 + r.below(3),
            r.below(3)
        ),
        _ => format!("({} + {}) . {}", action(r, "x", "n"), action(r, "d2", "0"), next(r, depth)),
    }
}

fn action(r: &mut Random, x: &str, n: &str) -> String {
    match r.below(7) {
        0 => r.of(&["a", "b", "c", "k"]).to_owned(),
        1 => format!("{}({x})", r.of(&["e", "f"])),
        2 | 3 => format!("s({n})"),
        4 => format!("a|e({x})"),
        5 => "tau".to_owned(),
        _ => "(a + b)".to_owned(),
    }
}

fn next(r: &mut Random, depth: usize) -> String {
    match r.below(if depth == 0 { 5 } else { 7 }) {
        0..=2 => format!("P{}(x, (n + {}) mod 3)", r.below(3), r.below(3)),
        3 => format!("P{}({}, n)", r.below(3), r.of(&["d1", "d2", "if(x == d1, d2, d1)"])),
        4 => r.of(&["delta", "a", "b . c"]).to_owned(),
        5 => format!("({})", body(r, depth - 1)),
        _ => format!("({} || {})", r.of(&["a", "b", "e(x)"]), r.of(&["c", "f(x)", "a . b"])),
    }
}

fn gridlock(text: &str, tables: Tables) -> Lts {
    let options = Options { tables, warm_up: 200, ..Options::default() };
    let mut system =
        load(text, "random", &options, &mut |_| true).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let source: Option<&mut dyn gridlock_lts::model::network::TableSource> =
        if system.closed { None } else { Some(&mut system.builder) };
    let options = explore::Options { max_states: 100_000, progress: &mut |_| true };
    explore(&mut system.network, source, options).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

/// Compares the network with the reference in every table mode; `None` if the reference is too large.
fn check_against_reference(text: &str, what: &str, limit: usize) -> Option<usize> {
    let model = Arc::new(check(&parse(text).expect("syntax")).unwrap_or_else(|e| panic!("{e:?}\n{text}")));
    let reference = Reference { ev: Evaluator::new(model.clone(), 1_000_000), model };
    let expected = reference.explore(limit)?;
    for tables in [Tables::Auto, Tables::AheadOfTime, Tables::OnDemand] {
        let found = gridlock(text, tables);
        let verdict = compare(&expected, &found, Equivalence::Strong).expect("small");
        assert!(
            matches!(verdict, Comparison::Equal),
            "{what}, {tables:?}: {verdict:?}\nreference {} states, network {}\n{text}",
            expected.num_states(),
            found.num_states()
        );
    }
    Some(expected.num_states())
}

/// What is demanded outside must reach what is inside, through every operator.
#[test]
fn names_used_again_at_several_depths() {
    let inits = [
        // A name that is renamed away has no source inside; the rest of its pattern stays.
        "allow({c}, comm({s|r->c}, s.delta || rename({s->r}, s.delta)))",
        "allow({a}, rename({a->b, b->a}, a.delta || b.delta))",
        "allow({c|c}, rename({a->c, b->c}, a.delta || b.delta || c.delta))",
        // A communication result that is a left-hand side further out.
        "allow({r}, comm({c|s->r}, comm({s|r->c}, s.delta || r.delta) || s.delta))",
        // Forbidden outside, used up inside; forbidden outside, hidden inside.
        "block({s}, comm({s|r->c}, s.delta || r.delta))",
        "block({s, c}, comm({s|r->c}, s.delta || r.delta) || a.delta)",
        "block({s}, hide({s}, s.a.delta) || s.delta)",
        "block({a}, rename({a->b}, a.delta || b.delta) || a.delta)",
        "block({b}, rename({a->b, b->c}, a.delta || b.delta))",
        // Free outside, renamed or communicating inside.
        "allow({a}, hide({c}, a.delta || comm({s|r->c}, s.delta || r.delta)))",
        "allow({a}, hide({c}, rename({s->c, c->a}, s.delta || c.delta)))",
        "allow({}, hide({c}, comm({a|a->c}, a.delta || a.delta || a.delta)))",
    ];
    for init in inits {
        let text = format!("act a, b, c, r, s;\ninit {init};\n");
        check_against_reference(&text, init, 100).expect("small");
    }
}

#[test]
fn random_specifications_agree_with_the_naive_semantics() {
    let rounds = if std::env::var_os("GRIDLOCK_SLOW").is_some() { 2000 } else { 150 };
    let mut compared = 0;
    let mut sizes = Vec::new();
    for seed in 0..rounds {
        let text = specification(seed);
        let Some(states) = check_against_reference(&text, &format!("seed {seed}"), 200) else { continue };
        compared += 1;
        sizes.push(states);
    }
    sizes.sort_unstable();
    assert!(compared * 3 > rounds as usize, "too many specifications were too large: {compared} of {rounds}");
    assert!(sizes[sizes.len() * 9 / 10] >= 10, "the specifications are too small to mean much: {sizes:?}");
}
