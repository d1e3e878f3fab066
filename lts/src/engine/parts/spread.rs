//! From tuples of macro-states back to what each component does: the run of a group is replaced by those of its children.

use super::Trouble;
use super::along::path;
use super::interface::{Interfaces, Kind};
use super::lift::{Goal, Happening, Item, Lift, What, internal, replaced, word};
use super::system::{BAD, TAU};

impl Lift<'_> {
    /// Replaces a group by its children, or a node that is a component by that component.
    pub(super) fn spread(
        &self,
        interfaces: &mut Interfaces,
        run: Vec<Happening>,
        item: usize,
        node: usize,
        ready: Option<&[u32]>,
        items: &mut Vec<Item>,
    ) -> Result<Vec<Happening>, Trouble> {
        let word = word(&run, item);
        let labels: Vec<u32> = word.iter().map(|&(_, label)| label).collect();
        let lts = interfaces.lts(node);
        let owner: Vec<u32> = (0..lts.labels().len() as u32).collect();
        let mut trouble = None;
        let path = {
            let at_goal = |member: u32, _: &[(u32, u32)]| match at_goal(interfaces, node, member, ready) {
                Ok(at) => at,
                Err(other) => {
                    trouble = Some(other);
                    false
                }
            };
            path(self.effort, &mut &lts, &labels, &owner, at_goal)
        };
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        let path = path?;
        let first = items.len();
        let last = path.last().map_or(0, |step| step.1);
        self.successors(interfaces, node, last, ready, items)?;
        let mut steps = Vec::with_capacity(path.len());
        let (mut from, mut position) = (0, 0);
        for (seen, to) in path {
            let label = if seen { labels[position] } else { TAU };
            position += usize::from(seen);
            steps.push((seen, parts(interfaces, node, first, (from, label, to))?));
            from = to;
        }
        replaced(run, item, &word, steps)
    }

    /// The items that take the place of a node.
    fn successors(
        &self,
        interfaces: &mut Interfaces,
        node: usize,
        last: u32,
        ready: Option<&[u32]>,
        items: &mut Vec<Item>,
    ) -> Result<(), Trouble> {
        match &interfaces.nodes[node].kind {
            Kind::Component { component, .. } => {
                let end = ready.map(|_| last);
                items.push(Item { what: What::Component(component.clone()), goal: end.map(Goal::State) });
            }
            Kind::Group(group) => {
                let children = group.children.clone();
                let mut chosen = match ready {
                    Some(ready) => interfaces.choice(node, last, ready)?,
                    None => None,
                }
                .map(Vec::into_iter);
                for child in children {
                    let goal = chosen.as_mut().and_then(Iterator::next).map(Goal::Ready);
                    items.push(Item { what: What::Node(child), goal });
                }
            }
        }
        Ok(())
    }
}

/// Whether a member is one to end in.
fn at_goal(
    interfaces: &mut Interfaces,
    node: usize,
    member: u32,
    ready: Option<&[u32]>,
) -> Result<bool, Trouble> {
    let Some(ready) = ready else { return Ok(true) };
    match interfaces.nodes[node].kind {
        Kind::Component { .. } => Ok(interfaces.offered(node, member).as_deref() == Some(ready)),
        Kind::Group(_) => Ok(interfaces.choice(node, member, ready)?.is_some()),
    }
}

/// What takes part in a step of a node.
fn parts(
    interfaces: &Interfaces,
    node: usize,
    first: usize,
    (from, label, to): (u32, u32, u32),
) -> Result<Vec<(usize, u32)>, Trouble> {
    let known = &interfaces.nodes[node];
    let moves = known.moves[from as usize].as_deref().unwrap_or_default();
    let taken = moves.iter().find(|m| m.label == label && m.to == to);
    let Some(taken) = taken else { return Err(internal("a group lacks a step of its own path")) };
    match &known.kind {
        Kind::Component { .. } if taken.via == TAU => Ok(Vec::new()),
        Kind::Component { .. } => Ok(vec![(first, taken.via)]),
        Kind::Group(group) => match group.syncs.get(taken.via as usize) {
            Some(joint) => Ok(joint.parts.iter().map(|&(i, label)| (first + i as usize, label)).collect()),
            None => {
                let tuple = &group.tuples[from as usize];
                let bad = |(&child, &at): (&usize, &u32)| interfaces.nodes[child].bad[at as usize];
                let child = group.children.iter().zip(&**tuple).position(bad);
                let child = child.ok_or_else(|| internal("a bad tuple has no bad component"))?;
                Ok(vec![(first + child, BAD)])
            }
        },
    }
}
