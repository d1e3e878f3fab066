//! Orders of independent moves: one trace for each class of traces that differ in nothing else.
//!
//! Two moves of a subsystem are independent if no leaf of it takes part in both. If one may follow the other, they may come
//! in the other order too, and lead to the same place. Traces that differ by such swaps are a class (Mazurkiewicz); what
//! each leaf does, one move after the other, is the same in all of them, and determines the class. Of each class the guide
//! [`Orders::classes`] has one trace, the first in lexicographic order, where moves are ordered by the first leaf that
//! takes part. It is the trace that a search with sleep sets takes: behind a move, earlier ones that are independent of it
//! are *asleep* until one that depends on them was taken. So a state of that guide is one of the subsystem with the moves
//! that are asleep there, and where all are asleep no trace of a class goes on.
//!
//! Nothing is said here about the other leaves of the network. They may well allow only some of the orders, so a search for a
//! class follows all of them.

#[cfg(test)]
mod tests;

use super::weights::{Graph, state_ix};
use super::{Edge, EdgeIx, Guide, StateIx};
use crate::base::hash::Map;
use crate::model::network::Local;
use std::collections::VecDeque;

/// What a move is, independent of where the other leaves are: equal numbers mean that the same leaves do the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActionIx(pub u32);

/// Why there are no classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoOrders {
    /// Cycles were cut: how often a leaf repeats a cycle then depends on the others.
    Bounded,
    /// Their guide would have more states than allowed.
    TooLarge {
        /// How many are allowed.
        limit: usize,
    },
}

/// The classes of the traces of a guide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Orders {
    classes: Guide,
    /// For each edge of `classes` the one of the original guide.
    originals: Vec<EdgeIx>,
    /// For each edge of the original guide its action.
    actions: Vec<ActionIx>,
    /// For each action the positions in [`Guide::leaves`] that take part, ascending.
    parts: Vec<Vec<usize>>,
}

impl Orders {
    /// The classes of a guide, if their own guide has not more states than `limit`.
    pub fn of(guide: &Guide, limit: usize) -> Result<Orders, NoOrders> {
        if guide.is_bounded() {
            return Err(NoOrders::Bounded);
        }
        let (actions, parts) = actions(guide);
        let mut sleep =
            Sleep { guide, actions: &actions, parts: &parts, known: Map::default(), order: Vec::new() };
        let mut edges = sleep.explore(limit)?;
        let order = sleep.order;
        blocked_left_out(guide, &order, &mut edges);
        // Numbered anew, breadth first, without those that nothing leads to any more.
        let mut numbers = vec![None; order.len()];
        numbers[0] = Some(0);
        let (mut kept, mut queue) = (vec![0usize], VecDeque::from([0usize]));
        while let Some(state) = queue.pop_front() {
            for &(_, target) in &edges[state] {
                if numbers[target].is_none() {
                    numbers[target] = Some(kept.len());
                    kept.push(target);
                    queue.push_back(target);
                }
            }
        }
        let (mut locals, mut of_states, mut originals) = (Vec::new(), Vec::new(), Vec::new());
        for &state in &kept {
            locals.extend_from_slice(guide.locals(order[state].0));
            originals.extend(edges[state].iter().map(|&(e, _)| e));
            let edge = |&(e, target): &(EdgeIx, usize)| Edge {
                projection: guide.edge(e).projection,
                target: state_ix(numbers[target].expect("numbered with the state before")),
                cut: false,
            };
            of_states.push(edges[state].iter().map(edge).collect());
        }
        let classes = Graph { locals, edges: of_states }.weighed(guide.projections.clone());
        Ok(Orders { classes, originals, actions, parts })
    }

    /// A guide with one trace for each class.
    pub fn classes(&self) -> &Guide {
        &self.classes
    }

    /// The edge of the original guide that an edge of [`Orders::classes`] is.
    pub fn original(&self, edge: EdgeIx) -> EdgeIx {
        self.originals[edge.0 as usize]
    }

    /// How many actions there are.
    pub fn actions(&self) -> usize {
        self.parts.len()
    }

    /// How many edges the original guide has.
    pub fn edges(&self) -> usize {
        self.actions.len()
    }

    /// The action of an edge of the original guide.
    pub fn action(&self, edge: EdgeIx) -> ActionIx {
        self.actions[edge.0 as usize]
    }

    /// Which leaves take part, as positions in [`Guide::leaves`], ascending.
    pub fn parts(&self, action: ActionIx) -> &[usize] {
        &self.parts[action.0 as usize]
    }

    /// The trace that stands for the class of a trace of the original guide, as edges of [`Orders::classes`]; `None` if it
    /// is not a trace up to its end.
    pub fn representative(&self, path: &[EdgeIx]) -> Option<Vec<EdgeIx>> {
        let actions: Vec<ActionIx> = path.iter().map(|&e| self.action(e)).collect();
        // For each leaf its moves, by their places on the path, the last one first.
        let mut words = vec![Vec::new(); self.classes.leaves().len()];
        for (k, &action) in actions.iter().enumerate().rev() {
            self.parts(action).iter().for_each(|&leaf| words[leaf].push(k));
        }
        let (mut state, mut out) = (StateIx(0), Vec::with_capacity(path.len()));
        while out.len() < path.len() {
            // Of the moves that nothing has to come before, the one of the first leaf.
            let next = words.iter().enumerate().find_map(|(leaf, word)| {
                let &k = word.last()?;
                let parts = self.parts(actions[k]);
                (parts[0] == leaf && parts.iter().all(|&l| words[l].last() == Some(&k))).then_some(k)
            })?;
            self.parts(actions[next]).iter().for_each(|&leaf| {
                words[leaf].pop();
            });
            let mut edges = self.classes.edges_of(state).map(EdgeIx);
            let edge = edges.find(|&e| self.action(self.original(e)) == actions[next])?;
            state = self.classes.edge(edge).target;
            out.push(edge);
        }
        self.classes.edges_of(state).is_empty().then_some(out)
    }
}

/// The actions of the edges of a guide, and the leaves that take part.
fn actions(guide: &Guide) -> (Vec<ActionIx>, Vec<Vec<usize>>) {
    let mut known: Map<(u32, Vec<Local>), ActionIx> = Map::default();
    let (mut actions, mut parts) = (Vec::with_capacity(guide.edges.len()), Vec::new());
    for state in (0..guide.states() as u32).map(StateIx) {
        for edge in guide.edges_of(state).map(|e| guide.edge(EdgeIx(e))) {
            let leaves: Vec<usize> = guide.projections.leaves_of(edge.projection).collect();
            let (from, to) = (guide.locals(state), guide.locals(edge.target));
            let locals = leaves.iter().flat_map(|&leaf| [from[leaf], to[leaf]]).collect();
            let next = ActionIx(parts.len() as u32);
            actions.push(*known.entry((edge.projection, locals)).or_insert_with(|| {
                parts.push(leaves);
                next
            }));
        }
    }
    (actions, parts)
}

/// A state of the guide, and what is asleep there, ascending.
type Drowsy = (StateIx, Vec<ActionIx>);

/// The search with sleep sets.
struct Sleep<'g> {
    guide: &'g Guide,
    actions: &'g [ActionIx],
    parts: &'g [Vec<usize>],
    known: Map<Drowsy, usize>,
    order: Vec<Drowsy>,
}

impl Sleep<'_> {
    /// For each state the edges that are awake, with the numbers of their targets.
    fn explore(&mut self, limit: usize) -> Result<Vec<Vec<(EdgeIx, usize)>>, NoOrders> {
        self.number((StateIx(0), Vec::new()));
        let mut edges = Vec::new();
        while edges.len() < self.order.len() {
            let (state, mut asleep) = self.order[edges.len()].clone();
            let mut of_state: Vec<EdgeIx> = self.guide.edges_of(state).map(EdgeIx).collect();
            of_state.sort_by_key(|&e| (self.parts_of(e)[0], e));
            let mut awake = Vec::new();
            for e in of_state {
                let action = self.actions[e.0 as usize];
                if asleep.contains(&action) {
                    continue;
                }
                let mut then: Vec<_> =
                    asleep.iter().copied().filter(|&other| self.independent(other, action)).collect();
                then.sort_unstable();
                awake.push((e, self.number((self.guide.edge(e).target, then))));
                asleep.push(action);
            }
            edges.push(awake);
            if self.order.len() > limit {
                return Err(NoOrders::TooLarge { limit });
            }
        }
        Ok(edges)
    }

    fn number(&mut self, state: Drowsy) -> usize {
        if let Some(&number) = self.known.get(&state) {
            return number;
        }
        self.known.insert(state.clone(), self.order.len());
        self.order.push(state);
        self.order.len() - 1
    }

    fn parts_of(&self, edge: EdgeIx) -> &[usize] {
        &self.parts[self.actions[edge.0 as usize].0 as usize]
    }

    fn independent(&self, a: ActionIx, b: ActionIx) -> bool {
        let (a, b) = (&self.parts[a.0 as usize], &self.parts[b.0 as usize]);
        !a.iter().any(|leaf| b.contains(leaf))
    }
}

/// Takes out the edges behind which everything is asleep sooner or later: no class has its trace there.
fn blocked_left_out(guide: &Guide, order: &[Drowsy], edges: &mut [Vec<(EdgeIx, usize)>]) {
    let forwards = guide.forwards();
    let mut backwards: Vec<usize> = (0..order.len()).collect();
    backwards.sort_by_key(|&state| std::cmp::Reverse(forwards[order[state].0.0 as usize]));
    let mut alive = vec![false; order.len()];
    for state in backwards {
        edges[state].retain(|&(_, target)| alive[target]);
        alive[state] = !edges[state].is_empty() || guide.edges_of(order[state].0).is_empty();
    }
}
