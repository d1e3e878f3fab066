//! The solver: which player wins a game, and by which choices.
//!
//! Strongly connected components are solved bottom up. In one, a player who can leave into a vertex that he wins, or is left
//! with nothing else, decides first (attractors); if all ranks that remain are of one player, that player wins the rest,
//! which settles formulas without alternation in time linear in the edges. Only where ranks of both remain the recursive
//! algorithm of McNaughton and Zielonka is needed, on that rest.
//!
//! Invariant: in every vertex that its owner wins, `choice` is an edge to a vertex that he wins, and following choices he
//! wins every play.

use super::graph::{Graph, Player, Vertex};
use crate::base::error::Result;

/// No choice.
pub(super) const NOWHERE: Vertex = Vertex::MAX;

/// Bytes that solving takes for each vertex, besides 8 for each edge. A little more than all vectors together, if the whole
/// game is one component.
pub(super) const BYTES_A_VERTEX: usize = 80;

/// A solved game.
pub(super) struct Solution {
    /// For each vertex its winner.
    pub(super) winner: Vec<Player>,
    /// For each vertex that its owner wins, the edge to take.
    pub(super) choice: Vec<Vertex>,
}

/// Solves a game. Vertices that are not expanded yet are won by `unknown`. `go_on` is called repeatedly; an error from it
/// ends the solving and is returned.
pub(super) fn solve(graph: &Graph, unknown: Player, go_on: GoOn) -> Result<Solution> {
    let n = graph.len();
    let mut solver =
        Solver { graph, winner: vec![None; n], choice: vec![NOWHERE; n], local: vec![NOWHERE; n], go_on };
    for vertex in (0..n as Vertex).filter(|vertex| !graph.is_expanded(*vertex)) {
        solver.winner[vertex as usize] = Some(unknown);
    }
    solver.components()?;
    let winner = solver.winner.into_iter().map(|winner| winner.unwrap_or(unknown)).collect();
    Ok(Solution { winner, choice: solver.choice })
}

/// Whether there is a reason to stop.
pub(super) type GoOn<'a> = &'a dyn Fn() -> Result<()>;

/// Vertices between two questions whether to go on.
const BETWEEN: usize = 1 << 16;

struct Solver<'g> {
    go_on: GoOn<'g>,
    graph: &'g Graph,
    winner: Vec<Option<Player>>,
    choice: Vec<Vertex>,
    /// The place of a vertex in the component that is being solved.
    local: Vec<u32>,
}

impl Solver<'_> {
    /// Tarjan's algorithm, without recursion: components come after all that they lead to.
    fn components(&mut self) -> Result<()> {
        let graph = self.graph;
        let all = graph.len();
        let (mut index, mut low) = (vec![0u32; all], vec![0u32; all]);
        let mut open = vec![false; all];
        let (mut stack, mut calls): (Vec<Vertex>, Vec<(Vertex, u32)>) = (Vec::new(), Vec::new());
        let mut count = 0;
        for root in (0..all as Vertex).filter(|root| graph.is_expanded(*root)) {
            let mut enter = (index[root as usize] == 0).then_some(root);
            while enter.is_some() || !calls.is_empty() {
                if let Some(v) = enter.take() {
                    count += 1;
                    if (count as usize).is_multiple_of(BETWEEN) {
                        (self.go_on)()?;
                    }
                    (index[v as usize], low[v as usize], open[v as usize]) = (count, count, true);
                    stack.push(v);
                    calls.push((v, 0));
                }
                let Some((v, at)) = calls.last_mut() else { break };
                let v = *v as usize;
                if let Some(&w) = self.graph.edges(v as Vertex).get(*at as usize) {
                    *at += 1;
                    match w as usize {
                        w if !graph.is_expanded(w as Vertex) => {}
                        w if index[w] == 0 => enter = Some(w as Vertex),
                        w if open[w] => low[v] = low[v].min(index[w]),
                        _ => {}
                    }
                    continue;
                }
                calls.pop();
                if let Some((caller, _)) = calls.last() {
                    let caller = *caller as usize;
                    low[caller] = low[caller].min(low[v]);
                }
                if low[v] == index[v] {
                    let begin = stack.iter().rposition(|w| *w as usize == v).expect("it is on the stack");
                    let component = stack.split_off(begin);
                    component.iter().for_each(|w| open[*w as usize] = false);
                    self.component(&component)?;
                }
            }
        }
        Ok(())
    }

    /// Solves a component, all of whose successors outside are solved.
    fn component(&mut self, component: &[Vertex]) -> Result<()> {
        let graph = self.graph;
        if let &[v] = component
            && !graph.edges(v).contains(&v)
        {
            let owner = graph.owner(v);
            let good = graph.edges(v).iter().find(|w| self.winner[**w as usize] == Some(owner));
            self.winner[v as usize] = Some(if good.is_some() { owner } else { owner.other() });
            self.choice[v as usize] = good.copied().unwrap_or(NOWHERE);
            return Ok(());
        }
        for (at, v) in component.iter().enumerate() {
            self.local[*v as usize] = at as u32;
        }
        let local = &self.local;
        let mut part = Part::new(graph, component, |w| local[w as usize]);
        // What leads out decides, where it can.
        let mut decided = Vec::new();
        for (at, &v) in component.iter().enumerate() {
            let owner = graph.owner(v);
            let good = graph.edges(v).iter().find(|w| self.winner[**w as usize] == Some(owner));
            if let Some(good) = good {
                part.choice[at] = *good;
                decided.push((at as u32, owner));
            } else if part.next.of(at).is_empty() {
                decided.push((at as u32, owner.other()));
            }
        }
        let rest = part.settle(decided);
        part.solve(rest, self.go_on)?;
        for (at, &v) in component.iter().enumerate() {
            self.winner[v as usize] = part.winner[at];
            let owner_wins = part.winner[at] == Some(graph.owner(v));
            self.choice[v as usize] = if owner_wins { part.choice[at] } else { NOWHERE };
            self.local[v as usize] = NOWHERE;
        }
        Ok(())
    }
}

/// A component, its vertices by their places in it.
struct Part {
    vertices: Vec<Vertex>,
    owner: Vec<Player>,
    rank: Vec<u32>,
    next: Lists,
    previous: Lists,
    winner: Vec<Option<Player>>,
    choice: Vec<Vertex>,
    /// Which vertices belong to the game that is being solved.
    alive: Vec<bool>,
}

/// A list of numbers for each vertex, all in one.
struct Lists {
    ends: Vec<u32>,
    all: Vec<u32>,
}

impl Lists {
    fn of(&self, at: usize) -> &[u32] {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.all[begin as usize..self.ends[at] as usize]
    }

    /// The lists the other way round.
    fn reversed(&self) -> Lists {
        let mut ends = vec![0u32; self.ends.len()];
        self.all.iter().for_each(|to| ends[*to as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // Where the list begins, for now.
            (*end, sum) = (sum, sum + *end);
        }
        let mut all = vec![0; self.all.len()];
        for at in 0..self.ends.len() {
            for &to in self.of(at) {
                all[ends[to as usize] as usize] = at as u32;
                ends[to as usize] += 1;
            }
        }
        Lists { ends, all }
    }
}

impl Part {
    /// A component; `place` says where in it a vertex is, or [`NOWHERE`] if it is not.
    fn new(graph: &Graph, component: &[Vertex], place: impl Fn(Vertex) -> u32) -> Self {
        let ranks = || component.iter().map(|v| graph.rank(*v));
        // Every cycle has a vertex with a rank, so that the least of these changes nothing anywhere else.
        let least = ranks().flatten().min().unwrap_or(0);
        let mut next = Lists { ends: Vec::with_capacity(component.len()), all: Vec::new() };
        for v in component {
            next.all.extend(graph.edges(*v).iter().map(|w| place(*w)).filter(|at| *at != NOWHERE));
            next.ends.push(next.all.len() as u32);
        }
        let n = component.len();
        Part {
            vertices: component.to_vec(),
            owner: component.iter().map(|v| graph.owner(*v)).collect(),
            rank: ranks().map(|rank| rank.unwrap_or(least)).collect(),
            previous: next.reversed(),
            next,
            winner: vec![None; n],
            choice: vec![NOWHERE; n],
            alive: vec![true; n],
        }
    }

    /// Passes on what is decided to all that is forced there; what remains is alive.
    fn settle(&mut self, decided: Vec<(u32, Player)>) -> Vec<u32> {
        let mut left: Vec<u32> = (0..self.owner.len()).map(|at| self.next.of(at).len() as u32).collect();
        for &(at, player) in &decided {
            self.winner[at as usize] = Some(player);
        }
        let mut queue = decided;
        let mut done = 0;
        while let Some(&(to, player)) = queue.get(done) {
            done += 1;
            self.alive[to as usize] = false;
            for k in 0..self.previous.of(to as usize).len() {
                let from = self.previous.of(to as usize)[k];
                let at = from as usize;
                if self.winner[at].is_some() {
                    continue;
                }
                if self.owner[at] == player {
                    self.choice[at] = self.vertices[to as usize];
                } else {
                    left[at] -= 1;
                    if left[at] > 0 {
                        continue;
                    }
                }
                self.winner[at] = Some(player);
                queue.push((from, player));
            }
        }
        (0..self.owner.len() as u32).filter(|at| self.alive[*at as usize]).collect()
    }

    /// The vertices among those alive from which a player can force the play into the targets, these included.
    fn attract(&mut self, player: Player, targets: &[u32]) -> Vec<u32> {
        let mut inside = vec![false; self.owner.len()];
        // Edges that do not lead inside, plus one; 0 if they were not counted yet.
        let mut left = vec![0u32; self.owner.len()];
        targets.iter().for_each(|at| inside[*at as usize] = true);
        let mut attracted = targets.to_vec();
        let mut done = 0;
        while let Some(&to) = attracted.get(done) {
            done += 1;
            for k in 0..self.previous.of(to as usize).len() {
                let from = self.previous.of(to as usize)[k];
                let at = from as usize;
                if !self.alive[at] || inside[at] {
                    continue;
                }
                if self.owner[at] == player {
                    self.choice[at] = self.vertices[to as usize];
                } else {
                    if left[at] == 0 {
                        let alive = self.next.of(at).iter().filter(|w| self.alive[**w as usize]);
                        left[at] = 1 + alive.count() as u32;
                    }
                    left[at] -= 1;
                    if left[at] > 1 {
                        continue;
                    }
                }
                inside[at] = true;
                attracted.push(from);
            }
        }
        attracted
    }

    /// Solves the game of these vertices, which are the ones alive; afterwards they are not.
    fn solve(&mut self, mut game: Vec<u32>, go_on: GoOn) -> Result<()> {
        while let Some(greatest) = game.iter().map(|at| self.rank[*at as usize]).max() {
            go_on()?;
            let player = Player::of_rank(greatest);
            let mine = |rank: u32| Player::of_rank(rank) == player;
            let mut lost = Vec::new();
            let one_sided = game.iter().all(|at| mine(self.rank[*at as usize]));
            if !one_sided {
                let tops: Vec<u32> =
                    game.iter().copied().filter(|at| self.rank[*at as usize] == greatest).collect();
                let near = self.attract(player, &tops);
                near.iter().for_each(|at| self.alive[*at as usize] = false);
                let far: Vec<u32> = game.iter().copied().filter(|at| self.alive[*at as usize]).collect();
                self.solve(far.clone(), go_on)?;
                game.iter().for_each(|at| self.alive[*at as usize] = true);
                let other = Some(player.other());
                lost = far.into_iter().filter(|at| self.winner[*at as usize] == other).collect();
            }
            if lost.is_empty() {
                for &at in &game {
                    self.winner[at as usize] = Some(player);
                    let free = one_sided || self.rank[at as usize] == greatest;
                    if free && self.owner[at as usize] == player {
                        let somewhere = self.next.of(at as usize).iter().find(|w| self.alive[**w as usize]);
                        let somewhere = somewhere.expect("nobody is stuck in what remains of a game");
                        self.choice[at as usize] = self.vertices[*somewhere as usize];
                    }
                }
                game.iter().for_each(|at| self.alive[*at as usize] = false);
                return Ok(());
            }
            for at in self.attract(player.other(), &lost) {
                self.winner[at as usize] = Some(player.other());
                self.alive[at as usize] = false;
            }
            game.retain(|at| self.alive[*at as usize]);
        }
        Ok(())
    }
}
