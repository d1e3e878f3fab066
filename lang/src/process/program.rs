//! Process expressions as nodes.
//!
//! A node lays out its own frame: first its free variables, then the variables of its sums. What stands before the
//! first action of a node (choices, sums, conditions) is flattened into summands when the program is made (see
//! [`compile`](crate::process::compile)), so that a step is: solve the summand's condition for its variables, evaluate
//! the action's arguments, build the target.

use crate::data::code::{Code, Goal, Slot};
use crate::data::eval::{Bound, Eval, Evaluator, Frame, new_frame};
use crate::data::value::Value;
use crate::diagnostic::Span;
use crate::model::{ActName, Model, ProcId, SortId, VarId};
use crate::process::action::{Names, Operator};
use crate::process::compile::{compile, with_copies};
use gridlock_lts::base::hash::Map;
use std::cell::RefCell;
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
    /// For each node whether it may ever terminate.
    pub may_finish: Vec<bool>,
    /// For stacks of operators, outermost first, how many at the top can be left out.
    pub(super) superfluous: RefCell<Map<Vec<NodeId>, usize>>,
}

/// A process expression in compiled form.
#[derive(Debug)]
pub struct Node {
    /// The kind of node.
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

/// A node to go on with, and what its free variables are in the present frame.
#[derive(Clone, Debug)]
pub struct Target {
    /// The node.
    pub node: NodeId,
    /// For each of its free variables the value; nearly always a slot, see [`Program::target_values`].
    pub values: Vec<Code>,
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
    /// Everything that a process does first which was not flattened.
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

impl Node {
    /// The nodes it refers to; `bodies` are those of the processes.
    pub fn successors(&self, bodies: &[NodeId]) -> Vec<NodeId> {
        match &self.kind {
            NodeKind::Summands(summands) => summands
                .iter()
                .flat_map(|s| {
                    let head = match &s.head {
                        SummandHead::Process(t) => Some(t.node),
                        SummandHead::Action(_) => None,
                    };
                    s.then.iter().map(|t| t.node).chain(head)
                })
                .collect(),
            NodeKind::Call(proc, ..) => vec![bodies[proc.ix()]],
            NodeKind::Condition(_, _, yes, no) => {
                std::iter::once(yes.node).chain(no.as_ref().map(|t| t.node)).collect()
            }
            NodeKind::Seq(a, b) | NodeKind::LeftMerge(a, b) | NodeKind::Sync(a, b) => vec![a.node, b.node],
            NodeKind::Parallel(parts) => parts.iter().map(|t| t.node).collect(),
            NodeKind::Operator(_, t) => vec![t.node],
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
        let (model, copies) = with_copies(model);
        let ev = Evaluator::new(model.clone(), step_limit);
        let (nodes, bodies, init) = compile(&model, &copies, ev.lambdas);
        let may_finish = may_finish(&nodes, &bodies);
        Program { ev, nodes, bodies, init, may_finish, superfluous: RefCell::default() }
    }

    /// The node of an index.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The values of the free variables of a target, given the frame it refers to.
    pub fn target_values(&self, target: &Target, frame: &mut Frame) -> Eval<Vec<Value>> {
        let free = &self.node(target.node).free;
        let values = target.values.iter().zip(free).map(|(code, var)| {
            let value = self.ev.eval(code, frame)?;
            self.ev.canonical(self.ev.model.vars[var.ix()].sort, value)
        });
        values.collect()
    }
}

/// For each node whether it may ever terminate: the least solution, so a node for which this is `false` never does, for any
/// data. A termination has a finite derivation, so a node that could terminate only because of itself never does.
fn may_finish(nodes: &[Node], bodies: &[NodeId]) -> Vec<bool> {
    let mut finishes = vec![false; nodes.len()];
    // Who asks for a node, so that it is looked at again when the answer changes.
    let mut askers: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        for next in node.successors(bodies) {
            askers[next.0 as usize].push(NodeId(i as u32));
        }
    }
    let mut open: Vec<NodeId> = (0..nodes.len() as u32).rev().map(NodeId).collect();
    while let Some(id) = open.pop() {
        let at = id.0 as usize;
        if finishes[at] {
            continue;
        }
        let is = |t: &Target| finishes[t.node.0 as usize];
        finishes[at] = match &nodes[at].kind {
            NodeKind::Summands(all) => all.iter().any(|s| {
                s.then.iter().all(is)
                    && match &s.head {
                        SummandHead::Action(_) => true,
                        SummandHead::Process(t) => is(t),
                    }
            }),
            NodeKind::Call(proc, ..) => finishes[bodies[proc.ix()].0 as usize],
            NodeKind::Condition(_, _, yes, no) => is(yes) || no.as_ref().is_some_and(is),
            NodeKind::Seq(a, b) | NodeKind::LeftMerge(a, b) | NodeKind::Sync(a, b) => is(a) && is(b),
            NodeKind::Parallel(parts) => parts.iter().all(is),
            NodeKind::Operator(_, t) => is(t),
        };
        if finishes[at] {
            open.extend(&askers[at]);
        }
    }
    finishes
}
