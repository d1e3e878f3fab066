//! Any formula of the modal µ-calculus with data, as equations that [`gridlock_lts::engine::game`] unfolds.
//!
//! The stages: the checked syntax tree becomes nodes (`compile`, `quantify`), a position is a node with values for the
//! variables that it depends on, and what a modality asks of a step is worked out once for each different step (`action`),
//! by evaluating data (`run`). Everything is done when it is first asked for, so that parameters and quantifiers may range
//! over sorts without end as long as the game meets few of their values.
//!
//! Invariant: positions and modalities are numbered in the order in which they are asked for, which depends on the order
//! of questions alone.

mod action;
mod compile;
mod need;
mod node;
mod quantify;
mod run;

use super::labels::Steps;
use super::resolve::Meanings;
use crate::data::code::{Code, Slot, visit_slots};
use crate::data::eval::Evaluator;
use crate::data::print::value_text;
use crate::data::value::Value;
use crate::diagnostic::{Diagnostic, Span};
use crate::places::Places;
use crate::process::action::MultiAction;
use crate::syntax::formula::StateFormula;
use compile::Translation;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::hash::{Map, Set};
use gridlock_lts::model::network::{Network, VectorIx};
use gridlock_lts::property::formula::{Class, Equations, Modality, Position, Tree};
use need::Need;
use node::{Kind, Node, NodeId, Quantified, Unknown};
use run::Run;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How deep trees are.
const DEEPEST: usize = 30;

/// A node with values for the variables that it depends on, in the order of [`Node::free`].
type Instance = (NodeId, Vec<Value>);

/// A formula as equations that are unfolded on demand.
pub struct Calculus {
    nodes: Vec<Node>,
    steps: Steps,
    places: Places,
    state: Mutex<Known>,
}

/// What was asked so far.
struct Known {
    run: Run,
    positions: Numbers<Instance>,
    modalities: Numbers<Instance>,
    classes: Numbers<MultiAction>,
    after: Map<(Modality, Class), Arc<Tree>>,
    /// What all steps of the system do, if that is known and matters.
    steps: Option<Vec<MultiAction>>,
    /// What is asked of the values of a quantifier, by its node, where its own condition leaves too many.
    needed: Map<NodeId, Code>,
}

/// Things by number.
struct Numbers<T> {
    all: Vec<T>,
    ids: Map<T, u32>,
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    fn new() -> Self {
        Numbers { all: Vec::new(), ids: Map::default() }
    }

    fn of(&mut self, thing: T) -> u32 {
        if let Some(id) = self.ids.get(&thing) {
            return *id;
        }
        let id = self.all.len() as u32;
        self.all.push(thing.clone());
        self.ids.insert(thing, id);
        id
    }
}

impl Calculus {
    /// A formula whose names were checked.
    pub fn new(
        meanings: &Meanings,
        evaluator: Evaluator,
        steps: Steps,
        places: Places,
        formula: &StateFormula,
    ) -> Result<Self, Diagnostic> {
        let model = evaluator.model.clone();
        let (nodes, root, frame) = Translation::of(meanings, &model, evaluator.lambdas, formula)?;
        let mut positions = Numbers::new();
        positions.of((root, Vec::new()));
        let known = Known {
            run: Run { evaluator, frame },
            positions,
            modalities: Numbers::new(),
            classes: Numbers::new(),
            after: Map::default(),
            steps: None,
            needed: Map::default(),
        };
        Ok(Calculus { nodes, steps, places, state: Mutex::new(known) })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error with its place in the formula.
    fn failed(&self, diagnostic: Diagnostic) -> Error {
        let place = self.places.full(diagnostic.span);
        let help = diagnostic.help.map(|help| format!("\n  help: {help}")).unwrap_or_default();
        Error::input(format_args!("{place}: {}{help}", diagnostic.message))
    }

    fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node as usize]
    }

    /// The values that a node depends on.
    fn values(&self, node: NodeId, env: &[(Slot, Value)]) -> Vec<Value> {
        let value = |slot: &Slot| {
            let found = env.iter().rev().find(|(known, _)| known == slot);
            found.expect("what a node depends on has a value").1.clone()
        };
        self.node(node).free.iter().map(value).collect()
    }

    fn env(&self, (node, values): &Instance) -> Vec<(Slot, Value)> {
        self.node(*node).free.iter().copied().zip(values.iter().cloned()).collect()
    }

    /// The tree of a node in the same state. What stands deeper than [`DEEPEST`] is a position of its own, so that a walk
    /// through a tree needs little stack.
    fn tree(
        &self,
        known: &mut Known,
        node: NodeId,
        env: &mut Vec<(Slot, Value)>,
        depth: usize,
    ) -> Result<Tree, Diagnostic> {
        if depth > DEEPEST && matches!(self.node(node).kind, Kind::Junction(..) | Kind::Quantifier(..)) {
            return Ok(Tree::At(self.position(known, node, env)?));
        }
        let depth = depth + 1;
        let Node { kind, span, .. } = self.node(node);
        Ok(match kind {
            Kind::Const(b) => Tree::Const(*b),
            Kind::Data(code, positive) => Tree::Const(known.run.truth(code, *span, env)? == *positive),
            Kind::Junction(and, parts) => {
                let mut trees = Vec::new();
                for part in parts {
                    match self.tree(known, *part, env, depth)? {
                        // What stands behind data that decides it may have no value at all.
                        Tree::Const(b) if b != *and => return Ok(Tree::Const(b)),
                        tree => trees.push(tree),
                    }
                }
                Tree::junction(*and, trees)
            }
            Kind::Quantifier(all, quantified) => {
                let mut trees = Vec::new();
                let before = env.len();
                for values in known.values_of(node, quantified, env)? {
                    env.extend(quantified.unknowns.iter().map(|unknown| unknown.slot).zip(values));
                    let tree = self.tree(known, quantified.body, env, depth);
                    env.truncate(before);
                    match tree? {
                        Tree::Const(b) if b != *all => return Ok(Tree::Const(b)),
                        tree => trees.push(tree),
                    }
                }
                Tree::junction(*all, trees)
            }
            Kind::Modal(every, modal) => {
                if modal.action.constant() == Some(false) {
                    return Ok(Tree::Const(*every));
                }
                let modality = Modality(known.modalities.of((node, self.values(node, env))));
                if *every { Tree::Every(modality) } else { Tree::Some(modality) }
            }
            Kind::Call(..) => Tree::At(self.position(known, node, env)?),
            Kind::Body(_, inside, _) => self.tree(known, *inside, env, depth)?,
        })
    }

    /// The position of a node: that of its body if it is a fixed point variable.
    fn position(
        &self,
        known: &mut Known,
        node: NodeId,
        env: &[(Slot, Value)],
    ) -> Result<Position, Diagnostic> {
        let Node { kind: Kind::Call(body, args), span, .. } = self.node(node) else {
            return Ok(Position(known.positions.of((node, self.values(node, env)))));
        };
        let Kind::Body(params, ..) = &self.node(*body).kind else { unreachable!("a call is of a body") };
        let mut inner = env.to_vec();
        for (slot, (code, sort)) in params.iter().zip(args) {
            inner.push((*slot, known.run.value(code, *sort, *span, env)?));
        }
        Ok(Position(known.positions.of((*body, self.values(*body, &inner)))))
    }

    /// Whether one node is a part of what another stands for.
    fn leads_to(&self, from: NodeId, to: NodeId) -> bool {
        let mut met = vec![false; self.nodes.len()];
        let mut work = vec![from];
        while let Some(node) = work.pop() {
            if node == to {
                return true;
            }
            if std::mem::replace(&mut met[node as usize], true) {
                continue;
            }
            match &self.node(node).kind {
                Kind::Const(_) | Kind::Data(..) => {}
                Kind::Junction(_, parts) => work.extend(parts),
                Kind::Quantifier(_, quantified) => work.push(quantified.body),
                Kind::Call(next, _) | Kind::Body(_, next, _) => work.push(*next),
                Kind::Modal(_, modal) => work.push(modal.next),
            }
        }
        false
    }

    /// What a node is in another state.
    fn there(&self, known: &mut Known, node: NodeId, env: &[(Slot, Value)]) -> Result<Tree, Diagnostic> {
        Ok(match &self.node(node).kind {
            Kind::Const(b) => Tree::Const(*b),
            Kind::Data(code, positive) => {
                Tree::Const(known.run.truth(code, self.node(node).span, env)? == *positive)
            }
            _ => Tree::At(self.position(known, node, env)?),
        })
    }

    fn work_out(&self, known: &mut Known, modality: Modality, class: Class) -> Result<Tree, Diagnostic> {
        let instance = known.modalities.all[modality.0 as usize].clone();
        let Kind::Modal(every, modal) = &self.node(instance.0).kind else { unreachable!("a modality") };
        let doing = known.classes.all[class.0 as usize].clone();
        let mut env = self.env(&instance);
        let depth = env.len();
        let mut trees = Vec::new();
        let solutions = match modal.unknowns.is_empty() {
            true => vec![Vec::new()],
            false => {
                let step = modal.action.condition(known.run.model(), &doing, true);
                let condition = action::joined(true, [step, modal.condition.clone()]);
                known.run.solutions(&modal.unknowns, condition, &env)?
            }
        };
        for values in solutions {
            env.extend(modal.unknowns.iter().map(|unknown| unknown.slot).zip(values));
            let span = self.node(instance.0).span;
            let counts = modal.action.holds(&known.run, &doing, &mut env)?
                && known.run.truth(&modal.condition, span, &env)?;
            if counts {
                trees.push(self.there(known, modal.next, &env)?);
            }
            env.truncate(depth);
        }
        Ok(Tree::junction(*every, trees))
    }
}

impl Known {
    /// The values of a quantifier's variables that its condition leaves or, if these are too many, those of them that matter with
    /// the steps of the system. Which it is depends on the values around alone, not on what was asked before.
    fn values_of(
        &mut self,
        node: NodeId,
        quantified: &Quantified,
        env: &[(Slot, Value)],
    ) -> Result<Vec<Vec<Value>>, Diagnostic> {
        let Quantified { unknowns, condition, needs, .. } = quantified;
        let Some(steps) = self.steps.as_ref() else {
            return self.run.solutions(unknowns, condition.clone(), env);
        };
        let alone = !mentions_others(condition, unknowns);
        let problem = match self.needed.contains_key(&node) && alone {
            // It left too many before, and it is the same for all values around.
            true => None,
            false => match self.run.solutions(unknowns, condition.clone(), env) {
                Err(problem) => Some(problem),
                values => return values,
            },
        };
        let model = self.run.model();
        let needed = self.needed.entry(node).or_insert_with(|| needs.condition(model, steps));
        let both = action::joined(true, [condition.clone(), needed.clone()]);
        self.run.solutions(unknowns, both, env).map_err(|other| problem.unwrap_or(other))
    }
}

/// Whether a condition is about anything but these variables.
fn mentions_others(condition: &Code, unknowns: &[Unknown]) -> bool {
    let mut others = false;
    visit_slots(condition, &mut |slot| others |= unknowns.iter().all(|unknown| unknown.slot != slot));
    others
}

impl Equations for Calculus {
    /// Where a variable of a sort without end gets its values from nothing else, it gets them from the steps of the system.
    fn prepare(&self, net: &Network, complete: bool) -> Result<()> {
        let mut known = self.known();
        let endless = |unknown: &Unknown| known.run.evaluator.sorts.size(unknown.sort).is_none();
        let wanted = self.nodes.iter().any(|node| match &node.kind {
            Kind::Quantifier(_, quantified) => {
                !matches!(quantified.needs.need, Need::Always) && quantified.unknowns.iter().any(endless)
            }
            _ => false,
        });
        if complete && wanted && known.steps.is_none() {
            let mut met = Set::default();
            let all = (0..net.vectors.len() as u32).filter_map(|vector| self.steps.of(net, VectorIx(vector)));
            known.steps = Some(all.filter(|step| met.insert(step.clone())).collect());
        }
        Ok(())
    }

    fn class(&self, net: &Network, vector: VectorIx) -> Result<Class> {
        let doing = self.steps.of(net, vector).ok_or_else(|| Error::internal("a fault has no class"))?;
        Ok(Class(self.known().classes.of(doing)))
    }

    fn unfold(&self, position: Position) -> Result<Arc<Tree>> {
        let mut known = self.known();
        known.run.evaluator.begin();
        let instance = known.positions.all[position.0 as usize].clone();
        let mut env = self.env(&instance);
        self.tree(&mut known, instance.0, &mut env, 0).map(Arc::new).map_err(|problem| self.failed(problem))
    }

    fn after(&self, modality: Modality, class: Class) -> Result<Arc<Tree>> {
        let mut known = self.known();
        if let Some(tree) = known.after.get(&(modality, class)) {
            return Ok(tree.clone());
        }
        known.run.evaluator.begin();
        let tree = self.work_out(&mut known, modality, class).map_err(|problem| self.failed(problem))?;
        let tree = Arc::new(tree);
        known.after.insert((modality, class), tree.clone());
        Ok(tree)
    }

    fn rank(&self, position: Position) -> Option<u32> {
        let node = self.known().positions.all[position.0 as usize].0;
        match self.node(node).kind {
            Kind::Body(_, _, rank) => Some(rank),
            _ => None,
        }
    }

    fn antecedent(&self, modality: Modality) -> Option<String> {
        let node = self.known().modalities.all[modality.0 as usize].0;
        let Kind::Modal(true, modal) = &self.node(node).kind else { return None };
        let says_nothing = matches!(self.node(modal.next).kind, Kind::Const(_) | Kind::Data(..));
        if says_nothing || self.leads_to(modal.next, node) {
            return None;
        }
        Some(format!("'{}'", self.places.quoted(modal.actions)))
    }

    fn describe(&self, position: Position) -> String {
        let known = self.known();
        let (node, values) = &known.positions.all[position.0 as usize];
        let Span { start, end } = self.node(*node).span;
        let text = self.places.excerpt(Span { start, end });
        let values: Vec<String> = values.iter().map(|value| value_text(known.run.model(), value)).collect();
        match values.is_empty() {
            true => format!("'{text}'"),
            false => format!("'{text}' with {}", values.join(", ")),
        }
    }
}
