//! From a run that was found to a proof that was checked.
//!
//! The run is followed on the plain network: which positions it can have at which of its states, and whether it refutes the
//! formula there. Nothing is taken from the search but the run and how it ends.

use super::{Ending, MOST_PAIRS, Refuter};
use crate::base::error::{Error, Result};
use crate::base::hash::{Map, Set};
use crate::engine::game::certificate::{self, Certificate};
use crate::engine::game::evidence::{self, Evidence, RunEnd};
use crate::engine::game::graph::{FALSE, Graph, Player, Vertex};
use crate::engine::game::proof::Proof;
use crate::engine::game::{shown, solve};
use crate::model::network::{Local, Network, Outcome, Step, VectorIx};
use crate::model::trace::Trace;
use crate::property::formula::{Class, Equations, Position};
use std::collections::VecDeque;
use std::sync::Arc;

/// A state by its number, and a position.
type Pair = (u32, Position);

/// Makes the proof that a run is against a formula, and checks it. An error means that it is not: a defect of the search
/// that found the run.
pub fn certify(net: &Network, equations: &dyn Equations, run: &Trace, ending: Ending) -> Result<Evidence> {
    let wrong = || Error::internal("a run against a formula does not replay");
    let mut follow = Follow::new(net, equations, run, ending).ok_or_else(wrong)?;
    let found = match ending {
        Ending::Decides => follow.until_decided()?,
        Ending::Repeats(_) => follow.round()?,
        Ending::Trap => follow.down_to_trap()?,
    };
    let Certified { pairs, next, trap } = found.ok_or_else(wrong)?;
    let certificate = Certificate { holds: false, states: follow.states, pairs, next };
    certificate::check(net, equations, &certificate)?;
    let certificate = Arc::new(certificate);
    let evidence = match trap {
        None => evidence::of(net, equations, &certificate)?,
        Some(steps) => {
            // What is shown ends where the trap begins, also if only one way leads on.
            let (trace, at) = along(&certificate, &steps);
            let inside: Set<u32> = certificate.pairs[at..].iter().map(|pair| pair.0).collect();
            Evidence {
                trace,
                end: RunEnd::Branches,
                asks: equations.describe(certificate.pairs[at].1),
                pairs: certificate.pairs.len() as u64,
                closure: Some(inside.len() as u64),
                proof: Some(Proof(certificate.clone())),
            }
        }
    };
    shown(net, equations, &evidence)?;
    Ok(evidence)
}

/// The run along the first pairs of a certificate, given by the vectors between them, and the pair after it.
fn along(certificate: &Certificate, vectors: &[Option<VectorIx>]) -> (Trace, usize) {
    let mut trace = Trace::default();
    for (k, vector) in vectors.iter().enumerate() {
        let target = &certificate.states[certificate.pairs[k + 1].0 as usize];
        trace.steps.extend(vector.map(|vector| Step { vector, target: target.clone() }));
    }
    (trace, vectors.len())
}

/// The pairs of a certificate, the initial one first.
struct Certified {
    pairs: Vec<Pair>,
    next: Vec<Vec<u32>>,
    /// For a trap: the steps between the pairs that lead there, which come first.
    trap: Option<Vec<Option<VectorIx>>>,
}

struct Follow<'a> {
    net: &'a Network,
    refuter: Refuter<'a>,
    states: Vec<Vec<Local>>,
    ids: Map<Vec<Local>, u32>,
    /// The steps of the run between its states.
    taken: Set<(u32, VectorIx, u32)>,
    /// Its last state.
    last: u32,
    steps: Vec<Step>,
}

impl<'a> Follow<'a> {
    /// `None` if the run does not close where it should.
    fn new(net: &'a Network, equations: &'a dyn Equations, run: &Trace, ending: Ending) -> Option<Self> {
        let mut follow = Follow {
            net,
            refuter: Refuter::new(equations),
            states: Vec::new(),
            ids: Map::default(),
            taken: Set::default(),
            last: 0,
            steps: Vec::new(),
        };
        let mut numbers = vec![follow.number(net.initial())];
        for step in &run.steps {
            let (from, to) = (follow.last, follow.number(step.target.clone()));
            follow.taken.insert((from, step.vector, to));
            follow.last = to;
            numbers.push(to);
        }
        match ending {
            Ending::Repeats(from) => (numbers.get(from as usize) == Some(&follow.last)
                && (from as usize) < run.len())
            .then_some(follow),
            Ending::Decides | Ending::Trap => Some(follow),
        }
    }

    fn number(&mut self, state: Vec<Local>) -> u32 {
        let fresh = self.states.len() as u32;
        if let Some(known) = self.ids.get(&state) {
            return *known;
        }
        self.states.push(state.clone());
        self.ids.insert(state, fresh);
        fresh
    }

    /// Makes `steps` those of a state, and returns their classes.
    fn look(&mut self, state: u32) -> Result<Vec<Class>> {
        self.net.successors(&self.states[state as usize], &mut self.steps);
        let is_step =
            |step: &Step| matches!(self.net.vectors[step.vector.0 as usize].outcome, Outcome::Step(_));
        self.steps.retain(is_step);
        self.steps.iter().map(|step| self.refuter.class(self.net, step.vector)).collect()
    }

    /// Where the run can go from a pair; an empty list of pairs says that the pair is refuted at once.
    fn along_run(&mut self, (state, position): Pair) -> Result<Vec<Option<(Option<VectorIx>, Pair)>>> {
        let classes = self.look(state)?;
        let alternatives = self.refuter.alternatives(position, &classes)?.unwrap_or_default();
        let mut all = Vec::new();
        for alternative in alternatives {
            match alternative[..] {
                [] => all.push(None),
                [(None, position)] => all.push(Some((None, (state, position)))),
                [(Some(k), position)] => {
                    let Step { vector, target } = &self.steps[k as usize];
                    if let Some(to) = self.ids.get(target)
                        && self.taken.contains(&(state, *vector, *to))
                    {
                        all.push(Some((Some(*vector), (*to, position))));
                    }
                }
                _ => {}
            }
        }
        Ok(all)
    }

    /// All pairs along the run, each with how it was reached, breadth first until `end` says that one is the last.
    fn walk(
        &mut self,
        end: &mut dyn FnMut(&mut Self, Pair, &[Option<(Option<VectorIx>, Pair)>]) -> Result<bool>,
    ) -> Result<Option<(Vec<Pair>, Vec<Option<VectorIx>>)>> {
        let first = (0, Position(0));
        let mut from: Map<Pair, Option<(Pair, Option<VectorIx>)>> = Map::default();
        from.insert(first, None);
        let mut work = VecDeque::from([first]);
        while let Some(pair) = work.pop_front() {
            let next = self.along_run(pair)?;
            if end(self, pair, &next)? {
                let (mut pairs, mut vectors) = (vec![pair], Vec::new());
                let mut at = pair;
                while let Some(Some((before, vector))) = from.get(&at) {
                    (at, _) = (*before, vectors.push(*vector));
                    pairs.push(at);
                }
                pairs.reverse();
                vectors.reverse();
                return Ok(Some((pairs, vectors)));
            }
            for (vector, to) in next.into_iter().flatten() {
                from.entry(to).or_insert_with(|| {
                    work.push_back(to);
                    Some((pair, vector))
                });
            }
        }
        Ok(None)
    }

    fn until_decided(&mut self) -> Result<Option<Certified>> {
        let found = self.walk(&mut |_, _, next| Ok(next.contains(&None)))?;
        Ok(found.map(|(pairs, _)| {
            let mut next: Vec<Vec<u32>> = (1..pairs.len() as u32).map(|k| vec![k]).collect();
            next.push(Vec::new());
            Certified { pairs, next, trap: None }
        }))
    }

    /// The game that is left if the refuting player follows the run: only he moves in it.
    fn round(&mut self) -> Result<Option<Certified>> {
        let mut graph = Graph::new();
        let mut vertices: Map<Pair, Vertex> = Map::default();
        let mut order: Vec<Pair> = Vec::new();
        let mut vertex = |graph: &mut Graph, order: &mut Vec<Pair>, pair: Pair, rank: Option<u32>| {
            *vertices.entry(pair).or_insert_with(|| {
                order.push(pair);
                graph.add(rank)
            })
        };
        let rank = self.refuter.rank(Position(0));
        let initial = vertex(&mut graph, &mut order, (0, Position(0)), rank);
        let mut done = 0;
        while let Some(&pair) = order.get(done) {
            let mut edges = Vec::new();
            for next in self.along_run(pair)? {
                let Some((_, to)) = next else {
                    edges.push(FALSE);
                    continue;
                };
                let rank = self.refuter.rank(to.1);
                edges.push(vertex(&mut graph, &mut order, to, rank));
            }
            graph.expand(initial + done as Vertex, Player::All, &edges);
            done += 1;
        }
        let solution = solve::solve(&graph, Player::Some, &|| Ok(()))?;
        if solution.winner[initial as usize] != Player::All {
            return Ok(None);
        }
        let (mut pairs, mut next): (Vec<Pair>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
        let mut met: Map<Vertex, u32> = Map::default();
        let mut at = initial;
        while at != FALSE {
            if let Some(&back) = met.get(&at) {
                next.push(vec![back]);
                return Ok(Some(Certified { pairs, next, trap: None }));
            }
            if !pairs.is_empty() {
                next.push(vec![pairs.len() as u32]);
            }
            met.insert(at, pairs.len() as u32);
            pairs.push(order[(at - initial) as usize]);
            at = solution.choice[at as usize];
        }
        next.push(Vec::new());
        Ok(Some(Certified { pairs, next, trap: None }))
    }

    fn down_to_trap(&mut self) -> Result<Option<Certified>> {
        let last = self.last;
        let mut closed = None;
        let way = self.walk(&mut |follow, pair, _| {
            if pair.0 == last {
                closed = follow.closure(pair)?;
            }
            Ok(closed.is_some())
        })?;
        let (Some((mut pairs, mut vectors)), Some((mut inside, mut follows))) = (way, closed) else {
            return Ok(None);
        };
        // Where the trap comes back to the way, it begins there.
        let known: Set<Pair> = inside.iter().copied().collect();
        let begins = pairs.iter().position(|pair| known.contains(pair)).unwrap_or(pairs.len() - 1);
        if begins + 1 < pairs.len() {
            let Some(closed) = self.closure(pairs[begins])? else { return Ok(None) };
            (inside, follows) = closed;
        }
        pairs.truncate(begins);
        vectors.truncate(begins);
        let mut next: Vec<Vec<u32>> = (1..=begins as u32).map(|k| vec![k]).collect();
        pairs.extend(inside);
        let shifted = |tos: Vec<u32>| tos.into_iter().map(|k| k + begins as u32).collect();
        next.extend(follows.into_iter().map(shifted));
        Ok(Some(Certified { pairs, next, trap: Some(vectors) }))
    }

    /// All pairs that are to be refuted if this one is, and for each which; nothing if that is no trap.
    #[expect(clippy::type_complexity, reason = "the pairs and where each leads")]
    fn closure(&mut self, from: Pair) -> Result<Option<(Vec<Pair>, Vec<Vec<u32>>)>> {
        let mut ids: Map<Pair, u32> = Map::default();
        let mut pairs = vec![from];
        ids.insert(from, 0);
        let mut follows = Vec::new();
        while let Some(&(state, position)) = pairs.get(follows.len()) {
            if pairs.len() > MOST_PAIRS || self.refuter.rank(position).is_some_and(|rank| rank % 2 == 0) {
                return Ok(None);
            }
            let classes = self.look(state)?;
            let alternatives = self.refuter.alternatives(position, &classes)?;
            let Some([only]) = alternatives.as_deref() else { return Ok(None) };
            let mut tos = Vec::new();
            for &(step, position) in only {
                let to = step.map_or(state, |k| self.number(self.steps[k as usize].target.clone()));
                let fresh = pairs.len() as u32;
                let id = *ids.entry((to, position)).or_insert(fresh);
                if id == fresh {
                    pairs.push((to, position));
                }
                tos.push(id);
            }
            tos.sort_unstable();
            tos.dedup();
            follows.push(tos);
        }
        Ok(Some((pairs, follows)))
    }
}
