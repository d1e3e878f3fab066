//! From process expressions to nodes.
//!
//! Every expression of the text, and every rest of a sequence, gets at most one node, so there are finitely many, however
//! processes call each other. What stands before the first action is flattened into summands. A call in the scope of a
//! sum whose variables it is given is unfolded on the way, since its arguments are not values yet and the conditions and
//! partners that bound them may be inside; every other call is unfolded at run time.
//!
//! Unfolding copies nothing. An environment says what the variables of the unfolded text stand for: its parameters for
//! the arguments of the call, the variables of its sums for second copies of these. So nothing is captured when the text
//! is unfolded in its own scope: the original variables are those of the node, and as no call is unfolded inside its own
//! unfolding, one copy is enough. What follows an action keeps its own node; the environment supplies the values of its
//! free variables.

use crate::data::code::{Code, Goal, Slot};
use crate::data::compile::{Compiler, Scope, free_vars, junction, negate, occurring};
use crate::data::print::expr_text;
use crate::diagnostic::Span;
use crate::model::{Expr, ExprKind, Model, Proc, ProcId, ProcKind, VarId};
use crate::process::action::Operator;
use crate::process::program::{ActCode, Node, NodeId, NodeKind, Summand, SummandHead, Target};
use crate::process::substitute::{Substitution, free_in_proc, in_expr};
use gridlock_lts::base::hash::{Map, Set};
use std::rc::Rc;
use std::sync::Arc;

/// How many calls may be unfolded to make the summands of one node: each may have two of the next. Calls beyond that are
/// left to run time.
const MAX_UNFOLDED: usize = 2_000;
/// How long their arguments (in bytes of text) may become together: each unfolding may double them.
const MAX_ARGUMENTS: usize = 1_000_000;

/// The model with a second copy of each variable that a process sums over, and these copies.
pub fn with_copies(mut model: Arc<Model>) -> (Arc<Model>, Map<VarId, VarId>) {
    let mut summed: Vec<VarId> = Vec::new();
    let mut open: Vec<&Proc> = model.processes.iter().map(|p| &p.body).collect();
    while let Some(p) = open.pop() {
        if let ProcKind::Sum(vars, _) = &p.kind {
            summed.extend(vars);
        }
        open.extend(operands(p));
    }
    let mut copies = Map::default();
    if !summed.is_empty() {
        let vars = &mut Arc::make_mut(&mut model).vars;
        for var in summed {
            copies.insert(var, VarId(u32::try_from(vars.len()).expect("fewer than 2^32 variables")));
            let copy = vars[var.ix()].clone();
            vars.push(copy);
        }
    }
    (model, copies)
}

fn operands(p: &Proc) -> Vec<&Proc> {
    match &p.kind {
        ProcKind::Multi(_) | ProcKind::Delta | ProcKind::Call(..) => Vec::new(),
        ProcKind::Choice(ps) | ProcKind::Seq(ps) | ProcKind::Parallel(ps) => ps.iter().collect(),
        ProcKind::LeftMerge(a, b) | ProcKind::Sync(a, b) => vec![a, b],
        ProcKind::Condition(_, p, q) => std::iter::once(&**p).chain(q.as_deref()).collect(),
        ProcKind::Sum(_, p)
        | ProcKind::Block(_, p)
        | ProcKind::Hide(_, p)
        | ProcKind::Rename(_, p)
        | ProcKind::Allow(_, p)
        | ProcKind::Comm(_, p) => vec![p],
    }
}

/// The nodes of all processes of a model, those of the bodies, and that of `init`. `copies` are those of
/// [`with_copies`]; lambda expressions are numbered from `lambdas` on.
pub fn compile(model: &Model, copies: &Map<VarId, VarId>, lambdas: u32) -> (Vec<Node>, Vec<NodeId>, NodeId) {
    let delta = Proc { kind: ProcKind::Delta, span: Span::default() };
    let mut maker = Maker {
        model,
        copies,
        compiler: Compiler::numbering_from(model, lambdas),
        nodes: Vec::new(),
        ids: Map::default(),
        open: Vec::new(),
    };
    let bodies = model.processes.iter().map(|p| maker.node(&p.body)).collect();
    let init = maker.node(model.init.as_ref().unwrap_or(&delta));
    while let Some((id, parts)) = maker.open.pop() {
        maker.fill(id, parts);
    }
    (maker.nodes, bodies, init)
}

struct Maker<'m> {
    model: &'m Model,
    copies: &'m Map<VarId, VarId>,
    compiler: Compiler<'m>,
    nodes: Vec<Node>,
    /// The node of each expression, or rest of a sequence, by its place in memory and how many parts it has.
    ids: Map<(*const Proc, usize), NodeId>,
    /// Nodes whose kind is still to be worked out.
    open: Vec<(NodeId, &'m [Proc])>,
}

/// What the variables of the text stand for; those not listed for themselves.
type Environment = Rc<Substitution>;

/// What stands before the first action of a summand, and what follows it, before compilation.
#[derive(Clone, Default)]
struct Alternative {
    sums: Vec<VarId>,
    /// Conditions; `false` stands for the negation.
    conditions: Vec<(Rc<Expr>, bool)>,
    /// What follows, last first.
    rest: Vec<(NodeId, Environment)>,
    /// For the text that is looked at.
    env: Environment,
}

/// Where the splitting into alternatives is.
#[derive(Default)]
struct Path {
    /// The calls being unfolded.
    unfolding: Vec<ProcId>,
    /// The expressions being split.
    inside: Set<*const Proc>,
    /// How many calls were unfolded so far.
    unfolded: usize,
    /// How long their arguments were together.
    length: usize,
}

impl<'m> Maker<'m> {
    fn node(&mut self, p: &'m Proc) -> NodeId {
        match &p.kind {
            ProcKind::Seq(parts) => self.sequence(parts),
            _ => self.sequence(std::slice::from_ref(p)),
        }
    }

    /// The node of a sequence. Each of its rests gets one, from the last to the first.
    fn sequence(&mut self, parts: &'m [Proc]) -> NodeId {
        let mut next: Option<NodeId> = None;
        for (i, p) in parts.iter().enumerate().rev() {
            // The last part may be a sequence in brackets.
            if let (None, ProcKind::Seq(inner)) = (next, &p.kind) {
                next = Some(self.sequence(inner));
                continue;
            }
            let key = (std::ptr::from_ref(p), parts.len() - i);
            next = Some(match self.ids.get(&key) {
                Some(id) => *id,
                None => {
                    let mut free = free_in_proc(p);
                    if let Some(next) = next {
                        free.extend(&self.nodes[next.0 as usize].free);
                    }
                    // In the order of declaration, which is how people know the parameters of a process.
                    free.sort_unstable();
                    free.dedup();
                    let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
                    self.nodes.push(Node { kind: NodeKind::Summands(Vec::new()), free, span: p.span });
                    self.ids.insert(key, id);
                    self.open.push((id, &parts[i..]));
                    id
                }
            });
        }
        next.expect("a sequence is not empty")
    }

    /// Works out the kind of a node.
    fn fill(&mut self, id: NodeId, parts: &'m [Proc]) {
        let (p, more) = parts.split_first().expect("a sequence is not empty");
        let rest: Vec<(NodeId, Environment)> = match more {
            [] => Vec::new(),
            _ => vec![(self.sequence(more), Environment::default())],
        };
        let mut scope = Scope::default();
        for v in &self.nodes[id.0 as usize].free {
            scope.bind(*v);
        }
        let flat =
            matches!(p.kind, ProcKind::Multi(_) | ProcKind::Delta | ProcKind::Choice(_) | ProcKind::Sum(..));
        let kind = if flat {
            let mut found = Vec::new();
            let start = Alternative { rest, ..Alternative::default() };
            self.flatten(p, start, &mut Path::default(), &mut found);
            self.without_sum(&found, &mut scope).unwrap_or_else(|| {
                let summands = found.into_iter().map(|a| self.summand(a, scope.clone(), p.span));
                NodeKind::Summands(summands.collect())
            })
        } else {
            self.behind(p, &rest, &mut scope)
        };
        self.nodes[id.0 as usize].kind = kind;
    }

    /// A sum around a process that is not given its variables is that process: every sort has a value.
    fn without_sum(&mut self, found: &[(Alternative, &'m Proc)], scope: &mut Scope) -> Option<NodeKind> {
        let [(a, first)] = found else { return None };
        let single = !matches!(
            first.kind,
            ProcKind::Multi(_) | ProcKind::Choice(_) | ProcKind::Sum(..) | ProcKind::Seq(_)
        );
        let free = free_in_proc(first);
        let used = |v: &VarId| {
            free.contains(v) || a.rest.iter().any(|r| self.nodes[r.0.0 as usize].free.contains(v))
        };
        let same = single && a.conditions.is_empty() && a.env.is_empty() && !a.sums.iter().any(used);
        (same && a.rest.len() < 2).then(|| self.behind(first, &a.rest, scope))
    }

    /// An expression that is not split into summands, followed by at most one rest in the same environment.
    fn behind(&mut self, p: &'m Proc, rest: &[(NodeId, Environment)], scope: &mut Scope) -> NodeKind {
        match rest.first() {
            None => self.single(p, scope),
            Some((next, env)) => {
                let first = self.node(p);
                let env = env.clone();
                NodeKind::Seq(self.target(first, &env, scope), self.target(*next, &env, scope))
            }
        }
    }

    fn single(&mut self, p: &'m Proc, scope: &mut Scope) -> NodeKind {
        let go = |maker: &mut Self, p: &'m Proc, scope: &mut Scope| {
            let node = maker.node(p);
            maker.target(node, &Environment::default(), scope)
        };
        match &p.kind {
            ProcKind::Call(id, args) => {
                let codes = args.iter().map(|e| self.compiler.expr(e, scope)).collect();
                NodeKind::Call(*id, codes, scope.size())
            }
            ProcKind::Condition(c, p, q) => {
                let code = self.compiler.expr(c, scope);
                let size = scope.size();
                let yes = go(self, p, scope);
                NodeKind::Condition(code, size, yes, q.as_ref().map(|q| go(self, q, scope)))
            }
            ProcKind::Parallel(ps) => NodeKind::Parallel(ps.iter().map(|p| go(self, p, scope)).collect()),
            ProcKind::LeftMerge(a, b) => NodeKind::LeftMerge(go(self, a, scope), go(self, b, scope)),
            ProcKind::Sync(a, b) => NodeKind::Sync(go(self, a, scope), go(self, b, scope)),
            ProcKind::Block(n, p) => NodeKind::Operator(Operator::Block(n.clone()), go(self, p, scope)),
            ProcKind::Hide(n, p) => NodeKind::Operator(Operator::Hide(n.clone()), go(self, p, scope)),
            ProcKind::Rename(n, p) => NodeKind::Operator(Operator::Rename(n.clone()), go(self, p, scope)),
            ProcKind::Allow(n, p) => NodeKind::Operator(Operator::Allow(n.clone()), go(self, p, scope)),
            ProcKind::Comm(n, p) => NodeKind::Operator(Operator::Comm(n.clone()), go(self, p, scope)),
            ProcKind::Multi(_)
            | ProcKind::Delta
            | ProcKind::Choice(_)
            | ProcKind::Sum(..)
            | ProcKind::Seq(_) => {
                unreachable!("made into summands or a sequence before")
            }
        }
    }

    fn target(&mut self, node: NodeId, env: &Environment, scope: &mut Scope) -> Target {
        let compiler = &mut self.compiler;
        let value = |v: &VarId| match env.get(v) {
            Some(e) => compiler.expr(e, scope),
            None => Code::Slot(scope.slot(*v)),
        };
        Target { node, values: self.nodes[node.0 as usize].free.iter().map(value).collect() }
    }

    /// Splits what stands before the first actions of `p` into alternatives, each with what it does first.
    fn flatten(
        &mut self,
        p: &'m Proc,
        mut so_far: Alternative,
        path: &mut Path,
        out: &mut Vec<(Alternative, &'m Proc)>,
    ) {
        // An unfolded call may lead back to the expression that is being split.
        if !path.inside.insert(p) {
            out.push((so_far, p));
            return;
        }
        stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || match &p.kind {
            ProcKind::Delta => {}
            ProcKind::Choice(ps) => {
                for p in ps {
                    self.flatten(p, so_far.clone(), path, out);
                }
            }
            ProcKind::Sum(vars, body) => {
                if path.unfolding.is_empty() {
                    so_far.sums.extend(vars);
                } else {
                    let env = Rc::make_mut(&mut so_far.env);
                    for v in vars {
                        let (copy, sort) = (self.copies[v], self.model.vars[v.ix()].sort);
                        so_far.sums.push(copy);
                        env.insert(*v, Expr { kind: ExprKind::Var(copy), sort, span: p.span });
                    }
                }
                self.flatten(body, so_far, path, out);
            }
            ProcKind::Condition(c, p, q) => {
                let c = Rc::new(in_expr(c, &so_far.env));
                let mut yes = so_far.clone();
                yes.conditions.push((c.clone(), true));
                self.flatten(p, yes, path, out);
                if let Some(q) = q {
                    so_far.conditions.push((c, false));
                    self.flatten(q, so_far, path, out);
                }
            }
            ProcKind::Seq(ps) => {
                let (first, rest) = ps.split_first().expect("a sequence is not empty");
                if !rest.is_empty() {
                    so_far.rest.push((self.sequence(rest), so_far.env.clone()));
                }
                self.flatten(first, so_far, path, out);
            }
            ProcKind::Call(id, args) => match self.unfold(*id, args, &so_far, path) {
                Some(env) => {
                    path.unfolding.push(*id);
                    let next = Alternative { env: Rc::new(env), ..so_far };
                    self.flatten(&self.model.processes[id.ix()].body, next, path, out);
                    path.unfolding.pop();
                }
                None => out.push((so_far, p)),
            },
            _ => out.push((so_far, p)),
        });
        path.inside.remove(&std::ptr::from_ref(p));
    }

    /// What the parameters stand for in a call that is to be unfolded, if it is.
    fn unfold(
        &self,
        id: ProcId,
        args: &[Expr],
        so_far: &Alternative,
        path: &mut Path,
    ) -> Option<Substitution> {
        if so_far.sums.is_empty() || path.unfolding.contains(&id) || path.unfolded >= MAX_UNFOLDED {
            return None;
        }
        // How long the arguments become is counted before they are made.
        let mut length = path.length;
        let mut given = Vec::new();
        for e in args {
            length += expr_text(self.model, e).len();
            free_vars(e, &mut given);
        }
        let mut depends = false;
        for v in &given {
            let mut names = Vec::new();
            match so_far.env.get(v) {
                Some(e) => {
                    length += expr_text(self.model, e).len();
                    free_vars(e, &mut names);
                }
                None => names.push(*v),
            }
            depends |= names.iter().any(|n| so_far.sums.contains(n));
        }
        if !depends || length > MAX_ARGUMENTS {
            return None;
        }
        path.unfolded += 1;
        path.length = length;
        let args = args.iter().map(|e| in_expr(e, &so_far.env));
        Some(self.model.processes[id.ix()].params.iter().copied().zip(args).collect())
    }

    fn summand(&mut self, (a, first): (Alternative, &'m Proc), mut scope: Scope, span: Span) -> Summand {
        let vars: Vec<(Slot, VarId)> = a.sums.iter().map(|v| (scope.bind(*v), *v)).collect();
        let then: Vec<Target> =
            a.rest.iter().rev().map(|(node, env)| self.target(*node, env, &mut scope)).collect();
        let conditions: Vec<Code> = a
            .conditions
            .iter()
            .map(|(c, holds)| {
                let code = self.compiler.expr(c, &mut scope);
                if *holds { code } else { negate(code) }
            })
            .collect();
        let head = match &first.kind {
            ProcKind::Multi(acts) => SummandHead::Action(
                acts.iter()
                    .map(|act| {
                        let args =
                            act.args.iter().map(|e| self.compiler.expr(&in_expr(e, &a.env), &mut scope));
                        ActCode { name: act.name, args: args.collect() }
                    })
                    .collect(),
            ),
            _ => {
                let node = self.node(first);
                SummandHead::Process(self.target(node, &a.env, &mut scope))
            }
        };
        let slots: Vec<Slot> = vars.iter().map(|v| v.0).collect();
        let goal = match conditions.len() {
            0 => Goal { conjuncts: Vec::new() },
            1 => Goal::new(conditions.into_iter().next().expect("one"), &slots),
            _ => Goal::new(junction(true, conditions), &slots),
        };
        // A variable that occurs nowhere only repeats the same alternative: every sort has a value.
        let mut used: Set<Slot> =
            goal.conjuncts.iter().flat_map(|(_, occurs)| occurs.iter().copied()).collect();
        let heads: Vec<&Code> = match &head {
            SummandHead::Action(acts) => acts.iter().flat_map(|act| &act.args).collect(),
            SummandHead::Process(t) => t.values.iter().collect(),
        };
        for code in then.iter().flat_map(|t| &t.values).chain(heads) {
            used.extend(occurring(code, &slots));
        }
        let vars: Vec<(Slot, VarId)> = vars.into_iter().filter(|v| used.contains(&v.0)).collect();
        let model = self.model;
        Summand {
            var_spans: vars.iter().map(|v| model.vars[v.1.ix()].span).collect(),
            vars: vars.iter().map(|v| (v.0, model.vars[v.1.ix()].sort)).collect(),
            goal,
            head,
            then,
            frame: scope.size(),
            span: if first.span == Span::default() { span } else { first.span },
        }
    }
}
