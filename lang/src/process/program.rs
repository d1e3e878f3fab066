//! Process expressions as nodes.
//!
//! A node lays out its own frame: first its free variables, then the variables of its sums. What stands before the
//! first action of a node (choices, sums, conditions) is flattened into summands when the program is made, so that a
//! step is: solve the summand's condition for its variables, evaluate the action's arguments, build the target.
//! A process call behind a sum is unfolded here (its arguments are not values yet); every other call at run time.

use crate::data::code::{Code, Goal, Slot};
use crate::data::compile::{Compiler, Scope, junction, negate, occurring};
use crate::data::eval::{Bound, Evaluator, Frame, new_frame};
use crate::data::value::Value;
use crate::diagnostic::Span;
use crate::model::{ActName, Expr, Model, Proc, ProcId, ProcKind, SortId, VarId};
use crate::process::action::{Names, Operator};
use crate::process::substitute::{Substitution, free_in_proc, in_proc};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Index of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// All processes of a specification, compiled.
#[derive(Debug)]
pub struct Program {
    /// The evaluator of its data.
    pub ev: Evaluator,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// For each process the node of its body.
    pub bodies: Vec<NodeId>,
    /// The node of `init`.
    pub init: NodeId,
}

/// A process expression in compiled form.
#[derive(Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Its free variables; a state holds their values in this order.
    pub free: Vec<VarId>,
    /// Its place.
    pub span: Span,
}

/// The kinds of nodes.
#[derive(Debug)]
pub enum NodeKind {
    /// Actions, possibly behind choices, sums and conditions. No summand: `delta`.
    Summands(Vec<Summand>),
    /// A process call; the arguments run in the frame of the node.
    Call(ProcId, Vec<Code>, u32),
    /// `c -> p <> q`; without `q` it is `delta`.
    Condition(Code, u32, Target, Option<Target>),
    /// `p . q`.
    Seq(Target, Target),
    /// `p || q || …`.
    Parallel(Vec<Target>),
    /// `p ||_ q`.
    LeftMerge(Target, Target),
    /// `p | q`.
    Sync(Target, Target),
    /// `allow`, `block`, `comm`, `hide`, `rename`.
    Operator(Operator, Target),
}

/// A node to go on with, and where in the present frame its free variables are.
#[derive(Clone, Debug)]
pub struct Target {
    /// The node.
    pub node: NodeId,
    /// The slots of its free variables.
    pub slots: Vec<Slot>,
}

/// One alternative of a node.
#[derive(Debug)]
pub struct Summand {
    /// The variables of its sums that matter.
    pub vars: Vec<(Slot, SortId)>,
    /// The places of these variables.
    pub var_spans: Vec<Span>,
    /// Its condition.
    pub goal: Goal,
    /// What it does first.
    pub head: SummandHead,
    /// What follows, first to last.
    pub then: Vec<Target>,
    /// Size of its frame.
    pub frame: u32,
    /// Its place.
    pub span: Span,
}

/// What a summand does first.
#[derive(Debug)]
pub enum SummandHead {
    /// A multi-action.
    Action(Vec<ActCode>),
    /// Whatever a process does that was not flattened.
    Process(Target),
}

/// An action with the code of its arguments.
#[derive(Debug)]
pub struct ActCode {
    /// Its name.
    pub name: ActName,
    /// Its arguments.
    pub args: Vec<Code>,
}

impl Summand {
    /// The names of its multi-action, sorted; `None` if its head is a process.
    pub fn names(&self) -> Option<Names> {
        match &self.head {
            SummandHead::Action(acts) => {
                let mut names: Names = acts.iter().map(|a| a.name).collect();
                names.sort();
                Some(names)
            }
            SummandHead::Process(_) => None,
        }
    }
}

/// A frame that starts with these values.
pub fn frame_with(values: &[Value], size: u32) -> Frame {
    let mut frame: Frame = Vec::with_capacity((size as usize).max(values.len()));
    frame.extend(values.iter().cloned().map(Bound::Now));
    if frame.len() < size as usize {
        frame.extend(new_frame(size - frame.len() as u32));
    }
    frame
}

impl Program {
    /// Compiles all processes of a model.
    pub fn new(model: Arc<Model>, step_limit: u64) -> Self {
        let ev = Evaluator::new(model.clone(), step_limit);
        let mut maker = Maker {
            model: &model,
            compiler: Compiler::numbering_from(&model, ev.lambdas),
            nodes: Vec::new(),
        };
        let bodies = model.processes.iter().map(|p| maker.node(&p.body)).collect();
        let delta = Proc { kind: ProcKind::Delta, span: Span::default() };
        let init = maker.node(model.init.as_ref().unwrap_or(&delta));
        let nodes = maker.nodes;
        Program { ev, nodes, bodies, init }
    }

    /// The node of an index.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

struct Maker<'m> {
    model: &'m Model,
    compiler: Compiler<'m>,
    nodes: Vec<Node>,
}

/// What stands before the first action of a summand, and what follows it, before compilation.
#[derive(Clone, Default)]
struct Alternative {
    sums: Vec<VarId>,
    /// Conditions; `false` stands for the negation.
    conditions: Vec<(Rc<Expr>, bool)>,
    /// What follows, last first.
    rest: Vec<Rest>,
}

/// A continuation: an expression, whose node is made once for all alternatives that lead to it, or a suffix of a
/// sequence that has a node already.
#[derive(Clone)]
enum Rest {
    Proc(Rc<(Proc, Cell<Option<NodeId>>)>),
    Node(NodeId),
}

impl Rest {
    fn new(p: Proc) -> Rest {
        Rest::Proc(Rc::new((p, Cell::new(None))))
    }
}

impl Maker<'_> {
    fn add(&mut self, kind: NodeKind, free: Vec<VarId>, span: Span) -> NodeId {
        self.nodes.push(Node { kind, free, span });
        NodeId(u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 nodes"))
    }

    fn node(&mut self, p: &Proc) -> NodeId {
        stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || match &p.kind {
            ProcKind::Seq(parts) => self.sequence(parts),
            _ => {
                let free = free_in_proc(p);
                self.node_with(p, free, Vec::new())
            }
        })
    }

    /// A sequence gets a node for each suffix, from the last to the first.
    fn sequence(&mut self, parts: &[Proc]) -> NodeId {
        let (last, before) = parts.split_last().expect("a sequence is not empty");
        let mut rest = self.node(last);
        for p in before.iter().rev() {
            let mut free = free_in_proc(p);
            for v in self.nodes[rest.0 as usize].free.clone() {
                if !free.contains(&v) {
                    free.push(v);
                }
            }
            rest = self.node_with(p, free, vec![Rest::Node(rest)]);
        }
        rest
    }

    /// The node of `p` followed by `rest`, with the free variables of the whole.
    fn node_with(&mut self, p: &Proc, mut free: Vec<VarId>, rest: Vec<Rest>) -> NodeId {
        // In the order of declaration, which is how people know the parameters of a process.
        free.sort_unstable();
        let mut scope = Scope::default();
        for v in &free {
            scope.bind(*v);
        }
        let flat =
            matches!(p.kind, ProcKind::Multi(_) | ProcKind::Delta | ProcKind::Choice(_) | ProcKind::Sum(..));
        let kind = if flat {
            let mut found = Vec::new();
            self.flatten(p, Alternative { rest, ..Alternative::default() }, &mut vec![], &mut found);
            NodeKind::Summands(found.into_iter().map(|a| self.summand(a, scope.clone(), p.span)).collect())
        } else if let Some(Rest::Node(next)) = rest.first().cloned() {
            let first = self.node(p);
            NodeKind::Seq(self.target(first, &scope), self.target(next, &scope))
        } else {
            self.single(p, &mut scope)
        };
        self.add(kind, free, p.span)
    }

    fn single(&mut self, p: &Proc, scope: &mut Scope) -> NodeKind {
        let go = |maker: &mut Self, p: &Proc, scope: &Scope| {
            let node = maker.node(p);
            maker.target(node, scope)
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

    fn target(&self, node: NodeId, scope: &Scope) -> Target {
        let slots = self.nodes[node.0 as usize].free.iter().map(|v| scope.slot(*v)).collect();
        Target { node, slots }
    }

    /// Splits what stands before the first actions of `p` into alternatives. `unfolding` lists the calls being unfolded.
    fn flatten(
        &self,
        p: &Proc,
        so_far: Alternative,
        unfolding: &mut Vec<ProcId>,
        out: &mut Vec<(Alternative, Proc)>,
    ) {
        stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || match &p.kind {
            ProcKind::Delta => {}
            ProcKind::Choice(ps) => {
                for p in ps {
                    self.flatten(p, so_far.clone(), unfolding, out);
                }
            }
            ProcKind::Sum(vars, body) => {
                let mut next = so_far;
                next.sums.extend(vars);
                self.flatten(body, next, unfolding, out);
            }
            ProcKind::Condition(c, p, q) => {
                let c = Rc::new((**c).clone());
                let mut yes = so_far.clone();
                yes.conditions.push((c.clone(), true));
                self.flatten(p, yes, unfolding, out);
                if let Some(q) = q {
                    let mut no = so_far;
                    no.conditions.push((c, false));
                    self.flatten(q, no, unfolding, out);
                }
            }
            ProcKind::Seq(ps) => {
                let (first, rest) = ps.split_first().expect("a sequence is not empty");
                let mut next = so_far;
                match rest {
                    [] => {}
                    [one] => next.rest.push(Rest::new(one.clone())),
                    more => next.rest.push(Rest::new(Proc {
                        kind: ProcKind::Seq(more.to_vec()),
                        span: more[0].span.to(more[more.len() - 1].span),
                    })),
                }
                self.flatten(first, next, unfolding, out);
            }
            ProcKind::Call(id, args) if !so_far.sums.is_empty() && !unfolding.contains(id) => {
                let def = &self.model.processes[id.ix()];
                let map: Substitution = def.params.iter().copied().zip(args.iter().cloned()).collect();
                let body = in_proc(&def.body, &map);
                unfolding.push(*id);
                self.flatten(&body, so_far, unfolding, out);
                unfolding.pop();
            }
            _ => out.push((so_far, p.clone())),
        })
    }

    fn summand(&mut self, (a, first): (Alternative, Proc), mut scope: Scope, span: Span) -> Summand {
        let vars: Vec<(Slot, VarId)> = a.sums.iter().map(|v| (scope.bind(*v), *v)).collect();
        let then: Vec<Target> = a
            .rest
            .iter()
            .rev()
            .map(|rest| {
                let node = match rest {
                    Rest::Proc(shared) => {
                        let node = shared.1.get().unwrap_or_else(|| self.node(&shared.0));
                        shared.1.set(Some(node));
                        node
                    }
                    Rest::Node(n) => *n,
                };
                self.target(node, &scope)
            })
            .collect();
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
                    .map(|act| ActCode {
                        name: act.name,
                        args: act.args.iter().map(|e| self.compiler.expr(e, &mut scope)).collect(),
                    })
                    .collect(),
            ),
            _ => {
                let node = self.node(&first);
                SummandHead::Process(self.target(node, &scope))
            }
        };
        let slots: Vec<Slot> = vars.iter().map(|v| v.0).collect();
        let goal = match conditions.len() {
            0 => Goal { conjuncts: Vec::new() },
            1 => Goal::new(conditions.into_iter().next().expect("one"), &slots),
            _ => Goal::new(junction(true, conditions), &slots),
        };
        // A variable that occurs nowhere only repeats the same alternative: every sort has a value.
        let used = |slot: Slot| {
            goal.conjuncts.iter().any(|(_, occurs)| occurs.contains(&slot))
                || then.iter().any(|t| t.slots.contains(&slot))
                || match &head {
                    SummandHead::Action(acts) => {
                        acts.iter().flat_map(|a| &a.args).any(|c| !occurring(c, &[slot]).is_empty())
                    }
                    SummandHead::Process(t) => t.slots.contains(&slot),
                }
        };
        let vars: Vec<(Slot, VarId)> = vars.into_iter().filter(|v| used(v.0)).collect();
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
