//! Filling the tables of a network.
//!
//! A local state is expanded by solving its summands. A label (an action with values) only becomes part of the
//! network once every partner it needs offers a fitting one somewhere in what is expanded so far; the states it leads
//! to are made only then. So the tables are a small over-approximation of what the leaves really do, and the same
//! machinery serves both modes: ahead of time every local state is expanded, on demand those a search reaches.
//!
//! A sum that its own leaf cannot bound is an *open offer* ([`super::open`]). Every evaluation that fails becomes a
//! fault vector, which counts only if a search reaches a state where it is enabled.
//!
//! Everything happens in a fixed order, so all numbers are the same in every run and on every rank. What it costs is
//! counted in units of work ([`Builder::work`]), which are the same there, too.

use crate::data::eval::{Eval, Failure};
use crate::data::value::Value;
use crate::diagnostic::Span;
use crate::model::Model;
use crate::network::alphabet::alphabet;
use crate::network::explain::explain;
use crate::network::flatten::{Context, Flat, LeafStart};
use crate::network::join::{Choice, OpenOffer, Signature, join};
use crate::network::open::{Member, OpenEntry};
use crate::network::rules::{Rule, rules};
use crate::places::Places;
use crate::process::action::{MultiAction, Names, label_text, names};
use crate::process::points::ControlPoints;
use crate::process::program::Program;
use crate::process::steps::{MAX_CANDIDATES, Offer, Pending, Solution, unbounded};
use crate::process::term::Term;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::hash::{Map, Set, content_of};
use gridlock_lts::model::network::{Label, LeafIx, Local, LocalLabel, Network, Outcome, TableSource};
use gridlock_lts::model::stuck::Stuck;
use std::collections::VecDeque;
use std::sync::{Arc, RwLock};

/// How many values a leaf tries by itself before it waits for what its partners offer.
const OWN_CANDIDATES: usize = 4096;

/// The most vectors that are made ahead of time, and the most that the expansion of one local state may add on demand:
/// each combination of labels that may happen at once is one.
pub const MAX_VECTORS: usize = 300_000;

/// The work of a move of a local state, besides what is evaluated for it: its target is looked up, and it is put in order.
const MOVING: u64 = 8;

/// The multi-action behind each label of a network, for properties that look at names and values. Shared, since labels
/// may still be added while a search runs.
pub type LabelActions = Arc<RwLock<Map<Label, MultiAction>>>;

/// Fills the tables of one network.
pub struct Builder {
    pub(super) program: Program,
    context: Context,
    pub(super) rules: Arc<Vec<Rule>>,
    pub(super) leaves: Vec<LeafTables>,
    pub(super) vectors: Set<Vec<(LeafIx, LocalLabel)>>,
    events: VecDeque<Event>,
    /// Whether some label carries an irreducible term.
    pub(super) irreducible: bool,
    /// Whether local states are expanded ahead of time.
    ahead: bool,
    /// How many vectors there were before the present local state was expanded.
    vectors_before: usize,
    /// Whether there are too many vectors; nothing is built any more then.
    overflow: bool,
    /// Work that joins, questions and moves did.
    joined: u64,
    actions: LabelActions,
    places: Places,
    points: ControlPoints,
    operators: Vec<Span>,
}

#[derive(Default)]
pub(super) struct LeafTables {
    name: String,
    terms: Vec<Term>,
    ids: Map<Term, Local>,
    pub(super) signatures: Vec<Signature>,
    pub(super) signature_ids: Map<Vec<crate::model::ActName>, usize>,
    pub(super) labels: Vec<LabelEntry>,
    label_ids: Map<MultiAction, usize>,
    /// For each signature its open offers.
    pub(super) opens: Vec<Vec<OpenEntry>>,
    terminate: Option<LocalLabel>,
}

pub(super) struct LabelEntry {
    pub(super) acts: MultiAction,
    signature: usize,
    /// Set once the label is part of a vector.
    local: Option<LocalLabel>,
    /// Moves that wait for that.
    waiting: Vec<(Local, Pending)>,
}

enum Event {
    Label(usize, usize),
    Open(usize, usize, OpenOffer, Member),
}

impl Builder {
    /// A builder, and the network with every leaf in its initial state. `places` holds the text of the specification.
    pub fn new(program: Program, flat: Flat, places: Places) -> Eval<(Builder, Network)> {
        let alphabets =
            flat.leaves.iter().map(|l| alphabet(&program, &l.term, l.span)).collect::<Eval<Vec<_>>>()?;
        let whole = program.node(program.init).span;
        let rules = Arc::new(rules(&flat.context, &alphabets, whole, &flat.operators)?);
        let mut builder = Builder {
            points: ControlPoints::new(&program, &places),
            operators: flat.operators,
            program,
            context: flat.context,
            rules: rules.clone(),
            leaves: flat.leaves.iter().map(|_| LeafTables::default()).collect(),
            vectors: Set::default(),
            events: VecDeque::new(),
            irreducible: false,
            ahead: false,
            vectors_before: 0,
            overflow: false,
            joined: 0,
            actions: LabelActions::default(),
            places,
        };
        for (r, rule) in rules.iter().enumerate() {
            for (p, (leaf, names)) in rule.parts.iter().enumerate() {
                let tables = &mut builder.leaves[*leaf];
                let next = tables.signatures.len();
                let id = *tables.signature_ids.entry(names.clone()).or_insert(next);
                if id == next {
                    tables.signatures.push(Signature::new(names.clone()));
                    tables.opens.push(Vec::new());
                }
                tables.signatures[id].uses.push((r, p));
            }
        }
        let mut net = Network::new();
        for (i, LeafStart { name, term, .. }) in flat.leaves.into_iter().enumerate() {
            builder.leaves[i].name.clone_from(&name);
            net.add_leaf(name);
            builder.intern(&mut net, i, term);
        }
        Ok((builder, net))
    }

    /// How many rewrite steps one evaluation may take.
    pub fn step_limit(&self) -> u64 {
        self.program.ev.meter.step_limit()
    }

    /// Bounds the rewrite steps of one evaluation from now on.
    pub fn limit_steps(&self, limit: u64) {
        self.program.ev.meter.limit_steps(limit);
    }

    /// Whether an evaluation was cut off since the bound was set.
    pub fn hit_step_limit(&self) -> bool {
        self.program.ev.meter.hit_limit()
    }

    /// The work done so far, in evaluations and around them. It depends on nothing but what was expanded, in which order.
    pub fn work(&self) -> u64 {
        self.program.ev.meter.work() + self.joined
    }

    /// Counts work that is not evaluation.
    pub(super) fn spend(&mut self, work: u64) {
        self.joined += work;
    }

    /// Whether local states are expanded ahead of time from now on, when what they add is bounded in all.
    pub fn fill_ahead(&mut self, ahead: bool) {
        self.ahead = ahead;
    }

    /// Whether there are more vectors than may be made.
    pub fn has_too_many_vectors(&self) -> bool {
        self.overflow
    }

    /// Begins again: forgets all tables apart from the initial states.
    pub fn reset(&mut self, net: &mut Network) {
        self.begin_at(net, &net.initial());
    }

    /// Makes these local states, one for each leaf, the initial ones, and forgets all tables.
    pub fn begin_at(&mut self, net: &mut Network, state: &[Local]) {
        let names: Vec<String> = net.leaves.drain(..).map(|leaf| leaf.name).collect();
        *net = Network::new();
        self.vectors = Set::default();
        self.events.clear();
        (self.irreducible, self.overflow) = (false, false);
        self.actions.write().expect("no writer panics").clear();
        for (i, (name, local)) in names.into_iter().zip(state).enumerate() {
            let mut tables = std::mem::take(&mut self.leaves[i]);
            let initial = tables.terms.swap_remove(local.0 as usize);
            let signatures: Vec<Signature> = tables.signatures.into_iter().map(Signature::emptied).collect();
            let opens = signatures.iter().map(|_| Vec::new()).collect();
            let signature_ids = tables.signature_ids;
            self.leaves[i] =
                LeafTables { name: name.clone(), signatures, signature_ids, opens, ..LeafTables::default() };
            net.add_leaf(name);
            self.intern(net, i, initial);
        }
    }

    /// Removes from the network what a complete search did not reach. Nothing is left to be expanded afterwards.
    pub fn forget_unexpanded(&mut self, net: &mut Network) {
        for (tables, renumbered) in self.leaves.iter_mut().zip(net.forget_unexpanded()) {
            let mut keep = renumbered.iter();
            tables.terms.retain(|_| keep.next().is_some_and(|new| new.is_some()));
            tables.ids = tables.terms.iter().enumerate().map(|(i, t)| (t.clone(), Local(i as u32))).collect();
            // What waited for partners waits for ever.
            for label in &mut tables.labels {
                label.waiting = Vec::new();
            }
            for open in tables.opens.iter_mut().flatten() {
                open.members = Vec::new();
            }
        }
    }

    /// The rules, for people.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The name of an action.
    pub fn action_name(&self, name: crate::model::ActName) -> &str {
        &self.program.ev.model.action_names[name.ix()]
    }

    /// The checked specification.
    pub fn model(&self) -> &Arc<Model> {
        &self.program.ev.model
    }

    /// The multi-actions behind the labels.
    pub fn label_actions(&self) -> LabelActions {
        self.actions.clone()
    }

    /// The operators around the leaves.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The compiled specification.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Places in the specification, for people.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// The line of an operator of the context, by its number there.
    pub(super) fn operator_line(&self, operator: usize) -> usize {
        self.places.line(self.operators[operator])
    }

    /// A local state as a term; state 0 is the initial one.
    pub(super) fn term(&self, leaf: usize, local: Local) -> &Term {
        &self.leaves[leaf].terms[local.0 as usize]
    }

    /// The number of leaves.
    pub(super) fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// The name of a leaf.
    pub(super) fn leaf_name(&self, leaf: usize) -> &str {
        &self.leaves[leaf].name
    }

    /// What a leaf was seen to offer of some names in any of its states, if some rule uses them: labels, and what is known
    /// of the arguments where some wait for a partner.
    pub(super) fn seen(&self, leaf: usize, names: &Names) -> (Vec<&MultiAction>, &[OpenOffer]) {
        let tables = &self.leaves[leaf];
        match tables.signature_ids.get(names).map(|signature| &tables.signatures[*signature]) {
            Some(offers) => (offers.labels.iter().map(|l| &tables.labels[*l].acts).collect(), &offers.opens),
            None => (Vec::new(), &[]),
        }
    }

    fn intern(&mut self, net: &mut Network, leaf: usize, term: Term) -> Local {
        let tables = &mut self.leaves[leaf];
        if let Some(&id) = tables.ids.get(&term) {
            return id;
        }
        let id = net.add_state(LeafIx(leaf as u32));
        tables.terms.push(term.clone());
        tables.ids.insert(term, id);
        id
    }

    fn fill(&mut self, net: &mut Network, leaf: usize, local: Local) {
        net.leaves[leaf].states[local.0 as usize].expanded = true;
        let term = self.leaves[leaf].terms[local.0 as usize].clone();
        if term == Term::Done {
            self.terminate(net, leaf, local);
            return;
        }
        if term == Term::Ended {
            net.leaves[leaf].terminated = Some(local);
        }
        self.program.ev.begin();
        match self.program.offers(&term) {
            Err(failure) => self.fault_at(net, leaf, local, failure),
            Ok(offers) => {
                for offer in offers {
                    if let Err(failure) = self.offer(net, leaf, local, offer) {
                        self.fault_at(net, leaf, local, failure);
                    }
                }
            }
        }
    }

    /// All leaves terminate together, in one step that no operator touches.
    fn terminate(&mut self, net: &mut Network, leaf: usize, local: Local) {
        let ended = self.intern(net, leaf, Term::Ended);
        net.leaves[leaf].terminated = Some(ended);
        let label = match self.leaves[leaf].terminate {
            Some(label) => label,
            None => {
                let label = net.add_local_label(LeafIx(leaf as u32), "Terminate");
                self.leaves[leaf].terminate = Some(label);
                let all: Option<Vec<(LeafIx, LocalLabel)>> = self
                    .leaves
                    .iter()
                    .enumerate()
                    .map(|(i, l)| Some((LeafIx(i as u32), l.terminate?)))
                    .collect();
                if let Some(parts) = all {
                    let visible = net.label("Terminate");
                    net.add_vector(parts, Outcome::Step(visible), visible);
                }
                label
            }
        };
        net.add_move(LeafIx(leaf as u32), local, label, ended);
    }

    fn offer(&mut self, net: &mut Network, leaf: usize, from: Local, offer: Offer) -> Eval<()> {
        match offer {
            Offer::Step(acts, next) => {
                self.add_label(net, leaf, from, acts, Pending::Ready(next));
                Ok(())
            }
            Offer::Summand { node, summand, values, outer } => {
                let names = self.program.summand(node, summand).names().expect("offers have actions");
                let Some(&signature) = self.leaves[leaf].signature_ids.get(&names) else { return Ok(()) };
                let uses = &self.leaves[leaf].signatures[signature].uses;
                let alone = uses.iter().any(|(r, _)| self.rules[*r].parts.len() == 1);
                let partners = uses.iter().any(|(r, _)| self.rules[*r].parts.len() > 1);
                let room = if partners { OWN_CANDIDATES } else { MAX_CANDIDATES };
                let nothing = Vec::new();
                let enumerated =
                    match self.program.answer((node, summand), &values, &outer, &nothing, room)? {
                        Solution::Steps(steps) => {
                            for (acts, next) in steps {
                                self.add_label(net, leaf, from, acts, next);
                            }
                            true
                        }
                        Solution::Unbounded(span) if alone => return Err(unbounded(span)),
                        Solution::Unbounded(_) => false,
                    };
                if partners && !self.program.summand(node, summand).vars.is_empty() {
                    let known =
                        self.in_order((node, summand), self.program.known_of((node, summand), &values)?);
                    let member = Member { from, node, summand, values, outer };
                    self.events.push_back(Event::Open(
                        leaf,
                        signature,
                        OpenOffer { known, enumerated },
                        member,
                    ));
                }
                Ok(())
            }
        }
    }

    pub(super) fn add_label(
        &mut self,
        net: &mut Network,
        leaf: usize,
        from: Local,
        acts: MultiAction,
        next: Pending,
    ) {
        let tables = &mut self.leaves[leaf];
        let Some(&signature) = tables.signature_ids.get(&names(&acts)) else { return };
        let fresh = tables.labels.len();
        let label = *tables.label_ids.entry(acts.clone()).or_insert(fresh);
        if label == fresh {
            tables.labels.push(LabelEntry { acts, signature, local: None, waiting: Vec::new() });
            self.events.push_back(Event::Label(leaf, label));
        }
        if let Some(local) = self.leaves[leaf].labels[label].local {
            self.add_move(net, leaf, from, local, &next);
        } else {
            self.leaves[leaf].labels[label].waiting.push((from, next));
        }
    }

    pub(super) fn add_move(
        &mut self,
        net: &mut Network,
        leaf: usize,
        from: Local,
        label: LocalLabel,
        next: &Pending,
    ) {
        self.spend(MOVING);
        let term = match self.program.finish(next) {
            Ok(term) => term,
            Err(failure) => Term::Fault(Arc::new(failure)),
        };
        let to = self.intern(net, leaf, term);
        net.add_move(LeafIx(leaf as u32), from, label, to);
    }

    /// The local label of a label that takes part in a vector; its waiting moves become real.
    pub(super) fn live(&mut self, net: &mut Network, leaf: usize, label: usize) -> LocalLabel {
        if let Some(local) = self.leaves[leaf].labels[label].local {
            return local;
        }
        let text = label_text(&self.program.ev.model, &self.leaves[leaf].labels[label].acts);
        let local = net.add_local_label(LeafIx(leaf as u32), text);
        let entry = &mut self.leaves[leaf].labels[label];
        entry.local = Some(local);
        for (from, next) in std::mem::take(&mut entry.waiting) {
            self.add_move(net, leaf, from, local, &next);
        }
        local
    }

    fn settle(&mut self, net: &mut Network) {
        while let Some(event) = self.events.pop_front() {
            match event {
                Event::Label(leaf, label) => {
                    let entry = &self.leaves[leaf].labels[label];
                    let (signature, acts) = (entry.signature, entry.acts.clone());
                    self.irreducible |= acts.iter().any(|a| a.args.iter().any(Value::has_stuck));
                    self.leaves[leaf].signatures[signature].add_label(label, &acts);
                    self.join_all(net, leaf, signature, Choice::Label(label));
                }
                Event::Open(leaf, signature, offer, member) => self.open(net, leaf, signature, offer, member),
            }
        }
    }

    pub(super) fn join_all(&mut self, net: &mut Network, leaf: usize, signature: usize, choice: Choice) {
        let rules = self.rules.clone();
        let uses = self.leaves[leaf].signatures[signature].uses.clone();
        for (r, part) in uses {
            let alone = rules[r].parts.len() == 1;
            let room = if alone { usize::MAX } else { self.room(net) };
            let joined = join(self, (r, &rules[r]), (part, choice), room);
            self.joined += (1 + joined.len() * rules[r].parts.len()) as u64;
            if joined.len() >= room {
                self.overflow = true;
                self.events.clear();
                return;
            }
            for (choices, groups) in joined {
                // One choice may have a hundred thousand partners.
                if self.program.ev.meter.look() {
                    return self.events.clear();
                }
                if choices.iter().all(|c| matches!(c, Choice::Label(_))) {
                    self.combine(net, r, &choices);
                } else if self.is_worth_asking(&rules[r], &choices, &groups) {
                    self.question(net, r, choices, &groups);
                }
            }
        }
    }

    /// How many vectors may still be made.
    fn room(&self, net: &Network) -> usize {
        let counted_from = if self.ahead { 0 } else { self.vectors_before };
        MAX_VECTORS.saturating_sub(net.vectors.len() - counted_from)
    }

    /// All parts are labels: the combination is a vector if the operators let it pass.
    fn combine(&mut self, net: &mut Network, rule: usize, choices: &[Choice]) {
        let rules = self.rules.clone();
        let leaf_labels: Vec<(usize, usize)> = rules[rule]
            .parts
            .iter()
            .zip(choices)
            .map(|((leaf, _), c)| match c {
                Choice::Label(l) => (*leaf, *l),
                Choice::Open(_) => unreachable!("only labels here"),
            })
            .collect();
        let acts: Vec<(usize, &MultiAction)> =
            leaf_labels.iter().map(|(leaf, l)| (*leaf, &self.leaves[*leaf].labels[*l].acts)).collect();
        let Some((visible, hidden)) = self.context.compose(&acts) else { return };
        let model = self.program.ev.model.clone();
        let label = self.label(net, &model, visible.clone());
        let unhidden =
            if hidden.is_empty() { label } else { self.label(net, &model, [visible, hidden].concat()) };
        let parts: Vec<(LeafIx, LocalLabel)> =
            leaf_labels.into_iter().map(|(leaf, l)| (LeafIx(leaf as u32), self.live(net, leaf, l))).collect();
        if self.vectors.insert(parts.clone()) {
            net.add_vector(parts, Outcome::Step(label), unhidden);
        }
    }

    fn label(&self, net: &mut Network, model: &Model, mut acts: MultiAction) -> Label {
        acts.sort();
        let label = net.label(&label_text(model, &acts));
        self.actions.write().expect("no writer panics").entry(label).or_insert(acts);
        label
    }

    /// The specification has no meaning once a search reaches this local state.
    fn fault_at(&mut self, net: &mut Network, leaf: usize, local: Local, failure: Failure) {
        let label = net.add_local_label(LeafIx(leaf as u32), format!("fault: {}", failure.message));
        net.add_move(LeafIx(leaf as u32), local, label, local);
        self.fault_vector(net, vec![(LeafIx(leaf as u32), label)], failure);
    }

    pub(super) fn fault_vector(
        &mut self,
        net: &mut Network,
        parts: Vec<(LeafIx, LocalLabel)>,
        failure: Failure,
    ) {
        // What was cut short is no fault of the specification.
        if self.program.ev.meter.halted() {
            return;
        }
        let mut text = match failure.span {
            Some(span) => format!("{}: {}", self.places.full(span), failure.message),
            None => failure.message,
        };
        if let Some(help) = failure.help {
            text.push_str("\n  help: ");
            text.push_str(&help);
        }
        net.faults.push(text);
        net.add_vector(parts, Outcome::Fault(net.faults.len() as u32 - 1), Label::TAU);
    }
}

impl TableSource for Builder {
    fn expand(&mut self, net: &mut Network, leaf: LeafIx, local: Local) -> Result<()> {
        if !net.leaves[leaf.0 as usize].states[local.0 as usize].expanded {
            self.vectors_before = net.vectors.len();
            self.fill(net, leaf.0 as usize, local);
            self.settle(net);
        }
        if self.program.ev.meter.halted() {
            // Some steps are missing. Another thread must not take the state for one that has no more.
            net.leaves[leaf.0 as usize].states[local.0 as usize].expanded = false;
            return Err(Limit::Interrupted.into());
        }
        if self.overflow {
            let name = &net.leaves[leaf.0 as usize].name;
            return Err(Error::Input(format!(
                "what `{name}` does in one local state combines with what others do in more than {MAX_VECTORS} ways\n  \
                 help: put an allow around the parallel processes that names fewer actions that may happen at \
                 once, or bound the values of their arguments"
            )));
        }
        Ok(())
    }

    fn describe(&self, leaf: LeafIx, local: Local) -> String {
        self.points.describe(&self.program, self.term(leaf.0 as usize, local))
    }

    /// What people read leaves out operators, and is slower.
    fn content(&self, leaf: LeafIx, local: Local) -> u128 {
        content_of(self.term(leaf.0 as usize, local))
    }

    fn excerpt(&self, leaf: LeafIx, local: Local) -> Option<String> {
        let span = self.points.place(&self.program, self.term(leaf.0 as usize, local))?;
        Some(self.places.excerpt(span))
    }

    fn explain(&self, state: &[Local]) -> Vec<Stuck> {
        explain(self, state)
    }
}
