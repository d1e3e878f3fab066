//! Why leaves do not move in a state: for each offer what stands in its way, and what was probably forgotten.
//!
//! The tables of a network have only what survives the rules, so everything is asked again here: a leaf's local state for
//! what it offers, the operators around the leaf for what they do to it, and the rules for which leaves could take part. An
//! offer that some rule uses lacks a partner *in this state*; one that no rule uses can never happen, and the operators say
//! why. Everything is in the order of the specification, so equal states have equal explanations.

use crate::data::value::Value;
use crate::diagnostic::Span;
use crate::model::ActName;
use crate::network::alphabet::alphabet;
use crate::network::build::Builder;
use crate::network::flatten::Context;
use crate::network::join::OpenOffer;
use crate::network::rules::Rule;
use crate::process::action::{Act, MultiAction, Names, Operator, label_text, names};
use crate::process::program::SummandHead;
use crate::process::steps::{Known, Offer, Solution};
use gridlock_lts::base::hash::Map;
use gridlock_lts::model::network::{LeafIx, Local};
use gridlock_lts::model::short_names::short_names;
use gridlock_lts::model::stuck::{Obstacle, Refusal, Stuck};
use std::collections::{BTreeMap, BTreeSet};

/// Values that a sum may run through to list an offer; with more of them the offer is listed with `_`.
const CANDIDATES: usize = 64;
/// Offers of one leaf that are listed, how many of them that differ in arguments only, and how many are looked at.
const LISTED: usize = 12;
const ALIKE: usize = 2;
const CONSIDERED: usize = 64;
/// Rules that are looked at for one offer.
const RULES: usize = 256;
/// Partners that one sentence names.
const NAMED: usize = 3;

/// Something that a leaf offers: names, sorted, and what is known of the arguments, in the same order.
#[derive(Clone, PartialEq, Debug)]
struct Offered {
    names: Names,
    known: Known,
}

/// Why each leaf does not move in a state that has no step.
pub fn explain(builder: &Builder, state: &[Local]) -> Vec<Stuck> {
    let scene = Scene::new(builder);
    let here: Vec<Vec<Offered>> =
        state.iter().enumerate().map(|(leaf, local)| scene.offers(leaf, *local)).collect();
    (0..here.len())
        .map(|leaf| {
            let mut alike: BTreeMap<(&Names, Obstacle), usize> = BTreeMap::new();
            let mut offers = Vec::new();
            for offered in here[leaf].iter().take(CONSIDERED) {
                let refusal = scene.refusal(leaf, offered, &here);
                let number = alike.entry((&offered.names, refusal.obstacle)).or_default();
                *number += 1;
                if *number <= ALIKE && offers.len() < LISTED {
                    offers.push(refusal);
                }
            }
            let more = here[leaf].len() - offers.len();
            Stuck { leaf: LeafIx(leaf as u32), offers, more }
        })
        .collect()
}

/// What each leaf could do but for the operators: the multi-actions that no rule uses.
pub fn blocked_everywhere(builder: &Builder) -> Vec<(LeafIx, Vec<Refusal>)> {
    let scene = Scene::new(builder);
    let refused = |leaf: usize| {
        let unused = scene.alphabets[leaf].iter().filter(|names| !scene.is_used(leaf, names));
        unused.map(|names| scene.blocked(leaf, names, scene.names_text(names))).collect::<Vec<Refusal>>()
    };
    let leaves = (0..builder.leaf_count()).map(|leaf| (LeafIx(leaf as u32), refused(leaf)));
    leaves.filter(|(_, refused)| !refused.is_empty()).collect()
}

/// The builder, and what is computed once for all leaves.
struct Scene<'b> {
    builder: &'b Builder,
    /// For each leaf its short name.
    short: Vec<String>,
    /// For each leaf the multi-actions that it may ever perform.
    alphabets: Vec<Vec<Names>>,
    /// The rules that use a multi-action of a leaf, and as which part; those with the fewest parts first.
    uses: Map<(usize, Names), Vec<(usize, usize)>>,
}

/// An operator on the way from a leaf outwards: its number in the context, and what it is applied to.
struct Around<'c> {
    number: usize,
    operator: &'c Operator,
    inside: &'c Context,
}

impl<'b> Scene<'b> {
    fn new(builder: &'b Builder) -> Self {
        let leaves = 0..builder.leaf_count();
        let full: Vec<&str> = leaves.clone().map(|leaf| builder.leaf_name(leaf)).collect();
        // An alphabet that cannot be worked out was refused before there was a builder.
        let alphabets = leaves
            .map(|leaf| {
                alphabet(builder.program(), builder.term(leaf, Local(0)), Span::default()).unwrap_or_default()
            })
            .collect();
        let mut uses: Map<(usize, Names), Vec<(usize, usize)>> = Map::default();
        let mut rules: Vec<usize> = (0..builder.rules().len()).collect();
        rules.sort_by_key(|rule| builder.rules()[*rule].parts.len());
        for rule in rules {
            for (part, used) in builder.rules()[rule].parts.iter().enumerate() {
                uses.entry(used.clone()).or_default().push((rule, part));
            }
        }
        Scene { builder, short: short_names(&full), alphabets, uses }
    }

    /// What a leaf offers in a state. An offer whose evaluation fails is a fault, which is reported elsewhere.
    fn offers(&self, leaf: usize, local: Local) -> Vec<Offered> {
        let program = self.builder.program();
        program.ev.begin();
        let mut all: Vec<Offered> = Vec::new();
        for offer in program.offers(self.builder.term(leaf, local)).unwrap_or_default() {
            let found = match offer {
                Offer::Step(acts, _) => vec![Offered::new(&acts)],
                Offer::Summand { node, summand, values, outer } => {
                    let place = (node, summand);
                    match program.answer(place, &values, &outer, &Vec::new(), CANDIDATES) {
                        Ok(Solution::Steps(steps)) => {
                            steps.iter().map(|(acts, _)| Offered::new(acts)).collect()
                        }
                        Ok(Solution::Unbounded(_)) => match program.known_of(place, &values) {
                            Ok(known) => vec![self.open(place, known)],
                            Err(_) => Vec::new(),
                        },
                        Err(_) => Vec::new(),
                    }
                }
            };
            all.extend(found);
        }
        let mut different: Vec<Offered> = Vec::new();
        for offered in all {
            if !different.contains(&offered) {
                different.push(offered);
            }
        }
        different
    }

    /// An offer that waits for values, with its actions sorted.
    fn open(&self, (node, summand): (crate::process::program::NodeId, usize), known: Known) -> Offered {
        let SummandHead::Action(acts) = &self.builder.program().summand(node, summand).head else {
            unreachable!("offers have actions")
        };
        let mut pairs: Vec<(ActName, Vec<Option<Value>>)> =
            acts.iter().map(|act| act.name).zip(known).collect();
        pairs.sort_by_key(|pair| pair.0);
        let (names, known) = pairs.into_iter().unzip();
        Offered { names, known }
    }

    fn is_used(&self, leaf: usize, names: &Names) -> bool {
        self.uses.contains_key(&(leaf, names.clone()))
    }

    fn refusal(&self, leaf: usize, offered: &Offered, here: &[Vec<Offered>]) -> Refusal {
        match self.uses.get(&(leaf, offered.names.clone())) {
            None => self.blocked(leaf, &offered.names, self.text(offered)),
            Some(uses) => {
                let rules: Vec<(&Rule, usize)> = uses
                    .iter()
                    .take(RULES)
                    .map(|(rule, part)| (&self.builder.rules()[*rule], *part))
                    .collect();
                self.alone(offered, &rules, here)
            }
        }
    }

    /// An offer that some rule uses: which partners are missing for it in this state.
    fn alone(&self, offered: &Offered, rules: &[(&Rule, usize)], here: &[Vec<Offered>]) -> Refusal {
        let action = self.text(offered);
        let mut waits: BTreeSet<(usize, usize, String)> = BTreeSet::new();
        let mut others: BTreeSet<(usize, String)> = BTreeSet::new();
        let mut never: BTreeSet<(usize, String)> = BTreeSet::new();
        for (rule, mine) in rules {
            let mut missing = BTreeSet::new();
            let mut possible = true;
            for (part, (leaf, names)) in rule.parts.iter().enumerate().filter(|(part, _)| part != mine) {
                let fits = |other: &Offered| agree(rule, (*mine, offered), (part, other));
                let now: Vec<&Offered> = here[*leaf].iter().filter(|o| o.names == *names).collect();
                if now.iter().any(|other| fits(other)) {
                    continue;
                }
                let all = self.seen(*leaf, names);
                let unseen = all.is_empty();
                let seen: Vec<Offered> = all.into_iter().filter(fits).collect();
                match &seen[..] {
                    // It is written in the process, behind something that has not happened.
                    [] if unseen => _ = missing.insert((*leaf, self.names_text(names))),
                    [first, ..] => {
                        let wanted = wanted(rule, (*mine, offered), (part, first));
                        missing.insert((*leaf, self.text(&wanted)));
                    }
                    [] if now.is_empty() => {
                        possible = false;
                        never.insert((*leaf, self.names_text(names)));
                    }
                    [] => {
                        possible = false;
                        others.extend(now.iter().map(|other| (*leaf, self.text(other))));
                    }
                }
            }
            if possible {
                let number = missing.len();
                waits.extend(missing.into_iter().map(|(leaf, text)| (number, leaf, text)));
            }
        }
        // Of those who could join in, the ones with the fewest missing partners say most.
        let fewest = waits.first().map_or(0, |wait| wait.0);
        let waits: Vec<(usize, String)> =
            waits.into_iter().filter(|wait| wait.0 == fewest).map(|(_, leaf, text)| (leaf, text)).collect();
        let (obstacle, why) = if !waits.is_empty() {
            let joint = if fewest > 1 { " and " } else { " or " };
            (Obstacle::NotReady, format!("waits for {}", self.listed(&waits, " of ", joint)))
        } else if !others.is_empty() {
            let others: Vec<(usize, String)> = others.into_iter().collect();
            let whom = self.listed(&others, " of ", ", ");
            (Obstacle::OtherArguments, format!("needs equal arguments, but there is only {whom}"))
        } else {
            let never: Vec<(usize, String)> = never.into_iter().collect();
            let whom = self.listed(&never, " of ", " or ");
            (Obstacle::OtherArguments, format!("needs equal arguments, with which {whom} was never seen"))
        };
        Refusal { action, obstacle, why, remedy: None }
    }

    /// What a leaf was seen to offer of some names, in any of its states.
    fn seen(&self, leaf: usize, names: &Names) -> Vec<Offered> {
        let (labels, opens) = self.builder.seen(leaf, names);
        let open = |offer: &OpenOffer| Offered { names: names.clone(), known: offer.known.clone() };
        labels.into_iter().map(Offered::new).chain(opens.iter().map(open)).collect()
    }

    /// An offer that no rule uses: which operator stops it, and what would help.
    fn blocked(&self, leaf: usize, own: &Names, action: String) -> Refusal {
        let mut path = Vec::new();
        around(self.builder.context(), leaf, &mut 0, &mut path);
        let mut current = own.clone();
        let mut joins: Vec<(usize, Names)> = Vec::new();
        for (step, around) in path.iter().enumerate() {
            match around.operator {
                Operator::Comm(rules) => {
                    for (left, to) in
                        rules.iter().filter(|(left, _)| left.iter().any(|n| current.contains(n)))
                    {
                        if let Some(refusal) = self.lacks_partner(leaf, &current, left, around, &action) {
                            return refusal;
                        }
                        let mut joint: Names =
                            current.iter().copied().filter(|name| !left.contains(name)).collect();
                        joint.push(*to);
                        joint.sort();
                        joins.push((step, joint));
                    }
                }
                Operator::Block(_) | Operator::Allow(_) if !passes(around.operator, &current) => {
                    return self.stopped(leaf, &path, around, &current, &joins, action);
                }
                operator => current = through(operator, current),
            }
        }
        let why = "no combination with other processes passes the operators around it".to_owned();
        Refusal { action, obstacle: Obstacle::Blocked, why, remedy: None }
    }

    /// A communication whose partners no leaf offers.
    fn lacks_partner(
        &self,
        leaf: usize,
        current: &Names,
        left: &Names,
        around: &Around,
        action: &str,
    ) -> Option<Refusal> {
        let mut partners = left.clone();
        for name in current {
            if let Some(at) = partners.iter().position(|partner| partner == name) {
                partners.remove(at);
            }
        }
        let offered = self.offered_inside(around.inside, leaf);
        let absent: Names = partners.into_iter().filter(|partner| !offered.contains(partner)).collect();
        if absent.is_empty() {
            return None;
        }
        let (wanted, line) = (self.names_text(&absent), self.builder.operator_line(around.number));
        Some(Refusal {
            action: action.to_owned(),
            obstacle: Obstacle::NoPartner,
            why: format!("comm (line {line}) joins it with {wanted}, which no other process offers there"),
            remedy: Some(format!(
                "let another process inside the comm of line {line} do {wanted}, or correct the names in that comm"
            )),
        })
    }

    /// An offer that an operator stops, alone and in all communications.
    fn stopped(
        &self,
        leaf: usize,
        path: &[Around],
        at: &Around,
        current: &Names,
        joins: &[(usize, Names)],
        action: String,
    ) -> Refusal {
        let (line, word) = (self.builder.operator_line(at.number), word(at.operator));
        let refusal = |why: String, remedy: String| Refusal {
            action: action.clone(),
            obstacle: Obstacle::Blocked,
            why,
            remedy: Some(remedy),
        };
        for (step, joint) in joins {
            let mut joint = joint.clone();
            for around in &path[step + 1..] {
                if !passes(around.operator, &joint) {
                    let (text, line) = (self.names_text(&joint), self.builder.operator_line(around.number));
                    return match around.operator {
                        Operator::Allow(_) => refusal(
                            format!("allow (line {line}) does not list {text}, which comm makes of it"),
                            format!("add {text} to the allow of line {line}"),
                        ),
                        _ => refusal(
                            format!("block (line {line}) forbids {text}, which comm makes of it"),
                            format!("take {text} out of the block of line {line}"),
                        ),
                    };
                }
                joint = through(around.operator, joint);
            }
        }
        let text = self.names_text(current);
        let why = match at.operator {
            Operator::Allow(_) => format!("allow (line {line}) does not list {text}"),
            _ => format!("{word} (line {line}) forbids {text}"),
        };
        if !joins.is_empty() {
            return Refusal { action, obstacle: Obstacle::Blocked, why, remedy: None };
        }
        let open = match at.operator {
            Operator::Allow(_) => format!("add {text} to the allow of line {line}"),
            _ => format!("take {text} out of the block of line {line}"),
        };
        match self.lonely_partner(leaf, current, at.inside) {
            Some(partner) => {
                let rule = format!("{text}|{} -> …", self.names_text(&vec![partner]));
                refusal(
                    why,
                    format!("no comm inside that {word} takes {text}: add a rule such as {rule}; or {open}"),
                )
            }
            None => refusal(why, open),
        }
    }

    /// An action of another process that no rule uses either and that has parameters of the same sorts.
    fn lonely_partner(&self, leaf: usize, current: &Names, inside: &Context) -> Option<ActName> {
        let [mine] = current[..] else { return None };
        let model = self.builder.model();
        let sorts = |name: ActName| {
            let own = model.actions.iter().filter(move |(declared, _)| *declared == name);
            own.map(|(_, sorts)| sorts).collect::<Vec<_>>()
        };
        let mut leaves = Vec::new();
        leaves_of(inside, &mut leaves);
        let unused = leaves.into_iter().filter(|other| *other != leaf).flat_map(|other| {
            let alphabet = self.alphabets[other].iter();
            alphabet.filter(move |names| names.len() == 1 && !self.is_used(other, names))
        });
        unused.map(|names| names[0]).find(|name| *name != mine && sorts(*name) == sorts(mine))
    }

    /// The names that the other leaves inside a context offer, as they are seen at its outside.
    fn offered_inside(&self, inside: &Context, leaf: usize) -> BTreeSet<ActName> {
        let mut leaves = Vec::new();
        leaves_of(inside, &mut leaves);
        let mut all = BTreeSet::new();
        for other in leaves.into_iter().filter(|other| *other != leaf) {
            let mut path = Vec::new();
            around(inside, other, &mut 0, &mut path);
            for names in &self.alphabets[other] {
                let mut current = vec![names.clone()];
                for step in &path {
                    if let Operator::Comm(rules) = step.operator {
                        let results = rules.iter().filter(|(left, _)| left.iter().any(|n| names.contains(n)));
                        current.extend(results.map(|(_, to)| vec![*to]).collect::<Vec<_>>());
                    }
                    current.retain(|names| passes(step.operator, names));
                    current = current.into_iter().map(|names| through(step.operator, names)).collect();
                }
                all.extend(current.into_iter().flatten());
            }
        }
        all
    }

    /// Leaves with what they do: `take(0) of Fork(0) or take(0) of Fork(1)`, and so on.
    fn listed(&self, who: &[(usize, String)], between: &str, joint: &str) -> String {
        let name = |(leaf, text): &(usize, String)| format!("{text}{between}{}", self.short[*leaf]);
        let mut named: Vec<String> = who.iter().take(NAMED).map(name).collect();
        if who.len() > NAMED {
            named.push(format!("{} more", who.len() - NAMED));
        }
        named.join(joint)
    }

    fn names_text(&self, names: &Names) -> String {
        if names.is_empty() {
            return "tau".to_owned();
        }
        let mut texts: Vec<&str> = names.iter().map(|name| self.builder.action_name(*name)).collect();
        texts.sort_unstable();
        texts.join("|")
    }

    fn text(&self, offered: &Offered) -> String {
        let model = self.builder.model();
        let known = offered.names.iter().zip(&offered.known);
        let whole: Option<MultiAction> = known
            .clone()
            .map(|(name, args)| Some(Act { name: *name, args: args.iter().cloned().collect::<Option<_>>()? }))
            .collect();
        if let Some(acts) = whole {
            return label_text(model, &acts);
        }
        let text = |value: &Option<Value>| match value {
            Some(value) => crate::data::print::value_text(model, value),
            None => "_".to_owned(),
        };
        let act = |(name, args): (&ActName, &Vec<Option<Value>>)| match &args[..] {
            [] => self.builder.action_name(*name).to_owned(),
            args => {
                let args: Vec<String> = args.iter().map(text).collect();
                format!("{}({})", self.builder.action_name(*name), args.join(", "))
            }
        };
        known.map(act).collect::<Vec<_>>().join("|")
    }
}

impl Offered {
    fn new(acts: &MultiAction) -> Self {
        let known = acts.iter().map(|act| act.args.iter().cloned().map(Some).collect()).collect();
        Offered { names: names(acts), known }
    }
}

/// Whether two parts of a rule agree where they must carry equal arguments.
fn agree(rule: &Rule, (p, a): (usize, &Offered), (q, b): (usize, &Offered)) -> bool {
    let equal = |x: &[Option<Value>], y: &[Option<Value>]| {
        let open_or_same = |(x, y): (&Option<Value>, &Option<Value>)| match (x, y) {
            (Some(x), Some(y)) => x == y,
            _ => true,
        };
        x.len() == y.len() && x.iter().zip(y).all(open_or_same)
    };
    rule.groups.iter().all(|group| {
        let of = |part: usize| group.iter().filter(move |member| member.0 == part).map(|member| member.1);
        of(p).all(|i| of(q).all(|j| equal(&a.known[i], &b.known[j])))
    })
}

/// What a part of a rule must do for another part: its arguments as far as the other part fixes them.
fn wanted(rule: &Rule, (p, mine): (usize, &Offered), (q, other): (usize, &Offered)) -> Offered {
    let mut known: Known = other.known.iter().map(|args| vec![None; args.len()]).collect();
    for group in &rule.groups {
        let of = |part: usize| group.iter().filter(move |member| member.0 == part).map(|member| member.1);
        if let Some(fixed) = of(p).next() {
            of(q).for_each(|at| known[at].clone_from(&mine.known[fixed]));
        }
    }
    Offered { names: other.names.clone(), known }
}

fn word(operator: &Operator) -> &'static str {
    match operator {
        Operator::Block(_) => "block",
        Operator::Hide(_) => "hide",
        Operator::Rename(_) => "rename",
        Operator::Allow(_) => "allow",
        Operator::Comm(_) => "comm",
    }
}

/// Whether an operator lets a multi-action pass.
fn passes(operator: &Operator, names: &Names) -> bool {
    match operator {
        Operator::Block(blocked) => !names.iter().any(|name| blocked.contains(name)),
        Operator::Allow(allowed) => names.is_empty() || allowed.contains(names),
        Operator::Hide(_) | Operator::Rename(_) | Operator::Comm(_) => true,
    }
}

/// What an operator makes of a multi-action that does not communicate.
fn through(operator: &Operator, mut names: Names) -> Names {
    match operator {
        Operator::Hide(hidden) => names.retain(|name| !hidden.contains(name)),
        Operator::Rename(pairs) => {
            for name in &mut names {
                if let Some((_, to)) = pairs.iter().find(|(from, _)| from == name) {
                    *name = *to;
                }
            }
            names.sort();
        }
        Operator::Block(_) | Operator::Allow(_) | Operator::Comm(_) => {}
    }
    names
}

/// Collects the operators around a leaf, the innermost first; `number` counts operators, each before those inside it.
fn around<'c>(context: &'c Context, leaf: usize, number: &mut usize, path: &mut Vec<Around<'c>>) -> bool {
    match context {
        Context::Leaf(here) => *here == leaf,
        Context::Parallel(parts) => {
            let mut found = false;
            // All parts are visited, since all of them count.
            for part in parts {
                found |= around(part, leaf, number, path);
            }
            found
        }
        Context::Operator(operator, inside) => {
            let mine = *number;
            *number += 1;
            let found = around(inside, leaf, number, path);
            if found {
                path.push(Around { number: mine, operator, inside });
            }
            found
        }
    }
}

fn leaves_of(context: &Context, leaves: &mut Vec<usize>) {
    match context {
        Context::Leaf(leaf) => leaves.push(*leaf),
        Context::Parallel(parts) => parts.iter().for_each(|part| leaves_of(part, leaves)),
        Context::Operator(_, inside) => leaves_of(inside, leaves),
    }
}

#[cfg(test)]
mod tests;
