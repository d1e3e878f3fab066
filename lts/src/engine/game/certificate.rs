//! Why a formula holds or does not, in a form that other code can check.
//!
//! A certificate lists pairs of state and position, the initial one first, and for each the pairs that the winner goes to
//! or cannot avoid. [`check`] knows neither games nor compiled successors: it looks at the plain network and at the trees
//! of the positions. A certificate is right if
//!
//! - each tree gets the winner's truth value if of all pairs it names exactly those listed count for the winner, and
//! - on no cycle of listed pairs the greatest rank is the loser's.

use super::build::{Game, VertexKind};
use super::graph::{Player, Vertex};
use super::solve::Solution;
use crate::base::error::{Error, Result};
use crate::base::hash::{Map, Set};
use crate::engine::pack::Packing;
use crate::engine::successors::EveryStep;
use crate::model::network::{Local, Network, Step};
use crate::property::formula::{Equations, Position, Tree};

/// Pairs of state and position, the initial one first, with the pairs that each leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Certificate {
    pub(super) holds: bool,
    /// The states, unpacked.
    pub(super) states: Vec<Vec<Local>>,
    /// The pairs: a state by its index, and a position.
    pub(super) pairs: Vec<(u32, Position)>,
    /// For each pair the pairs that it leads to.
    pub(super) next: Vec<Vec<u32>>,
}

impl Certificate {
    /// The certificate of a solved game; `None` if it has more than `most` pairs. The winner follows `choices` where they
    /// name an edge, and the solver's choice elsewhere.
    pub(super) fn of<S: EveryStep>(
        game: &Game<S>,
        solution: &Solution,
        choices: &Map<Vertex, Vertex>,
        packing: &Packing,
        leaves: usize,
        most: usize,
    ) -> Option<Self> {
        let initial = Game::<S>::INITIAL;
        let winner = solution.winner[initial as usize];
        let mut certificate = Certificate {
            holds: winner == Player::Some,
            states: Vec::new(),
            pairs: Vec::new(),
            next: Vec::new(),
        };
        let mut ids: Map<Vertex, u32> = Map::default();
        let mut states: Map<u32, u32> = Map::default();
        let mut vertices = vec![initial];
        ids.insert(initial, 0);
        let mut done = 0;
        while let Some(&vertex) = vertices.get(done) {
            done += 1;
            let VertexKind::Pair(state, position) = game.places[vertex as usize] else {
                unreachable!("a pair")
            };
            let fresh = certificate.states.len() as u32;
            let index = *states.entry(state).or_insert(fresh);
            if index == fresh {
                let mut locals = packing.unpack(game.arena.state(state));
                locals.truncate(leaves);
                certificate.states.push(locals);
            }
            certificate.pairs.push((index, position));
            let mut next = Vec::new();
            let mut inner = vec![vertex];
            while let Some(from) = inner.pop() {
                let choice = [choices.get(&from).copied().unwrap_or(solution.choice[from as usize])];
                let own = game.graph.owner(from) == winner;
                let edges = if own { &choice[..] } else { game.graph.edges(from) };
                for &to in edges {
                    match game.places[to as usize] {
                        VertexKind::Const => {}
                        VertexKind::Inner(_) => inner.push(to),
                        VertexKind::Pair(..) => {
                            let fresh = vertices.len() as u32;
                            let id = *ids.entry(to).or_insert(fresh);
                            if id == fresh {
                                if vertices.len() >= most {
                                    return None;
                                }
                                vertices.push(to);
                            }
                            next.push(id);
                        }
                    }
                }
            }
            next.sort_unstable();
            next.dedup();
            certificate.next.push(next);
        }
        Some(certificate)
    }
}

/// Checks a certificate on the plain network. An error is a defect of the solver.
pub(super) fn check(net: &Network, equations: &dyn Equations, certificate: &Certificate) -> Result<()> {
    let wrong = |what: &str| Err(Error::internal(format_args!("the solution of a formula is wrong: {what}")));
    let numbers: Map<&[Local], u32> =
        certificate.states.iter().enumerate().map(|(at, state)| (&state[..], at as u32)).collect();
    if certificate.pairs.first().map(|(state, at)| (&certificate.states[*state as usize], *at))
        != Some((&net.initial(), Position(0)))
    {
        return wrong("it does not begin at the beginning");
    }
    let mut steps = Vec::new();
    for (pair, next) in certificate.pairs.iter().zip(&certificate.next) {
        let state = &certificate.states[pair.0 as usize];
        net.successors(state, &mut steps);
        let listed: Set<(u32, Position)> = next.iter().map(|at| certificate.pairs[*at as usize]).collect();
        let look = Look { net, equations, holds: certificate.holds, numbers: &numbers, listed };
        let tree = equations.unfold(pair.1)?;
        if look.truth(&tree, state, &steps)? != certificate.holds {
            return wrong("a step is missing or impossible");
        }
    }
    let ranks: Vec<Option<u32>> = certificate.pairs.iter().map(|(_, at)| equations.rank(*at)).collect();
    let loser = u32::from(certificate.holds);
    let mut bad: Vec<u32> = ranks.iter().flatten().copied().filter(|rank| rank % 2 == loser).collect();
    bad.sort_unstable();
    bad.dedup();
    for rank in bad {
        if has_cycle_through(&certificate.next, &ranks, rank) {
            return wrong("the loser would win by going round");
        }
    }
    Ok(())
}

struct Look<'a> {
    net: &'a Network,
    equations: &'a dyn Equations,
    holds: bool,
    numbers: &'a Map<&'a [Local], u32>,
    listed: Set<(u32, Position)>,
}

impl Look<'_> {
    /// The truth of a tree if the listed pairs are as the winner says, and all others are not.
    fn truth(&self, tree: &Tree, state: &[Local], steps: &[Step]) -> Result<bool> {
        let every = matches!(tree, Tree::Every(_));
        Ok(match tree {
            Tree::Const(b) => *b,
            Tree::At(position) => {
                let listed =
                    self.numbers.get(state).is_some_and(|at| self.listed.contains(&(*at, *position)));
                listed == self.holds
            }
            Tree::Junction(and, parts) => {
                let mut all = *and;
                for part in parts {
                    let truth = self.truth(part, state, steps)?;
                    all = if *and { all && truth } else { all || truth };
                }
                all
            }
            Tree::Every(modality) | Tree::Some(modality) => {
                let mut all = every;
                for step in steps {
                    let class = self.equations.class(self.net, step.vector)?;
                    let after = self.equations.after(*modality, class)?;
                    let truth = self.truth(&after, &step.target, &[])?;
                    all = if every { all && truth } else { all || truth };
                }
                all
            }
        })
    }
}

/// Whether some cycle has this rank as its greatest.
fn has_cycle_through(next: &[Vec<u32>], ranks: &[Option<u32>], rank: u32) -> bool {
    let inside = |at: u32| ranks[at as usize].is_none_or(|r| r <= rank);
    let mut previous: Vec<Vec<u32>> = vec![Vec::new(); next.len()];
    for (from, tos) in next.iter().enumerate() {
        tos.iter().for_each(|to| previous[*to as usize].push(from as u32));
    }
    // Kosaraju: finish times forwards, then components backwards.
    let mut seen = vec![false; next.len()];
    let mut finished = Vec::new();
    for root in (0..next.len() as u32).filter(|at| inside(*at)) {
        if std::mem::replace(&mut seen[root as usize], true) {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((at, k)) = path.last_mut() {
            let Some(&to) = next[*at as usize].get(*k) else {
                finished.push(*at);
                path.pop();
                continue;
            };
            *k += 1;
            if inside(to) && !std::mem::replace(&mut seen[to as usize], true) {
                path.push((to, 0));
            }
        }
    }
    let mut component = vec![u32::MAX; next.len()];
    for &root in finished.iter().rev() {
        if component[root as usize] != u32::MAX {
            continue;
        }
        component[root as usize] = root;
        let mut work = vec![root];
        while let Some(at) = work.pop() {
            for &from in &previous[at as usize] {
                if inside(from) && component[from as usize] == u32::MAX {
                    component[from as usize] = root;
                    work.push(from);
                }
            }
        }
    }
    let here = |at: u32| component[at as usize];
    (0..next.len() as u32).filter(|at| ranks[*at as usize] == Some(rank)).any(|at| {
        // In its component everything reaches everything, so one edge inside closes a cycle.
        next[at as usize].iter().any(|to| inside(*to) && here(*to) == here(at))
    })
}
