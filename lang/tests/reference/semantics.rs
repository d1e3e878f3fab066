//! A naive reading of the semantics: steps by structural recursion over closed process expressions.
//!
//! It builds every multi-action of a parallel composition bottom-up and applies each operator to it as the language
//! defines it. It knows nothing of leaves, rules, demands, summands or tables; only the evaluation of closed data
//! expressions is shared.

use gridlock_lang::data::compile::{Compiler, Scope};
use gridlock_lang::data::eval::{Evaluator, new_frame};
use gridlock_lang::data::print::{expr_text, value_text};
use gridlock_lang::data::value::{List, Number, Set, Value};
use gridlock_lang::model::{
    ActName, CtorId, Expr, ExprKind, Model, Proc, ProcKind, SortDef, SortId, Symbol, VarId,
};
use gridlock_lang::process::substitute::{Substitution, in_expr};
use gridlock_lts::model::explicit::{Builder, Lts, State};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::Arc;

/// An action with values, as the reference sees it.
type Action = (ActName, Vec<Value>);

/// More steps than this of two processes together are not listed: the state space counts as too large.
const MOST_STEPS: usize = 100_000;

pub struct Reference {
    model: Arc<Model>,
    ev: Evaluator,
    /// A state had too many steps to list.
    too_large: Cell<bool>,
}

impl Reference {
    pub fn new(model: Arc<Model>) -> Self {
        Reference { ev: Evaluator::new(model.clone(), 1_000_000), model, too_large: Cell::new(false) }
    }

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
                let args = args.iter().map(|e| self.literal(&self.eval(e), e));
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
                match rest {
                    [] => self.steps(first),
                    [second] => self.merge(first, second),
                    _ => self.merge(first, &Proc { kind: ProcKind::Parallel(rest.to_vec()), span: p.span }),
                }
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
                let map: Substitution = [(*first, self.literal(&v, &as_expr))].into_iter().collect();
                self.sum(rest, &in_proc(body, &map))
            })
            .collect()
    }

    /// Numbers of generated specifications stay below 3, and lists have at most two elements, so a few of them stand for
    /// all.
    fn values(&self, sort: SortId) -> Vec<Value> {
        match &self.model.sorts[sort.ix()] {
            SortDef::Nat => (0..5).map(Value::int).collect(),
            SortDef::Pos => (1..5).map(Value::int).collect(),
            SortDef::List(element) => {
                let elements = self.values(*element);
                let longer = |lists: &[Vec<Value>]| -> Vec<Vec<Value>> {
                    lists
                        .iter()
                        .flat_map(|list| {
                            elements.iter().map(move |e| [&list[..], std::slice::from_ref(e)].concat())
                        })
                        .collect()
                };
                let one = longer(&[vec![]]);
                let lists = [vec![vec![]], longer(&one), one].concat();
                lists.into_iter().map(|list| Value::List(List::new(list))).collect()
            }
            SortDef::Named { constructors, .. } if self.ev.sorts.values(&self.model, sort).is_none() => {
                constructors.iter().flat_map(|c| self.constructed(*c)).collect()
            }
            _ => (*self.ev.sorts.values(&self.model, sort).expect("finite")).clone(),
        }
    }

    fn constructed(&self, constructor: CtorId) -> Vec<Value> {
        let mut all: Vec<Vec<Value>> = vec![vec![]];
        for field in &self.model.constructors[constructor.ix()].fields {
            let values = self.values(*field);
            all = all
                .iter()
                .flat_map(|args| values.iter().map(move |v| [&args[..], std::slice::from_ref(v)].concat()))
                .collect();
        }
        all.into_iter().map(|args| Value::Ctor(constructor, args.into())).collect()
    }

    /// A value as an expression; for what has no literals, such as functions, the expression that has it.
    fn literal(&self, value: &Value, like: &Expr) -> Expr {
        self.written(value, like.sort, like).unwrap_or_else(|| like.clone())
    }

    fn written(&self, value: &Value, sort: SortId, like: &Expr) -> Option<Expr> {
        let all = |values: &mut dyn Iterator<Item = &Value>, sort: SortId| -> Option<Vec<Expr>> {
            values.map(|value| self.written(value, sort, like)).collect()
        };
        let kind = match (value, &self.model.sorts[sort.ix()]) {
            (Value::Bool(b), _) => ExprKind::Bool(*b),
            (Value::Number(Number::Small(n)), _) => ExprKind::Number((*n).into()),
            (Value::Ctor(c, args), _) => {
                let symbol = ExprKind::Symbol(Symbol::Ctor(*c));
                if args.is_empty() {
                    symbol
                } else {
                    let fields = &self.model.constructors[c.ix()].fields;
                    let args: Option<Vec<Expr>> =
                        args.iter().zip(fields).map(|(arg, field)| self.written(arg, *field, like)).collect();
                    ExprKind::Apply(Box::new(Expr { kind: symbol, ..like.clone() }), args?)
                }
            }
            (Value::List(list), SortDef::List(element)) => ExprKind::List(all(&mut list.iter(), *element)?),
            (Value::Set(set), SortDef::Set(element) | SortDef::FSet(element)) => match &**set {
                Set::Finite(elements) => ExprKind::Set(all(&mut elements.iter(), *element)?),
                _ => return None,
            },
            _ => return None,
        };
        Some(Expr { kind, sort, span: like.span })
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
        let (left, right) = (self.steps(a), self.steps(b));
        if left.len() * right.len() > MOST_STEPS {
            self.too_large.set(true);
            return all;
        }
        for (x, p) in &left {
            for (y, q) in &right {
                all.push((sorted([&x[..], &y[..]].concat()), beside(p.clone(), q.clone())));
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
    pub fn explore(&self, limit: usize) -> Option<Lts> {
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
                    let steps = self.steps(&p);
                    if self.too_large.get() {
                        return None;
                    }
                    for (acts, next) in steps {
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

/// Communication: groups of actions with the names of a left-hand side and equal arguments are replaced, one after the
/// other, until there are none. Every order and every choice of partners is tried; all must lead to the same result.
fn communicate(acts: Vec<Action>, rules: &[(Vec<ActName>, ActName)]) -> Vec<Action> {
    let mut open = BTreeSet::from([(sorted(acts), Vec::new())]);
    let mut results = BTreeSet::new();
    while let Some((acts, done)) = open.pop_first() {
        let mut stuck = true;
        for (left, to) in rules {
            for group in groups(&acts, left) {
                stuck = false;
                let rest = (0..acts.len()).filter(|i| !group.contains(i)).map(|i| acts[i].clone()).collect();
                // What comes out does not communicate again under the same operator.
                let out = [&done[..], &[(*to, acts[group[0]].1.clone())]].concat();
                open.insert((rest, sorted(out)));
            }
        }
        if stuck {
            results.insert(sorted([acts, done].concat()));
        }
    }
    assert_eq!(results.len(), 1, "communication has one result");
    results.pop_first().expect("one")
}

/// All choices of positions with the given names, in this order, and equal arguments.
fn groups(acts: &[Action], names: &[ActName]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for name in names {
        let mut longer = Vec::new();
        for group in &all {
            for (i, act) in acts.iter().enumerate() {
                let fits = group.first().is_none_or(|first| acts[*first].1 == act.1);
                if act.0 == *name && fits && !group.contains(&i) {
                    longer.push([&group[..], &[i]].concat());
                }
            }
        }
        all = longer;
    }
    all
}

/// The process with values in the place of variables. Values have no variables, so nothing is captured.
fn in_proc(p: &Proc, map: &Substitution) -> Proc {
    let one = |p: &Proc| Box::new(in_proc(p, map));
    let all = |ps: &[Proc]| ps.iter().map(|p| in_proc(p, map)).collect::<Vec<_>>();
    let exprs = |es: &[Expr]| es.iter().map(|e| in_expr(e, map)).collect::<Vec<_>>();
    let kind = match &p.kind {
        ProcKind::Delta => ProcKind::Delta,
        ProcKind::Multi(acts) => {
            let mut acts = acts.clone();
            acts.iter_mut().for_each(|a| a.args = exprs(&a.args));
            ProcKind::Multi(acts)
        }
        ProcKind::Call(id, args) => ProcKind::Call(*id, exprs(args)),
        ProcKind::Choice(ps) => ProcKind::Choice(all(ps)),
        ProcKind::Seq(ps) => ProcKind::Seq(all(ps)),
        ProcKind::Parallel(ps) => ProcKind::Parallel(all(ps)),
        ProcKind::LeftMerge(a, b) => ProcKind::LeftMerge(one(a), one(b)),
        ProcKind::Sync(a, b) => ProcKind::Sync(one(a), one(b)),
        ProcKind::Sum(vs, b) => ProcKind::Sum(vs.clone(), one(b)),
        ProcKind::Condition(c, p, q) => {
            ProcKind::Condition(Box::new(in_expr(c, map)), one(p), q.as_ref().map(|q| one(q)))
        }
        ProcKind::Block(n, p) => ProcKind::Block(n.clone(), one(p)),
        ProcKind::Hide(n, p) => ProcKind::Hide(n.clone(), one(p)),
        ProcKind::Rename(n, p) => ProcKind::Rename(n.clone(), one(p)),
        ProcKind::Allow(n, p) => ProcKind::Allow(n.clone(), one(p)),
        ProcKind::Comm(n, p) => ProcKind::Comm(n.clone(), one(p)),
    };
    Proc { kind, span: p.span }
}
