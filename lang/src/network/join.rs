//! Joining what leaves offer: which choices of the parts of a rule agree on the arguments that must be equal.
//!
//! A part's choice is a label (all values known) or an open offer (some arguments wait for a partner). The join runs
//! over the parts that agree with one given choice, through hash indices on the arguments already determined.

use crate::data::value::Value;
use crate::network::build::Builder;
use crate::network::rules::Rule;
use crate::process::action::{MultiAction, Names};
use crate::process::steps::Known;
use gridlock_lts::base::hash::Map;

/// What a part contributes: a label or an open offer of its leaf, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Choice {
    Label(usize),
    Open(usize),
}

/// What a leaf offers although some arguments are not known to it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OpenOffer {
    /// What is known of the arguments.
    pub known: Known,
    /// Whether the leaf has run through all values of its sorts by itself. Only an irreducible term, which is none of these
    /// values, can then still give it something new.
    pub enumerated: bool,
}

/// One kind of multi-action of a leaf, by names, with all that the leaf offers of it so far.
#[derive(Debug, Default)]
pub struct Signature {
    /// The names, sorted.
    pub names: Names,
    /// The rules it takes part in, and as which part.
    pub uses: Vec<(usize, usize)>,
    /// Labels offered, by number.
    pub labels: Vec<usize>,
    /// Open offers, by what is known of their arguments.
    pub opens: Vec<OpenOffer>,
    open_ids: Map<OpenOffer, usize>,
    /// The open offers that are not enumerated.
    waiting: Vec<usize>,
    /// For a set of positions, the labels by the arguments there.
    index: Vec<(Vec<usize>, Map<Vec<Vec<Value>>, Vec<usize>>)>,
}

impl Signature {
    /// A kind of multi-action of which nothing is offered yet.
    pub fn new(names: Names) -> Self {
        Signature { names, ..Signature::default() }
    }

    /// The same kind of multi-action, of which nothing is offered yet.
    pub fn emptied(self) -> Self {
        Signature { names: self.names, uses: self.uses, ..Signature::default() }
    }

    /// Makes a label available to joins.
    pub fn add_label(&mut self, label: usize, acts: &MultiAction) {
        self.labels.push(label);
        for (positions, map) in &mut self.index {
            map.entry(key(acts, positions)).or_default().push(label);
        }
    }

    /// The number of an open offer, and whether it is new.
    pub fn add_open(&mut self, offer: OpenOffer) -> (usize, bool) {
        if let Some(&at) = self.open_ids.get(&offer) {
            return (at, false);
        }
        let at = self.opens.len();
        if !offer.enumerated {
            self.waiting.push(at);
        }
        self.open_ids.insert(offer.clone(), at);
        self.opens.push(offer);
        (at, true)
    }

    /// The labels with the given arguments at the given positions.
    fn matching(
        &mut self,
        positions: &[usize],
        wanted: Vec<Vec<Value>>,
        all: &dyn Fn(usize) -> MultiAction,
    ) -> &[usize] {
        let at = match self.index.iter().position(|(p, _)| p == positions) {
            Some(at) => at,
            None => {
                let mut map: Map<Vec<Vec<Value>>, Vec<usize>> = Map::default();
                for &label in &self.labels {
                    map.entry(key(&all(label), positions)).or_default().push(label);
                }
                self.index.push((positions.to_vec(), map));
                self.index.len() - 1
            }
        };
        self.index[at].1.get(&wanted).map_or(&[], |v| v)
    }
}

fn key(acts: &MultiAction, positions: &[usize]) -> Vec<Vec<Value>> {
    positions.iter().map(|p| acts[*p].args.clone()).collect()
}

/// What is known of the arguments of each group of a rule.
pub type Groups = Vec<Option<Vec<Option<Value>>>>;

/// Access to what the leaves offer.
pub trait Offers {
    /// The signature of a part of a rule.
    fn signature(&mut self, rule: usize, part: usize) -> &mut Signature;
    /// The actions of a label of a part.
    fn acts(&self, rule: usize, part: usize, label: usize) -> &MultiAction;
}

impl Offers for Builder {
    fn signature(&mut self, rule: usize, part: usize) -> &mut Signature {
        let (leaf, names) = &self.rules[rule].parts[part];
        let tables = &mut self.leaves[*leaf];
        &mut tables.signatures[tables.signature_ids[names]]
    }

    fn acts(&self, rule: usize, part: usize, label: usize) -> &MultiAction {
        &self.leaves[self.rules[rule].parts[part].0].labels[label].acts
    }
}

/// Every choice of all parts of a rule that contains the given one and agrees in all groups; at most `room` of them.
pub fn join(
    offers: &mut dyn Offers,
    (number, rule): (usize, &Rule),
    (part, choice): (usize, Choice),
    room: usize,
) -> Vec<(Vec<Choice>, Groups)> {
    let mut groups: Groups = vec![None; rule.groups.len()];
    let mut chosen: Vec<Option<Choice>> = vec![None; rule.parts.len()];
    let mut out = Vec::new();
    let args = known_args(offers, number, part, choice);
    if agree(rule, part, &args, &mut groups) {
        chosen[part] = Some(choice);
        extend(offers, (number, rule), &mut chosen, groups, room, &mut out);
    }
    out
}

fn known_args(offers: &mut dyn Offers, rule: usize, part: usize, choice: Choice) -> Known {
    match choice {
        Choice::Label(l) => {
            offers.acts(rule, part, l).iter().map(|a| a.args.iter().cloned().map(Some).collect()).collect()
        }
        Choice::Open(o) => offers.signature(rule, part).opens[o].known.clone(),
    }
}

/// Adds what a part knows to the groups; `false` if it contradicts.
fn agree(rule: &Rule, part: usize, args: &Known, groups: &mut Groups) -> bool {
    for (g, members) in rule.groups.iter().enumerate() {
        for (_, position) in members.iter().filter(|m| m.0 == part) {
            let mine = &args[*position];
            match &mut groups[g] {
                None => groups[g] = Some(mine.clone()),
                Some(known) => {
                    if known.len() != mine.len() {
                        return false;
                    }
                    for (k, m) in known.iter_mut().zip(mine) {
                        match (&k, m) {
                            (Some(a), Some(b)) if a != b => return false,
                            (None, Some(b)) => *k = Some(b.clone()),
                            _ => {}
                        }
                    }
                }
            }
        }
    }
    true
}

fn extend(
    offers: &mut dyn Offers,
    (number, rule): (usize, &Rule),
    chosen: &mut Vec<Option<Choice>>,
    groups: Groups,
    room: usize,
    out: &mut Vec<(Vec<Choice>, Groups)>,
) {
    if out.len() >= room {
        return;
    }
    // The part about which most is determined comes next.
    let next = (0..rule.parts.len())
        .filter(|p| chosen[*p].is_none())
        .max_by_key(|p| (determined(rule, *p, &groups).len(), rule.parts.len() - p));
    let Some(part) = next else {
        out.push((chosen.iter().map(|c| c.expect("all parts chosen")).collect(), groups));
        return;
    };
    let fixed = determined(rule, part, &groups);
    let positions: Vec<usize> = fixed.iter().map(|f| f.0).collect();
    let wanted: Vec<Vec<Value>> = fixed.into_iter().map(|f| f.1).collect();
    let irreducible = groups.iter().flatten().flatten().flatten().any(Value::has_stuck);
    let candidates = candidates(offers, number, part, (&positions, wanted), irreducible);
    for choice in candidates {
        let mut groups = groups.clone();
        let args = known_args(offers, number, part, choice);
        if agree(rule, part, &args, &mut groups) {
            chosen[part] = Some(choice);
            extend(offers, (number, rule), chosen, groups, room, out);
            chosen[part] = None;
        }
    }
}

fn candidates(
    offers: &mut dyn Offers,
    rule: usize,
    part: usize,
    (positions, wanted): (&[usize], Vec<Vec<Value>>),
    irreducible: bool,
) -> Vec<Choice> {
    let labels: Vec<usize> = if positions.is_empty() {
        offers.signature(rule, part).labels.clone()
    } else {
        // The index is made on first use, from the labels there are.
        let acts: Map<usize, MultiAction> = if offers.signature(rule, part).has_index(positions) {
            Map::default()
        } else {
            let have = offers.signature(rule, part).labels.clone();
            have.iter().map(|l| (*l, offers.acts(rule, part, *l).clone())).collect()
        };
        offers.signature(rule, part).matching(positions, wanted, &|l| acts[&l].clone()).to_vec()
    };
    let signature = offers.signature(rule, part);
    let opens = if irreducible { (0..signature.opens.len()).collect() } else { signature.waiting.clone() };
    labels.into_iter().map(Choice::Label).chain(opens.into_iter().map(Choice::Open)).collect()
}

impl Signature {
    fn has_index(&self, positions: &[usize]) -> bool {
        self.index.iter().any(|(p, _)| p == positions)
    }
}

/// The positions of a part whose arguments are completely known, and these.
fn determined(rule: &Rule, part: usize, groups: &Groups) -> Vec<(usize, Vec<Value>)> {
    let mut fixed = Vec::new();
    for (members, known) in rule.groups.iter().zip(groups) {
        let Some(known) = known else { continue };
        let Some(values) = known.iter().cloned().collect::<Option<Vec<Value>>>() else { continue };
        for (_, position) in members.iter().filter(|m| m.0 == part) {
            fixed.push((*position, values.clone()));
        }
    }
    fixed.sort();
    fixed
}
